//! Adding and deleting the entries of many rows at once.
//!
//! Sorted by key, the entries of a statement's rows come to each leaf together. New entries that only have to be placed
//! between existing ones are added by one change group with one undo record, and existing entries are marked deleted by
//! one (R11). An entry that needs more (its key exists already, the leaf is full) is changed singly.

use crate::entries::{Inserted, entry_bytes, too_long};
use crate::leaf::Leaf;
use crate::list::{Placed, push_key};
use crate::node::{Node, ROWID, Target, XID, first_word, flags, locator_of};
use crate::ops::op;
use crate::tree::pin_for;
use crate::{Btree, Index, key_bytes_max};
use block::BlockView;
use block::data::ROW_HEADER_BYTES;
use buffer_cache::GetKind;
use process::Process;
use redo::Layer;
use std::cmp::Ordering;
use std::ops::Range;
use txn::{LockWait, Txn};
use types::{Result, Rowid, Xid};

/// Entries to be added or deleted together. Clearing keeps the memory.
#[derive(Debug, Default)]
pub struct Batch {
    /// Sort keys, one behind the other in the order pushed.
    bytes: Vec<u8>,
    entries: Vec<Place>,
    /// The rows were not pushed in ascending order.
    rows_mixed: bool,
    /// The entries were not, or not certainly, pushed in ascending order.
    keys_mixed: bool,
}

/// Bytes of a key that are kept in its [`Place`].
const LEAD: usize = 16;

/// The position of an entry of a batch in `bytes`.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first sixteen bytes of the key, padded with zeros: they nearly always decide a comparison.
    lead: [u64; 2],
    /// The locator, as a number.
    row: u64,
    /// Where the key begins, in 48 bits.
    begin: u32,
    begin_high: u16,
    /// Length of the key; its locator follows.
    key: u16,
}
const _: () = assert!(size_of::<Place>() == 32, "two places a cache line");

impl Place {
    fn new(key: &[u8], row: Rowid, begin: usize) -> Place {
        Place {
            lead: [first_word(key), key.get(8..).map_or(0, first_word)],
            row: u64::from(row.rdba.0) << 16 | u64::from(row.slot),
            begin: begin as u32,
            begin_high: (begin >> 32) as u16,
            key: u16::try_from(key.len()).unwrap_or(u16::MAX), // refused as too long
        }
    }

    fn begin(&self) -> usize {
        usize::from(self.begin_high) << 32 | self.begin as usize
    }

