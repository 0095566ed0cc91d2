//! Switching the design of a lookup while sessions run.
//!
//! All designs read the same chains, and all changes are made under the child latch of the cache. Only readers by mutex
//! rely on more: a process that changes a chain also gets the mutexes of its bucket and its objects (R3). So only they
//! enter the structure with a mark (`latch::Inside`); readers by latch and versioned readers go on during a switch.
//!
//! The changers' habit is a word of each cache (`shuts`), changed under its child latch, so it needs no marks. It is on
//! before the first reader by mutex comes, and off after the last one has left. Copies of hot objects stay in their
//! chains in the other designs, unread; a change of a row takes them out from the first copy on (`copied`). `copied`
//! stays on for the life of the instance, since copies may remain anywhere.
//!
//! A switching process that dies leaves the former design, or the next one. The word may then stay on in a design
//! without mutexes: changes cost two mutexes more until the next switch, and nothing is wrong.

use std::sync::atomic::Ordering;

use latch::{InForce, Structure, Where};
use process::Process;
use types::Result;

use crate::{Cache, Design, RowCache};

fn has_mutexes(design: Design) -> bool {
    matches!(design, Design::Mutex | Design::HotCopies)
}

impl RowCache {
    /// Prepares the words of changers for the first design.
    pub(crate) fn prepare(&self, design: Design) {
        self.control.copied.store((design == Design::HotCopies).into(), Ordering::Relaxed);
        self.caches.iter().for_each(|line| line.shuts.store(has_mutexes(design).into(), Ordering::Relaxed));
    }

    /// Puts another design into force, after the readers by mutex have left the former one. The caller keeps other
    /// switches out. Latches: none held on entry or return; each child latch once or twice.
    ///
    /// # Errors
    /// ORA-00051, ORA-00028, ORA-01013: the former design stays in force.
    pub fn switch(&self, p: &Process, design: Design) -> Result<InForce> {
        if has_mutexes(design) {
            self.set_shuts(p, true)?;
        }
        let now = p.switch_design(Structure::RowCache, design as u8, || {
            if design == Design::HotCopies {
                // Before the word: a process that sees a copy sees this.
                self.control.copied.store(1, Ordering::Relaxed);
            }
        })?;
        if !has_mutexes(design) {
            // The next design is in force: what fails here costs time only.
            let _ = self.set_shuts(p, false);
        }
        Ok(now)
    }

    fn set_shuts(&self, p: &Process, on: bool) -> Result<()> {
        for (line, cache) in self.caches.iter().zip(Cache::all()) {
            if line.shuts.load(Ordering::Relaxed) != u64::from(on) {
                let section = p.lock_for_switch(self.latch(cache), Where::KqrCreate, cache.id().into())?;
                section.set(&line.shuts, on.into());
            }
        }
        faults::point("switch-shuts");
        Ok(())
    }
}
