//! Checking a whole tree.

use crate::node::{Node, Step, Target};
use crate::{Btree, Index};
use block::{BlockView, Image};
use buffer_cache::GetKind;
use process::Process;
use types::{Rdba, Rowid, Scn};

/// The measures of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Levels, leaves included: 1 for a tree that is one leaf.
    pub height: usize,
    /// Leaves.
    pub leaves: usize,
    /// Branches, the root included when it is one.
    pub branches: usize,
    /// Entries that are not marked deleted.
    pub live: usize,
    /// Entries that are marked deleted.
    pub deleted: usize,
}

impl Btree {
    /// Checks a tree: order, high keys, links between siblings, levels, and that each block hangs under the right
    /// separator. Exact only while nothing changes the tree.
    ///
    /// # Errors
    /// A sentence that names the violated rule, or the block that could not be read.
    pub fn verify(&self, p: &Process, index: &Index) -> Result<TreeReport, String> {
        self.verify_with(p, index, &mut |_, _| {})
    }

    /// As [`Btree::verify`], and shows every entry that is not marked deleted to `each`, in order: its key and the row
    /// it names.
    ///
    /// # Errors
    /// As [`Btree::verify`]; entries of blocks before the bad one have been shown.
    pub fn verify_with(
        &self,
        p: &Process,
        index: &Index,
        each: &mut dyn FnMut(&[u8], Rowid),
    ) -> Result<TreeReport, String> {
        let mut report = TreeReport::default();
        let mut level = vec![(index.root, Vec::new())];
        while !level.is_empty() {
            report.height += 1;
            level = self.verify_level(p, index, &level, &mut report, each)?;
        }
        Ok(report)
    }

    /// Checks the blocks of one level, given with the keys at which they begin; returns those of the level below.
    fn verify_level(
        &self,
        p: &Process,
        index: &Index,
        blocks: &[(Rdba, Vec<u8>)],
        report: &mut TreeReport,
        each: &mut dyn FnMut(&[u8], Rowid),
    ) -> Result<Vec<(Rdba, Vec<u8>)>, String> {
        let mut below = Vec::new();
        let mut image = Image::new(self.cache().block_size());
        let mut kind = None;
        for (n, (at, begin)) in blocks.iter().enumerate() {
            let copied =
                self.cache().read(p, *at, GetKind::Current, &mut |v: &BlockView| v.copy_block(image.bytes_mut()));
            copied.map_err(|e| e.to_string())?;
            block::assert_invariants(image.bytes()).map_err(|e| format!("block {at}: {e}"))?;
            let node = Node::new(image.view());
            if image.view().obj() != index.object || node.step(Target::At(begin)) == Step::Foreign {
                return Err(format!("block {at} is not of this index"));
            }
            if *kind.get_or_insert((node.is_leaf(), node.level())) != (node.is_leaf(), node.level()) {
                return Err(format!("block {at} has level {}", node.level()));
            }
            let next = blocks.get(n + 1);
            check_block(&node, *at, begin, next)?;
            if node.purged() > self.transactions().current_scn() || (!node.is_leaf() && node.purged() > Scn::ZERO) {
                return Err(format!("block {at} has rows purged up to SCN {}, which is not yet", node.purged()));
            }
            if node.is_leaf() {
                report.leaves += 1;
                let deleted = (0..node.entries()).filter(|i| node.is_deleted(*i)).count();
                report.deleted += deleted;
                report.live += node.entries() - deleted;
                for i in (0..node.entries()).filter(|i| !node.is_deleted(*i)) {
                    let bytes = sort_key(&node, i);
                    each(&bytes[..node.key_len(i).min(bytes.len())], node.row(i, index.table));
                }
            } else {
                report.branches += 1;
                for i in 0..node.entries() {
                    let from = if i == 0 { begin.clone() } else { sort_key(&node, i) };
                    below.push((node.child(i), from));
                }
            }
        }
        Ok(below)
    }
}

fn sort_key(node: &Node, i: usize) -> Vec<u8> {
    let (at, len) = node.sort_key(i);
    let mut bytes = Vec::new();
    node.data.view.append_to(at, len, &mut bytes);
    bytes
}

fn check_block(node: &Node, at: Rdba, begin: &[u8], next: Option<&(Rdba, Vec<u8>)>) -> Result<(), String> {
    let high = node.high().map(|at| node.bytes_at(at));
    let low = node.bytes_at(node.low());
    if low != begin {
        return Err(format!("block {at} begins at {low:?}, parent says {begin:?}"));
    }
    match (&high, next) {
        (None, None) if node.data.next().is_none() => {}
        (Some(high), Some((right, from))) if high == from && node.data.next() == *right => {}
        _ => {
            return Err(format!("block {at} ends at {high:?} and leads to {}, parent says {next:?}", node.data.next()));
        }
    }
    let first = if node.is_leaf() { 0 } else { 1 };
    for i in first..node.entries() {
        let key = sort_key(node, i);
        let above = i > first && sort_key(node, i - 1) >= key;
        if above || key.as_slice() < begin || high.as_ref().is_some_and(|high| key >= *high) {
            return Err(format!("entry {i} of block {at} is out of order"));
        }
    }
    if !node.is_leaf() && node.entries() == 0 {
        return Err(format!("branch {at} has no child"));
    }
    Ok(())
}
