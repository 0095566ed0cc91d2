//! Nested loops and hash joins.

use super::Op;
use crate::code::{Code, Cond, all_true};
use crate::ctx::ExecCtx;
use crate::hash::KeyMap;
use crate::machine::{Machine, Saved};
use plan::{JoinKind, Reg};
use types::Result;

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
                    cx.p.check_cancel()?;
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
    built: bool,
    probe: Option<u32>,
    found: bool,
    have_left: bool,
    /// FULL: the place in the unmatched rows, after the left side has ended.
    unmatched: Option<usize>,
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
            built: false,
            probe: None,
            found: false,
            have_left: false,
            unmatched: None,
        }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.built = false;
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
    }

    fn build(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.rows.clear();
        self.next.clear();
        self.heads.clear();
        self.right.open(m, cx)?;
        let mut key = std::mem::take(&mut m.key);
        let mut order: Vec<Vec<u8>> = Vec::new();
        while self.right.next(m, cx)? {
            key.clear();
            let whole = encode_key(&self.right_keys, &mut key, m, cx)?;
            // A NULL key matches nothing; only FULL still needs the row.
            if !whole && self.kind != JoinKind::Full {
                continue;
            }
            let row = m.save(&self.right_regs, cx)?;
            self.rows.push(row);
            self.next.push(0);
            order.push(if whole { key.clone() } else { Vec::new() });
        }
        m.key = key;
        // Chained from the last row on, so that a chain is in the order of the rows.
        for i in (0..self.rows.len()).rev() {
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
        self.built = true;
        Ok(())
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.built {
            self.build(m, cx)?;
        }
        loop {
            if let Some(at) = self.unmatched {
                return Ok(self.next_unmatched(at, m));
            }
            if !self.have_left {
                if !self.left.next(m, cx)? {
                    if self.kind == JoinKind::Full {
                        self.unmatched = Some(0);
                        continue;
                    }
                    return Ok(false);
                }
                let mut key = std::mem::take(&mut m.key);
                key.clear();
                let whole = encode_key(&self.left_keys, &mut key, m, cx)?;
                self.probe = if whole { self.heads.get(key.as_slice()).copied() } else { None };
                m.key = key;
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

/// Encodes a join key. False when a part is NULL.
fn encode_key(keys: &[Code], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    for k in keys {
        let r = k.eval(m, cx)?;
        if m.value(r).is_null() {
            return Ok(false);
        }
        crate::hash::push_part(m.value(r), out);
    }
    Ok(true)
}
