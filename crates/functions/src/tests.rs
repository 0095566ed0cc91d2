//! Golden table of calls and their results. Values are written as text, errors as their number.

use crate::{Clock, FnCache, FnCtx, SessionInfo, TextMax, lookup};
use types::{Date, Nls, Number, Result, Timestamp, Value};

struct Fixed;

/// Simulates a break at the second check.
#[derive(Default)]
struct Breaks(std::cell::Cell<u32>);

impl SessionInfo for Fixed {
    fn user(&self) -> &str {
        "SCOTT"
    }
    fn user_id(&self) -> u32 {
        84
    }
    fn schema(&self) -> &str {
        "SCOTT"
    }
    fn sid(&self) -> u32 {
        17
    }
    fn context(&self, namespace: &str, parameter: &str, out: &mut String) -> Result<bool> {
        match (namespace, parameter) {
            ("USERENV", "DB_NAME") => out.push_str("LWK"),
            ("USERENV", "SESSIONID") => out.push_str("42"),
            ("USERENV", _) => return Err(types::Ora::new(2003)),
            _ => return Ok(false),
        }
        Ok(true)
    }
    fn guid(&self) -> [u8; 16] {
        [7; 16]
    }
}

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::with_offset(Date::new(2024, 3, 5, 14, 7, 9).unwrap(), 123_456_789, 0)
    }
}

fn nls() -> Nls {
    Nls { today: Date::from_ymd(2024, 3, 5).unwrap(), zone: types::TimeZone::Offset(60), ..Nls::default() }
}

/// Reads one argument: NULL, a number, 'text', d'YYYY-MM-DD[ HH:MI:SS]', t'…', x'hex', 1.5d.
fn arg(text: &str) -> Value {
    let nls = nls();
    let quoted = |s: &str| s.strip_suffix('\'').expect("a closing quote").replace("''", "'");
    if text == "NULL" {
        Value::Null
    } else if let Some(s) = text.strip_prefix('\'') {
        Value::text(quoted(s))
    } else if let Some(s) = text.strip_prefix("d'") {
        Value::Date(types::format::date_from_text(&quoted(s), "SYYYY-MM-DD HH24:MI:SS", &nls).unwrap())
    } else if let Some(s) = text.strip_prefix("t'") {
        let s = quoted(s);
        let zoned = s.len() > 26;
        let model = if zoned { "YYYY-MM-DD HH24:MI:SS.FF TZR" } else { "YYYY-MM-DD HH24:MI:SS.FF" };
        Value::Timestamp(types::format::timestamp_from_text(&s, model, &nls).unwrap())
    } else if let Some(s) = text.strip_prefix("x'") {
        Value::raw(types::parse_hex(&quoted(s)).unwrap())
    } else if let Some(s) = text.strip_suffix('d') {
        Value::Double(s.parse().unwrap())
    } else {
        Value::Number(text.parse::<Number>().unwrap())
    }
}

fn split(args: &str) -> Vec<&str> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (i, c) in args.char_indices() {
        match c {
            '\'' => inside = !inside,
            ',' if !inside => {
                parts.push(args[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if !args.trim().is_empty() {
        parts.push(args[start..].trim());
    }
    parts
}

fn call(text: &str) -> String {
    let (name, rest) = text.split_once('(').expect("a call has a parenthesis");
    let args: Vec<Value> = split(rest.strip_suffix(')').expect("a call ends")).into_iter().map(arg).collect();
    let def = lookup(name).unwrap_or_else(|| panic!("no function {name}"));
    let nls = nls();
    let mut cache = FnCache::default();
    let mut ctx = FnCtx { nls: &nls, session: &Fixed, clock: &Fixed, cache: &mut cache, text_max: TextMax::Text };
    let mut out = Value::text("something old");
    let result = def.check_args(args.len()).and_then(|()| def.call(&mut ctx, &args, &mut out));
    match result {
        Err(e) => e.to_string()[..9].to_owned(),
        Ok(()) => match &out {
            Value::Null => "NULL".into(),
            Value::EmptyLob => "EMPTY".into(),
            Value::Boolean(b) => b.to_string().to_uppercase(),
            Value::Date(d) => {
                let mut s = String::new();
                types::format::date_to_char(d, "YYYY-MM-DD HH24:MI:SS", &nls, &mut s).unwrap();
                s
            }
            Value::Text(s) => format!("'{s}'"),
            value => value.to_text(&nls).unwrap().unwrap().into_owned(),
        },
    }
}

#[test]
fn golden() {
    let mut failed = 0;
    let mut count = 0;
    for line in include_str!("golden.txt").lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        let (text, wanted) = line.rsplit_once(" => ").unwrap_or_else(|| panic!("no arrow in {line}"));
        count += 1;
        let got = call(text.trim());
        if got != wanted {
            eprintln!("{text} => {got}, not {wanted}");
            failed += 1;
        }
    }
    assert_eq!(failed, 0, "of {count}");
    assert!(count > 300, "{count}");
}

impl SessionInfo for Breaks {
    fn user(&self) -> &str {
        "SCOTT"
    }
    fn user_id(&self) -> u32 {
        84
    }
    fn schema(&self) -> &str {
        "SCOTT"
    }
    fn sid(&self) -> u32 {
        17
    }
    fn context(&self, _namespace: &str, _parameter: &str, _out: &mut String) -> Result<bool> {
        Ok(false)
    }
    fn guid(&self) -> [u8; 16] {
        [7; 16]
    }
    fn check_cancel(&self) -> Result<()> {
        self.0.set(self.0.get() + 1);
        if self.0.get() == 2 { Err(types::Ora::new(1013)) } else { Ok(()) }
    }
}

fn call_asking(session: &Breaks, name: &str, args: &[Value]) -> Result<Value> {
    let (nls, mut cache, mut out) = (nls(), FnCache::default(), Value::Null);
    let mut ctx = FnCtx { nls: &nls, session, clock: &Fixed, cache: &mut cache, text_max: TextMax::Lob };
    lookup(name).unwrap().call(&mut ctx, args, &mut out).map(|()| out)
}

#[test]
fn a_regular_expression_over_a_long_text_can_be_stopped() {
    let long = Value::text("ab".repeat(300_000));
    let text = |s: &str| Value::text(s.to_string());
    for (name, args) in [
        ("REGEXP_COUNT", vec![long.clone(), text("a")]),
        ("REGEXP_REPLACE", vec![long.clone(), text("b"), text("c")]),
        ("REGEXP_INSTR", vec![long.clone(), text("x")]),
        (
            "REGEXP_SUBSTR",
            vec![long.clone(), text("b"), Value::Number(Number::from(1i64)), Value::Number(Number::from(200_000i64))],
        ),
        ("REGEXP_LIKE", vec![long.clone(), text("(a|b)*c")]),
    ] {
        let session = Breaks::default();
        assert!(call_asking(&session, name, &args).unwrap_err().is(1013), "{name}");
        assert_eq!(session.0.get(), 2, "{name}: nothing goes on behind the break");
    }
}

/// The limit applies to each start position of a match, so a simple expression may search a long text.
#[test]
fn a_simple_expression_is_found_at_the_end_of_a_long_text() {
    let session = Breaks(std::cell::Cell::new(2));
    let text = Value::text(format!("{}y", "ab".repeat(3_000_000)));
    let found = call_asking(&session, "REGEXP_INSTR", &[text, Value::text("y".to_string())]).unwrap();
    assert_eq!(found, Value::Number(Number::from(6_000_001i64)));
}
