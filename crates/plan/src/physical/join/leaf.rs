//! The parts of a join: a table, a view, a nested join. A view or a nested join is a tree of its own ([`PlanTree`]).

use super::*;
use crate::block_names::ItemId;
use crate::physical::planned::PlanTree;

/// Most branches of an OR that are expanded to index scans.
const BRANCHES_MAX: usize = 8;

impl Compiler<'_> {
    pub(super) fn plan_part(&mut self, kind: &PartKind, conds: Vec<Expr>, hints: &[ast::Hint]) -> Result<Planned> {
        match kind {
            PartKind::Leaf(id) => self.plan_leaf(*id, conds, hints),
            PartKind::Set(set) => self.plan_nested(set, &conds),
            PartKind::Full(full) => {
                let Planned { source, rows, cost } = self.plan_full(&full.0, &full.1, &full.2)?;
                let rows = self.kept(&conds, rows);
                Ok(Planned::new(filter(source, conds), rows, cost))
            }
        }
    }

    /// A full outer join: a hash join of two sets.
    fn plan_full(&mut self, left: &JoinSet, right: &JoinSet, on: &[Expr]) -> Result<Planned> {
        let mut owner = HashMap::new();
        for (side, set) in [(0, left), (1, right)] {
            self.set_regs(set, &mut |r| {
                owner.insert(r, side);
            });
        }
        let is_key = |(at, c): (usize, &Expr)| Some((at, self.hash_key(c, 2, &owner)?));
        let keys: Vec<_> = on.iter().enumerate().filter_map(is_key).collect();
        let (l, r) = (self.plan_nested(left, &[])?, self.plan_nested(right, &[])?);
        let rows = l.rows + r.rows;
        let cost = l.cost + r.cost + cost::hash_join(r.rows, l.rows, rows);
        let build = if r.rows <= l.rows { Side::Right } else { Side::Left };
        let source = hash_join(l.source, r.source, JoinKind::Full, build, on.to_vec(), keys);
        Ok(Planned::new(source, rows, cost))
    }

    /// The row source of one item, with the conditions that can be checked on it.
    pub(super) fn plan_leaf(&mut self, id: ItemId, conds: Vec<Expr>, hints: &[ast::Hint]) -> Result<Planned> {
        let alias = self.items[id].alias.clone();
        let columns = self.read_columns(id);
        let rowid = self.items[id].rowid;
        let of = |planned: Planned, conds: Vec<Expr>, c: &Self| {
            let rows = c.kept(&conds, planned.rows);
            let cost = planned.cost + cost::filter(planned.rows, conds.len());
            Planned::new(filter(planned.source, conds), rows, cost)
        };
        Ok(match &mut self.items[id].kind {
            ItemKind::Table(t) => {
                let table = t.clone();
                let choice = self.choose_access(id, &table, &conds, Some(&columns), hints);
                if let Some(expanded) = self.expand_or(id, &table, &conds, &choice, hints)? {
                    return Ok(expanded);
                }
                if let Some(joined) = self.index_join(id, &table, &conds, &columns, &choice, hints) {
                    return Ok(joined);
                }
                let used = &choice.used;
                let prune = self.prune(id, &table, &conds);
                let filter = conds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c).collect();
                let rows = choice.rows;
                let mut access = choice.access;
                if let Access::IndexRange(range) = &mut access {
                    range.index_only = covers(&range.index, &columns);
                }
                let (degree, because) = self.degree_of(&table, &alias, hints);
                let scan = Scan {
                    table,
                    alias,
                    access,
                    columns,
                    rowid,
                    filter,
                    rows,
                    cost: choice.real,
                    entries: choice.entries,
                    as_of: self.as_of_items.get(&id).copied(),
                    versions: self.version_items.get(&id).copied(),
                    pseudos: self.pseudos.get(&id).cloned().unwrap_or_default(),
                    hinted: choice.hinted,
                    block: self.query_blocks.planned,
                    origin: self.query_blocks.of_item(id),
                    degree,
                    degree_because: because as u8,
                    prune,
                    granules: false,
                };
                Planned::new(Source::Scan(Box::new(scan)), rows, choice.cost)
            }
            ItemKind::Fixed { table, handle } => {
                let (name, handle) = (table.name.clone(), *handle);
                let scanned = table.statistics.as_ref().map_or(cost::FIXED_ROWS, |s| s.rows as f64);
                let rows = self.kept(&conds, scanned);
                let source = Source::Fixed { name, alias, handle, columns, filter: conds, scanned, rows };
                Planned::new(source, rows, scanned * cost::PER_ROW)
            }
            ItemKind::Dual => of(Planned::new(Source::Dual, 1.0, 0.0), conds, self),
            ItemKind::Merged(_) => Planned::new(Source::Dual, 1.0, 0.0),
            ItemKind::Cte { id: cte } => {
                let cte = *cte;
                let rows = self.cte_rows.get(cte).copied().unwrap_or(200.0);
                let source = Source::Cte { id: cte, name: alias, columns, rows };
                of(Planned::new(source, rows, rows * cost::PER_ROW), conds, self)
            }
            ItemKind::Elements { value, shape } => {
                let rows = 10.0;
                let source = Source::Elements { value: value.clone(), shape: shape.clone(), columns, rows };
                of(Planned::new(source, rows, cost::ELEMENTS), conds, self)
            }
            ItemKind::Derived { rel, out, .. } => {
                // The tree may be large, so it is moved and freed after planning (P22).
                let tree = rel.take().ok_or_else(|| Ora::internal("view without a logical tree"))?;
                let exprs: Vec<(Expr, Reg)> = columns.iter().map(|&(i, r)| (out[i as usize].clone(), r)).collect();
                let planned = self.plan_tree(&tree);
                if let ItemKind::Derived { rel, .. } = &mut self.items[id].kind {
                    *rel = Some(tree);
                }
                let planned = planned?;
                for (e, reg) in &exprs {
                    if let Some(distinct) = self.distinct_values(e) {
                        self.set_distinct(*reg, e.ty, distinct);
                    }
                }
                let view = (!alias.is_empty()).then_some(alias);
                let Planned { source, rows, cost } = planned;
                let source = Source::Project { input: Box::new(source), exprs, view, rows };
                of(Planned::new(source, rows, cost + rows * cost::PER_ROW), conds, self)
            }
        })
    }

    /// OR expansion: an index scan for each branch, one after the other; each drops the rows that earlier scans have
    /// found. `None` if that costs more than `single`, the best single access path.
    pub(super) fn expand_or(
        &mut self,
        id: ItemId,
        table: &std::rc::Rc<dictionary::TableDef>,
        conds: &[Expr],
        single: &Choice,
        hints: &[ast::Hint],
    ) -> Result<Option<Planned>> {
        let is_or = |c: &&Expr| matches!(&c.node, Node::Or(all) if all.len() <= BRANCHES_MAX) && !c.has_subquery();
        if single.hinted || !matches!(single.access, Access::Full) || !conds.iter().any(|c| is_or(&c)) {
            return Ok(None);
        }
        if table.indexes.is_empty() || self.version_items.contains_key(&id) || self.expanding {
            return Ok(None);
        }
        let Some(at) = conds.iter().position(|c| is_or(&c)) else { return Ok(None) };
        let Node::Or(branches) = &conds[at].node else { return Ok(None) };
        let rest: Vec<Expr> = conds.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, c)| c.clone()).collect();
        let columns = self.read_columns(id);
        let mut cost = 0.0;
        let mut all = Vec::new();
        for (n, branch) in branches.iter().enumerate() {
            let mut own = rest.clone();
            crate::logic::flatten_and(branch.clone(), &mut own);
            own.extend(branches[..n].iter().map(not_true));
            let choice = self.choose_access(id, table, &own, Some(&columns), hints);
            cost += choice.cost + cost::set(SetKind::UnionAll, choice.rows);
            if matches!(choice.access, Access::Full | Access::IndexFast { .. }) || cost >= single.cost {
                return Ok(None);
            }
            all.push(own);
        }
        self.expanding = true;
        let planned = all.into_iter().map(|own| self.plan_leaf(id, own, hints)).collect::<Result<Vec<_>>>();
        self.expanding = false;
        // All branches leave their row in the same registers.
        let regs = planned.as_ref().map_or(Vec::new(), |all| produced(&all[0].source));
        let value = |r: &Reg| Expr::new(Node::Reg(*r), types::DataType::NUMBER);
        let inputs = planned?.into_iter().map(|p| (p.source, regs.iter().map(value).collect())).collect();
        let source = Source::Set { kind: SetKind::UnionAll, inputs, out: regs, recursion: None, rows: single.rows };
        Ok(Some(Planned::new(source, single.rows, cost)))
    }
}
