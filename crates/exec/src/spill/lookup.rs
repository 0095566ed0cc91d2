//! Records looked up by key in temporary space: a file sorted by key, and an index in memory with one key a chunk.
//! Chunks are cached within the work area, the oldest are evicted, and records in a chunk are found by binary search.
//!
//! Rejected: partitioning by a hash of the key. It suits keys that come in groups; look-ups come one at a time in any
//! order, and each would read a whole partition.

use super::rows::{put_part, take_part};
use super::sorter::Sorter;
use super::{Reader, Start, TempFile};
use crate::ctx::ExecCtx;
use crate::machine::{Held, Machine};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use types::{Ora, Result};

/// Records in key order; records with equal keys keep their order of arrival.
pub struct Lookup {
    file: TempFile,
    /// The first key that starts in a chunk, and its position.
    index: Vec<(Box<[u8]>, Start)>,
    kept: RefCell<Kept>,
}

/// Cached chunks, by position in the index.
#[derive(Default)]
struct Kept {
    chunks: HashMap<usize, Rc<Chunk>>,
    oldest: VecDeque<usize>,
    bytes: usize,
    /// Memory of the chunks and the index.
    held: Held,
}

/// A chunk in memory.
#[derive(Default)]
struct Chunk {
    data: Vec<u8>,
    /// Positions of the records that lie whole in the chunk, after their lengths, and the position after the last.
    records: Vec<u32>,
    rest: usize,
}

/// Bytes of a record's length field.
const LEN_BYTES: usize = 4;
/// Memory of an index entry in addition to its key.
const INDEX_MORE: usize = size_of::<(Box<[u8]>, Start)>() + 16;

impl Chunk {
    /// Finds the records that lie whole in the chunk; `count` records start in it, the first one at `from`.
    fn of(data: Vec<u8>, usable: usize, from: usize, count: u64) -> Chunk {
        let (mut records, mut at) = (Vec::new(), from);
        while (records.len() as u64) < count
            && let Some(len) = data[..usable].get(at..).and_then(|rest| rest.first_chunk::<LEN_BYTES>())
        {
            let end = at + LEN_BYTES + u32::from_le_bytes(*len) as usize;
            if end > usable {
                break;
            }
            records.push((at + LEN_BYTES) as u32);
            at = end;
        }
        Chunk { data, records, rest: at }
    }

    fn bytes(&self) -> usize {
        self.data.len() + self.records.len() * size_of::<u32>()
    }

    /// Record `n` among those that lie whole in the chunk.
    fn record(&self, n: usize) -> Option<&[u8]> {
        let start = *self.records.get(n)? as usize;
        let end = self.records.get(n + 1).map_or(self.rest, |next| *next as usize - LEN_BYTES);
        self.data.get(start..end)
    }

    /// Position of the first record whose key is not less than `key`.
    fn seek(&self, key: &[u8]) -> Result<usize> {
        let (mut from, mut to) = (0, self.records.len());
        while from < to {
            let middle = from.midpoint(to);
            let mut record = self.record(middle).ok_or_else(damaged)?;
            if take_part(&mut record)? < key { from = middle + 1 } else { to = middle }
        }
        Ok(from)
    }
}

fn damaged() -> Ora {
    Ora::internal("sorted records in temporary space are damaged")
}

/// A place in a [`Lookup`].
#[derive(Default)]
pub struct Found {
    /// The current chunk, its position in the index, and the next record in it. `None`: `reader` has the position.
    chunk: Option<(Rc<Chunk>, usize, usize)>,
    reader: Reader,
    record: Vec<u8>,
}

