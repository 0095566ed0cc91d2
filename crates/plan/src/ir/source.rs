//! Row sources.

use super::access::{ColumnMap, Key, Scan};
use super::expr::{CmpOp, Column, Expr, Reg};
use dictionary::TableDef;
use std::rc::Rc;
use types::DataType;
use types::image::Image;

#[derive(Clone, Debug, PartialEq, Image)]
pub struct SortKey {
    pub expr: Expr,
    pub desc: bool,
    pub nulls_first: bool,
}

/// Kinds of joins. Each name refers to the left side, whichever side is built into a hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum JoinKind {
    Inner,
    /// A left row without a match is kept.
    Left,
    Full,
    /// Left rows with a match, each once: EXISTS and IN.
    Semi,
    /// Left rows without a match: NOT EXISTS.
    Anti,
    /// NOT IN: left rows for which no right row matches, or may match because of a NULL.
    AntiNullAware,
    /// A scalar subquery: each left row once, with its only match or NULLs; a second match is ORA-01427.
    Single,
}

impl JoinKind {
    /// Whether the right side's columns are part of the result.
    pub fn keeps_right(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware)
    }

    /// Whether every left row is in the result, with or without a match.
    pub fn keeps_all_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Single)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Side {
    Left,
    Right,
}

/// How a key of a join treats NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum KeyNulls {
    /// It matches nothing: `=`.
    Never,
    /// It equals itself, as in sets and in DECODE.
    Equal,
    /// It may match any value: a column of NOT IN, in [`JoinKind::AntiNullAware`] only.
    Unknown,
}

/// An equality between the two sides of a join.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct JoinKey {
    pub left: Expr,
    pub right: Expr,
    /// Whether trailing blanks are ignored.
    pub padded: bool,
    pub nulls: KeyNulls,
}

impl JoinKey {
    /// `left = right`, compared as values of one type.
    pub fn equal(left: Expr, right: Expr) -> JoinKey {
        JoinKey { left, right, padded: false, nulls: KeyNulls::Never }
    }
}

/// A Bloom filter of a hash join, made of some of its keys when the build side has been read. Row sources below the
/// other side drop rows that cannot match ([`Source::JoinFilter`]).
#[derive(Clone, Debug, PartialEq, Image)]
pub struct BuiltFilter {
    pub id: usize,
    /// Positions in the join's keys. NULL matches in none of them.
    pub keys: Vec<usize>,
}

/// A range condition of a merge join: `left op right`, with `<`, `<=`, `>` or `>=`.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct MergeRange {
    pub op: CmpOp,
    pub left: Expr,
    pub right: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum SetKind {
    UnionAll,
    Union,
    Intersect,
    Minus,
    /// A recursive WITH query: the first input gives its first rows, the second one the children of the rows of a
    /// level. [`Recursion`] has the rest.
    Recursive,
}

/// The parts of a recursive WITH query that its inputs do not have. The outputs of the two inputs are its columns and
/// one more: the state of the row's parent, which the executor makes (NULL in the first input).
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Recursion {
    /// The WITH query, without rows of its own, through which the second input reads the rows of a level.
    pub pump: usize,
    /// Number of columns.
    pub columns: usize,
    pub search: Option<SearchOrder>,
    pub cycle: Option<CycleMark>,
    /// Without CYCLE, the columns that the conditions of the second input read: a row equal to an ancestor in all of
    /// them is ORA-32044.
    pub compared: Vec<usize>,
}

/// SEARCH: columns with whether they descend and whether their NULLs come first, and the register of the row's number.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct SearchOrder {
    pub depth_first: bool,
    pub keys: Vec<(usize, bool, bool)>,
    pub sequence: Reg,
}

/// CYCLE: a row equal to an ancestor in these columns has the mark `value` and no children.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct CycleMark {
    pub columns: Vec<usize>,
    pub mark: Reg,
    pub value: String,
    pub otherwise: String,
}

