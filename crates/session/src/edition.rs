//! The session's edition.
//!
//! No user is enabled for editions, so no object is editioned: a name means the same in every edition, and the edition
//! of a session has no effect on its statements.

use crate::core::Core;
use dictionary::{BASE_EDITION, ObjectKind, ObjectPrivilege, UserId};
use std::sync::atomic::Ordering::Relaxed;
use types::{Ora, Result};

/// ALTER SESSION SET EDITION.
///
/// # Errors
/// ORA-38802 for an edition that does not exist or that the user may not use.
pub(crate) fn set(core: &Core, name: &str) -> Result<()> {
    let names = core.names()?;
    let image = names.image();
    let found = image.find(UserId::SYS, ObjectKind::Edition, name).map(|object| object.object);
    let may = |object| {
        let grantees: Vec<u32> = {
            let identity = core.identity();
            let mut all = vec![identity.user.0, UserId::PUBLIC.0];
            all.extend(core.who.roles(identity).iter());
            all
        };
        core.identity().sysdba || image.is_granted_on(&grantees, object, ObjectPrivilege::Use, 0, false)
    };
    let object = found.filter(|object| may(*object)).ok_or_else(|| Ora::new(38802))?;
    core.edition.replace(Some(name.into()));
    core.p.session().edition.store(object.0, Relaxed);
    core.is_untold.set(true);
    Ok(())
}

/// The name of the session's edition, and its number.
///
/// # Errors
/// Errors from reading the dictionary.
pub(crate) fn current(core: &Core) -> Result<(std::rc::Rc<str>, u32)> {
    if let Some(name) = core.edition.borrow().clone() {
        return Ok((name, core.p.session().edition.load(Relaxed)));
    }
    let names = core.names()?;
    let name = core.instance.storage().dictionary.default_edition(&core.p)?;
    let found = names.image().find(UserId::SYS, ObjectKind::Edition, &name);
    Ok((name.as_str().into(), found.map_or(BASE_EDITION.0, |object| object.object.0)))
}
