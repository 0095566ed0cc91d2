//! The plan: a tree of row sources over one register file.
//!
//! Every value in a statement (a column of a table, the result of an aggregate, ROWNUM) has a fixed register of the
//! cursor's register file (P1). A row source's `next` leaves the columns of its row in its registers; expressions read
//! registers. A join copies nothing, a correlated subquery reads the outer row's registers directly, and a row source
//! that buffers rows (sort, hash build) saves and restores exactly the registers that its input produces. Rejected:
//! tuples passed by value between row sources. They cost an allocation for each row and make correlation a special
//! case.

use crate::function::Func;
use dictionary::{IndexDef, TableDef};
use std::rc::Rc;
use types::image::Image;
use types::{DataType, Value};

/// A register of the cursor's register file.
pub type Reg = u32;
/// A subquery of the plan, an index into [`Plan::subs`].
pub type SubId = usize;

/// An output column of a query.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Column {
    pub name: String,
    pub ty: DataType,
    pub nullable: bool,
    /// The columns of a cursor.
    pub nested: Vec<Column>,
}

/// The rule of a comparison. Chosen at compile time; conversions are already inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Compare {
    /// Both sides have one type and compare in the order of its values. Text is compared without padding.
    Plain,
    /// Both sides are CHAR or literals: trailing blanks do not count.
    Padded,
    /// The type of a side is known only at run time (a bind of unknown type).
    Dynamic,
}

pub use functions::ops::{Arithmetic as ArithOp, Comparison as CmpOp};

/// Values that come from the session or the clock, fixed for one execution of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Special {
    Sysdate,
    Systimestamp,
    CurrentDate,
    CurrentTimestamp,
    LocalTimestamp,
    User,
    Uid,
    /// UID of the user whose privileges are in force.
    CurrentUid,
    SysGuid,
}

/// A resolved and typed expression. Conditions are expressions of type BOOLEAN with three values.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Expr {
    pub node: Node,
    pub ty: DataType,
}

#[derive(Clone, Debug, PartialEq, Image)]
pub enum Node {
    Const(Value),
    Reg(Reg),
    Bind(usize),
    Special(Special),
    Neg(Box<Expr>),
    Arith(ArithOp, Box<Expr>, Box<Expr>),
    Concat(Box<Expr>, Box<Expr>),
    /// A scalar function of the `functions` crate.
    Func(Func, Vec<Expr>),
    /// An implicit conversion to the expression's type.
    Convert(Box<Expr>),
    /// CAST: as `Convert`, and lengths and precision are enforced.
    Cast(Box<Expr>),
    /// The first expression, or the second if the first fails to convert.
    OnError(Box<Expr>, Box<Expr>),
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// Evaluates the first expression once, then the second, in which [`Node::Operand`] is the value of the first. For
    /// values that may differ between evaluations.
    Once(Box<Expr>, Box<Expr>),
    /// The value of the innermost [`Node::Once`] around it.
    Operand,
    /// The first operand that is not NULL.
    Coalesce(Vec<Expr>),
    /// SYS_CONTEXT(namespace, parameter).
    SysContext(Box<Expr>, Box<Expr>),
    Cmp(CmpOp, Compare, Box<Expr>, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>, bool),
    Like {
        value: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    InList {
        value: Box<Expr>,
        list: Vec<Expr>,
        compare: Compare,
        negated: bool,
    },
    /// A one-row, one-column subquery: more rows are ORA-01427.
    Scalar(SubId),
    Exists(SubId),
    /// `(values) [NOT] IN (subquery)`; the subquery's outputs have the values' types. `single`: the text has `=` or
    /// `<>`; more than one row is ORA-01427, and no row makes the result UNKNOWN.
    InSub {
        values: Vec<Expr>,
        sub: SubId,
        compare: Vec<Compare>,
        negated: bool,
        single: bool,
    },
    /// `value op ANY | ALL (subquery)`.
    Quantified {
        op: CmpOp,
        compare: Compare,
        all: bool,
        value: Box<Expr>,
        sub: SubId,
    },
    Nextval(Rc<SequenceRef>),
    Currval(Rc<SequenceRef>),
    /// A stored or packaged function, called through the host.
    Call(Rc<HostFunction>, Vec<Expr>),
}

/// A reference to a sequence.
#[derive(Clone, Debug, Image)]
pub struct SequenceRef {
    pub def: Rc<dictionary::SequenceDef>,
    /// Number of the sequence in the statement: NEXTVAL advances once a row however often it is written.
    pub ordinal: usize,
}

impl PartialEq for SequenceRef {
    fn eq(&self, other: &SequenceRef) -> bool {
        self.ordinal == other.ordinal
    }
}

/// A function that is not one of SQL's, as resolved by the host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFunction {
    pub owner: String,
    pub package: Option<String>,
    pub name: String,
    /// The host's handle of the function.
    pub handle: u64,
    pub arg_types: Vec<DataType>,
    /// Parameter names, for calls by name; in the order of `arg_types`.
    pub arg_names: Vec<String>,
    /// Whether an argument has a default, in the order of `arg_types`.
    pub has_default: Vec<bool>,
    /// Positions of arguments that a call with named arguments omits before a given one. The call has NULL there, and
    /// the function uses its default.
    pub omitted: Vec<usize>,
    pub ty: DataType,
    pub deterministic: bool,
    /// Objects a cached result depends on.
    pub dependencies: Vec<types::ObjectId>,
    /// Whether it runs with invoker's rights.
    pub invokers: bool,
    /// The calling user and its name, if that is not the user who runs the statement.
    pub caller: Option<(dictionary::UserId, std::rc::Rc<str>)>,
    /// The columns of [`NESTED_CURSOR`].
    pub nested: Vec<Column>,
}

