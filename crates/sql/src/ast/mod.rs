//! The tree of a SQL statement.
//!
//! The tree covers the whole language, more than is executed (Q5): a construct that the planner does not support is
//! still parsed, so that the user sees "not supported" instead of "syntax error". Unquoted identifiers are in upper
//! case (Q3); nothing is resolved here.
//!
//! Every node has a [`Pos`], which is ignored in comparisons: two trees are equal if they represent the same text,
//! wherever it stands. `GROUP BY` matching in the planner and the unparser's round-trip tests (Q4) depend on that.

mod ddl;
mod dml;
mod expr;
mod json;
mod partition;
mod query;
mod tablespace;
mod xml;

pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use json::*;
pub use partition::*;
pub use query::*;
pub use tablespace::*;
pub use xml::*;

/// A byte offset in the text of the statement. All positions compare as equal: see the module documentation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pos(pub u32);

impl PartialEq for Pos {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Pos {}
impl std::hash::Hash for Pos {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
impl Pos {
    /// The offset as a `usize`, for slicing the statement's text.
    pub fn offset(self) -> usize {
        self.0 as usize
    }
}

/// An identifier. `name` is in the dictionary's form: upper case unless the identifier was quoted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    pub name: String,
    pub pos: Pos,
}

impl Ident {
    /// An identifier at position zero, for trees built by callers.
    pub fn new(name: impl Into<String>) -> Ident {
        Ident { name: name.into(), pos: Pos(0) }
    }
}

/// A dotted name with an optional database link: `scott.emp`, `emp.ename`, `pkg.proc@remote`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    pub parts: Vec<Ident>,
    pub link: Option<Box<Name>>,
    pub pos: Pos,
    pub written: Written,
}

/// The parts of a name after the second as they are written: the case of a field of JSON counts. Empty if it is that of
/// the parts. Ignored in comparisons, like positions.
#[derive(Clone, Debug, Default)]
pub struct Written(pub Vec<String>);

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Written {}
impl std::hash::Hash for Written {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Name {
    /// A name with one part.
    pub fn simple(ident: Ident) -> Name {
        let pos = ident.pos;
        Name { parts: vec![ident], link: None, pos, written: Written::default() }
    }
    /// A part as it is written, if it is one after the second.
    pub fn written(&self, part: usize) -> &str {
        let written = part.checked_sub(2).and_then(|at| self.written.0.get(at));
        written.unwrap_or(&self.parts[part].name)
    }
    /// The last part, which is the object's own name.
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", |part| &part.name)
    }
    /// The part before the last: the schema of an object, or the table of a column.
    pub fn qualifier(&self) -> Option<&str> {
        let n = self.parts.len();
        (n >= 2).then(|| self.parts[n - 2].name.as_str())
    }
    /// The only part of an unqualified name.
    pub fn as_simple(&self) -> Option<&str> {
        (self.parts.len() == 1 && self.link.is_none()).then(|| self.parts[0].name.as_str())
    }
}

/// A statement as received by the session.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Call(Box<CallStatement>),
    ExplainPlan(Box<ExplainPlan>),
    Commit(Commit),
    Rollback(Rollback),
    Savepoint(Ident),
    SetTransaction(SetTransaction),
    SetRole(SetRole),
    SetConstraints(SetConstraints),
    LockTable(LockTable),
    /// An anonymous PL/SQL block: the whole text of the statement, parsed by `sql::plsql`.
    Block {
        pos: Pos,
    },
    Ddl(Box<Ddl>),
    AlterSession(AlterSession),
    AlterSystem(AlterSystem),
}

impl Statement {
    /// Whether the statement commits before and after itself.
    pub fn is_ddl(&self) -> bool {
        matches!(self, Statement::Ddl(_))
    }
}
