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
//! | DELETE_EACH | lock, slots | marks rows as deleted and empties their bodies |
//! | SPLICE_RUN | lock, then rows as [`RunEnd::splice`] writes them | as SPLICE_EACH, in fewer bytes |
//! | REMOVE_RANGES | (first, last slot) … | empties directory entries |
//! | PUT_RUN | lock, then rows as [`RunEnd::put`] writes them | as PUT_EACH for whole rows, in fewer bytes |
//! | SPLICES | as SPLICE_RUN | as SPLICE_RUN; a row that comes several times may change its length |
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
pub const DELETE_EACH: u8 = 8;
pub const SPLICE_RUN: u8 = 9;
pub const PUT_RUN: u8 = 10;
pub const REMOVE_RANGES: u8 = 11;
pub const SPLICES: u8 = 12;

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

/// Adds an entry to the ranges of a REMOVE_RANGES.
#[inline]
pub fn add_to_ranges(out: &mut Vec<u8>, slot: u16) {
    let bytes = slot.to_le_bytes();
    match out.last_chunk_mut::<2>() {
        Some(last) if u16::from_le_bytes(*last).checked_add(1) == Some(slot) => *last = bytes,
        _ => {
            out.extend_from_slice(&bytes);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Most directory entries of a block: an operation changes each at most once, so damaged ranges that overlap end there.
pub const SLOTS_MAX: usize = 1 << 16;

/// The ranges of a REMOVE_RANGES.
fn ranges(data: &[u8]) -> impl Iterator<Item = std::ops::RangeInclusive<u16>> {
    data.chunks_exact(4).map(|r| u16::from_le_bytes([r[0], r[1]])..=u16::from_le_bytes([r[2], r[3]]))
}

/// Bytes before the body of a row in a PUT_EACH.
const EACH_HEAD: usize = 8;

/// Bytes before the new bytes of a row in a SPLICE_EACH.
const SPLICE_HEAD: usize = 9;

/// Most bytes before the new bytes of a row in a SPLICE_RUN or SPLICES.
pub const SPLICE_RUN_HEAD: usize = 11;
/// Most bytes before the body of a row in a PUT_RUN.
pub const PUT_RUN_HEAD: usize = 7;
/// The first byte of a row with a long head in a run.
const FAR: u8 = 255;
/// In a run: the lock byte that follows is that of the rows behind.
const LOCK: u8 = 254;

/// The last row of a run: its directory entry and lock byte. Rows of a run have heads that name only the differences.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd {
    slot: u16,
    lock: u8,
}

impl RunEnd {
    /// Begins a run in `out`, which is empty.
    pub fn begin(lock: u8, out: &mut Vec<u8>) -> RunEnd {
        out.push(lock);
        RunEnd { slot: 0, lock }
    }

    /// The distance of the next row, when one byte can express it. Names the lock byte when it is another one.
    #[inline]
    fn step(&mut self, slot: u16, lock: u8, out: &mut Vec<u8>) -> Option<u8> {
        if lock != self.lock {
            out.extend_from_slice(&[LOCK, lock]);
            self.lock = lock;
        }
        let by = slot.checked_sub(self.slot).and_then(|by| u8::try_from(by).ok()).filter(|by| *by < LOCK);
        self.slot = slot;
        by
    }

    /// Appends a row to a SPLICE_RUN or SPLICES: `bytes` replace `cut` bytes of the row's body, from offset `from` on
    /// (H11). A row may come several times in succession, from left to right; the offsets are those of its body before
    /// the first. Where one of these changes the length, the operation is SPLICES, which older programs refuse.
    ///
    /// The head is: distance of the directory entry u8, from u8, cut and length of the bytes 4 bits each. Where this
    /// does not suffice: 255, entry u16, from u16, cut u16, length u16. A change of the lock byte comes before: 254,
    /// lock u8.
    #[inline]
    pub fn splice(&mut self, out: &mut Vec<u8>, (slot, lock): (u16, u8), from: usize, cut: usize, bytes: &[u8]) {
        match (self.step(slot, lock, out), u8::try_from(from)) {
            (Some(by), Ok(from)) if cut < 16 && bytes.len() < 16 => {
                // A copy of a fixed length is a few instructions; the surplus is cut off.
                let mut row = [0; 3 + 15];
                row[..3].copy_from_slice(&[by, from, (cut << 4 | bytes.len()) as u8]);
                row[3..].iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
                let end = out.len() + 3 + bytes.len();
                out.extend_from_slice(&row);
                out.truncate(end);
            }
            _ => {
                out.push(FAR);
                push_words(&[slot, from as u16, cut as u16, bytes.len() as u16], out);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Appends a whole row, with no flags but [`flags::WHOLE`], to a PUT_RUN.
    ///
    /// The head is: distance of the directory entry u8, length of the body u8. Where this does not suffice: 255, entry
    /// u16, length u16. A change of the lock byte comes before: 254, lock u8.
    #[inline]
    pub fn put(&mut self, out: &mut Vec<u8>, (slot, lock): (u16, u8), body: &[u8]) {
        match (self.step(slot, lock, out), u8::try_from(body.len())) {
            (Some(by), Ok(len)) => out.extend_from_slice(&[by, len]),
            _ => {
                out.push(FAR);
                push_words(&[slot, body.len() as u16], out);
            }
        }
        out.extend_from_slice(body);
    }
}

fn push_words(words: &[u16], out: &mut Vec<u8>) {
    words.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
}

/// Reads the heads of a run.
struct Run<'a> {
    rest: &'a [u8],
    slot: u16,
    lock: u8,
}

impl<'a> Run<'a> {
    fn new(data: &'a [u8]) -> Run<'a> {
        match data.split_first() {
            Some((lock, rest)) => Run { rest, slot: 0, lock: *lock },
            None => Run { rest: data, slot: 0, lock: 0 },
        }
    }

    /// Moves to the next row; true when it has a long head.
    #[inline]
    fn step(&mut self) -> Option<bool> {
        loop {
            let (first, rest) = self.rest.split_first()?;
            self.rest = rest;
            match *first {
                FAR => {
                    self.slot = self.word()? as u16;
                    return Some(true);
                }
                LOCK => self.lock = self.byte()?,
                by => {
                    self.slot = self.slot.wrapping_add(by.into());
                    return Some(false);
                }
            }
        }
    }

    #[inline]
    fn splice(&mut self) -> Option<Splice<'a>> {
        let (from, cut, len) = if self.step()? {
            (self.word()?, self.word()?, self.word()?)
        } else {
            let (from, lens) = (self.byte()?, self.byte()?);
            (from.into(), usize::from(lens >> 4), usize::from(lens & 15))
        };
        Some(Splice { slot: self.slot, from, cut, lock: self.lock, bytes: self.bytes(len)? })
    }

    #[inline]
    fn whole_row(&mut self) -> Option<WholeRow<'a>> {
        let len = if self.step()? { self.word()? } else { self.byte()?.into() };
        Some(WholeRow { slot: self.slot, lock: self.lock, body: self.bytes(len)? })
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    #[inline]
    fn word(&mut self) -> Option<usize> {
        let (bytes, rest) = self.rest.split_first_chunk::<2>()?;
        self.rest = rest;
        Some(u16::from_le_bytes(*bytes).into())
    }

    #[inline]
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }
}

/// The directory entry of bytes that are no row of a change vector: no block has it, so applying it is refused.
const NO_SLOT: u16 = u16::MAX;

/// The rows of a SPLICE_RUN or SPLICES.
#[inline]
fn splice_run(data: &[u8]) -> impl Iterator<Item = Splice<'_>> {
    let mut run = Run::new(data);
    std::iter::from_fn(move || {
        if run.rest.is_empty() {
            return None;
        }
        Some(run.splice().unwrap_or_else(|| {
            run.rest = &[];
            Splice { slot: NO_SLOT, from: 0, cut: 0, lock: 0, bytes: &[] }
        }))
    })
}

/// A row of a PUT_RUN.
struct WholeRow<'a> {
    slot: u16,
    lock: u8,
    body: &'a [u8],
}

/// The rows of a PUT_RUN.
#[inline]
fn put_run(data: &[u8]) -> impl Iterator<Item = WholeRow<'_>> {
    let mut run = Run::new(data);
    std::iter::from_fn(move || {
        if run.rest.is_empty() {
            return None;
        }
        Some(run.whole_row().unwrap_or_else(|| {
            run.rest = &[];
            WholeRow { slot: NO_SLOT, lock: 0, body: &[] }
        }))
    })
}

