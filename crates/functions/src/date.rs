//! Date and time functions.

use crate::args::{count, give, null};
use crate::text::text;
use crate::{FnCtx, clock};
use types::{DAY_SECONDS, Date, Number, Ora, Place, Result, TimeZone, Timestamp, Value};

pub(crate) fn sysdate(ctx: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::Date(clock::sysdate(&ctx.clock.now()));
    Ok(())
}

/// The current time to `digits` decimals.
fn rounded(t: Timestamp, ctx: &FnCtx<'_>, args: &[Value]) -> Result<Timestamp> {
    let digits = match args.first() {
        Some(arg) => count(ctx, arg)?.filter(|d| (0..=9).contains(d)).ok_or_else(|| Ora::new(30088))?,
        None => 6,
    };
    let unit = 10u32.pow(9 - digits as u32);
    Ok(Timestamp::of_clock(t.clock(), t.nanos / unit * unit, t.place()))
}

pub(crate) fn systimestamp(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::Timestamp(rounded(ctx.clock.now(), ctx, args)?);
    Ok(())
}

pub(crate) fn current_date(ctx: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::Date(clock::current_date(&ctx.clock.now(), ctx.nls));
    Ok(())
}

pub(crate) fn current_timestamp(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::Timestamp(rounded(clock::session_now(&ctx.clock.now(), ctx.nls), ctx, args)?);
    Ok(())
}

pub(crate) fn localtimestamp(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    *out = Value::Timestamp(rounded(clock::local_timestamp(&ctx.clock.now(), ctx.nls), ctx, args)?);
    Ok(())
}

fn write_zone(zone: TimeZone, out: &mut Value) {
    use std::fmt::Write;
    write!(out.text_buffer(), "{zone}").expect("writing to a String does not fail");
}

pub(crate) fn dbtimezone(_: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    write_zone(TimeZone::DATABASE, out);
    Ok(())
}

pub(crate) fn sessiontimezone(ctx: &mut FnCtx<'_>, _: &[Value], out: &mut Value) -> Result<()> {
    write_zone(ctx.nls.zone, out);
    Ok(())
}

/// A time zone given as a value: its name, its offset as text or interval, or SESSIONTIMEZONE and DBTIMEZONE as words.
fn zone_of(ctx: &FnCtx<'_>, arg: &Value) -> Result<Option<TimeZone>> {
    if let Value::IntervalDs(i) = arg {
        let minutes = i.seconds / 60;
        let near = i16::try_from(minutes).ok().filter(|m| TimeZone::MINUTES.contains(m));
        return near.map(|m| Some(TimeZone::Offset(m))).ok_or_else(|| Ora::new(1874));
    }
    let Some(name) = text(ctx, arg)? else { return Ok(None) };
    Ok(Some(match name.trim() {
        name if name.eq_ignore_ascii_case("SESSIONTIMEZONE") => ctx.nls.zone,
        name if name.eq_ignore_ascii_case("DBTIMEZONE") => TimeZone::DATABASE,
        name => TimeZone::parse(name)?,
    }))
}

pub(crate) fn tz_offset(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    use std::fmt::Write;
    let Some(zone) = zone_of(ctx, &args[0])? else { return null(out) };
    let seconds = zone.seconds_at(ctx.clock.now().instant());
    // The offset of a region may have seconds, which the text omits.
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    write!(out.text_buffer(), "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        .expect("writing to a String does not fail");
    Ok(())
}

pub(crate) fn from_tz(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(t), Some(zone)) = (args[0].to_timestamp(ctx.nls)?, zone_of(ctx, &args[1])?) else { return null(out) };
    let date = t.date(ctx.nls.zone)?;
    *out = Value::Timestamp(Timestamp::in_zone(date, t.nanos, zone, ctx.nls.moment())?);
    Ok(())
}

