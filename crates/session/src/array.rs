//! A statement executed once for each of many rows of bind values, in one call.
//!
//! It is one execution of the statement: `v$sql` counts it once, with all the rows it has changed. Each row is all of a
//! statement or nothing, as if it had come alone: one that fails leaves nothing, those before it stay, and the error
//! ends the array, or with batch errors is noted and the array goes on. INSERT of plain values waits, as in a FORALL,
//! until there are many rows to insert together; an error then comes later than its row, but is told of the right row,
//! and of the first one that has any.
//!
//! Rows are taken one by one from whoever has them and are held here only while they wait, as the bytes they will be in
//! the table. As many errors are noted as a request of the local protocol can have rows; one more ends the array.

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

/// Rows between two looks whether the user has broken off.
const ROWS: usize = 64;

/// Errors told of in one packet.
const ERRORS: usize = 1000;

/// The state of an array's execution.
struct Progress<'a> {
    array: &'a Array,
    kind: StatementKind,
    executed: Executed,
    errors: Vec<(u32, Failure)>,
    out: &'a mut Vec<u8>,
}

impl Progress<'_> {
    /// An execution has changed so many rows.
    fn did(&mut self, rows: u64) {
        self.executed.executions += 1;
        self.executed.rows += rows;
        if self.array.row_counts {
            self.executed.counts.push(rows);
        }
    }

    /// The next execution has failed; the error is given back when it ends the array.
    fn failed(&mut self, e: Ora) -> Result<()> {
        let is_full = self.errors.len() == ARRAY_ROWS_MAX;
        if !self.array.batch_errors || is_full || e.ends_call() {
            return Err(e);
        }
        self.errors.push((self.executed.executions, failure_of(&e, self.kind)));
        self.did(0);
        Ok(())
    }

    /// The values that an execution gave to binds.
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
    /// Runs an array and answers with what came of it.
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
        let mut progress = Progress { array, kind, executed: Executed::default(), errors: Vec::new(), out };
        let result = self.try_array(core, cx, rows, &mut progress);
        self.held.end_call();
        let kind = progress.kind;
        self.end_execute(core, array.want_output, progress.out);
        progress.tell();
        finish(core, cx, result, kind, out)
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
        // A function of the statement may enable other roles: it was compiled for these.
        let identity = core.identity();
        let changes_trail = changes_trail(progress.kind, cursor.dependencies());
        let start = crate::audit::start(core, &cx.session.txn, changes_trail);
        let result = run_rows(&mut cursor, core, cx, rows, progress);
        let shared = cursor.shared(cx);
        self.last_row = cursor.last_row().filter(|_| progress.executed.rows > 0);
        cursor.set_continues(false);
        cursor.close(cx);
        core.last_cursor.set(shared);
        // An array is one event, as it is one call.
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

    /// The only row of an array that has cursors among its binds: one cursor is not one for each execution.
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

    /// The statement's cursor; none for a block.
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

    /// A block, or CALL, row by row.
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
            // An error of the block is not an error of a row.
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
        // Rows that wait are not done then.
        core.p.check_cancel()?;
        let mut values = Vec::with_capacity(run.places.len());
        for row in &block[..filled] {
            values.clear();
            values.extend(run.places.iter().filter_map(|at| row.get(*at)));
            run.execute(&values, cx)?;
        }
        if filled < ROWS {
            // The error of a waiting row comes before the error of the next row.
            run.carry_out(cx)?;
            return taken;
        }
    }
}

/// Takes rows into buffers that are used again; fewer than there are buffers at the end. What ended them comes behind
/// them.
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

/// For each bind of the cursor the place of its value in a row.
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
    /// The binds that take what RETURNING gives.
    targets: Vec<usize>,
    progress: &'a mut Progress<'b>,
}

impl Run<'_, '_> {
    /// Executes with a row of values, or has it wait.
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

    /// The next rows belong to the same execution.
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

    /// Carries out the executions that wait.
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
