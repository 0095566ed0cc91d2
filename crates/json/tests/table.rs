//! Rows of JSON_TABLE, merge patches, and the length of results.

use json::{Column, Compiled, Document, Function, Level, Operator, Syntax, Table, TableRows, Wrapper};
use proptest::prelude::*;
use types::{DataType, Nls, Value};

/// A level over `path` with one column, the value itself, and one nested level.
fn level(path: &str, position: u16, nested: Option<Level>) -> Level {
    let function = Function::new(Operator::Value, "$".to_owned(), DataType::NUMBER);
    let columns = vec![(position, Column::Function(function))];
    Level { path: path.to_owned(), columns, nested: nested.into_iter().collect() }
}

fn nested() -> TableRows {
    let inner = level("$.c[*]", 2, None);
    let middle = level("$.b[*]", 1, Some(inner));
    Table { error: false, level: level("$.a[*]", 0, Some(middle)), columns: 3, variables: Vec::new() }.rows().unwrap()
}

fn row(rows: &mut TableRows) -> Option<Vec<Value>> {
    if !rows.next().unwrap() {
        return None;
    }
    let mut row = vec![Value::Null; 3];
    for (position, value) in row.iter_mut().enumerate() {
        rows.column(position as u16, &Nls::default(), value).unwrap();
    }
    Some(row)
}

#[test]
fn a_document_left_in_the_middle_leaves_nothing_to_the_next() {
    let mut rows = nested();
    rows.open(Some(r#"{"a":[{"b":[{"c":[1,2,3,4,5,6,7,8]}]}]}"#), &[]).unwrap();
    assert_eq!(row(&mut rows), Some(vec![Value::Null, Value::Null, Value::Number(1.into())]));
    rows.open(Some(r#"{"a":[1]}"#), &[]).unwrap();
    assert_eq!(row(&mut rows), Some(vec![Value::Number(1.into()), Value::Null, Value::Null]));
    assert_eq!(row(&mut rows), None);
    rows.open(None, &[]).unwrap();
    assert_eq!(row(&mut rows), None);
}

/// RFC 7396.
fn merged(target: serde_json::Value, patch: &serde_json::Value) -> serde_json::Value {
    let serde_json::Value::Object(changes) = patch else { return patch.clone() };
    let mut members = match target {
        serde_json::Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    for (name, change) in changes {
        match change {
            serde_json::Value::Null => _ = members.remove(name),
            change => {
                let old = members.remove(name).unwrap_or(serde_json::Value::Null);
                members.insert(name.clone(), merged(old, change));
            }
        }
    }
    serde_json::Value::Object(members)
}

fn values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![Just(serde_json::Value::Null), any::<u8>().prop_map(serde_json::Value::from)];
    leaf.prop_recursive(3, 60, 20, |inner| {
        prop::collection::btree_map("[a-t]", inner, 0..20)
            .prop_map(|members| serde_json::Value::Object(members.into_iter().collect()))
    })
}

proptest! {
    #[test]
    fn merge_patches_are_those_of_the_reference(target in values(), patch in values()) {
        let any = Syntax { scalars: true, ..Syntax::default() };
        let (mut a, mut b, mut text) = (Document::default(), Document::default(), String::new());
        a.parse(&target.to_string(), any).unwrap();
        b.parse(&patch.to_string(), any).unwrap();
        json::merge_patch(&a, &b, &mut text);
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), merged(target, &patch));
    }
}

#[test]
fn a_merge_of_large_objects() {
    let members = |from: u32, to: u32| {
        let list: Vec<String> = (from..to).map(|n| format!("\"k{n}\":{n}")).collect();
        format!("{{{}}}", list.join(","))
    };
    let (mut a, mut b, mut text) = (Document::default(), Document::default(), String::new());
    a.parse(&members(0, 100_000), Syntax::default()).unwrap();
    b.parse(&members(50_000, 150_000), Syntax::default()).unwrap();
    json::merge_patch(&a, &b, &mut text);
    assert_eq!(text, members(0, 150_000));
}

#[test]
fn results_are_no_longer_than_a_lob() {
    let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(1_000), "]".repeat(1_000));
    for (path, document, pretty) in [
        (format!("$[{}0]", "0,".repeat(40)), format!("[\"{}\"]", "x".repeat(1 << 20)), false),
        ("$".to_owned(), nested(&format!("{}0", "0,".repeat(20_000))), true),
    ] {
        let mut function = Function::new(Operator::Query, path, DataType::Clob);
        (function.wrapper, function.pretty) = (Wrapper::Unconditional, pretty);
        function.on_error = json::Otherwise::Error;
        let (mut kept, mut out) = (Document::default(), Value::Null);
        let mut function = Compiled::new(function).unwrap();
        let error = function.run(&mut kept, &document, &[], &Nls::default(), &mut out).unwrap_err();
        assert!(error.is(40478), "{error}");
    }
}
