//! Expressions over documents: golden results, and random documents against a naive search.

use proptest::prelude::*;
use std::rc::Rc;
use types::Result;
use xml::{Document, Item, Kind, NodeId, Source};

/// The result of an expression as XML, items separated by `|`.
fn evaluated(expression: &str, text: &str) -> Result<String> {
    let namespaces = vec![("p".to_owned(), "urn:p".to_owned())];
    let query = xml::parse(expression, &["v".to_owned()], namespaces, false)?;
    let mut document = Document::default();
    document.parse(text, true)?;
    let root = document.root();
    let context = Item::Node(Source::new(0, Rc::new(document)), root);
    let items = query.evaluate(Some(context), vec![vec![Item::text("x")]], &mut || Ok(()))?;
    let shown = |item: &Item| {
        let mut out = String::new();
        item.push_xml(&mut out);
        out
    };
    Ok(items.iter().map(shown).collect::<Vec<_>>().join("|"))
}

const BOOKS: &str =
    "<s><b y=\"1999\"><t>One</t><p>10.5</p></b><b y=\"2005\"><t>Two</t><p>3</p></b><!--c--><x><b/></x></s>";

#[test]
fn results_of_expressions() {
    for (expression, result) in [
        ("/s/b/t", "<t>One</t>|<t>Two</t>"),
        ("/s/b[2]/t/text()", "Two"),
        ("/s/b[@y > 2000]/t", "<t>Two</t>"),
        ("//b[last()]/@y", "2005"),
        ("(//b)[last()]", "<b/>"),
        ("//t[. = 'One']/../@y", "1999"),
        ("count(//b)", "3"),
        ("sum(//p)", "13.5"),
        ("//p/parent::b/preceding-sibling::b/t", "<t>One</t>"),
        ("/s/comment()", "<!--c-->"),
        ("/s/*[not(self::b)]/b/ancestor::*/local-name()", "s|x"),
        ("//t | //p", "<t>One</t>|<p>10.5</p>|<t>Two</t>|<p>3</p>"),
        ("string-join(for $b in //b[t] order by number($b/p) return $b/t, ',')", "Two,One"),
        ("for $b at $n in /s/b return concat($n, $b/t)", "1One|2Two"),
        (
            "for $b in //b let $y := $b/@y where $y return <o k=\"{$y}\">{$b/t/text()}</o>",
            "<o k=\"1999\">One</o>|<o k=\"2005\">Two</o>",
        ),
        ("if (//b) then 'yes' else 'no'", "yes"),
        ("some $p in //p satisfies $p > 10", "true"),
        ("every $p in //p satisfies $p > 10", "false"),
        ("1 to 3", "1|2|3"),
        ("2 + 3 * 4 - 10 div 4", "11.5"),
        ("7 mod 3, 7 idiv 2, -(1)", "1|3|-1"),
        ("substring('12345', 2, 3)", "234"),
        ("translate('bar', 'abc', 'AB')", "BAr"),
        ("normalize-space('  a  b ')", "a b"),
        ("$v", "x"),
        ("concat($v, \"a\"\"b\", '&lt;')", "xa\"b&lt;"),
        ("distinct-values(('a', 'b', 'a'))", "a|b"),
        ("//b[@y='1999' or @y='x' and false()]/t", "<t>One</t>"),
        ("/s/b[1]/following::t", "<t>Two</t>"),
        ("/nothing", ""),
        ("(: comment :) 1", "1"),
        ("declare namespace q = \"urn:p\"; count(//q:z)", "0"),
        ("<a><b>{1 + 1}</b> text {{}}</a>", "<a><b>2</b> text {}</a>"),
        ("/s/b/element()", "<t>One</t>|<p>10.5</p>|<t>Two</t>|<p>3</p>"),
        ("/s/b/child::node()[1]", "<t>One</t>|<t>Two</t>"),
        ("xs:integer('12') + 1", "13"),
        (".//x/descendant-or-self::*/name()", "x|b"),
    ] {
        assert_eq!(evaluated(expression, BOOKS).unwrap_or_else(|e| e.to_string()), result, "{expression}");
    }
}

#[test]
fn errors_of_expressions() {
    for (expression, code) in [
        ("/s[", 19114),
        ("/s/b)", 19114),
        ("'open", 19114),
        ("$nothing", 19228),
        ("q:a", 19280),
        ("nosuch()", 19237),
        ("count()", 19114),
        ("1 to 100000000", 4030),
        ("('a', 'b') eq 'a'", 19279),
        ("for $x in 1", 19114),
        ("<a></b>", 19114),
    ] {
        let error = evaluated(expression, "<a/>").unwrap_err();
        assert!(error.is(code), "{expression}: {error}");
    }
    for deep in ["(".repeat(10_000), "1+".repeat(10_000), "<a>".repeat(10_000), "a[".repeat(10_000)] {
        assert!(evaluated(&deep, "<a/>").is_err());
    }
    let many: String = (0..10_000).map(|n| format!("for $x{n} in 1 ")).collect();
    assert!(evaluated(&format!("{many} return 1"), "<a/>").is_err());
}

