//! Deferred constraints: SET CONSTRAINTS, and the notes that a later check reads.
//!
//! Each statement tests every constraint at once. A violation of a deferred constraint is noted: the duplicate key, the
//! values without a parent or whose parent is gone, the row that fails a condition. A check reads the notes only, so
//! its cost depends on the number of violations and not on the size of the tables. It looks at the current state: a
//! violation that a rollback to a savepoint has undone is none any more. For the same reason notes are kept until the
//! transaction ends, even after a check without violations: a rollback to an earlier savepoint may restore a violation
//! (E11).
//!
//! Notes beyond some megabytes are written to temporary space, each file in order.

use crate::code::Builder;
use crate::ctx::{Caller, ExecCtx};
use crate::cursor::Cursor;
use crate::dml::keys::{Child, Parent};
use crate::index::Index;
use crate::machine::Machine;
use crate::spill::pool::Pool;
use crate::spill::{Reader, TempFile};
use crate::table::At;
use btree::Repeats;
use dictionary::{ConstraintDef, ConstraintKindDef, TableDef};
use plan::{ChildKey, ForeignKey, OnDelete, Watch};
use space::TempSpace;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use txn::LockWait;
use types::row::{RowReader, RowWriter};
use types::{DataType, ObjectId, Ora, Result, Value, codec};

/// Bytes of notes that are held in memory.
const NOTES_BYTES_MAX: usize = 1 << 20;
/// Approximate memory of a note besides its own bytes.
const NOTE_OVERHEAD: usize = 64;
/// Length of a note's head: number of the constraint, its table, and the sort of the note.
const HEAD: usize = 9;

/// The side of a foreign key on which a row was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A row names a missing parent.
    Child,
    /// A referenced key is gone.
    Parent,
}

/// The sorts of notes.
const KEY: u8 = 1;
const CHILD: u8 = 2;
const PARENT: u8 = 3;
const ROW: u8 = 4;

/// A session's settings, and the notes of its transaction.
#[derive(Default)]
pub struct Constraints {
    /// ALTER SESSION SET CONSTRAINTS; `None` is DEFAULT.
    session: Option<bool>,
    transaction: Transaction,
}

/// State that ends with the transaction; an autonomous transaction has its own.
#[derive(Default)]
pub struct Transaction {
    /// SET CONSTRAINTS ALL, and later settings of single constraints.
    all: Option<bool>,
    named: HashMap<u32, bool>,
    notes: Notes,
}

impl Constraints {
    /// SET CONSTRAINTS ALL.
    pub fn set_all(&mut self, deferred: bool) {
        self.transaction.named.clear();
        self.transaction.all = Some(deferred);
    }

    /// SET CONSTRAINT of a deferrable constraint.
    pub fn set(&mut self, constraint: u32, deferred: bool) {
        self.transaction.named.insert(constraint, deferred);
    }

    /// ALTER SESSION SET CONSTRAINTS; `None` is DEFAULT.
    pub fn set_session(&mut self, deferred: Option<bool>) {
        self.session = deferred;
    }

    /// Whether nothing has to be checked when the transaction ends.
    pub fn is_clear(&self) -> bool {
        self.transaction.notes.is_empty()
    }

    /// The transaction has ended: its settings and notes are forgotten.
    pub fn end_transaction(&mut self, temp: &TempSpace) {
        let t = &mut self.transaction;
        t.all = None;
        t.named.clear();
        t.notes.clear(temp);
    }

    /// Replaces the state for an autonomous transaction and returns that of the suspended one.
    pub fn suspend(&mut self) -> Transaction {
        std::mem::take(&mut self.transaction)
    }

    /// Restores the state of a suspended transaction.
    pub fn resume(&mut self, suspended: Transaction) {
        self.transaction = suspended;
    }
}

/// Whether a violation of the constraint is noted instead of raised.
pub fn is_deferred(watch: &Watch, cx: &ExecCtx<'_>) -> bool {
    let c = &cx.session.constraints;
    let set = c.transaction.named.get(&watch.constraint).copied().or(c.transaction.all).or(c.session);
    watch.deferrable && set.unwrap_or(watch.initially_deferred)
}

/// Notes a key that has two entries in the constraint's index.
pub fn note_key(watch: &Watch, key: &[u8], cx: &mut ExecCtx<'_>) -> Result<()> {
    note(watch, KEY, cx, |out| out.extend_from_slice(key))
}

/// Notes values of a foreign key without a parent.
pub fn note_values(watch: &Watch, side: Side, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<()> {
    let kind = if side == Side::Child { CHILD } else { PARENT };
    note(watch, kind, cx, |out| {
        let mut w = RowWriter::new(out, values.len());
        values.iter().for_each(|v| w.value(v));
    })
}

/// Notes a row that fails a condition.
pub fn note_row(watch: &Watch, at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
    let mut m = Machine::new(vec![Value::Null], 0);
    at.put(&mut m, 0);
    let text = m.value(0).to_text(&cx.session.nls)?.map_or_else(String::new, |t| t.into_owned());
    note(watch, ROW, cx, |out| out.extend_from_slice(text.as_bytes()))
}

fn note(watch: &Watch, kind: u8, cx: &mut ExecCtx<'_>, fill: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
    let mut record = Vec::with_capacity(HEAD + 32);
    record.extend_from_slice(&watch.constraint.to_be_bytes());
    record.extend_from_slice(&watch.table.0.to_be_bytes());
    record.push(kind);
    fill(&mut record);
    let mut notes = std::mem::take(&mut cx.session.constraints.transaction.notes);
    let done = notes.add(record, cx);
    cx.session.constraints.transaction.notes = notes;
    done
}

/// Notes; those in memory are ordered by constraint.
#[derive(Default)]
struct Notes {
    set: BTreeSet<Vec<u8>>,
    bytes: usize,
    files: Vec<TempFile>,
    pool: Pool,
}

impl Notes {
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.files.is_empty()
    }

    fn add(&mut self, record: Vec<u8>, cx: &ExecCtx<'_>) -> Result<()> {
        let size = record.len() + NOTE_OVERHEAD;
        if self.set.insert(record) {
            self.bytes += size;
        }
        if self.bytes < NOTES_BYTES_MAX {
            return Ok(());
        }
        let mut file = TempFile::new(&self.pool, cx);
        self.set.iter().try_for_each(|record| file.push(record, cx))?;
        file.finish(cx)?;
        self.files.push(file);
        self.set.clear();
        self.bytes = 0;
        Ok(())
    }

    fn clear(&mut self, temp: &TempSpace) {
        self.set.clear();
        self.bytes = 0;
        self.files.clear();
        self.pool.clear(temp);
    }

    fn each(&self, cx: &mut ExecCtx<'_>, f: &mut dyn FnMut(&[u8], &mut ExecCtx<'_>) -> Result<()>) -> Result<()> {
        self.set.iter().try_for_each(|record| f(record, cx))?;
        let mut record = Vec::new();
        for file in &self.files {
            let mut reader = Reader::default();
            while file.next(&mut reader, &mut record, cx)? {
                f(&record, cx)?;
            }
        }
        Ok(())
    }
}

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
            Checker::Key(index) if kind == KEY => loop {
                let own = cx.session.txn.xid();
                match cx.shared.btree.is_repeated(cx.p, own, &index.tree, payload)? {
                    Repeats::Never => return Ok(()),
                    Repeats::Twice => return Err(index.duplicate()),
                    Repeats::Undecided(holder) => cx.shared.txns.wait_for_key(cx.p, holder, LockWait::Forever)?,
                }
            },
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
    f(&mut Builder::new(&mut regs, 0, Caller::default(), cx))
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
