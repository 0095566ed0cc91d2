//! The roll forward: one pass over the redo.
//!
//! A block is read from its file unless its first vector makes the whole block. The block in the file may be newer than
//! the record, written before the crash or by an earlier recovery that was interrupted: the redo address in the block
//! shows it, and the record is skipped (R2). The next crash may tear a block that is being written, so a copy goes to
//! the double-write area first, where there is one, unless the redo makes the block whole (R18).
//!
//! **Workers.** A change vector changes one block, and its effect depends on that block and the vector alone. So each
//! worker owns the blocks of every n-th stretch of the files and applies their vectors, in the order of the redo, while
//! the calling thread reads ahead and checks records. Two workers never have the same block, and they write exactly the
//! blocks that a single thread would write; the calling thread decides which record is the last before any worker
//! receives it (R7). Redo that fits into one batch is applied by the calling thread itself.
//!
//! **Void changes.** Changes of a block before a vector that makes it whole need not be applied. A worker therefore
//! receives some redo before it applies the first of it, and each batch lists the blocks that it makes whole (R8). A
//! table that is emptied and filled again and again, or undo that is reused, is rolled forward once.

use crate::batch::{Batch, Ring, Waiting};
use crate::pool::{Found, Pool};
use buffer_cache::{is_whole, is_zeros};
use datafile::DataFiles;
use redo::{ApplyTable, LogReader, Rba, RecordReader};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use types::{Ora, Rdba, Result, Scn};

/// The end of a roll forward. Redo is applied record by record, in order; the first record beyond the limit ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the end of the redo.
    End,
    /// All redo up to this SCN, inclusive.
    Scn(Scn),
    /// All redo made before this second (since 1970, UTC).
    Time(u32),
}

impl Until {
    fn is_beyond(self, record: &RecordReader<'_>) -> bool {
        match self {
            Until::End => false,
            Until::Scn(scn) => record.scn > scn,
            Until::Time(time_s) => record.time_s >= time_s,
        }
    }
}

/// The input of a roll forward.
pub struct Forward<'a> {
    pub files: &'a DataFiles,
    pub apply: &'a ApplyTable,
    /// For each file to roll forward, the start of its redo: redo before it belongs to an earlier file with the same
    /// number. Redo of all other files is skipped.
    pub starts: HashMap<u32, Rba>,
    pub until: Until,
    /// The checkpoint that stays valid until the roll forward is done; batches of the double-write area carry it.
    pub announced: Rba,
    /// Most blocks in memory, of all workers together.
    pub frames_max: usize,
    pub workers: Workers,
    /// Wait until the written blocks are on the device. Otherwise a later sync has to bring them there.
    pub on_device: bool,
}

/// The division of a roll forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Threads that apply redo, besides the one that reads it.
    pub count: usize,
    /// Bytes of redo in a batch.
    pub batch_bytes: usize,
}

/// With more workers than this, they would wait for the thread that reads.
const WORKERS_MAX: usize = 4;

impl Workers {
    /// The highest number of workers, for the double-write area.
    pub(crate) const SLOTS: usize = WORKERS_MAX;
}

impl Default for Workers {
    /// One worker per processor, up to the limit.
    fn default() -> Workers {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
        Workers { count, batch_bytes: 2 << 20 }
    }
}

/// Progress of a roll forward.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub redo_bytes: u64,
    pub sequence: u32,
    /// Time of the current record: seconds since 1970, UTC.
    pub time_s: u32,
}

/// The result of a roll forward.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The end of the last record that was applied.
    pub end: Rba,
    /// The highest SCN of the redo applied, and the time of its last record.
    pub scn: Scn,
    pub time_s: u32,
    /// A record beyond the requested limit was met.
    pub stopped: bool,
    /// The log sequence that `end` lies in.
    pub sequence: u32,
    pub records: u64,
    pub vectors: u64,
    pub redo_bytes: u64,
    pub blocks_read: u64,
    pub blocks_written: u64,
    /// Blocks that were torn and were restored from the double-write area, and blocks that were written in place once
    /// more.
    pub blocks_torn: u64,
    pub blocks_again: u64,
    /// Files that have redo but were skipped altogether.
    pub unknown_files: Vec<u32>,
    /// The damage at which the roll forward stopped.
    pub damage: Option<types::Ora>,
    /// The newest redo address of a block that was read: redo up to there was on disk before the block was written.
    pub newest_block: Rba,
    /// Blocks that could not be rolled forward; reading one gives ORA-01578 (R4).
    pub damaged: Vec<Rdba>,
}

