//! The progress of the cleaning after a dead process.

/// Progress of the cleaning after a dead process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its changes are rolled back and its latches are free.
    Right,
    /// Its pins are free too, or are being freed.
    Unpinned,
}

/// A dead process that process `by` cleans up after. Lies in the private memory of `by`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dying {
    pub(crate) by: u32,
    pub(crate) number: u32,
    pub(crate) stage: Stage,
    pub(crate) cleaned: Cleaned,
}

/// The counts of one clean-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Words restored from micro-undo.
    pub words: u32,
    /// Latches and mutexes freed.
    pub latches: u32,
}
