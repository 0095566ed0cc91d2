//! The cursors of DBMS_SQL.
//!
//! | state | after | may be |
//! |---|---|---|
//! | not parsed: `kind` is `None` | OPEN_CURSOR, a PARSE that failed | parsed, closed |
//! | [`Progress::Parsed`] | PARSE | bound, defined, described, executed |
//! | [`Progress::Executed`] | EXECUTE | the same, fetched from, made into a REF CURSOR |
//! | [`Progress::Ended`] | a FETCH_ROWS that found no row | the same, without a fetch (ORA-01002) |
//!
//! The SQL cursor of a statement is held like that of a cursor variable, so a session that drops it without a close
//! leaves nothing open. A statement is taken out of the list while it runs: PL/SQL that it calls cannot use it.

use super::package::{Blocks, Call, handle};
use crate::datum::{Datum, Key, Rec};
use crate::machine::{Run, scalar};
use crate::op::Target;
use crate::world::{ColumnInfo, DynamicKind, World};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use types::{DataType, LenUnit, Nls, Number, Ora, Result, Rowid, Value, Zone};

/// The cursors of a session.
#[derive(Default)]
pub(super) struct Cursors {
    /// By number; `None` is one that is in use.
    open: HashMap<i64, Option<Statement>>,
    /// A number without a cursor was used.
    is_denied: bool,
    pub(super) last: Last,
}

/// The results of the LAST_ functions.
#[derive(Default)]
pub(super) struct Last {
    pub(super) error_position: u64,
    pub(super) rows: u64,
    pub(super) rowid: Option<Rowid>,
    pub(super) function: Option<i64>,
}

impl Cursors {
    pub(super) fn unparsed(&self) -> usize {
        self.open.values().flatten().filter(|statement| statement.cursor.is_none()).count()
    }

    pub(super) fn open(&mut self, statement: Statement) -> Result<i64> {
        let n = handle(|n| self.open.contains_key(&n))?;
        self.open.insert(n, Some(statement));
        Ok(n)
    }

    /// # Errors
    /// ORA-29471 for a number without an open cursor.
    pub(super) fn require(&mut self, n: i64) -> Result<()> {
        self.is_denied |= !self.open.contains_key(&n);
        if self.is_denied { Err(Ora::new(29471)) } else { Ok(()) }
    }

    pub(super) fn forget(&mut self, n: i64) {
        self.open.remove(&n);
    }
}

/// The progress of a parsed statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    #[default]
    Parsed,
    Executed,
    Ended,
}

/// The statement of a cursor.
#[derive(Default)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) kind: Option<DynamicKind>,
    /// SECURITY_LEVEL.
    pub(super) level: i64,
    /// CURRENT_USER at the last PARSE.
    pub(super) user: Value,
    /// Each name once, and whether it is a target of RETURNING.
    pub(super) names: Vec<(String, bool)>,
    pub(super) bound: HashMap<String, Bound>,
    /// The SQL cursor of a query or DML.
    pub(super) cursor: Option<Datum>,
    pub(super) columns: Vec<ColumnInfo>,
    /// By position, from 1.
    pub(super) defines: BTreeMap<usize, Define>,
    /// The rows of the last fetch.
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) state: Progress,
    pub(super) fetched: u64,
    /// The values of binds that the last execution has set.
    pub(super) outs: HashMap<String, Vec<Value>>,
}

/// The value of a bind. `range`: the subscripts of a table that are used.
pub(super) struct Bound {
    pub(super) ty: DataType,
    pub(super) value: Datum,
    pub(super) range: Option<(i64, i64)>,
}

/// A column as defined for COLUMN_VALUE.
pub(super) struct Define {
    pub(super) ty: DataType,
    /// The longest text; a longer one is cut.
    pub(super) size: Option<usize>,
    pub(super) array: Option<Fetch>,
}

/// The elements of a table that a fetch sets: their number, and the subscript of the first.
pub(super) struct Fetch {
    pub(super) count: i64,
    pub(super) next: i64,
}

