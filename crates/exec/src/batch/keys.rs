//! Keys made of columns, as words, for GROUP BY, DISTINCT and hash joins.
//!
//! A key value is a word and a tag: a number at the scale of its column, a date, a text of up to seven bytes, or the
//! number of a stored value that does not fit a word. Equal values have equal words and tags, so keys of all types are
//! compared and hashed as words.

use super::column::{Column, Data, Nulls, Span, date_of, number_of, parts_of, scaled_up};
use types::{Ora, Result, Value};

/// Tag: the word is the value.
const PLAIN: u64 = 0;
const NULL: u64 = 1;
/// Tag: the word is the number of a stored value.
const KEPT: u64 = 2;
/// Tag: no key of the table has the value.
const ABSENT: u64 = 3;
/// Most columns of a key: each needs two bits of a word.
pub const COLUMNS_MAX: usize = 32;

/// The meaning of a column's plain words.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Unknown yet: only NULLs so far.
    Unknown,
    Number(u8),
    Date,
    Text,
    Raw,
    /// All values are stored.
    Other,
}

/// Values that do not fit a word, each stored once.
#[derive(Default)]
struct Kept {
    /// Bytes that are equal for equal values, and the texts of texts.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    values: Vec<Value>,
    table: Table,
    /// Heap bytes of the values.
    outside: usize,
}

impl Kept {
    /// Bytes in memory.
    fn used(&self) -> usize {
        let lists = size_of_val(&self.ends[..]) + size_of_val(&self.values[..]);
        self.bytes.len() + lists + self.outside + self.table.used()
    }

    fn get(&self, n: usize) -> &[u8] {
        &self.bytes[if n == 0 { 0 } else { self.ends[n - 1] }..self.ends[n]]
    }

    /// The number of a value. A new value is stored if `adds`; otherwise the result is `None`.
    fn find(&mut self, bytes: &[u8], adds: bool, value: impl FnOnce() -> Value) -> Option<u64> {
        let hash = hash_bytes(bytes);
        let found = self.table.find(hash, |n| {
            let begin = if n == 0 { 0 } else { self.ends[n - 1] };
            &self.bytes[begin..self.ends[n]] == bytes
        });
        Some(match found {
            Ok(n) => n as u64,
            Err(_) if !adds => return None,
            Err(place) => {
                let value = value();
                self.outside += crate::machine::heap_bytes(&value);
                self.bytes.extend_from_slice(bytes);
                self.ends.push(self.bytes.len());
                self.values.push(value);
                self.table.insert(place, hash);
                self.ends.len() as u64 - 1
            }
        })
    }
}

/// A hash table of consecutive numbers from zero, with linear probing over places of a hash and a number.
#[derive(Default)]
pub struct Table {
    /// The upper half of the hash, and the number plus one; zero for a free place.
    places: Vec<u64>,
    count: usize,
}

impl Table {
    pub fn clear(&mut self) {
        self.places.clear();
        self.count = 0;
    }

    /// Bytes in memory: the table has more places than entries.
    fn used(&self) -> usize {
        size_of_val(&self.places[..])
    }

