//! Substitution variables: `DEFINE`, `ACCEPT`, and `PAUSE`.

use crate::input::NoLine;
use crate::shell::Shell;
use crate::text::words;
use crate::titles::abbreviates;
use types::Nls;

/// The kind of value that `ACCEPT` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Char,
    Number,
    Date,
    BinaryFloat,
    BinaryDouble,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Char => "CHAR",
            Kind::Number => "NUMBER",
            Kind::Date => "DATE",
            Kind::BinaryFloat => "BINARY_FLOAT",
            Kind::BinaryDouble => "BINARY_DOUBLE",
        }
    }
}

/// The parts of an `ACCEPT` command.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    name: String,
    kind: Kind,
    format: Option<String>,
    default: Option<String>,
    prompt: Option<String>,
    hidden: bool,
}

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

    /// `ACCEPT variable [type] [FORMAT format] [DEFAULT default] [PROMPT text | NOPROMPT] [HIDE]`: asks until the
    /// answer is a value of the type, or the input ends.
    pub(crate) fn accept(&mut self, rest: &str) {
        let asked = match parse_accept(rest) {
            Ok(asked) => asked,
            Err(message) => {
                self.out.line(&message);
                return;
            }
        };
        let prompt = asked.prompt.clone().unwrap_or_default();
        loop {
            self.out.flush();
            if !self.reader.is_terminal() {
                self.out.write(&prompt);
            }
            let read = if asked.hidden { self.reader.read_secret(&prompt) } else { self.reader.read(&prompt) };
            let (line, ended) = match read {
                Ok(line) => (line, false),
                Err(NoLine::Ended) => (String::new(), true),
                Err(NoLine::Interrupted) => {
                    self.out.line("SP2-0546: User requested Interrupt or EOF detected.");
                    return;
                }
            };
            let value = match (&asked.default, line.is_empty()) {
                (Some(default), true) => default.clone(),
                _ => line,
            };
            match refused(&value, &asked, &self.settings.nls) {
                Some(message) if !ended => self.out.line(&message),
                _ => {
                    self.variables.define(&asked.name, &value);
                    return;
                }
            }
        }
    }

    pub(crate) fn pause(&mut self, text: &str) {
        self.out.line(text);
        self.wait_for_return();
    }

    /// Without a person at the terminal a pause in a script returns at once (invariant 6).
    fn wait_for_return(&mut self) {
        self.out.flush();
        if self.reader.is_terminal() || !self.scripts.is_reading() {
            // Any answer, or the end of the input, ends the pause.
            let _ = self.reader.read("");
        }
    }
}

fn definition(name: &str, value: &str) -> String {
    format!("DEFINE {name:<15} = \"{value}\" (CHAR)")
}

fn parse_accept(text: &str) -> Result<Asked, String> {
    let all = words(text);
    let Some((name, mut rest)) = all.split_first() else {
        return Err("SP2-0002: ACCEPT statement must specify a variable name.".into());
    };
    let mut asked =
        Asked { name: name.clone(), kind: Kind::Char, format: None, default: None, prompt: None, hidden: false };
    while let Some((word, tail)) = rest.split_first() {
        let ill_formed = || format!("SP2-0003: Ill-formed ACCEPT command starting as {}", rest.join(" "));
        let value = || tail.first().cloned().ok_or_else(ill_formed);
        let mut taken = 1;
        match () {
            () if abbreviates(word, "number", 3) => asked.kind = Kind::Number,
            () if abbreviates(word, "char", 4) => asked.kind = Kind::Char,
            () if abbreviates(word, "date", 4) => asked.kind = Kind::Date,
            () if abbreviates(word, "binary_float", 12) => asked.kind = Kind::BinaryFloat,
            () if abbreviates(word, "binary_double", 13) => asked.kind = Kind::BinaryDouble,
            () if abbreviates(word, "format", 3) => (asked.format, taken) = (Some(value()?), 2),
            () if abbreviates(word, "default", 3) => (asked.default, taken) = (Some(value()?), 2),
            () if abbreviates(word, "prompt", 6) => (asked.prompt, taken) = (Some(value()?), 2),
            () if abbreviates(word, "noprompt", 4) => asked.prompt = None,
            () if abbreviates(word, "hide", 4) => asked.hidden = true,
            () => return Err(ill_formed()),
        }
        rest = &rest[taken..];
    }
    Ok(asked)
}

/// The reason for which an answer is no value of its type; `None` if it is one.
fn refused(value: &str, asked: &Asked, nls: &Nls) -> Option<String> {
    let mismatch = |format: &str| Some(format!("SP2-0598: \"{value}\" does not match input format \"{format}\""));
    match (asked.kind, asked.format.as_deref()) {
        (Kind::Char, Some(format)) => {
            let width: usize = format.strip_prefix(['a', 'A']).and_then(|digits| digits.parse().ok())?;
            if value.chars().count() > width { mismatch(format) } else { None }
        }
        (Kind::Char, None) => None,
        (Kind::Date, format) => {
            let model = format.unwrap_or(&nls.date_format);
            let valid = types::format::date_from_text(value, model, nls).is_ok();
            (!valid).then(|| format!("SP2-0685: The date \"{value}\" is invalid or format mismatched \"{model}\""))
        }
        (_, Some(format)) => {
            let number = value.trim().parse::<types::Number>().ok();
            let mut text = String::new();
            let written = number.is_some_and(|n| types::format::number_to_char(&n, format, nls, &mut text).is_ok());
            if written && !text.contains('#') { None } else { mismatch(format) }
        }
        (kind, None) => {
            let valid = match kind {
                Kind::BinaryFloat | Kind::BinaryDouble => value.trim().parse::<f64>().is_ok(),
                _ => value.trim().parse::<types::Number>().is_ok(),
            };
            (!valid).then(|| format!("SP2-0425: \"{value}\" is not a valid {}", kind.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(command: &str, value: &str) -> Option<String> {
        refused(value, &parse_accept(command).unwrap(), &Nls::default())
    }

    #[test]
    fn answers_are_checked_against_type_and_format() {
        assert_eq!(refusal("x", "anything"), None);
        assert_eq!(refusal("x number", "1e3"), None);
        assert_eq!(refusal("x num", "abc"), Some("SP2-0425: \"abc\" is not a valid NUMBER".into()));
        assert_eq!(refusal("x number format 999", "250"), None);
        for wrong in ["9999", "Hello", ""] {
            let message = format!("SP2-0598: \"{wrong}\" does not match input format \"999\"");
            assert_eq!(refusal("x number format 999", wrong), Some(message));
        }
        assert_eq!(refusal("x char format a3", "abcd").map(|m| m[..8].to_string()), Some("SP2-0598".into()));
        assert_eq!(refusal("x date", "17-NOV-81"), None);
        let message = "SP2-0685: The date \"1981\" is invalid or format mismatched \"DD-MON-YYYY\"";
        assert_eq!(refusal("x date format 'DD-MON-YYYY'", "1981"), Some(message.into()));
        assert_eq!(refusal("x binary_double", "1e400").is_some(), "1e400".parse::<f64>().is_err());
    }

    #[test]
    fn unknown_words_are_ill_formed() {
        assert!(parse_accept("").unwrap_err().starts_with("SP2-0002"));
        assert!(parse_accept("x numbers").unwrap_err().starts_with("SP2-0003"));
        assert!(parse_accept("x default").unwrap_err().starts_with("SP2-0003"));
    }
}
