//! Data types and interval literals as a statement writes them.

use crate::ir::{Expr, Node};
use sql::ast::{self, TypeKind};
use types::{DataType, LenUnit, Ora, Result, Value, Zone};

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
        TypeKind::Bfile => DataType::Bfile,
        TypeKind::XmlType => DataType::Xml,
        TypeKind::Rowid => DataType::Rowid,
        // Every UROWID has the greatest length.
        TypeKind::Urowid { length: _ } => DataType::Urowid,
        _ => return Err(Ora::new(902).at(pos)),
    })
}

pub(crate) fn interval_literal(text: &str, q: &ast::IntervalQualifier, pos: u32) -> Result<Expr> {
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
pub(crate) fn interval_type(q: &ast::IntervalQualifier, pos: u32) -> Result<DataType> {
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
