//! Runs the records of a file in one session and counts the outcomes.

use super::dialect::{self, Foreign};
use super::records::{Answer, Expect, Kind, Record, Sort};
use client::{Client, ClientError};
use md5::{Digest, Md5};
use std::collections::{BTreeMap, HashMap};
use types::{Nls, Number, Value};

/// The outcomes of the records of one file, or of many.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Records in Oracle's SQL, and how many of them gave the file's answer.
    pub legal: usize,
    pub passed: usize,
    /// Records in other dialects, how many were refused with Oracle's error, and the rules.
    pub foreign: usize,
    pub refused: usize,
    pub rules: BTreeMap<&'static str, usize>,
    /// Translated records, and how many of them then gave the file's answer.
    pub translated: usize,
    pub answered: usize,
    /// Records with a division that agree only when it is truncated to whole numbers, as in other dialects.
    pub divided: usize,
    /// Skipped by `skipif`, `onlyif` and `halt`.
    pub skipped: usize,
    pub failures: Vec<String>,
}

impl Account {
    pub fn add(&mut self, other: Account) {
        self.legal += other.legal;
        self.passed += other.passed;
        self.foreign += other.foreign;
        self.refused += other.refused;
        self.translated += other.translated;
        self.answered += other.answered;
        self.divided += other.divided;
        self.skipped += other.skipped;
        for (rule, n) in other.rules {
            *self.rules.entry(rule).or_default() += n;
        }
        self.failures.extend(other.failures);
    }

    /// Returns whether nothing failed.
    pub fn is_clean(&self) -> bool {
        self.legal == self.passed && self.foreign == self.refused && self.translated == self.answered
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} records in Oracle's language", self.passed, self.legal)?;
        if self.divided > 0 {
            write!(f, " ({} of them with {})", self.divided, dialect::INTEGER_DIVISION)?;
        }
        if self.foreign > 0 {
            write!(f, "; {} of {} others refused as Oracle does", self.refused, self.foreign)?;
            write!(f, ", {} of {} answered in Oracle's words", self.answered, self.translated)?;
        }
        if self.skipped > 0 {
            write!(f, "; {} left out by the file", self.skipped)?;
        }
        Ok(())
    }
}

/// Number of failures that are printed in full; the rest are only counted.
const TOLD: usize = 20;
/// Values of an answer that a message shows.
const SHOWN: usize = 12;

/// The run of a file: the session, and state for later records.
pub struct Run<'a> {
    client: &'a mut Client,
    name: String,
    nls: Nls,
    labels: HashMap<String, String>,
    float_columns: Vec<String>,
    /// Objects that refused CREATE statements of other dialects would have made.
    missing: Vec<String>,
    /// Whether other dialects are recognised: not in this project's own files.
    dialects: bool,
    /// Views that were created.
    views: Vec<String>,
    account: Account,
}

/// Rows of values, as text by the file's types.
struct Rows {
    values: Vec<Vec<Value>>,
    processed: u64,
    output: Vec<String>,
    warning: Option<u32>,
}

