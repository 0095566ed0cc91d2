//! The logical tree: the meaning of a statement, before the choice of row sources.
//!
//! The binder (`query`, `from`, `expr`, `group`, `connect`, `dml`) builds it from the parser's tree; the rewrites
//! transform it into an equivalent tree that runs faster; the physical planner derives row sources from it. It uses the
//! plan's registers (P16): an operator leaves its row in the registers that [`Rel::produced`] lists, and an expression
//! means the same in both trees. So a rewrite moves conditions and row sources without renaming, and a correlated
//! subquery is a tree that reads registers which it does not produce.
//!
//! Rejected: numbered columns for each operator, as in most planners. Every rewrite would have to renumber them, and so
//! would the physical planner.

use crate::ir::*;
use crate::scope::{Compiler, ItemId, ItemKind};
use sql::ast;

/// A relational operator.
#[derive(Clone)]
pub enum Rel {
    /// No row.
    Empty,
    /// The row sources of a FROM clause with the conditions on them.
    Join(JoinSet),
    Filter {
        input: Box<Rel>,
        conds: Vec<Expr>,
    },
    /// Evaluates expressions into registers.
    Project {
        input: Box<Rel>,
        exprs: Vec<(Expr, Reg)>,
        view: Option<String>,
    },
    /// Numbers rows from 1; a row that fails `conds` takes no number.
    Count {
        input: Box<Rel>,
        reg: Reg,
        conds: Vec<Expr>,
    },
    Sort {
        input: Box<Rel>,
        keys: Vec<SortKey>,
    },
    Distinct {
        input: Box<Rel>,
        regs: Vec<Reg>,
    },
    Group {
        input: Box<Rel>,
        keys: Vec<(Expr, Reg)>,
        /// Grouping sets as positions in `keys`; a plain GROUP BY has one with all.
        sets: Vec<Vec<usize>>,
        aggs: Vec<Agg>,
        /// No GROUP BY: one row even from no input.
        scalar: bool,
    },
    Window {
        input: Box<Rel>,
        funcs: Vec<WindowFunc>,
    },
    Set {
        kind: SetKind,
        inputs: Vec<(Rel, Vec<Expr>)>,
        out: Vec<Reg>,
    },
    Connect(Box<ConnectRel>),
    Limit {
        input: Box<Rel>,
        offset: Option<Expr>,
        count: Option<Expr>,
        percent: bool,
        ties: Vec<SortKey>,
    },
    ForUpdate {
        input: Box<Rel>,
        tables: Vec<LockTarget>,
        wait: LockWait,
    },
}

/// Row sources to be joined, with the conditions of WHERE and of inner joins.
#[derive(Clone, Default)]
pub struct JoinSet {
    pub parts: Vec<Part>,
    pub conds: Vec<Expr>,
    pub hints: Vec<ast::Hint>,
    /// The query block of the FROM clause; 0 for a join nested in it.
    pub block: crate::blocks::BlockId,
}

/// One row source of a join.
#[derive(Clone)]
pub struct Part {
    pub kind: PartKind,
    pub link: Link,
    /// Its tree, taken from a subquery, has already been rewritten.
    pub rewritten: bool,
}

/// The content of a part.
#[derive(Clone)]
pub enum PartKind {
    /// An item of FROM: a table, a view with a tree of its own, a fixed table.
    Leaf(ItemId),
    /// A nested join that is planned as one part.
    Set(JoinSet),
    Full(Box<(JoinSet, JoinSet, Vec<Expr>)>),
}

/// How a part is joined to the parts before it.
#[derive(Clone)]
pub enum Link {
    Inner,
    /// A row without a match is kept, with NULLs for the part's columns.
    Left(Vec<Expr>),
    /// A row with a match is kept, once.
    Semi(Vec<Expr>),
    /// A row without a match is kept.
    Anti(Vec<Expr>),
    /// As `Anti`, for NOT IN: comparisons are three-valued, and an UNKNOWN comparison counts as a match.
    AntiNulls {
        pairs: Vec<(Expr, Expr)>,
        on: Vec<Expr>,
    },
}

impl Part {
    pub fn inner(kind: PartKind) -> Part {
        Part { kind, link: Link::Inner, rewritten: false }
    }

    /// The condition of the outer join, if the part is its optional side.
    pub fn outer_on(&self) -> Option<&Vec<Expr>> {
        match &self.link {
            Link::Left(on) => Some(on),
            _ => None,
        }
    }
}

impl Link {
    /// Calls `f` with each expression of the condition.
    pub fn for_each<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Link::Inner => {}
            Link::Left(on) | Link::Semi(on) | Link::Anti(on) => on.iter().for_each(f),
            Link::AntiNulls { pairs, on } => {
                for (left, right) in pairs {
                    f(left);
                    f(right);
                }
                on.iter().for_each(f);
            }
        }
    }

    /// Whether the part's columns are invisible above the join.
    pub fn hides(&self) -> bool {
        matches!(self, Link::Semi(_) | Link::Anti(_) | Link::AntiNulls { .. })
    }
}

