//! UTL_RAW.

use super::charset::Charset;
use super::package::*;
use crate::world::World;
use types::codec;

package! {
    "UTL_RAW",
    "package utl_raw is
       big_endian constant pls_integer := 1; little_endian constant pls_integer := 2;
       machine_endian constant pls_integer := 3;
       function cast_to_raw(c varchar2) return raw;
       function cast_to_varchar2(r raw) return varchar2;
       function cast_to_nvarchar2(r raw) return nvarchar2;
       function length(r raw) return number;
       function concat(r1 raw default null, r2 raw default null, r3 raw default null, r4 raw default null,
         r5 raw default null, r6 raw default null, r7 raw default null, r8 raw default null, r9 raw default null,
         r10 raw default null, r11 raw default null, r12 raw default null) return raw;
       function substr(r raw, pos binary_integer, len binary_integer default null) return raw;
       function translate(r raw, from_set raw, to_set raw) return raw;
       function transliterate(r raw, to_set raw default null, from_set raw default null, pad raw default null)
         return raw;
       function overlay(overlay_str raw, target raw, pos binary_integer default 1, len binary_integer default null,
         pad raw default null) return raw;
       function copies(r raw, n number) return raw;
       function xrange(start_byte raw default null, end_byte raw default null) return raw;
       function reverse(r raw) return raw;
       function compare(r1 raw, r2 raw, pad raw default null) return number;
       function convert(r raw, to_charset varchar2, from_charset varchar2) return raw;
       function bit_and(r1 raw, r2 raw) return raw;
       function bit_or(r1 raw, r2 raw) return raw;
       function bit_xor(r1 raw, r2 raw) return raw;
       function bit_complement(r raw) return raw;
       function cast_from_binary_integer(n binary_integer, endianess pls_integer default 1) return raw;
       function cast_to_binary_integer(r raw, endianess pls_integer default 1) return binary_integer;
       function cast_from_number(n number) return raw;
       function cast_to_number(r raw) return number;
       function cast_from_binary_float(n binary_float, endianess pls_integer default 1) return raw;
       function cast_to_binary_float(r raw, endianess pls_integer default 1) return binary_float;
       function cast_from_binary_double(n binary_double, endianess pls_integer default 1) return raw;
       function cast_to_binary_double(r raw, endianess pls_integer default 1) return binary_double;
     end;";
    "CAST_TO_RAW" 1 => cast_to_raw, "CAST_TO_VARCHAR2" 1 => cast_to_varchar2,
    "CAST_TO_NVARCHAR2" 1 => cast_to_nvarchar2, "LENGTH" 1 => length, "CONCAT" 1 => concat, "SUBSTR" 1 => substr,
    "TRANSLATE" 1 => translate, "TRANSLITERATE" 1 => transliterate, "OVERLAY" 1 => overlay, "COPIES" 1 => copies,
    "XRANGE" 1 => xrange, "REVERSE" 1 => reverse, "COMPARE" 1 => compare, "CONVERT" 1 => convert,
    "BIT_AND" 1 => bit_and, "BIT_OR" 1 => bit_or, "BIT_XOR" 1 => bit_xor, "BIT_COMPLEMENT" 1 => bit_complement,
    "CAST_FROM_BINARY_INTEGER" 1 => cast_from_binary_integer, "CAST_TO_BINARY_INTEGER" 1 => cast_to_binary_integer,
    "CAST_FROM_NUMBER" 1 => cast_from_number, "CAST_TO_NUMBER" 1 => cast_to_number,
    "CAST_FROM_BINARY_FLOAT" 1 => cast_from_binary_float, "CAST_TO_BINARY_FLOAT" 1 => cast_to_binary_float,
    "CAST_FROM_BINARY_DOUBLE" 1 => cast_from_binary_double, "CAST_TO_BINARY_DOUBLE" 1 => cast_to_binary_double,
}

/// The bytes of a number in the order of ENDIANESS, from or to that with the most significant byte first.
fn ordered(mut bytes: Vec<u8>, order: Option<i64>) -> Run<Vec<u8>> {
    match order {
        None | Some(1) => {}
        Some(2) => bytes.reverse(),
        Some(3) if cfg!(target_endian = "little") => bytes.reverse(),
        Some(3) => {}
        Some(_) => return Err(scalar::value_error("").into()),
    }
    Ok(bytes)
}

fn cast_to_raw<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw(c.a.text(0).as_bytes().to_vec()))
}

fn cast_to_varchar2<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    limited_text(String::from_utf8_lossy(c.a.raw(0)).into_owned())
}

fn length<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.value(0) {
        Value::Null => Value::Null,
        _ => number(c.a.raw(0).len() as i64),
    })
}

fn concat<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    limited_raw((0..12).flat_map(|i| c.a.raw(i).to_vec()).collect())
}

fn substr<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    raw_substr(c.a.raw(0), c.a.integer(1), c.a.integer(2))
}

fn reverse<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw(c.a.raw(0).iter().rev().copied().collect::<Vec<u8>>()))
}

fn compare<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (x, y) = (c.a.raw(0), c.a.raw(1));
    let n = x.len().max(y.len());
    let pad = c.a.raw(2).first().copied().unwrap_or(0);
    let at = (0..n).find(|i| x.get(*i).unwrap_or(&pad) != y.get(*i).unwrap_or(&pad));
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
        Some(n) => Value::raw(ordered((n as i32).to_be_bytes().to_vec(), c.a.integer(1))?),
        None => Value::Null,
    })
}

