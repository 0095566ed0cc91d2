//! The lines of the statement buffer, and the files that it is saved to.

use crate::shell::Shell;
use crate::text::words;

impl Shell<'_> {
    /// `CHANGE/old/new`: changes the first occurrence in the last line, ignoring case.
    pub(crate) fn change(&mut self, rest: &str) {
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

    pub(crate) fn list_last(&mut self) {
        let line = self.buffer.last().map(|line| format!("{:>3}* {line}", self.buffer.len()));
        self.out.line(&line.unwrap_or_default());
    }

    pub(crate) fn list(&mut self) {
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

    pub(crate) fn save(&mut self, rest: &str) {
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

    pub(crate) fn get(&mut self, rest: &str) {
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
