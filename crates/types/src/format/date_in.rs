//! TO_DATE and TO_TIMESTAMP: conversion of text by a date format model, with Oracle's leniency.
//!
//! Punctuation in the model matches any punctuation in the text, and may be missing after a field with all its digits.
//! MM accepts a name, MON a full name, YY and RR four digits. The time of day may be missing at the end. FX disables
//! the leniency.

use super::date::{Code, Element, Elements};
use crate::date::{Date, days_in_month};
use crate::datetime::Timestamp;
use crate::error::{Ora, Result};
use crate::language::Language;
use crate::nls::Nls;
use crate::zone::{Moment, TimeZone};

/// TO_DATE(text, model). Missing fields default to the current year and month of [`Nls::today`], day one, midnight.
///
/// # Errors
/// ORA-01830 (text left over), ORA-01840 (text too short), ORA-01861, ORA-01858 (no digit), ORA-01843 and others (field
/// out of range), ORA-01810, ORA-01820, ORA-01821 and others for a bad model.
pub fn date_from_text(text: &str, model: &str, nls: &Nls) -> Result<Date> {
    Reader::new(text, nls, false).run(model)?.date()
}

/// TO_TIMESTAMP(text, model) and TO_TIMESTAMP_TZ: the result has a time zone if the model has one.
///
/// # Errors
/// As [`date_from_text`]; ORA-01882 for an unknown time zone, ORA-01878 and ORA-01883 for a local time that is skipped
/// or occurs twice.
pub fn timestamp_from_text(text: &str, model: &str, nls: &Nls) -> Result<Timestamp> {
    let reader = Reader::new(text, nls, true).run(model)?;
    let date = reader.date()?;
    let Some(zone) = reader.zone() else { return Ok(Timestamp::new(date, reader.nanos)) };
    let moment = Moment { abbreviation: reader.abbreviation, ..nls.moment() };
    Timestamp::in_zone(date, reader.nanos, zone, moment)
}

/// Fields given by a model, to detect duplicates.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Field {
    Year = 1,
    Month = 1 << 1,
    Day = 1 << 2,
    DayOfYear = 1 << 3,
    DayOfWeek = 1 << 4,
    Julian = 1 << 5,
    Hour24 = 1 << 6,
    Hour12 = 1 << 7,
    Minute = 1 << 8,
    Second = 1 << 9,
    SecondOfDay = 1 << 10,
    Meridian = 1 << 11,
    Era = 1 << 12,
    Fraction = 1 << 13,
    ZoneHour = 1 << 14,
    ZoneMinute = 1 << 15,
    Zone = 1 << 16,
    ZoneName = 1 << 17,
}

