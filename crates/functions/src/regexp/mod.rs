//! REGEXP_LIKE, REGEXP_SUBSTR, REGEXP_INSTR, REGEXP_REPLACE, REGEXP_COUNT.
//!
//! The expressions are POSIX extended ones with the Perl additions that Oracle supports. Because of back-references,
//! automaton libraries cannot be used: a small backtracking matcher ([`matcher`]) runs a compiled program ([`parse`])
//! with a limit on its steps.

mod matcher;
mod parse;

use crate::FnCtx;
use crate::args::{give, null, out_of_range};
use crate::regexp::parse::{DOT_ALL, EXTENDED, IGNORE_CASE, MULTI_LINE};
use crate::text::text;
use matcher::{Found, Steps};
pub(crate) use parse::Regexp;
use std::borrow::Cow;
use types::{Number, Ora, Result, Value};

/// Reads the match parameter; the last of `i` and `c` counts. ORA-01760 for other letters.
fn flags(ctx: &FnCtx<'_>, arg: Option<&Value>) -> Result<u8> {
    let Some(arg) = arg else { return Ok(0) };
    let Some(letters) = text(ctx, arg)? else { return Ok(0) };
    letters.chars().try_fold(0, |flags, c| match c {
        'i' => Ok(flags | IGNORE_CASE),
        'c' => Ok(flags & !IGNORE_CASE),
        'n' => Ok(flags | DOT_ALL),
        'm' => Ok(flags | MULTI_LINE),
        'x' => Ok(flags | EXTENDED),
        _ => Err(Ora::new(1760)),
    })
}

/// Reads an optional whole number of at least `min`; `None` for NULL.
fn whole(ctx: &FnCtx<'_>, args: &[Value], at: usize, default: i64, min: i64) -> Result<Option<i64>> {
    let Some(arg) = args.get(at) else { return Ok(Some(default)) };
    match crate::args::count(ctx, arg)? {
        Some(n) if n < min => Err(out_of_range(&n)),
        n => Ok(n),
    }
}

/// The text and the pattern; `None` if one is NULL.
fn subject<'v>(ctx: &FnCtx<'_>, args: &'v [Value]) -> Result<Option<(Vec<char>, Cow<'v, str>)>> {
    let (Some(s), Some(pattern)) = (text(ctx, &args[0])?, text(ctx, &args[1])?) else { return Ok(None) };
    Ok(Some((s.chars().collect(), pattern)))
}

/// Where the search continues after a match; after an empty match one character further.
fn after(found: &Found) -> usize {
    let (start, end) = found.whole();
    if end == start { end + 1 } else { end }
}

/// Finds the n-th match from a position on; both count from one.
fn nth(regexp: &Regexp, s: &[char], position: i64, occurrence: i64, steps: &mut Steps<'_>) -> Result<Option<Found>> {
    let mut at = usize::try_from(position - 1).unwrap_or(usize::MAX);
    for n in 1.. {
        if at > s.len() {
            return Ok(None);
        }
        let Some(found) = regexp.find(s, at, steps)? else { return Ok(None) };
        if n == occurrence {
            return Ok(Some(found));
        }
        at = after(&found);
    }
    Ok(None)
}

pub(crate) fn like(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let flags = flags(ctx, args.get(2))?;
    let Some((s, pattern)) = subject(ctx, args)? else { return null(out) };
    let (session, regexp) = (ctx.session, ctx.cache.regexp(&pattern, flags)?);
    let check = || session.check_cancel();
    *out = Value::Boolean(regexp.find(&s, 0, &mut Steps::new(&check))?.is_some());
    Ok(())
}

pub(crate) fn count(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let flags = flags(ctx, args.get(3))?;
    let (Some((s, pattern)), Some(position)) = (subject(ctx, args)?, whole(ctx, args, 2, 1, 1)?) else {
        return null(out);
    };
    let (session, regexp) = (ctx.session, ctx.cache.regexp(&pattern, flags)?);
    let check = || session.check_cancel();
    let mut steps = Steps::new(&check);
    let (mut at, mut n) = ((position - 1) as usize, 0);
    while at < s.len() {
        let Some(found) = regexp.find(&s, at, &mut steps)? else { break };
        n += 1;
        at = after(&found);
    }
    give(out, Number::from_i64(n))
}

