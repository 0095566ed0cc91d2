//! Freeing the latches and mutexes of a dead process.
//!
//! The caller has rolled back the dead process's changes. An exclusive word carries the holder's number, so there is no
//! doubt. A shared count carries none: when a process was killed between its note and the change of the count, the
//! count may or may not include it. Recovery then stops new shared gets; once no living process is entering or leaving,
//! the count beyond the certain holders belongs to dead processes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::client::{HELD, Mode, STAGE, WAITING};
use crate::domain::{Domain, Hold};
use crate::mutex::Mutex;
use crate::word::{EXCLUSIVE, LOW, MUTEX_BLOCKING};
use crate::{Latch, Versioned};

/// The work done for one dead process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Latches and mutexes freed.
    pub freed: u32,
    /// Versions that were odd.
    pub versions: u32,
}

/// Whether that many bytes at an address are shared memory.
pub type IsShared<'a> = &'a dyn Fn(u64, usize) -> bool;

/// The caller's knowledge about memory and processes.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Whether that many bytes at an address lie in the memory of the domain. Other addresses are not read.
    pub is_shared: IsShared<'a>,
    /// Whether a process still runs.
    pub is_alive: &'a dyn Fn(u32) -> bool,
}

impl Domain {
    /// Frees every latch and mutex that process `number` holds, and takes it out of the lists of waiters.
    ///
    /// The process must be dead and its changes rolled back.
    ///
    /// # Panics
    /// There is no such process number.
    pub fn recover(&self, number: u32, known: Known<'_>) -> Recovered {
        let slot = &self.slots[number as usize - 1];
        let mut done = Recovered::default();
        for hold in &slot.holds {
            let address = hold.address.load(Ordering::Acquire);
            if address != 0 {
                self.recover_hold(number, hold, address, known, &mut done);
                hold.address.store(0, Ordering::Release);
            }
        }
        self.recover_wait(number, known.is_shared);
        self.recover_inside(number);
        // A call that the process was in has no end.
        if let Some(ring) = self.rings.of(number) {
            ring.close();
        }
        done
    }

    fn recover_hold(&self, number: u32, hold: &Hold, address: u64, known: Known<'_>, done: &mut Recovered) {
        let is_shared = known.is_shared;
        let place = hold.place.load(Ordering::Relaxed);
        match Mode::from_number(place >> 12 & 0xf) {
            Some(mode @ (Mode::Exclusive | Mode::Versioned)) => {
                let Some(latch) = latch_at(address, is_shared) else { return };
                if latch.word.peek() != EXCLUSIVE | number {
                    return; // an intent that did not succeed, or a hold already freed
                }
                if mode == Mode::Versioned
                    && let Some(versioned) = versioned_of(address, is_shared)
                    && versioned.version.is_odd()
                {
                    versioned.version.write_end();
                    done.versions += 1;
                }
                latch.word.free_exclusive();
                done.freed += 1;
                self.post_behind(latch);
            }
            Some(Mode::Shared) => {
                let Some(latch) = latch_at(address, is_shared) else { return };
                if place & STAGE == HELD {
                    latch.word.free_shared();
                    done.freed += 1;
                } else {
                    done.freed += self.recover_shared_count(number, latch, address, known);
                }
                self.post_behind(latch);
            }
            Some(Mode::MutexExclusive) => {
                let Some(mutex) = mutex_at(address, is_shared) else { return };
                if mutex.value() >> 32 == u64::from(number) {
                    mutex.word().free_exclusive();
                    done.freed += 1;
                }
            }
            Some(Mode::MutexShared) => {
                let Some(mutex) = mutex_at(address, is_shared) else { return };
                if place & STAGE == HELD {
                    mutex.word().free_shared();
                    done.freed += 1;
                } else {
                    done.freed += self.recover_mutex_count(number, mutex, address, known);
                }
            }
            None => {}
        }
    }

    /// Counts the processes that certainly hold the address shared, dead ones included; `None` while a living process
    /// is entering or leaving. Another dead process in doubt is not counted: its hold is removed with the one being
    /// recovered.
    fn certain_holders(&self, dead: u32, address: u64, known: Known<'_>) -> Option<u32> {
        let mut count = 0;
        for (number, hold) in self.shared_holds(address).filter(|(number, _)| *number != dead) {
            let place = hold.place.load(Ordering::Acquire);
            let waits = self.waiting[number as usize - 1].load(Ordering::Acquire) == address;
            if place & STAGE == HELD {
                count += 1;
            } else if place & STAGE != WAITING && !waits && (known.is_alive)(number) {
                return None;
            }
        }
        Some(count)
    }

