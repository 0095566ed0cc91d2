//! Documents from documents: the merge patch of RFC 7396, and equality.

use crate::document::{Document, Kind, NodeId};
use crate::path::Item;
use crate::strings::push_quoted;
use crate::write::{Layout, push_number, write};
use std::borrow::Cow;
use std::collections::HashMap;

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
    let (changes, known) = (Names::of(patch, change), target.map(|(document, node)| Names::of(document, node)));
    out.push('{');
    if let Some((document, node)) = target {
        for (key, value) in document.members(node) {
            let key = document.content(key);
            match changes.value(&key) {
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
        let is_known = known.as_ref().is_some_and(|known| known.value(&key).is_some());
        if !is_known && patch.kind(new) != Kind::Null {
            name(&key, out);
            merge(None, patch, new, out);
        }
    }
    out.push('}');
}

/// Objects with more members are looked up by a map.
const SEARCHED_MAX: u32 = 8;

/// The members of an object by name, the first of several with one name (J2): a merge takes linear time (J1).
struct Names<'a> {
    document: &'a Document,
    object: NodeId,
    map: Option<HashMap<Cow<'a, str>, NodeId>>,
}

impl<'a> Names<'a> {
    fn of(document: &'a Document, object: NodeId) -> Names<'a> {
        let map = (document.count(object) > SEARCHED_MAX).then(|| {
            let mut map = HashMap::with_capacity(document.count(object) as usize);
            for (key, value) in document.members(object) {
                map.entry(document.content(key)).or_insert(value);
            }
            map
        });
        Names { document, object, map }
    }

    fn value(&self, name: &str) -> Option<NodeId> {
        match &self.map {
            Some(map) => map.get(name).copied(),
            None => self.document.member(self.object, name),
        }
    }
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
            // Too large for a number of SQL.
            _ => {
                let (mut l, mut r) = (String::new(), String::new());
                push_number(a.raw(x), &mut l);
                push_number(b.raw(y), &mut r);
                l == r
            }
        },
        (Kind::Text, Kind::Text) => a.content(x) == b.content(y),
        (left, right) => left == right,
    }
}
