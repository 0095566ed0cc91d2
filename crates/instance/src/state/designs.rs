//! The session that holds switched designs: they go back when it ends, however it ends. The session that records latch
//! gets: its recording ends with it.

use super::words::{SWITCHED_MAX, State};
use std::sync::atomic::Ordering;

impl State {
    /// The session that holds the designs that it switches: SID and SERIAL#.
    pub fn design_holder(&self) -> Option<(u32, u64)> {
        // Pairs with the Release in `set_design_holder`: the bits are those of this holder.
        session_of(self.fixed.design_holder.load(Ordering::Acquire))
    }

    /// Makes a session the holder, or none. The caller has the parameter enqueue.
    pub fn set_design_holder(&self, holder: Option<(u32, u64)>) {
        self.fixed.designs_held.store(0, Ordering::Relaxed);
        self.fixed.design_holder.store(word_of(holder), Ordering::Release);
    }

    /// The session whose recording of latch gets ends with it.
    pub fn recording_session(&self) -> Option<(u32, u64)> {
        session_of(self.fixed.recording_session.load(Ordering::Relaxed))
    }

    /// Makes a session the one that records, or none. The caller has the parameter enqueue.
    pub fn set_recording_session(&self, session: Option<(u32, u64)>) {
        self.fixed.recording_session.store(word_of(session), Ordering::Relaxed);
    }

    /// Notes the design of a structure before the holder's first switch of it. The caller has the parameter enqueue. A
    /// process that dies here leaves no bit, or one with its design.
    pub fn hold_design(&self, structure: usize, before: u64) {
        let held = self.fixed.designs_held.load(Ordering::Relaxed);
        if held & 1 << structure == 0 {
            self.fixed.designs_before[structure].store(before, Ordering::Relaxed);
            // Pairs with the Acquire in `held_designs`.
            self.fixed.designs_held.store(held | 1 << structure, Ordering::Release);
        }
    }

    /// Forgets the design before: the structure's design stays when the holder ends. The caller has the parameter
    /// enqueue.
    pub fn release_design(&self, structure: usize) {
        let held = self.fixed.designs_held.load(Ordering::Relaxed);
        self.fixed.designs_held.store(held & !(1 << structure), Ordering::Release);
    }

    /// The structures that the holder has switched, each with the design before.
    pub fn held_designs(&self) -> Vec<(usize, u64)> {
        let held = self.fixed.designs_held.load(Ordering::Acquire);
        let before = |structure: usize| self.fixed.designs_before[structure].load(Ordering::Relaxed);
        (0..SWITCHED_MAX).filter(|structure| held & 1 << structure != 0).map(|s| (s, before(s))).collect()
    }
}

/// SID and SERIAL# of a word; 0 has none.
fn session_of(word: u64) -> Option<(u32, u64)> {
    (word != 0).then_some(((word >> 32) as u32, word & u64::from(u32::MAX)))
}

fn word_of(session: Option<(u32, u64)>) -> u64 {
    session.map_or(0, |(sid, serial)| u64::from(sid) << 32 | serial & u64::from(u32::MAX))
}
