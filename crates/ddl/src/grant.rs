//! GRANT and REVOKE.

use crate::user::{add_user, existing};
use crate::work::Work;
use dictionary::base::{Base, objauth, sysauth};
use dictionary::rows::{as_i64, as_u32, blank, flag, int};
use dictionary::*;
use sql::ast::{Authentication, Grant, GrantObject, Grantee, Ident, Privilege, Revoke, UserOptions};
use types::{ObjectId, Ora, Result, Value};

/// What is granted when it is on no object.
enum Granted {
    System(SystemPrivilege),
    Role(UserId),
}

impl Granted {
    fn number(&self) -> i64 {
        match self {
            Granted::System(privilege) => privilege.number(),
            Granted::Role(role) => i64::from(role.0),
        }
    }
}

/// The system privileges and roles of a list. ORA-00990, ORA-01919.
fn granted(work: &Work<'_>, privileges: &[Privilege]) -> Result<Vec<Granted>> {
    let mut list = Vec::new();
    for privilege in privileges {
        if matches!(privilege.name.as_str(), "ALL" | "ALL PRIVILEGES") {
            list.extend(SystemPrivilege::ALL.iter().map(|privilege| Granted::System(*privilege)));
        } else if let Some(system) = SystemPrivilege::parse(&privilege.name) {
            list.push(Granted::System(system));
        } else if privilege.name.contains(' ') {
            return Err(Ora::new(990).at(privilege.pos.0));
        } else {
            let name = Ident { name: privilege.name.clone(), pos: privilege.pos };
            list.push(Granted::Role(existing(work, &name, true, 1919)?));
        }
    }
    Ok(list)
}

/// Users, roles and PUBLIC; a user that GRANT ... IDENTIFIED BY names and does not exist is made. ORA-01917.
fn grantees(work: &mut Work<'_>, list: &[Grantee]) -> Result<Vec<UserId>> {
    let mut ids = Vec::new();
    for grantee in list {
        let found = work.image.user_named(&grantee.name.name).map(|user| user.id);
        let id = match (found, &grantee.identified_by) {
            (Some(id), None) => id,
            (found, Some(password)) => {
                let authentication = Some(Authentication::Password(password.clone()));
                let options = UserOptions { authentication, ..UserOptions::default() };
                match found {
                    Some(id) => {
                        let alter = sql::ast::AlterUser { name: grantee.name.clone(), options, pos: grantee.name.pos };
                        crate::user::alter(work, &alter)?;
                        id
                    }
                    None if work.names.has(SystemPrivilege::CreateUser) => add_user(work, &grantee.name, &options)?,
                    None => return Err(Ora::new(1031).at(grantee.name.pos.0)),
                }
            }
            (None, None) => return Err(Ora::with(1917, &[&grantee.name.name]).at(grantee.name.pos.0)),
        };
        ids.push(id);
    }
    Ok(ids)
}

pub fn grant(work: &mut Work<'_>, grant: &Grant) -> Result<()> {
    match &grant.on {
        None => {
            let list = granted(work, &grant.privileges)?;
            require_admin(work, &list, grant.pos.0)?;
            let to = grantees(work, &grant.to)?;
            for grantee in to {
                for what in &list {
                    grant_one(work, grantee, what, grant.with_option, grant.pos.0)?;
                }
            }
            Ok(())
        }
        Some(on) => {
            let (object, owner) = object_of(work, on)?;
            let list = object_privileges(work, &grant.privileges, object)?;
            require_grantable(work, object, owner, &list, grant.pos.0)?;
            let to = grantees(work, &grant.to)?;
            for grantee in to {
                if grantee == owner {
                    continue;
                }
                for privilege in &list {
                    grant_on(work, grantee, object, owner, *privilege, grant.with_option)?;
                }
            }
            work.touch(object);
            Ok(())
        }
    }
}

