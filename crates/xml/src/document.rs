//! A parsed document: a flat list of nodes over its text.
//!
//! As in the crate `json`, each node has its span in the text and the node after its last descendant, so that a subtree
//! is skipped in one step, all descendants are a range, document order is the order of numbers, and an extracted node
//! is written as it stands in the text. The list is filled without recursion (X1). Rejected: `roxmltree`, whose tree
//! borrows the text, resolves CDATA, and has neither Oracle's errors nor fragments; `quick-xml`, which leaves most
//! checks of well-formedness and of namespaces to its caller.

use crate::chars::push_unescaped;
use crate::node::{Kind, Node, NodeId};
use crate::reader::read;
use types::{Ora, Result};

/// A parsed document. It keeps its memory when it is parsed anew.
#[derive(Debug, Default)]
pub struct Document {
    text: String,
    nodes: Vec<Node>,
    namespaces: Vec<String>,
    is_valid: bool,
    is_fragment: bool,
}

impl Document {
    /// Parses `text`; the same text as the last time is not parsed again. `fragment`: the content of an element is
    /// accepted too.
    ///
    /// # Errors
    /// ORA-31011 for a text that is not well-formed.
    pub fn parse(&mut self, text: &str, fragment: bool) -> Result<()> {
        if self.is_parsed(text, fragment) {
            return Ok(());
        }
        self.is_valid = false;
        if u32::try_from(text.len()).is_err() {
            return Err(Ora::with(4030, &[&text.len(), &"qmxlu subheap", &"XML document"]));
        }
        self.text.clear();
        self.text.push_str(text);
        self.nodes.clear();
        self.namespaces.clear();
        self.is_fragment = fragment;
        read(&self.text, fragment, &mut self.nodes, &mut self.namespaces)?;
        self.is_valid = true;
        Ok(())
    }

    /// Whether the nodes are those of `text`. A document is a fragment too.
    pub fn is_parsed(&self, text: &str, fragment: bool) -> bool {
        self.is_valid && (fragment || !self.is_fragment) && self.text == text
    }

    pub fn root(&self) -> NodeId {
        0
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn kind(&self, node: NodeId) -> Kind {
        self.nodes[node as usize].kind
    }

    pub fn parent(&self, node: NodeId) -> NodeId {
        self.nodes[node as usize].parent
    }

    /// The node after the last descendant.
    pub fn next(&self, node: NodeId) -> NodeId {
        self.nodes[node as usize].next
    }

    fn span(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// The node as it stands in the text.
    pub fn source(&self, node: NodeId) -> &str {
        let n = &self.nodes[node as usize];
        self.span((n.start, n.end))
    }

    /// The place of the node in the text.
    pub fn range(&self, node: NodeId) -> std::ops::Range<usize> {
        let n = &self.nodes[node as usize];
        n.start as usize..n.end as usize
    }

    /// The content of the node as it stands in the text.
    pub fn content(&self, node: NodeId) -> &str {
        self.span(self.nodes[node as usize].content)
    }

    /// The place of the content in the text.
    pub fn content_range(&self, node: NodeId) -> std::ops::Range<usize> {
        let (start, end) = self.nodes[node as usize].content;
        start as usize..end as usize
    }

    /// The name with its prefix.
    pub fn name(&self, node: NodeId) -> &str {
        self.span(self.nodes[node as usize].name)
    }

    /// The name without its prefix.
    pub fn local_name(&self, node: NodeId) -> &str {
        let name = self.name(node);
        name.split_once(':').map_or(name, |(_, local)| local)
    }

    pub fn namespace(&self, node: NodeId) -> &str {
        match self.nodes[node as usize].namespace {
            0 => "",
            n => &self.namespaces[n as usize - 1],
        }
    }

    /// The children of a node.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let is_parent = matches!(self.kind(node), Kind::Root | Kind::Element);
        let (mut at, end) = (node + 1, if is_parent { self.next(node) } else { 0 });
        std::iter::from_fn(move || {
            while at < end {
                let child = at;
                at = self.next(child);
                if !matches!(self.kind(child), Kind::Attribute | Kind::Namespace) {
                    return Some(child);
                }
            }
            None
        })
    }

    /// The attributes of an element, with the declarations of namespaces.
    pub fn attributes(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let end = if self.kind(node) == Kind::Element { self.next(node) } else { 0 };
        let is = |n: &NodeId| matches!(self.kind(*n), Kind::Attribute | Kind::Namespace);
        (node + 1..end).take_while(is)
    }

    /// Appends the string value of a node: the text of all descendants.
    pub fn push_value(&self, node: NodeId, out: &mut String) {
        let mut push = |n: NodeId| match self.nodes[n as usize].escaped {
            true => push_unescaped(self.content(n), out),
            false => out.push_str(self.content(n)),
        };
        match self.kind(node) {
            Kind::Root | Kind::Element => {
                let is_text = |n: &NodeId| matches!(self.kind(*n), Kind::Text | Kind::Cdata);
                (node + 1..self.next(node)).filter(is_text).for_each(push);
            }
            _ => push(node),
        }
    }

    pub fn value(&self, node: NodeId) -> String {
        let mut out = String::new();
        self.push_value(node, &mut out);
        out
    }

    /// The element of a document; the first one of a fragment.
    pub fn element(&self) -> Option<NodeId> {
        self.children(self.root()).find(|n| self.kind(*n) == Kind::Element)
    }

    /// Whether the text is anything but one element with comments and instructions around it.
    pub fn has_fragment(&self) -> bool {
        let mut elements = 0;
        for child in self.children(self.root()) {
            match self.kind(child) {
                Kind::Element => elements += 1,
                Kind::Text | Kind::Cdata if !self.content(child).trim().is_empty() => return true,
                _ => {}
            }
        }
        elements != 1
    }
}
