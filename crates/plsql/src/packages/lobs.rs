//! DBMS_LOB.
//!
//! Positions and amounts count characters of a CLOB and bytes of a BLOB. A procedure that changes a LOB changes the row
//! of its locator ([`World::write_lob`]), or the temporary LOB itself; the locator has the new content afterwards. A
//! text or bytes in a variable of a LOB type is a temporary LOB made by the assignment.

use super::args::Args;
use crate::machine::{Run, scalar};
use crate::world::World;
use std::sync::Arc;
use types::{Lob, LobHome, Number, Ora, Result, Value};

/// The subprograms; each has an overload for CLOB and one for BLOB.
const NAMES: [&str; 20] = [
    "APPEND",
    "CLOSE",
    "COMPARE",
    "COPY",
    "CREATETEMPORARY",
    "ERASE",
    "FREETEMPORARY",
    "GETCHUNKSIZE",
    "GETLENGTH",
    "INSTR",
    "ISOPEN",
    "ISTEMPORARY",
    "OPEN",
    "READ",
    "SUBSTR",
    "TRIM",
    "WRITE",
    "WRITEAPPEND",
    "CONVERTTOBLOB",
    "CONVERTTOCLOB",
];
/// The most that one call reads or writes.
const BUFFER_MAX: usize = 32_767;
/// The result of GETCHUNKSIZE: the usable bytes of an Oracle block of 8 KB.
const CHUNK_BYTES: i64 = 8132;

/// The number of a subprogram.
pub(super) fn native(name: &str, overload: u32) -> Option<u32> {
    let at = NAMES.iter().position(|n| *n == name)? as u32;
    (1..=2).contains(&overload).then(|| at * 2 + overload - 1)
}

/// Whether a subprogram has that number.
pub(super) fn is_native(native: u32) -> bool {
    (native / 2) < NAMES.len() as u32
}

