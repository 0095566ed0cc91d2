//! The session parameters that statements depend on.

use crate::statistics::Timing;

/// Session parameters that the executor uses.
#[derive(Clone, Debug)]
pub struct Options {
    /// `result_cache_mode = FORCE`.
    pub result_cache_force: bool,
    /// Whether the session may use the result cache.
    pub result_cache: bool,
    /// `_old_connect_by_enabled`: CONNECT BY probes for the children of every row and keeps nothing.
    pub old_connect_by: bool,
    /// Most bytes the work areas (sorts, hash tables, buffers) of one execution may hold before ORA-04030.
    pub work_area_limit_bytes: usize,
    /// Bytes that a work area holds before it continues in temporary space.
    pub spill_bytes: usize,
    /// `workarea_size_policy = AUTO`.
    pub work_area_auto: bool,
    /// The tablespace of the user's temporary data.
    pub temporary_tablespace: u32,
    /// Fingerprint of the session's optimizer settings.
    pub optimizer: u64,
    /// Fingerprint of the session's settings for PL/SQL code.
    pub plsql: u64,
    /// The optimizer settings that the planner uses.
    pub planner: plan::Optimizer,
    /// `optimizer_mode`.
    pub optimizer_mode: &'static str,
    /// `statistics_level` and `timed_statistics`: which executions are timed.
    pub timing: Timing,
    /// `_optimizer_adaptive_cursor_sharing`.
    pub adaptive_sharing: bool,
    /// `_optimizer_use_feedback`.
    pub feedback: bool,
    /// `statistics_level = ALL`: operations of plans are counted.
    pub counts_operations: bool,
    /// `_batch_execution`: row sources over many rows work on batches.
    pub batches: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            result_cache_force: false,
            result_cache: true,
            old_connect_by: false,
            work_area_limit_bytes: 1 << 30,
            spill_bytes: 64 << 20,
            work_area_auto: true,
            temporary_tablespace: 3,
            optimizer: 0,
            plsql: 0,
            planner: plan::Optimizer::default(),
            optimizer_mode: "ALL_ROWS",
            timing: Timing::Sampled,
            adaptive_sharing: true,
            feedback: true,
            counts_operations: false,
            batches: true,
        }
    }
}
