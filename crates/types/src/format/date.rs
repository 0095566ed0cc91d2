//! Date format models, and TO_CHAR of dates and timestamps by them.
//!
//! A model is parsed element by element while it is used, so formatting allocates only the text.

use crate::date::{Date, DateFields};
use crate::datetime::{Clock, Timestamp};
use crate::error::{Ora, Result};
use crate::nls::Nls;
use crate::zone::TimeZone;
use std::fmt::Write;

/// Length of the longest English name of a month or day.
const NAME_WIDTH: usize = 9;

/// The meaning of an element of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Code {
    Syyyy, Yyyy, YyyyComma, Yyy, Yy, Y, Rrrr, Rr, Year, Syear, Iyyy, Iyy, Iy, I, Cc, Scc,
    Q, Mm, Month, Mon, Rm, Ww, W, Iw, Ddd, Dd, D, Day, Dy, J,
    Hh24, Hh12, Mi, Ss, Sssss, Ff(u8), Radix, Meridian { dots: bool }, Era { dots: bool },
    Tzh, Tzm, Tzr, Tzd, Ts, Ds, Dl, Fm, Fx,
}

/// The case of a name, taken from the case of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Initial,
    Lower,
}

/// One element of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element<'a> {
    Code {
        code: Code,
        case: Case,
        ordinal: bool,
        spelled: bool,
    },
    /// Text in double quotes.
    Literal(&'a str),
    /// A blank or punctuation.
    Mark(char),
}

/// A longer name precedes its prefixes.
#[rustfmt::skip]
const CODES: &[(&str, Code)] = &[
    ("SYYYY", Code::Syyyy), ("SYEAR", Code::Syear), ("YYYY", Code::Yyyy), ("Y,YYY", Code::YyyyComma), ("YEAR", Code::Year), ("YYY", Code::Yyy),
    ("YY", Code::Yy), ("Y", Code::Y), ("RRRR", Code::Rrrr), ("RR", Code::Rr), ("RM", Code::Rm), ("IYYY", Code::Iyyy), ("IYY", Code::Iyy),
    ("IY", Code::Iy), ("IW", Code::Iw), ("I", Code::I), ("SCC", Code::Scc), ("CC", Code::Cc), ("Q", Code::Q), ("MONTH", Code::Month),
    ("MON", Code::Mon), ("MM", Code::Mm), ("MI", Code::Mi), ("WW", Code::Ww), ("W", Code::W), ("DDD", Code::Ddd), ("DD", Code::Dd),
    ("DAY", Code::Day), ("DY", Code::Dy), ("DS", Code::Ds), ("DL", Code::Dl), ("D", Code::D), ("J", Code::J), ("HH24", Code::Hh24),
    ("HH12", Code::Hh12), ("HH", Code::Hh12), ("SSSSS", Code::Sssss), ("SS", Code::Ss), ("FF1", Code::Ff(1)), ("FF2", Code::Ff(2)),
    ("FF3", Code::Ff(3)), ("FF4", Code::Ff(4)), ("FF5", Code::Ff(5)), ("FF6", Code::Ff(6)), ("FF7", Code::Ff(7)), ("FF8", Code::Ff(8)),
    ("FF9", Code::Ff(9)), ("FF", Code::Ff(0)), ("FM", Code::Fm), ("FX", Code::Fx), ("X", Code::Radix),
    ("A.M.", Code::Meridian { dots: true }), ("P.M.", Code::Meridian { dots: true }), ("AM", Code::Meridian { dots: false }),
    ("PM", Code::Meridian { dots: false }), ("A.D.", Code::Era { dots: true }), ("B.C.", Code::Era { dots: true }),
    ("AD", Code::Era { dots: false }), ("BC", Code::Era { dots: false }), ("TZH", Code::Tzh), ("TZM", Code::Tzm), ("TZR", Code::Tzr),
    ("TZD", Code::Tzd), ("TS", Code::Ts),
];

/// Parses a model element by element.
pub(super) struct Elements<'a> {
    rest: &'a str,
}