struct Reader<'a> {
    rest: &'a str,
    nls: &'a Nls,
    timestamp: bool,
    exact: bool,
    fill: bool,
    seen: u32,
    year: i32,
    month: u32,
    day: u32,
    day_of_year: u32,
    day_of_week: u32,
    julian: i64,
    hour: u32,
    minute: u32,
    second: u32,
    second_of_day: u32,
    afternoon: bool,
    before_christ: bool,
    nanos: u32,
    zone_hour: i16,
    zone_minute: i16,
    zone_negative: bool,
    zone: Option<TimeZone>,
    abbreviation: Option<&'a str>,
    /// Whether the last field had all its digits: punctuation after it may be missing.
    complete: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, nls: &'a Nls, timestamp: bool) -> Reader<'a> {
        let today = nls.today.fields();
        Reader {
            rest: text,
            nls,
            timestamp,
            exact: false,
            fill: true,
            seen: 0,
            year: today.year,
            month: today.month,
            day: 1,
            day_of_year: 0,
            day_of_week: 0,
            julian: 0,
            hour: 0,
            minute: 0,
            second: 0,
            second_of_day: 0,
            afternoon: false,
            before_christ: false,
            nanos: 0,
            zone_hour: 0,
            zone_minute: 0,
            zone_negative: false,
            zone: None,
            abbreviation: None,
            complete: false,
        }
    }

    fn run(mut self, model: &str) -> Result<Reader<'a>> {
        self.check_model(model)?;
        for element in Elements::new(model) {
            match element? {
                Element::Code { code: Code::Fx, .. } => self.exact = !self.exact,
                Element::Code { code: Code::Fm, .. } => self.fill = !self.fill,
                Element::Literal(text) => self.literal(text)?,
                Element::Mark(c) => self.mark(c)?,
                Element::Code { code, .. } => {
                    if !self.exact {
                        self.rest = self.rest.trim_start();
                    }
                    if self.rest.is_empty() {
                        if is_time(code) && self.seen != 0 {
                            continue;
                        }
                        return Err(Ora::new(1840));
                    }
                    self.complete = false;
                    self.code(code)?;
                }
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(Ora::new(1830));
        }
        Ok(self)
    }

    /// Checks the whole model first, so that a bad model is reported before a bad text.
    fn check_model(&self, model: &str) -> Result<()> {
        let mut seen = 0u32;
        for element in Elements::new(model) {
            let Element::Code { code, ordinal, spelled, .. } = element? else { continue };
            if ordinal || spelled {
                return Err(Ora::new(1820));
            }
            let Some(field) = field(code, self.timestamp)? else { continue };
            if seen & field as u32 != 0 {
                return Err(Ora::new(match field {
                    Field::Year if !matches!(code, Code::Yyyy | Code::Rr) => 1812,
                    _ => 1810,
                }));
            }
            seen |= field as u32;
        }
        let has = |field: Field| seen & field as u32 != 0;
        if has(Field::Hour24) && has(Field::Hour12) {
            return Err(Ora::new(1813));
        }
        if has(Field::Hour24) && has(Field::Meridian) {
            return Err(Ora::new(1818));
        }
        if has(Field::Julian) && has(Field::DayOfYear) {
            return Err(Ora::new(1811));
        }
        Ok(())
    }

    fn literal(&mut self, text: &str) -> Result<()> {
        match self.rest.strip_prefix(text) {
            Some(rest) => self.rest = rest,
            None if self.rest.is_empty() => {}
            None => return Err(Ora::new(1861)),
        }
        Ok(())
    }

    fn mark(&mut self, mark: char) -> Result<()> {
        let Some(c) = self.rest.chars().next() else { return Ok(()) };
        if self.exact {
            if c != mark {
                return Err(Ora::new(1861));
            }
            self.rest = &self.rest[c.len_utf8()..];
            return Ok(());
        }
        if mark.is_whitespace() {
            self.rest = self.rest.trim_start();
            return Ok(());
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some(c) if !c.is_alphanumeric() => self.rest = &self.rest[c.len_utf8()..],
            Some(_) if !self.complete => return Err(Ora::new(1861)),
            _ => {}
        }
        Ok(())
    }

    /// Reads up to `max` digits; with FX and without FM exactly that many.
    fn digits(&mut self, max: usize) -> Result<u32> {
        let len = self.rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return Err(Ora::new(1858));
        }
        if self.exact && self.fill && len < max {
            return Err(Ora::new(1862));
        }
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.complete = len == max;
        digits.parse().map_err(|_| Ora::new(1858))
    }

    fn ranged(&mut self, max: usize, range: std::ops::RangeInclusive<u32>, error: u32) -> Result<u32> {
        let n = self.digits(max)?;
        if range.contains(&n) { Ok(n) } else { Err(Ora::new(error)) }
    }

    fn code(&mut self, code: Code) -> Result<()> {
        if let Some(field) = field(code, self.timestamp)? {
            self.seen |= field as u32;
        }
        match code {
            Code::Yyyy | Code::Syyyy | Code::YyyyComma | Code::Yyy | Code::Yy | Code::Y | Code::Rr | Code::Rrrr => {
                self.year(code)?
            }
            Code::Mm => {
                self.month = if self.rest.starts_with(|c: char| c.is_ascii_digit()) || self.exact {
                    self.ranged(2, 1..=12, 1843)?
                } else {
                    self.month_name()?
                };
            }
            Code::Mon | Code::Month => self.month = self.month_name()?,
            Code::Rm => self.month = self.roman_month()?,
            Code::Dd => self.day = self.ranged(2, 1..=31, 1847)?,
            Code::Ddd => self.day_of_year = self.ranged(3, 1..=366, 1848)?,
            Code::D => {
                let day = self.ranged(1, 1..=7, 1846)?;
                self.day_of_week = (day + self.nls.place().first_day + 5) % 7 + 1;
            }
            Code::Day | Code::Dy => {
                let language = self.nls.names();
                let day = self.name(language, &language.days, &language.short_days);
                self.day_of_week = day.ok_or_else(|| Ora::new(1846))?;
            }
            Code::J => {
                self.julian = self.digits(7)?.into();
                if !(1..=5_373_484).contains(&self.julian) {
                    return Err(Ora::new(1854));
                }
            }
            Code::Hh24 => self.hour = self.ranged(2, 0..=23, 1850)?,
            Code::Hh12 => self.hour = self.ranged(2, 1..=12, 1849)?,
            Code::Mi => self.minute = self.ranged(2, 0..=59, 1851)?,
            Code::Ss => self.second = self.ranged(2, 0..=59, 1852)?,
            Code::Sssss => self.second_of_day = self.ranged(5, 0..=86_399, 1853)?,
            Code::Ff(digits) => self.fraction(digits)?,
            Code::Radix => self.mark(self.nls.decimal)?,
            Code::Meridian { .. } => self.afternoon = self.either(["PM", "P.M."], ["AM", "A.M."], 1855)?,
            Code::Era { .. } => self.before_christ = self.either(["BC", "B.C."], ["AD", "A.D."], 1856)?,
            Code::Tzh => {
                self.zone_negative = self.rest.starts_with('-');
                self.rest = self.rest.strip_prefix(['+', '-']).unwrap_or(self.rest);
                self.zone_hour = self.ranged(2, 0..=15, 1874)? as i16;
            }
            Code::Tzm => self.zone_minute = self.ranged(2, 0..=59, 1875)? as i16,
            Code::Tzr => self.region()?,
            Code::Tzd => self.abbreviation = Some(self.zone_word()),
            Code::Ts => self.nested(self.territory_format(2)?)?,
            Code::Ds => self.nested(self.territory_format(0)?)?,
            _ => return Err(Ora::new(1820)),
        }
        Ok(())
    }

    /// The model of DS (0) and TS (2).
    fn territory_format(&self, at: usize) -> Result<&'static str> {
        self.nls.place().long_formats().map(|models| models[at]).ok_or_else(|| Ora::new(1821))
    }

    fn nested(&mut self, model: &str) -> Result<()> {
        for element in Elements::new(model) {
            match element? {
                Element::Code { code: Code::Fm, .. } => {}
                Element::Code { code, .. } => {
                    self.rest = self.rest.trim_start();
                    self.code(code)?;
                }
                Element::Mark(c) => self.mark(c)?,
                Element::Literal(text) => self.literal(text)?,
            }
        }
        Ok(())
    }

    fn year(&mut self, code: Code) -> Result<()> {
        if code == Code::Syyyy {
            if let Some(rest) = self.rest.strip_prefix('-') {
                self.rest = rest;
                self.before_christ = true;
            } else {
                self.rest = self.rest.strip_prefix('+').unwrap_or(self.rest);
            }
        }
        if code == Code::YyyyComma
            && let Some((thousands, rest)) = self.rest.split_once(',')
            && thousands.len() <= 1
        {
            let thousands: i32 = thousands.parse().map_err(|_| Ora::new(1858))?;
            self.rest = rest;
            self.year = thousands * 1000 + self.digits(3)? as i32;
            return Ok(());
        }
        // YY and RR read four digits if present.
        let run = self.rest.bytes().take(4).take_while(u8::is_ascii_digit).count();
        let four = run == 4 && !self.exact && !self.rest[4..].starts_with(|c: char| c.is_ascii_digit());
        let max = match code {
            Code::Yyy => 3,
            Code::Yy | Code::Rr if !four => 2,
            Code::Y => 1,
            _ => 4,
        };
        let before = self.rest.len();
        let value = self.digits(max)? as i32;
        let read = before - self.rest.len();
        let today = self.nls.today.fields().year;
        self.year = match code {
            Code::Rr | Code::Rrrr if read <= 2 => {
                let century = today / 100 * 100;
                let shift = match (value < 50, today % 100 < 50) {
                    (true, false) => 100,
                    (false, true) => -100,
                    _ => 0,
                };
                century + shift + value
            }
            Code::Yy if read <= 2 => today / 100 * 100 + value,
            Code::Yyy => today / 1000 * 1000 + value,
            Code::Y => today / 10 * 10 + value,
            _ => value,
        };
        if self.year == 0 { Err(Ora::new(1841)) } else { Ok(()) }
    }

    /// Reads a full or an abbreviated name, the longest that fits; returns its position, from one.
    fn name(&mut self, language: &Language, full: &[&str], short: &[&str]) -> Option<u32> {
        let fits = |names: &[&str]| -> Option<(usize, usize)> {
            let lengths = names.iter().enumerate();
            let found = lengths.filter_map(|(at, name)| Some((language.begins(self.rest, name)?, at)));
            found.max_by_key(|(len, _)| *len)
        };
        let (len, at) = fits(full).or_else(|| fits(short))?;
        self.rest = &self.rest[len..];
        self.complete = true;
        Some(at as u32 + 1)
    }

    fn month_name(&mut self) -> Result<u32> {
        let language = self.nls.names();
        self.name(language, &language.months, &language.short_months).ok_or_else(|| Ora::new(1843))
    }

    fn roman_month(&mut self) -> Result<u32> {
        let len = self.rest.bytes().take_while(|b| b"IVXivx".contains(b)).count();
        let word = self.rest[..len].to_ascii_uppercase();
        self.rest = &self.rest[len..];
        self.complete = true;
        (1..=12).find(|&month| super::roman(month) == word).ok_or_else(|| Ora::new(1843))
    }

    fn fraction(&mut self, digits: u8) -> Result<()> {
        let max = if digits == 0 { 9 } else { usize::from(digits) };
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return Err(Ora::new(1858));
        }
        if len > max {
            return Err(Ora::new(if max == 9 { 1880 } else { 1830 }));
        }
        let value: u32 = self.rest[..len].parse().map_err(|_| Ora::new(1880))?;
        self.rest = &self.rest[len..];
        self.nanos = value * 10u32.pow(9 - len as u32);
        Ok(())
    }

    fn either(&mut self, yes: [&str; 2], no: [&str; 2], error: u32) -> Result<bool> {
        for (texts, result) in [(yes, true), (no, false)] {
            for text in texts {
                if self.rest.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text)) {
                    self.rest = &self.rest[text.len()..];
                    self.complete = true;
                    return Ok(result);
                }
            }
        }
        Err(Ora::new(error))
    }

    /// The text up to the next blank.
    fn zone_word(&mut self) -> &'a str {
        let end = self.rest.find(' ').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn region(&mut self) -> Result<()> {
        self.zone = Some(TimeZone::parse(self.zone_word())?);
        Ok(())
    }

    fn has(&self, field: Field) -> bool {
        self.seen & field as u32 != 0
    }

    fn zone(&self) -> Option<TimeZone> {
        let minutes = self.zone_hour * 60 + self.zone_minute;
        let offset = TimeZone::Offset(if self.zone_negative { -minutes } else { minutes });
        // With only an abbreviation, the time is in the session's time zone.
        let session = self.abbreviation.map(|_| self.nls.zone);
        self.zone.or(self.has(Field::ZoneHour).then_some(offset)).or(session)
    }

    fn date(&self) -> Result<Date> {
        let day = self.calendar_day()?;
        if self.day_of_week != 0
            && self.day_of_week != day.day_of_week()
            && (self.has(Field::Day) || self.has(Field::Julian) || self.has(Field::DayOfYear))
        {
            return Err(Ora::new(1835));
        }
        let hour =
            if self.has(Field::Hour12) { self.hour % 12 + if self.afternoon { 12 } else { 0 } } else { self.hour };
        let clock = hour * 3600 + self.minute * 60 + self.second;
        if !self.has(Field::SecondOfDay) {
            return day.add_seconds(clock.into());
        }
        let s = self.second_of_day;
        if (self.has(Field::Hour24) || self.has(Field::Hour12)) && s / 3600 != hour {
            return Err(Ora::new(1836));
        }
        if self.has(Field::Minute) && s / 60 % 60 != self.minute {
            return Err(Ora::new(1837));
        }
        if self.has(Field::Second) && s % 60 != self.second {
            return Err(Ora::new(1838));
        }
        day.add_seconds(s.into())
    }

    fn calendar_day(&self) -> Result<Date> {
        let year = if self.before_christ { -self.year } else { self.year };
        if self.has(Field::Julian) {
            let date = Date::from_julian(self.julian, 0)?;
            let f = date.fields();
            for (field, same, error) in [
                (Field::Year, f.year == year, 1831),
                (Field::Month, f.month == self.month, 1833),
                (Field::Day, f.day == self.day, 1834),
            ] {
                if self.has(field) && !same {
                    return Err(Ora::new(error));
                }
            }
            return Ok(date);
        }
        if self.has(Field::DayOfYear) {
            let leap = days_in_month(year, 2) == 29;
            if self.day_of_year == 366 && !leap {
                return Err(Ora::new(1848));
            }
            let date = Date::from_ymd(year, 1, 1)?.add_seconds(i64::from(self.day_of_year - 1) * 86_400)?;
            let f = date.fields();
            if self.has(Field::Month) && f.month != self.month {
                return Err(Ora::new(1833));
            }
            if self.has(Field::Day) && f.day != self.day {
                return Err(Ora::new(1834));
            }
            return Ok(date);
        }
        Date::from_ymd(year, self.month, self.day)
    }
}

