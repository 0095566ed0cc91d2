//! XML documents and expressions.

use crate::Target;
use std::rc::Rc;
use types::{DataType, Nls, Ora, Value};
use xml::{Column, Document, Edit, Item, NodeId, Source, Table};

/// An expression and documents, separated by line ends: extraction, changes, INDENT, XMLTABLE.
pub const XML: Target = Target { name: "xml", run: xml, seeds: xml_seeds, is_text: false };

/// Checks of an evaluation before it is given up.
const CHECKS_MAX: u32 = 64;

fn xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (expression, documents) = text.split_once('\n').unwrap_or(("//a", text));
    let query = xml::parse(expression, &["v".to_owned()], vec![("p".to_owned(), "u".to_owned())], false).ok();
    for text in documents.split('\n') {
        let mut document = Document::default();
        let is_document = document.parse(text, false).is_ok();
        let is_content = document.parse(text, true).is_ok();
        assert!(is_content || !is_document, "a document is also content: {text}");
        if !is_content {
            continue;
        }
        if is_document {
            let indented = xml::indented(&document, 2);
            let again = Document::default().parse(&indented, false);
            assert!(again.is_ok(), "{again:?}: {indented}");
        }
        if let Some(query) = &query {
            select(query, document);
        }
        rows(expression, text);
    }
}

/// Selected nodes are well-formed, and so is the document after their change.
fn select(query: &xml::Query, document: Document) {
    let document = Rc::new(document);
    let root = Item::Node(Source::new(0, document.clone()), document.root());
    let mut checks = 0;
    let found = query.evaluate(Some(root), vec![vec![Item::text("1")]], &mut || {
        checks += 1;
        if checks > CHECKS_MAX { Err(Ora::new(1013)) } else { Ok(()) }
    });
    let Ok(items) = found else { return };
    let (mut text, mut nodes) = (String::new(), Vec::<NodeId>::new());
    for item in items.iter().take(1000) {
        text.clear();
        item.push_xml(&mut text);
        let parsed = Document::default().parse(&text, true);
        assert!(parsed.is_ok(), "{parsed:?}: {text}");
        nodes.extend(item.node_of(&document));
    }
    for change in [
        Edit::Delete,
        Edit::Replace { text: None, xml: false },
        Edit::Append("<n/>"),
        Edit::Before("<n/>"),
        Edit::After("t"),
        Edit::Attribute { name: "n", value: "<\"" },
    ] {
        if let Ok(changed) = xml::edit(&document, &nodes, &change) {
            // Texts that meet may form `]]>`.
            let parsed = Document::default().parse(&changed, true);
            assert!(parsed.is_ok() || changed.contains("]]>"), "{parsed:?}: {changed}");
        }
    }
}

fn rows(expression: &str, text: &str) {
    let column = |path: &str, ty| Column::Value { path: path.to_owned(), ty, default: Value::Null };
    let table = Table {
        namespaces: vec![("p".to_owned(), "u".to_owned())],
        variables: Vec::new(),
        columns: vec![Column::Ordinality, column(".", DataType::Xml), column("@n", DataType::NUMBER)],
    };
    let mut rows = table.rows().expect("the paths are right");
    let mut checks = 0;
    let mut check = || {
        checks += 1;
        if checks > CHECKS_MAX { Err(Ora::new(1013)) } else { Ok(()) }
    };
    if rows.open(expression, Some(&Value::text(text)), &[], &mut check).is_err() {
        return;
    }
    let mut value = Value::Null;
    for _ in 0..3 {
        if !rows.advance() {
            return;
        }
        for at in 0..3 {
            let _ = rows.column(at, &Nls::default(), &mut check, &mut value);
        }
    }
}

fn xml_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "//a/b[1]\n<r><a><b n=\"1\">x</b><b/></a></r>\n<a/>",
        "/p:r/@n | //p:a[@n > 1]/..\n<p:r xmlns:p='u' n='2'><p:a n='3'/>t&lt;<![CDATA[<]]></p:r>",
        "for $i in //i order by $i/@n descending return <o n=\"{$i/@n}\">{$i, 1 to 3}</o>\n<r><i n='1'/><i n='2'/></r>",
        "let $x := count(//a) return if ($x > 1 and not(//c)) then sum(//a) else ($v, 'x')\n<r><a>1</a><a>2</a></r>",
        "string-join(//a/preceding-sibling::*[position() < last()]/local-name(.), ',')\n<r><b/><c/><a/></r>",
        "some $a in //a satisfies every $b in //b satisfies $a = $b\n<r><a>1</a><b>1</b></r>",
        "//text()[normalize-space(.) != '']/ancestor::*\n<?xml version=\"1.0\"?><r>\u{e9}<!--c--><?p i?><a>x</a></r>",
        "(//a)[last()]/substring(., 2, 3)\n<!DOCTYPE r><r><a>abcdef</a></r>\n<!DOCTYPE r [<!ENTITY e 'x'>]><r>&e;</r>",
        "-1 + 2 * 3 div 4 mod 5 idiv 2\n<a></b>\n<a x='1' x='2'/>\n<a>&#x41;&amp;&nbsp;</a>",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