impl<'a> Elements<'a> {
    pub fn new(model: &'a str) -> Elements<'a> {
        Elements { rest: model }
    }

    fn code(&mut self) -> Option<Element<'a>> {
        let starts = |name: &str| self.rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        let (name, code) = CODES.iter().find(|(name, _)| starts(name))?;
        let text = &self.rest[..name.len()];
        self.rest = &self.rest[name.len()..];
        let mut letters = text.bytes().filter(u8::is_ascii_alphabetic);
        let case = match (letters.next(), letters.next()) {
            (Some(a), _) if a.is_ascii_lowercase() => Case::Lower,
            (Some(_), Some(b)) if b.is_ascii_lowercase() => Case::Initial,
            _ => Case::Upper,
        };
        let (mut ordinal, mut spelled) = (false, false);
        for (suffix, spells, orders) in
            [("SPTH", true, true), ("THSP", true, true), ("SP", true, false), ("TH", false, true)]
        {
            if self.rest.get(..suffix.len()).is_some_and(|head| head.eq_ignore_ascii_case(suffix)) {
                (ordinal, spelled) = (orders, spells);
                self.rest = &self.rest[suffix.len()..];
                break;
            }
        }
        Some(Element::Code { code: *code, case, ordinal, spelled })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let c = self.rest.chars().next()?;
        if c == '"' {
            let inner = &self.rest[1..];
            let Some((literal, rest)) = inner.split_once('"') else {
                self.rest = "";
                return Some(Err(Ora::new(1821)));
            };
            self.rest = rest;
            return Some(Ok(Element::Literal(literal)));
        }
        if !c.is_alphanumeric() {
            self.rest = &self.rest[c.len_utf8()..];
            return Some(Ok(Element::Mark(c)));
        }
        let element = self.code();
        if element.is_none() {
            self.rest = "";
        }
        Some(element.ok_or_else(|| Ora::new(1821)))
    }
}

/// Whether a model has one of these elements.
fn has(model: &str, one_of: &[Code]) -> bool {
    Elements::new(model).any(|e| matches!(e, Ok(Element::Code { code, .. }) if one_of.contains(&code)))
}

/// Whether a text of this model determines the date: it has the year with all digits, and the month.
pub fn names_its_date(model: &str) -> bool {
    let has_year = has(model, &[Code::Yyyy, Code::Syyyy, Code::YyyyComma]);
    let has_month = has(model, &[Code::Mm, Code::Mon, Code::Month, Code::Rm, Code::Ddd]);
    has(model, &[Code::J]) || has_year && has_month
}

/// Whether a text of this model depends on NLS_DATE_LANGUAGE.
pub fn names_months_or_days(model: &str) -> bool {
    has(model, &[Code::Month, Code::Mon, Code::Day, Code::Dy, Code::Dl])
}

/// Whether a text of this model depends on NLS_TERRITORY.
pub fn follows_territory(model: &str) -> bool {
    has(model, &[Code::D, Code::Ds, Code::Dl, Code::Ts])
}

/// Whether a text of this model contains its time zone.
pub fn names_its_zone(model: &str) -> bool {
    has(model, &[Code::Tzh, Code::Tzr])
}

/// The greatest number of characters of a text of this model. `None` for a bad model, and where the length depends on
/// more than the model: years and numbers in words, names of time zones, formats of a territory.
pub fn longest(model: &str) -> Option<u32> {
    let of_code = |code, ordinal: bool, spelled: bool| -> Option<u32> {
        let digits = match code {
            Code::Fm | Code::Fx => return Some(0),
            Code::Y | Code::I | Code::Q | Code::W | Code::D | Code::Radix => 1,
            Code::Yy | Code::Rr | Code::Iy | Code::Mm | Code::Ww | Code::Iw | Code::Dd => 2,
            Code::Hh24 | Code::Hh12 | Code::Mi | Code::Ss | Code::Tzm => 2,
            Code::Yyy | Code::Iyy | Code::Cc | Code::Mon | Code::Ddd | Code::Dy | Code::Tzh => 3,
            Code::Yyyy | Code::Rrrr | Code::Iyyy | Code::Scc | Code::Rm => 4,
            Code::Syyyy | Code::YyyyComma | Code::Sssss => 5,
            Code::J => 7,
            Code::Month | Code::Day => NAME_WIDTH as u32,
            Code::Ff(0) => 9,
            Code::Ff(digits) => digits.into(),
            Code::Meridian { dots } | Code::Era { dots } => {
                if dots {
                    4
                } else {
                    2
                }
            }
            Code::Year | Code::Syear | Code::Tzr | Code::Tzd | Code::Ts | Code::Ds | Code::Dl => return None,
        };
        (!spelled).then_some(if ordinal { digits + 2 } else { digits })
    };
    Elements::new(model).try_fold(0, |sum, element| {
        Some(
            sum + match element.ok()? {
                Element::Literal(text) => text.chars().count() as u32,
                Element::Mark(_) => 1,
                Element::Code { code, case: _, ordinal, spelled } => of_code(code, ordinal, spelled)?,
            },
        )
    })
}

