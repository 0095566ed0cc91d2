//! The dictionary of a new database.

use crate::base::*;
use crate::privilege::{CONNECT, RESOURCE};
use crate::properties::PROPERTIES;
use crate::roles::*;
use crate::rows::{Row, blank, flag, int, text};
use crate::*;
use block::SegmentKind;
use process::Process;
use txn::{NoHook, Txn};
use types::{Date, ObjectId, Ora, Rdba, Result, TimeZone, Value};

/// The arguments of CREATE DATABASE.
#[derive(Clone, Debug)]
pub struct NewDictionary {
    /// The database's name, also its global name.
    pub name: String,
    /// Number, name and contents (0 permanent, 1 temporary, 2 undo) of the tablespaces that exist.
    pub tablespaces: Vec<(u32, String, u32)>,
    /// The tablespace of new users' objects.
    pub users_tablespace: u32,
    pub temporary_tablespace: u32,
    pub block_size_bytes: u32,
    /// The verifier of SYSTEM's password; locked without one.
    pub system: Option<Verifier>,
    /// The verifier of SYS's password, for logons as SYSDBA over the network.
    pub sys: Option<Verifier>,
    /// The creation time of the created objects.
    pub now: Date,
}

/// The views that the roles AUDIT_ADMIN and AUDIT_VIEWER may read.
const AUDIT_VIEWS: &[&str] = &[
    "UNIFIED_AUDIT_TRAIL",
    "AUDIT_UNIFIED_POLICIES",
    "AUDIT_UNIFIED_ENABLED_POLICIES",
    "DBA_AUDIT_TRAIL",
    "DBA_AUDIT_SESSION",
    "DBA_STMT_AUDIT_OPTS",
    "DBA_PRIV_AUDIT_OPTS",
    "DBA_OBJ_AUDIT_OPTS",
    "DBA_AUDIT_MGMT_LAST_ARCH_TS",
];
/// The first user number for CREATE USER.
pub const FIRST_USER: u32 = 101;

/// The properties whose values depend on the new database or the program: name, value and description.
fn own_properties(new: &NewDictionary) -> [(&'static str, String, &'static str); 3] {
    [
        ("GLOBAL_DB_NAME", new.name.to_uppercase(), "Global database name"),
        ("DBTIMEZONE", TimeZone::DATABASE.to_string(), "DB time zone"),
        ("DST_PRIMARY_TT_VERSION", types::zones_version().to_string(), "Version of primary timezone data file"),
    ]
}

impl DictionaryShared {
    /// Creates the base tables in SYSTEM and fills them: the users SYS, SYSTEM and PUBLIC, the usual roles, DUAL, the
    /// maps.
    ///
    /// Run once, in a database whose SYSTEM tablespace is empty.
    ///
    /// # Errors
    /// ORA-01501, with the cause below it.
    pub fn create_database(&self, p: &Process, new: &NewDictionary) -> Result<()> {
        self.create_base_tables(p, new).map_err(|e| Ora::new(1501).because(e))
    }

    fn create_base_tables(&self, p: &Process, new: &NewDictionary) -> Result<()> {
        let scn = || self.txns().current_scn();
        for base in Base::ALL {
            let object = base.table().object;
            let segments = self.txns().space();
            let header = segments.create_segment(p, SYSTEM_TABLESPACE, SegmentKind::Table, object, &scn)?;
            self.set_header(*base, header);
            if *base == Base::Bootstrap && header != self.bootstrap_header() {
                return Err(Ora::internal(format_args!("[bootstrap$ at {header}]")));
            }
        }
        let mut txn = Txn::new();
        // Before the first row is inserted.
        for (n, index) in BASE_INDEXES.iter().enumerate() {
            let segment = self.trees.create_in(p, &mut txn, SYSTEM_TABLESPACE, index.object)?;
            self.open_tree(p, n, segment)?;
        }
        let filled = fill(&mut Change::new(self, p, &mut txn), new);
        match filled {
            Ok(()) => Change::new(self, p, &mut txn).commit(&NoHook).map(drop)?,
            Err(e) => {
                self.txns().rollback(p, &mut txn)?;
                return Err(e);
            }
        }
        self.seed_numbers(p)
    }
}

