//! Nested loops and hash joins.

use super::Op;
use crate::code::{Code, Cond, all_true};
use crate::ctx::ExecCtx;
use crate::hash::KeyMap;
use crate::machine::{Machine, Saved};
use crate::spill::partition::{Division, LEVELS_MAX, level_of};
use crate::spill::{Reader, TempFile, rows};
use crate::work_area::{Way, bytes_written};
use plan::{JoinKind, Reg};
use std::rc::Rc;
use types::{Ora, Result, Value};

/// Nested loops: the right side is started again for each row of the left.
pub struct Loops {
    left: Op,
    right: Op,
    kind: JoinKind,
    right_regs: Vec<Reg>,
    lateral: bool,
    state: LoopState,
    /// The right side has been opened since this was.
    right_open: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum LoopState {
    NeedLeft,
    /// In the right rows of a left row; whether one was found.
    InRight(bool),
    Done,
}

impl Loops {
    pub fn new(left: Op, right: Op, kind: JoinKind, right_regs: Vec<Reg>, lateral: bool) -> Loops {
        Loops { left, right, kind, right_regs, lateral, state: LoopState::Done, right_open: false }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.right_open = false;
        self.state = LoopState::NeedLeft;
        self.left.open(m, cx)
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.state = LoopState::NeedLeft;
        self.left.rewind(m, cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        loop {
            match self.state {
                LoopState::Done => return Ok(false),
                LoopState::NeedLeft => {
                    if !self.left.next(m, cx)? {
                        self.state = LoopState::Done;
                        continue;
                    }
                    cx.check_cancel()?;
                    if self.right_open && !self.lateral {
                        self.right.rewind(m, cx)?;
                    } else {
                        self.right.open(m, cx)?;
                        self.right_open = true;
                    }
                    self.state = LoopState::InRight(false);
                }
                LoopState::InRight(found) => {
                    let more = self.right.next(m, cx)?;
                    match (self.kind, more) {
                        (JoinKind::Semi, true) => {
                            self.state = LoopState::NeedLeft;
                            return Ok(true);
                        }
                        (JoinKind::Anti, true) => self.state = LoopState::NeedLeft,
                        (JoinKind::Anti, false) => {
                            self.state = LoopState::NeedLeft;
                            return Ok(true);
                        }
                        (_, true) => {
                            self.state = LoopState::InRight(true);
                            return Ok(true);
                        }
                        (JoinKind::Left, false) if !found => {
                            m.nulls(&self.right_regs);
                            self.state = LoopState::NeedLeft;
                            return Ok(true);
                        }
                        (_, false) => self.state = LoopState::NeedLeft,
                    }
                }
            }
        }
    }
}

/// One input of a hash join.
type Side = (Op, Vec<Code>, Vec<Reg>);

/// A hash join: the right side is built into a table, the left side probes it.
///
/// A right side that memory has no room for is divided into parts by a hash of the key, the left side likewise, and the
/// parts are joined one after the other; a part that is still too large is divided again.
pub struct Hash {
    left: Op,
    left_keys: Vec<Code>,
    left_regs: Vec<Reg>,
    right: Op,
    right_keys: Vec<Code>,
    right_regs: Vec<Reg>,
    kind: JoinKind,
    residual: Vec<Cond>,
    /// Rows of the right side, chained by key: `next[i]` is the following row of the same key plus one.
    rows: Vec<Saved>,
    next: Vec<u32>,
    heads: KeyMap<u32>,
    matched: Vec<bool>,
    /// Bytes of the table.
    used: usize,
    built: bool,
    probe: Option<u32>,
    found: bool,
    have_left: bool,
    /// FULL: the place in the unmatched rows, after the left side has ended.
    unmatched: Option<usize>,
    on_disk: Option<Parts>,
    /// Rows of the left side, when the table is large: with little memory they would be written, too.
    lefts: Option<Lefts>,
}

/// Rows that probed a large table: how many, and how long those are that were looked at.
#[derive(Default)]
struct Lefts {
    rows: u64,
    seen: u64,
    bytes: u64,
}

/// Of so many rows of the left side one is looked at.
const LEFTS: u64 = 1024;

/// The sides of a join that was divided.
struct Parts {
    /// The right side's, kept as long as the join is open: the left side may start again.
    rights: Vec<Rc<TempFile>>,
    /// The left side has been divided.
    divided: bool,
    /// Right part, left part, level of their next division.
    waiting: Vec<(Rc<TempFile>, TempFile, u32)>,
    left: Option<(TempFile, Reader)>,
    record: Vec<u8>,
    /// Bytes that the right side needed in memory, and as it was written; the latter until the join has been counted.
    work: (u64, Option<u64>),
}

/// One row of a divided side: whether its key is whole, the key, the values.
fn encode_row<'v>(whole: bool, key: &[u8], values: impl IntoIterator<Item = &'v Value>, out: &mut Vec<u8>) {
    out.clear();
    out.push(u8::from(whole));
    rows::put_part(key, out);
    rows::encode(values, out);
}

/// Reads flag and key of a row of a divided side; the values are left.
fn decode_head<'r>(record: &mut &'r [u8]) -> Result<(bool, &'r [u8])> {
    let (flag, rest) = record.split_first().ok_or_else(|| Ora::internal("temporary row"))?;
    *record = rest;
    Ok((*flag == 1, rows::take_part(record)?))
}

