//! Undo tablespaces: making their segments, loading their transaction tables, changing the current one.
//!
//! Every tablespace has a group of consecutive segment numbers, so a transaction's number identifies the tablespace of
//! its undo. Transactions begin in the segments of the current one (T10). The states of a tablespace:
//!
//! | state | its transactions | left by |
//! |---|---|---|
//! | being made | none; it is not listed | `load_undo_tablespace`, when its segments exist; the death of its process |
//! | current | begin in it | another one's `use_undo_tablespace` |
//! | pending offline | continue in it until they end | the end of the last |
//! | offline | have ended; readers need its undo and headers | `use_undo_tablespace`, `forget_undo_tablespace` |
//! | forgotten | have entries in the SGA, after a start an upper bound; their undo is gone: ORA-01555 | |
//!
//! The numbers of a forgotten tablespace are given to another one. Its transactions begin above all sequence numbers
//! (sqn) of the former; the caller keeps that bound in the dictionary (T11).
//!
//! The first segment that was made, the root, lies at the first block of the tablespace's first file. Its header
//! contains the address and number of the segment with the lowest number; from there each segment names the next. The
//! root is the last of the segments with which the tablespace is made. SMON makes further segments after it when
//! transactions have found all of them busy: one change group formats a segment and names it in the header of the
//! previous one. A start counts the named segments. A segment whose making was interrupted before that group is not
//! named, and its extent stays out of use (T19).
//!
//! The first segments of a tablespace are online: transactions begin in them. A transaction that finds all of
//! them busy brings one more online; SMON takes those offline that were not needed for five minutes.

use crate::segment::UNDO_OBJECT;
use crate::table::{Group, Loaded, UNDO_TABLESPACES_MAX};
use crate::undo::{SLOT_ACTIVE, SLOT_PREPARED, SegmentState, encode_address, op};
use crate::{Transactions, segment_name};
use block::segment::SegmentView;
use block::undo::{UndoHeaderView, UndoView};
use block::{BlockView, SegmentKind};
use buffer_cache::{ChangeGroup, GetKind};
use datafile::{Contents, ControlFile, DataFiles, TablespaceEntry, tablespace};
use enqueue::{EnqueueError, EnqueueType, LockMode, Timeout};
use process::Process;
use redo::{ChangeVector, Layer};
use types::{Ora, Rdba, Result, Xid};

/// An undo segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoSegment {
    pub usn: u16,
    /// Its segment header.
    pub header: Rdba,
    /// Number of its tablespace.
    pub tablespace: u32,
    /// Transactions begin in it.
    pub is_online: bool,
    /// Transactions in it that have not ended.
    pub open: usize,
    /// Gets of its header, and bytes of undo of ended transactions, since the instance was started.
    pub gets: u64,
    pub written: u64,
}

impl UndoSegment {
    /// Its name in the views.
    pub fn name(&self) -> String {
        segment_name(self.usn)
    }

    /// Its state: open to new transactions, to its last ones, or to none.
    pub fn status(&self) -> &'static str {
        match (self.is_online, self.open) {
            (true, _) => "ONLINE",
            (false, 0) => "OFFLINE",
            (false, _) => "PENDING OFFLINE",
        }
    }
}

/// SMON's data about the undo segments from one round to the next.
#[derive(Debug, Default)]
pub struct UndoRounds {
    /// The group in which transactions began, and the difference of each of its segments' counts of open transactions.
    group: usize,
    off: Vec<i64>,
    /// Coming rounds in which no segment is made, because one could not be made.
    rests: u32,
}

/// Rounds of SMON without a new segment after a failure to make one: three minutes.
const ROUNDS_TO_REST: u32 = 60;

/// The contents of a tablespace's root header about all its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Root {
    /// The segment with the lowest number.
    first: Rdba,
    /// The number before that.
    base: u32,
}