/// Aggregate functions built into the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum AggKind {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    StddevSamp,
    Stddev,
    StddevPop,
    VarSamp,
    Variance,
    VarPop,
    Median,
    /// The arguments are the value to order by and the fraction.
    PercentileCont,
    PercentileDisc,
    Listagg,
    /// CAST(COLLECT(x) AS type): a collection of the aggregate's type.
    Collect,
    /// STATS_MODE: the most frequent value, of several the least.
    StatsMode,
    // The arguments are the dependent and the independent variable.
    Corr,
    CovarPop,
    CovarSamp,
    RegrSlope,
    RegrIntercept,
    RegrCount,
    RegrR2,
    RegrAvgx,
    RegrAvgy,
    RegrSxx,
    RegrSyy,
    RegrSxy,
    /// JSON_ARRAYAGG: the argument is the text of an element, NULL if it is absent.
    JsonArray,
    /// JSON_OBJECTAGG: the argument is the text of a member, NULL if it is absent.
    JsonObject,
    /// XMLAGG.
    Xml,
    /// GROUPING(x): 1 where the key is rolled up. `args` is empty; `keys` says which.
    Grouping,
    GroupingId,
    /// GROUP_ID().
    GroupId,
    // With arguments, aggregates over a hypothetical row with these values in `order`; otherwise window functions.
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    // Window functions only.
    RowNumber,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    RatioToReport,
}

impl AggKind {
    /// Whether the function has a dependent and an independent variable.
    #[must_use]
    pub fn is_of_pairs(self) -> bool {
        use AggKind::*;
        matches!(
            self,
            Corr | CovarPop
                | CovarSamp
                | RegrSlope
                | RegrIntercept
                | RegrCount
                | RegrR2
                | RegrAvgx
                | RegrAvgy
                | RegrSxx
                | RegrSyy
                | RegrSxy
        )
    }
}

#[derive(Clone, Debug, PartialEq, Image)]
pub struct Agg {
    pub kind: AggKind,
    pub distinct: bool,
    pub args: Vec<Expr>,
    /// LISTAGG's WITHIN GROUP order, or KEEP's order.
    pub order: Vec<SortKey>,
    /// `KEEP (DENSE_RANK FIRST | LAST ORDER BY …)`: Some(true) is LAST.
    pub keep_last: Option<bool>,
    /// GROUPING and GROUPING_ID: positions of the keys.
    pub keys: Vec<usize>,
    pub ignore_nulls: bool,
    /// NTH_VALUE … FROM LAST; for PERCENTILE_CONT and PERCENTILE_DISC: descending order.
    pub from_last: bool,
    /// LISTAGG … ON OVERFLOW TRUNCATE: the indicator, and whether the number of values left out follows it.
    pub truncate: Option<(String, bool)>,
    pub out: Reg,
    pub ty: DataType,
}

/// One bound of a window frame.
#[derive(Clone, Debug, Image)]
pub enum Bound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

#[derive(Clone, Debug, Image)]
pub struct Frame {
    /// ROWS; otherwise RANGE.
    pub rows: bool,
    pub start: Bound,
    pub end: Bound,
}

#[derive(Clone, Debug, Image)]
pub struct WindowFunc {
    pub agg: Agg,
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub frame: Option<Frame>,
}

/// Rows are numbered while `number op limit` holds; the operator is `<`, `<=` or `=`.
pub type StopKey = (CmpOp, Expr);

/// Stands for a number of rows that has not been estimated.
pub const UNKNOWN_ROWS: f64 = -1.0;

