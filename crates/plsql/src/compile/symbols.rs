//! The symbols that names stand for, and the places of variables.

use super::ask::Interfaces;
use super::compiler::{CResult, Compiler, Problem, Val};
use super::scope::*;
use crate::op::*;
use crate::ty::*;
use crate::world::{World, as_owner};
use sql::plsql::ast::{self, Expr, Ident, Name, Part};
use std::rc::Rc;
use types::{DataType, TypeId};

/// The operands inside names, calls and operators. An expression has names and calls in it, and these have expressions:
/// this is the only way back to the compiler of expressions (`expr`), which implements it.
pub(super) trait Operands {
    /// Compiles a value. A computed result goes to `want` if that is given.
    fn operand(&mut self, e: &Expr, want: Option<Opd>) -> CResult<Val>;
    /// Resolves the argument of an OUT parameter.
    fn out_operand(&mut self, e: &Expr) -> CResult<TargetRef>;
    /// Compares two objects by the MAP or ORDER method of their type.
    fn compared(&mut self, op: Cmp, objects: (Val, Val), pos: u32) -> CResult<Val>;
}

/// A variable, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct PathB {
    pub root: Root,
    pub steps: Vec<Step>,
    pub ty: Ty,
    pub access: Access,
    pub name: String,
    /// It ends at an attribute of this collection type, which holds an SQL value.
    pub stored: Option<TypeId>,
    /// Its root is a copy of the collection in an attribute, which is written back after a change.
    pub back: Option<Rc<Back>>,
}

/// The attribute whose collection is in a slot.
#[derive(Clone, Debug)]
pub(super) struct Back {
    pub attribute: PathB,
    pub copy: Opd,
}

impl PathB {
    pub(super) fn new(root: Root, ty: Ty, access: Access, name: &str) -> PathB {
        PathB { root, steps: Vec::new(), ty, access, name: name.to_string(), stored: None, back: None }
    }
}

