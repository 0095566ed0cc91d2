//! The nodes of a document.

/// A node, by its position in the document's list.
pub type NodeId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The node above all others.
    Root,
    Element,
    Attribute,
    /// A declaration of a namespace: it stands among the attributes but is none.
    Namespace,
    Text,
    Cdata,
    Comment,
    Instruction,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Whether the content has references.
    pub(crate) escaped: bool,
    /// Span of the whole node in the text.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Span of the name.
    pub(crate) name: (u32, u32),
    /// Span of the content: between the tags, inside the quotes, inside the delimiters.
    pub(crate) content: (u32, u32),
    /// The node after the last descendant.
    pub(crate) next: NodeId,
    pub(crate) parent: NodeId,
    /// The namespace, from 1; 0 for none.
    pub(crate) namespace: u32,
}
