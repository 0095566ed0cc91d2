//! The library cache: shared statement entries, behind `v$sql`.
//!
//! An entry holds a statement's identity (the digest of its text, from which `sql_id` comes), its text and its
//! figures. Compiled plans are private to a session; what sessions share is this entry, found through a hash table by
//! the digest. A session counts executions in its own cursor and adds them to the entry from time to time
//! ([`LibraryCache::add`]), so an execution of a hot statement writes nothing that is shared.
//!
//! See `README.md` for the invariants.
#![deny(unsafe_code)] // Only the layouts of what lies in shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

use latch::{Latch, LatchName, Where};
use process::{Process, Processes, Section};
use sga::{SgaBuilder, SgaLayout, SgaSlice};

/// Bytes of a statement's text that are kept (`v$sql.sql_text` shows the first 1000).
pub const TEXT_BYTES_MAX: usize = 4000;
/// Longest schema name kept.
pub const NAME_BYTES_MAX: usize = 32;
/// The 32 digits of a `sql_id`: the lower-case letters without e, i, l and o.
const SQL_ID_DIGITS: &[u8; 32] = b"0123456789abcdfghjkmnpqrstuvwxyz";

/// Sizes, fixed at start-up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Statements the cache holds.
    pub entries: u32,
}

mod entry;
pub use entry::{Entry, Figures, SqlRow};

/// The identity of a statement: MD5 over its text and a final NUL, as Oracle takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The `sql_id`: the last eight bytes, two little-endian words, in base 32; 13 digits.
    pub fn sql_id(self) -> String {
        let mut value = self.value();
        let mut digits = [b'0'; 13];
        for digit in digits.iter_mut().rev() {
            *digit = SQL_ID_DIGITS[(value & 31) as usize];
            value >>= 5;
        }
        String::from_utf8(digits.to_vec()).expect("digits are ASCII")
    }

    /// The hash value: the low half of the `sql_id`'s number.
    pub fn hash_value(self) -> u32 {
        self.value() as u32
    }

    /// The number that `sql_id` prints.
    pub fn value(self) -> u64 {
        let word = |at: usize| u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]);
        u64::from(word(8)) << 32 | u64::from(word(12))
    }

    fn halves(self) -> (u64, u64) {
        let half = |at: usize| u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"));
        (half(0), half(8))
    }
}

/// A session's reference to a statement entry. It may outlive the entry: the serial number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    index: u32,
    serial: u64,
}

/// What a session has counted for a statement since it last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    pub executions: u64,
    pub parse_calls: u64,
    pub fetches: u64,
    pub rows_processed: u64,
    pub buffer_gets: u64,
    pub disk_reads: u64,
    pub elapsed_us: u64,
    pub cpu_us: u64,
}

/// The fixed part.
#[repr(C, align(64))]
pub struct Control {
    /// Entries that have been handed out so far.
    used: AtomicU64,
    /// Where the search for a victim goes on.
    hand: AtomicU64,
    serial: AtomicU64,
}
#[allow(unsafe_code)]
mod shared {
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl super::SgaLayout for super::Control {}
}

/// Where the library cache lies in the SGA.
pub struct Layout {
    control: SgaSlice<Control>,
    entries: SgaSlice<Entry>,
    buckets: SgaSlice<AtomicU64>,
}

impl Layout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder, config: &Config) -> Layout {
        let entries = config.entries.max(16) as usize;
        Layout {
            control: builder.reserve("library cache: fixed", 1),
            entries: builder.reserve("library cache: statements", entries),
            buckets: builder.reserve("library cache: hash table", (entries * 2).next_power_of_two()),
        }
    }
}

/// The library cache: one process's view of the shared structure.
pub struct LibraryCache {
    latch: &'static Latch,
    control: &'static Control,
    entries: &'static [Entry],
    buckets: &'static [AtomicU64],
}

impl LibraryCache {
    /// Formats the areas; run once, before the first process is forked.
    pub fn create(all: &'static Processes, layout: &Layout) -> LibraryCache {
        let sga = all.sga();
        let control = &sga.slice(layout.control)[0];
        LibraryCache {
            latch: all.latch(LatchName::LibraryCache),
            control,
            entries: sga.slice(layout.entries),
            buckets: sga.slice(layout.buckets),
        }
    }

