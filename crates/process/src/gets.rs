//! Gets of latches and mutexes by a process.

use crate::handle::Process;
use crate::section::{MutexSection, Section, SharedHold};
use latch::{Latch, Mutex, MutexHeld, MutexKind, Versioned, Where};

impl Process {
    /// Gets a latch exclusively, waiting as long as it takes. Waits: the latch's event.
    ///
    /// # Panics
    /// In debug builds, when the levels forbid it (ORA-00600 `[504]`).
    #[inline]
    pub fn lock<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Section<'a> {
        Section::new(self, self.client.get(latch, at, why))
    }

    /// Gets a latch exclusively if it is free now.
    #[inline]
    pub fn try_lock<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Option<Section<'a>> {
        self.client.try_get(latch, at, why).map(|held| Section::new(self, held))
    }

    /// Gets a latch shared (exclusively, where it cannot be shared), waiting as long as it takes.
    #[inline]
    pub fn lock_shared<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> SharedHold<'a> {
        SharedHold::new(self.client.get_shared(latch, at, why))
    }

    /// Gets a versioned structure for writing; its version is odd until the section ends.
    #[inline]
    pub fn write_versioned<'a>(&'a self, v: &'a Versioned, at: Where, why: u64) -> Section<'a> {
        Section::new(self, self.client.write(v, at, why))
    }

    /// Reads optimistically: counts as a get, a failed check as a miss; after a number of misses it gets the latch.
    #[inline]
    pub fn read_versioned<R>(&self, v: &Versioned, at: Where, f: impl FnMut() -> R) -> R {
        self.client.read(v, at, f)
    }

    /// As [`Process::lock`], for a get that protects nothing: the design of a generation makes it, and that design's
    /// published number of gets includes it. `docs/IMITATED_GETS.md` lists every place with its source.
    #[inline]
    pub fn imitated_get<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Section<'a> {
        self.lock(latch, at, why)
    }

    /// As [`Process::imitated_get`], of a mutex.
    #[inline]
    pub fn imitated_mutex<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.mutex(m, kind, at, idn)
    }

    /// Gets a mutex exclusively. `idn` identifies the object.
    #[inline]
    pub fn mutex<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.client.mutex(m, kind, at, idn)
    }

    /// Gets a mutex exclusively, with the right to change what it protects.
    #[inline]
    pub fn lock_mutex<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexSection<'a> {
        Section::new(self, self.client.mutex(m, kind, at, idn))
    }

    /// Gets a mutex shared.
    #[inline]
    pub fn mutex_shared<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.client.mutex_shared(m, kind, at, idn)
    }

    /// As [`Process::imitated_get`], of a mutex got shared.
    #[inline]
    pub fn imitated_mutex_shared<'a>(&'a self, m: &'a Mutex, kind: MutexKind, at: Where, idn: u64) -> MutexHeld<'a> {
        self.mutex_shared(m, kind, at, idn)
    }
}
