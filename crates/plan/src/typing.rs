//! Types of expressions: Oracle's implicit conversions, and result types.
//!
//! All of this happens at compile time: an expression that reaches the executor has operands of the types its operator
//! works on (P3). Text combined with a number becomes a number, with a date a date (by `NLS_DATE_FORMAT`), with RAW
//! hexadecimal bytes.

use crate::ir::{ArithOp, CmpOp, Compare, Expr, Node};
use types::{DataType, LenUnit, Ora, Result, Value, Zone};

/// Families of types that compare and convert alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Number,
    Float,
    Double,
    Text,
    Lob,
    Date,
    Timestamp,
    IntervalYm,
    IntervalDs,
    Raw,
    Rowid,
    Boolean,
    Other,
}

pub fn class(ty: &DataType) -> Class {
    match ty {
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => Class::Number,
        DataType::BinaryFloat => Class::Float,
        DataType::BinaryDouble => Class::Double,
        DataType::Varchar2 { .. } | DataType::Char { .. } | DataType::Nvarchar2 { .. } | DataType::Nchar { .. } => {
            Class::Text
        }
        DataType::Null => Class::Text,
        DataType::Long | DataType::Nclob | DataType::Clob => Class::Lob,
        DataType::Date => Class::Date,
        DataType::Timestamp { .. } => Class::Timestamp,
        DataType::IntervalYm { .. } => Class::IntervalYm,
        DataType::IntervalDs { .. } => Class::IntervalDs,
        DataType::Raw { .. } => Class::Raw,
        DataType::Rowid | DataType::Urowid => Class::Rowid,
        DataType::Boolean => Class::Boolean,
        _ => Class::Other,
    }
}

/// The name of a type in ORA-00932.
pub fn type_name(ty: &DataType) -> &'static str {
    match class(ty) {
        Class::Number => "NUMBER",
        Class::Float => "BINARY_FLOAT",
        Class::Double => "BINARY_DOUBLE",
        Class::Text => "CHAR",
        Class::Lob => "CLOB",
        Class::Date => "DATE",
        Class::Timestamp => "TIMESTAMP",
        Class::IntervalYm => "INTERVAL YEAR TO MONTH",
        Class::IntervalDs => "INTERVAL DAY TO SECOND",
        Class::Raw => "BINARY",
        Class::Rowid => "ROWID",
        Class::Boolean => "BOOLEAN",
        Class::Other => ty.name(),
    }
}

/// The longest CHAR.
const CHAR_MAX: u32 = 2000;

pub fn number() -> DataType {
    DataType::NUMBER
}

pub fn text(len: u32) -> DataType {
    DataType::Varchar2 { len: len.min(4000), unit: LenUnit::Byte }
}

pub fn char_type(len: u32) -> DataType {
    DataType::Char { len, unit: LenUnit::Byte }
}

pub fn is_null(e: &Expr) -> bool {
    matches!(e.node, Node::Const(Value::Null))
}

pub fn null() -> Expr {
    Expr::new(Node::Const(Value::Null), DataType::Null)
}

/// ORA-00932: inconsistent datatypes.
pub fn inconsistent(expected: &str, got: &str, pos: u32) -> Ora {
    Ora::with(932, &[&expected, &got]).at(pos)
}

/// Whether the type is a LOB; LOBs cannot be compared.
pub fn is_lob(ty: &DataType) -> bool {
    matches!(ty, DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Bfile)
}

/// Refuses a type without comparison and order, for DISTINCT, GROUP BY, ORDER BY and set operations.
///
/// # Errors
/// ORA-00932 for a LOB, ORA-00997 for a LONG, ORA-22950 for XML.
pub fn check_comparable(ty: &DataType, pos: u32) -> Result<()> {
    match ty {
        DataType::Long | DataType::LongRaw => Err(Ora::new(997).at(pos)),
        ty if is_lob(ty) => Err(inconsistent("-", ty.name(), pos)),
        DataType::Xml => Err(Ora::new(22950).at(pos)),
        _ => Ok(()),
    }
}

