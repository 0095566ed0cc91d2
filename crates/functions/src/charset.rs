//! Functions on the characters of a text: composition, character sets, width, and the effect of NLS_SORT on case.

use crate::FnCtx;
use crate::args::null;
use crate::text::text;
use types::{Ora, Result, Value};
use unicode_normalization::UnicodeNormalization;

fn give_text(out: &mut Value, result: String) -> Result<()> {
    *out = Value::text(result);
    Ok(())
}

/// COMPOSE: Unicode's canonical composition.
pub(crate) fn compose(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    give_text(out, s.nfc().collect())
}

/// DECOMPOSE: Unicode's decomposition, CANONICAL or COMPATIBILITY.
///
/// # Errors
/// ORA-12702 for any other word.
pub(crate) fn decompose(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let form = args.get(1).map(|arg| text(ctx, arg)).transpose()?.flatten();
    match form.map(|form| form.to_ascii_uppercase()).as_deref() {
        None | Some("CANONICAL") => give_text(out, s.nfd().collect()),
        Some("COMPATIBILITY") => give_text(out, s.nfkd().collect()),
        Some(_) => Err(Ora::new(12702)),
    }
}

/// The relation of a character set of CONVERT to UTF-8, the character set of the database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    Ascii,
    /// ISO 8859-1: its bytes are the first code points.
    Latin1,
    /// Other sets in which ASCII characters have their ASCII codes.
    Superset,
}

fn charset(name: &str) -> Result<Charset> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "AL32UTF8" | "UTF8" => Charset::Utf8,
        "US7ASCII" => Charset::Ascii,
        "WE8ISO8859P1" => Charset::Latin1,
        "WE8ISO8859P9" | "WE8ISO8859P15" | "WE8MSWIN1252" | "WE8DEC" | "EE8ISO8859P2" | "EE8MSWIN1250"
        | "CL8MSWIN1251" | "CL8ISO8859P5" | "EL8ISO8859P7" | "TR8MSWIN1254" | "JA16SJIS" | "JA16EUC" | "ZHS16GBK"
        | "ZHT16BIG5" | "KO16MSWIN949" => Charset::Superset,
        _ => return Err(Ora::new(1482)),
    })
}

/// Oracle's numbers of character sets.
const CHARSETS: &[(&str, u32)] = &[
    ("US7ASCII", 1),
    ("WE8DEC", 2),
    ("WE8ISO8859P1", 31),
    ("EE8ISO8859P2", 32),
    ("CL8ISO8859P5", 35),
    ("EL8ISO8859P7", 37),
    ("WE8ISO8859P9", 39),
    ("WE8ISO8859P15", 46),
    ("EE8MSWIN1250", 170),
    ("CL8MSWIN1251", 171),
    ("TR8MSWIN1254", 177),
    ("WE8MSWIN1252", 178),
    ("JA16EUC", 830),
    ("JA16SJIS", 832),
    ("KO16MSWIN949", 846),
    ("ZHS16GBK", 852),
    ("ZHT16BIG5", 865),
    ("UTF8", 871),
    ("AL32UTF8", 873),
    ("AL16UTF16", 2000),
    ("AL16UTF16LE", 2002),
    ("CHAR_CS", 873),
    ("NCHAR_CS", 2000),
];

/// NLS_CHARSET_ID: NULL for an unknown name.
pub(crate) fn nls_charset_id(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(name) = text(ctx, &args[0])? else { return null(out) };
    let known = CHARSETS.iter().find(|(have, _)| name.eq_ignore_ascii_case(have));
    *out = known.map_or(Value::Null, |(_, id)| Value::Number((*id).into()));
    Ok(())
}

/// NLS_CHARSET_NAME: NULL for an unknown number.
pub(crate) fn nls_charset_name(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let id = args[0].to_number(ctx.nls)?.and_then(|n| n.trunc(0).as_i64());
    let known = CHARSETS.iter().find(|(_, have)| id == Some(i64::from(*have)));
    *out = known.map_or(Value::Null, |(name, _)| Value::text(*name));
    Ok(())
}

