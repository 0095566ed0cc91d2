//! Object types: their attributes and methods, and the code of their bodies.
//!
//! A type's attributes are known without its methods, and its methods' headings without their code: so methods of two
//! types may have parameters of each other's type.
//!
//! A method is a subprogram of its type's unit, exported by its name and a hash of its signature. A method that
//! overrides it has the same name and hash in its own unit, where the machine finds it by the type of the object.

use super::ask::Interfaces;
use super::compiler::{CResult, Compiler, FnState, Problem};
use super::conditional::{Inquiries, selected};
use super::decl::same_signature;
use super::scope::*;
use super::shape;
use super::units::Units;
use crate::code::Compiled;
use crate::errors::{CompileError, parse_error};
use crate::op::*;
use crate::ty::*;
use crate::world::{StoredUnit, World};
use sql::plsql::ast::{self, Method, MethodKind, Mode, ObjectType, TypeDefinition, Unit};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use types::{DataType, Lineage, ObjectOrder, Ora, Result, TypeDef, TypeId, TypeShape};

/// The methods of a stored object type.
pub(super) fn methods_of_unit<W: World>(
    w: &mut W,
    units: &Units,
    unit: &StoredUnit,
    def: &Rc<TypeDef>,
) -> Result<ObjectSym> {
    let inquiries = Inquiries::of_unit(unit);
    let text = selected(w, units, &inquiries, &unit.source)?;
    let Unit::Type { schema: _, name: _, definition: TypeDefinition::Object(object) } = sql::plsql::parse_unit(&text)?
    else {
        return Ok(without_methods(def));
    };
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &unit.owner, &unit.name, &unit.source);
    c.inquiries = inquiries;
    c.methods(&object, def)
}

/// The methods of a type that has none but its constructor.
pub(super) fn without_methods(def: &Rc<TypeDef>) -> ObjectSym {
    let attributes = match &def.shape {
        TypeShape::Object(attributes) => attributes.iter().map(|a| Ty::of(unconstrained(a.ty))).collect(),
        TypeShape::Table { element: _ } | TypeShape::Varray { element: _, limit: _ } => Vec::new(),
    };
    let by_attributes = Some(by_attributes(def, attributes));
    let (methods, constructors) = (HashMap::new(), Vec::new());
    ObjectSym { def: def.clone(), methods, constructors, by_attributes, order: None, shown: 0 }
}

/// The constructor over the attributes, for the choice between it and those of the type.
fn by_attributes(def: &Rc<TypeDef>, types: Vec<Ty>) -> Rc<SubSym> {
    let attributes = match &def.shape {
        TypeShape::Object(attributes) => attributes.as_slice(),
        TypeShape::Table { element: _ } | TypeShape::Varray { element: _, limit: _ } => &[],
    };
    let parameter =
        |(a, ty): (&types::Attribute, Ty)| Param { name: a.name.clone(), mode: Mode::In, ty, default: None };
    let (owner, name, subprogram) = (def.owner.clone(), def.name.clone(), def.name.clone());
    Rc::new(SubSym {
        name: def.name.clone(),
        parameters: attributes.iter().zip(types).map(parameter).collect(),
        returns: Some(Ty::of(DataType::Named(def.id))),
        target: SubTarget::External(Rc::new(External { owner, name, subprogram, overload: 0, shown: 0 })),
        deterministic: true,
        is_pipelined: false,
        accessible_by: Rc::from([]),
        invokers: false,
        overload: 0,
        method: None,
    })
}

