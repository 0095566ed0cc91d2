//! Text functions. Positions and lengths count characters; in the variants ending in B they count bytes.

use crate::FnCtx;
use crate::args::{count, give, null, out_of_range};
use std::borrow::Cow;
use types::{Number, Ora, Result, Value};

/// Reads an argument as text; `None` for NULL.
pub(crate) fn text<'v>(ctx: &FnCtx<'_>, arg: &'v Value) -> Result<Option<Cow<'v, str>>> {
    arg.to_text(ctx.nls)
}

/// Writes the result into the buffer of `out`; an empty result becomes NULL.
fn write(out: &mut Value, f: impl FnOnce(&mut String)) -> Result<()> {
    f(out.text_buffer());
    out.normalize();
    Ok(())
}

pub(crate) fn unchanged(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    out.set(&args[0]);
    Ok(())
}

pub(crate) fn upper(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    write(out, |buffer| buffer.extend(s.chars().map(upper_char)))
}

pub(crate) fn lower(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    write(out, |buffer| buffer.extend(s.chars().map(lower_char)))
}

/// A character stays a single character: `ß` has no single capital and is kept.
fn upper_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(u), None) => u,
        _ => c,
    }
}

fn lower_char(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(l), None) => l,
        _ => c,
    }
}

pub(crate) fn initcap(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let mut start = true;
    write(out, |buffer| {
        buffer.extend(s.chars().map(|c| {
            let shown = if start { upper_char(c) } else { lower_char(c) };
            start = !c.is_alphanumeric();
            shown
        }));
    })
}

/// Returns start (from zero) and length of a SUBSTR in a text of `len` units; `None` if the result is NULL.
fn substr_range(len: usize, from: i64, count: Option<i64>) -> Option<(usize, usize)> {
    let len = i64::try_from(len).ok()?;
    let start = match from {
        0 => 0,
        1.. => from - 1,
        _ => len + from,
    };
    if start < 0 || start >= len {
        return None;
    }
    let count = count.unwrap_or(len).min(len - start);
    (count > 0).then_some((start as usize, count as usize))
}

/// Reads the optional length: `None` for NULL, `Some(None)` if it is not given.
fn length_arg(ctx: &FnCtx<'_>, args: &[Value]) -> Result<Option<Option<i64>>> {
    match args.get(2) {
        None => Ok(Some(None)),
        Some(arg) => Ok(count(ctx, arg)?.map(Some)),
    }
}

pub(crate) fn substr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(s), Some(from), Some(len)) = (text(ctx, &args[0])?, count(ctx, &args[1])?, length_arg(ctx, args)?) else {
        return null(out);
    };
    if s.is_ascii() {
        let Some((start, len)) = substr_range(s.len(), from, len) else { return null(out) };
        return write(out, |buffer| buffer.push_str(&s[start..start + len]));
    }
    let Some((start, len)) = substr_range(s.chars().count(), from, len) else { return null(out) };
    write(out, |buffer| buffer.extend(s.chars().skip(start).take(len)))
}

pub(crate) fn substrb(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(s), Some(from), Some(len)) = (text(ctx, &args[0])?, count(ctx, &args[1])?, length_arg(ctx, args)?) else {
        return null(out);
    };
    let Some((start, len)) = substr_range(s.len(), from, len) else { return null(out) };
    // Parts of a truncated character become blanks.
    let part = &s.as_bytes()[start..start + len];
    write(out, |buffer| {
        for chunk in part.utf8_chunks() {
            buffer.push_str(chunk.valid());
            buffer.extend(chunk.invalid().iter().map(|_| ' '));
        }
    })
}

/// Returns the position (from one) of an occurrence, or zero. Positions count units of `s`.
fn find<T: PartialEq>(s: &[T], wanted: &[T], from: i64, occurrence: i64) -> usize {
    let last_start = match s.len().checked_sub(wanted.len()) {
        Some(last) => last,
        None => return 0,
    };
    let matches = |at: &usize| s[*at..*at + wanted.len()] == *wanted;
    let nth = (occurrence - 1) as usize;
    let found = if from > 0 {
        ((from - 1) as usize..=last_start).filter(matches).nth(nth)
    } else {
        let start = s.len() as i64 + from;
        if start < 0 {
            return 0;
        }
        (0..=last_start.min(start as usize)).rev().filter(matches).nth(nth)
    };
    found.map_or(0, |at| at + 1)
}

