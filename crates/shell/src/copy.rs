//! `COPY`: the rows of a query into a table of another database.

use crate::logon::{Connector, Logon, parse_logon};
use crate::shell::Shell;
use crate::titles::abbreviates;
use client::{ArrayOptions, Bind, Client, ClientError, Column};
use std::cmp::Ordering;
use types::{DataType, Value};

const USAGE: &str = "usage: COPY FROM <db> TO <db> <opt> <table> { (<cols>) } USING <sel>\n  \
                     <db>   : database string, e.g., hr/your_password@d:chicago-mktg\n  \
                     <opt>  : ONE of the keywords: APPEND, CREATE, INSERT or REPLACE\n  \
                     <table>: name of the destination table\n  \
                     <cols> : a comma-separated list of destination column aliases\n  \
                     <sel>  : any valid SQL SELECT statement\n\
                     A missing FROM or TO clause uses the current SQL*Plus connection.";

/// The treatment of the destination table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Rows are added; the table is made if it is missing.
    Append,
    /// The table is new.
    Create,
    /// Rows are added to a table that is there.
    Insert,
    /// A table that is there is dropped.
    Replace,
}

/// A parsed command.
#[derive(Debug, PartialEq, Eq)]
struct Copy {
    from: Option<String>,
    to: Option<String>,
    way: Way,
    table: String,
    columns: Vec<String>,
    query: String,
}

/// The rows copied so far.
#[derive(Default)]
struct Counts {
    selected: u64,
    committed: u64,
}