    /// Looks for an entry of this hash for which `same` holds: returns its number, or the place for a new entry.
    #[inline]
    pub fn find(&self, hash: u64, same: impl Fn(usize) -> bool) -> std::result::Result<usize, usize> {
        if self.places.is_empty() {
            return Err(0);
        }
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let entry = self.places[place];
            if entry == 0 {
                return Err(place);
            }
            let n = (entry as u32 - 1) as usize;
            if entry >> 32 == hash >> 32 && same(n) {
                return Ok(n);
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds the next number at the place returned by [`Table::find`].
    pub fn insert(&mut self, place: usize, hash: u64) {
        let entry = hash >> 32 << 32 | (self.count as u64 + 1);
        self.count += 1;
        if self.places.len() < self.count * 2 {
            self.grow();
            self.put(hash, entry);
        } else {
            self.places[place] = entry;
        }
    }

    fn put(&mut self, hash: u64, entry: u64) {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        while self.places[place] != 0 {
            place = (place + 1) & mask;
        }
        self.places[place] = entry;
    }

    fn grow(&mut self) {
        let before = std::mem::take(&mut self.places);
        self.places = vec![0; (before.len() * 4).max(64)];
        for entry in before.into_iter().filter(|e| *e != 0) {
            self.put(entry >> 32, entry);
        }
    }
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Makes both halves of a hash equal, so that the place of an entry follows from the half stored in it.
#[inline]
fn finish(n: u64) -> u64 {
    let half = (n ^ n >> 32).wrapping_mul(MULTIPLIER) >> 32;
    half << 32 | half
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER)
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(8);
    let mut hash = bytes.len() as u64;
    for c in &mut chunks {
        hash = mix(hash, u64::from_le_bytes(c.try_into().expect("eight bytes")));
    }
    let mut last = [0u8; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    finish(mix(hash, u64::from_le_bytes(last)))
}

/// A text of at most seven bytes as a word: its length, then its bytes.
#[inline]
fn text_word(bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    word[7] = bytes.len() as u8;
    u64::from_le_bytes(word)
}

/// One column of a key.
struct Part {
    kind: Kind,
    kept: Kept,
}

/// A set of keys over some columns; each distinct key has a number.
pub struct KeyTable {
    parts: Vec<Part>,
    /// The words of each key, followed by its tags.
    words: Vec<u64>,
    table: Table,
    /// Words and tags of the loaded rows.
    rows: Vec<Vec<u64>>,
    hashes: Vec<u64>,
    scratch: Vec<u8>,
}

impl KeyTable {
    pub fn new(columns: usize) -> KeyTable {
        let parts = (0..columns).map(|_| Part { kind: Kind::Unknown, kept: Kept::default() }).collect();
        let rows = vec![Vec::new(); columns + 1];
        KeyTable { parts, words: Vec::new(), table: Table::default(), rows, hashes: Vec::new(), scratch: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.parts.iter_mut().for_each(|part| *part = Part { kind: Kind::Unknown, kept: Kept::default() });
        self.words.clear();
        self.table.clear();
    }

    /// Distinct keys so far.
    pub fn len(&self) -> usize {
        self.table.count
    }

    /// Bytes in memory.
    pub fn used(&self) -> usize {
        let kept = self.parts.iter().map(|part| part.kept.used()).sum::<usize>();
        size_of_val(&self.words[..]) + self.table.used() + kept
    }

    /// Loads the keys of the rows of a batch; [`KeyTable::find`] then looks them up.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    pub fn load(&mut self, columns: &[&Column], len: usize, arena: &[u8]) -> Result<()> {
        self.load_rows(columns, len, arena, true)
    }

    /// As [`KeyTable::load`], for keys that will not be added.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    pub fn load_probe(&mut self, columns: &[&Column], len: usize, arena: &[u8]) -> Result<()> {
        self.load_rows(columns, len, arena, false)
    }

    fn load_rows(&mut self, columns: &[&Column], len: usize, arena: &[u8], adds: bool) -> Result<()> {
        let (tags, words) = self.rows.split_last_mut().ok_or_else(|| Ora::internal("key without columns"))?;
        tags.clear();
        tags.resize(len, 0);
        for (n, ((part, column), words)) in self.parts.iter_mut().zip(columns).zip(words).enumerate() {
            words.clear();
            part.load(column, len, arena, words, tags, (n, adds), &mut self.scratch)?;
        }
        self.hashes.clear();
        self.hashes.resize(len, 0);
        for words in &self.rows {
            self.hashes.iter_mut().zip(words).for_each(|(hash, word)| *hash = mix(*hash, *word));
        }
        self.hashes.iter_mut().for_each(|hash| *hash = finish(*hash));
        Ok(())
    }

    /// Whether a loaded row has NULL in one of the columns of `mask`: two bits for each, the lower one set.
    #[inline]
    pub fn has_null(&self, row: usize, mask: u64) -> bool {
        self.rows.last().is_some_and(|tags| tags[row] & mask != 0)
    }

    #[inline]
    fn is(&self, n: usize, row: usize) -> bool {
        let stride = self.rows.len();
        self.words[n * stride..][..stride].iter().zip(&self.rows).all(|(word, words)| *word == words[row])
    }

    /// The number of the key of a loaded row. The error is the place and hash for [`KeyTable::add`].
    #[inline]
    pub fn find(&self, row: usize) -> std::result::Result<usize, (usize, u64)> {
        let hash = self.hashes[row];
        self.table.find(hash, |n| self.is(n, row)).map_err(|place| (place, hash))
    }

    /// Gives the key of a loaded row the next number.
    pub fn add(&mut self, row: usize, (place, hash): (usize, u64)) -> usize {
        self.words.extend(self.rows.iter().map(|words| words[row]));
        self.table.insert(place, hash);
        self.table.count - 1
    }

    /// The values of column `n` of the keys `keys`.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    pub fn column(&self, n: usize, keys: &[u32], arena: &mut Vec<u8>) -> Result<Column> {
        let stride = self.rows.len();
        let part = &self.parts[n];
        let at = |key: u32| {
            let words = &self.words[key as usize * stride..][..stride];
            (words[n], words[stride - 1] >> (2 * n) & 3)
        };
        let mut nulls = Nulls::default();
        let plain = keys.iter().all(|key| at(*key).1 != KEPT);
        for (row, _) in keys.iter().enumerate().filter(|(_, key)| at(**key).1 == NULL) {
            nulls.set(row, keys.len());
        }
        let data = match part.kind {
            Kind::Number(scale) if plain => Data::Fixed(keys.iter().map(|key| at(*key).0 as i64).collect(), scale),
            Kind::Date if plain => Data::Date(keys.iter().map(|key| at(*key).0).collect()),
            Kind::Text | Kind::Raw => {
                let mut spans = Vec::with_capacity(keys.len());
                for key in keys {
                    let begin = arena.len() as u32;
                    match at(*key) {
                        (word, PLAIN) => arena.extend_from_slice(&word.to_le_bytes()[..(word >> 56) as usize]),
                        (word, KEPT) => {
                            // A stored value that is not a text has another type than the column.
                            if !part.kept.values[word as usize].is_null() {
                                return part.values(keys, at);
                            }
                            arena.extend_from_slice(part.kept.get(word as usize));
                        }
                        _ => {}
                    }
                    spans.push(Span { at: begin, len: arena.len() as u32 - begin });
                }
                if part.kind == Kind::Text { Data::Text(spans) } else { Data::Raw(spans) }
            }
            _ => return part.values(keys, at),
        };
        Ok(Column { data, nulls })
    }
}

impl Part {
    /// The values of any type.
    fn values(&self, keys: &[u32], at: impl Fn(u32) -> (u64, u64)) -> Result<Column> {
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            let (word, tag) = at(*key);
            values.push(match (tag, self.kind) {
                (NULL, _) => Value::Null,
                (KEPT, kind) => match (&self.kept.values[word as usize], kind) {
                    (Value::Null, Kind::Text) => Value::text(
                        std::str::from_utf8(self.kept.get(word as usize))
                            .map_err(|_| Ora::internal("row bytes are damaged"))?,
                    ),
                    (Value::Null, _) => Value::raw(self.kept.get(word as usize)),
                    (value, _) => value.clone(),
                },
                (_, Kind::Number(scale)) => Value::Number(number_of((word as i64).into(), scale)),
                (_, Kind::Date) => Value::Date(date_of(word)?),
                (_, kind) => {
                    let bytes = word.to_le_bytes();
                    let bytes = &bytes[..(word >> 56) as usize];
                    match std::str::from_utf8(bytes) {
                        Ok(text) if kind == Kind::Text => Value::text(text),
                        _ => Value::raw(bytes),
                    }
                }
            });
        }
        Ok(Column::new(Data::Values(values)))
    }

