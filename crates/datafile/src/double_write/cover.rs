//! Covers: batches of copies that let a process write their blocks in place.

use super::heads::{BatchHead, COVER_MAX, HEAD_BYTES, Stamp, file_head, life_of};
use super::ring::{DoubleWrite, HEAD, SAFE, SLOTS, STUCK, STUCK_MASK, area_failed};
use crate::control::ControlFile;
use crate::files::DataFiles;
use block::BlockView;
use os::blocks::{BLOCK_MAX, BlockFile};
use os::file::{File, OpenMode, sync_directory};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use types::{Facility, Ora, Rdba, Result};

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
            return Err(Ora::from_text(Facility::Lwk, 63, text));
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
}
