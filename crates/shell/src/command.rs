//! The commands of the shell.

use crate::logon::parse_logon;
use std::process::Command;

use types::{DataType, Value};

use crate::classify::command_name;
use crate::input::NoLine;
use crate::report::{ColumnFormat, Justify, Wrapping, text_of};
use crate::settings::{Break, Settings};
use crate::shell::{Ended, ExitCode, OnError, Shell, Variable};
use crate::text::{left, split_word, without_semicolon, words};

/// The level of `-R` from which a command is refused. Source: SQL*Plus User's Guide, "RESTRICT Option".
fn restriction(name: &str) -> Option<u8> {
    match name {
        "edit" | "host" => Some(1),
        "save" | "spool" | "store" => Some(2),
        "get" | "start" => Some(3),
        _ => None,
    }
}

impl Shell<'_> {
    /// Runs one command line.
    pub(crate) fn command(&mut self, line: &str) {
        let line = line.trim();
        let (word, rest) = first_word(line);
        let Some(name) = command_name(word.trim_end_matches(';')) else {
            self.out.line(&format!("SP2-0042: unknown command \"{word}\" - rest of line ignored."));
            return;
        };
        if restriction(name).is_some_and(|level| level <= self.restrict) {
            self.out.line(&format!("SP2-0738: Restricted command \"{name}\" not available"));
            return;
        }
        // The texts of PROMPT, REMARK and the like are kept unchanged except for variables.
        let mut rest = rest.to_string();
        if !matches!(name, "remark")
            && let Some(mark) = self.settings.define
        {
            match self.replace(&rest, mark) {
                Ok(Some(new)) => rest = new,
                Ok(None) => {}
                Err(_) => return,
            }
        }
        let plain = without_semicolon(&rest).to_string();
        match name {
            "remark" => {}
            "prompt" => self.out.line(&rest),
            "set" => self.set(&plain),
            "show" => self.show(&plain),
            "column" => self.column(&plain),
            "define" => self.define(&plain),
            "undefine" => {
                for name in words(&plain) {
                    if !self.variables.undefine(&name) {
                        self.out.line(&format!("SP2-0135: symbol {} is UNDEFINED", name.to_lowercase()));
                    }
                }
            }
            "accept" => self.accept(&plain),
            "pause" => self.pause(&plain),
            "host" => self.host(&rest),
            "spool" => self.spool(&plain),
            "start" => self.start(word, &plain),
            "execute" => self.exec(&rest),
            "variable" => self.variable(&plain),
            "print" => self.print(&plain),
            "describe" => self.describe(&plain),
            "connect" => self.connect_command(&plain),
            "disconnect" => {
                self.disconnect(true);
                self.say_disconnected();
            }
            "exit" | "quit" => self.exit(&plain),
            "whenever" => self.whenever(&plain),
            "list" => self.list(),
            "run" => {
                self.list();
                self.run_buffer();
            }
            "clear" => self.clear(&plain),
            "timing" => {}
            "history" => {
                let lines: Vec<String> =
                    self.history.iter().enumerate().map(|(at, s)| format!("{:>3}  {s}", at + 1)).collect();
                for line in lines {
                    self.out.line(&line);
                }
            }
            "save" => self.save(&plain),
            "get" => self.get(&plain),
            "append" => match self.buffer.last_mut() {
                Some(last) => {
                    last.push_str(&rest);
                    self.list_last();
                }
                None => self.out.line("SP2-0223: No lines in SQL buffer."),
            },
            "input" => match plain.is_empty() {
                true => self.out.line("SP2-0042: INPUT without a text is not supported."),
                false => self.buffer.push(rest.clone()),
            },
            "change" => self.change(&plain),
            "del" => match self.buffer.pop() {
                Some(_) => {}
                None => self.out.line("SP2-0223: No lines in SQL buffer."),
            },
            "help" => self.out.line(HELP),
            "oradebug" => self.oradebug(&plain),
            "password" => self.password(&plain),
            "recover" => self.recover(&plain),
            "break" => self.break_on(&plain),
            "compute" | "ttitle" | "btitle" | "repheader" | "repfooter" => {
                if !plain.is_empty() && !["off", "on"].contains(&plain.to_lowercase().as_str()) {
                    self.out.line(&format!("SP2-0042: {} is not supported and was ignored.", name.to_uppercase()));
                }
            }
            other => self.out.line(&format!("SP2-0042: {} is not supported here.", other.to_uppercase())),
        }
    }

    /// ORADEBUG: the server runs it; its lines are printed unchanged.
    fn oradebug(&mut self, rest: &str) {
        let Some(session) = &mut self.session else {
            self.out.line("SP2-0640: Not connected");
            return;
        };
        match session.execute(&format!("oradebug {rest}"), &[]) {
            Ok(outcome) => {
                session.take_output();
                for line in outcome.output {
                    self.out.line(&line.unwrap_or_default());
                }
            }
            Err(e) => self.out.line(&e.to_string()),
        }
    }

    fn set(&mut self, rest: &str) {
        let before = (self.settings.serveroutput, self.settings.output_size);
        let traced = self.settings.autotrace;
        if let Err(message) = self.settings.set(&words(rest)) {
            self.out.line(&message);
        }
        self.out.muted = !self.settings.termout && self.scripts.is_reading();
        self.obey_markup();
        if traced != self.settings.autotrace {
            self.set_autotrace(self.settings.autotrace);
        }
        if before != (self.settings.serveroutput, self.settings.output_size)
            && let Some(session) = &mut self.session
        {
            session.set_want_output(self.settings.serveroutput);
            let call = if self.settings.serveroutput {
                self.settings.enable_output()
            } else {
                "begin dbms_output.disable; end;".into()
            };
            if let Err(e) = session.execute(&call, &[]) {
                self.out.line(&e.to_string());
            }
        }
    }

    fn show(&mut self, rest: &str) {
        let (word, tail) = split_word(rest);
        match word.to_ascii_lowercase().as_str() {
            "" => self.out.line("SP2-0281: SHOW missing option"),
            "all" => {
                for name in Settings::names() {
                    if let Some(text) = self.settings.show(name) {
                        self.out.line(&text);
                    }
                }
            }
            "user" => {
                let user = self.session.as_ref().map_or(String::new(), |s| s.welcome().user.clone());
                self.out.line(&format!("USER is \"{user}\""));
            }
            "release" | "rel" => self.out.line("release 1900000000"),
            "sqlcode" => {
                let code = self.last_code;
                self.out.line(&format!("sqlcode {code}"));
            }
            "spool" | "spoo" => {
                let state = if self.out.spool_name().is_some() { "ON" } else { "OFF" };
                self.out.line(&format!("spool {state}"));
            }
            w if w.starts_with("param") => self.show_parameter(tail.trim()),
            w if w.starts_with("err") => self.show_errors(tail.trim()),
            "sga" => self.show_sga(),
            "con_name" => self.out.line("\nCON_NAME\n------------------------------\nLATCHWORK"),
            other => match self.settings.show(other) {
                Some(text) => self.out.line(&text),
                None => self.out.line(&format!("SP2-0158: unknown SHOW option \"{word}\"")),
            },
        }
    }

    fn show_parameter(&mut self, like: &str) {
        let like = like.replace('\'', "''").to_lowercase();
        let rows = self.rows_or_error(&format!(
            "select name, decode(type, 1, 'boolean', 2, 'string', 3, 'integer', 6, 'big integer', 'string'), \
             display_value from v$parameter where lower(name) like '%{like}%' order by name"
        ));
        let Some(rows) = rows else { return };
        self.out.line("");
        self.out.line("NAME                                 TYPE        VALUE");
        self.out.line("------------------------------------ ----------- ------------------------------");
        for row in rows {
            let text = |at: usize| text_of(&row[at], &self.settings.nls);
            let line = format!("{} {} {}", left(&text(0), 36), left(&text(1), 11), text(2));
            self.out.line(line.trim_end());
        }
    }

    fn show_sga(&mut self) {
        let rows = self.rows_of("select name, value from v$sga");
        self.out.line("");
        for row in rows {
            self.out.line(&format!("{:<24} {:>12} bytes", self.text(&row[0]), self.text(&row[1])));
        }
    }

    fn show_errors(&mut self, rest: &str) {
        let mut named = words(rest);
        if named.len() >= 2 && named[0].eq_ignore_ascii_case("package") && named[1].eq_ignore_ascii_case("body") {
            named.remove(1);
            named[0] = "PACKAGE BODY".into();
        }
        let unit = match named.as_slice() {
            [kind, name, ..] => Some((kind.to_uppercase(), name.to_uppercase())),
            _ => self.last_unit.clone(),
        };
        let Some((kind, name)) = unit else {
            self.out.line("No errors.");
            return;
        };
        let rows = self.rows_of(&format!(
            "select line, position, text from user_errors where name = '{}' order by sequence",
            name.replace('\'', "''")
        ));
        if rows.is_empty() {
            self.out.line("No errors.");
            return;
        }
        self.out.line(&format!("Errors for {kind} {name}:"));
        self.out.line("");
        self.out.line("LINE/COL ERROR");
        self.out.line("-------- -----------------------------------------------------------------");
        for row in rows {
            let place = format!("{}/{}", self.text(&row[0]), self.text(&row[1]));
            let text = self.text(&row[2]);
            let lines = text.lines().flat_map(|line| crate::text::fold(line, 65, true));
            for (at, line) in lines.enumerate() {
                let place = if at == 0 { place.as_str() } else { "" };
                self.out.line(format!("{} {line}", left(place, 8)).trim_end());
            }
        }
    }

    fn column(&mut self, rest: &str) {
        let all = words(rest);
        let Some((name, options)) = all.split_first() else {
            let mut names: Vec<&String> = self.formats.keys().collect();
            names.sort();
            let all: Vec<(String, ColumnFormat)> =
                names.into_iter().map(|name| (name.clone(), self.formats[name].clone())).collect();
            for (at, (name, format)) in all.iter().enumerate() {
                if at > 0 {
                    self.out.line("");
                }
                self.show_column(name, format);
            }
            return;
        };
        let key = name.to_uppercase();
        let mut format = self.formats.get(&key).cloned().unwrap_or_default();
        let mut at = options.iter();
        while let Some(option) = at.next() {
            let mut value = || at.next().cloned();
            match option.to_ascii_lowercase().as_str() {
                "cle" | "clear" => {
                    self.formats.remove(&key);
                    return;
                }
                o if o.starts_with("for") => format.format = value(),
                o if o.starts_with("hea") => format.heading = value(),
                o if o.starts_with("jus") => {
                    format.justify = value().and_then(|v| match v.to_ascii_lowercase().chars().next() {
                        Some('l') => Some(Justify::Left),
                        Some('c') => Some(Justify::Center),
                        Some('r') => Some(Justify::Right),
                        _ => None,
                    });
                }
                "nopri" | "noprint" => format.hidden = true,
                "pri" | "print" => format.hidden = false,
                o if o.starts_with("new_v") => format.new_value = value(),
                o if o.starts_with("old_v") || o.starts_with("ali") => {
                    value();
                }
                "nul" | "null" => format.null = value(),
                o if o.starts_with("like") => {
                    if let Some(other) = value().and_then(|v| self.formats.get(&v.to_uppercase())) {
                        format = other.clone();
                    }
                }
                o if o.starts_with("wra") => format.wrapping = Some(Wrapping::Wrapped),
                o if o.starts_with("wor") => format.wrapping = Some(Wrapping::WordWrapped),
                o if o.starts_with("tru") => format.wrapping = Some(Wrapping::Truncated),
                "fold_a" | "fold_after" | "fold_b" | "fold_before" | "newl" | "newline" => {}
                "on" => format.off = false,
                "off" => format.off = true,
                _ => {
                    self.out.line(&format!("SP2-0158: unknown COLUMN option \"{option}\""));
                    return;
                }
            }
        }
        if options.is_empty() {
            self.show_column(&key, &format);
        } else {
            self.formats.insert(key, format);
        }
    }

    /// `BREAK [ON column [SKIP n | SKIP PAGE] [NODUPLICATES | DUPLICATES]]…`; `ON ROW` and `ON REPORT` print nothing by
    /// themselves.
    fn break_on(&mut self, rest: &str) {
        let all = words(rest);
        if all.is_empty() {
            let lines: Vec<String> = self.settings.breaks.iter().map(shown_break).collect();
            if lines.is_empty() {
                self.out.line("SP2-0045: no break(s) defined");
            }
            for line in lines {
                self.out.line(&line);
            }
            return;
        }
        let mut breaks: Vec<Break> = Vec::new();
        let mut at = all.iter().map(|word| word.to_ascii_lowercase());
        while let Some(word) = at.next() {
            let last = breaks.last_mut();
            match (word.as_str(), last) {
                ("on", _) => {
                    let column = at.next().unwrap_or_default().to_uppercase();
                    if column.is_empty() {
                        self.out.line("SP2-0266: internal error: BREAK ON needs a column");
                        return;
                    }
                    breaks.push(Break { column, skip: 0, page: false, duplicates: false });
                }
                (w, Some(last)) if w.starts_with("ski") => match at.next().as_deref() {
                    Some("page") => last.page = true,
                    Some(n) => match n.parse() {
                        Ok(n) => last.skip = n,
                        Err(_) => {
                            self.out.line("SP2-0038: Command BREAK SKIP needs a number of lines or PAGE");
                            return;
                        }
                    },
                    None => last.skip = 1,
                },
                ("page", Some(last)) => last.page = true,
                (w, Some(last)) if w.starts_with("dup") => last.duplicates = true,
                (w, Some(_)) if w.starts_with("nodup") => {}
                _ => {
                    self.out.line(&format!("SP2-0158: unknown BREAK option \"{word}\""));
                    return;
                }
            }
        }
        self.settings.breaks = breaks;
    }

    fn show_column(&mut self, name: &str, format: &ColumnFormat) {
        if !self.formats.contains_key(name) {
            self.out.line(&format!("SP2-0046: COLUMN '{name}' not defined"));
            return;
        }
        self.out.line(&format!("COLUMN   {name} {}", if format.off { "OFF" } else { "ON" }));
        if let Some(heading) = &format.heading {
            let sep = self.settings.headsep;
            let mark = if heading.contains(sep) { format!(" headsep '{sep}'") } else { String::new() };
            self.out.line(&format!("HEADING  '{heading}'{mark}"));
        }
        for (what, value) in [("FORMAT", &format.format), ("NEW_VALUE", &format.new_value), ("NULL", &format.null)] {
            if let Some(value) = value {
                self.out.line(&format!("{what:<8} {value}"));
            }
        }
        if format.hidden {
            self.out.line("NOPRINT");
        }
        match format.wrapping {
            Some(Wrapping::Wrapped) => self.out.line("WRAPPED"),
            Some(Wrapping::WordWrapped) => self.out.line("WORD_WRAPPED"),
            Some(Wrapping::Truncated) => self.out.line("TRUNCATE"),
            None => {}
        }
    }

    fn define(&mut self, rest: &str) {
        match rest.split_once('=') {
            Some((name, value)) => {
                let value = words(value);
                self.variables.define(name.trim(), &value.join(" "));
            }
            None if rest.is_empty() => {
                let lines: Vec<String> = self.variables.all().iter().map(|(n, v)| definition(n, v)).collect();
                for line in lines {
                    self.out.line(&line);
                }
            }
            None => match self.variables.get(rest) {
                Some(value) => {
                    let line = definition(&rest.to_uppercase(), value);
                    self.out.line(&line);
                }
                None => self.out.line(&format!("SP2-0135: symbol {} is UNDEFINED", rest.to_lowercase())),
            },
        }
    }

    fn accept(&mut self, rest: &str) {
        let all = words(rest);
        let Some(name) = all.first() else {
            self.out.line("SP2-0137: ACCEPT missing variable name");
            return;
        };
        let at = |what: &str| all.iter().position(|w| w.to_ascii_lowercase().starts_with(what));
        let prompt = at("prompt").and_then(|i| all.get(i + 1)).cloned().unwrap_or_default();
        let default = at("def").and_then(|i| all.get(i + 1)).cloned().unwrap_or_default();
        self.out.flush();
        if !self.reader.is_terminal() {
            self.out.write(&prompt);
        }
        let line = match self.reader.read(&prompt) {
            Ok(line) => line,
            Err(NoLine::Ended) => String::new(),
            Err(NoLine::Interrupted) => {
                self.out.line("SP2-0546: User requested Interrupt or EOF detected.");
                return;
            }
        };
        let value = if line.is_empty() { default } else { line };
        self.variables.define(name, &value);
    }

    fn pause(&mut self, text: &str) {
        self.out.line(text);
        self.out.flush();
        // Without a person at the terminal a PAUSE in a script returns at once.
        if self.reader.is_terminal() || !self.scripts.is_reading() {
            // Any answer, or the end of the input, ends the pause.
            let _ = self.reader.read("");
        }
    }

    fn host(&mut self, rest: &str) {
        self.out.flush();
        // The user's own shell runs the command, so its built-in commands (such as `echo -n`) behave as usual.
        let shell = std::env::var("SHELL").ok().filter(|shell| std::path::Path::new(shell).is_file());
        let mut command = Command::new(shell.unwrap_or_else(|| "/bin/sh".into()));
        if !rest.trim().is_empty() {
            command.arg("-c").arg(rest);
        }
        match command.status() {
            Ok(status) => {
                self.variables.define("_RC", &status.code().unwrap_or(128).to_string());
                if !status.success() {
                    self.os_error();
                }
            }
            Err(e) => {
                self.out.line(&format!("SP2-0044: cannot run the host command ({e})"));
                self.os_error();
            }
        }
    }

    fn spool(&mut self, rest: &str) {
        let all = words(rest);
        let result = match all.as_slice() {
            [] => {
                let line = match self.out.spool_name() {
                    Some(name) => format!("currently spooling to {name}"),
                    None => "not spooling currently".into(),
                };
                self.out.line(&line);
                return;
            }
            [word] if word.eq_ignore_ascii_case("off") || word.eq_ignore_ascii_case("out") => {
                self.out.spool_off().map(|was| {
                    if !was {
                        self.out.line("not spooling currently");
                    }
                })
            }
            [name, mode @ ..] => {
                let append = mode.first().is_some_and(|m| m.to_ascii_lowercase().starts_with("app"));
                let dotted = std::path::Path::new(name).extension().is_some();
                let path = if dotted { name.clone() } else { format!("{name}.lst") };
                self.out.spool_off().and_then(|_| self.out.spool_to(&path, append))
            }
        };
        if let Err(e) = result {
            self.out.line(&format!("SP2-0606: Cannot create SPOOL file ({e})"));
            self.os_error();
        }
    }

    fn start(&mut self, word: &str, rest: &str) {
        let all = words(rest);
        let Some((name, arguments)) = all.split_first() else {
            self.out.line("SP2-1506: START, @ or @@ command has no arguments");
            return;
        };
        self.start_script(name, arguments, word == "@@");
    }

    fn exec(&mut self, rest: &str) {
        let text = rest.trim().trim_end_matches(';').trim_end();
        if text.is_empty() {
            self.out.line("SP2-0852: EXECUTE missing statement");
            return;
        }
        self.statement(&format!("BEGIN {text}; END;"));
    }

    fn variable(&mut self, rest: &str) {
        let (name, declared) = split_word(rest);
        if name.is_empty() || declared.is_empty() {
            let lines: Vec<String> = self
                .binds
                .iter()
                .filter(|(known, _)| name.is_empty() || known.eq_ignore_ascii_case(name))
                .flat_map(|(known, v)| {
                    [format!("variable   {known}"), format!("datatype   {}", v.declared), String::new()]
                })
                .collect();
            if lines.is_empty() {
                self.out.line("SP2-0568: No bind variables declared.");
            }
            for line in lines {
                self.out.line(&line);
            }
            return;
        }
        let (declared, initial) = match declared.split_once('=') {
            Some((d, v)) => (d.trim(), Some(v.trim().trim_matches('\'').to_string())),
            None => (declared, None),
        };
        let Some(data_type) = bind_type(declared) else {
            self.out
                .line("Usage: VAR[IABLE] [ <variable> [ NUMBER | CHAR | CHAR (n) | VARCHAR2 (n) | CLOB | REFCURSOR |");
            self.out.line("                    BINARY_FLOAT | BINARY_DOUBLE ] ]");
            return;
        };
        let value = match initial {
            Some(text) if matches!(data_type, DataType::Number { .. }) => {
                text.parse().map_or(Value::Null, Value::Number)
            }
            Some(text) if !text.is_empty() => Value::Text(text),
            _ => Value::Null,
        };
        let value = if data_type == DataType::Cursor { Value::Null } else { value };
        let variable = Variable { data_type, declared: declared.to_uppercase(), value, columns: Vec::new() };
        self.binds.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.binds.push((name.to_uppercase(), variable));
    }

    fn print(&mut self, rest: &str) {
        let named = words(rest);
        let chosen: Vec<(String, Variable)> = self
            .binds
            .iter()
            .filter(|(known, _)| {
                named.is_empty() || named.iter().any(|n| n.trim_start_matches(':').eq_ignore_ascii_case(known))
            })
            .cloned()
            .collect();
        for name in &named {
            let name = name.trim_start_matches(':');
            if !chosen.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                self.out.line(&format!("SP2-0552: Bind variable \"{}\" not declared.", name.to_uppercase()));
            }
        }
        for variable in chosen {
            self.print_variable(variable);
        }
    }

    fn connect_command(&mut self, rest: &str) {
        self.disconnect(true);
        match parse_logon(rest) {
            Ok(logon) => {
                let logon = self.with_password(logon);
                if self.connect(&logon.credentials, logon.place.as_deref()) {
                    self.out.line("Connected.");
                } else {
                    self.out.line("Warning: You are no longer connected to ORACLE.");
                    let rule = self.on_sql_error.clone();
                    if let Some(code) = &rule.exit {
                        let code = self.exit_code(code);
                        self.ended = Some(Ended { code, commit: false });
                    }
                }
            }
            Err(message) => self.out.line(&message),
        }
    }

    /// PASSWORD: changes a user's password without showing it.
    fn password(&mut self, rest: &str) {
        if self.session.is_none() {
            self.out.line("SP2-0640: Not connected");
            return;
        }
        let own = self.variables.get("_USER").unwrap_or_default().to_string();
        let user = match rest.trim() {
            "" => own.clone(),
            quoted if quoted.starts_with('"') => quoted.trim_matches('"').to_string(),
            name => name.to_uppercase(),
        };
        if user.contains('"') {
            self.out.line("SP2-0306: Invalid option.");
            return;
        }
        self.out.line(&format!("Changing password for {user}"));
        self.out.flush();
        let old = (user == own).then(|| self.reader.read_secret("Old password: ").unwrap_or_default());
        let Some(new) = self.new_password() else {
            self.out.line("Password unchanged");
            return;
        };
        let replace = old.filter(|old| !old.is_empty() && !old.contains('"'));
        let replace = replace.map_or_else(String::new, |old| format!(" replace \"{old}\""));
        let sql = format!("alter user \"{user}\" identified by \"{new}\"{replace}");
        let done = self.session.as_mut().map(|session| session.execute(&sql, &[]));
        match done {
            Some(Err(e)) => {
                self.last_code = i64::from(e.code());
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                self.out.line("Password unchanged");
            }
            _ => self.out.line("Password changed"),
        }
    }

    fn exit(&mut self, rest: &str) {
        let (code, end) = match parse_exit(&words(rest)) {
            Ok(parsed) => parsed,
            Err(message) => {
                self.out.line(&message);
                return;
            }
        };
        let code = self.exit_code(&code);
        self.ended = Some(Ended { code, commit: end != Some(false) });
    }

    fn whenever(&mut self, rest: &str) {
        let all = words(rest);
        let usage = "SP2-0281: WHENEVER { SQLERROR | OSERROR } { EXIT [code] [COMMIT | ROLLBACK] | CONTINUE }";
        let (Some(what), Some(action)) = (all.first(), all.get(1)) else {
            self.out.line(usage);
            return;
        };
        let mut rule = OnError::default();
        match action.to_ascii_lowercase().as_str() {
            "exit" => match parse_exit(&all[2..]) {
                Ok((code, end)) => {
                    // WHENEVER … EXIT without a code ends with success, as in SQL*Plus; scripts give SQL.SQLCODE.
                    rule.exit = Some(code);
                    rule.rollback = end == Some(false);
                }
                Err(message) => {
                    self.out.line(&message);
                    return;
                }
            },
            "continue" => {
                let end = all.get(2).map(|w| w.to_ascii_lowercase());
                rule.rollback = end.as_deref() == Some("rollback");
                rule.commit = end.as_deref() == Some("commit");
            }
            _ => {
                self.out.line(usage);
                return;
            }
        }
        match what.to_ascii_lowercase().as_str() {
            "sqlerror" => self.on_sql_error = rule,
            "oserror" => self.on_os_error = rule,
            _ => self.out.line(usage),
        }
    }

    /// `CHANGE/old/new`: changes the first occurrence in the last line, ignoring case.
    fn change(&mut self, rest: &str) {
        let mut parts = rest.chars();
        let Some(mark) = parts.next() else {
            self.out.line("SP2-0025: Invalid change string.");
            return;
        };
        let rest = parts.as_str();
        let (old, new) = rest.split_once(mark).unwrap_or((rest, ""));
        let new = new.strip_suffix(mark).unwrap_or(new);
        let Some(last) = self.buffer.last_mut() else {
            self.out.line("SP2-0223: No lines in SQL buffer.");
            return;
        };
        match last.to_lowercase().find(&old.to_lowercase()) {
            Some(at) if !old.is_empty() && last.is_char_boundary(at) && last.is_char_boundary(at + old.len()) => {
                last.replace_range(at..at + old.len(), new);
                self.list_last();
            }
            _ => self.out.line("SP2-0023: String not found."),
        }
    }

    fn list_last(&mut self) {
        let line = self.buffer.last().map(|line| format!("{:>3}* {line}", self.buffer.len()));
        self.out.line(&line.unwrap_or_default());
    }

    fn list(&mut self) {
        let lines: Vec<String> = self
            .buffer
            .iter()
            .enumerate()
            .map(|(at, line)| {
                let mark = if at + 1 == self.buffer.len() { '*' } else { ' ' };
                format!("{:>3}{mark} {line}", at + 1)
            })
            .collect();
        if lines.is_empty() {
            self.out.line("SP2-0223: No lines in SQL buffer.");
        }
        for line in lines {
            self.out.line(&line);
        }
    }

    fn clear(&mut self, rest: &str) {
        match rest.to_ascii_lowercase().as_str() {
            w if w.starts_with("col") => {
                self.formats.clear();
                self.out.line("columns cleared");
            }
            w if w.starts_with("buff") => {
                self.buffer.clear();
                self.out.line("buffer cleared");
            }
            "sql" => {
                self.buffer.clear();
                self.out.line("sql cleared");
            }
            w if w.starts_with("scr") => self.out.write("\x1b[2J\x1b[H"),
            w if w.starts_with("bre") => {
                self.settings.breaks.clear();
                self.out.line("breaks cleared");
            }
            w if w.starts_with("comp") => self.out.line("computes cleared"),
            w if w.starts_with("timi") => self.out.line("timing for: cleared"),
            _ => self.out.line(&format!("SP2-0158: unknown CLEAR option \"{rest}\"")),
        }
    }

    fn save(&mut self, rest: &str) {
        let all = words(rest);
        let Some(name) = all.first() else {
            self.out.line("SP2-0281: SAVE missing file name");
            return;
        };
        let path = if name.contains('.') { name.clone() } else { format!("{name}.sql") };
        match std::fs::write(&path, format!("{}\n/\n", self.buffer.join("\n"))) {
            Ok(()) => self.out.line(&format!("Created file {path}")),
            Err(e) => {
                self.out.line(&format!("SP2-0110: Cannot create save file \"{path}\" ({e})"));
                self.os_error();
            }
        }
    }

    fn get(&mut self, rest: &str) {
        let path = if rest.contains('.') { rest.to_string() } else { format!("{rest}.sql") };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                self.buffer = text.trim_end().trim_end_matches('/').trim_end().lines().map(str::to_string).collect();
                self.list();
            }
            Err(_) => {
                self.out.line(&format!("SP2-0310: unable to open file \"{path}\""));
                self.os_error();
            }
        }
    }
}

