//! Unnesting: subqueries become row sources of the enclosing join.
//!
//! | condition | becomes |
//! |---|---|
//! | `EXISTS (…)`, `x IN (…)` | a semijoin |
//! | `NOT EXISTS (…)`; `x NOT IN (…)` where nothing can be NULL | an antijoin |
//! | `x NOT IN (…)` | an antijoin to which an unknown comparison is a match |
//! | `x < ANY (…)`, correlated, any comparison | a semijoin by the comparison too |
//! | `x < ALL (…)`, correlated, any comparison | an antijoin: no row refutes it, or leaves it unknown by a NULL |
//! | `(SELECT aggregate(…) … WHERE inner = outer)` | an outer join with the groups of the inner column |
//!
//! EXISTS and correlated IN, ANY and ALL are unnested if their query is a plain join in which only conditions read
//! outer rows, at least one of them by `=`, `<`, `<=`, `>` or `>=`. IN with any other query becomes a joined view. ANY
//! and ALL with an uncorrelated query stay: the least and the greatest value of one execution answer them. The
//! comparisons with outer columns become join conditions, which the physical planner runs as a hash join, as a merge
//! join by ranges, or row by row through an index.
//!
//! Aggregates are unnested in conditions, in select lists and in GROUP BY. They can be computed for all groups or for
//! one group at a time, so the costs are compared here. In a select list below ROWNUM or FETCH FIRST, which may need
//! few of them, they stay.
//!
//! The names of views are Oracle's: VW_NSO_n for an IN, VW_SQ_n for an aggregate.

use crate::block_names::ItemId;
use crate::ir::*;
use crate::logic::{flatten_and, or};
use crate::logical::*;
use crate::rewrite::values::{Values, is_movable, substitute};
use crate::scope::{Compiler, Item, ItemKind};
use std::collections::HashSet;
use types::{DataType, Value};

/// The use of a subquery in a condition.
enum Asked {
    Exists {
        negated: bool,
    },
    In {
        values: Vec<Expr>,
        compare: Vec<Compare>,
        negated: bool,
    },
    /// `value op ANY | ALL`
    Quantified {
        op: CmpOp,
        all: bool,
        value: Expr,
        compare: Compare,
    },
}

