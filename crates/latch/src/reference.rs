//! References: shared holds of a mutex that outlast a call, such as a cursor's for as long as it is executed.
//!
//! A [`crate::MutexHeld`] lies in one of the few holds of a process and ends with a scope. A reference is noted in a word that the
//! caller keeps for it, in shared memory that only its own process writes. What says whether the count includes a reference is the
//! word's stage, written before and after the count: a process that dies between the two leaves a doubt, and
//! [`Mutex::settle_references`] puts the count right from the words of all processes, with new references kept out meanwhile.
//!
//! A mutex has references or shared holds, never both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::client::Mode;
use crate::mutex::count_shared;
use crate::{Client, Mutex, MutexKind, Where};

/// The bits of a note that say its stage; the others are the caller's.
pub const STAGE: u64 = 3 << 62;
/// The count is about to include the reference, or not.
pub const TRYING: u64 = 1 << 62;
/// The count includes it.
pub const HELD: u64 = 2 << 62;
/// The count includes it no longer, or still does.
pub const FREEING: u64 = 3 << 62;

impl Client {
    /// Adds a reference, waiting while the mutex is held exclusively or others change the count. `what` is what `note` says
    /// besides the stage. Waits: those of `kind`, as a shared get.
    #[inline]
    pub fn refer(&self, mutex: &Mutex, kind: MutexKind, at: Where, idn: u64, note: &AtomicU64, what: u64) {
        let try_it = || {
            note.store(what & !STAGE | TRYING, Ordering::Relaxed);
            // The exchange releases: the note is there before it.
            if mutex.word().try_shared() {
                note.store(what & !STAGE | HELD, Ordering::Release); // not before the exchange, which acquires
                return true;
            }
            note.store(what & !STAGE, Ordering::Release);
            false
        };
        if !try_it() {
            self.wait_for_mutex(mutex, kind, Mode::MutexShared, at, idn, &try_it);
        }
        count_shared(mutex);
    }
}

impl Mutex {
    /// Ends a reference; `note` keeps what it says besides the stage.
    #[inline]
    pub fn end_reference(&self, note: &AtomicU64) {
        let what = note.load(Ordering::Relaxed) & !STAGE;
        note.store(what | FREEING, Ordering::Relaxed);
        self.word().free_shared();
        note.store(what, Ordering::Release);
    }

    /// Puts the number of references right. `certain` counts the notes of this mutex whose stage is [`HELD`], of the living and
    /// of the dead; it gives `None` while the note of a living process is at another stage, and is asked again.
    pub fn settle_references(&self, mut certain: impl FnMut() -> Option<u32>) {
        loop {
            // Held exclusively: there are none, and whoever was on the way in or out is not counted.
            let Some(before) = self.word().block() else { return };
            if let Some(count) = certain()
                && self.word().settle(before, count)
            {
                return;
            }
            os::clock::sleep(Duration::from_micros(50));
        }
    }

    /// Takes away one reference whose note says [`HELD`]: of a dead process.
    pub fn end_dead_reference(&self) {
        self.word().free_shared();
    }
}
