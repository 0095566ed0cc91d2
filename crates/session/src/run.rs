//! Control statements (all except queries, DML and blocks), and small services for PL/SQL.

use crate::alter;
use crate::core::Core;
use crate::identity::Origin;
use dictionary::{Catalog, EnabledBy, Image, ObjectKind, ObjectPrivilege, Resolved, UserId};
use enqueue::LockMode;
use exec::{ExecCtx, SessionState};
use functions::{Clock, FnCtx, FnDef, SessionInfo};
use net::local::Failure;
use plsql::ResultCacheRequest;
use sql::ast::{self, Commit, Rollback, Statement};
use std::sync::atomic::Ordering::Relaxed;
use txn::{Isolation, LockWait};
use types::{Ora, Result, Timestamp, Value};

/// Runs a control statement of `EXECUTE IMMEDIATE`.
///
/// # Errors
/// Those of the statement.
pub fn run_other(core: &Core, cx: &mut ExecCtx<'_>, text: &str) -> Result<()> {
    let statement = exec::read_text(&core.p, || sql::parse_statement(text))?;
    run_parsed(core, cx, &statement, text).map(drop)
}

/// Runs a parsed control statement and audits it. Returns the warning of a successful statement, if it has one.
///
/// # Errors
/// Those of the statement; ORA-03001 for an unsupported feature.
pub fn run_parsed(core: &Core, cx: &mut ExecCtx<'_>, statement: &Statement, text: &str) -> Result<Option<Failure>> {
    let done = run_unaudited(core, cx, statement, text);
    crate::audit::statement(core, &cx.session.txn, statement, text, done.as_ref().err().map_or(0, Ora::code))?;
    done
}

fn run_unaudited(core: &Core, cx: &mut ExecCtx<'_>, statement: &Statement, text: &str) -> Result<Option<Failure>> {
    use Statement::{Commit, Rollback, Savepoint};
    if !matches!(statement, Commit(_) | Rollback(_) | Savepoint(_)) {
        core.p.count(wait::Stat::ParseCountTotal, 1);
        core.p.count_execution();
    }
    if let Statement::Ddl(ddl) = statement {
        return crate::ddl_call::run(core, cx, ddl, text);
    }
    run_control(core, cx, statement).map(|()| None)
}

fn run_control(core: &Core, cx: &mut ExecCtx<'_>, statement: &Statement) -> Result<()> {
    match statement {
        Statement::Commit(Commit { comment: _, write_immediate, write_wait, force, pos: _ }) => match force {
            Some(name) => crate::global::force(core, cx, name, true),
            None => core.commit_as(cx, *write_immediate, *write_wait),
        },
        Statement::Rollback(Rollback { to, force, pos: _ }) => match (to, force) {
            (_, Some(name)) => crate::global::force(core, cx, name, false),
            (Some(name), None) => core.rollback_to(&mut cx.session.txn, &name.name),
            (None, None) => {
                crate::branch::refuse_rollback(core, cx.session)?;
                core.rollback(cx.session)
            }
        },
        Statement::Savepoint(name) => {
            core.savepoint(&cx.session.txn, &name.name);
            Ok(())
        }
        Statement::SetTransaction(s) => set_transaction(core, cx, s),
        Statement::SetRole(roles) => set_role(core, roles),
        Statement::LockTable(l) => lock_table(core, cx, l),
        Statement::AlterSession(a) => alter::alter_session(core, cx, a),
        Statement::AlterSystem(a) => alter::alter_system(core, cx.session, a),
        Statement::SetConstraints(s) => crate::constraints::set(core, cx, s),
        Statement::ExplainPlan(e) => crate::explain::run(cx, e),
        Statement::Ddl(_)
        | Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Call(_)
        | Statement::Block { .. } => Err(Ora::new(900)),
    }
}

/// The largest number of enabled roles.
const ROLES_MOST: usize = 148;