/// Converts `e` to the class of `ty`, and keeps the value's own precision or length.
pub fn convert(e: Expr, ty: &DataType, pos: u32) -> Result<Expr> {
    let (from, to) = (class(&e.ty), class(ty));
    if let (DataType::Named(from), DataType::Named(to)) = (e.ty, *ty) {
        if from == to {
            return Ok(e);
        }
        if !is_null(&e) {
            return Err(inconsistent("UDT", "UDT", pos));
        }
    }
    if *ty == DataType::Xml {
        return match from {
            _ if e.ty == DataType::Xml => Ok(e),
            _ if is_null(&e) => Ok(Expr::new(Node::Const(Value::Null), *ty)),
            // A text becomes XML wherever XML is expected.
            Class::Text | Class::Lob => crate::xml_values::parsed(e, pos),
            _ => Err(inconsistent(type_name(ty), type_name(&e.ty), pos)),
        };
    }
    if from == to && from != Class::Other {
        return Ok(if is_zoned(ty) && zone_of(ty) != zone_of(&e.ty) { zoned(e, ty) } else { e });
    }
    if is_null(&e) {
        return Ok(Expr::new(Node::Const(Value::Null), *ty));
    }
    if to == Class::Text
        && let Some(e) = shown(&e)
    {
        return Ok(e);
    }
    if matches!(ty, DataType::Blob | DataType::Bfile) && e.ty == *ty {
        return Ok(e);
    }
    let is_blob_of_raw = *ty == DataType::Blob && from == Class::Raw;
    if !is_blob_of_raw && !convertible(from, to) {
        return Err(inconsistent(type_name(ty), type_name(&e.ty), pos));
    }
    let target = plain(ty);
    let converted = Expr::new(Node::Convert(Box::new(e)), target);
    Ok(converted)
}

/// The text of a timestamp or interval whose type has another precision than the default of texts.
fn shown(e: &Expr) -> Option<Expr> {
    match e.ty {
        DataType::Timestamp { digits: 6, .. } | DataType::IntervalDs { days: 2, digits: 6 } => return None,
        DataType::IntervalYm { years: 2 } => return None,
        DataType::Timestamp { .. } | DataType::IntervalDs { .. } | DataType::IntervalYm { .. } => {}
        _ => return None,
    }
    let f = crate::function::Func::of_digits();
    let args = with_digits(vec![e.clone()])?;
    Some(Expr::new(Node::Func(f, args), text(100)))
}

/// The arguments of TO_CHAR, with the precision of the first one's type inserted before the format; `None` if it is not
/// a timestamp or interval.
pub fn with_digits(mut args: Vec<Expr>) -> Option<Vec<Expr>> {
    let (leading, digits) = match args.first()?.ty {
        DataType::Timestamp { digits, .. } => (0, digits),
        DataType::IntervalDs { days, digits } => (days, digits),
        DataType::IntervalYm { years } => (years, 0),
        _ => return None,
    };
    let of = |n: u8| Expr::new(Node::Const(Value::Number(u32::from(n).into())), number());
    args.splice(1..1, [of(leading), of(digits)]);
    Some(args)
}

fn is_zoned(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp { zone: Zone::WithTimeZone | Zone::WithLocalTimeZone, .. })
}

fn zone_of(ty: &DataType) -> Option<Zone> {
    match ty {
        DataType::Timestamp { zone, .. } => Some(*zone),
        _ => None,
    }
}

/// Converts a timestamp to a type with time zone; a timestamp without one gets the session's.
fn zoned(e: Expr, to: &DataType) -> Expr {
    let ty = with_fraction(to, 9);
    match e.node {
        Node::Const(Value::Null) => Expr::new(e.node, ty),
        _ => Expr::new(Node::Cast(Box::new(e)), ty),
    }
}

/// The type without limits: a conversion may yield any NUMBER and any length.
fn plain(ty: &DataType) -> DataType {
    match class(ty) {
        Class::Number => number(),
        Class::Text => text(4000),
        _ => *ty,
    }
}

fn convertible(from: Class, to: Class) -> bool {
    use Class::*;
    match (from, to) {
        (a, b) if a == b => true,
        (
            Text | Lob,
            Number | Float | Double | Date | Timestamp | IntervalYm | IntervalDs | Raw | Rowid | Text | Lob,
        ) => true,
        (Number | Float | Double, Number | Float | Double | Text | Lob) => true,
        (Date | Timestamp, Date | Timestamp | Text | Lob) => true,
        (IntervalYm | IntervalDs | Raw | Rowid, Text | Lob) => true,
        (Boolean, Text) => true,
        _ => false,
    }
}

/// Converts two dates or timestamps to TIMESTAMPs that can be subtracted.
fn same_time(a: Expr, b: Expr, pos: u32) -> Result<(Expr, Expr)> {
    let ts = |e: &Expr, other: &DataType| match class(&e.ty) {
        Class::Timestamp if is_zoned(other) => *other,
        Class::Timestamp => e.ty,
        _ if is_zoned(other) => *other,
        _ => DataType::Timestamp { digits: 0, zone: Zone::None },
    };
    let (ta, tb) = (ts(&a, &b.ty), ts(&b, &a.ty));
    Ok((convert(a, &ta, pos)?, convert(b, &tb, pos)?))
}