/// Appends TO_CHAR(date, model).
///
/// # Errors
/// ORA-01821 for a bad model, and for fractions and time zones, which DATE does not have.
pub fn date_to_char(date: &Date, model: &str, nls: &Nls, out: &mut String) -> Result<()> {
    write(&Timestamp::new(*date, 0), false, None, model, nls, out)
}

/// Appends TO_CHAR(timestamp, model).
///
/// # Errors
/// ORA-01821 for a bad model.
pub fn timestamp_to_char(t: &Timestamp, model: &str, nls: &Nls, out: &mut String) -> Result<()> {
    write(t, true, None, model, nls, out)
}

/// As [`timestamp_to_char`], for a value whose type has this precision of fractional seconds, which FF without a number
/// shows.
///
/// # Errors
/// ORA-01821 for a bad model.
pub fn timestamp_of_digits(t: &Timestamp, model: &str, digits: u8, nls: &Nls, out: &mut String) -> Result<()> {
    write(t, true, Some(digits), model, nls, out)
}

struct Writer<'a> {
    t: &'a Timestamp,
    /// The local time at its place.
    wall: Clock,
    f: DateFields,
    nls: &'a Nls,
    /// Precision of fractional seconds of the value's type, if known.
    digits: Option<u8>,
    /// Whether blanks and leading zeros are written: no FM in force.
    fill: bool,
}

fn write(t: &Timestamp, fraction: bool, digits: Option<u8>, model: &str, nls: &Nls, out: &mut String) -> Result<()> {
    let wall = t.wall(nls.zone)?;
    let mut writer = Writer { t, wall, f: wall.date.fields(), nls, digits, fill: true };
    // Begin and end of the last radix character written.
    let mut radix = None;
    for element in Elements::new(model) {
        match element? {
            Element::Literal(text) => out.push_str(text),
            Element::Mark(c) => out.push(c),
            Element::Code { code: Code::Fm, .. } => writer.fill = !writer.fill,
            Element::Code { code: Code::Fx, .. } => {}
            Element::Code { code, case, ordinal, spelled } => {
                let needs_timestamp = matches!(code, Code::Ff(_) | Code::Tzh | Code::Tzm | Code::Tzr | Code::Tzd);
                if needs_timestamp && !fraction {
                    return Err(Ora::new(1821));
                }
                let from = out.len();
                writer.code(code, case, spelled, out)?;
                match (code, radix) {
                    (Code::Radix, _) => radix = Some((from, out.len())),
                    // Without a fraction, the radix character before it is removed.
                    (Code::Ff(0), Some((begin, end))) if digits == Some(0) && end == from => out.truncate(begin),
                    _ => {}
                }
                if ordinal && !spelled {
                    let suffix = ordinal_suffix(&out[from..]);
                    out.push_str(&cased(suffix, if case == Case::Lower { Case::Lower } else { Case::Upper }));
                } else if spelled {
                    spell_in_place(out, from, ordinal, case)?;
                }
            }
        }
    }
    Ok(())
}

