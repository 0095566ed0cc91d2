//! GRANT and REVOKE.

use crate::inherit::{inherit, of_pair};
use crate::user::add_user;
use crate::work::{Target, Work};
use dictionary::base::{Base, objauth, sysauth};
use dictionary::rows::{Row, as_i64, as_u32, blank, flag, int};
use dictionary::*;
use sql::ast::{Authentication, Grant, GrantObject, Grantee, Ident, Privilege, Revoke, UserOptions};
use types::{ObjectId, Ora, Result, Value};

/// A privilege or role granted without an object.
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

/// Privileges in a password file.
const ADMINISTRATIVE: [&str; 6] = ["SYSDBA", "SYSOPER", "SYSBACKUP", "SYSDG", "SYSKM", "SYSRAC"];

/// The system privileges and roles of a list. ORA-00990, ORA-01919; ORA-00969 for columns, which need an object.
fn granted(work: &Work<'_>, privileges: &[Privilege]) -> Result<Vec<Granted>> {
    let mut list = Vec::new();
    for privilege in privileges {
        if !privilege.columns.is_empty() {
            return Err(Ora::new(969).at(privilege.pos.0));
        }
        if is_all(privilege) {
            // ALL PRIVILEGES excludes those that open the dictionary.
            let all =
                SystemPrivilege::ALL.iter().filter(|privilege| **privilege != SystemPrivilege::SelectAnyDictionary);
            list.extend(all.map(|privilege| Granted::System(*privilege)));
        } else if let Some(system) = SystemPrivilege::parse(&privilege.name) {
            list.push(Granted::System(system));
        } else if ADMINISTRATIVE.contains(&privilege.name.as_str()) {
            // They are kept in a password file, and this instance has none.
            let error = if work.names.is_sysdba() { Ora::new(1994) } else { Ora::new(1031) };
            return Err(error.at(privilege.pos.0));
        } else if privilege.name.contains(' ') {
            return Err(Ora::new(990).at(privilege.pos.0));
        } else {
            let name = Ident { name: privilege.name.clone(), pos: privilege.pos };
            list.push(Granted::Role(work.existing_user(&name, true, 1919)?));
        }
    }
    Ok(list)
}

fn is_all(privilege: &Privilege) -> bool {
    matches!(privilege.name.as_str(), "ALL" | "ALL PRIVILEGES")
}

/// Users, roles and PUBLIC. GRANT ... IDENTIFIED BY creates a user that does not exist. ORA-01917.
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
    let Grant { privileges, on: _, to: _, with_option, pos } = grant;
    match &grant.on {
        None => {
            let list = granted(work, privileges)?;
            require_admin(work, &list, pos.0)?;
            let to = grantees(work, &grant.to)?;
            for grantee in to {
                for what in &list {
                    grant_one(work, grantee, what, *with_option, pos.0)?;
                }
            }
            Ok(())
        }
        Some(GrantObject::Users(users)) => {
            let users = inherited(work, users, privileges)?;
            let to = grantees(work, &grant.to)?;
            for user in users {
                for grantee in &to {
                    inherit(work, user, *grantee)?;
                }
            }
            Ok(())
        }
        Some(on) => {
            let on = object_of(work, on, privileges, pos.0)?;
            let list = object_privileges(work, privileges, &on)?;
            let list = grantable(work, &on, list, pos.0)?;
            if on.kind == ObjectKind::View && on.object.0 >= FIRST_USER_OBJECT && !on.is_fixed {
                let text = work.image.view(on.object)?.map(|view| view.text.clone()).unwrap_or_default();
                let query = sql::parse_query(&text).map_err(|_| has_errors(&on).at(on.pos))?;
                require_view_grantable(work, &on, &query, &list)?;
            }
            let to = grantees(work, &grant.to)?;
            for (grantee, name) in to.iter().zip(&grant.to) {
                check_grantee(work, *grantee, &list, *with_option, name.name.pos.0)?;
            }
            let object = materialize(work, &on)?;
            for grantee in to {
                if grantee == on.owner {
                    continue;
                }
                for wanted in &list {
                    grant_on(work, grantee, (object, on.owner), wanted, *with_option)?;
                }
            }
            work.touch(object);
            Ok(())
        }
    }
}

