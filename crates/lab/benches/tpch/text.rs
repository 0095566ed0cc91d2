//! The statements of the folder, and their spelling for each engine.

use std::path::Path;

/// A query and its number.
#[derive(Clone)]
pub struct Query {
    pub number: usize,
    pub sql: String,
}

/// The kind of values in a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Whole,
    Decimal,
    Text,
    Date,
}

pub struct Table {
    pub name: String,
    /// Name, kind, and the type as spelled in the folder.
    pub columns: Vec<(String, Kind, String)>,
    pub key: Vec<String>,
}

/// The queries, from `queries.sql`: a comment `-- Qn`, then the statement.
pub fn queries(folder: &Path) -> Vec<Query> {
    let text = std::fs::read_to_string(folder.join("queries.sql")).expect("queries.sql");
    let mut all = Vec::new();
    for part in text.split("-- Q").skip(1) {
        let (number, sql) = part.split_once('\n').expect("a statement");
        let sql = sql.trim().trim_end_matches(';').to_string();
        all.push(Query { number: number.trim().parse().expect("a number"), sql });
    }
    assert_eq!(all.len(), 22, "queries.sql has the 22 queries");
    all
}

/// The tables with their keys, from `schema.sql`.
pub fn tables(folder: &Path) -> Vec<Table> {
    let text = std::fs::read_to_string(folder.join("schema.sql")).expect("schema.sql");
    let mut all: Vec<Table> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("create table ") {
            let (name, columns) = rest.split_once(" (").expect("columns");
            let columns = columns.trim_end().trim_end_matches(");");
            let columns = columns.split(", ").map(|column| {
                let (name, kind) = column.split_once(' ').expect("a type");
                let what = match kind {
                    "number" => Kind::Whole,
                    "date" => Kind::Date,
                    number if number.starts_with("number") => Kind::Decimal,
                    _ => Kind::Text,
                };
                (name.to_string(), what, kind.to_string())
            });
            all.push(Table { name: name.to_string(), columns: columns.collect(), key: Vec::new() });
        } else if let Some(rest) = line.strip_prefix("alter table ") {
            let (name, key) = rest.split_once(" add primary key (").expect("a key");
            let key = key.trim_end().trim_end_matches(");").split(',').map(|c| c.trim().to_string()).collect();
            all.iter_mut().find(|t| t.name == name).expect("a table").key = key;
        }
    }
    assert_eq!(all.len(), 8, "schema.sql has the 8 tables");
    all
}

impl Table {
    /// `create table` with the types that `of` returns; `more` follows the columns.
    pub fn create(&self, of: impl Fn(Kind, &str) -> String, more: &str) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|(name, kind, t)| format!("{name} {}", of(*kind, t))).collect();
        format!("create table {} ({}{more})", self.name, columns.join(", "))
    }

    pub fn add_key(&self) -> String {
        format!("alter table {} add primary key ({})", self.name, self.key.join(", "))
    }
}

/// The query in SQLite's dialect: dates are texts, years are extracted as substrings, `limit` ends a result.
pub fn for_sqlite(sql: &str) -> String {
    let mut sql = sql.replace("date '", "'");
    while let Some(at) = sql.find("extract(year from ") {
        let end = at + sql[at..].find(')').expect("closed");
        let column = sql[at + "extract(year from ".len()..end].to_string();
        sql.replace_range(at..=end, &format!("cast(strftime('%Y', {column}) as integer)"));
    }
    if let Some(at) = sql.find(" fetch first ") {
        let rest = sql[at + " fetch first ".len()..].to_string();
        let rows = rest.split(' ').next().expect("a number").to_string();
        sql.replace_range(at.., &format!(" limit {rows}"));
    }
    sql
}
