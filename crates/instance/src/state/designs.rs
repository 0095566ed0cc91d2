//! The session that holds switched designs: they go back when it ends, however it ends.

use super::words::{SWITCHED_MAX, State};
use std::sync::atomic::Ordering;

impl State {
    /// The session that holds the designs that it switches: SID and SERIAL#.
    pub fn design_holder(&self) -> Option<(u32, u64)> {
        // Pairs with the Release in `set_design_holder`: the bits are those of this holder.
        let word = self.fixed.design_holder.load(Ordering::Acquire);
        (word != 0).then_some(((word >> 32) as u32, word & u64::from(u32::MAX)))
    }

    /// Makes a session the holder, or none. The caller has the parameter enqueue.
    pub fn set_design_holder(&self, holder: Option<(u32, u64)>) {
        self.fixed.designs_held.store(0, Ordering::Relaxed);
        let word = holder.map_or(0, |(sid, serial)| u64::from(sid) << 32 | serial & u64::from(u32::MAX));
        self.fixed.design_holder.store(word, Ordering::Release);
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
