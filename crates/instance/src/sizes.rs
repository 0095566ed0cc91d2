//! The sizes of the instance's structures, derived from init parameters.
//!
//! Memory that is reserved and not used costs nothing (the mapping is filled page by page), so the defaults are roomy;
//! `v$parameter` and `v$sgastat` show the chosen sizes.

use params::{InitParams, Param};
use types::{Ora, Result};

const MB: u64 = 1 << 20;

/// The default size of the buffer cache.
const DEFAULT_CACHE_BYTES: u64 = 128 * MB;

/// The default size of the shared pool.
const DEFAULT_POOL_BYTES: u64 = 256 * MB;

/// The default size of the log buffer.
const DEFAULT_LOG_BUFFER_BYTES: u64 = 4 * MB;

/// Process slots that the background processes need, job slaves not counted.
pub const BACKGROUND_PROCESSES: usize = 9;

/// The sizes of the instance's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Process slots.
    pub processes: usize,
    pub sessions: usize,
    pub block_size: usize,
    pub buffers: usize,
    /// The most working sets of the buffer cache.
    pub working_sets: usize,
    /// DBWn processes.
    pub db_writers: usize,
    pub pool_bytes: u64,
    pub result_cache_bytes: u64,
    /// Statements for which the library cache has room.
    pub statements: usize,
    /// Rows for which the row cache has room.
    pub row_cache_objects: usize,
    pub row_cache_hot_copies: usize,
    pub row_cache_hot_copy_sleep_limit: u64,
    pub log_buffer_bytes: u64,
    pub enqueue_resources: usize,
    pub enqueue_locks: usize,
    /// The most undo segments online: one for each concurrent transaction, within the limits of an undo tablespace.
    pub undo_segments_online_max: usize,
    pub distributed_lock_timeout_s: u32,
    pub transactions_per_segment: usize,
}

/// Process slots beyond `processes` for the supervisor's own work at a stop, when every other slot may be taken
/// (invariant 4).
const SPARE_SLOTS: usize = 2;

/// Process slots beyond `processes` that only the owner of the instance may take, as SYSDBA over the local socket
/// (invariant 4).
const OWNER_SLOTS: usize = 4;

/// The process slots of an instance with this value of `processes`.
pub(crate) fn slots(processes: usize) -> usize {
    processes + OWNER_SLOTS + SPARE_SLOTS
}

/// The most memory of the rings of recordings, of all processes together, unless their size was given.
const RECORDING_BYTES: u64 = 8 * MB;
/// Smaller rings have no room for the calls of most loads.
const RECORDING_RING_MIN: u64 = 4 << 10;

/// Undo segments of a new undo tablespace.
pub(crate) const UNDO_SEGMENTS: usize = 16;

/// The most undo segments of an undo tablespace. No parameter changes it: the numbers of a tablespace's segments follow
/// from it.
pub(crate) const UNDO_SEGMENTS_MAX: usize = 128;

/// Transactions for which an undo segment has room; with 2 KB blocks fewer fit into its header.
const TRANSACTIONS_PER_SEGMENT: usize = 96;

impl Sizes {
    /// Process slots in the SGA.
    pub fn slots(&self) -> usize {
        slots(self.processes)
    }

    /// Process slots that the owner of the instance may take.
    pub fn owner_slots(&self) -> usize {
        self.processes + OWNER_SLOTS
    }

