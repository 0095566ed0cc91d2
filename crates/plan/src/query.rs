//! Query blocks: SELECT with its clauses, set operations, WITH.
//!
//! A block is resolved clause by clause, in the order of evaluation, and then assembled bottom-up into a logical tree:
//! joins, CONNECT BY, ROWNUM, grouping, HAVING, window functions, DISTINCT, ORDER BY, row limit, FOR UPDATE. The select
//! list is evaluated when a row is fetched, unless DISTINCT, a set operation or an enclosing block needs it in
//! registers.

use crate::block_names::ItemId;
use crate::group::GroupShape;
use crate::ir::*;
use crate::logic::and;
use crate::logical::{JoinSet, LogicalQuery, LogicalSub, PartKind, Rel};
use crate::refusals::{invalid_identifier, unsupported};
use crate::resolve::{BuiltQuery, Compiled, Queries, SubUse};
use crate::scope::*;
use crate::sort_keys::sort_key;
use crate::typing::*;
use sql::ast::{self, ExprKind, Literal, QueryBody, SelectItemKind};
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{Ora, Result, Value};

/// Stack bytes for each level of nested set operations, which are built, opened and dropped recursively.
const SET_BYTES: usize = if cfg!(debug_assertions) { 32 << 10 } else { 8 << 10 };

impl Queries for Compiler<'_> {
    fn inner_query(&mut self, q: &ast::Query, opaque: bool, merge: bool) -> Result<Compiled> {
        self.query(q, opaque, merge)
    }

    fn inner_subquery(&mut self, q: &ast::Query, used: SubUse) -> Result<(SubId, Vec<Column>)> {
        self.subquery(q, used)
    }

    fn cursor_columns(&mut self, q: &ast::Query) -> Result<Vec<Column>> {
        self.built(q, false).map(|(_, _, columns, _)| columns)
    }
}

