//! The calls of a session: parse, execute, fetch, describe; open cursors and the cache of closed ones.

use crate::answer::{done, finish};
use crate::binding::{bind_values, compile, fits_binds, is_by_place, parse, returned, takes_binds, targets_of};
use crate::blocks;
use crate::by_name::ByName;
use crate::composite_text::{self, has_objects};
use crate::core::Core;
use crate::cursors::{Asker, OpenBlock, changes_trail};
use crate::flow::Flow;
use crate::kind::kind_of;
use crate::open::{Calls, Open, Outcome, wire_column};
use crate::run;
use crate::sink::Sink;
use crate::source::Source;
use crate::world::World;
use exec::{Cursor, ExecCtx};
use net::StatementKind;
use net::local::{self, Bind, Direction, Done, Execute, Reply, TableBind, write_frame};
use plsql::Datum;
use sql::ast::Statement;
use std::rc::Rc;
use types::{DataType, Ora, Result, Value};

impl Calls {
    /// Runs a statement and answers with its rows or its outcome.
    pub(crate) fn execute(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        e: &Execute,
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let mut kind = StatementKind::UNKNOWN;
        self.last_row = None;
        if let Some(line) = admin::oradebug::command(&e.sql) {
            self.held.end_call();
            let result = admin::oradebug::run(core, &self.debug, line).map(|lines| {
                let lines = lines.into_iter().map(some_text).collect();
                write_frame(out, |o| Reply::Output { lines }.encode(o));
                done(cx, Outcome::of(kind))
            });
            return finish(core, result, (kind, None), out);
        }
        let result = self.try_execute(core, cx, e, (&mut kind, sink), out);
        self.held.end_call();
        if let Err(error) = &result {
            crate::event_triggers::server_error(core, cx, error, Some(&e.sql));
        }
        self.end_execute(core, e.want_output, out);
        finish(core, result, (kind, Some(&e.sql)), out)
    }

    /// Ends an execution: shows its counts, and sends the lines of `dbms_output` if they are wanted.
    pub(crate) fn end_execute(&mut self, core: &Core, want_output: bool, out: &mut Vec<u8>) {
        self.show_counts(core);
        core.p.session().command.store(0, std::sync::atomic::Ordering::Relaxed);
        if want_output {
            let lines: Vec<_> = core.plsql.take_output(usize::MAX).into_iter().map(some_text).collect();
            if !lines.is_empty() {
                write_frame(out, |o| Reply::Output { lines }.encode(o));
            }
        }
    }

    /// A cursor that the session has held or kept for a text (invariants 12 and 13); `None` when the text must be
    /// parsed.
    pub(crate) fn reopen(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        text: &str,
        binds: &[Bind],
        kind: &mut StatementKind,
    ) -> Option<Cursor> {
        let held = self.held.take_cursor(core, cx, |cursor| takes_binds(cursor, binds));
        let kept = || core.take_kept_if(cx, text, &Asker::Client, |cursor| takes_binds(cursor, binds));
        let cursor = held.or_else(kept)?;
        *kind = StatementKind(cursor.kind().command() as u16);
        core.p.session().command.store(kind.0.into(), std::sync::atomic::Ordering::Relaxed);
        Some(cursor)
    }

    /// The kind of a text that is known to be a block.
    pub(crate) fn known_block(&self, core: &Core, cx: &mut ExecCtx<'_>, text: &str) -> Option<StatementKind> {
        let held = self.held.kind_of_block();
        let known = held.or_else(|| core.blocks.borrow().kind_of(core.identity(), text));
        known.or_else(|| {
            let mut world = World { cx: cx.reborrow(), core };
            core.plsql.knows_block(&mut world, text).then_some(StatementKind::PLSQL_EXECUTE)
        })
    }

