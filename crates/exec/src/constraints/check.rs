//! Checking noted violations in the current state.

use super::noting::{CHILD, HEAD, KEY, PARENT, ROW};
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::cursor::{Cursor, compile_inner};
use crate::dml::keys::{Child, Parent};
use crate::index::Index;
use crate::session_state::Caller;
use btree::Repeats;
use dictionary::{ConstraintDef, ConstraintKindDef, TableDef};
use plan::{ChildKey, ForeignKey, OnDelete, Watch};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use txn::LockWait;
use types::row::RowReader;
use types::{DataType, ObjectId, Ora, Result, Value, codec};

/// Checks the constraints that `which` selects by number, in their current state. Waits for transactions of other
/// sessions that hold a key.
///
/// # Errors
/// ORA-00001, ORA-02290, ORA-02291, ORA-02292; while waiting ORA-00060, ORA-01013.
pub fn check(which: &dyn Fn(u32) -> bool, cx: &mut ExecCtx<'_>) -> Result<()> {
    let notes = std::mem::take(&mut cx.session.constraints.transaction.notes);
    let mut checkers: HashMap<u32, Option<Checker>> = HashMap::new();
    let done = notes.each(cx, &mut |record, cx| {
        let word = |at: usize| record.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let (Some(constraint), Some(table), Some(kind)) = (word(0), word(4), record.get(HEAD - 1)) else {
            return Err(Ora::internal("note of a constraint is damaged"));
        };
        if !which(constraint) {
            return Ok(());
        }
        let checker = match checkers.entry(constraint) {
            Entry::Occupied(have) => have.into_mut(),
            Entry::Vacant(place) => place.insert(Checker::build(constraint, ObjectId(table), cx)?),
        };
        cx.check_cancel()?;
        match checker {
            Some(checker) => checker.check(*kind, &record[HEAD..], cx),
            None => Ok(()),
        }
    });
    // Statements run by a check make no notes.
    cx.session.constraints.transaction.notes = notes;
    done
}

/// A constraint, ready to be checked.
enum Checker {
    Key(Box<Index>),
    Foreign { parent: Box<Parent>, child: Box<Child>, of_child: Vec<DataType>, of_parent: Vec<DataType> },
    Row { cursor: Box<Cursor>, violated: Ora },
}

impl Checker {
    /// `None` for a constraint that is dropped or disabled.
    fn build(constraint: u32, table: ObjectId, cx: &mut ExecCtx<'_>) -> Result<Option<Checker>> {
        let Some(table) = cx.host.catalog()?.table_by_id(table)? else { return Ok(None) };
        let Some(c) = table.constraints.iter().find(|c| c.id == constraint && c.enabled) else { return Ok(None) };
        match &c.kind {
            ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => {
                let Some(def) = table.indexes.iter().find(|i| i.object == *index) else { return Ok(None) };
                let index = with_builder(cx, |b| Index::of(def, &table, b))?;
                Ok(Some(Checker::Key(Box::new(index))))
            }
            ConstraintKindDef::Check { text } => Checker::of_rows(&table, c, text, cx).map(Some),
            ConstraintKindDef::NotNull { column } => {
                let text = format!("\"{}\" IS NOT NULL", table.columns[*column].name);
                Checker::of_rows(&table, c, &text, cx).map(Some)
            }
            ConstraintKindDef::ForeignKey { .. } => Checker::foreign(&table, c, cx),
        }
    }

    fn of_rows(table: &TableDef, c: &ConstraintDef, text: &str, cx: &mut ExecCtx<'_>) -> Result<Checker> {
        // The text is parsed as one condition, so a comment in it cannot add clauses.
        let condition = sql::parse_condition(text)?;
        let (owner, name) = (&table.owner, &table.name);
        let sql = format!("SELECT 1 FROM \"{owner}\".\"{name}\" WHERE ROWID = :B1 AND NOT ({condition})");
        let cursor = Box::new(Cursor::internal(cx, &sql)?);
        Ok(Checker::Row { cursor, violated: Ora::with(2290, &[&table.owner, &c.name]) })
    }

