//! Declarations.

use super::compiler::{CResult, Compiler, FnState};
use super::scope::*;
use super::sqlgen::locks_rows;
use crate::datum::{CollInfo, CollKind, Datum};
use crate::op::*;
use crate::ty::*;
use crate::world::{ColumnInfo, World};
use sql::plsql::ast::{
    self, CursorDeclaration, Declaration, Ident, LengthUnit, Mode, Pos, Pragma, ResultCache, Subprogram,
    SubprogramAttributes, SubprogramBody, TypeDefinition, TypeKind, TypeRef, Variable,
};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use types::{DataType, LenUnit, Zone};

/// Largest depth of nested subprograms: the operand's field for the level has this size.
const SUBPROGRAM_LEVELS_MAX: u32 = 63;

impl<W: World> Compiler<'_, W> {
    pub(super) fn declarations(&mut self, list: &[Declaration]) {
        for d in list {
            let pos = declaration_pos(d);
            self.set_pos(pos);
            if let Err(e) = self.declaration(d) {
                self.note(e, pos, "Item");
            }
        }
    }

    fn declaration(&mut self, d: &Declaration) -> CResult<()> {
        match d {
            Declaration::Variable(v) => self.variable(v),
            Declaration::Type { name, definition } => {
                let ty = self.type_definition(definition)?;
                self.declare(name, Symbol::Type(ty))
            }
            Declaration::Subtype { name, base, not_null, range } => {
                let mut ty = self.type_ref(base)?;
                if let Ty::Scalar(s) = &mut ty {
                    s.not_null |= not_null;
                    if let Some((low, high)) = range {
                        s.range = Some((self.static_integer(low)?, self.static_integer(high)?));
                    }
                }
                self.declare(name, Symbol::Type(ty))
            }
            Declaration::Cursor(c) => self.cursor(c),
            Declaration::Exception(name) => {
                let def = self.new_exception(&name.name, None, name.pos);
                self.declare(name, Symbol::Exception(def))
            }
            Declaration::Pragma(p) => self.pragma(p),
            Declaration::Subprogram(s) => self.subprogram(s),
        }
    }

    fn new_exception(&mut self, name: &str, code: Option<u32>, pos: Pos) -> ExceptionDef {
        self.exception_count += 1;
        let mut h = std::collections::hash_map::DefaultHasher::new();
        // The identity of a package's exceptions must be the same for all units compiled against it.
        (&self.owner, &self.unit, name, pos).hash(&mut h);
        if self.unit.is_empty() {
            (self.text, self.exception_count).hash(&mut h);
        }
        ExceptionDef { code, identity: h.finish() }
    }

    fn pragma(&mut self, p: &Pragma) -> CResult<()> {
        match p {
            Pragma::AutonomousTransaction(_) => {
                self.f.autonomous = true;
                Ok(())
            }
            Pragma::ExceptionInit { exception, code } => {
                let code = if *code == 100 { 1403 } else { code.unsigned_abs() };
                let scope = self.scopes.last_mut().expect("there is a scope");
                match scope.names.get_mut(&exception.name) {
                    Some(Symbol::Exception(def)) => {
                        def.code = Some(code);
                        Ok(())
                    }
                    _ => Err(self.pls(109, &[&exception.name], exception.pos)),
                }
            }
            Pragma::SeriallyReusable | Pragma::Other(_) => Ok(()),
        }
    }

    pub(super) fn declare(&mut self, name: &Ident, symbol: Symbol) -> CResult<()> {
        let scope = self.scopes.last_mut().expect("there is a scope");
        if scope.names.contains_key(&name.name) {
            return Err(self.pls(371, &[&name.name], name.pos));
        }
        scope.names.insert(name.name.clone(), symbol);
        Ok(())
    }

    /// Allocates a variable in the frame or, at package level, in the package's state.
    pub(super) fn new_loc(&mut self) -> Loc {
        if self.f.package {
            let slot = self.package_slots;
            self.package_slots += 1;
            let home = Home { owner: self.owner.clone(), name: self.unit.clone(), shown: 0 };
            return Loc::Package { home: Rc::new(home), slot };
        }
        let slot = self.slots(1);
        self.loc_of(slot)
    }

    fn variable(&mut self, v: &Variable) -> CResult<()> {
        let Variable { name, ty: _, constant, not_null: _, default } = v;
        let mut ty = self.type_ref(&v.ty)?;
        if v.not_null
            && let Ty::Scalar(s) = &mut ty
        {
            s.not_null = true;
        }
        let not_null = ty.scalar().is_some_and(|s| s.not_null);
        if not_null && default.is_none() {
            return Err(self.pls(218, &[], name.pos));
        }
        if *constant && default.is_none() {
            return Err(self.pls(322, &[&name.name], name.pos));
        }
        self.has_state |= self.f.package && !(*constant && default.as_ref().is_some_and(|e| self.is_static(e)));
        let loc = self.new_loc();
        let result = self.initialise(&loc, &ty, default.as_ref());
        // The name is declared even if its value is invalid, so that one mistake gives one error.
        let access = if *constant { Access::Constant } else { Access::Free };
        self.declare(name, Symbol::Var(Var { loc, ty, access }))?;
        result
    }

    /// Whether an expression has the same value in all sessions: it consists of literals.
    fn is_static(&self, e: &ast::Expr) -> bool {
        match &e.kind {
            ast::ExprKind::Null
            | ast::ExprKind::Boolean(_)
            | ast::ExprKind::Number(_)
            | ast::ExprKind::String(_)
            | ast::ExprKind::Date(_)
            | ast::ExprKind::Timestamp(_)
            | ast::ExprKind::Interval { text: _, qualifier: _ } => true,
            ast::ExprKind::Unary { op: _, operand } => self.is_static(operand),
            ast::ExprKind::Binary { op: _, left, right } => self.is_static(left) && self.is_static(right),
            // not a clause: other expressions may differ between sessions
            _ => false,
        }
    }

    /// Assigns the first value of a new variable.
    pub(super) fn initialise(&mut self, loc: &Loc, ty: &Ty, default: Option<&ast::Expr>) -> CResult<()> {
        let saved = self.f.next;
        let d = match loc {
            Loc::Frame { level, slot } => self.frame_opd(*level, *slot),
            Loc::Package { .. } => self.temp(),
        };
        let composite = !matches!(ty, Ty::Scalar(_));
        if composite || default.is_none() {
            self.init_slot(d, ty)?;
        }
        if let Some(e) = default {
            self.assign_expr(d, ty, e)?;
        }
        if let Loc::Package { home, slot } = loc {
            let external = self.package_external(home);
            self.emit(Op::PackageSet { external, slot: *slot, s: d });
        }
        self.f.next = saved;
        Ok(())
    }

    /// Puts the initial content of a type into a slot, with the defaults of record fields.
    pub(super) fn init_slot(&mut self, d: Opd, ty: &Ty) -> CResult<()> {
        if let Ty::Scalar(_) | Ty::Null = ty {
            let null = self.null();
            self.emit(Op::Move { d, s: null });
            return Ok(());
        }
        if matches!(ty, Ty::Cursor) {
            self.f.cursors = true;
            self.emit(Op::Release { cursor: d });
        }
        let template = self.template(ty.initial());
        self.emit(Op::Init { d, template });
        self.init_fields(d, &[], ty)
    }

    /// Assigns the defaults of a record's fields, including nested records. `steps` lead from the slot to the record.
    fn init_fields(&mut self, d: Opd, steps: &[Step], ty: &Ty) -> CResult<()> {
        let Ty::Record(r) = ty else { return Ok(()) };
        let r = r.clone();
        for field in &r.fields {
            let mut steps = steps.to_vec();
            steps.push(match field.at {
                FieldAt::Scalar(i) => Step::Scalar(i),
                FieldAt::Nested(i) => Step::Nested(i),
            });
            let Some(default) = &field.default else {
                self.init_fields(d, &steps, &field.ty)?;
                continue;
            };
            let saved = self.f.next;
            let t = self.temp();
            self.init_slot(t, &field.ty)?;
            self.assign_expr(t, &field.ty, default)?;
            let path = self.path(Root::Slot(d), steps);
            self.emit(Op::SetPath { path, s: t });
            self.f.next = saved;
        }
        Ok(())
    }

    pub(super) fn package_external(&mut self, home: &Home) -> u32 {
        let (owner, name) = (home.owner.clone(), home.name.clone());
        self.external(External { owner, name, subprogram: String::new(), overload: 0, shown: home.shown })
    }

    pub(super) fn path(&mut self, root: Root, steps: Vec<Step>) -> u32 {
        self.pool.paths.push(Path { root, steps });
        self.pool.paths.len() as u32 - 1
    }

    fn static_integer(&mut self, e: &ast::Expr) -> CResult<i64> {
        use ast::ExprKind::{Number, Unary};
        match &e.kind {
            Number(text) => text.parse().map_err(|_| self.pls(491, &[], e.pos)),
            Unary { op: ast::UnaryOp::Minus, operand } => Ok(-self.static_integer(operand)?),
            _ => Err(self.pls(491, &[], e.pos)),
        }
    }

    // ---- types

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

    /// The attributes of an object type: scalars and objects.
    pub(super) fn attributes(&mut self, list: &[ast::Attribute]) -> CResult<Vec<types::Attribute>> {
        let mut attributes: Vec<types::Attribute> = Vec::new();
        for ast::Attribute { name, ty } in list {
            if attributes.iter().any(|a| a.name == name.name) {
                return Err(self.pls(410, &[], name.pos));
            }
            let pos = ty.pos;
            let ty = match self.type_ref(ty)?.data_type() {
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
            "BOOLEAN" => DataType::Boolean,
            "DATE" => DataType::Date,
            "ROWID" | "UROWID" => DataType::Rowid,
            "BINARY_DOUBLE" | "SIMPLE_DOUBLE" => DataType::BinaryDouble,
            "BINARY_FLOAT" | "SIMPLE_FLOAT" => DataType::BinaryFloat,
            "TIMESTAMP"
            | "TIMESTAMP WITH TIME ZONE"
            | "TIMESTAMP WITH LOCAL TIME ZONE"
            | "TIMESTAMP_UNCONSTRAINED"
            | "TIMESTAMP_TZ_UNCONSTRAINED" => {
                let digits = first.unwrap_or(6);
                if !(0..=9).contains(&digits) {
                    return Err(self.pls(215, &[&9], pos));
                }
                let zone = match name {
                    "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP_TZ_UNCONSTRAINED" => Zone::WithTimeZone,
                    "TIMESTAMP WITH LOCAL TIME ZONE" => Zone::WithLocalTimeZone,
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

    fn rowtype_of(&mut self, path: &[Ident]) -> CResult<Ty> {
        let symbol = match self.lookup(&path[0].name) {
            Some(s) if path.len() == 1 => Some(s),
            _ => self.path_symbol(path)?,
        };
        match symbol {
            Some(Symbol::Cursor(c)) => return Ok(Ty::Record(c.row.clone())),
            Some(Symbol::Var(Var { ty: ty @ Ty::Record(_), .. })) => return Ok(ty),
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

    // ---- cursors

    fn cursor(&mut self, c: &CursorDeclaration) -> CResult<()> {
        let CursorDeclaration { name: _, parameters: _, returns, query: _ } = c;
        let previous = self.scopes.last().and_then(|s| s.names.get(&c.name.name)).cloned();
        if let (Some(Symbol::Cursor(sym)), Some(query)) = (&previous, &c.query) {
            // The body of a cursor declared in the package's specification.
            let sym = sym.clone();
            return self
                .cursor_open_proc(c, query, &sym.parameters.clone(), &sym.loc.clone(), sym.open.clone())
                .map(|_| ());
        }
        let parameters = self.parameters(&c.parameters)?;
        self.has_state |= self.f.package;
        let loc = self.new_loc();
        let null = Datum::Cur(None);
        let template = self.template(null);
        match &loc {
            Loc::Frame { level, slot } => {
                let d = self.frame_opd(*level, *slot);
                self.f.cursors = true;
                self.emit(Op::Release { cursor: d });
                self.emit(Op::Init { d, template });
            }
            Loc::Package { home, slot } => {
                let saved = self.f.next;
                let d = self.temp();
                self.emit(Op::Init { d, template });
                let external = self.package_external(home);
                self.emit(Op::PackageSet { external, slot: *slot, s: d });
                self.f.next = saved;
            }
        }
        let open = self.new_proc();
        let row = match (&c.query, returns) {
            (Some(query), _) => self.cursor_open_proc(c, query, &parameters, &loc, open.clone())?,
            (None, Some(t)) => match self.type_ref(t)? {
                Ty::Record(r) => r,
                _ => return Err(self.pls(320, &[], t.pos)),
            },
            (None, None) => return Err(self.pls(341, &[&c.name.name], c.name.pos)),
        };
        let locks = c.query.as_ref().is_none_or(|q| locks_rows(&q.text));
        let symbol = CursorSym { name: c.name.name.clone(), parameters, row, locks, loc, open };
        self.declare(&c.name, Symbol::Cursor(Rc::new(symbol)))
    }

    pub(super) fn new_proc(&mut self) -> SubTarget {
        self.procs.push(None);
        SubTarget::Local { proc: self.procs.len() as u32 - 1, level: self.f.level + 1 }
    }

    /// Compiles the hidden procedure that opens a cursor; returns the row's type.
    fn cursor_open_proc(
        &mut self,
        c: &CursorDeclaration,
        query: &ast::SqlText,
        parameters: &[Param],
        loc: &Loc,
        target: SubTarget,
    ) -> CResult<Rc<RecordTy>> {
        let SubTarget::Local { proc, level } = target else { unreachable!("a cursor is opened by its own unit") };
        let outer = std::mem::replace(&mut self.f, FnState::new(&c.name.name, level));
        self.scopes.push(Scope { labels: vec![c.name.name.clone()], ..Scope::default() });
        let slots = self.slots(parameters.len() as u32);
        for (i, p) in parameters.iter().enumerate() {
            let loc = self.loc_of(slots + i as u32);
            let symbol = Symbol::Var(Var { loc, ty: p.ty.clone(), access: Access::In });
            self.scopes.last_mut().expect("just pushed").names.insert(p.name.clone(), symbol);
        }
        self.set_pos(query.span.start);
        let result = self.open_query(query, loc);
        self.scopes.pop();
        self.emit(Op::Return);
        let compiled = self.finish(outer, parameters.len() as u32);
        self.procs[proc as usize] = Some(Rc::new(compiled));
        result
    }

    fn open_query(&mut self, query: &ast::SqlText, loc: &Loc) -> CResult<Rc<RecordTy>> {
        let statement = self.static_sql(query)?;
        let row = Rc::new(row_type(&statement.columns));
        match loc {
            Loc::Frame { level, slot } => {
                let cursor = self.frame_opd(*level, *slot);
                self.emit(Op::Open { sql: statement.index, cursor, variable: false });
            }
            Loc::Package { home, slot } => {
                let cursor = self.temp();
                let external = self.package_external(home);
                self.emit(Op::PackageGet { d: cursor, external, slot: *slot });
                self.emit(Op::Open { sql: statement.index, cursor, variable: false });
                self.emit(Op::PackageSet { external, slot: *slot, s: cursor });
            }
        }
        Ok(row)
    }

    // ---- subprograms

    pub(super) fn parameters(&mut self, list: &[ast::Parameter]) -> CResult<Vec<Param>> {
        let mut parameters: Vec<Param> = Vec::new();
        for p in list {
            // NOCOPY is done anyway, or has no effect.
            let ast::Parameter { name: _, mode: _, nocopy: _, ty: _, default: _ } = p;
            if parameters.iter().any(|q| q.name == p.name.name) {
                return Err(self.pls(410, &[], p.name.pos));
            }
            let mut ty = self.type_ref(&p.ty)?;
            if let Ty::Scalar(s) = &mut ty {
                // The length and precision are those of the actual parameter, not declared ones.
                let sized = matches!(p.ty.kind, TypeKind::Named { path: _, ref sizes, unit: _ } if !sizes.is_empty());
                if sized {
                    return Err(self.pls(
                        103,
                        &[
                            &"\"(\"",
                            &":= . ) , @ % default character\nThe symbol \":=\" was substituted for \"(\" to continue.",
                        ],
                        p.ty.pos,
                    ));
                }
                if s.range.is_none() {
                    s.ty = unconstrained(s.ty);
                }
            }
            parameters.push(Param {
                name: p.name.name.clone(),
                mode: p.mode,
                ty,
                default: p.default.clone().map(Rc::new),
            });
        }
        Ok(parameters)
    }

    fn subprogram(&mut self, s: &Subprogram) -> CResult<()> {
        let parameters = self.parameters(&s.parameters)?;
        let returns = match &s.returns {
            Some(t) => Some(match self.type_ref(t)? {
                Ty::Scalar(mut sc) => {
                    if sc.range.is_none() {
                        sc.ty = unconstrained(sc.ty);
                    }
                    Ty::Scalar(sc)
                }
                other => other,
            }),
            None => None,
        };
        // AUTHID belongs to the unit; PARALLEL_ENABLE has no effect, since nothing runs in parallel.
        let SubprogramAttributes {
            deterministic,
            authid: _,
            pipelined,
            accessible_by,
            parallel_enable: _,
            result_cache: _,
        } = &s.attributes;
        if let Some(pos) = pipelined {
            return Err(self.pls(707, &[&"PIPELINED"], *pos));
        }
        if let Some(pos) = accessible_by {
            return Err(self.pls(707, &[&"ACCESSIBLE BY"], *pos));
        }
        let known = match self.scopes.last().and_then(|sc| sc.names.get(&s.name.name)) {
            Some(Symbol::Subs(list)) => list.clone(),
            Some(_) => return Err(self.pls(371, &[&s.name.name], s.name.pos)),
            None => Vec::new(),
        };
        let same = known.iter().find(|k| same_signature(k, &parameters, returns.is_some())).cloned();
        let symbol = match (same, &s.body) {
            (Some(found), Some(_)) => {
                let SubTarget::Local { proc, .. } = &found.target else { unreachable!("declared in this unit") };
                if self.procs[*proc as usize].is_some() {
                    return Err(self.pls(305, &[&s.name.name, &self.line], s.name.pos));
                }
                found
            }
            (Some(_), None) => return Err(self.pls(305, &[&s.name.name, &self.line], s.name.pos)),
            (None, _) => {
                let symbol = Rc::new(SubSym {
                    invokers: false,
                    name: s.name.name.clone(),
                    parameters: parameters.clone(),
                    returns: returns.clone(),
                    target: self.new_proc(),
                    deterministic: *deterministic,
                    overload: known.len() as u32 + 1,
                });
                let mut list = known;
                list.push(symbol.clone());
                self.scopes.last_mut().expect("there is a scope").names.insert(s.name.name.clone(), Symbol::Subs(list));
                symbol
            }
        };
        if s.body.is_some() {
            let SubTarget::Local { proc, level } = symbol.target else { unreachable!("declared in this unit") };
            if level >= SUBPROGRAM_LEVELS_MAX {
                return Err(self.pls(123, &[&"subprograms nested too deep"], s.name.pos));
            }
            self.check_nesting(s.name.pos)?;
            let compiled = self.subprogram_body(s, &parameters, returns, level);
            self.procs[proc as usize] = Some(Rc::new(compiled));
        }
        Ok(())
    }

    /// Compiles a subprogram's body and notes its errors.
    pub(super) fn subprogram_body(
        &mut self,
        s: &Subprogram,
        parameters: &[Param],
        returns: Option<Ty>,
        level: u32,
    ) -> Proc {
        let SubprogramBody { declarations, body } = s.body.as_deref().expect("the caller saw a body");
        let outer = std::mem::replace(&mut self.f, FnState::new(&s.name.name, level));
        let line = self.line;
        self.f.function = returns.is_some();
        self.f.returns = returns.clone();
        self.scopes.push(Scope { labels: vec![s.name.name.clone()], ..Scope::default() });
        let first = self.slots(parameters.len() as u32);
        for (i, p) in parameters.iter().enumerate() {
            let loc = self.loc_of(first + i as u32);
            let access = if p.mode == Mode::In { Access::In } else { Access::Free };
            let symbol = Symbol::Var(Var { loc, ty: p.ty.clone(), access });
            self.scopes.last_mut().expect("just pushed").names.insert(p.name.clone(), symbol);
        }
        self.set_pos(body.pos);
        // RELIES_ON has no effect since 11.2: the dependencies are the tables that the function reads.
        let cached = matches!(s.attributes.result_cache, Some(ResultCache { relies_on: _ }))
            && parameters.iter().all(|p| p.mode == Mode::In);
        let hit = match returns.as_ref().and_then(Ty::data_type) {
            Some(result) if cached && parameters.iter().all(|p| p.ty.scalar().is_some()) => {
                let name = format!("\"{}\".\"{}\"::8.\"{}\"", self.owner, self.unit, s.name.name);
                let reads = std::cell::RefCell::default();
                self.f.result_cache = Some(Box::new(ResultCacheDef { name, at: body.pos, result, reads }));
                Some(self.emit(Op::ResultCacheGet { d: Opd::local(0), n: parameters.len() as u32, hit: 0 }))
            }
            _ => None,
        };
        self.declarations(declarations);
        if self.f.autonomous {
            self.emit(Op::Autonomous { begin: true });
        }
        self.body(body);
        self.check_forward(body);
        self.set_pos(body.end_pos);
        if returns.is_some() {
            self.emit(Op::NoReturn);
        } else {
            self.emit(Op::Return);
        }
        if let Some(at) = hit {
            self.patch(at);
            self.emit(Op::Return);
        }
        self.scopes.pop();
        self.resolve_gotos();
        self.line = line;
        self.finish(outer, parameters.len() as u32)
    }

    /// Checks that the innermost scope has a body for every forward declaration.
    pub(super) fn check_forward(&mut self, body: &ast::Body) {
        let scope = self.scopes.last().expect("there is a scope");
        let mut missing: Vec<String> = Vec::new();
        for (name, symbol) in &scope.names {
            let Symbol::Subs(list) = symbol else { continue };
            for s in list {
                if let SubTarget::Local { proc, .. } = s.target
                    && self.procs[proc as usize].is_none()
                {
                    missing.push(name.clone());
                }
            }
        }
        missing.sort();
        for name in missing {
            let error = self.pls(328, &[&name], body.pos);
            self.problems.push(super::compiler::Problem { pos: body.pos, text: error.headline() });
        }
    }
}

pub(super) fn dotted(path: &[Ident]) -> String {
    path.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(".")
}

pub(super) fn same_signature(known: &SubSym, parameters: &[Param], function: bool) -> bool {
    known.returns.is_some() == function
        && known.parameters.len() == parameters.len()
        && known
            .parameters
            .iter()
            .zip(parameters)
            .all(|(a, b)| a.name == b.name && a.mode == b.mode && is_same_type(&a.ty, &b.ty))
}

/// Whether two parameters with one name have the same type: scalars by family, composites by type.
fn is_same_type(a: &Ty, b: &Ty) -> bool {
    match (a, b) {
        (Ty::Coll(a), Ty::Coll(b)) => Rc::ptr_eq(&a.info, &b.info),
        (Ty::Record(a), Ty::Record(b)) => {
            let names = |record: &RecordTy| record.fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
            Rc::ptr_eq(a, b) || a.row && b.row && names(a) == names(b)
        }
        (Ty::Coll(_) | Ty::Record(_) | Ty::Cursor, Ty::Coll(_) | Ty::Record(_) | Ty::Cursor) => {
            matches!((a, b), (Ty::Cursor, Ty::Cursor))
        }
        _ => a.class() == b.class(),
    }
}

fn declaration_pos(d: &Declaration) -> Pos {
    match d {
        Declaration::Variable(v) => v.name.pos,
        Declaration::Type { name, definition: _ }
        | Declaration::Subtype { name, base: _, not_null: _, range: _ }
        | Declaration::Exception(name) => name.pos,
        Declaration::Cursor(c) => c.name.pos,
        Declaration::Pragma(Pragma::AutonomousTransaction(pos)) => *pos,
        Declaration::Pragma(Pragma::ExceptionInit { exception, code: _ }) => exception.pos,
        Declaration::Pragma(Pragma::Other(name)) => name.pos,
        Declaration::Pragma(Pragma::SeriallyReusable) => 0,
        Declaration::Subprogram(s) => s.pos,
    }
}
