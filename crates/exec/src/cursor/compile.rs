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

/// Parses the text of a statement: the first part of a parse call, which is charged for the time. A text with an error
/// counts as a failed parse call.
///
/// # Errors
/// Those of parsing.
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
    /// A statement of the executor itself, with the rights of SYS.
    internal: bool,
    alter: Option<Alter<'a>>,
    /// Values of all binds, if known.
    values: Option<&'a [Value]>,
    /// Whether the plan replaces one made without values.
    is_first: bool,
    /// Whether the values need a child of their own.
    aware: bool,
}

/// The purpose that a shared cursor is looked for.
#[derive(Clone, Copy)]
pub(super) enum Use<'a> {
    /// Executions with any values.
    Any,
    /// An execution with these bind values, and the selectivities of the predicates for them.
    Values(&'a [Value], &'a [f64]),
    /// Description only: either way of naming binds is acceptable.
    Description,
}

/// Parses a text that is not parsed yet.
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

/// The changes that each column of a user's view allows; empty for another kind of object, or if the view cannot be
/// compiled.
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

/// Whether the statistics of one of these tables differ between two states of the dictionary.
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

/// The tree of a statement, and whether its binds are named by place.
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

/// The reasons to count the rows of scans.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    sharing: Sharing,
    /// The first execution is compared with the estimates.
    monitor: bool,
}

/// Restrictions on the functions that a statement calls.
pub(super) fn caller_of(body: &PlanBody) -> Caller {
    let changes = match body {
        PlanBody::Query(_) => Vec::new(),
        // The row of a VALUES clause is evaluated before the table is changed.
        PlanBody::Insert(i) if matches!(i.source, plan::InsertSource::Values(_)) => Vec::new(),
        PlanBody::Insert(i) => vec![i.target.table.object],
        PlanBody::InsertAll(i) => i.branches.iter().map(|b| b.insert.target.table.object).collect(),
        PlanBody::Update(u) => vec![u.target.table.object],
        PlanBody::Delete(d) => vec![d.target.table.object],
        PlanBody::Merge(m) => vec![m.target.table.object],
    };
    Caller { is_query: matches!(body, PlanBody::Query(_)), changes }
}

/// Turns a plan into row sources and registers: the plan's registers, then those of the binds, then those of
/// expressions. Scans count their rows if the executions of the query are watched.
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

/// Whether the columns of the result are columns of one scanned table, each once. The scan then overwrites them for
/// each row, and no other code reads them.
pub(super) fn moves(op: &Op, out: &[Code]) -> bool {
    let Op::Scan(scan) = op else { return false };
    let regs: Option<Vec<_>> = out.iter().map(|code| if let Code::Reg(r) = code { Some(*r) } else { None }).collect();
    let Some(mut regs) = regs else { return false };
    regs.sort_unstable();
    regs.windows(2).all(|pair| pair[0] != pair[1]) && regs.iter().all(|r| scan.column_of(*r).is_some())
}