impl Writer<'_> {
    fn number(&self, n: i64, width: usize, out: &mut String) {
        let width = if self.fill { width } else { 0 };
        write!(out, "{n:0width$}").expect("writing to a String does not fail");
    }

    /// Writes a name, without FM padded to this number of characters.
    fn padded(&self, name: &str, width: usize, out: &mut String) {
        out.push_str(name);
        if self.fill {
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(name.chars().count())));
        }
    }

    fn signed(&self, n: i64, width: usize, out: &mut String) {
        if n < 0 {
            out.push('-');
        } else if self.fill {
            out.push(' ');
        }
        self.number(n.abs(), width, out);
    }

    fn code(&self, code: Code, case: Case, spelled: bool, out: &mut String) -> Result<()> {
        let f = &self.f;
        let date = &self.wall.date;
        let year = i64::from(f.year);
        let iso = || i64::from(date.iso_week().0).abs();
        let hour12 = if f.hour.is_multiple_of(12) { 12 } else { f.hour % 12 };
        let century = if year > 0 { (year + 99) / 100 } else { -((99 - year) / 100) };
        let (n, width) = match code {
            Code::Syyyy => {
                return {
                    self.signed(year, 4, out);
                    Ok(())
                };
            }
            Code::Scc => {
                return {
                    self.signed(century, 2, out);
                    Ok(())
                };
            }
            Code::YyyyComma => {
                write!(out, "{},{:03}", year.abs() / 1000, year.abs() % 1000)
                    .expect("writing to a String does not fail");
                return Ok(());
            }
            Code::Year | Code::Syear => {
                if year < 0 && code == Code::Syear {
                    out.push('-');
                } else if code == Code::Syear && self.fill {
                    out.push(' ');
                }
                out.push_str(&cased(&spell_year(year.unsigned_abs() as u32), case));
                return Ok(());
            }
            Code::Month | Code::Mon | Code::Day | Code::Dy => {
                let language = self.nls.names();
                let (month, day) = (f.month as usize - 1, date.day_of_week() as usize - 1);
                let (name, width) = match code {
                    Code::Month => (language.months[month], language.widths[0]),
                    Code::Mon => (language.short_months[month], language.widths[1]),
                    Code::Day => (language.days[day], language.widths[2]),
                    _ => (language.short_days[day], language.widths[3]),
                };
                match case {
                    Case::Initial => self.padded(name, width, out),
                    Case::Upper => self.padded(&language.upper(name), width, out),
                    Case::Lower => self.padded(&language.lower(name), width, out),
                }
                return Ok(());
            }
            Code::Rm => {
                let case = if case == Case::Lower { Case::Lower } else { Case::Upper };
                self.padded(&cased(&super::roman(f.month), case), 4, out);
                return Ok(());
            }
            Code::Meridian { dots } => {
                let text = match (f.hour < 12, dots) {
                    (true, false) => "AM",
                    (true, true) => "A.M.",
                    (false, false) => "PM",
                    (false, true) => "P.M.",
                };
                out.push_str(&cased(text, if case == Case::Lower { Case::Lower } else { Case::Upper }));
                return Ok(());
            }
            Code::Era { dots } => {
                let text = match (year > 0, dots) {
                    (true, false) => "AD",
                    (true, true) => "A.D.",
                    (false, false) => "BC",
                    (false, true) => "B.C.",
                };
                out.push_str(&cased(text, if case == Case::Lower { Case::Lower } else { Case::Upper }));
                return Ok(());
            }
            Code::Ts | Code::Ds | Code::Dl => {
                let [short, long, time] = self.nls.place().long_formats().ok_or_else(|| Ora::new(1821))?;
                let model = match code {
                    Code::Ds => short,
                    Code::Dl => long,
                    _ => time,
                };
                return write(self.t, true, None, model, self.nls, out);
            }
            Code::Radix => {
                return {
                    out.push(self.nls.decimal);
                    Ok(())
                };
            }
            Code::Ff(digits) => {
                return {
                    self.fraction(digits, out);
                    Ok(())
                };
            }
            Code::Tzh => {
                let offset = self.offset();
                out.push(if offset < 0 { '-' } else { '+' });
                (i64::from(offset.abs() / 60), 2)
            }
            Code::Tzm => (i64::from(self.offset().abs() % 60), 2),
            Code::Tzr => {
                match self.wall.zone {
                    TimeZone::Region(region) => out.push_str(&cased(region.name(), case)),
                    offset => write!(out, "{offset}").expect("writing to a String does not fail"),
                }
                return Ok(());
            }
            Code::Tzd => {
                if let Some(name) = self.wall.abbreviation {
                    out.push_str(&cased(name, if case == Case::Lower { Case::Lower } else { Case::Upper }));
                }
                return Ok(());
            }
            Code::Yyyy | Code::Rrrr => (year.abs(), 4),
            Code::Yyy => (year.abs() % 1000, 3),
            Code::Yy | Code::Rr => (year.abs() % 100, 2),
            Code::Y => (year.abs() % 10, 1),
            Code::Iyyy => (iso(), 4),
            Code::Iyy => (iso() % 1000, 3),
            Code::Iy => (iso() % 100, 2),
            Code::I => (iso() % 10, 1),
            Code::Cc => (century.abs(), 2),
            Code::Q => (i64::from(f.month.div_ceil(3)), 1),
            Code::Mm => (f.month.into(), 2),
            Code::Ww => (i64::from((date.day_of_year() - 1) / 7 + 1), 2),
            Code::W => (i64::from((f.day - 1) / 7 + 1), 1),
            Code::Iw => (date.iso_week().1.into(), 2),
            Code::Ddd => (date.day_of_year().into(), 3),
            Code::Dd => (f.day.into(), 2),
            Code::D => (self.nls.place().day_of_week(date.day_of_week()).into(), 1),
            Code::J => (date.julian_day(), 7),
            Code::Hh24 => (f.hour.into(), 2),
            Code::Hh12 => (hour12.into(), 2),
            Code::Mi => (f.minute.into(), 2),
            Code::Ss => (f.second.into(), 2),
            Code::Sssss => (date.second_of_day().into(), 5),
            Code::Fm | Code::Fx => return Ok(()),
        };
        self.number(n, if spelled { 0 } else { width }, out);
        Ok(())
    }

    /// Minutes east of UTC.
    fn offset(&self) -> i32 {
        self.wall.offset / 60
    }

    /// FF without a number shows the precision of the type. If unknown, it shows six digits, or nine if the last three
    /// are not zero.
    fn fraction(&self, digits: u8, out: &mut String) {
        let digits = match (digits, self.digits) {
            (0, Some(0)) => return,
            (0, Some(digits)) => u32::from(digits),
            (0, None) if self.t.nanos.is_multiple_of(1000) => 6,
            (0, None) => 9,
            (digits, _) => u32::from(digits),
        };
        let value = self.t.nanos / 10u32.pow(9 - digits);
        write!(out, "{value:0width$}", width = digits as usize).expect("writing to a String does not fail");
    }
}