fn instr_by(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value, bytes: bool) -> Result<()> {
    let (Some(s), Some(wanted)) = (text(ctx, &args[0])?, text(ctx, &args[1])?) else { return null(out) };
    let mut given = [1, 1];
    for (place, arg) in given.iter_mut().zip(&args[2..]) {
        match count(ctx, arg)? {
            Some(n) => *place = n,
            None => return null(out),
        }
    }
    let [from, occurrence] = given;
    if occurrence < 1 {
        return Err(out_of_range(&occurrence));
    }
    let at = if from == 0 {
        0
    } else if bytes || (s.is_ascii() && wanted.is_ascii()) {
        find(s.as_bytes(), wanted.as_bytes(), from, occurrence)
    } else {
        let (s, wanted): (Vec<char>, Vec<char>) = (s.chars().collect(), wanted.chars().collect());
        find(&s, &wanted, from, occurrence)
    };
    give(out, Number::from_i64(at as i64))
}

pub(crate) fn instr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    instr_by(ctx, args, out, false)
}

pub(crate) fn instrb(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    instr_by(ctx, args, out, true)
}

pub(crate) fn length(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if args[0] == Value::EmptyLob {
        return give(out, Number::from_i64(0));
    }
    if let Value::Raw(bytes) = &args[0] {
        return give(out, Number::from_i64(bytes.len() as i64));
    }
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    give(out, Number::from_i64(s.chars().count() as i64))
}

pub(crate) fn lengthb(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if let Value::Raw(bytes) = &args[0] {
        return give(out, Number::from_i64(bytes.len() as i64));
    }
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    give(out, Number::from_i64(s.len() as i64))
}

fn pad(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value, left: bool) -> Result<()> {
    let (Some(s), Some(width)) = (text(ctx, &args[0])?, count(ctx, &args[1])?) else { return null(out) };
    let filler = match args.get(2) {
        None => Cow::Borrowed(" "),
        Some(arg) => match text(ctx, arg)? {
            Some(filler) => filler,
            None => return null(out),
        },
    };
    if width <= 0 {
        return null(out);
    }
    let most = ctx.text_max.padded_bytes();
    let width = width.min(most as i64) as usize;
    let len = s.chars().count();
    write(out, |buffer| {
        // A character that does not fit is omitted, with everything after it.
        let mut room = most;
        let mut fits = |c: &char| {
            let fits = c.len_utf8() <= room;
            room = if fits { room - c.len_utf8() } else { 0 };
            fits
        };
        let filling = filler.chars().cycle().take(width.saturating_sub(len));
        if left {
            let of_text: usize = s.chars().take(width).map(char::len_utf8).sum();
            let mut room = most.saturating_sub(of_text);
            buffer.extend(filling.take_while(|c| {
                let fits = c.len_utf8() <= room;
                room = if fits { room - c.len_utf8() } else { 0 };
                fits
            }));
            buffer.extend(s.chars().take(width).take_while(fits));
        } else {
            buffer.extend(s.chars().take(width).take_while(&mut fits));
            buffer.extend(filling.take_while(fits));
        }
    })
}

pub(crate) fn lpad(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    pad(ctx, args, out, true)
}

pub(crate) fn rpad(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    pad(ctx, args, out, false)
}

fn trim_by(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value, left: bool, right: bool) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let set = match args.get(1) {
        None => Cow::Borrowed(" "),
        Some(arg) => match text(ctx, arg)? {
            Some(set) => set,
            None => return null(out),
        },
    };
    let mut rest = &*s;
    if left {
        rest = rest.trim_start_matches(|c| set.contains(c));
    }
    if right {
        rest = rest.trim_end_matches(|c| set.contains(c));
    }
    write(out, |buffer| buffer.push_str(rest))
}

pub(crate) fn ltrim(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    trim_by(ctx, args, out, true, false)
}

pub(crate) fn rtrim(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    trim_by(ctx, args, out, false, true)
}

/// TRIM(BOTH c FROM s) as TRIM(s, c): the engine converts LEADING and TRAILING into LTRIM and RTRIM.
///
/// # Errors
/// ORA-30001 if `c` has more than one character.
pub(crate) fn trim(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if let Some(arg) = args.get(1)
        && text(ctx, arg)?.is_some_and(|set| set.chars().count() != 1)
    {
        return Err(Ora::new(30001));
    }
    trim_by(ctx, args, out, true, true)
}

