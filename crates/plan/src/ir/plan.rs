//! Plans of statements.

use super::expr::{Column, Compared, Expr, Reg, SequenceRef, SubId};
use super::source::{QueryPlan, Source, SubPlan};
use dictionary::{IndexDef, TableDef};
use std::rc::Rc;
use types::image::Image;

#[derive(Clone, Debug, Image)]
#[allow(clippy::large_enum_variant)] // One value a plan; the large variant is the usual one.
pub enum InsertSource {
    Values(Vec<Expr>),
    Query(QueryPlan),
}

/// A CHECK constraint with the registers of its columns.
#[derive(Clone, Debug, Image)]
pub struct Check {
    pub owner: String,
    pub name: String,
    pub cond: Expr,
    pub watch: Watch,
    /// The constraint is NOT NULL on this column.
    pub not_null: Option<u16>,
    /// WITH CHECK OPTION of a view: the condition must be true.
    pub of_view: bool,
}

/// Identifies a deferrable constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub struct Watch {
    /// Number of the constraint, and its table.
    pub constraint: u32,
    pub table: types::ObjectId,
    pub deferrable: bool,
    pub initially_deferred: bool,
}

impl Watch {
    pub fn of(c: &dictionary::ConstraintDef, table: types::ObjectId) -> Watch {
        Watch { constraint: c.id, table, deferrable: c.deferrable, initially_deferred: c.initially_deferred }
    }
}

/// The parent key that a new foreign-key value must have.
#[derive(Clone, Debug, Image)]
pub struct ForeignKey {
    pub owner: String,
    pub name: String,
    /// Columns of the child, 0-based.
    pub columns: Vec<u16>,
    pub parent: Rc<TableDef>,
    /// The index of the parent's key, key columns in the order of `columns`.
    pub parent_index: Rc<IndexDef>,
    pub watch: Watch,
}

/// A child table that may refer to rows of the changed table.
#[derive(Clone, Debug, Image)]
pub struct ChildKey {
    pub owner: String,
    pub name: String,
    /// Columns of the parent, 0-based.
    pub parent_columns: Vec<u16>,
    pub child: Rc<TableDef>,
    pub child_columns: Vec<u16>,
    pub on_delete: OnDelete,
    pub watch: Watch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum OnDelete {
    Restrict,
    Cascade,
    SetNull,
}

/// The table that a DML statement changes, and the rules for its rows.
#[derive(Clone, Debug, Image)]
pub struct Target {
    pub table: Rc<TableDef>,
    /// New values of all columns, in column order, for CHECK, RETURNING and index keys.
    pub new: Vec<Reg>,
    pub checks: Vec<Check>,
    pub foreign: Vec<ForeignKey>,
    pub children: Vec<ChildKey>,
    /// Virtual columns over the new row.
    pub virtuals: Vec<(u16, Expr)>,
    /// Virtual columns of the old row, with their registers.
    pub virtuals_old: Vec<(Reg, Expr)>,
    /// The triggers that the statement fires, for each of its events that has some.
    pub firings: Vec<Firing>,
    /// `INSERT INTO t PARTITION (p)`: the position of the only partition that takes rows (ORA-14401).
    pub partition: Option<u32>,
    /// LOG ERRORS.
    pub error_log: Option<ErrorLog>,
}

/// The table that gets the rows that a statement cannot change.
#[derive(Clone, Debug, Image)]
pub struct ErrorLog {
    /// The INSERT of a row: the error's number, its message, the row's address, the operation, the tag, and `columns`.
    pub text: String,
    /// The columns of the changed table whose values are logged.
    pub columns: Vec<u16>,
    pub tag: Option<Expr>,
    /// The number of errors that are logged and do not end the statement; `None` for any number.
    pub limit: Option<u64>,
}

/// The event that fires a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

/// A trigger that a statement fires.
#[derive(Clone, Debug, PartialEq, Eq, Image)]
pub struct Trigger {
    pub object: types::ObjectId,
    pub owner: String,
    pub name: String,
    /// The section of a compound trigger.
    pub section: Option<Section>,
}

/// The sections of a compound trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Section {
    BeforeStatement,
    BeforeRow,
    AfterRow,
    AfterStatement,
}

impl Section {
    /// The words of the section.
    pub fn name(self) -> &'static str {
        match self {
            Section::BeforeStatement => "BEFORE STATEMENT",
            Section::BeforeRow => "BEFORE EACH ROW",
            Section::AfterRow => "AFTER EACH ROW",
            Section::AfterStatement => "AFTER STATEMENT",
        }
    }
}