    fn sort_key(&self) -> Range<usize> {
        self.begin()..self.begin() + usize::from(self.key) + ROWID
    }
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        (self.rows_mixed, self.keys_mixed) = (false, false);
    }

    /// Adds the entry of a row: key bytes as [`Btree::insert`] takes them.
    pub fn push(&mut self, key: &[u8], row: Rowid) {
        let (begin, locator) = (self.bytes.len(), locator_of(row.rdba, row.slot));
        self.rows_mixed |= self.bytes.last_chunk::<ROWID>().is_some_and(|last| *last >= locator);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&locator);
        let place = Place::new(key, row, begin);
        self.keys_mixed |= self.entries.last().is_some_and(|last| {
            // Keys with the same first bytes are equal if they have no others.
            let same = || last.lead == place.lead && key.len() <= LEAD && last.row < place.row;
            last.lead >= place.lead && !same()
        });
        self.entries.push(place);
    }

    /// True when the entries were pushed in ascending order.
    pub fn is_ascending(&self) -> bool {
        !self.keys_mixed
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of memory that the entries take.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Place>()
    }

    fn sort_key(&self, i: usize) -> &[u8] {
        &self.bytes[self.entries[i].sort_key()]
    }

    fn key(&self, i: usize) -> &[u8] {
        let place = &self.entries[i];
        &self.bytes[place.begin()..][..place.key.into()]
    }

    fn sort(&mut self) {
        if !self.keys_mixed {
            return;
        }
        let Batch { bytes, entries, rows_mixed, .. } = self;
        // The padding cannot make two keys equal: keys are self-delimiting, so no key is a prefix of another.
        let rest = |place: &Place| &bytes[place.begin()..][LEAD.min(place.key.into())..place.key.into()];
        let lead = |place: &Place| u128::from(place.lead[0]) << 64 | u128::from(place.lead[1]);
        let by_rest = |a: &Place, b: &Place| match usize::from(a.key.max(b.key)) {
            0..=LEAD => Ordering::Equal,
            _ => rest(a).cmp(rest(b)),
        };
        let by_key = |a: &Place, b: &Place| lead(a).cmp(&lead(b)).then_with(|| by_rest(a, b));
        // Rows often come in the order of the key, and the test is cheap.
        let least = if *rows_mixed { Ordering::Less } else { Ordering::Equal };
        if entries.is_sorted_by(|a, b| by_key(a, b) <= least) {
            return;
        }
        // Rows come in a few ascending runs, one for each extent, which a stable sort merges.
        if *rows_mixed {
            entries.sort_by_key(|place| place.row);
        }
        // Short elements are sorted: the first word of a key decides nearly always. Equal keys stay in the order of
        // their rows.
        let mut order: Vec<(u64, u32)> = entries.iter().zip(0..).map(|(place, n)| (place.lead[0], n)).collect();
        sort_by_lead(&mut order);
        if entries.iter().any(|place| usize::from(place.key) > size_of::<u64>()) {
            for same in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
                same.sort_unstable_by(|a, b| {
                    by_key(&entries[a.1 as usize], &entries[b.1 as usize]).then(a.1.cmp(&b.1))
                });
            }
        }
        *entries = order.iter().map(|(_, n)| entries[*n as usize]).collect();
    }

    /// The number of entries that lie below a leaf's high key, of at most `most` from number `from` on.
    fn below(&self, from: usize, most: usize, is_below: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (from, (from + most).min(self.len()));
        if high > low && is_below(self.sort_key(high - 1)) {
            return high - from;
        }
        while low < high {
            let middle = (low + high) / 2;
            if is_below(self.sort_key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low - from
    }
}

/// Fewer elements are sorted by comparing them.
const RADIX_MIN: usize = 256;

/// Sorts by the first word, and leaves elements with equal words in their order: a radix sort from the last byte of the
/// words to the first, without the bytes that are the same in all of them, as most bytes of the keys of one index are.
fn sort_by_lead(order: &mut Vec<(u64, u32)>) {
    if order.len() < RADIX_MIN {
        return order.sort_by_key(|(lead, _)| *lead);
    }
    let first = order[0].0;
    let differing = order.iter().fold(0, |bits, (lead, _)| bits | (lead ^ first));
    let mut sorted = vec![(0, 0); order.len()];
    for shift in (0..u64::BITS).step_by(8).filter(|shift| differing >> shift & 0xff != 0) {
        let byte = |lead: u64| (lead >> shift & 0xff) as usize;
        let mut ends = [0; 256];
        order.iter().for_each(|(lead, _)| ends[byte(*lead)] += 1);
        let mut begin = 0;
        for n in &mut ends {
            begin += std::mem::replace(n, begin);
        }
        for element in order.iter() {
            let to = &mut ends[byte(element.0)];
            sorted[*to] = *element;
            *to += 1;
        }
        std::mem::swap(order, &mut sorted);
    }
}

/// The result of adding or marking the next entries.
enum Run {
    /// This many entries were changed; with true, the leaf has no live entry left.
    Done(usize, bool),
    /// The leaf has no room.
    Full,
    /// The first entry has to be changed singly.
    Single,
    /// The undo record has to list the entries.
    Listed,
}

/// The form of the undo record of many entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Ranges of the index in which every entry of the transaction belongs to the record (R15).
    Ranges,
    /// All entries.
    List,
}

/// Most bytes of an undo record with ranges.
const RANGES_MAX: usize = 1024;
/// A record with ranges has at least this many entries for each kind of former mark.
const UNIFORM_MIN: usize = 16;

/// Ranges of sort keys, as a list ([`push_key`]) of the first and the last key of each.
struct Ranges {
    bytes: Vec<u8>,
    /// The number in the batch of the key listed last.
    before: Option<usize>,
}

impl Ranges {
    fn after(head: &[u8]) -> Ranges {
        Ranges { bytes: head.to_vec(), before: None }
    }

