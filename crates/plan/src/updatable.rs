//! Views that rows are changed through.
//!
//! A view whose query is a plain choice of rows and columns of one table is merged into the statement as in any query: its rows are rows
//! of the table, and a column of it that is a column of the table can be set. What WITH CHECK OPTION demands of a new row is the view's
//! condition, compiled once more and carried over to the registers of the new row.
//!
//! Joins are refused, key-preserved or not.

use crate::expr::unsupported;
use crate::from::{JoinSet, PartKind};
use crate::ir::*;
use crate::scope::*;
use dictionary::{ObjectPrivilege, Resolved, TableDef, ViewDef};
use sql::ast::{self, QueryBody, TableRefKind};
use std::rc::Rc;
use types::{DataType, Ora, Result};

/// A view that rows of a table are changed through.
pub struct Updatable {
    pub view: Rc<ViewDef>,
    pub table: Rc<TableDef>,
    columns: Vec<ViewColumn>,
    /// Registers that the columns of the table have in the expressions here.
    regs: Vec<(Reg, u16)>,
    /// The outermost WITH CHECK OPTION of this view and those below it.
    checked: Option<Rc<ViewDef>>,
}

struct ViewColumn {
    name: String,
    ty: DataType,
    value: Expr,
    /// The table's column that it is.
    base: Option<u16>,
}

/// What a view is made of.
struct Apart {
    table: Rc<TableDef>,
    columns: Vec<ViewColumn>,
    regs: Vec<(Reg, u16)>,
    conds: Vec<Expr>,
}

impl Updatable {
    /// The table's columns that the view's are, all of them. ORA-01733 when one is computed.
    pub fn all(&self, pos: u32) -> Result<Vec<u16>> {
        self.columns.iter().map(|c| c.base.ok_or_else(|| Ora::new(1733).at(pos))).collect()
    }

    /// The table's column that a column of the view is. ORA-00904, ORA-01733.
    pub fn column(&self, alias: &str, name: &ast::Name) -> Result<u16> {
        let named = name.qualifier().is_none_or(|q| q == alias || q == self.view.name);
        let found = self.columns.iter().find(|c| named && c.name == name.last());
        found.ok_or_else(|| invalid_identifier(name))?.base.ok_or_else(|| Ora::new(1733).at(name.pos.0))
    }

    /// What the view calls a column of the table.
    pub fn name_of(&self, base: u16) -> Option<&str> {
        self.columns.iter().find(|c| c.base == Some(base)).map(|c| c.name.as_str())
    }
}

/// The one row source of a view's query that can be changed through. ORA-01732 for a query that is more than a choice of rows.
fn only_source(query: &ast::Query, privilege: ObjectPrivilege, pos: u32) -> Result<&ast::TableName> {
    let refused = || Ora::new(1732).at(pos);
    let select = match &query.body {
        QueryBody::Nested(inner) if query.with.is_empty() => return only_source(inner, privilege, pos),
        QueryBody::Select(select) => select,
        _ => return Err(refused()),
    };
    let plain =
        query.with.is_empty() && query.order_by.is_none() && query.limit.is_none() && query.for_update.is_none();
    let whole = !select.distinct && select.connect_by.is_none() && select.group_by.is_none() && select.having.is_none();
    if !plain || !whole {
        return Err(refused());
    }
    match select.from.as_slice() {
        [one] => match &one.kind {
            TableRefKind::Table(name) if name.pivot.is_none() && name.as_of.is_none() && name.versions.is_none() => {
                Ok(name)
            }
            TableRefKind::Join { .. } => Err(of_join(privilege).at(pos)),
            _ => Err(refused()),
        },
        _ => Err(of_join(privilege).at(pos)),
    }
}

/// ORA-01752 and ORA-01779: a join of tables none of which is known to keep its keys.
fn of_join(privilege: ObjectPrivilege) -> Ora {
    Ora::new(if privilege == ObjectPrivilege::Delete { 1752 } else { 1779 })
}

