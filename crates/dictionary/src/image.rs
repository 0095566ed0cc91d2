//! A picture of the dictionary as of one moment, read object by object on demand.
//!
//! A picture never changes: it keeps the rows it has read, and reads further rows as of the same moment
//! ([`Moment`]). When the dictionary's epoch has moved, a statement gets a new, empty picture. So the memory of a
//! session, and the time of a statement after DDL, depend on the objects that the session uses, not on the size of the
//! dictionary.
//!
//! Look-ups return a result or `None`. A read error becomes a fault of the picture: from then on [`Image::checked`]
//! refuses every definition made from it, and the next statement gets another picture (D17). Rejected: a `Result` from
//! each of some two hundred look-ups; a definition needs many of them and is refused as a whole.

use crate::audit::{AuditReader, AuditSettings};
use crate::base::*;
use crate::moment::Moment;
use crate::profile::Profiles;
use crate::rows::{Row, as_date, as_i64, as_optional_text, as_text, as_u32, int, text, type_of_columns};
use crate::statistics::Endpoints;
use crate::*;
use elsa::FrozenMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use types::{Number, ObjectId, Ora, Rdba, Result, Value};

/// Bits of PROPERTY and FLAGS columns.
pub mod property {
    pub const TAB_TEMPORARY: i64 = 1;
    pub const TAB_PRESERVE_ROWS: i64 = 2;
    pub const TAB_INDEX_ORGANIZED: i64 = 4;
    pub const TAB_CACHE: i64 = 8;
    pub const TAB_READ_ONLY: i64 = 16;
    pub const TAB_RESULT_CACHE_FORCE: i64 = 32;
    pub const TAB_NOLOGGING: i64 = 64;
    pub const TAB_MINIMIZE_RECORDS: i64 = 128;
    pub const TAB_ROW_MOVEMENT: i64 = 256;
    pub const COL_HIDDEN: i64 = 1;
    pub const COL_INVISIBLE: i64 = 2;
    pub const COL_DEFAULT_ON_NULL: i64 = 4;
    pub const COL_IDENTITY_ALWAYS: i64 = 8;
    pub const COL_IDENTITY_ON_NULL: i64 = 16;
    /// From this bit on: the place of a moved column.
    pub const COL_MOVED_SHIFT: u32 = 16;
    pub const IND_UNIQUE: i64 = 1;
    pub const IND_REVERSE: i64 = 4;
    pub const IND_FUNCTION_BASED: i64 = 16;
    pub const IND_TEMPORARY: i64 = 32;
    /// Created for a key constraint, with which it is dropped.
    pub const IND_OF_KEY: i64 = 4096;
    /// FLAGS of TAB$: the table has or had virtual columns. NULL for all other tables, so that the index has no entry
    /// for them.
    pub const HAS_VIRTUALS: i64 = 1;
    /// Bits of FLAGS of IND$.
    pub const IND_UNUSABLE: i64 = 1;
    pub const IND_INVISIBLE: i64 = 2;
    /// Being built by CREATE INDEX … ONLINE: changes of rows are entered, queries do not use it.
    pub const IND_BUILDING: i64 = 4;
    /// A function in its key was replaced or dropped, or ALTER INDEX … DISABLE was executed.
    pub const IND_DISABLED: i64 = 8;
    /// The values of FLAGS of IND$ for indexes that are being built.
    pub fn building_flags() -> impl Iterator<Item = i64> {
        const ALL: i64 = IND_UNUSABLE | IND_INVISIBLE | IND_BUILDING | IND_DISABLED;
        (0..=ALL).filter(|flags| flags & IND_BUILDING != 0)
    }

    /// Bits of DEFER of CDEF$.
    pub const CON_DEFERRABLE: i64 = 1;
    pub const CON_INITIALLY_DEFERRED: i64 = 2;
    pub const CON_VALIDATED: i64 = 4;
    pub const CON_GENERATED: i64 = 8;
    pub const CON_DISABLED: i64 = 16;
    pub const CON_RELY: i64 = 32;
    pub const VIEW_READ_ONLY: i64 = 1;
    pub const VIEW_CHECK_OPTION: i64 = 2;
    pub const VIEW_BEQUEATHS: i64 = 4;
}

/// Reads by key after which a statement gets a new picture, so that the memory of a session that uses thousands of
/// tables stays bounded.
const READS_MAX: usize = 30_000;

/// A picture of the dictionary; see the module documentation.
pub struct Image {
    moment: Rc<Moment>,
    /// The first read error.
    fault: RefCell<Option<Ora>>,
    /// A copy of the first read error for callers that have used a result (`Dictionary::checked`).
    told: Rc<RefCell<Option<Ora>>>,
    /// Number of reads by key so far.
    reads: Cell<usize>,
    objects: FrozenMap<u32, Box<Option<ObjectDef>>>,
    users: FrozenMap<u32, Box<Option<Rc<UserDef>>>>,
    /// Grantee to privileges (negative) and roles, each with its admin option.
    granted: FrozenMap<u32, Vec<(i64, bool)>>,
    object_grants: FrozenMap<u32, Vec<ObjectGrant>>,
    /// Object to the statistics of its columns and column groups, by INTCOL#.
    column_statistics: FrozenMap<u32, Vec<(u32, ColumnStatistics)>>,
    /// Table to its column groups: INTCOL#, name, positions of columns.
    column_groups: FrozenMap<u32, Vec<(u32, String, Vec<usize>)>>,
    /// Name to the number and statistics of a table without a row in TAB$.
    own_statistics: FrozenMap<String, Box<Option<(u32, TableStatistics)>>>,
    system_statistics: OnceCell<SystemStatistics>,
    tablespaces: OnceCell<Vec<(u32, String)>>,
    profiles: OnceCell<Profiles>,
    audit: OnceCell<AuditSettings>,
    made: RefCell<Made>,
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
struct Made {
    tables: HashMap<u32, Rc<TableDef>>,
    /// The tables of the indexes among them.
    index_tables: HashMap<u32, u32>,
    clusters: HashMap<u32, Rc<ClusterDef>>,
    views: HashMap<u32, Rc<ViewDef>>,
    sequences: HashMap<u32, Rc<SequenceDef>>,
    units: HashMap<u32, Rc<ProcedureDef>>,
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

