//! Statements that change rows, and transaction control.

use super::{Argument, Bind, Expr, Hints, Ident, IntoClause, LockWait, Name, Pos, Query, Statement, TableRef};

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub hints: Hints,
    pub kind: InsertKind,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // One a statement; the large variant is the usual one.
pub enum InsertKind {
    Single {
        target: InsertTarget,
        source: InsertSource,
        returning: Option<Returning>,
        error_log: Option<Box<ErrorLog>>,
    },
    /// `INSERT ALL ... SELECT`: without WHEN the branches have no condition.
    Multi { first: bool, branches: Vec<InsertBranch>, otherwise: Vec<InsertInto>, query: Box<Query> },
}

/// `LOG ERRORS [INTO table] [(tag)] [REJECT LIMIT n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorLog {
    /// Without a name the table is `ERR$_` with the beginning of the name of the table that is changed.
    pub table: Option<Name>,
    pub tag: Option<Expr>,
    /// `None` for UNLIMITED; 0 without the clause.
    pub limit: Option<u64>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct InsertTarget {
    /// A table, view or inline view.
    pub table: TableRef,
    /// Empty if the statement has no column list.
    pub columns: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    Values(Vec<Expr>),
    /// PL/SQL `VALUES record`.
    Record(Box<Expr>),
    Query(Box<Query>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct InsertBranch {
    pub when: Option<Expr>,
    pub into: Vec<InsertInto>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct InsertInto {
    pub target: InsertTarget,
    /// Absent: the query's columns in order.
    pub values: Option<Vec<Expr>>,
}

/// `RETURNING exprs [BULK COLLECT] INTO targets`.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    pub exprs: Vec<Expr>,
    pub into: IntoClause,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub hints: Hints,
    pub table: TableRef,
    pub set: Vec<Assignment>,
    pub filter: Option<Expr>,
    /// `WHERE CURRENT OF cursor` of PL/SQL.
    pub current_of: Option<Ident>,
    pub returning: Option<Returning>,
    pub error_log: Option<Box<ErrorLog>>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    Column {
        column: Name,
        value: Expr,
    },
    /// `(a, b) = (subquery)`.
    Columns {
        columns: Vec<Name>,
        query: Box<Query>,
        pos: Pos,
    },
    /// PL/SQL `SET ROW = record`.
    Row(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub hints: Hints,
    pub table: TableRef,
    pub filter: Option<Expr>,
    pub current_of: Option<Ident>,
    pub returning: Option<Returning>,
    pub error_log: Option<Box<ErrorLog>>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    pub hints: Hints,
    pub target: TableRef,
    pub source: TableRef,
    pub on: Expr,
    pub update: Option<MergeUpdate>,
    pub insert: Option<MergeInsert>,
    pub error_log: Option<Box<ErrorLog>>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MergeUpdate {
    pub set: Vec<Assignment>,
    pub filter: Option<Expr>,
    /// `DELETE WHERE`.
    pub delete: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MergeInsert {
    pub columns: Vec<Name>,
    pub values: Vec<Expr>,
    pub filter: Option<Expr>,
}

/// `CALL proc(args) [INTO :b]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStatement {
    pub name: Name,
    pub args: Vec<Argument>,
    pub into: Option<Bind>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExplainPlan {
    pub statement_id: Option<String>,
    pub into: Option<Name>,
    pub statement: Statement,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Commit {
    pub comment: Option<String>,
    /// `WRITE IMMEDIATE` is `Some(true)`, `WRITE BATCH` is `Some(false)`.
    pub write_immediate: Option<bool>,
    /// `WRITE WAIT` is `Some(true)`, `WRITE NOWAIT` is `Some(false)`.
    pub write_wait: Option<bool>,
    /// `COMMIT FORCE`: identifier of the prepared transaction.
    pub force: Option<String>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rollback {
    pub to: Option<Ident>,
    /// `ROLLBACK FORCE`: identifier of the prepared transaction.
    pub force: Option<String>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetTransaction {
    pub mode: TransactionMode,
    pub name: Option<String>,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionMode {
    /// Only a NAME was given.
    Unchanged,
    ReadOnly,
    ReadWrite,
    Serializable,
    ReadCommitted,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetRole {
    Roles(Vec<RoleName>),
    AllExcept(Vec<RoleName>),
    None,
}

/// A role of SET ROLE.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleName {
    pub name: Ident,
    /// IDENTIFIED BY.
    pub password: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraints {
    /// Empty means ALL.
    pub names: Vec<Name>,
    pub deferred: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LockTable {
    pub tables: Vec<Name>,
    pub mode: LockMode,
    pub wait: LockWait,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    RowShare,
    RowExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
}
