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

use block::Image;
use datafile::DataFiles;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use types::{Rdba, Result};

/// Bytes written at a time, at most.
const RUN_BYTES: usize = 1 << 20;

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
pub struct Frame {
    pub at: Rdba,
    pub image: Image,
    pub damaged: bool,
    /// The frame differs from the file.
    pub dirty: bool,
    /// When it was last used: a count of records.
    used: u64,
}

/// The pool.
pub struct Pool<'a> {
    files: &'a DataFiles,
    frames: Vec<Frame>,
    places: HashMap<Rdba, usize, BuildHasherDefault<AddressHasher>>,
    frames_max: usize,
    now: u64,
    /// Blocks read from and written to the files.
    pub reads: u64,
    pub writes: u64,
    /// Blocks that were left damaged.
    pub damaged: Vec<Rdba>,
}

impl<'a> Pool<'a> {
    /// The smallest pool: a record's blocks fit into its younger half.
    pub const FRAMES_MIN: usize = 64;

    /// A pool of at most `frames_max` blocks.
    pub fn new(files: &'a DataFiles, frames_max: usize) -> Pool<'a> {
        Pool {
            files,
            frames: Vec::new(),
            places: HashMap::default(),
            frames_max: frames_max.max(Self::FRAMES_MIN),
            now: 0,
            reads: 0,
            writes: 0,
            damaged: Vec::new(),
        }
    }

    /// Says that another record begins. A record's blocks stay in the pool while it is applied.
    pub fn next_record(&mut self) {
        self.now += 1;
    }

    /// The frame with this number.
    pub fn frame(&mut self, n: usize) -> &mut Frame {
        &mut self.frames[n]
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
        let frame = &mut self.frames[n];
        (frame.damaged, frame.dirty) = (false, false);
        // A frame begins with zeros, as a block that is made anew does.
        if !whole {
            self.reads += 1;
            frame.damaged = self.files.read_block(at, frame.image.bytes_mut()).is_err();
        }
        Ok(n)
    }

    fn frame_for(&mut self, at: Rdba) -> Result<usize> {
        if self.frames.len() == self.frames_max {
            self.give_up_half()?;
        }
        let image = Image::new(self.files.block_size());
        self.frames.push(Frame { at, image, damaged: false, dirty: false, used: self.now });
        let n = self.frames.len() - 1;
        self.places.insert(at, n);
        Ok(n)
    }

    /// Writes the half that has waited longest, and keeps the rest. Frames of the present record are used last of all.
    fn give_up_half(&mut self) -> Result<()> {
        self.frames.sort_unstable_by_key(|f| std::cmp::Reverse(f.used));
        let keep = self.frames.len() / 2;
        let out = self.frames.split_off(keep);
        self.write(out)?;
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
        self.write(frames)
    }

    fn write(&mut self, mut frames: Vec<Frame>) -> Result<()> {
        frames.retain(|f| f.dirty || f.damaged);
        frames.sort_unstable_by_key(|f| f.at);
        let size = self.files.block_size();
        let mut run: Vec<u8> = Vec::with_capacity(RUN_BYTES);
        let mut begin = Rdba::NONE;
        for mut frame in frames {
            let follows = begin.0 + (run.len() / size) as u32 == frame.at.0 && begin.file() == frame.at.file();
            if !run.is_empty() && (!follows || run.len() >= RUN_BYTES) {
                self.files.write_blocks(begin, &run)?;
                os::crash::point("recovery-some-blocks");
                run.clear();
            }
            if run.is_empty() {
                begin = frame.at;
            }
            seal(&mut frame);
            if frame.damaged {
                self.damaged.push(frame.at);
            }
            run.extend_from_slice(frame.image.bytes());
            self.writes += 1;
        }
        if run.is_empty() { Ok(()) } else { self.files.write_blocks(begin, &run) }
    }
}

/// Makes the frame fit to be written. A damaged one gets a header of its own place and a checksum that is wrong for certain: whoever
/// reads it is told, instead of getting an old version of the block.
fn seal(frame: &mut Frame) {
    let at = frame.at;
    frame.damaged |= frame.image.view().rdba() != at;
    let damaged = frame.damaged;
    let bytes = frame.image.bytes_mut();
    if damaged {
        block::format(bytes, block::BlockKind::Temporary, at, types::ObjectId(0), Rdba::NONE);
    }
    block::seal(bytes);
    if damaged {
        block::spoil(bytes);
    }
}
