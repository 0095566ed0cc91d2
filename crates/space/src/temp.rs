//! Temporary space: extents of temporary files for the exclusive use of one process.
//!
//! Every extent has the same number of blocks and a word in the SGA with the number of its process; 0 is free. An
//! extent is taken by one compare-and-swap and given back by another; nothing of it is on disk, and after a start all
//! are free (S9). The words of a process that dies stay, and PMON's hook frees them.
//!
//! The words of 1,024 neighbouring extents make a *stretch*. A stretch of a file gets its words from a pool when one of
//! its extents is first requested, so that the memory follows the use and the number of temporary files is not limited;
//! a directory by file and stretch has their places (S10). Rejected: words for every possible extent of every file (128
//! MB); a bitmap, which cannot name the owner of an extent.
//!
//! A process begins its search at its last extent, and its first search at a place derived from its number. So
//! processes do not compete for the same words, and a process that gives an extent back and takes another gets the same
//! one again.
//!
//! A file is dropped only while no process has an extent of it (S12). The statement first fences the file off and then
//! reads the words ([`TempSpace::is_used`]); a process first takes an extent and then reads the state of the file. So
//! at least one of the two sees the other, and gives way.
//!
//! Writes there make no redo. Sorts and joins write past the cache. A segment of a temporary table lies in the cache
//! like any other: a mark in the words of its extents shows that, and its buffers are discarded before another process
//! gets the extent (S11).

use block::Extent;
use buffer_cache::{BufferCache, ChangeGroup};
use datafile::{Contents, DataFiles, FileEntry, part_blocks_min, part_sizes};
use process::Process;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use types::{Facility, Ora, Rdba, Result, Scn};
use wait::{Event, Stat};

/// Blocks of a temporary extent.
pub const TEMP_EXTENT_BLOCKS: u32 = 128;
/// Extents of a stretch.
const STRETCH: usize = 1024;
/// Stretches of a file of the largest size.
const STRETCHES_OF_FILE: usize = (Rdba::MAX_BLOCK as usize + 1) / TEMP_EXTENT_BLOCKS as usize / STRETCH;
/// File numbers, including 0, which is no file.
const FILES: usize = Rdba::MAX_FILE as usize + 1;
/// The most stretches with words at a time: 1 TB of temporary space with blocks of 8 KB.
pub(crate) const POOL: usize = 1024;
/// Words of a cache line.
const LINE: usize = 8;

/// The mark of an extent whose blocks may be in the cache.
const IN_CACHE: u32 = 1 << 31;

/// The extents of temporary space of a process: a row of `v$tempseg_usage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TempUsage {
    /// Number of the process.
    pub process: u32,
    /// File number.
    pub file: u32,
    pub extents: u32,
}

/// The places of the areas in the SGA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TempLayout {
    directory: SgaSlice<AtomicU32>,
    claims: SgaSlice<AtomicU64>,
    words: SgaSlice<AtomicU32>,
    places: SgaSlice<AtomicU64>,
}

impl TempLayout {
    /// Reserves the areas for `processes` processes, and words for `stretches` stretches, under one name.
    pub fn reserve(sga: &mut SgaBuilder, processes: usize, stretches: usize) -> TempLayout {
        TempLayout {
            directory: sga.reserve("temporary extents", FILES * STRETCHES_OF_FILE),
            claims: sga.reserve("temporary extents", stretches),
            words: sga.reserve("temporary extents", stretches * STRETCH),
            places: sga.reserve("temporary extents", processes * LINE),
        }
    }
}

/// A claimed stretch of a file: file, number in the file and process in one word, never 0.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Claim {
    file: u32,
    stretch: u32,
    process: u32,
}

