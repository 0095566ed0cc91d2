//! Where lines come from: a stack of scripts over standard input, which may be a terminal.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Reads lines from the user or from a pipe.
pub trait LineReader {
    /// The next line without its end; `None` when the input has ended. `prompt` is shown when a person types.
    fn read(&mut self, prompt: &str) -> Option<String>;
    /// As [`LineReader::read`], without showing what is typed: a password.
    fn read_secret(&mut self, prompt: &str) -> Option<String> {
        self.read(prompt)
    }
    /// Whether a person types: there is history, completion, and the terminal echoes.
    fn is_terminal(&self) -> bool;
    /// Remembers a whole statement.
    fn remember(&mut self, _statement: &str) {}
}

/// What the arguments `&1`… were before a script got its own.
pub type SavedArguments = Vec<(String, Option<String>)>;

/// A script that is being read.
struct Script {
    lines: VecDeque<String>,
    dir: PathBuf,
    /// The arguments `&1`… that the caller had.
    saved: SavedArguments,
}

/// Scripts nested deeper than this are a loop.
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

    /// The next line of the innermost script; its end pops it and gives back what the caller's arguments were.
    pub fn next_line(&mut self) -> Option<Result<String, SavedArguments>> {
        let script = self.stack.last_mut()?;
        Some(match script.lines.pop_front() {
            Some(line) => Ok(line),
            None => Err(self.stack.pop().expect("there is a script").saved),
        })
    }

    /// Opens a script.
    ///
    /// # Errors
    /// The SP2 message, when it cannot be read or scripts are nested too deep.
    pub fn open(&mut self, name: &str, beside: bool, saved: SavedArguments) -> Result<(), String> {
        if self.stack.len() >= SCRIPTS_MAX {
            return Err(format!(
                "SP2-0309: SQL*Plus command procedures may only be nested to a depth of {SCRIPTS_MAX}."
            ));
        }
        let path = self.find(name, beside).ok_or_else(|| {
            let suffix = if Path::new(name).extension().is_some() { "" } else { ".sql" };
            format!("SP2-0310: unable to open file \"{name}{suffix}\"")
        })?;
        let bytes = std::fs::read(&path).map_err(|e| format!("SP2-0310: unable to open file \"{name}\" ({e})"))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| line.trim_end_matches('\r').to_string()).collect();
        let dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
        self.stack.push(Script { lines, dir, saved });
        Ok(())
    }

    /// The file of a script's name: as it is or with `.sql`; for `@@` beside the calling script first.
    fn find(&self, name: &str, beside: bool) -> Option<PathBuf> {
        let mut dirs = Vec::new();
        if beside && let Some(script) = self.stack.last() {
            dirs.push(script.dir.clone());
        }
        dirs.push(PathBuf::new());
        if !beside && let Some(script) = self.stack.last() {
            dirs.push(script.dir.clone());
        }
        for dir in dirs {
            for candidate in [dir.join(name), dir.join(format!("{name}.sql"))] {
                if candidate.is_file() {
                    return Some(candidate);
                }
            }
        }
        None
    }
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
        scripts.open(dir.join("outer").to_str().unwrap(), false, vec![]).unwrap();
        assert_eq!(scripts.next_line(), Some(Ok("one".into())));
        scripts.open("inner", true, vec![("1".into(), None)]).unwrap();
        assert_eq!(scripts.stack.len(), 2);
        assert_eq!(scripts.next_line(), Some(Ok("in".into())));
        assert_eq!(scripts.next_line(), Some(Err(vec![("1".into(), None)])));
        assert_eq!(scripts.next_line(), Some(Ok("two".into())));
        assert!(scripts.open("no such file", false, vec![]).unwrap_err().starts_with("SP2-0310"));
        assert_eq!(scripts.next_line(), Some(Err(vec![])));
        assert!(!scripts.is_reading());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
