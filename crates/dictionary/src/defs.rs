//! Definitions of schema objects, as a process keeps them.
//!
//! A definition is immutable and shared by `Rc`: whoever holds one holds the object as it was at one dictionary epoch.
//! A plan keeps the definitions it was made from and is made again when the dictionary says that the epoch has moved on
//! for one of them.

use crate::statistics::{ColumnStatistics, IndexStatistics, TableStatistics};
use std::rc::Rc;
use types::image::Image;
use types::{DataType, ObjectId, Rdba};

/// A schema's number. SYS is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Image)]
pub struct UserId(pub u32);

impl UserId {
    pub const SYS: UserId = UserId(0);
    /// The pseudo-user that owns public synonyms and receives grants to everyone.
    pub const PUBLIC: UserId = UserId(1);
    pub const SYSTEM: UserId = UserId(5);
}

/// Where an object's blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentRef {
    pub tablespace: u32,
    /// The segment header block.
    pub header: Rdba,
    /// The segment's object number, which rowids carry. TRUNCATE changes it.
    pub data_object: ObjectId,
    /// Percentage of a block kept free for updates.
    pub pctfree: u8,
    /// Interested-transaction entries of a new block.
    pub initrans: u8,
}

/// A table, real or fixed.
#[derive(Clone, Debug)]
pub struct TableDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    /// In the order of the row's pieces (`position` of each is its index). Dropped columns stay, hidden, until the
    /// table is moved.
    pub columns: Vec<ColumnDef>,
    pub organization: Organization,
    pub indexes: Vec<Rc<IndexDef>>,
    pub constraints: Vec<ConstraintDef>,
    /// Foreign keys of other tables that refer to this one.
    pub referenced_by: Vec<ForeignKeyTo>,
    pub statistics: Option<TableStatistics>,
    pub temporary: Option<TemporaryKind>,
    pub options: TableOptions,
    /// The dictionary epoch at which this definition was read.
    pub epoch: u64,
}

impl TableDef {
    /// The column of that (dictionary-form) name, unless it is hidden.
    pub fn column(&self, name: &str) -> Option<(usize, &ColumnDef)> {
        self.columns.iter().enumerate().find(|(_, column)| column.name == name && !column.hidden)
    }
    /// Columns that `SELECT *` shows, with their positions, in its order.
    pub fn visible_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        let is_seen = |column: &ColumnDef| !column.hidden && !column.invisible;
        let mut list: Vec<_> = self.columns.iter().enumerate().filter(|(_, column)| is_seen(column)).collect();
        // Those that have moved stand behind all others.
        list.sort_by_key(|(_, column)| column.moved);
        list.into_iter()
    }
    /// The value of [`ColumnDef::moved`] of a column that becomes the last, though it may be stored elsewhere.
    pub fn last_place(&self) -> u16 {
        let seen =
            self.visible_columns().map(|(at, column)| if column.moved > 0 { column.moved } else { at as u16 + 1 });
        seen.max().unwrap_or(0) + 1
    }
    /// The heap segment, if the table is an ordinary one.
    pub fn heap(&self) -> Option<&SegmentRef> {
        match &self.organization {
            Organization::Heap(segment) => Some(segment),
            _ => None,
        }
    }
    /// The index that holds the rows of an index-organised table.
    pub fn row_index(&self) -> Option<&Rc<IndexDef>> {
        self.indexes.iter().find(|index| index.kind == IndexKind::IotTop)
    }
    /// The table as the heap access method wants it, if it is an ordinary one.
    pub fn heap_table(&self) -> Option<heap::HeapTable> {
        match &self.organization {
            Organization::Heap(segment) => Some(heap::HeapTable {
                object: self.object,
                data_object: segment.data_object,
                header: segment.header,
                pctfree: segment.pctfree,
                initrans: segment.initrans,
            }),
            _ => None,
        }
    }
    pub fn is_fixed(&self) -> bool {
        matches!(self.organization, Organization::Fixed(_))
    }
}

