//! Refused logons: the list of refusing errors, texts of clients for logs, and commits without a wait for the disk.

use instance::Instance;
use process::Process;
use types::{Ora, Result};

/// Runs `f`, which commits, without waiting for the disk: LGWR writes within seconds. While the archiver has failed,
/// `f` does not run: its write could wait for the archiver, and the administrator who repairs it must be able to log
/// on.
///
/// # Errors
/// ORA-00257 while the archiver has failed; those of `f`.
pub(crate) fn unwaited<R>(instance: &Instance, p: &Process, f: impl FnOnce() -> Result<R>) -> Result<R> {
    use redo::RedoSink;
    let redo = instance.storage().redo;
    if has_archiver_failed(instance) {
        return Err(Ora::new(257));
    }
    let earlier = redo.noted_commit(p);
    let done = f();
    redo.forget_commit(p, earlier, false);
    done
}

/// True when a write of redo may have to wait for the repair of the archiver.
pub(crate) fn has_archiver_failed(instance: &Instance) -> bool {
    !instance.storage().redo.archive_failure().is_empty()
}

/// True for an error that refuses a logon; with any other error the logon has failed.
pub(crate) fn is_refusal(e: &Ora) -> bool {
    [1005, 1017, 1031, 1035, 1045, 2391, 28000, 28001, 28009, 28150, 28183].iter().any(|code| e.is(*code))
}

/// Makes a client's text fit for a line of a log: at most 64 characters, none of them a control character.
pub(crate) fn clean(text: &str) -> String {
    let mut out: String = text.chars().take(64).map(|c| if c.is_control() { '?' } else { c }).collect();
    if out.is_empty() {
        out.push('-');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_says_is_one_short_line() {
        assert_eq!(clean("a\nb\u{1b}[31m"), "a?b?[31m");
        assert_eq!(clean(""), "-");
        assert_eq!(clean(&"x".repeat(1000)).len(), 64);
    }
}
