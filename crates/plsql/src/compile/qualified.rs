//! Qualified expressions: values of records and associative arrays, as `record(a => 1)` and `array('x' => 2)`.
//!
//! The value is built in a temporary, so the elements may be read from the variable that it is assigned to.

use super::compiler::{CResult, Compiler, Val};
use super::scope::Access;
use super::symbols::{PathB, TargetRef};
use crate::datum::CollKind;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{Argument, Expr, ExprKind, Ident, Name};
use std::rc::Rc;

impl<W: World> Compiler<'_, W> {
    /// A record: a value for each field, by position or by name. Fields without one have their defaults, or the value
    /// of OTHERS.
    pub(super) fn qualified_record(&mut self, r: &Rc<RecordTy>, args: &[Argument], ident: &Ident) -> CResult<Val> {
        let wrong = |c: &Self| c.pls(306, &[&ident.name], ident.pos);
        let mut values: Vec<Option<&Expr>> = vec![None; r.fields.len()];
        let mut others = None;
        let mut is_named = false;
        for (i, argument) in args.iter().enumerate() {
            if others.is_some() {
                return Err(wrong(self));
            }
            let (names, value) = match (&argument.name, &argument.value.kind) {
                (Some(name), _) if name.name == "OTHERS" && !name.quoted && r.field("OTHERS").is_none() => {
                    others = Some(&argument.value);
                    continue;
                }
                (Some(name), _) => (vec![name], &argument.value),
                (None, ExprKind::Association { choices, value }) => {
                    let names = choices.iter().map(|choice| match &choice.kind {
                        ExprKind::Name(Name { first, parts }) if parts.is_empty() => Ok(first),
                        _ => Err(wrong(self)),
                    });
                    (names.collect::<CResult<_>>()?, &**value)
                }
                (None, _) if is_named => return Err(self.pls(312, &[], argument.value.pos)),
                (None, _) => {
                    *values.get_mut(i).ok_or_else(|| wrong(self))? = Some(&argument.value);
                    continue;
                }
            };
            is_named = true;
            for name in names {
                let at = r.fields.iter().position(|f| f.name == name.name);
                let at = at.ok_or_else(|| self.pls(302, &[&name.name], name.pos))?;
                if values[at].replace(value).is_some() {
                    return Err(wrong(self));
                }
            }
        }
        if !is_named && others.is_none() && !args.is_empty() && args.len() < r.fields.len() {
            return Err(wrong(self));
        }
        let ty = Ty::Record(r.clone());
        let d = self.temp();
        self.init_slot(d, &ty)?;
        for (field, value) in r.fields.iter().zip(values) {
            let Some(value) = value.or(others) else { continue };
            let step = match field.at {
                FieldAt::Scalar(n) => Step::Scalar(n),
                FieldAt::Nested(n) => Step::Nested(n),
            };
            let saved = self.f.next;
            let v = self.part_value(&field.ty, value)?;
            let part = self.part_of(d, step, field.ty.clone(), &field.name);
            self.store(&TargetRef::Path(part), v, value.pos)?;
            self.f.next = saved;
        }
        Ok(Val { o: d, ty })
    }

    /// An associative array: a value for each key. A later value replaces an earlier one with the same key.
    pub(super) fn qualified_array(&mut self, c: &Rc<CollTy>, args: &[Argument], ident: &Ident) -> CResult<Val> {
        let d = self.temp();
        let coll = self.coll_info(c);
        self.emit(Op::Construct { d, base: 0, n: 0, coll });
        for argument in args {
            let saved = self.f.next;
            let (value, choices) = match (&argument.name, &argument.value.kind) {
                (None, ExprKind::Association { choices, value }) => (&**value, choices.clone()),
                (Some(name), _) => {
                    // A name before the arrow is a variable.
                    let kind = ExprKind::Name(Name { first: name.clone(), parts: Vec::new() });
                    (&argument.value, vec![Expr { kind, pos: name.pos }])
                }
                // not a clause: values without keys
                _ => return Err(self.pls(306, &[&ident.name], ident.pos)),
            };
            let v = self.part_value(&c.element, value)?;
            for choice in &choices {
                let step = self.subscript(c, choice)?;
                let part = self.part_of(d, step, c.element.clone(), &ident.name);
                self.store(&TargetRef::Path(part), v.clone(), value.pos)?;
            }
            self.f.next = saved;
        }
        Ok(Val { o: d, ty: Ty::Coll(c.clone()) })
    }

    /// Whether the values of a collection type have keys.
    pub(super) fn is_array(c: &CollTy) -> bool {
        matches!(c.info.kind, CollKind::ByInteger | CollKind::ByText)
    }

    fn part_of(&self, d: Opd, step: Step, ty: Ty, name: &str) -> PathB {
        PathB { steps: vec![step], ..PathB::new(Root::Slot(d), ty, Access::Free, name) }
    }

    /// A value as an element or a field of that type.
    fn part_value(&mut self, ty: &Ty, value: &Expr) -> CResult<Val> {
        let d = self.temp();
        if !matches!(ty, Ty::Scalar(_)) {
            self.init_slot(d, ty)?;
        }
        self.assign_expr(d, ty, value)?;
        Ok(Val { o: d, ty: ty.clone() })
    }
}