/// How a table's rows are kept.
#[derive(Clone, Debug)]
pub enum Organization {
    Heap(SegmentRef),
    /// The only table of a hash cluster; `key_positions` are the table's columns that make the cluster key, in its
    /// order.
    HashCluster {
        cluster: Rc<ClusterDef>,
        key_positions: Vec<usize>,
    },
    /// An index-organised table: its rows are in its primary key's index, which has this segment.
    Index(SegmentRef),
    /// Rows made by code: V$ and X$.
    Fixed(FixedId),
}

/// The number of a fixed table in the [`crate::FixedCatalog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Image)]
pub struct FixedId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemporaryKind {
    DeleteRows,
    PreserveRows,
}

/// Table properties that only views and a few code paths look at.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct TableOptions {
    /// `RESULT_CACHE (MODE FORCE)`.
    pub result_cache_force: bool,
    pub cache: bool,
    pub read_only: bool,
    /// `PARALLEL` degree; 1 is serial.
    pub degree: u32,
    pub logging: bool,
    /// `MINIMIZE RECORDS_PER_BLOCK`.
    pub minimize_records: bool,
    /// `ENABLE ROW MOVEMENT`: SHRINK SPACE may change rowids.
    pub row_movement: bool,
    /// Columns given by CREATE TABLE ... ORGANIZATION INDEX.
    pub index_organized: bool,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ColumnDef {
    pub name: String,
    pub data_type: DataType,
    pub nullable: bool,
    /// The text of the DEFAULT expression.
    pub default_text: Option<String>,
    /// `DEFAULT ON NULL`.
    pub default_on_null: bool,
    /// The text of a virtual column's expression; such a column has no place in the row.
    pub virtual_text: Option<String>,
    /// The sequence of an identity column.
    pub identity: Option<Identity>,
    /// A dropped column: its piece stays in old rows and nobody sees it.
    pub hidden: bool,
    /// `INVISIBLE`: named explicitly only.
    pub invisible: bool,
    /// Where it stands for those who see it, from 1, if that is not where it is stored: a column that is made visible
    /// again is the last, and so are those that come later. 0 for the stored place.
    pub moved: u16,
    pub statistics: Option<ColumnStatistics>,
}

impl ColumnDef {
    /// A nullable column without a default.
    pub fn new(name: impl Into<String>, data_type: DataType) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            data_type,
            nullable: true,
            default_text: None,
            default_on_null: false,
            virtual_text: None,
            identity: None,
            hidden: false,
            invisible: false,
            moved: 0,
            statistics: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Identity {
    pub sequence: ObjectId,
    pub always: bool,
    pub on_null: bool,
}

/// A cluster. Only single-table hash clusters hold rows.
#[derive(Clone, Debug)]
pub struct ClusterDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    pub segment: SegmentRef,
    pub columns: Vec<ColumnDef>,
    /// HASHKEYS as given.
    pub hashkeys: u64,
    /// SIZE in bytes.
    pub size_bytes: u32,
    /// `HASH IS expr`.
    pub hash_text: Option<String>,
    pub single_table: bool,
    pub tables: Vec<ObjectId>,
    pub epoch: u64,
}

/// A B-tree index on a table.
#[derive(Clone, Debug, Hash)]
pub struct IndexDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    pub table: ObjectId,
    pub segment: SegmentRef,
    pub unique: bool,
    pub columns: Vec<IndexColumnDef>,
    pub invisible: bool,
    pub unusable: bool,
    /// Being built while the table is in use: unusable for queries, and every change of a row is entered.
    pub building: bool,
    /// A function that the key calls has been replaced or dropped: no query uses the index, and no row is changed until
    /// it is rebuilt, enabled or dropped.
    pub disabled: bool,
    /// Made for a key, with which it goes, whatever the two are called.
    pub of_key: bool,
    pub kind: IndexKind,
    pub statistics: Option<IndexStatistics>,
}

