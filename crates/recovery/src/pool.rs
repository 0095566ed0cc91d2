//! Blocks in private memory while they are rolled forward.
//!
//! | state of a frame | content | leaves it by |
//! |---|---|---|
//! | free | nothing | `frame_for` |
//! | sound | its block, as of the redo read so far | `write_out`, when the pool is full or at the end; `write_early` |
//! | damaged | nothing: unreadable, or a change did not fit | a vector that makes the whole block; `write_out` |
//!
//! When the pool is full, the half that was unused longest is written in the order of the files, neighbours together,
//! and given up. A block that is needed again is read back.
//!
//! Undo blocks are filled one after the other and then left alone; they may be most of the blocks that a roll forward
//! writes. They are written as soon as nothing has changed them for a while: the processor has time for it while redo
//! is being read, their memory is still in the processor's caches, and the device can write them before the final sync.
//! Their frames are then reused. That keeps the memory in use small: touching a page of memory for the first time costs
//! more than all the changes of a block.
//!
//! A block that later redo makes whole is neither changed nor written until then, as far as that redo is known: see
//! [`Pool::will_be_made`].

use block::{BlockKind, BlockView, Image};
use datafile::DataFiles;
use redo::Rba;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use types::{Rdba, Result};

/// Most bytes in one write.
const RUN_BYTES: usize = 1 << 20;

/// An undo block that has not changed within this many bytes of redo counts as full.
const LEFT_ALONE_BYTES: u64 = 4 << 20;

/// Fewest blocks for an early write.
const EARLY_BLOCKS: usize = 64;

/// A hash for block addresses: they differ in their low bits, and the multiplication spreads those.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }
    fn write_u32(&mut self, n: u32) {
        let x = (self.0 ^ u64::from(n)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = x ^ x >> 32;
    }
}

/// A block in the pool.
#[derive(Clone, Copy)]
pub struct Frame {
    pub at: Rdba,
    pub damaged: bool,
    /// The frame differs from the file.
    pub dirty: bool,
    /// The frame still holds zeros.
    pub is_fresh: bool,
    /// The redo being applied makes the whole block: if a crash tears it while it is written, the same redo makes it
    /// again.
    is_made: bool,
    /// The end of the last known record that makes the block whole.
    made: Rba,
    /// The end of the record that used it last.
    used: Rba,
    /// The place of its block in the pool's memory.
    place: usize,
}

/// Bytes of memory that are allocated at a time for blocks.
const SLAB_BYTES: usize = 16 << 20;

/// Memory for blocks, allocated in large pieces: with small ones, first use would cost a page fault for every few
/// thousand bytes.
struct Images {
    slabs: Vec<Image>,
    size: usize,
    given: usize,
    free: Vec<usize>,
}

impl Images {
    fn per_slab(&self) -> usize {
        (SLAB_BYTES / self.size).max(1)
    }

    /// A place for a block, and whether it still holds zeros.
    fn take(&mut self) -> (usize, bool) {
        if let Some(place) = self.free.pop() {
            return (place, false);
        }
        if self.given == self.slabs.len() * self.per_slab() {
            let mut slab = Image::new(self.per_slab() * self.size);
            os::memory::prefer_huge(slab.bytes_mut());
            self.slabs.push(slab);
        }
        self.given += 1;
        (self.given - 1, true)
    }

    fn bytes(&self, place: usize) -> &[u8] {
        let at = place % self.per_slab() * self.size;
        &self.slabs[place / self.per_slab()].bytes()[at..at + self.size]
    }

    fn bytes_mut(&mut self, place: usize) -> &mut [u8] {
        let (per_slab, size) = (self.per_slab(), self.size);
        &mut self.slabs[place / per_slab].bytes_mut()[place % per_slab * size..][..size]
    }
}

/// The state of a block for the record that is being applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A later record makes the block whole: the current record's change is void.
    Void,
    /// The current record makes the block whole: its former content is not needed.
    Made(usize),
    /// The block, as it was read or made by earlier redo.
    Read(usize),
}

/// The pool.
pub struct Pool<'a> {
    files: &'a DataFiles,
    frames: Vec<Frame>,
    /// Numbers of frames without a block.
    vacant: Vec<usize>,
    images: Images,
    places: HashMap<Rdba, usize, BuildHasherDefault<AddressHasher>>,
    frames_max: usize,
    /// Blocks without a frame that later redo makes whole, and the end of the last record that does so.
    to_be_made: HashMap<Rdba, Rba, BuildHasherDefault<AddressHasher>>,
    /// The end of the record that is being applied.
    now: Rba,
    /// Frames not yet considered for an early write, and those of undo blocks that had changed recently.
    new: Vec<usize>,
    young: Vec<usize>,
    /// Writes will be waited for.
    on_device: bool,
    /// The number of the worker, and the checkpoint that stays valid until all is done: for the double-write area.
    slot: usize,
    announced: u64,
    /// Blocks read from and written to the files.
    pub reads: u64,
    pub writes: u64,
    /// Blocks that were left damaged.
    pub damaged: Vec<Rdba>,
}

