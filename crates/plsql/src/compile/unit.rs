//! Whole units, and the store of compiled units.

use super::ask::Questions;
use super::image::{self, Subject};
use super::scope::*;
use super::{CResult, Compiler, FnState, Problem, shape};
use crate::datum::CollKind;
use crate::op::*;
use crate::session::CompileError;
use crate::ty::{CollTy, HostType, Ty};
use crate::world::{Owner, StoredUnit, World};
use dictionary::Access;
use exec::{Trust, UnfitCode};
use library_cache::Edition;
use sql::plsql::ast::{self, Declaration, Unit, UnitKind};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use types::{ObjectId, Ora, Result, TypeDef, TypeId, TypeShape};

/// The resolution of an external: a subprogram of a unit, or a package's state.
#[derive(Debug)]
pub struct Link {
    pub unit: Rc<Compiled>,
    pub at: u32,
    /// The dictionary epoch of the resolution.
    pub epoch: u64,
}

/// The names and privileges with which a unit runs.
#[derive(Debug)]
pub enum Rights {
    /// The caller's: an anonymous block, a built-in unit.
    Callers,
    /// Its owner's.
    Definers(Owner),
    /// The caller's, which the owner must be allowed to use.
    Invokers(Owner),
}

/// The use of a host bind by a block's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, types::image::Image)]
pub struct BindUse {
    /// Its value is read.
    pub is_read: bool,
    /// It is assigned: a target of an assignment, or an argument of an OUT parameter.
    pub is_written: bool,
}

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

/// A compiled unit.
#[derive(Debug)]
pub struct Compiled {
    pub owner: String,
    pub rights: Rights,
    /// Empty for an anonymous block.
    pub name: String,
    pub pool: Pool,
    pub procs: Vec<Rc<Proc>>,
    /// The block's body, a package's initialisation, a subprogram's own code.
    pub main: u32,
    /// Subprograms by name and overload.
    pub exports: HashMap<(String, u32), u32>,
    pub package_slots: u32,
    /// The number that is published while a subprogram runs, by its index in `procs`; 0 for subprograms that count as
    /// their callers.
    pub told_as: Vec<u64>,
    /// Host binds of a block.
    pub binds: Vec<String>,
    /// The use of each of them by the block.
    pub bind_uses: Vec<BindUse>,
    /// The objects that its static statements read.
    pub depends: Vec<ObjectId>,
    /// Units whose functions its static statements call.
    pub calls: Vec<(String, String)>,
    /// The resolutions of externals; filled at their first use.
    pub links: RefCell<Vec<Option<Link>>>,
    /// Open cursors of the static statements, taken while they run.
    pub(super) statements: RefCell<Vec<Option<Box<dyn Any>>>>,
    /// The last statement of each dynamic statement, taken while it runs.
    pub(super) dynamics: RefCell<Vec<Option<Box<dyn Any>>>>,
    /// The source: an unchanged package keeps its state.
    pub source: String,
    /// The times of definition: ALTER PACKAGE … COMPILE discards the state of an unchanged package, too.
    pub defined: [u64; 2],
    /// A hash of the variables of a package and their types ([`shape`]).
    pub layout: u64,
    /// A hash of the unit's interface.
    pub shown: u64,
    /// The package has variables, cursors, or constants that are no literals. A session loses nothing when a package
    /// without state is replaced.
    pub has_state: bool,
    /// The call in which the session last reported that it runs the unit ([`crate::World::unit_runs`]).
    pub(crate) runs_in: Cell<u64>,
}

impl Compiled {
    /// Takes a statement's open cursor.
    #[inline]
    pub fn take_statement(&self, sql: u32) -> Option<Box<dyn Any>> {
        self.statements.borrow_mut()[sql as usize].take()
    }

    /// Puts a statement's cursor back.
    pub fn give_statement(&self, sql: u32, cursor: Box<dyn Any>) {
        self.statements.borrow_mut()[sql as usize] = Some(cursor);
    }

    /// Takes the last statement of a dynamic statement.
    #[inline]
    pub fn take_dynamic(&self, dynamic: u32) -> Option<Box<dyn Any>> {
        self.dynamics.borrow_mut().get_mut(dynamic as usize)?.take()
    }

