//! The commands of the shell.

use crate::classify::command_name;
use crate::shell::Shell;
use crate::text::{split_word, without_semicolon, words};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_need_no_blank() {
        assert_eq!(first_word("@@x y"), ("@@", "x y"));
        assert_eq!(first_word("@x y"), ("@", "x y"));
        assert_eq!(first_word("!ls"), ("!", "ls"));
        assert_eq!(first_word("set echo on"), ("set", "echo on"));
    }
}