impl DictionaryShared {
    /// Adds WORD$ with the words of all texts to a database of a build without it. Run at a start, when no other
    /// process reads the dictionary; a start that dies before the commit leaves segments that nothing leads to.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub fn add_words(&self, p: &Process, now: Date) -> Result<()> {
        if !self.header(Base::Word).is_none() {
            return Ok(());
        }
        faults::point("words-missing");
        let (object, scn) = (Base::Word.table().object, || self.txns().current_scn());
        let header = self.txns().space().create_segment(p, SYSTEM_TABLESPACE, SegmentKind::Table, object, &scn)?;
        self.set_header(Base::Word, header);
        let mut txn = Txn::new();
        for n in Base::Word.indexes() {
            let segment = self.trees.create_in(p, &mut txn, SYSTEM_TABLESPACE, BASE_INDEXES[*n].object)?;
            self.open_tree(p, *n, segment)?;
        }
        faults::point("words-segments-made");
        let mut change = Change::new(self, p, &mut txn);
        let filled = fill_added(&mut change, Base::Word, now).and_then(|()| change.fill_words());
        faults::point("words-filled");
        let added = match filled {
            Ok(()) => Change::new(self, p, &mut txn).commit(&NoHook).map(drop),
            Err(e) => self.txns().rollback(p, &mut txn).and(Err(e)),
        };
        faults::point("words-committed");
        added
    }
}

/// The rows of a base table, and of its indexes, that was made behind the others.
fn fill_added(change: &mut Change<'_>, base: Base, now: Date) -> Result<()> {
    let (table, shared) = (base.table(), change.shared());
    let mut rows = vec![bootstrap_row(table.object, table.name, shared.header(base))];
    for n in base.indexes() {
        let index = &BASE_INDEXES[*n];
        rows.push(bootstrap_row(index.object, index.name, shared.tree(*n).segment));
    }
    change.insert_many(Base::Bootstrap, &rows)?;
    change.insert(Base::Obj, &object_row(table.object, table.name, ObjectKind::Table, now))?;
    fill_indexes(change, base.indexes().iter().copied(), now)
}

fn bootstrap_row(object: ObjectId, name: &str, header: Rdba) -> Row {
    vec![int(object.0), int(header.file()), int(header.block()), text(name)]
}

/// The number of the tablespace SYSTEM.
const SYSTEM_TABLESPACE: u32 = 0;

fn fill(change: &mut Change<'_>, new: &NewDictionary) -> Result<()> {
    change.insert(Base::Dual, &[text("X")])?;
    fill_bootstrap(change)?;
    fill_objects(change, new)?;
    fill_indexes(change, 0..BASE_INDEXES.len(), new.now)?;
    fill_users(change, new)?;
    fill_profiles(change)?;
    fill_audit(change, new)?;
    fill_privileges(change)?;
    fill_properties(change, new)?;
    let settings = connection_pool::SETTINGS.iter().map(|setting| int(setting.default));
    let pool: Row = [text(connection_pool::DEFAULT_POOL), int(0)].into_iter().chain(settings).collect();
    change.insert(Base::Cpool, &pool)?;
    for (name, value) in [("OBJECT", 1_i64 << 40), ("LOG_ID", 0), ("LOG_HISTORY", 30)] {
        change.insert(Base::SchedulerGlobal, &[text(name), int(value)])?;
    }
    for kind in ObjectKind::ALL {
        change.insert(Base::ObjectTypeMap, &[int(kind as u8), text(kind.name())])?;
    }
    for (number, name, contents) in &new.tablespaces {
        let row = [int(*number), text(name.as_str()), int(*contents), int(new.block_size_bytes), int(1)];
        change.insert(Base::Ts, &row)?;
    }
    Ok(())
}

