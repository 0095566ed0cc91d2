//! Change groups: several blocks change together or not at all.
//!
//! A group pins its blocks exclusively and works on private copies of them in the process's part of the SGA. The frames
//! keep the old blocks, so readers notice nothing until [`ChangeGroup::commit`]. A commit puts the group into the state
//! PUBLISHING and copies the images into the frames: all versions turn odd, the words that differ are stored, all
//! versions turn even. A process that dies before PUBLISHING leaves its pins, which PMON drops. When a process dies
//! during PUBLISHING, PMON copies again, with the same result (R6).
//!
//! **Waiting for pins.** The first block of a group waits as long as it takes. Each further block waits without limit
//! when its address is above all that the group holds, because then no circle of waits can close; otherwise for some
//! milliseconds, after which [`ChangeGroup::current`] returns an error for which [`is_retry`] is true. The caller then
//! drops the group and starts again, or uses [`BufferCache::in_group`], which does this.

use crate::area::*;
use crate::cache::slot_of;
use crate::header::*;
use crate::{BufferCache, GROUP_BLOCKS_MAX};
use block::{BlockKind, BlockView};
use latch::Where;
use process::{Process, SegmentStat};
use redo::{ChangeVector, Layer, Rba, RecordWriter};
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use types::{Facility, ObjectId, Ora, Rdba, Result, Scn};
use wait::{Event, Stat};

/// Number of LWK-00060.
const RETRY: u32 = 60;
/// Longest wait of a group for a further block out of order, in nanoseconds.
const PATIENCE_NS: u64 = 3_000_000;

/// A block of a change group. Valid only for the group that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRef {
    pub(crate) entry: usize,
    at: Rdba,
}

impl BlockRef {
    /// The block's address.
    pub fn rdba(self) -> Rdba {
        self.at
    }
}

/// True for the error that asks the caller to drop the group and to start again.
pub fn is_retry(e: &Ora) -> bool {
    e.facility() == Facility::Lwk && e.code() == RETRY
}

/// The error for which [`is_retry`] is true: its caller's group is dropped and begins again.
pub fn give_way() -> Ora {
    Ora::from_text(Facility::Lwk, RETRY, "change group gave way to another one")
}

/// A function that runs when a group has ended; its argument is true when the group counts.
type AtEnd = Box<dyn FnOnce(&Process, bool)>;

/// An atomic set of block changes in progress. Dropping it undoes everything.
pub struct ChangeGroup<'a> {
    cache: &'a BufferCache,
    p: &'a Process,
    used: usize,
    redo: Option<RecordWriter>,
    /// Bits by entry: the record has, or will have, the whole image instead of the vectors.
    whole: u16,
    /// The image is in the record.
    imaged: u16,
    /// The vectors of the entry begin with ZERO.
    zeroed: u16,
    /// The block belongs to a temporary file: it is kept out of the redo.
    temporary: u16,
    /// Functions to run when the group has ended.
    at_end: Vec<AtEnd>,
}
const _: () = assert!(GROUP_BLOCKS_MAX <= 16, "a bit an entry");

impl BufferCache {
    /// Opens a change group.
    ///
    /// # Panics
    /// When the process has one open already (R10).
    pub fn group<'a>(&'a self, p: &'a Process) -> ChangeGroup<'a> {
        let area = self.area(p);
        assert_eq!(area.group.load(Ordering::Relaxed), GROUP_IDLE, "a process has one change group at a time");
        area.group.store(GROUP_OPEN, Ordering::Relaxed);
        let redo = self.redo.wanted().then(RecordWriter::new);
        ChangeGroup { cache: self, p, used: 0, redo, whole: 0, imaged: 0, zeroed: 0, temporary: 0, at_end: Vec::new() }
    }

    /// Runs `f` in a change group and commits it at `scn()`. Repeats it when the group has to give way to another one.
    ///
    /// # Errors
    /// Errors of `f`, or that the redo cannot be accepted; nothing has changed then.
    pub fn in_group<R>(
        &self,
        p: &Process,
        scn: &dyn Fn() -> Scn,
        f: &mut dyn FnMut(&mut ChangeGroup) -> Result<R>,
    ) -> Result<R> {
        self.in_logged_group(p, scn, f).map(|(r, _)| r)
    }