/// The result of resolving a name.
pub(super) enum Res {
    Path(PathB),
    Val(Val),
    /// A procedure was called.
    Done,
    Cursor(Rc<CursorSym>),
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub(super) enum TargetRef {
    Path(PathB),
    Bind(u32, Ty),
}

impl TargetRef {
    pub fn ty(&self) -> Ty {
        match self {
            TargetRef::Path(p) => p.ty.clone(),
            TargetRef::Bind(_, ty) => ty.clone(),
        }
    }
}

impl Opd {
    /// Whether a later read of the operand gives the same value: true for constants and, by construction, temporaries.
    pub fn place_is_stable(self) -> bool {
        matches!(self.place(), Place::Const(_) | Place::Local(_) | Place::Up(..))
    }
}

impl<W: World> Compiler<'_, W> {
    pub(super) fn lookup(&self, name: &str) -> Option<Symbol> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name)).cloned()
    }

    /// `label.name`, where the label is a block's, a subprogram's or the unit's own name.
    pub(super) fn label_symbol(&self, label: &str, name: &str) -> Option<Symbol> {
        let scope = self.scopes.iter().rev().find(|s| s.labels.iter().any(|l| l == label))?;
        scope.names.get(name).cloned()
    }

    /// The stored or built-in unit of a one- or two-part name.
    pub(super) fn interface_of(&mut self, path: &[Ident]) -> CResult<Option<Interface>> {
        let (owner, name) = match path {
            [name] => (None, name),
            [owner, name] => (Some(owner.name.as_str()), name),
            _ => return Ok(None),
        };
        let found =
            self.units.named_interface(&mut **self.w.borrow_mut(), owner, &name.name, &self.owner).map_err(|e| {
                match e.position() {
                    _ if e.facility() == types::Facility::Pls && matches!(e.code(), 904 | 905) => e.at(name.pos),
                    // Errors of another unit have no position in this one.
                    _ if e.facility() == types::Facility::Pls => self.pls(905, &[&self.owner, &name.name], name.pos),
                    _ => e,
                }
            })?;
        // A unit that may not use a package may not use its types and constants either.
        if let Some(Interface::Package(package)) = &found
            && !self.has_access(&package.owner, &name.name, &package.accessible_by)
        {
            return Err(self.pls(904, &[&name.name], name.pos));
        }
        Ok(found)
    }

    /// The symbol of a dotted name of a type, exception or cursor.
    pub(super) fn path_symbol(&mut self, path: &[Ident]) -> CResult<Option<Symbol>> {
        if let [name] = path {
            if let Some(s) = self.lookup(&name.name) {
                return Ok(Some(s));
            }
            return Ok(match self.interface_of(path)? {
                Some(Interface::Type(ty)) => Some(Symbol::Type(ty)),
                Some(Interface::Subprogram(s)) => Some(Symbol::Subs(vec![s])),
                _ => None,
            });
        }
        if let [label, name] = path
            && let Some(s) = self.label_symbol(&label.name, &name.name)
        {
            return Ok(Some(s));
        }
        let (unit, last) = path.split_at(path.len() - 1);
        if let Some(Interface::Package(p)) = self.interface_of(unit)? {
            return match p.symbols.get(&last[0].name) {
                Some(s) => Ok(Some(s.clone())),
                None => Err(self.pls(302, &[&last[0].name], last[0].pos)),
            };
        }
        Ok(match self.interface_of(path)? {
            Some(Interface::Type(ty)) => Some(Symbol::Type(ty)),
            Some(Interface::Subprogram(s)) => Some(Symbol::Subs(vec![s])),
            _ => None,
        })
    }

    pub(super) fn declare(&mut self, name: &Ident, symbol: Symbol) -> CResult<()> {
        let scope = self.scopes.last_mut().expect("there is a scope");
        if scope.names.contains_key(&name.name) {
            return Err(self.pls(371, &[&name.name], name.pos));
        }
        scope.names.insert(name.name.clone(), symbol);
        Ok(())
    }

    /// Checks that the innermost scope has a body for every forward declaration.
    pub(super) fn check_forward(&mut self, body: &ast::Body) {
        let scope = self.scopes.last().expect("there is a scope");
        let mut missing: Vec<String> = Vec::new();
        for (name, symbol) in &scope.names {
            let Symbol::Subs(list) = symbol else { continue };
            for s in list {
                if let SubTarget::Local { proc, .. } = s.target
                    && self.procs[proc as usize].is_none()
                {
                    missing.push(name.clone());
                }
            }
        }
        missing.sort();
        for name in missing {
            let error = self.pls(328, &[&name], body.pos);
            self.problems.push(Problem { pos: body.pos, text: error.headline() });
        }
    }

    /// Allocates a variable in the frame or, at package level, in the package's state.
    pub(super) fn new_loc(&mut self) -> Loc {
        if self.f.package {
            let slot = self.package_slots;
            self.package_slots += 1;
            let home = Home { owner: self.owner.clone(), name: self.unit.clone(), shown: 0 };
            return Loc::Package { home: Rc::new(home), slot };
        }
        let slot = self.slots(1);
        self.loc_of(slot)
    }

    pub(super) fn package_external(&mut self, home: &Home) -> u32 {
        let (owner, name) = (home.owner.clone(), home.name.clone());
        self.external(External { owner, name, subprogram: String::new(), overload: 0, shown: home.shown })
    }

    pub(super) fn path(&mut self, root: Root, steps: Vec<Step>) -> u32 {
        self.pool.paths.push(Path { root, steps });
        self.pool.paths.len() as u32 - 1
    }

    pub(super) fn loc_operand(&mut self, loc: &Loc) -> Opd {
        match loc {
            Loc::Frame { level, slot } => self.frame_opd(*level, *slot),
            Loc::Package { home, slot } => {
                let d = self.temp();
                let external = self.package_external(home);
                self.emit(Op::PackageGet { d, external, slot: *slot });
                d
            }
        }
    }

    /// Reads a path.
    pub(super) fn path_value(&mut self, path: &PathB, want: Option<Opd>) -> Val {
        let ty = path.ty.clone();
        if let (Some(_), Ty::Coll(c)) = (path.stored, &path.ty) {
            let d = self.temp();
            let index = self.path(path.root, path.steps.clone());
            self.emit(Op::GetPath { d, path: index });
            let coll = self.coll_info(c);
            self.emit(Op::CollOf { d, s: d, coll });
            return Val { o: d, ty };
        }
        match (path.root, path.steps.as_slice()) {
            (Root::Slot(o), []) => return Val { o, ty },
            (Root::Slot(o), [Step::Scalar(field)]) => {
                if let Place::Local(slot) = o.place()
                    && let Some(o) = Opd::field(slot, *field)
                {
                    return Val { o, ty };
                }
            }
            (Root::Package { external, slot }, []) => {
                let d = want.unwrap_or_else(|| self.temp());
                self.emit(Op::PackageGet { d, external, slot });
                return Val { o: d, ty };
            }
            _ => {}
        }
        let d = match want {
            Some(d) if d.is_local() => d,
            _ => self.temp(),
        };
        let index = self.path(path.root, path.steps.clone());
        self.emit(Op::GetPath { d, path: index });
        Val { o: d, ty }
    }

    pub(super) fn object_sym(&self, id: TypeId) -> CResult<Rc<ObjectSym>> {
        self.units.named_methods(&mut **self.w.borrow_mut(), id)
    }

    /// Whether a value of one object type is one of the other.
    pub(super) fn is_under(&self, id: TypeId, of: TypeId) -> CResult<bool> {
        if id == of {
            return Ok(true);
        }
        let def = self.units.named_type(&mut **self.w.borrow_mut(), id, &self.owner)?;
        Ok(def.is_some_and(|def| def.is_under(of)))
    }

    /// The path to the elements of a collection: one in an attribute is copied into a slot.
    pub(super) fn entered(&mut self, path: PathB) -> PathB {
        if path.stored.is_none() {
            return path;
        }
        let copy = self.path_value(&path, None).o;
        let (ty, access, name) = (path.ty.clone(), path.access, path.name.clone());
        let back = Back { attribute: path, copy };
        PathB { back: Some(Rc::new(back)), ..PathB::new(Root::Slot(copy), ty, access, &name) }
    }

    /// The type of an attribute in PL/SQL.
    pub(super) fn attribute_type(&mut self, ty: DataType) -> CResult<Ty> {
        let DataType::Named(id) = ty else { return Ok(Ty::of(ty)) };
        let def = self.units.named_type(&mut **self.w.borrow_mut(), id, &self.owner)?;
        let Some(def) = def.filter(|def| !def.is_object()) else { return Ok(Ty::of(ty)) };
        let w = &mut **self.w.borrow_mut();
        // An attribute's type is known to all who know the object's.
        let found =
            as_owner(w, &def.owner, |w| self.units.named_interface(w, Some(&def.owner), &def.name, &def.owner))?;
        Ok(match found {
            Some(Interface::Type(of)) => of,
            _ => Ty::of(ty),
        })
    }

    pub(super) fn coll_info(&mut self, c: &CollTy) -> u32 {
        if let Some(i) = self.pool.colls.iter().position(|k| Rc::ptr_eq(k, &c.info)) {
            return i as u32;
        }
        self.pool.colls.push(c.info.clone());
        self.pool.colls.len() as u32 - 1
    }

    pub(super) fn host_bind(&mut self, name: &str, pos: u32) -> CResult<u32> {
        if !self.unit.is_empty() {
            return Err(self.pls(49, &[&name], pos));
        }
        Ok(self.bind_index(name))
    }
}

/// The number of an object type.
pub(super) fn object_id(ty: &Ty) -> Option<TypeId> {
    match ty {
        Ty::Scalar(ScalarTy { ty: DataType::Named(id), .. }) => Some(*id),
        _ => None,
    }
}

pub(super) fn dotted(path: &[Ident]) -> String {
    path.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(".")
}

pub(super) fn quoted(ident: &Ident) -> String {
    if ident.quoted { format!("\"{}\"", ident.name) } else { ident.name.clone() }
}

/// A name in the form of PLS-00363, without arguments.
pub(super) fn shown_name(n: &Name) -> String {
    let mut text = n.first.name.clone();
    for p in &n.parts {
        match p {
            Part::Field(f) => {
                text.push('.');
                text.push_str(&f.name);
            }
            Part::Call(_) | Part::As(_) => break,
        }
    }
    text
}