impl Compiler<'_> {
    /// Unnests subqueries among the conditions of a join.
    pub(super) fn unnest(&mut self, set: &mut JoinSet) {
        if !set.conds.iter().any(Expr::has_subquery) {
            return;
        }
        let mut conds = Vec::new();
        for c in std::mem::take(&mut set.conds) {
            flatten_and(c, &mut conds);
        }
        // Conditions without a subquery come first: they may prove that a value is not NULL.
        let (conds, plain): (Vec<_>, Vec<_>) = conds.into_iter().partition(Expr::has_subquery);
        set.conds = plain;
        let mut kept = Vec::new();
        for mut c in conds {
            let done = match asked(&c) {
                Some((sub, asked)) if !self.column_subs.contains(&sub) => self.unnest_one(set, sub, asked),
                _ => false,
            };
            if !done {
                self.unnest_aggregates(set, &mut [&mut c], false);
                kept.push(c);
            }
        }
        set.conds.extend(kept);
    }

    fn unnest_one(&mut self, set: &mut JoinSet, sub: SubId, asked: Asked) -> bool {
        let own = self.own_regs(set);
        let LogicalSub { rel, out, .. } = &self.subs[sub];
        let (rel, mut out) = (rel.clone(), out.clone());
        let plain = plain_join(rel, &mut out);
        let inner_block = plain.as_ref().map_or(0, |inner| inner.block);
        let link = match (plain, &asked) {
            (Ok(inner), _) if is_kept(&inner) => return false,
            (Ok(inner), _) => self.as_part(set, inner, out, &asked, &own),
            (Err(rel), Asked::In { .. }) => self.as_view(*rel, out, &asked, &own),
            (Err(_), Asked::Exists { .. } | Asked::Quantified { .. }) => None,
        };
        let Some((part, hints)) = link else { return false };
        // The compared values must come from row sources that are joined before.
        set.parts.push(part);
        set.hints.extend(hints);
        set.block = self.query_blocks.merged(set.block, inner_block);
        self.forget_sub(sub);
        true
    }

    /// Drops a subquery that is no longer used.
    fn forget_sub(&mut self, sub: SubId) {
        let LogicalSub { rel, out, outer, .. } = &mut self.subs[sub];
        *rel = Rel::Empty;
        out.clear();
        outer.clear();
    }

    fn own_regs(&self, set: &JoinSet) -> HashSet<Reg> {
        let mut own = HashSet::new();
        self.set_regs(set, &mut |r| {
            own.insert(r);
        });
        own
    }

    fn reads_any(&self, e: &Expr, regs: &HashSet<Reg>) -> bool {
        let mut found = false;
        self.expr_regs(e, &mut |r| found |= regs.contains(&r));
        found
    }

    /// Whether only conditions of a join read these registers, and none of its parts.
    fn only_conditions_read(&self, inner: &JoinSet, own: &HashSet<Reg>) -> bool {
        let mut reads = false;
        for part in &inner.parts {
            part.link.for_each(&mut |e| reads |= self.reads_any(e, own));
            self.for_each_part_expr(&part.kind, &mut |e| reads |= self.reads_any(e, own));
            if let PartKind::Leaf(id) = part.kind
                && let ItemKind::Derived { lateral, .. } = &self.items[id].kind
            {
                reads |= lateral.iter().any(|r| own.contains(r));
            }
        }
        !reads
    }

    /// Turns a plain join into a part, joined by the comparisons of the subquery.
    fn as_part(
        &mut self,
        set: &JoinSet,
        mut inner: JoinSet,
        out: Vec<Expr>,
        asked: &Asked,
        own: &HashSet<Reg>,
    ) -> Option<(Part, Vec<sql::ast::Hint>)> {
        if inner.parts.is_empty() || !self.only_conditions_read(&inner, own) || inner.conds.iter().any(Expr::varies) {
            return None;
        }
        let within = self.own_regs(&inner);
        let compared = self.comparisons(asked, &out)?;
        let (across, local): (Vec<_>, Vec<_>) =
            std::mem::take(&mut inner.conds).into_iter().partition(|c| self.reads_any(c, own));
        // One side of a comparison must read only the outer row, the other only the inner one.
        let joins = |c: &Expr| match &c.node {
            Node::Cmp(CmpOp::Eq | CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge, Compare::Plain, a, b) => {
                let sides = [(a, b), (b, a)];
                sides.iter().any(|(x, y)| {
                    self.reads_any(x, &within)
                        && !self.reads_any(x, own)
                        && !self.reads_any(y, &within)
                        && self.reads_any(y, own)
                        && !x.has_subquery()
                        && !y.has_subquery()
                })
            }
            _ => false,
        };
        let is_exact =
            |pair: &(Expr, Expr)| self.never_null(&pair.1, &inner, &local) && self.never_null(&pair.0, set, &set.conds);
        let exact = compared.iter().all(|(pair, _)| is_exact(pair));
        let is_correlated = !across.is_empty() || out.iter().any(|e| self.reads_any(e, own));
        let op = match asked {
            Asked::Quantified { value, .. } if !is_correlated || out.iter().any(Expr::varies) || !is_movable(value) => {
                return None;
            }
            Asked::Quantified { op, all: false, .. } => Some(*op),
            Asked::Quantified { op, all: true, .. } => exact.then(|| op.negate()),
            Asked::Exists { .. } | Asked::In { .. } => Some(CmpOp::Eq),
        };
        let is_joined = |(pair, how): &((Expr, Expr), Compare)| op.is_some_and(|op| joins(&compare(op, *how, pair)));
        if !across.iter().any(joins) && !compared.iter().any(is_joined) {
            return None;
        }
        let hints: Vec<_> =
            inner.hints.iter().filter(|h| h.name != "LEADING" && h.name != "ORDERED").cloned().collect();
        let single = inner.parts.len() == 1 && matches!(inner.parts[0].link, Link::Inner);
        let (kind, mut on) = if single {
            (inner.parts.pop()?.kind, local)
        } else {
            inner.conds = local;
            (PartKind::Set(inner), Vec::new())
        };
        on.extend(across);
        Some((
            Part { kind, link: link_of(asked, compared, on, exact)?, rewritten: true },
            if single { hints } else { Vec::new() },
        ))
    }

    /// Turns a query of another form into a joined view.
    fn as_view(
        &mut self,
        rel: Rel,
        out: Vec<Expr>,
        asked: &Asked,
        own: &HashSet<Reg>,
    ) -> Option<(Part, Vec<sql::ast::Hint>)> {
        let mut correlated = out.iter().any(|e| self.reads_any(e, own));
        self.for_each_expr(&rel, &mut |e| correlated |= self.reads_any(e, own));
        if correlated || self.reads_lateral(&rel, own) {
            return None;
        }
        let compared = self.comparisons(asked, &out)?;
        if compared.iter().any(|((value, _), how)| *how != Compare::Plain || !self.reads_any(value, own)) {
            return None;
        }
        let id = self.new_view("VW_NSO", rel, compared.iter().map(|((_, out), _)| out.clone()).collect());
        let columns: Vec<Expr> = self.items[id].columns.iter().filter_map(|c| c.value.clone()).collect();
        let compared = compared.into_iter().zip(columns).map(|(((value, _), how), column)| ((value, column), how));
        let link = link_of(asked, compared.collect(), Vec::new(), false)?;
        Some((Part { kind: PartKind::Leaf(id), link, rewritten: true }, Vec::new()))
    }

    fn reads_lateral(&self, rel: &Rel, own: &HashSet<Reg>) -> bool {
        match rel {
            Rel::Join(set) => !self.only_conditions_read(set, own),
            Rel::Set { inputs, .. } => inputs.iter().any(|(input, _)| self.reads_lateral(input, own)),
            other => other.input().is_some_and(|input| self.reads_lateral(input, own)),
        }
    }

    /// The compared pairs (outer value, subquery value), with their comparison rules.
    fn comparisons(&self, asked: &Asked, out: &[Expr]) -> Option<Vec<((Expr, Expr), Compare)>> {
        let (values, compare) = match asked {
            Asked::Exists { .. } => return Some(Vec::new()),
            Asked::In { values, compare, .. } => (&values[..], &compare[..]),
            Asked::Quantified { value, compare, .. } => (std::slice::from_ref(value), std::slice::from_ref(compare)),
        };
        if compare.contains(&Compare::Dynamic) || values.len() != out.len() || values.iter().any(Expr::has_subquery) {
            return None;
        }
        let pair = |((value, out), how): ((&Expr, &Expr), &Compare)| {
            (crate::typing::instants(value.clone(), out.clone()), *how)
        };
        Some(values.iter().zip(out).zip(compare).map(pair).collect())
    }

    /// Whether a value of a join is never NULL: a NOT NULL column of a row source that no outer join fills.
    fn never_null(&self, e: &Expr, set: &JoinSet, conds: &[Expr]) -> bool {
        if let Node::Reg(_) = e.node
            && conds.iter().any(|c| matches!(&c.node, Node::IsNull(value, true) if **value == *e))
        {
            return true;
        }
        let kept = set.parts.iter().filter(|part| matches!(part.link, Link::Inner));
        kept.filter_map(|part| match part.kind {
            PartKind::Leaf(id) => Some(id),
            _ => None,
        })
        .any(|id| self.is_not_null_of(id, e))
            || matches!(&e.node, Node::Const(value) if !value.is_null())
    }

    fn is_not_null_of(&self, id: ItemId, e: &Expr) -> bool {
        let item = &self.items[id];
        let ItemKind::Table(table) = &item.kind else { return false };
        let columns = item.columns.iter().zip(&table.columns);
        columns.filter(|(_, def)| !def.nullable).any(|(c, _)| c.value.as_ref() == Some(e))
    }

    /// A view with these columns, which get new registers.
    fn new_view(&mut self, prefix: &str, rel: Rel, out: Vec<Expr>) -> ItemId {
        self.made_views += 1;
        let columns = (1..)
            .zip(&out)
            .map(|(n, e)| {
                let value = Some(Expr::new(Node::Reg(self.new_reg()), e.ty));
                let name = format!("$nso_col_{n}");
                crate::scope::ItemColumn { value, ..crate::items::item_column(&name, e.ty, true) }
            })
            .collect();
        let alias = format!("{prefix}_{}", self.made_views);
        let kind = ItemKind::Derived { rel: Some(Box::new(rel)), out, lateral: Vec::new() };
        self.items.push(Item { alias, schema: None, kind, columns, rowid: None });
        self.items.len() - 1
    }

    /// Replaces the correlated aggregates in expressions over a join's rows by joins with groups: in conditions, in a
    /// select list, in GROUP BY. `are_all`: no other expression reads the rows, apart from the join's own conditions.
    fn unnest_aggregates(&mut self, set: &mut JoinSet, values: &mut [&mut Expr], are_all: bool) {
        let mut found = Vec::new();
        for value in values.iter() {
            always_asked(value, &mut found);
        }
        for sub in found {
            // A subquery in a column of a merged view may also be used elsewhere, and is still needed there.
            if self.column_subs.contains(&sub) && (!are_all || self.is_asked_in(set, sub)) {
                continue;
            }
            if let Some(value) = self.unnest_aggregate(set, sub) {
                values.iter_mut().for_each(|e| replace_scalar(e, sub, &value));
                self.forget_sub(sub);
            }
        }
    }

    /// Whether a condition or a part of a join, or another subquery, uses a subquery.
    fn is_asked_in(&self, set: &JoinSet, sub: SubId) -> bool {
        let mut asked = false;
        let mut look = |e: &Expr| e.each_subquery(&mut |s| asked |= s == sub);
        self.for_each_set_expr(set, &mut look);
        for other in &self.subs {
            other.out.iter().for_each(&mut look);
            self.for_each_expr(&other.rel, &mut look);
        }
        asked
    }

    /// As [`Compiler::unnest_aggregates`], for the expressions over a tree's rows. A tree that ends early may need few
    /// of the aggregates.
    pub(super) fn unnest_in_list(&mut self, rel: &mut Rel, out: &mut [Expr]) {
        match rel {
            Rel::Join(set) => self.unnest_aggregates(set, &mut out.iter_mut().collect::<Vec<_>>(), true),
            Rel::Sort { input, keys } if !keys.iter().any(|key| key.expr.has_subquery()) => {
                self.unnest_in_list(input, out);
            }
            _ => {}
        }
    }

    /// As [`Compiler::unnest_aggregates`], for the keys and arguments of GROUP BY.
    pub(super) fn unnest_in_groups(&mut self, rel: &mut Rel) {
        let Rel::Group { input, keys, sets: _, aggs, scalar: _ } = rel else { return };
        let Rel::Join(set) = &mut **input else { return };
        let mut values: Vec<&mut Expr> = keys.iter_mut().map(|(key, _)| key).collect();
        for agg in aggs {
            values.extend(agg.args.iter_mut().chain(agg.order.iter_mut().map(|key| &mut key.expr)));
        }
        if values.iter().any(|value| value.has_subquery()) {
            self.unnest_aggregates(set, &mut values, true);
        }
    }

    fn unnest_aggregate(&mut self, set: &mut JoinSet, sub: SubId) -> Option<Expr> {
        let own = self.own_regs(set);
        let LogicalSub { rel, out, outer, steady: _, multiset } = &self.subs[sub];
        if multiset.is_some() || !outer.iter().any(|r| own.contains(r)) {
            return None;
        }
        let (rel, mut out) = (rel.clone(), out.clone());
        let Rel::Group { input, keys, aggs, scalar: true, .. } = without_project(rel, &mut out) else { return None };
        let Rel::Join(mut inner) = *input else { return None };
        if !keys.is_empty() || is_kept(&inner) || !self.only_conditions_read(&inner, &own) {
            return None;
        }
        let mut reads = false;
        aggs.iter().for_each(|agg| agg.for_each_expr(&mut |e| reads |= self.reads_any(e, &own) || e.has_subquery()));
        if reads || out.iter().any(Expr::has_subquery) {
            return None;
        }
        let within = self.own_regs(&inner);
        let (across, local): (Vec<_>, Vec<_>) =
            std::mem::take(&mut inner.conds).into_iter().partition(|c| self.reads_any(c, &own));
        let mut pairs = Vec::new();
        for c in &across {
            let Node::Cmp(CmpOp::Eq, Compare::Plain, a, b) = &c.node else { return None };
            let of = |e: &Expr, regs: &HashSet<Reg>| self.reads_any(e, regs);
            let (inside, outside) = [(a, b), (b, a)]
                .into_iter()
                .find(|(x, y)| of(x, &within) && !of(x, &own) && of(y, &own) && !of(y, &within))?;
            if inside.has_subquery() || outside.has_subquery() {
                return None;
            }
            pairs.push(((**inside).clone(), (**outside).clone()));
        }
        inner.conds = local;
        let mut group_keys = Vec::new();
        for (inside, _) in &pairs {
            group_keys.push((inside.clone(), self.new_reg()));
        }
        let sets = vec![(0..group_keys.len()).collect()];
        let mut columns: Vec<Expr> = group_keys.iter().map(|(e, r)| Expr::new(Node::Reg(*r), e.ty)).collect();
        columns.extend(aggs.iter().map(|agg| Expr::new(Node::Reg(agg.out), agg.ty)));
        let grouped =
            Rel::Group { input: Box::new(Rel::Join(inner)), keys: group_keys, sets, aggs: aggs.clone(), scalar: false };
        if !self.groups_pay(set, sub, &grouped) {
            return None;
        }
        let id = self.new_view("VW_SQ", grouped, columns);
        let values: Vec<Expr> = self.items[id].columns.iter().filter_map(|c| c.value.clone()).collect();
        let (key_values, agg_values) = values.split_at(pairs.len());
        let boolean = DataType::Boolean;
        let on = pairs.iter().zip(key_values).map(|((_, outside), key)| {
            let eq = Node::Cmp(CmpOp::Eq, Compare::Plain, Box::new(key.clone()), Box::new(outside.clone()));
            Expr::new(eq, boolean)
        });
        let on: Vec<Expr> = on.collect();
        set.parts.push(Part { kind: PartKind::Leaf(id), link: Link::Left(on), rewritten: false });
        // Over no rows, a count is zero and any other aggregate NULL.
        let stand_in = |(agg, value): (&Agg, &Expr)| {
            let counts = matches!(agg.kind, AggKind::Count | AggKind::CountStar);
            let zero = Expr::new(Node::Const(Value::Number(0.into())), value.ty);
            let made = if counts { Node::Coalesce(vec![value.clone(), zero]) } else { value.node.clone() };
            (agg.out, Expr::new(made, value.ty))
        };
        let values: Values = aggs.iter().zip(agg_values).map(stand_in).collect();
        let mut value = out.pop()?;
        substitute(&mut value, &values);
        Some(value)
    }

    /// Whether computing all groups costs less than one group for each combination of outer values. A condition with a
    /// subquery is assumed to have the default selectivity.
    fn groups_pay(&mut self, set: &JoinSet, sub: SubId, grouped: &Rel) -> bool {
        self.learn_columns();
        let own = self.own_regs(set);
        let outer: Vec<Reg> = self.subs[sub].outer.iter().copied().filter(|r| own.contains(r)).collect();
        let mut around = set.clone();
        around.conds.retain(|c| !c.has_subquery());
        let kept = crate::estimate::UNKNOWN.powi((set.conds.len() - around.conds.len()) as i32);
        let inside = self.subs[sub].rel.clone();
        let (Ok(rows), Ok(one), Ok(all)) = (self.plan_set(&around), self.plan_rel(&inside), self.plan_rel(grouped))
        else {
            return false;
        };
        let runs = self.distinct_of(&outer, (rows.rows * kept).max(1.0));
        all.cost < runs * one.cost
    }
}