/// The enabled triggers of a table for one event, each list in the order of firing.
#[derive(Clone, Debug, Image)]
pub struct Firing {
    pub event: TriggerEvent,
    pub before: Vec<Trigger>,
    pub before_row: Vec<Trigger>,
    pub after_row: Vec<Trigger>,
    pub after: Vec<Trigger>,
    /// The names of the columns that an UPDATE sets, each between two separators: see [`Firing::SEPARATOR`].
    pub updated: String,
    /// The columns that triggers before the row may assign.
    pub assigned: Vec<u16>,
}

impl TriggerEvent {
    /// The statement of the event.
    pub fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

impl Firing {
    /// Stands before and after each name in [`Firing::updated`]: no name contains it.
    pub const SEPARATOR: char = '"';

    /// Whether triggers fire for each row.
    pub fn has_rows(&self) -> bool {
        !self.before_row.is_empty() || !self.after_row.is_empty()
    }
}

#[derive(Clone, Debug, Image)]
pub struct InsertPlan {
    pub target: Target,
    /// The column for each source expression.
    pub columns: Vec<u16>,
    pub source: InsertSource,
    /// Values of columns that are not named, and of columns with DEFAULT ON NULL.
    pub defaults: Vec<(u16, Expr)>,
    /// The new row's rowid.
    pub rowid: Reg,
    pub returning: Vec<(Expr, Column)>,
}

#[derive(Clone, Debug, Image)]
pub struct UpdatePlan {
    pub target: Target,
    pub source: Source,
    pub rowid: Reg,
    /// Old values of all columns.
    pub old: Vec<Reg>,
    pub sets: Vec<SetItem>,
    pub returning: Vec<(Expr, Column)>,
}

#[derive(Clone, Debug, Image)]
pub enum SetItem {
    One(u16, Expr),
    /// `(a, b) = (subquery)`.
    Row(Vec<u16>, SubId),
}

#[derive(Clone, Debug, Image)]
pub struct DeletePlan {
    pub target: Target,
    pub source: Source,
    pub rowid: Reg,
    pub old: Vec<Reg>,
    pub returning: Vec<(Expr, Column)>,
}

/// A change of rows of a view, for which its INSTEAD OF triggers stand.
#[derive(Clone, Debug, Image)]
pub struct InsteadPlan {
    /// The triggers are those before the row.
    pub firing: Firing,
    /// The rows of a query, or of the view; `None` for VALUES.
    pub query: Option<QueryPlan>,
    /// The columns of the view's row; none for INSERT.
    pub old: Vec<Reg>,
    /// The columns of the new row; none for DELETE.
    pub new: Vec<Reg>,
    /// The values of the new row; the others are those of the old row.
    pub sets: Vec<SetItem>,
}

#[derive(Clone, Debug, Image)]
pub struct MergePlan {
    pub target: Target,
    /// Source rows left-joined to the target; `rowid` is null where no target row matches.
    pub source: Source,
    pub rowid: Reg,
    pub old: Vec<Reg>,
    pub update: Option<MergeUpdate>,
    pub insert: Option<MergeInsert>,
}

#[derive(Clone, Debug, Image)]
pub struct MergeUpdate {
    pub sets: Vec<SetItem>,
    pub filter: Option<Expr>,
    pub delete: Option<Expr>,
}

#[derive(Clone, Debug, Image)]
pub struct MergeInsert {
    pub columns: Vec<u16>,
    pub values: Vec<Expr>,
    pub defaults: Vec<(u16, Expr)>,
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, Image)]
#[allow(clippy::large_enum_variant)] // One value a plan; the large variant is the usual one.
pub enum PlanBody {
    Query(QueryPlan),
    Insert(Box<InsertPlan>),
    /// INSERT ALL.
    InsertAll(Box<InsertAllPlan>),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
    Merge(Box<MergePlan>),
    Instead(Box<InsteadPlan>),
}

impl PlanBody {
    /// The row source that the statement reads, if any.
    pub fn source(&self) -> Option<&Source> {
        match self {
            PlanBody::Query(q) => Some(&q.source),
            PlanBody::Insert(i) => match &i.source {
                InsertSource::Query(q) => Some(&q.source),
                InsertSource::Values(_) => None,
            },
            PlanBody::InsertAll(i) => Some(&i.query.source),
            PlanBody::Update(u) => Some(&u.source),
            PlanBody::Delete(d) => Some(&d.source),
            PlanBody::Merge(m) => Some(&m.source),
            PlanBody::Instead(i) => i.query.as_ref().map(|query| &query.source),
        }
    }

