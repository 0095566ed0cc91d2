//! The bytecode: instructions of a register machine.
//!
//! A frame is a row of slots on one stack. An operand names a slot of the frame, a constant of the unit, a scalar field
//! of a record in the frame, or a slot of an enclosing subprogram's frame, so that common operands are read by
//! reference. The arguments of a call are evaluated into the slots where the callee's frame will begin.

use crate::datum::{CollInfo, Datum};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use types::image::{Damaged, Image, Reader, SharedImage, Writer};
use types::{DataType, ObjectId, TypeId, Value, Zone};

/// The operand of an instruction: two bits of kind, thirty of position.
#[derive(Clone, Copy, PartialEq, Eq, Image)]
pub struct Opd(pub u32);

/// A decoded operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Local(u32),
    Const(u32),
    /// A scalar field of a record in a slot of the frame.
    Field(u32, u32),
    /// A slot of the frame a number of subprogram levels up.
    Up(u32, u32),
}

impl Opd {
    const KIND: u32 = 30;
    const MASK: u32 = (1 << 30) - 1;
    /// Largest slot and field number of a `Field` operand.
    pub const FIELD_MAX: u32 = (1 << 15) - 1;

    pub fn local(slot: u32) -> Opd {
        assert!(slot <= Opd::MASK);
        Opd(slot)
    }

    pub fn constant(index: u32) -> Opd {
        assert!(index <= Opd::MASK);
        Opd(1 << Opd::KIND | index)
    }

    pub fn field(slot: u32, field: u32) -> Option<Opd> {
        (slot <= Opd::FIELD_MAX && field <= Opd::FIELD_MAX).then_some(Opd(2 << Opd::KIND | slot << 15 | field))
    }

    pub fn up(levels: u32, slot: u32) -> Opd {
        assert!(levels < 64 && slot < 1 << 24);
        Opd(3 << Opd::KIND | levels << 24 | slot)
    }

    #[inline(always)]
    pub fn place(self) -> Place {
        let rest = self.0 & Opd::MASK;
        match self.0 >> Opd::KIND {
            0 => Place::Local(rest),
            1 => Place::Const(rest),
            2 => Place::Field(rest >> 15, rest & Opd::FIELD_MAX),
            _ => Place::Up(rest >> 24, rest & ((1 << 24) - 1)),
        }
    }

    pub fn is_local(self) -> bool {
        self.0 >> Opd::KIND == 0
    }
}

impl std::fmt::Debug for Opd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.place())
    }
}

pub use functions::ops::Comparison as Cmp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Power,
    Mod,
}

impl Arith {
    /// The operator, if SQL has it too.
    pub fn basic(self) -> Option<functions::ops::Arithmetic> {
        use functions::ops::Arithmetic;
        match self {
            Arith::Add => Some(Arithmetic::Add),
            Arith::Sub => Some(Arithmetic::Sub),
            Arith::Mul => Some(Arithmetic::Mul),
            Arith::Div => Some(Arithmetic::Div),
            Arith::Power | Arith::Mod => None,
        }
    }
}

/// Numeric functions with a fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Quick {
    Abs,
    Ceil,
    Floor,
    Mod,
    Round,
    Trunc,
}

impl Quick {
    /// The function with that name and number of arguments.
    pub fn of(name: &str, args: usize) -> Option<Quick> {
        Some(match (name, args) {
            ("ABS", 1) => Quick::Abs,
            ("CEIL", 1) => Quick::Ceil,
            ("FLOOR", 1) => Quick::Floor,
            ("MOD", 2) => Quick::Mod,
            ("ROUND", 1) => Quick::Round,
            ("TRUNC", 1) => Quick::Trunc,
            _ => return None,
        })
    }

    /// The number of its arguments.
    pub fn args(self) -> u32 {
        if self == Quick::Mod { 2 } else { 1 }
    }
}

/// A code address.
pub type Label = u32;

