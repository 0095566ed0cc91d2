//! Documents from documents: the merge patch of RFC 7396, and equality.

use crate::document::{Document, Kind, NodeId};
use crate::path::Item;
use crate::strings::push_quoted;
use crate::write::{Layout, write};

/// Appends `target` changed by `patch`. The recursion is bounded by the nesting of documents (J1).
pub fn merge_patch(target: &Document, patch: &Document, out: &mut String) {
    merge(Some((target, target.root())), patch, patch.root(), out);
}

fn merge(target: Option<(&Document, NodeId)>, patch: &Document, change: NodeId, out: &mut String) {
    if patch.kind(change) != Kind::Object {
        write(patch, change, Layout::default(), out);
        return;
    }
    let target = target.filter(|(document, node)| document.kind(*node) == Kind::Object);
    let mut first = true;
    let mut name = |key: &str, out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        push_quoted(key, false, out);
        out.push(':');
    };
    out.push('{');
    if let Some((document, node)) = target {
        for (key, value) in document.members(node) {
            let key = document.content(key);
            match patch.member(change, &key) {
                None => {
                    name(&key, out);
                    write(document, value, Layout::default(), out);
                }
                Some(new) if patch.kind(new) == Kind::Null => {}
                Some(new) => {
                    name(&key, out);
                    merge(Some((document, value)), patch, new, out);
                }
            }
        }
    }
    for (key, new) in patch.members(change) {
        let key = patch.content(key);
        let is_known = target.is_some_and(|(document, node)| document.member(node, &key).is_some());
        if !is_known && patch.kind(new) != Kind::Null {
            name(&key, out);
            merge(None, patch, new, out);
        }
    }
    out.push('}');
}

/// Whether two values are equal: the order of members and the form of numbers and texts do not matter.
pub fn equal(a: &Document, x: NodeId, b: &Document, y: NodeId) -> bool {
    match (a.kind(x), b.kind(y)) {
        (Kind::Object, Kind::Object) => {
            let sorted = |document: &Document, node: NodeId| {
                let mut members: Vec<(String, NodeId)> =
                    document.members(node).map(|(key, value)| (document.content(key).into_owned(), value)).collect();
                members.sort_by(|left, right| left.0.cmp(&right.0));
                members
            };
            let (left, right) = (sorted(a, x), sorted(b, y));
            left.len() == right.len() && left.iter().zip(&right).all(|(l, r)| l.0 == r.0 && equal(a, l.1, b, r.1))
        }
        (Kind::Array, Kind::Array) => {
            a.count(x) == b.count(y) && a.elements(x).zip(b.elements(y)).all(|(l, r)| equal(a, l, b, r))
        }
        (Kind::Number, Kind::Number) => match (Item::of(a, x).number(), Item::of(b, y).number()) {
            (Some(l), Some(r)) => l == r,
            _ => a.raw(x) == b.raw(y),
        },
        (Kind::Text, Kind::Text) => a.content(x) == b.content(y),
        (left, right) => left == right,
    }
}
