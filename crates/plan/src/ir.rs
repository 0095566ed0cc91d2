//! The plan: a tree of row sources over one register file.
//!
//! Every value that flows through a statement (a column of a table, the result of an aggregate, ROWNUM) has a fixed
//! register of the cursor's register file. A row source's `next` leaves the columns of its row in its registers;
//! expressions read registers. A join copies nothing, a correlated subquery reads the outer row's registers directly,
//! and what buffers rows (sort, hash build) saves and restores exactly the registers that its input produces. Tuples
//! passed by value between row sources were rejected: they cost an allocation a row and make correlation a special
//! case.

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
    /// Of a cursor: its own columns.
    pub nested: Vec<Column>,
}

/// What a value is compared as. Decided when the statement is compiled; conversions are already inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Compare {
    /// Both sides have one type, compared as its values order. Text is compared unpadded.
    Plain,
    /// Both sides are CHAR or literals: trailing blanks do not count.
    Padded,
    /// A side's type is known only at run time (a bind of unknown type).
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
    /// UID of whose privileges count.
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
    Func(crate::function::Func, Vec<Expr>),
    /// An implicit conversion to the expression's type.
    Convert(Box<Expr>),
    /// CAST: as `Convert`, and lengths and precision are enforced.
    Cast(Box<Expr>),
    /// The first, or the second where the first cannot be converted.
    OnError(Box<Expr>, Box<Expr>),
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// The second, in which [`Node::Operand`] is the value of the first: what differs from one evaluation to the next
    /// is evaluated once.
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
    /// A one-row, one-column subquery: ORA-01427 when it gives more rows.
    Scalar(SubId),
    Exists(SubId),
    /// `(values) [NOT] IN (subquery)`; the subquery's outputs have the values' types. `single`: it is `=` or `<>`, and
    /// the subquery gives one row at most (ORA-01427); without a row the answer is unknown.
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

/// A sequence as a statement names it.
#[derive(Clone, Debug, Image)]
pub struct SequenceRef {
    pub def: Rc<dictionary::SequenceDef>,
    /// Which of the statement's sequences it is: NEXTVAL advances once a row however often it is written.
    pub ordinal: usize,
}

impl PartialEq for SequenceRef {
    fn eq(&self, other: &SequenceRef) -> bool {
        self.ordinal == other.ordinal
    }
}

/// A function outside SQL's own: what the host resolved its name to.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFunction {
    pub owner: String,
    pub package: Option<String>,
    pub name: String,
    /// The host's own key for it.
    pub handle: u64,
    pub arg_types: Vec<DataType>,
    /// Parameter names, for calls by name; in the order of `arg_types`.
    pub arg_names: Vec<String>,
    /// Whether an argument has a default, in the order of `arg_types`.
    pub has_default: Vec<bool>,
    /// Places of arguments that a call by name leaves to their defaults although one behind them is given. The call has
    /// NULL there.
    pub omitted: Vec<usize>,
    pub ty: DataType,
    pub deterministic: bool,
    /// Objects a cached result depends on.
    pub dependencies: Vec<types::ObjectId>,
    /// It has its caller's rights.
    pub invokers: bool,
    /// Who calls it, with the name, when that is not who runs the statement.
    pub caller: Option<(dictionary::UserId, std::rc::Rc<str>)>,
    /// The columns of [`NESTED_CURSOR`].
    pub nested: Vec<Column>,
}

/// The handle of what CURSOR(subquery) is to the host: its name is the subquery's text with `:B1`, `:B2` … for what it
/// takes from outside, its arguments are their values, and it gives the number of a cursor that it has opened.
pub const NESTED_CURSOR: u64 = u64::MAX;

/// The handle of a constructor of a type of collections: its arguments are the elements. The executor makes the value.
pub const CONSTRUCTOR: u64 = u64::MAX - 1;

/// How many columns a table gives up to a row source: which column goes to which register.
pub type ColumnMap = Vec<(u16, Reg)>;

#[derive(Clone, Debug, PartialEq, Image)]
pub struct SortKey {
    pub expr: Expr,
    pub desc: bool,
    pub nulls_first: bool,
}

