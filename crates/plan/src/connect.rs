//! CONNECT BY: START WITH, PRIOR, LEVEL and what else a hierarchical block may say.
//!
//! The rows of the block are found twice: once with the START WITH condition (the roots), once with the CONNECT BY condition and the
//! parent's columns as known values (the children of a row). Both leave their row in the same registers, so everything above sees one
//! row source; an index on the child's side of the condition is used like in any nested loop.

use crate::from::JoinSet;
use crate::ir::*;
use crate::join::filter;
use crate::scope::*;
use crate::typing::*;
use sql::ast;
use types::{Ora, Result};

/// The conditions of a hierarchical block.
pub struct ConnectConditions {
    start: Vec<Expr>,
    condition: Vec<Expr>,
    nocycle: bool,
}

impl Compiler<'_> {
    /// Makes LEVEL and PRIOR known to the current block.
    pub fn enter_connect_by(&mut self) {
        let level = self.new_reg();
        self.block().connect = Some(ConnectScope { level, ..ConnectScope::default() });
    }

    pub fn connect_by_conditions(&mut self, c: &ast::ConnectBy) -> Result<ConnectConditions> {
        let mut start = Vec::new();
        self.block().clause = Clause::StartWith;
        if let Some(e) = &c.start_with {
            self.conditions(e, &mut start)?;
        }
        self.block().clause = Clause::ConnectBy;
        let mut condition = Vec::new();
        self.conditions(&c.condition, &mut condition)?;
        Ok(ConnectConditions { start, condition, nocycle: c.nocycle })
    }

    /// `PRIOR expr`: the expression over the parent row.
    pub fn prior(&mut self, operand: &ast::Expr, pos: u32) -> Result<Expr> {
        if self.blocks.last().is_none_or(|b| b.connect.is_none()) {
            return Err(Ora::new(976).at(pos)); // Specified pseudocolumn or operator not allowed here
        }
        let clause = self.block().clause;
        if matches!(clause, Clause::From | Clause::StartWith) {
            return Err(Ora::new(976).at(pos));
        }
        let mut e = self.expr(operand)?;
        let outer = self.block().outer.clone();
        self.block().connect.as_mut().expect("checked above").uses_prior = true;
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
        // The closure cannot borrow `self` while the tree is walked: the operands are taken out and put back.
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
        let e = self.expr(operand)?;
        let reg = self.new_reg();
        let ty = e.ty;
        self.block().connect.as_mut().expect("checked above").roots.push((e, reg));
        Ok(Expr::new(Node::Reg(reg), ty))
    }

    /// SYS_CONNECT_BY_PATH(column, separator).
    pub fn connect_by_path(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        if self.blocks.last().is_none_or(|b| b.connect.is_none()) {
            return Err(Ora::new(30002).at(pos));
        }
        let [value, separator] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
        let value = self.expr(&value.value)?;
        let value = convert(value, &text(4000), pos)?;
        let separator = self.expr(&separator.value)?;
        if !separator.is_const() || is_null(&separator) {
            return Err(Ora::new(30003).at(pos));
        }
        let reg = self.new_reg();
        self.block().connect.as_mut().expect("checked above").paths.push((value, separator, reg));
        Ok(Expr::new(Node::Reg(reg), text(4000)))
    }

    /// Builds the hierarchical row source: roots, children, and the WHERE conditions that are no join conditions.
    pub fn build_connect_by(
        &mut self,
        mut set: JoinSet,
        c: ConnectConditions,
        siblings: Vec<SortKey>,
    ) -> Result<Source> {
        let scope = self.block().connect.take().expect("a hierarchical block");
        let mut join_conds = Vec::new();
        let mut after = Vec::new();
        let several = set.parts.len() > 1;
        for cond in std::mem::take(&mut set.conds) {
            let mut own = vec![scope.level];
            own.extend(scope.prior.iter().map(|(_, p)| *p));
            own.extend(scope.is_leaf);
            own.extend(scope.is_cycle);
            own.extend(scope.roots.iter().map(|(_, r)| *r));
            own.extend(scope.paths.iter().map(|(_, _, r)| *r));
            let hierarchical = own.iter().any(|&r| self.reads(&cond, r));
            if several && !hierarchical && self.spans_parts(&set, &cond) {
                join_conds.push(cond)
            } else {
                after.push(cond)
            }
        }
        set.conds = join_conds;
        let mut child_set = set.clone();
        set.conds.extend(c.start);
        // A condition on ROWNUM or LEVEL alone is checked by the row source itself.
        child_set.conds.extend(c.condition.iter().cloned());
        let (start, _) = self.build_set_copy(set)?;
        let (child, _) = self.build_set_copy(child_set)?;
        let mut row = crate::query::produced(&start);
        row.extend(crate::query::produced(&child));
        row.sort_unstable();
        row.dedup();
        let source = Source::ConnectBy(Box::new(ConnectBy {
            start,
            child,
            row,
            prior: scope.prior,
            level: scope.level,
            rownum: scope.rownum,
            is_leaf: scope.is_leaf,
            is_cycle: scope.is_cycle,
            nocycle: c.nocycle,
            roots: scope.roots,
            paths: scope.paths,
            siblings,
            generator: !scope.uses_prior,
        }));
        Ok(if after.is_empty() { source } else { filter(source, after) })
    }
}
