//! Row operations on one block, as change vectors. Forward changes and their undo are the same few operations.
//!
//! | op | data | does |
//! |---|---|---|
//! | PUT | slot, flags, lock, extra, body | puts or replaces a row |
//! | REMOVE | slot | empties the directory entry |
//! | MARK | slot, flags, lock | sets flags and lock byte |
//! | PUT_MANY | lock, then (slot, flags, extra, length, body) … | puts new rows |
//! | REMOVE_MANY | slots | empties directory entries |
//! | PUT_EACH | (slot, extra, length, flags, lock, body) … | puts or replaces rows |
//! | SPLICE_EACH | (slot, from, cut, length, lock, bytes) … | replaces `cut` bytes of rows from offset `from` on: all or none |
//!
//! A row that is replaced by a shorter one, or deleted, leaves its bytes as credit of the locking transaction, so that
//! nobody else can take the room a roll back needs. A deleted row stays as an empty piece with [`flags::DELETED`] until
//! a later insert takes its directory entry, for the same reason. `aux16` of the block counts such pieces.

use block::{Data, DataMut, Itl, Refused};
use types::{Ora, Result};

/// Flags in a row's header. Block dumps print them `K`, `C`, `H`, `D`, `F`, `L`, `P`, `N`.
pub mod flags {
    /// The row starts here: its rowid names this piece.
    pub const HEAD: u8 = 0x20;
    /// Deleted; the directory entry may be used again once the deleting transaction has committed.
    pub const DELETED: u8 = 0x10;
    /// First bytes of the row.
    pub const FIRST: u8 = 0x08;
    /// Last bytes of the row. A piece without this flag begins with the address of the next piece.
    pub const LAST: u8 = 0x04;
    /// A whole row in one piece.
    pub const WHOLE: u8 = HEAD | FIRST | LAST;
}

pub const PUT: u8 = 1;
pub const REMOVE: u8 = 2;
pub const MARK: u8 = 3;
pub const PUT_MANY: u8 = 4;
pub const REMOVE_MANY: u8 = 5;
pub const PUT_EACH: u8 = 6;
pub const SPLICE_EACH: u8 = 7;

/// Bytes of a row in a block besides its body.
pub const ROW_OVERHEAD: usize = block::data::ROW_HEADER_BYTES + block::data::SLOT_BYTES;

/// Encodes a PUT into `out` (cleared first).
pub fn encode_put(out: &mut Vec<u8>, slot: u16, flags: u8, lock: u8, extra: u16, body: &[u8]) {
    out.clear();
    put_head(out, slot, flags, lock, extra);
    out.extend_from_slice(body);
}

/// Begins a PUT in `out` (cleared first); the body is appended by the caller.
#[inline]
pub fn put_head(out: &mut Vec<u8>, slot: u16, flags: u8, lock: u8, extra: u16) {
    out.clear();
    out.extend_from_slice(&slot.to_le_bytes());
    out.extend_from_slice(&[flags, lock]);
    out.extend_from_slice(&extra.to_le_bytes());
}

/// Encodes a MARK.
pub fn mark(slot: u16, flags: u8, lock: u8) -> [u8; 4] {
    let s = slot.to_le_bytes();
    [s[0], s[1], flags, lock]
}

/// Appends a row to a PUT_MANY, which begins with the lock byte.
pub fn add_to_many(out: &mut Vec<u8>, slot: u16, flags: u8, extra: u16, body: &[u8]) {
    let ([s0, s1], [e0, e1], [l0, l1]) = (slot.to_le_bytes(), extra.to_le_bytes(), (body.len() as u16).to_le_bytes());
    out.reserve(MANY_HEAD + body.len());
    out.extend_from_slice(&[s0, s1, e0, e1, l0, l1, flags]);
    out.extend_from_slice(body);
}

/// Bytes before the body of a row in a PUT_EACH.
pub const EACH_HEAD: usize = 8;

/// Appends a row to a PUT_EACH.
pub fn add_to_each(out: &mut Vec<u8>, slot: u16, flags: u8, lock: u8, extra: u16, body: &[u8]) {
    add_head_to_each(out, slot, flags, lock, extra, body.len());
    out.extend_from_slice(body);
}

/// Appends the head of a row to a PUT_EACH; `len` bytes are appended by the caller.
pub fn add_head_to_each(out: &mut Vec<u8>, slot: u16, flags: u8, lock: u8, extra: u16, len: usize) {
    let ([s0, s1], [e0, e1], [l0, l1]) = (slot.to_le_bytes(), extra.to_le_bytes(), (len as u16).to_le_bytes());
    out.reserve(EACH_HEAD + len);
    out.extend_from_slice(&[s0, s1, e0, e1, l0, l1, flags, lock]);
}

