//! Changes through views, and through queries in their place.
//!
//! A view that only selects rows and columns is merged into the statement as in any query: its rows are rows of a
//! table, and columns of the view that are columns of the table can be set. For WITH CHECK OPTION, the view's condition
//! is compiled again and applied to the registers of the new row.
//!
//! **Joins.** A row of a join belongs to one row of each table, but only the rows of a key-preserved table occur in the
//! join at most once: from such a row, every other table is reached by equality with all columns of a unique key. A
//! statement can change one key-preserved table. The tables are those of the outermost query with a join; views below
//! are not examined.

use crate::block_names::ItemId;
use crate::from::has_errors;
use crate::ir::*;
use crate::logical::{JoinSet, Part, PartKind};
use crate::refusals::{invalid_identifier, unsupported};
use crate::scope::*;
use crate::through::{Through, Updatable, ViewColumn};
use dictionary::{Catalog, ObjectPrivilege, Resolved, ViewDef};
use sql::ast::{self, JoinKind, QueryBody, Restriction, TableRefKind};
use std::rc::Rc;
use types::{Ora, Result};

/// The columns that a statement names; they determine which table of a join it changes.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    Columns(&'a [&'a ast::Name]),
    /// Every column of the view.
    All,
    /// Rows only, independent of columns.
    Rows,
}

/// The parts of a view.
struct Apart {
    set: JoinSet,
    columns: Vec<ViewColumn>,
    /// For each joined table the registers of its columns; empty if the part is not a table.
    regs: Vec<Vec<(Reg, u16)>>,
}

/// The result of following views down to their tables.
struct Followed<'c> {
    checked: Option<Through>,
    /// The catalog of the last view's owner; for a query that of the statement.
    names: Option<Box<dyn Catalog + 'c>>,
}

/// The row sources of an updatable query. ORA-01732 for a query that does more than select rows and columns.
fn sources(query: &ast::Query, privilege: ObjectPrivilege, pos: u32) -> Result<Vec<&ast::TableName>> {
    let refused = || Ora::new(1732).at(pos);
    let select = match &query.body {
        QueryBody::Nested(inner) if query.with.is_empty() => return sources(inner, privilege, pos),
        QueryBody::Select(select) => select,
        _ => return Err(refused()),
    };
    let plain =
        query.with.is_empty() && query.order_by.is_none() && query.limit.is_none() && query.for_update.is_none();
    let whole = !select.distinct && select.connect_by.is_none() && select.group_by.is_none() && select.having.is_none();
    if !plain || !whole {
        return Err(refused());
    }
    let mut found = Vec::new();
    for from in &select.from {
        tables_of(&from.kind, &mut found).ok_or_else(|| match select.from.as_slice() {
            [one] if !matches!(one.kind, TableRefKind::Join { .. }) => refused(),
            _ => of_join(privilege).at(pos),
        })?;
    }
    Ok(found)
}

/// The tables and views of a FROM; `None` if it contains anything else.
fn tables_of<'a>(from: &'a TableRefKind, found: &mut Vec<&'a ast::TableName>) -> Option<()> {
    match from {
        TableRefKind::Table(name) if name.pivot.is_none() && name.as_of.is_none() && name.versions.is_none() => {
            found.push(name);
            Some(())
        }
        TableRefKind::Join { kind, left, right, constraint: _ } => match kind {
            JoinKind::Inner | JoinKind::Cross | JoinKind::Left | JoinKind::Right => {
                tables_of(&left.kind, found)?;
                tables_of(&right.kind, found)
            }
            JoinKind::Full | JoinKind::CrossApply | JoinKind::OuterApply => None,
        },
        // not a clause: only tables are key-preserved; the statement is refused
        _ => None,
    }
}

/// ORA-01752 and ORA-01779: a join without a key-preserved table.
fn of_join(privilege: ObjectPrivilege) -> Ora {
    Ora::new(if privilege == ObjectPrivilege::Delete { 1752 } else { 1779 })
}

