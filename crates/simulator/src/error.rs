//! Errors of files and of questions.

use std::fmt;

/// A file, a value or a question that cannot be used: the place in it, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// An error at a line of a text, counted from 1.
    pub(crate) fn at(line: usize, message: impl fmt::Display) -> Self {
        Self::new(format!("line {line}: {message}"))
    }

    /// The same error with the name of its file in front.
    #[must_use]
    pub fn in_file(self, file: impl fmt::Display) -> Self {
        Self::new(format!("{file}: {}", self.message))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
