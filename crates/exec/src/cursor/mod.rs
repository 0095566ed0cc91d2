//! Cursors: a statement compiled once and executed many times.
//!
//! | state | content | way out |
//! |---|---|---|
//! | Closed | the plan, valid while all its names keep their meaning | `execute` |
//! | Rows | the row sources are open as of the snapshot | `fetch` to the end, `close`, `execute` |
//! | Cached | the rows are in the result buffer | the same |
//! | Done | the number of rows processed, RETURNING's rows | the same |
//!
//! Executing again allocates nothing on the single-row paths (E1): the registers, the result buffer and the bind values
//! keep their memory, the plan is checked by one load of the epoch (E2), and the statement's figures are counted in the
//! session (E8). When the epoch has moved, the look-ups of the plan are repeated ([`plan::names`]).
//!
//! A soft parse reads no text: it makes the cursor from the image in the library cache ([`crate::shared_plan`]). The
//! row sources of a query are built at its first execution, because a parse call that only describes it needs none.
//!
//! `compile` makes cursors, `fetch` returns their rows; this module has executions, binds and DML.

mod compile;
mod fetch;

pub use compile::{read_text, updatable_columns};

use crate::adaptive::{self, Adaptive};
use crate::code::Code;
use crate::compile::may_share;
use crate::ctx::{Caller, ExecCtx};
use crate::dml::{Dml, TableLocks};
use crate::machine::Machine;
use crate::measure;
use crate::shared_plan::{Later, Names};
use crate::source::Op;
use crate::statistics::{Place, Run};
use dictionary::TemporaryKind;
use plan::{BindType, Class, Column, class};
use result_cache::{Build, ResultBuffer};
use sql::ast::Statement;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Scn, Value};
use wait::Stat;

/// The kind of a cursor's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

impl StatementKind {
    /// The command number of `v$sql`.
    pub fn command(self) -> u32 {
        match self {
            StatementKind::Select => 3,
            StatementKind::Insert => 2,
            StatementKind::Update => 6,
            StatementKind::Delete => 7,
            StatementKind::Merge => 189,
        }
    }
}

/// Properties of a statement that are known without opening a cursor on it.
#[derive(Clone, Debug)]
pub struct Described {
    pub kind: StatementKind,
    /// Columns of a query, or of RETURNING.
    pub columns: Vec<Column>,
    /// Names of the binds, in the order of their first occurrence.
    pub binds: Vec<String>,
    /// Tables and views that it reads or changes.
    pub dependencies: Vec<ObjectId>,
    /// Owners and names of the stored units whose functions it calls.
    pub units: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Rows,
    Cached,
    Done,
}

/// Receives the bytes of a row, and the positions and types of the wanted columns. Returns false to stop.
pub type TakeStored<'a> = dyn FnMut(&[u8], &[(u16, DataType)]) -> Result<bool> + 'a;

/// The executable form of the statement.
enum Body {
    Query {
        op: Op,
        out: Vec<Code>,
        /// The result takes its values out of the registers without copying (see `moves` in `compile`, E16).
        moves: bool,
        /// The positions and types of the result's stored columns; empty if a value is not a stored column.
        stored: Vec<(u16, DataType)>,
    },
    Dml(Dml),
}

/// How the statement uses the result cache.
struct Cached {
    depends: Vec<ObjectId>,
    /// Whether the hint RESULT_CACHE, or a table's annotation, asks for caching; otherwise only RESULT_CACHE_MODE =
    /// FORCE does.
    hinted: bool,
    refused: bool,
    /// The fixed part of the key: statement and user.
    prefix: Vec<u8>,
    key: Vec<u8>,
    buffer: ResultBuffer,
    /// The result under construction (E7).
    build: Option<Build>,
    row: Vec<u8>,
}

