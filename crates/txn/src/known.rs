//! Commit SCNs that this process has found in undo.

use std::collections::HashMap;
use types::{Scn, Xid};

/// The most commit SCNs that a process remembers.
const KNOWN_MAX: usize = 8192;

/// Commit SCNs found in undo. They never become invalid: a transaction has only one.
#[derive(Default)]
pub(crate) struct Known(pub(crate) HashMap<Xid, Scn>);

impl Known {
    pub(crate) fn note(&mut self, xid: Xid, scn: Scn) {
        if self.0.len() >= KNOWN_MAX {
            self.0.clear();
        }
        self.0.insert(xid, scn);
    }
}