    /// Puts the last statement of a dynamic statement back, and returns the one found there, which an inner run of the
    /// same statement has left.
    pub fn give_dynamic(&self, dynamic: u32, ran: Box<dyn Any>) -> Option<Box<dyn Any>> {
        let mut all = self.dynamics.borrow_mut();
        if all.len() <= dynamic as usize {
            all.resize_with(dynamic as usize + 1, || None);
        }
        all[dynamic as usize].replace(ran)
    }

    /// The unit's name in the form of error stacks.
    pub fn qualified(&self, proc: &Proc) -> String {
        match self.name.is_empty() {
            true => String::new(),
            false if proc.name == self.name || proc.name.is_empty() => format!("{}.{}", self.owner, self.name),
            false => format!("{}.{}", self.owner, self.name),
        }
    }
}

type Key = (String, String);
/// The asking user by [`World::identity`], the schema, and the name.
///
/// Lengths of texts without a unit are in bytes or in characters by the session's setting at that time.
type InterfaceKey = (u128, u64, Option<String>, String, String);

/// Owner and name of a unit, and the length semantics.
type ShownKey = (String, String, u64);

/// The interface of a name, with the questions that found it.
type KnownInterface = (Option<Shown>, Rc<Questions>);
/// The identity and the settings for which a block was compiled.
type BlockOf = (u128, [u64; 3]);

/// The compiled blocks of a text.
type ByIdentity = Vec<(BlockOf, HostTypes, Rc<Compiled>)>;

/// Names of a block's binds, with their types if known.
pub type HostTypes = Rc<[(String, HostType)]>;

/// The owner of the unit with a name, and its interface.
#[derive(Clone)]
struct Shown {
    owner: String,
    name: String,
    interface: Interface,
}

/// The units compiled in this process, valid for one dictionary epoch.
#[derive(Default)]
pub struct Units {
    interfaces: RefCell<HashMap<InterfaceKey, KnownInterface>>,
    /// Interfaces of units by owner, name and length semantics: all users get the same one, with the same types.
    shown: RefCell<HashMap<ShownKey, (Interface, Rc<Questions>)>>,
    compiled: RefCell<HashMap<Key, Rc<Compiled>>>,
    /// Units with errors found in this call. Without this list, units that call one another would each be compiled
    /// again for each order in which they can be named.
    failed: RefCell<HashMap<Key, Failed>>,
    /// Anonymous blocks by their text, each with the identity it was compiled for.
    blocks: RefCell<HashMap<String, ByIdentity>>,
    in_progress: RefCell<HashSet<Key>>,
    compiling: RefCell<HashSet<Key>>,
    /// The unit that CREATE compiles: it replaces the stored one with its name.
    creating: RefCell<Option<StoredUnit>>,
    /// Types of collections that SQL knows by number, after their first use.
    types: RefCell<HashMap<TypeId, Rc<TypeDef>>>,
    /// The questions of each unit that is being compiled, innermost last.
    pub(super) questions: RefCell<Vec<Questions>>,
    /// The last image read, kept for its memory.
    image: RefCell<Vec<u8>>,
    epoch: Cell<u64>,
}

/// A unit with errors.
#[derive(Clone, Copy)]
struct Failed {
    /// Its specification, or its body.
    kind: UnitKind,
    /// It has errors even without its body.
    alone: bool,
}

/// Largest number of blocks by text; beyond it the store is emptied.
const BLOCKS_MAX: usize = 200;

/// Identities for which the blocks of one text are kept.
const IDENTITIES_MAX: usize = 8;

