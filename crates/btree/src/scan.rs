//! Range scans, in both directions.
//!
//! A scan copies the wanted entries of one leaf at a time into private memory. Ascending, it then follows the link to the right
//! sibling that the leaf had when it was copied, so a split in between neither hides nor repeats an entry. Descending, it goes
//! down from the root again, to the greatest entry below everything seen so far: there are no links to the left to keep right.

use crate::node::{Node, Step, Target};
use crate::tree::{STEPS_MAX, damaged};
use crate::{Btree, Index};
use block::BlockView;
use buffer_cache::GetKind;
use process::Process;
use std::ops::Bound;
use types::{Ora, Rdba, Result, Rowid};
use wait::Stat;

/// So many bytes of 0xFF sort behind everything that may follow the beginning of a key: 32 columns that are NULL, and a rowid.
const TAIL: usize = 40;

/// A scan of an index between two bounds. It may be started again and again and keeps its memory.
///
/// It gives candidates: entries whose rows had the key in some version. The caller reads each row as of its snapshot and
/// compares the key; no row comes twice with the same key.
#[derive(Debug, Default)]
pub struct RangeScan {
    index: Option<Index>,
    descending: bool,
    low: Limit,
    high: Limit,
    /// Entries of the leaf that was copied: sort keys, one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Next entry to give, as a number in `ends` counted in the direction of the scan.
    given: usize,
    ahead: Ahead,
}

/// Where the scan goes on when the copied entries are used up.
#[derive(Debug, Default, PartialEq)]
enum Ahead {
    #[default]
    Nowhere,
    /// Ascending: this leaf is next.
    Leaf(Rdba),
    /// Descending: the leaf with the greatest entry below this sort key is next.
    Below(Vec<u8>),
}

/// A bound on keys.
#[derive(Debug, Default)]
struct Limit {
    key: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Kind {
    #[default]
    None,
    Included,
    Excluded,
}

impl Limit {
    fn set(&mut self, bound: Bound<&[u8]>) {
        self.key.clear();
        self.kind = match bound {
            Bound::Unbounded => Kind::None,
            Bound::Included(key) => {
                self.key.extend_from_slice(key);
                Kind::Included
            }
            Bound::Excluded(key) => {
                self.key.extend_from_slice(key);
                Kind::Excluded
            }
        };
    }

    /// A sort key below which lies everything outside, for a lower bound, or everything inside, for an upper one.
    fn edge(&self, upper: bool, to: &mut Vec<u8>) {
        to.clear();
        to.extend_from_slice(&self.key);
        if self.kind == if upper { Kind::Included } else { Kind::Excluded } {
            to.extend_from_slice(&[0xFF; TAIL]);
        }
    }
}

impl RangeScan {
    /// A scan that has not been started.
    pub fn new() -> RangeScan {
        RangeScan::default()
    }

    /// Starts a scan of the entries whose keys lie between two bounds. A bound that is the beginning of longer keys stands for
    /// all of them: `Included` takes them in, `Excluded` leaves them out. So the bound of the first columns of a key works as
    /// it stands, in either direction.
    pub fn start(&mut self, index: &Index, low: Bound<&[u8]>, high: Bound<&[u8]>, descending: bool) {
        self.index = Some(*index);
        self.descending = descending;
        self.low.set(low);
        self.high.set(high);
        self.bytes.clear();
        self.ends.clear();
        self.given = 0;
        let mut edge = Vec::new();
        self.ahead = if descending {
            match self.high.kind {
                Kind::None => Ahead::Below(Vec::new()),
                _ => {
                    self.high.edge(true, &mut edge);
                    Ahead::Below(edge)
                }
            }
        } else {
            Ahead::Leaf(index.root)
        };
    }

    /// The next entry: its key, and the rowid of a row that may have it; `None` at the end.
    ///
    /// Statistics: `consistent gets`. Nothing is allocated once the scan's memory has grown to the size of a leaf.
    ///
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn next(&mut self, tree: &Btree, p: &Process) -> Result<Option<(&[u8], Rowid)>> {
        let Some(index) = self.index else { return Ok(None) };
        while self.given == self.ends.len() {
            match std::mem::take(&mut self.ahead) {
                Ahead::Nowhere => return Ok(None),
                Ahead::Leaf(at) if at == index.root => self.first_leaf(tree, p, &index)?,
                Ahead::Leaf(at) => self.copy_right(tree, p, &index, at, false)?,
                Ahead::Below(key) => self.copy_below(tree, p, &index, key)?,
            }
        }
        let n = if self.descending { self.ends.len() - 1 - self.given } else { self.given };
        self.given += 1;
        let begin = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        let sort_key = &self.bytes[begin..self.ends[n] as usize];
        let (key, rowid) = sort_key.split_at(sort_key.len().saturating_sub(crate::node::ROWID));
        let (rdba, slot) = crate::node::rowid_of(rowid);
        Ok(Some((key, Rowid { obj: index.table, rdba, slot })))
    }

