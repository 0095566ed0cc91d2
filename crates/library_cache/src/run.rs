//! Execution figures of the operations of a plan, counted by sessions with rowsource statistics and kept with the
//! cursor.
//!
//! The figures of an operation take one chunk, in a chain that hangs from the child like its image. A process that adds
//! figures holds the bucket, so that the chunks stay the child's meanwhile. Readers take no latch and use what they
//! read only if the child's life and edition have not changed (L17). Figures of a process that died while adding them
//! may be added in part.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::Where;
use process::Process;
use types::image::Image;

use crate::guard::{Guard, take};
use crate::key::Key;
use crate::layout::{CHUNK_BYTES, Child};
use crate::{Handle, LibraryCache};

/// Largest number of operations that are counted: the section notes a change in the chunk of each.
pub const LINES_MOST: usize = 400;

/// The work of an operation and all operations below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct LineCounts {
    pub starts: u64,
    /// Rows that it returned.
    pub rows: u64,
    pub consistent_gets: u64,
    pub current_gets: u64,
    pub reads: u64,
    pub writes: u64,
    pub elapsed_us: u64,
}

/// The work areas of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct AreaCounts {
    /// Bytes that the last work area would have needed for an optimal and for a one-pass execution.
    pub optimal_bytes: u64,
    pub onepass_bytes: u64,
    /// Bytes of memory of the last work area, and its passes through temporary space.
    pub last_bytes: u64,
    pub last_passes: u64,
    /// Temporary bytes of the last work area, and the most of all.
    pub last_temporary_bytes: u64,
    pub most_temporary_bytes: u64,
    /// The number of optimal, one-pass and multi-pass executions.
    pub optimal: u64,
    pub onepass: u64,
    pub multipass: u64,
}

impl AreaCounts {
    /// The number of all work areas.
    pub fn all(&self) -> u64 {
        self.optimal + self.onepass + self.multipass
    }

    /// Adds the figures of later work areas.
    pub fn add(&mut self, later: &AreaCounts) {
        if later.all() == 0 {
            return;
        }
        let most = self.most_temporary_bytes.max(later.most_temporary_bytes);
        let counts = (self.optimal, self.onepass, self.multipass);
        *self = *later;
        self.most_temporary_bytes = most;
        self.optimal += counts.0;
        self.onepass += counts.1;
        self.multipass += counts.2;
    }

    fn words(&self) -> [u64; AREA] {
        [
            self.optimal_bytes,
            self.onepass_bytes,
            self.last_bytes,
            self.last_passes,
            self.last_temporary_bytes,
            self.most_temporary_bytes,
            self.optimal,
            self.onepass,
            self.multipass,
        ]
    }

    fn of_words(w: [u64; AREA]) -> AreaCounts {
        AreaCounts {
            optimal_bytes: w[0],
            onepass_bytes: w[1],
            last_bytes: w[2],
            last_passes: w[3],
            last_temporary_bytes: w[4],
            most_temporary_bytes: w[5],
            optimal: w[6],
            onepass: w[7],
            multipass: w[8],
        }
    }
}

impl LineCounts {
    /// Adds other counts.
    pub fn add(&mut self, more: &LineCounts) {
        let (own, more) = (self.words(), more.words());
        *self = LineCounts::of_words(std::array::from_fn(|n| own[n] + more[n]));
    }

    fn words(&self) -> [u64; COUNTS] {
        [self.starts, self.rows, self.consistent_gets, self.current_gets, self.reads, self.writes, self.elapsed_us]
    }

    fn of_words(w: [u64; COUNTS]) -> LineCounts {
        LineCounts {
            starts: w[0],
            rows: w[1],
            consistent_gets: w[2],
            current_gets: w[3],
            reads: w[4],
            writes: w[5],
            elapsed_us: w[6],
        }
    }
}

/// The figures of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineFigures {
    /// Executions that were counted.
    pub executions: u64,
    /// Counts of all executions, and of the last one.
    pub total: LineCounts,
    pub last: LineCounts,
    pub area: AreaCounts,
}

// Words of a chunk.
const COUNTS: usize = 7;
const AREA: usize = 9;
const TOTAL: usize = 1;
const LAST: usize = TOTAL + COUNTS;
const AREAS: usize = LAST + COUNTS;
const _: () = assert!((AREAS + AREA) * 8 <= CHUNK_BYTES, "a line's figures fit into a chunk");

fn get<const N: usize>(words: &[AtomicU64], from: usize) -> [u64; N] {
    std::array::from_fn(|n| words[from + n].load(Ordering::Relaxed))
}

fn put(words: &[AtomicU64], from: usize, values: &[u64]) {
    for (word, value) in words[from..].iter().zip(values) {
        word.store(*value, Ordering::Relaxed);
    }
}

fn read(words: &[AtomicU64]) -> LineFigures {
    LineFigures {
        executions: words[0].load(Ordering::Relaxed),
        total: LineCounts::of_words(get(words, TOTAL)),
        last: LineCounts::of_words(get(words, LAST)),
        area: AreaCounts::of_words(get(words, AREAS)),
    }
}

fn write(words: &[AtomicU64], figures: &LineFigures) {
    put(words, 0, &[figures.executions]);
    put(words, TOTAL, &figures.total.words());
    put(words, LAST, &figures.last.words());
    put(words, AREAS, &figures.area.words());
}