impl Shell<'_> {
    pub(crate) fn copy(&mut self, rest: &str) {
        let Some(copy) = parse_copy(rest) else {
            self.out.line(USAGE);
            return;
        };
        if (copy.from.is_none() || copy.to.is_none()) && self.session.is_none() {
            self.out.line("SP2-0640: Not connected");
            return;
        }
        let mut opened = Vec::new();
        for text in [&copy.from, &copy.to].into_iter().flatten() {
            match parse_logon(text) {
                Ok(logon) => opened.push(self.with_password(logon)),
                Err(message) => {
                    self.out.line(&message);
                    return;
                }
            }
        }
        self.out.line("");
        let (array, long) = (self.settings.arraysize, self.settings.long);
        let commit = self.settings.copycommit;
        self.out.line(&format!("Array fetch/bind size is {array}. (arraysize is {array})"));
        self.out.line(&match commit {
            0 => "Will commit when done. (copycommit is 0)".to_string(),
            n => format!("Will commit after every {n} array binds. (copycommit is {n})"),
        });
        self.out.line(&format!("Maximum long size is {long}. (long is {long})"));
        let mut counts = Counts::default();
        let done = self.run_copy(&copy, opened, &mut counts);
        if let Err(e) = done {
            self.last_code = i64::from(e.code());
            self.out.line("");
            self.out.line("ERROR:");
            self.out.line(&e.to_string());
            self.out.line("");
            let rule = self.on_sql_error.clone();
            self.apply(&rule);
        }
    }

    fn run_copy(&mut self, copy: &Copy, opened: Vec<Logon>, counts: &mut Counts) -> Result<(), ClientError> {
        let mut opened = opened.into_iter();
        let mut open = |asked: &Option<String>, connector: &mut dyn Connector| {
            let Some(logon) = asked.as_ref().and_then(|_| opened.next()) else { return Ok(None) };
            connector.connect(&logon.credentials, logon.place.as_deref()).map(Some)
        };
        let source = open(&copy.from, self.connector)?;
        let target = open(&copy.to, self.connector)?;
        let name = |asked: &Option<String>| match asked {
            Some(text) => {
                text.split('/').next().unwrap_or("").to_string()
                    + &text.rfind('@').map_or(String::new(), |at| text[at..].to_string())
            }
            None => "DEFAULT HOST connection".into(),
        };
        let (from, to) = (name(&copy.from), name(&copy.to));
        // The current session stands for the side that is not named; one that serves both is opened once more.
        let mut current = self.session.take();
        let breaker = self.breaker();
        let before = breaker.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let result = match (source, target) {
            (Some(mut source), Some(mut target)) => self.transfer(copy, &mut source, &mut target, &from, &to, counts),
            (Some(mut source), None) => match &mut current {
                Some(target) => self.transfer(copy, &mut source, target, &from, &to, counts),
                None => Ok(()),
            },
            (None, Some(mut target)) => match &mut current {
                Some(source) => self.transfer(copy, source, &mut target, &from, &to, counts),
                None => Ok(()),
            },
            (None, None) => Ok(()),
        };
        self.session = current;
        *breaker.lock().unwrap_or_else(|e| e.into_inner()) = before;
        result
    }

    fn transfer(
        &mut self,
        copy: &Copy,
        source: &mut Client,
        target: &mut Client,
        from: &str,
        to: &str,
        counts: &mut Counts,
    ) -> Result<(), ClientError> {
        let array = self.settings.arraysize.max(1);
        // Ctrl-C breaks the query: the copy ends with its error.
        *self.breaker().lock().unwrap_or_else(|e| e.into_inner()) = Some(source.break_handle());
        let first = source.execute_prefetch(&copy.query, &[], array)?;
        let mut columns: Vec<Column> = first.columns.clone();
        if !copy.columns.is_empty() {
            if copy.columns.len() != columns.len() {
                self.out.line("");
                self.out.line("CPY-0005: Source and destination column attributes don't match");
                return Ok(());
            }
            for (column, name) in columns.iter_mut().zip(&copy.columns) {
                column.name = name.to_uppercase();
            }
        }
        if let Some(message) = self.prepare(copy, target, &columns)? {
            self.out.line("");
            self.out.line(message);
            return Ok(());
        }
        let marks: Vec<String> = (1..=columns.len()).map(|n| format!(":{n}")).collect();
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        let insert = format!("insert into {} ({}) values ({})", copy.table, names.join(", "), marks.join(", "));
        let binds: Vec<Bind> = columns.iter().map(|column| Bind::input(bound_as(column), Value::Null)).collect();
        let (mut rows, mut more) = (first.rows, first.done.more);
        let (mut batches, mut pending) = (0u64, 0u64);
        let every = self.settings.copycommit;
        let moved: Result<(), ClientError> = loop {
            if !rows.is_empty() {
                counts.selected += rows.len() as u64;
                pending += rows.len() as u64;
                if let Err(e) = target.execute_many(&insert, &binds, rows.iter(), ArrayOptions::default()) {
                    break Err(e.error);
                }
                batches += 1;
                if every > 0 && batches % every == 0 {
                    target.commit()?;
                    counts.committed += std::mem::take(&mut pending);
                }
            }
            if !more {
                break Ok(());
            }
            match source.fetch(first.cursor, array) {
                Ok(outcome) => (rows, more) = (outcome.rows, outcome.done.more),
                Err(e) => break Err(e),
            }
        };
        if let Err(e) = moved {
            // Rows that are not committed yet are rolled back.
            let _ = target.rollback();
            self.tell_copied(copy, from, to, counts);
            return Err(e);
        }
        target.commit()?;
        counts.committed += pending;
        self.tell_copied(copy, from, to, counts);
        Ok(())
    }

    fn tell_copied(&mut self, copy: &Copy, from: &str, to: &str, counts: &Counts) {
        let table = copy.table.to_uppercase();
        self.out.line("");
        self.out.line(&format!("{:>4} rows selected from {from}.", counts.selected));
        self.out.line(&format!("{:>4} rows inserted into {table}.", counts.committed));
        self.out.line(&format!("{:>4} rows committed into {table} at {to}.", counts.committed));
        self.out.line("");
    }

    /// Makes the table as the command says. Returns the message for columns that do not fit a table that is there.
    fn prepare(
        &mut self,
        copy: &Copy,
        target: &mut Client,
        columns: &[Column],
    ) -> Result<Option<&'static str>, ClientError> {
        let there = match target.describe(&format!("select * from {}", copy.table)) {
            Ok(known) => Some(known.len()),
            Err(e) if e.code() == 942 => None,
            Err(e) => return Err(e),
        };
        match (copy.way, there) {
            (Way::Insert, None) => return Ok(None),
            (Way::Insert | Way::Append, Some(known)) => {
                return Ok(match (columns.len().cmp(&known), copy.columns.is_empty()) {
                    (Ordering::Equal, _) => None,
                    (Ordering::Greater, true) => Some("CPY-0006: Select list has more columns than destination table"),
                    (Ordering::Less, true) => Some("CPY-0007: Select list has fewer columns than destination table"),
                    (Ordering::Greater, false) => {
                        Some("CPY-0008: More column list names than columns in the destination table")
                    }
                    (Ordering::Less, false) => {
                        Some("CPY-0009: Fewer column list names than columns in the destination table")
                    }
                });
            }
            (Way::Replace, Some(_)) => {
                target.execute(&format!("drop table {}", copy.table), &[])?;
                self.out.line(&format!("Table {} dropped.", copy.table.to_uppercase()));
                self.out.line("");
            }
            _ => {}
        }
        let definitions: Vec<String> = columns
            .iter()
            .map(|column| {
                let null = if column.nullable { "" } else { " not null" };
                format!("{} {}{null}", quoted(&column.name), column.data_type)
            })
            .collect();
        target.execute(&format!("create table {} ({})", copy.table, definitions.join(", ")), &[])?;
        self.out.line(&format!("Table {} created.", copy.table.to_uppercase()));
        Ok(None)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', ""))
}

