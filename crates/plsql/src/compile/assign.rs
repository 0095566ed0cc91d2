//! Assignment: conversions, and the places of values.

use super::compiler::{CResult, Compiler, Val};
use super::symbols::{Operands, PathB, TargetRef};
use crate::datum::CollKind;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{Expr, Pos};
use types::DataType;

impl<W: World> Compiler<'_, W> {
    /// Computes an expression into a slot of type `ty` that is not visible if the computation fails.
    pub(super) fn assign_expr(&mut self, d: Opd, ty: &Ty, e: &Expr) -> CResult<()> {
        let saved = self.f.next;
        let v = self.operand(e, takes_all(ty).then_some(d))?;
        self.convert_into(d, ty, v, e.pos)?;
        self.f.next = saved;
        Ok(())
    }

    /// Like [`Self::assign_expr`], into a variable, which keeps its value if the conversion fails: a value that needs a
    /// conversion is computed in another slot.
    pub(super) fn assign_variable(&mut self, d: Opd, ty: &Ty, e: &Expr) -> CResult<()> {
        let (ops, saved) = (self.f.ops.len(), self.f.next);
        let mut v = self.operand(e, takes_all(ty).then_some(d))?;
        let fits = match (ty, &v.ty) {
            (Ty::Scalar(to), Ty::Scalar(from)) => fits_without_check(&from.ty, to),
            _ => true,
        };
        if v.o == d && !fits && self.f.ops.len() > ops {
            self.f.ops.truncate(ops);
            self.f.lines.truncate(ops);
            self.f.next = saved;
            v = self.operand(e, None)?;
        }
        self.convert_into(d, ty, v, e.pos)?;
        self.f.next = saved;
        Ok(())
    }

    /// Puts the initial content of a type into a slot, with the defaults of record fields.
    pub(super) fn init_slot(&mut self, d: Opd, ty: &Ty) -> CResult<()> {
        if let Ty::Scalar(_) | Ty::Null = ty {
            let null = self.null();
            self.emit(Op::Move { d, s: null });
            return Ok(());
        }
        if matches!(ty, Ty::Cursor) {
            self.f.cursors = true;
            self.emit(Op::Release { cursor: d });
        }
        let template = self.template(ty.initial());
        self.emit(Op::Init { d, template });
        self.init_fields(d, &[], ty)
    }

    /// Assigns the defaults of a record's fields, including nested records. `steps` lead from the slot to the record.
    fn init_fields(&mut self, d: Opd, steps: &[Step], ty: &Ty) -> CResult<()> {
        let Ty::Record(r) = ty else { return Ok(()) };
        let r = r.clone();
        for field in &r.fields {
            let mut steps = steps.to_vec();
            steps.push(match field.at {
                FieldAt::Scalar(i) => Step::Scalar(i),
                FieldAt::Nested(i) => Step::Nested(i),
            });
            let Some(default) = &field.default else {
                self.init_fields(d, &steps, &field.ty)?;
                continue;
            };
            let saved = self.f.next;
            let t = self.temp();
            self.init_slot(t, &field.ty)?;
            self.assign_expr(t, &field.ty, default)?;
            let path = self.path(Root::Slot(d), steps);
            self.emit(Op::SetPath { path, s: t });
            self.f.next = saved;
        }
        Ok(())
    }

    /// Computes a branch of CASE, or an argument of COALESCE, into a slot; `ty` becomes the type of all of them.
    pub(super) fn case_result(&mut self, e: &Expr, d: Opd, ty: &mut Option<Ty>) -> CResult<()> {
        let saved = self.f.next;
        let v = self.operand(e, Some(d))?;
        match ty {
            Some(t) if !t.is_null() => {
                if !v.ty.is_null() && t.class() != v.ty.class() {
                    if !assignable(v.ty.class(), t.class()) {
                        return Err(self.pls(382, &[], e.pos));
                    }
                    // Branches of different types are converted to the type of the first.
                    let s = t.scalar().expect("not composite").clone();
                    let target = self.target(&s);
                    self.emit(Op::Coerce { d, s: v.o, ty: target });
                    self.f.next = saved;
                    return Ok(());
                }
                if let (Some(DataType::Named(a)), Some(DataType::Named(b))) = (t.data_type(), v.ty.data_type()) {
                    // The type of all branches is the highest of theirs.
                    if self.is_under(a, b)? {
                        *t = Ty::of(DataType::Named(b));
                    } else if !self.is_under(b, a)? {
                        return Err(self.pls(382, &[], e.pos));
                    }
                } else if let (Some(a), Some(b)) = (t.data_type(), v.ty.data_type())
                    && a != b
                    && !v.ty.is_null()
                {
                    *t = Ty::of(unconstrained(if a == DataType::PlsInteger { b } else { a }));
                }
            }
            _ => *ty = Some(v.ty.clone()),
        }
        if v.o != d {
            self.emit(Op::Move { d, s: v.o });
        }
        self.f.next = saved;
        Ok(())
    }

    /// Puts a value into a slot of type `ty`, with conversion and checks.
    pub(super) fn convert_into(&mut self, d: Opd, ty: &Ty, v: Val, pos: Pos) -> CResult<()> {
        let v = if ty.class() == Class::Text { self.shown(v) } else { v };
        match (ty, &v.ty) {
            (Ty::Scalar(to), Ty::Scalar(from)) => {
                // A value of dynamic SQL.
                if let (DataType::Null, DataType::Named(id)) = (from.ty, to.ty) {
                    self.emit(Op::ObjectOf { d, s: v.o, ty: id });
                    return Ok(());
                }
                let is_same_object = match (from.ty, to.ty) {
                    (DataType::Named(from), DataType::Named(to)) => self.is_under(from, to)?,
                    (DataType::Xml, DataType::Xml) => true,
                    _ => false,
                };
                if is_same_object && !to.not_null {
                    self.copy(d, v.o);
                    return Ok(());
                }
                // A value of unknown type becomes XML if its text is.
                let is_unknown = to.ty == DataType::Xml && from.ty == DataType::Null;
                if !is_same_object && !is_unknown && !assignable(class(&from.ty), class(&to.ty)) {
                    return Err(self.pls(382, &[], pos));
                }
                if fits_without_check(&from.ty, to) || (to.ty == DataType::Null) {
                    self.copy(d, v.o);
                } else {
                    let target = self.target(to);
                    self.emit(Op::Coerce { d, s: v.o, ty: target });
                }
            }
            (Ty::Scalar(to), Ty::Null) => {
                if to.not_null {
                    let target = self.target(to);
                    self.emit(Op::Coerce { d, s: v.o, ty: target });
                } else {
                    self.copy(d, v.o);
                }
            }
            (Ty::Null, _) => self.copy(d, v.o),
            (Ty::Record(to), Ty::Record(from)) => {
                if std::rc::Rc::ptr_eq(to, from) {
                    self.copy(d, v.o);
                } else if (to.row || from.row) && to.fields.len() == from.fields.len() {
                    self.copy_fields(d, to, v.o, from, pos)?;
                } else {
                    return Err(self.pls(382, &[], pos));
                }
            }
            (Ty::Coll(to), Ty::Coll(from)) if to.is_host || from.is_host => {
                let Some(element) = to.element.scalar().filter(|_| host_fits(to, from)) else {
                    return Err(self.pls(418, &[], pos));
                };
                let (ty, coll) = (self.target(element), self.coll_info(to));
                self.emit(Op::Recollect { d, s: v.o, coll, ty });
            }
            (Ty::Coll(to), Ty::Coll(from)) => {
                if !std::rc::Rc::ptr_eq(&to.info, &from.info) {
                    return Err(self.pls(382, &[], pos));
                }
                self.copy(d, v.o);
            }
            (Ty::Record(_) | Ty::Coll(_) | Ty::Cursor, Ty::Null) => {
                let template = match ty {
                    Ty::Coll(_) | Ty::Record(_) | Ty::Cursor => ty.initial(),
                    _ => unreachable!("matched above"),
                };
                let template = self.template(template);
                self.emit(Op::Init { d, template });
            }
            // A value of a collection type, returned by SQL.
            (Ty::Coll(to), Ty::Scalar(ScalarTy { ty: DataType::Named(id), .. })) if to.id == Some(*id) => {
                let coll = self.coll_info(to);
                self.emit(Op::CollOf { d, s: v.o, coll });
            }
            (Ty::Cursor, Ty::Cursor) => self.copy(d, v.o),
            (Ty::Cursor, Ty::Scalar(s)) if matches!(s.ty, DataType::Null | DataType::Cursor) => {
                self.emit(Op::CursorOf { d, s: v.o });
            }
            (Ty::Scalar(s), Ty::Cursor) if s.ty == DataType::Null => self.copy(d, v.o),
            _ => return Err(self.pls(382, &[], pos)),
        }
        Ok(())
    }

    pub(super) fn copy(&mut self, d: Opd, s: Opd) {
        if d != s {
            self.emit(Op::Move { d, s });
        }
    }

    pub(super) fn copy_fields(&mut self, d: Opd, to: &RecordTy, s: Opd, from: &RecordTy, pos: Pos) -> CResult<()> {
        // Uses a temporary record, so that a failing field leaves the target unchanged.
        let whole = self.temp();
        let template = self.template(Ty::Null.initial());
        let _ = template;
        let initial = self.template(crate::Datum::Rec(std::rc::Rc::new(to.initial())));
        self.emit(Op::Init { d: whole, template: initial });
        for (t, f) in to.fields.iter().zip(&from.fields) {
            let saved = self.f.next;
            let free = super::scope::Access::Free;
            let source = PathB { steps: vec![step(f)], ..PathB::new(Root::Slot(s), f.ty.clone(), free, &f.name) };
            let v = self.path_value(&source, None);
            let place = PathB { root: Root::Slot(whole), steps: vec![step(t)], ty: t.ty.clone(), ..source };
            self.store(&TargetRef::Path(place), v, pos)?;
            self.f.next = saved;
        }
        self.copy(d, whole);
        Ok(())
    }

    /// Assigns a value to a variable, field, element or bind.
    pub(super) fn store(&mut self, target: &TargetRef, v: Val, pos: Pos) -> CResult<()> {
        match target {
            TargetRef::Bind(bind, ty) => {
                let s = if ty.data_type() == Some(DataType::Null) {
                    v.o
                } else {
                    let t = self.temp();
                    self.convert_into(t, ty, v, pos)?;
                    t
                };
                self.emit(Op::BindSet { bind: *bind, s });
                Ok(())
            }
            TargetRef::Path(p) => {
                if let Some(id) = p.stored {
                    let s = self.temp();
                    self.convert_into(s, &p.ty, v, pos)?;
                    self.emit(Op::CollValue { d: s, s, id });
                    let path = self.path(p.root, p.steps.clone());
                    self.emit(Op::SetPath { path, s });
                    return self.write_back(p, pos);
                }
                if let Some(d) = direct(p) {
                    return self.convert_into(d, &p.ty, v, pos);
                }
                let exact = match (&p.ty, &v.ty) {
                    (Ty::Scalar(to), Ty::Scalar(from)) => fits_without_check(&from.ty, to),
                    (Ty::Scalar(to), Ty::Null) => !to.not_null,
                    _ => false,
                };
                let s = if exact {
                    v.o
                } else {
                    let t = self.temp();
                    self.convert_into(t, &p.ty, v, pos)?;
                    t
                };
                if let (Root::Package { external, slot }, []) = (p.root, p.steps.as_slice()) {
                    self.emit(Op::PackageSet { external, slot, s });
                } else {
                    let path = self.path(p.root, p.steps.clone());
                    self.emit(Op::SetPath { path, s });
                }
                self.write_back(p, pos)
            }
        }
    }

    /// After a change of a copied collection: puts it back into its attribute.
    pub(super) fn write_back(&mut self, p: &PathB, pos: Pos) -> CResult<()> {
        let Some(back) = &p.back else { return Ok(()) };
        let v = Val { o: back.copy, ty: back.attribute.ty.clone() };
        self.store(&TargetRef::Path(back.attribute.clone()), v, pos)
    }

    /// The present value of a target.
    pub(super) fn target_value(&mut self, target: &TargetRef) -> Val {
        match target {
            TargetRef::Path(p) => self.path_value(p, None),
            TargetRef::Bind(bind, ty) => {
                let d = self.temp();
                self.emit(Op::BindGet { d, bind: *bind });
                Val { o: d, ty: ty.clone() }
            }
        }
    }
}

/// Whether a client's table and a PL/SQL table have elements of one family.
pub(super) fn host_fits(a: &CollTy, b: &CollTy) -> bool {
    let is_table = |c: &CollTy| c.info.kind == CollKind::ByInteger;
    is_table(a) && is_table(b) && a.element.class() == b.element.class() && a.element.scalar().is_some()
}

fn step(f: &FieldTy) -> Step {
    match f.at {
        FieldAt::Scalar(n) => Step::Scalar(n),
        FieldAt::Nested(n) => Step::Nested(n),
    }
}

/// The operand of a path that is a variable or a scalar field of a local record.
pub(super) fn direct(p: &PathB) -> Option<Opd> {
    match (p.root, p.steps.as_slice()) {
        _ if p.stored.is_some() || p.back.is_some() => None,
        (Root::Slot(o), []) => Some(o),
        (Root::Slot(o), [Step::Scalar(field)]) => match o.place() {
            Place::Local(slot) => Opd::field(slot, *field),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a slot of that type accepts every value of its type, so that a value can be computed in place.
fn takes_all(ty: &Ty) -> bool {
    matches!(ty, Ty::Scalar(s) if *s == ScalarTy { ty: unconstrained(s.ty), not_null: false, range: None })
}
