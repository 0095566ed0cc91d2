//! WITH queries whose rows are kept.

use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::{CteRows, Machine, Saved, WithQuery, heap_bytes};
use crate::source::RowSource;
use crate::spill::{TempFile, rows as records};
use crate::work_area::{Way, bytes_written};
use types::Result;

/// A WITH query and its row source.
pub struct With<S> {
    op: S,
    out: Vec<Code>,
}

impl<S> With<S> {
    pub fn new(op: S, out: Vec<Code>) -> With<S> {
        With { op, out }
    }
}

impl<S: RowSource> WithQuery for With<S> {
    fn read(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<CteRows> {
        let mut rows: Vec<Saved> = Vec::new();
        let (mut used, mut file, mut record) = (0, None::<TempFile>, Vec::new());
        let (mut all, mut written) = (0, 0);
        self.op.open(m, cx)?;
        while self.op.next(m, cx)? {
            let mut row = Vec::with_capacity(self.out.len());
            for code in &self.out {
                let r = code.eval(m, cx)?;
                row.push(m.value(r).clone());
            }
            let bytes = row.iter().map(heap_bytes).sum::<usize>() + row.len() * 48;
            all += bytes;
            if file.is_none() && used + bytes > cx.session.options.spill_bytes {
                let mut new = TempFile::new(&m.temporary, cx);
                for row in rows.drain(..) {
                    record.clear();
                    records::encode(row.iter(), &mut record);
                    new.push(&record, cx)?;
                    written += record.len() as u64 + 4;
                }
                m.release(used);
                file = Some(new);
            }
            if let Some(file) = &mut file {
                record.clear();
                records::encode(row.iter(), &mut record);
                file.push(&record, cx)?;
                written += record.len() as u64 + 4;
                continue;
            }
            m.charge(bytes, cx)?;
            used += bytes;
            rows.push(row.into_boxed_slice());
        }
        let passes = u32::from(file.is_some());
        cx.shared.areas.note(cx, all as u64, passes, || {
            (Way::Write, if passes == 0 { bytes_written(&rows, |_| 0, |row| row) } else { written })
        });
        Ok(match file {
            Some(mut file) => {
                file.finish(cx)?;
                CteRows::Disk(file)
            }
            None => CteRows::Memory(rows),
        })
    }
}
