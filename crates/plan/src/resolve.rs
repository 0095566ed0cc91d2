//! The two recursions of the binder.
//!
//! An expression has calls in it, and a call has expressions; an expression has queries in it, and a query has
//! expressions. Each recursion has one entry: the functions of calls, aggregates and hierarchical operators resolve
//! their operands through [`Operands`], which `expr` implements, and expressions and FROM compile their queries
//! through [`Queries`], which `query` implements. All other calls of the binder go down, except that `pivot` gives its
//! rewritten source back to `from`.

use crate::ir::*;
use crate::logical::{JoinSet, Rel};
use sql::ast;
use std::collections::BTreeSet;
use types::Result;

/// The expressions inside a call or an operator.
pub trait Operands {
    /// Resolves a value.
    fn operand(&mut self, e: &ast::Expr) -> Result<Expr>;
    /// Resolves a condition.
    fn operand_condition(&mut self, e: &ast::Expr) -> Result<Expr>;
    /// CAST of a resolved value, with a format or none.
    fn operand_cast(&mut self, e: Expr, to: types::DataType, format: &[ast::Expr], pos: u32) -> Result<Expr>;
    /// `alias.column.attribute…` of an object type; `None` if the name does not begin with a column of such a type.
    fn object_of_column(&mut self, name: &ast::Name) -> Result<Option<Expr>>;
    /// A sort key: an object is sorted by its MAP method.
    fn sort_operand(&mut self, key: Expr, pos: u32) -> Result<Expr>;
}

/// The queries inside an expression or inside FROM.
pub trait Queries {
    /// Compiles a query of FROM in a block of its own. `opaque`: enclosing blocks are not visible to it.
    fn inner_query(&mut self, q: &ast::Query, opaque: bool, merge: bool) -> Result<Compiled>;
    /// Compiles a subquery of an expression.
    fn inner_subquery(&mut self, q: &ast::Query, used: SubUse) -> Result<(SubId, Vec<Column>)>;
    /// Compiles the query of a nested cursor for its columns only.
    fn cursor_columns(&mut self, q: &ast::Query) -> Result<Vec<Column>>;
}

/// The use of a subquery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubUse {
    Scalar,
    Exists,
    Rows,
    /// The elements of a collection, in order.
    Multiset,
}

/// A query with its own tree: the tree, output expressions, columns, and the registers of enclosing blocks that it
/// reads.
pub type BuiltQuery = (Rel, Vec<Expr>, Vec<Column>, BTreeSet<Reg>);

/// A compiled query.
pub enum Compiled {
    /// A plain join that may be merged into the enclosing block.
    Open {
        set: JoinSet,
        out: Vec<Expr>,
        columns: Vec<Column>,
    },
    Built {
        rel: Rel,
        out: Vec<Expr>,
        columns: Vec<Column>,
        outer: BTreeSet<Reg>,
    },
}
