//! Consistent gets: the current version of a block when it is old enough for a snapshot, otherwise an older image.
//!
//! The clean path compares one SCN of the block with the snapshot's. Otherwise every interested-transaction entry is
//! judged. When one of them is too new, the block is copied and undo is applied to the copy, first of uncommitted
//! transactions, then of committed ones from the highest commit SCN down, one record at a time, until no entry is too
//! new. A record restores the previous content of the entry, which may name an earlier transaction and so lead further
//! into the past (T2).

use crate::cleanout::has_rows;
use crate::scratch::{Scratch, Shows};
use crate::table::Fate;
use crate::undo::{UndoRecord, decode_record, is_newer};
use crate::{Snapshot, Transactions, segment_name};
use block::{BlockView, Data, DataMut, Image, Itl, data, itl_flags};
use buffer_cache::GetKind;
use process::Process;
use redo::ChangeVector;
use types::{Ora, Rdba, Result, Scn, Xid};
use wait::Stat;

/// The visibility of an entry's changes for a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Visible,
    /// Uncommitted, or own and still uncommitted but after the start of the statement.
    Uncommitted,
    /// Committed after the snapshot; of the own transaction, the changes after the start of the statement.
    Newer(Scn),
    /// Committed at an unknown SCN, perhaps after the snapshot.
    Unknown,
    /// In state COMMITTING now.
    Unsettled,
}

/// Whether a row was locked by a transaction that committed after a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockedSince {
    No,
    Yes,
    /// By one that committed at or below this SCN, which is above the snapshot's: its undo may have the exact one.
    Perhaps(Scn),
}

/// The result of one look at the current version.
enum Look<R> {
    /// Old enough; `stale` when a committed transaction's entry has not been cleaned out.
    Seen {
        out: R,
        stale: bool,
    },
    Copied,
    /// Not old enough, but its image for this snapshot is still kept.
    Kept,
    Again,
}

/// The most CR images that a process keeps.
const IMAGES_MAX: usize = 16;

/// Bytes by which a CR image is widened when undo does not fit: later directory entries and interested-transaction
/// entries stay in the image and take room that the older rows had.
const SLACK_BYTES: usize = 4096;

/// The longest image: offsets in it are sixteen bits wide.
const IMAGE_BYTES_MAX: usize = 60 << 10;

impl Transactions {
    fn judge(&self, itl: &Itl, s: &Snapshot) -> Verdict {
        if itl.is_unused() {
            return Verdict::Visible;
        }
        if s.xid == Some(itl.xid) {
            return match s.own {
                Some(own) if !is_newer(itl.uba, own) => Verdict::Visible,
                // It may have ended since: a cursor is fetched behind the COMMIT. Its place among the commits then
                // decides when its changes are undone, since a later transaction may have changed the same rows.
                _ => match self.fate_of(itl) {
                    Fate::Active => Verdict::Uncommitted,
                    Fate::Unsettled => Verdict::Unsettled,
                    Fate::Committed(scn) => Verdict::Newer(scn),
                    Fate::Before(_) => Verdict::Unknown,
                },
            };
        }
        match self.fate_of(itl) {
            Fate::Active => Verdict::Uncommitted,
            Fate::Unsettled => Verdict::Unsettled,
            Fate::Committed(scn) | Fate::Before(scn) if scn <= s.scn => Verdict::Visible,
            Fate::Committed(scn) => Verdict::Newer(scn),
            Fate::Before(_) => Verdict::Unknown,
        }
    }

