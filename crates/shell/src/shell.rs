//! The main loop: read a line, classify it, gather the statement, run it, print the result.

use crate::logon::{Connector, Logon};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use client::{Bind, BreakHandle, Client, ClientError, Credentials, Outcome, StatementKind};
use types::{DataType, Value};

use crate::autotrace::Observer;
use crate::classify::{Begins, begins};
use crate::input::{LineReader, NoLine, Scripts};
use crate::output::Output;
use crate::report::{ColumnFormats, Report};
use crate::settings::{Markup, OutputFormat, Settings};
use crate::substitute::Variables;
use crate::text::{fold, split_word};

/// The action of `WHENEVER`.
#[derive(Clone, Debug, Default)]
pub struct OnError {
    pub exit: Option<ExitCode>,
    pub rollback: bool,
    pub commit: bool,
}

/// The code of an exit.
#[derive(Clone, Debug, PartialEq)]
pub enum ExitCode {
    Number(i64),
    SqlCode,
    Variable(String),
    Bind(String),
}

/// A bind variable of `VARIABLE`.
#[derive(Clone, Debug)]
pub struct Variable {
    pub data_type: DataType,
    pub declared: String,
    pub value: Value,
    /// The columns of an open REFCURSOR; its value is the number of the cursor.
    pub columns: Vec<client::Column>,
}

/// The result of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub code: u8,
    pub commit: bool,
}

/// The shell.
pub struct Shell<'a> {
    pub(crate) settings: Settings,
    pub(crate) formats: ColumnFormats,
    pub(crate) variables: Variables,
    pub(crate) binds: Vec<(String, Variable)>,
    pub(crate) scripts: Scripts,
    pub(crate) reader: &'a mut dyn LineReader,
    pub(crate) out: Output,
    pub(crate) connector: &'a mut dyn Connector,
    pub(crate) session: Option<Client>,
    /// The server's banner.
    banner: Option<String>,
    /// The handle for breaking the call in flight by Ctrl-C.
    pub(crate) breaker: Arc<Mutex<Option<BreakHandle>>>,
    pub(crate) silent: bool,
    /// Level of `-R`.
    pub(crate) restrict: u8,
    pub(crate) on_sql_error: OnError,
    pub(crate) on_os_error: OnError,
    pub(crate) last_code: i64,
    /// Rows that the last statement returned or changed.
    pub(crate) last_rows: u64,
    /// The logon of the session.
    pub(crate) logon: Option<(Credentials, Option<String>)>,
    /// The session that reads statistics for AUTOTRACE.
    pub(crate) observer: Option<Observer>,
    pub(crate) last_unit: Option<(String, String)>,
    /// The statement buffer, line by line.
    pub(crate) buffer: Vec<String>,
    pub(crate) ended: Option<Ended>,
    pub(crate) history: Vec<String>,
}

impl<'a> Shell<'a> {
    /// Makes a shell without a connection.
    pub fn new(reader: &'a mut dyn LineReader, out: Output, connector: &'a mut dyn Connector, silent: bool) -> Self {
        Shell {
            settings: Settings::default(),
            formats: ColumnFormats::new(),
            variables: Variables::default(),
            binds: Vec::new(),
            scripts: Scripts::default(),
            reader,
            out,
            connector,
            session: None,
            banner: None,
            breaker: Arc::new(Mutex::new(None)),
            silent,
            restrict: 0,
            on_sql_error: OnError::default(),
            on_os_error: OnError::default(),
            last_code: 0,
            last_rows: 0,
            logon: None,
            observer: None,
            last_unit: None,
            buffer: Vec::new(),
            ended: None,
            history: Vec::new(),
        }
    }

    /// The break handle, for a Ctrl-C handler.
    pub fn breaker(&self) -> Arc<Mutex<Option<BreakHandle>>> {
        Arc::clone(&self.breaker)
    }

    /// Prints the banner.
    pub fn banner(&mut self) {
        self.out.line("");
        self.out.line(&format!("Latchwork SQL: Release {} - speaks SQL*Plus", env!("CARGO_PKG_VERSION")));
        self.out.line("");
    }