    /// As [`BufferCache::in_group`]; also returns the end of the group's redo, 0 when nothing was changed.
    ///
    /// # Errors
    /// As [`BufferCache::in_group`].
    pub fn in_logged_group<R>(
        &self,
        p: &Process,
        scn: &dyn Fn() -> Scn,
        f: &mut dyn FnMut(&mut ChangeGroup) -> Result<R>,
    ) -> Result<(R, Rba)> {
        for attempt in 1u64.. {
            let mut g = self.group(p);
            match f(&mut g) {
                Ok(r) => {
                    let end = g.commit(scn())?;
                    return Ok((r, end));
                }
                Err(e) if is_retry(&e) => drop(g),
                Err(e) => return Err(e),
            }
            // Different waits, so that processes that gave way to one another do not collide again.
            os::clock::sleep(Duration::from_micros((slot_of(p) as u64 * 37 + attempt * 101) % 1000));
        }
        unreachable!("the loop ends by returning")
    }

    /// Copies the images of a group that is PUBLISHING into the frames. Repeating it changes nothing.
    pub(crate) fn publish(&self, slot: usize) {
        let area = &self.areas[slot];
        let changed = || {
            (0..GROUP_BLOCKS_MAX).filter_map(|entry| {
                let pin = area.pins[entry].load(Ordering::Relaxed);
                (pin & PIN_CHANGED != 0).then(|| (entry, buffer_of(pin).expect("a pin names its buffer")))
            })
        };
        for (_, buffer) in changed() {
            let h = &self.headers[buffer];
            h.version.store(h.version.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
        }
        fence(Ordering::Release); // a reader that sees a new word sees the odd version
        for (entry, buffer) in changed() {
            self.copy_changes(slot, entry, buffer);
            faults::point("group-publishing-one");
        }
        for (entry, buffer) in changed() {
            let h = &self.headers[buffer];
            let even = (h.version.load(Ordering::Relaxed) | 1).wrapping_add(1);
            area.image_version[entry].store(even, Ordering::Relaxed);
            h.version.store(even, Ordering::Release); // pairs with the Acquire load of a reader
        }
    }
}

impl<'a> ChangeGroup<'a> {
    /// The cache that the group changes.
    pub fn cache(&self) -> &'a BufferCache {
        self.cache
    }

