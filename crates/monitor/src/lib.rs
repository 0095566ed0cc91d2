#![forbid(unsafe_code)]
//! Self-observation of an instance: the active session history, metrics, snapshots of the workload repository, hang
//! analysis.

pub mod ash;
pub mod hang;
pub mod metrics;
mod recorder;
pub mod repository;
mod segments;
mod settings;
mod snapshot;

pub use recorder::Recorder;
pub use settings::{INTERVAL_MIN, RETENTION_MIN};
pub use snapshot::create_snapshot;
