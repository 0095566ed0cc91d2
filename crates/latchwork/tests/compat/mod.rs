//! Compares COMPAT.md with the program.
//!
//! The rows of its tables about the language have examples in `examples.slt`: a line `# section: …` names the heading,
//! a line `# row: …` the beginning of a row's first column, and the records up to the next such line are run. A row
//! with the status "no" has a record that fails with each of the errors that it names, and no other record.

use crate::slt::records::{self, Expect, Kind, Record};
use crate::slt::run::Run;
use client::Credentials;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The sections whose rows all have examples.
const SECTIONS: [&str; 5] = ["Queries", "Changing rows", "Types", "Functions", "PL/SQL"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A row of a table: section, subject and status.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    section: String,
    subject: String,
    status: String,
}

/// Splits a line of a table at its bars; an escaped bar is text.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{1}");
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The rows of all tables. A table's first two lines are its head.
fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut section, mut at) = (Vec::new(), String::new(), 0);
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim().to_owned();
        }
        at = if line.starts_with('|') { at + 1 } else { 0 };
        if at > 2
            && let [subject, status] = &cells(line)[..]
        {
            rows.push(Row { section: section.clone(), subject: subject.clone(), status: status.clone() });
        }
    }
    rows
}

/// The examples: the section and the beginning of the row, with their records.
fn examples(text: &str) -> Vec<(String, String, Vec<Record>)> {
    let (mut found, mut section): (Vec<(String, String, String)>, String) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("# section: ") {
            section = heading.to_owned();
        } else if let Some(row) = line.strip_prefix("# row: ") {
            found.push((section.clone(), row.to_owned(), String::new()));
        } else if let Some((_, _, records)) = found.last_mut() {
            records.push_str(line);
            records.push('\n');
        }
    }
    let parse = |(section, row, text): (String, String, String)| {
        let records = records::parse(&text, "oracle").unwrap_or_else(|e| panic!("{section}, {row}: {e}"));
        (section, row, records)
    };
    found.into_iter().map(parse).collect()
}

/// The errors named in a status.
fn errors(status: &str) -> Vec<String> {
    let is_number = |word: &&str| word.len() == 9 && word[4..].bytes().all(|b| b.is_ascii_digit());
    let words = status.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|w| w.starts_with("ORA-") || w.starts_with("PLS-")).filter(is_number).map(str::to_owned).collect()
}

/// The faults of the examples of a row.
fn faults_of(row: &Row, records: &[Record]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: String| faults.push(format!("{}, {}: {what}", row.section, row.subject));
    if records.is_empty() {
        fault("has no example".into());
    }
    if row.status.starts_with("no:") {
        let raised: Vec<&str> = records
            .iter()
            .filter_map(|record| match &record.kind {
                Kind::Statement(Expect::Error(Some(number))) => Some(number.as_str()),
                Kind::Statement(_) | Kind::Query { .. } | Kind::Halt => None,
            })
            .collect();
        for number in errors(&row.status).iter().filter(|number| number.starts_with("ORA-")) {
            if !raised.contains(&number.as_str()) {
                fault(format!("no example raises {number}"));
            }
        }
        for number in raised.iter().filter(|number| !row.status.contains(**number) && !row.status.contains("PLS-")) {
            fault(format!("the row does not name {number}"));
        }
    }
    faults
}

#[test]
fn rows_have_examples_that_do_what_they_say() {
    let compat = std::fs::read_to_string(root().join("COMPAT.md")).expect("COMPAT.md");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/examples.slt");
    let examples = examples(&std::fs::read_to_string(path).expect("the examples"));
    let rows = rows(&compat);
    let (mut faults, mut of_rows) = (Vec::new(), BTreeMap::<usize, Vec<Record>>::new());
    let instance = crate::instance();
    let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    for sql in [
        "create user examples identified by examples default tablespace users quota unlimited on users",
        "grant connect, resource, create view, create synonym, select_catalog_role to examples",
    ] {
        admin.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let mut client = instance.connect(&Credentials::password("examples", "examples")).expect("the user connects");
    client.set_want_output(true);
    client.execute("begin dbms_output.enable(null); end;", &[]).expect("output is kept");
    for (section, begins, records) in examples {
        let found: Vec<usize> =
            (0..rows.len()).filter(|n| rows[*n].section == section && rows[*n].subject.starts_with(&begins)).collect();
        let [row] = found[..] else {
            faults.push(format!("{section}: {} rows begin with \"{begins}\"", found.len()));
            continue;
        };
        let account = Run::new(&mut client, &format!("{section}, {begins}"), false).records(&records);
        faults.extend(account.failures);
        of_rows.entry(row).or_default().extend(records);
    }
    for (n, row) in rows.iter().enumerate().filter(|(_, row)| SECTIONS.contains(&row.section.as_str())) {
        faults.extend(faults_of(row, of_rows.get(&n).map_or(&[][..], Vec::as_slice)));
    }
    assert!(of_rows.len() > 85, "{} rows have examples", of_rows.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn parameters_without_effect_are_listed() {
    let compat = std::fs::read_to_string(root().join("COMPAT.md")).expect("COMPAT.md");
    let listed = rows(&compat).into_iter().find(|row| row.subject.contains("params::WITHOUT_EFFECT"));
    let listed = listed.expect("the row of parameters without effect").status;
    let mut names: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    names.sort_unstable();
    let mut wanted: Vec<&str> = params::WITHOUT_EFFECT.iter().map(|param| param.name()).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
}

#[test]
fn a_row_that_says_no_needs_the_errors_it_names() {
    let text = "## A\n| x | y |\n|---|---|\n| b \\| c | no: ORA-00904, PLS-00103 |\n";
    let rows = rows(text);
    let row = Row { section: "A".into(), subject: "b | c".into(), status: "no: ORA-00904, PLS-00103".into() };
    assert_eq!(rows, std::slice::from_ref(&row));
    let of = |text: &str| examples(&format!("# section: A\n# row: b\n{text}")).remove(0).2;
    assert_eq!(faults_of(&row, &of("statement error ORA-00904\nselect x\n")), Vec::<String>::new());
    assert_eq!(faults_of(&row, &of("statement ok\nselect x\n")), ["A, b | c: no example raises ORA-00904"]);
    let missing = ["A, b | c: has no example", "A, b | c: no example raises ORA-00904"];
    assert_eq!(faults_of(&row, &[]), missing);
    let row = Row { status: "no: ORA-00904".into(), ..row };
    let other = of("statement error ORA-00904\nselect x\n\nstatement error ORA-00900\nx\n");
    assert_eq!(faults_of(&row, &other), ["A, b | c: the row does not name ORA-00900"]);
}