/// The subject's characters, and the range of the requested group.
type Located = (Vec<char>, Option<(usize, usize)>);

/// Evaluates position, occurrence and group of REGEXP_SUBSTR and REGEXP_INSTR, and finds the group in the text.
fn group(ctx: &mut FnCtx<'_>, args: &[Value], flags_at: usize) -> Result<Option<Located>> {
    let flags = flags(ctx, args.get(flags_at))?;
    let (Some((s, pattern)), Some(position), Some(occurrence), Some(group)) = (
        subject(ctx, args)?,
        whole(ctx, args, 2, 1, 1)?,
        whole(ctx, args, 3, 1, 1)?,
        whole(ctx, args, flags_at + 1, 0, 0)?,
    ) else {
        return Ok(None);
    };
    let (session, regexp) = (ctx.session, ctx.cache.regexp(&pattern, flags)?);
    let check = || session.check_cancel();
    let found = nth(regexp, &s, position, occurrence, &mut Steps::new(&check))?;
    let place = found.and_then(|found| found.group(group as usize));
    Ok(Some((s, place)))
}

pub(crate) fn substr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some((s, Some((start, end)))) = group(ctx, args, 4)? else { return null(out) };
    out.text_buffer().extend(&s[start..end]);
    out.normalize();
    Ok(())
}

pub(crate) fn instr(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(behind) = whole(ctx, args, 4, 0, 0)? else { return null(out) };
    if behind > 1 {
        return Err(out_of_range(&behind));
    }
    let Some((_, place)) = group(ctx, args, 5)? else { return null(out) };
    let at = place.map_or(0, |(start, end)| if behind == 1 { end + 1 } else { start + 1 });
    give(out, Number::from_i64(at as i64))
}

pub(crate) fn replace(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let flags = flags(ctx, args.get(5))?;
    let Some((s, pattern)) = subject(ctx, args)? else {
        // With an empty pattern nothing is replaced.
        out.set(&args[0]);
        return Ok(());
    };
    let to = match args.get(2) {
        Some(arg) => text(ctx, arg)?,
        None => None,
    };
    let to: Vec<char> = to.as_deref().unwrap_or("").chars().collect();
    let (Some(position), Some(occurrence)) = (whole(ctx, args, 3, 1, 1)?, whole(ctx, args, 4, 0, 0)?) else {
        return null(out);
    };
    let most = ctx.text_max.bytes();
    let (session, regexp) = (ctx.session, ctx.cache.regexp(&pattern, flags)?);
    let check = || session.check_cancel();
    let mut steps = Steps::new(&check);
    let buffer = out.text_buffer();
    let mut at = ((position - 1) as usize).min(s.len());
    buffer.extend(&s[..at]);
    let mut n = 0;
    while at <= s.len() {
        let Some(found) = regexp.find(&s, at, &mut steps)? else { break };
        n += 1;
        let (start, end) = found.whole();
        buffer.extend(&s[at..start]);
        if occurrence == 0 || n == occurrence {
            expand(&to, &s, &found, buffer);
        } else {
            buffer.extend(&s[start..end]);
        }
        at = end;
        if start == end {
            buffer.extend(s.get(at));
            at += 1;
        }
        if buffer.len() > most {
            return Err(Ora::new(1489)); // result of string concatenation is too long
        }
        if n == occurrence {
            break;
        }
    }
    buffer.extend(s.get(at..).unwrap_or_default());
    out.normalize();
    Ok(())
}

/// Writes the replacement: `\1` to `\9` are groups, `\\` a backslash.
fn expand(to: &[char], s: &[char], found: &Found, buffer: &mut String) {
    let mut rest = to;
    while let Some((&c, tail)) = rest.split_first() {
        rest = tail;
        match (c, tail.first()) {
            ('\\', Some(d @ '1'..='9')) => {
                let group = *d as usize - '0' as usize;
                if let Some((start, end)) = found.group(group) {
                    buffer.extend(&s[start..end]);
                }
                rest = &tail[1..];
            }
            ('\\', Some('\\')) => {
                buffer.push('\\');
                rest = &tail[1..];
            }
            _ => buffer.push(c),
        }
    }
}
