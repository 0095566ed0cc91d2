//! Rows that are kept as they come and read in that order, any number of times: in memory as long as they fit into the
//! work area, then all of them in temporary space.

use super::{Reader, TempFile, rows};
use crate::ctx::ExecCtx;
use crate::machine::{Machine, Saved};
use crate::work_area::{Way, bytes_written};
use plan::Reg;
use types::Result;

/// The values of some registers, row by row.
#[derive(Default)]
pub struct Store {
    rows: Vec<Saved>,
    /// Bytes that `rows` is charged for.
    used: usize,
    file: Option<TempFile>,
    /// Bytes of all rows, and those that are written.
    all: u64,
    written: u64,
    /// The next row to be read, in memory and on disk.
    at: usize,
    reader: Reader,
    record: Vec<u8>,
}

impl Store {
    /// Forgets all rows.
    pub fn clear(&mut self, m: &mut Machine) {
        m.release(self.used);
        *self = Store { record: std::mem::take(&mut self.record), ..Store::default() };
    }

    /// Adds the row that the registers have.
    ///
    /// # Errors
    /// ORA-04030, and those of temporary space.
    pub fn push(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let before = m.used();
        if self.file.is_none() {
            let row = m.save(regs, cx)?;
            let bytes = m.used() - before;
            self.all += bytes as u64;
            self.used += bytes;
            self.rows.push(row);
            if self.used <= cx.session.options.spill_bytes {
                return Ok(());
            }
            let mut file = TempFile::new(&m.temporary, cx);
            for row in self.rows.drain(..) {
                self.written += write(&row, &mut self.record, &mut file, cx)?;
            }
            self.rows = Vec::new();
            m.release(self.used);
            self.used = 0;
            self.file = Some(file);
            return Ok(());
        }
        let values = regs.iter().map(|&r| &m.regs[r as usize]);
        self.record.clear();
        rows::encode(values, &mut self.record);
        self.all += self.record.len() as u64;
        self.written += self.record.len() as u64 + 4;
        if let Some(file) = &mut self.file {
            file.push(&self.record, cx)?;
        }
        Ok(())
    }

    /// All rows are there.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn finish(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.finish(cx)?;
        }
        let passes = u32::from(self.file.is_some());
        cx.shared.areas.note(cx, self.all, passes, || {
            (Way::Write, if passes == 0 { bytes_written(&self.rows, |_| 0, |row| row) } else { self.written })
        });
        self.rewind();
        Ok(())
    }

    /// The next row to be read is the first.
    pub fn rewind(&mut self) {
        self.at = 0;
        self.reader = Reader::default();
    }

    /// Puts the next row into the registers. False behind the last.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match &self.file {
            Some(file) => {
                if !file.next(&mut self.reader, &mut self.record, cx)? {
                    return Ok(false);
                }
                m.decode(regs, &mut &self.record[..])?;
            }
            None => {
                let Some(row) = self.rows.get(self.at) else { return Ok(false) };
                self.at += 1;
                m.restore(regs, row);
            }
        }
        Ok(true)
    }
}

/// Writes a row; returns its bytes on disk.
fn write(row: &Saved, record: &mut Vec<u8>, file: &mut TempFile, cx: &ExecCtx<'_>) -> Result<u64> {
    record.clear();
    rows::encode(row.iter(), record);
    file.push(record, cx)?;
    Ok(record.len() as u64 + 4)
}
