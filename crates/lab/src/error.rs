//! The error of a run.

use std::fmt;

/// The error of a run; the text is for the user.
#[derive(Debug)]
pub struct LabError {
    message: String,
}

impl LabError {
    pub(crate) fn new(message: String) -> LabError {
        LabError { message }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LabError {}

impl From<client::ClientError> for LabError {
    fn from(e: client::ClientError) -> LabError {
        LabError::new(e.to_string())
    }
}
