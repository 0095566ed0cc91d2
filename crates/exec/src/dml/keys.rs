//! Foreign keys, from both sides.
//!
//! A key holds among the newest versions of rows, whatever the statement's snapshot is: a child looks for its parent's
//! entry in the unique index as that is now, a parent that goes for its children's in an index on the foreign key.
//! Where an open transaction of another session decides, the asker waits for its end. Without an index on the foreign
//! key the parent's statement holds the child table in mode S, so that there are no open changes of it, and looks with
//! a query as of now.

use crate::code::Builder;
use crate::constraints::{self, Side};
use crate::ctx::ExecCtx;
use crate::cursor::Cursor;
use crate::index::Index;
use crate::machine::Machine;
use btree::KeyState;
use dictionary::{ConstraintKindDef, IndexDef, IndexKey, IndexKind, TableDef};
use plan::{ChildKey, ForeignKey, OnDelete, Reg, Watch};
use std::rc::Rc;
use txn::LockWait;
use types::{DataType, Ora, Result, Value, codec};

/// Encodes values as the key of an index over columns of other tables' types.
struct KeyMaker {
    index: Rc<IndexDef>,
    /// For each part of the key: which value, the column's type, and whether it is descending.
    parts: Vec<(usize, DataType, bool)>,
    bytes: Vec<u8>,
    stored: Vec<u8>,
}

impl KeyMaker {
    /// False when a value cannot be in such a column, and so in no key.
    fn encode(&mut self, values: &[Value], cx: &ExecCtx<'_>) -> bool {
        self.bytes.clear();
        for (n, ty, descending) in &self.parts {
            // A CHAR of another length is padded to the column's.
            let mut v = values[*n].clone();
            if ty.assign(&mut v, &cx.session.nls, &"").is_err() {
                return false;
            }
            self.stored.clear();
            codec::encode_instant(&v, &mut self.stored);
            self.index.push_key_part(Some(&self.stored), *descending, &mut self.bytes);
        }
        true
    }
}

/// The parts of an index's key, each from the value of its column's place in `columns`.
fn parts_of(index: &Index, columns: &[u16], table: &TableDef) -> Vec<(usize, DataType, bool)> {
    let part = |&(column, descending): &(usize, bool)| {
        let n = columns.iter().position(|&k| usize::from(k) == column)?;
        Some((n, table.columns[column].data_type, descending))
    };
    index.columns.iter().take(columns.len()).filter_map(part).collect()
}

/// The state of a key once nobody else's open transaction decides about it. Waits: `enq: TX - row lock contention`.
fn settled(index: &Index, key: &[u8], patient: bool, cx: &mut ExecCtx<'_>) -> Result<KeyState> {
    loop {
        match cx.shared.btree.key_state(cx.p, cx.session.txn.xid(), &index.tree, key, patient)? {
            KeyState::Undecided(holder) => cx.shared.txns.wait_for_key(cx.p, holder, LockWait::Forever)?,
            state => return Ok(state),
        }
    }
}

/// A foreign key of the table that is changed.
pub struct Parent {
    owner: String,
    name: String,
    columns: Vec<u16>,
    index: Index,
    key: KeyMaker,
    /// The parent is the table itself: rows of the same statement may be parents, so what is missing is looked for
    /// again at its end.
    own: bool,
    late: Vec<Vec<u8>>,
    watch: Watch,
}

impl Parent {
    pub fn build(f: &ForeignKey, table: &TableDef, b: &mut Builder<'_>) -> Result<Parent> {
        if f.parent_index.unusable {
            return Err(Ora::with(1502, &[&f.parent_index.owner, &f.parent_index.name]));
        }
        let index = Index::of(&f.parent_index, &f.parent, b)?;
        // The index may have the key's columns in another order.
        let of_index = |kind: &ConstraintKindDef| match kind {
            ConstraintKindDef::PrimaryKey { columns, index } | ConstraintKindDef::Unique { columns, index }
                if *index == f.parent_index.object && columns.len() == f.columns.len() =>
            {
                Some(columns.iter().map(|c| *c as u16).collect::<Vec<u16>>())
            }
            _ => None,
        };
        let key = f.parent.constraints.iter().find_map(|c| of_index(&c.kind));
        let key = key.unwrap_or_else(|| index.columns.iter().map(|(c, _)| *c as u16).collect());
        let parts = parts_of(&index, &key, &f.parent);
        Ok(Parent {
            owner: f.owner.clone(),
            name: f.name.clone(),
            columns: f.columns.clone(),
            index,
            key: KeyMaker { index: f.parent_index.clone(), parts, bytes: Vec::new(), stored: Vec::new() },
            own: f.parent.object == table.object,
            late: Vec::new(),
            watch: f.watch,
        })
    }

