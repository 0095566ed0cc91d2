//! Number format models: `999G990D00`, `S9999`, `9.99EEEE`, `XXXX`, `TM9`, `RN`.

use crate::error::{Ora, Result};
use crate::nls::Nls;
use crate::number::Number;
use std::fmt::Write;

/// The position of the sign.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// A blank or `-` before the number.
    Default,
    /// `S` at the front: always `+` or `-`.
    Leading,
    /// `S` at the end.
    Trailing,
    /// `MI` at the end: `-` or a blank.
    Minus,
    /// `PR` at the end: `<1>`.
    Brackets,
}

/// Digits and separators before or after the point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nine,
    Zero,
    /// A comma, or `G`.
    Group(char),
}

/// A fixed-point or exponent model.
struct Model {
    fill: bool,
    currency: Option<String>,
    /// The width of the currency symbol.
    currency_width: usize,
    dollar: bool,
    blank_zero: bool,
    sign: Sign,
    whole: Vec<Place>,
    fraction: Vec<Place>,
    point: Option<char>,
    /// Digits after `V`: the number is multiplied by that power of ten.
    shift: i32,
    exponent: bool,
}

/// The width of `L`, `U` and `C`.
const CURRENCY_WIDTH: usize = 10;
const ISO_CURRENCY_WIDTH: usize = 7;

enum Parsed {
    Fixed(Model),
    Hex { fill: bool, lower: bool, zeros: bool, digits: usize },
    Roman { fill: bool, lower: bool },
    Text { exponent: bool },
}

fn bad() -> Ora {
    Ora::new(1481)
}

fn parse(model: &str, nls: &Nls) -> Result<Parsed> {
    let upper = model.to_ascii_uppercase();
    let (fill, rest) = match upper.strip_prefix("FM") {
        Some(rest) => (false, rest),
        None => (true, upper.as_str()),
    };
    let original = &model[model.len() - rest.len()..];
    match rest {
        "TM" | "TM9" => return Ok(Parsed::Text { exponent: false }),
        "TME" => return Ok(Parsed::Text { exponent: true }),
        "RN" => return Ok(Parsed::Roman { fill, lower: original.starts_with('r') }),
        _ => {}
    }
    if rest.contains('X') && rest.bytes().all(|b| b == b'X' || b == b'0') {
        let zeros = rest.starts_with('0');
        return Ok(Parsed::Hex { fill, lower: original.contains('x'), zeros, digits: rest.len() });
    }
    parse_fixed(rest, fill, nls).map(Parsed::Fixed)
}

fn parse_fixed(model: &str, fill: bool, nls: &Nls) -> Result<Model> {
    let mut m = Model {
        fill,
        currency: None,
        currency_width: 0,
        dollar: false,
        blank_zero: false,
        sign: Sign::Default,
        whole: Vec::new(),
        fraction: Vec::new(),
        point: None,
        shift: 0,
        exponent: false,
    };
    let (mut rest, mut shifted) = (model, false);
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        let at_start = rest.len() == model.len();
        let behind = m.point.is_some();
        if m.exponent && !matches!(c, 'S' | 'M' | 'P') {
            return Err(bad());
        }
        match c {
            '9' | '0' => {
                let place = if c == '9' { Place::Nine } else { Place::Zero };
                m.shift += i32::from(shifted);
                if behind { m.fraction.push(place) } else { m.whole.push(place) }
            }
            ',' | 'G' => {
                if behind || shifted || m.whole.is_empty() {
                    return Err(bad());
                }
                m.whole.push(Place::Group(if c == ',' { ',' } else { nls.group }));
            }
            '.' | 'D' => {
                if behind || shifted {
                    return Err(bad());
                }
                m.point = Some(if c == '.' { '.' } else { nls.decimal });
            }
            '$' if !m.dollar => m.dollar = true,
            'L' | 'U' if m.currency.is_none() => {
                let symbol = if c == 'L' { &nls.currency } else { &nls.dual_currency };
                (m.currency, m.currency_width) = (Some(symbol.clone()), CURRENCY_WIDTH)
            }
            'C' if m.currency.is_none() => {
                (m.currency, m.currency_width) = (Some(nls.iso_currency.clone()), ISO_CURRENCY_WIDTH)
            }
            'B' if !m.blank_zero => m.blank_zero = true,
            'V' if !shifted && !behind => shifted = true,
            'E' if rest.starts_with("EEEE") => {
                m.exponent = true;
                taken = 4;
            }
            'S' if m.sign == Sign::Default && (at_start || rest.len() == 1) => {
                m.sign = if at_start { Sign::Leading } else { Sign::Trailing };
            }
            'M' if m.sign == Sign::Default && rest == "MI" => (m.sign, taken) = (Sign::Minus, 2),
            'P' if m.sign == Sign::Default && rest == "PR" => (m.sign, taken) = (Sign::Brackets, 2),
            _ => return Err(bad()),
        }
        rest = &rest[taken..];
    }
    let digits = |places: &[Place]| places.iter().any(|p| !matches!(p, Place::Group(_)));
    if !digits(&m.whole) && !digits(&m.fraction) {
        return Err(bad());
    }
    Ok(m)
}

