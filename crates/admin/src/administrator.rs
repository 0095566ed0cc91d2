//! The interface of this crate's statements to the session that runs them.

use dictionary::SystemPrivilege;
use enqueue::Enqueues;
use instance::Instance;
use process::Process;
use types::Result;

/// A session with its identity. The crate `session` implements it.
pub trait Administrator {
    /// The instance that is administered.
    fn instance(&self) -> &'static Instance;

    /// The process of the session.
    fn process(&self) -> &Process;

    /// ORA-01031 unless the identity in force has the system privilege.
    ///
    /// # Errors
    /// That; those of reading the dictionary.
    fn require(&self, privilege: SystemPrivilege) -> Result<()>;

    /// Whether the identity in force is SYSDBA.
    fn is_sysdba(&self) -> bool;

    /// The number of the tablespace of that name in the dictionary.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    fn tablespace_named(&self, name: &str) -> Result<Option<u32>>;

    /// The enqueues of the instance.
    fn enqueues(&self) -> &'static Enqueues {
        self.instance().storage().enqueues
    }
}
