//! `HOST`, `SPOOL` and `START`.

use crate::shell::Shell;
use crate::text::words;
use std::process::Command;

impl Shell<'_> {
    pub(crate) fn host(&mut self, rest: &str) {
        self.out.flush();
        // The user's own shell runs the command, so its built-in commands (such as `echo -n`) behave as usual.
        let shell = std::env::var("SHELL").ok().filter(|shell| std::path::Path::new(shell).is_file());
        let mut command = Command::new(shell.unwrap_or_else(|| "/bin/sh".into()));
        if !rest.trim().is_empty() {
            command.arg("-c").arg(rest);
        }
        match command.status() {
            Ok(status) => {
                self.variables.define("_RC", &status.code().unwrap_or(128).to_string());
                if !status.success() {
                    self.os_error();
                }
            }
            Err(e) => {
                self.out.line(&format!("SP2-0044: cannot run the host command ({e})"));
                self.os_error();
            }
        }
    }

    pub(crate) fn spool(&mut self, rest: &str) {
        let all = words(rest);
        let result = match all.as_slice() {
            [] => {
                let line = match self.out.spool_name() {
                    Some(name) => format!("currently spooling to {name}"),
                    None => "not spooling currently".into(),
                };
                self.out.line(&line);
                return;
            }
            [word] if word.eq_ignore_ascii_case("off") || word.eq_ignore_ascii_case("out") => {
                self.out.spool_off().map(|was| {
                    if !was {
                        self.out.line("not spooling currently");
                    }
                })
            }
            [name, mode @ ..] => {
                let append = mode.first().is_some_and(|m| m.to_ascii_lowercase().starts_with("app"));
                let dotted = std::path::Path::new(name).extension().is_some();
                let path = if dotted { name.clone() } else { format!("{name}.lst") };
                self.out.spool_off().and_then(|_| self.out.spool_to(&path, append))
            }
        };
        if let Err(e) = result {
            self.out.line(&format!("SP2-0606: Cannot create SPOOL file ({e})"));
            self.os_error();
        }
    }

    pub(crate) fn start(&mut self, word: &str, rest: &str) {
        let all = words(rest);
        let Some((name, arguments)) = all.split_first() else {
            self.out.line("SP2-1506: START, @ or @@ command has no arguments");
            return;
        };
        self.start_script(name, arguments, word == "@@");
    }
}
