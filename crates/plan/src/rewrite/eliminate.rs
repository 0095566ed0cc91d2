//! Join elimination: removal of joined tables that do not contribute to the result (P21).
//!
//! A parent joined to its child by a foreign key has exactly one row for each child row with a non-NULL key, so the
//! join is a test for NULL; the same holds for a semijoin. The optional side of an outer join by a unique key has at
//! most one row. In both cases the table is removed if nothing else of it is read. In the other join conditions, the
//! parent's key columns are replaced by the child's, which are equal.
//!
//! The constraint must hold at every moment: enabled, validated and not deferrable. RELY alone does not suffice, as
//! with QUERY_REWRITE_INTEGRITY = ENFORCED. A plan depends on the definitions of its tables with their constraints, so
//! it becomes invalid with the constraint it relies on. Tables read with AS OF or VERSIONS are excluded: their
//! constraints were others. So is a parent of which the statement names a partition, except on the optional side.

use crate::block_names::ItemId;
use crate::ir::*;
use crate::logical::*;
use crate::rewrite::values::{Values, is_movable, stays_small, substitute};
use crate::scope::{Compiler, ItemKind};
use dictionary::{ConstraintDef, ConstraintKindDef, IndexKey, IndexKind, TableDef};
use std::collections::HashMap;
use std::rc::Rc;
use types::DataType;

/// The number of reads of each register.
type Uses = HashMap<Reg, usize>;

/// A column of the parent and the equal column of the child.
struct Pair {
    parent: Reg,
    child: Reg,
    /// Whether one may replace the other.
    same_type: bool,
    nullable: bool,
}

