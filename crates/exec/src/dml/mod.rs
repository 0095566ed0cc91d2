//! Changing rows: what INSERT, UPDATE, DELETE and MERGE have in common.
//!
//! A [`Writer`] holds what must be done and must hold for one table: types, NOT NULL, CHECK, the row itself, its index
//! entries, foreign keys. Entries of unique indexes that an UPDATE moves are changed when the statement ends, so that
//! `k = k + 1` does not trip over its own neighbours; so are the checks of other tables' foreign keys: a key that
//! another row has by then is not gone.

mod batch;
mod changes;
mod direct;
pub(crate) mod keys;
mod locks;
mod run;

pub use locks::TableLocks;
pub use run::Dml;

use batch::Batch;
use changes::Later;

use crate::code::{Builder, Code, Cond};
use crate::constraints;
use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use crate::machine::Machine;
use crate::source::assign;
use crate::table::{Address, At, Storage, key_columns};
use dictionary::monitoring::Changes;
use dictionary::{IndexDef, IndexKind, TableDef};
use keys::{Child, Parent};
use plan::{Reg, Target, Watch};
use std::fmt;
use std::rc::Rc;
use txn::Snapshot;
use types::row::{RowReader, RowWriter};
use types::{Ora, Result, Rowid, Value};

/// A column as error messages name it.
struct ColumnName<'a>(&'a TableDef, usize);

impl fmt::Display for ColumnName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\".\"{}\".\"{}\"", self.0.owner, self.0.name, self.0.columns[self.1].name)
    }
}

/// A CHECK constraint, or a NOT NULL that the column does not say itself.
struct RowCheck {
    owner: String,
    name: String,
    cond: Cond,
    watch: Watch,
    not_null: Option<u16>,
    of_view: bool,
}

/// An index entry to be moved at the end of the statement.
struct Moved {
    index: usize,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    at: Address,
    new_at: Address,
}

/// One table being changed.
pub struct Writer {
    pub table: Rc<TableDef>,
    pub new: Vec<Reg>,
    storage: Storage,
    indexes: Vec<Index>,
    checks: Vec<RowCheck>,
    /// Deferred checks that the row at hand is against.
    against: Vec<Watch>,
    /// A MERGE, which may free a key that it has given to another row before.
    patient: bool,
    /// Indexes whose entries of new rows are added when the statement ends, and whether the rows of an index-organised
    /// table are.
    late: Vec<bool>,
    late_rows: bool,
    /// Virtual columns over the new row, and over the old one with their registers in it.
    virtuals: Vec<(u16, Code)>,
    virtuals_old: Vec<(Reg, Code)>,
    foreign: Vec<Parent>,
    children: Vec<Child>,
    row: Vec<u8>,
    key: Vec<u8>,
    batch: Batch,
    later: Later,
    moved: Vec<Moved>,
    /// Rows of an index-organised table that get another key: the key and the row.
    moved_rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// Parent keys that went away, by child, and whether their rows were deleted.
    orphans: Vec<(usize, Vec<Value>, bool)>,
    /// Rows changed one at a time by the statement.
    changes: Changes,
}

