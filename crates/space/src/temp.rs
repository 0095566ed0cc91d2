//! Temporary space: extents of temporary files that a process has for itself.
//!
//! Every extent has the same number of blocks and a word in the SGA that names the process slot that has it; 0 is free.
//! An extent is taken by one compare-and-swap and given back by one store, nothing of it is on disk, and after a start
//! all are free. A process that dies leaves its words, and PMON's hook frees them.
//!
//! What is written there makes no redo. Sorts and joins write past the cache. A segment of a temporary table lies in
//! the cache like any other: a mark in the words of its extents says so, and its buffers are thrown away before another
//! process gets the extent.

use block::Extent;
use buffer_cache::{BufferCache, ChangeGroup};
use datafile::{Contents, DataFiles, FileEntry};
use process::Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Facility, Ora, Rdba, Result};
use wait::{Event, Stat};

/// Blocks of a temporary extent.
pub const TEMP_EXTENT_BLOCKS: u32 = 128;
/// Temporary files that are used at once.
const FILES_MAX: usize = 8;
/// Extents of a file of the greatest size.
const EXTENTS_MAX: usize = (Rdba::MAX_BLOCK as usize + 1) / TEMP_EXTENT_BLOCKS as usize;
/// Words in the SGA: a file number for each of the files, then the owners of their extents.
pub(crate) const WORDS: usize = FILES_MAX + FILES_MAX * EXTENTS_MAX;

/// The mark of an extent whose blocks may be in the cache.
const IN_CACHE: u64 = 1 << 63;

/// Extents that a process has of temporary space: a row of `v$tempseg_usage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TempUsage {
    /// Process slot.
    pub process: u32,
    /// File number.
    pub file: u32,
    pub extents: u32,
}

/// Temporary space of the instance.
#[derive(Clone)]
pub struct TempSpace {
    cache: Arc<BufferCache>,
    words: &'static [AtomicU64],
}

impl TempSpace {
    pub(crate) fn new(cache: &Arc<BufferCache>, words: &'static [AtomicU64]) -> TempSpace {
        TempSpace { cache: Arc::clone(cache), words }
    }

    /// Block size of the database in bytes.
    pub fn block_size(&self) -> usize {
        self.cache.block_size()
    }

