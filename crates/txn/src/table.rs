//! The transaction table in the SGA: readers use it instead of undo headers.
//!
//! One entry mirrors one slot of an undo segment's transaction table. Its word holds (sqn, process, state) together, so
//! that a single load tells whether a transaction is still the one an interested-transaction entry names.
//!
//! Commit SCNs are only raised, never cleared. When an entry is reused, the previous owner's commit SCN is kept beside
//! the new owner's: it is an upper bound for all earlier owners (T6). If possible, an entry is reused only when that
//! bound is at or below every open snapshot; then the bound serves as well as the SCN itself. While an owner commits,
//! the word says COMMITTING from before the SCN is given out until the undo header says that the transaction has ended
//! (T4). Without that state a reader whose snapshot is newer than the new SCN could still find the transaction active,
//! miss its changes in one block and see them in the next.

use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Rdba, Scn, Uba, Xid};

types::numbered! {
    /// State of a transaction table entry; see the table in the crate's header.
    #[derive(Debug, PartialEq, Eq)]
    pub enum State: u8 {
        Free = 0,
        Active = 1,
        Committing = 2,
        Committed = 3,
        Dead = 4,
    }
}

impl State {
    fn from_word(word: u64) -> State {
        State::from_code(word as u8).unwrap_or(State::Free)
    }
}

fn word(sqn: u32, process: u32, state: State) -> u64 {
    debug_assert!(process < 1 << 24);
    u64::from(sqn) << 32 | u64::from(process) << 8 | state as u64
}

/// The owner of a transaction that exists without a session: see `branches`.
pub(crate) const NO_SESSION: u32 = 0xFF_FFFF;

/// Above the count of blocks: the transaction is serializable.
const SERIALIZABLE: u64 = 1 << 55;
/// The transaction has suspended another one of its session.
const AUTONOMOUS: u64 = 1 << 54;

fn sqn_of(word: u64) -> u32 {
    (word >> 32) as u32
}

fn process_of(word: u64) -> u32 {
    (word >> 8) as u32 & 0xFF_FFFF
}

sga::sga_struct! {
    /// One entry: a cache line.
    pub struct Entry {
        word: AtomicU64,
        commit_scn: AtomicU64,
        start_scn: AtomicU64,
        /// Block and sequence number of the newest undo record; its number in the block stands above the count of
        /// blocks, and between them [`SERIALIZABLE`] and [`AUTONOMOUS`].
        last_uba: AtomicU64,
        records: AtomicU64,
        blocks: AtomicU64,
        /// Every owner before the present one committed at or below it.
        prior_scn: AtomicU64,
        /// Wall-clock nanoseconds since 1970 when the owner began.
        start_ns: AtomicU64,
    }

    /// The oldest snapshot one process has open. Written by that process only.
    pub struct SnapshotLine {
        /// SCN of the oldest open snapshot; 0 when none is open.
        oldest: AtomicU64,
        open: AtomicU64,
        /// The number of transactions that other processes have rolled back without this process's temporary rows, and
        /// the newest of them. Written by the processes that roll back.
        lost: AtomicU64,
        lost_xids: [AtomicU64; LOST_KEPT],
        /// Transactions that the process has begun, so that each begins in another undo segment.
        begun: AtomicU64,
    }

    /// The snapshot of the transaction of a branch that a session has detached from.
    pub struct BranchLine {
        /// The SCN that all its statements read as of, plus one; 0: none.
        held: AtomicU64,
    }

    /// The instance's SCN on one cache line, the undo tablespaces on another, and the bound of open snapshots, which is
    /// read often and seldom written, on a third.
    pub struct Clock {
        scn: AtomicU64,
        pad: [AtomicU64; 15],
        /// The group of undo segments that transactions begin in.
        current: AtomicU64,
        /// Groups from this index on have never been loaded.
        groups: AtomicU64,
        /// The SCN when the database was opened: transactions without any record committed at or below it.
        opened: AtomicU64,
        /// Branches from this index on have never held a snapshot.
        branches: AtomicU64,
        pad2: [AtomicU64; 12],
        /// No open or future snapshot is older (T18).
        oldest_bound: AtomicU64,
        /// The SCN when the lines were last searched for it.
        bound_looked: AtomicU64,
        pad3: [AtomicU64; 14],
    }

    /// The undo segments of one tablespace, with consecutive numbers. Changed under the DD enqueue, a word at a time:
    /// `tablespace` is set last and cleared first, so a half-loaded group does not count.
    pub struct GroupEntry {
        /// Number of the tablespace, plus one; 0: the numbers are unused.
        tablespace: AtomicU64,
        segments: AtomicU64,
        /// Transactions with lower numbers belong to an earlier tablespace of these segment numbers (T11).
        first_sqn: AtomicU64,
        /// Undo that has not expired is never reused.
        guarantees: AtomicU64,
        /// The number of online segments, the first ones: transactions begin in them.
        online: AtomicU64,
        /// 1: a transaction has found all segments busy and online.
        wanted: AtomicU64,
        /// The most open transactions at a look of SMON, and the number of looks, since segments went offline.
        peak: AtomicU64,
        looks: AtomicU64,
    }

    /// One undo segment.
    pub struct SegmentEntry {
        /// Block address of the undo header.
        header: AtomicU64,
        /// Block address of the segment header.
        segment: AtomicU64,
        /// Gets of the undo header, and bytes of undo records of transactions that have ended.
        gets: AtomicU64,
        written: AtomicU64,
        /// Marks of its queue that were ever made, and the SCN of the last one.
        marks: AtomicU64,
        marked: AtomicU64,
        /// Transactions that have not ended. A process killed between two instructions leaves the count wrong until
        /// SMON has corrected it. It only decides where the next transaction begins.
        open: AtomicU64,
        /// The slot at which the next search for a free one begins.
        hand: AtomicU64,
    }

    /// A place in a segment's queue of retired blocks: this block and all before it were retired by transactions that
    /// ended at or below the SCN. Valid as long as the block is in the queue.
    pub struct MarkEntry {
        /// Block address and sequence number; 0 while the mark is being made.
        place: AtomicU64,
        scn: AtomicU64,
    }
}

/// Transactions remembered whose temporary rows a process has lost.
const LOST_KEPT: usize = 4;
/// The least number of SCNs between two searches of all snapshot lines.
const LOOKS_APART_MIN: u64 = 8;
/// Online segments among which a transaction picks the least busy one. Before it requests another segment it looks for
/// an idle one among all online ones.
const PROBES: usize = 4;
/// Looks of SMON after which segments that were not needed go offline: five minutes.
const LOOKS_TO_SHRINK: u64 = 100;
/// Marks kept of a segment's queue.
const MARKS: usize = 32;

/// The end of a transaction named by an interested-transaction entry, or its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Not committed: its changes are invisible to others.
    Active,
    /// Committed at exactly this SCN.
    Committed(Scn),
    /// Committed, at or below this SCN.
    Before(Scn),
    /// In state COMMITTING: ask again.
    Unsettled,
}