impl Compiler<'_> {
    /// Compiles a query in a block of its own. `opaque`: enclosing blocks are not visible to it.
    pub fn query(&mut self, q: &ast::Query, opaque: bool, merge: bool) -> Result<Compiled> {
        // Views and WITH queries nest deeper than the text that the parser has checked (P12).
        if os::stack::is_short() {
            return Err(Ora::with(4030, &[&"64", &"kxs-heap-c", &"query nesting"]).at(q.pos.0));
        }
        let ctes = self.cte_scopes.len();
        let before = std::mem::take(&mut self.set_depth);
        let result = self.with_clause(q).and_then(|()| self.query_body(q, opaque, merge));
        self.set_depth = self.set_depth.max(before);
        self.cte_scopes.truncate(ctes);
        result
    }

    /// As [`Compiler::query`], never merged.
    pub fn built(&mut self, q: &ast::Query, opaque: bool) -> Result<BuiltQuery> {
        match self.query(q, opaque, false)? {
            Compiled::Built { rel, out, columns, outer } => Ok((rel, out, columns, outer)),
            Compiled::Open { .. } => unreachable!("merging was not asked for"),
        }
    }

    fn with_clause(&mut self, q: &ast::Query) -> Result<()> {
        for (i, cte) in q.with.iter().enumerate() {
            let ast::Cte { name, columns: names, query, search, cycle } = cte;
            if self.cte_scopes.iter().rev().take(i).any(|c| c.name == name.name) {
                return Err(Ora::new(32039).at(name.pos.0));
            }
            let is_recursive = crate::refs::mentions(query, &name.name) > 0;
            if !is_recursive && (search.is_some() || cycle.is_some()) {
                return Err(Ora::new(32480).at(name.pos.0));
            }
            let mut uses = crate::refs::mentions_body(q, &name.name);
            for later in &q.with[i + 1..] {
                uses += crate::refs::mentions(&later.query, &name.name);
            }
            let materialize = has_hint(query, "MATERIALIZE");
            let inline = has_hint(query, "INLINE");
            if !inline && (materialize || uses > 1) {
                let before = self.unstable;
                let (rel, out, columns) = match is_recursive {
                    true => self.recursive(cte)?,
                    false => {
                        let (rel, out, mut columns, _) = self.built(query, true)?;
                        name_columns(&mut columns, names)?;
                        (rel, out, columns)
                    }
                };
                if self.unstable == before || materialize {
                    let id = self.ctes.len();
                    self.ctes.push(LogicalQuery { rel, out, columns: columns.clone() });
                    let kind = CteKind::Shared(id);
                    self.cte_scopes.push(CteScope { name: name.name.clone(), columns, kind });
                    continue;
                }
            }
            let kind = match is_recursive {
                true => CteKind::Recursive(Rc::new(cte.clone())),
                false => CteKind::Inline(Rc::new(query.clone()), names.clone()),
            };
            self.cte_scopes.push(CteScope { name: name.name.clone(), columns: Vec::new(), kind });
        }
        Ok(())
    }

    fn query_body(&mut self, q: &ast::Query, opaque: bool, merge: bool) -> Result<Compiled> {
        match &q.body {
            QueryBody::Select(select) => self.select(select, q, opaque, merge),
            QueryBody::Nested(inner) if q.order_by.is_none() && q.limit.is_none() && q.for_update.is_none() => {
                self.query(inner, opaque, merge)
            }
            QueryBody::Nested(_) | QueryBody::SetOperation { op: _, all: _, left: _, right: _, pos: _ } => {
                self.set_query(q, opaque)
            }
        }
    }

    fn set_query(&mut self, q: &ast::Query, opaque: bool) -> Result<Compiled> {
        if q.for_update.is_some() {
            return Err(Ora::new(2014).at(q.pos.0));
        }
        self.blocks.push(Block::new(opaque));
        let result = self.set_query_in_block(q);
        let block = self.blocks.pop().expect("pushed above");
        let (rel, out, columns) = result?;
        Ok(Compiled::Built { rel, out, columns, outer: block.outer })
    }

    fn set_query_in_block(&mut self, q: &ast::Query) -> Result<(Rel, Vec<Expr>, Vec<Column>)> {
        let (mut rel, out, columns) = self.set_operand(&q.body)?;
        if let Some(ast::OrderBy { siblings, items, pos }) = &q.order_by {
            if *siblings {
                return Err(Ora::new(30929).at(pos.0));
            }
            let mut keys = Vec::new();
            for item in items {
                let expr = match self.position(&item.expr, out.len())? {
                    Some(i) => out[i].clone(),
                    None => self.set_order_item(&item.expr, &out, &columns)?,
                };
                let expr = self.sort_value(expr, item.expr.pos.0)?;
                keys.push(sort_key(expr, item));
            }
            rel = sort(rel, keys);
        }
        if let Some(limit) = &q.limit {
            rel = self.row_limit(rel, limit, Vec::new())?;
        }
        Ok((rel, out, columns))
    }

    /// ORDER BY after a set operation sees only the columns of the first query.
    fn set_order_item(&mut self, e: &ast::Expr, out: &[Expr], columns: &[Column]) -> Result<Expr> {
        self.block().aliases = columns.iter().zip(out).map(|(c, e)| (c.name.clone(), e.clone())).collect();
        self.expr(e)
    }

    fn set_operand(&mut self, body: &QueryBody) -> Result<(Rel, Vec<Expr>, Vec<Column>)> {
        // A chain of set operations is left-associative and is resolved without recursion.
        let (mut links, mut first) = (Vec::new(), body);
        while let QueryBody::SetOperation { op, all, left, right, pos } = first {
            let kind = match (op, all) {
                (ast::SetOp::Union, true) => SetKind::UnionAll,
                (ast::SetOp::Union, false) => SetKind::Union,
                (ast::SetOp::Intersect, false) => SetKind::Intersect,
                (ast::SetOp::Minus, false) => SetKind::Minus,
                _ => return Err(unsupported("ALL in INTERSECT and MINUS", pos.0)),
            };
            links.push((kind, right));
            first = left;
        }
        let place = first_pos(first);
        let places = item_places(first);
        let mut set = self.set_member(first)?;
        for (kind, right) in links.into_iter().rev() {
            let right = self.set_member(right)?;
            if set.1.len() != right.1.len() {
                return Err(Ora::new(1789).at(place));
            }
            // The parser has counted the set operations of this text, but not those of its views.
            self.set_depth += 1;
            if !os::stack::has_room(self.set_depth * SET_BYTES) {
                return Err(Ora::with(4030, &[&"64", &"kxs-heap-c", &"query nesting"]).at(place));
            }
            if kind != SetKind::UnionAll {
                // With a star in the list, positions do not correspond to columns.
                let place = |at| places.get(at).filter(|_| places.len() == set.1.len()).map_or(place, |pos| *pos);
                let columns = set.1.iter().zip(&right.1).enumerate();
                columns.into_iter().try_for_each(|(at, (left, right))| {
                    self.check_grouping(&left.ty, place(at))?;
                    self.check_grouping(&right.ty, place(at))
                })?;
            }
            set = self.set_node(kind, set, right, place)?;
        }
        Ok(set)
    }

    fn set_member(&mut self, body: &QueryBody) -> Result<(Rel, Vec<Expr>, Vec<Column>)> {
        match body {
            QueryBody::SetOperation { op: _, all: _, left: _, right: _, pos: _ } => self.set_operand(body),
            QueryBody::Select(select) => {
                let q = ast::Query {
                    with: Vec::new(),
                    body: QueryBody::Select(Box::new((**select).clone())),
                    order_by: None,
                    limit: None,
                    for_update: None,
                    pos: select.pos,
                };
                self.operand_query(&q)
            }
            QueryBody::Nested(q) => self.operand_query(q),
        }
    }

    fn operand_query(&mut self, q: &ast::Query) -> Result<(Rel, Vec<Expr>, Vec<Column>)> {
        let (rel, out, columns, _) = self.built(q, false)?;
        Ok((rel, out, columns))
    }

    fn set_node(
        &mut self,
        kind: SetKind,
        left: (Rel, Vec<Expr>, Vec<Column>),
        right: (Rel, Vec<Expr>, Vec<Column>),
        pos: u32,
    ) -> Result<(Rel, Vec<Expr>, Vec<Column>)> {
        let (ls, lo, mut columns) = left;
        let (rs, ro, right_columns) = right;
        let mut left_out = Vec::new();
        let mut right_out = Vec::new();
        let mut out = Vec::new();
        for (i, (a, b)) in lo.into_iter().zip(ro).enumerate() {
            let ty = if is_null(&a) {
                b.ty
            } else if is_null(&b) {
                a.ty
            } else {
                // ORA-01790: expression must have same datatype as corresponding expression
                common(&a.ty, &b.ty).ok_or_else(|| Ora::new(1790).at(pos))?
            };
            columns[i].ty = ty;
            columns[i].nullable |= right_columns[i].nullable;
            left_out.push(convert(a, &ty, pos)?);
            right_out.push(convert(b, &ty, pos)?);
            let reg = self.new_reg();
            out.push((reg, ty));
        }
        let regs: Vec<Reg> = out.iter().map(|(r, _)| *r).collect();
        // Nested UNION ALL is flattened.
        let mut inputs = match ls {
            Rel::Set { kind: SetKind::UnionAll, inputs, out: inner_out, recursion: _ }
                if kind == SetKind::UnionAll && plain_regs(&left_out, &inner_out) =>
            {
                inputs
            }
            other => vec![(other, left_out)],
        };
        inputs.push((rs, right_out));
        let rel = Rel::Set { kind, inputs, out: regs, recursion: None };
        let exprs = out.into_iter().map(|(r, ty)| Expr::new(Node::Reg(r), ty)).collect();
        Ok((rel, exprs, columns))
    }

    fn select(&mut self, s: &ast::Select, q: &ast::Query, opaque: bool, merge: bool) -> Result<Compiled> {
        self.blocks.push(Block::new(opaque));
        let locking = self.locking;
        let result = self.select_in_block(s, q, merge);
        self.locking = locking;
        let block = self.blocks.pop().expect("pushed above");
        match result? {
            Compiled::Built { rel, out, columns, outer: _ } => {
                Ok(Compiled::Built { rel, out, columns, outer: block.outer })
            }
            open => Ok(open),
        }
    }

    /// Refuses INTO except in the use that host programs make of it for fetched rows.
    ///
    /// # Errors
    /// ORA-01744 below the statement's own query, ORA-00905 for a target that is not a bind variable.
    fn check_into(&self, into: &ast::IntoClause) -> Result<()> {
        let ast::IntoClause { bulk, targets, pos } = into;
        if self.blocks.len() > 1 {
            return Err(Ora::new(1744).at(pos.0));
        }
        if *bulk {
            return Err(unsupported("BULK COLLECT", pos.0));
        }
        bind_targets(targets)
    }

    fn select_in_block(&mut self, s: &ast::Select, q: &ast::Query, merge: bool) -> Result<Compiled> {
        if let Some(into) = &s.into {
            self.check_into(into)?;
        }
        if let (Some(ast::OrderBy { siblings: true, items: _, pos }), None) = (&q.order_by, &s.connect_by) {
            return Err(Ora::new(30929).at(pos.0));
        }
        if let Some(f) = &q.for_update {
            if q.limit.is_some() {
                return Err(Ora::new(2014).at(f.pos.0));
            }
            if s.connect_by.is_some() {
                return Err(unsupported("FOR UPDATE with CONNECT BY", f.pos.0));
            }
        }
        let (block, hints) = self.begin_query_block(s);
        self.block().query_block = block;
        let no_merge = hints.iter().any(|h| h.name == "NO_MERGE" && h.args.is_empty());
        let mut set = JoinSet { hints, block, ..JoinSet::default() };
        self.block().has_group_by = s.group_by.is_some();
        self.note_hints(&s.hints);
        let plus = s.filter.as_ref().and_then(crate::refs::plus);
        let is_ansi = s.from.iter().any(|t| matches!(t.kind, ast::TableRefKind::Join { .. }));
        if let Some(pos) = plus.filter(|_| is_ansi) {
            return Err(Ora::new(25156).at(pos));
        }
        let plus = plus.is_some();
        let optional = s.filter.as_ref().filter(|_| plus).map(crate::refs::marked_aliases);
        // FOR UPDATE locks the rows of derived tables as well.
        self.locking |= q.for_update.is_some();
        for t in &s.from {
            let kept = optional.as_ref().is_none_or(|marked| crate::refs::is_kept(t, marked.as_deref()));
            self.from_item(t, &mut set, kept && s.connect_by.is_none())?;
        }
        self.locking = false;
        if let Some(connect) = &s.connect_by {
            self.enter_connect_by(connect.nocycle);
        }
        self.block().clause = Clause::Where;
        let joined = set.conds.len();
        if let Some(filter) = &s.filter {
            if plus {
                self.plus_joins(filter, &mut set)?;
            } else {
                self.conditions(filter, &mut set.conds)?;
            }
        }
        let connect = match &s.connect_by {
            Some(c) => Some(self.connect_by_conditions(c)?),
            None => None,
        };
        self.block().clause = Clause::GroupBy;
        let mut shape = GroupShape::default();
        if let Some(g) = &s.group_by {
            self.group_by(g, &mut shape)?;
        }
        self.block().clause = Clause::Select;
        let (mut out, mut columns, places) = self.select_list(s)?;
        self.block().clause = Clause::Having;
        let mut having = Vec::new();
        if let Some(h) = &s.having {
            self.conditions(h, &mut having)?;
        }
        self.block().clause = Clause::OrderBy;
        let mut order = Vec::new();
        let mut siblings = Vec::new();
        if let Some(o) = &q.order_by {
            let keys = self.order_by(o, &out, &columns, s.distinct)?;
            if o.siblings { siblings = keys } else { order = keys }
        }
        let grouped = s.group_by.is_some()
            || s.having.is_some()
            || !self.block().aggs.is_empty()
            || !self.block().nested.is_empty();
        if (grouped || s.distinct || !order.is_empty()) && out.iter().any(has_sequence) {
            return Err(Ora::new(2287).at(q.pos.0)); // sequence number not allowed here
        }
        let simple = merge
            && !grouped
            && !s.distinct
            && connect.is_none()
            && order.is_empty()
            && q.limit.is_none()
            && q.for_update.is_none()
            && self.block().windows.is_empty()
            && self.block().rownum.is_none()
            && !no_merge
            && !s.hints.has("RESULT_CACHE")
            && !out.iter().any(has_sequence)
            && !(self.is_grouped_outside() && out.iter().any(Expr::has_subquery))
            && !is_large(&out);
        if simple {
            return Ok(Compiled::Open { set, out, columns });
        }
        // Conditions on ROWNUM are checked while rows are numbered, other conditions before.
        let mut numbered = Vec::new();
        if let Some(rownum) = self.block().rownum {
            let (with, without) = set.conds.into_iter().partition(|c| self.reads_reg(c, rownum));
            numbered = with;
            set.conds = without;
        }
        let mut rel;
        if let Some(conditions) = connect {
            rel = self.build_connect_by(set, joined, conditions, siblings);
        } else {
            let locks = q.for_update.as_ref().map(|f| self.lock_targets(f, &set)).transpose()?;
            rel = Rel::Join(set);
            if let Some(tables) = locks {
                let (tables, wait) = tables;
                if grouped || s.distinct {
                    return Err(Ora::new(2014).at(q.pos.0)); // FOR UPDATE cannot be specified with GROUP BY and such
                }
                rel = Rel::ForUpdate { input: Box::new(rel), tables, wait };
            }
        }
        if let Some(reg) = self.block().rownum {
            rel = Rel::Count { input: Box::new(rel), reg, conds: numbered };
        }
        if grouped {
            rel = self.build_group(rel, shape, &mut out, &mut having, &mut order, &places, s.group_by.is_some())?;
            if !having.is_empty() {
                rel = Rel::Filter { input: Box::new(rel), conds: having };
            }
        }
        let windows = std::mem::take(&mut self.block().windows);
        if !windows.is_empty() {
            rel = Rel::Window { input: Box::new(rel), funcs: windows };
        }
        if s.distinct {
            let places = out.iter().zip(&places);
            places.into_iter().try_for_each(|(e, pos)| self.check_grouping(&e.ty, *pos))?;
            (rel, out) = self.distinct(rel, out, &mut order);
        }
        if !order.is_empty() {
            let ties = q.limit.as_ref().and_then(|l| l.fetch.as_ref()).is_some_and(|f| f.with_ties);
            let keys = if ties { order.clone() } else { Vec::new() };
            rel = sort(rel, order);
            if let Some(limit) = &q.limit {
                rel = self.row_limit(rel, limit, keys)?;
            }
        } else if let Some(limit) = &q.limit {
            rel = self.row_limit(rel, limit, Vec::new())?;
        }
        for c in &mut columns {
            c.name.shrink_to_fit();
        }
        Ok(Compiled::Built { rel, out, columns, outer: BTreeSet::new() })
    }

    /// Whether the enclosing block has GROUP BY: it may then name any column of a view, but no subquery.
    fn is_grouped_outside(&self) -> bool {
        self.blocks.iter().rev().nth(1).is_some_and(|outer| outer.has_group_by)
    }

    pub fn note_hints(&mut self, hints: &ast::Hints) {
        self.counts_operations |= hints.has("GATHER_PLAN_STATISTICS");
        self.parallel_wish.note(hints);
        // Only the hint of the statement's own block counts, because whole results are cached.
        if self.blocks.len() == 1 {
            self.result_cache |= hints.has("RESULT_CACHE");
            self.no_result_cache |= hints.has("NO_RESULT_CACHE");
            self.note_sampling(hints);
            self.bind_aware = match (hints.has("BIND_AWARE"), hints.has("NO_BIND_AWARE")) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                _ => self.bind_aware,
            };
        }
    }

    /// The select list: expressions, columns, and the positions of the items.
    fn select_list(&mut self, s: &ast::Select) -> Result<(Vec<Expr>, Vec<Column>, Vec<u32>)> {
        let mut out = Vec::new();
        let mut columns = Vec::new();
        let mut places = Vec::new();
        for item in &s.items {
            let pos = item.pos.0;
            match &item.kind {
                SelectItemKind::Star => {
                    let items = self.block().items.clone();
                    if items.is_empty() {
                        return Err(Ora::new(923).at(pos));
                    }
                    items.iter().try_for_each(|&id| self.check_star(id, pos))?;
                    // Columns of USING and NATURAL come first.
                    for joined in [true, false] {
                        for &id in &items {
                            self.star(id, Some(joined), &mut out, &mut columns);
                        }
                    }
                }
                SelectItemKind::TableStar(name) => {
                    let ids = self.block().items.clone();
                    let found: Vec<ItemId> = ids
                        .into_iter()
                        .filter(|&id| {
                            let item = &self.items[id];
                            item.alias == name.last()
                                && name.qualifier().is_none_or(|q| item.schema.as_deref() == Some(q))
                        })
                        .collect();
                    match found[..] {
                        [] => return Err(invalid_identifier(name)),
                        [id] => {
                            self.check_star(id, pos)?;
                            self.star(id, None, &mut out, &mut columns);
                        }
                        _ => return Err(Ora::new(918).at(pos)),
                    }
                }
                SelectItemKind::Expr { expr, alias, text } => {
                    crate::nested::check_places(expr, s.distinct)?;
                    let e = self.expr(expr)?;
                    if class(&e.ty) == Class::Boolean {
                        return Err(boolean_item(expr));
                    }
                    columns.push(Column {
                        name: item_name(expr, alias.as_ref(), &text.0, self.named_variable),
                        ty: e.ty,
                        nullable: self.nullable(&e),
                        nested: crate::nested::columns_of(&e),
                    });
                    out.push(e);
                }
            }
            places.resize(out.len(), pos);
        }
        Ok((out, columns, places))
    }

    /// Checks (ORA-00918) that `*` does not select two columns of one name from a subquery in FROM.
    fn check_star(&self, id: ItemId, pos: u32) -> Result<()> {
        let item = &self.items[id];
        let named: Vec<&str> = item.columns.iter().filter(|c| !c.dropped).map(|c| c.name.as_str()).collect();
        let mut seen = std::collections::HashSet::new();
        match matches!(item.kind, ItemKind::Derived { .. } | ItemKind::Merged(_) | ItemKind::Cte { .. })
            && !named.iter().all(|n| seen.insert(*n))
        {
            true => Err(Ora::new(918).at(pos)),
            false => Ok(()),
        }
    }

    /// Adds the columns of an item. `joined`: only those that are, or are not, joined by USING.
    fn star(&mut self, id: ItemId, joined: Option<bool>, out: &mut Vec<Expr>, columns: &mut Vec<Column>) {
        for i in self.items[id].starred() {
            let c = &self.items[id].columns[i];
            if joined.is_some_and(|joined| joined != c.joined_by.is_some()) {
                continue;
            }
            let value = self.joined_value(id, i);
            let c = &self.items[id].columns[i];
            columns.push(Column { name: c.name.clone(), ty: c.ty, nullable: c.nullable, nested: Vec::new() });
            out.push(value);
        }
    }

    fn nullable(&self, e: &Expr) -> bool {
        // A literal is described as nullable, like any expression.
        let Node::Reg(reg) = e.node else { return true };
        let Some(block) = self.blocks.last() else { return true };
        block
            .items
            .iter()
            .flat_map(|&id| &self.items[id].columns)
            .find(|c| matches!(c.value, Some(Expr { node: Node::Reg(r), .. }) if r == reg))
            .is_none_or(|c| c.nullable)
    }

    fn order_by(&mut self, o: &ast::OrderBy, out: &[Expr], columns: &[Column], distinct: bool) -> Result<Vec<SortKey>> {
        self.block().aliases = columns.iter().zip(out).map(|(c, e)| (c.name.clone(), e.clone())).collect();
        let mut keys = Vec::new();
        for item in &o.items {
            let expr = match self.position(&item.expr, out.len())? {
                Some(i) => out[i].clone(),
                None => self.expr(&item.expr)?,
            };
            let expr = match out.iter().find(|selected| distinct && self.is_same(selected, &expr)) {
                Some(selected) => selected.clone(),
                None => expr,
            };
            let expr = self.sort_value(expr, item.expr.pos.0)?;
            // A name that refers to a constant of a merged view is not a selected expression either.
            let named = !matches!(item.expr.kind, ExprKind::Literal(_) | ExprKind::Bind(_));
            if distinct && !out.contains(&expr) && (named || !expr.is_const()) {
                return Err(Ora::new(1791).at(item.expr.pos.0)); // not a SELECTed expression
            }
            keys.push(sort_key(expr, item));
        }
        self.block().aliases.clear();
        Ok(keys)
    }

    /// The item number in ORDER BY n.
    fn position(&self, e: &ast::Expr, columns: usize) -> Result<Option<usize>> {
        let ExprKind::Literal(Literal::Number(digits)) = &e.kind else { return Ok(None) };
        let Ok(n) = digits.parse::<usize>() else { return Ok(None) };
        if n == 0 || n > columns {
            return Err(Ora::new(1785).at(e.pos.0)); // ORDER BY item must be the number of a SELECT-list expression
        }
        Ok(Some(n - 1))
    }

    fn row_limit(&mut self, input: Rel, limit: &ast::RowLimit, ties: Vec<SortKey>) -> Result<Rel> {
        let number_of = |c: &mut Self, e: &ast::Expr| {
            let v = c.expr(e)?;
            convert(v, &number(), e.pos.0)
        };
        let offset = limit.offset.as_ref().map(|e| number_of(self, e)).transpose()?;
        let (count, percent) = match &limit.fetch {
            // WITH TIES is handled through `ties`.
            Some(ast::Fetch { count, percent, with_ties: _ }) => {
                let count = match count {
                    Some(e) => number_of(self, e)?,
                    None => Expr::new(Node::Const(Value::Number(1.into())), number()),
                };
                (Some(count), *percent)
            }
            None => (None, false),
        };
        Ok(Rel::Limit { input: Box::new(input), offset, count, percent, ties })
    }

    /// Puts the select list into registers and removes duplicate rows.
    fn distinct(&mut self, input: Rel, out: Vec<Expr>, order: &mut [SortKey]) -> (Rel, Vec<Expr>) {
        let (rel, regs, exprs) = self.project(input, &out, None);
        for key in order {
            if let Some(i) = out.iter().position(|e| *e == key.expr) {
                key.expr = exprs[i].clone();
            }
        }
        (Rel::Distinct { input: Box::new(rel), regs }, exprs)
    }

    /// Evaluates expressions into new registers; an expression that is a register keeps it.
    pub fn project(&mut self, input: Rel, out: &[Expr], view: Option<String>) -> (Rel, Vec<Reg>, Vec<Expr>) {
        let mut exprs = Vec::new();
        let mut regs: Vec<Reg> = Vec::new();
        let mut result = Vec::new();
        for e in out {
            let reg = match e.node {
                Node::Reg(r) if !regs.contains(&r) => r,
                _ => {
                    let r = self.new_reg();
                    exprs.push((e.clone(), r));
                    r
                }
            };
            regs.push(reg);
            result.push(Expr::new(Node::Reg(reg), e.ty));
        }
        if exprs.is_empty() {
            return (input, regs, result);
        }
        (Rel::Project { input: Box::new(input), exprs, view }, regs, result)
    }

    /// Compiles a subquery of an expression.
    pub fn subquery(&mut self, q: &ast::Query, used: SubUse) -> Result<(SubId, Vec<Column>)> {
        let unstable = self.unstable;
        if self.blocks.is_empty() {
            self.blocks.push(Block::new(true));
            let result = self.subquery_in(q, used, unstable);
            self.blocks.pop();
            return result;
        }
        self.subquery_in(q, used, unstable)
    }

    fn subquery_in(&mut self, q: &ast::Query, used: SubUse, unstable: u32) -> Result<(SubId, Vec<Column>)> {
        if let Some(order_by) = &q.order_by
            && q.limit.is_none()
            && !matches!(used, SubUse::Exists | SubUse::Multiset)
            && matches!(q.body, QueryBody::Select(_))
        {
            // ORDER BY without a row limit is not allowed in a subquery of an expression: ORA-00907.
            return Err(Ora::new(907).at(order_by.pos.0));
        }
        let (rel, mut out, columns, outer) = self.built(q, false)?;
        if used == SubUse::Exists {
            out.clear();
        }
        let (outer, steady) = (outer.into_iter().collect(), self.unstable == unstable);
        self.subs.push(LogicalSub { rel, out, outer, steady, multiset: None });
        Ok((self.subs.len() - 1, columns))
    }

    fn lock_targets(&mut self, f: &ast::ForUpdate, set: &JoinSet) -> Result<(Vec<LockTarget>, LockWait)> {
        let ast::ForUpdate { of, wait, pos } = f;
        let mut ids = Vec::new();
        if of.is_empty() {
            for part in &set.parts {
                match part.kind {
                    PartKind::Leaf(id) => ids.push(id),
                    _ => return Err(Ora::new(2014).at(pos.0)),
                }
            }
        } else {
            for name in of {
                let qualifier = name.qualifier();
                let value = self.find_column(None, qualifier, name.last(), name.pos.0)?;
                let Some(Expr { node: Node::Reg(reg), .. }) = value else { return Err(invalid_identifier(name)) };
                for part in &set.parts {
                    if let PartKind::Leaf(id) = part.kind
                        && self.item_owns(id, reg)
                        && !ids.contains(&id)
                    {
                        ids.push(id);
                    }
                }
            }
        }
        let mut targets = Vec::new();
        for id in ids {
            if self.as_of_items.contains_key(&id) || self.version_items.contains_key(&id) {
                return Err(Ora::new(8187).at(pos.0)); // snapshot expression not allowed here
            }
            let table = match &self.items[id].kind {
                ItemKind::Table(t) => t.clone(),
                ItemKind::Dual => continue,
                ItemKind::Fixed { .. } => return Err(Ora::new(2030).at(pos.0)),
                _ => return Err(Ora::new(2014).at(pos.0)),
            };
            let rowid = self.rowid_value(id).expect("a table has rowids");
            let Node::Reg(rowid) = rowid.node else { unreachable!("a rowid is a register") };
            targets.push(LockTarget { table, rowid });
        }
        Ok((targets, lock_wait(wait)?))
    }
}

