//! Nested loops, and the use of filters of hash joins.

use super::Op;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::join::keys::{Keys, RowKey};
use crate::machine::Machine;
use plan::{JoinKind, Reg};
use types::{Ora, Result};

/// Nested loops: the right side is started again for each row of the left side.
pub struct Loops {
    left: Op,
    right: Op,
    kind: JoinKind,
    right_regs: Vec<Reg>,
    lateral: bool,
    state: LoopState,
    /// Whether the right side has been opened since the join was.
    right_open: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum LoopState {
    NeedLeft,
    /// Reading the right rows of a left row; whether one has matched.
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
                        (JoinKind::Anti | JoinKind::AntiNullAware, true) => self.state = LoopState::NeedLeft,
                        (JoinKind::Anti | JoinKind::AntiNullAware, false) => {
                            self.state = LoopState::NeedLeft;
                            return Ok(true);
                        }
                        (JoinKind::Single, true) if found => return Err(Ora::new(1427)),
                        (_, true) => {
                            self.state = LoopState::InRight(true);
                            return Ok(true);
                        }
                        (JoinKind::Left | JoinKind::Single, false) if !found => {
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

/// Drops rows without a match in a hash join above, by its Bloom filter.
pub struct UseFilter {
    input: Op,
    id: usize,
    keys: Keys,
    key: RowKey,
}

impl UseFilter {
    pub fn new(input: Op, id: usize, keys: Keys) -> UseFilter {
        UseFilter { input, id, keys, key: RowKey::default() }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.rewind(m, cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.input.next(m, cx)? {
            if m.filter(self.id).is_none() {
                return Ok(true);
            }
            let matches = self.keys.eval(&mut self.key, m, cx)?;
            if m.filter(self.id).is_none_or(|filter| filter.may_have(&self.key, matches)) {
                return Ok(true);
            }
            cx.check_cancel()?;
        }
        Ok(false)
    }
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