    /// The holds of an address in a shared mode, at any stage, with their processes.
    fn shared_holds(&self, address: u64) -> impl Iterator<Item = (u32, &'static Hold)> {
        self.used().iter().enumerate().flat_map(move |(n, slot)| {
            let here = slot.holds.iter().filter(move |h| h.address.load(Ordering::Acquire) == address);
            let shared = here.filter(|h| {
                let mode = Mode::from_number(h.place.load(Ordering::Acquire) >> 12 & 0xf);
                matches!(mode, Some(Mode::Shared | Mode::MutexShared))
            });
            shared.map(move |h| (n as u32 + 1, h))
        })
    }

    /// Forgets the doubtful holds of other dead processes, once the count is right.
    fn forget_doubtful(&self, dead: u32, address: u64, known: Known<'_>) {
        for (number, hold) in self.shared_holds(address).filter(|(number, _)| *number != dead) {
            if hold.place.load(Ordering::Acquire) & STAGE != HELD && !(known.is_alive)(number) {
                hold.address.store(0, Ordering::Release);
            }
        }
    }

    fn recover_shared_count(&self, dead: u32, latch: &Latch, address: u64, known: Known<'_>) -> u32 {
        loop {
            let seen = latch.word.peek();
            if seen & EXCLUSIVE != 0 || seen & LOW == 0 {
                return 0;
            }
            // The blocking mark keeps the count from rising, so an unchanged word means that no holder left either.
            if latch.word.block()
                && let before = latch.word.peek()
                && before & EXCLUSIVE == 0
                && let Some(living) = self.certain_holders(dead, address, known)
                && latch.word.peek() == before
            {
                let extra = (before & LOW).saturating_sub(living);
                if extra == 0 || latch.word.take_away_shared(before, extra) {
                    self.forget_doubtful(dead, address, known);
                    latch.word.unblock();
                    return extra;
                }
            }
            os::clock::sleep(Duration::from_micros(50));
        }
    }

    /// The blocking mark keeps new holds out, so the count can only fall. If the word is unchanged after the holders
    /// were counted, no holder has come or gone.
    fn recover_mutex_count(&self, dead: u32, mutex: &Mutex, address: u64, known: Known<'_>) -> u32 {
        loop {
            // `peek` includes the mark, which `value` leaves out: the mark must not remain when the last hold goes.
            if mutex.word().peek() == 0 {
                return 0;
            }
            // `None`: held exclusively, so there are no shared holds, and a process that is entering or leaving is not
            // counted.
            let Some(before) = mutex.word().block() else { return 0 };
            if let Some(living) = self.certain_holders(dead, address, known)
                && mutex.word().settle(before, living)
            {
                self.forget_doubtful(dead, address, known);
                return (before & (MUTEX_BLOCKING - 1)).saturating_sub(u64::from(living)) as u32;
            }
            os::clock::sleep(Duration::from_micros(50));
        }
    }

    /// The dead waiter may have been the one that was posted, or the one that set the blocking mark.
    fn recover_wait(&self, number: u32, is_shared: IsShared) {
        let n = number as usize - 1;
        let address = self.waiting[n].swap(0, Ordering::AcqRel);
        self.slots[n].sleeping.store(0, Ordering::Relaxed);
        if address == 0 {
            return;
        }
        if let Some(latch) = latch_at(address, is_shared) {
            latch.word.unblock();
            self.post_behind(latch);
        }
    }

    fn post_behind(&self, latch: &Latch) {
        if latch.has_waiters() {
            self.post_waiters(latch);
        }
    }
}

#[allow(unsafe_code)]
fn at<T: os::SharedLayout>(address: u64, is_shared: IsShared) -> Option<&'static T> {
    if address == 0 || !address.is_multiple_of(align_of::<T>() as u64) || !is_shared(address, size_of::<T>()) {
        return None;
    }
    // SAFETY: aligned, and in the shared memory of the domain, which is never unmapped (contract of `is_shared`); any
    // bit pattern there is a valid `T`, because `T` is `SharedLayout`.
    Some(unsafe { &*(address as *const T) })
}

fn latch_at(address: u64, is_shared: IsShared) -> Option<&'static Latch> {
    at(address, is_shared)
}

fn mutex_at(address: u64, is_shared: IsShared) -> Option<&'static Mutex> {
    at(address, is_shared)
}

/// The versioned structure that the latch at `address` belongs to.
fn versioned_of(address: u64, is_shared: IsShared) -> Option<&'static Versioned> {
    at(address.checked_sub(std::mem::offset_of!(Versioned, latch) as u64)?, is_shared)
}
