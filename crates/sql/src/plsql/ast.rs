//! The tree of PL/SQL.
//!
//! PL/SQL has its own expression language: names are chains of fields, calls and subscripts that only the compiler can
//! distinguish, conditions are values, and cursors have attributes. Static SQL is kept as text, with the positions of
//! its `INTO` lists: the compiler turns host variables into binds and passes the text to the SQL compiler, so that it
//! is exactly the statement shown in `v$sql`.
//!
//! Every position is a byte offset in the text that was parsed.

pub use super::events::SystemEvent;

/// A byte offset in the unit's source.
pub type Pos = u32;

/// An identifier in the dictionary's form: upper case unless it was quoted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ident {
    pub name: String,
    pub quoted: bool,
    pub pos: Pos,
}

/// A dotted name: one to four identifiers.
pub type Path = Vec<Ident>;

/// A range of bytes in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: Pos,
    pub end: Pos,
}

/// The part of a `CREATE` statement before the unit's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateHeader {
    pub or_replace: bool,
    pub kind: UnitKind,
    pub schema: Option<Ident>,
    pub name: Ident,
    /// Start of the stored source: the word `PROCEDURE`, `FUNCTION`, `PACKAGE`, `TRIGGER` or `TYPE`.
    pub source_at: Pos,
}

/// The kinds of stored units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnitKind {
    Procedure,
    Function,
    Package,
    PackageBody,
    Trigger,
    Type,
    TypeBody,
}

impl UnitKind {
    /// The kind as in `user_objects.object_type` and `user_source.type`.
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::Procedure => "PROCEDURE",
            UnitKind::Function => "FUNCTION",
            UnitKind::Package => "PACKAGE",
            UnitKind::PackageBody => "PACKAGE BODY",
            UnitKind::Trigger => "TRIGGER",
            UnitKind::Type => "TYPE",
            UnitKind::TypeBody => "TYPE BODY",
        }
    }
}

/// A compilation unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Unit {
    /// An anonymous block.
    Block(Block),
    /// A stored procedure or function.
    Subprogram {
        schema: Option<Ident>,
        subprogram: Subprogram,
    },
    Package(Package),
    PackageBody(PackageBody),
    Trigger(Box<Trigger>),
    /// A type of a schema: `CREATE TYPE t AS OBJECT (…)`, `UNDER s (…)`, `AS TABLE OF …` or `AS VARRAY(n) OF …`.
    Type {
        schema: Option<Ident>,
        name: Ident,
        definition: TypeDefinition,
    },
    TypeBody(TypeBody),
}

/// The rights and names that a unit runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthId {
    #[default]
    Definer,
    CurrentUser,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Package {
    pub schema: Option<Ident>,
    pub name: Ident,
    pub authid: AuthId,
    pub accessible_by: Vec<Accessor>,
    pub declarations: Vec<Declaration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PackageBody {
    pub schema: Option<Ident>,
    pub name: Ident,
    pub declarations: Vec<Declaration>,
    /// The initialisation section, run once a session.
    pub initialisation: Option<Body>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    pub header: TriggerHeader,
    /// The body; of a compound trigger its declarations, with an empty body.
    pub block: Block,
    /// The sections of a compound trigger.
    pub sections: Vec<TriggerSection>,
}

/// A section of a compound trigger.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggerSection {
    pub point: TimingPoint,
    pub declarations: Vec<Declaration>,
    pub body: Body,
    pub pos: Pos,
}

/// The times at which the sections of a compound trigger run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimingPoint {
    BeforeStatement,
    BeforeRow,
    AfterRow,
    AfterStatement,
}

impl TimingPoint {
    /// The words of the section.
    pub fn name(self) -> &'static str {
        match self {
            TimingPoint::BeforeStatement => "BEFORE STATEMENT",
            TimingPoint::BeforeRow => "BEFORE EACH ROW",
            TimingPoint::AfterRow => "AFTER EACH ROW",
            TimingPoint::AfterStatement => "AFTER STATEMENT",
        }
    }

    pub fn is_of_row(self) -> bool {
        matches!(self, TimingPoint::BeforeRow | TimingPoint::AfterRow)
    }
}

