//! The main loop: read a line, classify it, gather the statement, run it.

use crate::classify::{Begins, begins};
use crate::input::NoLine;
use crate::scan::ends_statement;
use crate::shell::{Ended, Shell};

impl Shell<'_> {
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
        let ended = self.ended.unwrap_or(Ended { code: 0, commit: self.settings.exitcommit });
        if let Err(e) = self.out.spool_off() {
            self.out.line(&format!("SP2-0308: cannot close spool file ({e})"));
        }
        self.disconnect(ended.commit);
        self.say_disconnected();
        self.out.flush();
        ended
    }

    fn prompt(&self) -> String {
        let mut prompt = String::new();
        if self.settings.time {
            prompt.push_str(&clock_text());
            prompt.push(' ');
        }
        prompt.push_str(&self.named_prompt());
        prompt
    }

    /// The prompt with its predefined variables: `_USER'@'_CONNECT_IDENTIFIER> `. Text in apostrophes stands for itself
    /// there.
    fn named_prompt(&self) -> String {
        let text = &self.settings.sqlprompt;
        if !text.contains('_') {
            return text.clone();
        }
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let value = (c == '_').then(|| self.variables.get(&rest[..word])).flatten();
            if let Some(value) = value {
                out.push_str(value);
                rest = &rest[word..];
            } else if let Some((quoted, tail)) = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
                out.push_str(quoted);
                rest = tail;
            } else {
                let end = word.max(c.len_utf8());
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
        out
    }

    /// Runs the commands of a line that `SET CMDSEP` divides.
    fn divided(&mut self, line: &str, mark: char) {
        let mut quote = None;
        let mut from = 0;
        for (at, c) in line.char_indices() {
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None if c == '\'' || c == '"' => quote = Some(c),
                None if c == mark => {
                    self.command(&line[from..at]);
                    from = at + c.len_utf8();
                }
                None => {}
            }
        }
        if !line[from..].trim().is_empty() {
            self.command(&line[from..]);
        }
    }

    /// The prompt for the line of a statement with this number.
    fn line_prompt(&self, number: usize) -> String {
        if self.settings.sqlnumber { format!("{number:>3}  ") } else { self.prompt() }
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
                    let prompt = self.settings.sqlcontinue.clone();
                    match self.next_line(&prompt) {
                        Ok(more) => line.push_str(&more),
                        Err(NoLine::Ended) => break,
                        Err(NoLine::Interrupted) => return,
                    }
                }
                match self.settings.cmdsep.filter(|mark| line.contains(*mark)) {
                    Some(mark) => self.divided(&line, mark),
                    None => self.command(&line),
                }
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
            let blocked = self.settings.blockterminator.is_some_and(|mark| trimmed.strip_prefix(mark) == Some(""));
            if !lines.is_empty() && (trimmed == "/" || blocked) {
                self.keep_statement(lines);
                if trimmed == "/" {
                    self.run_buffer();
                }
                return;
            }
            if trimmed.is_empty() && !lines.is_empty() && !plsql && !self.settings.sqlblanklines {
                self.keep_statement(lines);
                return;
            }
            if !lines.is_empty()
                && let Some(command) = trimmed.strip_prefix(self.settings.sqlprefix)
            {
                self.command(command);
                let prompt = self.line_prompt(lines.len() + 1);
                match self.next_line(&prompt) {
                    Ok(next) if self.ended.is_none() => line = next,
                    _ => return,
                }
                continue;
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
                self.keep_statement(lines);
                self.run_buffer();
                return;
            }
            lines.push(line);
            if !plsql && lines.len() <= 4 {
                // CREATE on one line and PROCEDURE on the next are PL/SQL.
                plsql = begins(&lines.join(" ")) == Begins::PlSql;
            }
            let prompt = self.line_prompt(lines.len() + 1);
            match self.next_line(&prompt) {
                Ok(next) => line = next,
                // The statement is dropped; the buffer keeps the previous one.
                Err(NoLine::Interrupted) => return,
                Err(NoLine::Ended) => {
                    // At the end of the input SQL*Plus does not run an unterminated statement.
                    self.keep_statement(lines);
                    return;
                }
            }
        }
    }
}

/// The time of day for `SET TIME ON`.
fn clock_text() -> String {
    let s = os::clock::wall_ns() / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}