impl Writer {
    /// `changed`: the columns that an update sets; `None` for statements that add or delete rows.
    pub fn build(t: &Target, changed: Option<&[u16]>, b: &mut Builder<'_>) -> Result<Writer> {
        // An unusable index is not maintained, so its functions are not called.
        if let Some(i) = t.table.indexes.iter().find(|i| i.disabled && !i.unusable) {
            return Err(Ora::with(30554, &[&i.owner, &i.name]));
        }
        // A key that an unusable index should watch over cannot be changed.
        let watches = |i: &IndexDef| i.unique || t.table.constraints.iter().any(|c| c.enabled && c.is_key_in(i.object));
        let computed = |column: usize| t.virtuals.iter().any(|(c, _)| usize::from(*c) == column);
        let is_set = |column: usize, set: &[u16]| set.iter().any(|c| usize::from(*c) == column) || computed(column);
        // An index over an expression counts as changed: which columns it is made of is not asked.
        let is_changed = |i: &IndexDef| match (changed, key_columns(i)) {
            (Some(set), Ok(key)) => key.iter().any(|(column, _)| is_set(*column, set)),
            _ => true,
        };
        let refused = |i: &&Rc<IndexDef>| i.unusable && !i.building && watches(i) && is_changed(i);
        if let Some(i) = t.table.indexes.iter().find(refused) {
            return Err(Ora::with(1502, &[&i.owner, &i.name]));
        }
        let indexes = t
            .table
            .indexes
            .iter()
            .filter(|i| (!i.unusable || i.building) && i.kind != IndexKind::IotTop)
            .map(|i| Index::of(i, &t.table, b))
            .collect::<Result<_>>()?;
        Ok(Writer {
            table: t.table.clone(),
            new: t.new.clone(),
            storage: Storage::of(&t.table, b)?,
            indexes,
            checks: t
                .checks
                .iter()
                .map(|c| RowCheck {
                    owner: c.owner.clone(),
                    name: c.name.clone(),
                    cond: b.cond(&c.cond),
                    watch: c.watch,
                    not_null: c.not_null,
                    of_view: c.of_view,
                })
                .collect(),
            against: Vec::new(),
            patient: false,
            late: Vec::new(),
            late_rows: false,
            virtuals: t.virtuals.iter().map(|(c, e)| (*c, b.code(e))).collect(),
            virtuals_old: t.virtuals_old.iter().map(|(r, e)| (*r, b.code(e))).collect(),
            foreign: t.foreign.iter().map(|f| Parent::build(f, &t.table, b)).collect::<Result<_>>()?,
            children: t.children.iter().map(|c| Child::build(c, Some(&t.table), b)).collect::<Result<_>>()?,
            row: Vec::new(),
            key: Vec::new(),
            batch: Batch::default(),
            later: Later::default(),
            moved: Vec::new(),
            moved_rows: Vec::new(),
            orphans: Vec::new(),
            changes: Changes::default(),
        })
    }

    /// Forgets what an execution that failed left undone.
    pub fn begin(&mut self) {
        self.batch.clear();
        self.later.clear();
        self.moved.clear();
        self.moved_rows.clear();
        self.orphans.clear();
        self.against.clear();
        self.changes = Changes::default();
        self.foreign.iter_mut().for_each(Parent::begin);
    }

    /// Tells the host what a statement has changed, for the monitoring of tables.
    pub fn note_changes(&self, changes: Changes, cx: &ExecCtx<'_>) {
        if self.table.temporary.is_none() {
            cx.host.note_changes(self.table.object, changes);
        }
    }

    /// As [`Writer::note_changes`], of the rows that were inserted, updated and deleted one at a time.
    pub fn note_own_changes(&self, cx: &ExecCtx<'_>) {
        self.note_changes(self.changes, cx);
    }

    /// Fits a new value to its column.
    ///
    /// # Errors
    /// ORA-01400 (`updating`: ORA-01407), ORA-12899, ORA-01438.
    fn fit(&self, column: usize, updating: bool, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        let def = &self.table.columns[column];
        let reg = self.new[column];
        if m.value(reg).is_null() {
            if !def.nullable {
                let code = if updating { 1407 } else { 1400 };
                return Err(Ora::with(code, &[&ColumnName(&self.table, column)]));
            }
            return Ok(());
        }
        if def.data_type.takes(m.value(reg)) {
            return Ok(());
        }
        let mut v = m.take(reg);
        let result = def.data_type.assign(&mut v, &cx.session.nls, &ColumnName(&self.table, column));
        m.put(reg, v);
        result
    }

