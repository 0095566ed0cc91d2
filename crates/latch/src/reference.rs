//! References: shared holds of a mutex that outlast a call, such as a cursor's for as long as it is executed.
//!
//! A [`crate::MutexHeld`] lies in one of the few holds of a process and ends with a scope. A reference is noted in a
//! word that the caller keeps for it, in shared memory that only its own process writes. What says whether the count
//! includes a reference is the word's stage, written before and after the count: a process that dies between the two
//! leaves a doubt, and [`Mutex::settle_references`] puts the count right from the words of all processes, with new
//! references kept out meanwhile.
//!
//! A mutex has references or shared holds, never both.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::client::Mode;
use crate::mutex::count_shared;
pub use crate::word::{FREEING, HELD, STAGE, TRYING};
use crate::{Client, Mutex, MutexKind, Where};

impl Client {
    /// Adds a reference, waiting while the mutex is held exclusively or others change the count. `what` is what `note`
    /// says besides the stage. Waits: those of `kind`, as a shared get.
    #[inline]
    pub fn refer(&self, mutex: &Mutex, kind: MutexKind, at: Where, idn: u64, note: &AtomicU64, what: u64) {
        let try_it = || mutex.word().try_reference(note, what);
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
        self.word().end_reference(note);
    }

    /// Puts the number of references right. `certain` counts the notes of this mutex whose stage is [`HELD`], of the
    /// living and of the dead; it gives `None` while the note of a living process is at another stage, and is asked
    /// again.
    pub fn settle_references(&self, mut certain: impl FnMut() -> Option<u32>) {
        while !self.word().try_settle(&mut certain) {
            os::clock::sleep(Duration::from_micros(50));
        }
    }

    /// Takes away one reference whose note says [`HELD`]: of a dead process.
    pub fn end_dead_reference(&self) {
        self.word().free_shared();
    }
}
