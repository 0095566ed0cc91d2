//! The planner's interface: names in, definitions out, as one session sees them.

use crate::{IndexDef, ObjectKind, ObjectPrivilege, ProcedureDef, Resolved, SequenceDef, TableDef, UserId, ViewDef};
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// Name resolution for one session: its schema, synonyms and privileges. The dictionary implements it over the base
/// tables; tests implement it over a map.
///
/// Every look-up returns `None` for an object that does not exist or is not visible: the caller raises the error at its
/// position (ORA-00942 for a table, ORA-02289 for a sequence, ORA-00904 for a function) (D7).
pub trait Catalog {
    /// The session user, or the owner of the running definer's rights unit: the value of USER is its name.
    fn user(&self) -> (UserId, String);
    /// CURRENT_SCHEMA: unqualified names are looked up there first.
    fn schema(&self) -> (UserId, String);
    /// A table or view for FROM and DML: own schema, private synonym, public synonym, fixed table, SYS object.
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>>;
    fn sequence(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<SequenceDef>>>;
    /// A procedure, function, package or type.
    fn unit(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<ProcedureDef>>>;
    /// The table with this number, without a privilege check: for foreign keys.
    fn table_by_id(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>>;
    fn index_by_id(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>>;
    /// The sequence with this number, without a privilege check: for plans made before.
    fn sequence_by_id(&self, _object: ObjectId) -> Result<Option<Rc<SequenceDef>>> {
        Ok(None)
    }
    /// True when the session has the privilege on the object. Invisible objects are not resolved in the first place;
    /// the result distinguishes success from ORA-01031.
    fn allowed(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege) -> Result<bool>;
    /// As [`Self::allowed`], for a column by its position from 0: a privilege on the object or on the column.
    fn allowed_column(
        &self,
        object: ObjectId,
        owner: UserId,
        privilege: ObjectPrivilege,
        _column: usize,
    ) -> Result<bool> {
        self.allowed(object, owner, privilege)
    }
    /// True when the schema itself has an object with this name, in the name space of tables.
    fn is_own_name(&self, _name: &str) -> bool {
        false
    }
    /// Name resolution for the owner of a view (`owner` is its schema), for the view's text.
    fn as_owner(&self, owner: UserId) -> Result<Box<dyn Catalog + '_>>;
    /// The name of an object, without a privilege check. `None` when it is not known, or for an object without a row in
    /// `obj$`.
    fn called(&self, _object: ObjectId) -> Option<ObjectName> {
        None
    }
    /// The synonyms followed by look-ups since the last call, each once.
    fn take_followed(&self) -> Vec<ObjectId> {
        Vec::new()
    }
    /// Stores the result of compiling the query of a view: no error, or the error.
    fn view_compiled(&self, _view: &ViewDef, _error: Option<&Ora>) {}
    /// The system statistics that were gathered or set.
    fn system_statistics(&self) -> crate::SystemStatistics {
        crate::SystemStatistics::default()
    }
    /// The dictionary epoch: a plan made at this epoch is valid while the epoch is the same, or while none of its
    /// objects has changed.
    fn epoch(&self) -> u64;
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    pub object: ObjectId,
    pub owner: String,
    pub name: String,
    pub kind: ObjectKind,
    /// The cluster of the table.
    pub cluster: Option<ObjectId>,
}
