//! The calls of a session: parse, execute, fetch, describe; open cursors and the cache of closed ones.

use crate::blocks;
use crate::by_name::ByName;
use crate::composite_text::{self, has_objects, shown};
use crate::core::Core;
use crate::identity::Identity;
use crate::kept::Asker;
use crate::kind::kind_of;
use crate::references::Source;
use crate::run;
use crate::session::{Flow, ScrollTo};
use crate::world::World;
use exec::{BindType, Cursor, ExecCtx};
use net::StatementKind;
use net::local::{self, Bind, Direction, Done, Execute, Failure, Reply, TableBind, encode_rows, write_frame};
use plsql::Datum;
use sql::ast::Statement;
use std::collections::HashMap;
use std::rc::Rc;
use types::{DataType, LenUnit, Ora, Result, Scn, Value};
use wait::Stat;

/// Bytes of rows after which a fetch stops, however many rows were asked for.
const REPLY_BYTES_SOFT: usize = 1 << 20;

/// Takes what a query gives, one row after the other, so that no packet holds it on the way. An error of its own ends
/// the call like one of the query.
pub trait RowSink {
    /// The query has been executed, is open under this number and has these columns. False: the rows of this call are
    /// answered in packets.
    ///
    /// # Errors
    /// Columns that cannot be taken.
    fn columns(&mut self, number: u32, columns: Vec<local::Column>) -> Result<bool>;

    /// A row, with the session's settings; the bytes of all rows so far.
    ///
    /// # Errors
    /// A row that cannot be taken.
    fn row(&mut self, row: &[Value], nls: &types::Nls) -> Result<usize>;

    /// The rows that follow are those of that moment; [`Scn::MAX`]: LOBs that they lead to are read as they are.
    fn seen(&mut self, scn: Scn);

    /// Whether rows can be had as they are stored: the columns of a stored row that are the query's, and their types.
    fn takes_stored(&self, columns: &[(u16, DataType)]) -> bool;

    /// A stored row, as [`RowSink::row`].
    ///
    /// # Errors
    /// ORA-00600 for what is no row.
    fn stored(&mut self, row: &[u8], columns: &[(u16, DataType)]) -> Result<usize>;
}

/// As of when the LOBs that a cursor's rows lead to are read: when its query does; as they are while a transaction is
/// open, since its changes belong to no SCN before it is committed, and to a later one than the query's then.
fn seen(cursor: Option<&Cursor>, cx: &ExecCtx<'_>) -> Scn {
    if cx.session.txn.is_active() {
        return Scn::MAX;
    }
    cursor.and_then(Cursor::seen).unwrap_or_else(|| cx.shared.txns.current_scn())
}

/// Where rows go that are not answered in packets.
pub(crate) type Sink<'a> = Option<&'a mut dyn RowSink>;

/// An open query.
pub(crate) struct Open {
    pub(crate) source: Source,
    pub(crate) row: Vec<Value>,
    /// Rows sent so far.
    pub(crate) rows: u64,
    /// A row that has been fetched and not yet sent.
    pub(crate) ahead: bool,
    pub(crate) identity: Identity,
    /// All rows that have been fetched, of a query whose client goes back to them.
    pub(crate) scroll: Option<Box<exec::Scroll>>,
    /// A cursor in a row that PL/SQL does not hold: it is closed at its end.
    pub(crate) of_row: bool,
    /// The client's number of the statement, whose cursor is kept for its next execution.
    pub(crate) statement: Option<u16>,
    /// Rows have objects or collections: their texts are sent, where the protocol has a form for them.
    pub(crate) has_objects: bool,
}

impl Open {
    pub(crate) fn new(source: Source, identity: Identity) -> Open {
        Open {
            source,
            row: Vec::new(),
            rows: 0,
            ahead: false,
            identity,
            scroll: None,
            of_row: false,
            statement: None,
            has_objects: false,
        }
    }
}