const HELP: &str = "\
SQL and PL/SQL go to the server: SQL ends with ; or with / on a line, PL/SQL with / on a line.
Commands of the shell: @script [args]  ACCEPT  CLEAR  COLUMN  CONNECT  DEFINE  DESCRIBE  DISCONNECT  EXECUTE  EXIT
  GET  HISTORY  HOST  LIST  PAUSE  PRINT  PROMPT  RUN  SAVE  SET  SHOW  SPOOL  UNDEFINE  VARIABLE  WHENEVER
SHOW ALL lists the settings, SHOW PARAMETER x the init parameters; SET MARKUP CSV ON and JSON ON make output that pipes.
What latches do: SELECT name, gets, misses, sleeps FROM v$latch WHERE gets > 0;";

/// The first word of a command line; `@x`, `@@x` and `!x` need no blank.
fn first_word(line: &str) -> (&str, &str) {
    for mark in ["@@", "@", "!"] {
        if let Some(rest) = line.strip_prefix(mark) {
            return (&line[..mark.len()], rest.trim_start());
        }
    }
    match line.find('/') {
        // CHANGE/old/new
        Some(at) if at > 0 && line[..at].chars().all(|c| c.is_ascii_alphabetic()) => line.split_at(at),
        _ => split_word(line),
    }
}

