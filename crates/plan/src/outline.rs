//! The outline of a plan: hints that reproduce it.
//!
//! Each table has a hint for its access path, each join of a block hints for its order and methods. A hint names a
//! table by the block whose text contains it, and is placed in the block that it belongs to now (P20). Parts that hints
//! cannot express are omitted: joins of joins, and access paths of statements other than queries. As in Oracle,
//! OTHER_XML contains the outline.

use crate::ir::*;

/// A table or view of a join.
struct Leaf<'p> {
    alias: &'p str,
    block: u32,
    origin: u32,
}

struct Outline<'p> {
    plan: &'p Plan,
    blocks: Vec<u32>,
    hints: Vec<String>,
}

impl Plan {
    /// The hints of the plan, in Oracle's order by kind; empty if no block has a name.
    pub fn outline(&self) -> Vec<String> {
        let mut outline = Outline { plan: self, blocks: Vec::new(), hints: Vec::new() };
        let below = self.ctes.iter().map(|cte| &cte.source).chain(self.subs.iter().map(|sub| &sub.source));
        for source in self.body.source().into_iter().chain(below) {
            outline.tree(source);
        }
        if outline.blocks.is_empty() {
            return Vec::new();
        }
        let leaf = |block: &u32| ["OUTLINE_LEAF(@\"", self.query_block(*block), "\")"].concat();
        let mut all = Vec::with_capacity(2 + outline.blocks.len() + outline.hints.len());
        all.extend(["IGNORE_OPTIM_EMBEDDED_HINTS".to_owned(), "ALL_ROWS".to_owned()]);
        all.extend(outline.blocks.iter().map(leaf));
        all.extend(outline.hints);
        all
    }

    /// The name of a block of [`Scan::block`].
    pub fn query_block(&self, block: u32) -> &str {
        (block as usize).checked_sub(1).and_then(|at| self.query_blocks.get(at)).map_or("", String::as_str)
    }
}

impl<'p> Outline<'p> {
    /// The hints of a row source and of all row sources below it.
    fn tree(&mut self, source: &'p Source) {
        match source {
            Source::NestedLoops { .. } | Source::HashJoin { .. } | Source::MergeJoin { .. } => self.joins(source),
            Source::Scan(scan) => self.scan(scan),
            Source::Project { input, view: Some(view), .. } if is_index_join(view) => self.index_join(input),
            _ => source.for_each_child(&mut |child| self.tree(child)),
        }
    }

    fn block(&mut self, block: u32) {
        if block != 0 && !self.blocks.contains(&block) {
            self.blocks.push(block);
        }
    }

    fn name(&self, leaf: &Leaf<'_>) -> String {
        ["\"", leaf.alias, "\"@\"", self.plan.query_block(leaf.origin), "\""].concat()
    }

    fn hint(&mut self, name: &str, block: u32, of: &str) {
        self.hints.push([name, "(@\"", self.plan.query_block(block), "\" ", of, ")"].concat());
    }

    fn scan(&mut self, scan: &'p Scan) {
        if scan.block == 0 {
            return;
        }
        self.block(scan.block);
        let leaf = Leaf { alias: &scan.alias, block: scan.block, origin: scan.origin };
        let table = self.name(&leaf);
        let (name, index) = match &scan.access {
            Access::Full => ("FULL", None),
            Access::Rowid(_) => ("ROWID", None),
            Access::ClusterHash { .. } => ("HASH", None),
            Access::IndexUnique { index, .. } => ("INDEX", Some(index)),
            Access::IndexFast { index } => ("INDEX_FFS", Some(index)),
            Access::IndexRange(range) if range.skip > 0 => ("INDEX_SS", Some(&range.index)),
            Access::IndexRange(range) => ("INDEX", Some(&range.index)),
        };
        match index {
            Some(index) => self.hint(name, scan.block, &[&table, " \"", &index.name, "\""].concat()),
            None => self.hint(name, scan.block, &table),
        }
    }

    fn index_join(&mut self, join: &'p Source) {
        let (mut first, mut indexes) = (None, String::new());
        join.walk(&mut |source| {
            let Source::Scan(scan) = source else { return };
            let index = match &scan.access {
                Access::IndexFast { index } => index,
                Access::IndexRange(range) => &range.index,
                _ => return,
            };
            first.get_or_insert(&**scan);
            indexes.push_str(&format!(" \"{}\"", index.name));
        });
        let Some(scan) = first.filter(|scan| scan.block != 0) else { return };
        self.block(scan.block);
        let table = self.name(&Leaf { alias: &scan.alias, block: scan.block, origin: scan.origin });
        self.hint("INDEX_JOIN", scan.block, &format!("{table}{indexes}"));
    }

    /// The hints for the joins of a block, from the topmost join: access paths, order, methods.
    fn joins(&mut self, top: &'p Source) {
        let mut steps = Vec::new();
        let mut below = top;
        let first = loop {
            let (left, right, method, build) = match below {
                Source::NestedLoops { left, right, .. } => (left, right, "USE_NL", None),
                Source::HashJoin { left, right, build, .. } => (left, right, "USE_HASH", Some(*build)),
                Source::MergeJoin { left, right, .. } => (left, right, "USE_MERGE", None),
                other => match passes(other) {
                    Some(input) => {
                        below = input;
                        continue;
                    }
                    None => break other,
                },
            };
            steps.push((&**right, method, build));
            below = left;
        };
        steps.reverse();
        self.tree(first);
        steps.iter().for_each(|(right, ..)| self.tree(right));
        let leaves: Option<Vec<Leaf<'_>>> =
            std::iter::once(first).chain(steps.iter().map(|(right, ..)| *right)).map(leaf).collect();
        // A join of joins has no name.
        let Some(leaves) = leaves else { return };
        let block = leaves[0].block;
        if block == 0 || leaves.iter().any(|leaf| leaf.block != block) {
            return;
        }
        let names: Vec<String> = leaves.iter().map(|leaf| self.name(leaf)).collect();
        self.hint("LEADING", block, &names.join(" "));
        for ((_, method, build), name) in steps.iter().zip(&names[1..]) {
            self.hint(method, block, name);
            match build {
                Some(Side::Right) => self.hint("SWAP_JOIN_INPUTS", block, name),
                Some(Side::Left) => self.hint("NO_SWAP_JOIN_INPUTS", block, name),
                None => {}
            }
        }
    }
}

fn is_index_join(view: &str) -> bool {
    view.starts_with("index$_join$_")
}

/// The input of a row source that is neither table nor join and belongs to the block of its input.
fn passes(source: &Source) -> Option<&Source> {
    match source {
        Source::Filter { input, .. }
        | Source::Startup { input, .. }
        | Source::JoinFilter { input, .. }
        | Source::Buffer { input, .. }
        | Source::Sort { input, .. }
        | Source::Project { input, view: None, .. } => Some(input),
        _ => None,
    }
}

/// The table that forms one side of a join.
fn leaf(source: &Source) -> Option<Leaf<'_>> {
    match source {
        Source::Scan(scan) => Some(Leaf { alias: &scan.alias, block: scan.block, origin: scan.origin }),
        Source::Project { input, view: Some(view), .. } if is_index_join(view) => match &**input {
            Source::HashJoin { left, .. } => leaf(left),
            _ => None,
        },
        other => leaf(passes(other)?),
    }
}
