//! Substitution variables: `DEFINE`, `ACCEPT`, and `PAUSE`.

use crate::input::NoLine;
use crate::shell::Shell;
use crate::text::words;

impl Shell<'_> {
    pub(crate) fn define(&mut self, rest: &str) {
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

    pub(crate) fn accept(&mut self, rest: &str) {
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

    pub(crate) fn pause(&mut self, text: &str) {
        self.out.line(text);
        self.out.flush();
        // Without a person at the terminal a PAUSE in a script returns at once.
        if self.reader.is_terminal() || !self.scripts.is_reading() {
            // Any answer, or the end of the input, ends the pause.
            let _ = self.reader.read("");
        }
    }
}

fn definition(name: &str, value: &str) -> String {
    format!("DEFINE {name:<15} = \"{value}\" (CHAR)")
}