    /// Forgets what an execution that failed left.
    pub fn begin(&mut self) {
        self.late.clear();
    }

    /// ORA-02291 when the row in the registers `new` names no parent. `changed`: the columns that an UPDATE sets.
    pub fn check(&mut self, new: &[Reg], changed: Option<&[u16]>, m: &Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if changed.is_some_and(|set| !self.columns.iter().any(|c| set.contains(c))) {
            return Ok(());
        }
        let values: Vec<Value> = self.columns.iter().map(|&c| m.value(new[c as usize]).clone()).collect();
        // A key with a NULL refers to nothing.
        if values.iter().any(Value::is_null) {
            return Ok(());
        }
        if self.is_there(&values, cx)? {
            return Ok(());
        }
        if constraints::is_deferred(&self.watch, cx) {
            return constraints::note_values(&self.watch, Side::Child, &values, cx);
        }
        if !self.own {
            return Err(self.missing());
        }
        self.late.push(self.key.bytes.clone());
        Ok(())
    }

    /// Whether the parent has a key of these values.
    pub fn is_there(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        let possible = self.key.encode(values, cx);
        Ok(possible && settled(&self.index, &self.key.bytes, false, cx)? == KeyState::Present)
    }

    /// Looks again for what was missing.
    pub fn finish(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        for key in std::mem::take(&mut self.late) {
            if settled(&self.index, &key, false, cx)? != KeyState::Present {
                return Err(self.missing());
            }
        }
        Ok(())
    }

    pub fn missing(&self) -> Ora {
        Ora::with(2291, &[&self.owner, &self.name])
    }
}

/// A foreign key of a table that refers to the one that is changed.
pub struct Child {
    owner: String,
    name: String,
    /// The key's columns in the parent.
    pub columns: Vec<u16>,
    on_delete: OnDelete,
    index: Option<(Index, KeyMaker)>,
    /// The index of the key in the table that is changed: another row may have got a key that one has lost.
    again: Option<(Index, KeyMaker)>,
    /// What ON DELETE does, and a query that finds a row.
    action: Inner,
    look: Inner,
    watch: Watch,
}

/// A statement of the database's own, compiled when it is first needed.
struct Inner {
    sql: String,
    cursor: Option<Box<Cursor>>,
}

impl Inner {
    fn new(sql: String) -> Inner {
        Inner { sql, cursor: None }
    }

    fn cursor(&mut self, cx: &mut ExecCtx<'_>) -> Result<&mut Cursor> {
        let cursor = match self.cursor.take() {
            Some(c) => c,
            None => Box::new(Cursor::internal(cx, &self.sql)?),
        };
        Ok(self.cursor.insert(cursor))
    }
}

/// The index of a child table that begins with the columns of its foreign key, in any order.
pub fn index_on(child: &TableDef, columns: &[u16]) -> Option<Rc<IndexDef>> {
    let leads = |i: &IndexDef| {
        let first = i.columns.iter().take(columns.len()).map(|c| match c.key {
            IndexKey::Column(at) => Some(at as u16),
            IndexKey::Expression { .. } => None,
        });
        let first: Vec<Option<u16>> = first.collect();
        first.len() == columns.len() && columns.iter().all(|c| first.contains(&Some(*c)))
    };
    // Reversed keys are found whole only.
    let whole = |i: &IndexDef| i.kind != IndexKind::Reverse || i.columns.len() == columns.len();
    child.indexes.iter().find(|i| !i.unusable && leads(i) && whole(i)).cloned()
}

/// An index over the columns, or that begins with them, and how its keys are made of their values.
fn key_in(def: &Rc<IndexDef>, table: &TableDef, columns: &[u16], b: &Builder<'_>) -> Result<(Index, KeyMaker)> {
    let index = Index::of(def, table, b)?;
    let parts = parts_of(&index, columns, table);
    Ok((index, KeyMaker { index: def.clone(), parts, bytes: Vec::new(), stored: Vec::new() }))
}

/// The index that watches over the key of these columns.
fn index_of_key(table: &TableDef, key: &[u16]) -> Option<Rc<IndexDef>> {
    let is_it = |kind: &ConstraintKindDef| match kind {
        ConstraintKindDef::PrimaryKey { columns, index } | ConstraintKindDef::Unique { columns, index } => {
            columns.iter().map(|c| *c as u16).eq(key.iter().copied()).then_some(*index)
        }
        _ => None,
    };
    let index = table.constraints.iter().filter(|c| c.enabled).find_map(|c| is_it(&c.kind))?;
    table.indexes.iter().find(|i| i.object == index).cloned()
}