/// Appends TO_CHAR(n, model).
///
/// # Errors
/// ORA-01481 for a bad model.
pub fn number_to_char(n: &Number, model: &str, nls: &Nls, out: &mut String) -> Result<()> {
    match parse(model, nls)? {
        Parsed::Fixed(model) if model.exponent => model.write_exponent(n, out),
        Parsed::Fixed(model) => model.write_fixed(n, out),
        Parsed::Hex { fill, lower, zeros, digits } => write_hex(n, fill, lower, zeros, digits, out),
        Parsed::Roman { fill, lower } => write_roman(n, fill, lower, out),
        Parsed::Text { exponent: false } => n.write_text(out),
        Parsed::Text { exponent: true } => write_shortest_exponent(n, out),
    }
    Ok(())
}

/// Decimal digits of |n| before and after the point, rounded to `places`.
fn split_digits(n: &Number, places: i32) -> (String, String) {
    let mut text = String::new();
    let rounded = n.round(places).abs();
    let mut digits = [0u8; 40];
    let len = rounded.significant_digits(&mut digits) as i32;
    let exponent = rounded.decimal_exponent();
    let digit = |at: i32| char::from(b'0' + if (0..len).contains(&at) { digits[at as usize] } else { 0 });
    if !rounded.is_zero() {
        text.extend((0..=exponent).map(digit));
    }
    let fraction = (1..=places).map(|place| if rounded.is_zero() { '0' } else { digit(exponent + place) });
    (text, fraction.collect())
}

impl Model {
    fn write_fixed(&self, n: &Number, out: &mut String) {
        let shifted =
            if self.shift > 0 { Number::from_scaled(1, self.shift).and_then(|unit| n.mul(&unit)) } else { Ok(*n) };
        let places = self.fraction.len() as i32;
        let room = self.whole.iter().filter(|p| !matches!(p, Place::Group(_))).count();
        let Ok(shifted) = shifted else { return self.overflow(out) };
        let (whole, fraction) = split_digits(&shifted, places);
        if whole.len() > room {
            return self.overflow(out);
        }
        let mut body = String::new();
        let blank = self.blank_zero && whole.is_empty() && fraction.bytes().all(|b| b == b'0');
        if blank {
            if self.fill {
                out.extend(std::iter::repeat_n(' ', self.width()));
            }
            return;
        }
        self.write_whole(&whole, room, &mut body);
        let kept = if self.fill {
            fraction.len()
        } else {
            let zeros = self.fraction.iter().rposition(|p| *p == Place::Zero).map_or(0, |at| at + 1);
            fraction.trim_end_matches('0').len().max(zeros)
        };
        if let Some(point) = self.point {
            if !self.fill && body.trim_start().is_empty() && kept == 0 {
                body.push('0');
            }
            body.push(point);
            body.push_str(&fraction[..kept]);
        }
        self.finish(n, &body, out);
    }

