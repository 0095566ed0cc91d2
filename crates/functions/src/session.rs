//! Functions that return session information.

use crate::FnCtx;
use crate::args::{give, null};
use crate::text::text;
use types::{Number, Ora, Result, Timestamp, Value, text_length};

pub(crate) fn user(ctx: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    out.set_text(ctx.session.user());
    Ok(())
}

pub(crate) fn uid(ctx: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    give(out, Number::from(ctx.session.user_id()))
}

pub(crate) fn sys_guid(ctx: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    out.set_raw(&ctx.session.guid());
    Ok(())
}

/// SCN_TO_TIMESTAMP(n).
///
/// # Errors
/// ORA-08181 for a number that is not an SCN, or an SCN without a recorded time.
pub(crate) fn scn_to_timestamp(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(n) = args[0].to_number(ctx.nls)? else { return null(out) };
    let scn = n.to_i64().ok().and_then(|n| u64::try_from(n).ok()).ok_or_else(|| Ora::new(8181))?;
    *out = Value::Timestamp(ctx.session.scn_to_timestamp(scn)?);
    Ok(())
}

/// TIMESTAMP_TO_SCN(t).
///
/// # Errors
/// ORA-08180 for a time without a recorded SCN.
pub(crate) fn timestamp_to_scn(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let time = match &args[0] {
        Value::Null => return null(out),
        Value::Timestamp(t) => *t,
        Value::Date(date) => Timestamp::new(*date, 0),
        other => {
            let mut v = other.clone();
            types::DataType::TIMESTAMP_TZ.assign(&mut v, ctx.nls, &"")?;
            let Value::Timestamp(t) = v else { return Err(Ora::new(8186)) };
            t
        }
    };
    give(out, Number::from_i128(ctx.session.timestamp_to_scn(&time)?.into()))
}

/// Writes a USERENV parameter that the traits provide; false if it is another one.
fn common(ctx: &FnCtx<'_>, parameter: &str, out: &mut String) -> bool {
    use std::fmt::Write;
    let (session, nls) = (ctx.session, ctx.nls);
    match parameter {
        "USER" | "SESSION_USER" | "CURRENT_USER" => out.push_str(session.user()),
        "SESSION_USERID" | "CURRENT_USERID" | "SCHEMAID" => {
            write!(out, "{}", session.user_id()).expect("writing to a String does not fail")
        }
        "CURRENT_SCHEMA" => out.push_str(session.schema()),
        "SID" => write!(out, "{}", session.sid()).expect("writing to a String does not fail"),
        "LANG" => out.push_str(nls.short_language()),
        "LANGUAGE" => {
            write!(out, "{}_{}.AL32UTF8", nls.language, nls.territory).expect("writing to a String does not fail")
        }
        "NLS_DATE_FORMAT" => out.push_str(&nls.date_format),
        "NLS_DATE_LANGUAGE" => out.push_str(&nls.date_language),
        "NLS_TERRITORY" => out.push_str(&nls.territory),
        "NLS_CURRENCY" => out.push_str(&nls.currency),
        "NLS_SORT" => out.push_str(&nls.sort),
        "NLS_CALENDAR" => out.push_str("GREGORIAN"),
        _ => return false,
    }
    true
}

fn write(ctx: &FnCtx<'_>, namespace: &str, parameter: &str, out: &mut Value) -> Result<()> {
    let (namespace, parameter) = (namespace.trim().to_ascii_uppercase(), parameter.trim().to_ascii_uppercase());
    let buffer = out.text_buffer();
    let found = (namespace == "USERENV" && common(ctx, &parameter, buffer))
        || ctx.session.context(&namespace, &parameter, buffer)?;
    if found {
        out.normalize();
        Ok(())
    } else {
        null(out)
    }
}

/// SYS_CONTEXT(namespace, parameter, length).
///
/// # Errors
/// ORA-02003 for an unknown USERENV parameter.
pub(crate) fn sys_context(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(namespace), Some(parameter)) = (text(ctx, &args[0])?, text(ctx, &args[1])?) else {
        return Err(Ora::new(2003));
    };
    write(ctx, &namespace, &parameter, out)?;
    if let Some(limit) = args.get(2)
        && let (Some(limit), Value::Text(s)) = (crate::args::count(ctx, limit)?, &mut *out)
        && limit > 0
        && text_length(s, types::LenUnit::Byte) > limit as usize
    {
        let end = (0..=limit as usize).rev().find(|&at| s.is_char_boundary(at)).unwrap_or(0);
        s.truncate(end);
    }
    Ok(())
}

/// USERENV(parameter): the older form; SESSIONID, SID and ENTRYID are numbers.
pub(crate) fn userenv(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(parameter) = text(ctx, &args[0])? else { return Err(Ora::new(2003)) };
    write(ctx, "USERENV", &parameter, out)?;
    if ["SESSIONID", "SID", "ENTRYID"].iter().any(|name| name.eq_ignore_ascii_case(parameter.trim()))
        && let Some(n) = out.to_number(ctx.nls)?
    {
        return give(out, n);
    }
    Ok(())
}