/// A row source. `rows` is the planner's estimate for one start: see [`Source::rows`].
#[derive(Clone, Debug, Image)]
pub enum Source {
    /// One row without columns: FROM dual.
    Dual,
    /// No row: a condition that is always false.
    Empty,
    Scan(Box<Scan>),
    Fixed {
        name: String,
        alias: String,
        /// The host's handle of the table.
        handle: dictionary::FixedId,
        columns: ColumnMap,
        filter: Vec<Expr>,
        /// Rows of the table according to its statistics.
        scanned: f64,
        rows: f64,
    },
    Filter {
        input: Box<Source>,
        conds: Vec<Expr>,
        rows: f64,
    },
    /// Conditions that do not depend on the row: checked once, before the input is opened.
    Startup {
        input: Box<Source>,
        conds: Vec<Expr>,
        rows: f64,
    },
    /// Evaluates expressions into registers; the boundary of an inline view.
    Project {
        input: Box<Source>,
        exprs: Vec<(Expr, Reg)>,
        view: Option<String>,
        rows: f64,
    },
    /// The right side is started again for each left row; it keeps its buffers unless it is `lateral`. It returns
    /// matching rows only: the join condition is part of it. For NOT IN (`AntiNullAware`) it also returns rows that may
    /// match because of NULL. There is no full join by nested loops.
    NestedLoops {
        left: Box<Source>,
        right: Box<Source>,
        kind: JoinKind,
        right_regs: Vec<Reg>,
        lateral: bool,
        rows: f64,
    },
    /// One side is built into a hash table by the keys; the rows of the other side look up their matches. Rows come in
    /// no order. The built side depends on no row of an enclosing loop; the other side may.
    HashJoin {
        left: Box<Source>,
        right: Box<Source>,
        kind: JoinKind,
        /// The side to build: the smaller one.
        build: Side,
        /// Without keys, every row is compared with every other.
        keys: Vec<JoinKey>,
        /// The remaining conditions, checked on both rows.
        residual: Vec<Expr>,
        left_regs: Vec<Reg>,
        right_regs: Vec<Reg>,
        filters: Vec<BuiltFilter>,
        rows: f64,
    },
    /// Merges two sorted inputs, for `Inner`, `Left`, `Semi` and `Anti`. Each side is sorted by the keys, ascending
    /// with NULLs last; no key is padded. Among right rows with equal keys, the right expression of each range ascends.
    /// If left rows with equal keys are sorted by the left expression of a range, the merge is faster. Rows come in the
    /// order of the left side.
    MergeJoin {
        left: Box<Source>,
        right: Box<Source>,
        kind: JoinKind,
        /// In none of them NULL matches.
        keys: Vec<JoinKey>,
        ranges: Vec<MergeRange>,
        residual: Vec<Expr>,
        left_regs: Vec<Reg>,
        right_regs: Vec<Reg>,
        rows: f64,
    },
    /// JOIN FILTER USE: drops rows that cannot match in a hash join above, by the Bloom filter of its keys. It lies
    /// below the side that is not built, at any depth where rows without a match may be dropped. Until the filter is
    /// complete, all rows pass.
    JoinFilter {
        input: Box<Source>,
        id: usize,
        /// In the order of the filter's keys and with their padding.
        keys: Vec<Key>,
        rows: f64,
    },
    /// PX COORDINATOR: the input runs in several processes, each with other rows of the scan with `granules`; rows come
    /// in no order. Without servers the input runs in this process.
    Parallel {
        input: Box<Source>,
        /// Number of the coordinator in the plan.
        id: usize,
        degree: u32,
        /// The registers of a row.
        regs: Vec<Reg>,
        rows: f64,
    },
    /// Runs its input once an execution and replays the rows.
    Buffer {
        input: Box<Source>,
        regs: Vec<Reg>,
        rows: f64,
    },
    /// A WITH query that runs once an execution and has several readers.
    Cte {
        id: usize,
        name: String,
        columns: ColumnMap,
        rows: f64,
    },
    /// Numbers rows in `reg` from 1; rows that fail `conds` take no number.
    Count {
        input: Box<Source>,
        reg: Option<Reg>,
        stop: Option<StopKey>,
        conds: Vec<Expr>,
        rows: f64,
    },
    Sort {
        input: Box<Source>,
        keys: Vec<SortKey>,
        regs: Vec<Reg>,
        top: Option<StopKey>,
        rows: f64,
    },
    Distinct {
        input: Box<Source>,
        regs: Vec<Reg>,
        rows: f64,
    },
    Group {
        input: Box<Source>,
        keys: Vec<(Expr, Reg)>,
        /// Grouping sets as positions in `keys`; a plain GROUP BY has one with all.
        sets: Vec<Vec<usize>>,
        aggs: Vec<Agg>,
        /// No GROUP BY: one row even for empty input.
        scalar: bool,
        rows: f64,
    },
    Window {
        input: Box<Source>,
        funcs: Vec<WindowFunc>,
        regs: Vec<Reg>,
        rows: f64,
    },
    Set {
        kind: SetKind,
        inputs: Vec<(Source, Vec<Expr>)>,
        out: Vec<Reg>,
        recursion: Option<Box<Recursion>>,
        rows: f64,
    },
    ConnectBy(Box<ConnectBy>),
    Limit {
        input: Box<Source>,
        offset: Option<Expr>,
        count: Option<Expr>,
        percent: bool,
        ties: Vec<SortKey>,
        rows: f64,
    },
    /// Locks each row before it is returned.
    ForUpdate {
        input: Box<Source>,
        tables: Vec<LockTarget>,
        wait: LockWait,
        rows: f64,
    },
    /// TABLE(collection) and JSON_TABLE: the elements of a value.
    Elements {
        value: Expr,
        shape: ElementShape,
        columns: ColumnMap,
        rows: f64,
    },
}