impl LibraryCache {
    /// Adds the figures of the operations of an execution, by number. Nothing is kept when there is no room, or the
    /// child has another plan meanwhile.
    ///
    /// Latches: none held on entry or return; the bucket's, `shared pool`.
    pub fn add_run(&self, p: &Process, handle: Handle, plan_hash: u32, lines: &[(LineCounts, AreaCounts)]) {
        if lines.is_empty() || lines.len() > LINES_MOST {
            return;
        }
        let Some(child) = self.children.get(handle.child as usize) else { return };
        if child.life.load(Ordering::Acquire) != handle.life {
            return;
        }
        if child.run.load(Ordering::Relaxed) == 0 {
            self.make_room(p, lines.len() * CHUNK_BYTES);
        }
        let Some(parent) = self.parents.get(child.parent.load(Ordering::Relaxed) as usize) else { return };
        let key = Key::of(parent);
        let guard = self.exclusive(p, self.bucket(&key), Where::KglInsert, key.idn());
        // The child stays while its bucket is held.
        if child.life.load(Ordering::Relaxed) != handle.life || Key::of(parent) != key {
            return;
        }
        if child.loaded().is_none_or(|loaded| loaded.plan_hash != plan_hash) {
            return;
        }
        if child.run.load(Ordering::Relaxed) == 0 && !self.take_lines(p, &guard, child, lines.len(), key.idn()) {
            return;
        }
        if child.run_lines.load(Ordering::Relaxed) != lines.len() as u64 {
            return;
        }
        let mut link = child.run.load(Ordering::Relaxed);
        for (counts, area) in lines {
            let Some(chunk) = link.checked_sub(1).and_then(|at| self.chunks.get(at as usize)) else { return };
            let mut figures = read(&chunk.words);
            figures.executions += 1;
            figures.total.add(counts);
            figures.last = *counts;
            figures.area.add(area);
            write(&chunk.words, &figures);
            faults::point("library-cache-run");
            link = chunk.next.load(Ordering::Relaxed);
        }
    }

    /// Gives a child a chunk for each operation; false when there is no room.
    fn take_lines(&self, p: &Process, guard: &Guard<'_>, child: &Child, lines: usize, idn: u64) -> bool {
        let c = self.control;
        let _pool = p.lock(self.pool, Where::KghAllocate, idn);
        let room = self.chunks.len() as u64 - c.chunks_used.load(Ordering::Relaxed);
        if self.is_too_long(lines * CHUNK_BYTES) || lines as u64 > room {
            return false;
        }
        // Pairs with the Acquire fence in `image`: a reader of the chunk's former image sees that the image is gone.
        fence(Ordering::Release);
        let link = |at: u64| &self.chunks[at as usize].next;
        let mut next = 0;
        for _ in 0..lines {
            let at = take(guard, &c.chunks_free, &c.chunks_fresh, self.chunks.len(), link).expect("there is room");
            let chunk = &self.chunks[at as usize];
            write(&chunk.words, &LineFigures::default());
            guard.set(&chunk.next, next);
            next = at + 1;
        }
        guard.set(&child.run, next);
        guard.set(&child.run_lines, lines as u64);
        guard.add(&c.chunks_used, lines as u64);
        guard.checkpoint();
        true
    }

    /// The figures of a child's operations, also while it is being loaded again; empty when no session has counted.
    pub(crate) fn run_of(&self, child: &Child) -> Vec<LineFigures> {
        let edition = child.edition.load(Ordering::Acquire);
        let count = child.run_lines.load(Ordering::Relaxed);
        if count == 0 || count > LINES_MOST as u64 {
            return Vec::new();
        }
        let mut link = child.run.load(Ordering::Relaxed);
        let mut lines = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let Some(chunk) = link.checked_sub(1).and_then(|at| self.chunks.get(at as usize)) else {
                return Vec::new();
            };
            lines.push(read(&chunk.words));
            link = chunk.next.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        let is_same = edition.is_multiple_of(2) && child.edition.load(Ordering::Relaxed) == edition;
        if is_same { lines } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_encoding() {
        let words: [AtomicU64; CHUNK_BYTES / 8] = std::array::from_fn(|n| AtomicU64::new(n as u64 + 1));
        let figures = read(&words);
        assert_eq!((figures.executions, figures.total.starts, figures.last.elapsed_us), (1, 2, 15));
        assert_eq!((figures.area.optimal_bytes, figures.area.multipass), (16, 24));
        let copy: [AtomicU64; CHUNK_BYTES / 8] = std::array::from_fn(|_| AtomicU64::new(0));
        write(&copy, &figures);
        assert_eq!(read(&copy), figures);
    }

    #[test]
    fn work_areas_keep_the_last_one_and_count_all() {
        let mut area = AreaCounts { optimal_bytes: 10, last_bytes: 10, optimal: 1, ..AreaCounts::default() };
        let spilled = AreaCounts {
            optimal_bytes: 90,
            onepass_bytes: 9,
            last_bytes: 20,
            last_passes: 1,
            last_temporary_bytes: 70,
            most_temporary_bytes: 70,
            onepass: 1,
            ..AreaCounts::default()
        };
        area.add(&spilled);
        area.add(&AreaCounts { optimal_bytes: 5, last_bytes: 5, optimal: 1, ..AreaCounts::default() });
        area.add(&AreaCounts::default());
        assert_eq!((area.optimal, area.onepass, area.multipass), (2, 1, 0));
        assert_eq!((area.optimal_bytes, area.last_passes, area.most_temporary_bytes), (5, 0, 70));
    }
}
