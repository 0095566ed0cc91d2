//! The one error type of this crate.

use std::fmt;
use std::io;

/// A system call that failed: its name, its object, and the reason.
#[derive(Debug)]
pub struct OsError {
    /// The system call, as the manual names it.
    pub call: &'static str,
    /// The object of the call: a path, a size, an address. May be empty.
    pub what: String,
    /// The operating system's error.
    pub source: io::Error,
}

/// The result of a call into the operating system.
pub type OsResult<T> = Result<T, OsError>;

impl OsError {
    /// An error of `call` with the calling thread's `errno`.
    #[must_use]
    pub fn last(call: &'static str, what: impl Into<String>) -> Self {
        Self { call, what: what.into(), source: io::Error::last_os_error() }
    }

    /// An error of `call` from an error the standard library returned.
    #[must_use]
    pub fn from_io(call: &'static str, what: impl Into<String>, source: io::Error) -> Self {
        Self { call, what: what.into(), source }
    }

    /// Whether the name exists already (`EEXIST`).
    #[must_use]
    pub fn is_exists(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }

    /// An error of `call` with the given number.
    #[must_use]
    pub fn from_errno(call: &'static str, what: impl Into<String>, errno: i32) -> Self {
        Self { call, what: what.into(), source: io::Error::from_raw_os_error(errno) }
    }

    /// An error of `call` from the number that the call returned.
    pub(crate) fn of(call: &'static str, what: impl Into<String>, errno: rustix::io::Errno) -> Self {
        Self { call, what: what.into(), source: errno.into() }
    }

    /// The error number (`ENOENT`, `ENOSPC`, …), 0 where there is none.
    #[must_use]
    pub fn errno(&self) -> i32 {
        self.source.raw_os_error().unwrap_or(0)
    }

    /// True when the device or the quota is full (`ENOSPC`, `EDQUOT`).
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.errno(), libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
    }

    /// True when the call was interrupted by a signal.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.errno() == libc::EINTR
    }

    /// True when the call would have blocked on a non-blocking descriptor.
    #[must_use]
    pub fn would_block(&self) -> bool {
        self.errno() == libc::EAGAIN
    }
}

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.what.is_empty() {
            write!(f, "{}: {}", self.call, self.source)
        } else {
            write!(f, "{} ({}): {}", self.call, self.what, self.source)
        }
    }
}

impl std::error::Error for OsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
