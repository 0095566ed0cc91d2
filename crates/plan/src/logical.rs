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

use crate::block_names::ItemId;
use crate::ir::*;
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
        recursion: Option<Box<Recursion>>,
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
    pub block: crate::block_names::BlockId,
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
    /// The optional side of an outer join on these conditions.
    pub fn optional(mut set: JoinSet, on: Vec<Expr>) -> Part {
        if set.parts.len() == 1 && set.conds.is_empty() && matches!(set.parts[0].link, Link::Inner) {
            let part = set.parts.pop().expect("one part");
            return Part { kind: part.kind, link: Link::Left(on), rewritten: false };
        }
        Part { kind: PartKind::Set(set), link: Link::Left(on), rewritten: false }
    }

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

impl Agg {
    /// Calls `f` with each expression of the aggregate.
    pub fn for_each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        self.args.iter().for_each(&mut *f);
        self.order.iter().for_each(|k| f(&k.expr));
    }
}
