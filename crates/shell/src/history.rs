//! `HISTORY`: the commands and statements of the session.

use crate::shell::Shell;
use crate::text::words;
use crate::titles::abbreviates;

const EMPTY: &str = "SP2-1651: History list is empty.";

impl Shell<'_> {
    /// `HISTORY [n {RUN | EDIT | DELETE} | CLEAR | LIST]`. Returns the statement or command to run.
    pub(crate) fn history_command(&mut self, rest: &str) -> Option<String> {
        if self.settings.history == 0 {
            self.out.line("SP2-1650: History is off, use \"SET HIST[ORY] ON\" to enable History.");
            return None;
        }
        let all = words(rest);
        let usage = "Usage: HIST[ORY] [n RUN | EDIT | DEL[ETE]] | [CLEAR | LIST]";
        match all.as_slice() {
            [] => self.list_history(),
            [word] if abbreviates(word, "list", 4) => self.list_history(),
            [word] if abbreviates(word, "clear", 5) => self.history.clear(),
            [number, action] => {
                if self.history.is_empty() {
                    self.out.line(EMPTY);
                    return None;
                }
                let entry = number.parse::<usize>().ok().filter(|n| (1..=self.history.len()).contains(n));
                let Some(entry) = entry else {
                    self.out.line(usage);
                    return None;
                };
                match action.as_str() {
                    action if abbreviates(action, "run", 1) => return Some(self.history[entry - 1].clone()),
                    action if abbreviates(action, "delete", 3) => {
                        self.history.remove(entry - 1);
                    }
                    action if abbreviates(action, "edit", 1) && self.restrict > 0 => {
                        self.out.line("SP2-0738: Restricted command \"edit\" not available");
                    }
                    action if abbreviates(action, "edit", 1) => {
                        self.buffer =
                            self.history[entry - 1].trim_end_matches(';').lines().map(str::to_string).collect();
                        self.current = self.buffer.len();
                        self.edit("");
                        let edited = self.buffer.join("\n");
                        self.remember(&(edited + ";"));
                    }
                    _ => self.out.line(usage),
                }
            }
            _ => self.out.line(usage),
        }
        None
    }

    fn list_history(&mut self) {
        if self.history.is_empty() {
            self.out.line(EMPTY);
        }
        let lines: Vec<String> = self.history.iter().enumerate().map(|(at, s)| format!("{:>3}  {s}", at + 1)).collect();
        for line in lines {
            self.out.line(&line);
        }
    }
}