    /// The process that makes the changes.
    pub fn process(&self) -> &'a Process {
        self.p
    }

    /// Pins a block for change and copies it into a private image. Returns the same block again when the group has it.
    ///
    /// Waits: `buffer busy waits`, `read by other session`, `db file sequential read`, `free buffer waits`.
    /// Statistics: `db block gets`. Latches: none on entry or return; 1 get of `cache buffers chains` (and 1 to unpin).
    ///
    /// # Errors
    /// An error for which [`is_retry`] is true: drop the group and start again. ORA-01578, ORA-01115, ORA-00379.
    ///
    /// # Panics
    /// When the group has 16 blocks already.
    pub fn current(&mut self, at: Rdba) -> Result<BlockRef> {
        if let Some(have) = self.find(at) {
            return Ok(have);
        }
        self.cache.files.check_writable(at.file())?;
        self.count_get(at);
        let mut patience = Patience::of(self, at);
        loop {
            match self.try_pin(at)? {
                Pin::Got(entry, buffer) => {
                    self.cache.refresh_image(slot_of(self.p), entry, buffer);
                    self.used += 1;
                    self.note_kind(entry, at);
                    return Ok(BlockRef { entry, at });
                }
                Pin::Missing => self.cache.read_in(self.p, at)?,
                Pin::Busy(buffer) => patience.wait(self, buffer)?,
            }
        }
    }

    /// As [`ChangeGroup::current`], but `None` when the block is not in the cache, is pinned by another group, or lies
    /// in a file that cannot be changed.
    ///
    /// # Errors
    /// As [`BufferCache::read`].
    pub fn current_if_free(&mut self, at: Rdba) -> Result<Option<BlockRef>> {
        if let Some(have) = self.find(at) {
            return Ok(Some(have));
        }
        if self.cache.files.check_writable(at.file()).is_err() {
            return Ok(None);
        }
        match self.try_pin(at)? {
            Pin::Got(entry, buffer) => {
                self.count_get(at);
                self.cache.refresh_image(slot_of(self.p), entry, buffer);
                self.used += 1;
                self.note_kind(entry, at);
                Ok(Some(BlockRef { entry, at }))
            }
            Pin::Missing | Pin::Busy(_) => Ok(None),
        }
    }

    fn note_kind(&mut self, entry: usize, at: Rdba) {
        if self.cache.files.is_temporary(at.file()) {
            self.temporary |= 1 << entry;
        }
    }

    /// Runs `f` when the group has ended: with true when its changes count and its blocks are unpinned, with false
    /// otherwise. A process that dies before runs nothing; the caller then needs a hook for its death.
    pub fn at_end(&mut self, f: impl FnOnce(&Process, bool) + 'static) {
        self.at_end.push(Box::new(f));
    }

    fn end(&mut self, counts: bool) {
        for f in std::mem::take(&mut self.at_end) {
            f(self.p, counts);
        }
    }

    /// The number of further blocks that the group can have.
    pub fn blocks_left(&self) -> usize {
        GROUP_BLOCKS_MAX - self.used
    }

    fn count_get(&self, at: Rdba) {
        self.cache.advice.note(self.p, at.0);
        for stat in [Stat::SessionLogicalReads, Stat::DbBlockGets, Stat::DbBlockGetsFromCache] {
            self.p.count(stat, 1);
        }
    }

    fn try_pin(&mut self, at: Rdba) -> Result<Pin> {
        let (cache, p) = (self.cache, self.p);
        let s = cache.lock_chain(p, at, Where::KcbGetCurrent);
        let Some(buffer) = cache.find_latched(at) else { return Ok(Pin::Missing) };
        let h = &cache.headers[buffer];
        let state = h.state();
        if state.is(READING) || state.owner().is_some() {
            return Ok(Pin::Busy(buffer));
        }
        let entry = self.entry_for(buffer);
        s.set(&cache.area(p).pins[entry], PIN_GROUP | (buffer as u64 + 1));
        s.set(&h.state, state.with_owner(slot_of(p)).0);
        drop(s);
        cache.touch(h);
        Ok(Pin::Got(entry, buffer))
    }

    /// An unused entry, preferably the one whose image is already a copy of this buffer.
    fn entry_for(&self, buffer: usize) -> usize {
        let area = self.cache.area(self.p);
        let free = |e: &usize| area.pins[*e].load(Ordering::Relaxed) == 0;
        let copy_of = |e: usize| area.image_of[e].load(Ordering::Relaxed);
        let all = || (0..GROUP_BLOCKS_MAX).filter(free);
        all()
            .find(|e| copy_of(*e) == buffer as u64 + 1)
            .or_else(|| all().find(|e| copy_of(*e) == 0))
            .or_else(|| all().nth((buffer ^ self.used) % all().count().max(1)))
            .expect("a change group has at most 16 blocks")
    }

    fn find(&self, at: Rdba) -> Option<BlockRef> {
        let area = self.cache.area(self.p);
        (0..GROUP_BLOCKS_MAX)
            .find(|e| {
                buffer_of(area.pins[*e].load(Ordering::Relaxed)).is_some_and(|b| self.cache.headers[b].block() == at)
            })
            .map(|entry| BlockRef { entry, at })
    }

    /// Pins a block without reading it, and makes its image an empty block of `kind` with `itls` ITL slots where the
    /// kind has rows. No other process may know the block: it belongs to an extent of the caller's segment.
    ///
    /// # Errors
    /// As [`ChangeGroup::current`], without those of reading.
    pub fn format(&mut self, at: Rdba, kind: BlockKind, obj: ObjectId, map: Rdba, itls: u8) -> Result<BlockRef> {
        let data = crate::apply::format_vector(kind, at, obj, map, itls);
        self.format_with(ChangeVector { rdba: at, layer: Layer::Block, op: crate::apply::op::FORMAT, data: &data })
    }

    /// Pins a block without reading it, and makes its image by applying `cv` to zeros.
    ///
    /// # Errors
    /// As [`ChangeGroup::format`], and errors of the layer.
    pub fn format_with(&mut self, cv: ChangeVector) -> Result<BlockRef> {
        let b = self.pin_new(cv.rdba)?;
        let bit = 1 << b.entry;
        if self.cache.area(self.p).pins[b.entry].load(Ordering::Relaxed) & PIN_CHANGED == 0 {
            self.zeroed |= bit;
        }
        self.image_mut(b).fill(0);
        if let Some(redo) = self.redo.as_mut().filter(|_| (self.whole | self.temporary) & bit == 0) {
            redo.push(&ChangeVector { rdba: cv.rdba, layer: Layer::Block, op: crate::apply::op::ZERO, data: &[] });
        }
        self.apply(b, cv)?;
        Ok(b)
    }

    fn pin_new(&mut self, at: Rdba) -> Result<BlockRef> {
        if let Some(have) = self.find(at) {
            return Ok(have);
        }
        self.cache.files.check_writable(at.file())?;
        self.count_get(at);
        let mut patience = Patience::of(self, at);
        loop {
            let entry = match self.try_pin(at)? {
                Pin::Got(entry, _) => entry,
                Pin::Busy(buffer) => {
                    patience.wait(self, buffer)?;
                    continue;
                }
                Pin::Missing => {
                    let entry = self.entry_for(usize::MAX - 1);
                    match self.cache.claim(self.p, at, entry, PIN_GROUP)? {
                        Some(_) => entry,
                        None => continue,
                    }
                }
            };
            self.cache.area(self.p).image_of[entry].store(0, Ordering::Relaxed);
            self.used += 1;
            self.note_kind(entry, at);
            fence(Ordering::SeqCst); // pairs with that of `discard`
            self.cache.files.check_writable(at.file())?;
            return Ok(BlockRef { entry, at });
        }
    }

    /// The private image of a block, with the changes of this group.
    pub fn view(&self, b: BlockRef) -> &[u8] {
        self.cache.image_bytes(slot_of(self.p), b.entry)
    }

    /// A view of the private image.
    #[inline]
    pub fn block(&self, b: BlockRef) -> BlockView<'_> {
        BlockView::of_frame(self.cache.image(slot_of(self.p), b.entry))
    }

    #[inline]
    fn image_mut(&mut self, b: BlockRef) -> &mut [u8] {
        let area = self.cache.area(self.p);
        let pin = &area.pins[b.entry];
        // The image is no longer a copy of the frame, until it has been published.
        pin.store(pin.load(Ordering::Relaxed) | PIN_CHANGED, Ordering::Relaxed);
        area.image_of[b.entry].store(0, Ordering::Relaxed);
        self.cache.image_bytes_mut(slot_of(self.p), b.entry)
    }

    /// Changes the private image of a block by a change vector.
    ///
    /// # Errors
    /// Errors of the layer (ORA-00600 for a change that does not fit the block); the group must be dropped then.
    ///
    /// # Panics
    /// When the vector is for another block.
    pub fn apply(&mut self, b: BlockRef, cv: ChangeVector) -> Result<()> {
        assert_eq!(b.at, cv.rdba, "a change vector is applied to its own block");
        let cache = self.cache;
        let first = cache.area(self.p).pins[b.entry].load(Ordering::Relaxed) & PIN_CHANGED == 0;
        if first && self.redo.is_some() {
            self.decide(b.entry, cache.redo.image_before());
        }
        cache.apply.apply(self.image_mut(b), &cv)?;
        self.p.count(Stat::DbBlockChanges, 1);
        let object = BlockView::of_frame(cache.image(slot_of(self.p), b.entry)).obj();
        cache.segment_statistics.note(self.p, object, SegmentStat::DbBlockChanges, 1);
        if let Some(redo) = self.redo.as_mut().filter(|_| (self.whole | self.temporary) & 1 << b.entry == 0) {
            redo.push(&cv);
        }
        Ok(())
    }

    /// Decides whether the record gets the whole image of an entry: when its file requires whole images, and the
    /// block's last change is not after `checkpoint`. True when the decision is new.
    fn decide(&mut self, entry: usize, checkpoint: Rba) -> bool {
        let bit = 1 << entry;
        let rba = BlockView::of_frame(self.cache.image(slot_of(self.p), entry)).rba();
        let whole = (self.whole | self.zeroed | self.temporary) & bit == 0
            && rba <= checkpoint.0
            && self.cache.files.logs_whole_blocks(self.rdba_of(entry).file());
        self.whole |= if whole { bit } else { 0 };
        whole
    }

    /// Changes the private image of a block; the short form of [`ChangeGroup::apply`].
    ///
    /// # Errors
    /// As [`ChangeGroup::apply`].
    pub fn change(&mut self, b: BlockRef, layer: Layer, op: u8, data: &[u8]) -> Result<()> {
        self.apply(b, ChangeVector { rdba: b.at, layer, op, data })
    }

    /// Publishes all changes with `scn`, marks the blocks dirty and unpins them. Returns the end of the redo record, 0
    /// without one. The group counts from the moment at which it is PUBLISHING; its redo is on disk later.
    ///
    /// Latches: `redo allocation`, `checkpoint queue latch` and `cache buffers chains`, one at a time; none on return.
    /// Waits: `log buffer space`, `log file switch (…)`.
    ///
    /// # Errors
    /// The redo cannot be accepted: nothing has changed.
    pub fn commit(mut self, scn: Scn) -> Result<Rba> {
        let (cache, p) = (self.cache, self.p);
        if self.changed().next().is_none() {
            self.release(false);
            return Ok(Rba(0));
        }
        let area = cache.area(p);
        let end = self.log(scn)?;
        faults::point("group-copied");
        area.group.store(GROUP_PUBLISHING, Ordering::Release); // the images and the record are complete
        faults::point("group-publishing");
        if end > Rba(0) {
            cache.redo.settle(p);
        }
        faults::point("group-settled");
        cache.publish(slot_of(p));
        faults::point("group-published");
        self.release(true);
        faults::point("group-released");
        self.end(true);
        Ok(end)
    }

    /// Entries of blocks that have changed.
    fn changed(&self) -> impl Iterator<Item = usize> + use<'a> {
        let area = self.cache.area(self.p);
        (0..GROUP_BLOCKS_MAX).filter(|e| area.pins[*e].load(Ordering::Relaxed) & PIN_CHANGED != 0)
    }

    /// Puts the record into the redo and its end address into the images.
    fn log(&mut self, scn: Scn) -> Result<Rba> {
        let (cache, p) = (self.cache, self.p);
        if self.redo.is_none() || self.changed().all(|entry| self.temporary & 1 << entry != 0) {
            return Ok(Rba(0));
        }
        let (place, end) = loop {
            let decided = cache.redo.image_before();
            let redo = self.complete(decided);
            let len = redo.len();
            if let Some(place) = cache.redo.reserve(p, len, decided, &cache.area(p).group_rba)? {
                break (place, Rba(place.at.0 + len as u64));
            }
        };
        faults::point("group-reserved");
        for entry in self.changed().filter(|entry| self.temporary & 1 << entry == 0) {
            block::stamp(cache.image_bytes_mut(slot_of(p), entry), end.0);
        }
        let time_s = (os::clock::wall_ns() / 1_000_000_000) as u32;
        let record = self.redo.as_mut().expect("there is a record").finish(&place, scn, time_s);
        cache.redo.put(p, place.at, record);
        p.count(Stat::RedoEntries, 1);
        p.count(Stat::RedoSize, record.len() as u64);
        Ok(end)
    }

    /// Puts the whole images that a recovery from `checkpoint` needs into the record, in place of the vectors of their
    /// blocks.
    fn complete(&mut self, checkpoint: Rba) -> &RecordWriter {
        let (cache, slot) = (self.cache, slot_of(self.p));
        let mut late = Vec::new();
        for entry in self.changed() {
            if self.decide(entry, checkpoint) {
                late.push(self.rdba_of(entry));
            }
        }
        let mut redo = self.redo.take().expect("there is a record");
        if !late.is_empty() {
            redo.drop_vectors(|at| late.contains(&at));
        }
        for entry in self.changed().filter(|e| self.whole & !self.imaged & 1 << e != 0).collect::<Vec<_>>() {
            let data = crate::apply::image_vector(cache.image_bytes_mut(slot, entry));
            let op = crate::apply::op::IMAGE;
            redo.push(&ChangeVector { rdba: self.rdba_of(entry), layer: Layer::Block, op, data: &data });
            self.imaged |= 1 << entry;
        }
        self.redo.insert(redo)
    }

    fn rdba_of(&self, entry: usize) -> Rdba {
        let pin = self.cache.area(self.p).pins[entry].load(Ordering::Relaxed);
        self.cache.headers[buffer_of(pin).expect("a pin names its buffer")].block()
    }

    /// Unpins all blocks; with `published`, the changed ones are dirty.
    fn release(&mut self, published: bool) {
        let (cache, p) = (self.cache, self.p);
        let area = cache.area(p);
        let logged_rba = area.group_rba.load(Ordering::Relaxed);
        for entry in 0..GROUP_BLOCKS_MAX {
            let pin = area.pins[entry].load(Ordering::Relaxed);
            let Some(buffer) = buffer_of(pin) else { continue };
            let changed = pin & PIN_CHANGED != 0;
            if published && changed {
                // The image equals the frame now: the next group of this process need not copy it.
                area.image_of[entry].store(buffer as u64 + 1, Ordering::Relaxed);
                if self.zeroed & 1 << entry != 0 {
                    // Release: a reader of this word copies a frame that includes the record.
                    cache.headers[buffer].whole_rba.store(logged_rba, Ordering::Release);
                }
                let low_rba = if self.temporary & 1 << entry == 0 { logged_rba } else { 0 };
                cache.drop_changed(p, slot_of(p), entry, buffer, low_rba);
                faults::point("group-released-one");
            } else if cache.headers[buffer].state().is(READING) {
                cache.abandon(p, slot_of(p), entry, buffer);
            } else {
                cache.drop_exclusive(p, slot_of(p), entry, buffer);
            }
        }
        self.used = 0;
        area.group_rba.store(0, Ordering::Release); // all blocks are marked dirty: checkpoints need not wait
        area.group.store(GROUP_IDLE, Ordering::Release);
    }

    /// Reads a block as changed by this group, or else as published. `f` may run several times.
    ///
    /// # Errors
    /// As [`BufferCache::read`].
    pub fn peek<R>(&self, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Result<R> {
        match self.find(at) {
            Some(b) => Ok(f(&self.block(b))),
            None => self.cache.read(self.p, at, crate::GetKind::Current, f),
        }
    }
}

