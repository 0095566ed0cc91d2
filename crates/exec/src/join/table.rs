//! A hash table of packed rows.
//!
//! Rows are stored one after the other in chunks: the next row of the chain, the hash, the key if the hash does not
//! represent it, and the values. A row needs no allocation of its own. A place of the table has 16 bits of the hash and
//! the address of the first row of a key; probing is linear, and half of the places are free. Rows with equal keys are
//! chained in order of arrival. The layout is DuckDB's.

use super::row_key::RowKey;
use types::{Ora, Result};

/// Address of a row: number of its chunk, and its offset there in the lower bits.
pub type Row = u64;

const CHUNK_BITS: u32 = 20;
const CHUNK: usize = 1 << CHUNK_BITS;
/// Next row, hash, and the length of the key.
const HEAD: usize = 8 + 8 + 4;
/// Key length of a key that the hash represents.
const WORD: u32 = u32::MAX;
/// Bit in the word of the next row: the row is marked.
const MARKED: u64 = 1 << 63;
/// The row is in no chain.
const LOOSE: u64 = 1 << 62;
const NEXT: u64 = LOOSE - 1;
/// Memory of the table for each row: its number, and at most four places.
pub const ROW_MORE: usize = 8 + 4 * 8;

const SALT: u64 = 0xFFFF << 48;

#[derive(Default)]
pub struct Table {
    chunks: Vec<Vec<u8>>,
    rows: Vec<Row>,
    places: Vec<u64>,
}

fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

impl Table {
    pub fn clear(&mut self) {
        self.chunks.truncate(1);
        if let Some(first) = self.chunks.first_mut() {
            first.clear();
        }
        self.rows.clear();
        self.places.clear();
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Begins a row; `write` appends the rest. Returns its length in bytes.
    fn push_row(&mut self, loose: bool, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<usize> {
        // A chunk is filled until it is nearly full. A row longer than a chunk is the last one of its chunk.
        if self.chunks.last().is_none_or(|chunk| chunk.len() >= CHUNK * 15 / 16) {
            let room = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room));
        }
        let n = self.chunks.len() - 1;
        let chunk = &mut self.chunks[n];
        let at = chunk.len();
        chunk.extend_from_slice(&(if loose { LOOSE } else { 0 }).to_le_bytes());
        write(chunk)?;
        let bytes = chunk.len() - at;
        self.rows.push((n as u64) << CHUNK_BITS | at as u64);
        Ok(bytes)
    }