/// `value AT TIME ZONE zone`, and without a zone `value AT LOCAL`.
pub(crate) fn at_time_zone(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(t) = args[0].to_timestamp(ctx.nls)? else { return null(out) };
    let zone = match args.get(1) {
        Some(zone) => zone_of(ctx, zone)?,
        None => Some(ctx.nls.zone),
    };
    let Some(zone) = zone else { return null(out) };
    let moved = ctx.nls.placed(&t)?.moved(Place::In(zone));
    // Checks the range of dates.
    moved.wall(ctx.nls.zone)?;
    *out = Value::Timestamp(moved);
    Ok(())
}

pub(crate) fn sys_extract_utc(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(t) = args[0].to_timestamp(ctx.nls)? else { return null(out) };
    *out = Value::Timestamp(ctx.nls.placed(&t)?.utc());
    Ok(())
}

/// The time zones of NEW_TIME, in half hours from UTC.
const OLD_ZONES: [(&str, i64); 18] = [
    ("AST", -8),
    ("ADT", -6),
    ("BST", -22),
    ("BDT", -20),
    ("CST", -12),
    ("CDT", -10),
    ("EST", -10),
    ("EDT", -8),
    ("GMT", 0),
    ("HST", -20),
    ("HDT", -18),
    ("MST", -14),
    ("MDT", -12),
    ("NST", -7),
    ("PST", -16),
    ("PDT", -14),
    ("YST", -18),
    ("YDT", -16),
];

pub(crate) fn new_time(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(date) = args[0].to_date(ctx.nls)? else { return null(out) };
    let half_hours = |arg: &Value| -> Result<Option<i64>> {
        let Some(name) = text(ctx, arg)? else { return Ok(None) };
        let known = OLD_ZONES.iter().find(|(zone, _)| zone.eq_ignore_ascii_case(name.trim()));
        known.map(|(_, half_hours)| Some(*half_hours)).ok_or_else(|| Ora::new(1857))
    };
    let (Some(from), Some(to)) = (half_hours(&args[1])?, half_hours(&args[2])?) else { return null(out) };
    *out = Value::Date(date.add_seconds((to - from) * 1800)?);
    Ok(())
}

pub(crate) fn add_months(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(date), Some(months)) = (args[0].to_date(ctx.nls)?, count(ctx, &args[1])?) else { return null(out) };
    *out = Value::Date(date.add_months(months)?);
    Ok(())
}

pub(crate) fn months_between(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(a), Some(b)) = (args[0].to_date(ctx.nls)?, args[1].to_date(ctx.nls)?) else { return null(out) };
    give(out, a.months_between(&b))
}

pub(crate) fn last_day(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(date) = args[0].to_date(ctx.nls)? else { return null(out) };
    *out = Value::Date(date.last_day());
    Ok(())
}

/// Returns 1 for Sunday to 7, from a number or from a name in NLS_DATE_LANGUAGE: letters after its abbreviation do
/// not count.
fn day_of_week(ctx: &FnCtx<'_>, arg: &Value) -> Result<Option<u32>> {
    if let Value::Number(_) = arg {
        return match count(ctx, arg)? {
            Some(n @ 1..=7) => Ok(Some(n as u32)),
            _ => Err(Ora::new(1846)),
        };
    }
    let Some(name) = text(ctx, arg)? else { return Ok(None) };
    let (name, language) = (name.trim(), ctx.nls.names());
    let find = |names: &[&str]| names.iter().position(|day| language.begins(name, day).is_some());
    let at = find(&language.days).or_else(|| find(&language.short_days));
    at.map(|at| Some(at as u32 + 1)).ok_or_else(|| Ora::new(1846))
}

pub(crate) fn next_day(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(date), Some(day)) = (args[0].to_date(ctx.nls)?, day_of_week(ctx, &args[1])?) else { return null(out) };
    let ahead = (day + 6 - date.day_of_week()) % 7 + 1;
    *out = Value::Date(date.add_seconds(i64::from(ahead) * DAY_SECONDS)?);
    Ok(())
}