impl<'a> Run<'a> {
    pub fn new(client: &'a mut Client, name: &str, dialects: bool) -> Run<'a> {
        Run {
            client,
            name: name.to_owned(),
            nls: Nls::default(),
            labels: HashMap::new(),
            float_columns: Vec::new(),
            missing: Vec::new(),
            dialects,
            views: Vec::new(),
            account: Account::default(),
        }
    }

    /// Runs all records, up to a `halt`.
    pub fn records(mut self, records: &[Record]) -> Account {
        for (i, record) in records.iter().enumerate() {
            if record.skipped {
                self.account.skipped += 1;
                continue;
            }
            if let Kind::Halt = record.kind {
                self.account.skipped += records.len() - i - 1;
                break;
            }
            self.record(record);
            if self.client.is_closed() {
                self.fail(record, "the session is gone; the rest of the file was not run".into());
                self.account.legal += records.len() - i - 1;
                break;
            }
        }
        self.account
    }

    fn fail(&mut self, record: &Record, why: String) {
        if self.account.failures.len() < TOLD {
            let sql: String = record.sql.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
            self.account.failures.push(format!("{}:{}: {why}\n    {sql}", self.name, record.line));
        }
    }

    fn record(&mut self, record: &Record) {
        let sql = strip(&record.sql);
        self.float_columns.extend(dialect::float_columns(sql));
        let foreign =
            self.dialects.then(|| dialect::classify(sql).or_else(|| dialect::on_missing(sql, &self.missing))).flatten();
        match foreign {
            Some(foreign) => self.foreign(record, sql, foreign),
            None => {
                self.account.legal += 1;
                self.views.extend(dialect::created_view(sql));
                match self.check_here(record, sql) {
                    Ok(()) => self.account.passed += 1,
                    Err(why) => self.divided(record, sql, why),
                }
            }
        }
    }

    /// As [`Run::check`]. In Oracle rows can be changed through a view of one table, where a file of other dialects
    /// expects an error.
    fn check_here(&mut self, record: &Record, sql: &str) -> Result<(), String> {
        let is_view = |name: String| self.views.contains(&name);
        let refused_elsewhere = matches!(record.kind, Kind::Statement(Expect::Error(None)));
        if self.dialects && refused_elsewhere && dialect::changed(sql).is_some_and(is_view) {
            return self.execute(sql).map(drop).map_err(|e| e.to_string());
        }
        self.check(record, sql)
    }

    /// A failing record may assume integer division: its answer must then agree with that, and Oracle must have
    /// answered.
    fn divided(&mut self, record: &Record, sql: &str, why: String) {
        if self.dialects
            && let Some(cut) = dialect::cut_divisions(sql, &self.float_columns)
            && self.execute(sql).is_ok()
            && self.check(record, &cut).is_ok()
        {
            self.account.divided += 1;
            self.account.passed += 1;
        } else {
            self.fail(record, why);
        }
    }

    fn foreign(&mut self, record: &Record, sql: &str, foreign: Foreign) {
        self.account.foreign += 1;
        *self.account.rules.entry(foreign.rule).or_default() += 1;
        match self.execute(sql) {
            Err(e) if foreign.errors.contains(&e.code()) => {
                self.account.refused += 1;
                if foreign.oracle.is_none() {
                    self.missing.extend(dialect::created(sql));
                }
            }
            // A trigger whose body does not compile is created, with a warning.
            Ok(rows) if rows.warning.is_some_and(|code| foreign.errors.contains(&code)) => self.account.refused += 1,
            Err(e) => self.fail(record, format!("{}: ORA-{:05} expected, got {e}", foreign.rule, foreign.errors[0])),
            Ok(_) => {
                self.fail(record, format!("{}: ORA-{:05} expected, but it was done", foreign.rule, foreign.errors[0]))
            }
        }
        let Some(oracle) = foreign.oracle else { return };
        self.account.translated += 1;
        match self.check(record, &oracle) {
            Ok(()) => self.account.answered += 1,
            // IF EXISTS is honoured when there is nothing to drop.
            Err(why) if foreign.rule == dialect::IF_EXISTS && why.starts_with("ORA-00942") => {
                self.account.answered += 1
            }
            Err(why) => self.fail(record, format!("{}, in Oracle's words: {why}", foreign.rule)),
        }
    }

    fn execute(&mut self, sql: &str) -> Result<Rows, ClientError> {
        let outcome = self.client.execute_prefetch(sql, &[], 1000)?;
        let mut values = outcome.rows;
        let (mut more, cursor) = (outcome.done.more, outcome.cursor);
        while more {
            let next = self.client.fetch(cursor, 1000)?;
            more = next.done.more;
            values.extend(next.rows);
        }
        let output = outcome.output.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Rows { values, processed: outcome.done.rows, output, warning: outcome.done.warning.map(|w| w.code) })
    }

    /// Runs one statement and compares.
    fn check(&mut self, record: &Record, sql: &str) -> Result<(), String> {
        match (&record.kind, self.execute(sql)) {
            (Kind::Statement(Expect::Error(None)), Err(_)) => Ok(()),
            (Kind::Statement(Expect::Error(Some(code))), Err(e)) => {
                let text = e.to_string();
                let found =
                    text.lines().any(|line| line.starts_with(code.as_str())) || text.contains(&format!("{code}:"));
                if found { Ok(()) } else { Err(format!("{code} expected, got {text}")) }
            }
            (Kind::Statement(Expect::Error(code)), Ok(_)) => {
                Err(format!("{} expected, but it was done", code.as_deref().unwrap_or("an error")))
            }
            (_, Err(e)) => Err(e.to_string()),
            (Kind::Statement(Expect::Ok), Ok(_)) | (Kind::Halt, _) => Ok(()),
            (Kind::Statement(Expect::Count(n)), Ok(rows)) => {
                if rows.processed == *n {
                    Ok(())
                } else {
                    Err(format!("{n} rows expected, got {}", rows.processed))
                }
            }
            (Kind::Statement(Expect::Output(lines)), Ok(rows)) => compare(&rows.output, lines),
            (Kind::Query { types, sort, label, answer }, Ok(rows)) => {
                self.compare_rows(rows, types, *sort, label.as_deref(), answer)
            }
        }
    }

