//! Work areas: the memory that sorts, hash joins, groupings and others needed, and estimates for other values of
//! `pga_aggregate_target`: `v$sql_workarea_histogram`, `v$pgastat`, `v$pga_target_advice`.
//!
//! When a work area has all its rows, it notes how many bytes would have kept them in memory and how often they passed
//! through temporary space. A process counts small work areas in a line of its own. A work area that spilled, or would
//! spill with the smallest estimated target, has done megabytes of work: only such a work area is compared with all
//! targets, by the executor's own rules for temporary space, and counted in shared words. Nothing is estimated for work
//! areas with `workarea_size_policy = MANUAL`.
//!
//! A work area whose reader stops early may not be counted: a row source that returns rows while it reads its input
//! knows its need only at the end.

mod areas;
mod note;
mod way;

pub use areas::{CLASSES, FACTORS, TargetEstimate, WorkAreaLayout, WorkAreaTotals, WorkAreas, class_bounds, limit_of};
pub(crate) use way::{SORTED_MORE, Way, bytes_written};
