//! DDL: the session as the host of the statements.

use crate::core::Core;
use crate::event_triggers::DdlEvents;
use crate::identity::Identity;
use crate::units::sort_errors;
use crate::world::World;
use ddl::{CompiledTrigger, Described, Host, Outcome, Parts, SessionNames, Storage, UnitSettings};
use dictionary::statistics_request::StatisticsRequest;
use dictionary::{Catalog, Dictionary, ErrorLine, ObjectKind, Resolved, SALT_BYTES, TableDef, UserId, Verdict};
use exec::{Cursor, ExecCtx};
use instance::OnCommit;
use net::StatementKind;
use net::local::Failure;
use plsql::{CheckedTrigger, World as _};
use sql::ast::{Ddl, Query, Statement, StoredKind};
use std::rc::Rc;
use types::{Date, ObjectId, Ora, Result, Value};

/// Runs a DDL statement. An open transaction is committed first, also when the statement then fails (invariant 2).
/// Triggers on DDL fire before and after it (invariant 36).
///
/// # Errors
/// Errors of the statement and of its triggers; ORA-00060 in a function that another DDL statement calls: each would
/// wait for the other.
pub fn run(core: &Core, cx: &mut ExecCtx<'_>, ddl: &Ddl, text: &str) -> Result<Option<Failure>> {
    let events = if core.defining.get() { None } else { DdlEvents::of(core, ddl, text)? };
    let Some(mut events) = events else { return defining(core, cx, &mut |cx| define(core, cx, ddl)) };
    crate::branch::refuse_commit(core, cx.session)?;
    end_transaction(core, cx)?;
    events.fire(false, core, cx)?;
    let done = defining(core, cx, &mut |cx| define(core, cx, ddl))?;
    events.fire(true, core, cx)?;
    Ok(done)
}

/// Runs a request of DBMS_STATS. A request that changes something commits before and after itself, as DDL does.
///
/// # Errors
/// As [`ddl::statistics_request`], and ORA-00060 as [`run`].
pub fn statistics(core: &Core, cx: &mut ExecCtx<'_>, request: &StatisticsRequest) -> Result<Value> {
    if request.only_asks() {
        let hook = core.instance.on_commit();
        let mut session = DdlHost { core, cx: cx.reborrow(), dict: own_dictionary(core), hook };
        return ddl::statistics_request(&mut session, request);
    }
    defining(core, cx, &mut |cx| {
        end_transaction(core, cx)?;
        let hook = core.instance.on_commit();
        let mut session = DdlHost { core, cx: cx.reborrow(), dict: own_dictionary(core), hook };
        ddl::statistics_request(&mut session, request).map_err(|e| exec::Host::name_segment(core, e))
    })
}

/// Refreshes the materialized view `[owner.]name`, and commits before and afterwards.
///
/// # Errors
/// As [`ddl::refresh_view`], and ORA-00060 as [`run`].
pub fn refresh_view(core: &Core, cx: &mut ExecCtx<'_>, name: &str, fast: bool) -> Result<()> {
    let part = |text: &str| match text.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => text.trim().to_uppercase(),
    };
    let (owner, name) = match name.split_once('.') {
        Some((owner, name)) => (part(owner), part(name)),
        None => (core.names()?.schema().1, part(name)),
    };
    defining(core, cx, &mut |cx| {
        end_transaction(core, cx)?;
        let hook = core.instance.on_commit();
        let mut session = DdlHost { core, cx: cx.reborrow(), dict: own_dictionary(core), hook };
        ddl::refresh_view(&mut session, &owner, &name, fast).map_err(|e| exec::Host::name_segment(core, e))
    })
}

/// Makes a partition of an interval-partitioned table in an autonomous transaction, while a statement of the session
/// runs.
///
/// # Errors
/// As [`ddl::make_partition`]; ORA-00060 in a function that a DDL statement calls.
pub fn make_partition(core: &Core, cx: &mut ExecCtx<'_>, table: ObjectId, key: &[u8]) -> Result<()> {
    if core.defining.replace(true) {
        return Err(Ora::new(60));
    }
    let mut world = World { cx: cx.reborrow(), core };
    let done = world.autonomous_begin().and_then(|()| {
        let hook = core.instance.on_commit();
        let mut session = DdlHost { core, cx: world.cx.reborrow(), dict: own_dictionary(core), hook };
        let made = ddl::make_partition(&mut session, table, key);
        let back = world.autonomous_end();
        made.and(back)
    });
    core.defining.set(false);
    done
}

