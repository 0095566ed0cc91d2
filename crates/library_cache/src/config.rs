//! The sizes of the library cache and the design that protects it.

use latch::Generation;

/// Bytes kept of a statement's text (`v$sql.sql_text` shows the first 1000).
pub const TEXT_BYTES_MAX: usize = 4000;
/// Longest schema name kept.
pub const NAME_BYTES_MAX: usize = 32;
/// Longest plan kept, in bytes of its rows.
pub const PLAN_BYTES_MAX: usize = 4096;

types::numbered! {
    /// How the library cache is protected.
    #[derive(Debug, PartialEq, Eq)]
    pub enum Design: u8 {
        /// Up to 10.2.0.1: child latches `library cache` and `library cache pin`.
        Latch = 0,
        /// 10.2: child latches `library cache`, and a mutex in each cursor for its pins.
        Pins = 1,
        /// 11.1 and later: mutexes in buckets, handles, parents and cursors.
        Mutex = 2,
        /// Latchwork's own: readers write nothing shared.
        Versioned = 3,
    }
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
