//! The double-write area: copies of blocks that are being written in place.
//!
//! A crash may tear a block while it is written in place. Redo describes changes to a block and needs the block to
//! apply them to, so a torn block without a copy is lost. A writer therefore writes a batch of blocks to the area
//! first, waits until the copies are on the device, and then writes the blocks in place. A start after a crash replaces
//! torn blocks by their copies before it rolls forward.
//!
//! The area is a ring in one file. A position in the ring is a u64 that only grows; a batch is contiguous. A batch may
//! be overwritten once the data files were synced after its blocks were written in place.
//!
//! | word | meaning | changes |
//! |---|---|---|
//! | `HEAD` | the next position | compare-and-swap by the writer of a batch |
//! | `SAFE` | all batches before it are on the device in place | raised after a sync of all data files |
//! | `STUCK` | the oldest batch not written in place, and a failure count | its writer; reset by a later checkpoint |
//! | `SLOTS` and on | by process slot: position + 1 of its batch; 0: none | its process or the cleaning process |
//!
//! A writer announces a position in its slot before it moves `HEAD`, so a process that reads `HEAD` first and the slots
//! afterwards misses no batch before that `HEAD`. No critical section is needed: the slot of a dead process stays, and
//! [`DataFiles::finish_cover`] writes the interrupted blocks in place before the slot is freed.
//!
//! **Valid copies.** A batch names the database, the incarnation, the life of the area (a number that is new after each
//! clean shutdown and is also in the control file) and the newest checkpoint that was announced when its blocks had
//! been copied from the cache. A checkpoint announced later waits for the blocks of the batch and syncs them. So a
//! batch whose checkpoint is before that of the control file is obsolete. Of several copies of a block the newest is
//! valid; the ring is overwritten in order, so an older copy never outlives a newer one.
//!
//! Rejected: whole blocks in the redo ([decision 46](../../../docs/decisions/0046-a-double-write-area.md)).

use crate::control::{ControlFile, FileEntry};
use crate::error::io_error;
use crate::files::DataFiles;
use block::BlockView;
use os::blocks::{BLOCK_MAX, BlockFile, Blocks};
use os::file::{File, OpenMode, sync_directory};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Ora, Rdba, Result};

/// The most blocks of a batch.
pub const COVER_MAX: usize = 128;

/// Number of batches of maximum length for which the smallest area has room.
const BATCHES_MIN: u64 = 8;

/// Bytes of the head of the file and of the head of a batch: a multiple of any device's block size.
const HEAD_BYTES: usize = BLOCK_MAX;
const FILE_MAGIC: u64 = u64::from_le_bytes(*b"LWDWFIL2");
const BATCH_MAGIC: u64 = u64::from_le_bytes(*b"LWDWBAT2");
/// The same heads with [`hash`] as their checksum. They are read and no longer written.
const HASHED_FILE_MAGIC: u64 = u64::from_le_bytes(*b"LWDWFIL1");
const HASHED_BATCH_MAGIC: u64 = u64::from_le_bytes(*b"LWDWBAT1");

const HEAD: usize = 0;
const SAFE: usize = 1;
const STUCK: usize = 2;
const SLOTS_USED: usize = 3;
const SLOTS: usize = 8;
/// `STUCK`: a position + 1 in the lower bits, the count above.
const STUCK_SHIFT: u32 = 48;
const STUCK_MASK: u64 = (1 << STUCK_SHIFT) - 1;

/// Bytes per read when batches are searched for.
const LOOK_BYTES: usize = 1 << 20;

/// The area of a database, open in this process and in those that it forks later.
pub(crate) struct DoubleWrite {
    path: PathBuf,
    file: BlockFile,
    /// Bytes of the ring.
    ring: u64,
    stamp: Stamp,
    block_size: usize,
    words: &'static [AtomicU64],
    /// Buffers in which batches are assembled: one for each writing thread.
    scratch: Mutex<Vec<Blocks>>,
}

/// The identity that every batch must repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    database: u64,
    incarnation: u32,
    life: u64,
}

/// The head of a batch.
struct BatchHead {
    stamp: Stamp,
    position: u64,
    /// The newest checkpoint announced when the blocks had been copied.
    announced: u64,
    blocks: Vec<Rdba>,
}