/// Checks (ORA-00905) that INTO names bind variables only; PL/SQL has replaced its own variables before.
pub fn bind_targets(targets: &[ast::Expr]) -> Result<()> {
    match targets.iter().find(|target| !matches!(target.kind, ExprKind::Bind(_))) {
        Some(other) => Err(Ora::new(905).at(other.pos.0)),
        None => Ok(()),
    }
}

fn lock_wait(w: &ast::LockWait) -> Result<LockWait> {
    Ok(match w {
        ast::LockWait::Wait => LockWait::Forever,
        ast::LockWait::NoWait => LockWait::NoWait,
        ast::LockWait::SkipLocked => LockWait::SkipLocked,
        ast::LockWait::Seconds(e) => match &e.kind {
            ExprKind::Literal(Literal::Number(n)) => {
                LockWait::Seconds(n.parse().map_err(|_| Ora::new(30005).at(e.pos.0))?)
            }
            _ => return Err(Ora::new(30005).at(e.pos.0)),
        },
    })
}

fn has_sequence(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.node, Node::Nextval(_) | Node::Currval(_)));
    found
}

fn has_hint(q: &ast::Query, name: &str) -> bool {
    match &q.body {
        QueryBody::Select(s) => s.hints.has(name),
        // not a clause: the hints are in their blocks
        QueryBody::Nested(_) | QueryBody::SetOperation { .. } => false,
    }
}

