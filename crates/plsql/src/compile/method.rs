//! Calls of methods, constructors of object types, and comparisons of objects.

use super::call::Receiver;
use super::compiler::{CResult, Compiler, Val};
use super::scope::*;
use super::symbols::{Operands, PathB, object_id};
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{Argument, Expr, Ident, MethodKind, Name, Part, Pos, TypeRef};
use std::rc::Rc;
use types::{DataType, TypeId, Value};

impl<W: World> Compiler<'_, W> {
    /// Calls a method of an object; `None` for a procedure. `is_fixed`: that of the static type.
    pub(super) fn method_call(
        &mut self,
        path: &PathB,
        id: TypeId,
        (f, args): (&Ident, &[Argument]),
        function: bool,
        is_fixed: bool,
    ) -> CResult<Option<Val>> {
        // A chain of calls is compiled recursively.
        self.check_nesting(f.pos)?;
        let object = self.object_sym(id)?;
        let Some(list) = object.methods.get(&f.name) else { return Err(self.pls(302, &[&f.name], f.pos)) };
        if self.object != Some(id) {
            // A method needs EXECUTE on its object's type, which the unit may not have named.
            let of = [&object.def.owner, &object.def.name];
            let of = of.map(|name| Ident { name: name.clone(), quoted: true, pos: f.pos });
            if self.interface_of(&of)?.is_none() {
                return Err(self.pls(302, &[&f.name], f.pos));
            }
        }
        let members: Vec<Rc<SubSym>> = list.iter().filter(|sub| sub.has_self()).cloned().collect();
        if members.is_empty() {
            return Err(self.pls(587, &[], f.pos));
        }
        if is_fixed && members.iter().all(|sub| sub.method.as_ref().is_some_and(|m| !m.instantiable)) {
            return Err(self.pls(639, &[], f.pos));
        }
        self.call_of(&members, args, f, function, Receiver::Object { path, is_fixed })
    }

    /// Calls a static method.
    pub(super) fn static_call(
        &mut self,
        id: TypeId,
        f: &Ident,
        args: &[Argument],
        function: bool,
    ) -> CResult<Option<Val>> {
        let object = self.object_sym(id)?;
        let Some(list) = object.methods.get(&f.name) else { return Err(self.pls(302, &[&f.name], f.pos)) };
        let statics: Vec<Rc<SubSym>> = list.iter().filter(|sub| !sub.has_self()).cloned().collect();
        if statics.is_empty() {
            return Err(self.pls(588, &[], f.pos));
        }
        self.call(&statics, args, f, function)
    }

    /// The constructor of an object type: one of its own, or that with a value for each attribute.
    pub(super) fn object(&mut self, id: TypeId, args: &[Argument], ident: &Ident) -> CResult<Val> {
        let object = self.object_sym(id)?;
        if !object.def.lineage.instantiable {
            return Err(self.pls(713, &[], ident.pos));
        }
        if object.constructors.is_empty() {
            return self.object_by_attributes(id, args, ident);
        }
        let mut all = object.constructors.clone();
        all.extend(object.by_attributes.clone());
        let chosen = self.choose(&all, args, ident, true)?;
        if chosen.method.is_none() {
            return self.object_by_attributes(id, args, ident);
        }
        let types::TypeShape::Object(attributes) = &object.def.shape else {
            return Err(self.pls(330, &[], ident.pos));
        };
        let empty = types::Composite { ty: id, parts: vec![Value::Null; attributes.len()] };
        let template = self.template(crate::Datum::Val(Value::Composite(std::sync::Arc::new(empty))));
        let made = self.call_of(&[chosen], args, ident, true, Receiver::New { template })?;
        made.ok_or_else(|| self.pls(222, &[&ident.name], ident.pos))
    }

    /// The constructor with a value for each attribute, by position or by name.
    fn object_by_attributes(&mut self, id: TypeId, args: &[Argument], ident: &Ident) -> CResult<Val> {
        let wrong = |c: &Self| c.pls(306, &[&ident.name], ident.pos);
        let def = self.units.type_def(id).ok_or_else(|| wrong(self))?;
        let types::TypeShape::Object(attributes) = &def.shape else { return Err(self.pls(330, &[], ident.pos)) };
        if args.len() != attributes.len() {
            return Err(wrong(self));
        }
        let d = self.temp();
        let base = self.slots(args.len() as u32);
        let mut given = vec![false; args.len()];
        for (i, a) in args.iter().enumerate() {
            let at = match &a.name {
                None => i,
                Some(name) => attributes.iter().position(|x| x.name == name.name).ok_or_else(|| wrong(self))?,
            };
            if std::mem::replace(&mut given[at], true) {
                return Err(wrong(self));
            }
            let saved = self.f.next;
            let (d, ty) = (Opd::local(base + at as u32), self.attribute_type(attributes[at].ty)?);
            self.assign_expr(d, &ty, &a.value)
                .map_err(|e| if e.code() == 382 { self.pls(306, &[&ident.name], ident.pos) } else { e })?;
            if let Some((_, id)) = ty.named() {
                self.emit(Op::CollValue { d, s: d, id });
            }
            self.f.next = saved;
        }
        self.emit(Op::ConstructObject { d, base, n: args.len() as u32, ty: id.0 });
        Ok(Val { o: d, ty: Ty::of(DataType::Named(id)) })
    }

    /// The name with SELF before it, if it is an attribute or a method of the object type whose method is compiled.
    pub(super) fn name_of_self(&mut self, n: &Name) -> CResult<Option<Name>> {
        let Some(id) = self.object else { return Ok(None) };
        let Some(Symbol::Var(own)) = self.lookup("SELF") else { return Ok(None) };
        if object_id(&own.ty) != Some(id) {
            return Ok(None);
        }
        let object = self.object_sym(id)?;
        let is_member = object.methods.get(&n.first.name).is_some_and(|list| list.iter().any(|sub| sub.has_self()));
        if !is_member && object.def.attribute(&n.first.name).is_none() {
            return Ok(None);
        }
        let first = Ident { name: "SELF".into(), quoted: false, pos: n.first.pos };
        let parts = std::iter::once(Part::Field(n.first.clone())).chain(n.parts.iter().cloned()).collect();
        Ok(Some(Name { first, parts }))
    }

    /// The static methods with that name of the object type whose method is compiled.
    pub(super) fn own_static(&mut self, name: &str) -> CResult<Option<Symbol>> {
        let Some(id) = self.object else { return Ok(None) };
        let object = self.object_sym(id)?;
        let Some(list) = object.methods.get(name) else { return Ok(None) };
        let statics: Vec<Rc<SubSym>> = list.iter().filter(|sub| !sub.has_self()).cloned().collect();
        Ok((!statics.is_empty()).then_some(Symbol::Subs(statics)))
    }

    /// The object type of TREAT, IS OF and views of objects; `from` is the type of the value.
    pub(super) fn related_type(&mut self, from: &Ty, ty: &TypeRef) -> CResult<TypeId> {
        let to = self.type_ref(ty)?;
        let (Some(from), Some(id)) = (object_id(from), object_id(&to)) else {
            return Err(self.pls(382, &[], ty.pos));
        };
        if self.is_under(id, from)? || self.is_under(from, id)? { Ok(id) } else { Err(self.pls(382, &[], ty.pos)) }
    }

    /// `TREAT(operand AS type)`.
    pub(super) fn treat(&mut self, operand: &Expr, ty: &TypeRef, want: Option<Opd>) -> CResult<Val> {
        let v = self.operand(operand, None)?;
        let id = self.related_type(&v.ty, ty)?;
        let d = self.result(want.filter(|d| d.is_local()));
        self.emit(Op::Treat { d, s: v.o, ty: id });
        Ok(Val { o: d, ty: Ty::of(DataType::Named(id)) })
    }

    /// `IS OF (type, …)`.
    pub(super) fn is_of(&mut self, operand: &Expr, list: &[(bool, TypeRef)]) -> CResult<Val> {
        let v = self.operand(operand, None)?;
        let d = self.temp();
        for (i, (only, ty)) in list.iter().enumerate() {
            let id = self.related_type(&v.ty, ty)?;
            let to = if i == 0 { d } else { self.temp() };
            self.emit(Op::IsOf { d: to, s: v.o, ty: id, only: *only });
            if i > 0 {
                self.emit(Op::Or { d, a: d, b: to });
            }
        }
        Ok(Val { o: d, ty: Ty::BOOLEAN })
    }

    /// Compares two objects by the MAP or ORDER method of their type. NULL if one of them is.
    pub(super) fn compare_objects(&mut self, op: Cmp, (a, b): (Val, Val), pos: Pos) -> CResult<Val> {
        let (Some(x), Some(y)) = (object_id(&a.ty), object_id(&b.ty)) else { return Err(self.pls(382, &[], pos)) };
        let common = if self.is_under(x, y)? { y } else { x };
        if !self.is_under(y, common)? {
            return Err(self.pls(306, &[&"="], pos));
        }
        let object = self.object_sym(common)?;
        let Some(order) = object.order.clone() else { return Err(self.pls(526, &[], pos)) };
        let d = self.temp();
        let null = self.null();
        self.emit(Op::Move { d, s: null });
        let jumps = [self.emit(Op::JumpIfNull { c: a.o, to: 0 }), self.emit(Op::JumpIfNull { c: b.o, to: 0 })];
        let ident = Ident { name: order.name.clone(), quoted: true, pos };
        let saved = self.f.next;
        let path = |v: &Val| PathB::new(Root::Slot(v.o), v.ty.clone(), Access::Constant, &order.name);
        let (left, right) = (self.held_value(a), self.held_value(b));
        let is_map = order.method.as_ref().is_some_and(|method| method.kind == MethodKind::Map);
        let (x, y) = if is_map {
            let x = self.method_call(&path(&left), common, (&ident, &[]), true, false)?;
            let y = self.method_call(&path(&right), common, (&ident, &[]), true, false)?;
            (x, y)
        } else {
            let other = Receiver::Compared { path: &path(&left), other: right };
            let x = self.call_of(std::slice::from_ref(&order), &[], &ident, true, other)?;
            let zero = self.constant(Value::Number(types::Number::ZERO));
            (x, Some(Val { o: zero, ty: Ty::NUMBER }))
        };
        let (Some(x), Some(y)) = (x, y) else { return Err(self.pls(222, &[&order.name], pos)) };
        self.emit(Op::Cmp { op, d, a: x.o, b: y.o });
        self.f.next = saved;
        jumps.into_iter().for_each(|j| self.patch(j));
        Ok(Val { o: d, ty: Ty::BOOLEAN })
    }

    /// A value in a slot of the frame, where a path can begin.
    pub(super) fn held_value(&mut self, v: Val) -> Val {
        if matches!(v.o.place(), Place::Local(_) | Place::Up(..)) {
            return v;
        }
        let d = self.temp();
        self.emit(Op::Move { d, s: v.o });
        Val { o: d, ty: v.ty }
    }
}
