//! Rings of recorded gets, in shared memory.
//!
//! A recording has a number, the epoch. A session that records takes a ring for the epoch and fills it once from its
//! beginning; what no longer fits is counted as lost. A ring that overwrites its oldest records was rejected: a reader
//! could not tell what it has lost while it reads, and the calls at the ends would be cut.
//!
//! A record is two words. It has the number of its place in the ring, and the count of records is raised after the
//! words are written. A session that is killed leaves a call without an end, which readers skip; the next owner of its
//! process slot continues the ring behind it.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::{LatchName, Where};

/// The head of a ring. Written by the process that has taken the ring.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RingHead {
    /// The epoch in the high half, the process number in the low half; 0 there while the ring is being taken.
    owner: AtomicU64,
    /// Records written.
    written: AtomicU64,
    /// Records that did not fit.
    lost: AtomicU64,
    /// Calls that were sampled.
    calls: AtomicU64,
}

/// One record.
#[derive(Debug)]
#[repr(C)]
pub struct RecordLine {
    /// Begin in the high half, length in the low half, both in nanoseconds.
    times: AtomicU64,
    /// From the lowest bit: the place in the ring 16, kind 2, last holder 1, spin 1, sleep 1, manner 3, place in the
    /// code 12, name 7, child 21.
    what: AtomicU64,
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for RingHead {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for RecordLine {}

const _: () = assert!(size_of::<RecordLine>() == 16, "a record has 16 bytes");

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A sampled call begins.
    Call,
    /// A get.
    Get,
    /// The call ends. Its length is the time since the begin of the call.
    End,
}

/// The manner of a recorded get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// A latch, exclusively.
    Exclusive,
    /// A latch, shared.
    Shared,
    /// A versioned structure, for writing.
    Writing,
    /// A mutex, exclusively.
    MutexExclusive,
    /// A mutex, shared.
    MutexShared,
    /// A versioned read: no hold.
    Read,
    /// A reference to an object with a mutex: one operation on its word.
    Reference,
}

impl Manner {
    const ALL: [Self; 7] = [
        Self::Exclusive,
        Self::Shared,
        Self::Writing,
        Self::MutexExclusive,
        Self::MutexShared,
        Self::Read,
        Self::Reference,
    ];

    /// The number of [`Manner::Read`].
    pub(crate) const READ: u32 = 6;
    /// The number of [`Manner::Reference`].
    pub(crate) const REFERENCE: u32 = 7;

    /// The text of the column GET_MODE.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Exclusive => "EXCLUSIVE",
            Self::Shared => "SHARED",
            Self::Writing => "WRITE",
            Self::MutexExclusive => "MUTEX EXCLUSIVE",
            Self::MutexShared => "MUTEX SHARED",
            Self::Read => "READ",
            Self::Reference => "REFERENCE",
        }
    }

    /// The manner of a number from 1, which is that of the mode of a hold where both exist.
    pub(crate) fn from_number(n: u32) -> Option<Self> {
        Self::ALL.get((n as usize).checked_sub(1)?).copied()
    }
}

/// A record as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its kind.
    pub kind: RecordKind,
    /// The latch; `None` for a mutex.
    pub name: Option<LatchName>,
    /// The child of the latch; for a mutex a number that its address gives.
    pub child: u32,
    /// The place in the code; `None` where it is not known.
    pub place: Option<Where>,
    /// The manner of the get.
    pub manner: Manner,
    /// Time since the begin of the call, without waits, in nanoseconds.
    pub begin_ns: u32,
    /// Length of the hold in nanoseconds.
    pub length_ns: u32,
    /// The get missed.
    pub spun: bool,
    /// The get slept.
    pub slept: bool,
    /// The last holder was another process.
    pub other: bool,
}

/// The name of mutexes in records.
pub(crate) const MUTEX: u32 = 0x7f;
/// The place of records without one.
pub(crate) const NO_PLACE: u32 = 0xfff;
const CHILDREN: u32 = (1 << 21) - 1;

/// A record as it is written; see [`RecordLine`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub kind: u32,
    pub manner: u32,
    pub name: u32,
    pub child: u32,
    pub place: u32,
    pub begin_ns: u32,
    pub length_ns: u32,
    pub spun: bool,
    pub slept: bool,
    pub other: bool,
}

pub(crate) const CALL: u32 = 1;
pub(crate) const GET: u32 = 2;
pub(crate) const END: u32 = 3;

