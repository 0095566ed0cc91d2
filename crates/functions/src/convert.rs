//! Conversions with and without a format model.

use crate::FnCtx;
use crate::args::{give, null, number};
use crate::text::text;
use std::borrow::Cow;
use types::{DataType, IntervalDs, IntervalYm, Nls, Number, Ora, Result, Timestamp, Value, format};

/// Splits an unquoted value from the settings after it. The name of a language or territory may have blanks, so that
/// the value ends before the next `NLS_`.
fn unquoted(text: &str) -> (&str, &str) {
    let ends = text.match_indices(' ').map(|(at, _)| at);
    let mut ends = ends.filter(|at| text[*at..].trim_start().get(..4).is_some_and(|s| s.eq_ignore_ascii_case("NLS_")));
    let (value, after) = text.split_at(ends.next().unwrap_or(text.len()));
    (value.trim_end(), after)
}

/// The session's settings, overridden by those of an `'NLS_…=…'` argument.
fn with_nls<'a>(ctx: &FnCtx<'a>, args: &[Value]) -> Result<Cow<'a, Nls>> {
    let Some(arg) = args.get(2) else { return Ok(Cow::Borrowed(ctx.nls)) };
    let Some(given) = text(ctx, arg)? else { return Ok(Cow::Borrowed(ctx.nls)) };
    let mut nls = ctx.nls.clone();
    let mut rest = given.trim();
    while !rest.is_empty() {
        let (name, tail) = rest.split_once('=').ok_or_else(|| Ora::new(12702))?;
        let tail = tail.trim_start();
        let (value, after) = match tail.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').ok_or_else(|| Ora::new(12702))?,
            None => unquoted(tail),
        };
        match name.trim().to_ascii_uppercase().as_str() {
            "NLS_NUMERIC_CHARACTERS" => {
                let mut chars = value.chars();
                match (chars.next(), chars.next(), chars.next()) {
                    (Some(decimal), Some(group), None) if decimal != group => {
                        (nls.decimal, nls.group) = (decimal, group)
                    }
                    _ => return Err(Ora::new(12702)),
                }
            }
            "NLS_CURRENCY" => nls.currency = value.to_owned(),
            "NLS_DUAL_CURRENCY" => nls.dual_currency = value.to_owned(),
            "NLS_CALENDAR" if value.eq_ignore_ascii_case("GREGORIAN") => {}
            "NLS_ISO_CURRENCY" => {
                nls.iso_currency = types::iso_currency(value).ok_or_else(|| Ora::new(12702))?.to_owned();
            }
            "NLS_DATE_LANGUAGE" => {
                let language = types::Language::named(value.trim()).ok_or_else(|| Ora::new(12702))?;
                nls.date_language = language.name.to_owned();
            }
            _ => return Err(Ora::new(12702)),
        }
        rest = after.trim_start();
    }
    Ok(Cow::Owned(nls))
}

/// Reads the format argument: `None` for NULL, `Some(None)` if it is not given.
fn model<'v>(ctx: &FnCtx<'_>, args: &'v [Value]) -> Result<Option<Option<Cow<'v, str>>>> {
    match args.get(1) {
        None => Ok(Some(None)),
        Some(arg) => Ok(text(ctx, arg)?.map(Some)),
    }
}

pub(crate) fn to_char(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if args[0].is_null() {
        return null(out);
    }
    let nls = with_nls(ctx, args)?;
    let Some(model) = model(ctx, args)? else { return null(out) };
    let Some(model) = model else {
        let buffer = out.text_buffer();
        args[0].write_text(&nls, buffer)?;
        out.normalize();
        return Ok(());
    };
    let buffer = out.text_buffer();
    match &args[0] {
        Value::Date(d) => format::date_to_char(d, &model, &nls, buffer)?,
        Value::Timestamp(t) => format::timestamp_to_char(t, &model, &nls, buffer)?,
        Value::IntervalDs(_) | Value::IntervalYm(_) | Value::Rowid(_) | Value::Raw(_) => {
            args[0].write_text(&nls, buffer)?
        }
        arg => {
            if let Some(n) = arg.to_number(&nls)? {
                format::number_to_char(&n, &model, &nls, buffer)?
            }
        }
    }
    out.normalize();
    Ok(())
}

/// TO_CHAR(value, precision of the leading field, precision of fractional seconds, model, settings).
pub(crate) fn to_char_of_digits(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let [value, leading, fraction, rest @ ..] = args else { return null(out) };
    if value.is_null() {
        return null(out);
    }
    let digits = |arg: &Value| arg.to_number(ctx.nls).map(|n| n.and_then(|n| n.as_i64()).unwrap_or_default() as u8);
    let (leading, fraction) = (digits(leading)?, digits(fraction)?);
    let mut usual = vec![value.clone()];
    usual.extend_from_slice(rest);
    let nls = with_nls(ctx, &usual)?;
    let Some(model) = model(ctx, &usual)? else { return null(out) };
    let buffer = out.text_buffer();
    match value {
        Value::Timestamp(t) => {
            let default = if t.zone().is_some() { &nls.timestamp_tz_format } else { &nls.timestamp_format };
            format::timestamp_of_digits(t, model.as_deref().unwrap_or(default), fraction, &nls, buffer)?;
        }
        Value::IntervalDs(i) => format::interval_ds_to_text(i, leading, fraction, buffer),
        Value::IntervalYm(i) => format::interval_ym_to_text(i, leading, buffer),
        other => other.write_text(&nls, buffer)?,
    }
    out.normalize();
    Ok(())
}

