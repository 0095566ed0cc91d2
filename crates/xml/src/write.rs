//! Nodes as text.

use crate::chars::push_escaped;
use crate::document::Document;
use crate::node::{Kind, NodeId};
use std::collections::HashSet;

/// Appends a node as it stands in the text; an element gets the declarations of the namespaces around it (X4).
pub fn push_node(document: &Document, node: NodeId, out: &mut String) {
    match document.kind(node) {
        Kind::Attribute | Kind::Namespace => push_escaped(&document.value(node), false, out),
        Kind::Element => {
            let missing = missing_declarations(document, node);
            let source = document.source(node);
            if missing.is_empty() {
                out.push_str(source);
                return;
            }
            let name_end = 1 + document.name(node).len();
            out.push_str(&source[..name_end]);
            for declaration in missing {
                out.push(' ');
                out.push_str(document.source(declaration));
            }
            out.push_str(&source[name_end..]);
        }
        _ => out.push_str(document.source(node)),
    }
}

/// The declarations of the elements around `node` that no nearer one replaces.
fn missing_declarations(document: &Document, node: NodeId) -> Vec<NodeId> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut missing = Vec::new();
    let mut at = node;
    loop {
        for declaration in document.attributes(at).filter(|n| document.kind(*n) == Kind::Namespace) {
            let name = document.name(declaration);
            if seen.insert(name) && at != node {
                missing.push(declaration);
            }
        }
        if at == 0 {
            return missing;
        }
        at = document.parent(at);
    }
}

/// A document with each element on a line of its own, `size` blanks deeper than the one around it. Elements with text
/// among their children stay as they are.
pub fn indented(document: &Document, size: usize) -> String {
    let text = document.text();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    // Nodes to write, or the end tags of open elements, with their depths.
    let mut work: Vec<(NodeId, usize, bool)> = Vec::new();
    let push_children = |node: NodeId, depth: usize, work: &mut Vec<(NodeId, usize, bool)>| {
        let from = work.len();
        work.extend(document.children(node).filter(|n| !is_blank(document, *n)).map(|n| (n, depth, false)));
        work[from..].reverse();
    };
    let declaration = text.find("?>").filter(|_| text.starts_with("<?xml ")).map(|end| &text[..end + 2]);
    out.push_str(declaration.unwrap_or(""));
    push_children(document.root(), 0, &mut work);
    while let Some((node, depth, is_end)) = work.pop() {
        let content = document.content_range(node);
        let whole = document.range(node);
        if !out.is_empty() {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', (depth * size).min(4000)));
        }
        if is_end {
            out.push_str(&text[content.end..whole.end]);
            continue;
        }
        let mixed = document.children(node).all(|n| is_blank(document, n))
            || document
                .children(node)
                .any(|n| matches!(document.kind(n), Kind::Text | Kind::Cdata) && !is_blank(document, n));
        if document.kind(node) != Kind::Element || mixed {
            out.push_str(document.source(node));
            continue;
        }
        out.push_str(&text[whole.start..content.start]);
        work.push((node, depth, true));
        push_children(node, depth + 1, &mut work);
    }
    out
}

fn is_blank(document: &Document, node: NodeId) -> bool {
    document.kind(node) == Kind::Text && document.content(node).trim().is_empty()
}