    fn try_execute(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        e: &Execute,
        (kind, sink): (&mut StatementKind, Sink<'_>),
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        core.p.check_cancel()?;
        if let Some(cursor) = self.reopen(core, cx, &e.sql, &e.binds, kind) {
            return self.run_cursor(core, cx, cursor, e, (*kind, sink), out);
        }
        if let Some(known) = self.known_block(core, cx, &e.sql) {
            *kind = known;
            core.p.session().command.store(kind.0.into(), std::sync::atomic::Ordering::Relaxed);
            return self.run_block(core, cx, e, *kind);
        }
        // Reading the text and making the cursor are one parse call.
        let clock = core.p.begin_parse();
        if e.tables.is_empty()
            && let Some(word) = crate::kind::of_first_word(&e.sql)
        {
            *kind = word;
            core.p.session().command.store(kind.0.into(), std::sync::atomic::Ordering::Relaxed);
            core.kept.borrow_mut().count_parse(&e.sql);
            let cursor = compile(cx, &e.sql, None, &e.binds);
            core.p.end_parse(&clock, cursor.is_err());
            let cursor = match cursor {
                Err(error) => {
                    // A text that is no statement has no kind and is not audited.
                    if parse(&e.sql, is_by_place(&e.binds)).is_err() {
                        *kind = StatementKind::UNKNOWN;
                    } else {
                        crate::audit::rows(core, &cx.session.txn, *kind, &[], &e.sql, error.code())?;
                    }
                    return Err(error);
                }
                Ok(cursor) => cursor,
            };
            return self.run_cursor(core, cx, cursor, e, (*kind, sink), out);
        }
        let by_place = is_by_place(&e.binds);
        let statement = exec::read_text(&core.p, || parse(&e.sql, by_place));
        if !matches!(&statement, Ok(statement) if is_query_or_dml(statement)) {
            core.p.end_parse(&clock, statement.is_err());
        }
        let statement = statement?;
        if !e.tables.is_empty() && !matches!(statement, Statement::Block { pos: _ } | Statement::Call(_)) {
            return Err(Ora::new(1484));
        }
        *kind = kind_of(&statement);
        core.p.session().command.store(kind.0.into(), std::sync::atomic::Ordering::Relaxed);
        match statement {
            _ if is_query_or_dml(&statement) => {
                core.kept.borrow_mut().count_parse(&e.sql);
                let cursor = compile(cx, &e.sql, Some(Rc::new(statement)), &e.binds);
                core.p.end_parse(&clock, cursor.is_err());
                let cursor = match cursor {
                    Err(error) => {
                        crate::audit::rows(core, &cx.session.txn, *kind, &[], &e.sql, error.code())?;
                        return Err(error);
                    }
                    Ok(cursor) => cursor,
                };
                self.run_cursor(core, cx, cursor, e, (*kind, sink), out)
            }
            Statement::Block { pos: _ } | Statement::Call(_) => self.run_block(core, cx, e, *kind),
            // not a clause: `run_parsed` knows every kind
            other => run::run_parsed(core, cx, &other, &e.sql).map(|warning| {
                let outcome = Outcome { warning, ..Outcome::of(*kind) };
                done(cx, outcome)
            }),
        }
    }

    /// Executes the compiled cursor of a query or DML statement.
    fn run_cursor(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        mut cursor: Cursor,
        e: &Execute,
        (kind, sink): (StatementKind, Sink<'_>),
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        self.share_bound(core, cx, &e.binds, e.binds.iter().map(|bind| &bind.value))?;
        bind_values(&mut cursor, &e.binds)?;
        // The identity of the compilation: a function of the statement may enable other roles.
        let identity = core.identity();
        let changes_trail = changes_trail(kind, cursor.dependencies());
        let start = crate::audit::start(core, &cx.session.txn, changes_trail);
        // The statement itself may query the number of open cursors.
        self.count_open(core, 1);
        let executed = cursor.execute(cx);
        let audited = match start {
            None => Ok(()),
            Some(start) => {
                let code = executed.as_ref().err().map_or(0, Ora::code);
                let noted = crate::audit::rows(core, &cx.session.txn, kind, cursor.dependencies(), &e.sql, code);
                crate::audit::or_undone(core, &mut cx.session.txn, &start, noted)
            }
        };
        if let Err(error) = executed.and(audited) {
            cursor.close(cx);
            return Err(error);
        }
        let shared = cursor.shared(cx);
        if cursor.kind() != exec::StatementKind::Select {
            core.last_cursor.set(shared);
            let mut outcome = Outcome { rows: cursor.rows_processed(), ..Outcome::of(kind) };
            self.last_row = cursor.last_row().filter(|_| outcome.rows > 0);
            let returned = returned(&mut cursor, cx, &e.binds, &targets_of(&e.sql, &e.binds));
            cursor.close(cx);
            self.held.put_back(core, cx, cursor, identity, self.held.statement());
            core.close_nested(cx);
            outcome.out = returned?;
            return Ok(done(cx, outcome));
        }
        if self.open.len() - self.shared + core.plsql.cursors_open() >= core.cursors_most() {
            cursor.close(cx);
            return Err(Ora::new(1000));
        }
        let has_objects = has_objects(cursor.columns());
        if has_objects && sink.is_some() {
            cursor.close(cx);
            return Err(Ora::unsupported());
        }
        if has_objects && let Err(e) = composite_text::load(cursor.columns(), core, cx) {
            cursor.close(cx);
            return Err(e);
        }
        let number = self.next_number();
        let columns = cursor.columns().iter().map(|c| wire_column(c, core, &cx.session.nls)).collect();
        let sink = match sink {
            None => {
                write_frame(out, |o| Reply::Described { cursor: number, columns }.encode(o));
                None
            }
            Some(sink) => match sink.columns(number, columns) {
                Ok(takes_rows) => takes_rows.then_some(sink),
                Err(error) => {
                    cursor.close(cx);
                    return Err(error);
                }
            },
        };
        let source = Source::Own(Box::new(cursor));
        let statement = self.held.statement();
        self.open.insert(number, Open { statement, has_objects, ..Open::new(source, identity) });
        let result = self.fetch_rows(core, cx, (number, e.prefetch), sink, out);
        core.last_cursor.set(shared);
        result
    }

    /// Runs a block, or CALL.
    fn run_block(&mut self, core: &Core, cx: &mut ExecCtx<'_>, e: &Execute, kind: StatementKind) -> Result<Done> {
        let mut world = World { cx: cx.reborrow(), core };
        let held = self.held.take_block(&mut world, (&e.binds, &e.tables));
        let open = match held {
            Some(open) => open,
            None => blocks::open_for(&mut world, &e.sql, kind, (&e.binds, &e.tables))?,
        };
        self.run_opened(core, cx, open, (&e.binds, &e.tables), kind)
    }

    fn note_directions(&mut self, block: &plsql::Block, binds: &[Bind]) {
        self.directions.clear();
        self.directions.resize(binds.len(), Direction::In);
        let by_name = ByName::new(binds);
        for (place, (name, way)) in block.binds().iter().zip(block.bind_uses()).enumerate() {
            if let Some(at) = by_name.of(place, name).filter(|_| way.is_written) {
                self.directions[at] = if way.is_read { Direction::InOut } else { Direction::Out };
            }
        }
    }

    /// Runs an open block and closes it. After an error its changes are rolled back (invariant 1).
    pub(crate) fn run_opened(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        mut open: OpenBlock,
        (binds, tables): (&[Bind], &[TableBind]),
        kind: StatementKind,
    ) -> Result<Done> {
        let block = open.block.clone();
        self.note_directions(&block, binds);
        let start = core.shared.txns.savepoint(&cx.session.txn);
        let mut outcome = Outcome::of(kind);
        let mut data = Vec::new();
        let result = self.block_binds(core, cx, block.binds(), (binds, tables)).and_then(|given| {
            data = given;
            open.begin(cx);
            core.plsql.run_block(&mut World { cx: cx.reborrow(), core }, &block, &mut data)?;
            fits_binds(block.binds(), binds, &data)?;
            outcome.tables = self.tables_of(block.binds(), (binds, tables), &data)?;
            Ok(())
        });
        let rolled_back = match &result {
            // A statement could not be rolled back: the session ends (T20 of txn).
            Err(e) if e.is(603) => Ok(()),
            Err(e) => {
                let undone = core.shared.txns.rollback_call(&core.p, &mut cx.session.txn, &start);
                undone.map_err(|fatal| fatal.because(e.clone()))
            }
            Ok(()) => Ok(()),
        };
        let opened_well = result.is_ok();
        open.end(opened_well, cx);
        self.held.put_block_back(core, cx, open);
        if opened_well {
            let by_name = ByName::new(binds);
            for (place, name) in block.binds().iter().enumerate() {
                let Some(at) = by_name.of(place, name) else { continue };
                if binds[at].direction == Direction::In || self.directions[at] == Direction::In {
                    continue;
                }
                match &data[place] {
                    Datum::Val(v) => outcome.out.push((at as u16, v.clone())),
                    Datum::Cur(_) if binds[at].data_type == DataType::Cursor => {
                        let cursor = self.number_cursor(core, cx, &data[place], &mut outcome.cursors);
                        outcome.out.push((at as u16, cursor));
                    }
                    _ => {}
                }
            }
        }
        for result in core.plsql.take_results() {
            // After a failed block the client does not ask for its result sets.
            if opened_well && let Value::Number(n) = self.number_cursor(core, cx, &result, &mut outcome.cursors) {
                outcome.results.extend(n.as_i64().map(|n| n as u32));
            }
        }
        // Cursors in binds that were given no number lose their last owner here.
        drop(data);
        core.plsql.close_left(&mut World { cx: cx.reborrow(), core });
        core.close_nested(cx);
        rolled_back?;
        result?;
        Ok(done(cx, outcome))
    }

    /// Describes a statement's columns without running it.
    pub fn describe(&mut self, core: &Core, cx: &mut ExecCtx<'_>, text: &str, out: &mut Vec<u8>) -> Flow {
        let mut kind = StatementKind::UNKNOWN;
        let result = self.parse_only(core, cx, text, &mut kind).map(|columns| {
            write_frame(out, |o| Reply::Described { cursor: 0, columns }.encode(o));
            done(cx, Outcome::of(kind))
        });
        self.held.end_call();
        self.show_counts(core);
        finish(core, result, (kind, Some(text)), out)
    }

    /// Parses and compiles a statement without running it. Returns the columns of a query, none for other statements.
    /// This is a parse call as in an execution: it finds the shared cursor or makes it.
    fn parse_only(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        text: &str,
        kind: &mut StatementKind,
    ) -> Result<Vec<local::Column>> {
        core.p.check_cancel()?;
        if admin::oradebug::command(text).is_some() {
            return Err(Ora::unsupported());
        }
        if let Some(cursor) = core.take_kept_if(cx, text, &Asker::Client, |_| true) {
            *kind = StatementKind(cursor.kind().command() as u16);
            return Ok(self.described(core, cx, cursor));
        }
        // Reading the text and making the cursor are one parse call.
        let clock = core.p.begin_parse();
        let mut statement = None;
        match crate::kind::of_first_word(text) {
            Some(word) => *kind = word,
            None => {
                let read = exec::read_text(&core.p, || sql::parse_statement(text));
                if !matches!(&read, Ok(statement) if is_query_or_dml(statement)) {
                    core.p.end_parse(&clock, read.is_err());
                }
                let read = read?;
                *kind = kind_of(&read);
                match read {
                    _ if is_query_or_dml(&read) => statement = Some(Rc::new(read)),
                    Statement::Block { pos: _ } | Statement::Call(_) => {
                        let mut world = World { cx: cx.reborrow(), core };
                        let open = blocks::open(&mut world, text, *kind, blocks::no_types())?;
                        open.close(true, core, cx);
                        return Ok(Vec::new());
                    }
                    _ => return Ok(Vec::new()), // not a clause: other statements have no columns
                }
            }
        }
        core.kept.borrow_mut().count_parse(text);
        let cursor = Cursor::compile_to_describe(cx, text, statement);
        core.p.end_parse(&clock, cursor.is_err());
        match cursor {
            Ok(cursor) => Ok(self.described(core, cx, cursor)),
            Err(error) => {
                // A text that is no statement has no kind.
                if sql::parse_statement(text).is_err() {
                    *kind = StatementKind::UNKNOWN;
                }
                Err(error)
            }
        }
    }

    /// The columns of a query; its cursor is closed.
    fn described(&mut self, core: &Core, cx: &mut ExecCtx<'_>, cursor: Cursor) -> Vec<local::Column> {
        let columns = match cursor.kind() {
            exec::StatementKind::Select => {
                cursor.columns().iter().map(|c| wire_column(c, core, &cx.session.nls)).collect()
            }
            _ => Vec::new(),
        };
        self.held.put_back(core, cx, cursor, core.identity(), self.held.statement());
        columns
    }

    /// Runs one statement without binds and returns all its rows.
    ///
    /// # Errors
    /// Errors of the statement.
    pub fn run(&mut self, core: &Core, cx: &mut ExecCtx<'_>, text: &str) -> Result<Vec<Vec<Value>>> {
        let (binds, tables) = (Vec::new(), Vec::new());
        let e = Execute { sql: text.to_string(), binds, prefetch: u32::MAX, want_output: false, tables };
        let (mut out, mut kind) = (Vec::new(), StatementKind::UNKNOWN);
        let mut answer = self.try_execute(core, cx, &e, (&mut kind, None), &mut out);
        while let Ok(Done { more: true, .. }) = answer {
            answer = self.fetch_some(core, cx, self.next, u32::MAX, &mut out);
        }
        self.show_counts(core);
        answer?;
        let mut frames = local::FrameBuffer::new(usize::MAX);
        frames.extend(&out);
        let mut all = Vec::new();
        while let Ok(Some(frame)) = frames.next_frame() {
            if let Ok(Reply::Rows { rows, .. }) = Reply::decode(frame) {
                all.extend(rows);
            }
        }
        Ok(all)
    }
}

/// Whether a statement becomes a cursor of the executor.
pub(crate) fn is_query_or_dml(statement: &Statement) -> bool {
    use Statement::{Delete, Insert, Merge, Query, Update};
    matches!(statement, Query(_) | Insert(_) | Update(_) | Delete(_) | Merge(_))
}

fn some_text(line: String) -> Option<String> {
    if line.is_empty() { None } else { Some(line) }
}
