//! Changed rows by table, counted in shared memory until a flush adds them to MON_MODS_ALL$.
//!
//! A statement adds its rows when it ends, whether or not it is rolled back later, as in Oracle. See [`tally`] for the
//! accuracy of the counts.

use crate::base::{Base, mods_all};
use crate::layout::MONITORING_ENTRY_WORDS;
use crate::rows::{Row, as_i64, as_u32, blank, int};
use crate::{By, Change, DictionaryShared, FIRST_USER_OBJECT, tally};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use types::{Date, ObjectId, Result, Value};

/// Changed rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    pub truncated: bool,
}

impl Changes {
    fn is_none(&self) -> bool {
        *self == Changes::default()
    }
}

impl DictionaryShared {
    /// Counts changed rows of a table. Tables of the dictionary are not counted.
    pub fn note_changes(&self, table: ObjectId, changes: Changes) {
        if table.0 < FIRST_USER_OBJECT || changes.is_none() {
            return;
        }
        let Some(entry) = tally::entry_of(self.monitoring_words(), MONITORING_ENTRY_WORDS, u64::from(table.0)) else {
            return;
        };
        let more = [changes.inserted, changes.updated, changes.deleted, u64::from(changes.truncated)];
        for (word, more) in entry[1..].iter().zip(more) {
            if more > 0 {
                word.fetch_add(more, Relaxed);
            }
        }
    }

    /// Takes the counts since the last call.
    fn take_changes(&self) -> HashMap<u32, Changes> {
        let one = |(table, counts): (u64, [u64; MONITORING_ENTRY_WORDS - 1])| {
            let [inserted, updated, deleted, truncated] = counts;
            (table as u32, Changes { inserted, updated, deleted, truncated: truncated > 0 })
        };
        tally::take(self.monitoring_words()).into_iter().map(one).collect()
    }
}

impl Change<'_> {
    /// Adds the counts to MON_MODS_ALL$. The caller holds the DD enqueue; if it rolls back, the counts are lost.
    ///
    /// # Errors
    /// Those of changing the table.
    pub fn flush_monitoring(&mut self, now: Date) -> Result<()> {
        let taken = self.shared().take_changes();
        if taken.is_empty() {
            return Ok(());
        }
        let add = |row: &mut Row, changes: &Changes| {
            let counts = [
                (mods_all::INSERTS, changes.inserted),
                (mods_all::UPDATES, changes.updated),
                (mods_all::DELETES, changes.deleted),
            ];
            for (at, more) in counts {
                row[at] = int(as_i64(&row[at]).unwrap_or(0).saturating_add_unsigned(more));
            }
            let truncated = changes.truncated || as_i64(&row[mods_all::FLAGS]) == Some(1);
            row[mods_all::FLAGS] = int(i64::from(truncated));
            row[mods_all::TIMESTAMP] = Value::Date(now);
        };
        let mut known = Vec::new();
        let mine = |row: &[Value]| taken.contains_key(&as_u32(&row[mods_all::OBJ]));
        self.update(Base::ModsAll, &mine, &mut |row| {
            let table = as_u32(&row[mods_all::OBJ]);
            known.push(table);
            add(row, &taken[&table]);
        })?;
        let mut rows = Vec::new();
        let new = taken.keys().copied().filter(|table| !known.contains(table)).collect();
        for table in &self.tables_among(&new)? {
            let changes = &taken[table];
            let mut row = blank(Base::ModsAll);
            row[mods_all::OBJ] = int(*table);
            add(&mut row, changes);
            rows.push(row);
        }
        self.insert_many(Base::ModsAll, &rows)
    }

    /// Deletes the counts of a table, whose statistics are new.
    ///
    /// # Errors
    /// Those of changing the table.
    pub fn forget_monitoring(&mut self, table: ObjectId) -> Result<()> {
        self.delete_by(Base::ModsAll, By::new(mods_all::OBJ, table.0)).map(drop)
    }
}
