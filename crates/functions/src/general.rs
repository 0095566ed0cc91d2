//! Functions on values of any type: NULL handling, comparison, DECODE.

use crate::FnCtx;
use crate::args::null;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use types::{DataType, Lob, LobHome, LobRow, Nls, ObjectId, Ora, Result, Value};

/// Returns the common type of the operands of NVL, COALESCE, DECODE, CASE and set operators: that of the first operand
/// that is not NULL, widened to BINARY_DOUBLE or TIMESTAMP if needed. The caller converts the others.
///
/// # Errors
/// ORA-00932 for a number together with a date, or for types without a conversion.
pub fn common_type(types: &[DataType]) -> Result<DataType> {
    let mut common = DataType::Null;
    for t in types {
        common = match (common, *t) {
            (DataType::Null, t) => t,
            (common, DataType::Null) => common,
            (a, b) if a.is_numeric() && b.is_numeric() => wider_number(a, b),
            (a, b) if a.is_datetime() && b.is_datetime() => {
                if a == DataType::Date {
                    b
                } else {
                    a
                }
            }
            (a, b) if a.is_text() && b.is_text() => wider_text(a, b),
            (a, b) if a.is_text() && (b.is_numeric() || b.is_datetime() || b.is_interval()) => DataType::TEXT,
            (a, b) if b.is_text() && (a.is_numeric() || a.is_datetime() || a.is_interval()) => a,
            (a, b) if std::mem::discriminant(&a) == std::mem::discriminant(&b) => a,
            (a, b) if a.is_text() || b.is_text() => DataType::TEXT,
            (a, b) => return Err(Ora::with(932, &[&a.name(), &b.name()])),
        };
    }
    Ok(common)
}

fn wider_number(a: DataType, b: DataType) -> DataType {
    match (a, b) {
        (DataType::BinaryDouble, _) | (_, DataType::BinaryDouble) => DataType::BinaryDouble,
        (DataType::BinaryFloat, _) | (_, DataType::BinaryFloat) => DataType::BinaryFloat,
        (a, b) if a == b => a,
        _ => DataType::NUMBER,
    }
}

/// CHARs of equal length stay CHAR; other texts become VARCHAR2 or a LOB.
fn wider_text(a: DataType, b: DataType) -> DataType {
    match (a, b) {
        (a, b) if a == b => a,
        (DataType::Clob, _) | (_, DataType::Clob) => DataType::Clob,
        _ => DataType::Varchar2 { len: a.max_bytes().max(b.max_bytes()), unit: types::LenUnit::Byte },
    }
}

/// The type of GREATEST and LEAST: that of the first argument.
pub(crate) fn compared_type(types: &[DataType]) -> Result<DataType> {
    Ok(match types.first().copied().unwrap_or(DataType::Null) {
        DataType::Char { .. } => DataType::TEXT,
        first if first.is_numeric() => types.iter().filter(|t| t.is_numeric()).fold(first, |a, b| wider_number(a, *b)),
        first => first,
    })
}

/// Equality in DECODE: NULL equals NULL.
///
/// # Errors
/// As [`Value::compare`].
pub fn decode_equal(a: &Value, b: &Value, nls: &Nls) -> Result<bool> {
    if a.is_null() || b.is_null() {
        return Ok(a.is_null() && b.is_null());
    }
    Ok(a.compare(b, nls)? == Some(Ordering::Equal))
}

pub(crate) fn decode(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let mut rest = &args[1..];
    while let [key, result, tail @ ..] = rest {
        if decode_equal(&args[0], key, ctx.nls)? {
            out.set(result);
            return Ok(());
        }
        rest = tail;
    }
    match rest {
        [default] => out.set(default),
        _ => *out = Value::Null,
    }
    Ok(())
}

pub(crate) fn nvl(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    out.set(if args[0].is_null() { &args[1] } else { &args[0] });
    Ok(())
}

pub(crate) fn nvl2(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    out.set(if args[0].is_null() { &args[2] } else { &args[1] });
    Ok(())
}

pub(crate) fn coalesce(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    out.set(args.iter().find(|arg| !arg.is_null()).unwrap_or(&Value::Null));
    Ok(())
}

pub(crate) fn nullif(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if args[0].compare(&args[1], ctx.nls)? == Some(Ordering::Equal) {
        return null(out);
    }
    out.set(&args[0]);
    Ok(())
}

/// Converts to the type of the first argument, which GREATEST and LEAST compare by.
fn as_first(first: &Value, arg: &Value, nls: &Nls) -> Result<Value> {
    let mut value = arg.clone();
    match first {
        Value::Number(_) if matches!(arg, Value::Double(_) | Value::Float(_)) => {}
        _ => first.data_type().cast(&mut value, nls)?,
    }
    Ok(value)
}