/// Bytes before the new bytes of a row in a SPLICE_EACH.
pub const SPLICE_HEAD: usize = 9;

/// Appends a row to a SPLICE_EACH: `bytes` replace `cut` bytes of the row's body, from offset `from` on (H11).
pub fn add_to_splice(out: &mut Vec<u8>, slot: u16, from: usize, cut: usize, lock: u8, bytes: &[u8]) {
    let word = |n: usize| (n as u16).to_le_bytes();
    let ([s0, s1], [f0, f1], [c0, c1], [l0, l1]) = (slot.to_le_bytes(), word(from), word(cut), word(bytes.len()));
    out.reserve(SPLICE_HEAD + bytes.len());
    out.extend_from_slice(&[s0, s1, f0, f1, c0, c1, l0, l1, lock]);
    out.extend_from_slice(bytes);
}

/// Length of the common prefix of two bodies, and of the common suffix of the remaining bytes.
pub fn in_common(a: &[u8], b: &[u8]) -> (usize, usize) {
    let most = a.len().min(b.len());
    let mut begin = 0;
    while begin + 8 <= most && a[begin..begin + 8] == b[begin..begin + 8] {
        begin += 8;
    }
    begin += a[begin..most].iter().zip(&b[begin..most]).take_while(|(a, b)| a == b).count();
    let (a, b, most) = (&a[begin..], &b[begin..], most - begin);
    let mut end = 0;
    while end + 8 <= most && a[a.len() - end - 8..a.len() - end] == b[b.len() - end - 8..b.len() - end] {
        end += 8;
    }
    let rest = a[..a.len() - end].iter().rev().zip(b[..b.len() - end].iter().rev()).take(most - end);
    (begin, end + rest.take_while(|(a, b)| a == b).count())
}

/// Applies a row operation to a block: the apply function of heap blocks.
pub fn apply(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
    let mut d = DataMut::new(block);
    let done = match op {
        PUT => apply_put(&mut d, data),
        REMOVE => remove(&mut d, u16_at(data, 0)?),
        MARK => apply_mark(&mut d, data),
        PUT_MANY => apply_put_many(&mut d, data),
        PUT_EACH => apply_put_each(&mut d, data),
        SPLICE_EACH => apply_splice_each(&mut d, data),
        REMOVE_MANY => data.chunks_exact(2).try_for_each(|s| remove(&mut d, u16::from_le_bytes([s[0], s[1]]))),
        _ => return Err(Ora::internal(format_args!("heap operation {op}"))),
    };
    done.map_err(|e| Ora::internal(format_args!("heap operation {op}: {e:?}")))
}

/// Calls `f` with each directory entry that an undo record's row operation changes, and whether it changes more than
/// the lock. False for an operation that no undo record has.
pub fn slots(op: u8, data: &[u8], f: &mut dyn FnMut(u16, bool)) -> bool {
    let of = |bytes: &[u8]| bytes.first_chunk::<2>().map(|b| u16::from_le_bytes(*b));
    match op {
        PUT | REMOVE => of(data).into_iter().for_each(|slot| f(slot, true)),
        MARK => of(data).into_iter().for_each(|slot| f(slot, false)),
        REMOVE_MANY => data.chunks_exact(2).filter_map(of).for_each(|slot| f(slot, true)),
        PUT_EACH => each(data, EACH_HEAD, 4).filter_map(|(head, _)| of(head)).for_each(|slot| f(slot, true)),
        SPLICE_EACH => each(data, SPLICE_HEAD, 6).filter_map(|(head, _)| of(head)).for_each(|slot| f(slot, true)),
        _ => return false,
    }
    true
}

/// Whether a row operation changes directory entry `slot`.
pub fn touches(op: u8, data: &[u8], slot: u16) -> bool {
    let slot = slot.to_le_bytes();
    match op {
        PUT | REMOVE | MARK => data.get(..2) == Some(&slot),
        REMOVE_MANY => data.chunks_exact(2).any(|s| s == slot),
        PUT_EACH => each(data, EACH_HEAD, 4).any(|(head, _)| head[..2] == slot),
        SPLICE_EACH => each(data, SPLICE_HEAD, 6).any(|(head, _)| head[..2] == slot),
        // PUT_MANY occurs only in forward changes.
        _ => true,
    }
}

fn u16_at(data: &[u8], at: usize) -> Result<u16> {
    match data.get(at..at + 2) {
        Some(b) => Ok(u16::from_le_bytes([b[0], b[1]])),
        None => Err(Ora::internal("short heap change vector")),
    }
}

fn apply_put(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let Some((head, body)) = data.split_at_checked(6) else { return Err(Refused::NoSuch) };
    let (slot, extra) = (u16::from_le_bytes([head[0], head[1]]), u16::from_le_bytes([head[4], head[5]]));
    put(d, slot, head[2], head[3], extra, body)
}

