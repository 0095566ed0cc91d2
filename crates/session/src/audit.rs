//! The rows that a session writes to the audit trail: logons, logoffs, and the statements that AUDIT and the policies
//! select.
//!
//! The audit rules of a session are decided when it opens. Each row is written in a transaction of its own. A logon or
//! logoff does not wait until its row is on disk; a call waits for the rows of its statements.

use crate::audit_plan::{Event, Plan};
use crate::core::Core;
use crate::cursors::changes_trail;
use crate::kind::kind_of;
use crate::refusal::{clean, is_refusal, unwaited};
use dictionary::audit::{self, AuditRecord};
use dictionary::{ObjectKind, UserId};
use net::StatementKind;
use net::local::Logon;
use plsql::AuditRequest;
use sql::ast::{Ddl, GrantObject, Name, Statement};
use std::collections::BTreeSet;
use std::rc::Rc;
use txn::{Savepoint, Txn};
use types::{ObjectId, Ora, Result};
use wait::Stat;

/// The numbers of the types of trail: AUDIT_TRAIL_AUD_STD, _DB_STD, _ALL, _UNIFIED.
const TRAILS: &[i64] = &[1, 3, 15, 51];

/// The name of a kind of statement in the trail.
fn action_of(kind: StatementKind) -> &'static str {
    match kind {
        StatementKind::GRANT => "GRANT",
        StatementKind::REVOKE => "REVOKE",
        StatementKind::UPSERT => "MERGE",
        StatementKind::AUDIT => "AUDIT",
        StatementKind::NOAUDIT => "NOAUDIT",
        other => other.name(),
    }
}

/// Decides the audit rules of a session of `user`.
///
/// # Errors
/// Errors from reading the dictionary.
pub(crate) fn begin(core: &Core, user: UserId) -> Result<()> {
    let image = core.dict.borrow_mut().image()?;
    let plan = Plan::of(image.audit(), Some(user));
    image.checked()?;
    core.audit_rows.set(plan.rows);
    *core.audit.borrow_mut() = (!plan.rules.is_empty()).then(|| Rc::new(plan));
    Ok(())
}

fn record(core: &Core, action: u16, name: &str, code: u32) -> AuditRecord {
    let slot = core.p.session();
    let now = core.local_time();
    core.audit_entries.set(core.audit_entries.get() + 1);
    AuditRecord {
        session: (slot.serial() << 12 | u64::from(core.p.sid())) as i64,
        entry: core.audit_entries.get() as i64,
        startup: (core.instance.state().started_wall_ns() / 1_000_000_000) as i64,
        sid: core.p.sid(),
        at: Some(types::Timestamp::new(now.own_date(), now.nanos)),
        user: slot.username.get(),
        os_user: clean(&slot.os_user.get()),
        machine: clean(&slot.machine.get()),
        terminal: clean(&slot.terminal.get()),
        os_process: clean(&slot.client_process.get()),
        program: clean(&slot.program.get()),
        action,
        action_name: name.to_owned(),
        code,
        proxy: core.proxied.borrow().as_ref().map(|proxied| proxied.name.clone()).unwrap_or_default(),
        ..AuditRecord::default()
    }
}

fn write(core: &Core, record: &AuditRecord, outer: &Txn) -> Result<()> {
    let dictionary = core.instance.storage().dictionary;
    // The user did not ask for this commit, so `user commits` does not count it.
    let commits = core.p.stats().get(Stat::UserCommits);
    let done = dictionary.write_audit(&core.p, record, outer).map_err(|e| Ora::new(2002).because(e));
    core.p.stats().set(Stat::UserCommits, commits);
    done
}

/// Writes the row of a logon or a logoff. The logon does not fail when the row cannot be written: the number of lost
/// rows goes to the alert log ([`lost_entry`]).
fn write_or_tell(core: &Core, record: &AuditRecord) {
    if let Err(e) = unwaited(core.instance, &core.p, || write(core, record, &Txn::new())) {
        core.instance.state().note_lost_audit(e.code());
    }
}

/// The line of the alert log about rows that could not be written to the trail.
pub fn lost_entry(instance: &instance::Instance) -> Option<String> {
    let (count, code) = instance.state().take_lost_audit()?;
    Some(format!("Audit trail: {count} rows of logons and logoffs could not be written (ORA-{code:05})"))
}