/// The handle of CURSOR(subquery) for the host. The function's name is the text of the subquery with `:B1`, `:B2` … for
/// outer values, its arguments are these values, and its result is the number of an open cursor.
pub const NESTED_CURSOR: u64 = u64::MAX;

/// The handle of a constructor of a collection type: the arguments are the elements. The executor makes the value.
pub const CONSTRUCTOR: u64 = u64::MAX - 1;

/// The columns that a table delivers, and their registers.
pub type ColumnMap = Vec<(u16, Reg)>;

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
}

/// A value compared with a key part: of an index, a cluster or a join filter.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Key {
    pub value: Expr,
    /// The column is CHAR, and trailing blanks of the value are ignored. Exact only for a comparison with
    /// [`Compare::Padded`]: a VARCHAR2 value is compared with a CHAR column without padding.
    pub padded: bool,
}

impl From<Expr> for Key {
    fn from(value: Expr) -> Key {
        Key { value, padded: false }
    }
}

/// The condition on a leading column of an index scan.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum KeyPart {
    Is(Key),
    /// IN: the values in index order, each once and without NULL.
    In(Vec<Key>),
}

impl KeyPart {
    pub fn keys(&self) -> &[Key] {
        match self {
            KeyPart::Is(key) => std::slice::from_ref(key),
            KeyPart::In(keys) => keys,
        }
    }

    pub fn keys_mut(&mut self) -> &mut [Key] {
        match self {
            KeyPart::Is(key) => std::slice::from_mut(key),
            KeyPart::In(keys) => keys,
        }
    }
}

impl From<Expr> for KeyPart {
    fn from(value: Expr) -> KeyPart {
        KeyPart::Is(value.into())
    }
}

/// How the rows of a table are found.
#[derive(Clone, Debug, Image)]
pub enum Access {
    Full,
    /// By the value of a ROWID expression.
    Rowid(Expr),
    /// Equality on all columns of a unique index; the table is visited unless `index_only`.
    IndexUnique {
        index: Rc<IndexDef>,
        keys: Vec<Key>,
        index_only: bool,
        /// As in `IndexRange`.
        recheck: Vec<Expr>,
    },
    IndexRange(Box<IndexRange>),
    /// INDEX FAST FULL SCAN: all blocks of the index, many at a time, in no order. Every row of the table must have an
    /// entry, and the index must contain every column that is read.
    IndexFast {
        index: Rc<IndexDef>,
    },
    /// Equality on the whole key of a hash cluster.
    ClusterHash {
        keys: Vec<Key>,
    },
}

