//! Units by name: their interfaces, their code, and blocks by their text.

use super::ask::Interfaces;
use super::image::{self, Subject};
use super::objects::methods_of_unit;
use super::question::Questions;
use super::scope::{Interface, ObjectSym, Symbol};
use super::trigger::compile_trigger;
use super::unit::{compile_block, compile_unit, interface_of};
use super::units::{Failed, Key, Shown, Units, built_in};
use crate::code::{Compiled, HostTypes, Rights};
use crate::errors::CompileError;
use crate::op::Op;
use crate::packages;
use crate::world::{StoredUnit, World, as_owner};
use dictionary::Access;
use exec::{Trust, UnfitCode};
use library_cache::Edition;
use sql::plsql::ast::UnitKind;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, TypeDef, TypeId};

impl Interfaces for Units {
    fn named_interface<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<Interface>> {
        self.interface(w, owner, name, schema)
    }

    fn named_package<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<StoredUnit>> {
        Ok(self.stored(w, owner, name, schema)?.into_iter().find(|unit| unit.kind == UnitKind::Package))
    }

    fn named_type<W: World>(&self, w: &mut W, id: TypeId, schema: &str) -> Result<Option<Rc<TypeDef>>> {
        self.loaded_type(w, id, schema)
    }

    fn named_methods<W: World>(&self, w: &mut W, id: TypeId) -> Result<Rc<ObjectSym>> {
        self.methods_of(w, id)
    }
}

