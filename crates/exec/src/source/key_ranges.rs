//! Values that index keys are compared with, and scans of several ranges: IN lists, and skip scans over leading columns
//! without a condition.

use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::index::{Index, push_value};
use crate::machine::Machine;
use btree::RangeScan;
use plan::{Key, KeyPart, Reg};
use std::cmp::Ordering;
use std::ops::Bound;
use types::{DataType, LenUnit, Result, Value, codec};

/// A value that a key column is compared with.
#[derive(Debug)]
pub struct KeyCode {
    code: Code,
    pad: Option<Pad>,
}

/// The stored form of values of a CHAR column, padded with blanks.
#[derive(Debug)]
struct Pad {
    len: usize,
    unit: LenUnit,
    /// Register for a padded value.
    reg: Reg,
}

impl KeyCode {
    pub fn build(key: &Key, column: DataType, b: &mut Builder<'_>) -> KeyCode {
        let of = |len: u32, unit: LenUnit, b: &mut Builder<'_>| Pad { len: len as usize, unit, reg: b.reg() };
        let pad = match column {
            DataType::Char { len, unit } if key.padded => Some(of(len, unit, b)),
            DataType::Nchar { len } if key.padded => Some(of(len, LenUnit::Char, b)),
            _ => None,
        };
        KeyCode { code: b.code(&key.value), pad }
    }

