//! Documents and paths against `serde_json`, and hostile texts.

use json::{Document, Kind, Layout, NodeId, Syntax, path, write};
use proptest::prelude::*;
use serde_json::Value;

const ANY: Syntax = Syntax { strict: true, unique_keys: false, scalars: true };

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c\"\\\\\n\u{e9}\u{1F600}]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A step, and its text.
#[derive(Clone, Debug)]
enum Step {
    Member(String),
    Members,
    At(usize),
    Last(usize),
    All,
    Descendants(String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        "[a-c]".prop_map(Step::Member),
        Just(Step::Members),
        (0usize..4).prop_map(Step::At),
        (0usize..3).prop_map(Step::Last),
        Just(Step::All),
        "[a-c]".prop_map(Step::Descendants),
    ];
    prop::collection::vec(step, 0..4)
}

fn text_of(steps: &[Step]) -> String {
    steps.iter().fold("$".to_owned(), |text, step| match step {
        Step::Member(name) => format!("{text}.{name}"),
        Step::Members => format!("{text}.*"),
        Step::At(at) => format!("{text}[{at}]"),
        Step::Last(0) => format!("{text}[last]"),
        Step::Last(before) => format!("{text}[last-{before}]"),
        Step::All => format!("{text}[*]"),
        Step::Descendants(name) => format!("{text}..{name}"),
    })
}

/// The naive meaning of a step.
fn take<'a>(value: &'a Value, step: &Step, out: &mut Vec<&'a Value>) {
    let objects: Vec<&Value> = match value {
        Value::Array(elements) => elements.iter().collect(),
        value => vec![value],
    };
    let elements = &objects;
    match step {
        Step::Member(name) => out.extend(objects.iter().filter_map(|o| o.as_object()?.get(name))),
        Step::Members => out.extend(objects.iter().filter_map(|o| o.as_object()).flat_map(|o| o.values())),
        Step::At(at) => out.extend(elements.get(*at)),
        Step::Last(before) => out.extend(elements.len().checked_sub(before + 1).map(|at| elements[at])),
        Step::All => out.extend(elements),
        Step::Descendants(name) => descend(value, name, out),
    }
}

fn descend<'a>(value: &'a Value, name: &str, out: &mut Vec<&'a Value>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|e| descend(e, name, out)),
        Value::Object(members) => {
            for (key, member) in members {
                if key == name {
                    out.push(member);
                }
                descend(member, name, out);
            }
        }
        _ => {}
    }
}

/// All values in the order of the document.
fn number<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    out.push(value);
    match value {
        Value::Array(elements) => elements.iter().for_each(|e| number(e, out)),
        Value::Object(members) => members.values().for_each(|e| number(e, out)),
        _ => {}
    }
}

fn written(document: &Document, node: NodeId, layout: Layout) -> String {
    let mut text = String::new();
    write(document, node, layout, &mut text);
    text
}

