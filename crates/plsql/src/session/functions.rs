//! Functions for calls from SQL.

use crate::code::{Block, HostTypes};
use crate::compile::{Interface, Interfaces, PackageSym, Param, SubSym, SubTarget, Symbol};
use crate::datum::Datum;
use crate::op::External;
use crate::packages;
use crate::state::Plsql;
use crate::ty::{HostType, Ty};
use crate::world::{World, as_owner};
use sql::plsql::ast::{MethodKind, Mode};
use std::rc::Rc;
use std::sync::Arc;
use types::{Composite, DataType, Facility, ObjectId, Ora, Result, TypeDef, TypeId, TypeShape, Value};

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
    /// SQL fetches its rows by [`Plsql::open_rows`].
    pub is_pipelined: bool,
    /// It has invoker's rights.
    pub invokers: bool,
}

impl<C: 'static> Plsql<C> {
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
        let (path, is_type) = match path {
            [first, method] if first == plan::METHOD => return self.method_for_sql(w, method, args),
            [first, only @ ..] if first == plan::TREAT => return Ok(self.treat_for_sql(args, !only.is_empty())),
            [first, rest @ ..] if first == plan::TYPE => (rest, true),
            path => (path, false),
        };
        match path {
            [name] => tries.push((None, name, None)),
            [a, b] => {
                tries.push((None, a, Some(b)));
                tries.push((Some(a), b, None));
            }
            [owner, package, name] => tries.push((Some(owner), package, Some(name))),
            _ => {}
        }
        let mut wrong_call = None;
        for (owner, unit, member) in tries {
            let interface = self.units.interface(w, owner, unit, &schema).map_err(|e| match e.facility() {
                Facility::Pls if e.code() == 904 => Ora::new(1031),
                Facility::Pls if e.code() == 905 => {
                    let shown = owner.unwrap_or(&schema);
                    Ora::with(6575, &[&format_args!("{shown}.{unit}")])
                }
                _ => e,
            })?;
            let restricted = matches!(&interface, Some(Interface::Package(p)) if !p.accessible_by.is_empty());
            let found = match interface {
                Some(Interface::Subprogram(s)) if member.is_none() => Some(vec![s]),
                Some(Interface::Package(p)) => member.and_then(|m| functions_of(&p, m)),
                Some(Interface::Type(ty)) if member.is_none() => match (ty.named(), ty.data_type()) {
                    (None, Some(DataType::Named(id))) if !is_type => return self.object_constructor(w, id, args),
                    (Some((_, id)), _) | (None, Some(DataType::Named(id))) => return self.constructor(id, args.len()),
                    _ => None,
                },
                Some(Interface::Type(ty)) if !is_type => match ty.data_type() {
                    Some(DataType::Named(id)) => {
                        let object = self.units.named_methods(w, id)?;
                        let statics = member.and_then(|m| object.methods.get(m));
                        statics.map(|list| list.iter().filter(|sub| !sub.has_self()).cloned().collect())
                    }
                    _ => None,
                },
                _ => None,
            };
            let Some(list) = found else { continue };
            let fits = |s: &&Rc<SubSym>| self.fits_in_sql(s, args);
            if list.iter().any(|s| !s.accessible_by.is_empty()) || restricted {
                // SQL is none of the units of ACCESSIBLE BY.
                let shown = member.unwrap_or(unit);
                let lacks = Ora::with(6553, &[&904, &format_args!("insufficient privilege to access object {shown}")]);
                return Err(Ora::new(6552).because(lacks));
            }
            // The first one with the best fit.
            let Some(s) = list.iter().filter(fits).min_by_key(|s| distance(s, args)) else {
                let shown = member.unwrap_or(unit);
                let wrong = format!("wrong number or types of arguments in call to '{shown}'");
                let is_callable = |s: &Rc<SubSym>| {
                    s.returns.is_some() && s.parameters.iter().all(|p| p.mode == Mode::In && is_of_sql(&p.ty))
                };
                if list.iter().all(is_callable) {
                    wrong_call = wrong_call.or_else(|| Some(Ora::with(6553, &[&306, &wrong])));
                }
                continue;
            };
            return Ok(Some(self.describe_function(s, &schema)));
        }
        wrong_call.map_or(Ok(None), Err)
    }

    /// Whether a function can be called from SQL with arguments of these types.
    fn fits_in_sql(&self, s: &SubSym, args: &[DataType]) -> bool {
        // The defaults of methods are not evaluated for SQL.
        let least = if s.method.is_some() { s.parameters.len() } else { s.required() };
        s.returns.is_some()
            && (least..=s.parameters.len()).contains(&args.len())
            && s.parameters.iter().all(|p| p.mode == Mode::In && is_of_sql(&p.ty))
            && s.parameters.iter().zip(args).all(|(p, arg)| match (arg, p.ty.named(), p.ty.data_type()) {
                (DataType::Null, _, _) => true,
                (arg, Some((_, id)), _) => *arg == DataType::Named(id),
                (DataType::Named(arg), None, Some(DataType::Named(id))) => {
                    *arg == id || self.units.type_def(*arg).is_some_and(|def| def.is_under(id))
                }
                (DataType::Named(_), None, _) | (_, None, Some(DataType::Named(_))) => false,
                (arg, None, _) => is_cursor(&p.ty) == (*arg == DataType::Cursor),
            })
    }

    /// The method with that name of the type of the first argument; `None` without one.
    fn method_for_sql<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        name: &str,
        args: &[DataType],
    ) -> Result<Option<Function>> {
        let [DataType::Named(id), args @ ..] = args else { return Ok(None) };
        let Some(def) = self.units.type_of_value(w, *id)?.filter(|def| def.is_object()) else { return Ok(None) };
        let schema = w.schema();
        if def.id.built_in().is_none() {
            // A method needs EXECUTE on its object's type.
            let named = self.units.interface(w, Some(&def.owner), &def.name, &schema);
            if named.map_err(|e| if e.code() == 904 { Ora::new(1031) } else { e })?.is_none() {
                return Ok(None);
            }
        }
        let object = self.units.named_methods(w, def.id)?;
        let Some(list) = object.methods.get(name) else { return Ok(None) };
        let members = list.iter().filter(|sub| sub.has_self());
        let fitting = members.filter(|sub| {
            sub.method.as_ref().is_some_and(|method| method.receiver == Mode::In) && self.fits_in_sql(sub, args)
        });
        let Some(sub) = fitting.min_by_key(|sub| distance(sub, args)) else {
            let wrong = format!("wrong number or types of arguments in call to '{name}'");
            return Err(Ora::with(6553, &[&306, &wrong]));
        };
        let mut function = self.describe_function(sub, &schema);
        let of = sub.method.as_ref().map_or(def.id, |method| method.of);
        function.arg_types.insert(0, DataType::Named(of));
        function.arg_names.insert(0, "SELF".to_string());
        function.has_default.insert(0, false);
        Ok(Some(function))
    }

    /// TREAT of an object of the first type as one of the second.
    fn treat_for_sql(&self, args: &[DataType], only: bool) -> Option<Function> {
        let [DataType::Named(from), DataType::Named(to)] = args else { return None };
        let of = |id: &TypeId| Ty::of(DataType::Named(*id));
        let parameter =
            |name: &str, id: &TypeId| Param { name: name.to_string(), mode: Mode::In, ty: of(id), default: None };
        let is_it = |sub: &&Rc<SubSym>| {
            let types: Vec<_> = sub.parameters.iter().map(|p| p.ty.data_type()).collect();
            sub.name == plan::TREAT && sub.overload == u32::from(only) && types == [Some(args[0]), Some(args[1])]
        };
        let known = self.functions.borrow().iter().find(is_it).cloned();
        let sub = known.unwrap_or_else(|| {
            let subprogram = plan::TREAT.to_string();
            let external = External { owner: String::new(), name: String::new(), subprogram, overload: 0, shown: 0 };
            Rc::new(SubSym {
                name: plan::TREAT.to_string(),
                parameters: vec![parameter("OBJECT", from), parameter("TYPE", to)],
                returns: Some(of(to)),
                target: SubTarget::External(Rc::new(external)),
                deterministic: true,
                is_pipelined: false,
                accessible_by: Rc::from([]),
                invokers: false,
                overload: u32::from(only),
                method: None,
            })
        });
        Some(self.describe_function(&sub, ""))
    }

    /// The constructor of an object type that fits these arguments, for SQL.
    fn object_constructor<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        id: TypeId,
        args: &[DataType],
    ) -> Result<Option<Function>> {
        let object = self.units.named_methods(w, id)?;
        if !object.def.lineage.instantiable {
            return Err(Ora::new(22826));
        }
        let all = object.constructors.iter().chain(&object.by_attributes);
        let fitting = all.filter(|sub| self.fits_in_sql(sub, args));
        match fitting.min_by_key(|sub| distance(sub, args)) {
            Some(sub) if sub.method.is_some() => {
                let schema = w.schema();
                Ok(Some(self.describe_function(sub, &schema)))
            }
            None if object.by_attributes.is_none() => {
                let wrong = format!("wrong number or types of arguments in call to '{}'", object.def.name);
                Err(Ora::with(6553, &[&306, &wrong]))
            }
            _ => self.constructor(id, args.len()),
        }
    }

    /// The constructor of a collection type, or that of an object type over its attributes, for SQL.
    fn constructor(&self, id: TypeId, elements: usize) -> Result<Option<Function>> {
        let Some(def) = self.units.type_def(id) else { return Ok(None) };
        if let TypeShape::Object(attributes) = &def.shape {
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
                is_pipelined: false,
                invokers: false,
            }));
        }
        let Some(element) = def.element() else { return Ok(None) };
        if matches!(def.shape, TypeShape::Varray { limit, .. } if elements > limit as usize) {
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
            is_pipelined: false,
            invokers: false,
        }))
    }

    /// The definition of a type that a function or constructor has returned.
    pub fn type_def(&self, id: TypeId) -> Option<Rc<TypeDef>> {
        self.units.type_def(id)
    }

    /// Like [`Plsql::type_def`]; loads a type that the session has not named yet.
    ///
    /// # Errors
    /// PLS-00904 for a type that is visible but not executable.
    pub fn load_type<W: World<Cursor = C>>(&self, w: &mut W, id: TypeId) -> Result<Option<Rc<TypeDef>>> {
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
        let data_type = |ty: &Ty| match ty.data_type() {
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
            is_pipelined: s.is_pipelined,
            ty: self.units.type_of_rows(s).map(DataType::Named).unwrap_or_else(|| {
                s.returns.as_ref().map_or(DataType::Null, |ty| match data_type(ty) {
                    // Without a length in a function's signature, VARCHAR2 is up to 4000 bytes in SQL, and RAW 2000.
                    DataType::Varchar2 { len: 0, unit } => DataType::Varchar2 { len: 4000, unit },
                    DataType::Raw { len: 0 } => DataType::Raw { len: 2000 },
                    other => other,
                })
            }),
            deterministic: s.deterministic,
            invokers: s.invokers,
        }
    }

    /// The objects that a function of [`Plsql::function`] reads, directly and through its calls; `None` when that is
    /// unknown.
    pub fn reads<W: World<Cursor = C>>(&self, w: &mut W, f: &Function) -> Option<Vec<ObjectId>> {
        let unit = f.package.as_deref().unwrap_or(&f.name);
        // The type of the object decides which method runs.
        let method = self.functions.borrow().get(f.handle as usize).and_then(|sub| sub.method.clone());
        if method.is_some_and(|method| method.has_self()) {
            return None;
        }
        if f.owner == "SYS" && packages::reads_unknown(unit) {
            return None;
        }
        if f.owner == "SYS" && packages::is_built_in(unit) {
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
        if sub.is_pipelined {
            return self.all_rows(w, (handle, &sub), args, omitted);
        }
        if e.subprogram == plan::TREAT {
            let to = sub.parameters.get(1).and_then(|p| p.ty.data_type());
            return match (args.first(), to) {
                (Some(Value::Composite(object)), Some(DataType::Named(to))) => {
                    let is = object.ty == to || sub.overload == 0 && self.is_under(w, object.ty, to)?;
                    Ok(if is { Value::Composite(object.clone()) } else { Value::Null })
                }
                _ => Ok(Value::Null),
            };
        }
        let mut given = self.given(w, &sub, args);
        if e.owner.is_empty() {
            // DBMS_LOB handles its trailing defaults itself.
            if !omitted.is_empty() || given.len() < sub.parameters.len() && e.name != "DBMS_LOB" {
                return self.call_with_defaults(w, &sub, given, omitted);
            }
            let native = packages::native(&e.name, &e.subprogram, e.overload).ok_or_else(|| Ora::new(6508))?;
            let result = self.on_machine(|m| packages::run(native, self, w, m, &mut given))?;
            return match result.map_err(|f| f.ora)? {
                Datum::Val(mut v) => {
                    v.make_content();
                    Ok(v)
                }
                _ => Err(Ora::new(902)),
            };
        }
        let expected = sub.parameters.len() + usize::from(sub.has_self());
        if given.len() < expected || !omitted.is_empty() {
            return self.call_with_defaults(w, &sub, given, omitted);
        }
        let of_subtype = match (&sub.method, given.first()) {
            (Some(method), first) if method.has_self() && method.kind != MethodKind::Constructor => match first {
                Some(Datum::Val(Value::Composite(object))) => self.method_of(w, e, (method.of, object.ty))?,
                _ => return Err(Ora::new(30625)),
            },
            _ => None,
        };
        let (unit, proc) = match of_subtype {
            Some(found) => found,
            None => {
                let unit = self.unit_to_run(w, &e.owner, &e.name)?;
                let Some(proc) = unit.exports.get(&(e.subprogram.clone(), e.overload)).copied() else {
                    return Err(Ora::new(6508));
                };
                (unit, proc)
            }
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

    /// The arguments of a call for PL/SQL.
    pub(super) fn given<W: World<Cursor = C>>(&self, w: &mut W, sub: &SubSym, args: &[Value]) -> Vec<Datum> {
        let mut given: Vec<Datum> = Vec::with_capacity(args.len() + 1);
        let args = match &sub.method {
            Some(method) if method.kind == MethodKind::Constructor => {
                given.push(Datum::Val(self.new_object(method.of)));
                args
            }
            Some(method) if method.has_self() => match args {
                [own, rest @ ..] => {
                    given.push(Datum::Val(own.clone()));
                    rest
                }
                [] => args,
            },
            _ => args,
        };
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
        given
    }

    /// An object whose attributes are NULL, for a constructor.
    fn new_object(&self, id: TypeId) -> Value {
        let def = self.units.type_def(id);
        let attributes = match def.as_ref().map(|def| &def.shape) {
            Some(TypeShape::Object(attributes)) => attributes.len(),
            _ => 0,
        };
        Value::Composite(Arc::new(Composite { ty: id, parts: vec![Value::Null; attributes] }))
    }

    /// Calls a function with defaults: PL/SQL evaluates them, so a block calls the function with the given arguments.
    fn call_with_defaults<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        sub: &SubSym,
        given: Vec<Datum>,
        omitted: &[usize],
    ) -> Result<Value> {
        let (call, types) = self.call_text(sub, given.len(), omitted)?;
        let block = self.compile_call(w, sub, &call, &types.into())?;
        let mut binds = self.binds_of(&block, given);
        self.run_block(w, &block, &mut binds)?;
        let at = block.binds().iter().position(|b| b == "R").unwrap_or(0);
        result_of(sub, std::mem::take(&mut binds[at]))
    }

    /// The block that calls a function with that many arguments, and the types of its binds.
    pub(super) fn call_text(
        &self,
        sub: &SubSym,
        given: usize,
        omitted: &[usize],
    ) -> Result<(String, Vec<(String, HostType)>)> {
        let SubTarget::External(e) = &sub.target else { return Err(Ora::new(6508)) };
        let owner = if e.owner.is_empty() { "SYS" } else { &e.owner };
        let member = if e.name == e.subprogram { String::new() } else { format!(".\"{}\"", e.subprogram) };
        let places = (0..given).filter(|at| !omitted.contains(at));
        let first = omitted.first().copied().unwrap_or(given);
        let bind = |at: usize| match sub.parameters.get(at) {
            // After a gap arguments are passed by name.
            Some(parameter) if at > first => format!("\"{}\" => :A{at}", parameter.name),
            _ => format!(":A{at}"),
        };
        let binds: Vec<String> = places.map(bind).collect();
        let call = format!("begin :R := \"{owner}\".\"{}\"{member}({}); end;", e.name, binds.join(", "));
        // The types of its own parameters select the chosen overload.
        let named = |(at, ty): (usize, &Ty)| {
            let data_type = if is_cursor(ty) { DataType::Cursor } else { ty.data_type()? };
            Some((format!("A{at}"), HostType { data_type, is_table: false }))
        };
        let types = sub.parameters.iter().map(|p| &p.ty).take(given).enumerate().filter_map(named).collect();
        Ok((call, types))
    }

    /// Compiles that block. It names nothing but the function, whose privilege was checked for the statement or for the
    /// owner of its view, so the names and privileges are those of the function's owner.
    pub(super) fn compile_call<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        sub: &SubSym,
        call: &str,
        types: &HostTypes,
    ) -> Result<Rc<Block>> {
        let SubTarget::External(e) = &sub.target else { return Err(Ora::new(6508)) };
        as_owner(w, &e.owner, |w| self.compile_block_with(w, call, types))
    }

    /// The binds of that block.
    pub(super) fn binds_of(&self, block: &Block, given: Vec<Datum>) -> Vec<Datum> {
        let mut binds = vec![Datum::default(); block.binds().len()];
        for (name, place) in block.binds().iter().zip(&mut binds) {
            if let Some(i) = name.strip_prefix('A').and_then(|n| n.parse::<usize>().ok()) {
                *place = given[i].clone();
            }
        }
        binds
    }
}

/// Whether SQL has values of the type.
fn is_of_sql(ty: &Ty) -> bool {
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

fn is_cursor(ty: &Ty) -> bool {
    matches!(ty, Ty::Cursor)
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
