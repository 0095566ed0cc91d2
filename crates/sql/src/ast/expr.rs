//! Expressions and conditions of SQL. PL/SQL has its own tree in [`crate::plsql`].

use super::{Ident, ItemText, JsonClauses, JsonTest, Name, OrderItem, Pos, Query, XmlClauses};

/// An expression or a condition. SQL's grammar distinguishes them, the tree does not; [`Expr::is_condition`] tells
/// which one it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    /// The beginning of the expression; for an infix operator the position of the operator, where Oracle reports type
    /// errors.
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    /// A column, a pseudo-column (`ROWNUM`, `LEVEL`, `SYSDATE`, `USER`, `seq.NEXTVAL`) or a function without
    /// parentheses.
    Name(Name),
    /// `column (+)`.
    OuterJoined(Box<Expr>),
    Bind(Bind),
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `left op ANY|ALL (list or subquery)`.
    Quantified {
        op: BinaryOp,
        quantifier: Quantifier,
        left: Box<Expr>,
        right: InSource,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    In {
        expr: Box<Expr>,
        source: InSource,
        negated: bool,
    },
    Like {
        kind: LikeKind,
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    /// `expr IS [NOT] NULL | NAN | INFINITE | EMPTY | A SET | OF TYPE ...`.
    Is {
        expr: Box<Expr>,
        test: IsTest,
        negated: bool,
    },
    /// `expr [NOT] MEMBER OF collection`, `SUBMULTISET OF`.
    Member {
        expr: Box<Expr>,
        of: Box<Expr>,
        submultiset: bool,
        negated: bool,
    },
    Exists(Box<Query>),
    /// A scalar subquery, or the right side of a row comparison.
    Subquery(Box<Query>),
    /// `CURSOR (subquery)`, with its source text from the word CURSOR on.
    Cursor(Box<Query>, ItemText),
    /// `(a, b)` in row comparisons and IN lists.
    Row(Vec<Expr>),
    Case(Box<Case>),
    Call(Box<Call>),
    Cast {
        expr: Box<Expr>,
        ty: DataTypeName,
        default_on_error: Option<Box<Expr>>,
        format: Vec<Expr>,
    },
    /// `CAST (MULTISET (subquery) AS type)`.
    CastMultiset {
        query: Box<Query>,
        ty: DataTypeName,
    },
    Extract {
        field: DateField,
        expr: Box<Expr>,
    },
    Trim {
        side: TrimSide,
        chars: Option<Box<Expr>>,
        expr: Box<Expr>,
    },
    /// `expr AT TIME ZONE zone`, `expr AT LOCAL` when `zone` is absent.
    AtTimeZone {
        expr: Box<Expr>,
        zone: Option<Box<Expr>>,
    },
    /// `(a - b) DAY TO SECOND`.
    AsInterval {
        expr: Box<Expr>,
        qualifier: IntervalQualifier,
    },
    /// `base.field` where `base` is not a plain name: `f(1).x`, `t(i).name`.
    Field {
        base: Box<Expr>,
        field: Ident,
    },
    /// `base(args)` where `base` is not a plain name: `t(1)(2)`, `f(1).m(2)`.
    Apply {
        base: Box<Expr>,
        args: Vec<Argument>,
    },
    /// `TREAT(expr AS type)`.
    Treat {
        expr: Box<Expr>,
        ty: DataTypeName,
    },
    /// `MULTISET UNION|INTERSECT|EXCEPT`.
    Multiset {
        op: SetOp,
        distinct: bool,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `t.*` or `*` as an argument: `COUNT(*)` has `Star` as its only argument.
    Star,
    /// `DEFAULT` as a value in INSERT and UPDATE.
    Default,
}

impl Expr {
    pub fn new(kind: ExprKind, pos: Pos) -> Expr {
        Expr { kind, pos }
    }

    /// Whether the expression is a condition (true, false or unknown) by its form alone.
    pub fn is_condition(&self) -> bool {
        match &self.kind {
            ExprKind::Binary { op, .. } => op.is_comparison() || op.is_logical(),
            ExprKind::Unary { op, .. } => *op == UnaryOp::Not,
            ExprKind::Quantified { .. }
            | ExprKind::Between { .. }
            | ExprKind::In { .. }
            | ExprKind::Like { .. }
            | ExprKind::Is { .. }
            | ExprKind::Member { .. }
            | ExprKind::Exists(_) => true,
            // The few functions that are conditions.
            ExprKind::Call(call) => {
                let conditions = ["REGEXP_LIKE", "LNNVL", "JSON_EXISTS", "JSON_EQUAL", "XMLEXISTS"];
                call.name.as_simple().is_some_and(|name| conditions.contains(&name))
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    /// Digits as written, without sign: `42`, `.5`, `1e9`.
    Number(String),
    /// `1.5f`, digits without the suffix.
    BinaryFloat(String),
    /// `1.5d`, digits without the suffix.
    BinaryDouble(String),
    /// Contents with doubled quotes resolved. An empty string is NULL, which the planner handles. `national`: `n'...'`.
    String {
        text: String,
        national: bool,
    },
    /// `DATE 'YYYY-MM-DD'`.
    Date(String),
    /// `TIMESTAMP '...'`.
    Timestamp(String),
    Interval {
        text: String,
        qualifier: IntervalQualifier,
    },
}

/// `YEAR(2) TO MONTH`, `DAY TO SECOND(3)`, `HOUR` ...
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IntervalQualifier {
    pub from: DateField,
    pub from_precision: Option<u32>,
    pub to: Option<DateField>,
    pub fraction: Option<u32>,
}

/// A field of EXTRACT and of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DateField {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    TimezoneHour,
    TimezoneMinute,
    TimezoneRegion,
    TimezoneAbbr,
}

impl DateField {
    /// The keyword of the field.
    pub fn name(self) -> &'static str {
        match self {
            DateField::Year => "YEAR",
            DateField::Month => "MONTH",
            DateField::Day => "DAY",
            DateField::Hour => "HOUR",
            DateField::Minute => "MINUTE",
            DateField::Second => "SECOND",
            DateField::TimezoneHour => "TIMEZONE_HOUR",
            DateField::TimezoneMinute => "TIMEZONE_MINUTE",
            DateField::TimezoneRegion => "TIMEZONE_REGION",
            DateField::TimezoneAbbr => "TIMEZONE_ABBR",
        }
    }
    /// The field for a keyword in upper case.
    pub fn parse(word: &str) -> Option<DateField> {
        use DateField::*;
        [Year, Month, Day, Hour, Minute, Second, TimezoneHour, TimezoneMinute, TimezoneRegion, TimezoneAbbr]
            .into_iter()
            .find(|field| field.name() == word)
    }
}

/// A bind variable. `name` is without the colon, in upper case unless quoted; `:new.x` in triggers is a bind `NEW` with
/// a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bind {
    pub name: String,
    /// `:x INDICATOR :i` or `:x:i`.
    pub indicator: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    Prior,
    ConnectByRoot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Concat,
    Mul,
    Div,
}

impl BinaryOp {
    pub fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
    }
    pub fn is_logical(self) -> bool {
        matches!(self, BinaryOp::Or | BinaryOp::And)
    }
    /// The operator as printed.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "OR",
            BinaryOp::And => "AND",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "<>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Concat => "||",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    Any,
    All,
}

/// The right side of IN and of quantified comparisons.
#[derive(Clone, Debug, PartialEq)]
pub enum InSource {
    List(Vec<Expr>),
    Query(Box<Query>),
    /// Collections in PL/SQL and SQL: `x IN f(y)`, `x IN :b`, without parentheses.
    Expr(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LikeKind {
    Like,
    LikeC,
    Like2,
    Like4,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IsTest {
    Null,
    /// `NAN`, `INFINITE`
    Float(::types::FloatTest),
    Empty,
    ASet,
    Dangling,
    Json(JsonTest),
    /// `OF [TYPE] ([ONLY] type, …)`; true with ONLY.
    OfType(Vec<(bool, Name)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// Simple (`operand` present) or searched CASE.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub operand: Option<Expr>,
    pub branches: Vec<CaseBranch>,
    pub otherwise: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    pub when: Expr,
    pub then: Expr,
}

/// A call by name: built-in, aggregate, analytic or stored function, or a PL/SQL collection element `t(i)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub name: Name,
    /// `COUNT(DISTINCT x)`; `UNIQUE` is the same.
    pub distinct: bool,
    pub args: Vec<Argument>,
    /// `LISTAGG(...) WITHIN GROUP (ORDER BY ...)`; empty when absent.
    pub within_group: Vec<OrderItem>,
    pub keep: Option<Keep>,
    /// `IGNORE NULLS` is `Some(true)`, `RESPECT NULLS` is `Some(false)`.
    pub ignore_nulls: Option<bool>,
    /// `NTH_VALUE(...) FROM LAST`.
    pub from_last: bool,
    pub over: Option<Window>,
    /// `LISTAGG(... ON OVERFLOW ...)`.
    pub on_overflow: Option<Overflow>,
    /// `TO_NUMBER(expr DEFAULT value ON CONVERSION ERROR, ...)`; the first argument is the expression.
    pub default_on_error: Option<Box<Expr>>,
    /// The clauses of a function of SQL/JSON.
    pub json: Option<Box<JsonClauses>>,
    /// The clauses of a function of SQL/XML.
    pub xml: Option<Box<XmlClauses>>,
}

/// The treatment of a list of LISTAGG that is too long.
#[derive(Clone, Debug, PartialEq)]
pub enum Overflow {
    Error,
    /// The indicator stands for the values that were left out; their number follows unless WITHOUT COUNT is given.
    Truncate {
        indicator: Option<Box<Expr>>,
        count: bool,
    },
}

impl Call {
    /// A call of `name` without arguments.
    pub fn new(name: Name) -> Call {
        Call {
            name,
            distinct: false,
            args: Vec::new(),
            within_group: Vec::new(),
            keep: None,
            ignore_nulls: None,
            from_last: false,
            over: None,
            on_overflow: None,
            default_on_error: None,
            json: None,
            xml: None,
        }
    }
}

/// One actual parameter; `name => value` has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub name: Option<Ident>,
    pub value: Expr,
}

/// `KEEP (DENSE_RANK FIRST|LAST ORDER BY ...)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Keep {
    pub last: bool,
    pub order_by: Vec<OrderItem>,
}

/// `OVER (...)`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Window {
    /// `OVER w` of a named window.
    pub name: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// Absent in the short form, which ends at the current row.
    pub end: Option<FrameBound>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

/// A data type as written, in SQL and PL/SQL.
#[derive(Clone, Debug, PartialEq)]
pub struct DataTypeName {
    pub kind: TypeKind,
    pub pos: Pos,
}

/// The name of the type and its numbers, whose range is not checked: the planner makes a `types::DataType` from it.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `NUMBER`, `NUMBER(p)`, `NUMBER(*,s)`, `DECIMAL`, `NUMERIC`; `INTEGER`, `INT` and `SMALLINT` are `NUMBER(*,0)`.
    Number {
        precision: Option<u32>,
        scale: Option<i32>,
    },
    /// `FLOAT(b)`, `REAL` (63), `DOUBLE PRECISION` (126): binary digits.
    Float {
        binary_precision: Option<u32>,
    },
    BinaryFloat,
    BinaryDouble,
    /// `VARCHAR2`, `VARCHAR`, `CHAR VARYING`, `NVARCHAR2`. The length may be missing in PL/SQL parameters and CAST, but
    /// not in columns.
    Varchar2 {
        length: Option<u32>,
        unit: Option<LengthUnit>,
        national: bool,
    },
    Char {
        length: Option<u32>,
        unit: Option<LengthUnit>,
        national: bool,
    },
    Date,
    Timestamp {
        precision: Option<u32>,
        zone: ZoneKind,
    },
    IntervalYearToMonth {
        precision: Option<u32>,
    },
    IntervalDayToSecond {
        day_precision: Option<u32>,
        second_precision: Option<u32>,
    },
    Raw {
        length: Option<u32>,
    },
    Long,
    LongRaw,
    Clob {
        national: bool,
    },
    Blob,
    Bfile,
    Rowid,
    Urowid {
        length: Option<u32>,
    },
    Json,
    XmlType,
    Boolean,
    /// Any other name: a PL/SQL type (`PLS_INTEGER`) or a user's type, with the numbers in parentheses after it.
    Named {
        name: Name,
        args: Vec<u32>,
    },
    /// `REF type`.
    Ref(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LengthUnit {
    Byte,
    Char,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZoneKind {
    None,
    WithTimeZone,
    WithLocalTimeZone,
}

/// UNION, INTERSECT and MINUS, also between PL/SQL collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOp {
    Union,
    Intersect,
    Minus,
}