/// Runs a subprogram; OUT arguments are changed in place.
pub(super) fn run<W: World>(native: u32, w: &mut W, a: &mut Args<'_>) -> Run<Value> {
    let binary = native % 2 == 1;
    match NAMES[(native / 2) as usize] {
        "APPEND" => {
            let source = source(a, 1)?.clone();
            let edit = &mut |content: &mut Value| splice(content, binary, None, 0, &source);
            change(w, a, binary, edit)?;
        }
        "WRITEAPPEND" => {
            let part = buffer(a, (1, 2), binary)?;
            change(w, a, binary, &mut |content| splice(content, binary, None, 0, &part))?;
        }
        "WRITE" => {
            let at = place(a, 2)?;
            let part = buffer(a, (1, 3), binary)?;
            let cut = units(&part);
            change(w, a, binary, &mut |content| splice(content, binary, Some(at), cut, &part))?;
        }
        "COPY" => {
            let (amount, to, from) = (amount(a, 2)?, place(a, 3)?, place(a, 4)?);
            let source = source(a, 1)?;
            if from >= units(source) {
                return Err(Ora::new(22994).into());
            }
            let part = part_of(source, from, amount);
            let cut = units(&part);
            change(w, a, binary, &mut |content| splice(content, binary, Some(to), cut, &part))?;
        }
        "ERASE" => {
            let (amount, from) = (amount(a, 1)?, place(a, 2)?);
            let mut erased = 0;
            change(w, a, binary, &mut |content| {
                erased = amount.min(units(content).saturating_sub(from));
                let blank = filler(binary, erased);
                if erased > 0 { splice(content, binary, Some(from), erased, &blank) } else { Ok(()) }
            })?;
            a.set(1, number(erased));
        }
        "TRIM" => {
            let length = a.integer(1).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| wrong(2))?;
            change(w, a, binary, &mut |content| {
                if length > units(content) {
                    return Err(Ora::new(22926));
                }
                *content = part_of(content, 0, length);
                Ok(())
            })?;
        }
        "CREATETEMPORARY" => a.set(0, temporary(Value::EmptyLob, binary)),
        "FREETEMPORARY" => match a.take(0) {
            Value::Null => return Err(no_locator().into()),
            Value::Lob(lob) if lob.home != LobHome::Temporary => {
                a.set(0, Value::Lob(lob));
                return Err(Ora::new(22275).into());
            }
            _ => a.set(0, Value::Lob(Arc::new(Lob { content: Value::Null, binary, home: LobHome::Freed, open: None }))),
        },
        "OPEN" => {
            let writes = match a.integer(1) {
                Some(0) => false,
                Some(1) => true,
                _ => return Err(wrong(2).into()),
            };
            with_lob(a, binary, |lob| match lob.open.replace(writes) {
                None => Ok(()),
                before => {
                    lob.open = before;
                    Err(Ora::new(22293))
                }
            })?;
        }
        "CLOSE" => with_lob(a, binary, |lob| match lob.open.take() {
            Some(_) => Ok(()),
            None => Err(Ora::with(22289, &[&"CLOSE"])),
        })?,
        "ISOPEN" => {
            return Ok(match a.value(0) {
                Value::Null => Value::Null,
                Value::Lob(lob) => number(usize::from(lob.open.is_some())),
                _ => number(0),
            });
        }
        "ISTEMPORARY" => {
            return Ok(match a.value(0) {
                Value::Null => Value::Null,
                Value::Lob(lob) => number(usize::from(lob.home == LobHome::Temporary)),
                Value::EmptyLob => number(0),
                _ => number(1),
            });
        }
        "GETCHUNKSIZE" => {
            return Ok(match a.value(0) {
                Value::Null => Value::Null,
                _ => Value::Number(Number::from_i64(CHUNK_BYTES)),
            });
        }
        "GETLENGTH" => return Ok(content(a, 0)?.map_or(Value::Null, |lob| number(units(lob)))),
        "SUBSTR" => {
            let amount = if a.is_given(1) { amount(a, 1) } else { Ok(BUFFER_MAX) };
            let (Some(lob), Ok(amount), Ok(from)) = (content(a, 0)?, amount, start(a, 2)) else {
                return Ok(Value::Null);
            };
            if amount > BUFFER_MAX {
                return Ok(Value::Null);
            }
            let part = part_of(lob, from, amount);
            if matches!(&part, Value::Text(text) if text.len() > BUFFER_MAX) {
                return Err(scalar::value_error("character string buffer too small").into());
            }
            return Ok(if part == Value::EmptyLob { Value::Null } else { part });
        }
        "INSTR" => return Ok(instr(a)?.map_or(Value::Null, number)),
        "COMPARE" => return Ok(compare(a)?.map_or(Value::Null, |order| Value::Number(Number::from_i64(order)))),
        "READ" => {
            let (amount, from) = (amount(a, 1)?, place(a, 2)?);
            if amount > BUFFER_MAX {
                return Err(wrong(2).into());
            }
            let part = part_of(source(a, 0)?, from, amount);
            if part == Value::EmptyLob {
                return Err(Ora::new(1403).into());
            }
            a.set(1, number(units(&part)));
            a.set(3, part);
        }
        "CONVERTTOBLOB" => {
            let (amount, to, from) = (amount(a, 2)?, place(a, 3)?, place(a, 4)?);
            let charset = Charset::of(a, 5)?;
            let part = part_of(source(a, 1)?, from, amount);
            let Value::Text(text) = &part else { return Err(Ora::new(22994).into()) };
            let (bytes, lossy) = charset.encode(text);
            let (read, written) = (text.chars().count(), bytes.len());
            let bytes = Value::Raw(bytes);
            change(w, a, true, &mut |content| splice(content, true, Some(to), written, &bytes))?;
            converted(a, to + written, from + read, lossy);
        }
        _ => {
            let (amount, to, from) = (amount(a, 2)?, place(a, 3)?, place(a, 4)?);
            let charset = Charset::of(a, 5)?;
            let part = part_of(source(a, 1)?, from, amount);
            let Value::Raw(bytes) = &part else { return Err(Ora::new(22994).into()) };
            let (text, lossy) = charset.decode(bytes);
            let (read, written) = (bytes.len(), text.chars().count());
            let text = Value::Text(text);
            change(w, a, false, &mut |content| splice(content, false, Some(to), written, &text))?;
            converted(a, to + written, from + read, lossy);
        }
    }
    Ok(Value::Null)
}

