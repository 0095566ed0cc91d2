//! Reads in the four designs, and reading blocks from disk.
//!
//! Every design ends with the same check: the frame is read through a [`BlockView`], and the result counts only if the
//! header's version was even before and is the same after (R5). The designs differ in their use of the chain and the
//! header: the historical ones write the latch word, and the pin count, for every reader into one shared cache line.

use crate::area::PIN_CLAIM;
use crate::cache::slot_of;
use crate::header::*;
use crate::{BufferCache, ChainDesign, GetKind, MULTIBLOCK_MAX};
use block::{BlockView, Image, LINE_BYTES};
use latch::Where;
use process::{Process, SegmentStat};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use types::{Rdba, Result};
use wait::{Event, Stat};

/// Optimistic tries before a read takes a pin.
const TRIES: usize = 16;
/// Spins on a frame that is being published before the reader sleeps: publishing takes about a microsecond.
const SPINS: usize = 200;
/// In the versioned design, one read in this many reads the touch count.
const TOUCH_SAMPLE: u64 = 16;
/// Blocks that are prefetched at a time: as many as a processor has outstanding cache misses.
pub const PREFETCH_BLOCKS: usize = 16;
/// Lines of a frame with its header, the first transactions and the beginning of the row directory.
const FRAME_LINES: usize = 3;

/// The buffer and version of a block at one read: never the same again once the block has changed or left its buffer.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    at: Rdba,
    buffer: u32,
    version: u64,
}

/// The buffer of a block that will be read soon. The block may have left it since.
#[derive(Debug, Clone, Copy)]
pub struct Ahead(usize);

impl BufferCache {
    /// Reads the present version of a block, by the design in force.
    ///
    /// `f` may run several times and may see torn data: it must copy its result out, and only its last result counts. A
    /// block that this process has changed in an open group is seen without the change. Latches: on entry only levels
    /// below `cache buffers chains`; none on return. In the historical designs, `f` runs under the chain's latch when
    /// `kind` is [`GetKind::Examination`] and must not get another one. Waits: `db file sequential read`, `read by
    /// other session`, `buffer busy waits`, `free buffer waits`. Statistics: `session logical reads` and those of
    /// `kind`; `buffer is pinned count` instead when a held pin was used.
    ///
    /// # Errors
    /// ORA-01578 for a damaged block, ORA-01115 for a failing device, ORA-00379 when no buffer is available.
    #[inline]
    pub fn read<R>(&self, p: &Process, at: Rdba, kind: GetKind, f: &mut dyn FnMut(&BlockView) -> R) -> Result<R> {
        let design = self.design();
        if design == ChainDesign::FastPath && kind == GetKind::Consistent {
            return self.read_fast(p, at, f);
        }
        self.count_get(p, kind);
        self.advice.note(p, at.0);
        if design == ChainDesign::Versioned
            && let Some(r) = self.read_versioned(p, at, f)
        {
            return Ok(r);
        }
        self.read_slow(p, at, design, kind, f)
    }

    /// The rest of a consistent get that began on the fast path and found that another design is in force by now. It
    /// reads under a pin in the versioned design, too, as after a read that has failed: a second caller of
    /// `read_versioned` would cost every versioned read a call.
    pub(crate) fn read_uncounted<R>(
        &self,
        p: &Process,
        at: Rdba,
        kind: GetKind,
        f: &mut dyn FnMut(&BlockView) -> R,
    ) -> Result<R> {
        self.read_slow(p, at, self.design(), kind, f)
    }

    /// As [`BufferCache::read`], but when the block is unchanged since the read of `stamp`, `f` is not called and
    /// `None` is returned: the reader's earlier copy is still right. Counts as a get in both cases. In the historical
    /// designs, which read a block under a latch or a pin, `f` is always called.
    ///
    /// # Errors
    /// As [`BufferCache::read`].
    #[inline]
    pub fn read_changed<R>(
        &self,
        p: &Process,
        at: Rdba,
        kind: GetKind,
        stamp: &mut Option<Stamp>,
        f: &mut dyn FnMut(&BlockView) -> R,
    ) -> Result<Option<R>> {
        // A stamp outlasts a switch: the historical designs must not read by it.
        if self.knows_versions() && stamp.is_some_and(|s| s.at == at && self.is_same(&s)) {
            self.count_get(p, kind);
            self.advice.note(p, at.0);
            self.count_chain_get(p, at, false);
            if let Some(s) = stamp {
                self.touch_sampled(p, s.buffer as usize);
            }
            return Ok(None);
        }
        *stamp = None;
        let before = if self.knows_versions() { self.find(at) } else { None };
        let before = before.map(|buffer| {
            let version = self.headers[buffer].version.load(Ordering::Acquire); // as in `read_frame_once`
            Stamp { at, buffer: buffer as u32, version }
        });
        let r = self.read(p, at, kind, f)?;
        // The same version before and after, and even: the block did not change in between.
        *stamp = before.filter(|s| s.version & 1 == 0 && self.is_same(s));
        Ok(Some(r))
    }

