//! Cursors: a statement compiled once and executed many times.
//!
//! | state | what may be trusted | way out |
//! |---|---|---|
//! | Closed | the plan, while all names mean what they meant when it was made | `execute` |
//! | Rows | the row sources are open as of the snapshot | `fetch` to the end, `close`, `execute` |
//! | Cached | the rows are in the result buffer | the same |
//! | Done | the number of rows processed, RETURNING's rows | the same |
//!
//! Executing again allocates nothing on the single-row paths: the registers, the result buffer and the bind values keep
//! their memory, the check of the plan is one load of the epoch, and the statement's figures are counted in the
//! session. When the epoch has moved, the look-ups that the plan was made by are asked again ([`plan::names`]).
//!
//! A soft parse reads no text: it makes the cursor of the image in the library cache ([`crate::shared_plan`]).

use crate::adaptive::{self, Adaptive, Shape};
use crate::code::{Builder, Code};
use crate::compile::{may_share, plan_of};
use crate::ctx::{Caller, ExecCtx, HostFunctions, Rights};
use crate::dml::{Dml, TableLocks};
use crate::machine::{CteState, Machine};
use crate::measure::{self, Counting};
use crate::objects;
use crate::shared_plan::{self, Found, Head, Names, Unfit};
use crate::source::Op;
use crate::statistics::{Place, Run};
use crate::sub::SubState;
use crate::temporary;
use dictionary::TemporaryKind;
use library_cache::{Content, Sharing};
use plan::{BindType, Class, Column, Plan, PlanBody, class};
use process::Process;
use result_cache::{Build, Description, Key, Namespace, Opened, ResultBuffer};
use sql::ast::Statement;
use std::rc::Rc;
use types::row::{RowReader, RowWriter};
use types::{DataType, ObjectId, Ora, Result, Scn, Value, codec};
use wait::Stat;

/// What kind of statement a cursor holds.
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

/// What is known of a statement without opening a cursor on it.
#[derive(Clone, Debug)]
pub struct Described {
    pub kind: StatementKind,
    /// Columns of a query, or of RETURNING.
    pub columns: Vec<Column>,
    /// Names of the binds, in the order of their first occurrence.
    pub binds: Vec<String>,
    /// Tables and views it reads or changes.
    pub dependencies: Vec<ObjectId>,
    /// Owner and name of the stored units whose functions it calls.
    pub units: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Rows,
    Cached,
    Done,
}

/// Takes the bytes of a row and what of them is wanted: places of columns and their types. False: no more rows.
pub type TakeStored<'a> = dyn FnMut(&[u8], &[(u16, DataType)]) -> Result<bool> + 'a;

/// What the statement does when it runs.
enum Body {
    Query {
        op: Op,
        out: Vec<Code>,
        /// Values are taken out of the registers and not copied: nobody but the row source that fills them anew looks
        /// at them.
        moves: bool,
        /// The columns of the stored rows, and their types, that the values are; none where they are anything else.
        stored: Vec<(u16, DataType)>,
    },
    Dml(Dml),
}

/// How the statement uses the result cache.
struct Cached {
    depends: Vec<ObjectId>,
    /// Hint RESULT_CACHE (or tables that ask for it); otherwise only with RESULT_CACHE_MODE = FORCE.
    hinted: bool,
    refused: bool,
    /// The fixed part of the key: statement and user.
    prefix: Vec<u8>,
    key: Vec<u8>,
    buffer: ResultBuffer,
    build: Option<Build>,
    row: Vec<u8>,
}

/// A compiled statement with its execution.
///
/// [`Cursor::close`] must be called before a cursor is dropped while it is open: a result that is being built for the
/// result cache, and the snapshot, are given back there.
pub struct Cursor {
    text: Rc<str>,
    /// The statement as it was parsed; none where the plan came from an image.
    statement: Option<Rc<Statement>>,
    kind: StatementKind,
    columns: Vec<Column>,
    binds: Vec<String>,
    bind_types: Vec<BindType>,
    /// Every place of a bind variable is a bind of its own.
    by_place: bool,
    /// The row that DML has changed last.
    last_row: Option<types::Rowid>,
    /// Values for the next execution.
    values: Vec<Value>,
    /// The assumed type of a bind turned out wrong: compile again before executing.
    retype: bool,
    body: Body,
    locks: TableLocks,
    m: Machine,
    first_bind: u32,
    has_sequences: bool,
    locks_rows: bool,
    /// Whether there is a first row, when it has been looked for already and lies in the registers.
    first: Option<bool>,
    lock_rowid: Option<plan::Reg>,
    /// When it locked its rows.
    locked_at: txn::TxnPoint,
    epoch: u64,
    /// The look-ups that the plan was made by.
    names: Names,
    dependencies: Vec<ObjectId>,
    /// The moment as of which its tables were what they are at this epoch.
    checked: Option<(Scn, u64)>,
    cached: Option<Box<Cached>>,
    state: State,
    /// The next execution goes on with the one before.
    continues: bool,
    rows: u64,
    /// Who fetches.
    fetches: Fetches,
    returned: std::vec::IntoIter<Vec<Value>>,
    key: Place,
    /// The session's flashback mode that it was compiled for.
    flashback: Option<Scn>,
    /// The session's settings that it was compiled with.
    settings: Settings,
    /// Compiled with SYS's eyes, for the executor's own statements.
    internal: bool,
    /// The temporary tables it is over, and the state of the session's segments when it was compiled and opened.
    temporary: Vec<(ObjectId, TemporaryKind)>,
    temporary_version: u64,
    temporary_purges: u64,
    /// The values that it takes where the plan depends on binds.
    adaptive: Option<Box<Adaptive>>,
    /// The expected rows of the scans of a query whose first execution is compared with them.
    monitor: Option<Vec<adaptive::Expected>>,
}

