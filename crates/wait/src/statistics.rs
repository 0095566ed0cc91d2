//! The list of statistics.

use crate::Stopwatch;
use crate::times::TimeStat;
use std::sync::atomic::{AtomicU64, Ordering};

/// The class of a statistic: the column CLASS, a sum of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatClass(pub u32);

impl StatClass {
    /// User.
    pub const USER: Self = Self(1);
    /// Redo.
    pub const REDO: Self = Self(2);
    /// Enqueue.
    pub const ENQUEUE: Self = Self(4);
    /// Cache.
    pub const CACHE: Self = Self(8);
    /// Operating system.
    pub const OS: Self = Self(16);
    /// Parallel execution; this is Oracle's class of Real Application Clusters.
    pub const PARALLEL: Self = Self(32);
    /// SQL.
    pub const SQL: Self = Self(64);
    /// Debug.
    pub const DEBUG: Self = Self(128);
}

macro_rules! statistics {
    ($( $id:ident | $name:literal | $class:ident; )*) => {
        /// A statistic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Stat { $( #[doc = concat!("`", $name, "`")] $id ),* }

        const ROWS: &[(Stat, &str, StatClass)] = &[ $( (Stat::$id, $name, StatClass::$class) ),* ];
    };
}

statistics! {
    LogonsCumulative | "logons cumulative" | USER;
    LogonsCurrent | "logons current" | USER;
    OpenedCursorsCumulative | "opened cursors cumulative" | USER;
    OpenedCursorsCurrent | "opened cursors current" | USER;
    UserCommits | "user commits" | USER;
    UserRollbacks | "user rollbacks" | USER;
    UserCalls | "user calls" | USER;
    RecursiveCalls | "recursive calls" | USER;
    SessionLogicalReads | "session logical reads" | USER;
    CpuUsedWhenCallStarted | "CPU used when call started" | DEBUG;
    CpuUsedByThisSession | "CPU used by this session" | USER;
    DbTime | "DB time" | USER;
    NonIdleWaitTime | "non-idle wait time" | USER;
    NonIdleWaitCount | "non-idle wait count" | USER;
    EnqueueTimeouts | "enqueue timeouts" | ENQUEUE;
    EnqueueWaits | "enqueue waits" | ENQUEUE;
    EnqueueDeadlocks | "enqueue deadlocks" | ENQUEUE;
    EnqueueRequests | "enqueue requests" | ENQUEUE;
    EnqueueConversions | "enqueue conversions" | ENQUEUE;
    EnqueueReleases | "enqueue releases" | ENQUEUE;
    PhysicalReadTotalIoRequests | "physical read total IO requests" | CACHE;
    PhysicalReadTotalBytes | "physical read total bytes" | CACHE;
    PhysicalWriteTotalIoRequests | "physical write total IO requests" | CACHE;
    PhysicalWriteTotalBytes | "physical write total bytes" | CACHE;
    DbBlockGets | "db block gets" | CACHE;
    DbBlockGetsFromCache | "db block gets from cache" | CACHE;
    ConsistentGets | "consistent gets" | CACHE;
    ConsistentGetsFromCache | "consistent gets from cache" | CACHE;
    ConsistentGetsFromCacheFastpath | "consistent gets from cache (fastpath)" | CACHE;
    ConsistentGetsExamination | "consistent gets - examination" | CACHE;
    PhysicalReads | "physical reads" | CACHE;
    PhysicalReadsCache | "physical reads cache" | CACHE;
    PhysicalReadsDirect | "physical reads direct" | CACHE;
    PhysicalReadIoRequests | "physical read IO requests" | CACHE;
    PhysicalReadBytes | "physical read bytes" | CACHE;
    DbBlockChanges | "db block changes" | CACHE;
    ConsistentChanges | "consistent changes" | CACHE;
    PhysicalWrites | "physical writes" | CACHE;
    PhysicalWritesFromCache | "physical writes from cache" | CACHE;
    PhysicalWritesDirect | "physical writes direct" | CACHE;
    PhysicalWriteIoRequests | "physical write IO requests" | CACHE;
    PhysicalWriteBytes | "physical write bytes" | CACHE;
    PhysicalWritesNonCheckpoint | "physical writes non checkpoint" | CACHE;
    DbwrCheckpointBuffersWritten | "DBWR checkpoint buffers written" | CACHE;
    DbwrCheckpoints | "DBWR checkpoints" | CACHE;
    DbwrLruScans | "DBWR lru scans" | CACHE;
    DbwrMakeFreeRequests | "DBWR make free requests" | CACHE;
    DbwrUndoBlockWrites | "DBWR undo block writes" | CACHE;
    DbwrTransactionTableWrites | "DBWR transaction table writes" | CACHE;
    PrefetchedBlocks | "physical reads cache prefetch" | CACHE;
    FreeBufferRequested | "free buffer requested" | CACHE;
    DirtyBuffersInspected | "dirty buffers inspected" | CACHE;
    PinnedBuffersInspected | "pinned buffers inspected" | CACHE;
    HotBuffersMovedToHeadOfLru | "hot buffers moved to head of LRU" | CACHE;
    FreeBufferInspected | "free buffer inspected" | CACHE;
    BufferIsPinnedCount | "buffer is pinned count" | SQL;
    BufferIsNotPinnedCount | "buffer is not pinned count" | SQL;
    CrBlocksCreated | "CR blocks created" | CACHE;
    DataBlocksConsistentReadsUndoRecordsApplied | "data blocks consistent reads - undo records applied" | DEBUG;
    RollbackChangesUndoRecordsApplied | "rollback changes - undo records applied" | DEBUG;
    TransactionRollbacks | "transaction rollbacks" | DEBUG;
    DeferredCurrentBlockCleanoutApplications | "deferred (CURRENT) block cleanout applications" | DEBUG;
    CommitCleanouts | "commit cleanouts" | CACHE;
    CommitCleanoutsSuccessfullyCompleted | "commit cleanouts successfully completed" | CACHE;
    RedoEntries | "redo entries" | REDO;
    RedoSize | "redo size" | REDO;
    RedoBufferAllocationRetries | "redo buffer allocation retries" | REDO;
    RedoWastage | "redo wastage" | REDO;
    RedoWrites | "redo writes" | REDO;
    RedoBlocksWritten | "redo blocks written" | REDO;
    RedoWriteTime | "redo write time" | REDO;
    RedoLogSpaceRequests | "redo log space requests" | REDO;
    RedoLogSpaceWaitTime | "redo log space wait time" | REDO;
    RedoSynchWrites | "redo synch writes" | USER;
    RedoSynchTimeUsec | "redo synch time (usec)" | USER;
    UndoChangeVectorSize | "undo change vector size" | REDO;
    BackgroundCheckpointsStarted | "background checkpoints started" | CACHE;
    BackgroundCheckpointsCompleted | "background checkpoints completed" | CACHE;
    TableScanRowsGotten | "table scan rows gotten" | SQL;
    TableScanBlocksGotten | "table scan blocks gotten" | SQL;
    TableFetchByRowid | "table fetch by rowid" | SQL;
    TableFetchContinuedRow | "table fetch continued row" | SQL;
    LeafNodeSplits | "leaf node splits" | DEBUG;
    LeafNode9010Splits | "leaf node 90-10 splits" | DEBUG;
    BranchNodeSplits | "branch node splits" | DEBUG;
    RootNodeSplits | "root node splits" | DEBUG;
    IndexScansKdiixs1 | "index scans kdiixs1" | SQL;
    IndexFetchByKey | "index fetch by key" | SQL;
    SessionCursorCacheHits | "session cursor cache hits" | SQL;
    SessionCursorCacheCount | "session cursor cache count" | SQL;
    ParseTimeCpu | "parse time cpu" | SQL;
    ParseTimeElapsed | "parse time elapsed" | SQL;
    ParseCountTotal | "parse count (total)" | SQL;
    ParseCountHard | "parse count (hard)" | SQL;
    ParseCountFailures | "parse count (failures)" | SQL;
    ParseCountDescribe | "parse count (describe)" | SQL;
    ExecuteCount | "execute count" | SQL;
    SortsMemory | "sorts (memory)" | SQL;
    SortsDisk | "sorts (disk)" | SQL;
    SortsRows | "sorts (rows)" | SQL;
    WorkareaOptimal | "workarea executions - optimal" | SQL;
    WorkareaOnepass | "workarea executions - onepass" | SQL;
    WorkareaMultipass | "workarea executions - multipass" | SQL;
    RowCacheGets | "row cache gets" | CACHE;
    RowCacheMisses | "row cache misses" | CACHE;
    DeadProcessesCleanedUp | "dead processes cleaned up" | DEBUG;
    MicroUndoWordsRolledBack | "micro-undo words rolled back" | DEBUG;
    UserLogoutsCumulative | "user logouts cumulative" | USER;
    PhysicalReadsDirectTemporary | "physical reads direct temporary tablespace" | CACHE;
    PhysicalWritesDirectTemporary | "physical writes direct temporary tablespace" | CACHE;
    RedoWriteTimeUsec | "redo write time (usec)" | REDO;
    BytesSentToClient | "bytes sent via SQL*Net to client" | USER;
    BytesReceivedFromClient | "bytes received via SQL*Net from client" | USER;
    RoundtripsToClient | "SQL*Net roundtrips to/from client" | USER;
    QueriesParallelized | "queries parallelized" | PARALLEL;
    DfoTreesParallelized | "DFO trees parallelized" | PARALLEL;
    ParallelNotDowngraded | "Parallel operations not downgraded" | PARALLEL;
    ParallelDowngradedToSerial | "Parallel operations downgraded to serial" | PARALLEL;
    ParallelDowngraded75To99 | "Parallel operations downgraded 75 to 99 pct" | PARALLEL;
    ParallelDowngraded50To75 | "Parallel operations downgraded 50 to 75 pct" | PARALLEL;
    ParallelDowngraded25To50 | "Parallel operations downgraded 25 to 50 pct" | PARALLEL;
    ParallelDowngraded1To25 | "Parallel operations downgraded 1 to 25 pct" | PARALLEL;
    PxLocalMessagesSent | "PX local messages sent" | PARALLEL;
    PxLocalMessagesReceived | "PX local messages recv'd" | PARALLEL;
}

