#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "calibrate")]
pub mod calibrate;
mod design;
mod engine;
mod error;
mod figures;
mod forecast;
mod keyed;
mod laws;
mod machine;
#[cfg(feature = "parquet")]
pub mod parquet;
mod random;
mod report;
mod sweep;
pub mod trace;
mod tree;
mod workload;

pub use design::{Design, Scheme, Sleep};
pub use engine::{Bound, Cell, MOVES_A_GET};
pub use error::Error;
pub use figures::{Counts, Figures, State};
pub use forecast::{Band, Check, Choice, Comparison, Forecast, Question, Refusal, Seen, check, checked_control, chi};
pub use laws::{ClosedQueue, Usl, closed_queue, mean_value_analysis};
pub use machine::{CPUS_MAX, CURVES, Distance, Machine, SHIPPED, Scheduler};
pub use report::{checks, csv, json, table};
pub use sweep::{Shard, in_parallel};
pub use trace::Trace;
pub use workload::{Closed, Get, LatchMeans, Means, SESSIONS_MAX, Scaling, Time, Workload};
