//! Types in the compiler.

use crate::datum::{Coll, CollData, CollInfo, CollKind, Datum, Rec};
use crate::op::Target;
use sql::plsql::ast::Expr;
use std::rc::Rc;
use std::sync::Arc;
use types::{Composite, DataType, TypeId, Value, Zone};

/// The type of an expression or a variable.
#[derive(Clone, Debug)]
pub enum Ty {
    /// The literal NULL.
    Null,
    Scalar(ScalarTy),
    Record(Rc<RecordTy>),
    Coll(Rc<CollTy>),
    /// A cursor variable.
    Cursor,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScalarTy {
    pub ty: DataType,
    pub not_null: bool,
    pub range: Option<(i64, i64)>,
}

#[derive(Debug)]
pub struct RecordTy {
    pub fields: Vec<FieldTy>,
    /// A row of a table or cursor: assignable from any record with as many fields.
    pub row: bool,
}

#[derive(Clone, Debug)]
pub struct FieldTy {
    pub name: String,
    pub ty: Ty,
    pub default: Option<Expr>,
    /// The place: an index into the record's scalars or its nested contents.
    pub at: FieldAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldAt {
    Scalar(u32),
    Nested(u32),
}

#[derive(Debug)]
pub struct CollTy {
    pub element: Ty,
    pub info: Rc<CollInfo>,
    /// A client's bind that is a table: assignable to and from any index-by table with such elements.
    pub is_host: bool,
    /// Its number, if it is a type of a schema that SQL can use.
    pub id: Option<TypeId>,
}

impl CollTy {
    /// The SQL value of a collection of the type; `None` if its elements are no values.
    pub fn to_value(&self, collection: &Datum) -> Option<Value> {
        let Datum::Coll(collection) = collection else { return None };
        let Some(collection) = collection else { return Some(Value::Null) };
        let part = |element: &Datum| if let Datum::Val(v) = element { Some(v.content().clone()) } else { None };
        let parts: Option<Vec<Value>> = collection.elements().map(part).collect();
        Some(Value::Composite(Arc::new(Composite { ty: self.id?, parts: parts? })))
    }

    /// The collection of an SQL value.
    pub fn of_value(&self, value: &Value) -> Datum {
        collection_of(&self.info, value)
    }
}

/// The collection of a type for an SQL value.
pub(crate) fn collection_of(info: &Rc<CollInfo>, value: &Value) -> Datum {
    let Value::Composite(composite) = value else { return Datum::Coll(None) };
    let elements = composite.parts.iter().map(|part| Some(Datum::Val(part.clone()))).collect();
    Datum::Coll(Some(Rc::new(Coll { info: info.clone(), data: CollData::Dense(elements) })))
}

impl Ty {
    pub const BOOLEAN: Ty = Ty::of(DataType::Boolean);
    pub const NUMBER: Ty = Ty::of(DataType::NUMBER);
    pub const INTEGER: Ty = Ty::of(DataType::PlsInteger);
    pub const TEXT: Ty = Ty::of(DataType::TEXT);
    /// NOT NULL, 32 bits, with arithmetic that wraps around.
    pub const SIMPLE_INTEGER: Ty = Ty::Scalar(ScalarTy {
        ty: DataType::PlsInteger,
        not_null: true,
        range: Some((i32::MIN as i64, i32::MAX as i64)),
    });

    pub const fn of(ty: DataType) -> Ty {
        Ty::Scalar(ScalarTy { ty, not_null: false, range: None })
    }

    pub fn scalar(&self) -> Option<&ScalarTy> {
        match self {
            Ty::Scalar(s) => Some(s),
            _ => None,
        }
    }

    /// The collection type, if SQL can use it.
    pub fn named(&self) -> Option<(&Rc<CollTy>, TypeId)> {
        match self {
            Ty::Coll(c) => Some((c, c.id?)),
            _ => None,
        }
    }

    /// The data type, or that of NULL for the literal; `None` for composites.
    pub fn data_type(&self) -> Option<DataType> {
        match self {
            Ty::Null => Some(DataType::Null),
            Ty::Scalar(s) => Some(s.ty),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Ty::Null)
    }