impl Drop for ChangeGroup<'_> {
    fn drop(&mut self) {
        if self.cache.area(self.p).group.load(Ordering::Relaxed) == GROUP_OPEN {
            self.release(false);
        }
        self.end(false);
    }
}

enum Pin {
    Got(usize, usize),
    Missing,
    Busy(usize),
}

/// The longest wait of a group for one more block.
struct Patience {
    forever: bool,
    until_ns: u64,
}

impl Patience {
    fn of(g: &ChangeGroup, at: Rdba) -> Patience {
        let area = g.cache.area(g.p);
        let highest = (0..GROUP_BLOCKS_MAX)
            .filter_map(|e| buffer_of(area.pins[e].load(Ordering::Relaxed)))
            .map(|b| g.cache.headers[b].block())
            .max();
        Patience { forever: highest.is_none_or(|h| h < at), until_ns: 0 }
    }

    fn wait(&mut self, g: &ChangeGroup, buffer: usize) -> Result<()> {
        let h = &g.cache.headers[buffer];
        let at = h.block();
        if !self.forever {
            let now = os::clock::now_ns();
            if self.until_ns == 0 {
                self.until_ns = now + PATIENCE_NS;
            } else if now >= self.until_ns {
                return Err(give_way());
            }
        }
        let free = || h.block() != at || (h.state().owner().is_none() && !h.state().is(READING));
        for _ in 0..100 {
            if free() {
                return Ok(());
            }
            os::cpu::relax();
        }
        let event = if h.state().is(READING) { Event::ReadByOtherSession } else { Event::BufferBusyWaits };
        g.cache.sleep_on(g.p, h, event, free);
        Ok(())
    }
}