    /// Finds the entry of a statement or makes one; a parse.
    ///
    /// `text` is what `v$sql` shows: the statement's bytes, or PL/SQL's normalised text; `digest` is taken over it.
    /// The entry used least recently gives way when all are in use. Latches: `library cache`, exclusive, one get; none
    /// held on entry or return.
    pub fn intern(&self, p: &Process, digest: Digest, text: &str, schema: &str, command: u32) -> Handle {
        let section = p.lock(self.latch, Where::KglFind, digest.value());
        let index = match self.search(digest) {
            Some(index) => index,
            None => self.insert(&section, digest, text, schema, command),
        };
        let entry = &self.entries[index as usize];
        Handle { index, serial: entry.serial.load(Ordering::Relaxed) }
    }

    /// Adds what a session has counted. False when the entry has given way to another meanwhile: intern it again.
    ///
    /// Writes shared lines, so it is called at intervals and at the end of a call, never per execution.
    pub fn add(&self, handle: Handle, delta: &Delta) -> bool {
        let entry = &self.entries[handle.index as usize];
        if entry.serial.load(Ordering::Acquire) != handle.serial {
            return false;
        }
        entry.figures.add(delta);
        entry.last_active_s.store(os::clock::wall_ns() / 1_000_000_000, Ordering::Relaxed);
        true
    }

    /// The rows of `v$sql`. Read without a latch: an entry that is being replaced is left out.
    pub fn rows(&self) -> Vec<SqlRow> {
        let used = self.control.used.load(Ordering::Acquire).min(self.entries.len() as u64);
        self.entries[..used as usize].iter().filter_map(Entry::row).collect()
    }

    /// The row of one statement.
    pub fn row(&self, digest: Digest) -> Option<SqlRow> {
        self.rows().into_iter().find(|row| row.digest == digest)
    }

    fn bucket(&self, digest: Digest) -> &AtomicU64 {
        &self.buckets[(digest.value() & (self.buckets.len() as u64 - 1)) as usize]
    }

    /// The entry of a digest, under the latch.
    fn search(&self, digest: Digest) -> Option<u32> {
        let mut link = self.bucket(digest).load(Ordering::Relaxed);
        while let Some(index) = link.checked_sub(1) {
            let entry = &self.entries[index as usize];
            if entry.digest() == digest {
                return Some(index as u32);
            }
            link = entry.chain.load(Ordering::Relaxed);
        }
        None
    }

    fn insert(&self, section: &Section<'_>, digest: Digest, text: &str, schema: &str, command: u32) -> u32 {
        let index = self.claim(section);
        let entry = &self.entries[index as usize];
        let serial = self.control.serial.load(Ordering::Relaxed) + 1;
        section.set(&self.control.serial, serial);
        // While the serial number is zero nobody reads the entry or adds to it.
        entry.fill(digest, text, schema, command);
        let bucket = self.bucket(digest);
        section.set(&entry.chain, bucket.load(Ordering::Relaxed));
        section.set(bucket, u64::from(index) + 1);
        section.set(&entry.serial, serial);
        index
    }

    /// An entry to fill: an unused one, or the one active longest ago among the next sixteen.
    fn claim(&self, section: &Section<'_>) -> u32 {
        let used = self.control.used.load(Ordering::Relaxed);
        if used < self.entries.len() as u64 {
            section.set(&self.control.used, used + 1);
            return used as u32;
        }
        let hand = self.control.hand.load(Ordering::Relaxed);
        section.set(&self.control.hand, hand + 16);
        let index = (hand..hand + 16)
            .map(|at| at % used)
            .min_by_key(|at| self.entries[*at as usize].last_active_s.load(Ordering::Relaxed))
            .expect("sixteen entries to choose from");
        self.unlink(section, index);
        index as u32
    }

    fn unlink(&self, section: &Section<'_>, index: u64) {
        let entry = &self.entries[index as usize];
        section.set(&entry.serial, 0);
        let mut link = self.bucket(entry.digest());
        while link.load(Ordering::Relaxed) != index + 1 {
            let next = link.load(Ordering::Relaxed).checked_sub(1);
            let Some(next) = next else {
                return;
            };
            link = &self.entries[next as usize].chain;
        }
        section.set(link, entry.chain.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sql_id_has_thirteen_digits_without_the_confusable_letters() {
        let id = Digest([0xff; 16]).sql_id();
        assert_eq!(id.len(), 13);
        assert_eq!(id, "gzzzzzzzzzzzz");
        assert_eq!(Digest([0; 16]).sql_id(), "0000000000000");
    }
}
