//! Intervals as text.

use crate::datetime::{IntervalDs, IntervalYm};
use crate::error::{Ora, Result};
use std::fmt::Write;

const NANOS: i128 = 1_000_000_000;

/// Appends an INTERVAL DAY TO SECOND as SQL prints it: `+01 02:03:04.500000`, with at least `day_digits` digits of
/// days.
pub fn interval_ds_to_text(i: &IntervalDs, day_digits: u8, second_digits: u8, out: &mut String) {
    let nanos = i.to_nanos();
    let sign = if nanos < 0 { '-' } else { '+' };
    let rest = nanos.unsigned_abs();
    let seconds = rest / NANOS as u128;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let width = usize::from(day_digits);
    write!(out, "{sign}{days:0width$} {hours:02}:{minutes:02}:{:02}", seconds % 60)
        .expect("writing to a String does not fail");
    let digits = u32::from(second_digits.min(9));
    if digits > 0 {
        let fraction = rest % NANOS as u128 / 10u128.pow(9 - digits);
        write!(out, ".{fraction:0width$}", width = digits as usize).expect("writing to a String does not fail");
    }
}

/// Appends an INTERVAL YEAR TO MONTH as SQL prints it: `+01-06`.
pub fn interval_ym_to_text(i: &IntervalYm, year_digits: u8, out: &mut String) {
    let sign = if i.months < 0 { '-' } else { '+' };
    let months = i.months.unsigned_abs();
    let width = usize::from(year_digits);
    write!(out, "{sign}{:0width$}-{:02}", months / 12, months % 12).expect("writing to a String does not fail");
}

fn split_sign(text: &str) -> (i128, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (-1, text[1..].trim_start()),
        Some(b'+') => (1, text[1..].trim_start()),
        _ => (1, text),
    }
}

fn digits(text: &str, max: usize) -> Result<i128> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Ora::new(1867));
    }
    if text.len() > max {
        return Err(Ora::new(1873));
    }
    text.parse().map_err(|_| Ora::new(1867))
}

fn below(value: i128, end: i128, error: u32) -> Result<i128> {
    if value < end { Ok(value) } else { Err(Ora::new(error)) }
}

/// TO_DSINTERVAL: `D HH:MI:SS[.F]`, or the ISO form `P1DT2H3M4.5S`.
///
/// # Errors
/// ORA-01867 for a text that is not an interval; ORA-01850, ORA-01851 and ORA-01852 for fields out of range; ORA-01873
/// for too many days.
pub fn interval_ds_from_text(text: &str) -> Result<IntervalDs> {
    let invalid = || Ora::new(1867);
    let (sign, rest) = split_sign(text.trim());
    if let Some(iso) = rest.strip_prefix('P') {
        return IntervalDs::from_nanos(sign * iso_nanos(iso)?);
    }
    let (days, time) = rest.split_once(' ').ok_or_else(invalid)?;
    let mut fields = time.trim().splitn(3, ':');
    let mut field = || fields.next().ok_or_else(invalid);
    let days = digits(days, 9)?;
    let hours = below(digits(field()?, 2)?, 24, 1850)?;
    let minutes = below(digits(field()?, 2)?, 60, 1851)?;
    let nanos = seconds_to_nanos(field()?)?;
    below(nanos, 60 * NANOS, 1852)?;
    IntervalDs::from_nanos(sign * ((days * 86_400 + hours * 3600 + minutes * 60) * NANOS + nanos))
}

fn seconds_to_nanos(text: &str) -> Result<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut nanos = digits(whole, 9)? * NANOS;
    if !fraction.is_empty() {
        let value = digits(fraction, 9)?;
        nanos += value * 10i128.pow(9 - fraction.len() as u32);
    }
    Ok(nanos)
}

fn iso_nanos(text: &str) -> Result<i128> {
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let mut nanos = 0;
    let mut rest = date;
    if !rest.is_empty() {
        let days = rest.strip_suffix('D').ok_or_else(|| Ora::new(1867))?;
        nanos += digits(days, 9)? * 86_400 * NANOS;
    }
    rest = time;
    for (unit, seconds) in [('H', 3600), ('M', 60)] {
        if let Some((value, tail)) = rest.split_once(unit) {
            nanos += digits(value, 9)? * seconds * NANOS;
            rest = tail;
        }
    }
    if !rest.is_empty() {
        let seconds = rest.strip_suffix('S').ok_or_else(|| Ora::new(1867))?;
        nanos += seconds_to_nanos(seconds)?;
    }
    Ok(nanos)
}

/// TO_YMINTERVAL: `Y-M`, or the ISO form `P1Y6M`.
///
/// # Errors
/// ORA-01867 for a text that is not an interval, ORA-01843 for a month above 11, ORA-01873 for too many years.
pub fn interval_ym_from_text(text: &str) -> Result<IntervalYm> {
    let (sign, rest) = split_sign(text.trim());
    let months = if let Some(iso) = rest.strip_prefix('P') {
        let (years, tail) = iso.split_once('Y').unwrap_or(("0", iso));
        let months = if tail.is_empty() { "0" } else { tail.strip_suffix('M').ok_or_else(|| Ora::new(1867))? };
        digits(years, 9)? * 12 + digits(months, 9)?
    } else {
        let (years, months) = rest.split_once('-').ok_or_else(|| Ora::new(1867))?;
        digits(years, 9)? * 12 + below(digits(months, 2)?, 12, 1843)?
    };
    IntervalYm::new((sign * months) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in ["+01 02:03:04.500000", "-01 02:03:04.500000", "+00 00:00:00.000000", "+999999999 23:59:59.999999"]
        {
            let mut out = String::new();
            interval_ds_to_text(&interval_ds_from_text(text).unwrap(), 2, 6, &mut out);
            assert_eq!(out, text);
        }
        for text in ["+01-06", "-10-11", "+00-00"] {
            let mut out = String::new();
            interval_ym_to_text(&interval_ym_from_text(text).unwrap(), 2, &mut out);
            assert_eq!(out, text);
        }
        assert_eq!(interval_ds_from_text("P1DT2H3M4.5S").unwrap(), interval_ds_from_text("1 2:3:4.5").unwrap());
        assert_eq!(interval_ym_from_text("P1Y2M").unwrap().months, 14);
        for (text, error) in [
            ("x", 1867),
            ("1 24:00:00", 1850),
            ("1 00:60:00", 1851),
            ("1 00:00:60", 1852),
            ("1234567890 00:00:00", 1873),
            ("P1", 1867),
        ] {
            assert!(interval_ds_from_text(text).unwrap_err().is(error), "{text}");
        }
        for (text, error) in [("1", 1867), ("1-12", 1843), ("a-1", 1867)] {
            assert!(interval_ym_from_text(text).unwrap_err().is(error), "{text}");
        }
    }
}