/// How two row sources are joined. The names say what becomes of the left side, whichever side a hash table is built of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum JoinKind {
    Inner,
    /// The left side is kept when nothing on the right matches.
    Left,
    Full,
    /// Left rows that have a match, each once: EXISTS and IN.
    Semi,
    /// Left rows without a match: NOT EXISTS.
    Anti,
    /// NOT IN: left rows for which no right row matches or may match, as far as NULLs leave that open.
    AntiNullAware,
    /// A scalar subquery: every left row once, with its only match or NULLs; a second match is ORA-01427.
    Single,
}

impl JoinKind {
    /// Whether the right side's columns are part of the result.
    pub fn keeps_right(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware)
    }

    /// Whether every left row is in the result, matched or not.
    pub fn keeps_all_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Single)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Side {
    Left,
    Right,
}

/// What NULL means in an equality of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum KeyNulls {
    /// It matches nothing: `=`.
    Never,
    /// It equals itself, as in sets and in DECODE.
    Equal,
    /// It may match anything: a column of NOT IN, in [`JoinKind::AntiNullAware`] only.
    Unknown,
}

/// An equality between the two sides of a join.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct JoinKey {
    pub left: Expr,
    pub right: Expr,
    /// Trailing blanks do not count.
    pub padded: bool,
    pub nulls: KeyNulls,
}

impl JoinKey {
    /// `left = right`, compared as values of one type.
    pub fn equal(left: Expr, right: Expr) -> JoinKey {
        JoinKey { left, right, padded: false, nulls: KeyNulls::Never }
    }
}

/// A Bloom filter of a hash join: made of these of its keys when the build side has been read. Row sources below the
/// other side leave out what cannot match ([`Source::JoinFilter`]).
#[derive(Clone, Debug, PartialEq, Image)]
pub struct BuiltFilter {
    pub id: usize,
    /// Positions in the join's keys, none of which lets NULL match.
    pub keys: Vec<usize>,
}

/// A condition of a merge join besides its equalities: `left op right`, with `<`, `<=`, `>` or `>=`.
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

/// A value that a part of a key is compared with: of an index, a cluster, a join filter.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Key {
    pub value: Expr,
    /// The column is CHAR, and trailing blanks of the value do not count. Only exact where the comparison is one of
    /// [`Compare::Padded`]; a VARCHAR2 is compared with a CHAR column as it stands.
    pub padded: bool,
}

impl From<Expr> for Key {
    fn from(value: Expr) -> Key {
        Key { value, padded: false }
    }
}

/// What an index scan knows of a leading column.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum KeyPart {
    Is(Key),
    /// IN: the values one after the other, in the order of the index, each once and without NULL.
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

/// How a table's rows are reached.
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
    /// INDEX FAST FULL SCAN: the index alone, in no order, many blocks at a time. Every row of the table has an entry,
    /// and the index has every column that is read.
    IndexFast {
        index: Rc<IndexDef>,
    },
    /// Equality on the whole key of a hash cluster.
    ClusterHash {
        keys: Vec<Key>,
    },
}

/// Entries of an index between two bounds, or of several such ranges, one after the other. The rows come in the order
/// of the index, all of them, IN lists and skipped columns or not.
#[derive(Clone, Debug, Image)]
pub struct IndexRange {
    pub index: Rc<IndexDef>,
    /// INDEX SKIP SCAN: nothing is known of so many leading columns; every combination of their values in the index is
    /// looked through.
    pub skip: usize,
    /// What the columns behind those skipped are equal to.
    pub prefix: Vec<KeyPart>,
    /// Bounds of the column behind the prefix; whether they are inside.
    pub low: Option<(Key, bool)>,
    pub high: Option<(Key, bool)>,
    /// `column LIKE pattern` of the column behind the prefix, which is no CHAR with a padded comparison and ascends:
    /// texts that begin as the pattern does up to its first wildcard. The condition stays in the filter. There is no
    /// other bound then.
    pub like: Option<LikeRange>,
    pub descending: bool,
    pub index_only: bool,
    /// Entries whose first column behind the prefix is NULL are left out.
    pub no_nulls: bool,
    /// Only the first row is wanted: MIN or MAX.
    pub first_only: bool,
    /// The key's parts over the row, when one of them is a virtual column; else empty: the row's bytes have them.
    pub recheck: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq, Image)]