impl Units {
    /// Drops everything when the dictionary has changed.
    pub fn validate(&self, epoch: u64) {
        if self.epoch.replace(epoch) != epoch {
            self.interfaces.borrow_mut().clear();
            self.shown.borrow_mut().clear();
            self.types.borrow_mut().clear();
            self.compiled.borrow_mut().clear();
            self.blocks.borrow_mut().clear();
        }
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    /// Drops every compiled unit, with its open cursors.
    pub fn forget(&self) {
        self.interfaces.borrow_mut().clear();
        self.shown.borrow_mut().clear();
        self.compiled.borrow_mut().clear();
        self.forget_failures();
        self.blocks.borrow_mut().clear();
    }

    /// Drops the list of units with errors: their next use compiles them again.
    pub fn forget_failures(&self) {
        if !self.failed.borrow().is_empty() {
            self.failed.borrow_mut().clear();
        }
    }

    /// The interface of a stored or built-in unit; `None` when it does not exist or is not visible.
    ///
    /// This is the one place that resolves names of units, for SQL, PL/SQL, CALL and jobs, and so the one place that
    /// checks EXECUTE: each time, since resolved names are kept for all identities of the session.
    ///
    /// # Errors
    /// PLS-00904 for a unit that is visible but not executable.
    pub fn interface<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<Interface>> {
        let [_, lengths, _] = w.settings();
        let key = (w.identity(), lengths, owner.map(str::to_string), schema.to_string(), name.to_string());
        let known = self.interfaces.borrow().get(&key).cloned();
        let (found, asked) = match known {
            Some(known) => known,
            None => {
                let (made, asked) = self.asking(|| self.make_interface(w, owner, name, schema));
                let found = made.inspect_err(|_| self.depends_on_more())?;
                self.interfaces.borrow_mut().insert(key, (found.clone(), asked.clone()));
                (found, asked)
            }
        };
        self.include(&asked);
        let Some(shown) = found else { return Ok(None) };
        if self.is_creating(&shown.owner, &shown.name) {
            self.depends_on_more();
            return Ok(Some(shown.interface));
        }
        // PUBLIC has EXECUTE on the types that come with the database.
        if shown.owner.is_empty() && crate::packages::type_source(&shown.name).is_some() {
            return Ok(Some(shown.interface));
        }
        match self.ask_execute(w, &shown.owner, &shown.name)? {
            Access::Yes if self.stays_invalid(w, &shown.owner, &shown.name) => {
                self.depends_on_more();
                Err(Ora::pls(905, &[&shown.owner, &shown.name]))
            }
            Access::Yes => Ok(Some(shown.interface)),
            Access::Hidden => Ok(None),
            Access::Visible => Err(Ora::pls(904, &[&format_args!("{}.{}", shown.owner, shown.name)])),
        }
    }

    fn make_interface<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<Shown>> {
        let stored = self.stored(w, owner, name, schema)?;
        let Some(unit) = stored.iter().find(|u| u.kind != UnitKind::PackageBody && u.kind != UnitKind::Trigger) else {
            return Ok(None);
        };
        if !unit.owner.is_empty() || unit.kind != UnitKind::Type {
            w.unit_linked(&unit.owner, &unit.name);
        }
        let [_, lengths, _] = w.settings();
        let of = (unit.owner.clone(), unit.name.clone(), lengths);
        let known = self.shown.borrow().get(&of).cloned();
        if let Some((interface, asked)) = known {
            self.include(&asked);
            return Ok(Some(Shown { owner: of.0, name: of.1, interface }));
        }
        let key = (unit.owner.clone(), unit.name.clone());
        if !self.in_progress.borrow_mut().insert(key.clone()) {
            return Err(Ora::pls(907, &[&unit.name, &unit.name]));
        }
        let (result, asked) = self.asking(|| {
            if !unit.owner.is_empty() {
                self.ask_user(w, &unit.owner);
            }
            as_owner(w, &unit.owner, |w| interface_of(w, self, unit))
        });
        self.in_progress.borrow_mut().remove(&key);
        self.include(&asked);
        if let Ok(interface) = &result {
            self.shown.borrow_mut().insert(of, (interface.clone(), asked));
        }
        let shown = |interface| Some(Shown { owner: unit.owner.clone(), name: unit.name.clone(), interface });
        result.map(shown).map_err(|e| match e.facility() {
            types::Facility::Pls if matches!(e.code(), 904 | 907) => e,
            _ => Ora::pls(905, &[&unit.owner, &unit.name]),
        })
    }

    /// Compiles a procedure or function that is not stored yet. Its statements may call it by name.
    pub fn create<W: World>(&self, w: &mut W, unit: &StoredUnit) -> (Option<Compiled>, Vec<CompileError>) {
        let outer = self.creating.replace(Some(unit.clone()));
        self.shown.borrow_mut().clear();
        let done = self.errors_of(w, unit, None);
        self.creating.replace(outer);
        self.shown.borrow_mut().clear();
        let is_it = |(shown, _): &(Option<Shown>, Rc<Questions>)| {
            shown.as_ref().is_some_and(|shown| shown.owner == unit.owner && shown.name == unit.name)
        };
        self.interfaces.borrow_mut().retain(|_, shown| !is_it(shown));
        done
    }

    /// The definition of the type with that number, loaded if it has not been named yet.
    pub fn loaded_type<W: World>(&self, w: &mut W, id: TypeId, schema: &str) -> Result<Option<Rc<TypeDef>>> {
        if let Some(def) = self.type_def(id) {
            return Ok(Some(def));
        }
        self.depends_on_more();
        let Some((owner, name)) = w.unit_called(id.0) else { return Ok(None) };
        self.interface(w, Some(&owner), &name, schema)?;
        Ok(self.type_def(id))
    }

    /// The definition of a type that has been named.
    pub fn type_def(&self, id: TypeId) -> Option<Rc<TypeDef>> {
        let built_in = id.built_in().map(Rc::new);
        if built_in.is_none() {
            // The code refers to attributes only by position.
            self.depends_on_more();
        }
        built_in.or_else(|| self.types.borrow().get(&id).cloned())
    }

    /// A type of a schema with its number, if SQL can use it: its elements are scalars.
    fn catalogued(&self, unit: &StoredUnit, id: Option<TypeId>, ty: Ty) -> Ty {
        let Ty::Coll(c) = &ty else { return ty };
        let (Some(id), Some(element)) = (id.filter(|id| id.0 != 0), c.element.data_type()) else { return ty };
        let shape = match (c.info.kind, c.info.limit) {
            (CollKind::Varray, Some(limit)) => TypeShape::Varray { element, limit },
            (CollKind::Nested, _) => TypeShape::Table { element },
            _ => return ty,
        };
        let def = TypeDef { id, owner: unit.owner.clone(), name: unit.name.clone(), shape };
        self.types.borrow_mut().insert(id, Rc::new(def));
        let (element, info) = (c.element.clone(), c.info.clone());
        Ty::Coll(Rc::new(CollTy { element, info, is_host: false, id: Some(id) }))
    }

    fn is_creating(&self, owner: &str, name: &str) -> bool {
        self.creating.borrow().as_ref().is_some_and(|unit| unit.owner == owner && unit.name == name)
    }

    fn stored<W: World>(&self, w: &mut W, owner: Option<&str>, name: &str, schema: &str) -> Result<Vec<StoredUnit>> {
        if self.is_creating(owner.unwrap_or(schema), name) {
            self.depends_on_more();
            return Ok(self.creating.borrow().iter().cloned().collect());
        }
        let found = match owner {
            Some(o) => self.ask_units(w, Some(o), name)?,
            None => {
                let own = self.ask_units_of(w, schema, name)?;
                if own.is_empty() { self.ask_units(w, None, name)? } else { own }
            }
        };
        if !found.is_empty() {
            return Ok(found);
        }
        if owner.is_none_or(|o| o == "SYS")
            && let Some(source) = crate::packages::specification(name)
        {
            return Ok(vec![built_in(name, source, UnitKind::Package)]);
        }
        if owner.is_none_or(|o| o == "SYS")
            && let Some(source) = crate::packages::type_source(name)
        {
            return Ok(vec![built_in(name, source, UnitKind::Type)]);
        }
        Ok(Vec::new())
    }

    /// The objects that a unit's statements read, with those of every unit that it can call, and these units. `None`
    /// when one of them runs dynamic SQL, has SQL with invoker's rights (whose names depend on the caller), or does not
    /// compile: what it reads is then unknown before it runs.
    pub fn reads<W: World>(&self, w: &mut W, unit: &Rc<Compiled>) -> Option<Vec<ObjectId>> {
        let mut seen: Vec<Key> = vec![(unit.owner.clone(), unit.name.clone())];
        let mut waiting = vec![unit.clone()];
        // The result also depends on the units, which may be replaced.
        let mut reads: Vec<ObjectId> = w.unit_objects(&unit.owner, &unit.name);
        while let Some(unit) = waiting.pop() {
            let is_callers = matches!(unit.rights, Rights::Invokers(_)) && !unit.pool.sql.is_empty();
            if is_callers || !unit.pool.dynamics.is_empty() {
                return None;
            }
            for object in &unit.depends {
                if !reads.contains(object) {
                    reads.push(*object);
                }
            }
            let externals = unit.pool.externals.iter().map(|e| (e.owner.clone(), e.name.clone()));
            for key in externals.chain(unit.calls.iter().cloned()) {
                // The built-in packages read no tables.
                let built_in = key.0.is_empty() || (key.0 == "SYS" && crate::packages::is_built_in(&key.1));
                if built_in || seen.contains(&key) {
                    continue;
                }
                if self.is_compiling(&key.0, &key.1) {
                    return None;
                }
                waiting.push(self.compiled(w, &key.0, &key.1).ok()?);
                reads.extend(w.unit_objects(&key.0, &key.1));
                seen.push(key);
            }
        }
        Some(reads)
    }

    /// Whether a unit that the dictionary has as invalid still has errors: missing objects may exist now. For a package
    /// only the specification counts.
    fn stays_invalid<W: World>(&self, w: &mut W, owner: &str, name: &str) -> bool {
        if !owner.is_empty() && self.is_compiling(owner, name) && self.compiling.borrow().len() > 1 {
            self.depends_on_more();
        }
        let asked = !owner.is_empty() && !self.is_compiling(owner, name) && !self.ask_valid(w, owner, name);
        asked && !self.compiles(w, owner, name, false).unwrap_or(true)
    }

    /// Compiles a stored unit, or a package with its body, and reports the result to the dictionary. Whether the
    /// specification, or the `body`, has no errors; `None` when that is unknown.
    pub fn compiles<W: World>(&self, w: &mut W, owner: &str, name: &str, body: bool) -> Option<bool> {
        if self.is_compiling(owner, name) {
            return None;
        }
        match self.compiled(w, owner, name) {
            Ok(_) => Some(true),
            Err(e) if e.is(4063) => {
                let known = self.failed.borrow().get(&(owner.to_string(), name.to_string())).copied();
                Some(!body && !known.map_or_else(|| self.fails_alone(w, owner, name), |failed| failed.alone))
            }
            Err(_) => None,
        }
    }

    /// Whether a unit has errors even without its body.
    fn fails_alone<W: World>(&self, w: &mut W, owner: &str, name: &str) -> bool {
        let units = as_owner(w, owner, |w| self.stored(w, Some(owner), name, owner)).unwrap_or_default();
        let specification = units.iter().find(|u| u.kind != UnitKind::PackageBody && u.kind != UnitKind::Trigger);
        specification.is_some_and(|unit| !self.errors_of(w, unit, None).1.is_empty())
    }

    fn errors_of<W: World>(
        &self,
        w: &mut W,
        specification: &StoredUnit,
        body: Option<&StoredUnit>,
    ) -> (Option<Compiled>, Vec<CompileError>) {
        let key = (specification.owner.clone(), specification.name.clone());
        self.compiling.borrow_mut().insert(key.clone());
        let done = as_owner(w, &specification.owner, |w| compile_unit(w, self, specification, body));
        self.compiling.borrow_mut().remove(&key);
        done
    }

    /// Reports the result of a compilation to the dictionary. Returns whether the unit has errors even without its
    /// body.
    fn tell<W: World>(
        &self,
        w: &mut W,
        specification: &StoredUnit,
        body: Option<&StoredUnit>,
        errors: &[CompileError],
    ) -> bool {
        let Some(body) = body.filter(|_| !specification.owner.is_empty()) else {
            if !specification.owner.is_empty() {
                w.unit_compiled(specification, errors);
            }
            return !errors.is_empty();
        };
        let of_specification = match errors {
            [] => Vec::new(),
            _ => self.errors_of(w, specification, None).1,
        };
        w.unit_compiled(specification, &of_specification);
        if of_specification.is_empty() {
            w.unit_compiled(body, errors);
            return false;
        }
        let lacks = [Ora::pls(905, &[&body.owner, &body.name]), Ora::pls(304, &[&body.name])];
        let lacks = lacks.map(|e| CompileError { line: 1, column: 14, text: e.headline() });
        w.unit_compiled(body, &lacks);
        true
    }

    /// Whether the unit is being compiled by an outer compilation.
    pub fn is_compiling(&self, owner: &str, name: &str) -> bool {
        self.compiling.borrow().iter().any(|(o, n)| o == owner && n == name)
    }

    /// The compiled unit with that name.
    ///
    /// # Errors
    /// ORA-06508 when it does not exist any more, ORA-04063 when it has errors.
    pub fn compiled<W: World>(&self, w: &mut W, owner: &str, name: &str) -> Result<Rc<Compiled>> {
        let key = (owner.to_string(), name.to_string());
        if let Some(found) = self.compiled.borrow().get(&key) {
            return Ok(found.clone());
        }
        let has_errors = |kind: UnitKind| {
            Ora::with(4063, &[&format!("{} \"{owner}.{name}\"", kind.name().to_lowercase())])
                .because(Ora::with(6508, &[&format!("\"{owner}.{name}\"")]))
        };
        if let Some(failed) = self.failed.borrow().get(&key) {
            return Err(has_errors(failed.kind));
        }
        // EXECUTE was checked where the unit was named; its contents are its owner's.
        let (units, source) = match crate::packages::specification(name).filter(|_| owner.is_empty()) {
            Some(source) => (Ok(vec![built_in(name, source, UnitKind::Package)]), Rc::default()),
            None => self.asking(|| as_owner(w, owner, |w| self.stored(w, Some(owner), name, owner))),
        };
        let units = units?;
        let Some(specification) = units.iter().find(|u| u.kind != UnitKind::PackageBody && u.kind != UnitKind::Trigger)
        else {
            return Err(Ora::with(6508, &[&format!("\"{owner}.{name}\"")]));
        };
        let body = units.iter().find(|u| u.kind == UnitKind::PackageBody);
        if owner.is_empty() {
            w.unit_linked(owner, name);
        }
        let found = self.instantiate(w, specification, body);
        if let Ok(unit) = found {
            self.tell(w, specification, body, &[]);
            self.compiled.borrow_mut().insert(key, unit.clone());
            return Ok(unit);
        }
        let epoch = self.epoch();
        let ((result, errors), asked) = self.asking(|| {
            self.include(&source);
            self.errors_of(w, specification, body)
        });
        let alone = self.tell(w, specification, body, &errors);
        let Some(unit) = result.filter(|_| errors.is_empty()) else {
            let kind = body.unwrap_or(specification).kind;
            // A unit in a cycle of specifications may compile when another of them is compiled first.
            if !errors.iter().any(|e| w.passes(e) || e.text.contains("PLS-00907")) {
                self.failed.borrow_mut().insert(key, Failed { kind, alone });
            }
            return Err(has_errors(kind));
        };
        let unit = Rc::new(unit);
        if self.is_of_one_dictionary(w, epoch) {
            let stale = found.err().flatten();
            self.keep(w, (specification, body), &unit, &asked, stale);
        }
        self.compiled.borrow_mut().insert(key, unit.clone());
        Ok(unit)
    }

    /// Makes a unit from its image in the library cache. The error is the image that was unusable.
    fn instantiate<W: World>(
        &self,
        w: &mut W,
        specification: &StoredUnit,
        body: Option<&StoredUnit>,
    ) -> std::result::Result<Rc<Compiled>, Option<Edition>> {
        if specification.owner.is_empty() || self.creating.borrow().is_some() {
            return Err(None);
        }
        let epoch = self.epoch();
        let mut bytes = self.image.take();
        let found = w.unit_image(specification, body.is_some(), &mut bytes);
        let is_settled = dictionary::DictionaryShared::is_settled(epoch) && w.epoch() == epoch;
        // Its statements may call functions whose statements call it.
        let key = (specification.owner.clone(), specification.name.clone());
        let is_outermost = self.compiling.borrow_mut().insert(key.clone());
        let made = found.filter(|_| is_settled).and_then(|found| {
            let trust = if found.is_known { Trust::Known } else { Trust::Own };
            let (unit, is_news) = image::decode(w, &bytes, Subject::Unit(specification, body), epoch, trust).ok()?;
            if is_news {
                w.unit_is_known(found, epoch);
            }
            Some(unit)
        });
        if is_outermost {
            self.compiling.borrow_mut().remove(&key);
        }
        self.image.replace(bytes);
        made.map(Rc::new).ok_or(found.filter(|_| is_settled).map(|found| found.edition))
    }

    /// Puts the image of a compiled unit into the library cache, if it has one.
    fn keep<W: World>(
        &self,
        w: &mut W,
        (specification, body): (&StoredUnit, Option<&StoredUnit>),
        unit: &Compiled,
        asked: &Questions,
        stale: Option<Edition>,
    ) {
        if specification.owner.is_empty() {
            return;
        }
        let Some(questions) = asked.of_owners() else { return };
        if let Some(image) = image::encode(w, unit, Subject::Unit(specification, body), self.epoch(), questions) {
            w.keep_unit(specification, body.is_some(), &image, stale);
        }
    }

    /// Compiles an anonymous block, and returns the image of its code; empty without one.
    ///
    /// # Errors
    /// ORA-06550 with the line and column of each error.
    pub fn block<W: World>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
        shared: bool,
    ) -> Result<(Rc<Compiled>, Vec<u8>)> {
        let epoch = self.epoch();
        let (made, asked) = self.asking(|| compile_block(w, self, text, types));
        let block = Rc::new(made?);
        let mut image = None;
        if shared
            && self.is_of_one_dictionary(w, epoch)
            && let Some(questions) = asked.complete()
        {
            let schema = w.schema();
            image = image::encode(w, &block, Subject::Block { schema: &schema, text, types }, epoch, questions);
        }
        self.note_block(w, text, types, &block);
        Ok((block, image.unwrap_or_default()))
    }

