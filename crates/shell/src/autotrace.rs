//! `SET AUTOTRACE`: the plan of each statement after its rows, and the session's statistics for it.
//!
//! A second session of the same user reads the statistics, so that the reading is not counted. The first session
//! explains the plan, because it has the statement's names and settings. A statistic that the server does not have is
//! left out.

use client::{Client, ClientError, Credentials};
use types::Value;

use crate::shell::Shell;
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
const STATISTICS: &[&str] = &[
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
    fn open(
        connector: &mut dyn crate::shell::Connector,
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
    fn read(&mut self) -> Result<Vec<Option<u64>>, ClientError> {
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

fn first_word(text: &str) -> String {
    split_word(text.trim_start()).0.to_ascii_lowercase()
}

/// Whether a statement is traced.
fn is_traced(text: &str) -> bool {
    ["select", "with", "insert", "update", "delete", "merge"].contains(&first_word(text).as_str())
}

const RULE: &str = "----------------------------------------------------------";

impl Shell<'_> {
    /// Puts the options of SET AUTOTRACE into force.
    pub(crate) fn set_autotrace(&mut self, wanted: Autotrace) {
        self.observer = None;
        self.settings.autotrace = wanted;
        if !wanted.statistics {
            return;
        }
        let opened = match (&self.logon, &mut self.session) {
            (Some(logon), Some(session)) => Observer::open(self.connector, logon, session).ok(),
            _ => None,
        };
        if opened.is_none() {
            self.out.line("SP2-0618: Cannot find the Session Identifier.  Check PLUSTRACE role is enabled");
            self.out.line("SP2-0611: Error enabling STATISTICS report");
            self.settings.autotrace.statistics = false;
        }
        self.observer = opened;
    }

    /// Whether a statement is explained and not run: a query under TRACEONLY without STATISTICS.
    pub(crate) fn is_only_explained(&self, text: &str) -> bool {
        let trace = self.settings.autotrace;
        trace.no_rows && !trace.statistics && ["select", "with"].contains(&first_word(text).as_str())
    }

    /// The statistics before a statement, if they will be printed after it.
    pub(crate) fn before_traced(&mut self, text: &str) -> Option<Vec<Option<u64>>> {
        if !self.settings.autotrace.statistics || !is_traced(text) {
            return None;
        }
        self.observer.as_mut().and_then(|observer| observer.read().ok())
    }

    /// Prints the plan and the figures of a statement that was executed.
    pub(crate) fn after_traced(&mut self, text: &str, before: Option<Vec<Option<u64>>>) {
        if !is_traced(text) || !self.settings.autotrace.is_on() {
            return;
        }
        // Read before the session is used for anything else.
        let after = before.as_ref().and(self.observer.as_mut()).and_then(|observer| observer.read().ok());
        if self.settings.autotrace.explain {
            self.print_plan(text);
        }
        if let (Some(before), Some(after)) = (before, after) {
            self.out.line("");
            self.out.line("");
            self.out.line("Statistics");
            self.out.line(RULE);
            for ((name, before), after) in STATISTICS.iter().zip(before).zip(after) {
                if let (Some(before), Some(after)) = (before, after) {
                    self.out.line(&format!("{:>11}  {name}", after.saturating_sub(before)));
                }
            }
            self.out.line(&format!("{:>11}  rows processed", self.last_rows));
            self.out.line("");
        }
    }

    fn print_plan(&mut self, text: &str) {
        self.out.line("");
        self.out.line("");
        self.out.line("Execution Plan");
        self.out.line(RULE);
        match self.plan_of(text) {
            Ok(lines) => lines.iter().for_each(|line| self.out.line(line)),
            Err(e) => {
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("SP2-0612: Error generating AUTOTRACE EXPLAIN report");
            }
        }
    }

    /// The lines of a statement's plan; the plan table is left as it was.
    fn plan_of(&mut self, text: &str) -> Result<Vec<String>, ClientError> {
        let Some(session) = &mut self.session else { return Ok(Vec::new()) };
        let id = format!("PLUS{}", std::process::id());
        session.execute(&format!("explain plan set statement_id = '{id}' for {text}"), &[])?;
        let query = format!("select plan_table_output from table(dbms_xplan.display('PLAN_TABLE', '{id}'))");
        let rows = session.query(&query, &[])?.all()?;
        session.execute(&format!("delete from plan_table where statement_id = '{id}'"), &[])?;
        let line = |row: &Vec<Value>| match &row[0] {
            Value::Text(line) => line.clone(),
            _ => String::new(),
        };
        Ok(rows.iter().map(line).collect())
    }
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