impl Stat {
    /// The number of statistics.
    pub const COUNT: usize = ROWS.len();

    /// All statistics in order of number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    /// The statistic with this number.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        ROWS.get(usize::try_from(number).ok()?).map(|row| row.0)
    }

    /// The statistic with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The column STATISTIC#.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The column NAME.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The column CLASS.
    #[must_use]
    pub fn class(self) -> StatClass {
        ROWS[self as usize].2
    }

    /// The column STAT_ID: a hash of the name, stable from release to release.
    #[must_use]
    pub fn id(self) -> u32 {
        crate::events::name_hash(self.name())
    }
}

/// Statistics shown in hundredths of a second. Their words hold microseconds, so sums over sessions are added before
/// they are rounded.
pub const CENTISECONDS: &[Stat] = &[
    Stat::CpuUsedWhenCallStarted,
    Stat::CpuUsedByThisSession,
    Stat::DbTime,
    Stat::NonIdleWaitTime,
    Stat::RedoWriteTime,
    Stat::RedoLogSpaceWaitTime,
    Stat::ParseTimeCpu,
    Stat::ParseTimeElapsed,
];

/// The statistics of one session: one writer, any number of readers; zero is the first value.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct StatLine {
    values: [AtomicU64; Stat::COUNT],
    /// The time model, in microseconds; see [`TimeStat`].
    times: [AtomicU64; TimeStat::COUNT],
    /// Monotonic nanoseconds when the session began; 0 for lines without a session.
    began_ns: AtomicU64,
    /// Processor time of the process when the session began and when the process ended; 0 while it is not known.
    began_cpu_ns: AtomicU64,
    ended_cpu_ns: AtomicU64,
    /// The stopwatches of the time model: execution for the client without parsing, parse calls, parse calls that make
    /// a shared cursor, logon. They run on the busy clock ([`crate::WaitSlot::busy_ns`]), except the last, `parse_cpu`,
    /// which runs on the processor time of the process.
    execute: Stopwatch,
    parse: Stopwatch,
    hard_parse: Stopwatch,
    connection: Stopwatch,
    parse_cpu: Stopwatch,
    /// 0 outside parse calls, 1 in a parse call, 2 in one that makes a shared cursor.
    parsing: AtomicU64,
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for StatLine {}

