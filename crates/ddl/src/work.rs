//! One data definition statement on its way: locks, names, segments made and doomed, rows changed.

use block::SegmentKind;
use btree::Btree;
use cluster::Clusters;
use dictionary::base::{Base, obj};
use dictionary::rows::{Row, as_u32, blank, int, text};
use dictionary::{
    Catalog, Change, Dictionary, DroppedSegment, Image, ObjectKind, SessionCatalog, SystemPrivilege, UserId,
};
use enqueue::{EnqueueType, LockMode, Timeout};
use heap::Heap;
use process::Process;
use sql::ast::{Ident, Name, Query, StoredKind};
use std::rc::Rc;
use txn::{CommitHook, LockWait, Txn};
use types::{Date, ObjectId, Ora, Rdba, Result, Value};

/// Access methods.
#[derive(Clone, Copy)]
pub struct Storage<'a> {
    pub heap: &'a Heap,
    pub clusters: &'a Clusters,
    pub trees: &'a Btree,
}

/// What a statement works with at one moment.
pub struct Parts<'a> {
    pub p: &'a Process,
    pub dict: &'a mut Dictionary,
    pub txn: &'a mut Txn,
    pub storage: Storage<'a>,
    /// Told of the commits: the result cache's.
    pub hook: &'a dyn CommitHook,
    pub nls: &'a types::Nls,
}

/// Who runs the statement.
#[derive(Clone, Copy, Debug)]
pub struct SessionNames {
    pub user: UserId,
    pub schema: UserId,
    pub sysdba: bool,
}

/// A column of a query.
#[derive(Clone, Debug)]
pub struct Described {
    /// The alias, or the name of a plain column; `None` for any other expression (ORA-00998).
    pub name: Option<String>,
    pub data_type: types::DataType,
    pub nullable: bool,
}

/// An error of the PL/SQL compiler, as USER_ERRORS shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    pub line: u32,
    pub column: u32,
    pub text: String,
}

/// What DDL needs of the crates above it.
pub trait Host {
    fn parts(&mut self) -> Parts<'_>;
    fn session(&self) -> SessionNames;
    /// The session's time, for CREATED.
    fn now(&self) -> Date;
    /// Whether a session of that user is open.
    fn is_connected(&self, user: UserId) -> bool;
    /// `ddl_lock_timeout`: how long a statement waits for a table that transactions have changed.
    fn lock_timeout_s(&self) -> u32 {
        0
    }
    /// Random bytes for a password's verifier.
    fn salt(&mut self) -> [u8; dictionary::SALT_BYTES];
    /// The columns of a query whose names belong to `schema`.
    fn describe(&mut self, query: &Query, schema: UserId) -> Result<Vec<Described>>;
    /// Runs a query and hands on its rows; `each` is given the parts of that moment. The query runs in the session's transaction.
    fn rows(&mut self, query: &Query, each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>) -> Result<()>;
    /// Compiles a unit of that owner without storing it. A unit whose text could not be parsed has errors, too.
    fn compile(&mut self, owner: &str, name: &str, kind: StoredKind, source: &str) -> Result<Vec<CompileError>>;
    /// Objects were changed or dropped, and the change is committed: their results in the result cache are no longer good.
    fn changed(&mut self, objects: &[ObjectId]);
}

/// What came of a statement that did not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// "Warning: ... created with compilation errors."
    pub compiled_with_errors: bool,
}

/// A resolved target: the schema and the name in it.
#[derive(Clone, Debug)]
pub struct Target {
    pub owner: UserId,
    pub owner_name: String,
    pub name: String,
    pub pos: u32,
}

/// The statement's state.
pub struct Work<'a> {
    pub host: &'a mut dyn Host,
    pub image: Rc<Image>,
    pub names: SessionCatalog,
    pub session: SessionNames,
    pub now: Date,
    /// Segments to drop once the statement has committed.
    doomed: Vec<DroppedSegment>,
    /// Files made by the statement: they go again if it fails.
    pub files_made: Vec<u32>,
    /// Files to take out of the database once the statement has committed, and whether to delete them.
    pub files_going: Option<(Vec<u32>, bool)>,
    /// The tablespace that is being dropped: its segments go with its files.
    pub going: Option<u32>,
    /// Objects changed or dropped.
    touched: Vec<ObjectId>,
    /// Sequences whose cached numbers are to be forgotten.
    pub sequences: Vec<ObjectId>,
}

impl<'a> Work<'a> {
    /// Commits, takes the DD enqueue, runs `f`, and commits or undoes what it did.
    pub fn run(host: &'a mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>) -> Result<Outcome> {
        let lock = {
            let parts = host.parts();
            parts.storage.heap.transactions().commit(parts.p, parts.txn, parts.hook)?;
            let enqueues = parts.dict.shared().enqueues();
            enqueues.get(parts.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::Never)?
        };
        let done = Work::run_locked(host, f);
        let parts = host.parts();
        parts.dict.shared().enqueues().release(parts.p, lock);
        done
    }