/// A compiled statement with its execution.
///
/// An open cursor must be closed with [`Cursor::close`] before it is dropped: `close` releases the snapshot and a
/// result being built for the result cache.
pub struct Cursor {
    text: Rc<str>,
    /// The statement's tree; `None` if the plan came from an image.
    statement: Option<Rc<Statement>>,
    kind: StatementKind,
    /// The plan to be decoded at the first execution; there are no row sources until then.
    later: Option<Box<Later>>,
    columns: Vec<Column>,
    binds: Vec<String>,
    bind_types: Vec<BindType>,
    /// Whether every occurrence of a bind variable is a separate bind.
    by_place: bool,
    /// The row that DML changed last.
    last_row: Option<types::Rowid>,
    /// Values for the next execution.
    values: Vec<Value>,
    /// The assumed type of a bind was wrong: compile again before executing.
    retype: bool,
    body: Body,
    locks: TableLocks,
    m: Machine,
    first_bind: u32,
    has_sequences: bool,
    locks_rows: bool,
    /// Whether there is a first row, if it was already fetched into the registers.
    first: Option<bool>,
    lock_rowid: Option<plan::Reg>,
    /// The point of the transaction at which the rows were locked.
    locked_at: txn::TxnPoint,
    epoch: u64,
    /// The look-ups of the plan.
    names: Names,
    dependencies: Vec<ObjectId>,
    /// The first SCN at which all its tables had the definitions of an epoch, and that epoch.
    checked: Option<(Scn, u64)>,
    cached: Option<Box<Cached>>,
    state: State,
    /// Whether the next execution continues the one before.
    continues: bool,
    rows: u64,
    /// The caller that fetches.
    fetches: Fetches,
    returned: std::vec::IntoIter<Vec<Value>>,
    key: Place,
    /// The session's flashback SCN at compilation.
    flashback: Option<Scn>,
    /// The session's settings at compilation.
    settings: Settings,
    /// Whether it was compiled with the rights of SYS, for the executor itself.
    internal: bool,
    /// The temporary tables of the statement, and the state of the session's segments at compilation and at opening.
    temporary: Vec<(ObjectId, TemporaryKind)>,
    temporary_version: u64,
    temporary_purges: u64,
    /// State for a plan that depends on bind values.
    adaptive: Option<Box<Adaptive>>,
    /// The estimated rows of scans, if the first execution is to be compared with them.
    monitor: Option<Vec<adaptive::Expected>>,
}

/// The caller that fetches from a cursor. It decides how fetches are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetches {
    /// A cursor loop, SELECT INTO and the like: fetches of [`ROWS_A_FETCH`] rows, the last of which finds the end.
    Ours,
    /// FETCH of PL/SQL: each one counts.
    Explicit,
    /// A client: each fetch counts, and a row counts when it is sent. A row fetched in advance is not counted yet.
    Clients,
}

/// Fingerprints of the session's language and optimizer settings. Constants are converted at compile time, and other
/// optimizer settings need another child cursor.
type Settings = (u64, u64);

fn settings_of(cx: &ExecCtx<'_>) -> Settings {
    (cx.session.nls_fingerprint(), cx.session.options.optimizer)
}

/// Rows of a fetch by the server itself.
const ROWS_A_FETCH: u64 = 100;
/// Most restarts of a statement whose rows have changed since its snapshot.
const RESTARTS_MOST: u32 = 5000;

impl Cursor {
    /// Records in `v$open_cursor` that the session keeps the closed cursor, or uses it again. Using it again is a parse
    /// call.
    pub fn set_kept(&mut self, kept: bool, cx: &mut ExecCtx<'_>) {
        self.key.keep(kept);
        if !kept {
            self.key.parsed(&self.text, self.kind.command(), cx);
        }
    }

    /// PL/SQL leaves the open query (`paused`) until its next fetch, or returns to it. Meanwhile `v$session` shows the
    /// block.
    #[inline]
    pub fn pause(&mut self, paused: bool, cx: &mut ExecCtx<'_>) {
        self.key.pause(paused, cx);
    }

    /// Digest of the statement and number of the child cursor.
    pub fn shared(&self, cx: &ExecCtx<'_>) -> Option<(library_cache::Digest, u64)> {
        self.key.identify(cx.shared.library)
    }

    /// The objects that the statement reads or changes.
    pub fn dependencies(&self) -> &[ObjectId] {
        &self.dependencies
    }

    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// The text of the statement.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The dictionary epoch for which its names were last verified.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Columns of a query, or of RETURNING.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names of the binds, in the order of their first occurrence in the text; a name that occurs twice is one bind.
    pub fn binds(&self) -> &[String] {
        &self.binds
    }