    /// Tests the new row; those that are deferred and do not hold are left in `against`.
    fn check(&mut self, updating: bool, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.against.clear();
        for c in &self.checks {
            match c.cond.test(m, cx)? {
                Some(true) => continue,
                None if !c.of_view => continue,
                _ if c.of_view => return Err(Ora::new(1402)),
                _ => {}
            }
            match c.not_null {
                _ if constraints::is_deferred(&c.watch, cx) => self.against.push(c.watch),
                Some(column) if !c.watch.deferrable => {
                    let name = ColumnName(&self.table, column.into());
                    return Err(Ora::with(if updating { 1407 } else { 1400 }, &[&name]));
                }
                _ => return Err(Ora::with(2290, &[&c.owner, &c.name])), // check constraint violated
            }
        }
        Ok(())
    }

    /// Notes the deferred checks that the row, which is at `at` now, is against.
    fn note_against(&mut self, at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.against.drain(..).try_for_each(|watch| constraints::note_row(&watch, at, cx))
    }

    /// Whether a violation of some constraint would have to be noted for later, row by row.
    fn watches(&self) -> bool {
        self.checks.iter().any(|c| c.watch.deferrable) || self.indexes.iter().any(|i| i.watched.is_some())
    }

    /// Lets keys stand twice until the statement ends that it may free: of indexes over `columns`, which it updates,
    /// and of all where it `deletes` rows; keys that are watched in any case.
    pub fn with_patience(mut self, columns: &[u16], deletes: bool) -> Writer {
        let frees = |i: &Index| deletes || i.touches(columns);
        self.late = self.indexes.iter().map(|i| i.watched.is_some() || (i.def.unique && frees(i))).collect();
        self.late_rows = match &self.storage {
            Storage::Index(table) => deletes || table.key.iter().any(|(c, _)| columns.contains(&(*c as u16))),
            _ => false,
        };
        self.patient = true;
        self
    }

    /// The new row's bytes into `self.row`. Trailing NULLs are left out.
    fn encode(&mut self, m: &Machine) {
        self.row.clear();
        // A virtual column has no place in the row.
        let is_virtual = |i: usize| self.virtuals.iter().any(|(c, _)| usize::from(*c) == i);
        let has_value = |i: &usize| !m.value(self.new[*i]).is_null() && !is_virtual(*i);
        let stored = (0..self.new.len()).rev().find(has_value).map_or(0, |i| i + 1);
        let mut w = RowWriter::new(&mut self.row, stored);
        for (i, &r) in self.new[..stored].iter().enumerate() {
            if is_virtual(i) { w.null() } else { w.value(m.value(r)) }
        }
    }

    /// Computes the virtual columns of the new row, whose other columns have their types.
    fn make_virtuals(&self, updating: bool, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        for (column, code) in &self.virtuals {
            assign(code, self.new[usize::from(*column)], m, cx)?;
            self.fit((*column).into(), updating, m, cx)?;
        }
        Ok(())
    }

    /// Computes the virtual columns of the row as it was.
    fn make_old_virtuals(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.virtuals_old.iter().try_for_each(|(reg, code)| assign(code, *reg, m, cx))
    }

    /// The primary key of a row in an index-organised table into `self.key`.
    fn row_key(&mut self, row: &[Reg], m: &mut Machine) {
        self.key.clear();
        if let Storage::Index(table) = &self.storage {
            for &(column, descending) in &table.key {
                index::push_value(m, row[column], descending, &mut self.key);
            }
        }
    }