impl Hash {
    pub fn new(left: Side, right: Side, kind: JoinKind, residual: Vec<Cond>) -> Hash {
        Hash {
            left: left.0,
            left_keys: left.1,
            left_regs: left.2,
            right: right.0,
            right_keys: right.1,
            right_regs: right.2,
            kind,
            residual,
            rows: Vec::new(),
            next: Vec::new(),
            heads: KeyMap::default(),
            matched: Vec::new(),
            used: 0,
            built: false,
            probe: None,
            found: false,
            have_left: false,
            unmatched: None,
            on_disk: None,
            lefts: None,
        }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.built = false;
        self.on_disk = None;
        self.rewind_left();
        self.left.open(m, cx)
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.rewind_left();
        self.left.rewind(m, cx)
    }

    fn rewind_left(&mut self) {
        self.probe = None;
        self.have_left = false;
        self.unmatched = None;
        self.matched.fill(false);
        if let Some(parts) = &mut self.on_disk {
            (parts.divided, parts.left) = (false, None);
            parts.waiting.clear();
        }
    }

    fn forget_table(&mut self, m: &mut Machine) {
        self.rows.clear();
        self.next.clear();
        self.heads.clear();
        self.matched.clear();
        m.release(self.used);
        self.used = 0;
    }

    fn build(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.rows.clear();
        self.next.clear();
        self.heads.clear();
        (self.used, self.lefts) = (0, None);
        self.right.open(m, cx)?;
        let (mut pushed, mut written, mut kept) = (0u64, 0u64, None::<(u64, u64)>);
        let mut key = std::mem::take(&mut m.key);
        let mut order: Vec<Vec<u8>> = Vec::new();
        let limit = cx.session.options.spill_bytes;
        let mut division: Option<Division> = None;
        let mut record = Vec::new();
        while self.right.next(m, cx)? {
            key.clear();
            let whole = encode_key(&self.right_keys, &mut key, m, cx)?;
            // A NULL key matches nothing; only FULL still needs the row.
            if !whole && self.kind != JoinKind::Full {
                continue;
            }
            if !whole {
                key.clear();
            }
            if let Some(division) = &mut division {
                encode_row(whole, &key, self.right_regs.iter().map(|&r| m.value(r)), &mut record);
                division.push(&key, &record, cx)?;
                (pushed, written) = (pushed + 1, written + record.len() as u64 + 4);
                continue;
            }
            let before = m.used();
            m.charge(key.len() + 64, cx)?;
            let row = m.save(&self.right_regs, cx)?;
            self.used += m.used() - before;
            self.rows.push(row);
            order.push(if whole { key.clone() } else { Vec::new() });
            if self.used > limit {
                let mut divided = Division::new(0, &m.temporary, cx);
                for (row, key) in self.rows.iter().zip(&order) {
                    // A key that is whole is never empty, unless there are no keys at all.
                    let whole = !key.is_empty() || self.right_keys.is_empty();
                    encode_row(whole, key, row.iter(), &mut record);
                    divided.push(key, &record, cx)?;
                    (pushed, written) = (pushed + 1, written + record.len() as u64 + 4);
                }
                kept = Some((self.used as u64, pushed));
                division = Some(divided);
                order.clear();
                self.forget_table(m);
            }
        }
        m.key = key;
        self.built = true;
        if let Some(division) = division {
            let rights = division.finish(cx)?.into_iter().map(Rc::new).collect();
            let need = kept.map_or(0, |(used, rows)| used * pushed / rows.max(1));
            let work = (need, Some(written));
            let parts = Parts { rights, divided: false, waiting: Vec::new(), left: None, record: Vec::new(), work };
            self.on_disk = Some(parts);
            return Ok(());
        }
        let areas = cx.shared.areas;
        areas.note(cx, self.used as u64, 0, || {
            let keys = order.iter().map(|key| key.len() + 5).sum::<usize>() as u64;
            (Way::Divide, keys + bytes_written(&self.rows, |_| 0, |row| row))
        });
        self.lefts = areas.is_large(self.used as u64).then(Lefts::default);
        self.chain(order, cx)
    }