impl<'a> Pool<'a> {
    /// The smallest pool: the blocks of one record fit into its more recently used half (R6).
    pub const FRAMES_MIN: usize = 64;

    /// A pool of at most `frames_max` blocks; `on_device` says that writes will be waited for. `slot` is the worker's
    /// number, `announced` the checkpoint that stays valid until the roll forward is done.
    pub fn new(files: &'a DataFiles, frames_max: usize, on_device: bool, slot: usize, announced: u64) -> Pool<'a> {
        Pool {
            files,
            frames: Vec::new(),
            vacant: Vec::new(),
            images: Images { slabs: Vec::new(), size: files.block_size(), given: 0, free: Vec::new() },
            places: HashMap::default(),
            frames_max: frames_max.max(Self::FRAMES_MIN),
            to_be_made: HashMap::default(),
            now: Rba(0),
            new: Vec::new(),
            young: Vec::new(),
            on_device,
            slot,
            announced,
            reads: 0,
            writes: 0,
            damaged: Vec::new(),
        }
    }

    /// Announces that the record ending at `end` comes next. A record's blocks stay in the pool while it is applied
    /// (R6).
    pub fn next_record(&mut self, end: Rba) {
        self.now = end;
    }

    /// Announces that the record ending at `end`, which will certainly be applied, makes the block whole: earlier
    /// changes of the block are void. Called in the order of the redo.
    pub fn will_be_made(&mut self, at: Rdba, end: Rba) {
        match self.places.get(&at) {
            Some(&n) => self.frames[n].made = end,
            None => {
                self.to_be_made.insert(at, end);
            }
        }
    }

    /// The frame with this number, and its block.
    pub fn frame_and_block(&mut self, n: usize) -> (&mut Frame, &mut [u8]) {
        let frame = &mut self.frames[n];
        let block = self.images.bytes_mut(frame.place);
        (frame, block)
    }

    /// The block of the frame with this number.
    pub fn view(&self, n: usize) -> BlockView<'_> {
        BlockView::of_bytes(self.images.bytes(self.frames[n].place))
    }

    /// The end of the record that is being applied.
    pub fn now(&self) -> Rba {
        self.now
    }

    /// The frame of a block, which is read into the pool if necessary; `whole` says that its former content is not
    /// needed.
    ///
    /// # Errors
    /// ORA-01114 when frames had to be written and could not be, ORA-01237 when the file cannot grow. A block that
    /// cannot be read is no error: its frame is damaged.
    pub fn get(&mut self, at: Rdba, whole: bool) -> Result<Found> {
        let known = self.places.get(&at).copied();
        let made = match known {
            Some(n) => self.frames[n].made,
            None => self.to_be_made.get(&at).copied().unwrap_or_default(),
        };
        if made > self.now {
            return Ok(Found::Void);
        }
        let whole = whole || made == self.now;
        let n = match known {
            Some(n) => n,
            None => self.frame_for(at, made)?,
        };
        self.frames[n].used = self.now;
        if whole {
            self.frames[n].is_made = true;
            return Ok(Found::Made(n));
        }
        if known.is_none() {
            self.reads += 1;
            let files = self.files;
            let (frame, block) = self.frame_and_block(n);
            frame.damaged = files.read_block(at, block).is_err();
            frame.is_fresh = false;
        }
        Ok(Found::Read(n))
    }

    fn frame_for(&mut self, at: Rdba, made: Rba) -> Result<usize> {
        if self.used_frames() == self.frames_max {
            self.give_up_half()?;
        }
        let (place, is_fresh) = self.images.take();
        let frame = Frame { at, damaged: false, dirty: false, is_fresh, is_made: false, made, used: self.now, place };
        let n = match self.vacant.pop() {
            Some(n) => {
                self.frames[n] = frame;
                n
            }
            None => {
                self.frames.push(frame);
                self.frames.len() - 1
            }
        };
        self.places.insert(at, n);
        self.to_be_made.remove(&at);
        self.new.push(n);
        Ok(n)
    }

    fn used_frames(&self) -> usize {
        self.frames.len() - self.vacant.len()
    }

    /// Writes and gives up the half that was unused longest. Frames of the current record come last.
    fn give_up_half(&mut self) -> Result<()> {
        let mut vacant = std::mem::take(&mut self.vacant);
        vacant.sort_unstable();
        for n in vacant.into_iter().rev() {
            self.frames.swap_remove(n);
        }
        self.frames.sort_unstable_by_key(|f| std::cmp::Reverse(f.used));
        let out = self.frames.split_off(self.frames.len() / 2);
        self.images.free.extend(out.iter().map(|f| f.place));
        self.to_be_made.extend(out.iter().filter(|f| f.made > self.now).map(|f| (f.at, f.made)));
        self.write_changed(out)?;
        (self.new, self.young) = ((0..self.frames.len()).collect(), Vec::new());
        self.places.clear();
        self.places.extend(self.frames.iter().enumerate().map(|(n, f)| (f.at, n)));
        Ok(())
    }