    pub fn class(&self) -> Class {
        match self {
            Ty::Null => Class::Null,
            Ty::Scalar(s) => class(&s.ty),
            _ => Class::Composite,
        }
    }

    /// The content of a variable that was declared without a value.
    pub fn initial(&self) -> Datum {
        match self {
            Ty::Null | Ty::Scalar(_) => Datum::Val(Value::Null),
            Ty::Record(r) => Datum::Rec(Rc::new(r.initial())),
            Ty::Coll(c) if matches!(c.info.kind, CollKind::ByInteger | CollKind::ByText) => {
                Datum::Coll(Some(Rc::new(Coll::empty(&c.info))))
            }
            Ty::Coll(_) => Datum::Coll(None),
            Ty::Cursor => Datum::Cur(None),
        }
    }
}

impl RecordTy {
    /// Makes a record type and its layout.
    pub fn new(row: bool, fields: impl IntoIterator<Item = (String, Ty, Option<Expr>)>) -> RecordTy {
        let (mut scalars, mut nested) = (0, 0);
        let fields = fields
            .into_iter()
            .map(|(name, ty, default)| {
                let next = match ty {
                    Ty::Scalar(_) | Ty::Null => &mut scalars,
                    _ => &mut nested,
                };
                let index = *next;
                *next += 1;
                let at = match ty {
                    Ty::Scalar(_) | Ty::Null => FieldAt::Scalar(index),
                    _ => FieldAt::Nested(index),
                };
                FieldTy { name, ty, default, at }
            })
            .collect();
        RecordTy { fields, row }
    }

    pub fn field(&self, name: &str) -> Option<&FieldTy> {
        self.fields.iter().find(|f| f.name == name)
    }

    pub fn initial(&self) -> Rec {
        let mut rec = Rec::default();
        for f in &self.fields {
            match f.at {
                FieldAt::Scalar(_) => rec.scalars.push(Value::Null),
                FieldAt::Nested(_) => rec.nested.push(f.ty.initial()),
            }
        }
        rec
    }