impl StatLine {
    /// Adds `n`. Only the owner of the line may call this: a plain load and store, no shared write.
    #[inline]
    pub fn add(&self, stat: Stat, n: u64) {
        let word = &self.values[stat as usize];
        word.store(word.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Subtracts `n`, for the statistics that go down (`opened cursors current`, invariant 2). Only the owner may call
    /// this.
    pub fn subtract(&self, stat: Stat, n: u64) {
        self.add(stat, n.wrapping_neg());
    }

    /// Sets the value. Only the owner may call this.
    pub fn set(&self, stat: Stat, value: u64) {
        self.values[stat as usize].store(value, Ordering::Relaxed);
    }

    /// Sets the statistics named `current` to zero when the session ends, so that they do not enter the sums of ended
    /// sessions.
    pub fn clear_current(&self) {
        for stat in [Stat::LogonsCurrent, Stat::OpenedCursorsCurrent, Stat::SessionCursorCacheCount] {
            self.set(stat, 0);
        }
    }

    /// The value now.
    #[must_use]
    #[inline]
    pub fn get(&self, stat: Stat) -> u64 {
        self.values[stat as usize].load(Ordering::Relaxed)
    }

    /// All words in order of number, for folding a line into another.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64; Stat::COUNT] {
        &self.values
    }

    /// The words of the time model in order, without the running stopwatches of a live session.
    #[must_use]
    pub fn time_words(&self) -> &[AtomicU64; TimeStat::COUNT] {
        &self.times
    }

    /// Adds microseconds. Only the owner of the line may call this.
    #[inline]
    pub fn add_time(&self, of: TimeStat, us: u64) {
        let word = &self.times[of as usize];
        word.store(word.load(Ordering::Relaxed).wrapping_add(us), Ordering::Relaxed);
    }

    /// The microseconds added so far.
    #[must_use]
    pub fn time(&self, of: TimeStat) -> u64 {
        self.times[of as usize].load(Ordering::Relaxed)
    }

    /// Begins a session at `now_ns`, whose process has used `cpu_ns` of processor time for earlier sessions. With
    /// `logs_on`, the logon lasts until [`Self::logged_on`].
    pub fn begin(&self, now_ns: u64, cpu_ns: u64, logs_on: bool) {
        self.began_cpu_ns.store(cpu_ns, Ordering::Relaxed);
        self.ended_cpu_ns.store(0, Ordering::Relaxed);
        let all = [&self.execute, &self.parse, &self.hard_parse, &self.connection, &self.parse_cpu];
        all.into_iter().for_each(Stopwatch::clear);
        if logs_on {
            self.connection.start(0);
        }
        self.parsing.store(0, Ordering::Relaxed);
        self.began_ns.store(now_ns.max(1), Ordering::Release); // pairs with the Acquire in `began_ns`
    }

    /// Ends the logon; `busy` is the busy clock. Only the owner may call this.
    pub fn logged_on(&self, busy: impl FnOnce() -> u64) {
        self.connection.stop(busy);
    }

    /// True during the logon.
    #[must_use]
    pub fn is_logging_on(&self) -> bool {
        self.connection.is_running()
    }

    /// Sets the stage of the parse call; see [`Self::parsing`]. Only the owner of the line may call this.
    #[inline]
    pub fn set_parsing(&self, stage: u64) {
        self.parsing.store(stage, Ordering::Relaxed);
    }

    /// 1 in a parse call, 2 in one that makes a shared cursor, 0 otherwise.
    #[must_use]
    pub fn parsing(&self) -> u64 {
        self.parsing.load(Ordering::Relaxed)
    }

    /// When the session began; 0 for a line without a session.
    #[must_use]
    pub fn began_ns(&self) -> u64 {
        self.began_ns.load(Ordering::Acquire) // pairs with the Release in `begin`
    }

    /// Sets the processor time that the process had used when it ended.
    pub fn set_ended_cpu(&self, ns: u64) {
        self.ended_cpu_ns.store(ns.max(1), Ordering::Relaxed);
    }

    /// Processor time of the session in nanoseconds: `of_process` (that of its process so far) or, after the end of the
    /// process, its final value, less the value at the beginning of the session.
    #[must_use]
    pub fn cpu_ns(&self, of_process: Option<u64>) -> Option<u64> {
        let ended = Some(self.ended_cpu_ns.load(Ordering::Relaxed)).filter(|ns| *ns > 0);
        Some(ended.or(of_process)?.saturating_sub(self.began_cpu_ns.load(Ordering::Relaxed)))
    }

    /// The word of [`Self::began_ns`], for folding.
    #[must_use]
    pub fn began_word(&self) -> &AtomicU64 {
        &self.began_ns
    }

    /// Begins an execution for the client at `busy_ns` on the busy clock. Only the owner may call this.
    pub fn begin_call(&self, busy_ns: u64) {
        self.execute.start(busy_ns);
    }

    /// Ends the execution; `busy` is the busy clock. Only the owner may call this.
    pub fn end_call(&self, busy: impl FnOnce() -> u64) {
        self.execute.stop(busy);
    }

    /// Begins a parse call. Parse time does not count in the execution around it. Only the owner may call this.
    pub fn begin_parse(&self, busy: impl FnOnce() -> u64) -> ParseBegan {
        let executes = self.execute.is_running();
        let at_ns = self.execute.stop(busy);
        self.parse.start(at_ns);
        ParseBegan { executes, at_ns }
    }

    /// Marks the parse call as hard from its beginning: it makes a shared cursor. `cpu` gives the processor time of the
    /// session when the call began. Only the owner may call this.
    pub fn parse_is_hard(&self, began: ParseBegan, cpu: impl FnOnce() -> u64) {
        self.hard_parse.start(began.at_ns);
        if !self.parse_cpu.is_running() {
            self.parse_cpu.start(cpu());
        }
    }

    /// Ends the parse call. A hard parse reads `cpu`, the clock of the session's processor time; for a soft parse
    /// `used` estimates the processor time from the elapsed time. Only the owner may call this.
    pub fn end_parse(
        &self,
        began: ParseBegan,
        has_failed: bool,
        busy: impl Fn() -> u64,
        cpu: impl FnOnce() -> u64,
        used: impl FnOnce(u64) -> u64,
    ) {
        // The part stops before the whole, and each reads the clock itself: a reader may already have seen a stopwatch
        // run past a moment that was read earlier.
        if self.hard_parse.is_running() {
            self.hard_parse.stop(&busy);
        }
        let at_ns = self.parse.stop(busy);
        match self.parse_cpu.is_running() {
            true => _ = self.parse_cpu.stop(cpu),
            false => self.parse_cpu.add(used(at_ns.saturating_sub(began.at_ns))),
        }
        if has_failed {
            self.add_time(TimeStat::FailedParse, at_ns.saturating_sub(began.at_ns) / 1000);
        }
        if began.executes {
            self.execute.start(at_ns);
        }
    }

    /// Writes the values of the stopwatches into the time model, in microseconds. Any process may call this for any
    /// session; no figure ever decreases.
    pub fn read_times(&self, times: &mut [u64; TimeStat::COUNT], busy: impl Fn() -> u64, cpu: impl Fn() -> u64) {
        let mut put = |stat: TimeStat, ns: u64| times[stat as usize] = ns / 1000;
        put(TimeStat::SqlExecute, self.execute.read(&busy));
        // The part is read before the whole, so that it is not larger than the whole.
        put(TimeStat::HardParse, self.hard_parse.read(&busy));
        let used_ns = self.parse_cpu.read(cpu);
        let parsed_ns = self.parse.read(&busy);
        put(TimeStat::Parse, parsed_ns);
        // The two clocks are not read at one moment.
        put(TimeStat::ParseCpu, used_ns.min(parsed_ns));
        put(TimeStat::Connection, self.connection.read(busy));
    }
}

/// The beginning of a parse call.
#[derive(Clone, Copy, Debug)]
pub struct ParseBegan {
    /// True when the session was executing.
    executes: bool,
    /// The moment on the busy clock.
    at_ns: u64,
}

impl ParseBegan {
    /// The moment on the busy clock.
    #[must_use]
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_ids_are_unique_and_numbers_are_places() {
        let names: BTreeSet<_> = Stat::all().map(Stat::name).collect();
        let ids: BTreeSet<_> = Stat::all().map(Stat::id).collect();
        assert_eq!((names.len(), ids.len()), (Stat::COUNT, Stat::COUNT));
        for (n, stat) in Stat::all().enumerate() {
            assert_eq!(stat as usize, n);
            assert_eq!(Stat::named(stat.name()), Some(stat));
        }
    }