/// The enabled INSTEAD OF triggers of a view for an event; `None` without any.
pub fn instead_of(view: &ViewDef, event: TriggerEvent) -> Option<Vec<Trigger>> {
    let fires = |trigger: &&dictionary::TriggerDef| {
        trigger.enabled
            && match event {
                TriggerEvent::Insert => trigger.insert,
                TriggerEvent::Update => trigger.update,
                TriggerEvent::Delete => trigger.delete,
            }
    };
    let triggers = view.triggers.iter().filter(fires);
    let triggers: Vec<Trigger> = triggers
        .map(|t| Trigger { object: t.object, owner: t.owner.clone(), name: t.name.clone(), section: None })
        .collect();
    (!triggers.is_empty()).then_some(triggers)
}

impl<'c> Compiler<'c> {
    /// The table that a statement changes through a view or a query.
    ///
    /// # Errors
    /// ORA-01732, ORA-01752, ORA-01776, ORA-01779, ORA-42399; ORA-01031 if the view's owner lacks the privilege on the
    /// table.
    pub fn updatable(
        &mut self,
        of: Through,
        privilege: ObjectPrivilege,
        wanted: Wanted<'_>,
        named: &[&ast::Name],
        pos: u32,
    ) -> Result<Updatable> {
        if of.view().is_some_and(|view| view.catalog) {
            return Err(Ora::new(1732).at(pos));
        }
        let Followed { checked, names } = self.follow(&of, privilege, pos)?;
        let opened = self.take_apart(&of, pos)?;
        let is_join = opened.set.parts.len() > 1;
        let part = if is_join { self.chosen(&of, &opened, privilege, wanted, pos)? } else { 0 };
        let (_, table) = self.table_of_part(&opened.set, part).ok_or_else(|| Ora::new(1732).at(pos))?;
        let names = names.as_deref().unwrap_or_else(|| self.catalog());
        let column = |name: &ast::Name| opened.columns.iter().find(|c| c.name == name.last())?.base.map(|(_, at)| at);
        let columns: Vec<usize> = named.iter().filter_map(|name| column(name)).map(usize::from).collect();
        self.check_change(names, (table.object, table.owner_id), privilege, &columns, pos)?;
        if is_join && checked.is_some() && privilege == ObjectPrivilege::Insert {
            return Err(Ora::new(1733).at(pos));
        }
        let Apart { columns, mut regs, .. } = opened;
        Ok(Updatable { of, table, part, is_join, columns, regs: regs.swap_remove(part), checked })
    }

