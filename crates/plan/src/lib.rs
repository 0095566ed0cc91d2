//! Name resolution, typing and optimisation: from the parser's tree to a [`Plan`] that the executor runs.
//!
//! The steps: the binder resolves names through [`dictionary::Catalog`], gives every value a register, inserts Oracle's
//! implicit conversions and builds a logical tree (`logical`). The rewrites (`rewrite`) transform that tree into one
//! that runs faster. The physical planner (`physical`) chooses row sources by cost. Nothing is evaluated and no data
//! are read: statistics come with the table definitions.
#![forbid(unsafe_code)]

mod blocks;
mod call;
mod column_use;
mod connect;
mod dml;
pub mod estimate;
mod explain;
mod expr;
mod from;
mod function;
mod group;
mod image;
mod ir;
mod locators;
mod logical;
mod logical_text;
pub mod names;
mod nested;
mod outline;
mod physical;
mod pivot;
mod predicate;
mod query;
mod refs;
mod registers;
mod rewrite;
pub mod rows;
mod scope;
mod settings;
mod typing;
mod updatable;
mod virtuals;
mod visit;

pub use call::{Called, called};
pub use column_use::ColumnUses;
pub use expr::float_constant;
pub use function::Func;
pub use ir::*;
pub use locators::is_lob;
pub use physical::parallel::{Because, DEFAULT_DEGREE, Parallel, ParallelQuery};
pub use physical::{is_dual, produced};
pub use rewrite::{Rewrite, RewritesOff};
pub use settings::conversion_depends_on_settings;
pub use typing::{Class, class, is_alike, is_padded};
pub use updatable::{UpdatableColumn, updatable_columns};

use dictionary::{Catalog, UserId};
use scope::Compiler;
use sql::ast::{self, Statement, TypeKind};
use types::{DataType, LenUnit, Ora, Result, Value, Zone};

/// The type of a bind, as far as the caller knows it; `None` is treated as VARCHAR2.
pub type BindType = Option<DataType>;

/// The owner of a view's or a table expression's text: its functions are resolved with the owner's names and
/// privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, types::image::Image)]
pub struct Eyes {
    pub owner: UserId,
    /// BEQUEATH CURRENT_USER: functions with invoker's rights run for the user of the statement, not for the owner.
    pub bequeaths: bool,
    /// The text of a view: other users may call only functions that its owner may grant to them.
    pub view: bool,
    /// A catalog view: UID is the user whose privileges are in force, so that USER_ views inside a unit with definer's
    /// rights show the owner's objects.
    pub catalog: bool,
}

/// The session parameters that affect planning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optimizer {
    /// `_rewrite_off`.
    pub rewrites_off: RewritesOff,
    /// `_optim_peek_user_binds`.
    pub peeks: bool,
    /// `optimizer_dynamic_sampling`.
    pub sampling: u8,
    /// `_optimizer_join_elimination_enabled = FALSE`.
    pub keeps_joins: bool,
    /// Parallel queries.
    pub parallel: Parallel,
}

/// Evidence beyond the dictionary (P23).
#[derive(Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// Bind values of the execution that the statement is planned for, in the order of the plan's binds.
    pub values: Option<&'a [Value]>,
    pub sampler: Option<&'a dyn Sampler>,
    /// Corrections that an execution of the previous plan found.
    pub corrections: &'a [Correction],
    /// Receives the columns that predicates use.
    pub uses: Option<&'a dyn ColumnUses>,
}

/// Statistics feedback: the factor between the actual and the estimated rows of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// [`scan_number`].
    pub scan: u64,
    pub factor: f64,
}

/// A number that identifies a table reference of a statement.
pub fn scan_number(alias: &str, table: types::ObjectId) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    (alias, table.0).hash(&mut hasher);
    hasher.finish()
}

/// Dynamic sampling: reads a sample of a table's rows.
pub trait Sampler {
    /// Statistics of a table and of the columns at these positions (ascending), from at most `blocks_most` of its
    /// blocks. `None`: the table cannot be sampled.
    ///
    /// # Errors
    /// Those of reading.
    fn sample(&self, table: &dictionary::TableDef, columns: &[usize], blocks_most: u64) -> Result<Option<Sampled>>;
}

/// Statistics of a table computed from a sample.
pub struct Sampled {
    pub table: dictionary::TableStatistics,
    /// Columns by position.
    pub columns: Vec<(usize, dictionary::ColumnStatistics)>,
}