    /// Computes words and tags of column `n`. Values that no key has are stored if `adds`.
    #[expect(clippy::too_many_arguments, reason = "the parts of a table and of a batch")]
    fn load(
        &mut self,
        column: &Column,
        len: usize,
        arena: &[u8],
        words: &mut Vec<u64>,
        tags: &mut [u64],
        (n, adds): (usize, bool),
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        let mark = |tags: &mut [u64], row: usize, tag: u64| tags[row] |= tag << (2 * n);
        let kind = match &column.data {
            Data::Fixed(_, scale) | Data::Wide(_, scale) => Kind::Number(*scale),
            Data::Date(_) => Kind::Date,
            Data::Text(_) => Kind::Text,
            Data::Raw(_) => Kind::Raw,
            Data::Values(v) if v.iter().all(Value::is_null) => Kind::Unknown,
            Data::Double(_) | Data::Values(_) => Kind::Other,
        };
        if self.kind == Kind::Unknown && adds {
            self.kind = kind;
        }
        match (&column.data, self.kind) {
            (Data::Fixed(v, scale), Kind::Number(own)) if *scale == own => {
                words.extend(v.iter().map(|n| *n as u64));
            }
            (Data::Date(v), Kind::Date) => words.extend_from_slice(v),
            (Data::Text(spans), Kind::Text) | (Data::Raw(spans), Kind::Raw) => {
                for (row, span) in spans.iter().enumerate() {
                    let bytes = span.of(arena);
                    words.push(match bytes.len() {
                        0..=7 => text_word(bytes),
                        _ => {
                            let found = self.kept.find(bytes, adds, || Value::Null);
                            mark(tags, row, if found.is_some() { KEPT } else { ABSENT });
                            found.unwrap_or_default()
                        }
                    });
                }
            }
            _ => {
                let mut value = Value::Null;
                for row in 0..len {
                    if column.is_null(row) {
                        words.push(0);
                        mark(tags, row, NULL);
                        continue;
                    }
                    column.put(row, arena, &mut value)?;
                    let (word, tag) = self.word(&value, adds, scratch);
                    words.push(word);
                    mark(tags, row, tag);
                }
                return Ok(());
            }
        }
        if column.nulls.any() {
            for row in (0..len).filter(|row| column.nulls.is(*row)) {
                words[row] = 0;
                tags[row] &= !(3 << (2 * n));
                mark(tags, row, NULL);
            }
        }
        Ok(())
    }