    /// Whether every field is a scalar, so that the record can hold a row.
    pub fn flat(&self) -> bool {
        self.fields.iter().all(|f| matches!(f.at, FieldAt::Scalar(_)))
    }
}

/// A client's description of a block's bind.
#[derive(Clone, Copy, Debug, PartialEq, types::image::Image)]
pub struct HostType {
    pub data_type: DataType,
    /// An index-by table with elements of the type.
    pub is_table: bool,
}

impl HostType {
    /// The type of the bind in the compiler, without length. A value of a type that PL/SQL does not have is accepted
    /// unchanged.
    pub(crate) fn ty(self) -> Ty {
        let scalar = match self.data_type {
            DataType::PlsInteger => DataType::PlsInteger,
            DataType::Long => DataType::TEXT,
            DataType::Raw { .. } | DataType::LongRaw => DataType::Raw { len: 32767 },
            DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Bfile | DataType::Urowid => DataType::Null,
            DataType::Timestamp { zone, .. } => DataType::Timestamp { digits: 9, zone },
            DataType::IntervalYm { .. } => DataType::IntervalYm { years: 9 },
            DataType::IntervalDs { .. } => DataType::IntervalDs { days: 9, digits: 9 },
            other => unconstrained(other),
        };
        match (self.is_table, scalar) {
            (true, _) => {
                let info = CollInfo { element: Datum::default(), limit: None, kind: CollKind::ByInteger };
                Ty::Coll(Rc::new(CollTy { element: Ty::of(scalar), info: Rc::new(info), is_host: true, id: None }))
            }
            (false, DataType::Cursor) => Ty::Cursor,
            (false, _) => Ty::of(scalar),
        }
    }
}

/// Families of scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Null,
    Number,
    Float,
    Text,
    Date,
    Timestamp,
    IntervalYm,
    IntervalDs,
    Raw,
    Rowid,
    Boolean,
    /// A BFILE.
    File,
    Composite,
}

pub fn class(ty: &DataType) -> Class {
    match ty {
        DataType::Null => Class::Null,
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => Class::Number,
        DataType::BinaryFloat | DataType::BinaryDouble => Class::Float,
        DataType::Varchar2 { .. }
        | DataType::Char { .. }
        | DataType::Nvarchar2 { .. }
        | DataType::Nchar { .. }
        | DataType::Long
        | DataType::Clob
        | DataType::Nclob => Class::Text,
        DataType::Date => Class::Date,
        DataType::Timestamp { .. } => Class::Timestamp,
        DataType::IntervalYm { .. } => Class::IntervalYm,
        DataType::IntervalDs { .. } => Class::IntervalDs,
        DataType::Raw { .. } | DataType::LongRaw | DataType::Blob => Class::Raw,
        DataType::Bfile => Class::File,
        DataType::Rowid | DataType::Urowid => Class::Rowid,
        DataType::Boolean => Class::Boolean,
        DataType::Cursor | DataType::Named(_) | DataType::Xml => Class::Composite,
    }
}

/// A number for the types of one class that overloads may differ by.
pub fn variant(ty: &DataType) -> u8 {
    match ty {
        DataType::Clob | DataType::Nclob | DataType::Blob | DataType::BinaryDouble => 1,
        DataType::Timestamp { zone: Zone::WithTimeZone, .. } => 2,
        DataType::Timestamp { zone: Zone::WithLocalTimeZone, .. } => 3,
        _ => 0,
    }
}

/// Whether a value of class `from` is assignable to one of class `to`, perhaps with a conversion.
pub fn assignable(from: Class, to: Class) -> bool {
    use Class::*;
    if from == to {
        return from != Composite;
    }
    match (from, to) {
        (Null, Composite) | (Composite, _) | (_, Composite) => false,
        (Null, _) => true,
        (Boolean | File, _) | (_, Boolean | File) => false,
        (Text, _) | (_, Text) => true,
        (Number, Float) | (Float, Number) | (Date, Timestamp) | (Timestamp, Date) => true,
        _ => false,
    }
}

/// Whether a value of type `from` is assignable to `to` without check or conversion.
pub fn fits_without_check(from: &DataType, to: &ScalarTy) -> bool {
    if to.not_null || to.range.is_some() {
        return false;
    }
    match (from, &to.ty) {
        (DataType::Number { .. } | DataType::PlsInteger, DataType::Number { precision: None, scale: None }) => true,
        (DataType::Varchar2 { len: a, .. } | DataType::Char { len: a, .. }, DataType::Varchar2 { len: b, .. }) => {
            *b == 0 || (*a != 0 && a <= b)
        }
        (DataType::PlsInteger, DataType::PlsInteger)
        | (DataType::Boolean, DataType::Boolean)
        | (DataType::Date, DataType::Date)
        | (DataType::Rowid | DataType::Urowid, DataType::Rowid | DataType::Urowid)
        | (DataType::BinaryDouble, DataType::BinaryDouble)
        | (DataType::BinaryFloat, DataType::BinaryFloat)
        | (DataType::Clob, DataType::Clob)
        | (DataType::Blob, DataType::Blob)
        | (DataType::Bfile, DataType::Bfile)
        | (DataType::Xml, DataType::Xml)
        // Any text is accepted, and a long one is not copied.
        | (DataType::Varchar2 { .. } | DataType::Char { .. }, DataType::Clob) => true,
        (a @ (DataType::Timestamp { .. } | DataType::Named(_)), b) => a == b,
        (a @ (DataType::IntervalDs { .. } | DataType::IntervalYm { .. }), b) => a == b,
        _ => false,
    }
}

/// The same type without length and precision, for parameters and binds.
pub fn unconstrained(ty: DataType) -> DataType {
    match ty {
        DataType::Number { .. } | DataType::Float { .. } => DataType::NUMBER,
        DataType::Varchar2 { .. } | DataType::Char { .. } | DataType::Nvarchar2 { .. } | DataType::Nchar { .. } => {
            DataType::TEXT
        }
        other => other,
    }
}

impl From<&ScalarTy> for Target {
    fn from(s: &ScalarTy) -> Target {
        Target { ty: s.ty, not_null: s.not_null, range: s.range }
    }
}