    /// Whether [`BufferCache::read_changed`] can detect that nothing has changed.
    #[inline]
    pub fn knows_versions(&self) -> bool {
        self.design() == ChainDesign::Versioned
    }

    #[inline]
    fn is_same(&self, s: &Stamp) -> bool {
        let Some(h) = self.headers.get(s.buffer as usize) else { return false };
        fence(Ordering::Acquire); // pairs with the Release fence after the version turned odd
        h.version.load(Ordering::Acquire) == s.version && h.identity.load(Ordering::Relaxed) == u64::from(s.at.0)
    }

    /// Announces a read of block `at` at these places: the processor can load these lines in parallel, instead of one
    /// after the other as each points to the next. `hint` is the process's memory of the block's buffer; a wrong one
    /// only loses the advantage.
    #[inline]
    pub fn prefetch(&self, at: Rdba, hint: &AtomicU32, places: &[usize]) {
        let buffer = hint.load(Ordering::Relaxed) as usize;
        let Some(h) = self.headers.get(buffer) else { return };
        let frame = BlockView::of_frame(self.frame(buffer));
        places.iter().for_each(|place| frame.prefetch(*place));
        if h.identity.load(Ordering::Relaxed) != u64::from(at.0)
            && let Some(buffer) = self.find(at)
        {
            hint.store(buffer as u32, Ordering::Relaxed);
        }
    }

    /// Announces reads of these blocks, at most [`PREFETCH_BLOCKS`]: the processor loads the lines that lead to each of
    /// them, and the lines of their frames that the `steps` request, in parallel. A step gets its own number, the index
    /// of a block in `blocks`, and the frame. It should read only what the step before has prefetched, and may see torn
    /// data. Nothing is counted, and blocks that are not in the cache are skipped. No effect in the historical designs,
    /// which find a block under a latch.
    #[inline]
    pub fn prefetch_blocks(&self, blocks: &[Rdba], steps: usize, mut f: impl FnMut(usize, usize, &BlockView)) {
        if self.design() != ChainDesign::Versioned {
            return;
        }
        let blocks = &blocks[..blocks.len().min(PREFETCH_BLOCKS)];
        for at in blocks {
            os::cpu::prefetch(&self.chains[self.chain(*at)]);
        }
        let mut buffers = [usize::MAX; PREFETCH_BLOCKS];
        for (at, buffer) in blocks.iter().zip(&mut buffers) {
            *buffer = (self.chains[self.chain(*at)].load(Ordering::Relaxed) as usize).wrapping_sub(1);
            if let Some(h) = self.headers.get(*buffer) {
                os::cpu::prefetch(h);
            }
        }
        for (at, buffer) in blocks.iter().zip(&mut buffers) {
            let is_it = |h: &BufferHeader| h.identity.load(Ordering::Relaxed) == u64::from(at.0);
            if !self.headers.get(*buffer).is_some_and(is_it) {
                *buffer = self.find(*at).unwrap_or(usize::MAX);
            }
            if *buffer != usize::MAX {
                let frame = BlockView::of_frame(self.frame(*buffer));
                (0..FRAME_LINES).for_each(|line| frame.prefetch(line * LINE_BYTES));
            }
        }
        for step in 0..steps {
            for (n, buffer) in buffers[..blocks.len()].iter().enumerate().filter(|(_, b)| **b != usize::MAX) {
                f(step, n, &BlockView::of_frame(self.frame(*buffer)));
            }
        }
    }

    /// Prefetches `lines` lines of a block found by [`BufferCache::find_ahead`], from the byte `from` on; see
    /// [`BufferCache::prefetch_blocks`].
    #[inline]
    pub fn prefetch_lines(&self, found: Ahead, from: usize, lines: usize) {
        if self.design() == ChainDesign::Versioned {
            let frame = BlockView::of_frame(self.frame(found.0));
            (0..lines).for_each(|n| frame.prefetch(from + n * LINE_BYTES));
        }
    }

