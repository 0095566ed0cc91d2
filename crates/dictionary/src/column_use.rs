//! Uses of columns in predicates, counted in shared memory until a flush adds them to COL_USAGE$.
//!
//! A hard parse counts each kind of use of a column once. See [`tally`] for the accuracy of the counts; a lost count
//! delays a histogram.

use crate::base::{Base, col_usage};
use crate::layout::COLUMN_USE_ENTRY_WORDS;
use crate::rows::{Row, as_i64, as_u32, blank, int};
use crate::{Change, DictionaryShared, FIRST_USER_OBJECT, tally};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use types::{Date, ObjectId, Result, Value};

const _: () = assert!(COLUMN_USE_ENTRY_WORDS == 1 + ColumnUse::ALL.len() / 2);

/// The kind of use of a column in a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnUse {
    /// Compared with a value by `=` or IN.
    Equality,
    /// Compared with a column of another table by `=`.
    Equijoin,
    /// Compared with a column of another table by another operator.
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

    /// True when a histogram can improve the estimate.
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
    /// Counts a use of the column with this number (from 1). Tables of the dictionary are not counted.
    pub fn note_column_use(&self, table: ObjectId, column: u32, how: ColumnUse) {
        if table.0 < FIRST_USER_OBJECT {
            return;
        }
        let key = u64::from(table.0) << 32 | u64::from(column);
        let Some(entry) = tally::entry_of(self.column_use_words(), COLUMN_USE_ENTRY_WORDS, key) else { return };
        let at = how as usize;
        entry[1 + at / 2].fetch_add(1 << (32 * (at % 2)), Relaxed);
    }

    /// Takes the counts since the last call.
    fn take_column_uses(&self) -> HashMap<(u32, u32), Counts> {
        tally::take(self.column_use_words()).into_iter().map(uses).collect()
    }

    /// The uses of a table's columns that are not in COL_USAGE$ yet, by column number. They stay counted.
    pub fn pending_column_uses(&self, table: ObjectId) -> Vec<(u32, [u64; ColumnUse::ALL.len()])> {
        let pending = tally::pending(self.column_use_words()).into_iter().map(uses);
        pending.filter(|((of, _), _)| *of == table.0).map(|((_, column), counts)| (column, counts)).collect()
    }
}

/// The table, the column and the counts of an entry.
fn uses((key, words): (u64, [u64; COLUMN_USE_ENTRY_WORDS - 1])) -> ((u32, u32), Counts) {
    let count = |at: usize| words[at / 2] >> (32 * (at % 2)) & 0xffff_ffff;
    (((key >> 32) as u32, key as u32), std::array::from_fn(count))
}

impl Change<'_> {
    /// Adds the counts to COL_USAGE$. The caller holds the DD enqueue; if it rolls back, the counts are lost.
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
        let new: Vec<_> = taken.iter().filter(|(column, _)| !known.contains(column)).collect();
        let tables = self.tables_among(&new.iter().map(|((table, _), _)| *table).collect())?;
        for ((table, number), counts) in new.into_iter().filter(|((table, _), _)| tables.contains(table)) {
            let mut row = blank(Base::ColUsage);
            (row[col_usage::OBJ], row[col_usage::COL]) = (int(*table), int(*number));
            row[col_usage::FLAGS] = int(0);
            add(&mut row, counts);
            rows.push(row);
        }
        self.insert_many(Base::ColUsage, &rows)
    }
}
