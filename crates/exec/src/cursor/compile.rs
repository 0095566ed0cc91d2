//! Making cursors: parsing, planning, sharing, and building row sources.

use super::{Body, Cached, Cursor, Described, Fetches, State, StatementKind, settings_of};
use crate::adaptive::{self, Adaptive, Shape};
use crate::code::{Builder, Code};
use crate::compile::{may_share, plan_of};
use crate::ctx::{Caller, ExecCtx, HostFunctions, Rights};
use crate::dml::{Dml, TableLocks};
use crate::machine::{CteState, Machine};
use crate::measure::Counting;
use crate::objects;
use crate::shared_plan::{self, Found, FoundPlan, Head, Names, Outside, Unfit, Whose};
use crate::source::Op;
use crate::statistics::Place;
use crate::sub::SubState;
use crate::temporary;
use dictionary::States;
use library_cache::{Content, Mismatch, Sharing};
use plan::names::{Lookup, Notes, Noting, NotingFunctions};
use plan::{BindType, Column, Plan, PlanBody};
use process::Process;
use result_cache::ResultBuffer;
use sql::ast::Statement;
use std::cell::RefCell;
use std::rc::Rc;
use types::{DataType, Ora, Result, Value};
use wait::Stat;

/// Reads the text of a statement: the first part of a parse call, whose time has it. A text that is none is a parse
/// call that failed.
///
/// # Errors
/// Those of the text.
pub fn read_text<R>(p: &Process, read: impl FnOnce() -> Result<R>) -> Result<R> {
    let clock = p.begin_parse();
    let found = read();
    if found.is_err() {
        p.count(Stat::ParseCountTotal, 1);
        p.count(Stat::ParseCountFailures, 1);
    }
    p.end_parse(&clock, found.is_err());
    found
}

/// A change that a test makes to a plan before it is run.
pub(super) type Alter<'a> = &'a dyn Fn(&mut Plan);

/// How a statement is compiled.
#[derive(Clone, Copy, Default)]
pub(super) struct How<'a> {
    /// For the executor itself, with SYS's eyes.
    internal: bool,
    alter: Option<Alter<'a>>,
    /// Values of all binds.
    values: Option<&'a [Value]>,
    /// It takes the place of a plan that was made without values.
    is_first: bool,
    /// The values have asked for a child of their own.
    aware: bool,
}

/// The use that a shared cursor is looked for.
#[derive(Clone, Copy)]
pub(super) enum Use<'a> {
    /// Executions with any values.
    Any,
    /// An execution with these values of binds, and the selectivities of the predicates with them.
    Values(&'a [Value], &'a [f64]),
    /// To be described: it does not matter how binds are named.
    Description,
}

/// The tree of a text that has not been read yet.
pub(super) fn read(text: &str, (statement, by_place): Parsed) -> Result<Parsed> {
    let statement = match statement {
        Some(statement) => statement,
        None if by_place => Rc::new(sql::parse_statement_by_place(text)?),
        None => Rc::new(sql::parse_statement(text)?),
    };
    Ok((Some(statement), by_place))
}

pub(super) fn described(plan: Plan) -> Described {
    let (kind, columns) = (kind_of(&plan), columns_of(&plan));
    let Plan { binds, dependencies, units, .. } = plan;
    Described { kind, columns, binds, dependencies, units }
}

pub(super) fn kind_of(plan: &Plan) -> StatementKind {
    match &plan.body {
        PlanBody::Query(_) => StatementKind::Select,
        PlanBody::Insert(_) | PlanBody::InsertAll(_) => StatementKind::Insert,
        PlanBody::Update(_) => StatementKind::Update,
        PlanBody::Delete(_) => StatementKind::Delete,
        PlanBody::Merge(_) => StatementKind::Merge,
    }
}

pub(super) fn columns_of(plan: &Plan) -> Vec<Column> {
    let returned = |r: &[(plan::Expr, Column)]| r.iter().map(|(_, c)| c.clone()).collect();
    match &plan.body {
        PlanBody::Query(q) => q.columns.clone(),
        PlanBody::Insert(i) => returned(&i.returning),
        PlanBody::Update(u) => returned(&u.returning),
        PlanBody::Delete(d) => returned(&d.returning),
        PlanBody::InsertAll(_) | PlanBody::Merge(_) => Vec::new(),
    }
}

