//! A picture of the dictionary as of one moment, read object by object on demand.
//!
//! A picture never changes: it keeps the rows it has read, and reads further rows as of the same moment
//! ([`crate::moment::Moment`]). When the dictionary's epoch has moved, a statement gets a new, empty picture. So the
//! memory of a session, and the time of a statement after DDL, depend on the objects that the session uses, not on the
//! size of the dictionary.
//!
//! Look-ups return a result or `None`. A read error becomes a fault of the picture: from then on [`Image::checked`]
//! refuses every definition made from it, and the next statement gets another picture (D17). Rejected: a `Result` from
//! each of some two hundred look-ups; a definition needs many of them and is refused as a whole.
//!
//! The modules, lowest layer first; each imports only modules above it in the table:
//!
//! | module | contents |
//! |---|---|
//! | `numbers`, [`property`] | large integers; the bits of PROPERTY and FLAGS |
//! | `picture` | the rows of a picture, read on demand |
//! | `statistics`, `users`, `objects` | look-ups by subject |
//! | `partitions`, `tables`, `others` | definitions made of them |

mod numbers;
mod objects;
mod others;
mod partitions;
mod picture;
pub mod property;
mod statistics;
mod tables;
mod users;

pub use numbers::{big_number, cluster_columns, partition_columns};
pub use objects::{NO_BASE, quoted, trigger_path, unquoted};
pub use picture::{Image, ObjectGrant};
