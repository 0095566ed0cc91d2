//! UTL_RAW.

use super::package::*;
use crate::world::World;
use types::codec;

package! {
    "UTL_RAW",
    "package utl_raw is
       function cast_to_raw(c varchar2) return raw;
       function cast_to_varchar2(r raw) return varchar2;
       function length(r raw) return number;
       function concat(r1 raw default null, r2 raw default null, r3 raw default null, r4 raw default null) return raw;
       function substr(r raw, pos binary_integer, len binary_integer default null) return raw;
       function reverse(r raw) return raw;
       function compare(r1 raw, r2 raw) return number;
       function bit_and(r1 raw, r2 raw) return raw;
       function bit_or(r1 raw, r2 raw) return raw;
       function bit_xor(r1 raw, r2 raw) return raw;
       function cast_from_binary_integer(n binary_integer) return raw;
       function cast_to_binary_integer(r raw) return binary_integer;
       function cast_from_number(n number) return raw;
       function cast_to_number(r raw) return number;
     end;";
    "CAST_TO_RAW" 1 => cast_to_raw,
    "CAST_TO_VARCHAR2" 1 => cast_to_varchar2,
    "LENGTH" 1 => length,
    "CONCAT" 1 => concat,
    "SUBSTR" 1 => substr,
    "REVERSE" 1 => reverse,
    "COMPARE" 1 => compare,
    "BIT_AND" 1 => bit_and,
    "BIT_OR" 1 => bit_or,
    "BIT_XOR" 1 => bit_xor,
    "CAST_FROM_BINARY_INTEGER" 1 => cast_from_binary_integer,
    "CAST_TO_BINARY_INTEGER" 1 => cast_to_binary_integer,
    "CAST_FROM_NUMBER" 1 => cast_from_number,
    "CAST_TO_NUMBER" 1 => cast_to_number,
}

fn cast_to_raw<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw(c.a.text(0).as_bytes().to_vec()))
}

fn cast_to_varchar2<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::text(String::from_utf8_lossy(c.a.raw(0)).into_owned()))
}

fn length<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.value(0) {
        Value::Null => Value::Null,
        _ => number(c.a.raw(0).len() as i64),
    })
}

fn concat<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw((0..4).flat_map(|i| c.a.raw(i).to_vec()).collect::<Vec<u8>>()))
}

fn substr<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(raw_substr(c.a.raw(0), c.a.integer(1), c.a.integer(2))?)
}

fn reverse<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw(c.a.raw(0).iter().rev().copied().collect::<Vec<u8>>()))
}

fn compare<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (x, y) = (c.a.raw(0), c.a.raw(1));
    let n = x.len().max(y.len());
    let at = (0..n).find(|i| x.get(*i).unwrap_or(&0) != y.get(*i).unwrap_or(&0));
    Ok(number(at.map_or(0, |i| i as i64 + 1)))
}

fn bit_and<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(raw_bits(c.a.raw(0), c.a.raw(1), |x, y| x & y))
}

fn bit_or<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(raw_bits(c.a.raw(0), c.a.raw(1), |x, y| x | y))
}

fn bit_xor<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(raw_bits(c.a.raw(0), c.a.raw(1), |x, y| x ^ y))
}

fn cast_from_binary_integer<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.integer(0) {
        Some(n) => Value::raw((n as i32).to_be_bytes().to_vec()),
        None => Value::Null,
    })
}

fn cast_to_binary_integer<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let r = c.a.raw(0);
    Ok(if r.is_empty() {
        Value::Null
    } else if r.len() > 4 {
        return Err(scalar::value_error("").into());
    } else {
        let wide = r.iter().fold(0u32, |n, b| n << 8 | u32::from(*b));
        number(if r.len() == 4 { i64::from(wide as i32) } else { i64::from(wide) })
    })
}

fn cast_from_number<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.value(0) {
        value @ Value::Number(_) => {
            let mut bytes = Vec::new();
            codec::encode(value, &mut bytes);
            Value::raw(bytes)
        }
        _ => Value::Null,
    })
}

fn cast_to_number<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.raw(0) {
        [] => Value::Null,
        bytes => Value::Number(Number::decode(bytes).ok_or_else(|| scalar::value_error(""))?),
    })
}

fn raw_substr(r: &[u8], pos: Option<i64>, len: Option<i64>) -> Run<Value> {
    if r.is_empty() {
        return Ok(Value::Null);
    }
    let pos = pos.unwrap_or(1);
    let start = match pos {
        p if p > 0 => p - 1,
        0 => 0,
        p => r.len() as i64 + p,
    };
    if start < 0 || start >= r.len() as i64 {
        return Err(scalar::value_error("").into());
    }
    let rest = &r[start as usize..];
    let n = len.unwrap_or(rest.len() as i64);
    if n < 1 || n > rest.len() as i64 {
        return Err(scalar::value_error("").into());
    }
    Ok(Value::raw(rest[..n as usize].to_vec()))
}

fn raw_bits(x: &[u8], y: &[u8], f: impl Fn(u8, u8) -> u8) -> Value {
    if x.is_empty() || y.is_empty() {
        return Value::Null;
    }
    let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
    let mut out: Vec<u8> = short.iter().zip(long).map(|(a, b)| f(*a, *b)).collect();
    out.extend_from_slice(&long[short.len()..]);
    Value::raw(out)
}
