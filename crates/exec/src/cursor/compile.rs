//! Making cursors: parsing, planning, sharing, and building row sources.

use super::build::{Built, Watch, build, cached_of, columns_of, kind_of};
use super::state::{Body, Cursor, Fetches, State, StatementKind, settings_of};
use crate::adaptive::{self, Adaptive, Shape};
use crate::compile::{may_share, plan_of};
use crate::ctx::{ExecCtx, Rights};
use crate::dml::TableLocks;
use crate::feedback::is_monitored;
use crate::inner_statement::InnerStatement;
use crate::machine::Machine;
use crate::shared_plan::{self, Found, FoundPlan, Head, Names, Outside, Unfit, Whose};
use crate::source::Op;
use crate::statistics::Place;
use crate::{objects, temporary};
use library_cache::{Content, Mismatch, Sharing};
use plan::{BindType, Plan};
use process::Process;
use sql::ast::Statement;
use std::rc::Rc;
use types::{Result, Value};
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
    pub(super) internal: bool,
    pub(super) alter: Option<Alter<'a>>,
    /// Values of all binds, if known.
    pub(super) values: Option<&'a [Value]>,
    /// Whether the plan replaces one made without values.
    pub(super) is_first: bool,
    /// Whether the values need a child of their own.
    pub(super) aware: bool,
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

/// A plan with its row sources.
pub(super) struct Made {
    pub(super) plan: Plan,
    pub(super) names: Names,
    pub(super) epoch: u64,
    pub(super) built: Built,
    pub(super) sharing: Sharing,
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
        match build(&plan, Watch { sharing, monitor: false }, compile_inner, cx) {
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
            let watch = Watch { sharing: shape.sharing, monitor: !internal && is_monitored(&plan, cx) };
            match build(&plan, watch, compile_inner, cx) {
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
    pub(super) fn take_plan(&mut self, cx: &ExecCtx<'_>, plan: &Plan, built: Built, sharing: Sharing) -> Result<()> {
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
}

/// Compiles a statement of foreign keys.
pub(crate) fn compile_inner(cx: &mut ExecCtx<'_>, text: &str) -> Result<Box<dyn InnerStatement>> {
    Ok(Box::new(Cursor::internal(cx, text)?))
}