/// Runs a request of DBMS_AUDIT_MGMT and always notes it in the trail. There is one trail; each type of trail is a name
/// for it with an archive timestamp of its own.
///
/// # Errors
/// ORA-46250 for an unknown type of trail and for a missing timestamp; errors from changing the trail.
pub(crate) fn manage(core: &Core, txn: &Txn, request: &AuditRequest) -> Result<()> {
    let dictionary = core.instance.storage().dictionary;
    let (AuditRequest::Clean { trail, .. } | AuditRequest::SetLast { trail, .. } | AuditRequest::ClearLast { trail }) =
        *request;
    if !TRAILS.contains(&trail) {
        return Err(Ora::with(46250, &[&"AUDIT_TRAIL_TYPE"]));
    }
    let commits = core.p.stats().get(Stat::UserCommits);
    let done = match request {
        AuditRequest::Clean { only_archived: false, .. } => dictionary.clean_audit(&core.p, None, txn).map(drop),
        AuditRequest::Clean { .. } => match dictionary.last_archived(&core.p, trail)? {
            Some(before) => dictionary.clean_audit(&core.p, Some(&before), txn).map(drop),
            None => Ok(()),
        },
        AuditRequest::SetLast { at: None, .. } => Err(Ora::with(46250, &[&"LAST_ARCHIVE_TIME"])),
        AuditRequest::SetLast { at, .. } => dictionary.set_last_archived(&core.p, trail, *at, txn),
        AuditRequest::ClearLast { .. } => dictionary.set_last_archived(&core.p, trail, None, txn),
    };
    core.p.stats().set(Stat::UserCommits, commits);
    let name = match request {
        AuditRequest::Clean { .. } => "CLEAN_AUDIT_TRAIL",
        AuditRequest::SetLast { .. } => "SET_LAST_ARCHIVE_TIMESTAMP",
        AuditRequest::ClearLast { .. } => "CLEAR_LAST_ARCHIVE_TIMESTAMP",
    };
    let text = format!("DBMS_AUDIT_MGMT.{name}");
    let objects = [("SYS".to_owned(), "DBMS_AUDIT_MGMT".to_owned(), 0)];
    let code = done.as_ref().err().map_or(0, Ora::code);
    let event = Event { action: "EXECUTE", number: audit::EXECUTE, objects: &objects, code, text: &text };
    let plan = core.audit.borrow().clone().unwrap_or_default();
    note(core, txn, &plan, &event, true)?;
    done
}

fn join(policies: &BTreeSet<Rc<str>>) -> String {
    policies.iter().map(|policy| &**policy).collect::<Vec<_>>().join(", ")
}

/// Notes a refused logon, if it is audited. In each minute only the first refusals get rows of their own; the others
/// are counted.
pub(crate) fn refused_logon(core: &Core, logon: &Logon, name: &str, user: Option<UserId>, e: &Ora) {
    if !is_refusal(e) {
        return;
    }
    let Ok(image) = core.dict.borrow_mut().image() else { return };
    let plan = Plan::of(image.audit(), user);
    let event = Event { action: "LOGON", number: audit::LOGON, objects: &[], code: e.code(), text: "" };
    let hits = plan.hits(&event, name);
    if !hits.any || !core.instance.state().may_note_refusal(os::clock::wall_ns() / 1_000_000_000) {
        return;
    }
    let mut row = record(core, audit::LOGON, "LOGON", e.code());
    // The listener process acts for its clients: their names are in the logon packet, not in the slot of the process.
    row.user = clean(name);
    row.os_user = clean(&logon.os_user);
    row.machine = clean(&logon.machine);
    row.terminal = clean(&logon.terminal);
    row.program = clean(&logon.program);
    row.os_process = logon.process_id.to_string();
    row.privilege = if logon.as_sysdba { "SYSDBA".into() } else { String::new() };
    row.policies = join(&hits.policies);
    row.by_option = hits.by_option;
    write_or_tell(core, &row);
}

/// The row that counts the refused logons without rows of their own.
pub(crate) fn unlisted(instance: &instance::Instance, count: u64) -> AuditRecord {
    let wall = os::clock::wall_ns();
    let utc = (wall / 1_000_000_000) as i64;
    let date = types::Date::from_unix(utc + i64::from(os::clock::utc_offset_seconds(utc))).ok();
    AuditRecord {
        startup: (instance.state().started_wall_ns() / 1_000_000_000) as i64,
        at: date.map(|date| types::Timestamp::new(date, 0)),
        action: audit::LOGON,
        action_name: "LOGON".into(),
        code: 1017,
        info: format!("{count} more logons were refused and are not listed"),
        ..AuditRecord::default()
    }
}