impl<W: World> Compiler<'_, W> {
    /// The attributes of an object type with those of its supertypes, and its place among the types.
    pub(super) fn object_type(&mut self, object: &ObjectType) -> CResult<(TypeShape, Lineage)> {
        let ObjectType { authid: _, under, attributes: own, methods, is_final, instantiable } = object;
        let mut lineage =
            Lineage { supertypes: Vec::new(), is_final: *is_final, instantiable: *instantiable, order: None };
        let mut attributes = Vec::new();
        if let Some(ty) = under {
            let above = match self.type_ref(ty)? {
                Ty::Scalar(ScalarTy { ty: DataType::Named(id), .. }) => {
                    self.units.named_type(&mut **self.w.borrow_mut(), id, &self.owner)?
                }
                _ => None,
            };
            let above = above.filter(|def| def.is_object() && def.id.built_in().is_none());
            let above = above.ok_or_else(|| self.pls(707, &[&"UNDER a type that is no object type"], ty.pos))?;
            // The privilege UNDER is not there, so only the owner may have types under a type.
            if above.owner != self.owner {
                return Err(self.pls(904, &[&format_args!("{}.{}", above.owner, above.name)], ty.pos));
            }
            if above.lineage.is_final {
                return Err(self.pls(590, &[], ty.pos));
            }
            lineage.supertypes.push(above.id);
            lineage.supertypes.extend(&above.lineage.supertypes);
            lineage.order.clone_from(&above.lineage.order);
            if let TypeShape::Object(inherited) = &above.shape {
                attributes.clone_from(inherited);
            }
        }
        let inherited = attributes.len();
        attributes.extend(self.attributes(own)?);
        for (a, written) in attributes[inherited..].iter().zip(own) {
            if attributes[..inherited].iter().any(|known| known.name == a.name) {
                return Err(self.pls(410, &[], written.name.pos));
            }
        }
        for method in methods {
            let name = method.subprogram.name.name.clone();
            match method.kind {
                MethodKind::Map => lineage.order = Some(ObjectOrder::Map(name)),
                MethodKind::Order => lineage.order = Some(ObjectOrder::Order(name)),
                MethodKind::Member | MethodKind::Static | MethodKind::Constructor => {}
            }
        }
        Ok((TypeShape::Object(attributes), lineage))
    }

    /// The methods of an object type, with those that it inherits.
    pub(super) fn methods(&mut self, object: &ObjectType, def: &Rc<TypeDef>) -> CResult<ObjectSym> {
        // The type's own name needs no look-up, and there may be nothing to find yet.
        let own = Symbol::Type(Ty::of(DataType::Named(def.id)));
        self.scopes[0].names.insert(def.name.clone(), own);
        let mut methods = match def.lineage.supertypes.first() {
            Some(above) => self.units.named_methods(&mut **self.w.borrow_mut(), *above)?.methods.clone(),
            None => HashMap::new(),
        };
        let (mut constructors, mut declared): (Vec<SubSym>, Vec<SubSym>) = (Vec::new(), Vec::new());
        for method in &object.methods {
            let mut sub = self.method_heading(method, def)?;
            sub.invokers = object.authid == ast::AuthId::CurrentUser;
            let pos = method.subprogram.name.pos;
            let same = |k: &&SubSym| same_signature(k, &sub.parameters, sub.returns.is_some());
            if method.kind == MethodKind::Constructor {
                if constructors.iter().any(|k| same(&k)) {
                    return Err(self.pls(305, &[&sub.name, &self.line], pos));
                }
                constructors.push(sub);
                continue;
            }
            if declared.iter().filter(|k| k.name == sub.name).any(|k| same(&k)) {
                return Err(self.pls(305, &[&sub.name, &self.line], pos));
            }
            let inherited = methods.get(&sub.name).and_then(|list| list.iter().find(|k| same(&&***k)));
            match inherited {
                Some(known) if known.method.as_ref().is_some_and(|m| m.is_final) => {
                    return Err(self.pls(637, &[], pos));
                }
                Some(known) if !method.overriding && known.has_self() => {
                    return Err(self.pls(707, &[&"a method that overrides another without OVERRIDING"], pos));
                }
                None if method.overriding => return Err(self.pls(635, &[], pos)),
                _ => declared.push(sub),
            }
        }
        let TypeShape::Object(attributes) = &def.shape else { return Ok(without_methods(def)) };
        let all: Vec<&SubSym> = constructors.iter().chain(&declared).collect();
        let shown = shape::of_object(attributes, &all);
        let finished = |mut sub: SubSym| {
            let (owner, name, subprogram) = (self.owner.clone(), self.unit.clone(), sub.name.clone());
            let external = External { owner, name, subprogram, overload: sub.overload, shown };
            sub.target = SubTarget::External(Rc::new(external));
            Rc::new(sub)
        };
        for sub in declared {
            let list = methods.entry(sub.name.clone()).or_default();
            let sub = finished(sub);
            match list.iter_mut().find(|k| same_signature(k, &sub.parameters, sub.returns.is_some())) {
                Some(place) => *place = sub,
                None => list.push(sub),
            }
        }
        let constructors: Vec<Rc<SubSym>> = constructors.into_iter().map(finished).collect();
        let is_abstract = |sub: &Rc<SubSym>| sub.method.as_ref().is_some_and(|method| !method.instantiable);
        if def.lineage.instantiable && methods.values().flatten().any(is_abstract) {
            return Err(self.pls(634, &[], 0));
        }
        let types = attributes.iter().map(|a| self.attribute_type(unconstrained(a.ty)));
        let by_attributes = by_attributes(def, types.collect::<CResult<Vec<Ty>>>()?);
        let is_hidden = constructors.iter().any(|k| same_signature(k, &by_attributes.parameters, true));
        let is_order = |sub: &&Rc<SubSym>| {
            sub.method.as_ref().is_some_and(|method| matches!(method.kind, MethodKind::Map | MethodKind::Order))
        };
        let order = match &def.lineage.order {
            Some(ObjectOrder::Map(name) | ObjectOrder::Order(name)) => {
                methods.get(name).and_then(|list| list.iter().find(is_order)).cloned()
            }
            None => None,
        };
        let by_attributes = (!is_hidden).then_some(by_attributes);
        Ok(ObjectSym { def: def.clone(), methods, constructors, by_attributes, order, shown })
    }

    /// The symbol of a method, without its target.
    fn method_heading(&mut self, method: &Method, def: &TypeDef) -> CResult<SubSym> {
        let Method { kind, overriding: _, is_final, instantiable, subprogram: s } = method;
        let (receiver, written) = receiver_of(method);
        self.set_pos(s.pos);
        if *kind == MethodKind::Static && s.parameters.first().is_some_and(|p| p.name.name == "SELF") {
            return Err(self.pls(707, &[&"SELF in a static method"], s.name.pos));
        }
        if *kind == MethodKind::Constructor && s.name.name != def.name {
            return Err(self.pls(707, &[&"a constructor with another name than its type's"], s.name.pos));
        }
        let parameters = self.parameters(written)?;
        let returns = match (&s.returns, kind) {
            (_, MethodKind::Constructor) => Some(Ty::of(DataType::Named(def.id))),
            (Some(ty), _) => Some(self.result_type(ty)?),
            (None, _) => None,
        };
        let is_ordering = match kind {
            MethodKind::Map => parameters.is_empty() && returns.as_ref().is_some_and(|ty| ty.scalar().is_some()),
            MethodKind::Order => {
                parameters.len() == 1 && returns.as_ref().is_some_and(|ty| ty.class() == Class::Number)
            }
            MethodKind::Member | MethodKind::Static | MethodKind::Constructor => true,
        };
        if !is_ordering {
            return Err(self.pls(707, &[&"a MAP or ORDER method with these parameters"], s.name.pos));
        }
        let overload = shape::of_signature(&parameters, returns.is_some());
        let (kind, is_final, instantiable) = (*kind, *is_final, *instantiable);
        let of = MethodSym { kind, receiver, of: def.id, is_final, instantiable };
        Ok(SubSym {
            name: s.name.name.clone(),
            parameters,
            returns,
            target: SubTarget::Local { proc: 0, level: 0 },
            deterministic: s.attributes.deterministic,
            is_pipelined: s.attributes.pipelined.is_some(),
            accessible_by: Rc::from([]),
            invokers: false,
            overload,
            method: Some(Rc::new(of)),
        })
    }

    /// Compiles the methods of a type's body; notes their errors. Returns the exported subprograms.
    fn type_body(&mut self, body: &ast::TypeBody, object: &ObjectSym) -> HashMap<(String, u32), u32> {
        let mut exports = HashMap::new();
        let known = self.own_methods(object);
        let ast::TypeBody { schema: _, name: _, methods } = body;
        for method in methods {
            let pos = method.subprogram.name.pos;
            let heading = match self.method_heading(method, &object.def) {
                Ok(heading) => heading,
                Err(e) => {
                    self.note(e, pos, "Item");
                    continue;
                }
            };
            let is_it = |k: &&Rc<SubSym>| {
                let kinds = k.method.as_ref().zip(heading.method.as_ref());
                k.name == heading.name
                    && kinds.is_some_and(|(a, b)| a.kind == b.kind && a.receiver == b.receiver && a.instantiable)
                    && same_signature(k, &heading.parameters, heading.returns.is_some())
            };
            let Some(sub) = known.iter().find(is_it) else {
                self.problem(539, &heading.name, pos);
                continue;
            };
            let key = (sub.name.clone(), sub.overload);
            if exports.contains_key(&key) {
                let e = self.pls(305, &[&sub.name, &self.line], pos);
                self.note(e, pos, "Item");
                continue;
            }
            let at = self.procs.len() as u32;
            self.procs.push(None);
            exports.insert(key, at);
            let compiled = self.method_body(method, sub);
            self.procs[at as usize] = Some(Rc::new(compiled));
        }
        for sub in known.iter().filter(|sub| sub.method.as_ref().is_some_and(|m| m.instantiable)) {
            if !exports.contains_key(&(sub.name.clone(), sub.overload)) {
                self.problem(538, &sub.name, body.name.pos);
            }
        }
        exports
    }

    fn problem(&mut self, code: u32, name: &str, pos: u32) {
        let error = Ora::pls(code, &[&name]);
        self.problems.push(Problem { pos, text: error.headline() });
    }

    /// The methods and constructors that the type itself declares.
    fn own_methods(&self, object: &ObjectSym) -> Vec<Rc<SubSym>> {
        let is_own = |sub: &&Rc<SubSym>| sub.method.as_ref().is_some_and(|method| method.of == object.def.id);
        let mut all: Vec<Rc<SubSym>> = object.methods.values().flatten().filter(is_own).cloned().collect();
        all.sort_by(|a, b| (&a.name, a.overload).cmp(&(&b.name, b.overload)));
        all.extend(object.constructors.iter().cloned());
        all
    }

    fn method_body(&mut self, method: &Method, sub: &Rc<SubSym>) -> Proc {
        let mut parameters = sub.parameters.clone();
        let of = sub.method.clone().expect("a method");
        if of.has_self() {
            let ty = Ty::of(DataType::Named(of.of));
            parameters.insert(0, Param { name: "SELF".into(), mode: of.receiver, ty, default: None });
        }
        self.is_constructor = of.kind == MethodKind::Constructor;
        let compiled = self.subprogram_body(&method.subprogram, &parameters, sub.returns.clone(), 1);
        self.is_constructor = false;
        compiled
    }
}