    /// Derives the sizes and writes derived parameter values back.
    ///
    /// # Errors
    /// ORA-00374 for an invalid block size, ORA-00068 for a cache of fewer than 32 buffers.
    pub fn derive(params: &mut InitParams) -> Result<Sizes> {
        let block_size = block_size(params)?;
        let buffers = buffers(params, block_size)?;
        let pool_bytes = match params.number(Param::SharedPoolSize) as u64 {
            0 => pool_default(params),
            n => n,
        };
        let processes = params.number(Param::Processes) as usize;
        let sessions = match params.number(Param::Sessions) as usize {
            0 => processes * 3 / 2 + 22,
            n => n.max(processes),
        };
        let result_cache_bytes = result_cache(params, pool_bytes);
        let transactions = match params.number(Param::Transactions) as usize {
            0 => sessions * 11 / 10,
            n => n,
        };
        let db_writers = writers(params, processes);
        let sizes = Sizes {
            processes,
            sessions,
            block_size,
            buffers,
            working_sets: working_sets(params, buffers).max(db_writers),
            db_writers,
            pool_bytes,
            result_cache_bytes,
            statements: statements_of(pool_bytes),
            row_cache_objects: match params.number(Param::RowCacheObjects) as usize {
                0 => (pool_bytes / (4 << 10)).clamp(2048, 262_144) as usize,
                n => n,
            },
            row_cache_hot_copies: match params.number(Param::RowCacheHotCopies) as usize {
                0 => cpus(params).clamp(2, 16),
                n => n,
            },
            row_cache_hot_copy_sleep_limit: params.number(Param::RowCacheHotCopySleepLimit) as u64,
            log_buffer_bytes: log_buffer(params, block_size),
            enqueue_resources: (processes * 24).max(2048),
            enqueue_locks: (processes * 32).max(4096),
            undo_segments_online_max: transactions.clamp(UNDO_SEGMENTS, UNDO_SEGMENTS_MAX),
            distributed_lock_timeout_s: params.number(Param::DistributedLockTimeout) as u32,
            // No parameter changes it: the undo headers of a database are made with it, and every start needs all of
            // their slots.
            transactions_per_segment: block::undo::slots_max(block_size).min(TRANSACTIONS_PER_SEGMENT),
        };
        sizes.write_back(params, transactions);
        Ok(sizes)
    }

    /// The default of `pga_aggregate_limit`: the largest of 2 GB, twice the target and 3 MB a process, but no more than
    /// nine tenths of the memory that the SGA leaves, and no less than the target.
    #[must_use]
    pub fn pga_limit(&self, target: u64) -> u64 {
        let sga = (self.buffers * self.block_size) as u64 + self.pool_bytes + self.log_buffer_bytes;
        pga_limit_in(os::proc::memory_limit_bytes().saturating_sub(sga), target, self.processes as u64)
    }

    /// Gives the rest of `sga_target` to the buffer cache, unless its size was given. `total` computes the bytes of an
    /// SGA with certain sizes.
    pub fn fill_target(&mut self, params: &mut InitParams, total: &dyn Fn(&Sizes) -> u64) {
        let target = params.number(Param::SgaTarget) as u64;
        let given = params.number(Param::DbBlockBuffers) > 0 || !params.is_default(Param::DbCacheSize);
        if target == 0 || given {
            return;
        }
        let least = self.buffers;
        // A buffer's header and its share of the hash table and of the latches need no more than 256 bytes.
        let each = self.block_size as u64 + 256;
        self.buffers += (target.saturating_sub(total(self)) / each) as usize;
        let over = total(self).saturating_sub(target);
        self.buffers =
            (self.buffers - over.div_ceil(self.block_size as u64).min(self.buffers as u64) as usize).max(least);
        params.derive(Param::DbCacheSize, (self.buffers * self.block_size) as u64);
    }

    /// The default size of the ring in which a session records latch gets: that of the list, less where rings for all
    /// processes would be large, and none where little is left.
    fn recording_ring_bytes(&self, params: &InitParams) -> u64 {
        let share = RECORDING_BYTES / self.slots() as u64 / 1024 * 1024;
        let bytes = share.min(params.number(Param::LatchRecordingSize).max(0) as u64);
        if bytes < RECORDING_RING_MIN { 0 } else { bytes }
    }