fn shown_break(of: &Break) -> String {
    let skip = match (of.page, of.skip) {
        (true, _) => " page".to_string(),
        (_, 0) => String::new(),
        (_, n) => format!(" skip {n}"),
    };
    format!("break on {}{skip} {}", of.column.to_lowercase(), if of.duplicates { "dup" } else { "nodup" })
}

fn definition(name: &str, value: &str) -> String {
    format!("DEFINE {name:<15} = \"{value}\" (CHAR)")
}

fn bind_type(declared: &str) -> Option<DataType> {
    let upper = declared.to_ascii_uppercase().replace(' ', "");
    let (name, size) = match upper.split_once('(') {
        Some((name, size)) => (name.to_string(), size.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()),
        None => (upper, None),
    };
    Some(match name.as_str() {
        "NUMBER" => DataType::NUMBER,
        "VARCHAR2" | "VARCHAR" | "NVARCHAR2" => text_type(size.unwrap_or(4000)),
        "CHAR" | "NCHAR" => text_type(size.unwrap_or(1)),
        "CLOB" => DataType::Clob,
        "BINARY_DOUBLE" => DataType::BinaryDouble,
        "BINARY_FLOAT" => DataType::BinaryFloat,
        "REFCURSOR" => DataType::Cursor,
        _ => return None,
    })
}

