//! The session's services for PL/SQL: the implementation of `plsql::World`.

use crate::cursors::{Asker, SqlCursor};
use crate::identity::Identity;
use crate::jobs;
use crate::run;
use crate::world::World;
use dictionary::{Access, Catalog, ObjectKind, Resolved, UnitKind, UserId};
use enqueue::{EnqueueError, EnqueueType, LockMode, Timeout};
use exec::{Cursor, ExecCtx};
use plan::names::Lookup;
use plsql::{
    ColumnInfo, ConnectionPoolRequest, Described, DynamicKind, FlashbackRequest, JobChange, JobRequest, Owner,
    RepositoryRequest, ResultCacheRequest, StoredUnit,
};
use sql::ast::Statement;
use sql::lexer::{TokenKind, lex};
use sql::plsql::ast::UnitKind as UnitKindOfText;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use txn::Savepoint;
use types::{DataType, Nls, ObjectId, Ora, Result, Timestamp, Value};
use wait::{Event, Stat};

/// PL/SQL as the caller of a statement: the types of the binds, in the order of the cursor.
fn asker_of(text: &str, binds: &[DataType], by_name: bool) -> Asker {
    let types = if by_name {
        // The cursor orders its binds by first occurrence, the caller by the number in their names (`:B1`, `:B2`).
        let given = |name: &String| binds.get(name.strip_prefix('B')?.parse::<usize>().ok()?.wrapping_sub(1)).copied();
        sql::bind_names(text).iter().map(given).collect()
    } else {
        binds.iter().copied().map(Some).collect()
    };
    Asker::PlSql { by_name, types }
}

fn is_body(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::PackageBody | ObjectKind::TypeBody)
}

/// The number of placeholders in a statement. A name that occurs twice is counted twice.
fn placeholders(text: &str) -> usize {
    lex(text).tokens.iter().filter(|t| t.kind == TokenKind::Bind).count()
}

/// The stored functions for the compilation of a static statement. The PL/SQL compiler holds the same world meanwhile,
/// hence the cell.
struct Functions<'w, 'r, 'a>(&'w RefCell<&'r mut World<'a>>);

impl exec::Functions for Functions<'_, '_, '_> {
    fn function(
        &self,
        eyes: Option<exec::Eyes>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<exec::HostFunction>> {
        let cx = &mut self.0.borrow_mut().cx;
        let host = cx.host;
        host.function(cx, eyes, path, args)
    }

    fn type_def(&self, id: types::TypeId) -> Option<Rc<types::TypeDef>> {
        self.0.borrow().cx.host.type_def(id)
    }
}