    fn write_whole(&self, whole: &str, room: usize, body: &mut String) {
        // A zero before the point is shown only if the model has a 0, or if nothing else would be shown.
        let alone = whole.is_empty() && self.fraction.is_empty();
        let first_zero = self.whole.iter().position(|p| *p == Place::Zero).unwrap_or(usize::MAX);
        let mut digits = whole.chars();
        let mut place = room;
        for (i, p) in self.whole.iter().enumerate() {
            match p {
                Place::Group(c) => body.push(if body.trim_start().is_empty() { ' ' } else { *c }),
                _ => {
                    let digit = if place <= whole.len() {
                        digits.next().unwrap_or('0')
                    } else if i >= first_zero || (alone && place == 1) {
                        '0'
                    } else {
                        ' '
                    };
                    body.push(digit);
                    place -= 1;
                }
            }
        }
    }

    /// Puts sign and currency directly before the first digit, after padding blanks.
    fn finish(&self, n: &Number, body: &str, out: &mut String) {
        let number = body.trim_start();
        let negative = n.is_negative();
        let mut head = String::new();
        let mut tail = "";
        match self.sign {
            Sign::Default if negative => head.push('-'),
            Sign::Leading => head.push(if negative { '-' } else { '+' }),
            Sign::Brackets if negative => {
                head.push('<');
                tail = ">";
            }
            Sign::Brackets => tail = if self.fill { " " } else { "" },
            Sign::Trailing => tail = if negative { "-" } else { "+" },
            Sign::Minus if negative => tail = "-",
            Sign::Minus => tail = if self.fill { " " } else { "" },
            Sign::Default => {}
        }
        if let Some(currency) = &self.currency {
            head.push_str(currency);
        }
        if self.dollar {
            head.push('$');
        }
        if self.fill {
            let used = head.chars().count() + number.chars().count() + tail.len();
            out.extend(std::iter::repeat_n(' ', self.width().saturating_sub(used)));
        }
        out.push_str(&head);
        out.push_str(number);
        out.push_str(tail);
    }

    /// The width of a padded result.
    fn width(&self) -> usize {
        let sign = match self.sign {
            Sign::Brackets => 2,
            _ => 1,
        };
        let exponent = if self.exponent { 5 } else { 0 };
        sign + self.currency_width
            + exponent
            + usize::from(self.dollar)
            + self.whole.len()
            + usize::from(self.point.is_some())
            + self.fraction.len()
    }

    fn overflow(&self, out: &mut String) {
        out.extend(std::iter::repeat_n('#', self.width()));
    }

    fn write_exponent(&self, n: &Number, out: &mut String) {
        let places = self.fraction.len() as i32;
        let mut exponent = n.decimal_exponent();
        let mut digits = [0u8; 40];
        let rounded = n.round(places - exponent);
        rounded.significant_digits(&mut digits);
        if !rounded.is_zero() {
            exponent = rounded.decimal_exponent();
        }
        let mut body = String::new();
        body.push(char::from(b'0' + digits[0]));
        if let Some(point) = self.point {
            body.push(point);
            body.extend((1..=places as usize).map(|at| char::from(b'0' + digits.get(at).copied().unwrap_or(0))));
        }
        write_power(exponent, &mut body);
        self.finish(n, &body, out);
    }
}

fn write_power(exponent: i32, out: &mut String) {
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "E{sign}{:02}", exponent.abs()).expect("writing to a String does not fail");
}

fn write_shortest_exponent(n: &Number, out: &mut String) {
    let mut digits = [0u8; 40];
    let len = n.significant_digits(&mut digits).max(1);
    if n.is_negative() {
        out.push('-');
    }
    out.push(char::from(b'0' + digits[0]));
    if len > 1 {
        out.push('.');
        out.extend(digits[1..len].iter().map(|d| char::from(b'0' + d)));
    }
    write_power(n.decimal_exponent(), out);
}

