//! Definitions of schema objects, as a process keeps them.
//!
//! A definition is immutable and shared by `Rc`: it describes the object at one dictionary epoch (D2). A plan keeps the
//! definitions it was made from, and is made again when the epoch has moved on and one of them has changed.

use crate::partitions::{IndexPartitionDef, Partitioning};
use crate::segment::SegmentRef;
use crate::statistics::{ColumnStatistics, IndexStatistics, TableStatistics};
use std::rc::Rc;
use types::image::Image;
use types::{DataType, ObjectId};

/// A schema's number. SYS is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Image)]
pub struct UserId(pub u32);

impl UserId {
    pub const SYS: UserId = UserId(0);
    /// The pseudo-user that owns public synonyms and receives grants to everyone.
    pub const PUBLIC: UserId = UserId(1);
    pub const SYSTEM: UserId = UserId(5);
}

/// A table, real or fixed.
#[derive(Clone, Debug)]
pub struct TableDef {
    pub object: ObjectId,
    pub owner_id: UserId,
    pub owner: String,
    pub name: String,
    /// The columns in stored order (`position` of each is its index). Dropped columns stay, hidden, until the table is
    /// moved.
    pub columns: Vec<ColumnDef>,
    pub organization: Organization,
    pub indexes: Vec<Rc<IndexDef>>,
    /// The segments of LOB columns that have one.
    pub lobs: Vec<LobDef>,
    pub constraints: Vec<ConstraintDef>,
    /// Foreign keys of other tables that refer to this one.
    pub referenced_by: Vec<ForeignKeyTo>,
    /// Triggers in the order in which they fire.
    pub triggers: Vec<TriggerDef>,
    pub statistics: Option<TableStatistics>,
    pub temporary: Option<TemporaryKind>,
    pub options: TableOptions,
    /// The dictionary epoch at which this definition was read.
    pub epoch: u64,
}

impl TableDef {
    /// The column with this (dictionary-form) name, unless it is hidden.
    pub fn column(&self, name: &str) -> Option<(usize, &ColumnDef)> {
        self.columns.iter().enumerate().find(|(_, column)| column.name == name && !column.hidden)
    }
    /// The columns of `SELECT *` in their order, with their positions.
    pub fn visible_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        let is_seen = |column: &ColumnDef| !column.hidden && !column.invisible;
        let mut list: Vec<_> = self.columns.iter().enumerate().filter(|(_, column)| is_seen(column)).collect();
        // Moved columns come after all others.
        list.sort_by_key(|(_, column)| column.moved);
        list.into_iter()
    }
    /// The value of [`ColumnDef::moved`] that makes a column the last one shown, wherever it is stored.
    pub fn last_place(&self) -> u16 {
        let seen =
            self.visible_columns().map(|(at, column)| if column.moved > 0 { column.moved } else { at as u16 + 1 });
        seen.max().unwrap_or(0) + 1
    }
    /// The heap segment of an ordinary table.
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
    /// The table in the form of the heap access method; `None` unless it is an ordinary table.
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
    /// The partitions of a partitioned table.
    pub fn partitioning(&self) -> Option<&Rc<Partitioning>> {
        match &self.organization {
            Organization::Partitioned(partitioning) => Some(partitioning),
            _ => None,
        }
    }
    pub fn is_fixed(&self) -> bool {
        matches!(self.organization, Organization::Fixed(_))
    }
}

types::numbered! {
    /// The time at which a trigger fires: TYPE# of TRIGGER$.
    #[derive(Debug, PartialEq, Eq, Hash)]
    pub enum TriggerKind: u8 {
        BeforeStatement = 0,
        BeforeRow = 1,
        AfterStatement = 2,
        AfterRow = 3,
        /// INSTEAD OF, of a view.
        InsteadOfRow = 4,
        Compound = 5,
        /// On a schema or the database.
        BeforeEvent = 6,
        AfterEvent = 7,
    }
}

/// An application context of CREATE CONTEXT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextDef {
    pub object: ObjectId,
    /// The schema and the name of the package that sets the values.
    pub package: (String, String),
    /// All sessions share the values.
    pub global: bool,
}

/// A trigger of a table, a view, a schema or the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TriggerDef {
    pub object: ObjectId,
    pub owner: String,
    pub name: String,
    pub kind: TriggerKind,
    pub enabled: bool,
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    /// The positions of the columns of UPDATE OF; without any, all updates fire the trigger.
    pub columns: Vec<u16>,
    /// The positions of the columns that the body assigns in the new row.
    pub assigns: Vec<u16>,
    /// The sections of a compound trigger.
    pub points: u8,
    /// The events of a trigger on a schema or the database, as bits of their numbers.
    pub events: u32,
    /// The owner of the schema that the trigger is on.
    pub schema: Option<UserId>,
}