    fn run_locked(host: &mut dyn Host, f: &mut dyn FnMut(&mut Work<'_>) -> Result<Outcome>) -> Result<Outcome> {
        let session = host.session();
        let now = host.now();
        let (image, names) = {
            let parts = host.parts();
            let image = parts.dict.image(parts.p)?;
            (image, parts.dict.names(parts.p, session.user, session.schema, session.sysdba)?)
        };
        let mut work = Work {
            host,
            image,
            names,
            session,
            now,
            doomed: Vec::new(),
            files_made: Vec::new(),
            files_going: None,
            going: None,
            touched: Vec::new(),
            sequences: Vec::new(),
        };
        let done = f(&mut work).and_then(|outcome| work.commit().map(|()| outcome));
        if done.is_err() {
            work.undo()?;
        }
        done
    }

    /// Looks at the dictionary again, after a commit in the middle.
    pub fn refresh(&mut self) -> Result<()> {
        let session = self.session;
        let parts = self.host.parts();
        self.image = parts.dict.image(parts.p)?;
        self.names = parts.dict.names(parts.p, session.user, session.schema, session.sysdba)?;
        Ok(())
    }

    /// Commits what the statement has done so far, releases its table locks, and goes on.
    pub fn commit(&mut self) -> Result<()> {
        os::crash::point("ddl-done");
        {
            let parts = self.host.parts();
            Change::new(parts.dict.shared(), parts.p, parts.txn).commit(parts.hook)?;
        }
        os::crash::point("ddl-committed");
        let touched = std::mem::take(&mut self.touched);
        self.host.changed(&touched);
        let sequences = std::mem::take(&mut self.sequences);
        let parts = self.host.parts();
        for sequence in sequences {
            parts.dict.shared().forget_sequence(parts.p, sequence);
        }
        // The statement is done: a segment that cannot be dropped now is left to SMON, and no error of the statement.
        let doomed = std::mem::take(&mut self.doomed);
        if !doomed.is_empty() {
            let _ = parts.dict.shared().finish_drops(parts.p, &doomed);
        }
        match self.files_going.take() {
            Some((files, delete)) => crate::tablespace::drop_files(self, &files, delete),
            None => Ok(()),
        }
    }

    pub fn undo(&mut self) -> Result<()> {
        let parts = self.host.parts();
        // The segments that were made go with the rest.
        parts.storage.heap.transactions().rollback(parts.p, parts.txn)?;
        let made = std::mem::take(&mut self.files_made);
        if !made.is_empty() {
            crate::tablespace::drop_files(self, &made, true)?;
        }
        // A statement that fails may have kept others from changing files.
        let parts = self.host.parts();
        parts.storage.heap.transactions().cache().files().refresh()
    }

    /// The dictionary's tables, to be changed.
    pub fn change(&mut self) -> Change<'_> {
        let parts = self.host.parts();
        Change::new(parts.dict.shared(), parts.p, parts.txn)
    }

    // Names.

    /// The schema and name that a statement means. ORA-01918 for a schema that does not exist.
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

    /// ORA-01031 unless the session may do `own` in its own schema, or `any` in another's.
    pub fn require(&self, target: &Target, own: Option<SystemPrivilege>, any: SystemPrivilege) -> Result<()> {
        let allowed = if target.owner == self.session.user {
            own.is_none_or(|privilege| self.names.has(privilege) || self.names.has(any))
        } else {
            self.names.has(any) && (target.owner != UserId::SYS || self.names.is_sysdba())
        };
        if allowed { Ok(()) } else { Err(Ora::new(1031).at(target.pos)) }
    }

    /// ORA-00955 when the name is taken in the kind's name space.
    pub fn require_new(&self, target: &Target, kind: ObjectKind) -> Result<()> {
        let taken = self.image.object_named(target.owner, kind.namespace(), &target.name).is_some()
            || (target.owner == UserId::SYS && kind.namespace() == 1 && Base::named(&target.name).is_some());
        if taken { Err(Ora::new(955).at(target.pos)) } else { Ok(()) }
    }

    /// The object of that kind; `missing` is the error when there is none or the session may not know of it.
    pub fn existing(&self, target: &Target, kind: ObjectKind, missing: u32) -> Result<ObjectId> {
        let found = self.names.object(Some(&target.owner_name), &target.name, kind.namespace());
        match found.filter(|object| object.kind == kind) {
            Some(object) if object.object.0 < dictionary::FIRST_USER_OBJECT => Err(Ora::new(701).at(target.pos)),
            Some(object) => Ok(object.object),
            None if missing == 4043 => Err(Ora::with(4043, &[&target.name]).at(target.pos)),
            None => Err(Ora::new(missing).at(target.pos)),
        }
    }