/// Notes a successful logon, if it is audited. A logon AS SYSDBA always is.
pub(crate) fn logon(core: &Core, by_password: bool) {
    let user = core.p.session().username.get();
    let event = Event { action: "LOGON", number: audit::LOGON, objects: &[], code: 0, text: "" };
    let plan = core.audit.borrow().clone();
    let hits = plan.map(|plan| plan.hits(&event, &user)).unwrap_or_default();
    if !hits.any && !core.who.is_sysdba_login() {
        return;
    }
    let mut row = record(core, audit::LOGON, "LOGON", 0);
    row.authentication = if by_password { "(TYPE=(DATABASE))" } else { "(TYPE=(OS))" };
    row.current_user.clone_from(&row.user);
    row.privilege = if core.who.is_sysdba_login() { "SYSDBA".into() } else { "CREATE SESSION".into() };
    row.policies = join(&hits.policies);
    row.by_option = hits.by_option;
    write_or_tell(core, &row);
}

/// Notes the end of a session, if it is audited.
pub(crate) fn logoff(core: &Core) {
    let Some(plan) = core.audit.borrow().clone() else { return };
    let event = Event { action: "LOGOFF", number: audit::LOGOFF, objects: &[], code: 0, text: "" };
    let hits = plan.hits(&event, "");
    if !hits.any {
        return;
    }
    let mut row = record(core, audit::LOGOFF, "LOGOFF", 0);
    row.policies = join(&hits.policies);
    row.by_option = hits.by_option;
    let of = |stat| core.p.stats().get(stat);
    row.figures = Some([
        of(Stat::SessionLogicalReads),
        of(Stat::PhysicalReads),
        of(Stat::DbBlockChanges),
        of(Stat::CpuUsedByThisSession) / 10_000,
    ]);
    write_or_tell(core, &row);
}

/// Notes an event if it is audited or `always` is set.
fn note(core: &Core, txn: &Txn, plan: &Plan, event: &Event<'_>, always: bool) -> Result<()> {
    let user = core.p.session().username.get();
    let hits = plan.hits(event, &current_user(core));
    if !hits.any && !always {
        return Ok(());
    }
    let mut row = record(core, event.number, event.action, event.code);
    row.user = user;
    row.current_user = current_user(core);
    let object = hits.object.unwrap_or(0);
    if let Some((owner, name, _)) = event.objects.get(object) {
        row.object_schema.clone_from(owner);
        row.object_name.clone_from(name);
    }
    row.sql_text = sql::mask_passwords(event.text).into_owned();
    row.privilege = hits.privilege.map(|name| name.to_string()).unwrap_or_default();
    row.policies = join(&hits.policies);
    row.by_option = hits.by_option;
    write(core, &row, txn)
}

fn current_user(core: &Core) -> String {
    let id = core.identity().user;
    core.names().map_or_else(|_| String::new(), |names| names.image().user(id).map_or("SYS", |u| &u.name).to_owned())
}

/// Notes a statement that is neither a query nor DML, if it is audited.
///
/// # Errors
/// ORA-02002 when the row cannot be written.
pub(crate) fn statement(core: &Core, txn: &Txn, statement: &Statement, text: &str, code: u32) -> Result<()> {
    // Statements about auditing are always in the trail, even when no rule is left.
    let always = matches!(statement, Statement::Ddl(ddl) if matches!(**ddl, Ddl::Audit(_) | Ddl::AuditPolicy(_)));
    let plan = core.audit.borrow().clone();
    if plan.is_none() && !always {
        return Ok(());
    }
    let plan = plan.unwrap_or_default();
    let kind = kind_of(statement);
    let objects: Vec<_> = target(core, statement).into_iter().collect();
    let event = Event { action: action_of(kind), number: kind.0, objects: &objects, code, text };
    note(core, txn, &plan, &event, always)
}

/// Notes a query or DML statement, if it is audited. A change of the trail itself always is.
///
/// # Errors
/// ORA-02002 when the row cannot be written.
pub(crate) fn rows(
    core: &Core,
    txn: &Txn,
    kind: StatementKind,
    objects: &[ObjectId],
    text: &str,
    code: u32,
) -> Result<()> {
    let always = changes_trail(kind, objects);
    if !core.audit_rows.get() && !always {
        return Ok(());
    }
    let plan = core.audit.borrow().clone().unwrap_or_default();
    let names = core.names()?;
    let named = |object: &ObjectId| {
        let def = names.image().object(*object)?;
        let owner = names.image().user(def.owner_id).map_or("SYS", |user| &user.name);
        Some((owner.to_owned(), def.name.clone(), object.0))
    };
    let objects: Vec<_> = objects.iter().filter_map(named).collect();
    note(core, txn, &plan, &Event { action: action_of(kind), number: kind.0, objects: &objects, code, text }, always)
}

/// The savepoint for [`or_undone`], set before a query or DML statement that is audited; `None` for other statements.
pub(crate) fn start(core: &Core, txn: &Txn, changes_trail: bool) -> Option<Savepoint> {
    (core.audit_rows.get() || changes_trail).then(|| core.shared.txns.savepoint(txn))
}

