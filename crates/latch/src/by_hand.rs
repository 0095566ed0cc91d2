//! Latches held by hand: got in one call and freed in a later one. An administrator sees this way which sessions stop.
//!
//! The hold is noted like any other, so the views show it and recovery frees it when the holder dies. Only the guard is
//! forgotten; `free_by_hand` makes it again.

use std::sync::atomic::Ordering;

use crate::client::{Held, Mode, Noted, STAGE};
use crate::domain::HOLDS;
use crate::{Client, Latch, Where};

/// Why a latch was not got by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByHandError {
    /// The get was no-wait, and another process holds the latch.
    Busy,
    /// This process already holds the latch, or one of the same or a higher level: ORA-00600 `[504]`.
    Order,
    /// A shared get of a latch that cannot be shared: ORA-00600 `[545]`.
    NotShared,
    /// The process already holds the largest number of latches.
    Full,
}

impl Client {
    /// Gets a latch and keeps it until [`Client::free_by_hand`]. Waits, if `willing`, as long as it takes.
    ///
    /// # Errors
    /// The cases of [`ByHandError`]; nothing is held then.
    pub fn get_by_hand(
        &self,
        latch: &Latch,
        shared: bool,
        willing: bool,
        at: Where,
        why: u64,
    ) -> Result<(), ByHandError> {
        if shared && !latch.is_shared_capable() {
            return Err(ByHandError::NotShared);
        }
        if self.hold_of(latch).is_some() || willing && self.conflict(latch).is_some() {
            return Err(ByHandError::Order);
        }
        if self.held_count() as usize >= HOLDS - 4 {
            return Err(ByHandError::Full);
        }
        let held = match (shared, willing) {
            (false, true) => Some(self.get(latch, at, why)),
            (false, false) => self.try_get(latch, at, why),
            (true, true) => Some(self.get_shared(latch, at, why)),
            (true, false) => self.try_get_shared(latch, at, why),
        };
        held.map(std::mem::forget).ok_or(ByHandError::Busy)
    }

    /// Frees a latch that was got by hand. False when this process does not hold it.
    pub fn free_by_hand(&self, latch: &Latch) -> bool {
        let Some((hold, mode, place)) = self.hold_of(latch) else { return false };
        drop(Held { client: self, latch, versioned: None, noted: Noted { hold, mode, place } });
        true
    }

    /// Number, mode and place of the hold that this process has of a latch.
    fn hold_of(&self, latch: &Latch) -> Option<(u32, Mode, u32)> {
        let held = (0..HOLDS as u32).filter(|n| self.held_bits() & 1 << n != 0);
        held.into_iter().find_map(|n| {
            let hold = &self.slot.holds[n as usize];
            let place = hold.place.load(Ordering::Relaxed);
            let mode = Mode::from_number(place >> 12 & 0xf)?;
            let plain = matches!(mode, Mode::Exclusive | Mode::Shared);
            (plain && hold.address.load(Ordering::Relaxed) == latch.address()).then_some((n, mode, place & !STAGE))
        })
    }
}