    fn write_back(&self, params: &mut InitParams, transactions: usize) {
        params.derive(Param::Sessions, self.sessions);
        params.derive(Param::DbWriterProcesses, self.db_writers);
        params.derive(Param::Transactions, transactions);
        params.derive(Param::DbCacheSize, (self.buffers * self.block_size) as u64);
        params.derive(Param::SharedPoolSize, self.pool_bytes);
        params.derive(Param::ResultCacheMaxSize, self.result_cache_bytes);
        params.derive(Param::LogBuffer, self.log_buffer_bytes);
        if params.is_default(Param::PgaAggregateLimit) {
            let limit = self.pga_limit(params.number(Param::PgaAggregateTarget) as u64);
            params.derive(Param::PgaAggregateLimit, limit);
        }
        if params.is_default(Param::LatchRecordingSize) {
            params.derive(Param::LatchRecordingSize, self.recording_ring_bytes(params));
        }
        params.derive(Param::CpuCount, cpus(params));
        if params.is_default(Param::ParallelMaxServers) {
            params.derive(Param::ParallelMaxServers, servers_by_default(params, self.processes));
        }
        if params.number(Param::DmlLocks) == 0 {
            params.derive(Param::DmlLocks, 4 * transactions);
        }
        if params.number(Param::ResultCacheTimeout) < 0 {
            let old = ["8.1.7", "9.2", "10.2", "11.1"].contains(&params.get(Param::LatchGeneration));
            params.derive(Param::ResultCacheTimeout, if old { 60 } else { 10 });
        }
    }
}

/// Processors: `cpu_count`, or those that the machine gives the instance.
pub(crate) fn cpus(params: &InitParams) -> usize {
    match params.number(Param::CpuCount) {
        0 => os::cpu::count() as usize,
        n => n as usize,
    }
}

/// The number of working sets of the buffer cache: one for each processor, but no set with few buffers, because the
/// scans of one process would sweep it out.
fn working_sets(params: &InitParams, buffers: usize) -> usize {
    match params.number(Param::DbBlockLruLatches) as usize {
        0 => cpus(params).min(buffers / SET_BUFFERS).clamp(1, SETS_BY_DEFAULT),
        n => n,
    }
}

/// The most working sets by default, and the fewest buffers of each.
const SETS_BY_DEFAULT: usize = 64;
const SET_BUFFERS: usize = 512;

/// The number of DBWn processes: `db_writer_processes`, by default one for eight processors and no more than a quarter
/// of the slots that other background processes leave. Two slots always stay free.
fn writers(params: &InitParams, processes: usize) -> usize {
    let left = processes.saturating_sub(BACKGROUND_PROCESSES + 2);
    let wanted = match params.is_default(Param::DbWriterProcesses) {
        true => (cpus(params) / 8).min(left / 4).clamp(1, WRITERS_BY_DEFAULT),
        false => params.number(Param::DbWriterProcesses) as usize,
    };
    wanted.min(left).clamp(1, crate::state::WRITERS_MAX)
}

/// The most DBWn processes by default.
const WRITERS_BY_DEFAULT: usize = 36;

/// The default of `parallel_max_servers`: ten for each thread of a processor, with 15 slots left to other processes, as
/// in Oracle with `pga_aggregate_target`.
fn servers_by_default(params: &InitParams, processes: usize) -> usize {
    let cpus = cpus(params);
    let threads = params.number(Param::ParallelThreadsPerCpu).max(1) as usize;
    (cpus * threads * 10).min(processes.saturating_sub(15)).min(parallel::SERVERS_MAX)
}

fn pga_limit_in(memory: u64, target: u64, processes: u64) -> u64 {
    (2048 * MB).max(2 * target).max(3 * MB * processes).min(memory / 10 * 9).max(target)
}

/// The number of statements and objects for which a shared pool of this size has room.
pub fn statements_of(pool_bytes: u64) -> usize {
    (pool_bytes / (16 << 10)).clamp(1024, 65_536) as usize
}

fn block_size(params: &InitParams) -> Result<usize> {
    let n = params.number(Param::DbBlockSize);
    let fine = n > 0 && (n as u64).is_power_of_two() && (2048..=32768).contains(&n);
    if fine { Ok(n as usize) } else { Err(Ora::with(374, &[&n, &2048, &32768])) }
}

