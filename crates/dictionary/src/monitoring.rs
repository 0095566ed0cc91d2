//! Rows changed by table, counted in shared memory until they are added up in MON_MODS_ALL$.
//!
//! A statement adds its rows when it ends, whether it is rolled back later or not, as Oracle counts them. An entry is
//! found by open addressing and belongs to its table until a flush finds it unused since the flush before. A statement
//! that meets such a flush may count for another table, and one that finds no entry does not count at all: the figures
//! only say when statistics are old. There is nothing to clean up when a process dies.

use crate::base::{Base, mods_all};
use crate::rows::{Row, as_i64, as_u32, blank, int};
use crate::{Change, DictionaryShared, FIRST_USER_OBJECT};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use types::{Date, ObjectId, Result, Value};

/// Words of an entry: object number, inserted, updated, deleted rows, truncations.
const ENTRY_WORDS: usize = 5;
/// Tables that are counted at once.
const ENTRIES: usize = 2048;
/// How far from its place an entry may lie.
const PROBE_MAX: usize = 32;
pub(crate) const WORDS: usize = ENTRIES * ENTRY_WORDS;

/// Rows changed of a table.
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

type Entry = [AtomicU64];

impl DictionaryShared {
    fn monitored(&self) -> impl Iterator<Item = &'static Entry> {
        self.monitoring_words().chunks_exact(ENTRY_WORDS)
    }

    /// Counts rows changed of a table. Tables of the dictionary are not counted.
    pub fn note_changes(&self, table: ObjectId, changes: Changes) {
        if table.0 < FIRST_USER_OBJECT || changes.is_none() {
            return;
        }
        let Some(entry) = self.entry_of(u64::from(table.0)) else { return };
        let more = [changes.inserted, changes.updated, changes.deleted, u64::from(changes.truncated)];
        for (word, more) in entry[1..].iter().zip(more) {
            if more > 0 {
                word.fetch_add(more, Relaxed);
            }
        }
    }

    fn entry_of(&self, table: u64) -> Option<&'static Entry> {
        let words = self.monitoring_words();
        // Neighbouring numbers are tables made together, and used together.
        let first = (table.wrapping_mul(0x9E37_79B9) >> 8) as usize % ENTRIES;
        for n in 0..PROBE_MAX {
            let at = (first + n) % ENTRIES * ENTRY_WORDS;
            let entry = &words[at..at + ENTRY_WORDS];
            match entry[0].load(Relaxed) {
                owner if owner == table => return Some(entry),
                0 => match entry[0].compare_exchange(0, table, Relaxed, Relaxed) {
                    Ok(_) => return Some(entry),
                    Err(owner) if owner == table => return Some(entry),
                    Err(_) => {}
                },
                _ => {}
            }
        }
        None
    }

    /// Takes what has been counted since the last call.
    fn take_changes(&self) -> Vec<(ObjectId, Changes)> {
        let mut taken = Vec::new();
        for entry in self.monitored() {
            let table = entry[0].load(Relaxed);
            if table == 0 {
                continue;
            }
            let [inserted, updated, deleted, truncated] = [1, 2, 3, 4].map(|at| match entry[at].load(Relaxed) {
                0 => 0,
                _ => entry[at].swap(0, Relaxed),
            });
            let changes = Changes { inserted, updated, deleted, truncated: truncated > 0 };
            if changes.is_none() {
                entry[0].store(0, Relaxed);
            } else {
                taken.push((ObjectId(table as u32), changes));
            }
        }
        taken
    }
}

impl Change<'_> {
    /// Adds what has been counted to MON_MODS_ALL$. The caller holds the DD enqueue; what it rolls back is lost.
    ///
    /// # Errors
    /// Those of changing the table.
    pub fn flush_monitoring(&mut self, now: Date) -> Result<()> {
        let mut taken: HashMap<u32, Changes> = HashMap::new();
        for (table, changes) in self.shared().take_changes() {
            taken.insert(table.0, changes);
        }
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
        for (table, changes) in taken.iter().filter(|(table, _)| !known.contains(table)) {
            let mut row = blank(Base::ModsAll);
            row[mods_all::OBJ] = int(*table);
            add(&mut row, changes);
            rows.push(row);
        }
        self.insert_many(Base::ModsAll, &rows)
    }

    /// Forgets what a table's rows have changed: its statistics are new.
    ///
    /// # Errors
    /// Those of changing the table.
    pub fn forget_monitoring(&mut self, table: ObjectId) -> Result<()> {
        self.delete(Base::ModsAll, &|row| as_u32(&row[mods_all::OBJ]) == table.0).map(drop)
    }
}