    fn foreign(table: &Rc<TableDef>, c: &ConstraintDef, cx: &mut ExecCtx<'_>) -> Result<Option<Checker>> {
        let ConstraintKindDef::ForeignKey { columns, table: parent, key, .. } = &c.kind else { return Ok(None) };
        let Some(parent) = cx.host.catalog()?.table_by_id(*parent)? else { return Ok(None) };
        let Some(key) = parent.constraints.iter().find(|have| have.id == *key) else { return Ok(None) };
        let (ConstraintKindDef::PrimaryKey { columns: to, index } | ConstraintKindDef::Unique { columns: to, index }) =
            &key.kind
        else {
            return Ok(None);
        };
        let Some(parent_index) = parent.indexes.iter().find(|i| i.object == *index) else { return Ok(None) };
        let types = |t: &TableDef, of: &[usize]| of.iter().map(|at| t.columns[*at].data_type).collect();
        let numbers = |of: &[usize]| of.iter().map(|at| *at as u16).collect();
        let (owner, name) = (table.owner.clone(), c.name.clone());
        let watch = Watch::of(c, table.object);
        let up = ForeignKey {
            owner: owner.clone(),
            name: name.clone(),
            columns: numbers(columns),
            parent: parent.clone(),
            parent_index: parent_index.clone(),
            watch,
        };
        let down = ChildKey {
            owner,
            name,
            parent_columns: numbers(to),
            child: table.clone(),
            child_columns: numbers(columns),
            // The ON DELETE action was done at once.
            on_delete: OnDelete::Restrict,
            watch,
        };
        let (of_child, of_parent) = (types(table, columns), types(&parent, to));
        with_builder(cx, |b| {
            let parent = Box::new(Parent::build(&up, table, b)?);
            let child = Box::new(Child::build(&down, None, b)?);
            Ok(Some(Checker::Foreign { parent, child, of_child, of_parent }))
        })
    }

    fn check(&mut self, kind: u8, payload: &[u8], cx: &mut ExecCtx<'_>) -> Result<()> {
        match self {
            Checker::Key(index) if kind == KEY => {
                for tree in index.trees_with(payload, cx)? {
                    loop {
                        let own = cx.session.txn.xid();
                        match cx.shared.btree.is_repeated(cx.p, own, &tree, payload)? {
                            Repeats::Never => break,
                            Repeats::Twice => return Err(index.duplicate()),
                            Repeats::Undecided(holder) => {
                                cx.shared.txns.wait_for_key(cx.p, holder, LockWait::Forever)?
                            }
                        }
                    }
                }
                Ok(())
            }
            Checker::Foreign { parent, child, of_child, of_parent } if kind == CHILD || kind == PARENT => {
                let values = values(payload, if kind == CHILD { of_child } else { of_parent })?;
                if parent.is_there(&values, cx)? || !child.refers(&values, cx)? {
                    return Ok(());
                }
                Err(if kind == CHILD { parent.missing() } else { child.found() })
            }
            Checker::Row { cursor, violated } if kind == ROW => {
                let text = std::str::from_utf8(payload).map_err(|_| Ora::internal("note of a row is damaged"))?;
                cursor.bind(&[Value::text(text)])?;
                cursor.execute(cx)?;
                let mut row = Vec::new();
                let found = cursor.fetch(cx, &mut row);
                cursor.close(cx);
                if found? { Err(violated.clone()) } else { Ok(()) }
            }
            // Another constraint has been created under the number.
            _ => Ok(()),
        }
    }
}

/// Runs `f` with a builder for code that reads no registers of a statement.
fn with_builder<R>(cx: &ExecCtx<'_>, f: impl FnOnce(&mut Builder<'_>) -> Result<R>) -> Result<R> {
    let mut regs = Vec::new();
    let mut b = Builder::new(&mut regs, 0, Caller::default(), cx);
    b.compile_inner = compile_inner;
    f(&mut b)
}

fn values(row: &[u8], types: &[DataType]) -> Result<Vec<Value>> {
    let damaged = || Ora::internal("note of a foreign key is damaged");
    let mut reader = RowReader::new(row).ok_or_else(damaged)?;
    let mut all = Vec::with_capacity(types.len());
    for ty in types {
        let mut v = Value::Null;
        if let Some(bytes) = reader.next_column().ok_or_else(damaged)?.bytes() {
            codec::decode_into(bytes, ty, &mut v)?;
        }
        all.push(v);
    }
    Ok(all)
}
