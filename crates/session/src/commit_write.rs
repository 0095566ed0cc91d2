//! COMMIT WRITE: whether a commit is waited for, and whether its redo is written at once.

use params::{Param, SessionParams};

/// The parameters of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitWrite {
    /// Without waiting: LGWR is asked to write at once.
    pub immediate: bool,
    wait: bool,
    /// Whatever the statement says.
    force_wait: bool,
}

impl Default for CommitWrite {
    fn default() -> Self {
        CommitWrite { immediate: true, wait: true, force_wait: false }
    }
}

impl CommitWrite {
    /// `commit_logging` and `commit_wait`; where they are unset, the older `commit_write`.
    pub fn of(params: &SessionParams) -> CommitWrite {
        let old = params.get(Param::CommitWrite).to_ascii_uppercase();
        let old_says = |word: &str| old.split(',').any(|w| w.trim() == word);
        let (logging, wait) = (params.get(Param::CommitLogging), params.get(Param::CommitWait));
        CommitWrite {
            immediate: if logging.is_empty() { !old_says("BATCH") } else { logging != "BATCH" },
            wait: if wait.is_empty() { !old_says("NOWAIT") } else { wait != "NOWAIT" },
            force_wait: wait == "FORCE_WAIT",
        }
    }

    /// Whether a commit is waited for when its statement says `stated`.
    pub fn waits(self, stated: Option<bool>) -> bool {
        self.force_wait || stated.unwrap_or(self.wait)
    }
}