/// The columns behind the values of [`moves`], if their bytes can be returned without decoding.
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
    /// Parses and compiles a statement. `binds`: types of its binds, as far as known, in the order of
    /// [`Cursor::binds`]; a missing type is taken from the first value.
    ///
    /// # Errors
    /// Syntax and name errors with their position in `text`; ORA-00900 for a statement that is neither a query nor DML.
    pub fn compile(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (None, false), binds)
    }

    /// Measures a parse call that has several steps.
    pub(super) fn timed_parse(
        cx: &mut ExecCtx<'_>,
        parse: impl FnOnce(&mut ExecCtx<'_>) -> Result<Cursor>,
    ) -> Result<Cursor> {
        let clock = cx.p.begin_parse();
        let made = parse(cx);
        cx.p.end_parse(&clock, made.is_err());
        made
    }

    /// As [`Cursor::compile`], for a parsed statement. `v$sql` shows `text`.
    pub fn compile_parsed(
        cx: &mut ExecCtx<'_>,
        text: &str,
        statement: Rc<Statement>,
        binds: &[BindType],
    ) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (Some(statement), false), binds)
    }

    /// As [`Cursor::compile`], with a separate bind for each occurrence of a bind variable.
    pub fn compile_by_place(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Cursor> {
        Cursor::compile_with(cx, text, (None, true), binds)
    }

    /// As [`Cursor::compile_parsed`], for a statement parsed by place.
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

    /// As [`Cursor::compile`], for a call that only describes the statement. A shared cursor that names binds by place
    /// is accepted too.
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

    /// Soft or hard parse. A soft parse makes a cursor from the image of the shared cursor, without reading the text.
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
                // A syntax error is raised before the parse counts as hard.
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

    /// The plan of the shared cursor, if it is valid for the session.
    pub(super) fn instantiate(
        cx: &mut ExecCtx<'_>,
        (text, by_place): (&str, Option<bool>),
        rights: Rights,
        binds: &[BindType],
        place: &mut Place,
    ) -> Result<Option<Found>> {
        if !may_share(cx) || !place.is_found() && place.candidates().handles().is_empty() {
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

    /// The plan of a shared cursor for another user, schema or other rights, if all its names resolve to the same
    /// objects for this session and its privileges suffice.
    fn of_kin(
        cx: &mut ExecCtx<'_>,
        head: &Head,
        (text, by_place, binds): (&str, Option<bool>, &[BindType]),
        place: &mut Place,
        image: &mut Vec<u8>,
    ) -> Result<Option<Found>> {
        for handle in place.candidates().handles() {
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

    /// A cursor on the plan found.
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
            // A segment was replaced meanwhile: compile with its present definition.
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

    /// A statement of the executor itself, with the names and privileges of SYS.
    pub(crate) fn internal(cx: &mut ExecCtx<'_>, text: &str) -> Result<Cursor> {
        let statement = Rc::new(sql::parse_statement(text)?);
        let how = How { internal: true, ..How::default() };
        Cursor::make(cx, text, (Some(statement), false), &[], how, Place::default())
    }

    /// A cursor on a plan that `alter` changes before the row sources are built: for tests of plans that the planner
    /// does not choose. The change is lost when the statement is compiled again.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn compile_altered(cx: &mut ExecCtx<'_>, text: &str, alter: &dyn Fn(&mut Plan)) -> Result<Cursor> {
        let statement = Rc::new(sql::parse_statement(text)?);
        let how = How { alter: Some(alter), ..How::default() };
        Cursor::make(cx, text, (Some(statement), false), &[], how, Place::default())
    }

    /// Compiles a statement only to describe it.
    pub fn describe(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Described> {
        let statement = sql::parse_statement(text)?;
        Cursor::describe_parsed(cx, &statement, (sql::bind_names(text), binds))
    }

    /// As [`Cursor::describe`], for a parsed statement, such as a query inside DDL.
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

    /// As [`Cursor::describe`], for a static statement of PL/SQL: a name that is not a column may be one of
    /// `variables`. `functions` and `variables` have their own access to the call in progress.
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

    /// Whether the results of a query depend on the session's time zone or date formats.
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

    /// Compiles a statement: a hard parse, unless it belongs to the executor itself.
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
        // Corrections that an execution of the last plan has found.
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
                faults::point("cursor-planned");
            }
            let shape = Shape::of(&plan, values, aware, cx);
            let watch = Watch { sharing: shape.sharing, monitor: !internal && adaptive::is_monitored(&plan, cx) };
            match build(&plan, watch, cx) {
                // A segment was replaced or dropped during the compilation, since nothing is locked yet: try again.
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
            // An altered plan is not shared.
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
            // DBMS_STATS invalidates the cursors that exist when it ends; this one may have been loaded after that.
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

    /// A cursor on a plan whose row sources are built.
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

    /// A cursor without row sources.
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

    /// Stores what the executions of a plan need, with its row sources.
    fn take_plan(&mut self, cx: &ExecCtx<'_>, plan: &Plan, built: Built, sharing: Sharing) -> Result<()> {
        let catalog = cx.host.catalog()?;
        let table_by_id = |object| catalog.table_by_id(object);
        self.temporary = temporary::among(&self.dependencies, &table_by_id)?;
        self.temporary_version = cx.session.temporaries.version();
        // Results over a session's own rows are never shared, even if a function reads the rows.
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

    /// Called before the first execution of a cursor made from an image: decodes the plan and builds its row sources.
    ///
    /// # Errors
    /// ORA-08103 if a segment was replaced; those of compiling the statement.
    #[cold]
    pub(super) fn make_plan(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Some(later) = &self.later else { return Ok(()) };
        let catalog = cx.host.catalog()?;
        if catalog.epoch() != self.epoch {
            // The epoch has moved since the cursor was found to be current.
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
            // An object is gone, although no look-up gave another answer.
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

    /// Compiles the statement again, because the dictionary, the settings or the types of the binds have changed.
    /// Counts as a parse, without a parse call.
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

    /// Replaces the cursor by another one for the same statement; the bind values stay.
    pub(super) fn replace(&mut self, new: &mut Cursor) {
        new.values = std::mem::take(&mut self.values);
        new.values.resize(new.binds.len(), Value::Null);
        new.continues = self.continues;
        std::mem::swap(self, new);
    }

    /// Called before an execution of a cursor whose plan depends on bind values: takes the plan for these values.
    ///
    /// # Errors
    /// Those of compiling the statement.
    #[cold]
    pub(super) fn adapt(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.adaptive.as_ref().is_some_and(|adaptive| !adaptive.is_peeked) && self.key.is_loaded_again(cx) {
            // Another session has executed the shared cursor first.
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
            // This is part of the parse that made the plan without values.
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
