//! A statement executed once for each of many rows of bind values, in one call.
//!
//! An array is one execution: `v$sql` counts it once, with all the rows that it changed. Each row succeeds or fails as
//! a statement of its own (invariant 6): a failed row leaves nothing behind, and the rows before it keep their changes.
//! The error ends the array; with batch errors it is recorded and the array goes on. Rows of an INSERT of plain values
//! are collected, as in a FORALL, and inserted together. An error is then found later than its row, but it is reported
//! for the right row, and the first failing row is reported first.
//!
//! Rows are taken from their source one by one. Only collected rows are held, as the bytes that the table will store.
//! At most `ARRAY_ROWS_MAX` errors are recorded, the number of rows of a request of the local protocol; one more ends
//! the array.

use crate::answer::{done, finish};
use crate::binding::{compile, is_by_place, parse, returned, targets_of};
use crate::blocks;
use crate::by_name::ByName;
use crate::core::Core;
use crate::cursors::changes_trail;
use crate::flow::{Flow, failure_of};
use crate::kind::kind_of;
use crate::open::{Calls, Outcome};
use crate::world::World;
use exec::{Cursor, ExecCtx};
use net::StatementKind;
use net::local::{ARRAY_ROWS_MAX, Array, Bind, Done, Executed, Failure, Reply, write_frame};
use sql::ast::Statement;
use std::sync::atomic::Ordering::Relaxed;
use types::{DataType, Ora, Result, Value};

/// Gives the next row of values, in the order of the array's binds; false at the end. Its errors end the array.
pub type NextRow<'a> = dyn FnMut(&mut Vec<Value>) -> Result<bool> + 'a;

/// Rows that are taken from the source at a time; before their execution the call looks for a break.
const ROWS: usize = 64;

/// Errors reported in one packet.
const ERRORS: usize = 1000;

/// The state of an array's execution.
struct Progress<'a> {
    core: &'a Core,
    array: &'a Array,
    kind: StatementKind,
    executed: Executed,
    errors: Vec<(u32, Failure)>,
    out: &'a mut Vec<u8>,
}

impl Progress<'_> {
    /// Records an execution that changed `rows` rows.
    fn did(&mut self, rows: u64) {
        self.executed.executions += 1;
        self.executed.rows += rows;
        if self.array.row_counts {
            self.executed.counts.push(rows);
        }
    }

    /// Records the error of the next execution, or returns the error if it ends the array.
    fn failed(&mut self, mut e: Ora) -> Result<()> {
        let is_full = self.errors.len() == ARRAY_ROWS_MAX;
        if !self.array.batch_errors || is_full || e.ends_call() {
            return Err(e);
        }
        self.core.report(&mut e, Some(&self.array.sql));
        self.errors.push((self.executed.executions, failure_of(&e, self.kind)));
        self.did(0);
        Ok(())
    }

    /// Sends the values that an execution returned to binds.
    fn returned(&mut self, values: Vec<(u16, Value)>) {
        let execution = self.executed.executions;
        if !values.is_empty() {
            write_frame(self.out, |o| Reply::Returned { execution, values }.encode(o));
        }
    }

    fn tell(mut self) {
        while !self.errors.is_empty() {
            let errors = self.errors.drain(..self.errors.len().min(ERRORS)).collect();
            write_frame(self.out, |o| Reply::Refused { errors }.encode(o));
        }
        write_frame(self.out, |o| Reply::Executed(self.executed).encode(o));
    }
}

impl Calls {
    /// Runs an array and writes its replies.
    pub fn execute_array(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        array: &Array,
        rows: &mut NextRow<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let kind = StatementKind::UNKNOWN;
        self.last_row = None;
        let mut progress = Progress { core, array, kind, executed: Executed::default(), errors: Vec::new(), out };
        let result = self.try_array(core, cx, rows, &mut progress);
        self.held.end_call();
        let kind = progress.kind;
        self.end_execute(core, array.want_output, progress.out);
        progress.tell();
        finish(core, result, (kind, Some(&array.sql)), out)
    }

