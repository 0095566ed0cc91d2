//! The rows of a trigger: `:NEW` and `:OLD`.
//!
//! A column of a row that the trigger's text names is a parameter of its code. A trigger is run for many rows, and only
//! the columns that it uses are passed.

use super::compiler::{CResult, Compiler};
use super::scope::{Access, Rows};
use super::symbols::PathB;
use crate::code::RowUse;
use crate::op::Root;
use crate::ty::Ty;
use crate::world::{TriggerColumn, World};
use exec::{ROWID_COLUMN, RowOf};
use sql::lexer::{TokenKind, lex};
use sql::plsql::ast::{Expr, ExprKind, Ident, Pos};
use types::Ora;

/// The parameters of a trigger's code before those for columns: INSERTING, UPDATING, DELETING, and the names of the
/// columns that an UPDATE sets.
pub const EVENT_PARAMETERS: u32 = 4;

/// The parameter with the names of the columns that an UPDATE sets. No declaration can have this name.
pub(super) const UPDATED: &str = ".UPDATED";

impl Rows {
    /// The columns that a text names behind the alias of a row, as bind variables or, in WHEN, as plain names.
    pub fn note_uses(&mut self, text: &str) {
        let tokens = lex(text).tokens;
        for at in 0..tokens.len().saturating_sub(2) {
            let [alias, dot, field] = [&tokens[at], &tokens[at + 1], &tokens[at + 2]];
            if dot.kind != TokenKind::Dot {
                continue;
            }
            let written = |from: usize, to: u32| text.get(from..to as usize).unwrap_or_default().trim();
            let alias = match alias.kind {
                TokenKind::Bind => name_of(written(alias.start as usize + 1, alias.end)),
                TokenKind::Word => name_of(written(alias.start as usize, alias.end)),
                _ => continue,
            };
            let field = match field.kind {
                TokenKind::Word | TokenKind::QuotedIdent => name_of(written(field.start as usize, field.end)),
                _ => continue,
            };
            let Some(of) = self.row_named(&alias) else { continue };
            let Some(column) = self.columns.iter().find(|column| column.name == field) else { continue };
            let (column, is_read, is_written, is_passed) = (column.position, false, false, false);
            if !self.uses.iter().any(|known| (known.of, known.column) == (of, column)) {
                self.uses.push(RowUse { of, column, is_read, is_written, is_passed });
            }
        }
    }

    pub fn row_named(&self, alias: &str) -> Option<RowOf> {
        match alias {
            _ if alias == self.new_alias => Some(RowOf::New),
            _ if alias == self.old_alias => Some(RowOf::Old),
            _ => None,
        }
    }
}

/// A name in the dictionary's form.
fn name_of(written: &str) -> String {
    match written.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').to_string(),
        None => written.to_uppercase(),
    }
}

impl<W: World> Compiler<'_, W> {
    /// The column of a row that `:alias.field` names, in a trigger. `assigned`: the column is a target.
    ///
    /// # Errors
    /// PLS-00049 for another name. ORA-04082, ORA-04084, ORA-04085, ORA-04087 and ORA-25003 are errors of CREATE
    /// TRIGGER, too.
    pub(super) fn row_column(
        &mut self,
        alias: &str,
        field: Option<&Ident>,
        assigned: bool,
        pos: Pos,
    ) -> CResult<Option<PathB>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let shown = field.map_or_else(|| alias.to_string(), |field| format!("{alias}.{}", field.name));
        let unknown = || Ora::pls(49, &[&shown]).at(pos);
        let of = rows.row_named(alias).ok_or_else(unknown)?;
        if rows.outside {
            return Err(Ora::pls(679, &[]).at(pos));
        }
        let refused = match assigned {
            _ if !rows.exist => Some(4082),
            true if of == RowOf::Old => Some(4085),
            true if !rows.may_assign => Some(4084),
            _ => None,
        };
        if let Some(code) = refused {
            let error = Ora::new(code);
            rows.refused.get_or_insert(error.clone());
            return Err(error.at(pos));
        }
        let field = field.ok_or_else(unknown)?;
        let column = rows.columns.iter().find(|column| column.name == field.name).ok_or_else(unknown)?;
        if assigned && (column.is_virtual || column.position == ROWID_COLUMN) {
            let error = Ora::new(if column.is_virtual { 25003 } else { 4087 });
            rows.refused.get_or_insert(error.clone());
            return Err(error.at(pos));
        }
        let (position, ty) = (column.position, Ty::of(column.ty));
        let at = rows.uses.iter().position(|known| (known.of, known.column) == (of, position));
        let at = at.ok_or_else(|| Ora::internal("a column of a trigger's row without a parameter"))?;
        rows.uses[at].is_written |= assigned;
        rows.uses[at].is_read |= !assigned;
        let slot = EVENT_PARAMETERS + 1 + at as u32;
        let access = if assigned { Access::Free } else { Access::Constant };
        let root = Root::Slot(self.frame_opd(0, slot));
        Ok(Some(PathB::new(root, ty, access, &shown)))
    }

    /// Notes an argument of a stored subprogram that is a column of the new row.
    pub(super) fn note_passed(&mut self, argument: &Expr) {
        let ExprKind::Bind { name, field: Some(field) } = &argument.kind else { return };
        let Some(rows) = self.rows.as_mut().filter(|rows| rows.may_assign) else { return };
        if rows.row_named(name) != Some(RowOf::New) {
            return;
        }
        let assignable = |column: &&TriggerColumn| !column.is_virtual && column.position != ROWID_COLUMN;
        let column = rows.columns.iter().filter(assignable).find(|column| column.name == field.name);
        let Some(position) = column.map(|column| column.position) else { return };
        let passed = rows.uses.iter_mut().filter(|used| (used.of, used.column) == (RowOf::New, position));
        passed.for_each(|used| used.is_passed = true);
    }

    /// The column that a plain name in a WHEN condition means.
    pub(super) fn row_of_when(&mut self, alias: &Ident, field: Option<&Ident>) -> CResult<Option<PathB>> {
        let is_row = self.rows.as_ref().is_some_and(|rows| rows.in_when && rows.row_named(&alias.name).is_some());
        if is_row { self.row_column(&alias.name, field, false, alias.pos) } else { Ok(None) }
    }
}