/// The contents of a new segment's header, and the segment that will name it.
struct NewSegment {
    next: Rdba,
    word: u64,
    first_sqn: u32,
    /// The last segment of the tablespace, with the contents of its header: the new one becomes its next.
    behind: Option<(Rdba, u32, u64)>,
}

impl Root {
    fn to_word(self) -> u64 {
        u64::from(self.base) << 32 | u64::from(self.first.0)
    }

    fn from_word(word: u64) -> Root {
        Root { first: Rdba(word as u32), base: (word >> 32) as u32 }
    }
}

impl Transactions {
    /// Makes the undo segments of a new database, in tablespace UNDO, and loads them.
    ///
    /// # Errors
    /// ORA-30036 when the tablespace has no room.
    pub fn create_undo_segments(&self, p: &Process) -> Result<()> {
        self.make_segments(p, tablespace::UNDO, 0, 0)?;
        self.open(p)
    }

    /// Makes the undo segments of a tablespace without any, and loads them. `first_sqn` is above the numbers of all
    /// transactions of dropped tablespaces. The caller holds the DD enqueue.
    ///
    /// # Errors
    /// ORA-30036 when the tablespace has no room; ORA-03001 when there are `UNDO_TABLESPACES_MAX` undo tablespaces.
    pub fn create_undo_tablespace(&self, p: &Process, tablespace: u32, first_sqn: u32) -> Result<()> {
        let group = self.table().free_group().ok_or_else(Ora::unsupported)?;
        let first_sqn = first_sqn.max(self.table().highest_sqn(group).saturating_add(1));
        self.make_segments(p, tablespace, self.table().base_of(group), first_sqn)?;
        let control = self.cache().files().control()?;
        let entry = control.tablespace(tablespace).ok_or_else(|| Ora::with(959, &[&tablespace]))?;
        self.load_tablespace(p, &control, entry)?;
        faults::point("undo-tablespace-loaded");
        Ok(())
    }

    /// Each segment names the next; the root, which was made first and has the highest number, names the lowest.
    fn make_segments(&self, p: &Process, tablespace: u32, base: u16, first_sqn: u32) -> Result<()> {
        let mut next = Rdba::NONE;
        let mut root = None;
        for usn in (1..=self.undo_segments_least()).rev() {
            // The word of the root is not valid before all are made.
            let word = if root.is_none() { 0 } else { first_sqn.into() };
            let made = self.make_segment(p, tablespace, &NewSegment { next, word, first_sqn, behind: None });
            next = made.map_err(|e| e.because(Ora::with(30012, &[&segment_name(base + usn)])))?;
            root = root.or(Some(next));
            faults::point("undo-segment-made");
        }
        let root = root.ok_or_else(|| Ora::internal("no undo segments"))?;
        let word = Root { first: next, base: base.into() }.to_word();
        self.cache().in_group(p, &|| self.current_scn(), &mut |g| self.note_root(g, root, word))
    }

    fn make_segment(&self, p: &Process, tablespace: u32, new: &NewSegment) -> Result<Rdba> {
        let (cache, scn) = (self.cache(), || self.current_scn());
        let segments = self.space();
        let at = segments.create_segment(p, tablespace, SegmentKind::Undo, UNDO_OBJECT, &scn)?;
        faults::point("undo-segment-unnamed");
        let slots = self.table().slots as u16;
        cache.in_group(p, &scn, &mut |g| {
            let (header, map) = segments.allocate(g, at)?;
            let mut data = encode_address(header, UNDO_OBJECT, map);
            data.extend_from_slice(&slots.to_le_bytes());
            let b =
                g.format_with(ChangeVector { rdba: header, layer: Layer::Undo, op: op::FORMAT_HEADER, data: &data })?;
            if new.first_sqn > 0 {
                let mut data = new.first_sqn.to_le_bytes().to_vec();
                data.extend_from_slice(&self.current_scn().0.to_le_bytes());
                g.change(b, Layer::Undo, op::FIRST_USE, &data)?;
            }
            if let Some((before, header, word)) = new.behind {
                segments.set_aux(g, before, header, at.0, word)?;
            }
            segments.set_aux(g, at, header.0, new.next.0, new.word)
        })?;
        Ok(at)
    }

