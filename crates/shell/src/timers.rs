//! `TIMING`: named timers, each within the one started before it.

use crate::shell::Shell;
use crate::text::split_word;
use crate::titles::abbreviates;
use std::time::{Duration, Instant};

/// A time as SQL*Plus prints it.
pub(crate) fn elapsed(time: Duration) -> String {
    let cs = time.as_millis() / 10;
    let (s, cs) = (cs / 100, cs % 100);
    format!("Elapsed: {:02}:{:02}:{:02}.{cs:02}", s / 3600, s / 60 % 60, s % 60)
}

impl Shell<'_> {
    /// `TIMING [START text | SHOW | STOP]`.
    pub(crate) fn timing(&mut self, rest: &str) {
        let (word, name) = split_word(rest);
        match word {
            "" => {
                let line = match self.timers.len() {
                    0 => "no timing elements in use".to_string(),
                    1 => "1 timing element in use".to_string(),
                    n => format!("{n} timing elements in use"),
                };
                self.out.line(&line);
            }
            word if abbreviates(word, "start", 3) => self.timers.push((name.to_string(), Instant::now())),
            word if abbreviates(word, "show", 3) => {
                if !self.tell_timer() {
                    self.out.line("SP2-0325: no timing elements to show");
                }
            }
            word if abbreviates(word, "stop", 3) => {
                if !self.tell_timer() {
                    self.out.line("SP2-0326: no timing elements to stop");
                }
                self.timers.pop();
            }
            _ => self.out.line(&format!("SP2-0158: unknown TIMING option \"{word}\"")),
        }
    }

    /// Prints the current timer; false when there is none.
    pub(crate) fn tell_timer(&mut self) -> bool {
        let Some((name, started)) = self.timers.last() else { return false };
        let lines = [format!("timing for: {name}"), elapsed(started.elapsed())];
        lines.iter().for_each(|line| self.out.line(line));
        true
    }
}
