//! The list of metrics: Oracle's numbers, names and units, for the metrics that can be computed from the statistics.
//!
//! A hit ratio without accesses is 100; any other share of nothing is 0. A rate by transaction or call divides by at
//! least one.

use super::span::Span;
use How::*;
use wait::{Stat, TimeStat};

/// A group of metrics with intervals of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `System Metrics Long Duration`, a minute.
    Long = 2,
    /// `System Metrics Short Duration`, fifteen seconds.
    Short = 3,
}

/// The computation of a metric.
enum How {
    PerSecond(Stat),
    PerTransaction(Stat),
    PerCall(Stat),
    /// The value at the end, not a rate.
    AtEnd(Stat),
    By(fn(&Span<'_>) -> f64),
}

/// A metric.
pub struct Metric {
    pub id: u32,
    pub name: &'static str,
    pub unit: &'static str,
    /// Whether the metric is in the short group, too.
    pub is_short: bool,
    how: How,
}

impl Metric {
    /// Its value between two moments.
    pub fn value(&self, s: &Span<'_>) -> f64 {
        match self.how {
            PerSecond(stat) => s.added(stat) / s.seconds(),
            PerTransaction(stat) => s.added(stat) / s.transactions().max(1.0),
            PerCall(stat) => s.added(stat) / s.added(Stat::UserCalls).max(1.0),
            AtEnd(stat) => s.at_end(stat),
            By(compute) => compute(s),
        }
    }
}

const MEGABYTE: f64 = 1_048_576.0;

/// The share of hits in all accesses, in per cent.
fn hits(missed: f64, all: f64) -> f64 {
    if all <= 0.0 { 100.0 } else { (100.0 * (1.0 - missed / all)).max(0.0) }
}

fn percent(part: f64, all: f64) -> f64 {
    if all <= 0.0 { 0.0 } else { 100.0 * part / all }
}

fn each(sum: f64, of: f64) -> f64 {
    if of <= 0.0 { 0.0 } else { sum / of }
}

fn buffer_hit(s: &Span<'_>) -> f64 {
    let gets = s.added(Stat::ConsistentGetsFromCache) + s.added(Stat::DbBlockGetsFromCache);
    hits(s.added(Stat::PhysicalReadsCache), gets)
}

fn memory_sorts(s: &Span<'_>) -> f64 {
    hits(s.added(Stat::SortsDisk), s.added(Stat::SortsMemory) + s.added(Stat::SortsDisk))
}

fn host_cpu(s: &Span<'_>) -> f64 {
    let busy = s.to.host_cs.0.saturating_sub(s.from.host_cs.0) as f64;
    percent(busy, busy + s.to.host_cs.1.saturating_sub(s.from.host_cs.1) as f64)
}

fn waited_us(s: &Span<'_>) -> f64 {
    s.to.waited_us.saturating_sub(s.from.waited_us) as f64
}

fn library_misses(s: &Span<'_>) -> f64 {
    let added = |n: usize| s.to.library[n].saturating_sub(s.from.library[n]) as f64;
    percent((added(2) - added(3)).max(0.0), added(2))
}

fn single_reads(s: &Span<'_>) -> f64 {
    let (waits, us) = (s.to.single_reads.0, s.to.single_reads.1);
    let (waits_before, us_before) = s.from.single_reads;
    each(us.saturating_sub(us_before) as f64 / 1e3, waits.saturating_sub(waits_before) as f64)
}

const fn long(id: u32, name: &'static str, unit: &'static str, how: How) -> Metric {
    Metric { id, name, unit, is_short: false, how }
}

const fn both(id: u32, name: &'static str, unit: &'static str, how: How) -> Metric {
    Metric { id, name, unit, is_short: true, how }
}

/// All metrics, by number.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    both(2000, "Buffer Cache Hit Ratio", "% (LogRead - PhyRead)/LogRead", By(buffer_hit)),
    both(2001, "Memory Sorts Ratio", "% MemSort/(MemSort + DiskSort)", By(memory_sorts)),
    long(2002, "Redo Allocation Hit Ratio", "% (#Redo - RedoSpaceReq)/#Redo", By(|s| hits(s.added(Stat::RedoLogSpaceRequests), s.added(Stat::RedoEntries)))),
    both(2003, "User Transaction Per Sec", "Transactions Per Second", By(|s| s.transactions() / s.seconds())),
    both(2004, "Physical Reads Per Sec", "Reads Per Second", PerSecond(Stat::PhysicalReads)),
    long(2005, "Physical Reads Per Txn", "Reads Per Txn", PerTransaction(Stat::PhysicalReads)),
    both(2006, "Physical Writes Per Sec", "Writes Per Second", PerSecond(Stat::PhysicalWrites)),
    long(2007, "Physical Writes Per Txn", "Writes Per Txn", PerTransaction(Stat::PhysicalWrites)),
    long(2008, "Physical Reads Direct Per Sec", "Reads Per Second", PerSecond(Stat::PhysicalReadsDirect)),
    long(2009, "Physical Reads Direct Per Txn", "Reads Per Txn", PerTransaction(Stat::PhysicalReadsDirect)),
    long(2010, "Physical Writes Direct Per Sec", "Writes Per Second", PerSecond(Stat::PhysicalWritesDirect)),
    long(2011, "Physical Writes Direct Per Txn", "Writes Per Txn", PerTransaction(Stat::PhysicalWritesDirect)),
    both(2016, "Redo Generated Per Sec", "Bytes Per Second", PerSecond(Stat::RedoSize)),
    long(2017, "Redo Generated Per Txn", "Bytes Per Txn", PerTransaction(Stat::RedoSize)),
    both(2018, "Logons Per Sec", "Logons Per Second", PerSecond(Stat::LogonsCumulative)),
    long(2019, "Logons Per Txn", "Logons Per Txn", PerTransaction(Stat::LogonsCumulative)),
    long(2020, "Open Cursors Per Sec", "Cursors Per Second", PerSecond(Stat::OpenedCursorsCumulative)),
    long(2021, "Open Cursors Per Txn", "Cursors Per Txn", PerTransaction(Stat::OpenedCursorsCumulative)),
    long(2022, "User Commits Per Sec", "Commits Per Second", PerSecond(Stat::UserCommits)),
    long(2023, "User Commits Percentage", "% (UserCommit/TotalUserTxn)", By(|s| percent(s.added(Stat::UserCommits), s.transactions()))),
    long(2024, "User Rollbacks Per Sec", "Rollbacks Per Second", PerSecond(Stat::UserRollbacks)),
    long(2025, "User Rollbacks Percentage", "% (UserRollback/TotalUserTxn)", By(|s| percent(s.added(Stat::UserRollbacks), s.transactions()))),
    both(2026, "User Calls Per Sec", "Calls Per Second", PerSecond(Stat::UserCalls)),
    long(2027, "User Calls Per Txn", "Calls Per Txn", PerTransaction(Stat::UserCalls)),
    long(2028, "Recursive Calls Per Sec", "Calls Per Second", PerSecond(Stat::RecursiveCalls)),
    long(2029, "Recursive Calls Per Txn", "Calls Per Txn", PerTransaction(Stat::RecursiveCalls)),
    both(2030, "Logical Reads Per Sec", "Reads Per Second", PerSecond(Stat::SessionLogicalReads)),
    long(2031, "Logical Reads Per Txn", "Reads Per Txn", PerTransaction(Stat::SessionLogicalReads)),
    long(2032, "DBWR Checkpoints Per Sec", "Check Points Per Second", PerSecond(Stat::DbwrCheckpoints)),
    long(2033, "Background Checkpoints Per Sec", "Check Points Per Second", PerSecond(Stat::BackgroundCheckpointsCompleted)),
    long(2034, "Redo Writes Per Sec", "Writes Per Second", PerSecond(Stat::RedoWrites)),
    long(2035, "Redo Writes Per Txn", "Writes Per Txn", PerTransaction(Stat::RedoWrites)),
    both(2044, "Total Parse Count Per Sec", "Parses Per Second", PerSecond(Stat::ParseCountTotal)),
    long(2045, "Total Parse Count Per Txn", "Parses Per Txn", PerTransaction(Stat::ParseCountTotal)),
    both(2046, "Hard Parse Count Per Sec", "Parses Per Second", PerSecond(Stat::ParseCountHard)),
    long(2047, "Hard Parse Count Per Txn", "Parses Per Txn", PerTransaction(Stat::ParseCountHard)),
    long(2048, "Parse Failure Count Per Sec", "Parses Per Second", PerSecond(Stat::ParseCountFailures)),
    long(2049, "Parse Failure Count Per Txn", "Parses Per Txn", PerTransaction(Stat::ParseCountFailures)),
    long(2050, "Cursor Cache Hit Ratio", "% CursorCacheHit/SoftParse", By(|s| percent(s.added(Stat::SessionCursorCacheHits), s.added(Stat::ParseCountTotal) - s.added(Stat::ParseCountHard)))),
    long(2051, "Disk Sort Per Sec", "Sorts Per Second", PerSecond(Stat::SortsDisk)),
    long(2052, "Disk Sort Per Txn", "Sorts Per Txn", PerTransaction(Stat::SortsDisk)),
    long(2053, "Rows Per Sort", "Rows Per Sort", By(|s| each(s.added(Stat::SortsRows), s.added(Stat::SortsMemory) + s.added(Stat::SortsDisk)))),
    both(2054, "Execute Without Parse Ratio", "% (ExecWOParse/TotalExec)", By(|s| hits(s.added(Stat::ParseCountTotal), s.added(Stat::ExecuteCount)))),
    both(2055, "Soft Parse Ratio", "% SoftParses/TotalParses", By(|s| hits(s.added(Stat::ParseCountHard), s.added(Stat::ParseCountTotal)))),
    long(2056, "User Calls Ratio", "% UserCalls/AllCalls", By(|s| percent(s.added(Stat::UserCalls), s.added(Stat::UserCalls) + s.added(Stat::RecursiveCalls)))),
    both(2057, "Host CPU Utilization (%)", "% Busy/(Idle+Busy)", By(host_cpu)),
    long(2059, "Enqueue Timeouts Per Sec", "Timeouts Per Second", PerSecond(Stat::EnqueueTimeouts)),
    long(2060, "Enqueue Timeouts Per Txn", "Timeouts Per Txn", PerTransaction(Stat::EnqueueTimeouts)),
    long(2061, "Enqueue Waits Per Sec", "Waits Per Second", PerSecond(Stat::EnqueueWaits)),
    long(2062, "Enqueue Waits Per Txn", "Waits Per Txn", PerTransaction(Stat::EnqueueWaits)),
    long(2063, "Enqueue Deadlocks Per Sec", "Deadlocks Per Second", PerSecond(Stat::EnqueueDeadlocks)),
    long(2064, "Enqueue Deadlocks Per Txn", "Deadlocks Per Txn", PerTransaction(Stat::EnqueueDeadlocks)),
    long(2065, "Enqueue Requests Per Sec", "Requests Per Second", PerSecond(Stat::EnqueueRequests)),
    long(2066, "Enqueue Requests Per Txn", "Requests Per Txn", PerTransaction(Stat::EnqueueRequests)),
    both(2067, "DB Block Gets Per Sec", "Blocks Per Second", PerSecond(Stat::DbBlockGets)),
    long(2068, "DB Block Gets Per Txn", "Blocks Per Txn", PerTransaction(Stat::DbBlockGets)),
    both(2069, "Consistent Read Gets Per Sec", "Blocks Per Second", PerSecond(Stat::ConsistentGets)),
    long(2070, "Consistent Read Gets Per Txn", "Blocks Per Txn", PerTransaction(Stat::ConsistentGets)),
    both(2071, "DB Block Changes Per Sec", "Blocks Per Second", PerSecond(Stat::DbBlockChanges)),
    long(2072, "DB Block Changes Per Txn", "Blocks Per Txn", PerTransaction(Stat::DbBlockChanges)),
    long(2073, "Consistent Read Changes Per Sec", "Blocks Per Second", PerSecond(Stat::ConsistentChanges)),
    long(2074, "Consistent Read Changes Per Txn", "Blocks Per Txn", PerTransaction(Stat::ConsistentChanges)),
    both(2075, "CPU Usage Per Sec", "CentiSeconds Per Second", By(|s| s.time_us(TimeStat::DbCpu) / 1e4 / s.seconds())),
    long(2076, "CPU Usage Per Txn", "CentiSeconds Per Txn", By(|s| s.time_us(TimeStat::DbCpu) / 1e4 / s.transactions().max(1.0))),
    long(2077, "CR Blocks Created Per Sec", "Blocks Per Second", PerSecond(Stat::CrBlocksCreated)),
    long(2078, "CR Blocks Created Per Txn", "Blocks Per Txn", PerTransaction(Stat::CrBlocksCreated)),
    long(2079, "CR Undo Records Applied Per Sec", "Undo Records Per Second", PerSecond(Stat::DataBlocksConsistentReadsUndoRecordsApplied)),
    long(2080, "CR Undo Records Applied Per Txn", "Undo Records Per Txn", PerTransaction(Stat::DataBlocksConsistentReadsUndoRecordsApplied)),
    long(2081, "User Rollback UndoRec Applied Per Sec", "Records Per Second", PerSecond(Stat::RollbackChangesUndoRecordsApplied)),
    long(2082, "User Rollback Undo Records Applied Per Txn", "Records Per Txn", PerTransaction(Stat::RollbackChangesUndoRecordsApplied)),
    long(2083, "Leaf Node Splits Per Sec", "Splits Per Second", PerSecond(Stat::LeafNodeSplits)),
    long(2084, "Leaf Node Splits Per Txn", "Splits Per Txn", PerTransaction(Stat::LeafNodeSplits)),
    long(2085, "Branch Node Splits Per Sec", "Splits Per Second", PerSecond(Stat::BranchNodeSplits)),
    long(2086, "Branch Node Splits Per Txn", "Splits Per Txn", PerTransaction(Stat::BranchNodeSplits)),
    long(2092, "Physical Read Total IO Requests Per Sec", "Requests Per Second", PerSecond(Stat::PhysicalReadTotalIoRequests)),
    long(2093, "Physical Read Total Bytes Per Sec", "Bytes Per Second", PerSecond(Stat::PhysicalReadTotalBytes)),
    long(2100, "Physical Write Total IO Requests Per Sec", "Requests Per Second", PerSecond(Stat::PhysicalWriteTotalIoRequests)),
    long(2103, "Current Logons Count", "Logons", AtEnd(Stat::LogonsCurrent)),
    long(2104, "Current Open Cursors Count", "Cursors", AtEnd(Stat::OpenedCursorsCurrent)),
    long(2106, "SQL Service Response Time", "CentiSeconds Per Call", By(|s| each(s.time_us(TimeStat::DbTime) / 1e4, s.added(Stat::UserCalls)))),
    long(2107, "Database Wait Time Ratio", "% Wait/DB_Time", By(|s| percent(waited_us(s), s.time_us(TimeStat::DbTime)).min(100.0))),
    both(2108, "Database CPU Time Ratio", "% Cpu/DB_Time", By(|s| percent(s.time_us(TimeStat::DbCpu), s.time_us(TimeStat::DbTime)).min(100.0))),
    long(2109, "Response Time Per Txn", "CentiSeconds Per Txn", By(|s| s.time_us(TimeStat::DbTime) / 1e4 / s.transactions().max(1.0))),
    long(2110, "Row Cache Hit Ratio", "% Hits/Gets", By(|s| hits(s.added(Stat::RowCacheMisses), s.added(Stat::RowCacheGets)))),
    long(2111, "Row Cache Miss Ratio", "% Misses/Gets", By(|s| percent(s.added(Stat::RowCacheMisses), s.added(Stat::RowCacheGets)))),
    both(2112, "Library Cache Hit Ratio", "% Hits/Pins", By(|s| 100.0 - library_misses(s))),
    long(2113, "Library Cache Miss Ratio", "% Misses/Gets", By(library_misses)),
    long(2118, "Process Limit %", "% Processes/Limit", By(|s| percent(s.to.processes as f64, s.to.processes_max as f64))),
    long(2119, "Session Limit %", "% Sessions/Limit", By(|s| percent(s.to.processes as f64, s.to.sessions_max as f64))),
    long(2120, "Executions Per Txn", "Executes Per Txn", PerTransaction(Stat::ExecuteCount)),
    both(2121, "Executions Per Sec", "Executes Per Second", PerSecond(Stat::ExecuteCount)),
    long(2122, "Txns Per Logon", "Txns Per Logon", By(|s| s.transactions() / s.added(Stat::LogonsCumulative).max(1.0))),
    both(2123, "Database Time Per Sec", "CentiSeconds Per Second", By(|s| s.time_us(TimeStat::DbTime) / 1e4 / s.seconds())),
    long(2124, "Physical Write Total Bytes Per Sec", "Bytes Per Second", PerSecond(Stat::PhysicalWriteTotalBytes)),
    long(2125, "Physical Read IO Requests Per Sec", "Requests Per Second", PerSecond(Stat::PhysicalReadIoRequests)),
    long(2126, "Physical Read Bytes Per Sec", "Bytes Per Second", PerSecond(Stat::PhysicalReadBytes)),
    long(2127, "Physical Write IO Requests Per Sec", "Requests Per Second", PerSecond(Stat::PhysicalWriteIoRequests)),
    long(2128, "Physical Write Bytes Per Sec", "Bytes Per Second", PerSecond(Stat::PhysicalWriteBytes)),
    long(2129, "DB Block Changes Per User Call", "Blocks Per Call", PerCall(Stat::DbBlockChanges)),
    long(2130, "DB Block Gets Per User Call", "Blocks Per Call", PerCall(Stat::DbBlockGets)),
    long(2131, "Executions Per User Call", "Executes Per Call", PerCall(Stat::ExecuteCount)),
    long(2132, "Logical Reads Per User Call", "Reads Per Call", PerCall(Stat::SessionLogicalReads)),
    long(2133, "Total Sorts Per User Call", "Sorts Per Call", By(|s| (s.added(Stat::SortsMemory) + s.added(Stat::SortsDisk)) / s.added(Stat::UserCalls).max(1.0))),
    long(2135, "Current OS Load", "Number Of Processes", By(|s| s.to.load)),
    long(2143, "Session Count", "Sessions", By(|s| s.to.processes as f64)),
    both(2144, "Average Synchronous Single-Block Read Latency", "Milliseconds", By(single_reads)),
    both(2145, "I/O Megabytes per Second", "Megabytes per Second", By(|s| (s.added(Stat::PhysicalReadTotalBytes) + s.added(Stat::PhysicalWriteTotalBytes)) / MEGABYTE / s.seconds())),
    both(2146, "I/O Requests per Second", "Requests per Second", By(|s| (s.added(Stat::PhysicalReadTotalIoRequests) + s.added(Stat::PhysicalWriteTotalIoRequests)) / s.seconds())),
    both(2147, "Average Active Sessions", "Active Sessions", By(|s| s.time_us(TimeStat::DbTime) / 1e6 / s.seconds())),
    long(2153, "Background CPU Usage Per Sec", "CentiSeconds Per Second", By(|s| s.time_us(TimeStat::BackgroundCpu) / 1e4 / s.seconds())),
    long(2154, "Background Time Per Sec", "Active Sessions", By(|s| s.time_us(TimeStat::BackgroundElapsed) / 1e6 / s.seconds())),
    long(2155, "Host CPU Usage Per Sec", "CentiSeconds Per Second", By(|s| s.to.host_cs.0.saturating_sub(s.from.host_cs.0) as f64 / s.seconds())),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::span::Totals;

    fn totals(at_s: u64, stats: &[(Stat, u64)]) -> Totals {
        let mut t = Totals { at_ns: at_s * 1_000_000_000, ..Totals::default() };
        t.stats = vec![0; Stat::COUNT];
        t.times = vec![0; TimeStat::COUNT];
        stats.iter().for_each(|(stat, n)| t.stats[*stat as usize] = *n);
        t
    }

    fn value(name: &str, from: &Totals, to: &Totals) -> f64 {
        METRICS.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("{name}")).value(&Span { from, to })
    }

