//! The number of owners in each mode of one resource, packed into one word (invariant 3).

use crate::LockMode;

/// The number of locks owned in each mode. N is not counted: it is compatible with every mode.
///
/// X and SSX have at most one owner, since neither is compatible with itself; the others have fewer than a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes(pub(crate) u64);

const SHARE: u32 = 0;
const SUB_EXCLUSIVE: u32 = 20;
const SUB_SHARE: u32 = 40;
const SHARE_SUB_EXCLUSIVE: u32 = 60;
const EXCLUSIVE: u32 = 62;

const S: u64 = (1 << 20) - 1;
const SX: u64 = S << SUB_EXCLUSIVE;
const SS: u64 = S << SUB_SHARE;
const SSX: u64 = 3 << SHARE_SUB_EXCLUSIVE;
const X: u64 = 3 << EXCLUSIVE;

/// The count of one lock in a mode.
fn one(mode: LockMode) -> u64 {
    match mode {
        LockMode::None | LockMode::Null => 0,
        LockMode::SubShare => 1 << SUB_SHARE,
        LockMode::SubExclusive => 1 << SUB_EXCLUSIVE,
        LockMode::Share => 1 << SHARE,
        LockMode::ShareSubExclusive => 1 << SHARE_SUB_EXCLUSIVE,
        LockMode::Exclusive => 1 << EXCLUSIVE,
    }
}

impl Modes {
    /// With one more lock in this mode.
    pub(crate) fn with(self, mode: LockMode) -> Self {
        Self(self.0.wrapping_add(one(mode)))
    }

    /// With one lock less in this mode; mode none, of a lock that is not owned yet, is not counted.
    pub(crate) fn without(self, mode: LockMode) -> Self {
        Self(self.0.wrapping_sub(one(mode)))
    }

    /// True when `mode` is compatible with all of them.
    pub(crate) fn go_with(self, mode: LockMode) -> bool {
        let apart = match mode {
            LockMode::None | LockMode::Null => 0,
            LockMode::SubShare => X,
            LockMode::SubExclusive => S | SSX | X,
            LockMode::Share => SX | SSX | X,
            LockMode::ShareSubExclusive => S | SX | SSX | X,
            LockMode::Exclusive => S | SX | SS | SSX | X,
        };
        self.0 & apart == 0
    }
}