    #[test]
    fn no_figure_shrinks_at_any_step_of_a_call() {
        let lines: &'static [StatLine] = os::memory::shared_slice(1).expect("memory");
        let line = &lines[0];
        let over = std::sync::atomic::AtomicBool::new(false);
        let clock = os::clock::now_ns;
        line.begin(clock(), 0, false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = [0; TimeStat::COUNT];
                    while !over.load(Ordering::Relaxed) {
                        // In nanoseconds, so that rounding hides nothing.
                        let mut now = [0; TimeStat::COUNT];
                        line.read_times(&mut now, || clock() * 1000, || clock() * 1000);
                        assert!(now.iter().zip(last).all(|(now, last)| *now >= last), "{last:?} {now:?}");
                        let of = |stat: TimeStat| now[stat as usize];
                        assert!(of(TimeStat::HardParse) <= of(TimeStat::Parse), "{now:?}");
                        last = now;
                    }
                });
            }
            let busy = || clock() * 1000;
            for _ in 0..50_000 {
                line.begin_call(busy());
                let began = line.begin_parse(busy);
                line.parse_is_hard(began, || began.at_ns());
                line.end_parse(began, false, busy, busy, |took| took);
                let soft = line.begin_parse(busy);
                line.end_parse(soft, false, busy, busy, |took| took);
                line.end_call(busy);
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
