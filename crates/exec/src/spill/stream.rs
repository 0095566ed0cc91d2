//! Writing and reading the records of a [`TempFile`].

use super::file::{Reader, Start, TempFile};
use super::pool::Pool;
use crate::ctx::ExecCtx;
use types::{Ora, Result};

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
    pub(super) fn read(&self, n: usize, chunk: &mut Vec<u8>, cx: &ExecCtx<'_>) -> Result<()> {
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
