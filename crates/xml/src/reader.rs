//! The reader of documents: text to the list of nodes, with Oracle's errors.

use crate::chars::{in_name, is_allowed, name_length, push_unescaped, reference};
use crate::error::failed;
use crate::node::{Kind, Node, NodeId};
use std::collections::HashMap;
use types::{Ora, Result};

/// Deepest nesting of elements (X1).
pub const NESTING_MAX: usize = 1024;

/// Most nodes of a document.
const NODES_MAX: usize = 1 << 22;

/// Most attributes of an element.
const ATTRIBUTES_MAX: usize = 10_000;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Fills the list of nodes and of namespaces.
///
/// # Errors
/// ORA-31011 for a text that is not well-formed.
pub(crate) fn read(text: &str, fragment: bool, nodes: &mut Vec<Node>, namespaces: &mut Vec<String>) -> Result<()> {
    namespaces.push(XML_NAMESPACE.to_owned());
    let bindings = HashMap::from([("xml", vec![1])]);
    let numbers = HashMap::from([(XML_NAMESPACE.to_owned(), 1)]);
    let (open, declared) = (Vec::new(), Vec::new());
    Reader { text, at: 0, nodes, namespaces, numbers, open, declared, bindings, fragment }.run()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    nodes: &'a mut Vec<Node>,
    namespaces: &'a mut Vec<String>,
    /// The number of each namespace.
    numbers: HashMap<String, u32>,
    /// Open elements, and the number of declarations outside each.
    open: Vec<(NodeId, usize)>,
    /// The prefixes that open elements declare.
    declared: Vec<&'a str>,
    /// For each prefix its namespaces, the nearest last; they count from 1, and 0 takes the default namespace away.
    bindings: HashMap<&'a str, Vec<u32>>,
    fragment: bool,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.text.as_bytes()[..self.at.min(self.text.len())].iter().filter(|b| **b == b'\n').count() + 1
    }

    #[cold]
    fn fail<T>(&self, code: u32, text: &str) -> Result<T> {
        Err(failed(code, text, self.line()))
    }

    /// The character expected here is missing.
    #[cold]
    fn expected<T>(&self, what: char) -> Result<T> {
        match self.rest().chars().next() {
            Some(c) => self.fail(210, &format!("expected '{what}' instead of '{c}'")),
            None => self.fail(7, "unexpected end-of-file encountered"),
        }
    }

    fn eat(&mut self, text: &str) -> bool {
        let is = self.rest().starts_with(text);
        if is {
            self.at += text.len();
        }
        is
    }

    fn blanks(&mut self) -> bool {
        let from = self.at;
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
        self.at > from
    }

    fn push(&mut self, kind: Kind, start: usize) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let parent = self.open.last().map_or(0, |(id, _)| *id);
        self.nodes.push(Node {
            kind,
            escaped: false,
            start: start as u32,
            end: self.at as u32,
            name: (0, 0),
            content: (0, 0),
            next: id + 1,
            parent,
            namespace: 0,
        });
        id
    }

    fn run(&mut self) -> Result<()> {
        self.at = if self.text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        self.push(Kind::Root, 0);
        self.declaration()?;
        let mut has_element = false;
        loop {
            if self.open.is_empty() {
                // Blanks between the top nodes are no text, so that a document and a fragment have the same nodes.
                let from = self.at;
                self.blanks();
                let is_text = self.text.as_bytes().get(self.at).is_some_and(|b| *b != b'<');
                if self.fragment && is_text {
                    self.at = from;
                }
            }
            let Some(first) = self.text.as_bytes().get(self.at).copied() else { break };
            if self.nodes.len() > NODES_MAX {
                return Err(Ora::with(4030, &[&NODES_MAX, &"qmxlu subheap", &"XML nodes"]));
            }
            if first != b'<' {
                if self.open.is_empty() && !self.fragment {
                    return match has_element {
                        true => self.fail(245, "extra data after end of document"),
                        false => self.expected('<'),
                    };
                }
                self.character_data()?;
                continue;
            }
            let start = self.at;
            if self.eat("<!--") {
                self.comment(start)?;
            } else if self.eat("<![CDATA[") {
                if self.open.is_empty() && !self.fragment {
                    return self.fail(210, "expected '<' instead of '['");
                }
                self.delimited(Kind::Cdata, start, "]]>")?;
            } else if self.rest().starts_with("<!DOCTYPE") && self.open.is_empty() && !has_element {
                self.document_type()?;
            } else if self.eat("<?") {
                self.instruction(start)?;
            } else if self.eat("</") {
                self.end_tag()?;
            } else {
                if self.open.is_empty() && has_element && !self.fragment {
                    return self.fail(245, "extra data after end of document");
                }
                has_element = true;
                self.at += 1;
                self.start_tag(start)?;
            }
        }
        if !self.open.is_empty() {
            return self.fail(7, "unexpected end-of-file encountered");
        }
        if !has_element && !self.fragment {
            return match self.text.trim().is_empty() {
                true => self.fail(229, "input source is empty"),
                false => self.fail(7, "unexpected end-of-file encountered"),
            };
        }
        let (end, next) = (self.text.len() as u32, self.nodes.len() as NodeId);
        let root = &mut self.nodes[0];
        (root.end, root.next, root.content) = (end, next, (0, end));
        Ok(())
    }

    /// `<?xml version="1.0" …?>` at the beginning of the text.
    fn declaration(&mut self) -> Result<()> {
        let rest = self.rest();
        if !rest.starts_with("<?xml") || !rest[5..].starts_with([' ', '\t', '\r', '\n']) {
            return Ok(());
        }
        match rest.find("?>") {
            Some(end) => {
                self.at += end + 2;
                Ok(())
            }
            None => {
                self.at = self.text.len();
                self.fail(7, "unexpected end-of-file encountered")
            }
        }
    }

    /// Skips `<!DOCTYPE name …>`. Declarations inside it are refused: no entity is ever read or expanded (X2).
    fn document_type(&mut self) -> Result<()> {
        let rest = self.rest();
        match rest.find(['>', '[']) {
            Some(end) if rest.as_bytes()[end] == b'>' => {
                self.at += end + 1;
                Ok(())
            }
            Some(_) => Err(Ora::with(31020, &[&"declarations in a document type are not read"])),
            None => {
                self.at = self.text.len();
                self.fail(7, "unexpected end-of-file encountered")
            }
        }
    }

    /// Text up to the next markup.
    fn character_data(&mut self) -> Result<()> {
        let start = self.at;
        let length = self.rest().find('<').unwrap_or(self.rest().len());
        let data = &self.text[start..start + length];
        let escaped = self.check_data(start, data)?;
        if let Some(at) = data.find("]]>") {
            self.at = start + at;
            return self.expected('<');
        }
        self.at = start + length;
        // Blanks between elements are no text, as Oracle reads documents; they stay in the text of the document.
        let is_blank = data.bytes().all(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
        if is_blank {
            let is_alone =
                self.open.last().is_some_and(|(id, _)| self.has_no_children(*id)) && self.rest().starts_with("</");
            if !is_alone {
                return Ok(());
            }
        }
        let id = self.push(Kind::Text, start);
        let node = &mut self.nodes[id as usize];
        (node.content, node.escaped) = ((start as u32, self.at as u32), escaped);
        Ok(())
    }

    /// Whether the last node is the open element or one of its attributes.
    fn has_no_children(&self, element: NodeId) -> bool {
        let last = self.nodes.len() - 1;
        let is_attribute = matches!(self.nodes[last].kind, Kind::Attribute | Kind::Namespace);
        last == element as usize || is_attribute && self.nodes[last].parent == element
    }

    /// Checks the characters and references of a text, and returns whether there are references.
    fn check_data(&mut self, start: usize, data: &str) -> Result<bool> {
        self.check_characters(start, data)?;
        let mut escaped = false;
        for (at, _) in data.match_indices('&') {
            self.at = start + at;
            escaped = true;
            let after = &data[at + 1..];
            let length = match after.strip_prefix('#') {
                Some(digits) => digits.find(|c: char| !c.is_ascii_alphanumeric()).map_or(after.len(), |n| n + 1),
                None => name_length(after),
            };
            if length == 0 || !after[length..].starts_with(';') {
                return self.fail(241, "entity reference is not well formed");
            }
            let name = &after[..length];
            if reference(name).is_none() {
                if name.starts_with('#') {
                    return self.fail(217, &format!("invalid character reference (&{name};)"));
                }
                return self.fail(118, &format!("Warning: undefined entity \"{name}\""));
            }
        }
        Ok(escaped)
    }

    fn check_characters(&mut self, start: usize, data: &str) -> Result<()> {
        // Control characters are the usual ones; U+FFFE and U+FFFF begin with the byte EF.
        if data.bytes().all(|b| (b >= 0x20 && b != 0xEF) || matches!(b, b'\t' | b'\n' | b'\r')) {
            return Ok(());
        }
        match data.char_indices().find(|(_, c)| !is_allowed(*c)) {
            Some((at, c)) => {
                self.at = start + at;
                self.fail(217, &format!("invalid character {} (U+{:04X})", c as u32, c as u32))
            }
            None => Ok(()),
        }
    }

    fn comment(&mut self, start: usize) -> Result<()> {
        if let Some(at) = self.rest().find("--")
            && !self.rest()[at..].starts_with("-->")
        {
            self.at += at;
            return self.fail(213, "comment must not contain \"--\"");
        }
        self.delimited(Kind::Comment, start, "-->")
    }

    /// A node whose content ends before a delimiter.
    fn delimited(&mut self, kind: Kind, start: usize, end: &str) -> Result<()> {
        let from = self.at;
        let Some(length) = self.rest().find(end) else {
            self.at = self.text.len();
            return self.fail(7, "unexpected end-of-file encountered");
        };
        self.check_characters(from, &self.text[from..from + length])?;
        self.at = from + length + end.len();
        let id = self.push(kind, start);
        self.nodes[id as usize].content = (from as u32, (from + length) as u32);
        Ok(())
    }

    fn instruction(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        if self.text[name.0..name.1].eq_ignore_ascii_case("xml") {
            return self.fail(209, "PI names starting with XML are reserved");
        }
        if !self.blanks() && !self.rest().starts_with("?>") {
            return self.expected('?');
        }
        self.delimited(Kind::Instruction, start, "?>")?;
        if let Some(node) = self.nodes.last_mut() {
            node.name = (name.0 as u32, name.1 as u32);
        }
        Ok(())
    }

    /// The span of a name.
    fn name(&mut self) -> Result<(usize, usize)> {
        let length = name_length(self.rest());
        let name = &self.rest()[..length];
        let parts = name.split(':').count();
        if length == 0 || parts > 2 || name.starts_with(':') || name.ends_with(':') {
            let Some(c) = self.rest()[if parts > 2 { length - 1 } else { 0 }..].chars().next() else {
                return self.fail(7, "unexpected end-of-file encountered");
            };
            let text = format!("invalid character {} (U+{:04X}) found in a Name or Nmtoken", c as u32, c as u32);
            return self.fail(231, &text);
        }
        self.at += length;
        Ok((self.at - length, self.at))
    }

    fn start_tag(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        if self.open.len() == NESTING_MAX {
            return Err(Ora::with(4030, &[&NESTING_MAX, &"qmxlu subheap", &"XML nesting"]));
        }
        let element = self.push(Kind::Element, start);
        self.open.push((element, self.declared.len()));
        let closed = loop {
            let blanks = self.blanks();
            if self.eat(">") {
                break false;
            }
            if self.eat("/>") {
                break true;
            }
            let next = self.rest().chars().next();
            if !blanks && next.is_some_and(in_name) || next.is_none() {
                return self.expected('>');
            }
            if matches!(next, Some('<')) {
                return self.expected('>');
            }
            self.attribute()?;
            if self.nodes.len() - element as usize > ATTRIBUTES_MAX {
                return Err(Ora::with(4030, &[&ATTRIBUTES_MAX, &"qmxlu subheap", &"XML attributes"]));
            }
        };
        self.resolve(element, name)?;
        self.nodes[element as usize].content = (self.at as u32, self.at as u32);
        self.nodes[element as usize].end = self.at as u32;
        if closed {
            self.close();
        }
        Ok(())
    }

    fn attribute(&mut self) -> Result<()> {
        let start = self.at;
        let name = self.name()?;
        self.blanks();
        if !self.eat("=") {
            return self.expected('=');
        }
        self.blanks();
        let quote = match self.text.as_bytes().get(self.at) {
            Some(b'"') => '"',
            Some(b'\'') => '\'',
            _ => return self.expected('"'),
        };
        self.at += 1;
        let from = self.at;
        let Some(length) = self.rest().find(quote) else {
            self.at = self.text.len();
            return self.fail(7, "unexpected end-of-file encountered");
        };
        let value = &self.text[from..from + length];
        if let Some(at) = value.find('<') {
            self.at += at;
            return self.fail(244, "invalid use of less-than ('<') character (use &lt;)");
        }
        let escaped = self.check_data(from, value)?;
        self.at = from + length + 1;
        let written = &self.text[name.0..name.1];
        let prefix = match written.split_once(':') {
            Some(("xmlns", prefix)) => Some(prefix),
            None if written == "xmlns" => Some(""),
            _ => None,
        };
        let id = self.push(if prefix.is_some() { Kind::Namespace } else { Kind::Attribute }, start);
        let node = &mut self.nodes[id as usize];
        node.name = (name.0 as u32, name.1 as u32);
        node.content = (from as u32, (from + length) as u32);
        node.escaped = escaped;
        if let Some(prefix) = prefix {
            let mut uri = String::new();
            push_unescaped(value, &mut uri);
            let number = match self.numbers.get(&uri) {
                _ if uri.is_empty() => 0,
                Some(number) => *number,
                None => {
                    self.namespaces.push(uri.clone());
                    let number = self.namespaces.len() as u32;
                    self.numbers.insert(uri, number);
                    number
                }
            };
            self.bindings.entry(prefix).or_default().push(number);
            self.declared.push(prefix);
        }
        Ok(())
    }

    /// Sets the namespaces of an element and its attributes, and refuses two attributes of one name.
    fn resolve(&mut self, element: NodeId, name: (usize, usize)) -> Result<()> {
        let span = |(start, end): (u32, u32)| &self.text[start as usize..end as usize];
        let node = (name.0 as u32, name.1 as u32);
        let bound = |name: &str, is_element: bool| {
            let (prefix, _) = name.split_once(':').unwrap_or(("", name));
            if prefix.is_empty() && !is_element {
                return Ok(0);
            }
            match self.bindings.get(prefix).and_then(|numbers| numbers.last()) {
                Some(number) if *number > 0 || prefix.is_empty() => Ok(*number),
                None if prefix.is_empty() => Ok(0),
                _ => Err(failed(234, &format!("namespace prefix \"{prefix}\" is not declared"), self.line())),
            }
        };
        let of_element = bound(span(node), true)?;
        let first = element as usize + 1;
        let mut names = Vec::with_capacity(self.nodes.len() - first);
        let mut numbers = Vec::with_capacity(self.nodes.len() - first);
        for attribute in &self.nodes[first..] {
            let written = span(attribute.name);
            let number = if attribute.kind == Kind::Attribute { bound(written, false)? } else { 0 };
            let local = written.split_once(':').map_or(written, |(_, local)| local);
            names.push(if number > 0 { (number, local) } else { (0, written) });
            numbers.push(number);
        }
        names.sort_unstable();
        if let Some([(_, twice), _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return self.fail(224, &format!("multiple occurrences of attribute \"{twice}\" found"));
        }
        let end = self.nodes.len() as NodeId;
        for (attribute, number) in self.nodes[first..].iter_mut().zip(numbers) {
            (attribute.namespace, attribute.parent) = (number, element);
        }
        let own = &mut self.nodes[element as usize];
        (own.name, own.namespace, own.next) = (node, of_element, end);
        Ok(())
    }

    fn end_tag(&mut self) -> Result<()> {
        let before = self.at - 2;
        let name = self.name()?;
        let Some((element, _)) = self.open.last().copied() else {
            self.at = before;
            return self.fail(245, "extra data after end of document");
        };
        let own = self.nodes[element as usize].name;
        let (own, written) = (&self.text[own.0 as usize..own.1 as usize], &self.text[name.0..name.1]);
        if own != written {
            let text = format!("end-element tag \"{written}\" does not match start-element tag \"{own}\"");
            return self.fail(225, &text);
        }
        self.blanks();
        if !self.eat(">") {
            return self.expected('>');
        }
        self.nodes[element as usize].content.1 = before as u32;
        self.close();
        Ok(())
    }

    fn close(&mut self) {
        let next = self.nodes.len() as NodeId;
        let Some((element, outside)) = self.open.pop() else { return };
        for prefix in self.declared.drain(outside..) {
            if let Some(numbers) = self.bindings.get_mut(prefix) {
                numbers.pop();
            }
        }
        let node = &mut self.nodes[element as usize];
        (node.end, node.next) = (self.at as u32, next);
        let parent = self.open.last().map_or(0, |(id, _)| *id);
        node.parent = parent;
    }
}

#[cfg(test)]
mod tests {
    use crate::document::Document;

    fn error(text: &str) -> String {
        Document::default().parse(text, false).unwrap_err().to_string()
    }

    #[test]
    fn documents_that_are_not_well_formed() {
        for (text, lpx) in [
            ("", "LPX-00229"),
            ("x", "LPX-00210: expected '<' instead of 'x'"),
            ("<a>", "LPX-00007"),
            ("<a></b>", "LPX-00225: end-element tag \"b\" does not match start-element tag \"a\""),
            ("<a/><b/>", "LPX-00245"),
            ("<a>&nbsp;</a>", "LPX-00118"),
            ("<a>x & y</a>", "LPX-00241"),
            ("<a b=\"<\"/>", "LPX-00244"),
            ("<a b='1' b='2'/>", "LPX-00224"),
            ("<p:a/>", "LPX-00234"),
            ("<a b=1/>", "LPX-00210: expected '\"' instead of '1'"),
            ("<a><!-- -- --></a>", "LPX-00213"),
            ("<a><?xml x?></a>", "LPX-00209"),
            ("<1/>", "LPX-00231"),
            ("<a>\u{1}</a>", "LPX-00217"),
            ("<a>&#0;</a>", "LPX-00217"),
            ("<a", "LPX-00007"),
        ] {
            assert!(error(text).contains(lpx), "{text}: {}", error(text));
        }
        assert!(error("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>").contains("ORA-31020"));
        assert!(error(&"<a>".repeat(5000)).contains("ORA-04030"));
    }

    #[test]
    fn namespaces_reach_elements_and_prefixed_attributes() {
        let mut d = Document::default();
        d.parse("<a xmlns='u' xmlns:p='v' x='1' p:y='2'><b xmlns=''/><p:c/></a>", false).unwrap();
        let a = d.element().unwrap();
        assert_eq!((d.namespace(a), d.name(a)), ("u", "a"));
        let all: Vec<_> = d.attributes(a).map(|n| (d.name(n), d.namespace(n))).collect();
        assert_eq!(all, [("xmlns", ""), ("xmlns:p", ""), ("x", ""), ("p:y", "v")]);
        let all: Vec<_> = d.children(a).map(|n| (d.local_name(n), d.namespace(n))).collect();
        assert_eq!(all, [("b", ""), ("c", "v")]);
    }
}
