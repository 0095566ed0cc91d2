//! Rings of recorded gets, in shared memory: one for each process slot.
//!
//! A recording has a number, the epoch. The owner of a slot empties its ring when it records for the first time in an
//! epoch, and fills the ring once from its beginning; what no longer fits is counted as lost. A ring that overwrites
//! its oldest records was rejected: a reader could not tell what it has lost while it reads, and the calls at the ends
//! would be cut. Rings that processes take when they need one were rejected, too: a process that comes late, from an
//! earlier recording, writes into a ring that has another owner by then.
//!
//! A record is four words. The sequence word has the epoch and the place in the ring, so a reader takes neither a
//! record of an earlier recording nor memory that was never written. The count of records is raised at the end of a
//! call, over all of its records: readers see whole calls, and the records of calls before a sampled one, which only
//! warm the caches, are overwritten. A process that is killed in a call leaves nothing of it; the next owner of the
//! slot continues behind the last whole call.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::{LatchName, Where};

/// The head of a ring. Written by the owner of the process slot; after its death by the process that cleans up.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RingHead {
    /// The recording that the records are of; 0 for none, and while the ring is being emptied.
    epoch: AtomicU64,
    /// Records of whole calls.
    written: AtomicU64,
    /// Calls that did not fit.
    lost: AtomicU64,
    /// Twice the number of calls that were sampled, plus one while the last of them is open.
    calls: AtomicU64,
}

/// One record.
#[derive(Debug)]
#[repr(C, align(32))]
pub struct RecordLine {
    /// The epoch in the high half, the place in the ring in the low half. Written last.
    sequence: AtomicU64,
    begin_ns: AtomicU64,
    length_ns: AtomicU64,
    /// From the lowest bit: kind 2, last holder 2, spin 1, sleep 1, manner 3, place in the code 12, name 7, object 36.
    what: AtomicU64,
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for RingHead {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for RecordLine {}

const _: () = assert!(size_of::<RecordLine>() == 32, "two records in a cache line");
const _: () = assert!(size_of::<RingHead>() == 64, "no two processes write to one cache line");

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

/// The process that held a latch or mutex before a recorded get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastHolder {
    /// Nothing tells it: the process has not got the latch since its gets are looked at, or the gets are not counted in
    /// the latch.
    Unknown,
    /// The process itself.
    Me,
    /// Another process.
    Other,
}

impl LastHolder {
    /// The text of the column LAST_HOLDER.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Me => "SAME",
            Self::Other => "OTHER",
        }
    }
}

/// The last holder of a latch, as far as the process that has got it can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u32)]
pub(crate) enum Told {
    #[default]
    Unknown = 0,
    Me = 1,
    Other = 2,
    /// The process itself, unless another one has held the latch shared without a count in it. Readers know whether any
    /// recorded process holds this latch shared.
    MeUnlessShared = 3,
}

impl Told {
    fn from_number(n: u32) -> Self {
        [Self::Unknown, Self::Me, Self::Other, Self::MeUnlessShared][n as usize & 3]
    }

    fn last_holder(self, is_shared: bool) -> LastHolder {
        match self {
            Self::Me => LastHolder::Me,
            Self::MeUnlessShared if !is_shared => LastHolder::Me,
            Self::Other => LastHolder::Other,
            Self::Unknown | Self::MeUnlessShared => LastHolder::Unknown,
        }
    }
}

/// A record as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its kind.
    pub kind: RecordKind,
    /// The latch; `None` for a mutex, and where the record is no get.
    pub name: Option<LatchName>,
    /// The child of the latch; for a mutex a number that its address gives; at the end of a call how often the
    /// scheduler took the processor away in it.
    pub object: u64,
    /// The place in the code; `None` where it is not known.
    pub place: Option<Where>,
    /// The manner of the get.
    pub manner: Manner,
    /// Time since the begin of the call, without waits, in nanoseconds.
    pub begin_ns: u64,
    /// Length of the hold in nanoseconds.
    pub length_ns: u64,
    /// The get missed.
    pub spun: bool,
    /// The get slept.
    pub slept: bool,
    /// The last holder.
    pub last: LastHolder,
    told: Told,
}

/// The name of mutexes in records, and of records that are no gets.
pub(crate) const NO_LATCH: u32 = 0x7f;
/// The place of records without one.
pub(crate) const NO_PLACE: u32 = 0xfff;
/// The largest object.
pub(crate) const OBJECT_MAX: u64 = (1 << 36) - 1;

const _: () = assert!(LatchName::COUNT < NO_LATCH as usize && Where::COUNT < NO_PLACE as usize, "names fit a record");

/// A record as it is written; see [`RecordLine`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub kind: u32,
    pub manner: u32,
    pub name: u32,
    pub object: u64,
    pub place: u32,
    pub begin_ns: u64,
    pub length_ns: u64,
    pub spun: bool,
    pub slept: bool,
    pub last: Told,
}

