//! Function calls: aggregates, functions that the compiler expands, scalar functions, stored functions.

use crate::aggregate::is_aggregate;
use crate::ir::*;
use crate::logic::{and, or};
use crate::refusals::invalid_identifier;
use crate::resolve::Operands;
use crate::scope::*;
use crate::typing::*;
use sql::ast::{self, ExprKind};
use std::rc::Rc;
use types::{DataType, Ora, Result, Value};

/// How SQL classifies the function of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Aggregate,
    Window,
    /// Equal arguments give equal values.
    Steady,
    Varying,
    /// Not a function of SQL: one of PL/SQL, or none.
    Unknown,
}

/// Classifies a call as [`Compiler::call`] resolves it.
pub fn called(call: &ast::Call) -> Called {
    let name = call.name.as_simple();
    if name.is_some_and(|name| is_aggregate(name, call.over.is_some())) {
        return if call.over.is_some() { Called::Window } else { Called::Aggregate };
    }
    let dotted = match &call.name.parts[..] {
        [package, function] => Some(format!("{}.{}", package.name, function.name)),
        _ => None,
    };
    match name.or(dotted.as_deref()) {
        Some(_) if call.json.is_some() || call.xml.is_some() => Called::Steady,
        Some("SYS_CONTEXT" | "USERENV" | "SYS_GUID" | "SYS_CONNECT_BY_PATH") => Called::Varying,
        Some("LNNVL" | "VALIDATE_CONVERSION" | "CARDINALITY" | "SET") => Called::Steady,
        Some(name) if is_special(name) || crate::sql_xml::is_function(name) => Called::Steady,
        Some(name) => match functions::lookup(name) {
            Some(f) if !f.deterministic || f.bare => Called::Varying,
            Some(_) => Called::Steady,
            None => Called::Unknown,
        },
        None => Called::Unknown,
    }
}

