//! Calls: overloads, named arguments, defaults, OUT parameters.

use super::ask::Interfaces;
use super::assign::{direct, host_fits};
use super::compiler::{CResult, Compiler, Val};
use super::scope::*;
use super::symbols::{Operands, PathB, TargetRef, object_id};
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{Argument, Expr, Ident, Mode};
use std::rc::Rc;

/// SELF of a call.
pub(super) enum Receiver<'p> {
    /// The subprogram has none.
    None,
    /// A variable or value. `is_fixed`: the method is not chosen by the object's type.
    Object { path: &'p PathB, is_fixed: bool },
    /// An ORDER method is called for two objects.
    Compared { path: &'p PathB, other: Val },
    /// A new object without attributes, for a constructor.
    New { template: u32 },
}

impl<W: World> Compiler<'_, W> {
    /// Emits a call; returns the result of a function. `function`: a value is wanted.
    pub(super) fn call(
        &mut self,
        subs: &[Rc<SubSym>],
        args: &[Argument],
        ident: &Ident,
        function: bool,
    ) -> CResult<Option<Val>> {
        self.call_of(subs, args, ident, function, Receiver::None)
    }

    /// Like [`Self::call`], of a method.
    pub(super) fn call_of(
        &mut self,
        subs: &[Rc<SubSym>],
        args: &[Argument],
        ident: &Ident,
        function: bool,
        receiver: Receiver<'_>,
    ) -> CResult<Option<Val>> {
        let compared = matches!(receiver, Receiver::Compared { .. });
        let sub = match subs {
            [only] if compared => only.clone(),
            subs => self.choose(subs, args, ident, function)?,
        };
        if sub.is_pipelined && !self.calls_pipelined {
            return Err(self.pls(653, &[], ident.pos));
        }
        if let SubTarget::External(e) = &sub.target
            && !self.has_access(&e.owner, &e.name, &sub.accessible_by)
        {
            return Err(self.pls(904, &[&sub.name], ident.pos));
        }
        let matched = if compared { vec![None] } else { self.match_arguments(&sub, args, ident)? };
        if matches!(&sub.target, SubTarget::External(e) if !e.owner.is_empty()) {
            args.iter().for_each(|argument| self.note_passed(&argument.value));
        }
        let window = self.window_start();
        // Targets of OUT parameters are resolved before the call, below its window.
        let mut outs: Vec<(usize, TargetRef)> = Vec::new();
        for (j, p) in sub.parameters.iter().enumerate() {
            if p.mode != Mode::In
                && let Some(Some(e)) = matched.get(j)
            {
                outs.push((j, self.out_operand(e)?));
            }
        }
        let _ = window;
        let receiver_mode = sub.method.as_ref().map_or(Mode::In, |method| method.receiver);
        let own = match &receiver {
            Receiver::Object { path, is_fixed: _ } if receiver_mode != Mode::In => {
                if path.access != Access::Free {
                    return Err(self.pls(363, &[&path.name], ident.pos));
                }
                Some(TargetRef::Path((*path).clone()))
            }
            Receiver::None | Receiver::Object { .. } | Receiver::Compared { .. } | Receiver::New { .. } => None,
        };
        let lent = outs.first().filter(|(j, _)| *j == 0).and_then(|(_, target)| self.lent(&sub, target));
        let n = sub.parameters.len() as u32;
        let first = 1 + u32::from(sub.has_self());
        let base = self.slots(n + first);
        match &receiver {
            Receiver::None => {}
            Receiver::Object { path, is_fixed: _ } | Receiver::Compared { path, other: _ } => {
                let saved = self.f.next;
                let d = Opd::local(base + 1);
                let v = self.path_value(path, Some(d));
                self.copy(d, v.o);
                self.f.next = saved;
            }
            Receiver::New { template } => {
                self.emit(Op::Init { d: Opd::local(base + 1), template: *template });
            }
        }
        for (j, p) in sub.parameters.iter().enumerate() {
            let d = Opd::local(base + first + j as u32);
            let saved = self.f.next;
            if let Receiver::Compared { path: _, other } = &receiver {
                self.convert_into(d, &p.ty, other.clone(), ident.pos)?;
                continue;
            }
            match (&matched[j], p.mode) {
                (Some(e), Mode::In) => self.argument(d, p, e, ident)?,
                (Some(_), Mode::Out) => self.init_slot(d, &p.ty)?,
                (Some(_), Mode::InOut) if j == 0 && lent.is_some() => {}
                (Some(_), Mode::InOut) => {
                    let target = outs.iter().find(|(k, _)| *k == j).expect("an OUT target was found").1.clone();
                    let v = self.target_value(&target);
                    self.convert_into(d, &p.ty, v, ident.pos)?;
                }
                (None, _) => self.default_argument(d, &sub, p)?,
            }
            self.f.next = saved;
        }
        match &sub.target {
            SubTarget::Local { proc, level } => {
                let up = self.f.level + 1 - level;
                self.emit(Op::Call { proc: *proc, base, up });
            }
            SubTarget::External(e) if e.owner.is_empty() => {
                let native = crate::packages::native(&e.name, &e.subprogram, e.overload)
                    .ok_or_else(|| self.pls(302, &[&e.subprogram], ident.pos))?;
                match lent {
                    Some(lent) => self.emit(Op::CallLent { native, base, n, lent }),
                    None => self.emit(Op::CallNative { native, base, n }),
                };
            }
            SubTarget::External(e) => {
                let external = self.external((**e).clone());
                let of = sub.method.as_ref().map_or(types::TypeId(0), |method| method.of);
                match receiver {
                    Receiver::Object { path: _, is_fixed } => {
                        self.emit(Op::CallMethod { external, base, of, is_fixed });
                    }
                    Receiver::Compared { .. } => {
                        self.emit(Op::CallMethod { external, base, of, is_fixed: false });
                    }
                    Receiver::None | Receiver::New { .. } => {
                        self.emit(Op::CallExternal { external, base });
                    }
                }
            }
        }
        if let Some(target) = &own {
            let saved = self.f.next;
            let of = sub.method.as_ref().map(|method| Ty::of(types::DataType::Named(method.of)));
            let v = self.returned(Opd::local(base + 1), of.as_ref().unwrap_or(&Ty::Null), &target.ty())?;
            self.store(target, v, ident.pos)?;
            self.f.next = saved;
        }
        for (j, target) in outs.iter().filter(|(j, _)| *j > 0 || lent.is_none()) {
            let saved = self.f.next;
            let v = self.returned(Opd::local(base + first + *j as u32), &sub.parameters[*j].ty, &target.ty())?;
            self.store(target, v, ident.pos)?;
            self.f.next = saved;
        }
        self.f.next = base + 1;
        Ok(sub.returns.clone().map(|ty| Val { o: Opd::local(base), ty }))
    }

    /// The value of an OUT parameter for its variable. A variable of a subtype takes an object of that type only.
    fn returned(&mut self, o: Opd, of: &Ty, to: &Ty) -> CResult<Val> {
        if let (Some(above), Some(id)) = (object_id(of), object_id(to))
            && above != id
            && self.is_under(id, above)?
        {
            self.emit(Op::ObjectOf { d: o, s: o, ty: id });
            return Ok(Val { o, ty: to.clone() });
        }
        Ok(Val { o, ty: of.clone() })
    }

    /// The variable that a procedure of DBMS_LOB changes in place: a LOB of the parameter's type in a known slot.
    /// Others are copied in and out.
    fn lent(&self, sub: &SubSym, target: &TargetRef) -> Option<Opd> {
        let SubTarget::External(e) = &sub.target else { return None };
        let is_lobs = e.owner.is_empty() && e.name == "DBMS_LOB";
        let TargetRef::Path(path) = target else { return None };
        let wanted = sub.parameters.first()?.ty.scalar()?;
        let is_same = path.ty.scalar().is_some_and(|s| s.ty == wanted.ty && !s.not_null);
        if is_lobs && is_same { direct(path) } else { None }
    }

    fn window_start(&self) -> u32 {
        self.f.next
    }

    fn argument(&mut self, d: Opd, p: &Param, e: &Expr, ident: &Ident) -> CResult<()> {
        self.assign_expr(d, &p.ty, e)
            .map_err(|error| if error.code() == 382 { self.pls(306, &[&ident.name], ident.pos) } else { error })
    }

    fn default_argument(&mut self, d: Opd, sub: &Rc<SubSym>, p: &Param) -> CResult<()> {
        let Some(default) = p.default.clone() else { unreachable!("arguments were matched") };
        // A default has the meaning of its place of declaration.
        let scopes = match &sub.target {
            SubTarget::External(e) => {
                let owner = if e.owner.is_empty() { None } else { Some(e.owner.as_str()) };
                let symbols =
                    match self.units.named_interface(&mut **self.w.borrow_mut(), owner, &e.name, &self.owner)? {
                        Some(Interface::Package(package)) => package.symbols.clone(),
                        _ => Default::default(),
                    };
                Some(std::mem::replace(&mut self.scopes, vec![Scope { labels: Vec::new(), names: symbols }]))
            }
            SubTarget::Local { .. } => None,
        };
        let result = self.assign_expr(d, &p.ty, &default);
        if let Some(scopes) = scopes {
            self.scopes = scopes;
        }
        result
    }

    /// Finds the overload for the arguments.
    pub(super) fn choose(
        &mut self,
        subs: &[Rc<SubSym>],
        args: &[Argument],
        ident: &Ident,
        function: bool,
    ) -> CResult<Rc<SubSym>> {
        let of_kind: Vec<&Rc<SubSym>> = subs.iter().filter(|s| s.returns.is_some() == function).collect();
        if of_kind.is_empty() {
            return Err(if function {
                self.pls(222, &[&ident.name], ident.pos)
            } else {
                self.pls(221, &[&ident.name], ident.pos)
            });
        }
        let fitting: Vec<Rc<SubSym>> = of_kind.iter().filter(|s| arity_fits(s, args)).map(|s| (*s).clone()).collect();
        if let [only] = fitting.as_slice() {
            return Ok(only.clone());
        }
        if fitting.is_empty() {
            return Err(self.pls(306, &[&ident.name], ident.pos));
        }
        // The same call, compiled again because of an enclosing call, has the same arguments.
        let place = (args.as_ptr() as usize, ident.pos);
        if let Some(known) = self.chosen.get(&place)
            && let Some(found) = fitting.iter().find(|s| Rc::ptr_eq(s, known))
        {
            return Ok(found.clone());
        }
        let mut types = Vec::new();
        for a in args {
            types.push(self.probe(&a.value)?);
        }
        let score = |s: &SubSym| -> Option<u32> {
            let mut total = 0;
            for (i, a) in args.iter().enumerate() {
                let p = match &a.name {
                    Some(name) => s.parameters.iter().find(|p| p.name == name.name)?,
                    None => s.parameters.get(i)?,
                };
                total += match (object_id(&types[i]), object_id(&p.ty)) {
                    (Some(from), Some(to)) if from == to => 0,
                    // The nearest supertype fits best.
                    (Some(from), Some(to)) => {
                        let def = self.units.type_def(from)?;
                        def.lineage.supertypes.iter().position(|id| *id == to)? as u32 + 1
                    }
                    _ => fit(&types[i], &p.ty)?,
                };
            }
            Some(total)
        };
        let mut best: Vec<(u32, &Rc<SubSym>)> = fitting.iter().filter_map(|s| Some((score(s)?, s))).collect();
        best.sort_by_key(|(total, _)| *total);
        let best = match best.as_slice() {
            [] => return Err(self.pls(306, &[&ident.name], ident.pos)),
            [(a, _), (b, _), ..] if a == b => return Err(self.pls(307, &[&ident.name], ident.pos)),
            [(_, first), ..] => (*first).clone(),
        };
        self.chosen.insert(place, best.clone());
        Ok(best)
    }

    /// The type of an expression; emits no code.
    fn probe(&mut self, e: &Expr) -> CResult<Ty> {
        let (ops, next) = (self.f.ops.len(), self.f.next);
        let result = self.operand(e, None);
        self.f.ops.truncate(ops);
        self.f.lines.truncate(ops);
        self.f.next = next;
        Ok(result?.ty)
    }

    /// The argument of each parameter.
    fn match_arguments<'e>(&self, sub: &SubSym, args: &'e [Argument], ident: &Ident) -> CResult<Vec<Option<&'e Expr>>> {
        let mut matched: Vec<Option<&Expr>> = vec![None; sub.parameters.len()];
        let mut named = false;
        for (i, a) in args.iter().enumerate() {
            let at = match &a.name {
                None if named => return Err(self.pls(312, &[], a.value.pos)),
                None => i,
                Some(name) => {
                    named = true;
                    match sub.parameters.iter().position(|p| p.name == name.name) {
                        Some(at) => at,
                        None => return Err(self.pls(306, &[&ident.name], ident.pos)),
                    }
                }
            };
            match matched.get_mut(at) {
                Some(place @ None) => *place = Some(&a.value),
                _ => return Err(self.pls(306, &[&ident.name], ident.pos)),
            }
        }
        let missing = sub.parameters.iter().zip(&matched).any(|(p, m)| m.is_none() && p.default.is_none());
        if missing {
            return Err(self.pls(306, &[&ident.name], ident.pos));
        }
        Ok(matched)
    }
}