/// Stored functions, resolved by the host.
pub trait Functions {
    /// The function `[owner.][package.]name` whose parameters fit these argument types best, as visible to `eyes`, or
    /// to the user of the statement without `eyes`. `None`: no such function (ORA-00904).
    fn function(&self, eyes: Option<Eyes>, path: &[String], args: &[DataType]) -> Result<Option<HostFunction>>;

    /// The definition of a type that such a function returns or constructs.
    fn type_def(&self, _id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        None
    }

    /// Called during the search for a plan, which may take long.
    ///
    /// # Errors
    /// ORA-01013, ORA-00028: the statement must end.
    fn check_cancel(&self) -> Result<()> {
        Ok(())
    }
}

/// No stored functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn function(&self, _eyes: Option<Eyes>, _path: &[String], _args: &[DataType]) -> Result<Option<HostFunction>> {
        Ok(None)
    }
}

/// Names in the statement's own text that are not columns: PL/SQL's variables. The text of a view or of a table's
/// expression has none (P13).
pub trait Variables {
    /// The variable, or part of one, whose name begins at `pos` with `path`. Subscripts and fields may follow; they
    /// belong to the variable. Columns and SQL's own functions are looked for first.
    ///
    /// # Errors
    /// An error if the name is not allowed in SQL.
    fn variable(&self, path: &[ast::Ident], pos: u32, asked: Asked) -> Result<Option<Variable>>;
}

/// No variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoVariables;

impl Variables for NoVariables {
    fn variable(&self, _path: &[ast::Ident], _pos: u32, _asked: Asked) -> Result<Option<Variable>> {
        Ok(None)
    }
}

/// The two times at which a name is looked up as a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Before stored functions are looked up, which declarations around the statement hide. `call`: arguments follow,
    /// so that only a variable with elements fits.
    BeforeFunctions { call: bool },
    /// Nothing else has the name.
    Last,
}

/// The meaning of a name of [`Variables`]. Equal names are one bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub ty: DataType,
}

/// Compiles a query or a DML statement.
///
/// # Errors
/// The errors that Oracle reports at parse time, with their positions: ORA-00904, 00918, 00932, 00934, 00937, 00942,
/// 00947, 00979, 01031 and others.
pub fn compile(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    binds: &[BindType],
) -> Result<Plan> {
    compile_at(statement, catalog, functions, (Vec::new(), binds), None, &Optimizer::default())
}

