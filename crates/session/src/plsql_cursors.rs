//! Cursors of PL/SQL: compiling their statements, and executing them under the identity that opened them.

use crate::cursors::{Asker, SqlCursor};
use crate::world::World;
use exec::{Cursor, ExecCtx};
use plsql::{ColumnInfo, DynamicKind};
use sql::ast::Statement;
use sql::lexer::{TokenKind, lex};
use std::cell::RefCell;
use std::rc::Rc;
use txn::Savepoint;
use types::{DataType, Ora, Result};

/// PL/SQL as the caller of a statement: the types of the binds, in the order of the cursor.
pub fn asker_of(text: &str, binds: &[DataType], by_name: bool) -> Asker {
    let types = if by_name {
        // The cursor orders its binds by first occurrence, the caller by the number in their names (`:B1`, `:B2`).
        let given = |name: &String| binds.get(name.strip_prefix('B')?.parse::<usize>().ok()?.wrapping_sub(1)).copied();
        sql::bind_names(text).iter().map(given).collect()
    } else {
        binds.iter().copied().map(Some).collect()
    };
    Asker::PlSql { by_name, types }
}

/// The number of placeholders in a statement. A name that occurs twice is counted twice.
fn placeholders(text: &str) -> usize {
    lex(text).tokens.iter().filter(|t| t.kind == TokenKind::Bind).count()
}

/// The stored functions for the compilation of a static statement. The PL/SQL compiler holds the same world meanwhile,
/// hence the cell.
pub struct Functions<'w, 'r, 'a>(pub &'w RefCell<&'r mut World<'a>>);

impl exec::Functions for Functions<'_, '_, '_> {
    fn function(
        &self,
        text_owner: Option<exec::TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<exec::HostFunction>> {
        let cx = &mut self.0.borrow_mut().cx;
        let host = cx.host;
        host.function(cx, text_owner, path, args)
    }

    fn type_def(&self, id: types::TypeId) -> Option<Rc<types::TypeDef>> {
        self.0.borrow().cx.host.type_def(id)
    }
}

impl World<'_> {
    /// Adds the counts so far to the shared cursors, while PL/SQL runs.
    #[cold]
    pub fn tell_progress(&mut self) {
        self.cx.session.figures.progress(&self.core.p, self.core.shared.library);
    }

    #[cold]
    pub fn audit(&mut self, cursor: &Cursor, start: &Savepoint, error: Option<&Ora>) -> Result<()> {
        let kind = net::StatementKind(cursor.kind().command() as u16);
        let (objects, code) = (cursor.dependencies(), error.map_or(0, Ora::code));
        let txn = &mut self.cx.session.txn;
        let noted = crate::audit::rows(self.core, txn, kind, objects, cursor.text(), code);
        crate::audit::or_undone(self.core, txn, start, noted)
    }

    /// Audits a dynamic statement that could not be compiled, and returns its error.
    #[cold]
    pub fn audit_refused(&self, text: &str, e: Ora) -> Result<Cursor> {
        if self.core.audit_rows.get()
            && let Ok(statement) = sql::parse_statement_by_place(text)
        {
            let kind = crate::kind::kind_of(&statement);
            crate::audit::rows(self.core, &self.cx.session.txn, kind, &[], text, e.code())?;
        }
        Err(e)
    }

    pub fn compile(&mut self, text: &str, asker: &Asker) -> Result<Cursor> {
        match asker {
            Asker::PlSql { by_name: false, types } => {
                Cursor::compile_by_place(&mut self.cx, text, types).or_else(|e| self.audit_refused(text, e))
            }
            Asker::PlSql { types, .. } => Cursor::compile(&mut self.cx, text, types),
            Asker::Client => Cursor::compile(&mut self.cx, text, &[]),
        }
    }

    /// An opened cursor for PL/SQL, bound to the identity in force (invariant 12).
    pub fn opened(&self, cursor: Cursor, asker: Asker) -> SqlCursor {
        SqlCursor::new(cursor, asker, self.core.identity(), Rc::clone(&self.cx.session.schema))
    }

    /// Runs `f` on a cursor, under the identity that opened it (invariant 12).
    pub fn as_opener<R>(
        &mut self,
        cursor: &mut SqlCursor,
        f: impl FnOnce(&mut Cursor, &mut ExecCtx<'_>) -> Result<R>,
    ) -> Result<R> {
        if self.core.identity() == cursor.identity {
            return f(&mut cursor.cursor, &mut self.cx);
        }
        self.core.enter(self.cx.session, cursor.identity, &cursor.schema);
        let done = f(&mut cursor.cursor, &mut self.cx);
        self.core.leave(self.cx.session);
        done
    }

    pub fn column_infos(columns: &[exec::Column]) -> Vec<ColumnInfo> {
        let info = |c: &exec::Column| ColumnInfo { name: c.name.clone(), ty: c.ty, nullable: c.nullable };
        columns.iter().map(info).collect()
    }
}

/// Opens a cursor for a parse call of PL/SQL: a kept one, or a new one.
pub fn parse(world: &mut World<'_>, text: &str, binds: &[DataType], by_name: bool) -> Result<SqlCursor> {
    let asker = asker_of(text, binds, by_name);
    let cursor = match world.core.take_kept(&mut world.cx, text, &asker) {
        Some(cursor) => cursor,
        None => {
            world.core.kept.borrow_mut().count_parse(text);
            world.compile(text, &asker)?
        }
    };
    Ok(world.opened(cursor, asker))
}

/// Executes a cursor, with its rows of the audit trail.
pub fn execute(world: &mut World<'_>, cursor: &mut SqlCursor) -> Result<u64> {
    let start = crate::audit::start(world.core, &world.cx.session.txn, cursor.changes_trail);
    let executed = world.as_opener(cursor, |cursor, cx| cursor.execute(cx));
    if let Some(start) = start {
        world.audit(&cursor.cursor, &start, executed.as_ref().err())?;
    }
    executed?;
    Ok(cursor.cursor.rows_processed())
}

/// The kind of a dynamic statement, and the number of its placeholders.
pub fn dynamic_kind(world: &mut World<'_>, text: &str) -> Result<(DynamicKind, usize)> {
    // A query or DML is not parsed here: its shared cursor may exist.
    if let Some(word) = crate::kind::of_first_word(text) {
        let kind = if word == net::StatementKind::SELECT { DynamicKind::Query } else { DynamicKind::Dml };
        return Ok((kind, placeholders(text)));
    }
    let kind = match exec::read_text(&world.core.p, || sql::parse_statement(text))? {
        Statement::Query(_) => DynamicKind::Query,
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => DynamicKind::Dml,
        Statement::Block { pos: _ } | Statement::Call(_) => DynamicKind::Block,
        _ => return Ok((DynamicKind::Other, 0)), // not a clause: they have no binds
    };
    Ok((kind, placeholders(text)))
}
