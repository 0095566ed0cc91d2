//! Proxy users: a user proves a password and gets a session of another user, who allows it by CONNECT THROUGH
//! (invariant 9).

use crate::core::{Core, Proxied};
use crate::typed_name::dictionary_name;
use dictionary::{Account, Image, UserDef, UserId};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use types::{Ora, Result};

/// Finds the user `client`, whose session `proxy` gets, and the grant that allows it.
///
/// # Errors
/// ORA-28150 without such a grant, ORA-28183 when the grant requires the client's password too, ORA-28000 for a locked
/// account, ORA-01045 for a client without CREATE SESSION, ORA-01035 in restricted mode, ORA-28009 for SYS.
pub(crate) fn client_of(core: &Core, proxy: &UserDef, client: &str) -> Result<(Rc<UserDef>, Proxied)> {
    let name = dictionary_name(client);
    let image = core.dict.borrow_mut().image()?;
    let found = image.user_named(&name).filter(|user| !user.is_role && user.id != UserId::PUBLIC).cloned();
    let client = found.ok_or_else(|| Ora::new(28150))?;
    let dictionary = core.dict.borrow().shared().clone();
    let allowed = dictionary.proxy(&core.p, client.id, proxy.id)?.ok_or_else(|| Ora::new(28150))?;
    if allowed.authenticated {
        return Err(Ora::new(28183));
    }
    // All sessions of SYS are AS SYSDBA, and a proxy cannot open one.
    if client.id == UserId::SYS {
        return Err(Ora::new(28009));
    }
    let state = dictionary.logon_state(&core.p, Some(&client))?;
    let profile = core.dict.borrow_mut().profile_of(&client)?;
    let account = Account { user: &client, profile: &profile, state: &state, now: core.local_time().own_date() };
    if account.is_locked() {
        return Err(Ora::new(28000));
    }
    core.dict.borrow_mut().may_connect(&client)?;
    if core.instance.state().is_restricted() && !core.dict.borrow_mut().may_enter_restricted(&client)? {
        return Err(Ora::new(1035));
    }
    Ok((client, Proxied { by: proxy.id, name: proxy.name.clone(), allowed }))
}

/// Notes the proxy in the session, and enables the default roles that the grant allows.
///
/// # Errors
/// Those of reading the dictionary.
pub(crate) fn begin(core: &Core, client: UserId, proxied: Proxied) -> Result<()> {
    core.p.session().proxy.store(proxied.by.0 + 1, Relaxed);
    let names = core.names()?;
    let image = names.image();
    let mut roles = image.default_roles(client);
    roles.retain(|role| proxied.allowed.may_enable(image, *role));
    image.checked()?;
    core.who.enable(roles);
    core.proxied.replace(Some(proxied));
    Ok(())
}

/// True when the session has no proxy, or the proxy's grant allows the role.
pub(crate) fn may_enable(core: &Core, image: &Image, role: u32) -> bool {
    core.proxied.borrow().as_ref().is_none_or(|proxied| proxied.allowed.may_enable(image, role))
}

/// Checks a role that SET ROLE names.
///
/// # Errors
/// ORA-28157 when the grant of the session's proxy excludes the role.
pub(crate) fn check_role(core: &Core, image: &Image, role: &UserDef, client: UserId) -> Result<()> {
    if may_enable(core, image, role.id.0) {
        return Ok(());
    }
    let by = core.proxied.borrow().as_ref().map(|proxied| proxied.name.clone()).unwrap_or_default();
    Err(Ora::with(28157, &[&by, &role.name, &image.user_name(client)]))
}
