//! Arguments of built-in subprograms.

use crate::datum::Datum;
use types::{Number, Value};

/// The arguments of a call, in the order of the specification.
pub(super) struct Args<'a>(pub(super) &'a mut Vec<Datum>);

impl Args<'_> {
    pub(super) fn value(&self, i: usize) -> &Value {
        static NULL: Value = Value::Null;
        match self.0.get(i) {
            Some(Datum::Val(v)) => v,
            _ => &NULL,
        }
    }
    pub(super) fn text(&self, i: usize) -> &str {
        match self.value(i) {
            Value::Text(s) => s,
            _ => "",
        }
    }
    pub(super) fn optional_text(&self, i: usize) -> Option<String> {
        match self.value(i) {
            Value::Text(s) => Some(s.clone()),
            _ => None,
        }
    }
    pub(super) fn number(&self, i: usize) -> Option<Number> {
        match self.value(i) {
            Value::Number(n) => Some(*n),
            _ => None,
        }
    }
    pub(super) fn integer(&self, i: usize) -> Option<i64> {
        self.number(i).and_then(|n| n.as_i64().or_else(|| n.round(0).as_i64()))
    }
    pub(super) fn flag(&self, i: usize) -> bool {
        matches!(self.value(i), Value::Boolean(true))
    }
    pub(super) fn raw(&self, i: usize) -> &[u8] {
        match self.value(i) {
            Value::Raw(r) => r,
            _ => &[],
        }
    }
    /// Whether the caller has given the argument, even as NULL.
    pub(super) fn is_given(&self, i: usize) -> bool {
        i < self.0.len()
    }
    /// Takes the value of an argument.
    pub(super) fn take(&mut self, i: usize) -> Value {
        match self.0.get_mut(i) {
            Some(Datum::Val(v)) => std::mem::take(v),
            _ => Value::Null,
        }
    }
    /// A record or a collection by reference.
    pub(super) fn datum(&self, i: usize) -> Option<&Datum> {
        self.0.get(i)
    }
    pub(super) fn set_datum(&mut self, i: usize, datum: Datum) {
        if let Some(place) = self.0.get_mut(i) {
            *place = datum;
        }
    }
    pub(super) fn set(&mut self, i: usize, v: Value) {
        if let Some(place) = self.0.get_mut(i) {
            *place = Datum::Val(v);
        }
    }
}

/// The dictionary form of a name written by a caller.
pub(super) fn unquote(name: &str) -> String {
    let name = name.trim();
    match name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => name.to_uppercase(),
    }
}
