//! The session's services for PL/SQL: the implementation of `plsql::World`.

use crate::cursors::SqlCursor;
use crate::identity::Identity;
use crate::plsql_cursors::{self, Functions, asker_of};
use crate::world::World;
use crate::{jobs, run, units, user_locks};
use dictionary::{Access, Catalog, Resolved, UserId};
use exec::Cursor;
use plan::names::Lookup;
use plsql::{
    ColumnInfo, ConnectionPoolRequest, Described, DynamicKind, FlashbackRequest, JobChange, JobRequest, Owner,
    RepositoryRequest, ResultCacheRequest, StoredUnit, TriggerTable,
};
use sql::ast::Statement;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use types::{DataType, Nls, ObjectId, Ora, Result, Timestamp, Value};
use wait::{Event, Stat};

impl plsql::World for World<'_> {
    type Cursor = SqlCursor;

    fn nls(&self) -> &Nls {
        &self.cx.session.nls
    }

    fn user(&self) -> String {
        self.cx.session.user.clone()
    }

    fn user_id(&self) -> i64 {
        self.cx.session.user_id.into()
    }

    fn schema(&self) -> String {
        self.cx.session.schema.to_string()
    }

    #[inline]
    fn identity(&self) -> u128 {
        self.core.identity().key()
    }

    fn owner_number(&mut self, owner: &str) -> u32 {
        // A dropped user has no units, so no identity is taken with this number.
        self.core.user_id(owner).ok().flatten().map_or(u32::MAX, |user| user.0)
    }

    #[inline]
    fn enter(&mut self, owner: &Owner) -> bool {
        let identity = Identity::definer(UserId(owner.number));
        let is_other = self.core.identity() != identity;
        if is_other {
            self.core.enter(self.cx.session, identity, &owner.name);
        }
        is_other
    }

    fn leave(&mut self) {
        self.core.leave(self.cx.session);
    }

    fn check_inheritance(&mut self, owner: &Owner) -> Result<()> {
        self.core.require_inheritance(UserId(owner.number))
    }

    fn is_own(&self, cursor: &SqlCursor) -> bool {
        cursor.identity == self.core.identity()
    }

    fn sys_context(&mut self, namespace: &str, parameter: &str) -> Result<Value> {
        crate::context::sys_context(self.core, self.cx.session, namespace, parameter)
    }

    fn call_function(&mut self, function: &'static functions::FnDef, args: &[Value], out: &mut Value) -> Result<()> {
        run::call_function(self.core, self.cx.session, function, args, out)
    }

    fn check_cancel(&mut self) -> Result<()> {
        self.cx.check_cancel()?;
        if self.core.is_check_due() {
            self.tell_progress();
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.core.local_time()
    }

    fn hsecs(&self) -> i64 {
        (os::clock::now_ns() / 10_000_000) as i64
    }

    fn cpu_hsecs(&self) -> i64 {
        (os::clock::thread_cpu_ns() / 10_000_000) as i64
    }

    fn entropy(&self) -> u64 {
        u64::from_le_bytes(self.core.new_guid()[..8].try_into().expect("eight of sixteen bytes")) ^ os::clock::now_ns()
    }

    fn sleep(&mut self, seconds: f64) -> Result<()> {
        let until = Instant::now() + Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX / 4);
        let guard = self.core.p.wait(Event::PlSqlLockTimer, (seconds * 100.0) as u64, 0, 0);
        loop {
            let posts = self.core.p.posts();
            self.core.p.check_cancel()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                guard.timed_out();
                return Ok(());
            }
            self.core.p.sleep(posts, Some(left));
        }
    }

    fn epoch(&mut self) -> u64 {
        self.cx.host.epoch()
    }

    fn table_columns(&mut self, owner: Option<&str>, name: &str) -> Result<Option<Vec<ColumnInfo>>> {
        let names = self.core.names()?;
        let info =
            |c: &dictionary::ColumnDef| ColumnInfo { name: c.name.clone(), ty: c.data_type, nullable: c.nullable };
        match names.relation(owner, name)? {
            Some(Resolved::Table(t)) => Ok(Some(t.visible_columns().map(|(_, c)| info(c)).collect())),
            Some(Resolved::View(_)) => {
                let qualified = match owner {
                    Some(o) => format!("select * from \"{o}\".\"{name}\""),
                    None => format!("select * from \"{name}\""),
                };
                Ok(Some(Self::describe(&RefCell::new(self), &qualified, &[], &exec::NoVariables)?.columns))
            }
            _ => Ok(None),
        }
    }

    fn sequence_exists(&mut self, owner: Option<&str>, name: &str) -> Result<bool> {
        Ok(self.core.names()?.sequence(owner, name)?.is_some())
    }

    fn stored_unit(&mut self, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>> {
        units::stored(self, owner, name)
    }

    fn stored_trigger(&mut self, trigger: u32) -> Result<Option<(StoredUnit, TriggerTable)>> {
        units::trigger(self, trigger)
    }

    fn event(&self) -> Option<std::rc::Rc<plsql::EventFacts>> {
        self.core.event.borrow().clone()
    }

    fn trigger_table(&mut self, table: u32) -> Result<Option<TriggerTable>> {
        units::trigger_table(self, table)
    }

    fn may_execute(&mut self, owner: &str, name: &str) -> Result<Access> {
        Ok(self.core.names()?.may_execute(owner, name))
    }

    fn unit_linked(&mut self, owner: &str, name: &str) {
        units::linked(self, owner, name)
    }

    fn unit_runs(&mut self, owner: &str, name: &str) -> Result<bool> {
        units::runs(self, owner, name)
    }

    fn definer(&self) -> Option<String> {
        let identity = self.core.identity();
        (identity == Identity::definer(identity.user)).then(|| self.cx.session.schema.to_string())
    }

    fn settings(&self) -> [u64; 3] {
        units::settings(self)
    }

    fn unit_settings(&self) -> std::rc::Rc<[(String, String)]> {
        units::unit_settings(self.core)
    }

    fn unit_image(&mut self, unit: &StoredUnit, body: bool, image: &mut Vec<u8>) -> Option<plsql::UnitImage> {
        units::image(self, unit, body, image)
    }

    fn keep_unit(&mut self, unit: &StoredUnit, body: bool, image: &[u8], stale: Option<library_cache::Edition>) {
        units::keep(self, unit, body, image, stale)
    }

    fn unit_is_known(&mut self, image: plsql::UnitImage, epoch: u64) {
        if let Some(number) = dictionary::DictionaryShared::number_of(epoch) {
            self.core.shared.library.set_known(image.edition, number);
        }
    }

    fn unit_objects(&mut self, owner: &str, name: &str) -> Vec<ObjectId> {
        let Ok(names) = self.core.names() else { return Vec::new() };
        names.parts_of_unit(owner, name).iter().map(|unit| unit.object).collect()
    }

    fn may_open_cursor(&mut self, open: usize) -> Result<()> {
        if self.core.client_cursors.get() + open < self.core.cursors_most() { Ok(()) } else { Err(Ora::new(1000)) }
    }

    #[inline]
    fn cursors_open(&mut self, open: usize) {
        self.core.p.stats().set(Stat::OpenedCursorsCurrent, (self.core.client_cursors.get() + open) as u64);
    }

    fn unit_compiled(&mut self, unit: &StoredUnit, errors: &[plsql::CompileError]) {
        units::compiled(self, unit, errors)
    }

    fn passes(&self, error: &plsql::CompileError) -> bool {
        units::passes(error)
    }

    fn unit_defined(&mut self, owner: &str, name: &str) -> [u64; 2] {
        units::defined(self, owner, name)
    }

    fn is_valid_unit(&mut self, owner: &str, name: &str) -> bool {
        units::is_valid(self, owner, name)
    }

    fn unit_number(&mut self, owner: &str, name: &str) -> u32 {
        self.core.names().ok().and_then(|names| names.unit_number(owner, name)).unwrap_or(0)
    }

    fn unit_called(&mut self, number: u32) -> Option<(String, String)> {
        units::called(self, number)
    }

    #[inline]
    fn subprogram_entered(&mut self, what: u64) -> [u64; 2] {
        let words = &self.core.p.session().subprograms;
        let before = [0, 1].map(|n: usize| words[n].load(Relaxed));
        if before[0] == 0 {
            words[0].store(what, Relaxed);
        }
        words[1].store(what, Relaxed);
        before
    }

    #[inline]
    fn subprogram_left(&mut self, before: [u64; 2]) {
        for (word, what) in self.core.p.session().subprograms.iter().zip(before) {
            word.store(what, Relaxed);
        }
    }

    fn describe(
        world: &RefCell<&mut Self>,
        text: &str,
        binds: &[DataType],
        variables: &dyn exec::Variables,
    ) -> Result<Described> {
        let binds: Vec<_> = binds.iter().copied().map(Some).collect();
        let (host, scn, states) = {
            let w = world.borrow();
            w.cx.p.count(Stat::ParseCountDescribe, 1);
            // While DDL defines a table, the table has the number of the stored definition but another state.
            let states = if w.may_share() { w.cx.session.states() } else { Rc::default() };
            (w.cx.host, w.cx.session.flashback, states)
        };
        let functions = Functions(world);
        let (d, lookups) = Cursor::describe_static(host, (text, &binds), scn, &states, &functions, variables)?;
        Ok(Described {
            query: d.kind == exec::StatementKind::Select,
            columns: Self::column_infos(&d.columns),
            dependencies: d.dependencies,
            units: d.units,
            lookups,
        })
    }

    fn means_the_same(world: &RefCell<&mut Self>, lookups: &[Lookup]) -> Result<bool> {
        let (names, states) = {
            let w = world.borrow();
            (w.core.names()?, w.cx.session.states())
        };
        let is_same = plan::names::is_same(lookups, &*names, &states)?;
        Ok(is_same && plan::names::find_functions(lookups, &Functions(world))?.is_some())
    }

    fn open_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<SqlCursor> {
        let asker = asker_of(text, binds, by_name);
        let cursor = self.compile(text, &asker)?;
        Ok(self.opened(cursor, asker))
    }

    fn parse_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<SqlCursor> {
        plsql_cursors::parse(self, text, binds, by_name)
    }

    fn close_cursor(&mut self, cursor: SqlCursor) {
        let SqlCursor { mut cursor, identity, asker, .. } = cursor;
        cursor.close(&mut self.cx);
        self.core.keep_cursor(&mut self.cx, cursor, identity, asker);
    }

    fn keeps_cursors(&self) -> bool {
        self.core.kept_most() > 0
    }

    fn bind(&mut self, cursor: &mut SqlCursor, at: usize, value: &Value) -> Result<()> {
        let place = *cursor.places.get(at).ok_or_else(|| Ora::new(1006))?;
        cursor.cursor.bind_one(place, value)
    }

    fn execute(&mut self, cursor: &mut SqlCursor) -> Result<u64> {
        plsql_cursors::execute(self, cursor)
    }

    #[inline]
    fn has_columns(&mut self, cursor: &mut SqlCursor, columns: &plsql::SqlColumns, of_any: bool) -> bool {
        let now = (cursor.cursor.epoch(), columns.mark);
        if cursor.has_columns == now {
            return true;
        }
        let fit = columns.fit(of_any, cursor.cursor.columns().iter().map(|c| (c.name.as_str(), &c.ty)));
        if fit {
            cursor.has_columns = now;
        }
        fit
    }

    fn continues(&mut self, cursor: &mut SqlCursor, continues: bool) {
        cursor.cursor.set_continues(continues);
    }

    fn execute_later(&mut self, cursor: &mut SqlCursor) -> Result<bool> {
        // Audited statements are executed at once, one by one.
        if self.core.audit_rows.get() || cursor.changes_trail {
            return Ok(false);
        }
        self.as_opener(cursor, |cursor, cx| cursor.execute_later(cx))
    }

    fn bind_place(&self, cursor: &SqlCursor, at: usize) -> Option<usize> {
        cursor.places.get(at).copied()
    }

    fn execute_more(&mut self, cursor: &mut SqlCursor, values: &[&Value]) -> Result<bool> {
        self.as_opener(cursor, |cursor, cx| cursor.execute_more(values, cx))
    }

    fn waits_enough(&self, cursor: &SqlCursor) -> bool {
        cursor.cursor.waiting().1
    }

    fn execute_waiting(
        &mut self,
        cursor: &mut SqlCursor,
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
    ) -> Result<()> {
        self.as_opener(cursor, |cursor, cx| cursor.execute_waiting(refused, cx))
    }

    fn fetch(&mut self, cursor: &mut SqlCursor, row: &mut Vec<Value>) -> Result<bool> {
        self.as_opener(cursor, |cursor, cx| cursor.fetch(cx, row))
    }

    fn current_row(&self, cursor: &SqlCursor) -> Option<types::Rowid> {
        cursor.cursor.current_row()
    }

    fn end_fetch(&mut self, cursor: &mut SqlCursor) {
        cursor.cursor.close(&mut self.cx);
    }

    fn take_nested(&mut self, number: &Value) -> Option<SqlCursor> {
        self.core.take_nested(number)
    }

    fn bound_cursor(&self, number: &Value) -> Option<plsql::Datum> {
        self.core.bound_cursor(number)
    }

    #[inline]
    fn column_count(&self, cursor: &SqlCursor) -> usize {
        cursor.cursor.columns().len()
    }

    fn open_named(&mut self, text: &str) -> Result<SqlCursor> {
        let asker = crate::cursors::Asker::Client;
        let cursor = self.compile(text, &asker).or_else(|e| self.audit_refused(text, e))?;
        Ok(self.opened(cursor, asker))
    }

    fn bind_names(&self, cursor: &SqlCursor) -> Vec<String> {
        cursor.cursor.binds().to_vec()
    }

    fn columns(&self, cursor: &SqlCursor) -> Vec<ColumnInfo> {
        Self::column_infos(cursor.cursor.columns())
    }

    fn last_row(&self, cursor: &SqlCursor) -> Option<types::Rowid> {
        cursor.cursor.last_row()
    }

    fn check_text(&mut self, text: &str) -> Result<()> {
        exec::read_text(&self.core.p, || sql::parse_statement(text)).map(drop)
    }

    fn dynamic_kind(&mut self, text: &str) -> Result<(DynamicKind, usize)> {
        plsql_cursors::dynamic_kind(self, text)
    }

    fn open_block(&mut self, text: &str) -> Result<Option<Rc<plsql::Block>>> {
        crate::blocks::open_dynamic(self, text).map(Some)
    }

    fn block_begins(&mut self) {
        crate::blocks::begin_dynamic(self);
    }

    fn close_block(&mut self, done: bool) {
        crate::blocks::close_dynamic(self, done);
    }

    fn pause(&mut self, cursor: &mut SqlCursor, paused: bool) {
        cursor.cursor.pause(paused, &mut self.cx);
    }

    fn begin_fetch(&mut self, cursor: &mut SqlCursor) {
        cursor.cursor.begin_fetch(&mut self.cx);
    }

    fn write_lob(&mut self, row: &types::LobRow, edit: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<Value> {
        exec::lobs::write(row, edit, &mut self.cx)
    }

    fn execute_other(&mut self, text: &str) -> Result<()> {
        // LOCK TABLE is the only static statement that comes here; all others are dynamic.
        let tokens = sql::lexer::lex(text).tokens;
        let is_word = |at: usize, word: &str| {
            let token = tokens.get(at).map(|token| &text[token.start as usize..token.end as usize]);
            token.is_some_and(|token| token.eq_ignore_ascii_case(word))
        };
        // The trigger of a logon sets up its session.
        let is_set_up = self.core.event.borrow().is_some() && is_word(0, "alter") && is_word(1, "session");
        if is_word(0, "lock") {
            self.cx.session.may_lock()?
        } else if !is_set_up {
            self.cx.session.may_control_transaction()?
        }
        run::run_other(self.core, &mut self.cx, text)
    }

    fn set_role(&mut self, roles: &str) -> Result<()> {
        match sql::parse_statement(&format!("set role {roles}"))? {
            Statement::SetRole(roles) => run::set_role(self.core, &roles),
            _ => Err(Ora::new(922)),
        }
    }

    fn set_nls(&mut self, parameter: &str, value: &str) -> Result<()> {
        // A trigger may not, as with ALTER SESSION; a function of a query may.
        let is_set_up = self.core.event.borrow().is_some();
        self.cx.session.may_control("SET NLS").or_else(|e| if e.is(4092) && !is_set_up { Err(e) } else { Ok(()) })?;
        crate::alter::set_nls(self.core, self.cx.session, parameter, value)
    }

    fn commit(&mut self) -> Result<()> {
        self.cx.session.may_control_transaction()?;
        self.core.commit(&mut self.cx)
    }

    fn rollback(&mut self) -> Result<()> {
        self.cx.session.may_control("ROLLBACK")?;
        crate::branch::refuse_rollback(self.core, self.cx.session)?;
        self.core.rollback(self.cx.session)
    }

    fn savepoint(&mut self, name: &str) -> Result<()> {
        self.cx.session.may_control("SET SAVEPOINT")?;
        self.core.savepoint(&self.cx.session.txn, name);
        Ok(())
    }

    fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.cx.session.may_control("ROLLBACK TO")?;
        self.core.rollback_to(&mut self.cx.session.txn, name)
    }

    fn set_transaction(&mut self, text: &str) -> Result<()> {
        self.cx.session.may_control("SET TRANSACTION")?;
        run::run_other(self.core, &mut self.cx, text)
    }

    fn autonomous_begin(&mut self) -> Result<()> {
        let inner = txn::Txn::inside(&self.cx.session.txn);
        let txn = std::mem::replace(&mut self.cx.session.txn, inner);
        let savepoints = self.core.savepoints.take();
        let constraints = self.cx.session.constraints.suspend();
        self.core.suspended.borrow_mut().push((txn, savepoints, constraints));
        self.cx.session.suspended += 1;
        Ok(())
    }

    fn autonomous_end(&mut self) -> Result<()> {
        let txn = &self.cx.session.txn;
        let active = txn.xid().is_some() || (txn.is_active() && !txn.holds_snapshot());
        let rolled_back = if txn.is_active() { self.core.rollback(self.cx.session) } else { Ok(()) };
        if let Some((txn, savepoints, constraints)) = self.core.suspended.borrow_mut().pop() {
            self.core.shared.txns.show_transaction(&self.core.p, &txn);
            self.cx.session.txn = txn;
            self.cx.session.constraints.resume(constraints);
            self.cx.session.suspended -= 1;
            *self.core.savepoints.borrow_mut() = savepoints;
        }
        rolled_back?;
        if active { Err(Ora::new(6519)) } else { Ok(()) }
    }

    fn function_result_get(&mut self, function: &str, depends: &[ObjectId], key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.core.function_result_get(self.cx.session, function, depends, key)
    }

    fn function_result_put(&mut self, function: &str, key: &[u8], value: &[u8]) -> Result<()> {
        self.core.function_result_put(function, key, value);
        Ok(())
    }

    fn function_result_abandon(&mut self, function: &str, key: &[u8]) {
        self.core.function_result_abandon(function, key);
    }

    fn job_submit(&mut self, job: &JobRequest) -> Result<i64> {
        jobs::submit(self, job)
    }

    fn job_change(&mut self, job: i64, change: &JobChange) -> Result<()> {
        jobs::change(self, job, change)
    }

    fn job_remove(&mut self, job: i64) -> Result<()> {
        jobs::remove(self, job)
    }

    fn alert(&mut self, request: &plsql::AlertRequest) -> Result<[Value; 3]> {
        crate::alerts::call(self, request)
    }

    fn scheduler(&mut self, request: &plsql::SchedulerRequest) -> Result<Value> {
        crate::scheduler::call(self, request)
    }

    fn incident(&mut self, error: &Ora) {
        self.core.note_error(error, None);
    }

    fn job_run(&mut self, job: i64) -> Result<()> {
        jobs::run_now(self, job)
    }

    fn result_cache(&mut self, request: &ResultCacheRequest) -> Result<Value> {
        run::result_cache(self.core, request)
    }

    fn audit_trail(&mut self, request: &plsql::AuditRequest) -> Result<()> {
        crate::audit::manage(self.core, &self.cx.session.txn, request)
    }

    fn statistics(&mut self, request: &dictionary::statistics_request::StatisticsRequest) -> Result<Value> {
        use dictionary::statistics_request::StatisticsRequest;
        if request.only_asks() {
            return crate::ddl_call::statistics(self.core, &mut self.cx, request);
        }
        match (self.cx.session.may_control_transaction(), request) {
            (Ok(()), _) => crate::ddl_call::statistics(self.core, &mut self.cx, request),
            // CREATE_EXTENDED_STATS is a function that users call in queries, so it runs in an autonomous transaction.
            (Err(_), StatisticsRequest::Extension { .. }) => {
                self.autonomous_begin()?;
                let done = crate::ddl_call::statistics(self.core, &mut self.cx, request);
                let ended = self.autonomous_end();
                done.and_then(|answer| ended.map(|()| answer))
            }
            (Err(e), _) => Err(e),
        }
    }

    fn refresh_view(&mut self, name: &str, fast: bool) -> Result<()> {
        self.cx.session.may_control_transaction()?;
        crate::ddl_call::refresh_view(self.core, &mut self.cx, name, fast)
    }

    fn shared_pool(&mut self, request: &plsql::SharedPoolRequest) -> Result<()> {
        crate::shared_pool::shared_pool(self.core, request)
    }

    fn display_cursor(&mut self, sql_id: Option<&str>, child: Option<i64>, format: &str) -> Result<Value> {
        crate::shared_pool::display_cursor(self.core, sql_id, child, format)
    }

    fn display_plan(&mut self, table: &str, statement_id: Option<&str>, format: &str) -> Result<Value> {
        crate::explain::display(&mut self.cx, table, statement_id, format)
    }

    fn xa(&mut self, xid: &[u8], request: &plsql::XaRequest) -> Result<i64> {
        self.cx.session.may_control_transaction()?;
        crate::global::xa(self.core, &mut self.cx, xid, request)
    }

    fn sessionless(&mut self, request: &plsql::SessionlessRequest<'_>) -> Result<Value> {
        if !matches!(request, plsql::SessionlessRequest::Id) {
            self.cx.session.may_control_transaction()?;
        }
        crate::sessionless::call(self.core, &mut self.cx, request)
    }

    fn xa_recover(&mut self) -> Result<Vec<Vec<u8>>> {
        Ok(crate::global::xa_recover(self.core))
    }

    fn user_lock_request(&mut self, id: u32, mode: u8, timeout_s: Option<u32>, until_commit: bool) -> Result<i64> {
        user_locks::request(self, id, mode, timeout_s, until_commit)
    }

    fn user_lock_release(&mut self, id: u32) -> Result<i64> {
        user_locks::release(self, id)
    }

    fn user_lock_convert(&mut self, id: u32, mode: u8, timeout_s: Option<u32>) -> Result<i64> {
        user_locks::convert(self, id, mode, timeout_s)
    }

    fn connection_pool(&mut self, pool: &str, request: ConnectionPoolRequest<'_>) -> Result<()> {
        crate::connection_pool::request(self, pool, request)
    }

    fn flashback(&mut self, request: &FlashbackRequest) -> Result<Value> {
        crate::flashback::flashback(self.core, &mut self.cx, request)
    }

    fn create_snapshot(&mut self, level: &str) -> Result<i64> {
        monitor::create_snapshot(self, level)
    }

    fn repository(&mut self, request: &RepositoryRequest) -> Result<Value> {
        Ok(match monitor::repository::run(self, request)? {
            monitor::repository::Answer::Value(value) => value,
            monitor::repository::Answer::Report(lines) => crate::shared_pool::lines(types::TypeId::REPORT_LINES, lines),
        })
    }

    fn database_says(&mut self, what: &str) -> Result<Value> {
        Ok(match (what, params::Param::find(what)) {
            ("version", _) => Value::text(instance::RELEASE),
            (_, Some(param)) => Value::text(self.core.instance.params().get(param)),
            // There is no such parameter here; the answer is Oracle's default.
            ("max_string_size", None) => Value::text("STANDARD"),
            _ => Value::Null,
        })
    }

    fn transaction_id(&mut self, begin: bool) -> Result<Value> {
        if begin && self.cx.session.txn.xid().is_none() {
            self.core.shared.txns.begin(&self.core.p, &mut self.cx.session.txn)?;
        }
        let xid = self.cx.session.txn.xid();
        Ok(xid.map_or(Value::Null, |xid| Value::text(format!("{}.{}.{}", xid.usn, xid.slot, xid.sqn))))
    }

    fn set_identifier(&mut self, client: &str) {
        self.core.p.session().client_identifier.set(client);
    }

    fn change_context(&mut self, change: &plsql::ContextChange<'_>) -> Result<()> {
        crate::context::change(self.core, self.cx.session, change)
    }

    fn session_serial(&self) -> i64 {
        // Clients have 16 bits for the serial number.
        (self.core.p.session().serial() & 0xffff) as i64
    }

    fn set_application_info(&mut self, module: Option<&str>, action: Option<&str>, client_info: Option<&str>) {
        let slot = self.core.p.session();
        for (text, value) in [(&slot.module, module), (&slot.action, action), (&slot.client_info, client_info)] {
            if let Some(v) = value {
                text.set(v);
            }
        }
    }
}