/// The type by which a column's values are bound.
fn bound_as(column: &Column) -> DataType {
    match column.data_type {
        DataType::Char { len, unit } => DataType::Varchar2 { len, unit },
        other => other,
    }
}

/// The next word, which ends at a blank or before a parenthesis, and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

fn parse_copy(text: &str) -> Option<Copy> {
    let (mut from, mut to) = (None, None);
    let mut rest = text.trim().trim_end_matches(';');
    loop {
        let (keyword, tail) = word(rest);
        let side = match keyword.to_ascii_lowercase().as_str() {
            "from" => &mut from,
            "to" => &mut to,
            _ => break,
        };
        let (database, tail) = crate::text::split_word(tail);
        if database.is_empty() || side.is_some() {
            return None;
        }
        *side = Some(database.to_string());
        rest = tail;
    }
    let (way, tail) = word(rest);
    let way = match () {
        () if abbreviates(way, "append", 3) => Way::Append,
        () if abbreviates(way, "create", 3) => Way::Create,
        () if abbreviates(way, "insert", 3) => Way::Insert,
        () if abbreviates(way, "replace", 3) => Way::Replace,
        () => return None,
    };
    let (table, mut rest) = word(tail);
    let mut columns = Vec::new();
    if let Some(list) = rest.strip_prefix('(') {
        let (list, tail) = list.split_once(')')?;
        columns = list.split(',').map(|name| name.trim().to_string()).collect();
        rest = tail;
    }
    let (using, query) = word(rest);
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$#.\"".contains(c));
    let whole = (from.is_some() || to.is_some()) && plain(table) && columns.iter().all(|name| plain(name));
    let query = query.trim().to_string();
    // Another statement than a query would change the source.
    let first = word(query.trim_start_matches(|c: char| c == '(' || c.is_whitespace())).0;
    let queries = ["select", "with"].iter().any(|keyword| first.eq_ignore_ascii_case(keyword));
    if !whole || !using.eq_ignore_ascii_case("using") || !queries {
        return None;
    }
    Some(Copy { from, to, way, table: table.to_string(), columns, query })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_copy() {
        let copy = parse_copy("from a/b@c to d/e create t (x, y) using select 1, 2 from dual;").unwrap();
        assert_eq!((copy.from.as_deref(), copy.to.as_deref(), copy.way), (Some("a/b@c"), Some("d/e"), Way::Create));
        assert_eq!((copy.table.as_str(), copy.query.as_str()), ("t", "select 1, 2 from dual"));
        assert_eq!(copy.columns, ["x", "y"]);
        for text in [
            "",
            "create t using select 1 from dual",
            "from a/b t using select 1 from dual",
            "from a/b insert t select 1 from dual",
            "from a/b insert t using",
            "from a/b insert t using delete from s",
            "from a/b insert t using (update s set x = 1)",
            "from a/b insert t (x using select 1 from dual",
            "from a/b insert t;x using select 1 from dual",
        ] {
            assert_eq!(parse_copy(text), None, "{text}");
        }
    }
}
