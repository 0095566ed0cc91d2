//! Query blocks: their names, and hints that name them.
//!
//! Each SELECT of the statement is `SEL$n`, numbered in the order of the text; those of views follow. The rows that
//! UPDATE, DELETE and MERGE change form a block `UPD$1`, `DEL$1` or `MRG$1`; INSERT is `INS$1`. QB_NAME gives another
//! name. When view merging or unnesting combines blocks, the result is a new block whose name is derived from theirs,
//! so that equal statements have equal names. Oracle's names of such blocks differ.
//!
//! A hint that names a block, as `@block` or in `table@block`, may stand in any block of the statement; it is passed to
//! the block of that name.

use crate::block_names::BlockId;
use crate::logical::{JoinSet, PartKind, Rel};
use crate::scope::{Compiler, ItemKind};
use sql::ast;

/// The block that a hint names first, and the hint without names of blocks.
fn addressed(hint: &ast::Hint) -> Option<(String, ast::Hint)> {
    let mut block = None;
    let mut args = Vec::with_capacity(hint.args.len());
    for arg in &hint.args {
        match arg.split_once('@') {
            None => args.push(arg.clone()),
            Some((of, name)) => {
                block.get_or_insert_with(|| name.to_owned());
                if !of.is_empty() {
                    args.push(of.to_owned());
                }
            }
        }
    }
    Some((block?, ast::Hint { name: hint.name.clone(), args, pos: hint.pos }))
}

impl Compiler<'_> {
    /// Begins a block: returns its number and the hints for it.
    pub fn begin_query_block(&mut self, s: &ast::Select) -> (BlockId, Vec<ast::Hint>) {
        let blocks = &mut self.query_blocks;
        let rank = if self.catalogs.is_empty() { blocks.ranks.get(&s.pos.0).copied() } else { None };
        let rank = rank.unwrap_or_else(|| {
            blocks.numbered += 1;
            blocks.numbered
        });
        self.begin_block(&s.hints, format!("SEL${rank}"))
    }

    /// Begins the block of a statement that changes rows, as [`Self::begin_query_block`].
    pub fn begin_change_block(&mut self, hints: &ast::Hints, name: &str) -> (BlockId, Vec<ast::Hint>) {
        let begun = self.begin_block(hints, name.to_owned());
        self.query_blocks.change = begun.0;
        begun
    }

    fn begin_block(&mut self, hints: &ast::Hints, name: String) -> (BlockId, Vec<ast::Hint>) {
        let ast::Hints { list, text: _ } = hints;
        let mut own = Vec::with_capacity(list.len());
        let mut qb_name = None;
        for hint in list {
            match addressed(hint) {
                Some(addressed) => self.query_blocks.hints.push(addressed),
                None => {
                    if hint.name == "QB_NAME" {
                        qb_name = hint.args.first().cloned();
                    }
                    own.push(hint.clone());
                }
            }
        }
        let blocks = &mut self.query_blocks;
        let block = blocks.add(qb_name.unwrap_or(name));
        own.extend(blocks.hints_for(block));
        (block, own)
    }

    /// Passes hints on to blocks that rewrites have made.
    pub fn hand_out_hints(&mut self) {
        if self.query_blocks.hints.is_empty() {
            return;
        }
        for at in 0..self.subs.len() {
            let mut rel = std::mem::replace(&mut self.subs[at].rel, Rel::Empty);
            self.hand_out_below(&mut rel);
            self.subs[at].rel = rel;
        }
        for at in 0..self.ctes.len() {
            let mut rel = std::mem::replace(&mut self.ctes[at].rel, Rel::Empty);
            self.hand_out_below(&mut rel);
            self.ctes[at].rel = rel;
        }
        if let Some(mut rel) = self.rows.take() {
            self.hand_out_below(&mut rel);
            self.rows = Some(rel);
        }
    }

    fn hand_out_below(&mut self, rel: &mut Rel) {
        if os::stack::is_short() {
            return;
        }
        match rel {
            Rel::Join(set) => self.hand_out_in(set),
            Rel::Set { inputs, .. } => inputs.iter_mut().for_each(|(input, _)| self.hand_out_below(input)),
            Rel::Connect(c) => {
                let probe = c.memory.probe.iter_mut();
                [&mut c.start, &mut c.child, &mut c.memory.base]
                    .into_iter()
                    .chain(probe)
                    .for_each(|set| self.hand_out_in(set));
            }
            _ => {
                if let Some(input) = rel.input_mut() {
                    self.hand_out_below(input);
                }
            }
        }
    }

    fn hand_out_in(&mut self, set: &mut JoinSet) {
        for hint in self.query_blocks.hints_for(set.block) {
            if !set.hints.contains(&hint) {
                set.hints.push(hint);
            }
        }
        for part in &mut set.parts {
            match &mut part.kind {
                PartKind::Leaf(id) => {
                    if let ItemKind::Derived { rel, .. } = &mut self.items[*id].kind
                        && let Some(mut tree) = rel.take()
                    {
                        self.hand_out_below(&mut tree);
                        if let ItemKind::Derived { rel, .. } = &mut self.items[*id].kind {
                            *rel = Some(tree);
                        }
                    }
                }
                PartKind::Set(set) => self.hand_out_in(set),
                PartKind::Full(full) => {
                    self.hand_out_in(&mut full.0);
                    self.hand_out_in(&mut full.1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_that_name_a_block_lose_its_name() {
        let hint = |args: &[&str]| ast::Hint {
            name: "LEADING".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            pos: ast::Pos(0),
        };
        let (block, bare) = addressed(&hint(&["@SEL$1", "E@SEL$1", "D@SEL$2"])).expect("addressed");
        assert_eq!((block.as_str(), bare.args), ("SEL$1", vec!["E".to_owned(), "D".to_owned()]));
        let (block, bare) = addressed(&hint(&["E@SEL$2"])).expect("addressed");
        assert_eq!((block.as_str(), bare.args), ("SEL$2", vec!["E".to_owned()]));
        assert!(addressed(&hint(&["E", "D"])).is_none());
    }
}
