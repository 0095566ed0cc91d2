//! Nested loops.

use super::RowSource;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{JoinKind, Reg};
use types::{Ora, Result};

/// Nested loops: the right side is started again for each row of the left side.
pub struct Loops<S> {
    left: S,
    right: S,
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

impl<S: RowSource> Loops<S> {
    pub fn new(left: S, right: S, kind: JoinKind, right_regs: Vec<Reg>, lateral: bool) -> Loops<S> {
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

    #[inline(never)]
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