/// SET ROLE: enables exactly the named roles. With an error the enabled roles stay unchanged.
///
/// # Errors
/// ORA-06565 inside a definer's rights unit; ORA-01919 for a name that is no role, ORA-01924 for a role that was not
/// granted to the user, ORA-01979 for a missing or wrong password, ORA-28201 outside the package that enables the role,
/// ORA-28157 for a role that the proxy's grant excludes, ORA-28031 for too many roles.
pub(crate) fn set_role(core: &Core, roles: &ast::SetRole) -> Result<()> {
    if core.identity().origin != Origin::Login {
        return Err(Ora::with(6565, &[&"SET ROLE"]));
    }
    let names = core.names()?;
    let (image, user) = (names.image(), core.identity().user);
    let named = |role: &ast::RoleName| {
        let found = image.user_named(&role.name.name).filter(|found| found.is_role);
        found.cloned().ok_or_else(|| Ora::with(1919, &[&role.name.name]).at(role.name.pos.0))
    };
    let own: Vec<UserId> = image.direct_roles(user).chain(image.direct_roles(UserId::PUBLIC)).collect();
    // A role that was granted to another role of the user may be named too.
    let reached = image.grantees(user);
    let chosen: Vec<(UserId, Option<&String>)> = match roles {
        ast::SetRole::None => Vec::new(),
        ast::SetRole::AllExcept(list) => {
            let except: Vec<UserId> = list.iter().map(|role| named(role).map(|def| def.id)).collect::<Result<_>>()?;
            own.iter().filter(|role| !except.contains(role)).map(|role| (*role, None)).collect()
        }
        ast::SetRole::Roles(list) => {
            let mut chosen = Vec::new();
            for role in list {
                let def = named(role)?;
                if !reached.contains(&def.id.0) && user != UserId::SYS {
                    return Err(Ora::with(1924, &[&role.name.name]).at(role.name.pos.0));
                }
                chosen.push((def.id, role.password.as_ref()));
            }
            chosen
        }
    };
    let is_named = matches!(roles, ast::SetRole::Roles(_));
    for (role, password) in &chosen {
        let Some(def) = image.user(*role) else { continue };
        if is_named {
            crate::proxy::check_role(core, image, def, user)?;
        }
        let proves = |verifier: &dictionary::Verifier| password.is_some_and(|password| verifier.matches(password));
        if def.verifier.as_ref().is_some_and(|verifier| !proves(verifier)) {
            return Err(Ora::with(1979, &[&def.name]));
        }
        if def.enabled_by.as_ref().is_some_and(|package| !is_running(core, image, package)) {
            return Err(Ora::with(28201, &[&def.name]));
        }
    }
    let chosen: Vec<u32> = chosen.iter().map(|(role, _)| role.0).collect();
    let mut enabled = image.reached(&chosen);
    enabled.retain(|role| crate::proxy::may_enable(core, image, *role));
    if enabled.len() > ROLES_MOST {
        return Err(Ora::with(28031, &[&ROLES_MOST]));
    }
    image.checked()?;
    core.enable_roles(enabled)
}

/// True when the running stored subprogram belongs to `unit`. Anonymous blocks and built-in packages have no number, so
/// their code counts as the stored subprogram that called it.
fn is_running(core: &Core, image: &Image, unit: &EnabledBy) -> bool {
    let running = (core.p.session().subprograms[1].load(Relaxed) >> 32) as u32;
    let owner = image.user_named(&unit.owner).map(|user| user.id);
    let found = owner.and_then(|owner| image.object_named(owner, ObjectKind::Procedure.namespace(), &unit.name));
    running != 0 && found.is_some_and(|object| object.object.0 == running)
}

fn set_transaction(core: &Core, cx: &mut ExecCtx<'_>, s: &ast::SetTransaction) -> Result<()> {
    let ast::SetTransaction { mode, name: _, pos: _ } = s;
    let t = &mut cx.session.txn;
    if t.has_begun() {
        return Err(Ora::new(1453));
    }
    t.set(match *mode {
        ast::TransactionMode::Unchanged => None,
        ast::TransactionMode::ReadWrite | ast::TransactionMode::ReadCommitted => Some(Isolation::ReadCommitted),
        ast::TransactionMode::ReadOnly => Some(Isolation::ReadOnly),
        ast::TransactionMode::Serializable => Some(Isolation::Serializable),
    });
    if let Some(name) = &s.name {
        core.p.session().transaction_name.set(name);
        core.is_named.set(true);
    }
    if t.holds_snapshot() {
        core.shared.txns.hold_snapshot(&core.p, t);
    }
    Ok(())
}