    /// Makes room for the blocks of a record, so that their frames keep their numbers.
    ///
    /// # Errors
    /// As [`Pool::get`].
    pub fn make_room(&mut self, blocks: usize) -> Result<()> {
        if self.used_frames() + blocks > self.frames_max { self.give_up_half() } else { Ok(()) }
    }

    /// Writes all frames that differ from the files.
    ///
    /// # Errors
    /// ORA-01114.
    pub fn write_out(&mut self) -> Result<()> {
        // Frames without a block are not dirty.
        let frames = std::mem::take(&mut self.frames);
        self.places.clear();
        self.write_changed(frames)
    }

    /// Writes undo blocks that are full, if there are enough of them, and gives up their frames.
    ///
    /// # Errors
    /// ORA-01114.
    pub fn write_early(&mut self) -> Result<()> {
        let is_undo = |f: &Frame| BlockView::of_bytes(self.images.bytes(f.place)).kind() == Some(BlockKind::Undo);
        self.young.extend(self.new.drain(..).filter(|n| is_undo(&self.frames[*n])));
        let is_young = |n: usize| self.frames[n].used.0 + LEFT_ALONE_BYTES > self.now.0;
        if self.young.iter().filter(|n| !is_young(**n)).count() < EARLY_BLOCKS {
            return Ok(());
        }
        let (old, young) = std::mem::take(&mut self.young).into_iter().partition(|n| !is_young(*n));
        self.young = young;
        self.give_up(old)
    }

    /// Writes frames and gives them up, except damaged ones and those that later redo makes whole.
    fn give_up(&mut self, mut old: Vec<usize>) -> Result<()> {
        old.retain(|n| !self.frames[*n].damaged && self.frames[*n].made <= self.now);
        let out: Vec<Frame> = old.iter().map(|n| self.frames[*n]).collect();
        for (n, frame) in old.iter().zip(&out) {
            self.places.remove(&frame.at);
            self.frames[*n].dirty = false;
        }
        self.images.free.extend(out.iter().map(|f| f.place));
        self.vacant.append(&mut old);
        self.write_changed(out)
    }

    /// Writes frames, given in the order of the files; neighbours go in one write, without copying.
    fn write(&mut self, frames: &mut [Frame]) -> Result<()> {
        let follows = |a: &Frame, b: &Frame| a.at.0 + 1 == b.at.0 && a.at.file() == b.at.file();
        for frame in frames.iter_mut() {
            let place = frame.place;
            seal(frame, self.images.bytes_mut(place));
            self.damaged.extend(frame.damaged.then_some(frame.at));
        }
        let (mut is_first, run_blocks) = (true, RUN_BYTES / self.images.size);
        for batch in frames.chunks(datafile::COVER_MAX) {
            let needs = batch.iter().filter(|f| !f.is_made && !f.damaged);
            let covered: Vec<&[u8]> = needs.map(|f| self.images.bytes(f.place)).collect();
            let mut pause = || {
                os::clock::sleep(std::time::Duration::from_micros(200));
                Ok(())
            };
            let cover = self.files.cover(self.slot, self.announced, &covered, &mut pause)?;
            for run in batch.chunk_by(follows).flat_map(|run| run.chunks(run_blocks)) {
                if !std::mem::take(&mut is_first) {
                    faults::point("recovery-some-blocks");
                }
                self.write_run(run)?;
                self.writes += run.len() as u64;
            }
            cover.done();
        }
        Ok(())
    }

    fn write_run(&self, run: &[Frame]) -> Result<()> {
        let pieces: Vec<&[u8]> = run.iter().map(|frame| self.images.bytes(frame.place)).collect();
        if self.on_device {
            self.files.write_blocks_soon(run[0].at, &pieces)?;
        } else {
            self.files.write_block_list(run[0].at, &pieces)?;
        }
        Ok(())
    }

    /// Writes those of the frames that differ from the files, except those that later redo makes whole.
    fn write_changed(&mut self, mut frames: Vec<Frame>) -> Result<()> {
        frames.retain(|f| (f.dirty || f.damaged) && f.made <= self.now);
        frames.sort_unstable_by_key(|f| f.at);
        self.write(&mut frames)
    }
}

/// Prepares the frame for its write. A damaged frame gets a header with its own address and a checksum that is
/// certainly wrong, so a reader gets an error instead of an old version of the block (R4).
fn seal(frame: &mut Frame, bytes: &mut [u8]) {
    let at = frame.at;
    frame.damaged |= BlockView::of_bytes(bytes).rdba() != at;
    let damaged = frame.damaged;
    if damaged {
        block::format(bytes, block::BlockKind::Temporary, at, types::ObjectId(0), Rdba::NONE);
    }
    block::seal(bytes);
    if damaged {
        block::spoil(bytes);
    }
}
