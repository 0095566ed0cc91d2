//! Printed SQL parses back to the same tree, and no text makes the parser panic.

use proptest::prelude::*;
use sql::ast::Statement;
use sql::{parse_expression, parse_query, parse_statement};

/// The printed statement, for kinds that can be printed.
fn printed(statement: &Statement) -> Option<String> {
    Some(match statement {
        Statement::Query(query) => query.to_string(),
        Statement::Insert(insert) => insert.to_string(),
        Statement::Update(update) => update.to_string(),
        Statement::Delete(delete) => delete.to_string(),
        Statement::Merge(merge) => merge.to_string(),
        _ => return None,
    })
}

fn statements() -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for line in include_str!("accepted.sql").lines() {
        match list.last_mut() {
            _ if line.trim().is_empty() || line.starts_with("--") => {}
            Some(last) if line.starts_with(' ') => {
                last.push('\n');
                last.push_str(line);
            }
            _ => list.push(line.to_owned()),
        }
    }
    list
}

fn check(text: &str) -> Result<bool, String> {
    let Ok(tree) = parse_statement(text) else {
        return Ok(false);
    };
    let Some(again) = printed(&tree) else {
        return Ok(false);
    };
    match parse_statement(&again) {
        Ok(other) if other == tree => Ok(true),
        Ok(other) => Err(format!("{text}\n{again}\n{tree:?}\n{other:?}")),
        Err(error) => Err(format!("{text}\n{again}\n{error} at {:?}", error.position())),
    }
}

#[test]
fn printed_statements_parse_back() {
    let results: Vec<_> = statements().iter().map(|text| check(text)).collect();
    let wrong: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} wrong, first:\n{}", wrong.len(), wrong[0]);
    assert!(results.iter().filter(|result| **result == Ok(true)).count() > 90);
}

/// Expressions generated from a small grammar.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("t.b".to_owned()),
        Just("\"Mixed\"".to_owned()),
        Just("1.5e3".to_owned()),
        Just("'it''s'".to_owned()),
        Just("null".to_owned()),
        Just(":x".to_owned()),
        Just("sysdate".to_owned()),
        Just("(select max(c) from u)".to_owned()),
        Just("date '2020-01-01'".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (two.clone(), prop_oneof![Just("+"), Just("-"), Just("*"), Just("/"), Just("||")])
                .prop_map(|((a, b), op)| format!("({a}) {op} ({b})")),
            two.clone().prop_map(|(a, b)| format!("{a} - {b} * {a}")),
            inner.clone().prop_map(|a| format!("- {a}")),
            inner.clone().prop_map(|a| format!("f({a}, 1)")),
            two.clone().prop_map(|(a, b)| format!("case when {a} = {b} or not {a} < {b} then {a} else {b} end")),
            two.clone().prop_map(|(a, b)| format!("case {a} when {b} then 1 end")),
            two.prop_map(|(a, b)| format!("case when {a} in ({b}, 2) and {a} is not null then {b} end")),
            inner.clone().prop_map(|a| format!("cast({a} as varchar2(10))")),
            inner.prop_map(|a| format!("sum({a}) over (partition by {a} order by a desc nulls last)")),
        ]
    })
}

/// Words and signs to be combined at random.
const PIECES: &[&str] = &[
    "select",
    "from",
    "where",
    "(",
    ")",
    ",",
    "a",
    "t",
    "1",
    "'x'",
    "=",
    "<",
    "+",
    "-",
    "*",
    "||",
    "group",
    "by",
    "order",
    "connect",
    "prior",
    "and",
    "or",
    "not",
    "in",
    "between",
    "is",
    "null",
    "case",
    "when",
    "then",
    "end",
    "join",
    "on",
    "left",
    "union",
    "all",
    "with",
    "as",
    "insert",
    "into",
    "values",
    "update",
    "set",
    "delete",
    "merge",
    "using",
    "create",
    "table",
    "number",
    "drop",
    "alter",
    "add",
    "constraint",
    "primary",
    "key",
    "grant",
    "to",
    "index",
    "view",
    "(+)",
    ".",
    ":b",
    "\"q\"",
    "/*+ full(t) */",
    "--",
    "\n",
    "date",
    "over",
    "partition",
    "level",
    "rollup",
    "distinct",
    "begin",
    "declare",
    "exists",
    "interval",
    "day",
    "fetch",
    "first",
    "rows",
    "only",
    ";",
    "@",
    "..",
    "=>",
    "%",
    "é",
    "q'[",
    "n'",
    "0x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_expressions_parse_back(text in expression()) {
        let tree = parse_expression(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        let again = tree.to_string();
        let other = parse_expression(&again).map_err(|e| TestCaseError::fail(format!("{again}: {e}")))?;
        prop_assert_eq!(tree, other, "{}", again);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = parse_statement(&text);
        let _ = parse_query(&text);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_statement(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_string_of_words_panics(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)) {
        let text = pieces.join(" ");
        if let Err(why) = check(&text) {
            return Err(TestCaseError::fail(why));
        }
        let _ = parse_statement(&format!("select {text}"));
    }

    #[test]
    fn no_cut_or_doubled_statement_panics(n in 0usize..10_000, at in 0usize..10_000, piece in proptest::sample::select(PIECES)) {
        let all = statements();
        let text = &all[n % all.len()];
        let places: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
        let at = places[at % places.len()];
        let _ = parse_statement(&text[..at]);
        let _ = parse_statement(&format!("{} {piece} {}", &text[..at], &text[at..]));
    }
}

/// Runs `f` with half of the stack used, where deep nesting ends.
fn at_half(f: &mut dyn FnMut()) {
    let frame = std::hint::black_box([0u8; 1024]);
    if os::stack::is_short() {
        f()
    } else {
        at_half(f)
    }
    assert_eq!(std::hint::black_box(frame)[0], 0);
}

#[test]
fn long_chains_are_copied_compared_printed_and_dropped_on_half_the_stack() {
    let chain = |operator: &str, n: usize| format!("a{}", format!(" {operator} a").repeat(n));
    os::stack::run(os::stack::SIZE, || {
        for text in [
            chain("+", 30_000),
            chain("||", 30_000),
            chain("- a *", 15_000),
            format!("a = 1{}", " or a = 2".repeat(100_000)),
        ] {
            let tree = parse_expression(&text).or_else(|_| sql::parse_condition(&text)).unwrap();
            at_half(&mut || {
                let copy = tree.clone();
                assert_eq!(copy, tree);
                assert!(copy.to_string().len() > text.len());
            });
            drop(tree);
        }
        // Longer chains are an error wherever they begin.
        let text = chain("+", 200_000);
        assert!(parse_expression(&text).unwrap_err().is(4030));
        at_half(&mut || assert!(parse_expression(&text).is_err()));
        // The printed text has all parentheses and is parsed again.
        let tree = parse_expression(&chain("+", 4_000)).unwrap();
        assert_eq!(parse_expression(&tree.to_string()).unwrap(), tree);
    });
}