    /// The SCN of the open query's snapshot.
    pub fn seen(&self) -> Option<types::Scn> {
        (self.state == State::Rows).then(|| self.m.snapshot().scn)
    }

    /// Sets all binds for the next execution.
    ///
    /// # Errors
    /// ORA-01008 for too few values, ORA-01036 for too many.
    pub fn bind(&mut self, values: &[Value]) -> Result<()> {
        if values.len() != self.binds.len() {
            return Err(Ora::new(if values.len() < self.binds.len() { 1008 } else { 1036 }));
        }
        for (i, v) in values.iter().enumerate() {
            self.bind_one(i, v)?;
        }
        Ok(())
    }

    /// Sets one bind and reuses the buffer of its old value.
    pub fn bind_one(&mut self, at: usize, value: &Value) -> Result<()> {
        let slot = self.values.get_mut(at).ok_or_else(|| Ora::new(1036))?;
        let content = value.content();
        slot.set(content);
        if !content.is_null() && !fits(content, &self.bind_types[at]) {
            self.bind_types[at] = Some(value.data_type());
            self.retype = true;
        }
        Ok(())
    }

    /// Executes with the bound values. DML is complete when this returns; the rows of a query are then fetched.
    ///
    /// A statement does not lock the objects that it only reads. If a rebuild has replaced the segment of one
    /// meanwhile, the statement has not done anything yet; it is compiled and run again. Both runs are one execution.
    pub fn execute(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut run = self.next_run();
        loop {
            match self.execute_once(&mut run, cx) {
                Err(e) if e.is(8103) && !cx.host.is_current(self.epoch) => cx.check_cancel()?,
                done => return done,
            }
        }
    }

    /// Whether the types of the binds, the dictionary and the session's settings are those of the compilation.
    #[inline]
    fn is_as_compiled(&self, cx: &ExecCtx<'_>) -> bool {
        !self.retype && cx.host.is_current(self.epoch) && self.settings == settings_of(cx)
    }

