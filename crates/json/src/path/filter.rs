//! Conditions of filters.
//!
//! A comparison holds if it holds for any pair of the values that its operands select. A number compared with a text
//! makes a number of the text; a literal text makes a text of a number. Objects and arrays equal nothing.

use super::{Comparison, Condition, Item, Operand, Scratch};
use crate::document::{Document, NodeId};
use std::cmp::Ordering;
use types::{Number, Ora, Result, Value};

impl Condition {
    /// Whether the condition holds for a node. The nesting of conditions is bounded by the parser.
    pub(super) fn holds(&self, document: &Document, node: NodeId, variables: &[Value]) -> Result<bool> {
        match self {
            Condition::And(list) => {
                for condition in list {
                    if !condition.holds(document, node, variables)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Or(list) => {
                for condition in list {
                    if condition.holds(document, node, variables)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::Not(inner) => Ok(!inner.holds(document, node, variables)?),
            Condition::Exists(path) => path.exists(document, node, variables),
            Condition::Compare(comparison, left, right) => {
                let (left, right) = (left.items(document, node, variables)?, right.items(document, node, variables)?);
                Ok(left.iter().any(|l| right.iter().any(|r| comparison.holds(l, r))))
            }
            Condition::In(left, list) => {
                let left = left.items(document, node, variables)?;
                for operand in list {
                    let right = operand.items(document, node, variables)?;
                    if left.iter().any(|l| right.iter().any(|r| Comparison::Equal.holds(l, r))) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

impl Operand {
    fn items<'a>(&'a self, document: &'a Document, node: NodeId, variables: &'a [Value]) -> Result<Vec<Item<'a>>> {
        Ok(match self {
            Operand::Path(path) => {
                let mut nodes = Vec::new();
                path.nodes(document, node, variables, &mut Scratch::default(), &mut nodes)?;
                path.items(document, &nodes)
            }
            Operand::Text(text) => vec![Item::Text(text.as_str().into())],
            Operand::Number(n) => vec![Item::Number(*n)],
            Operand::Boolean(b) => vec![Item::Boolean(*b)],
            Operand::Null => vec![Item::Null],
            Operand::Variable(at) => match variables.get(*at).map(Value::content) {
                Some(Value::Text(text)) => vec![Item::Text(text.as_str().into())],
                Some(Value::Number(n)) => vec![Item::Number(*n)],
                Some(Value::Boolean(b)) => vec![Item::Boolean(*b)],
                Some(Value::Null) => vec![Item::Null],
                _ => return Err(Ora::new(40444)),
            },
        })
    }
}

impl super::Path {
    /// The items of selected nodes: the nodes, or the values of the item method.
    pub fn items<'a>(&self, document: &'a Document, nodes: &[NodeId]) -> Vec<Item<'a>> {
        match self.method {
            None => nodes.iter().map(|n| Item::of(document, *n)).collect(),
            Some(super::Method::Count) => vec![Item::Number(Number::from_u64(nodes.len() as u64))],
            Some(method) => nodes.iter().filter_map(|n| method.apply(document, *n)).collect(),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Item<'_>, right: &Item<'_>) -> bool {
        let order = match self {
            Comparison::HasSubstring | Comparison::StartsWith | Comparison::Like => {
                let (Item::Text(text), Item::Text(part)) = (left, right) else { return false };
                return match self {
                    Comparison::HasSubstring => text.contains(&**part),
                    Comparison::StartsWith => text.starts_with(&**part),
                    _ => is_like(text, part),
                };
            }
            _ => order(left, right),
        };
        match self {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::NotEqual => order.is_some_and(Ordering::is_ne),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
            Comparison::Greater => order == Some(Ordering::Greater),
            _ => order.is_some_and(Ordering::is_ge),
        }
    }
}

fn order(left: &Item<'_>, right: &Item<'_>) -> Option<Ordering> {
    match (left, right) {
        (Item::Null, Item::Null) => Some(Ordering::Equal),
        (Item::Boolean(a), Item::Boolean(b)) => Some(a.cmp(b)),
        (Item::Text(a), Item::Text(b)) => Some(a.cmp(b)),
        (Item::Text(_), Item::Boolean(_)) | (Item::Boolean(_), Item::Text(_)) => Some(left.text()?.cmp(&right.text()?)),
        // A literal text compares as text with the digits of the document.
        (Item::Digits(digits), Item::Text(text)) if Number::parse(text).is_err() => Some((*digits).cmp(&**text)),
        _ => Some(left.number()?.cmp(&right.number()?)),
    }
}

/// LIKE with `%` and `_`. The pattern is matched greedily, and only the last `%` is tried again: linear in the product
/// of the lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut t, mut p, mut again) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('%') => {
                again = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '_' || c == text[t] => {
                t += 1;
                p += 1;
            }
            _ => match again {
                Some((percent, from)) => {
                    again = Some((percent, from + 1));
                    (p, t) = (percent + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '%')
}
