//! Symbols: the meaning of names.

use crate::code::RowUse;
use crate::op::{ExceptionDef, External};
use crate::ty::{RecordTy, Ty};
use crate::world::{ColumnInfo, TriggerColumn};
use sql::plsql::ast::{self, Expr, MethodKind, Mode, UnitKind};
use std::collections::HashMap;
use std::rc::Rc;
use types::{Ora, TypeDef, TypeId};

/// The names of a block, a subprogram or a package.
#[derive(Default, Clone)]
pub struct Scope {
    /// The block's label or the subprogram's name: `label.variable`.
    pub labels: Vec<String>,
    pub names: HashMap<String, Symbol>,
}

#[derive(Clone, Debug)]
pub enum Symbol {
    Var(Var),
    Type(Ty),
    Cursor(Rc<CursorSym>),
    Exception(ExceptionDef),
    Subs(Vec<Rc<SubSym>>),
}

#[derive(Clone, Debug)]
pub struct Var {
    pub loc: Loc,
    pub ty: Ty,
    pub access: Access,
}

#[derive(Clone, Debug)]
pub enum Loc {
    Frame { level: u32, slot: u32 },
    Package { home: Rc<Home>, slot: u32 },
}

/// The package that a variable belongs to.
#[derive(Clone, Debug)]
pub struct Home {
    pub owner: String,
    pub name: String,
    /// A hash of the interface that the code was compiled against ([`super::shape`]); 0 in its own code.
    pub shown: u64,
}

/// Whether a variable may be assigned, and the word for it in the error if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Free,
    Constant,
    LoopIndex,
    In,
}

#[derive(Clone, Debug)]
pub struct CursorSym {
    pub name: String,
    pub parameters: Vec<Param>,
    pub row: Rc<RecordTy>,
    /// Its query is FOR UPDATE, or unknown.
    pub locks: bool,
    pub loc: Loc,
    /// The hidden procedure that opens it.
    pub open: SubTarget,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub mode: Mode,
    pub ty: Ty,
    pub default: Option<Rc<Expr>>,
}

#[derive(Clone, Debug)]
pub struct SubSym {
    pub name: String,
    pub parameters: Vec<Param>,
    pub returns: Option<Ty>,
    pub target: SubTarget,
    pub deterministic: bool,
    pub is_pipelined: bool,
    /// The units of ACCESSIBLE BY.
    pub accessible_by: Rc<[Accessor]>,
    /// The unit has invoker's rights; known for stored units.
    pub invokers: bool,
    /// The number of the overload within its package, from one; of a method, a hash of its signature, which is that of
    /// the methods that override it.
    pub overload: u32,
    pub method: Option<Rc<MethodSym>>,
}

/// The method that a subprogram is. SELF is not among its parameters.
#[derive(Clone, Debug)]
pub struct MethodSym {
    pub kind: MethodKind,
    /// The mode of SELF.
    pub receiver: Mode,
    /// The type that declares it.
    pub of: TypeId,
    pub is_final: bool,
    pub instantiable: bool,
}

impl MethodSym {
    /// Whether the first slot of its frame is SELF.
    pub fn has_self(&self) -> bool {
        self.kind != MethodKind::Static
    }
}

/// The methods of an object type, with those that it inherits.
#[derive(Debug)]
pub struct ObjectSym {
    pub def: Rc<TypeDef>,
    pub methods: HashMap<String, Vec<Rc<SubSym>>>,
    /// Its own constructors.
    pub constructors: Vec<Rc<SubSym>>,
    /// The constructor over the attributes; `None` if one of its own has the same parameters.
    pub by_attributes: Option<Rc<SubSym>>,
    /// The MAP or ORDER method.
    pub order: Option<Rc<SubSym>>,
    /// A hash of the attributes and methods.
    pub shown: u64,
}

impl SubSym {
    /// Whether the first slot of its frame is SELF.
    pub fn has_self(&self) -> bool {
        self.method.as_ref().is_some_and(|method| method.has_self())
    }

    pub fn required(&self) -> usize {
        self.parameters.iter().filter(|p| p.default.is_none()).count()
    }
}

#[derive(Clone, Debug)]
pub enum SubTarget {
    Local { proc: u32, level: u32 },
    External(Rc<External>),
}

/// The interface of a stored unit.
#[derive(Clone, Debug)]
pub enum Interface {
    Subprogram(Rc<SubSym>),
    Package(Rc<PackageSym>),
    Type(Ty),
}

/// A unit that has access to another one.
#[derive(Clone, Debug, Hash)]
pub struct Accessor {
    pub kind: Option<UnitKind>,
    /// Empty: the owner of the unit that it has access to.
    pub owner: String,
    pub name: String,
}

#[derive(Debug)]
pub struct PackageSym {
    pub owner: String,
    pub accessible_by: Rc<[Accessor]>,
    pub symbols: HashMap<String, Symbol>,
}

/// The units of ACCESSIBLE BY.
pub(super) fn accessors(list: &[ast::Accessor]) -> Rc<[Accessor]> {
    let of = |ast::Accessor { kind, path }: &ast::Accessor| match path.as_slice() {
        [owner, name, ..] => Accessor { kind: *kind, owner: owner.name.clone(), name: name.name.clone() },
        [name] => Accessor { kind: *kind, owner: String::new(), name: name.name.clone() },
        [] => Accessor { kind: *kind, owner: String::new(), name: String::new() },
    };
    list.iter().map(of).collect()
}

/// A record type with the columns of a table or query.
pub(super) fn row_type(columns: &[ColumnInfo]) -> RecordTy {
    RecordTy::new(true, columns.iter().map(|c| (c.name.clone(), Ty::of(c.ty), None)))
}

/// The rows of the trigger that is compiled.
pub(super) struct Rows {
    pub old_alias: String,
    pub new_alias: String,
    /// The trigger is one for each row.
    pub exist: bool,
    /// The new row may be assigned.
    pub may_assign: bool,
    pub columns: Vec<TriggerColumn>,
    /// The columns in the text, in the order of their parameters.
    pub uses: Vec<RowUse>,
    /// The part of a compound trigger that is compiled has no rows.
    pub outside: bool,
    /// Names without a colon are those of the rows, too.
    pub in_when: bool,
    /// UPDATING has been called with the name of a column.
    pub asks_columns: bool,
    /// An error with which CREATE TRIGGER fails.
    pub refused: Option<Ora>,
}