    /// The block of an image, and whether to note that it is valid in this dictionary.
    ///
    /// # Errors
    /// The reason why the session cannot use it.
    pub fn block_of_image<W: World>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
        (bytes, trust): (&[u8], Trust),
    ) -> std::result::Result<(Rc<Compiled>, bool), UnfitCode> {
        let epoch = self.epoch();
        if !self.is_of_one_dictionary(w, epoch) {
            return Err(UnfitCode::Other);
        }
        let schema = w.schema();
        let (block, is_news) = image::decode(w, bytes, Subject::Block { schema: &schema, text, types }, epoch, trust)?;
        let block = Rc::new(block);
        self.note_block(w, text, types, &block);
        Ok((block, is_news))
    }

    /// Whether all answers since that epoch belong to one dictionary.
    fn is_of_one_dictionary<W: World>(&self, w: &mut W, epoch: u64) -> bool {
        let is_settled = dictionary::DictionaryShared::is_settled(epoch) && epoch == self.epoch() && epoch == w.epoch();
        is_settled && self.creating.borrow().is_none()
    }

    /// Keeps a block for the identity in force.
    fn note_block<W: World>(&self, w: &W, text: &str, types: &HostTypes, block: &Rc<Compiled>) {
        let mut blocks = self.blocks.borrow_mut();
        if blocks.len() >= BLOCKS_MAX {
            blocks.clear();
        }
        let kept = blocks.entry(text.to_string()).or_default();
        let now = (w.identity(), w.settings());
        kept.retain(|(identity, of, _)| (*identity, of) != (now, types));
        if kept.len() >= IDENTITIES_MAX {
            kept.remove(0);
        }
        kept.push((now, types.clone(), block.clone()));
    }

    /// The block compiled from this text for the identity in force, with binds of those types or of any.
    pub fn known_block<W: World>(&self, w: &W, text: &str, types: Option<&HostTypes>) -> Option<Rc<Compiled>> {
        let blocks = self.blocks.borrow();
        let now = (w.identity(), w.settings());
        let is_it = |of: &HostTypes| types.is_none_or(|types| types == of);
        let (_, _, block) = blocks.get(text)?.iter().find(|(identity, of, _)| *identity == now && is_it(of))?;
        Some(block.clone())
    }
}