/// The users whose privileges may be inherited. ORA-01031 for other users than oneself without GRANT ANY OBJECT
/// PRIVILEGE.
fn inherited(work: &Work<'_>, users: &[Ident], privileges: &[Privilege]) -> Result<Vec<UserId>> {
    if let Some(other) = privileges.iter().find(|p| p.name != "INHERIT PRIVILEGES") {
        return Err(Ora::new(990).at(other.pos.0));
    }
    let mut list = Vec::new();
    for user in users {
        let id = work.existing_user(user, false, 1918)?;
        let is_own = id == work.session.user || work.names.is_sysdba();
        if !is_own && (id == UserId::SYS || !work.names.has(SystemPrivilege::GrantAnyObjectPrivilege)) {
            return Err(Ora::new(1031).at(user.pos.0));
        }
        list.push(id);
    }
    Ok(list)
}

/// ORA-01031 (ORA-01932 for roles) unless the session may grant all of the list.
fn require_admin(work: &Work<'_>, list: &[Granted], pos: u32) -> Result<()> {
    if work.names.is_sysdba() {
        return Ok(());
    }
    for what in list {
        let any = match what {
            Granted::System(_) => SystemPrivilege::GrantAnyPrivilege,
            Granted::Role(_) => SystemPrivilege::GrantAnyRole,
        };
        if !work.names.has(any) && !work.image.has_granted(&work.session.grantees(), what.number(), true) {
            return Err(match what {
                Granted::Role(role) => Ora::with(1932, &[&work.image.user_name(*role)]).at(pos),
                Granted::System(_) => Ora::new(1031).at(pos),
            });
        }
    }
    Ok(())
}

fn is_role(work: &Work<'_>, grantee: UserId) -> bool {
    work.image.user(grantee).is_some_and(|user| user.is_role)
}

fn grant_one(work: &mut Work<'_>, grantee: UserId, what: &Granted, option: bool, pos: u32) -> Result<()> {
    if let Granted::Role(role) = what
        && (*role == grantee || work.image.grantees(*role).contains(&grantee.0))
        && grantee != UserId::PUBLIC
    {
        return Err(Ora::new(1934).at(pos));
    }
    if matches!(what, Granted::System(SystemPrivilege::UnlimitedTablespace)) && is_role(work, grantee) {
        return Err(Ora::with(1931, &[&SystemPrivilege::UnlimitedTablespace.name()]).at(pos));
    }
    let number = what.number();
    let mine = move |row: &[Value]| as_i64(&row[sysauth::PRIVILEGE]) == Some(number);
    let mine = By::new(sysauth::GRANTEE, grantee.0).and(&mine);
    let kept = work.change().update_by(Base::Sysauth, mine, &mut |row| {
        if option {
            row[sysauth::OPTION] = int(1);
        }
    })?;
    if kept == 0 {
        work.change().insert(Base::Sysauth, &[int(grantee.0), int(number), Value::Null, flag(option)])?;
    }
    Ok(())
}

/// The object of ON.
struct On {
    object: ObjectId,
    owner: UserId,
    kind: ObjectKind,
    owner_name: String,
    name: String,
    /// A V_$ view: it gets its row of OBJ$ with the first grant.
    is_fixed: bool,
    pos: u32,
}

/// A privilege to grant or revoke, and the columns it is limited to: positions from 1.
struct Wanted {
    privilege: ObjectPrivilege,
    columns: Vec<u32>,
}

/// The object of ON. ORA-00942 for a missing object, ORA-04042 for a missing unit, ORA-02030 for fixed tables.
fn object_of(work: &Work<'_>, on: &GrantObject, privileges: &[Privilege], pos: u32) -> Result<On> {
    let on_object = |def: &ObjectDef, pos: u32| On {
        object: def.object,
        owner: def.owner_id,
        kind: def.kind,
        owner_name: work.image.user_name(def.owner_id),
        name: def.name.clone(),
        is_fixed: false,
        pos,
    };
    match on {
        GrantObject::Directory(name) => {
            let found = work.image.find(UserId::SYS, ObjectKind::Directory, &name.name);
            let object = found.ok_or_else(|| Ora::new(22930).at(name.pos.0))?;
            Ok(on_object(object, name.pos.0))
        }
        GrantObject::Edition(name) => {
            let found = work.image.find(UserId::SYS, ObjectKind::Edition, &name.name);
            let object = found.ok_or_else(|| Ora::new(38802).at(name.pos.0))?;
            Ok(on_object(object, name.pos.0))
        }
        GrantObject::Users(_) => Err(Ora::new(990)),
        GrantObject::Object(name) => {
            let (schema, at) = match name.parts.as_slice() {
                [own] => (None, own.pos.0),
                [schema, own] => (Some(schema.name.as_str()), own.pos.0),
                _ => return Err(Ora::new(926).at(name.pos.0)),
            };
            let executes = !privileges.is_empty() && privileges.iter().all(|privilege| privilege.name == "EXECUTE");
            let missing = || Ora::new(if executes { 4042 } else { 942 }).at(at);
            match work.names.named(schema, name.last())?.ok_or_else(missing)? {
                Named::Object(def) => Ok(On { is_fixed: is_fixed_view(&def), ..on_object(&def, at) }),
                Named::FixedView(name) => Ok(On {
                    object: ObjectId(0),
                    owner: UserId::SYS,
                    kind: ObjectKind::View,
                    owner_name: "SYS".into(),
                    name,
                    is_fixed: true,
                    pos: at,
                }),
                Named::Fixed => Err(Ora::new(2030).at(pos)),
            }
        }
    }
}

