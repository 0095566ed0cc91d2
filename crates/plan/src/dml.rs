//! INSERT, UPDATE, DELETE and MERGE.
//!
//! A DML statement reads rows through an ordinary row source and writes through a [`Target`], which has the rules for
//! rows of the table: CHECK conditions, unique keys and foreign keys, over the registers of the new row.

use crate::block_names::{BlockId, ItemId};
use crate::error_log::refuse_log;
use crate::ir::*;
use crate::items::{item_column, table_item};
use crate::logical::{JoinSet, Link, Part, PartKind, Rel};
use crate::query::conjunction;
use crate::refusals::{invalid_identifier, unsupported};
use crate::scope::*;
use crate::through::Through;
use crate::typing::*;
use crate::updatable::{Wanted, instead_of};
use dictionary::{
    ConstraintKindDef, IndexDef, ObjectPrivilege, OnDeleteDef, Resolved, TableDef, TriggerDef, TriggerKind, ViewDef,
};
use sql::ast::{self, ExprKind, TableRefKind};
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// The rows that a statement may change, before its WHERE clause.
struct Opened {
    id: ItemId,
    /// The table, or the joined tables of the view that it is changed through.
    set: JoinSet,
    rowid: Reg,
    old: Vec<Reg>,
}

impl Compiler<'_> {
    /// The table that a DML statement changes. The session needs the privilege on the table, or on each column of
    /// `named` if it is not empty.
    fn dml_table(
        &mut self,
        t: &ast::TableRef,
        privilege: ObjectPrivilege,
        wanted: Wanted<'_>,
        named: &[&ast::Name],
    ) -> Result<(Rc<TableDef>, String)> {
        self.through = None;
        let ast::TableRef { kind, pos: ast::Pos(pos) } = t;
        let pos = *pos;
        let name = match kind {
            TableRefKind::Table(name) => name,
            TableRefKind::Subquery { query, restriction, lateral: false, as_of: None, pivot: None, alias } => {
                let alias = alias.as_ref().map_or(String::new(), |alias| alias.name.clone());
                let of = Through::Query(Rc::new(query.as_ref().clone()), *restriction);
                let table = self.table_through(of, privilege, wanted, named, pos)?;
                return self.changeable(table, pos).map(|table| (table, alias));
            }
            _ => return Err(Ora::new(1732).at(pos)),
        };
        let ast::TableName { name, alias, partition, sample, as_of, versions, pivot } = name;
        if as_of.is_some() || versions.is_some() {
            return Err(Ora::new(8187).at(pos)); // snapshot expression not allowed here
        }
        if sample.is_some() || pivot.is_some() {
            return Err(Ora::new(933).at(pos));
        }
        if name.link.is_some() {
            return Err(Ora::new(2019).at(pos));
        }
        let alias = alias.as_ref().map_or_else(|| name.last().to_owned(), |a| a.name.clone());
        // Errors have the position of the object's own name, after its schema.
        let pos = name.parts.last().map_or(pos, |part| part.pos.0);
        let resolved = self.catalog().relation(name.qualifier(), name.last())?;
        let table = match resolved {
            Some(Resolved::Table(table)) => {
                let column = |name: &ast::Name| table.column(name.last()).map(|(at, _)| at);
                let columns: Vec<usize> = named.iter().filter_map(|name| column(name)).collect();
                self.check_change(self.catalog(), (table.object, table.owner_id), privilege, &columns, pos)?;
                if let Some(partition) = partition {
                    self.partition = Some(self.named_partition(&table, partition, pos)?);
                }
                table
            }
            Some(Resolved::View(view)) => {
                if let Some(partition) = partition {
                    return Err(Ora::new(14109).at(partition.pos.0));
                }
                let column = |name: &ast::Name| view.columns.iter().position(|column| column == name.last());
                let columns: Vec<usize> = named.iter().filter_map(|name| column(name)).collect();
                self.check_change(self.catalog(), (view.object, view.owner_id), privilege, &columns, pos)?;
                self.table_through(Through::View(view), privilege, wanted, named, pos)?
            }
            _ => return Err(Ora::new(942).at(pos)),
        };
        self.changeable(table, pos).map(|table| (table, alias))
    }

    /// The table that is changed through a view or a query.
    fn table_through(
        &mut self,
        of: Through,
        privilege: ObjectPrivilege,
        wanted: Wanted<'_>,
        named: &[&ast::Name],
        pos: u32,
    ) -> Result<Rc<TableDef>> {
        let through = self.updatable(of, privilege, wanted, named, pos)?;
        let table = Rc::clone(&through.table);
        self.through = Some(Rc::new(through));
        Ok(table)
    }

    /// Whether the session may read the rows that a DML statement names; otherwise the statement may not name their
    /// columns.
    fn is_readable(&self, t: &ast::TableRef) -> Result<bool> {
        let TableRefKind::Table(name) = &t.kind else { return Ok(true) };
        match self.catalog().relation(name.name.qualifier(), name.name.last())? {
            Some(Resolved::Table(table)) => self.catalog().allowed(table.object, table.owner_id, ObjectPrivilege::Read),
            Some(Resolved::View(view)) => self.catalog().allowed(view.object, view.owner_id, ObjectPrivilege::Read),
            _ => Ok(true),
        }
    }

    /// Forbids naming columns of the object just opened, if the session may not read it.
    fn guard(&mut self, t: &ast::TableRef) -> Result<bool> {
        let readable = self.is_readable(t)?;
        if !readable {
            let items = self.block().items.clone();
            self.unreadable.extend(items);
        }
        Ok(readable)
    }

    /// Checks that rows of the table may change.
    fn changeable(&mut self, table: Rc<TableDef>, pos: u32) -> Result<Rc<TableDef>> {
        if table.is_fixed() {
            return Err(Ora::new(2030).at(pos));
        }
        // Only its refresh changes the rows of a materialized view.
        if table.options.materialized {
            return Err(Ora::new(1732).at(pos));
        }
        // A validated constraint that is not enforced stays valid only if no row changes.
        if let Some(c) = table.constraints.iter().find(|c| c.validated && !c.enabled) {
            return Err(Ora::with(25128, &[&table.owner, &c.name]).at(pos));
        }
        if table.options.read_only {
            return Err(Ora::with(12081, &[&format!("\"{}\".\"{}\"", table.owner, table.name)]).at(pos));
        }
        self.depend(table.object);
        Ok(table)
    }

    fn new_regs(&mut self, n: usize) -> Vec<Reg> {
        (0..n).map(|_| self.new_reg()).collect()
    }

    /// The rules for new rows of a table. `changed`: the columns that an UPDATE sets; all columns for INSERT and MERGE.
    fn target(&mut self, table: &Rc<TableDef>, changed: Option<&[u16]>, deletes: bool) -> Result<Target> {
        let new = self.new_regs(table.columns.len());
        let touches = |columns: &[usize]| changed.is_none_or(|set| columns.iter().any(|c| set.contains(&(*c as u16))));
        let mut checks = Vec::new();
        let mut foreign = Vec::new();
        for c in table.constraints.iter().filter(|c| c.enabled) {
            match &c.kind {
                ConstraintKindDef::Check { text } if changed.is_none_or(|s| !s.is_empty()) => {
                    let parsed = sql::parse_condition(text)?;
                    self.push_row_block(table, &table.name.clone(), &new, None, Clause::Dml);
                    let cond = self.as_owner_of(table, |c| c.condition(&parsed));
                    self.blocks.pop();
                    checks.push(Check {
                        owner: table.owner.clone(),
                        name: c.name.clone(),
                        cond: cond?,
                        watch: Watch::of(c, table.object),
                        not_null: None,
                        of_view: false,
                    });
                }
                // A nullable column has the constraint outside of its definition.
                ConstraintKindDef::NotNull { column } if table.columns[*column].nullable && touches(&[*column]) => {
                    let ty = table.columns[*column].data_type;
                    let value = Box::new(Expr::new(Node::Reg(new[*column]), ty));
                    checks.push(Check {
                        owner: table.owner.clone(),
                        name: c.name.clone(),
                        cond: Expr::new(Node::IsNull(value, true), types::DataType::Boolean),
                        watch: Watch::of(c, table.object),
                        not_null: Some(*column as u16),
                        of_view: false,
                    });
                }
                ConstraintKindDef::ForeignKey { columns, table: parent, key, .. } if touches(columns) => {
                    foreign.push(self.foreign_key(table, c, columns, *parent, *key)?);
                }
                _ => {}
            }
        }
        let children =
            if deletes || changed.is_some() { self.child_keys(table, changed, deletes)? } else { Vec::new() };
        let virtuals = self.virtuals_over(table, &new)?;
        let (virtuals_old, firings) = (Vec::new(), Vec::new());
        let table = table.clone();
        Ok(Target {
            table,
            new,
            checks,
            foreign,
            children,
            virtuals,
            virtuals_old,
            firings,
            partition: None,
            error_log: None,
        })
    }

    /// Notes the triggers of an event of the statement. `set`: the columns that an UPDATE sets.
    fn fires(&self, target: &mut Target, event: TriggerEvent, set: &[u16]) {
        target.firings.extend(firing(&target.table, event, set));
    }

    fn foreign_key(
        &mut self,
        table: &TableDef,
        c: &dictionary::ConstraintDef,
        columns: &[usize],
        parent: ObjectId,
        key: u32,
    ) -> Result<ForeignKey> {
        let parent = if parent == table.object {
            // The statement may be compiled against a definition of the table itself that is not in the dictionary yet.
            self.catalog().table_by_id(parent)?
        } else {
            self.catalog().table_by_id(parent)?
        };
        let parent = parent.ok_or_else(|| Ora::new(942))?;
        let parent_index = key_index(&parent, key).ok_or_else(|| Ora::new(2270))?;
        let columns = columns.iter().map(|&c| c as u16).collect();
        let (owner, name) = (table.owner.clone(), c.name.clone());
        Ok(ForeignKey { owner, name, columns, parent, parent_index, watch: Watch::of(c, table.object) })
    }

    /// Foreign keys of other tables that a deleted or changed row may break.
    fn child_keys(&mut self, table: &Rc<TableDef>, changed: Option<&[u16]>, deletes: bool) -> Result<Vec<ChildKey>> {
        let mut children = Vec::new();
        for r in table.referenced_by.iter().filter(|r| r.enabled) {
            let Some(key) = table.constraints.iter().find(|c| c.id == r.key) else { continue };
            let (ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. }) = &key.kind
            else {
                continue;
            };
            let parent_columns: Vec<u16> = columns.iter().map(|&c| c as u16).collect();
            if !deletes && !changed.is_some_and(|set| parent_columns.iter().any(|c| set.contains(c))) {
                continue;
            }
            let Some(child) = self.catalog().table_by_id(r.from_table)? else { continue };
            let Some(c) = child.constraints.iter().find(|c| c.id == r.constraint) else { continue };
            let ConstraintKindDef::ForeignKey { columns, .. } = &c.kind else { continue };
            let child_columns = columns.iter().map(|&c| c as u16).collect();
            let on_delete = match r.on_delete {
                OnDeleteDef::Restrict => OnDelete::Restrict,
                OnDeleteDef::Cascade => OnDelete::Cascade,
                OnDeleteDef::SetNull => OnDelete::SetNull,
            };
            let (owner, name) = (child.owner.clone(), c.name.clone());
            self.depend(child.object);
            let watch = Watch::of(c, child.object);
            let child = child.clone();
            children.push(ChildKey { owner, name, parent_columns, child, child_columns, on_delete, watch });
        }
        Ok(children)
    }

    /// A column of a target list.
    fn target_column(&self, table: &TableDef, alias: &str, name: &ast::Name) -> Result<u16> {
        if let Some(through) = &self.through {
            return through.column(alias, name);
        }
        if name.qualifier().is_some_and(|q| q != alias && q != table.name) {
            return Err(invalid_identifier(name));
        }
        match table.column(name.last()) {
            Some((i, _)) => Ok(i as u16),
            None => Err(invalid_identifier(name)),
        }
    }

    fn default_of(&mut self, table: &TableDef, column: u16) -> Result<Expr> {
        let c = &table.columns[column as usize];
        if c.identity.is_some() {
            // The INSERT privilege on the table suffices: the sequence belongs to the column.
            let name = format!("ISEQ$$_{}", table.object.0);
            let owner = self.catalog().as_owner(table.owner_id)?;
            let def = owner.sequence(Some(&table.owner), &name)?.ok_or_else(|| Ora::new(2289))?;
            drop(owner);
            return convert(self.sequence_value(def, true), &c.data_type, 0);
        }
        match &c.default_text {
            Some(text) => {
                let parsed = sql::parse_expression(text)?;
                self.blocks.push(Block::new(true));
                self.block().clause = Clause::Dml;
                let e = self.as_owner_of(table, |c| c.expr(&parsed));
                self.blocks.pop();
                self.assigned(e?, &c.data_type, 0)
            }
            None => Ok(Expr::new(Node::Const(types::Value::Null), c.data_type)),
        }
    }

    fn column_expr(&mut self, table: &TableDef, column: u16, e: &ast::Expr) -> Result<Expr> {
        if matches!(e.kind, ExprKind::Default) {
            return self.default_of(table, column);
        }
        if is_always(table, column) {
            return Err(Ora::new(32795).at(e.pos.0));
        }
        let value = self.expr(e)?;
        if class(&value.ty) == Class::Boolean {
            return Err(Ora::new(907).at(e.pos.0));
        }
        self.assigned(value, &table.columns[column as usize].data_type, e.pos.0)
    }

    pub fn insert(&mut self, i: &ast::Insert) -> Result<PlanBody> {
        // Other hints choose how rows are written (APPEND), which does not change the result.
        let ast::Insert { hints, kind, pos } = i;
        self.counts_operations |= hints.has("GATHER_PLAN_STATISTICS");
        self.begin_change_block(hints, "INS$1");
        match kind {
            ast::InsertKind::Single { target, source, returning, error_log } => {
                let names: Vec<&ast::Name> = target.columns.iter().collect();
                if let Some(view) = self.replaced(&target.table, TriggerEvent::Insert, &names)? {
                    refuse_log(error_log)?;
                    return self.insert_instead(&view, target, source, returning.as_ref());
                }
                let (table, alias, columns) = self.insert_target(target)?;
                let partition = self.partition.take();
                let mut plan_target = self.target(&table, None, false)?;
                plan_target.partition = match partition {
                    Some(Prune { place: None, .. }) => return Err(unsupported("PARTITION FOR in INSERT", pos.0)),
                    Some(partition) => partition.place,
                    None => None,
                };
                plan_target.error_log = self.error_log(error_log, &table)?;
                self.fires(&mut plan_target, TriggerEvent::Insert, &[]);
                let through = self.through.clone();
                if let Some(through) = &through {
                    self.check_option(through, None, &mut plan_target, target.table.pos.0)?;
                }
                let source = self.insert_source(&table, &columns, source, target.table.pos.0)?;
                let defaults = self.defaults(&table, &columns)?;
                let rowid = self.new_reg();
                let returning = self.returning(returning.as_ref(), &table, &alias, &plan_target.new, (rowid, true))?;
                let plan = InsertPlan { target: plan_target, columns, source, defaults, rowid, returning };
                Ok(PlanBody::Insert(Box::new(plan)))
            }
            ast::InsertKind::Multi { first, branches, otherwise, query } => {
                self.insert_all(*first, branches, otherwise, query, pos.0)
            }
        }
    }

    fn insert_target(&mut self, target: &ast::InsertTarget) -> Result<(Rc<TableDef>, String, Vec<u16>)> {
        let ast::InsertTarget { table, columns: named } = target;
        let place = table.pos.0;
        let names: Vec<&ast::Name> = named.iter().collect();
        let wanted = if names.is_empty() { Wanted::All } else { Wanted::Columns(&names) };
        let (table, alias) = self.dml_table(table, ObjectPrivilege::Insert, wanted, &names)?;
        let mut columns = Vec::new();
        if let (true, Some(through)) = (named.is_empty(), &self.through) {
            columns = through.all(place)?;
        } else if named.is_empty() {
            columns.extend(table.visible_columns().filter(|(_, c)| c.virtual_text.is_none()).map(|(i, _)| i as u16));
        } else {
            for name in named {
                let c = self.target_column(&table, &alias, name)?;
                if columns.contains(&c) {
                    return Err(Ora::new(957).at(name.pos.0));
                }
                if table.columns[c as usize].virtual_text.is_some() {
                    return Err(Ora::new(54013).at(name.pos.0));
                }
                columns.push(c);
            }
        }
        Ok((table, alias, columns))
    }

    fn insert_source(
        &mut self,
        table: &Rc<TableDef>,
        columns: &[u16],
        source: &ast::InsertSource,
        pos: u32,
    ) -> Result<InsertSource> {
        match source {
            ast::InsertSource::Values(values) => {
                if values.len() != columns.len() {
                    return Err(Ora::new(if values.len() < columns.len() { 947 } else { 913 }).at(pos));
                }
                self.blocks.push(Block::new(true));
                self.block().clause = Clause::Dml;
                let mut exprs = Vec::new();
                for (e, &c) in values.iter().zip(columns) {
                    match self.column_expr(table, c, e) {
                        Ok(e) => exprs.push(e),
                        // A column may not be named in VALUES: ORA-00984.
                        Err(error) => {
                            self.blocks.pop();
                            let names_column = matches!(&e.kind, ExprKind::Name(n) if n.parts.len() == 1 && table.column(n.last()).is_some());
                            return Err(if error.is(904) && names_column { Ora::new(984).at(e.pos.0) } else { error });
                        }
                    }
                }
                self.blocks.pop();
                Ok(InsertSource::Values(exprs))
            }
            ast::InsertSource::Record(_) => Err(unsupported("VALUES of a record", pos)),
            ast::InsertSource::Query(q) => {
                if columns.iter().any(|&c| is_always(table, c)) {
                    return Err(Ora::new(32795).at(pos));
                }
                let (rel, mut out, names, _) = self.built(q, true)?;
                if out.len() != columns.len() {
                    return Err(Ora::new(if out.len() < columns.len() { 947 } else { 913 }).at(pos));
                }
                for (e, &c) in out.iter_mut().zip(columns) {
                    let taken = std::mem::replace(e, null());
                    *e = self.assigned(taken, &table.columns[c as usize].data_type, pos)?;
                }
                Ok(InsertSource::Query(QueryPlan { source: self.unplanned(rel), out, columns: names }))
            }
        }
    }

    fn defaults(&mut self, table: &Rc<TableDef>, columns: &[u16]) -> Result<Vec<(u16, Expr)>> {
        let mut defaults = Vec::new();
        for (i, c) in table.columns.iter().enumerate() {
            let missing = !columns.contains(&(i as u16)) || c.default_on_null;
            if missing && !c.hidden && (c.default_text.is_some() || c.identity.is_some()) {
                defaults.push((i as u16, self.default_of(table, i as u16)?));
            }
        }
        Ok(defaults)
    }

    /// `located`: LOBs become locators, because the row still exists after the statement.
    fn returning(
        &mut self,
        r: Option<&ast::Returning>,
        table: &Rc<TableDef>,
        alias: &str,
        regs: &[Reg],
        (rowid, located): (Reg, bool),
    ) -> Result<Vec<(Expr, Column)>> {
        let Some(ast::Returning { exprs, into, pos: _ }) = r else { return Ok(Vec::new()) };
        let ast::IntoClause { bulk, targets, pos } = into;
        if *bulk {
            return Err(unsupported("BULK COLLECT", pos.0));
        }
        // The caller checks the number of targets: one bind of PL/SQL may take a whole record.
        crate::query::bind_targets(targets)?;
        match self.through.clone() {
            Some(through) => self.push_view_block(&through, alias, regs, Some(rowid)),
            None => self.push_row_block(table, alias, regs, Some(rowid), Clause::Dml),
        }
        let mut out = Vec::new();
        for e in exprs {
            match self.expr(e) {
                Ok(mut value) => {
                    let name = match &e.kind {
                        ExprKind::Name(n) => n.last().to_owned(),
                        // not a clause: only a column has a name
                        _ => String::new(),
                    };
                    let ty = value.ty;
                    if located
                        && crate::locators::is_lob(&ty)
                        && let Node::Reg(reg) = value.node
                        && let Some(column) = regs.iter().position(|r| *r == reg)
                    {
                        let row = Expr::new(Node::Reg(rowid), types::DataType::Rowid);
                        crate::locators::locate(&mut value, row, table, column);
                    }
                    out.push((value, Column { name, ty, nullable: true, nested: Vec::new() }));
                }
                Err(error) => {
                    self.blocks.pop();
                    return Err(error);
                }
            }
        }
        self.blocks.pop();
        Ok(out)
    }

    fn insert_all(
        &mut self,
        first: bool,
        branches: &[ast::InsertBranch],
        otherwise: &[ast::InsertInto],
        query: &ast::Query,
        pos: u32,
    ) -> Result<PlanBody> {
        let (rel, out, columns, _) = self.built(query, true)?;
        // The query's columns become a row that conditions and values refer to.
        let (rel, regs, _) = self.project(rel, &out, None);
        let source = self.unplanned(rel);
        let mut plans = Vec::new();
        for ast::InsertBranch { when, into } in branches {
            let when = match when {
                Some(e) => {
                    self.push_query_block(&columns, &regs);
                    let cond = self.condition(e);
                    self.blocks.pop();
                    Some(cond?)
                }
                None => None,
            };
            for (n, into) in into.iter().enumerate() {
                let insert = self.insert_into(into, &columns, &regs, pos)?;
                plans.push(InsertBranch { when: when.clone(), same_as_previous: n > 0, otherwise: false, insert });
            }
        }
        for (n, into) in otherwise.iter().enumerate() {
            let insert = self.insert_into(into, &columns, &regs, pos)?;
            plans.push(InsertBranch { when: None, same_as_previous: n > 0, otherwise: true, insert });
        }
        let out = regs.iter().zip(&columns).map(|(&r, c)| Expr::new(Node::Reg(r), c.ty)).collect();
        let query = QueryPlan { source, out, columns };
        Ok(PlanBody::InsertAll(Box::new(InsertAllPlan { query, first, branches: plans })))
    }

    fn push_query_block(&mut self, columns: &[Column], regs: &[Reg]) {
        let columns = columns
            .iter()
            .zip(regs)
            .map(|(c, &r)| {
                let value = Some(Expr::new(Node::Reg(r), c.ty));
                ItemColumn { value, ..item_column(&c.name, c.ty, true) }
            })
            .collect();
        self.blocks.push(Block::new(true));
        self.block().clause = Clause::Dml;
        self.add_item(Item { alias: String::new(), schema: None, kind: ItemKind::Merged(None), columns, rowid: None });
    }

    fn insert_into(
        &mut self,
        into: &ast::InsertInto,
        columns: &[Column],
        regs: &[Reg],
        pos: u32,
    ) -> Result<InsertPlan> {
        let ast::InsertInto { target, values } = into;
        let place = target.table.pos.0;
        if self.replaced(&target.table, TriggerEvent::Insert, &[])?.is_some() {
            return Err(Ora::new(1702).at(place)); // a view is not appropriate here
        }
        let (table, _, targets) = self.insert_target(target)?;
        if self.partition.take().is_some() {
            return Err(unsupported("a partition in a multi-table INSERT", target.table.pos.0));
        }
        let mut target = self.target(&table, None, false)?;
        self.fires(&mut target, TriggerEvent::Insert, &[]);
        if let Some(through) = self.through.clone() {
            self.check_option(&through, None, &mut target, place)?;
        }
        self.push_query_block(columns, regs);
        let values = self.insert_into_values(values.as_deref(), &table, &targets, columns, regs, pos);
        self.blocks.pop();
        let source = InsertSource::Values(values?);
        let defaults = self.defaults(&table, &targets)?;
        let rowid = self.new_reg();
        Ok(InsertPlan { target, columns: targets, source, defaults, rowid, returning: Vec::new() })
    }

    fn insert_into_values(
        &mut self,
        values: Option<&[ast::Expr]>,
        table: &Rc<TableDef>,
        targets: &[u16],
        columns: &[Column],
        regs: &[Reg],
        pos: u32,
    ) -> Result<Vec<Expr>> {
        let count = values.map_or(columns.len(), <[ast::Expr]>::len);
        if count != targets.len() {
            return Err(Ora::new(if count < targets.len() { 947 } else { 913 }).at(pos));
        }
        match values {
            Some(values) => values.iter().zip(targets).map(|(e, &c)| self.column_expr(table, c, e)).collect(),
            None => columns
                .iter()
                .zip(regs)
                .zip(targets)
                .map(|((c, &r), &t)| convert(Expr::new(Node::Reg(r), c.ty), &table.columns[t as usize].data_type, pos))
                .collect(),
        }
    }

    /// The view that a statement changes, if its INSTEAD OF triggers stand for the change. The session needs the
    /// privilege on the view, or on each column of `named` if it is not empty.
    fn replaced(&self, t: &ast::TableRef, event: TriggerEvent, named: &[&ast::Name]) -> Result<Option<Replaced>> {
        let ast::TableRef { kind: TableRefKind::Table(table), pos: ast::Pos(pos) } = t else { return Ok(None) };
        let ast::TableName { name, alias, partition, sample, as_of, versions, pivot } = table;
        let is_plain = partition.is_none() && sample.is_none() && as_of.is_none() && versions.is_none();
        if !is_plain || pivot.is_some() || name.link.is_some() {
            return Ok(None);
        }
        let Some(Resolved::View(view)) = self.catalog().relation(name.qualifier(), name.last())? else {
            return Ok(None);
        };
        let Some(triggers) = instead_of(&view, event) else { return Ok(None) };
        let pos = name.parts.last().map_or(*pos, |part| part.pos.0);
        let column = |name: &ast::Name| view.columns.iter().position(|column| column == name.last());
        let columns: Vec<usize> = named.iter().filter_map(|name| column(name)).collect();
        let privilege = match event {
            TriggerEvent::Insert => ObjectPrivilege::Insert,
            TriggerEvent::Update => ObjectPrivilege::Update,
            TriggerEvent::Delete => ObjectPrivilege::Delete,
        };
        self.check_change(self.catalog(), (view.object, view.owner_id), privilege, &columns, pos)?;
        let alias = alias.as_ref().map_or_else(|| name.last().to_owned(), |a| a.name.clone());
        Ok(Some(Replaced { view, alias, triggers, event, pos }))
    }

    fn firing_of(of: &Replaced, set: &[u16]) -> Firing {
        let updated = dictionary::quoted(set.iter().map(|c| of.view.columns[usize::from(*c)].as_str()));
        let (before, after_row, after, assigned) = Default::default();
        Firing { event: of.event, before, before_row: of.triggers.clone(), after_row, after, updated, assigned }
    }

    /// The position of a column of a view.
    fn view_column(of: &Replaced, name: &ast::Name, known: &[u16]) -> Result<u16> {
        let is_of_it = name.qualifier().is_none_or(|q| q == of.alias || q == of.view.name);
        let at = of.view.columns.iter().position(|column| is_of_it && column == name.last());
        let at = at.ok_or_else(|| invalid_identifier(name))? as u16;
        if known.contains(&at) { Err(Ora::new(957).at(name.pos.0)) } else { Ok(at) }
    }

    /// A value for a column of a view; DEFAULT is NULL.
    fn view_value(&mut self, of: &Replaced, column: u16, e: &ast::Expr) -> Result<Expr> {
        let ty = of.view.types[usize::from(column)];
        if matches!(e.kind, ExprKind::Default) {
            return Ok(Expr::new(Node::Const(types::Value::Null), ty));
        }
        let value = self.expr(e)?;
        if class(&value.ty) == Class::Boolean {
            return Err(Ora::new(907).at(e.pos.0));
        }
        self.assigned(value, &ty, e.pos.0)
    }

    fn insert_instead(
        &mut self,
        of: &Replaced,
        target: &ast::InsertTarget,
        source: &ast::InsertSource,
        returning: Option<&ast::Returning>,
    ) -> Result<PlanBody> {
        refuse_returning(returning)?;
        self.check_view(of)?;
        let ast::InsertTarget { table: _, columns: named } = target;
        let mut columns: Vec<u16> = Vec::new();
        for name in named {
            let column = Self::view_column(of, name, &columns)?;
            columns.push(column);
        }
        if named.is_empty() {
            columns = (0..of.view.columns.len() as u16).collect();
        }
        let count = |given: usize| match given.cmp(&columns.len()) {
            std::cmp::Ordering::Less => Err(Ora::new(947).at(of.pos)),
            std::cmp::Ordering::Greater => Err(Ora::new(913).at(of.pos)),
            std::cmp::Ordering::Equal => Ok(()),
        };
        let (query, values) = match source {
            ast::InsertSource::Values(values) => {
                count(values.len())?;
                self.blocks.push(Block::new(true));
                self.block().clause = Clause::Dml;
                let exprs = values.iter().zip(&columns).map(|(e, c)| self.view_value(of, *c, e)).collect::<Result<_>>();
                self.blocks.pop();
                (None, exprs?)
            }
            ast::InsertSource::Record(_) => return Err(unsupported("VALUES of a record", of.pos)),
            ast::InsertSource::Query(q) => {
                let (rel, out, names, _) = self.built(q, true)?;
                count(out.len())?;
                let (rel, _, out) = self.project(rel, &out, None);
                let source = self.unplanned(rel);
                let value = |(e, c): (&Expr, &u16)| convert(e.clone(), &of.view.types[usize::from(*c)], of.pos);
                let values: Vec<Expr> = out.iter().zip(&columns).map(value).collect::<Result<_>>()?;
                (Some(QueryPlan { source, out, columns: names }), values)
            }
        };
        let new = self.new_regs(of.view.columns.len());
        let sets = columns.iter().zip(values).map(|(c, e): (&u16, Expr)| SetItem::One(*c, e)).collect();
        let plan = InsteadPlan { firing: Self::firing_of(of, &[]), query, old: Vec::new(), new, sets };
        Ok(PlanBody::Instead(Box::new(plan)))
    }

    /// Checks that the text of a view compiles, whose rows the statement does not read.
    ///
    /// # Errors
    /// ORA-04063, and those of the view's text.
    fn check_view(&mut self, of: &Replaced) -> Result<()> {
        let (depth, subqueries) = (self.blocks.len(), self.subs.len());
        self.blocks.push(Block::new(true));
        let checked = self.view(&of.view, of.alias.clone(), true, &mut JoinSet::default(), true, of.pos);
        self.blocks.truncate(depth);
        self.subs.truncate(subqueries);
        checked
    }

    /// The rows of a view that a statement changes, with all columns in registers. Names of the view's columns mean
    /// these registers afterwards. The block stays open.
    fn view_rows(
        &mut self,
        of: &Replaced,
        hints: &ast::Hints,
        filter: Option<&ast::Expr>,
        block: &str,
    ) -> Result<(QueryPlan, Vec<Reg>)> {
        let (block, own) = self.begin_change_block(hints, block);
        self.blocks.push(Block::new(true));
        self.block().query_block = block;
        let mut set = JoinSet::default();
        self.view(&of.view, of.alias.clone(), true, &mut set, true, of.pos)?;
        set.block = self.query_blocks.merged(block, set.block);
        set.hints.extend(own);
        let missing = || Ora::new(1732).at(of.pos);
        let id = self.block().items.last().copied().ok_or_else(missing)?;
        let values: Vec<Expr> = (0..of.view.columns.len()).map(|at| self.column_value(id, at)).collect();
        let rel = self.filtered(set, filter, hints)?;
        let (rel, regs, out) = self.project(rel, &values, None);
        self.rebind(id, &regs);
        let source = self.unplanned(rel);
        let columns = of.view.columns.iter().zip(&out).map(|(name, e)| Column {
            name: name.clone(),
            ty: e.ty,
            nullable: true,
            nested: Vec::new(),
        });
        let columns = columns.collect();
        Ok((QueryPlan { source, out, columns }, regs))
    }

    fn update_instead(
        &mut self,
        of: &Replaced,
        hints: &ast::Hints,
        assignments: &[ast::Assignment],
        filter: Option<&ast::Expr>,
        returning: Option<&ast::Returning>,
    ) -> Result<PlanBody> {
        refuse_returning(returning)?;
        let depth = self.blocks.len();
        let made = self.view_rows(of, hints, filter, "UPD$1");
        let made = made.and_then(|(query, old)| Ok((query, old, self.view_sets(of, assignments)?)));
        self.blocks.truncate(depth);
        let (query, old, sets) = made?;
        let new = self.new_regs(of.view.columns.len());
        let firing = Self::firing_of(of, &set_columns(&sets));
        Ok(PlanBody::Instead(Box::new(InsteadPlan { firing, query: Some(query), old, new, sets })))
    }

    fn view_sets(&mut self, of: &Replaced, assignments: &[ast::Assignment]) -> Result<Vec<SetItem>> {
        self.block().clause = Clause::Dml;
        let mut sets: Vec<SetItem> = Vec::new();
        for a in assignments {
            let known = set_columns(&sets);
            sets.push(match a {
                ast::Assignment::Column { column, value } => {
                    let at = Self::view_column(of, column, &known)?;
                    SetItem::One(at, self.view_value(of, at, value)?)
                }
                ast::Assignment::Columns { columns, query, pos } => {
                    let mut targets: Vec<u16> = known.clone();
                    for name in columns {
                        let at = Self::view_column(of, name, &targets)?;
                        targets.push(at);
                    }
                    let targets = targets.split_off(known.len());
                    let (sub, out) = self.subquery(query, crate::resolve::SubUse::Rows)?;
                    if out.len() != targets.len() {
                        return Err(Ora::new(if out.len() < targets.len() { 947 } else { 913 }).at(pos.0));
                    }
                    for (i, &c) in targets.iter().enumerate() {
                        let e = std::mem::replace(&mut self.subs[sub].out[i], null());
                        self.subs[sub].out[i] = convert(e, &of.view.types[usize::from(c)], pos.0)?;
                    }
                    SetItem::Row(targets, sub)
                }
                ast::Assignment::Row(e) => return Err(unsupported("SET ROW", e.pos.0)),
            });
        }
        Ok(sets)
    }

    fn delete_instead(
        &mut self,
        of: &Replaced,
        hints: &ast::Hints,
        filter: Option<&ast::Expr>,
        returning: Option<&ast::Returning>,
    ) -> Result<PlanBody> {
        refuse_returning(returning)?;
        let depth = self.blocks.len();
        let made = self.view_rows(of, hints, filter, "DEL$1");
        self.blocks.truncate(depth);
        let (query, old) = made?;
        let firing = Self::firing_of(of, &[]);
        Ok(PlanBody::Instead(Box::new(InsteadPlan {
            firing,
            query: Some(query),
            old,
            new: Vec::new(),
            sets: Vec::new(),
        })))
    }

    /// Opens the rows of an UPDATE or DELETE, with all columns and the rowid in registers. The block stays open;
    /// `block` and `hints` are its number and the hints for it.
    fn open_changed_rows(
        &mut self,
        table: &Rc<TableDef>,
        alias: &str,
        (block, hints): (BlockId, Vec<ast::Hint>),
        pos: u32,
    ) -> Result<Opened> {
        self.blocks.push(Block::new(true));
        self.block().query_block = block;
        let opened = match self.through.clone() {
            Some(through) => self.changed_through(&through, alias, pos),
            None => {
                let id = self.add_item(table_item(alias.to_owned(), Some(table.owner.clone()), table.clone()));
                if let Some(partition) = self.partition.take() {
                    self.partition_items.insert(id, partition);
                }
                let part = Part::inner(PartKind::Leaf(id));
                self.bind_virtuals(id, table, false).map(|()| (id, JoinSet { parts: vec![part], ..JoinSet::default() }))
            }
        };
        let (id, set) = match opened {
            Ok((id, mut set)) => {
                set.block = self.query_blocks.merged(block, set.block);
                set.hints.extend(hints);
                (id, set)
            }
            Err(e) => {
                self.blocks.pop();
                return Err(e);
            }
        };
        let mut old = Vec::new();
        for (i, column) in table.columns.iter().enumerate() {
            let reg = match self.column_value(id, i).node {
                Node::Reg(r) if column.virtual_text.is_none() => r,
                // A virtual column, computed from the other columns.
                _ => self.new_reg(),
            };
            old.push(reg);
        }
        let Some(Expr { node: Node::Reg(rowid), .. }) = self.rowid_value(id) else {
            unreachable!("a table has rowids")
        };
        Ok(Opened { id, set, rowid, old })
    }

    /// The virtual columns of the old row.
    fn old_virtuals(&mut self, table: &Rc<TableDef>, old: &[Reg]) -> Result<Vec<(Reg, Expr)>> {
        Ok(self.virtuals_over(table, old)?.into_iter().map(|(column, e)| (old[column as usize], e)).collect())
    }

    fn changed_rows(&mut self, set: JoinSet, filter: Option<&ast::Expr>, hints: &ast::Hints) -> Result<Source> {
        let rel = self.filtered(set, filter, hints)?;
        Ok(self.unplanned(rel))
    }

    /// The rows of an opened row source that a statement changes.
    fn filtered(&mut self, mut set: JoinSet, filter: Option<&ast::Expr>, hints: &ast::Hints) -> Result<Rel> {
        self.note_sampling(hints);
        self.counts_operations |= hints.has("GATHER_PLAN_STATISTICS");
        self.block().clause = Clause::Where;
        if let Some(f) = filter {
            self.conditions(f, &mut set.conds)?;
        }
        let mut numbered = Vec::new();
        let rownum = self.block().rownum;
        if let Some(r) = rownum {
            let (with, without) = set.conds.into_iter().partition(|c| self.reads_reg(c, r));
            numbered = with;
            set.conds = without;
        }
        self.block().clause = Clause::Dml;
        let rel = Rel::Join(set);
        Ok(match rownum {
            Some(reg) => Rel::Count { input: Box::new(rel), reg, conds: numbered },
            None => rel,
        })
    }

    /// Stores the tree of the rows that a statement reads; the physical planner replaces it by a row source.
    fn unplanned(&mut self, rel: Rel) -> Source {
        self.rows = Some(rel);
        Source::Empty
    }

    pub fn update(&mut self, u: &ast::Update) -> Result<PlanBody> {
        let ast::Update { hints, table: changed, set: assignments, filter, current_of, returning, error_log, pos } = u;
        if current_of.is_some() {
            return Err(unsupported("WHERE CURRENT OF", pos.0));
        }
        let place = changed.pos.0;
        let names: Vec<&ast::Name> = assignments.iter().flat_map(assigned).collect();
        if let Some(view) = self.replaced(changed, TriggerEvent::Update, &names)? {
            refuse_log(error_log)?;
            return self.update_instead(&view, hints, assignments, filter.as_ref(), returning.as_ref());
        }
        let (table, alias) = self.dml_table(changed, ObjectPrivilege::Update, Wanted::Columns(&names), &names)?;
        let through = self.through.clone();
        let named = self.begin_change_block(hints, "UPD$1");
        let Opened { set, rowid, old, .. } = self.open_changed_rows(&table, &alias, named, place)?;
        let readable = self.guard(changed)?;
        self.block().clause = Clause::Dml;
        let result = self
            .set_items(assignments, &table, &alias)
            .and_then(|sets| Ok((self.changed_rows(set, filter.as_ref(), hints)?, sets)));
        self.blocks.pop();
        let (source, sets) = result?;
        let set = set_columns(&sets);
        let firing = firing(&table, TriggerEvent::Update, &set);
        let mut changed = set;
        let also = firing.iter().flat_map(|firing| &firing.assigned).filter(|c| !changed.contains(c));
        let also: Vec<u16> = also.copied().collect();
        changed.extend(also);
        let mut target = self.target(&table, Some(&changed), false)?;
        target.firings.extend(firing);
        target.error_log = self.error_log(error_log, &table)?;
        if let Some(through) = &through {
            self.check_option(through, Some(&changed), &mut target, place)?;
        }
        target.virtuals_old = self.old_virtuals(&table, &old)?;
        if !readable && returning.is_some() {
            return Err(Ora::new(1031).at(place));
        }
        let returning = self.returning(returning.as_ref(), &table, &alias, &target.new, (rowid, true))?;
        Ok(PlanBody::Update(Box::new(UpdatePlan { target, source, rowid, old, sets, returning })))
    }

    fn set_items(&mut self, set: &[ast::Assignment], table: &Rc<TableDef>, alias: &str) -> Result<Vec<SetItem>> {
        let mut sets: Vec<SetItem> = Vec::new();
        for a in set {
            let item = match a {
                ast::Assignment::Column { column, value } => {
                    let c = self.target_column(table, alias, column)?;
                    if table.columns[c as usize].virtual_text.is_some() {
                        return Err(Ora::new(54017).at(column.pos.0));
                    }
                    self.refuse_twice(&sets, c, column)?;
                    if is_always(table, c) {
                        return Err(Ora::new(32796).at(column.pos.0));
                    }
                    SetItem::One(c, self.column_expr(table, c, value)?)
                }
                ast::Assignment::Columns { columns, query, pos } => {
                    let mut targets = Vec::new();
                    for name in columns {
                        let c = self.target_column(table, alias, name)?;
                        if table.columns[c as usize].virtual_text.is_some() {
                            return Err(Ora::new(54017).at(name.pos.0));
                        }
                        self.refuse_twice(&sets, c, name)?;
                        if targets.contains(&c) {
                            return Err(Ora::new(957).at(name.pos.0));
                        }
                        if is_always(table, c) {
                            return Err(Ora::new(32796).at(name.pos.0));
                        }
                        targets.push(c);
                    }
                    let (sub, out) = self.subquery(query, crate::resolve::SubUse::Rows)?;
                    if out.len() != targets.len() {
                        return Err(Ora::new(if out.len() < targets.len() { 947 } else { 913 }).at(pos.0));
                    }
                    for (i, &c) in targets.iter().enumerate() {
                        let e = std::mem::replace(&mut self.subs[sub].out[i], null());
                        self.subs[sub].out[i] = self.assigned(e, &table.columns[c as usize].data_type, pos.0)?;
                    }
                    SetItem::Row(targets, sub)
                }
                ast::Assignment::Row(e) => return Err(unsupported("SET ROW", e.pos.0)),
            };
            sets.push(item);
        }
        Ok(sets)
    }

    fn refuse_twice(&self, sets: &[SetItem], column: u16, name: &ast::Name) -> Result<()> {
        // ORA-00957: duplicate column name
        if set_columns(sets).contains(&column) { Err(Ora::new(957).at(name.pos.0)) } else { Ok(()) }
    }

    pub fn delete(&mut self, d: &ast::Delete) -> Result<PlanBody> {
        let ast::Delete { hints, table: changed, filter, current_of, returning, error_log, pos } = d;
        if current_of.is_some() {
            return Err(unsupported("WHERE CURRENT OF", pos.0));
        }
        let place = changed.pos.0;
        if let Some(view) = self.replaced(changed, TriggerEvent::Delete, &[])? {
            refuse_log(error_log)?;
            return self.delete_instead(&view, hints, filter.as_ref(), returning.as_ref());
        }
        let (table, alias) = self.dml_table(changed, ObjectPrivilege::Delete, Wanted::Rows, &[])?;
        let named = self.begin_change_block(hints, "DEL$1");
        let Opened { set, rowid, old, .. } = self.open_changed_rows(&table, &alias, named, place)?;
        let readable = self.guard(changed)?;
        let source = self.changed_rows(set, filter.as_ref(), hints);
        self.blocks.pop();
        let source = source?;
        let mut target = self.target(&table, Some(&[]), true)?;
        self.fires(&mut target, TriggerEvent::Delete, &[]);
        target.error_log = self.error_log(error_log, &table)?;
        target.virtuals_old = self.old_virtuals(&table, &old)?;
        if !readable && returning.is_some() {
            return Err(Ora::new(1031).at(place));
        }
        let returning = self.returning(returning.as_ref(), &table, &alias, &old, (rowid, false))?;
        Ok(PlanBody::Delete(Box::new(DeletePlan { target, source, rowid, old, returning })))
    }

    pub fn merge(&mut self, m: &ast::Merge) -> Result<PlanBody> {
        // The other clauses are those of `merge_in_block`.
        let ast::Merge { hints: _, target: _, source: _, on: _, update: _, insert: _, error_log: _, pos: _ } = m;
        for event in [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete] {
            if self.replaced(&m.target, event, &[])?.is_some() {
                return Err(Ora::new(38106).at(m.target.pos.0));
            }
        }
        // Each clause needs its own privilege.
        let inserted: Vec<&ast::Name> = m.insert.iter().flat_map(|i| &i.columns).collect();
        let updated: Vec<&ast::Name> = m.update.iter().flat_map(|u| &u.set).flat_map(assigned).collect();
        if m.insert.is_some() {
            self.dml_table(&m.target, ObjectPrivilege::Insert, Wanted::Rows, &inserted)?;
        }
        if m.update.as_ref().is_some_and(|u| u.delete.is_some()) {
            self.dml_table(&m.target, ObjectPrivilege::Delete, Wanted::Rows, &[])?;
        }
        let (last, named) = match m.update {
            Some(_) => (ObjectPrivilege::Update, &updated),
            None => (ObjectPrivilege::Insert, &inserted),
        };
        let (table, alias) = self.dml_table(&m.target, last, Wanted::Rows, named)?;
        if self.partition.take().is_some() {
            return Err(unsupported("MERGE INTO a partition", m.target.pos.0));
        }
        if let Some(through) = &self.through {
            through.refuse_join(m.target.pos.0)?;
        }
        let named = self.begin_change_block(&m.hints, "MRG$1");
        let opened = self.open_changed_rows(&table, &alias, named, m.target.pos.0)?;
        self.guard(&m.target)?;
        let plan = self.merge_in_block(m, &table, &alias, opened);
        self.blocks.pop();
        Ok(PlanBody::Merge(Box::new(plan?)))
    }

    fn merge_in_block(
        &mut self,
        m: &ast::Merge,
        table: &Rc<TableDef>,
        alias: &str,
        Opened { id, set: JoinSet { conds, hints, block, .. }, rowid, old }: Opened,
    ) -> Result<MergePlan> {
        let through = self.through.clone();
        // The item that names of the view refer to.
        let named = through.as_ref().and_then(|_| self.block().items.last().copied());
        self.note_sampling(&m.hints);
        self.counts_operations |= m.hints.has("GATHER_PLAN_STATISTICS");
        let mut set = JoinSet { hints, block, ..JoinSet::default() };
        // The source is the preserved side of the outer join, so a view may be merged.
        self.from_item(&m.source, &mut set, true)?;
        let mut on = Vec::new();
        self.block().clause = Clause::Where;
        self.conditions(&m.on, &mut on)?;
        let on_columns: Vec<u16> = on.iter().flat_map(|c| self.columns_of(id, c)).collect();
        // Rows outside of the view do not match.
        on.extend(conds);
        self.block().clause = Clause::Dml;
        let update = match &m.update {
            Some(ast::MergeUpdate { set, filter, delete }) => {
                let sets = self.set_items(set, table, alias)?;
                if let Some(&c) = set_columns(&sets).iter().find(|c| on_columns.contains(c)) {
                    // ORA-38104: Columns referenced in the ON Clause cannot be updated
                    let of_view = through.as_ref().and_then(|through| through.name_of(c));
                    let name = format!("\"{}\".\"{}\"", alias, of_view.unwrap_or(&table.columns[c as usize].name));
                    return Err(Ora::with(38104, &[&name]).at(m.pos.0));
                }
                let filter = self.optional_condition(filter.as_ref())?;
                Some((sets, filter, delete.as_ref()))
            }
            None => None,
        };
        let insert = match &m.insert {
            Some(i) => Some(self.merge_insert(i, table, alias, m.pos.0)?),
            None => None,
        };
        let mut target = self.target(table, None, update.is_some())?;
        if let Some((sets, _, delete)) = &update {
            self.fires(&mut target, TriggerEvent::Update, &set_columns(sets));
            if delete.is_some() {
                self.fires(&mut target, TriggerEvent::Delete, &[]);
            }
        }
        if insert.is_some() {
            self.fires(&mut target, TriggerEvent::Insert, &[]);
        }
        target.error_log = self.error_log(&m.error_log, table)?;
        target.virtuals_old = self.old_virtuals(table, &old)?;
        if let Some(through) = &through {
            self.check_option(through, None, &mut target, m.target.pos.0)?;
        }
        let update = match update {
            Some((sets, filter, delete)) => {
                // DELETE WHERE sees the updated row.
                let delete = match delete {
                    Some(e) => {
                        let (seen, saved) = match named {
                            Some(view) => (view, self.rebind_view(view, &old, &target.new, e.pos.0)?),
                            None => (id, self.rebind(id, &target.new)),
                        };
                        let cond = self.condition(e);
                        self.restore(seen, saved);
                        Some(cond?)
                    }
                    None => None,
                };
                Some(MergeUpdate { sets, filter, delete })
            }
            None => None,
        };
        set.parts.push(Part { kind: PartKind::Leaf(id), link: Link::Left(on), rewritten: false });
        let source = self.unplanned(Rel::Join(set));
        Ok(MergePlan { target, source, rowid, old, update, insert })
    }

    fn optional_condition(&mut self, e: Option<&ast::Expr>) -> Result<Option<Expr>> {
        let mut conds = Vec::new();
        if let Some(e) = e {
            self.conditions(e, &mut conds)?;
        }
        Ok(conjunction(conds))
    }

    fn merge_insert(
        &mut self,
        i: &ast::MergeInsert,
        table: &Rc<TableDef>,
        alias: &str,
        pos: u32,
    ) -> Result<MergeInsert> {
        let ast::MergeInsert { columns: named, values: given, filter } = i;
        let mut columns = Vec::new();
        for name in named {
            let c = self.target_column(table, alias, name)?;
            if columns.contains(&c) {
                return Err(Ora::new(957).at(name.pos.0));
            }
            if table.columns[c as usize].virtual_text.is_some() {
                return Err(Ora::new(54013).at(name.pos.0));
            }
            columns.push(c);
        }
        if let (true, Some(through)) = (columns.is_empty(), &self.through) {
            columns = through.all(pos)?;
        } else if columns.is_empty() {
            columns.extend(table.visible_columns().filter(|(_, c)| c.virtual_text.is_none()).map(|(i, _)| i as u16));
        }
        if columns.len() != given.len() {
            return Err(Ora::new(if given.len() < columns.len() { 947 } else { 913 }).at(pos));
        }
        let mut values = Vec::new();
        for (e, &c) in given.iter().zip(&columns) {
            values.push(self.column_expr(table, c, e)?);
        }
        let filter = self.optional_condition(filter.as_ref())?;
        let defaults = self.defaults(table, &columns)?;
        Ok(MergeInsert { columns, values, defaults, filter })
    }

    fn columns_of(&self, id: ItemId, e: &Expr) -> Vec<u16> {
        let mut regs = Vec::new();
        self.expr_regs(e, &mut |r| regs.push(r));
        let item = &self.items[id];
        let is = |c: &ItemColumn| matches!(&c.value, Some(Expr { node: Node::Reg(r), .. }) if regs.contains(r));
        item.columns.iter().enumerate().filter(|(_, c)| is(c)).map(|(i, _)| i as u16).collect()
    }

    /// Makes the names of an item refer to other registers; returns the former values.
    fn rebind(&mut self, id: ItemId, regs: &[Reg]) -> Vec<Option<Expr>> {
        let columns = &mut self.items[id].columns;
        columns.iter_mut().zip(regs).map(|(c, &r)| c.value.replace(Expr::new(Node::Reg(r), c.ty))).collect()
    }

    fn restore(&mut self, id: ItemId, saved: Vec<Option<Expr>>) {
        for (c, value) in self.items[id].columns.iter_mut().zip(saved) {
            c.value = value;
        }
    }
}

