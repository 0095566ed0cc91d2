//! UPDATEXML, DELETEXML and the insertions: selected nodes of a document are replaced in its text.

use crate::chars::push_escaped;
use crate::document::Document;
use crate::node::{Kind, NodeId};
use std::ops::Range;
use types::{Ora, Result};

/// A change of selected nodes. Texts of XML are inserted as they are, other texts are escaped.
#[derive(Clone, Debug)]
pub enum Edit<'a> {
    Delete,
    /// UPDATEXML; `None` is NULL.
    Replace {
        text: Option<&'a str>,
        xml: bool,
    },
    /// APPENDCHILDXML and INSERTCHILDXML.
    Append(&'a str),
    /// INSERTCHILDXML of an attribute.
    Attribute {
        name: &'a str,
        value: &'a str,
    },
    Before(&'a str),
    After(&'a str),
}

/// The text of the document after the change of the nodes.
///
/// # Errors
/// ORA-30625 and others for a change that a kind of node does not allow.
pub fn edit(document: &Document, nodes: &[NodeId], edit: &Edit<'_>) -> Result<String> {
    let text = document.text();
    let mut splices: Vec<(Range<usize>, String)> = Vec::new();
    for node in nodes {
        splice(document, *node, edit, &mut splices)?;
    }
    splices.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, replacement) in splices {
        // A node inside a replaced one is gone.
        if range.start < at {
            continue;
        }
        out.push_str(&text[at..range.start]);
        out.push_str(&replacement);
        at = range.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

fn splice(d: &Document, node: NodeId, edit: &Edit<'_>, out: &mut Vec<(Range<usize>, String)>) -> Result<()> {
    let (kind, range, content) = (d.kind(node), d.range(node), d.content_range(node));
    let is_empty_tag = kind == Kind::Element && d.source(node).ends_with("/>") && content.start == range.end;
    match edit {
        Edit::Delete => match kind {
            Kind::Root => return Err(Ora::new(31013)),
            Kind::Attribute => {
                let before = &d.text()[..range.start];
                out.push((before.trim_end().len()..range.end, String::new()));
            }
            _ => out.push((range, String::new())),
        },
        Edit::Replace { text, xml } => match kind {
            Kind::Element | Kind::Root => match text {
                Some(text) if *xml => out.push((range, (*text).to_owned())),
                Some(_) => return Err(Ora::with(932, &[&"-", &"CHAR"])),
                None if is_empty_tag || kind == Kind::Root => {}
                None => {
                    // The attributes go too, but not the namespace that the name needs.
                    let mut emptied = format!("<{}", d.name(node));
                    for declaration in d.attributes(node).filter(|n| d.kind(*n) == Kind::Namespace) {
                        emptied.push(' ');
                        emptied.push_str(d.source(declaration));
                    }
                    emptied.push_str("/>");
                    out.push((range, emptied));
                }
            },
            Kind::Attribute => {
                let mut escaped = String::new();
                push_escaped(text.unwrap_or(""), true, &mut escaped);
                out.push((range, format!("{}=\"{escaped}\"", d.name(node))));
            }
            _ => {
                let mut escaped = String::new();
                match xml {
                    true => escaped.push_str(text.unwrap_or("")),
                    false => push_escaped(text.unwrap_or(""), false, &mut escaped),
                }
                out.push((range, escaped));
            }
        },
        Edit::Append(child) => match kind {
            Kind::Element if is_empty_tag => {
                out.push((range.end - 2..range.end, format!(">{child}</{}>", d.name(node))));
            }
            Kind::Element | Kind::Root => out.push((content.end..content.end, (*child).to_owned())),
            _ => {}
        },
        Edit::Attribute { name, value } if kind == Kind::Element => {
            if d.attributes(node).any(|a| d.name(a) == *name) {
                return Err(Ora::with(31011, &[]));
            }
            let mut escaped = String::new();
            push_escaped(value, true, &mut escaped);
            let at = range.start + 1 + d.name(node).len();
            out.push((at..at, format!(" {name}=\"{escaped}\"")));
        }
        Edit::Attribute { .. } => {}
        Edit::Before(other) if !matches!(kind, Kind::Attribute | Kind::Root) => {
            out.push((range.start..range.start, (*other).to_owned()));
        }
        Edit::After(other) if !matches!(kind, Kind::Attribute | Kind::Root) => {
            out.push((range.end..range.end, (*other).to_owned()));
        }
        Edit::Before(_) | Edit::After(_) => {}
    }
    Ok(())
}