/// Whether the view is in OBJ$ only because of a grant on it.
fn is_fixed_view(def: &ObjectDef) -> bool {
    def.owner_id == UserId::SYS && (def.name.starts_with("V_$") || def.name.starts_with("GV_$"))
}

/// The number of the object; a V_$ view gets its number here.
fn materialize(work: &mut Work<'_>, on: &On) -> Result<ObjectId> {
    if on.object.0 != 0 {
        return Ok(on.object);
    }
    let object = work.new_object();
    let target = Target { owner: UserId::SYS, owner_name: "SYS".into(), name: on.name.clone(), pos: on.pos };
    work.insert_object(object, None, &target, ObjectKind::View)?;
    Ok(object)
}

/// The privileges of a list that apply to the object's kind. ORA-00990; ORA-00969 and ORA-00904 for columns; and by
/// kind ORA-02204 (views), ORA-02205 (sequences), ORA-02224 (tables), ORA-02225 (units), ORA-02305 (types), ORA-22928
/// (directories).
fn object_privileges(work: &Work<'_>, list: &[Privilege], on: &On) -> Result<Vec<Wanted>> {
    use ObjectPrivilege::*;
    let (fitting, code): (&[ObjectPrivilege], u32) = match on.kind {
        ObjectKind::Table => {
            (&[Alter, Delete, Index, Insert, Select, Update, References, Read, Debug, Flashback, Lock], 2224)
        }
        ObjectKind::View => (&[Delete, Insert, Select, Update, References, Read, Debug, Flashback], 2204),
        ObjectKind::Sequence => (&[Alter, Select], 2205),
        ObjectKind::Directory => (&[Read, Write, Execute], 22928),
        ObjectKind::Edition => (&[Use], 990),
        ObjectKind::Type => (&[Execute, Debug], 2305),
        _ => (&[Execute, Debug], 2225),
    };
    let mut wanted = Vec::new();
    for privilege in list {
        let columns = columns_of(work, privilege, on)?;
        let by_column = [Insert, Update, References];
        if is_all(privilege) {
            let all = fitting.iter().filter(|privilege| columns.is_empty() || by_column.contains(privilege));
            wanted.extend(all.map(|privilege| Wanted { privilege: *privilege, columns: columns.clone() }));
            continue;
        }
        let parsed = ObjectPrivilege::parse(&privilege.name).ok_or_else(|| Ora::new(990).at(privilege.pos.0))?;
        if !fitting.contains(&parsed) {
            let code = if on.kind == ObjectKind::Table && parsed != Execute { 990 } else { code };
            return Err(Ora::new(code).at(privilege.pos.0));
        }
        if !columns.is_empty() && !by_column.contains(&parsed) {
            return Err(Ora::new(969).at(privilege.pos.0));
        }
        wanted.push(Wanted { privilege: parsed, columns });
    }
    Ok(wanted)
}

fn columns_of(work: &Work<'_>, privilege: &Privilege, on: &On) -> Result<Vec<u32>> {
    let Privilege { name: _, columns: _, pos } = privilege;
    if privilege.columns.is_empty() {
        return Ok(Vec::new());
    }
    if !matches!(on.kind, ObjectKind::Table | ObjectKind::View) {
        return Err(Ora::new(969).at(pos.0));
    }
    let columns = work.image.columns(on.object)?;
    let mut list = Vec::new();
    for name in &privilege.columns {
        let at = columns.iter().position(|column| column.name == name.name && !column.hidden);
        let at = at.ok_or_else(|| crate::work::no_column(name))? as u32 + 1;
        if !list.contains(&at) {
            list.push(at);
        }
    }
    Ok(list)
}

