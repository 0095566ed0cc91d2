//! Temporary space for work areas that outgrow their memory (E17).
//!
//! [`TempFile`] is a stream of records in temporary extents; [`rows`] makes records of rows; [`sorter`] is the external
//! merge sort; [`lookup`] finds sorted records by key; [`partition`] divides rows by a hash of their key, so that each
//! partition fits into memory.

pub mod lookup;
pub mod partition;
pub mod pool;
pub mod rows;
pub mod sorter;
pub mod store;
pub mod unique;

use crate::ctx::ExecCtx;

use pool::Pool;
use space::TempSpace;
use types::{Ora, Rdba, Result};

/// Blocks of a chunk, the unit of reads and writes.
const CHUNK_BLOCKS: usize = 8;
/// Bytes of a chunk that hold its checksum.
const SUM_BYTES: usize = 8;

/// Records on disk, written once and read from the beginning any number of times. Dropping the file frees its extents.
pub struct TempFile {
    temp: &'static TempSpace,
    tablespace: u32,
    pool: Pool,
    round: u64,
    /// Where the chunks lie, in order.
    chunks: Vec<Rdba>,
    /// The chunk being filled: no longer than a chunk without its checksum.
    pending: Vec<u8>,
    records: u64,
}

/// A place in a [`TempFile`].
#[derive(Default)]
pub struct Reader {
    chunk: Vec<u8>,
    /// Number of the chunk in `chunk` plus one, and the offset of the next byte in it.
    loaded: usize,
    at: usize,
    given: u64,
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
    chunk: usize,
    at: usize,
    /// Records before it.
    before: u64,
}

