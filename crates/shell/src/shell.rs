//! The shell: its state, the lines that it reads, and its reaction to errors.

use crate::autotrace::Observer;
use crate::input::{LineReader, NoLine, ScriptEnded, Scripts};
use crate::layout::{ColumnFormats, text_of};
use crate::logon::Connector;
use crate::output::Output;
use crate::report::{Asker, PageEnd};
use crate::set::Changes;
use crate::settings::{Markup, Settings};
use crate::substitute::{Marks, Variables};
use client::{BreakHandle, Client, ClientError, Credentials};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use types::{DataType, Date, Value};

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
    pub(crate) banner: Option<String>,
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
    /// The number of the buffer's current line, from 1 on.
    pub(crate) current: usize,
    /// The line of its page on which the last report ended.
    pub(crate) page_end: PageEnd,
    /// The timers of `TIMING START`, the innermost last.
    pub(crate) timers: Vec<(String, Instant)>,
    /// Statements since the last commit of `SET AUTOCOMMIT n`.
    pub(crate) uncommitted: u64,
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
            current: 0,
            page_end: PageEnd::default(),
            timers: Vec::new(),
            uncommitted: 0,
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
        if let Err(message) = self.settings.set(&all, &mut Changes::default()) {
            self.out.line(&message);
        }
        self.obey_markup();
    }

    /// Applies `SET MARKUP` to the output.
    pub(crate) fn obey_markup(&mut self) {
        self.out.html = (self.settings.markup == Markup::Html).then(|| self.settings.html.clone());
    }

    /// Starts a script like `@name args`. The arguments are defined as `&1`, `&2` … and stay so behind the script, for
    /// its caller too, as in SQL*Plus.
    pub fn start_script(&mut self, name: &str, arguments: &[String], beside: bool) {
        for (at, argument) in arguments.iter().enumerate() {
            self.variables.define(&(at + 1).to_string(), argument);
        }
        if let Err(message) = self.scripts.open(name, beside, &self.settings.suffix) {
            self.out.line(&message);
            self.os_error();
        }
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
                Err(ScriptEnded) => {
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

    /// Replaces the variables of one line; asks for undefined ones.
    pub(crate) fn replace(&mut self, line: &str, mark: char) -> Result<Option<String>, String> {
        let mut variables = std::mem::take(&mut self.variables);
        // _DATE is the day of its use, unless the user has defined it.
        let dated = line.contains(mark) && variables.get("_DATE").is_none();
        if dated {
            variables.define("_DATE", &self.today());
        }
        let marks = Marks { substitution: mark, escape: self.settings.escape, end: self.settings.concat };
        let replaced = variables.replace(line, marks, &mut |name| {
            let prompt = format!("Enter value for {name}: ");
            if self.reader.is_terminal() {
                self.out.flush();
            } else {
                self.out.write(&prompt);
                self.out.flush();
            }
            self.reader.read(&prompt).ok()
        });
        if dated {
            variables.undefine("_DATE");
        }
        self.variables = variables;
        replaced
    }

    /// The day in the session's format.
    fn today(&self) -> String {
        let seconds = (os::clock::wall_ns() / 1_000_000_000) as i64;
        let local = seconds + i64::from(os::clock::utc_offset_seconds(seconds));
        let mut text = String::new();
        if let Ok(date) = Date::from_unix(local) {
            // The server has accepted the format.
            let _ = types::format::date_to_char(&date, &self.settings.nls.date_format, &self.settings.nls, &mut text);
        }
        text
    }

    /// Puts a statement into the buffer; its last line becomes the current one.
    pub(crate) fn keep_statement(&mut self, lines: Vec<String>) {
        self.current = lines.len();
        self.buffer = lines;
    }

    /// Keeps a command or statement for `HISTORY`.
    pub(crate) fn remember(&mut self, text: &str) {
        let most = self.settings.history;
        if most == 0 {
            return;
        }
        if self.history.len() >= most {
            self.history.drain(..=self.history.len() - most);
        }
        self.history.push(text.to_string());
    }

    /// The data of the session that the titles of a report show.
    pub(crate) fn asker(&self) -> Asker {
        let user = self.session.as_ref().map_or(String::new(), |s| s.welcome().user.clone());
        Asker { user, code: self.last_code }
    }

    pub(crate) fn current_schema(&mut self) -> String {
        let rows = self.rows_of("select sys_context('userenv', 'current_schema') from dual");
        rows.first().map_or(String::new(), |row| self.text(&row[0]))
    }

    /// A value in the session's formats.
    pub(crate) fn text(&self, value: &Value) -> String {
        text_of(value, &self.settings.nls)
    }

    /// The rows of a query; none after an error, which has been printed.
    pub(crate) fn rows_of(&mut self, sql: &str) -> Vec<Vec<Value>> {
        self.rows_or_error(sql).unwrap_or_default()
    }

    /// The rows of a query; `None` after an error, which has been printed.
    pub(crate) fn rows_or_error(&mut self, sql: &str) -> Option<Vec<Vec<Value>>> {
        let Some(session) = &mut self.session else {
            self.out.line("SP2-0640: Not connected");
            return None;
        };
        match session.query(sql, &[]).and_then(client::Query::all) {
            Ok(rows) => Some(rows),
            Err(e) => {
                self.out.line(&e.to_string());
                None
            }
        }
    }

    pub(crate) fn with_session<T>(
        &mut self,
        f: impl FnOnce(&mut Client) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        match &mut self.session {
            Some(session) => f(session),
            None => Err(ClientError::NotRunning("SP2-0640: Not connected".into())),
        }
    }

    /// Performs `WHENEVER OSERROR`.
    pub(crate) fn os_error(&mut self) {
        let rule = self.on_os_error.clone();
        self.apply(&rule);
    }

    /// Performs an action of `WHENEVER`.
    pub(crate) fn apply(&mut self, rule: &OnError) {
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