/// The privileges of the list that the session may grant: all of them, or for ALL those it has with the grant option.
/// ORA-01031.
fn grantable(work: &Work<'_>, on: &On, list: Vec<Wanted>, pos: u32) -> Result<Vec<Wanted>> {
    let user = work.session.user;
    let any = SystemPrivilege::GrantAnyObjectPrivilege;
    let reaches = on.owner != UserId::SYS || matches!(on.kind, ObjectKind::Directory | ObjectKind::Edition);
    if on.owner == user || work.names.is_sysdba() || (reaches && work.names.has(any)) {
        return Ok(list);
    }
    let has = |wanted: &Wanted| {
        let on_column = |column: &u32| work.image.has_column_grant(user, on.object, wanted.privilege, *column, true);
        on_column(&0) || (!wanted.columns.is_empty() && wanted.columns.iter().all(on_column))
    };
    if list.iter().all(has) { Ok(list) } else { Err(Ora::new(1031).at(pos)) }
}

/// Checks a grantee: ORA-01749, ORA-01926, ORA-01931.
fn check_grantee(work: &Work<'_>, grantee: UserId, list: &[Wanted], option: bool, pos: u32) -> Result<()> {
    if grantee == work.session.user {
        return Err(Ora::new(1749).at(pos));
    }
    if !is_role(work, grantee) {
        return Ok(());
    }
    if option {
        return Err(Ora::new(1926).at(pos));
    }
    let bound = [ObjectPrivilege::References, ObjectPrivilege::Index];
    match list.iter().find(|wanted| bound.contains(&wanted.privilege)) {
        Some(wanted) => Err(Ora::with(1931, &[&wanted.privilege.name()]).at(pos)),
        None => Ok(()),
    }
}

fn has_errors(on: &On) -> Ora {
    Ora::with(4063, &[&format!("view \"{}.{}\"", on.owner_name, on.name)])
}

/// ORA-01720 unless the view's owner may grant each privilege on all objects of other users that the view's query uses.
fn require_view_grantable(work: &mut Work<'_>, on: &On, query: &sql::ast::Query, list: &[Wanted]) -> Result<()> {
    use ObjectPrivilege as P;
    let used = work.host.used_objects(query, on.owner).map_err(|_| has_errors(on).at(on.pos))?;
    for object in used {
        let def = work.image.object(object).cloned();
        let (owner, kind) = def.as_ref().map_or((UserId::SYS, ObjectKind::View), |def| (def.owner_id, def.kind));
        for wanted in list {
            let needed = match (kind, wanted.privilege) {
                (ObjectKind::Table | ObjectKind::View, P::Insert | P::Update | P::Delete) if owner != UserId::SYS => {
                    wanted.privilege
                }
                (ObjectKind::Table | ObjectKind::View, P::Read) => P::Read,
                (ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence, _) => P::Select,
                _ => P::Execute,
            };
            if !work.names.may_give(on.owner, object, owner, needed) {
                let name = def.as_ref().map_or_else(String::new, |def| def.name.clone());
                return Err(Ora::with(1720, &[&work.image.user_name(owner), &name]).at(on.pos));
            }
        }
    }
    Ok(())
}

/// ORA-01720 when a view with grants to others gets a query that could not be granted to them.
pub fn require_still_grantable(
    work: &mut Work<'_>,
    view: ObjectId,
    target: &Target,
    query: &sql::ast::Query,
) -> Result<()> {
    let mut list: Vec<Wanted> = Vec::new();
    for grant in work.image.object_grants(view) {
        let known = |code: u8| list.iter().any(|wanted| wanted.privilege as u8 == code);
        if grant.grantee != target.owner && !known(grant.privilege) {
            let privilege = ObjectPrivilege::from_code(grant.privilege);
            list.extend(privilege.map(|privilege| Wanted { privilege, columns: Vec::new() }));
        }
    }
    if list.is_empty() {
        return Ok(());
    }
    let on = On {
        object: view,
        owner: target.owner,
        kind: ObjectKind::View,
        owner_name: target.owner_name.clone(),
        name: target.name.clone(),
        is_fixed: false,
        pos: target.pos,
    };
    require_view_grantable(work, &on, query, &list)
}

