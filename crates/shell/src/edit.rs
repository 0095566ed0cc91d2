//! The lines of the statement buffer: `LIST`, `CHANGE`, `APPEND`, `INPUT`, `DEL`, `EDIT`, `GET`, and a line given by
//! its number.

use crate::input::with_suffix;
use crate::shell::Shell;
use crate::text::words;
use crate::titles::abbreviates;
use std::process::{Command, Stdio};

impl Shell<'_> {
    /// A line that begins with a number: makes that line the current one, or replaces it.
    pub(crate) fn numbered(&mut self, line: &str) {
        let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
        let text = line[digits..].strip_prefix(' ').unwrap_or(&line[digits..]);
        let number: usize = line[..digits].parse().unwrap_or(usize::MAX);
        if !line[digits..].starts_with([' ', '\t', ';']) && digits < line.len() {
            self.out.line("SP2-0226: Invalid line number");
            return;
        }
        if text.trim().trim_end_matches(';').is_empty() {
            if number == 0 || number > self.buffer.len() {
                self.out.line("SP2-0226: Invalid line number");
                return;
            }
            self.current = number;
            self.list_current();
            return;
        }
        match number {
            0 => {
                self.buffer.insert(0, text.to_string());
                self.current = 1;
            }
            n if n <= self.buffer.len() => {
                self.buffer[n - 1] = text.to_string();
                self.current = n;
            }
            _ => {
                self.buffer.push(text.to_string());
                self.current = self.buffer.len();
            }
        }
    }

    /// The lines that `n`, `n m`, `*`, `LAST` or nothing name, counted from 1; `None` after a message.
    fn lines_named(&mut self, rest: &str) -> Option<(usize, usize)> {
        if self.buffer.is_empty() {
            self.out.line("SP2-0223: No lines in SQL buffer.");
            return None;
        }
        let last = self.buffer.len();
        let place = |word: &str| match word {
            "*" => Some(self.current.clamp(1, last)),
            word if word.eq_ignore_ascii_case("last") => Some(last),
            word => word.parse::<usize>().ok().filter(|n| (1..=last).contains(n)),
        };
        let spaced = rest.replace('*', " * ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let named = match words.as_slice() {
            [] => Some((1, last)),
            [one] => place(one).map(|n| (n, n)),
            [from, to] => place(from).zip(place(to)).filter(|(from, to)| from <= to),
            _ => None,
        };
        if named.is_none() {
            self.out.line("SP2-0226: Invalid line number");
        }
        named
    }

    /// `LIST [n | n m | * | LAST …]`: the last line listed becomes the current one.
    pub(crate) fn list(&mut self, rest: &str) {
        let Some((from, to)) = self.lines_named(rest) else { return };
        self.current = to;
        for at in from..=to {
            self.list_line(at);
        }
    }

    fn list_line(&mut self, at: usize) {
        let mark = if at == self.current { '*' } else { ' ' };
        let line = format!("{at:>3}{mark} {}", self.buffer[at - 1]);
        self.out.line(&line);
    }

    fn list_current(&mut self) {
        self.list_line(self.current);
    }

    /// The current line, after a message if there is none.
    fn current_line(&mut self, none: &str) -> Option<&mut String> {
        if self.buffer.is_empty() {
            self.out.line(none);
            return None;
        }
        self.current = self.current.clamp(1, self.buffer.len());
        self.buffer.get_mut(self.current - 1)
    }

    /// `DEL [n | n m | * | LAST …]`, by default the current line.
    pub(crate) fn del(&mut self, rest: &str) {
        if self.buffer.is_empty() {
            self.out.line("SP2-0026: No lines to delete.");
            return;
        }
        let rest = if rest.trim().is_empty() { "*" } else { rest };
        let Some((from, to)) = self.lines_named(rest) else { return };
        self.buffer.drain(from - 1..to);
        self.current = from.min(self.buffer.len());
    }

    /// `APPEND text`: two blanks before the text append one.
    pub(crate) fn append(&mut self, text: &str) {
        if text.is_empty() {
            self.out.line("SP2-0004: Nothing to append.");
            return;
        }
        // One semicolon ends the command, two append one.
        let text = text.strip_suffix(';').unwrap_or(text).to_string();
        if let Some(line) = self.current_line("SP2-0223: No lines in SQL buffer.") {
            line.push_str(&text);
            self.list_current();
        }
    }

    /// `INPUT [text]`: lines after the current one; without a text, lines are read until an empty one.
    pub(crate) fn input(&mut self, text: &str) {
        if !text.is_empty() {
            self.insert(text.strip_suffix(';').unwrap_or(text).to_string());
            return;
        }
        loop {
            let prompt = format!("{:>3}  ", self.current + 1);
            match self.next_line(&prompt) {
                Ok(line) if !line.trim().is_empty() => self.insert(line),
                _ => return,
            }
        }
    }

    fn insert(&mut self, line: String) {
        let at = self.current.min(self.buffer.len());
        self.buffer.insert(at, line);
        self.current = at + 1;
    }

    /// `CHANGE/old/new/`: changes the first occurrence in the current line, ignoring case. Dots in the old text stand
    /// for everything before, behind or between.
    pub(crate) fn change(&mut self, rest: &str) {
        let mut parts = rest.chars();
        let mark = parts.next().filter(|c| !c.is_alphanumeric());
        let Some(mark) = mark else {
            self.out.line("SP2-0025: Invalid change string.");
            return;
        };
        let rest = parts.as_str();
        let (old, new) = rest.split_once(mark).unwrap_or((rest, ""));
        // The text behind the closing mark is ignored.
        let new = new.split(mark).next().unwrap_or("").to_string();
        let Some(line) = self.current_line("SP2-0024: Nothing to change.") else { return };
        match found(line, old) {
            Some((from, to)) => {
                line.replace_range(from..to, &new);
                self.list_current();
            }
            None => self.out.line("SP2-0023: String not found."),
        }
    }

    /// `EDIT [file]`: the editor changes the file, or the buffer through the file of `SET EDITFILE`.
    pub(crate) fn edit(&mut self, rest: &str) {
        let own = rest.is_empty();
        let path = match own {
            true => self.settings.editfile.clone(),
            false => with_suffix(&words(rest)[0], &self.settings.suffix),
        };
        if own {
            if self.buffer.is_empty() {
                self.out.line("SP2-0107: Nothing to save.");
                return;
            }
            if let Err(e) = std::fs::write(&path, format!("{}\n/\n", self.buffer.join("\n"))) {
                self.out.line(&format!("SP2-0110: Cannot create save file \"{path}\" ({e})"));
                self.os_error();
                return;
            }
            self.out.line(&format!("Wrote file {path}"));
        }
        if !self.run_editor(&path) || !own {
            return;
        }
        self.out.line("");
        self.read_buffer(&path, true);
    }

    fn run_editor(&mut self, path: &str) -> bool {
        let editor = self.variables.get("_EDITOR").map(str::to_string);
        let editor = editor.or_else(|| std::env::var("EDITOR").ok()).filter(|editor| !editor.trim().is_empty());
        let editor = editor.unwrap_or_else(|| "vi".into());
        self.out.flush();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{editor} \"$1\""), "editor", path]);
        if !self.reader.is_terminal() {
            // The lines of a script are not for the editor.
            command.stdin(Stdio::null());
        }
        match command.status() {
            Ok(status) if status.success() => true,
            Ok(status) => {
                self.out.line(&format!("SP2-0044: the editor ended with {status}"));
                self.os_error();
                false
            }
            Err(e) => {
                self.out.line(&format!("SP2-0044: cannot run the editor ({e})"));
                self.os_error();
                false
            }
        }
    }

    /// `GET [FILE] name [LIST | NOLIST]`.
    pub(crate) fn get(&mut self, rest: &str) {
        let mut all = words(rest);
        if all.len() > 1 && all[0].eq_ignore_ascii_case("file") {
            all.remove(0);
        }
        let Some((name, options)) = all.split_first() else {
            self.out.line("SP2-0281: GET missing file name");
            return;
        };
        let lists = match options {
            [] => true,
            [word] if abbreviates(word, "list", 3) => true,
            [word] if abbreviates(word, "nolist", 3) => false,
            [word, ..] => {
                self.out.line(&format!("SP2-0158: unknown GET option \"{word}\""));
                return;
            }
        };
        self.read_buffer(&with_suffix(name, &self.settings.suffix), lists);
    }

    /// Reads a file into the buffer, without the slash at its end.
    pub(crate) fn read_buffer(&mut self, path: &str, lists: bool) {
        match std::fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let mut lines: Vec<String> = text.trim_end().lines().map(str::to_string).collect();
                if lines.last().is_some_and(|line| line.trim() == "/") {
                    lines.pop();
                }
                while lines.last().is_some_and(|line| line.trim().is_empty()) {
                    lines.pop();
                }
                self.keep_statement(lines);
                if lists {
                    self.list("");
                }
            }
            Err(_) => {
                self.out.line(&format!("SP2-0310: unable to open file \"{path}\""));
                self.os_error();
            }
        }
    }
}