    /// Returns the register of the value in the stored form of the column. A text with more than blanks beyond the
    /// column's length is cut; the ordering tells how the text compares with the cut value (E29).
    #[inline]
    pub fn eval(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<(Reg, Ordering)> {
        let r = self.code.eval(m, cx)?;
        match &self.pad {
            None => Ok((r, Ordering::Equal)),
            Some(pad) => Ok((pad.reg, pad.fill(r, m))),
        }
    }

    /// As [`KeyCode::eval`], for an equality: `None` if no value of the column can equal it. NULL is not checked.
    #[inline]
    pub fn exact(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Reg>> {
        let (r, cut) = self.eval(m, cx)?;
        Ok((cut == Ordering::Equal).then_some(r))
    }
}

impl Pad {
    fn fill(&self, from: Reg, m: &mut Machine) -> Ordering {
        let Ok([from, to]) = m.regs.get_disjoint_mut([from as usize, self.reg as usize]) else {
            return Ordering::Equal;
        };
        let Value::Text(text) = &*from else {
            to.set(from);
            return Ordering::Equal;
        };
        let padded = to.text_buffer();
        let cut = fill(text, self.len, self.unit, padded);
        to.normalize();
        cut
    }
}

/// Writes a text in the stored form of a CHAR column. Returns how the text compares with the result, ignoring trailing
/// blanks.
fn fill(text: &str, len: usize, unit: LenUnit, out: &mut String) -> Ordering {
    let text = text.trim_end_matches(' ');
    let size = |s: &str| if unit == LenUnit::Char { s.chars().count() } else { s.len() };
    let end = match unit {
        LenUnit::Char => text.char_indices().nth(len).map_or(text.len(), |(at, _)| at),
        LenUnit::Byte => (0..=len.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0),
    };
    let (head, rest) = text.split_at(end);
    out.push_str(head);
    out.extend(std::iter::repeat_n(' ', len.saturating_sub(size(head))));
    // The rest is compared with blanks, and has a character that is not blank.
    match rest.bytes().find(|b| *b != b' ') {
        None => Ordering::Equal,
        Some(b) => b.cmp(&b' '),
    }
}

/// The values that the columns after the skipped ones are equal to.
pub enum Part {
    Is(KeyCode),
    In(Vec<KeyCode>),
}

impl Part {
    pub fn build(part: &KeyPart, column: DataType, b: &mut Builder<'_>) -> Part {
        match part {
            KeyPart::Is(key) => Part::Is(KeyCode::build(key, column, b)),
            KeyPart::In(keys) => Part::In(keys.iter().map(|key| KeyCode::build(key, column, b)).collect()),
        }
    }
}

/// Appends a value as a part of a key. False when it is NULL.
pub fn push_part(index: Option<&Index>, r: Reg, descending: bool, out: &mut Vec<u8>, m: &mut Machine) -> bool {
    match index {
        Some(index) => index.push_value(m, r, descending, out),
        None => push_value(m, r, descending, out),
    }
}

/// The ranges of a scan with several ranges.
#[derive(Default)]
pub struct Ranges {
    /// Number of skipped leading columns.
    skip: usize,
    /// The encoded values of each column of the prefix, in scan order.
    parts: Vec<Vec<Vec<u8>>>,
    /// Position of the next value of each column.
    at: Vec<usize>,
    /// The present values of the skipped columns.
    lead: Vec<u8>,
    /// Finds the next values of the skipped columns.
    leads: RangeScan,
    has_lead: bool,
    begun: bool,
    ended: bool,
}

impl Ranges {
    pub fn new(skip: usize) -> Ranges {
        Ranges { skip, ..Ranges::default() }
    }

    /// Computes the values. An empty list leaves no range.
    pub fn start(
        &mut self,
        index: Option<&Index>,
        columns: &[(usize, bool)],
        prefix: &[Part],
        backwards: bool,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        self.parts.clear();
        for (part, (_, descending)) in prefix.iter().zip(&columns[self.skip..]) {
            let codes = match part {
                Part::Is(code) => std::slice::from_ref(code),
                Part::In(codes) => &codes[..],
            };
            let mut all = Vec::with_capacity(codes.len());
            for code in codes {
                let Some(r) = code.exact(m, cx)? else { continue };
                let mut bytes = Vec::new();
                if push_part(index, r, *descending, &mut bytes, m) {
                    all.push(bytes);
                }
            }
            all.sort_unstable();
            all.dedup();
            if backwards {
                all.reverse();
            }
            self.parts.push(all);
        }
        self.at.clear();
        self.at.resize(self.parts.len(), 0);
        self.ended = self.parts.iter().any(Vec::is_empty);
        (self.has_lead, self.lead) = (false, Vec::new());
        self.begun = false;
        Ok(())
    }

    /// Whether a range has been returned.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Appends the key prefix of the next range. False at the end.
    pub fn next(
        &mut self,
        tree: &btree::Index,
        columns: &[(usize, bool)],
        backwards: bool,
        out: &mut Vec<u8>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.skip > 0 && !self.has_lead && !self.next_lead(tree, columns, backwards, cx)? {
            self.ended = true;
            return Ok(false);
        }
        self.begun = true;
        out.extend_from_slice(&self.lead);
        for (parts, at) in self.parts.iter().zip(&self.at) {
            out.extend_from_slice(&parts[*at]);
        }
        // The last column changes fastest.
        let moves = (0..self.parts.len()).rev().find(|n| self.at[*n] + 1 < self.parts[*n].len());
        match moves {
            Some(n) => {
                self.at[n] += 1;
                self.at[n + 1..].fill(0);
            }
            None => {
                self.at.fill(0);
                self.has_lead = false;
                self.ended = self.skip == 0;
            }
        }
        Ok(true)
    }

    fn next_lead(
        &mut self,
        tree: &btree::Index,
        columns: &[(usize, bool)],
        backwards: bool,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        // All keys with the last prefix have been read.
        let from = if self.lead.is_empty() { Bound::Unbounded } else { Bound::Excluded(&self.lead[..]) };
        match backwards {
            false => self.leads.start(tree, from, Bound::Unbounded, false),
            true => self.leads.start(tree, Bound::Unbounded, from, true),
        }
        let Some(entry) = self.leads.next_entry(cx.shared.btree, cx.p)? else { return Ok(false) };
        let (mut rest, mut stored) = (entry.key, Vec::new());
        for (_, descending) in &columns[..self.skip] {
            (rest, _) = codec::pop_key_part(rest, *descending, &mut stored)
                .ok_or_else(|| types::Ora::internal("row bytes are damaged"))?;
        }
        self.lead.clear();
        self.lead.extend_from_slice(&entry.key[..entry.key.len() - rest.len()]);
        self.has_lead = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_stored_as_its_column_pads_it() {
        let filled = |text: &str, len, unit| {
            let mut out = String::new();
            let order = fill(text, len, unit, &mut out);
            (out, order)
        };
        let text = |s: &str, order| (s.to_owned(), order);
        assert_eq!(filled("ab", 4, LenUnit::Byte), text("ab  ", Ordering::Equal));
        assert_eq!(filled("abcd   ", 4, LenUnit::Byte), text("abcd", Ordering::Equal));
        assert_eq!(filled("abcde", 4, LenUnit::Byte), text("abcd", Ordering::Greater));
        assert_eq!(filled("abc \tx", 4, LenUnit::Byte), text("abc ", Ordering::Less));
        assert_eq!(filled("é", 3, LenUnit::Byte), text("é ", Ordering::Equal));
        assert_eq!(filled("éa", 3, LenUnit::Char), text("éa ", Ordering::Equal));
        assert_eq!(filled("aé", 2, LenUnit::Byte), text("a ", Ordering::Greater));
    }
}
