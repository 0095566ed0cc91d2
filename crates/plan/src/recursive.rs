//! Recursive WITH queries.
//!
//! A query that names itself in one branch of its UNION ALL becomes a set operation of its own kind. The branch reads
//! the rows of one level through a WITH query without rows of its own, the pump, which the executor fills before each
//! run. A row of the branch must tell the executor its parent, because cycles and depth-first order depend on the path
//! of a row. So the pump has one column more than the query, without a name: the parent's state. It goes through the
//! branch like any column, which is why the branch may contain only operators that keep rows apart (P29).
//!
//! Rejected: running the branch for one parent at a time. A branch that joins a table without an index would read the
//! table once for each row instead of once for each level.

use crate::ir::*;
use crate::logical::{JoinSet, Link, LogicalQuery, PartKind, Rel};
use crate::refs::{mentions, mentions_directly};
use crate::refusals::unsupported;
use crate::resolve::{Compiled, Queries};
use crate::scope::*;
use crate::typing::*;
use sql::ast::{self, ExprKind, Literal, QueryBody};
use types::{DataType, Ora, Result, Value};

/// Type of the parent's state: bytes that only the executor reads.
const STATE: DataType = DataType::Raw { len: 2000 };

/// The number of times that the types of the columns may widen. Each class of types widens a few times at most.
const ROUNDS_MAX: usize = 4;

/// The number of times that types of columns may widen in one statement. Each time the branch is compiled again, with
/// the recursive WITH queries in it, so the work could double with each query that names another one.
const WIDENINGS_MAX: usize = 500;

/// A query and the columns of its rows.
type Bound = (Rel, Vec<Expr>, Vec<Column>);