/// The part of a trigger before its body.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggerHeader {
    pub schema: Option<Ident>,
    pub name: Ident,
    pub timing: TriggerTiming,
    pub events: Vec<TriggerEvent>,
    pub scope: TriggerScope,
    /// The table or view; empty for a trigger on a schema or the database.
    pub table: Path,
    /// The alias of the old row, `OLD` unless changed by `REFERENCING`.
    pub old_alias: String,
    /// The alias of the new row, `NEW` unless changed by `REFERENCING`.
    pub new_alias: String,
    pub for_each_row: bool,
    /// The triggers of `FOLLOWS`.
    pub follows: Vec<Path>,
    pub enabled: bool,
    pub when: Option<When>,
    /// The word `CALL`, or the start of the body.
    pub action: Pos,
    /// Start of the body: `BEGIN`, `DECLARE`, a label, or the name of the procedure after `CALL`.
    pub body: Pos,
    /// The body is `CALL procedure`.
    pub calls: bool,
}

/// The `WHEN` condition of a trigger; `:new` is written `new` in it.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    pub condition: Expr,
    /// The condition without its parentheses.
    pub span: Span,
    /// The word `WHEN`.
    pub pos: Pos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerTiming {
    Before,
    After,
    InsteadOf,
    /// `FOR … COMPOUND TRIGGER`
    Compound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerEvent {
    Insert,
    /// The columns of `UPDATE OF`; if empty, all columns.
    Update(Vec<Ident>),
    Delete,
    /// An event of a trigger on a schema or the database.
    System(SystemEvent),
}

/// The object that a trigger is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerScope {
    Table,
    /// `ON [owner.]SCHEMA`, with the position of the word.
    Schema(Option<Ident>, Pos),
    Database,
}

/// A block: its labels, its declarations and its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub labels: Vec<Ident>,
    pub declarations: Vec<Declaration>,
    pub body: Body,
    pub pos: Pos,
}

/// `BEGIN … EXCEPTION … END`.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    pub statements: Vec<Statement>,
    pub handlers: Vec<Handler>,
    pub pos: Pos,
    /// Position of `END`, where a function without RETURN raises ORA-06503.
    pub end_pos: Pos,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// Empty for `WHEN OTHERS`.
    pub exceptions: Vec<Path>,
    pub statements: Vec<Statement>,
    pub pos: Pos,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    Variable(Variable),
    Type {
        name: Ident,
        definition: TypeDefinition,
    },
    Subtype {
        name: Ident,
        base: TypeRef,
        not_null: bool,
        range: Option<(Expr, Expr)>,
    },
    Cursor(CursorDeclaration),
    Exception(Ident),
    Pragma(Pragma),
    /// A nested subprogram, a forward declaration (no body) or a package's specification.
    Subprogram(Subprogram),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub name: Ident,
    pub ty: TypeRef,
    pub constant: bool,
    pub not_null: bool,
    pub default: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TypeDefinition {
    Record(Vec<Variable>),
    NestedTable {
        element: TypeRef,
        not_null: bool,
    },
    Varray {
        limit: u32,
        element: TypeRef,
        not_null: bool,
    },
    Associative {
        element: TypeRef,
        not_null: bool,
        index: TypeRef,
    },
    RefCursor {
        returns: Option<TypeRef>,
    },
    /// CREATE TYPE … AS OBJECT and … UNDER only.
    Object(Box<ObjectType>),
}

/// The definition of an object type.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectType {
    pub authid: AuthId,
    /// The type of `UNDER`.
    pub under: Option<TypeRef>,
    /// Its own attributes, without those of the supertypes.
    pub attributes: Vec<Attribute>,
    pub methods: Vec<Method>,
    /// Without `NOT FINAL`: no type may be under it.
    pub is_final: bool,
    pub instantiable: bool,
}

/// A method of an object type: in the type its heading, in the body the whole subprogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    pub kind: MethodKind,
    pub overriding: bool,
    /// `FINAL`: no subtype may override it.
    pub is_final: bool,
    pub instantiable: bool,
    /// A parameter SELF is among the parameters only if it is written.
    pub subprogram: Subprogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    Member,
    Static,
    Constructor,
    Map,
    Order,
}

/// `CREATE TYPE BODY`.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeBody {
    pub schema: Option<Ident>,
    pub name: Ident,
    pub methods: Vec<Method>,
}

/// An attribute of an object type.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    pub name: Ident,
    pub ty: TypeRef,
}