/// The cursors of a session.
#[derive(Default)]
pub struct Calls {
    pub(crate) open: HashMap<u32, Open>,
    pub(crate) next: u32,
    /// How many of the open ones PL/SQL may hold, too: they count there.
    pub(crate) shared: usize,
    /// Cursors in rows, behind the ones whose rows they are in.
    pub(crate) nested: Vec<(u32, u32)>,
    debug: admin::oradebug::Debug,
    /// Which way the values of the last block's binds go, by their places in the call.
    directions: Vec<Direction>,
    /// The row that the last statement of changes has changed last.
    pub(crate) last_row: Option<types::Rowid>,
    pub(crate) held: crate::held::Held,
}

/// What a call came to.
pub(crate) struct Outcome {
    pub(crate) kind: StatementKind,
    pub(crate) rows: u64,
    pub(crate) warning: Option<Failure>,
    pub(crate) out: Vec<(u16, Value)>,
    /// As [`Done`] has them.
    pub(crate) cursors: Vec<(u32, Vec<local::Column>)>,
    pub(crate) results: Vec<u32>,
    pub(crate) tables: Vec<(u16, Vec<Value>)>,
}

impl Outcome {
    pub(crate) fn of(kind: StatementKind) -> Outcome {
        let (out, cursors, results, tables) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Outcome { kind, rows: 0, warning: None, out, cursors, results, tables }
    }
}

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
            return finish(core, cx, result, kind, out);
        }
        let result = self.try_execute(core, cx, e, (&mut kind, sink), out);
        self.held.end_call();
        self.end_execute(core, e.want_output, out);
        finish(core, cx, result, kind, out)
    }

    /// What the end of an execution shows, and the lines of `dbms_output` if they are wanted.
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

    /// The cursor that the session has kept for a text, in use again: a parse call.
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

    /// The kind of a text that is known to be a block's.
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
        // One parse call has the reading of the text and the making of the cursor.
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
                    // What is no statement is of no kind, and not audited.
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

    /// Runs a query or DML whose cursor is compiled.
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
        // A function of the statement may enable other roles: it was compiled for these.
        let identity = core.identity();
        let changes_trail = crate::audit::changes_trail(kind, cursor.dependencies());
        let start = crate::audit::start(core, &cx.session.txn, changes_trail);
        // The statement itself may ask how many are open.
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
            self.put_back(core, cx, cursor, identity, self.held.statement());
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

    /// Fetches up to `most` rows and sends them; the cursor closes at its end.
    fn fetch_some(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        number: u32,
        most: u32,
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        self.fetch_rows(core, cx, (number, most), None, out)
    }

    /// As [`Calls::fetch_some`]; the rows go to `sink` where there is one.
    fn fetch_rows(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        (number, most): (u32, u32),
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        let open = self.open.get_mut(&number).ok_or_else(|| Ora::new(1001))?;
        if open.has_objects && sink.is_some() {
            return Err(Ora::unsupported());
        }
        open.source.begin_fetch(core, cx)?;
        let looks_ahead = matches!(open.source, Source::Own(_));
        let before = out.len();
        let (mut sent, mut ended) = (0u32, false);
        let mut result = Ok(());
        if most > 0 {
            let mut packet = Vec::new();
            // Whether the next row is in `open.row`.
            let next = |open: &mut Open,
                        bytes: usize,
                        sent: &mut u32,
                        ended: &mut bool,
                        cx: &mut ExecCtx<'_>|
             -> Result<bool> {
                if *sent == most || bytes > REPLY_BYTES_SOFT {
                    return Ok(false);
                }
                if !open.ahead && !open.source.fetch(core, cx, &mut open.row)? {
                    *ended = true;
                    return Ok(false);
                }
                open.ahead = false;
                *sent += 1;
                Ok(true)
            };
            let is_direct = sink.is_some();
            let written = match sink {
                None => encode_rows(&mut packet, number, |w| -> Result<bool> {
                    let has_row = next(open, w.len(), &mut sent, &mut ended, cx)?;
                    if has_row && open.has_objects {
                        w.row(shown(&open.row, core, cx)?.iter());
                    } else if has_row {
                        w.row(open.row.iter());
                    }
                    Ok(has_row)
                })
                .map(drop),
                Some(sink) => {
                    let cursor = if let Source::Own(cursor) = &open.source { Some(&**cursor) } else { None };
                    sink.seen(seen(cursor, cx));
                    let mut bytes = 0;
                    loop {
                        if !open.ahead
                            && let Source::Own(cursor) = &mut open.source
                            && cursor.stored_columns().is_some_and(|columns| sink.takes_stored(columns))
                        {
                            break give_stored(cursor, cx, sink, (most, bytes), &mut sent).map(|more| ended = !more);
                        }
                        match next(open, bytes, &mut sent, &mut ended, cx) {
                            Ok(true) => {}
                            other => break other.map(drop),
                        }
                        match sink.row(&open.row, &cx.session.nls) {
                            Ok(n) => bytes = n,
                            Err(e) => break Err(e),
                        }
                    }
                }
            };
            // One row more is looked at, so that the last fetch can say that it was the last.
            result = match written {
                Ok(_) if !ended && looks_ahead => open.source.fetch(core, cx, &mut open.row).map(|found| {
                    open.ahead = found;
                    ended = !found;
                }),
                other => other,
            };
            if sent > 0 && result.is_ok() && !is_direct {
                write_frame(out, |o| o.extend_from_slice(&packet));
            }
        }
        if most > 0 {
            open.source.end_fetch(sent.into(), core, cx);
        }
        if let Err(e) = result {
            out.truncate(before);
            core.close_nested(cx);
            self.close(core, cx, number);
            return Err(e);
        }
        open.rows += u64::from(sent);
        let rows = open.rows;
        if !core.nested.borrow().is_empty() {
            self.take_nested(core, cx, number);
        }
        let mut answer = done(cx, Outcome { rows, ..Outcome::of(StatementKind::SELECT) });
        answer.more = !ended;
        // What PL/SQL may hold stays open.
        if ended && self.open.get(&number).is_some_and(|open| open.of_row) {
            self.end_nested(core, cx, number);
        } else if ended
            && looks_ahead
            && let Some(open) = self.open.remove(&number)
            && let Source::Own(mut cursor) = open.source
        {
            cursor.close(cx);
            self.put_back(core, cx, *cursor, open.identity, open.statement);
        }
        Ok(answer)
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

    /// The row that the last call has changed last, of those that are statements of changes.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.last_row
    }

    /// Which way the values of the binds of the block that ran last go, by their places in the call: what its code does
    /// with them, whatever the client said.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
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

    /// Runs a block that is open, and closes it.
    pub(crate) fn run_opened(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        mut open: blocks::OpenBlock,
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
            Err(_) => core.shared.txns.rollback_call(&core.p, &mut cx.session.txn, &start),
            Ok(()) => Ok(()),
        };
        let opened_well = result.is_ok();
        open.end(opened_well, cx);
        self.put_block_back(core, cx, open);
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
            // Of a block that failed nobody asks for them.
            if opened_well && let Value::Number(n) = self.number_cursor(core, cx, &result, &mut outcome.cursors) {
                outcome.results.extend(n.as_i64().map(|n| n as u32));
            }
        }
        // A cursor that a bind was given and that has no number is nobody's any more.
        drop(data);
        core.plsql.close_left(&mut World { cx: cx.reborrow(), core });
        core.close_nested(cx);
        rolled_back?;
        result?;
        Ok(done(cx, outcome))
    }

    /// Fetches from an open cursor.
    pub fn fetch(&mut self, core: &Core, cx: &mut ExecCtx<'_>, cursor: u32, rows: u32, out: &mut Vec<u8>) -> Flow {
        let result = self.fetch_some(core, cx, cursor, rows.max(1), out);
        self.show_counts(core);
        finish(core, cx, result, StatementKind::SELECT, out)
    }

    /// Gives rows of an open query from there on, in the order of the query.
    pub fn scroll(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        (cursor, to): (u32, ScrollTo),
        rows: u32,
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let before = out.len();
        let result = self.scroll_some(cx, (cursor, to), rows, sink, out);
        if result.is_err() {
            out.truncate(before);
            self.close(core, cx, cursor);
        }
        self.show_counts(core);
        finish(core, cx, result, StatementKind::SELECT, out)
    }

    fn scroll_some(
        &mut self,
        cx: &mut ExecCtx<'_>,
        (number, to): (u32, ScrollTo),
        most: u32,
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        let Open { source, row, scroll, has_objects, .. } = self.open.get_mut(&number).ok_or_else(|| Ora::new(1001))?;
        // PL/SQL, which may hold a shared one, goes forwards only.
        let Source::Own(cursor) = source else { return Err(Ora::unsupported()) };
        // A cursor in a row goes forwards only, too: given again with its row it would be where it was left.
        if *has_objects || cursor.columns().iter().any(|column| column.ty == DataType::Cursor) {
            return Err(Ora::unsupported());
        }
        let scroll = scroll.get_or_insert_default();
        cursor.begin_clients_fetch();
        cursor.pause(false, cx);
        let mut last = match to {
            ScrollTo::Row(number) => number.saturating_sub(1),
            ScrollTo::Last => scroll.last(cursor, cx)?.saturating_sub(1),
        };
        let is_row = to != ScrollTo::Row(0);
        let as_of = seen(Some(&*cursor), cx);
        let mut sent = 0u32;
        let mut next = |bytes: usize, row: &mut Vec<Value>, cx: &mut ExecCtx<'_>| -> Result<bool> {
            if sent == most || bytes > REPLY_BYTES_SOFT || !is_row || !scroll.row(last + 1, cursor, row, cx)? {
                return Ok(false);
            }
            last += 1;
            sent += 1;
            Ok(true)
        };
        match sink {
            Some(sink) => {
                sink.seen(as_of);
                let mut bytes = 0;
                while next(bytes, row, cx)? {
                    bytes = sink.row(row, &cx.session.nls)?;
                }
            }
            None => {
                let mut packet = Vec::new();
                encode_rows(&mut packet, number, |w| -> Result<bool> {
                    let has_row = next(w.len(), row, cx)?;
                    if has_row {
                        w.row(row.iter());
                    }
                    Ok(has_row)
                })?;
                if sent > 0 {
                    write_frame(out, |o| o.extend_from_slice(&packet));
                }
            }
        }
        let more = is_row && scroll.has(last + 1, cursor, cx)?;
        cursor.end_clients_fetch(sent.into(), cx);
        let mut answer = done(cx, Outcome { rows: last, ..Outcome::of(StatementKind::SELECT) });
        answer.more = more;
        Ok(answer)
    }

    /// Fetches from an open cursor; the rows go to `sink`, the end of the call to `out`.
    pub fn fetch_to(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        (cursor, rows): (u32, u32),
        sink: &mut dyn RowSink,
        out: &mut Vec<u8>,
    ) -> Flow {
        let result = self.fetch_rows(core, cx, (cursor, rows.max(1)), Some(sink), out);
        self.show_counts(core);
        finish(core, cx, result, StatementKind::SELECT, out)
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
        finish(core, cx, result, kind, out)
    }

    /// Parses a statement to the end without running it; the columns of a query, none of another statement. That is a
    /// parse call like that of an execution: it finds the shared cursor, or makes it.
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
        // One parse call has the reading of the text and the making of the cursor.
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
                    _ => return Ok(Vec::new()), // not a clause: nothing of them is described
                }
            }
        }
        core.kept.borrow_mut().count_parse(text);
        let cursor = Cursor::compile_to_describe(cx, text, statement);
        core.p.end_parse(&clock, cursor.is_err());
        match cursor {
            Ok(cursor) => Ok(self.described(core, cx, cursor)),
            Err(error) => {
                // The text of no statement is of no kind.
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
        self.put_back(core, cx, cursor, core.identity(), self.held.statement());
        columns
    }

    /// Closes an open cursor; one that is not open is no error.
    pub fn close(&mut self, core: &Core, cx: &mut ExecCtx<'_>, cursor: u32) {
        if let Some(open) = self.open.remove(&cursor) {
            let (statement, identity) = (open.statement, open.identity);
            match open.source {
                Source::Own(mut own) if statement.is_some() => {
                    own.close(cx);
                    self.put_back(core, cx, *own, identity, statement);
                }
                source => self.close_source(core, cx, source),
            }
            core.bound_cursors.borrow_mut().retain(|(number, _)| *number != cursor);
            self.nested.retain(|(_, number)| *number != cursor);
            self.close_nested(core, cx, cursor);
            self.show_counts(core);
        }
    }

    /// Closes everything.
    pub fn close_all(&mut self, core: &Core, cx: &mut ExecCtx<'_>) {
        for (_, open) in std::mem::take(&mut self.open) {
            self.close_source(core, cx, open.source);
        }
        self.nested.clear();
        self.held = crate::held::Held::default();
        core.bound_cursors.borrow_mut().clear();
        core.close_nested(cx);
        core.close_kept();
    }

    /// Runs one statement without binds and gives all its rows.
    ///
    /// # Errors
    /// Those of the statement.
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

    /// `opened cursors current` and `session cursor cache count`.
    fn show_counts(&mut self, core: &Core) {
        core.trim_kept();
        core.client_cursors.set(self.open.len() - self.shared);
        self.count_open(core, 0);
    }

    /// `opened cursors current`, with so many more.
    fn count_open(&self, core: &Core, more: usize) {
        let open = self.open.len() - self.shared + core.plsql.cursors_open() + more;
        core.p.stats().set(Stat::OpenedCursorsCurrent, open as u64);
    }
}