/// A row of a SPLICE_EACH, SPLICE_RUN or SPLICES.
struct Splice<'a> {
    slot: u16,
    from: usize,
    cut: usize,
    lock: u8,
    bytes: &'a [u8],
}

/// The rows of a SPLICE_EACH.
#[inline]
fn splices(data: &[u8]) -> impl Iterator<Item = Splice<'_>> {
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let read = || {
            let (&[s0, s1, f0, f1, c0, c1, l0, l1, lock], tail) = rest.split_first_chunk::<SPLICE_HEAD>()?;
            let word = |low, high| usize::from(u16::from_le_bytes([low, high]));
            let (bytes, next) = tail.split_at_checked(word(l0, l1))?;
            Some((Splice { slot: word(s0, s1) as u16, from: word(f0, f1), cut: word(c0, c1), lock, bytes }, next))
        };
        let found = read().unwrap_or((Splice { slot: NO_SLOT, from: 0, cut: 0, lock: 0, bytes: &[] }, &[]));
        rest = found.1;
        Some(found.0)
    })
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
        SPLICE_EACH => apply_splices(&mut d, &|| splices(data)),
        SPLICE_RUN => apply_splices(&mut d, &|| splice_run(data)),
        SPLICES => apply_splices_by_row(&mut d, data),
        PUT_RUN => apply_put_run(&mut d, data),
        REMOVE_RANGES if data.len().is_multiple_of(4) => {
            ranges(data).flatten().try_for_each(|slot| remove(&mut d, slot))
        }
        DELETE_EACH => apply_delete_each(&mut d, data),
        REMOVE_MANY if data.len().is_multiple_of(2) => {
            data.chunks_exact(2).try_for_each(|s| remove(&mut d, u16::from_le_bytes([s[0], s[1]])))
        }
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
        SPLICE_EACH => splices(data).for_each(|s| f(s.slot, true)),
        SPLICE_RUN | SPLICES => splice_run(data).for_each(|s| f(s.slot, true)),
        PUT_RUN => put_run(data).for_each(|row| f(row.slot, true)),
        REMOVE_RANGES => ranges(data).flatten().take(SLOTS_MAX).for_each(|slot| f(slot, true)),
        _ => return false,
    }
    true
}