fn number(n: usize) -> Value {
    Value::Number(Number::from_u64(n as u64))
}

fn temporary(content: Value, binary: bool) -> Value {
    Value::Lob(Arc::new(Lob::temporary(content, binary)))
}

/// The error for a NULL LOB.
fn no_locator() -> Ora {
    scalar::value_error("invalid LOB locator specified: ORA-22275")
}

fn wrong(argument: u32) -> Ora {
    Ora::with(21560, &[&argument])
}

/// The LOB to read; `None` for NULL.
fn content<'a>(a: &'a Args<'_>, at: usize) -> Result<Option<&'a Value>> {
    match a.value(at) {
        Value::Null => Ok(None),
        Value::Lob(lob) if lob.home == LobHome::Freed => Err(Ora::new(22275)),
        value => Ok(Some(value.content())),
    }
}

fn source<'a>(a: &'a Args<'_>, at: usize) -> Result<&'a Value> {
    content(a, at)?.ok_or_else(no_locator)
}

/// An amount, at least 1; an amount beyond the LOB stands for the rest.
fn amount(a: &Args<'_>, at: usize) -> Result<usize> {
    let n = a.number(at).ok_or_else(|| wrong(at as u32 + 1))?;
    if n < Number::from_i64(1) {
        return Err(wrong(at as u32 + 1));
    }
    Ok(n.trunc(0).as_i64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX))
}

/// An offset from 1 as an index from 0.
fn place(a: &Args<'_>, at: usize) -> Result<usize> {
    amount(a, at).map(|n| n - 1)
}

/// Like [`place`], for an offset that SQL may omit: the default is the first position.
fn start(a: &Args<'_>, at: usize) -> Result<usize> {
    if a.is_given(at) { place(a, at) } else { Ok(0) }
}

/// The first `amount` units of a buffer, which must have as many.
fn buffer(a: &Args<'_>, (amount_at, at): (usize, usize), binary: bool) -> Result<Value> {
    let wanted = amount(a, amount_at)?;
    let value = a.value(at).content();
    let fits = matches!((value, binary), (Value::Text(_), false) | (Value::Raw(_), true));
    if !fits || wanted > units(value) {
        return Err(wrong(amount_at as u32 + 1));
    }
    Ok(part_of(value, 0, wanted))
}

