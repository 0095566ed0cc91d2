//! The interface of PL/SQL for sessions and DDL.

use crate::compile::{self, BindUse, Compiled, HostTypes, Interface, PackageSym, SubSym, SubTarget, Symbol, Units};
use crate::datum::Datum;
use crate::machine::{Fault, Left, Machine, OpenCursor, Run};
use crate::op::{External, ResultCacheDef};
use crate::packages::output::Output;
use crate::packages::random::Random;
use crate::ty::HostType;
use crate::world::{StoredUnit, World};
use exec::{Trust, UnfitCode};
use sql::plsql::ast::{Mode, Unit, UnitKind};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, TypeId, Value};

/// Largest depth of SQL calling PL/SQL that runs SQL, and so on: beyond it ORA-00036.
const LEVELS_MAX: u32 = 50;

/// The state of PL/SQL for a session: compiled units, package state, open static cursors, DBMS_OUTPUT, the random
/// generator.
///
/// One per server process. All methods take `&self`: PL/SQL calls SQL, which calls PL/SQL functions.
pub struct Plsql<C> {
    units: Units,
    machines: RefCell<Vec<Machine>>,
    packages: RefCell<Vec<PackageState>>,
    package_index: RefCell<HashMap<(String, String), usize>>,
    output: RefCell<Output>,
    random: RefCell<Random>,
    functions: RefCell<Vec<Rc<SubSym>>>,
    args: RefCell<Vec<Vec<Datum>>>,
    level: Cell<u32>,
    pub(crate) left: Left<C>,
    /// The number of cursors that variables and loops hold open.
    pub(crate) cursors_open: Rc<Cell<usize>>,
    /// Implicit results of the client's call.
    results: RefCell<Vec<Datum>>,
    takes_results: Cell<bool>,
    /// The number of the call in progress, from 1.
    call: Cell<u64>,
}

/// The variables of a package.
struct PackageState {
    /// The source that they belong to; a changed package loses its state.
    source: String,
    defined: [u64; 2],
    /// The hash of the layout of the slots, which changes with types that the package names, even if its source does
    /// not.
    layout: u64,
    slots: Vec<Datum>,
    /// The package has state that could be lost.
    has_state: bool,
    ready: bool,
    /// This session has compiled the package again itself: it gets no error about the lost state.
    renewed: bool,
}

/// A compiled anonymous block.
pub struct Block {
    unit: Rc<Compiled>,
    /// The dictionary epoch for which it is valid.
    epoch: u64,
    /// The identity and the settings for which it was compiled.
    identity: u128,
    settings: [u64; 3],
}

impl Block {
    /// The bind variables in the order of their first use, in upper case.
    pub fn binds(&self) -> &[String] {
        &self.unit.binds
    }

    /// The block's uses of each of them.
    pub fn bind_uses(&self) -> &[BindUse] {
        &self.unit.bind_uses
    }

    /// The tables and views that its static SQL reads or changes.
    pub fn reads(&self) -> &[ObjectId] {
        &self.unit.depends
    }

    /// Owner and name of the stored units that it calls or names; the owner of a built-in unit is empty.
    pub fn units(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.unit.pool.externals.iter().map(|e| (e.owner.as_str(), e.name.as_str()));
        named.chain(self.unit.calls.iter().map(|(owner, name)| (owner.as_str(), name.as_str())))
    }
}

/// A stored or packaged function for calls from SQL.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub owner: String,
    pub package: Option<String>,
    pub name: String,
    /// Valid until the session ends.
    pub handle: u64,
    pub arg_types: Vec<DataType>,
    pub arg_names: Vec<String>,
    /// For each parameter, whether it has a default.
    pub has_default: Vec<bool>,
    pub ty: DataType,
    pub deterministic: bool,
    /// It has invoker's rights.
    pub invokers: bool,
}

/// One line of USER_ERRORS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    pub line: u32,
    pub column: u32,
    /// `PLS-00201: identifier 'X' must be declared`, `PL/SQL: Statement ignored`.
    pub text: String,
}