pub(crate) fn replace(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let Some(from) = text(ctx, &args[1])? else {
        return write(out, |buffer| buffer.push_str(&s));
    };
    let to = match args.get(2) {
        None => None,
        Some(arg) => text(ctx, arg)?,
    };
    let to = to.as_deref().unwrap_or("");
    if to.len() > from.len() {
        let added = s.matches(&*from).count().saturating_mul(to.len() - from.len());
        if s.len().saturating_add(added) > ctx.text_max.bytes() {
            return Err(Ora::new(1489)); // result of string concatenation is too long
        }
    }
    write(out, |buffer| {
        let mut parts = s.split(&*from);
        buffer.push_str(parts.next().unwrap_or(""));
        for part in parts {
            buffer.push_str(to);
            buffer.push_str(part);
        }
    })
}

pub(crate) fn translate(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(s), Some(from), Some(to)) = (text(ctx, &args[0])?, text(ctx, &args[1])?, text(ctx, &args[2])?) else {
        return null(out);
    };
    write(out, |buffer| {
        buffer.extend(s.chars().filter_map(|c| match from.chars().position(|x| x == c) {
            Some(at) => to.chars().nth(at),
            None => Some(c),
        }));
    })
}

pub(crate) fn reverse(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    write(out, |buffer| buffer.extend(s.chars().rev()))
}

pub(crate) fn concat(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if let (Value::Raw(x), Value::Raw(y)) = (&args[0], &args[1]) {
        *out = Value::raw([x.as_slice(), y].concat());
        return Ok(());
    }
    crate::ops::concat(&args[0], &args[1], ctx.text_max.bytes(), ctx.nls, out)
}

/// CHR(n): the character whose UTF-8 bytes are the base-256 digits of `n`.
pub(crate) fn chr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(n) = count(ctx, &args[0])? else { return null(out) };
    let code = u32::try_from(n).map_err(|_| crate::args::out_of_range(&n))?;
    let bytes = code.to_be_bytes();
    let skip = bytes.iter().take(3).take_while(|b| **b == 0).count();
    let c = std::str::from_utf8(&bytes[skip..]).ok().and_then(|s| s.chars().next());
    // A byte above 127 alone is not UTF-8; it denotes its Latin-1 character.
    let c = c.or_else(|| u8::try_from(code).ok().map(char::from)).ok_or_else(|| Ora::new(1426))?;
    write(out, |buffer| buffer.push(c))
}

pub(crate) fn ascii(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let end = s.chars().next().map_or(0, char::len_utf8);
    let code = s.as_bytes()[..end].iter().fold(0i64, |n, b| n << 8 | i64::from(*b));
    give(out, Number::from_i64(code))
}

/// ASCIISTR: characters outside ASCII become `\XXXX` for each UTF-16 unit.
pub(crate) fn asciistr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    use std::fmt::Write;
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    write(out, |buffer| {
        for c in s.chars() {
            if c.is_ascii() && c != '\\' {
                buffer.push(c);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(buffer, "\\{unit:04X}").expect("writing to a String does not fail");
            }
        }
    })
}

/// UNISTR: `\XXXX` is a UTF-16 unit, `\\` a backslash. ORA-30186 for any other character after a backslash.
pub(crate) fn unistr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let mut units: Vec<u16> = Vec::with_capacity(s.len());
    let mut rest = &*s;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        } else if let Some(tail) = rest.strip_prefix('\\') {
            units.push(u16::from(b'\\'));
            rest = tail;
        } else {
            let hex = rest.get(..4).filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
            let hex = hex.ok_or_else(|| Ora::new(30186))?;
            units.push(u16::from_str_radix(hex, 16).expect("four hexadecimal digits are a unit"));
            rest = &rest[4..];
        }
    }
    write(out, |buffer| buffer.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))))
}

/// SOUNDEX (Knuth, The Art of Computer Programming, volume 3, chapter 6).
pub(crate) fn soundex(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let mut letters = s.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next() else { return null(out) };
    let mut code = String::from(first);
    let mut last = soundex_digit(first);
    for c in letters {
        let digit = soundex_digit(c);
        if digit != '0' && digit != last {
            code.push(digit);
        }
        if !matches!(c, 'H' | 'W') {
            last = digit;
        }
        if code.len() == 4 {
            break;
        }
    }
    write(out, |buffer| {
        buffer.push_str(&code);
        buffer.extend(std::iter::repeat_n('0', 4 - code.len()));
    })
}

fn soundex_digit(c: char) -> char {
    match c {
        'B' | 'F' | 'P' | 'V' => '1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => '2',
        'D' | 'T' => '3',
        'L' => '4',
        'M' | 'N' => '5',
        'R' => '6',
        _ => '0',
    }
}
