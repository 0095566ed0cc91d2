//! Types as they are written: names, sizes, %TYPE and %ROWTYPE, definitions.

use super::compiler::{CResult, Compiler};
use super::scope::*;
use super::symbols::dotted;
use crate::datum::{CollInfo, CollKind};
use crate::ty::*;
use crate::world::{ColumnInfo, World};
use sql::plsql::ast::{self, Ident, LengthUnit, Pos, TypeDefinition, TypeKind, TypeRef};
use std::rc::Rc;
use types::{DataType, LenUnit, Zone};

impl<W: World> Compiler<'_, W> {
    pub(super) fn type_definition(&mut self, d: &TypeDefinition) -> CResult<Ty> {
        match d {
            TypeDefinition::Record(fields) => {
                let mut list: Vec<(String, Ty, Option<ast::Expr>)> = Vec::new();
                for f in fields {
                    if list.iter().any(|(n, ..)| *n == f.name.name) {
                        return Err(self.pls(410, &[], f.name.pos));
                    }
                    let mut ty = self.type_ref(&f.ty)?;
                    if let Ty::Scalar(s) = &mut ty {
                        s.not_null |= f.not_null;
                        if s.not_null && f.default.is_none() {
                            return Err(self.pls(218, &[], f.name.pos));
                        }
                    }
                    list.push((f.name.name.clone(), ty, f.default.clone()));
                }
                Ok(Ty::Record(Rc::new(RecordTy::new(false, list))))
            }
            TypeDefinition::NestedTable { element, not_null } => {
                self.collection(element, *not_null, None, CollKind::Nested)
            }
            TypeDefinition::Varray { limit, element, not_null } => {
                self.collection(element, *not_null, Some(*limit), CollKind::Varray)
            }
            TypeDefinition::Associative { element, not_null, index } => {
                let index_ty = self.type_ref(index)?;
                let kind = match index_ty.class() {
                    Class::Text => CollKind::ByText,
                    Class::Number if index_ty.data_type() == Some(DataType::PlsInteger) => CollKind::ByInteger,
                    _ => return Err(self.pls(315, &[], index.pos)),
                };
                self.collection(element, *not_null, None, kind)
            }
            TypeDefinition::RefCursor { returns } => {
                // The type must exist; a query opened later may have other columns, which INTO detects.
                returns.as_ref().map(|returns| self.type_ref(returns)).transpose()?;
                Ok(Ty::Cursor)
            }
            // Object types are separate units with a number: `object_type`.
            TypeDefinition::Object(_) => Err(self.pls(707, &[&"object types"], 0)),
        }
    }

    /// The attributes of an object type: scalars, objects and collections.
    pub(super) fn attributes(&mut self, list: &[ast::Attribute]) -> CResult<Vec<types::Attribute>> {
        let mut attributes: Vec<types::Attribute> = Vec::new();
        for ast::Attribute { name, ty } in list {
            if attributes.iter().any(|a| a.name == name.name) {
                return Err(self.pls(410, &[], name.pos));
            }
            let pos = ty.pos;
            if let TypeKind::Named { path, sizes: _, unit: _ } = &ty.kind
                && let [own] = path.as_slice()
                && own.name == self.unit
            {
                return Err(self.pls(318, &[&own.name], pos));
            }
            let ty = self.type_ref(ty)?;
            let ty = match ty.named().map(|(_, id)| DataType::Named(id)).or_else(|| ty.data_type()) {
                Some(DataType::Varchar2 { len: 0, .. }) => return Err(self.pls(215, &[&4000], pos)),
                Some(DataType::Boolean | DataType::PlsInteger | DataType::Null) | None => {
                    return Err(self.pls(707, &[&"attributes of this type"], pos));
                }
                Some(ty) => ty,
            };
            attributes.push(types::Attribute { name: name.name.clone(), ty });
        }
        Ok(attributes)
    }

    fn collection(&mut self, element: &TypeRef, not_null: bool, limit: Option<u32>, kind: CollKind) -> CResult<Ty> {
        let mut ty = self.type_ref(element)?;
        if let Ty::Scalar(s) = &mut ty {
            s.not_null |= not_null;
        }
        if matches!(ty, Ty::Cursor) {
            return Err(self.pls(990, &[], element.pos));
        }
        let info = Rc::new(CollInfo { element: ty.initial(), limit, kind });
        Ok(Ty::Coll(Rc::new(CollTy { element: ty, info, is_host: false, id: None })))
    }

    pub(super) fn type_ref(&mut self, t: &TypeRef) -> CResult<Ty> {
        let TypeRef { kind, pos } = t;
        match kind {
            TypeKind::RefCursor => Ok(Ty::Cursor),
            TypeKind::TypeOf(path) => self.type_of(path),
            TypeKind::RowTypeOf(path) => self.rowtype_of(path),
            TypeKind::Named { path, sizes, unit } => {
                if let [name] = path.as_slice() {
                    if let Some(symbol) = self.lookup(&name.name) {
                        return match symbol {
                            Symbol::Type(ty) => self.constrain(ty, sizes, *unit, *pos),
                            _ => Err(self.pls(488, &[&name.name], name.pos)),
                        };
                    }
                    if let Some(ty) = self.builtin_type(&name.name, sizes, *unit, *pos)? {
                        return Ok(ty);
                    }
                }
                match self.path_symbol(path)? {
                    Some(Symbol::Type(ty)) => self.constrain(ty, sizes, *unit, *pos),
                    Some(_) => Err(self.pls(488, &[&dotted(path)], *pos)),
                    None => {
                        if let Some(ty) =
                            crate::packages::package_type(&path.iter().map(|i| i.name.as_str()).collect::<Vec<_>>())
                        {
                            return Ok(ty);
                        }
                        Err(self.pls(201, &[&dotted(path)], *pos))
                    }
                }
            }
        }
    }

    /// A size given to a subtype replaces the subtype's own.
    fn constrain(&mut self, ty: Ty, sizes: &[i64], unit: Option<LengthUnit>, pos: Pos) -> CResult<Ty> {
        if sizes.is_empty() {
            return Ok(ty);
        }
        let name = match ty.data_type() {
            Some(DataType::Varchar2 { .. }) => "VARCHAR2",
            Some(DataType::Char { .. }) => "CHAR",
            Some(DataType::Number { .. }) => "NUMBER",
            Some(DataType::Raw { .. }) => "RAW",
            _ => return Err(self.pls(566, &[&"type"], pos)),
        };
        Ok(self.builtin_type(name, sizes, unit, pos)?.unwrap_or(ty))
    }

    fn builtin_type(&mut self, name: &str, sizes: &[i64], unit: Option<LengthUnit>, pos: Pos) -> CResult<Option<Ty>> {
        let first = sizes.first().copied();
        let unit = if unit == Some(LengthUnit::Char) { LenUnit::Char } else { self.default_unit(unit) };
        let length = |me: &Self, max: i64| -> CResult<u32> {
            match first {
                None => Err(me.pls(215, &[&max], pos)),
                Some(n) if (1..=max).contains(&n) => Ok(n as u32),
                Some(_) => Err(me.pls(215, &[&max], pos)),
            }
        };
        let ranged = |low: i64, high: i64, not_null: bool| {
            Ty::Scalar(ScalarTy { ty: DataType::PlsInteger, not_null, range: Some((low, high)) })
        };
        let max = i64::from(i32::MAX);
        let ty = match name {
            "NUMBER" | "NUMERIC" | "DECIMAL" | "DEC" | "INTEGER" | "INT" | "SMALLINT" => {
                let precision = first;
                if precision.is_some_and(|p| !(1..=38).contains(&p)) {
                    return Err(self.pls(216, &[], pos));
                }
                let scale = sizes.get(1).copied();
                if scale.is_some_and(|s| !(-84..=127).contains(&s)) {
                    return Err(self.pls(217, &[], pos));
                }
                let plain = name == "NUMBER";
                DataType::Number {
                    precision: precision.map(|p| p as u8).or(if plain { None } else { Some(38) }),
                    scale: match (precision, scale) {
                        (None, None) if plain => None,
                        (_, s) => Some(s.unwrap_or(0) as i8),
                    },
                }
            }
            "FLOAT" | "DOUBLE PRECISION" => DataType::NUMBER,
            "REAL" => DataType::NUMBER,
            "PLS_INTEGER" | "BINARY_INTEGER" | "SIMPLE_INTEGER" => {
                if name == "SIMPLE_INTEGER" {
                    return Ok(Some(ranged(i64::from(i32::MIN), max, true)));
                }
                DataType::PlsInteger
            }
            "NATURAL" => return Ok(Some(ranged(0, max, false))),
            "NATURALN" => return Ok(Some(ranged(0, max, true))),
            "POSITIVE" => return Ok(Some(ranged(1, max, false))),
            "POSITIVEN" => return Ok(Some(ranged(1, max, true))),
            "SIGNTYPE" => return Ok(Some(ranged(-1, 1, false))),
            "VARCHAR2" | "VARCHAR" | "STRING" | "CHARACTER VARYING" | "CHAR VARYING" => match first {
                // A parameter or a RETURN type has no length.
                None => DataType::TEXT,
                Some(_) => DataType::Varchar2 { len: length(self, 32767)?, unit },
            },
            "CHAR" | "CHARACTER" => match first {
                None => DataType::Char { len: 1, unit },
                Some(_) => DataType::Char { len: length(self, 32767)?, unit },
            },
            "NVARCHAR2" | "NCHAR VARYING" | "NATIONAL CHARACTER VARYING" | "NATIONAL CHAR VARYING" => match first {
                None => DataType::TEXT,
                Some(_) => DataType::Varchar2 { len: length(self, 32767)?, unit: LenUnit::Char },
            },
            "NCHAR" | "NATIONAL CHARACTER" | "NATIONAL CHAR" => {
                DataType::Char { len: first.map_or(Ok(1), |_| length(self, 32767))?, unit: LenUnit::Char }
            }
            "LONG" => DataType::Varchar2 { len: 32760, unit: LenUnit::Byte },
            "CLOB" | "NCLOB" | "CHARACTER LARGE OBJECT" | "CHAR LARGE OBJECT" => DataType::Clob,
            "RAW" => match first {
                None => DataType::Raw { len: 0 },
                Some(_) => DataType::Raw { len: length(self, 32767)? },
            },
            "LONG RAW" => DataType::Raw { len: 32760 },
            "BLOB" => DataType::Blob,
            "BFILE" => DataType::Bfile,
            "XMLTYPE" => DataType::Xml,
            "BOOLEAN" => DataType::Boolean,
            "DATE" => DataType::Date,
            "ROWID" | "UROWID" => DataType::Rowid,
            "BINARY_DOUBLE" | "SIMPLE_DOUBLE" => DataType::BinaryDouble,
            "BINARY_FLOAT" | "SIMPLE_FLOAT" => DataType::BinaryFloat,
            "TIMESTAMP"
            | "TIMESTAMP WITH TIME ZONE"
            | "TIMESTAMP WITH LOCAL TIME ZONE"
            | "TIMESTAMP_UNCONSTRAINED"
            | "TIMESTAMP_TZ_UNCONSTRAINED"
            | "TIMESTAMP_LTZ_UNCONSTRAINED" => {
                let digits = first.unwrap_or(if name.ends_with("UNCONSTRAINED") { 9 } else { 6 });
                if !(0..=9).contains(&digits) {
                    return Err(self.pls(215, &[&9], pos));
                }
                let zone = match name {
                    "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP_TZ_UNCONSTRAINED" => Zone::WithTimeZone,
                    "TIMESTAMP WITH LOCAL TIME ZONE" | "TIMESTAMP_LTZ_UNCONSTRAINED" => Zone::WithLocalTimeZone,
                    _ => Zone::None,
                };
                DataType::Timestamp { digits: digits as u8, zone }
            }
            "INTERVAL YEAR TO MONTH" | "YMINTERVAL_UNCONSTRAINED" => DataType::IntervalYm {
                years: first.unwrap_or(if name.starts_with('Y') { 9 } else { 2 }).clamp(0, 9) as u8,
            },
            "INTERVAL DAY TO SECOND" | "DSINTERVAL_UNCONSTRAINED" => DataType::IntervalDs {
                days: first.unwrap_or(if name.starts_with('D') { 9 } else { 2 }).clamp(0, 9) as u8,
                digits: sizes.get(1).copied().unwrap_or(6).clamp(0, 9) as u8,
            },
            _ => return Ok(None),
        };
        Ok(Some(Ty::of(ty)))
    }

    fn default_unit(&self, unit: Option<LengthUnit>) -> LenUnit {
        match unit {
            Some(LengthUnit::Byte) => LenUnit::Byte,
            Some(LengthUnit::Char) => LenUnit::Char,
            None => self.w.borrow().nls().length_semantics,
        }
    }

    fn type_of(&mut self, path: &[Ident]) -> CResult<Ty> {
        let pos = path[0].pos;
        if let Some(ty) = self.variable_type(path)? {
            return Ok(match ty {
                Ty::Scalar(mut s) => {
                    // A column's or parameter's type does not carry NOT NULL.
                    s.not_null = false;
                    Ty::Scalar(s)
                }
                other => other,
            });
        }
        let (table, column) = path.split_at(path.len() - 1);
        if !table.is_empty()
            && let Some(columns) = self.table(table)?
        {
            return match columns.iter().find(|c| c.name == column[0].name) {
                Some(c) => Ok(Ty::of(c.ty)),
                None => Err(self.pls(302, &[&column[0].name], column[0].pos)),
            };
        }
        Err(self.pls(201, &[&dotted(path)], pos))
    }

    /// The type of a variable, field, parameter or package variable with that name.
    fn variable_type(&mut self, path: &[Ident]) -> CResult<Option<Ty>> {
        let mut at = 1;
        let mut symbol = match self.lookup(&path[0].name) {
            Some(s) => Some(s),
            None if path.len() > 1 => {
                at = 2;
                self.label_symbol(&path[0].name, &path[1].name)
            }
            None => None,
        };
        if symbol.is_none() && path.len() > 1 {
            for n in (1..path.len().min(3)).rev() {
                if let Some(Interface::Package(p)) = self.interface_of(&path[..n])? {
                    symbol = p.symbols.get(&path[n].name).cloned();
                    at = n + 1;
                    break;
                }
            }
        }
        let Some(Symbol::Var(Var { mut ty, .. })) = symbol else { return Ok(None) };
        for field in &path[at..] {
            let Ty::Record(r) = &ty else { return Err(self.pls(302, &[&field.name], field.pos)) };
            let Some(f) = r.field(&field.name) else { return Err(self.pls(302, &[&field.name], field.pos)) };
            ty = f.ty.clone();
        }
        Ok(Some(ty))
    }

    /// Notes the row of a REF CURSOR type, or of a variable of such a type, for %ROWTYPE.
    pub(super) fn note_row(&mut self, name: &str, row: Ty) {
        let scope = self.scopes.last_mut().expect("there is a scope");
        scope.names.insert(row_name(name), Symbol::Type(row));
    }

    /// The noted row of a REF CURSOR type or variable.
    pub(super) fn row_of(&mut self, path: &[Ident]) -> CResult<Option<Ty>> {
        let mut path = path.to_vec();
        if let Some(last) = path.last_mut() {
            last.name = row_name(&last.name);
        }
        let found = match path.as_slice() {
            [name] => self.lookup(&name.name),
            path => self.path_symbol(path)?,
        };
        Ok(match found {
            Some(Symbol::Type(row @ Ty::Record(_))) => Some(row),
            _ => None,
        })
    }

    fn rowtype_of(&mut self, path: &[Ident]) -> CResult<Ty> {
        let symbol = match self.lookup(&path[0].name) {
            Some(s) if path.len() == 1 => Some(s),
            _ => self.path_symbol(path)?,
        };
        match symbol {
            Some(Symbol::Cursor(c)) => return Ok(Ty::Record(c.row.clone())),
            Some(Symbol::Var(Var { ty: ty @ Ty::Record(_), .. })) => return Ok(ty),
            Some(Symbol::Var(Var { ty: Ty::Cursor, .. })) => {
                let row = self.row_of(path)?;
                return row.ok_or_else(|| self.pls(320, &[], path[0].pos));
            }
            _ => {}
        }
        match self.table(path)? {
            Some(columns) => Ok(Ty::Record(Rc::new(row_type(&columns)))),
            None => Err(self.pls(201, &[&dotted(path)], path[0].pos)),
        }
    }

    fn table(&mut self, path: &[Ident]) -> CResult<Option<Vec<ColumnInfo>>> {
        match path {
            [name] => self.ask(|units, w| units.ask_columns(w, None, &name.name)),
            [owner, name] => self.ask(|units, w| units.ask_columns(w, Some(&owner.name), &name.name)),
            _ => Ok(None),
        }
    }
}

/// The name under which the row of a REF CURSOR is noted; no text can contain it.
fn row_name(name: &str) -> String {
    format!("\0ROW {name}")
}
