//! DDL statements, grants, ALTER SESSION and ALTER SYSTEM.

use super::{
    AlterFiles, AlterTablespace, CreateTablespace, DataTypeName, DefaultTablespace, DefaultTablespaceType, Expr, Ident,
    Name, PartitionAction, PartitionBy, PartitionSpec, Pos, Query, RecoverTarget,
};

#[derive(Clone, Debug, PartialEq)]
pub enum Ddl {
    CreateTable(CreateTable),
    CreateCluster(CreateCluster),
    CreateMaterializedView(Box<CreateMaterializedView>),
    CreateIndex(CreateIndex),
    CreateView(CreateView),
    CreateSequence(CreateSequence),
    CreateSynonym(CreateSynonym),
    CreateUser(CreateUser),
    CreateRole(CreateRole),
    /// `authentication` is absent for NOT IDENTIFIED.
    AlterRole(CreateRole),
    /// CREATE and ALTER PROFILE.
    Profile(ProfileLimits),
    CreateStored(CreateStored),
    CreateTablespace(CreateTablespace),
    AlterTablespace(AlterTablespace),
    AlterFiles(AlterFiles),
    DefaultTablespace(DefaultTablespace),
    DefaultTablespaceType(DefaultTablespaceType),
    CreateDirectory(CreateDirectory),
    CreateContext(CreateContext),
    Edition(EditionStatement),
    Drop(DropObject),
    AlterTable(AlterTable),
    AlterIndex(AlterIndex),
    AlterSequence(AlterSequence),
    AlterUser(AlterUser),
    /// `ALTER USER ... GRANT` or `REVOKE CONNECT THROUGH`.
    ConnectThrough(ConnectThrough),
    /// `ALTER PROCEDURE|FUNCTION|PACKAGE|TRIGGER|VIEW|TYPE name COMPILE`; ENABLE, DISABLE or RENAME of a trigger.
    AlterCompile(AlterCompile),
    Truncate(Truncate),
    Rename {
        from: Ident,
        to: Ident,
        pos: Pos,
    },
    Comment(CommentOn),
    Grant(Grant),
    Revoke(Revoke),
    Analyze(Analyze),
    Purge(Purge),
    Audit(Audit),
    AuditPolicy(AuditPolicy),
}

/// Physical attributes of a segment, kept mostly for dictionary views.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SegmentOptions {
    pub tablespace: Option<Ident>,
    pub pctfree: Option<u32>,
    pub pctused: Option<u32>,
    pub initrans: Option<u32>,
    pub maxtrans: Option<u32>,
    /// `STORAGE (...)`: each pair of words as written, `INITIAL` → `1M`.
    pub storage: Vec<(String, String)>,
    pub logging: Option<bool>,
    pub cache: Option<bool>,
    /// `PARALLEL n`; `Some(0)` for PARALLEL without a degree, `Some(1)` for NOPARALLEL.
    pub parallel: Option<u32>,
    pub compress: Option<bool>,
    /// `RESULT_CACHE (MODE FORCE)` is `Some(true)`.
    pub result_cache_force: Option<bool>,
    /// `ENABLE ROW MOVEMENT` is `Some(true)`.
    pub row_movement: Option<bool>,
    /// Position of `OVERFLOW`, for an index-organised table.
    pub overflow: Option<Pos>,
    /// `ROWDEPENDENCIES`, `MONITORING`, `SEGMENT CREATION DEFERRED` and other options without effect here.
    pub other: Vec<String>,
}