impl IndexDef {
    /// Whether its entries are those of the table's rows.
    pub fn is_usable(&self) -> bool {
        !self.unusable && !self.disabled
    }

    /// Appends a column's stored bytes as this index's keys have them.
    pub fn push_key_part(&self, stored: Option<&[u8]>, descending: bool, out: &mut Vec<u8>) {
        match self.kind {
            IndexKind::Reverse => types::codec::push_reversed_key_part(stored, descending, out),
            _ => types::codec::push_key_part(stored, descending, out),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    Normal,
    Bitmap,
    Reverse,
    FunctionBased,
    /// The key of an index-organised table.
    IotTop,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct IndexColumnDef {
    /// The table's column, or the expression of a function-based key.
    pub key: IndexKey,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum IndexKey {
    Column(usize),
    Expression { text: String, data_type: DataType },
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ConstraintDef {
    pub id: u32,
    pub name: String,
    /// The name was made by the system (`SYS_C00…`).
    pub generated: bool,
    pub kind: ConstraintKindDef,
    pub enabled: bool,
    pub validated: bool,
    pub deferrable: bool,
    pub initially_deferred: bool,
    /// `RELY`: said to hold, whether it is validated or not.
    pub rely: bool,
}

impl ConstraintDef {
    /// Whether it is a key that this index enforces.
    pub fn is_key_in(&self, of: ObjectId) -> bool {
        match self.kind {
            ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => index == of,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ConstraintKindDef {
    /// Positions of the columns; the index that enforces it.
    PrimaryKey {
        columns: Vec<usize>,
        index: ObjectId,
    },
    Unique {
        columns: Vec<usize>,
        index: ObjectId,
    },
    /// `text` is the condition as written.
    Check {
        text: String,
    },
    /// A NOT NULL is a check of its own, kept apart because the column's `nullable` enforces it.
    NotNull {
        column: usize,
    },
    ForeignKey {
        columns: Vec<usize>,
        table: ObjectId,
        key: u32,
        on_delete: OnDeleteDef,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnDeleteDef {
    Restrict,
    Cascade,
    SetNull,
}

/// A foreign key of another table that refers to this one.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ForeignKeyTo {
    /// The constraint referred to.
    pub key: u32,
    pub from_table: ObjectId,
    pub constraint: u32,
    pub on_delete: OnDeleteDef,
    pub enabled: bool,
}

#[derive(Clone, Debug)]
pub struct ViewDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    /// The query's text, parsed when the view is first used.
    pub text: String,
    /// The view's column names; empty for catalog views, whose query names them.
    pub columns: Vec<String>,
    pub read_only: bool,
    pub check_option: bool,
    /// BEQUEATH CURRENT_USER: invoker's functions in it run for who reads it, others for its owner.
    pub bequeaths: bool,
    /// One of the catalog views: its query resolves names as SYS.
    pub catalog: bool,
    /// STATUS is VALID. Without it, a statement that uses the view says how compiling it went.
    pub valid: bool,
    pub epoch: u64,
}

/// Which roles a session of a user begins with, of those granted to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultRoles {
    None,
    All,
    /// Those of DEFROLE$.
    Listed,
    /// All but those.
    AllExcept,
}

impl DefaultRoles {
    /// DEFROLE of USER$.
    pub fn code(self) -> i64 {
        match self {
            DefaultRoles::None => 0,
            DefaultRoles::All => 1,
            DefaultRoles::Listed => 2,
            DefaultRoles::AllExcept => 3,
        }
    }

    pub fn from_code(code: Option<i64>) -> DefaultRoles {
        match code {
            Some(0) => DefaultRoles::None,
            Some(2) => DefaultRoles::Listed,
            Some(3) => DefaultRoles::AllExcept,
            _ => DefaultRoles::All,
        }
    }
}

#[derive(Clone, Debug)]
pub struct SequenceDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    pub increment: i128,
    pub minimum: i128,
    pub maximum: i128,
    pub cycle: bool,
    pub order: bool,
    /// 0 is NOCACHE.
    pub cache: u64,
    pub epoch: u64,
}

/// A stored PL/SQL unit.
#[derive(Clone, Debug)]
pub struct ProcedureDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    pub kind: UnitKind,
    /// From the kind's keyword to the end.
    pub source: String,
    pub valid: bool,
    pub epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnitKind {
    Procedure,
    Function,
    Package,
    PackageBody,
    Trigger,
    Type,
    TypeBody,
}

#[derive(Clone, Debug)]
pub struct SynonymDef {
    pub object: ObjectId,
    pub owner: String,
    pub name: String,
    pub target_owner: String,
    pub target_name: String,
    pub link: Option<String>,
}

#[derive(Clone, Debug)]
pub struct UserDef {
    pub id: UserId,
    pub name: String,
    /// A role owns nothing, and has a password only where SET ROLE is to ask for one.
    pub is_role: bool,
    pub default_roles: DefaultRoles,
    pub verifier: Option<crate::Verifier>,
    /// The package that alone may enable the role.
    pub enabled_by: Option<EnabledBy>,
    /// ACCOUNT LOCK was said, and when.
    pub locked: bool,
    pub locked_at: Option<types::Date>,
    /// PASSWORD EXPIRE was said.
    pub expired: bool,
    pub created: Option<types::Date>,
    /// When the password was set.
    pub password_time: Option<types::Date>,
    /// The name of the profile.
    pub profile: String,
    /// What logons have noted of the account counts only if it was noted under this number.
    pub logon_seq: i64,
    pub default_tablespace: u32,
    /// Where what the user's statements have no memory for goes; 0 when none is named.
    pub temporary_tablespace: u32,
}

/// The package of a role IDENTIFIED USING it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledBy {
    pub owner: String,
    pub name: String,
}

impl EnabledBy {
    /// What SPARE4 begins with, where others have a verifier.
    const MARK: &str = "USING \"";

    /// As USER$ has it; there is no quotation mark in a name.
    pub fn to_text(&self) -> String {
        format!("{}{}\".\"{}\"", EnabledBy::MARK, self.owner, self.name)
    }

    pub fn from_text(text: &str) -> Option<EnabledBy> {
        let (owner, name) = text.strip_prefix(EnabledBy::MARK)?.strip_suffix('"')?.split_once("\".\"")?;
        Some(EnabledBy { owner: owner.to_owned(), name: name.to_owned() })
    }
}

/// A row of OBJ$.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectDef {
    pub object: ObjectId,
    pub data_object: ObjectId,
    pub owner_id: UserId,
    pub name: String,
    pub kind: ObjectKind,
    pub valid: bool,
    /// The SCN at its last DDL.
    pub changed: u64,
}

/// TYPE# of OBJ$.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ObjectKind {
    Index = 1,
    Table = 2,
    Cluster = 3,
    View = 4,
    Synonym = 5,
    Sequence = 6,
    Procedure = 7,
    Function = 8,
    Package = 9,
    PackageBody = 11,
    Trigger = 12,
    Type = 13,
    TypeBody = 14,
    Directory = 23,
    Edition = 57,
}

impl ObjectKind {
    pub const ALL: [ObjectKind; 15] = [
        ObjectKind::Index,
        ObjectKind::Table,
        ObjectKind::Cluster,
        ObjectKind::View,
        ObjectKind::Synonym,
        ObjectKind::Sequence,
        ObjectKind::Procedure,
        ObjectKind::Function,
        ObjectKind::Package,
        ObjectKind::PackageBody,
        ObjectKind::Trigger,
        ObjectKind::Type,
        ObjectKind::TypeBody,
        ObjectKind::Directory,
        ObjectKind::Edition,
    ];

    /// The kind of that TYPE#.
    pub fn from_code(code: u8) -> Option<ObjectKind> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }

    /// OBJECT_TYPE of ALL_OBJECTS.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Index => "INDEX",
            ObjectKind::Table => "TABLE",
            ObjectKind::Cluster => "CLUSTER",
            ObjectKind::View => "VIEW",
            ObjectKind::Synonym => "SYNONYM",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Procedure => "PROCEDURE",
            ObjectKind::Function => "FUNCTION",
            ObjectKind::Package => "PACKAGE",
            ObjectKind::PackageBody => "PACKAGE BODY",
            ObjectKind::Trigger => "TRIGGER",
            ObjectKind::Type => "TYPE",
            ObjectKind::TypeBody => "TYPE BODY",
            ObjectKind::Directory => "DIRECTORY",
            ObjectKind::Edition => "EDITION",
        }
    }