/// Index entries between two bounds, or in several such ranges one after the other. Rows come in index order, also with
/// IN lists and skipped columns.
#[derive(Clone, Debug, Image)]
pub struct IndexRange {
    pub index: Rc<IndexDef>,
    /// INDEX SKIP SCAN: number of leading columns without a condition; every combination of their values in the index
    /// is searched.
    pub skip: usize,
    /// The values that the columns after the skipped ones are equal to.
    pub prefix: Vec<KeyPart>,
    /// Bounds of the column after the prefix; whether each is inclusive.
    pub low: Option<(Key, bool)>,
    pub high: Option<(Key, bool)>,
    /// `column LIKE pattern` on the column after the prefix, which ascends and is not a CHAR compared with padding: the
    /// range of texts that share the pattern's prefix before its first wildcard. The condition stays in the filter.
    /// There are no other bounds then.
    pub like: Option<LikeRange>,
    pub descending: bool,
    pub index_only: bool,
    /// Whether entries with NULL in the first column after the prefix are skipped.
    pub no_nulls: bool,
    /// Only the first row is read: MIN or MAX.
    pub first_only: bool,
    /// The key parts as expressions over the row, if one of them is a virtual column; otherwise empty, because the
    /// row's bytes contain them.
    pub recheck: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq, Image)]
pub struct LikeRange {
    pub pattern: Expr,
    pub escape: Option<Expr>,
}

impl IndexRange {
    /// All entries of an index; the table is visited.
    pub fn whole(index: Rc<IndexDef>) -> IndexRange {
        IndexRange {
            index,
            skip: 0,
            prefix: Vec::new(),
            low: None,
            high: None,
            like: None,
            descending: false,
            index_only: false,
            no_nulls: false,
            first_only: false,
            recheck: Vec::new(),
        }
    }

    /// Whether the scan has no bounds.
    pub fn is_whole(&self) -> bool {
        self.prefix.is_empty() && self.low.is_none() && self.high.is_none() && self.like.is_none()
    }

    /// Whether there are several ranges.
    pub fn is_iterated(&self) -> bool {
        self.prefix.iter().any(|part| matches!(part, KeyPart::In(_)))
    }
}

/// A pseudo-column of a table's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Pseudo {
    /// ORA_ROWSCN: an SCN at or above that of the row's last committed change.
    RowScn,
    /// Pseudo-columns of VERSIONS BETWEEN; this one is the SCN at which the version was committed.
    StartScn,
    StartTime,
    EndScn,
    EndTime,
    Xid,
    Operation,
}

impl Pseudo {
    pub fn named(name: &str) -> Option<Pseudo> {
        Some(match name {
            "ORA_ROWSCN" => Pseudo::RowScn,
            "VERSIONS_STARTSCN" => Pseudo::StartScn,
            "VERSIONS_STARTTIME" => Pseudo::StartTime,
            "VERSIONS_ENDSCN" => Pseudo::EndScn,
            "VERSIONS_ENDTIME" => Pseudo::EndTime,
            "VERSIONS_XID" => Pseudo::Xid,
            "VERSIONS_OPERATION" => Pseudo::Operation,
            _ => return None,
        })
    }

    pub fn data_type(self) -> DataType {
        match self {
            Pseudo::RowScn | Pseudo::StartScn | Pseudo::EndScn => DataType::NUMBER,
            Pseudo::StartTime | Pseudo::EndTime => DataType::TIMESTAMP,
            Pseudo::Xid => DataType::Raw { len: 8 },
            Pseudo::Operation => DataType::Varchar2 { len: 1, unit: types::LenUnit::Byte },
        }
    }
}

/// VERSIONS BETWEEN: positions in the plan's moments; `None` is MINVALUE or MAXVALUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub struct Versions {
    pub low: Option<usize>,
    pub high: Option<usize>,
}