fn extreme(ctx: &FnCtx<'_>, args: &[Value], out: &mut Value, wanted: Ordering) -> Result<()> {
    if args.iter().any(Value::is_null) {
        return null(out);
    }
    let mut best = args[0].clone();
    for arg in &args[1..] {
        let value = as_first(&args[0], arg, ctx.nls)?;
        if value.compare(&best, ctx.nls)? == Some(wanted) {
            best = value;
        }
    }
    *out = best;
    Ok(())
}

pub(crate) fn greatest(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    extreme(ctx, args, out, Ordering::Greater)
}

pub(crate) fn least(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    extreme(ctx, args, out, Ordering::Less)
}

/// LNNVL(condition): true unless the condition is true.
pub(crate) fn lnnvl(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::Boolean(args[0] != Value::Boolean(true));
    Ok(())
}

/// The attribute of an object; NULL for a null object.
pub(crate) fn attribute(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Value::Composite(object), Value::Number(at)) = (&args[0], &args[1]) else { return null(out) };
    let part = at.as_i64().and_then(|at| usize::try_from(at).ok()).and_then(|at| object.parts.get(at));
    out.set(part.unwrap_or(&Value::Null));
    Ok(())
}

pub(crate) fn retype(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let number = |v: &Value| if let Value::Number(n) = v { n.to_i64().ok() } else { None };
    let (Value::Composite(collection), Some(ty)) = (&args[0], number(&args[1])) else { return null(out) };
    if args.get(2).and_then(number).is_some_and(|most| collection.parts.len() as i64 > most) {
        return Err(Ora::new(22909));
    }
    let ty = types::TypeId(u32::try_from(ty).map_err(|_| Ora::internal("type number"))?);
    *out = Value::Composite(std::sync::Arc::new(types::Composite { ty, parts: collection.parts.clone() }));
    Ok(())
}

pub(crate) fn same(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = is_same(&args[0], &args[1], ctx.nls)?.map_or(Value::Null, Value::Boolean);
    Ok(())
}

/// MEMBER OF: UNKNOWN for an empty collection, and if no element is equal but one may be because of a NULL.
///
/// Source: SQL Language Reference, "Multiset Conditions". In PL/SQL, MEMBER OF is false for an empty collection.
pub(crate) fn member(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Value::Composite(collection) = &args[1] else { return null(out) };
    let mut found = if collection.parts.is_empty() { None } else { Some(false) };
    for part in &collection.parts {
        match is_same(&args[0], part, ctx.nls)? {
            Some(true) => {
                *out = Value::Boolean(true);
                return Ok(());
            }
            Some(false) => {}
            None => found = None,
        }
    }
    *out = found.map_or(Value::Null, Value::Boolean);
    Ok(())
}

/// SUBMULTISET OF: each element of the first has an equal element of its own in the second; UNKNOWN with a NULL in the
/// first.
pub(crate) fn submultiset(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Value::Composite(a), Value::Composite(b)) = (&args[0], &args[1]) else { return null(out) };
    let (mut left, mut all) = (Bag::of(&a.parts, &b.parts), Some(true));
    for part in &a.parts {
        if part.is_null() {
            all = None;
        } else if !left.take(part, true, ctx.nls)? {
            *out = Value::Boolean(false);
            return Ok(());
        }
    }
    *out = all.map_or(Value::Null, Value::Boolean);
    Ok(())
}

pub(crate) fn cardinality(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Value::Composite(collection) = &args[0] else { return null(out) };
    *out = Value::Number(types::Number::from_u64(collection.parts.len() as u64));
    Ok(())
}

/// MULTISET UNION, INTERSECT and EXCEPT, which treat NULLs as equal.
pub(crate) fn multiset(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Value::Composite(a), Value::Composite(b)) = (&args[0], &args[1]) else { return null(out) };
    let number = |v: &Value| if let Value::Number(n) = v { n.as_i64() } else { None };
    let (op, distinct) = (number(&args[2]), number(&args[3]) == Some(1));
    let mut parts: Vec<Value> = Vec::new();
    if op == Some(0) {
        parts.extend(a.parts.iter().chain(&b.parts).cloned());
    } else {
        let mut left = Bag::of(&a.parts, &b.parts);
        for part in &a.parts {
            // EXCEPT DISTINCT removes all elements equal to one of the second collection.
            if left.take(part, !distinct, ctx.nls)? == (op == Some(1)) {
                parts.push(part.clone());
            }
        }
    }
    if distinct {
        let mut once = Bag::of(&parts, &[]);
        let mut is_first = Vec::with_capacity(parts.len());
        for part in &parts {
            is_first.push(!once.take(part, false, ctx.nls)?);
            once.add(part);
        }
        let mut is_first = is_first.into_iter();
        parts.retain(|_| is_first.next().unwrap_or(false));
    }
    *out = Value::Composite(std::sync::Arc::new(types::Composite { ty: a.ty, parts }));
    Ok(())
}

/// Elements of a collection, for comparisons.
enum Bag {
    /// Counts by bytes that are equal for equal elements.
    Hashed(HashMap<Vec<u8>, usize>),
    /// Elements whose bytes do not decide equality.
    Listed(Vec<Value>),
}