    /// As [`Cursor::is_as_compiled`]; a changed dictionary is accepted if all names keep their meaning.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    fn is_as_compiled_or_same(&mut self, cx: &ExecCtx<'_>) -> Result<bool> {
        if self.is_as_compiled(cx) {
            return Ok(true);
        }
        Ok(!self.retype && self.settings == settings_of(cx) && self.names_are_same(cx)?)
    }

    /// Whether the dictionary is that of the compilation, or gives all names the same meaning; the cursor then adopts
    /// its epoch. New statistics do not change a meaning; they invalidate the shared cursor if they need to.
    #[cold]
    fn names_are_same(&mut self, cx: &ExecCtx<'_>) -> Result<bool> {
        if cx.host.is_current(self.epoch) {
            return Ok(true);
        }
        if self.internal || !may_share(cx) || !self.key.has_valid_plan(cx) {
            return Ok(false);
        }
        let catalog = cx.host.catalog()?;
        let is_same = self.names.are_same(&*catalog, &cx.session.states)?;
        if is_same {
            self.epoch = catalog.epoch();
        }
        Ok(is_same)
    }

    /// Whether the next execution with values of the same types can run the present plan, and the shared cursor still
    /// exists.
    pub fn is_current(&mut self, cx: &ExecCtx<'_>) -> bool {
        let as_now = self.flashback == cx.session.flashback && !self.lost_segments(cx) && self.key.is_valid(cx);
        // The error is raised by the parse that follows.
        as_now && self.is_as_compiled_or_same(cx).unwrap_or(false)
    }

    /// Whether every occurrence of a bind variable is a separate bind.
    pub fn is_by_place(&self) -> bool {
        self.by_place
    }

    /// The types of its binds, as far as known.
    pub fn bind_types(&self) -> &[BindType] {
        &self.bind_types
    }

    /// How the next execution counts.
    #[inline]
    fn next_run(&self) -> Run {
        if self.continues { Run::Again } else { Run::First }
    }

    #[inline]
    fn execute_once(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.state != State::Closed {
            self.close(cx);
        }
        let at_its_time = self.internal || self.flashback == cx.session.flashback;
        let is_made = self.temporary.is_empty() && self.later.is_none() && self.adaptive.is_none();
        if !(is_made && at_its_time && self.is_as_compiled(cx)) {
            self.prepare(cx)?;
        }
        self.check_caller(cx)?;
        if let Body::Dml(_) = self.body {
            return self.execute_change(run, cx);
        }
        self.check_definitions(cx)?;
        self.begin_execution(run, cx);
        if self.cached.is_some() && self.open_cached(cx)? {
            self.state = State::Cached;
            if let Some(run) = &mut self.m.run {
                run.is_new = true;
            }
            return Ok(());
        }
        let locks = self.locks_rows;
        let result = if locks { self.bind_temporary(cx) } else { Ok(()) }.and_then(|()| self.open_rows(cx));
        if result.is_err() {
            self.key.took(cx);
            self.end(cx);
        }
        result
    }

    /// Called before an execution that cannot use the cursor as it is: compiles the statement again, or builds the row
    /// sources of its plan.
    ///
    /// # Errors
    /// Those of compiling the statement, and of temporary tables in use.
    #[cold]
    #[inline(never)]
    fn prepare(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if !self.temporary.is_empty() {
            let touched = |object| cx.session.txn.has_touched(object);
            cx.session.temporaries.settle(cx.p, cx.shared, &touched, cx.session.suspended)?;
        }
        let other_time = !self.internal && self.flashback != cx.session.flashback;
        if other_time || self.lost_segments(cx) || !self.is_as_compiled_or_same(cx)? {
            self.renew(cx)?;
        }
        if self.later.is_some() {
            self.make_plan(cx)?;
        }
        if self.adaptive.is_some() {
            self.adapt(cx)?;
        }
        if !self.temporary.is_empty() {
            cx.session.temporaries.check_depth(&self.temporary, cx.session.suspended)?;
            self.temporary_purges = cx.session.temporaries.purges(&self.temporary);
        }
        Ok(())
    }

    /// Executes DML.
    fn execute_change(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut shared = Vec::new();
        let result = may_change(cx).and_then(|()| self.execute_dml(&mut shared, run, cx));
        if result.is_err() {
            self.key.took(cx);
        }
        self.tell_run(0, cx);
        self.key.finished(cx);
        for object in shared {
            cx.shared.txns.end_share(cx.p, &mut cx.session.txn, object);
        }
        result.map_err(|e| cx.host.name_segment(e))
    }

    /// Checks a statement inside a function that SQL calls: a query's function may not change rows, and no function may
    /// read a table that the calling DML changes.
    ///
    /// # Errors
    /// ORA-14551, ORA-04091.
    #[inline]
    fn check_caller(&self, cx: &ExecCtx<'_>) -> Result<()> {
        match cx.session.caller() {
            Some(caller) if !self.internal => self.check_called_by(caller, cx),
            _ => Ok(()),
        }
    }

    #[cold]
    fn check_called_by(&self, caller: &Caller, cx: &ExecCtx<'_>) -> Result<()> {
        let changes = self.locks_rows || matches!(self.body, Body::Dml(_));
        if changes {
            cx.session.may_lock()?;
        }
        let Some(object) = self.dependencies.iter().find(|d| caller.changes.contains(d)) else { return Ok(()) };
        Err(match cx.host.catalog()?.table_by_id(*object)? {
            Some(table) => Ora::with(4091, &[&table.owner, &table.name]),
            None => Ora::with(4091, &[&"", &""]),
        })
    }

    /// Whether segments of temporary tables were dropped since the compilation.
    fn lost_segments(&self, cx: &ExecCtx<'_>) -> bool {
        !self.temporary.is_empty() && self.temporary_version != cx.session.temporaries.version()
    }

    /// Called before a statement changes or locks rows of temporary tables.
    fn bind_temporary(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.temporary.is_empty() {
            return Ok(());
        }
        let (state, depth) = (&cx.session.temporaries, cx.session.suspended);
        let changed = |object| self.locks_rows || self.locks.changes(object);
        state.bind(cx.p, cx.shared, &self.temporary, &changed, depth)?;
        // DDL that held the lock may have changed the definition.
        if self.names_are_same(cx)? { Ok(()) } else { self.renew(cx) }
    }

    /// Counts the next execution together with the last one, as executions of an array (E14).
    #[inline]
    pub fn set_continues(&mut self, continues: bool) {
        self.continues = continues;
    }

    /// Adds an execution with the bound values to a batch that [`Cursor::execute_waiting`] runs together. False if the
    /// statement must be executed by itself after the waiting executions; nothing was done then.
    ///
    /// # Errors
    /// Those of computing the row. A waiting execution may fail as well; its error comes first.
    pub fn execute_later(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (some, _) = self.waiting();
        if some && !self.is_as_compiled(cx) {
            return Ok(false);
        }
        if !some && !self.begin_batch(cx)? {
            return Ok(false);
        }
        for (i, v) in self.values.iter().enumerate() {
            self.m.regs[self.first_bind as usize + i].set(v);
        }
        let Body::Dml(dml) = &mut self.body else { return Ok(false) };
        self.key.enter(cx);
        let ran = dml.run_later(&mut self.m, cx).map_err(|e| cx.host.name_segment(e));
        // The time until the next statement does not belong to this one.
        self.key.leave(cx);
        ran?;
        (self.state, self.rows) = (State::Done, 1);
        Ok(true)
    }

    /// As [`Cursor::execute_later`] after another waiting execution, with the values of all binds as an argument. False
    /// if the usual way must be taken; nothing was done then.
    ///
    /// # Errors
    /// Only errors that end the whole call.
    pub fn execute_more(&mut self, values: &[&Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        let fit = |(v, ty): (&&Value, &BindType)| v.is_null() || fits(v, ty);
        let is_other = values.len() != self.values.len() || !values.iter().zip(&self.bind_types).all(fit);
        if is_other || self.waiting() != (true, false) || !self.is_as_compiled(cx) {
            return Ok(false);
        }
        let Body::Dml(dml) = &mut self.body else { return Ok(false) };
        self.key.enter(cx);
        let ran = dml.run_more(self.first_bind, values, &mut self.m, cx);
        self.key.leave(cx);
        ran
    }

    /// Prepares the executions of a batch once. False if the statement cannot be batched.
    fn begin_batch(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let may_wait = matches!(&self.body, Body::Dml(dml) if dml.may_wait());
        if !may_wait || !self.temporary.is_empty() || self.m.run.is_some() {
            return Ok(false);
        }
        if self.state != State::Closed {
            self.close(cx);
        }
        if !self.is_as_compiled_or_same(cx)? {
            self.renew(cx)?;
        }
        self.check_caller(cx)?;
        may_change(cx)?;
        let mut shared = Vec::new();
        while self.locks.take(&mut shared, cx)? && !self.names_are_same(cx)? {
            self.renew(cx)?;
        }
        let brief = !shared.is_empty();
        for object in shared {
            cx.shared.txns.end_share(cx.p, &mut cx.session.txn, object);
        }
        if brief || !matches!(&self.body, Body::Dml(dml) if dml.may_wait()) {
            return Ok(false);
        }
        if let Body::Dml(Dml::Insert(i)) = &mut self.body {
            i.begin();
        }
        self.begin_execution(&mut self.next_run(), cx);
        Ok(true)
    }

    /// Whether executions are waiting, and whether there are enough of them to be run now.
    pub fn waiting(&self) -> (bool, bool) {
        match &self.body {
            Body::Dml(dml) => dml.has_waiting(),
            Body::Query { .. } => (false, false),
        }
    }

    /// Number of waiting executions.
    pub fn rows_waiting(&self) -> usize {
        match &self.body {
            Body::Dml(dml) => dml.rows_waiting(),
            Body::Query { .. } => 0,
        }
    }

    /// Runs the waiting executions. `refused` receives the number, from 0, and the error of each that fails and has no
    /// effect; it returns `Ok` to continue.
    ///
    /// # Errors
    /// Errors that `refused` returns. Executions before the failing one are done, those after it are dropped.
    pub fn execute_waiting(
        &mut self,
        refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Body::Dml(dml) = &mut self.body else { return Ok(()) };
        let rows = dml.rows_waiting();
        let host = cx.host;
        let (mut failed, mut end) = (0, 0);
        let mut refused = |n, e| match refused(n, host.name_segment(e)) {
            Ok(()) => {
                failed += 1;
                Ok(())
            }
            Err(e) => {
                end = n;
                Err(e)
            }
        };
        self.key.enter(cx);
        let result = dml.run_waiting(&mut refused, cx);
        self.last_row = dml.last_waiting();
        let done = if result.is_ok() { rows } else { end };
        self.key.processed(done.saturating_sub(failed) as u64, 0, cx);
        self.key.finished(cx);
        result.map_err(|e| host.name_segment(e))
    }

    /// Locks the tables, compiles again if the dictionary has changed, and runs the statement.
    fn execute_dml(&mut self, shared: &mut Vec<ObjectId>, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.bind_temporary(cx)?;
        while self.locks.take(shared, cx)? && !self.names_are_same(cx)? {
            self.renew(cx)?;
        }
        self.check_definitions(cx)?;
        self.begin_execution(run, cx);
        self.run_dml(cx)
    }

    /// In a transaction that reads as of one SCN: checks that its tables had the same definitions then. Rows that were
    /// moved to another segment cannot be read as of that SCN.
    ///
    /// # Errors
    /// ORA-01466.
    #[inline]
    fn check_definitions(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.internal || !cx.session.txn.holds_snapshot() {
            return Ok(());
        }
        self.compare_definitions(cx)
    }

    #[cold]
    fn compare_definitions(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let epoch = cx.host.epoch();
        let known = cx.session.txn.held_snapshot();
        let scn = cx.shared.txns.hold_snapshot(cx.p, &cx.session.txn);
        if known.is_none() {
            cx.session.held = Some((scn, epoch));
        }
        if cx.session.held == Some((scn, epoch)) || self.checked == Some((scn, epoch)) {
            return Ok(());
        }
        let catalog = cx.host.catalog()?;
        for object in &self.dependencies {
            if let Some(table) = catalog.table_by_id(*object)?.filter(|table| table.temporary.is_none()) {
                cx.host.check_definition(&table, scn)?;
            }
        }
        self.checked = Some((scn, epoch));
        Ok(())
    }

    fn begin_execution(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) {
        if *run == Run::First {
            cx.p.count(Stat::ExecuteCount, 1);
        }
        self.key.executed(&self.text, self.kind.command(), *run, cx);
        self.m.cursor = self.key.handle();
        *run = Run::Again;
        for (i, v) in self.values.iter().enumerate() {
            self.m.regs[self.first_bind as usize + i].set(v);
        }
        self.rows = 0;
        self.fetches = Fetches::Ours;
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.begin(cx);
        }
    }

    fn run_dml(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        for _ in 0..RESTARTS_MOST {
            let start = cx.shared.txns.savepoint(&cx.session.txn);
            let snapshot = snapshot_for(self.internal, cx);
            self.m.begin(snapshot);
            let Body::Dml(dml) = &mut self.body else { return Err(Ora::internal("not DML")) };
            let result = still_planned(self.epoch, cx).and_then(|()| {
                let before = self.m.run.is_some().then(|| measure::begin(cx));
                let run = dml.run(&mut self.m, cx);
                before.into_iter().for_each(|before| measure::end(before, &mut self.m, cx));
                run
            });
            cx.shared.txns.release(cx.p, &snapshot);
            match result {
                Ok(run) if !run.restart => {
                    self.rows = run.rows;
                    self.last_row = run.last;
                    self.key.processed(run.rows, 0, cx);
                    if self.adaptive.is_some() {
                        self.note_processed(cx);
                    }
                    self.returned = run.returned.into_iter();
                    self.state = State::Done;
                    return Ok(());
                }
                // The statement is atomic (E4).
                Ok(_) => cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, &start)?,
                Err(e) => {
                    cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, &start)?;
                    if !e.is(crate::RESTART) {
                        return Err(e);
                    }
                }
            }
            may_restart(self.internal, cx)?;
            cx.check_cancel()?;
        }
        Err(Ora::new(8177))
    }

    /// Releases the snapshot.
    fn end(&mut self, cx: &mut ExecCtx<'_>) {
        self.tell_run(self.rows, cx);
        if let Some(c) = &mut self.cached
            && let Some(build) = c.build.take()
        {
            cx.shared.results.abandon(cx.p, cx.shared.enqueues, build);
        }
        self.m.end_teams(cx.p);
        self.m.temporary.clear(cx.shared.txns.space().temp());
        if let Some(snapshot) = self.m.take_early_snapshot() {
            cx.shared.txns.release(cx.p, &snapshot);
        }
        if self.state == State::Rows {
            cx.shared.txns.release(cx.p, self.m.snapshot());
        }
        self.key.finished(cx);
        self.state = State::Closed;
    }

    /// The rowid of the row last fetched from SELECT FOR UPDATE, for WHERE CURRENT OF.
    pub fn current_row(&self) -> Option<types::Rowid> {
        let reg = self.lock_rowid.filter(|_| self.state == State::Rows)?;
        match self.m.value(reg) {
            Value::Rowid(row) => Some(*row),
            _ => None,
        }
    }

    /// The rowid of the row that DML changed last, if its table has rowids.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.last_row
    }

    /// Rows fetched so far, or changed by DML.
    pub fn rows_processed(&self) -> u64 {
        self.rows
    }

    /// Ends the execution. The cursor can be executed again.
    pub fn close(&mut self, cx: &mut ExecCtx<'_>) {
        match self.state {
            State::Rows | State::Cached => self.finish_rows(false, cx),
            // The execution has ended with its last row.
            State::Done if matches!(self.body, Body::Query { .. }) => {}
            State::Done | State::Closed => self.end(cx),
        }
        self.state = State::Closed;
    }
}

