//! Blocks in private memory while they are rolled forward.
//!
//! | state of a frame | what it holds | leaves it by |
//! |---|---|---|
//! | free | nothing | `frame_for` |
//! | sound | its block, as of the redo read so far | `write_out`, when the pool is full or at the end |
//! | damaged | nothing: the block could not be read, or a change did not fit it | a vector that makes the whole block; `write_out`, which leaves a block on disk that nobody takes for sound |
//!
//! When the pool is full, half of it is written in the order of the files, neighbours together, and given up: the half that has
//! waited longest. A block that comes again is read back.
//!
//! Undo blocks are filled one after the other and then left alone; most of what a roll forward writes may be such blocks. They are
//! written as soon as nothing has changed them for a while, so that the device has them before the end is waited for. They stay in the
//! pool: one that is changed again after all is written again.

use block::{BlockKind, BlockView, Image};
use datafile::DataFiles;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use types::{Rdba, Result};

/// Bytes written at a time, at most.
const RUN_BYTES: usize = 1 << 20;

/// An undo block that this many records have not changed is taken to be full.
const LEFT_ALONE: u64 = 4096;

/// Blocks that are written early at a time, at least.
const EARLY_BLOCKS: usize = 64;

/// A hash for addresses: their low bits differ, the multiplication spreads them.
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
    /// When it was last used: a count of records.
    used: u64,
    /// The place of its block.
    place: usize,
}

/// Bytes of memory that are taken at a time for blocks.
const SLAB_BYTES: usize = 16 << 20;

/// Memory for blocks, in large pieces: touched for the first time, small ones would cost a page fault for every few thousand bytes.
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

    /// A place for a block, filled with zeros.
    fn take(&mut self) -> usize {
        if let Some(place) = self.free.pop() {
            self.bytes_mut(place).fill(0);
            return place;
        }
        if self.given == self.slabs.len() * self.per_slab() {
            let mut slab = Image::new(self.per_slab() * self.size);
            os::memory::prefer_huge(slab.bytes_mut());
            self.slabs.push(slab);
        }
        self.given += 1;
        self.given - 1
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

/// The pool.
pub struct Pool<'a> {
    files: &'a DataFiles,
    frames: Vec<Frame>,
    images: Images,
    places: HashMap<Rdba, usize, BuildHasherDefault<AddressHasher>>,
    frames_max: usize,
    now: u64,
    /// Frames before this one have been looked at for being written early.
    looked_at: usize,
    early: Vec<usize>,
    /// What is written is going to be waited for.
    on_device: bool,
    /// Blocks read from and written to the files.
    pub reads: u64,
    pub writes: u64,
    /// Blocks that were left damaged.
    pub damaged: Vec<Rdba>,
}

impl<'a> Pool<'a> {
    /// The smallest pool: a record's blocks fit into its younger half.
    pub const FRAMES_MIN: usize = 64;

