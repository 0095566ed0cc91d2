//! The session's edition.
//!
//! No user is enabled for editions, so no object is editioned: a name means the same in every edition, and an edition is
//! what a session says of itself.

use crate::core::Core;
use types::{Ora, Result};

/// The edition that a database is made with.
pub(crate) const BASE: &str = "ORA$BASE";

/// ALTER SESSION SET EDITION.
///
/// # Errors
/// ORA-38802 for an edition that is not there.
pub(crate) fn set(core: &Core, name: &str) -> Result<()> {
    if name != BASE {
        return Err(Ora::new(38802));
    }
    core.edition.replace(Some(name.into()));
    core.is_untold.set(true);
    Ok(())
}

/// The name of the session's edition.
pub(crate) fn name(core: &Core) -> std::rc::Rc<str> {
    core.edition.borrow().clone().unwrap_or_else(|| BASE.into())
}
