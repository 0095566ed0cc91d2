//! Whole units and blocks.

use super::compiler::{CResult, Compiler, FnState, Problem};
use super::conditional::{Inquiries, selected};
use super::objects::compile_type;
use super::piped::PIPE_BIND;
use super::scope::*;
use super::shape;
use super::units::Units;
use crate::code::{BindUse, Compiled, HostTypes, Owner, Rights};
use crate::errors::{CompileError, block_failed, compile_failed, parse_error};
use crate::op::*;
use crate::ty::Ty;
use crate::world::{StoredUnit, World};
use sql::plsql::ast::{self, Declaration, Unit};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use types::{DataType, Ora, Result, TypeDef, TypeId};

/// The uses of the host binds by a block's code.
fn uses_of(binds: usize, procs: &[Rc<Proc>]) -> Vec<BindUse> {
    let mut uses = vec![BindUse::default(); binds];
    for op in procs.iter().flat_map(|proc| &proc.ops) {
        match op {
            Op::BindGet { bind, .. } => uses[*bind as usize].is_read = true,
            Op::BindSet { bind, .. } => uses[*bind as usize].is_written = true,
            _ => {}
        }
    }
    uses
}

/// Compiles an anonymous block.
pub(super) fn compile_block<W: World>(w: &mut W, units: &Units, text: &str, types: &HostTypes) -> Result<Compiled> {
    let names: Vec<String> = sql::outline(text).placeholders.into_iter().map(|p| p.name).collect();
    if names.len() > sql::BINDS_MAX {
        return Err(Ora::new(1745));
    }
    let inquiries = Inquiries::of_block(w.unit_settings());
    let failed = |e: Ora| block_failed(text, &[parse_error(text, &e)]);
    let selected = selected(w, units, &inquiries, text).map_err(failed)?;
    let block = sql::plsql::parse_block(&selected).map_err(failed)?;
    let schema = w.schema();
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &schema, "", text);
    c.inquiries = inquiries;
    c.calls_pipelined = types.iter().any(|(name, _)| name == PIPE_BIND);
    c.bind_types = types.iter().map(|(name, ty)| (name.clone(), ty.ty())).collect();
    // In text order, whatever the order of compilation.
    c.binds = names.into();
    c.procs.push(None);
    c.f = FnState::new("", 1);
    let ast::Block { labels, declarations, body, pos: _ } = &block;
    c.scopes[0].labels = labels.iter().map(|l| l.name.clone()).collect();
    c.declarations(declarations);
    if c.f.autonomous {
        c.emit(Op::Autonomous { begin: true });
    }
    c.body(body);
    c.check_forward(body);
    c.set_pos(body.end_pos);
    c.emit(Op::Return);
    c.resolve_gotos();
    let main = c.finish(FnState::new("", 0), 0);
    c.procs[0] = Some(Rc::new(main));
    let errors = c.errors();
    if !errors.is_empty() {
        return Err(block_failed(text, &errors));
    }
    Ok(c.into_compiled("", 0, HashMap::new()))
}

/// Compiles a stored unit, and a package with its body if it has one. Returns the errors of the last part that was
/// compiled.
pub(crate) fn compile_unit<W: World>(
    w: &mut W,
    units: &Units,
    specification: &StoredUnit,
    body: Option<&StoredUnit>,
) -> (Option<Compiled>, Vec<CompileError>) {
    let text = specification.source.as_str();
    let inquiries = Inquiries::of_unit(specification);
    let unit = match selected(w, units, &inquiries, text).and_then(|text| sql::plsql::parse_unit(&text)) {
        Ok(unit) => unit,
        Err(e) => return (None, vec![parse_error(text, &e)]),
    };
    match unit {
        Unit::Subprogram { schema: _, subprogram } => {
            let w = RefCell::new(w);
            let mut c = Compiler::new(&w, units, &specification.owner, &specification.name, text);
            c.authid = subprogram.attributes.authid;
            c.inquiries = inquiries;
            c.procs.push(None);
            let result = c.stored_subprogram(&subprogram);
            if let Err(e) = result {
                c.note(e, subprogram.pos, "Compilation unit analysis");
            }
            let errors = c.errors();
            let exports = HashMap::from([((specification.name.clone(), 1), 0)]);
            let result = errors.is_empty().then(|| c.into_compiled(&specification.source, 0, exports));
            (result, errors)
        }
        Unit::Package(p) => compile_package(w, units, specification, &p, body),
        Unit::Type { schema: _, name, definition } => compile_type(w, units, specification, (&name, &definition), body),
        // A trigger is compiled with its table.
        Unit::Trigger(_) => (None, Vec::new()),
        Unit::PackageBody(_) | Unit::TypeBody(_) => {
            let error = Ora::pls(304, &[&specification.name]);
            (None, vec![CompileError { line: 1, column: 1, text: error.headline() }])
        }
        Unit::Block(_) => (None, Vec::new()),
    }
}