/// A cost in single-block reads ([`crate::physical::cost`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Cost {
    pub total: f64,
    /// The part for reading blocks; the rest is processor time.
    pub io: f64,
}

impl Cost {
    pub fn new(total: f64, io: f64) -> Cost {
        Cost { total, io }
    }

    /// A cost of processor time.
    pub fn of_cpu(cpu: f64) -> Cost {
        Cost { total: cpu, io: 0.0 }
    }

    /// The cost of `n` repetitions.
    #[must_use]
    pub fn times(self, n: f64) -> Cost {
        Cost { total: self.total * n, io: self.io * n }
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { total: self.total + other.total, io: self.io + other.io }
    }
}

#[derive(Clone, Debug, Image)]
pub struct Scan {
    pub table: Rc<TableDef>,
    /// The alias in the statement.
    pub alias: String,
    pub access: Access,
    pub columns: ColumnMap,
    pub rowid: Option<Reg>,
    pub filter: Vec<Expr>,
    /// Estimated rows, for display and for the join order.
    pub rows: f64,
    /// The cost of reading them.
    pub cost: Cost,
    /// Estimated index entries, and the part of the cost for reading them.
    pub entries: (f64, Cost),
    /// AS OF: position in the plan's moments.
    pub as_of: Option<usize>,
    pub versions: Option<Versions>,
    /// Pseudo-columns that are read, and their registers.
    pub pseudos: Vec<(Pseudo, Reg)>,
    /// A hint has chosen the access path; no other one is considered.
    pub hinted: bool,
    /// The present query block, and the block whose text contains the table: positions in [`Plan::query_blocks`] from 1
    /// on; 0: none (P20).
    pub block: u32,
    pub origin: u32,
    /// The number of processes that read the table by a full scan, and the reason ([`crate::Because`]); 1: no
    /// parallelism.
    pub degree: u32,
    pub degree_because: u8,
    /// PX BLOCK ITERATOR: each process of a [`Source::Parallel`] reads other blocks.
    pub granules: bool,
}

impl Scan {
    /// Whether the estimate of its rows is weak: it has several conditions, or one that is not a comparison of a column
    /// with a value.
    pub fn is_guess(&self) -> bool {
        let mut conditions = self.filter.len();
        self.access.for_each_expr(&mut |_| conditions += 1);
        let is_value = |e: &Expr| matches!(e.node, Node::Const(_) | Node::Bind(_));
        let is_column = |e: &Expr| matches!(e.node, Node::Reg(_));
        let is_plain = |e: &Expr| match &e.node {
            Node::Cmp(_, _, a, b) => (is_column(a) && is_value(b)) || (is_column(b) && is_value(a)),
            Node::IsNull(a, _) => is_column(a),
            Node::InList { value, list, .. } => is_column(value) && list.iter().all(is_value),
            _ => false,
        };
        conditions > 1 || self.filter.iter().any(|e| !is_plain(e))
    }

