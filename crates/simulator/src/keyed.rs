//! The text of machine files: the part of TOML that they need.
//!
//! Sections, `key = value` with numbers, strings and arrays of numbers, comments. Everything else is refused with its
//! line (S5). A library was rejected: the crate's core has no dependencies.

use std::collections::BTreeMap;

use crate::error::Error;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    Text(String),
    Numbers(Vec<f64>),
}

/// The longest file, array and text: a machine needs far less.
const LINES_MAX: usize = 10_000;
const ARRAY_MAX: usize = 4_096;

/// Values by `section.key`, with their lines.
#[derive(Debug, Default)]
pub(crate) struct Keyed {
    values: BTreeMap<String, (usize, Value)>,
}

impl Keyed {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (mut keyed, mut section) = (Self::default(), String::new());
        for (line, n) in text.lines().zip(1..) {
            if n > LINES_MAX {
                return Err(Error::at(n, format!("the file has more than {LINES_MAX} lines")));
            }
            let line = without_comment(line).trim();
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let name = name.strip_suffix(']').filter(|name| is_name(name));
                section = name.ok_or_else(|| Error::at(n, "a section is [name]"))?.to_owned() + ".";
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| Error::at(n, "expected key = value"))?;
            let key = key.trim();
            if !is_name(key) {
                return Err(Error::at(n, format!("'{key}' is no key")));
            }
            let value = value_of(value.trim()).map_err(|why| Error::at(n, format!("{key}: {why}")))?;
            let key = format!("{section}{key}");
            if let Some((before, _)) = keyed.values.insert(key.clone(), (n, value)) {
                return Err(Error::at(n, format!("{key} is given already in line {before}")));
            }
        }
        Ok(keyed)
    }

    /// A number within bounds, if it is given.
    pub fn number(&mut self, key: &str, least: f64, most: f64) -> Result<Option<f64>, Error> {
        match self.values.remove(key) {
            None => Ok(None),
            Some((_, Value::Number(x))) if (least..=most).contains(&x) => Ok(Some(x)),
            Some((n, Value::Number(x))) => Err(Error::at(n, format!("{key} = {x}: expected {least} to {most}"))),
            Some((n, _)) => Err(Error::at(n, format!("{key}: expected a number"))),
        }
    }

    /// A whole number within bounds, or the default.
    pub fn count(&mut self, key: &str, most: u32, default: u32) -> Result<u32, Error> {
        let line = self.values.get(key).map_or(0, |(n, _)| *n);
        match self.number(key, 1.0, f64::from(most))? {
            None => Ok(default),
            Some(x) if x.fract() == 0.0 => Ok(x as u32),
            Some(x) => Err(Error::at(line, format!("{key} = {x}: expected a whole number"))),
        }
    }

    pub fn text(&mut self, key: &str) -> Result<Option<String>, Error> {
        match self.values.remove(key) {
            None => Ok(None),
            Some((_, Value::Text(text))) => Ok(Some(text)),
            Some((n, _)) => Err(Error::at(n, format!("{key}: expected a text in quotes"))),
        }
    }

    /// Numbers within bounds, if they are given.
    pub fn numbers(&mut self, key: &str, least: f64, most: f64) -> Result<Option<Vec<f64>>, Error> {
        match self.values.remove(key) {
            None => Ok(None),
            Some((n, Value::Numbers(all))) => match all.iter().find(|x| !(least..=most).contains(*x)) {
                None if all.is_empty() => Err(Error::at(n, format!("{key}: the list is empty"))),
                None => Ok(Some(all)),
                Some(x) => Err(Error::at(n, format!("{key}: {x} is not in {least} to {most}"))),
            },
            Some((n, _)) => Err(Error::at(n, format!("{key}: expected a list of numbers"))),
        }
    }

    /// Refuses what no one asked for.
    pub fn finish(self) -> Result<(), Error> {
        match self.values.iter().min_by_key(|(_, (n, _))| *n) {
            None => Ok(()),
            Some((key, (n, _))) => Err(Error::at(*n, format!("{key} is not known"))),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, b) in line.bytes().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            b'#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

fn value_of(text: &str) -> Result<Value, String> {
    if let Some(rest) = text.strip_prefix('"') {
        let inner = rest.strip_suffix('"').filter(|inner| !inner.contains(['"', '\\']));
        return inner.map(|t| Value::Text(t.to_owned())).ok_or_else(|| "the text does not end in a quote".to_owned());
    }
    if let Some(rest) = text.strip_prefix('[') {
        let inner = rest.strip_suffix(']').ok_or("the list does not end in ]")?.trim();
        let inner = inner.strip_suffix(',').unwrap_or(inner);
        if inner.is_empty() {
            return Ok(Value::Numbers(Vec::new()));
        }
        let numbers: Result<Vec<f64>, String> = inner.split(',').map(|x| number(x.trim())).collect();
        let numbers = numbers?;
        return match numbers.len() {
            0..=ARRAY_MAX => Ok(Value::Numbers(numbers)),
            len => Err(format!("a list of {len} numbers; at most {ARRAY_MAX}")),
        };
    }
    number(text).map(Value::Number)
}

pub(crate) fn number(text: &str) -> Result<f64, String> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE_".contains(&b));
    let digits = text.replace('_', "");
    match digits.parse::<f64>() {
        Ok(x) if plain && x.is_finite() => Ok(x),
        _ => Err(format!("'{text}' is no number")),
    }
}