/// Blocks of a record: those of a change group.
const RECORD_BLOCKS_MAX: usize = buffer_cache::GROUP_BLOCKS_MAX;

/// The start of the redo of a file whose redo is skipped.
const NEVER: Rba = Rba(u64::MAX);

/// Redo between two calls of `tell`.
const TELL_BYTES: u64 = 8 << 20;

/// Batches queued for a worker: it may be this many behind the others.
const BATCHES_AHEAD: usize = 4;

/// Applies the redo of `reader` to the data files. On return all blocks are written, and on the device if `on_device`
/// is set.
///
/// # Errors
/// Redo that cannot be read (ORA-00333), blocks that cannot be written (ORA-01114), a file that cannot be opened
/// (ORA-01157) or cannot grow (ORA-01237). The roll forward can be repeated after any of them.
pub fn roll_forward(forward: &Forward<'_>, reader: &mut LogReader, tell: &mut dyn FnMut(&Progress)) -> Result<Outcome> {
    let count = forward.workers.count.min(forward.frames_max / Pool::FRAMES_MIN).max(1);
    let mut feed = Feed { forward, told: 0, out: Outcome { end: reader.position(), ..Outcome::default() } };
    let mut first = Batch::default();
    let runs = if feed.fill(&mut first, reader, tell)? {
        let mut runs: Vec<_> = (0..count as u32).map(|n| Run::new(forward, n, count as u32)).collect();
        feed.divide(first, &mut runs, reader, tell)?;
        runs
    } else {
        let mut run = Run::new(forward, 0, 1);
        run.note_made(&first);
        run.batch(&first)?;
        run.write_out()?;
        vec![run]
    };
    let mut out = feed.out;
    if !out.stopped {
        // Void records may follow the last record.
        out.end = reader.position();
    }
    if out.sequence == 0 {
        out.sequence = reader.sequence();
    }
    finish(forward, runs, out)
}

/// Syncs the files, and adds up the results of the workers.
fn finish(forward: &Forward<'_>, runs: Vec<Run<'_>>, mut out: Outcome) -> Result<Outcome> {
    let mut changed = vec![false; Rdba::MAX_FILE as usize + 1];
    for run in runs {
        out.vectors += run.vectors;
        out.blocks_read += run.pool.reads;
        out.blocks_written += run.pool.writes;
        out.newest_block = out.newest_block.max(run.newest_block);
        out.unknown_files.extend(run.unknown_files);
        out.damaged.extend(run.pool.damaged);
        run.sizes.iter().zip(&mut changed).for_each(|(size, changed)| *changed |= *size > 0);
    }
    out.unknown_files.sort_unstable();
    out.unknown_files.dedup();
    out.damaged.sort_unstable();
    out.damaged.dedup();
    lengthen(forward.files, &changed)?;
    faults::point("recovery-written");
    if forward.on_device {
        forward.files.sync()?;
    }
    Ok(out)
}

/// Extends the files to the length in their bitmaps: blocks never formatted are not in the redo.
fn lengthen(files: &DataFiles, changed: &[bool]) -> Result<()> {
    let mut image = block::Image::new(files.block_size());
    for file in (1..=Rdba::MAX_FILE).filter(|f| changed[*f as usize]) {
        let at = Rdba::new(file, 1);
        // The length in a damaged bitmap cannot be used; a later read reports the damage.
        let is_sound = files.read_block(at, image.bytes_mut()).is_ok()
            && image.view().kind() == Some(block::BlockKind::FileBitmap);
        let blocks = block::segment::BitmapView::new(image.view()).file_blocks();
        if is_sound && blocks <= files.blocks_most(file) && files.blocks(file)? < blocks {
            files.extend(file, blocks)?;
        }
    }
    Ok(())
}

/// State of the thread that reads the redo.
struct Feed<'a> {
    forward: &'a Forward<'a>,
    told: u64,
    out: Outcome,
}

impl<'a> Feed<'a> {
    /// Reads a batch; false when no record behind it is to be applied.
    fn fill(&mut self, batch: &mut Batch, reader: &mut LogReader, tell: &mut dyn FnMut(&Progress)) -> Result<bool> {
        batch.clear();
        let more = self.fill_from(batch, reader, tell);
        batch.take(reader);
        Ok(more? && !(batch.len() > 0 && reader.at_end()?))
    }

