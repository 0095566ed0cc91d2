//! The bytecode: instructions of a register machine.
//!
//! A frame is a row of slots on one stack. An operand names a slot of the frame, a constant of the unit, a scalar field
//! of a record in the frame, or a slot of an enclosing subprogram's frame, so that the common operands are read where
//! they lie and nothing is copied to be looked at. A call's arguments are evaluated into the slots where the callee's
//! frame will begin.

use crate::datum::{CollInfo, Datum};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use types::image::{Damaged, Image, Reader, SharedImage, Writer};
use types::{DataType, ObjectId, Value, Zone};

/// Where an instruction reads or writes: two bits of kind, thirty of place.
#[derive(Clone, Copy, PartialEq, Eq, Image)]
pub struct Opd(pub u32);

/// An operand taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Local(u32),
    Const(u32),
    /// A scalar field of a record in a slot of the frame.
    Field(u32, u32),
    /// A slot of the frame so many subprogram levels up.
    Up(u32, u32),
}

impl Opd {
    const KIND: u32 = 30;
    const MASK: u32 = (1 << 30) - 1;
    /// Slots and fields up to this may be named in one `Field` operand.
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
    /// The operator where SQL has it too.
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

/// Functions of numbers with a short way.
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
    /// The function of that name with so many arguments.
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

    /// How many arguments it takes.
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
    /// Sets a slot to a record for a row that is fetched next. A record that is there and fits is used again, with
    /// whatever is in it: a row by row loop allocates nothing.
    InitRow {
        d: Opd,
        template: u32,
    },
    Jump {
        to: Label,
    },
    /// A jump backwards: looks whether the session was killed or interrupted.
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
    /// As `Cmp` and blank-padded: both sides are CHAR.
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
    /// What the values turn out to be: dates, intervals, texts that are numbers.
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
    /// `||` of texts that are no CLOBs: 32,767 bytes at most.
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
    /// Sets up `FOR i IN lo..hi`: the counter and the bound live beside the slots.
    ForInit {
        counter: u32,
        lo: Opd,
        hi: Opd,
        reverse: bool,
    },
    /// Enters the next iteration with `i` set, or jumps out.
    ForNext {
        counter: u32,
        i: Opd,
        out: Label,
    },
    /// Closes an iteration: back to `ForNext`'s body.
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
    /// An object of the type of that number, over `n` slots from `base`.
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
    MultisetUnion {
        d: Opd,
        a: Opd,
        b: Opd,
    },
    /// Calls a subprogram of the same unit; `up` says how many levels above its parent is.
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
    /// Calls a built-in package's subprogram over `n` slots from `base + 1`; the result goes to `base`.
    CallNative {
        native: u32,
        base: u32,
        n: u32,
    },
    /// As [`Op::CallNative`], of a subprogram that changes its first argument: the value is taken out of the variable
    /// `lent` for the call, and put back whether the call fails or not.
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
    /// As [`Op::CallFunction`], of a function that has a short way for numbers.
    CallQuick {
        quick: Quick,
        function: u32,
        base: u32,
    },
    /// Session values that are no package's: SYSDATE, USER, SQLCODE …
    Special {
        what: Special,
        d: Opd,
        a: Opd,
    },
    Return,
    /// ORA-06503: a function fell off its end.
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
    /// Executes a static DML statement; the row that RETURNING gives goes to the record slot `row`.
    Execute {
        sql: u32,
        row: Opd,
    },
    /// Executes a static query that must give one row, into the record slot `row`.
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
    /// Fetches into the record slot `row`; jumps when there is no row. `width` columns are wanted.
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
    /// A loop's cursor is left early.
    CloseLoop {
        cursor: Opd,
    },
    /// A cursor variable begins a new life: what nobody else holds is closed.
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
    /// How many iterations of the last FORALL failed.
    BulkErrors {
        d: Opd,
    },
    /// Which iteration the `index`-th of them was, or with `code` its error.
    BulkError {
        d: Opd,
        index: Opd,
        code: bool,
    },
    ExecuteImmediate {
        dynamic: u32,
        row: Opd,
    },
    /// DML of a FORALL that may be carried out together with that of other iterations: nothing between them looks at
    /// the database.
    ExecuteLater {
        sql: u32,
        row: Opd,
        /// SAVE EXCEPTIONS.
        save: bool,
    },
    /// Behind an iteration of a FORALL: takes those that follow, as far as they are plain.
    ForAllGather {
        gather: u32,
    },
    /// FORALL bookkeeping.
    ForAllBegin,
    /// The subscript of the first iteration; that of each other is one more.
    ForAllFrom {
        lo: Opd,
    },
    /// The subscript of the iteration that begins, where they need not follow one another.
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
    /// A client's table as one of PL/SQL, or the other way round: each element as one of the type.
    Recollect {
        d: Opd,
        s: Opd,
        coll: u32,
        ty: u32,
    },
    /// The collection that a value of SQL is.
    CollOf {
        d: Opd,
        s: Opd,
        coll: u32,
    },
    /// The value that SQL has of a collection of that type.
    CollValue {
        d: Opd,
        s: Opd,
        id: types::TypeId,
    },
    /// The cursor variable that a value of CURSOR(subquery) is.
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
    /// Looks a RESULT_CACHE function's result up; jumps past its body on a hit.
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
    /// The rowid that WHERE CURRENT OF means.
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

/// The way to an element: `t(i).f(j)`.
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

/// A stretch of code with the handlers that guard it; inner ones come first.
#[derive(Clone, Debug, Image)]
pub struct Guard {
    pub from: Label,
    pub to: Label,
    /// Exceptions (empty: OTHERS) and where their handler is.
    pub handlers: Vec<(Vec<u32>, Label)>,
    /// How many handlers of this frame are being run where the guarded code is.
    pub depth: u32,
}

/// An exception of the unit.
#[derive(Clone, Debug, Image)]
pub struct ExceptionDef {
    /// The Oracle error it stands for, positive; `None` for a user's own without EXCEPTION_INIT.
    pub code: Option<u32>,
    /// Tells user-defined exceptions apart over all units.
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
    /// Cursors may be left open in its slots.
    pub cursors: bool,
    pub autonomous: bool,
    pub result_cache: Option<Box<ResultCacheDef>>,
}

/// The tables a function reads as of a dictionary epoch; `None` inside: it cannot be told.
pub type Reads = (u64, Option<Rc<[ObjectId]>>);

#[derive(Debug)]
pub struct ResultCacheDef {
    pub name: String,
    /// Where its body stands in the unit: functions of one name have results of their own.
    pub at: u32,
    pub result: DataType,
    /// What the function reads, itself and through what it calls, as of a dictionary epoch. `None` inside: it cannot be
    /// told, and the function's results are not kept.
    pub reads: RefCell<Option<Reads>>,
}

/// A static SQL statement of the unit.
#[derive(Clone, Debug, Image)]
pub struct StaticSql {
    /// As `v$sql` shows it.
    pub text: String,
    pub binds: Vec<Opd>,
    pub bind_types: Vec<DataType>,
    /// How many values RETURNING gives.
    pub returning: u32,
    pub query: bool,
    /// LOCK TABLE: it has no cursor.
    pub other: bool,
    /// The columns that the code around a query takes its rows for.
    pub columns: SqlColumns,
}

/// Columns of a static query as they were when it was compiled. A call goes on while DDL changes what the query reads.
#[derive(Clone, Debug, Default, Image)]
pub struct SqlColumns {
    /// A number over the columns.
    pub mark: u64,
    /// Name and family of types; the name is empty and the family 0 where they are not known before the query runs.
    list: Vec<(String, u8)>,
}

impl SqlColumns {
    /// Those of names and types.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, &'a DataType)>) -> SqlColumns {
        let of = |(name, ty): (&str, &DataType)| (known_name(name).to_string(), family(ty));
        let list: Vec<_> = columns.into_iter().map(of).collect();
        let mut h = DefaultHasher::new();
        list.hash(&mut h);
        SqlColumns { mark: h.finish(), list }
    }

