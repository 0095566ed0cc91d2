//! Changes of rows: the common part of INSERT, UPDATE, DELETE and MERGE.
//!
//! A [`Writer`] enforces the rules of one table: types, NOT NULL, CHECK, the row itself, its index entries, foreign
//! keys. Entries of unique indexes that an UPDATE moves are changed when the statement ends, so that `k = k + 1` does
//! not fail on keys that are about to move. Foreign keys of other tables are checked then too, because another row may
//! have got the lost key (E9).

use super::batch::Batch;
use super::error_log::{ErrorLog, Operation};
use super::fire::Firings;
use super::keys::{Child, Parent};
use super::later::Later;
use super::stored_lobs::StoredLobs;
use crate::batch::KeptRow;
use crate::batch::column::{Column, Data, NULL, Span};
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::constraints;
use crate::ctx::ExecCtx;
use crate::eval::assign;
use crate::index::{self, Index};
use crate::machine::{Held, Machine};
use crate::table::{Address, At, Storage, key_columns};
use dictionary::monitoring::Changes;
use dictionary::{IndexDef, IndexKind, TableDef};
use plan::{Reg, Target, Watch};
use std::fmt;
use std::rc::Rc;
use txn::Snapshot;
use types::row::{RowReader, RowWriter};
use types::{DataType, Number, Ora, Result, Rowid, Value};

/// A column, printed as in error messages.
struct ColumnName<'a>(&'a TableDef, usize);

impl fmt::Display for ColumnName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\".\"{}\".\"{}\"", self.0.owner, self.0.name, self.0.columns[self.1].name)
    }
}

/// A CHECK constraint, or a NOT NULL constraint apart from the column.
pub(super) struct RowCheck {
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

/// A position in what the changed rows have left for the end of the statement.
pub(super) struct Mark {
    moved: usize,
    rows: usize,
    pub(super) orphans: usize,
    changes: Changes,
}

/// One table being changed.
pub struct Writer {
    pub table: Rc<TableDef>,
    pub new: Vec<Reg>,
    pub(super) storage: Storage,
    /// The only partition that takes new rows.
    pub(super) only: Option<u32>,
    /// Whether an update may move rows to other partitions.
    may_move: bool,
    pub(super) indexes: Vec<Index>,
    pub(super) checks: Vec<RowCheck>,
    /// Deferred checks that the current row fails.
    against: Vec<Watch>,
    /// Whether the statement is a MERGE, which may free a key after giving it to another row.
    patient: bool,
    /// Indexes that get the entries of new rows at the end of the statement, and whether the rows of an index-organised
    /// table wait as well.
    late: Vec<bool>,
    late_rows: bool,
    /// Virtual columns over the new row, and over the old row with their registers.
    virtuals: Vec<(u16, Code)>,
    virtuals_old: Vec<(Reg, Code)>,
    pub(super) foreign: Vec<Parent>,
    pub(super) children: Vec<Child>,
    pub(super) firings: Firings,
    /// LOG ERRORS: rows are changed one by one.
    pub(super) log: Option<Box<ErrorLog>>,
    pub(super) row: Vec<u8>,
    key: Vec<u8>,
    lobs: StoredLobs,
    pub(super) batch: Batch,
    later: Later,
    /// The memory of noted changes, of rows to be inserted, and of found rows.
    held: Held,
    /// The columns of all indexes, in ascending order, and for each index the positions of its columns among them.
    key_columns: Vec<u16>,
    key_places: Vec<Vec<usize>>,
    moved: Vec<Moved>,
    /// Key and row of the rows of an index-organised table whose key changes.
    moved_rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// Lost parent keys by child, and whether their rows were deleted.
    orphans: Vec<(usize, Vec<Value>, bool)>,
    /// Numbers of rows that the statement changed one at a time.
    changes: Changes,
}

impl Writer {
    /// `changed`: the columns that an update sets; `None` for statements that add or delete rows.
    pub fn build(t: &Target, changed: Option<&[u16]>, b: &mut Builder<'_>) -> Result<Writer> {
        // An unusable index is not maintained, so its functions are not called.
        if let Some(i) = t.table.indexes.iter().find(|i| i.disabled && !i.unusable) {
            return Err(Ora::with(30554, &[&i.owner, &i.name]));
        }
        // A key cannot be changed while the index that enforces it is unusable.
        let watches = |i: &IndexDef| i.unique || t.table.constraints.iter().any(|c| c.enabled && c.is_key_in(i.object));
        let computed = |column: usize| t.virtuals.iter().any(|(c, _)| usize::from(*c) == column);
        let is_set = |column: usize, set: &[u16]| set.iter().any(|c| usize::from(*c) == column) || computed(column);
        // An index over an expression counts as changed: the columns of the expression are not examined.
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
            .collect::<Result<Vec<_>>>()?;
        let mut key_columns: Vec<u16> = indexes.iter().flat_map(|i| &i.columns).map(|(c, _)| *c as u16).collect();
        key_columns.sort_unstable();
        key_columns.dedup();
        let place = |column: usize| key_columns.partition_point(|c| usize::from(*c) < column);
        let key_places = indexes.iter().map(|i| i.columns.iter().map(|(c, _)| place(*c)).collect()).collect();
        let by = t.table.partitioning().map_or(&[][..], |of| &of.columns);
        let may_move = changed.is_none_or(|set| by.iter().any(|column| is_set(*column, set)));
        let storage = Storage::of(&t.table, b)?;
        let later = Later::of(&storage);
        Ok(Writer {
            table: t.table.clone(),
            new: t.new.clone(),
            storage,
            may_move,
            only: t.partition,
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
            firings: Firings::of(&t.firings),
            log: t.error_log.as_ref().map(|log| Box::new(ErrorLog::build(log, b))),
            row: Vec::new(),
            key: Vec::new(),
            lobs: StoredLobs::of(&t.table),
            batch: Batch::default(),
            later,
            held: Held::default(),
            key_columns,
            key_places,
            moved: Vec::new(),
            moved_rows: Vec::new(),
            orphans: Vec::new(),
            changes: Changes::default(),
        })
    }