    /// Appends the key of entry `i` of the batch, which begins or ends a range. False when that exceeds the limit.
    fn push(&mut self, batch: &Batch, i: usize) -> bool {
        push_key(self.before.map_or(&[], |i| batch.sort_key(i)), batch.sort_key(i), &mut self.bytes);
        self.before = Some(i);
        self.bytes.len() <= RANGES_MAX
    }
}

impl Btree {
    /// Runs `f` with ranges as undo, and again with a list where ranges cannot express the entries.
    fn in_either_form(&self, p: &Process, f: &mut dyn FnMut(Form) -> Result<Run>) -> Result<Run> {
        match self.txns.retrying(p, &mut || f(Form::Ranges))? {
            Run::Listed => self.txns.retrying(p, &mut || f(Form::List)),
            done => Ok(done),
        }
    }
}

impl Btree {
    /// Adds the entries of many rows to an index, after sorting them. [`Inserted::Duplicate`] when the index is unique
    /// and has one of the keys already, or the batch has it twice; entries before it have been added, and the caller
    /// rolls back.
    ///
    /// Waits and errors as [`Btree::insert`].
    pub fn insert_many(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        batch: &mut Batch,
        wait: LockWait,
    ) -> Result<Inserted> {
        let most = key_bytes_max(self.cache().block_size());
        if (0..batch.len()).any(|i| batch.key(i).len() > most) {
            return Err(too_long(most));
        }
        batch.sort();
        let mut from = 0;
        while from < batch.len() {
            match self.in_either_form(p, &mut |form| self.insert_run(p, t, index, batch, from, form))? {
                Run::Done(n, _) => from += n,
                Run::Full => self.make_room(p, index, batch.sort_key(from))?,
                Run::Single | Run::Listed => {
                    let row = row_of(index, batch.sort_key(from));
                    if let Inserted::Duplicate(other) = self.insert(p, t, index, batch.key(from), row, wait)? {
                        return Ok(Inserted::Duplicate(other));
                    }
                    from += 1;
                }
            }
        }
        Ok(Inserted::Done)
    }

    /// Adds those of the entries from number `from` on that go into one leaf.
    fn insert_run(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        batch: &Batch,
        from: usize,
        form: Form,
    ) -> Result<Run> {
        // As for a single entry of a unique index: the leaf where the first entry of the key would be (R6).
        let first = if index.unique { batch.key(from) } else { batch.sort_key(from) };
        let leaf = self.leaf_for(p, index, Target::At(first))?;
        let look = self.cache().read(p, leaf, GetKind::Examination, &mut |v: &BlockView| {
            let node = Node::new(*v);
            if !node.is_leaf() || v.obj() != index.object {
                return (0, false);
            }
            let high = node.high();
            let is_below = |key: &[u8]| high.is_none_or(|(at, len)| v.compare(at, len, key) == Ordering::Greater);
            let mut free = node.data.free_bytes();
            if high.is_none() {
                // Reserves room in the rightmost leaf for the high key that it gets when it is full, so that the leaf
                // need not be compacted for it.
                free = free.saturating_sub(ROW_HEADER_BYTES + node.low().1 + batch.sort_key(from).len());
            }
            let fits = |i: &usize| {
                let left = free.checked_sub(entry_bytes(batch.sort_key(*i)));
                free = left.unwrap_or(0);
                left.is_some()
            };
            let most = (from..batch.len()).take_while(fits).count();
            (batch.below(from, most, is_below), most == 0 && node.entries() > 1 && is_below(batch.sort_key(from)))
        })?;
        let (expected, full) = look;
        if full {
            return Ok(Run::Full);
        }
        if expected == 0 {
            return Ok(Run::Single);
        }
        let (mut list, mut ends, mut room) = (Vec::new(), Vec::new(), RANGES_MAX);
        let mut most = expected;
        if form == Form::List {
            (list, ends) = self.list_of(batch, from, expected, 0);
            let Some(last) = ends.last() else { return Ok(Run::Single) };
            (room, most) = (*last as usize, ends.len());
        }
        let mut c = self.txns.change(p, t, 1, room)?;
        let b = pin_for(c.group(), index, leaf, first, 0)?;
        let (mut redo, own) = (Vec::with_capacity(XID + 12 * most), c.xid());
        redo.extend_from_slice(&own.to_bits().to_le_bytes());
        let mut ranges = Ranges::after(&[]);
        let leaf = Leaf::new(c.view(b));
        let placed = plan_in(&leaf, index, batch, from..from + most, &mut redo);
        if placed.is_empty() {
            return Ok(Run::Single);
        }
        let undo = match form {
            Form::Ranges => {
                let between = |a: usize, b: usize| placed[a]..placed[b];
                match ranges_of(&leaf, own, batch, from, placed.len(), between, &mut ranges) {
                    true => (crate::undo_op::TAKE_OUT_RANGES, &ranges.bytes),
                    false => return Ok(Run::Listed),
                }
            }
            Form::List => {
                list.truncate(ends[placed.len() - 1] as usize);
                (crate::undo_op::TAKE_OUT_MANY, &list)
            }
        };
        c.logical_undo(index.object, Layer::Index, index.root, (undo.0, undo.1))?;
        c.group().change(b, Layer::Index, op::INSERT_PLACED, &redo)?;
        c.commit()?;
        Ok(Run::Done(placed.len(), false))
    }