/// The subquery of a condition that consists of nothing else.
fn asked(c: &Expr) -> Option<(SubId, Asked)> {
    match &c.node {
        Node::Exists(sub) => Some((*sub, Asked::Exists { negated: false })),
        Node::Not(inner) => match &inner.node {
            Node::Exists(sub) => Some((*sub, Asked::Exists { negated: true })),
            _ => None,
        },
        Node::InSub { values, sub, compare, negated, single: false } => {
            let asked = Asked::In { values: values.clone(), compare: compare.clone(), negated: *negated };
            Some((*sub, asked))
        }
        Node::Quantified { op, compare, all, value, sub } => {
            let asked = Asked::Quantified { op: *op, all: *all, value: (**value).clone(), compare: *compare };
            Some((*sub, asked))
        }
        _ => None,
    }
}

fn compare(op: CmpOp, how: Compare, (value, out): &(Expr, Expr)) -> Expr {
    Expr::new(Node::Cmp(op, how, Box::new(value.clone()), Box::new(out.clone())), DataType::Boolean)
}

/// The link of a part for this use of the subquery. `exact`: no comparison can be UNKNOWN.
fn link_of(asked: &Asked, compared: Vec<((Expr, Expr), Compare)>, mut on: Vec<Expr>, exact: bool) -> Option<Link> {
    let equal = |(pair, how): ((Expr, Expr), Compare)| compare(CmpOp::Eq, how, &pair);
    Some(match asked {
        Asked::Exists { negated: false } => Link::Semi(on),
        Asked::Exists { negated: true } => Link::Anti(on),
        Asked::In { negated: false, .. } => {
            on.extend(compared.into_iter().map(equal));
            Link::Semi(on)
        }
        Asked::In { negated: true, .. } if exact => {
            on.extend(compared.into_iter().map(equal));
            Link::Anti(on)
        }
        Asked::Quantified { op, all: false, .. } => {
            on.extend(compared.iter().map(|(pair, how)| compare(*op, *how, pair)));
            Link::Semi(on)
        }
        Asked::Quantified { op, all: true, .. } => {
            on.extend(compared.into_iter().map(|(pair, how)| {
                let refuted = compare(op.negate(), how, &pair);
                if exact {
                    return refuted;
                }
                let is_null = |e: Expr| Expr::new(Node::IsNull(Box::new(e), false), DataType::Boolean);
                or(vec![refuted, is_null(pair.0), is_null(pair.1)])
            }));
            Link::Anti(on)
        }
        Asked::In { .. } => {
            if compared.iter().any(|(_, how)| *how != Compare::Plain) {
                return None;
            }
            Link::AntiNulls { pairs: compared.into_iter().map(|(pair, _)| pair).collect(), on }
        }
    })
}