pub(crate) fn to_number(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if args[0].is_null() {
        return null(out);
    }
    let nls = with_nls(ctx, args)?;
    let Some(model) = model(ctx, args)? else { return null(out) };
    match (&args[0], model) {
        (Value::Text(s), Some(model)) => give(out, format::number_from_text(s, &model, &nls)?),
        (arg @ Value::Raw(_), Some(model)) => match text(ctx, arg)? {
            Some(s) => give(out, format::number_from_text(&s, &model, &nls)?),
            None => null(out),
        },
        (arg, _) => match arg.to_number(&nls)? {
            Some(n) => give(out, n),
            None => null(out),
        },
    }
}

pub(crate) fn to_date(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if args[0].is_null() {
        return null(out);
    }
    let nls = with_nls(ctx, args)?;
    let Some(model) = model(ctx, args)? else { return null(out) };
    let date = match (&args[0], model) {
        // As in Oracle, a date given to TO_DATE is converted to text and back.
        (arg @ (Value::Date(_) | Value::Timestamp(_)), None) => arg.to_date(&nls)?,
        (arg, Some(model)) => match text(ctx, arg)? {
            Some(s) => Some(format::date_from_text(&s, &model, &nls)?),
            None => None,
        },
        (arg, None) => match text(ctx, arg)? {
            Some(s) => Some(format::date_from_text(&s, &nls.date_format, &nls)?),
            None => None,
        },
    };
    *out = date.map_or(Value::Null, Value::Date);
    Ok(())
}

fn read_timestamp(ctx: &FnCtx<'_>, args: &[Value], zoned: bool) -> Result<Option<Timestamp>> {
    if args[0].is_null() {
        return Ok(None);
    }
    let nls = with_nls(ctx, args)?;
    let Some(model) = model(ctx, args)? else { return Ok(None) };
    if let (None, arg @ (Value::Date(_) | Value::Timestamp(_))) = (&model, &args[0]) {
        return arg.to_timestamp(&nls);
    }
    let Some(s) = text(ctx, &args[0])? else { return Ok(None) };
    let default = if zoned { &nls.timestamp_tz_format } else { &nls.timestamp_format };
    format::timestamp_from_text(&s, model.as_deref().unwrap_or(default), &nls).map(Some)
}

pub(crate) fn to_timestamp(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let t = read_timestamp(ctx, args, false)?;
    *out = match t {
        Some(t) => Value::Timestamp(Timestamp::new(t.date(ctx.nls.zone)?, t.nanos)),
        None => Value::Null,
    };
    Ok(())
}

pub(crate) fn to_timestamp_tz(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let t = read_timestamp(ctx, args, true)?;
    *out = t.map(|t| ctx.nls.placed(&t)).transpose()?.map_or(Value::Null, Value::Timestamp);
    Ok(())
}

pub(crate) fn to_dsinterval(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = args[0].to_interval_ds()?.map_or(Value::Null, Value::IntervalDs);
    Ok(())
}

pub(crate) fn to_yminterval(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = args[0].to_interval_ym()?.map_or(Value::Null, Value::IntervalYm);
    Ok(())
}

/// Reads the number and the unit of an interval function; returns the number multiplied by the size of the unit.
fn units(ctx: &FnCtx<'_>, args: &[Value], sizes: &[(&str, i64)]) -> Result<Option<Number>> {
    let (Some(n), Some(unit)) = (number(ctx, &args[0])?, text(ctx, &args[1])?) else { return Ok(None) };
    let unit = unit.trim();
    let size = sizes.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let (_, size) = size.ok_or_else(|| Ora::new(1760))?;
    n.mul(&Number::from_i64(*size)).map(Some)
}

pub(crate) fn numtodsinterval(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let sizes = [("DAY", 86_400), ("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1)];
    let Some(seconds) = units(ctx, args, &sizes)? else { return null(out) };
    *out = Value::IntervalDs(IntervalDs::from_seconds(&seconds)?);
    Ok(())
}

pub(crate) fn numtoyminterval(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(months) = units(ctx, args, &[("YEAR", 12), ("MONTH", 1)])? else { return null(out) };
    *out = Value::IntervalYm(IntervalYm::new(months.to_i64().map_err(|_| Ora::new(1873))?)?);
    Ok(())
}

pub(crate) fn to_binary_double(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = args[0].to_double(ctx.nls)?.map_or(Value::Null, Value::Double);
    Ok(())
}

pub(crate) fn to_binary_float(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = args[0].to_double(ctx.nls)?.map_or(Value::Null, |x| Value::Float(x as f32));
    Ok(())
}

pub(crate) fn to_clob(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let buffer = out.text_buffer();
    args[0].write_text(ctx.nls, buffer)?;
    out.normalize();
    Ok(())
}

pub(crate) fn to_blob(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = args[0].to_raw()?.map_or(Value::Null, Value::raw);
    Ok(())
}

pub(crate) fn rowidtochar(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(rowid) = args[0].to_rowid()? else { return null(out) };
    let value = Value::Rowid(rowid);
    value.write_text(ctx.nls, out.text_buffer())
}

pub(crate) fn chartorowid(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let mut value = args[0].clone();
    DataType::Rowid.cast(&mut value, ctx.nls)?;
    *out = value;
    Ok(())
}