fn lock_table(core: &Core, cx: &mut ExecCtx<'_>, l: &ast::LockTable) -> Result<()> {
    let ast::LockTable { tables, mode: _, wait: _, pos: _ } = l;
    let mode = match l.mode {
        ast::LockMode::RowShare => LockMode::SubShare,
        ast::LockMode::RowExclusive => LockMode::SubExclusive,
        ast::LockMode::Share => LockMode::Share,
        ast::LockMode::ShareRowExclusive => LockMode::ShareSubExclusive,
        ast::LockMode::Exclusive => LockMode::Exclusive,
    };
    let wait = match &l.wait {
        ast::LockWait::Wait => LockWait::Forever,
        ast::LockWait::NoWait => LockWait::NoWait,
        ast::LockWait::Seconds(e) => LockWait::Seconds(alter::literal_number(e)?),
        ast::LockWait::SkipLocked => return Err(Ora::new(933)),
    };
    for name in tables {
        let names = core.names()?;
        let missing = || Ora::new(942).at(name.pos.0);
        let table = match names.relation(name.qualifier(), name.last())?.ok_or_else(missing)? {
            Resolved::Table(t) => t,
            _ => return Err(Ora::unsupported().at(name.pos.0)),
        };
        // Any privilege on the table is enough, except READ.
        let mut lockable = false;
        for privilege in [ObjectPrivilege::Lock, ObjectPrivilege::Select, ObjectPrivilege::Insert]
            .into_iter()
            .chain([ObjectPrivilege::Update, ObjectPrivilege::Delete])
        {
            lockable = lockable || names.allowed(table.object, table.owner_id, privilege)?;
        }
        if !lockable {
            return Err(Ora::new(1031).at(name.pos.0));
        }
        // A waiting session must not hold an image of the dictionary.
        drop(names);
        match core.shared.txns.lock_table(&core.p, &mut cx.session.txn, table.object, mode, wait) {
            // The timeout of a row lock is ORA-30006, the timeout of a table lock is ORA-00054.
            Err(e) if e.is(30006) => return Err(Ora::new(54)),
            done => done?,
        }
    }
    Ok(())
}

/// DBMS_RESULT_CACHE.
///
/// # Errors
/// ORA-00942 for an object that does not exist.
pub fn result_cache(core: &Core, request: &ResultCacheRequest) -> Result<Value> {
    let results = core.shared.results;
    let yes_no = |on: bool| Value::Boolean(on);
    let invalidate = |object| {
        results.invalidate(&core.p, object, core.shared.txns.current_scn());
        Value::Number(types::Number::ONE)
    };
    Ok(match request {
        ResultCacheRequest::Status => Value::text(results.status()),
        ResultCacheRequest::Flush => {
            results.flush(&core.p);
            yes_no(true)
        }
        ResultCacheRequest::Bypass(on) => {
            results.set_bypass(*on);
            Value::Null
        }
        ResultCacheRequest::Invalidate { owner, name } => match core.names()?.relation(Some(owner), name)? {
            Some(Resolved::Table(t)) => invalidate(t.object),
            Some(Resolved::View(v)) => invalidate(v.object),
            _ => return Err(Ora::new(942)),
        },
        ResultCacheRequest::InvalidateObject(n) => {
            invalidate(types::ObjectId(u32::try_from(*n).map_err(|_| Ora::new(6502))?))
        }
        ResultCacheRequest::MemoryReport { .. } => {
            let lines = results.statistics().into_iter().map(|(name, value)| format!("{name:.<36} {value}"));
            let head = "R e s u l t   C a c h e   M e m o r y   R e p o r t".to_string();
            Value::text(std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n"))
        }
    })
}

/// The environment of a SQL function that PL/SQL calls.
struct Caller<'a> {
    core: &'a Core,
    session: &'a SessionState,
}

impl SessionInfo for Caller<'_> {
    fn user(&self) -> &str {
        &self.session.user
    }
    fn user_id(&self) -> u32 {
        self.session.user_id
    }
    fn schema(&self) -> &str {
        &self.session.schema
    }
    fn sid(&self) -> u32 {
        self.core.p.sid()
    }
    fn check_cancel(&self) -> Result<()> {
        self.core.p.check_cancel()
    }
    fn context(&self, namespace: &str, parameter: &str, out: &mut String) -> Result<bool> {
        let value = crate::context::sys_context(self.core, self.session, namespace, parameter)?;
        if value.is_null() {
            return Ok(false);
        }
        value.write_text(&self.session.nls, out)?;
        Ok(true)
    }
    fn guid(&self) -> [u8; 16] {
        self.core.new_guid()
    }
    fn scn_to_timestamp(&self, scn: u64) -> Result<Timestamp> {
        self.core.time_of_scn(types::Scn(scn))
    }
    fn timestamp_to_scn(&self, time: &Timestamp) -> Result<u64> {
        self.core.scn_of_time(time).map(|scn| scn.0)
    }
}

impl Clock for Caller<'_> {
    fn now(&self) -> Timestamp {
        self.core.local_time()
    }
}

/// Calls a SQL function with evaluated arguments.
///
/// # Errors
/// Those of the function.
pub fn call_function(
    core: &Core,
    session: &SessionState,
    f: &'static FnDef,
    args: &[Value],
    out: &mut Value,
) -> Result<()> {
    let caller = Caller { core, session };
    let mut cache = core.functions.borrow_mut();
    let mut cx = FnCtx {
        nls: &session.nls,
        session: &caller,
        clock: &caller,
        cache: &mut cache,
        text_max: functions::TextMax::PlSql,
    };
    f.call(&mut cx, args, out)
}
