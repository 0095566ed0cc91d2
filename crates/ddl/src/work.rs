//! The state of a running DDL statement: locks, names, segments made and marked for the drop, changed rows.

use crate::files;
use crate::host::{Host, Outcome, SessionNames};
use block::SegmentKind;
use datafile::ControlFile;
use dictionary::base::{Base, obj, props};
use dictionary::rows::{Row, as_text, blank, int, text};
use dictionary::{
    By, Catalog, Change, DroppedSegment, ObjectDef, ObjectKind, Picture, SessionCatalog, SystemPrivilege, TableDef,
    UserId, validity,
};
use enqueue::{EnqueueType, LockId, LockMode, Timeout};
use process::Process;
use sql::ast::{Ident, Name};
use std::rc::Rc;
use std::time::{Duration, Instant};
use txn::{CommitHook, LockWait};
use types::{Date, ObjectId, Ora, Rdba, Result, Value};

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
    dropped_segments: Vec<DroppedSegment>,
    /// Files made by the statement; a failure removes them.
    pub files_made: Vec<u32>,
    /// Files to remove from the database once the statement has committed, and whether to delete them.
    pub files_to_drop: Option<(Vec<u32>, bool)>,
    /// The tablespace that is being dropped: its segments go with its files.
    pub dropped_tablespace: Option<u32>,
    /// Objects changed or dropped.
    touched: Vec<ObjectId>,
    /// Objects with changed statistics, whose cursors end within a window.
    rolled: Vec<ObjectId>,
    /// The time at which changed statistics invalidate cursors.
    pub invalidation: Invalidation,
    /// Objects whose change may invalidate dependents.
    redefined: Vec<ObjectId>,
    /// Tables that get new columns.
    with_new_columns: Vec<ObjectId>,
    /// Sequences whose cached numbers must be dropped.
    pub sequences: Vec<ObjectId>,
    /// The DD enqueue, while it is held.
    dd: Option<LockId>,
    /// Other enqueues that the statement holds to its end.
    held: Vec<LockId>,
    /// Base tables may have changed since the statement began or last committed.
    changed: bool,
    /// The statement has committed something.
    committed: bool,
    /// The resource that could not be locked.
    busy: Option<Wanted>,
    /// EXCEPTIONS INTO: the INSERT for the rows that made the statement fail.
    pub exceptions: Option<String>,
}

/// A resource that a statement needs and other sessions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// A table, in a mode.
    Table { object: ObjectId, mode: LockMode },
    /// A stored unit that no call may run.
    Unit(ObjectId),
}

/// The time that a request for a table stays in the queue when it must not block other sessions for long.
const SHORT_WAIT_MS: u32 = 200;

/// Units and views that a statement compiles after its commit; further dependents are compiled at their next use.
const COMPILED_AT_ONCE: usize = 500;

/// The pause before such a request is repeated.
const REST: Duration = Duration::from_millis(500);

impl<'a> Work<'a> {
    /// Commits, takes the DD enqueue, runs `f`, and commits or undoes its work.
    ///
    /// The holder of the DD enqueue never waits for a table (L3), nor for calls that run a unit. When one cannot be
    /// locked and the session is willing to wait (for a table `ddl_lock_timeout`), the statement is undone, the session
    /// waits for the table or the unit without the enqueue, and the statement is run again.
    pub fn run(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>) -> Result<Outcome> {
        let done = Work::run_again(host, f);
        host.end_claims();
        done
    }

    fn run_again(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>) -> Result<Outcome> {
        {
            let parts = host.parts();
            parts.storage.heap.transactions().commit(parts.p, parts.txn, parts.hook)?;
        }
        let until = Instant::now() + Duration::from_secs(host.lock_timeout_s().into());
        let mut wanted = Vec::new();
        loop {
            let lock = take_dd(host)?;
            let (done, busy) = Work::run_locked(host, lock, f);
            let (Err(refused), Some(busy)) = (&done, busy) else { return done };
            match busy {
                // A call may have noted the unit for an instant, before it saw the claim.
                Wanted::Unit(_) if wanted.contains(&busy) => {}
                Wanted::Unit(_) => wanted.insert(0, busy),
                Wanted::Table { .. } if wanted.contains(&busy) => return done,
                Wanted::Table { .. } => wanted.push(busy),
            }
            let refused = refused.clone();
            let waited = wait_for(host, &wanted, until);
            if waited.is_err() {
                let parts = host.parts();
                parts.storage.heap.transactions().rollback(parts.p, parts.txn)?;
            }
            match waited {
                Err(e) if e.is(54) || e.is(30006) => return Err(refused),
                done => done?,
            }
        }
    }