    /// The word and tag of a value that is not NULL.
    fn word(&mut self, v: &Value, adds: bool, scratch: &mut Vec<u8>) -> (u64, u64) {
        let number = |found: Option<u64>| found.map_or((0, ABSENT), |n| (n, KEPT));
        match (v, self.kind) {
            (Value::Number(number), Kind::Number(own)) => {
                if let Some((n, scale)) = parts_of(number)
                    && scale <= own
                    && let Some(n) = scaled_up(n, own - scale)
                    && let Ok(n) = i64::try_from(n)
                {
                    return (n as u64, PLAIN);
                }
            }
            (Value::Date(d), Kind::Date) => return (super::column::date_word(d), PLAIN),
            (Value::Text(s), Kind::Text) if s.len() <= 7 => return (text_word(s.as_bytes()), PLAIN),
            (Value::Raw(s), Kind::Raw) if s.len() <= 7 => return (text_word(s), PLAIN),
            (Value::Text(s), Kind::Text) => {
                return number(self.kept.find(s.as_bytes(), adds, || Value::Null));
            }
            (Value::Raw(s), Kind::Raw) => return number(self.kept.find(s, adds, || Value::Null)),
            _ => {}
        }
        scratch.clear();
        types::codec::encode_instant(v, scratch);
        number(self.kept.find(scratch, adds, || v.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use testing::Random;
    use types::Number;

    fn lookup(table: &mut KeyTable, column: &Column, len: usize, arena: &[u8]) -> Vec<usize> {
        table.load(&[column], len, arena).unwrap();
        (0..len)
            .map(|row| match table.find(row) {
                Ok(n) => n,
                Err(place) => table.add(row, place),
            })
            .collect()
    }

    #[test]
    fn the_memory_of_keys_is_all_counted() {
        let mut table = KeyTable::new(1);
        let texts = (0..1000).map(|n| Value::Text(format!("{n:040}"))).collect();
        let column = Column::new(Data::Values(texts));
        assert_eq!(lookup(&mut table, &column, 1000, &[]).len(), 1000);
        // The text twice, as the key it is found by and as a value; its end; its word and a tag; places of two tables
        // that are at least half free.
        let least = 1000 * (2 * 40 + size_of::<Value>() + size_of::<usize>() + 2 * 8 + 2 * 2 * 8);
        assert!(table.used() >= least, "{} of {least}", table.used());
        table.clear();
        assert!(table.used() < 2000, "{}", table.used());
    }

    #[test]
    fn equal_values_have_one_number_whatever_their_form() {
        let mut table = KeyTable::new(1);
        let a = Column::new(Data::Fixed(vec![150, 200, i64::MAX], 2));
        assert_eq!(lookup(&mut table, &a, 3, &[]), [0, 1, 2]);
        let b = Column::new(Data::Fixed(vec![2, 15, 3], 0));
        assert_eq!(lookup(&mut table, &b, 3, &[]), [1, 3, 4]);
        let c = Column::new(Data::Fixed(vec![1500, 1501, 30], 3));
        assert_eq!(lookup(&mut table, &c, 3, &[]), [0, 5, 6]);
        let huge = Number::from_i128(10i128.pow(37));
        let d = Column::new(Data::Values(vec![Value::Null, Value::Number(huge), Value::Number(Number::from(2i64))]));
        assert_eq!(lookup(&mut table, &d, 3, &[]), [7, 8, 1]);
        let e = Column::new(Data::Wide(vec![10i128.pow(37), 15], 0));
        assert_eq!(lookup(&mut table, &e, 2, &[]), [8, 3]);
        let back = table.column(0, &[0, 5, 7, 8], &mut Vec::new()).unwrap();
        let mut v = Value::Null;
        let mut shown = Vec::new();
        for row in 0..4 {
            back.put(row, &[], &mut v).unwrap();
            shown.push(format!("{v:?}"));
        }
        let number = |n: &str| format!("{:?}", Value::Number(n.parse().unwrap()));
        assert_eq!(shown, [number("1.5"), number("1.501"), "Null".into(), number("1e37")]);
    }

    #[test]
    fn keys_of_all_lengths_are_told_apart() {
        let (mut table, mut model) = (KeyTable::new(2), HashMap::new());
        let mut random = Random::new(88);
        for _ in 0..40 {
            let (mut texts, mut numbers) = (Vec::new(), Vec::new());
            for _ in 0..500 {
                let len = random.below(12usize);
                texts.push(if len == 0 { Value::Null } else { Value::text("ab".repeat(len)[..len].to_owned()) });
                numbers.push(Value::Number(Number::from(random.below(300i64))));
            }
            let mut arena = Vec::new();
            let columns =
                [Column::of_values(texts.clone(), &mut arena), Column::of_values(numbers.clone(), &mut arena)];
            table.load(&[&columns[0], &columns[1]], 500, &arena).unwrap();
            for row in 0..500 {
                let n = match table.find(row) {
                    Ok(n) => n,
                    Err(place) => table.add(row, place),
                };
                let next = model.len();
                let key = format!("{:?} {:?}", texts[row], numbers[row]);
                assert_eq!(*model.entry(key).or_insert(next), n);
            }
        }
        assert_eq!(table.len(), model.len());
        assert!(table.len() > 3000);
    }
}
