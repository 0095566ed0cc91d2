//! The roll forward: one pass over the redo.
//!
//! Every block that was changed behind the position where it begins starts with a vector that makes the whole block, so it is not
//! read from the file at all, unless the pool was full in between. What is read may be newer than the record, because the block was
//! written before the crash, or by a recovery that was cut off: its own redo address says so, and the record passes it by.

use crate::pool::Pool;
use buffer_cache::is_whole;
use datafile::DataFiles;
use redo::{ApplyTable, LogReader, Rba, RecordReader};
use std::collections::HashMap;
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
    /// For every file that is rolled forward, where the redo of it begins: what is before it is of a file that had the same number
    /// earlier. Redo of all other files is passed over.
    pub starts: HashMap<u32, Rba>,
    pub until: Until,
    /// Most blocks kept in memory.
    pub frames_max: usize,
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

/// Applies the redo that `reader` gives to the data files, and has everything on disk when it returns.
///
/// # Errors
/// Redo that cannot be read (ORA-00333), blocks that cannot be written (ORA-01114), a file that cannot be opened (ORA-01157) or
/// cannot grow (ORA-01237). Nothing is lost then: the same can be done again.
pub fn roll_forward(forward: &Forward<'_>, reader: &mut LogReader, tell: &mut dyn FnMut(&Progress)) -> Result<Outcome> {
    let mut run = Run::new(forward, reader.position());
    let mut told = 0;
    loop {
        let sequence = reader.sequence();
        let Some((start, record)) = reader.next_record()? else { break };
        if forward.until.is_beyond(&record) {
            run.out.stopped = true;
            break;
        }
        run.record(start, &record)?;
        run.out.sequence = sequence;
        let redo_bytes = run.out.redo_bytes;
        if redo_bytes >= told + TELL_BYTES {
            told = redo_bytes;
            tell(&Progress { redo_bytes, sequence, time_s: run.out.time_s });
        }
    }
    if !run.out.stopped {
        // Behind the last record there may be void ones.
        run.out.end = reader.position();
    }
    if run.out.sequence == 0 {
        run.out.sequence = reader.sequence();
    }
    run.finish()
}

/// A block of the record that is being applied.
struct Touched {
    at: Rdba,
    frame: usize,
    /// The block has the record's changes already.
    passed_by: bool,
}

struct Run<'a> {
    forward: &'a Forward<'a>,
    pool: Pool<'a>,
    touched: Vec<Touched>,
    /// Where the redo of each file begins.
    starts: Vec<Rba>,
    /// Blocks of each file, as far as they have been looked up.
    sizes: Vec<u32>,
    out: Outcome,
}

impl<'a> Run<'a> {
    fn new(forward: &'a Forward<'a>, from: Rba) -> Run<'a> {
        Run {
            starts: (0..=Rdba::MAX_FILE).map(|f| forward.starts.get(&f).copied().unwrap_or(NEVER)).collect(),
            forward,
            pool: Pool::new(forward.files, forward.frames_max),
            touched: Vec::with_capacity(RECORD_BLOCKS_MAX),
            sizes: vec![0; Rdba::MAX_FILE as usize + 1],
            out: Outcome { end: from, ..Outcome::default() },
        }
    }

    fn record(&mut self, start: Rba, record: &RecordReader<'_>) -> Result<()> {
        let end = Rba(start.0 + record.len as u64);
        os::crash::point("recovery-record");
        self.pool.next_record();
        self.pool.make_room(RECORD_BLOCKS_MAX)?;
        self.touched.clear();
        for cv in record.vectors() {
            self.out.vectors += 1;
            let begin = self.starts[cv.rdba.file() as usize];
            if start < begin {
                if begin == NEVER && !self.out.unknown_files.contains(&cv.rdba.file()) {
                    self.out.unknown_files.push(cv.rdba.file());
                }
                continue;
            }
            let n = self.touch(&cv, end)?;
            let (frame, passed_by) = (self.touched[n].frame, self.touched[n].passed_by);
            if passed_by {
                continue;
            }
            let frame = self.pool.frame(frame);
            if is_whole(&cv) {
                frame.damaged = false;
            }
            if !frame.damaged && self.forward.apply.apply_read(frame.image.bytes_mut(), &cv).is_err() {
                frame.damaged = true;
            }
            frame.dirty = true;
        }
        for touched in self.touched.iter().filter(|t| !t.passed_by) {
            block::stamp(self.pool.frame(touched.frame).image.bytes_mut(), end.0);
        }
        self.out.records += 1;
        self.out.redo_bytes += record.len as u64;
        self.out.scn = self.out.scn.max(record.scn);
        (self.out.end, self.out.time_s) = (end, record.time_s);
        Ok(())
    }

    /// The record's entry for the block of `cv`, which is in the pool from now on.
    fn touch(&mut self, cv: &redo::ChangeVector<'_>, end: Rba) -> Result<usize> {
        if let Some(n) = self.touched.iter().position(|t| t.at == cv.rdba) {
            return Ok(n);
        }
        if self.touched.len() == RECORD_BLOCKS_MAX {
            return Err(Ora::internal("a redo record with more blocks than a change group has"));
        }
        self.reach(cv.rdba)?;
        let whole = is_whole(cv);
        let frame = self.pool.get(cv.rdba, whole)?;
        let f = self.pool.frame(frame);
        let rba = if whole || f.damaged { 0 } else { f.image.view().rba() };
        let passed_by = rba >= end.0;
        self.out.newest_block = self.out.newest_block.max(Rba(rba));
        self.touched.push(Touched { at: cv.rdba, frame, passed_by });
        Ok(self.touched.len() - 1)
    }

    /// Makes sure that the file is long enough for the block: it may have grown since it was copied, or the growth was lost.
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

    /// Makes the files as long as their bitmaps say: blocks that were never formatted are not in the redo.
    fn lengthen(&self) -> Result<()> {
        let files = self.forward.files;
        let mut image = block::Image::new(files.block_size());
        for file in (1..=Rdba::MAX_FILE).filter(|f| self.sizes[*f as usize] > 0) {
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

    fn finish(mut self) -> Result<Outcome> {
        os::crash::point("recovery-redo-read");
        self.pool.write_out()?;
        self.lengthen()?;
        os::crash::point("recovery-written");
        self.forward.files.sync()?;
        (self.out.blocks_read, self.out.blocks_written) = (self.pool.reads, self.pool.writes);
        self.out.damaged = std::mem::take(&mut self.pool.damaged);
        self.out.damaged.sort_unstable();
        self.out.damaged.dedup();
        Ok(self.out)
    }
}

/// How many blocks a file grows by beyond the one that is needed.
const GROW_BLOCKS: u32 = 128;