    /// Sets CSV or JSON output, from the command line's `--markup`.
    pub fn set_markup(&mut self, words: &[String]) {
        if words.is_empty() {
            return;
        }
        let all: Vec<String> = std::iter::once("markup".to_string()).chain(words.iter().cloned()).collect();
        if let Err(message) = self.settings.set(&all) {
            self.out.line(&message);
        }
        self.obey_markup();
    }

    /// Applies `SET MARKUP` to the output.
    pub(crate) fn obey_markup(&mut self) {
        self.out.html = (self.settings.markup == Markup::Html).then(|| self.settings.html.clone());
    }

    /// Asks for the logon; only a person at a terminal is asked.
    pub fn ask_logon(&mut self, interactive: bool) -> Option<String> {
        if !interactive {
            return None;
        }
        self.out.flush();
        self.reader.read("Enter user-name: ").ok().filter(|name| !name.trim().is_empty())
    }

    /// Logs on for the first time and prints the server's banner.
    pub fn log_on(&mut self, logon: Logon) -> bool {
        let logon = self.with_password(logon);
        let connected = self.connect(&logon.credentials, logon.place.as_deref());
        if connected && !self.silent {
            let banner = self.session.as_ref().map_or(String::new(), |s| s.welcome().banner.clone());
            self.out.line("");
            self.out.line("Connected to:");
            self.out.line(&banner);
            self.out.line("");
        }
        self.out.flush();
        connected
    }

    /// Opens the first session. False after an error, which has been printed.
    pub fn connect(&mut self, credentials: &Credentials, place: Option<&str>) -> bool {
        let connected = self.connector.connect(credentials, place);
        let expired = connected.as_ref().err().is_some_and(|e| e.code() == 28001);
        let connected = match (connected, credentials) {
            (Err(e), Credentials::Password { user, password }) if expired => {
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                self.out.line(&format!("Changing password for {user}"));
                let Some(new_password) = self.new_password() else {
                    self.last_code = 28001;
                    self.out.line("Password unchanged");
                    return false;
                };
                let change = Credentials::Change { user: user.clone(), password: password.clone(), new_password };
                let changed = self.connector.connect(&change, place);
                self.out.line(if changed.is_ok() { "Password changed" } else { "Password unchanged" });
                changed
            }
            (connected, _) => connected,
        };
        match connected {
            Ok(session) => {
                if let Some(warning) = session.warning() {
                    let warning = warning.to_string();
                    self.out.line("ERROR:");
                    self.out.line(&warning);
                    self.out.line("");
                    self.out.line("");
                }
                self.adopt(session);
                // After an expired password was changed the old logon is not valid any more.
                self.logon = (!expired).then(|| (credentials.clone(), place.map(str::to_string)));
                if self.settings.autotrace.statistics {
                    self.set_autotrace(self.settings.autotrace);
                }
                true
            }
            Err(e) => {
                self.last_code = i64::from(e.code());
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                false
            }
        }
    }

    pub(crate) fn adopt(&mut self, mut session: Client) {
        session.set_want_output(self.settings.serveroutput);
        self.banner = Some(session.welcome().banner.clone());
        self.variables.define("_USER", &session.welcome().user.clone());
        self.variables.define("_CONNECT_IDENTIFIER", &session.welcome().instance.clone());
        *self.breaker.lock().unwrap_or_else(|e| e.into_inner()) = Some(session.break_handle());
        if self.settings.serveroutput
            && let Err(e) = session.execute(&self.settings.enable_output(), &[])
        {
            self.out.line(&e.to_string());
        }
        if let Some(zone) = session_zone()
            && let Err(e) = session.execute(&format!("alter session set time_zone = {zone}"), &[])
        {
            self.out.line(&e.to_string());
        }
        self.session = Some(session);
        self.read_nls();
    }