/// Checks that the transaction is not read only (ORA-01456).
fn may_change(cx: &ExecCtx<'_>) -> Result<()> {
    if cx.session.flashback.is_some() {
        return Err(Ora::new(8182)); // Queries read as of an earlier SCN.
    }
    if cx.session.txn.isolation() == txn::Isolation::ReadOnly { Err(Ora::new(1456)) } else { Ok(()) }
}

/// Checks, with the snapshot taken, that the segments of the plan are still those of its tables. Otherwise a statement
/// that read the old segment of a moved table as of a later SCN would miss changes in the new segment.
///
/// # Errors
/// ORA-08103: the statement must be compiled again.
fn still_planned(epoch: u64, cx: &ExecCtx<'_>) -> Result<()> {
    if cx.host.is_current(epoch) { Ok(()) } else { Err(Ora::new(8103)) }
}

/// The snapshot of a statement (E3). Internal statements check foreign keys and read the current versions of rows.
fn snapshot_for(internal: bool, cx: &ExecCtx<'_>) -> txn::Snapshot {
    let (txns, t) = (cx.shared.txns, &cx.session.txn);
    if internal { txns.statement_snapshot(cx.p, t) } else { txns.snapshot(cx.p, t) }
}

/// Checks that a restart may help: ORA-08177 in a serializable transaction, which has no later snapshot.
fn may_restart(internal: bool, cx: &ExecCtx<'_>) -> Result<()> {
    if !internal && cx.session.txn.holds_snapshot() { Err(Ora::new(8177)) } else { Ok(()) }
}