    /// The block's buffer, if it is in the cache now.
    pub fn find_ahead(&self, at: Rdba) -> Option<Ahead> {
        self.find(at).map(Ahead)
    }

    #[inline]
    pub(crate) fn count_get(&self, p: &Process, kind: GetKind) {
        p.count(Stat::SessionLogicalReads, 1);
        match kind {
            GetKind::Current => {
                p.count(Stat::DbBlockGets, 1);
                p.count(Stat::DbBlockGetsFromCache, 1);
            }
            GetKind::Consistent => {
                p.count(Stat::ConsistentGets, 1);
                p.count(Stat::ConsistentGetsFromCache, 1);
            }
            GetKind::Examination => {
                p.count(Stat::ConsistentGets, 1);
                p.count(Stat::ConsistentGetsFromCache, 1);
                p.count(Stat::ConsistentGetsExamination, 1);
            }
        }
    }

    #[inline]
    fn read_versioned<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Option<R> {
        for attempt in 0..TRIES {
            let buffer = self.find(at)?;
            if let Some(r) = self.read_frame_once(buffer, at, f) {
                self.count_chain_get(p, at, attempt > 0);
                self.touch_sampled(p, buffer);
                return Some(r);
            }
            os::cpu::relax();
        }
        None
    }

    /// One try: even version, the right block, `f`, the same version.
    #[inline]
    pub(crate) fn read_frame_once<R>(&self, buffer: usize, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Option<R> {
        let h = &self.headers[buffer];
        let version = h.version.load(Ordering::Acquire); // pairs with the last store of `publish_frame`
        if version & 1 == 1 || h.identity.load(Ordering::Relaxed) != u64::from(at.0) {
            return None;
        }
        let r = f(&BlockView::of_frame(self.frame(buffer)));
        fence(Ordering::Acquire); // pairs with the Release fence after the version turned odd
        (h.version.load(Ordering::Relaxed) == version).then_some(r)
    }

    #[inline]
    fn touch_sampled(&self, p: &Process, buffer: usize) {
        if p.stats().get(Stat::SessionLogicalReads).is_multiple_of(TOUCH_SAMPLE) {
            self.touch(&self.headers[buffer]);
            self.note_buffer(p, buffer, SegmentStat::LogicalReads, TOUCH_SAMPLE);
        }
    }

    /// Counts for the segment, as a versioned read does: in the historical designs, and where a read takes a pin.
    #[inline]
    pub(crate) fn sample_read(&self, p: &Process, buffer: usize) {
        if p.stats().get(Stat::SessionLogicalReads).is_multiple_of(TOUCH_SAMPLE) {
            self.note_buffer(p, buffer, SegmentStat::LogicalReads, TOUCH_SAMPLE);
        }
    }

    #[cold]
    #[inline(never)]
    fn read_slow<R>(
        &self,
        p: &Process,
        at: Rdba,
        design: ChainDesign,
        kind: GetKind,
        f: &mut dyn FnMut(&BlockView) -> R,
    ) -> Result<R> {
        loop {
            let done = match (design, kind) {
                (ChainDesign::Exclusive, GetKind::Examination) => self.examine_exclusive(p, at, f),
                (ChainDesign::Shared | ChainDesign::FastPath, GetKind::Examination) => self.examine_shared(p, at, f),
                _ => self.read_pinned(p, at, f),
            };
            match done {
                Found::Read(r) => return Ok(r),
                Found::Busy(buffer) => self.wait_while_busy(p, buffer, at),
                Found::Missing => self.read_in(p, at)?,
            }
        }
    }

    fn examine_exclusive<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Found<R> {
        let _s = self.lock_chain(p, at, Where::KcbGetConsistent);
        self.examine(p, at, f)
    }

    fn examine_shared<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Found<R> {
        let _s = self.lock_chain_shared(p, at, Where::KcbGetConsistentShared);
        self.examine(p, at, f)
    }

    fn examine<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Found<R> {
        let Some(buffer) = self.find_latched(at) else { return Found::Missing };
        match self.read_frame_once(buffer, at, f) {
            Some(r) => {
                self.touch(&self.headers[buffer]);
                self.sample_read(p, buffer);
                Found::Read(r)
            }
            None => Found::Busy(buffer),
        }
    }

    fn read_pinned<R>(&self, p: &Process, at: Rdba, f: &mut dyn FnMut(&BlockView) -> R) -> Found<R> {
        let s = self.lock_chain(p, at, Where::KcbGetConsistentPin);
        let Some(buffer) = self.find_latched(at) else { return Found::Missing };
        let h = &self.headers[buffer];
        if h.state().is(READING) {
            return Found::Busy(buffer);
        }
        let entry = self.add_shared(p, &s, buffer);
        drop(s);
        let pin = SharedPin { cache: self, p, buffer, entry };
        self.touch(h);
        loop {
            if let Some(r) = self.read_frame_once(buffer, at, f) {
                self.sample_read(p, buffer);
                drop(pin);
                return Found::Read(r);
            }
            self.wait_while_busy(p, buffer, at);
        }
    }

    /// Waits while the frame of `at` is being filled or published: spins, then sleeps.
    pub(crate) fn wait_while_busy(&self, p: &Process, buffer: usize, at: Rdba) {
        let h = &self.headers[buffer];
        let over = || h.version.load(Ordering::Acquire) & 1 == 0 || h.block() != at;
        if !h.state().is(READING) {
            for _ in 0..SPINS {
                if over() {
                    return;
                }
                os::cpu::relax();
            }
        }
        if !over() {
            let event = if h.state().is(READING) { Event::ReadByOtherSession } else { Event::BufferBusyWaits };
            self.sleep_on(p, h, event, over);
        }
    }

    /// Reads a block from disk into the cache. Waits: `db file sequential read`.
    #[cold]
    pub(crate) fn read_in(&self, p: &Process, at: Rdba) -> Result<()> {
        let entry = self.free_entry(p);
        let Some(buffer) = self.claim(p, at, entry, PIN_CLAIM)? else { return Ok(()) };
        fence(Ordering::SeqCst); // pairs with that of `discard`
        let mut image = Image::new(self.block_size);
        let read = self.read_file(p, at, Event::DbFileSequentialRead, image.bytes_mut());
        if let Err(e) = read.and_then(|()| self.files.check_block(at, image.bytes())) {
            self.abandon(p, slot_of(p), entry, buffer);
            return Err(e);
        }
        let object = image.view().obj();
        self.segment_statistics.note(p, object, SegmentStat::PhysicalReads, 1);
        self.segment_statistics.note(p, object, SegmentStat::PhysicalReadRequests, 1);
        self.fill(p, entry, buffer, image.bytes());
        Ok(())
    }

    /// Reads neighbouring blocks from their file into `bytes`, unchecked. Latches: none held, only pins (R2).
    fn read_file(&self, p: &Process, at: Rdba, event: Event, bytes: &mut [u8]) -> Result<()> {
        let blocks = (bytes.len() / self.block_size) as u64;
        let began = os::clock::now_ns();
        let read = {
            let (file, block) = self.files.shown(at);
            let _w = p.wait(event, file.into(), block.into(), blocks);
            self.files.read_blocks(at, bytes)
        };
        self.note_read(self.files.shown_file(at.file()), blocks, os::clock::now_ns() - began);
        for stat in [Stat::PhysicalReads, Stat::PhysicalReadsCache] {
            p.count(stat, blocks);
        }
        for stat in [Stat::PhysicalReadIoRequests, Stat::PhysicalReadTotalIoRequests] {
            p.count(stat, 1);
        }
        for stat in [Stat::PhysicalReadBytes, Stat::PhysicalReadTotalBytes] {
            p.count(stat, bytes.len() as u64);
        }
        read
    }

    /// Copies a block that was read into the buffer claimed for it, and ends the claim.
    fn fill(&self, p: &Process, entry: usize, buffer: usize, image: &[u8]) {
        let image = BlockView::of_bytes(image);
        for (i, word) in self.frame(buffer).iter().enumerate() {
            word.store(image.word(i).to_le(), Ordering::Relaxed);
        }
        let h = &self.headers[buffer];
        let odd = h.version.load(Ordering::Relaxed) | 1;
        h.version.store(odd.wrapping_add(1), Ordering::Release); // pairs with the Acquire load of a versioned read
        self.drop_exclusive(p, slot_of(p), entry, buffer);
    }

    /// True when the block seems to have a buffer, read without a latch: a hint for planning reads.
    #[inline]
    pub fn is_cached(&self, at: Rdba) -> bool {
        self.find(at).is_some()
    }

    /// Sets the number of blocks of a multiblock read of this process, 0 for the instance's value; at most
    /// [`crate::MULTIBLOCK_MAX`].
    pub fn set_multiblock(&self, p: &Process, blocks: u64) {
        self.area(p).multiblock.store(blocks, Ordering::Relaxed);
    }

    /// Reads the next blocks of a scan into the cache by one call: the first of `blocks` and its neighbours after it,
    /// as long as they are in the list, not in the cache, and buffers are free. A block that cannot be read is left to
    /// its own read, which reports the error.
    ///
    /// Waits: `db file scattered read`, `free buffer waits`. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-00379 when no buffer is available.
    #[cold]
    pub fn read_ahead(&self, p: &Process, blocks: &[Rdba]) -> Result<()> {
        let Some(first) = blocks.first() else { return Ok(()) };
        let claims = self.claim_run(p, *first, self.run_of(p, blocks))?;
        if claims.is_empty() {
            return Ok(());
        }
        fence(Ordering::SeqCst); // pairs with that of `discard`
        let (size, slot) = (self.block_size, slot_of(p));
        let mut images = self.take_images(claims.len());
        let bytes = &mut images.bytes_mut()[..claims.len() * size];
        let event = if claims.len() > 1 { Event::DbFileScatteredRead } else { Event::DbFileSequentialRead };
        let read = self.read_file(p, *first, event, bytes);
        p.count(Stat::PrefetchedBlocks, claims.len() as u64 - 1);
        for (n, (entry, buffer)) in claims.into_iter().enumerate() {
            let (at, image) = (Rdba(first.0 + n as u32), &bytes[n * size..(n + 1) * size]);
            if read.is_ok() && self.files.check_block(at, image).is_ok() {
                let object = BlockView::of_bytes(image).obj();
                self.segment_statistics.note(p, object, SegmentStat::PhysicalReads, 1);
                self.segment_statistics.note(p, object, SegmentStat::PhysicalReadRequests, u64::from(n == 0));
                self.fill(p, entry, buffer, image);
            } else {
                self.abandon(p, slot, entry, buffer);
            }
        }
        self.give_images(images);
        Ok(())
    }

    /// The number of `blocks`, from the first on, that are neighbours and not cached; at most the size of a read.
    fn run_of(&self, p: &Process, blocks: &[Rdba]) -> usize {
        let own = self.area(p).multiblock.load(Ordering::Relaxed);
        let most = if own > 0 { own } else { self.figures.multiblock.load(Ordering::Relaxed) };
        // One read must not replace most of a small cache.
        let most = (most as usize).clamp(1, MULTIBLOCK_MAX).min(self.headers.len() / 8);
        let first = blocks.first().map_or(0, |at| at.0);
        let wanted = |(n, at): &(u32, &Rdba)| at.0 == first + n && (*n == 0 || !self.is_cached(**at));
        (0..).zip(&blocks[..blocks.len().min(most)]).take_while(wanted).count()
    }

    /// Claims buffers for `count` neighbouring blocks; fewer when others have them by now or buffers are short. Waits
    /// for the first one.
    fn claim_run(&self, p: &Process, first: Rdba, count: usize) -> Result<Vec<(usize, usize)>> {
        let mut claims = Vec::with_capacity(count);
        for n in 0..count as u32 {
            let (at, entry) = (Rdba(first.0 + n), self.free_entry(p));
            let buffer = match n {
                0 => self.claim(p, at, entry, PIN_CLAIM)?,
                _ => self.try_claim(p, at, entry, PIN_CLAIM),
            };
            match buffer {
                Some(buffer) => claims.push((entry, buffer)),
                None => break,
            }
        }
        Ok(claims)
    }
}

enum Found<R> {
    Read(R),
    /// The block has a buffer, but its frame is being filled or published.
    Busy(usize),
    Missing,
}

/// Ends the pin also when the reader's function panics.
struct SharedPin<'a> {
    cache: &'a BufferCache,
    p: &'a Process,
    buffer: usize,
    entry: usize,
}

impl Drop for SharedPin<'_> {
    fn drop(&mut self) {
        self.cache.drop_shared(self.p, slot_of(self.p), self.entry, self.buffer);
    }
}