impl Units {
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
        if shown.owner.is_empty() && packages::type_source(&shown.name).is_some() {
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
        // A type has others in it and above it.
        if os::stack::is_short() {
            return Err(Ora::pls(123, &[&"nesting too deep"]));
        }
        let stored = self.stored(w, owner, name, schema)?;
        if stored.is_empty()
            && let Some(found) = self.standard_interface(w, owner, name, schema)?
        {
            return Ok(Some(found));
        }
        let Some(unit) = stored.iter().find(|u| !is_no_specification(u.kind)) else {
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

    /// A function or type of DBMS_STANDARD, by its name without the package.
    fn standard_interface<W: World>(
        &self,
        w: &mut W,
        owner: Option<&str>,
        name: &str,
        schema: &str,
    ) -> Result<Option<Shown>> {
        let Some(member) = packages::standard_member(name).filter(|_| owner.is_none_or(|owner| owner == "SYS")) else {
            return Ok(None);
        };
        let shown = self.make_interface(w, Some("SYS"), "DBMS_STANDARD", schema)?;
        Ok(shown.and_then(|shown| {
            let Interface::Package(package) = &shown.interface else { return None };
            let interface = match package.symbols.get(member)? {
                Symbol::Subs(subs) => Interface::Subprogram(Rc::clone(subs.first()?)),
                Symbol::Type(ty) => Interface::Type(ty.clone()),
                _ => return None, // not a clause: the package has nothing else
            };
            Some(Shown { interface, ..shown })
        }))
    }

    /// Compiles a procedure, function or type that is not stored yet. Its statements may call it by name.
    pub fn create<W: World>(&self, w: &mut W, unit: &StoredUnit) -> (Option<Compiled>, Vec<CompileError>) {
        let outer = self.creating.replace(Some(unit.clone()));
        let clear = || {
            self.shown.borrow_mut().clear();
            if unit.kind == UnitKind::Type {
                self.types.borrow_mut().clear();
                self.objects.borrow_mut().clear();
            }
        };
        clear();
        let done = self.errors_of(w, unit, None);
        self.creating.replace(outer);
        clear();
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

    /// As [`Units::loaded_type`], for the type of a value: whoever has the value may know its type.
    ///
    /// # Errors
    /// As [`Units::interface`].
    pub fn type_of_value<W: World>(&self, w: &mut W, id: TypeId) -> Result<Option<Rc<TypeDef>>> {
        if let Some(def) = self.type_def(id) {
            return Ok(Some(def));
        }
        let Some((owner, _)) = w.unit_called(id.0) else { return Ok(None) };
        as_owner(w, &owner, |w| self.loaded_type(w, id, &owner))
    }

    /// The methods of an object type.
    fn methods_of<W: World>(&self, w: &mut W, id: TypeId) -> Result<Rc<ObjectSym>> {
        self.depends_on_more();
        if let Some(known) = self.objects.borrow().get(&id) {
            return Ok(known.clone());
        }
        if os::stack::is_short() {
            return Err(Ora::pls(123, &[&"nesting too deep"]));
        }
        let unknown = || Ora::new(21700);
        let def = self.type_of_value(w, id)?.ok_or_else(unknown)?;
        let units = as_owner(w, &def.owner, |w| self.stored(w, Some(&def.owner), &def.name, &def.owner))?;
        let made = match units.iter().find(|unit| unit.kind == UnitKind::Type) {
            Some(unit) => as_owner(w, &def.owner, |w| methods_of_unit(w, self, unit, &def)).map_err(|e| {
                if e.facility() == types::Facility::Pls { Ora::pls(905, &[&def.owner, &def.name]) } else { e }
            })?,
            None => return Err(unknown()),
        };
        let made = Rc::new(made);
        self.objects.borrow_mut().insert(id, made.clone());
        Ok(made)
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
            && let Some(source) = packages::specification(name)
        {
            return Ok(vec![built_in(name, source, UnitKind::Package)]);
        }
        if owner.is_none_or(|o| o == "SYS")
            && let Some(source) = packages::type_source(name)
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
            // The type of an object decides which method runs.
            let is_chosen_later = |op: &Op| matches!(op, Op::CallMethod { is_fixed: false, .. });
            if unit.procs.iter().any(|proc| proc.ops.iter().any(is_chosen_later)) {
                return None;
            }
            for object in &unit.depends {
                if !reads.contains(object) {
                    reads.push(*object);
                }
            }
            let externals = unit.pool.externals.iter().map(|e| (e.owner.clone(), e.name.clone()));
            for key in externals.chain(unit.calls.iter().cloned()) {
                // The other built-in packages read no tables.
                if (key.0.is_empty() || key.0 == "SYS") && packages::reads_unknown(&key.1) {
                    return None;
                }
                let built_in = key.0.is_empty() || (key.0 == "SYS" && packages::is_built_in(&key.1));
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
        let specification = units.iter().find(|u| !is_no_specification(u.kind));
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
        let (units, source) = match packages::specification(name).filter(|_| owner.is_empty()) {
            Some(source) => (Ok(vec![built_in(name, source, UnitKind::Package)]), Rc::default()),
            None => self.asking(|| as_owner(w, owner, |w| self.stored(w, Some(owner), name, owner))),
        };
        let units = units?;
        let Some(specification) = units.iter().find(|u| !is_no_specification(u.kind)) else {
            return Err(Ora::with(6508, &[&format!("\"{owner}.{name}\"")]));
        };
        let body = units.iter().find(|u| is_body(u.kind));
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

    /// The compiled trigger with that number; `None` if it has errors or does not exist any more.
    ///
    /// # Errors
    /// Those of the dictionary.
    pub fn trigger<W: World>(&self, w: &mut W, number: u32) -> Result<Option<Rc<Compiled>>> {
        if let Some(found) = self.triggers.borrow().get(&number) {
            return Ok(Some(found.clone()));
        }
        if self.failed_triggers.borrow().contains(&number) {
            return Ok(None);
        }
        let (stored, source) = {
            // The trigger and its table are asked for as the owner of neither: the answer depends on no privilege.
            self.asking(|| as_owner(w, "SYS", |w| self.ask_trigger(w, number)))
        };
        let Some((unit, table)) = stored? else { return Ok(None) };
        let found = self.instantiate(w, &unit, None);
        if let Ok(trigger) = found {
            self.tell(w, &unit, None, &[]);
            self.triggers.borrow_mut().insert(number, trigger.clone());
            return Ok(Some(trigger));
        }
        let epoch = self.epoch();
        let (made, asked) = self.asking(|| {
            self.include(&source);
            as_owner(w, &unit.owner, |w| compile_trigger(w, self, &unit, &table))
        });
        self.tell(w, &unit, None, &made.errors);
        let Some(trigger) = made.unit else {
            if !made.errors.iter().any(|e| w.passes(e)) {
                self.failed_triggers.borrow_mut().insert(number);
            }
            return Ok(None);
        };
        let trigger = Rc::new(trigger);
        if self.is_of_one_dictionary(w, epoch) {
            let stale = found.err().flatten();
            self.keep(w, (&unit, None), &trigger, &asked, stale);
        }
        self.triggers.borrow_mut().insert(number, trigger.clone());
        Ok(Some(trigger))
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
}

fn is_body(kind: UnitKind) -> bool {
    matches!(kind, UnitKind::PackageBody | UnitKind::TypeBody)
}

fn is_no_specification(kind: UnitKind) -> bool {
    is_body(kind) || kind == UnitKind::Trigger
}