/// The join that a query consists of, ignoring parts that do not affect the existence of a row: DISTINCT, ORDER BY, and
/// computed values, which are then put into `out`. `Err`: a query of another form.
fn plain_join(rel: Rel, out: &mut [Expr]) -> Result<JoinSet, Box<Rel>> {
    let shape = &rel;
    let mut at = shape;
    loop {
        match at {
            Rel::Sort { input, .. } | Rel::Distinct { input, .. } | Rel::Project { input, .. } => at = input,
            Rel::Join(_) => break,
            _ => return Err(Box::new(rel)),
        }
    }
    let mut rel = rel;
    loop {
        rel = match rel {
            Rel::Sort { input, .. } | Rel::Distinct { input, .. } => *input,
            Rel::Project { input, exprs, .. } => {
                let values: Values = exprs.into_iter().map(|(e, r)| (r, e)).collect();
                out.iter_mut().for_each(|e| substitute(e, &values));
                *input
            }
            Rel::Join(set) => return Ok(set),
            other => return Err(Box::new(other)),
        }
    }
}

fn without_project(rel: Rel, out: &mut [Expr]) -> Rel {
    match rel {
        Rel::Project { input, exprs, .. } => {
            let values: Values = exprs.into_iter().map(|(e, r)| (r, e)).collect();
            out.iter_mut().for_each(|e| substitute(e, &values));
            without_project(*input, out)
        }
        other => other,
    }
}

/// Whether a hint in the subquery forbids unnesting.
fn is_kept(inner: &JoinSet) -> bool {
    inner.hints.iter().any(|h| h.name == "NO_UNNEST")
}

/// The scalar subqueries that are evaluated in any case: of CASE and COALESCE only the first operand counts. Other
/// subqueries must not run for rows that do not need them, because they may fail.
fn always_asked(e: &Expr, found: &mut Vec<SubId>) {
    match &e.node {
        Node::Scalar(sub) if !found.contains(sub) => found.push(*sub),
        Node::Case(arms, _) => arms.iter().take(1).for_each(|(condition, _)| always_asked(condition, found)),
        Node::Coalesce(list) => list.iter().take(1).for_each(|e| always_asked(e, found)),
        _ => e.for_each_child(&mut |child| always_asked(child, found)),
    }
}

/// Replaces a scalar subquery by a value.
fn replace_scalar(e: &mut Expr, sub: SubId, value: &Expr) {
    if matches!(e.node, Node::Scalar(s) if s == sub) {
        *e = value.clone();
        return;
    }
    e.for_each_child_mut(&mut |child| replace_scalar(child, sub, value));
}
