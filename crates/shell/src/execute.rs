//! A statement on its way: the buffer, its variables and binds, the call, and the error that comes back.

use crate::classify::{Begins, begins};
use crate::scan::bind_names;
use crate::settings::SqlCase;
use crate::shell::Shell;
use crate::text::split_word;
use crate::timers::elapsed;
use client::{Bind, Client, ClientError, Outcome, StatementKind};
use std::time::Instant;

impl Shell<'_> {
    /// Runs the statement buffer.
    pub(crate) fn run_buffer(&mut self) {
        if self.buffer.is_empty() {
            self.out.line("SP2-0103: Nothing in SQL buffer to run.");
            return;
        }
        let lines = self.buffer.clone();
        let Some(lines) = self.substituted(&lines) else {
            return;
        };
        let text = match self.settings.sqlcase {
            SqlCase::Mixed => lines.join("\n"),
            SqlCase::Lower => lines.join("\n").to_lowercase(),
            SqlCase::Upper => lines.join("\n").to_uppercase(),
        };
        let whole = self.buffer.join("\n");
        // A statement with a password is kept in neither the saved history nor HISTORY (invariant 7).
        if !whole.to_ascii_lowercase().contains("identified") {
            self.reader.remember(&whole);
            let mark = if whole.trim_end().ends_with(';') { "" } else { ";" };
            self.remember(&format!("{whole}{mark}"));
        }
        self.statement(text.trim_end());
    }

    /// Replaces the variables of a statement's lines, and prints them when `VERIFY` is on.
    fn substituted(&mut self, lines: &[String]) -> Option<Vec<String>> {
        let Some(mark) = self.settings.define else {
            return Some(lines.to_vec());
        };
        let mut out = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            match self.replace(line, mark) {
                Ok(None) => out.push(line.clone()),
                Ok(Some(new)) => {
                    if self.settings.verify {
                        self.out.line(&format!("old {:>3}: {line}", at + 1));
                        self.out.line(&format!("new {:>3}: {new}", at + 1));
                    }
                    out.push(new);
                }
                Err(_) => {
                    self.out.line("SP2-0546: User requested Interrupt or EOF detected.");
                    return None;
                }
            }
        }
        Some(out)
    }

    /// Sends a statement to the server and prints the result. Returns whether it succeeded.
    pub(crate) fn statement(&mut self, text: &str) -> bool {
        let started = Instant::now();
        let before = self.before_traced(text);
        let executed = if self.is_only_explained(text) { Ok(()) } else { self.execute(text) };
        let succeeded = match executed {
            Ok(()) => {
                self.last_code = 0;
                self.commit_of_its_own(text);
                true
            }
            Err(e) => {
                self.print_output();
                self.sql_error(text, &e);
                false
            }
        };
        if self.settings.timing {
            self.out.line(&elapsed(started.elapsed()));
        }
        if succeeded {
            self.tell_sql_id();
            self.after_traced(text, before);
        }
        succeeded
    }

    /// `SET AUTOCOMMIT`: commits the changes of so many statements, and prints a message.
    fn commit_of_its_own(&mut self, text: &str) {
        let first = split_word(text).0.to_ascii_lowercase();
        let changes = ["insert", "update", "delete", "merge", "begin", "declare", "call"].contains(&first.as_str());
        if self.settings.autocommit == 0 || !changes {
            return;
        }
        self.uncommitted += 1;
        if self.uncommitted < self.settings.autocommit {
            return;
        }
        self.uncommitted = 0;
        match self.with_session(|session| session.commit()) {
            Ok(_) if self.settings.feedback.is_some() => self.out.line("Commit complete."),
            Ok(_) => {}
            Err(e) => self.out.line(&e.to_string()),
        }
    }

    /// `SET FEEDBACK SQL_ID`: prints the identifier of the statement, and defines it as a variable.
    fn tell_sql_id(&mut self) {
        if !self.settings.feedback_sql_id {
            return;
        }
        let Some(session) = &mut self.session else { return };
        let query = format!("select prev_sql_id from v$session where sid = {}", session.sid());
        // A user without the right to read the view gets no identifier.
        let Ok(rows) = session.query(&query, &[]).and_then(client::Query::all) else { return };
        let Some(id) = rows.first().and_then(|row| row.first()).map(|id| self.text(id)).filter(|id| !id.is_empty())
        else {
            return;
        };
        self.variables.define("_SQL_ID", &id);
        self.out.line(&format!("SQL_ID: {id}"));
        self.out.line("");
    }

    /// The binds a statement names, in the order of the shell's list.
    pub(crate) fn binds_of(&self, text: &str) -> Vec<Bind> {
        let named = bind_names(text);
        self.binds
            .iter()
            .filter(|(name, _)| named.iter().any(|n| n.eq_ignore_ascii_case(name)))
            .map(|(name, v)| Bind::named(name.clone(), v.data_type, v.value.clone()))
            .collect()
    }

    fn execute(&mut self, text: &str) -> Result<(), ClientError> {
        if self.session.is_none() {
            self.out.line("SP2-0640: Not connected");
            return Ok(());
        }
        for name in bind_names(text) {
            if !self.binds.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                self.out.line(&format!("SP2-0552: Bind variable \"{}\" not declared.", name.to_uppercase()));
                return Ok(());
            }
        }
        let binds = self.binds_of(text);
        let array = self.settings.arraysize;
        let outcome = self.with_session(|session| session.execute_prefetch(text, &binds, array))?;
        self.take_binds(&binds, &outcome);
        self.note_unit(text, &outcome);
        if outcome.done.kind == StatementKind::ALTER_SESSION {
            self.read_nls();
        }
        if outcome.columns.is_empty() {
            self.print_output();
            self.feedback(&outcome);
            self.print_results(&outcome)?;
            if self.settings.autoprint && outcome.done.kind == StatementKind::PLSQL_EXECUTE {
                self.print_binds(&binds);
            }
            return Ok(());
        }
        self.print_rows(outcome)
    }

    fn note_unit(&mut self, text: &str, outcome: &Outcome) {
        let creates = split_word(text).0.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("create"));
        if creates && begins(text) == Begins::PlSql && outcome.done.kind != StatementKind::PLSQL_EXECUTE {
            let mut words = text.split_whitespace().skip(1);
            let kind = words
                .by_ref()
                .find(|w| !["or", "replace", "editionable", "noneditionable"].contains(&w.to_lowercase().as_str()));
            let mut name = words.next().unwrap_or("");
            if name.eq_ignore_ascii_case("body") {
                name = words.next().unwrap_or("");
            }
            let name = name.split('(').next().unwrap_or("").rsplit('.').next().unwrap_or("");
            self.last_unit = Some((kind.unwrap_or("").to_uppercase(), name.trim_matches('"').to_uppercase()));
        }
    }

    /// Prints an error with its position, and does what `WHENEVER SQLERROR` requires.
    fn sql_error(&mut self, text: &str, error: &ClientError) {
        self.last_code = i64::from(error.code());
        let message = error.to_string();
        self.log_error(text, &message);
        if error.code() == 1756 {
            // SQL*Plus finds this error itself and sends nothing.
            self.out.line("ERROR:");
        } else if let Some(position) = error.position().filter(|at| *at <= text.len()) {
            let before = &text.as_bytes()[..position];
            let line = before.iter().filter(|b| **b == b'\n').count();
            let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            let shown = text.lines().nth(line).unwrap_or("");
            let column = String::from_utf8_lossy(&before[start..]).chars().count();
            self.out.line(shown);
            self.out.line(&format!("{}*", " ".repeat(column)));
            self.out.line(&format!("ERROR at line {}:", line + 1));
        } else if matches!(error, ClientError::Server(_)) && self.session.as_ref().is_some_and(|s| !s.is_closed()) {
            self.out.line(text.lines().next().unwrap_or(""));
            self.out.line("*");
            self.out.line("ERROR at line 1:");
        } else {
            self.out.line("ERROR:");
        }
        self.out.line(&message);
        self.out.line("");
        self.out.line("");
        self.after_error();
    }

    /// Performs WHENEVER SQLERROR after dropping a session that is closed.
    fn after_error(&mut self) {
        if self.session.as_ref().is_some_and(Client::is_closed) {
            self.session = None;
            *self.breaker.lock().unwrap_or_else(|e| e.into_inner()) = None;
        }
        let rule = self.on_sql_error.clone();
        self.apply(&rule);
    }

    /// `RECOVER DATAFILE ...`, `TABLESPACE ...` or `DATABASE`, as the statement ALTER DATABASE RECOVER without
    /// questions.
    pub(crate) fn recover(&mut self, rest: &str) {
        let text = format!("alter database recover {rest}");
        match self.with_session(|session| session.execute(&text, &[])) {
            Ok(_) => {
                self.last_code = 0;
                self.out.line("Media recovery complete.");
            }
            Err(e) => {
                self.last_code = i64::from(e.code());
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                self.after_error();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{LineReader, NoLine};
    use crate::logon::Connector;
    use crate::output::Output;
    use client::Credentials;

    #[derive(Default)]
    struct Typist(Vec<String>);

    impl LineReader for Typist {
        fn read(&mut self, _prompt: &str) -> Result<String, NoLine> {
            Err(NoLine::Ended)
        }
        fn is_terminal(&self) -> bool {
            false
        }
        fn remember(&mut self, statement: &str) {
            self.0.push(statement.to_string());
        }
    }

    struct Nowhere;

    impl Connector for Nowhere {
        fn connect(&mut self, _: &Credentials, _: Option<&str>) -> Result<Client, ClientError> {
            Err(ClientError::NotRunning("here".into()))
        }
    }

    #[test]
    fn statements_with_a_password_are_in_no_history() {
        let (mut typist, mut nowhere) = (Typist::default(), Nowhere);
        let mut shell = Shell::new(&mut typist, Output::to(Box::new(std::io::sink())), &mut nowhere, true);
        shell.settings.history = 5;
        for text in ["select 1 from dual", "alter user u\nIdentified by secret", "set role r identified by secret"] {
            shell.buffer = text.lines().map(str::to_string).collect();
            shell.run_buffer();
        }
        assert_eq!(shell.history, ["select 1 from dual;"]);
        assert_eq!(typist.0, ["select 1 from dual"]);
    }
}