fn buffers(params: &InitParams, block_size: usize) -> Result<usize> {
    let given = params.number(Param::DbBlockBuffers) as usize;
    if given > 0 {
        return at_least_32(given, "db_block_buffers", given as i64);
    }
    let target = params.number(Param::SgaTarget) as u64;
    let bytes = match params.number(Param::DbCacheSize) as u64 {
        // `fill_target` adds the rest, when the size of everything else is known. The rings of recordings, which are
        // as large for a small SGA as for a big one, are not taken from the rest.
        0 if target > 0 => target / 2 - RECORDING_BYTES.min(target / 8),
        0 => DEFAULT_CACHE_BYTES,
        n => n,
    };
    at_least_32((bytes / block_size as u64) as usize, "db_cache_size", bytes as i64)
}

fn at_least_32(buffers: usize, name: &str, value: i64) -> Result<usize> {
    if buffers < 32 { Err(Ora::with(68, &[&value, &name, &"32 blocks", &"memory"])) } else { Ok(buffers) }
}

fn pool_default(params: &InitParams) -> u64 {
    match params.number(Param::SgaTarget) as u64 {
        0 => DEFAULT_POOL_BYTES,
        target => (target * 3 / 10).max(32 * MB),
    }
}

/// The size of the log buffer: a power of two with room for two of the longest records.
fn log_buffer(params: &InitParams, block_size: usize) -> u64 {
    let bytes = match params.number(Param::LogBuffer) as u64 {
        0 => DEFAULT_LOG_BUFFER_BYTES,
        n => n,
    };
    bytes.max(redo::LogConfig::buffer_min(block_size) as u64).next_power_of_two()
}