    /// Makes the bytes of the row in the new registers, which must satisfy types, NOT NULL and CHECK.
    fn make_row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        for column in (0..self.new.len()).filter(|c| self.table.columns[*c].virtual_text.is_none()) {
            self.fit(column, false, m, cx)?;
        }
        self.make_virtuals(false, m, cx)?;
        self.check(false, m, cx)?;
        self.encode(m);
        Ok(())
    }

    /// Whether rows may be inserted in batches: nothing has to be known of one before the next is made.
    pub fn takes_batches(&self) -> bool {
        let plain = self.foreign.is_empty() && self.virtuals.is_empty() && !self.watches();
        matches!(self.storage, Storage::Heap(_)) && plain
    }

    /// Takes the row in the new registers into the batch. When that fails, a row before it may still be refused: that
    /// error comes first.
    pub fn insert_later(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.make_row(m, cx)?;
        self.batch.push(&self.row, &self.indexes)
    }

    /// The rows taken and not inserted yet.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Inserts the rows of the batch. `refused` as [`Batch::flush`] says.
    pub fn flush(&mut self, refused: &mut dyn FnMut(usize, Ora) -> Result<()>, cx: &mut ExecCtx<'_>) -> Result<()> {
        match &self.storage {
            Storage::Heap(table) => self.batch.flush(table, &self.indexes, refused, cx),
            _ => Ok(()), // takes no batches
        }
    }

    /// Inserts the row in the new registers.
    pub fn insert(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Address> {
        self.make_row(m, cx)?;
        let new = std::mem::take(&mut self.new);
        self.row_key(&new, m);
        self.new = new;
        let at = if self.late_rows {
            self.moved_rows.push((self.key.clone(), self.row.clone()));
            Address::Key(self.key.clone())
        } else {
            self.storage.insert(cx, &self.row, &self.key)?
        };
        for (n, i) in self.indexes.iter().enumerate() {
            self.key.clear();
            if !i.key(&self.new, m, &mut self.key) {
                continue;
            }
            if self.late.get(n) == Some(&true) {
                let new = Some(self.key.clone());
                self.moved.push(Moved { index: n, old: None, new, at: at.clone(), new_at: at.clone() });
            } else {
                index::insert(i, &self.key, at.at(), cx)?;
            }
        }
        self.check_parents(None, m, cx)?;
        self.note_against(at.at(), cx)?;
        self.changes.inserted += 1;
        Ok(at)
    }

    /// Replaces the row at `rowid`: `old` has its columns before, the new registers those after. `columns`: what may
    /// differ. The row's rowid afterwards, or `None` when it had changed under the statement.
    pub fn update(
        &mut self,
        row: At<'_>,
        old: &[Reg],
        columns: &[u16],
        seen: &Snapshot,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Option<Address>> {
        for &c in columns {
            self.fit(c as usize, true, m, cx)?;
        }
        self.make_old_virtuals(m, cx)?;
        self.make_virtuals(true, m, cx)?;
        let with_virtuals: Vec<u16>;
        let columns = if self.virtuals.is_empty() {
            columns
        } else {
            with_virtuals = columns.iter().copied().chain(self.virtuals.iter().map(|(c, _)| *c)).collect();
            &with_virtuals
        };
        self.check(true, m, cx)?;
        self.encode(m);
        let moved = match (&self.storage, row) {
            (Storage::Cluster(_, positions), _) => positions.iter().any(|&p| m.value(old[p]) != m.value(self.new[p])),
            (Storage::Heap(_), _) => false,
            (Storage::Index(_), At::Key(key)) => {
                let new = std::mem::take(&mut self.new);
                self.row_key(&new, m);
                self.new = new;
                self.key != key
            }
            (Storage::Index(_), At::Rowid(_)) => return Err(Ora::new(1410)),
        };
        let mut at = row.to_address();
        if moved {
            // A row lives where its key says: a changed key moves it.
            if self.storage.delete(cx, row, seen)? != heap::RowOutcome::Done {
                return Ok(None);
            }
            if matches!(self.storage, Storage::Index(_)) {
                // The new key may be that of a row that is still to be moved away.
                self.moved_rows.push((self.key.clone(), self.row.clone()));
                at = Address::Key(self.key.clone());
            } else {
                at = self.storage.insert(cx, &self.row, &[])?;
            }
        } else if self.storage.update(cx, row, &self.row, seen)? != heap::RowOutcome::Done {
            return Ok(None);
        }
        for (n, i) in self.indexes.iter().enumerate() {
            if !moved && !i.touches(columns) {
                continue;
            }
            let (mut before, mut after) = (Vec::new(), Vec::new());
            let had = i.key(old, m, &mut before);
            let has = i.key(&self.new, m, &mut after);
            if before == after && !moved {
                continue;
            }
            let change = Moved {
                index: n,
                old: had.then_some(before),
                new: has.then_some(after),
                at: row.to_address(),
                new_at: at.clone(),
            };
            if i.def.unique || i.watched.is_some() {
                self.moved.push(change);
            } else {
                move_entry(i, &change, cx)?;
            }
        }
        self.check_parents(Some(columns), m, cx)?;
        self.note_against(at.at(), cx)?;
        self.note_orphans(old, Some(columns), m);
        self.changes.updated += 1;
        Ok(Some(at))
    }

    /// Whether rows may be updated (or deleted) some time after they were found: nothing has to be known of one before
    /// the next.
    pub fn takes_changes(&self, deleting: bool) -> bool {
        // In an index that is being built an entry may not be there yet.
        let built = self.indexes.iter().all(|i| !i.def.building);
        let alone = !self.foreign.is_empty() || self.watches();
        let single = !built || !self.virtuals.is_empty() || (alone && !deleting);
        matches!(self.storage, Storage::Heap(_)) && !single
    }

    /// Notes an update of the row at `rowid`, whose columns before are in `old`, to the new registers.
    pub fn update_later(
        &mut self,
        rowid: Rowid,
        old: &[Reg],
        columns: &[u16],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        for &c in columns {
            self.fit(c as usize, true, m, cx)?;
        }
        self.check(true, m, cx)?;
        self.encode(m);
        self.later.update(rowid, &self.row, self.row.len());
        for (n, i) in self.indexes.iter().enumerate().filter(|(_, i)| i.touches(columns)) {
            self.key.clear();
            let had = i.key(old, m, &mut self.key);
            let middle = self.key.len();
            let has = i.key(&self.new, m, &mut self.key);
            let (before, after) = self.key.split_at(middle);
            if before == after {
                continue;
            }
            if had {
                self.later.entry(n, true, before, rowid);
            }
            if has {
                self.later.entry(n, false, after, rowid);
            }
        }
        self.note_orphans(old, Some(columns), m);
        Ok(())
    }

    /// Notes the deletion of a row whose columns are in `old`.
    pub fn delete_later(&mut self, rowid: Rowid, old: &[Reg], m: &mut Machine) {
        self.later.delete(rowid);
        for (n, i) in self.indexes.iter().enumerate() {
            self.key.clear();
            if i.key(old, m, &mut self.key) {
                self.later.entry(n, true, &self.key, rowid);
            }
        }
        self.note_orphans(old, None, m);
    }

    /// Whether rows may be updated (or deleted) by their bytes: nothing but types, NOT NULL and indexes needs the
    /// columns that a statement does not speak of.
    pub fn takes_bytes(&self, deleting: bool) -> bool {
        self.takes_changes(deleting) && self.checks.is_empty() && self.children.is_empty()
    }

    /// As [`Writer::update_later`], for a row whose bytes are `before`: `columns`, in ascending order, have their new
    /// values in the new registers.
    pub fn rewrite_later(
        &mut self,
        rowid: Rowid,
        before: &[u8],
        columns: &[u16],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        for &c in columns {
            self.fit(c as usize, true, m, cx)?;
        }
        self.row.clear();
        let new = &self.new;
        let replaced =
            types::row::rewrite(before, columns, &mut self.row, |c, w| w.value(m.value(new[usize::from(c)])));
        let replaced = replaced.ok_or_else(damaged)?;
        self.later.update(rowid, &self.row, replaced);
        for (n, i) in self.indexes.iter().enumerate().filter(|(_, i)| i.touches(columns)) {
            self.key.clear();
            i.key_of(&RowReader::new(before).ok_or_else(damaged)?, &mut self.key)?;
            let middle = self.key.len();
            i.key_of(&RowReader::new(&self.row).ok_or_else(damaged)?, &mut self.key)?;
            let (old, new) = self.key.split_at(middle);
            if old == new {
                continue;
            }
            if !old.is_empty() {
                self.later.entry(n, true, old, rowid);
            }
            if !new.is_empty() {
                self.later.entry(n, false, new, rowid);
            }
        }
        Ok(())
    }

    /// As [`Writer::delete_later`], for a row whose bytes are `before`.
    pub fn delete_bytes_later(&mut self, rowid: Rowid, before: &[u8]) -> Result<()> {
        self.later.delete(rowid);
        let row = RowReader::new(before).ok_or_else(damaged)?;
        for (n, i) in self.indexes.iter().enumerate() {
            self.key.clear();
            i.key_of(&row, &mut self.key)?;
            if !self.key.is_empty() {
                self.later.entry(n, true, &self.key, rowid);
            }
        }
        Ok(())
    }

    /// Makes the changes noted, when there are enough of them or `all` are wanted. False when a row had changed under
    /// the statement.
    pub fn change_now(&mut self, all: bool, deleting: bool, seen: &Snapshot, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match &self.storage {
            Storage::Heap(table) if all || self.later.is_full() => {
                self.later.flush(table, &self.indexes, deleting, seen, cx)
            }
            _ => Ok(true),
        }
    }

    /// Deletes a row whose columns are in `old`. False when it had changed under the statement.
    pub fn delete(
        &mut self,
        row: At<'_>,
        old: &[Reg],
        seen: &Snapshot,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if self.storage.delete(cx, row, seen)? != heap::RowOutcome::Done {
            return Ok(false);
        }
        self.make_old_virtuals(m, cx)?;
        for i in &self.indexes {
            self.key.clear();
            if i.key(old, m, &mut self.key) {
                index::delete(i, &self.key, row, cx)?;
            }
        }
        self.note_orphans(old, None, m);
        self.changes.deleted += 1;
        Ok(true)
    }

    /// What is left to do when all rows are changed: entries of unique indexes, other tables' foreign keys.
    pub fn finish(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.later.finish(&self.indexes, cx)?;
        for (key, row) in std::mem::take(&mut self.moved_rows) {
            self.storage.insert(cx, &row, &key)?;
        }
        let moved = std::mem::take(&mut self.moved);
        for x in &moved {
            if let Some(old) = &x.old {
                index::delete(&self.indexes[x.index], old, x.at.at(), cx)?;
            }
        }
        for x in &moved {
            if let Some(new) = &x.new {
                index::insert(&self.indexes[x.index], new, x.new_at.at(), cx)?;
            }
        }
        for (child, values, deleted) in std::mem::take(&mut self.orphans) {
            // A key that was deleted comes back in the same statement by a MERGE only.
            let may_be_back = !deleted || self.patient;
            if !(may_be_back && self.children[child].is_there_again(&values, deleted, cx)?) {
                self.children[child].check(&values, deleted, cx)?;
            }
        }
        self.foreign.iter_mut().try_for_each(|f| f.finish(cx))
    }

    /// ORA-02291 when a foreign key of the new row names no parent.
    fn check_parents(&mut self, columns: Option<&[u16]>, m: &Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Writer { foreign, new, .. } = self;
        foreign.iter_mut().try_for_each(|f| f.check(new, columns, m, cx))
    }

    fn note_orphans(&mut self, old: &[Reg], columns: Option<&[u16]>, m: &Machine) {
        for (n, c) in self.children.iter().enumerate() {
            let key = &c.columns;
            if columns.is_some_and(|set| !key.iter().any(|c| set.contains(c))) {
                continue;
            }
            let values: Vec<Value> = key.iter().map(|&c| m.value(old[c as usize]).clone()).collect();
            let same =
                columns.is_some() && key.iter().all(|&c| m.value(old[c as usize]) == m.value(self.new[c as usize]));
            if !same && !values.iter().any(Value::is_null) {
                self.orphans.push((n, values, columns.is_none()));
            }
        }
    }
}

fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}

fn move_entry(i: &Index, x: &Moved, cx: &mut ExecCtx<'_>) -> Result<()> {
    if let Some(old) = &x.old {
        index::delete(i, old, x.at.at(), cx)?;
    }
    if let Some(new) = &x.new {
        index::insert(i, new, x.new_at.at(), cx)?;
    }
    Ok(())
}
