//! A running DDL statement: locks, names, segments made and marked for the drop, changed rows.
//!
//! The modules, lowest layer first; each imports only modules above it in the table:
//!
//! | module | contents |
//! |---|---|
//! | `state` | the state of the statement, and its view of the dictionary |
//! | `names` | the objects and users that it names |
//! | `locks` | its enqueues |
//! | `objects` | rows of OBJ$, and segments |
//! | `run` | its beginning, its commits, and its end |

mod locks;
mod names;
mod objects;
mod run;
mod state;

pub use state::{Invalidation, Target, Work, by, no_column};
