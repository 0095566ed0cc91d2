//! The operators of a hierarchical block: PRIOR, CONNECT_BY_ROOT, SYS_CONNECT_BY_PATH.

use crate::ir::*;
use crate::resolve::Operands;
use crate::scope::*;
use crate::typing::*;
use sql::ast;
use types::{Ora, Result};

impl Compiler<'_> {
    /// `PRIOR expr`: the expression over the parent row.
    pub fn prior(&mut self, operand: &ast::Expr, pos: u32) -> Result<Expr> {
        if self.blocks.last().is_none_or(|b| b.connect.is_none()) {
            return Err(Ora::new(976).at(pos)); // Specified pseudocolumn or operator not allowed here
        }
        let clause = self.block().clause;
        if matches!(clause, Clause::From | Clause::StartWith) {
            return Err(Ora::new(976).at(pos));
        }
        let unstable = self.unstable;
        let mut e = self.operand(operand)?;
        let varies = self.unstable > unstable;
        let outer = self.block().outer.clone();
        let scope = self.block().connect.as_mut().expect("checked above");
        scope.uses_prior = true;
        scope.prior_varies |= varies;
        scope.prior_wanted |= clause != Clause::ConnectBy;
        self.to_prior(&mut e, &outer);
        Ok(e)
    }

    fn to_prior(&mut self, e: &mut Expr, outer: &std::collections::BTreeSet<Reg>) {
        if let Node::Reg(r) = &mut e.node
            && !outer.contains(r)
        {
            let row = *r;
            let known = self
                .block()
                .connect
                .as_ref()
                .expect("in CONNECT BY")
                .prior
                .iter()
                .find(|(x, _)| *x == row)
                .map(|(_, p)| *p);
            let prior = match known {
                Some(p) => p,
                None => {
                    let p = self.new_reg();
                    self.block().connect.as_mut().expect("in CONNECT BY").prior.push((row, p));
                    p
                }
            };
            *r = prior;
        }
        // The closure cannot borrow `self` while the tree is walked, so operands are moved out and back.
        let mut taken = std::mem::replace(e, null());
        let mut parts: Vec<Expr> = Vec::new();
        taken.for_each_child_mut(&mut |c| parts.push(std::mem::replace(c, null())));
        for p in &mut parts {
            self.to_prior(p, outer);
        }
        let mut parts = parts.into_iter();
        taken.for_each_child_mut(&mut |c| *c = parts.next().expect("as many as were taken"));
        *e = taken;
    }

    pub fn connect_by_root(&mut self, operand: &ast::Expr, pos: u32) -> Result<Expr> {
        if self.blocks.last().is_none_or(|b| b.connect.is_none()) {
            return Err(Ora::new(30007).at(pos));
        }
        if matches!(self.block().clause, Clause::StartWith | Clause::ConnectBy) {
            return Err(Ora::new(30007).at(pos));
        }
        let e = self.operand(operand)?;
        let ty = e.ty;
        let known = self.block().connect.as_ref().and_then(|c| c.roots.iter().find(|(x, _)| *x == e).map(|(_, r)| *r));
        if let Some(reg) = known {
            return Ok(Expr::new(Node::Reg(reg), ty));
        }
        let reg = self.new_reg();
        self.block().connect.as_mut().expect("checked above").roots.push((e, reg));
        Ok(Expr::new(Node::Reg(reg), ty))
    }

    /// SYS_CONNECT_BY_PATH(column, separator).
    pub fn connect_by_path(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        if self.blocks.last().is_none_or(|b| b.connect.is_none()) {
            return Err(Ora::new(30002).at(pos));
        }
        if matches!(self.block().clause, Clause::StartWith | Clause::ConnectBy) {
            return Err(Ora::new(30002).at(pos));
        }
        let [value, separator] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
        let value = self.operand(&value.value)?;
        let value = convert(value, &text(4000), pos)?;
        let separator = self.operand(&separator.value)?;
        if !separator.is_const() || is_null(&separator) {
            return Err(Ora::new(30003).at(pos));
        }
        let same =
            |c: &ConnectScope| c.paths.iter().find(|(v, s, _)| *v == value && *s == separator).map(|(_, _, r)| *r);
        if let Some(reg) = self.block().connect.as_ref().and_then(same) {
            return Ok(Expr::new(Node::Reg(reg), text(4000)));
        }
        let reg = self.new_reg();
        self.block().connect.as_mut().expect("checked above").paths.push((value, separator, reg));
        Ok(Expr::new(Node::Reg(reg), text(4000)))
    }
}