fn grant_on(
    work: &mut Work<'_>,
    grantee: UserId,
    (object, owner): (ObjectId, UserId),
    wanted: &Wanted,
    option: bool,
) -> Result<()> {
    let code = wanted.privilege as u8;
    let user = work.session.user;
    let columns = if wanted.columns.is_empty() { vec![0] } else { wanted.columns.clone() };
    for column in columns {
        let grants = |column| work.image.has_column_grant(user, object, wanted.privilege, column, true);
        let grantor = if user != owner && (grants(0) || grants(column)) { user } else { owner };
        let mine = move |row: &[Value]| {
            as_u32(&row[objauth::GRANTOR]) == grantor.0
                && as_u32(&row[objauth::GRANTEE]) == grantee.0
                && as_u32(&row[objauth::PRIVILEGE]) == u32::from(code)
                && as_u32(&row[objauth::COL]) == column
        };
        let mine = By::new(objauth::OBJ, object.0).and(&mine);
        let kept = work.change().update_by(Base::Objauth, mine, &mut |row| {
            if option {
                row[objauth::OPTION] = int(1);
            }
        })?;
        if kept > 0 {
            continue;
        }
        let mut row = blank(Base::Objauth);
        row[objauth::OBJ] = int(object.0);
        row[objauth::GRANTOR] = int(grantor.0);
        row[objauth::GRANTEE] = int(grantee.0);
        row[objauth::PRIVILEGE] = int(code);
        if column != 0 {
            row[objauth::COL] = int(column);
        }
        row[objauth::OPTION] = flag(option);
        work.change().insert(Base::Objauth, &row)?;
    }
    Ok(())
}

pub fn revoke(work: &mut Work<'_>, revoke: &Revoke) -> Result<()> {
    let Revoke { privileges, on: _, from: _, cascade, pos } = revoke;
    let mut from = Vec::new();
    for grantee in &revoke.from {
        let found = work.image.user_named(&grantee.name.name).map(|user| user.id);
        from.push(found.ok_or_else(|| Ora::with(1917, &[&grantee.name.name]).at(grantee.name.pos.0))?);
    }
    match &revoke.on {
        None => {
            let list = granted(work, privileges)?;
            require_admin(work, &list, pos.0)?;
            let all = privileges.iter().any(is_all);
            for grantee in from {
                for what in &list {
                    revoke_one(work, grantee, what, all, pos.0)?;
                }
            }
            Ok(())
        }
        Some(GrantObject::Users(users)) => {
            for user in inherited(work, users, privileges)? {
                for grantee in &from {
                    if work.change().delete(Base::Userauth, &of_pair(user, *grantee))? == 0 {
                        return Err(Ora::new(1927).at(pos.0));
                    }
                }
            }
            Ok(())
        }
        Some(on) => {
            let on = object_of(work, on, privileges, pos.0)?;
            if let Some(privilege) = privileges.iter().find(|privilege| !privilege.columns.is_empty()) {
                return Err(Ora::new(1750).at(privilege.pos.0));
            }
            let list = object_privileges(work, privileges, &on)?;
            let all = privileges.iter().any(is_all);
            for (grantee, name) in from.iter().zip(&revoke.from) {
                if *grantee == work.session.user {
                    return Err(Ora::new(1749).at(name.name.pos.0));
                }
                for wanted in &list {
                    let lost = revoke_on(work, &on, *grantee, wanted.privilege)?;
                    if lost.is_empty() && !all {
                        return Err(Ora::new(1927).at(pos.0));
                    }
                    if wanted.privilege == ObjectPrivilege::Execute {
                        crate::virtual_column::disable_indexes_of(work, on.object, &lost)?;
                    }
                    if wanted.privilege == ObjectPrivilege::References {
                        for grantee in lost {
                            remove_keys_of(work, on.object, grantee, *cascade, pos.0)?;
                        }
                    }
                }
            }
            work.touch(on.object);
            work.note_redefined(on.object);
            Ok(())
        }
    }
}

