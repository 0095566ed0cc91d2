//! Expressions: from the parser's tree to resolved, typed expressions.

use crate::ir::*;
use crate::logic::{and, flatten_and, negate, or};
use crate::refusals::{invalid_identifier, unsupported};
use crate::resolve::{Operands, Queries, SubUse};
use crate::scope::*;
use crate::services::Asked;
use crate::typing::*;
use sql::ast::{self, BinaryOp, ExprKind, InSource, IsTest, Literal, Quantifier, UnaryOp};
use types::{DataType, Number, Ora, Result, Value};

/// Most expressions that one statement may resolve.
const RESOLVED_MAX: u32 = 2_000_000;

impl Operands for Compiler<'_> {
    fn operand(&mut self, e: &ast::Expr) -> Result<Expr> {
        self.expr(e)
    }

    fn operand_condition(&mut self, e: &ast::Expr) -> Result<Expr> {
        self.condition(e)
    }

    fn operand_cast(&mut self, e: Expr, to: DataType, format: &[ast::Expr], pos: u32) -> Result<Expr> {
        self.cast_of(e, to, format, pos)
    }

    fn object_of_column(&mut self, name: &ast::Name) -> Result<Option<Expr>> {
        let part = |i: usize| name.parts[i].name.as_str();
        let column = self.find_column(None, Some(part(0)), part(1), name.pos.0)?;
        if column.is_some_and(|e| !matches!(e.ty, DataType::Named(_))) {
            return Ok(None);
        }
        self.attribute_of_column(name)
    }

    fn sort_operand(&mut self, key: Expr, pos: u32) -> Result<Expr> {
        self.sort_value(key, pos)
    }
}

