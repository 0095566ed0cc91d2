//! A redo sink that keeps the whole stream in shared memory, and a recovery based on the contract alone.
//!
//! "On disk" is a number: [`Recorder::force`] raises it up to the oldest place that is not settled.

use block::{BlockView, Image};
use process::{Process, Processes};
use redo::{ApplyTable, LogId, Place, Rba, RecordReader, RedoSink, void_record};
use sga::{Sga, SgaBuilder, SgaSlice};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use types::{Ora, Rdba, Result, Scn};

/// Where the stream begins.
pub const BEGIN: u64 = 512;
const PROCESSES: usize = 24;
const HEAD: usize = 0;
const IMAGE_BEFORE: usize = 1;
const ON_DISK: usize = 2;
/// The number of the process whose next wait for the disk fails.
const REFUSED: usize = 3;
const PENDING: usize = 8;
const PENDING_END: usize = PENDING + PROCESSES;
const WORDS: usize = PENDING_END + PROCESSES;

#[derive(Clone, Copy)]
pub struct RecorderLayout {
    words: SgaSlice<AtomicU64>,
    bytes: SgaSlice<AtomicU64>,
}

impl RecorderLayout {
    pub fn reserve(b: &mut SgaBuilder, capacity: usize) -> RecorderLayout {
        RecorderLayout { words: b.reserve("recorder words", WORDS), bytes: b.reserve("recorder bytes", capacity / 8) }
    }
}

#[derive(Clone, Copy)]
pub struct Recorder {
    words: &'static [AtomicU64],
    bytes: &'static [AtomicU8],
    all: &'static Processes,
}

impl Recorder {
    pub fn create(sga: &'static Sga, layout: &RecorderLayout, all: &'static Processes) -> Recorder {
        let (words, bytes) = (sga.slice(layout.words), sga.slice(layout.bytes));
        // SAFETY: the same memory, lent for ever; a byte may be used as an atomic like the word that contains it.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<AtomicU8>(), bytes.len() * 8) };
        words[HEAD].store(BEGIN, Ordering::SeqCst);
        Recorder { words, bytes, all }
    }

    pub fn head(&self) -> u64 {
        self.words[HEAD].load(Ordering::SeqCst)
    }

    /// The position up to which the stream may be written: everything before is settled.
    pub fn limit(&self) -> u64 {
        let head = self.head(); // before the places: a place behind it does not matter
        let places = self.words[PENDING..PENDING_END].iter().map(|w| w.load(Ordering::SeqCst));
        places.filter(|at| *at > 0).fold(head, u64::min)
    }

    /// The stream from its beginning to `upto`.
    pub fn stream(&self, upto: u64) -> Vec<u8> {
        self.bytes[..upto as usize].iter().map(|b| b.load(Ordering::Relaxed)).collect()
    }

    /// Refuses the next wait of this process for redo on disk.
    pub fn refuse_once(&self, p: &Process) {
        self.words[REFUSED].store(p.number().into(), Ordering::SeqCst);
    }

    /// Ends all refusals.
    pub fn accept_all(&self) {
        self.words[REFUSED].store(0, Ordering::SeqCst);
    }

    pub fn write_some(&self) {
        self.words[ON_DISK].fetch_max(self.limit(), Ordering::SeqCst);
    }
}