fn fill_bootstrap(change: &mut Change<'_>) -> Result<()> {
    let shared = change.shared();
    let tables = Base::ALL.iter().map(|base| (base.table(), shared.header(*base)));
    let tables = tables.map(|(table, header)| bootstrap_row(table.object, table.name, header));
    let indexes = BASE_INDEXES.iter().enumerate();
    let indexes = indexes.map(|(n, index)| bootstrap_row(index.object, index.name, shared.tree(n).segment));
    let rows: Vec<Row> = tables.chain(indexes).collect();
    change.insert_many(Base::Bootstrap, &rows)
}

/// A row of OBJ$ for an object of SYS that is defined in the code.
fn object_row(object: ObjectId, name: &str, kind: ObjectKind, now: Date) -> Row {
    let mut row = blank(Base::Obj);
    row[obj::OBJ] = int(object.0);
    row[obj::DATAOBJ] = if kind == ObjectKind::Table { int(object.0) } else { Value::Null };
    row[obj::OWNER] = int(UserId::SYS.0);
    row[obj::NAME] = text(name);
    row[obj::NAMESPACE] = int(kind.namespace());
    row[obj::TYPE] = int(kind as u8);
    for column in [obj::CTIME, obj::MTIME, obj::STIME] {
        row[column] = Value::Date(now);
    }
    row[obj::STATUS] = int(1);
    row[obj::FLAGS] = int(0);
    row
}

/// The object number of the edition ORA$BASE.
pub const BASE_EDITION: ObjectId = ObjectId(134);

fn fill_objects(change: &mut Change<'_>, new: &NewDictionary) -> Result<()> {
    let mut rows: Vec<Row> = Base::ALL
        .iter()
        .map(|base| object_row(base.table().object, base.table().name, ObjectKind::Table, new.now))
        .collect();
    for (at, (name, _)) in catalog_views().iter().enumerate() {
        rows.push(object_row(ObjectId(CATALOG_FIRST_OBJECT + at as u32), name, ObjectKind::View, new.now));
    }
    for (object, name, _) in crate::packages::built_in_packages() {
        rows.push(object_row(object, name, ObjectKind::Package, new.now));
    }
    rows.push(object_row(BASE_EDITION, "ORA$BASE", ObjectKind::Edition, new.now));
    change.insert(Base::Edition, &[int(BASE_EDITION.0), Value::Null])?;
    change.insert_many(Base::Obj, &rows)
}