fn write_hex(n: &Number, fill: bool, lower: bool, zeros: bool, width: usize, out: &mut String) {
    let value = n.round(0);
    let value: Option<u128> = if value.is_negative() { None } else { value.to_string().parse().ok() };
    let text = match value {
        Some(value) if lower => format!("{value:x}"),
        Some(value) => format!("{value:X}"),
        None => "#".repeat(width + 1),
    };
    if text.len() > width {
        out.extend(std::iter::repeat_n('#', width + 1));
        return;
    }
    let missing = width - text.len();
    if fill {
        out.push(' ');
    }
    if zeros {
        out.extend(std::iter::repeat_n('0', missing));
    } else if fill {
        out.extend(std::iter::repeat_n(' ', missing));
    }
    out.push_str(&text);
}

/// Roman numerals have fifteen places: MMMDCCCLXXXVIII is the longest.
fn write_roman(n: &Number, fill: bool, lower: bool, out: &mut String) {
    const WIDTH: usize = 15;
    match n.round(0).as_i64() {
        Some(value @ 1..=3999) => {
            let mut text = super::roman(value as u32);
            if lower {
                text.make_ascii_lowercase();
            }
            let width = if fill { WIDTH } else { 0 };
            write!(out, "{text:>width$}").expect("writing to a String does not fail");
        }
        _ => out.extend(std::iter::repeat_n('#', WIDTH)),
    }
}

/// TO_NUMBER(text, model).
///
/// # Errors
/// ORA-01722 for a text that does not match the model, ORA-01481 for a bad model.
pub fn number_from_text(text: &str, model: &str, nls: &Nls) -> Result<Number> {
    match parse(model, nls)? {
        Parsed::Hex { digits, .. } => {
            let text = text.trim_matches(' ');
            if text.len() > digits || text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(Ora::new(1722));
            }
            let n = u128::from_str_radix(text, 16).map_err(|_| Ora::new(1722))?;
            // The largest have 39 digits, which a NUMBER holds.
            i128::try_from(n).map_or_else(|_| Number::parse(&n.to_string()), |n| Ok(Number::from_i128(n)))
        }
        Parsed::Text { .. } => Number::parse_with(text, nls.decimal),
        Parsed::Roman { .. } => Err(bad()),
        Parsed::Fixed(model) => model.read(text),
    }
}

impl Model {
    fn read(&self, text: &str) -> Result<Number> {
        let invalid = || Ora::new(1722);
        let mut text = text.trim_matches(' ');
        let mut negative = false;
        match self.sign {
            Sign::Brackets => {
                if let Some(inner) = text.strip_prefix('<') {
                    text = inner.strip_suffix('>').ok_or_else(invalid)?;
                    negative = true;
                }
            }
            Sign::Trailing | Sign::Minus => {
                if let Some(inner) = text.strip_suffix('-') {
                    (text, negative) = (inner.trim_end(), true);
                } else if let Some(inner) = text.strip_suffix('+') {
                    text = inner.trim_end();
                }
            }
            Sign::Default | Sign::Leading => {
                if let Some(inner) = text.strip_prefix('-') {
                    (text, negative) = (inner, true);
                } else if let Some(inner) = text.strip_prefix('+') {
                    text = inner;
                }
            }
        }
        if let Some(currency) = &self.currency {
            text = text.strip_prefix(currency.as_str()).unwrap_or(text);
        }
        if self.dollar {
            text = text.strip_prefix('$').unwrap_or(text);
        }
        if self.exponent {
            let n = Number::parse_with(text, self.point.unwrap_or('.'))?;
            return Ok(if negative { n.neg() } else { n });
        }
        let (whole, fraction) = match self.point.and_then(|point| text.split_once(point)) {
            Some((whole, fraction)) => (whole, fraction),
            None => (text, ""),
        };
        let mut digits = String::with_capacity(text.len() + 1);
        if negative {
            digits.push('-');
        }
        self.read_whole(whole, &mut digits).ok_or_else(invalid)?;
        if fraction.len() > self.fraction.len() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        if !fraction.is_empty() {
            digits.push('.');
            digits.push_str(fraction);
        }
        let n = Number::parse(&digits)?;
        if self.shift > 0 { n.div(&Number::from_scaled(1, self.shift)?) } else { Ok(n) }
    }

