//! Resolution of names: scopes first, then STANDARD, then the schema's units, then the built-in packages.

use super::ask::Interfaces;
use super::compiler::{CResult, Compiler, Val};
use super::rows::UPDATED;
use super::scope::*;
use super::symbols::{Operands, PathB, Res, TargetRef, quoted, shown_name};
use crate::datum::CollKind;
use crate::op::*;
use crate::ty::*;
use crate::world::{ColumnInfo, World};
use sql::plsql::ast::{Argument, BinaryOp, Expr, ExprKind, Ident, Name, Part};
use std::rc::Rc;
use types::{DataType, Ora};

impl<W: World> Compiler<'_, W> {
    /// Resolves a name and the parts that follow. `statement`: a procedure call is allowed.
    pub(super) fn resolve(&mut self, n: &Name, want: Option<Opd>, statement: bool) -> CResult<Res> {
        let first = &n.first;
        if self.rows.is_some()
            && let Some(found) = self.trigger_name(n, want)?
        {
            return Ok(found);
        }
        if let Some(symbol) = self.lookup(&first.name) {
            return self.symbol(symbol, n, 0, &first.clone(), want, statement);
        }
        if let Some(Part::Field(field)) = n.parts.first()
            && let Some(symbol) = self.label_symbol(&first.name, &field.name)
        {
            return self.symbol(symbol, n, 1, &field.clone(), want, statement);
        }
        if let Some(own) = self.name_of_self(n)? {
            return self.resolve(&own, want, statement);
        }
        if let Some(symbol) = self.own_static(&first.name)? {
            return self.symbol(symbol, n, 0, &first.clone(), want, statement);
        }
        if let Some((value, used)) = self.xml_constructor(n)? {
            if statement && used == n.parts.len() {
                return Err(self.pls(221, &[&first.name], first.pos));
            }
            return self.walk_value(value, &n.parts[used..], &first.clone(), want, statement);
        }
        if let Some(value) = self.function_of_set(n)? {
            return Ok(Res::Val(value));
        }
        if !first.quoted
            && let Some(value) = self.standard(n, want)?
        {
            let rest = n.parts.iter().skip_while(|p| matches!(p, Part::Call(_))).count();
            if rest > 0 {
                return Err(self.pls(487, &[&first.name], first.pos));
            }
            if statement {
                return Err(self.pls(221, &[&first.name], first.pos));
            }
            return Ok(Res::Val(value));
        }
        if let [Part::Field(f)] = n.parts.as_slice()
            && (f.name == "NEXTVAL" || f.name == "CURRVAL")
            && self.ask(|units, w| units.ask_sequence(w, None, &first.name))?
        {
            return Ok(Res::Val(self.sequence(&format!("{}.{}", quoted(first), f.name))?));
        }
        if let [Part::Field(s), Part::Field(f)] = n.parts.as_slice()
            && (f.name == "NEXTVAL" || f.name == "CURRVAL")
            && self.ask(|units, w| units.ask_sequence(w, Some(&first.name), &s.name))?
        {
            return Ok(Res::Val(self.sequence(&format!("{}.{}.{}", quoted(first), quoted(s), f.name))?));
        }
        self.stored(n, want, statement)
    }

    /// SET and CARDINALITY of a nested table.
    fn function_of_set(&mut self, n: &Name) -> CResult<Option<Val>> {
        let [Part::Call(args)] = n.parts.as_slice() else { return Ok(None) };
        let [Argument { name: None, value }] = args.as_slice() else { return Ok(None) };
        let is_set = n.first.name == "SET";
        if n.first.quoted || !is_set && n.first.name != "CARDINALITY" {
            return Ok(None);
        }
        let v = self.operand(value, None)?;
        let is_it = matches!(&v.ty, Ty::Coll(c) if c.info.kind == CollKind::Nested);
        if !is_it || is_set && !matches!(&v.ty, Ty::Coll(c) if c.element.scalar().is_some()) {
            return Err(self.pls(306, &[&n.first.name], n.first.pos));
        }
        let d = self.temp();
        if is_set {
            self.emit(Op::Multiset { op: MultisetOp::Union, distinct: true, d, a: v.o, b: v.o });
            return Ok(Some(Val { o: d, ty: v.ty }));
        }
        self.emit(Op::Cardinality { d, s: v.o });
        Ok(Some(Val { o: d, ty: Ty::INTEGER }))
    }

    /// Resolves a name that has a meaning in triggers only: a column of a row in WHEN, and UPDATING of a column.
    fn trigger_name(&mut self, n: &Name, want: Option<Opd>) -> CResult<Option<Res>> {
        let field = match n.parts.first() {
            Some(Part::Field(field)) => Some(field),
            _ => None, // not a clause: a row has no elements
        };
        if let Some(path) = self.row_of_when(&n.first, field)? {
            return self.walk(path, &n.parts[1..], &n.first, want, false).map(Some);
        }
        let [Part::Call(args)] = n.parts.as_slice() else { return Ok(None) };
        let [Argument { name: None, value }] = args.as_slice() else { return Ok(None) };
        let is_own =
            matches!(self.lookup("UPDATING"), Some(Symbol::Var(Var { loc: Loc::Frame { level: 0, slot: 2 }, .. })));
        if n.first.quoted || n.first.name != "UPDATING" || !is_own {
            return Ok(None);
        }
        if let Some(rows) = &mut self.rows {
            rows.asks_columns = true;
        }
        let asked = updating(value, n.first.pos);
        self.operand(&asked, want).map(|value| Some(Res::Val(value)))
    }

    /// Resolves a name outside all scopes: a unit of the schema, of another schema, or a built-in package.
    fn stored(&mut self, n: &Name, want: Option<Opd>, statement: bool) -> CResult<Res> {
        let first = n.first.clone();
        let mut path = vec![first.clone()];
        let mut at = 0;
        let mut found = self.interface_of(&path)?;
        if found.is_none()
            && let Some(Part::Field(second)) = n.parts.first()
        {
            path.push(second.clone());
            at = 1;
            found = self.interface_of(&path)?;
        }
        let is_attribute = !first.quoted && crate::packages::standard_member(&first.name).is_some();
        if let Some(rows) = self.rows.as_mut().filter(|rows| rows.in_when && !is_attribute)
            && (found.is_some() || n.parts.iter().any(|part| matches!(part, Part::Call(_))))
        {
            let error = Ora::new(25007);
            rows.refused.get_or_insert(error.clone());
            return Err(error.at(first.pos));
        }
        match found {
            Some(Interface::Subprogram(s)) => {
                let name = path.last().expect("not empty").clone();
                self.symbol(Symbol::Subs(vec![s]), n, at, &name, want, statement)
            }
            Some(Interface::Type(ty)) => {
                let name = path.last().expect("not empty").clone();
                self.symbol(Symbol::Type(ty), n, at, &name, want, statement)
            }
            Some(Interface::Package(p)) => match n.parts.get(at) {
                Some(Part::Field(member)) => match p.symbols.get(&member.name) {
                    Some(s) => self.symbol(s.clone(), n, at + 1, &member.clone(), want, statement),
                    None => Err(self.pls(302, &[&member.name], member.pos)),
                },
                _ if statement => Err(self.pls(221, &[&first.name], first.pos)),
                _ => Err(self.pls(330, &[], first.pos)),
            },
            None => {
                let shown = match n.parts.first() {
                    Some(Part::Field(f)) => format!("{}.{}", first.name, f.name),
                    _ => first.name.clone(),
                };
                if n.parts.is_empty() && self.ask(|units, w| units.ask_columns(w, None, &first.name))?.is_some() {
                    return Err(self.pls(357, &[&first.name], first.pos));
                }
                Err(self.pls(201, &[&shown], first.pos))
            }
        }
    }

    fn symbol(
        &mut self,
        symbol: Symbol,
        n: &Name,
        at: usize,
        ident: &Ident,
        want: Option<Opd>,
        statement: bool,
    ) -> CResult<Res> {
        match symbol {
            Symbol::Var(v) => {
                let root = match &v.loc {
                    Loc::Frame { level, slot } => Root::Slot(self.frame_opd(*level, *slot)),
                    Loc::Package { home, slot } => Root::Package { external: self.package_external(home), slot: *slot },
                };
                let path = PathB::new(root, v.ty, v.access, &ident.name);
                let res = self.walk(path, &n.parts[at..], ident, want, statement)?;
                if statement && !matches!(res, Res::Done) {
                    return Err(self.pls(221, &[&ident.name], ident.pos));
                }
                Ok(res)
            }
            Symbol::Subs(subs) => {
                let (args, used) = match n.parts.get(at) {
                    Some(Part::Call(args)) => (args.as_slice(), 1),
                    _ => (&[][..], 0),
                };
                let rest = &n.parts[at + used..];
                let function_wanted = !statement || !rest.is_empty();
                let result = self.call(&subs, args, ident, function_wanted)?;
                match result {
                    None => Ok(Res::Done),
                    Some(v) => self.walk_value(v, rest, ident, want, statement),
                }
            }
            Symbol::Type(Ty::Coll(c)) => match n.parts.get(at) {
                Some(Part::Call(args)) => {
                    let v = self.constructor(&c, args, ident)?;
                    self.walk_value(v, &n.parts[at + 1..], ident, want, statement)
                }
                _ => Err(self.pls(330, &[], ident.pos)),
            },
            Symbol::Type(Ty::Scalar(ScalarTy { ty: DataType::Named(id), .. })) => match n.parts.get(at) {
                Some(Part::Call(args)) => {
                    let v = self.object(id, args, ident)?;
                    self.walk_value(v, &n.parts[at + 1..], ident, want, statement)
                }
                Some(Part::Field(f)) => {
                    let (args, used) = match n.parts.get(at + 1) {
                        Some(Part::Call(args)) => (args.as_slice(), 1),
                        _ => (&[][..], 0),
                    };
                    let rest = &n.parts[at + 1 + used..];
                    match self.static_call(id, &f.clone(), args, !statement || !rest.is_empty())? {
                        None => Ok(Res::Done),
                        Some(v) => self.walk_value(v, rest, f, want, statement),
                    }
                }
                _ => Err(self.pls(330, &[], ident.pos)),
            },
            Symbol::Type(Ty::Record(r)) => match n.parts.get(at) {
                Some(Part::Call(args)) => {
                    let v = self.qualified_record(&r, args, ident)?;
                    self.walk_value(v, &n.parts[at + 1..], ident, want, statement)
                }
                _ => Err(self.pls(330, &[], ident.pos)),
            },
            Symbol::Type(_) => Err(self.pls(330, &[], ident.pos)),
            Symbol::Cursor(c) if statement => Err(self.pls(221, &[&c.name], ident.pos)),
            Symbol::Cursor(c) => Ok(Res::Cursor(c)),
            Symbol::Exception(_) if statement => Err(self.pls(221, &[&ident.name], ident.pos)),
            Symbol::Exception(_) => Err(self.pls(382, &[], ident.pos)),
        }
    }

    /// `sequence.NEXTVAL` in an expression.
    fn sequence(&mut self, name: &str) -> CResult<Val> {
        let text = format!("SELECT {name} FROM DUAL");
        let columns = SqlColumns::new([("NEXTVAL", &DataType::NUMBER)]);
        let (binds, bind_types) = (Vec::new(), Vec::new());
        let sql = StaticSql { text, binds, bind_types, returning: 0, query: true, other: false, columns };
        self.pool.sql.push(sql);
        let index = self.pool.sql.len() as u32 - 1;
        let columns = [ColumnInfo { name: "NEXTVAL".into(), ty: DataType::NUMBER, nullable: true }];
        let row_ty = row_type(&columns);
        let row = self.temp();
        let template = self.template(crate::Datum::Rec(std::rc::Rc::new(row_ty.initial())));
        self.emit(Op::Init { d: row, template });
        self.emit(Op::SelectInto { sql: index, row });
        let Place::Local(slot) = row.place() else { unreachable!("temporaries are local") };
        let o = Opd::field(slot, 0).ok_or_else(|| Ora::pls(123, &[&"too many variables"]))?;
        Ok(Val { o, ty: Ty::NUMBER })
    }

    /// Follows fields, subscripts and collection methods of a value.
    pub(super) fn walk_value(
        &mut self,
        v: Val,
        parts: &[Part],
        ident: &Ident,
        want: Option<Opd>,
        statement: bool,
    ) -> CResult<Res> {
        if parts.is_empty() {
            return Ok(Res::Val(v));
        }
        let v = self.held_value(v);
        let path = PathB::new(Root::Slot(v.o), v.ty, Access::Constant, &ident.name);
        self.walk(path, parts, ident, want, statement)
    }

    /// Follows fields, subscripts, and methods of collections and objects.
    fn walk(
        &mut self,
        mut path: PathB,
        parts: &[Part],
        ident: &Ident,
        want: Option<Opd>,
        statement: bool,
    ) -> CResult<Res> {
        let mut i = 0;
        // The type of `(object AS type)`.
        let mut view = None;
        while let Some(part) = parts.get(i) {
            i += 1;
            match part {
                Part::Field(f) => match path.ty.clone() {
                    Ty::Record(r) => {
                        let Some(field) = r.field(&f.name) else { return Err(self.pls(302, &[&f.name], f.pos)) };
                        path.steps.push(match field.at {
                            FieldAt::Scalar(n) => Step::Scalar(n),
                            FieldAt::Nested(n) => Step::Nested(n),
                        });
                        path.ty = field.ty.clone();
                        path.name = f.name.clone();
                    }
                    Ty::Coll(c) => {
                        let path = self.entered(path);
                        let args = match parts.get(i) {
                            Some(Part::Call(args)) => {
                                i += 1;
                                args.as_slice()
                            }
                            _ => &[],
                        };
                        return match self.method(&path, &c, f, args, want)? {
                            None => Ok(Res::Done),
                            Some(v) => match parts.get(i) {
                                None => Ok(Res::Val(v)),
                                Some(_) => Err(self.pls(487, &[&f.name], f.pos)),
                            },
                        };
                    }
                    Ty::Scalar(ScalarTy { ty: DataType::Named(id), .. }) => {
                        let seen_as = view.take();
                        let def = self.units.named_type(&mut **self.w.borrow_mut(), id, &self.owner)?;
                        let Some((n, attribute)) = def.as_ref().and_then(|def| def.attribute(&f.name)) else {
                            let (args, used) = match parts.get(i) {
                                Some(Part::Call(args)) => (args.as_slice(), 1),
                                _ => (&[][..], 0),
                            };
                            let rest = &parts[i + used..];
                            let function = !statement || !rest.is_empty();
                            let call = (f, args);
                            let of = seen_as.unwrap_or(id);
                            return match self.method_call(&path, of, call, function, seen_as.is_some())? {
                                None => Ok(Res::Done),
                                Some(v) => self.walk_value(v, rest, f, want, statement),
                            };
                        };
                        path.steps.push(Step::Attribute(n as u32));
                        path.ty = self.attribute_type(attribute.ty)?;
                        path.stored = path.ty.named().map(|(_, id)| id);
                        path.name = f.name.clone();
                    }
                    Ty::Scalar(ScalarTy { ty: DataType::Xml, .. }) => {
                        let args = match parts.get(i) {
                            Some(Part::Call(args)) => {
                                i += 1;
                                args.as_slice()
                            }
                            _ => &[],
                        };
                        let own = self.path_value(&path, None);
                        let v = self.xml_method(own, f, args)?;
                        return self.walk_value(v, &parts[i..], f, want, statement);
                    }
                    _ => return Err(self.pls(487, &[&ident.name], ident.pos)),
                },
                Part::As(ty) => view = Some(self.related_type(&path.ty, ty)?),
                Part::Call(args) => {
                    let Ty::Coll(c) = path.ty.clone() else {
                        return Err(self.pls(224, &[&path.name], ident.pos));
                    };
                    let [Argument { name: None, value }] = args.as_slice() else {
                        return Err(self.pls(316, &[], ident.pos));
                    };
                    path = self.entered(path);
                    let step = self.subscript(&c, value)?;
                    path.steps.push(step);
                    path.ty = c.element.clone();
                }
            }
        }
        Ok(Res::Path(path))
    }

    /// `TREAT(operand AS type)` with the parts that follow.
    pub(super) fn treated(
        &mut self,
        operand: &Expr,
        ty: &sql::plsql::ast::TypeRef,
        parts: &[Part],
        want: Option<Opd>,
        statement: bool,
    ) -> CResult<Res> {
        let v = self.treat(operand, ty, if parts.is_empty() { want } else { None })?;
        let ident = Ident { name: "TREAT".into(), quoted: false, pos: operand.pos };
        self.walk_value(v, parts, &ident, want, statement)
    }

    pub(super) fn subscript(&mut self, c: &CollTy, value: &Expr) -> CResult<Step> {
        let text = c.info.kind == CollKind::ByText;
        let v = self.operand(value, None)?;
        let class = v.ty.class();
        let wanted = if text { Class::Text } else { Class::Number };
        if !assignable(class, wanted) {
            return Err(self.pls(382, &[], value.pos));
        }
        // The subscript is read together with the element, so its operands must not change in between.
        let key = if class == wanted && v.o.place_is_stable() {
            v.o
        } else {
            let ty = if text {
                ScalarTy { ty: DataType::TEXT, not_null: false, range: None }
            } else {
                ScalarTy { ty: DataType::PlsInteger, not_null: false, range: None }
            };
            let d = self.temp();
            let ty = self.target(&ty);
            self.emit(Op::Coerce { d, s: v.o, ty });
            d
        };
        Ok(Step::Index { key, text })
    }

    fn constructor(&mut self, c: &Rc<CollTy>, args: &[Argument], ident: &Ident) -> CResult<Val> {
        if Self::is_array(c) && !args.is_empty() {
            return self.qualified_array(c, args, ident);
        }
        let d = self.temp();
        let base = self.slots(args.len() as u32);
        for (i, a) in args.iter().enumerate() {
            if a.name.is_some() {
                return Err(self.pls(306, &[&ident.name], ident.pos));
            }
            let saved = self.f.next;
            self.assign_expr(Opd::local(base + i as u32), &c.element, &a.value)
                .map_err(|e| if e.code() == 382 { self.pls(306, &[&ident.name], ident.pos) } else { e })?;
            self.f.next = saved;
        }
        let coll = self.coll_info(c);
        self.emit(Op::Construct { d, base, n: args.len() as u32, coll });
        Ok(Val { o: d, ty: Ty::Coll(c.clone()) })
    }

    /// Compiles a collection method; `None` for methods that are procedures.
    fn method(
        &mut self,
        path: &PathB,
        c: &CollTy,
        f: &Ident,
        args: &[Argument],
        want: Option<Opd>,
    ) -> CResult<Option<Val>> {
        let text = c.info.kind == CollKind::ByText;
        let key_ty = if text { Ty::TEXT } else { Ty::INTEGER };
        let (method, least, most) = match f.name.as_str() {
            "COUNT" => (Method::Count, 0, 0),
            "FIRST" => (Method::First, 0, 0),
            "LAST" => (Method::Last, 0, 0),
            "LIMIT" => (Method::Limit, 0, 0),
            "NEXT" => (Method::Next, 1, 1),
            "PRIOR" => (Method::Prior, 1, 1),
            "EXISTS" => (Method::Exists, 1, 1),
            "EXTEND" => (Method::Extend, 0, 2),
            "TRIM" => (Method::Trim, 0, 1),
            "DELETE" => (Method::Delete, 0, 2),
            _ => return Err(self.pls(302, &[&f.name], f.pos)),
        };
        if args.len() < least || args.len() > most {
            return Err(self.pls(306, &[&f.name], f.pos));
        }
        let changes = matches!(method, Method::Extend | Method::Trim | Method::Delete);
        if changes && path.access != Access::Free {
            return Err(self.pls(363, &[&path.name], f.pos));
        }
        if text && matches!(method, Method::Extend | Method::Trim) {
            return Err(self.pls(306, &[&f.name], f.pos));
        }
        let null = self.null();
        let mut operands = [null, null];
        for (i, a) in args.iter().enumerate() {
            let ty = if matches!(method, Method::Extend | Method::Trim) { Ty::INTEGER } else { key_ty.clone() };
            let d = self.temp();
            self.assign_expr(d, &ty, &a.value)?;
            operands[i] = d;
        }
        if method == Method::Extend && args.is_empty() || method == Method::Trim && args.is_empty() {
            operands[0] = self.constant(types::Value::Number(types::Number::ONE));
        }
        let d = if changes { null } else { want.unwrap_or_else(|| Opd::local(u32::MAX >> 2)) };
        let d = if !changes && want.is_none() { self.temp() } else { d };
        let index = self.path(path.root, path.steps.clone());
        self.emit(Op::Collection { method, d, path: index, a: operands[0], b: operands[1] });
        if changes {
            self.write_back(path, f.pos)?;
        }
        let ty = match method {
            Method::Count | Method::Limit => Ty::INTEGER,
            Method::Exists => Ty::BOOLEAN,
            _ => key_ty,
        };
        Ok(if changes { None } else { Some(Val { o: d, ty }) })
    }

    /// Resolves the target of an assignment, and checks that it may be assigned.
    pub(super) fn target_path(&mut self, e: &Expr) -> CResult<TargetRef> {
        match &e.kind {
            ExprKind::Bind { name, field } if self.rows.is_some() => {
                let path = self.row_column(name, field.as_ref(), true, e.pos)?;
                path.map(TargetRef::Path).ok_or_else(|| self.pls(49, &[name], e.pos))
            }
            ExprKind::Bind { name, field: None } => {
                let bind = self.host_bind(name, e.pos)?;
                Ok(TargetRef::Bind(bind, self.bind_ty(bind)))
            }
            ExprKind::Name(n) => match self.resolve(n, None, false)? {
                Res::Path(p) => match p.access {
                    Access::Free => Ok(TargetRef::Path(p)),
                    _ => Err(self.pls(363, &[&shown_name(n)], e.pos)),
                },
                _ => Err(self.pls(363, &[&shown_name(n)], e.pos)),
            },
            _ => Err(self.pls(363, &[&"expression"], e.pos)),
        }
    }
}