pub(crate) const CALL: u32 = 1;
pub(crate) const GET: u32 = 2;
pub(crate) const END: u32 = 3;

impl Written {
    /// A record that is no get.
    pub const fn mark(kind: u32) -> Self {
        Self {
            kind,
            manner: 1,
            name: NO_LATCH,
            object: 0,
            place: NO_PLACE,
            begin_ns: 0,
            length_ns: 0,
            spun: false,
            slept: false,
            last: Told::Unknown,
        }
    }

    fn what(&self) -> u64 {
        let flags = self.last as u32 | u32::from(self.spun) << 2 | u32::from(self.slept) << 3;
        let get = (self.manner & 7) | (self.place & 0xfff) << 3 | (self.name & 0x7f) << 15;
        u64::from(self.kind & 3) | u64::from(flags) << 2 | u64::from(get) << 6 | self.object.min(OBJECT_MAX) << 28
    }
}

/// The sequence word of a record. No epoch is 0, so memory that was never written has none.
fn sequence(epoch: u32, at: u64) -> u64 {
    u64::from(epoch) << 32 | at & u64::from(u32::MAX)
}

impl RecordLine {
    /// The record at place `at` of a recording; `None` when the words are none.
    fn read(&self, epoch: u32, at: u64) -> Option<Record> {
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        if word(&self.sequence) != sequence(epoch, at) {
            return None;
        }
        let what = word(&self.what);
        let (flags, get) = ((what >> 2) as u32, (what >> 6) as u32);
        let kind = match what as u32 & 3 {
            CALL => RecordKind::Call,
            GET => RecordKind::Get,
            END => RecordKind::End,
            _ => return None,
        };
        let told = Told::from_number(flags & 3);
        Some(Record {
            kind,
            name: LatchName::from_index((get >> 15 & 0x7f) as usize),
            object: what >> 28,
            place: Where::from_index((get >> 3 & 0xfff) as usize),
            manner: Manner::from_number(get & 7).unwrap_or(Manner::Exclusive),
            begin_ns: word(&self.begin_ns),
            length_ns: word(&self.length_ns),
            spun: flags & 4 != 0,
            slept: flags & 8 != 0,
            last: told.last_holder(true),
            told,
        })
    }
}

/// The ring of one process slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    head: &'static RingHead,
    lines: &'static [RecordLine],
}

