//! Rows for the readers of a WITH query: in memory while they fit into the work area, then all in temporary space.

use crate::ctx::ExecCtx;
use crate::machine::{CteRows, Machine, Saved, heap_bytes};
use crate::spill::{TempFile, rows as records};
use crate::work_area::{Way, bytes_written};
use types::Result;

#[derive(Default)]
pub struct KeptRows {
    rows: Vec<Saved>,
    /// Bytes charged for `rows`.
    used: usize,
    file: Option<TempFile>,
    record: Vec<u8>,
    /// Bytes of all rows, and bytes written.
    all: u64,
    written: u64,
    count: u64,
}

impl KeptRows {
    /// Adds a row.
    ///
    /// # Errors
    /// ORA-04030, and those of temporary space.
    pub fn push(&mut self, row: Saved, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let bytes = row.iter().map(heap_bytes).sum::<usize>() + row.len() * 48;
        self.all += bytes as u64;
        self.count += 1;
        if self.file.is_none() && self.used + bytes > cx.session.options.spill_bytes {
            self.file = Some(TempFile::new(&m.temporary, cx));
            for row in std::mem::take(&mut self.rows) {
                self.write(&row, cx)?;
            }
            m.release(std::mem::take(&mut self.used));
        }
        if self.file.is_some() {
            return self.write(&row, cx);
        }
        m.charge(bytes, cx)?;
        self.used += bytes;
        self.rows.push(row);
        Ok(())
    }

    fn write(&mut self, row: &Saved, cx: &ExecCtx<'_>) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.record.clear();
        records::encode(row.iter(), &mut self.record);
        self.written += self.record.len() as u64 + 4;
        file.push(&self.record, cx)
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Bytes charged for the rows.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Ends the adding of rows and notes the work area.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn finish(self, cx: &mut ExecCtx<'_>) -> Result<CteRows> {
        let passes = u32::from(self.file.is_some());
        cx.shared.areas.note(cx, self.all, passes, || {
            (Way::Write, if passes == 0 { bytes_written(&self.rows, |_| 0, |row| row) } else { self.written })
        });
        self.close(cx)
    }

    /// Ends the adding of rows.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn close(self, cx: &ExecCtx<'_>) -> Result<CteRows> {
        Ok(match self.file {
            Some(mut file) => {
                file.finish(cx)?;
                CteRows::Disk(file)
            }
            None => CteRows::Memory(self.rows),
        })
    }
}