fn cased(text: &str, case: Case) -> String {
    match case {
        Case::Upper => text.to_ascii_uppercase(),
        Case::Lower => text.to_ascii_lowercase(),
        Case::Initial => {
            let mut start = true;
            text.chars()
                .map(|c| {
                    let shown = if start { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
                    start = !c.is_ascii_alphanumeric();
                    shown
                })
                .collect()
        }
    }
}

fn ordinal_suffix(number: &str) -> &'static str {
    let n: u64 = number.trim_start_matches(|c: char| !c.is_ascii_digit()).replace(',', "").parse().unwrap_or(0);
    match (n % 100, n % 10) {
        (11..=13, _) => "TH",
        (_, 1) => "ST",
        (_, 2) => "ND",
        (_, 3) => "RD",
        _ => "TH",
    }
}

const SMALL: [&str; 20] = [
    "ZERO",
    "ONE",
    "TWO",
    "THREE",
    "FOUR",
    "FIVE",
    "SIX",
    "SEVEN",
    "EIGHT",
    "NINE",
    "TEN",
    "ELEVEN",
    "TWELVE",
    "THIRTEEN",
    "FOURTEEN",
    "FIFTEEN",
    "SIXTEEN",
    "SEVENTEEN",
    "EIGHTEEN",
    "NINETEEN",
];
const TENS: [&str; 10] = ["", "", "TWENTY", "THIRTY", "FORTY", "FIFTY", "SIXTY", "SEVENTY", "EIGHTY", "NINETY"];