    /// Reads a block as of `s`: the current version when it is old enough, otherwise a CR image built from undo.
    ///
    /// `f` may run several times and may see torn data, so it copies its result out. A clean block that is old enough
    /// causes no allocation and no shared write (T14). The process has no change group open: a block that is not clean
    /// may be cleaned out. Latches: none held on entry or return. Waits: `db file sequential read` for blocks that are
    /// not in the cache. Statistics: `consistent gets`, `CR blocks created`, `consistent changes`, `data blocks
    /// consistent reads - undo records applied`.
    /// # Errors
    /// ORA-01555 when undo the image needs has been overwritten.
    pub fn consistent_read<R>(
        &self,
        p: &Process,
        at: Rdba,
        kind: GetKind,
        s: &Snapshot,
        f: &mut dyn FnMut(&BlockView<'_>) -> R,
    ) -> Result<R> {
        let mut scratch: Option<Scratch> = None;
        let mut shows = None;
        loop {
            let look = self.cache().read(p, at, kind, &mut |view: &BlockView<'_>| {
                let d = Data::new(*view);
                if d.accept_scn() <= s.scn {
                    return Look::Seen { out: f(view), stale: false };
                }
                if !has_rows(view) {
                    // The block of a dropped segment has been reused: the caller sees the new content.
                    return Look::Seen { out: f(view), stale: false };
                }
                match self.look(&d, s) {
                    (Verdict::Visible, stale) => Look::Seen { out: f(view), stale },
                    (Verdict::Unsettled, _) => Look::Again,
                    _ => {
                        shows = Shows::of(at, view, s);
                        if scratch.is_none() {
                            scratch = self.take_kept(shows);
                        }
                        if shows.is_some() && scratch.as_ref().is_some_and(|kept| kept.shows == shows) {
                            return Look::Kept;
                        }
                        let scratch = scratch.get_or_insert_with(|| self.take_scratch(view.len()));
                        scratch.shows = None;
                        if scratch.image.bytes().len() != view.len() {
                            scratch.image = Image::new(view.len());
                        }
                        view.copy_block(scratch.image.bytes_mut());
                        Look::Copied
                    }
                }
            })?;
            match look {
                Look::Seen { out, stale } => {
                    if let Some(scratch) = scratch {
                        self.give_scratch(scratch);
                    }
                    if stale && !self.cache().files().is_read_only() {
                        // A service to later readers only, so errors are ignored.
                        let _ = self.clean_out(p, at);
                    }
                    return Ok(out);
                }
                Look::Again => self.pause(p)?,
                Look::Copied => {
                    let mut scratch = scratch.take().expect("the copy lies in it");
                    let built = self.rebuild(p, at, s, &mut scratch, &mut |_, _| {});
                    scratch.shows = shows.filter(|_| built.is_ok());
                    let out = built.map(|()| f(&scratch.image.view()));
                    self.give_scratch(scratch);
                    return out;
                }
                Look::Kept => {
                    let scratch = scratch.take().expect("the image lies in it");
                    let out = f(&scratch.image.view());
                    self.give_scratch(scratch);
                    return Ok(out);
                }
            }
        }
    }

    /// Whether another transaction may have committed a change to the block after `s`. Never false when one has.
    ///
    /// Uncommitted changes do not count: their rows are locked.
    pub fn changed_since(&self, view: &BlockView<'_>, s: &Snapshot) -> bool {
        let d = Data::new(*view);
        // A reused entry has left its commit SCN in the block's highest one.
        if d.max_commit_scn() > s.scn {
            return true;
        }
        let stale = (1..=d.itls() as u8).filter_map(|n| d.itl(n)).filter(|itl| !itl.is_unused() && !itl.is_committed());
        stale.into_iter().any(|itl| match self.table().fate(itl.xid) {
            Fate::Active => false,
            Fate::Unsettled => true,
            Fate::Committed(scn) | Fate::Before(scn) => scn > s.scn,
        })
    }

    /// Whether the entry named by a row's lock byte belongs to another transaction that committed after `s`. When only
    /// the bound of its commit SCN is known, it may have.
    pub fn locked_since(&self, view: &BlockView<'_>, lock: u8, s: &Snapshot) -> LockedSince {
        let entry = (lock > 0).then(|| Data::new(*view).itl(lock)).flatten();
        match entry.filter(|itl| !itl.is_unused() && s.xid != Some(itl.xid)).map(|itl| self.fate_of(&itl)) {
            Some(Fate::Committed(scn)) if scn > s.scn => LockedSince::Yes,
            Some(Fate::Unsettled) => LockedSince::Yes,
            Some(Fate::Before(scn)) if scn > s.scn => LockedSince::Perhaps(scn),
            _ => LockedSince::No,
        }
    }

    /// The worst verdict over the block's entries, and whether there is a committed entry that has not been cleaned out
    /// and none is active.
    fn look(&self, d: &Data<'_>, s: &Snapshot) -> (Verdict, bool) {
        let (mut stale, mut active) = (false, false);
        for n in 1..=d.itls() as u8 {
            let Some(itl) = d.itl(n) else { break };
            let verdict = self.judge(&itl, s);
            match verdict {
                Verdict::Visible if itl.is_unused() || itl.is_committed() => {}
                Verdict::Visible if s.xid == Some(itl.xid) => active = true,
                Verdict::Visible => stale = true,
                _ => return (verdict, false),
            }
        }
        (Verdict::Visible, stale && !active)
    }