    /// Prefix-compressed list of the keys of at most `most` entries from number `from` on, and the end of each in it.
    /// The list is limited to half a block together with `more` further bytes of undo for each entry.
    fn list_of(&self, batch: &Batch, from: usize, most: usize, more: usize) -> (Vec<u8>, Vec<u32>) {
        let room = self.cache().block_size() / 2;
        let (mut undo, mut ends) = (Vec::with_capacity(512), Vec::with_capacity(most));
        let mut before: &[u8] = &[];
        for i in from..from + most {
            push_key(before, batch.sort_key(i), &mut undo);
            before = batch.sort_key(i);
            if undo.len() + more * (ends.len() + 1) > room {
                break;
            }
            ends.push(undo.len() as u32);
        }
        (undo, ends)
    }
}

impl Btree {
    /// Marks the entries of many rows deleted, after sorting them.
    ///
    /// # Errors
    /// As [`Btree::delete`].
    pub fn delete_many(&self, p: &Process, t: &mut Txn, index: &Index, batch: &mut Batch) -> Result<()> {
        batch.sort();
        let mut from = 0;
        while from < batch.len() {
            let done = match self.in_either_form(p, &mut |form| self.delete_run(p, t, index, batch, from, form))? {
                Run::Done(n, emptied) => {
                    if emptied {
                        self.note_empty(p, index, batch.sort_key(from).to_vec());
                    }
                    n
                }
                _ => 0,
            };
            from += done;
            if done == 0 {
                self.delete(p, t, index, batch.key(from), row_of(index, batch.sort_key(from)))?;
                from += 1;
            }
        }
        Ok(())
    }

