//! Entering the library cache by the design in force, and switching that design while sessions run.
//!
//! The designs protect the same chains and lists by different locks, so two of them must not change a bucket at the
//! same time. A process that takes a lock of the cache enters it with a mark (`latch::Inside`), and a switch closes the
//! cache until all have left: microseconds, since nothing is held across I/O, compilation or an execution. A versioned
//! reader has no mark: it looks at the word of the design before and after its read, and reads again when a switch came
//! between.
//!
//! Pins outlast a switch, because an execution may last for hours. The word of a pin has its kind, and the pin ends by
//! the rule of that kind; `LibraryCache::shut_out_pins` looks at the counts of all kinds.

use std::sync::atomic::{Ordering, fence};

use latch::{InForce, Inside, Structure};
use process::Process;
use types::Result;

use crate::{Design, LibraryCache};

/// The design that the process has entered by.
#[inline]
pub(crate) fn design_of(inside: &Inside<'_>) -> Design {
    Design::from_code(inside.code()).unwrap_or(Design::Versioned)
}

impl LibraryCache {
    /// Enters the cache; the design stays what it is for the process until it leaves (L22).
    #[inline]
    pub(crate) fn enter<'a>(&self, p: &'a Process) -> Inside<'a> {
        p.latches().enter(Structure::LibraryCache, self.design)
    }

    /// Runs a versioned read in the versioned design, again when another switch came between, and `locked` in the
    /// other designs.
    #[inline]
    pub(crate) fn read_by_design<R>(
        &self,
        p: &Process,
        mut versioned: impl FnMut() -> R,
        mut locked: impl FnMut(Design) -> R,
    ) -> R {
        loop {
            let before = self.design.now();
            if before.code() == Design::Versioned.code() {
                let seen = versioned();
                // Pairs with the Release stores of sections: a reader of a write of another design sees the word that
                // its writer saw. The check of the version has such a fence, too, but a read that ended under the latch
                // has not.
                fence(Ordering::Acquire);
                if self.design.now().epoch() == before.epoch() {
                    return seen;
                }
                continue;
            }
            let inside = self.enter(p);
            match design_of(&inside) {
                Design::Versioned => {}
                design => return locked(design),
            }
        }
    }

    /// Puts another design into force, when all processes have left the cache; new entries wait meanwhile. The caller
    /// keeps other switches out and holds no latch.
    ///
    /// # Errors
    /// ORA-00051, ORA-00028, ORA-01013: the former design stays in force.
    pub fn switch(&self, p: &Process, design: Design) -> Result<InForce> {
        p.switch_design(Structure::LibraryCache, design.code(), || ())
    }
}