    fn note(&self, done: Result<()>) {
        if let Err(e) = done {
            self.told.borrow_mut().get_or_insert_with(|| e.clone());
            self.fault.borrow_mut().get_or_insert(e);
        }
    }

    /// Calls `f` with all rows of a base table.
    fn each(&self, base: Base, f: &mut dyn FnMut(&[Value])) {
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
    fn find_number(&self, base: Base, columns: &[usize], values: &[Value], wanted: usize) -> Option<u32> {
        let found = self.moment.number_by(base, columns, values, wanted);
        found.unwrap_or_else(|e| {
            self.note(Err(e));
            None
        })
    }

    /// The rows of a base table that belong to an object, user or constraint, selected by the number in `column`.
    fn rows(&self, base: Base, column: usize, number: u32) -> Vec<Row> {
        self.find_rows(base, &[column], &[int(number)])
    }

    /// The rows of a base table for an object: the text of a unit or view in pieces, or the target of a synonym.
    pub(crate) fn rows_of(&self, base: Base, column: usize, object: ObjectId) -> Vec<Row> {
        self.rows(base, column, object.0)
    }

    /// The statistics of all columns and column groups of an object, by INTCOL#.
    fn all_column_statistics(&self, object: u32) -> &[(u32, ColumnStatistics)] {
        if let Some(known) = self.column_statistics.get(&object) {
            return known;
        }
        let heads = self.rows(Base::HistHead, hist_head::OBJ, object);
        let mut endpoints: HashMap<u32, Endpoints> = HashMap::new();
        if !heads.is_empty() {
            self.note(self.moment.scan_by(Base::Histgrm, &[histgrm::OBJ], &[int(object)], &mut |row| {
                endpoints.entry(as_u32(&row[histgrm::COL])).or_default().add(row);
                Ok(())
            }));
        }
        let statistics = heads.iter().map(|row| {
            let column = as_u32(&row[hist_head::COL]);
            let code = as_i64(&row[hist_head::FLAGS]).unwrap_or(0) & statistics::flags::HISTOGRAM_KIND;
            let histogram = endpoints.remove(&column);
            let histogram = histogram.and_then(|endpoints| endpoints.finish(HistogramKind::read(code)));
            (column, statistics_rows::from_head(row, histogram))
        });
        let statistics = statistics.collect();
        self.column_statistics.insert(object, statistics)
    }

    /// The statistics of a dictionary table or fixed table, and the number under which its columns have their
    /// statistics.
    pub fn own_statistics(&self, name: &str) -> Option<&(u32, TableStatistics)> {
        if let Some(known) = self.own_statistics.get(name) {
            return known.as_ref();
        }
        let of_row = |row: Row| {
            let count = |at: usize| as_i64(&row[at]).unwrap_or(0);
            let blocks = count(tab_stats::BLKCNT) as u64;
            let bytes = as_u32(&row[tab_stats::AVGRLN]);
            (as_u32(&row[tab_stats::OBJ]), TableStatistics::new(count(tab_stats::ROWCNT) as u64, blocks, bytes))
        };
        let row = self.find_rows(Base::TabStats, &[tab_stats::NAME], &[text(name)]).pop();
        self.own_statistics.insert(name.to_owned(), Box::new(row.map(of_row))).as_ref()
    }

    /// Adds the statistics of such a table to its definition.
    fn with_own_statistics(&self, name: &str, columns: &mut [ColumnDef]) -> Option<TableStatistics> {
        let (object, statistics) = self.own_statistics(name)?;
        for (number, column) in (1..).zip(columns) {
            column.statistics = self.column_statistics(ObjectId(*object), number).cloned();
        }
        Some(statistics.clone())
    }

    /// Adds the statistics of a fixed table to its definition. `V_$X` is `V$X`, and `GV$X` has one column before the
    /// others.
    pub(crate) fn with_fixed_statistics(&self, name: &str, columns: &mut [ColumnDef]) -> Option<TableStatistics> {
        let name = name.replacen("V_$", "V$", 1);
        match name.strip_prefix('G') {
            Some(of) if of.starts_with("V$") || of.starts_with("X$") => {
                self.with_own_statistics(of, columns.get_mut(1..)?)
            }
            _ => self.with_own_statistics(&name, columns),
        }
    }

    /// The system statistics that were gathered or set.
    pub fn system_statistics(&self) -> SystemStatistics {
        *self.system_statistics.get_or_init(|| {
            let mut statistics = SystemStatistics::default();
            self.each(Base::AuxStats, &mut |row| statistics.take(row));
            statistics
        })
    }

    /// The column groups of a table: INTCOL#, name, positions of columns.
    pub fn column_groups(&self, table: ObjectId) -> &[(u32, String, Vec<usize>)] {
        if let Some(known) = self.column_groups.get(&table.0) {
            return known;
        }
        let group = |row: &Row| {
            let columns = statistics_rows::group_columns(&row[stats_extension::COLUMNS]);
            (as_u32(&row[stats_extension::COL]), as_text(&row[stats_extension::NAME]).to_owned(), columns)
        };
        let rows = self.rows(Base::StatsExtension, stats_extension::OBJ, table.0);
        self.column_groups.insert(table.0, rows.iter().map(group).collect())
    }

    /// The statistics of a column, numbered from 1, or of a column group.
    pub fn column_statistics(&self, object: ObjectId, column: u32) -> Option<&ColumnStatistics> {
        let all = self.all_column_statistics(object.0);
        all.iter().find(|(number, _)| *number == column).map(|(_, statistics)| statistics)
    }

    fn group_statistics(&self, table: ObjectId) -> Vec<ColumnGroup> {
        let known = |(number, name, columns): &(u32, String, Vec<usize>)| {
            let statistics = self.column_statistics(table, *number)?.clone();
            Some(ColumnGroup { name: name.clone(), columns: columns.clone(), statistics })
        };
        self.column_groups(table).iter().filter_map(known).collect()
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

    /// The dictionary epoch before the moment.
    pub fn epoch(&self) -> u64 {
        self.moment.epoch()
    }

    // Users.

    pub fn user(&self, id: UserId) -> Option<&Rc<UserDef>> {
        if let Some(known) = self.users.get(&id.0) {
            return known.as_ref();
        }
        let row = self.rows(Base::User, user::USER, id.0).pop();
        self.users.insert(id.0, Box::new(row.map(|row| Rc::new(user_of(&row))))).as_ref()
    }

    /// The user or role with this name, looked up in the row cache each time.
    pub fn user_named(&self, name: &str) -> Option<&Rc<UserDef>> {
        self.user(UserId(self.find_number(Base::User, &[user::NAME], &[text(name)], user::USER)?))
    }

    pub fn user_name(&self, id: UserId) -> String {
        self.user(id).map_or_else(String::new, |user| user.name.clone())
    }

    /// All users and roles.
    pub fn all_users(&self) -> Vec<UserDef> {
        let mut all = Vec::new();
        self.each(Base::User, &mut |row| all.push(user_of(row)));
        all
    }

    pub fn tablespace_named(&self, name: &str) -> Option<u32> {
        let all = self.tablespaces.get_or_init(|| {
            let mut all = Vec::new();
            self.each(Base::Ts, &mut |row| all.push((as_u32(&row[ts::TS]), as_text(&row[ts::NAME]).to_owned())));
            all
        });
        all.iter().find(|(_, have)| have == name).map(|(number, _)| *number)
    }

    // Privileges.

    /// The numbers of the user, of PUBLIC, and of every role granted to the user directly or indirectly, enabled or
    /// not.
    pub fn grantees(&self, user: UserId) -> Vec<u32> {
        self.reached(&[user.0, UserId::PUBLIC.0])
    }

    /// Privileges (negative) and roles of a grantee, each with its admin option.
    fn granted_to(&self, grantee: u32) -> &[(i64, bool)] {
        if let Some(known) = self.granted.get(&grantee) {
            return known;
        }
        let granted =
            |row: &Row| (as_i64(&row[sysauth::PRIVILEGE]).unwrap_or(0), as_i64(&row[sysauth::OPTION]) == Some(1));
        let rows = self.rows(Base::Sysauth, sysauth::GRANTEE, grantee);
        self.granted.insert(grantee, rows.iter().map(granted).collect())
    }

    /// The roles granted directly to a user or role.
    pub fn direct_roles(&self, grantee: UserId) -> impl Iterator<Item = UserId> {
        self.granted_to(grantee.0)
            .iter()
            .filter_map(|(privilege, _)| u32::try_from(*privilege).ok().filter(|role| *role > 0).map(UserId))
    }

    /// The users or roles in `from`, and every role granted to one of them directly or indirectly.
    pub fn reached(&self, from: &[u32]) -> Vec<u32> {
        let mut list = from.to_vec();
        let mut at = 0;
        while at < list.len() {
            for role in self.direct_roles(UserId(list[at])) {
                if !list.contains(&role.0) {
                    list.push(role.0);
                }
            }
            at += 1;
        }
        list
    }

    /// True when one of the grantees has the system privilege or role with this number in SYSAUTH$. `admin` requires
    /// the admin option.
    pub fn has_granted(&self, grantees: &[u32], number: i64, admin: bool) -> bool {
        let is_it = |(have, option): &(i64, bool)| *have == number && (*option || !admin);
        grantees.iter().any(|grantee| self.granted_to(*grantee).iter().any(is_it))
    }

    /// True when one of the grantees has the system privilege.
    pub fn is_granted(&self, grantees: &[u32], privilege: SystemPrivilege) -> bool {
        self.has_granted(grantees, privilege.number(), false)
    }

    /// True when a system privilege or role was granted directly to the user.
    pub fn is_granted_directly(&self, user: UserId, number: i64) -> bool {
        self.has_granted(&[user.0], number, false)
    }

    /// The grants on an object.
    pub fn object_grants(&self, object: ObjectId) -> &[ObjectGrant] {
        if let Some(known) = self.object_grants.get(&object.0) {
            return known;
        }
        let rows = self.rows(Base::Objauth, objauth::OBJ, object.0);
        self.object_grants.insert(object.0, rows.iter().map(|row| grant_of(row)).collect())
    }

    /// The roles enabled in a new session of the user, including the roles granted to them.
    pub fn default_roles(&self, user: UserId) -> Vec<u32> {
        let Some(def) = self.user(user) else { return Vec::new() };
        let lists = matches!(def.default_roles, DefaultRoles::Listed | DefaultRoles::AllExcept);
        let rows = if lists { self.rows(Base::Defrole, defrole::USER, user.0) } else { Vec::new() };
        let listed = |role: &UserId| rows.iter().any(|row| as_u32(&row[defrole::ROLE]) == role.0);
        let is_default = |role: &UserId| match def.default_roles {
            DefaultRoles::All => true,
            DefaultRoles::None => false,
            DefaultRoles::Listed => listed(role),
            DefaultRoles::AllExcept => !listed(role),
        };
        // A role with a password or a package is enabled only by SET ROLE.
        let asks =
            |role: &UserId| self.user(*role).is_some_and(|def| def.verifier.is_some() || def.enabled_by.is_some());
        let own = self.direct_roles(user).filter(is_default);
        let roles = own.chain(self.direct_roles(UserId::PUBLIC)).filter(|role| !asks(role));
        let roles: Vec<u32> = roles.map(|role| role.0).collect();
        self.reached(&roles)
    }

    /// True when one of the grantees has the privilege on a column of the object, by its position from 1; 0 is the
    /// whole object. `grantable` requires the grant option.
    pub fn is_granted_on(
        &self,
        grantees: &[u32],
        object: ObjectId,
        privilege: ObjectPrivilege,
        column: u32,
        grantable: bool,
    ) -> bool {
        self.object_grants(object).iter().any(|grant| {
            grant.privilege == privilege as u8
                && grant.column == column
                && grantees.contains(&grant.grantee.0)
                && (grant.grantable || !grantable)
        })
    }

    /// True when one of the grantees has any privilege on the object.
    pub fn is_granted_any_on(&self, grantees: &[u32], object: ObjectId) -> bool {
        self.object_grants(object).iter().any(|grant| grantees.contains(&grant.grantee.0))
    }

    /// True when the user or PUBLIC has the privilege on the whole object. Roles do not count: see
    /// [`Image::is_granted_on`].
    pub fn has_object_grant(
        &self,
        user: UserId,
        object: ObjectId,
        privilege: ObjectPrivilege,
        grantable: bool,
    ) -> bool {
        self.has_column_grant(user, object, privilege, 0, grantable)
    }

    /// As [`Image::has_object_grant`], of a column by its position from 1.
    pub fn has_column_grant(
        &self,
        user: UserId,
        object: ObjectId,
        privilege: ObjectPrivilege,
        column: u32,
        grantable: bool,
    ) -> bool {
        self.is_granted_on(&[user.0, UserId::PUBLIC.0], object, privilege, column, grantable)
    }

    /// True when invoker's rights units of `owner` may run for `invoker`: INHERIT PRIVILEGES was granted to the owner
    /// or to PUBLIC, or the owner has INHERIT ANY PRIVILEGES.
    pub fn may_inherit(&self, owner: UserId, invoker: UserId) -> bool {
        let grantees = [owner.0, UserId::PUBLIC.0];
        let inherited = || {
            let rows = self.rows(Base::Userauth, userauth::USER, invoker.0);
            rows.iter().any(|row| grantees.contains(&as_u32(&row[userauth::GRANTEE])))
        };
        owner == invoker
            || owner == UserId::SYS
            || inherited()
            || self.is_granted(&grantees, SystemPrivilege::InheritAnyPrivileges)
    }

    // Objects.

    pub fn object(&self, object: ObjectId) -> Option<&ObjectDef> {
        if let Some(known) = self.objects.get(&object.0) {
            return known.as_ref();
        }
        let row = self.rows(Base::Obj, obj::OBJ, object.0).pop();
        let def = row.and_then(|row| self.object_of(&row));
        self.objects.insert(object.0, Box::new(def)).as_ref()
    }

    /// The object of a row of OBJ$; sets a fault for a type that no release has written.
    fn object_of(&self, row: &[Value]) -> Option<ObjectDef> {
        let def = object_of(row);
        def.map_err(|e| self.note(Err(e))).ok()
    }

    /// All objects of a user by ascending number.
    pub fn objects_of(&self, owner: UserId) -> Vec<ObjectDef> {
        let rows = self.find_rows(Base::Obj, &[obj::OWNER], &[int(owner.0)]);
        let mut all: Vec<ObjectDef> = rows.iter().filter_map(|row| self.object_of(row)).collect();
        all.sort_by_key(|def| def.object.0);
        all
    }

    /// The objects of these kinds that were not created with the database, by ascending number.
    pub fn objects_of_kinds(&self, kinds: &[ObjectKind]) -> Vec<ObjectDef> {
        let mut all = Vec::new();
        for kind in kinds {
            // Objects that were created with the database have small numbers, which are filtered out.
            let rows = self.find_rows(Base::Obj, &[obj::TYPE], &[int(*kind as u8)]);
            let own = rows.iter().filter(|row| as_u32(&row[obj::OBJ]) >= FIRST_USER_OBJECT);
            all.extend(own.filter_map(|row| self.object_of(row)));
        }
        all.sort_by_key(|def| def.object.0);
        all
    }

    /// Owner and name of the object with this data object number.
    pub fn segment_name(&self, data: ObjectId) -> Option<(String, String)> {
        let row = self.rows(Base::Obj, obj::DATAOBJ, data.0).pop().filter(|_| data.0 != 0)?;
        let of_user = self.object_of(&row)?;
        Some((self.user_name(of_user.owner_id), of_user.name))
    }

    /// The object with this owner, name space and name, looked up in the row cache each time.
    pub fn object_named(&self, owner: UserId, namespace: u8, name: &str) -> Option<&ObjectDef> {
        let values = [int(owner.0), int(namespace), text(name)];
        let columns = [obj::OWNER, obj::NAMESPACE, obj::NAME];
        self.object(ObjectId(self.find_number(Base::Obj, &columns, &values, obj::OBJ)?))
    }

    /// The object with this owner, kind and name.
    pub fn find(&self, owner: UserId, kind: ObjectKind, name: &str) -> Option<&ObjectDef> {
        self.object_named(owner, kind.namespace(), name).filter(|object| object.kind == kind)
    }

    /// The number of the constraint with this owner and name.
    pub fn constraint_named(&self, owner: UserId, name: &str) -> Option<u32> {
        let row = self.find_rows(Base::Con, &[con::OWNER, con::NAME], &[int(owner.0), text(name)]).pop();
        row.map(|row| as_u32(&row[con::CON]))
    }

    fn constraint_name(&self, constraint: u32) -> String {
        let row = self.rows(Base::Con, con::CON, constraint).pop();
        row.map_or_else(String::new, |row| as_text(&row[con::NAME]).to_owned())
    }

    /// The table of a constraint.
    pub fn constraint_table(&self, constraint: u32) -> Option<ObjectId> {
        let row = self.rows(Base::Cdef, cdef::CON, constraint).pop();
        row.map(|row| ObjectId(as_u32(&row[cdef::OBJ])))
    }

    /// Positions of the columns of a constraint, in its order.
    pub fn constraint_columns(&self, constraint: u32) -> Vec<usize> {
        let mut columns: Vec<(i64, usize)> = self
            .rows(Base::Ccol, ccol::CON, constraint)
            .iter()
            .map(|row| (as_i64(&row[ccol::POS]).unwrap_or(0), as_u32(&row[ccol::COL]).saturating_sub(1) as usize))
            .collect();
        columns.sort_unstable();
        columns.into_iter().map(|(_, column)| column).collect()
    }

    pub fn synonym(&self, object: ObjectId) -> Option<SynonymDef> {
        let def = self.object(object)?;
        if def.kind != ObjectKind::Synonym {
            return None;
        }
        let row = self.rows(Base::Syn, syn::OBJ, object.0).pop()?;
        Some(SynonymDef {
            object,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            target_owner: as_text(&row[syn::OWNER]).to_owned(),
            target_name: as_text(&row[syn::NAME]).to_owned(),
            link: as_optional_text(&row[syn::NODE]),
        })
    }

    /// Triggers on a table: number, and whether enabled.
    pub fn triggers_on(&self, table: ObjectId) -> Vec<(ObjectId, bool)> {
        let rows = self.rows(Base::Trigger, trigger::BASEOBJECT, table.0);
        let trigger = |row: &Row| (ObjectId(as_u32(&row[trigger::OBJ])), as_i64(&row[trigger::ENABLED]) == Some(1));
        let mut list: Vec<(ObjectId, bool)> = rows.iter().map(trigger).collect();
        list.sort_unstable_by_key(|(object, _)| *object);
        list
    }

    // Definitions.

    /// The definition of a base table, with its indexes.
    ///
    /// # Errors
    /// ORA-00600 for an index whose rows cannot be decoded.
    pub fn base_table(&self, base: Base) -> Result<Rc<TableDef>> {
        let table = base.table();
        if let Some(def) = self.made.borrow().tables.get(&table.object.0) {
            return Ok(def.clone());
        }
        let indexes = if base.indexes().is_empty() { Vec::new() } else { self.indexes(table.object)? };
        let segment = SegmentRef {
            tablespace: 0,
            header: self.moment.header(base),
            data_object: table.object,
            pctfree: BASE_PCTFREE,
            initrans: 1,
        };
        let mut columns = base.columns();
        let statistics = self.with_own_statistics(table.name, &mut columns);
        let def = Rc::new(TableDef {
            object: table.object,
            owner_id: UserId::SYS,
            owner: "SYS".into(),
            name: table.name.into(),
            columns,
            organization: Organization::Heap(segment),
            indexes,
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            statistics,
            temporary: (base == Base::PlanTable).then_some(TemporaryKind::PreserveRows),
            options: TableOptions { degree: 1, logging: true, ..TableOptions::default() },
            epoch: self.epoch(),
        });
        self.checked()?;
        self.made.borrow_mut().tables.insert(table.object.0, def.clone());
        Ok(def)
    }

    /// The table with this number.
    pub fn table(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>> {
        if let Some(base) = Base::of_object(object) {
            return Ok(Some(self.base_table(base)?));
        }
        if let Some(def) = self.made.borrow().tables.get(&object.0) {
            return Ok(Some(def.clone()));
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::Table);
        let row = def.and_then(|_| self.rows(Base::Tab, tab::OBJ, object.0).pop());
        let Some((def, row)) = def.zip(row) else { return self.checked().map(|()| None) };
        let table = Rc::new(self.make_table(def, &row)?);
        self.checked()?;
        let mut made = self.made.borrow_mut();
        made.index_tables.extend(table.indexes.iter().map(|index| (index.object.0, object.0)));
        made.tables.insert(object.0, table.clone());
        drop(made);
        Ok(Some(table))
    }

    fn make_table(&self, def: &ObjectDef, row: &Row) -> Result<TableDef> {
        let bits = as_i64(&row[tab::PROPERTY]).unwrap_or(0);
        let on = |bit| bits & bit != 0;
        let columns = self.columns(def.object)?;
        let segment = SegmentRef {
            tablespace: as_u32(&row[tab::TS]),
            header: segment_header(row, tab::FILE, tab::BLOCK),
            data_object: ObjectId(as_u32(&row[tab::DATAOBJ])),
            pctfree: as_u32(&row[tab::PCTFREE]) as u8,
            initrans: as_u32(&row[tab::INITRANS]) as u8,
        };
        let indexes = self.indexes(def.object)?;
        let cluster = as_u32(&row[tab::BOBJ]);
        let organization = if cluster != 0 {
            let missing = || Ora::internal(format_args!("[cluster {cluster}]"));
            let cluster = self.cluster(ObjectId(cluster))?.ok_or_else(missing)?;
            // CLUCOLS holds the positions of the cluster key's columns in the table, four decimal digits each, from 1.
            let key_positions = as_text_digits(&row[tab::CLUCOLS]);
            Organization::HashCluster { cluster, key_positions }
        } else if on(property::TAB_INDEX_ORGANIZED) {
            let rows = indexes.iter().find(|index| index.kind == IndexKind::IotTop);
            Organization::Index(rows.map_or(segment, |index| index.segment))
        } else {
            Organization::Heap(segment)
        };
        let temporary = match (on(property::TAB_TEMPORARY), on(property::TAB_PRESERVE_ROWS)) {
            (false, _) => None,
            (true, false) => Some(TemporaryKind::DeleteRows),
            (true, true) => Some(TemporaryKind::PreserveRows),
        };
        Ok(TableDef {
            object: def.object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            indexes,
            constraints: self.constraints(def.object),
            referenced_by: self.referenced_by(def.object),
            statistics: as_i64(&row[tab::ROWCNT]).map(|rows| TableStatistics {
                rows: rows as u64,
                blocks: as_i64(&row[tab::BLKCNT]).unwrap_or(0) as u64,
                average_row_bytes: as_u32(&row[tab::AVGRLN]),
                groups: self.group_statistics(def.object),
            }),
            columns,
            organization,
            temporary,
            options: TableOptions {
                result_cache_force: on(property::TAB_RESULT_CACHE_FORCE),
                cache: on(property::TAB_CACHE),
                read_only: on(property::TAB_READ_ONLY),
                degree: as_u32(&row[tab::DEGREE]).max(1),
                logging: !on(property::TAB_NOLOGGING),
                minimize_records: on(property::TAB_MINIMIZE_RECORDS),
                row_movement: on(property::TAB_ROW_MOVEMENT),
                index_organized: on(property::TAB_INDEX_ORGANIZED),
            },
            epoch: self.epoch(),
        })
    }

    /// The columns of a table, cluster or view, in order.
    pub fn columns(&self, object: ObjectId) -> Result<Vec<ColumnDef>> {
        let mut rows = self.rows(Base::Col, col::OBJ, object.0);
        rows.sort_by_key(|row| as_i64(&row[col::COL]));
        let column = |row: &Row| {
            let statistics = self.column_statistics(object, as_u32(&row[col::COL])).cloned();
            Ok(ColumnDef { statistics, ..make_column(row)? })
        };
        rows.iter().map(column).collect()
    }

    fn indexes(&self, table: ObjectId) -> Result<Vec<Rc<IndexDef>>> {
        let mut list = Vec::new();
        for row in self.rows(Base::Ind, ind::BO, table.0) {
            let object = ObjectId(as_u32(&row[ind::OBJ]));
            if let Some(def) = self.object(object) {
                list.push(Rc::new(self.make_index(def, &row)?));
            }
        }
        list.sort_by_key(|index| index.object);
        Ok(list)
    }

    fn make_index(&self, def: &ObjectDef, row: &Row) -> Result<IndexDef> {
        let bits = as_i64(&row[ind::PROPERTY]).unwrap_or(0);
        let flags = as_i64(&row[ind::FLAGS]).unwrap_or(0);
        let mut columns = self.rows(Base::Icol, icol::OBJ, def.object.0);
        columns.sort_by_key(|row| as_i64(&row[icol::POS]));
        let columns = columns.iter().map(make_index_column).collect::<Result<_>>()?;
        let kind = match as_i64(&row[ind::TYPE]) {
            Some(2) => IndexKind::Bitmap,
            Some(4) => IndexKind::IotTop,
            _ if bits & property::IND_FUNCTION_BASED != 0 => IndexKind::FunctionBased,
            _ if bits & property::IND_REVERSE != 0 => IndexKind::Reverse,
            _ => IndexKind::Normal,
        };
        Ok(IndexDef {
            object: def.object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            table: ObjectId(as_u32(&row[ind::BO])),
            segment: SegmentRef {
                tablespace: as_u32(&row[ind::TS]),
                header: segment_header(row, ind::FILE, ind::BLOCK),
                data_object: ObjectId(as_u32(&row[ind::DATAOBJ])),
                pctfree: as_u32(&row[ind::PCTFREE]) as u8,
                initrans: as_u32(&row[ind::INITRANS]) as u8,
            },
            unique: bits & property::IND_UNIQUE != 0,
            columns,
            invisible: flags & property::IND_INVISIBLE != 0,
            unusable: flags & property::IND_UNUSABLE != 0,
            building: flags & property::IND_BUILDING != 0,
            disabled: flags & property::IND_DISABLED != 0,
            of_key: bits & property::IND_OF_KEY != 0,
            kind,
            statistics: as_i64(&row[ind::DISTKEY]).map(|distinct| IndexStatistics {
                distinct_keys: distinct as u64,
                leaf_blocks: as_i64(&row[ind::LEAFCNT]).unwrap_or(0) as u64,
                levels: as_u32(&row[ind::BLEVEL]),
                rows: as_i64(&row[ind::ROWCNT]).unwrap_or(0) as u64,
                clustering_factor: as_i64(&row[ind::CLUFAC]).unwrap_or(0) as u64,
            }),
        })
    }

    /// The index with this number, and its table.
    pub fn index(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>> {
        let known = self.made.borrow().index_tables.get(&object.0).copied();
        let of = || self.rows(Base::Ind, ind::OBJ, object.0).pop().map(|row| as_u32(&row[ind::BO]));
        let Some(table) = known.or_else(of) else { return self.checked().map(|()| None) };
        let table = self.table(ObjectId(table))?;
        Ok(table.and_then(|table| table.indexes.iter().find(|i| i.object == object).cloned()))
    }

    /// Tables with virtual columns, including the hidden ones for index expressions.
    pub fn tables_with_virtuals(&self) -> Vec<ObjectId> {
        let rows = self.find_rows(Base::Tab, &[tab::FLAGS], &[int(property::HAS_VIRTUALS)]);
        let mut tables: Vec<ObjectId> = rows.iter().map(|row| ObjectId(as_u32(&row[tab::OBJ]))).collect();
        tables.sort_unstable();
        tables
    }

    /// The objects that a call in a definition of `owner` may refer to: the synonyms followed, and the stored function
    /// or package. The name is the owner's own, public, or qualified by a schema; all objects of an ambiguous name are
    /// returned.
    pub fn called_units(&self, owner: UserId, path: &[&str]) -> Vec<ObjectId> {
        let space = ObjectKind::Function.namespace();
        let [first, rest @ ..] = path else { return Vec::new() };
        let own = self.object_named(owner, space, first);
        let plain = own.or_else(|| self.object_named(UserId::PUBLIC, space, first));
        let schema = self.user_named(first).zip(rest.first());
        let with_schema = schema.and_then(|(schema, name)| self.object_named(schema.id, space, name));
        let mut led = Vec::new();
        for mut found in [plain, with_schema] {
            for _ in 0..SYNONYM_CHAIN_MAX {
                let Some(def) = found else { break };
                led.push(def.object);
                found = self.synonym(def.object).and_then(|synonym| {
                    let schema = self.user_named(&synonym.target_owner)?;
                    self.object_named(schema.id, space, &synonym.target_name)
                });
            }
        }
        led
    }

    /// Indexes that are being built online, or were when their builder died.
    pub fn indexes_building(&self) -> Vec<ObjectId> {
        let rows = property::building_flags().flat_map(|flags| self.find_rows(Base::Ind, &[ind::FLAGS], &[int(flags)]));
        rows.map(|row| ObjectId(as_u32(&row[ind::OBJ]))).collect()
    }

    fn constraints(&self, table: ObjectId) -> Vec<ConstraintDef> {
        let mut list: Vec<ConstraintDef> =
            self.rows(Base::Cdef, cdef::OBJ, table.0).iter().filter_map(|row| self.make_constraint(row)).collect();
        list.sort_by_key(|constraint| constraint.id);
        list
    }

    fn make_constraint(&self, row: &Row) -> Option<ConstraintDef> {
        let id = as_u32(&row[cdef::CON]);
        let bits = as_i64(&row[cdef::DEFER]).unwrap_or(0);
        let columns = self.constraint_columns(id);
        let index = ObjectId(as_u32(&row[cdef::INDEX]));
        let kind = match as_i64(&row[cdef::TYPE])? {
            1 => ConstraintKindDef::Check { text: as_text(&row[cdef::CONDITION]).to_owned() },
            2 => ConstraintKindDef::PrimaryKey { columns, index },
            3 => ConstraintKindDef::Unique { columns, index },
            4 => ConstraintKindDef::ForeignKey {
                columns,
                table: ObjectId(as_u32(&row[cdef::ROBJ])),
                key: as_u32(&row[cdef::RCON]),
                on_delete: on_delete(row),
            },
            7 => ConstraintKindDef::NotNull { column: *columns.first()? },
            _ => return None,
        };
        Some(ConstraintDef {
            id,
            name: self.constraint_name(id),
            generated: bits & property::CON_GENERATED != 0,
            kind,
            enabled: bits & property::CON_DISABLED == 0,
            validated: bits & property::CON_VALIDATED != 0,
            deferrable: bits & property::CON_DEFERRABLE != 0,
            initially_deferred: bits & property::CON_INITIALLY_DEFERRED != 0,
            rely: bits & property::CON_RELY != 0,
        })
    }

    fn referenced_by(&self, table: ObjectId) -> Vec<ForeignKeyTo> {
        let mut list = Vec::new();
        for row in self.rows(Base::Cdef, cdef::ROBJ, table.0) {
            if as_i64(&row[cdef::TYPE]) == Some(4) {
                list.push(ForeignKeyTo {
                    key: as_u32(&row[cdef::RCON]),
                    from_table: ObjectId(as_u32(&row[cdef::OBJ])),
                    constraint: as_u32(&row[cdef::CON]),
                    on_delete: on_delete(&row),
                    enabled: as_i64(&row[cdef::DEFER]).unwrap_or(0) & property::CON_DISABLED == 0,
                });
            }
        }
        list.sort_by_key(|key| (key.from_table, key.constraint));
        list
    }

    pub fn cluster(&self, object: ObjectId) -> Result<Option<Rc<ClusterDef>>> {
        if let Some(def) = self.made.borrow().clusters.get(&object.0) {
            return Ok(Some(def.clone()));
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::Cluster);
        let row = def.and_then(|_| self.rows(Base::Clu, clu::OBJ, object.0).pop());
        let Some((def, row)) = def.zip(row) else { return self.checked().map(|()| None) };
        let tables = self.rows(Base::Tab, tab::BOBJ, object.0);
        let mut tables: Vec<ObjectId> = tables.iter().map(|row| ObjectId(as_u32(&row[tab::OBJ]))).collect();
        tables.sort_unstable();
        let cluster = Rc::new(ClusterDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            segment: SegmentRef {
                tablespace: as_u32(&row[clu::TS]),
                header: segment_header(&row, clu::FILE, clu::BLOCK),
                data_object: ObjectId(as_u32(&row[clu::DATAOBJ])),
                pctfree: as_u32(&row[clu::PCTFREE]) as u8,
                initrans: as_u32(&row[clu::INITRANS]) as u8,
            },
            columns: self.columns(object)?,
            hashkeys: as_i64(&row[clu::HASHKEYS]).unwrap_or(0) as u64,
            size_bytes: as_u32(&row[clu::SIZE]),
            hash_text: as_optional_text(&row[clu::HASHFUNC]),
            single_table: as_i64(&row[clu::FLAGS]) == Some(1),
            tables,
            epoch: self.epoch(),
        });
        self.checked()?;
        self.made.borrow_mut().clusters.insert(object.0, cluster.clone());
        Ok(Some(cluster))
    }

    pub fn view(&self, object: ObjectId) -> Result<Option<Rc<ViewDef>>> {
        if let Some(def) = self.made.borrow().views.get(&object.0) {
            return Ok(Some(def.clone()));
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::View);
        let row = def.and_then(|_| self.rows(Base::View, self::view::OBJ, object.0).pop());
        let Some((def, row)) = def.zip(row) else { return self.checked().map(|()| None) };
        let bits = as_i64(&row[self::view::PROPERTY]).unwrap_or(0);
        let view = Rc::new(ViewDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            text: as_text(&row[self::view::TEXT]).to_owned(),
            columns: self.columns(object)?.into_iter().map(|column| column.name).collect(),
            read_only: bits & property::VIEW_READ_ONLY != 0,
            check_option: bits & property::VIEW_CHECK_OPTION != 0,
            bequeaths: bits & property::VIEW_BEQUEATHS != 0,
            catalog: false,
            valid: def.valid,
            epoch: self.epoch(),
        });
        self.checked()?;
        self.made.borrow_mut().views.insert(object.0, view.clone());
        Ok(Some(view))
    }

    /// The stored unit with this number, and its source.
    pub fn unit(&self, object: ObjectId) -> Option<Rc<ProcedureDef>> {
        if let Some(def) = self.made.borrow().units.get(&object.0) {
            return Some(def.clone());
        }
        let def = self.object(object)?;
        let kind = match def.kind {
            ObjectKind::Procedure => UnitKind::Procedure,
            ObjectKind::Function => UnitKind::Function,
            ObjectKind::Package => UnitKind::Package,
            ObjectKind::PackageBody => UnitKind::PackageBody,
            ObjectKind::Trigger => UnitKind::Trigger,
            ObjectKind::Type => UnitKind::Type,
            ObjectKind::TypeBody => UnitKind::TypeBody,
            _ => return None,
        };
        let mut lines = self.rows(Base::Source, source::OBJ, object.0);
        lines.sort_by_key(|row| as_i64(&row[source::LINE]));
        let unit = Rc::new(ProcedureDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            kind,
            source: lines.iter().map(|row| as_text(&row[source::SOURCE])).collect(),
            valid: def.valid,
            epoch: self.epoch(),
        });
        if self.checked().is_ok() {
            self.made.borrow_mut().units.insert(object.0, unit.clone());
        }
        Some(unit)
    }

    pub fn sequence(&self, object: ObjectId) -> Option<Rc<SequenceDef>> {
        if let Some(def) = self.made.borrow().sequences.get(&object.0) {
            return Some(def.clone());
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::Sequence)?;
        let row = self.rows(Base::Seq, seq::OBJ, object.0).pop()?;
        let sequence = Rc::new(SequenceDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            increment: big(&row[seq::INCREMENT]),
            minimum: big(&row[seq::MINVALUE]),
            maximum: big(&row[seq::MAXVALUE]),
            cycle: as_i64(&row[seq::CYCLE]) == Some(1),
            order: as_i64(&row[seq::ORDER]) == Some(1),
            cache: u64::from(as_u32(&row[seq::CACHE])),
            epoch: self.epoch(),
        });
        if self.checked().is_ok() {
            self.made.borrow_mut().sequences.insert(object.0, sequence.clone());
        }
        Some(sequence)
    }
}

/// The user or role of a row of USER$.
fn user_of(row: &[Value]) -> UserDef {
    let status = as_i64(&row[user::ASTATUS]).unwrap_or(0);
    UserDef {
        id: UserId(as_u32(&row[user::USER])),
        name: as_text(&row[user::NAME]).to_owned(),
        is_role: as_i64(&row[user::TYPE]) == Some(0),
        verifier: Verifier::from_text(as_text(&row[user::SPARE4])),
        enabled_by: EnabledBy::from_text(as_text(&row[user::SPARE4])),
        locked: status & 8 != 0,
        locked_at: as_date(&row[user::LTIME]),
        expired: status & 1 != 0,
        created: as_date(&row[user::CTIME]),
        password_time: as_date(&row[user::PTIME]),
        profile: as_optional_text(&row[user::PROFILE]).unwrap_or_else(|| crate::profile::DEFAULT.to_owned()),
        logon_seq: as_i64(&row[user::LSEQ]).unwrap_or(0),
        default_roles: DefaultRoles::read(as_i64(&row[user::DEFROLE])),
        default_tablespace: as_u32(&row[user::DATATS]),
        temporary_tablespace: if row[user::TEMPTS].is_null() { 0 } else { as_u32(&row[user::TEMPTS]) },
    }
}

/// The object of a row of OBJ$.
fn object_of(row: &[Value]) -> Result<ObjectDef> {
    let object = as_u32(&row[obj::OBJ]);
    let kind = as_i64(&row[obj::TYPE]).and_then(|code| ObjectKind::from_code(code as u8));
    Ok(ObjectDef {
        object: ObjectId(object),
        data_object: ObjectId(as_u32(&row[obj::DATAOBJ])),
        owner_id: UserId(as_u32(&row[obj::OWNER])),
        name: as_text(&row[obj::NAME]).to_owned(),
        kind: kind.ok_or_else(|| Ora::internal(format_args!("[obj$ {object}]")))?,
        valid: as_i64(&row[obj::STATUS]) == Some(1),
        changed: as_i64(&row[obj::SPARE1]).and_then(|scn| u64::try_from(scn).ok()).unwrap_or(0),
    })
}

/// A row of OBJAUTH$.
fn grant_of(row: &[Value]) -> ObjectGrant {
    ObjectGrant {
        grantor: UserId(as_u32(&row[objauth::GRANTOR])),
        grantee: UserId(as_u32(&row[objauth::GRANTEE])),
        privilege: as_u32(&row[objauth::PRIVILEGE]) as u8,
        column: as_u32(&row[objauth::COL]),
        grantable: as_i64(&row[objauth::OPTION]) == Some(1),
    }
}

fn segment_header(row: &Row, file: usize, block: usize) -> Rdba {
    let (file, block) = (as_u32(&row[file]), as_u32(&row[block]));
    if file == 0 || file > Rdba::MAX_FILE || block > Rdba::MAX_BLOCK { Rdba::NONE } else { Rdba::new(file, block) }
}

/// The positions from 0 in the decimal digits of CLUCOLS, four per column.
fn as_text_digits(value: &Value) -> Vec<usize> {
    let Value::Number(n) = value else {
        return Vec::new();
    };
    let mut rest = big_number(n);
    let mut list = Vec::new();
    while rest > 0 {
        list.push((rest % 10_000 - 1).max(0) as usize);
        rest /= 10_000;
    }
    list.reverse();
    list
}

/// The number for CLUCOLS from the positions (from 0) of a cluster key's columns.
pub fn cluster_columns(positions: &[usize]) -> Value {
    let packed = positions.iter().fold(0i128, |n, position| n * 10_000 + *position as i128 + 1);
    Value::Number(Number::from_i128(packed))
}

fn big(value: &Value) -> i128 {
    match value {
        Value::Number(n) => big_number(n),
        _ => 0,
    }
}

/// An integer of up to 38 digits.
pub fn big_number(n: &Number) -> i128 {
    match n.as_i64() {
        Some(small) => i128::from(small),
        None => n.to_string().parse().unwrap_or(if n.is_negative() { i128::MIN } else { i128::MAX }),
    }
}

fn on_delete(row: &Row) -> OnDeleteDef {
    match as_i64(&row[cdef::REFACT]) {
        Some(1) => OnDeleteDef::Cascade,
        Some(2) => OnDeleteDef::SetNull,
        _ => OnDeleteDef::Restrict,
    }
}

fn make_column(row: &Row) -> Result<ColumnDef> {
    let bits = as_i64(&row[col::PROPERTY]).unwrap_or(0);
    let on = |bit| bits & bit != 0;
    let ty: Vec<Value> = [col::TYPE, col::LENGTH, col::PRECISION, col::SCALE, col::CHARSETFORM, col::CHARLENGTH]
        .iter()
        .map(|at| row[*at].clone())
        .collect();
    Ok(ColumnDef {
        name: as_text(&row[col::NAME]).to_owned(),
        data_type: type_of_columns(&ty)?,
        nullable: as_i64(&row[col::NULLS]).unwrap_or(0) == 0,
        default_text: as_optional_text(&row[col::DEFAULT]),
        default_on_null: on(property::COL_DEFAULT_ON_NULL),
        virtual_text: as_optional_text(&row[col::VIRTUAL]),
        identity: as_i64(&row[col::SEQ]).map(|sequence| Identity {
            sequence: ObjectId(sequence as u32),
            always: on(property::COL_IDENTITY_ALWAYS),
            on_null: on(property::COL_IDENTITY_ON_NULL),
        }),
        hidden: on(property::COL_HIDDEN),
        invisible: on(property::COL_INVISIBLE),
        moved: (bits >> property::COL_MOVED_SHIFT) as u16,
        statistics: None,
    })
}

fn make_index_column(row: &Row) -> Result<IndexColumnDef> {
    let descending = as_i64(&row[icol::DESCENDING]) == Some(1);
    let key = match as_u32(&row[icol::COL]) {
        0 => {
            let ty: Vec<Value> =
                [icol::TYPE, icol::LENGTH, icol::PRECISION, icol::SCALE, icol::CHARSETFORM, icol::CHARLENGTH]
                    .iter()
                    .map(|at| row[*at].clone())
                    .collect();
            IndexKey::Expression { text: as_text(&row[icol::EXPR]).to_owned(), data_type: type_of_columns(&ty)? }
        }
        position => IndexKey::Column(position as usize - 1),
    };
    Ok(IndexColumnDef { key, descending })
}