    /// Starts a script like `@name args`.
    pub fn start_script(&mut self, name: &str, arguments: &[String], beside: bool) {
        let mut saved = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let name = (at + 1).to_string();
            saved.push((name.clone(), self.variables.get(&name).map(str::to_string)));
            self.variables.define(&name, argument);
        }
        if let Err(message) = self.scripts.open(name, beside, saved) {
            self.out.line(&message);
            self.os_error();
        }
    }

    /// Runs until `EXIT` or the end of the input.
    pub fn run(&mut self) -> Ended {
        while self.ended.is_none() && !self.out.broken {
            let prompt = self.prompt();
            match self.next_line(&prompt) {
                Ok(line) => self.first_line(&line),
                Err(NoLine::Interrupted) => {}
                Err(NoLine::Ended) => break,
            }
        }
        let ended = self.ended.unwrap_or(Ended { code: 0, commit: true });
        if let Err(e) = self.out.spool_off() {
            self.out.line(&format!("SP2-0308: cannot close spool file ({e})"));
        }
        self.disconnect(ended.commit);
        self.say_disconnected();
        self.out.flush();
        ended
    }

    pub(crate) fn disconnect(&mut self, commit: bool) {
        self.observer = None;
        *self.breaker.lock().unwrap_or_else(|e| e.into_inner()) = None;
        if let Some(session) = self.session.take()
            && !session.is_closed()
            && let Err(e) = session.logoff(commit)
            && !e.is_fatal()
        {
            self.out.line(&e.to_string());
        }
    }

    /// Prints SQL*Plus's message on leaving a session, unless the shell is silent.
    pub(crate) fn say_disconnected(&mut self) {
        if let Some(banner) = self.banner.take()
            && !self.silent
        {
            self.out.line(&format!("Disconnected from {banner}"));
        }
    }

    fn prompt(&self) -> String {
        let mut prompt = String::new();
        if self.settings.time {
            prompt.push_str(&clock_text());
            prompt.push(' ');
        }
        prompt.push_str(&self.settings.sqlprompt);
        prompt
    }

    /// The next line of the innermost script, or of the user, echoed as `SET ECHO` requires.
    pub(crate) fn next_line(&mut self, prompt: &str) -> Result<String, NoLine> {
        while let Some(next) = self.scripts.next_line() {
            match next {
                Ok(line) => {
                    if self.settings.echo {
                        self.out.line(&format!("{prompt}{line}"));
                    }
                    return Ok(line);
                }
                Err(saved) => {
                    for (name, value) in saved {
                        match value {
                            Some(value) => self.variables.define(&name, &value),
                            None => {
                                self.variables.undefine(&name);
                            }
                        }
                    }
                    // An outer script may have switched it off.
                    self.out.muted = !self.settings.termout && self.scripts.is_reading();
                }
            }
        }
        self.out.flush();
        let terminal = self.reader.is_terminal();
        if !self.silent && !terminal {
            self.out.write(prompt);
            self.out.flush();
        }
        let line = self.reader.read(if self.silent { "" } else { prompt });
        match &line {
            Ok(line) if terminal => self.out.to_spool(&format!("{prompt}{line}\n")),
            Ok(line) if self.settings.echo => self.out.line(line),
            Ok(_) | Err(NoLine::Interrupted) => {}
            Err(NoLine::Ended) if !terminal => {}
            Err(NoLine::Ended) => self.out.line(""),
        }
        line
    }

    /// A line at the prompt.
    fn first_line(&mut self, line: &str) {
        if line.trim() == "/" {
            self.run_buffer();
            return;
        }
        let mut commented;
        let mut line = line;
        if line.trim_start().starts_with("/*") && !line.contains("*/") {
            // A comment over several lines, outside any statement.
            loop {
                match self.next_line("DOC>") {
                    Ok(next) if next.contains("*/") => {
                        commented = next;
                        break;
                    }
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
            commented = commented.split_once("*/").map_or(String::new(), |(_, rest)| rest.to_string());
            line = &commented;
        }
        match begins(line) {
            Begins::Nothing => {}
            Begins::Command => {
                let mut line = line.to_string();
                // Blanks after the sign are ignored.
                while line.trim_end().ends_with('-') && !line.trim_start().starts_with("--") {
                    line.truncate(line.trim_end().len() - 1);
                    match self.next_line("> ") {
                        Ok(more) => line.push_str(&more),
                        Err(NoLine::Ended) => break,
                        Err(NoLine::Interrupted) => return,
                    }
                }
                self.command(&line);
            }
            Begins::Sql => self.gather(line, false),
            Begins::PlSql => self.gather(line, true),
            Begins::Unknown => {
                let word = line.trim();
                let shown: String = word.chars().take(10).collect();
                let dots = if word.chars().count() > 10 { "..." } else { "" };
                self.out
                    .line(&format!("SP2-0734: unknown command beginning \"{shown}{dots}\" - rest of line ignored."));
            }
        }
        self.out.flush();
    }

    /// Gathers a statement from its first line on, and runs it when it is complete.
    fn gather(&mut self, first: &str, plsql: bool) {
        let mut plsql = plsql;
        let mut lines: Vec<String> = Vec::new();
        let mut line = first.to_string();
        loop {
            let trimmed = line.trim();
            if !lines.is_empty() && (trimmed == "/" || trimmed == ".") {
                self.buffer = lines;
                if trimmed == "/" {
                    self.run_buffer();
                }
                return;
            }
            if trimmed.is_empty() && !lines.is_empty() && !plsql && !self.settings.sqlblanklines {
                self.buffer = lines;
                return;
            }
            let complete =
                !plsql && self.settings.sqlterminator.is_some_and(|mark| ends_statement(&lines, &line, mark));
            if complete {
                let cut = line.trim_end();
                let cut = cut.strip_suffix(|_: char| true).unwrap_or(cut).to_string();
                lines.push(cut);
                while lines.len() > 1 && lines.last().is_some_and(|l| l.trim().is_empty()) {
                    lines.pop();
                }
                self.buffer = lines;
                self.run_buffer();
                return;
            }
            lines.push(line);
            if !plsql && lines.len() <= 4 {
                // CREATE on one line and PROCEDURE on the next are PL/SQL.
                plsql = begins(&lines.join(" ")) == Begins::PlSql;
            }
            let prompt = format!("{:>3}  ", lines.len() + 1);
            match self.next_line(&prompt) {
                Ok(next) => line = next,
                // The statement is dropped; the buffer keeps the previous one.
                Err(NoLine::Interrupted) => return,
                Err(NoLine::Ended) => {
                    // At the end of the input SQL*Plus does not run an unterminated statement.
                    self.buffer = lines;
                    return;
                }
            }
        }
    }

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
        let text = lines.join("\n");
        let whole = self.buffer.join("\n");
        // A statement with a password is kept in neither the saved history nor HISTORY (invariant 7).
        if !whole.to_ascii_lowercase().contains("identified") {
            self.reader.remember(&whole);
            self.history.push(whole);
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

    /// Replaces the variables of one line; asks for undefined ones.
    pub(crate) fn replace(&mut self, line: &str, mark: char) -> Result<Option<String>, String> {
        let mut variables = std::mem::take(&mut self.variables);
        let replaced = variables.replace(line, mark, self.settings.escape, &mut |name| {
            let prompt = format!("Enter value for {name}: ");
            if self.reader.is_terminal() {
                self.out.flush();
            } else {
                self.out.write(&prompt);
                self.out.flush();
            }
            self.reader.read(&prompt).ok()
        });
        self.variables = variables;
        replaced
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
            let cs = started.elapsed().as_millis() / 10;
            let (s, cs) = (cs / 100, cs % 100);
            self.out.line(&format!("Elapsed: {:02}:{:02}:{:02}.{cs:02}", s / 3600, s / 60 % 60, s % 60));
        }
        if succeeded {
            self.after_traced(text, before);
        }
        succeeded
    }

    /// `SET AUTOCOMMIT ON`: commits the changes of a statement, and prints a message.
    fn commit_of_its_own(&mut self, text: &str) {
        let first = split_word(text).0.to_ascii_lowercase();
        let changes = ["insert", "update", "delete", "merge", "begin", "declare", "call"].contains(&first.as_str());
        if !self.settings.autocommit || !changes {
            return;
        }
        match self.with_session(|session| session.commit()) {
            Ok(_) if self.settings.feedback.is_some() => self.out.line("Commit complete."),
            Ok(_) => {}
            Err(e) => self.out.line(&e.to_string()),
        }
    }

    fn with_session<T>(&mut self, f: impl FnOnce(&mut Client) -> Result<T, ClientError>) -> Result<T, ClientError> {
        match &mut self.session {
            Some(session) => f(session),
            None => Err(ClientError::NotRunning("SP2-0640: Not connected".into())),
        }
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

    /// Reads the session's formats: the server sends values, and the shell formats them.
    fn read_nls(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let sql = "select parameter, value from nls_session_parameters union all select 'TIME_ZONE', sessiontimezone from dual";
        let Ok(rows) = session.query(sql, &[]).and_then(client::Query::all) else {
            return;
        };
        for row in rows {
            let [Value::Text(name), Value::Text(value)] = row.as_slice() else {
                continue;
            };
            let nls = &mut self.settings.nls;
            match name.as_str() {
                "TIME_ZONE" => nls.zone = types::TimeZone::parse(value).unwrap_or(nls.zone),
                "NLS_DATE_FORMAT" => nls.date_format.clone_from(value),
                "NLS_TIMESTAMP_FORMAT" => nls.timestamp_format.clone_from(value),
                "NLS_TIMESTAMP_TZ_FORMAT" => nls.timestamp_tz_format.clone_from(value),
                "NLS_NUMERIC_CHARACTERS" => {
                    let mut marks = value.chars();
                    if let (Some(decimal), Some(group)) = (marks.next(), marks.next()) {
                        (nls.decimal, nls.group) = (decimal, group);
                    }
                }
                _ => {}
            }
        }
    }

    fn take_binds(&mut self, binds: &[Bind], outcome: &Outcome) {
        for (at, value) in &outcome.done.out {
            let name = binds.get(*at as usize).and_then(|bind| bind.name.as_deref());
            if let Some(name) = name
                && let Some((_, variable)) = self.binds.iter_mut().find(|(known, _)| known == name)
            {
                let before = std::mem::replace(&mut variable.value, value.clone());
                if variable.data_type == DataType::Cursor {
                    let known = outcome.done.cursors.iter().find(|(n, _)| cursor_number(value) == Some(*n));
                    variable.columns = known.map_or(Vec::new(), |(_, columns)| columns.clone());
                    if before != *value {
                        self.close_cursor(cursor_number(&before));
                    }
                }
            }
        }
    }

    fn close_cursor(&mut self, cursor: Option<u32>) {
        if let (Some(cursor), Some(session)) = (cursor, &mut self.session) {
            // The next call reports a failure.
            let _ = session.close_cursor(cursor);
        }
    }

    /// Prints all rows of a cursor value, and closes it.
    pub(crate) fn print_cursor(&mut self, cursor: u32, columns: Vec<client::Column>) -> Result<(), ClientError> {
        let array = self.settings.arraysize;
        let first = self.with_session(|session| session.fetch(cursor, array));
        let printed = first.and_then(|first| {
            // Over the network the columns arrive with the rows.
            let columns = if first.columns.is_empty() { columns } else { first.columns };
            self.print_rows(Outcome { columns, cursor, done: first.done, output: first.output, rows: first.rows })
        });
        self.close_cursor(Some(cursor));
        printed
    }

    /// Prints the cursors of a row after it.
    fn print_nested(&mut self, row: &[Value], columns: &[client::Column]) -> Result<(), ClientError> {
        for (at, column) in columns.iter().enumerate().filter(|(_, c)| c.data_type == DataType::Cursor) {
            if let Some(cursor) = row.get(at).and_then(cursor_number) {
                self.out.line("");
                self.out.line(&crate::report::cursor_text(at));
                self.print_cursor(cursor, column.nested.clone())?;
            }
        }
        Ok(())
    }

    /// Prints the implicit results of a block.
    fn print_results(&mut self, outcome: &Outcome) -> Result<(), ClientError> {
        for (at, result) in outcome.done.results.iter().enumerate() {
            let known = outcome.done.cursors.iter().find(|(cursor, _)| cursor == result);
            if let Some((cursor, columns)) = known {
                self.out.line(&format!("ResultSet #{}", at + 1));
                self.print_cursor(*cursor, columns.clone())?;
            }
        }
        Ok(())
    }

    /// `SET AUTOPRINT ON`: prints the bind variables that a block named.
    fn print_binds(&mut self, binds: &[Bind]) {
        for bind in binds {
            let name = bind.name.as_deref().unwrap_or("");
            if let Some(found) = self.binds.iter().find(|(known, _)| known == name).cloned() {
                self.print_variable(found);
            }
        }
    }

    fn note_unit(&mut self, text: &str, outcome: &Outcome) {
        if begins(text) == Begins::PlSql && outcome.done.kind != StatementKind::PLSQL_EXECUTE {
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

    fn feedback(&mut self, outcome: &Outcome) {
        self.last_rows = outcome.done.rows;
        let Some(line) = outcome.done.kind.feedback_line(outcome.done.rows) else {
            return;
        };
        if self.settings.feedback.is_none() {
            return;
        }
        self.out.line("");
        match &outcome.done.warning {
            Some(warning) if warning.code == 24344 => {
                let what = line.trim_end_matches("created.").trim_end_matches("altered.").trim_end();
                let verb = if line.contains("altered") { "altered" } else { "created" };
                self.out.line(&format!("Warning: {what} {verb} with compilation errors."));
            }
            _ => self.out.line(&line),
        }
        self.out.line("");
    }

    fn print_rows(&mut self, first: Outcome) -> Result<(), ClientError> {
        let columns = first.columns;
        let mut rows = first.rows;
        let mut more = first.done.more;
        let mut count = 0u64;
        let mut last: Option<Vec<Value>> = None;
        let settings = self.settings.clone();
        let formats = self.formats.clone();
        let mut report = Report::new(&settings, &columns, &formats);
        let mut text = String::new();
        let shown = !self.settings.autotrace.no_rows;
        let nests = columns.iter().any(|c| c.data_type == DataType::Cursor);
        report.start(&mut text);
        loop {
            for row in &rows {
                count += 1;
                if nests {
                    report.row(&crate::report::without_cursors(row, &columns), &mut text);
                    self.out.write(&text);
                    text.clear();
                    self.print_nested(row, &columns)?;
                } else {
                    report.row(row, &mut text);
                }
            }
            if shown {
                self.out.write(&text);
            }
            text.clear();
            if let Some(row) = rows.pop() {
                last = Some(row);
            }
            if !more || self.out.broken {
                break;
            }
            let array = settings.arraysize;
            match self.with_session(|session| session.fetch(first.cursor, array)) {
                Ok(outcome) => {
                    rows = outcome.rows;
                    more = outcome.done.more;
                }
                Err(e) => {
                    report.finish(count, &mut text);
                    self.out.write(&text);
                    return Err(e);
                }
            }
        }
        report.finish(count, &mut text);
        if shown {
            self.out.write(&text);
        }
        self.last_rows = count;
        self.note_new_values(&columns, last.as_deref());
        self.rows_feedback(count);
        self.print_output();
        Ok(())
    }

    fn note_new_values(&mut self, columns: &[client::Column], last: Option<&[Value]>) {
        for (at, column) in columns.iter().enumerate() {
            let format = self.formats.get(&column.name.to_uppercase());
            if let Some(name) = format.and_then(|f| f.new_value.clone())
                && let Some(row) = last
            {
                let value = crate::report::text_of(&row[at], &self.settings.nls);
                self.variables.define(&name, &value);
            }
        }
    }

    fn rows_feedback(&mut self, count: u64) {
        if matches!(self.settings.markup, Markup::Csv | Markup::Json) {
            return;
        }
        let Some(least) = self.settings.feedback else {
            return;
        };
        match count {
            0 => {
                self.out.line("");
                self.out.line("no rows selected");
                self.out.line("");
            }
            n if n >= least => {
                self.out.line(&format!("{n} row{} selected.", if n == 1 { "" } else { "s" }));
                self.out.line("");
            }
            _ => {}
        }
    }

    pub(crate) fn print_output(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let (style, wide) = (self.settings.output_format, self.settings.linesize.max(1));
        for line in session.take_output() {
            let line = line.as_deref().unwrap_or("");
            match style {
                OutputFormat::WordWrapped => {
                    for piece in fold(line.trim_start(), wide, true) {
                        self.out.line(&piece);
                    }
                }
                OutputFormat::Wrapped => {
                    for piece in fold(line, wide, false) {
                        self.out.line(&piece);
                    }
                }
                OutputFormat::Truncated => self.out.line(&line.chars().take(wide).collect::<String>()),
            }
        }
    }

    /// Prints an error with its position, and does what `WHENEVER SQLERROR` requires.
    fn sql_error(&mut self, text: &str, error: &ClientError) {
        self.last_code = i64::from(error.code());
        let message = error.to_string();
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

    /// Performs `WHENEVER OSERROR`.
    pub(crate) fn os_error(&mut self) {
        let rule = self.on_os_error.clone();
        self.apply(&rule);
    }

    fn apply(&mut self, rule: &OnError) {
        if let Some(code) = &rule.exit {
            let code = self.exit_code(code);
            self.ended = Some(Ended { code, commit: !rule.rollback });
        } else if rule.rollback {
            let _ = self.with_session(|session| session.rollback());
        } else if rule.commit {
            let _ = self.with_session(|session| session.commit());
        }
    }

    /// The exit code for the operating system: the low eight bits of the number.
    pub(crate) fn exit_code(&self, code: &ExitCode) -> u8 {
        let number = match code {
            ExitCode::Number(n) => *n,
            ExitCode::SqlCode => self.last_code,
            ExitCode::Variable(name) => self.variables.get(name).and_then(|v| v.trim().parse().ok()).unwrap_or(1),
            ExitCode::Bind(name) => {
                let value = self.binds.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                value.and_then(|(_, v)| self.text(&v.value).parse().ok()).unwrap_or(1)
            }
        };
        let low = (number & 0xff) as u8;
        // A failure whose number is a multiple of 256 must not look like success.
        if low == 0 && number != 0 { 1 } else { low }
    }
}

/// The statements of a script of SQL and PL/SQL only, as the shell would send them.
pub fn split_script(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    let mut plsql = false;
    let mut flush = |lines: &mut Vec<String>| {
        let statement = lines.join("\n").trim().to_string();
        lines.clear();
        if !statement.is_empty() {
            out.push(statement);
        }
    };
    for line in text.lines() {
        let trimmed = line.trim();
        if lines.is_empty() {
            match begins(line) {
                Begins::Nothing => continue,
                kind => plsql = kind == Begins::PlSql,
            }
        }
        if trimmed == "/" || (trimmed.is_empty() && !plsql) {
            flush(&mut lines);
        } else if !plsql && ends_statement(&lines, line, ';') {
            let line = line.trim_end();
            lines.push(line[..line.len() - 1].to_string());
            flush(&mut lines);
        } else {
            lines.push(line.to_string());
            plsql |= begins(&lines.join(" ")) == Begins::PlSql;
        }
    }
    flush(&mut lines);
    out
}

/// Whether a line ends the statement: `mark` is last, outside comments.
fn ends_statement(before: &[String], line: &str, mark: char) -> bool {
    if !line.trim_end().ends_with(mark) {
        return false;
    }
    let mut text = before.join("\n");
    text.push('\n');
    text.push_str(line.trim_end());
    // Only the state at the last character matters, so the whole text is scanned.
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                if at >= bytes.len() {
                    return false;
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => match text[at + 2..].find("*/") {
                Some(end) => at += end + 4,
                None => return false,
            },
            b'q' | b'Q' if bytes.get(at + 1) == Some(&b'\'') && bytes.len() > at + 2 => {
                let open = text[at + 2..].chars().next().unwrap_or('\'');
                let close = match open {
                    '[' => ']',
                    '(' => ')',
                    '{' => '}',
                    '<' => '>',
                    other => other,
                };
                match text[at + 2 + open.len_utf8()..].find(&format!("{close}'")) {
                    Some(end) => at += 2 + open.len_utf8() + end + close.len_utf8() + 1,
                    None => return true,
                }
            }
            // A semicolon at the end of a line ends the statement even inside an open quote, which gives ORA-01756.
            quote @ (b'\'' | b'"') => match text[at + 1..].find(quote as char) {
                Some(end) => at += end + 2,
                None => return true,
            },
            _ => at += 1,
        }
    }
    true
}

/// The number of a cursor value.
pub(crate) fn cursor_number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(n) => n.as_i64().and_then(|n| u32::try_from(n).ok()),
        _ => None,
    }
}

/// The bind variables in a statement, outside quotes and comments.
pub fn bind_names(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    let lower = text.to_ascii_lowercase();
    // :new and :old in a trigger's text are not binds.
    if begins(text) == Begins::PlSql && lower.trim_start().starts_with("create") {
        return out;
    }
    // A statement that is only explained needs no values.
    if lower.split_whitespace().next() == Some("explain") {
        return out;
    }
    while at < bytes.len() {
        match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = text[at..].find('\n').map_or(bytes.len(), |end| at + end);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at + 2..].find("*/").map_or(bytes.len(), |end| at + end + 4);
            }
            quote @ (b'\'' | b'"') => {
                at = text[at + 1..].find(quote as char).map_or(bytes.len(), |end| at + end + 2);
            }
            b':' if bytes.get(at + 1).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') => {
                let rest = &text[at + 1..];
                let end = rest.find(|c: char| !(c.is_alphanumeric() || "_$#".contains(c))).unwrap_or(rest.len());
                let name = rest[..end].to_string();
                if !out.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    out.push(name);
                }
                at += 1 + end;
            }
            _ => at += 1,
        }
    }
    out
}

