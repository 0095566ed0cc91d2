//! Conversion of NUMBER from and to text without a format model.

use super::decimal::{DIGITS, Decimal};
use super::{Number, Repr};
use crate::error::{Ora, Result};
use std::fmt;

/// Most digits in plain notation, including zeros after the point.
const PLAIN_DIGITS: i32 = 40;

impl Number {
    /// Reads digits with an optional sign, point and exponent, and blanks around them.
    ///
    /// # Errors
    /// ORA-01722 for a text that is not a number, ORA-01426 if it is too large.
    pub fn parse(text: &str) -> Result<Number> {
        Number::parse_with(text, '.')
    }

    /// Reads a number with another decimal character.
    ///
    /// # Errors
    /// As [`Number::parse`].
    pub fn parse_with(text: &str, decimal: char) -> Result<Number> {
        let text = text.trim_matches(' ');
        let (negative, digits) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
            let n = digits.iter().fold(0i64, |n, d| n * 10 + i64::from(d - b'0'));
            return Ok(Number::from_i64(if negative { -n } else { n }));
        }
        parse_general(negative, digits, decimal)
    }

    /// Appends the text of TO_CHAR(n): up to 40 digits, `.5` for a half, exponent form beyond.
    pub fn write_text(&self, out: &mut String) {
        match &self.0 {
            Repr::Int(n) => write_whole(*n, out),
            Repr::Dec(d) => write_decimal(d, out),
        }
    }
}

/// The digits of a whole number, two at a time.
fn write_whole(n: i64, out: &mut String) {
    let mut text = [0u8; 20];
    let (mut at, mut rest) = (text.len(), n.unsigned_abs());
    while rest >= 100 {
        let pair = (rest % 100) as u8;
        rest /= 100;
        at -= 2;
        (text[at], text[at + 1]) = (b'0' + pair / 10, b'0' + pair % 10);
    }
    let pair = rest as u8;
    at -= 1;
    text[at] = b'0' + pair % 10;
    if pair >= 10 {
        at -= 1;
        text[at] = b'0' + pair / 10;
    }
    if n < 0 {
        at -= 1;
        text[at] = b'-';
    }
    out.push_str(std::str::from_utf8(&text[at..]).expect("digits are ASCII"));
}

fn parse_general(negative: bool, text: &[u8], decimal: char) -> Result<Number> {
    let bad = || Ora::new(1722);
    let mut point_utf8 = [0; 4];
    let point = decimal.encode_utf8(&mut point_utf8).as_bytes();
    let mut digits = [0u8; 2 * DIGITS + 3];
    let (mut len, mut seen, mut fraction) = (0usize, false, false);
    let mut exponent = -1i64; // exponent of the first significant digit, counted up before the point
    let mut at = 0;
    while at < text.len() {
        let c = text[at];
        if c.is_ascii_digit() {
            seen = true;
            at += 1;
            if len == 0 && c == b'0' {
                exponent -= i64::from(fraction);
                continue;
            }
            exponent += i64::from(!fraction);
            if len < digits.len() {
                digits[len] = c - b'0';
                len += 1;
            }
        } else if !fraction && text[at..].starts_with(point) {
            fraction = true;
            at += point.len();
        } else {
            break;
        }
    }
    if !seen {
        return Err(bad());
    }
    if at < text.len() {
        exponent += parse_exponent(&text[at..]).ok_or_else(bad)?;
    }
    if len == 0 {
        return Ok(Number::ZERO);
    }
    let exponent = exponent.clamp(-10_000, 10_000) as i32;
    Decimal::from_decimal_digits(negative, exponent, digits[..len].iter().copied()).map(Number::of)
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let [b'e' | b'E', rest @ ..] = text else { return None };
    let (negative, digits) = match rest {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n = digits.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(100_000));
    Some(if negative { -n } else { n })
}

fn write_decimal(d: &Decimal, out: &mut String) {
    let mut digits = [0u8; 2 * DIGITS];
    let len = d.decimal_digits(&mut digits) as i32;
    let exponent = d.decimal_exponent();
    let shown = if exponent < 0 { len - exponent - 1 } else { len.max(exponent + 1) };
    if shown <= PLAIN_DIGITS {
        if d.negative {
            out.push('-');
        }
        write_plain(&digits[..len as usize], exponent, out);
    } else if exponent < 0 && -exponent <= 5 {
        // Rounding off a few digits after a few zeros loses fewer digits than an exponent would take.
        let cut = d.round(PLAIN_DIGITS, true).expect("rounding a fraction does not overflow");
        write_decimal(&cut, out);
    } else {
        write_scientific(d, out);
    }
}

/// Writes digits, the first of weight `10^exponent`, in plain notation without a zero before the point.
pub(super) fn write_plain(digits: &[u8], exponent: i32, out: &mut String) {
    if exponent < 0 {
        out.push('.');
        out.extend((1..-exponent).map(|_| '0'));
    }
    for (i, &digit) in digits.iter().enumerate() {
        if i as i32 == exponent + 1 && exponent >= 0 {
            out.push('.');
        }
        out.push(char::from(b'0' + digit));
    }
    for _ in digits.len() as i32..=exponent {
        out.push('0');
    }
}

/// Writes exponent notation in forty characters and the sign, as TO_CHAR does for long numbers.
fn write_scientific(d: &Decimal, out: &mut String) {
    use fmt::Write;
    let tail = if d.decimal_exponent().abs() >= 100 { 5 } else { 4 };
    let places = PLAIN_DIGITS - 2 - tail;
    let rounded = d.round(places - d.decimal_exponent(), true).unwrap_or(*d);
    let mut digits = [0u8; 2 * DIGITS];
    rounded.decimal_digits(&mut digits);
    let exponent = rounded.decimal_exponent();
    if d.negative {
        out.push('-');
    }
    out.push(char::from(b'0' + digits[0]));
    out.push('.');
    out.extend(digits[1..=places as usize].iter().map(|&digit| char::from(b'0' + digit)));
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "E{sign}{:02}", exponent.abs()).expect("writing to a String does not fail");
}

/// Returns the exact value in a form that `f64` reads.
pub(super) fn scientific(d: &Decimal) -> String {
    let mut digits = [0u8; 2 * DIGITS];
    let len = d.decimal_digits(&mut digits);
    let mut text = String::with_capacity(len + 8);
    if d.negative {
        text.push('-');
    }
    text.extend(digits[..len].iter().map(|&digit| char::from(b'0' + digit)));
    text.push_str(&format!("e{}", d.decimal_exponent() - len as i32 + 1));
    text
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(n) => fmt::Display::fmt(n, f),
            Repr::Dec(d) => {
                let mut text = String::with_capacity(48);
                write_decimal(d, &mut text);
                f.pad(&text)
            }
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Number {
    type Err = Ora;

    fn from_str(text: &str) -> Result<Number> {
        Number::parse(text)
    }
}
