//! RAW functions, and values as bytes.

use crate::FnCtx;
use crate::args::{count, give, null};
use crate::text::text;
use types::{DataType, Date, Number, Ora, Result, Value, codec};

pub(crate) fn hextoraw(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = args[0].to_raw()?.map_or(Value::Null, Value::raw);
    Ok(())
}

pub(crate) fn rawtohex(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let bytes = match &args[0] {
        Value::Null => return null(out),
        Value::Raw(bytes) => bytes.clone(),
        Value::Text(s) => s.as_bytes().to_vec(),
        arg => stored(arg, ctx),
    };
    types::write_hex(&bytes, out.text_buffer());
    out.normalize();
    Ok(())
}

/// DBMS_XA_XID(number), (gtrid, bqual) and (format, gtrid, bqual): the identifier of a branch of a global transaction
/// in the form of DBMS_XA: format, lengths of the parts, the parts.
pub(crate) fn global_identifier(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let part = |arg: &Value| -> Result<Vec<u8>> {
        let bytes = arg.to_raw()?.map(|bytes| bytes.to_vec()).unwrap_or_default();
        if bytes.len() > 64 { Err(Ora::with(6502, &[&": raw variable length too long"])) } else { Ok(bytes) }
    };
    let (format, gtrid, bqual) = match args {
        [number] => {
            let n = count(ctx, number)?.ok_or_else(|| Ora::with(6502, &[&""]))?;
            (0, (n as i32).to_be_bytes().to_vec(), 1i32.to_be_bytes().to_vec())
        }
        [gtrid, bqual] => (0, part(gtrid)?, part(bqual)?),
        [format, gtrid, bqual] => (count(ctx, format)?.unwrap_or(0), part(gtrid)?, part(bqual)?),
        _ => return null(out),
    };
    let mut bytes = (format as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&[gtrid.len() as u8, bqual.len() as u8]);
    bytes.extend_from_slice(&gtrid);
    bytes.extend_from_slice(&bqual);
    *out = Value::raw(bytes);
    Ok(())
}

fn stored(arg: &Value, _: &FnCtx<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode(arg, &mut bytes);
    bytes
}

pub(crate) fn vsize(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if args[0].is_null() {
        return null(out);
    }
    give(out, Number::from_i64(stored(&args[0], ctx).len() as i64))
}

/// The internal type of a date that is not stored.
const DATE_IN_MEMORY: i64 = 13;

/// The bytes of a date that is not stored: the year in two bytes, the lower one first, month, day, hour, minute,
/// second.
fn date_in_memory(date: &Date) -> Vec<u8> {
    let fields = date.fields();
    let year = fields.year.to_le_bytes();
    let [month, day, hour, minute, second] =
        [fields.month, fields.day, fields.hour, fields.minute, fields.second].map(|part| part as u8);
    vec![year[0], year[1], month, day, hour, minute, second, 0]
}

/// DUMP(value, format, from, count, type); the planner adds the number of the type. Format 8, 10, 16 or 17
/// (characters); adding 1000 shows the character set.
pub(crate) fn dump(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    use std::fmt::Write;
    if args[0].is_null() {
        out.set_text("NULL");
        return Ok(());
    }
    // Without a type of the planner's: that of a literal.
    let of_value = match &args[0] {
        Value::Text(_) => DataType::CHAR.code(),
        arg => arg.data_type().code(),
    };
    let mut given = [10, 1, i64::MAX, of_value.into()];
    for (place, arg) in given.iter_mut().zip(&args[1..]) {
        match count(ctx, arg)? {
            Some(n) => *place = n,
            None => return null(out),
        }
    }
    let [base, from, len, code] = given;
    let bytes = match &args[0] {
        Value::Date(date) if code == DATE_IN_MEMORY => date_in_memory(date),
        arg => stored(arg, ctx),
    };
    let start = match from {
        0 => 0,
        1.. => (from - 1) as usize,
        _ => bytes.len().saturating_sub(from.unsigned_abs() as usize),
    };
    let buffer = out.text_buffer();
    write!(buffer, "Typ={code} Len={}", bytes.len()).expect("writing to a String does not fail");
    if base >= 1000 && matches!(args[0], Value::Text(_)) {
        buffer.push_str(" CharacterSet=AL32UTF8");
    }
    buffer.push_str(": ");
    for (i, b) in bytes.iter().skip(start).take(len.unsigned_abs() as usize).enumerate() {
        if i > 0 {
            buffer.push(',');
        }
        match base % 1000 {
            8 => write!(buffer, "{b:o}"),
            16 => write!(buffer, "{b:x}"),
            17 if (32..127).contains(b) => write!(buffer, "{}", char::from(*b)),
            17 => write!(buffer, "{b:x}"),
            _ => write!(buffer, "{b}"),
        }
        .expect("writing to a String does not fail");
    }
    Ok(())
}

/// Applies an operator bytewise to two RAW arguments; the rest of the longer one is copied.
fn bitwise(args: &[Value], out: &mut Value, op: fn(u8, u8) -> u8) -> Result<()> {
    let (Some(a), Some(b)) = (args[0].to_raw()?, args[1].to_raw()?) else { return null(out) };
    let (mut long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    for (x, y) in long.iter_mut().zip(short) {
        *x = op(*x, y);
    }
    *out = Value::raw(long);
    Ok(())
}

pub(crate) fn bit_and(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    bitwise(args, out, |a, b| a & b)
}

pub(crate) fn bit_or(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    bitwise(args, out, |a, b| a | b)
}

pub(crate) fn bit_xor(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    bitwise(args, out, |a, b| a ^ b)
}

pub(crate) fn cast_to_raw(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    *out = Value::raw(s.as_bytes());
    Ok(())
}

pub(crate) fn cast_to_varchar2(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(bytes) = args[0].to_raw()? else { return null(out) };
    out.set_text(&String::from_utf8_lossy(&bytes));
    Ok(())
}

pub(crate) fn concat(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let mut bytes = Vec::new();
    for arg in args {
        bytes.extend(arg.to_raw()?.unwrap_or_default());
    }
    *out = Value::raw(bytes);
    Ok(())
}

pub(crate) fn length(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(bytes) = args[0].to_raw()? else { return null(out) };
    give(out, Number::from_i64(bytes.len() as i64))
}

pub(crate) fn reverse(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(mut bytes) = args[0].to_raw()? else { return null(out) };
    bytes.reverse();
    *out = Value::raw(bytes);
    Ok(())
}

/// UTL_RAW.SUBSTR(raw, position, length).
///
/// # Errors
/// ORA-06502 if position or length are out of range.
pub(crate) fn substr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(bytes), Some(from)) = (args[0].to_raw()?, count(ctx, &args[1])?) else { return null(out) };
    let outside = || Ora::with(6502, &[&""]);
    let len = bytes.len() as i64;
    let start = if from > 0 { from - 1 } else { len + from };
    if from == 0 || !(0..len).contains(&start) {
        return Err(outside());
    }
    let count = match args.get(2) {
        Some(arg) => count(ctx, arg)?.unwrap_or(len - start),
        None => len - start,
    };
    if count < 1 || start + count > len {
        return Err(outside());
    }
    *out = Value::raw(&bytes[start as usize..(start + count) as usize]);
    Ok(())
}
