//! Bounds of the algorithms over temporary space. `work_area` estimates passes with them.

/// Partitions of one division.
pub const PARTS: usize = 16;
/// Most nested divisions: beyond this, the rows of a partition are too alike for another division to help.
pub const LEVELS_MAX: u32 = 6;
/// Runs merged at once: each needs a chunk of memory.
pub const FAN_IN: usize = 64;
