//! Foreign keys, from both sides.
//!
//! A key is valid among the current versions of rows, whatever the statement's snapshot: a child looks for its parent's
//! entry in the present unique index, and a disappearing parent looks for its children's entries in an index on the
//! foreign key. If an open transaction of another session decides, the session waits for its end. Without an index on
//! the foreign key, the parent's statement holds the child table in mode S, so that there are no open changes, and
//! queries it with a current snapshot.

use crate::builder::Builder;
use crate::constraints::{self, Side};
use crate::ctx::ExecCtx;
use crate::index::Index;
use crate::inner_statement::Inner;
use crate::machine::Machine;
use btree::KeyState;
use dictionary::{ConstraintKindDef, IndexDef, IndexKey, IndexKind, TableDef};
use plan::{ChildKey, ForeignKey, OnDelete, Reg, Watch};
use std::rc::Rc;
use txn::LockWait;
use types::{DataType, ObjectId, Ora, Result, Value, codec};

/// Encodes values as the key of an index over columns of other tables' types.
struct KeyMaker {
    index: Rc<IndexDef>,
    /// For each part of the key: position of the value, type of the column, and whether the part is descending.
    parts: Vec<(usize, DataType, bool)>,
    bytes: Vec<u8>,
    stored: Vec<u8>,
}

impl KeyMaker {
    /// Encodes values; false if a value cannot be stored in the column, and therefore is in no key.
    fn encode(&mut self, values: &[Value], cx: &ExecCtx<'_>) -> bool {
        self.bytes.clear();
        for (n, ty, descending) in &self.parts {
            // A CHAR is padded to the length of the column.
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

/// The parts of an index's key: each takes the value at the position of its column in `columns`.
fn parts_of(index: &Index, columns: &[u16], table: &TableDef) -> Vec<(usize, DataType, bool)> {
    let part = |&(column, descending): &(usize, bool)| {
        let n = columns.iter().position(|&k| usize::from(k) == column)?;
        Some((n, table.columns[column].data_type, descending))
    };
    index.columns.iter().take(columns.len()).filter_map(part).collect()
}

/// The state of a key when no open transaction of another session decides about it. Waits: `enq: TX - row lock
/// contention`.
fn settled(index: &Index, key: &[u8], patient: bool, cx: &mut ExecCtx<'_>) -> Result<KeyState> {
    for tree in index.trees_with(key, cx)? {
        loop {
            match cx.shared.btree.key_state(cx.p, cx.session.txn.xid(), &tree, key, patient)? {
                KeyState::Undecided(holder) => cx.shared.txns.wait_for_key(cx.p, holder, LockWait::Forever)?,
                KeyState::Present => return Ok(KeyState::Present),
                KeyState::Absent => break,
            }
        }
    }
    Ok(KeyState::Absent)
}

/// A foreign key of the table that is changed.
pub struct Parent {
    owner: String,
    name: String,
    columns: Vec<u16>,
    index: Index,
    key: KeyMaker,
    /// Whether the table refers to itself. Rows of the same statement may then be parents, so missing parents are
    /// looked up again at its end.
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

    /// Takes over the partitions of the changed table, if it is the parent.
    pub fn adopt(&mut self, table: &TableDef) {
        self.index.adopt(table);
    }

    /// Discards what a failed execution left.
    pub fn begin(&mut self) {
        self.late.clear();
    }

    /// Checks that the row in the registers `new` has a parent (ORA-02291). `changed`: the columns that an UPDATE sets.
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

    /// Whether the parent table has a key with these values.
    pub fn is_there(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        let possible = self.key.encode(values, cx);
        Ok(possible && settled(&self.index, &self.key.bytes, false, cx)? == KeyState::Present)
    }

    /// Looks up missing parents again.
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

/// A foreign key that refers to the changed table.
pub struct Child {
    owner: String,
    name: String,
    table: ObjectId,
    /// The key's columns in the parent.
    pub columns: Vec<u16>,
    on_delete: OnDelete,
    index: Option<(Index, KeyMaker)>,
    /// The index of the referenced key, to find out whether another row has got a key that one has lost.
    again: Option<(Index, KeyMaker)>,
    /// The statement of ON DELETE, and a query that finds a child row.
    action: Inner,
    look: Inner,
    watch: Watch,
}

impl Child {
    /// Takes over the partitions of the changed table.
    pub fn adopt(&mut self, table: &TableDef) {
        let both = [&mut self.index, &mut self.again];
        both.into_iter().flatten().for_each(|(index, _)| index.adopt(table));
    }
}

/// The index of a child table that begins with the foreign key's columns, in any order.
pub fn index_on(child: &TableDef, columns: &[u16]) -> Option<Rc<IndexDef>> {
    let leads = |i: &IndexDef| {
        let first = i.columns.iter().take(columns.len()).map(|c| match c.key {
            IndexKey::Column(at) => Some(at as u16),
            IndexKey::Expression { .. } => None,
        });
        let first: Vec<Option<u16>> = first.collect();
        first.len() == columns.len() && columns.iter().all(|c| first.contains(&Some(*c)))
    };
    // A reverse-key index finds complete keys only.
    let whole = |i: &IndexDef| i.kind != IndexKind::Reverse || i.columns.len() == columns.len();
    child.indexes.iter().find(|i| i.is_usable() && leads(i) && whole(i)).cloned()
}

/// An index that begins with these columns, and how its keys are made from their values.
fn key_in(def: &Rc<IndexDef>, table: &TableDef, columns: &[u16], b: &Builder<'_>) -> Result<(Index, KeyMaker)> {
    let index = Index::of(def, table, b)?;
    let parts = parts_of(&index, columns, table);
    Ok((index, KeyMaker { index: def.clone(), parts, bytes: Vec::new(), stored: Vec::new() }))
}

/// The index that enforces the key of these columns.
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
    /// `parent`: the changed table, if the statement may give the key to another row.
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
            table: c.child.object,
            columns: c.parent_columns.clone(),
            on_delete: c.on_delete,
            index,
            again,
            action: Inner::new(child_sql(c, c.on_delete), b.compile_inner),
            look: Inner::new(child_sql(c, OnDelete::Restrict), b.compile_inner),
            watch: c.watch,
        })
    }

    /// Whether the child rows are in that table.
    pub fn is_in(&self, table: ObjectId) -> bool {
        self.table == table
    }

    /// Whether a row of the changed table has the lost key again. `deleted`: its row was deleted, and ON DELETE applies
    /// in any case.
    pub fn is_there_again(&mut self, values: &[Value], deleted: bool, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if deleted && self.on_delete != OnDelete::Restrict {
            return Ok(false);
        }
        let Some((index, key)) = &mut self.again else { return Ok(false) };
        Ok(key.encode(values, cx) && settled(index, &key.bytes, false, cx)? == KeyState::Present)
    }

    /// Whether a lost key changes child rows.
    pub fn acts(&self, deleted: bool) -> bool {
        deleted && self.on_delete != OnDelete::Restrict
    }

    /// Checks that no child row refers to a lost key (ORA-02292). If its row was `deleted`, the action of ON DELETE is
    /// done instead.
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
            (_, false) => self.action.statement(cx)?.run(values, cx),
        }
    }

    /// Raises or notes a violation: rows refer to a lost key.
    fn refused(&self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<()> {
        if constraints::is_deferred(&self.watch, cx) {
            return constraints::note_values(&self.watch, Side::Parent, values, cx);
        }
        Err(self.found())
    }

    /// Whether child rows refer to these values through a constraint that restricts.
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
        self.look.statement(cx)?.finds(values, cx)
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