impl TriggerDef {
    /// Bits of [`TriggerDef::points`] and of TRIGGER$.PROPERTY.
    pub const BEFORE_STATEMENT: u8 = 1;
    pub const BEFORE_ROW: u8 = 2;
    pub const AFTER_ROW: u8 = 4;
    pub const AFTER_STATEMENT: u8 = 8;

    /// Whether an UPDATE that sets these columns fires the trigger.
    pub fn fires_for(&self, set: &[u16]) -> bool {
        self.update && (self.columns.is_empty() || self.columns.iter().any(|column| set.contains(column)))
    }
}

/// The organization of a table's rows.
#[derive(Clone, Debug)]
pub enum Organization {
    Heap(SegmentRef),
    /// The only table of a hash cluster; `key_positions` are the table's columns of the cluster key, in the order of
    /// the key.
    HashCluster {
        cluster: Rc<ClusterDef>,
        key_positions: Vec<usize>,
    },
    /// An index-organised table: its rows are in the index of its primary key, which has this segment.
    Index(SegmentRef),
    /// Rows made by code: V$ and X$.
    Fixed(FixedId),
    /// A segment for each partition.
    Partitioned(Rc<Partitioning>),
}

/// The number of a fixed table in the [`crate::FixedCatalog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Image)]
pub struct FixedId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemporaryKind {
    DeleteRows,
    PreserveRows,
}

/// Table properties that only views and a few code paths use.
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
    /// The table was created with ORGANIZATION INDEX.
    pub index_organized: bool,
    /// The table has the rows of a materialized view.
    pub materialized: bool,
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
    /// The text of a virtual column's expression; such a column is not stored in the row.
    pub virtual_text: Option<String>,
    /// The sequence of an identity column.
    pub identity: Option<Identity>,
    /// A dropped column: its value stays in old rows and is not visible.
    pub hidden: bool,
    /// `INVISIBLE`: visible only when named explicitly.
    pub invisible: bool,
    /// The column's place in the visible order, from 1, if it differs from the stored place; 0 otherwise. A column that
    /// is made visible again is shown last, before columns added later.
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
    /// Being built online: queries do not use it, but every change of a row is entered.
    pub building: bool,
    /// A function in the key was replaced or dropped: queries do not use the index, and no row can be changed until the
    /// index is rebuilt, enabled or dropped.
    pub disabled: bool,
    /// Created for a key constraint, with which it is dropped, whatever the names of the two.
    pub of_key: bool,
    pub kind: IndexKind,
    /// The partitions of a local index, in the order of the table's partitions; its `segment` then is none.
    pub local: Option<Rc<Vec<IndexPartitionDef>>>,
    pub statistics: Option<IndexStatistics>,
}

impl IndexDef {
    /// True when its entries agree with the table's rows.
    pub fn is_usable(&self) -> bool {
        let parts = self.local.iter().flat_map(|parts| parts.iter());
        !self.unusable && !self.disabled && !parts.into_iter().any(|part| part.unusable)
    }

    /// Appends a column's stored bytes in the form of this index's keys.
    pub fn push_key_part(&self, stored: Option<&[u8]>, descending: bool, out: &mut Vec<u8>) {
        match self.kind {
            IndexKind::Reverse => types::codec::push_reversed_key_part(stored, descending, out),
            _ => types::codec::push_key_part(stored, descending, out),
        }
    }
}

/// The segment of a LOB column: a tree of the parts of long values.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct LobDef {
    pub object: ObjectId,
    pub name: String,
    /// The position of the column.
    pub column: usize,
    pub segment: SegmentRef,
    /// Short values stay in the row: ENABLE STORAGE IN ROW.
    pub in_row: bool,
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
    /// `RELY`: assumed to hold, even when it is not validated.
    pub rely: bool,
}

