//! Proxy users: a user proves a password and gets a session of another one, who has allowed that by CONNECT THROUGH.

use crate::core::Core;
use dictionary::{Account, Image, ProxyDef, UserDef, UserId};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use types::{Ora, Result};

/// The name of a user as it was typed, and of the one as whom it wants to be known: `proxy[client]`.
pub fn split_name(typed: &str) -> (&str, Option<&str>) {
    // A quoted name may have brackets in it.
    let from = match typed.strip_prefix('"') {
        Some(rest) => rest.find('"').map_or(typed.len(), |end| end + 2),
        None => 0,
    };
    let tail = typed.get(from..).unwrap_or_default();
    match tail.find('[').zip(tail.strip_suffix(']')) {
        Some((at, inner)) if at < inner.len() => (&typed[..from + at], Some(&inner[at + 1..])),
        _ => (typed, None),
    }
}

/// A user's name as the dictionary has it, of what was typed at a logon.
pub fn user_name(typed: &str) -> String {
    crate::session::dictionary_name(split_name(typed).0)
}

/// A session that a user has opened for another one.
pub(crate) struct Proxied {
    /// Who has proved a password.
    pub by: UserId,
    pub name: String,
    allowed: ProxyDef,
}

/// The user whose session `proxy`, who has proved a password, gets.
///
/// # Errors
/// ORA-28150 where that is not allowed, ORA-28183 where the client's password is asked for as well, ORA-28000 for a
/// locked account, ORA-01045 for a client without CREATE SESSION, ORA-01035 in restricted mode, ORA-28009 for SYS.
pub(crate) fn client_of(core: &Core, proxy: &UserDef, client: &str) -> Result<(Rc<UserDef>, Proxied)> {
    let name = crate::session::dictionary_name(client);
    let image = core.dict.borrow_mut().image()?;
    let found = image.user_named(&name).filter(|user| !user.is_role && user.id != UserId::PUBLIC).cloned();
    let client = found.ok_or_else(|| Ora::new(28150))?;
    let dictionary = core.dict.borrow().shared().clone();
    let allowed = dictionary.proxy(&core.p, client.id, proxy.id)?.ok_or_else(|| Ora::new(28150))?;
    if allowed.authenticated {
        return Err(Ora::new(28183));
    }
    // SYS has sessions AS SYSDBA only.
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

/// Notes who has opened the session, and leaves it the roles that a session so opened may have.
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

/// Whether the session may enable a role, as far as that is the say of who opened it.
pub(crate) fn may_enable(core: &Core, image: &Image, role: u32) -> bool {
    core.proxied.borrow().as_ref().is_none_or(|proxied| proxied.allowed.may_enable(image, role))
}

/// SET ROLE: whether a role that is named may be enabled.
///
/// # Errors
/// ORA-28157 where the session was opened by a user who may not enable it.
pub(crate) fn check_role(core: &Core, image: &Image, role: &UserDef, client: UserId) -> Result<()> {
    if may_enable(core, image, role.id.0) {
        return Ok(());
    }
    let by = core.proxied.borrow().as_ref().map(|proxied| proxied.name.clone()).unwrap_or_default();
    Err(Ora::with(28157, &[&by, &role.name, &image.user_name(client)]))
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn a_name_in_brackets_is_the_clients() {
        for (typed, proxy, client) in [
            ("scott", "scott", None),
            ("web[scott]", "web", Some("scott")),
            ("web[\"Scott\"]", "web", Some("\"Scott\"")),
            ("\"we[b]\"[scott]", "\"we[b]\"", Some("scott")),
            ("\"we[b]\"", "\"we[b]\"", None),
            ("[scott]", "", Some("scott")),
            ("web[]", "web", Some("")),
            ("web[", "web[", None),
            ("web]", "web]", None),
            ("\"web", "\"web", None),
        ] {
            assert_eq!(split_name(typed), (proxy, client), "{typed}");
        }
    }
}
