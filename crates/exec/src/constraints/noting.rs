//! Noting violations of deferred constraints.

use super::notes::Notes;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::spill::{Reader, TempFile};
use crate::table::At;
use plan::Watch;
use types::row::RowWriter;
use types::{Result, Value};

/// Bytes of notes that are held in memory.
const NOTES_BYTES_MAX: usize = 1 << 20;
/// Approximate memory of a note besides its own bytes.
const NOTE_OVERHEAD: usize = 64;
/// Length of a note's head: number of the constraint, its table, and the sort of the note.
pub(super) const HEAD: usize = 9;

/// The side of a foreign key on which a row was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A row names a missing parent.
    Child,
    /// A referenced key is gone.
    Parent,
}

/// The sorts of notes.
pub(super) const KEY: u8 = 1;
pub(super) const CHILD: u8 = 2;
pub(super) const PARENT: u8 = 3;
pub(super) const ROW: u8 = 4;

/// Whether a violation of the constraint is noted instead of raised.
pub fn is_deferred(watch: &Watch, cx: &ExecCtx<'_>) -> bool {
    let c = &cx.session.constraints;
    let set = c.transaction.named.get(&watch.constraint).copied().or(c.transaction.all).or(c.session);
    watch.deferrable && set.unwrap_or(watch.initially_deferred)
}

/// Notes a key that has two entries in the constraint's index.
pub fn note_key(watch: &Watch, key: &[u8], cx: &mut ExecCtx<'_>) -> Result<()> {
    note(watch, KEY, cx, |out| out.extend_from_slice(key))
}

/// Notes values of a foreign key without a parent.
pub fn note_values(watch: &Watch, side: Side, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<()> {
    let kind = if side == Side::Child { CHILD } else { PARENT };
    note(watch, kind, cx, |out| {
        let mut w = RowWriter::new(out, values.len());
        values.iter().for_each(|v| w.value(v));
    })
}

/// Notes a row that fails a condition.
pub fn note_row(watch: &Watch, at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
    let mut m = Machine::new(vec![Value::Null], 0);
    at.put(&mut m, 0);
    let text = m.value(0).to_text(&cx.session.nls)?.map_or_else(String::new, |t| t.into_owned());
    note(watch, ROW, cx, |out| out.extend_from_slice(text.as_bytes()))
}

fn note(watch: &Watch, kind: u8, cx: &mut ExecCtx<'_>, fill: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
    let mut record = Vec::with_capacity(HEAD + 32);
    record.extend_from_slice(&watch.constraint.to_be_bytes());
    record.extend_from_slice(&watch.table.0.to_be_bytes());
    record.push(kind);
    fill(&mut record);
    let mut notes = std::mem::take(&mut cx.session.constraints.transaction.notes);
    let done = notes.add(record, cx);
    cx.session.constraints.transaction.notes = notes;
    done
}

impl Notes {
    fn add(&mut self, record: Vec<u8>, cx: &ExecCtx<'_>) -> Result<()> {
        let size = record.len() + NOTE_OVERHEAD;
        if self.set.insert(record) {
            self.bytes += size;
        }
        if self.bytes < NOTES_BYTES_MAX {
            return Ok(());
        }
        let mut file = TempFile::new(&self.pool, cx);
        self.set.iter().try_for_each(|record| file.push(record, cx))?;
        file.finish(cx)?;
        self.files.push(file);
        self.set.clear();
        self.bytes = 0;
        Ok(())
    }

    pub(super) fn each(
        &self,
        cx: &mut ExecCtx<'_>,
        f: &mut dyn FnMut(&[u8], &mut ExecCtx<'_>) -> Result<()>,
    ) -> Result<()> {
        self.set.iter().try_for_each(|record| f(record, cx))?;
        let mut record = Vec::new();
        for file in &self.files {
            let mut reader = Reader::default();
            while file.next(&mut reader, &mut record, cx)? {
                f(&record, cx)?;
            }
        }
        Ok(())
    }
}