/// `(a - b) DAY TO SECOND` of two dates or timestamps.
pub fn interval_between(a: Expr, b: Expr, pos: u32) -> Result<Expr> {
    let (a, b) = same_time(a, b, pos)?;
    let digits = fraction(&a.ty).max(fraction(&b.ty));
    Ok(Expr::new(Node::Arith(ArithOp::Sub, Box::new(a), Box::new(b)), DataType::IntervalDs { days: 9, digits }))
}

/// The result type of interval arithmetic: the greatest number of leading digits.
fn widest(ty: &DataType) -> DataType {
    match ty {
        DataType::IntervalDs { .. } => DataType::IntervalDs { days: 9, digits: 9 },
        _ => DataType::IntervalYm { years: 9 },
    }
}

/// The common numeric class of two operands.
fn numeric(a: Class, b: Class) -> DataType {
    if a == Class::Double || b == Class::Double {
        DataType::BinaryDouble
    } else if a == Class::Float || b == Class::Float {
        DataType::BinaryFloat
    } else {
        number()
    }
}

/// `a op b` for `+ - * /`. `pos` is the position of the operator.
pub fn arith(op: ArithOp, a: Expr, b: Expr, pos: u32) -> Result<Expr> {
    use Class::*;
    let (ca, cb) = (class(&a.ty), class(&b.ty));
    let (na, nb) = (is_null(&a), is_null(&b));
    let binary = |a: Expr, b: Expr, ty: DataType| Ok(Expr::new(Node::Arith(op, Box::new(a), Box::new(b)), ty));
    let is_time = |c: Class| matches!(c, Date | Timestamp);
    let is_interval = |c: Class| matches!(c, IntervalYm | IntervalDs);
    let additive = matches!(op, ArithOp::Add | ArithOp::Sub);
    match (ca, cb) {
        // DATE - DATE is days; with a TIMESTAMP it is an interval.
        (Date, Date) if op == ArithOp::Sub => binary(a, b, number()),
        (x, y) if op == ArithOp::Sub && is_time(x) && is_time(y) => {
            let (a, b) = same_time(a, b, pos)?;
            let digits = fraction(&a.ty).max(fraction(&b.ty));
            binary(a, b, DataType::IntervalDs { days: 9, digits })
        }
        (Date, Text) if op == ArithOp::Sub && !nb && !matches!(b.node, Node::Const(_)) => {
            let b = convert(b, &number(), pos)?;
            binary(a, b, DataType::Date)
        }
        (x, y) if additive && is_time(x) && is_interval(y) => {
            let ty = with_fraction(&a.ty, 9);
            binary(a, b, ty)
        }
        (x, y) if op == ArithOp::Add && is_interval(x) && is_time(y) => {
            let ty = with_fraction(&b.ty, 9);
            binary(b, a, ty)
        }
        (x, Number | Float | Double | Text) if additive && is_time(x) => {
            let a = convert(a, &DataType::Date, pos)?;
            binary(a, convert(b, &number(), pos)?, DataType::Date)
        }
        (Number | Float | Double | Text, y) if op == ArithOp::Add && is_time(y) => {
            let b = convert(b, &DataType::Date, pos)?;
            binary(b, convert(a, &number(), pos)?, DataType::Date)
        }
        (Text, Date) if op == ArithOp::Sub && na => binary(convert(a, &DataType::Date, pos)?, b, number()),
        (x, y) if is_time(x) && is_time(y) => {
            Err(Ora::new(975).at(pos)) // date + date not allowed
        }
        (IntervalYm, IntervalYm) | (IntervalDs, IntervalDs) if additive => {
            let ty = widest(&wider_interval(&a.ty, &b.ty));
            binary(a, b, ty)
        }
        (x, Number | Text) if is_interval(x) && !additive => {
            let ty = widest(&a.ty);
            binary(a, convert(b, &number(), pos)?, ty)
        }
        (Number | Text, y) if is_interval(y) && op == ArithOp::Mul => {
            let ty = widest(&b.ty);
            binary(b, convert(a, &number(), pos)?, ty)
        }
        _ => {
            let ty = numeric(ca, cb);
            for (c, ty) in [(ca, &a.ty), (cb, &b.ty)] {
                if !matches!(c, Number | Float | Double | Text | Lob) {
                    return Err(inconsistent("NUMBER", type_name(ty), pos));
                }
            }
            let (a, b) = (convert(a, &ty, pos)?, convert(b, &ty, pos)?);
            binary(a, b, ty)
        }
    }
}