impl Lookup {
    /// Writes the records of a complete sorter. `once`: only the first of records with equal keys.
    ///
    /// # Errors
    /// ORA-04030, and those of temporary space.
    pub fn build(mut sorter: Sorter, once: bool, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<Lookup> {
        let (mut file, mut index) = (TempFile::new(&m.temporary, cx), Vec::<(Box<[u8]>, Start)>::new());
        let mut kept = Kept::default();
        let (mut record, mut last) = (Vec::new(), None::<Vec<u8>>);
        while let Some((key, row)) = sorter.next_keyed(cx)? {
            if once && last.as_deref() == Some(key) {
                continue;
            }
            let start = file.start();
            if index.last().is_none_or(|(_, last)| last.chunk != start.chunk) {
                kept.held.charge(key.len() + INDEX_MORE, m, cx)?;
                index.push((key.into(), start));
            }
            record.clear();
            put_part(key, &mut record);
            record.extend_from_slice(row);
            file.push(&record, cx)?;
            if once {
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
            }
        }
        file.finish(cx)?;
        Ok(Lookup { file, index, kept: RefCell::new(kept) })
    }

    /// Gives the charged memory back; look-ups are not allowed after this.
    pub fn release(&mut self, m: &mut Machine) {
        self.kept.get_mut().held.release(m);
    }

    /// The chunk at a position in the index.
    fn chunk(&self, n: usize, start: Start, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<Rc<Chunk>> {
        let kept = &mut *self.kept.borrow_mut();
        if let Some(chunk) = kept.chunks.get(&n) {
            return Ok(Rc::clone(chunk));
        }
        // Memory is freed first, estimated by the last chunk, so that it can be reused.
        let most = cx.session.options.spill_bytes / 4 * 3;
        let mut data = Vec::new();
        while kept.bytes + self.file.chunk_bytes() * 2 > most
            && let Some(oldest) = kept.oldest.pop_front()
        {
            if let Some(chunk) = kept.chunks.remove(&oldest) {
                kept.bytes -= chunk.bytes();
                kept.held.give_back(chunk.bytes(), m);
                data = Rc::try_unwrap(chunk).map_or_else(|_| Vec::new(), |chunk| chunk.data);
            }
        }
        self.file.read(start.chunk, &mut data, cx)?;
        let count = self.index.get(n + 1).map_or(self.file.records(), |(_, next)| next.before) - start.before;
        let chunk = Rc::new(Chunk::of(data, self.file.usable(), start.at, count));
        kept.held.charge(chunk.bytes(), m, cx)?;
        kept.bytes += chunk.bytes();
        kept.oldest.push_back(n);
        kept.chunks.insert(n, Rc::clone(&chunk));
        Ok(chunk)
    }

    /// Moves to the first record with this key.
    ///
    /// # Errors
    /// ORA-04030, and those of temporary space.
    pub fn seek(&self, key: &[u8], at: &mut Found, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        // Records with the key may precede the first one that starts a chunk with it.
        let n = self.index.partition_point(|(first, _)| &**first < key).saturating_sub(1);
        let Some((_, start)) = self.index.get(n) else { return Ok(()) };
        at.chunk = None;
        let chunk = self.chunk(n, *start, m, cx)?;
        let next = chunk.seek(key)?;
        at.chunk = Some((chunk, n, next));
        Ok(())
    }

    /// Reads the record at a position. False at the end.
    fn read(&self, at: &mut Found, cx: &ExecCtx<'_>) -> Result<bool> {
        if let Some((chunk, n, next)) = &mut at.chunk {
            if let Some(record) = chunk.record(*next) {
                at.record.clear();
                at.record.extend_from_slice(record);
                *next += 1;
                return Ok(true);
            }
            // The next record continues in the next chunk.
            let start = self.index.get(*n).ok_or_else(damaged)?.1;
            let before = start.before + chunk.records.len() as u64;
            let rest = Start { chunk: start.chunk, at: chunk.rest, before };
            at.chunk = None;
            if before < self.file.records() {
                self.file.seek(&mut at.reader, rest, cx)?;
            } else {
                at.reader = self.file.end();
            }
        }
        self.file.next(&mut at.reader, &mut at.record, cx)
    }

    /// The next record with this key. `None` at the end.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next<'f>(&self, key: &[u8], at: &'f mut Found, cx: &ExecCtx<'_>) -> Result<Option<&'f [u8]>> {
        loop {
            if !self.read(at, cx)? {
                return Ok(None);
            }
            let mut rest = &at.record[..];
            match take_part(&mut rest)?.cmp(key) {
                Ordering::Less => {}
                Ordering::Equal => break,
                Ordering::Greater => return Ok(None),
            }
        }
        Ok(Some(&at.record[4 + key.len()..]))
    }

    /// The next record, whatever its key. `None` at the end.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next_of_all<'f>(&self, at: &'f mut Found, cx: &ExecCtx<'_>) -> Result<Option<&'f [u8]>> {
        if !self.read(at, cx)? {
            return Ok(None);
        }
        let mut rest = &at.record[..];
        take_part(&mut rest)?;
        Ok(Some(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of records with these keys, after `before` bytes of another record.
    fn chunk(keys: &[&[u8]], before: usize, usable: usize) -> Chunk {
        let mut data = vec![0xff; before];
        for key in keys {
            let mut record = Vec::new();
            put_part(key, &mut record);
            record.extend_from_slice(b"row");
            data.extend_from_slice(&(record.len() as u32).to_le_bytes());
            data.extend_from_slice(&record);
        }
        data.resize(usable + 8, 0);
        Chunk::of(data, usable, before, keys.len() as u64)
    }

    #[test]
    fn whole_records_of_a_chunk_are_found_by_binary_search() {
        let keys: [&[u8]; 5] = [b"a", b"c", b"c", b"", b"f"];
        let sorted: [&[u8]; 4] = [b"a", b"c", b"c", b"f"];
        let all = chunk(&sorted, 5, 200);
        assert_eq!(all.records.len(), 4, "padding is not a record");
        for (key, place) in [(&b""[..], 0), (b"a", 0), (b"b", 1), (b"c", 1), (b"d", 3), (b"f", 3), (b"g", 4)] {
            assert_eq!(all.seek(key).unwrap(), place, "{key:?}");
        }
        assert_eq!(all.record(3).map(|record| &record[record.len() - 3..]), Some(&b"row"[..]));
        assert_eq!(all.record(4), None);
        // Each record has 4 + 4 + 1 + 3 bytes; the third one crosses the end of the chunk, in its body or in its
        // length.
        for usable in [24, 27, 29, 35] {
            let cut = chunk(&sorted, 0, usable);
            assert_eq!((cut.records.len(), cut.rest), (2, 24), "{usable}");
        }
        assert_eq!(chunk(&keys[3..4], 0, 100).records.len(), 1, "an empty key");
    }
}