/// EXTRACT(field FROM value) as EXTRACT('FIELD', value).
///
/// # Errors
/// ORA-30076 if the value has no such field.
pub(crate) fn extract(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(field) = text(ctx, &args[0])? else { return null(out) };
    if args[1].is_null() {
        return null(out);
    }
    let field = field.to_ascii_uppercase();
    let missing = || Ora::new(30076);
    let seconds = |nanos: i128| Number::from_scaled(nanos, -9);
    let n = match &args[1] {
        Value::IntervalYm(i) => match field.as_str() {
            "YEAR" => Number::from(i.months / 12),
            "MONTH" => Number::from(i.months % 12),
            _ => return Err(missing()),
        },
        Value::IntervalDs(i) => {
            let nanos = i.to_nanos();
            let whole = (nanos / 1_000_000_000) as i64;
            match field.as_str() {
                "DAY" => Number::from(whole / 86_400),
                "HOUR" => Number::from(whole / 3600 % 24),
                "MINUTE" => Number::from(whole / 60 % 60),
                "SECOND" => seconds(nanos % 60_000_000_000)?,
                _ => return Err(missing()),
            }
        }
        Value::Date(d) => {
            let f = d.fields();
            match field.as_str() {
                "YEAR" => Number::from(f.year),
                "MONTH" => Number::from(f.month),
                "DAY" => Number::from(f.day),
                _ => return Err(missing()),
            }
        }
        Value::Timestamp(t) => return extract_timestamp(t, &field, ctx, out),
        arg => return Err(arg.mismatch(&types::DataType::Date)),
    };
    give(out, n)
}

fn extract_timestamp(t: &Timestamp, field: &str, ctx: &FnCtx<'_>, out: &mut Value) -> Result<()> {
    // A timestamp with time zone has the date and time fields of UTC; one with local time zone has those of the
    // session's zone.
    let clock = match t.place() {
        Place::Session => t.date(ctx.nls.zone)?,
        _ => t.clock(),
    };
    let f = clock.fields();
    let wall = || match t.place() {
        Place::Nowhere => Err(Ora::new(30076)),
        _ => t.wall(ctx.nls.zone),
    };
    let n = match field {
        "YEAR" => Number::from(f.year),
        "MONTH" => Number::from(f.month),
        "DAY" => Number::from(f.day),
        "HOUR" => Number::from(f.hour),
        "MINUTE" => Number::from(f.minute),
        "SECOND" => Number::from_scaled(i128::from(f.second) * 1_000_000_000 + i128::from(t.nanos), -9)?,
        "TIMEZONE_HOUR" => Number::from(i64::from(wall()?.offset / 3600)),
        "TIMEZONE_MINUTE" => Number::from(i64::from(wall()?.offset / 60 % 60)),
        "TIMEZONE_REGION" => {
            match wall()?.zone {
                TimeZone::Region(region) => out.set_text(region.name()),
                TimeZone::Offset(_) => out.set_text("UNKNOWN"),
            }
            return Ok(());
        }
        "TIMEZONE_ABBR" => {
            out.set_text(wall()?.abbreviation.unwrap_or("UNK"));
            return Ok(());
        }
        _ => return Err(Ora::new(30076)),
    };
    give(out, n)
}

/// Reads the format of ROUND and TRUNC; the default is the day.
fn unit(ctx: &FnCtx<'_>, args: &[Value]) -> Result<Option<String>> {
    match args.get(1) {
        None => Ok(Some("DD".to_owned())),
        Some(arg) => Ok(text(ctx, arg)?.map(|unit| unit.to_ascii_uppercase())),
    }
}

