//! The roll forward: one pass over the redo.
//!
//! A block is read from its file unless its first vector makes the whole block. What is read may be newer than the
//! record, because the block was written before the crash, or by a recovery that was cut off: its own redo address says
//! so, and the record passes it by. A block that is written may be torn by the next crash. So a copy of it goes to the
//! double-write area first, where there is one, unless the redo makes it whole.
//!
//! **Workers.** A change vector speaks of one block, and what it does depends on that block and itself alone. So each
//! worker owns the blocks of every n-th stretch of the files and applies their vectors, in the order of the redo, while
//! the thread that called reads ahead and checks records. No two workers ever have the same block, and nothing is
//! written to disk that a single one would not write; which record is the last is decided before any worker hears of
//! it. Redo that fits into one batch is applied by the calling thread itself.
//!
//! **Void changes.** What is done to a block before a vector that makes it anew need not be done. A worker therefore
//! lets some of the redo come before it applies the first, and hears with each batch which blocks it makes anew. A
//! table that is emptied and filled again and again, or undo that is used in turn, is rolled forward once.

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

/// How far to roll forward. Redo is applied as it was written, record by record; the first record beyond ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the end of the redo.
    End,
    /// All redo up to this SCN, it included.
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

/// What a roll forward works on.
pub struct Forward<'a> {
    pub files: &'a DataFiles,
    pub apply: &'a ApplyTable,
    /// For every file that is rolled forward, where the redo of it begins: what is before it is of a file that had the
    /// same number earlier. Redo of all other files is passed over.
    pub starts: HashMap<u32, Rba>,
    pub until: Until,
    /// The checkpoint that stands until the roll forward is done: batches of the double-write area name it.
    pub announced: Rba,
    /// Most blocks kept in memory, by all workers together.
    pub frames_max: usize,
    pub workers: Workers,
    /// What was written is waited for. Otherwise it is in the files, and the device has it when somebody has synced
    /// them.
    pub on_device: bool,
}

/// How a roll forward is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Threads that apply redo, beside the one that reads it.
    pub count: usize,
    /// Bytes of redo handed over at a time.
    pub batch_bytes: usize,
}

/// More than this many workers would wait for the thread that reads.
const WORKERS_MAX: usize = 4;

impl Workers {
    /// How many there can be.
    pub(crate) const SLOTS: usize = WORKERS_MAX;
}

impl Default for Workers {
    /// As many as the machine has processors, within reason.
    fn default() -> Workers {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
        Workers { count, batch_bytes: 2 << 20 }
    }
}

/// How far a roll forward has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub redo_bytes: u64,
    pub sequence: u32,
    /// Time of the present record: seconds since 1970, UTC.
    pub time_s: u32,
}

/// What a roll forward did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Behind the last record that was applied.
    pub end: Rba,
    /// The highest SCN of the redo up to there, and the time of its last record.
    pub scn: Scn,
    pub time_s: u32,
    /// A record beyond what was asked for was met.
    pub stopped: bool,
    /// The log sequence that `end` is in.
    pub sequence: u32,
    pub records: u64,
    pub vectors: u64,
    pub redo_bytes: u64,
    pub blocks_read: u64,
    pub blocks_written: u64,
    /// Blocks that were torn and came from the double-write area, and those that were written in place once more.
    pub blocks_torn: u64,
    pub blocks_again: u64,
    /// Files that the redo speaks of and that were passed over altogether.
    pub unknown_files: Vec<u32>,
    /// The damage at which the redo was made to end.
    pub damage: Option<types::Ora>,
    /// The newest redo address of a block that was read: its redo was on disk before it was.
    pub newest_block: Rba,
    /// Blocks that could not be rolled forward; who reads one gets ORA-01578.
    pub damaged: Vec<Rdba>,
}

/// Blocks of a record: those of a change group.
const RECORD_BLOCKS_MAX: usize = buffer_cache::GROUP_BLOCKS_MAX;

/// Where the redo begins of a file that gets none.
const NEVER: Rba = Rba(u64::MAX);

/// Redo between two calls of `tell`.
const TELL_BYTES: u64 = 8 << 20;

/// Batches on their way to a worker that has not taken them yet: so far one may be behind the others.
const BATCHES_AHEAD: usize = 4;

/// Applies the redo that `reader` gives to the data files: everything is in them when it returns, and on the device if
/// that is asked for.
///
/// # Errors
/// Redo that cannot be read (ORA-00333), blocks that cannot be written (ORA-01114), a file that cannot be opened
/// (ORA-01157) or cannot grow (ORA-01237). Nothing is lost then: the same can be done again.
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
        run.hear_of(&first);
        run.batch(&first)?;
        run.write_out()?;
        vec![run]
    };
    let mut out = feed.out;
    if !out.stopped {
        // Behind the last record there may be void ones.
        out.end = reader.position();
    }
    if out.sequence == 0 {
        out.sequence = reader.sequence();
    }
    finish(forward, runs, out)
}

/// Everything is written: has it on the device, and adds up what the workers did.
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
    os::crash::point("recovery-written");
    if forward.on_device {
        forward.files.sync()?;
    }
    Ok(out)
}