impl Written {
    fn words(&self, at: u64) -> (u64, u64) {
        let times = u64::from(self.begin_ns) << 32 | u64::from(self.length_ns);
        let flags = u64::from(self.other) | u64::from(self.spun) << 1 | u64::from(self.slept) << 2;
        let code = u64::from(self.kind & 3) | flags << 2 | u64::from(self.manner & 7) << 5;
        let object =
            u64::from(self.place & 0xfff) | u64::from(self.name & 0x7f) << 12 | u64::from(self.child & CHILDREN) << 19;
        (times, at & 0xffff | code << 16 | object << 24)
    }
}

/// The record of two words; `None` when it is no record of place `at`.
fn read(times: u64, what: u64, at: u64) -> Option<Record> {
    if what & 0xffff != at & 0xffff {
        return None;
    }
    let (code, object) = ((what >> 16) as u32, what >> 24);
    let kind = match code & 3 {
        CALL => RecordKind::Call,
        GET => RecordKind::Get,
        END => RecordKind::End,
        _ => return None,
    };
    let name = (object >> 12) as u32 & 0x7f;
    Some(Record {
        kind,
        name: LatchName::from_index(name as usize),
        child: (object >> 19) as u32 & CHILDREN,
        place: Where::from_index(object as usize & 0xfff),
        manner: Manner::from_number(code >> 5 & 7).unwrap_or(Manner::Exclusive),
        begin_ns: (times >> 32) as u32,
        length_ns: times as u32,
        spun: code & 8 != 0,
        slept: code & 16 != 0,
        other: code & 4 != 0,
    })
}

/// The rings of a domain, and the word that switches recordings on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rings {
    pub heads: &'static [RingHead],
    pub lines: &'static [RecordLine],
}

/// A ring as it is read.
#[derive(Clone, Debug)]
pub struct RingView {
    /// The process that has taken it.
    pub number: u32,
    /// The recording.
    pub epoch: u32,
    /// Calls that were sampled.
    pub calls: u64,
    /// Records that did not fit.
    pub lost: u64,
    /// The records, oldest first.
    pub records: Vec<Record>,
}

impl Rings {
    pub const NONE: Self = Self { heads: &[], lines: &[] };

    /// Records that fit a ring.
    pub fn capacity(&self) -> usize {
        self.lines.len() / self.heads.len().max(1)
    }

    /// Takes a ring for a process and an epoch: the one that the process number has already, or one of an earlier
    /// epoch. `None` when all are taken.
    pub fn take(&self, epoch: u32, number: u32) -> Option<usize> {
        let mine = u64::from(epoch) << 32 | u64::from(number);
        if let Some(n) = self.heads.iter().position(|head| head.owner.load(Ordering::Acquire) == mine) {
            return Some(n);
        }
        (0..self.heads.len()).find(|n| {
            let head = &self.heads[*n];
            let owner = head.owner.load(Ordering::Acquire);
            if owner >> 32 == u64::from(epoch) {
                return false;
            }
            let taking = u64::from(epoch) << 32;
            if head.owner.compare_exchange(owner, taking, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                return false;
            }
            fence(Ordering::Release); // pairs with the Acquire fence in `read`
            for word in [&head.written, &head.lost, &head.calls] {
                word.store(0, Ordering::Relaxed);
            }
            head.owner.store(mine, Ordering::Release); // pairs with the Acquire in `read`
            true
        })
    }