impl Claim {
    fn word(self) -> u64 {
        u64::from(self.file) << 48 | u64::from(self.stretch) << 32 | u64::from(self.process)
    }
    fn of(word: u64) -> Option<Claim> {
        let (file, stretch) = ((word >> 48) as u32, (word >> 32) as u32 & 0xFFFF);
        (word != 0 && (file as usize) < FILES && (stretch as usize) < STRETCHES_OF_FILE).then_some(Claim {
            file,
            stretch,
            process: word as u32,
        })
    }
    fn place(self) -> usize {
        self.file as usize * STRETCHES_OF_FILE + self.stretch as usize
    }
}

/// Temporary space of the instance.
#[derive(Clone)]
pub struct TempSpace {
    cache: Arc<BufferCache>,
    /// By file and stretch: the stretch's place in the pool, counted from 1; 0 while it has no words.
    directory: &'static [AtomicU32],
    /// By place in the pool: the stretch that has claimed it; 0 for none. Written before the directory leads there.
    claims: &'static [AtomicU64],
    words: &'static [AtomicU32],
    /// By process, a line each: the extent that it took last, the file above the extent's number and 1.
    places: &'static [AtomicU64],
}

impl TempSpace {
    pub(crate) fn new(sga: &'static Sga, layout: &TempLayout, cache: &Arc<BufferCache>) -> TempSpace {
        TempSpace {
            cache: Arc::clone(cache),
            directory: sga.slice(layout.directory),
            claims: sga.slice(layout.claims),
            words: sga.slice(layout.words),
            places: sga.slice(layout.places),
        }
    }

    /// Block size of the database in bytes.
    pub fn block_size(&self) -> usize {
        self.cache.block_size()
    }

    fn first_block(&self) -> u32 {
        DataFiles::first_data_block_of(self.cache.block_size())
    }

    /// The number of extents of a file of `blocks` blocks.
    fn extents_of(&self, blocks: u32) -> u32 {
        blocks.saturating_sub(self.first_block()) / TEMP_EXTENT_BLOCKS
    }

    fn extent(&self, file: u32, number: u32) -> Extent {
        let start = Rdba::new(file, self.first_block() + number * TEMP_EXTENT_BLOCKS);
        Extent { start, blocks: TEMP_EXTENT_BLOCKS }
    }

