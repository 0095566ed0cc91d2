//! UNION, UNION ALL, INTERSECT and MINUS.
//!
//! INTERSECT and MINUS keep the keys of the second input in memory, MINUS also those already returned. When the keys do
//! not fit, both inputs are sorted by key in temporary space; what is known of a key is written with those of the
//! second input.

use super::RowSource;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::eval::assign;
use crate::hash::{KeyMap, push_part};
use crate::machine::{Held, Machine};
use crate::spill::rows::{self, put_part, take_part};
use crate::spill::sorter::Sorter;
use crate::spill::unique::Unique;
use crate::work_area::Way;
use plan::{Reg, SetKind};
use types::{Ora, Result};

pub struct Set<S> {
    kind: SetKind,
    inputs: Vec<(S, Vec<Code>)>,
    out: Vec<Reg>,
    /// The input being read, and whether it is open.
    at: usize,
    is_open: bool,
    unique: Unique,
    /// INTERSECT and MINUS: the rows of the second input; true once returned.
    second: Option<KeyMap<bool>>,
    /// Memory of the keys.
    held: Held,
    sorted: Option<Sorted>,
    /// Whether the work area has been counted at the end.
    noted: bool,
}

/// Rows of both inputs in key order; for equal keys those of the second input come first.
struct Sorted {
    sorter: Sorter,
    /// The current key, whether the second input has it, and whether it was returned.
    key: Option<Vec<u8>>,
    in_second: bool,
    given: bool,
    /// Memory that the keys so far would have needed.
    need: u64,
}

/// The origin of a record in temporary space.
const FIRST: u8 = 1;
const SECOND: u8 = 0;

impl<S: RowSource> Set<S> {
    pub fn new(kind: SetKind, inputs: Vec<(S, Vec<Code>)>, out: &[Reg]) -> Set<S> {
        Set {
            kind,
            inputs,
            out: out.to_vec(),
            at: 0,
            is_open: false,
            unique: Unique::default(),
            second: None,
            held: Held::default(),
            sorted: None,
            noted: false,
        }
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, _cx: &mut ExecCtx<'_>) -> Result<()> {
        self.held.release(m);
        self.at = 0;
        self.is_open = false;
        self.unique.clear(m);
        self.second = None;
        self.sorted = None;
        self.noted = false;
        Ok(())
    }

    /// Reads the next row of input `i` into the output registers.
    fn pull(&mut self, i: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (op, codes) = &mut self.inputs[i];
        if !op.next(m, cx)? {
            return Ok(false);
        }
        for (code, &dst) in codes.iter().zip(&self.out) {
            assign(code, dst, m, cx)?;
        }
        Ok(true)
    }

    fn key(&self, m: &Machine) -> Vec<u8> {
        let mut key = Vec::new();
        for &r in &self.out {
            push_part(m.value(r), &mut key);
        }
        key
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match self.kind {
            SetKind::UnionAll | SetKind::Union => self.next_union(m, cx),
            SetKind::Intersect | SetKind::Minus => self.next_filtered(m, cx),
            SetKind::Recursive => Err(Ora::internal("a recursive WITH query as a set operation")),
        }
    }

    fn next_union(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.at < self.inputs.len() {
            if !self.is_open {
                self.inputs[self.at].0.open(m, cx)?;
                self.is_open = true;
            }
            if !self.pull(self.at, m, cx)? {
                self.at += 1;
                self.is_open = false;
                continue;
            }
            if self.kind == SetKind::UnionAll {
                return Ok(true);
            }
            if self.unique.offer(&self.out, m, cx)? {
                return Ok(true);
            }
        }
        if self.kind == SetKind::Union { self.unique.next(&self.out, m, cx) } else { Ok(false) }
    }

    fn next_filtered(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.second.is_none() && self.sorted.is_none() {
            self.read_second(m, cx)?;
        }
        if self.sorted.is_some() {
            return self.next_sorted(m, cx);
        }
        while self.pull(0, m, cx)? {
            let key = self.key(m);
            let rows = self.second.as_mut().expect("read above");
            match (self.kind, rows.get_mut(&key)) {
                (SetKind::Intersect, Some(given)) if !*given => {
                    *given = true;
                    return Ok(true);
                }
                (SetKind::Minus, None) => {
                    if self.grows(&key, m, cx)? {
                        return Ok(true);
                    }
                    // The row in the registers is returned again in key order.
                    self.go_to_disk(Some(key), false, m, cx)?;
                    return self.next_sorted(m, cx);
                }
                _ => {}
            }
        }
        if !std::mem::replace(&mut self.noted, true) {
            let keys = self.second.as_ref().map_or(0, KeyMap::len) as u64;
            let written = (self.held.bytes() as u64).saturating_sub(keys * 48);
            cx.shared.areas.note(cx, self.held.bytes() as u64, 0, || Way::merge(keys, written));
        }
        Ok(false)
    }