/// The bytes of the line that the old text of CHANGE stands for.
fn found(line: &str, old: &str) -> Option<(usize, usize)> {
    let position = |text: &str, from: usize| {
        let text = text.to_lowercase();
        let at = (!text.is_empty()).then(|| line[from..].to_lowercase().find(&text)).flatten()? + from;
        // Letters whose lower case has another length do not match.
        (line.is_char_boundary(at) && line.is_char_boundary(at + text.len())).then_some((at, at + text.len()))
    };
    match old.split_once("...") {
        Some(("", "")) | None if old.is_empty() || old == "..." => None,
        Some(("", end)) => position(end, 0).map(|(_, to)| (0, to)),
        Some((begin, "")) => position(begin, 0).map(|(from, _)| (from, line.len())),
        Some((begin, end)) => {
            let (from, middle) = position(begin, 0)?;
            position(end, middle).map(|(_, to)| (from, to))
        }
        None => position(old, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_for_the_rest() {
        let cut = |line: &'static str, old: &str| found(line, old).map(|(from, to)| &line[from..to]);
        assert_eq!(cut("select A, b from t", "a, B"), Some("A, b"));
        assert_eq!(cut("select a, b from t", "...b"), Some("select a, b"));
        assert_eq!(cut("select a, b from t", "b..."), Some("b from t"));
        assert_eq!(cut("select a, b from t", "a...from"), Some("a, b from"));
        assert_eq!(cut("select a", "..."), None);
        assert_eq!(cut("select a", ""), None);
        assert_eq!(cut("select ä, ß", "ß"), Some("ß"));
        assert_eq!(cut("İx", "x"), None);
    }
}