impl Compiler<'_> {
    /// Resolves a call.
    pub fn call(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        if let Some(e) = self.aggregate_call(call, pos)? {
            return self.json_finished(call, e, pos);
        }
        match self.named_function(call, pos)? {
            Some(e) => Ok(e),
            None => match self.variable(&call.name.parts, call.name.pos.0, crate::services::Asked::Last)? {
                Some(e) => Ok(e),
                None => match self.json_method(call)? {
                    Some(e) => Ok(e),
                    None => Err(invalid_identifier(&call.name)),
                },
            },
        }
    }

    /// Resolves a function that is not an aggregate. `None`: no such function.
    pub fn named_function(&mut self, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        if let Some(clauses) = &call.json {
            return self.json_call(call, clauses, pos).map(Some);
        }
        if let Some(clauses) = &call.xml {
            return self.xml_call(call, clauses, pos).map(Some);
        }
        if let Some(e) = self.xml_dotted(call)? {
            return Ok(Some(e));
        }
        if let Some(name) = call.name.as_simple() {
            if let Some(e) = self.xml_function(name, call, pos)? {
                return Ok(Some(e));
            }
            if name == "SYS_CONNECT_BY_PATH" {
                return self.connect_by_path(call, pos).map(Some);
            }
            if name == "LNNVL" {
                let [condition] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
                // LNNVL is true if the condition is false or unknown.
                let holds = self.operand_condition(&condition.value)?;
                let of = |n: i32| Expr::new(Node::Const(Value::Number(n.into())), number());
                let not_true = Expr::new(Node::Case(vec![(holds, of(0))], Some(Box::new(of(1)))), number());
                return compare(CmpOp::Eq, not_true, of(1), pos).map(Some);
            }
            if let Some(e) = self.collection_function(name, call, pos)? {
                return Ok(Some(e));
            }
            if name == "VALIDATE_CONVERSION" {
                return self.validate_conversion(call, pos).map(Some);
            }
            if let Some(default) = &call.default_on_error {
                return self.conversion_or(name, call, default, pos).map(Some);
            }
            let known = is_special(name) || crate::function::exists(name);
            if known && call.args.iter().any(|a| a.name.is_some()) {
                return Err(Ora::new(907).at(pos));
            }
            if known {
                let mut args = Vec::new();
                let mut places = Vec::new();
                for a in &call.args {
                    if matches!(a.value.kind, ExprKind::Star) {
                        return Err(Ora::new(936).at(a.value.pos.0));
                    }
                    args.push(self.operand(&a.value)?);
                    places.push(a.value.pos.0);
                }
                return match self.special(name, args, &places, pos)? {
                    Ok(e) => Ok(Some(e)),
                    Err(args) => self.scalar_function(name, args, &places, pos).map(Some),
                };
            }
        }
        if call.name.parts.len() == 2 && call.args.iter().all(|a| a.name.is_none()) {
            let dotted = format!("{}.{}", call.name.parts[0].name, call.name.parts[1].name);
            if crate::function::exists(&dotted) {
                let mut args = Vec::new();
                for a in &call.args {
                    args.push(self.operand(&a.value)?);
                }
                return self.scalar_function(&dotted, args, &[], pos).map(Some);
            }
        }
        // A name without arguments has already been looked up.
        if let [_, ..] = call.args[..]
            && let Some(e) = self.variable(
                &call.name.parts,
                call.name.pos.0,
                crate::services::Asked::BeforeFunctions { call: true },
            )?
        {
            return Ok(Some(e));
        }
        if let Some(e) = self.method_of_column(call, pos)? {
            return Ok(Some(e));
        }
        self.host_function(call, pos)
    }

    /// `VALIDATE_CONVERSION(value AS type, format, settings)`: 1 if CAST would succeed, else 0.
    fn validate_conversion(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        let [ast::Argument { name: None, value: cast }] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
        let ExprKind::Cast { expr, ty, default_on_error: None, format } = &cast.kind else {
            return Err(Ora::new(907).at(pos));
        };
        let to = crate::written_types::data_type(ty)?;
        if !matches!(
            class(&to),
            Class::Number
                | Class::Float
                | Class::Double
                | Class::Date
                | Class::Timestamp
                | Class::IntervalDs
                | Class::IntervalYm
        ) {
            return Err(Ora::new(43909).at(expr.pos.0));
        }
        let value = self.operand(expr)?;
        let of = |n: i32| Expr::new(Node::Const(Value::Number(n.into())), number());
        // Only the conversion may fail: an error in the value is an error of the statement.
        Expr::held(value, |value| {
            let converted = self.operand_cast(value.clone(), to, format, pos)?;
            let fails_or_not = Expr::new(Node::IsNull(Box::new(converted), false), DataType::Boolean);
            let one = Expr::new(Node::Case(vec![(fails_or_not, of(1))], Some(Box::new(of(1)))), number());
            Ok(Expr::new(Node::OnError(Box::new(one), Box::new(of(0))), number()))
        })
    }

    /// `TO_NUMBER(value DEFAULT other ON CONVERSION ERROR, format, settings)` and the like.
    fn conversion_or(&mut self, name: &str, call: &ast::Call, default: &ast::Expr, pos: u32) -> Result<Expr> {
        let converts = matches!(
            name,
            "TO_NUMBER"
                | "TO_BINARY_FLOAT"
                | "TO_BINARY_DOUBLE"
                | "TO_DATE"
                | "TO_TIMESTAMP"
                | "TO_TIMESTAMP_TZ"
                | "TO_DSINTERVAL"
                | "TO_YMINTERVAL"
        );
        if !converts || call.args.iter().any(|a| a.name.is_some()) {
            return Err(Ora::new(907).at(default.pos.0));
        }
        let mut args = Vec::new();
        for a in &call.args {
            args.push(self.operand(&a.value)?);
        }
        let default_pos = default.pos.0;
        let default = self.operand(default)?;
        let value = args.remove(0);
        Expr::held(value, |value| {
            let with = |first: Expr| std::iter::once(first).chain(args.iter().cloned()).collect::<Vec<Expr>>();
            let converted = self.scalar_function(name, with(value.clone()), &[], pos)?;
            let ty = converted.ty;
            let default = match class(&default.ty) {
                _ if is_null(&default) => Expr::new(Node::Const(Value::Null), ty),
                Class::Text => self.scalar_function(name, with(default), &[], pos)?,
                _ => convert(default, &ty, default_pos)?,
            };
            Ok(Expr::new(Node::OnError(Box::new(converted), Box::new(default)), ty))
        })
    }

    /// Functions that the compiler turns into other expressions. Returns the arguments if `name` is not one of them.
    #[allow(clippy::type_complexity)]
    fn special(
        &mut self,
        name: &str,
        args: Vec<Expr>,
        places: &[u32],
        pos: u32,
    ) -> Result<std::result::Result<Expr, Vec<Expr>>> {
        let given = args.len();
        let count = |least: usize, most: usize| -> Result<()> {
            match given {
                n if n < least => Err(Ora::new(if n == 0 || least == most { 909 } else { 938 }).at(pos)),
                n if n > most => Err(Ora::new(if least == 2 { 909 } else { 939 }).at(pos)),
                _ => Ok(()),
            }
        };
        let at = |i: usize| places.get(i).copied().unwrap_or(pos);
        Ok(Ok(match name {
            "NVL" => {
                count(2, 2)?;
                let [a, b] = two(args);
                let (a, b, ty) = self.nvl_types(a, b, at(1))?;
                // NVL evaluates both arguments. If evaluating the second has no effect and cannot fail, COALESCE is
                // equivalent.
                match b.node {
                    Node::Const(_) | Node::Reg(_) | Node::Bind(_) => Expr::new(Node::Coalesce(vec![a, b]), ty),
                    _ => {
                        let (nvl, args, _) = crate::function_types::resolve("NVL", vec![a, b], pos)?;
                        Expr::new(Node::Func(nvl, args), ty)
                    }
                }
            }
            "COALESCE" => {
                count(2, usize::MAX)?;
                let (args, ty) = unify(args, places)?;
                Expr::new(Node::Coalesce(args), ty)
            }
            "NVL2" => {
                count(3, 3)?;
                let mut args = args.into_iter();
                let tested = args.next().expect("three arguments");
                let (first, second) = (args.next().expect("three arguments"), args.next().expect("three arguments"));
                let (first, second, ty) = self.nvl_types(first, second, at(2))?;
                let is = Expr::new(Node::IsNull(Box::new(tested), true), DataType::Boolean);
                Expr::new(Node::Case(vec![(is, first)], Some(Box::new(second))), ty)
            }
            "NULLIF" => {
                count(2, 2)?;
                let [a, b] = two(args);
                if is_null(&a) {
                    return Err(inconsistent("-", "CHAR", at(0)));
                }
                let ty = a.ty;
                Expr::once(a, |a| {
                    let same = compare(CmpOp::Eq, a.clone(), b, at(1))?;
                    let nothing = Expr::new(Node::Const(Value::Null), ty);
                    Ok(Expr::new(Node::Case(vec![(same, nothing)], Some(Box::new(a.clone()))), ty))
                })?
            }
            "DECODE" => {
                count(3, usize::MAX)?;
                let mut args = args;
                let value = args.remove(0);
                Expr::once(value, |value| {
                    args.insert(0, value.clone());
                    decode(args, places, pos)
                })?
            }
            "SYS_CONTEXT" | "USERENV" => {
                let mut args = args;
                if name == "USERENV" {
                    count(1, 1)?;
                    args.insert(0, Expr::new(Node::Const(Value::Text("USERENV".into())), text(7)));
                } else {
                    count(2, 3)?;
                    args.truncate(2);
                }
                let [a, b] = two(args);
                let (a, b) = (convert(a, &text(128), at(0))?, convert(b, &text(128), at(1))?);
                self.volatile += 1;
                Expr::new(Node::SysContext(Box::new(a), Box::new(b)), text(256))
            }
            "SYS_GUID" => {
                count(0, 0)?;
                self.volatile += 1;
                self.unstable += 1;
                Expr::new(Node::Special(Special::SysGuid), DataType::Raw { len: 16 })
            }
            "ROWIDTOCHAR" | "ROWIDTONCHAR" => {
                count(1, 1)?;
                let a = args.into_iter().next().expect("one argument");
                convert(convert(a, &DataType::Rowid, pos)?, &text(18), pos)?
            }
            "CHARTOROWID" => {
                count(1, 1)?;
                convert(args.into_iter().next().expect("one argument"), &DataType::Rowid, pos)?
            }
            _ => return Ok(Err(args)),
        }))
    }

    /// NVL converts its second argument to the type of the first.
    fn nvl_types(&mut self, a: Expr, b: Expr, pos: u32) -> Result<(Expr, Expr, DataType)> {
        if is_null(&a) {
            let ty = b.ty;
            return Ok((Expr::new(Node::Const(Value::Null), ty), b, ty));
        }
        let ty = match (class(&a.ty), class(&b.ty)) {
            (Class::Text, Class::Text) => text(length(&a.ty).max(length(&b.ty))),
            (Class::Number | Class::Float | Class::Double, _) => common(&a.ty, &b.ty).unwrap_or(a.ty),
            _ => a.ty,
        };
        let (a, b) = (convert(a, &ty, pos)?, convert(b, &ty, pos)?);
        Ok((a, b, ty))
    }

    /// A function of the `functions` crate.
    pub fn scalar_function(&mut self, name: &str, args: Vec<Expr>, places: &[u32], pos: u32) -> Result<Expr> {
        let _ = places;
        let (func, args, ty) = crate::function_types::resolve(name, args, pos)?;
        if !func.0.deterministic {
            self.volatile += 1;
            self.unstable += 1;
        }
        // The clock and the time zone are not in the key of a cached result.
        if func.0.bare || func.0.name.ends_with("TIMEZONE") {
            self.volatile += 1;
        }
        Ok(Expr::new(Node::Func(func, args), ty))
    }

    /// An argument of a stored function, where a bind may be a cursor.
    fn argument(&mut self, value: &ast::Expr) -> Result<Expr> {
        if let ast::ExprKind::Bind(b) = &value.kind {
            let bind = self.bind(&b.name);
            if bind.ty == DataType::Cursor {
                // The number of a cursor does not identify its rows.
                self.volatile += 1;
                self.unstable += 1;
                return Ok(bind);
            }
        }
        self.operand(value)
    }

    /// A stored or packaged function.
    fn host_function(&mut self, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        let path: Vec<String> = call.name.parts.iter().map(|p| p.name.clone()).collect();
        self.host_call(path, None, &call.args, pos)
    }

    /// `alias.column.method(…)` and `alias.column.attribute.method(…)`; `None` if the name does not begin with a column
    /// of an object type.
    pub(crate) fn method_of_column(&mut self, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        let [object @ .., method] = call.name.parts.as_slice() else { return Ok(None) };
        if object.len() < 2 || call.name.link.is_some() {
            return Ok(None);
        }
        let name = ast::Name { parts: object.to_vec(), ..call.name.clone() };
        let Some(object) = self.object_of_column(&name)? else { return Ok(None) };
        if !matches!(object.ty, DataType::Named(_)) {
            return Ok(None);
        }
        let found = self.method(object, method, &call.args, pos)?;
        found.map(Some).ok_or_else(|| invalid_identifier(&call.name))
    }

    /// A method of an object; `None` if its type has no such method.
    pub(crate) fn method(
        &mut self,
        object: Expr,
        method: &ast::Ident,
        args: &[ast::Argument],
        pos: u32,
    ) -> Result<Option<Expr>> {
        let path = vec![crate::services::METHOD.to_string(), method.name.clone()];
        self.host_call(path, Some(object), args, pos)
    }

    /// A function of the host, over resolved arguments.
    pub(crate) fn host_values(&mut self, path: Vec<String>, values: Vec<Expr>, pos: u32) -> Result<Option<Expr>> {
        let types: Vec<DataType> = values.iter().map(|e| e.ty).collect();
        let Some(f) = self.functions.function(self.text_owners.last().copied(), &path, &types)? else {
            return Ok(None);
        };
        if values.len() != f.arg_types.len() {
            return Err(wrong_arguments(&f.name, pos));
        }
        let converted = values.into_iter().zip(f.arg_types.clone()).map(|(e, ty)| self.assigned(e, &ty, pos));
        let args = converted.collect::<Result<Vec<Expr>>>()?;
        Ok(Some(self.called(f, args)))
    }

    /// A function of the host; a method has a receiver, its first argument.
    pub(crate) fn host_call(
        &mut self,
        path: Vec<String>,
        receiver: Option<Expr>,
        args: &[ast::Argument],
        pos: u32,
    ) -> Result<Option<Expr>> {
        let text_owner = self.text_owners.last().copied();
        let given: Result<Vec<Expr>> = args.iter().map(|a| self.argument(&a.value)).collect();
        // With named arguments, only their number selects the overload.
        let named = args.iter().any(|a| a.name.is_some());
        let mut types: Vec<DataType> = receiver.iter().map(|e| e.ty).collect();
        match &given {
            Ok(given) if !named => types.extend(given.iter().map(|e| e.ty)),
            _ => types.resize(types.len() + args.len(), DataType::Null),
        }
        let Some(mut f) = self.functions.function(text_owner, &path, &types)? else {
            return Ok(None);
        };
        let written = args;
        let mut args: Vec<Option<Expr>> = vec![None; f.arg_types.len()];
        let first = usize::from(receiver.is_some());
        if let Some(e) = receiver {
            args[0] = Some(self.assigned(e, &f.arg_types[0], pos)?);
        }
        for (i, (a, value)) in written.iter().zip(given?).enumerate() {
            let i = i + first;
            let at = match &a.name {
                None => i,
                Some(name) => match f.arg_names.iter().position(|n| *n == name.name) {
                    Some(at) => at,
                    None => return Err(wrong_arguments(&f.name, pos)),
                },
            };
            if at >= args.len() || args[at].is_some() {
                return Err(wrong_arguments(&f.name, pos));
            }
            args[at] = Some(match (value.ty, f.arg_types[at]) {
                (DataType::Cursor, DataType::Cursor) => value,
                (_, ty) => self.assigned(value, &ty, a.value.pos.0)?,
            });
        }
        if args.iter().zip(&f.has_default).any(|(arg, has_default)| arg.is_none() && !has_default) {
            return Err(wrong_arguments(&f.name, pos));
        }
        args.truncate(args.iter().rposition(Option::is_some).map_or(0, |i| i + 1));
        let mut values = Vec::new();
        for (at, arg) in args.into_iter().enumerate() {
            values.push(arg.unwrap_or_else(|| {
                f.omitted.push(at);
                Expr::new(Node::Const(Value::Null), f.arg_types[at])
            }));
        }
        Ok(Some(self.called(f, values)))
    }

    /// The call of a function of the host.
    fn called(&mut self, f: crate::ir::HostFunction, values: Vec<Expr>) -> Expr {
        if !f.deterministic {
            self.volatile += 1;
            self.unstable += 1;
        }
        let unit = (f.owner.clone(), f.package.clone().unwrap_or_else(|| f.name.clone()));
        if !self.units.contains(&unit) {
            self.units.push(unit);
        }
        for d in &f.dependencies {
            self.depend(*d);
            if !self.cache_deps.contains(d) {
                self.cache_deps.push(*d);
            }
        }
        let ty = f.ty;
        Expr::new(Node::Call(Rc::new(f), values), ty)
    }
}