/// Gives stored rows up to `most`, behind so many bytes. False at the end.
fn give_stored(
    cursor: &mut Cursor,
    cx: &mut ExecCtx<'_>,
    sink: &mut dyn RowSink,
    (most, mut bytes): (u32, usize),
    sent: &mut u32,
) -> Result<bool> {
    if *sent >= most || bytes > REPLY_BYTES_SOFT {
        return Ok(true);
    }
    cursor.fetch_stored(cx, &mut |row, columns| {
        bytes = sink.stored(row, columns)?;
        *sent += 1;
        Ok(*sent < most && bytes <= REPLY_BYTES_SOFT)
    })
}

/// Whether a statement becomes a cursor of the executor.
pub(crate) fn is_query_or_dml(statement: &Statement) -> bool {
    use Statement::{Delete, Insert, Merge, Query, Update};
    matches!(statement, Query(_) | Insert(_) | Update(_) | Delete(_) | Merge(_))
}

/// Ends a call: the outcome or the error, framed.
pub(crate) fn finish(
    core: &Core,
    cx: &ExecCtx<'_>,
    result: Result<Done>,
    kind: StatementKind,
    out: &mut Vec<u8>,
) -> Flow {
    let e = match result {
        Ok(done) => {
            write_frame(out, |o| Reply::Done(Box::new(done)).encode(o));
            return Flow::Continue;
        }
        Err(e) => e,
    };
    let fatal = e.is(28) || e.is(603);
    let failure = Failure { fatal, ..failure_of(&e, kind) };
    write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
    let _ = (core, cx);
    if fatal { Flow::End } else { Flow::Continue }
}