fn defining<'c, R>(core: &Core, cx: &mut ExecCtx<'c>, f: &mut dyn FnMut(&mut ExecCtx<'c>) -> Result<R>) -> Result<R> {
    crate::branch::refuse_commit(core, cx.session)?;
    if crate::branch::is_in_force(core, cx.session) {
        core.commit(cx)?;
    }
    if core.defining.replace(true) {
        return Err(Ora::new(60));
    }
    let done = f(cx);
    core.defining.set(false);
    done
}

/// Commits the open transaction and clears its savepoints and deferred constraints.
fn end_transaction(core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
    if cx.session.txn.xid().is_some() {
        core.commit(cx)?;
    }
    core.savepoints.borrow_mut().clear();
    cx.session.constraints.end_transaction(core.shared.txns.space().temp());
    Ok(())
}

/// A dictionary for the DDL statement: a cursor may be using the session's own.
fn own_dictionary(core: &Core) -> Dictionary {
    let own = core.dict.borrow();
    Dictionary::new(own.shared().clone(), Rc::clone(own.fixed()), &core.p)
}

fn define(core: &Core, cx: &mut ExecCtx<'_>, ddl: &Ddl) -> Result<Option<Failure>> {
    end_transaction(core, cx)?;
    crate::passwords::judge(core, cx, ddl)?;
    // The function that judges passwords may have begun a transaction.
    if cx.session.txn.xid().is_some() {
        core.commit(cx)?;
    }
    let hook = core.instance.on_commit();
    let mut session = DdlHost { core, cx: cx.reborrow(), dict: own_dictionary(core), hook };
    let commits = core.p.stats().get(wait::Stat::UserCommits);
    let outcome = ddl::execute(&mut session, ddl).map_err(|e| exec::Host::name_segment(core, e));
    // The statement counts as one commit, whatever the number of its transactions.
    core.p.stats().set(wait::Stat::UserCommits, commits + u64::from(outcome.is_ok()));
    if let (Err(e), Ddl::AlterUser(alter)) = (&outcome, ddl)
        && e.is(28008)
    {
        crate::logon::refuse_old(core, &alter.name.name)?;
    }
    let outcome = outcome?;
    if let Ddl::CreateTable(create) = ddl
        && create.temporary.is_some_and(|t| t.preserve)
        && let Some(query) = &create.as_query
    {
        session.insert_temporary(&create.name, query)?;
    }
    Ok(outcome_warning(outcome))
}

fn outcome_warning(outcome: Outcome) -> Option<Failure> {
    let warning = Ora::new(24344);
    outcome.compiled_with_errors.then(|| crate::flow::failure_of(&warning, StatementKind::UNKNOWN))
}

/// The session as DDL sees it.
struct DdlHost<'a> {
    core: &'a Core,
    cx: ExecCtx<'a>,
    dict: Dictionary,
    hook: OnCommit,
}

fn numbers_of(objects: &[ObjectId]) -> Vec<u32> {
    objects.iter().map(|object| object.0).collect()
}