fn compile_package<W: World>(
    w: &mut W,
    units: &Units,
    specification: &StoredUnit,
    p: &ast::Package,
    body: Option<&StoredUnit>,
) -> (Option<Compiled>, Vec<CompileError>) {
    let ast::Package { schema: _, name: _, authid, accessible_by: _, declarations } = p;
    let body_text = body.map_or("", |b| b.source.as_str());
    let parse = |b: &StoredUnit| {
        let text = selected(w, units, &Inquiries::of_unit(b), &b.source)?;
        sql::plsql::parse_unit(&text)
    };
    let parsed = match body.map(parse) {
        Some(Ok(Unit::PackageBody(b))) => Some(b),
        Some(Ok(_)) => None,
        Some(Err(e)) => return (None, vec![parse_error(body_text, &e)]),
        None => None,
    };
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &specification.owner, &specification.name, &specification.source);
    c.authid = *authid;
    c.inquiries = Inquiries::of_unit(specification);
    c.procs.push(None);
    c.f = FnState::new(&specification.name, 0);
    c.f.package = true;
    c.scopes[0].labels = vec![specification.name.clone()];
    c.declarations(declarations);
    if !c.problems.is_empty() {
        return (None, c.errors());
    }
    c.shown = shape::of_names(&c.scopes[0].names);
    let mut exports = HashMap::new();
    for (name, symbol) in &c.scopes[0].names {
        if let Symbol::Subs(list) = symbol {
            for s in list {
                if let SubTarget::Local { proc, .. } = s.target {
                    exports.insert((name.clone(), s.overload), proc);
                }
            }
        }
        if let Symbol::Cursor(cursor) = symbol
            && let SubTarget::Local { proc, .. } = cursor.open
        {
            exports.insert((name.clone(), 0), proc);
        }
    }
    if let Some(b) = &parsed {
        c.text = body_text;
        c.inquiries = body.map_or_else(Inquiries::default, Inquiries::of_unit);
        c.lines = std::iter::once(0).chain(body_text.match_indices('\n').map(|(i, _)| i as u32 + 1)).collect();
        let ast::PackageBody { schema: _, name: _, declarations, initialisation } = b;
        c.declarations(declarations);
        if let Some(body) = initialisation {
            c.body(body);
        }
        let missing: Vec<String> = exports
            .iter()
            .filter(|(_, p)| c.procs[**p as usize].is_none())
            .map(|((name, _), _)| name.clone())
            .collect();
        for name in missing {
            let error = Ora::pls(323, &[&name]);
            c.problems.push(Problem { pos: b.name.pos, text: error.headline() });
        }
    }
    c.layout = shape::of_names(&c.scopes[0].names);
    c.emit(Op::Return);
    c.resolve_gotos();
    let main = c.finish(FnState::new("", 0), 0);
    c.procs[0] = Some(Rc::new(main));
    let errors = c.errors();
    let result =
        errors.is_empty().then(|| c.into_compiled(&format!("{}{body_text}", specification.source), 0, exports));
    (result, errors)
}