/// The condition behind UPDATING of a column: the column is in the list of those that the UPDATE sets.
fn updating(column: &Expr, pos: u32) -> Expr {
    let expr = |kind| Expr { kind, pos };
    let name = |name: &str, args: Vec<Expr>| {
        let first = Ident { name: name.to_string(), quoted: false, pos };
        let args: Vec<Argument> = args.into_iter().map(|value| Argument { name: None, value }).collect();
        let parts = if args.is_empty() { Vec::new() } else { vec![Part::Call(args)] };
        expr(ExprKind::Name(Name { first, parts }))
    };
    let binary = |op, left, right| expr(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) });
    let mark = || expr(ExprKind::String(plan::Firing::SEPARATOR.to_string()));
    // NULL, and a name with a mark in it, are none of the names.
    let none = || expr(ExprKind::String("\0".to_string()));
    let wanted = name("NVL", vec![name("UPPER", vec![column.clone()]), none()]);
    let wanted = name("REPLACE", vec![wanted, mark(), none()]);
    let wanted = binary(BinaryOp::Concat, mark(), wanted);
    let wanted = binary(BinaryOp::Concat, wanted, mark());
    let place = name("INSTR", vec![name(UPDATED, Vec::new()), wanted]);
    let is_set = binary(BinaryOp::Gt, place, expr(ExprKind::Number("0".to_string())));
    binary(BinaryOp::And, name("UPDATING", Vec::new()), is_set)
}
