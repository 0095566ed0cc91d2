//! The values that a path selects.

use super::{Path, Step};
use crate::document::{Document, Kind, NodeId};
use types::{Ora, Result, Value};

/// Most nodes that a step selects. Only positions that are named more than once select more nodes than there are.
const NODES_MAX: usize = 4 << 20;

/// Memory of an evaluation, for reuse.
#[derive(Debug, Default)]
pub struct Scratch {
    from: Vec<NodeId>,
    to: Vec<NodeId>,
}

impl Path {
    /// The only node of a path of names and single positions, without lists of nodes. `Err`: the path may select
    /// several nodes here.
    pub(super) fn only(&self, document: &Document, root: NodeId) -> std::result::Result<Option<NodeId>, ()> {
        let mut node = root;
        for step in &self.steps {
            let found = match (step, document.kind(node)) {
                (Step::Member(name), Kind::Object) => document.member(node, name),
                (Step::Member(_), Kind::Array) => return Err(()),
                (Step::Member(_), _) => None,
                (Step::Elements(ranges), Kind::Array) if ranges.len() == 1 && ranges[0].0 == ranges[0].1 => {
                    let at = ranges[0].0.at(document.count(node));
                    usize::try_from(at).ok().and_then(|at| document.elements(node).nth(at))
                }
                _ => return Err(()),
            };
            match found {
                Some(found) => node = found,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// Appends the nodes that the path selects to `out`.
    ///
    /// # Errors
    /// ORA-40444 for too many nodes.
    pub fn nodes(
        &self,
        document: &Document,
        root: NodeId,
        variables: &[Value],
        scratch: &mut Scratch,
        out: &mut Vec<NodeId>,
    ) -> Result<()> {
        if let Ok(found) = self.only(document, root) {
            out.extend(found);
            return Ok(());
        }
        let (mut from, mut to) = (std::mem::take(&mut scratch.from), std::mem::take(&mut scratch.to));
        from.clear();
        from.push(root);
        for step in &self.steps {
            to.clear();
            for &node in &from {
                step.select(document, node, variables, &mut to)?;
                if to.len() > NODES_MAX {
                    return Err(Ora::new(40444));
                }
            }
            // Descendants of nodes inside one another are the same nodes.
            if matches!(step, Step::Descendants(_)) {
                to.sort_unstable();
                to.dedup();
            }
            std::mem::swap(&mut from, &mut to);
        }
        out.extend_from_slice(&from);
        (scratch.from, scratch.to) = (from, to);
        Ok(())
    }

    /// Whether the path selects anything. Item methods do not matter.
    pub(super) fn exists(&self, document: &Document, root: NodeId, variables: &[Value]) -> Result<bool> {
        match self.only(document, root) {
            Ok(found) => Ok(found.is_some()),
            Err(()) => {
                let mut out = Vec::new();
                self.nodes(document, root, variables, &mut Scratch::default(), &mut out)?;
                Ok(!out.is_empty())
            }
        }
    }
}

impl Step {
    fn select(&self, document: &Document, node: NodeId, variables: &[Value], out: &mut Vec<NodeId>) -> Result<()> {
        let kind = document.kind(node);
        match self {
            Step::Member(name) => match kind {
                Kind::Object => out.extend(document.member(node, name)),
                Kind::Array => out.extend(document.elements(node).filter_map(|e| document.member(e, name))),
                _ => {}
            },
            Step::Members => match kind {
                Kind::Object => out.extend(document.members(node).map(|(_, value)| value)),
                Kind::Array => {
                    for element in document.elements(node) {
                        out.extend(document.members(element).map(|(_, value)| value));
                    }
                }
                _ => {}
            },
            Step::Descendants(name) => {
                let is_named = |n: &NodeId| document.kind(*n) == Kind::Key && document.has_content(*n, name);
                out.extend((node..document.next(node)).filter(is_named).map(|key| key + 1));
            }
            Step::AllElements if kind == Kind::Array => out.extend(document.elements(node)),
            Step::AllElements => out.push(node),
            Step::Elements(ranges) => {
                let count = if kind == Kind::Array { document.count(node) } else { 1 };
                for (from, to) in ranges {
                    if out.len() > NODES_MAX {
                        return Err(Ora::new(40444));
                    }
                    let (from, to) = (from.at(count), to.at(count));
                    let (from, to) = (from.min(to).max(0), from.max(to).min(i64::from(count) - 1));
                    match kind {
                        _ if from > to => {}
                        Kind::Array => {
                            let taken = (to - from + 1) as usize;
                            out.extend(document.elements(node).skip(from as usize).take(taken));
                        }
                        _ => out.push(node),
                    }
                }
            }
            Step::Filter(condition) if kind == Kind::Array => {
                for element in document.elements(node) {
                    if condition.holds(document, element, variables)? {
                        out.push(element);
                    }
                }
            }
            Step::Filter(condition) => {
                if condition.holds(document, node, variables)? {
                    out.push(node);
                }
            }
        }
        Ok(())
    }
}
