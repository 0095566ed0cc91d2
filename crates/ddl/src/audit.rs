//! AUDIT, NOAUDIT, and audit policies. They take effect for sessions that open afterwards.

use crate::work::Work;
use dictionary::audit::{ACTIONS, OBJECT_ACTIONS, action_of_privilege, actions_of};
use dictionary::base::{Base, aud_policy, aud_policy_option, aud_policy_user, audit_option};
use dictionary::rows::{Row, as_i64, as_text, as_u32, flag, int, text};
use dictionary::{Catalog, ObjectKind, Resolved, SystemPrivilege, UserId};
use sql::ast::{Audit, AuditChange, AuditPolicy, AuditWhat, DropObject, Ident, Name, Pos};
use types::{Ora, Result, Value};

const STATEMENT: i64 = 0;
const PRIVILEGE: i64 = 1;
const OBJECT: i64 = 2;

fn require_system(work: &Work<'_>, pos: Pos) -> Result<()> {
    if work.names.has(SystemPrivilege::AuditSystem) { Ok(()) } else { Err(Ora::new(1031).at(pos.0)) }
}

/// AUDIT and NOAUDIT.
pub fn audit(work: &mut Work<'_>, audit: &Audit) -> Result<()> {
    let Audit { noaudit, what, users, except, whenever, pos } = audit;
    let mut ids: Vec<Option<UserId>> = Vec::new();
    for user in users {
        ids.push(Some(work.existing_user(user, false, 1918)?));
    }
    if ids.is_empty() {
        ids.push(None);
    }
    match what {
        AuditWhat::Policy(name) => {
            require_system(work, *pos)?;
            enable(work, name, &ids, *except, *whenever, *noaudit)
        }
        AuditWhat::Options(options) => {
            require_system(work, *pos)?;
            for (option, at) in options {
                let kind = if actions_of(option).is_some() {
                    STATEMENT
                } else if SystemPrivilege::parse(option).is_some() && action_of_privilege(option).is_some() {
                    PRIVILEGE
                } else if SystemPrivilege::parse(option).is_some() || option.starts_with("ALL") {
                    return Err(Ora::unsupported().at(at.0));
                } else {
                    return Err(Ora::new(956).at(at.0));
                };
                for user in &ids {
                    set(work, &Option_ { user: *user, kind, option, object: None }, *whenever, *noaudit)?;
                }
            }
            Ok(())
        }
        AuditWhat::Object { actions, on } => {
            if !users.is_empty() {
                return Err(Ora::new(981).at(pos.0));
            }
            let object = audited(work, on)?;
            for (action, at) in actions {
                if !OBJECT_ACTIONS.contains(&action.as_str()) {
                    return Err(Ora::new(956).at(at.0));
                }
                let option = Option_ { user: None, kind: OBJECT, option: action, object: Some(object) };
                set(work, &option, *whenever, *noaudit)?;
            }
            Ok(())
        }
    }
}

/// The number of an object that the user may have audited: its own, or any with AUDIT ANY.
fn audited(work: &Work<'_>, name: &Name) -> Result<u32> {
    let missing = || Ora::new(942).at(name.pos.0);
    let (object, owner) = match work.names.relation(name.qualifier(), name.last())? {
        Some(Resolved::Table(table)) => (table.object, table.owner_id),
        Some(Resolved::View(view)) if !view.catalog => (view.object, view.owner_id),
        Some(_) => return Err(Ora::new(1930).at(name.pos.0)),
        None => {
            let (space, any) = (ObjectKind::Sequence.namespace(), SystemPrivilege::AuditAny);
            let found = work.names.object_for(name.qualifier(), name.last(), space, any);
            let kinds = [ObjectKind::Table, ObjectKind::View, ObjectKind::Sequence];
            let found = found.filter(|def| kinds.contains(&def.kind)).ok_or_else(missing)?;
            (found.object, found.owner_id)
        }
    };
    if owner != work.session.user && !work.names.has(SystemPrivilege::AuditAny) {
        return Err(Ora::new(1031).at(name.pos.0));
    }
    Ok(object.0)
}

/// The subject of a row of AUDIT$.
struct Option_<'a> {
    user: Option<UserId>,
    kind: i64,
    option: &'a str,
    object: Option<u32>,
}

fn set(work: &mut Work<'_>, what: &Option_<'_>, whenever: Option<bool>, noaudit: bool) -> Result<()> {
    let Option_ { user, kind, option, object } = *what;
    let (user, name) = (user.map(|user| i64::from(user.0)), option.to_owned());
    let mine = move |row: &[Value]| {
        as_i64(&row[audit_option::USER]) == user
            && as_i64(&row[audit_option::KIND]) == Some(kind)
            && as_text(&row[audit_option::OPTION]) == name
            && as_i64(&row[audit_option::OBJ]) == object.map(i64::from)
    };
    let (success, failure) = (whenever != Some(false), whenever != Some(true));
    let is_on = |value: &Value| as_i64(value) == Some(1);
    let old = work.select(Base::AuditOption, &mine)?;
    let had = old
        .first()
        .map_or((false, false), |row| (is_on(&row[audit_option::SUCCESS]), is_on(&row[audit_option::FAILURE])));
    let now = match noaudit {
        true => (had.0 && !success, had.1 && !failure),
        false => (had.0 || success, had.1 || failure),
    };
    work.change().delete(Base::AuditOption, &mine)?;
    if now.0 || now.1 {
        let id = |n: Option<i64>| n.map_or(Value::Null, int);
        let row = [id(user), int(kind), text(option), id(object.map(i64::from)), flag(now.0), flag(now.1)];
        work.change().insert(Base::AuditOption, &row)?;
    }
    Ok(())
}