    /// Matches the digits before the point from right to left: separators must be where the model has them.
    fn read_whole(&self, text: &str, digits: &mut String) -> Option<()> {
        let mut kept: Vec<char> = Vec::with_capacity(text.len());
        let mut places = self.whole.iter().rev();
        for c in text.chars().rev() {
            match places.next()? {
                Place::Group(group) if c == *group => {}
                Place::Group(_) => return None,
                _ if c.is_ascii_digit() => kept.push(c),
                _ => return None,
            }
        }
        digits.extend(kept.into_iter().rev());
        Some(())
    }
}

/// Appends a number as SQL*Plus shows it in a column of `width` characters without a format: rounded to fit, otherwise
/// in exponent notation, otherwise as `#`. Without padding.
pub fn number_in_width(n: &Number, width: usize, out: &mut String) {
    let mut text = String::new();
    n.write_text(&mut text);
    if text.len() <= width {
        return out.push_str(&text);
    }
    let sign = usize::from(n.is_negative());
    let exponent = n.decimal_exponent();
    let whole = if exponent < 0 { 0 } else { exponent as usize + 1 };
    // An exponent takes four or five characters and a point one; for few leading zeros a fraction keeps more digits.
    if sign + whole <= width && (exponent >= 0 || -exponent <= 5) {
        let places = width.saturating_sub(sign + whole + 1) as i32;
        let rounded = n.round(places);
        text.clear();
        rounded.write_text(&mut text);
        if text.len() <= width && !rounded.is_zero() {
            return out.push_str(&text);
        }
    }
    let tail = if exponent.abs() >= 100 { 5 } else { 4 };
    let Some(room) = width.checked_sub(sign + tail + 1) else {
        return out.extend(std::iter::repeat_n('#', width));
    };
    let places = room.saturating_sub(1) as i32;
    let rounded = n.round(places - exponent);
    let mut digits = [0u8; 40];
    rounded.significant_digits(&mut digits);
    if sign == 1 {
        out.push('-');
    }
    out.push(char::from(b'0' + digits[0]));
    if places > 0 {
        out.push('.');
        out.extend((1..=places as usize).map(|at| char::from(b'0' + digits.get(at).copied().unwrap_or(0))));
    }
    write_power(rounded.decimal_exponent(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(n: &str, model: &str) -> String {
        let mut out = String::new();
        match number_to_char(&n.parse().unwrap(), model, &Nls::default(), &mut out) {
            Ok(()) => out,
            Err(e) => e.to_string()[..9].to_owned(),
        }
    }

    #[test]
    fn models() {
        for (n, model, text) in [
            ("123", "999", " 123"),
            ("-123", "999", "-123"),
            ("1234", "999", "####"),
            ("0", "999", "   0"),
            ("0", "9.9", "  .0"),
            ("0.5", "9.9", "  .5"),
            ("0.5", "0.9", " 0.5"),
            ("12.345", "99.99", " 12.35"),
            ("-12.5", "999", " -13"),
            ("1234567", "9,999,999", " 1,234,567"),
            ("123", "9,999,999", "       123"),
            ("1234.5", "9G999D99", " 1,234.50"),
            ("123", "00000", " 00123"),
            ("123", "09999", " 00123"),
            ("0", "0,000", " 0,000"),
            ("123", "0,000", " 0,123"),
            ("12", "$999", "  $12"),
            ("-12", "$999", " -$12"),
            ("12", "L999", "           $12"),
            ("12", "S999", " +12"),
            ("-12", "S999", " -12"),
            ("12", "999S", " 12+"),
            ("-12", "999S", " 12-"),
            ("-12", "999MI", " 12-"),
            ("12", "999MI", " 12 "),
            ("-12", "999PR", " <12>"),
            ("12", "999PR", "  12 "),
            ("12", "FM999", "12"),
            ("12", "FM999PR", "12"),
            ("12", "FM999MI", "12"),
            ("12.5", "FM999.99", "12.5"),
            ("12", "FM999.99", "12."),
            ("12", "FM999.00", "12.00"),
            ("0.1", "FM999.99", ".1"),
            ("0.1", "FM990.99", "0.1"),
            ("0", "FM999", "0"),
            ("0", "FM999.99", "0."),
            ("12.345", "99V999", " 12345"),
            ("123456", "9.99EEEE", "  1.23E+05"),
            ("0.00012", "9.9EEEE", "  1.2E-04"),
            ("-123456", "9.99EEEE", " -1.23E+05"),
            ("9999", "9.9EEEE", "  1.0E+04"),
            ("255", "XX", " FF"),
            ("255", "xx", " ff"),
            ("255", "FMXX", "FF"),
            ("255", "0XXX", " 00FF"),
            ("256", "XX", "###"),
            ("-1", "XX", "###"),
            ("1999", "RN", "        MCMXCIX"),
            ("4", "FMrn", "iv"),
            ("4000", "RN", "###############"),
            (".5", "TM", ".5"),
            ("1234.5", "TM9", "1234.5"),
            ("1234.5", "TME", "1.2345E+03"),
            ("0", "B999", "    "),
            ("5", "B999", "   5"),
            ("-0.001", "9.99", " -.00"),
            ("100", "99", "###"),
            ("12", "$L99", "          $$12"),
            ("1.5", "C9.9", "     USD1.5"),
            ("1", "abc", "ORA-01481"),
            ("1", "9.9.9", "ORA-01481"),
            ("1", ",999", "ORA-01481"),
            ("1", "9S9", "ORA-01481"),
            ("1", "", "ORA-01481"),
            ("1", "99.9,9", "ORA-01481"),
            ("1e20", "999", "####"),
            ("123456789", "999,999,999", " 123,456,789"),
            ("0", "99", "  0"),
            ("0", "00.00", " 00.00"),
            (".05", ".99", " .05"),
            ("1", ".99", "####"),
            ("-1234.56", "9,999.99", "-1,234.56"),
            ("-1", "FM999", "-1"),
        ] {
            assert_eq!(show(n, model), text, "to_char({n}, '{model}')");
        }
    }

    #[test]
    fn reads_by_model() {
        for (text, model, n) in [
            ("1,234.50", "9,999.99", "1234.5"),
            ("-12", "999", "-12"),
            ("12-", "999MI", "-12"),
            ("<12>", "999PR", "-12"),
            ("$12", "$999", "12"),
            ("FF", "XX", "255"),
            ("ff", "XXXX", "255"),
            ("1.23E+05", "9.99EEEE", "123000"),
            (" 12 ", "999", "12"),
            ("+12", "S999", "12"),
            ("$1,000", "L9,999", "1000"),
            (".5", "9.9", ".5"),
            ("123", "999.99", "123"),
            ("12345", "99V999", "12.345"),
        ] {
            assert_eq!(
                number_from_text(text, model, &Nls::default()).unwrap().to_string(),
                n,
                "to_number('{text}', '{model}')"
            );
        }
        for (text, model, error) in [
            ("1234", "999", 1722),
            ("1,2,3", "999,999", 1722),
            ("abc", "999", 1722),
            ("FG", "XX", 1722),
            ("1", "9x9", 1481),
            ("1.234", "9.99", 1722),
            ("1234", "9,999", 1722),
        ] {
            assert!(
                number_from_text(text, model, &Nls::default()).unwrap_err().is(error),
                "to_number('{text}', '{model}')"
            );
        }
    }

    #[test]
    fn sqlplus_columns() {
        for (n, width, text) in [
            ("1234567890", 10, "1234567890"),
            ("12345678901", 10, "1.2346E+10"),
            (".3333333333333333333333", 10, ".333333333"),
            ("33.333333333333333333", 10, "33.3333333"),
            ("-1234567890", 10, "-1.235E+09"),
            (".00001157407407407", 10, ".000011574"),
            (".000001157407407407", 10, "1.1574E-06"),
            ("1e100", 10, "1.000E+100"),
            ("123", 2, "##"),
            ("99999999999", 10, "1.0000E+11"),
            ("1234567890.5", 10, "1234567891"),
        ] {
            let mut out = String::new();
            number_in_width(&n.parse().unwrap(), width, &mut out);
            assert_eq!(out, text, "{n} in {width}");
        }
    }
}
