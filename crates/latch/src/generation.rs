//! The periods whose designs can be run.

/// A generation of designs, oldest first: the parameter `latch_generation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u32)]
pub enum Generation {
    /// 8.1.7: exponential back-off, exclusive latches.
    V8_1_7,
    /// 9.2: wait list and post, shared latches.
    V9_2,
    /// 10.2: mutexes for cursors.
    V10_2,
    /// 11.1: result cache with one exclusive latch, pinned fast path.
    V11_1,
    /// 11.2.0.1: shorter holds of the result cache latch.
    V11_2_0_1,
    /// 11.2.0.3: shared gets of the result cache latch.
    V11_2_0_3,
    /// 12.1: row cache latches, three gets a lookup.
    V12_1,
    /// 12.2: row cache mutexes, two gets a lookup.
    V12_2,
    /// 12.2 with copies of hot row cache objects.
    V12_2HotCopies,
    /// Versioned reads everywhere.
    #[default]
    Latchwork,
}

impl Generation {
    /// All of them, oldest first.
    pub const ALL: [Self; 10] = [
        Self::V8_1_7,
        Self::V9_2,
        Self::V10_2,
        Self::V11_1,
        Self::V11_2_0_1,
        Self::V11_2_0_3,
        Self::V12_1,
        Self::V12_2,
        Self::V12_2HotCopies,
        Self::Latchwork,
    ];

    /// Their names, as the parameter spells them.
    pub const NAMES: [&'static str; 10] =
        ["8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"];

    /// Its name, as the parameter spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The generation of this name, in either case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|g| g.name().eq_ignore_ascii_case(name))
    }

    /// The generation that [`Self`] `as u32` gave; the newest for any other number.
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or_default()
    }
}