/// Returns whether the text may end before this element.
fn is_time(code: Code) -> bool {
    matches!(
        code,
        Code::Hh24
            | Code::Hh12
            | Code::Mi
            | Code::Ss
            | Code::Sssss
            | Code::Ff(_)
            | Code::Radix
            | Code::Meridian { .. }
            | Code::Tzh
            | Code::Tzm
            | Code::Tzr
            | Code::Tzd
    )
}

/// Returns the field of an element; ORA-01820 for elements of TO_CHAR only.
fn field(code: Code, timestamp: bool) -> Result<Option<Field>> {
    Ok(Some(match code {
        Code::Yyyy | Code::Syyyy | Code::YyyyComma | Code::Yyy | Code::Yy | Code::Y | Code::Rr | Code::Rrrr => {
            Field::Year
        }
        Code::Mm | Code::Mon | Code::Month | Code::Rm => Field::Month,
        Code::Dd => Field::Day,
        Code::Ddd => Field::DayOfYear,
        Code::D | Code::Day | Code::Dy => Field::DayOfWeek,
        Code::J => Field::Julian,
        Code::Hh24 => Field::Hour24,
        Code::Hh12 => Field::Hour12,
        Code::Mi => Field::Minute,
        Code::Ss => Field::Second,
        Code::Sssss => Field::SecondOfDay,
        Code::Meridian { .. } => Field::Meridian,
        Code::Era { .. } => Field::Era,
        Code::Ff(_) | Code::Tzh | Code::Tzm | Code::Tzr | Code::Tzd if !timestamp => return Err(Ora::new(1821)),
        Code::Ff(_) => Field::Fraction,
        Code::Tzh => Field::ZoneHour,
        Code::Tzm => Field::ZoneMinute,
        Code::Tzr => Field::Zone,
        Code::Tzd => Field::ZoneName,
        Code::Fm | Code::Fx | Code::Radix | Code::Ts | Code::Ds => return Ok(None),
        _ => return Err(Ora::new(1820)),
    }))
}

