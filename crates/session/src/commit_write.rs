//! COMMIT WRITE: whether a commit waits for its redo, and whether LGWR is asked to write the redo at once.

use params::{Param, SessionParams};

/// The parameters of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitWrite {
    /// A commit that does not wait asks LGWR to write at once.
    pub immediate: bool,
    wait: bool,
    /// All commits wait, also with NOWAIT in the statement.
    force_wait: bool,
}

impl Default for CommitWrite {
    fn default() -> Self {
        CommitWrite { immediate: true, wait: true, force_wait: false }
    }
}

impl CommitWrite {
    /// Reads `commit_logging` and `commit_wait`, or the older `commit_write` where they are unset.
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

    /// Whether a commit waits; `stated` is the choice of its statement.
    pub fn waits(self, stated: Option<bool>) -> bool {
        self.force_wait || stated.unwrap_or(self.wait)
    }
}