    /// Memory for building an image: new while fewer than the limit are kept, then that of the image used longest ago.
    pub(crate) fn take_scratch(&self, block_size: usize) -> Scratch {
        let kept = self.scratch().lock().ok().and_then(|mut pool| {
            let unused = pool.iter().position(|kept| kept.shows.is_none());
            let oldest = (pool.len() >= IMAGES_MAX).then_some(0);
            unused.or(oldest).map(|n| pool.remove(n))
        });
        let mut scratch = kept.unwrap_or_else(|| Scratch::new(block_size));
        scratch.shows = None;
        scratch
    }

    /// The kept image of exactly this block and snapshot.
    fn take_kept(&self, shows: Option<Shows>) -> Option<Scratch> {
        let mut pool = self.scratch().lock().ok()?;
        let n = pool.iter().rposition(|kept| shows.is_some() && kept.shows == shows)?;
        Some(pool.remove(n))
    }

    /// Discards the kept images: changes that a snapshot of the own transaction has seen are being undone.
    pub(crate) fn forget_images(&self) {
        if let Ok(mut pool) = self.scratch().lock() {
            pool.iter_mut().for_each(|kept| kept.shows = None);
        }
    }

    pub(crate) fn give_scratch(&self, scratch: Scratch) {
        if let Ok(mut pool) = self.scratch().lock() {
            pool.push(scratch);
        }
    }

    /// Whether another transaction has made a change to the block for which `touches` returns true, and committed it
    /// after `s`. Reads the undo records from the current version back to `s`. Also true when the undo is gone.
    ///
    /// # Errors
    /// Those of reading, and ORA-01013.
    pub fn touched_since(
        &self,
        p: &Process,
        at: Rdba,
        s: &Snapshot,
        touches: &mut dyn FnMut(&UndoRecord<'_>) -> bool,
    ) -> Result<bool> {
        let mut scratch = self.take_scratch(self.block_size());
        let copied = self.cache().read(p, at, GetKind::Consistent, &mut |view: &BlockView<'_>| {
            if scratch.image.bytes().len() != view.len() {
                scratch.image = Image::new(view.len());
            }
            view.copy_block(scratch.image.bytes_mut());
        });
        let mut touched = false;
        let mut see = |rec: &UndoRecord<'_>, committed: bool| touched |= committed && touches(rec);
        let built = copied.and_then(|()| self.rebuild(p, at, s, &mut scratch, &mut see));
        self.give_scratch(scratch);
        match built {
            Err(e) if e.is(1555) => Ok(true),
            built => built.map(|()| touched),
        }
    }