/// CONNECT BY before its joins are planned. The fields are those of [`ConnectBy`].
#[derive(Clone)]
pub struct ConnectRel {
    pub start: JoinSet,
    pub child: JoinSet,
    pub row: Vec<Reg>,
    pub prior: Vec<(Reg, Reg)>,
    pub level: Reg,
    pub rownum: Option<Reg>,
    pub is_leaf: Option<Reg>,
    pub is_cycle: Option<Reg>,
    pub nocycle: bool,
    pub roots: Vec<(Expr, Reg)>,
    pub paths: Vec<(Expr, Expr, Reg)>,
    pub siblings: Vec<SortKey>,
    pub generator: bool,
    pub cycle: Option<Vec<Reg>>,
    pub prior_wanted: bool,
    pub level_decides: bool,
    pub memory: ConnectPlan,
}

/// Data for the new algorithm of CONNECT BY, before the choice between probing and reading all rows.
#[derive(Clone)]
pub struct ConnectPlan {
    pub gate: Vec<Expr>,
    pub keep: bool,
    pub class: Vec<Reg>,
    /// The rows of the block with the conditions on children, for probes by an index.
    pub probe: Option<JoinSet>,
    /// All rows of the block, and how children are found among them.
    pub base: JoinSet,
    pub row_keys: Vec<Expr>,
    pub prior_keys: Vec<Expr>,
    pub conds: Vec<Expr>,
    pub all_roots: bool,
}

/// A subquery of an expression.
#[derive(Clone)]
pub struct LogicalSub {
    pub rel: Rel,
    pub out: Vec<Expr>,
    /// Registers of outer rows that it reads.
    pub outer: Vec<Reg>,
    /// As [`SubPlan::steady`](crate::SubPlan::steady).
    pub steady: bool,
    pub multiset: Option<Multiset>,
}

/// A WITH query that runs once.
#[derive(Clone)]
pub struct LogicalQuery {
    pub rel: Rel,
    pub out: Vec<Expr>,
    pub columns: Vec<Column>,
}

