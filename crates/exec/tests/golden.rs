//! Golden files in sqllogictest format: statements, and queries with their rows.
//!
//! `EXEC_GOLDEN=path` runs another file instead.

mod common;

use common::{Instance, Names, Session};
use std::rc::Rc;
use testing::Random;
use types::Value;

struct Failure {
    line: usize,
    text: String,
}

/// Runs a file with this memory for each work area. Returns the number of records and the failures.
fn run_file(content: &str, spill_bytes: usize) -> (usize, Vec<Failure>) {
    let instance = Instance::new();
    let names = Rc::new(Names::default());
    let mut s = Session::new(&instance, &names);
    s.state.options.spill_bytes = spill_bytes;
    s.add_fixed();
    let lines: Vec<&str> = content.lines().collect();
    let (mut at, mut records) = (0, 0);
    let mut failures = Vec::new();
    let mut skip = false;
    while at < lines.len() {
        let words: Vec<&str> = lines[at].split_whitespace().collect();
        let start = at;
        at += 1;
        match words[..] {
            ["skipif", engine, ..] => skip |= engine == "oracle",
            ["onlyif", engine, ..] => skip |= engine != "oracle",
            ["statement", how, ..] => {
                let text = block(&lines, &mut at, false);
                if std::mem::take(&mut skip) {
                    continue;
                }
                records += 1;
                let result = s.run(&text);
                let failed = match (how, &result) {
                    ("ok", Err(e)) => Some(format!("{e}")),
                    ("error", Ok(_)) => Some("should have failed".into()),
                    (code, Err(e)) if code.starts_with("ORA-") && format!("ORA-{:05}", e.code()) != code => {
                        Some(format!("{e}"))
                    }
                    (code, Ok(_)) if code.starts_with("ORA-") => Some("should have failed".into()),
                    _ => None,
                };
                if let Some(why) = failed {
                    failures.push(Failure { line: start + 1, text: format!("{text}\n  {why}") });
                }
            }
            ["query", types, ref rest @ ..] => {
                let text = block(&lines, &mut at, true);
                let mut expected = Vec::new();
                if at < lines.len() && lines[at] == "----" {
                    at += 1;
                    while at < lines.len() && !lines[at].is_empty() {
                        expected.push(lines[at].to_owned());
                        at += 1;
                    }
                }
                if std::mem::take(&mut skip) {
                    continue;
                }
                records += 1;
                let sort = rest.first().copied().unwrap_or("nosort");
                let hard = hard_parses(&s);
                // The second execution uses the plan of the shared cursor.
                let run = check_query(&mut s, &text, types, sort, &expected).and_then(|()| {
                    if spill_bytes < ROOMY {
                        return Ok(());
                    }
                    let first = hard_parses(&s) - hard;
                    if !REPEATS.iter().any(|word| text.to_lowercase().contains(word)) {
                        check_query(&mut s, &text, types, sort, &expected)
                            .map_err(|e| format!("from its image: {e}"))?;
                    }
                    match hard_parses(&s) - hard - first {
                        0 => check_image(&mut s, &text),
                        more => Err(format!("{more} hard parses of a statement that had been parsed")),
                    }
                });
                if let Err(why) = run {
                    failures.push(Failure { line: start + 1, text: format!("{text}\n  {why}") });
                }
            }
            _ => {}
        }
    }
    (records, failures)
}

/// Texts in queries whose second execution returns other rows.
const REPEATS: [&str; 2] = ["nextval", "v$tick"];

fn hard_parses(s: &Session<'_>) -> u64 {
    s.p.stats().get(wait::Stat::ParseCountHard)
}

struct Functions<'a>(std::cell::RefCell<exec::ExecCtx<'a>>);

impl plan::Functions for Functions<'_> {
    fn function(
        &self,
        text_owner: Option<exec::TextOwner>,
        path: &[String],
        args: &[types::DataType],
    ) -> types::Result<Option<exec::HostFunction>> {
        let mut cx = self.0.borrow_mut();
        let host = cx.host;
        host.function(&mut cx, text_owner, path, args)
    }
}

/// The image of a query's plan decodes to the same plan; a damaged image decodes to any plan or none.
fn check_image(s: &mut Session<'_>, text: &str) -> Result<(), String> {
    let statement = sql::parse_statement(text).map_err(|e| e.to_string())?;
    let names = exec::Host::catalog(&s.host).map_err(|e| e.to_string())?;
    let functions = Functions(std::cell::RefCell::new(s.cx()));
    let states = std::cell::RefCell::default();
    let notes = plan::names::Notes::new(&states);
    let plan = {
        let names = plan::names::Noting::new(&*names, &notes);
        let functions = plan::names::NotingFunctions { functions: &functions, notes: &notes };
        plan::compile(&statement, &names, &functions, &[]).map_err(|e| e.to_string())?
    };
    let lookups = notes.into_lookups();
    let image = exec::shared_plan::image_of(&plan, &lookups).ok_or("no image")?;
    let again = exec::shared_plan::plan_of(&image, &lookups, &*names).ok_or("the image is damaged")?;
    if plan.to_string() != again.to_string() || plan.rows() != again.rows() {
        return Err(format!("{plan}\nbecame\n{again}"));
    }
    if image != exec::shared_plan::image_of(&again, &lookups).unwrap_or_default() {
        return Err("the image of the plan that was read is another".into());
    }
    let mut numbers = Random::new(image.len() as u64);
    for _ in 0..50 {
        let random = numbers.next();
        let mut changed = image.clone();
        let at = random as usize % changed.len();
        changed[at] = (random >> 32) as u8;
        if random >> 60 == 0 {
            changed.truncate(at);
        }
        let _ = exec::shared_plan::plan_of(&changed, &lookups, &*names);
    }
    Ok(())
}