#[derive(Clone, Copy, Debug, Image)]
pub enum Op {
    /// Copies any content.
    Move {
        d: Opd,
        s: Opd,
    },
    /// Sets a slot to a fresh copy of a template of the unit.
    Init {
        d: Opd,
        template: u32,
    },
    /// Prepares a slot with a record for the next fetched row. An existing record of the right shape is used again
    /// without clearing: a row-by-row loop allocates nothing.
    InitRow {
        d: Opd,
        template: u32,
    },
    Jump {
        to: Label,
    },
    /// A backward jump: checks whether the session was killed or interrupted.
    Loop {
        to: Label,
    },
    JumpIfTrue {
        c: Opd,
        to: Label,
    },
    JumpUnlessTrue {
        c: Opd,
        to: Label,
    },
    JumpIfFalse {
        c: Opd,
        to: Label,
    },
    JumpIfNull {
        c: Opd,
        to: Label,
    },
    /// Jumps unless the comparison is true.
    CmpJump {
        op: Cmp,
        a: Opd,
        b: Opd,
        to: Label,
    },
    Cmp {
        op: Cmp,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// Like `Cmp`, blank-padded: both sides are CHAR.
    CmpPadded {
        op: Cmp,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// NUMBER with NUMBER.
    Arith {
        op: Arith,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// PLS_INTEGER with PLS_INTEGER: ORA-01426 beyond 32 bits.
    ArithInt {
        op: Arith,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// SIMPLE_INTEGER with SIMPLE_INTEGER.
    ArithSimple {
        op: Arith,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// Arithmetic chosen by the types of the values: dates, intervals, texts with numbers.
    ArithAny {
        op: Arith,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    Neg {
        d: Opd,
        s: Opd,
    },
    Not {
        d: Opd,
        s: Opd,
    },
    And {
        d: Opd,
        a: Opd,
        b: Opd,
    },
    Or {
        d: Opd,
        a: Opd,
        b: Opd,
    },
    IsNull {
        d: Opd,
        s: Opd,
        negated: bool,
    },
    /// `||` with a CLOB.
    ConcatLob {
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// `||` of texts that are not CLOBs: 32,767 bytes at most.
    Concat {
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// `escape` is NULL when there is none.
    Like {
        d: Opd,
        a: Opd,
        pattern: Opd,
        escape: Opd,
    },
    /// Converts to a type of the unit's list, enforcing its constraints.
    Coerce {
        d: Opd,
        s: Opd,
        ty: u32,
    },
    /// Sets up `FOR i IN lo..hi`: counter and bound are kept outside the slots.
    ForInit {
        counter: u32,
        lo: Opd,
        hi: Opd,
        reverse: bool,
    },
    /// Begins the next iteration with `i` set, or jumps out.
    ForNext {
        counter: u32,
        i: Opd,
        out: Label,
    },
    /// Ends an iteration: back to `ForNext`'s body.
    ForLoop {
        counter: u32,
        i: Opd,
        body: Label,
    },
    GetPath {
        d: Opd,
        path: u32,
    },
    SetPath {
        path: u32,
        s: Opd,
    },
    /// Collection methods; `a` and `b` are arguments.
    Collection {
        method: Method,
        d: Opd,
        path: u32,
        a: Opd,
        b: Opd,
    },
    /// A constructor over `n` slots from `base`.
    Construct {
        d: Opd,
        base: u32,
        n: u32,
        coll: u32,
    },
    /// An object of the type with that number, from `n` slots from `base` on.
    ConstructObject {
        d: Opd,
        base: u32,
        n: u32,
        ty: u32,
    },
    /// `IS EMPTY`
    IsEmpty {
        d: Opd,
        s: Opd,
    },
    /// `=` or `<>` of nested tables.
    CmpColl {
        d: Opd,
        a: Opd,
        b: Opd,
        equal: bool,
    },
    /// `MEMBER OF`
    MemberOf {
        d: Opd,
        a: Opd,
        coll: Opd,
    },
    Multiset {
        op: MultisetOp,
        distinct: bool,
        d: Opd,
        a: Opd,
        b: Opd,
    },
    IsSubmultiset {
        d: Opd,
        a: Opd,
        b: Opd,
    },
    IsASet {
        d: Opd,
        s: Opd,
    },
    /// CARDINALITY.
    Cardinality {
        d: Opd,
        s: Opd,
    },
    /// Calls a subprogram of the same unit; `up` is the number of levels up to its parent.
    Call {
        proc: u32,
        base: u32,
        up: u32,
    },
    /// Calls a subprogram of another unit.
    CallExternal {
        external: u32,
        base: u32,
    },
    /// Calls a method of the object in slot `base + 1`: that of its type, which overrides the external's, unless
    /// `is_fixed`. `of` is the external's type.
    CallMethod {
        external: u32,
        base: u32,
        of: TypeId,
        is_fixed: bool,
    },
    /// `TREAT`: the object if it is of the type, otherwise NULL.
    Treat {
        d: Opd,
        s: Opd,
        ty: TypeId,
    },
    /// The object in a value whose type is known when it is there: ORA-00932 if it is none of that type.
    ObjectOf {
        d: Opd,
        s: Opd,
        ty: TypeId,
    },
    /// `IS OF`
    IsOf {
        d: Opd,
        s: Opd,
        ty: TypeId,
        only: bool,
    },
    /// Calls a built-in package's subprogram over `n` slots from `base + 1`; the result goes to `base`.
    CallNative {
        native: u32,
        base: u32,
        n: u32,
    },
    /// Like [`Op::CallNative`], for a subprogram that changes its first argument: the value is taken out of the
    /// variable `lent` for the call, and put back even if the call fails.
    CallLent {
        native: u32,
        base: u32,
        n: u32,
        lent: Opd,
    },
    /// Calls an SQL function over `n` slots from `base + 1`; the result goes to `base`.
    CallFunction {
        function: u32,
        base: u32,
        n: u32,
    },
    /// Like [`Op::CallFunction`], for a function with a fast path for numbers.
    CallQuick {
        quick: Quick,
        function: u32,
        base: u32,
    },
    /// Session values outside packages: SYSDATE, USER, SQLCODE …
    Special {
        what: Special,
        d: Opd,
        a: Opd,
    },
    Return,
    /// ORA-06503: a function ended without RETURN.
    NoReturn,
    Raise {
        exception: u32,
    },
    Reraise,
    RaiseCode {
        code: u32,
    },
    /// Leaves `n` exception handlers.
    EndHandlers {
        n: u32,
    },
    /// Executes a static DML statement; the row of RETURNING is stored in the record slot `row`.
    Execute {
        sql: u32,
        row: Opd,
    },
    /// Executes a static query that must return one row, into the record slot `row`.
    SelectInto {
        sql: u32,
        row: Opd,
    },
    /// Executes a static query or DML and appends its columns to the collections of the unit's bulk list.
    BulkInto {
        sql: u32,
        bulk: u32,
    },
    /// Opens the implicit cursor of a cursor FOR loop in slot `cursor`.
    OpenLoop {
        sql: u32,
        cursor: Opd,
    },
    /// Fetches its next row into the record slot `row`, or closes it and jumps.
    FetchLoop {
        cursor: Opd,
        row: Opd,
        out: Label,
    },
    /// Opens an explicit cursor or a cursor variable on a static query.
    Open {
        sql: u32,
        cursor: Opd,
        variable: bool,
    },
    /// Opens a cursor variable on dynamic SQL.
    OpenDynamic {
        dynamic: u32,
        cursor: Opd,
    },
    /// Fetches into the record slot `row`; jumps when there is no row. `width` columns are expected.
    Fetch {
        cursor: Opd,
        row: Opd,
        width: u32,
        none: Label,
    },
    FetchBulk {
        cursor: Opd,
        bulk: u32,
        limit: Opd,
    },
    Close {
        cursor: Opd,
    },
    /// Closes a loop's cursor on an early exit.
    CloseLoop {
        cursor: Opd,
    },
    /// Resets a cursor variable: closes a cursor that no other variable holds.
    Release {
        cursor: Opd,
    },
    CursorAttribute {
        what: Attribute,
        d: Opd,
        cursor: Opd,
    },
    SqlAttribute {
        what: Attribute,
        d: Opd,
    },
    BulkRowCount {
        d: Opd,
        index: Opd,
    },
    /// The number of failed iterations of the last FORALL.
    BulkErrors {
        d: Opd,
    },
    /// The iteration of the `index`-th failure, or with `code` its error.
    BulkError {
        d: Opd,
        index: Opd,
        code: bool,
    },
    ExecuteImmediate {
        dynamic: u32,
        row: Opd,
    },
    /// DML of a FORALL that may be executed together with that of other iterations: no code between them accesses the
    /// database.
    ExecuteLater {
        sql: u32,
        row: Opd,
        /// SAVE EXCEPTIONS.
        save: bool,
    },
    /// After an iteration of a FORALL: takes the following ones as far as they are regular.
    ForAllGather {
        gather: u32,
    },
    /// FORALL bookkeeping.
    ForAllBegin,
    /// The subscript of the first iteration; the others follow consecutively.
    ForAllFrom {
        lo: Opd,
    },
    /// The subscript of the iteration that begins, if they need not be consecutive.
    ForAllAt {
        i: Opd,
    },
    ForAllStep {
        save: bool,
        from: Label,
    },
    ForAllEnd,
    Commit,
    Rollback,
    Savepoint {
        name: Opd,
    },
    RollbackTo {
        name: Opd,
    },
    SetTransaction {
        text: Opd,
    },
    Autonomous {
        begin: bool,
    },
    BindGet {
        d: Opd,
        bind: u32,
    },
    BindSet {
        bind: u32,
        s: Opd,
    },
    /// Converts between a client's table and a PL/SQL table, element by element.
    Recollect {
        d: Opd,
        s: Opd,
        coll: u32,
        ty: u32,
    },
    /// PIPE ROW: stops the function until the next row is wanted.
    PipeRow {
        s: Opd,
    },
    /// The collection of an SQL value.
    CollOf {
        d: Opd,
        s: Opd,
        coll: u32,
    },
    /// The SQL value of a collection of that type.
    CollValue {
        d: Opd,
        s: Opd,
        id: TypeId,
    },
    /// The cursor variable of a value of CURSOR(subquery).
    CursorOf {
        d: Opd,
        s: Opd,
    },
    /// Reads or writes a variable of a package.
    PackageGet {
        d: Opd,
        external: u32,
        slot: u32,
    },
    PackageSet {
        external: u32,
        slot: u32,
        s: Opd,
    },
    /// Looks up the result of a RESULT_CACHE function; jumps past its body on a hit.
    ResultCacheGet {
        d: Opd,
        n: u32,
        hit: Label,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Method {
    Count,
    First,
    Last,
    Next,
    Prior,
    Exists,
    Limit,
    Extend,
    Trim,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Attribute {
    Found,
    NotFound,
    IsOpen,
    RowCount,
    /// The rowid for WHERE CURRENT OF.
    CurrentRow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Special {
    Sysdate,
    Systimestamp,
    CurrentDate,
    CurrentTimestamp,
    LocalTimestamp,
    User,
    Uid,
    SysGuid,
    SqlCode,
    /// SQLERRM without argument, or with the code in `a`.
    SqlErrm,
    SqlErrmOf,
    /// SYS_CONTEXT over slots `a` and `a + 1`.
    SysContext,
    Userenv,
}

/// The path to an element: `t(i).f(j)`.
#[derive(Clone, Debug, Image)]
pub struct Path {
    pub root: Root,
    pub steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, Image)]
pub enum Root {
    Slot(Opd),
    Package { external: u32, slot: u32 },
}

#[derive(Clone, Copy, Debug, Image)]
pub enum Step {
    Scalar(u32),
    Nested(u32),
    Index {
        key: Opd,
        text: bool,
    },
    /// An attribute of an object.
    Attribute(u32),
}

/// A range of code with its handlers; inner ones come first.
#[derive(Clone, Debug, Image)]
pub struct Guard {
    pub from: Label,
    pub to: Label,
    /// Exceptions (empty: OTHERS) and the labels of their handlers.
    pub handlers: Vec<(Vec<u32>, Label)>,
    /// The number of handlers of this frame that are active in the guarded code.
    pub depth: u32,
}

/// An exception of the unit.
#[derive(Clone, Debug, Image)]
pub struct ExceptionDef {
    /// The Oracle error, positive; `None` for a user-defined exception without EXCEPTION_INIT.
    pub code: Option<u32>,
    /// Distinguishes user-defined exceptions of all units.
    pub identity: u64,
}

/// A compiled subprogram, block or package initialisation.
#[derive(Debug, Image)]
pub struct Proc {
    pub name: String,
    pub ops: Vec<Op>,
    /// The source line of each instruction.
    pub lines: Vec<u32>,
    pub guards: Vec<Guard>,
    pub slots: u32,
    pub counters: u32,
    /// Slots 1 … n are parameters.
    pub parameters: u32,
    /// Its slots may hold open cursors.
    pub cursors: bool,
    pub autonomous: bool,
    pub result_cache: Option<Box<ResultCacheDef>>,
}

/// The tables that a function reads, with the dictionary epoch; `None` inside: unknown.
pub type Reads = (u64, Option<Rc<[ObjectId]>>);

#[derive(Debug)]
pub struct ResultCacheDef {
    pub name: String,
    /// The position of its body in the unit, which distinguishes the results of functions with one name.
    pub at: u32,
    pub result: DataType,
    /// The objects that the function reads, directly and through its calls, with the dictionary epoch. `None` inside:
    /// unknown, and the function's results are not cached.
    pub reads: RefCell<Option<Reads>>,
}

/// A static SQL statement of the unit.
#[derive(Clone, Debug, Image)]
pub struct StaticSql {
    /// The text in `v$sql`.
    pub text: String,
    pub binds: Vec<Opd>,
    pub bind_types: Vec<DataType>,
    /// The number of values of RETURNING.
    pub returning: u32,
    pub query: bool,
    /// LOCK TABLE: it has no cursor.
    pub other: bool,
    /// The columns that the code around a query expects.
    pub columns: SqlColumns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum MultisetOp {
    Union,
    Intersect,
    Except,
}

/// Columns of a static query at its compilation. A call continues while DDL changes the objects that the query reads.
#[derive(Clone, Debug, Default, Image)]
pub struct SqlColumns {
    /// A hash of the columns.
    pub mark: u64,
    /// Name and type family; empty and 0 when they are unknown before the query runs.
    list: Vec<(String, u8)>,
}

impl SqlColumns {
    /// The columns with these names and types.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, &'a DataType)>) -> SqlColumns {
        let of = |(name, ty): (&str, &DataType)| (known_name(name).to_string(), family(ty));
        let list: Vec<_> = columns.into_iter().map(of).collect();
        let mut h = DefaultHasher::new();
        list.hash(&mut h);
        SqlColumns { mark: h.finish(), list }
    }

    /// Whether the rows of a query compiled later begin with these columns; `of_any`: the query is resolved for the
    /// caller, whose tables only need as many columns, with convertible values. Additional columns at the end do not
    /// matter.
    pub fn fit<'a>(&self, of_any: bool, columns: impl ExactSizeIterator<Item = (&'a str, &'a DataType)>) -> bool {
        let alike = |((name, kind), (now, ty)): (&(String, u8), (&str, &DataType))| {
            let (now, ty) = (known_name(now), family(ty));
            (name == now || name.is_empty() || now.is_empty()) && (*kind == ty || *kind == 0 || ty == 0)
        };
        columns.len() >= self.list.len() && (of_any || self.list.iter().zip(columns).all(alike))
    }
}

/// The name of a column; empty for a column named after its expression, because variables in it have other names at run
/// time.
fn known_name(name: &str) -> &str {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '#'));
    if is_plain { name } else { "" }
}

/// Groups of types that a variable of one of them can hold.
fn family(ty: &DataType) -> u8 {
    match ty {
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => 1,
        DataType::Varchar2 { .. }
        | DataType::Char { .. }
        | DataType::Nvarchar2 { .. }
        | DataType::Nchar { .. }
        | DataType::Long => 2,
        DataType::Date => 3,
        DataType::Timestamp { zone: Zone::None, .. } => 4,
        DataType::Timestamp { .. } => 12,
        DataType::IntervalYm { .. } => 5,
        DataType::IntervalDs { .. } => 13,
        DataType::Raw { .. } | DataType::LongRaw => 6,
        DataType::Rowid | DataType::Urowid => 7,
        DataType::BinaryFloat => 8,
        DataType::BinaryDouble => 9,
        DataType::Clob | DataType::Nclob => 10,
        DataType::Blob => 11,
        DataType::Bfile => 14,
        DataType::Xml => 15,
        _ => 0,
    }
}

/// A FORALL over a range whose INSERT takes every bind from a place that is known without running code.
#[derive(Clone, Debug, Image)]
pub struct Gather {
    pub sql: u32,
    pub counter: u32,
    pub binds: Vec<GatherFrom>,
}

/// The source of a bind of a [`Gather`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum GatherFrom {
    /// The element at the loop's subscript of the path's root collection, or a field of it.
    Element { path: u32, field: Option<u32> },
    /// An invariant value.
    Value(Opd),
    /// The subscript.
    Index,
}

/// EXECUTE IMMEDIATE and OPEN … FOR text.
#[derive(Clone, Debug, Image)]
pub struct Dynamic {
    pub text: Opd,
    pub using: Vec<(Opd, DataType, bool)>,
    /// The number of values expected from a query; 0 without INTO.
    pub into: u32,
    pub bulk: Option<u32>,
    /// The values of RETURNING, in the record slot.
    pub returning: u32,
}

/// Targets of BULK COLLECT: one path for each column, or one of records for the whole row.
#[derive(Clone, Debug, Image)]
pub struct Bulk {
    pub targets: Vec<BulkTarget>,
    pub width: u32,
}

#[derive(Clone, Debug, Image)]
pub struct BulkTarget {
    pub path: u32,
    pub coll: Rc<CollInfo>,
    /// Columns first … first + n go into one element; a record when the flag says so.
    pub first: u32,
    pub n: u32,
    pub record: bool,
    pub types: Vec<u32>,
}

/// A target type of `Coerce`.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Target {
    pub ty: DataType,
    pub not_null: bool,
    pub range: Option<(i64, i64)>,
}

/// Another unit whose subprogram or state this one uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Image)]
pub struct External {
    pub owner: String,
    pub name: String,
    /// The subprogram and its overload number; empty for variables.
    pub subprogram: String,
    pub overload: u32,
    /// A hash of the unit's interface at the compilation of the code; 0 for the unit itself.
    pub shown: u64,
}

/// Templates and constants that all subprograms of a unit share.
#[derive(Debug, Default, Image)]
pub struct Pool {
    pub consts: Vec<Value>,
    pub templates: Vec<Datum>,
    pub targets: Vec<Target>,
    pub paths: Vec<Path>,
    pub exceptions: Vec<ExceptionDef>,
    pub sql: Vec<StaticSql>,
    pub gathers: Vec<Gather>,
    pub dynamics: Vec<Dynamic>,
    pub bulks: Vec<Bulk>,
    pub externals: Vec<External>,
    pub colls: Vec<Rc<CollInfo>>,
    pub functions: Vec<&'static functions::FnDef>,
}

/// The list of read objects belongs to one session and dictionary epoch, so it is not encoded.
impl Image for ResultCacheDef {
    fn put(&self, w: &mut Writer) {
        let ResultCacheDef { name, at, result, reads: _ } = self;
        name.put(w);
        at.put(w);
        result.put(w);
    }
    fn take(r: &mut Reader<'_>) -> Result<ResultCacheDef, Damaged> {
        let (name, at, result) = (String::take(r)?, u32::take(r)?, DataType::take(r)?);
        Ok(ResultCacheDef { name, at, result, reads: RefCell::default() })
    }
}

crate::datum::shared!(Proc);