pub struct LikeRange {
    pub pattern: Expr,
    pub escape: Option<Expr>,
}

impl IndexRange {
    /// The whole of an index; the table is visited.
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

    /// Whether nothing bounds it.
    pub fn is_whole(&self) -> bool {
        self.prefix.is_empty() && self.low.is_none() && self.high.is_none() && self.like.is_none()
    }

    /// Whether several ranges follow one another.
    pub fn is_iterated(&self) -> bool {
        self.prefix.iter().any(|part| matches!(part, KeyPart::In(_)))
    }
}

/// A column that a table does not have: what is known of a row besides its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Pseudo {
    /// ORA_ROWSCN: an SCN at or above that of the last commit of a change.
    RowScn,
    /// When the version was committed, of VERSIONS BETWEEN; the others too.
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

/// VERSIONS BETWEEN: the numbers of the plan's moments, if not MINVALUE and MAXVALUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub struct Versions {
    pub low: Option<usize>,
    pub high: Option<usize>,
}

/// A cost in reads of a single block ([`crate::physical::cost`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Cost {
    pub total: f64,
    /// The part of it that is reading blocks; the rest is processor time.
    pub io: f64,
}

impl Cost {
    pub fn new(total: f64, io: f64) -> Cost {
        Cost { total, io }
    }

    /// Processor time alone.
    pub fn of_cpu(cpu: f64) -> Cost {
        Cost { total: cpu, io: 0.0 }
    }

    /// So many times this.
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
    /// The name it goes by in the statement.
    pub alias: String,
    pub access: Access,
    pub columns: ColumnMap,
    pub rowid: Option<Reg>,
    pub filter: Vec<Expr>,
    /// Expected rows, for the display and for the join order.
    pub rows: f64,
    /// The cost of reading them.
    pub cost: Cost,
    /// Expected entries of an index, and the part of the cost that is reading them.
    pub entries: (f64, Cost),
    /// AS OF: the number of the plan's moment.
    pub as_of: Option<usize>,
    pub versions: Option<Versions>,
    /// Pseudo-columns that are read, and their registers.
    pub pseudos: Vec<(Pseudo, Reg)>,
    /// A hint says how the rows are reached; nothing better is looked for.
    pub hinted: bool,
    /// The query block that it belongs to, and the one that its table was written in: numbers in
    /// [`Plan::query_blocks`] from 1 on, 0 for none.
    pub block: u32,
    pub origin: u32,
    /// The processes that are to read it by a full scan, and why ([`crate::Because`]); 1: one.
    pub degree: u32,
    pub degree_because: u8,
    /// PX BLOCK ITERATOR: each process of a [`Source::Parallel`] reads other blocks.
    pub granules: bool,
}

impl Scan {
    /// Whether the estimate of its rows is weak: it has several conditions, or one that is no comparison of a column
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

    /// Whether an index leads to the table: then the plan has an operation for its entries, right below.
    pub fn has_entries_below(&self) -> bool {
        let itself = |index: &IndexDef| index.kind == dictionary::IndexKind::IotTop;
        match &self.access {
            Access::IndexUnique { index, index_only, .. } => !itself(index) && !index_only,
            Access::IndexRange(range) => !itself(&range.index) && !range.index_only,
            Access::Full | Access::Rowid(_) | Access::IndexFast { .. } | Access::ClusterHash { .. } => false,
        }
    }
}

/// Aggregate functions the executor knows by itself.
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
    /// NTH_VALUE ... FROM LAST; of PERCENTILE_CONT and PERCENTILE_DISC the order is descending.
    pub from_last: bool,
    pub out: Reg,
    pub ty: DataType,
}

/// One edge of a window frame.
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
    /// ROWS, else RANGE.
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