    /// Makes segments when transactions have found all of them busy, and takes segments offline that were not needed
    /// for some minutes. For SMON, at each of its rounds. Returns the number of new segments. Makes none while another
    /// process has the DD enqueue, which keeps the tablespace from being dropped.
    ///
    /// # Errors
    /// Those of making a segment, ORA-30036 among them. It is tried again after some minutes, if a transaction requests
    /// one then.
    pub fn tend_undo_segments(&self, p: &Process, rounds: &mut UndoRounds) -> Result<u16> {
        let group = self.table().current_group();
        if std::mem::replace(&mut rounds.group, group) != group {
            rounds.off.clear();
        }
        self.table().tend_online(group, self.undo_segments_least(), &mut rounds.off);
        if rounds.rests > 0 {
            rounds.rests -= 1;
            return Ok(0);
        }
        let made = self.make_wanted_segments(p, group);
        if made.is_err() {
            rounds.rests = ROUNDS_TO_REST;
        }
        made
    }

    fn make_wanted_segments(&self, p: &Process, group: usize) -> Result<u16> {
        let wanted = self.table().segments_wanted(group);
        if wanted == 0 {
            return Ok(0);
        }
        let dd = self.enqueues().get(p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::NoWait);
        let lock = match dd {
            Ok(lock) => lock,
            Err(EnqueueError::Busy) => return Ok(0),
            Err(e) => return Err(e.into()),
        };
        let mut made = 0;
        let done = (0..wanted).try_for_each(|_| {
            if self.table().current_group() == group {
                self.append_segment(p, group)?;
                made += 1;
            }
            Ok(())
        });
        self.enqueues().release(p, lock);
        done.map(|()| made)
    }

    /// Makes one more segment of a loaded tablespace, after the last one. The caller holds the DD enqueue.
    fn append_segment(&self, p: &Process, group: usize) -> Result<()> {
        let table = self.table();
        let is = table.group(group).ok_or_else(|| Ora::internal("no undo tablespace"))?;
        let (base, last) = (table.base_of(group), table.base_of(group) + is.segments);
        if is.segments >= table.segments_max() {
            return Ok(());
        }
        let before = table.segment(last);
        let (header, _, word) = self.space().aux(p, before, GetKind::Current)?;
        let new = NewSegment {
            next: Rdba::NONE,
            word: is.first_sqn.into(),
            first_sqn: is.first_sqn,
            behind: Some((before, header, word)),
        };
        let at = self.make_segment(p, is.tablespace, &new)?;
        faults::point("undo-segment-added");
        let (header, ..) = self.space().aux(p, at, GetKind::Current)?;
        let usn = base + is.segments + 1;
        table.set_segment(usn, at, Rdba(header));
        self.load_slots(p, usn)?;
        table.add_segment(group);
        Ok(())
    }

