//! A document as text.

use crate::document::{Document, Kind, NodeId};
use crate::strings::push_quoted;

/// Longest text that is written, that of a LOB: a position that is named often and the indents of deep values would
/// make more of a short document (J1). Writing ends when the text is longer; the caller checks the length.
pub const WRITTEN_MAX: usize = 32_767 * 1024;

/// The form in which a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// On several lines, indented by two blanks.
    pub pretty: bool,
    /// Other characters than those of ASCII as escapes.
    pub ascii: bool,
}

/// An object or array that is being written.
struct Open {
    end: NodeId,
    object: bool,
    first: bool,
}

/// Appends a value. Members keep their order, numbers their digits.
pub fn write(document: &Document, node: NodeId, layout: Layout, out: &mut String) {
    write_at(document, node, layout, 0, out);
}

/// As [`write`], inside of `outer` open objects and arrays.
pub(crate) fn write_at(document: &Document, node: NodeId, layout: Layout, outer: usize, out: &mut String) {
    let mut open: Vec<Open> = Vec::new();
    let (mut at, end) = (node, document.next(node));
    loop {
        while open.last().is_some_and(|o| o.end == at) {
            let closed = open.pop().expect("just seen");
            line(layout, outer + open.len(), out);
            out.push(if closed.object { '}' } else { ']' });
        }
        if at == end || out.len() > WRITTEN_MAX {
            return;
        }
        let depth = outer + open.len();
        let is_member_value = at > node && document.kind(at - 1) == Kind::Key && at != node;
        if let Some(inside) = open.last_mut()
            && !is_member_value
        {
            if !std::mem::take(&mut inside.first) {
                out.push(',');
            }
            line(layout, depth, out);
        }
        match document.kind(at) {
            kind @ (Kind::Object | Kind::Array) => {
                if is_member_value {
                    line(layout, depth, out);
                }
                out.push(if kind == Kind::Object { '{' } else { '[' });
                open.push(Open { end: document.next(at), object: kind == Kind::Object, first: true });
            }
            Kind::Key => {
                push_quoted(&document.content(at), layout.ascii, out);
                out.push_str(if layout.pretty { " :" } else { ":" });
                let scalar = !matches!(document.kind(at + 1), Kind::Object | Kind::Array);
                if layout.pretty && scalar {
                    out.push(' ');
                }
            }
            Kind::Text => push_quoted(&document.content(at), layout.ascii, out),
            Kind::Number => push_number(document.raw(at), out),
            Kind::True => out.push_str("true"),
            Kind::False => out.push_str("false"),
            Kind::Null => out.push_str("null"),
        }
        at += 1;
    }
}

/// Begins a line of pretty text.
pub(crate) fn line(layout: Layout, depth: usize, out: &mut String) {
    if layout.pretty {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

/// Appends a number in strict syntax: lax syntax allows more.
pub(crate) fn push_number(raw: &str, out: &mut String) {
    let (sign, digits) = match raw.as_bytes().first() {
        Some(b'-') => ("-", &raw[1..]),
        Some(b'+') => ("", &raw[1..]),
        _ => ("", raw),
    };
    out.push_str(sign);
    let point = digits.find('.');
    let exponent = digits.find(['e', 'E']).unwrap_or(digits.len());
    let whole = digits[..point.unwrap_or(exponent).min(exponent)].trim_start_matches('0');
    out.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(point) = point {
        let fraction = &digits[point..exponent];
        if fraction.len() > 1 {
            out.push_str(fraction);
        }
    }
    out.push_str(&digits[exponent..]);
}
