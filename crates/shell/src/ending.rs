//! `EXIT` and `WHENEVER`.

use crate::shell::{Ended, ExitCode, OnError, Shell};
use crate::text::words;

impl Shell<'_> {
    pub(crate) fn exit(&mut self, rest: &str) {
        let (code, end) = match parse_exit(&words(rest)) {
            Ok(parsed) => parsed,
            Err(message) => {
                self.out.line(&message);
                return;
            }
        };
        let code = self.exit_code(&code);
        self.ended = Some(Ended { code, commit: end.unwrap_or(self.settings.exitcommit) });
    }

    pub(crate) fn whenever(&mut self, rest: &str) {
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
}
