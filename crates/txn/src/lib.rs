//! Transactions, undo and consistent gets of Latchwork.
//!
//! A transaction is a slot in the header block of an undo segment, mirrored live in the SGA transaction table, and a chain
//! of undo records, newest first, in that segment's undo blocks. A process keeps its own end of the chain in a [`Txn`].
//! Every change a layer makes to a block goes through a [`Change`]: one change group that holds the block's change and the
//! undo record that reverses it, so a process that dies leaves both or neither.
//!
//! The blocks are the truth and the SGA mirror is what readers ask: is this transaction active, and if not, at which SCN
//! did it commit. The mirror goes through these states.
//!
//! | state      | undo header slot | may be trusted                                   | leaves it by |
//! |------------|------------------|--------------------------------------------------|--------------|
//! | FREE       | not active       | the commit SCN of the last owner                 | `begin` |
//! | ACTIVE     | active, or about to be | the changes are invisible to everyone else | `commit`, `rollback`, PMON |
//! | COMMITTING | active           | once the commit SCN is stored the transaction is committed | `commit`, PMON |
//! | DEAD       | active           | the owner died; changes are being rolled back    | PMON, SMON |
//!
//! Rejected: deciding visibility from the undo header block itself, as that costs a block get for every row lock found.
#![forbid(unsafe_code)]

mod api;
pub use api::*;