    /// Keeps a key in memory; false if it does not fit.
    fn grows(&mut self, key: &[u8], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let more = key.len() + 48;
        if self.held.bytes() + more > cx.session.options.spill_bytes {
            return Ok(false);
        }
        self.held.charge(more, m, cx)?;
        self.second.get_or_insert_default().insert(key.to_vec(), true);
        Ok(true)
    }

    /// Reads the second input, and opens the first.
    fn read_second(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.second = Some(KeyMap::default());
        self.inputs[1].0.open(m, cx)?;
        while self.pull(1, m, cx)? {
            let key = self.key(m);
            if self.second.as_ref().is_some_and(|rows| rows.contains_key(&key)) {
                continue;
            }
            if !self.grows(&key, m, cx)? {
                return self.go_to_disk(Some(key), true, m, cx);
            }
        }
        if let Some(rows) = &mut self.second {
            rows.values_mut().for_each(|given| *given = false);
        }
        self.inputs[0].0.open(m, cx)
    }

    /// Continues in temporary space with the keys in memory, with `key`, which is the key of the row in the registers
    /// and did not fit, and with the rest of the inputs; of the second input only if `reading_second`.
    fn go_to_disk(
        &mut self,
        key: Option<Vec<u8>>,
        reading_second: bool,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let limit = cx.session.options.spill_bytes;
        let (mut sorter, mut record) = (Sorter::new(&m.temporary), Vec::new());
        let mut second = |key: &[u8], cx: &ExecCtx<'_>, sorter: &mut Sorter| {
            record.clear();
            record.push(SECOND);
            put_part(key, &mut record);
            sorter.push(key, &record, limit, cx)
        };
        for key in self.second.take().unwrap_or_default().into_keys() {
            second(&key, cx, &mut sorter)?;
        }
        self.held.release(m);
        if reading_second {
            if let Some(key) = &key {
                second(key, cx, &mut sorter)?;
            }
            while self.pull(1, m, cx)? {
                second(&self.key(m), cx, &mut sorter)?;
            }
            self.inputs[0].0.open(m, cx)?;
        } else if key.is_some() {
            self.push_first(&mut sorter, limit, m, cx)?;
        }
        while self.pull(0, m, cx)? {
            self.push_first(&mut sorter, limit, m, cx)?;
        }
        sorter.finish(cx)?;
        self.sorted = Some(Sorted { sorter, key: None, in_second: false, given: false, need: 0 });
        Ok(())
    }

    fn push_first(&self, sorter: &mut Sorter, limit: usize, m: &Machine, cx: &ExecCtx<'_>) -> Result<()> {
        let key = self.key(m);
        let mut record = vec![FIRST];
        put_part(&key, &mut record);
        rows::encode(self.out.iter().map(|&r| m.value(r)), &mut record);
        sorter.push(&key, &record, limit, cx)
    }

    fn next_sorted(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some(s) = &mut self.sorted else { return Ok(false) };
        while let Some(mut record) = s.sorter.next(cx)? {
            let Some((&from, rest)) = record.split_first() else {
                return Err(Ora::internal("temporary row is damaged"));
            };
            record = rest;
            let key = take_part(&mut record)?;
            if s.key.as_deref() != Some(key) {
                s.key.get_or_insert_default().clear();
                s.key.get_or_insert_default().extend_from_slice(key);
                s.need += key.len() as u64 + 48;
                (s.in_second, s.given) = (false, false);
            }
            if from == SECOND {
                s.in_second = true;
            } else if !s.given && s.in_second == (self.kind == SetKind::Intersect) {
                s.given = true;
                m.decode(&self.out, &mut record)?;
                return Ok(true);
            }
        }
        if !std::mem::replace(&mut self.noted, true) {
            cx.shared.areas.note(cx, s.need, s.sorter.passes(), || s.sorter.way());
        }
        Ok(false)
    }
}
