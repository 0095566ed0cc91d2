//! Uses of columns in predicates, counted in shared memory until they are added up in COL_USAGE$.
//!
//! A hard parse counts each kind of use of a column once. An entry is found by open addressing and belongs to its
//! column until a flush finds it unused since the flush before, as in [`crate::monitoring`]; what is lost with an entry
//! or a process only delays a histogram.

use crate::base::{Base, col_usage};
use crate::rows::{Row, as_i64, as_u32, blank, int};
use crate::{Change, DictionaryShared, FIRST_USER_OBJECT};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use types::{Date, ObjectId, Result, Value};

/// Words of an entry: the column, and two counts of 32 bits in each of the others.
const ENTRY_WORDS: usize = 1 + ColumnUse::ALL.len() / 2;
/// Columns that are counted at once.
const ENTRIES: usize = 2048;
/// How far from its place an entry may lie.
const PROBE_MAX: usize = 32;
pub(crate) const WORDS: usize = ENTRIES * ENTRY_WORDS;

/// How a predicate uses a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnUse {
    /// Compared with a value by `=` or IN.
    Equality,
    /// Compared with a column of another table by `=`.
    Equijoin,
    /// Compared with a column of another table otherwise.
    NonEquijoin,
    /// Compared with a value by `<`, `<=`, `>`, `>=` or BETWEEN.
    Range,
    Like,
    Null,
}

impl ColumnUse {
    /// In the order of the columns of COL_USAGE$.
    pub const ALL: [ColumnUse; 6] = [
        ColumnUse::Equality,
        ColumnUse::Equijoin,
        ColumnUse::NonEquijoin,
        ColumnUse::Range,
        ColumnUse::Like,
        ColumnUse::Null,
    ];

    /// Whether a histogram may say something about it.
    pub fn wants_histogram(self) -> bool {
        self != ColumnUse::Null
    }
}

/// The columns of COL_USAGE$ with the counts, in the order of [`ColumnUse::ALL`].
pub const COUNTS: [usize; 6] = [
    col_usage::EQUALITY,
    col_usage::EQUIJOIN,
    col_usage::NONEQUIJOIN,
    col_usage::RANGE,
    col_usage::LIKE,
    col_usage::NULL,
];

type Counts = [u64; ColumnUse::ALL.len()];

impl DictionaryShared {
    /// Counts a use of the column of that number (from 1). Tables of the dictionary are not counted.
    pub fn note_column_use(&self, table: ObjectId, column: u32, how: ColumnUse) {
        if table.0 < FIRST_USER_OBJECT {
            return;
        }
        let key = u64::from(table.0) << 32 | u64::from(column);
        let Some(entry) = self.column_entry(key) else { return };
        let at = how as usize;
        entry[1 + at / 2].fetch_add(1 << (32 * (at % 2)), Relaxed);
    }

    fn column_entry(&self, key: u64) -> Option<&'static [AtomicU64]> {
        let words = self.column_use_words();
        let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % ENTRIES;
        for n in 0..PROBE_MAX {
            let at = (first + n) % ENTRIES * ENTRY_WORDS;
            let entry = &words[at..at + ENTRY_WORDS];
            match entry[0].load(Relaxed) {
                owner if owner == key => return Some(entry),
                0 => match entry[0].compare_exchange(0, key, Relaxed, Relaxed) {
                    Ok(_) => return Some(entry),
                    Err(owner) if owner == key => return Some(entry),
                    Err(_) => {}
                },
                _ => {}
            }
        }
        None
    }

    /// Takes what has been counted since the last call.
    fn take_column_uses(&self) -> HashMap<(u32, u32), Counts> {
        let mut taken = HashMap::new();
        for entry in self.column_use_words().chunks_exact(ENTRY_WORDS) {
            let key = entry[0].load(Relaxed);
            if key == 0 {
                continue;
            }
            let mut counts = Counts::default();
            for (at, word) in entry[1..].iter().enumerate() {
                let both = if word.load(Relaxed) == 0 { 0 } else { word.swap(0, Relaxed) };
                (counts[2 * at], counts[2 * at + 1]) = (both & 0xffff_ffff, both >> 32);
            }
            if counts == Counts::default() {
                entry[0].store(0, Relaxed);
            } else {
                taken.insert(((key >> 32) as u32, key as u32), counts);
            }
        }
        taken
    }
}

impl Change<'_> {
    /// Adds what has been counted to COL_USAGE$. The caller holds the DD enqueue; what it rolls back is lost.
    ///
    /// # Errors
    /// Those of changing the table.
    pub fn flush_column_uses(&mut self, now: Date) -> Result<()> {
        let taken = self.shared().take_column_uses();
        if taken.is_empty() {
            return Ok(());
        }
        let column = |row: &[Value]| (as_u32(&row[col_usage::OBJ]), as_u32(&row[col_usage::COL]));
        let add = |row: &mut Row, counts: &Counts| {
            for (at, more) in COUNTS.into_iter().zip(counts) {
                row[at] = int(as_i64(&row[at]).unwrap_or(0).saturating_add_unsigned(*more));
            }
            row[col_usage::TIMESTAMP] = Value::Date(now);
        };
        let mut known = Vec::new();
        self.update(Base::ColUsage, &|row| taken.contains_key(&column(row)), &mut |row| {
            known.push(column(row));
            add(row, &taken[&column(row)]);
        })?;
        let mut rows = Vec::new();
        for ((table, number), counts) in taken.iter().filter(|(column, _)| !known.contains(column)) {
            let mut row = blank(Base::ColUsage);
            (row[col_usage::OBJ], row[col_usage::COL]) = (int(*table), int(*number));
            row[col_usage::FLAGS] = int(0);
            add(&mut row, counts);
            rows.push(row);
        }
        self.insert_many(Base::ColUsage, &rows)
    }
}