impl DdlHost<'_> {
    /// Seconds over which cursors with changed statistics become invalid.
    fn period_s(&self) -> u64 {
        self.core.params.borrow().number(params::Param::OptimizerInvalidationPeriod).max(0) as u64
    }

    /// Gets and pins the objects that DDL has changed, and invalidates them and the cursors that depend on them. An
    /// object that was not in the library cache before has just been loaded and stays valid.
    fn invalidate_cursors(&self, objects: &[ObjectId]) {
        let (p, library) = (&self.core.p, self.core.shared.library);
        let numbers = numbers_of(objects);
        library.invalidate(p, &numbers);
        let names = self.core.names().ok();
        let is_new = |number: &u32| {
            let named = names.as_ref().and_then(|names| names.called(ObjectId(*number)));
            named.is_some_and(|named| !exec::objects::touch_named(p, library, &named))
        };
        let old: Vec<u32> = numbers.into_iter().filter(|number| !is_new(number)).collect();
        library.invalidate_objects(p, &old);
    }

    /// Compiles a query.
    fn cursor(&mut self, query: &Query) -> Result<Cursor> {
        let statement = Rc::new(Statement::Query(Box::new(query.clone())));
        Cursor::compile_parsed(&mut self.cx, "", statement, &[])
    }

    /// Runs `f` with the names and privileges of the owner of a view or a table (invariant 8).
    fn as_owner<R>(&mut self, owner: UserId, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let name: Rc<str> = self.core.user_name(owner)?.into();
        self.core.enter(self.cx.session, Identity::definer(owner), &name);
        let done = f(self);
        self.core.leave(self.cx.session);
        done
    }

    fn columns_of(&mut self, query: &Query) -> Result<Vec<Described>> {
        let statement = Statement::Query(Box::new(query.clone()));
        let found = Cursor::describe_parsed(&mut self.cx, &statement, (Vec::new(), &[]))?;
        Ok(found.columns.iter().map(described).collect())
    }
}

