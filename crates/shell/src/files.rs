//! Files and programs of the machine: `HOST`, `SPOOL`, `START`, `SAVE`, `GET`, `STORE`.

use crate::input::with_suffix;
use crate::shell::Shell;
use crate::text::words;
use crate::titles::abbreviates;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The treatment of a file that exists already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Refused,
    Replaced,
    Appended,
}

impl Shell<'_> {
    pub(crate) fn host(&mut self, rest: &str) {
        self.out.flush();
        // The user's own shell runs the command, so its built-in commands (such as `echo -n`) behave as usual.
        let shell = std::env::var("SHELL").ok().filter(|shell| Path::new(shell).is_file());
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
                let path = with_suffix(name, "lst");
                let mode = match mode.first() {
                    None => Existing::Replaced,
                    Some(mode) if abbreviates(mode, "append", 3) => Existing::Appended,
                    Some(mode) if abbreviates(mode, "replace", 3) => Existing::Replaced,
                    Some(mode) if abbreviates(mode, "create", 3) => Existing::Refused,
                    Some(_) => {
                        self.out.line("SP2-0768: Illegal SPOOL command");
                        self.out.line(
                            "Usage: SPOOL { <file> | OFF | OUT }\nwhere <file> is file_name[.ext] \
                             [CRE[ATE]|REP[LACE]|APP[END]]",
                        );
                        return;
                    }
                };
                if mode == Existing::Refused && Path::new(&path).exists() {
                    self.out.line(&format!("SP2-0771: File \"{path}\" already exists."));
                    self.out.line("Use another name or \"SPOOL filename[.ext] REPLACE\"");
                    return;
                }
                self.out.spool_off().and_then(|_| self.out.spool_to(&path, mode == Existing::Appended))
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

    /// `SAVE [FILE] name [CREATE | REPLACE | APPEND]`.
    pub(crate) fn save(&mut self, rest: &str) {
        let mut all = words(rest);
        if all.len() > 1 && all[0].eq_ignore_ascii_case("file") {
            all.remove(0);
        }
        let Some((path, existing)) = self.target(&all, "SAVE") else { return };
        if self.buffer.is_empty() {
            self.out.line("SP2-0107: Nothing to save.");
            return;
        }
        let text = format!("{}\n/\n", self.buffer.join("\n"));
        self.write_file(&path, existing, &text, "SP2-0540", "Use \"SAVE filename[.ext] REPLACE\".");
    }

    /// `STORE SET name [CREATE | REPLACE | APPEND]`.
    pub(crate) fn store(&mut self, rest: &str) {
        let mut all = words(rest);
        if !all.first().is_some_and(|word| word.eq_ignore_ascii_case("set")) {
            self.out.line("SP2-0603: Illegal STORE command.");
            self.out.line("Usage: STORE {SET} filename[.ext] [CRE[ATE]|REP[LACE]|APP[END]]");
            return;
        }
        all.remove(0);
        let Some((path, existing)) = self.target(&all, "STORE") else { return };
        let text: String = self.settings.stored().iter().map(|line| format!("{line}\n")).collect();
        let hint = "Use another name or \"STORE {SET} filename[.ext] REPLACE\"";
        self.write_file(&path, existing, &text, "SP2-0605", hint);
    }

    /// The file and the treatment of an existing one that the words name; `None` after a message.
    fn target(&mut self, all: &[String], command: &str) -> Option<(String, Existing)> {
        let Some((name, mode)) = all.split_first() else {
            self.out.line(&format!("SP2-0281: {command} missing file name"));
            return None;
        };
        let existing = match mode {
            [] => Existing::Refused,
            [mode] if abbreviates(mode, "create", 3) => Existing::Refused,
            [mode] if abbreviates(mode, "replace", 3) => Existing::Replaced,
            [mode] if abbreviates(mode, "append", 3) => Existing::Appended,
            [mode, ..] => {
                self.out.line(&format!("SP2-0158: unknown {command} option \"{mode}\""));
                return None;
            }
        };
        Some((with_suffix(name, &self.settings.suffix), existing))
    }

    fn write_file(&mut self, path: &str, existing: Existing, text: &str, exists_code: &str, hint: &str) {
        let mut options = OpenOptions::new();
        let options = match existing {
            Existing::Refused => options.write(true).create_new(true),
            Existing::Replaced => options.write(true).create(true).truncate(true),
            Existing::Appended => options.append(true).create(true),
        };
        let there = Path::new(path).exists();
        match options.open(path).and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => self.out.line(&match existing {
                Existing::Appended if there => format!("Appended file to {path}"),
                Existing::Replaced if there => format!("Wrote file {path}"),
                _ => format!("Created file {path}"),
            }),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                self.out.line(&format!("{exists_code}: File \"{path}\" already exists."));
                self.out.line(hint);
                self.os_error();
            }
            Err(e) => {
                self.out.line(&format!("SP2-0110: Cannot create save file \"{path}\" ({e})"));
                self.os_error();
            }
        }
    }
}
