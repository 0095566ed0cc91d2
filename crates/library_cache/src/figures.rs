//! The figures of a statement.

use std::sync::atomic::{AtomicU64, Ordering};

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

/// Adds one to a word that only its own process writes.
#[inline]
pub(crate) fn count(word: &AtomicU64) {
    word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