    /// Turns the copy of a block in `scratch` into the block as of `s`. `see` gets each reversed record, and whether
    /// its transaction has committed.
    pub(crate) fn rebuild(
        &self,
        p: &Process,
        at: Rdba,
        s: &Snapshot,
        scratch: &mut Scratch,
        see: &mut dyn FnMut(&UndoRecord<'_>, bool),
    ) -> Result<()> {
        p.count(Stat::CrBlocksCreated, 1);
        loop {
            let d = Data::new(scratch.image.view());
            let mut worst: Option<(Scn, u8, Itl)> = None;
            let (mut unsettled, mut unknown) = (false, false);
            for n in 1..=d.itls() as u8 {
                let Some(itl) = d.itl(n) else { break };
                let rank = match self.judge(&itl, s) {
                    Verdict::Visible => continue,
                    Verdict::Uncommitted => Scn::MAX,
                    Verdict::Newer(scn) => scn,
                    Verdict::Unknown => {
                        unknown = true;
                        continue;
                    }
                    Verdict::Unsettled => {
                        unsettled = true;
                        continue;
                    }
                };
                if worst.is_none_or(|(w, _, _)| rank > w) {
                    worst = Some((rank, n, itl));
                }
            }
            if unknown && !unsettled {
                if self.settle_image(p, at, s, scratch)? {
                    continue;
                }
                let (n, itl, committed) = self.latest_change(p, at, s, scratch)?;
                self.step_back(p, at, n, &itl, scratch, &mut |rec| see(rec, committed))?;
                continue;
            }
            match worst {
                _ if unknown => self.pause(p)?,
                // A transaction in state COMMITTING belongs among the committed ones, so its commit SCN must be known
                // first.
                Some((rank, _, _)) if unsettled && rank != Scn::MAX => self.pause(p)?,
                Some((rank, n, itl)) => {
                    self.step_back(p, at, n, &itl, scratch, &mut |rec| see(rec, rank != Scn::MAX))?;
                }
                None if unsettled => self.pause(p)?,
                None => return Ok(()),
            }
        }
    }

    /// The entry of the latest change that `s` must not see, and whether its transaction has committed. For a block
    /// with a commit SCN known only by an upper bound: there the order of changes replaces the order of commits, since
    /// changes of the same row have a commit between them (T6).
    ///
    /// # Errors
    /// ORA-01555 when a change whose commit SCN is not known was made before `s`: it may or may not have been committed
    /// then.
    fn latest_change(&self, p: &Process, at: Rdba, s: &Snapshot, scratch: &mut Scratch) -> Result<(u8, Itl, bool)> {
        let Scratch { image, record, .. } = scratch;
        let d = Data::new(image.view());
        let mut latest: Option<(Scn, u8, Itl, bool)> = None;
        for n in 1..=d.itls() as u8 {
            let Some(itl) = d.itl(n) else { break };
            let verdict = self.judge(&itl, s);
            if matches!(verdict, Verdict::Visible | Verdict::Unsettled) {
                continue;
            }
            let rec = self.newest_record(p, at, n, &itl, record)?;
            // A transaction commits above the SCN of each of its changes.
            if verdict == Verdict::Unknown && rec.scn < s.scn {
                return Err(self.snapshot_too_old(itl.xid));
            }
            if latest.is_none_or(|(scn, ..)| rec.scn > scn) {
                latest = Some((rec.scn, n, itl, verdict != Verdict::Uncommitted));
            }
        }
        let (_, n, itl, committed) = latest.ok_or_else(|| Ora::internal("a block that nobody has changed"))?;
        Ok((n, itl, committed))
    }

    /// Writes commit SCNs found in undo into entries of the image with only an upper bound above `s`. True when it
    /// found one. An entry whose change itself came after `s` stays as it is: that suffices for
    /// [`Self::latest_change`].
    fn settle_image(&self, p: &Process, at: Rdba, s: &Snapshot, scratch: &mut Scratch) -> Result<bool> {
        let Scratch { image, record, .. } = scratch;
        let mut any = false;
        for n in 1..=Data::new(image.view()).itls() as u8 {
            let Some(itl) = Data::new(image.view()).itl(n) else { break };
            if self.judge(&itl, s) != Verdict::Unknown {
                continue;
            }
            if self.find_newest(p, at, n, &itl, record)?.is_some_and(|rec| rec.scn >= s.scn) {
                continue;
            }
            any |= self.settle_entry(p, image, n, &itl, s.scn)?;
        }
        Ok(any)
    }

    /// Cleans out entry `n` of an image with its owner's commit as found in undo; true when it was found.
    pub(crate) fn settle_entry(&self, p: &Process, image: &mut Image, n: u8, itl: &Itl, enough: Scn) -> Result<bool> {
        let (flags, scn) = match self.ended(p, itl.xid, enough)? {
            Some(Fate::Committed(scn)) => (itl_flags::COMMITTED, scn),
            Some(Fate::Before(scn)) => (itl_flags::COMMITTED | itl_flags::UPPER_BOUND, scn),
            Some(Fate::Active | Fate::Unsettled) | None => return Ok(false),
        };
        let settled = DataMut::new(image.bytes_mut()).set_itl(n, &Itl { flags, scn, ..*itl });
        settled.map_err(|_| Ora::internal("an entry that the block does not have"))?;
        Ok(true)
    }

    /// The undo record of the newest change made through entry `n` of block `at`.
    fn newest_record<'r>(
        &self,
        p: &Process,
        at: Rdba,
        n: u8,
        itl: &Itl,
        bytes: &'r mut Vec<u8>,
    ) -> Result<UndoRecord<'r>> {
        self.find_newest(p, at, n, itl, bytes)?.ok_or_else(|| self.snapshot_too_old(itl.xid))
    }

    /// As [`Self::newest_record`]; `None` when it is gone.
    fn find_newest<'r>(
        &self,
        p: &Process,
        at: Rdba,
        n: u8,
        itl: &Itl,
        bytes: &'r mut Vec<u8>,
    ) -> Result<Option<UndoRecord<'r>>> {
        if self.copy_undo(p, itl.uba, bytes)?.is_none() {
            return Ok(None);
        }
        let rec = decode_record(itl.uba, bytes)?;
        Ok(Some(rec).filter(|rec| rec.xid == itl.xid && rec.rdba == at && rec.itl == n))
    }

    /// Reverses the newest change made through entry `n` of the image.
    pub(crate) fn step_back(
        &self,
        p: &Process,
        at: Rdba,
        n: u8,
        itl: &Itl,
        scratch: &mut Scratch,
        see: &mut dyn FnMut(&UndoRecord<'_>),
    ) -> Result<()> {
        let Scratch { image, record, .. } = scratch;
        let rec = self.newest_record(p, at, n, itl, record)?;
        see(&rec);
        // Later content may stay in the image and fill the block: a transaction's own rows beside those that others
        // deleted.
        loop {
            match self.undo_in_image(image.bytes_mut(), &rec) {
                Err(_) if image.bytes().len() + SLACK_BYTES <= IMAGE_BYTES_MAX => *image = widened(image, SLACK_BYTES)?,
                done => break done?,
            }
        }
        let mut d = DataMut::new(image.bytes_mut());
        d.set_itl(n, &rec.itl_before).map_err(|_| Ora::internal("undo names an entry that the block does not have"))?;
        p.count(Stat::ConsistentChanges, 1);
        p.count(Stat::DataBlocksConsistentReadsUndoRecordsApplied, 1);
        Ok(())
    }

    fn undo_in_image(&self, image: &mut [u8], rec: &UndoRecord<'_>) -> Result<()> {
        match self.undo_layer(rec.layer) {
            Some(layer) => layer.undo_image(image, rec),
            None => {
                let cv = ChangeVector { rdba: rec.rdba, layer: rec.layer, op: rec.op, data: rec.data };
                self.cache().apply_table().apply(image, &cv)
            }
        }
    }
}

