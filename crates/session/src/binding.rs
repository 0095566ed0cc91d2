//! Statements with binds: parsing and compiling for the binds of a call, and the values returned to them.

use crate::by_name::ByName;
use exec::{BindType, Cursor, ExecCtx};
use net::local::{Bind, Direction};
use plsql::Datum;
use sql::ast::Statement;
use std::rc::Rc;
use types::{DataType, LenUnit, Ora, Result, Value};

/// Whether each placeholder has a value of its own: the binds then have the names that [`sql::bind_places`] gives.
pub(crate) fn is_by_place(binds: &[Bind]) -> bool {
    binds.iter().any(|bind| bind.name.as_deref().is_some_and(sql::is_place))
}

/// Parses a statement whose binds are given by name or by place.
pub(crate) fn parse(text: &str, by_place: bool) -> Result<Statement> {
    if by_place { sql::parse_statement_by_place(text) } else { sql::parse_statement(text) }
}

/// The cursor of a query or DML statement. The text is parsed only if `statement` is `None` and no shared cursor is
/// found.
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

/// The type of a bind as its client has declared it, or else the type of its value. `None` for a NULL without a
/// declaration.
pub(crate) fn bind_type(bind: &Bind) -> BindType {
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
        // The type is taken from the first value.
        _ => None,
    }
}

/// Whether a cursor was compiled for binds like these.
pub(crate) fn takes_binds(cursor: &Cursor, binds: &[Bind]) -> bool {
    let by_name = ByName::new(binds);
    let is_alike = |(place, (name, ty)): (usize, (&String, &BindType))| {
        let declared = by_name.of(place, name).and_then(|at| bind_type(&binds[at]));
        let (Some(declared), is) = (declared, ty.unwrap_or(DataType::TEXT)) else { return true };
        exec::is_alike(&declared, &is)
    };
    cursor.is_by_place() == is_by_place(binds)
        && cursor.binds().iter().zip(cursor.bind_types()).enumerate().all(is_alike)
}

pub(crate) fn bind_values(cursor: &mut Cursor, binds: &[Bind]) -> Result<()> {
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

/// ORA-06502 when a block assigned a bind a text longer than its declared length.
pub(crate) fn fits_binds(names: &[String], binds: &[Bind], data: &[Datum]) -> Result<()> {
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

/// The binds that receive the values of `RETURNING … INTO`, in the order of that clause.
pub(crate) fn targets_of(text: &str, binds: &[Bind]) -> Vec<usize> {
    let outs: Vec<usize> = (0..binds.len()).filter(|at| binds[*at].direction != Direction::In).collect();
    if outs.len() < 2 || outs.iter().any(|at| binds[*at].name.is_none()) {
        return outs;
    }
    let mut is_taken = vec![false; binds.len()];
    let outline = sql::outline(text);
    let of = |target: &sql::Placeholder| {
        let is_it = |at: &&usize| binds[**at].name.as_ref().is_some_and(|n| n.eq_ignore_ascii_case(&target.name));
        // A name that occurs twice in the clause may have been bound twice.
        let mut found = outs.iter().filter(is_it);
        let at = *found.clone().find(|at| !is_taken[**at]).or_else(|| found.next())?;
        is_taken[at] = true;
        Some(at)
    };
    outline.placeholders.iter().filter(|p| p.is_target).map(of).collect::<Option<_>>().unwrap_or(outs.clone())
}

/// The values of `RETURNING … INTO`, each with its bind: see [`targets_of`].
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
    // A bind with a value of its own gets one value; a bind for output only gets the values of all rows.
    let one = targets.iter().any(|at| binds[*at].direction == Direction::InOut);
    while cursor.fetch(cx, &mut row)? {
        out.extend(targets.iter().zip(&row).map(|(at, v)| (*at as u16, v.clone())));
        if one {
            break;
        }
    }
    Ok(out)
}