impl Compiler<'_> {
    /// Resolves an expression.
    pub fn expr(&mut self, e: &ast::Expr) -> Result<Expr> {
        let pos = e.pos.0;
        // BETWEEN and CASE resolve an operand once for each comparison, so nested ones grow exponentially.
        self.resolved += 1;
        if self.resolved > RESOLVED_MAX || os::stack::is_short() {
            return Err(Ora::with(4030, &[&"64", &"kxs-heap-c", &"expression nesting"]).at(pos));
        }
        match &e.kind {
            ExprKind::Literal(l) => literal(l, pos),
            ExprKind::Name(name) => self.name(name),
            ExprKind::OuterJoined(inner) => match self.block().clause {
                Clause::Where | Clause::Dml => self.expr(inner),
                // In the condition of a join.
                Clause::From => Err(Ora::new(25156).at(pos)),
                Clause::StartWith
                | Clause::ConnectBy
                | Clause::GroupBy
                | Clause::Having
                | Clause::Select
                | Clause::OrderBy => Err(Ora::new(30563).at(pos)),
            },
            ExprKind::Bind(ast::Bind { name: _, indicator: Some(_) }) => Err(unsupported("indicator", pos)),
            ExprKind::Bind(ast::Bind { name, indicator: None }) => match self.bind(name) {
                // A cursor is allowed only as an argument of a PL/SQL function.
                bind if bind.ty == DataType::Cursor => Err(inconsistent("-", bind.ty.name(), pos)),
                bind => Ok(bind),
            },
            ExprKind::Unary { op, expr } => self.unary(*op, expr, pos),
            ExprKind::Binary { op, left: _, right: _ } if is_operator(*op) => self.operators(e),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, pos),
            ExprKind::Quantified { op, quantifier, left, right } => self.quantified(*op, *quantifier, left, right, pos),
            ExprKind::Between { expr, low, high, negated } => self.between(expr, low, high, *negated, pos),
            ExprKind::In { expr, source, negated } => self.in_condition(expr, source, *negated, pos),
            // LIKEC, LIKE2 and LIKE4 differ in the unit of text; here all of them use whole characters.
            ExprKind::Like { kind: _, expr, pattern, escape, negated } => {
                self.like(expr, pattern, escape.as_deref(), *negated, pos)
            }
            ExprKind::Is { expr, test, negated } => self.is_condition(expr, test, *negated, pos),
            ExprKind::Exists(query) => {
                let sub = self.inner_subquery(query, SubUse::Exists)?;
                Ok(Expr::new(Node::Exists(sub.0), DataType::Boolean))
            }
            ExprKind::Subquery(query) => {
                let (sub, columns) = self.inner_subquery(query, SubUse::Scalar)?;
                if columns.len() != 1 {
                    return Err(Ora::new(if columns.is_empty() { 936 } else { 913 }).at(pos));
                }
                Ok(Expr::new(Node::Scalar(sub), columns[0].ty))
            }
            ExprKind::Case(case) => self.case(case),
            ExprKind::Call(call) => self.call(call, pos),
            ExprKind::Cast { expr, ty, default_on_error, format } => {
                if let Some(to) = self.named_type(ty)? {
                    if default_on_error.is_some() || !format.is_empty() {
                        return Err(unsupported("CAST to an object or collection", pos));
                    }
                    if let ExprKind::Call(call) = &expr.kind
                        && call.name.as_simple() == Some("COLLECT")
                    {
                        return self.collected(call, to, expr.pos.0);
                    }
                    let e = self.expr(expr)?;
                    return self.cast_to_named(e, to, expr.pos.0);
                }
                let to = crate::written_types::data_type(ty)?;
                let e = self.expr(expr)?;
                let Some(default) = default_on_error else { return self.cast_of(e, to, format, pos) };
                let default = self.expr(default)?;
                let default = self.cast_of(default, to, format, pos)?;
                // The default applies if the conversion fails, not if the evaluation of the operand fails.
                Expr::held(e, |e| {
                    let value = self.cast_of(e.clone(), to, format, pos)?;
                    Ok(Expr::new(Node::OnError(Box::new(value), Box::new(default)), to))
                })
            }
            ExprKind::Treat { expr, ty } => {
                let to = self.named_type(ty)?.ok_or_else(|| Ora::new(902).at(ty.pos.0))?;
                self.treat(expr, to.id, pos)
            }
            ExprKind::Extract { field, expr } => {
                let arg = self.expr(expr)?;
                let field_kind = field;
                let field = Expr::new(Node::Const(Value::Text(field.name().to_owned())), text(20));
                let extracted = self.scalar_function("EXTRACT", vec![field, arg], &[pos, pos], pos)?;
                Ok(match field_kind {
                    ast::DateField::TimezoneRegion | ast::DateField::TimezoneAbbr => Expr { ty: text(64), ..extracted },
                    ast::DateField::Year
                    | ast::DateField::Month
                    | ast::DateField::Day
                    | ast::DateField::Hour
                    | ast::DateField::Minute
                    | ast::DateField::Second
                    | ast::DateField::TimezoneHour
                    | ast::DateField::TimezoneMinute => extracted,
                })
            }
            ExprKind::Trim { side, chars, expr } => {
                let name = match side {
                    ast::TrimSide::Both => "TRIM",
                    ast::TrimSide::Leading => "LTRIM",
                    ast::TrimSide::Trailing => "RTRIM",
                };
                let mut args = vec![self.expr(expr)?];
                if let Some(chars) = chars {
                    args.push(self.expr(chars)?);
                }
                let places = vec![pos; args.len()];
                self.scalar_function(name, args, &places, pos)
            }
            ExprKind::AtTimeZone { expr, zone } => {
                let mut args = vec![self.expr(expr)?];
                args.extend(zone.as_ref().map(|zone| self.expr(zone)).transpose()?);
                self.scalar_function(functions::AT_TIME_ZONE, args, &[pos, pos], pos)
            }
            ExprKind::AsInterval { expr, qualifier } => self.as_interval(expr, qualifier, pos),
            ExprKind::Star => Err(Ora::new(936).at(pos)),
            ExprKind::Default => Err(Ora::new(936).at(pos)),
            ExprKind::Row(_) => Err(Ora::new(907).at(pos)),
            ExprKind::Cursor(query, text) => self.nested_cursor(query, &text.0, pos),
            ExprKind::Apply { base, args } => match self.element(base)? {
                Some(e) => Ok(e),
                None => self.method_of_value(base, args, pos),
            },
            ExprKind::Field { base, field } => {
                if let Some(e) = self.element(base)? {
                    return Ok(e);
                }
                let object = self.expr(base)?;
                match self.attribute(object, field)? {
                    Some(e) => Ok(e),
                    None => Err(invalid_identifier(&ast::Name::simple(field.clone()))),
                }
            }
            ExprKind::CastMultiset { query, ty } => self.multiset(query, ty, pos),
            ExprKind::Member { expr, of, submultiset, negated } => self.member(expr, of, *submultiset, *negated, pos),
            ExprKind::Multiset { op, distinct, left, right } => {
                let (a, b) = self.two_collections(left, right)?;
                let op: u32 = match op {
                    ast::SetOp::Union => 0,
                    ast::SetOp::Intersect => 1,
                    ast::SetOp::Minus => 2,
                };
                let ty = a.ty;
                if *distinct || op != 0 {
                    self.refuse_methods_of_order(&ty, pos)?;
                }
                let whole = |n: u32| Expr::new(Node::Const(Value::Number(n.into())), number());
                let args = vec![a, b, whole(op), whole(u32::from(*distinct))];
                let e = self.scalar_function(functions::MULTISET, args, &[], pos)?;
                Ok(Expr { ty, ..e })
            }
        }
    }

    /// The type of a collection's elements; `None` for another type.
    fn element_of(&mut self, ty: &DataType) -> Result<Option<DataType>> {
        match ty {
            DataType::Named(id) => Ok(self.type_def(*id)?.and_then(|def| def.element())),
            _ => Ok(None),
        }
    }

    /// Resolves two collections of one type; ORA-00932 otherwise.
    fn two_collections(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<(Expr, Expr)> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        if self.element_of(&a.ty)?.is_none() {
            return Err(inconsistent("UDT", type_name(&a.ty), left.pos.0));
        }
        if a.ty != b.ty && !is_null(&b) {
            return Err(inconsistent("UDT", type_name(&b.ty), right.pos.0));
        }
        Ok((a, b))
    }

    /// `value [NOT] MEMBER OF collection`, `collection [NOT] SUBMULTISET OF collection`.
    fn member(&mut self, e: &ast::Expr, of: &ast::Expr, submultiset: bool, negated: bool, pos: u32) -> Result<Expr> {
        let found = if submultiset {
            let (a, b) = self.two_collections(e, of)?;
            self.refuse_methods_of_order(&a.ty, pos)?;
            self.scalar_function(functions::SUBMULTISET, vec![a, b], &[], pos)?
        } else {
            let (value, collection) = (self.value(e)?, self.value(of)?);
            let mismatch = || inconsistent("UDT", type_name(&collection.ty), of.pos.0);
            let element = self.element_of(&collection.ty)?.ok_or_else(mismatch)?;
            self.refuse_methods_of_order(&element, pos)?;
            let value = convert(value, &element, e.pos.0)?;
            self.scalar_function(functions::MEMBER, vec![value, collection], &[], pos)?
        };
        if !negated {
            return Ok(found);
        }
        Ok(Expr::new(Node::Not(Box::new(found)), DataType::Boolean))
    }

    /// The schema type that CAST names; `None` for a type of SQL, ORA-00902 for an unknown one.
    pub(crate) fn named_type(&mut self, ty: &ast::DataTypeName) -> Result<Option<std::rc::Rc<types::TypeDef>>> {
        let ast::TypeKind::Named { name, args } = &ty.kind else { return Ok(None) };
        let refused = || Ora::new(902).at(ty.pos.0);
        if !args.is_empty() || name.link.is_some() {
            return Err(refused());
        }
        // The name of a type resolves to its constructor.
        let named = name.parts.iter().map(|p| p.name.clone());
        let path: Vec<String> = std::iter::once(crate::services::TYPE.to_string()).chain(named).collect();
        let found = self.functions.function(self.text_owners.last().copied(), &path, &[])?;
        let found = found.filter(|f| f.handle == CONSTRUCTOR).ok_or_else(refused)?;
        let DataType::Named(id) = found.ty else { return Err(refused()) };
        self.type_def(id)?.map(Some).ok_or_else(refused)
    }

    /// Converts a collection to another type with the same elements.
    fn cast_to_named(&mut self, e: Expr, to: std::rc::Rc<types::TypeDef>, pos: u32) -> Result<Expr> {
        let ty = DataType::Named(to.id);
        if e.ty == ty {
            return Ok(e);
        }
        if is_null(&e) {
            return Ok(Expr::new(Node::Const(Value::Null), ty));
        }
        let mismatch = || inconsistent(&to.name, type_name(&e.ty), pos);
        let from = match e.ty {
            DataType::Named(id) => self.type_def(id)?,
            _ => None,
        };
        let elements = (from.and_then(|def| def.element()), to.element());
        if elements.0.is_none() || elements.0 != elements.1 {
            return Err(mismatch());
        }
        let whole = |n: u32| Expr::new(Node::Const(Value::Number(n.into())), number());
        let mut args = vec![e, whole(to.id.0)];
        if let types::TypeShape::Varray { element: _, limit } = to.shape {
            args.push(whole(limit));
        }
        let e = self.scalar_function(functions::RETYPE, args, &[], pos)?;
        Ok(Expr { ty, ..e })
    }

    /// CAST(MULTISET(query) AS type): each row is an element; for object elements, the columns are the attributes.
    fn multiset(&mut self, query: &ast::Query, ty: &ast::DataTypeName, pos: u32) -> Result<Expr> {
        let refused = || Ora::new(902).at(ty.pos.0);
        let def = self.named_type(ty)?.ok_or_else(refused)?;
        let element = def.element().ok_or_else(refused)?;
        let (sub, _) = self.inner_subquery(query, SubUse::Multiset)?;
        let out = std::mem::take(&mut self.subs[sub].out);
        let of_element = match element {
            DataType::Named(id) => self.type_def(id)?,
            _ => None,
        };
        let wrong = || inconsistent(&def.name, "-", pos);
        let value = match of_element.as_deref() {
            Some(types::TypeDef { shape: types::TypeShape::Object(attributes), owner, name, .. })
                if out.len() != 1 || !matches!(out[0].ty, DataType::Named(_)) =>
            {
                if out.len() != attributes.len() {
                    return Err(wrong());
                }
                let made = self
                    .functions
                    .function(None, &[crate::services::TYPE.to_string(), owner.clone(), name.clone()], &[])?
                    .ok_or_else(wrong)?;
                let args = out.into_iter().zip(attributes).map(|(e, a)| self.assigned(e, &a.ty, pos));
                Expr::new(Node::Call(std::rc::Rc::new(made), args.collect::<Result<_>>()?), element)
            }
            _ => {
                let [e] = <[Expr; 1]>::try_from(out).map_err(|_| wrong())?;
                self.assigned(e, &element, pos)?
            }
        };
        self.subs[sub].out = vec![value];
        let limit = match def.shape {
            types::TypeShape::Varray { element: _, limit } => Some(limit),
            types::TypeShape::Table { element: _ } | types::TypeShape::Object(_) => None,
        };
        let ty = DataType::Named(def.id);
        self.subs[sub].multiset = Some(Multiset { ty, element, limit });
        Ok(Expr::new(Node::Scalar(sub), ty))
    }

    /// CAST, with a format model if given.
    fn cast_of(&mut self, e: Expr, to: DataType, format: &[ast::Expr], pos: u32) -> Result<Expr> {
        let [_, ..] = format else { return cast(e, to, pos) };
        if is_null(&e) {
            return cast(e, to, pos);
        }
        let name = match (class(&to), &to) {
            (Class::Number, _) => "TO_NUMBER",
            (Class::Date, _) => "TO_DATE",
            (Class::Timestamp, DataType::Timestamp { zone: types::Zone::None, .. }) => "TO_TIMESTAMP",
            (Class::Timestamp, _) => "TO_TIMESTAMP_TZ",
            (Class::Text, _) => "TO_CHAR",
            _ => return Err(unsupported("CAST with a format", pos)),
        };
        let mut args = vec![e];
        for f in format {
            args.push(self.expr(f)?);
        }
        let e = self.scalar_function(name, args, &[], pos)?;
        cast(e, to, pos)
    }

    /// `(a - b) DAY TO SECOND` and `(a - b) YEAR TO MONTH`: the difference as an interval.
    fn as_interval(&mut self, e: &ast::Expr, qualifier: &ast::IntervalQualifier, pos: u32) -> Result<Expr> {
        let ExprKind::Binary { op: BinaryOp::Sub, left, right } = &e.kind else {
            return Err(Ora::new(30083).at(pos)); // syntax error was found in interval value expression
        };
        let (a, b) = (self.value(left)?, self.value(right)?);
        for e in [&a, &b] {
            if !matches!(class(&e.ty), Class::Date | Class::Timestamp) {
                return Err(inconsistent("DATE", type_name(&e.ty), pos));
            }
        }
        let to = crate::written_types::interval_type(qualifier, pos)?;
        if matches!(to, DataType::IntervalDs { .. }) {
            return cast(interval_between(a, b, pos)?, to, pos);
        }
        let months = self.scalar_function("MONTHS_BETWEEN", vec![a, b], &[], pos)?;
        let months = self.scalar_function("ROUND", vec![months], &[], pos)?;
        let unit = Expr::new(Node::Const(Value::Text("MONTH".into())), text(5));
        let interval = self.scalar_function("NUMTOYMINTERVAL", vec![months, unit], &[], pos)?;
        cast(interval, to, pos)
    }

    /// Resolves a condition and splits it at AND.
    pub fn conditions(&mut self, e: &ast::Expr, into: &mut Vec<Expr>) -> Result<()> {
        match &e.kind {
            ExprKind::Binary { op: BinaryOp::And, left, right } => {
                self.conditions(left, into)?;
                self.conditions(right, into)
            }
            // not a clause: any other condition is one conjunct
            _ => {
                let cond = self.condition(e)?;
                flatten_and(cond, into);
                Ok(())
            }
        }
    }

    pub fn condition(&mut self, e: &ast::Expr) -> Result<Expr> {
        let cond = self.expr(e)?;
        if class(&cond.ty) != Class::Boolean {
            return Err(Ora::new(920).at(e.pos.0));
        }
        Ok(cond)
    }

    fn name(&mut self, name: &ast::Name) -> Result<Expr> {
        let pos = name.pos.0;
        if name.link.is_some() {
            return Err(Ora::new(2019).at(pos));
        }
        let part = |i: usize| name.parts[i].name.as_str();
        let n = name.parts.len();
        if n == 1
            && let Some(e) = self.alias(part(0))
        {
            return Ok(e);
        }
        let column = match n {
            1 => self.find_column(None, None, part(0), pos)?,
            2 => self.find_column(None, Some(part(0)), part(1), pos)?,
            3 => self.find_column(Some(part(0)), Some(part(1)), part(2), pos)?,
            _ => None,
        };
        if let Some(e) = column {
            return Ok(e);
        }
        if let Some(e) = self.json_field(name)? {
            return Ok(e);
        }
        if n >= 3
            && let Some(e) = self.attribute_of_column(name)?
        {
            return Ok(e);
        }
        if n == 1
            && let Some(e) = self.pseudo_column(part(0), pos)?
        {
            return Ok(e);
        }
        if n >= 2 && matches!(part(n - 1), "NEXTVAL" | "CURRVAL") {
            return self.sequence(name);
        }
        if let Some(e) = self.variable(&name.parts, pos, Asked::BeforeFunctions { call: false })? {
            return Ok(e);
        }
        // A function without parentheses.
        let call = ast::Call::new(name.clone());
        match self.named_function(&call, pos)? {
            Some(e) => Ok(e),
            None => match self.variable(&name.parts, pos, Asked::Last)? {
                Some(e) => Ok(e),
                None => Err(invalid_identifier(name)),
            },
        }
    }

    /// `alias.column.attribute…` and `schema.table.column.attribute…`; `None` if the name does not begin with a column
    /// of an object type.
    fn attribute_of_column(&mut self, name: &ast::Name) -> Result<Option<Expr>> {
        let part = |i: usize| name.parts[i].name.as_str();
        let pos = name.pos.0;
        let (mut e, rest) = match self.find_column(None, Some(part(0)), part(1), pos)? {
            Some(e) => (e, 2),
            None if name.parts.len() > 3 => match self.find_column(Some(part(0)), Some(part(1)), part(2), pos)? {
                Some(e) => (e, 3),
                None => return Ok(None),
            },
            None => return Ok(None),
        };
        for attribute in &name.parts[rest..] {
            match self.attribute(e, attribute)? {
                Some(found) => e = found,
                None => return Err(invalid_identifier(name)),
            }
        }
        Ok(Some(e))
    }

    /// An attribute of an object; `None` if the object has no such attribute.
    fn attribute(&mut self, object: Expr, name: &ast::Ident) -> Result<Option<Expr>> {
        let DataType::Named(id) = object.ty else { return Ok(None) };
        let Some(def) = self.type_def(id)? else { return Ok(None) };
        let Some((at, attribute)) = def.attribute(&name.name) else { return Ok(None) };
        let at = Expr::new(Node::Const(Value::Number(Number::from_u64(at as u64))), number());
        let e = self.scalar_function(functions::ATTRIBUTE, vec![object, at], &[], name.pos.0)?;
        Ok(Some(Expr { ty: attribute.ty, ..e }))
    }

    /// `=` and `<>` of objects (P14); `None` for other operands.
    ///
    /// # Errors
    /// ORA-22950 for an order comparison of objects.
    fn object_comparison(&mut self, op: CmpOp, a: &Expr, b: &Expr, pos: u32) -> Result<Option<Expr>> {
        let (DataType::Named(id), DataType::Named(other)) = (a.ty, b.ty) else { return Ok(None) };
        let (first, second) = (self.type_def(id)?, self.type_def(other)?);
        let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
        if !first.is_object() || !first.is_under(other) && !second.is_under(id) {
            return Ok(None);
        }
        if let Some(e) = self.comparison_by_method(op, a, b, pos)? {
            return Ok(Some(e));
        }
        let same = |c: &mut Self| c.scalar_function(functions::SAME, vec![a.clone(), b.clone()], &[], pos);
        match op {
            CmpOp::Eq => same(self).map(Some),
            CmpOp::Ne => Ok(Some(Expr::new(Node::Not(Box::new(same(self)?)), DataType::Boolean))),
            CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => Err(Ora::new(22950).at(pos)),
        }
    }

    /// A base with fields and subscripts, if its beginning is a variable; the whole expression then is the variable.
    fn element(&mut self, base: &ast::Expr) -> Result<Option<Expr>> {
        match &base.kind {
            ExprKind::Field { base, field: _ } | ExprKind::Apply { base, args: _ } => self.element(base),
            ExprKind::Call(call) => {
                match self.variable(&call.name.parts, call.name.pos.0, Asked::BeforeFunctions { call: true })? {
                    None => self.variable(&call.name.parts, call.name.pos.0, Asked::Last),
                    found => Ok(found),
                }
            }
            _ => Ok(None), // not a clause: the caller refuses anything but a variable
        }
    }

    /// A select-list alias, in ORDER BY.
    fn alias(&mut self, name: &str) -> Option<Expr> {
        let block = self.blocks.last()?;
        block.aliases.iter().find(|(n, _)| n == name).map(|(_, e)| e.clone())
    }

    fn pseudo_column(&mut self, name: &str, pos: u32) -> Result<Option<Expr>> {
        let special = |s: Special, ty: DataType| Some(Expr::new(Node::Special(s), ty));
        // VALUES has no row source.
        let no_rows = self.blocks.last().is_none_or(|b| b.clause == Clause::Dml && b.items.is_empty());
        if no_rows && matches!(name, "ROWNUM" | "LEVEL") {
            return Err(Ora::new(976).at(pos));
        }
        Ok(match name {
            "ROWNUM" => Some(self.rownum()),
            "LEVEL" => Some(self.level(pos)?),
            "CONNECT_BY_ISLEAF" | "CONNECT_BY_ISCYCLE" => Some(self.connect_flag(name, pos)?),
            "SYSDATE" => self.clock(Special::Sysdate, DataType::Date),
            "CURRENT_DATE" => self.clock(Special::CurrentDate, DataType::Date),
            "SYSTIMESTAMP" => self.clock(Special::Systimestamp, DataType::TIMESTAMP_TZ),
            "CURRENT_TIMESTAMP" => self.clock(Special::CurrentTimestamp, DataType::TIMESTAMP_TZ),
            "LOCALTIMESTAMP" => self.clock(Special::LocalTimestamp, DataType::TIMESTAMP),
            "SYS_GUID" => {
                self.unstable += 1;
                self.clock(Special::SysGuid, DataType::Raw { len: 16 })
            }
            // The user is in the key of a cached result.
            "USER" => special(Special::User, text(128)),
            "UID" if self.text_owners.last().is_some_and(|text_owner| text_owner.catalog) => {
                special(Special::CurrentUid, number())
            }
            "UID" => special(Special::Uid, number()),
            _ => float_constant(name).map(|(value, ty)| Expr::new(Node::Const(value), ty)),
        })
    }

    fn clock(&mut self, s: Special, ty: DataType) -> Option<Expr> {
        self.volatile += 1;
        Some(Expr::new(Node::Special(s), ty))
    }

    fn level(&mut self, pos: u32) -> Result<Expr> {
        for depth in (0..self.blocks.len()).rev() {
            if let Some(connect) = &self.blocks[depth].connect {
                let value = Expr::new(Node::Reg(connect.level), number());
                self.note_use(depth, &value, pos);
                return Ok(value);
            }
            if self.blocks[depth].opaque {
                break;
            }
        }
        // ORA-01788: CONNECT BY clause required in this query block
        Err(Ora::new(1788).at(pos))
    }

    fn connect_flag(&mut self, name: &str, pos: u32) -> Result<Expr> {
        let reg = self.new_reg();
        let Some(connect) = &mut self.block().connect else { return Err(Ora::new(1788).at(pos)) };
        if name == "CONNECT_BY_ISCYCLE" && !connect.nocycle {
            return Err(Ora::new(30930).at(pos)); // NOCYCLE keyword is required with CONNECT_BY_ISCYCLE pseudocolumn
        }
        let slot = if name == "CONNECT_BY_ISLEAF" { &mut connect.is_leaf } else { &mut connect.is_cycle };
        let reg = *slot.get_or_insert(reg);
        Ok(Expr::new(Node::Reg(reg), number()))
    }

    fn sequence(&mut self, name: &ast::Name) -> Result<Expr> {
        let pos = name.pos.0;
        let n = name.parts.len();
        let block_bad = self.blocks.last().is_some_and(|b| {
            matches!(
                b.clause,
                Clause::Where
                    | Clause::GroupBy
                    | Clause::Having
                    | Clause::OrderBy
                    | Clause::ConnectBy
                    | Clause::StartWith
            )
        });
        if block_bad {
            return Err(Ora::new(2287).at(pos));
        }
        let owner = (n >= 3).then(|| name.parts[n - 3].name.as_str());
        let seq_name = name.parts[n - 2].name.as_str();
        let Some(def) = self.catalog().sequence(owner, seq_name)? else {
            return Err(Ora::new(2289).at(pos));
        };
        self.check_privilege(def.object, def.owner_id, dictionary::ObjectPrivilege::Select, pos)?;
        Ok(self.sequence_value(def, name.last() == "NEXTVAL"))
    }

    /// NEXTVAL or CURRVAL of a sequence.
    pub fn sequence_value(&mut self, def: std::rc::Rc<dictionary::SequenceDef>, next: bool) -> Expr {
        let object = def.object;
        self.depend(object);
        self.volatile += 1;
        self.unstable += 1;
        let known = self.sequences.iter().find(|s| s.def.object == object).cloned();
        let seq = known.unwrap_or_else(|| {
            let s = std::rc::Rc::new(SequenceRef { def, ordinal: self.sequences.len() });
            self.sequences.push(s.clone());
            s
        });
        let node = if next { Node::Nextval(seq) } else { Node::Currval(seq) };
        Expr::new(node, number())
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, pos: u32) -> Result<Expr> {
        match op {
            UnaryOp::Plus => {
                let e = self.expr(operand)?;
                numeric_operand(e, pos)
            }
            UnaryOp::Minus => {
                if let ExprKind::Literal(Literal::Number(digits)) = &operand.kind {
                    let n = parse_number(digits, pos)?;
                    return Ok(Expr::new(Node::Const(Value::Number(n.neg())), number()));
                }
                let e = self.expr(operand)?;
                let e = match class(&e.ty) {
                    Class::IntervalDs | Class::IntervalYm => e,
                    _ => numeric_operand(e, pos)?,
                };
                let ty = e.ty;
                Ok(Expr::new(Node::Neg(Box::new(e)), ty))
            }
            UnaryOp::Not => {
                let e = self.condition(operand)?;
                Ok(negate(e))
            }
            UnaryOp::Prior => self.prior(operand, pos),
            UnaryOp::ConnectByRoot => self.connect_by_root(operand, pos),
        }
    }

    /// A chain of arithmetic and `||`. It is left-associative and may be long, so it is resolved without recursion.
    fn operators(&mut self, e: &ast::Expr) -> Result<Expr> {
        let (mut links, mut first) = (Vec::new(), e);
        while let ExprKind::Binary { op, left, right } = &first.kind
            && is_operator(*op)
        {
            links.push((*op, right, first.pos.0));
            first = left;
        }
        let mut value = self.value(first)?;
        for (op, right, pos) in links.into_iter().rev() {
            let right = self.value(right)?;
            value = match arith_op(op) {
                Some(op) => arith(op, value, right, pos)?,
                None => concat(value, right, pos)?,
            };
        }
        Ok(value)
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, pos: u32) -> Result<Expr> {
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let (a, b) = (self.condition(left)?, self.condition(right)?);
                Ok(if op == BinaryOp::And { and(vec![a, b]) } else { or(vec![a, b]) })
            }
            // not a clause: `cmp_op` refuses other operators
            _ => self.comparison(cmp_op(op, pos)?, left, right, pos),
        }
    }

    /// An operand that must be a value, not a condition.
    fn value(&mut self, e: &ast::Expr) -> Result<Expr> {
        let v = self.expr(e)?;
        if class(&v.ty) == Class::Boolean && e.is_condition() {
            return Err(Ora::new(907).at(e.pos.0));
        }
        Ok(v)
    }

    fn comparison(&mut self, op: CmpOp, left: &ast::Expr, right: &ast::Expr, pos: u32) -> Result<Expr> {
        if let ExprKind::Row(items) = &left.kind {
            return self.row_comparison(op, items, right, pos);
        }
        let (a, b) = (self.value(left)?, self.value(right)?);
        let (a, b) = pad_literals(a, b);
        // Oracle reports a type mismatch at the operand that would be converted.
        let pos = right.pos.0.max(left.pos.0);
        match self.object_comparison(op, &a, &b, pos)? {
            Some(e) => Ok(e),
            None => compare(op, a, b, pos),
        }
    }

    /// `(a, b) = (c, d)` and `(a, b) = (subquery)`.
    fn row_comparison(&mut self, op: CmpOp, left: &[ast::Expr], right: &ast::Expr, pos: u32) -> Result<Expr> {
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return Err(Ora::new(1796).at(pos));
        }
        match &right.kind {
            ExprKind::Row(items) if items.len() == 1 && matches!(items[0].kind, ExprKind::Row(_)) => {
                self.row_comparison(op, left, &items[0], pos)
            }
            ExprKind::Row(items) => {
                if items.len() != left.len() {
                    return Err(Ora::new(if items.len() > left.len() { 913 } else { 947 }).at(pos));
                }
                let mut conds = Vec::new();
                for (l, r) in left.iter().zip(items) {
                    conds.push(self.comparison(CmpOp::Eq, l, r, pos)?);
                }
                let all = and(conds);
                Ok(if op == CmpOp::Ne { negate(all) } else { all })
            }
            ExprKind::Subquery(query) => {
                let mut e = self.in_subquery(left, query, op == CmpOp::Ne, pos)?;
                if let Node::InSub { single, .. } = &mut e.node {
                    *single = true;
                }
                Ok(e)
            }
            _ => Err(Ora::new(920).at(pos)),
        }
    }

    fn quantified(
        &mut self,
        op: BinaryOp,
        quantifier: Quantifier,
        left: &ast::Expr,
        right: &InSource,
        pos: u32,
    ) -> Result<Expr> {
        let op = cmp_op(op, pos)?;
        let all = quantifier == Quantifier::All;
        match right {
            InSource::List(items) => {
                let mut conds = Vec::new();
                for item in items {
                    conds.push(self.comparison(op, left, item, pos)?);
                }
                Ok(if all { and(conds) } else { or(conds) })
            }
            InSource::Query(query) => {
                if let ExprKind::Row(items) = &left.kind {
                    return match (op, all) {
                        (CmpOp::Eq, false) => self.in_subquery(items, query, false, pos),
                        (CmpOp::Ne, true) => self.in_subquery(items, query, true, pos),
                        _ => Err(Ora::new(1796).at(pos)),
                    };
                }
                match (op, all) {
                    (CmpOp::Eq, false) => return self.in_subquery(std::slice::from_ref(left), query, false, pos),
                    (CmpOp::Ne, true) => return self.in_subquery(std::slice::from_ref(left), query, true, pos),
                    _ => {}
                }
                let value = self.value(left)?;
                let (sub, columns) = self.inner_subquery(query, SubUse::Rows)?;
                if columns.len() != 1 {
                    return Err(Ora::new(913).at(pos));
                }
                let out = self.subs[sub].out[0].clone();
                let (value, out, compare) = comparable(value, out, pos)?;
                self.subs[sub].out[0] = out;
                let node = Node::Quantified { op, compare, all, value: Box::new(value), sub };
                Ok(Expr::new(node, DataType::Boolean))
            }
            InSource::Expr(_) => Err(unsupported("ANY of a collection", pos)),
        }
    }

    fn between(&mut self, e: &ast::Expr, low: &ast::Expr, high: &ast::Expr, negated: bool, pos: u32) -> Result<Expr> {
        let ge = self.comparison(CmpOp::Ge, e, low, pos)?;
        let le = self.comparison(CmpOp::Le, e, high, pos)?;
        let both = and(vec![ge, le]);
        Ok(if negated { negate(both) } else { both })
    }

    fn in_condition(&mut self, e: &ast::Expr, source: &InSource, negated: bool, pos: u32) -> Result<Expr> {
        match source {
            InSource::List(items) => {
                if let ExprKind::Row(left) = &e.kind {
                    let mut any = Vec::new();
                    for item in items {
                        any.push(self.row_comparison(CmpOp::Eq, left, item, pos)?);
                    }
                    let any = or(any);
                    return Ok(if negated { negate(any) } else { any });
                }
                self.in_list(e, items, negated)
            }
            InSource::Query(query) => match &e.kind {
                ExprKind::Row(left) => self.in_subquery(left, query, negated, pos),
                // not a clause: any other expression is one value
                _ => self.in_subquery(std::slice::from_ref(e), query, negated, pos),
            },
            InSource::Expr(item) => self.in_list(e, std::slice::from_ref(item), negated),
        }
    }

    fn in_list(&mut self, e: &ast::Expr, items: &[ast::Expr], negated: bool) -> Result<Expr> {
        let value = self.value(e)?;
        // Items grouped by their comparison rule: the converted value, the rule, and the items.
        let mut lists: Vec<(Expr, Compare, Vec<Expr>)> = Vec::new();
        let mut nulls = Vec::new();
        for item in items {
            let i = self.value(item)?;
            if is_null(&i) {
                nulls.push(i);
                continue;
            }
            let (v, i) = pad_literals(value.clone(), i);
            let (v, i, how) = comparable(v, i, item.pos.0)?;
            let (v, i) = crate::typing::instants(v, i);
            match lists.iter_mut().find(|(value, compare, _)| *compare == how && *value == v) {
                Some((_, _, list)) => list.push(i),
                None => lists.push((v, how, vec![i])),
            }
        }
        match lists.first_mut() {
            Some((_, _, list)) => list.append(&mut nulls),
            None => lists.push((value, Compare::Plain, nulls)),
        }
        let in_list = |(value, compare, list): (Expr, Compare, Vec<Expr>)| {
            let node = Node::InList { value: Box::new(value), list, compare, negated: false };
            Expr::new(node, DataType::Boolean)
        };
        let any = or(lists.into_iter().map(in_list).collect());
        Ok(if negated { negate(any) } else { any })
    }

    fn in_subquery(&mut self, left: &[ast::Expr], query: &ast::Query, negated: bool, pos: u32) -> Result<Expr> {
        let mut values = Vec::with_capacity(left.len());
        for e in left {
            values.push(self.value(e)?);
        }
        let (sub, columns) = self.inner_subquery(query, SubUse::Rows)?;
        if columns.len() != values.len() {
            return Err(Ora::new(if columns.len() > values.len() { 913 } else { 947 }).at(pos));
        }
        let mut compares = Vec::new();
        for (i, value) in values.iter_mut().enumerate() {
            let out = self.subs[sub].out[i].clone();
            let (v, o, how) = comparable(value.clone(), out, pos)?;
            *value = v;
            self.subs[sub].out[i] = o;
            compares.push(how);
        }
        let node = Node::InSub { values, sub, compare: compares, negated, single: false };
        Ok(Expr::new(node, DataType::Boolean))
    }

    fn like(
        &mut self,
        e: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        pos: u32,
    ) -> Result<Expr> {
        let as_text = |e: Expr| if class(&e.ty) == Class::Lob { Ok(e) } else { convert(e, &text(4000), pos) };
        let value = Box::new(as_text(self.value(e)?)?);
        let pattern = Box::new(as_text(self.value(pattern)?)?);
        let escape = match escape {
            Some(e) => Some(Box::new(as_text(self.value(e)?)?)),
            None => None,
        };
        Ok(Expr::new(Node::Like { value, pattern, escape, negated }, DataType::Boolean))
    }

    fn is_condition(&mut self, e: &ast::Expr, test: &IsTest, negated: bool, pos: u32) -> Result<Expr> {
        let value = self.value(e)?;
        match test {
            IsTest::Null => Ok(Expr::new(Node::IsNull(Box::new(value), negated), DataType::Boolean)),
            IsTest::Float(test) => {
                let is = Expr::once(convert(value, &DataType::BinaryDouble, pos)?, |double| {
                    let is = test.values().iter().map(|x| {
                        let x = Expr::new(Node::Const(Value::Double(*x)), DataType::BinaryDouble);
                        compare(CmpOp::Eq, double.clone(), x, pos)
                    });
                    Ok(or(is.collect::<Result<_>>()?))
                })?;
                Ok(if negated { negate(is) } else { is })
            }
            IsTest::Empty => self.is_empty(value, negated, pos),
            IsTest::ASet => self.is_a_set(value, negated, pos),
            IsTest::Json(ast::JsonTest { strict, unique_keys }) => {
                let input = match (class(&value.ty), value.ty) {
                    (Class::Text | Class::Lob | Class::Raw, _) | (_, DataType::Blob) => value,
                    _ => return Err(inconsistent("-", type_name(&value.ty), pos)),
                };
                let flag = |set: &bool| Expr::new(Node::Const(Value::Number(u32::from(*set).into())), number());
                let args = vec![input, flag(strict), flag(unique_keys)];
                let is = self.scalar_function(functions::JSON_IS, args, &[], pos)?;
                Ok(if negated { negate(is) } else { is })
            }
            IsTest::OfType(types) => self.is_of_type(value, types, negated, pos),
            IsTest::Dangling => Err(unsupported("IS condition", pos)),
        }
    }

    fn case(&mut self, case: &ast::Case) -> Result<Expr> {
        match &case.operand {
            None => self.case_of(case, None),
            Some(operand) if matches!(operand.kind, ExprKind::Row(_)) => Err(Ora::new(907).at(operand.pos.0)),
            Some(operand) => {
                let value = self.value(operand)?;
                Expr::once(value, |value| self.case_of(case, Some((value, operand.pos.0))))
            }
        }
    }

    fn case_of(&mut self, case: &ast::Case, operand: Option<(&Expr, u32)>) -> Result<Expr> {
        let mut whens = Vec::new();
        let mut results = Vec::new();
        let mut places = Vec::new();
        let ast::Case { operand: _, branches, otherwise } = case;
        for ast::CaseBranch { when, then } in branches {
            whens.push(match operand {
                Some((value, at)) => {
                    let place = when.pos.0.max(at);
                    let (a, b) = pad_literals(value.clone(), self.value(when)?);
                    compare(CmpOp::Eq, a, b, place)?
                }
                None => self.condition(when)?,
            });
            results.push(self.value(then)?);
            places.push(then.pos.0);
        }
        if let Some(e) = otherwise {
            results.push(self.value(e)?);
            places.push(e.pos.0);
        }
        let (mut results, ty) = unify(results, &places)?;
        let otherwise = otherwise.is_some().then(|| Box::new(results.pop().expect("ELSE was pushed last")));
        let arms = whens.into_iter().zip(results).collect();
        Ok(Expr::new(Node::Case(arms, otherwise), ty))
    }
}