/// Spells a number out in English: `ONE THOUSAND TWO HUNDRED THIRTY-FOUR`.
fn spell(n: u32) -> String {
    let join = |head: String, rest: u32| if rest == 0 { head } else { format!("{head} {}", spell(rest)) };
    match n {
        0..20 => SMALL[n as usize].to_owned(),
        20..100 if n.is_multiple_of(10) => TENS[n as usize / 10].to_owned(),
        20..100 => format!("{}-{}", TENS[n as usize / 10], SMALL[n as usize % 10]),
        100..1000 => join(format!("{} HUNDRED", SMALL[n as usize / 100]), n % 100),
        1000..1_000_000 => join(format!("{} THOUSAND", spell(n / 1000)), n % 1000),
        _ => join(format!("{} MILLION", spell(n / 1_000_000)), n % 1_000_000),
    }
}

/// Spells out a year as YEAR does: `TWENTY TWENTY-FOUR`, `NINETEEN HUNDRED`, `TWO THOUSAND`.
fn spell_year(year: u32) -> String {
    let (high, low) = (year / 100, year % 100);
    match (high, low) {
        (0, _) => spell(low),
        (_, 0) if high % 10 == 0 => spell(year),
        (_, 0) => format!("{} HUNDRED", spell(high)),
        _ if high % 10 == 0 && low < 10 => format!("{} {}", spell(high * 100), spell(low)),
        (_, 1..10) => format!("{} OH {}", spell(high), spell(low)),
        _ => format!("{} {}", spell(high), spell(low)),
    }
}

