//! The compiler from the tree to bytecode.
//!
//! The compiler makes one pass over the tree: a name must be declared before it is used, so types, slots and
//! subprograms are known at their use. Each subprogram is compiled into its own [`compiler::FnState`]; scopes are
//! shared, and a variable of an enclosing subprogram is reached through its frame. A statement with an error is noted
//! and skipped, so that one run finds the errors of the whole unit.
//!
//! The modules, lowest layer first; each imports only modules above it in the table:
//!
//! | module | contents |
//! |---|---|
//! | `scope`, `shape` | symbols; hashes of the interfaces made of them |
//! | `question`, `units` | a question with its answer; the session's compiled units and interfaces |
//! | `ask` | the compiler's questions |
//! | `conditional` | the names in directives of conditional compilation |
//! | `compiler` | the state of the compilation of one unit, and the writing of code |
//! | `piped` | types of the rows of pipelined functions |
//! | `symbols`, `type_refs`, `rows` | the symbols that names stand for; types as they are written; `:NEW` and `:OLD` |
//! | `operators`, `assign`, `functions`, `call`, `method`, `qualified`, `name`, `expr` | expressions |
//! | `sqlgen`, `sql_stmt`, `forall` | static and dynamic SQL |
//! | `decl` with `stmt` | declarations and statements: a block has declarations, a declared subprogram has a block |
//! | `objects` | object types and their bodies |
//! | `unit`, `trigger` | whole units and blocks; triggers |
//! | `image` | the image of a compiled unit |
//! | `store` | units by name: their interfaces, their code |

mod ask;
mod assign;
mod call;
mod compiler;
mod conditional;
mod decl;
mod expr;
mod forall;
mod functions;
mod image;
mod method;
mod name;
mod objects;
mod operators;
mod piped;
mod qualified;
mod question;
mod rows;
mod scope;
mod shape;
mod sql_stmt;
mod sqlgen;
mod standard_names;
mod stmt;
mod store;
mod symbols;
mod trigger;
mod type_refs;
mod unit;
mod units;
mod xml;

pub(crate) use ask::Interfaces;
pub use conditional::selected_source;
pub(crate) use piped::PIPE_BIND;
pub(crate) use rows::EVENT_PARAMETERS;
pub(crate) use scope::{Interface, PackageSym, Param, SubSym, SubTarget, Symbol};
pub(crate) use trigger::{CompiledTrigger, compile_trigger};
pub(crate) use unit::compile_unit;
pub(crate) use units::Units;
