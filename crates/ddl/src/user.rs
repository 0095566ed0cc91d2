//! Users and roles.

use crate::work::{Work, by};
use dictionary::base::{
    Base, defrole, job, objauth, scheduler_argument, scheduler_job, scheduler_program, scheduler_schedule, sysauth,
    user, userauth,
};
use dictionary::rows::{Row, as_u32, blank, flag, int, text};
use dictionary::*;
use sql::ast::{
    AlterUser, Authentication, CreateRole, CreateUser, DropKind, DropObject, Ident, RoleName, SetRole, UserOptions,
};
use types::{ObjectId, Ora, Result, Value};

/// Largest number of bytes of a password.
const PASSWORD_MAX: usize = 1024;

/// Bits of ASTATUS.
const EXPIRED: i64 = 1;
const LOCKED: i64 = 8;

pub fn create(work: &mut Work<'_>, create: &CreateUser) -> Result<()> {
    require(work, SystemPrivilege::CreateUser, create.pos.0)?;
    require_new(work, &create.name, 1920)?;
    if create.options.authentication.is_none() {
        return Err(Ora::new(922).at(create.name.pos.0));
    }
    add_user(work, &create.name, &create.options).map(drop)
}

fn require(work: &Work<'_>, privilege: SystemPrivilege, pos: u32) -> Result<()> {
    if work.names.has(privilege) { Ok(()) } else { Err(Ora::new(1031).at(pos)) }
}

fn require_new(work: &Work<'_>, name: &Ident, code: u32) -> Result<()> {
    match work.image.user_named(&name.name) {
        Some(_) => Err(Ora::with(code, &[&name.name]).at(name.pos.0)),
        None => Ok(()),
    }
}

/// Inserts a user: CREATE USER, and GRANT ... IDENTIFIED BY.
pub fn add_user(work: &mut Work<'_>, name: &Ident, options: &UserOptions) -> Result<UserId> {
    let id = work.host.parts().dict.shared().next_user();
    let mut row = blank(Base::User);
    row[user::USER] = int(id.0);
    row[user::NAME] = text(name.name.as_str());
    row[user::TYPE] = flag(true);
    let (data, temp) = crate::quota::defaults(work)?;
    row[user::DATATS] = int(data);
    row[user::TEMPTS] = temp.map_or(Value::Null, int);
    row[user::CTIME] = Value::Date(work.now);
    row[user::ASTATUS] = int(0);
    row[user::PROFILE] = text("DEFAULT");
    row[user::DEFROLE] = int(DefaultRoles::All.code());
    set_options(work, &mut row, options)?;
    work.change().insert(Base::User, &row)?;
    work.change().insert(Base::UserLogon, &dictionary::logons::new_row(id))?;
    // All units may run with the privileges of a new user, until that is revoked.
    crate::inherit::inherit(work, id, UserId::PUBLIC)?;
    Ok(id)
}

/// Changes a user's row according to the clauses.
fn set_options(work: &mut Work<'_>, row: &mut Row, options: &UserOptions) -> Result<()> {
    let UserOptions {
        authentication,
        // Checked by ALTER USER.
        replace: _,
        default_tablespace,
        temporary_tablespace,
        quotas,
        profile,
        account_locked,
        password_expire,
        default_role,
    } = options;
    if let Some(profile) = profile {
        if work.image.profiles().number(&profile.name).is_none() {
            return Err(Ora::with(2380, &[&profile.name]).at(profile.pos.0));
        }
        row[user::PROFILE] = text(profile.name.as_str());
    }
    match authentication {
        Some(Authentication::Password(password)) => {
            if password.len() > PASSWORD_MAX {
                return Err(Ora::with(28218, &[&PASSWORD_MAX]));
            }
            let salt = work.host.salt();
            let mut verifier = Verifier::new(password, salt);
            if work.host.makes_11g() {
                verifier = verifier.with_11g(password, work.host.salt());
            }
            crate::profile::note_password(work, row, password, &verifier)?;
            row[user::SPARE4] = text(verifier.to_text());
            row[user::PTIME] = Value::Date(work.now);
            set_status(row, EXPIRED, false);
        }
        Some(Authentication::Verifier(given)) => match Verifier::from_text(given) {
            Some(verifier) => {
                row[user::SPARE4] = text(verifier.to_text());
                row[user::PTIME] = Value::Date(work.now);
            }
            None => return Err(Ora::new(2153)),
        },
        Some(Authentication::None) => row[user::SPARE4] = Value::Null,
        Some(Authentication::Externally | Authentication::Globally) => return Err(Ora::unsupported()),
        Some(Authentication::Using(name)) => return Err(Ora::new(922).at(name.pos.0)),
        None => {}
    }
    if let Some(name) = default_tablespace {
        row[user::DATATS] = int(crate::quota::default_for_user(work, name, false)?);
    }
    if let Some(name) = temporary_tablespace {
        row[user::TEMPTS] = int(crate::quota::default_for_user(work, name, true)?);
    }
    let id = UserId(as_u32(&row[user::USER]));
    for (name, quota) in quotas {
        crate::quota::set(work, id, name, quota)?;
    }
    if let Some(locked) = *account_locked {
        set_status(row, LOCKED, locked);
        row[user::LTIME] = if locked { Value::Date(work.now) } else { Value::Null };
        if !locked {
            // Failed logons counted so far are void.
            let seq = dictionary::rows::as_i64(&row[user::LSEQ]).unwrap_or(0);
            row[user::LSEQ] = int(seq + 1);
        }
    }
    if *password_expire {
        set_status(row, EXPIRED, true);
    }
    if let Some(roles) = default_role {
        row[user::DEFROLE] = int(set_default_roles(work, id, roles)?.code());
    }
    Ok(())
}