fn arith_op(op: BinaryOp) -> Option<ArithOp> {
    Some(match op {
        BinaryOp::Add => ArithOp::Add,
        BinaryOp::Sub => ArithOp::Sub,
        BinaryOp::Mul => ArithOp::Mul,
        BinaryOp::Div => ArithOp::Div,
        BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::Concat => return None,
    })
}

/// Whether an operator takes values and returns a value.
fn is_operator(op: BinaryOp) -> bool {
    op == BinaryOp::Concat || arith_op(op).is_some()
}

fn cmp_op(op: BinaryOp, pos: u32) -> Result<CmpOp> {
    Ok(match op {
        BinaryOp::Eq => CmpOp::Eq,
        BinaryOp::Ne => CmpOp::Ne,
        BinaryOp::Lt => CmpOp::Lt,
        BinaryOp::Le => CmpOp::Le,
        BinaryOp::Gt => CmpOp::Gt,
        BinaryOp::Ge => CmpOp::Ge,
        _ => return Err(Ora::new(920).at(pos)),
    })
}

/// A literal compared with a CHAR value is CHAR itself: trailing blanks are ignored.
fn pad_literals(mut a: Expr, mut b: Expr) -> (Expr, Expr) {
    let is_char = |e: &Expr| matches!(e.ty, DataType::Char { .. });
    let literal_length = |e: &Expr| match &e.node {
        Node::Const(Value::Text(s)) => Some(s.len() as u32),
        _ => None,
    };
    if is_char(&a)
        && let Some(n) = literal_length(&b)
    {
        b.ty = char_type(n);
    } else if is_char(&b)
        && let Some(n) = literal_length(&a)
    {
        a.ty = char_type(n);
    }
    (a, b)
}

