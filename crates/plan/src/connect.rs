//! CONNECT BY: the conditions and the row source of a hierarchical block.
//!
//! The rows of the block are found in two ways: with the START WITH condition (the roots), and with the CONNECT BY
//! condition and the parent's columns as known values (the children of a row). Both leave their row in the same
//! registers, so operators above see one row source; an index on the child's side of the condition is used as in any
//! nested loop.
//!
//! `_old_connect_by_enabled` chooses between two algorithms when a cursor is opened; the plan has what both need.

use crate::ir::*;
use crate::logical::{ConnectPlan, ConnectRel, JoinSet, Rel};
use crate::scope::*;
use sql::ast;
use std::collections::{BTreeSet, HashMap};
use types::Result;

/// The conditions of a hierarchical block.
pub struct ConnectConditions {
    start: Vec<Expr>,
    condition: Vec<Expr>,
    nocycle: bool,
}

impl Compiler<'_> {
    /// Adds LEVEL and PRIOR to the current block.
    pub fn enter_connect_by(&mut self, nocycle: bool) {
        let level = self.new_reg();
        self.block().connect = Some(ConnectScope { level, nocycle, ..ConnectScope::default() });
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

    /// Builds the hierarchical row source: roots, children, and the WHERE conditions that are not join conditions. The
    /// first `joined` conditions come from FROM: from joins with ON and from merged views.
    pub fn build_connect_by(
        &mut self,
        mut set: JoinSet,
        joined: usize,
        c: ConnectConditions,
        siblings: Vec<SortKey>,
    ) -> Rel {
        let scope = self.block().connect.take().expect("a hierarchical block");
        let mut join_conds = Vec::new();
        let mut after = Vec::new();
        let several = set.parts.len() > 1;
        for (i, cond) in std::mem::take(&mut set.conds).into_iter().enumerate() {
            let mut own = vec![scope.level];
            own.extend(scope.prior.iter().map(|(_, p)| *p));
            own.extend(scope.is_leaf);
            own.extend(scope.is_cycle);
            own.extend(scope.roots.iter().map(|(_, r)| *r));
            own.extend(scope.paths.iter().map(|(_, _, r)| *r));
            let hierarchical = own.iter().any(|&r| self.reads_reg(&cond, r));
            if i < joined || several && !hierarchical && self.spans_parts(&set, &cond) {
                join_conds.push(cond)
            } else {
                after.push(cond)
            }
        }
        set.conds = join_conds;
        let base_set = set.clone();
        let mut child_set = set.clone();
        let all_roots = c.start.is_empty();
        set.conds.extend(c.start);
        // A condition on ROWNUM or LEVEL alone is checked by the row source itself.
        child_set.conds.extend(c.condition.iter().cloned());
        let mut row = Vec::new();
        self.set_regs(&set, &mut |r| row.push(r));
        row.sort_unstable();
        row.dedup();
        let order = siblings.iter().map(|k| &k.expr);
        let level_decides =
            c.condition.iter().chain(order).any(|e| self.reads_reg(e, scope.level)) || scope.rownum.is_some();
        let cycle = self.cycle_columns(&scope, &c.condition, &row);
        let mut memory = self.connect_memory(base_set, c.condition, &scope, &row, &siblings, all_roots);
        if let Some(columns) = &cycle {
            memory.class.clone_from(columns);
        }
        let rel = Rel::Connect(Box::new(ConnectRel {
            start: set,
            child: child_set,
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
            cycle,
            prior_wanted: scope.prior_wanted,
            level_decides,
            memory,
        }));
        if after.is_empty() { rel } else { Rel::Filter { input: Box::new(rel), conds: after } }
    }

    /// The columns that the condition reads with PRIOR: a row that equals an ancestor in all of them closes a loop.
    fn cycle_columns(&self, scope: &ConnectScope, condition: &[Expr], row: &[Reg]) -> Option<Vec<Reg>> {
        if !scope.uses_prior || scope.prior_varies {
            return None;
        }
        let columns = self.prior_columns(scope, condition);
        // PRIOR LEVEL and the like differ in each row and cannot detect a loop.
        columns.iter().all(|r| row.binary_search(r).is_ok()).then_some(columns)
    }

    fn prior_columns(&self, scope: &ConnectScope, conds: &[Expr]) -> Vec<Reg> {
        let named = |p: Reg| conds.iter().any(|c| self.reads_reg(c, p));
        scope.prior.iter().filter(|(_, p)| named(*p)).map(|(column, _)| *column).collect()
    }

    /// The plan of the new algorithm: the parts of the condition, and the rows to search or to probe.
    fn connect_memory(
        &mut self,
        base: JoinSet,
        condition: Vec<Expr>,
        scope: &ConnectScope,
        row: &[Reg],
        siblings: &[SortKey],
        all_roots: bool,
    ) -> ConnectPlan {
        let of_row = |c: &Self, e: &Expr| row.iter().any(|r| c.reads_reg(e, *r));
        let (decided, gate): (Vec<_>, Vec<_>) = condition.into_iter().partition(|e| of_row(self, e));
        let class = self.prior_columns(scope, &decided);
        let own_order = siblings.iter().all(|k| !scope.prior.iter().any(|(_, p)| self.reads_reg(&k.expr, *p)));
        let keep = own_order
            && decided.iter().chain(siblings.iter().map(|k| &k.expr)).all(|e| self.follows_from_rows(e, scope, row));
        let probe = (keep && !all_roots).then(|| {
            let mut set = base.clone();
            set.conds.extend(decided.iter().cloned());
            set
        });
        let (mut row_keys, mut prior_keys, mut conds) = (Vec::new(), Vec::new(), Vec::new());
        for e in decided {
            match self.connect_key(&e, scope, row) {
                Some((of_row, of_parent)) => {
                    row_keys.push(of_row);
                    prior_keys.push(of_parent);
                }
                None => conds.push(e),
            }
        }
        ConnectPlan { gate, keep, class, probe, base, row_keys, prior_keys, conds, all_roots }
    }

    /// Whether an expression depends only on the row and its parent, not on their position in the hierarchy.
    fn follows_from_rows(&self, e: &Expr, scope: &ConnectScope, row: &[Reg]) -> bool {
        let from_row = |r: Reg| row.binary_search(&r).is_ok();
        let mut steady = true;
        self.expr_regs(e, &mut |r| {
            let varies = scope.prior.iter().any(|(column, p)| *p == r && !from_row(*column));
            let own = [Some(scope.level), scope.rownum, scope.is_leaf, scope.is_cycle];
            let of_path = scope.roots.iter().any(|(_, x)| *x == r) || scope.paths.iter().any(|(_, _, x)| *x == r);
            steady &= !varies && !of_path && !own.contains(&Some(r));
        });
        e.walk(&mut |e| match &e.node {
            Node::Func(f, _) if !f.0.deterministic => steady = false,
            Node::Special(Special::SysGuid) | Node::Call(..) | Node::Nextval(_) | Node::Currval(_) => steady = false,
            Node::Scalar(s) | Node::Exists(s) | Node::InSub { sub: s, .. } | Node::Quantified { sub: s, .. } => {
                steady &= self.subs[*s].steady;
            }
            _ => {}
        });
        steady
    }

    /// The two sides of a condition that equates an expression of the row with one of its parent: (row, parent).
    fn connect_key(&self, e: &Expr, scope: &ConnectScope, columns: &[Reg]) -> Option<(Expr, Expr)> {
        let Node::Cmp(CmpOp::Eq, Compare::Plain, a, b) = &e.node else { return None };
        let of_row = |e: &Expr| columns.iter().any(|r| self.reads_reg(e, *r));
        let of_parent = |e: &Expr| scope.prior.iter().any(|(_, p)| self.reads_reg(e, *p));
        let sides = [(a, b), (b, a)];
        let (row, parent) = sides.into_iter().find(|(x, y)| of_row(x) && !of_parent(x) && !of_row(y))?;
        let plain = !row.has_subquery() && !parent.has_subquery();
        (plain && self.follows_from_rows(row, scope, columns) && self.follows_from_rows(parent, scope, columns))
            .then(|| ((**row).clone(), (**parent).clone()))
    }

    /// Whether a condition reads more than one part of a set.
    fn spans_parts(&self, set: &JoinSet, cond: &Expr) -> bool {
        let mut owner = HashMap::new();
        for (i, part) in set.parts.iter().enumerate() {
            self.part_regs(&part.kind, &mut |r| {
                owner.insert(r, i);
            });
        }
        let mut read: BTreeSet<usize> = BTreeSet::new();
        self.expr_regs(cond, &mut |r| read.extend(owner.get(&r)));
        read.len() > 1
    }
}