/// A view whose INSTEAD OF triggers stand for a change.
struct Replaced {
    view: Rc<ViewDef>,
    alias: String,
    triggers: Vec<Trigger>,
    event: TriggerEvent,
    pos: u32,
}

/// ORA-22816: a view with INSTEAD OF triggers returns nothing.
fn refuse_returning(returning: Option<&ast::Returning>) -> Result<()> {
    match returning {
        Some(ast::Returning { exprs: _, into: _, pos }) => Err(Ora::new(22816).at(pos.0)),
        None => Ok(()),
    }
}

/// The enabled triggers of a table for an event; `None` without any. `set`: the columns that an UPDATE sets.
fn firing(table: &TableDef, event: TriggerEvent, set: &[u16]) -> Option<Firing> {
    let fires = |trigger: &&TriggerDef| {
        trigger.enabled
            && match event {
                TriggerEvent::Insert => trigger.insert,
                TriggerEvent::Update => trigger.fires_for(set),
                TriggerEvent::Delete => trigger.delete,
            }
    };
    let mut all = table.triggers.iter().filter(fires).peekable();
    all.peek()?;
    let updated = match event {
        TriggerEvent::Update => dictionary::quoted(set.iter().map(|c| table.columns[usize::from(*c)].name.as_str())),
        TriggerEvent::Insert | TriggerEvent::Delete => String::new(),
    };
    let (before, before_row, after_row, after) = Default::default();
    let mut firing = Firing { event, before, before_row, after_row, after, updated, assigned: Vec::new() };
    for trigger in all {
        let TriggerDef { object, owner, name, kind, assigns, points, .. } = trigger;
        let listed = |section| Trigger { object: *object, owner: owner.clone(), name: name.clone(), section };
        let list = match kind {
            TriggerKind::Compound => {
                // Its variables begin and end with the statement.
                firing.before.push(listed(Some(Section::BeforeStatement)));
                if points & TriggerDef::BEFORE_ROW != 0 {
                    firing.before_row.push(listed(Some(Section::BeforeRow)));
                }
                if points & TriggerDef::AFTER_ROW != 0 {
                    firing.after_row.push(listed(Some(Section::AfterRow)));
                }
                firing.after.push(listed(Some(Section::AfterStatement)));
                firing
                    .assigned
                    .extend(assigns.iter().filter(|c| table.columns[usize::from(**c)].virtual_text.is_none()));
                continue;
            }
            TriggerKind::BeforeStatement => &mut firing.before,
            TriggerKind::BeforeRow => &mut firing.before_row,
            TriggerKind::AfterRow => &mut firing.after_row,
            TriggerKind::AfterStatement => &mut firing.after,
            TriggerKind::InsteadOfRow | TriggerKind::BeforeEvent | TriggerKind::AfterEvent => continue,
        };
        list.push(listed(None));
        if *kind == TriggerKind::BeforeRow {
            firing.assigned.extend(assigns.iter().filter(|c| table.columns[usize::from(**c)].virtual_text.is_none()));
        }
    }
    firing.assigned.sort_unstable();
    firing.assigned.dedup();
    Some(firing)
}

/// The columns in an assignment of SET.
fn assigned(a: &ast::Assignment) -> Vec<&ast::Name> {
    match a {
        ast::Assignment::Column { column, value: _ } => vec![column],
        ast::Assignment::Columns { columns, query: _, pos: _ } => columns.iter().collect(),
        ast::Assignment::Row(_) => Vec::new(),
    }
}

fn set_columns(sets: &[SetItem]) -> Vec<u16> {
    let mut columns = Vec::new();
    for s in sets {
        match s {
            SetItem::One(c, _) => columns.push(*c),
            SetItem::Row(cs, _) => columns.extend(cs),
        }
    }
    columns
}

/// The index that enforces a key of a table.
fn key_index(table: &TableDef, key: u32) -> Option<Rc<IndexDef>> {
    let c = table.constraints.iter().find(|c| c.id == key)?;
    let (ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. }) = c.kind else {
        return None;
    };
    table.indexes.iter().find(|i| i.object == index).cloned()
}

/// Whether a column is GENERATED ALWAYS AS IDENTITY.
fn is_always(table: &TableDef, column: u16) -> bool {
    table.columns[column as usize].identity.as_ref().is_some_and(|identity| identity.always)
}