/// Revokes a privilege that the session has granted, or that the owner has granted if the session may act for the
/// owner. Also revokes every grant that no chain of grants with the grant option connects to the owner any more,
/// including cycles of such grants. Returns the users that have lost something.
fn revoke_on(work: &mut Work<'_>, on: &On, grantee: UserId, privilege: ObjectPrivilege) -> Result<Vec<UserId>> {
    let user = work.session.user;
    let by = |grantor: UserId| {
        let is_it = |grant: &image::ObjectGrant| {
            grant.grantor == grantor && grant.grantee == grantee && grant.privilege == privilege as u8
        };
        work.image.object_grants(on.object).iter().any(is_it)
    };
    let any = SystemPrivilege::GrantAnyObjectPrivilege;
    let reaches = on.owner != UserId::SYS || matches!(on.kind, ObjectKind::Directory | ObjectKind::Edition);
    let for_owner = user == on.owner || work.names.is_sysdba() || (reaches && work.names.has(any));
    let grantor = match () {
        () if by(user) => user,
        () if for_owner && by(on.owner) => on.owner,
        () => return Ok(Vec::new()),
    };
    let (object, owner) = (on.object, on.owner);
    let about = move |row: &[Value]| as_u32(&row[objauth::PRIVILEGE]) == privilege as u32;
    let is_from =
        move |row: &[Value]| as_u32(&row[objauth::GRANTOR]) == grantor.0 && as_u32(&row[objauth::GRANTEE]) == grantee.0;
    let there = work.select_by(Base::Objauth, By::new(objauth::OBJ, object.0).and(&about))?;
    let left: Vec<Row> = there.into_iter().filter(|row| !is_from(row)).collect();
    let options = options_from(&left, owner);
    let is_void = move |row: &[Value]| is_from(row) || !is_passed_on(row, owner, &options);
    let mut lost = vec![grantee];
    for row in left.iter().filter(|row| is_void(row)) {
        let grantee = UserId(as_u32(&row[objauth::GRANTEE]));
        if !lost.contains(&grantee) {
            lost.push(grantee);
        }
    }
    let void = |row: &[Value]| about(row) && is_void(row);
    work.change().delete_by(Base::Objauth, By::new(objauth::OBJ, object.0).and(&void))?;
    Ok(lost)
}

/// The users that may pass a privilege on, by a chain of grants from the owner, each with the column, 0 for the whole
/// object.
fn options_from(rows: &[Row], owner: UserId) -> Vec<(UserId, u32)> {
    let mut options: Vec<(UserId, u32)> = Vec::new();
    loop {
        let is_new = |row: &&Row| {
            let option = (UserId(as_u32(&row[objauth::GRANTEE])), as_u32(&row[objauth::COL]));
            as_i64(&row[objauth::OPTION]) == Some(1) && !options.contains(&option) && is_passed_on(row, owner, &options)
        };
        let Some(row) = rows.iter().find(is_new) else { return options };
        options.push((UserId(as_u32(&row[objauth::GRANTEE])), as_u32(&row[objauth::COL])));
    }
}

/// Whether a grant comes from the owner, or from a user that may pass it on.
fn is_passed_on(row: &[Value], owner: UserId, options: &[(UserId, u32)]) -> bool {
    let (grantor, column) = (UserId(as_u32(&row[objauth::GRANTOR])), as_u32(&row[objauth::COL]));
    let gives =
        |(holder, of): &(UserId, u32)| (*holder == grantor || *holder == UserId::PUBLIC) && (*of == 0 || *of == column);
    grantor == owner || options.iter().any(gives)
}

/// Removes the foreign keys that depended on REFERENCES. ORA-01981 without CASCADE CONSTRAINTS.
fn remove_keys_of(work: &mut Work<'_>, object: ObjectId, grantee: UserId, cascade: bool, pos: u32) -> Result<()> {
    let Some(table) = work.image.table(object)? else { return Ok(()) };
    for reference in &table.referenced_by {
        let Some(owner) = work.image.object(reference.from_table).map(|def| def.owner_id) else { continue };
        if owner == table.owner_id || (owner != grantee && grantee != UserId::PUBLIC) {
            continue;
        }
        if !cascade {
            return Err(Ora::new(1981).at(pos));
        }
        crate::constraint::remove_reference(work, reference)?;
    }
    Ok(())
}

/// ORA-01952 and ORA-01951 for a privilege or role that was not granted.
fn revoke_one(work: &mut Work<'_>, grantee: UserId, what: &Granted, all: bool, pos: u32) -> Result<()> {
    let number = what.number();
    let mine = |row: &[Value]| as_i64(&row[sysauth::PRIVILEGE]) == Some(number);
    let removed = work.change().delete_by(Base::Sysauth, By::new(sysauth::GRANTEE, grantee.0).and(&mine))?;
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