/// Whether a row operation changes directory entry `slot`.
pub fn touches(op: u8, data: &[u8], slot: u16) -> bool {
    let bytes = slot.to_le_bytes();
    match op {
        PUT | REMOVE | MARK => data.get(..2) == Some(&bytes),
        REMOVE_MANY => data.chunks_exact(2).any(|s| s == bytes),
        PUT_EACH => each(data, EACH_HEAD, 4).any(|(head, _)| head[..2] == bytes),
        SPLICE_EACH => splices(data).any(|s| s.slot == slot),
        SPLICE_RUN | SPLICES => splice_run(data).any(|s| s.slot == slot),
        PUT_RUN => put_run(data).any(|row| row.slot == slot),
        REMOVE_RANGES => ranges(data).any(|range| range.contains(&slot)),
        // PUT_MANY and DELETE_EACH occur only in forward changes.
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
    if !rest.is_empty() {
        return Err(Refused::NoSuch);
    }
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
        if rest.is_empty() {
            return None;
        }
        let read = || {
            let (head, tail) = rest.split_at_checked(head)?;
            let (body, next) = tail.split_at_checked(word_at(head, length_at))?;
            Some((head, body, next))
        };
        // NO_SLOT.
        let (head, body, next) = read().unwrap_or((&[0xff; EACH_HEAD], &[], &[]));
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
fn apply_splices<'s, I: Iterator<Item = Splice<'s>>>(
    d: &mut DataMut<'_>,
    rows: &impl Fn() -> I,
) -> std::result::Result<(), Refused> {
    let mut free = d.read().free_bytes();
    let directory = d.read().directory_reader();
    let (mut keeps_lengths, mut before) = (true, None);
    for s in rows() {
        let row = directory.row(s.slot.into()).ok_or(Refused::NoSuch)?;
        let keeps_length = s.cut == s.bytes.len();
        // A row that comes again keeps its length (H11).
        let comes_again = before.is_some_and(|(slot, kept)| slot == s.slot && !(kept && keeps_length));
        if s.from + s.cut > row.len || comes_again {
            return Err(Refused::NoSuch);
        }
        before = Some((s.slot, keeps_length));
        keeps_lengths &= keeps_length;
        free = (free + s.cut).checked_sub(s.bytes.len()).ok_or(Refused::Full)?;
    }
    let (mut moves, mut body) = (Moves::default(), Vec::new());
    if keeps_lengths {
        let mut patches = d.patches();
        for s in rows() {
            let old = patches.patch(s.slot, s.from, s.bytes, s.lock).ok_or(Refused::NoSuch)?;
            // As a rule all rows get one lock and had none.
            if moves.to == s.lock && (old == 0 || old == s.lock) {
                moves.rows += u16::from(old == 0 && s.lock != 0);
            } else {
                moves.add(d, old, s.lock, 0)?;
                patches = d.patches();
            }
        }
        return moves.finish(d);
    }
    for s in rows() {
        if s.cut == s.bytes.len() {
            let old = d.patches().patch(s.slot, s.from, s.bytes, s.lock).ok_or(Refused::NoSuch)?;
            moves.add(d, old, s.lock, 0)?;
            continue;
        }
        let row = d.read().row(s.slot.into()).ok_or(Refused::NoSuch)?;
        body.clear();
        let view = d.read().view;
        view.append_to(row.at, s.from, &mut body);
        body.extend_from_slice(s.bytes);
        let behind = s.from + s.cut;
        view.append_to(row.at + behind, row.len.saturating_sub(behind), &mut body);
        d.replace(s.slot, row.flags, s.lock, row.extra, &body)?;
        moves.add(d, row.lock, s.lock, row.len.saturating_sub(body.len()))?;
    }
    moves.finish(d)
}

/// As [`apply_splices`], for rows that several splices make longer or shorter: each row is changed once.
fn apply_splices_by_row(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let mut free = d.read().free_bytes();
    let mut all = splice_run(data).peekable();
    let mut slots = Vec::new();
    while let Some(mut s) = all.next() {
        let row = d.read().row(s.slot.into()).ok_or(Refused::NoSuch)?;
        slots.push(s.slot);
        let (mut end, mut more) = (0, 0);
        loop {
            if s.from < end || s.from + s.cut > row.len {
                return Err(Refused::NoSuch);
            }
            end = s.from + s.cut;
            more += s.bytes.len() as isize - s.cut as isize;
            match all.next_if(|next| next.slot == s.slot) {
                Some(next) => s = next,
                None => break,
            }
        }
        free = free.checked_add_signed(-more).ok_or(Refused::Full)?;
    }
    // The lengths are those before the vector, so no row may come in two places of it.
    slots.sort_unstable();
    if slots.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Refused::NoSuch);
    }
    let (mut moves, mut body) = (Moves::default(), Vec::new());
    let mut all = splice_run(data).peekable();
    while let Some(mut s) = all.next() {
        let row = d.read().row(s.slot.into()).ok_or(Refused::NoSuch)?;
        let view = d.read().view;
        body.clear();
        let mut at = 0;
        loop {
            view.append_to(row.at + at, s.from - at, &mut body);
            body.extend_from_slice(s.bytes);
            at = s.from + s.cut;
            match all.next_if(|next| next.slot == s.slot) {
                Some(next) => s = next,
                None => break,
            }
        }
        view.append_to(row.at + at, row.len - at, &mut body);
        d.replace(s.slot, row.flags, s.lock, row.extra, &body)?;
        moves.add(d, row.lock, s.lock, row.len.saturating_sub(body.len()))?;
    }
    moves.finish(d)
}