    /// Chains the rows of the table from the last on, so that a chain is in the order of the rows.
    fn chain(&mut self, mut order: Vec<Vec<u8>>, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.next.clear();
        self.next.resize(self.rows.len(), 0);
        for i in (0..self.rows.len()).rev() {
            cx.check_cancel()?;
            let key = std::mem::take(&mut order[i]);
            if key.is_empty() && !self.right_keys.is_empty() {
                continue;
            }
            let head = self.heads.entry(key).or_insert(0);
            self.next[i] = *head;
            *head = i as u32 + 1;
        }
        self.matched.clear();
        self.matched.resize(self.rows.len(), false);
        Ok(())
    }

    /// Divides the left side as the right one was.
    fn divide_left(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut division = Division::new(0, &m.temporary, cx);
        let (mut key, mut record, mut written) = (Vec::new(), Vec::new(), 0);
        while self.left.next(m, cx)? {
            key.clear();
            let whole = encode_key(&self.left_keys, &mut key, m, cx)?;
            if !whole && self.kind == JoinKind::Inner {
                continue;
            }
            if !whole {
                key.clear();
            }
            encode_row(whole, &key, self.left_regs.iter().map(|&r| m.value(r)), &mut record);
            division.push(&key, &record, cx)?;
            written += record.len() as u64 + 4;
        }
        let lefts = division.finish(cx)?;
        if let Some(parts) = &mut self.on_disk {
            parts.divided = true;
            let need = parts.work.0;
            let limit = cx.session.options.spill_bytes as u64;
            let all = parts.rights.iter().map(|right| right.records()).sum::<u64>().max(1);
            let again = parts.rights.iter().any(|right| need * right.records() / all > limit);
            match parts.work.1.take() {
                Some(rights) => {
                    cx.shared.areas.note(cx, need, 1 + u32::from(again), || (Way::Divide, rights + written))
                }
                None => cx.shared.areas.note_more(cx, Way::Divide, need, written),
            }
            parts.waiting = parts
                .rights
                .iter()
                .cloned()
                .zip(lefts)
                .map(|(r, l)| (level_of(&r, 0), r, l))
                .map(|(level, r, l)| (r, l, level))
                .collect();
        }
        Ok(())
    }

    /// Builds the table of the next part that has to be joined. False when there is none.
    fn next_part(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some(mut parts) = self.on_disk.take() else { return Ok(false) };
        let there = self.load_part(&mut parts, m, cx);
        self.on_disk = Some(parts);
        there
    }

