//! The library cache: statements, and the cursors that sessions share, behind `v$sql`.
//!
//! A **parent** is a statement: its text, and the digest of the text, from which `sql_id` is derived. A **child** is
//! one version of the statement: the environment it was parsed in, its figures, and its plan, as rows for views and as
//! an image that sessions make their cursors of. A session executes its own copy of the image, checked against the
//! dictionary, so the eviction of a cursor loses its figures and costs a hard parse, and nothing else.
//!
//! Four designs protect the same structures: module `find` has the table of gets. In the versioned design an execution
//! writes nothing shared: the session counts in its own cursor and adds to the child now and then
//! ([`LibraryCache::add`]).
//!
//! See `README.md` for the invariants.
#![deny(unsafe_code)] // allowed only for the layouts in shared memory

use std::sync::atomic::{AtomicU64, Ordering};

use latch::{Generation, Latch, LatchName, Versioned};
use process::{CleanupOrder, LatchSet, Process, Processes};

/// Bytes kept of a statement's text (`v$sql.sql_text` shows the first 1000).
pub const TEXT_BYTES_MAX: usize = 4000;
/// Longest schema name kept.
pub const NAME_BYTES_MAX: usize = 32;
/// Longest plan kept, in bytes of its rows.
pub const PLAN_BYTES_MAX: usize = 4096;
mod adaptive;
mod advice;
mod announce;
mod change;
mod find;
mod image;
mod layout;
mod ledger;
mod load;
mod object;
mod pin;
mod run;
mod running;
mod view;

pub use adaptive::{Adaptive, CORRECTIONS_MAX, Fit, PREDICATES_MAX, Sharing, SharingRow, bucket_of};
pub use advice::{ADVICE_PRESENT, ADVICE_SIZES};
pub use announce::Announced;
pub use find::{Env, KIN_MOST, Kin, Statement};
pub use image::{Edition, LeftOut};
pub use layout::{Content, Layout};
pub use object::Object;
pub use pin::{CursorSlot, OuterBlock};
pub use run::{AreaCounts, LINES_MOST, LineCounts, LineFigures};
pub use running::Refused;
pub use view::{ChildRow, Mismatch, NamespaceRow, OpenCursor, ParentRow, SessionCursor, statement_bytes};

use layout::{Bucket, Child, Chunk, Control, Line, Parent};

/// How the library cache is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Up to 10.2.0.1: child latches `library cache` and `library cache pin`.
    Latch,
    /// 10.2: child latches `library cache`, and a mutex in each cursor for its pins.
    Pins,
    /// 11.1 and later: mutexes in buckets, handles, parents and cursors.
    Mutex,
    /// Latchwork's own: readers write nothing shared.
    Versioned,
}

/// Sizes and design, fixed at start-up.
#[derive(Clone, Debug)]
pub struct Config {
    /// The number of statements that the cache holds.
    pub entries: u32,
    pub design: Design,
    pub generation: Generation,
    /// Process slots.
    pub processes: u32,
    /// Cursors of a process that are shown and pinned; a process may have more.
    pub cursors: u32,
    /// Children of `library cache` and `library cache pin`.
    pub latches: u32,
    /// `_kgl_hot_object_copies`.
    pub hot_copies: u8,
}

impl Config {
    /// The configuration of the versioned design.
    pub fn new(entries: u32, processes: u32) -> Config {
        Config {
            entries,
            design: Design::Versioned,
            generation: Generation::default(),
            processes,
            cursors: 128,
            latches: 7,
            hot_copies: 2,
        }
    }
}

/// The kinds of objects: the rows of `v$librarycache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Namespace {
    SqlArea = 0,
    TableProcedure = 1,
    Body = 2,
    Trigger = 3,
    Index = 4,
    Cluster = 5,
}

impl Namespace {
    /// The number of namespaces.
    pub const COUNT: usize = 6;
    /// All namespaces by number.
    pub const ALL: [Namespace; Namespace::COUNT] = [
        Namespace::SqlArea,
        Namespace::TableProcedure,
        Namespace::Body,
        Namespace::Trigger,
        Namespace::Index,
        Namespace::Cluster,
    ];