fn block(lines: &[&str], at: &mut usize, query: bool) -> String {
    let mut text = Vec::new();
    while *at < lines.len() && !lines[*at].is_empty() && !(query && lines[*at] == "----") {
        text.push(lines[*at]);
        *at += 1;
    }
    text.join("\n")
}

fn check_query(s: &mut Session<'_>, text: &str, types: &str, sort: &str, expected: &[String]) -> Result<(), String> {
    let rows = s.run(text).map_err(|e| e.to_string())?;
    let kinds: Vec<char> = types.chars().collect();
    let mut shown: Vec<Vec<String>> = Vec::new();
    for row in &rows {
        if row.len() != kinds.len() {
            return Err(format!("{} columns, expected {}", row.len(), kinds.len()));
        }
        shown.push(row.iter().zip(&kinds).map(|(v, k)| show(v, *k, s)).collect());
    }
    if sort == "rowsort" {
        shown.sort();
    }
    let mut values: Vec<String> = shown.iter().flatten().cloned().collect();
    if sort == "valuesort" {
        values.sort();
    }
    // One row a line, one value a line, or a count and a hash.
    if let [one] = expected
        && let Some((count, hash)) = one.split_once(" values hashing to ")
    {
        if count != values.len().to_string() {
            return Err(format!("{} values, expected {count}", values.len()));
        }
        let mut text = values.join("\n");
        text.push('\n');
        let is = md5_text(&text);
        return if is == hash { Ok(()) } else { Err(format!("hash {is}, expected {hash}")) };
    }
    let by_row: Vec<String> = shown.iter().map(|r| r.join(" ")).collect();
    // Without ORDER BY, partitioning on disk changes the order.
    let unordered = s.state.options.spill_bytes < ROOMY && !text.to_lowercase().contains("order by");
    let same_rows = || {
        let (mut is, mut wanted) = (by_row.clone(), expected.to_vec());
        is.sort();
        wanted.sort();
        let mut one_a_line = values.clone();
        one_a_line.sort();
        is == wanted || one_a_line == wanted
    };
    if values == expected || by_row == expected || unordered && same_rows() {
        Ok(())
    } else {
        Err(format!("got:\n{}", by_row.join("\n")))
    }
}

fn md5_text(text: &str) -> String {
    use md5::Digest;
    md5::Md5::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

fn show(v: &Value, kind: char, s: &Session<'_>) -> String {
    let nls = &s.state.nls;
    match (v, kind) {
        (Value::Null, _) => "NULL".into(),
        (Value::Number(n), 'I') => n.trunc(0).to_string(),
        (v, 'R') => match v.to_number(nls) {
            Ok(Some(n)) => format!("{:.3}", n.to_f64()),
            _ => "?".into(),
        },
        (v, _) => v.to_text(nls).expect("text").map_or("NULL".into(), |t| t.into_owned()),
    }
}

/// Memory for every work area of these files.
const ROOMY: usize = 64 << 20;

fn run_golden(name: &str, content: &str, spill_bytes: usize) {
    let (records, failures) = run_file(content, spill_bytes);
    for f in failures.iter().take(20) {
        eprintln!("{name}:{}: {}\n", f.line, f.text);
    }
    assert!(failures.is_empty(), "{name}: {} of {records} records failed", failures.len());
}

#[test]
fn golden_files() {
    if let Ok(path) = std::env::var("EXEC_GOLDEN") {
        let content = std::fs::read_to_string(&path).expect("a golden file");
        let start = std::time::Instant::now();
        let (records, failures) = run_file(&content, ROOMY);
        for f in failures.iter().take(30) {
            eprintln!("{path}:{}: {}\n", f.line, f.text);
        }
        eprintln!("{path}: {} of {records} failed, {:?}", failures.len(), start.elapsed());
        return;
    }
    for (name, content) in FILES {
        run_golden(name, content, ROOMY);
    }
}

#[test]
fn golden_files_with_hardly_any_memory() {
    for spill_bytes in [0, 700] {
        for (name, content) in FILES {
            run_golden(name, content, spill_bytes);
        }
    }
}

const FILES: &[(&str, &str)] = &[
    ("select.test", include_str!("golden/select.test")),
    ("join.test", include_str!("golden/join.test")),
    ("group.test", include_str!("golden/group.test")),
    ("subquery.test", include_str!("golden/subquery.test")),
    ("dml.test", include_str!("golden/dml.test")),
    ("hierarchy.test", include_str!("golden/hierarchy.test")),
    ("index.test", include_str!("golden/index.test")),
    ("errors.test", include_str!("golden/errors.test")),
    ("spill.test", include_str!("golden/spill.test")),
];