/// A reference to a type in a declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeRef {
    pub kind: TypeKind,
    pub pos: Pos,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// A built-in or declared type by name, with its sizes. A name of several words (`DOUBLE PRECISION`, `LONG RAW`,
    /// `INTERVAL DAY TO SECOND`, `TIMESTAMP WITH TIME ZONE`) is one identifier with single blanks.
    Named { path: Path, sizes: Vec<i64>, unit: Option<LengthUnit> },
    /// `name%TYPE`
    TypeOf(Path),
    /// `name%ROWTYPE`
    RowTypeOf(Path),
    /// An inline `REF CURSOR`, or `SYS_REFCURSOR`.
    RefCursor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    Byte,
    Char,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CursorDeclaration {
    pub name: Ident,
    pub parameters: Vec<Parameter>,
    pub returns: Option<TypeRef>,
    /// `None` for a specification whose query is in the package body.
    pub query: Option<SqlText>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Pragma {
    AutonomousTransaction(Pos),
    SeriallyReusable,
    ExceptionInit {
        exception: Ident,
        code: i32,
    },
    /// `INLINE`, `RESTRICT_REFERENCES`, `UDF` and others, which are parsed without effect.
    Other(Ident),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Subprogram {
    pub name: Ident,
    pub parameters: Vec<Parameter>,
    /// The result type of a function.
    pub returns: Option<TypeRef>,
    pub attributes: SubprogramAttributes,
    /// `None` for a forward declaration or a package's specification.
    pub body: Option<Box<SubprogramBody>>,
    pub pos: Pos,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SubprogramBody {
    pub declarations: Vec<Declaration>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubprogramAttributes {
    pub deterministic: bool,
    pub authid: AuthId,
    pub pipelined: Option<Pos>,
    /// The units of `ACCESSIBLE BY`; without any, all units have access.
    pub accessible_by: Vec<Accessor>,
    pub parallel_enable: bool,
    pub result_cache: Option<ResultCache>,
}

/// A unit that has access to another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Accessor {
    /// `None`: a unit of any kind with that name.
    pub kind: Option<UnitKind>,
    pub path: Path,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultCache {
    pub relies_on: Vec<Path>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    In,
    Out,
    InOut,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: Ident,
    pub mode: Mode,
    pub nocopy: bool,
    pub ty: TypeRef,
    pub default: Option<Expr>,
}

/// A statement with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub labels: Vec<Ident>,
    pub kind: StatementKind,
    pub pos: Pos,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    Null,
    Assign {
        target: Expr,
        value: Expr,
    },
    /// A procedure call; the expression is a name with or without arguments.
    Call(Expr),
    If {
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Case {
        operand: Option<Expr>,
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Loop {
        body: Vec<Statement>,
    },
    While {
        condition: Expr,
        body: Vec<Statement>,
    },
    ForRange {
        variable: Ident,
        reverse: bool,
        low: Expr,
        high: Expr,
        body: Vec<Statement>,
    },
    ForCursor {
        variable: Ident,
        source: CursorSource,
        body: Vec<Statement>,
    },
    ForAll {
        variable: Ident,
        bounds: ForAllBounds,
        save_exceptions: bool,
        sql: Box<StatementKind>,
    },
    Exit {
        label: Option<Ident>,
        when: Option<Expr>,
    },
    Continue {
        label: Option<Ident>,
        when: Option<Expr>,
    },
    Goto(Ident),
    Return(Option<Expr>),
    Raise(Option<Path>),
    Block(Block),
    /// `SELECT … INTO`, `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `LOCK TABLE`.
    Sql(SqlText),
    Commit,
    Rollback {
        to: Option<Ident>,
    },
    Savepoint(Ident),
    /// `SET TRANSACTION …`, as written.
    SetTransaction(SqlText),
    Open {
        cursor: Expr,
        arguments: Vec<Argument>,
    },
    /// `OPEN c FOR SELECT …`
    OpenFor {
        cursor: Expr,
        query: SqlText,
    },
    /// `OPEN c FOR 'text' [USING …]`
    OpenForDynamic {
        cursor: Expr,
        text: Expr,
        using: Vec<UsingArgument>,
    },
    Fetch {
        cursor: Expr,
        into: Into,
        limit: Option<Expr>,
    },
    Close(Expr),
    ExecuteImmediate {
        text: Expr,
        into: Option<Into>,
        using: Vec<UsingArgument>,
        returning: Option<Into>,
    },
    /// `PIPE ROW (…)`: parsed so that the compiler can refuse it by name.
    PipeRow(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum CursorSource {
    /// `FOR r IN (SELECT …)`
    Query(SqlText),
    /// `FOR r IN c` and `FOR r IN c(args)`
    Cursor(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ForAllBounds {
    Range { low: Expr, high: Expr },
    IndicesOf { collection: Expr, between: Option<(Expr, Expr)> },
    ValuesOf(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub struct UsingArgument {
    pub mode: Mode,
    pub value: Expr,
}

/// `INTO a, b` or `BULK COLLECT INTO a, b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Into {
    pub bulk: bool,
    pub targets: Vec<Expr>,
    pub pos: Pos,
}

/// A static SQL statement as written in the source.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlText {
    pub kind: SqlKind,
    /// The whole statement, without its terminator.
    pub span: Span,
    /// The text of `span`.
    pub text: String,
    /// `INTO …` of a query and its span, which is removed from the SQL statement.
    pub into: Option<(Into, Span)>,
    /// `RETURNING … INTO …`; the span covers the targets only, which SQL sees as binds.
    pub returning: Option<(Into, Span)>,
    /// `WHERE CURRENT OF cursor`, with the span from `CURRENT` on.
    pub current_of: Option<(Ident, Span)>,
}

/// The text before the call in [`ExprKind::Sql`].
pub const SQL_CALL_PREFIX: &str = "SELECT ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlKind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    LockTable,
    SetTransaction,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub pos: Pos,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    Null,
    Boolean(bool),
    /// A number as written.
    Number(String),
    String(String),
    /// `DATE '…'`
    Date(String),
    /// `TIMESTAMP '…'`
    Timestamp(String),
    /// `INTERVAL '…' DAY TO SECOND`; the qualifier in upper case.
    Interval {
        text: String,
        qualifier: String,
    },
    /// `:name` or `:1`; `field` is the part after a dot (`:new.col`).
    Bind {
        name: String,
        field: Option<Ident>,
    },
    Name(Name),
    /// `name%FOUND` and other cursor attributes.
    CursorAttribute {
        cursor: Box<Expr>,
        attribute: CursorAttribute,
    },
    /// `SQL%BULK_ROWCOUNT(i)`
    BulkRowCount(Box<Expr>),
    /// A function that only SQL has, as a query from DUAL: its span is that of the call, and its text begins
    /// [`SQL_CALL_PREFIX`] before it.
    Sql(Box<SqlText>),
    /// `SQL%BULK_EXCEPTIONS.COUNT`
    BulkErrors,
    /// `SQL%BULK_EXCEPTIONS(i).ERROR_INDEX`; `.ERROR_CODE` if `code`.
    BulkError {
        index: Box<Expr>,
        code: bool,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    IsNull {
        operand: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] NAN`, `IS [NOT] INFINITE`.
    IsFloat {
        operand: Box<Expr>,
        test: ::types::FloatTest,
        negated: bool,
    },
    /// `IS [NOT] EMPTY` of a nested table.
    IsEmpty {
        operand: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] A SET`.
    IsASet {
        operand: Box<Expr>,
        negated: bool,
    },
    /// `[NOT] SUBMULTISET [OF]`.
    Submultiset {
        operand: Box<Expr>,
        collection: Box<Expr>,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    In {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    MemberOf {
        operand: Box<Expr>,
        collection: Box<Expr>,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast {
        operand: Box<Expr>,
        ty: TypeRef,
    },
    /// `operand AT TIME ZONE zone`; `operand AT LOCAL` without a zone.
    AtTimeZone {
        operand: Box<Expr>,
        zone: Option<Box<Expr>>,
    },
    Extract {
        field: String,
        operand: Box<Expr>,
    },
    Trim {
        mode: TrimMode,
        set: Option<Box<Expr>>,
        operand: Box<Expr>,
    },
    /// `NEW t(…)`
    New(Name),
    /// `TREAT(operand AS type)` with the parts that follow.
    Treat {
        operand: Box<Expr>,
        ty: TypeRef,
        parts: Vec<Part>,
    },
    /// `IS [NOT] OF [TYPE] ([ONLY] type, …)`.
    IsOf {
        operand: Box<Expr>,
        types: Vec<(bool, TypeRef)>,
        negated: bool,
    },
    /// `choice | choice => value` in a qualified expression; a single choice is not a name.
    Association {
        choices: Vec<Expr>,
        value: Box<Expr>,
    },
    /// `$$name`, in upper case.
    Inquiry(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimMode {
    Both,
    Leading,
    Trailing,
}

/// A name with its selectors: `pkg.tab(i).field`, `f(a, b => 1)`, `t.COUNT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    pub first: Ident,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Field(Ident),
    /// Arguments or a subscript.
    Call(Vec<Argument>),
    /// `(name AS type)`, before the method of a supertype.
    As(TypeRef),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub name: Option<Ident>,
    pub value: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorAttribute {
    Found,
    NotFound,
    IsOpen,
    RowCount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Power,
    /// `a MOD b`, the infix form still accepted by PL/SQL.
    Mod,
    Concat,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    /// `MULTISET UNION [DISTINCT]` and the like.
    Multiset {
        op: MultisetOp,
        distinct: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultisetOp {
    Union,
    Intersect,
    Except,
}
