//! One statement entry.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use sga::SgaLayout;

use crate::{Delta, Digest, NAME_BYTES_MAX, TEXT_BYTES_MAX};

/// A statement in the SGA. Everything but the figures is written while `serial` is zero, under the latch.
#[repr(C, align(64))]
pub struct Entry {
    /// Changes with every statement that lives here; zero while nobody may read.
    pub(crate) serial: AtomicU64,
    /// Next entry of the hash chain, plus one.
    pub(crate) chain: AtomicU64,
    digest_halves: [AtomicU64; 2],
    /// Bytes of the whole text, bytes kept, schema bytes, command type: 16, 16, 16 and 16 bits.
    lengths: AtomicU64,
    pub(crate) last_active_s: AtomicU64,
    first_load_s: AtomicU64,
    schema: [AtomicU64; NAME_BYTES_MAX / 8],
    pub(crate) figures: Figures,
    text: [AtomicU64; TEXT_BYTES_MAX / 8],
}

/// The figures of a statement; added to with atomic additions, at intervals.
#[repr(C, align(64))]
pub struct Figures {
    executions: AtomicU64,
    parse_calls: AtomicU64,
    fetches: AtomicU64,
    rows_processed: AtomicU64,
    buffer_gets: AtomicU64,
    disk_reads: AtomicU64,
    elapsed_us: AtomicU64,
    cpu_us: AtomicU64,
}

#[allow(unsafe_code)]
mod shared {
    // SAFETY: `repr(C)`, atomics only, valid for every bit pattern.
    unsafe impl super::SgaLayout for super::Entry {}
}

/// A row of `v$sql`.
#[derive(Clone, Debug)]
pub struct SqlRow {
    pub digest: Digest,
    /// The text, its first 4000 bytes.
    pub text: String,
    pub schema: String,
    pub command: u32,
    pub first_load_s: u64,
    pub last_active_s: u64,
    pub figures: Delta,
}

impl Figures {
    pub(crate) fn add(&self, delta: &Delta) {
        for (figure, more) in [
            (&self.executions, delta.executions),
            (&self.parse_calls, delta.parse_calls),
            (&self.fetches, delta.fetches),
            (&self.rows_processed, delta.rows_processed),
            (&self.buffer_gets, delta.buffer_gets),
            (&self.disk_reads, delta.disk_reads),
            (&self.elapsed_us, delta.elapsed_us),
            (&self.cpu_us, delta.cpu_us),
        ] {
            if more > 0 {
                figure.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    fn read(&self) -> Delta {
        Delta {
            executions: self.executions.load(Ordering::Relaxed),
            parse_calls: self.parse_calls.load(Ordering::Relaxed),
            fetches: self.fetches.load(Ordering::Relaxed),
            rows_processed: self.rows_processed.load(Ordering::Relaxed),
            buffer_gets: self.buffer_gets.load(Ordering::Relaxed),
            disk_reads: self.disk_reads.load(Ordering::Relaxed),
            elapsed_us: self.elapsed_us.load(Ordering::Relaxed),
            cpu_us: self.cpu_us.load(Ordering::Relaxed),
        }
    }

    fn clear(&self) {
        for figure in [
            &self.executions,
            &self.parse_calls,
            &self.fetches,
            &self.rows_processed,
            &self.buffer_gets,
            &self.disk_reads,
            &self.elapsed_us,
            &self.cpu_us,
        ] {
            figure.store(0, Ordering::Relaxed);
        }
    }
}

impl Entry {
    pub(crate) fn digest(&self) -> Digest {
        let mut bytes = [0; 16];
        for (half, word) in self.digest_halves.iter().enumerate() {
            bytes[half * 8..half * 8 + 8].copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        Digest(bytes)
    }

    /// Writes a statement into an entry that nobody may read.
    pub(crate) fn fill(&self, digest: Digest, text: &str, schema: &str, command: u32) {
        let (low, high) = digest.halves();
        self.digest_halves[0].store(low, Ordering::Relaxed);
        self.digest_halves[1].store(high, Ordering::Relaxed);
        let kept = store_text(&self.text, text);
        let schema = store_text(&self.schema, schema);
        let whole = text.len().min(0xffff) as u64;
        let lengths = whole | (kept as u64) << 16 | (schema as u64) << 32 | u64::from(command & 0xffff) << 48;
        self.lengths.store(lengths, Ordering::Relaxed);
        let now = os::clock::wall_ns() / 1_000_000_000;
        self.first_load_s.store(now, Ordering::Relaxed);
        self.last_active_s.store(now, Ordering::Relaxed);
        self.figures.clear();
        // Pairs with the Acquire load of the serial number in `row`.
        fence(Ordering::Release);
    }

    /// The entry as a row, unless it is unused or changed under the reader.
    pub(crate) fn row(&self) -> Option<SqlRow> {
        let serial = self.serial.load(Ordering::Acquire);
        if serial == 0 {
            return None;
        }
        let lengths = self.lengths.load(Ordering::Relaxed);
        let row = SqlRow {
            digest: self.digest(),
            text: load_text(&self.text, (lengths >> 16) as u16 as usize),
            schema: load_text(&self.schema, (lengths >> 32) as u16 as usize),
            command: (lengths >> 48) as u32,
            first_load_s: self.first_load_s.load(Ordering::Relaxed),
            last_active_s: self.last_active_s.load(Ordering::Relaxed),
            figures: self.figures.read(),
        };
        fence(Ordering::Acquire);
        (self.serial.load(Ordering::Relaxed) == serial).then_some(row)
    }
}

/// Stores as much of a text as fits, cut at a character; returns the bytes stored.
fn store_text(words: &[AtomicU64], text: &str) -> usize {
    let mut cut = text.len().min(words.len() * 8);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    for (word, part) in words.iter().zip(text.as_bytes()[..cut].chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
    cut
}

fn load_text(words: &[AtomicU64], len: usize) -> String {
    let len = len.min(words.len() * 8);
    let mut bytes: Vec<u8> =
        words[..len.div_ceil(8)].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    bytes.truncate(len);
    String::from_utf8_lossy(&bytes).into_owned()
}
