//! The session as the statements of `admin` see it.

use crate::core::Core;
use dictionary::SystemPrivilege;
use instance::Instance;
use process::Process;
use types::Result;

impl admin::Administrator for Core {
    fn instance(&self) -> &'static Instance {
        self.instance
    }

    fn process(&self) -> &Process {
        &self.p
    }

    fn require(&self, privilege: SystemPrivilege) -> Result<()> {
        Core::require(self, privilege)
    }

    fn is_sysdba(&self) -> bool {
        self.identity().sysdba
    }

    fn tablespace_named(&self, name: &str) -> Result<Option<u32>> {
        Ok(self.names()?.image().tablespace_named(name))
    }
}