fn name_columns(columns: &mut [Column], names: &[ast::Ident]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    if names.len() != columns.len() {
        return Err(Ora::new(32038).at(names[0].pos.0));
    }
    for (c, n) in columns.iter_mut().zip(names) {
        c.name.clone_from(&n.name);
    }
    Ok(())
}

fn plain_regs(out: &[Expr], regs: &[Reg]) -> bool {
    out.len() == regs.len() && out.iter().zip(regs).all(|(e, r)| matches!(e.node, Node::Reg(x) if x == *r))
}

/// Whether a column of a view is so long that it is computed once instead of at each use: with views on views that name
/// a column twice, it would double at each level.
fn is_large(out: &[Expr]) -> bool {
    const NODES_MAX: usize = 1000;
    let nodes = |e: &Expr| {
        let mut nodes = 0;
        e.walk(&mut |_| nodes += 1);
        nodes
    };
    out.iter().any(|e| nodes(e) > NODES_MAX)
}

fn first_pos(body: &QueryBody) -> u32 {
    match body {
        QueryBody::Select(s) => s.items.first().map_or(s.pos.0, |i| i.pos.0),
        QueryBody::SetOperation { op: _, all: _, left, right: _, pos: _ } => first_pos(left),
        QueryBody::Nested(q) => first_pos(&q.body),
    }
}

