//! A traced statement: its plan, and the figures after its rows.

use crate::autotrace::{Autotrace, Observer, STATISTICS, first_word, is_traced};
use crate::shell::Shell;
use client::ClientError;
use types::Value;

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
