//! Functions and conditions over collections: COLLECT, SET, CARDINALITY, POWERMULTISET's refusal, VALUE, IS EMPTY and
//! IS A SET.

use crate::ir::*;
use crate::logic::negate;
use crate::refusals::{invalid_identifier, unsupported};
use crate::resolve::Operands;
use crate::scope::*;
use crate::typing::*;
use sql::ast::{self, ExprKind};
use std::rc::Rc;
use types::{DataType, Ora, Result, TypeDef, TypeShape, Value};

fn whole(n: u32) -> Expr {
    Expr::new(Node::Const(Value::Number(n.into())), number())
}

/// A function of this crate's own over a collection; its result may get another type.
fn function(name: &str, args: Vec<Expr>, pos: u32) -> Result<Expr> {
    let (func, args, ty) = crate::function_types::resolve(name, args, pos)?;
    Ok(Expr::new(Node::Func(func, args), ty))
}

impl Compiler<'_> {
    /// The definition of a schema type; loaded if the statement does not name it, with a dependency of the plan.
    pub fn type_def(&mut self, id: types::TypeId) -> Result<Option<std::rc::Rc<types::TypeDef>>> {
        if let Some(def) = id.built_in() {
            return Ok(Some(std::rc::Rc::new(def)));
        }
        let object = types::ObjectId(id.0);
        self.depend(object);
        if let Some(def) = self.functions.type_def(id) {
            return Ok(Some(def));
        }
        // Looking up the constructor loads the type.
        let Some(called) = self.catalog().called(object) else { return Ok(None) };
        let path = [crate::services::TYPE.to_string(), called.owner, called.name];
        self.functions.function(self.text_owners.last().copied(), &path, &[])?;
        Ok(self.functions.type_def(id))
    }

    /// A function over collections, if `name` is one.
    pub fn collection_function(&mut self, name: &str, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        match name {
            "CARDINALITY" => {
                let collection = self.only_collection(call, pos)?;
                self.cardinality(collection, pos).map(Some)
            }
            "SET" => {
                let collection = self.only_collection(call, pos)?;
                self.distinct_elements(collection, pos).map(Some)
            }
            "POWERMULTISET" | "POWERMULTISET_BY_CARDINALITY" => Err(unsupported("POWERMULTISET", pos)),
            "VALUE" => self.row_object(call),
            _ => Ok(None),
        }
    }

    /// Resolves the only argument.
    ///
    /// # Errors
    /// ORA-00909; ORA-00932 if it is not a collection.
    fn only_collection(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        let [ast::Argument { name: None, value }] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
        let collection = self.operand(value)?;
        self.check_collection(&collection, value.pos.0)?;
        Ok(collection)
    }

    fn check_collection(&mut self, e: &Expr, pos: u32) -> Result<()> {
        let element = match e.ty {
            DataType::Named(id) => self.type_def(id)?.and_then(|def| def.element()),
            _ => None,
        };
        element.map(|_| ()).ok_or_else(|| inconsistent("UDT", type_name(&e.ty), pos))
    }

    fn cardinality(&mut self, collection: Expr, pos: u32) -> Result<Expr> {
        function(functions::CARDINALITY, vec![collection], pos)
    }

    /// SET(collection): each element once.
    fn distinct_elements(&mut self, collection: Expr, pos: u32) -> Result<Expr> {
        let ty = collection.ty;
        self.refuse_methods_of_order(&ty, pos)?;
        let empty = Expr::once(collection, |collection| {
            let (union, distinct) = (whole(1), whole(1));
            let args = vec![collection.clone(), collection.clone(), union, distinct];
            function(functions::MULTISET, args, pos)
        })?;
        Ok(Expr { ty, ..empty })
    }

    /// `collection IS [NOT] EMPTY`; UNKNOWN for NULL.
    pub fn is_empty(&mut self, collection: Expr, negated: bool, pos: u32) -> Result<Expr> {
        self.check_collection(&collection, pos)?;
        let count = self.cardinality(collection, pos)?;
        let is = compare(CmpOp::Eq, count, whole(0), pos)?;
        Ok(if negated { negate(is) } else { is })
    }

    /// `collection IS [NOT] A SET`; UNKNOWN for NULL.
    pub fn is_a_set(&mut self, collection: Expr, negated: bool, pos: u32) -> Result<Expr> {
        self.check_collection(&collection, pos)?;
        let is = Expr::once(collection, |collection| {
            let distinct = self.distinct_elements(collection.clone(), pos)?;
            let (all, distinct) = (self.cardinality(collection.clone(), pos)?, self.cardinality(distinct, pos)?);
            compare(CmpOp::Eq, all, distinct, pos)
        })?;
        Ok(if negated { negate(is) } else { is })
    }

    /// ORA-03001 for objects, or parts of values of the type, that a MAP or ORDER method compares: the conditions and
    /// functions over collections compare attributes.
    pub(crate) fn refuse_methods_of_order(&mut self, ty: &DataType, pos: u32) -> Result<()> {
        let mut types = vec![*ty];
        let mut at = 0;
        while let Some(ty) = types.get(at).copied() {
            at += 1;
            let DataType::Named(id) = ty else { continue };
            let Some(def) = self.type_def(id)? else { continue };
            if def.lineage.order.is_some() {
                return Err(unsupported("grouping of objects by a method", pos));
            }
            let parts: Vec<DataType> = match &def.shape {
                TypeShape::Object(attributes) => attributes.iter().map(|a| a.ty).collect(),
                _ => Vec::from_iter(def.element()),
            };
            for part in parts {
                if matches!(part, DataType::Named(_)) && !types.contains(&part) {
                    types.push(part);
                }
            }
        }
        Ok(())
    }

    /// Refuses a type whose values cannot be grouped by equality.
    ///
    /// # Errors
    /// ORA-03001 for objects with a MAP or ORDER method, which may hold different objects for equal; those of
    /// `check_comparable`.
    pub(crate) fn check_grouping(&mut self, ty: &DataType, pos: u32) -> Result<()> {
        self.refuse_methods_of_order(ty, pos)?;
        crate::typing::check_comparable(ty, pos)
    }

    /// Converts a value for a place of type `ty`, which may also hold an object of a subtype.
    pub(crate) fn assigned(&mut self, e: Expr, ty: &DataType, pos: u32) -> Result<Expr> {
        if let (DataType::Named(from), DataType::Named(to)) = (e.ty, *ty)
            && from != to
            && !crate::typing::is_null(&e)
            && self.type_def(from)?.is_some_and(|def| def.is_under(to))
        {
            return Ok(Expr { ty: *ty, ..e });
        }
        crate::typing::convert(e, ty, pos)
    }

    /// `VALUE(alias)` of TABLE(collection): the element. `None` if no such row source has the alias.
    fn row_object(&mut self, call: &ast::Call) -> Result<Option<Expr>> {
        let [ast::Argument { name: None, value }] = &call.args[..] else { return Ok(None) };
        let ExprKind::Name(name) = &value.kind else { return Ok(None) };
        let Some(alias) = name.as_simple() else { return Ok(None) };
        let depths = self.blocks.iter().enumerate().rev();
        let mut items = depths.flat_map(|(depth, block)| block.items.iter().rev().map(move |id| (depth, *id)));
        let found = items.find(|(_, id)| self.items[*id].alias == alias);
        // VALUE of XMLTABLE without COLUMNS is COLUMN_VALUE.
        let is_collection = |item: &Item| match &item.kind {
            ItemKind::Elements { shape: ElementShape::Xml(_), .. } => {
                matches!(&item.columns[..], [column] if column.name == "COLUMN_VALUE")
            }
            ItemKind::Elements { shape, .. } => !matches!(shape, ElementShape::Json(_)),
            _ => false,
        };
        let Some((depth, id)) = found.filter(|(_, id)| is_collection(&self.items[*id])) else {
            return Ok(None);
        };
        // The last column is the element, an object's after its attributes.
        let Some(last) = self.items[id].columns.len().checked_sub(1) else { return Ok(None) };
        let element = self.column_value(id, last);
        self.note_use(depth, &element, value.pos.0);
        Ok(Some(element))
    }

    /// `CAST(COLLECT(value) AS type)`.
    pub fn collected(&mut self, call: &ast::Call, to: Rc<TypeDef>, pos: u32) -> Result<Expr> {
        let element = to.element().ok_or_else(|| Ora::new(902).at(pos))?;
        let ty = DataType::Named(to.id);
        let around = self.collects.replace((ty, element));
        let collected = self.aggregate_call(call, pos);
        self.collects = around;
        let collected = collected?.ok_or_else(|| invalid_identifier(&call.name))?;
        let TypeShape::Varray { element: _, limit } = to.shape else { return Ok(collected) };
        let args = vec![collected, whole(to.id.0), whole(limit)];
        let e = function(functions::RETYPE, args, pos)?;
        Ok(Expr { ty, ..e })
    }
}
