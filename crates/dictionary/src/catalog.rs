//! The face the planner sees: names in, definitions out, as one session sees them.

use crate::{IndexDef, ObjectKind, ObjectPrivilege, ProcedureDef, Resolved, SequenceDef, TableDef, UserId, ViewDef};
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// Names as one session resolves them: its schema, synonyms, its privileges. The dictionary implements it over the
/// dictionary's tables; tests implement it over a map.
///
/// Every look-up returns `None` for what does not exist or may not be seen: the caller raises the error at its position
/// (ORA-00942 for a table, ORA-02289 for a sequence, ORA-00904 for a function).
pub trait Catalog {
    /// The user who is logged on (or who owns the running definer's-rights unit): the value of USER is its name.
    fn user(&self) -> (UserId, String);
    /// CURRENT_SCHEMA: where unqualified names are looked for first.
    fn schema(&self) -> (UserId, String);
    /// A table or view for FROM and DML: own schema, private synonym, public synonym, fixed table, SYS object.
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>>;
    fn sequence(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<SequenceDef>>>;
    /// A procedure, function, package or type.
    fn unit(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<ProcedureDef>>>;
    /// The table of that number, without regard to privileges: for foreign keys.
    fn table_by_id(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>>;
    fn index_by_id(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>>;
    /// The sequence of that number, without regard to privileges: for plans that were made before.
    fn sequence_by_id(&self, _object: ObjectId) -> Result<Option<Rc<SequenceDef>>> {
        Ok(None)
    }
    /// Whether the session may do that to the object. What it may not even see has not been resolved in the first
    /// place; this tells ORA-01031 from success.
    fn allowed(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege) -> Result<bool>;
    /// As [`Self::allowed`], of a column by its position from 0: a privilege on the whole object or on the column.
    fn allowed_column(
        &self,
        object: ObjectId,
        owner: UserId,
        privilege: ObjectPrivilege,
        _column: usize,
    ) -> Result<bool> {
        self.allowed(object, owner, privilege)
    }
    /// Whether the schema has an object of its own of that name, in the name space of tables.
    fn is_own_name(&self, _name: &str) -> bool {
        false
    }
    /// The same names seen by the owner of a view (`owner` is its schema): what a view's text may use.
    fn as_owner(&self, owner: UserId) -> Result<Box<dyn Catalog + '_>>;
    /// What an object is called, without regard to privileges. `None` where nobody knows, and for what has no name in
    /// `obj$`.
    fn called(&self, _object: ObjectId) -> Option<ObjectName> {
        None
    }
    /// Synonyms that look-ups have followed since this was asked last, each once.
    fn take_followed(&self) -> Vec<ObjectId> {
        Vec::new()
    }
    /// Notes how compiling the query of a view went: no error, or that of the query.
    fn view_compiled(&self, _view: &ViewDef, _error: Option<&Ora>) {}
    /// The times of reads, as gathered or set.
    fn system_statistics(&self) -> crate::SystemStatistics {
        crate::SystemStatistics::default()
    }
    /// The dictionary epoch: a plan made at this value is good as long as it is still the value (or no object of it has
    /// changed).
    fn epoch(&self) -> u64;
}

/// What an object is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    pub object: ObjectId,
    pub owner: String,
    pub name: String,
    pub kind: ObjectKind,
    /// The cluster that the table's rows are in.
    pub cluster: Option<ObjectId>,
}
