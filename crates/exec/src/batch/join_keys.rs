//! Join keys in a batch.

use super::column::{Column, Data, trim};
use super::node::Batch;
use crate::code::Code;
use crate::join::row_key::RowKey;
use plan::Reg;
use types::{Result, Value};

/// Join keys in a batch: their columns, and which of them are compared without trailing blanks.
#[derive(Clone)]
pub struct KeyColumns {
    pub slots: Vec<usize>,
    padded: Vec<bool>,
}

/// Buffers of [`KeyColumns::key`].
#[derive(Default)]
pub struct KeyScratch {
    pub key: RowKey,
    values: Vec<Value>,
    words: Vec<i64>,
}

impl KeyColumns {
    /// The keys; `None` unless each is a column.
    pub fn new(keys: &[(Code, bool)], regs: &[Reg]) -> Option<KeyColumns> {
        let slot = |code: &Code| match code {
            Code::Reg(r) => regs.iter().position(|reg| reg == r),
            _ => None,
        };
        let slots = keys.iter().map(|(code, _)| slot(code)).collect::<Option<Vec<_>>>()?;
        Some(KeyColumns { slots, padded: keys.iter().map(|(_, padded)| *padded).collect() })
    }

    pub fn slots(&self) -> &[usize] {
        &self.slots
    }

    /// The keys as registers, and whether each is padded.
    pub fn codes(&self, regs: &[Reg]) -> impl Iterator<Item = (Code, bool)> {
        self.slots.iter().zip(&self.padded).map(|(slot, padded)| (Code::Reg(regs[*slot]), *padded))
    }

    pub fn only(&self, which: &[usize]) -> KeyColumns {
        let pick = |n: &usize| (self.slots[*n], self.padded[*n]);
        let (slots, padded) = which.iter().map(pick).unzip();
        KeyColumns { slots, padded }
    }

    /// The key of a row in the form that filters use; false if a part is NULL.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    #[inline]
    pub fn key(&self, columns: &[Column], row: usize, arena: &[u8], scratch: &mut KeyScratch) -> Result<bool> {
        scratch.words.clear();
        for slot in &self.slots {
            let column = &columns[*slot];
            if column.is_null(row) {
                return Ok(false);
            }
            if let Data::Fixed(v, 0) = &column.data {
                scratch.words.push(v[row]);
            }
        }
        if scratch.words.len() == self.slots.len() {
            scratch.key.set_words(scratch.words.iter().copied());
            return Ok(true);
        }
        scratch.values.resize(self.slots.len(), Value::Null);
        for (slot, value) in self.slots.iter().zip(&mut scratch.values) {
            columns[*slot].put(row, arena, value)?;
        }
        scratch.key.set_values(scratch.values.iter().zip(self.padded.iter().copied()));
        Ok(true)
    }
}

impl KeyColumns {
    pub fn trimmed(&self, batch: &Batch) -> Vec<Key> {
        let key = |(slot, padded): (&usize, &bool)| {
            let column = &batch.columns[*slot];
            match (&column.data, padded) {
                (Data::Text(spans), true) => {
                    let mut spans = spans.clone();
                    for span in &mut spans {
                        span.len = trim(span.of(&batch.arena)).len() as u32;
                    }
                    Key::Trimmed(Column { data: Data::Text(spans), nulls: column.nulls.clone() })
                }
                (Data::Values(values), true) => {
                    // A text of blanks only becomes an empty text, not NULL.
                    let trim = |v: &Value| match v {
                        Value::Text(s) => Value::Text(s.trim_end_matches(' ').to_string()),
                        v => v.clone(),
                    };
                    Key::Trimmed(Column::new(Data::Values(values.iter().map(trim).collect())))
                }
                _ => Key::Slot(*slot),
            }
        };
        self.slots.iter().zip(&self.padded).map(key).collect()
    }
}

/// A key column, or a copy without trailing blanks.
pub enum Key {
    Slot(usize),
    Trimmed(Column),
}

impl Key {
    pub fn column<'c>(&'c self, batch: &'c Batch) -> &'c Column {
        match self {
            Key::Slot(slot) => &batch.columns[*slot],
            Key::Trimmed(column) => column,
        }
    }
}