fn arity_fits(s: &SubSym, args: &[Argument]) -> bool {
    let mut seen = vec![false; s.parameters.len()];
    for (i, a) in args.iter().enumerate() {
        let at = match &a.name {
            None => Some(i),
            Some(name) => s.parameters.iter().position(|p| p.name == name.name),
        };
        match at.and_then(|at| seen.get_mut(at)) {
            Some(place @ false) => *place = true,
            _ => return false,
        }
    }
    s.parameters.iter().zip(&seen).all(|(p, seen)| *seen || p.default.is_some())
}

/// The distance between a type and a parameter: 0 is exact; `None`: the type does not fit.
fn fit(from: &Ty, to: &Ty) -> Option<u32> {
    match (from, to) {
        (Ty::Null, _) => Some(1),
        (Ty::Record(a), Ty::Record(b)) => (Rc::ptr_eq(a, b) || a.row || b.row).then_some(0),
        (Ty::Coll(a), Ty::Coll(b)) if a.is_host || b.is_host => host_fits(a, b).then_some(0),
        (Ty::Coll(a), Ty::Coll(b)) => Rc::ptr_eq(&a.info, &b.info).then_some(0),
        (Ty::Cursor, Ty::Cursor) => Some(0),
        (Ty::Scalar(a), Ty::Scalar(b)) => {
            let (ca, cb) = (class(&a.ty), class(&b.ty));
            if ca == cb {
                if ca == Class::Composite && a.ty != b.ty {
                    return None;
                }
                let exact = (a.ty == types::DataType::PlsInteger) == (b.ty == types::DataType::PlsInteger);
                Some(u32::from(!exact || variant(&a.ty) != variant(&b.ty)))
            } else if ca == Class::Null {
                Some(1)
            } else {
                // A number becomes a BINARY_FLOAT rather than a BINARY_DOUBLE, and either rather than a text.
                let distance =
                    if (ca, cb) == (Class::Number, Class::Float) { 8 + u32::from(variant(&b.ty)) } else { 10 };
                assignable(ca, cb).then_some(distance)
            }
        }
        _ => None,
    }
}