    fn words_at(&self, place: usize) -> &'static [AtomicU32] {
        &self.words[place * STRETCH..][..STRETCH]
    }

    /// The words of a stretch, if it has any.
    fn find(&self, file: u32, stretch: u32) -> Option<&'static [AtomicU32]> {
        // Acquire: pairs with the exchange of the claimer, after which all words are free.
        let place = self.directory.get(Claim { file, stretch, process: 0 }.place())?.load(Ordering::Acquire);
        Some(self.words_at(place.checked_sub(1)? as usize))
    }

    /// The words of a stretch, from the pool when it has none; `None` when the pool is exhausted.
    fn find_or_claim(&self, p: &Process, file: u32, stretch: u32) -> Option<&'static [AtomicU32]> {
        if let Some(words) = self.find(file, stretch) {
            return Some(words);
        }
        let claim = Claim { file, stretch, process: p.number() };
        let free = |n: &usize| {
            let word = &self.claims[*n];
            word.load(Ordering::Relaxed) == 0
                && word.compare_exchange(0, claim.word(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = (0..self.claims.len()).find(free)?;
        faults::point("space-temp-claimed");
        let to = &self.directory[claim.place()];
        if to.compare_exchange(0, place as u32 + 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // Another process has claimed the stretch first.
            self.claims[place].store(0, Ordering::Release);
            return self.find(file, stretch);
        }
        Some(self.words_at(place))
    }

    /// Whether extent number `n` of a file has a word, or can get one from the pool.
    fn may_have_word(&self, file: u32, n: u32) -> bool {
        self.find(file, n / STRETCH as u32).is_some() || self.claims.iter().any(|c| c.load(Ordering::Relaxed) == 0)
    }

    /// The incarnation of a file and the number of its extents; `None` when it is away.
    fn usable(&self, file: u32) -> Result<Option<(u64, u32)>> {
        let files = self.cache.files();
        // The first use after a start loads the state of a file.
        let first_use = || files.blocks(file).ok().and_then(|_| files.usable_temporary(file));
        let Some(incarnation) = files.usable_temporary(file).or_else(first_use) else { return Ok(None) };
        match files.blocks(file) {
            Ok(blocks) => Ok(Some((incarnation, self.extents_of(blocks)))),
            Err(e) => {
                if files.usable_temporary(file) == Some(incarnation) {
                    Err(e)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// The stretches that have words.
    fn claimed(&self) -> impl Iterator<Item = (Claim, &'static [AtomicU32])> {
        let known = |(n, word): (usize, &AtomicU64)| {
            let claim = Claim::of(word.load(Ordering::Acquire))?;
            let is_there = self.directory[claim.place()].load(Ordering::Acquire) == n as u32 + 1;
            is_there.then(|| (claim, self.words_at(n)))
        };
        self.claims.iter().enumerate().filter_map(known)
    }

    /// Takes an extent of the tablespace for this process, or of any temporary one when it does not exist; files grow.
    ///
    /// # Errors
    /// ORA-01652 when no file has room or can grow, with the system's error below it.
    pub fn take(&self, p: &Process, tablespace: u32) -> Result<Extent> {
        self.take_as(p, tablespace, 0)
    }

    /// Takes an extent for a segment of this process, whose blocks go through the cache. It is given back when the
    /// group does not count.
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

    /// Gives an extent of a segment of this process back when the group counts.
    pub(crate) fn give_back_in(&self, g: &mut ChangeGroup, extent: Extent) {
        let temp = self.clone();
        g.at_end(move |p, counts| {
            if counts {
                temp.give_back_discarded(p, extent);
            }
        });
    }

    /// Gives back an extent whose blocks may be in the cache. Their buffers must not overwrite blocks of the next
    /// owner, so an extent with a buffer that stays pinned keeps its owner.
    fn give_back_discarded(&self, p: &Process, extent: Extent) {
        if self.cache.discard_range(p, extent.start, extent.blocks).is_ok() {
            self.give_back(p.number(), extent);
        }
    }

    fn take_as(&self, p: &Process, tablespace: u32, mark: u32) -> Result<Extent> {
        let known = self.cache.files().temporary_files();
        let named = known.iter().any(|(_, of)| *of == tablespace);
        let mut files: Vec<u32> =
            known.iter().filter(|(_, of)| !named || *of == tablespace).map(|(file, _)| *file).collect();
        // The file of the last extent first; a process without one begins with a file derived from its number.
        let (last, _) = self.place_of(p);
        let turn = files.iter().position(|file| *file == last).unwrap_or(p.number() as usize % files.len().max(1));
        files.rotate_left(turn);
        for file in files {
            let Some((incarnation, all)) = self.usable(file)? else { continue };
            if let Some(extent) = self.take_from(p, (file, incarnation), 0..all, mark) {
                return Ok(extent);
            }
        }
        let control = self.cache.files().control()?;
        let is_temp = |n: u32| control.tablespace(n).is_some_and(|t| t.contents == Contents::Temporary);
        let wanted = is_temp(tablespace);
        let usable = |f: &&FileEntry| if wanted { f.tablespace == tablespace } else { is_temp(f.tablespace) };
        let here = |f: &&FileEntry| usable(f) && !self.cache.files().is_away(f.file);
        let files: Vec<&FileEntry> = control.heads().filter(here).collect();
        let name = files.first().and_then(|f| control.tablespace(f.tablespace)).map_or("TEMP", |t| t.name.as_str());
        let mut full = Ora::with(1652, &[&TEMP_EXTENT_BLOCKS, &name]);
        for f in files.iter().filter(|f| f.blocks_max > 0) {
            match self.grow_and_take(p, f, mark) {
                Ok(Some(extent)) => return Ok(extent),
                Ok(None) => {}
                Err(e) if e.is(1237) => full = full.because(e),
                Err(e) => return Err(e),
            }
        }
        Err(full)
    }

    /// Grows a file, or the last part of a bigfile, until this process gets an extent; `None` when it may not grow.
    fn grow_and_take(&self, p: &Process, head: &FileEntry, mark: u32) -> Result<Option<Extent>> {
        let files = self.cache.files();
        loop {
            let control = files.control()?;
            let Some(last) = control.parts_of(head.file).last().map(|f| (f.file, f.part)) else { return Ok(None) };
            let (file, part) = last;
            let part_most = files.blocks_most(head.file);
            if let Some(extent) = self.grow_part(p, head, file, head.most_in_part(part, part_most), mark)? {
                return Ok(Some(extent));
            }
            let next = head.most_in_part(part + 1, part_most);
            let is_full = files.blocks(file)? >= part_most;
            // A part needs room for an extent, and words for it.
            let has_room = self.extents_of(next) > 0 && self.claims.iter().any(|c| c.load(Ordering::Relaxed) == 0);
            if !control.is_bigfile(head) || !is_full || !has_room {
                return Ok(None);
            }
            files.add_part(p, head.file, part, &|| (0, Scn(0)))?;
        }
    }

    /// Grows a file or part up to `most` blocks until this process gets one of the new extents. Other processes may
    /// take them all.
    fn grow_part(&self, p: &Process, head: &FileEntry, file: u32, most: u32, mark: u32) -> Result<Option<Extent>> {
        let mut seen = 0;
        while let Some((incarnation, all)) = self.usable(file)? {
            if let Some(extent) = self.take_from(p, (file, incarnation), seen..all, mark) {
                return Ok(Some(extent));
            }
            let now = self.cache.files().blocks(file)?;
            if self.extents_of(now) > all {
                // Another process has grown the file.
                seen = all;
                continue;
            }
            let more = now.saturating_add(head.step.max(8 * TEMP_EXTENT_BLOCKS)).min(most);
            // Blocks without words would be useless.
            if more <= now || !self.may_have_word(file, all) {
                return Ok(None);
            }
            self.cache.files().extend(file, more)?;
            seen = all;
        }
        Ok(None)
    }

    /// Makes a temporary file larger, with all its parts. ORA-03297 for a smaller size.
    ///
    /// # Errors
    /// ORA-01237 when the file cannot grow.
    pub fn resize(&self, p: &Process, head: u32, blocks: u64) -> Result<()> {
        let files = self.cache.files();
        let part_most = files.blocks_most(head);
        let sizes = part_sizes(blocks, part_most, part_blocks_min(self.cache.block_size()));
        let listed = || -> Result<Vec<u32>> { Ok(files.control()?.parts_of(head).iter().map(|f| f.file).collect()) };
        let now = listed()?;
        let is_smaller = |last: u32| Result::Ok(sizes.len() == now.len() && sizes[now.len() - 1] < files.blocks(last)?);
        if sizes.len() < now.len() || now.last().map_or(Ok(false), |last| is_smaller(*last))? {
            return Err(Ora::new(3297));
        }
        for (n, blocks) in sizes.into_iter().enumerate() {
            while n >= listed()?.len() {
                files.add_part(p, head, n as u32 - 1, &|| (0, Scn(0)))?;
            }
            files.extend(listed()?[n], blocks)?;
        }
        Ok(())
    }

    /// File and number of the extent that the process took last; (0, 0) before its first.
    fn place_of(&self, p: &Process) -> (u32, u32) {
        let word = self.places[(p.number() as usize - 1) * LINE].load(Ordering::Relaxed);
        ((word >> 32) as u32, (word as u32).saturating_sub(1))
    }

    /// Takes a free extent with a number in `among`, from the process's own place on, wrapping around.
    fn take_from(&self, p: &Process, of: (u32, u64), among: Range<u32>, mark: u32) -> Option<Extent> {
        let (last, number) = self.place_of(p);
        let (file, _) = of;
        let from = if last == file && among.contains(&number) {
            number
        } else {
            // Neighbouring process numbers give distant places.
            let spread = u64::from(p.number().wrapping_mul(0x9E37_79B9));
            among.start + ((spread * among.len() as u64) >> 32) as u32
        };
        let number = self.take_between(p, of, from..among.end, mark).or_else(|| {
            // From the beginning.
            self.take_between(p, of, among.start..from, mark)
        })?;
        let word = u64::from(file) << 32 | u64::from(number + 1);
        self.places[(p.number() as usize - 1) * LINE].store(word, Ordering::Relaxed);
        Some(self.extent(file, number))
    }

    /// Takes a free extent with a number in `among` of a file in an incarnation; `None` when the file is away by now.
    fn take_between(&self, p: &Process, of: (u32, u64), among: Range<u32>, mark: u32) -> Option<u32> {
        let (me, (file, incarnation)) = (p.number() | mark, of);
        let mut number = among.start;
        while number < among.end {
            let (stretch, at) = (number / STRETCH as u32, number as usize % STRETCH);
            let end = among.end.min((stretch + 1) * STRETCH as u32);
            let Some(all) = self.find_or_claim(p, file, stretch) else {
                // No words are left for this stretch; a later one may have some.
                number = end;
                continue;
            };
            let words = &all[at..][..(end - number) as usize];
            let take = |word: &AtomicU32| {
                word.load(Ordering::Relaxed) == 0
                    && word.compare_exchange(0, me, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            };
            if let Some(found) = words.iter().position(take) {
                faults::point("space-temp-taken");
                // Pairs with the fence of `is_used`.
                fence(Ordering::SeqCst);
                let is_there = self.cache.files().usable_temporary(file) == Some(incarnation);
                if is_there && self.find(file, stretch).is_some_and(|now| std::ptr::eq(now, all)) {
                    return Some(number + found as u32);
                }
                let _ = words[found].compare_exchange(me, 0, Ordering::AcqRel, Ordering::Relaxed);
                return None;
            }
            number = end;
        }
        None
    }

    /// Gives an extent of process number `owner` back. An extent with another owner by now is left alone.
    pub fn give_back(&self, owner: u32, extent: Extent) {
        let number = self.extents_of(extent.start.block());
        let Some(words) = self.find(extent.start.file(), number / STRETCH as u32) else { return };
        let word = &words[number as usize % STRETCH];
        let free = |was: u32| word.compare_exchange(was, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let _ = free(owner) || free(owner | IN_CACHE);
    }

    /// Whether a process has an extent of the file. Once the file is fenced off, no further extent of it is taken, and
    /// the answer `false` stays valid until the fence is lifted.
    pub fn is_used(&self, file: u32) -> bool {
        // Pairs with the fence of `take_between`: this process sees the word, or its owner sees the state of the file.
        fence(Ordering::SeqCst);
        let stretches = (0..STRETCHES_OF_FILE as u32).filter_map(|stretch| self.find(file, stretch));
        stretches.flatten().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Frees the words of a dropped file, of which no process has an extent, for another file.
    pub fn forget(&self, p: &Process, file: u32) {
        for stretch in 0..STRETCHES_OF_FILE as u32 {
            let place = self.directory[Claim { file, stretch, process: 0 }.place()].load(Ordering::Acquire) as usize;
            let Some(place) = place.checked_sub(1) else { continue };
            // The claim has this process's number: if it dies before the end, PMON frees places that the directory does
            // not lead to.
            let claim = Claim { file, stretch, process: p.number() };
            self.claims[place].store(claim.word(), Ordering::Release);
            self.directory[claim.place()].store(0, Ordering::Release);
            faults::point("space-temp-forgotten");
            self.free_place(place);
        }
    }

    /// Frees a place that this process has claimed and that the directory does not lead to.
    fn free_place(&self, place: usize) {
        self.words_at(place).iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.claims[place].store(0, Ordering::Release);
    }

    /// The number of claimed places of the pool, for tests.
    pub fn stretches(&self) -> usize {
        self.claims.iter().filter(|word| word.load(Ordering::Relaxed) != 0).count()
    }

    /// The number of extents of each process, by file.
    pub fn usage(&self) -> Vec<TempUsage> {
        let mut rows: Vec<TempUsage> = Vec::new();
        for (claim, words) in self.claimed() {
            for word in words {
                let (file, process) = (claim.file, word.load(Ordering::Relaxed) & !IN_CACHE);
                if process == 0 {
                    continue;
                }
                match rows.iter_mut().find(|r| (r.process, r.file) == (process, file)) {
                    Some(row) => row.extents += 1,
                    None => rows.push(TempUsage { process, file, extents: 1 }),
                }
            }
        }
        rows
    }

    /// Frees the extents of process `dead`; `p` does it. Repeating it changes nothing.
    pub(crate) fn clean_up(&self, p: &Process, dead: u32) {
        self.places[(dead as usize - 1) * LINE].store(0, Ordering::Relaxed);
        for (n, word) in self.claims.iter().enumerate() {
            let was = word.load(Ordering::Acquire);
            let Some(claim) = Claim::of(was) else { continue };
            let leads_here = self.directory[claim.place()].load(Ordering::Acquire) == n as u32 + 1;
            if claim.process == dead && !leads_here {
                // The process died between claiming the place and publishing it, or while giving it up. The exchange
                // fails when another process forgets the file at the same time.
                let mine = Claim { process: p.number(), ..claim };
                if word.compare_exchange(was, mine.word(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    self.free_place(n);
                }
            }
        }
        for (claim, words) in self.claimed() {
            for (i, word) in words.iter().enumerate() {
                if word.load(Ordering::Relaxed) == dead | IN_CACHE {
                    let extent = self.extent(claim.file, claim.stretch * STRETCH as u32 + i as u32);
                    // An extent with a buffer that stays pinned keeps its owner, so no process gets it (S11).
                    if self.cache.discard_range(p, extent.start, extent.blocks).is_err() {
                        continue;
                    }
                    if word.compare_exchange(dead | IN_CACHE, dead, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                        continue;
                    }
                }
                let _ = word.compare_exchange(dead, 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }

    /// Writes blocks of an extent of this process. Waits: `direct path write temp`.
    ///
    /// # Errors
    /// ORA-01114 when the device fails.
    pub fn write(&self, p: &Process, at: Rdba, bytes: &[u8]) -> Result<()> {
        let blocks = bytes.len() / self.cache.block_size();
        let (file, block) = self.cache.files().shown(at);
        let _w = p.wait(Event::DirectPathWriteTemp, file.into(), block.into(), blocks as u64);
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
        let (file, block) = self.cache.files().shown(at);
        let _w = p.wait(Event::DirectPathReadTemp, file.into(), block.into(), blocks as u64);
        for stat in [Stat::PhysicalReads, Stat::PhysicalReadsDirect, Stat::PhysicalReadsDirectTemporary] {
            p.count(stat, blocks as u64);
        }
        p.count(Stat::PhysicalReadIoRequests, 1);
        p.count(Stat::PhysicalReadBytes, bytes.len() as u64);
        p.count_read(1, bytes.len() as u64);
        self.cache.files().read_blocks(at, bytes)
    }

    /// The error for temporary data that differs from what was written.
    pub fn damaged(&self, at: Rdba) -> Ora {
        let (file, block) = self.cache.files().shown(at);
        Ora::with(1578, &[&file, &block]).because(Ora::from_text(
            Facility::Lwk,
            62,
            "temporary data is not what was written",
        ))
    }
}