    /// Runs `f` with the DD enqueue, which is then released; returns the wanted resource when that was the only
    /// failure.
    fn run_locked(
        host: &mut dyn Host,
        lock: LockId,
        f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>,
    ) -> (Result<Outcome>, Option<Wanted>) {
        match Work::new(host, Some(lock)) {
            Ok(mut work) => {
                let done = f(&mut work).and_then(|outcome| work.commit().map(|()| outcome));
                let undone = if done.is_err() { work.undo() } else { Ok(()) };
                work.release();
                let done = done.map_err(|e| work.note_exceptions(e));
                let busy = work.busy.filter(|_| !work.committed && undone.is_ok());
                (undone.and(done), busy)
            }
            Err(e) => {
                let parts = host.parts();
                parts.dict.shared().enqueues().release(parts.p, lock);
                (Err(e), None)
            }
        }
    }

    /// Runs `f` without the DD enqueue, which `f` takes when needed; uncommitted work is undone.
    pub fn run_unlocked<R>(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<R>) -> Result<R> {
        let mut work = Work::new(host, None)?;
        let done = f(&mut work);
        let undone = work.undo();
        work.release();
        undone.and(done)
    }

    /// Runs a read-only `f`: nothing is committed, undone or locked.
    pub fn run_read_only<R>(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<R>) -> Result<R> {
        f(&mut Work::new(host, None)?)
    }

