//! Queries: SELECT, its clauses, set operations and table references.

use super::{Expr, Ident, Name, PartitionRef, Pos, SetOp};

/// A query with its WITH clause, ORDER BY and row limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub with: Vec<Cte>,
    pub body: QueryBody,
    pub order_by: Option<OrderBy>,
    pub limit: Option<RowLimit>,
    pub for_update: Option<ForUpdate>,
    pub pos: Pos,
}

/// The source of a query's rows. All set operations have the same precedence and are left-associative, as in Oracle.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    SetOperation {
        op: SetOp,
        all: bool,
        left: Box<QueryBody>,
        right: Box<QueryBody>,
        pos: Pos,
    },
    /// A parenthesised query.
    Nested(Box<Query>),
}

/// `name (columns) AS (query)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
    pub search: Option<Search>,
    pub cycle: Option<Cycle>,
}

/// `SEARCH DEPTH|BREADTH FIRST BY keys SET sequence`: the order of the rows of a recursive WITH query.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    pub depth_first: bool,
    pub keys: Vec<SearchKey>,
    pub sequence: Ident,
}

/// A column of SEARCH. NULLS FIRST is `Some(true)`.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchKey {
    pub column: Ident,
    pub descending: bool,
    pub nulls_first: Option<bool>,
}

/// `CYCLE columns SET mark TO value DEFAULT otherwise`: the rows of a recursive WITH query that have no children.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    pub columns: Vec<Ident>,
    pub mark: Ident,
    pub value: Box<Expr>,
    pub otherwise: Box<Expr>,
}

/// One SELECT block.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub hints: Hints,
    pub distinct: bool,
    pub items: Vec<SelectItem>,
    /// `SELECT ... INTO` of PL/SQL.
    pub into: Option<IntoClause>,
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub connect_by: Option<ConnectBy>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Expr>,
    /// The position of the SELECT keyword.
    pub pos: Pos,
    /// The position of the FROM keyword.
    pub from_pos: Pos,
}

