//! DBMS_OUTPUT's buffer.

use std::collections::VecDeque;
use types::{Ora, Result};

/// The longest line, in bytes.
const LINE_MAX: usize = 32767;

/// Lines that were written and not yet read.
#[derive(Default)]
pub struct Output {
    enabled: bool,
    /// The limit in bytes; `None` is unlimited.
    limit: Option<usize>,
    lines: VecDeque<String>,
    line: String,
    bytes: usize,
}

impl Output {
    pub fn set(&mut self, enabled: bool, limit: Option<usize>) {
        if !enabled {
            self.lines.clear();
            self.line.clear();
            self.bytes = 0;
        }
        self.enabled = enabled;
        self.limit = limit;
    }

    /// PUT.
    ///
    /// # Errors
    /// ORA-20000 with ORU-10028 for a line that is too long, ORU-10027 for a full buffer.
    pub fn put(&mut self, text: &str) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        if self.line.len() + text.len() > LINE_MAX {
            self.line.clear();
            return Err(Ora::user(
                20000,
                format!("ORU-10028: line length overflow, limit of {LINE_MAX} bytes per line"),
            ));
        }
        if let Some(limit) = self.limit
            && self.bytes + text.len() > limit
        {
            return Err(Ora::user(20000, format!("ORU-10027: buffer overflow, limit of {limit} bytes")));
        }
        self.bytes += text.len();
        self.line.push_str(text);
        Ok(())
    }

    /// NEW_LINE.
    pub fn new_line(&mut self) {
        if self.enabled {
            self.lines.push_back(std::mem::take(&mut self.line));
        }
    }

    /// Takes the oldest finished line.
    pub fn take(&mut self) -> Option<String> {
        let line = self.lines.pop_front()?;
        self.bytes = self.bytes.saturating_sub(line.len());
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_is_an_error_and_a_disabled_one_is_silent() {
        let mut o = Output::default();
        o.put("lost").unwrap();
        o.new_line();
        assert_eq!(o.take(), None);
        o.set(true, Some(10));
        o.put("12345").unwrap();
        o.new_line();
        let e = o.put("678901").unwrap_err();
        assert_eq!(e.to_string(), "ORA-20000: ORU-10027: buffer overflow, limit of 10 bytes");
        assert_eq!(o.take().as_deref(), Some("12345"));
        o.put("678901").unwrap();
    }
}