impl Host for DdlHost<'_> {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            p: &self.core.p,
            dict: &mut self.dict,
            txn: &mut self.cx.session.txn,
            storage: Storage {
                heap: self.core.shared.heap,
                clusters: self.core.shared.clusters,
                trees: self.core.shared.btree,
            },
            hook: &self.hook,
            nls: &self.cx.session.nls,
        }
    }

    fn session(&self) -> SessionNames {
        self.core.who_is(self.core.identity())
    }

    fn now(&self) -> Date {
        self.core.local_time().own_date()
    }

    fn is_connected(&self, user: UserId) -> bool {
        let all = self.core.instance.processes();
        let of = |number| all.session(number).map(|s| s.user.load(std::sync::atomic::Ordering::Relaxed));
        all.live().any(|(number, slot)| !slot.is_background() && of(number) == Some(user.0))
    }

    fn is_edition_used(&self, edition: types::ObjectId) -> bool {
        let all = self.core.instance.processes();
        let of = |number| all.session(number).map(|s| s.edition.load(std::sync::atomic::Ordering::Relaxed));
        all.live().any(|(number, _)| of(number) == Some(edition.0))
    }

    fn claim_unit(&mut self, unit: ObjectId) -> bool {
        self.core.shared.library.claim_unit(&self.core.p, unit.0)
    }

    fn await_unit(&mut self, unit: ObjectId) -> Result<()> {
        let done = self.core.shared.library.await_claimed(&self.core.p, unit.0, self.core.patience());
        done.map_err(|refused| {
            let named = self.core.names().ok().and_then(|names| {
                let def = names.image().object(unit).cloned()?;
                Some((names.image().user_name(def.owner_id), def.name))
            });
            let (owner, name) = named.unwrap_or_default();
            refused.into_ora(&owner, &name)
        })
    }

    fn end_claims(&mut self) {
        self.core.shared.library.end_claims(&self.core.p);
    }

    fn lock_timeout_s(&self) -> u32 {
        let seconds = self.core.params.borrow().number(params::Param::DdlLockTimeout);
        u32::try_from(seconds).unwrap_or(0)
    }

    fn salt(&mut self) -> [u8; SALT_BYTES] {
        crate::random::random_bytes()
    }

    fn makes_11g(&self) -> bool {
        self.core.instance.accepts_11g()
    }

    fn describe(&mut self, query: &Query, owner: Option<UserId>) -> Result<Vec<Described>> {
        let Some(owner) = owner else { return self.columns_of(query) };
        let found = self.as_owner(owner, |session| session.columns_of(query));
        // An object that the owner sees through roles only exists, but the view may not use it.
        match found {
            Err(e) if e.is(942) && self.core.identity().user == owner && self.columns_of(query).is_ok() => {
                let error = Ora::new(1031);
                Err(e.position().map_or(error.clone(), |pos| error.at(pos)))
            }
            found => found,
        }
    }

    fn function(&mut self, owner: UserId, path: &[String], args: usize) -> Result<Option<bool>> {
        let types = vec![types::DataType::Null; args];
        self.as_owner(owner, |session| {
            let core = session.core;
            let mut world = World { cx: session.cx.reborrow(), core };
            let found = core.outside_ddl(|| core.plsql.function(&mut world, path, &types))?;
            Ok(found.map(|f| f.deterministic))
        })
    }

    fn depends_on_settings(&mut self, query: &Query, owner: UserId, language: bool) -> Result<bool> {
        let statement = Statement::Query(Box::new(query.clone()));
        self.as_owner(owner, |session| Cursor::depends_on_settings(&mut session.cx, &statement, language))
    }

    fn used_objects(&mut self, query: &Query, owner: UserId) -> Result<Vec<ObjectId>> {
        self.as_owner(owner, |session| {
            let names = session.core.names()?;
            names.note_uses();
            let found = session.columns_of(query);
            let used = names.take_uses();
            found.map(|_| used)
        })
    }

    fn rows(
        &mut self,
        query: &Query,
        expected: Option<&[Described]>,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = self.cursor(query)?;
        let result = self.each_row(&mut cursor, expected, each);
        cursor.close(&mut self.cx);
        result
    }

    fn rows_ahead(
        &mut self,
        query: &Query,
        table: &Rc<TableDef>,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        // A result of uncommitted changes must not be shared.
        let cached = std::mem::replace(&mut self.cx.session.options.result_cache, false);
        let core = self.core;
        // Functions of the table's columns, indexes and constraints run as its owner, in every session.
        let done =
            core.ahead(Rc::clone(table), || self.as_owner(table.owner_id, |session| session.rows(query, None, each)));
        self.cx.session.options.result_cache = cached;
        done
    }

    fn rows_as(
        &mut self,
        owner: UserId,
        query: &Query,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        self.as_owner(owner, |session| session.rows(query, None, each))
    }

    fn run(&mut self, text: &str) -> Result<()> {
        let mut cursor = Cursor::compile(&mut self.cx, text, &[])?;
        let done = cursor.execute(&mut self.cx);
        cursor.close(&mut self.cx);
        done?;
        self.core.commit(&mut self.cx)
    }

    fn has_temporary_rows(&self, table: ObjectId) -> bool {
        self.cx.session.temporaries.is_used(table)
    }

    fn empty_temporary(&mut self, table: ObjectId) {
        self.cx.session.temporaries.empty(&self.core.p, &self.core.shared, table);
    }

    fn compile(
        &mut self,
        owner: &str,
        _name: &str,
        _kind: StoredKind,
        source: &str,
        settings: &UnitSettings,
    ) -> Result<Vec<ErrorLine>> {
        let mut world = World { cx: self.cx.reborrow(), core: self.core };
        let mut errors = self.core.plsql.check(&mut world, owner, source, settings.clone())?;
        sort_errors(&mut errors);
        Ok(errors.into_iter().map(|e| ErrorLine { line: e.line, column: e.column, text: e.text }).collect())
    }

    fn unit_settings(&self) -> UnitSettings {
        crate::units::unit_settings(self.core)
    }

    fn unit_setting(&self, name: &str, value: &str) -> Result<(String, String)> {
        crate::units::unit_setting(name, value)
    }

    fn selected(&mut self, owner: &str, source: &str, settings: &UnitSettings) -> String {
        let mut world = World { cx: self.cx.reborrow(), core: self.core };
        self.core.plsql.selected(&mut world, owner, source, settings.clone())
    }

    fn compile_trigger(
        &mut self,
        owner: &str,
        source: &str,
        settings: &UnitSettings,
        table: ObjectId,
    ) -> Result<CompiledTrigger> {
        let mut world = World { cx: self.cx.reborrow(), core: self.core };
        let CheckedTrigger { mut errors, new_read, new_assigned, old_read, points } =
            self.core.plsql.check_trigger(&mut world, owner, source, settings.clone(), table.0)?;
        sort_errors(&mut errors);
        let line = |e: plsql::CompileError| ErrorLine { line: e.line, column: e.column, text: e.text };
        let errors = errors.into_iter().map(line).collect();
        Ok(CompiledTrigger { errors, new_read, new_assigned, old_read, points })
    }

    fn take_verdicts(&mut self) -> Vec<Verdict> {
        self.core.dict.borrow().verdicts().take()
    }

    fn compiles(&mut self, object: ObjectId) -> Option<bool> {
        // This check does not use the unit: USER_ERRORS must not change.
        let compiled = compile(self.core, &mut self.cx, object);
        self.core.dict.borrow().verdicts().borrow_mut().clear();
        compiled
    }

    fn announce(&mut self, objects: &[ObjectId], rolled: &[ObjectId]) {
        let (objects, rolled) = (numbers_of(objects), numbers_of(rolled));
        self.core.shared.library.announce(&self.core.p, &objects, &rolled, self.period_s());
    }

    fn roll_out(&mut self, objects: &[ObjectId]) {
        self.core.shared.library.roll_out(&self.core.p, &numbers_of(objects), self.period_s());
    }

    fn changed(&mut self, objects: &[ObjectId]) {
        let scn = self.core.shared.txns.current_scn();
        self.invalidate_cursors(objects);
        for object in objects {
            self.core.shared.results.invalidate(&self.core.p, *object, scn);
            self.cx.session.temporaries.forget(&self.core.p, &self.core.shared, *object);
        }
    }
}