/// Converts two operands of a comparison to one type.
pub fn comparable(a: Expr, b: Expr, pos: u32) -> Result<(Expr, Expr, Compare)> {
    use Class::*;
    let (ca, cb) = (class(&a.ty), class(&b.ty));
    if is_null(&a) || is_null(&b) {
        return Ok((a, b, Compare::Plain));
    }
    if let Some(lob) = [&a.ty, &b.ty].into_iter().find(|ty| is_lob(ty)) {
        return Err(inconsistent("-", lob.name(), pos));
    }
    if ca == cb {
        if matches!(ca, Lob | Other) {
            return Err(inconsistent("-", type_name(&a.ty), pos));
        }
        let compare = if ca == Text && padded(&a) && padded(&b) { Compare::Padded } else { Compare::Plain };
        let (ta, tb) = (a.ty, b.ty);
        // Instants are compared whatever their time zones.
        if is_zoned(&ta) && is_zoned(&tb) {
            return Ok((a, b, compare));
        }
        let (a, b) = (convert(a, &tb, pos)?, convert(b, &ta, pos)?);
        return Ok((a, b, compare));
    }
    let rank = |c: Class| match c {
        Text => 0,
        Number => 1,
        Float => 2,
        Double => 3,
        Raw => 4,
        Rowid => 5,
        Date => 6,
        Timestamp => 7,
        IntervalYm => 8,
        IntervalDs => 9,
        _ => 99,
    };
    let fits = match (ca, cb) {
        (Text, x) | (x, Text) => !matches!(x, Lob | Boolean | Other),
        (Number | Float | Double, Number | Float | Double) | (Date | Timestamp, Date | Timestamp) => true,
        _ => false,
    };
    if !fits {
        return Err(inconsistent(type_name(&a.ty), type_name(&b.ty), pos));
    }
    if rank(ca) < rank(cb) {
        let ty = b.ty;
        Ok((convert(a, &ty, pos)?, b, Compare::Plain))
    } else {
        let ty = a.ty;
        Ok((a, convert(b, &ty, pos)?, Compare::Plain))
    }
}

/// Whether an expression takes part in blank-padded comparison: CHAR columns and text literals.
pub fn padded(e: &Expr) -> bool {
    is_padded(&e.ty)
}

/// Whether values of the type are compared with padding.
pub fn is_padded(ty: &DataType) -> bool {
    matches!(ty, DataType::Char { .. } | DataType::Nchar { .. })
}

/// Whether binds of the two types are compiled alike.
pub fn is_alike(a: &DataType, b: &DataType) -> bool {
    class(a) == class(b) && is_padded(a) == is_padded(b)
}

pub fn compare(op: CmpOp, a: Expr, b: Expr, pos: u32) -> Result<Expr> {
    let (a, b, how) = comparable(a, b, pos)?;
    let (a, b) = instants(a, b);
    Ok(Expr::new(Node::Cmp(op, how, Box::new(a), Box::new(b)), DataType::Boolean))
}

/// Timestamps with time zone are compared by their instants, using the same expression as index keys on such columns. A
/// timestamp with local time zone already is an instant.
pub fn instants(a: Expr, b: Expr) -> (Expr, Expr) {
    let is = |e: &Expr, zone| zone_of(&e.ty) == Some(zone);
    let either = |zone| is(&a, zone) || is(&b, zone);
    if !either(Zone::WithTimeZone) || either(Zone::WithLocalTimeZone) || is_null(&a) || is_null(&b) {
        return (a, b);
    }
    let utc = |e: Expr| {
        let ty = DataType::Timestamp { digits: 9, zone: Zone::None };
        match e.node {
            Node::Const(Value::Timestamp(t)) if t.zone().is_some() => {
                Expr::new(Node::Const(Value::Timestamp(t.utc())), ty)
            }
            _ => Expr::new(Node::Func(crate::function::Func::sys_extract_utc(), vec![e]), ty),
        }
    };
    (utc(a), utc(b))
}

