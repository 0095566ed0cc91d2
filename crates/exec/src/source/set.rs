//! UNION, UNION ALL, INTERSECT and MINUS.

use super::{Op, assign};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::hash::{KeyMap, push_part};
use crate::machine::Machine;
use crate::spill::unique::Unique;
use plan::{Expr, Reg, SetKind, Source};
use types::Result;

pub struct Set {
    kind: SetKind,
    inputs: Vec<(Op, Vec<Code>)>,
    out: Vec<Reg>,
    /// The input being read, and whether it is open.
    at: usize,
    is_open: bool,
    unique: Unique,
    /// INTERSECT and MINUS: the rows of the second input; true once given up.
    second: Option<KeyMap<bool>>,
}

impl Set {
    pub fn build(kind: SetKind, inputs: &[(Source, Vec<Expr>)], out: &[Reg], b: &mut Builder<'_>) -> Result<Set> {
        let inputs = inputs.iter().map(|(s, e)| Ok((Op::build(s, b)?, b.codes(e)))).collect::<Result<_>>()?;
        Ok(Set { kind, inputs, out: out.to_vec(), at: 0, is_open: false, unique: Unique::default(), second: None })
    }

    pub fn open(&mut self, _m: &mut Machine, _cx: &mut ExecCtx<'_>) -> Result<()> {
        self.at = 0;
        self.is_open = false;
        self.unique.clear();
        self.second = None;
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

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match self.kind {
            SetKind::UnionAll | SetKind::Union => self.next_union(m, cx),
            SetKind::Intersect | SetKind::Minus => self.next_filtered(m, cx),
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
        if self.second.is_none() {
            let mut rows = KeyMap::default();
            self.inputs[1].0.open(m, cx)?;
            while self.pull(1, m, cx)? {
                let key = self.key(m);
                m.charge(key.len() + 48, cx)?;
                rows.insert(key, false);
            }
            self.second = Some(rows);
            self.inputs[0].0.open(m, cx)?;
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
                    rows.insert(key, true);
                    return Ok(true);
                }
                _ => {}
            }
        }
        Ok(false)
    }
}