/// The rows of a row source about which nothing has been estimated.
pub const UNKNOWN_ROWS: f64 = -1.0;

/// A row source. `rows` is what the planner expects of one start of it: see [`Source::rows`].
#[derive(Clone, Debug, Image)]
pub enum Source {
    /// One row without columns: FROM dual.
    Dual,
    /// No row: a condition that is false for ever.
    Empty,
    Scan(Box<Scan>),
    Fixed {
        name: String,
        alias: String,
        /// The host's own key for the table.
        handle: dictionary::FixedId,
        columns: ColumnMap,
        filter: Vec<Expr>,
        /// Rows that it makes, as its statistics say.
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
    /// The right side is started again for each left row; what it buffers it keeps, unless it is `lateral`. It gives
    /// only rows that match: the condition is part of it. For NOT IN (`AntiNullAware`) it gives those that may match.
    /// A full join has none: it is a hash join, with keys or without.
    NestedLoops {
        left: Box<Source>,
        right: Box<Source>,
        kind: JoinKind,
        right_regs: Vec<Reg>,
        lateral: bool,
        rows: f64,
    },
    /// A table is built of one side's rows, by a hash of their keys; the other side's rows look theirs up. Rows come in
    /// no order. What is built depends on no row of an enclosing loop; the other side may.
    HashJoin {
        left: Box<Source>,
        right: Box<Source>,
        kind: JoinKind,
        /// The side that is built into the table: the smaller one.
        build: Side,
        /// Without one, every row is compared with every other.
        keys: Vec<JoinKey>,
        /// What is left of the condition, checked with both rows in place.
        residual: Vec<Expr>,
        left_regs: Vec<Reg>,
        right_regs: Vec<Reg>,
        filters: Vec<BuiltFilter>,
        rows: f64,
    },
    /// Pairs the rows of both sides as they come, for `Inner`, `Left`, `Semi` and `Anti`. Each side is ordered by the
    /// keys, ascending and NULLs last; no key is padded. Among right rows with equal keys, the right expression of each
    /// range rises. It pays to have left rows of equal keys in the order of a range's left expression. Rows come in the
    /// order of the left side.
    MergeJoin {
        left: Box<Source>,
        right: Box<Source>,
        kind: JoinKind,
        /// None of which lets NULL match.
        keys: Vec<JoinKey>,
        ranges: Vec<MergeRange>,
        residual: Vec<Expr>,
        left_regs: Vec<Reg>,
        right_regs: Vec<Reg>,
        rows: f64,
    },
    /// JOIN FILTER USE: leaves out rows that a hash join above cannot match, by the Bloom filter of its keys. It stands
    /// below the side that is not built, at any depth, where it is right to leave rows out that do not match; it lets
    /// everything pass until the filter has been made.
    JoinFilter {
        input: Box<Source>,
        id: usize,
        /// In the order of the filter's keys, and padded as these are.
        keys: Vec<Key>,
        rows: f64,
    },
    /// PX COORDINATOR: the input runs in several processes, each with other rows of the scan that has `granules`; the
    /// rows come in no order. Where there are no processes it runs here.
    Parallel {
        input: Box<Source>,
        /// Its number in the plan.
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
    /// A WITH query, run once an execution; several readers.
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
        /// No GROUP BY: one row even from no input.
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
    /// Locks each row before it is given up.
    ForUpdate {
        input: Box<Source>,
        tables: Vec<LockTarget>,
        wait: LockWait,
        rows: f64,
    },
    /// TABLE(collection): elements of a host value. One column.
    Elements {
        value: Expr,
        /// Elements are objects, of which the columns are attributes; without, the column is the element.
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

/// CONNECT BY. The old algorithm finds the children of a row by running `child` with the row in the PRIOR registers,
/// once for every row that it gives up. The new one looks for the children of each distinct parent once, as `memory`
/// says.
#[derive(Clone, Debug, Image)]
pub struct ConnectBy {
    pub start: Source,
    pub child: Source,
    /// The columns of a row, whether `start` or `child` found it.
    pub row: Vec<Reg>,
    /// Where the parent's columns are while children are looked for, and while a row is given up: (column, its copy).
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
    /// PRIOR does not occur: rows repeat without a cycle check, as in the row generator over DUAL.
    pub generator: bool,
    /// Columns of a row that, all equal to those of an ancestor, make a loop. Absent when no loop can be told: there is
    /// no PRIOR, or it is of something that differs each time.
    pub cycle: Option<Vec<Reg>>,
    /// PRIOR is read by what lies above.
    pub prior_wanted: bool,
    /// LEVEL or ROWNUM is read where children are looked for.
    pub level_decides: bool,
    /// The new algorithm. Absent for the row generator over DUAL, which needs none.
    pub memory: Option<ConnectMemory>,
    pub rows: f64,
}

/// How the new algorithm of CONNECT BY finds children.
#[derive(Clone, Debug, Image)]
pub struct ConnectMemory {
    /// Conditions that no column of the child decides: checked for each parent that is given up.
    pub gate: Vec<Expr>,
    pub children: ConnectChildren,
    /// The other conditions give the same children for equal PRIOR columns, so these are looked for once.
    pub keep: bool,
    /// The columns whose PRIOR they read: what makes parents equal.
    pub class: Vec<Reg>,
}

#[derive(Clone, Debug, Image)]
pub enum ConnectChildren {
    /// CONNECT BY WITH FILTERING: a row source over the PRIOR registers that leads to them by an index.
    Probe(Source),
    /// CONNECT BY NO FILTERING: all rows are read once and found by equal keys, of the row and of the parent.
    Rows { base: Source, row_keys: Vec<Expr>, prior_keys: Vec<Expr>, conds: Vec<Expr>, all_roots: bool },
}

/// A subquery of the plan.
#[derive(Clone, Debug, Image)]
pub struct SubPlan {
    pub source: Source,
    pub out: Vec<Expr>,
    /// Registers of outer rows it reads. Empty: it is run once an execution.
    pub outer: Vec<Reg>,
    /// Another run with the same outer values gives the same answer: no sequence, clock or fixed table is read.
    pub steady: bool,
    /// Its value is the collection of its rows.
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
#[allow(clippy::large_enum_variant)] // One a plan, and the large variant is the usual one.
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
    /// A NOT NULL of this column.
    pub not_null: Option<u16>,
    /// What a view WITH CHECK OPTION demands; it must be true.
    pub of_view: bool,
}

/// How a constraint that may be violated for a while is known: what deferring it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub struct Watch {
    /// The constraint's number, and its table.
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

/// A parent key that a new foreign key value must meet.
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

/// A child table that may refer to a row of the table changed.
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

/// The table a DML statement changes and what must hold for its rows.
#[derive(Clone, Debug, Image)]
pub struct Target {
    pub table: Rc<TableDef>,
    /// New values of all columns, in column order: what CHECK, RETURNING and index keys read.
    pub new: Vec<Reg>,
    pub checks: Vec<Check>,
    pub foreign: Vec<ForeignKey>,
    pub children: Vec<ChildKey>,
    /// Virtual columns over the new row.
    pub virtuals: Vec<(u16, Expr)>,
    /// Virtual columns of the row as it was: their registers among the old ones.
    pub virtuals_old: Vec<(Reg, Expr)>,
}

#[derive(Clone, Debug, Image)]
pub struct InsertPlan {
    pub target: Target,
    /// Which column each source expression goes to.
    pub columns: Vec<u16>,
    pub source: InsertSource,
    /// Values of the columns not named, and of those that are DEFAULT ON NULL.
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
#[allow(clippy::large_enum_variant)] // One a plan, and the large variant is the usual one.
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
    /// The row source that the statement reads.
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

    /// As [`PlanBody::source`], to change it.
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
    /// A further INTO of the branch before it.
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
    /// WITH queries that are run once and read by `Source::Cte`.
    pub ctes: Vec<QueryPlan>,
    /// Registers used; the executor appends its own after them.
    pub regs: u32,
    /// Names of the binds in the order of their indexes: that of the text.
    pub binds: Vec<String>,
    pub sequences: Vec<Rc<SequenceRef>>,
    /// Tables, views, sequences and functions it was compiled from.
    pub dependencies: Vec<types::ObjectId>,
    /// Owner and name of the stored units whose functions it calls.
    pub units: Vec<(String, String)>,
    /// Tables and views whose change makes a cached result stale. None: the result may not be cached.
    pub cacheable: Option<Vec<types::ObjectId>>,
    pub result_cache: bool,
    /// Hint GATHER_PLAN_STATISTICS: what the operations do is counted.
    pub counts_operations: bool,
    /// SELECT FOR UPDATE.
    pub locks_rows: bool,
    /// The register that then has the rowid of the first locked table's row.
    pub lock_rowid: Option<Reg>,
    /// `RESULT_CACHE_MODE = FORCE` does not apply (hint NO_RESULT_CACHE).
    pub no_result_cache: bool,
    /// What AS OF clauses name: an SCN when it is a number, a time otherwise.
    pub moments: Vec<Expr>,
    /// Tables and views that are read through views, with their owners.
    pub below_views: Vec<(types::ObjectId, dictionary::UserId)>,
    /// Comparisons of columns with binds that the estimates depend on: another value may ask for another plan.
    pub peeks: Vec<BindPredicate>,
    /// It was planned with values of the binds.
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

/// How a plan came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Note {
    /// Tables without statistics were sampled, at that level.
    DynamicSampling(u8),
    /// An execution of the plan before has corrected the estimates.
    StatisticsFeedback,
    /// The degree of parallelism, and a [`crate::Because`].
    Degree(u32, u8),
}

/// Its text, as DBMS_XPLAN has it.
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
    pub how: crate::estimate::Compared,
    pub bind: usize,
}

impl BindPredicate {
    /// The share of the table's rows for which it holds with a value, by the table's statistics.
    pub fn share(&self, value: &Value) -> f64 {
        let Some(column) = self.table.columns.get(self.column) else { return crate::estimate::UNKNOWN };
        let of = crate::estimate::Column {
            source: 0,
            position: self.column,
            data_type: &column.data_type,
            nullable: column.nullable,
            table: self.table.statistics.as_ref(),
            statistics: column.statistics.as_ref(),
        };
        crate::estimate::share_of_value(&of, self.how, value)
    }

    /// As `v$sql_cs_selectivity` shows it: the operator and the bind's name.
    pub fn label(&self, binds: &[String]) -> String {
        let operator = match self.how {
            crate::estimate::Compared::By(op) => crate::predicate::of_comparison(op),
            crate::estimate::Compared::Like => "LIKE",
        };
        format!("{operator}{}", binds.get(self.bind).map_or("", String::as_str))
    }
}

/// Calls `$f` on each direct operand of a node; `$each` is `iter` or `iter_mut`, as the node is borrowed.
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

    /// As [`Expr::for_each_child`], to change the operands.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        operands!(&mut self.node, f, iter_mut)
    }

    /// Calls `f` on this expression and all below it, subqueries not entered.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.for_each_child(&mut |e| e.walk(f));
    }

    /// Calls `f` with each subquery in it; subqueries of these are not met.
    pub fn each_subquery(&self, f: &mut dyn FnMut(SubId)) {
        self.walk(&mut |e| match &e.node {
            Node::Scalar(sub) | Node::Exists(sub) => f(*sub),
            Node::InSub { sub, .. } | Node::Quantified { sub, .. } => f(*sub),
            _ => {}
        });
    }

    /// Whether a subquery is in it.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.each_subquery(&mut |_| found = true);
        found
    }

    /// Whether the value may differ from one evaluation to the next.
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

    /// An expression that names a value several times; a value that varies is evaluated once for all of them.
    pub fn once(value: Expr, of: impl FnOnce(&Expr) -> types::Result<Expr>) -> types::Result<Expr> {
        if value.varies() { Expr::held(value, of) } else { of(&value) }
    }

    /// An expression of a value that is evaluated before anything else of it. What cannot fail stays where it is.
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