    /// Adds a row, whose values `write` appends. A `loose` row is never found by its key. Returns the memory that the
    /// row takes, with its share of the table.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn push(&mut self, key: &RowKey, loose: bool, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<usize> {
        let bytes = self.push_row(loose, |out| {
            push_key(key, out);
            write(out)
        })?;
        Ok(bytes + ROW_MORE)
    }

    /// Adds a row in the form of [`Table::record`].
    ///
    /// # Errors
    /// ORA-00600 for an invalid record.
    pub fn push_record(&mut self, record: &[u8], loose: bool) -> Result<usize> {
        if record.len() < HEAD - 8 {
            return Err(Ora::internal("row of a hash join is damaged"));
        }
        let bytes = self.push_row(loose, |out| {
            out.extend_from_slice(record);
            Ok(())
        })?;
        Ok(bytes + ROW_MORE)
    }

    fn at(&self, row: Row) -> &[u8] {
        let chunk = self.chunks.get((row >> CHUNK_BITS) as usize).map_or(&[][..], |chunk| chunk);
        chunk.get((row & (CHUNK as u64 - 1)) as usize..).unwrap_or_default()
    }

    /// Row number `n` without its chain: hash, key, values.
    pub fn record(&self, n: usize) -> &[u8] {
        let row = self.rows[n];
        let all = self.at(row);
        let end = match self.rows.get(n + 1) {
            Some(next) if next >> CHUNK_BITS == row >> CHUNK_BITS => (next - row) as usize,
            _ => all.len(),
        };
        all.get(8..end).unwrap_or_default()
    }

    pub fn is_loose(&self, row: Row) -> bool {
        word_at(self.at(row), 0) & LOOSE != 0
    }

    /// The bytes of a row's key; empty if the hash represents the key.
    pub fn key(&self, row: Row) -> &[u8] {
        key_of(&self.at(row)[8..]).map_or(&[], |(key, _)| key)
    }

    /// The values of a row, and the bytes after them.
    #[inline]
    pub fn values(&self, row: Row) -> &[u8] {
        self.at(row).get(8..).and_then(|record| key_of(record)).map_or(&[], |(_, values)| values)
    }

    /// Chains the rows by their keys. `distinct`: one row of each key is enough.
    pub fn link(&mut self, distinct: bool, check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.places.clear();
        if self.rows.is_empty() {
            return Ok(());
        }
        let count = (self.rows.len() * 2).next_power_of_two();
        self.places.resize(count, 0);
        let mask = count - 1;
        // From the last row to the first, so that each chain is in row order.
        for n in (0..self.rows.len()).rev() {
            if n % 4096 == 0 {
                check()?;
            }
            let row = self.rows[n];
            let head = self.at(row);
            if word_at(head, 0) & LOOSE != 0 {
                continue;
            }
            let hash = word_at(head, 8);
            let (mut place, salt) = (hash as usize & mask, hash & SALT);
            let first = loop {
                let entry = self.places[place];
                if entry == 0 {
                    break 0;
                }
                if entry & SALT == salt && self.are_equal(entry & !SALT, row) {
                    break entry & !SALT;
                }
                place = (place + 1) & mask;
            };
            if first != 0 && distinct {
                continue;
            }
            self.places[place] = salt | (row + 1);
            self.set_next(row, first);
        }
        Ok(())
    }

    /// Whether the row in a place (its address plus one) has the same key as another row.
    fn are_equal(&self, place: u64, row: Row) -> bool {
        let (a, b) = (&self.at(place - 1)[8..], &self.at(row)[8..]);
        let len = |of: &[u8]| of.get(8..12).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let key = if len(a) == WORD { 0 } else { len(a) as usize };
        a.get(..12 + key) == b.get(..12 + key)
    }

    fn set_next(&mut self, row: Row, next: u64) {
        let at = (row & (CHUNK as u64 - 1)) as usize;
        let head = &mut self.chunks[(row >> CHUNK_BITS) as usize][at..at + 8];
        let flags = word_at(head, 0) & !NEXT;
        head.copy_from_slice(&(flags | next).to_le_bytes());
    }

    /// The first row of a key.
    #[inline]
    pub fn find(&self, key: &RowKey) -> Option<Row> {
        if self.places.is_empty() {
            return None;
        }
        let mask = self.places.len() - 1;
        let (mut place, salt) = (key.hash as usize & mask, key.hash & SALT);
        loop {
            let entry = self.places[place];
            if entry == 0 {
                return None;
            }
            if entry & SALT == salt && self.has_key((entry & !SALT) - 1, key) {
                return Some((entry & !SALT) - 1);
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn has_key(&self, row: Row, key: &RowKey) -> bool {
        let Some(head) = self.at(row).get(8..) else { return false };
        if word_at(head, 0) != key.hash {
            return false;
        }
        let len = head.get(8..12).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        match key.is_word {
            true => len == WORD,
            false => len as usize == key.bytes.len() && head.get(12..12 + key.bytes.len()) == Some(&key.bytes[..]),
        }
    }

    /// The next row of the same key.
    #[inline]
    pub fn next(&self, row: Row) -> Option<Row> {
        (word_at(self.at(row), 0) & NEXT).checked_sub(1)
    }

    /// Marks a row and returns whether it was marked before.
    pub fn mark(&mut self, row: Row) -> bool {
        let at = (row & (CHUNK as u64 - 1)) as usize;
        let Some(head) = self.chunks.get_mut((row >> CHUNK_BITS) as usize).and_then(|c| c.get_mut(at..at + 8)) else {
            return false;
        };
        let word = word_at(head, 0);
        head.copy_from_slice(&(word | MARKED).to_le_bytes());
        word & MARKED != 0
    }

    pub fn is_marked(&self, row: Row) -> bool {
        word_at(self.at(row), 0) & MARKED != 0
    }

    /// Removes all marks.
    pub fn unmark(&mut self) {
        for n in 0..self.rows.len() {
            let row = self.rows[n];
            let at = (row & (CHUNK as u64 - 1)) as usize;
            self.chunks[(row >> CHUNK_BITS) as usize][at + 7] &= !(1 << 7);
        }
    }
}

/// Appends the hash and the key of a row as in a record.
pub fn push_key(key: &RowKey, out: &mut Vec<u8>) {
    out.extend_from_slice(&key.hash.to_le_bytes());
    if key.is_word {
        out.extend_from_slice(&WORD.to_le_bytes());
    } else {
        out.extend_from_slice(&(key.bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&key.bytes);
    }
}

/// The key and the values of a record.
#[inline]
fn key_of(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = record.split_at_checked(12)?;
    let len = u32::from_le_bytes(head[8..12].try_into().ok()?);
    match len {
        WORD => Some((&[], rest)),
        len => rest.split_at_checked(len as usize),
    }
}

/// The hash of a record.
pub fn hash_of(record: &[u8]) -> u64 {
    word_at(record, 0)
}

/// Reads the key of a record and leaves the values.
///
/// # Errors
/// ORA-00600 for an invalid record.
pub fn take_key(record: &mut &[u8], key: &mut RowKey) -> Result<()> {
    let damaged = || Ora::internal("row of a hash join is damaged");
    let (bytes, values) = key_of(record).ok_or_else(damaged)?;
    key.hash = hash_of(record);
    key.is_word = record.get(8..12) == Some(&WORD.to_le_bytes());
    key.bytes.clear();
    key.bytes.extend_from_slice(bytes);
    *record = values;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::row_key::{hash_bytes, mix};
    use super::*;
    use std::collections::BTreeMap;
    use testing::Random;

    fn key(n: i64) -> RowKey {
        // Every third key is bytes. A key in bytes never equals a word with the same hash.
        if n % 3 == 0 {
            let bytes = n.to_le_bytes().to_vec();
            RowKey { is_word: false, hash: hash_bytes(&bytes), bytes, ..RowKey::default() }
        } else {
            RowKey { is_word: true, hash: mix(n as u64), word: n, ..RowKey::default() }
        }
    }

    fn values(table: &Table, key: &RowKey) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = table.find(key);
        while let Some(row) = at {
            found.push(u32::from_le_bytes(table.values(row)[..4].try_into().unwrap()));
            at = table.next(row);
        }
        found
    }

    #[test]
    fn rows_are_found_in_their_order_as_in_a_map() {
        let (mut table, mut model) = (Table::default(), BTreeMap::<i64, Vec<u32>>::new());
        let mut numbers = Random::new(7);
        for n in 0..60_000u32 {
            let x = numbers.next();
            let k = (x >> 33) as i64 % 9000;
            table
                .push(&key(k), n % 50 == 0, |out| {
                    out.extend_from_slice(&n.to_le_bytes());
                    out.resize(out.len() + (n % 40) as usize, 0);
                    Ok(())
                })
                .unwrap();
            if n % 50 != 0 {
                model.entry(k).or_default().push(n);
            }
        }
        table.link(false, &mut || Ok(())).unwrap();
        for k in -10..9010 {
            assert_eq!(values(&table, &key(k)), model.get(&k).cloned().unwrap_or_default(), "{k}");
        }
        // The same rows, added as records.
        let mut again = Table::default();
        for n in 0..table.len() {
            again.push_record(table.record(n), table.is_loose(table.rows()[n])).unwrap();
        }
        again.link(true, &mut || Ok(())).unwrap();
        for (k, rows) in &model {
            let found = values(&again, &key(*k));
            assert!(found.len() == 1 && rows.contains(&found[0]), "{k}: {found:?}");
        }
    }

    #[test]
    fn rows_can_be_marked_and_unmarked_and_may_be_long() {
        let mut table = Table::default();
        for n in 0..4i64 {
            table
                .push(&key(1), false, |out| {
                    out.resize(out.len() + 900_000 * n as usize, n as u8);
                    Ok(())
                })
                .unwrap();
        }
        table.link(false, &mut || Ok(())).unwrap();
        let rows = table.rows().to_vec();
        assert_eq!(table.record(3).len(), 12 + 2_700_000);
        assert_eq!(table.values(rows[2])[..1_800_000].iter().filter(|b| **b == 2).count(), 1_800_000);
        assert!(!table.mark(rows[1]) && table.mark(rows[1]));
        assert_eq!(rows.iter().filter(|row| table.is_marked(**row)).count(), 1);
        let mut at = table.find(&key(1));
        let mut chain = Vec::new();
        while let Some(row) = at {
            chain.push(row);
            at = table.next(row);
        }
        assert_eq!(chain, rows);
        table.unmark();
        assert!(rows.iter().all(|row| !table.is_marked(*row)));
    }
}