    /// Whether a query that has been compiled since gives rows that begin with these columns; `of_any`: with the names
    /// of whoever calls, whose tables need have as many columns only, and whose values are converted. Columns that have
    /// come behind them are nothing to the code.
    pub fn fit<'a>(&self, of_any: bool, columns: impl ExactSizeIterator<Item = (&'a str, &'a DataType)>) -> bool {
        let alike = |((name, kind), (now, ty)): (&(String, u8), (&str, &DataType))| {
            let (now, ty) = (known_name(now), family(ty));
            (name == now || name.is_empty() || now.is_empty()) && (*kind == ty || *kind == 0 || ty == 0)
        };
        columns.len() >= self.list.len() && (of_any || self.list.iter().zip(columns).all(alike))
    }
}

/// The name of a column; nothing for one that is called by its expression, in which variables have other names when it
/// runs.
fn known_name(name: &str) -> &str {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '#'));
    if is_plain { name } else { "" }
}

/// Types whose values a variable of one of them holds.
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
        DataType::Blob | DataType::Bfile => 11,
        _ => 0,
    }
}

/// A FORALL over a range whose INSERT takes every bind from a place that is known without running anything.
#[derive(Clone, Debug, Image)]
pub struct Gather {
    pub sql: u32,
    pub counter: u32,
    pub binds: Vec<GatherFrom>,
}

/// Where a bind of a [`Gather`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum GatherFrom {
    /// The element at the loop's subscript of the collection in which the path begins, or a field of it.
    Element { path: u32, field: Option<u32> },
    /// Something that does not change in the loop.
    Value(Opd),
    /// The subscript.
    Index,
}

/// EXECUTE IMMEDIATE and OPEN … FOR text.
#[derive(Clone, Debug, Image)]
pub struct Dynamic {
    pub text: Opd,
    pub using: Vec<(Opd, DataType, bool)>,
    /// Values wanted from a query; 0 when there is no INTO.
    pub into: u32,
    pub bulk: Option<u32>,
    /// Values that RETURNING gives, in the record slot.
    pub returning: u32,
}

/// Targets of BULK COLLECT: one path a column, or one of records for the whole row.
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

/// A type that `Coerce` converts to.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Target {
    pub ty: DataType,
    pub not_null: bool,
    pub range: Option<(i64, i64)>,
}

/// Another unit that this one calls or whose state it reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Image)]
pub struct External {
    pub owner: String,
    pub name: String,
    /// The subprogram and its overload number; empty for variables.
    pub subprogram: String,
    pub overload: u32,
    /// A number over what the unit showed when code was compiled against it; 0 for the unit itself.
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

/// The list of what it reads is a session's, of one epoch of the dictionary.
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