fn apply_put_many(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let Some((lock, mut rest)) = data.split_first() else { return Err(Refused::NoSuch) };
    let mut locked = 0;
    let mut appended = d.append_rows();
    while let Some((head, tail)) = rest.split_first_chunk::<MANY_HEAD>() {
        let [s0, s1, e0, e1, l0, l1, flags] = *head;
        let (slot, extra) = (u16::from_le_bytes([s0, s1]), u16::from_le_bytes([e0, e1]));
        let body = tail.split_at_checked(usize::from(u16::from_le_bytes([l0, l1])));
        let Some((body, next)) = body else { return Err(Refused::NoSuch) };
        // New rows usually go behind the existing ones, into the gap.
        if flags & flags::DELETED != 0 || !appended.push(slot, flags, *lock, extra, body) {
            appended.finish();
            d.insert(slot, flags, *lock, extra, body)?;
            count_deleted(d, 0, flags);
            appended = d.append_rows();
        }
        locked += 1;
        rest = next;
    }
    appended.finish();
    // The lock count of the entry is set once for all rows.
    match d.read().itl(*lock) {
        Some(mut itl) => {
            add_locks(&mut itl, locked, 0)?;
            d.set_itl(*lock, &itl)
        }
        None => Ok(()),
    }
}

/// Bytes before the body of a row in a PUT_MANY.
const MANY_HEAD: usize = 7;

/// The heads (of `head` bytes) and bodies of the rows in a change vector of many rows; the length of a body stands at
/// `length_at` in its head.
fn each(data: &[u8], head: usize, length_at: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_at_checked(head)?;
        let (body, next) = tail.split_at_checked(word_at(head, length_at))?;
        rest = next;
        Some((head, body))
    })
}

fn word_at(head: &[u8], at: usize) -> usize {
    u16::from_le_bytes([head[at], head[at + 1]]).into()
}

fn apply_put_each(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let mut moves = Moves::default();
    for (head, body) in each(data, EACH_HEAD, 4) {
        let (slot, extra, flags, lock) = (word_at(head, 0) as u16, word_at(head, 2) as u16, head[6], head[7]);
        match d.read().row(slot.into()) {
            Some(old) => {
                d.replace(slot, flags, lock, extra, body)?;
                count_deleted(d, old.flags, flags);
                moves.add(d, old.lock, lock, old.len.saturating_sub(body.len()))?;
            }
            None => {
                d.insert(slot, flags, lock, extra, body)?;
                count_deleted(d, 0, flags);
                moves.add(d, 0, lock, 0)?;
            }
        }
    }
    moves.finish(d)
}

/// Checks all rows before changing the first: a splice that was applied in part could not be applied again (H11).
fn apply_splice_each(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let mut free = d.read().free_bytes();
    let directory = d.read().directory_reader();
    for (head, bytes) in each(data, SPLICE_HEAD, 6) {
        let row = directory.row(word_at(head, 0)).ok_or(Refused::NoSuch)?;
        let cut = word_at(head, 4);
        if word_at(head, 2) + cut > row.len {
            return Err(Refused::NoSuch);
        }
        free = (free + cut).checked_sub(bytes.len()).ok_or(Refused::Full)?;
    }
    let (mut moves, mut body) = (Moves::default(), Vec::new());
    for (head, bytes) in each(data, SPLICE_HEAD, 6) {
        let (slot, from, cut, lock) = (word_at(head, 0) as u16, word_at(head, 2), word_at(head, 4), head[8]);
        let row = d.read().row(slot.into()).ok_or(Refused::NoSuch)?;
        if cut == bytes.len() {
            d.patch(slot, from, bytes)?;
            d.set_row(slot, row.flags, lock)?;
            moves.add(d, row.lock, lock, 0)?;
            continue;
        }
        body.clear();
        let view = d.read().view;
        view.append_to(row.at, from, &mut body);
        body.extend_from_slice(bytes);
        view.append_to(row.at + from + cut, row.len.saturating_sub(from + cut), &mut body);
        d.replace(slot, row.flags, lock, row.extra, &body)?;
        moves.add(d, row.lock, lock, row.len.saturating_sub(body.len()))?;
    }
    moves.finish(d)
}

/// Locks that move to one entry, summed up so that the entry is changed once for many rows.
#[derive(Default)]
struct Moves {
    to: u8,
    rows: u16,
    freed: usize,
}

impl Moves {
    /// As [`move_lock`], possibly deferred.
    fn add(&mut self, d: &mut DataMut<'_>, old: u8, new: u8, freed: usize) -> std::result::Result<(), Refused> {
        if self.to != new || old != new && old != 0 {
            self.finish(d)?;
            self.to = new;
        }
        if old != new && old != 0 {
            move_lock(d, old, 0, 0)?;
        }
        self.rows += u16::from(old != new);
        self.freed += freed;
        Ok(())
    }

