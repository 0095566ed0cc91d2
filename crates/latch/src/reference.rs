//! References: shared holds of a mutex that outlast a call, such as the pin of a cursor while it is executed.
//!
//! A [`crate::MutexHeld`] uses one of the few holds of a process and ends with a scope. A reference is noted in a word
//! that the caller provides, in shared memory written by its own process only. The stage in that word is written before
//! and after the change of the count and says whether the count includes the reference. A process that dies between the
//! two leaves a doubt; [`Mutex::settle_references`] then sets the count from the words of all processes while new
//! references are kept out.
//!
//! A mutex has references or shared holds, never both.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::client::Mode;
use crate::mutex::count_shared;
pub use crate::word::{FREEING, HELD, STAGE, TRYING};
use crate::{Client, Mutex, MutexKind, Where};

impl Client {
    /// Adds a reference, waiting while the mutex is held exclusively or other processes change the count. `what` is the
    /// content of `note` besides the stage. Waits: those of `kind`, as a shared get.
    #[inline]
    pub fn refer(&self, mutex: &Mutex, kind: MutexKind, at: Where, idn: u64, note: &AtomicU64, what: u64) {
        let try_it = || mutex.word().try_reference(note, what);
        if !try_it() {
            self.wait_for_mutex(mutex, kind, Mode::MutexShared, at, idn, &try_it);
        }
        count_shared(mutex);
        if self.is_sampled() {
            self.record_reference(mutex.address(), mutex.gets(), at);
        }
    }
}

impl Mutex {
    /// Ends a reference; the content of `note` besides the stage is kept.
    #[inline]
    pub fn end_reference(&self, note: &AtomicU64) {
        self.word().end_reference(note);
    }

    /// Sets the number of references. `certain` counts the notes of this mutex whose stage is [`HELD`], of living and
    /// dead processes. It returns `None` while the note of a living process is at another stage, and is called again.
    pub fn settle_references(&self, mut certain: impl FnMut() -> Option<u32>) {
        while !self.word().try_settle(&mut certain) {
            os::clock::sleep(Duration::from_micros(50));
        }
    }

    /// Removes one reference of a dead process whose note has the stage [`HELD`].
    pub fn end_dead_reference(&self) {
        self.word().free_shared();
    }
}
