//! Transactions, undo and consistent gets of Latchwork.
//!
//! A transaction is a slot in the header block of an undo segment, mirrored live in the SGA transaction table, and a
//! chain of undo records, newest first, in that segment's undo blocks. A process keeps its own end of the chain in a
//! [`Txn`]. Every change of a block by a layer goes through a [`Change`]: one change group with the block's change and
//! the undo record that reverses it, so a process that dies leaves both or neither (T1).
//!
//! The blocks decide what must be rolled back, and the record that ends a transaction in its undo header is the commit
//! point. Readers use the SGA table.
//!
//! | state | undo header slot | what may be trusted | left by |
//! |---|---|---|---|
//! | FREE | ended, or never used | the last owner's commit SCN, a bound for earlier owners | `begin` |
//! | ACTIVE | active, or the last owner's before the first write | invisible to others | `commit`, `rollback`, PMON |
//! | COMMITTING | active, or ended by its commit record | nothing: ask again | `commit`, PMON |
//! | COMMITTED | ended | committed at the commit SCN | `commit`, PMON (completes) |
//! | DEAD | active | as ACTIVE; there is no owner | `rollback_dead`, `recover` |
//!
//! In COMMITTING the commit SCN is given out and the undo header is being changed. When the owner dies, PMON completes
//! the commit if the header says that the transaction has ended, and rolls back otherwise.
//!
//! Rejected: deciding visibility by the undo header block itself, since that costs a block get for every entry; undo
//! kept by object instead of by transaction, since a rollback would have to search.
#![deny(unsafe_code)] // Only in what `sga_struct!` writes.

mod branch_table;
mod branches;
mod change;
mod cleanout;
mod create;
mod dead;
mod deferred;
mod end;
mod history;
mod known;
mod locks;
mod prepared;
mod read;
mod refusals;
mod scn_time;
mod scratch;
mod segment;
mod session;
mod slots;
mod space;
mod table;
mod transactions;
mod undo;
mod undo_intervals;
mod undo_read;
mod undo_tablespace;
mod versions;

pub use branch_table::{BranchState, BranchTerms, GlobalId, SESSIONLESS};
pub use branches::{Asked, Branch, BranchRow, Vote};
pub use change::{Change, ItlGet};
pub use end::{CommitHook, NoHook};
pub use enqueue::LockMode;
pub use history::{Commit, HistoryVisitor};
pub use locks::RowWait;
pub use read::LockedSince;
pub use scn_time::{Moment, ScnTimes};
pub use session::{Isolation, Savepoint, Snapshot, Txn, TxnPoint};
pub use transactions::{LockWait, TransactionRow, Transactions, TxnConfig, TxnLayout, UndoLayer};
pub use undo::{Rollback, UndoRecord, segment_name};
pub use undo_intervals::{UndoInterval, UndoIntervals};
pub use undo_tablespace::{UndoRounds, UndoSegment};
pub use versions::{Maker, Sight};