    /// The owners' words of a file; `None` when too many temporary files are used.
    fn owners(&self, file: u32) -> Option<&'static [AtomicU64]> {
        let slots = &self.words[..FILES_MAX];
        let mine = |n: u64| n == u64::from(file);
        for (i, slot) in slots.iter().enumerate() {
            let now = slot.load(Ordering::Acquire);
            let free = now == 0 && slot.compare_exchange(0, file.into(), Ordering::AcqRel, Ordering::Acquire).is_ok();
            if free || mine(slot.load(Ordering::Acquire)) {
                let from = FILES_MAX + i * EXTENTS_MAX;
                return Some(&self.words[from..from + EXTENTS_MAX]);
            }
        }
        None
    }

    fn first_block(&self) -> u32 {
        DataFiles::first_data_block_of(self.cache.block_size())
    }

    /// Takes an extent of the tablespace for this process, or of any temporary one when there is no such; files grow.
    ///
    /// # Errors
    /// ORA-01652 when no file has room or can grow; the system's words are below it.
    pub fn take(&self, p: &Process, tablespace: u32) -> Result<Extent> {
        self.take_as(p, tablespace, 0)
    }

    /// Takes an extent for a segment of this process, whose blocks go through the cache. It goes back when the group
    /// comes to nothing.
    pub(crate) fn take_in(&self, g: &mut ChangeGroup, tablespace: u32) -> Result<Extent> {
        let extent = self.take_as(g.process(), tablespace, IN_CACHE)?;
        let temp = self.clone();
        g.at_end(move |p, counts| {
            if !counts {
                temp.give_back_discarded(p, extent);
            }
        });
        Ok(extent)
    }

    /// Gives an extent of a segment of this process back once the group counts.
    pub(crate) fn give_back_in(&self, g: &mut ChangeGroup, extent: Extent) {
        let temp = self.clone();
        g.at_end(move |p, counts| {
            if counts {
                temp.give_back_discarded(p, extent);
            }
        });
    }

    /// Gives an extent back whose blocks may be in the cache. Their buffers must not be written over what another
    /// process has there: an extent with a buffer that stays pinned keeps its owner.
    fn give_back_discarded(&self, p: &Process, extent: Extent) {
        if self.cache.discard_range(p, extent.start, extent.blocks).is_ok() {
            self.give_back(extent);
        }
    }

    fn take_as(&self, p: &Process, tablespace: u32, mark: u64) -> Result<Extent> {
        let known = self.cache.files().temporary_files();
        let named = known.iter().any(|(_, of)| *of == tablespace);
        for (file, _) in known.iter().filter(|(_, of)| !named || *of == tablespace) {
            if let Some(extent) = self.take_from(p, *file, self.cache.files().blocks(*file)?, mark) {
                return Ok(extent);
            }
        }
        let control = self.cache.files().control()?;
        let is_temp = |n: u32| control.tablespace(n).is_some_and(|t| t.contents == Contents::Temporary);
        let wanted = is_temp(tablespace);
        let usable = |f: &&FileEntry| if wanted { f.tablespace == tablespace } else { is_temp(f.tablespace) };
        let here = |f: &&FileEntry| usable(f) && !self.cache.files().is_away(f.file);
        let files: Vec<&FileEntry> = control.files.iter().filter(here).collect();
        let name = files.first().and_then(|f| control.tablespace(f.tablespace)).map_or("TEMP", |t| t.name.as_str());
        let mut full = Ora::with(1652, &[&TEMP_EXTENT_BLOCKS, &name]);
        for f in files.iter().filter(|f| f.blocks_max > 0) {
            // Others may take all that a file has just grown by: it grows until there is some for this process or it
            // may not grow.
            let mut now = self.cache.files().blocks(f.file)?;
            loop {
                if let Some(extent) = self.take_from(p, f.file, now, mark) {
                    return Ok(extent);
                }
                let more = now.saturating_add(f.step.max(8 * TEMP_EXTENT_BLOCKS)).min(f.blocks_max);
                if more <= now {
                    break;
                }
                match self.cache.files().extend(f.file, more) {
                    Ok(()) => now = more.max(self.cache.files().blocks(f.file)?),
                    Err(e) if e.is(1237) => {
                        full = full.because(e);
                        break;
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        Err(full)
    }

    fn take_from(&self, p: &Process, file: u32, blocks: u32, mark: u64) -> Option<Extent> {
        let all = (blocks.saturating_sub(self.first_block()) / TEMP_EXTENT_BLOCKS) as usize;
        let me = u64::from(p.number()) | mark;
        for (i, word) in self.owners(file)?.iter().take(all).enumerate() {
            let free = word.load(Ordering::Relaxed) == 0;
            if free && word.compare_exchange(0, me, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                let start = Rdba::new(file, self.first_block() + i as u32 * TEMP_EXTENT_BLOCKS);
                return Some(Extent { start, blocks: TEMP_EXTENT_BLOCKS });
            }
        }
        None
    }

    /// Gives an extent back.
    pub fn give_back(&self, extent: Extent) {
        let at = extent.start.block().saturating_sub(self.first_block()) / TEMP_EXTENT_BLOCKS;
        if let Some(word) = self.owners(extent.start.file()).and_then(|owners| owners.get(at as usize)) {
            word.store(0, Ordering::Release);
        }
    }

    /// The file is dropped: its words are free for another one. Who still has extents of it gets ORA-01157 from the
    /// file.
    pub fn forget(&self, file: u32) {
        for (i, slot) in self.words[..FILES_MAX].iter().enumerate() {
            if slot.load(Ordering::Acquire) == u64::from(file) {
                let from = FILES_MAX + i * EXTENTS_MAX;
                self.words[from..from + EXTENTS_MAX].iter().for_each(|word| word.store(0, Ordering::Relaxed));
                slot.store(0, Ordering::Release);
            }
        }
    }

    /// Who has how much.
    pub fn usage(&self) -> Vec<TempUsage> {
        let mut rows: Vec<TempUsage> = Vec::new();
        for (i, slot) in self.words[..FILES_MAX].iter().enumerate() {
            let file = slot.load(Ordering::Acquire) as u32;
            if file == 0 {
                continue;
            }
            let blocks = self.cache.files().blocks(file).unwrap_or(0);
            let from = FILES_MAX + i * EXTENTS_MAX;
            for word in &self.words[from..from + (blocks / TEMP_EXTENT_BLOCKS) as usize] {
                let Some(process) = (word.load(Ordering::Relaxed) as u32).checked_sub(1).map(|slot| slot + 1) else {
                    continue;
                };
                match rows.iter_mut().find(|r| (r.process, r.file) == (process, file)) {
                    Some(row) => row.extents += 1,
                    None => rows.push(TempUsage { process, file, extents: 1 }),
                }
            }
        }
        rows
    }

    /// Frees what process `dead` had; `p` does it.
    pub(crate) fn clean_up(&self, p: &Process, dead: u32) {
        for (i, slot) in self.words[..FILES_MAX].iter().enumerate() {
            let file = slot.load(Ordering::Acquire) as u32;
            if file == 0 {
                continue;
            }
            let blocks = self.cache.files().blocks(file).unwrap_or(0);
            let from = FILES_MAX + i * EXTENTS_MAX;
            let words = &self.words[from..from + (blocks / TEMP_EXTENT_BLOCKS) as usize];
            for (i, word) in words.iter().enumerate() {
                if word.load(Ordering::Relaxed) == u64::from(dead) | IN_CACHE {
                    let start = Rdba::new(file, self.first_block() + i as u32 * TEMP_EXTENT_BLOCKS);
                    // An extent with a buffer that cannot be thrown away stays nobody's until the next start.
                    if self.cache.discard_range(p, start, TEMP_EXTENT_BLOCKS).is_err() {
                        continue;
                    }
                    word.store(u64::from(dead), Ordering::Relaxed);
                }
                let _ = word.compare_exchange(dead.into(), 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }

    /// Writes blocks of an extent of this process. Waits: `direct path write temp`.
    ///
    /// # Errors
    /// ORA-01114 when the device fails.
    pub fn write(&self, p: &Process, at: Rdba, bytes: &[u8]) -> Result<()> {
        let blocks = bytes.len() / self.cache.block_size();
        let _w = p.wait(Event::DirectPathWriteTemp, at.file().into(), at.block().into(), blocks as u64);
        for stat in [Stat::PhysicalWrites, Stat::PhysicalWritesDirect, Stat::PhysicalWritesDirectTemporary] {
            p.count(stat, blocks as u64);
        }
        p.count(Stat::PhysicalWriteIoRequests, 1);
        p.count(Stat::PhysicalWriteBytes, bytes.len() as u64);
        p.count_write(1, bytes.len() as u64);
        self.cache.files().write_raw(at, bytes)
    }

    /// Reads blocks of an extent of this process. Waits: `direct path read temp`.
    ///
    /// # Errors
    /// ORA-01115 when the device fails.
    pub fn read(&self, p: &Process, at: Rdba, bytes: &mut [u8]) -> Result<()> {
        let blocks = bytes.len() / self.cache.block_size();
        let _w = p.wait(Event::DirectPathReadTemp, at.file().into(), at.block().into(), blocks as u64);
        for stat in [Stat::PhysicalReads, Stat::PhysicalReadsDirect, Stat::PhysicalReadsDirectTemporary] {
            p.count(stat, blocks as u64);
        }
        p.count(Stat::PhysicalReadIoRequests, 1);
        p.count(Stat::PhysicalReadBytes, bytes.len() as u64);
        p.count_read(1, bytes.len() as u64);
        self.cache.files().read_blocks(at, bytes)
    }

    /// The error for temporary data that is not what was written.
    pub fn damaged(at: Rdba) -> Ora {
        Ora::with(1578, &[&at.file(), &at.block()]).because(Ora::from_text(
            Facility::Lwk,
            62,
            "temporary data is not what was written",
        ))
    }
}