impl Compiler<'_> {
    /// Removes joins from all trees of a query whose output is `out`.
    pub(super) fn eliminate_joins(&mut self, out: &[Expr]) {
        let mut uses = self.uses(out);
        for at in 0..self.subs.len() {
            let mut rel = std::mem::replace(&mut self.subs[at].rel, Rel::Empty);
            self.eliminate_in(&mut rel, &mut uses);
            self.subs[at].rel = rel;
        }
        for at in 0..self.ctes.len() {
            let mut rel = std::mem::replace(&mut self.ctes[at].rel, Rel::Empty);
            self.eliminate_in(&mut rel, &mut uses);
            self.ctes[at].rel = rel;
        }
        if let Some(mut rel) = self.rows.take() {
            self.eliminate_in(&mut rel, &mut uses);
            self.rows = Some(rel);
        }
    }

    fn uses(&self, out: &[Expr]) -> Uses {
        let mut uses = Uses::new();
        let mut read = |r: Reg| *uses.entry(r).or_insert(0) += 1;
        out.iter().for_each(|e| self.expr_regs(e, &mut read));
        let subs = self.subs.iter().map(|sub| (&sub.rel, &sub.out));
        let ctes = self.ctes.iter().map(|cte| (&cte.rel, &cte.out));
        for (rel, out) in subs.chain(ctes) {
            out.iter().for_each(|e| self.expr_regs(e, &mut read));
            self.for_each_read(rel, &mut read);
        }
        if let Some(rel) = &self.rows {
            self.for_each_read(rel, &mut read);
        }
        uses
    }

    /// Calls `f` with each register that an operator, or one below it, reads, including those of views.
    fn for_each_read(&self, rel: &Rel, f: &mut dyn FnMut(Reg)) {
        self.for_each_expr(rel, &mut |e| self.expr_regs(e, f));
        self.for_each_rel(rel, &mut |rel| match rel {
            Rel::Distinct { regs, .. } => regs.iter().for_each(|r| f(*r)),
            Rel::ForUpdate { tables, .. } => tables.iter().for_each(|table| f(table.rowid)),
            Rel::Connect(c) => {
                c.row.iter().for_each(|r| f(*r));
                c.prior.iter().for_each(|(from, _)| f(*from));
            }
            _ => {}
        });
    }

    /// Calls `f` with an operator and all operators below it, including those of views.
    fn for_each_rel<'a>(&'a self, rel: &'a Rel, f: &mut dyn FnMut(&'a Rel)) {
        f(rel);
        match rel {
            Rel::Join(set) => self.for_each_rel_of_set(set, f),
            Rel::Set { inputs, .. } => inputs.iter().for_each(|(input, _)| self.for_each_rel(input, f)),
            Rel::Connect(c) => [&c.start, &c.child, &c.memory.base]
                .into_iter()
                .chain(&c.memory.probe)
                .for_each(|set| self.for_each_rel_of_set(set, f)),
            _ => {
                if let Some(input) = rel.input() {
                    self.for_each_rel(input, f);
                }
            }
        }
    }

    fn for_each_rel_of_set<'a>(&'a self, set: &'a JoinSet, f: &mut dyn FnMut(&'a Rel)) {
        for part in &set.parts {
            match &part.kind {
                PartKind::Leaf(id) => {
                    if let ItemKind::Derived { rel: Some(rel), .. } = &self.items[*id].kind {
                        self.for_each_rel(rel, f);
                    }
                }
                PartKind::Set(set) => self.for_each_rel_of_set(set, f),
                PartKind::Full(full) => {
                    self.for_each_rel_of_set(&full.0, f);
                    self.for_each_rel_of_set(&full.1, f);
                }
            }
        }
    }

    fn eliminate_in(&mut self, rel: &mut Rel, uses: &mut Uses) {
        if os::stack::is_short() {
            return; // As in the other rewrites.
        }
        match rel {
            Rel::Join(set) => self.eliminate_in_set(set, uses),
            Rel::Set { inputs, .. } => inputs.iter_mut().for_each(|(input, _)| self.eliminate_in(input, uses)),
            Rel::Connect(_) => {}
            _ => {
                if let Some(input) = rel.input_mut() {
                    self.eliminate_in(input, uses);
                }
            }
        }
    }

    fn eliminate_in_set(&mut self, set: &mut JoinSet, uses: &mut Uses) {
        for part in &mut set.parts {
            match &mut part.kind {
                PartKind::Leaf(id) => self.eliminate_in_view(*id, uses),
                PartKind::Set(set) => self.eliminate_in_set(set, uses),
                PartKind::Full(full) => {
                    self.eliminate_in_set(&mut full.0, uses);
                    self.eliminate_in_set(&mut full.1, uses);
                }
            }
        }
        while (0..set.parts.len()).any(|at| self.eliminate_part(set, at, uses)) {}
    }

    fn eliminate_in_view(&mut self, id: ItemId, uses: &mut Uses) {
        if let ItemKind::Derived { rel, .. } = &mut self.items[id].kind
            && let Some(mut tree) = rel.take()
        {
            self.eliminate_in(&mut tree, uses);
            if let ItemKind::Derived { rel, .. } = &mut self.items[id].kind {
                *rel = Some(tree);
            }
        }
    }

    /// Removes a part if it does not contribute to the result.
    fn eliminate_part(&self, set: &mut JoinSet, at: usize, uses: &mut Uses) -> bool {
        let PartKind::Leaf(id) = set.parts[at].kind else { return false };
        let Some(table) = self.plain_table(id) else { return false };
        if self.items[id].rowid.is_some() || !self.is_elimination_wanted(id, set) {
            return false;
        }
        match &set.parts[at].link {
            Link::Inner | Link::Semi(_) => self.eliminate_parent(set, at, id, &table, uses),
            Link::Left(on) => {
                let gone = self.is_unread_beside(id, on.iter(), uses)
                    && on.iter().all(is_movable)
                    && self.has_one_match(id, &table, on);
                if gone {
                    on.iter().for_each(|c| self.forget_uses(c, uses));
                    set.parts.remove(at);
                }
                gone
            }
            Link::Anti(_) | Link::AntiNulls { .. } => false,
        }
    }

    /// The table of an item, if it is read with its current definition.
    fn plain_table(&self, id: ItemId) -> Option<Rc<TableDef>> {
        let ItemKind::Table(table) = &self.items[id].kind else { return None };
        let of_the_past = self.as_of_items.contains_key(&id) || self.version_items.contains_key(&id);
        (!of_the_past && !self.pseudos.contains_key(&id)).then(|| Rc::clone(table))
    }

    fn is_elimination_wanted(&self, id: ItemId, set: &JoinSet) -> bool {
        let alias = &self.items[id].alias;
        let hinted =
            |name: &str| set.hints.iter().any(|h| h.name == name && (h.args.is_empty() || h.args.contains(alias)));
        !hinted("NO_ELIMINATE_JOIN") && (!self.keeps_joins || hinted("ELIMINATE_JOIN"))
    }

    fn column_reg(&self, id: ItemId, column: usize) -> Option<Reg> {
        match self.items[id].columns.get(column)?.value {
            Some(Expr { node: Node::Reg(r), .. }) => Some(r),
            _ => None,
        }
    }

    /// The number of times that conditions read a register directly, not in a subquery.
    fn reads_in<'e>(conds: impl Iterator<Item = &'e Expr>, reg: Reg) -> usize {
        let mut n = 0;
        conds.for_each(|c| c.walk(&mut |e| n += usize::from(e.node == Node::Reg(reg))));
        n
    }

    /// Whether only these conditions read columns of the item.
    fn is_unread_beside<'e>(&self, id: ItemId, conds: impl Iterator<Item = &'e Expr> + Clone, uses: &Uses) -> bool {
        let mut unread = true;
        self.part_regs(&PartKind::Leaf(id), &mut |r| {
            let all = uses.get(&r).copied().unwrap_or(0);
            unread &= all == Self::reads_in(conds.clone(), r);
        });
        unread
    }

    fn forget_uses(&self, c: &Expr, uses: &mut Uses) {
        self.expr_regs(c, &mut |r| {
            if let Some(n) = uses.get_mut(&r) {
                *n = n.saturating_sub(1);
            }
        });
    }

    fn eliminate_parent(&self, set: &mut JoinSet, at: usize, id: ItemId, table: &TableDef, uses: &mut Uses) -> bool {
        // One partition does not have a row for each row of the child.
        if self.partition_items.contains_key(&id) {
            return false;
        }
        let is_semi = matches!(set.parts[at].link, Link::Semi(_));
        let conds = match &set.parts[at].link {
            Link::Semi(on) => on,
            _ => &set.conds,
        };
        if !self.is_unread_beside(id, conds.iter(), uses) {
            return false;
        }
        let mut regs = Vec::new();
        self.part_regs(&PartKind::Leaf(id), &mut |r| regs.push(r));
        let reads_parent = |c: &Expr| regs.iter().any(|r| self.reads_reg(c, *r));
        let found = set.parts.iter().enumerate().filter(|(n, _)| *n != at).find_map(|(_, part)| {
            let (PartKind::Leaf(child), Link::Inner) = (&part.kind, &part.link) else { return None };
            let pairs = self.pairs_of_key(*child, id, table, conds)?;
            let values: Values = pairs.iter().map(|p| (p.parent, self.reg_of(*child, p))).collect();
            // Whether a condition can be written with the child's columns.
            let is_said_of_child = |c: &Expr| {
                let mut known = true;
                self.expr_regs(c, &mut |r| known &= !regs.contains(&r) || pairs.iter().any(|p| p.is_for(r)));
                is_pair(c, &pairs) || known && is_movable(c) && stays_small(c, &values)
            };
            conds.iter().filter(|c| reads_parent(c)).all(is_said_of_child).then_some((pairs, values))
        });
        let Some((pairs, values)) = found else { return false };
        let taken = match &mut set.parts[at].link {
            Link::Semi(on) => std::mem::take(on),
            _ => std::mem::take(&mut set.conds),
        };
        for mut c in taken {
            if is_pair(&c, &pairs) {
                self.forget_uses(&c, uses);
                continue;
            }
            if reads_parent(&c) {
                self.forget_uses(&c, uses);
                substitute(&mut c, &values);
                if set.conds.contains(&c) {
                    continue;
                }
                self.expr_regs(&c, &mut |r| *uses.entry(r).or_insert(0) += 1);
            } else if is_semi && set.conds.contains(&c) {
                self.forget_uses(&c, uses);
                continue;
            }
            set.conds.push(c);
        }
        for pair in pairs.iter().filter(|pair| pair.nullable) {
            let Some(value) = values.get(&pair.parent) else { continue };
            let known = Expr::new(Node::IsNull(Box::new(value.clone()), true), DataType::Boolean);
            if !set.conds.contains(&known) {
                *uses.entry(pair.child).or_insert(0) += 1;
                set.conds.push(known);
            }
        }
        set.parts.remove(at);
        true
    }

    /// The column of a child in a pair.
    fn reg_of(&self, child: ItemId, pair: &Pair) -> Expr {
        let column = self.items[child].columns.iter().find_map(|c| match &c.value {
            Some(value) if value.node == Node::Reg(pair.child) => Some(value.clone()),
            _ => None,
        });
        column.unwrap_or_else(|| Expr::new(Node::Reg(pair.child), DataType::Null))
    }

    /// The column pairs of a foreign key between two items, if conditions equate all of them.
    fn pairs_of_key(&self, child: ItemId, parent: ItemId, table: &TableDef, conds: &[Expr]) -> Option<Vec<Pair>> {
        let def = self.plain_table(child)?;
        def.constraints.iter().filter(|c| always_holds(c)).find_map(|c| {
            let ConstraintKindDef::ForeignKey { columns, table: refers_to, key, on_delete: _ } = &c.kind else {
                return None;
            };
            if *refers_to != table.object {
                return None;
            }
            let key = table.constraints.iter().find(|k| k.id == *key && always_holds(k))?;
            let parents = match &key.kind {
                ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. } => columns,
                _ => return None,
            };
            if parents.len() != columns.len() {
                return None;
            }
            let pair = |(of_child, of_parent): (&usize, &usize)| {
                let (a, b) = (def.columns.get(*of_child)?, table.columns.get(*of_parent)?);
                Some(Pair {
                    parent: self.column_reg(parent, *of_parent)?,
                    child: self.column_reg(child, *of_child)?,
                    same_type: a.data_type == b.data_type,
                    nullable: a.nullable,
                })
            };
            let pairs: Vec<Pair> = columns.iter().zip(parents).map(pair).collect::<Option<_>>()?;
            let is_joined = |pair: &Pair| conds.iter().any(|c| is_pair(c, std::slice::from_ref(pair)));
            pairs.iter().all(is_joined).then_some(pairs)
        })
    }

    /// Whether conditions equate all columns of a unique key with values that do not come from the table itself.
    fn has_one_match(&self, id: ItemId, table: &TableDef, on: &[Expr]) -> bool {
        let is_given = |column: usize| {
            let Some(reg) = self.column_reg(id, column) else { return false };
            on.iter().any(|c| {
                let Node::Cmp(CmpOp::Eq, how, a, b) = &c.node else { return false };
                // VARCHAR2 values that differ in trailing blanks are different keys.
                let exact = match how {
                    Compare::Plain => true,
                    Compare::Padded => matches!(table.columns[column].data_type, DataType::Char { .. }),
                    Compare::Dynamic => false,
                };
                let is_key = |a: &Expr, b: &Expr| {
                    let mut own = false;
                    self.part_regs(&PartKind::Leaf(id), &mut |r| own |= self.reads_reg(b, r));
                    a.node == Node::Reg(reg) && !own
                };
                exact && (is_key(a, b) || is_key(b, a))
            })
        };
        let of_constraint = |c: &ConstraintDef| match &c.kind {
            ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. } => {
                always_holds(c) && columns.iter().all(|column| is_given(*column))
            }
            _ => false,
        };
        table.constraints.iter().any(of_constraint)
            || table.indexes.iter().any(|index| {
                let column = |key: &IndexKey| matches!(key, IndexKey::Column(column) if is_given(*column));
                index.unique
                    && index.is_usable()
                    && !index.building
                    && index.kind == IndexKind::Normal
                    && index.columns.iter().all(|c| column(&c.key))
            })
    }
}

impl Pair {
    /// Whether a register is the parent's column and the child's may replace it.
    fn is_for(&self, reg: Reg) -> bool {
        self.parent == reg && self.same_type
    }
}

/// Whether a condition only equates the columns of a pair.
fn is_pair(c: &Expr, pairs: &[Pair]) -> bool {
    let Node::Cmp(CmpOp::Eq, Compare::Plain | Compare::Padded, a, b) = &c.node else { return false };
    let (Node::Reg(a), Node::Reg(b)) = (&a.node, &b.node) else { return false };
    pairs.iter().any(|p| (p.parent, p.child) == (*a, *b) || (p.child, p.parent) == (*a, *b))
}

/// Whether a constraint holds for all rows at every moment.
fn always_holds(c: &ConstraintDef) -> bool {
    c.enabled && c.validated && !c.deferrable
}