    /// Adds records while they lie in the same buffer as the first one.
    fn fill_from(
        &mut self,
        batch: &mut Batch,
        reader: &mut LogReader,
        tell: &mut dyn FnMut(&Progress),
    ) -> Result<bool> {
        while batch.len() < self.forward.workers.batch_bytes {
            let sequence = reader.sequence();
            let next = if batch.len() == 0 { reader.next_record()? } else { reader.next_buffered() };
            let Some((start, record)) = next else { return Ok(batch.len() > 0) };
            if self.forward.until.is_beyond(&record) {
                self.out.stopped = true;
                return Ok(false);
            }
            let (len, scn, time_s) = (record.len, record.scn, record.time_s);
            let made = record.vectors().filter(is_whole);
            made.for_each(|cv| batch.note_made(cv.rdba, Rba(start.0 + len as u64)));
            let end = reader.buffer_place();
            batch.note(start, end - len..end);
            let out = &mut self.out;
            out.records += 1;
            out.redo_bytes += len as u64;
            out.scn = out.scn.max(scn);
            (out.end, out.time_s, out.sequence) = (Rba(start.0 + len as u64), time_s, sequence);
            if out.redo_bytes >= self.told + TELL_BYTES {
                self.told = out.redo_bytes;
                tell(&Progress { redo_bytes: out.redo_bytes, sequence, time_s: out.time_s });
            }
        }
        Ok(true)
    }

    /// Reads all redo and passes it to the workers. On return their blocks are in the files.
    fn divide(
        &mut self,
        first: Batch,
        runs: &mut [Run<'a>],
        reader: &mut LogReader,
        tell: &mut dyn FnMut(&Progress),
    ) -> Result<()> {
        // Set when all redo was read: only then do the workers write the blocks still in memory.
        let complete = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (mut lines, mut threads) = (Vec::new(), Vec::new());
            for run in runs {
                let (line, batches) = sync_channel(BATCHES_AHEAD);
                lines.push(line);
                let complete = &complete;
                threads.push(scope.spawn(move || run.work(&batches, complete)));
            }
            let read = self.hand_out(first, &lines, reader, tell);
            complete.store(read.is_ok(), Ordering::Release);
            drop(lines);
            let mut done = read;
            for thread in threads {
                let worked = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                done = done.and(worked);
            }
            done
        })
    }

    fn hand_out(
        &mut self,
        first: Batch,
        lines: &[SyncSender<Arc<Batch>>],
        reader: &mut LogReader,
        tell: &mut dyn FnMut(&Progress),
    ) -> Result<()> {
        let mut ring = Ring::new(first);
        let mut more = true;
        while more {
            more = match ring.is_fresh() {
                true => true,
                false => self.fill(ring.free(), reader, tell)?,
            };
            let batch = ring.take();
            // A worker that has ended has failed; joining it returns its error.
            if lines.iter().any(|line| line.send(batch.clone()).is_err()) {
                break;
            }
        }
        Ok(())
    }
}

/// A block of the current record.
struct Touched {
    at: Rdba,
    /// None when the block has the record's changes already, or when they are void.
    frame: Option<usize>,
    /// A later vector of the record makes the block whole.
    is_void_yet: bool,
}

/// Consecutive blocks whose vectors go to the same worker. Long stretches give longer writes; short ones spread the
/// load, since blocks changed at about the same time are usually neighbours.
const STRETCH_BLOCKS: u32 = 16;

/// A worker, with the blocks that it owns.
struct Run<'a> {
    forward: &'a Forward<'a>,
    /// Number of this worker, and of all workers.
    own: u32,
    of: u32,
    pool: Pool<'a>,
    touched: Vec<Touched>,
    /// The start of each file's redo.
    starts: Vec<Rba>,
    /// Known length of each file, in blocks.
    sizes: Vec<u32>,
    vectors: u64,
    unknown_files: Vec<u32>,
    newest_block: Rba,
}