    /// Marks those of the entries from number `from` on that lie in one leaf.
    fn delete_run(
        &self,
        p: &Process,
        t: &mut Txn,
        index: &Index,
        batch: &Batch,
        from: usize,
        form: Form,
    ) -> Result<Run> {
        let first = batch.sort_key(from);
        let leaf = self.leaf_for(p, index, Target::At(first))?;
        let expected = self.cache().read(p, leaf, GetKind::Examination, &mut |v: &BlockView| {
            let node = Node::new(*v);
            match node.high() {
                _ if !node.is_leaf() || v.obj() != index.object => 0,
                Some((at, len)) => {
                    batch.below(from, node.entries(), |key| v.compare(at, len, key) == Ordering::Greater)
                }
                None => node.entries().min(batch.len() - from),
            }
        })?;
        if expected == 0 {
            return Ok(Run::Single);
        }
        let listed = if form == Form::List { self.list_of(batch, from, expected, 1) } else { Default::default() };
        // Neighbours were usually made by one transaction, which the undo then names once.
        let most = match (form, listed.1.last()) {
            (Form::Ranges, _) => RANGES_MAX,
            (Form::List, Some(end)) => *end as usize + listed.1.len() + XID,
            (Form::List, None) => return Ok(Run::Single),
        };
        let mut c = self.txns.change(p, t, 1, most)?;
        let own = c.xid();
        let b = pin_for(c.group(), index, leaf, first, 0)?;
        let mut redo = Vec::with_capacity(1 + XID + 2 * expected);
        redo.push(flags::DELETED);
        redo.extend_from_slice(&own.to_bits().to_le_bytes());
        let leaf = Leaf::new(c.view(b));
        let (done, op_of_undo, undo) = match form {
            Form::List => {
                let mut undo = Vec::with_capacity(most);
                let entries = from..from + expected;
                let done = find_in(&leaf, batch, entries, (&listed.0, &listed.1), most, &mut redo, &mut undo);
                (done, crate::undo_op::PUT_BACK_MANY, undo)
            }
            Form::Ranges => {
                let (found, mark) = find_uniform(&leaf, batch, from..from + expected, own, &mut redo);
                let is_uniform = found.len() == expected || found.len() >= UNIFORM_MIN;
                let mut head = vec![mark.0];
                head.extend_from_slice(&mark.1.to_bits().to_le_bytes());
                let mut ranges = Ranges::after(&head);
                let between = |a: usize, b: usize| found[a] + 1..found[b];
                if !is_uniform || !ranges_of(&leaf, own, batch, from, found.len(), between, &mut ranges) {
                    return Ok(Run::Listed);
                }
                (found.len(), crate::undo_op::PUT_BACK_RANGES, ranges.bytes)
            }
        };
        if done == 0 {
            return Ok(Run::Single);
        }
        c.logical_undo(index.object, Layer::Index, index.root, (op_of_undo, &undo))?;
        c.group().change(b, Layer::Index, op::MARK_EACH, &redo)?;
        let leaf = Leaf::new(c.view(b));
        let emptied =
            b.rdba() != index.root && (done == leaf.entries() || (0..leaf.entries()).all(|i| leaf.is_deleted(i)));
        c.commit()?;
        Ok(Run::Done(done, emptied))
    }
}

/// Collects the ranges of `count` entries of a batch, from number `from` on, so that no entry of the transaction `own`
/// lies in a range beside them. `between` gives the leaf's entries between two of them. False for too many ranges.
fn ranges_of(
    leaf: &Leaf<'_>,
    own: Xid,
    batch: &Batch,
    from: usize,
    count: usize,
    between: impl Fn(usize, usize) -> Range<usize>,
    ranges: &mut Ranges,
) -> bool {
    if count == 0 || !ranges.push(batch, from) {
        return false;
    }
    for n in 1..count {
        if between(n - 1, n).any(|i| leaf.mark(i).1 == own)
            && !(ranges.push(batch, from + n - 1) && ranges.push(batch, from + n))
        {
            return false;
        }
    }
    ranges.push(batch, from + count - 1)
}

/// Finds live entries in a leaf, until one is missing, belongs to the transaction `own`, or has another mark than the
/// first. Appends their directory entries to `redo`; returns the numbers of the entries, and their common mark.
fn find_uniform(
    leaf: &Leaf<'_>,
    batch: &Batch,
    entries: Range<usize>,
    own: Xid,
    redo: &mut Vec<u8>,
) -> (Vec<usize>, (u8, Xid)) {
    let (mut at, mut first, mut found) = (0, None, Vec::with_capacity(entries.len()));
    for i in entries {
        let key = batch.sort_key(i);
        let mut mark = leaf.mark_at(at, key);
        if mark.is_none() {
            let there;
            (at, there) = leaf.find_from(at, key);
            mark = there.then(|| leaf.mark(at));
        }
        let Some(mark) = mark else { break };
        if mark.0 & flags::DELETED != 0 || mark.1 == own || *first.get_or_insert(mark) != mark {
            break;
        }
        redo.extend_from_slice(&(at as u16 + 1).to_le_bytes());
        found.push(at);
        at += 1;
    }
    (found, first.unwrap_or_default())
}