/// The start of the unit that contains a date, and that of the next unit.
fn bounds(date: Date, unit: &str, nls: &types::Nls) -> Result<(Date, Date)> {
    let f = date.fields();
    let days = |from: Date, n: i64| from.add_seconds(n * DAY_SECONDS);
    let from_ymd = |year: i32, month: u32| Date::from_ymd(year.min(9999), month, 1);
    let weekday = |first: Date| i64::from((date.day_of_week() + 7 - first.day_of_week()) % 7);
    let start = match unit {
        "CC" | "SCC" => from_ymd((f.year - 1).div_euclid(100) * 100 + 1, 1)?,
        "SYYYY" | "YYYY" | "YEAR" | "SYEAR" | "YYY" | "YY" | "Y" => date.first_of_year(),
        "IYYY" | "IYY" | "IY" | "I" => iso_year(date.iso_week().0)?,
        "Q" => from_ymd(f.year, (f.month - 1) / 3 * 3 + 1)?,
        "MONTH" | "MON" | "MM" | "RM" => date.first_of_month(),
        "WW" => days(date.midnight(), -weekday(date.first_of_year()))?,
        "IW" => days(date.midnight(), -i64::from((date.day_of_week() + 5) % 7))?,
        "W" => days(date.midnight(), -weekday(date.first_of_month()))?,
        "DDD" | "DD" | "J" => date.midnight(),
        "DAY" | "DY" | "D" => days(date.midnight(), 1 - i64::from(nls.place().day_of_week(date.day_of_week())))?,
        "HH" | "HH12" | "HH24" => date.add_seconds(-i64::from(date.second_of_day() % 3600))?,
        "MI" => date.add_seconds(-i64::from(f.second))?,
        _ => return Err(Ora::new(1898)),
    };
    let end = match unit {
        "CC" | "SCC" => start.add_months(1200),
        "SYYYY" | "YYYY" | "YEAR" | "SYEAR" | "YYY" | "YY" | "Y" => start.add_months(12),
        "IYYY" | "IYY" | "IY" | "I" => iso_year(date.iso_week().0 + 1),
        "Q" => start.add_months(3),
        "MONTH" | "MON" | "MM" | "RM" => start.add_months(1),
        "WW" | "IW" | "W" | "DAY" | "DY" | "D" => days(start, 7),
        "DDD" | "DD" | "J" => days(start, 1),
        "HH" | "HH12" | "HH24" => start.add_seconds(3600),
        _ => start.add_seconds(60),
    };
    Ok((start, end.unwrap_or(start)))
}

/// The Monday of the first ISO week of a year.
fn iso_year(year: i32) -> Result<Date> {
    let fourth = Date::from_ymd(year, 1, 4)?;
    fourth.add_seconds(-i64::from((fourth.day_of_week() + 5) % 7) * DAY_SECONDS)
}

pub(crate) fn trunc(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(date), Some(unit)) = (args[0].to_date(ctx.nls)?, unit(ctx, args)?) else { return null(out) };
    *out = Value::Date(bounds(date, &unit, ctx.nls)?.0);
    Ok(())
}

/// Rounds up from noon, from the 16th, from 1 July, from the middle of a quarter's second month, or from half of any
/// other unit.
pub(crate) fn round(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(date), Some(unit)) = (args[0].to_date(ctx.nls)?, unit(ctx, args)?) else { return null(out) };
    let (start, end) = bounds(date, &unit, ctx.nls)?;
    let f = date.fields();
    let up = match unit.as_str() {
        "SYYYY" | "YYYY" | "YEAR" | "SYEAR" | "YYY" | "YY" | "Y" => f.month >= 7,
        "CC" | "SCC" => (f.year - 1).rem_euclid(100) >= 50,
        "Q" => (f.month - 1) % 3 == 2 || ((f.month - 1) % 3 == 1 && f.day >= 16),
        "MONTH" | "MON" | "MM" | "RM" => f.day >= 16,
        "IYYY" | "IYY" | "IY" | "I" => f.month >= 7,
        _ => 2 * date.seconds_since(&start) >= end.seconds_since(&start),
    };
    let rounded = if up && end == start {
        return Err(Ora::new(1841));
    } else if up {
        end
    } else {
        start
    };
    *out = Value::Date(rounded);
    Ok(())
}