/// The meaning of the columns of [`Source::Elements`].
#[derive(Clone, Debug, PartialEq, Image)]
pub enum ElementShape {
    /// The element is the only column.
    Values,
    /// The attributes of the element, an object, are the columns.
    Objects,
    /// The value is a document, and the columns are those of JSON_TABLE.
    Json(Box<json::Table>),
    /// The value has the row expression of XMLTABLE and the values of PASSING.
    Xml(Box<XmlRows>),
}

/// The definition of XMLTABLE and of its values.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct XmlRows {
    pub table: xml::Table,
    /// Whether the first value is the context item.
    pub context: bool,
    /// For each value, whether it is XML.
    pub xml: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum LockWait {
    Forever,
    NoWait,
    Seconds(u32),
    SkipLocked,
}

#[derive(Clone, Debug, Image)]
pub struct LockTarget {
    pub table: Rc<TableDef>,
    pub rowid: Reg,
}

/// CONNECT BY. The old algorithm finds the children of each returned row by running `child` with the row in the PRIOR
/// registers. The new one looks up the children of each distinct parent once, through `memory`.
#[derive(Clone, Debug, Image)]
pub struct ConnectBy {
    pub start: Source,
    pub child: Source,
    /// The columns of a row, whether `start` or `child` found it.
    pub row: Vec<Reg>,
    /// Pairs of a column and the register of its copy: the parent's columns during the search for children and in a
    /// returned row.
    pub prior: Vec<(Reg, Reg)>,
    pub level: Reg,
    /// ROWNUM within CONNECT BY.
    pub rownum: Option<Reg>,
    pub is_leaf: Option<Reg>,
    pub is_cycle: Option<Reg>,
    pub nocycle: bool,
    /// CONNECT_BY_ROOT expressions.
    pub roots: Vec<(Expr, Reg)>,
    /// SYS_CONNECT_BY_PATH(expr, separator).
    pub paths: Vec<(Expr, Expr, Reg)>,
    /// ORDER SIBLINGS BY.
    pub siblings: Vec<SortKey>,
    /// No PRIOR: rows repeat without a check for loops, as in the row generator over DUAL.
    pub generator: bool,
    /// Columns that detect a loop: a row that equals an ancestor in all of them. `None` if no loop can be detected,
    /// because there is no PRIOR, or because its operand differs each time.
    pub cycle: Option<Vec<Reg>>,
    /// Whether row sources above read PRIOR columns.
    pub prior_wanted: bool,
    /// Whether the search for children reads LEVEL or ROWNUM.
    pub level_decides: bool,
    /// State of the new algorithm; `None` for the row generator over DUAL.
    pub memory: Option<ConnectMemory>,
    pub rows: f64,
}

/// How the new algorithm of CONNECT BY finds children.
#[derive(Clone, Debug, Image)]
pub struct ConnectMemory {
    /// Conditions without columns of the child, checked once for each parent.
    pub gate: Vec<Expr>,
    pub children: ConnectChildren,
    /// Whether equal PRIOR columns give equal children, so that children are looked up once for each class of parents.
    pub keep: bool,
    /// The columns that conditions read with PRIOR: parents equal in them form a class.
    pub class: Vec<Reg>,
}

#[derive(Clone, Debug, Image)]
pub enum ConnectChildren {
    /// CONNECT BY WITH FILTERING: a row source over the PRIOR registers that uses an index.
    Probe(Source),
    /// CONNECT BY NO FILTERING: all rows are read once and looked up by equal keys of the row and of the parent.
    Rows { base: Source, row_keys: Vec<Expr>, prior_keys: Vec<Expr>, conds: Vec<Expr>, all_roots: bool },
}

/// A subquery of the plan.
#[derive(Clone, Debug, Image)]
pub struct SubPlan {
    pub source: Source,
    pub out: Vec<Expr>,
    /// Registers of outer rows that it reads. If empty, it runs once an execution.
    pub outer: Vec<Reg>,
    /// Whether equal outer values give equal results: no sequence, clock or fixed table is read.
    pub steady: bool,
    /// If set, its value is the collection of its rows.
    pub multiset: Option<Multiset>,
}

/// The collection that CAST(MULTISET(…) AS type) makes.
#[derive(Clone, Copy, Debug, Image)]
pub struct Multiset {
    pub ty: DataType,
    pub element: DataType,
    /// The most elements of a varray.
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Image)]
pub struct QueryPlan {
    pub source: Source,
    pub out: Vec<Expr>,
    pub columns: Vec<Column>,
}