impl Bag {
    /// The elements of `of`, prepared for comparison with those of `others`.
    fn of(others: &[Value], of: &[Value]) -> Bag {
        let kind = |v: &Value| std::mem::discriminant(v);
        let mut kinds = others.iter().chain(of).filter(|v| !v.is_null()).map(kind);
        let first = kinds.next();
        let is_hashed = kinds.all(|kind| Some(kind) == first) && others.iter().chain(of).all(has_key);
        let mut bag = if is_hashed { Bag::Hashed(HashMap::new()) } else { Bag::Listed(Vec::new()) };
        of.iter().for_each(|part| bag.add(part));
        bag
    }

    fn add(&mut self, part: &Value) {
        match self {
            Bag::Hashed(counts) => {
                let mut key = Vec::new();
                if push_key(part, &mut key) {
                    *counts.entry(key).or_insert(0) += 1;
                }
            }
            Bag::Listed(parts) => parts.push(part.clone()),
        }
    }

    /// Whether an equal element is present; with `removes` one equal element is removed.
    fn take(&mut self, part: &Value, removes: bool, nls: &Nls) -> Result<bool> {
        match self {
            Bag::Hashed(counts) => {
                let mut key = Vec::new();
                let count = if push_key(part, &mut key) { counts.get_mut(&key) } else { None };
                let Some(count) = count.filter(|count| **count > 0) else { return Ok(false) };
                *count -= usize::from(removes);
                Ok(true)
            }
            Bag::Listed(parts) => {
                let Some(at) = position(parts, part, nls)? else { return Ok(false) };
                if removes {
                    parts.swap_remove(at);
                }
                Ok(true)
            }
        }
    }
}

/// Whether the bytes of the value decide its equality with others of its kind.
fn has_key(v: &Value) -> bool {
    match v {
        Value::Composite(object) => object.parts.iter().all(has_key),
        Value::Null
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::Raw(_)
        | Value::Rowid(_)
        | Value::IntervalYm(_)
        | Value::IntervalDs(_)
        | Value::Boolean(_) => true,
        _ => false,
    }
}

/// Appends bytes that are equal for equal elements. False if an attribute is NULL, so that no element is equal.
fn push_key(v: &Value, out: &mut Vec<u8>) -> bool {
    if let Value::Composite(object) = v {
        out.extend_from_slice(&(object.parts.len() as u32).to_le_bytes());
        return object.parts.iter().all(|part| !part.is_null() && push_key(part, out));
    }
    if v.is_null() {
        out.push(0);
        return true;
    }
    out.push(1);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    types::codec::encode(v, out);
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    true
}

/// Position of an equal value; NULL equals NULL.
fn position(values: &[Value], value: &Value, nls: &Nls) -> Result<Option<usize>> {
    for (at, other) in values.iter().enumerate() {
        if value.is_null() && other.is_null() || is_same(value, other, nls)? == Some(true) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether two values are equal, attribute by attribute; `None` if NULLs leave it open.
fn is_same(a: &Value, b: &Value, nls: &Nls) -> Result<Option<bool>> {
    let (Value::Composite(x), Value::Composite(y)) = (a, b) else {
        return Ok(a.compare(b, nls)?.map(Ordering::is_eq));
    };
    let mut all = Some(x.parts.len() == y.parts.len());
    for (a, b) in x.parts.iter().zip(&y.parts) {
        match is_same(a, b, nls)? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => all = all.filter(|same| !same),
        }
    }
    Ok(all)
}

/// Makes a locator. NULL, and a LOB of a row without a physical ROWID, stay as they are.
pub(crate) fn locator(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let [value, rowid, place @ ..] = args else { return null(out) };
    let number = |at: usize| match place.get(at) {
        Some(Value::Number(n)) => n.as_i64().and_then(|n| u32::try_from(n).ok()),
        _ => None,
    };
    let (Some(object), Some(column), Some(binary)) = (number(0), number(1), number(2)) else {
        return Err(Ora::internal("locator"));
    };
    *out = match (value, rowid) {
        (Value::Text(_) | Value::Raw(_) | Value::EmptyLob, Value::Rowid(rowid)) => {
            let row = LobRow { object: ObjectId(object), rowid: *rowid, column: column as u16 };
            let home = LobHome::Row(row);
            Value::Lob(Arc::new(Lob { content: value.clone(), binary: binary == 1, home, open: None }))
        }
        _ => value.clone(),
    };
    Ok(())
}

/// BFILENAME; a directory or file that is NULL has no name.
pub(crate) fn bfilename(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let [directory, file] = args else { return null(out) };
    let (directory, file) = (directory.to_text(ctx.nls)?, file.to_text(ctx.nls)?);
    *out = Value::Raw(types::bfile::locator(&directory.unwrap_or_default(), &file.unwrap_or_default())?);
    Ok(())
}

pub(crate) fn empty_lob(_: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::EmptyLob;
    Ok(())
}