impl Compiler<'_> {
    /// What a statement that names a view changes.
    ///
    /// # Errors
    /// ORA-01732, ORA-01752, ORA-01779, ORA-42399; ORA-01031 where the view's owner may not do that to the table.
    pub fn updatable(&mut self, view: &Rc<ViewDef>, privilege: ObjectPrivilege, pos: u32) -> Result<Updatable> {
        if view.catalog {
            return Err(Ora::new(1732).at(pos));
        }
        let checked = self.follow(view, privilege, pos)?;
        let Apart { table, columns, regs, .. } = self.take_apart(view, pos)?;
        Ok(Updatable { view: Rc::clone(view), table, columns, regs, checked })
    }

    /// Follows the views down to the table: each must be changeable, and its owner allowed to change what it is over. The outermost view
    /// WITH CHECK OPTION.
    fn follow(&self, view: &Rc<ViewDef>, privilege: ObjectPrivilege, pos: u32) -> Result<Option<Rc<ViewDef>>> {
        let (mut at, mut checked) = (Rc::clone(view), None);
        for _ in 0..32 {
            if at.read_only {
                return Err(Ora::new(if at.catalog { 1732 } else { 42399 }).at(pos));
            }
            if at.check_option && checked.is_none() {
                checked = Some(Rc::clone(&at));
            }
            let query = sql::parse_query(&at.text).map_err(|e| e.at(pos))?;
            let name = &only_source(&query, privilege, pos)?.name;
            let names = self.base.as_owner(at.owner_id)?;
            let (object, owner, next) = match names.relation(name.qualifier(), name.last())? {
                Some(Resolved::Table(table)) => (table.object, table.owner_id, None),
                Some(Resolved::View(below)) => (below.object, below.owner_id, Some(below)),
                _ => return Err(Ora::new(942).at(pos)),
            };
            if !names.allowed(object, owner, privilege)? {
                return Err(Ora::new(1031).at(pos));
            }
            match next {
                None => return Ok(checked),
                Some(below) => at = below,
            }
        }
        Err(Ora::new(1731).at(pos))
    }

    /// The view as part of the current block: its table's item, and its conditions.
    pub fn view_of_table(&mut self, view: &ViewDef, alias: &str, pos: u32) -> Result<(ItemId, Rc<TableDef>, JoinSet)> {
        let mut set = JoinSet::default();
        self.view(view, alias.to_owned(), true, &mut set, true, pos)?;
        let leaf = match set.parts.as_slice() {
            [part] if part.outer_on.is_none() => match part.kind {
                PartKind::Leaf(id) => Some(id),
                _ => None,
            },
            _ => None,
        };
        let last = self.block().items.last().copied();
        let merged = last.is_some_and(|id| matches!(self.items[id].kind, ItemKind::Merged));
        match leaf.map(|id| (id, &self.items[id].kind)) {
            Some((id, ItemKind::Table(table))) if merged => Ok((id, Rc::clone(table), set)),
            _ => Err(Ora::new(1732).at(pos)),
        }
    }

    /// The view's columns and conditions over registers of their own, and which columns of the table these are.
    fn take_apart(&mut self, view: &ViewDef, pos: u32) -> Result<Apart> {
        self.blocks.push(Block::new(true));
        let opened = self.view_of_table(view, &view.name, pos);
        let merged = self.block().items.last().copied();
        self.blocks.pop();
        let (id, table, set) = opened?;
        let is_base = |c: &ItemColumn| match &c.value {
            Some(Expr { node: Node::Reg(r), .. }) => Some(*r),
            _ => None,
        };
        let stored = self.items[id].columns.iter().zip(&table.columns).enumerate();
        let regs: Vec<(Reg, u16)> = stored
            .filter(|(_, (_, def))| def.virtual_text.is_none())
            .filter_map(|(i, (c, _))| Some((is_base(c)?, i as u16)))
            .collect();
        let columns = merged.map_or(&[][..], |id| &self.items[id].columns);
        let columns = columns
            .iter()
            .filter_map(|c| {
                let value = c.value.clone()?;
                let base = is_base(c).and_then(|reg| regs.iter().find(|(r, _)| *r == reg)).map(|(_, at)| *at);
                Some(ViewColumn { name: c.name.clone(), ty: c.ty, value, base })
            })
            .collect();
        Ok(Apart { table, columns, regs, conds: set.conds })
    }

    /// What WITH CHECK OPTION demands of the new row.
    pub fn check_option(&mut self, through: &Updatable, target: &mut Target, pos: u32) -> Result<()> {
        let Some(view) = &through.checked else { return Ok(()) };
        let Apart { regs, conds, .. } = self.take_apart(view, pos)?;
        for cond in conds {
            let cond = carried(cond, &regs, &target.new).ok_or_else(|| unsupported("WITH CHECK OPTION", pos))?;
            target.checks.push(Check {
                owner: view.owner.clone(),
                name: view.name.clone(),
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

    /// Lets the names of a view, opened in the current block over the table's columns in `from`, stand for the row in `to` for a while.
    /// Returns what they stood for.
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

    /// A block in which the view's columns stand for the row in `regs`.
    pub fn push_view_block(&mut self, through: &Updatable, alias: &str, regs: &[Reg], rowid: Option<Reg>) {
        let columns = through
            .columns
            .iter()
            .map(|c| {
                let value = carried(c.value.clone(), &through.regs, regs);
                ItemColumn { dropped: value.is_none(), value, ..crate::from::item_column(&c.name, c.ty, true) }
            })
            .collect();
        let schema = Some(through.view.owner.clone());
        self.blocks.push(Block::new(true));
        self.block().clause = Clause::Dml;
        self.add_item(Item { alias: alias.to_owned(), schema, kind: ItemKind::Merged, columns, rowid });
    }
}

/// An expression over columns of the table, over the registers of another row; `None` for one that reads anything else.
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