    fn load_part(&mut self, parts: &mut Parts, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let limit = cx.session.options.spill_bytes;
        'parts: while let Some((right, left, level)) = parts.waiting.pop() {
            self.forget_table(m);
            if left.records() == 0 && (right.records() == 0 || self.kind != JoinKind::Full) {
                continue;
            }
            let (mut reader, mut order) = (Reader::default(), Vec::new());
            while right.next(&mut reader, &mut parts.record, cx)? {
                let mut record = &parts.record[..];
                let (whole, key) = decode_head(&mut record)?;
                order.push(if whole { key.to_vec() } else { Vec::new() });
                let before = m.used();
                m.charge(key.len() + 64, cx)?;
                m.decode(&self.right_regs, &mut record)?;
                self.rows.push(m.save(&self.right_regs, cx)?);
                self.used += m.used() - before;
                if self.used > limit && level < LEVELS_MAX {
                    let rights = divide_again(&right, level, m, cx)?;
                    let lefts = divide_again(&left, level, m, cx)?;
                    let pairs = rights.into_iter().zip(lefts).map(|(r, l)| {
                        let level = level_of(&r, level);
                        (Rc::new(r), l, level)
                    });
                    parts.waiting.extend(pairs);
                    continue 'parts;
                }
            }
            self.chain(order, cx)?;
            parts.left = Some((left, Reader::default()));
            (self.have_left, self.unmatched) = (false, None);
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves to the next row of the left side, and to the first row of the table that it may match.
    fn next_left(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if let Some(parts) = &mut self.on_disk {
            let Some((left, reader)) = &mut parts.left else { return Ok(false) };
            if !left.next(reader, &mut parts.record, cx)? {
                return Ok(false);
            }
            let mut record = &parts.record[..];
            let (whole, key) = decode_head(&mut record)?;
            self.probe = if whole { self.heads.get(key).copied() } else { None };
            m.decode(&self.left_regs, &mut record)?;
            return Ok(true);
        }
        if !self.left.next(m, cx)? {
            self.note_lefts(cx);
            return Ok(false);
        }
        if let Some(lefts) = &mut self.lefts {
            lefts.add(&self.left_regs, m);
        }
        let mut key = std::mem::take(&mut m.key);
        key.clear();
        let whole = encode_key(&self.left_keys, &mut key, m, cx)?;
        self.probe = if whole { self.heads.get(key.as_slice()).copied() } else { None };
        m.key = key;
        Ok(true)
    }

    fn note_lefts(&mut self, cx: &ExecCtx<'_>) {
        if let Some(lefts) = self.lefts.replace(Lefts::default()) {
            let written = lefts.bytes * lefts.rows / lefts.seen.max(1);
            cx.shared.areas.note_more(cx, Way::Divide, self.used as u64, written);
        }
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.built {
            self.build(m, cx)?;
        }
        if self.on_disk.as_ref().is_some_and(|parts| !parts.divided) {
            self.divide_left(m, cx)?;
            if !self.next_part(m, cx)? {
                return Ok(false);
            }
        }
        loop {
            if let Some(at) = self.unmatched {
                if self.next_unmatched(at, m) {
                    return Ok(true);
                }
                if self.next_part(m, cx)? {
                    continue;
                }
                return Ok(false);
            }
            if !self.have_left {
                if !self.next_left(m, cx)? {
                    if self.kind == JoinKind::Full {
                        self.unmatched = Some(0);
                        continue;
                    }
                    if self.next_part(m, cx)? {
                        continue;
                    }
                    return Ok(false);
                }
                self.have_left = true;
                self.found = false;
            }
            while let Some(at) = self.probe.filter(|&at| at != 0) {
                let i = at as usize - 1;
                self.probe = Some(self.next[i]);
                m.restore(&self.right_regs, &self.rows[i]);
                if all_true(&self.residual, m, cx)? {
                    self.found = true;
                    self.matched[i] = true;
                    return Ok(true);
                }
            }
            self.have_left = false;
            if !self.found && matches!(self.kind, JoinKind::Left | JoinKind::Full) {
                m.nulls(&self.right_regs);
                return Ok(true);
            }
        }
    }

    fn next_unmatched(&mut self, at: usize, m: &mut Machine) -> bool {
        for i in at..self.rows.len() {
            if !self.matched[i] {
                self.unmatched = Some(i + 1);
                m.nulls(&self.left_regs);
                m.restore(&self.right_regs, &self.rows[i]);
                return true;
            }
        }
        self.unmatched = Some(self.rows.len());
        false
    }
}

impl Lefts {
    fn add(&mut self, regs: &[Reg], m: &Machine) {
        if self.rows.is_multiple_of(LEFTS) {
            let mut record = Vec::new();
            rows::encode(regs.iter().map(|&r| m.value(r)), &mut record);
            self.seen += 1;
            self.bytes += record.len() as u64 + 16;
        }
        self.rows += 1;
    }
}

/// Divides a part that is too large, by other bits of the hash.
fn divide_again(part: &TempFile, level: u32, m: &Machine, cx: &ExecCtx<'_>) -> Result<Vec<TempFile>> {
    let (mut division, mut reader, mut record) =
        (Division::new(level, &m.temporary, cx), Reader::default(), Vec::new());
    while part.next(&mut reader, &mut record, cx)? {
        let (_, key) = decode_head(&mut &record[..])?;
        division.push(key, &record, cx)?;
    }
    division.finish(cx)
}

/// Encodes a join key. False when a part is NULL.
pub(super) fn encode_key(keys: &[Code], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    for k in keys {
        let r = k.eval(m, cx)?;
        if m.value(r).is_null() {
            return Ok(false);
        }
        crate::hash::push_part(m.value(r), out);
    }
    Ok(true)
}