/// `LOB (c, …) STORE AS …`, without the options that change nothing here.
#[derive(Clone, Debug, PartialEq)]
pub struct LobStorage {
    pub columns: Vec<Ident>,
    /// The name of the segment.
    pub name: Option<Ident>,
    /// Whether the columns get segments: STORE AS. MODIFY LOB changes options only.
    pub stores: bool,
    /// ENABLE and DISABLE STORAGE IN ROW.
    pub in_row: Option<bool>,
    pub tablespace: Option<Ident>,
    /// The first option that would have to change how the values are stored: COMPRESS, DEDUPLICATE.
    pub unsupported: Option<Pos>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub name: Name,
    pub temporary: Option<Temporary>,
    pub columns: Vec<ColumnSpec>,
    pub constraints: Vec<ConstraintSpec>,
    pub organization: TableOrganization,
    pub options: SegmentOptions,
    pub lobs: Vec<LobStorage>,
    pub partitioning: Option<Box<PartitionBy>>,
    pub as_query: Option<Box<Query>>,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Temporary {
    pub private: bool,
    /// `ON COMMIT PRESERVE ROWS` (or `PRESERVE DEFINITION`); the default is to delete rows.
    pub preserve: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableOrganization {
    Heap,
    Index,
    External(String),
    Cluster { cluster: Name, columns: Vec<Ident> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    pub name: Ident,
    /// Absent in `CREATE TABLE t (a, b) AS SELECT`, for foreign keys, and for virtual columns.
    pub ty: Option<DataTypeName>,
    pub default: Option<ColumnDefault>,
    /// `[GENERATED ALWAYS] AS (expr) VIRTUAL`.
    pub generated: Option<Expr>,
    pub identity: Option<Identity>,
    /// `VISIBLE` or `INVISIBLE`, if written.
    pub visible: Option<bool>,
    pub constraints: Vec<ConstraintSpec>,
    /// `SORT` of hash-cluster tables.
    pub sort: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefault {
    pub expr: Expr,
    /// The expression as written, for the dictionary.
    pub text: String,
    pub on_null: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub always: bool,
    pub on_null: bool,
    pub options: SequenceOptions,
}

/// A constraint, inline (with implied columns) or out of line.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintSpec {
    pub name: Option<Ident>,
    pub kind: ConstraintKind,
    pub state: ConstraintState,
    /// `EXCEPTIONS INTO table`: the table that receives the rowids of violating rows.
    pub exceptions: Option<Name>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    NotNull,
    Null,
    PrimaryKey { columns: Vec<Ident>, using: Option<Box<UsingIndex>> },
    Unique { columns: Vec<Ident>, using: Option<Box<UsingIndex>> },
    Check { condition: Expr, text: String },
    References { columns: Vec<Ident>, table: Name, referenced: Vec<Ident>, on_delete: OnDelete },
}

#[derive(Clone, Debug, PartialEq)]
pub enum UsingIndex {
    Existing(Name),
    Create(CreateIndex),
    Options(SegmentOptions),
    /// `LOCAL`, with the partitions that are listed.
    Local(SegmentOptions, Vec<PartitionSpec>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelete {
    Restrict,
    Cascade,
    SetNull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstraintState {
    pub enabled: bool,
    pub validated: bool,
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub rely: bool,
}

impl Default for ConstraintState {
    fn default() -> Self {
        ConstraintState { enabled: true, validated: true, deferrable: false, initially_deferred: false, rely: false }
    }
}

/// The parts of a constraint's state that a clause sets; `None` leaves a part as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateClause {
    pub enabled: Option<bool>,
    pub validated: Option<bool>,
    pub deferrable: Option<bool>,
    pub initially_deferred: Option<bool>,
    pub rely: Option<bool>,
}

impl StateClause {
    /// The state of a new constraint. A disabled constraint is not validated unless the clause says so; an initially
    /// deferred constraint is deferrable.
    pub fn of_new(self) -> ConstraintState {
        let enabled = self.enabled.unwrap_or(true);
        let initially_deferred = self.initially_deferred.unwrap_or(false);
        ConstraintState {
            enabled,
            validated: self.validated.unwrap_or(enabled),
            deferrable: self.deferrable.unwrap_or(initially_deferred),
            initially_deferred,
            rely: self.rely.unwrap_or(false),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateCluster {
    pub name: Name,
    pub columns: Vec<(Ident, DataTypeName)>,
    pub single_table: bool,
    pub hashkeys: Option<u64>,
    /// `HASH IS expr`.
    pub hash_is: Option<Expr>,
    /// Bytes reserved for one cluster key.
    pub size_bytes: Option<u64>,
    /// `INDEX`: an indexed cluster, which is also the default without HASHKEYS.
    pub indexed: bool,
    pub options: SegmentOptions,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    pub unique: bool,
    pub bitmap: bool,
    pub name: Name,
    pub target: IndexTarget,
    pub options: SegmentOptions,
    pub reverse: bool,
    pub invisible: bool,
    pub online: bool,
    /// `LOCAL`, with the partitions that are listed.
    pub local: Option<Vec<PartitionSpec>>,
    /// `INDEXTYPE IS ...`, `GLOBAL PARTITION BY ...`, as written.
    pub other: Option<String>,
    pub pos: Pos,
}

/// The treatment of a key's index when the key is dropped or disabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyIndex {
    /// It is dropped if it was created for the key.
    #[default]
    AsMade,
    Keep,
    Drop,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IndexTarget {
    Table { table: Name, columns: Vec<IndexColumn> },
    Cluster(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexColumn {
    /// A plain name is a column; any other expression is a function-based key.
    pub expr: Expr,
    pub text: String,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub or_replace: bool,
    pub force: bool,
    pub name: Name,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
    /// The query as written, for the dictionary.
    pub text: String,
    pub read_only: bool,
    pub check_option: bool,
    /// BEQUEATH CURRENT_USER.
    pub bequeaths: bool,
    pub pos: Pos,
}

/// `CREATE MATERIALIZED VIEW`. Clauses that are not listed here are refused.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMaterializedView {
    pub name: Name,
    pub columns: Vec<Ident>,
    pub options: SegmentOptions,
    /// `BUILD DEFERRED`.
    pub deferred: bool,
    pub method: RefreshMethod,
    /// `WITH ROWID`.
    pub by_rowid: bool,
    /// `ENABLE QUERY REWRITE`.
    pub rewrite: bool,
    pub query: Box<Query>,
    /// The query as written, for the dictionary.
    pub text: String,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefreshMethod {
    Never,
    Complete,
    Fast,
    #[default]
    Force,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    pub name: Name,
    pub options: SequenceOptions,
    pub pos: Pos,
}

/// Numbers are kept as text: they may exceed 64 bits.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SequenceOptions {
    pub start_with: Option<String>,
    /// START WITH LIMIT VALUE, of an identity column.
    pub limit_value: bool,
    pub increment_by: Option<String>,
    /// `NOMAXVALUE` is `Some(None)`.
    pub maxvalue: Option<Option<String>>,
    pub minvalue: Option<Option<String>>,
    pub cycle: Option<bool>,
    /// `NOCACHE` is `Some(0)`.
    pub cache: Option<u64>,
    pub order: Option<bool>,
    pub restart: bool,
    /// `NOSCALE` is `Some(Scale::Off)`.
    pub scale: Option<Scale>,
    /// `GLOBAL` is `Some(false)`.
    pub session: Option<bool>,
    pub keep: Option<bool>,
}

/// Whether the numbers of a sequence begin with six digits of the instance and the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    Off,
    /// The digits are within the width of MAXVALUE.
    NoExtend,
    /// The digits are before the width of MAXVALUE.
    Extend,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSynonym {
    pub or_replace: bool,
    pub public: bool,
    pub name: Name,
    pub target: Name,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateUser {
    pub name: Ident,
    pub options: UserOptions,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterUser {
    pub name: Ident,
    pub options: UserOptions,
    pub pos: Pos,
}

/// `ALTER USER clients GRANT CONNECT THROUGH proxy ...`, and REVOKE.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectThrough {
    pub clients: Vec<Ident>,
    pub revoke: bool,
    pub proxy: Ident,
    /// WITH ROLE, WITH ROLE ALL EXCEPT, WITH NO ROLES; the default is all roles of the client.
    pub roles: super::SetRole,
    /// AUTHENTICATION REQUIRED.
    pub authenticated: bool,
    pub pos: Pos,
}

/// CREATE EDITION, and ALTER DATABASE DEFAULT EDITION.
#[derive(Clone, Debug, PartialEq)]
pub enum EditionStatement {
    Create { name: Ident, parent: Option<Ident>, pos: Pos },
    Default { name: Ident, pos: Pos },
}

/// AUDIT and NOAUDIT.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    pub noaudit: bool,
    pub what: AuditWhat,
    /// `BY` users; for a policy also `EXCEPT` users.
    pub users: Vec<Ident>,
    pub except: bool,
    /// `WHENEVER SUCCESSFUL` or, false, `NOT SUCCESSFUL`.
    pub whenever: Option<bool>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AuditWhat {
    /// Statement options and privileges.
    Options(Vec<(String, Pos)>),
    Object {
        actions: Vec<(String, Pos)>,
        on: Name,
    },
    Policy(Ident),
}

/// CREATE and ALTER AUDIT POLICY.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPolicy {
    pub name: Ident,
    pub changes: Vec<AuditChange>,
    pub alter: bool,
    pub pos: Pos,
}

/// A privilege or action that is added to a policy, or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditChange {
    pub adds: bool,
    pub privilege: bool,
    pub words: String,
    pub on: Option<Name>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProfileLimits {
    pub alter: bool,
    pub name: Ident,
    /// Limits by resource, each resource once.
    pub limits: Vec<(Ident, ProfileLimit)>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ProfileLimit {
    Default,
    Unlimited,
    /// `PASSWORD_VERIFY_FUNCTION NULL`.
    Null,
    /// A number; for times in days also a quotient such as `1/1440`.
    Number {
        value: String,
        divisor: String,
        pos: Pos,
    },
    /// `PASSWORD_VERIFY_FUNCTION f`.
    Function(Ident),
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserOptions {
    pub authentication: Option<Authentication>,
    /// `IDENTIFIED BY new REPLACE old`.
    pub replace: Option<String>,
    pub default_tablespace: Option<Ident>,
    pub temporary_tablespace: Option<Ident>,
    /// Tablespace, and quota as written (`UNLIMITED`, `10M`).
    pub quotas: Vec<(Ident, String)>,
    pub profile: Option<Ident>,
    pub account_locked: Option<bool>,
    pub password_expire: bool,
    /// `DEFAULT ROLE`.
    pub default_role: Option<super::SetRole>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Authentication {
    /// `IDENTIFIED BY password`, in the case as written.
    Password(String),
    /// `IDENTIFIED BY VALUES '...'`.
    Verifier(String),
    Externally,
    Globally,
    /// `IDENTIFIED USING [schema.]package`, of a role: the package enables it.
    Using(Name),
    None,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    pub name: Ident,
    pub authentication: Option<Authentication>,
    pub pos: Pos,
}

/// CREATE of a stored PL/SQL unit. The body is not parsed here: an error in it does not fail the statement, but makes
/// the unit invalid.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStored {
    pub or_replace: bool,
    pub kind: StoredKind,
    pub name: Name,
    /// From the kind's keyword (`PROCEDURE name ...`) to the end, as in `ALL_SOURCE`, without the schema qualifier.
    pub source: String,
    /// Offset of `source` in the statement.
    pub source_pos: Pos,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredKind {
    Procedure,
    Function,
    Package,
    PackageBody,
    Trigger,
    Type,
    TypeBody,
    Java,
}

impl StoredKind {
    /// The name in `ALL_OBJECTS.OBJECT_TYPE`.
    pub fn object_type(self) -> &'static str {
        match self {
            StoredKind::Procedure => "PROCEDURE",
            StoredKind::Function => "FUNCTION",
            StoredKind::Package => "PACKAGE",
            StoredKind::PackageBody => "PACKAGE BODY",
            StoredKind::Trigger => "TRIGGER",
            StoredKind::Type => "TYPE",
            StoredKind::TypeBody => "TYPE BODY",
            StoredKind::Java => "JAVA SOURCE",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDirectory {
    pub or_replace: bool,
    pub name: Ident,
    pub path: String,
    pub pos: Pos,
}

/// `CREATE CONTEXT namespace USING package`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateContext {
    pub or_replace: bool,
    pub name: Ident,
    pub package: Name,
    /// `ACCESSED GLOBALLY`.
    pub global: bool,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropObject {
    pub kind: DropKind,
    pub name: Name,
    /// `CASCADE CONSTRAINTS` of tables, `CASCADE` of users.
    pub cascade: bool,
    pub purge: bool,
    /// `DROP CLUSTER ... INCLUDING TABLES`, `DROP TABLESPACE ... INCLUDING CONTENTS`.
    pub including: bool,
    /// `... AND DATAFILES`.
    pub and_files: bool,
    /// `FORCE` of synonyms and types.
    pub force: bool,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropKind {
    Table,
    Cluster,
    Index,
    View,
    MaterializedView,
    Sequence,
    Synonym,
    PublicSynonym,
    User,
    Role,
    Stored(StoredKind),
    Tablespace,
    Directory,
    Context,
    DatabaseLink,
    Profile,
    AuditPolicy,
    Edition,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub name: Name,
    pub actions: Vec<AlterTableAction>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableAction {
    AddColumns(Vec<ColumnSpec>),
    AddConstraint(ConstraintSpec),
    ModifyColumns(Vec<ColumnSpec>),
    DropColumns {
        columns: Vec<Ident>,
        cascade: bool,
        unused: bool,
    },
    DropConstraint {
        target: ConstraintRef,
        cascade: bool,
        index: KeyIndex,
    },
    ModifyConstraint {
        target: ConstraintRef,
        clause: StateClause,
        cascade: bool,
        exceptions: Option<Name>,
    },
    /// `ENABLE` and `DISABLE` of a constraint.
    EnableConstraint {
        target: ConstraintRef,
        enable: bool,
        validate: bool,
        cascade: bool,
        /// `KEEP INDEX`.
        index: KeyIndex,
        using: Option<Box<UsingIndex>>,
        exceptions: Option<Name>,
    },
    RenameColumn {
        from: Ident,
        to: Ident,
    },
    RenameConstraint {
        from: Ident,
        to: Ident,
    },
    RenameTo(Ident),
    Options(SegmentOptions),
    /// `MOVE`, with its options. `keep`: ONLINE or UPDATE INDEXES, with which indexes stay usable.
    Move {
        options: SegmentOptions,
        keep: bool,
    },
    /// `LOB (c) STORE AS …` after ADD and MOVE, and `MODIFY LOB (c) (…)`.
    Lob(LobStorage),
    /// `[NO]MINIMIZE RECORDS_PER_BLOCK`.
    MinimizeRecords(bool),
    /// `SHRINK SPACE [COMPACT] [CASCADE]`.
    Shrink {
        pos: Pos,
    },
    /// `ENABLE` and `DISABLE ROW MOVEMENT`.
    RowMovement(bool),
    /// `COALESCE` of an index-organised table.
    Coalesce {
        pos: Pos,
    },
    /// `ENABLE` and `DISABLE ALL TRIGGERS`.
    AllTriggers(bool),
    /// An action on partitions.
    Partition {
        action: Box<PartitionAction>,
        pos: Pos,
    },
    /// `DEALLOCATE UNUSED` ...: as written.
    Other {
        text: String,
        pos: Pos,
    },
    ReadOnly(bool),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintRef {
    Name(Ident),
    PrimaryKey,
    Unique(Vec<Ident>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterIndex {
    pub name: Name,
    pub action: AlterIndexAction,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterIndexAction {
    Rebuild {
        options: SegmentOptions,
        /// Whether the table may be changed during the operation.
        online: bool,
        /// `PARTITION p`: only this partition of a local index.
        partition: Option<Ident>,
    },
    RenameTo(Ident),
    Unusable,
    /// `MODIFY PARTITION p UNUSABLE`.
    PartitionUnusable(Ident),
    /// `RENAME PARTITION p TO q`.
    RenamePartition {
        from: Ident,
        to: Ident,
    },
    Visible(bool),
    Coalesce,
    Options(SegmentOptions),
    /// `SHRINK SPACE [COMPACT]`.
    Shrink {
        compact: bool,
    },
    /// `MONITORING USAGE`, `DISABLE` ...: as written.
    Other {
        text: String,
        pos: Pos,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    pub name: Name,
    pub options: SequenceOptions,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterCompile {
    pub kind: CompileKind,
    pub name: Name,
    /// `COMPILE BODY`.
    pub body: bool,
    /// `COMPILE SPECIFICATION`.
    pub specification: bool,
    pub action: CompileAction,
    /// `PLSQL_CCFLAGS = '…'` and other settings.
    pub settings: Vec<super::ParameterSetting>,
    /// `REUSE SETTINGS`.
    pub reuse: bool,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompileKind {
    Stored(StoredKind),
    View,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileAction {
    Compile,
    Enable,
    Disable,
    /// `RENAME TO` of a trigger.
    RenameTo(Ident),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// `TRUNCATE CLUSTER`.
    pub cluster: bool,
    pub name: Name,
    pub reuse_storage: bool,
    pub cascade: bool,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CommentOn {
    /// For a column, the name's last part is the column.
    pub on_column: bool,
    pub name: Name,
    pub text: String,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub privileges: Vec<Privilege>,
    pub on: Option<GrantObject>,
    pub to: Vec<Grantee>,
    /// `WITH GRANT OPTION` or `WITH ADMIN OPTION`.
    pub with_option: bool,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Revoke {
    pub privileges: Vec<Privilege>,
    pub on: Option<GrantObject>,
    pub from: Vec<Grantee>,
    pub cascade: bool,
    pub pos: Pos,
}

/// A privilege or role as words in upper case: `CREATE SESSION`, `SELECT`, `DBA`, `ALL PRIVILEGES`.
#[derive(Clone, Debug, PartialEq)]
pub struct Privilege {
    pub name: String,
    pub columns: Vec<Ident>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GrantObject {
    Object(Name),
    Directory(Ident),
    Edition(Ident),
    /// `ON USER`: INHERIT PRIVILEGES.
    Users(Vec<Ident>),
}

/// A user or role; `PUBLIC` is an ordinary name here. `GRANT ... TO u IDENTIFIED BY p` creates the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Grantee {
    pub name: Ident,
    pub identified_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Analyze {
    pub kind: AnalyzeKind,
    pub name: Name,
    /// `COMPUTE STATISTICS`, `VALIDATE STRUCTURE CASCADE` ...: upper case, blanks collapsed.
    pub action: String,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalyzeKind {
    Table,
    Index,
    Cluster,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Purge {
    Table(Ident),
    Index(Ident),
    RecycleBin,
    DbaRecycleBin,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterSession {
    pub action: AlterSessionAction,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterSessionAction {
    Set(Vec<ParameterSetting>),
    /// `ENABLE|DISABLE|FORCE PARALLEL DML|DDL|QUERY ...`, `ADVISE`, `CLOSE DATABASE LINK` ...: upper case, blanks
    /// collapsed.
    Other(String),
}

/// `name = value`. The name is in upper case unless quoted (`"_spin_count"` keeps its case); the value is text as
/// written, without quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSetting {
    pub name: Ident,
    pub value: String,
    pub quoted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterSystem {
    pub action: AlterSystemAction,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterSystemAction {
    Set {
        settings: Vec<ParameterSetting>,
        scope: Option<Scope>,
        deferred: bool,
    },
    Reset(Vec<Ident>),
    /// `KILL SESSION 'sid,serial#' [IMMEDIATE]`.
    KillSession {
        target: String,
        immediate: bool,
    },
    DisconnectSession {
        target: String,
        immediate: bool,
        post_transaction: bool,
    },
    FlushSharedPool,
    FlushBufferCache,
    Checkpoint,
    SwitchLogfile,
    ArchiveLogCurrent,
    /// `ALTER DATABASE` or `ALTER TABLESPACE name`, `BEGIN` or `END BACKUP`.
    Backup {
        begin: bool,
        tablespace: Option<Ident>,
    },
    /// `ALTER DATABASE ARCHIVELOG` or `NOARCHIVELOG`.
    Archivelog(bool),
    /// `ALTER DATABASE RECOVER ...`.
    Recover(RecoverTarget),
    /// `ALTER DATABASE ADD LOGFILE [GROUP n] ['file'] [SIZE bytes]`.
    AddLogfile {
        group: Option<u32>,
        file: Option<String>,
        bytes: Option<u64>,
    },
    /// `ALTER DATABASE DROP LOGFILE GROUP n`.
    DropLogfile {
        group: u32,
    },
    /// `ENABLE|DISABLE RESTRICTED SESSION`.
    RestrictedSession(bool),
    Register,
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Memory,
    Spfile,
    Both,
}
