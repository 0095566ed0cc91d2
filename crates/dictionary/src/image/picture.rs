//! The rows of a picture, read on demand.

use crate::audit::{AuditReader, AuditSettings};
use crate::base::*;
use crate::moment::Moment;
use crate::profile::Profiles;
use crate::rows::{Row, as_text, as_u32, int};
use crate::*;
use elsa::FrozenMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

/// Reads by key after which a statement gets a new picture, so that the memory of a session that uses thousands of
/// tables stays bounded.
const READS_MAX: usize = 30_000;

/// A picture of the dictionary; see the module documentation.
pub struct Image {
    pub(super) moment: Rc<Moment>,
    /// The first read error.
    fault: RefCell<Option<Ora>>,
    /// A copy of the first read error for callers that have used a result (`Dictionary::checked`).
    told: Rc<RefCell<Option<Ora>>>,
    /// Number of reads by key so far.
    reads: Cell<usize>,
    pub(super) objects: FrozenMap<u32, Box<Option<ObjectDef>>>,
    pub(super) users: FrozenMap<u32, Box<Option<Rc<UserDef>>>>,
    /// Grantee to privileges (negative) and roles, each with its admin option.
    pub(super) granted: FrozenMap<u32, Vec<(i64, bool)>>,
    pub(super) object_grants: FrozenMap<u32, Vec<ObjectGrant>>,
    /// Object to the statistics of its columns and column groups, by INTCOL#.
    pub(super) column_statistics: FrozenMap<u32, Vec<(u32, ColumnStatistics)>>,
    /// Table to its column groups: INTCOL#, name, positions of columns.
    pub(super) column_groups: FrozenMap<u32, Vec<(u32, String, Vec<usize>)>>,
    /// Name to the number and statistics of a table without a row in TAB$.
    pub(super) own_statistics: FrozenMap<String, Box<Option<(u32, TableStatistics)>>>,
    pub(super) system_statistics: OnceCell<SystemStatistics>,
    tablespaces: OnceCell<Vec<(u32, String)>>,
    profiles: OnceCell<Profiles>,
    audit: OnceCell<AuditSettings>,
    pub(super) made: RefCell<Made>,
}

/// A row of OBJAUTH$.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectGrant {
    pub grantor: UserId,
    pub grantee: UserId,
    /// The code of an [`ObjectPrivilege`].
    pub privilege: u8,
    /// The position of the column from 1; 0 for the whole object.
    pub column: u32,
    pub grantable: bool,
}

/// Definitions made so far.
#[derive(Default)]
pub(super) struct Made {
    pub(super) tables: HashMap<u32, Rc<TableDef>>,
    /// The tables of the indexes among them.
    pub(super) index_tables: HashMap<u32, u32>,
    pub(super) clusters: HashMap<u32, Rc<ClusterDef>>,
    pub(super) views: HashMap<u32, Rc<ViewDef>>,
    pub(super) sequences: HashMap<u32, Rc<SequenceDef>>,
    pub(super) units: HashMap<u32, Rc<ProcedureDef>>,
}

impl Image {
    /// A picture of the moment.
    pub(crate) fn new(moment: Rc<Moment>, told: Rc<RefCell<Option<Ora>>>) -> Image {
        Image {
            moment,
            fault: RefCell::default(),
            told,
            reads: Cell::new(0),
            objects: FrozenMap::new(),
            users: FrozenMap::new(),
            granted: FrozenMap::new(),
            object_grants: FrozenMap::new(),
            column_statistics: FrozenMap::new(),
            column_groups: FrozenMap::new(),
            own_statistics: FrozenMap::new(),
            system_statistics: OnceCell::new(),
            tablespaces: OnceCell::new(),
            profiles: OnceCell::new(),
            audit: OnceCell::new(),
            made: RefCell::default(),
        }
    }

    pub(crate) fn moment(&self) -> &Rc<Moment> {
        &self.moment
    }

    /// False when the picture has read so much that a new one should be used.
    pub(crate) fn is_small(&self) -> bool {
        self.reads.get() < READS_MAX
    }

    /// Checks that every read of the picture so far has succeeded.
    ///
    /// # Errors
    /// The first read error; no result of the picture may be used then.
    pub fn checked(&self) -> Result<()> {
        match &*self.fault.borrow() {
            None => Ok(()),
            Some(fault) => Err(fault.clone()),
        }
    }

    pub(super) fn note(&self, done: Result<()>) {
        if let Err(e) = done {
            self.told.borrow_mut().get_or_insert_with(|| e.clone());
            self.fault.borrow_mut().get_or_insert(e);
        }
    }

    /// Calls `f` with all rows of a base table.
    pub(super) fn each(&self, base: Base, f: &mut dyn FnMut(&[Value])) {
        self.note(self.moment.scan(base, &mut |row| {
            f(row);
            Ok(())
        }));
    }

    /// The rows of a base table that have these values in these columns.
    pub(crate) fn find_rows(&self, base: Base, columns: &[usize], values: &[Value]) -> Vec<Row> {
        let mut rows = Vec::new();
        self.reads.set(self.reads.get() + 1);
        self.note(self.moment.scan_by(base, columns, values, &mut |row| {
            rows.push(row.to_vec());
            Ok(())
        }));
        rows
    }

    /// The number in column `wanted` of the row of a base table that has these values in these columns.
    pub(super) fn find_number(&self, base: Base, columns: &[usize], values: &[Value], wanted: usize) -> Option<u32> {
        let found = self.moment.number_by(base, columns, values, wanted);
        found.unwrap_or_else(|e| {
            self.note(Err(e));
            None
        })
    }

    /// The rows of a base table that belong to an object, user or constraint, selected by the number in `column`.
    pub(super) fn rows(&self, base: Base, column: usize, number: u32) -> Vec<Row> {
        self.find_rows(base, &[column], &[int(number)])
    }

    /// The rows of a base table for an object: the text of a unit or view in pieces, or the target of a synonym.
    pub(crate) fn rows_of(&self, base: Base, column: usize, object: ObjectId) -> Vec<Row> {
        self.rows(base, column, object.0)
    }

    /// The dictionary epoch before the moment.
    pub fn epoch(&self) -> u64 {
        self.moment.epoch()
    }

    fn read_audit(&self) -> AuditSettings {
        let mut audit = AuditReader::default();
        self.each(Base::AuditOption, &mut |row| audit.add_option(row));
        self.each(Base::AudPolicy, &mut |row| audit.add_policy(row));
        self.each(Base::AudPolicyOption, &mut |row| audit.add_policy_option(row));
        self.each(Base::AudPolicyUser, &mut |row| audit.add_policy_user(row));
        audit.finish()
    }

    /// The audit settings of statements and objects.
    pub fn audit(&self) -> &AuditSettings {
        self.audit.get_or_init(|| self.read_audit())
    }

    /// The profiles.
    pub fn profiles(&self) -> &Profiles {
        self.profiles.get_or_init(|| {
            let mut profiles = Profiles::default();
            self.each(Base::Profname, &mut |row| {
                profiles.add_name(as_text(&row[profname::NAME]), as_u32(&row[profname::PROFILE]));
            });
            self.each(Base::Profile, &mut |row| profiles.add_limit(row));
            profiles
        })
    }

    pub fn tablespace_named(&self, name: &str) -> Option<u32> {
        let all = self.tablespaces.get_or_init(|| {
            let mut all = Vec::new();
            self.each(Base::Ts, &mut |row| all.push((as_u32(&row[ts::TS]), as_text(&row[ts::NAME]).to_owned())));
            all
        });
        all.iter().find(|(_, have)| have == name).map(|(number, _)| *number)
    }
}
