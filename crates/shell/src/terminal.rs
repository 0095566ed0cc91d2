//! Lines typed by a person, with history and completion, or read from a pipe.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Config, Context, Editor, Helper};

use crate::input::{LineReader, NoLine};

/// Standard input that is no terminal.
#[derive(Default)]
pub struct Pipe {
    ended: bool,
}

impl LineReader for Pipe {
    fn read(&mut self, _prompt: &str) -> Result<String, NoLine> {
        if self.ended {
            return Err(NoLine::Ended);
        }
        let mut line = Vec::new();
        match io::stdin().lock().read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => {
                self.ended = true;
                Err(NoLine::Ended)
            }
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                Ok(text.trim_end_matches(['\n', '\r']).to_string())
            }
        }
    }

    fn is_terminal(&self) -> bool {
        false
    }
}

/// The words that Tab completes: words of SQL and of the shell, and common views.
const WORDS: &[&str] = &[
    "alter",
    "and",
    "between",
    "cluster",
    "column",
    "commit",
    "connect",
    "create",
    "delete",
    "describe",
    "distinct",
    "drop",
    "dual",
    "execute",
    "exists",
    "from",
    "function",
    "group by",
    "having",
    "index",
    "insert into",
    "is null",
    "like",
    "not null",
    "number",
    "order by",
    "parameter",
    "primary key",
    "procedure",
    "rollback",
    "rownum",
    "select",
    "session",
    "set",
    "show",
    "spool",
    "sysdate",
    "system",
    "table",
    "truncate",
    "update",
    "user_indexes",
    "user_objects",
    "user_tab_columns",
    "user_tables",
    "values",
    "varchar2",
    "view",
    "where",
    "v$event_name",
    "v$instance",
    "v$latch",
    "v$latch_children",
    "v$latch_misses",
    "v$latch_parent",
    "v$latchholder",
    "v$latchname",
    "v$mystat",
    "v$parameter",
    "v$process",
    "v$result_cache_dependency",
    "v$result_cache_memory",
    "v$result_cache_objects",
    "v$result_cache_statistics",
    "v$session",
    "v$session_event",
    "v$session_wait",
    "v$sesstat",
    "v$sga",
    "v$sgastat",
    "v$sql",
    "v$statname",
    "v$sysstat",
    "v$system_event",
    "v$timer",
    "x$ksuprlat",
    "dbms_job",
    "dbms_lock",
    "dbms_output",
    "dbms_random",
    "dbms_result_cache",
    "dbms_utility",
];

#[derive(Default)]
struct Words {
    /// The input is a password: shown as stars, without completion.
    secret: bool,
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let start = line[..at]
            .rfind(|c: char| !(c.is_alphanumeric() || "_$#".contains(c)))
            .map_or(0, |before| before + line[before..].chars().next().map_or(1, char::len_utf8));
        let begun = &line[start..at];
        if begun.is_empty() || self.secret {
            return Ok((start, Vec::new()));
        }
        let lower = begun.to_lowercase();
        let shout = begun.chars().next().is_some_and(char::is_uppercase);
        let found = WORDS.iter().filter(|word| word.starts_with(&lower)).map(|word| {
            let word = if shout { word.to_uppercase() } else { word.to_string() };
            Pair { display: word.clone(), replacement: word }
        });
        Ok((start, found.collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.secret { Cow::Owned("*".repeat(line.chars().count())) } else { Cow::Borrowed(line) }
    }

    fn highlight_char(&self, _: &str, _: usize, _: rustyline::highlight::CmdKind) -> bool {
        self.secret
    }

    fn highlight_candidate<'c>(&self, candidate: &'c str, _: rustyline::CompletionType) -> Cow<'c, str> {
        Cow::Borrowed(candidate)
    }
}

impl Validator for Words {}
impl Helper for Words {}

/// A person at a terminal.
pub struct Terminal {
    editor: Option<Editor<Words, DefaultHistory>>,
    history: Option<PathBuf>,
}

impl Terminal {
    /// Opens the terminal and reads the history of earlier sessions.
    pub fn new() -> Terminal {
        let config = Config::builder().history_ignore_space(true).max_history_size(2000).map(|b| b.build());
        let mut editor = config.and_then(Editor::with_config).ok();
        let state = std::env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")));
        let history = state.map(|dir| dir.join("latchwork").join("sql-history"));
        if let Some(editor) = &mut editor {
            editor.set_helper(Some(Words::default()));
            if let Some(path) = &history {
                // The first session has no history file yet.
                let _ = editor.load_history(path);
            }
        }
        Terminal { editor, history }
    }
}

impl LineReader for Terminal {
    fn read(&mut self, prompt: &str) -> Result<String, NoLine> {
        let editor = self.editor.as_mut().ok_or(NoLine::Ended)?;
        editor.readline(prompt).map_err(|e| match e {
            ReadlineError::Interrupted => NoLine::Interrupted,
            _ => NoLine::Ended,
        })
    }

    fn read_secret(&mut self, prompt: &str) -> Result<String, NoLine> {
        let set = |terminal: &mut Terminal, secret: bool| {
            if let Some(editor) = &mut terminal.editor {
                // The highlighter draws the stars, so it must also be on without colours.
                editor.set_color_mode(if secret { ColorMode::Forced } else { ColorMode::Enabled });
                if let Some(words) = editor.helper_mut() {
                    words.secret = secret;
                }
            }
        };
        set(self, true);
        let line = self.read(prompt);
        set(self, false);
        line
    }

    fn is_terminal(&self) -> bool {
        true
    }

    fn remember(&mut self, statement: &str) {
        if let Some(editor) = &mut self.editor {
            let _ = editor.add_history_entry(statement.replace('\n', " "));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let (Some(editor), Some(path)) = (&mut self.editor, &self.history) {
            if let Some(dir) = path.parent() {
                let _ = std::fs::create_dir_all(dir);
            }
            let _ = editor.save_history(path);
        }
    }
}