/// The body that a run of splices of one row makes of `old`.
#[cfg(test)]
pub(crate) fn spliced(data: &[u8], old: &[u8]) -> Vec<u8> {
    let (mut body, mut at) = (Vec::new(), 0);
    for s in splice_run(data) {
        body.extend_from_slice(&old[at..s.from]);
        body.extend_from_slice(s.bytes);
        at = s.from + s.cut;
    }
    body.extend_from_slice(&old[at..]);
    body
}

fn apply_delete_each(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let Some((lock, slots)) = data.split_first() else { return Err(Refused::NoSuch) };
    let (mut moves, mut deleted) = (Moves::default(), 0);
    for slot in slots.chunks_exact(2) {
        let slot = u16::from_le_bytes([slot[0], slot[1]]);
        let (old, old_lock, freed) = d.empty_row(slot, flags::DELETED, *lock)?;
        deleted += u16::from(old & flags::DELETED == 0);
        moves.add(d, old_lock, *lock, freed)?;
    }
    d.set_aux16(d.read().aux16().saturating_add(deleted));
    moves.finish(d)
}

fn apply_put_run(d: &mut DataMut<'_>, data: &[u8]) -> std::result::Result<(), Refused> {
    let mut moves = Moves::default();
    let mut appended = d.append_rows();
    for row in put_run(data) {
        // New rows usually go behind the existing ones, into the gap.
        let is_new = appended.push(row.slot, flags::WHOLE, row.lock, 0, row.body);
        if is_new && row.lock == moves.to {
            moves.rows += 1;
            continue;
        }
        appended.finish();
        match d.read().row(row.slot.into()) {
            Some(_) if is_new => moves.add(d, 0, row.lock, 0)?,
            Some(old) => {
                d.replace(row.slot, flags::WHOLE, row.lock, old.extra, row.body)?;
                count_deleted(d, old.flags, flags::WHOLE);
                moves.add(d, old.lock, row.lock, old.len.saturating_sub(row.body.len()))?;
            }
            None => {
                d.insert(row.slot, flags::WHOLE, row.lock, 0, row.body)?;
                moves.add(d, 0, row.lock, 0)?;
            }
        }
        appended = d.append_rows();
    }
    appended.finish();
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
    #[inline]
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