/// The caller that fetches from a cursor. It decides how fetches are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetches {
    /// A loop, SELECT INTO and the like: so many rows at a time, the last of which finds the end.
    Ours,
    /// FETCH: each counts.
    Explicit,
    /// A client: each counts, and a row when it is sent; one that was looked at ahead is not the client's yet.
    Clients,
}

/// What a compiled statement takes from the settings of its session: numbers for those of the language and of the
/// optimizer. A constant is converted when it is compiled, and another optimizer is another child.
type Settings = (u64, u64);

fn settings_of(cx: &ExecCtx<'_>) -> Settings {
    (cx.session.nls_fingerprint(), cx.session.options.optimizer)
}

/// Rows of a fetch of our own.
const ROWS_A_FETCH: u64 = 100;
/// Most times a statement is started again because rows changed under it.
const RESTARTS_MOST: u32 = 5000;

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

/// What a test makes of a plan before it is run.
type Alter<'a> = &'a dyn Fn(&mut Plan);

/// How a statement is compiled.
#[derive(Clone, Copy, Default)]
struct How<'a> {
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

/// Values of binds, and the selectivities of the predicates with them, that a shared cursor is looked for by.
type ForValues<'a> = Option<(&'a [Value], &'a [f64])>;

/// The tree of a text that has not been read yet.
fn read(text: &str, (statement, by_place): Parsed) -> Result<Parsed> {
    let statement = match statement {
        Some(statement) => statement,
        None if by_place => Rc::new(sql::parse_statement_by_place(text)?),
        None => Rc::new(sql::parse_statement(text)?),
    };
    Ok((Some(statement), by_place))
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
    fn timed_parse(cx: &mut ExecCtx<'_>, parse: impl FnOnce(&mut ExecCtx<'_>) -> Result<Cursor>) -> Result<Cursor> {
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

    fn compile_with(cx: &mut ExecCtx<'_>, text: &str, parsed: Parsed, binds: &[BindType]) -> Result<Cursor> {
        let mut cursor = Cursor::parse(cx, text, parsed, binds, None)?;
        cx.p.count(Stat::OpenedCursorsCumulative, 1);
        cursor.key.parsed(&cursor.text, cursor.kind.command(), cx);
        Ok(cursor)
    }

    /// A parse, soft or hard. A soft parse finds the shared cursor and makes one of its image; the text is not read.
    fn parse(
        cx: &mut ExecCtx<'_>,
        text: &str,
        parsed: Parsed,
        binds: &[BindType],
        of: ForValues<'_>,
    ) -> Result<Cursor> {
        cx.p.count(Stat::ParseCountTotal, 1);
        Cursor::timed_parse(cx, |cx| {
            let rights = cx.host.rights();
            let selectivities = of.map(|(_, selectivities)| selectivities);
            let mut place = Place::parse_for(text, &rights, binds, selectivities, cx);
            let made = match Cursor::instantiate(cx, (text, parsed.1), rights, binds, &mut place) {
                Ok(Some(found)) => Cursor::of_found(cx, text, parsed, binds, found, place),
                // A text that is none fails before the parse is a hard one.
                Ok(None) => read(text, parsed).and_then(|parsed| {
                    cx.p.parse_is_hard();
                    let values = of.map(|(values, _)| values);
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
    fn instantiate(
        cx: &mut ExecCtx<'_>,
        (text, by_place): (&str, bool),
        rights: Rights,
        binds: &[BindType],
        place: &mut Place,
    ) -> Result<Option<Found>> {
        if !place.is_found() || !may_share(cx) {
            return Ok(None);
        }
        let mut image = std::mem::take(&mut cx.session.image);
        let found = match place.image(&mut image, cx) {
            false => Ok(None),
            true => {
                let known = place.known_epoch(cx.host.epoch(), cx);
                let head = Head::of(text, by_place, rights, cx);
                shared_plan::decode(&image, known, &head, binds, cx).map(Some)
            }
        };
        cx.session.image = image;
        match found? {
            Some(Ok(found)) => {
                if found.is_news {
                    place.set_known(found.epoch, cx);
                }
                Ok(Some(found))
            }
            Some(Err(why)) => {
                if why != Unfit::Other {
                    place.set_stale();
                }
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// A cursor of a plan that was found.
    fn of_found(
        cx: &mut ExecCtx<'_>,
        text: &str,
        parsed: Parsed,
        binds: &[BindType],
        found: Found,
        place: Place,
    ) -> Result<Cursor> {
        let sharing = place.sharing(cx);
        match build(&found.plan, Watch { sharing, monitor: false }, cx) {
            // A segment has been exchanged for another: what is found of it now is compiled.
            Err(e) if e.is(8103) && !cx.host.is_current(found.epoch) => {
                cx.p.parse_is_hard();
                Cursor::make(cx, text, parsed, binds, How::default(), place)
            }
            Err(e) => Err(e),
            Ok(built) => {
                let made = Made { plan: found.plan, names: found.names, epoch: found.epoch, built, sharing };
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

    /// A cursor over a plan that `alter` changes before row sources are made of it: what tests run that the planner does
    /// not choose. The change is lost when the statement has to be compiled again.
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
        cx.p.count(Stat::ParseCountDescribe, 1);
        Ok(described(plan_of(cx, &statement, (sql::bind_names(text), binds), false, (None, &[]))?.0))
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
        functions: &dyn plan::Functions,
        variables: &dyn plan::Variables,
    ) -> Result<Described> {
        let statement = sql::parse_statement(text)?;
        let catalog = host.catalog()?;
        let binds = (sql::bind_names(text), binds);
        plan::compile_with_variables(&statement, &*catalog, functions, variables, binds, scn).map(described)
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
    fn make(
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
        let (epoch, (plan, lookups), shape, built) = loop {
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
                built => break (epoch, (plan, lookups), shape, built?),
            }
        };
        let mut bind_types = binds.to_vec();
        bind_types.resize(plan.binds.len(), None);
        if !internal {
            let catalog = cx.host.catalog()?;
            let depends = objects::touch_all(cx, &*catalog, &plan.dependencies);
            let rows = plan.rows();
            let plan_hash = plan::rows::hash(&rows);
            let rows = plan::rows::encode_within(&rows, library_cache::PLAN_BYTES_MAX);
            // A plan that was altered is nobody else's.
            let image = match may_share(cx) && alter.is_none() {
                true => {
                    let head = Head::of(text, by_place, cx.host.rights(), cx);
                    shared_plan::encode(&head, epoch, &bind_types, &lookups, &plan)
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
    fn of_plan(
        cx: &mut ExecCtx<'_>,
        text: Rc<str>,
        (statement, by_place): Parsed,
        bind_types: Vec<BindType>,
        made: Made,
        place: Place,
    ) -> Result<Cursor> {
        let Made { plan, names, epoch, built: (body, m, first_bind, monitor), sharing } = made;
        let catalog = cx.host.catalog()?;
        let temporary = temporary::among(&plan.dependencies, &|object| catalog.table_by_id(object))?;
        // A session's own rows are nobody else's result, also when a function reads them.
        let read = plan.cacheable.as_deref().unwrap_or_default();
        let private = temporary::among(read, &|object| catalog.table_by_id(object))?;
        let cached = if temporary.is_empty() && private.is_empty() {
            cached_of(&plan, place.digest_of(&text), cx)
        } else {
            None
        };
        Ok(Cursor {
            adaptive: Adaptive::of(&plan, sharing),
            monitor,
            temporary,
            temporary_version: cx.session.temporaries.version(),
            temporary_purges: 0,
            text,
            statement,
            kind: kind_of(&plan),
            columns: columns_of(&plan),
            values: vec![Value::Null; plan.binds.len()],
            retype: false,
            last_row: None,
            bind_types,
            by_place,
            body,
            locks: TableLocks::of(&plan.body),
            m,
            first_bind,
            has_sequences: !plan.sequences.is_empty(),
            locks_rows: plan.locks_rows,
            first: None,
            locked_at: txn::TxnPoint::default(),
            lock_rowid: plan.lock_rowid,
            epoch,
            names,
            dependencies: plan.dependencies,
            checked: None,
            cached,
            state: State::Closed,
            continues: false,
            rows: 0,
            fetches: Fetches::Ours,
            returned: Vec::new().into_iter(),
            key: place,
            internal: false,
            flashback: cx.session.flashback,
            settings: settings_of(cx),
            binds: plan.binds,
        })
    }

    /// Compiles again: the dictionary, the settings or the types of the binds have changed. That is a parse, though
    /// nobody has called for one.
    fn renew(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.key.finished(cx);
        let parsed = (self.statement.clone(), self.by_place);
        let mut new = if self.internal {
            let how = How { internal: true, ..How::default() };
            Cursor::make(cx, &self.text, parsed, &self.bind_types, how, Place::default())?
        } else {
            Cursor::parse(cx, &self.text, parsed, &self.bind_types, None)?
        };
        self.replace(&mut new);
        Ok(())
    }

    /// Becomes another cursor of the same statement; the values of its binds stay.
    fn replace(&mut self, new: &mut Cursor) {
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
    fn adapt(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
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
            let of = Some((&self.values[..], &selectivities[..]));
            Cursor::parse(cx, &self.text, parsed, &self.bind_types, of)?
        };
        self.replace(&mut new);
        Ok(())
    }

    /// Says that the cursor is closed and kept by its session, or used again: `v$open_cursor` shows it so. Using it
    /// again is a parse call.
    pub fn set_kept(&mut self, kept: bool, cx: &mut ExecCtx<'_>) {
        self.key.keep(kept);
        if !kept {
            self.key.parsed(&self.text, self.kind.command(), cx);
        }
    }

    /// Says that PL/SQL leaves the open query alone until it fetches from it again, or goes on with it: what
    /// `v$session` shows meanwhile is the block.
    #[inline]
    pub fn pause(&mut self, paused: bool, cx: &mut ExecCtx<'_>) {
        self.key.pause(paused, cx);
    }

    /// Says that a FETCH of PL/SQL begins, and counts it.
    pub fn begin_fetch(&mut self, cx: &mut ExecCtx<'_>) {
        self.fetches = Fetches::Explicit;
        self.key.fetched(0, cx);
    }

    /// Says that a client fetches: rows count when it has been sent them.
    pub fn begin_clients_fetch(&mut self) {
        self.fetches = Fetches::Clients;
    }

    /// Counts a client's fetch, with the rows that it was sent.
    pub fn end_clients_fetch(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        self.key.fetched(rows, cx);
        self.key.pause(true, cx);
    }

    /// The shared cursor: its statement and the child's number.
    pub fn shared(&self, cx: &ExecCtx<'_>) -> Option<(library_cache::Digest, u64)> {
        self.key.identify(cx.shared.library)
    }

    /// The objects that it reads or changes.
    pub fn dependencies(&self) -> &[ObjectId] {
        &self.dependencies
    }

    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Columns of a query, or of RETURNING.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names of the binds, in the order of their first occurrence in the text; a name that occurs twice is one bind.
    pub fn binds(&self) -> &[String] {
        &self.binds
    }

    /// Gives all binds their values for the next execution.
    ///
    /// # Errors
    /// ORA-01008 when there are too few, ORA-01036 when there are too many.
    pub fn bind(&mut self, values: &[Value]) -> Result<()> {
        if values.len() != self.binds.len() {
            return Err(Ora::new(if values.len() < self.binds.len() { 1008 } else { 1036 }));
        }
        for (i, v) in values.iter().enumerate() {
            self.bind_one(i, v)?;
        }
        Ok(())
    }

    /// Gives one bind its value, reusing the buffer of the one before.
    pub fn bind_one(&mut self, at: usize, value: &Value) -> Result<()> {
        let slot = self.values.get_mut(at).ok_or_else(|| Ora::new(1036))?;
        slot.set(value);
        if !value.is_null() && !fits(value, &self.bind_types[at]) {
            self.bind_types[at] = Some(value.data_type());
            self.retype = true;
        }
        Ok(())
    }

    /// Executes with the values bound. DML is complete when this returns; a query's rows are fetched.
    ///
    /// What a statement only reads it does not lock: when a segment of that has gone, exchanged for another by a
    /// rebuild that committed meanwhile, nothing has been done, and the statement is compiled and run again. That is
    /// one execution.
    pub fn execute(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut run = self.next_run();
        loop {
            match self.execute_once(&mut run, cx) {
                Err(e) if e.is(8103) && !cx.host.is_current(self.epoch) => cx.check_cancel()?,
                done => return done,
            }
        }
    }

    /// Whether the types of the binds, the dictionary and the settings of the session are those that it was compiled
    /// for.
    #[inline]
    fn is_as_compiled(&self, cx: &ExecCtx<'_>) -> bool {
        !self.retype && cx.host.is_current(self.epoch) && self.settings == settings_of(cx)
    }

    /// As [`Cursor::is_as_compiled`], where a dictionary in which all names still mean the same is as good as the one
    /// that it was compiled for.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    fn is_as_compiled_or_same(&mut self, cx: &ExecCtx<'_>) -> Result<bool> {
        if self.is_as_compiled(cx) {
            return Ok(true);
        }
        Ok(!self.retype && self.settings == settings_of(cx) && self.names_are_same(cx)?)
    }

    /// Whether the dictionary is the one that it was compiled for, or all names mean the same in the one of now, which
    /// is its own then.
    #[cold]
    fn names_are_same(&mut self, cx: &ExecCtx<'_>) -> Result<bool> {
        if cx.host.is_current(self.epoch) {
            return Ok(true);
        }
        if self.internal || !may_share(cx) {
            return Ok(false);
        }
        let catalog = cx.host.catalog()?;
        let is_same = self.names.are_same(&*catalog, &cx.session.states)?;
        if is_same {
            self.epoch = catalog.epoch();
        }
        Ok(is_same)
    }

    /// Whether the next execution, with values of the same types, runs what is compiled, and the shared cursor is still
    /// there.
    pub fn is_current(&mut self, cx: &ExecCtx<'_>) -> bool {
        let as_now = self.flashback == cx.session.flashback && !self.lost_segments(cx) && self.key.is_valid(cx);
        // An error is that of the parse which follows.
        as_now && self.is_as_compiled_or_same(cx).unwrap_or(false)
    }

    /// Whether every place of a bind variable is a bind of its own.
    pub fn is_by_place(&self) -> bool {
        self.by_place
    }

    /// The types of its binds as they are known by now.
    pub fn bind_types(&self) -> &[BindType] {
        &self.bind_types
    }

    /// How the next execution counts.
    #[inline]
    fn next_run(&self) -> Run {
        if self.continues { Run::Again } else { Run::First }
    }

    fn execute_once(&mut self, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.state != State::Closed {
            self.close(cx);
        }
        if !self.temporary.is_empty() {
            let touched = |object| cx.session.txn.has_touched(object);
            cx.session.temporaries.settle(cx.p, cx.shared, &touched, cx.session.suspended)?;
        }
        let other_time = !self.internal && self.flashback != cx.session.flashback;
        if other_time || self.lost_segments(cx) || !self.is_as_compiled_or_same(cx)? {
            self.renew(cx)?;
        }
        if self.adaptive.is_some() {
            self.adapt(cx)?;
        }
        self.check_caller(cx)?;
        if !self.temporary.is_empty() {
            cx.session.temporaries.check_depth(&self.temporary, cx.session.suspended)?;
            self.temporary_purges = cx.session.temporaries.purges(&self.temporary);
        }
        let mut shared = Vec::new();
        if let Body::Dml(_) = self.body {
            let result = may_change(cx).and_then(|()| self.execute_dml(&mut shared, run, cx));
            if result.is_err() {
                self.key.took(cx);
            }
            self.tell_run(0, cx);
            self.key.finished(cx);
            for object in shared {
                cx.shared.txns.end_share(cx.p, &mut cx.session.txn, object);
            }
            return result.map_err(|e| cx.host.name_segment(e));
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

    /// In a function that another statement calls: a query's may change nothing, and none may look at a table that is
    /// being changed.
    ///
    /// # Errors
    /// ORA-14551, ORA-04091.
    fn check_caller(&self, cx: &ExecCtx<'_>) -> Result<()> {
        if self.internal {
            return Ok(());
        }
        let changes = self.locks_rows || matches!(self.body, Body::Dml(_));
        cx.session.may_run(changes, |mutating| {
            let Some(object) = self.dependencies.iter().find(|d| mutating.contains(d)) else { return Ok(()) };
            Err(match cx.host.catalog()?.table_by_id(*object)? {
                Some(table) => Ora::with(4091, &[&table.owner, &table.name]),
                None => Ora::with(4091, &[&"", &""]),
            })
        })
    }

    /// Whether segments of temporary tables that it was compiled over are gone.
    fn lost_segments(&self, cx: &ExecCtx<'_>) -> bool {
        !self.temporary.is_empty() && self.temporary_version != cx.session.temporaries.version()
    }

    /// Before a statement changes, or locks, rows of temporary tables.
    fn bind_temporary(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.temporary.is_empty() {
            return Ok(());
        }
        let (state, depth) = (&cx.session.temporaries, cx.session.suspended);
        let changed = |object| self.locks_rows || self.locks.changes(object);
        state.bind(cx.p, cx.shared, &self.temporary, &changed, depth)?;
        // Who waited for DDL has waited for another definition.
        if self.names_are_same(cx)? { Ok(()) } else { self.renew(cx) }
    }

    /// Says that the next execution and the one before are counted as one: those of an array of bind values are.
    #[inline]
    pub fn set_continues(&mut self, continues: bool) {
        self.continues = continues;
    }

    /// Takes an execution with the values bound into a batch, to be carried out with those of further calls by
    /// [`Cursor::execute_waiting`]. False when the statement has to be executed by itself, after those that wait;
    /// nothing was done.
    ///
    /// # Errors
    /// Those of making the row. One that waits already may be refused too: that error comes first.
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
        // Time until the next statement belongs to no statement.
        self.key.leave(cx);
        ran?;
        (self.state, self.rows) = (State::Done, 1);
        Ok(true)
    }

    /// As [`Cursor::execute_later`] behind one that waits, with values that are not bound first: all of them, in the
    /// order of the binds. False when it has to be done the ordinary way; nothing was done.
    ///
    /// # Errors
    /// Only what breaks off everything.
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

    /// What an execution does before it runs, once for a batch. False for a statement that cannot wait.
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

    /// Whether executions wait, and whether so many that they should be carried out before there are more.
    pub fn waiting(&self) -> (bool, bool) {
        match &self.body {
            Body::Dml(dml) => dml.has_waiting(),
            Body::Query { .. } => (false, false),
        }
    }

    /// How many executions wait.
    pub fn rows_waiting(&self) -> usize {
        match &self.body {
            Body::Dml(dml) => dml.rows_waiting(),
            Body::Query { .. } => 0,
        }
    }

    /// Carries out the executions that wait. `refused` is told the number of each that fails, from 0, and leaves
    /// nothing; it may let the others go on by swallowing the error.
    ///
    /// # Errors
    /// What `refused` says; executions before that one are done then, and those behind it forgotten.
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

    /// Locks the tables, compiles again what changed meanwhile, and runs the statement.
    fn execute_dml(&mut self, shared: &mut Vec<ObjectId>, run: &mut Run, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.bind_temporary(cx)?;
        while self.locks.take(shared, cx)? && !self.names_are_same(cx)? {
            self.renew(cx)?;
        }
        self.check_definitions(cx)?;
        self.begin_execution(run, cx);
        self.run_dml(cx)
    }

    /// In a transaction that reads as of one SCN: its tables are still what they were then. Rows that have been moved
    /// to another segment are none of that moment's.
    ///
    /// # Errors
    /// ORA-01466.
    fn check_definitions(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.internal || !cx.session.txn.holds_snapshot() {
            return Ok(());
        }
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

    /// Compares the first execution of a query with what was expected of it. When that was far off, the statement is
    /// compiled again before the next one.
    #[cold]
    fn compare(&mut self, expected: &[adaptive::Expected], complete: bool, cx: &ExecCtx<'_>) {
        let found = if complete { adaptive::corrections(expected, &self.m.watched) } else { Vec::new() };
        if !found.is_empty() {
            self.retype |= self.key.correct(&found, cx);
        }
    }

    /// Notes what an execution has processed, of a cursor whose plan depends on values of binds.
    #[cold]
    fn note_processed(&mut self, cx: &ExecCtx<'_>) {
        if let Some(adaptive) = &mut self.adaptive {
            let found: u64 = self.m.watched.iter().map(|count| count.rows).sum();
            adaptive.end(found.max(self.rows), &self.values, &self.key, cx);
        }
    }

    fn open_rows(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Body::Query { op, .. } = &mut self.body else { return Err(Ora::internal("not a query")) };
        if self.locks_rows {
            may_change(cx)?;
        }
        for _ in 0..RESTARTS_MOST {
            let start = self.locks_rows.then(|| cx.shared.txns.savepoint(&cx.session.txn));
            let snapshot = match self.m.take_early_snapshot() {
                Some(s) => s,
                None => snapshot_for(self.internal, cx),
            };
            self.m.begin(snapshot);
            self.m.epoch = self.epoch;
            self.state = State::Rows;
            // Whatever stands above the row source that locks may open it with its first row only; all rows are locked
            // before any is fetched.
            let opened = still_planned(self.epoch, cx).and_then(|()| {
                let before = self.m.run.is_some().then(|| measure::begin(cx));
                let opened = op.open(&mut self.m, cx);
                before.into_iter().for_each(|before| measure::end(before, &mut self.m, cx));
                opened
            });
            let opened = opened.and_then(|()| match self.locks_rows {
                true => op.next(&mut self.m, cx).map(Some),
                false => Ok(None),
            });
            let e = match opened {
                Ok(first) => {
                    self.first = first;
                    self.locked_at = cx.session.txn.point();
                    return Ok(());
                }
                Err(e) => e,
            };
            // Rows locked by a statement that failed are unlocked.
            if let Some(start) = &start {
                cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, start)?;
            }
            if !e.is(crate::RESTART) {
                return Err(e);
            }
            cx.shared.txns.release(cx.p, &snapshot);
            self.state = State::Closed;
            may_restart(self.internal, cx)?;
        }
        Err(Ora::new(8177))
    }

    /// Looks for the result in the cache. True: it is in the buffer. False: execute, perhaps building a result.
    fn open_cached(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let c = self.cached.as_mut().expect("only called for a statement that may be cached");
        let options = &cx.session.options;
        let wanted = options.result_cache && (c.hinted || (options.result_cache_force && !c.refused));
        // A session that has changed what the result depends on must see its own changes; one that reads as of its
        // transaction's beginning may need what no result holds any more.
        if !wanted
            || cx.session.txn.holds_snapshot()
            || (cx.session.txn.is_active() && c.depends.iter().any(|d| cx.session.txn.has_touched(*d)))
        {
            return Ok(false);
        }
        c.key.clear();
        c.key.extend_from_slice(&c.prefix);
        c.key.extend_from_slice(&cx.session.nls_fingerprint().to_le_bytes());
        for v in &self.values {
            crate::hash::push_part(v, &mut c.key);
        }
        cx.shared.results.track(cx.p, &c.depends, || cx.shared.txns.current_scn());
        let snapshot = cx.shared.txns.snapshot(cx.p, &cx.session.txn);
        let about = Description {
            name: &self.text,
            namespace: Namespace::Sql,
            creator: cx.session.user_id,
            column_count: self.columns.len() as u32,
        };
        let opened = cx.shared.results.open(
            cx.p,
            cx.shared.enqueues,
            Key::new(&c.key),
            about,
            &c.depends,
            snapshot.scn,
            &mut c.buffer,
        );
        match opened {
            Ok(Opened::Hit) => {
                cx.shared.txns.release(cx.p, &snapshot);
                Ok(true)
            }
            Ok(Opened::Build(build)) => {
                c.build = Some(build);
                self.m.set_early_snapshot(snapshot);
                Ok(false)
            }
            Ok(Opened::Bypass) => {
                self.m.set_early_snapshot(snapshot);
                Ok(false)
            }
            Err(e) => {
                cx.shared.txns.release(cx.p, &snapshot);
                Err(e)
            }
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
                // All of a statement or nothing of it.
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

    /// Fetches the next row into `row`, whose values keep their buffers. False at the end.
    ///
    /// # Errors
    /// ORA-01002 when the cursor is not open; whatever finding the row raises.
    pub fn fetch(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        match self.state {
            State::Rows => {
                let result = match self.lost_rows(cx) {
                    true => Err(Ora::new(8103)), // object no longer exists
                    // Its locks have gone with the transaction, or with what was rolled back to a savepoint.
                    _ if self.locks_rows && !cx.session.txn.stands_since(&self.locked_at) => Err(Ora::new(1002)),
                    false => self.fetch_row(cx, row),
                };
                if !matches!(result, Ok(true)) {
                    self.finish_rows(matches!(result, Ok(false)), cx);
                }
                result
            }
            State::Cached => {
                let c = self.cached.as_mut().expect("the rows came from the cache");
                let Some(bytes) = c.buffer.next_row() else {
                    self.finish_rows(true, cx);
                    return Ok(false);
                };
                decode(bytes, &self.columns, row)?;
                self.rows += 1;
                Ok(true)
            }
            State::Done => match self.returned.next() {
                Some(values) => {
                    *row = values;
                    Ok(true)
                }
                None => Ok(false),
            },
            State::Closed => Err(Ora::new(1002)),
        }
    }

    /// The columns of stored rows, and their types, that the next values are, if [`Cursor::fetch_stored`] can give
    /// them.
    pub fn stored_columns(&self) -> Option<&[(u16, DataType)]> {
        // Rows that go into the result cache are made of values.
        let is_kept = self.cached.as_ref().is_some_and(|c| c.build.is_some());
        let is_plain = self.state == State::Rows && !is_kept && self.first.is_none() && !self.has_sequences;
        match &self.body {
            Body::Query { stored, .. } if is_plain && !stored.is_empty() => Some(stored),
            _ => None,
        }
    }

    /// Fetches like [`Cursor::fetch`], and gives `take` the bytes of each row until it wants no more of them. False at
    /// the end.
    ///
    /// # Errors
    /// As [`Cursor::fetch`], and those of `take`.
    pub fn fetch_stored(&mut self, cx: &mut ExecCtx<'_>, take: &mut TakeStored<'_>) -> Result<bool> {
        if self.stored_columns().is_none() {
            return Err(Ora::internal("rows whose bytes are not to be had"));
        }
        let lost = self.lost_rows(cx);
        let Body::Query { op: Op::Scan(scan), stored, .. } = &mut self.body else {
            return Err(Ora::internal("not a query of stored rows"));
        };
        let rows = &mut self.rows;
        let result = match lost {
            true => Err(Ora::new(8103)), // object no longer exists
            false => scan.each_found(&mut self.m, cx, &mut |bytes| {
                *rows += 1;
                take(bytes, stored)
            }),
        };
        if !matches!(result, Ok(true)) {
            self.finish_rows(matches!(result, Ok(false)), cx);
        }
        result
    }

    /// Whether the rows of temporary tables that it reads have gone with their transaction.
    fn lost_rows(&self, cx: &ExecCtx<'_>) -> bool {
        let state = &cx.session.temporaries;
        !self.temporary.is_empty() && (self.lost_segments(cx) || self.temporary_purges != state.purges(&self.temporary))
    }

    fn fetch_row(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        if self.m.run.is_none() {
            return self.fetch_uncounted(cx, row);
        }
        let before = measure::begin(cx);
        let result = self.fetch_uncounted(cx, row);
        measure::end(before, &mut self.m, cx);
        result
    }

    #[inline]
    fn fetch_uncounted(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        let Body::Query { op, out, moves, .. } = &mut self.body else { return Err(Ora::internal("not a query")) };
        let m = &mut self.m;
        let found = match self.first.take() {
            Some(found) => found,
            None => op.next(m, cx)?,
        };
        if !found {
            return Ok(false);
        }
        if self.has_sequences {
            m.sequence_values.fill(None);
        }
        row.resize(out.len(), Value::Null);
        if *moves {
            // The register keeps the buffer of the row before.
            for (v, code) in row.iter_mut().zip(out.iter()) {
                let Code::Reg(r) = code else { return Err(Ora::internal("a value without a register")) };
                std::mem::swap(v, &mut m.regs[*r as usize]);
            }
        } else {
            for (v, code) in row.iter_mut().zip(out.iter()) {
                let r = code.eval(m, cx)?;
                v.set(m.value(r));
            }
        }
        self.rows += 1;
        if let Some(c) = &mut self.cached
            && let Some(build) = &mut c.build
        {
            c.row.clear();
            let mut w = RowWriter::new(&mut c.row, row.len());
            row.iter().for_each(|v| w.value(v));
            cx.shared.results.push(build, &c.row);
        }
        Ok(true)
    }

    /// The row sources have ended, by themselves or by an error.
    fn finish_rows(&mut self, complete: bool, cx: &mut ExecCtx<'_>) {
        if let Some(c) = &mut self.cached
            && let Some(build) = c.build.take()
        {
            if complete {
                cx.shared.results.publish(cx.p, cx.shared.enqueues, build);
            } else {
                cx.shared.results.abandon(cx.p, cx.shared.enqueues, build);
            }
        }
        let (rows, fetches) = match self.fetches {
            Fetches::Ours => (self.rows, self.rows / ROWS_A_FETCH + 1),
            Fetches::Explicit => (self.rows, 0),
            Fetches::Clients => (0, 0),
        };
        self.key.processed(rows, fetches, cx);
        if self.adaptive.is_some() {
            self.note_processed(cx);
        }
        if let Some(expected) = self.monitor.take() {
            self.compare(&expected, complete, cx);
        }
        self.end(cx);
        self.state = State::Done;
    }

    /// Adds the figures of the operations of an execution that ends to the shared cursor's. `rows`: of the statement.
    fn tell_run(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        if let Some(run) = &mut self.m.run
            && run.is_new
        {
            self.key.add_run(run.plan_hash, run.finish(rows), cx);
            run.clear();
        }
    }

    /// Gives the snapshot back.
    fn end(&mut self, cx: &mut ExecCtx<'_>) {
        self.tell_run(self.rows, cx);
        if let Some(c) = &mut self.cached
            && let Some(build) = c.build.take()
        {
            cx.shared.results.abandon(cx.p, cx.shared.enqueues, build);
        }
        self.m.temporary.clear(cx.shared.txns.cache());
        if let Some(snapshot) = self.m.take_early_snapshot() {
            cx.shared.txns.release(cx.p, &snapshot);
        }
        if self.state == State::Rows {
            cx.shared.txns.release(cx.p, self.m.snapshot());
        }
        self.key.finished(cx);
        self.state = State::Closed;
    }

    /// The rowid of the row fetched last, of a SELECT FOR UPDATE: what WHERE CURRENT OF means.
    pub fn current_row(&self) -> Option<types::Rowid> {
        let reg = self.lock_rowid.filter(|_| self.state == State::Rows)?;
        match self.m.value(reg) {
            Value::Rowid(row) => Some(*row),
            _ => None,
        }
    }

    /// The rowid of the row that DML has changed last, if its table has rowids.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.last_row
    }

    /// Rows fetched so far, or changed by DML.
    pub fn rows_processed(&self) -> u64 {
        self.rows
    }

    /// Ends the execution; the cursor can be executed again.
    pub fn close(&mut self, cx: &mut ExecCtx<'_>) {
        match self.state {
            State::Rows | State::Cached => self.finish_rows(false, cx),
            // The rows have ended, and the execution with them.
            State::Done if matches!(self.body, Body::Query { .. }) => {}
            State::Done | State::Closed => self.end(cx),
        }
        self.state = State::Closed;
    }
}

/// ORA-01456 in a read-only transaction.
fn may_change(cx: &ExecCtx<'_>) -> Result<()> {
    if cx.session.flashback.is_some() {
        return Err(Ora::new(8182)); // operation not supported while in Flashback mode
    }
    if cx.session.txn.isolation() == txn::Isolation::ReadOnly { Err(Ora::new(1456)) } else { Ok(()) }
}

/// Asked once the snapshot is there: the segments that the statement was compiled over are still the tables' own. Else
/// a statement that read the old segment of a moved table as of a later moment would miss what was changed in the new
/// one.
///
/// # Errors
/// ORA-08103, with which it is compiled again.
fn still_planned(epoch: u64, cx: &ExecCtx<'_>) -> Result<()> {
    if cx.host.is_current(epoch) { Ok(()) } else { Err(Ora::new(8103)) }
}

/// What a statement sees. Those of the executor's own look after foreign keys, which hold among the newest versions of
/// rows.
fn snapshot_for(internal: bool, cx: &ExecCtx<'_>) -> txn::Snapshot {
    let (txns, t) = (cx.shared.txns, &cx.session.txn);
    if internal { txns.statement_snapshot(cx.p, t) } else { txns.snapshot(cx.p, t) }
}

/// ORA-08177 in a serializable transaction, to which a row that has changed is no news that a later snapshot could
/// bring.
fn may_restart(internal: bool, cx: &ExecCtx<'_>) -> Result<()> {
    if !internal && cx.session.txn.holds_snapshot() { Err(Ora::new(8177)) } else { Ok(()) }
}

/// Whether a value is of the class a bind was compiled for.
fn fits(value: &Value, ty: &BindType) -> bool {
    // A cursor goes by its number.
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
        Value::Null => return true,
    };
    is == expected || (is == Class::Text && expected == Class::Lob)
}

fn described(plan: Plan) -> Described {
    let (kind, columns) = (kind_of(&plan), columns_of(&plan));
    let Plan { binds, dependencies, units, .. } = plan;
    Described { kind, columns, binds, dependencies, units }
}

fn kind_of(plan: &Plan) -> StatementKind {
    match &plan.body {
        PlanBody::Query(_) => StatementKind::Select,
        PlanBody::Insert(_) | PlanBody::InsertAll(_) => StatementKind::Insert,
        PlanBody::Update(_) => StatementKind::Update,
        PlanBody::Delete(_) => StatementKind::Delete,
        PlanBody::Merge(_) => StatementKind::Merge,
    }
}

fn columns_of(plan: &Plan) -> Vec<Column> {
    let returned = |r: &[(plan::Expr, Column)]| r.iter().map(|(_, c)| c.clone()).collect();
    match &plan.body {
        PlanBody::Query(q) => q.columns.clone(),
        PlanBody::Insert(i) => returned(&i.returning),
        PlanBody::Update(u) => returned(&u.returning),
        PlanBody::Delete(d) => returned(&d.returning),
        PlanBody::InsertAll(_) | PlanBody::Merge(_) => Vec::new(),
    }
}

/// What may be done with the columns of a user's view; nothing for what is no view, or cannot be compiled.
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

/// A statement that is parsed already, and whether by place.
type Parsed = (Option<Rc<Statement>>, bool);

/// A plan with its row sources.
struct Made {
    plan: Plan,
    names: Names,
    epoch: u64,
    built: (Body, Machine, u32, Option<Vec<adaptive::Expected>>),
    sharing: Sharing,
}

/// Why the rows of scans are counted.
#[derive(Clone, Copy)]
struct Watch {
    sharing: Sharing,
    /// The first execution is compared with what is expected of it.
    monitor: bool,
}

/// Limits on the functions that a statement calls.
fn caller_of(body: &PlanBody) -> Caller {
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
fn build(plan: &Plan, watch: Watch, cx: &ExecCtx<'_>) -> Result<(Body, Machine, u32, Option<Vec<adaptive::Expected>>)> {
    let first_bind = plan.regs;
    let mut regs = vec![Value::Null; plan.regs as usize + plan.binds.len()];
    let mut b = Builder::new(&mut regs, first_bind, caller_of(&plan.body), cx);
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
fn moves(op: &Op, out: &[Code]) -> bool {
    let Op::Scan(scan) = op else { return false };
    let regs: Option<Vec<_>> = out.iter().map(|code| if let Code::Reg(r) = code { Some(*r) } else { None }).collect();
    let Some(mut regs) = regs else { return false };
    regs.sort_unstable();
    regs.windows(2).all(|pair| pair[0] != pair[1]) && regs.iter().all(|r| scan.column_of(*r).is_some())
}

/// The columns that the values of [`moves`] are, where their bytes can be had without being decoded.
fn stored(op: &Op, out: &[Code]) -> Vec<(u16, DataType)> {
    let Op::Scan(scan) = op else { return Vec::new() };
    let column = |code: &Code| if let Code::Reg(r) = code { scan.column_of(*r) } else { None };
    let columns: Option<Vec<_>> = out.iter().map(column).collect();
    columns.filter(|_| scan.gives_bytes()).unwrap_or_default()
}

fn cached_of(plan: &Plan, digest: library_cache::Digest, cx: &ExecCtx<'_>) -> Option<Box<Cached>> {
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

/// Reads a cached row.
fn decode(bytes: &[u8], columns: &[Column], row: &mut Vec<Value>) -> Result<()> {
    row.resize(columns.len(), Value::Null);
    let damaged = || Ora::internal("cached row is damaged");
    let mut reader = RowReader::new(bytes).ok_or_else(damaged)?;
    for (v, c) in row.iter_mut().zip(columns) {
        match reader.next_column().ok_or_else(damaged)?.bytes() {
            Some(stored) => codec::decode_into(stored, stored_type(&c.ty), v)?,
            None => *v = Value::Null,
        }
    }
    Ok(())
}

/// The type a value of the column is stored as: NULL of no type is stored as text.
fn stored_type(ty: &DataType) -> &DataType {
    match ty {
        DataType::Null => &DataType::TEXT,
        ty => ty,
    }
}
