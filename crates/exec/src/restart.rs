//! Restarting a statement with a new snapshot.

/// Internal error by which a row source asks for a restart of the statement with a new snapshot; the cursor handles it.
pub const RESTART: u32 = 8177;

/// A row has changed since the statement's snapshot.
pub fn restart() -> types::Ora {
    types::Ora::new(RESTART)
}