impl Ring {
    /// Empties the ring for a recording, unless an earlier owner of the slot has done so.
    pub fn begin(&self, epoch: u32) {
        let head = self.head;
        if head.epoch.load(Ordering::Relaxed) == u64::from(epoch) {
            return;
        }
        head.epoch.store(0, Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the Acquire fence in `read`: a reader of later words discards the ring
        for word in [&head.written, &head.lost, &head.calls] {
            word.store(0, Ordering::Relaxed);
        }
        head.epoch.store(u64::from(epoch), Ordering::Release); // pairs with the Acquire in `read`
    }

    /// A sampled call begins.
    pub fn open(&self) {
        let calls = self.head.calls.load(Ordering::Relaxed);
        self.head.calls.store((calls | 1) + 2, Ordering::Relaxed);
    }

    /// The open call has ended, or is given up.
    pub fn close(&self) {
        let calls = self.head.calls.load(Ordering::Relaxed);
        self.head.calls.store(calls & !1, Ordering::Release); // pairs with the Acquire in `read`
    }

    /// The place of the next call's first record.
    pub fn next_place(&self) -> u64 {
        self.head.written.load(Ordering::Relaxed)
    }

    /// Writes a record of the call in progress, which no reader sees yet; false when the ring is full.
    pub fn write(&self, epoch: u32, place: u64, record: &Written) -> bool {
        let Some(line) = self.lines.get(place as usize) else { return false };
        line.begin_ns.store(record.begin_ns, Ordering::Relaxed);
        line.length_ns.store(record.length_ns, Ordering::Relaxed);
        line.what.store(record.what(), Ordering::Relaxed);
        line.sequence.store(sequence(epoch, place), Ordering::Relaxed);
        faults::point("record_written");
        true
    }

    /// Readers see the records before this place: a whole call.
    pub fn publish(&self, next_place: u64) {
        self.head.written.store(next_place, Ordering::Release); // pairs with the Acquire in `read`
    }

    /// A call of this recording did not fit.
    pub fn has_lost(&self) -> bool {
        self.head.lost.load(Ordering::Relaxed) != 0
    }

    /// A sampled call did not fit.
    pub fn lose(&self) {
        let lost = &self.head.lost;
        lost.store(lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The ring as that of a recording; `None` when it has none of its records, or is emptied meanwhile.
    fn read(&self, epoch: u32, number: u32) -> Option<RingView> {
        let head = self.head;
        // Acquire pairs with the Release in `begin`.
        if head.epoch.load(Ordering::Acquire) != u64::from(epoch) {
            return None;
        }
        // Before the records: a call that has ended by then has its end among them.
        let calls = head.calls.load(Ordering::Acquire); // pairs with `close`
        let written = (head.written.load(Ordering::Acquire) as usize).min(self.lines.len()); // pairs with `put`
        let lines = self.lines[..written].iter().zip(0u64..);
        let records = lines.filter_map(|(line, at)| line.read(epoch, at)).collect();
        let lost = head.lost.load(Ordering::Relaxed);
        fence(Ordering::Acquire); // pairs with the Release fence in `begin`
        let is_same = head.epoch.load(Ordering::Relaxed) == u64::from(epoch);
        is_same.then_some(RingView { number, epoch, calls: calls / 2, is_open: calls & 1 != 0, lost, records })
    }
}

/// The rings of a domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rings {
    pub heads: &'static [RingHead],
    pub lines: &'static [RecordLine],
}

/// A ring as it is read.
#[derive(Clone, Debug)]
pub struct RingView {
    /// The process slot.
    pub number: u32,
    /// The recording.
    pub epoch: u32,
    /// Calls that were sampled.
    pub calls: u64,
    /// The last of them has not ended.
    pub is_open: bool,
    /// Calls that did not fit.
    pub lost: u64,
    /// The records, oldest first.
    pub records: Vec<Record>,
}

impl RingView {
    /// Calls that are there from their begin to their end.
    #[must_use]
    pub fn whole_calls(&self) -> u64 {
        self.records.iter().filter(|record| record.kind == RecordKind::End).count() as u64
    }

    /// Calls that will never be whole: the ring was full, or the process was killed.
    #[must_use]
    pub fn lost_calls(&self) -> u64 {
        self.calls.saturating_sub(self.whole_calls() + u64::from(self.is_open))
    }
}

impl Rings {
    pub const NONE: Self = Self { heads: &[], lines: &[] };

    /// Records that fit a ring.
    pub fn capacity(&self) -> usize {
        self.lines.len() / self.heads.len().max(1)
    }

    /// The ring of a process slot; `None` when there are no rings.
    pub fn of(&self, number: u32) -> Option<Ring> {
        let n = (number as usize).checked_sub(1)?;
        let head = self.heads.get(n)?;
        let lines = self.lines.get(n * self.capacity()..(n + 1) * self.capacity())?;
        (!lines.is_empty()).then_some(Ring { head, lines })
    }

    /// The rings with records of this recording; none of epoch 0, in which nothing was recorded yet.
    pub fn read(&self, epoch: u32) -> Vec<RingView> {
        let rings = if epoch == 0 { 0 } else { self.heads.len() as u32 };
        let mut all: Vec<_> = (1..=rings).filter_map(|number| self.of(number)?.read(epoch, number)).collect();
        let mut shared = [false; LatchName::COUNT];
        for name in
            all.iter().flat_map(|ring| &ring.records).filter(|r| r.manner == Manner::Shared).flat_map(|r| r.name)
        {
            shared[name as usize] = true;
        }
        for record in all.iter_mut().flat_map(|ring| &mut ring.records) {
            record.last = record.told.last_holder(record.name.is_none_or(|name| shared[name as usize]));
        }
        all
    }

    /// The process slots with an open call of this recording.
    pub fn open(&self, epoch: u32) -> impl Iterator<Item = u32> {
        let is_open = move |head: &RingHead| {
            let calls = head.calls.load(Ordering::Acquire);
            calls & 1 != 0 && head.epoch.load(Ordering::Relaxed) == u64::from(epoch)
        };
        self.heads.iter().zip(1u32..).filter(move |(head, _)| is_open(head)).map(|(_, number)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(heads: usize, lines: usize) -> Rings {
        Rings { heads: os::memory::shared_slice(heads).unwrap(), lines: os::memory::shared_slice(lines).unwrap() }
    }

    /// Writes a call of one record.
    fn put(ring: Ring, epoch: u32, record: &Written) -> bool {
        let place = ring.next_place();
        let fits = ring.write(epoch, place, record);
        if fits {
            ring.publish(place + 1)
        } else {
            ring.lose()
        }
        fits
    }

    fn ring(lines: usize) -> (Rings, Ring) {
        let rings = rings(1, lines);
        (rings, rings.of(1).unwrap())
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let rings = rings(3, 12);
        let ring = rings.of(3).unwrap();
        ring.begin(7);
        let get = Written {
            kind: GET,
            manner: 7,
            name: LatchName::TestUnit as u32,
            object: OBJECT_MAX,
            place: Where::KksInsert as u32,
            begin_ns: u64::MAX,
            length_ns: 17,
            spun: true,
            slept: false,
            last: Told::Other,
        };
        assert!(put(ring, 7, &Written::mark(CALL)));
        assert!(put(ring, 7, &get));
        let mutex = Written { name: NO_LATCH, place: NO_PLACE, slept: true, spun: false, last: Told::Me, ..get };
        assert!(put(ring, 7, &Written { object: 5, ..mutex }));
        let views = rings.read(7);
        assert_eq!((views.len(), views[0].number, views[0].records.len()), (1, 3, 3));
        let mark = views[0].records[0];
        assert_eq!((mark.kind, mark.name, mark.place, mark.object), (RecordKind::Call, None, None, 0));
        let record = views[0].records[1];
        assert_eq!((record.kind, record.manner), (RecordKind::Get, Manner::Reference));
        assert_eq!((record.name, record.object), (Some(LatchName::TestUnit), OBJECT_MAX));
        assert_eq!((record.place, record.begin_ns, record.length_ns), (Some(Where::KksInsert), u64::MAX, 17));
        assert_eq!((record.spun, record.slept, record.last), (true, false, LastHolder::Other));
        let mutex = views[0].records[2];
        assert_eq!((mutex.name, mutex.place, mutex.spun, mutex.slept, mutex.object), (None, None, false, true, 5));
        assert_eq!(mutex.last, LastHolder::Me);
    }

    #[test]
    fn a_full_ring_counts_what_it_loses_and_keeps_what_it_has() {
        let (rings, ring) = ring(3);
        ring.begin(1);
        let put: Vec<bool> = (0..5).map(|n| put(ring, 1, &Written { length_ns: n, ..Written::mark(END) })).collect();
        assert_eq!(put, [true, true, true, false, false]);
        let view = &rings.read(1)[0];
        assert_eq!((view.lost, view.records.len(), view.records[2].length_ns), (2, 3, 2));
    }

    #[test]
    fn a_ring_is_continued_in_its_recording_and_emptied_for_the_next() {
        let (rings, ring) = ring(8);
        ring.begin(1);
        ring.open();
        put(ring, 1, &Written::mark(CALL));
        assert_eq!(rings.open(1).collect::<Vec<_>>(), [1]);
        // The owner of the slot dies here; the next one goes on.
        ring.close();
        ring.begin(1);
        ring.open();
        put(ring, 1, &Written::mark(CALL));
        put(ring, 1, &Written::mark(END));
        ring.close();
        let view = &rings.read(1)[0];
        assert_eq!((view.calls, view.whole_calls(), view.is_open, view.lost_calls()), (2, 1, false, 1));
        ring.begin(2);
        assert!(rings.read(1).is_empty() && rings.read(2)[0].records.is_empty());
        assert_eq!((rings.open(2).count(), rings.read(2)[0].calls), (0, 0));
    }

    /// A process that was interrupted in `put` raises the count of a ring in which the records are of an earlier
    /// recording.
    #[test]
    fn records_of_an_earlier_recording_are_not_taken() {
        let (rings, ring) = ring(8);
        ring.begin(1);
        (0..5).for_each(|_| assert!(put(ring, 1, &Written::mark(GET))));
        ring.begin(2);
        put(ring, 2, &Written::mark(CALL));
        ring.head.written.store(5, Ordering::Release);
        assert_eq!(rings.read(2)[0].records.len(), 1);
    }

    #[test]
    fn exclusive_gets_of_a_latch_without_counted_shared_gets_tell_the_last_holder_while_nobody_shares_it() {
        let rings = rings(2, 16);
        let (one, other) = (rings.of(1).unwrap(), rings.of(2).unwrap());
        let get = |name: LatchName, manner| Written { name: name as u32, manner, ..Written::mark(GET) };
        one.begin(1);
        for name in [LatchName::TestUnit, LatchName::TestShared] {
            put(one, 1, &Written { last: Told::MeUnlessShared, ..get(name, 1) });
        }
        let last = || rings.read(1)[0].records.iter().map(|record| record.last).collect::<Vec<_>>();
        assert_eq!(last(), [LastHolder::Me, LastHolder::Me]);
        other.begin(1);
        put(other, 1, &get(LatchName::TestShared, 2));
        assert_eq!(last(), [LastHolder::Me, LastHolder::Unknown]);
    }

    #[test]
    fn words_that_are_no_record_are_skipped() {
        let (rings, ring) = ring(4);
        ring.begin(1);
        (0..3).for_each(|_| assert!(put(ring, 1, &Written::mark(GET))));
        rings.lines[1].sequence.store(u64::MAX, Ordering::Relaxed);
        rings.lines[2].what.store(0, Ordering::Relaxed);
        assert_eq!(rings.read(1)[0].records.len(), 1);
    }
}
