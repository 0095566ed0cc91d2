//! Methods of object types in SQL: calls, comparisons by MAP and ORDER methods, objects of subtypes.

use crate::ir::{CmpOp, Expr, Node};
use crate::resolve::Operands;
use crate::scope::Compiler;
use crate::services::{METHOD, TREAT};
use crate::typing::{compare, inconsistent, is_null, number, type_name};
use sql::ast::{self, ExprKind};
use types::{DataType, ObjectOrder, Ora, Result, TypeId, Value};

impl Compiler<'_> {
    /// `base.method(…)` after an expression.
    pub(crate) fn method_of_value(&mut self, base: &ast::Expr, args: &[ast::Argument], pos: u32) -> Result<Expr> {
        let ExprKind::Field { base, field } = &base.kind else {
            return Err(crate::refusals::unsupported("object expression", pos));
        };
        let object = self.operand(base)?;
        if let Some(e) = self.xml_method(&object, field, args)? {
            return Ok(e);
        }
        if !matches!(object.ty, DataType::Named(_)) {
            return Err(Ora::new(22806).at(base.pos.0));
        }
        let found = self.method(object, field, args, pos)?;
        found.ok_or_else(|| crate::refusals::invalid_identifier(&ast::Name::simple(field.clone())))
    }

    /// Compares two objects by the MAP or ORDER method of their type; `None` if it has none.
    pub(crate) fn comparison_by_method(&mut self, op: CmpOp, a: &Expr, b: &Expr, pos: u32) -> Result<Option<Expr>> {
        let DataType::Named(id) = a.ty else { return Ok(None) };
        let order = self.type_def(id)?.and_then(|def| def.lineage.order.clone());
        let (name, is_map) = match order {
            Some(ObjectOrder::Map(name)) => (name, true),
            Some(ObjectOrder::Order(name)) => (name, false),
            None => return Ok(None),
        };
        let path = || vec![METHOD.to_string(), name.clone()];
        let missing = || Ora::new(22950).at(pos);
        if is_map {
            let mapped = |c: &mut Self, e: &Expr| c.mapped(e.clone(), path(), pos)?.ok_or_else(missing);
            let (x, y) = (mapped(self, a)?, mapped(self, b)?);
            return compare(op, x, y, pos).map(Some);
        }
        let (first, second) = (a.clone(), b.clone());
        let order = self.host_values(path(), vec![first, second], pos)?.ok_or_else(missing)?;
        let zero = Expr::new(Node::Const(Value::Number(0.into())), number());
        // An ORDER method is not called for a NULL object.
        let is_null = |e: &Expr| Expr::new(Node::IsNull(Box::new(e.clone()), false), DataType::Boolean);
        let ty = order.ty;
        let nothing = || Expr::new(Node::Const(Value::Null), ty);
        let cases = vec![(is_null(a), nothing()), (is_null(b), nothing())];
        let order = Expr::new(Node::Case(cases, Some(Box::new(order))), ty);
        compare(op, order, zero, pos).map(Some)
    }

    /// The value of an object's MAP method; NULL for NULL.
    fn mapped(&mut self, e: Expr, path: Vec<String>, pos: u32) -> Result<Option<Expr>> {
        let tested = Expr::new(Node::IsNull(Box::new(e.clone()), false), DataType::Boolean);
        let Some(value) = self.host_values(path, vec![e], pos)? else { return Ok(None) };
        let ty = value.ty;
        let nothing = Expr::new(Node::Const(Value::Null), ty);
        Ok(Some(Expr::new(Node::Case(vec![(tested, nothing)], Some(Box::new(value))), ty)))
    }

    /// A sort key: an object is sorted by its MAP method.
    ///
    /// # Errors
    /// ORA-22950 for objects without MAP or ORDER method, and for collections; ORA-03001 for objects with an ORDER
    /// method.
    pub(crate) fn sort_value(&mut self, key: Expr, pos: u32) -> Result<Expr> {
        let DataType::Named(id) = key.ty else {
            crate::sort_keys::ordered(&key, pos)?;
            return Ok(key);
        };
        match self.type_def(id)?.and_then(|def| def.lineage.order.clone()) {
            Some(ObjectOrder::Map(name)) => {
                let found = self.mapped(key, vec![METHOD.to_string(), name], pos)?;
                found.ok_or_else(|| Ora::new(22950).at(pos))
            }
            Some(ObjectOrder::Order(_)) => Err(crate::refusals::unsupported("sort by an ORDER method", pos)),
            None => Err(Ora::new(22950).at(pos)),
        }
    }

    /// `TREAT(expr AS type)`: the object if it is of the type, otherwise NULL.
    pub(crate) fn treat(&mut self, expr: &ast::Expr, to: TypeId, pos: u32) -> Result<Expr> {
        let object = self.operand(expr)?;
        self.treated(object, to, false, pos)
    }

    fn treated(&mut self, object: Expr, to: TypeId, only: bool, pos: u32) -> Result<Expr> {
        let ty = DataType::Named(to);
        if is_null(&object) {
            return Ok(Expr::new(Node::Const(Value::Null), ty));
        }
        let DataType::Named(from) = object.ty else { return Err(inconsistent("UDT", type_name(&object.ty), pos)) };
        let (of, wanted) = (self.type_def(from)?, self.type_def(to)?);
        let is_related = of.zip(wanted).is_some_and(|(of, wanted)| of.is_under(to) || wanted.is_under(from));
        if !is_related {
            return Err(inconsistent("UDT", type_name(&object.ty), pos));
        }
        let wanted = Expr::new(Node::Const(Value::Null), ty);
        let path = if only { vec![TREAT.to_string(), String::new()] } else { vec![TREAT.to_string()] };
        let found = self.host_values(path, vec![object, wanted], pos)?;
        found.ok_or_else(|| crate::refusals::unsupported("TREAT", pos))
    }

    /// `IS [NOT] OF [TYPE] ([ONLY] type, …)`; UNKNOWN for NULL.
    pub(crate) fn is_of_type(
        &mut self,
        object: Expr,
        types: &[(bool, ast::Name)],
        negated: bool,
        pos: u32,
    ) -> Result<Expr> {
        let mut is = Vec::new();
        for (only, name) in types {
            let kind = ast::TypeKind::Named { name: name.clone(), args: Vec::new() };
            let ty = ast::DataTypeName { kind, pos: name.pos };
            let to = self.named_type(&ty)?.ok_or_else(|| Ora::new(902).at(name.pos.0))?;
            let treated = self.treated(object.clone(), to.id, *only, pos)?;
            is.push(Expr::new(Node::IsNull(Box::new(treated), true), DataType::Boolean));
        }
        let is = crate::logic::or(is);
        let is = if negated { crate::logic::negate(is) } else { is };
        let is_there = Expr::new(Node::IsNull(Box::new(object), true), DataType::Boolean);
        // Neither true nor false for NULL.
        let one = |n: i32| Expr::new(Node::Const(Value::Number(n.into())), number());
        let cases = vec![(crate::logic::and(vec![is_there.clone(), is]), one(1)), (is_there, one(0))];
        let truth = Expr::new(Node::Case(cases, None), number());
        compare(CmpOp::Eq, truth, one(1), pos)
    }
}