    pub fn count_call(&self, ring: usize) {
        let calls = &self.heads[ring].calls;
        calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub fn count_lost(&self, ring: usize) {
        let lost = &self.heads[ring].lost;
        lost.store(lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Appends a record; false when the ring is full.
    pub fn put(&self, ring: usize, record: &Written) -> bool {
        let (head, capacity) = (&self.heads[ring], self.capacity());
        let at = head.written.load(Ordering::Relaxed);
        if at >= capacity as u64 {
            self.count_lost(ring);
            return false;
        }
        let line = &self.lines[ring * capacity + at as usize];
        let (times, what) = record.words(at);
        line.times.store(times, Ordering::Relaxed);
        line.what.store(what, Ordering::Relaxed);
        faults::point("record_written");
        head.written.store(at + 1, Ordering::Release); // pairs with the Acquire in `read`
        true
    }

    /// The rings that have an owner of this epoch.
    pub fn read(&self, epoch: u32) -> Vec<RingView> {
        let capacity = self.capacity();
        let of = |(n, head): (usize, &RingHead)| {
            let owner = head.owner.load(Ordering::Acquire); // pairs with the Release in `take`
            if owner >> 32 != u64::from(epoch) || owner as u32 == 0 {
                return None;
            }
            let written = (head.written.load(Ordering::Acquire) as usize).min(capacity); // pairs with `put`
            let lines = &self.lines[n * capacity..][..written];
            let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
            let records =
                lines.iter().zip(0u64..).filter_map(|(line, at)| read(word(&line.times), word(&line.what), at));
            let view = RingView {
                number: owner as u32,
                epoch,
                calls: word(&head.calls),
                lost: word(&head.lost),
                records: records.collect(),
            };
            fence(Ordering::Acquire); // pairs with the Release fence in `take`
            (head.owner.load(Ordering::Relaxed) == owner).then_some(view)
        };
        self.heads.iter().enumerate().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(heads: usize, lines: usize) -> Rings {
        Rings { heads: os::memory::shared_slice(heads).unwrap(), lines: os::memory::shared_slice(lines).unwrap() }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let rings = rings(1, 4);
        let ring = rings.take(7, 3).unwrap();
        let get = Written {
            kind: GET,
            manner: 7,
            name: LatchName::TestUnit as u32,
            child: CHILDREN,
            place: Where::KksInsert as u32,
            begin_ns: u32::MAX,
            length_ns: 17,
            spun: true,
            slept: false,
            other: true,
        };
        assert!(rings.put(ring, &Written { kind: CALL, manner: 1, ..Written::default() }));
        assert!(rings.put(ring, &get));
        assert!(
            rings.put(ring, &Written { name: MUTEX, place: NO_PLACE, slept: true, other: false, spun: false, ..get })
        );
        let views = rings.read(7);
        assert_eq!((views.len(), views[0].number, views[0].records.len()), (1, 3, 3));
        let record = views[0].records[1];
        assert_eq!((record.kind, record.manner), (RecordKind::Get, Manner::Reference));
        assert_eq!((record.name, record.child), (Some(LatchName::TestUnit), CHILDREN));
        assert_eq!((record.place, record.begin_ns, record.length_ns), (Some(Where::KksInsert), u32::MAX, 17));
        assert_eq!((record.spun, record.slept, record.other), (true, false, true));
        let mutex = views[0].records[2];
        assert_eq!((mutex.name, mutex.place, mutex.spun, mutex.slept, mutex.other), (None, None, false, true, false));
    }

    #[test]
    fn a_full_ring_counts_what_it_loses_and_keeps_what_it_has() {
        let rings = rings(2, 6);
        let ring = rings.take(1, 1).unwrap();
        let end = Written { kind: END, manner: 1, ..Written::default() };
        let put: Vec<bool> = (0..5).map(|n| rings.put(ring, &Written { length_ns: n, ..end })).collect();
        assert_eq!(put, [true, true, true, false, false]);
        let view = &rings.read(1)[0];
        assert_eq!((view.lost, view.records.len(), view.records[2].length_ns), (2, 3, 2));
    }

    #[test]
    fn a_ring_belongs_to_one_process_until_the_next_epoch() {
        let rings = rings(2, 8);
        assert_eq!((rings.take(1, 5), rings.take(1, 6), rings.take(1, 7)), (Some(0), Some(1), None));
        assert_eq!(rings.take(1, 6), Some(1), "the next owner of a process slot continues its ring");
        rings.put(0, &Written { kind: CALL, manner: 1, ..Written::default() });
        assert_eq!(rings.take(2, 7), Some(0));
        assert_eq!(rings.read(1).len(), 1, "the ring of the new epoch is none of the old one");
        assert!(rings.read(2)[0].records.is_empty());
    }

    #[test]
    fn words_that_are_no_record_are_skipped() {
        let rings = rings(1, 4);
        let ring = rings.take(1, 1).unwrap();
        for _ in 0..3 {
            rings.put(ring, &Written { kind: GET, manner: 1, ..Written::default() });
        }
        rings.lines[1].what.store(u64::MAX, Ordering::Relaxed);
        rings.lines[2].what.store(0, Ordering::Relaxed);
        assert_eq!(rings.read(1)[0].records.len(), 1);
    }
}