/// ORA-01031 (ORA-01932 for roles) unless the session may give away what it has.
fn require_admin(work: &Work<'_>, list: &[Granted], pos: u32) -> Result<()> {
    if work.names.is_sysdba() {
        return Ok(());
    }
    for what in list {
        let any = match what {
            Granted::System(_) => SystemPrivilege::GrantAnyPrivilege,
            Granted::Role(_) => SystemPrivilege::GrantAnyRole,
        };
        if !work.names.has(any) {
            return Err(match what {
                Granted::Role(role) => Ora::with(1932, &[&work.image.user_name(*role)]).at(pos),
                Granted::System(_) => Ora::new(1031).at(pos),
            });
        }
    }
    Ok(())
}

fn grant_one(work: &mut Work<'_>, grantee: UserId, what: &Granted, option: bool, pos: u32) -> Result<()> {
    if let Granted::Role(role) = what
        && (*role == grantee || work.image.grantees(*role).contains(&grantee.0))
        && grantee != UserId::PUBLIC
    {
        return Err(Ora::new(1934).at(pos));
    }
    let number = what.number();
    let mine = move |row: &[Value]| {
        as_u32(&row[sysauth::GRANTEE]) == grantee.0 && as_i64(&row[sysauth::PRIVILEGE]) == Some(number)
    };
    let kept = work.change().update(Base::Sysauth, &mine, &mut |row| {
        if option {
            row[sysauth::OPTION] = int(1);
        }
    })?;
    if kept == 0 {
        work.change().insert(Base::Sysauth, &[int(grantee.0), int(number), Value::Null, flag(option)])?;
    }
    Ok(())
}

/// The object of ON. ORA-00942 for what is not there, ORA-04043 likewise for units.
fn object_of(work: &Work<'_>, on: &GrantObject) -> Result<(ObjectId, UserId)> {
    match on {
        GrantObject::Directory(name) => {
            let found = work.image.find(UserId::SYS, ObjectKind::Directory, &name.name);
            let object = found.ok_or_else(|| Ora::with(22930, &[]).at(name.pos.0))?;
            Ok((object.object, UserId::SYS))
        }
        GrantObject::Object(name) => {
            let target = work.target(name)?;
            let found = work.names.object(Some(&target.owner_name), &target.name, ObjectKind::Table.namespace());
            let base = || Base::named(&target.name).filter(|_| target.owner == UserId::SYS);
            match (found, base()) {
                (Some(object), _) => Ok((object.object, object.owner_id)),
                (None, Some(base)) => Ok((base.table().object, UserId::SYS)),
                (None, None) => Err(Ora::new(942).at(target.pos)),
            }
        }
    }
}

/// The privileges of a list that the object's kind has. ORA-00990, ORA-02224 (EXECUTE on a table), ORA-02225 (others on a unit).
fn object_privileges(work: &Work<'_>, list: &[Privilege], object: ObjectId) -> Result<Vec<ObjectPrivilege>> {
    use ObjectPrivilege::*;
    let kind = work.image.object(object).map_or(ObjectKind::Table, |object| object.kind);
    let fitting: &[ObjectPrivilege] = match kind {
        ObjectKind::Table => &[Alter, Delete, Index, Insert, Select, Update, References, Read, Debug, Flashback, Lock],
        ObjectKind::View => &[Delete, Insert, Select, Update, References, Read, Debug, Flashback],
        ObjectKind::Sequence => &[Alter, Select],
        ObjectKind::Directory => &[Read, Execute],
        _ => &[Execute, Debug],
    };
    let mut privileges = Vec::new();
    for privilege in list {
        if !privilege.columns.is_empty() {
            // Privileges on single columns would have to be checked column by column.
            return Err(Ora::unsupported().at(privilege.pos.0));
        }
        match privilege.name.as_str() {
            "ALL" | "ALL PRIVILEGES" => privileges.extend_from_slice(fitting),
            "WRITE" if kind == ObjectKind::Directory => privileges.push(Read),
            name => {
                let parsed = ObjectPrivilege::parse(name).ok_or_else(|| Ora::new(990).at(privilege.pos.0))?;
                if !fitting.contains(&parsed) {
                    let code = if parsed == Execute { 2224 } else { 2225 };
                    return Err(Ora::new(code).at(privilege.pos.0));
                }
                privileges.push(parsed);
            }
        }
    }
    Ok(privileges)
}