    fn new(host: &'a mut dyn Host, lock: Option<LockId>) -> Result<Work<'a>> {
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
            dd: lock,
            held: Vec::new(),
            changed: false,
            committed: false,
            busy: None,
        })
    }

    /// Notes the rows that made the statement fail, which is undone; returns the error to report. ORA-02445 for a table
    /// of exceptions that is missing or not accessible.
    fn note_exceptions(&mut self, failed: Ora) -> Ora {
        let Some(text) = self.exceptions.take() else { return failed };
        match self.host.run(&text) {
            Ok(()) => failed,
            Err(e) if e.is(942) => Ora::new(2445),
            Err(e) => e,
        }
    }

    /// Releases the enqueues, the DD enqueue last.
    fn release(&mut self) {
        let locks: Vec<LockId> = self.held.drain(..).chain(self.dd.take()).collect();
        let parts = self.host.parts();
        locks.into_iter().for_each(|lock| parts.dict.shared().enqueues().release(parts.p, lock));
    }

    /// Runs the long part of a statement (L2), which changes nothing in the dictionary, without the DD enqueue, so that
    /// other sessions may run DDL meanwhile; afterwards the dictionary is read again. The statement must have locked
    /// the objects it relies on by a table lock or [`Work::hold`], or look them up again. If the statement has already
    /// changed the dictionary the enqueue is kept.
    ///
    /// # Errors
    /// Those of `f`, and of waiting for the enqueue, which is not held then.
    pub fn without_dd<R>(&mut self, f: &mut dyn FnMut(&mut Work<'_>) -> Result<R>) -> Result<R> {
        if self.changed {
            return f(self);
        }
        self.release_dd();
        faults::point("ddl-apart");
        let done = f(self)?;
        self.get_dd()?;
        self.refresh()?;
        Ok(done)
    }

    /// Releases the DD enqueue in the middle of a statement that has not changed the dictionary since its last commit.
    pub fn release_dd(&mut self) {
        assert!(!self.changed, "the dictionary is changed under the DD enqueue only");
        if let Some(lock) = self.dd.take() {
            let parts = self.host.parts();
            parts.dict.shared().enqueues().release(parts.p, lock);
        }
    }

    /// Takes the DD enqueue again.
    pub fn get_dd(&mut self) -> Result<()> {
        if self.dd.is_none() {
            self.dd = Some(take_dd(self.host)?);
        }
        Ok(())
    }

    /// Takes an enqueue without waiting, and keeps it to the end of the statement. False when another session holds it.
    pub fn hold(&mut self, kind: EnqueueType, id: u64, mode: LockMode) -> Result<bool> {
        let parts = self.host.parts();
        match parts.dict.shared().enqueues().get(parts.p, kind, id, 0, mode, Timeout::NoWait) {
            Ok(lock) => self.held.push(lock),
            Err(enqueue::EnqueueError::Busy) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        Ok(true)
    }

    /// Keeps a tablespace from being dropped while a segment that the dictionary does not have yet is filled in it.
    /// ORA-00054.
    pub fn hold_tablespace(&mut self, number: u32, mode: LockMode) -> Result<()> {
        if self.hold(EnqueueType::Tt, number.into(), mode)? { Ok(()) } else { Err(Ora::new(54)) }
    }

    /// Reads the dictionary again, after a commit in the middle.
    pub fn refresh(&mut self) -> Result<()> {
        self.image.checked()?;
        let parts = self.host.parts();
        self.image = parts.dict.image()?;
        self.names = parts.dict.names(&self.session)?;
        Ok(())
    }

    /// Commits the work of the statement so far, releases its table locks, and continues.
    pub fn commit(&mut self) -> Result<()> {
        let dependents = self.invalidate_dependents()?;
        // A decision based on a dictionary image that could not be read completely is rolled back.
        self.image.checked()?;
        self.host.parts().dict.checked()?;
        faults::point("ddl-done");
        self.committed = true;
        self.host.announce(&self.touched, &self.rolled);
        {
            let parts = self.host.parts();
            let hook = WithTouched { hook: parts.hook, touched: &self.touched };
            Change::new(parts.dict.shared(), parts.p, parts.txn).commit(&hook)?;
        }
        self.changed = false;
        faults::point("ddl-committed");
        let touched = std::mem::take(&mut self.touched);
        self.host.changed(&touched);
        let rolled = std::mem::take(&mut self.rolled);
        if !rolled.is_empty() {
            self.host.roll_out(&rolled);
        }
        self.host.announce(&[], &[]);
        self.compile_dependents(&dependents);
        let sequences = std::mem::take(&mut self.sequences);
        let parts = self.host.parts();
        for sequence in sequences {
            parts.dict.shared().forget_sequence(parts.p, sequence);
        }
        // The statement is done: a segment that cannot be dropped now is left to SMON, and is no error of the
        // statement.
        let dropped_segments = std::mem::take(&mut self.dropped_segments);
        if !dropped_segments.is_empty() {
            let _ = parts.dict.shared().finish_drops(parts.p, &dropped_segments);
        }
        match self.files_to_drop.take() {
            Some((files, delete)) => files::drop_files(self.host, &files, delete),
            None => Ok(()),
        }
    }

    pub fn undo(&mut self) -> Result<()> {
        let parts = self.host.parts();
        // The rollback also drops the segments that were made.
        parts.storage.heap.transactions().rollback(parts.p, parts.txn)?;
        self.changed = false;
        let made = std::mem::take(&mut self.files_made);
        if !made.is_empty() {
            files::take_back_files(self.host, &made)?;
        }
        // A failed statement may have fenced files.
        let parts = self.host.parts();
        parts.storage.heap.transactions().cache().files().refresh()
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

    // Names.

    /// The schema and name that a statement refers to. ORA-01918 for a schema that does not exist.
    pub fn target(&self, name: &Name) -> Result<Target> {
        let pos = name.pos.0;
        if name.link.is_some() {
            return Err(Ora::new(2021).at(pos));
        }
        let (owner, owner_name) = match name.parts.as_slice() {
            [_] => self.names.schema(),
            [schema, _] => self.schema(schema)?,
            _ => return Err(Ora::new(926).at(pos)),
        };
        let last = name.parts.last().map_or(0, |part| part.pos.0);
        Ok(Target { owner, owner_name, name: name.last().to_owned(), pos: last })
    }

    fn schema(&self, schema: &Ident) -> Result<(UserId, String)> {
        match self.image.user_named(&schema.name).filter(|user| !user.is_role) {
            Some(user) => Ok((user.id, user.name.clone())),
            None => Err(Ora::with(1918, &[&schema.name]).at(schema.pos.0)),
        }
    }

    /// ORA-01031 unless the session has `own` for its own schema, or `any` for another's.
    pub fn require(&self, target: &Target, own: Option<SystemPrivilege>, any: SystemPrivilege) -> Result<()> {
        let allowed = if target.owner == self.session.user {
            own.is_none_or(|privilege| self.names.has(privilege) || self.names.has(any))
        } else {
            self.names.has(any) && (target.owner != UserId::SYS || self.names.is_sysdba())
        };
        if allowed { Ok(()) } else { Err(Ora::new(1031).at(target.pos)) }
    }

    /// ORA-01918 when the schema of the target was dropped meanwhile.
    pub fn require_owner(&self, target: &Target) -> Result<()> {
        match self.image.user(target.owner) {
            Some(_) => Ok(()),
            None => Err(Ora::with(1918, &[&target.owner_name]).at(target.pos)),
        }
    }

    /// ORA-00955 when the name is in use in the kind's name space.
    pub fn require_new(&self, target: &Target, kind: ObjectKind) -> Result<()> {
        let taken = self.image.object_named(target.owner, kind.namespace(), &target.name).is_some()
            || (target.owner == UserId::SYS && kind.namespace() == 1 && Base::named(&target.name).is_some());
        if taken { Err(Ora::new(955).at(target.pos)) } else { Ok(()) }
    }

    /// The object of that kind; `missing` is the error when it does not exist or is not visible to the session.
    pub fn existing(&self, target: &Target, kind: ObjectKind, missing: u32) -> Result<ObjectId> {
        let found = self.names.object(Some(&target.owner_name), &target.name, kind.namespace());
        self.found(found, target, kind, missing)
    }

    /// Like [`Work::existing`], if the statement is also allowed by the privilege `any`, which then makes the object
    /// visible.
    pub fn existing_for(
        &self,
        target: &Target,
        kind: ObjectKind,
        missing: u32,
        any: SystemPrivilege,
    ) -> Result<ObjectId> {
        let found = self.names.object_for(Some(&target.owner_name), &target.name, kind.namespace(), any);
        self.found(found, target, kind, missing)
    }

    fn found(&self, found: Option<&ObjectDef>, target: &Target, kind: ObjectKind, missing: u32) -> Result<ObjectId> {
        match found.filter(|object| object.kind == kind) {
            Some(object) if object.object.0 < dictionary::FIRST_USER_OBJECT => Err(Ora::new(701).at(target.pos)),
            Some(object) => Ok(object.object),
            None if missing == 4043 => Err(Ora::with(4043, &[&target.name]).at(target.pos)),
            None => Err(Ora::new(missing).at(target.pos)),
        }
    }

    /// The table with that number in the dictionary.
    pub fn existing_table(&self, object: ObjectId) -> Result<Rc<TableDef>> {
        self.image.table(object)?.ok_or_else(|| Ora::internal(format_args!("[no tab$ row of {object}]")))
    }

    /// The user or role with that name.
    pub fn existing_user(&self, name: &Ident, role: bool, code: u32) -> Result<UserId> {
        let found = self.image.user_named(&name.name).filter(|user| user.is_role == role);
        found.map(|user| user.id).ok_or_else(|| Ora::with(code, &[&name.name]).at(name.pos.0))
    }

    // Locks and notes.

    /// Locks the object exclusively for this statement. ORA-00054 when a transaction of another session has changed it;
    /// [`Work::run`] then waits if the session is willing to.
    pub fn lock(&mut self, object: ObjectId) -> Result<()> {
        self.lock_in(object, LockMode::Exclusive)
    }

    /// Locks the table against changes until this transaction ends. ORA-00054 while an open transaction has changed it;
    /// [`Work::run`] waits for that.
    pub fn lock_shared(&mut self, object: ObjectId) -> Result<()> {
        self.lock_in(object, LockMode::Share)
    }

    /// Notes that the statement continues without a table that could not be locked.
    pub fn forget_busy(&mut self) {
        self.busy = None;
    }

    /// Notes that the commits so far were not the statement's own.
    pub fn begin_again(&mut self) {
        self.committed = false;
    }

    /// Claims a stored unit for this statement: no call runs it until the statement has ended. A body is claimed by the
    /// number of its specification. ORA-04021 as long as another session runs the unit: [`Work::run`] waits for the end
    /// of that call.
    pub fn claim_unit(&mut self, object: ObjectId) -> Result<()> {
        let Some(def) = self.image.object(object) else { return Ok(()) };
        let specification = match def.kind {
            ObjectKind::PackageBody => self.image.find(def.owner_id, ObjectKind::Package, &def.name),
            ObjectKind::TypeBody => self.image.find(def.owner_id, ObjectKind::Type, &def.name),
            ObjectKind::Procedure | ObjectKind::Function | ObjectKind::Package | ObjectKind::Type => None,
            _ => return Ok(()),
        };
        let unit = specification.map_or(object, |specification| specification.object);
        if self.host.claim_unit(unit) {
            return Ok(());
        }
        self.busy = Some(Wanted::Unit(unit));
        Err(Ora::with(4021, &[&self.image.user_name(def.owner_id), &".", &def.name, &"", &""]))
    }

    fn lock_in(&mut self, object: ObjectId, mode: LockMode) -> Result<()> {
        let done = self.try_table(object, mode, LockWait::NoWait);
        if done.as_ref().is_err_and(|e| e.is(54)) {
            self.busy = Some(Wanted::Table { object, mode });
        }
        done
    }

    fn try_table(&mut self, object: ObjectId, mode: LockMode, wait: LockWait) -> Result<()> {
        let parts = self.host.parts();
        parts.storage.heap.transactions().lock_table(parts.p, parts.txn, object, mode, wait)
    }

    /// Keeps others from redefining the table, but not from changing its rows, until this transaction ends. ORA-00054.
    pub fn keep_table(&mut self, object: ObjectId) -> Result<()> {
        self.try_table(object, LockMode::SubShare, LockWait::NoWait)
    }

    /// Waits for a moment at which no open transaction has changed the table; sessions that want to change it are
    /// blocked only for short times. From then on no session changes it until [`Work::end_share`]. Not allowed under
    /// the DD enqueue; `tries` bounds the attempts.
    ///
    /// # Errors
    /// ORA-00054 when the attempts are used up; ORA-01013 and the like.
    pub fn share_table(&mut self, object: ObjectId, tries: Option<u32>) -> Result<()> {
        assert!(self.dd.is_none(), "a table is waited for without the DD enqueue");
        for n in 1u32.. {
            let parts = self.host.parts();
            let txns = parts.storage.heap.transactions();
            let wait = LockWait::Millis(SHORT_WAIT_MS);
            match txns.share_for_statement(parts.p, parts.txn, object, wait) {
                Err(e) if e.is(30006) || e.is(54) || e.is(60) => {
                    if tries.is_some_and(|most| n >= most) {
                        return Err(Ora::new(54));
                    }
                    parts.p.check_cancel()?;
                    os::clock::sleep(REST);
                }
                done => return done.map(drop),
            }
        }
        Ok(())
    }

    /// Allows changes of the table again.
    pub fn end_share(&mut self, object: ObjectId) {
        let parts = self.host.parts();
        parts.storage.heap.transactions().end_share(parts.p, parts.txn, object);
    }

    /// Like [`Work::share_table`], and then also takes the DD enqueue.
    ///
    /// # Errors
    /// Those of [`Work::share_table`]; neither is held then.
    pub fn share_table_and_dd(&mut self, object: ObjectId, tries: Option<u32>) -> Result<()> {
        loop {
            self.share_table(object, tries)?;
            // Another DDL statement may take long, and the table would be blocked meanwhile.
            let parts = self.host.parts();
            let timeout = Timeout::After(Duration::from_millis(SHORT_WAIT_MS.into()));
            let enqueues = parts.dict.shared().enqueues();
            match enqueues.get(parts.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, timeout) {
                Ok(lock) => {
                    self.dd = Some(lock);
                    return self.refresh();
                }
                Err(e) => {
                    self.end_share(object);
                    match e {
                        enqueue::EnqueueError::Cancelled(_) | enqueue::EnqueueError::OutOfLocks => return Err(e.into()),
                        _ => os::clock::sleep(REST),
                    }
                }
            }
        }
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

    /// Marks the units and views that the statement may invalidate (L12), in its own transaction: a process that dies
    /// after the commit leaves no invalid unit marked as valid.
    fn invalidate_dependents(&mut self) -> Result<Vec<ObjectId>> {
        let epoch = self.image.epoch();
        for verdict in self.host.take_verdicts().into_iter().filter(|verdict| verdict.epoch == epoch) {
            if self.image.object(verdict.object).is_some_and(|def| !def.valid) && self.dd.is_some() {
                self.change().store_verdict(&verdict)?;
            }
        }
        let (redefined, with_new_columns) =
            (std::mem::take(&mut self.redefined), std::mem::take(&mut self.with_new_columns));
        if redefined.is_empty() && with_new_columns.is_empty() {
            return Ok(Vec::new());
        }
        let dependents = self.image.dependents_of(&redefined, &with_new_columns);
        if !dependents.is_empty() {
            self.change().set_status(&dependents, validity::STALE)?;
        }
        Ok(dependents)
    }

    /// Makes those valid again that still compile, including all that only share a word with the changed object. The
    /// statement is done: on failure they are compiled at their next use.
    fn compile_dependents(&mut self, dependents: &[ObjectId]) {
        let most = if self.dd.is_some() { COMPILED_AT_ONCE } else { 0 };
        let mut good = Vec::new();
        for object in dependents.iter().take(most) {
            match self.host.compiles(*object) {
                Some(true) => good.push(*object),
                Some(false) => {}
                None => break,
            }
        }
        if good.is_empty() {
            return;
        }
        let parts = self.host.parts();
        let mut change = Change::new(parts.dict.shared(), parts.p, parts.txn);
        let done = change.set_status(&good, validity::VALID).and_then(|()| change.commit(parts.hook).map(drop));
        if done.is_err() {
            let _ = parts.storage.heap.transactions().rollback(parts.p, parts.txn);
        }
    }

    /// Locks a temporary table before its definition, or that of an object belonging to it, changes: no session, not
    /// even this one, may have rows in it until the statement has ended. No effect on other tables.
    ///
    /// # Errors
    /// ORA-14452.
    pub fn require_unused(&mut self, table: &TableDef) -> Result<()> {
        if table.temporary.is_none() {
            return Ok(());
        }
        let used = self.host.has_temporary_rows(table.object)
            || !self.hold(EnqueueType::To, table.object.0.into(), LockMode::Exclusive)?;
        if used { Err(Ora::new(14452)) } else { Ok(()) }
    }

    /// Marks an object as temporary, for the views.
    pub fn mark_temporary(&mut self, object: ObjectId) -> Result<()> {
        self.change().update_by(Base::Obj, by(obj::OBJ, object), &mut |row| row[obj::FLAGS] = int(1)).map(drop)
    }

    // Segments.

    /// Makes a segment in the statement's transaction; a failure of the statement or the death of the session removes
    /// it.
    pub fn make_segment(&mut self, tablespace: u32, kind: SegmentKind, object: ObjectId) -> Result<Rdba> {
        let parts = self.host.parts();
        let txns = parts.storage.heap.transactions();
        let made = txns.create_segment(parts.p, parts.txn, tablespace, kind, object);
        faults::point("ddl-segment-made");
        made
    }

    /// Marks a segment for the drop after the commit (L4).
    pub fn drop_segment_later(&mut self, header: Rdba) -> Result<()> {
        let going = match self.dropped_tablespace {
            Some(tablespace) => self.control()?.file(header.file()).is_some_and(|f| f.tablespace == tablespace),
            None => false,
        };
        if !header.is_none() && !going {
            let dropped = self.change().drop_later(header)?;
            self.dropped_segments.push(dropped);
        }
        Ok(())
    }

    /// The number of a tablespace. ORA-00959 for one that does not exist.
    pub fn tablespace_number(&self, name: &Ident) -> Result<u32> {
        self.image.tablespace_named(&name.name).ok_or_else(|| Ora::with(959, &[&name.name]).at(name.pos.0))
    }

    // Rows of OBJ$.

    pub fn new_object(&mut self) -> ObjectId {
        self.host.parts().dict.shared().next_object()
    }

    /// The present SCN as a number.
    fn scn(&mut self) -> Value {
        let scn = self.host.parts().storage.heap.transactions().current_scn();
        Value::Number(types::Number::from_i128(scn.0.into()))
    }

    /// Inserts an object. `data` is the number of its segment, if it has one.
    pub fn insert_object(
        &mut self,
        object: ObjectId,
        data: Option<ObjectId>,
        target: &Target,
        kind: ObjectKind,
    ) -> Result<()> {
        let mut row = blank(Base::Obj);
        row[obj::OBJ] = int(object.0);
        row[obj::DATAOBJ] = data.map_or(Value::Null, |data| int(data.0));
        row[obj::OWNER] = int(target.owner.0);
        row[obj::NAME] = text(target.name.as_str());
        row[obj::NAMESPACE] = int(kind.namespace());
        row[obj::TYPE] = int(kind as u8);
        for column in [obj::CTIME, obj::MTIME, obj::STIME] {
            row[column] = Value::Date(self.now);
        }
        row[obj::STATUS] = int(1);
        row[obj::FLAGS] = int(0);
        row[obj::SPARE1] = self.scn();
        self.touch(object);
        self.change().insert(Base::Obj, &row)
    }

    /// Changes the row of an object, and its LAST_DDL_TIME.
    pub fn update_object(&mut self, object: ObjectId, set: &mut dyn FnMut(&mut Row)) -> Result<()> {
        let (now, scn) = (self.now, self.scn());
        self.touch(object);
        self.change().update_by(Base::Obj, by(obj::OBJ, object), &mut |row| {
            row[obj::SPARE1] = scn.clone();
            row[obj::MTIME] = Value::Date(now);
            row[obj::STIME] = Value::Date(now);
            set(row);
        })?;
        Ok(())
    }

    /// Notes that an object was altered.
    pub fn altered(&mut self, object: ObjectId) -> Result<()> {
        self.update_object(object, &mut |_| {})
    }

    /// Deletes the object's row.
    pub fn delete_object(&mut self, object: ObjectId) -> Result<()> {
        self.touch(object);
        self.note_redefined(object);
        self.change().delete_by(Base::Obj, by(obj::OBJ, object))?;
        self.change().delete_by(Base::Objauth, by(dictionary::base::objauth::OBJ, object))?;
        Ok(())
    }
}

/// Combines the objects that a statement has changed with those whose rows its transaction has changed: results on a
/// truncated table become invalid with the commit.
struct WithTouched<'a> {
    hook: &'a dyn CommitHook,
    touched: &'a [ObjectId],
}

impl WithTouched<'_> {
    fn all(&self, objects: &[ObjectId]) -> Vec<ObjectId> {
        let others = self.touched.iter().filter(|object| !objects.contains(object));
        objects.iter().chain(others).copied().collect()
    }
}

impl CommitHook for WithTouched<'_> {
    fn before_visible(&self, p: &Process, objects: &[ObjectId]) -> Result<()> {
        self.hook.before_visible(p, &self.all(objects))
    }

    fn after(&self, p: &Process, scn: types::Scn, objects: &[ObjectId]) {
        self.hook.after(p, scn, &self.all(objects));
    }
}