impl DdlHost<'_> {
    /// Inserts the rows of CREATE GLOBAL TEMPORARY TABLE … AS SELECT, which belong to this session. Drops the table
    /// again if that fails.
    fn insert_temporary(&mut self, name: &sql::ast::Name, query: &Query) -> Result<()> {
        let Err(e) = self.run(&format!("insert into {name} {query}")) else { return Ok(()) };
        self.core.rollback(self.cx.session)?;
        if let Some(Resolved::Table(table)) = self.core.names()?.relation(name.qualifier(), name.last())? {
            self.empty_temporary(table.object);
        }
        if let Statement::Ddl(drop) = sql::parse_statement(&format!("drop table {name}"))? {
            ddl::execute(self, &drop)?;
        }
        Err(e)
    }

    fn each_row(
        &mut self,
        cursor: &mut Cursor,
        expected: Option<&[Described]>,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        cursor.execute(&mut self.cx)?;
        if let Some(expected) = expected
            && !cursor.columns().iter().map(described).eq(expected.iter().cloned())
        {
            return Err(Ora::new(1466));
        }
        let mut row = Vec::new();
        while cursor.fetch(&mut self.cx, &mut row)? {
            each(&mut self.parts(), &row)?;
        }
        Ok(())
    }
}

/// Compiles a unit or view in its present definition. Returns whether it has no errors; `None` when that is unknown.
pub(crate) fn compile(core: &Core, cx: &mut ExecCtx<'_>, object: ObjectId) -> Option<bool> {
    let names = core.names().ok()?;
    let image = Rc::clone(names.image());
    let def = image.object(object)?;
    let owner = image.user_name(def.owner_id);
    if def.kind == ObjectKind::View {
        let text = format!("select * from \"{owner}\".\"{}\"", def.name);
        core.enter(cx.session, Identity::definer(def.owner_id), &owner.as_str().into());
        let compiled = Cursor::describe(cx, &text, &[]);
        core.leave(cx.session);
        return match compiled {
            Ok(_) => Some(true),
            Err(e) if matches!(e.code(), 28 | 1013) => None,
            Err(_) => Some(false),
        };
    }
    let mut world = World { cx: cx.reborrow(), core };
    if def.kind == ObjectKind::Trigger {
        return core.plsql.trigger_compiles(&mut world, object.0);
    }
    let body = matches!(def.kind, ObjectKind::PackageBody | ObjectKind::TypeBody);
    core.plsql.compiles(&mut world, &owner, &def.name, body)
}

fn described(c: &exec::Column) -> Described {
    Described { name: is_plain_name(&c.name).then(|| c.name.clone()), data_type: c.ty, nullable: c.nullable }
}

/// Whether a column's heading can be a column's name: the text of an expression cannot.
fn is_plain_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_alphabetic());
    first && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '#'))
}
