//! Methods of object types in SQL: calls, comparisons by MAP and ORDER methods, objects of subtypes.

use crate::ir::{CmpOp, Expr, Node};
use crate::resolve::Operands;
use crate::scope::Compiler;
use crate::services::METHOD;
use crate::typing::{compare, convert, is_null, number};
use sql::ast::{self, ExprKind};
use types::{DataType, ObjectOrder, Ora, Result, Value};

impl Compiler<'_> {
    /// `alias.column.method(…)` and `alias.column.attribute.method(…)`; `None` if the name does not begin with a column
    /// of an object type.
    pub(crate) fn method_of_column(&mut self, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        let [object @ .., method] = call.name.parts.as_slice() else { return Ok(None) };
        if object.len() < 2 || call.name.link.is_some() {
            return Ok(None);
        }
        let name = ast::Name { parts: object.to_vec(), ..call.name.clone() };
        let Some(object) = self.attribute_of_column(&name)? else { return Ok(None) };
        if !matches!(object.ty, DataType::Named(_)) {
            return Ok(None);
        }
        let found = self.method(object, method, &call.args, pos)?;
        found.map(Some).ok_or_else(|| crate::refusals::invalid_identifier(&call.name))
    }

    /// A method of an object; `None` if its type has no such method.
    pub(crate) fn method(
        &mut self,
        object: Expr,
        method: &ast::Ident,
        args: &[ast::Argument],
        pos: u32,
    ) -> Result<Option<Expr>> {
        let path = vec![METHOD.to_string(), method.name.clone()];
        self.host_call(path, Some(object), args, pos)
    }

    /// `base.method(…)` after an expression.
    pub(crate) fn method_of_value(&mut self, base: &ast::Expr, args: &[ast::Argument], pos: u32) -> Result<Expr> {
        let ExprKind::Field { base, field } = &base.kind else {
            return Err(crate::refusals::unsupported("object expression", pos));
        };
        let object = self.operand(base)?;
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
    /// ORA-22950 for objects without MAP or ORDER method, and for collections; ORA-03001 for those with an ORDER method.
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

    /// Converts a value for a place of type `ty`, which may also hold an object of a subtype.
    pub(crate) fn assigned(&mut self, e: Expr, ty: &DataType, pos: u32) -> Result<Expr> {
        if let (DataType::Named(from), DataType::Named(to)) = (e.ty, *ty)
            && from != to
            && !is_null(&e)
            && self.type_def(from)?.is_some_and(|def| def.is_under(to))
        {
            return Ok(Expr { ty: *ty, ..e });
        }
        convert(e, ty, pos)
    }
}
