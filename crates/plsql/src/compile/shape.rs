//! Hashes of what must be equal where code of two units meets (invariant 10): the layout of a package's state, and the
//! interface of a unit.
//!
//! A unit keeps its source when a type that it names changes, but its state, and code compiled against it earlier,
//! still have the old positions of fields. Both are compared by these hashes.

use super::scope::{Loc, Param, SubSym, Symbol};
use crate::ty::{CollTy, RecordTy, Ty};
use sql::plsql::ast::Mode;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use types::DataType;

/// A hash of the variables, cursors and subprograms among the names.
pub(super) fn of_names(names: &HashMap<String, Symbol>) -> u64 {
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    let mut h = DefaultHasher::new();
    for (name, symbol) in sorted {
        name.hash(&mut h);
        symbol_into(symbol, &mut h);
    }
    h.finish()
}

/// A hash of the parameters and the result of a subprogram.
pub(super) fn of_subprogram(s: &SubSym) -> u64 {
    let mut h = DefaultHasher::new();
    subprogram_into(s, &mut h);
    h.finish()
}

/// A hash of the types and modes of parameters: that of a method is also that of the methods that override it.
pub(super) fn of_signature(parameters: &[Param], function: bool) -> u32 {
    let mut h = DefaultHasher::new();
    function.hash(&mut h);
    for Param { name, mode, ty, default: _ } in parameters {
        name.hash(&mut h);
        std::mem::discriminant(mode).hash(&mut h);
        ty_into(ty, &mut h);
    }
    (h.finish() as u32).max(1)
}

/// A hash of the attributes and methods of an object type.
pub(super) fn of_object(attributes: &[types::Attribute], methods: &[&SubSym]) -> u64 {
    let mut h = DefaultHasher::new();
    for attribute in attributes {
        attribute.name.hash(&mut h);
        data_type_into(&attribute.ty, &mut h);
    }
    methods.iter().for_each(|s| subprogram_into(s, &mut h));
    h.finish()
}

fn symbol_into(symbol: &Symbol, h: &mut DefaultHasher) {
    std::mem::discriminant(symbol).hash(h);
    match symbol {
        Symbol::Var(var) => {
            slot_into(&var.loc, h);
            ty_into(&var.ty, h);
        }
        Symbol::Type(ty) => ty_into(ty, h),
        Symbol::Cursor(cursor) => {
            slot_into(&cursor.loc, h);
            parameters_into(&cursor.parameters, h);
            record_into(&cursor.row, h);
        }
        Symbol::Exception(_) => {}
        Symbol::Subs(all) => all.iter().for_each(|s| subprogram_into(s, h)),
    }
}

fn slot_into(loc: &Loc, h: &mut DefaultHasher) {
    match loc {
        Loc::Frame { .. } => {}
        Loc::Package { home: _, slot } => slot.hash(h),
    }
}

fn subprogram_into(s: &SubSym, h: &mut DefaultHasher) {
    let SubSym {
        name,
        parameters,
        returns,
        target: _,
        deterministic: _,
        is_pipelined,
        accessible_by,
        invokers: _,
        overload,
        method,
    } = s;
    if let Some(method) = method {
        (method.kind, method.of, method.receiver == Mode::In, method.instantiable).hash(h);
    }
    (name, overload, returns.is_some(), is_pipelined, accessible_by).hash(h);
    parameters_into(parameters, h);
    if let Some(ty) = returns {
        ty_into(ty, h);
    }
}

fn parameters_into(parameters: &[Param], h: &mut DefaultHasher) {
    parameters.len().hash(h);
    for Param { name, mode, ty, default } in parameters {
        name.hash(h);
        std::mem::discriminant(mode).hash(h);
        default.is_some().hash(h);
        ty_into(ty, h);
    }
}

fn ty_into(ty: &Ty, h: &mut DefaultHasher) {
    std::mem::discriminant(ty).hash(h);
    match ty {
        Ty::Null | Ty::Cursor => {}
        Ty::Scalar(s) => {
            (s.not_null, s.range).hash(h);
            data_type_into(&s.ty, h);
        }
        Ty::Record(r) => record_into(r, h),
        Ty::Coll(c) => {
            let CollTy { element, info, is_host: _, id } = &**c;
            (info.kind, info.limit, id.is_some()).hash(h);
            ty_into(element, h);
        }
    }
}

/// Whether lengths count bytes or characters depends on the session that compiles, and does not affect positions.
fn data_type_into(ty: &DataType, h: &mut DefaultHasher) {
    match ty {
        DataType::Varchar2 { len, unit: _ } | DataType::Char { len, unit: _ } => {
            std::mem::discriminant(ty).hash(h);
            len.hash(h);
        }
        ty => ty.hash(h),
    }
}

fn record_into(r: &RecordTy, h: &mut DefaultHasher) {
    r.fields.len().hash(h);
    for field in &r.fields {
        field.name.hash(h);
        ty_into(&field.ty, h);
    }
}