/// The common type of the branches of CASE, the arguments of COALESCE or the columns of set operations.
pub fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use Class::*;
    let (ca, cb) = (class(a), class(b));
    if a == b || *b == DataType::Null {
        return Some(*a);
    }
    if *a == DataType::Null {
        return Some(*b);
    }
    match (ca, cb) {
        (Number | Float | Double, Number | Float | Double) => Some(numeric(ca, cb)),
        (Text, Text) => Some(match (a, b) {
            (DataType::Char { .. }, DataType::Char { .. }) if length(a) == length(b) => *a,
            _ => text(length(a).max(length(b))),
        }),
        (Text | Lob, Text | Lob) => Some(DataType::Clob),
        (Date | Timestamp, Date | Timestamp) => Some(match (a, b) {
            _ if cb == Date => *a,
            _ if ca == Date => *b,
            _ => {
                let most = fraction(a).max(fraction(b));
                let zone_is = |zone: Zone| [a, b].into_iter().find(|t| zone_of(t) == Some(zone));
                let zone = zone_is(Zone::WithTimeZone).or(zone_is(Zone::WithLocalTimeZone)).unwrap_or(a);
                with_fraction(zone, most)
            }
        }),
        (IntervalDs, IntervalDs) | (IntervalYm, IntervalYm) => Some(wider_interval(a, b)),
        (Raw, Raw) => Some(if length(a) >= length(b) { *a } else { *b }),
        (x, y) if x == y && x != Other => Some(*a),
        _ => None,
    }
}

/// Precision of fractional seconds.
fn fraction(ty: &DataType) -> u8 {
    match ty {
        DataType::Timestamp { digits, .. } | DataType::IntervalDs { digits, .. } => *digits,
        _ => 0,
    }
}

fn with_fraction(ty: &DataType, digits: u8) -> DataType {
    match *ty {
        DataType::Timestamp { zone, .. } => DataType::Timestamp { digits, zone },
        DataType::IntervalDs { days, .. } => DataType::IntervalDs { days, digits },
        other => other,
    }
}

/// An interval type that can hold the values of both.
fn wider_interval(a: &DataType, b: &DataType) -> DataType {
    match (a, b) {
        (DataType::IntervalDs { days, digits }, DataType::IntervalDs { days: d, digits: f }) => {
            DataType::IntervalDs { days: *days.max(d), digits: *digits.max(f) }
        }
        (DataType::IntervalYm { years }, DataType::IntervalYm { years: y }) => {
            DataType::IntervalYm { years: *years.max(y) }
        }
        _ => *a,
    }
}

/// Declared length of text and RAW; a display length of others.
pub fn length(ty: &DataType) -> u32 {
    match ty {
        DataType::Null => 0,
        DataType::Varchar2 { len: 0, .. } => 4000,
        DataType::Varchar2 { len, .. } | DataType::Char { len, .. } => *len,
        DataType::Nvarchar2 { len } | DataType::Nchar { len } => *len * 2,
        DataType::Raw { len } => *len,
        DataType::Number { .. } => 40,
        DataType::Date => 19,
        DataType::Timestamp { .. } => 32,
        DataType::Rowid => 18,
        _ => 4000,
    }
}

pub fn concat(a: Expr, b: Expr, pos: u32) -> Result<Expr> {
    let (a, b) = (crate::xml_values::as_text(a, pos)?, crate::xml_values::as_text(b, pos)?);
    let lob = class(&a.ty) == Class::Lob || class(&b.ty) == Class::Lob;
    let side = |e: Expr| {
        if class(&e.ty) == Class::Lob || class(&e.ty) == Class::Text { Ok(e) } else { convert(e, &text(4000), pos) }
    };
    let len = length(&a.ty) + length(&b.ty);
    let (a, b) = (side(a)?, side(b)?);
    let ty = match (&a.ty, &b.ty) {
        _ if lob => DataType::Clob,
        (DataType::Char { .. }, DataType::Char { .. }) if len <= CHAR_MAX => char_type(len),
        _ => text(len),
    };
    Ok(Expr::new(Node::Concat(Box::new(a), Box::new(b)), ty))
}

/// Converts all `items` to one type, led by the first item that is not NULL.
pub fn unify(items: Vec<Expr>, pos: &[u32]) -> Result<(Vec<Expr>, DataType)> {
    let mut ty: Option<DataType> = None;
    for (i, e) in items.iter().enumerate() {
        if is_null(e) || e.ty == DataType::Null {
            continue;
        }
        ty = Some(match ty {
            None => e.ty,
            Some(t) => common(&t, &e.ty)
                .ok_or_else(|| inconsistent(type_name(&t), type_name(&e.ty), pos.get(i).copied().unwrap_or(0)))?,
        });
    }
    let ty = ty.unwrap_or(DataType::Null);
    let items = items.into_iter().enumerate().map(|(i, e)| convert(e, &ty, pos.get(i).copied().unwrap_or(0)));
    Ok((items.collect::<Result<_>>()?, ty))
}