impl<C: 'static> Plsql<C> {
    /// `seed` initializes DBMS_RANDOM.
    pub fn new(seed: u64) -> Plsql<C> {
        Plsql {
            units: Units::default(),
            machines: RefCell::default(),
            packages: RefCell::default(),
            package_index: RefCell::default(),
            output: RefCell::default(),
            random: RefCell::new(Random::new(seed)),
            functions: RefCell::default(),
            args: RefCell::default(),
            level: Cell::new(0),
            left: Left::default(),
            cursors_open: Rc::default(),
            results: RefCell::default(),
            takes_results: Cell::new(true),
            call: Cell::new(1),
        }
    }

    /// Compiles an anonymous block. A text is compiled once: later calls return the same block until the dictionary
    /// changes.
    ///
    /// # Errors
    /// ORA-06550 with the line and column of each error.
    pub fn compile_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str) -> Result<Rc<Block>> {
        self.compile_block_with(w, text, &Rc::from([]))
    }

    /// Like [`Plsql::compile_block`], with binds of these types: with others it is another block (invariant 14).
    ///
    /// # Errors
    /// Those of [`Plsql::compile_block`].
    pub fn compile_block_with<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
    ) -> Result<Rc<Block>> {
        match self.known_block(w, text, types) {
            Some(block) => Ok(block),
            None => Ok(self.compile_new_block(w, text, types, false)?.0),
        }
    }

    /// A block that was compiled earlier from this text, for binds of these types and the same identity, in the present
    /// dictionary.
    pub fn known_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str, types: &HostTypes) -> Option<Rc<Block>> {
        self.validate(w);
        let unit = self.units.known_block(w, text, Some(types))?;
        Some(self.block_of(w, unit))
    }

    /// Compiles an anonymous block even if it is known. If it is `shared`, returns the image of its code for other
    /// sessions; empty without one.
    ///
    /// # Errors
    /// ORA-06550 with the line and column of each error.
    pub fn compile_new_block<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
        shared: bool,
    ) -> Result<(Rc<Block>, Vec<u8>)> {
        self.validate(w);
        let (unit, image) = self.units.block(w, text, types, shared)?;
        Ok((self.block_of(w, unit), image))
    }

    /// The block of an image, if this session may use it; true: its validity in this dictionary is to be noted.
    ///
    /// # Errors
    /// The reason why the session may not use it.
    pub fn block_of_image<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
        image: (&[u8], Trust),
    ) -> std::result::Result<(Rc<Block>, bool), UnfitCode> {
        self.validate(w);
        let (unit, is_news) = self.units.block_of_image(w, text, types, image)?;
        Ok((self.block_of(w, unit), is_news))
    }

    fn block_of<W: World<Cursor = C>>(&self, w: &W, unit: Rc<Compiled>) -> Rc<Block> {
        Rc::new(Block { unit, epoch: self.units.epoch(), identity: w.identity(), settings: w.settings() })
    }

    /// Whether a block was compiled from this text for the same identity, and the dictionary has not changed since.
    pub fn knows_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str) -> bool {
        self.validate(w);
        self.units.known_block(w, text, None).is_some()
    }

    /// Whether a block still has the meaning of its text: dictionary, identity and settings are unchanged.
    pub fn is_current<W: World<Cursor = C>>(&self, w: &mut W, block: &Block) -> bool {
        self.validate(w);
        self.units.epoch() == block.epoch && w.identity() == block.identity && w.settings() == block.settings
    }

    /// Runs a block. `binds` are in the order of [`Block::binds`], changed in place; a cursor variable is returned as a
    /// cursor. The caller makes the savepoint of the call and rolls back to it on failure.
    ///
    /// # Errors
    /// The exception that was not handled, with ORA-06512 lines.
    pub fn run_block<W: World<Cursor = C>>(&self, w: &mut W, block: &Rc<Block>, binds: &mut [Datum]) -> Result<()> {
        if binds.len() != block.unit.binds.len() {
            return Err(Ora::new(1008));
        }
        let given = binds.iter_mut().map(std::mem::take).collect();
        let (result, given) = self.on_machine(|m| {
            m.binds = given;
            let result = m.call(self, w, block.unit.clone(), block.unit.main, Vec::new());
            (result.map(|_| ()), std::mem::take(&mut m.binds))
        })?;
        for (place, value) in binds.iter_mut().zip(given) {
            *place = value;
        }
        self.close_left(w);
        result.map_err(|f| f.ora.without_position())
    }

    /// Resolves `[owner.][package.]name` for SQL; `None` when there is no such function with that number of arguments.
    /// Of several overloads the one whose parameters fit the arguments' types best.
    pub fn function<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<Function>> {
        self.validate(w);
        let schema = w.schema();
        let mut tries: Vec<(Option<&str>, &str, Option<&str>)> = Vec::new();
        match path {
            [name] => tries.push((None, name, None)),
            [a, b] => {
                tries.push((None, a, Some(b)));
                tries.push((Some(a), b, None));
            }
            [owner, package, name] => tries.push((Some(owner), package, Some(name))),
            _ => {}
        }
        for (owner, unit, member) in tries {
            let interface = self.units.interface(w, owner, unit, &schema).map_err(|e| match e.facility() {
                types::Facility::Pls if e.code() == 904 => Ora::new(1031),
                types::Facility::Pls if e.code() == 905 => {
                    let shown = owner.unwrap_or(&schema);
                    Ora::with(6575, &[&format_args!("{shown}.{unit}")])
                }
                _ => e,
            })?;
            let found = match interface {
                Some(Interface::Subprogram(s)) if member.is_none() => Some(vec![s]),
                Some(Interface::Package(p)) => member.and_then(|m| functions_of(&p, m)),
                Some(Interface::Type(ty)) if member.is_none() => match (ty.named(), ty.data_type()) {
                    (Some((_, id)), _) | (None, Some(DataType::Named(id))) => return self.constructor(id, args.len()),
                    _ => None,
                },
                _ => None,
            };
            let Some(list) = found else { continue };
            let fits = |s: &&Rc<SubSym>| {
                s.returns.is_some()
                    && (s.required()..=s.parameters.len()).contains(&args.len())
                    && s.parameters.iter().all(|p| p.mode == Mode::In && is_of_sql(&p.ty))
                    && s.parameters.iter().zip(args).all(|(p, arg)| match (arg, p.ty.named()) {
                        (DataType::Null, _) => true,
                        (arg, Some((_, id))) => *arg == DataType::Named(id),
                        (arg, None) => is_cursor(&p.ty) == (*arg == DataType::Cursor),
                    })
            };
            // The first one with the best fit.
            let Some(s) = list.iter().filter(fits).min_by_key(|s| distance(s, args)) else { continue };
            return Ok(Some(self.describe_function(s, &schema)));
        }
        Ok(None)
    }

    /// The constructor of a collection type, for SQL.
    fn constructor(&self, id: TypeId, elements: usize) -> Result<Option<Function>> {
        let Some(def) = self.units.type_def(id) else { return Ok(None) };
        if let types::TypeShape::Object(attributes) = &def.shape {
            return Ok(Some(Function {
                owner: def.owner.clone(),
                package: None,
                name: def.name.clone(),
                handle: plan::CONSTRUCTOR,
                arg_types: attributes.iter().map(|a| a.ty).collect(),
                arg_names: attributes.iter().map(|a| a.name.clone()).collect(),
                has_default: vec![false; attributes.len()],
                ty: DataType::Named(id),
                deterministic: true,
                invokers: false,
            }));
        }
        let Some(element) = def.element() else { return Ok(None) };
        if matches!(def.shape, types::TypeShape::Varray { limit, .. } if elements > limit as usize) {
            return Err(Ora::new(22909));
        }
        Ok(Some(Function {
            owner: if def.owner.is_empty() { "SYS".to_string() } else { def.owner.clone() },
            package: None,
            name: def.name.clone(),
            handle: plan::CONSTRUCTOR,
            arg_types: vec![element; elements],
            arg_names: Vec::new(),
            has_default: vec![false; elements],
            ty: DataType::Named(id),
            deterministic: true,
            invokers: false,
        }))
    }

    /// The definition of a type that a function or constructor has returned.
    pub fn type_def(&self, id: TypeId) -> Option<Rc<types::TypeDef>> {
        self.units.type_def(id)
    }

    /// Like [`Plsql::type_def`]; loads a type that the session has not named yet.
    ///
    /// # Errors
    /// PLS-00904 for a type that is visible but not executable.
    pub fn load_type<W: World<Cursor = C>>(&self, w: &mut W, id: TypeId) -> Result<Option<Rc<types::TypeDef>>> {
        self.units.loaded_type(w, id, "SYS")
    }

    fn describe_function(&self, s: &Rc<SubSym>, schema: &str) -> Function {
        let (owner, package) = match &s.target {
            SubTarget::External(e) => {
                (e.owner.clone(), (e.name != s.name || e.owner.is_empty()).then(|| e.name.clone()))
            }
            SubTarget::Local { .. } => (schema.to_string(), None),
        };
        let mut functions = self.functions.borrow_mut();
        let handle = match functions.iter().position(|f| Rc::ptr_eq(f, s)) {
            Some(i) => i,
            None => {
                functions.push(s.clone());
                functions.len() - 1
            }
        };
        let data_type = |ty: &crate::ty::Ty| match ty.data_type() {
            None if is_cursor(ty) => DataType::Cursor,
            None if ty.named().is_some() => ty.named().map_or(DataType::Null, |(_, id)| DataType::Named(id)),
            Some(DataType::PlsInteger) => DataType::NUMBER,
            other => other.unwrap_or(DataType::Null),
        };
        Function {
            owner: if owner.is_empty() { "SYS".to_string() } else { owner },
            package,
            name: s.name.clone(),
            handle: handle as u64,
            arg_types: s.parameters.iter().map(|p| data_type(&p.ty)).collect(),
            arg_names: s.parameters.iter().map(|p| p.name.clone()).collect(),
            has_default: s.parameters.iter().map(|p| p.default.is_some()).collect(),
            ty: s.returns.as_ref().map_or(DataType::Null, |ty| match data_type(ty) {
                // VARCHAR2 without a length in a function's signature is up to 4000 bytes in SQL.
                DataType::Varchar2 { len: 0, unit } => DataType::Varchar2 { len: 4000, unit },
                other => other,
            }),
            deterministic: s.deterministic,
            invokers: s.invokers,
        }
    }

    /// The objects that a function of [`Plsql::function`] reads, directly and through its calls; `None` when that is
    /// unknown.
    pub fn reads<W: World<Cursor = C>>(&self, w: &mut W, f: &Function) -> Option<Vec<ObjectId>> {
        let unit = f.package.as_deref().unwrap_or(&f.name);
        if f.owner == "SYS" && crate::packages::is_built_in(unit) {
            return Some(Vec::new());
        }
        if self.units.is_compiling(&f.owner, unit) {
            return None;
        }
        let unit = self.units.compiled(w, &f.owner, unit).ok()?;
        self.units.reads(w, &unit)
    }

    /// Calls a function returned by [`Plsql::function`].
    ///
    /// # Errors
    /// The error that the function raised, with ORA-06512 lines.
    pub fn call<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        handle: u64,
        args: &[Value],
        omitted: &[usize],
    ) -> Result<Value> {
        // A position in the function's own text has no meaning in the calling statement.
        self.call_function(w, handle, args, omitted).map_err(Ora::without_position)
    }

    fn call_function<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        handle: u64,
        args: &[Value],
        omitted: &[usize],
    ) -> Result<Value> {
        let sub = self.functions.borrow().get(handle as usize).cloned();
        let Some(sub) = sub else { return Err(Ora::new(6508)) };
        let SubTarget::External(e) = &sub.target else { return Err(Ora::new(6508)) };
        let mut given: Vec<Datum> = Vec::with_capacity(args.len());
        for (at, value) in args.iter().enumerate() {
            let ty = sub.parameters.get(at).map(|p| &p.ty);
            if let Some((collection, _)) = ty.and_then(|ty| ty.named()) {
                given.push(collection.of_value(value));
                continue;
            }
            given.push(match ty.is_some_and(is_cursor) {
                true => match w.take_nested(value) {
                    Some(cursor) => self.adopt_cursor(w, cursor, 0, None),
                    None => w.bound_cursor(value).unwrap_or(Datum::Cur(None)),
                },
                false => Datum::Val(value.clone()),
            });
        }
        if e.owner.is_empty() {
            // DBMS_LOB handles its trailing defaults itself.
            if !omitted.is_empty() || given.len() < sub.parameters.len() && e.name != "DBMS_LOB" {
                return self.call_with_defaults(w, &sub, given, omitted);
            }
            let native = crate::packages::native(&e.name, &e.subprogram, e.overload).ok_or_else(|| Ora::new(6508))?;
            let result = self.on_machine(|m| crate::packages::run(native, self, w, m, &mut given))?;
            return match result.map_err(|f| f.ora)? {
                Datum::Val(mut v) => {
                    v.make_content();
                    Ok(v)
                }
                _ => Err(Ora::new(902)),
            };
        }
        if given.len() < sub.parameters.len() || !omitted.is_empty() {
            return self.call_with_defaults(w, &sub, given, omitted);
        }
        let unit = self.unit_to_run(w, &e.owner, &e.name)?;
        let Some(proc) = unit.exports.get(&(e.subprogram.clone(), e.overload)).copied() else {
            return Err(Ora::new(6508));
        };
        if unit.package_slots > 0 {
            self.package_state(w, &unit)?;
        }
        let result = self.on_machine(|m| m.call(self, w, unit, proc, given))?;
        let returned = match result.map_err(|f| f.ora) {
            Ok((given, _)) => result_of(&sub, given),
            Err(e) => Err(e),
        };
        self.close_left(w);
        returned
    }

    /// Calls a function with defaults: PL/SQL evaluates them, so a block calls the function with the given arguments.
    fn call_with_defaults<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        sub: &SubSym,
        given: Vec<Datum>,
        omitted: &[usize],
    ) -> Result<Value> {
        let SubTarget::External(e) = &sub.target else { return Err(Ora::new(6508)) };
        let owner = if e.owner.is_empty() { "SYS" } else { &e.owner };
        let member = if e.name == e.subprogram { String::new() } else { format!(".\"{}\"", e.subprogram) };
        let places = (0..given.len()).filter(|at| !omitted.contains(at));
        let first = omitted.first().copied().unwrap_or(given.len());
        let bind = |at: usize| match sub.parameters.get(at) {
            // After a gap arguments are passed by name.
            Some(parameter) if at > first => format!("\"{}\" => :A{at}", parameter.name),
            _ => format!(":A{at}"),
        };
        let binds: Vec<String> = places.map(bind).collect();
        let call = format!("begin :R := \"{owner}\".\"{}\"{member}({}); end;", e.name, binds.join(", "));
        // The types of its own parameters select the chosen overload.
        let named = |(at, ty): (usize, &crate::ty::Ty)| {
            let data_type = if is_cursor(ty) { DataType::Cursor } else { ty.data_type()? };
            Some((format!("A{at}"), HostType { data_type, is_table: false }))
        };
        let types = sub.parameters.iter().map(|p| &p.ty).take(given.len()).enumerate().filter_map(named).collect();
        let block = self.compile_block_with(w, &call, &types)?;
        let mut binds = vec![Datum::default(); block.binds().len()];
        for (name, place) in block.binds().iter().zip(&mut binds) {
            if let Some(i) = name.strip_prefix('A').and_then(|n| n.parse::<usize>().ok()) {
                *place = given[i].clone();
            }
        }
        self.run_block(w, &block, &mut binds)?;
        let at = block.binds().iter().position(|b| b == "R").unwrap_or(0);
        result_of(sub, std::mem::take(&mut binds[at]))
    }

    /// Compiles a stored unit to collect its errors, for CREATE and ALTER … COMPILE. `source` begins at the word
    /// PROCEDURE, FUNCTION, PACKAGE, TYPE or TRIGGER. An error of this call is the dictionary's, not the unit's.
    pub fn check<W: World<Cursor = C>>(&self, w: &mut W, owner: &str, source: &str) -> Result<Vec<CompileError>> {
        self.validate(w);
        let name = |schema: &Option<sql::plsql::ast::Ident>, name: &sql::plsql::ast::Ident| {
            (schema.as_ref().map_or(owner.to_string(), |s| s.name.clone()), name.name.clone())
        };
        let (kind, (owner, name)) = match sql::plsql::parse_unit(source) {
            Ok(Unit::Subprogram { schema, subprogram }) => {
                let kind = if subprogram.returns.is_some() { UnitKind::Function } else { UnitKind::Procedure };
                (kind, name(&schema, &subprogram.name))
            }
            Ok(Unit::Package(p)) => (UnitKind::Package, name(&p.schema, &p.name)),
            Ok(Unit::PackageBody(p)) => (UnitKind::PackageBody, name(&p.schema, &p.name)),
            Ok(Unit::Type { schema, name: n, definition: _ }) => (UnitKind::Type, name(&schema, &n)),
            Ok(Unit::Trigger(t)) => (UnitKind::Trigger, name(&t.schema, &t.name)),
            Ok(Unit::Block(_)) => return Err(Ora::new(900)),
            Err(e) => {
                let (line, column) = sql::plsql::line_column(source, e.position().unwrap_or(0));
                return Ok(vec![CompileError { line, column, text: e.headline() }]);
            }
        };
        if let Some(at) = self.package_index.borrow().get(&(owner.clone(), name.clone())) {
            self.packages.borrow_mut()[*at].renewed = true;
        }
        let source = source.to_string();
        let unit = StoredUnit { owner: owner.clone(), name: name.clone(), kind, source };
        let result = compile::as_owner(w, &owner, |w| {
            if matches!(kind, UnitKind::Procedure | UnitKind::Function) {
                return Ok(self.units.create(w, &unit));
            }
            if kind != UnitKind::PackageBody {
                return Ok(compile::compile_unit(w, &self.units, &unit, None));
            }
            let stored = w.stored_unit(Some(&owner), &name)?;
            Ok::<_, Ora>(match stored.iter().find(|u| u.kind == UnitKind::Package) {
                Some(specification) => compile::compile_unit(w, &self.units, specification, Some(&unit)),
                None => compile::compile_unit(w, &self.units, &unit, None),
            })
        });
        Ok(result?.1)
    }

    /// Compiles a stored unit as it is. Whether it, or the body of a package, has no errors; `None` when that is
    /// unknown.
    pub fn compiles<W: World<Cursor = C>>(&self, w: &mut W, owner: &str, name: &str, body: bool) -> Option<bool> {
        self.validate(w);
        self.units.compiles(w, owner, name, body)
    }

    /// Notes the end of a client's call: units with errors are compiled again at their next use.
    pub fn forget_failures(&self) {
        self.units.forget_failures();
    }

    /// The number of cursors that variables and loops hold open.
    pub fn cursors_open(&self) -> usize {
        self.cursors_open.get()
    }

    /// Takes up to `max` finished lines of DBMS_OUTPUT.
    pub fn take_output(&self, max: usize) -> Vec<String> {
        let mut output = self.output.borrow_mut();
        (0..max).map_while(|_| output.take()).collect()
    }

    /// DBMS_OUTPUT.ENABLE with a limit in bytes (`None`: unlimited) or DISABLE.
    pub fn set_output(&self, enabled: bool, limit: Option<usize>) {
        self.output.borrow_mut().set(enabled, limit);
    }

    /// Whether two binds hold the same cursor.
    pub fn is_same_cursor(a: &Datum, b: &Datum) -> bool {
        matches!((a, b), (Datum::Cur(Some(a)), Datum::Cur(Some(b))) if Rc::ptr_eq(a, b))
    }

    /// Applies `f` to the cursor that a block left in a bind.
    ///
    /// # Errors
    /// ORA-01001 when it is not open.
    pub fn with_cursor<R>(&self, cursor: &Datum, f: impl FnOnce(&mut C) -> R) -> Result<R> {
        self.with_open(cursor, |open| open.cursor().map(f).ok_or_else(|| Ora::new(1001)))
    }

    fn with_open<R>(&self, cursor: &Datum, f: impl FnOnce(&mut OpenCursor<C>) -> Result<R>) -> Result<R> {
        let Datum::Cur(Some(c)) = cursor else { return Err(Ora::new(1001)) };
        let mut c = c.try_borrow_mut().map_err(|_| Ora::new(1001))?;
        f(c.downcast_mut::<OpenCursor<C>>().ok_or_else(|| Ora::new(1001))?)
    }

    /// Makes a cursor opened elsewhere into one for binds. `rows` were fetched from it, and `ahead` is the next row if
    /// it was fetched.
    pub fn adopt_cursor<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        cursor: C,
        rows: u64,
        ahead: Option<Vec<Value>>,
    ) -> Datum {
        Datum::Cur(Some(crate::machine::adopted(self, w, cursor, rows, ahead)))
    }

    /// Notes the beginning or end of a fetch from outside PL/SQL.
    pub fn fetches_cursor<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum, begins: bool) -> Result<()> {
        self.with_open(cursor, |open| {
            if begins {
                open.begin_fetch(w)
            } else {
                open.pause(w, true)
            }
            Ok(())
        })
    }

    /// Fetches the next row from a cursor that a block left in a bind.
    ///
    /// # Errors
    /// ORA-01001 when it is not open; those of the fetch.
    pub fn fetch_cursor<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum, row: &mut Vec<Value>) -> Result<bool> {
        self.with_open(cursor, |open| open.fetch(w, row))
    }

    /// Closes a cursor for all variables that hold it; a closed one is no error.
    pub fn close_cursor<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum) {
        let _ = self.with_open(cursor, |open| {
            open.close(w);
            Ok(())
        });
    }

    /// The results of DBMS_SQL.RETURN_RESULT since the last call.
    pub fn take_results(&self) -> Vec<Datum> {
        self.results.take()
    }

    /// Sets whether the client accepts such results; otherwise returning one is ORA-29481.
    pub fn set_takes_results(&self, takes: bool) {
        self.takes_results.set(takes);
    }

    /// DBMS_SQL.RETURN_RESULT.
    pub(crate) fn return_result(&self, cursor: Datum) -> Result<()> {
        if !self.takes_results.get() {
            return Err(Ora::new(29481));
        }
        self.with_cursor(&cursor, |_| ())?;
        self.results.borrow_mut().push(cursor);
        Ok(())
    }

    /// Closes the cursors that were open when their last variables were dropped. Blocks and functions do so at their
    /// end; the caller of [`Plsql::run_block`] does after it has dropped the binds.
    #[inline]
    pub fn close_left<W: World<Cursor = C>>(&self, w: &mut W) {
        self.left.close(w);
    }

    /// Closes every open cursor and drops package state: DBMS_SESSION.RESET_PACKAGE and the end of a session.
    pub fn reset(&self) {
        self.reset_packages();
        self.units.forget();
        self.output.borrow_mut().set(false, None);
    }

    // ---- for the machine

    fn validate<W: World<Cursor = C>>(&self, w: &mut W) {
        let epoch = w.epoch();
        self.units.validate(epoch);
    }

    /// Notes the end of the session's call, and with it the runs of all units.
    pub fn end_call(&self) {
        self.call.set(self.call.get() + 1);
    }

    /// Whether the world knows that the present call runs a unit. Built-in packages are not reported.
    fn is_running(&self, unit: &Compiled) -> bool {
        unit.runs_in.get() == self.call.get() || unit.owner.is_empty()
    }

    /// The present version of a stored unit, which stays unchanged until the call ends (invariant 19): DDL that
    /// replaces it waits.
    fn unit_to_run<W: World<Cursor = C>>(&self, w: &mut W, owner: &str, name: &str) -> Result<Rc<Compiled>> {
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

    /// Runs `f` on a machine of the session's pool.
    fn on_machine<R>(&self, f: impl FnOnce(&mut Machine) -> R) -> Result<R> {
        if self.level.get() >= LEVELS_MAX {
            return Err(Ora::with(36, &[&LEVELS_MAX]));
        }
        if os::stack::is_short() {
            return Err(Ora::with(4030, &[&"64", &"koh-kghu call ", &"pl/sql stack"]));
        }
        self.level.set(self.level.get() + 1);
        let mut m = self.machines.borrow_mut().pop().unwrap_or_default();
        m.forget_implicit();
        let r = f(&mut m);
        self.machines.borrow_mut().push(m);
        self.level.set(self.level.get() - 1);
        Ok(r)
    }

    pub(crate) fn reset_packages(&self) {
        // States in use keep their index; their contents are initialised again at the next use.
        for state in self.packages.borrow_mut().iter_mut() {
            state.ready = false;
        }
    }

    pub(crate) fn with_random<R>(&self, f: impl FnOnce(&mut Random) -> R) -> R {
        f(&mut self.random.borrow_mut())
    }

    pub(crate) fn with_output<R>(&self, f: impl FnOnce(&mut Output) -> R) -> R {
        f(&mut self.output.borrow_mut())
    }

    pub(crate) fn take_args(&self) -> Vec<Datum> {
        self.args.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn give_args(&self, args: Vec<Datum>) {
        self.args.borrow_mut().push(args);
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
        let link = compile::Link { unit: target.clone(), at, epoch };
        unit.links.borrow_mut()[external as usize] = Some(link);
        Ok((target, at))
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
        let link = compile::Link { unit: target, at: at as u32, epoch };
        unit.links.borrow_mut()[external as usize] = Some(link);
        Ok(at)
    }

    /// Finds or makes the state of a package, and runs its initialisation the first time.
    fn package_state<W: World<Cursor = C>>(&self, w: &mut W, unit: &Rc<Compiled>) -> Result<usize> {
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

    pub(crate) fn package_get(&self, state: usize, slot: u32) -> Datum {
        self.packages.borrow()[state].slots[slot as usize].clone()
    }

    pub(crate) fn package_set(&self, state: usize, slot: u32, value: Datum) {
        self.packages.borrow_mut()[state].slots[slot as usize] = value;
    }

    pub(crate) fn package_with<R>(&self, state: usize, slot: u32, f: impl FnOnce(&mut Datum) -> R) -> R {
        f(&mut self.packages.borrow_mut()[state].slots[slot as usize])
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

/// Whether SQL has values of the type.
fn is_of_sql(ty: &crate::ty::Ty) -> bool {
    ty.scalar().is_some() || is_cursor(ty) || ty.named().is_some()
}

/// The value of a function's result for SQL.
fn result_of(sub: &SubSym, result: Datum) -> Result<Value> {
    let collection = sub.returns.as_ref().and_then(|ty| ty.named());
    match (result, collection) {
        (Datum::Val(mut v), _) => {
            v.make_content();
            Ok(v)
        }
        (result, Some((ty, _))) => ty.to_value(&result).ok_or_else(|| Ora::new(902)),
        (_, None) => Err(Ora::new(902)),
    }
}

fn is_cursor(ty: &crate::ty::Ty) -> bool {
    matches!(ty, crate::ty::Ty::Cursor)
}

/// The distance between the types of arguments and those of a function's parameters.
fn distance(s: &SubSym, args: &[DataType]) -> u32 {
    let of = |ty: Option<DataType>, arg: &DataType| match ty {
        _ if *arg == DataType::Null => 0,
        None => 4,
        Some(ty) if ty.is_text() && arg.is_text() || std::mem::discriminant(&ty) == std::mem::discriminant(arg) => 0,
        Some(ty) if ty.is_numeric() && arg.is_numeric() || ty.is_datetime() && arg.is_datetime() => 1,
        Some(ty) if ty.is_text() || arg.is_text() => 2,
        Some(_) => 4,
    };
    s.parameters.iter().zip(args).map(|(p, arg)| of(p.ty.data_type(), arg)).sum()
}

fn functions_of(p: &PackageSym, name: &str) -> Option<Vec<Rc<SubSym>>> {
    match p.symbols.get(name) {
        Some(Symbol::Subs(list)) => Some(list.clone()),
        _ => None,
    }
}