/// DEFAULT ROLE: replaces the list. ORA-01919, and ORA-01955 for roles that were not granted directly.
fn set_default_roles(work: &mut Work<'_>, id: UserId, roles: &SetRole) -> Result<DefaultRoles> {
    let (kind, list) = match roles {
        SetRole::None => (DefaultRoles::None, &[][..]),
        SetRole::AllExcept(list) if list.is_empty() => (DefaultRoles::All, &[][..]),
        SetRole::AllExcept(list) => (DefaultRoles::AllExcept, list.as_slice()),
        SetRole::Roles(list) => (DefaultRoles::Listed, list.as_slice()),
    };
    let mut numbers = Vec::new();
    for RoleName { name, password: _ } in list {
        let role = work.existing_user(name, true, 1919)?;
        if !work.image.direct_roles(id).any(|granted| granted == role) {
            return Err(Ora::with(1955, &[&name.name]).at(name.pos.0));
        }
        numbers.push(role);
    }
    work.change().delete_by(Base::Defrole, By::new(defrole::USER, id.0))?;
    for role in numbers {
        work.change().insert(Base::Defrole, &[int(id.0), int(role.0)])?;
    }
    Ok(kind)
}

fn set_status(row: &mut Row, bit: i64, on: bool) {
    let old = dictionary::rows::as_i64(&row[user::ASTATUS]).unwrap_or(0);
    row[user::ASTATUS] = int(if on { old | bit } else { old & !bit });
}

pub fn alter(work: &mut Work<'_>, alter: &AlterUser) -> Result<()> {
    // Only a user who may alter users is told whether the user exists.
    if work.image.user_named(&alter.name.name).is_none_or(|user| user.id != work.session.user) {
        require(work, SystemPrivilege::AlterUser, alter.pos.0)?;
    }
    let id = work.existing_user(&alter.name, false, 1918)?;
    // A user may change only the own password.
    let only_password = UserOptions {
        authentication: alter.options.authentication.clone(),
        replace: alter.options.replace.clone(),
        ..UserOptions::default()
    };
    if alter.options != only_password {
        require(work, SystemPrivilege::AlterUser, alter.pos.0)?;
    }
    // A user who can set the password of SYS has the power of SYS.
    if id == UserId::SYS && !work.names.is_sysdba() {
        return Err(Ora::new(1031).at(alter.pos.0));
    }
    let mine = By::new(user::USER, id.0);
    let rows = work.select_by(Base::User, mine)?;
    let Some(mut row) = rows.into_iter().next() else {
        return Err(Ora::with(1918, &[&alter.name.name]).at(alter.name.pos.0));
    };
    if let Some(old) = &alter.options.replace {
        let verifier = Verifier::from_text(dictionary::rows::as_text(&row[user::SPARE4]));
        if !verifier.is_some_and(|verifier| verifier.matches(old)) {
            return Err(Ora::new(28008));
        }
    }
    set_options(work, &mut row, &alter.options)?;
    work.change().update_by(Base::User, mine, &mut |old| *old = row.clone())?;
    Ok(())
}