/// The changes that the columns of a user's view allow; empty for an object that is no view or cannot be compiled.
///
/// # Errors
/// Those of the dictionary.
pub fn updatable_columns(
    cx: &mut ExecCtx<'_>,
    owner: dictionary::UserId,
    view: &str,
) -> Result<Vec<plan::UpdatableColumn>> {
    let catalog = cx.host.catalog()?;
    let names = catalog.as_owner(owner)?;
    let functions = HostFunctions::new(cx);
    match names.relation(None, view)? {
        Some(dictionary::Resolved::View(view)) if !view.catalog && view.owner_id == owner => {
            Ok(plan::updatable_columns(&view, &*names, &functions))
        }
        _ => Ok(Vec::new()),
    }
}

/// Whether one of these tables has other statistics in the dictionary of now than in the one before.
fn statistics_differ(
    before: &dyn dictionary::Catalog,
    now: &dyn dictionary::Catalog,
    objects: &[types::ObjectId],
) -> Result<bool> {
    let of = |names: &dyn dictionary::Catalog, object| -> Result<Option<u64>> {
        Ok(names.table_by_id(object)?.map(|table| dictionary::statistics_of(&table)))
    };
    for object in objects {
        if of(before, *object)? != of(now, *object)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A statement that is parsed already, and whether by place.
pub(super) type Parsed = (Option<Rc<Statement>>, bool);

/// Row sources and registers of a plan, the first register of its binds, and the expected rows of its scans.
pub(super) type Built = (Body, Machine, u32, Option<Vec<adaptive::Expected>>);

/// A plan with its row sources.
pub(super) struct Made {
    plan: Plan,
    names: Names,
    epoch: u64,
    built: Built,
    sharing: Sharing,
}

/// Why the rows of scans are counted.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    sharing: Sharing,
    /// The first execution is compared with what is expected of it.
    monitor: bool,
}

/// Limits on the functions that a statement calls.
pub(super) fn caller_of(body: &PlanBody) -> Caller {
    let changes = match body {
        PlanBody::Query(_) => Vec::new(),
        // A row given by VALUES is made before the table is touched.
        PlanBody::Insert(i) if matches!(i.source, plan::InsertSource::Values(_)) => Vec::new(),
        PlanBody::Insert(i) => vec![i.target.table.object],
        PlanBody::InsertAll(i) => i.branches.iter().map(|b| b.insert.target.table.object).collect(),
        PlanBody::Update(u) => vec![u.target.table.object],
        PlanBody::Delete(d) => vec![d.target.table.object],
        PlanBody::Merge(m) => vec![m.target.table.object],
    };
    Caller { is_query: matches!(body, PlanBody::Query(_)), changes }
}

/// Turns a plan into row sources and registers: first the plan's registers, then the binds, then what expressions need.
/// Scans of a query whose executions are watched count their rows.
pub(super) fn build(plan: &Plan, watch: Watch, cx: &ExecCtx<'_>) -> Result<Built> {
    let first_bind = plan.regs;
    let mut regs = vec![Value::Null; plan.regs as usize + plan.binds.len()];
    let mut b = Builder::new(&mut regs, first_bind, caller_of(&plan.body), cx);
    (b.bind_count, b.subs) = (plan.binds.len() as u32, &plan.subs);
    b.watches = (watch.sharing != Sharing::Plain || watch.monitor) && matches!(plan.body, PlanBody::Query(_));
    b.counting = (plan.counts_operations || cx.session.options.counts_operations).then(|| Counting::of(plan));
    let body = match &plan.body {
        PlanBody::Query(q) => {
            let (op, out) = (Op::build(&q.source, &mut b)?, b.codes(&q.out));
            let moves = !plan.locks_rows && moves(&op, &out);
            let stored = if moves { stored(&op, &out) } else { Vec::new() };
            Body::Query { op, out, moves, stored }
        }
        other => Body::Dml(Dml::build(other, &mut b)?),
    };
    let moments = b.codes(&plan.moments);
    let mut subs = Vec::with_capacity(plan.subs.len());
    for s in &plan.subs {
        let op = Op::build(&s.source, &mut b)?;
        subs.push(Some(Box::new(SubState::new(op, b.codes(&s.out), s))));
    }
    let mut ctes = Vec::with_capacity(plan.ctes.len());
    for c in &plan.ctes {
        ctes.push(Some(Box::new(CteState { op: Op::build(&c.source, &mut b)?, out: b.codes(&c.out), rows: None })));
    }
    let watched = b.watched;
    let run = b.counting.take().map(|counting| Box::new(counting.run));
    let mut m = Machine::new(regs, plan.sequences.len());
    m.watched.resize_with(watched.len(), Default::default);
    m.run = run;
    m.subs = subs;
    m.ctes = ctes;
    m.moments = moments.into_iter().map(|code| (Some(code), None)).collect();
    Ok((body, m, first_bind, watch.monitor.then_some(watched)))
}

/// Whether the columns of the result are columns of the one table that is read, each once: then a scan writes them anew
/// for each row, and nobody looks at them afterwards.
pub(super) fn moves(op: &Op, out: &[Code]) -> bool {
    let Op::Scan(scan) = op else { return false };
    let regs: Option<Vec<_>> = out.iter().map(|code| if let Code::Reg(r) = code { Some(*r) } else { None }).collect();
    let Some(mut regs) = regs else { return false };
    regs.sort_unstable();
    regs.windows(2).all(|pair| pair[0] != pair[1]) && regs.iter().all(|r| scan.column_of(*r).is_some())
}

/// The columns that the values of [`moves`] are, where their bytes can be had without being decoded.
pub(super) fn stored(op: &Op, out: &[Code]) -> Vec<(u16, DataType)> {
    let Op::Scan(scan) = op else { return Vec::new() };
    let column = |code: &Code| if let Code::Reg(r) = code { scan.column_of(*r) } else { None };
    let columns: Option<Vec<_>> = out.iter().map(column).collect();
    columns.filter(|_| scan.gives_bytes()).unwrap_or_default()
}

pub(super) fn cached_of(plan: &Plan, digest: library_cache::Digest, cx: &ExecCtx<'_>) -> Option<Box<Cached>> {
    let depends = plan.cacheable.clone()?;
    let mut prefix = digest.0.to_vec();
    prefix.extend_from_slice(&cx.session.user_id.to_le_bytes());
    prefix.extend_from_slice(&cx.session.parsing_user.to_le_bytes());
    prefix.extend_from_slice(cx.session.schema.as_bytes());
    prefix.push(0);
    Some(Box::new(Cached {
        depends,
        hinted: plan.result_cache && !plan.no_result_cache,
        refused: plan.no_result_cache,
        key: Vec::with_capacity(prefix.len() + 64),
        prefix,
        buffer: ResultBuffer::new(),
        build: None,
        row: Vec::new(),
    }))
}

impl Cursor {
    /// Parses and compiles a statement. `binds` are the types of its binds as far as they are known, in the order of
    /// [`Cursor::binds`]; others are taken from the first value.
    ///
    /// # Errors
    /// Syntax and name errors with their position in `text`; ORA-00900 for what is neither a query nor DML.
    pub fn compile(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (None, false), binds)
    }

    /// A parse call of several steps.
    pub(super) fn timed_parse(
        cx: &mut ExecCtx<'_>,
        parse: impl FnOnce(&mut ExecCtx<'_>) -> Result<Cursor>,
    ) -> Result<Cursor> {
        let clock = cx.p.begin_parse();
        let made = parse(cx);
        cx.p.end_parse(&clock, made.is_err());
        made
    }

    /// As [`Cursor::compile`], of a statement that is parsed already. `text` is what `v$sql` shows.
    pub fn compile_parsed(
        cx: &mut ExecCtx<'_>,
        text: &str,
        statement: Rc<Statement>,
        binds: &[BindType],
    ) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (Some(statement), false), binds)
    }

    /// As [`Cursor::compile`], with a bind for each place of a bind variable, whether its name stands elsewhere or not.
    pub fn compile_by_place(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (None, true), binds)
    }

    /// As [`Cursor::compile_parsed`], of a statement that was parsed by place.
    pub fn compile_parsed_by_place(
        cx: &mut ExecCtx<'_>,
        text: &str,
        statement: Rc<Statement>,
        binds: &[BindType],
    ) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (Some(statement), true), binds)
    }

    pub(super) fn compile_with(cx: &mut ExecCtx<'_>, text: &str, parsed: Parsed, binds: &[BindType]) -> Result<Cursor> {
        Cursor::compile_for(cx, text, parsed, binds, Use::Any)
    }

    /// As [`Cursor::compile`], for a call that only describes the statement; its binds may be named by place where such
    /// a shared cursor is found.
    ///
    /// # Errors
    /// Those of [`Cursor::compile`].
    pub fn compile_to_describe(cx: &mut ExecCtx<'_>, text: &str, statement: Option<Rc<Statement>>) -> Result<Cursor> {
        cx.p.count(Stat::ParseCountDescribe, 1);
        Cursor::compile_for(cx, text, (statement, false), &[], Use::Description)
    }

    fn compile_for(
        cx: &mut ExecCtx<'_>,
        text: &str,
        parsed: Parsed,
        binds: &[BindType],
        of: Use<'_>,
    ) -> Result<Cursor> {
        let mut cursor = Cursor::parse(cx, text, parsed, binds, of)?;
        cx.p.count(Stat::OpenedCursorsCumulative, 1);
        cursor.key.parsed(&cursor.text, cursor.kind.command(), cx);
        Ok(cursor)
    }

    /// A parse, soft or hard. A soft parse finds the shared cursor and makes one of its image; the text is not read.
    pub(super) fn parse(
        cx: &mut ExecCtx<'_>,
        text: &str,
        parsed: Parsed,
        binds: &[BindType],
        of: Use<'_>,
    ) -> Result<Cursor> {
        cx.p.count(Stat::ParseCountTotal, 1);
        Cursor::timed_parse(cx, |cx| {
            let rights = cx.host.rights();
            let (values, selectivities, by_place) = match of {
                Use::Any => (None, None, Some(parsed.1)),
                Use::Values(values, selectivities) => (Some(values), Some(selectivities), Some(parsed.1)),
                Use::Description => (None, None, None),
            };
            let mut place = Place::parse_for(text, &rights, binds, selectivities, cx);
            let made = match Cursor::instantiate(cx, (text, by_place), rights, binds, &mut place) {
                Ok(Some(found)) => Cursor::of_found(cx, text, parsed, binds, found, place),
                // A text that is none fails before the parse is a hard one.
                Ok(None) => read(text, parsed).and_then(|parsed| {
                    cx.p.parse_is_hard();
                    let how = How { values, aware: values.is_some(), ..How::default() };
                    Cursor::make(cx, text, parsed, binds, how, place)
                }),
                Err(e) => Err(e),
            };
            cx.p.count(Stat::ParseCountFailures, u64::from(made.is_err()));
            made
        })
    }

    /// The plan of the shared cursor, if the session may take it.
    pub(super) fn instantiate(
        cx: &mut ExecCtx<'_>,
        (text, by_place): (&str, Option<bool>),
        rights: Rights,
        binds: &[BindType],
        place: &mut Place,
    ) -> Result<Option<Found>> {
        if !may_share(cx) || !place.is_found() && place.kin().handles().is_empty() {
            return Ok(None);
        }
        let mut image = std::mem::take(&mut cx.session.image);
        let head = Head::of(text, rights, cx);
        let found = match place.is_found() {
            true => Cursor::of_own(cx, &head, (by_place, binds), place, &mut image),
            false => Cursor::of_kin(cx, &head, (text, by_place, binds), place, &mut image),
        };
        cx.session.image = image;
        found
    }

    /// The plan of the session's own shared cursor.
    fn of_own(
        cx: &mut ExecCtx<'_>,
        head: &Head,
        binds: (Option<bool>, &[BindType]),
        place: &mut Place,
        image: &mut Vec<u8>,
    ) -> Result<Option<Found>> {
        if !place.image(image, cx) {
            return Ok(None);
        }
        let known = place.known_epoch(cx.host.epoch(), cx);
        match shared_plan::decode(image, Whose::Own(known), head, binds, cx)? {
            Ok(found) => {
                if found.is_news {
                    place.set_known(found.epoch, cx);
                }
                Ok(Some(found))
            }
            Err(why) => {
                if why != Unfit::Other {
                    place.set_stale();
                }
                Ok(None)
            }
        }
    }

    /// The plan of a shared cursor for another user, another schema or other rights, all of whose names mean the same
    /// to the session, and may be used by it as they were.
    fn of_kin(
        cx: &mut ExecCtx<'_>,
        head: &Head,
        (text, by_place, binds): (&str, Option<bool>, &[BindType]),
        place: &mut Place,
        image: &mut Vec<u8>,
    ) -> Result<Option<Found>> {
        for handle in place.kin().handles() {
            let Some(edition) = cx.shared.library.image(*handle, image) else { continue };
            match shared_plan::decode(image, Whose::Others, head, (by_place, binds), cx)? {
                Ok(found) => {
                    place.take_kin((text, binds), (*handle, edition), cx);
                    return Ok(Some(found));
                }
                Err(Unfit::Names) => place.refuse_kin(Mismatch::Translation),
                Err(Unfit::Privileges | Unfit::Other) => place.refuse_kin(Mismatch::AuthCheck),
                Err(Unfit::Binds) => place.refuse_kin(Mismatch::Bind),
                Err(Unfit::Damaged) => {}
            }
        }
        Ok(None)
    }

    /// A cursor of a plan that was found.
    pub(super) fn of_found(
        cx: &mut ExecCtx<'_>,
        text: &str,
        parsed: Parsed,
        binds: &[BindType],
        found: Found,
        place: Place,
    ) -> Result<Cursor> {
        let parsed = (parsed.0, found.by_place);
        let plan = match found.plan {
            FoundPlan::Made(plan) => plan,
            FoundPlan::Later(outside, later) => {
                let (names, epoch) = (found.names, found.epoch);
                let kind = StatementKind::Select;
                let mut cursor =
                    Cursor::without_plan(cx, text.into(), parsed, (kind, outside, found.binds), (names, epoch), place);
                cursor.later = Some(Box::new(later));
                return Ok(cursor);
            }
        };
        let sharing = place.sharing(cx);
        match build(&plan, Watch { sharing, monitor: false }, cx) {
            // A segment has been exchanged for another: what is found of it now is compiled.
            Err(e) if e.is(8103) && !cx.host.is_current(found.epoch) => {
                cx.p.parse_is_hard();
                Cursor::make(cx, text, parsed, binds, How::default(), place)
            }
            Err(e) => Err(e),
            Ok(built) => {
                let made = Made { plan, names: found.names, epoch: found.epoch, built, sharing };
                Cursor::of_plan(cx, text.into(), parsed, found.binds, made, place)
            }
        }
    }

    /// A statement of the executor's own, with names and privileges of SYS.
    pub(crate) fn internal(cx: &mut ExecCtx<'_>, text: &str) -> Result<Cursor> {
        let statement = Rc::new(sql::parse_statement(text)?);
        let how = How { internal: true, ..How::default() };
        Cursor::make(cx, text, (Some(statement), false), &[], how, Place::default())
    }

    /// A cursor over a plan that `alter` changes before row sources are made of it: what tests run that the planner
    /// does not choose. The change is lost when the statement has to be compiled again.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn compile_altered(cx: &mut ExecCtx<'_>, text: &str, alter: &dyn Fn(&mut Plan)) -> Result<Cursor> {
        let statement = Rc::new(sql::parse_statement(text)?);
        let how = How { alter: Some(alter), ..How::default() };
        Cursor::make(cx, text, (Some(statement), false), &[], how, Place::default())
    }

    /// Compiles a statement only to see what it is.
    pub fn describe(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Described> {
        let statement = sql::parse_statement(text)?;
        Cursor::describe_parsed(cx, &statement, (sql::bind_names(text), binds))
    }

    /// As [`Cursor::describe`], of a statement that is parsed already: what DDL asks of a query.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn describe_parsed(
        cx: &mut ExecCtx<'_>,
        statement: &Statement,
        names: (Vec<String>, &[BindType]),
    ) -> Result<Described> {
        cx.p.count(Stat::ParseCountDescribe, 1);
        let catalog = cx.host.catalog()?;
        let scn = cx.session.flashback;
        let functions = HostFunctions::new(cx);
        plan::describe(statement, &*catalog, &functions, &plan::NoVariables, names, scn).map(described)
    }

    /// As [`Cursor::describe`], of a static statement of PL/SQL: its variables stand where SQL knows no column.
    /// `functions` and `variables` reach the call that is in progress themselves.
    ///
    /// # Errors
    /// Those of compiling the statement, and of `variables`.
    pub fn describe_static(
        host: &dyn crate::Host,
        (text, binds): (&str, &[BindType]),
        scn: Option<types::Scn>,
        states: &RefCell<States>,
        functions: &dyn plan::Functions,
        variables: &dyn plan::Variables,
    ) -> Result<(Described, Vec<Lookup>)> {
        let statement = sql::parse_statement(text)?;
        let catalog = host.catalog()?;
        let binds = (sql::bind_names(text), binds);
        let notes = Notes::new(states);
        let plan = {
            let names = Noting::new(&*catalog, &notes);
            let functions = NotingFunctions { functions, notes: &notes };
            plan::describe(&statement, &names, &functions, variables, binds, scn)?
        };
        Ok((described(plan), notes.into_lookups()))
    }

    /// Whether what a query gives depends on the session's time zone or on its formats of dates.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn depends_on_settings(cx: &mut ExecCtx<'_>, statement: &Statement) -> Result<bool> {
        Ok(plan_of(cx, statement, (Vec::new(), &[]), false, (None, &[]))?.0.depends_on_settings())
    }

    /// The plan as text.
    pub fn explain(cx: &mut ExecCtx<'_>, statement: &Statement) -> Result<String> {
        Ok(plan_of(cx, statement, (Vec::new(), &[]), false, (None, &[]))?.0.to_string())
    }

    /// The plan as the rows of PLAN_TABLE.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn plan_rows(cx: &mut ExecCtx<'_>, statement: &Statement) -> Result<Vec<plan::rows::PlanRow>> {
        let plan = plan_of(cx, statement, (Vec::new(), &[]), false, (None, &[]))?.0;
        let names = cx.host.catalog()?;
        for (object, owner) in &plan.below_views {
            if !names.allowed(*object, *owner, dictionary::ObjectPrivilege::Read)? {
                return Err(Ora::new(1039));
            }
        }
        Ok(plan.rows())
    }

    /// Compiles a statement: a hard parse, unless it is the executor's own.
    pub(super) fn make(
        cx: &mut ExecCtx<'_>,
        text: &str,
        (statement, by_place): Parsed,
        binds: &[BindType],
        How { internal, alter, values, is_first, aware }: How<'_>,
        mut place: Place,
    ) -> Result<Cursor> {
        let statement = match statement {
            Some(statement) => statement,
            None if by_place => Rc::new(sql::parse_statement_by_place(text)?),
            None => Rc::new(sql::parse_statement(text)?),
        };
        // The corrections that an execution of the plan before has found.
        let corrections = match cx.session.options.feedback && !internal {
            true => place.corrections(text, binds, cx),
            false => Vec::new(),
        };
        let (planned_by, (plan, lookups), shape, built) = loop {
            let names = cx.host.catalog()?;
            let epoch = names.epoch();
            if !internal {
                names.take_followed();
            }
            let bind_names = if by_place { sql::bind_places(text) } else { sql::bind_names(text) };
            let (mut plan, lookups) = plan_of(cx, &statement, (bind_names, binds), internal, (values, &corrections))?;
            if let Some(alter) = alter {
                alter(&mut plan);
            }
            if !internal {
                os::crash::point("cursor-planned");
            }
            let shape = Shape::of(&plan, values, aware, cx);
            let watch = Watch { sharing: shape.sharing, monitor: !internal && adaptive::is_monitored(&plan, cx) };
            match build(&plan, watch, cx) {
                // A segment was exchanged for another, or dropped, while it was compiled: nothing is locked yet.
                Err(e) if e.is(8103) && !cx.host.is_current(epoch) => cx.check_cancel()?,
                built => break (names, (plan, lookups), shape, built?),
            }
        };
        let epoch = planned_by.epoch();
        let mut bind_types = binds.to_vec();
        bind_types.resize(plan.binds.len(), None);
        if !internal {
            let catalog = cx.host.catalog()?;
            let depends = objects::touch_all(cx, &*catalog, &plan.dependencies);
            let mut rows = plan.rows();
            let plan_hash = plan::rows::hash(&rows);
            if let Some(values) = values {
                plan::rows::note_peeked(&mut rows, &plan.binds, values);
            }
            let rows = plan::rows::encode_within(&rows, library_cache::PLAN_BYTES_MAX);
            // A plan that was altered is nobody else's.
            let image = match may_share(cx) && alter.is_none() && !place.refuses_image(cx) {
                true => {
                    let head = Head::of(text, cx.host.rights(), cx);
                    let table_by_id = |object| catalog.table_by_id(object);
                    let is_over_temporary = !temporary::among(&plan.dependencies, &table_by_id)?.is_empty();
                    shared_plan::encode(&head, epoch, (by_place, &bind_types), &lookups, (&plan, is_over_temporary))
                }
                false => Vec::new(),
            };
            let adaptive = library_cache::Adaptive {
                sharing: shape.sharing,
                selectivities: &shape.selectivities,
                labels: &shape.labels,
                bind_set: values.map_or(0, adaptive::number_of),
                is_first,
                is_corrected: !corrections.is_empty(),
            };
            let content =
                Content { plan: &rows, plan_hash, image: &image, depends: &depends, adaptive, ..Content::default() };
            place.load(text, kind_of(&plan).command(), &bind_types, &content, cx);
            // DBMS_STATS makes cursors invalid that are there when it is done; this one may have come later.
            if !cx.host.is_current(epoch) && statistics_differ(&*planned_by, &*cx.host.catalog()?, &plan.dependencies)?
            {
                place.invalidate(cx);
            }
        }
        let sharing = shape.sharing;
        let made = Made { plan, names: Names::List(lookups.into()), epoch, built, sharing };
        let parsed = (Some(statement), by_place);
        let mut cursor = Cursor::of_plan(cx, text.into(), parsed, bind_types, made, place)?;
        if internal {
            (cursor.internal, cursor.flashback) = (true, None);
        }
        Ok(cursor)
    }

    /// A cursor of a plan whose row sources are built.
    pub(super) fn of_plan(
        cx: &mut ExecCtx<'_>,
        text: Rc<str>,
        (statement, by_place): Parsed,
        bind_types: Vec<BindType>,
        made: Made,
        place: Place,
    ) -> Result<Cursor> {
        let Made { mut plan, names, epoch, built, sharing } = made;
        let (kind, columns) = (kind_of(&plan), columns_of(&plan));
        let binds = std::mem::take(&mut plan.binds);
        let dependencies = std::mem::take(&mut plan.dependencies);
        let outside = Outside { columns, binds, dependencies };
        let mut cursor =
            Cursor::without_plan(cx, text, (statement, by_place), (kind, outside, bind_types), (names, epoch), place);
        cursor.take_plan(cx, &plan, built, sharing)?;
        Ok(cursor)
    }

    /// A cursor that has no row sources yet.
    fn without_plan(
        cx: &ExecCtx<'_>,
        text: Rc<str>,
        (statement, by_place): Parsed,
        (kind, outside, bind_types): (StatementKind, Outside, Vec<BindType>),
        (names, epoch): (Names, u64),
        place: Place,
    ) -> Cursor {
        let Outside { columns, binds, dependencies } = outside;
        Cursor {
            later: None,
            adaptive: None,
            monitor: None,
            temporary: Vec::new(),
            temporary_version: cx.session.temporaries.version(),
            temporary_purges: 0,
            text,
            statement,
            kind,
            columns,
            values: vec![Value::Null; binds.len()],
            retype: false,
            last_row: None,
            bind_types,
            by_place,
            body: Body::Query { op: Op::Empty, out: Vec::new(), moves: false, stored: Vec::new() },
            locks: TableLocks::default(),
            m: Machine::new(Vec::new(), 0),
            first_bind: 0,
            has_sequences: false,
            locks_rows: false,
            first: None,
            locked_at: txn::TxnPoint::default(),
            lock_rowid: None,
            epoch,
            names,
            dependencies,
            checked: None,
            cached: None,
            state: State::Closed,
            continues: false,
            rows: 0,
            fetches: Fetches::Ours,
            returned: Vec::new().into_iter(),
            key: place,
            internal: false,
            flashback: cx.session.flashback,
            settings: settings_of(cx),
            binds,
        }
    }

    /// Takes over what the execution of a plan needs, with its row sources.
    fn take_plan(&mut self, cx: &ExecCtx<'_>, plan: &Plan, built: Built, sharing: Sharing) -> Result<()> {
        let catalog = cx.host.catalog()?;
        let table_by_id = |object| catalog.table_by_id(object);
        self.temporary = temporary::among(&self.dependencies, &table_by_id)?;
        self.temporary_version = cx.session.temporaries.version();
        // A session's own rows are nobody else's result, also when a function reads them.
        let read = plan.cacheable.as_deref().unwrap_or_default();
        let is_private = !self.temporary.is_empty() || !temporary::among(read, &table_by_id)?.is_empty();
        if !is_private && plan.cacheable.is_some() {
            self.cached = cached_of(plan, self.key.digest_of(&self.text), cx);
        }
        (self.body, self.m, self.first_bind, self.monitor) = built;
        self.adaptive = Adaptive::of(plan, sharing);
        self.locks = TableLocks::of(&plan.body);
        self.has_sequences = !plan.sequences.is_empty();
        (self.locks_rows, self.lock_rowid) = (plan.locks_rows, plan.lock_rowid);
        Ok(())
    }

    /// Before the first execution of a cursor that came of an image: makes the plan and its row sources.
    ///
    /// # Errors
    /// ORA-08103 where a segment has been exchanged for another; those of compiling the statement.
    #[cold]
    pub(super) fn make_plan(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Some(later) = &self.later else { return Ok(()) };
        let catalog = cx.host.catalog()?;
        if catalog.epoch() != self.epoch {
            // It has moved since the cursor was found to be current.
            return Err(Ora::new(8103));
        }
        match later.plan(&*catalog) {
            Some(plan) => {
                let sharing = self.key.sharing(cx);
                let built = build(&plan, Watch { sharing, monitor: false }, cx)?;
                self.take_plan(cx, &plan, built, sharing)?;
                self.later = None;
                Ok(())
            }
            // An object is not there any more, and no look-up has told of it.
            None => {
                self.key.finished(cx);
                let place = self.key.again(cx);
                let parsed = (self.statement.clone(), self.by_place);
                let clock = cx.p.begin_parse();
                cx.p.parse_is_hard();
                let made = Cursor::make(cx, &self.text, parsed, &self.bind_types, How::default(), place);
                cx.p.end_parse(&clock, made.is_err());
                self.replace(&mut made?);
                Ok(())
            }
        }
    }

    /// Compiles again: the dictionary, the settings or the types of the binds have changed. That is a parse, though
    /// nobody has called for one.
    #[cold]
    #[inline(never)]
    pub(super) fn renew(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.key.finished(cx);
        let parsed = (self.statement.clone(), self.by_place);
        let mut new = if self.internal {
            let how = How { internal: true, ..How::default() };
            Cursor::make(cx, &self.text, parsed, &self.bind_types, how, Place::default())?
        } else {
            Cursor::parse(cx, &self.text, parsed, &self.bind_types, Use::Any)?
        };
        self.replace(&mut new);
        self.make_plan(cx)
    }

    /// Becomes another cursor of the same statement; the values of its binds stay.
    pub(super) fn replace(&mut self, new: &mut Cursor) {
        new.values = std::mem::take(&mut self.values);
        new.values.resize(new.binds.len(), Value::Null);
        new.continues = self.continues;
        std::mem::swap(self, new);
    }

    /// Before an execution of a cursor whose plan depends on values of binds: takes the plan that is for these values.
    ///
    /// # Errors
    /// Those of compiling the statement.
    #[cold]
    pub(super) fn adapt(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.adaptive.as_ref().is_some_and(|adaptive| !adaptive.is_peeked) && self.key.is_loaded_again(cx) {
            // Somebody else has executed it first.
            self.renew(cx)?;
        }
        let Some(adaptive) = &self.adaptive else { return Ok(()) };
        if self.internal || self.text.is_empty() {
            return Ok(());
        }
        let parsed = (self.statement.clone(), self.by_place);
        let mut new = if !adaptive.is_peeked {
            self.key.finished(cx);
            let how = How { values: Some(&self.values), is_first: true, ..How::default() };
            let place = self.key.again(cx);
            // Part of the parse that made the plan without values.
            cx.p.parse_is_hard();
            let clock = cx.p.begin_parse();
            let made = Cursor::make(cx, &self.text, parsed, &self.bind_types, how, place);
            cx.p.end_parse(&clock, made.is_err());
            made?
        } else {
            let selectivities = || adaptive.selectivities(&self.values);
            if self.key.fits(selectivities, cx) {
                return Ok(());
            }
            let selectivities = selectivities();
            self.key.finished(cx);
            let of = Use::Values(&self.values, selectivities.as_ref());
            Cursor::parse(cx, &self.text, parsed, &self.bind_types, of)?
        };
        self.replace(&mut new);
        self.make_plan(cx)
    }
}
