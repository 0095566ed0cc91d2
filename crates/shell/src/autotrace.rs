//! `SET AUTOTRACE`: the plan of each statement after its rows, and the session's statistics for it.
//!
//! A second session of the same user reads the statistics, so that the reading is not counted. The first session
//! explains the plan, because it has the statement's names and settings. A statistic that the server does not have is
//! left out.

use crate::logon::Connector;
use client::{Client, ClientError, Credentials};
use types::Value;

use crate::text::split_word;

/// The requested parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Autotrace {
    pub explain: bool,
    pub statistics: bool,
    /// TRACEONLY: rows are fetched but not printed.
    pub no_rows: bool,
}

impl Autotrace {
    /// Parses the words after SET AUTOTRACE; also returns the number of words used.
    pub fn parse(words: &[String]) -> Option<(Autotrace, usize)> {
        let is = |word: &str, full: &str, least: usize| word.len() >= least && full.starts_with(word);
        let first = words.first()?.to_ascii_lowercase();
        let mut out = Autotrace::default();
        match first.as_str() {
            "off" => return Some((out, 1)),
            "on" => {}
            word if is(word, "traceonly", 5) => out.no_rows = true,
            _ => return None,
        }
        let mut taken = 1;
        for word in &words[1..] {
            match word.to_ascii_lowercase().as_str() {
                word if is(word, "explain", 3) => out.explain = true,
                word if is(word, "statistics", 4) => out.statistics = true,
                _ => break,
            }
            taken += 1;
        }
        if taken == 1 {
            (out.explain, out.statistics) = (true, true);
        }
        Some((out, taken))
    }

    pub fn is_on(self) -> bool {
        self.explain || self.statistics
    }

    /// The output of SHOW AUTOTRACE.
    pub fn show(self) -> String {
        if !self.is_on() {
            return "autotrace OFF".into();
        }
        let parts = [(self.explain, " EXPLAIN"), (self.statistics, " STATISTICS")];
        let parts: String = parts.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        format!("autotrace {}{parts}", if self.no_rows { "TRACEONLY" } else { "ON" })
    }
}

/// The second session, which reads the statistics.
pub(crate) struct Observer {
    session: Client,
    sid: String,
}

/// The statistics in the order of printing. Bytes and round trips of SQL*Net are left out: sessions are local.
pub(crate) const STATISTICS: &[&str] = &[
    "recursive calls",
    "db block gets",
    "consistent gets",
    "physical reads",
    "redo size",
    "sorts (memory)",
    "sorts (disk)",
];

impl Observer {
    /// Opens the second session.
    pub(crate) fn open(
        connector: &mut dyn Connector,
        (credentials, place): &(Credentials, Option<String>),
        watched: &mut Client,
    ) -> Result<Observer, ClientError> {
        let rows = watched.query("select to_char(sys_context('userenv', 'sid')) from dual", &[])?.all()?;
        let sid = match rows.first().and_then(|row| row.first()) {
            Some(Value::Text(sid)) => sid.clone(),
            _ => return Err(ClientError::NotRunning("no session identifier".into())),
        };
        let mut observer = Observer { session: connector.connect(credentials, place.as_deref())?, sid };
        observer.read()?;
        Ok(observer)
    }

    /// The present statistics, by index in [`STATISTICS`]; `None` for those that do not exist.
    pub(crate) fn read(&mut self) -> Result<Vec<Option<u64>>, ClientError> {
        let names: Vec<String> = STATISTICS.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!(
            "select n.name, s.value from v$sesstat s, v$statname n where s.statistic# = n.statistic# and s.sid = {} \
             and n.name in ({})",
            self.sid,
            names.join(", ")
        );
        let rows = self.session.query(&sql, &[])?.all()?;
        let figure = |wanted: &&str| {
            let row = rows.iter().find(|row| matches!(&row[0], Value::Text(name) if name == wanted))?;
            match &row[1] {
                Value::Number(n) => n.as_i64().and_then(|n| u64::try_from(n).ok()),
                _ => None,
            }
        };
        Ok(STATISTICS.iter().map(figure).collect())
    }
}

pub(crate) fn first_word(text: &str) -> String {
    split_word(text.trim_start()).0.to_ascii_lowercase()
}

/// Whether a statement is traced.
pub(crate) fn is_traced(text: &str) -> bool {
    ["select", "with", "insert", "update", "delete", "merge"].contains(&first_word(text).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, usize)> {
        let words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        Autotrace::parse(&words).map(|(trace, taken)| (trace.show(), taken))
    }

    #[test]
    fn options_are_parsed_with_their_abbreviations() {
        for (text, shown, taken) in [
            ("off", "autotrace OFF", 1),
            ("ON", "autotrace ON EXPLAIN STATISTICS", 1),
            ("on exp", "autotrace ON EXPLAIN", 2),
            ("trace stat timing on", "autotrace TRACEONLY STATISTICS", 2),
            ("TRACEONLY explain statistics", "autotrace TRACEONLY EXPLAIN STATISTICS", 3),
        ] {
            assert_eq!(parse(text), Some((shown.to_string(), taken)), "{text}");
        }
        assert_eq!(parse("sometimes"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn queries_and_changes_are_traced() {
        assert!(
            is_traced("select 1 from dual")
                && is_traced("  MERGE into t")
                && is_traced("with x as (select 1 from dual) select")
        );
        assert!(!is_traced("begin null; end;") && !is_traced("create table t (n number)") && !is_traced(""));
    }
}