    /// Follows views down to the tables. Each must be updatable, and its owner must have the privilege on the object
    /// below.
    fn follow(&self, of: &Through, privilege: ObjectPrivilege, pos: u32) -> Result<Followed<'c>> {
        let base: &'c dyn Catalog = self.base;
        let (mut at, mut checked) = (of.clone(), None);
        let mut passed = Vec::new();
        loop {
            let (query, names) = match &at {
                Through::Query(query, restriction) => {
                    match restriction {
                        Some(Restriction::ReadOnly) => return Err(Ora::new(42399).at(pos)),
                        Some(Restriction::CheckOption) => checked = Some(at.clone()),
                        None => {}
                    }
                    (Rc::clone(query), None)
                }
                Through::View(view) => {
                    if view.read_only {
                        return Err(Ora::new(if view.catalog { 1732 } else { 42399 }).at(pos));
                    }
                    if view.check_option && checked.is_none() {
                        checked = Some(at.clone());
                    }
                    let query = sql::parse_query(&view.text).map_err(|e| e.at(pos))?;
                    (Rc::new(query), Some(base.as_owner(view.owner_id)?))
                }
            };
            let seen = names.as_deref().unwrap_or_else(|| self.catalog());
            let (mut below, all) = (None, sources(&query, privilege, pos)?);
            for source in &all {
                match seen.relation(source.name.qualifier(), source.name.last())? {
                    Some(Resolved::Table(_)) => {}
                    Some(Resolved::View(view)) if all.len() == 1 => below = Some(view),
                    Some(Resolved::View(_)) => return Err(of_join(privilege).at(pos)),
                    _ => return Err(self.lacks_table(of, &at).at(pos)),
                }
            }
            let Some(view) = below else { return Ok(Followed { checked, names }) };
            if !seen.allowed(view.object, view.owner_id, privilege)? {
                return Err(Ora::new(1031).at(pos));
            }
            let event = match privilege {
                ObjectPrivilege::Insert => TriggerEvent::Insert,
                ObjectPrivilege::Delete => TriggerEvent::Delete,
                _ => TriggerEvent::Update,
            };
            if instead_of(&view, event).is_some() {
                return Err(unsupported("INSTEAD OF triggers of a view below a view", pos));
            }
            if passed.contains(&view.object) {
                return Err(Ora::new(1731).at(pos));
            }
            passed.push(view.object);
            at = Through::View(view);
        }
    }

    /// The error for a missing table, which is that of the view that the statement names.
    fn lacks_table(&self, of: &Through, at: &Through) -> Ora {
        let missing = Ora::new(942);
        let Some(broken) = at.view() else { return missing };
        self.view_compiled(broken, Some(&missing));
        let named = of.view().unwrap_or(broken);
        if named.object != broken.object {
            self.view_compiled(named, Some(&has_errors(broken)));
        }
        has_errors(named)
    }

    /// The table of a join that the statement changes. ORA-01776 for columns of several tables, ORA-01779 and ORA-01752
    /// for a table that is not key-preserved.
    fn chosen(
        &self,
        of: &Through,
        opened: &Apart,
        privilege: ObjectPrivilege,
        wanted: Wanted<'_>,
        pos: u32,
    ) -> Result<usize> {
        let mut speaks: Vec<(usize, u32)> = Vec::new();
        match wanted {
            Wanted::Rows => {
                let kept = (0..opened.set.parts.len()).find(|part| self.is_key_preserved(&opened.set, *part));
                return kept.ok_or_else(|| of_join(privilege).at(pos));
            }
            Wanted::All => {
                for c in &opened.columns {
                    let (part, _) = c.base.ok_or_else(|| Ora::new(1733).at(pos))?;
                    speaks.push((part, pos));
                }
            }
            Wanted::Columns(names) => {
                for name in names {
                    // An unknown name is reported where columns are looked up.
                    let Some(c) = opened.columns.iter().find(|c| c.name == name.last()) else { continue };
                    let virtual_column = || Ora::new(1733).at(name.pos.0);
                    speaks.push((c.base.ok_or_else(virtual_column)?.0, name.pos.0));
                }
            }
        }
        let Some(&(part, first)) = speaks.first() else {
            let name = of.view().map_or("", |view| view.name.as_str());
            return match wanted {
                Wanted::Columns([name, ..]) => Err(invalid_identifier(name)),
                _ => Err(Ora::with(904, &[&format_args!("\"{name}\"")]).at(pos)),
            };
        };
        if let Some((_, other)) = speaks.iter().find(|(other, _)| *other != part) {
            return Err(Ora::new(1776).at(*other));
        }
        if self.is_key_preserved(&opened.set, part) { Ok(part) } else { Err(Ora::new(1779).at(first)) }
    }

    /// Opens a view, or a query in its place, as part of the current block.
    fn open_through(&mut self, of: &Through, alias: &str, pos: u32) -> Result<JoinSet> {
        let mut set = JoinSet::default();
        match of {
            Through::View(view) => self.view(view, alias.to_owned(), true, &mut set, true, pos)?,
            Through::Query(query, _) => self.inline_view(query, false, alias.to_owned(), &[], &mut set, true)?,
        }
        let last = self.block().items.last().copied();
        let merged = last.is_some_and(|id| matches!(self.items[id].kind, ItemKind::Merged(_)));
        if merged { Ok(set) } else { Err(Ora::new(1732).at(pos)) }
    }

    /// Opens the changed view as part of the current block: the item of the table, and the joined row sources.
    pub fn changed_through(&mut self, through: &Updatable, alias: &str, pos: u32) -> Result<(ItemId, JoinSet)> {
        let set = self.open_through(&through.of, alias, pos)?;
        let (id, _) = self.table_of_part(&set, through.part).ok_or_else(|| Ora::new(1732).at(pos))?;
        Ok((id, set))
    }

    /// The view's columns and conditions over new registers, and the table columns behind these.
    fn take_apart(&mut self, of: &Through, pos: u32) -> Result<Apart> {
        self.blocks.push(Block::new(true));
        let name = of.view().map_or(String::new(), |view| view.name.clone());
        let opened = self.open_through(of, &name, pos);
        let merged = self.block().items.last().copied();
        self.blocks.pop();
        let set = opened?;
        let is_base = |c: &ItemColumn| match &c.value {
            Some(Expr { node: Node::Reg(r), .. }) => Some(*r),
            _ => None,
        };
        let regs_of = |part: &Part| -> Vec<(Reg, u16)> {
            let PartKind::Leaf(id) = part.kind else { return Vec::new() };
            let ItemKind::Table(table) = &self.items[id].kind else { return Vec::new() };
            let stored = self.items[id].columns.iter().zip(&table.columns).enumerate();
            let stored = stored.filter(|(_, (_, def))| def.virtual_text.is_none());
            stored.filter_map(|(i, (c, _))| Some((is_base(c)?, i as u16))).collect()
        };
        let regs: Vec<Vec<(Reg, u16)>> = set.parts.iter().map(regs_of).collect();
        let base_of = |reg: Reg| {
            let found = |(part, regs): (usize, &Vec<(Reg, u16)>)| Some((part, regs.iter().find(|(r, _)| *r == reg)?.1));
            regs.iter().enumerate().find_map(found)
        };
        let columns = merged.map_or(&[][..], |id| &self.items[id].columns);
        let columns = columns
            .iter()
            .filter_map(|c| {
                let value = c.value.clone()?;
                Some(ViewColumn { name: c.name.clone(), ty: c.ty, value, base: is_base(c).and_then(base_of) })
            })
            .collect();
        Ok(Apart { set, columns, regs })
    }

    /// The condition of WITH CHECK OPTION for the new row. `changed`: the columns that an UPDATE sets; all columns for
    /// other statements.
    pub fn check_option(
        &mut self,
        through: &Updatable,
        changed: Option<&[u16]>,
        target: &mut Target,
        pos: u32,
    ) -> Result<()> {
        let Some(checked) = &through.checked else { return Ok(()) };
        let Apart { set, mut regs, .. } = self.take_apart(checked, pos)?;
        let (owner, name) = checked.view().map_or(Default::default(), |view| (view.owner.clone(), view.name.clone()));
        let regs = regs.swap_remove(through.part);
        let mut conds = set.conds;
        set.parts.iter().for_each(|part| part.link.for_each(&mut |cond| conds.push(cond.clone())));
        for cond in conds {
            let cond = match (carried(cond.clone(), &regs, &target.new), through.is_join) {
                (Some(cond), _) => cond,
                // A condition that does not read changed columns still holds.
                (None, true) => {
                    let mut speaks = false;
                    let is_changed = |column: u16| changed.is_none_or(|set| set.contains(&column));
                    self.expr_regs(&cond, &mut |reg| {
                        speaks |= regs.iter().any(|(r, column)| *r == reg && is_changed(*column));
                    });
                    if speaks {
                        return Err(Ora::new(1733).at(pos));
                    }
                    continue;
                }
                (None, false) => return Err(unsupported("WITH CHECK OPTION", pos)),
            };
            target.checks.push(Check {
                owner: owner.clone(),
                name: name.clone(),
                cond,
                watch: Watch {
                    constraint: 0,
                    table: target.table.object,
                    deferrable: false,
                    initially_deferred: false,
                },
                not_null: None,
                of_view: true,
            });
        }
        Ok(())
    }

    /// Makes the names of a view, which was opened in the current block over the table's columns in `from`, refer to
    /// the row in `to`. Returns their former values.
    ///
    /// # Errors
    /// ORA-03001 for a column that is more than an expression over the row.
    pub fn rebind_view(&mut self, view: ItemId, from: &[Reg], to: &[Reg], pos: u32) -> Result<Vec<Option<Expr>>> {
        let from: Vec<(Reg, u16)> = from.iter().zip(0..).map(|(reg, at)| (*reg, at)).collect();
        let whole = |c: &ItemColumn| match &c.value {
            Some(value) => carried(value.clone(), &from, to).map(Some),
            None => Some(None),
        };
        let new: Option<Vec<_>> = self.items[view].columns.iter().map(whole).collect();
        let new = new.ok_or_else(|| unsupported("DELETE of MERGE through this view", pos))?;
        Ok(self.items[view]
            .columns
            .iter_mut()
            .zip(new)
            .map(|(c, value)| std::mem::replace(&mut c.value, value))
            .collect())
    }

    /// Pushes a block in which the view's columns refer to the row in `regs`.
    pub fn push_view_block(&mut self, through: &Updatable, alias: &str, regs: &[Reg], rowid: Option<Reg>) {
        let columns = through
            .columns
            .iter()
            .map(|c| {
                let value = carried(c.value.clone(), &through.regs, regs);
                ItemColumn { dropped: value.is_none(), value, ..crate::items::item_column(&c.name, c.ty, true) }
            })
            .collect();
        let schema = through.of.view().map(|view| view.owner.clone());
        self.blocks.push(Block::new(true));
        self.block().clause = Clause::Dml;
        self.add_item(Item { alias: alias.to_owned(), schema, kind: ItemKind::Merged(None), columns, rowid });
    }
}