/// ORA_SDTZ: the initial time zone of sessions, in the form of ALTER SESSION.
fn session_zone() -> Option<String> {
    let zone = std::env::var("ORA_SDTZ").ok()?;
    Some(match zone.trim() {
        "" => return None,
        "OS_TZ" => "local".to_owned(),
        "DB_TZ" => "dbtimezone".to_owned(),
        zone => format!("'{}'", zone.replace('\'', "''")),
    })
}

/// The time of day for `SET TIME ON`.
fn clock_text() -> String {
    let s = os::clock::wall_ns() / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logon::Connector;

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
        for text in ["select 1 from dual", "alter user u\nIdentified by secret", "set role r identified by secret"] {
            shell.buffer = text.lines().map(str::to_string).collect();
            shell.run_buffer();
        }
        assert_eq!(shell.history, ["select 1 from dual"]);
        assert_eq!(typist.0, ["select 1 from dual"]);
    }

    #[test]
    fn a_semicolon_ends_a_statement_unless_it_is_quoted_or_commented() {
        assert!(ends_statement(&[], "select 1 from dual;", ';'));
        assert!(ends_statement(&[], "select ';' from dual;  ", ';'));
        assert!(ends_statement(&[], "select 'a;", ';'));
        assert!(ends_statement(&[], "select q'[it's]' from dual;", ';'));
        assert!(!ends_statement(&[], "select q'[it's]' -- from dual;", ';'));
        assert!(!ends_statement(&[], "select 1 -- no;", ';'));
        assert!(!ends_statement(&["select /* a".into()], "b;", ';'));
        assert!(ends_statement(&["select /* a".into()], "b */ 1 from dual;", ';'));
        assert!(!ends_statement(&[], "select 1 from dual", ';'));
    }

    #[test]
    fn a_script_is_split_into_its_statements() {
        let script = "-- a comment\ncreate table t (n number);\n\ninsert into t\n values (';');\n\
                      create or replace\nprocedure p is\nbegin\n\n  null;\nend;\n/\nselect 1 from dual";
        assert_eq!(
            split_script(script),
            [
                "create table t (n number)",
                "insert into t\n values (';')",
                "create or replace\nprocedure p is\nbegin\n\n  null;\nend;",
                "select 1 from dual"
            ]
        );
    }

    #[test]
    fn bind_variables_are_found_outside_quotes() {
        assert_eq!(bind_names("begin :x := ':y'; :X := :z; end; -- :w"), ["x", "z"]);
        assert_eq!(bind_names("select to_char(d, 'hh24:mi:ss') from t"), Vec::<String>::new());
        assert!(bind_names("explain plan for select :x from dual").is_empty());
        assert!(bind_names("create trigger t before insert on x begin :new.a := 1; end;").is_empty());
    }
}