    /// Whether an index leads to the table. The plan then has an operation for its entries directly below.
    pub fn has_entries_below(&self) -> bool {
        let itself = |index: &IndexDef| index.kind == dictionary::IndexKind::IotTop;
        match &self.access {
            Access::IndexUnique { index, index_only, .. } => !itself(index) && !index_only,
            Access::IndexRange(range) => !itself(&range.index) && !range.index_only,
            Access::Full | Access::Rowid(_) | Access::IndexFast { .. } | Access::ClusterHash { .. } => false,
        }
    }
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
    /// GROUPING(x): 1 where the key is rolled up. `args` is empty; `keys` says which.
    Grouping,
    GroupingId,
    /// GROUP_ID().
    GroupId,
    // Window functions only.
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    RatioToReport,
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
    /// TABLE(collection): elements of a host value. One column.
    Elements {
        value: Expr,
        /// Elements are objects whose attributes are the columns; otherwise the element is the only column.
        objects: bool,
        columns: ColumnMap,
        rows: f64,
    },
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

/// Calls `$f` on each direct operand of a node. `$each` is `iter` or `iter_mut`, depending on how the node is borrowed.
macro_rules! operands {
    ($node:expr, $f:ident, $each:ident) => {
        match $node {
            Node::Const(_) | Node::Reg(_) | Node::Bind(_) | Node::Special(_) | Node::Operand => {}
            Node::Scalar(_) | Node::Exists(_) | Node::Nextval(_) | Node::Currval(_) => {}
            Node::Neg(a) | Node::Convert(a) | Node::Cast(a) | Node::Not(a) | Node::IsNull(a, _) => $f(a),
            Node::Arith(_, a, b)
            | Node::Concat(a, b)
            | Node::Cmp(_, _, a, b)
            | Node::SysContext(a, b)
            | Node::OnError(a, b)
            | Node::Once(a, b) => {
                $f(a);
                $f(b);
            }
            Node::Func(_, args) | Node::Call(_, args) | Node::And(args) | Node::Or(args) | Node::Coalesce(args) => {
                args.$each().for_each($f)
            }
            Node::Case(arms, otherwise) => {
                for (when, then) in arms {
                    $f(when);
                    $f(then);
                }
                if let Some(e) = otherwise {
                    $f(e);
                }
            }
            Node::Like { value, pattern, escape, .. } => {
                $f(value);
                $f(pattern);
                if let Some(e) = escape {
                    $f(e);
                }
            }
            Node::InList { value, list, .. } => {
                $f(value);
                list.$each().for_each($f);
            }
            Node::InSub { values, .. } => values.$each().for_each($f),
            Node::Quantified { value, .. } => $f(value),
        }
    };
}

impl Expr {
    pub fn new(node: Node, ty: DataType) -> Expr {
        Expr { node, ty }
    }

    /// Calls `f` on each direct operand.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        operands!(&self.node, f, iter)
    }

    /// As [`Expr::for_each_child`], with mutable operands.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        operands!(&mut self.node, f, iter_mut)
    }

    /// Calls `f` on this expression and all operands below it, without entering subqueries.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.for_each_child(&mut |e| e.walk(f));
    }

    /// Calls `f` with each subquery of the expression, without entering these.
    pub fn each_subquery(&self, f: &mut dyn FnMut(SubId)) {
        self.walk(&mut |e| match &e.node {
            Node::Scalar(sub) | Node::Exists(sub) => f(*sub),
            Node::InSub { sub, .. } | Node::Quantified { sub, .. } => f(*sub),
            _ => {}
        });
    }

    /// Whether the expression contains a subquery.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.each_subquery(&mut |_| found = true);
        found
    }

    /// Whether two evaluations may give different values.
    pub fn varies(&self) -> bool {
        let mut varies = false;
        self.walk(&mut |e| match &e.node {
            Node::Func(f, _) => varies |= !f.0.deterministic,
            Node::Call(f, _) => varies |= !f.deterministic,
            Node::Special(Special::SysGuid) => varies = true,
            _ => {}
        });
        varies
    }

    /// Builds an expression that reads a value several times. A value that varies is evaluated only once.
    pub fn once(value: Expr, of: impl FnOnce(&Expr) -> types::Result<Expr>) -> types::Result<Expr> {
        if value.varies() { Expr::held(value, of) } else { of(&value) }
    }

    /// Builds an expression whose value is evaluated before its other parts. A value that cannot fail stays in its
    /// place.
    pub fn held(value: Expr, of: impl FnOnce(&Expr) -> types::Result<Expr>) -> types::Result<Expr> {
        if matches!(value.node, Node::Const(_) | Node::Reg(_) | Node::Bind(_)) {
            return of(&value);
        }
        let body = of(&Expr::new(Node::Operand, value.ty))?;
        let ty = body.ty;
        Ok(Expr::new(Node::Once(Box::new(value), Box::new(body)), ty))
    }

    pub fn is_const(&self) -> bool {
        matches!(self.node, Node::Const(_))
    }
}

/// The kind of comparison of a column with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Compared {
    By(CmpOp),
    Like,
}

impl Compared {
    /// A sort key.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Compared::By(op) => op as u8,
            Compared::Like => u8::MAX,
        }
    }
}