/// Finds live entries in a leaf, until one is missing or the undo would exceed `most` bytes. `list` holds the keys of
/// the first of them as [`crate::list`] does, and the end of each. Appends their directory entries to `redo` and their
/// former marks to `undo`; returns how many were found.
fn find_in(
    leaf: &Leaf,
    batch: &Batch,
    entries: Range<usize>,
    list: (&[u8], &[u32]),
    most: usize,
    redo: &mut Vec<u8>,
    undo: &mut Vec<u8>,
) -> usize {
    let (mut at, mut last, mut begin) = (0, None, 0);
    for (n, (i, &end)) in entries.zip(list.1).enumerate() {
        let there;
        (at, there) = leaf.find_from(at, batch.sort_key(i));
        let (marked, xid) = leaf.mark(at);
        let known = last == Some(xid);
        let key = &list.0[begin as usize..end as usize];
        let bytes = 1 + if known { 0 } else { XID } + key.len();
        if !there || marked & flags::DELETED != 0 || undo.len() + bytes > most {
            return n;
        }
        crate::undo::push_marked(marked, (!known).then_some(xid), undo);
        undo.extend_from_slice(key);
        redo.extend_from_slice(&(at as u16 + 1).to_le_bytes());
        (last, begin) = (Some(xid), end);
        at += 1;
    }
    list.1.len()
}

fn row_of(index: &Index, sort_key: &[u8]) -> Rowid {
    let (rdba, slot) = crate::node::rowid_of(&sort_key[sort_key.len() - ROWID..]);
    Rowid { obj: index.table, rdba, slot }
}

/// Appends to `redo` those of the entries that are new and fit into the leaf, up to the first that is not; returns for
/// each the entry of the leaf that it comes before.
fn plan_in(leaf: &Leaf, index: &Index, batch: &Batch, entries: Range<usize>, redo: &mut Vec<u8>) -> Vec<usize> {
    let mut placed = Vec::with_capacity(entries.len());
    let (high, mut free, mut at, mut before): (_, _, _, &[u8]) = (leaf.high(), leaf.free_bytes, 0, &[]);
    let (mut list, mut key_before): (_, &[u8]) = (Placed::default(), &[]);
    for (n, i) in entries.enumerate() {
        let (key, sort_key) = (batch.key(i), batch.sort_key(i));
        let Some(rowid) = sort_key.last_chunk::<ROWID>() else { break };
        let found;
        (at, found) = leaf.find_from(at, sort_key);
        let there = match index.unique {
            true => {
                let around = at > 0 && leaf.has_key(at - 1, key) || leaf.has_key(at, key);
                around || high.is_some_and(|h| h.starts_with(key)) || n > 0 && key_before == key
            }
            false => found || n > 0 && before == sort_key,
        };
        let (need, beyond) = (entry_bytes(sort_key), high.is_some_and(|h| h <= sort_key));
        if there || beyond || free < need {
            break;
        }
        placed.push(at);
        free -= need;
        list.push((at + n + 1) as u16, key, rowid, key_before, redo);
        (before, key_before) = (sort_key, key);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ObjectId, Rdba};

    #[test]
    fn entries_are_sorted_by_key_and_then_by_row() {
        let mut random = testing::Random::new(5);
        for (count, distinct, most) in [(40, 9, 3), (3000, 100, 2), (3000, 5000, 9), (3000, 3, 30), (3000, 2000, 20)] {
            let mut batch = Batch::new();
            let mut want: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    // As stored keys, none is a prefix of another: the last byte alone is 255.
                    let n: u64 = random.below(distinct);
                    let mut key = vec![(n % 7) as u8; (n % most) as usize];
                    key.extend_from_slice(&n.to_be_bytes());
                    key.iter_mut().for_each(|byte| *byte = (*byte).min(254));
                    key.push(255);
                    let row = Rowid { obj: ObjectId(1), rdba: Rdba(random.below(500)), slot: random.below(9) };
                    batch.push(&key, row);
                    [&key[..], &locator_of(row.rdba, row.slot)].concat()
                })
                .collect();
            want.sort();
            batch.sort();
            let got: Vec<&[u8]> = (0..batch.len()).map(|i| batch.sort_key(i)).collect();
            assert_eq!(got, want, "{count} entries, {distinct} keys");
        }
    }

    #[test]
    fn an_entry_behind_the_first_4_gb_of_a_batch_keeps_its_place() {
        let row = Rowid { obj: ObjectId(1), rdba: Rdba(2), slot: 3 };
        for begin in [0, 7, u32::MAX as usize, (1 << 32) + 7, (5 << 40) + 1] {
            let place = Place::new(b"key", row, begin);
            assert_eq!((place.begin(), place.sort_key()), (begin, begin..begin + 3 + ROWID));
        }
    }
}