/// Reads the text of a literal, `TIMESTAMP '2022-06-02 08:00:00.5 Europe/Berlin CEST'`, with a time zone if one follows
/// the time.
///
/// # Errors
/// As [`timestamp_from_text`].
pub fn timestamp_literal(text: &str, nls: &Nls) -> Result<Timestamp> {
    let clock = text.trim_start().split_once(' ').map_or("", |(_, clock)| clock.trim());
    let zoned = clock.contains(['+', '-']) || clock.contains(|c: char| c.is_ascii_alphabetic());
    let format = match (text.contains('.'), zoned) {
        (true, true) => "SYYYY-MM-DD HH24:MI:SS.FF TZR TZD",
        (false, true) => "SYYYY-MM-DD HH24:MI:SS TZR TZD",
        (true, false) => "SYYYY-MM-DD HH24:MI:SS.FF",
        (false, false) => "SYYYY-MM-DD HH24:MI:SS",
    };
    timestamp_from_text(text, format, nls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Date;

    fn nls() -> Nls {
        Nls { today: Date::from_ymd(2024, 3, 5).unwrap(), ..Nls::default() }
    }

    fn read(text: &str, model: &str) -> String {
        match date_from_text(text, model, &nls()) {
            Ok(date) => {
                let mut out = String::new();
                super::super::date_to_char(&date, "SYYYY-MM-DD HH24:MI:SS", &nls(), &mut out).unwrap();
                out.trim_start().to_owned()
            }
            Err(e) => e.to_string()[..9].to_owned(),
        }
    }

    #[test]
    fn dates() {
        for (text, model, date) in [
            ("2024-01-15", "YYYY-MM-DD", "2024-01-15 00:00:00"),
            ("15-JAN-24", "DD-MON-RR", "2024-01-15 00:00:00"),
            ("15-jan-2024", "DD-MON-RR", "2024-01-15 00:00:00"),
            ("15-January-99", "DD-MON-RR", "1999-01-15 00:00:00"),
            ("15/01/2024", "DD-MM-YYYY", "2024-01-15 00:00:00"),
            ("20240115", "YYYY-MM-DD", "2024-01-15 00:00:00"),
            ("2024-1-5", "YYYY-MM-DD", "2024-01-05 00:00:00"),
            ("2024-JAN-05", "YYYY-MM-DD", "2024-01-05 00:00:00"),
            ("2024-01-15 13:45:10", "YYYY-MM-DD HH24:MI:SS", "2024-01-15 13:45:10"),
            ("2024-01-15", "YYYY-MM-DD HH24:MI:SS", "2024-01-15 00:00:00"),
            ("20240115134510", "YYYYMMDDHH24MISS", "2024-01-15 13:45:10"),
            ("01:30 PM", "HH:MI AM", "2024-03-01 13:30:00"),
            ("12:30 am", "HH:MI AM", "2024-03-01 00:30:00"),
            ("12:30 P.M.", "HH:MI P.M.", "2024-03-01 12:30:00"),
            ("2024", "YYYY", "2024-03-01 00:00:00"),
            ("06-2024", "MM-YYYY", "2024-06-01 00:00:00"),
            ("2460375", "J", "2024-03-05 00:00:00"),
            ("060 2024", "DDD YYYY", "2024-02-29 00:00:00"),
            ("  2024 - 01 - 15 ", "YYYY-MM-DD", "2024-01-15 00:00:00"),
            ("49", "RR", "2049-03-01 00:00:00"),
            ("50", "RR", "1950-03-01 00:00:00"),
            ("99", "YY", "2099-03-01 00:00:00"),
            ("3661", "SSSSS", "2024-03-01 01:01:01"),
            ("IV-2024", "RM-YYYY", "2024-04-01 00:00:00"),
            ("Tuesday 05 March 2024", "DAY DD MONTH YYYY", "2024-03-05 00:00:00"),
            ("2024year03", "YYYY\"year\"MM", "2024-03-01 00:00:00"),
            ("-0044-03-15", "SYYYY-MM-DD", "-0044-03-15 00:00:00"),
            ("44 BC", "YYYY BC", "-0044-03-01 00:00:00"),
            ("2,024", "Y,YYY", "2024-03-01 00:00:00"),
            ("2024-01-15T10", "YYYY-MM-DD\"T\"HH24", "2024-01-15 10:00:00"),
            ("29-FEB-2024", "DD-MON-YYYY", "2024-02-29 00:00:00"),
            ("3/5/2024", "DS", "2024-03-05 00:00:00"),
            ("15.01.2024", "DD.MM.YYYY", "2024-01-15 00:00:00"),
            ("01012024", "DDMMYYYY", "2024-01-01 00:00:00"),
        ] {
            assert_eq!(read(text, model), date, "to_date('{text}', '{model}')");
        }
    }

    #[test]
    fn errors() {
        for (text, model, error) in [
            ("2024-01-15 x", "YYYY-MM-DD", 1830),
            ("2024-13-01", "YYYY-MM-DD", 1843),
            ("2024-00-01", "YYYY-MM-DD", 1843),
            ("2024-01-32", "YYYY-MM-DD", 1847),
            ("2024-01-00", "YYYY-MM-DD", 1847),
            ("2023-02-29", "YYYY-MM-DD", 1839),
            ("2024-04-31", "YYYY-MM-DD", 1839),
            ("2024", "YYYY-MM-DD", 1840),
            ("x", "YYYY", 1858),
            ("0000", "YYYY", 1841),
            ("15-XXX-24", "DD-MON-RR", 1843),
            ("abc", "DD-MON-RR", 1858),
            ("32-JAN-24", "DD-MON-RR", 1847),
            ("24:00", "HH24:MI", 1850),
            ("13:00", "HH:MI", 1849),
            ("00:00", "HH12:MI", 1849),
            ("10:60", "HH24:MI", 1851),
            ("10:00:60", "HH24:MI:SS", 1852),
            ("86400", "SSSSS", 1853),
            ("0", "J", 1854),
            ("367", "DDD", 1848),
            ("2023 366", "YYYY DDD", 1848),
            ("2024 2024", "YYYY YYYY", 1810),
            ("01 02", "MM MM", 1810),
            ("10", "Q", 1820),
            ("10", "WW", 1820),
            ("10", "IW", 1820),
            ("2024", "IYYY", 1820),
            ("10", "foo", 1821),
            ("10 PM", "HH24 PM", 1818),
            ("10 10", "HH24 HH12", 1813),
            ("10 xx", "HH AM", 1855),
            ("2024x01", "YYYY\"y\"MM", 1861),
            ("Monday 05-03-2024", "DAY DD-MM-YYYY", 1835),
            ("2024a01", "YYYY-MM", 1843),
            ("1a1", "DD-MM", 1861),
            ("", "YYYY", 1840),
            ("2024-1-5", "FXYYYY-MM-DD", 1862),
            ("2024/01/05", "FXYYYY-MM-DD", 1861),
            ("10", "FF", 1821),
            ("FIVE", "DDSP", 1820),
            ("5TH", "DDTH", 1820),
        ] {
            assert_eq!(read(text, model), format!("ORA-{error:05}"), "to_date('{text}', '{model}')");
        }
    }

    #[test]
    fn timestamps() {
        let t = timestamp_from_text("2024-01-15 10:11:12.345", "YYYY-MM-DD HH24:MI:SS.FF", &nls()).unwrap();
        assert_eq!((t.nanos, t.zone()), (345_000_000, None));
        let t = timestamp_from_text("15-JAN-24 10.11.12.000000001 PM", &nls().timestamp_format, &nls()).unwrap();
        assert_eq!((t.nanos, t.clock().fields().hour), (1, 22));
        let t = timestamp_from_text("2024-01-15 10:11:12 -05:30", "YYYY-MM-DD HH24:MI:SS TZH:TZM", &nls()).unwrap();
        assert_eq!(t.zone(), Some(TimeZone::Offset(-330)));
        let t = timestamp_from_text("2024-01-15 10:11:12 UTC", "YYYY-MM-DD HH24:MI:SS TZR", &nls()).unwrap();
        assert_eq!(t.zone().unwrap().to_string(), "UTC");
        let berlin = |text: &str| {
            let t = timestamp_from_text(text, "YYYY-MM-DD HH24:MI:SS TZR TZD", &nls()).map_err(|e| e.to_string())?;
            let mut out = String::new();
            super::super::timestamp_to_char(&t, "HH24:MI TZH:TZM TZR tzr TZD", &nls(), &mut out).unwrap();
            Ok::<_, String>(out)
        };
        for (text, want) in [
            ("2022-06-02 08:00:00 europe/berlin", "08:00 +02:00 EUROPE/BERLIN europe/berlin CEST"),
            ("2022-06-02 08:00:00 Europe/Berlin CEST", "08:00 +02:00 EUROPE/BERLIN europe/berlin CEST"),
            ("2022-10-30 02:30:00 Europe/Berlin", "02:30 +01:00 EUROPE/BERLIN europe/berlin CET"),
            ("2022-10-30 02:30:00 Europe/Berlin CEST", "02:30 +02:00 EUROPE/BERLIN europe/berlin CEST"),
            ("2022-06-02 08:00:00 +01:30", "08:00 +01:30 +01:30 +01:30 "),
        ] {
            assert_eq!(berlin(text).as_deref(), Ok(want), "{text}");
        }
        assert!(berlin("2022-03-27 02:30:00 Europe/Berlin").unwrap_err().starts_with("ORA-01878"));
        assert!(berlin("2022-06-02 08:00:00 Europe/Berlin CET").unwrap_err().starts_with("ORA-01878"));
        let once = Nls { error_on_overlap: true, ..nls() };
        let twice = timestamp_from_text("2022-10-30 02:30:00 Europe/Berlin", "YYYY-MM-DD HH24:MI:SS TZR", &once);
        assert!(twice.unwrap_err().is(1883));
        assert!(timestamp_from_text("1 Mars/Olympus", "DD TZR", &nls()).unwrap_err().is(1882));
        assert!(timestamp_from_text("10.1234567890", "SS.FF", &nls()).unwrap_err().is(1880));
    }

    #[test]
    fn printed_dates_read_back() {
        for model in [
            "YYYY-MM-DD HH24:MI:SS",
            "DD-MON-YYYY HH12:MI:SS AM",
            "J SSSSS",
            "YYYYDDDSSSSS",
            "FMMonth DD, YYYY HH24:MI:SS",
            "DY DD.MM.RRRR HH24MISS",
        ] {
            for seconds in [0, 951_782_400 + 45_296, 1_709_596_799, -86_399] {
                let date = Date::from_unix(seconds).unwrap();
                let mut text = String::new();
                super::super::date_to_char(&date, model, &nls(), &mut text).unwrap();
                assert_eq!(date_from_text(&text, model, &nls()).unwrap(), date, "{text} by {model}");
            }
        }
    }
}
