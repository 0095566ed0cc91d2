//! A stream of records in temporary extents.

use super::pool::{CHUNK_BLOCKS, Pool};
use space::TempSpace;
use types::Rdba;

/// Bytes of a chunk that hold its checksum.
pub(super) const SUM_BYTES: usize = 8;

/// Records on disk, written once and read from the beginning any number of times. Dropping the file frees its extents.
pub struct TempFile {
    pub(super) temp: &'static TempSpace,
    pub(super) tablespace: u32,
    pub(super) pool: Pool,
    pub(super) round: u64,
    /// Where the chunks lie, in order.
    pub(super) chunks: Vec<Rdba>,
    /// The chunk being filled: no longer than a chunk without its checksum.
    pub(super) pending: Vec<u8>,
    pub(super) records: u64,
}

/// A place in a [`TempFile`].
#[derive(Default)]
pub struct Reader {
    pub(super) chunk: Vec<u8>,
    /// Number of the chunk in `chunk` plus one, and the offset of the next byte in it.
    pub(super) loaded: usize,
    pub(super) at: usize,
    pub(super) given: u64,
}

impl Reader {
    /// Returns to the first record. If the reader already has the first chunk, it is not read again: a search for a
    /// match often ends in it.
    pub fn rewind(&mut self) {
        let is_first = self.loaded == 1;
        (self.loaded, self.at, self.given) = (usize::from(is_first), 0, 0);
    }
}

/// Where a record of a [`TempFile`] starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    pub(super) chunk: usize,
    pub(super) at: usize,
    /// Records before it.
    pub(super) before: u64,
}

impl TempFile {
    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn chunk_bytes(&self) -> usize {
        CHUNK_BLOCKS * self.temp.block_size()
    }

    pub(super) fn usable(&self) -> usize {
        self.chunk_bytes() - SUM_BYTES
    }

    /// Start of the next record to be pushed.
    pub fn start(&self) -> Start {
        Start { chunk: self.chunks.len(), at: self.pending.len(), before: self.records }
    }

    /// Start of the next record to be read.
    pub fn place(&self, reader: &Reader) -> Start {
        Start { chunk: reader.loaded.saturating_sub(1), at: reader.at, before: reader.given }
    }

    /// The position after the last record.
    pub fn end(&self) -> Reader {
        Reader { given: self.records, ..Reader::default() }
    }

    /// Whether there are records after the reader's position.
    pub fn has_more(&self, reader: &Reader) -> bool {
        reader.given < self.records
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.chunks.drain(..).for_each(|chunk| self.pool.give_back(self.temp, self.round, chunk));
    }
}