/// As [`compile`]. Binds in `binds` are numbered in that order, others in the order of their first occurrence. With
/// `scn`, every table without an AS OF clause is read as of that SCN.
///
/// # Errors
/// As [`compile`].
pub fn compile_at(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    (names, binds): (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
    optimizer: &Optimizer,
) -> Result<Plan> {
    compile_as(
        statement,
        catalog,
        functions,
        (names, binds),
        scn,
        (None, false),
        (optimizer, None, Evidence::default()),
    )
}

/// As [`compile_at`], with evidence.
///
/// # Errors
/// As [`compile`]; those of reading a sample.
pub fn compile_with_evidence(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    names: (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
    optimizer: &Optimizer,
    evidence: Evidence<'_>,
) -> Result<Plan> {
    compile_as(statement, catalog, functions, names, scn, (None, false), (optimizer, None, evidence))
}

/// As [`compile`], for a statement that the executor derives from a table's conditions: functions are resolved for the
/// table's owner.
///
/// # Errors
/// As [`compile`].
pub fn compile_for_owner(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    names: (Vec<String>, &[BindType]),
    owner: UserId,
) -> Result<Plan> {
    let eyes = Eyes { owner, bequeaths: false, view: false, catalog: false };
    let optimizer = (&Optimizer::default(), None, Evidence::default());
    compile_as(statement, catalog, functions, names, None, (Some(eyes), false), optimizer)
}

/// Resolves the columns, binds, objects and functions of a statement without planning it: the plan has no row sources.
/// Names that are not columns may be variables; they become binds after those of the text.
///
/// # Errors
/// As [`compile`]; those of `variables`.
pub fn describe(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    variables: &dyn Variables,
    names: (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
) -> Result<Plan> {
    let optimizer = (&Optimizer::default(), Some(variables), Evidence::default());
    compile_as(statement, catalog, functions, names, scn, (None, true), optimizer)
}

/// Compiles a statement, or only describes it.
fn compile_as(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    (names, binds): (Vec<String>, &[BindType]),
    scn: Option<types::Scn>,
    (eyes, is_described): (Option<Eyes>, bool),
    (optimizer, variables, evidence): (&Optimizer, Option<&dyn Variables>, Evidence<'_>),
) -> Result<Plan> {
    let scn =
        scn.map(|scn| Expr::new(Node::Const(Value::Number(types::Number::from_i128(scn.0.into()))), DataType::NUMBER));
    let mut c = compiler(catalog, functions, names, binds, scn);
    c.eyes.extend(eyes);
    c.variables = variables;
    (c.rewrites_off, c.keeps_joins) = (optimizer.rewrites_off, optimizer.keeps_joins);
    (c.peeks.is_on, c.peeks.values) = (optimizer.peeks, evidence.values);
    c.corrections = evidence.corrections;
    c.parallel = optimizer.parallel;
    (c.sampling.level, c.sampling.sampler) = (optimizer.sampling, evidence.sampler);
    c.query_blocks.number(statement);
    let mut body = match statement {
        Statement::Query(q) => {
            let (rel, mut out, columns, _) = c.built(q, true)?;
            c.locate_outputs(&rel, &mut out);
            c.rows = Some(rel);
            PlanBody::Query(QueryPlan { source: Source::Empty, out, columns })
        }
        Statement::Insert(i) => c.insert(i)?,
        Statement::Update(u) => c.update(u)?,
        Statement::Delete(d) => c.delete(d)?,
        Statement::Merge(m) => c.merge(m)?,
        _ => return Err(Ora::new(900)),
    };
    let out = match &mut body {
        PlanBody::Query(query) => Some(&mut query.out),
        PlanBody::Insert(insert) => match &mut insert.source {
            InsertSource::Query(query) => Some(&mut query.out),
            InsertSource::Values(_) => None,
        },
        _ => None,
    };
    let mut physical = match is_described {
        true => physical::Physical::default(),
        false => {
            c.rewrite(out.map(Vec::as_mut_slice));
            c.hand_out_hints();
            if let Some(told) = evidence.uses {
                c.tell_column_uses(told);
            }
            c.physical()?
        }
    };
    if let (PlanBody::Query(query), Some(rows)) = (&body, &mut physical.rows)
        && !locks_rows(rows)
    {
        c.parallelize(rows, &query.out, &physical.subs);
    }
    if !c.corrections.is_empty() {
        c.notes.push(Note::StatisticsFeedback);
    }
    if let (Some(source), Some(place)) = (physical.rows, body.source_mut()) {
        *place = source;
    }
    let locks = matches!(&body, PlanBody::Query(q) if locks_rows(&q.source));
    let lock_rowid = match &body {
        PlanBody::Query(q) => lock_rowid(&q.source),
        _ => None,
    };
    let cacheable = (matches!(body, PlanBody::Query(_)) && c.volatile == 0 && !locks).then_some(c.cache_deps);
    Ok(Plan {
        body,
        subs: physical.subs,
        ctes: physical.ctes,
        regs: c.regs,
        binds: c.binds.into_all(),
        sequences: c.sequences,
        dependencies: c.dependencies,
        units: c.units,
        cacheable,
        result_cache: c.result_cache || (c.force_results && c.all_force),
        no_result_cache: c.no_result_cache,
        counts_operations: c.counts_operations,
        lock_rowid,
        locks_rows: locks,
        moments: c.moments,
        below_views: c.below_views,
        peeks: peeks_of(c.peeks),
        is_peeked: evidence.values.is_some(),
        notes: c.notes,
        bind_aware: c.bind_aware,
        change_block: c.query_blocks.change,
        query_blocks: c.query_blocks.into_names(),
    })
}

/// The comparisons with binds, in the same order for all plans of a statement.
fn peeks_of(peeks: physical::Peeks<'_>) -> Vec<BindPredicate> {
    let mut found = peeks.found.into_inner();
    found.sort_by_key(|p| (p.table.object.0, p.column, p.bind, p.how.rank()));
    found
}

/// The logical tree of a query as text: as bound, and after the rewrites that `optimizer` leaves on.
///
/// # Errors
/// As [`compile`]; ORA-00900 for a statement that is not a query.
pub fn logical_text(
    statement: &Statement,
    catalog: &dyn Catalog,
    functions: &dyn Functions,
    optimizer: &Optimizer,
) -> Result<(String, String)> {
    let Statement::Query(q) = statement else { return Err(Ora::new(900)) };
    let mut c = compiler(catalog, functions, Vec::new(), &[], None);
    (c.rewrites_off, c.keeps_joins) = (optimizer.rewrites_off, optimizer.keeps_joins);
    let (rel, mut out, ..) = c.built(q, true)?;
    c.rows = Some(rel);
    let bound = c.logical_text();
    c.rewrite(Some(&mut out));
    Ok((bound, c.logical_text()))
}

/// A compiler in its initial state.
fn compiler<'c>(
    catalog: &'c dyn Catalog,
    functions: &'c dyn Functions,
    names: Vec<String>,
    binds: &'c [BindType],
    scn: Option<Expr>,
) -> Compiler<'c> {
    Compiler {
        base: catalog,
        catalogs: Vec::new(),
        eyes: Vec::new(),
        functions,
        variables: None,
        named_variable: None,
        regs: 0,
        items: Vec::new(),
        blocks: Vec::new(),
        rows: None,
        cte_rows: Vec::new(),
        sizes: physical::Sizes::default(),
        peeks: physical::Peeks::default(),
        sampling: physical::Sampling::default(),
        in_scan: catalog.system_statistics().scan_share().unwrap_or(physical::cost::IN_SCAN),
        corrections: &[],
        notes: Vec::new(),
        parallel: Parallel::default(),
        parallel_wish: Default::default(),
        coordinators: 0,
        rewrites_off: rewrite::RewritesOff::default(),
        keeps_joins: false,
        made_views: 0,
        column_subs: std::collections::HashSet::new(),
        query_blocks: blocks::QueryBlocks::default(),
        made_index_joins: 0,
        filters: 0,
        expanding: false,
        subs: Vec::new(),
        ctes: Vec::new(),
        cte_scopes: Vec::new(),
        views: Vec::new(),
        resolved: 0,
        set_depth: 0,
        binds: names.into(),
        bind_types: binds,
        sequences: Vec::new(),
        dependencies: Vec::new(),
        units: Vec::new(),
        cache_deps: Vec::new(),
        volatile: 0,
        unstable: 0,
        force_results: false,
        all_force: true,
        result_cache: false,
        no_result_cache: false,
        bind_aware: None,
        counts_operations: false,
        as_of: scn.is_some().then_some(0),
        whole: scn.is_some(),
        moments: scn.into_iter().collect(),
        as_of_items: std::collections::HashMap::new(),
        versions: None,
        version_items: std::collections::HashMap::new(),
        through: None,
        locking: false,
        unreadable: Vec::new(),
        below_views: Vec::new(),
        pseudos: std::collections::HashMap::new(),
        tells_verdicts: true,
        outer_names: Vec::new(),
    }
}

fn locks_rows(source: &Source) -> bool {
    match source {
        Source::ForUpdate { .. } => true,
        Source::Sort { input, .. }
        | Source::Limit { input, .. }
        | Source::Count { input, .. }
        | Source::Window { input, .. }
        | Source::Project { input, .. } => locks_rows(input),
        _ => false,
    }
}

/// The register of the rowid of the first table whose rows the query locks.
fn lock_rowid(source: &Source) -> Option<Reg> {
    match source {
        Source::ForUpdate { tables, .. } => tables.first().map(|t| t.rowid),
        Source::Sort { input, .. }
        | Source::Limit { input, .. }
        | Source::Count { input, .. }
        | Source::Window { input, .. }
        | Source::Project { input, .. } => lock_rowid(input),
        _ => None,
    }
}

/// A data type as written in CAST or in a column definition.
///
/// # Errors
/// ORA-00906, 01727, 01728, 00910 for numbers out of range; ORA-00902 for a type that is not one of SQL's.
pub fn data_type(ty: &ast::DataTypeName) -> Result<DataType> {
    let ast::DataTypeName { kind, pos } = ty;
    let pos = pos.0;
    let unit = |u: Option<ast::LengthUnit>| match u {
        Some(ast::LengthUnit::Char) => LenUnit::Char,
        _ => LenUnit::Byte,
    };
    let length = |n: Option<u32>, most: u32, default: Option<u32>| match n.or(default) {
        None => Err(Ora::new(906).at(pos)),
        Some(0) => Err(Ora::new(1723).at(pos)),
        Some(n) if n > most => Err(Ora::new(910).at(pos)),
        Some(n) => Ok(n),
    };
    Ok(match kind {
        TypeKind::Number { precision, scale } => {
            if precision.is_some_and(|p| p == 0 || p > 38) {
                return Err(Ora::new(1727).at(pos));
            }
            if scale.is_some_and(|s| !(-84..=127).contains(&s)) {
                return Err(Ora::new(1728).at(pos));
            }
            DataType::Number { precision: precision.map(|p| p as u8), scale: scale.map(|s| s as i8) }
        }
        TypeKind::Float { binary_precision } => {
            let binary = binary_precision.unwrap_or(126);
            if binary == 0 || binary > 126 {
                return Err(Ora::new(1727).at(pos));
            }
            DataType::Float { binary: binary as u8 }
        }
        TypeKind::BinaryFloat => DataType::BinaryFloat,
        TypeKind::BinaryDouble => DataType::BinaryDouble,
        TypeKind::Varchar2 { length: n, unit: _, national: true } => {
            DataType::Nvarchar2 { len: length(*n, 2000, None)? }
        }
        TypeKind::Varchar2 { length: n, unit: u, national: false } => {
            DataType::Varchar2 { len: length(*n, 32767, None)?, unit: unit(*u) }
        }
        TypeKind::Char { length: n, unit: _, national: true } => DataType::Nchar { len: length(*n, 1000, Some(1))? },
        TypeKind::Char { length: n, unit: u, national: false } => {
            DataType::Char { len: length(*n, 2000, Some(1))?, unit: unit(*u) }
        }
        TypeKind::Date => DataType::Date,
        TypeKind::Timestamp { precision, zone } => {
            let digits = precision.unwrap_or(6);
            if digits > 9 {
                return Err(Ora::new(30088).at(pos));
            }
            let zone = match zone {
                ast::ZoneKind::None => Zone::None,
                ast::ZoneKind::WithTimeZone => Zone::WithTimeZone,
                ast::ZoneKind::WithLocalTimeZone => Zone::WithLocalTimeZone,
            };
            DataType::Timestamp { digits: digits as u8, zone }
        }
        TypeKind::IntervalYearToMonth { precision } => {
            DataType::IntervalYm { years: precision.unwrap_or(2).min(9) as u8 }
        }
        TypeKind::IntervalDayToSecond { day_precision, second_precision } => DataType::IntervalDs {
            days: day_precision.unwrap_or(2).min(9) as u8,
            digits: second_precision.unwrap_or(6).min(9) as u8,
        },
        TypeKind::Raw { length: n } => DataType::Raw { len: length(*n, 32767, None)? },
        TypeKind::Long => DataType::Long,
        TypeKind::LongRaw => DataType::LongRaw,
        TypeKind::Clob { national: false } => DataType::Clob,
        TypeKind::Clob { national: true } => DataType::Nclob,
        TypeKind::Blob => DataType::Blob,
        TypeKind::Rowid => DataType::Rowid,
        // Every UROWID has the greatest length.
        TypeKind::Urowid { length: _ } => DataType::Urowid,
        _ => return Err(Ora::new(902).at(pos)),
    })
}

fn interval_literal(text: &str, q: &ast::IntervalQualifier, pos: u32) -> Result<Expr> {
    let (value, ty) = interval_value(text, q, pos)?;
    Ok(Expr::new(Node::Const(value), ty))
}

/// The value and type of an interval literal, for SQL and PL/SQL.
///
/// # Errors
/// ORA-01867, ORA-01873, ORA-30088 and other errors of the literal.
pub fn interval_value(text: &str, q: &ast::IntervalQualifier, pos: u32) -> Result<(Value, DataType)> {
    use ast::DateField::*;
    let bad = || Ora::new(1867).at(pos);
    let to = q.to.unwrap_or(q.from);
    let value = match (q.from, to) {
        (Year, Month) => Value::IntervalYm(types::format::interval_ym_from_text(text).map_err(|e| e.at(pos))?),
        (Year, Year) => {
            let years = text.trim().parse::<i32>().map_err(|_| bad())?;
            Value::IntervalYm(types::IntervalYm::new(i64::from(years) * 12).map_err(|e| e.at(pos))?)
        }
        (Month, Month) => {
            let months = text.trim().parse::<i32>().map_err(|_| bad())?;
            Value::IntervalYm(types::IntervalYm::new(months.into()).map_err(|e| e.at(pos))?)
        }
        (Day, Second) => Value::IntervalDs(types::format::interval_ds_from_text(text).map_err(|e| e.at(pos))?),
        _ => {
            let full = day_to_second(text.trim(), q.from, to).ok_or_else(bad)?;
            Value::IntervalDs(types::format::interval_ds_from_text(&full).map_err(|e| e.at(pos))?)
        }
    };
    // The leading field must not have more digits, as written, than the qualifier allows.
    let leading = text.trim().trim_start_matches(['+', '-']);
    let digits = leading.bytes().take_while(u8::is_ascii_digit).skip_while(|b| *b == b'0').count();
    if digits > usize::from(leading_digits(q, pos)?) {
        return Err(Ora::new(1873).at(pos)); // the leading precision of the interval is too small
    }
    let mut value = value;
    let mut ty = interval_type(q, pos)?;
    if let (Value::IntervalDs(i), DataType::IntervalDs { days, digits }) = (&mut value, &mut ty) {
        *i = i.round(*digits)?;
        // Hours and minutes may amount to more days than two digits can hold.
        let most = (i.to_nanos().unsigned_abs() / 86_400_000_000_000).to_string().len() as u8;
        *days = most.max(*days);
    }
    if let (Value::IntervalYm(i), DataType::IntervalYm { years }) = (&value, &mut ty) {
        *years = ((i.months.unsigned_abs() / 12).to_string().len() as u8).max(*years);
    }
    Ok((value, ty))
}

/// The number of digits that the leading field of an interval may have.
fn leading_digits(q: &ast::IntervalQualifier, pos: u32) -> Result<u8> {
    match q.from_precision.unwrap_or(2) {
        n @ 0..=9 => Ok(n as u8),
        _ => Err(Ora::new(30088).at(pos)), // datetime/interval precision is out of range
    }
}

/// The type of `DAY [(n)] TO SECOND [(n)]` and other qualifiers.
fn interval_type(q: &ast::IntervalQualifier, pos: u32) -> Result<DataType> {
    use ast::DateField::*;
    let ast::IntervalQualifier { from, from_precision: _, to, fraction } = q;
    let to = to.unwrap_or(*from);
    let leading = leading_digits(q, pos)?;
    let fraction = fraction.unwrap_or(6);
    if fraction > 9 {
        return Err(Ora::new(30088).at(pos));
    }
    let digits = if to == Second { fraction as u8 } else { 0 };
    match (*from, to) {
        (Year, Year | Month) => Ok(DataType::IntervalYm { years: leading }),
        (Month, Month) => Ok(DataType::IntervalYm { years: 2 }),
        (Day, Day | Hour | Minute | Second) => Ok(DataType::IntervalDs { days: leading, digits }),
        (Hour, Hour | Minute | Second) | (Minute, Minute | Second) | (Second, Second) => {
            Ok(DataType::IntervalDs { days: 2, digits })
        }
        _ => Err(Ora::new(30089).at(pos)), // missing or invalid <datetime field>
    }
}

/// Adds the fields that a shorter day-to-second literal omits. A single field may exceed its range: `INTERVAL '90'
/// MINUTE`.
fn day_to_second(text: &str, from: ast::DateField, to: ast::DateField) -> Option<String> {
    use ast::DateField::*;
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if from == to {
        if from == Second {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            let s: i64 = whole.parse().ok()?;
            return Some(format!(
                "{sign}{} {:02}:{:02}:{:02}.{fraction}",
                s / 86400,
                s / 3600 % 24,
                s / 60 % 60,
                s % 60
            ));
        }
        let n: i64 = text.parse().ok()?;
        let seconds = match from {
            Day => n * 86400,
            Hour => n * 3600,
            Minute => n * 60,
            _ => return None,
        };
        return Some(format!(
            "{sign}{} {:02}:{:02}:{:02}",
            seconds / 86400,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60
        ));
    }
    Some(match (from, to) {
        (Day, Hour) => format!("{sign}{text}:00:00"),
        (Day, Minute) => format!("{sign}{text}:00"),
        (Hour, Minute) => format!("{sign}0 {text}:00"),
        (Hour, Second) => format!("{sign}0 {text}"),
        (Minute, Second) => format!("{sign}0 00:{text}"),
        _ => return None,
    })
}