    fn compare_rows(
        &mut self,
        rows: Rows,
        types: &[char],
        sort: Sort,
        label: Option<&str>,
        answer: &Answer,
    ) -> Result<(), String> {
        if let Some(row) = rows.values.first()
            && row.len() != types.len()
        {
            return Err(format!("{} columns expected, got {}", types.len(), row.len()));
        }
        let mut shown: Vec<Vec<String>> =
            rows.values.iter().map(|row| row.iter().zip(types).map(|(v, t)| self.show(v, *t)).collect()).collect();
        if sort == Sort::Rows {
            shown.sort();
        }
        let mut values: Vec<String> = shown.into_iter().flatten().collect();
        if sort == Sort::Values {
            values.sort();
        }
        if let Some(label) = label {
            let sum = sum(&values);
            let first = self.labels.entry(label.to_owned()).or_insert_with(|| sum.clone());
            if *first != sum {
                return Err(format!("another answer than the first {label}"));
            }
        }
        match answer {
            Answer::Values(expected) => compare(&values, expected),
            Answer::Hash { count, md5 } => {
                if *count == values.len() && *md5 == sum(&values) {
                    Ok(())
                } else {
                    let head: Vec<&str> = values.iter().take(8).map(String::as_str).collect();
                    Err(format!("{count} values with another sum expected, got {} ({})", values.len(), head.join(" ")))
                }
            }
        }
    }

    /// A value by its type letter: I as a whole number, R with three decimals, T as text.
    fn show(&self, value: &Value, letter: char) -> String {
        let number = || value.to_number(&self.nls).ok().flatten().unwrap_or(Number::ZERO);
        match (value, letter) {
            (Value::Null, _) => "NULL".into(),
            (_, 'I') => number().trunc(0).to_string(),
            (_, 'R') => format!("{:.3}", number().to_f64()),
            (Value::Boolean(b), _) => b.to_string(),
            _ => {
                let text = value.to_text(&self.nls).ok().flatten().unwrap_or_default().into_owned();
                text.chars().map(|c| if c.is_control() { '@' } else { c }).collect()
            }
        }
    }
}

/// A statement ends without a semicolon, but a block of PL/SQL ends with one.
fn strip(sql: &str) -> &str {
    let trimmed = sql.trim_end();
    let trimmed = trimmed.strip_suffix("\n/").map_or(trimmed, str::trim_end);
    let upper = trimmed.trim_start().to_ascii_uppercase();
    let words: Vec<&str> = upper.split_whitespace().take(6).collect();
    let unit = |w: &str| ["PROCEDURE", "FUNCTION", "PACKAGE", "TRIGGER", "TYPE"].contains(&w);
    let block = matches!(words.first(), Some(&("BEGIN" | "DECLARE" | "CALL")))
        || upper.starts_with("<<")
        || (words.first() == Some(&"CREATE") && words.iter().any(|w| unit(w)));
    if block { trimmed } else { trimmed.strip_suffix(';').unwrap_or(trimmed).trim_end() }
}

fn sum(values: &[String]) -> String {
    let mut md5 = Md5::new();
    for value in values {
        md5.update(value.as_bytes());
        md5.update(b"\n");
    }
    md5.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn compare(got: &[String], expected: &[String]) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    let list = |values: &[String]| {
        let shown = values.iter().take(SHOWN).map(|v| format!("[{v}]")).collect::<Vec<_>>().join(" ");
        let rest = values.len().saturating_sub(SHOWN);
        if rest == 0 { shown } else { format!("{shown} and {rest} more") }
    };
    Err(format!("{} expected, got {}", list(expected), list(got)))
}