    // Locks and notes.

    /// Takes the object for this statement alone. ORA-00054 when a transaction of another session has changed it.
    pub fn lock(&mut self, object: ObjectId) -> Result<()> {
        let wait = match self.host.lock_timeout_s() {
            0 => LockWait::NoWait,
            seconds => LockWait::Seconds(seconds),
        };
        let parts = self.host.parts();
        let txns = parts.storage.heap.transactions();
        match txns.lock_table(parts.p, parts.txn, object, LockMode::Exclusive, wait) {
            Err(e) if e.is(30006) => Err(Ora::new(54)),
            done => done,
        }
    }

    /// Waits until no open transaction has changed the table, and keeps others from beginning to until this one ends.
    pub fn lock_shared(&mut self, object: ObjectId) -> Result<()> {
        let parts = self.host.parts();
        let txns = parts.storage.heap.transactions();
        txns.lock_table(parts.p, parts.txn, object, LockMode::Share, LockWait::Forever)
    }

    /// Notes that the object's definition or rows change.
    pub fn touch(&mut self, object: ObjectId) {
        if !self.touched.contains(&object) {
            self.touched.push(object);
        }
    }

    // Segments.

    /// Makes a segment in the statement's transaction; it goes again if the statement fails or the session dies.
    pub fn make_segment(&mut self, tablespace: u32, kind: SegmentKind, object: ObjectId) -> Result<Rdba> {
        let parts = self.host.parts();
        let txns = parts.storage.heap.transactions();
        let made = txns.create_segment(parts.p, parts.txn, tablespace, kind, object);
        os::crash::point("ddl-segment-made");
        made
    }

    /// Drops a segment once the statement has committed.
    pub fn doom(&mut self, header: Rdba) -> Result<()> {
        let going = match self.going {
            Some(tablespace) => self.control()?.file(header.file()).is_some_and(|f| f.tablespace == tablespace),
            None => false,
        };
        if !header.is_none() && !going {
            let dropped = self.change().drop_later(header)?;
            self.doomed.push(dropped);
        }
        Ok(())
    }

    /// The tablespace of a clause, or the owner's default, for a new segment of that owner's. ORA-00959 for one that does not
    /// exist, ORA-02195 for one of temporary data or undo, ORA-01542 for one that is offline, ORA-01950 and ORA-01536 by the quota.
    pub fn tablespace(&mut self, given: Option<&Ident>, owner: UserId) -> Result<u32> {
        let number = match given {
            Some(name) => self.tablespace_number(name)?,
            None => self.image.user(owner).map_or(0, |user| user.default_tablespace),
        };
        crate::quota::check(self, number, owner).map_err(|e| given.map_or(e.clone(), |name| e.at(name.pos.0)))?;
        Ok(number)
    }

    /// The number of a tablespace. ORA-00959 for one that does not exist.
    pub fn tablespace_number(&self, name: &Ident) -> Result<u32> {
        self.image.tablespace_named(&name.name).ok_or_else(|| Ora::with(959, &[&name.name]).at(name.pos.0))
    }

    // Rows of OBJ$.

    pub fn new_object(&mut self) -> ObjectId {
        self.host.parts().dict.shared().next_object()
    }

    /// The SCN of this moment, as a number.
    fn scn(&mut self) -> Value {
        let scn = self.host.parts().storage.heap.transactions().current_scn();
        Value::Number(types::Number::from_i128(scn.0.into()))
    }

    /// Enters an object. `data` is its segment's number, when it has one.
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
        self.change().insert(Base::Obj, &row)
    }

    /// Changes the row of an object, and its LAST_DDL_TIME.
    pub fn update_object(&mut self, object: ObjectId, set: &mut dyn FnMut(&mut Row)) -> Result<()> {
        let (now, scn) = (self.now, self.scn());
        self.touch(object);
        self.change().update(Base::Obj, &by(obj::OBJ, object), &mut |row| {
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

    /// Takes the object's row out.
    pub fn delete_object(&mut self, object: ObjectId) -> Result<()> {
        self.touch(object);
        self.change().delete(Base::Obj, &by(obj::OBJ, object))?;
        self.change().delete(Base::Objauth, &by(dictionary::base::objauth::OBJ, object))?;
        Ok(())
    }
}

/// Picks the rows whose column holds the object's number.
pub fn by(column: usize, object: ObjectId) -> impl Fn(&[Value]) -> bool {
    move |row| as_u32(&row[column]) == object.0
}

/// ORA-00904 for a column that is not there.
pub fn no_column(column: &Ident) -> Ora {
    Ora::with(904, &[&format_args!("\"{}\"", column.name)]).at(column.pos.0)
}