/// The specification of a built-in package.
fn built_in(name: &str, source: &str, kind: UnitKind) -> StoredUnit {
    let (owner, source) = (String::new(), source.to_string());
    StoredUnit { owner, name: name.into(), kind, source }
}

fn owner_of<W: World>(w: &mut W, name: &str) -> Owner {
    Owner { name: name.into(), number: w.owner_number(name) }
}

/// Runs `f` with the names and privileges of a unit's owner, with which every unit is compiled.
pub fn as_owner<W: World, R>(w: &mut W, owner: &str, f: impl FnOnce(&mut W) -> R) -> R {
    if owner.is_empty() {
        return f(w);
    }
    let owner = owner_of(w, owner);
    let entered = w.enter(&owner);
    let r = f(w);
    if entered {
        w.leave();
    }
    r
}

/// ORA-06550 for a list of errors.
pub fn compile_failed(errors: &[CompileError]) -> Ora {
    let mut lines = errors.iter().map(|e| {
        let text = format!("line {}, column {}:\n{}", e.line, e.column, e.text);
        Ora::from_text(types::Facility::Ora, 6550, text)
    });
    let first = lines.next().unwrap_or_else(|| Ora::internal("a unit failed without an error"));
    lines.fold(first, Ora::because)
}

/// The errors of a block, at the position of the first one.
fn block_failed(text: &str, errors: &[CompileError]) -> Ora {
    let error = compile_failed(errors);
    let Some(first) = errors.first() else { return error };
    let line_start = match first.line {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line as usize - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let column = first.column.saturating_sub(1) as usize;
    let in_line = text[line_start..].char_indices().nth(column).map_or(0, |(at, _)| at);
    error.at((line_start + in_line) as u32)
}

/// Compiles an anonymous block.
pub fn compile_block<W: World>(w: &mut W, units: &Units, text: &str, types: &HostTypes) -> Result<Compiled> {
    let names: Vec<String> = sql::outline(text).placeholders.into_iter().map(|p| p.name).collect();
    if names.len() > sql::BINDS_MAX {
        return Err(Ora::new(1745));
    }
    let block = sql::plsql::parse_block(text).map_err(|e| block_failed(text, &[parse_error(text, &e)]))?;
    let schema = w.schema();
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &schema, "", text);
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

fn parse_error(text: &str, e: &Ora) -> CompileError {
    let (line, column) = sql::plsql::line_column(text, e.position().unwrap_or(0));
    CompileError { line, column, text: e.headline() }
}

/// Compiles a stored unit, and a package with its body if it has one. Returns the errors of the last part that was
/// compiled.
pub fn compile_unit<W: World>(
    w: &mut W,
    units: &Units,
    specification: &StoredUnit,
    body: Option<&StoredUnit>,
) -> (Option<Compiled>, Vec<CompileError>) {
    let text = specification.source.as_str();
    let unit = match sql::plsql::parse_unit(text) {
        Ok(unit) => unit,
        Err(e) => return (None, vec![parse_error(text, &e)]),
    };
    match unit {
        Unit::Subprogram { schema: _, subprogram } => {
            let w = RefCell::new(w);
            let mut c = Compiler::new(&w, units, &specification.owner, &specification.name, text);
            c.authid = subprogram.attributes.authid;
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
        Unit::Type { schema: _, name, definition } => {
            let w = RefCell::new(w);
            let mut c = Compiler::new(&w, units, &specification.owner, &specification.name, text);
            let checked = match &definition {
                ast::TypeDefinition::Object(attributes) => c.attributes(attributes).map(|_| ()),
                // not a clause: the others are those of declarations
                definition => c.type_definition(definition).map(|_| ()),
            };
            if let Err(e) = checked {
                c.note(e, name.pos, "Declaration");
            }
            let errors = c.errors();
            (errors.is_empty().then(|| c.into_compiled(&specification.source, 0, HashMap::new())), errors)
        }
        Unit::Trigger(_) => {
            let text = "PLS-00707: unsupported construct or internal error [triggers]".to_string();
            (None, vec![CompileError { line: 1, column: 1, text }])
        }
        Unit::PackageBody(_) => {
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
    let ast::Package { schema: _, name: _, authid, declarations } = p;
    let body_text = body.map_or("", |b| b.source.as_str());
    let parsed = match body.map(|b| sql::plsql::parse_unit(&b.source)) {
        Some(Ok(Unit::PackageBody(b))) => Some(b),
        Some(Ok(_)) => None,
        Some(Err(e)) => return (None, vec![parse_error(body_text, &e)]),
        None => None,
    };
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &specification.owner, &specification.name, &specification.source);
    c.authid = *authid;
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
fn interface_of<W: World>(w: &mut W, units: &Units, unit: &StoredUnit) -> Result<Interface> {
    let text = unit.source.as_str();
    let failed = |e: Ora| compile_failed(&[parse_error(text, &e)]);
    let parsed = sql::plsql::parse_unit(text).map_err(failed)?;
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &unit.owner, &unit.name, text);
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
            Ok(Interface::Package(Rc::new(PackageSym { symbols })))
        }
        Unit::Type { schema: _, name: _, definition } => {
            let id = match unit.owner.as_str() {
                "" => TypeId::built_in_named(&unit.name),
                owner => Some(TypeId(units.ask_number(&mut **w.borrow_mut(), owner, &unit.name))),
            };
            if let ast::TypeDefinition::Object(attributes) = &definition {
                units.depends_on_more();
                let shape = TypeShape::Object(c.attributes(attributes)?);
                // A type that is being created has no number yet, and no values exist.
                let id = id.unwrap_or(TypeId(0));
                let def = TypeDef { id, owner: unit.owner.clone(), name: unit.name.clone(), shape };
                units.types.borrow_mut().insert(id, Rc::new(def));
                return Ok(Interface::Type(Ty::of(types::DataType::Named(id))));
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
        declared.attributes.pipelined = None;
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

    fn into_compiled(self, source: &str, main: u32, exports: HashMap<(String, u32), u32>) -> Compiled {
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
            runs_in: Cell::default(),
        }
    }
}