proptest! {
    #[test]
    fn documents_are_written_as_they_were(value in values(), pretty: bool, ascii: bool) {
        let mut document = Document::default();
        document.parse(&value.to_string(), ANY).unwrap();
        let text = written(&document, 0, Layout { pretty, ascii });
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        prop_assert!(!ascii || text.is_ascii());
    }

    #[test]
    fn paths_select_what_the_reference_selects(value in values(), steps in steps()) {
        let mut document = Document::default();
        document.parse(&value.to_string(), ANY).unwrap();
        let mut nodes = Vec::new();
        let path = path::parse(&text_of(&steps), &[]).unwrap();
        path.nodes(&document, 0, &[], &mut path::Scratch::default(), &mut nodes).unwrap();
        let mut expected = vec![&value];
        for step in &steps {
            let mut next = Vec::new();
            for value in &expected {
                take(value, step, &mut next);
            }
            if let Step::Descendants(_) = step {
                // Each value once, in the order of the document.
                next.sort_by_key(|v| std::ptr::from_ref::<Value>(*v) as usize);
                next.dedup_by_key(|v| std::ptr::from_ref::<Value>(*v) as usize);
                let mut all = Vec::new();
                number(&value, &mut all);
                next.sort_by_key(|v| all.iter().position(|x| std::ptr::eq(*x, *v)));
            }
            expected = next;
        }
        let found: Vec<Value> =
            nodes.iter().map(|n| serde_json::from_str(&written(&document, *n, Layout::default())).unwrap()).collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn strict_syntax_is_that_of_the_reference(text in "[\\[\\]{}:,\"a0-9.eE+\\- tru\\\\n]{0,12}") {
        let ours = json::is_json(&text, ANY);
        let theirs = serde_json::from_str::<Value>(&text);
        // The reference refuses numbers that no double holds.
        let is_number_out_of_range = theirs.as_ref().is_err_and(|e| e.to_string().contains("out of range"));
        prop_assert!(ours == theirs.is_ok() || is_number_out_of_range, "{:?} {:?}", text, theirs);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in ".{0,40}", path in "\\$?[\\[\\].?()@!&|=<>a-c0-9 *\"'$to-]{0,20}") {
        for strict in [false, true] {
            let _ = json::is_json(&text, Syntax { strict, unique_keys: true, scalars: true });
        }
        let _ = path::parse(&path, &["a".to_owned()]);
        let _ = path::parse(&text, &[]);
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(json::is_json(&nested(json::NESTING_MAX), Syntax::default()));
    assert!(!json::is_json(&nested(json::NESTING_MAX + 1), Syntax::default()));
    assert!(!json::is_json(&"[".repeat(10_000_000), Syntax::default()));
    assert!(path::parse(&format!("$?({}@.a{})", "(".repeat(1_000_000), ")".repeat(1_000_000)), &[]).is_err());
    assert!(path::parse(&format!("$?({}@.a)", "!".repeat(1_000_000)), &[]).is_err());
    assert!(path::parse(&format!("${}", "?(@.a".repeat(100_000)), &[]).is_err());
}

#[test]
fn escapes_of_paths() {
    let member = |text: &str| match &path::parse(text, &[]).unwrap().steps[..] {
        [path::Step::Member(name)] => name.clone(),
        steps => panic!("{steps:?}"),
    };
    assert_eq!(member(r#"$."a\u00e9\ud83d\ude00\"\\""#), "a\u{e9}\u{1F600}\"\\");
    // An escape that no document has.
    assert_eq!(member("$.\"\\\u{e9}\\u1\u{e9}\u{e9}\""), "\u{e9}\u{fffd}1\u{e9}\u{e9}");
    assert!(path::parse("$.\"a\\", &[]).is_err());
}

#[test]
fn lax_syntax() {
    for text in
        ["{a:1}", "{'a':'b',}", "[1,2,]", "[TRUE,False,nULL]", "[.5,5.,+3,007]", "{$x_1:1}", "{\"a\":1,\"a\":2}"]
    {
        assert!(json::is_json(text, Syntax::default()), "{text}");
        let is_strict = json::is_json(text, Syntax { strict: true, ..Syntax::default() });
        assert_eq!(is_strict, text.contains("\"a\""), "{text}");
    }
    for text in [
        "",
        "1",
        "\"a\"",
        "{",
        "[1 2]",
        "{a}",
        "[,]",
        "{,}",
        "[1,,2]",
        "[tru]",
        "[1]x",
        "['a\"]",
        "[1.2.3]",
        "[\"\\x\"]",
    ] {
        assert!(!json::is_json(text, Syntax::default()), "{text}");
    }
    assert!(!json::is_json("{\"a\":1,\"\\u0061\":2}", Syntax { unique_keys: true, ..Syntax::default() }));
}

#[test]
fn a_document_keeps_order_duplicates_and_digits() {
    let mut document = Document::default();
    document.parse("{\"b\":1.50,\"a\":12345678901234567890123456789012345678,\"b\":[]}", Syntax::default()).unwrap();
    assert_eq!(document.kind(0), Kind::Object);
    let text = "{\"b\":1.50,\"a\":12345678901234567890123456789012345678,\"b\":[]}";
    assert_eq!(written(&document, 0, Layout::default()), text);
}
