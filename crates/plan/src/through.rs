//! Views and queries through which rows of a table are changed.

use crate::ir::{Expr, Reg};
use crate::refusals::invalid_identifier;
use dictionary::{TableDef, ViewDef};
use sql::ast::{self, Restriction};
use std::rc::Rc;
use types::{DataType, Ora, Result};

/// The object that rows are changed through.
#[derive(Clone)]
pub enum Through {
    View(Rc<ViewDef>),
    /// A query in the place of the table, with its WITH READ ONLY or WITH CHECK OPTION.
    Query(Rc<ast::Query>, Option<Restriction>),
}

impl Through {
    pub(crate) fn view(&self) -> Option<&Rc<ViewDef>> {
        match self {
            Through::View(view) => Some(view),
            Through::Query(..) => None,
        }
    }
}

/// A view or query through which rows of a table are changed.
pub struct Updatable {
    pub of: Through,
    pub table: Rc<TableDef>,
    /// Position of the table among the joined ones, and whether there are others.
    pub part: usize,
    pub(crate) is_join: bool,
    pub(crate) columns: Vec<ViewColumn>,
    /// Registers of the table's columns in the expressions here.
    pub(crate) regs: Vec<(Reg, u16)>,
    /// The outermost WITH CHECK OPTION of this view and of those below.
    pub(crate) checked: Option<Through>,
}

pub(crate) struct ViewColumn {
    pub(crate) name: String,
    pub(crate) ty: DataType,
    pub(crate) value: Expr,
    /// The table and the column behind it, if it is a column of a table.
    pub(crate) base: Option<(usize, u16)>,
}

impl Updatable {
    /// The table's columns behind all columns of the view. ORA-01733 if one is computed.
    pub fn all(&self, pos: u32) -> Result<Vec<u16>> {
        self.columns.iter().map(|c| self.base_of(c).ok_or_else(|| Ora::new(1733).at(pos))).collect()
    }

    fn base_of(&self, column: &ViewColumn) -> Option<u16> {
        column.base.filter(|(part, _)| *part == self.part).map(|(_, column)| column)
    }

    /// The table's column behind a column of the view. ORA-00904, ORA-01733.
    pub fn column(&self, alias: &str, name: &ast::Name) -> Result<u16> {
        let own = self.of.view().map_or("", |view| view.name.as_str());
        let named = name.qualifier().is_none_or(|q| q == alias || q == own);
        let found = self.columns.iter().find(|c| named && c.name == name.last());
        self.base_of(found.ok_or_else(|| invalid_identifier(name))?).ok_or_else(|| Ora::new(1733).at(name.pos.0))
    }

    /// The view's name for a column of the table.
    pub fn name_of(&self, base: u16) -> Option<&str> {
        self.columns.iter().find(|c| self.base_of(c) == Some(base)).map(|c| c.name.as_str())
    }

    /// ORA-38106: MERGE does not allow joins.
    pub fn refuse_join(&self, pos: u32) -> Result<()> {
        if self.is_join { Err(Ora::new(38106).at(pos)) } else { Ok(()) }
    }
}