/// The mode of SELF, and the parameters after it.
fn receiver_of(method: &Method) -> (Mode, &[ast::Parameter]) {
    let written = method.subprogram.parameters.as_slice();
    match written {
        [first, rest @ ..] if first.name.name == "SELF" && method.kind != MethodKind::Static => (first.mode, rest),
        _ if method.kind == MethodKind::Constructor => (Mode::InOut, written),
        _ if method.subprogram.returns.is_some() => (Mode::In, written),
        _ => (Mode::InOut, written),
    }
}

/// Compiles a type, and its body if it has one.
pub(super) fn compile_type<W: World>(
    w: &mut W,
    units: &Units,
    specification: &StoredUnit,
    (name, definition): (&ast::Ident, &TypeDefinition),
    body: Option<&StoredUnit>,
) -> (Option<Compiled>, Vec<CompileError>) {
    let parsed = match body {
        Some(b) => match selected(w, units, &Inquiries::of_unit(b), &b.source).and_then(|t| sql::plsql::parse_unit(&t))
        {
            Ok(Unit::TypeBody(parsed)) => Some(parsed),
            Ok(_) => None,
            Err(e) => return (None, vec![parse_error(&b.source, &e)]),
        },
        None => None,
    };
    let text = specification.source.as_str();
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &specification.owner, &specification.name, text);
    c.inquiries = Inquiries::of_unit(specification);
    c.procs.push(None);
    c.f = FnState::new(&specification.name, 0);
    let TypeDefinition::Object(object) = definition else {
        // not a clause: the others are those of declarations
        if let Err(e) = c.type_definition(definition) {
            c.note(e, name.pos, "Declaration");
        }
        let errors = c.errors();
        return (errors.is_empty().then(|| c.into_compiled(text, 0, HashMap::new())), errors);
    };
    c.authid = object.authid;
    let sym = match c.whole_object(object) {
        Ok(sym) => sym,
        Err(e) => {
            c.note(e, name.pos, "Declaration");
            return (None, c.errors());
        }
    };
    c.shown = sym.shown;
    let mut exports = HashMap::new();
    if let (Some(parsed), Some(b)) = (&parsed, body) {
        c.text = &b.source;
        c.inquiries = Inquiries::of_unit(b);
        c.lines = std::iter::once(0).chain(b.source.match_indices('\n').map(|(i, _)| i as u32 + 1)).collect();
        c.object = Some(sym.def.id);
        exports = c.type_body(parsed, &sym);
    }
    let missing = |sub: &Rc<SubSym>| !exports.contains_key(&(sub.name.clone(), sub.overload));
    let missing: Vec<Rc<SubSym>> = c.own_methods(&sym).into_iter().filter(missing).collect();
    for sub in missing {
        c.emit(Op::RaiseCode { code: 4067 });
        let stub = c.finish(FnState::new(&specification.name, 0), 0);
        c.procs.push(Some(Rc::new(stub)));
        exports.insert((sub.name.clone(), sub.overload), c.procs.len() as u32 - 1);
    }
    c.emit(Op::Return);
    let main = c.finish(FnState::new("", 0), 0);
    c.procs[0] = Some(Rc::new(main));
    let errors = c.errors();
    let source = format!("{text}{}", body.map_or("", |b| b.source.as_str()));
    (errors.is_empty().then(|| c.into_compiled(&source, 0, exports)), errors)
}

impl<W: World> Compiler<'_, W> {
    /// The methods of the object type that is compiled.
    fn whole_object(&mut self, object: &ObjectType) -> CResult<ObjectSym> {
        let (shape, lineage) = self.object_type(object)?;
        let id = TypeId(self.ask(|units, w| units.ask_number(w, &self.owner, &self.unit)));
        self.units.depends_on_more();
        let def = Rc::new(TypeDef { id, owner: self.owner.clone(), name: self.unit.clone(), shape, lineage });
        self.units.types.borrow_mut().insert(id, def.clone());
        let sym = self.methods(object, &def)?;
        // The headings are compiled once more when another unit or the body calls a method.
        Ok(sym)
    }
}