/// Replaces the number written at `from` by words.
fn spell_in_place(out: &mut String, from: usize, ordinal: bool, case: Case) -> Result<()> {
    let n: u32 = out[from..].trim().parse().map_err(|_| Ora::new(1821))?;
    let mut words = spell(n);
    if ordinal {
        let split = words.rfind([' ', '-']).map_or(0, |at| at + 1);
        let last = words.split_off(split);
        let special = match last.as_str() {
            "ONE" => "FIRST",
            "TWO" => "SECOND",
            "THREE" => "THIRD",
            "FIVE" => "FIFTH",
            "EIGHT" => "EIGHTH",
            "NINE" => "NINTH",
            "TWELVE" => "TWELFTH",
            _ => "",
        };
        if !special.is_empty() {
            words.push_str(special);
        } else if let Some(stem) = last.strip_suffix('Y') {
            words.push_str(stem);
            words.push_str("IETH");
        } else {
            words.push_str(&last);
            words.push_str("TH");
        }
    }
    out.truncate(from);
    out.push_str(&cased(&words, case));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Date;

    fn show(date: (i32, u32, u32, u32, u32, u32), model: &str) -> String {
        let (y, m, d, h, mi, s) = date;
        let mut out = String::new();
        match date_to_char(&Date::new(y, m, d, h, mi, s).unwrap(), model, &Nls::default(), &mut out) {
            Ok(()) => out,
            Err(e) => e.to_string()[..9].to_owned(),
        }
    }

    #[test]
    fn the_longest_text_of_a_model_is_bounded() {
        let dates = [(9999, 9, 27, 23, 59, 59), (-4712, 1, 1, 0, 0, 0), (-999, 8, 31, 12, 0, 0), (1, 12, 25, 1, 2, 3)];
        let codes = CODES.iter().filter(|(_, code)| !matches!(code, Code::Ff(_) | Code::Tzh | Code::Tzm));
        for (name, _) in codes {
            for model in [name.to_string(), format!("{name}TH"), format!("FM{name}-\"of\"")] {
                let Some(longest) = longest(&model) else { continue };
                for date in dates {
                    let text = show(date, &model);
                    assert!(text.starts_with("ORA-") || text.chars().count() <= longest as usize, "{model}: {text}");
                }
            }
        }
        assert_eq!(longest("YYYY-MM-DD HH24:MI:SS"), Some(19));
        assert_eq!(longest("DD. Month TZH:TZM FF3"), Some(24));
        assert_eq!((longest("YEAR"), longest("DDSP"), longest("?X?")), (None, None, Some(3)));
        assert_eq!((longest("DDX"), longest("nonsense")), (Some(3), None));
    }

    #[test]
    fn models() {
        let a = (2024, 3, 5, 14, 7, 9);
        for (model, text) in [
            ("YYYY-MM-DD HH24:MI:SS", "2024-03-05 14:07:09"),
            ("DD-MON-RR", "05-MAR-24"),
            ("dd-mon-yy", "05-mar-24"),
            ("Dd-Mon-YY", "05-Mar-24"),
            ("Month", "March    "),
            ("MONTH", "MARCH    "),
            ("FMMonth DD, YYYY", "March 5, 2024"),
            ("Day", "Tuesday  "),
            ("DY", "TUE"),
            ("D", "3"),
            ("DDD", "065"),
            ("J", "2460375"),
            ("Q", "1"),
            ("WW", "10"),
            ("W", "1"),
            ("IW", "10"),
            ("IYYY", "2024"),
            ("CC", "21"),
            ("YYY", "024"),
            ("Y", "4"),
            ("Y,YYY", "2,024"),
            ("YEAR", "TWENTY TWENTY-FOUR"),
            ("Year", "Twenty Twenty-Four"),
            ("RM", "III "),
            ("FMrm", "iii"),
            ("HH", "02"),
            ("HH12:MI PM", "02:07 PM"),
            ("hh:mi p.m.", "02:07 p.m."),
            ("SSSSS", "50829"),
            ("DDTH", "05TH"),
            ("FMDDth", "5TH"),
            ("fmddth", "5th"),
            ("DDSP", "FIVE"),
            ("Ddspth", "Fifth"),
            ("YYYY\"year\"MM", "2024year03"),
            ("SYYYY", " 2024"),
            ("AD", "AD"),
            ("B.C.", "A.D."),
            ("TS", "02:07:09 PM"),
            ("DS", "3/5/2024"),
            ("DL", "Tuesday, March 5, 2024"),
            ("FMHH24:FMMI", "14:07"),
            ("RRRR", "2024"),
            ("X", "."),
            ("YYYY/MM,DD;", "2024/03,05;"),
            ("FF", "ORA-01821"),
            ("ABC", "ORA-01821"),
            ("YYYY5", "ORA-01821"),
            ("TZH", "ORA-01821"),
            ("\"x", "ORA-01821"),
            ("", ""),
            ("MIMI", "0707"),
            ("YYYYMMDD", "20240305"),
            ("DD.MM.YYYY", "05.03.2024"),
        ] {
            assert_eq!(show(a, model), text, "to_char(…, '{model}')");
        }
        assert_eq!(show((1900, 1, 1, 0, 0, 0), "YEAR HH A.M."), "NINETEEN HUNDRED 12 A.M.");
        assert_eq!(show((2000, 1, 1, 12, 0, 0), "YEAR HH AM CC"), "TWO THOUSAND 12 PM 20");
        assert_eq!(show((-44, 3, 15, 0, 0, 0), "SYYYY BC YYYY"), "-0044 BC 0044");
        assert_eq!(show((2021, 1, 3, 0, 0, 0), "IYYY-IW"), "2020-53");
        for (day, suffix) in
            [(1, "1ST"), (2, "2ND"), (3, "3RD"), (11, "11TH"), (12, "12TH"), (22, "22ND"), (31, "31ST")]
        {
            assert_eq!(show((2024, 1, day, 0, 0, 0), "FMDDTH"), suffix);
        }
        for (day, words) in [(12, "TWELFTH"), (20, "TWENTIETH"), (21, "TWENTY-FIRST"), (30, "THIRTIETH")] {
            assert_eq!(show((2024, 1, day, 0, 0, 0), "DDSPTH"), words);
        }
    }

    #[test]
    fn timestamps() {
        let date = Date::new(2024, 3, 5, 14, 7, 9).unwrap();
        let show = |t: Timestamp, model: &str| {
            let mut out = String::new();
            timestamp_to_char(&t, model, &Nls::default(), &mut out).unwrap();
            out
        };
        assert_eq!(show(Timestamp::new(date, 123_456_000), "SSXFF"), "09.123456");
        assert_eq!(show(Timestamp::new(date, 123_456_000), "FF3"), "123");
        assert_eq!(show(Timestamp::new(date, 7), "FF9"), "000000007");
        assert_eq!(show(Timestamp::new(date, 0), &Nls::default().timestamp_format), "05-MAR-24 02.07.09.000000 PM");
        assert_eq!(show(Timestamp::with_offset(date, 0, -330), "TZH:TZM TZR"), "-05:30 -05:30");
    }
}
