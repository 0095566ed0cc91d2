//! Stored units: their check for DDL, their links, and the state of packages.

use crate::code::{Compiled, Link};
use crate::compile::compile_unit;
use crate::datum::Datum;
use crate::errors::{CompileError, parse_error};
use crate::machine::{Fault, Run};
use crate::op::{External, ResultCacheDef};
use crate::state::{PackageState, Plsql};
use crate::world::{StoredUnit, World, as_owner};
use sql::plsql::ast::{CreateHeader, UnitKind};
use std::rc::Rc;
use types::{ObjectId, Ora, Result, TypeId};

impl<C: 'static> Plsql<C> {
    /// Compiles a stored unit to collect its errors, for CREATE and ALTER … COMPILE. `source` begins at the word
    /// PROCEDURE, FUNCTION, PACKAGE or TYPE. An error of this call is the dictionary's, not the unit's.
    pub fn check<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        owner: &str,
        source: &str,
        settings: Rc<[(String, String)]>,
    ) -> Result<Vec<CompileError>> {
        self.validate(w);
        // Directives may select parts of the text, but not its first words.
        let header = match sql::plsql::parse_create_header(&format!("CREATE {source}")) {
            Ok(header) => header,
            Err(e) => {
                let error = sql::plsql::parse_unit(source).err().unwrap_or(e);
                return Ok(vec![parse_error(source, &error)]);
            }
        };
        let CreateHeader { or_replace: _, kind, schema, name, source_at: _ } = header;
        let (owner, name) = (schema.map_or(owner.to_string(), |schema| schema.name), name.name);
        if let Some(at) = self.package_index.borrow().get(&(owner.clone(), name.clone())) {
            self.packages.borrow_mut()[*at].renewed = true;
        }
        let source = source.to_string();
        let unit = StoredUnit { owner: owner.clone(), name: name.clone(), kind, source, settings };
        let result = as_owner(w, &owner, |w| {
            if matches!(kind, UnitKind::Procedure | UnitKind::Function | UnitKind::Type) {
                return Ok(self.units.create(w, &unit));
            }
            let of = match kind {
                UnitKind::PackageBody => UnitKind::Package,
                UnitKind::TypeBody => UnitKind::Type,
                // not a clause: other units have no specification
                _ => return Ok(compile_unit(w, &self.units, &unit, None)),
            };
            let stored = w.stored_unit(Some(&owner), &name)?;
            Ok::<_, Ora>(match stored.iter().find(|u| u.kind == of) {
                Some(specification) => compile_unit(w, &self.units, specification, Some(&unit)),
                None => compile_unit(w, &self.units, &unit, None),
            })
        });
        Ok(result?.1)
    }

    /// The text that the directives of a unit select; the text itself if they have errors.
    pub fn selected<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        owner: &str,
        source: &str,
        settings: Rc<[(String, String)]>,
    ) -> String {
        let Ok(header) = sql::plsql::parse_create_header(&format!("CREATE {source}")) else { return source.into() };
        let (owner, name, source) = (owner.to_string(), header.name.name, source.to_string());
        let unit = StoredUnit { owner, name, kind: header.kind, source, settings };
        let mut stored = |schema: Option<&str>, name: &str| {
            let found = w.stored_unit(Some(schema.unwrap_or(&unit.owner)), name).ok()?;
            found.into_iter().find(|unit| unit.kind == UnitKind::Package)
        };
        crate::compile::selected_source(&unit, &mut stored).into_owned()
    }

    /// Compiles a stored unit as it is. Whether it, or the body of a package, has no errors; `None` when that is
    /// unknown.
    pub fn compiles<W: World<Cursor = C>>(&self, w: &mut W, owner: &str, name: &str, body: bool) -> Option<bool> {
        self.validate(w);
        self.units.compiles(w, owner, name, body)
    }

    /// The present version of a stored unit, which stays unchanged until the call ends (invariant 19): DDL that
    /// replaces it waits.
    pub(super) fn unit_to_run<W: World<Cursor = C>>(&self, w: &mut W, owner: &str, name: &str) -> Result<Rc<Compiled>> {
        self.validate(w);
        let unit = self.units.compiled(w, owner, name)?;
        if self.is_running(&unit) {
            return Ok(unit);
        }
        if !w.unit_runs(owner, name)? {
            return Ok(unit);
        }
        // DDL may have replaced it until a moment ago.
        self.validate(w);
        let unit = self.units.compiled(w, owner, name)?;
        unit.runs_in.set(self.call.get());
        Ok(unit)
    }

    /// The unit and subprogram of an external.
    pub(crate) fn link<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        unit: &Rc<Compiled>,
        external: u32,
    ) -> Result<(Rc<Compiled>, u32)> {
        self.validate(w);
        if let Some(link) = &unit.links.borrow()[external as usize]
            && link.epoch == self.units.epoch()
            && self.is_running(&link.unit)
        {
            return Ok((link.unit.clone(), link.at));
        }
        let e = &unit.pool.externals[external as usize];
        let target = self.unit_to_run(w, &e.owner, &e.name)?;
        let epoch = self.units.epoch();
        check_shown(e, &target)?;
        let Some(at) = target.exports.get(&(e.subprogram.clone(), e.overload)).copied() else {
            return Err(Ora::with(4068, &[&"", &"", &""]).because(Ora::new(6508)));
        };
        if target.package_slots > 0 {
            self.package_state(w, &target)?;
        }
        let link = Link { unit: target.clone(), at, epoch };
        unit.links.borrow_mut()[external as usize] = Some(link);
        Ok((target, at))
    }

    /// The unit and subprogram of a method for an object of type `ty`, which is below the type `of` of the external.
    pub(crate) fn dispatch<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        unit: &Rc<Compiled>,
        external: u32,
        (of, ty): (TypeId, TypeId),
    ) -> Result<(Rc<Compiled>, u32)> {
        self.validate(w);
        if let Some(link) = unit.dispatched.borrow().get(&(external, ty))
            && link.epoch == self.units.epoch()
            && self.is_running(&link.unit)
        {
            return Ok((link.unit.clone(), link.at));
        }
        let (target, at) = match self.method_of(w, &unit.pool.externals[external as usize], (of, ty))? {
            Some(found) => found,
            None => self.link(w, unit, external)?,
        };
        let link = Link { unit: target.clone(), at, epoch: self.units.epoch() };
        unit.dispatched.borrow_mut().insert((external, ty), link);
        Ok((target, at))
    }

    /// The method that overrides an external for objects of type `ty`; `None` if there is none below the type `of`.
    pub(crate) fn method_of<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        e: &External,
        (of, ty): (TypeId, TypeId),
    ) -> Result<Option<(Rc<Compiled>, u32)>> {
        let unknown = || Ora::new(21700);
        let def = self.units.type_of_value(w, ty)?.ok_or_else(unknown)?;
        let key = (e.subprogram.clone(), e.overload);
        for id in std::iter::once(&ty).chain(&def.lineage.supertypes) {
            if *id == of {
                break;
            }
            let (owner, name) = w.unit_called(id.0).ok_or_else(unknown)?;
            let target = self.unit_to_run(w, &owner, &name)?;
            if let Some(at) = target.exports.get(&key).copied() {
                return Ok(Some((target, at)));
            }
        }
        Ok(None)
    }

    /// Whether objects of a type are objects of another one.
    pub(crate) fn is_under<W: World<Cursor = C>>(&self, w: &mut W, ty: TypeId, of: TypeId) -> Result<bool> {
        self.validate(w);
        Ok(self.units.type_of_value(w, ty)?.is_some_and(|def| def.is_under(of)))
    }

    /// The objects that a cached function reads, directly and through its calls; `None` when that is unknown.
    pub(crate) fn cached_reads<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        unit: &Rc<Compiled>,
        def: &ResultCacheDef,
    ) -> Option<Rc<[ObjectId]>> {
        let epoch = self.units.epoch();
        if let Some((at, reads)) = &*def.reads.borrow()
            && *at == epoch
        {
            return reads.clone();
        }
        let reads = self.units.reads(w, unit).map(Rc::from);
        *def.reads.borrow_mut() = Some((epoch, reads.clone()));
        reads
    }

    /// The state of the package with an external's variables.
    pub(crate) fn package<W: World<Cursor = C>>(&self, w: &mut W, unit: &Rc<Compiled>, external: u32) -> Run<usize> {
        if let Some(link) = &unit.links.borrow()[external as usize]
            && link.epoch == self.units.epoch()
            && self.is_running(&link.unit)
        {
            let state = &self.packages.borrow()[link.at as usize];
            if state.ready && state.layout == link.unit.layout {
                return Ok(link.at as usize);
            }
        }
        let e = &unit.pool.externals[external as usize];
        // Its own package, which may be in its initialisation now.
        let target = if e.owner == unit.owner && e.name == unit.name {
            unit.clone()
        } else {
            let target = self.unit_to_run(w, &e.owner, &e.name)?;
            check_shown(e, &target)?;
            target
        };
        let epoch = self.units.epoch();
        let at = self.package_state(w, &target)?;
        let link = Link { unit: target, at: at as u32, epoch };
        unit.links.borrow_mut()[external as usize] = Some(link);
        Ok(at)
    }

    /// Finds or makes the state of a package, and runs its initialisation the first time.
    pub(super) fn package_state<W: World<Cursor = C>>(&self, w: &mut W, unit: &Rc<Compiled>) -> Result<usize> {
        let key = (unit.owner.clone(), unit.name.clone());
        let known = self.package_index.borrow().get(&key).copied();
        let at = match known {
            Some(at) => {
                let mut states = self.packages.borrow_mut();
                let state = &mut states[at];
                let is_same =
                    state.source == unit.source && state.defined == unit.defined && state.layout == unit.layout;
                if state.ready && is_same && state.slots.len() == unit.package_slots as usize {
                    return Ok(at);
                }
                // Another session has replaced the package: the values of this session are lost, and it gets one error.
                let was_ready = std::mem::take(&mut state.ready);
                if was_ready && state.has_state && !std::mem::take(&mut state.renewed) {
                    let package = format!("package \"{}.{}\"", unit.owner, unit.name);
                    let altered = Ora::with(4065, &[&package]).because(Ora::new(6508));
                    let invalid = Ora::with(4061, &[&package]).because(altered);
                    return Err(Ora::with(4068, &[&"", &"", &""]).because(invalid));
                }
                at
            }
            None => {
                let mut states = self.packages.borrow_mut();
                states.push(PackageState {
                    source: String::new(),
                    defined: [0; 2],
                    layout: 0,
                    has_state: false,
                    slots: Vec::new(),
                    ready: false,
                    renewed: false,
                });
                self.package_index.borrow_mut().insert(key, states.len() - 1);
                states.len() - 1
            }
        };
        {
            let mut states = self.packages.borrow_mut();
            let state = &mut states[at];
            state.source.clone_from(&unit.source);
            state.defined = unit.defined;
            state.layout = unit.layout;
            state.has_state = unit.has_state;
            state.slots = vec![Datum::default(); unit.package_slots as usize];
            // Marked before the initialisation runs, because that uses the variables itself.
            state.ready = true;
            state.renewed = false;
        }
        let result = self.on_machine(|m| m.call(self, w, unit.clone(), unit.main, Vec::new()))?;
        if let Err(Fault { ora, .. }) = result {
            self.packages.borrow_mut()[at].ready = false;
            return Err(ora);
        }
        Ok(at)
    }
}

/// Checks that a unit's interface is the one that code was compiled against: fields of records may have moved.
///
/// # Errors
/// ORA-04068 if not; the next call compiles the code again.
fn check_shown(e: &External, target: &Compiled) -> Result<()> {
    if target.shown == e.shown {
        return Ok(());
    }
    let unit = format!("\"{}.{}\"", e.owner, e.name);
    let altered = Ora::with(4065, &[&unit]).because(Ora::with(6508, &[&unit]));
    Err(Ora::with(4068, &[&"", &"", &""]).because(altered))
}