impl BatchHead {
    fn len_bytes(blocks: usize, block_size: usize) -> u64 {
        (HEAD_BYTES + blocks * block_size).next_multiple_of(BLOCK_MAX) as u64
    }

    fn put(&self, out: &mut [u8]) {
        out.fill(0);
        let words = [
            BATCH_MAGIC,
            self.stamp.database,
            u64::from(self.stamp.incarnation) | (self.blocks.len() as u64) << 32,
            self.stamp.life,
            self.position,
            self.announced,
        ];
        put_words(out, &words);
        for (to, at) in out[64..].chunks_exact_mut(4).zip(&self.blocks) {
            to.copy_from_slice(&at.0.to_le_bytes());
        }
        seal(out);
    }

    fn of(bytes: &[u8]) -> Option<BatchHead> {
        if !is_sealed(bytes, [BATCH_MAGIC, HASHED_BATCH_MAGIC]) {
            return None;
        }
        let counts = word(bytes, 2);
        let count = (counts >> 32) as usize;
        let stamp = Stamp { database: word(bytes, 1), incarnation: counts as u32, life: word(bytes, 3) };
        let blocks =
            bytes[64..].chunks_exact(4).take(count).map(|b| Rdba(u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let head = BatchHead { stamp, position: word(bytes, 4), announced: word(bytes, 5), blocks: blocks.collect() };
        (1..=COVER_MAX).contains(&count).then_some(head)
    }
}

fn put_words(out: &mut [u8], words: &[u64]) {
    for (to, word) in out.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

fn word(bytes: &[u8], n: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[n * 8..n * 8 + 8]);
    u64::from_le_bytes(word)
}

/// The checksum of a head, stored in its last word.
fn checksum(head: &[u8]) -> u64 {
    crc32c::crc32c(&head[..HEAD_BYTES - 8]).into()
}

/// The checksum of heads with the magic numbers [`HASHED_FILE_MAGIC`] and [`HASHED_BATCH_MAGIC`].
fn hash(head: &[u8]) -> u64 {
    let words = head[..HEAD_BYTES - 8].chunks_exact(8);
    words.fold(0xCBF2_9CE4_8422_2325, |h, w| (h ^ word(w, 0)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}

fn seal(head: &mut [u8]) {
    let sum = checksum(head);
    head[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Whether a head has the magic number and its checksum, or the older magic number and the checksum of that time.
fn is_sealed(head: &[u8], [magic, hashed]: [u64; 2]) -> bool {
    let sum = word(head, HEAD_BYTES / 8 - 1);
    match word(head, 0) {
        found if found == magic => sum == checksum(head),
        found => found == hashed && sum == hash(head),
    }
}

/// A copy of a block in the area.
#[derive(Clone, Copy)]
struct Copy {
    rba: u64,
    /// The offset of the copy in the file.
    at: u64,
}

/// The blocks that a start wrote from their copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Torn blocks that were restored.
    pub torn: u64,
    /// Whole blocks that were written again, because it is unknown whether the device has them.
    pub again: u64,
    /// The newest redo address of a copy: the redo up to it was on disk before the copy was.
    pub newest: u64,
}

/// The right to write a batch of blocks in place: their copies are on the device. A cover that is dropped without
/// [`Cover::done`] keeps the copies until a checkpoint that begins later has written the blocks.
#[must_use]
pub struct Cover<'a> {
    of: Option<(&'a DoubleWrite, usize)>,
}

impl Cover<'_> {
    /// Ends the cover when all blocks of the batch are in place.
    pub fn done(mut self) {
        faults::point("double-write-in-place");
        if let Some((area, slot)) = self.of.take() {
            area.slot(slot).store(0, Ordering::Release); // pairs with the load in `limit`: the writes came before
        }
    }
}

impl Drop for Cover<'_> {
    fn drop(&mut self) {
        if let Some((area, slot)) = self.of.take() {
            area.keep(slot);
        }
    }
}

impl DoubleWrite {
    fn slot(&self, slot: usize) -> &AtomicU64 {
        &self.words[SLOTS + slot]
    }

    /// Bytes of the smallest area.
    fn bytes_min(block_size: usize) -> u64 {
        HEAD_BYTES as u64 + BATCHES_MIN * BatchHead::len_bytes(COVER_MAX, block_size)
    }

    fn failed(&self, e: &os::OsError) -> Ora {
        area_failed(&self.path, e)
    }

    /// The position of a batch of `len` bytes reserved at `head`: a batch that would pass the end of the ring begins at
    /// its start.
    fn place(&self, head: u64, len: u64) -> u64 {
        if head % self.ring + len > self.ring { head.next_multiple_of(self.ring) } else { head }
    }

    fn offset(&self, position: u64) -> u64 {
        HEAD_BYTES as u64 + position % self.ring
    }

    /// Reserves space for a batch; `None` when the data files must be synced first.
    fn reserve(&self, slot: usize, len: u64) -> Option<u64> {
        let used = &self.words[SLOTS_USED];
        used.fetch_max(slot as u64 + 1, Ordering::SeqCst);
        loop {
            let head = self.words[HEAD].load(Ordering::SeqCst);
            let at = self.place(head, len);
            if at + len > self.words[SAFE].load(Ordering::SeqCst) + self.ring {
                self.slot(slot).store(0, Ordering::SeqCst);
                return None;
            }
            // First the slot, then the head: see the module documentation.
            self.slot(slot).store(at + 1, Ordering::SeqCst);
            if self.words[HEAD].compare_exchange(head, at + len, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Some(at);
            }
        }
    }

    /// The position before which every batch is in place according to the operating system. Must be read before the
    /// sync that puts those blocks on the device.
    pub fn limit(&self) -> u64 {
        let head = self.words[HEAD].load(Ordering::SeqCst);
        let used = self.words[SLOTS_USED].load(Ordering::SeqCst) as usize;
        let busy = self.words[SLOTS..SLOTS + used].iter().map(|w| w.load(Ordering::SeqCst));
        let stuck = self.words[STUCK].load(Ordering::SeqCst) & STUCK_MASK;
        busy.chain([stuck]).filter(|at| *at > 0).fold(head, |limit, at| limit.min(at - 1))
    }

    /// Frees the ring up to `limit`: all batches before it are on the device in place.
    pub fn release(&self, limit: u64) {
        self.words[SAFE].fetch_max(limit, Ordering::SeqCst);
    }

    fn safe(&self) -> u64 {
        self.words[SAFE].load(Ordering::SeqCst)
    }

    /// Keeps the batch of a slot although its process continues with other batches.
    fn keep(&self, slot: usize) {
        let at = self.slot(slot).load(Ordering::SeqCst);
        let _ = self.words[STUCK].fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| {
            let oldest = match old & STUCK_MASK {
                0 => at,
                before => before.min(at),
            };
            Some(((old >> STUCK_SHIFT) + 1) << STUCK_SHIFT | oldest)
        });
        self.slot(slot).store(0, Ordering::SeqCst);
    }

    /// Writes a batch at `position` and waits until it is on the device.
    fn write(&self, head: &BatchHead, blocks: &[&[u8]], sync: bool) -> Result<()> {
        let len = BatchHead::len_bytes(blocks.len(), self.block_size) as usize;
        let kept = self.scratch.lock().ok().and_then(|mut kept| kept.pop());
        let mut scratch = kept.unwrap_or_default();
        scratch.grow(len);
        let bytes = &mut scratch.bytes_mut()[..len];
        head.put(&mut bytes[..HEAD_BYTES]);
        for (to, block) in bytes[HEAD_BYTES..].chunks_mut(self.block_size).zip(blocks) {
            to.copy_from_slice(block);
        }
        let written = self.file.write_at(&scratch, len, self.offset(head.position));
        if let Ok(mut kept) = self.scratch.lock() {
            kept.push(scratch);
        }
        written.map_err(|e| self.failed(&e))?;
        faults::point("double-write-copied");
        if sync {
            self.file.sync().map_err(|e| self.failed(&e))?;
        }
        faults::point("double-write-synced");
        Ok(())
    }

    /// The batch at `position`; `None` when there is none.
    fn batch_at(&self, file: &File, position: u64) -> Option<BatchHead> {
        let mut bytes = [0; HEAD_BYTES];
        file.read_at(&mut bytes, self.offset(position)).ok()?;
        BatchHead::of(&bytes).filter(|head| head.position == position && head.stamp == self.stamp)
    }

    /// The batches of this life, the newest first.
    ///
    /// Heads are looked for at every place. A head does not say that the bytes of its batch are still there: when a
    /// process dies before it writes the batch for which it reserved space, the head of an older batch stays, and newer
    /// batches may begin inside the older one.
    fn batches(&self, file: &File) -> os::OsResult<Vec<BatchHead>> {
        let (mut found, mut from) = (Vec::new(), HEAD_BYTES as u64);
        let end = HEAD_BYTES as u64 + self.ring;
        let mut chunk = vec![0; LOOK_BYTES];
        while let Some((begin, stretch_end)) = file.next_written(from)? {
            let mut at = begin.max(from).next_multiple_of(BLOCK_MAX as u64);
            let stretch_end = stretch_end.min(end);
            while at + HEAD_BYTES as u64 <= stretch_end {
                let len = LOOK_BYTES.min((end - at) as usize) / HEAD_BYTES * HEAD_BYTES;
                file.read_at(&mut chunk[..len], at)?;
                for bytes in chunk[..len].chunks_exact(HEAD_BYTES) {
                    let head = BatchHead::of(bytes).filter(|h| h.stamp == self.stamp && self.offset(h.position) == at);
                    found.extend(head.filter(|h| at + self.len_of(h) <= end));
                    at += HEAD_BYTES as u64;
                }
            }
            from = stretch_end.max(at);
            if from >= end {
                break;
            }
        }
        found.sort_unstable_by_key(|head| std::cmp::Reverse(head.position));
        // A head inside a newer batch is content of a block, not a head.
        let mut known: BTreeMap<u64, u64> = BTreeMap::new();
        found.retain(|head| {
            let at = self.offset(head.position);
            let is_inside = known.range(..=at).next_back().is_some_and(|(_, end)| at < *end);
            if !is_inside {
                known.insert(at, at + self.len_of(head));
            }
            !is_inside
        });
        Ok(found)
    }

    fn len_of(&self, head: &BatchHead) -> u64 {
        BatchHead::len_bytes(head.blocks.len(), self.block_size)
    }

    /// The offset of copy `n` of a batch in the file.
    fn copy_at(&self, head: &BatchHead, n: usize) -> u64 {
        self.offset(head.position) + (HEAD_BYTES + n * self.block_size) as u64
    }
}

fn area_failed(path: &Path, e: &os::OsError) -> Ora {
    let text = format!("the double-write area '{}' cannot be used", path.display());
    Ora::from_text(types::Facility::Lwk, 63, text).because(io_error(27072, "File I/O error", e))
}

/// The head of the file: the database and the life of the area.
fn file_head(stamp: &Stamp) -> Vec<u8> {
    let mut head = vec![0; HEAD_BYTES];
    put_words(&mut head, &[FILE_MAGIC, stamp.database, stamp.life]);
    seal(&mut head);
    head
}

/// The life in the head of the file; `None` when the head is damaged or of another database.
fn life_of(file: &File, database: u64) -> Option<u64> {
    let mut head = [0; HEAD_BYTES];
    file.read_at(&mut head, 0).ok()?;
    let is_ours = is_sealed(&head, [FILE_MAGIC, HASHED_FILE_MAGIC]) && word(&head, 1) == database;
    is_ours.then(|| word(&head, 2))
}

impl DataFiles {
    /// Opens the double-write area, or creates one of `bytes` bytes, for `slots` processes. From then on it covers
    /// blocks, and redo contains whole blocks only for files in backup mode. Must be called before the first fork.
    /// `life` is a number that this database has not used before.
    ///
    /// An area is started anew when its life differs from that of `control`, or when the database was closed with it.
    /// The caller stores the returned life in the control file before it covers any block. Returns true when copies in
    /// the area may be needed.
    ///
    /// # Errors
    /// LWK-00063 when the area cannot be created or read.
    pub fn open_double_write(
        &self,
        name: &str,
        bytes: u64,
        slots: usize,
        control: &ControlFile,
        life: u64,
    ) -> Result<(u64, bool)> {
        let path = self.path(name);
        let size = self.block_size();
        let wanted = bytes.max(DoubleWrite::bytes_min(size)).next_multiple_of(BLOCK_MAX as u64);
        let goes_on = !control.clean && control.double_write != 0;
        let there = if os::file::exists(&path) { File::open(&path, OpenMode::Read).ok() } else { None };
        let is_ours = |file: &File| {
            let len = file.len_bytes().unwrap_or(0);
            len >= DoubleWrite::bytes_min(size) && len.is_multiple_of(BLOCK_MAX as u64)
        };
        let is_kept = goes_on
            && there.as_ref().is_some_and(|f| is_ours(f) && life_of(f, self.database()) == Some(control.double_write));
        let life = if is_kept { control.double_write } else { life };
        let stamp = Stamp { database: self.database(), incarnation: control.incarnation.number, life };
        if !is_kept {
            self.make_area(&path, there.filter(|f| f.len_bytes().ok() == Some(wanted)).is_some(), wanted, &stamp)?;
        }
        let failed = |e: os::OsError| area_failed(&path, &e);
        let file = BlockFile::open(&path, self.disk_sync()).map_err(failed)?;
        let ring = (file.len_bytes() - HEAD_BYTES as u64) / BLOCK_MAX as u64 * BLOCK_MAX as u64;
        let words = os::memory::shared_slice(SLOTS + slots).map_err(failed)?;
        let area =
            DoubleWrite { path: path.clone(), file, ring, stamp, block_size: size, words, scratch: Mutex::default() };
        if is_kept {
            let reader = File::open(&path, OpenMode::Read).map_err(failed)?;
            let batches = area.batches(&reader).map_err(failed)?;
            let head = batches.iter().map(|b| b.position + area.len_of(b)).max().unwrap_or(0);
            let live = batches.iter().filter(|b| b.announced >= control.checkpoint.rba).map(|b| b.position).min();
            area.words[HEAD].store(head, Ordering::SeqCst);
            area.words[SAFE].store(live.unwrap_or(head), Ordering::SeqCst);
        }
        let _ = self.area.set(area);
        self.set_whole_blocks(false);
        Ok((life, is_kept))
    }

    fn make_area(&self, path: &Path, has_size: bool, bytes: u64, stamp: &Stamp) -> Result<()> {
        let failed = |e: os::OsError| area_failed(path, &e);
        let mode = if has_size { OpenMode::ReadWrite } else { OpenMode::Truncate };
        let file = File::open(path, mode).map_err(failed)?;
        if !has_size {
            file.allocate(bytes).map_err(failed)?;
        }
        file.write_at(&file_head(stamp), 0).map_err(failed)?;
        file.sync().map_err(failed)?;
        sync_directory(self.directory()).map_err(failed)
    }

    /// The path of the double-write area and its size in bytes.
    pub fn double_write_file(&self) -> Option<(&Path, u64)> {
        self.area.get().map(|a| (a.path.as_path(), a.ring + HEAD_BYTES as u64))
    }

    /// Bytes of the ring that were reserved so far, for tests and figures.
    pub fn double_write_used(&self) -> u64 {
        self.area.get().map_or(0, |a| a.words[HEAD].load(Ordering::Relaxed))
    }

    /// Copies sealed blocks to the double-write area and waits until the copies are on the device: then the blocks may
    /// be written in place (R6). `slot` is the slot of the calling process; `announced` is the newest checkpoint that
    /// was announced after the blocks were copied from the cache. `pause` is called while other processes must finish
    /// their batches. Does nothing without an area or without blocks.
    ///
    /// # Errors
    /// LWK-00063 when the area cannot be written: the blocks must not be written in place. Those of [`DataFiles::sync`]
    /// and of `pause`.
    pub fn cover(
        &self,
        slot: usize,
        announced: u64,
        blocks: &[&[u8]],
        pause: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Cover<'_>> {
        let Some(area) = self.area.get().filter(|_| !blocks.is_empty()) else { return Ok(Cover { of: None }) };
        assert!(blocks.len() <= COVER_MAX, "a batch is written at once");
        let len = BatchHead::len_bytes(blocks.len(), self.block_size());
        let position = loop {
            if let Some(at) = area.reserve(slot, len) {
                break at;
            }
            self.make_room(area, pause)?;
        };
        // When the cover is dropped on an error below, the batch is only kept longer than needed.
        let cover = Cover { of: Some((area, slot)) };
        let blocks_at = blocks.iter().map(|b| BlockView::of_bytes(b).rdba()).collect();
        let head = BatchHead { stamp: area.stamp, position, announced, blocks: blocks_at };
        area.write(&head, blocks, self.disk_sync())?;
        Ok(cover)
    }

    /// Makes the ring reusable by syncing the data files, so that the oldest batches are on the device in place.
    fn make_room(&self, area: &DoubleWrite, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        faults::point("double-write-full");
        let before = area.safe();
        self.sync()?;
        if area.safe() > before {
            return Ok(());
        }
        if area.words[STUCK].load(Ordering::SeqCst) & STUCK_MASK == area.safe() + 1 {
            let text = "it is full of copies of blocks that could not be written in place: check the data files";
            return Err(Ora::from_text(types::Facility::Lwk, 63, text));
        }
        pause()
    }

    /// The failed batches as a checkpoint begins: see [`DataFiles::settle_covers`].
    pub fn covers_kept(&self) -> u64 {
        self.area.get().map_or(0, |a| a.words[STUCK].load(Ordering::SeqCst))
    }

    /// Ends the keeping of copies after a checkpoint has written every block that was dirty when
    /// [`DataFiles::covers_kept`] returned `kept`.
    pub fn settle_covers(&self, kept: u64) {
        if let Some(area) = self.area.get().filter(|_| kept & STUCK_MASK != 0) {
            let none = kept & !STUCK_MASK;
            let _ = area.words[STUCK].compare_exchange(kept, none, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Frees the slot of a process that died while it wrote a batch in place. Its blocks may be torn in the files, so
    /// blocks for which `was_cut_off` is true are written in place again. No other process writes these blocks
    /// meanwhile.
    pub fn finish_cover(&self, slot: usize, was_cut_off: &mut dyn FnMut(Rdba) -> bool) {
        let Some(area) = self.area.get() else { return };
        let at = area.slot(slot).load(Ordering::SeqCst);
        if at == 0 {
            return;
        }
        if self.write_again(area, at - 1, was_cut_off).is_err() {
            area.keep(slot);
        }
        area.slot(slot).store(0, Ordering::SeqCst);
    }

    fn write_again(&self, area: &DoubleWrite, at: u64, was_cut_off: &mut dyn FnMut(Rdba) -> bool) -> Result<()> {
        let failed = |e: os::OsError| area.failed(&e);
        let file = File::open(&area.path, OpenMode::Read).map_err(failed)?;
        // A batch without a valid head: none of its blocks was written in place.
        let Some(head) = area.batch_at(&file, at) else { return Ok(()) };
        if self.disk_sync() {
            area.file.sync().map_err(failed)?;
        }
        let mut block = vec![0; self.block_size()];
        for (n, rdba) in head.blocks.iter().enumerate().filter(|(_, rdba)| was_cut_off(**rdba)) {
            file.read_at(&mut block, area.copy_at(&head, n)).map_err(failed)?;
            if block::check(&block, *rdba).is_ok() && BlockView::of_bytes(&block).rba() > 0 {
                match self.write_block(*rdba, &block) {
                    // The file was dropped or taken offline meanwhile.
                    Err(e) if e.is(376) || e.is(1157) => {}
                    done => done?,
                }
            }
        }
        Ok(())
    }

    /// Restores blocks that a crash has torn from their copies, before any redo is applied. With `again`, also writes
    /// whole blocks that are not newer than their copy: the device may have lost writes that the operating system still
    /// shows. Repeating the call gives the same result.
    ///
    /// # Errors
    /// LWK-00063 when the area cannot be read, ORA-01114 when a block cannot be written.
    pub fn restore_torn(&self, control: &ControlFile, again: bool) -> Result<Restored> {
        let Some(area) = self.area.get() else { return Ok(Restored::default()) };
        let failed = |e: os::OsError| area.failed(&e);
        let reader = File::open(&area.path, OpenMode::Read).map_err(failed)?;
        let mut newest: HashMap<Rdba, Copy> = HashMap::new();
        let mut bytes = Vec::new();
        let batches = area.batches(&reader).map_err(failed)?;
        for head in batches.iter().filter(|b| b.announced >= control.checkpoint.rba) {
            bytes.resize(head.blocks.len() * self.block_size(), 0);
            reader.read_at(&mut bytes, area.copy_at(head, 0)).map_err(failed)?;
            for (n, (rdba, block)) in head.blocks.iter().zip(bytes.chunks(self.block_size())).enumerate() {
                let copy = Copy { rba: BlockView::of_bytes(block).rba(), at: area.copy_at(head, n) };
                let is_newer = newest.get(rdba).is_none_or(|other| other.rba < copy.rba);
                if is_newer && block::check(block, *rdba).is_ok() && copy.rba > 0 {
                    newest.insert(*rdba, copy);
                }
            }
        }
        let mut restored =
            Restored { newest: newest.values().map(|c| c.rba).max().unwrap_or(0), ..Restored::default() };
        for entry in &control.files {
            let mut copies: Vec<(Rdba, Copy)> =
                newest.iter().filter(|(at, _)| at.file() == entry.file).map(|(at, copy)| (*at, *copy)).collect();
            // Redo and copies from before the creation of the file belong to an earlier file with its number.
            copies.retain(|(_, copy)| copy.rba > entry.created_rba);
            copies.sort_unstable_by_key(|(at, _)| *at);
            self.restore_file(control, entry, &reader, &copies, again, &mut restored)?;
        }
        Ok(restored)
    }

    fn restore_file(
        &self,
        control: &ControlFile,
        entry: &FileEntry,
        reader: &File,
        copies: &[(Rdba, Copy)],
        again: bool,
        restored: &mut Restored,
    ) -> Result<()> {
        if copies.is_empty() || self.is_temporary(entry.file) {
            return Ok(());
        }
        // Another check reports missing files.
        let Ok(file) = self.open_file(entry) else { return Ok(()) };
        let failed = |at: Rdba| move |e: os::OsError| self.cannot_write(at, &e);
        let stays =
            entry.is_offline || control.tablespace(entry.tablespace).is_some_and(|t| t.is_offline || t.is_read_only);
        let (mut have, mut copy_bytes) = (vec![0; self.block_size()], vec![0; self.block_size()]);
        let mut is_changed = false;
        for (at, copy) in copies {
            let position = self.begin_of(entry.part) + u64::from(at.block()) * self.block_size() as u64;
            // A block beyond the end belongs to a time when the file was longer; redo that needs the block extends the
            // file.
            if file.read_at(&mut have, position).is_err() {
                continue;
            }
            let is_torn = block::check(&have, *at).is_err();
            let is_due = again && !stays && BlockView::of_bytes(&have).rba() <= copy.rba;
            if !is_torn && !is_due {
                continue;
            }
            reader.read_at(&mut copy_bytes, copy.at).map_err(failed(*at))?;
            file.write_at(&copy_bytes, position).map_err(failed(*at))?;
            faults::point("double-write-restored");
            is_changed = true;
            *(if is_torn { &mut restored.torn } else { &mut restored.again }) += 1;
        }
        // No checkpoint will sync a file that stays offline or read-only.
        if is_changed && stays && self.disk_sync() {
            file.sync().map_err(failed(Rdba::new(entry.file, 0)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_with_the_checksum_of_their_time() {
        let stamp = Stamp { database: 7, incarnation: 2, life: 11 };
        let batch = BatchHead { stamp, position: 8192, announced: 500, blocks: vec![Rdba(77), Rdba(78)] };
        let mut head = [0; HEAD_BYTES];
        batch.put(&mut head);
        let is_read = |head: &[u8]| BatchHead::of(head).is_some_and(|b| b.position == 8192 && b.blocks == batch.blocks);
        assert!(is_read(&head));
        let mut old = head;
        put_words(&mut old, &[HASHED_BATCH_MAGIC]);
        assert!(!is_read(&old), "the checksum is that of the other magic number");
        let sum = hash(&old);
        old[HEAD_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        assert!(is_read(&old));
        for damaged in [&mut head, &mut old] {
            damaged[100] ^= 1;
            assert!(!is_read(damaged));
        }
    }
}