    fn note_root(&self, g: &mut ChangeGroup<'_>, root: Rdba, word: u64) -> Result<()> {
        let (header, next) = g.peek(root, &mut |v: &BlockView<'_>| SegmentView::new(*v).aux32())?;
        self.space().set_aux(g, root, header, next, word)
    }

    fn root_of(&self, control: &ControlFile, tablespace: u32) -> Result<Rdba> {
        let file = control.heads().find(|f| f.tablespace == tablespace);
        let file = file.ok_or_else(|| no_undo_tablespace(control, tablespace))?.file;
        Ok(Rdba::new(file, DataFiles::first_data_block_of(self.block_size())))
    }

    /// Loads the transaction tables at instance start; then [`Transactions::recover`] rolls back after an unclean stop.
    /// A tablespace whose making was interrupted is skipped. Transactions begin in the first one, until
    /// [`Transactions::use_undo_tablespace`].
    ///
    /// Raises the SCN to the highest commit SCN found.
    ///
    /// # Errors
    /// ORA-30012 when there are no undo segments; those of reading.
    pub fn open(&self, p: &Process) -> Result<()> {
        let control = self.cache().files().control()?;
        let mut none = no_undo_tablespace(&control, tablespace::UNDO);
        for entry in control.tablespaces.iter().filter(|t| t.contents == Contents::Undo) {
            match self.load_tablespace(p, &control, entry) {
                Err(e) if e.is(30012) => none = e,
                done => done?,
            }
        }
        let first = self.table().loaded().min_by_key(|(_, g)| g.tablespace).map(|(n, _)| n).ok_or(none)?;
        self.table().set_current_group(first);
        self.table().set_opened(self.current_scn());
        Ok(())
    }

    /// Loads the headers of a tablespace's segments.
    fn load_tablespace(&self, p: &Process, control: &ControlFile, entry: &TablespaceEntry) -> Result<()> {
        let (table, segments) = (self.table(), self.space());
        let incomplete = || no_undo_tablespace(control, entry.number);
        let root_at = self.root_of(control, entry.number)?;
        let root = match segments.aux(p, root_at, GetKind::Current) {
            Ok((.., word)) => Root::from_word(word),
            // Its making was interrupted before it had a segment.
            Err(e) if e.is(8103) => return Err(incomplete()),
            Err(e) => return Err(e),
        };
        let group = (0..UNDO_TABLESPACES_MAX).find(|n| u32::from(table.base_of(*n)) == root.base);
        let is_free = |n: &usize| table.group(*n).is_none_or(|g| g.tablespace == entry.number);
        let group = group.filter(is_free).filter(|_| !root.first.is_none()).ok_or_else(incomplete)?;
        let base = table.base_of(group);
        let (mut at, mut count, mut first_sqn) = (root.first, 0, 0);
        while !at.is_none() && count < table.segments_max() {
            let (header, next, word) = segments.aux(p, at, GetKind::Current)?;
            count += 1;
            table.set_segment(base + count, at, Rdba(header));
            self.load_slots(p, base + count)?;
            if at != root_at {
                first_sqn = word as u32;
            }
            at = Rdba(next);
        }
        let is = Group {
            tablespace: entry.number,
            segments: count,
            online: count.min(self.undo_segments_least()),
            first_sqn,
            guarantees: entry.guarantees_retention,
        };
        table.load_group(group, &is);
        Ok(())
    }

    fn load_slots(&self, p: &Process, usn: u16) -> Result<()> {
        let (all, tail) =
            self.cache().read(p, self.table().header(usn), GetKind::Current, &mut |v: &BlockView<'_>| {
                let h = UndoHeaderView::new(*v);
                let all = (0..h.slots()).filter_map(|slot| Some((slot, h.tx(slot)?))).collect::<Vec<_>>();
                (all, SegmentState::read(&h).tail)
            })?;
        if (all.len() as u32) < self.table().slots {
            return Err(Ora::internal(format_args!("undo segment {usn} has {} slots", all.len())));
        }
        for (slot, tx) in all {
            let is = match tx.state {
                SLOT_ACTIVE => Loaded::Active,
                SLOT_PREPARED => Loaded::Prepared,
                _ => Loaded::Ended,
            };
            self.table().load(Xid { usn, slot, sqn: tx.sqn }, is, tx.scn);
            self.advance_scn(tx.scn);
        }
        // All blocks in its queue were retired by its own transactions, which have ended at or below that SCN.
        if !tail.is_none()
            && let Some(seq) = self.read_undo(p, tail, &mut |v| UndoView::new(*v).seq())?
        {
            self.table().mark_retired(usn, tail, seq, 0);
        }
        Ok(())
    }