    /// As [`PlanBody::source`], mutable.
    pub fn source_mut(&mut self) -> Option<&mut Source> {
        match self {
            PlanBody::Query(q) => Some(&mut q.source),
            PlanBody::Insert(i) => match &mut i.source {
                InsertSource::Query(q) => Some(&mut q.source),
                InsertSource::Values(_) => None,
            },
            PlanBody::InsertAll(i) => Some(&mut i.query.source),
            PlanBody::Update(u) => Some(&mut u.source),
            PlanBody::Delete(d) => Some(&mut d.source),
            PlanBody::Merge(m) => Some(&mut m.source),
            PlanBody::Instead(i) => i.query.as_mut().map(|query| &mut query.source),
        }
    }
}

#[derive(Clone, Debug, Image)]
pub struct InsertAllPlan {
    pub query: QueryPlan,
    /// First matching WHEN only (INSERT FIRST).
    pub first: bool,
    pub branches: Vec<InsertBranch>,
}

#[derive(Clone, Debug, Image)]
pub struct InsertBranch {
    pub when: Option<Expr>,
    /// Another INTO of the previous branch.
    pub same_as_previous: bool,
    /// ELSE.
    pub otherwise: bool,
    pub insert: InsertPlan,
}

/// A compiled statement.
#[derive(Clone, Debug, Image)]
pub struct Plan {
    pub body: PlanBody,
    pub subs: Vec<SubPlan>,
    /// WITH queries that run once and are read by `Source::Cte`.
    pub ctes: Vec<QueryPlan>,
    /// Number of registers; the executor adds its own after them.
    pub regs: u32,
    /// Names of the binds by index, which is their order in the text.
    pub binds: Vec<String>,
    pub sequences: Vec<Rc<SequenceRef>>,
    /// Tables, views, sequences and functions that the plan depends on.
    pub dependencies: Vec<types::ObjectId>,
    /// Owners and names of the stored units whose functions it calls.
    pub units: Vec<(String, String)>,
    /// Tables and views whose change invalidates a cached result. `None`: the result must not be cached (P10).
    pub cacheable: Option<Vec<types::ObjectId>>,
    pub result_cache: bool,
    /// Hint GATHER_PLAN_STATISTICS: operations are counted.
    pub counts_operations: bool,
    /// SELECT FOR UPDATE.
    pub locks_rows: bool,
    /// The register of the rowid of the first locked table, for SELECT FOR UPDATE.
    pub lock_rowid: Option<Reg>,
    /// `RESULT_CACHE_MODE = FORCE` does not apply (hint NO_RESULT_CACHE).
    pub no_result_cache: bool,
    /// Expressions of AS OF clauses: a number is an SCN, anything else a time.
    pub moments: Vec<Expr>,
    /// Tables and views that are read through views, with the owners of those views.
    pub below_views: Vec<(types::ObjectId, dictionary::UserId)>,
    /// Comparisons of columns with binds that the estimates depend on.
    pub peeks: Vec<BindPredicate>,
    /// Whether the plan was made with values of the binds.
    pub is_peeked: bool,
    /// BIND_AWARE and NO_BIND_AWARE.
    pub bind_aware: Option<bool>,
    /// The notes of EXPLAIN PLAN and DBMS_XPLAN.
    pub notes: Vec<Note>,
    /// The names of the query blocks.
    pub query_blocks: Vec<String>,
    /// The block of a statement that changes rows; 0 of a query.
    pub change_block: u32,
}

/// Notes on the origin of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Note {
    /// Tables without statistics were sampled at this level.
    DynamicSampling(u8),
    /// An execution of the previous plan has corrected the estimates.
    StatisticsFeedback,
    /// The degree of parallelism, and the number of a [`crate::Because`].
    Degree(u32, u8),
}

/// The text shown by DBMS_XPLAN.
impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::DynamicSampling(level) => write!(f, "dynamic statistics used: dynamic sampling (level={level})"),
            Note::StatisticsFeedback => f.write_str("statistics feedback used for this statement"),
            Note::Degree(degree, because) => {
                let because = ["hint", "table property", "session"][usize::from((*because).min(2))];
                write!(f, "Degree of Parallelism is {degree} because of {because}")
            }
        }
    }
}

/// A comparison of a column with a bind.
#[derive(Clone, Debug, Image)]
pub struct BindPredicate {
    pub table: Rc<TableDef>,
    /// The column's position in the table.
    pub column: usize,
    pub how: Compared,
    pub bind: usize,
}