/// ORA-01031 (ORA-00942 where nothing may be seen) unless the session may grant on the object.
fn require_grantable(
    work: &Work<'_>,
    object: ObjectId,
    owner: UserId,
    list: &[ObjectPrivilege],
    pos: u32,
) -> Result<()> {
    let user = work.session.user;
    let any = owner == user || work.names.is_sysdba() || work.names.has(SystemPrivilege::GrantAnyObjectPrivilege);
    let all = || list.iter().all(|privilege| work.image.has_object_grant(user, object, *privilege, true));
    if any || all() { Ok(()) } else { Err(Ora::new(1031).at(pos)) }
}

fn grant_on(
    work: &mut Work<'_>,
    grantee: UserId,
    object: ObjectId,
    owner: UserId,
    privilege: ObjectPrivilege,
    option: bool,
) -> Result<()> {
    let code = privilege as u8;
    let mine = move |row: &[Value]| {
        as_u32(&row[objauth::OBJ]) == object.0
            && as_u32(&row[objauth::GRANTEE]) == grantee.0
            && as_u32(&row[objauth::PRIVILEGE]) == u32::from(code)
    };
    let kept = work.change().update(Base::Objauth, &mine, &mut |row| {
        if option {
            row[objauth::OPTION] = int(1);
        }
    })?;
    if kept > 0 {
        return Ok(());
    }
    let user = work.session.user;
    let has_option = work.image.has_object_grant(user, object, privilege, true);
    let grantor = if has_option { user } else { owner };
    let mut row = blank(Base::Objauth);
    row[objauth::OBJ] = int(object.0);
    row[objauth::GRANTOR] = int(grantor.0);
    row[objauth::GRANTEE] = int(grantee.0);
    row[objauth::PRIVILEGE] = int(code);
    row[objauth::OPTION] = flag(option);
    work.change().insert(Base::Objauth, &row)
}

pub fn revoke(work: &mut Work<'_>, revoke: &Revoke) -> Result<()> {
    let mut from = Vec::new();
    for grantee in &revoke.from {
        let found = work.image.user_named(&grantee.name.name).map(|user| user.id);
        from.push(found.ok_or_else(|| Ora::with(1917, &[&grantee.name.name]).at(grantee.name.pos.0))?);
    }
    match &revoke.on {
        None => {
            let list = granted(work, &revoke.privileges)?;
            require_admin(work, &list, revoke.pos.0)?;
            let all = revoke.privileges.iter().any(|p| matches!(p.name.as_str(), "ALL" | "ALL PRIVILEGES"));
            for grantee in from {
                for what in &list {
                    revoke_one(work, grantee, what, all, revoke.pos.0)?;
                }
            }
            Ok(())
        }
        Some(on) => {
            let (object, owner) = object_of(work, on)?;
            let list = object_privileges(work, &revoke.privileges, object)?;
            require_grantable(work, object, owner, &list, revoke.pos.0)?;
            let mut removed = 0;
            for grantee in from {
                let mine = |row: &[Value]| {
                    as_u32(&row[objauth::OBJ]) == object.0
                        && as_u32(&row[objauth::GRANTEE]) == grantee.0
                        && list.iter().any(|privilege| as_u32(&row[objauth::PRIVILEGE]) == *privilege as u32)
                };
                removed += work.change().delete(Base::Objauth, &mine)?;
            }
            work.touch(object);
            if removed == 0 { Err(Ora::new(1927).at(revoke.pos.0)) } else { Ok(()) }
        }
    }
}

/// ORA-01952 and ORA-01951 for what was not granted.
fn revoke_one(work: &mut Work<'_>, grantee: UserId, what: &Granted, all: bool, pos: u32) -> Result<()> {
    let number = what.number();
    let removed = work.change().delete(Base::Sysauth, &move |row| {
        as_u32(&row[sysauth::GRANTEE]) == grantee.0 && as_i64(&row[sysauth::PRIVILEGE]) == Some(number)
    })?;
    if removed > 0 || all {
        return Ok(());
    }
    let name = work.image.user_name(grantee);
    Err(match what {
        Granted::System(_) => Ora::with(1952, &[&name]),
        Granted::Role(role) => Ora::with(1951, &[&work.image.user_name(*role), &name]),
    }
    .at(pos))
}
