//! The types of the rows of pipelined functions.
//!
//! SQL knows a collection by the number of its type. A collection type of a package has no number, and neither has its
//! record: as in Oracle, which creates types with generated names for them, both get numbers of their own. A number is
//! a hash of the function's name, so it is the same in each session.

use super::scope::{SubSym, SubTarget};
use super::units::Units;
use crate::datum::CollKind;
use crate::ty::{CollTy, FieldAt, Ty};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use types::{Attribute, DataType, Lineage, TypeDef, TypeId, TypeShape};

/// The name of a bind that no text can have: a block compiled with it may call pipelined functions.
pub(crate) const PIPE_BIND: &str = "\0PIPE";

/// First number of these types: above those of objects, below those of built-in types.
const FIRST: u32 = 0x8000_0000;
const NUMBERS: u64 = 0x3FFF_FFFF;

/// Whether a pipelined function may have that result: a collection of values of SQL, or of records of them.
pub(super) fn is_piped(ty: &Ty) -> bool {
    let Ty::Coll(c) = ty else { return false };
    let is_list = matches!(c.info.kind, CollKind::Nested | CollKind::Varray);
    is_list && shape_of_row(&c.element).is_some()
}

enum Row {
    Value(DataType),
    Record(Vec<Attribute>),
}

fn shape_of_row(element: &Ty) -> Option<Row> {
    let of = |ty: &Ty| match ty.data_type()? {
        DataType::PlsInteger => Some(DataType::NUMBER),
        DataType::Boolean | DataType::Cursor | DataType::Null => None,
        other => Some(other),
    };
    match element {
        Ty::Record(r) => {
            let attribute = |f: &crate::ty::FieldTy| match f.at {
                FieldAt::Scalar(_) => Some(Attribute { name: f.name.clone(), ty: of(&f.ty)? }),
                FieldAt::Nested(_) => None,
            };
            r.fields.iter().map(attribute).collect::<Option<Vec<_>>>().map(Row::Record)
        }
        element => of(element).map(Row::Value),
    }
}

impl Units {
    /// The type of a pipelined function's result for SQL; `None` if SQL has no such type.
    pub(crate) fn type_of_rows(&self, sub: &SubSym) -> Option<TypeId> {
        let Some(Ty::Coll(c)) = &sub.returns else { return None };
        c.id.or_else(|| self.generated(sub, c)).filter(|_| sub.is_pipelined)
    }

    /// The type of the function's rows, if they are records.
    pub(crate) fn type_of_row(&self, sub: &SubSym) -> Option<TypeId> {
        let DataType::Named(row) = self.type_def(self.type_of_rows(sub)?)?.element()? else { return None };
        Some(row)
    }

    fn generated(&self, sub: &SubSym, c: &CollTy) -> Option<TypeId> {
        let SubTarget::External(e) = &sub.target else { return None };
        let mut h = DefaultHasher::new();
        (&e.owner, &e.name, &e.subprogram, e.overload).hash(&mut h);
        let id = TypeId(FIRST + (h.finish() & NUMBERS) as u32 * 2 % (NUMBERS as u32 - 1));
        let row = TypeId(id.0 + 1);
        let name = format!("SYS_PLSQL_{}_{}_{}", e.name, e.subprogram, e.overload);
        let def = |id, shape, suffix: &str| {
            let (owner, name) = (e.owner.clone(), format!("{name}_{suffix}"));
            TypeDef { id, owner, name, shape, lineage: Lineage::default() }
        };
        let element = match shape_of_row(&c.element)? {
            Row::Value(ty) => ty,
            Row::Record(attributes) => {
                self.keep_generated(def(row, TypeShape::Object(attributes), "1"))?;
                DataType::Named(row)
            }
        };
        self.keep_generated(def(id, TypeShape::Table { element }, "2"))
    }

    /// `None` if another function has the same number.
    fn keep_generated(&self, def: TypeDef) -> Option<TypeId> {
        let id = def.id;
        let mut types = self.types.borrow_mut();
        let is_others = types.get(&id).is_some_and(|known| (&known.owner, &known.name) != (&def.owner, &def.name));
        if is_others {
            return None;
        }
        types.insert(id, Rc::new(def));
        Some(id)
    }
}
