//! The operating system's part of an error.

use types::{Facility, Ora};

/// The operating system's part of an error stack: `ORA-270nn: text`, followed by the text of the system's error.
pub(crate) fn io_error(code: u32, text: &str, e: &os::OsError) -> Ora {
    Ora::from_text(Facility::Ora, code, format!("{text}\nLinux Error: {}: {e}", e.errno()))
}
