//! Reads the format: https://www.sqlite.org/sqllogictest, with `statement error ORA-nnnnn`, `statement count N` and
//! `statement output`.

use std::path::Path;

/// The order of the values of an answer for the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    None,
    Rows,
    Values,
}

/// The expected outcome of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    Ok,
    /// An error, with this number if one is given.
    Error(Option<String>),
    /// Process so many rows.
    Count(u64),
    /// These lines of `dbms_output`.
    Output(Vec<String>),
}

/// The expected answer of a query: the values, or their number and the MD5 of them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Values(Vec<String>),
    Hash { count: usize, md5: String },
}

#[derive(Clone, Debug)]
pub enum Kind {
    Statement(Expect),
    Query { types: Vec<char>, sort: Sort, label: Option<String>, answer: Answer },
    Halt,
}

#[derive(Clone, Debug)]
pub struct Record {
    pub line: usize,
    /// Skipped for this database.
    pub skipped: bool,
    pub sql: String,
    pub kind: Kind,
}

/// Reads a file; `database` decides `skipif` and `onlyif`.
pub fn read(path: &Path, database: &str) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    parse(&text, database).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Parses the text of a file.
pub fn parse(text: &str, database: &str) -> Result<Vec<Record>, String> {
    let lines: Vec<&str> = text.lines().map(|l| l.trim_end_matches('\r')).collect();
    let (mut records, mut at, mut skipped) = (Vec::new(), 0, false);
    while at < lines.len() {
        let line = lines[at];
        let mut words = line.split_whitespace();
        let number = at + 1;
        at += 1;
        match words.next() {
            None => continue,
            Some(word) if word.starts_with('#') => continue,
            Some("skipif") => skipped |= words.next() == Some(database),
            Some("onlyif") => skipped |= words.next() != Some(database),
            Some("hash-threshold") => skipped = false,
            Some("halt") => {
                records.push(Record { line: number, skipped, sql: String::new(), kind: Kind::Halt });
                skipped = false;
            }
            Some("statement") => {
                let rest: Vec<&str> = words.collect();
                let mut sql = String::new();
                while at < lines.len() && !lines[at].trim().is_empty() && lines[at] != "----" {
                    push_line(&mut sql, lines[at]);
                    at += 1;
                }
                let expect = match rest.first() {
                    Some(&"ok") => Expect::Ok,
                    Some(&"error") => {
                        Expect::Error(rest.get(1).filter(|w| !w.starts_with('#')).map(|w| (*w).to_owned()))
                    }
                    Some(&"count") => Expect::Count(
                        rest.get(1)
                            .and_then(|n| n.parse().ok())
                            .ok_or_else(|| format!("line {number}: count of what?"))?,
                    ),
                    Some(&"output") => Expect::Output(answer(&lines, &mut at)),
                    _ => return Err(format!("line {number}: {line}")),
                };
                records.push(Record { line: number, skipped, sql, kind: Kind::Statement(expect) });
                skipped = false;
            }
            Some("query") => {
                let types = words.next().unwrap_or("").chars().collect();
                let sort = match words.next() {
                    Some("rowsort") => Sort::Rows,
                    Some("valuesort") => Sort::Values,
                    _ => Sort::None,
                };
                let label = words.next().filter(|w| !w.starts_with('#')).map(str::to_owned);
                let mut sql = String::new();
                while at < lines.len() && lines[at] != "----" && !lines[at].trim().is_empty() {
                    push_line(&mut sql, lines[at]);
                    at += 1;
                }
                let values = answer(&lines, &mut at);
                let answer = hash(&values).unwrap_or(Answer::Values(values));
                records.push(Record { line: number, skipped, sql, kind: Kind::Query { types, sort, label, answer } });
                skipped = false;
            }
            Some(_) => return Err(format!("line {number}: {line}")),
        }
    }
    Ok(records)
}

fn push_line(sql: &mut String, line: &str) {
    if !sql.is_empty() {
        sql.push('\n');
    }
    sql.push_str(line);
}

/// Reads the lines after `----`, up to an empty one.
fn answer(lines: &[&str], at: &mut usize) -> Vec<String> {
    let mut values = Vec::new();
    if lines.get(*at) != Some(&"----") {
        return values;
    }
    *at += 1;
    while let Some(line) = lines.get(*at).filter(|l| !l.is_empty()) {
        values.push((*line).to_owned());
        *at += 1;
    }
    values
}

/// `30 values hashing to 3c13dee48d9356ae19af2515e05e6b54`
fn hash(values: &[String]) -> Option<Answer> {
    let [line] = values else { return None };
    let (count, md5) = line.split_once(" values hashing to ")?;
    Some(Answer::Hash { count: count.parse().ok()?, md5: md5.trim().to_owned() })
}

#[test]
fn records_are_read() {
    let text = "# a comment\nstatement ok\ncreate table t (n number)\n\nskipif oracle\nstatement error\nx\n\nstatement error ORA-00942\nselect 1\nfrom x\n\n\
                onlyif sqlite\nhalt\n\nquery IT rowsort label-1\nselect a\n----\n1\nx\n\nquery I nosort\ny\n----\n30 values hashing to abc\n";
    let records = parse(text, "oracle").unwrap();
    assert_eq!(records.len(), 6);
    assert_eq!(records.iter().map(|r| r.skipped).collect::<Vec<_>>(), [false, true, false, true, false, false]);
    assert_eq!(records[2].sql, "select 1\nfrom x");
    assert!(matches!(&records[2].kind, Kind::Statement(Expect::Error(Some(code))) if code == "ORA-00942"));
    assert!(
        matches!(&records[4].kind, Kind::Query { sort: Sort::Rows, label: Some(l), answer: Answer::Values(v), .. } if l == "label-1" && v.len() == 2)
    );
    assert!(matches!(&records[5].kind, Kind::Query { answer: Answer::Hash { count: 30, .. }, .. }));
}