impl Rel {
    /// The only operator directly below, if there is exactly one.
    pub fn input(&self) -> Option<&Rel> {
        match self {
            Rel::Empty | Rel::Join(_) | Rel::Set { .. } | Rel::Connect(_) => None,
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Count { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Distinct { input, .. }
            | Rel::Group { input, .. }
            | Rel::Window { input, .. }
            | Rel::Limit { input, .. }
            | Rel::ForUpdate { input, .. } => Some(input),
        }
    }

    /// As [`Rel::input`], mutable.
    pub fn input_mut(&mut self) -> Option<&mut Rel> {
        match self {
            Rel::Empty | Rel::Join(_) | Rel::Set { .. } | Rel::Connect(_) => None,
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Count { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Distinct { input, .. }
            | Rel::Group { input, .. }
            | Rel::Window { input, .. }
            | Rel::Limit { input, .. }
            | Rel::ForUpdate { input, .. } => Some(input),
        }
    }
}

impl Compiler<'_> {
    /// The registers of an operator's row, in order.
    pub fn produced(&self, rel: &Rel) -> Vec<Reg> {
        let mut regs = Vec::new();
        self.collect_produced(rel, &mut regs);
        regs.sort_unstable();
        regs.dedup();
        regs
    }

    fn collect_produced(&self, rel: &Rel, into: &mut Vec<Reg>) {
        match rel {
            Rel::Empty => {}
            Rel::Join(set) => self.set_regs(set, &mut |r| into.push(r)),
            Rel::Filter { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Limit { input, .. }
            | Rel::ForUpdate { input, .. } => self.collect_produced(input, into),
            Rel::Project { input, exprs, .. } => {
                self.collect_produced(input, into);
                into.extend(exprs.iter().map(|(_, r)| *r));
            }
            Rel::Count { input, reg, .. } => {
                self.collect_produced(input, into);
                into.push(*reg);
            }
            Rel::Distinct { regs, .. } => into.extend(regs),
            Rel::Group { keys, aggs, .. } => {
                into.extend(keys.iter().map(|(_, r)| *r));
                into.extend(aggs.iter().map(|a| a.out));
            }
            Rel::Window { input, funcs } => {
                self.collect_produced(input, into);
                into.extend(funcs.iter().map(|f| f.agg.out));
            }
            Rel::Set { out, .. } => into.extend(out),
            Rel::Connect(c) => {
                into.extend(&c.row);
                into.extend(c.prior.iter().map(|(_, p)| *p));
                into.push(c.level);
                into.extend(c.is_leaf);
                into.extend(c.is_cycle);
                into.extend(c.roots.iter().map(|(_, r)| *r));
                into.extend(c.paths.iter().map(|(_, _, r)| *r));
            }
        }
    }

    /// Calls `f` with each register that a join produces.
    pub fn set_regs(&self, set: &JoinSet, f: &mut dyn FnMut(Reg)) {
        set.parts.iter().filter(|p| !p.link.hides()).for_each(|p| self.part_regs(&p.kind, f));
    }

    /// Calls `f` with each register that a part produces.
    pub fn part_regs(&self, kind: &PartKind, f: &mut dyn FnMut(Reg)) {
        match kind {
            PartKind::Leaf(id) => {
                let item = &self.items[*id];
                if let Some(r) = item.rowid {
                    f(r);
                }
                self.pseudos.get(id).into_iter().flatten().for_each(|(_, r)| f(*r));
                for c in &item.columns {
                    if let Some(Expr { node: Node::Reg(r), .. }) = &c.value {
                        f(*r);
                    }
                }
            }
            PartKind::Set(set) => self.set_regs(set, f),
            PartKind::Full(full) => {
                self.set_regs(&full.0, f);
                self.set_regs(&full.1, f);
            }
        }
    }

    /// Calls `f` with each expression of an operator and of all operators below it, including the trees of views,
    /// without entering subqueries.
    pub fn for_each_expr(&self, rel: &Rel, f: &mut dyn FnMut(&Expr)) {
        match rel {
            Rel::Empty => {}
            Rel::Join(set) => self.for_each_set_expr(set, f),
            Rel::Filter { input, conds } | Rel::Count { input, conds, .. } => {
                conds.iter().for_each(&mut *f);
                self.for_each_expr(input, f);
            }
            Rel::Project { input, exprs, .. } => {
                exprs.iter().for_each(|(e, _)| f(e));
                self.for_each_expr(input, f);
            }
            Rel::Sort { input, keys } => {
                keys.iter().for_each(|k| f(&k.expr));
                self.for_each_expr(input, f);
            }
            Rel::Distinct { input, .. } | Rel::ForUpdate { input, .. } => self.for_each_expr(input, f),
            Rel::Group { input, keys, aggs, .. } => {
                keys.iter().for_each(|(e, _)| f(e));
                aggs.iter().for_each(|agg| agg.for_each_expr(f));
                self.for_each_expr(input, f);
            }
            Rel::Window { input, funcs } => {
                for w in funcs {
                    w.agg.for_each_expr(f);
                    w.partition.iter().for_each(&mut *f);
                    w.order.iter().for_each(|k| f(&k.expr));
                    for b in w.frame.iter().flat_map(|frame| [&frame.start, &frame.end]) {
                        if let Bound::Preceding(e) | Bound::Following(e) = b {
                            f(e);
                        }
                    }
                }
                self.for_each_expr(input, f);
            }
            Rel::Set { inputs, .. } => {
                for (input, out) in inputs {
                    out.iter().for_each(&mut *f);
                    self.for_each_expr(input, f);
                }
            }
            Rel::Connect(c) => {
                self.for_each_set_expr(&c.start, f);
                self.for_each_set_expr(&c.child, f);
                self.for_each_set_expr(&c.memory.base, f);
                c.memory.probe.iter().for_each(|set| self.for_each_set_expr(set, f));
                let memory = &c.memory;
                let lists = [&memory.gate, &memory.row_keys, &memory.prior_keys, &memory.conds];
                lists.into_iter().flatten().for_each(&mut *f);
                c.roots.iter().for_each(|(e, _)| f(e));
                for (value, separator, _) in &c.paths {
                    f(value);
                    f(separator);
                }
                c.siblings.iter().for_each(|k| f(&k.expr));
            }
            Rel::Limit { input, offset, count, ties, .. } => {
                offset.iter().chain(count).for_each(&mut *f);
                ties.iter().for_each(|k| f(&k.expr));
                self.for_each_expr(input, f);
            }
        }
    }

    /// As [`Compiler::for_each_expr`], for a join.
    pub fn for_each_set_expr(&self, set: &JoinSet, f: &mut dyn FnMut(&Expr)) {
        set.conds.iter().for_each(&mut *f);
        for part in &set.parts {
            part.link.for_each(&mut |e| f(e));
            self.for_each_part_expr(&part.kind, f);
        }
    }

    /// As [`Compiler::for_each_expr`], for a part of a join.
    pub fn for_each_part_expr(&self, kind: &PartKind, f: &mut dyn FnMut(&Expr)) {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Derived { rel: Some(rel), out, .. } => {
                    out.iter().for_each(&mut *f);
                    self.for_each_expr(rel, f);
                }
                ItemKind::Elements { value, .. } => f(value),
                _ => {}
            },
            PartKind::Set(set) => self.for_each_set_expr(set, f),
            PartKind::Full(full) => {
                self.for_each_set_expr(&full.0, f);
                self.for_each_set_expr(&full.1, f);
                full.2.iter().for_each(f);
            }
        }
    }
}

impl Agg {
    /// Calls `f` with each expression of the aggregate.
    pub fn for_each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        self.args.iter().for_each(&mut *f);
        self.order.iter().for_each(|k| f(&k.expr));
    }
}
