//! Results of a call apart from its rows.

use net::StatementKind;
use net::local::Failure;
use types::Ora;

/// Whether a connection goes on after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    End,
}

/// The first wanted row of a scrollable query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrollTo {
    /// The row of that number, from 1.
    Row(u64),
    Last,
}

/// An error in the form of its packet.
pub(crate) fn failure_of(e: &Ora, kind: StatementKind) -> Failure {
    Failure {
        facility: e.facility().prefix().to_string(),
        code: e.code(),
        text: e.to_string(),
        position: e.position(),
        kind,
        fatal: false,
    }
}