    /// Makes this the tablespace in which transactions begin; those of the former one end where they are. While
    /// sessions run, the caller holds the DD enqueue.
    ///
    /// # Errors
    /// ORA-30012 when it is no undo tablespace, or one whose making was interrupted.
    pub fn use_undo_tablespace(&self, tablespace: u32) -> Result<()> {
        match self.table().group_of_tablespace(tablespace) {
            Some(group) => self.table().set_current_group(group),
            None => {
                let control = self.cache().files().control()?;
                return Err(no_undo_tablespace(&control, tablespace));
            }
        }
        faults::point("undo-switched");
        Ok(())
    }

    /// The tablespace in which transactions begin.
    pub fn current_undo_tablespace(&self) -> u32 {
        self.table().group(self.table().current_group()).map_or(tablespace::UNDO, |g| g.tablespace)
    }

    /// Whether transactions begin in the tablespace, or have not ended in it. When false, and the caller holds the DD
    /// enqueue, no transaction will begin in it.
    pub fn is_undo_in_use(&self, tablespace: u32) -> bool {
        let group = self.table().group_of_tablespace(tablespace);
        group.is_some_and(|group| group == self.table().current_group() || self.table().has_busy(group))
    }

    /// A number above those of all transactions with undo in the tablespace, or in earlier tablespaces of its segment
    /// numbers.
    pub fn sqn_above(&self, tablespace: u32) -> u32 {
        let group = self.table().group_of_tablespace(tablespace);
        let first = group.and_then(|n| self.table().group(n)).map_or(0, |g| g.first_sqn);
        group.map_or(0, |n| self.table().highest_sqn(n).saturating_add(1)).max(first)
    }

    /// Takes the segment numbers from a tablespace: its undo is no longer read, and another tablespace may get the
    /// numbers. No effect for one that is not loaded. The caller holds the DD enqueue.
    ///
    /// # Errors
    /// ORA-30013 when it is in use.
    pub fn forget_undo_tablespace(&self, tablespace: u32, name: &str) -> Result<()> {
        if self.is_undo_in_use(tablespace) {
            return Err(Ora::with(30013, &[&name]));
        }
        if let Some(group) = self.table().group_of_tablespace(tablespace) {
            self.table().unload_group(group);
        }
        Ok(())
    }

    /// Sets whether unexpired undo of the tablespace is kept when there is no room: transactions then get ORA-30036.
    pub fn guarantee_retention(&self, tablespace: u32, on: bool) {
        if let Some(group) = self.table().group_of_tablespace(tablespace) {
            self.table().set_guarantees(group, on);
        }
    }

    /// Whether unexpired undo of the tablespace in use is kept at any price.
    pub fn is_retention_guaranteed(&self) -> bool {
        self.table().group(self.table().current_group()).is_some_and(|g| g.guarantees)
    }

    /// The undo segments of all tablespaces.
    pub fn undo_segments(&self) -> Vec<UndoSegment> {
        let table = *self.table();
        let current = table.current_group();
        let mut open = vec![0; table.segments_all() + 1];
        table.busy().for_each(|(xid, ..)| open[usize::from(xid.usn)] += 1);
        let open = &open;
        let of_group = |(n, g): (usize, Group)| {
            table.usns(n).map(move |usn| UndoSegment {
                usn,
                header: table.segment(usn),
                tablespace: g.tablespace,
                is_online: n == current && usn - table.base_of(n) <= g.online,
                open: open[usize::from(usn)],
                gets: table.figures(usn).0,
                written: table.figures(usn).1,
            })
        };
        table.loaded().flat_map(of_group).collect()
    }
}

fn no_undo_tablespace(control: &ControlFile, tablespace: u32) -> Ora {
    Ora::with(30012, &[&control.tablespace(tablespace).map_or("UNDO", |t| t.name.as_str())])
}