/// A column's value, its length before it was cut, and the number of the error if it was.
pub(super) struct Read {
    pub(super) value: Value,
    pub(super) length: usize,
    pub(super) error: i64,
}

/// The name of a bind as callers write it: with or without a colon.
pub(super) fn bind_name(name: &str) -> String {
    super::args::unquote(name.trim().trim_start_matches(':'))
}

pub(super) fn current_user<W: World>(w: &mut W) -> Result<Value> {
    w.sys_context("USERENV", "CURRENT_USER")
}

/// Applies `f` to the session's cursors.
///
/// # Errors
/// ORA-29471 after a call that used a number without a cursor.
pub(super) fn own<W: World, R>(c: &Call<'_, W>, f: impl FnOnce(&mut Cursors) -> Result<R>) -> Result<R> {
    c.s.with_own(|cursors: &mut Cursors| if cursors.is_denied { Err(Ora::new(29471)) } else { f(cursors) })
}

/// Takes the statement of the cursor number in an argument.
pub(super) fn take<W: World>(c: &mut Call<'_, W>, at: usize) -> Result<(i64, Statement)> {
    let n = c.a.integer(at);
    own(c, |cursors| {
        let n = n.ok_or_else(|| Ora::new(1001))?;
        cursors.require(n)?;
        let statement = cursors.open.get_mut(&n).and_then(Option::take).ok_or_else(|| Ora::new(1001))?;
        Ok((n, statement))
    })
}

/// Puts a statement back, unless its cursor was closed meanwhile by a reset of the session's packages.
pub(super) fn give<W: World>(c: &mut Call<'_, W>, n: i64, statement: Statement) {
    c.s.with_own(|cursors: &mut Cursors| {
        if let Some(place) = cursors.open.get_mut(&n) {
            *place = Some(statement);
        }
    });
}

/// ORA-29470 unless the user is the one of the last PARSE. Level 1 checks when binding and executing only.
pub(super) fn guard<W: World>(c: &mut Call<'_, W>, statement: &Statement, always: bool) -> Result<()> {
    if statement.kind.is_none() || (statement.level < 2 && always) {
        return Ok(());
    }
    if current_user(c.w)? == statement.user { Ok(()) } else { Err(Ora::new(29470)) }
}

