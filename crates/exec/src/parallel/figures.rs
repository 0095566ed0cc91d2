//! The figures of a session's parallel queries.

/// A line of `v$pq_tqstat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLine {
    /// Number of the coordinator within the query, from 1.
    pub dfo: u64,
    pub producer: bool,
    pub process: String,
    pub rows: u64,
    pub bytes: u64,
}

/// The figures of a session's parallel queries.
#[derive(Clone, Debug, Default)]
pub struct ParallelFigures {
    /// Queues of the last query.
    pub queues: Vec<QueueLine>,
    pub last: ParallelCounts,
    pub all: ParallelCounts,
    /// The execution that `last` belongs to: its coordinators count together.
    execution: (u64, u64),
}

/// Lines of `v$pq_sesstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelCounts {
    pub queries: u64,
    pub trees: u64,
    pub servers: u64,
    pub degree: u64,
    pub sets: u64,
    pub sent: u64,
    pub received: u64,
}

impl ParallelFigures {
    /// Counts a coordinator that has servers; true if it is the first of the execution.
    pub(super) fn begin(&mut self, execution: (u64, u64), servers: usize) -> bool {
        let is_first = self.execution != execution;
        if is_first {
            self.execution = execution;
            self.queues.clear();
            self.last = ParallelCounts { queries: 1, ..ParallelCounts::default() };
            self.all.queries += 1;
        }
        for counts in [&mut self.last, &mut self.all] {
            counts.trees += 1;
            counts.servers += servers as u64;
            counts.sets += 1;
        }
        self.last.degree = self.last.degree.max(servers as u64);
        is_first
    }

    pub(super) fn count_sent(&mut self) {
        self.last.sent += 1;
        self.all.sent += 1;
    }

    pub(super) fn count_received(&mut self) {
        self.last.received += 1;
        self.all.received += 1;
    }

    pub(super) fn note_producer(&mut self, id: usize, process: &str, rows: u64, bytes: u64) {
        let dfo = id as u64 + 1;
        self.queues.push(QueueLine { dfo, producer: true, process: process.to_owned(), rows, bytes });
    }

    /// Notes that the coordinator has read all rows of its servers.
    pub(super) fn note_consumer(&mut self, id: usize, rows: u64) {
        let dfo = id as u64 + 1;
        let bytes = self.queues.iter().filter(|line| line.dfo == dfo && line.producer).map(|line| line.bytes).sum();
        self.queues.push(QueueLine { dfo, producer: false, process: "QC".to_owned(), rows, bytes });
    }
}