fn cast_to_binary_integer<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let r = ordered(c.a.raw(0).to_vec(), c.a.integer(1))?;
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

fn cast_to_nvarchar2<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let units = c.a.raw(0).chunks(2).map(|pair| match pair {
        [a, b] => u16::from_be_bytes([*a, *b]),
        _ => 0xfffd,
    });
    let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    limited_text(chars.collect())
}

/// Bytes of FROM_SET become those of TO_SET at the same place, or vanish without one; the first occurrence counts.
fn translate<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [r, from, to] = [0, 1, 2].map(|i| c.a.raw(i));
    if r.is_empty() || from.is_empty() || to.is_empty() {
        return Err(scalar::value_error("").into());
    }
    let map = |byte: &u8| match from.iter().position(|known| known == byte) {
        Some(at) => to.get(at).copied(),
        None => Some(*byte),
    };
    Ok(Value::raw(r.iter().filter_map(map).collect::<Vec<u8>>()))
}

/// Bytes of FROM_SET, by default all, become those of TO_SET at the same place, or PAD.
fn transliterate<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [r, to, from, pad] = [0, 1, 2, 3].map(|i| c.a.raw(i));
    if r.is_empty() {
        return Err(scalar::value_error("").into());
    }
    let pad = pad.first().copied().unwrap_or(0);
    let all: Vec<u8> = (0..=255).collect();
    let from = if from.is_empty() { &all[..] } else { from };
    let map = |byte: &u8| match from.iter().position(|known| known == byte) {
        Some(at) => to.get(at).copied().unwrap_or(pad),
        None => *byte,
    };
    Ok(Value::raw(r.iter().map(map).collect::<Vec<u8>>()))
}

fn overlay<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (over, target) = (c.a.raw(0), c.a.raw(1));
    let pos = c.a.integer(2).unwrap_or(1);
    let len = c.a.integer(3).unwrap_or(over.len() as i64);
    let pad = c.a.raw(4).first().copied().unwrap_or(0);
    if over.is_empty()
        || target.is_empty()
        || !(1..=VALUE_MAX as i64).contains(&pos)
        || !(0..=VALUE_MAX as i64).contains(&len)
    {
        return Err(scalar::value_error("").into());
    }
    let (begin, len) = (pos as usize - 1, len as usize);
    let mut out = target.to_vec();
    out.resize(out.len().max(begin), pad);
    let end = (begin + len).min(out.len());
    let put = over.iter().copied().chain(std::iter::repeat(pad)).take(len);
    out.splice(begin..end, put);
    limited_raw(out)
}

fn copies<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (r, n) = (c.a.raw(0), c.a.integer(1).unwrap_or(0));
    let n = usize::try_from(n).ok().filter(|n| *n > 0 && !r.is_empty());
    match n {
        Some(n) if r.len().checked_mul(n).is_some_and(|len| len <= VALUE_MAX) => Ok(Value::raw(r.repeat(n))),
        _ => Err(scalar::value_error("").into()),
    }
}

/// The bytes from one to another; beyond 255 they go on at 0.
fn xrange<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let first = c.a.raw(0).first().copied().unwrap_or(0);
    let last = c.a.raw(1).first().copied().unwrap_or(255);
    let count = usize::from(last.wrapping_sub(first)) + 1;
    Ok(Value::raw((0..count).map(|i| first.wrapping_add(i as u8)).collect::<Vec<u8>>()))
}

fn bit_complement<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw(c.a.raw(0).iter().map(|byte| !byte).collect::<Vec<u8>>()))
}

fn convert<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (to, from) = (Charset::named(c.a.text(1))?, Charset::named(c.a.text(2))?);
    if c.a.raw(0).is_empty() {
        return Err(scalar::value_error("").into());
    }
    let (text, _) = from.decode(c.a.raw(0));
    limited_raw(to.encode(&text).0)
}

/// The bytes of a floating-point number; NULL without one.
fn float_bytes<const N: usize>(c: &Args<'_>) -> Run<Option<[u8; N]>> {
    let bytes = ordered(c.raw(0).to_vec(), c.integer(1))?;
    match bytes.len() {
        0 => Ok(None),
        n if n == N => Ok(bytes.try_into().ok()),
        _ => Err(scalar::value_error("").into()),
    }
}

fn cast_from_binary_float<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.value(0) {
        Value::Float(n) => Value::raw(ordered(n.to_be_bytes().to_vec(), c.a.integer(1))?),
        _ => Value::Null,
    })
}

fn cast_to_binary_float<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(float_bytes(&c.a)?.map_or(Value::Null, |bytes| Value::Float(f32::from_be_bytes(bytes))))
}

fn cast_from_binary_double<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match c.a.value(0) {
        Value::Double(n) => Value::raw(ordered(n.to_be_bytes().to_vec(), c.a.integer(1))?),
        _ => Value::Null,
    })
}

fn cast_to_binary_double<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(float_bytes(&c.a)?.map_or(Value::Null, |bytes| Value::Double(f64::from_be_bytes(bytes))))
}