fn take_dd(host: &mut dyn Host) -> Result<LockId> {
    let parts = host.parts();
    let enqueues = parts.dict.shared().enqueues();
    Ok(enqueues.get(parts.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::Never)?)
}

/// Waits for claimed units; then for tables that were locked by others, and locks them.
fn wait_for(host: &mut dyn Host, wanted: &[Wanted], until: Instant) -> Result<()> {
    for wanted in wanted {
        let (object, mode) = match *wanted {
            Wanted::Table { object, mode } => (object, mode),
            Wanted::Unit(unit) => {
                host.await_unit(unit)?;
                continue;
            }
        };
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        let wait = match mode {
            LockMode::Share => LockWait::Forever,
            _ if left == 0 => LockWait::NoWait,
            _ => LockWait::Millis(u32::try_from(left).unwrap_or(u32::MAX)),
        };
        let parts = host.parts();
        parts.storage.heap.transactions().lock_table(parts.p, parts.txn, object, mode, wait)?;
    }
    Ok(())
}

/// Selects the rows whose column has the object's number.
pub fn by(column: usize, object: ObjectId) -> By<'static> {
    By::new(column, object.0)
}

/// ORA-00904 for a missing column.
pub fn no_column(column: &Ident) -> Ora {
    Ora::with(904, &[&format_args!("\"{}\"", column.name)]).at(column.pos.0)
}
