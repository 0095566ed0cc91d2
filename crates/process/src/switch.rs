//! Switching the design of a structure that processes are inside of.

use std::time::Duration;

use latch::{DesignWord, InForce, Latch, Structure, Where};
use types::{Ora, Result};

use crate::handle::Process;
use crate::section::Section;

/// The longest wait for the processes inside. They hold latches and mutexes for microseconds; a process that was
/// stopped there by an administrator keeps the structure closed until the wait is over.
const WAIT_NS_MAX: u64 = 10_000_000_000;
/// That of a background process: PMON has to clean up behind others.
const BACKGROUND_WAIT_NS_MAX: u64 = 100_000_000;
/// Looks before the switching process sleeps between them.
const LOOKS: u32 = 100;
const SLEEP: Duration = Duration::from_micros(20);

impl Process {
    /// Switches a structure to design `next` when no process is inside: new entries wait meanwhile. `before` runs
    /// before the next design is in force; the former one may be in force again by then. The caller keeps other
    /// switches out, holds no latch, and is not inside.
    ///
    /// # Errors
    /// ORA-00051 when processes stay inside for seconds, the structure cannot be closed, or this process was stopped
    /// for so long that another one has opened the structure; ORA-00028, ORA-01013. The former design stays in force
    /// then.
    pub fn switch_design(&self, structure: Structure, next: u8, before: impl FnOnce()) -> Result<InForce> {
        let closed = self.latches().close(structure, next).ok_or_else(|| Ora::new(51))?;
        faults::point("switch-closed"); // new entries wait
        self.until_left(|| closed.is_empty())?;
        before();
        faults::point("switch-empty"); // nobody is inside; the former design is in force
        let now = closed.open().ok_or_else(|| Ora::new(51))?;
        faults::point("switch-open");
        Ok(now)
    }

    /// Puts a design into force whose word is not closed, and waits until no process is inside by a former one. The
    /// caller keeps other switches out.
    ///
    /// # Errors
    /// ORA-00051 when processes stay inside for seconds; ORA-00028, ORA-01013. The new design is in force nevertheless.
    pub fn replace_design(&self, structure: Structure, word: &DesignWord, next: u8) -> Result<InForce> {
        // A kernel without the barrier refuses it before anything is changed.
        if !os::cpu::barrier_in_all() {
            return Err(Ora::new(51));
        }
        let now = word.put(next);
        faults::point("switch-put"); // the new design is in force, and some are inside by the former one
        let _ = os::cpu::barrier_in_all(); // pairs with the light barrier of entries
        self.until_left(|| self.all().domain().has_left(structure, Some(now)))?;
        faults::point("switch-left");
        Ok(now)
    }

    /// Gets a latch that a switch needs. PMON must not wait for a process that is stopped in a hold.
    ///
    /// # Errors
    /// ORA-00051 for a background process, when the latch is held for too long.
    pub fn lock_for_switch<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Result<Section<'a>> {
        if !self.slot().is_background() {
            return Ok(self.lock(latch, at, why));
        }
        let deadline = os::clock::now_ns() + BACKGROUND_WAIT_NS_MAX;
        loop {
            match self.try_lock(latch, at, why) {
                Some(section) => return Ok(section),
                None if os::clock::now_ns() > deadline => return Err(Ora::new(51)),
                None => os::clock::sleep(SLEEP),
            }
        }
    }

    fn until_left(&self, is_empty: impl Fn() -> bool) -> Result<()> {
        for _ in 0..LOOKS {
            if is_empty() {
                return Ok(());
            }
            os::cpu::relax();
        }
        let most_ns = if self.slot().is_background() { BACKGROUND_WAIT_NS_MAX } else { WAIT_NS_MAX };
        let deadline = os::clock::now_ns() + most_ns;
        while !is_empty() {
            self.check_cancel()?;
            self.help_the_dead();
            if os::clock::now_ns() > deadline {
                return Err(Ora::new(51));
            }
            os::clock::sleep(SLEEP);
        }
        Ok(())
    }
}