impl Compiler<'_> {
    /// Compiles a WITH query that names itself.
    pub fn recursive(&mut self, cte: &ast::Cte) -> Result<Bound> {
        let ast::Cte { name, columns: names, query, search, cycle } = cte;
        let fails = |code: u32| Ora::new(code).at(name.pos.0);
        if names.is_empty() {
            return Err(fails(if search.is_some() || cycle.is_some() { 32488 } else { 32039 }));
        }
        check_names(names, search.as_ref(), cycle.as_ref())?;
        let (first, second) = branches(query, name)?;
        let (anchor, branch) = match (mentions(&first, &name.name) > 0, mentions(&second, &name.name) > 0) {
            (false, true) => (first, second),
            (true, false) => (second, first),
            _ => return Err(fails(32043)),
        };
        match (mentions_directly(&branch, &name.name), mentions(&branch, &name.name)) {
            (1, 1) => {}
            (0, _) => return Err(fails(32042)),
            _ => return Err(fails(32490)),
        }
        let (anchor_rel, anchor_out, mut columns) = self.bound(&anchor)?;
        if anchor_out.len() != names.len() {
            return Err(Ora::new(32038).at(names[0].pos.0));
        }
        for ((column, value), name) in columns.iter_mut().zip(&anchor_out).zip(names) {
            column.name.clone_from(&name.name);
            column.ty = first_type(value);
            // Rows of the branch may have NULLs where the first rows have none.
            column.nullable = true;
        }
        let places: Vec<u32> = item_places(&branch.body);
        let place = |at: usize| places.get(at).filter(|_| places.len() == names.len()).map_or(branch.pos.0, |pos| *pos);
        for _ in 0..ROUNDS_MAX {
            let (pump, state, branch_rel, branch_out) = self.branch(&branch, name, &columns)?;
            if branch_out.len() != names.len() {
                return Err(Ora::new(1789).at(places.first().map_or(branch.pos.0, |pos| *pos)));
            }
            let mut again = false;
            for (at, column) in columns.iter_mut().enumerate() {
                let ty = column_type(&column.ty, &branch_out[at]).ok_or_else(|| Ora::new(1790).at(place(at)))?;
                again |= class(&ty) != class(&column.ty);
                // Text may grow from level to level: a longer type changes no value.
                column.ty = ty;
            }
            if again {
                self.widenings += 1;
                if self.widenings > WIDENINGS_MAX {
                    return Err(unsupported("so many recursive WITH queries whose columns widen", name.pos.0));
                }
                continue;
            }
            let compared = self.compared(&branch_rel, pump);
            let typed = |out: Vec<Expr>| {
                let typed = out.into_iter().zip(&columns).enumerate();
                typed.map(|(at, (e, column))| convert(e, &column.ty, place(at))).collect::<Result<Vec<Expr>>>()
            };
            let (mut anchor_out, mut branch_out) = (typed(anchor_out)?, typed(branch_out)?);
            anchor_out.push(Expr::new(Node::Const(Value::Null), STATE));
            branch_out.push(Expr::new(Node::Reg(state), STATE));
            let count = columns.len();
            let mut out: Vec<Reg> = (0..=count).map(|_| self.new_reg()).collect();
            let mut exprs: Vec<Expr> =
                columns.iter().zip(&out).map(|(column, reg)| Expr::new(Node::Reg(*reg), column.ty)).collect();
            let mut recursion = Recursion { pump, columns: count, search: None, cycle: None, compared };
            if let Some(search) = search {
                let order = self.search_order(search, &columns)?;
                out.push(order.sequence);
                exprs.push(Expr::new(Node::Reg(order.sequence), number()));
                recursion.search = Some(order);
            }
            if let Some(cycle) = cycle {
                let mark = self.cycle_mark(cycle, &columns)?;
                out.push(mark.mark);
                exprs.push(Expr::new(Node::Reg(mark.mark), text(1)));
                recursion.cycle = Some(mark);
            }
            let added = search.iter().map(|s| &s.sequence).chain(cycle.iter().map(|c| &c.mark));
            for (name, e) in added.zip(&exprs[count..]) {
                columns.push(Column { name: name.name.clone(), ty: e.ty, nullable: true, nested: Vec::new() });
            }
            let inputs = vec![(anchor_rel, anchor_out), (branch_rel, branch_out)];
            let recursion = Some(Box::new(recursion));
            let rel = Rel::Set { kind: SetKind::Recursive, inputs, out, recursion };
            return Ok((rel, exprs, columns));
        }
        Err(Ora::new(1790).at(branch.pos.0))
    }

    fn bound(&mut self, q: &ast::Query) -> Result<Bound> {
        match self.inner_query(q, true, false)? {
            Compiled::Built { rel, out, columns, outer: _ } => Ok((rel, out, columns)),
            Compiled::Open { .. } => Err(Ora::internal("merging was not asked for")),
        }
    }

    /// Compiles the branch over a new pump with these columns: the pump, the register of the parent's state, and the
    /// branch.
    fn branch(
        &mut self,
        q: &ast::Query,
        name: &ast::Ident,
        columns: &[Column],
    ) -> Result<(usize, Reg, Rel, Vec<Expr>)> {
        let pump = self.ctes.len();
        self.ctes.push(LogicalQuery { rel: Rel::Empty, out: Vec::new(), columns: columns.to_vec() });
        let state = self.new_reg();
        let kind = CteKind::Pump(pump, state);
        self.cte_scopes.push(CteScope { name: name.name.clone(), columns: columns.to_vec(), kind });
        let bound = self.bound(q);
        self.cte_scopes.pop();
        let (rel, out, _) = bound?;
        if !self.keeps_parents(&rel, pump) {
            return Err(Ora::new(32486).at(name.pos.0));
        }
        Ok((pump, state, rel, out))
    }

    /// Whether each row of the branch has exactly one row of the pump as its parent.
    fn keeps_parents(&self, rel: &Rel, pump: usize) -> bool {
        match rel {
            Rel::Join(set) => self.joins_inner(set, pump),
            Rel::Filter { input, conds: _ }
            | Rel::Project { input, exprs: _, view: _ }
            | Rel::Count { input, reg: _, conds: _ }
            | Rel::Window { input, funcs: _ } => self.keeps_parents(input, pump),
            Rel::Empty
            | Rel::Sort { .. }
            | Rel::Distinct { .. }
            | Rel::Group { .. }
            | Rel::Set { .. }
            | Rel::Connect(_)
            | Rel::Limit { .. }
            | Rel::ForUpdate { .. } => false,
        }
    }

    /// Whether the pump is a part of the join that no outer join fills with NULLs.
    fn joins_inner(&self, set: &JoinSet, pump: usize) -> bool {
        set.parts.iter().filter(|part| matches!(part.link, Link::Inner)).any(|part| match &part.kind {
            PartKind::Leaf(id) => matches!(self.items[*id].kind, ItemKind::Cte { id } if id == pump),
            PartKind::Set(set) => self.joins_inner(set, pump),
            PartKind::Full(_) => false,
        })
    }

    /// The columns of the pump that the conditions of the branch read.
    fn compared(&self, rel: &Rel, pump: usize) -> Vec<usize> {
        let mut regs = Vec::new();
        let mut rel = rel;
        loop {
            match rel {
                Rel::Join(set) => {
                    set.conds.iter().for_each(|e| self.expr_regs(e, &mut |r| regs.push(r)));
                    self.link_regs(set, &mut regs);
                }
                Rel::Filter { conds, .. } | Rel::Count { conds, .. } => {
                    conds.iter().for_each(|e| self.expr_regs(e, &mut |r| regs.push(r)));
                }
                _ => {}
            }
            match rel.input() {
                Some(input) => rel = input,
                None => break,
            }
        }
        let item = self.items.iter().rev().find(|item| matches!(item.kind, ItemKind::Cte { id } if id == pump));
        let columns = item.map_or(&[][..], |item| &item.columns).iter().enumerate();
        let read = columns.filter(|(_, column)| match &column.value {
            Some(Expr { node: Node::Reg(reg), .. }) => regs.contains(reg),
            _ => false,
        });
        read.map(|(at, _)| at).collect()
    }

    fn link_regs(&self, set: &JoinSet, regs: &mut Vec<Reg>) {
        for part in &set.parts {
            part.link.for_each(&mut |e| self.expr_regs(e, &mut |r| regs.push(r)));
            match &part.kind {
                PartKind::Set(inner) => {
                    inner.conds.iter().for_each(|e| self.expr_regs(e, &mut |r| regs.push(r)));
                    self.link_regs(inner, regs);
                }
                // The rows of a lateral view or a collection depend on the columns that it reads.
                PartKind::Leaf(id) => match &self.items[*id].kind {
                    ItemKind::Derived { lateral, .. } => regs.extend(lateral),
                    ItemKind::Elements { value, .. } => self.expr_regs(value, &mut |r| regs.push(r)),
                    _ => {}
                },
                PartKind::Full(_) => {}
            }
        }
    }

    fn search_order(&mut self, search: &ast::Search, columns: &[Column]) -> Result<SearchOrder> {
        let ast::Search { depth_first, keys, sequence: _ } = search;
        let key = |key: &ast::SearchKey| {
            let ast::SearchKey { column, descending, nulls_first } = key;
            let at = position(columns, column);
            match columns[at].ty {
                DataType::Named(_) => return Err(Ora::new(22950).at(column.pos.0)),
                ref ty => check_comparable(ty, column.pos.0)?,
            }
            Ok((at, *descending, nulls_first.unwrap_or(*descending)))
        };
        let keys = keys.iter().map(key).collect::<Result<_>>()?;
        Ok(SearchOrder { depth_first: *depth_first, keys, sequence: self.new_reg() })
    }

    fn cycle_mark(&mut self, cycle: &ast::Cycle, columns: &[Column]) -> Result<CycleMark> {
        let ast::Cycle { columns: compared, mark: _, value, otherwise } = cycle;
        let (value_of, otherwise_of) = (mark_value(value)?, mark_value(otherwise)?);
        if value_of == otherwise_of {
            return Err(Ora::new(32481).at(value.pos.0));
        }
        let place = |name: &ast::Ident| {
            let at = position(columns, name);
            check_comparable(&columns[at].ty, name.pos.0).map(|()| at)
        };
        let compared = compared.iter().map(place).collect::<Result<_>>()?;
        Ok(CycleMark { columns: compared, mark: self.new_reg(), value: value_of, otherwise: otherwise_of })
    }
}