impl TempFile {
    pub fn new(pool: &Pool, cx: &ExecCtx<'_>) -> TempFile {
        TempFile {
            temp: cx.shared.txns.space().temp(),
            tablespace: cx.session.options.temporary_tablespace,
            pool: pool.clone(),
            round: pool.round(),
            chunks: Vec::new(),
            pending: Vec::new(),
            records: 0,
        }
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn chunk_bytes(&self) -> usize {
        CHUNK_BLOCKS * self.temp.block_size()
    }

    fn usable(&self) -> usize {
        self.chunk_bytes() - SUM_BYTES
    }

    /// Appends a record.
    ///
    /// # Errors
    /// ORA-01652 without room, ORA-01114; ORA-01013 and the like when the session is to stop.
    pub fn push(&mut self, record: &[u8], cx: &ExecCtx<'_>) -> Result<()> {
        let len = u32::try_from(record.len()).map_err(|_| Ora::internal("a row of more than 4 GB"))?;
        self.append(&len.to_le_bytes(), cx)?;
        self.append(record, cx)?;
        self.records += 1;
        Ok(())
    }

    fn append(&mut self, mut bytes: &[u8], cx: &ExecCtx<'_>) -> Result<()> {
        while !bytes.is_empty() {
            let room = self.usable() - self.pending.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.pending.extend_from_slice(now);
            if self.pending.len() == self.usable() {
                self.flush(cx)?;
            }
            bytes = later;
        }
        Ok(())
    }

    /// Ends the file: writes the last chunk.
    ///
    /// # Errors
    /// As [`TempFile::push`].
    pub fn finish(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.pending.resize(self.usable(), 0);
        self.flush(cx)?;
        self.pending = Vec::new();
        Ok(())
    }

    fn flush(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        cx.p.check_cancel()?;
        let at = self.pool.take(self.temp, self.tablespace, cx.p)?;
        let sum = checksum(&self.pending, self.chunks.len());
        self.chunks.push(at);
        self.pending.extend_from_slice(&sum.to_le_bytes());
        cx.shared.areas.note_extra(cx.p, self.pending.len());
        let written = self.temp.write(cx.p, at, &self.pending);
        self.pending.clear();
        written
    }

    /// Start of the next record to be pushed.
    pub fn start(&self) -> Start {
        Start { chunk: self.chunks.len(), at: self.pending.len(), before: self.records }
    }

    /// Start of the next record to be read.
    pub fn place(&self, reader: &Reader) -> Start {
        Start { chunk: reader.loaded.saturating_sub(1), at: reader.at, before: reader.given }
    }

    /// Moves the reader to a record. A chunk that the reader already has is not read again.
    ///
    /// # Errors
    /// As [`TempFile::next`].
    pub fn seek(&self, reader: &mut Reader, start: Start, cx: &ExecCtx<'_>) -> Result<()> {
        if reader.loaded != start.chunk + 1 {
            reader.loaded = start.chunk;
            self.load(reader, cx)?;
        }
        (reader.at, reader.given) = (start.at, start.before);
        Ok(())
    }

    /// Reads the next record into `record`. False at the end.
    ///
    /// # Errors
    /// ORA-01115; ORA-01578 for a chunk that differs from what was written.
    pub fn next(&self, reader: &mut Reader, record: &mut Vec<u8>, cx: &ExecCtx<'_>) -> Result<bool> {
        if reader.given == self.records {
            return Ok(false);
        }
        let mut len = [0; 4];
        self.fill(reader, &mut len, cx)?;
        record.clear();
        record.resize(u32::from_le_bytes(len) as usize, 0);
        self.fill(reader, record, cx)?;
        reader.given += 1;
        Ok(true)
    }

    /// The position after the last record.
    pub fn end(&self) -> Reader {
        Reader { given: self.records, ..Reader::default() }
    }

    /// Whether there are records after the reader's position.
    pub fn has_more(&self, reader: &Reader) -> bool {
        reader.given < self.records
    }

    fn fill(&self, reader: &mut Reader, mut out: &mut [u8], cx: &ExecCtx<'_>) -> Result<()> {
        while !out.is_empty() {
            if reader.loaded == 0 || reader.at == self.usable() {
                self.load(reader, cx)?;
            }
            let n = out.len().min(self.usable() - reader.at);
            let (now, later) = out.split_at_mut(n);
            now.copy_from_slice(&reader.chunk[reader.at..reader.at + n]);
            reader.at += n;
            out = later;
        }
        Ok(())
    }

    fn load(&self, reader: &mut Reader, cx: &ExecCtx<'_>) -> Result<()> {
        let n = reader.loaded;
        self.read(n, &mut reader.chunk, cx)?;
        (reader.loaded, reader.at) = (n + 1, 0);
        Ok(())
    }

    /// Reads a chunk with its checksum.
    fn read(&self, n: usize, chunk: &mut Vec<u8>, cx: &ExecCtx<'_>) -> Result<()> {
        cx.p.check_cancel()?;
        let at = *self.chunks.get(n).ok_or_else(|| Ora::internal("temporary data ends too early"))?;
        chunk.resize(self.chunk_bytes(), 0);
        self.temp.read(cx.p, at, chunk)?;
        cx.shared.areas.note_extra(cx.p, chunk.len());
        let (data, sum) = chunk.split_at(self.usable());
        if checksum(data, n).to_le_bytes() != sum {
            return Err(self.temp.damaged(at));
        }
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.chunks.drain(..).for_each(|chunk| self.pool.give_back(self.temp, self.round, chunk));
    }
}

/// CRC-32C of the number of the chunk and its data: it detects changed bytes and misplaced chunks.
fn checksum(data: &[u8], chunk: usize) -> u64 {
    crc32c::crc32c_append(crc32c::crc32c(&(chunk as u64).to_le_bytes()), data).into()
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn checksums_differ_for_another_place_and_for_a_changed_bit() {
        let mut data = vec![7u8; 64];
        let sum = checksum(&data, 3);
        assert_ne!(sum, checksum(&data, 4));
        data[13] ^= 1;
        assert_ne!(sum, checksum(&data, 3));
    }
}