/// An error as the packet has it.
pub fn failure_of(e: &Ora, kind: StatementKind) -> Failure {
    Failure {
        facility: e.facility().prefix().to_string(),
        code: e.code(),
        text: e.to_string(),
        position: e.position(),
        kind,
        fatal: false,
    }
}

pub(crate) fn done(cx: &ExecCtx<'_>, outcome: Outcome) -> Done {
    Done {
        kind: outcome.kind,
        rows: outcome.rows,
        more: false,
        warning: outcome.warning,
        out: outcome.out,
        tables: outcome.tables,
        cursors: outcome.cursors,
        results: outcome.results,
        in_transaction: cx.session.txn.is_active(),
        schema: cx.session.schema.to_string(),
    }
}

fn some_text(line: String) -> Option<String> {
    if line.is_empty() { None } else { Some(line) }
}

/// Whether each place of a bind variable has a value of its own: binds are named as [`sql::bind_places`] has them.
pub(crate) fn is_by_place(binds: &[Bind]) -> bool {
    binds.iter().any(|bind| bind.name.as_deref().is_some_and(sql::is_place))
}

/// Parses a statement whose binds are given by name or by place.
pub(crate) fn parse(text: &str, by_place: bool) -> Result<Statement> {
    if by_place { sql::parse_statement_by_place(text) } else { sql::parse_statement(text) }
}