/// ORA-06553: PLS-306: wrong number or types of arguments.
fn wrong_arguments(name: &str, pos: u32) -> Ora {
    Ora::with(6553, &[&306, &format_args!("wrong number or types of arguments in call to '{name}'")]).at(pos)
}

fn is_special(name: &str) -> bool {
    matches!(
        name,
        "NVL"
            | "COALESCE"
            | "NVL2"
            | "NULLIF"
            | "DECODE"
            | "SYS_CONTEXT"
            | "USERENV"
            | "SYS_GUID"
            | "ROWIDTOCHAR"
            | "ROWIDTONCHAR"
            | "CHARTOROWID"
    )
}

fn two(args: Vec<Expr>) -> [Expr; 2] {
    args.try_into().expect("two arguments were counted")
}

/// DECODE: NULL equals NULL. All comparisons use the type of the first search value, all results the type of the first
/// result.
fn decode(args: Vec<Expr>, places: &[u32], pos: u32) -> Result<Expr> {
    let at = |i: usize| places.get(i).copied().unwrap_or(pos);
    let mut args = args.into_iter().enumerate();
    let (_, value) = args.next().expect("at least three arguments");
    let mut arms = Vec::new();
    let mut otherwise = None;
    let mut rest: Vec<(usize, Expr)> = args.collect();
    if rest.len() % 2 == 1 {
        otherwise = rest.pop();
    }
    let mut compare_type = None;
    let mut result_type: Option<DataType> = None;
    let mut rest = rest.into_iter();
    while let (Some((i, search)), Some((j, result))) = (rest.next(), rest.next()) {
        let by = *compare_type.get_or_insert(if is_null(&search) { value.ty } else { search.ty });
        let cond = if is_null(&search) {
            Expr::new(Node::IsNull(Box::new(value.clone()), false), DataType::Boolean)
        } else {
            let (a, b) = (convert(value.clone(), &by, at(0))?, convert(search, &by, at(i))?);
            let known = b.is_const();
            let mut same = compare(CmpOp::Eq, a.clone(), b.clone(), at(i))?;
            // DECODE does not pad.
            if let Node::Cmp(_, how, ..) = &mut same.node {
                *how = Compare::Plain;
            }
            if known {
                same
            } else {
                let null = |e: Expr| Expr::new(Node::IsNull(Box::new(e), false), DataType::Boolean);
                or(vec![same, and(vec![null(a), null(b)])])
            }
        };
        result_type = Some(match result_type {
            None if is_null(&result) => text(4000),
            None => result.ty,
            Some(t) => match (class(&t), class(&result.ty)) {
                (Class::Text, Class::Text) => text(length(&t).max(length(&result.ty))),
                _ => t,
            },
        });
        arms.push((cond, j, result));
    }
    let mut ty = result_type.expect("one arm at least");
    if let Some((_, e)) = &otherwise
        && class(&ty) == Class::Text
        && class(&e.ty) == Class::Text
    {
        ty = text(length(&ty).max(length(&e.ty)));
    }
    let mut whens = Vec::new();
    for (cond, j, result) in arms {
        whens.push((cond, convert(result, &ty, at(j))?));
    }
    let otherwise = match otherwise {
        Some((j, e)) => Some(Box::new(convert(e, &ty, at(j))?)),
        None => None,
    };
    Ok(Expr::new(Node::Case(whens, otherwise), ty))
}
