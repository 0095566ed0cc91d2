//! The commands of the shell.

use crate::classify::{Begins, begins, command_name};
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
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            self.numbered(line);
            return;
        }
        let (word, rest) = first_word(line);
        let Some(name) = command_name(word.trim_end_matches(';')) else {
            self.out.line(&format!("SP2-0042: unknown command \"{word}\" - rest of line ignored."));
            return;
        };
        if restriction(name).is_some_and(|level| level <= self.restrict) {
            self.out.line(&format!("SP2-0738: Restricted command \"{name}\" not available"));
            return;
        }
        if !["history", "connect", "password", "copy"].contains(&name) {
            // Those may have passwords, or would list themselves.
            self.remember(line);
        }
        // The texts of PROMPT, REMARK and the like are kept unchanged except for variables.
        let mut rest = rest.to_string();
        if !matches!(name, "remark" | "document")
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
            "clear" => self.clear(&plain),
            "timing" => self.timing(&plain),
            "history" => {
                if let Some(entry) = self.history_command(&plain) {
                    self.run_again(&entry);
                }
            }
            "save" => self.save(&plain),
            "get" => self.get(&plain),
            "store" => self.store(&plain),
            "edit" => self.edit(&plain),
            "list" => self.list(&plain),
            "run" => {
                self.current = self.buffer.len();
                self.list("");
                self.run_buffer();
            }
            "append" => self.append(&rest),
            "input" => self.input(&rest),
            "change" => self.change(&plain),
            "del" => self.del(&plain),
            "document" => self.document(),
            "help" => self.help(&plain),
            "oradebug" => self.oradebug(&plain),
            "password" => self.password(&plain),
            "recover" => self.recover(&plain),
            "break" => self.break_on(&plain),
            "compute" => self.compute(&plain),
            "ttitle" | "btitle" | "repheader" | "repfooter" => self.title_command(name, &plain),
            "startup" => self.startup(&plain),
            "shutdown" => self.shutdown(&plain),
            "archive" => self.archive(&plain),
            "copy" => self.copy(&rest),
            other => self.out.line(&format!("SP2-0042: {} is not supported here.", other.to_uppercase())),
        }
    }

    /// Runs an entry of the history.
    fn run_again(&mut self, entry: &str) {
        match begins(entry) {
            Begins::Command => self.command(entry.trim_end_matches(';')),
            kind => {
                let text = if kind == Begins::Sql { entry.trim_end_matches(';') } else { entry };
                self.keep_statement(text.lines().map(str::to_string).collect());
                self.run_buffer();
            }
        }
    }

    /// `DOCUMENT`: a comment up to a line that begins with `#`.
    fn document(&mut self) {
        while let Ok(line) = self.next_line("DOC>") {
            if line.trim_start().starts_with('#') {
                return;
            }
            if self.settings.document && !self.settings.echo {
                self.out.line(&format!("DOC>{line}"));
            }
        }
    }

    fn clear(&mut self, rest: &str) {
        for word in rest.split_whitespace() {
            match word.to_ascii_lowercase().as_str() {
                w if w.starts_with("col") => {
                    self.formats.clear();
                    self.out.line("columns cleared");
                }
                w if w.starts_with("buff") => {
                    self.keep_statement(Vec::new());
                    self.out.line("buffer cleared");
                }
                "sql" => {
                    self.keep_statement(Vec::new());
                    self.out.line("sql cleared");
                }
                w if w.starts_with("scr") => self.out.write("\x1b[2J\x1b[H"),
                w if w.starts_with("bre") => {
                    self.settings.breaks.clear();
                    self.out.line("breaks cleared");
                }
                w if w.starts_with("comp") => {
                    self.settings.computes.clear();
                    self.out.line("computes cleared");
                }
                w if w.starts_with("timi") => {
                    while self.tell_timer() {
                        self.timers.pop();
                    }
                }
                _ => self.out.line(&format!("SP2-0158: unknown CLEAR option \"{word}\"")),
            }
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
}

/// The first word of a command line; `@x`, `@@x` and `!x` need no blank.
fn first_word(line: &str) -> (&str, &str) {
    for mark in ["@@", "@", "!"] {
        if let Some(rest) = line.strip_prefix(mark) {
            return (&line[..mark.len()], rest.trim_start());
        }
    }
    if let Some(at) = line.find(|c: char| c.is_ascii_digit() || c == '*')
        && ["l", "list", "del"].iter().any(|word| line[..at].eq_ignore_ascii_case(word))
    {
        return line.split_at(at);
    }
    match line.find('/') {
        // CHANGE/old/new
        Some(at) if at > 0 && line[..at].chars().all(|c| c.is_ascii_alphabetic()) => line.split_at(at),
        _ => match line.find(char::is_whitespace) {
            // One blank ends the word; more belong to the text of APPEND and INPUT.
            Some(at) if ["a", "append", "i", "input"].iter().any(|word| line[..at].eq_ignore_ascii_case(word)) => {
                (&line[..at], &line[at + 1..])
            }
            _ => split_word(line),
        },
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
        assert_eq!(first_word("l2 3"), ("l", "2 3"));
        assert_eq!(first_word("a  x"), ("a", " x"));
    }
}
