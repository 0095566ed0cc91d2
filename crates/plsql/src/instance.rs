//! The world of a real session: SQL by the executor, names by the dictionary, all other services by the session.

use crate::code::Owner;
use crate::requests::{JobChange, JobRequest, ResultCacheRequest};
use crate::world::{ColumnInfo, Described, DynamicKind, StoredUnit, World};
use dictionary::{ProcedureDef, Resolved};
use exec::{Cursor, ExecCtx, HostFunction};
use functions::{FnCache, FnCtx, FnDef};
use result_cache::{Build, Description, Key, Namespace, Opened, ResultBuffer};
use sql::ast::Statement;
use sql::lexer::{TokenKind, lex};
use sql::plsql::ast::UnitKind;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use txn::Snapshot;
use types::{DataType, Nls, ObjectId, Ora, Result, Timestamp, Value};
use wait::Event;

/// The services that PL/SQL needs from the session above it.
pub trait Services {
    /// The stored unit with that name, with synonyms resolved, and a package's body after it.
    fn units(&self, cx: &mut ExecCtx<'_>, owner: Option<&str>, name: &str) -> Result<Vec<Rc<ProcedureDef>>>;
    /// Sets the schema of unqualified names, for [`exec::Host::catalog`] too.
    fn set_schema(&self, cx: &mut ExecCtx<'_>, schema: &str);
    /// Runs a statement that is neither a query, nor DML, nor a block: DDL, ALTER SESSION and the like.
    fn execute_other(&self, cx: &mut ExecCtx<'_>, text: &str) -> Result<()>;
    fn commit(&self, cx: &mut ExecCtx<'_>) -> Result<()>;
    fn rollback(&self, cx: &mut ExecCtx<'_>) -> Result<()>;
    fn savepoint(&self, cx: &mut ExecCtx<'_>, name: &str) -> Result<()>;
    /// ORA-01086 for an unknown savepoint.
    fn rollback_to(&self, cx: &mut ExecCtx<'_>, name: &str) -> Result<()>;
    fn set_transaction(&self, cx: &mut ExecCtx<'_>, text: &str) -> Result<()>;
    /// Suspends the transaction; ORA-03001 when that is not supported.
    fn autonomous_begin(&self, _cx: &mut ExecCtx<'_>) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn autonomous_end(&self, _cx: &mut ExecCtx<'_>) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// CPU time of the process in hundredths of a second.
    fn cpu_hsecs(&self) -> i64;
    /// Reports an error of [`Ora::begin_report`].
    fn incident(&self, _error: &Ora) {}
    fn job_submit(&self, _cx: &mut ExecCtx<'_>, _job: &JobRequest) -> Result<i64> {
        Err(Ora::unsupported())
    }
    fn job_change(&self, _cx: &mut ExecCtx<'_>, _job: i64, _change: &JobChange) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn job_remove(&self, _cx: &mut ExecCtx<'_>, _job: i64) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn job_run(&self, _cx: &mut ExecCtx<'_>, _job: i64) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn user_lock_request(
        &self,
        _cx: &mut ExecCtx<'_>,
        _id: u32,
        _mode: u8,
        _timeout_s: Option<u32>,
        _until_commit: bool,
    ) -> Result<i64> {
        Err(Ora::unsupported())
    }
    fn user_lock_release(&self, _cx: &mut ExecCtx<'_>, _id: u32) -> Result<i64> {
        Err(Ora::unsupported())
    }
    fn set_application_info(
        &self,
        _cx: &mut ExecCtx<'_>,
        _module: Option<&str>,
        _action: Option<&str>,
        _client_info: Option<&str>,
    ) {
    }
}

/// The cursor of a statement, with the index of each of PL/SQL's binds in it.
pub struct SqlCursor {
    cursor: Cursor,
    map: Vec<usize>,
}

/// A function's result that is being built for the result cache.
struct Building {
    key: Vec<u8>,
    build: Build,
    snapshot: Snapshot,
}

/// The world of a call.
pub struct ExecWorld<'a, 'b> {
    cx: &'a mut ExecCtx<'b>,
    services: &'a dyn Services,
    cache: FnCache,
    building: Vec<Building>,
    /// The schemas to return to.
    before: Vec<Rc<str>>,
}

impl<'a, 'b> ExecWorld<'a, 'b> {
    pub fn new(cx: &'a mut ExecCtx<'b>, services: &'a dyn Services) -> ExecWorld<'a, 'b> {
        ExecWorld { cx, services, cache: FnCache::default(), building: Vec::new(), before: Vec::new() }
    }

    fn touched(&self, depends: &[ObjectId]) -> bool {
        self.cx.session.txn.is_active() && depends.iter().any(|d| self.cx.session.txn.has_touched(*d))
    }
}

/// Answers the planner's questions about functions by the session's host.
struct HostFunctions<'w, 'r, 'a, 'b>(&'w RefCell<&'r mut ExecWorld<'a, 'b>>);

impl plan::Functions for HostFunctions<'_, '_, '_, '_> {
    fn function(
        &self,
        text_owner: Option<exec::TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let mut world = self.0.borrow_mut();
        let host = world.cx.host;
        host.function(world.cx, text_owner, path, args)
    }

    fn type_def(&self, id: types::TypeId) -> Option<Rc<types::TypeDef>> {
        self.0.borrow().cx.host.type_def(id)
    }
}

/// The index of a PL/SQL bind: `B3` is the third.
fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix('B')?.parse::<usize>().ok()?.checked_sub(1)
}

/// Types of the binds of a static statement, in the order of their first occurrence.
fn bind_types(text: &str, given: &[DataType]) -> Vec<Option<DataType>> {
    sql::bind_names(text).iter().map(|name| given.get(number_of(name)?).and_then(bind_type)).collect()
}

fn bind_type(ty: &DataType) -> Option<DataType> {
    match ty {
        DataType::PlsInteger => Some(DataType::NUMBER),
        DataType::Null | DataType::Cursor | DataType::Boolean => None,
        ty => Some(*ty),
    }
}

struct Caller<'a> {
    p: &'a process::Process,
    user: &'a str,
    user_id: u32,
    schema: &'a str,
    sid: u32,
    host: &'a dyn exec::Host,
}

impl functions::SessionInfo for Caller<'_> {
    fn user(&self) -> &str {
        self.user
    }
    fn user_id(&self) -> u32 {
        self.user_id
    }
    fn schema(&self) -> &str {
        self.schema
    }
    fn sid(&self) -> u32 {
        self.sid
    }
    fn check_cancel(&self) -> Result<()> {
        self.p.check_cancel()
    }
    fn context(&self, _namespace: &str, _parameter: &str, _out: &mut String) -> Result<bool> {
        // The machine itself handles SYS_CONTEXT.
        Ok(false)
    }
    fn guid(&self) -> [u8; 16] {
        self.host.sys_guid()
    }
}

impl functions::Clock for Caller<'_> {
    fn now(&self) -> Timestamp {
        self.host.now()
    }
}

impl World for ExecWorld<'_, '_> {
    type Cursor = SqlCursor;

    fn nls(&self) -> &Nls {
        &self.cx.session.nls
    }
    fn user(&self) -> String {
        self.cx.session.user.clone()
    }
    fn user_id(&self) -> i64 {
        i64::from(self.cx.session.user_id)
    }
    fn schema(&self) -> String {
        self.cx.session.schema.to_string()
    }
    fn identity(&self) -> u128 {
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&self.cx.session.schema, &mut hasher);
        std::hash::Hasher::finish(&hasher).into()
    }
    fn enter(&mut self, owner: &Owner) -> bool {
        if *self.cx.session.schema == *owner.name {
            return false;
        }
        self.before.push(Rc::clone(&self.cx.session.schema));
        self.services.set_schema(self.cx, &owner.name);
        true
    }
    fn leave(&mut self) {
        let before = self.before.pop().expect("an owner was taken");
        self.services.set_schema(self.cx, &before);
    }
    fn call_function(&mut self, function: &'static FnDef, args: &[Value], out: &mut Value) -> Result<()> {
        let s = &*self.cx.session;
        let caller = Caller {
            p: self.cx.p,
            user: &s.user,
            user_id: s.user_id,
            schema: &s.schema,
            sid: self.cx.p.sid(),
            host: self.cx.host,
        };
        let mut ctx = FnCtx {
            nls: &s.nls,
            session: &caller,
            clock: &caller,
            cache: &mut self.cache,
            text_max: functions::TextMax::PlSql,
        };
        function.call(&mut ctx, args, out)
    }
    fn sys_context(&mut self, namespace: &str, parameter: &str) -> Result<Value> {
        let host = self.cx.host;
        host.sys_context(self.cx, namespace, parameter)
    }
    fn check_cancel(&mut self) -> Result<()> {
        self.cx.p.check_cancel()
    }
    fn now(&self) -> Timestamp {
        self.cx.host.now()
    }
    fn hsecs(&self) -> i64 {
        let now = self.cx.host.now();
        now.instant() * 100 + i64::from(now.nanos / 10_000_000)
    }
    fn cpu_hsecs(&self) -> i64 {
        self.services.cpu_hsecs()
    }
    fn entropy(&self) -> u64 {
        let guid = self.cx.host.sys_guid();
        u64::from_le_bytes(guid[8..].try_into().expect("eight bytes"))
    }
    fn sleep(&mut self, seconds: f64) -> Result<()> {
        let p = self.cx.p;
        let wait = p.wait(Event::PlSqlLockTimer, (seconds * 100.0) as u64, 0, 0);
        let mut left = Duration::from_secs_f64(seconds);
        let mut before = self.cx.host.now();
        while !left.is_zero() {
            let seen = p.posts();
            p.check_cancel()?;
            p.sleep(seen, Some(left.min(Duration::from_secs(1))));
            let now = self.cx.host.now();
            let passed = now.since(&before).to_nanos().max(0);
            left = left.saturating_sub(Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX)));
            before = now;
        }
        wait.timed_out();
        Ok(())
    }

    fn epoch(&mut self) -> u64 {
        self.cx.host.epoch()
    }
    fn table_columns(&mut self, owner: Option<&str>, name: &str) -> Result<Option<Vec<ColumnInfo>>> {
        let catalog = self.cx.host.catalog()?;
        match catalog.relation(owner, name)? {
            Some(Resolved::Table(t)) => Ok(Some(
                t.visible_columns()
                    .map(|(_, c)| ColumnInfo { name: c.name.clone(), ty: c.data_type, nullable: c.nullable })
                    .collect(),
            )),
            Some(Resolved::View(v)) => {
                let text = format!("SELECT * FROM \"{}\".\"{}\"", v.owner, v.name);
                Ok(Some(Self::describe(&RefCell::new(self), &text, &[], &plan::NoVariables)?.columns))
            }
            _ => Ok(None),
        }
    }
    fn sequence_exists(&mut self, owner: Option<&str>, name: &str) -> Result<bool> {
        Ok(self.cx.host.catalog()?.sequence(owner, name)?.is_some())
    }
    fn stored_unit(&mut self, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>> {
        let found = self.services.units(self.cx, owner, name)?;
        Ok(found
            .iter()
            .map(|u| StoredUnit {
                owner: u.owner.clone(),
                name: u.name.clone(),
                kind: kind_of(u.kind),
                source: u.source.clone(),
                settings: u.settings.clone(),
            })
            .collect())
    }

    fn describe(
        world: &RefCell<&mut Self>,
        text: &str,
        binds: &[DataType],
        variables: &dyn plan::Variables,
    ) -> Result<Described> {
        let statement = sql::parse_statement(text)?;
        let catalog = world.borrow().cx.host.catalog()?;
        let types = bind_types(text, binds);
        let names = (sql::bind_names(text), &types[..]);
        let plan = plan::describe(&statement, &*catalog, &HostFunctions(world), variables, names, None)?;
        let info = |c: &plan::Column| ColumnInfo { name: c.name.clone(), ty: c.ty, nullable: c.nullable };
        let returned = |r: &[(plan::Expr, plan::Column)]| r.iter().map(|(_, c)| info(c)).collect();
        let (query, columns) = match &plan.body {
            plan::PlanBody::Query(q) => (true, q.columns.iter().map(info).collect()),
            plan::PlanBody::Insert(i) => (false, returned(&i.returning)),
            plan::PlanBody::Update(u) => (false, returned(&u.returning)),
            plan::PlanBody::Delete(d) => (false, returned(&d.returning)),
            plan::PlanBody::InsertAll(_) | plan::PlanBody::Merge(_) | plan::PlanBody::Instead(_) => (false, Vec::new()),
        };
        Ok(Described { query, columns, dependencies: plan.dependencies, units: plan.units, lookups: Vec::new() })
    }
    fn open_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<SqlCursor> {
        if !by_name {
            let types: Vec<_> = binds.iter().map(bind_type).collect();
            let cursor = Cursor::compile_by_place(self.cx, text, &types)?;
            return Ok(SqlCursor { map: (0..cursor.binds().len()).collect(), cursor });
        }
        let cursor = Cursor::compile(self.cx, text, &bind_types(text, binds))?;
        let place = |n: usize| cursor.binds().iter().position(|b| *b == format!("B{n}")).unwrap_or(usize::MAX);
        let map = (1..=binds.len()).map(place).collect();
        Ok(SqlCursor { cursor, map })
    }
    fn bind(&mut self, cursor: &mut SqlCursor, at: usize, value: &Value) -> Result<()> {
        match cursor.map.get(at) {
            Some(&usize::MAX) => Ok(()),
            Some(&place) => cursor.cursor.bind_one(place, value),
            None => Err(Ora::new(1006)),
        }
    }
    fn execute(&mut self, cursor: &mut SqlCursor) -> Result<u64> {
        cursor.cursor.execute(self.cx)?;
        Ok(cursor.cursor.rows_processed())
    }
    fn continues(&mut self, cursor: &mut SqlCursor, continues: bool) {
        cursor.cursor.set_continues(continues);
    }
    fn execute_later(&mut self, cursor: &mut SqlCursor) -> Result<bool> {
        cursor.cursor.execute_later(self.cx)
    }

    fn bind_place(&self, cursor: &SqlCursor, at: usize) -> Option<usize> {
        cursor.map.get(at).copied().filter(|place| *place != usize::MAX)
    }

    fn execute_more(&mut self, cursor: &mut SqlCursor, values: &[&Value]) -> Result<bool> {
        cursor.cursor.execute_more(values, self.cx)
    }

    fn waits_enough(&self, cursor: &SqlCursor) -> bool {
        cursor.cursor.waiting().1
    }

    fn execute_waiting(
        &mut self,
        cursor: &mut SqlCursor,
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
    ) -> Result<()> {
        cursor.cursor.execute_waiting(refused, self.cx)
    }

    fn fetch(&mut self, cursor: &mut SqlCursor, row: &mut Vec<Value>) -> Result<bool> {
        cursor.cursor.fetch(self.cx, row)
    }
    fn end_fetch(&mut self, cursor: &mut SqlCursor) {
        cursor.cursor.close(self.cx);
    }
    fn column_count(&self, cursor: &SqlCursor) -> usize {
        cursor.cursor.columns().len()
    }
    fn dynamic_kind(&mut self, text: &str) -> Result<(DynamicKind, usize)> {
        let kind = match sql::parse_statement(text)? {
            Statement::Query(_) => DynamicKind::Query,
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => {
                DynamicKind::Dml
            }
            Statement::Block { pos: _ } => DynamicKind::Block,
            _ => DynamicKind::Other, // not a clause: they are run unchanged
        };
        let count = || lex(text).tokens.iter().filter(|t| t.kind == TokenKind::Bind).count();
        Ok((kind, if kind == DynamicKind::Other { 0 } else { count() }))
    }
    fn write_lob(&mut self, row: &types::LobRow, edit: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<Value> {
        exec::lobs::write(row, edit, self.cx)
    }
    fn execute_other(&mut self, text: &str) -> Result<()> {
        self.services.execute_other(self.cx, text)
    }

    fn commit(&mut self) -> Result<()> {
        self.services.commit(self.cx)
    }
    fn rollback(&mut self) -> Result<()> {
        self.services.rollback(self.cx)
    }
    fn savepoint(&mut self, name: &str) -> Result<()> {
        self.services.savepoint(self.cx, name)
    }
    fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.services.rollback_to(self.cx, name)
    }
    fn set_transaction(&mut self, text: &str) -> Result<()> {
        self.services.set_transaction(self.cx, text)
    }
    fn autonomous_begin(&mut self) -> Result<()> {
        self.services.autonomous_begin(self.cx)
    }
    fn autonomous_end(&mut self) -> Result<()> {
        self.services.autonomous_end(self.cx)
    }

    fn function_result_get(&mut self, name: &str, depends: &[ObjectId], key: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.cx.session.options.result_cache || self.touched(depends) {
            return Ok(None);
        }
        let mut full = name.as_bytes().to_vec();
        full.push(0);
        full.extend_from_slice(&self.cx.session.nls_fingerprint().to_le_bytes());
        full.extend_from_slice(key);
        let (p, shared) = (self.cx.p, self.cx.shared);
        shared.results.track(p, depends, || shared.txns.current_scn());
        let snapshot = shared.txns.snapshot(p, &self.cx.session.txn);
        let about =
            Description { name, namespace: Namespace::PlSql, creator: self.cx.session.user_id, column_count: 1 };
        let mut buffer = ResultBuffer::new();
        let opened =
            shared.results.open(p, shared.enqueues, Key::new(&full), about, depends, snapshot.scn, &mut buffer);
        match opened {
            Ok(Opened::Build(build)) => {
                self.building.push(Building { key: key.to_vec(), build, snapshot });
                Ok(None)
            }
            other => {
                shared.txns.release(p, &snapshot);
                match other? {
                    Opened::Hit => Ok(buffer.next_row().map(<[u8]>::to_vec)),
                    _ => Ok(None),
                }
            }
        }
    }
    fn function_result_put(&mut self, _name: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let Some(at) = self.building.iter().rposition(|b| b.key == key) else { return Ok(()) };
        let Building { mut build, snapshot, .. } = self.building.remove(at);
        let (p, shared) = (self.cx.p, self.cx.shared);
        shared.results.push(&mut build, value);
        shared.results.publish(p, shared.enqueues, build);
        shared.txns.release(p, &snapshot);
        Ok(())
    }
    fn function_result_abandon(&mut self, _name: &str, key: &[u8]) {
        let Some(at) = self.building.iter().rposition(|b| b.key == key) else { return };
        let Building { build, snapshot, .. } = self.building.remove(at);
        let (p, shared) = (self.cx.p, self.cx.shared);
        shared.results.abandon(p, shared.enqueues, build);
        shared.txns.release(p, &snapshot);
    }

    fn job_submit(&mut self, job: &JobRequest) -> Result<i64> {
        self.services.job_submit(self.cx, job)
    }
    fn job_change(&mut self, job: i64, change: &JobChange) -> Result<()> {
        self.services.job_change(self.cx, job, change)
    }
    fn incident(&mut self, error: &Ora) {
        self.services.incident(error);
    }
    fn job_remove(&mut self, job: i64) -> Result<()> {
        self.services.job_remove(self.cx, job)
    }
    fn job_run(&mut self, job: i64) -> Result<()> {
        self.services.job_run(self.cx, job)
    }
    fn result_cache(&mut self, request: &ResultCacheRequest) -> Result<Value> {
        let (p, shared) = (self.cx.p, self.cx.shared);
        let results = shared.results;
        Ok(match request {
            ResultCacheRequest::Status => Value::text(results.status()),
            ResultCacheRequest::Flush => {
                results.flush(p);
                Value::Boolean(true)
            }
            ResultCacheRequest::Bypass(on) => {
                results.set_bypass(*on);
                Value::Null
            }
            ResultCacheRequest::InvalidateObject(id) => {
                let object = u32::try_from(*id).map(ObjectId).map_err(|_| Ora::new(6502))?;
                self.invalidate(object)
            }
            ResultCacheRequest::Invalidate { owner, name } => {
                let object = match self.cx.host.catalog()?.relation(Some(owner), name)? {
                    Some(Resolved::Table(t)) => t.object,
                    Some(Resolved::View(v)) => v.object,
                    Some(Resolved::Sequence(s)) => s.object,
                    Some(Resolved::Unit(u)) => u.object,
                    None => return Ok(Value::Number(types::Number::ZERO)),
                };
                self.invalidate(object)
            }
            ResultCacheRequest::MemoryReport { .. } => {
                let rows = results.memory_rows();
                let used = rows.iter().filter(|r| !r.free).count();
                let text = format!(
                    "R e s u l t   C a c h e   M e m o r y   R e p o r t\n[Parameters]\nBlock Size          = 1K bytes\n\
                     [Memory]\nTotal Memory = {} bytes\n... Blocks = {} ({} used, {} free)",
                    rows.len() * 1024,
                    rows.len(),
                    used,
                    rows.len() - used
                );
                Value::text(text)
            }
        })
    }
    fn user_lock_request(&mut self, id: u32, mode: u8, timeout_s: Option<u32>, until_commit: bool) -> Result<i64> {
        self.services.user_lock_request(self.cx, id, mode, timeout_s, until_commit)
    }
    fn user_lock_release(&mut self, id: u32) -> Result<i64> {
        self.services.user_lock_release(self.cx, id)
    }
    fn set_application_info(&mut self, module: Option<&str>, action: Option<&str>, client_info: Option<&str>) {
        self.services.set_application_info(self.cx, module, action, client_info);
    }
}

impl ExecWorld<'_, '_> {
    /// Invalidates the results that depend on an object; returns their number.
    fn invalidate(&mut self, object: ObjectId) -> Value {
        let shared = self.cx.shared;
        let before: u64 =
            shared.results.object_rows().iter().filter(|r| r.object_no == object).map(|r| r.depend_count).sum();
        shared.results.invalidate(self.cx.p, object, shared.txns.current_scn());
        Value::Number(types::Number::from_u64(before))
    }
}

fn kind_of(kind: dictionary::UnitKind) -> UnitKind {
    match kind {
        dictionary::UnitKind::Procedure => UnitKind::Procedure,
        dictionary::UnitKind::Function => UnitKind::Function,
        dictionary::UnitKind::Package => UnitKind::Package,
        dictionary::UnitKind::PackageBody => UnitKind::PackageBody,
        dictionary::UnitKind::Trigger => UnitKind::Trigger,
        dictionary::UnitKind::Type => UnitKind::Type,
        dictionary::UnitKind::TypeBody => UnitKind::TypeBody,
    }
}

/// The description of a function in the planner's form.
impl From<crate::Function> for HostFunction {
    fn from(f: crate::Function) -> HostFunction {
        HostFunction {
            owner: f.owner,
            package: f.package,
            name: f.name,
            handle: f.handle,
            arg_types: f.arg_types,
            arg_names: f.arg_names,
            has_default: f.has_default,
            omitted: Vec::new(),
            ty: f.ty,
            deterministic: f.deterministic,
            is_pipelined: f.is_pipelined,
            dependencies: Vec::new(),
            invokers: f.invokers,
            caller: None,
            nested: Vec::new(),
        }
    }
}
