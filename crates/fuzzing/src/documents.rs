//! JSON documents and paths.

use crate::Target;
use json::{
    Column, Compiled, Document, Function, Layout, Level, Operator, Otherwise, Syntax, Table, Wrapper, equal,
    merge_patch, write,
};
use types::{DataType, LenUnit, Nls, Value};

/// A path and documents, separated by line ends: the functions over them, JSON_TABLE, merge patches.
pub const JSON: Target = Target { name: "json", run: json, seeds: json_seeds, is_text: false };

const ANY: Syntax = Syntax { strict: false, unique_keys: false, scalars: true };

fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (path, documents) = text.split_once('\n').unwrap_or(("$..a", text));
    let mut rows = table(path).rows().ok();
    let mut before = Document::default();
    let mut document = Document::default();
    let mut is_first = true;
    for text in documents.split('\n') {
        if let Some(rows) = &mut rows {
            // Only some rows of each document are fetched.
            rows.open(Some(text), &[]).expect("NULL ON ERROR");
            let mut value = Value::Null;
            for _ in 0..3 {
                if !rows.next().unwrap_or(false) {
                    break;
                }
                for position in 0..4 {
                    let _ = rows.column(position, &Nls::default(), &mut value);
                }
            }
        }
        select(path, text);
        let is_strict = json::is_json(text, Syntax { strict: true, ..ANY });
        let is_json = document.parse(text, ANY).is_ok();
        assert!(is_json || !is_strict, "strict syntax is also lax: {text}");
        if !is_json {
            continue;
        }
        round_trip(&document);
        if is_first {
            before.parse(text, ANY).expect("parsed above");
            is_first = false;
        }
        merged(&document, &before);
        merged(&before, &document);
    }
}

/// The written text is strict JSON, and equal to the document that was read.
fn round_trip(document: &Document) {
    for (pretty, ascii) in [(false, false), (true, true)] {
        let (mut out, mut again) = (String::new(), Document::default());
        write(document, document.root(), Layout { pretty, ascii }, &mut out);
        again.parse(&out, Syntax { strict: true, ..ANY }).unwrap_or_else(|e| panic!("{e}: {out}"));
        assert!(equal(document, document.root(), &again, again.root()), "{out}");
    }
}

fn merged(target: &Document, patch: &Document) {
    let mut out = String::new();
    merge_patch(target, patch, &mut out);
    assert!(json::is_json(&out, ANY), "{out}");
}

fn select(path: &str, text: &str) {
    let short = DataType::Varchar2 { len: 5, unit: LenUnit::Char };
    for (operator, ty) in [
        (Operator::Value, DataType::NUMBER),
        (Operator::Value, short),
        (Operator::Value, DataType::TIMESTAMP),
        (Operator::Query, DataType::Clob),
        (Operator::Query, short),
        (Operator::Exists, DataType::Boolean),
        (Operator::Dot, short),
    ] {
        let mut function = Function::new(operator, path.to_owned(), ty);
        function.variables = vec!["v".to_owned()];
        (function.truncate, function.on_error) = (ty == short, Otherwise::Error);
        function.wrapper = Wrapper::Conditional;
        let Ok(mut function) = Compiled::new(function) else { return };
        let (mut document, mut out) = (Document::default(), Value::Null);
        let _ = function.run(&mut document, text, &[Value::text("1")], &Nls::default(), &mut out);
        if let (Value::Text(text), true) = (&out, ty == short) {
            assert!(text.chars().count() <= 5, "{text}");
        }
    }
}

/// Two levels below the path, each with a position and a value.
fn table(path: &str) -> Table {
    let column = |position| {
        let function = Function::new(Operator::Query, "$".to_owned(), DataType::Clob);
        vec![(position, Column::Ordinality), (position + 1, Column::Function(function))]
    };
    let inner = Level { path: "$.a[*]".to_owned(), columns: column(2), nested: Vec::new() };
    let middle = Level { path: "$.*".to_owned(), columns: Vec::new(), nested: vec![inner.clone(), inner] };
    let level = Level { path: path.to_owned(), columns: column(0), nested: vec![middle] };
    Table { error: false, level, columns: 4, variables: Vec::new() }
}

fn json_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "$.a.b[0]\n{\"a\":{\"b\":[1,2,{\"c\":\"x\\u0041\\n\"}]}}\n{\"a\":[]}",
        "$..a[last - 1, 0 to 2].size()\n[{\"a\":[1,[2],{}]},{\"a\":null}]",
        "$?(@.a == 1 && (@.b starts with \"x\" || !exists(@.c)))\n{\"a\":1,\"b\":\"xy\"}\n{a:'q',}",
        "$[*]?(@.a in (1, 2, \"3\") || @.b > $v)\n[{\"a\":1.50},{\"a\":\"3\",\"b\":2}]",
        "$.*?(@ like \"a%_\").upper()\n{\"x\":\"abc\",\"x\":\"ab\",\"y\":true}",
        "lax $.\"a b\\\"\"[*].number()\n{\"a b\\\"\":[+1,.5,5.,007,1e400,-0]}",
        "$.a.timestamp()\n{\"a\":\"2020-02-29T10:11:12.25+01:00\"}\n{\"a\":\"T-\"}",
        "$\n[[[[[]]]]]\n{\"a\":{\"a\":{\"a\":{\"a\":[{\"a\":[1,2]}]}}}}\n1\n\"\\ud83d\\ude00\\ud83d\"",
        "$.type()\n{\"a\":1,\"b\":null,\"c\":[],\"d\":{\"e\":0}}\n{\"b\":1,\"c\":{},\"d\":{\"e\":null}}",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
