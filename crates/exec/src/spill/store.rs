//! Rows kept in order and read in that order any number of times: in memory while they fit into the work area, then all
//! of them in temporary space.

use super::{Reader, TempFile, rows};
use crate::ctx::ExecCtx;
use crate::machine::{Machine, Saved, bytes_of};
use crate::work_area::{Way, bytes_written};
use plan::Reg;
use types::{Result, Value};

/// Rows of the values of some registers.
#[derive(Default)]
pub struct Store {
    rows: Vec<Saved>,
    /// Bytes charged for `rows`.
    used: usize,
    file: Option<TempFile>,
    count: u64,
    /// Bytes of all rows, and bytes written.
    all: u64,
    written: u64,
    /// The next row to read, in memory and on disk.
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

    /// Adds the row in the registers.
    ///
    /// # Errors
    /// ORA-04030, and those of temporary space.
    pub fn push(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let before = m.used();
        if self.file.is_none() {
            let row = m.save(regs, cx)?;
            return self.keep(row, m.used() - before, m, cx);
        }
        let values = regs.iter().map(|&r| &m.regs[r as usize]);
        self.record.clear();
        rows::encode(values, &mut self.record);
        self.write(cx)
    }

    /// Adds a row of values.
    ///
    /// # Errors
    /// As [`Store::push`].
    pub fn push_values(&mut self, row: Saved, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.file.is_none() {
            let bytes = bytes_of(&row);
            m.charge(bytes, cx)?;
            return self.keep(row, bytes, m, cx);
        }
        self.record.clear();
        rows::encode(row.iter(), &mut self.record);
        self.write(cx)
    }

    /// Keeps a charged row in memory, or writes all rows.
    fn keep(&mut self, row: Saved, bytes: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.all += bytes as u64;
        self.used += bytes;
        self.rows.push(row);
        self.count += 1;
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
        Ok(())
    }

    /// Writes the row in `record`.
    fn write(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        self.count += 1;
        self.all += self.record.len() as u64;
        self.written += self.record.len() as u64 + 4;
        match &mut self.file {
            Some(file) => file.push(&self.record, cx),
            None => Ok(()),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Ends the adding of rows.
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

    /// Returns to the first row.
    pub fn rewind(&mut self) {
        self.at = 0;
        self.reader.rewind();
    }

    /// Reads the next row into `row` and reuses its buffers. False at the end.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next_values(&mut self, row: &mut Vec<Value>, cx: &ExecCtx<'_>) -> Result<bool> {
        match &self.file {
            Some(file) => {
                if !file.next(&mut self.reader, &mut self.record, cx)? {
                    return Ok(false);
                }
                let (mut record, mut at) = (&self.record[..], 0);
                while !record.is_empty() {
                    if at == row.len() {
                        row.push(Value::Null);
                    }
                    rows::decode(&mut record, &mut row[at])?;
                    at += 1;
                }
                row.truncate(at);
            }
            None => {
                let Some(saved) = self.rows.get(self.at) else { return Ok(false) };
                self.at += 1;
                row.resize(saved.len(), Value::Null);
                row.iter_mut().zip(saved).for_each(|(to, from)| to.set(from));
            }
        }
        Ok(true)
    }

    /// Puts the next row into the registers. False at the end.
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

/// Writes a row and returns its bytes on disk.
fn write(row: &Saved, record: &mut Vec<u8>, file: &mut TempFile, cx: &ExecCtx<'_>) -> Result<u64> {
    record.clear();
    rows::encode(row.iter(), record);
    file.push(record, cx)?;
    Ok(record.len() as u64 + 4)
}
