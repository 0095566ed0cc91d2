//! LOG ERRORS: the table of the rows that a statement cannot change.

use crate::ir::ErrorLog;
use crate::refusals::unsupported;
use crate::scope::*;
use dictionary::{ObjectPrivilege, Resolved, TableDef};
use sql::ast;
use types::{DataType, Ora, Result};

/// The columns about the error, in the order of the INSERT.
const MANDATORY: [&str; 5] = ["ORA_ERR_NUMBER$", "ORA_ERR_MESG$", "ORA_ERR_ROWID$", "ORA_ERR_OPTYP$", "ORA_ERR_TAG$"];

/// The characters of a table's name in the default name of its error log.
const NAME_MOST: usize = 25;

/// ORA-03001 for LOG ERRORS of a view with INSTEAD OF triggers.
pub fn refuse_log(log: &Option<Box<ast::ErrorLog>>) -> Result<()> {
    log.as_ref().map_or(Ok(()), |log| Err(unsupported("LOG ERRORS with INSTEAD OF triggers", log.pos.0)))
}

impl Compiler<'_> {
    /// The error log of a statement on a table.
    ///
    /// # Errors
    /// ORA-00942 without the table, ORA-38900 without a column about the error; those of the tag.
    pub fn error_log(&mut self, log: &Option<Box<ast::ErrorLog>>, table: &TableDef) -> Result<Option<ErrorLog>> {
        let Some(log) = log else { return Ok(None) };
        let ast::ErrorLog { table: named, tag, limit, pos } = &**log;
        let default = || format!("ERR$_{}", table.name.chars().take(NAME_MOST).collect::<String>());
        let (owner, name, pos) = match named {
            Some(name) => (name.qualifier(), name.last().to_owned(), name.pos.0),
            None => (None, default(), pos.0),
        };
        let Some(Resolved::Table(to)) = self.catalog().relation(owner, &name)? else {
            return Err(Ora::new(942).at(pos));
        };
        let is_logged = |name: &str| to.column(name).is_some_and(|(_, column)| column.virtual_text.is_none());
        let logged = table.visible_columns().filter(|(_, column)| is_logged(&column.name));
        let columns: Vec<u16> = logged.map(|(at, _)| at as u16).collect();
        let own = columns.iter().map(|at| table.columns[usize::from(*at)].name.as_str());
        let names: Vec<&str> = MANDATORY.into_iter().chain(own).collect();
        let places: Vec<usize> = names.iter().filter_map(|name| to.column(name).map(|(at, _)| at)).collect();
        self.check_change(self.catalog(), (to.object, to.owner_id), ObjectPrivilege::Insert, &places, pos)?;
        // Only after the check of the privilege: users without it do not learn the columns.
        if let Some(missing) = MANDATORY.iter().find(|column| to.column(column).is_none()) {
            return Err(Ora::with(38900, &[missing, &to.name]).at(pos));
        }
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let binds: Vec<String> = (1..=names.len()).map(|n| format!(":{n}")).collect();
        let (list, binds) = (list.join(", "), binds.join(", "));
        let text = format!("insert into \"{}\".\"{}\" ({list}) values ({binds})", to.owner, to.name);
        let tag = match tag {
            Some(tag) => Some(self.tag(tag)?),
            None => None,
        };
        Ok(Some(ErrorLog { text, columns, tag, limit: *limit }))
    }

    /// The tag: an expression without columns.
    fn tag(&mut self, tag: &ast::Expr) -> Result<crate::ir::Expr> {
        self.blocks.push(Block::new(true));
        self.block().clause = Clause::Dml;
        let made = self.expr(tag);
        self.blocks.pop();
        crate::typing::convert(made?, &DataType::TEXT, tag.pos.0)
    }
}