    /// The column NAMESPACE.
    pub fn name(self) -> &'static str {
        match self {
            Namespace::SqlArea => "SQL AREA",
            Namespace::TableProcedure => "TABLE/PROCEDURE",
            Namespace::Body => "BODY",
            Namespace::Trigger => "TRIGGER",
            Namespace::Index => "INDEX",
            Namespace::Cluster => "CLUSTER",
        }
    }

    /// The namespace of objects with that TYPE# in OBJ$; `None` for types that are not cached.
    pub fn of_type(code: u16) -> Option<Namespace> {
        match code {
            1 => Some(Namespace::Index),
            2 | 4..=9 | 13 => Some(Namespace::TableProcedure),
            3 => Some(Namespace::Cluster),
            11 | 14 => Some(Namespace::Body),
            12 => Some(Namespace::Trigger),
            _ => None,
        }
    }

    pub(crate) fn of(number: u8) -> Namespace {
        Namespace::ALL[number as usize % Namespace::COUNT]
    }
}

/// The identity of a statement: MD5 over its text and a final NUL, as Oracle takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

pub use types::sql_id_of;

impl Digest {
    /// The `sql_id`: the last eight bytes, two little-endian words, in base 32; 13 digits.
    pub fn sql_id(self) -> String {
        sql_id_of(self.value())
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

    /// FULL_HASH_VALUE: 32 digits, each word most significant byte first.
    pub fn full_hash(self) -> String {
        self.0.chunks(4).flat_map(|word| word.iter().rev()).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest with these 32 digits.
    pub fn of_full_hash(text: &str) -> Option<Digest> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 16];
        for (n, byte) in bytes.iter_mut().enumerate() {
            let at = (n / 4 * 4 + 3 - n % 4) * 2;
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Digest(bytes))
    }

    pub(crate) fn halves(self) -> (u64, u64) {
        let half = |at: usize| u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"));
        (half(0), half(8))
    }

    pub(crate) fn of_halves(low: u64, high: u64) -> Digest {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&high.to_le_bytes());
        Digest(bytes)
    }
}

/// A session's reference to a child. It may outlive the child; the life shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    pub(crate) child: u32,
    pub(crate) life: u64,
}

impl Handle {
    /// The reference to no child, for a cursor without room in the cache (L8). Nothing is counted or pinned with it.
    pub const NONE: Handle = Handle { child: u32::MAX, life: 0 };

    /// The handle as numbers, for another process of the instance.
    #[must_use]
    pub fn to_numbers(self) -> (u32, u64) {
        (self.child, self.life)
    }

    /// The handle of these numbers. A handle that refers to no child counts nothing.
    #[must_use]
    pub fn of_numbers((child, life): (u32, u64)) -> Handle {
        Handle { child, life }
    }
}

/// The figures of a statement since the session last added them to the child.
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
    /// Waits of the class User I/O.
    pub user_io_us: u64,
    pub application_us: u64,
    pub concurrency_us: u64,
}

impl Delta {
    pub(crate) const WORDS: usize = 11;

    pub(crate) fn words(&self) -> [u64; Delta::WORDS] {
        [
            self.executions,
            self.parse_calls,
            self.fetches,
            self.rows_processed,
            self.buffer_gets,
            self.disk_reads,
            self.elapsed_us,
            self.cpu_us,
            self.user_io_us,
            self.application_us,
            self.concurrency_us,
        ]
    }

    pub(crate) fn of_words(w: [u64; Delta::WORDS]) -> Delta {
        Delta {
            executions: w[0],
            parse_calls: w[1],
            fetches: w[2],
            rows_processed: w[3],
            buffer_gets: w[4],
            disk_reads: w[5],
            elapsed_us: w[6],
            cpu_us: w[7],
            user_io_us: w[8],
            application_us: w[9],
            concurrency_us: w[10],
        }
    }

    /// Adds waits by the classes of [`wait::CHARGED`].
    #[inline]
    pub fn add_waits(&mut self, us: [u64; wait::CHARGED.len()]) {
        let [user_io, application, concurrency] = us;
        self.user_io_us += user_io;
        self.application_us += application;
        self.concurrency_us += concurrency;
    }