pub fn create_role(work: &mut Work<'_>, create: &CreateRole) -> Result<()> {
    let CreateRole { name, authentication: _, pos } = create;
    require(work, SystemPrivilege::CreateRole, pos.0)?;
    require_new(work, name, 1921)?;
    let verifier = role_verifier(work, create)?;
    let id = work.host.parts().dict.shared().next_user();
    let mut row = blank(Base::User);
    row[user::USER] = int(id.0);
    row[user::NAME] = text(name.name.as_str());
    row[user::TYPE] = flag(false);
    row[user::CTIME] = Value::Date(work.now);
    row[user::ASTATUS] = int(0);
    row[user::SPARE4] = verifier;
    work.change().insert(Base::User, &row)?;
    // The creator of a role gets it with the admin option.
    let creator = work.session.user;
    work.change().insert(Base::Sysauth, &[int(creator.0), int(id.0), Value::Null, int(1)])
}

/// ALTER ROLE: changes the authentication for later uses of SET ROLE.
pub fn alter_role(work: &mut Work<'_>, alter: &CreateRole) -> Result<()> {
    let found = work.image.user_named(&alter.name.name).filter(|user| user.is_role && user.id != UserId::PUBLIC);
    let id = found.map(|user| user.id);
    let is_admin = id.is_some_and(|id| work.image.has_granted(&work.session.grantees(), i64::from(id.0), true));
    if !is_admin {
        require(work, SystemPrivilege::AlterAnyRole, alter.pos.0)?;
    }
    let id = id.ok_or_else(|| Ora::with(1919, &[&alter.name.name]).at(alter.name.pos.0))?;
    let verifier = role_verifier(work, alter)?;
    let mine = By::new(user::USER, id.0);
    work.change().update_by(Base::User, mine, &mut |row| row[user::SPARE4] = verifier.clone()).map(drop)
}

/// The authentication of a role in the form of SPARE4.
fn role_verifier(work: &mut Work<'_>, create: &CreateRole) -> Result<Value> {
    Ok(match &create.authentication {
        None | Some(Authentication::None) => Value::Null,
        Some(Authentication::Password(password)) => text(Verifier::new(password, work.host.salt()).to_text()),
        // The package need not exist yet.
        Some(Authentication::Using(name)) => {
            let package = work.target(name)?;
            text(EnabledBy { owner: package.owner_name, name: package.name }.to_text())
        }
        Some(Authentication::Verifier(_) | Authentication::Externally | Authentication::Globally) => {
            return Err(Ora::unsupported().at(create.pos.0));
        }
    })
}