/// The positions of the items of the first select list.
fn item_places(body: &QueryBody) -> Vec<u32> {
    match body {
        QueryBody::Select(s) => s.items.iter().map(|item| item.pos.0).collect(),
        QueryBody::SetOperation { op: _, all: _, left, right: _, pos: _ } => item_places(left),
        QueryBody::Nested(q) => item_places(&q.body),
    }
}

/// The heading of a select-list item: its alias, its column name, or its text in upper case without blanks.
fn item_name(expr: &ast::Expr, alias: Option<&ast::Ident>, text: &str, variable: Option<u32>) -> String {
    if let Some(a) = alias {
        return a.name.clone();
    }
    // A variable is not a column of SQL: its heading is that of a bind.
    if let ExprKind::Name(name) = &expr.kind
        && variable != Some(expr.pos.0)
    {
        return name.last().to_owned();
    }
    // Literals too: the heading of 'Hello World' is 'HELLOWORLD'.
    let mark = if variable == Some(expr.pos.0) { ":" } else { "" };
    let text = text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_uppercase);
    mark.chars().chain(text).collect()
}

/// Sorts rows; constant keys are dropped.
fn sort(input: Rel, keys: Vec<SortKey>) -> Rel {
    let keys: Vec<SortKey> = keys.into_iter().filter(|k| !k.expr.is_const()).collect();
    if keys.is_empty() { input } else { Rel::Sort { input: Box::new(input), keys } }
}

/// The conjunction of conditions.
pub fn conjunction(conds: Vec<Expr>) -> Option<Expr> {
    if conds.is_empty() { None } else { Some(and(conds)) }
}

/// The error of a select item that is a condition, or a call of a function that returns BOOLEAN.
fn boolean_item(expr: &ast::Expr) -> Ora {
    match expr.kind {
        ExprKind::Name(_) | ExprKind::Call(_) | ExprKind::Apply { base: _, args: _ } => {
            Ora::new(6552).at(expr.pos.0).because(Ora::with(6553, &[&382, &"expression is of wrong type"]))
        }
        _ => Ora::new(923).at(expr.pos.0), // not a clause: a condition is no select item
    }
}
