//! The error of a reader.

use std::fmt;

/// A file that cannot be read, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The same error with the name of its column in front.
    pub(crate) fn in_column(self, name: &str) -> Self {
        Self::new(format!("column '{name}': {}", self.message))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