    fn try_array(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        rows: &mut NextRow<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Done> {
        let array = progress.array;
        core.p.check_cancel()?;
        if admin::oradebug::command(&array.sql).is_some() {
            return Err(Ora::unsupported());
        }
        let Some(mut cursor) = self.array_cursor(core, cx, array, &mut progress.kind)? else {
            return self.run_blocks(core, cx, rows, progress);
        };
        let mut only = self.row_with_cursors(core, cx, array, rows)?;
        let mut give_only = |row: &mut Vec<Value>| Ok(only.take().map(|only| *row = only).is_some());
        let rows: &mut NextRow<'_> = if has_cursors(array) { &mut give_only } else { rows };
        // The identity of the compilation: a function of the statement may enable other roles.
        let identity = core.identity();
        let changes_trail = changes_trail(progress.kind, cursor.dependencies());
        let start = crate::audit::start(core, &cx.session.txn, changes_trail);
        let result = run_rows(&mut cursor, core, cx, rows, progress);
        let shared = cursor.shared(cx);
        self.last_row = cursor.last_row().filter(|_| progress.executed.rows > 0);
        cursor.set_continues(false);
        cursor.close(cx);
        core.last_cursor.set(shared);
        // An array is one call, so it is one event of the audit trail.
        if let Some(start) = start {
            let code = result.as_ref().err().map_or(0, Ora::code);
            let noted =
                crate::audit::rows(core, &cx.session.txn, progress.kind, cursor.dependencies(), &array.sql, code);
            crate::audit::or_undone(core, &mut cx.session.txn, &start, noted)?;
        }
        result?;
        self.held.put_back(core, cx, cursor, identity, self.held.statement());
        Ok(done(cx, Outcome { rows: progress.executed.rows, ..Outcome::of(progress.kind) }))
    }

    /// The only row of an array with cursors among its binds, which may have no second row: a cursor cannot serve
    /// several executions. `None` for other arrays and for an array without rows.
    ///
    /// # Errors
    /// ORA-03001 for more rows; ORA-01001 for a cursor that is not open.
    fn row_with_cursors(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        array: &Array,
        rows: &mut NextRow<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let mut row = Vec::new();
        if !has_cursors(array) || !rows(&mut row)? {
            return Ok(None);
        }
        if rows(&mut Vec::new())? {
            return Err(Ora::unsupported());
        }
        self.share_bound(core, cx, &array.binds, row.iter())?;
        Ok(Some(row))
    }

    /// The statement's cursor; `None` for a block.
    fn array_cursor(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        array: &Array,
        kind: &mut StatementKind,
    ) -> Result<Option<Cursor>> {
        if let Some(mut cursor) = self.reopen(core, cx, &array.sql, &array.binds, kind) {
            if *kind == StatementKind::SELECT {
                cursor.close(cx);
                return Err(Ora::unsupported());
            }
            return Ok(Some(cursor));
        }
        if let Some(known) = self.known_block(core, cx, &array.sql) {
            *kind = known;
            core.p.session().command.store(kind.0.into(), Relaxed);
            return Ok(None);
        }
        let word = crate::kind::of_first_word(&array.sql);
        if let Some(word) = word.filter(|word| *word != StatementKind::SELECT) {
            *kind = word;
            core.p.session().command.store(kind.0.into(), Relaxed);
            core.kept.borrow_mut().count_parse(&array.sql);
            return compile(cx, &array.sql, None, &array.binds).map(Some);
        }
        let by_place = is_by_place(&array.binds);
        let statement = exec::read_text(&core.p, || parse(&array.sql, by_place))?;
        *kind = kind_of(&statement);
        core.p.session().command.store(kind.0.into(), Relaxed);
        match statement {
            Statement::Block { pos: _ } | Statement::Call(_) => Ok(None),
            _ => Err(Ora::unsupported()),
        }
    }

    /// Runs a block, or CALL, once for each row.
    fn run_blocks(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        rows: &mut NextRow<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Done> {
        let mut binds = progress.array.binds.clone();
        let types = blocks::types_of(&progress.array.sql, progress.kind, &binds, &[]);
        let mut row = Vec::new();
        while rows(&mut row)? {
            core.p.check_cancel()?;
            for (bind, value) in binds.iter_mut().zip(&mut row) {
                std::mem::swap(&mut bind.value, value);
            }
            // An error in opening the block ends the array: it is not the error of a row.
            let mut world = World { cx: cx.reborrow(), core };
            let held = self.held.take_block(&mut world, (&binds, &[]));
            let open = match held {
                Some(open) => open,
                None => blocks::open(&mut world, &progress.array.sql, progress.kind, types.clone())?,
            };
            match self.run_opened(core, cx, open, (&binds, &[]), progress.kind) {
                Ok(done) => {
                    progress.returned(done.out);
                    progress.did(done.rows);
                }
                Err(e) => progress.failed(e)?,
            }
        }
        Ok(done(cx, Outcome { rows: progress.executed.rows, ..Outcome::of(progress.kind) }))
    }
}

fn has_cursors(array: &Array) -> bool {
    array.binds.iter().any(|bind| bind.data_type == DataType::Cursor)
}

/// Executes the statement for each row.
fn run_rows(
    cursor: &mut Cursor,
    core: &Core,
    cx: &mut ExecCtx<'_>,
    rows: &mut NextRow<'_>,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let array = progress.array;
    let targets = targets_of(&array.sql, &array.binds);
    let mut run = Run { places: places(cursor, &array.binds)?, targets, cursor, progress };
    let mut block = Vec::new();
    loop {
        let (filled, taken) = fill(&mut block, rows);
        // After a break the collected rows are not executed.
        core.p.check_cancel()?;
        let mut values = Vec::with_capacity(run.places.len());
        for row in &block[..filled] {
            values.clear();
            values.extend(run.places.iter().filter_map(|at| row.get(*at)));
            run.execute(&values, cx)?;
        }
        if filled < ROWS {
            // The error of a collected row comes before the error of the source.
            run.carry_out(cx)?;
            return taken;
        }
    }
}

/// Takes up to [`ROWS`] rows into the buffers of `block`, which are reused. Returns their number, smaller at the end of
/// the source or after its error, and that error.
fn fill(block: &mut Vec<Vec<Value>>, rows: &mut NextRow<'_>) -> (usize, Result<()>) {
    block.resize_with(ROWS, Vec::new);
    for (n, row) in block.iter_mut().enumerate() {
        match rows(row) {
            Ok(true) => {}
            Ok(false) => return (n, Ok(())),
            Err(e) => return (n, Err(e)),
        }
    }
    (ROWS, Ok(()))
}

/// The place in a row of the value for each bind of the cursor.
fn places(cursor: &Cursor, binds: &[Bind]) -> Result<Vec<usize>> {
    let names = cursor.binds();
    let by_name = ByName::new(binds);
    let of = |(place, name): (usize, &String)| by_name.of(place, name).ok_or_else(|| Ora::new(1008));
    let places = names.iter().enumerate().map(of).collect::<Result<_>>()?;
    if binds.iter().filter(|b| b.name.is_none()).count() > names.len() {
        return Err(Ora::new(1036));
    }
    Ok(places)
}

/// An array under way.
struct Run<'a, 'b> {
    cursor: &'a mut Cursor,
    places: Vec<usize>,
    /// The binds that receive the values of RETURNING.
    targets: Vec<usize>,
    progress: &'a mut Progress<'b>,
}

impl Run<'_, '_> {
    /// Executes the statement with a row of values, or collects the row.
    fn execute(&mut self, values: &[&Value], cx: &mut ExecCtx<'_>) -> Result<()> {
        if !self.cursor.execute_more(values, cx)? {
            for (place, value) in values.iter().enumerate() {
                self.cursor.bind_one(place, value)?;
            }
            match self.cursor.execute_later(cx) {
                Ok(true) => self.continues(),
                Ok(false) => return self.execute_now(cx),
                Err(e) => {
                    self.continues();
                    self.carry_out(cx)?;
                    return self.progress.failed(e);
                }
            }
        }
        if self.cursor.waiting().1 { self.carry_out(cx) } else { Ok(()) }
    }

    /// Counts the next rows to the same execution.
    fn continues(&mut self) {
        self.cursor.set_continues(true);
    }

    fn execute_now(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.carry_out(cx)?;
        let executed = self.cursor.execute(cx);
        self.continues();
        let outs = executed.and_then(|()| returned(self.cursor, cx, &self.progress.array.binds, &self.targets));
        match outs {
            Ok(values) => {
                self.progress.returned(values);
                self.progress.did(self.cursor.rows_processed());
                Ok(())
            }
            Err(e) => self.progress.failed(e),
        }
    }

    /// Executes the collected rows.
    fn carry_out(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let waiting = self.cursor.rows_waiting();
        if waiting == 0 {
            return Ok(());
        }
        let (progress, mut next) = (&mut *self.progress, 0);
        let result = self.cursor.execute_waiting(
            &mut |n, e| {
                (next..n).for_each(|_| progress.did(1));
                next = n + 1;
                progress.failed(e)
            },
            cx,
        );
        if result.is_ok() {
            (next..waiting).for_each(|_| progress.did(1));
        }
        result
    }
}