    #[test]
    fn rates_are_by_second_transaction_and_call() {
        let from = totals(10, &[(Stat::RedoSize, 500), (Stat::UserCommits, 1)]);
        let mut to = totals(
            70,
            &[
                (Stat::RedoSize, 6500),
                (Stat::UserCommits, 4),
                (Stat::UserRollbacks, 1),
                (Stat::UserCalls, 20),
                (Stat::ExecuteCount, 40),
                (Stat::LogonsCurrent, 7),
            ],
        );
        assert_eq!(value("Redo Generated Per Sec", &from, &to), 100.0);
        assert_eq!(value("Redo Generated Per Txn", &from, &to), 1500.0);
        assert_eq!(value("User Transaction Per Sec", &from, &to), 4.0 / 60.0);
        assert_eq!(value("User Commits Percentage", &from, &to), 75.0);
        assert_eq!(value("Executions Per User Call", &from, &to), 2.0);
        assert_eq!(value("Current Logons Count", &from, &to), 7.0);
        // Nothing was parsed, got or sorted: nothing was missed.
        assert_eq!(value("Soft Parse Ratio", &from, &to), 100.0);
        assert_eq!(value("Buffer Cache Hit Ratio", &from, &to), 100.0);
        // A statistic that decreases, because sessions are summed one after the other.
        assert_eq!(value("Redo Generated Per Sec", &to, &from), 0.0);
        to.times[TimeStat::DbTime as usize] = 30_000_000;
        to.times[TimeStat::DbCpu as usize] = 12_000_000;
        assert_eq!(value("Average Active Sessions", &from, &to), 0.5);
        assert_eq!(value("Database Time Per Sec", &from, &to), 50.0);
        assert_eq!(value("CPU Usage Per Sec", &from, &to), 20.0);
        assert_eq!(value("Database CPU Time Ratio", &from, &to), 40.0);
    }

    #[test]
    fn numbers_and_names_are_unique_and_in_order() {
        assert!(METRICS.windows(2).all(|pair| pair[0].id < pair[1].id));
        let names: std::collections::HashSet<_> = METRICS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), METRICS.len());
        assert!(METRICS.iter().any(|m| m.is_short) && METRICS.iter().any(|m| !m.is_short));
    }
}