#[test]
fn an_evaluation_stops_when_its_caller_says_so() {
    let query = xml::parse("count(for $a in 1 to 5000, $b in 1 to 5000 return $a)", &[], Vec::new(), false).unwrap();
    let stopped = query.evaluate(None, Vec::new(), &mut || Err(types::Ora::new(1013)));
    assert!(stopped.unwrap_err().is(1013));
}

#[test]
fn documents_are_indented() {
    let mut document = Document::default();
    document.parse("<?xml version=\"1.0\"?><a><b>x</b><c><d/></c><e>t<f/></e></a>", false).unwrap();
    let expected = "<?xml version=\"1.0\"?>\n<a>\n  <b>x</b>\n  <c>\n    <d/>\n  </c>\n  <e>t<f/></e>\n</a>";
    assert_eq!(xml::indented(&document, 2), expected);
}

/// A random tree as text.
fn tree() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("<a/>".to_owned()), Just("<b k='1'>t</b>".to_owned()), Just("x".to_owned())];
    let node = leaf.prop_recursive(5, 40, 4, |inner| {
        (prop_oneof![Just("a"), Just("b"), Just("c")], prop::collection::vec(inner, 0..4))
            .prop_map(|(name, parts)| format!("<{name}>{}</{name}>", parts.concat()))
    });
    node.prop_map(|node| format!("<r>{node}</r>"))
}

/// The elements with a name whose parent has another, searched one by one.
fn naive(document: &Document, name: &str, parent: &str) -> Vec<String> {
    let all = 1..document.next(document.root());
    let is = |n: &NodeId| {
        document.kind(*n) == Kind::Element && document.name(*n) == name && document.name(document.parent(*n)) == parent
    };
    all.filter(is).map(|n| document.source(n).to_owned()).collect()
}

proptest! {
    #[test]
    fn paths_find_what_a_search_finds(text in tree()) {
        let mut document = Document::default();
        document.parse(&text, false).unwrap();
        for (name, parent) in [("a", "c"), ("b", "a"), ("c", "r")] {
            let wanted = naive(&document, name, parent).join("|");
            prop_assert_eq!(evaluated(&format!("//{parent}/{name}"), &text).unwrap(), wanted.clone());
            prop_assert_eq!(evaluated(&format!("//{name}[parent::{parent}]"), &text).unwrap(), wanted.clone());
            let loops = format!("for $p in //{parent} return $p/{name}");
            let sorted = |s: &str| { let mut v: Vec<_> = s.split('|').map(str::to_owned).collect(); v.sort(); v };
            prop_assert_eq!(sorted(&evaluated(&loops, &text).unwrap()), sorted(&wanted));
        }
        prop_assert_eq!(evaluated("/*", &text).unwrap(), text);
    }
}

/// Sizes at which a search that is repeated for each node takes minutes.
#[test]
fn large_documents_are_read_in_linear_time() {
    let declarations: String = (0..9000).map(|n| format!(" xmlns:p{n}='u{n}'")).collect();
    let attributes: String = (0..9000).map(|n| format!(" a{n}='{n}'")).collect();
    let redefined: String = (0..200_000).map(|n| format!("<a xmlns='u{n}'/>")).collect();
    for (text, count) in [
        (format!("<r{declarations}>{}</r>", "<p0:a/>".repeat(200_000)), "200000"),
        (format!("<r{attributes}>{}</r>", "x<b/>".repeat(200_000)), "200000"),
        (format!("<r>{redefined}</r>"), "200000"),
    ] {
        assert_eq!(evaluated("count(/r/*)", &text).unwrap(), count);
    }
}

#[test]
fn nested_descendants_are_found_once() {
    let text = format!("<r>{}{}{}</r>", "<x>".repeat(60), "<a y='1'><b/></a>".repeat(10_000), "</x>".repeat(60));
    assert_eq!(evaluated("count(//*//*//*)", &text).unwrap(), "20059");
    assert_eq!(evaluated("count(//*/descendant-or-self::*)", &text).unwrap(), "20061");
    assert_eq!(evaluated("count(//@y/descendant-or-self::node())", &text).unwrap(), "10000");
    assert_eq!(evaluated("count((/r | //@y)/descendant-or-self::node())", &text).unwrap(), "30061");
}

#[test]
fn expressions_that_hold_too_much_are_refused() {
    let loops: Vec<String> = (0..8).map(|n| format!("$a{n} in 1 to 1000000")).collect();
    let bound: Vec<String> = (0..8).map(|n| format!("$a{n} := 1 to 1000000")).collect();
    let doubled: Vec<String> = (1..60).map(|n| format!("$a{n} := concat($a{}, $a{})", n - 1, n - 1)).collect();
    for expression in [
        format!("for {} return 1", loops.join(", ")),
        format!("let {} return 1", bound.join(", ")),
        format!("let $a0 := 'x', {} return 1", doubled.join(", ")),
        format!("for $a in 1 to 3 {} return $a", "where 1 ".repeat(100_000)),
    ] {
        let e = evaluated(&expression, "<a/>").unwrap_err();
        assert_eq!(e.code(), 4030, "{}: {e}", &expression[..60]);
    }
}