    /// A pool of at most `frames_max` blocks; `on_device` says that what is written is going to be waited for.
    pub fn new(files: &'a DataFiles, frames_max: usize, on_device: bool) -> Pool<'a> {
        Pool {
            files,
            frames: Vec::new(),
            images: Images { slabs: Vec::new(), size: files.block_size(), given: 0, free: Vec::new() },
            places: HashMap::default(),
            frames_max: frames_max.max(Self::FRAMES_MIN),
            now: 0,
            looked_at: 0,
            early: Vec::new(),
            on_device,
            reads: 0,
            writes: 0,
            damaged: Vec::new(),
        }
    }

    /// Says that another record begins. A record's blocks stay in the pool while it is applied.
    pub fn next_record(&mut self) {
        self.now += 1;
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

    /// The frame of a block: in the pool, or read into it; `whole` says that its former content does not matter.
    ///
    /// # Errors
    /// ORA-01114 when frames had to be written and could not be, ORA-01237 when the file cannot grow. A block that cannot be read
    /// is no error: its frame is damaged.
    pub fn get(&mut self, at: Rdba, whole: bool) -> Result<usize> {
        if let Some(&n) = self.places.get(&at) {
            self.frames[n].used = self.now;
            return Ok(n);
        }
        let n = self.frame_for(at)?;
        // A frame begins with zeros, as a block that is made anew does.
        if !whole {
            self.reads += 1;
            let files = self.files;
            let (frame, block) = self.frame_and_block(n);
            frame.damaged = files.read_block(at, block).is_err();
        }
        Ok(n)
    }

    fn frame_for(&mut self, at: Rdba) -> Result<usize> {
        if self.frames.len() == self.frames_max {
            self.give_up_half()?;
        }
        let place = self.images.take();
        self.frames.push(Frame { at, damaged: false, dirty: false, used: self.now, place });
        let n = self.frames.len() - 1;
        self.places.insert(at, n);
        Ok(n)
    }

    /// Writes the half that has waited longest, and keeps the rest. Frames of the present record are used last of all.
    fn give_up_half(&mut self) -> Result<()> {
        self.frames.sort_unstable_by_key(|f| std::cmp::Reverse(f.used));
        let keep = self.frames.len() / 2;
        let out = self.frames.split_off(keep);
        let places: Vec<usize> = out.iter().map(|f| f.place).collect();
        self.write_changed(out)?;
        self.images.free.extend(places);
        (self.looked_at, self.early) = (self.frames.len(), Vec::new());
        self.places.clear();
        self.places.extend(self.frames.iter().enumerate().map(|(n, f)| (f.at, n)));
        Ok(())
    }

    /// Makes room for the blocks of a record, so that their frames keep their numbers.
    ///
    /// # Errors
    /// As [`Pool::get`].
    pub fn make_room(&mut self, blocks: usize) -> Result<()> {
        if self.frames.len() + blocks > self.frames_max { self.give_up_half() } else { Ok(()) }
    }

    /// Writes everything that differs from the files.
    ///
    /// # Errors
    /// ORA-01114.
    pub fn write_out(&mut self) -> Result<()> {
        let frames = std::mem::take(&mut self.frames);
        self.places.clear();
        self.write_changed(frames)
    }

    /// Writes undo blocks that are full, if there are enough of them.
    ///
    /// # Errors
    /// ORA-01114.
    pub fn write_early(&mut self) -> Result<()> {
        while let Some(frame) = self.frames.get(self.looked_at) {
            if BlockView::of_bytes(self.images.bytes(frame.place)).kind() == Some(BlockKind::Undo) {
                if frame.used + LEFT_ALONE > self.now {
                    break;
                }
                self.early.push(self.looked_at);
            }
            self.looked_at += 1;
        }
        if self.early.len() < EARLY_BLOCKS {
            return Ok(());
        }
        let mut early = std::mem::take(&mut self.early);
        early.retain(|n| self.frames[*n].dirty && !self.frames[*n].damaged);
        early.sort_unstable_by_key(|n| self.frames[*n].at);
        let mut frames: Vec<Frame> = early.iter().map(|n| self.frames[*n]).collect();
        self.write(&mut frames)?;
        for (n, frame) in early.drain(..).zip(frames) {
            self.frames[n] = Frame { dirty: false, ..frame };
        }
        self.early = early;
        Ok(())
    }

    /// Writes frames, given in the order of the files: neighbours together, from where they are.
    fn write(&mut self, frames: &mut [Frame]) -> Result<()> {
        let follows = |a: &Frame, b: &Frame| a.at.0 + 1 == b.at.0 && a.at.file() == b.at.file();
        let (mut is_first, run_blocks) = (true, RUN_BYTES / self.images.size);
        for run in frames.chunk_by_mut(follows).flat_map(|run| run.chunks_mut(run_blocks)) {
            if !std::mem::take(&mut is_first) {
                os::crash::point("recovery-some-blocks");
            }
            for frame in run.iter_mut() {
                let place = frame.place;
                seal(frame, self.images.bytes_mut(place));
                self.damaged.extend(frame.damaged.then_some(frame.at));
            }
            let pieces: Vec<&[u8]> = run.iter().map(|frame| self.images.bytes(frame.place)).collect();
            if self.on_device {
                self.files.write_blocks_soon(run[0].at, &pieces)?;
            } else {
                self.files.write_block_list(run[0].at, &pieces)?;
            }
            self.writes += run.len() as u64;
        }
        Ok(())
    }

    /// Writes those of the frames that differ from the files.
    fn write_changed(&mut self, mut frames: Vec<Frame>) -> Result<()> {
        frames.retain(|f| f.dirty || f.damaged);
        frames.sort_unstable_by_key(|f| f.at);
        self.write(&mut frames)
    }
}

/// Makes the frame fit to be written. A damaged one gets a header of its own place and a checksum that is wrong for certain: whoever
/// reads it is told, instead of getting an old version of the block.
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