impl RedoSink for Recorder {
    fn wanted(&self) -> bool {
        true
    }
    fn image_before(&self) -> Rba {
        Rba(self.words[IMAGE_BEFORE].load(Ordering::SeqCst))
    }
    fn announce(&self, p: &Process) -> Rba {
        let s = p.lock(self.all.latch(latch::LatchName::RedoAllocation), latch::Where::KcrfRedoAllocation, 0);
        s.set(&self.words[IMAGE_BEFORE], self.head());
        Rba(self.head())
    }
    fn reserve(&self, p: &Process, len: usize, decided: Rba, note: &AtomicU64) -> Result<Option<Place>> {
        let s = p.lock(self.all.latch(latch::LatchName::RedoAllocation), latch::Where::KcrfRedoAllocation, 0);
        let (slot, head) = (p.number() as usize - 1, self.head());
        if self.image_before() > decided {
            return Ok(None);
        }
        if head as usize + len > self.bytes.len() {
            return Err(Ora::with(4031, &[&len, &"redo", &"test", &"recorder"]));
        }
        s.set(&self.words[PENDING + slot], head);
        s.set(&self.words[PENDING_END + slot], head + len as u64);
        s.set(note, head);
        s.set(&self.words[HEAD], head + len as u64);
        Ok(Some(Place::new(Rba(head), LogId::default())))
    }
    fn put(&self, _: &Process, at: Rba, record: &[u8]) {
        for (byte, new) in self.bytes[at.0 as usize..].iter().zip(record) {
            byte.store(*new, Ordering::Relaxed);
        }
    }
    fn settle(&self, p: &Process) {
        self.words[PENDING + p.number() as usize - 1].store(0, Ordering::SeqCst);
    }
    fn settle_dead(&self, p: &Process, dead: u32, counts: bool) {
        let slot = dead as usize - 1;
        let (at, end) = (&self.words[PENDING + slot], &self.words[PENDING_END + slot]);
        let from = at.load(Ordering::SeqCst);
        if from > 0 && !counts {
            let len = (end.load(Ordering::SeqCst) - from) as usize;
            self.put(p, Rba(from), &void_record(len, &Place::new(Rba(from), LogId::default()), Scn(0), 0));
        }
        at.store(0, Ordering::SeqCst);
    }
    fn on_disk(&self) -> Rba {
        Rba(self.words[ON_DISK].load(Ordering::SeqCst))
    }
    fn force(&self, p: &Process, upto: Rba) -> Result<()> {
        assert!(upto.0 <= self.head(), "nobody waits for redo that is not there");
        let refused = &self.words[REFUSED];
        if refused.compare_exchange(p.number().into(), 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return Err(Ora::new(1013));
        }
        loop {
            self.write_some();
            if self.on_disk() >= upto {
                return Ok(());
            }
            os::clock::sleep(std::time::Duration::from_micros(100));
            p.help_the_dead();
        }
    }
}

/// The blocks of a database as redo makes them.
#[derive(Default, Clone)]
pub struct Blocks {
    pub images: HashMap<Rdba, Image>,
    /// Blocks that must not be read: torn, or too new for the known part of the redo.
    pub torn: Vec<Rdba>,
    /// Skip vectors of a torn block up to the one that makes it whole, as recovery does; otherwise a torn block is an
    /// error.
    pub passes_torn: bool,
    /// The position up to which the redo has been applied.
    pub at: u64,
    pub records: u64,
    pub void: u64,
    pub whole: u64,
}

impl Blocks {
    pub fn new(at: u64) -> Blocks {
        Blocks { at, ..Blocks::default() }
    }

    fn read(&self, at: Rdba, size: usize) -> Image {
        assert!(!self.torn.contains(&at), "block {at} is torn, and its first vector behind the checkpoint is no image");
        self.images.get(&at).cloned().unwrap_or_else(|| Image::new(size))
    }

    /// Applies the stream up to `upto`, as recovery does.
    pub fn apply(&mut self, table: &ApplyTable, stream: &[u8], upto: u64, size: usize) {
        while self.at < upto {
            let at = self.at;
            let record = RecordReader::new(&stream[at as usize..upto as usize], Rba(at), LogId::default());
            let record = record.expect("a sound record");
            let end = at + record.len as u64;
            let mut touched: HashMap<Rdba, Option<Image>> = HashMap::new();
            for cv in record.vectors() {
                let image = touched.entry(cv.rdba).or_insert_with(|| {
                    if buffer_cache::is_whole(&cv) {
                        self.whole += 1;
                        return Some(Image::new(size));
                    }
                    if self.passes_torn && self.torn.contains(&cv.rdba) {
                        return None;
                    }
                    let image = self.read(cv.rdba, size);
                    (image.view().rba() < end).then_some(image)
                });
                if let Some(image) = image {
                    table.apply(image.bytes_mut(), &cv).expect("what was applied once can be applied again");
                }
            }
            for (rdba, image) in touched {
                let Some(mut image) = image else { continue };
                block::stamp(image.bytes_mut(), end);
                self.torn.retain(|t| *t != rdba);
                self.images.insert(rdba, image);
            }
            self.records += 1;
            self.void += u64::from(record.vectors().count() == 0);
            self.at = end;
        }
    }
}

/// Bytes of a block without its checksum, which is computed at a write.
pub fn sum_free(view: &BlockView) -> Vec<u8> {
    let mut bytes = vec![0; view.len()];
    view.copy_block(&mut bytes);
    bytes[20..24].fill(0);
    bytes
}