fn policy_of(work: &Work<'_>, name: &Ident) -> Result<u32> {
    work.image.audit().policy(&name.name).ok_or_else(|| Ora::with(46358, &[&name.name]).at(name.pos.0))
}

/// AUDIT POLICY and NOAUDIT POLICY.
fn enable(
    work: &mut Work<'_>,
    name: &Ident,
    users: &[Option<UserId>],
    except: bool,
    whenever: Option<bool>,
    noaudit: bool,
) -> Result<()> {
    let policy = policy_of(work, name)?;
    let of_policy = move |row: &[Value]| as_u32(&row[aud_policy_user::POLICY]) == policy;
    for user in users {
        let user = user.map(|user| i64::from(user.0));
        let mode = match user {
            None => 0,
            Some(_) if except => 2,
            Some(_) => 1,
        };
        if noaudit {
            // Without users, it ends the policy for all users and for all users with exceptions.
            work.change().delete(Base::AudPolicyUser, &move |row| {
                let of = as_i64(&row[aud_policy_user::USER]);
                of_policy(row)
                    && if user.is_none() { as_i64(&row[aud_policy_user::MODE]) != Some(1) } else { of == user }
            })?;
            continue;
        }
        let others = work.select(Base::AudPolicyUser, &of_policy)?;
        let is = |row: &Row, code: i64| as_i64(&row[aud_policy_user::MODE]) == Some(code);
        // A policy is enabled either by users or for all except users.
        if mode == 2 && others.iter().any(|row| is(row, 1)) || mode == 1 && others.iter().any(|row| is(row, 2)) {
            return Err(Ora::new(46350).at(name.pos.0));
        }
        work.change().delete(Base::AudPolicyUser, &move |row| {
            let all = as_i64(&row[aud_policy_user::MODE]) == Some(if mode == 0 { 2 } else { 0 }) && mode != 1;
            of_policy(row) && (as_i64(&row[aud_policy_user::USER]) == user || all)
        })?;
        let row = [
            int(policy),
            int(mode),
            user.map_or(Value::Null, int),
            flag(whenever != Some(false)),
            flag(whenever != Some(true)),
        ];
        work.change().insert(Base::AudPolicyUser, &row)?;
    }
    Ok(())
}

/// CREATE and ALTER AUDIT POLICY.
pub fn policy(work: &mut Work<'_>, define: &AuditPolicy) -> Result<()> {
    let AuditPolicy { name, changes, alter, pos } = define;
    require_system(work, *pos)?;
    let number = match (*alter, work.image.audit().policy(&name.name)) {
        (true, _) => policy_of(work, name)?,
        (false, Some(_)) => return Err(Ora::with(46356, &[&name.name]).at(name.pos.0)),
        (false, None) => {
            let number = work.image.audit().next_policy();
            let row = [int(number), text(name.name.as_str()), int(0), Value::Date(work.now)];
            work.change().insert(Base::AudPolicy, &row)?;
            number
        }
    };
    for change in changes {
        let AuditChange { adds, privilege, words, on, pos } = change;
        let (kind, object) = match (*privilege, on) {
            (true, _) if SystemPrivilege::parse(words).is_none() => return Err(Ora::new(990).at(pos.0)),
            (true, _) if action_of_privilege(words).is_none() => return Err(Ora::unsupported().at(pos.0)),
            (true, _) => (PRIVILEGE, None),
            (false, Some(_)) if !OBJECT_ACTIONS.contains(&words.as_str()) => {
                return Err(Ora::with(46355, &[&words]).at(pos.0));
            }
            (false, Some(name)) => (OBJECT, Some(audited(work, name)?)),
            (false, None) if !ACTIONS.contains(&words.as_str()) => {
                return Err(Ora::with(46355, &[&words]).at(pos.0));
            }
            (false, None) => (STATEMENT, None),
        };
        let option = words.clone();
        work.change().delete(Base::AudPolicyOption, &move |row| {
            as_u32(&row[aud_policy_option::POLICY]) == number
                && as_i64(&row[aud_policy_option::KIND]) == Some(kind)
                && as_text(&row[aud_policy_option::OPTION]) == option
                && as_i64(&row[aud_policy_option::OBJ]) == object.map(i64::from)
        })?;
        if *adds {
            let object = object.map_or(Value::Null, int);
            work.change().insert(Base::AudPolicyOption, &[int(number), int(kind), text(words.as_str()), object])?;
        }
    }
    Ok(())
}

/// DROP AUDIT POLICY.
pub fn drop(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    require_system(work, drop.pos)?;
    let name = Ident { name: drop.name.last().to_owned(), pos: drop.name.pos };
    let number = policy_of(work, &name)?;
    let enabled = work.select(Base::AudPolicyUser, &move |row| as_u32(&row[aud_policy_user::POLICY]) == number)?;
    if !enabled.is_empty() {
        return Err(Ora::new(46361).at(name.pos.0));
    }
    work.change().delete(Base::AudPolicyOption, &move |row| as_u32(&row[aud_policy_option::POLICY]) == number)?;
    work.change().delete(Base::AudPolicy, &move |row| as_u32(&row[aud_policy::POLICY]) == number)?;
    Ok(())
}