/// An expression over the table's columns, rewritten for the registers of another row; `None` if it reads anything
/// else.
fn carried(mut e: Expr, from: &[(Reg, u16)], to: &[Reg]) -> Option<Expr> {
    if carry(&mut e, from, to) { Some(e) } else { None }
}

fn carry(e: &mut Expr, from: &[(Reg, u16)], to: &[Reg]) -> bool {
    match &mut e.node {
        Node::Reg(r) => match from.iter().find(|(reg, _)| reg == r) {
            Some((_, column)) => *r = to[usize::from(*column)],
            None => return false,
        },
        Node::Scalar(_) | Node::Exists(_) | Node::InSub { .. } | Node::Quantified { .. } => return false,
        _ => {}
    }
    let mut all = true;
    e.for_each_child_mut(&mut |child| all &= carry(child, from, to));
    all
}

/// The changes allowed on a column of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdatableColumn {
    pub name: String,
    pub updatable: bool,
    pub insertable: bool,
    /// Whether rows of the view can be deleted, and the column belongs to the table they are deleted from.
    pub deletable: bool,
}

/// The changes that a view allows on its columns, independent of the user: `dba_updatable_columns`. `catalog` belongs
/// to the view's owner, who must have the privileges.
pub fn updatable_columns(
    view: &Rc<ViewDef>,
    catalog: &dyn Catalog,
    functions: &dyn crate::services::Functions,
) -> Vec<UpdatableColumn> {
    let through = |privilege, wanted: Wanted<'_>| {
        let mut c = Compiler::new(catalog, functions, Vec::new(), &[], None);
        c.tells_verdicts = false;
        c.updatable(Through::View(Rc::clone(view)), privilege, wanted, &[], 0)
    };
    let deleted = through(ObjectPrivilege::Delete, Wanted::Rows).ok();
    let column = |name: &String| {
        let ident = ast::Ident { name: name.clone(), pos: ast::Pos(0) };
        let named = ast::Name::simple(ident);
        let may = |privilege| {
            let found = through(privilege, Wanted::Columns(&[&named]));
            found.and_then(|through| {
                through.column("", &named).map(|at| through.table.columns[usize::from(at)].virtual_text.is_none())
            })
        };
        UpdatableColumn {
            name: name.clone(),
            updatable: may(ObjectPrivilege::Update).unwrap_or(false),
            insertable: may(ObjectPrivilege::Insert).unwrap_or(false),
            deletable: deleted.as_ref().is_some_and(|through| through.column("", &named).is_ok()),
        }
    };
    view.columns.iter().map(column).collect()
}