fn numeric_operand(e: Expr, pos: u32) -> Result<Expr> {
    match class(&e.ty) {
        Class::Number | Class::Float | Class::Double => Ok(e),
        Class::Text | Class::Lob => convert(e, &number(), pos),
        _ => Err(inconsistent("NUMBER", type_name(&e.ty), pos)),
    }
}

/// The floating-point literals that look like names, with their types. A column of the same name hides them.
pub fn float_constant(name: &str) -> Option<(Value, DataType)> {
    Some(match name {
        "BINARY_DOUBLE_NAN" => (Value::Double(f64::NAN), DataType::BinaryDouble),
        "BINARY_DOUBLE_INFINITY" => (Value::Double(f64::INFINITY), DataType::BinaryDouble),
        "BINARY_FLOAT_NAN" => (Value::Float(f32::NAN), DataType::BinaryFloat),
        "BINARY_FLOAT_INFINITY" => (Value::Float(f32::INFINITY), DataType::BinaryFloat),
        _ => return None,
    })
}

pub fn parse_number(digits: &str, pos: u32) -> Result<Number> {
    digits.parse::<Number>().map_err(|e| e.at(pos))
}

fn literal(l: &Literal, pos: u32) -> Result<Expr> {
    let constant = |v: Value, ty: DataType| Ok(Expr::new(Node::Const(v), ty));
    match l {
        Literal::Null => Ok(null()),
        Literal::Number(digits) => constant(Value::Number(parse_number(digits, pos)?), number()),
        Literal::BinaryFloat(digits) => match digits.parse::<f32>() {
            Ok(v) => constant(Value::Float(v), DataType::BinaryFloat),
            Err(_) => Err(Ora::new(1722).at(pos)),
        },
        Literal::BinaryDouble(digits) => match digits.parse::<f64>() {
            Ok(v) => constant(Value::Double(v), DataType::BinaryDouble),
            Err(_) => Err(Ora::new(1722).at(pos)),
        },
        Literal::String { text: s, national: _ } if s.is_empty() => Ok(null()),
        Literal::String { text: s, national } => {
            if s.len() > 4000 {
                return Err(Ora::new(1704).at(pos));
            }
            // A literal is CHAR, but padding matters only in comparisons with CHAR.
            let len = s.len() as u32;
            constant(Value::Text(s.clone()), if *national { DataType::Nchar { len } } else { char_type(len) })
        }
        Literal::Date(s) => constant(Value::Date(date_literal(s).map_err(|e| e.at(pos))?), DataType::Date),
        Literal::Timestamp(s) => {
            let ts = timestamp_literal(s).map_err(|e| e.at(pos))?;
            let zone = if ts.zone().is_some() { types::Zone::WithTimeZone } else { types::Zone::None };
            constant(Value::Timestamp(ts), DataType::Timestamp { digits: 9, zone })
        }
        Literal::Interval { text, qualifier } => crate::written_types::interval_literal(text, qualifier, pos),
    }
}

/// CAST: the value must fit into the named type.
pub fn cast(e: Expr, to: DataType, pos: u32) -> Result<Expr> {
    let converted = convert(e, &to, pos)?;
    Ok(Expr::new(Node::Cast(Box::new(converted)), to))
}

fn date_literal(s: &str) -> Result<types::Date> {
    types::format::date_from_text(s, "SYYYY-MM-DD", &types::Nls::default())
}

fn timestamp_literal(s: &str) -> Result<types::Timestamp> {
    types::format::timestamp_literal(s, &types::Nls::default())
}