fn position(columns: &[Column], name: &ast::Ident) -> usize {
    // The names have been checked.
    columns.iter().position(|column| column.name == name.name).unwrap_or(0)
}

/// A mark of CYCLE: text of one byte.
fn mark_value(e: &ast::Expr) -> Result<String> {
    match &e.kind {
        ExprKind::Literal(Literal::String { text, national: _ }) if text.len() == 1 => Ok(text.clone()),
        _ => Err(Ora::new(32047).at(e.pos.0)),
    }
}

/// The type of a column by its first rows: a literal says nothing about the length of later rows.
fn first_type(value: &Expr) -> DataType {
    match value.ty {
        DataType::Char { len, .. } if value.is_const() => text(len),
        DataType::Null => text(4000),
        ty => ty,
    }
}

/// The type of a column whose rows have been of type `ty` so far and to which the branch adds `value`.
fn column_type(ty: &DataType, value: &Expr) -> Option<DataType> {
    if is_null(value) {
        return Some(*ty);
    }
    let wider = common(ty, &value.ty)?;
    Some(match (ty, wider) {
        (DataType::Varchar2 { .. } | DataType::Char { .. }, DataType::Varchar2 { .. }) if wider != *ty => text(4000),
        _ => wider,
    })
}

/// The two branches of the UNION ALL.
fn branches(query: &ast::Query, name: &ast::Ident) -> Result<(ast::Query, ast::Query)> {
    let ast::Query { with, body, order_by, limit, for_update, pos: _ } = query;
    if let Some(inner) = with.first() {
        return Err(unsupported("WITH inside a recursive WITH query", inner.name.pos.0));
    }
    match body {
        QueryBody::Nested(inner) if order_by.is_none() && limit.is_none() && for_update.is_none() => {
            branches(inner, name)
        }
        QueryBody::SetOperation { op: ast::SetOp::Union, all: true, left, right, pos: _ } => {
            if order_by.is_some() || limit.is_some() || for_update.is_some() {
                return Err(Ora::new(32486).at(name.pos.0));
            }
            if let QueryBody::SetOperation { op: ast::SetOp::Union, all: true, left: _, right: _, pos: _ } = **left {
                return Err(Ora::new(32041).at(name.pos.0));
            }
            Ok((as_query(left), as_query(right)))
        }
        _ => Err(Ora::new(32040).at(name.pos.0)),
    }
}

