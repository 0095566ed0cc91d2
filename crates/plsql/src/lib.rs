//! PL/SQL compiler, machine and packages of Latchwork.
//!
//! A unit is compiled to the bytecode of a register machine. Names are resolved at compile time, and static SQL becomes
//! statements with binds that stay open between executions. The machine runs in the session's process; everything
//! outside the language is called through [`World`].
#![forbid(unsafe_code)]

mod compile;
pub mod datum;
mod exceptions;
mod instance;
mod intmap;
mod machine;
mod op;
pub mod packages;
mod resultkey;
mod session;
mod standard;
mod ty;
mod world;

pub use compile::{BindUse, HostTypes};
pub use datum::Datum;
pub use instance::{ExecWorld, Services, SqlCursor};
pub use op::SqlColumns;
pub use session::{Block, CompileError, Function, Plsql};
pub use ty::HostType;
pub use world::{
    AuditRequest, ColumnInfo, ConnectionPoolRequest, Described, DynamicKind, FlashbackRequest, JobChange, JobRequest,
    Owner, RepositoryRequest, ResultCacheRequest, SessionlessRequest, SharedPoolRequest, StoredUnit, UnitImage, World,
    XaRequest,
};