impl<'a> Run<'a> {
    fn new(forward: &'a Forward<'a>, own: u32, of: u32) -> Run<'a> {
        Run {
            starts: (0..=Rdba::MAX_FILE).map(|f| forward.starts.get(&f).copied().unwrap_or(NEVER)).collect(),
            forward,
            own,
            of,
            pool: Pool::new(
                forward.files,
                forward.frames_max / of as usize,
                forward.on_device,
                own as usize,
                forward.announced.0,
            ),
            touched: Vec::with_capacity(RECORD_BLOCKS_MAX),
            sizes: vec![0; Rdba::MAX_FILE as usize + 1],
            vectors: 0,
            unknown_files: Vec::new(),
            newest_block: Rba(0),
        }
    }

    /// Applies batches until the queue ends and then, if `complete` is set, writes its blocks.
    fn work(&mut self, batches: &Receiver<Arc<Batch>>, complete: &AtomicBool) -> Result<()> {
        let mut waiting = Waiting::of(batches);
        while let Some(batch) = waiting.next(&mut |batch| self.note_made(batch)) {
            self.batch(&batch)?;
        }
        if complete.load(Ordering::Acquire) { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<()> {
        faults::point("recovery-redo-read");
        self.pool.write_out()
    }

    /// Notes the blocks that the batch makes whole.
    fn note_made(&mut self, batch: &Batch) {
        for (at, end) in batch.made() {
            if self.owns(*at) {
                self.pool.will_be_made(*at, *end);
            }
        }
    }

    /// Applies this worker's part of the records, in their order; all workers together apply each as a whole (R1).
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        batch.records().try_for_each(|(start, record)| self.record(start, &record))?;
        self.pool.write_early()
    }

    fn owns(&self, at: Rdba) -> bool {
        // In turn, shifted in each extent of 256 blocks: otherwise one worker would own the blocks at the same place of
        // all extents.
        let stretch = at.0 / STRETCH_BLOCKS;
        self.of == 1 || (stretch ^ stretch >> 4 ^ stretch >> 8) % self.of == self.own
    }

    fn record(&mut self, start: Rba, record: &RecordReader<'_>) -> Result<()> {
        let end = Rba(start.0 + record.len as u64);
        faults::point("recovery-record");
        self.pool.next_record(end);
        self.pool.make_room(RECORD_BLOCKS_MAX)?;
        self.touched.clear();
        for cv in record.vectors() {
            if !self.owns(cv.rdba) {
                continue;
            }
            self.vectors += 1;
            let begin = self.starts[cv.rdba.file() as usize];
            if start < begin {
                if begin == NEVER && !self.unknown_files.contains(&cv.rdba.file()) {
                    self.unknown_files.push(cv.rdba.file());
                }
                continue;
            }
            let n = self.touch(&cv)?;
            let touched = &mut self.touched[n];
            touched.is_void_yet &= !is_whole(&cv);
            let Some(frame) = touched.frame.filter(|_| !touched.is_void_yet) else { continue };
            let (frame, block) = self.pool.frame_and_block(frame);
            if is_whole(&cv) {
                frame.damaged = false;
            }
            let is_done = std::mem::take(&mut frame.is_fresh) && is_zeros(&cv);
            if !is_done && !frame.damaged && self.forward.apply.apply_read(block, &cv).is_err() {
                frame.damaged = true;
            }
            frame.dirty = true;
        }
        for frame in self.touched.iter().filter_map(|t| t.frame) {
            block::stamp(self.pool.frame_and_block(frame).1, end.0);
        }
        Ok(())
    }

    /// The record's entry for the block of `cv`, which is then in the pool if the record changes anything in it.
    fn touch(&mut self, cv: &redo::ChangeVector<'_>) -> Result<usize> {
        if let Some(n) = self.touched.iter().position(|t| t.at == cv.rdba) {
            return Ok(n);
        }
        if self.touched.len() == RECORD_BLOCKS_MAX {
            return Err(Ora::internal("a redo record with more blocks than a change group has"));
        }
        self.reach(cv.rdba)?;
        let mut touched = Touched { at: cv.rdba, frame: None, is_void_yet: false };
        match self.pool.get(cv.rdba, is_whole(cv))? {
            Found::Void => {}
            Found::Made(frame) => (touched.frame, touched.is_void_yet) = (Some(frame), true),
            Found::Read(frame) => {
                let is_damaged = self.pool.frame_and_block(frame).0.damaged;
                let rba = if is_damaged { Rba(0) } else { Rba(self.pool.view(frame).rba()) };
                self.newest_block = self.newest_block.max(rba);
                touched.frame = (rba < self.pool.now()).then_some(frame);
            }
        }
        self.touched.push(touched);
        Ok(self.touched.len() - 1)
    }

    /// Extends the file to hold the block: it may have grown after it was copied, or its growth was lost in the crash.
    fn reach(&mut self, at: Rdba) -> Result<()> {
        let (file, files) = (at.file(), self.forward.files);
        if at.block() < self.sizes[file as usize] {
            return Ok(());
        }
        let mut blocks = files.blocks(file)?;
        if at.block() >= blocks {
            // In steps, since growing by single blocks would be slow.
            let most = files.blocks_most(file);
            blocks = at.block().saturating_add(GROW_BLOCKS).min(most);
            files.extend(file, blocks)?;
        }
        self.sizes[file as usize] = blocks;
        Ok(())
    }
}

/// Blocks that a file grows by beyond the one needed.
const GROW_BLOCKS: u32 = 128;
