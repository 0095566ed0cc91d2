//! The work of a process as its statistics show it.

use library_cache::LineCounts;
use process::Process;
use wait::Stat;

/// The work of a process up to now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    consistent_gets: u64,
    current_gets: u64,
    reads: u64,
    writes: u64,
    ns: u64,
}

impl Reading {
    pub(super) fn of(p: &Process) -> Reading {
        let line = p.stats();
        Reading {
            consistent_gets: line.get(Stat::ConsistentGets),
            current_gets: line.get(Stat::DbBlockGets),
            reads: line.get(Stat::PhysicalReads),
            writes: line.get(Stat::PhysicalWrites),
            ns: os::clock::now_ns(),
        }
    }

    pub(super) fn since(self, before: Reading) -> Reading {
        Reading {
            consistent_gets: self.consistent_gets.saturating_sub(before.consistent_gets),
            current_gets: self.current_gets.saturating_sub(before.current_gets),
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            ns: self.ns.saturating_sub(before.ns),
        }
    }

    pub(super) fn plus(self, other: Reading) -> Reading {
        Reading {
            consistent_gets: self.consistent_gets + other.consistent_gets,
            current_gets: self.current_gets + other.current_gets,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            ns: self.ns + other.ns,
        }
    }

    /// Adds the work to the counts; time stays in nanoseconds until the execution ends.
    pub(super) fn add_to(self, counts: &mut LineCounts) {
        counts.consistent_gets += self.consistent_gets;
        counts.current_gets += self.current_gets;
        counts.reads += self.reads;
        counts.writes += self.writes;
        counts.elapsed_us += self.ns;
    }
}