/// Reserved areas.
#[derive(Debug, Clone)]
pub struct TableLayout {
    pub(crate) slots: u32,
    online_max: u16,
    entries: SgaSlice<Entry>,
    snapshots: SgaSlice<SnapshotLine>,
    branches: SgaSlice<BranchLine>,
    clock: SgaSlice<Clock>,
    segments: SgaSlice<SegmentEntry>,
    marks: SgaSlice<MarkEntry>,
    groups: SgaSlice<GroupEntry>,
}

/// Undo tablespaces that a database may have at a time.
pub const UNDO_TABLESPACES_MAX: usize = 8;

impl TableLayout {
    /// `segments` is the number of segments of one undo tablespace, `online_max` the most of them that are online.
    pub(crate) fn reserve(
        sga: &mut SgaBuilder,
        segments: u32,
        online_max: u32,
        slots: u32,
        processes: u32,
    ) -> TableLayout {
        let all = segments as usize * UNDO_TABLESPACES_MAX;
        TableLayout {
            slots,
            online_max: online_max.clamp(1, segments) as u16,
            entries: sga.reserve("transactions", all * slots as usize),
            snapshots: sga.reserve("transaction snapshots", processes as usize + 1),
            branches: sga.reserve("branch snapshots", enqueue::holders_for(processes) as usize),
            clock: sga.reserve("system change number", 1),
            segments: sga.reserve("undo segments", all),
            marks: sga.reserve("retired undo", all * MARKS),
            groups: sga.reserve("undo tablespaces", UNDO_TABLESPACES_MAX),
        }
    }
}

/// The state of a transaction in an undo header when that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loaded {
    Ended,
    /// To be rolled back.
    Active,
    /// Prepared: it commits or rolls back on request.
    Prepared,
}

/// The data of a group of undo segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// Number of the tablespace.
    pub tablespace: u32,
    /// The number of segments, and of online ones among them, which are the first.
    pub segments: u16,
    pub online: u16,
    pub first_sqn: u32,
    pub guarantees: bool,
}

/// The table, as every process sees it.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub slots: u32,
    /// The most segments of a tablespace that are online.
    online_max: u16,
    /// Segment numbers of each undo tablespace.
    per_group: u16,
    entries: &'static [Entry],
    snapshots: &'static [SnapshotLine],
    branches: &'static [BranchLine],
    clock: &'static Clock,
    segments: &'static [SegmentEntry],
    marks: &'static [MarkEntry],
    groups: &'static [GroupEntry],
}

impl Table {
    pub fn new(sga: &'static Sga, layout: &TableLayout) -> Table {
        Table {
            slots: layout.slots,
            online_max: layout.online_max,
            per_group: (sga.slice(layout.segments).len() / UNDO_TABLESPACES_MAX) as u16,
            entries: sga.slice(layout.entries),
            snapshots: sga.slice(layout.snapshots),
            branches: sga.slice(layout.branches),
            clock: &sga.slice(layout.clock)[0],
            segments: sga.slice(layout.segments),
            marks: sga.slice(layout.marks),
            groups: sga.slice(layout.groups),
        }
    }