/// Makes the files as long as their bitmaps say: blocks that were never formatted are not in the redo.
fn lengthen(files: &DataFiles, changed: &[bool]) -> Result<()> {
    let mut image = block::Image::new(files.block_size());
    for file in (1..=Rdba::MAX_FILE).filter(|f| changed[*f as usize]) {
        let at = Rdba::new(file, 1);
        // A damaged bitmap says nothing, and is told of by whoever needs it.
        let is_sound = files.read_block(at, image.bytes_mut()).is_ok()
            && image.view().kind() == Some(block::BlockKind::FileBitmap);
        let blocks = block::segment::BitmapView::new(image.view()).file_blocks();
        if is_sound && blocks <= Rdba::MAX_BLOCK + 1 && files.blocks(file)? < blocks {
            files.extend(file, blocks)?;
        }
    }
    Ok(())
}

/// What the thread that reads knows.
struct Feed<'a> {
    forward: &'a Forward<'a>,
    told: u64,
    out: Outcome,
}

impl<'a> Feed<'a> {
    /// Reads a batch; false when there is nothing behind it that is to be applied.
    fn fill(&mut self, batch: &mut Batch, reader: &mut LogReader, tell: &mut dyn FnMut(&Progress)) -> Result<bool> {
        batch.clear();
        let more = self.fill_from(batch, reader, tell);
        batch.take(reader);
        Ok(more? && !(batch.len() > 0 && reader.at_end()?))
    }

    /// Notes records as long as they lie in the buffer that the first of them was read into.
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

    /// Reads everything and has the workers apply it. Their blocks are in the files when this returns.
    fn divide(
        &mut self,
        first: Batch,
        runs: &mut [Run<'a>],
        reader: &mut LogReader,
        tell: &mut dyn FnMut(&Progress),
    ) -> Result<()> {
        // Set when all redo was read: without that nothing that is still in memory is written.
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
            // A worker that has gone has failed, and says so itself.
            if lines.iter().any(|line| line.send(batch.clone()).is_err()) {
                break;
            }
        }
        Ok(())
    }
}

/// A block of the record that is being applied.
struct Touched {
    at: Rdba,
    /// None when the block has the record's changes already, and when they are void.
    frame: Option<usize>,
    /// The record makes the block anew further on.
    is_void_yet: bool,
}

/// Blocks whose vectors go to the same worker. Neighbours are written together, so that there should be many; what is
/// changed at about the same time is mostly neighbours, too, and would keep one worker alone busy, so that there should
/// be few.
const STRETCH_BLOCKS: u32 = 16;

/// A worker: the blocks that it owns, as far as it has met them.
struct Run<'a> {
    forward: &'a Forward<'a>,
    /// Number of the worker, and of all.
    own: u32,
    of: u32,
    pool: Pool<'a>,
    touched: Vec<Touched>,
    /// Where the redo of each file begins.
    starts: Vec<Rba>,
    /// Blocks of each file, as far as they have been looked up.
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

    /// Applies batches until there are no more, and then, if they were `complete`, writes what it has.
    fn work(&mut self, batches: &Receiver<Arc<Batch>>, complete: &AtomicBool) -> Result<()> {
        let mut waiting = Waiting::of(batches);
        while let Some(batch) = waiting.next(&mut |batch| self.hear_of(batch)) {
            self.batch(&batch)?;
        }
        if complete.load(Ordering::Acquire) { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<()> {
        os::crash::point("recovery-redo-read");
        self.pool.write_out()
    }

    /// Notes which blocks the batch makes anew.
    fn hear_of(&mut self, batch: &Batch) {
        for (at, end) in batch.made() {
            if self.owns(*at) {
                self.pool.will_be_made(*at, *end);
            }
        }
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        batch.records().try_for_each(|(start, record)| self.record(start, &record))?;
        self.pool.write_early()
    }

    fn owns(&self, at: Rdba) -> bool {
        // In turn, and from another one on in each extent of 256 blocks, or blocks at like places would all be one
        // worker's.
        let stretch = at.0 / STRETCH_BLOCKS;
        self.of == 1 || (stretch ^ stretch >> 4 ^ stretch >> 8) % self.of == self.own
    }

    fn record(&mut self, start: Rba, record: &RecordReader<'_>) -> Result<()> {
        let end = Rba(start.0 + record.len as u64);
        os::crash::point("recovery-record");
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

    /// The record's entry for the block of `cv`, which is in the pool from now on if the record changes anything in it.
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

    /// Makes sure that the file is long enough for the block: it may have grown since it was copied, or the growth was
    /// lost.
    fn reach(&mut self, at: Rdba) -> Result<()> {
        let (file, files) = (at.file(), self.forward.files);
        if at.block() < self.sizes[file as usize] {
            return Ok(());
        }
        let mut blocks = files.blocks(file)?;
        if at.block() >= blocks {
            // In steps: one for each block would be slow.
            let most = Rdba::MAX_BLOCK + 1;
            blocks = at.block().saturating_add(GROW_BLOCKS).min(most);
            files.extend(file, blocks)?;
        }
        self.sizes[file as usize] = blocks;
        Ok(())
    }
}

/// How many blocks a file grows by beyond the one that is needed.
const GROW_BLOCKS: u32 = 128;