    /// The name space: objects of one schema and space have different names.
    pub fn namespace(self) -> u8 {
        match self {
            ObjectKind::Index => 4,
            ObjectKind::Cluster => 5,
            ObjectKind::PackageBody | ObjectKind::TypeBody => 2,
            ObjectKind::Trigger => 3,
            ObjectKind::Directory => 9,
            ObjectKind::Edition => 64,
            _ => 1,
        }
    }
}

/// What a name in a statement turned out to be.
#[derive(Clone, Debug)]
pub enum Resolved {
    Table(Rc<TableDef>),
    View(Rc<ViewDef>),
    Sequence(Rc<SequenceDef>),
    /// A procedure, function, package or type, with the kind in its definition.
    Unit(Rc<ProcedureDef>),
}

/// A privilege on an object, needed where a name is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ObjectPrivilege {
    Alter = 0,
    Delete = 3,
    Index = 5,
    Insert = 6,
    Lock = 7,
    Select = 9,
    Update = 10,
    References = 11,
    Execute = 12,
    Read = 17,
    /// On directories.
    Write = 18,
    Debug = 26,
    Flashback = 27,
    /// On editions.
    Use = 29,
}

impl ObjectPrivilege {
    pub const ALL: [ObjectPrivilege; 14] = [
        ObjectPrivilege::Alter,
        ObjectPrivilege::Delete,
        ObjectPrivilege::Index,
        ObjectPrivilege::Insert,
        ObjectPrivilege::Lock,
        ObjectPrivilege::Select,
        ObjectPrivilege::Update,
        ObjectPrivilege::References,
        ObjectPrivilege::Execute,
        ObjectPrivilege::Read,
        ObjectPrivilege::Write,
        ObjectPrivilege::Debug,
        ObjectPrivilege::Flashback,
        ObjectPrivilege::Use,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ObjectPrivilege::Alter => "ALTER",
            ObjectPrivilege::Delete => "DELETE",
            ObjectPrivilege::Index => "INDEX",
            ObjectPrivilege::Insert => "INSERT",
            ObjectPrivilege::Lock => "LOCK",
            ObjectPrivilege::Select => "SELECT",
            ObjectPrivilege::Update => "UPDATE",
            ObjectPrivilege::References => "REFERENCES",
            ObjectPrivilege::Execute => "EXECUTE",
            ObjectPrivilege::Read => "READ",
            ObjectPrivilege::Write => "WRITE",
            ObjectPrivilege::Debug => "DEBUG",
            ObjectPrivilege::Flashback => "FLASHBACK",
            ObjectPrivilege::Use => "USE",
        }
    }

    pub fn from_code(code: u8) -> Option<ObjectPrivilege> {
        Self::ALL.into_iter().find(|privilege| *privilege as u8 == code)
    }

    pub fn parse(name: &str) -> Option<ObjectPrivilege> {
        Self::ALL.into_iter().find(|privilege| privilege.name() == name)
    }
}