/// The cursor of a query or DML, which is parsed where that has not been done and no shared cursor is found.
pub(crate) fn compile(
    cx: &mut ExecCtx<'_>,
    text: &str,
    statement: Option<Rc<Statement>>,
    binds: &[Bind],
) -> Result<Cursor> {
    let by_place = is_by_place(binds);
    let names = match (binds.is_empty(), by_place) {
        (true, _) => Vec::new(),
        (false, true) => sql::bind_places(text),
        (false, false) => sql::bind_names(text),
    };
    let by_name = ByName::new(binds);
    let of = |(place, name): (usize, &String)| bind_type(&binds[by_name.of(place, name)?]);
    let types: Vec<BindType> = names.iter().enumerate().map(of).collect();
    match (statement, by_place) {
        (Some(statement), true) => Cursor::compile_parsed_by_place(cx, text, statement, &types),
        (Some(statement), false) => Cursor::compile_parsed(cx, text, statement, &types),
        (None, true) => Cursor::compile_by_place(cx, text, &types),
        (None, false) => Cursor::compile(cx, text, &types),
    }
}

/// The type of a bind as its client has declared it; without a declaration that of its value, which NULL has none of.
fn bind_type(bind: &Bind) -> BindType {
    use DataType as T;
    // The next text may be longer than this one.
    const LEN: u32 = 4000;
    let declared = match (bind.data_type, &bind.value) {
        (T::Null, Value::Null) => return None,
        (T::Null, value) => value.data_type(),
        (declared, _) => declared,
    };
    match declared {
        T::Number { .. } | T::Float { .. } | T::PlsInteger => Some(T::NUMBER),
        T::Char { .. } | T::Nchar { .. } => Some(T::Char { len: LEN, unit: LenUnit::Byte }),
        T::Varchar2 { .. } | T::Nvarchar2 { .. } | T::Long => Some(T::Varchar2 { len: LEN, unit: LenUnit::Byte }),
        T::Date => Some(T::Date),
        T::LongRaw => Some(T::Raw { len: LEN }),
        t @ (T::Timestamp { .. } | T::IntervalYm { .. } | T::IntervalDs { .. } | T::Raw { .. }) => Some(t),
        T::Clob | T::Nclob => Some(T::Clob),
        T::Blob => Some(T::Blob),
        t @ (T::Rowid | T::BinaryDouble | T::BinaryFloat | T::Boolean | T::Cursor) => Some(t),
        // Taken from the first value.
        _ => None,
    }
}