impl Transactions {
    pub(crate) fn snapshot_too_old(&self, xid: Xid) -> Ora {
        self.too_old_in(Some(xid.usn))
    }

    /// Counts an ORA-01555 that a client or a program of PL/SQL gets, for `v$undostat.ssolderrcnt`. A search that goes
    /// on after the error is not counted.
    pub fn count_too_old(&self) {
        self.times().count(crate::scn_time::UndoEvent::TooOld);
    }

    /// ORA-01555 with the number and the name of the undo segment if it is known.
    #[cold]
    pub(crate) fn too_old_in(&self, usn: Option<u16>) -> Ora {
        match usn {
            Some(usn) => Ora::with(1555, &[&usn, &segment_name(usn)]),
            None => Ora::with(1555, &[&"", &""]),
        }
    }
}

/// The same block in a longer image: every row at its directory entry, with more free bytes in between.
fn widened(image: &Image, by: usize) -> Result<Image> {
    let old = Data::new(image.view());
    let mut wide = Image::new(image.bytes().len() + by);
    let kind = old.view.kind().ok_or_else(|| Ora::internal("CR image without a kind"))?;
    let b = wide.bytes_mut();
    data::format(b, kind, old.view.rdba(), old.view.obj(), old.view.map(), old.itls() as u8);
    let mut d = DataMut::new(b);
    let full = |e| Ora::internal(format_args!("widening a CR image: {e:?}"));
    for n in 1..=old.itls() as u8 {
        d.set_itl(n, &old.itl(n).unwrap_or_default()).map_err(full)?;
    }
    let mut body = Vec::new();
    for slot in 0..old.slots() {
        body.clear();
        match old.row(slot) {
            Some(row) => {
                old.view.append_to(row.at, row.len, &mut body);
                d.insert(slot as u16, row.flags, row.lock, row.extra, &body).map_err(full)?;
            }
            None => d.insert(slot as u16, 0, 0, 0, &[]).map_err(full)?,
        }
    }
    for slot in (0..old.slots()).filter(|s| old.row(*s).is_none()) {
        d.remove(slot as u16).map_err(full)?;
    }
    d.set_aux16(old.aux16());
    d.set_aux32(old.aux32());
    d.set_aux64(old.aux64());
    d.set_next(old.next());
    d.set_prev(old.prev());
    Ok(wide)
}
