//! Records found by key in temporary space: a file sorted by key, and an index in memory with one key a chunk. Chunks
//! stay in memory within the work area, the oldest give way, and records are searched for in them by halves.
//!
//! A division by a hash of the key was rejected: it serves keys that come in groups. Look-ups come one at a time in any
//! order, and each would read a whole part.

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

/// Records in the order of their keys; equal keys in the order in which they came.
pub struct Lookup {
    file: TempFile,
    /// The first key that starts in a chunk, and where.
    index: Vec<(Box<[u8]>, Start)>,
    kept: RefCell<Kept>,
}

/// Chunks that are in memory, by their places in the index.
#[derive(Default)]
struct Kept {
    chunks: HashMap<usize, Rc<Chunk>>,
    oldest: VecDeque<usize>,
    bytes: usize,
    /// For the chunks and the index.
    held: Held,
}

/// A chunk in memory.
#[derive(Default)]
struct Chunk {
    data: Vec<u8>,
    /// Where the records start that lie in it whole, behind their lengths, and where the one behind them starts.
    records: Vec<u32>,
    rest: usize,
}

/// Bytes of a record's length.
const LEN_BYTES: usize = 4;
/// Bytes of an entry of the index beside its key.
const INDEX_MORE: usize = size_of::<(Box<[u8]>, Start)>() + 16;

impl Chunk {
    /// Finds the records that lie in it whole; the first of the `count` that start in it does so at `from`.
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

    /// The record at a place among those that lie in it whole.
    fn record(&self, n: usize) -> Option<&[u8]> {
        let start = *self.records.get(n)? as usize;
        let end = self.records.get(n + 1).map_or(self.rest, |next| *next as usize - LEN_BYTES);
        self.data.get(start..end)
    }

    /// The place of the first record whose key is not less.
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
    Ora::internal("sorted records in temporary space")
}

/// A place in a [`Lookup`].
#[derive(Default)]
pub struct Found {
    /// The chunk that is read, its place in the index, and the next record in it. None: `reader` has the place.
    chunk: Option<(Rc<Chunk>, usize, usize)>,
    reader: Reader,
    record: Vec<u8>,
}

impl Lookup {
    /// Writes the records of a sorter that has all of them; of records with equal keys only the first if `once`.
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

    /// Gives the memory back that is charged for. No look-up follows.
    pub fn release(&mut self, m: &mut Machine) {
        self.kept.get_mut().held.release(m);
    }

    /// The chunk at a place in the index.
    fn chunk(&self, n: usize, start: Start, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<Rc<Chunk>> {
        let kept = &mut *self.kept.borrow_mut();
        if let Some(chunk) = kept.chunks.get(&n) {
            return Ok(Rc::clone(chunk));
        }
        // Room first, by what the last one took; then its memory is used again.
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
        // Records with the key may stand before the first one that starts a chunk with it.
        let n = self.index.partition_point(|(first, _)| &**first < key).saturating_sub(1);
        let Some((_, start)) = self.index.get(n) else { return Ok(()) };
        at.chunk = None;
        let chunk = self.chunk(n, *start, m, cx)?;
        let next = chunk.seek(key)?;
        at.chunk = Some((chunk, n, next));
        Ok(())
    }

    /// Reads the record at a place. False behind the last one.
    fn read(&self, at: &mut Found, cx: &ExecCtx<'_>) -> Result<bool> {
        if let Some((chunk, n, next)) = &mut at.chunk {
            if let Some(record) = chunk.record(*next) {
                at.record.clear();
                at.record.extend_from_slice(record);
                *next += 1;
                return Ok(true);
            }
            // The record behind them goes on in the next chunk.
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

    /// The next record with this key. `None` behind the last.
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

    /// The next record, whatever its key. `None` behind the last.
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

    /// A chunk of records with these keys, behind `before` bytes of another one.
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
    fn records_of_a_chunk_are_found_by_halves_and_those_cut_off_are_left_to_the_reader() {
        let keys: [&[u8]; 5] = [b"a", b"c", b"c", b"", b"f"];
        let sorted: [&[u8]; 4] = [b"a", b"c", b"c", b"f"];
        let all = chunk(&sorted, 5, 200);
        assert_eq!(all.records.len(), 4, "what is filled up with is no record");
        for (key, place) in [(&b""[..], 0), (b"a", 0), (b"b", 1), (b"c", 1), (b"d", 3), (b"f", 3), (b"g", 4)] {
            assert_eq!(all.seek(key).unwrap(), place, "{key:?}");
        }
        assert_eq!(all.record(3).map(|record| &record[record.len() - 3..]), Some(&b"row"[..]));
        assert_eq!(all.record(4), None);
        // Each record is 4 + 4 + 1 + 3 bytes; the third one is cut off by the end, and by its length.
        for usable in [24, 27, 29, 35] {
            let cut = chunk(&sorted, 0, usable);
            assert_eq!((cut.records.len(), cut.rest), (2, 24), "{usable}");
        }
        assert_eq!(chunk(&keys[3..4], 0, 100).records.len(), 1, "an empty key");
    }
}