    /// Adds another account to this one.
    pub fn add(&mut self, other: &Delta) {
        let (own, more) = (self.words(), other.words());
        *self = Delta::of_words(std::array::from_fn(|n| own[n] + more[n]));
    }
}

/// The library cache: one process's view of the shared structure.
pub struct LibraryCache {
    pub(crate) all: &'static Processes,
    pub(crate) design: Design,
    pub(crate) control: &'static Control,
    pub(crate) parents: &'static [Parent],
    pub(crate) children: &'static [Child],
    pub(crate) chunks: &'static [Chunk],
    pub(crate) buckets: &'static [Bucket],
    pub(crate) latches: &'static [Versioned],
    pub(crate) pin_latches: &'static [Latch],
    pub(crate) pool: &'static Latch,
    pub(crate) lines: &'static [Line],
    pub(crate) ledgers: &'static [ledger::Entry],
    /// The cursor words of all processes, process by process.
    pub(crate) cursors: &'static [AtomicU64],
    pub(crate) cursors_each: usize,
    pub(crate) hot_copies: u8,
    /// The sample of gets for `v$shared_pool_advice`.
    pub(crate) advice: cache_advice::Reuse,
}

impl LibraryCache {
    /// Formats the areas; run once, before the first process is forked.
    pub fn create(all: &'static Processes, layout: &Layout, config: &Config) -> LibraryCache {
        let sga = all.sga();
        let (latches, pin_latches) = (sga.slice(layout.latches), sga.slice(layout.pin_latches));
        for (n, latch) in latches.iter().enumerate() {
            latch.format(LatchName::LibraryCache, n as u32 + 1, config.generation);
        }
        for (n, latch) in pin_latches.iter().enumerate() {
            latch.format(LatchName::LibraryCachePin, n as u32 + 1, config.generation);
        }
        all.register_children(LatchName::LibraryCache, LatchSet::Versioned(latches));
        all.register_children(LatchName::LibraryCachePin, LatchSet::Plain(pin_latches));
        LibraryCache {
            all,
            design: config.design,
            control: &sga.slice(layout.control)[0],
            parents: sga.slice(layout.parents),
            children: sga.slice(layout.children),
            chunks: sga.slice(layout.chunks),
            buckets: sga.slice(layout.buckets),
            latches,
            pin_latches,
            pool: all.latch(LatchName::SharedPool),
            lines: sga.slice(layout.lines),
            ledgers: sga.slice(layout.ledgers),
            cursors: sga.slice(layout.cursors),
            advice: cache_advice::Reuse::create(sga, &layout.advice),
            cursors_each: config.cursors.max(8) as usize,
            hot_copies: config.hot_copies.max(1),
        }
    }

    /// Registers the clean-up of dead processes.
    pub fn register(&'static self) {
        self.all.on_death(CleanupOrder::Pins, "library cache pins", move |p, dead| self.clean_up(p, dead));
    }

    /// The design in force.
    pub fn design(&self) -> Design {
        self.design
    }

    pub(crate) fn line(&self, p: &Process) -> &'static Line {
        &self.lines[p.number() as usize - 1]
    }

    /// The cursors that a process shows.
    pub(crate) fn cursors_of(&self, number: u32) -> &'static [AtomicU64] {
        let from = (number as usize - 1) * self.cursors_each;
        self.cursors.get(from..from + self.cursors_each).unwrap_or_default()
    }
}

/// Adds one to a word that only its own process writes.
#[inline]
pub(crate) fn count(word: &AtomicU64) {
    word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
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

    #[test]
    fn a_full_hash_ends_with_the_hash_value_and_reads_back() {
        let digest = Digest(std::array::from_fn(|n| n as u8 * 7 + 1));
        let full = digest.full_hash();
        assert!(full.ends_with(&format!("{:08x}", digest.hash_value())));
        assert_eq!(Digest::of_full_hash(&full), Some(digest));
        assert_eq!(Digest::of_full_hash("xyz"), None);
    }
}