    /// Goes down to the leaf where the range begins and copies it.
    fn first_leaf(&mut self, tree: &Btree, p: &Process, index: &Index) -> Result<()> {
        p.count(Stat::IndexScansKdiixs1, 1);
        let mut edge = Vec::new();
        self.low.edge(false, &mut edge);
        let leaf = tree.descend(p, index, Target::At(&edge), 0, &mut |_, _| {})?;
        self.copy_right(tree, p, index, leaf, true)
    }

    /// Copies the wanted entries of a leaf, and notes the one to its right. With `first`, the leaf is where the range begins.
    fn copy_right(&mut self, tree: &Btree, p: &Process, index: &Index, mut at: Rdba, first: bool) -> Result<()> {
        let mut edge = Vec::new();
        self.low.edge(false, &mut edge);
        for _ in 0..STEPS_MAX {
            let read = tree.cache().read(p, at, GetKind::Consistent, &mut |v: &BlockView| {
                let node = Node::new(*v);
                self.clear();
                if v.obj() != index.object {
                    return Err(Step::Foreign);
                }
                // Since the leaf was found it may have been split, or, being the root, have got leaves below it.
                match node.step(Target::At(&edge)) {
                    Step::Leaf => {}
                    Step::Right(_) if !first => {}
                    step => return Err(step),
                }
                let from = node.lower_bound(&edge);
                let to = self.end_in(&node);
                self.copy(&node, from, to);
                let more = to == node.entries() && node.high().is_some();
                Ok(if more { node.data.next() } else { Rdba::NONE })
            })?;
            match read {
                Ok(next) => {
                    self.ahead = if next.is_none() { Ahead::Nowhere } else { Ahead::Leaf(next) };
                    return Ok(());
                }
                Err(Step::Right(next) | Step::Child(next, _)) if !next.is_none() => at = next,
                Err(Step::Foreign) => return Err(Ora::new(8103)),
                Err(_) => return Err(damaged(index, at)),
            }
        }
        Err(damaged(index, at))
    }

    /// Copies the wanted entries of the leaf with the greatest entry below `key` (empty: of the last leaf), and notes what lies
    /// to its left.
    fn copy_below(&mut self, tree: &Btree, p: &Process, index: &Index, key: Vec<u8>) -> Result<()> {
        p.count(Stat::IndexScansKdiixs1, 1);
        let mut edge = Vec::new();
        self.low.edge(false, &mut edge);
        let target = if key.is_empty() { Target::Last } else { Target::Below(&key) };
        // The greatest separator on the way down is where the leaf begins.
        let (mut begin, mut next) = (Vec::new(), Vec::new());
        let mut at = index.root;
        for _ in 0..STEPS_MAX {
            let step = tree.cache().read(p, at, GetKind::Consistent, &mut |v: &BlockView| {
                let node = Node::new(*v);
                self.clear();
                next.clear();
                if v.obj() != index.object {
                    return Step::Foreign;
                }
                let step = node.step(target);
                let passed = match step {
                    Step::Child(_, i) if i > 0 => Some(node.sort_key(i)),
                    Step::Right(_) => node.high().map(|row| (row.at, row.len)),
                    Step::Leaf => {
                        let to = if key.is_empty() { node.entries() } else { node.lower_bound(&key) };
                        self.copy(&node, node.lower_bound(&edge), to);
                        None
                    }
                    _ => None,
                };
                if let Some((at, len)) = passed {
                    node.data.view.append_to(at, len, &mut next);
                }
                step
            })?;
            if next > begin {
                std::mem::swap(&mut begin, &mut next);
            }
            match step {
                Step::Leaf => {
                    let more = !begin.is_empty() && begin > edge;
                    self.ahead = if more { Ahead::Below(begin) } else { Ahead::Nowhere };
                    return Ok(());
                }
                Step::Child(next, _) | Step::Right(next) if !next.is_none() => at = next,
                Step::Foreign => return Err(Ora::new(8103)),
                _ => return Err(damaged(index, at)),
            }
        }
        Err(damaged(index, at))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.given = 0;
    }

    /// Number of the first entry behind the upper bound.
    fn end_in(&self, node: &Node) -> usize {
        if self.high.kind == Kind::None {
            return node.entries();
        }
        let mut edge = [0u8; 256];
        let n = self.high.key.len();
        let tail = if self.high.kind == Kind::Included { TAIL } else { 0 };
        if n + tail <= edge.len() {
            edge[..n].copy_from_slice(&self.high.key);
            edge[n..n + tail].fill(0xFF);
            return node.lower_bound(&edge[..n + tail]);
        }
        let mut edge = Vec::new();
        self.high.edge(true, &mut edge);
        node.lower_bound(&edge)
    }

    fn copy(&mut self, node: &Node, from: usize, to: usize) {
        for i in from..to {
            let (at, len) = node.sort_key(i);
            node.data.view.append_to(at, len, &mut self.bytes);
            self.ends.push(self.bytes.len() as u32);
        }
    }
}
