//! A child process that answers a line with a line, or with lines up to a known one.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::LabError;

/// A running child. Dropping it closes its input and waits for its end.
pub struct Lines {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Lines {
    /// # Errors
    /// When the program cannot be run.
    pub fn start(mut command: Command) -> Result<Lines, LabError> {
        let program = command.get_program().to_string_lossy().into_owned();
        // A process group of its own: the first Ctrl-C at the terminal ends the run behind the current cell.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| LabError::new(format!("{program}: {e}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        match output {
            Some(output) => Ok(Lines { child, input, output: BufReader::new(output) }),
            None => Err(LabError::new(format!("{program}: it has no output"))),
        }
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends text and returns the line that answers it.
    ///
    /// # Errors
    /// The child's text on standard error, when it has ended instead.
    pub fn answer(&mut self, text: &str) -> Result<String, LabError> {
        self.send(text);
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) | Err(_) => Err(self.why(Vec::new())),
            Ok(_) => Ok(line.trim_end().to_string()),
        }
    }

    /// A child that has ended tells the reason where its answer is read.
    fn send(&mut self, text: &str) {
        let _ = self.input.as_mut().map(|input| input.write_all(text.as_bytes()).and_then(|()| input.flush()));
    }

    /// Sends text and returns the lines before `end`.
    ///
    /// # Errors
    /// The child's text on standard error, when it has ended instead.
    pub fn ask(&mut self, text: &str, end: &str) -> Result<Vec<String>, LabError> {
        self.send(text);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            match self.output.read_line(&mut line) {
                Ok(0) | Err(_) => return Err(self.why(lines)),
                Ok(_) if line.trim_end() == end => return Ok(lines),
                Ok(_) => lines.push(line.trim_end().to_string()),
            }
        }
    }

    fn why(&mut self, lines: Vec<String>) -> LabError {
        let mut text = lines.join("\n");
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut text);
        }
        LabError::new(if text.trim().is_empty() { "it has ended".into() } else { text.trim().to_string() })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_answers_and_its_last_words_are_the_error() {
        let mut command = Command::new("sh");
        command.args(["-c", "read a; echo \"one $a\"; echo end; read b; echo \"no $b\" >&2; exit 3"]);
        let mut lines = Lines::start(command).unwrap();
        assert_eq!(lines.ask("x\n", "end").unwrap(), ["one x"]);
        assert_eq!(lines.ask("y\n", "end").unwrap_err().to_string(), "no y");
    }
}