/// Undoes the changes of a statement if noting it has failed; returns the result of noting it.
///
/// # Errors
/// The error of `noted`, or an error from undoing the changes.
pub(crate) fn or_undone(core: &Core, txn: &mut Txn, start: &Savepoint, noted: Result<()>) -> Result<()> {
    let Err(e) = noted else { return Ok(()) };
    let undone = core.shared.txns.rollback_call(&core.p, txn, start);
    undone.map_err(|fatal| fatal.because(e.clone())).and(Err(e))
}

/// Owner, name and number of the object that a statement defines. The owner is empty for objects without one, such as
/// users.
fn target(core: &Core, statement: &Statement) -> Option<(String, String, u32)> {
    let plain = |name: &str| Some((String::new(), name.to_owned(), 0));
    let Statement::Ddl(ddl) = statement else { return None };
    let name: &Name = match &**ddl {
        Ddl::CreateTable(s) => &s.name,
        Ddl::CreateCluster(s) => &s.name,
        Ddl::CreateIndex(s) => &s.name,
        Ddl::CreateView(s) => &s.name,
        Ddl::CreateMaterializedView(s) => &s.name,
        Ddl::CreateSequence(s) => &s.name,
        Ddl::CreateSynonym(s) => {
            if s.public {
                return Some(("PUBLIC".into(), s.name.last().to_owned(), 0));
            }
            &s.name
        }
        Ddl::CreateStored(s) => &s.name,
        Ddl::Drop(s) => match s.kind {
            sql::ast::DropKind::PublicSynonym => return Some(("PUBLIC".into(), s.name.last().to_owned(), 0)),
            sql::ast::DropKind::User
            | sql::ast::DropKind::Role
            | sql::ast::DropKind::Tablespace
            | sql::ast::DropKind::Profile
            | sql::ast::DropKind::AuditPolicy
            | sql::ast::DropKind::Edition
            | sql::ast::DropKind::Context
            | sql::ast::DropKind::Directory => return plain(s.name.last()),
            _ => &s.name, // not a clause: all others belong to a schema
        },
        Ddl::AlterTable(s) => &s.name,
        Ddl::AlterIndex(s) => &s.name,
        Ddl::AlterSequence(s) => &s.name,
        Ddl::AlterCompile(s) => &s.name,
        Ddl::Truncate(s) => &s.name,
        Ddl::Comment(s) => &s.name,
        Ddl::Analyze(s) => &s.name,
        Ddl::Grant(s) => match &s.on {
            Some(GrantObject::Object(name)) => name,
            _ => return plain(&s.to.first()?.name.name),
        },
        Ddl::Revoke(s) => match &s.on {
            Some(GrantObject::Object(name)) => name,
            _ => return plain(&s.from.first()?.name.name),
        },
        Ddl::CreateUser(s) => return plain(&s.name.name),
        Ddl::AlterUser(s) => return plain(&s.name.name),
        Ddl::ConnectThrough(s) => return plain(&s.clients.first()?.name),
        Ddl::Edition(
            sql::ast::EditionStatement::Create { name, parent: _, pos: _ }
            | sql::ast::EditionStatement::Default { name, pos: _ },
        ) => return plain(&name.name),
        Ddl::CreateRole(s) | Ddl::AlterRole(s) => return plain(&s.name.name),
        Ddl::Profile(s) => return plain(&s.name.name),
        Ddl::CreateContext(s) => return plain(&s.name.name),
        Ddl::CreateDirectory(s) => return plain(&s.name.name),
        Ddl::CreateTablespace(s) => return plain(&s.name.name),
        Ddl::AlterTablespace(s) => return plain(&s.name.name),
        Ddl::AuditPolicy(s) => return plain(&s.name.name),
        Ddl::Rename { from, to: _, pos: _ } => return plain(&from.name),
        Ddl::Audit(_)
        | Ddl::AlterFiles(_)
        | Ddl::DefaultTablespace(_)
        | Ddl::DefaultTablespaceType(_)
        | Ddl::Purge(_) => return None,
    };
    let names = core.names().ok()?;
    let schema = core.identity().schema;
    let owner = match name.qualifier() {
        Some(owner) => owner.to_owned(),
        None => names.image().user(schema).map_or("SYS", |user| &user.name).to_owned(),
    };
    let id = names.image().user_named(&owner).map(|user| user.id);
    let number = id.and_then(|id| {
        let object = |kind: ObjectKind| names.image().object_named(id, kind.namespace(), name.last());
        object(ObjectKind::Table).or_else(|| object(ObjectKind::Index)).map(|def| def.object.0)
    });
    Some((owner, name.last().to_owned(), number.unwrap_or(0)))
}