fn as_query(body: &QueryBody) -> ast::Query {
    match body {
        QueryBody::Nested(query) => (**query).clone(),
        QueryBody::Select(_) | QueryBody::SetOperation { op: _, all: _, left: _, right: _, pos: _ } => {
            let (body, pos) = (body.clone(), first_pos(body));
            ast::Query { with: Vec::new(), body, order_by: None, limit: None, for_update: None, pos }
        }
    }
}

fn first_pos(body: &QueryBody) -> ast::Pos {
    match body {
        QueryBody::Select(select) => select.pos,
        QueryBody::Nested(query) => query.pos,
        QueryBody::SetOperation { op: _, all: _, left, right: _, pos: _ } => first_pos(left),
    }
}

fn item_places(body: &QueryBody) -> Vec<u32> {
    match body {
        QueryBody::Select(select) => select.items.iter().map(|item| item.pos.0).collect(),
        QueryBody::Nested(query) => item_places(&query.body),
        QueryBody::SetOperation { op: _, all: _, left, right: _, pos: _ } => item_places(left),
    }
}

/// Checks the names of columns in the list, in SEARCH and in CYCLE.
fn check_names(names: &[ast::Ident], search: Option<&ast::Search>, cycle: Option<&ast::Cycle>) -> Result<()> {
    let is_column = |name: &ast::Ident| names.iter().any(|n| n.name == name.name);
    no_repeats(names.iter(), 32049)?;
    if let Some(ast::Search { depth_first: _, keys, sequence }) = search {
        no_repeats(keys.iter().map(|key| &key.column), 32483)?;
        if let Some(key) = keys.iter().find(|key| !is_column(&key.column)) {
            return Err(Ora::new(32489).at(key.column.pos.0));
        }
        if is_column(sequence) {
            return Err(Ora::new(32046).at(sequence.pos.0));
        }
        if let Some(cycle) = cycle.filter(|cycle| cycle.mark.name == sequence.name) {
            return Err(Ora::new(32482).at(cycle.mark.pos.0));
        }
    }
    if let Some(ast::Cycle { columns, mark, value: _, otherwise: _ }) = cycle {
        no_repeats(columns.iter(), 32484)?;
        if let Some(column) = columns.iter().find(|column| !is_column(column)) {
            return Err(Ora::new(32485).at(column.pos.0));
        }
        if is_column(mark) {
            return Err(Ora::new(32048).at(mark.pos.0));
        }
    }
    Ok(())
}

fn no_repeats<'a>(names: impl Iterator<Item = &'a ast::Ident>, code: u32) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name.name.as_str()) {
            return Err(Ora::new(code).at(name.pos.0));
        }
    }
    Ok(())
}