/// DROP USER and DROP ROLE.
pub fn drop_user(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    let role = drop.kind == DropKind::Role;
    let name = Ident { name: drop.name.last().to_owned(), pos: drop.name.pos };
    let privilege = if role { SystemPrivilege::DropAnyRole } else { SystemPrivilege::DropUser };
    let found = work.image.user_named(&name.name).filter(|user| user.is_role && role);
    let is_admin =
        found.is_some_and(|found| work.image.has_granted(&work.session.grantees(), i64::from(found.id.0), true));
    if !is_admin {
        require(work, privilege, drop.pos.0)?;
    }
    let id = work.existing_user(&name, role, if role { 1919 } else { 1918 })?;
    if id.0 < 100 {
        return Err(Ora::new(if role { 1031 } else { 28050 }).at(name.pos.0));
    }
    if id == work.session.user || !role && work.host.is_connected(id) {
        return Err(Ora::new(1940).at(name.pos.0));
    }
    if !role {
        drop_objects(work, id, drop.cascade, &name)?;
        crate::event_trigger::remove_of_schema(work, id, &name.name)?;
    }
    work.change().delete_by(Base::User, By::new(user::USER, id.0))?;
    work.change().delete(Base::AuditOption, &move |row| {
        dictionary::rows::as_i64(&row[dictionary::base::audit_option::USER]) == Some(i64::from(id.0))
    })?;
    work.change().delete(Base::AudPolicyUser, &move |row| {
        dictionary::rows::as_i64(&row[dictionary::base::aud_policy_user::USER]) == Some(i64::from(id.0))
    })?;
    work.change().delete(Base::UserHistory, &move |row| as_u32(&row[dictionary::base::user_history::USER]) == id.0)?;
    if !role {
        let parts = work.host.parts();
        parts.dict.shared().forget_logons(parts.p, id)?;
        // A job refers to its owner by name, and the next user with that name is another one.
        let owner = name.name.clone();
        let of_owner = |at: usize| {
            let owner = owner.clone();
            move |row: &[types::Value]| dictionary::rows::as_text(&row[at]) == owner
        };
        work.change().delete(Base::Job, &of_owner(job::POWNER))?;
        work.change().delete(Base::SchedulerJob, &of_owner(scheduler_job::OWNER))?;
        work.change().delete(Base::SchedulerProgram, &of_owner(scheduler_program::OWNER))?;
        work.change().delete(Base::SchedulerSchedule, &of_owner(scheduler_schedule::OWNER))?;
        work.change().delete(Base::SchedulerArgument, &of_owner(scheduler_argument::OWNER))?;
    }
    work.change().delete(Base::Tsq, &move |row| as_u32(&row[dictionary::base::tsq::USER]) == id.0)?;
    work.change().delete(Base::Defrole, &move |row| {
        as_u32(&row[defrole::USER]) == id.0 || as_u32(&row[defrole::ROLE]) == id.0
    })?;
    crate::proxy::forget(work, id)?;
    work.change().delete(Base::Userauth, &move |row| {
        as_u32(&row[userauth::USER]) == id.0 || as_u32(&row[userauth::GRANTEE]) == id.0
    })?;
    let number = i64::from(id.0);
    work.change().delete(Base::Sysauth, &move |row| {
        let privilege = dictionary::rows::as_i64(&row[sysauth::PRIVILEGE]);
        as_u32(&row[sysauth::GRANTEE]) == id.0 || privilege == Some(number)
    })?;
    work.change().delete(Base::Objauth, &move |row| {
        as_u32(&row[objauth::GRANTEE]) == id.0 || as_u32(&row[objauth::GRANTOR]) == id.0
    })?;
    Ok(())
}

fn drop_objects(work: &mut Work<'_>, owner: UserId, cascade: bool, name: &Ident) -> Result<()> {
    let owned = work.image.objects_of(owner).into_iter();
    let mut owned: Vec<(ObjectKind, ObjectId)> = owned.map(|object| (object.kind, object.object)).collect();
    // Partitions go with their tables and indexes, segments of LOBs with their tables, materialized views with the
    // tables of their rows.
    use ObjectKind::{IndexPartition, Lob, MaterializedView, TablePartition};
    owned.retain(|(kind, _)| !matches!(kind, TablePartition | IndexPartition | Lob | MaterializedView));
    if owned.is_empty() {
        return Ok(());
    }
    if !cascade {
        return Err(Ora::with(1922, &[&name.name]).at(name.pos.0));
    }
    // Calls that run its units are waited for before anything is dropped.
    for (_, object) in &owned {
        work.claim_unit(*object)?;
    }
    // Tables first: their indexes and triggers are dropped with them, and clusters must be empty.
    owned.sort_unstable_by_key(|(kind, object)| (*kind != ObjectKind::Table, *kind != ObjectKind::Cluster, *object));
    for (kind, object) in owned {
        match kind {
            ObjectKind::Table => crate::drop::table(work, object, true, name.pos.0)?,
            ObjectKind::Cluster => crate::drop::cluster_with_tables(work, object)?,
            ObjectKind::View => crate::drop::view(work, object)?,
            ObjectKind::Sequence => crate::drop::sequence(work, object)?,
            ObjectKind::Synonym => {
                work.change().delete_by(Base::Syn, by(dictionary::base::syn::OBJ, object))?;
                work.delete_object(object)?;
            }
            // An index on another user's table is dropped separately; one on an own table is gone already.
            ObjectKind::Index => {
                if let Some(index) = work.image.index(object)?
                    && work.image.object(index.table).is_some_and(|table| table.owner_id != owner)
                {
                    crate::index_rows::remove(work, &index)?;
                }
            }
            // A trigger on an own table is gone already.
            ObjectKind::Trigger => {
                if let Some(table) = work.image.trigger_base(object)
                    && (table == NO_BASE || work.image.object(table).is_some_and(|table| table.owner_id != owner))
                {
                    crate::trigger::remove(work, object, table)?;
                }
            }
            _ => crate::stored::remove_unit(work, object)?,
        }
    }
    Ok(())
}