/// Inserts the rows of the indexes with these positions in [`BASE_INDEXES`].
fn fill_indexes(change: &mut Change<'_>, which: impl Iterator<Item = usize>, now: Date) -> Result<()> {
    let (mut objects, mut indexes, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for n in which {
        let index = &BASE_INDEXES[n];
        let header = change.shared().tree(n).segment;
        let table = index.table.table();
        let mut row = object_row(index.object, index.name, ObjectKind::Index, now);
        row[obj::DATAOBJ] = int(index.object.0);
        objects.push(row);
        let mut row = blank(Base::Ind);
        row[ind::OBJ] = int(index.object.0);
        row[ind::DATAOBJ] = int(index.object.0);
        row[ind::TS] = int(SYSTEM_TABLESPACE);
        row[ind::FILE] = int(header.file());
        row[ind::BLOCK] = int(header.block());
        row[ind::BO] = int(table.object.0);
        row[ind::COLS] = int(index.columns.len() as i64);
        row[ind::PCTFREE] = int(10);
        row[ind::INITRANS] = int(2);
        row[ind::TYPE] = int(1);
        row[ind::PROPERTY] = int(0);
        row[ind::FLAGS] = int(0);
        indexes.push(row);
        for (position, column) in (1i64..).zip(index_columns(n)) {
            let mut row = blank(Base::Icol);
            row[icol::OBJ] = int(index.object.0);
            row[icol::BO] = int(table.object.0);
            row[icol::COL] = int(*column as i64 + 1);
            row[icol::POS] = int(position);
            row[icol::DESCENDING] = int(0);
            columns.push(row);
        }
    }
    change.insert_many(Base::Obj, &objects)?;
    change.insert_many(Base::Ind, &indexes)?;
    change.insert_many(Base::Icol, &columns)
}

fn fill_users(change: &mut Change<'_>, new: &NewDictionary) -> Result<()> {
    let mut add = |id: UserId, name: &str, role: bool, verifier: Option<&Verifier>, open: bool| {
        let mut row = blank(Base::User);
        row[user::USER] = int(id.0);
        row[user::NAME] = text(name);
        row[user::TYPE] = flag(!role);
        row[user::DATATS] = int(if id.0 < FIRST_USER { SYSTEM_TABLESPACE } else { new.users_tablespace });
        row[user::TEMPTS] = int(new.temporary_tablespace);
        row[user::CTIME] = Value::Date(new.now);
        row[user::PTIME] = Value::Date(new.now);
        row[user::ASTATUS] = int(if open { 0 } else { 8 });
        row[user::LTIME] = if open { Value::Null } else { Value::Date(new.now) };
        row[user::LSEQ] = int(0);
        row[user::PROFILE] = text("DEFAULT");
        row[user::SPARE4] = verifier.map_or(Value::Null, |verifier| text(verifier.to_text()));
        row[user::DEFROLE] = int(DefaultRoles::All.code());
        change.insert(Base::User, &row)
    };
    add(UserId::SYS, "SYS", false, new.sys.as_ref(), true)?;
    add(UserId::PUBLIC, "PUBLIC", false, None, false)?;
    add(ROLE_CONNECT, "CONNECT", true, None, true)?;
    add(ROLE_RESOURCE, "RESOURCE", true, None, true)?;
    add(ROLE_DBA, "DBA", true, None, true)?;
    add(UserId::SYSTEM, "SYSTEM", false, new.system.as_ref(), new.system.is_some())?;
    add(ROLE_SELECT_CATALOG, "SELECT_CATALOG_ROLE", true, None, true)?;
    add(ROLE_EXECUTE_CATALOG, "EXECUTE_CATALOG_ROLE", true, None, true)?;
    add(ROLE_AUDIT_ADMIN, "AUDIT_ADMIN", true, None, true)?;
    add(ROLE_AUDIT_VIEWER, "AUDIT_VIEWER", true, None, true)?;
    add(ROLE_GATHER_SYSTEM_STATISTICS, "GATHER_SYSTEM_STATISTICS", true, None, true)
}

/// Inserts the profile DEFAULT, and a row of USER_LOGON$ for each user that can log on and for unknown names.
fn fill_profiles(change: &mut Change<'_>) -> Result<()> {
    change.insert(Base::Profname, &[int(0), text(crate::profile::DEFAULT)])?;
    for resource in Resource::ALL {
        let (number, kind) = resource.numbers();
        change.insert(Base::Profile, &[int(0), int(number), int(kind), int(resource.default_limit())])?;
        change.insert(Base::ResourceMap, &[int(number), int(kind), text(resource.name())])?;
    }
    for id in [UserId::SYS, UserId::SYSTEM, crate::logons::NOBODY] {
        change.insert(Base::UserLogon, &crate::logons::new_row(id))?;
    }
    Ok(())
}

/// Inserts the predefined audit policies: failed logons, and changes of privileges and security settings.
fn fill_audit(change: &mut Change<'_>, new: &NewDictionary) -> Result<()> {
    let (privileges, actions) = crate::audit::SECURECONFIG;
    for (number, name) in [(1, "ORA_LOGON_FAILURES"), (2, "ORA_SECURECONFIG")] {
        change.insert(Base::AudPolicy, &[int(number), text(name), int(1), Value::Date(new.now)])?;
    }
    let option = |policy: i64, kind: i64, option: &str| vec![int(policy), int(kind), text(option), Value::Null];
    let mut options = vec![option(1, 0, "LOGON")];
    options.extend(privileges.iter().map(|privilege| option(2, 1, privilege)));
    options.extend(actions.iter().map(|action| option(2, 0, action)));
    change.insert_many(Base::AudPolicyOption, &options)?;
    change.insert(Base::AudPolicyUser, &[int(1), int(0), Value::Null, int(0), int(1)])?;
    change.insert(Base::AudPolicyUser, &[int(2), int(0), Value::Null, int(1), int(1)])
}

fn fill_privileges(change: &mut Change<'_>) -> Result<()> {
    let grant = |grantee: UserId, privilege: i64| -> Row { vec![int(grantee.0), int(privilege), Value::Null, int(0)] };
    let mut rows = Vec::new();
    let mut map = Vec::new();
    for privilege in SystemPrivilege::ALL {
        rows.push(grant(ROLE_DBA, privilege.number()));
        map.push(vec![int(privilege.number()), text(privilege.name()), int(0)]);
    }
    rows.extend(CONNECT.iter().map(|privilege| grant(ROLE_CONNECT, privilege.number())));
    rows.extend(RESOURCE.iter().map(|privilege| grant(ROLE_RESOURCE, privilege.number())));
    for privilege in [SystemPrivilege::AuditSystem, SystemPrivilege::AuditAny] {
        rows.push(grant(ROLE_AUDIT_ADMIN, privilege.number()));
    }
    rows.push(grant(UserId::SYSTEM, i64::from(ROLE_DBA.0)));
    rows.push(grant(ROLE_DBA, i64::from(ROLE_SELECT_CATALOG.0)));
    rows.push(grant(ROLE_DBA, i64::from(ROLE_EXECUTE_CATALOG.0)));
    rows.push(grant(ROLE_DBA, i64::from(ROLE_GATHER_SYSTEM_STATISTICS.0)));
    change.insert_many(Base::Sysauth, &rows)?;
    change.insert_many(Base::SystemPrivilegeMap, &map)?;
    let map: Vec<Row> =
        ObjectPrivilege::ALL.iter().map(|privilege| vec![int(*privilege as u8), text(privilege.name())]).collect();
    change.insert_many(Base::TablePrivilegeMap, &map)?;
    let execute = |object: ObjectId, grantee: &UserId| {
        let mut row = blank(Base::Objauth);
        row[objauth::OBJ] = int(object.0);
        row[objauth::GRANTOR] = int(UserId::SYS.0);
        row[objauth::GRANTEE] = int(grantee.0);
        row[objauth::PRIVILEGE] = int(ObjectPrivilege::Execute as u8);
        row[objauth::OPTION] = flag(false);
        row
    };
    let packages = crate::packages::built_in_packages();
    let rows: Vec<Row> =
        packages.flat_map(|(object, _, to)| to.iter().map(move |grantee| execute(object, grantee))).collect();
    change.insert_many(Base::Objauth, &rows)?;
    let grant = |grantee: UserId, object: u32, privilege: ObjectPrivilege| {
        let mut row = blank(Base::Objauth);
        row[objauth::OBJ] = int(object);
        row[objauth::GRANTOR] = int(UserId::SYS.0);
        row[objauth::GRANTEE] = int(grantee.0);
        row[objauth::PRIVILEGE] = int(privilege as u8);
        row[objauth::OPTION] = int(0);
        row
    };
    change.insert(Base::Objauth, &grant(UserId::PUBLIC, BASE_EDITION.0, ObjectPrivilege::Use))?;
    let mut grants = vec![grant(ROLE_AUDIT_ADMIN, Base::Aud.table().object.0, ObjectPrivilege::Delete)];
    for role in [ROLE_AUDIT_ADMIN, ROLE_AUDIT_VIEWER] {
        grants.push(grant(role, Base::Aud.table().object.0, ObjectPrivilege::Select));
        for view in AUDIT_VIEWS {
            let at = crate::catalog_view(view).ok_or_else(|| Ora::internal(format_args!("[no {view}]")))?;
            grants.push(grant(role, CATALOG_FIRST_OBJECT + at as u32, ObjectPrivilege::Select));
        }
    }
    change.insert_many(Base::Objauth, &grants)
}

fn fill_properties(change: &mut Change<'_>, new: &NewDictionary) -> Result<()> {
    let listed = PROPERTIES.iter().map(|(name, value, comment, _)| vec![text(*name), text(*value), text(*comment)]);
    let own =
        own_properties(new).into_iter().map(|(name, value, comment)| vec![text(name), text(value), text(comment)]);
    let rows: Vec<Row> = listed.chain(own).collect();
    change.insert_many(Base::Props, &rows)
}