impl Child {
    /// `parent`: the table that is changed, where the statement may give a key to another row.
    pub fn build(c: &ChildKey, parent: Option<&TableDef>, b: &mut Builder<'_>) -> Result<Child> {
        let index = match index_on(&c.child, &c.child_columns) {
            None => None,
            Some(def) => Some(key_in(&def, &c.child, &c.child_columns, b)?),
        };
        let again = match parent.and_then(|table| Some((table, index_of_key(table, &c.parent_columns)?))) {
            None => None,
            Some((table, def)) => Some(key_in(&def, table, &c.parent_columns, b)?),
        };
        Ok(Child {
            owner: c.owner.clone(),
            name: c.name.clone(),
            columns: c.parent_columns.clone(),
            on_delete: c.on_delete,
            index,
            again,
            action: Inner::new(child_sql(c, c.on_delete)),
            look: Inner::new(child_sql(c, OnDelete::Restrict)),
            watch: c.watch,
        })
    }

    /// Whether a row of the changed table has the key again that one has lost. `deleted`: its row was deleted, and what
    /// ON DELETE says is done in any case.
    pub fn is_there_again(&mut self, values: &[Value], deleted: bool, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if deleted && self.on_delete != OnDelete::Restrict {
            return Ok(false);
        }
        let Some((index, key)) = &mut self.again else { return Ok(false) };
        Ok(key.encode(values, cx) && settled(index, &key.bytes, false, cx)? == KeyState::Present)
    }

    /// ORA-02292 when rows of the child table refer to a key that is gone; or, where its row was `deleted` and not
    /// changed, what ON DELETE says instead.
    pub fn check(&mut self, values: &[Value], deleted: bool, cx: &mut ExecCtx<'_>) -> Result<()> {
        let restricts = self.on_delete == OnDelete::Restrict || !deleted;
        let state = match &mut self.index {
            Some((index, key)) => {
                let possible = key.encode(values, cx);
                Some(if possible { settled(index, &key.bytes, !restricts, cx)? } else { KeyState::Absent })
            }
            None => None,
        };
        match (state, restricts) {
            (Some(KeyState::Absent), _) => Ok(()),
            (Some(_), true) => self.refused(values, cx),
            (None, true) if self.finds(values, cx)? => self.refused(values, cx),
            (None, true) => Ok(()),
            (_, false) => {
                let cursor = self.action.cursor(cx)?;
                cursor.bind(values)?;
                cursor.execute(cx)
            }
        }
    }

    /// Rows refer to a key that is gone: noted, when the constraint is deferred.
    fn refused(&self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<()> {
        if constraints::is_deferred(&self.watch, cx) {
            return constraints::note_values(&self.watch, Side::Parent, values, cx);
        }
        Err(self.found())
    }

    /// Whether rows of the child table refer to these values, by a constraint that restricts.
    pub fn refers(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        match &mut self.index {
            Some((index, key)) => {
                Ok(key.encode(values, cx) && settled(index, &key.bytes, false, cx)? != KeyState::Absent)
            }
            None => self.finds(values, cx),
        }
    }

    pub fn found(&self) -> Ora {
        Ora::with(2292, &[&self.owner, &self.name])
    }

    /// Whether the query finds a row.
    fn finds(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        let cursor = self.look.cursor(cx)?;
        cursor.bind(values)?;
        cursor.execute(cx)?;
        let mut row = Vec::new();
        let found = cursor.fetch(cx, &mut row);
        cursor.close(cx);
        found
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn child_sql(c: &ChildKey, on_delete: OnDelete) -> String {
    let table = format!("{}.{}", quoted(&c.child.owner), quoted(&c.child.name));
    let names: Vec<&str> = c.child_columns.iter().map(|&i| c.child.columns[i as usize].name.as_str()).collect();
    let parts: Vec<String> = names.iter().enumerate().map(|(i, n)| format!("{} = :B{}", quoted(n), i + 1)).collect();
    let filter = parts.join(" AND ");
    match on_delete {
        OnDelete::Restrict => format!("SELECT 1 FROM {table} WHERE {filter} AND ROWNUM = 1"),
        OnDelete::Cascade => format!("DELETE FROM {table} WHERE {filter}"),
        OnDelete::SetNull => {
            let sets: Vec<String> = names.iter().map(|n| format!("{} = NULL", quoted(n))).collect();
            format!("UPDATE {table} SET {} WHERE {filter}", sets.join(", "))
        }
    }
}
