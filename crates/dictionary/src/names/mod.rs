//! Name resolution for one session, over a picture of the dictionary.
//!
//! The modules, lowest layer first; each imports only modules above it in the table:
//!
//! | module | contents |
//! |---|---|
//! | `fixed_names` | names of SYS with rules of their own |
//! | `session` | the user, the schema and the roles of a session |
//! | `rights` | the objects that it sees, and its privileges on them |
//! | `resolve` | names to objects |
//! | `catalog` | the planner's interface |

mod catalog;
mod fixed_names;
mod resolve;
mod rights;
mod session;

pub use resolve::Named;
pub use rights::Access;
pub use session::{Principal, SessionCatalog};