/// Whether a cursor was compiled for binds like these.
fn takes_binds(cursor: &Cursor, binds: &[Bind]) -> bool {
    let by_name = ByName::new(binds);
    let is_alike = |(place, (name, ty)): (usize, (&String, &BindType))| {
        let declared = by_name.of(place, name).and_then(|at| bind_type(&binds[at]));
        let (Some(declared), is) = (declared, ty.unwrap_or(DataType::TEXT)) else { return true };
        exec::is_alike(&declared, &is)
    };
    cursor.is_by_place() == is_by_place(binds)
        && cursor.binds().iter().zip(cursor.bind_types()).enumerate().all(is_alike)
}

fn bind_values(cursor: &mut Cursor, binds: &[Bind]) -> Result<()> {
    let names: Vec<String> = cursor.binds().to_vec();
    let by_name = ByName::new(binds);
    for (place, name) in names.iter().enumerate() {
        let at = by_name.of(place, name).ok_or_else(|| Ora::new(1008))?;
        cursor.bind_one(place, &binds[at].value)?;
    }
    if binds.iter().filter(|b| b.name.is_none()).count() > names.len() {
        return Err(Ora::new(1036));
    }
    Ok(())
}

/// ORA-06502 when a block gave a bind a longer text than it takes.
fn fits_binds(names: &[String], binds: &[Bind], data: &[Datum]) -> Result<()> {
    let by_name = ByName::new(binds);
    for (place, name) in names.iter().enumerate() {
        let Some(bind) = by_name.of(place, name).map(|at| &binds[at]) else { continue };
        let (DataType::Varchar2 { len, .. } | DataType::Char { len, .. }) = bind.data_type else { continue };
        let is_long = |d: &Datum| matches!(d, Datum::Val(Value::Text(text)) if text.len() > len as usize);
        let has_long = match &data[place] {
            Datum::Coll(Some(c)) => c.elements().any(is_long),
            one => is_long(one),
        };
        if len > 0 && bind.direction != Direction::In && has_long {
            return Err(Ora::with(6502, &[&": character string buffer too small"]).at_line("", 1));
        }
    }
    Ok(())
}