fn text_type(len: u32) -> DataType {
    DataType::Varchar2 { len, unit: types::LenUnit::Byte }
}

/// Code and ending of `EXIT`: `Some(false)` for ROLLBACK.
fn parse_exit(all: &[String]) -> Result<(ExitCode, Option<bool>), String> {
    let mut code = ExitCode::Number(0);
    let mut end = None;
    for word in all {
        match word.to_ascii_lowercase().as_str() {
            "success" => code = ExitCode::Number(0),
            "failure" => code = ExitCode::Number(1),
            "warning" => code = ExitCode::Number(2),
            "sql.sqlcode" => code = ExitCode::SqlCode,
            "commit" => end = Some(true),
            "rollback" => end = Some(false),
            w => {
                code = match (w.parse(), w.strip_prefix(':')) {
                    (Ok(number), _) => ExitCode::Number(number),
                    (_, Some(bind)) => ExitCode::Bind(bind.to_string()),
                    _ => ExitCode::Variable(w.to_string()),
                }
            }
        }
    }
    Ok((code, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        let exit = |line: &str| parse_exit(&words(line)).unwrap();
        assert_eq!(exit(""), (ExitCode::Number(0), None));
        assert_eq!(exit("SQL.SQLCODE rollback"), (ExitCode::SqlCode, Some(false)));
        assert_eq!(exit("3"), (ExitCode::Number(3), None));
        assert_eq!(exit(":x commit"), (ExitCode::Bind("x".into()), Some(true)));
    }

    #[test]
    fn words_that_need_no_blank() {
        assert_eq!(first_word("@@x y"), ("@@", "x y"));
        assert_eq!(first_word("@x y"), ("@", "x y"));
        assert_eq!(first_word("!ls"), ("!", "ls"));
        assert_eq!(first_word("set echo on"), ("set", "echo on"));
    }
}
