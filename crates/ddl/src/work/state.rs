//! The state of a running statement, and its view of the dictionary.

use crate::files;
use crate::host::{Host, SessionNames};
use datafile::ControlFile;
use dictionary::base::{Base, props};
use dictionary::rows::{Row, as_text};
use dictionary::{By, Change, DroppedSegment, Picture, SessionCatalog, UserId};
use enqueue::{LockId, LockMode};
use sql::ast::Ident;
use std::collections::HashMap;
use types::{Date, ObjectId, Ora, Result, Value};

/// The time at which a change of statistics invalidates the cursors whose plans used them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidation {
    /// At once.
    Now,
    /// Not at all.
    Never,
    /// Each within a window of time.
    Rolling,
    /// According to the table's preference NO_INVALIDATE.
    Preference,
}

/// A resolved target: the schema, and the name in it.
#[derive(Clone, Debug)]
pub struct Target {
    pub owner: UserId,
    pub owner_name: String,
    pub name: String,
    pub pos: u32,
}

/// The state of the statement.
pub struct Work<'a> {
    pub host: &'a mut dyn Host,
    pub image: Picture,
    pub names: SessionCatalog,
    pub session: SessionNames,
    pub now: Date,
    /// Segments to drop once the statement has committed.
    pub(super) dropped_segments: Vec<DroppedSegment>,
    /// Files made by the statement; a failure removes them.
    pub files_made: Vec<u32>,
    /// Files to remove from the database once the statement has committed, and whether to delete them.
    pub files_to_drop: Option<(Vec<u32>, bool)>,
    /// The tablespace that is being dropped: its segments go with its files.
    pub dropped_tablespace: Option<u32>,
    /// Objects changed or dropped.
    pub(super) touched: Vec<ObjectId>,
    /// Objects with changed statistics, whose cursors end within a window.
    pub(super) rolled: Vec<ObjectId>,
    /// The time at which changed statistics invalidate cursors.
    pub invalidation: Invalidation,
    /// Objects whose change may invalidate dependents.
    pub(super) redefined: Vec<ObjectId>,
    /// Tables that get new columns.
    pub(super) with_new_columns: Vec<ObjectId>,
    /// Sequences whose cached numbers must be dropped.
    pub sequences: Vec<ObjectId>,
    /// The DD enqueue, while it is held.
    pub(super) dd: Option<LockId>,
    /// Other enqueues that the statement holds to its end.
    pub(super) held: Vec<LockId>,
    /// Base tables may have changed since the statement began or last committed.
    pub(super) changed: bool,
    /// The statement has committed something.
    pub(super) committed: bool,
    /// The resource that could not be locked.
    pub(super) busy: Option<Wanted>,
    /// EXCEPTIONS INTO: the INSERT for the rows that made the statement fail.
    pub exceptions: Option<String>,
    /// Blocks that an owner uses in a tablespace with those of the partitions that the statement makes.
    pub reserved: HashMap<(u32, UserId), u64>,
}

/// A resource that a statement needs and other sessions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A table, in a mode.
    Table { object: ObjectId, mode: LockMode },
    /// A stored unit that no call may run.
    Unit(ObjectId),
}

impl<'a> Work<'a> {
    pub(super) fn new(host: &'a mut dyn Host, lock: Option<LockId>) -> Result<Work<'a>> {
        let session = host.session();
        let now = host.now();
        let (image, names) = {
            let parts = host.parts();
            let image = parts.dict.image()?;
            (image, parts.dict.names(&session)?)
        };
        Ok(Work {
            host,
            image,
            names,
            session,
            now,
            dropped_segments: Vec::new(),
            files_made: Vec::new(),
            files_to_drop: None,
            dropped_tablespace: None,
            touched: Vec::new(),
            rolled: Vec::new(),
            invalidation: Invalidation::Now,
            redefined: Vec::new(),
            with_new_columns: Vec::new(),
            sequences: Vec::new(),
            exceptions: None,
            reserved: HashMap::new(),
            dd: lock,
            held: Vec::new(),
            changed: false,
            committed: false,
            busy: None,
        })
    }

    /// Releases the enqueues, the DD enqueue last.
    pub(super) fn release(&mut self) {
        let locks: Vec<LockId> = self.held.drain(..).chain(self.dd.take()).collect();
        let parts = self.host.parts();
        locks.into_iter().for_each(|lock| parts.dict.shared().enqueues().release(parts.p, lock));
    }

    /// Reads the dictionary again, after a commit in the middle.
    pub fn refresh(&mut self) -> Result<()> {
        self.image.checked()?;
        let parts = self.host.parts();
        self.image = parts.dict.image()?;
        self.names = parts.dict.names(&self.session)?;
        Ok(())
    }

    /// Access for changing the dictionary's tables.
    pub fn change(&mut self) -> Change<'_> {
        assert!(self.dd.is_some(), "the dictionary is changed under the DD enqueue only");
        self.changed = true;
        let parts = self.host.parts();
        Change::new(parts.dict.shared(), parts.p, parts.txn)
    }

    /// Rows of a base table that the statement sees.
    pub fn select(&mut self, base: Base, chosen: &dyn Fn(&[Value]) -> bool) -> Result<Vec<Row>> {
        let parts = self.host.parts();
        Change::new(parts.dict.shared(), parts.p, parts.txn).select(base, chosen)
    }

    /// Like [`Self::select`], by an index if there is one.
    pub fn select_by(&mut self, base: Base, by: By<'_>) -> Result<Vec<Row>> {
        let parts = self.host.parts();
        Change::new(parts.dict.shared(), parts.p, parts.txn).select_by(base, by)
    }

    /// A database property.
    pub fn property(&mut self, name: &str) -> Result<String> {
        let rows = self.select(Base::Props, &|row| as_text(&row[props::NAME]) == name)?;
        Ok(rows.first().map(|row| as_text(&row[props::VALUE]).to_owned()).unwrap_or_default())
    }

    /// The present contents of the control file.
    pub fn control(&mut self) -> Result<ControlFile> {
        files::files(&self.host.parts()).control()
    }

    /// Notes that the object's definition or rows change.
    pub fn touch(&mut self, object: ObjectId) {
        if !self.touched.contains(&object) {
            self.touched.push(object);
        }
    }

    /// Notes an object with changed statistics, whose cursors end within a window.
    pub fn roll_out(&mut self, object: ObjectId) {
        if !self.rolled.contains(&object) {
            self.rolled.push(object);
        }
    }

    /// Notes that the object, as it has been so far, is dropped or changed in a way that may invalidate the units and
    /// views that name it.
    pub fn note_redefined(&mut self, object: ObjectId) {
        if !self.redefined.contains(&object) {
            self.redefined.push(object);
        }
    }

    /// Notes that a table gets columns, which may invalidate units that name it: their statements may rely on the
    /// present columns.
    pub fn note_new_columns(&mut self, table: ObjectId) {
        if !self.with_new_columns.contains(&table) {
            self.with_new_columns.push(table);
        }
    }

    /// Notes that the commits so far were not the statement's own.
    pub fn begin_again(&mut self) {
        self.committed = false;
    }
}

/// Selects the rows whose column has the object's number.
pub fn by(column: usize, object: ObjectId) -> By<'static> {
    By::new(column, object.0)
}

/// ORA-00904 for a missing column.
pub fn no_column(column: &Ident) -> Ora {
    Ora::with(904, &[&format_args!("\"{}\"", column.name)]).at(column.pos.0)
}