/// The binds that take the values of `RETURNING … INTO`, in the order in which they stand there.
pub(crate) fn targets_of(text: &str, binds: &[Bind]) -> Vec<usize> {
    let outs: Vec<usize> = (0..binds.len()).filter(|at| binds[*at].direction != Direction::In).collect();
    if outs.len() < 2 || outs.iter().any(|at| binds[*at].name.is_none()) {
        return outs;
    }
    let mut is_taken = vec![false; binds.len()];
    let outline = sql::outline(text);
    let of = |target: &sql::Placeholder| {
        let is_it = |at: &&usize| binds[**at].name.as_ref().is_some_and(|n| n.eq_ignore_ascii_case(&target.name));
        // A name that stands there twice may have been bound twice.
        let mut found = outs.iter().filter(is_it);
        let at = *found.clone().find(|at| !is_taken[**at]).or_else(|| found.next())?;
        is_taken[at] = true;
        Some(at)
    };
    outline.placeholders.iter().filter(|p| p.is_target).map(of).collect::<Option<_>>().unwrap_or(outs.clone())
}

/// The values of `RETURNING … INTO`, to the binds that wait for them: see [`targets_of`].
pub(crate) fn returned(
    cursor: &mut Cursor,
    cx: &mut ExecCtx<'_>,
    binds: &[Bind],
    targets: &[usize],
) -> Result<Vec<(u16, Value)>> {
    let mut out = Vec::new();
    if cursor.columns().is_empty() {
        return Ok(out);
    }
    let mut row = Vec::new();
    // A bind that has a value of its own holds one; who only waits for output gets that of every row.
    let one = targets.iter().any(|at| binds[*at].direction == Direction::InOut);
    while cursor.fetch(cx, &mut row)? {
        out.extend(targets.iter().zip(&row).map(|(at, v)| (*at as u16, v.clone())));
        if one {
            break;
        }
    }
    Ok(out)
}

pub(crate) fn wire_column(c: &exec::Column, core: &Core, nls: &types::Nls) -> local::Column {
    local::Column {
        name: c.name.clone(),
        data_type: c.ty,
        nullable: c.nullable,
        display_size: c.ty.display_size(nls),
        nested: match c.ty {
            types::DataType::Named(_) => composite_text::attributes(c.ty, core, nls),
            _ => c.nested.iter().map(|c| wire_column(c, core, nls)).collect(),
        },
    }
}