    fn finish(&mut self, d: &mut DataMut<'_>) -> std::result::Result<(), Refused> {
        let Moves { to, rows, freed } = std::mem::take(self);
        if to == 0 || rows == 0 && freed == 0 {
            return Ok(());
        }
        let mut itl = d.read().itl(to).ok_or(Refused::NoSuch)?;
        add_locks(&mut itl, rows, freed)?;
        d.set_itl(to, &itl)
    }
}

fn apply_mark(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let &[s0, s1, flags, lock] = data else { return Err(Refused::NoSuch) };
    let slot = u16::from_le_bytes([s0, s1]);
    let old = d.read().row(slot.into()).ok_or(Refused::NoSuch)?;
    d.set_row(slot, flags, lock)?;
    count_deleted(d, old.flags, flags);
    move_lock(d, old.lock, lock, 0)
}

fn put(
    d: &mut DataMut<'_>,
    slot: u16,
    flags: u8,
    lock: u8,
    extra: u16,
    body: &[u8],
) -> std::result::Result<(), Refused> {
    match d.read().row(slot.into()) {
        Some(old) => {
            d.replace(slot, flags, lock, extra, body)?;
            count_deleted(d, old.flags, flags);
            move_lock(d, old.lock, lock, old.len.saturating_sub(body.len()))
        }
        None => {
            d.insert(slot, flags, lock, extra, body)?;
            count_deleted(d, 0, flags);
            move_lock(d, 0, lock, 0)
        }
    }
}

fn remove(d: &mut DataMut<'_>, slot: u16) -> std::result::Result<(), Refused> {
    let old = d.read().row(slot.into()).ok_or(Refused::NoSuch)?;
    d.remove(slot)?;
    count_deleted(d, old.flags, 0);
    move_lock(d, old.lock, 0, 0)
}

fn count_deleted(d: &mut DataMut<'_>, old: u8, new: u8) {
    match (old & flags::DELETED != 0, new & flags::DELETED != 0) {
        (false, true) => d.set_aux16(d.read().aux16().saturating_add(1)),
        (true, false) => d.set_aux16(d.read().aux16().saturating_sub(1)),
        _ => {}
    }
}

/// Updates the lock counts of both entries, and credits `freed` bytes to the new locker.
fn move_lock(d: &mut DataMut<'_>, old: u8, new: u8, freed: usize) -> std::result::Result<(), Refused> {
    if old == new && freed == 0 {
        return Ok(());
    }
    if old != new && old != 0 {
        let mut itl = d.read().itl(old).ok_or(Refused::NoSuch)?;
        itl.locks = itl.locks.saturating_sub(1);
        d.set_itl(old, &itl)?;
    }
    if new != 0 {
        let mut itl = d.read().itl(new).ok_or(Refused::NoSuch)?;
        add_locks(&mut itl, u16::from(old != new), freed)?;
        d.set_itl(new, &itl)?;
    }
    Ok(())
}

/// Adds to an entry's lock count and credit. The count cannot overflow: a block has fewer rows than it can hold. The
/// credit grows each time a row shrinks, also after it has grown again, so it may exceed the block; such a credit
/// counts as the whole block.
fn add_locks(itl: &mut Itl, rows: u16, freed: usize) -> std::result::Result<(), Refused> {
    itl.locks = itl.locks.checked_add(rows).ok_or(Refused::NoSuch)?;
    itl.credit = itl.credit.saturating_add(freed.min(u16::MAX.into()) as u16);
    Ok(())
}

/// The PUT that puts back the row in `slot` as it is now, or the REMOVE when there is none. Returns the operation.
///
/// A lock byte other than `mine` is stale, so it is put back as none.
pub fn undo_of(d: &Data<'_>, slot: u16, mine: u8, out: &mut Vec<u8>) -> u8 {
    match d.row(slot.into()) {
        Some(row) => {
            put_head(out, slot, row.flags, if row.lock == mine { mine } else { 0 }, row.extra);
            d.view.append_to(row.at, row.len, out);
            PUT
        }
        None => {
            out.clear();
            out.extend_from_slice(&slot.to_le_bytes());
            REMOVE
        }
    }
}

/// The MARK that puts back flags and lock byte of the row in `slot`.
pub fn undo_mark(d: &Data<'_>, slot: u16, mine: u8) -> [u8; 4] {
    let row = d.row(slot.into());
    mark(slot, row.map_or(0, |r| r.flags), if row.is_some_and(|r| r.lock == mine) { mine } else { 0 })
}