impl World<'_> {
    /// Adds the counts so far to the shared cursors, while PL/SQL runs.
    #[cold]
    fn tell_progress(&mut self) {
        self.cx.session.figures.progress(&self.core.p, self.core.shared.library);
    }

    #[cold]
    fn audit(&mut self, cursor: &Cursor, start: &Savepoint, error: Option<&Ora>) -> Result<()> {
        let kind = net::StatementKind(cursor.kind().command() as u16);
        let (objects, code) = (cursor.dependencies(), error.map_or(0, Ora::code));
        let txn = &mut self.cx.session.txn;
        let noted = crate::audit::rows(self.core, txn, kind, objects, cursor.text(), code);
        crate::audit::or_undone(self.core, txn, start, noted)
    }

    /// Audits a dynamic statement that could not be compiled, and returns its error.
    #[cold]
    fn audit_refused(&self, text: &str, e: Ora) -> Result<Cursor> {
        if self.core.audit_rows.get()
            && let Ok(statement) = sql::parse_statement_by_place(text)
        {
            let kind = crate::kind::kind_of(&statement);
            crate::audit::rows(self.core, &self.cx.session.txn, kind, &[], text, e.code())?;
        }
        Err(e)
    }

    /// True when code compiled now has the same meaning in other sessions.
    pub(crate) fn may_share(&self) -> bool {
        self.cx.session.flashback.is_none() && exec::Host::may_share(self.core)
    }

    /// The environment in the key of a stored unit's image: its owner, and the NLS and optimizer settings.
    fn env_of_unit<'u>(&self, unit: &'u StoredUnit) -> Option<library_cache::Env<'u>> {
        let user = self.core.user_id(&unit.owner).ok().flatten()?;
        let [language, lengths, optimizer] = plsql::World::settings(self);
        let nls = language.wrapping_add(lengths);
        Some(library_cache::Env { user: user.0, schema: &unit.owner, optimizer, nls, auth: 0, binds: 0 })
    }

    fn compile(&mut self, text: &str, asker: &Asker) -> Result<Cursor> {
        match asker {
            Asker::PlSql { by_name: false, types } => {
                Cursor::compile_by_place(&mut self.cx, text, types).or_else(|e| self.audit_refused(text, e))
            }
            Asker::PlSql { types, .. } => Cursor::compile(&mut self.cx, text, types),
            Asker::Client => Cursor::compile(&mut self.cx, text, &[]),
        }
    }

    /// An opened cursor for PL/SQL, bound to the identity in force (invariant 12).
    fn opened(&self, cursor: Cursor, asker: Asker) -> SqlCursor {
        SqlCursor::new(cursor, asker, self.core.identity(), Rc::clone(&self.cx.session.schema))
    }

    /// Runs `f` on a cursor, under the identity that opened it (invariant 12).
    fn as_opener<R>(
        &mut self,
        cursor: &mut SqlCursor,
        f: impl FnOnce(&mut Cursor, &mut ExecCtx<'_>) -> Result<R>,
    ) -> Result<R> {
        if self.core.identity() == cursor.identity {
            return f(&mut cursor.cursor, &mut self.cx);
        }
        self.core.enter(self.cx.session, cursor.identity, &cursor.schema);
        let done = f(&mut cursor.cursor, &mut self.cx);
        self.core.leave(self.cx.session);
        done
    }

    fn column_infos(columns: &[exec::Column]) -> Vec<ColumnInfo> {
        let info = |c: &exec::Column| ColumnInfo { name: c.name.clone(), ty: c.ty, nullable: c.nullable };
        columns.iter().map(info).collect()
    }
}

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
        let names = self.core.names()?;
        let units = names.units(owner, name)?;
        let unit = |u: &Rc<dictionary::ProcedureDef>| StoredUnit {
            owner: u.owner.clone(),
            name: u.name.clone(),
            kind: unit_kind(u.kind),
            source: u.source.clone(),
        };
        Ok(units.iter().map(unit).collect())
    }

    fn may_execute(&mut self, owner: &str, name: &str) -> Result<Access> {
        Ok(self.core.names()?.may_execute(owner, name))
    }

    fn unit_linked(&mut self, owner: &str, name: &str) {
        let (p, library) = (&self.core.p, self.core.shared.library);
        if owner.is_empty() {
            // A built-in unit is a package of SYS without a number.
            exec::objects::touch(p, library, ObjectKind::Package as u8, "SYS", name, 0);
            return;
        }
        let Ok(names) = self.core.names() else { return };
        for unit in names.parts_of_unit(owner, name).iter().filter(|unit| !is_body(unit.kind)) {
            exec::objects::touch(p, library, unit.kind as u8, owner, name, unit.object.0);
        }
    }

    fn unit_runs(&mut self, owner: &str, name: &str) -> Result<bool> {
        // A function called by DDL must not wait for a session that may itself wait for this DDL.
        if self.core.defining.get() {
            return Ok(false);
        }
        let mut now = self.core.names()?.unit_number(owner, name);
        while let Some(unit) = now {
            let noted = self.core.shared.library.run_unit(&self.core.p, unit, self.core.patience());
            noted.map_err(|refused| refused.into_ora(owner, name))?;
            // Before the note, DDL may have replaced the unit by one with another number.
            let then = now;
            now = self.core.names()?.unit_number(owner, name);
            if now == then {
                break;
            }
        }
        Ok(true)
    }

    fn definer(&self) -> Option<String> {
        let identity = self.core.identity();
        (identity == Identity::definer(identity.user)).then(|| self.cx.session.schema.to_string())
    }

    fn settings(&self) -> [u64; 3] {
        let session = &self.cx.session;
        [session.nls_fingerprint(), session.nls.length_semantics as u64, session.options.optimizer]
    }

    fn unit_image(&mut self, unit: &StoredUnit, body: bool, image: &mut Vec<u8>) -> Option<plsql::UnitImage> {
        let (p, library) = (&self.core.p, self.core.shared.library);
        let names = self.core.names().ok()?;
        let env = self.env_of_unit(unit)?;
        let mut found = None;
        for part in names.parts_of_unit(&unit.owner, &unit.name) {
            let has_code = is_body(part.kind) == body;
            let child =
                exec::objects::touch_code(p, library, part.kind as u8, &unit.owner, &unit.name, part.object.0, &env);
            found = found.or(child.filter(|_| has_code));
        }
        let edition = library.image(found.filter(|_| self.may_share())?, image)?;
        let number = dictionary::DictionaryShared::number_of(self.cx.host.epoch());
        let is_known = number.is_some_and(|number| library.is_known(edition, number));
        Some(plsql::UnitImage { edition, is_known })
    }

    fn keep_unit(&mut self, unit: &StoredUnit, body: bool, image: &[u8], stale: Option<library_cache::Edition>) {
        let (Ok(names), Some(env)) = (self.core.names(), self.env_of_unit(unit)) else { return };
        if !self.may_share() {
            return;
        }
        let parts = names.parts_of_unit(&unit.owner, &unit.name);
        let Some(part) = parts.iter().find(|part| is_body(part.kind) == body) else { return };
        let (p, library) = (&self.core.p, self.core.shared.library);
        let of = (part.kind as u8, unit.owner.as_str(), unit.name.as_str(), part.object.0);
        exec::objects::load_code(p, library, of, &env, image, stale);
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
        let Ok(names) = self.core.names() else { return };
        let parts = names.parts_of_unit(&unit.owner, &unit.name);
        let is_it = |kind| match kind {
            ObjectKind::PackageBody => unit.kind == UnitKindOfText::PackageBody,
            ObjectKind::TypeBody => unit.kind == UnitKindOfText::TypeBody,
            _ => !matches!(unit.kind, UnitKindOfText::PackageBody | UnitKindOfText::TypeBody),
        };
        let Some(stored) = parts.iter().find(|part| is_it(part.kind)) else { return };
        let says_nothing = match (errors.is_empty(), stored.valid) {
            (true, valid) => valid,
            // DDL invalidates dependent units itself. Unless a name is missing, the error of a valid unit may be
            // temporary.
            (false, true) => !errors.iter().any(names_nothing),
            (false, false) => errors.iter().any(passes),
        };
        if says_nothing {
            return;
        }
        self.core.note_verdict(stored.object, names.image().epoch(), errors);
    }

    fn passes(&self, error: &plsql::CompileError) -> bool {
        passes(error)
    }

    fn unit_defined(&mut self, owner: &str, name: &str) -> [u64; 2] {
        let Ok(names) = self.core.names() else { return [0; 2] };
        let mut parts = names.parts_of_unit(owner, name).into_iter().map(|part| part.changed);
        [0, 1].map(|_| parts.next().unwrap_or(0))
    }

    fn is_valid_unit(&mut self, owner: &str, name: &str) -> bool {
        let Ok(names) = self.core.names() else { return true };
        names.parts_of_unit(owner, name).iter().all(|unit| is_body(unit.kind) || unit.valid)
    }

    fn unit_number(&mut self, owner: &str, name: &str) -> u32 {
        self.core.names().ok().and_then(|names| names.unit_number(owner, name)).unwrap_or(0)
    }

    fn unit_called(&mut self, number: u32) -> Option<(String, String)> {
        let names = self.core.names().ok()?;
        let called = Catalog::called(&*names, types::ObjectId(number))?;
        Some((called.owner, called.name))
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
        let asker = asker_of(text, binds, by_name);
        let cursor = match self.core.take_kept(&mut self.cx, text, &asker) {
            Some(cursor) => cursor,
            None => {
                self.core.kept.borrow_mut().count_parse(text);
                self.compile(text, &asker)?
            }
        };
        Ok(self.opened(cursor, asker))
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
        let start = crate::audit::start(self.core, &self.cx.session.txn, cursor.changes_trail);
        let executed = self.as_opener(cursor, |cursor, cx| cursor.execute(cx));
        if let Some(start) = start {
            self.audit(&cursor.cursor, &start, executed.as_ref().err())?;
        }
        executed?;
        Ok(cursor.cursor.rows_processed())
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

    fn check_text(&mut self, text: &str) -> Result<()> {
        exec::read_text(&self.core.p, || sql::parse_statement(text)).map(drop)
    }

    fn dynamic_kind(&mut self, text: &str) -> Result<(DynamicKind, usize)> {
        // A query or DML is not parsed here: its shared cursor may exist.
        if let Some(word) = crate::kind::of_first_word(text) {
            let kind = if word == net::StatementKind::SELECT { DynamicKind::Query } else { DynamicKind::Dml };
            return Ok((kind, placeholders(text)));
        }
        let kind = match exec::read_text(&self.core.p, || sql::parse_statement(text))? {
            Statement::Query(_) => DynamicKind::Query,
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => {
                DynamicKind::Dml
            }
            Statement::Block { pos: _ } | Statement::Call(_) => DynamicKind::Block,
            _ => return Ok((DynamicKind::Other, 0)), // not a clause: they have no binds
        };
        Ok((kind, placeholders(text)))
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
        let locks = sql::lexer::lex(text)
            .tokens
            .first()
            .is_some_and(|first| text[first.start as usize..first.end as usize].eq_ignore_ascii_case("lock"));
        if locks {
            self.cx.session.may_lock()?
        } else {
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
        crate::alter::set_nls(self.core, self.cx.session, parameter, value)
    }

    fn commit(&mut self) -> Result<()> {
        self.cx.session.may_control_transaction()?;
        self.core.commit(&mut self.cx)
    }

    fn rollback(&mut self) -> Result<()> {
        self.cx.session.may_control_transaction()?;
        crate::branch::refuse_rollback(self.core, self.cx.session)?;
        self.core.rollback(self.cx.session)
    }

    fn savepoint(&mut self, name: &str) -> Result<()> {
        self.cx.session.may_control_transaction()?;
        self.core.savepoint(&self.cx.session.txn, name);
        Ok(())
    }

    fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.cx.session.may_control_transaction()?;
        self.core.rollback_to(&mut self.cx.session.txn, name)
    }

    fn set_transaction(&mut self, text: &str) -> Result<()> {
        self.cx.session.may_control_transaction()?;
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
        let mode = LockMode::ALL.get(mode as usize).copied().unwrap_or(LockMode::Exclusive);
        if self.core.user_locks.borrow().contains_key(&id) {
            return Ok(4);
        }
        let timeout = user_timeout(timeout_s);
        match self.core.shared.enqueues.get(&self.core.p, EnqueueType::Ul, id.into(), 0, mode, timeout) {
            Ok(lock) => {
                self.core.user_locks.borrow_mut().insert(id, (lock, until_commit));
                Ok(0)
            }
            Err(EnqueueError::Busy | EnqueueError::TimedOut) => Ok(1),
            Err(EnqueueError::Deadlock) => Ok(2),
            Err(e) => Err(e.into()),
        }
    }

    fn user_lock_release(&mut self, id: u32) -> Result<i64> {
        match self.core.user_locks.borrow_mut().remove(&id) {
            Some((lock, _)) => {
                self.core.shared.enqueues.release(&self.core.p, lock);
                Ok(0)
            }
            None => Ok(4),
        }
    }

    fn user_lock_convert(&mut self, id: u32, mode: u8, timeout_s: Option<u32>) -> Result<i64> {
        let mode = LockMode::ALL.get(mode as usize).copied().unwrap_or(LockMode::Exclusive);
        let Some((lock, _)) = self.core.user_locks.borrow().get(&id).copied() else { return Ok(4) };
        match self.core.shared.enqueues.convert(&self.core.p, lock, mode, user_timeout(timeout_s)) {
            Ok(()) => Ok(0),
            Err(EnqueueError::Busy | EnqueueError::TimedOut) => Ok(1),
            Err(EnqueueError::Deadlock) => Ok(2),
            Err(e) => Err(e.into()),
        }
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

    fn change_context(&mut self, namespace: &str, name: Option<&str>, value: Option<&str>) -> Result<()> {
        crate::context::change(self.core, namespace, name, value)
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

fn user_timeout(seconds: Option<u32>) -> Timeout {
    match seconds {
        None => Timeout::Never,
        Some(0) => Timeout::NoWait,
        Some(s) => Timeout::After(Duration::from_secs(s.into())),
    }
}

/// True for an error about a name that does not exist or may not be used.
fn names_nothing(error: &plsql::CompileError) -> bool {
    const CODES: [&str; 9] = [
        "ORA-00904",
        "ORA-00942",
        "ORA-02289",
        "ORA-04063",
        "ORA-06575",
        "PLS-00201",
        "PLS-00302",
        "PLS-00904",
        "PLS-00905",
    ];
    CODES.iter().any(|code| error.text.contains(code))
}

/// True for an error that is not the unit's fault: the session was interrupted, or a resource was exhausted.
fn passes(error: &plsql::CompileError) -> bool {
    const CODES: [&str; 10] = [
        "ORA-00028",
        "ORA-00060",
        "ORA-00600",
        "ORA-01013",
        "ORA-01555",
        "ORA-02393",
        "ORA-02395",
        "ORA-04030",
        "ORA-04031",
        "ORA-04036",
    ];
    CODES.iter().any(|code| error.text.contains(code))
}

fn unit_kind(kind: UnitKind) -> UnitKindOfText {
    use UnitKindOfText as Ast;
    match kind {
        UnitKind::Procedure => Ast::Procedure,
        UnitKind::Function => Ast::Function,
        UnitKind::Package => Ast::Package,
        UnitKind::PackageBody => Ast::PackageBody,
        UnitKind::Trigger => Ast::Trigger,
        UnitKind::Type => Ast::Type,
        UnitKind::TypeBody => Ast::TypeBody,
    }
}