/// Whether a value has the class that a bind was compiled for.
fn fits(value: &Value, ty: &BindType) -> bool {
    // A cursor is represented by its number.
    if matches!((value, ty), (Value::Number(_), Some(types::DataType::Cursor))) {
        return true;
    }
    let expected = ty.map_or(Class::Text, |t| class(&t));
    let is = match value {
        Value::Number(_) => Class::Number,
        Value::Text(_) => Class::Text,
        Value::Date(_) => Class::Date,
        Value::Timestamp(_) => Class::Timestamp,
        Value::Raw(_) => Class::Raw,
        Value::Rowid(_) => Class::Rowid,
        Value::Double(_) => Class::Double,
        Value::Float(_) => Class::Float,
        Value::Boolean(_) => Class::Boolean,
        Value::IntervalYm(_) => Class::IntervalYm,
        Value::IntervalDs(_) => Class::IntervalDs,
        Value::Composite(c) => return *ty == Some(DataType::Named(c.ty)),
        Value::EmptyLob => return matches!(expected, Class::Lob | Class::Other),
        // A statement is given the content of a LOB, not the locator.
        Value::Lob(_) => return false,
        Value::Null => return true,
    };
    is == expected || (is == Class::Text && expected == Class::Lob) || (is == Class::Raw && *ty == Some(DataType::Blob))
}