/// Applies `f` to the statement of the cursor in the first argument. `secured`: the call binds or executes.
pub(super) fn with<W: World, R>(
    c: &mut Call<'_, W>,
    secured: bool,
    f: impl FnOnce(&mut Call<'_, W>, &mut Statement) -> Result<R>,
) -> Run<R> {
    let (n, mut statement) = take(c, 0)?;
    let result = guard(c, &statement, !secured).and_then(|()| f(c, &mut statement));
    give(c, n, statement);
    Ok(result?)
}

/// PARSE. DDL and the like are executed.
pub(super) fn parse_text<W: World>(c: &mut Call<'_, W>, statement: &mut Statement, text: String) -> Result<()> {
    let level = statement.level;
    if let Some(cursor) = std::mem::take(statement).cursor {
        c.s.close_cursor(c.w, &cursor);
    }
    statement.level = level;
    let (kind, _) = c.w.dynamic_kind(&text)?;
    match kind {
        DynamicKind::Other => c.w.execute_other(&text)?,
        DynamicKind::Block => {
            statement.names = c.s.names_of_block(c.w, &text)?.into_iter().map(|n| (n, false)).collect()
        }
        DynamicKind::Query | DynamicKind::Dml => {
            let cursor = c.w.open_named(&text)?;
            statement.columns = c.w.columns(&cursor);
            for placeholder in sql::outline(&text).placeholders {
                match statement.names.iter_mut().find(|(name, _)| *name == placeholder.name) {
                    Some((_, is_target)) => *is_target &= placeholder.is_target,
                    None => statement.names.push((placeholder.name, placeholder.is_target)),
                }
            }
            statement.cursor = Some(c.s.adopt_cursor(c.w, cursor, 0, None));
        }
    }
    statement.user = current_user(c.w)?;
    let function = function_code(&text, kind);
    own(c, |cursors| {
        cursors.last.function = function;
        Ok(())
    })?;
    (statement.kind, statement.text) = (Some(kind), text);
    Ok(())
}

/// The function code of the call interface; `None` for a statement of another kind.
fn function_code(text: &str, kind: DynamicKind) -> Option<i64> {
    let word = text.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_uppercase();
    match (kind, word.as_str()) {
        (DynamicKind::Query, _) => Some(4),
        (DynamicKind::Block, _) => Some(34),
        (_, "INSERT") => Some(3),
        (_, "UPDATE") => Some(5),
        (_, "DELETE") => Some(9),
        _ => None,
    }
}

/// EXECUTE: the number of rows changed by DML.
pub(super) fn run_statement<W: World>(c: &mut Call<'_, W>, statement: &mut Statement) -> Result<u64> {
    let kind = statement.kind.ok_or_else(|| Ora::new(1003))?;
    statement.rows.clear();
    statement.outs.clear();
    statement.fetched = 0;
    let is_bound = |(name, is_target): &(String, bool)| *is_target || statement.bound.contains_key(name);
    if !statement.names.iter().all(is_bound) {
        return Err(Ora::new(1008));
    }
    let subscripts = statement.subscripts()?;
    if subscripts.is_some() && kind == DynamicKind::Query {
        return Err(Ora::unsupported());
    }
    let mut rows = 0;
    match subscripts {
        None => rows = run_once(c, statement, kind, None)?,
        Some((from, to)) => {
            for at in from..=to {
                c.w.check_cancel()?;
                rows += run_once(c, statement, kind, Some(at))?;
            }
        }
    }
    statement.state = Progress::Executed;
    if kind != DynamicKind::Query {
        let rowid = match &statement.cursor {
            Some(cursor) => c.s.with_cursor(cursor, |open| c.w.last_row(open))?,
            None => None,
        };
        own(c, |cursors| {
            (cursors.last.rows, cursors.last.rowid) = (rows, rowid);
            Ok(())
        })?;
    }
    Ok(if kind == DynamicKind::Dml { rows } else { 0 })
}

/// Executes with the elements of tables that have that subscript.
fn run_once<W: World>(
    c: &mut Call<'_, W>,
    statement: &mut Statement,
    kind: DynamicKind,
    at: Option<i64>,
) -> Result<u64> {
    match kind {
        DynamicKind::Other => Ok(0),
        DynamicKind::Block => {
            let mut binds = Vec::new();
            for (name, _) in &statement.names {
                binds.push((name.clone(), Datum::Val(statement.input(name, at)?)));
            }
            for (name, value) in c.s.run_text(c.w, &statement.text, binds)? {
                let value = if let Datum::Val(value) = value { value } else { Value::Null };
                statement.outs.entry(name).or_default().push(value);
            }
            Ok(0)
        }
        DynamicKind::Query | DynamicKind::Dml => {
            let cursor = statement.cursor.clone().ok_or_else(|| Ora::new(1001))?;
            let w = &mut *c.w;
            c.s.with_cursor(&cursor, |open| {
                w.end_fetch(open);
                for (place, name) in w.bind_names(open).into_iter().enumerate() {
                    if statement.bound.contains_key(&name) {
                        w.bind(open, place, &statement.input(&name, at)?)?;
                    }
                }
                let rows = w.execute(open)?;
                if kind == DynamicKind::Query {
                    w.pause(open, true);
                    return Ok(rows);
                }
                let targets: Vec<&String> = statement.names.iter().filter(|name| name.1).map(|name| &name.0).collect();
                let mut row = Vec::new();
                while !targets.is_empty() && w.fetch(open, &mut row)? {
                    for (name, value) in targets.iter().zip(&row) {
                        statement.outs.entry((*name).clone()).or_default().push(value.clone());
                    }
                }
                Ok(rows)
            })?
        }
    }
}

/// FETCH_ROWS: the number of rows.
pub(super) fn fetch<W: World>(c: &mut Call<'_, W>, statement: &mut Statement) -> Result<u64> {
    if statement.kind.is_none() {
        return Err(Ora::new(1003));
    }
    if statement.kind != Some(DynamicKind::Query) || statement.state != Progress::Executed {
        return Err(Ora::new(1002));
    }
    let cursor = statement.cursor.clone().ok_or_else(|| Ora::new(1001))?;
    let most = statement.defines.values().filter_map(|d| d.array.as_ref().map(|a| a.count)).min().unwrap_or(1);
    statement.rows.clear();
    c.s.fetches_cursor(c.w, &cursor, true)?;
    let mut row = Vec::new();
    let fetched: Result<()> = (|| {
        while (statement.rows.len() as i64) < most {
            if !c.s.fetch_cursor(c.w, &cursor, &mut row)? {
                statement.state = Progress::Ended;
                break;
            }
            statement.rows.push(row.clone());
        }
        Ok(())
    })();
    c.s.fetches_cursor(c.w, &cursor, false)?;
    fetched?;
    let n = statement.rows.len() as u64;
    // A short fetch is followed by one that finds nothing.
    if n > 0 && statement.state == Progress::Ended {
        statement.state = Progress::Executed;
    }
    statement.fetched += n;
    let fetched = statement.fetched;
    own(c, |cursors| {
        cursors.last.rows = fetched;
        Ok(())
    })?;
    Ok(n)
}

impl Statement {
    pub(super) fn bind(&mut self, name: &str, bound: Bound) -> Result<()> {
        if self.kind.is_none() {
            return Err(Ora::new(1003));
        }
        if !self.names.iter().any(|(known, _)| known == name) {
            return Err(Ora::new(1006));
        }
        self.bound.insert(name.to_owned(), bound);
        Ok(())
    }

    pub(super) fn define(&mut self, at: i64, define: Define) -> Result<()> {
        if self.kind.is_none() {
            return Err(Ora::new(1003));
        }
        let place = usize::try_from(at).ok().filter(|at| (1..=self.columns.len()).contains(at));
        let is_query = self.kind == Some(DynamicKind::Query);
        let place = place.filter(|_| is_query).ok_or_else(|| Ora::new(1007))?;
        // A cursor in a row has no value that a variable could hold.
        if self.columns[place - 1].ty == DataType::Cursor {
            return Err(Ora::with(932, &[&define.ty.name(), &DataType::Cursor.name()]));
        }
        self.defines.insert(place, define);
        Ok(())
    }

    /// The subscripts that all bound tables have; `None` without a table.
    fn subscripts(&self) -> Result<Option<(i64, i64)>> {
        let mut all = None;
        for bound in self.names.iter().filter(|name| !name.1).filter_map(|(name, _)| self.bound.get(name)) {
            let Datum::Coll(table) = &bound.value else { continue };
            let ends = table.as_ref().and_then(|table| Some((table.first()?, table.last()?)));
            let (from, to) = match (bound.range, ends) {
                (Some(range), _) => range,
                (None, Some((Key::Int(from), Key::Int(to)))) => (from, to),
                _ => return Err(Ora::new(1403)),
            };
            all = Some(all.map_or((from, to), |(low, high): (i64, i64)| (low.max(from), high.min(to))));
        }
        Ok(all)
    }

    /// The value of a bind, for a table that of the element.
    fn input(&self, name: &str, at: Option<i64>) -> Result<Value> {
        let bound = self.bound.get(name).ok_or_else(|| Ora::new(1008))?;
        match (&bound.value, at) {
            (Datum::Val(value), _) => Ok(value.clone()),
            (Datum::Coll(Some(table)), Some(at)) => match table.at(at) {
                Some(Datum::Val(value)) => Ok(value.clone()),
                _ => Err(Ora::new(1403)),
            },
            _ => Err(Ora::new(1008)),
        }
    }

    fn defined(&self, at: i64, ty: DataType) -> Result<(usize, &Define)> {
        let place = usize::try_from(at).map_err(|_| Ora::new(1007))?;
        let define = self.defines.get(&place).ok_or_else(|| Ora::new(1007))?;
        if define.ty == ty { Ok((place, define)) } else { Err(Ora::new(6562)) }
    }

    /// COLUMN_VALUE of a scalar.
    pub(super) fn value(&self, at: i64, ty: DataType, nls: &Nls) -> Result<Read> {
        let (place, define) = self.defined(at, ty)?;
        let row = self.rows.first().ok_or_else(|| Ora::new(1002))?;
        let mut value = convert(row.get(place - 1).unwrap_or(&Value::Null), ty, nls)?;
        let length = match &value {
            Value::Text(text) => text.len(),
            Value::Raw(bytes) => bytes.len(),
            Value::Null => 0,
            _ => size_of_type(&ty) as usize,
        };
        let mut error = if value.is_null() { 1405 } else { 0 };
        if let Some(most) = define.size.filter(|most| length > *most) {
            error = 1406;
            match &mut value {
                Value::Text(text) => {
                    let cut = (0..=most).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
                    text.truncate(cut);
                }
                Value::Raw(bytes) => bytes.truncate(most),
                _ => {}
            }
        }
        Ok(Read { value, length, error })
    }

    /// COLUMN_VALUE of a table: sets the elements of the last fetch.
    pub(super) fn fill(&mut self, at: i64, ty: DataType, table: &mut Datum, nls: &Nls) -> Result<()> {
        let (place, _) = self.defined(at, ty)?;
        let read = |row: &Vec<Value>| convert(row.get(place - 1).unwrap_or(&Value::Null), ty, nls);
        let values = self.rows.iter().map(read).collect::<Result<Vec<Value>>>()?;
        let fetch = self.defines.get_mut(&place).and_then(|define| define.array.as_mut());
        let fetch = fetch.ok_or_else(|| Ora::new(6562))?;
        let first = fetch.next;
        fetch.next = fetch.next.saturating_add(values.len() as i64);
        put_all(table, first, values)
    }

    /// VARIABLE_VALUE: the values that the last execution set.
    pub(super) fn variable(&self, name: &str, ty: DataType, nls: &Nls) -> Result<Vec<Value>> {
        if !self.names.iter().any(|(known, _)| known == name) {
            return Err(Ora::new(1006));
        }
        let bound = self.bound.get(name);
        if bound.is_some_and(|bound| bound.ty != ty) {
            return Err(Ora::new(6562));
        }
        match (self.outs.get(name), bound) {
            (Some(values), _) => values.iter().map(|value| convert(value, ty, nls)).collect(),
            (None, Some(Bound { value: Datum::Val(value), .. })) => Ok(vec![convert(value, ty, nls)?]),
            _ => Ok(Vec::new()),
        }
    }
}

fn convert(value: &Value, ty: DataType, nls: &Nls) -> Result<Value> {
    scalar::coerce(value, &Target { ty, not_null: false, range: None }, nls)
}

/// Sets elements of a table from a subscript on.
pub(super) fn put_all(table: &mut Datum, first: i64, values: Vec<Value>) -> Result<()> {
    let Datum::Coll(Some(table)) = table else { return Err(Ora::new(6531)) };
    let table = Rc::make_mut(table);
    for (at, value) in (first..=i64::from(i32::MAX)).zip(values) {
        *table.slot(Key::Int(at)).map_err(Ora::new)? = Datum::Val(value);
    }
    Ok(())
}

/// Fills a DESC_TAB, DESC_TAB2 or DESC_TAB3.
pub(super) fn describe_into(table: &mut Datum, columns: &[ColumnInfo], version: u8) -> Result<()> {
    let Datum::Coll(Some(table)) = table else { return Err(Ora::new(6531)) };
    let table = Rc::make_mut(table);
    table.clear();
    let number = |n: i64| Value::Number(Number::from_i64(n));
    for (at, column) in (1..).zip(columns) {
        let length = column.name.len();
        if version == 1 && length > 32 {
            let detail = format!("dbms_sql.describe_columns overflow, col_name_len={length}. Use describe_columns2");
            return Err(scalar::value_error(&detail));
        }
        let (precision, scale) = precision_of(&column.ty);
        let is_text =
            matches!(column.ty, DataType::Varchar2 { .. } | DataType::Char { .. } | DataType::Clob | DataType::Long);
        let mut scalars = vec![
            number(code_of(&column.ty)),
            number(size_of_type(&column.ty)),
            Value::text(column.name.as_str()),
            number(length as i64),
            Value::Null,
            number(0),
            number(precision),
            number(scale),
            number(if is_text { 873 } else { 0 }),
            number(i64::from(is_text)),
            Value::Boolean(column.nullable),
        ];
        if version == 3 {
            scalars.extend([Value::Null, number(0)]);
        }
        *table.slot(Key::Int(at)).map_err(Ora::new)? = Datum::Rec(Rc::new(Rec { scalars, nested: Vec::new() }));
    }
    Ok(())
}

/// The number of a type in descriptions.
fn code_of(ty: &DataType) -> i64 {
    match ty {
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => 2,
        DataType::Date => 12,
        DataType::Char { .. } | DataType::Nchar { .. } => 96,
        DataType::Raw { .. } => 23,
        DataType::Long => 8,
        DataType::LongRaw => 24,
        DataType::Rowid => 11,
        DataType::Urowid => 208,
        DataType::BinaryFloat => 100,
        DataType::BinaryDouble => 101,
        DataType::Clob | DataType::Nclob => 112,
        DataType::Blob => 113,
        DataType::Bfile => 114,
        DataType::Timestamp { zone: Zone::None, .. } => 180,
        DataType::Timestamp { zone: Zone::WithTimeZone, .. } => 181,
        DataType::Timestamp { zone: Zone::WithLocalTimeZone, .. } => 231,
        DataType::IntervalYm { .. } => 182,
        DataType::IntervalDs { .. } => 183,
        DataType::Boolean => 252,
        DataType::Cursor => 102,
        DataType::Named(_) | DataType::Xml => 109,
        DataType::Varchar2 { .. } | DataType::Nvarchar2 { .. } | DataType::Null => 1,
    }
}

/// The length of a type in descriptions, in bytes.
fn size_of_type(ty: &DataType) -> i64 {
    let text = |len: u32, unit: LenUnit| i64::from(len) * if unit == LenUnit::Char { 4 } else { 1 };
    match ty {
        DataType::Varchar2 { len, unit } | DataType::Char { len, unit } => text(*len, *unit),
        DataType::Nvarchar2 { len } | DataType::Nchar { len } => i64::from(*len) * 2,
        DataType::Raw { len } => i64::from(*len),
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => 22,
        DataType::Date => 7,
        DataType::Timestamp { zone: Zone::WithTimeZone, .. } => 13,
        DataType::Timestamp { .. } | DataType::IntervalDs { .. } => 11,
        DataType::IntervalYm { .. } => 5,
        DataType::Rowid => 16,
        DataType::Urowid | DataType::Clob | DataType::Nclob | DataType::Blob => 4000,
        DataType::BinaryFloat => 4,
        DataType::BinaryDouble => 8,
        DataType::Boolean => 1,
        _ => 0,
    }
}

/// COL_PRECISION and COL_SCALE.
fn precision_of(ty: &DataType) -> (i64, i64) {
    match ty {
        DataType::Number { precision: None, scale: None } => (0, -127),
        DataType::Number { precision, scale } => (i64::from(precision.unwrap_or(38)), i64::from(scale.unwrap_or(0))),
        DataType::Float { binary } => (i64::from(*binary), -127),
        DataType::Timestamp { digits, .. } => (0, i64::from(*digits)),
        DataType::IntervalYm { years } => (i64::from(*years), 0),
        DataType::IntervalDs { days, digits } => (i64::from(*days), i64::from(*digits)),
        _ => (0, 0),
    }
}