/// CONVERT(text, to [, from]), if the result is still text in UTF-8: into ASCII, into UTF-8, and ASCII text between all
/// sets that contain ASCII.
///
/// # Errors
/// ORA-01482 for an unknown character set; ORA-03001 if the result has bytes that are not UTF-8.
pub(crate) fn convert(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let set = |arg: Option<&Value>| match arg {
        Some(arg) => text(ctx, arg)?.map_or(Ok(Charset::Utf8), |name| charset(&name)),
        None => Ok(Charset::Utf8),
    };
    let (to, from) = (set(args.get(1))?, set(args.get(2))?);
    if s.is_ascii() || from == to {
        return give_text(out, s.into_owned());
    }
    let s: String = match from {
        Charset::Utf8 => s.into_owned(),
        Charset::Latin1 => s.bytes().map(char::from).collect(),
        Charset::Ascii => s.bytes().map(|b| if b.is_ascii() { char::from(b) } else { '?' }).collect(),
        Charset::Superset => return Err(Ora::unsupported()),
    };
    match to {
        Charset::Utf8 => give_text(out, s),
        Charset::Ascii => give_text(out, s.chars().map(ascii).collect()),
        Charset::Latin1 | Charset::Superset => Err(Ora::unsupported()),
    }
}

/// The letter without diacritics, or a question mark.
fn ascii(c: char) -> char {
    std::iter::once(c).nfd().next().filter(char::is_ascii).unwrap_or('?')
}

/// Distance between the printable ASCII characters and their full-width forms.
const FULL_WIDTH: u32 = 0xFF01 - 0x21;
const WIDE_BLANK: char = '\u{3000}';

/// TO_MULTI_BYTE: replaces single-byte characters by their full-width forms.
pub(crate) fn to_multi_byte(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let wide = |c: char| match c {
        ' ' => WIDE_BLANK,
        '!'..='~' => char::from_u32(u32::from(c) + FULL_WIDTH).unwrap_or(c),
        _ => c,
    };
    give_text(out, s.chars().map(wide).collect())
}

/// TO_SINGLE_BYTE: replaces full-width forms by single-byte characters.
pub(crate) fn to_single_byte(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let narrow = |c: char| match c {
        WIDE_BLANK => ' ',
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - FULL_WIDTH).unwrap_or(c),
        _ => c,
    };
    give_text(out, s.chars().map(narrow).collect())
}

/// The value of `NLS_SORT = value`.
///
/// # Errors
/// ORA-12702 for another parameter.
fn sort(ctx: &FnCtx<'_>, arg: Option<&Value>) -> Result<Option<String>> {
    let Some(given) = arg.map(|arg| text(ctx, arg)).transpose()?.flatten() else { return Ok(None) };
    let (name, value) = given.split_once('=').ok_or_else(|| Ora::new(12702))?;
    if !name.trim().eq_ignore_ascii_case("NLS_SORT") {
        return Err(Ora::new(12702));
    }
    Ok(Some(value.trim().to_ascii_uppercase()))
}

/// NLSSORT: for BINARY the bytes and a closing zero, for BINARY_CI those of the lower-case text, for BINARY_AI without
/// diacritics too.
///
/// # Errors
/// ORA-12702 for a linguistic sort, which is not supported.
pub(crate) fn nlssort(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(s) = text(ctx, &args[0])? else { return null(out) };
    let mut bytes = match sort(ctx, args.get(1))?.as_deref() {
        None | Some("BINARY") => s.as_bytes().to_vec(),
        Some("BINARY_CI") => s.to_lowercase().into_bytes(),
        Some("BINARY_AI") => {
            let is_mark = |c: &char| unicode_normalization::char::is_combining_mark(*c);
            s.nfd().filter(|c| !is_mark(c)).collect::<String>().to_lowercase().into_bytes()
        }
        Some(_) => return Err(Ora::new(12702)),
    };
    bytes.push(0);
    *out = Value::Raw(bytes);
    Ok(())
}

/// Parses the NLS_SORT argument of NLS_UPPER, NLS_LOWER and NLS_INITCAP; true for XGERMAN, in which `ß` has a capital.
fn is_german(ctx: &FnCtx<'_>, args: &[Value]) -> Result<bool> {
    match sort(ctx, args.get(1))?.as_deref() {
        None | Some("BINARY" | "BINARY_CI" | "BINARY_AI" | "GERMAN" | "WEST_EUROPEAN" | "GENERIC_M") => Ok(false),
        Some("XGERMAN") => Ok(true),
        Some(_) => Err(Ora::new(12702)),
    }
}

pub(crate) fn nls_upper(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let is_german = is_german(ctx, args)?;
    crate::text::upper(ctx, args, out)?;
    if is_german && let Value::Text(s) = out {
        *s = s.replace('ß', "SS");
    }
    Ok(())
}

pub(crate) fn nls_lower(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    is_german(ctx, args)?;
    crate::text::lower(ctx, args, out)
}

pub(crate) fn nls_initcap(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    is_german(ctx, args)?;
    crate::text::initcap(ctx, args, out)
}
