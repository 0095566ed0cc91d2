//! The interface of this crate's statements to the session that runs them.

use dictionary::SystemPrivilege;
use enqueue::Enqueues;
use instance::Instance;
use process::Process;
use types::Result;

/// A session with its identity. The crate `session` implements it.
pub trait Administrator {
    /// The administered instance.
    fn instance(&self) -> &'static Instance;

    /// The process of the session.
    fn process(&self) -> &Process;

    /// Checks that the identity in force has a system privilege (invariant 1).
    ///
    /// # Errors
    /// ORA-01031; those of reading the dictionary.
    fn require(&self, privilege: SystemPrivilege) -> Result<()>;

    /// True when the identity in force is SYSDBA.
    fn is_sysdba(&self) -> bool;

    /// The number of a tablespace in the dictionary; `None` when it does not exist.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    fn tablespace_named(&self, name: &str) -> Result<Option<u32>>;

    /// The enqueues of the instance.
    fn enqueues(&self) -> &'static Enqueues {
        self.instance().storage().enqueues
    }
}