impl ConstraintDef {
    /// True for a key constraint enforced by the index `of`.
    pub fn is_key_in(&self, of: ObjectId) -> bool {
        match self.kind {
            ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => index == of,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ConstraintKindDef {
    /// Positions of the columns, and the enforcing index.
    PrimaryKey {
        columns: Vec<usize>,
        index: ObjectId,
    },
    Unique {
        columns: Vec<usize>,
        index: ObjectId,
    },
    /// `text` is the condition in its original form.
    Check {
        text: String,
    },
    /// A NOT NULL constraint, separate from checks because the column's `nullable` enforces it.
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
    /// The referenced constraint.
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
    /// BEQUEATH CURRENT_USER: invoker's rights functions in it run with the rights of the reader, otherwise of the
    /// owner.
    pub bequeaths: bool,
    /// One of the catalog views: its query resolves names as SYS.
    pub catalog: bool,
    /// The types of the columns when the view was created.
    pub types: Vec<DataType>,
    /// INSTEAD OF triggers in the order in which they fire.
    pub triggers: Vec<TriggerDef>,
    /// STATUS is VALID. If it is not, a statement that uses the view stores the result of compiling it.
    pub valid: bool,
    pub epoch: u64,
}

types::numbered! {
    /// The roles, of those granted to a user, that a new session of the user enables.
    #[derive(Debug, PartialEq, Eq)]
    pub enum DefaultRoles: i64 {
        None = 0,
        All = 1,
        /// The roles in DEFROLE$.
        Listed = 2,
        /// All roles except those in DEFROLE$.
        AllExcept = 3,
    }
}

impl DefaultRoles {
    /// From DEFROLE of USER$.
    pub fn read(code: Option<i64>) -> DefaultRoles {
        code.and_then(DefaultRoles::from_code).unwrap_or(DefaultRoles::All)
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
    pub start: i128,
    /// [`seq_flags`](crate::seq_flags).
    pub flags: u32,
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
    /// The text from the keyword of the kind to the end.
    pub source: String,
    /// The settings of PL/SQL with which it was compiled, by name in upper case.
    pub settings: Rc<[(String, String)]>,
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

/// Longest chain of synonyms; a longer one is treated as a loop, as in Oracle (ORA-01775).
pub(crate) const SYNONYM_CHAIN_MAX: usize = 16;

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
    /// A role owns nothing, and has a password only if SET ROLE must ask for one.
    pub is_role: bool,
    pub default_roles: DefaultRoles,
    pub verifier: Option<crate::Verifier>,
    /// The only package that may enable the role.
    pub enabled_by: Option<EnabledBy>,
    /// ACCOUNT LOCK is in force, and since when.
    pub locked: bool,
    pub locked_at: Option<types::Date>,
    /// PASSWORD EXPIRE is in force.
    pub expired: bool,
    pub created: Option<types::Date>,
    /// The time at which the password was set.
    pub password_time: Option<types::Date>,
    /// The name of the profile.
    pub profile: String,
    /// Stored logon state of the account is valid only if it has this number.
    pub logon_seq: i64,
    pub default_tablespace: u32,
    /// The tablespace of temporary segments for the user's statements; 0 when none is set.
    pub temporary_tablespace: u32,
}

/// The package of a role IDENTIFIED USING a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledBy {
    pub owner: String,
    pub name: String,
}

impl EnabledBy {
    /// The first characters of SPARE4 for such a role; other users have a verifier there.
    const MARK: &str = "USING \"";

    /// The text in USER$; a name contains no quotation mark.
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
    /// The SCN of its last DDL.
    pub changed: u64,
}

types::numbered! {
    /// TYPE# of OBJ$.
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ObjectKind: u8 {
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
        Lob = 40,
        Context = 44,
        TablePartition = 19,
        IndexPartition = 20,
        MaterializedView = 42,
        Edition = 57,
    }
}

impl ObjectKind {
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
            ObjectKind::Lob => "LOB",
            ObjectKind::Context => "CONTEXT",
            ObjectKind::Edition => "EDITION",
            ObjectKind::TablePartition => "TABLE PARTITION",
            ObjectKind::IndexPartition => "INDEX PARTITION",
            ObjectKind::MaterializedView => "MATERIALIZED VIEW",
        }
    }

    /// The name space: objects of one schema and name space have different names.
    pub fn namespace(self) -> u8 {
        match self {
            ObjectKind::Index => 4,
            ObjectKind::Cluster => 5,
            ObjectKind::PackageBody | ObjectKind::TypeBody => 2,
            ObjectKind::Trigger => 3,
            ObjectKind::Directory => 9,
            ObjectKind::Lob => 8,
            ObjectKind::Context => 21,
            ObjectKind::Edition => 64,
            // Beside the table with its rows, which has the same name.
            ObjectKind::MaterializedView => 19,
            // Partitions have the name of their table or index, which must not find them; the views show its name
            // space.
            ObjectKind::TablePartition => 61,
            ObjectKind::IndexPartition => 62,
            _ => 1,
        }
    }
}

/// The object that a name in a statement resolves to.
#[derive(Clone, Debug)]
pub enum Resolved {
    Table(Rc<TableDef>),
    View(Rc<ViewDef>),
    Sequence(Rc<SequenceDef>),
    /// A procedure, function, package or type, with the kind in its definition.
    Unit(Rc<ProcedureDef>),
}

types::numbered! {
    /// A privilege on an object, checked when a name is resolved.
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ObjectPrivilege: u8 {
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
}

impl ObjectPrivilege {
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

    pub fn parse(name: &str) -> Option<ObjectPrivilege> {
        Self::ALL.into_iter().find(|privilege| privilege.name() == name)
    }
}