impl Select {
    /// A query block with only SELECT and FROM.
    pub fn new(items: Vec<SelectItem>, from: Vec<TableRef>, pos: Pos, from_pos: Pos) -> Select {
        Select {
            hints: Hints::default(),
            distinct: false,
            items,
            into: None,
            from,
            filter: None,
            connect_by: None,
            group_by: None,
            having: None,
            pos,
            from_pos,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SelectItem {
    pub kind: SelectItemKind,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SelectItemKind {
    /// `*`.
    Star,
    /// `t.*`, `s.t.*`.
    TableStar(Name),
    /// `text` is the expression as written: the column heading without an alias (describe removes blanks and converts
    /// it to upper case).
    Expr { expr: Expr, alias: Option<Ident>, text: ItemText },
}

/// The source text of a select-list item; ignored in comparisons, like positions.
#[derive(Clone, Debug, Default)]
pub struct ItemText(pub String);
impl PartialEq for ItemText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// `[BULK COLLECT] INTO targets [LIMIT n]`; also of RETURNING and FETCH.
#[derive(Clone, Debug, PartialEq)]
pub struct IntoClause {
    pub bulk: bool,
    pub targets: Vec<Expr>,
    pub pos: Pos,
}

/// A parsed hint comment. As in Oracle, an unreadable rest is dropped.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Hints {
    pub list: Vec<Hint>,
    /// The text between `/*+` and `*/`, as written.
    pub text: String,
}

impl Hints {
    /// The first hint with this name (in upper case).
    pub fn find(&self, name: &str) -> Option<&Hint> {
        self.list.iter().find(|hint| hint.name == name)
    }
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

/// A hint with its name in upper case. `args` are the words in its parentheses (in upper case unless quoted); an inner
/// group is one word: `INDEX(t (a b))` has `T` and `(A B)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub name: String,
    pub args: Vec<String>,
    pub pos: Pos,
}

/// A row source in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    pub kind: TableRefKind,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableRefKind {
    Table(TableName),
    Subquery {
        query: Box<Query>,
        /// `(query WITH …)`: restricts changes through the subquery; without effect on queries.
        restriction: Option<Restriction>,
        lateral: bool,
        /// `(query) AS OF …`: applies to each of its tables without an AS OF of its own.
        as_of: Option<Box<AsOf>>,
        alias: Option<Ident>,
        pivot: Option<Box<Pivot>>,
    },
    /// `TABLE(expr) [(+)] alias`, or `THE(...)`. A call without TABLE is allowed for pipelined functions.
    Collection {
        expr: Expr,
        outer: bool,
        alias: Option<Ident>,
    },
    Join {
        kind: JoinKind,
        left: Box<TableRef>,
        right: Box<TableRef>,
        constraint: JoinConstraint,
    },
}

/// The changes allowed through a subquery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    ReadOnly,
    CheckOption,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableName {
    pub name: Name,
    pub alias: Option<Ident>,
    /// `PARTITION (p)` or `PARTITION FOR (...)`.
    pub partition: Option<Box<PartitionRef>>,
    /// `SAMPLE (n)`; `block` for `SAMPLE BLOCK (n)`.
    pub sample: Option<Sample>,
    /// `AS OF SCN n` or `AS OF TIMESTAMP t`.
    pub as_of: Option<Box<AsOf>>,
    /// `VERSIONS BETWEEN …`: all versions of the rows, one after the other.
    pub versions: Option<Box<Versions>>,
    pub pivot: Option<Box<Pivot>>,
}

/// `VERSIONS BETWEEN SCN | TIMESTAMP low AND high`; an absent bound is MINVALUE or MAXVALUE.
#[derive(Clone, Debug, PartialEq)]
pub struct Versions {
    pub low: Option<AsOf>,
    pub high: Option<AsOf>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub block: bool,
    pub percent: Box<Expr>,
    pub seed: Option<Box<Expr>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AsOf {
    Scn(Expr),
    Timestamp(Expr),
}

/// `PIVOT (...)` or `UNPIVOT (...)` on a row source.
#[derive(Clone, Debug, PartialEq)]
pub enum Pivot {
    Pivot {
        aggregates: Vec<(Expr, Option<Ident>)>,
        columns: Vec<Ident>,
        values: Vec<(Expr, Option<Ident>)>,
        alias: Option<Ident>,
    },
    Unpivot {
        include_nulls: bool,
        values: Vec<Ident>,
        names: Vec<Ident>,
        columns: Vec<(Vec<Ident>, Option<Expr>)>,
        alias: Option<Ident>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    CrossApply,
    OuterApply,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinConstraint {
    /// CROSS joins and APPLY.
    None,
    On(Expr),
    Using(Vec<Ident>),
    Natural,
}

/// `START WITH ... CONNECT BY [NOCYCLE] ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectBy {
    pub start_with: Option<Expr>,
    pub nocycle: bool,
    pub condition: Expr,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    pub elements: Vec<GroupElement>,
    pub pos: Pos,
}

/// An element of GROUP BY. A composite column `(a, b)` is an [`super::ExprKind::Row`]; `()` is an empty row.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupElement {
    Expr(Expr),
    Rollup(Vec<Expr>),
    Cube(Vec<Expr>),
    GroupingSets(Vec<GroupElement>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    pub siblings: bool,
    pub items: Vec<OrderItem>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// In ORDER BY of a query (not of a window), a number literal is the position of a select-list item.
    pub expr: Expr,
    pub descending: bool,
    /// NULLS FIRST is `Some(true)`; if absent, NULLs sort as the greatest value.
    pub nulls_first: Option<bool>,
}

/// `OFFSET n ROWS FETCH FIRST n [PERCENT] ROWS ONLY | WITH TIES`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLimit {
    pub offset: Option<Expr>,
    pub fetch: Option<Fetch>,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// Absent means one row.
    pub count: Option<Expr>,
    pub percent: bool,
    pub with_ties: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForUpdate {
    pub of: Vec<Name>,
    pub wait: LockWait,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LockWait {
    Wait,
    NoWait,
    /// `WAIT n`, seconds.
    Seconds(Box<Expr>),
    SkipLocked,
}