/// The size of the result cache: `result_cache_max_size`, by default a quarter of the shared pool; whole chunks of 32
/// KB, at most 75 % of the pool. Oracle's own default is 1 % of a pool that holds much else; here the pool's memory
/// costs nothing until it is used.
fn result_cache(params: &InitParams, pool_bytes: u64) -> u64 {
    const CHUNK: u64 = 32 << 10;
    let bytes = match params.number(Param::ResultCacheMaxSize) {
        n if n < 0 => pool_bytes / 4,
        n => n as u64,
    };
    bytes.min(pool_bytes * 3 / 4).div_ceil(CHUNK) * CHUNK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derive(pairs: &[&str]) -> Result<(Sizes, InitParams)> {
        let mut p = InitParams::default();
        for pair in pairs {
            p.set_pair(pair)?;
        }
        Ok((Sizes::derive(&mut p)?, p))
    }

    #[test]
    fn what_is_given_holds_and_the_rest_follows() {
        let (s, p) = derive(&["db_cache_size=16M", "processes=40"]).unwrap();
        assert_eq!((s.buffers, s.processes, s.sessions), (2048, 40, 82));
        assert_eq!(p.number(Param::Sessions), 82);
        assert_eq!(p.number(Param::ResultCacheTimeout), 10);
        let (s, _) = derive(&["sga_target=1G"]).unwrap();
        assert_eq!(
            s.buffers as u64 * 8192 / MB,
            504,
            "half of the target less the rings of recordings, before it is filled"
        );
        let (s, _) = derive(&["db_block_buffers=100", "db_block_size=2048"]).unwrap();
        assert_eq!((s.buffers, s.block_size), (100, 2048));
        let (s, _) = derive(&["result_cache_max_size=100K"]).unwrap();
        assert_eq!(s.result_cache_bytes, 128 << 10);
        let (_, p) = derive(&["latch_generation=11.1"]).unwrap();
        assert_eq!(p.number(Param::ResultCacheTimeout), 60);
    }

    #[test]
    fn sets_and_writers_follow_from_processors_and_buffers() {
        let of = |pairs: &[&str]| derive(pairs).map(|(s, _)| (s.working_sets, s.db_writers)).unwrap();
        assert_eq!(of(&["cpu_count=16", "db_cache_size=1G"]), (16, 2));
        assert_eq!(of(&["cpu_count=500", "db_cache_size=100G"]), (64, 34));
        assert_eq!(of(&["cpu_count=500", "db_cache_size=100G", "processes=300"]), (64, 36));
        assert_eq!(of(&["cpu_count=500", "db_cache_size=100G", "processes=24"]), (64, 3));
        assert_eq!(of(&["cpu_count=500", "db_cache_size=100G", "processes=24", "db_writer_processes=20"]), (64, 13));
        assert_eq!(of(&["cpu_count=16", "db_cache_size=16M"]), (4, 2));
        assert_eq!(of(&["cpu_count=16", "db_block_buffers=64"]), (2, 2), "a set for each writer");
        assert_eq!(of(&["cpu_count=2", "db_cache_size=1G", "_db_block_lru_latches=64"]), (64, 1));
        assert_eq!(of(&["cpu_count=2", "db_cache_size=1G", "db_writer_processes=7"]), (7, 7));
        assert_eq!(derive(&["cpu_count=40"]).unwrap().1.number(Param::DbWriterProcesses), 5);
    }

    #[test]
    fn a_given_number_of_processors_holds_for_everything_that_follows_from_it() {
        for (cpus, copies) in [(1, 2), (7, 7), (40, 16)] {
            let (s, mut p) = derive(&[&format!("cpu_count={cpus}"), "processes=1000"]).unwrap();
            assert_eq!((p.number(Param::CpuCount), s.row_cache_hot_copies), (cpus, copies));
            assert_eq!(p.number(Param::ParallelMaxServers), cpus * 10);
            assert_eq!(crate::ash::ring_bytes(&p), (cpus as u64 * 2 * MB).clamp(4 * MB, 64 * MB));
            assert_eq!(Sizes::derive(&mut p).unwrap(), s, "the same again");
        }
        let (_, p) = derive(&["cpu_count=0"]).unwrap();
        assert_eq!(p.number(Param::CpuCount), os::cpu::count() as i64);
    }

    #[test]
    fn the_buffer_cache_gets_what_is_left_of_the_target() {
        let total = |s: &Sizes| s.buffers as u64 * 8400 + 300 * MB;
        let (mut s, mut p) = derive(&["sga_target=4G"]).unwrap();
        s.fill_target(&mut p, &total);
        assert!((4000 * MB..=4096 * MB).contains(&total(&s)), "{} MB", total(&s) / MB);
        assert_eq!(p.number(Param::DbCacheSize), (s.buffers * 8192) as i64);
        for given in [&["sga_target=4G", "db_cache_size=1G"][..], &["db_cache_size=64M"]] {
            let (mut s, mut p) = derive(given).unwrap();
            let before = s.buffers;
            s.fill_target(&mut p, &total);
            assert_eq!(s.buffers, before);
        }
        let (mut s, mut p) = derive(&["sga_target=200M"]).unwrap();
        let before = s.buffers;
        s.fill_target(&mut p, &total);
        assert_eq!(s.buffers, before, "what is smaller than the rest keeps its share");
    }

    #[test]
    fn rings_of_recordings_are_small_together_unless_their_size_was_given() {
        let of = |pairs: &[&str]| derive(pairs).unwrap().1.number(Param::LatchRecordingSize);
        assert_eq!(of(&[]), 32 << 10);
        assert_eq!(of(&["processes=1000"]), 8 << 10);
        assert_eq!(of(&["processes=10000"]), 0);
        assert_eq!(of(&["processes=10000", "_latch_recording_size=64K"]), 64 << 10);
        assert_eq!(of(&["_latch_recording_size=0"]), 0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(derive(&["db_block_size=3000"]).unwrap_err().code(), 374);
        assert_eq!(derive(&["db_block_buffers=10"]).unwrap_err().code(), 68);
    }
}