/// The interface of a unit: its specification compiled without its body.
pub(super) fn interface_of<W: World>(w: &mut W, units: &Units, unit: &StoredUnit) -> Result<Interface> {
    let text = unit.source.as_str();
    let failed = |e: Ora| compile_failed(&[parse_error(text, &e)]);
    let inquiries = Inquiries::of_unit(unit);
    let selected = selected(w, units, &inquiries, text).map_err(failed)?;
    let parsed = sql::plsql::parse_unit(&selected).map_err(failed)?;
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &unit.owner, &unit.name, text);
    c.inquiries = inquiries;
    let external = |subprogram: &str, overload: u32, shown: u64| {
        SubTarget::External(Rc::new(External {
            owner: unit.owner.clone(),
            name: unit.name.clone(),
            subprogram: subprogram.to_string(),
            overload,
            shown,
        }))
    };
    match parsed {
        Unit::Subprogram { schema: _, subprogram } => {
            let mut s = c.signature(&subprogram)?;
            s.invokers = subprogram.attributes.authid == ast::AuthId::CurrentUser;
            s.target = external(&unit.name, 1, shape::of_subprogram(&s));
            Ok(Interface::Subprogram(Rc::new(s)))
        }
        Unit::Package(p) => {
            c.f.package = true;
            c.scopes[0].labels = vec![unit.name.clone()];
            c.declarations(&p.declarations);
            if !c.problems.is_empty() {
                return Err(Ora::with(4063, &[&format!("package \"{}.{}\"", unit.owner, unit.name)]));
            }
            let names = std::mem::take(&mut c.scopes[0].names);
            let shown = shape::of_names(&names);
            let home = Rc::new(Home { owner: unit.owner.clone(), name: unit.name.clone(), shown });
            let place = |loc: Loc| match loc {
                Loc::Package { home: _, slot } => Loc::Package { home: Rc::clone(&home), slot },
                loc @ Loc::Frame { .. } => loc,
            };
            let symbols = names
                .into_iter()
                .map(|(name, symbol)| {
                    let symbol = match symbol {
                        Symbol::Subs(list) => Symbol::Subs(
                            list.iter()
                                .map(|s| {
                                    let mut s = (**s).clone();
                                    s.target = external(&name, s.overload, shown);
                                    s.invokers = p.authid == ast::AuthId::CurrentUser;
                                    Rc::new(s)
                                })
                                .collect(),
                        ),
                        Symbol::Cursor(cursor) => {
                            let mut cursor = (*cursor).clone();
                            cursor.open = external(&name, 0, shown);
                            cursor.loc = place(cursor.loc);
                            Symbol::Cursor(Rc::new(cursor))
                        }
                        Symbol::Var(Var { loc, ty, access }) => Symbol::Var(Var { loc: place(loc), ty, access }),
                        other @ (Symbol::Type(_) | Symbol::Exception(_)) => other,
                    };
                    (name, symbol)
                })
                .collect();
            let (owner, accessible_by) = (unit.owner.clone(), accessors(&p.accessible_by));
            Ok(Interface::Package(Rc::new(PackageSym { owner, accessible_by, symbols })))
        }
        Unit::Type { schema: _, name: _, definition } => {
            let id = match unit.owner.as_str() {
                "" => TypeId::built_in_named(&unit.name),
                owner => Some(TypeId(units.ask_number(&mut **w.borrow_mut(), owner, &unit.name))),
            };
            if let ast::TypeDefinition::Object(object) = &definition {
                units.depends_on_more();
                let (shape, lineage) = c.object_type(object)?;
                // A type that is being created has no number yet, and no values exist.
                let id = id.unwrap_or(TypeId(0));
                let def = TypeDef { id, owner: unit.owner.clone(), name: unit.name.clone(), shape, lineage };
                units.types.borrow_mut().insert(id, Rc::new(def));
                return Ok(Interface::Type(Ty::of(DataType::Named(id))));
            }
            let ty = c.type_definition(&definition)?;
            Ok(Interface::Type(units.catalogued(unit, id, ty)))
        }
        _ => Err(Ora::pls(801, &[&"interface of a unit without one"])),
    }
}

