//! Password verification: the function of the user's profile judges a new password.
//!
//! The function belongs to SYS. It runs before the statement that sets the password changes or locks anything in the
//! dictionary (invariant 14). Its own changes are committed before the statement begins.

use crate::blocks;
use crate::core::Core;
use crate::identity::Identity;
use crate::world::{World, number};
use dictionary::{ObjectKind, Resource, SystemPrivilege, UserDef, UserId};
use exec::ExecCtx;
use net::StatementKind;
use plsql::Datum;
use sql::ast::{AlterUser, Authentication, CreateUser, Ddl, Grantee};
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

/// A password that a statement sets.
struct Given<'a> {
    user: &'a str,
    password: &'a str,
    replace: Option<&'a str>,
    profile: Option<&'a str>,
}

/// Lets the functions of profiles judge the passwords that a statement sets. A password is not judged if the session
/// may not change the user, or if the old password is wrong: the statement itself is then refused.
///
/// # Errors
/// ORA-28003, followed by the function's own error; ORA-28221 when users without ALTER USER change their own password
/// and do not give the old one; ORA-28000 when the account of such a change is locked.
pub(crate) fn judge(core: &Core, cx: &mut ExecCtx<'_>, ddl: &Ddl) -> Result<()> {
    for given in passwords_of(ddl) {
        let names = core.names()?;
        let user = names.image().user_named(given.user).filter(|user| !user.is_role).cloned();
        let is_own = user.as_ref().is_some_and(|user| user.id == core.identity().user);
        let privilege = if user.is_some() { SystemPrivilege::AlterUser } else { SystemPrivilege::CreateUser };
        let may_any = names.has(privilege);
        let of_user = user.as_ref().map(|user| user.profile.as_str());
        let profile = given.profile.or(of_user).unwrap_or(dictionary::profile::DEFAULT);
        if is_own && given.replace.is_some() && crate::logon::is_locked(core, user.as_deref(), 0)? {
            return Err(Ora::new(28000));
        }
        let profiles = names.image().profiles();
        names.image().checked()?;
        let function = profiles.profile(profile).limit(Resource::PasswordVerifyFunction);
        let Some(function) = function.filter(|_| may_any || is_own) else { continue };
        let is_old = |user: &Rc<UserDef>, old: &str| user.verifier.as_ref().is_some_and(|v| v.matches(old));
        match (given.replace, &user) {
            (None, Some(_)) if !may_any => return Err(Ora::new(28221)),
            (Some(old), Some(user)) if !is_old(user, old) => continue,
            _ => {}
        }
        let name = user.as_ref().map_or(given.user, |user| &user.name);
        let called = profiles.verify_function(profile);
        ask(core, cx, (ObjectId(function as u32), called), [Some(name), Some(given.password), given.replace])?;
    }
    Ok(())
}

fn passwords_of<'a>(ddl: &'a Ddl) -> Vec<Given<'a>> {
    match ddl {
        Ddl::CreateUser(CreateUser { name, options, pos: _ }) | Ddl::AlterUser(AlterUser { name, options, pos: _ }) => {
            let Some(Authentication::Password(password)) = &options.authentication else { return Vec::new() };
            vec![Given {
                user: &name.name,
                password,
                replace: options.replace.as_deref(),
                profile: options.profile.as_ref().map(|profile| profile.name.as_str()),
            }]
        }
        Ddl::Grant(grant) => {
            let given = |Grantee { name, identified_by }: &'a Grantee| {
                let password = identified_by.as_deref()?;
                Some(Given { user: &name.name, password, replace: None, profile: None })
            };
            grant.to.iter().filter_map(given).collect()
        }
        _ => Vec::new(), // not a clause: no other statement gives a password
    }
}

/// Calls the function with the user's name, the new password and the old one. A profile has the name of its function; a
/// profile of an older release has only the object number.
fn ask(
    core: &Core,
    cx: &mut ExecCtx<'_>,
    (number, name): (ObjectId, Option<&str>),
    arguments: [Option<&str>; 3],
) -> Result<()> {
    let names = core.names()?;
    let image = names.image();
    let found = match name {
        Some(name) => image.object_named(UserId::SYS, ObjectKind::Function.namespace(), name),
        None => image.object(number),
    };
    let found = found.filter(|object| object.kind == ObjectKind::Function && object.owner_id == UserId::SYS);
    let missing = |shown: &dyn std::fmt::Display| Ora::new(28003).because(Ora::with(7443, &[shown]));
    let Some(found) = found else { return Err(name.map_or_else(|| missing(&number.0), |name| missing(&name))) };
    let text = format!("BEGIN :r := CASE WHEN SYS.\"{}\"(:u, :p, :o) THEN 1 ELSE 0 END; END;", found.name);
    core.enter(cx.session, Identity::definer(UserId::SYS), &"SYS".into());
    let answer = run_function(core, cx, &text, arguments);
    core.leave(cx.session);
    match answer {
        Ok(true) => Ok(()),
        Ok(false) => Err(Ora::new(28003)),
        // An error that stops the session is no judgement of the password.
        Err(e) if e.is_stop() => Err(e),
        Err(e) => Err(Ora::new(28003).because(e)),
    }
}

fn run_function(core: &Core, cx: &mut ExecCtx<'_>, text: &str, arguments: [Option<&str>; 3]) -> Result<bool> {
    let mut world = World { cx: cx.reborrow(), core };
    let open = blocks::open(&mut world, text, StatementKind::PLSQL_EXECUTE, blocks::no_types())?;
    let block = Rc::clone(&open.block);
    let value = |name: &String| match name.as_str() {
        "U" => arguments[0].map_or(Value::Null, Value::text),
        "P" => arguments[1].map_or(Value::Null, Value::text),
        "O" => arguments[2].map_or(Value::Null, Value::text),
        _ => number(0),
    };
    let mut binds: Vec<Datum> = block.binds().iter().map(|name| Datum::Val(value(name))).collect();
    blocks::run(&mut world, open, &mut binds)?;
    let at = block.binds().iter().position(|name| name == "R");
    let answer = at.and_then(|at| match &binds[at] {
        Datum::Val(Value::Number(n)) => n.to_i64().ok(),
        _ => None,
    });
    Ok(answer == Some(1))
}
