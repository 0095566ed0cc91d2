//! Golden table: a call, and what it returns. Values are written as text; errors as their number.

use crate::{Clock, FnCache, FnCtx, SessionInfo, TextMax, lookup};
use types::{Date, Nls, Number, Result, Timestamp, Value};

struct Fixed;

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
    Nls { today: Date::from_ymd(2024, 3, 5).unwrap(), zone_minutes: 60, ..Nls::default() }
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