impl<W: World> Compiler<'_, W> {
    /// The signature of a stored subprogram.
    fn signature(&mut self, s: &ast::Subprogram) -> CResult<SubSym> {
        let mut declared = s.clone();
        declared.body = None;
        self.declarations(&[Declaration::Subprogram(declared)]);
        if let Some(p) = self.problems.first() {
            return Err(Ora::pls(801, &[&p.text]));
        }
        match self.scopes[0].names.get(&s.name.name) {
            Some(Symbol::Subs(list)) => Ok((*list[0]).clone()),
            _ => Err(Ora::internal("a subprogram was not declared")),
        }
    }

    /// Compiles a stored procedure or function as subprogram 0 of its unit.
    fn stored_subprogram(&mut self, s: &ast::Subprogram) -> CResult<()> {
        let ast::Subprogram { name: _, parameters: _, returns: _, attributes: _, body: _, pos: _ } = s;
        self.f.level = 0;
        let mut declared = s.clone();
        declared.body = None;
        self.procs.clear();
        self.declarations(&[Declaration::Subprogram(declared)]);
        if !self.problems.is_empty() {
            self.problems.truncate(1);
            let text = "PL/SQL: Compilation unit analysis terminated".to_string();
            self.problems.push(Problem { pos: 0, text });
            return Ok(());
        }
        if let Some(Symbol::Subs(list)) = self.scopes[0].names.get(&s.name.name) {
            self.shown = shape::of_subprogram(&list[0]);
        }
        self.declarations(&[Declaration::Subprogram(s.clone())]);
        Ok(())
    }

    pub(super) fn into_compiled(self, source: &str, main: u32, exports: HashMap<(String, u32), u32>) -> Compiled {
        let empty = || {
            Rc::new(Proc {
                name: String::new(),
                ops: vec![Op::RaiseCode { code: 6508 }],
                lines: vec![1],
                guards: Vec::new(),
                slots: 1,
                counters: 0,
                parameters: 0,
                cursors: false,
                autonomous: false,
                result_cache: None,
            })
        };
        let number =
            if self.unit.is_empty() { 0 } else { self.ask(|units, w| units.ask_number(w, &self.owner, &self.unit)) };
        let mut told_as = vec![0; self.procs.len()];
        if number != 0 {
            // Numbered in order of declaration; hidden ones open cursors.
            let mut declared: Vec<u32> = exports.iter().filter(|((_, n), _)| *n > 0).map(|(_, at)| *at).collect();
            declared.sort_unstable();
            for (own, at) in (1..).zip(declared) {
                told_as[at as usize] = u64::from(number) << 32 | own;
            }
        }
        let is_package = number != 0 && self.package_slots > 0;
        let defined =
            if is_package { self.ask(|units, w| units.ask_defined(w, &self.owner, &self.unit)) } else { [0; 2] };
        let links = RefCell::new(self.pool.externals.iter().map(|_| None).collect());
        let statements = RefCell::new(self.pool.sql.iter().map(|_| None).collect());
        let is_stored = !self.unit.is_empty() && !self.owner.is_empty();
        let owner = is_stored.then(|| self.ask(|units, w| units.ask_user(w, &self.owner)));
        let owner = owner.map(|number| Owner { name: self.owner.as_str().into(), number });
        let rights = match (self.authid, owner) {
            (_, None) => Rights::Callers,
            (ast::AuthId::Definer, Some(owner)) => Rights::Definers(owner),
            (ast::AuthId::CurrentUser, Some(owner)) => Rights::Invokers(owner),
        };
        let procs: Vec<_> = self.procs.into_iter().map(|p| p.unwrap_or_else(empty)).collect();
        Compiled {
            owner: self.owner,
            rights,
            name: self.unit,
            dispatched: RefCell::default(),
            bind_uses: uses_of(self.binds.all().len(), &procs),
            procs,
            pool: self.pool,
            main,
            exports,
            package_slots: self.package_slots,
            told_as,
            binds: self.binds.into_all(),
            depends: self.depends,
            calls: self.calls,
            links,
            statements,
            dynamics: RefCell::default(),
            source: source.to_string(),
            defined,
            layout: self.layout,
            shown: self.shown,
            has_state: self.has_state,
            rows: Vec::new(),
            asks_columns: false,
            runs_in: Cell::default(),
        }
    }
}