/// The length: characters of a text, bytes of a RAW.
fn units(content: &Value) -> usize {
    match content {
        Value::Text(text) => text.chars().count(),
        Value::Raw(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The byte index of character `n`, and the number of characters missing before it.
fn byte_of(text: &str, n: usize) -> (usize, usize) {
    if text.is_ascii() {
        return (n.min(text.len()), n.saturating_sub(text.len()));
    }
    match text.char_indices().nth(n) {
        Some((at, _)) => (at, 0),
        None => (text.len(), n - text.chars().count()),
    }
}

/// A part of a LOB; [`Value::EmptyLob`] for an empty part.
fn part_of(content: &Value, from: usize, count: usize) -> Value {
    match content {
        Value::Text(text) => {
            let rest = &text[byte_of(text, from).0..];
            match &rest[..byte_of(rest, count).0] {
                "" => Value::EmptyLob,
                part => Value::Text(part.to_owned()),
            }
        }
        Value::Raw(bytes) => {
            let rest = &bytes[from.min(bytes.len())..];
            match &rest[..count.min(rest.len())] {
                [] => Value::EmptyLob,
                part => Value::Raw(part.to_vec()),
            }
        }
        _ => Value::EmptyLob,
    }
}

/// Padding: blanks or zeros.
fn filler(binary: bool, count: usize) -> Value {
    if binary { Value::Raw(vec![0; count]) } else { Value::Text(" ".repeat(count)) }
}

/// Replaces `cut` units from `at` on, or appends at the end. A gap before `at` is padded.
///
/// # Errors
/// ORA-06502 for a LOB that would exceed the largest length.
fn splice(content: &mut Value, binary: bool, at: Option<usize>, cut: usize, part: &Value) -> Result<()> {
    if *content == Value::EmptyLob {
        *content = if binary { Value::Raw(Vec::new()) } else { Value::Text(String::new()) };
    }
    let too_long = |len: Option<usize>| len.is_none_or(|len| len > functions::LOB_MAX);
    let refused = || Err(scalar::value_error("LOB is longer than 32 megabytes"));
    match (&mut *content, part) {
        (Value::Text(text), part) => {
            let part = if let Value::Text(part) = part { part.as_str() } else { "" };
            let (begin, missing) = at.map_or((text.len(), 0), |at| byte_of(text, at));
            if too_long(text.len().checked_add(missing).and_then(|len| len.checked_add(part.len()))) {
                return refused();
            }
            if begin == text.len() {
                text.extend(std::iter::repeat_n(' ', missing));
                text.push_str(part);
            } else {
                let end = begin + byte_of(&text[begin..], cut).0;
                text.replace_range(begin..end, part);
            }
        }
        (Value::Raw(bytes), part) => {
            let part = if let Value::Raw(part) = part { part.as_slice() } else { &[] };
            let begin = at.unwrap_or(bytes.len());
            if too_long(begin.max(bytes.len()).checked_add(part.len())) {
                return refused();
            }
            if begin >= bytes.len() {
                bytes.resize(begin, 0);
                bytes.extend_from_slice(part);
            } else {
                let end = begin.saturating_add(cut).min(bytes.len());
                bytes.splice(begin..end, part.iter().copied());
            }
        }
        _ => return Err(Ora::new(22275)),
    }
    if units(content) == 0 {
        *content = Value::EmptyLob;
    }
    Ok(())
}

/// Changes the LOB in the first argument.
fn change<W: World>(
    w: &mut W,
    a: &mut Args<'_>,
    binary: bool,
    edit: &mut dyn FnMut(&mut Value) -> Result<()>,
) -> Result<()> {
    let mut lob = a.take(0);
    let result = change_value(w, &mut lob, binary, edit);
    a.set(0, lob);
    result
}

fn change_value<W: World>(
    w: &mut W,
    value: &mut Value,
    binary: bool,
    edit: &mut dyn FnMut(&mut Value) -> Result<()>,
) -> Result<()> {
    match value {
        Value::Null => return Err(no_locator()),
        Value::EmptyLob => return Err(Ora::new(22275)),
        Value::Lob(lob) => {
            if lob.open == Some(false) {
                return Err(Ora::new(22294));
            }
            match lob.home {
                LobHome::Freed => return Err(Ora::new(22275)),
                LobHome::Temporary => edit(&mut Arc::make_mut(lob).content)?,
                LobHome::Row(row) => {
                    let content = w.write_lob(&row, edit)?;
                    *value = Value::Lob(Arc::new(Lob { content, binary: lob.binary, home: lob.home, open: lob.open }));
                }
            }
        }
        _ => {
            let mut lob = Lob::temporary(std::mem::take(value), binary);
            let result = edit(&mut lob.content);
            *value = Value::Lob(Arc::new(lob));
            result?;
        }
    }
    Ok(())
}

/// Changes the session's state of the LOB in the first argument.
fn with_lob(a: &mut Args<'_>, binary: bool, f: impl FnOnce(&mut Lob) -> Result<()>) -> Result<()> {
    let mut value = a.take(0);
    if matches!(value, Value::Text(_) | Value::Raw(_)) {
        value = temporary(value, binary);
    }
    let result = match &mut value {
        Value::Null => Err(no_locator()),
        Value::Lob(lob) if lob.home != LobHome::Freed => f(Arc::make_mut(lob)),
        _ => Err(Ora::new(22275)),
    };
    a.set(0, value);
    result
}

/// INSTR; `None` for NULL and invalid positions.
fn instr(a: &Args<'_>) -> Result<Option<usize>> {
    let nth = if a.is_given(3) { amount(a, 3) } else { Ok(1) };
    let (Some(lob), Ok(from), Ok(nth)) = (content(a, 0)?, start(a, 2), nth) else { return Ok(None) };
    Ok(match (lob, a.value(1).content()) {
        (_, Value::Null | Value::EmptyLob) => None,
        (Value::Text(_), Value::Text(pattern)) if pattern.is_empty() => None,
        (Value::Raw(_), Value::Raw(pattern)) if pattern.is_empty() => None,
        (Value::Text(text), Value::Text(pattern)) => {
            let (begin, missing) = byte_of(text, from);
            let mut found = (begin, if missing > 0 { None } else { text[begin..].find(pattern.as_str()) });
            for _ in 1..nth {
                let Some(at) = found.1 else { break };
                let first = text[found.0 + at..].chars().next().map_or(1, char::len_utf8);
                let next = found.0 + at + first;
                found = (next, text[next..].find(pattern.as_str()));
            }
            Some(found.1.map_or(0, |at| text[..found.0 + at].chars().count() + 1))
        }
        (Value::Raw(bytes), Value::Raw(pattern)) => {
            let rest = bytes.get(from..).unwrap_or_default();
            let mut places = rest.windows(pattern.len()).enumerate().filter(|(_, part)| part == pattern);
            Some(places.nth(nth - 1).map_or(0, |(at, _)| from + at + 1))
        }
        _ => Some(0),
    })
}

/// COMPARE: 0 for equal parts; `None` for NULL and invalid positions.
fn compare(a: &Args<'_>) -> Result<Option<i64>> {
    let (Some(x), Some(y)) = (content(a, 0)?, content(a, 1)?) else { return Ok(None) };
    let amount = if a.is_given(2) { amount(a, 2) } else { Ok(usize::MAX) };
    let (Ok(amount), Ok(from), Ok(other)) = (amount, start(a, 3), start(a, 4)) else { return Ok(None) };
    let order = match (x, y) {
        (Value::Text(_) | Value::EmptyLob, Value::Text(_) | Value::EmptyLob) => {
            let (x, y) = (part_of(x, from, amount), part_of(y, other, amount));
            let text = |v: &Value| if let Value::Text(text) = v { text.clone() } else { String::new() };
            text(&x).cmp(&text(&y))
        }
        _ => {
            let (x, y) = (part_of(x, from, amount), part_of(y, other, amount));
            let bytes = |v: &Value| if let Value::Raw(bytes) = v { bytes.clone() } else { Vec::new() };
            bytes(&x).cmp(&bytes(&y))
        }
    };
    Ok(Some(order as i64))
}

/// Sets the OUT arguments of a conversion: the next offsets, and the warning about lost characters.
fn converted(a: &mut Args<'_>, to: usize, from: usize, lossy: bool) {
    a.set(3, number(to + 1));
    a.set(4, number(from + 1));
    a.set(7, number(usize::from(lossy)));
}

/// A character set for conversions of LOBs.
#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
    Utf16 { little: bool },
}

impl Charset {
    /// # Errors
    /// ORA-01482 for an unknown number.
    fn of(a: &Args<'_>, at: usize) -> Result<Charset> {
        match a.integer(at) {
            // DEFAULT_CSID is the database character set.
            Some(0 | 871 | 873) => Ok(Charset::Utf8),
            Some(1) => Ok(Charset::Ascii),
            Some(31) => Ok(Charset::Latin1),
            Some(2000) => Ok(Charset::Utf16 { little: false }),
            Some(2002) => Ok(Charset::Utf16 { little: true }),
            _ => Err(Ora::new(1482)),
        }
    }

    /// The bytes of a text, and whether a character could not be encoded.
    fn encode(self, text: &str) -> (Vec<u8>, bool) {
        let narrow = |most: u32| {
            let byte = |c: char| if u32::from(c) <= most { c as u8 } else { b'?' };
            (text.chars().map(byte).collect(), text.chars().any(|c| u32::from(c) > most))
        };
        match self {
            Charset::Utf8 => (text.as_bytes().to_vec(), false),
            Charset::Ascii => narrow(0x7f),
            Charset::Latin1 => narrow(0xff),
            Charset::Utf16 { little } => {
                let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
                (text.encode_utf16().flat_map(bytes).collect(), false)
            }
        }
    }

    /// The text of bytes, and whether some of them were invalid.
    fn decode(self, bytes: &[u8]) -> (String, bool) {
        match self {
            Charset::Utf8 => {
                let text = String::from_utf8_lossy(bytes);
                let lossy = matches!(text, std::borrow::Cow::Owned(_));
                (text.into_owned(), lossy)
            }
            Charset::Ascii => {
                let char_of = |b: &u8| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER };
                (bytes.iter().map(char_of).collect(), !bytes.is_ascii())
            }
            Charset::Latin1 => (bytes.iter().map(|b| char::from(*b)).collect(), false),
            Charset::Utf16 { little } => {
                let unit = |pair: &[u8]| match (pair, little) {
                    ([a, b], false) => u16::from_be_bytes([*a, *b]),
                    ([a, b], true) => u16::from_le_bytes([*a, *b]),
                    _ => 0xfffd,
                };
                let mut lossy = bytes.len() % 2 == 1;
                let chars = char::decode_utf16(bytes.chunks(2).map(unit));
                let text = chars.map(|c| {
                    lossy |= c.is_err();
                    c.unwrap_or(char::REPLACEMENT_CHARACTER)
                });
                let text = text.collect();
                (text, lossy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spliced(before: &str, at: Option<usize>, cut: usize, part: &str) -> Value {
        let mut content = if before.is_empty() { Value::EmptyLob } else { Value::text(before) };
        splice(&mut content, false, at, cut, &Value::text(part)).unwrap();
        content
    }

    #[test]
    fn writes_count_characters_of_a_clob() {
        assert_eq!(spliced("", None, 0, "ab"), Value::text("ab"));
        assert_eq!(spliced("äöü", Some(1), 1, "xy"), Value::text("äxyü"));
        assert_eq!(spliced("äöü", Some(2), 5, "x"), Value::text("äöx"));
        assert_eq!(spliced("ä", Some(3), 1, "x"), Value::text("ä  x"));
        assert_eq!(part_of(&Value::text("äöü"), 1, 1), Value::text("ö"));
        assert_eq!(part_of(&Value::text("äöü"), 3, 1), Value::EmptyLob);
        assert_eq!(part_of(&Value::text("äöü"), 1, usize::MAX), Value::text("öü"));
    }

    #[test]
    fn gaps_in_bytes_are_padded_with_zeros() {
        let mut content = Value::EmptyLob;
        splice(&mut content, true, Some(2), 1, &Value::Raw(vec![7])).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 0, 7]));
        splice(&mut content, true, Some(1), 1, &Value::Raw(vec![8])).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 8, 7]));
        splice(&mut content, true, Some(2), 4, &Value::Raw(vec![1, 2])).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 8, 1, 2]));
    }

    #[test]
    fn a_lob_beyond_the_largest_length_is_refused() {
        let mut content = Value::Raw(vec![1]);
        let refused = splice(&mut content, true, Some(functions::LOB_MAX), 1, &Value::Raw(vec![1]));
        assert!(refused.unwrap_err().is(6502));
        assert_eq!(content, Value::Raw(vec![1]));
        let mut content = Value::text("x");
        assert!(splice(&mut content, false, Some(usize::MAX), 1, &Value::text("x")).unwrap_err().is(6502));
    }

    #[test]
    fn texts_survive_conversion_to_each_character_set() {
        for charset in [Charset::Utf8, Charset::Utf16 { little: false }, Charset::Utf16 { little: true }] {
            let (bytes, lossy) = charset.encode("aä😀");
            assert!(!lossy);
            assert_eq!(charset.decode(&bytes), ("aä😀".to_owned(), false));
        }
        assert_eq!(Charset::Latin1.encode("aä😀"), (vec![b'a', 0xe4, b'?'], true));
        assert!(Charset::Utf8.decode(&[b'a', 0xff]).1);
        assert!(Charset::Utf16 { little: false }.decode(&[0, b'a', 0]).1);
    }
}
