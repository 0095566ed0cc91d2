//! CONNECT THROUGH: the users that may open sessions of other users.

use crate::work::Work;
use dictionary::base::{Base, proxy, proxy_role};
use dictionary::rows::{as_u32, int};
use dictionary::*;
use sql::ast::{ConnectThrough, RoleName, SetRole};
use types::{Ora, Result, Value};

/// CREDENTIAL_TYPE# that requires the client's own password.
const CLIENT_PASSWORD: i64 = 5;

/// ALTER USER ... GRANT CONNECT THROUGH, which replaces an earlier grant, and REVOKE.
pub fn connect_through(work: &mut Work<'_>, through: &ConnectThrough) -> Result<()> {
    let ConnectThrough { clients, revoke, proxy, roles, authenticated, pos } = through;
    if !work.names.has(SystemPrivilege::AlterUser) {
        return Err(Ora::new(1031).at(pos.0));
    }
    if work.image.user_named(&proxy.name).is_some_and(|user| user.is_role && user.id != UserId::PUBLIC) {
        return Err(Ora::with(28155, &[&proxy.name]).at(proxy.pos.0));
    }
    let by = work.existing_user(proxy, false, 1918)?;
    for name in clients {
        let client = work.existing_user(name, false, 1918)?;
        // A user that can open a session of SYS has the power of SYS.
        if client == UserId::SYS && !work.names.is_sysdba() {
            return Err(Ora::new(1031).at(name.pos.0));
        }
        let mut listed = Vec::new();
        let (flags, list) = match roles {
            SetRole::None => (2, &[][..]),
            SetRole::AllExcept(list) if list.is_empty() => (1, &[][..]),
            SetRole::AllExcept(list) => (8, list.as_slice()),
            SetRole::Roles(list) => (4, list.as_slice()),
        };
        for RoleName { name, password: _ } in list {
            let role = work.existing_user(name, true, 1919)?;
            if !work.image.direct_roles(client).any(|granted| granted == role) {
                return Err(Ora::with(1955, &[&name.name]).at(name.pos.0));
            }
            listed.push(role);
        }
        let had = forget_pair(work, client, by)?;
        if *revoke {
            if had == 0 {
                return Err(Ora::with(28154, &[&name.name]).at(name.pos.0));
            }
            continue;
        }
        let credential = if *authenticated { CLIENT_PASSWORD } else { 0 };
        work.change().insert(Base::Proxy, &[int(client.0), int(by.0), int(credential), int(flags)])?;
        for role in listed {
            work.change().insert(Base::ProxyRole, &[int(client.0), int(by.0), int(role.0)])?;
        }
    }
    Ok(())
}

fn forget_pair(work: &mut Work<'_>, client: UserId, by: UserId) -> Result<usize> {
    let is_pair =
        move |row: &[Value]| as_u32(&row[proxy_role::CLIENT]) == client.0 && as_u32(&row[proxy_role::PROXY]) == by.0;
    work.change().delete(Base::ProxyRole, &is_pair)?;
    let is_pair = move |row: &[Value]| as_u32(&row[proxy::CLIENT]) == client.0 && as_u32(&row[proxy::PROXY]) == by.0;
    work.change().delete(Base::Proxy, &is_pair)
}

/// Removes a user or role that is dropped.
pub fn forget(work: &mut Work<'_>, id: UserId) -> Result<()> {
    let names = move |row: &[Value], columns: &[usize]| columns.iter().any(|column| as_u32(&row[*column]) == id.0);
    work.change()
        .delete(Base::ProxyRole, &move |row| names(row, &[proxy_role::CLIENT, proxy_role::PROXY, proxy_role::ROLE]))?;
    work.change().delete(Base::Proxy, &move |row| names(row, &[proxy::CLIENT, proxy::PROXY])).map(drop)
}
