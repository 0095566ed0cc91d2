//! PL/SQL compiler, machine and packages of Latchwork.
//!
//! A unit is compiled to the bytecode of a register machine. Names are resolved at compile time, and static SQL becomes
//! statements with binds that stay open between executions. The machine runs in the session's process; everything
//! outside the language is called through [`World`].
#![forbid(unsafe_code)]

mod code;
mod compile;
pub mod datum;
mod errors;
mod event;
mod exceptions;
mod instance;
mod intmap;
mod machine;
mod op;
pub mod packages;
mod requests;
mod resultkey;
mod session;
mod standard;
mod state;
mod ty;
mod world;

pub use code::{BindUse, Block, HostTypes, Owner};
pub use compile::selected_source;
pub use datum::Datum;
pub use errors::CompileError;
pub use event::EventFacts;
pub use instance::{ExecWorld, Services, SqlCursor};
pub use op::SqlColumns;
pub use requests::{
    AlertRequest, ArgumentPlace, AuditRequest, ConnectionPoolRequest, ContextChange, FlashbackRequest, JobChange,
    JobRequest, JobTimes, NewJob, RepositoryRequest, ResultCacheRequest, SchedulerKind, SchedulerRequest,
    SessionlessRequest, SharedPoolRequest, XaRequest,
};
pub use session::{CheckedTrigger, Function};
pub use state::Plsql;
pub use ty::HostType;
pub use world::{
    ColumnInfo, Described, DynamicKind, StoredUnit, TriggerColumn, TriggerTable, UnitImage, World, as_owner,
};