    /// Discards what a failed execution left undone.
    pub fn begin(&mut self) {
        self.batch.clear();
        self.later.clear();
        self.moved.clear();
        self.moved_rows.clear();
        self.orphans.clear();
        self.against.clear();
        self.changes = Changes::default();
        self.foreign.iter_mut().for_each(Parent::begin);
        self.firings.begin();
        if let Some(log) = &mut self.log {
            log.begin();
        }
    }

    /// Reports the changes of a statement to the host, for table monitoring.
    pub fn note_changes(&self, changes: Changes, cx: &ExecCtx<'_>) {
        if self.table.temporary.is_none() {
            cx.host.note_changes(self.table.object, changes);
        }
    }

    /// As [`Writer::note_changes`], for rows inserted, updated and deleted one at a time.
    pub fn note_own_changes(&self, cx: &ExecCtx<'_>) {
        self.note_changes(self.changes, cx);
    }

    /// Converts a new value to the type of its column.
    ///
    /// # Errors
    /// ORA-01400 (`updating`: ORA-01407), ORA-12899, ORA-01438.
    pub(super) fn fit(&self, column: usize, updating: bool, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        fit(&self.table, column, self.new[column], updating, m, cx)
    }

    /// Tests the new row; failed deferred checks are collected in `against`.
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
                _ => return Err(Ora::with(2290, &[&c.owner, &c.name])), // CHECK constraint
            }
        }
        Ok(())
    }

    /// Notes the failed deferred checks of the row, which is stored at `at`.
    fn note_against(&mut self, at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.against.drain(..).try_for_each(|watch| constraints::note_row(&watch, at, cx))
    }

    /// Whether a violation of some constraint might have to be noted row by row.
    fn watches(&self) -> bool {
        self.checks.iter().any(|c| c.watch.deferrable) || self.indexes.iter().any(|i| i.watched.is_some())
    }

    /// Allows duplicate keys until the end of the statement in the indexes whose keys it may free: those over
    /// `columns`, which it updates, all of them if it `deletes` rows, and those of deferrable constraints.
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

    /// Encodes the new row into `self.row`. Trailing NULLs are left out.
    fn encode(&mut self, m: &Machine) {
        self.row.clear();
        // A virtual column is not stored.
        let is_virtual = |i: usize| self.virtuals.iter().any(|(c, _)| usize::from(*c) == i);
        let has_value = |i: &usize| !m.value(self.new[*i]).is_null() && !is_virtual(*i);
        let stored = (0..self.new.len()).rev().find(has_value).map_or(0, |i| i + 1);
        let mut w = RowWriter::new(&mut self.row, stored);
        for (i, &r) in self.new[..stored].iter().enumerate() {
            match self.lobs.locator(i) {
                _ if is_virtual(i) => w.null(),
                Some(locator) => w.out(locator),
                None => w.value(m.value(r)),
            }
        }
    }

    /// Computes the virtual columns of the new row; its other columns must have their types.
    pub(super) fn make_virtuals(&self, updating: bool, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        for (column, code) in &self.virtuals {
            assign(code, self.new[usize::from(*column)], m, cx)?;
            self.fit((*column).into(), updating, m, cx)?;
        }
        Ok(())
    }

    /// Computes the virtual columns of the old row.
    pub(super) fn make_old_virtuals(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.virtuals_old.iter().try_for_each(|(reg, code)| assign(code, *reg, m, cx))
    }

    /// Encodes the primary key of a row of an index-organised table into `self.key`.
    fn row_key(&mut self, row: &[Reg], m: &mut Machine) {
        self.key.clear();
        if let Storage::Index(table) = &self.storage {
            for &(column, descending) in &table.key {
                index::push_value(m, row[column], descending, &mut self.key);
            }
        }
    }

    /// Converts, checks and encodes the row in the new registers.
    fn make_row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        for column in (0..self.new.len()).filter(|c| self.table.columns[*c].virtual_text.is_none()) {
            self.fit(column, false, m, cx)?;
        }
        self.make_virtuals(false, m, cx)?;
        self.check(false, m, cx)?;
        if !self.lobs.is_empty() {
            self.lobs.begin();
            self.lobs.place(None, &self.new, m, cx)?;
        }
        self.encode(m);
        Ok(())
    }

    /// Whether rows may be inserted in batches: computing a row never needs the outcome of an earlier one.
    pub fn takes_batches(&self) -> bool {
        let plain = self.foreign.is_empty() && self.virtuals.is_empty() && !self.watches() && self.rows_may_wait();
        let plain = plain && self.lobs.is_empty();
        matches!(self.storage, Storage::Heap(_) | Storage::Partitioned(_)) && self.only.is_none() && plain
    }

    /// Whether a row may be changed after later rows have been computed. Triggers before a row do not see the table;
    /// only a foreign key to it could.
    fn rows_may_wait(&self) -> bool {
        self.log.is_none()
            && (!self.firings.has_rows() || !self.firings.has_after_rows() && self.table.referenced_by.is_empty())
    }

    /// Adds the row in the new registers to the batch. On an error, the batch must be flushed before it is raised: an
    /// error of an earlier row comes first.
    pub fn insert_later(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.make_row(m, cx)?;
        self.push_row(m, cx)
    }

    /// Adds the row to the batch. The batch is charged first: after an error the row is not in it.
    pub(super) fn push_row(&mut self, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        if self.batch.has_grown() {
            self.charge(0, m, cx)?;
        }
        self.batch.push(&self.row, &self.indexes)
    }

    /// What the changed rows have left for the end of the statement.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            moved: self.moved.len(),
            rows: self.moved_rows.len(),
            orphans: self.orphans.len(),
            changes: self.changes,
        }
    }

    /// Forgets what a failed row has left since `mark`.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        self.moved.truncate(mark.moved);
        self.moved_rows.truncate(mark.rows);
        self.orphans.truncate(mark.orphans);
        self.changes = mark.changes;
        self.against.clear();
    }

    /// Logs the error of a row, or returns it.
    pub(super) fn log_row(
        &mut self,
        error: Ora,
        of: (Operation, Option<Reg>),
        row: &[Reg],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        match &mut self.log {
            Some(log) => log.note(error, of, row, m, cx),
            None => Err(error),
        }
    }

    /// The rows that are not inserted yet.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Inserts the rows of the batch, with `refused` as in [`Batch::flush`].
    pub fn flush(&mut self, refused: &mut dyn FnMut(usize, Ora) -> Result<()>, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.extend_for_batch(cx)?;
        self.batch.flush(&self.storage, &self.indexes, refused, cx)
    }

    /// Inserts the row in the new registers.
    pub fn insert(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Address> {
        self.make_row(m, cx)?;
        self.extend(cx)?;
        let new = std::mem::take(&mut self.new);
        self.row_key(&new, m);
        self.new = new;
        let at = if self.late_rows {
            self.moved_rows.push((self.key.clone(), self.row.clone()));
            Address::Key(self.key.clone())
        } else {
            if let (Some(only), Storage::Partitioned(of)) = (self.only, &self.storage) {
                match of.place_of(&self.row) {
                    Ok(place) if place == only as usize => {}
                    Err(e) if !e.is(14300) && !e.is(14400) => return Err(e),
                    _ => return Err(Ora::new(14401)),
                }
            }
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

    /// Replaces the row at `rowid`. `old` has its old columns, the new registers the new ones; `columns` are those that
    /// may differ. Returns the row's new rowid, or `None` if the row has changed since the snapshot.
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
        if !self.lobs.is_empty() {
            if !self.lobs.lock(&self.storage, row, seen, cx)? {
                return Ok(None);
            }
            self.lobs.place(Some(columns), &self.new, m, cx)?;
        }
        self.encode(m);
        if self.may_move && self.table.options.row_movement {
            self.extend(cx)?;
        }
        let moved = match (&self.storage, row) {
            (Storage::Cluster(_, positions), _) => positions.iter().any(|&p| m.value(old[p]) != m.value(self.new[p])),
            (Storage::Heap(_), _) => false,
            (Storage::Partitioned(of), _) => {
                let may = self.table.options.row_movement;
                let moves = match of.moves(row, &self.row) {
                    // No partition is made for a row that may not move.
                    Err(e) if e.is(14300) && !may => true,
                    moves => moves?,
                };
                if moves && !may {
                    return Err(Ora::new(14402));
                }
                moves
            }
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
            // The key decides the place of the row: with a new key the row moves.
            if self.storage.delete(cx, row, seen)? != heap::RowOutcome::Done {
                return Ok(None);
            }
            if matches!(self.storage, Storage::Index(_)) {
                // The new key may still belong to a row that has to move.
                self.moved_rows.push((self.key.clone(), self.row.clone()));
                at = Address::Key(self.key.clone());
            } else {
                at = self.storage.insert(cx, &self.row, &[])?;
            }
        } else if self.storage.update(cx, row, &self.row, seen)? != heap::RowOutcome::Done {
            return Ok(None);
        }
        if !self.lobs.is_empty() {
            self.lobs.remove_old(cx)?;
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

    /// Whether rows may be updated (or deleted) some time after they were found: a change never needs the outcome of an
    /// earlier one.
    pub fn takes_changes(&self, deleting: bool) -> bool {
        // An index under construction may not have the entry yet.
        let built = self.indexes.iter().all(|i| !i.def.building);
        let alone = !self.foreign.is_empty() || self.watches();
        let single = !built || !self.virtuals.is_empty() || !self.lobs.is_empty() || (alone && !deleting);
        let stays = match &self.storage {
            Storage::Heap(_) => true,
            Storage::Partitioned(_) => deleting || !self.may_move,
            Storage::Cluster(..) | Storage::Index(_) => false,
        };
        stays && !single && self.rows_may_wait()
    }

    /// Notes an update of the row at `rowid` from the columns in `old` to the new registers.
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

    /// Whether rows may be updated (or deleted) by their bytes: only types, NOT NULL and indexes need columns that the
    /// statement does not name.
    pub fn takes_bytes(&self, deleting: bool) -> bool {
        let plain = self.checks.is_empty() && self.children.is_empty() && !self.firings.has_rows();
        self.takes_changes(deleting) && plain
    }

    /// As [`Writer::update_later`], for a row with the bytes `before`. The new registers hold the new values of
    /// `columns`, which ascend.
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

    /// As [`Writer::rewrite_later`], for a row whose columns all have a place in its bytes and belong to no index. `of`
    /// gives the place of a column in `arena`, and its new value as a row of a batch's column.
    #[inline]
    pub fn splice_later<'v>(
        &mut self,
        row: &KeptRow,
        arena: &[u8],
        columns: &[u16],
        of: impl Fn(usize) -> (Span, &'v Column, usize),
        m: &mut Machine,
        cx: &ExecCtx<'_>,
    ) -> Result<()> {
        let begin_of = |place: Span| place.at as usize - types::row::length_bytes(place.len as usize);
        let end_of = |place: Span| (place.at + place.len) as usize;
        let (begin, end) = (begin_of(of(0).0), end_of(of(columns.len() - 1).0));
        let (from, seen) = (begin - row.at as usize, row.at..row.at + row.len);
        let Writer { later, table, new, .. } = self;
        later.splice(row.rowid, seen, from, &arena[begin..end], |to| {
            let mut behind = begin;
            for (n, &column) in columns.iter().enumerate() {
                let (place, values, at) = of(n);
                to.extend_from_slice(&arena[behind..begin_of(place)]);
                behind = end_of(place);
                let column = usize::from(column);
                match (&values.data, table.columns[column].data_type) {
                    (Data::Fixed(words, 0), DataType::Number { precision: None, scale: None })
                        if !values.nulls.is(at) =>
                    {
                        RowWriter::again(to).number(&Number::from_i64(words[at]));
                    }
                    _ => {
                        let reg = new[column];
                        values.put(at, arena, &mut m.regs[reg as usize])?;
                        fit(table, column, reg, true, m, cx)?;
                        RowWriter::again(to).value(m.value(reg));
                    }
                }
            }
            Ok(())
        })
    }

    /// Whether an update of these columns changes index entries.
    pub fn has_index_over(&self, columns: &[u16]) -> bool {
        self.indexes.iter().any(|i| i.touches(columns))
    }

    /// The columns of all indexes, in ascending order.
    pub fn key_columns(&self) -> Vec<u16> {
        self.key_columns.clone()
    }

    /// As [`Writer::delete_later`], for a row in `arena`; `of` gives the places of the columns of
    /// [`Writer::key_columns`].
    pub fn delete_found_later(&mut self, row: &KeptRow, of: impl Fn(usize) -> Span, arena: &[u8]) {
        self.later.delete_bytes(row.rowid, row.len as usize);
        for (n, (i, places)) in self.indexes.iter().zip(&self.key_places).enumerate() {
            self.key.clear();
            let mut any = false;
            for (place, (_, descending)) in places.iter().zip(&i.columns) {
                let span = of(*place);
                let stored = (span.len != NULL).then(|| span.of(arena));
                any |= stored.is_some();
                i.def.push_key_part(stored, *descending, &mut self.key);
            }
            if any {
                self.later.entry(n, true, &self.key, row.rowid);
            }
        }
    }

    /// As [`Writer::delete_later`], for a row with the bytes `before`.
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

    /// Makes the noted changes, if there are enough of them or `all` is set. False when a row has changed since the
    /// snapshot.
    pub fn change_now(
        &mut self,
        all: bool,
        deleting: bool,
        seen: &Snapshot,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if !all && !self.later.is_full() {
            return Ok(true);
        }
        self.charge(0, m, cx)?;
        self.change_found(&[], deleting, seen, cx)
    }

    /// Charges the memory of the noted changes and of the rows to be inserted, and `more` bytes.
    ///
    /// # Errors
    /// ORA-04030.
    pub fn charge(&mut self, more: usize, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        self.held.raise_to(self.later.bytes() + self.batch.bytes() + more, m, cx)
    }

    /// Makes the noted changes; `arena` has the bytes of spliced rows. False when a row has changed since the snapshot.
    pub fn change_found(
        &mut self,
        arena: &[u8],
        deleting: bool,
        seen: &Snapshot,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        self.later.flush(&self.storage, &self.indexes, arena, deleting, seen, cx)
    }

    /// Deletes a row whose columns are in `old`. False when it has changed since the snapshot.
    pub fn delete(
        &mut self,
        row: At<'_>,
        old: &[Reg],
        seen: &Snapshot,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if !self.lobs.is_empty() && !self.lobs.lock(&self.storage, row, seen, cx)? {
            return Ok(false);
        }
        if self.storage.delete(cx, row, seen)? != heap::RowOutcome::Done {
            return Ok(false);
        }
        if !self.lobs.is_empty() {
            self.lobs.remove_all(cx)?;
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

    /// Finishes the statement: entries of unique indexes, foreign keys of other tables.
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
            // Only a MERGE can insert a deleted key again in the same statement.
            let may_be_back = !deleted || self.patient;
            if !(may_be_back && self.children[child].is_there_again(&values, deleted, cx)?) {
                self.check_child(child, &values, deleted, cx)?;
            }
        }
        self.foreign.iter_mut().try_for_each(|f| f.finish(cx))
    }

    /// Checks the child rows of the keys that a deleted row has lost since `from`, so that an error is one of this row.
    /// Child rows in the same table may be deleted by the statement, too: they are checked at its end.
    pub(super) fn finish_row(&mut self, from: usize, cx: &mut ExecCtx<'_>) -> Result<()> {
        for (child, values, deleted) in self.orphans.split_off(from) {
            if self.children[child].is_in(self.table.object) {
                self.orphans.push((child, values, deleted));
            } else {
                self.check_child(child, &values, deleted, cx)?;
            }
        }
        Ok(())
    }

    /// Checks that no child row refers to a lost key, or does the action of ON DELETE. The triggers of the child table,
    /// which the action fires, may not see this table.
    fn check_child(&mut self, child: usize, values: &[Value], deleted: bool, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Writer { children, firings, table, .. } = self;
        let child = &mut children[child];
        if !child.acts(deleted) {
            return child.check(values, deleted, cx);
        }
        let now = Some((firings.row_caller(table.object, cx), cx.session.suspended));
        let before = std::mem::replace(&mut cx.session.caller, now);
        let done = child.check(values, deleted, cx);
        cx.session.caller = before;
        done
    }

    /// Checks that the foreign keys of the new row have parents (ORA-02291).
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

/// As [`Writer::fit`], for the value in a register.
fn fit(table: &TableDef, column: usize, reg: Reg, updating: bool, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
    let def = &table.columns[column];
    if m.value(reg).is_null() {
        if !def.nullable {
            let code = if updating { 1407 } else { 1400 };
            return Err(Ora::with(code, &[&ColumnName(table, column)]));
        }
        return Ok(());
    }
    if def.data_type.takes(m.value(reg)) {
        return Ok(());
    }
    let mut v = m.take(reg);
    let result = def.data_type.assign(&mut v, &cx.session.nls, &ColumnName(table, column));
    m.put(reg, v);
    result
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