    pub fn entry(&self, xid: Xid) -> Option<&'static Entry> {
        if u32::from(xid.slot) >= self.slots || xid.usn == 0 {
            return None;
        }
        self.entries.get((usize::from(xid.usn) - 1) * self.slots as usize + usize::from(xid.slot))
    }

    /// Undo segment numbers begin with 1; 0 is the SYSTEM segment in dumps, so that an [`Xid`] is never all zero. A
    /// tablespace has at most this many numbers, and group `n` has those after `n` times as many.
    pub fn segments_max(&self) -> u16 {
        self.per_group
    }

    /// Segment numbers of all undo tablespaces together.
    pub fn segments_all(&self) -> usize {
        self.segments.len()
    }

    /// The group that a segment number belongs to.
    pub fn group_of(&self, usn: u16) -> usize {
        usize::from(usn.saturating_sub(1) / self.segments_max().max(1))
    }

    /// The segment number before the first of a group.
    pub fn base_of(&self, group: usize) -> u16 {
        group as u16 * self.segments_max()
    }

    /// The data of a group, while a tablespace has it.
    pub fn group(&self, group: usize) -> Option<Group> {
        let e = self.groups.get(group)?;
        let tablespace = e.tablespace.load(Ordering::SeqCst).checked_sub(1)? as u32;
        Some(Group {
            tablespace,
            segments: e.segments.load(Ordering::Acquire) as u16,
            online: e.online.load(Ordering::Relaxed) as u16,
            first_sqn: e.first_sqn.load(Ordering::Relaxed) as u32,
            guarantees: e.guarantees.load(Ordering::Relaxed) != 0,
        })
    }

    /// The groups that tablespaces have.
    pub fn loaded(&self) -> impl Iterator<Item = (usize, Group)> + use<> {
        let table = *self;
        (0..table.groups.len()).filter_map(move |n| Some((n, table.group(n)?)))
    }

    /// The group of a tablespace's segment numbers, once it is loaded.
    pub fn group_of_tablespace(&self, tablespace: u32) -> Option<usize> {
        self.loaded().find(|(_, g)| g.tablespace == tablespace).map(|(n, _)| n)
    }

    /// The numbers of a group's segments.
    pub fn usns(&self, group: usize) -> std::ops::RangeInclusive<u16> {
        let base = self.base_of(group);
        base + 1..=base + self.group(group).map_or(0, |g| g.segments)
    }

    /// A group without a tablespace, and without a transaction that a process is about to give up.
    pub fn free_group(&self) -> Option<usize> {
        (0..self.groups.len()).find(|n| self.group(*n).is_none() && !self.has_busy(*n))
    }

    /// Gives the group to the tablespace; its segments and entries have been set.
    pub fn load_group(&self, group: usize, is: &Group) {
        let e = &self.groups[group];
        e.segments.store(is.segments.into(), Ordering::Release);
        for (word, value) in [(&e.online, u64::from(is.online)), (&e.wanted, 0), (&e.peak, 0), (&e.looks, 0)] {
            word.store(value, Ordering::Relaxed);
        }
        e.first_sqn.store(is.first_sqn.into(), Ordering::Relaxed);
        e.guarantees.store(is.guarantees.into(), Ordering::Relaxed);
        self.clock.groups.fetch_max(group as u64 + 1, Ordering::SeqCst);
        // Pairs with the load in `group`: a reader that sees the tablespace sees its segments.
        e.tablespace.store(u64::from(is.tablespace) + 1, Ordering::SeqCst);
    }

    /// Takes the group from its tablespace. The outcomes of its transactions stay in their entries.
    pub fn unload_group(&self, group: usize) {
        self.groups[group].tablespace.store(0, Ordering::SeqCst);
    }

    pub fn set_guarantees(&self, group: usize, on: bool) {
        self.groups[group].guarantees.store(on.into(), Ordering::Relaxed);
    }

    /// The group that transactions begin in.
    pub fn current_group(&self) -> usize {
        self.clock.current.load(Ordering::SeqCst) as usize
    }

    pub fn set_current_group(&self, group: usize) {
        self.clock.current.store(group as u64, Ordering::SeqCst);
    }

    /// Whether a transaction of the group has not ended. For a group that is not current: afterwards no transaction
    /// begins in it (T10).
    pub fn has_busy(&self, group: usize) -> bool {
        let entries = self.slots as usize * usize::from(self.segments_max());
        let all = self.entries.get(group * entries..(group + 1) * entries).unwrap_or_default();
        // SeqCst on both sides: a claimer writes its entry and then reads the current group; a process that drops a
        // tablespace changes the current group and then reads the entries.
        all.iter().any(|e| State::from_word(e.word.load(Ordering::SeqCst)) != State::Free)
    }

    /// The highest number of a transaction in the group's segments.
    pub fn highest_sqn(&self, group: usize) -> u32 {
        let entries = self.slots as usize * usize::from(self.segments_max());
        let all = self.entries.get(group * entries..(group + 1) * entries).unwrap_or_default();
        all.iter().map(|e| sqn_of(e.word.load(Ordering::Acquire))).max().unwrap_or(0)
    }

    /// Sets the SCN at open: the bound for transactions without any record.
    pub fn set_opened(&self, scn: Scn) {
        self.clock.opened.store(scn.0, Ordering::SeqCst);
    }

    pub fn header(&self, usn: u16) -> types::Rdba {
        types::Rdba(self.segments[usize::from(usn) - 1].header.load(Ordering::Relaxed) as u32)
    }

    /// As [`Self::header`], for a change of it.
    pub fn get_header(&self, usn: u16) -> types::Rdba {
        self.segments[usize::from(usn) - 1].gets.fetch_add(1, Ordering::Relaxed);
        self.header(usn)
    }

    /// Counts the undo records of a transaction that ends.
    pub fn note_written(&self, usn: u16, bytes: u64) {
        self.segments[usize::from(usn) - 1].written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gets of a segment's header, and bytes written to it.
    pub fn figures(&self, usn: u16) -> (u64, u64) {
        let entry = &self.segments[usize::from(usn) - 1];
        (entry.gets.load(Ordering::Relaxed), entry.written.load(Ordering::Relaxed))
    }

    pub fn segment(&self, usn: u16) -> types::Rdba {
        types::Rdba(self.segments[usize::from(usn) - 1].segment.load(Ordering::Relaxed) as u32)
    }

    pub fn set_segment(&self, usn: u16, segment: types::Rdba, header: types::Rdba) {
        let entry = &self.segments[usize::from(usn) - 1];
        entry.segment.store(u64::from(segment.0), Ordering::Relaxed);
        entry.header.store(u64::from(header.0), Ordering::Relaxed);
        entry.open.store(0, Ordering::Relaxed);
        self.clear_marks(usn);
    }

    fn marks_of(&self, usn: u16) -> &'static [MarkEntry] {
        let first = (usize::from(usn) - 1) * MARKS;
        &self.marks[first..first + MARKS]
    }

    /// Marks the block that has become the last of a segment's queue, unless the last mark is less than `apart` SCNs
    /// old. The caller has published the block.
    pub fn mark_retired(&self, usn: u16, at: Rdba, seq: u32, apart: u64) {
        let entry = &self.segments[usize::from(usn) - 1];
        let (now, last) = (self.scn().0, entry.marked.load(Ordering::Relaxed));
        let is_due = now >= last.saturating_add(apart);
        if !is_due || entry.marked.compare_exchange(last, now, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return;
        }
        let n = entry.marks.fetch_add(1, Ordering::SeqCst) as usize % MARKS;
        let mark = &self.marks_of(usn)[n];
        mark.place.store(0, Ordering::SeqCst);
        mark.scn.store(now, Ordering::SeqCst);
        mark.place.store(u64::from(at.0) << 32 | u64::from(seq), Ordering::SeqCst);
    }

    /// The newest mark at or below an SCN: a block, and its sequence number if it is still in the queue.
    pub fn retired_by(&self, usn: u16, scn: Scn) -> Option<(Rdba, u32)> {
        let whole = |m: &MarkEntry| {
            let (place, at) = (m.place.load(Ordering::SeqCst), m.scn.load(Ordering::SeqCst));
            // No block is marked twice with the same number, so an unchanged word means that the SCN belongs to this
            // block.
            (place != 0 && at <= scn.0 && m.place.load(Ordering::SeqCst) == place).then_some((at, place))
        };
        let (_, place) = self.marks_of(usn).iter().filter_map(whole).max()?;
        Some((Rdba((place >> 32) as u32), place as u32))
    }

    /// Forgets the marks: the queue belongs to another segment now.
    pub fn clear_marks(&self, usn: u16) {
        self.marks_of(usn).iter().for_each(|mark| mark.place.store(0, Ordering::SeqCst));
        self.segments[usize::from(usn) - 1].marked.store(0, Ordering::SeqCst);
    }

    /// The newest SCN given out. Acquire pairs with the commit's increment: a reader that sees a commit SCN sees
    /// COMMITTING.
    pub fn scn(&self) -> Scn {
        Scn(self.clock.scn.load(Ordering::SeqCst))
    }

    pub fn next_scn(&self) -> Scn {
        Scn(self.clock.scn.fetch_add(1, Ordering::SeqCst) + 1)
    }

    pub fn advance_scn(&self, scn: Scn) {
        self.clock.scn.fetch_max(scn.0, Ordering::SeqCst);
    }

    /// The state or outcome of `xid`.
    pub fn fate(&self, xid: Xid) -> Fate {
        let Some(entry) = self.entry(xid) else {
            return Fate::Before(Scn::ZERO);
        };
        loop {
            let now = entry.word.load(Ordering::SeqCst);
            if sqn_of(now) != xid.sqn {
                // `claim` has raised it before changing the word.
                return Fate::Before(match entry.prior_scn.load(Ordering::Acquire) {
                    // Its tablespace was dropped by an earlier instance.
                    0 => Scn(self.clock.opened.load(Ordering::Relaxed)),
                    prior => Scn(prior),
                });
            }
            let scn = Scn(entry.commit_scn.load(Ordering::Acquire));
            match State::from_word(now) {
                State::Active | State::Dead => return Fate::Active,
                State::Committing => return Fate::Unsettled,
                // The SCN is raised only while the word says COMMITTING, so an unchanged word means that the SCN
                // belongs to this transaction.
                State::Committed | State::Free if entry.word.load(Ordering::Acquire) == now => {
                    return Fate::Committed(scn);
                }
                State::Committed | State::Free => {}
            }
        }
    }

    /// The number of transactions rolled back without the temporary rows of a process.
    pub fn lost_count(&self, process: u32) -> u64 {
        self.snapshots.get(process as usize).map_or(0, |line| line.lost.load(Ordering::Acquire))
    }

    /// Notes that a transaction is rolled back without the temporary rows of a process. Called before it ends.
    pub fn note_lost(&self, process: u32, xid: Xid) {
        let Some(line) = self.snapshots.get(process as usize) else { return };
        let n = line.lost.fetch_add(1, Ordering::SeqCst);
        line.lost_xids[n as usize % LOST_KEPT].store(xid.to_bits(), Ordering::SeqCst);
    }

    /// Whether a transaction, which has ended, was rolled back without the temporary rows of a process; `since` is the
    /// count when the process left it. Also true when more were lost than are kept.
    pub fn has_lost(&self, process: u32, xid: Xid, since: u64) -> bool {
        let Some(line) = self.snapshots.get(process as usize) else { return false };
        line.lost.load(Ordering::SeqCst).wrapping_sub(since) > LOST_KEPT as u64
            || line.lost_xids.iter().any(|lost| lost.load(Ordering::SeqCst) == xid.to_bits())
    }

    pub fn is_active(&self, xid: Xid) -> bool {
        matches!(self.fate(xid), Fate::Active | Fate::Unsettled)
    }

    /// The process that owns transaction `xid`, while the slot is not free.
    pub fn owner(&self, xid: Xid) -> Option<u32> {
        let now = self.entry(xid)?.word.load(Ordering::Acquire);
        (sqn_of(now) == xid.sqn && State::from_word(now) != State::Free).then(|| process_of(now))
    }

    /// Claims a free entry for `process`: one whose last owner is older than every open snapshot if there is one,
    /// otherwise the oldest. The slots of a segment are used in turn, and each process uses the segments in turn, so
    /// that a slot keeps its last owner's commit SCN for long: flashback queries need it for blocks that were not
    /// cleaned out.
    ///
    /// The entry is claimed first and the current group read again afterwards (T10): either a session that drops the
    /// tablespace sees the claim, or the claimer sees that the group is no longer current or was loaded again.
    pub fn claim(&self, process: u32) -> Option<Xid> {
        loop {
            let group = self.current_group();
            let claimed = self.claim_in_group(group, process);
            let is_current = self.current_group() == group;
            match claimed {
                Some(xid) if !is_current || !self.holds(group, xid, process) => self.give_back(xid, process),
                None if !is_current => {}
                _ => return claimed,
            }
        }
    }

    /// Whether the claimed entry still belongs to the process and to a segment that the group has now. While the
    /// claimer did not run, another tablespace with fewer segments may have got the numbers.
    fn holds(&self, group: usize, xid: Xid, process: u32) -> bool {
        self.usns(group).contains(&xid.usn) && self.owner(xid) == Some(process)
    }

    /// Frees a claimed entry in which no transaction has begun, unless it was loaded again after the claim.
    fn give_back(&self, xid: Xid, process: u32) {
        let Some(entry) = self.entry(xid) else { return };
        let (claimed, free) = (word(xid.sqn, process, State::Active), word(xid.sqn, process, State::Free));
        if entry.word.compare_exchange(claimed, free, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.segments[usize::from(xid.usn) - 1].open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Claims an entry in an idle online segment; otherwise in one more segment that comes online; otherwise in the
    /// least busy of the first few candidates; when that has no free slot, in any segment of the tablespace. A process
    /// begins with another segment each time, so that slots are reused late. Only the first few are candidates when no
    /// segment can be added, because then as many are online as possible.
    fn claim_in_group(&self, group: usize, process: u32) -> Option<Xid> {
        let (base, is) = (self.base_of(group), self.group(group)?);
        let line = &self.snapshots[process as usize % self.snapshots.len()];
        let first = u64::from(process) + line.begun.load(Ordering::Relaxed);
        line.begun.store(line.begun.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let online = u64::from(is.online.clamp(1, is.segments.max(1)));
        let mut in_turn = (0..online).map(|n| base + ((first + n) % online) as u16 + 1);
        let open = |usn: &u16| self.segments[usize::from(*usn) - 1].open.load(Ordering::Relaxed) as i64;
        let mut best = in_turn.by_ref().take(PROBES).min_by_key(|usn| open(usn).max(0))?;
        if open(&best) > 0 && is.online < self.online_max {
            let idle = in_turn.find(|usn| open(usn) <= 0);
            best = idle.or_else(|| self.bring_online(group)).unwrap_or(best);
        }
        let keep = self.oldest_bound();
        let others = (0..is.segments).map(|n| base + ((first + u64::from(n)) % u64::from(is.segments)) as u16 + 1);
        let claimed = std::iter::once(best).chain(others).find_map(|usn| self.claim_in(usn, process, keep))?;
        self.segments[usize::from(claimed.usn) - 1].open.fetch_add(1, Ordering::Relaxed);
        Some(claimed)
    }

    /// Brings one more segment online, up to the limit. `None` when all are online; then another one is requested.
    fn bring_online(&self, group: usize) -> Option<u16> {
        let (e, is) = (&self.groups[group], self.group(group)?);
        if is.online >= self.online_max {
            return None;
        }
        if is.online >= is.segments {
            if e.wanted.load(Ordering::Relaxed) == 0 {
                e.wanted.store(1, Ordering::Relaxed);
            }
            return None;
        }
        let (now, next) = (u64::from(is.online), u64::from(is.online) + 1);
        let won = e.online.compare_exchange(now, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        won.then(|| self.base_of(group) + is.online + 1)
    }

    /// The number of segments to make for a group because transactions found all of them busy: a quarter of the
    /// existing ones. SMON calls this; it clears the request.
    pub fn segments_wanted(&self, group: usize) -> u16 {
        let Some(is) = self.group(group) else { return 0 };
        if self.groups[group].wanted.swap(0, Ordering::Relaxed) == 0 {
            return 0;
        }
        is.segments.div_ceil(4).min(self.online_max.saturating_sub(is.segments))
    }

    /// Adds the next segment of the group, which has been made and loaded: from now on it can come online.
    pub fn add_segment(&self, group: usize) {
        // Release pairs with the load in `group`: a process that counts the segment sees its address and its slots.
        self.groups[group].segments.fetch_add(1, Ordering::Release);
    }

    /// Notes the number of open transactions of the group, and at intervals takes segments offline that were not needed
    /// since the last time: all but `least` and those for the highest number of open transactions. A transaction that
    /// is just beginning in one of them continues there. Corrects the counts of open transactions: `off` holds the
    /// difference of each count at the last look. For SMON.
    pub fn tend_online(&self, group: usize, least: u16, off: &mut Vec<i64>) {
        let (Some(e), Some(is)) = (self.groups.get(group), self.group(group)) else { return };
        let last = std::mem::take(off);
        let mut open = 0;
        for (n, usn) in self.usns(group).enumerate() {
            let (busy, is_off) = self.count_open(usn);
            open += busy;
            let stays = is_off != 0 && last.get(n) == Some(&is_off);
            if stays {
                self.segments[usize::from(usn) - 1].open.fetch_sub(is_off as u64, Ordering::Relaxed);
            }
            off.push(if stays { 0 } else { is_off });
        }
        e.peak.fetch_max(open, Ordering::Relaxed);
        if e.looks.fetch_add(1, Ordering::Relaxed) + 1 < LOOKS_TO_SHRINK {
            return;
        }
        let needed = e.peak.swap(open, Ordering::Relaxed).max(u64::from(least)).max(1);
        e.looks.store(0, Ordering::Relaxed);
        if needed < u64::from(is.online) {
            let _ = e.online.compare_exchange(is.online.into(), needed, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The open transactions of a segment, and the difference of the segment's count from them; 0 when the count has
    /// changed during the look. A transaction that begins or ends is counted a moment later, so only a difference that
    /// is found twice is an error.
    fn count_open(&self, usn: u16) -> (u64, i64) {
        let count = &self.segments[usize::from(usn) - 1].open;
        let before = count.load(Ordering::Acquire);
        let entries = (0..self.slots as u16).filter_map(|slot| self.entry(Xid { usn, slot, sqn: 0 }));
        let busy = entries.filter(|e| State::from_word(e.word.load(Ordering::Acquire)) != State::Free).count() as u64;
        let is_stable = count.load(Ordering::Relaxed) == before;
        (busy, if is_stable { before.wrapping_sub(busy) as i64 } else { 0 })
    }

    /// Makes the transaction's slot free for the next one.
    pub fn free(&self, xid: Xid) {
        if let Some(entry) = self.entry(xid) {
            entry.set_state(State::Free);
            self.segments[usize::from(xid.usn) - 1].open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A free slot of the segment. The search begins where the last one ended.
    fn claim_in(&self, usn: u16, process: u32, keep: Scn) -> Option<Xid> {
        let hand = &self.segments[usize::from(usn) - 1].hand;
        let hand = (hand.fetch_add(1, Ordering::Relaxed) % u64::from(self.slots.max(1))) as u16;
        loop {
            let mut best: Option<(u64, u16, u64)> = None;
            let slots = self.slots as u16;
            for slot in (hand..slots).chain(0..hand.min(slots)) {
                let entry = self.entry(Xid { usn, slot, sqn: 0 })?;
                let now = entry.word.load(Ordering::Acquire);
                if State::from_word(now) != State::Free {
                    continue;
                }
                let scn = entry.commit_scn.load(Ordering::Acquire);
                if best.is_none_or(|(oldest, _, _)| scn < oldest) {
                    best = Some((scn, slot, now));
                }
                if scn <= keep.0 {
                    best = Some((scn, slot, now));
                    break;
                }
            }
            let (last_scn, slot, now) = best?;
            let xid = Xid { usn, slot, sqn: sqn_of(now).wrapping_add(1).max(1) };
            let entry = self.entry(xid)?;
            let claimed = word(xid.sqn, process, State::Active);
            // Raised only: a slow claimer that fails below must not replace a newer bound by an old one.
            entry.prior_scn.fetch_max(last_scn, Ordering::SeqCst);
            if entry.word.compare_exchange(now, claimed, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                entry.start_scn.store(self.scn().0, Ordering::Relaxed);
                entry.start_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
                entry.last_uba.store(0, Ordering::Relaxed);
                entry.records.store(0, Ordering::Relaxed);
                entry.blocks.store(0, Ordering::Relaxed);
                return Some(xid);
            }
        }
    }

    /// Sets an entry from an undo header, at a start, or when a new tablespace gets the segment numbers of a dropped
    /// one. The order of the stores lets a concurrent reader find the transaction that it looks for, or an upper bound.
    ///
    /// The header of a segment that was made while the instance runs has the SCN of that moment. A dropped tablespace
    /// may have had its number: those transactions committed at or below the SCN in the entry, or, when the entry has
    /// none, before the database was opened. So the header's SCN does not raise the bound.
    pub fn load(&self, xid: Xid, is: Loaded, scn: Scn) {
        if let Some(entry) = self.entry(xid) {
            let scn = match self.clock.opened.load(Ordering::SeqCst) {
                0 => scn,
                opened => Scn(scn.0.min(opened)),
            };
            let last = entry.commit_scn.load(Ordering::Acquire);
            let (owner, state) = match is {
                Loaded::Ended => (0, State::Free),
                Loaded::Active => (0, State::Dead),
                Loaded::Prepared => (NO_SESSION, State::Active),
            };
            entry.prior_scn.fetch_max(scn.0.max(last), Ordering::SeqCst);
            entry.word.store(word(xid.sqn, owner, state), Ordering::SeqCst);
            entry.commit_scn.fetch_max(scn.0, Ordering::SeqCst);
            if state != State::Free {
                self.segments[usize::from(xid.usn) - 1].open.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The oldest SCN that any process or branch may still read as of; the present SCN when no snapshot is open. Reads
    /// the lines of all processes.
    pub fn oldest_snapshot(&self) -> Scn {
        let now = self.scn();
        let of_process = self.snapshots.iter().map(|l| l.oldest.load(Ordering::SeqCst)).filter(|s| *s != 0).min();
        // After the lines of the processes: a process that detaches from a branch notes its SCN in the branch's line
        // and then closes its own.
        let used = (self.clock.branches.load(Ordering::SeqCst) as usize).min(self.branches.len());
        let of_branch = self.branches[..used].iter().map(|b| b.held.load(Ordering::SeqCst)).filter(|s| *s != 0).min();
        let open = of_process.into_iter().chain(of_branch).min();
        let oldest = open.map_or(now.0, |s| (s - 1).min(now.0));
        // The value stays valid: a snapshot that was not seen is opened at or above the SCN read before, see
        // `open_snapshot`.
        if self.clock.oldest_bound.load(Ordering::Relaxed) < oldest {
            self.clock.oldest_bound.fetch_max(oldest, Ordering::SeqCst);
        }
        Scn(oldest)
    }

    /// An SCN at or below [`Self::oldest_snapshot`], outdated by at most a quarter as many commits as there are
    /// processes. So one commit of that many reads all lines, which amounts to four lines for each.
    pub fn oldest_bound(&self) -> Scn {
        let (now, looked) = (self.scn().0, self.clock.bound_looked.load(Ordering::Relaxed));
        let apart = (self.snapshots.len() as u64 / 4).max(LOOKS_APART_MIN);
        let is_due = now.saturating_sub(looked) >= apart;
        // A process that dies here leaves the bound as it is until the next one is due.
        if is_due && self.clock.bound_looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            return self.oldest_snapshot();
        }
        Scn(self.clock.oldest_bound.load(Ordering::SeqCst))
    }

    /// Whether an SCN is at or below every open snapshot. Reads the lines of all processes only when the bound does not
    /// suffice.
    pub fn is_before_snapshots(&self, scn: Scn) -> bool {
        scn <= self.oldest_bound() || scn <= self.oldest_snapshot()
    }

    /// Takes a snapshot for `process` (numbers begin with 1) and notes it. SCNs are stored plus one, so that 0 means
    /// none.
    ///
    /// The note comes before the final read of the SCN: a process that computed the oldest snapshot without seeing the
    /// note had read the SCN before that, so its result is not newer than this snapshot. All four accesses are SeqCst
    /// for this argument.
    pub fn open_snapshot(&self, process: u32) -> Scn {
        let Some(line) = self.snapshots.get(process as usize) else { return self.scn() };
        let open = line.open.load(Ordering::Relaxed);
        line.open.store(open + 1, Ordering::Relaxed);
        if open == 0 {
            line.oldest.store(self.scn().0 + 1, Ordering::SeqCst);
        }
        self.scn()
    }

    #[inline]
    pub fn close_snapshot(&self, process: u32) {
        let Some(line) = self.snapshots.get(process as usize) else { return };
        let open = line.open.load(Ordering::Relaxed).saturating_sub(1);
        line.open.store(open, Ordering::Relaxed);
        if open == 0 {
            line.oldest.store(0, Ordering::Release);
        }
    }

    pub fn clear_snapshots(&self, process: u32) {
        if let Some(line) = self.snapshots.get(process as usize) {
            line.open.store(0, Ordering::Relaxed);
            line.oldest.store(0, Ordering::Release);
        }
    }

    /// Notes the SCN that the transaction of branch `n` reads as of. The caller's own line still holds it. It stays
    /// noted while sessions are attached to the branch, until [`Self::release_branch`].
    pub fn hold_for_branch(&self, n: usize, scn: Scn) {
        let Some(line) = self.branches.get(n) else { return };
        self.clock.branches.fetch_max(n as u64 + 1, Ordering::SeqCst);
        line.held.store(scn.0 + 1, Ordering::SeqCst);
    }

    /// The SCN noted for branch `n`.
    pub fn held_by_branch(&self, n: usize) -> Option<Scn> {
        self.branches.get(n)?.held.load(Ordering::Relaxed).checked_sub(1).map(Scn)
    }

    /// The transaction of branch `n` reads no more.
    pub fn release_branch(&self, n: usize) {
        if let Some(line) = self.branches.get(n).filter(|line| line.held.load(Ordering::Relaxed) != 0) {
            line.held.store(0, Ordering::Release);
        }
    }

    /// Every entry that is not free, with its transaction and owner, in all segments of tablespaces that were ever
    /// loaded.
    pub fn busy(&self) -> impl Iterator<Item = (Xid, u32, State, &'static Entry)> + use<> {
        let table = *self;
        let groups = (table.clock.groups.load(Ordering::SeqCst) as usize).min(table.groups.len());
        let usns = (0..groups).flat_map(move |n| {
            let base = table.base_of(n);
            let segments = table.groups[n].segments.load(Ordering::SeqCst) as u16;
            base + 1..=base + segments.min(table.segments_max())
        });
        let slots = table.slots as u16;
        usns.flat_map(move |usn| (0..slots).map(move |slot| Xid { usn, slot, sqn: 0 })).filter_map(move |at| {
            let entry = table.entry(at)?;
            let now = entry.word.load(Ordering::Acquire);
            let state = State::from_word(now);
            (state != State::Free).then_some((Xid { sqn: sqn_of(now), ..at }, process_of(now), state, entry))
        })
    }
}

impl Entry {
    fn set_state(&self, state: State) {
        let now = self.word.load(Ordering::Relaxed);
        self.word.store(now & !0xFF | state as u64, Ordering::SeqCst);
    }

    /// Gives out the commit SCN. The undo header decides whether the transaction commits: see `settle`.
    pub fn begin_commit(&self, table: &Table) -> Scn {
        self.set_state(State::Committing);
        let scn = table.next_scn();
        self.commit_scn.fetch_max(scn.0, Ordering::SeqCst);
        scn
    }

    /// The undo header says that the transaction has ended: makes the commit visible.
    pub fn settle(&self) {
        self.set_state(State::Committed);
    }

    /// Makes the transaction active again: the commit has failed before its record was accepted.
    pub fn reopen(&self) {
        self.set_state(State::Active);
    }

    /// Removes the owner, which is gone: an active transaction becomes DEAD, a COMMITTING or COMMITTED one keeps its
    /// state. The process that ends it becomes its owner.
    pub fn disown(&self, state: State) {
        let now = self.word.load(Ordering::Relaxed);
        let state = if state == State::Active { State::Dead } else { state };
        self.word.store(word(sqn_of(now), 0, state), Ordering::SeqCst);
    }

    /// Gives an open transaction another owner.
    pub fn own(&self, process: u32) {
        let now = self.word.load(Ordering::Relaxed);
        self.word.store(word(sqn_of(now), process, State::Active), Ordering::SeqCst);
    }

    pub fn commit_scn(&self) -> Scn {
        Scn(self.commit_scn.load(Ordering::Acquire))
    }

    /// Ends a transaction whose changes are all rolled back. Its commit SCN is raised above every existing snapshot, so
    /// that a reader with an old copy of a block does not take the undone changes for committed ones.
    pub fn settle_rolled_back(&self, table: &Table) -> Scn {
        let scn = table.next_scn();
        self.commit_scn.fetch_max(scn.0, Ordering::SeqCst);
        scn
    }

    pub fn note_undo(&self, last: Uba, records: u64, blocks: u64) {
        self.last_uba.store(u64::from(last.rdba.0) << 32 | u64::from(last.seq), Ordering::Relaxed);
        self.records.store(records, Ordering::Relaxed);
        let kept = self.blocks.load(Ordering::Relaxed) & (SERIALIZABLE | AUTONOMOUS);
        self.blocks.store(u64::from(last.rec) << 56 | kept | blocks, Ordering::Relaxed);
    }

    pub fn note_kind(&self, serializable: bool, autonomous: bool) {
        let bits = (u64::from(serializable) * SERIALIZABLE) | (u64::from(autonomous) * AUTONOMOUS);
        self.blocks.fetch_or(bits, Ordering::Relaxed);
    }

    pub fn is_autonomous(&self) -> bool {
        self.blocks.load(Ordering::Relaxed) & AUTONOMOUS != 0
    }

    pub fn is_serializable(&self) -> bool {
        self.blocks.load(Ordering::Relaxed) & SERIALIZABLE != 0
    }

    pub fn start_scn(&self) -> Scn {
        Scn(self.start_scn.load(Ordering::Relaxed))
    }

    pub fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }

    pub fn address(&self) -> u64 {
        std::ptr::from_ref(self) as usize as u64
    }

    pub fn last_uba(&self) -> Uba {
        let (at, rec) = (self.last_uba.load(Ordering::Relaxed), self.blocks.load(Ordering::Relaxed) >> 56);
        Uba { rdba: Rdba((at >> 32) as u32), seq: at as u32, rec: rec as u8 }
    }

    pub fn used(&self) -> (u64, u64) {
        (self.records.load(Ordering::Relaxed), self.blocks.load(Ordering::Relaxed) & (AUTONOMOUS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: Group = Group { tablespace: 1, segments: 1, online: 1, first_sqn: 0, guarantees: false };

    fn table(slots: u32) -> Table {
        let (all, layout) = testing::instance(4, |b| TableLayout::reserve(b, 1, 1, slots, 4));
        let table = Table::new(all.sga(), &layout);
        table.load_group(0, &GROUP);
        table
    }

    fn commit(t: &Table, xid: Xid) -> Scn {
        let entry = t.entry(xid).unwrap();
        let scn = entry.begin_commit(t);
        assert_eq!(t.fate(xid), Fate::Unsettled);
        entry.settle();
        assert_eq!(t.fate(xid), Fate::Committed(scn));
        t.free(xid);
        scn
    }

    #[test]
    fn the_fate_of_a_transaction_outlives_its_entry() {
        let t = table(1);
        let a = t.claim(1).unwrap();
        assert_eq!((t.fate(a), t.owner(a)), (Fate::Active, Some(1)));
        assert!(t.claim(2).is_none(), "the only slot is taken");
        let first = commit(&t, a);
        assert_eq!((t.fate(a), t.owner(a)), (Fate::Committed(first), None));
        let b = t.claim(2).unwrap();
        assert_eq!((t.fate(a), t.fate(b)), (Fate::Before(first), Fate::Active));
        let second = commit(&t, b);
        // The bound for the first owner does not rise with the second one's commit.
        assert_eq!((t.fate(a), t.fate(b)), (Fate::Before(first), Fate::Committed(second)));
        let c = t.claim(3).unwrap();
        t.entry(c).unwrap().disown(State::Active);
        assert_eq!((t.fate(a), t.fate(b), t.fate(c)), (Fate::Before(second), Fate::Before(second), Fate::Active));
    }

    #[test]
    fn a_transaction_that_finds_all_segments_busy_brings_one_online_up_to_the_limit() {
        let (all, layout) = testing::instance(4, |b| TableLayout::reserve(b, 5, 4, 3, 20));
        let t = Table::new(all.sga(), &layout);
        t.load_group(0, &Group { segments: 2, ..GROUP });
        for process in 1..=10 {
            commit(&t, t.claim(process).unwrap());
        }
        assert_eq!((t.group(0).unwrap().online, t.segments_wanted(0)), (1, 0), "one at a time need one segment");
        let begin = |process| t.claim(process).unwrap();
        let open = [begin(1), begin(2)];
        assert_eq!((open[0].usn, open[1].usn, t.group(0).unwrap().online), (1, 2, 2));
        assert_eq!(t.segments_wanted(0), 0);
        let shared = begin(3);
        assert_eq!((t.segments_wanted(0), t.segments_wanted(0)), (1, 0), "asked for once");
        t.add_segment(0);
        let third = begin(4);
        assert_eq!((third.usn, t.group(0).unwrap().online), (3, 3));
        t.add_segment(0);
        let fourth = begin(5);
        assert_eq!((fourth.usn, t.busy().count()), (4, 5));
        let more: Vec<Xid> = (6..=12).map(begin).collect();
        assert_eq!((t.group(0).unwrap().online, t.segments_wanted(0)), (4, 0), "the limit");
        assert!(t.claim(13).is_none(), "every slot of every segment is taken");
        // SMON looks while five are open, and later while one is.
        (0..LOOKS_TO_SHRINK).for_each(|_| t.tend_online(0, 1, &mut Vec::new()));
        assert_eq!(t.group(0).unwrap().online, 4);
        for xid in open.into_iter().chain(more).chain([third, fourth]) {
            commit(&t, xid);
        }
        (0..LOOKS_TO_SHRINK).for_each(|_| t.tend_online(0, 1, &mut Vec::new()));
        assert_eq!(t.group(0).unwrap().online, 4, "since the last time twelve were open");
        (0..LOOKS_TO_SHRINK).for_each(|_| t.tend_online(0, 1, &mut Vec::new()));
        assert_eq!(t.group(0).unwrap().online, 1);
        commit(&t, shared);
        assert_eq!((begin(1).usn, t.busy().count()), (1, 1));
    }

    /// A table of one tablespace with `segments` undo segments, all online; at most `online_max` may be.
    fn table_of(segments: u16, online_max: u32) -> Table {
        let (all, layout) = testing::instance(4, |b| TableLayout::reserve(b, 40, online_max, 3, 40));
        let t = Table::new(all.sga(), &layout);
        t.load_group(0, &Group { segments, online: segments, ..GROUP });
        t
    }

    fn counts(t: &Table) -> Vec<i64> {
        t.usns(0).map(|usn| t.segments[usize::from(usn) - 1].open.load(Ordering::Relaxed) as i64).collect()
    }

    #[test]
    fn a_transaction_that_finds_its_neighbours_busy_begins_in_an_idle_segment_before_it_asks_for_one() {
        let t = table_of(16, 40);
        let open: Vec<Xid> = (0..5).map(|process| t.claim(process).unwrap()).collect();
        assert!(open.iter().zip(1..).all(|(xid, usn)| xid.usn == usn), "five that are adjacent");
        // Each tries the first segments first, and those are busy.
        for process in 16..27 {
            let xid = t.claim(process).unwrap();
            assert_eq!(counts(&t)[usize::from(xid.usn) - 1], 1, "{xid:?} is where no other is");
        }
        assert_eq!((t.group(0).unwrap().online, t.segments_wanted(0)), (16, 0));
        t.claim(32).unwrap();
        assert_eq!((t.group(0).unwrap().online, t.segments_wanted(0)), (16, 4), "all are busy now");
    }

    #[test]
    fn loaded_transactions_are_counted_until_they_have_ended() {
        let t = table_of(2, 2);
        let at = |usn, slot| Xid { usn, slot, sqn: 9 };
        let states = [Loaded::Active, Loaded::Prepared, Loaded::Ended];
        let load = |usn| (0..).zip(states).for_each(|(slot, is)| t.load(at(usn, slot), is, Scn(5)));
        (1..=2).for_each(load);
        assert_eq!(counts(&t), [2, 2]);
        t.set_segment(2, Rdba(1), Rdba(2));
        load(2);
        assert_eq!(counts(&t), [2, 2], "loaded once more");
        t.busy().for_each(|(xid, ..)| t.free(xid));
        assert_eq!(counts(&t), [0, 0]);
    }

    #[test]
    fn a_count_that_is_off_at_two_looks_by_the_same_is_corrected() {
        let t = table_of(3, 3);
        let open = t.claim(1).unwrap();
        let of = |usn: u16| &t.segments[usize::from(usn) - 1].open;
        of(1).fetch_add(2, Ordering::Relaxed);
        of(2).fetch_sub(1, Ordering::Relaxed);
        let wrong = counts(&t);
        let mut off = Vec::new();
        t.tend_online(0, 1, &mut off);
        assert_eq!((counts(&t), &off), (wrong, &vec![2, -1, 0]), "seen once it may be one that is just counted");
        of(2).fetch_sub(1, Ordering::Relaxed);
        t.tend_online(0, 1, &mut off);
        let mut right = [0, -2, 0];
        right[usize::from(open.usn) - 1] += 1;
        assert_eq!(counts(&t), right, "the second is off by something else");
        t.tend_online(0, 1, &mut off);
        right[1] += 2;
        assert_eq!((counts(&t), off), (right.to_vec(), vec![0, 0, 0]));
    }

    #[test]
    fn a_claim_in_a_segment_that_the_group_has_no_longer_is_given_back() {
        let t = table_of(5, 5);
        // Processes that begin in one segment each, and are put off the processor behind their claims.
        let claimed: Vec<Xid> = (0..5).map(|process| t.claim_in_group(0, process).unwrap()).collect();
        assert!(claimed.iter().zip(0..).all(|(xid, process)| t.holds(0, *xid, process)));
        t.load_group(0, &Group { tablespace: 7, segments: 2, online: 2, first_sqn: 100, ..GROUP });
        let loaded = Xid { sqn: 100, ..claimed[0] };
        t.set_segment(1, Rdba(1), Rdba(2));
        t.load(loaded, Loaded::Ended, Scn(5));
        let holds: Vec<bool> = claimed.iter().zip(0..).map(|(xid, process)| t.holds(0, *xid, process)).collect();
        assert_eq!(holds, [false, true, false, false, false]);
        for (xid, process) in claimed.iter().zip(0..).filter(|(xid, _)| xid.usn != 2) {
            t.give_back(*xid, process);
            assert!(!t.is_active(*xid) && t.owner(*xid).is_none());
        }
        assert_eq!(
            (counts(&t), t.entry(loaded).unwrap().word.load(Ordering::SeqCst)),
            (vec![0, 1], word(100, 0, State::Free))
        );
        assert!(t.segments[2..5].iter().all(|s| s.open.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn a_segment_made_while_the_instance_runs_says_nothing_of_transactions_that_had_its_number_before() {
        let t = table_of(2, 2);
        t.advance_scn(Scn(50));
        t.set_opened(Scn(50));
        let known = t.claim(0).unwrap();
        let scn = commit(&t, known);
        let unknown = Xid { usn: 2, slot: 0, sqn: 7 };
        assert_eq!((t.fate(known), t.fate(unknown)), (Fate::Committed(scn), Fate::Before(Scn(50))));
        t.advance_scn(Scn(900));
        for (usn, slot) in [(known.usn, known.slot), (2, 0)] {
            t.load(Xid { usn, slot, sqn: 100 }, Loaded::Ended, Scn(900));
        }
        assert_eq!((t.fate(known), t.fate(unknown)), (Fate::Before(scn), Fate::Before(Scn(50))));
        let next = t.claim(0).unwrap();
        commit(&t, next);
        assert_eq!((t.fate(known), t.fate(unknown)), (Fate::Before(scn), Fate::Before(Scn(50))));
    }

    #[test]
    fn a_slot_that_an_open_snapshot_may_ask_about_is_used_last() {
        let t = table(3);
        let old = t.claim(1).unwrap();
        commit(&t, old);
        let s = t.open_snapshot(2);
        let after: Vec<Xid> = (0..3)
            .map(|_| {
                let next = t.claim(1).unwrap();
                commit(&t, next);
                next
            })
            .collect();
        assert!(after[..2].iter().all(|x| x.slot != old.slot), "round robin: the last one's SCN is known for long");
        assert_eq!(after[2].slot, old.slot, "nobody can ask for the old one's exact SCN");
        let last = t.claim(1).unwrap();
        assert_eq!(last.slot, after[0].slot, "all may be asked about: the oldest goes");
        commit(&t, last);
        assert_eq!(t.oldest_snapshot(), s);
        t.close_snapshot(2);
        assert_eq!(t.oldest_snapshot(), t.scn());
    }

    #[test]
    fn snapshots_nest_and_the_oldest_counts() {
        let t = table(2);
        let outer = t.open_snapshot(1);
        commit(&t, t.claim(1).unwrap());
        let inner = t.open_snapshot(1);
        assert!(inner > outer);
        t.close_snapshot(1);
        assert_eq!(t.oldest_snapshot(), outer);
        t.open_snapshot(3);
        t.clear_snapshots(1);
        assert_eq!(t.oldest_snapshot(), inner);
    }

    #[test]
    fn the_bound_of_snapshots_follows_the_oldest_and_never_passes_it() {
        let t = table(2);
        let old = t.open_snapshot(1);
        (0..100).for_each(|_| {
            t.next_scn();
            assert!(t.oldest_bound() <= old);
        });
        assert!(t.is_before_snapshots(old) && !t.is_before_snapshots(Scn(old.0 + 1)));
        t.close_snapshot(1);
        let closed = t.scn();
        (0..LOOKS_APART_MIN).for_each(|_| {
            t.next_scn();
            t.oldest_bound();
        });
        assert!(t.oldest_bound() >= closed, "within so many SCNs the bound is looked for again");
        assert!(t.is_before_snapshots(t.scn()), "nothing is open");
    }

    #[test]
    fn no_snapshot_is_older_than_a_bound_that_was_read_before_it_or_while_it_is_open() {
        let t = table(2);
        std::thread::scope(|scope| {
            for process in 1..=3 {
                scope.spawn(move || {
                    for n in 0..30_000 {
                        let before = t.oldest_bound();
                        let s = t.open_snapshot(process);
                        assert!(before <= s, "{before} was let go, and {s} is open");
                        if n % 3 == 0 {
                            t.next_scn();
                        }
                        assert!(t.oldest_bound() <= s && t.is_before_snapshots(Scn(s.0.min(before.0))));
                        t.close_snapshot(process);
                    }
                });
            }
        });
    }

    #[test]
    fn the_snapshot_of_a_branch_stays_open_while_it_passes_between_processes() {
        // Many lines: branches are noted and sessions' lines closed while a search is under way.
        let (all, layout) = testing::instance(4, |b| TableLayout::reserve(b, 1, 1, 2, 1000));
        let t = Table::new(all.sga(), &layout);
        std::thread::scope(|scope| {
            for n in 1..=3usize {
                scope.spawn(move || {
                    for round in 0..3_000 {
                        let (first, second) = ((300 * n + round % 50) as u32, (300 * n + 99) as u32);
                        let s = t.open_snapshot(first);
                        t.next_scn();
                        assert!(t.oldest_snapshot() <= s, "{s} is open");
                        t.hold_for_branch(n, s);
                        t.close_snapshot(first);
                        assert!(t.oldest_snapshot() <= s && t.oldest_bound() <= s, "{s} is a branch's");
                        t.open_snapshot(second);
                        assert_eq!(t.held_by_branch(n), Some(s));
                        t.close_snapshot(second);
                        assert!(t.oldest_snapshot() <= s && t.oldest_bound() <= s, "{s} is a branch's again");
                        t.release_branch(n);
                    }
                });
            }
        });
        assert_eq!(t.oldest_snapshot(), t.scn());
    }

    #[test]
    fn transactions_begin_in_the_current_tablespace_and_those_of_a_dropped_one_stay_known() {
        let t = table(2);
        let old = t.claim(1).unwrap();
        let scn = commit(&t, old);
        let open = t.claim(1).unwrap();
        let other = t.free_group().unwrap();
        assert_eq!((other, t.base_of(other)), (1, 1));
        t.load_group(other, &Group { tablespace: 7, ..GROUP });
        t.set_current_group(other);
        let new = t.claim(2).unwrap();
        assert_eq!((old.usn, new.usn, t.group_of(new.usn)), (1, 2, other));
        assert!(t.has_busy(0), "a transaction of the old one has not ended");
        commit(&t, open);
        assert!(!t.has_busy(0));
        t.unload_group(0);
        assert_eq!(t.fate(old), Fate::Committed(scn));
        // Another tablespace gets the numbers: an upper bound is known for the earlier transactions.
        let (first, now) = (t.highest_sqn(0) + 1, t.next_scn());
        for slot in 0..2 {
            t.load(Xid { usn: 1, slot, sqn: first }, Loaded::Ended, now);
        }
        t.load_group(0, &Group { tablespace: 8, first_sqn: first, ..GROUP });
        assert_eq!(t.fate(old), Fate::Before(now));
        t.set_current_group(0);
        let again = t.claim(1).unwrap();
        assert!(again.sqn > first);
    }

    #[test]
    fn a_tablespace_that_an_earlier_instance_dropped_was_there_when_the_database_was_opened() {
        let t = table(2);
        t.set_opened(Scn(77));
        assert_eq!(t.fate(Xid { usn: 3, slot: 1, sqn: 9 }), Fate::Before(Scn(77)));
    }
}
