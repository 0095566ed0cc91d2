//! Sources of lines: a stack of scripts over standard input, which may be a terminal.
//!
//! Scripts are files, searched for in the working directory, beside the calling script and in the directories of
//! `SQLPATH`; `?` at the beginning of a name is `ORACLE_HOME`. The program contains a few scripts of `?/rdbms/admin`
//! that users' scripts call, for the case that `ORACLE_HOME` has no such file.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLine {
    /// The input has ended.
    Ended,
    /// Ctrl-C at the prompt: drops the typed text, including the lines before this one.
    Interrupted,
}

/// Reads lines from the user or from a pipe.
pub trait LineReader {
    /// The next line without its end. `prompt` is shown at a terminal.
    fn read(&mut self, prompt: &str) -> Result<String, NoLine>;
    /// Like [`LineReader::read`], for a password: the typed text is not shown.
    fn read_secret(&mut self, prompt: &str) -> Result<String, NoLine> {
        self.read(prompt)
    }
    /// Whether a person types: then there are history, completion and the terminal's echo.
    fn is_terminal(&self) -> bool;
    /// Adds a whole statement to the history.
    fn remember(&mut self, _statement: &str) {}
}

/// The end of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptEnded;

/// A script being read.
struct Script {
    name: String,
    lines: VecDeque<String>,
    dir: PathBuf,
}

/// The scripts of `?/rdbms/admin` in the program.
const ADMIN: &[(&str, &str)] = &[
    ("awrrpti", include_str!("admin/awrrpti.sql")),
    ("awrrpt", include_str!("admin/awrrpt.sql")),
    ("awrgrpt", include_str!("admin/awrgrpt.sql")),
    ("utlxplan", include_str!("admin/utlxplan.sql")),
];

/// A file's name with an ending.
pub fn with_suffix(name: &str, suffix: &str) -> String {
    if Path::new(name).extension().is_some() { name.to_string() } else { format!("{name}.{suffix}") }
}

/// The place of a script.
enum Found {
    File(PathBuf),
    Own(&'static str),
}

/// Deeper nesting of scripts is taken for a loop (invariant 10).
pub const SCRIPTS_MAX: usize = 20;

/// The stack of scripts.
#[derive(Default)]
pub struct Scripts {
    stack: Vec<Script>,
}

impl Scripts {
    /// Whether a script is being read.
    pub fn is_reading(&self) -> bool {
        !self.stack.is_empty()
    }

    /// The name of the innermost script, as it was called.
    pub fn name(&self) -> Option<String> {
        self.stack.last().map(|script| script.name.clone())
    }

    /// The next line of the innermost script; its end pops it.
    pub fn next_line(&mut self) -> Option<Result<String, ScriptEnded>> {
        let line = self.stack.last_mut()?.lines.pop_front();
        if line.is_none() {
            self.stack.pop();
        }
        Some(line.ok_or(ScriptEnded))
    }

    /// Opens a script.
    ///
    /// # Errors
    /// The SP2 message, when it cannot be read or scripts are nested too deep.
    pub fn open(&mut self, name: &str, beside: bool, suffix: &str) -> Result<(), String> {
        if self.stack.len() >= SCRIPTS_MAX {
            return Err(format!(
                "SP2-0309: SQL*Plus command procedures may only be nested to a depth of {SCRIPTS_MAX}."
            ));
        }
        let found = self
            .find(name, beside, suffix)
            .ok_or_else(|| format!("SP2-0310: unable to open file \"{}\"", with_suffix(name, suffix)))?;
        let (text, dir) = match found {
            Found::File(path) => {
                let bytes =
                    std::fs::read(&path).map_err(|e| format!("SP2-0310: unable to open file \"{name}\" ({e})"))?;
                let dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
                (String::from_utf8_lossy(&bytes).into_owned(), dir)
            }
            Found::Own(text) => (text.to_string(), PathBuf::new()),
        };
        let lines = text.lines().map(|line| line.trim_end_matches('\r').to_string()).collect();
        self.stack.push(Script { name: name.to_string(), lines, dir });
        Ok(())
    }

    /// Finds a script by name, as given or with `.sql`; for `@@` first beside the calling script.
    fn find(&self, name: &str, beside: bool, suffix: &str) -> Option<Found> {
        if let Some(rest) = name.strip_prefix('?') {
            return at_home(rest.trim_start_matches('/'), suffix);
        }
        let mut dirs = Vec::new();
        if beside && let Some(script) = self.stack.last() {
            dirs.push(script.dir.clone());
        }
        dirs.push(PathBuf::new());
        if !beside && let Some(script) = self.stack.last() {
            dirs.push(script.dir.clone());
        }
        if let Some(path) = std::env::var_os("SQLPATH") {
            dirs.extend(std::env::split_paths(&path));
        }
        dirs.iter().find_map(|dir| file_in(dir, name, suffix)).map(Found::File)
    }
}

fn file_in(dir: &Path, name: &str, suffix: &str) -> Option<PathBuf> {
    [dir.join(name), dir.join(format!("{name}.{suffix}"))].into_iter().find(|candidate| candidate.is_file())
}

/// A script of `ORACLE_HOME`, or of the program.
fn at_home(name: &str, suffix: &str) -> Option<Found> {
    let file = std::env::var_os("ORACLE_HOME").and_then(|home| file_in(Path::new(&home), name, suffix));
    file.map(Found::File).or_else(|| {
        let own = name.strip_prefix("rdbms/admin/")?.to_ascii_lowercase();
        let own = own.strip_suffix(".sql").unwrap_or(&own);
        ADMIN.iter().find(|(known, _)| *known == own).map(|(_, text)| Found::Own(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_nest_and_find_their_neighbours() {
        let dir = std::env::temp_dir().join(format!("shell-input-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("outer.sql"), "one\r\ntwo\n").unwrap();
        std::fs::write(dir.join("inner.sql"), "in\n").unwrap();
        let mut scripts = Scripts::default();
        scripts.open(dir.join("outer").to_str().unwrap(), false, "sql").unwrap();
        assert_eq!(scripts.next_line(), Some(Ok("one".into())));
        scripts.open("inner", true, "sql").unwrap();
        assert_eq!(scripts.stack.len(), 2);
        assert_eq!(scripts.next_line(), Some(Ok("in".into())));
        assert_eq!(scripts.next_line(), Some(Err(ScriptEnded)));
        assert_eq!(scripts.next_line(), Some(Ok("two".into())));
        assert!(scripts.open("no such file", false, "sql").unwrap_err().starts_with("SP2-0310"));
        assert_eq!(scripts.next_line(), Some(Err(ScriptEnded)));
        assert!(!scripts.is_reading());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn scripts_of_the_home_come_with_the_program() {
        let mut scripts = Scripts::default();
        scripts.open("?/rdbms/admin/awrrpti", false, "sql").unwrap();
        assert!(scripts.next_line().is_some_and(|line| line.is_ok_and(|line| line.starts_with("-- Workload report"))));
        scripts.open("?/rdbms/admin/awrgrpt.sql", false, "sql").unwrap();
        assert!(scripts.open("?/rdbms/admin/../../etc/passwd", false, "sql").is_err());
        assert_eq!(scripts.open("?/x", false, "sql").unwrap_err(), "SP2-0310: unable to open file \"?/x.sql\"");
    }
}
