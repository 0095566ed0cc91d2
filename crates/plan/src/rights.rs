//! The privileges of a statement on the objects that it names.

use crate::scope::Compiler;
use dictionary::{ObjectPrivilege, TableDef, UserId};
use types::{ObjectId, Ora, Result};

impl Compiler<'_> {
    /// Checks (ORA-01031) that the session has a privilege on the object.
    pub fn check_privilege(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege, pos: u32) -> Result<()> {
        if self.catalog().allowed(object, owner, privilege)? { Ok(()) } else { Err(Ora::new(1031).at(pos)) }
    }

    /// ORA-01031 unless the session has the privilege on the object, or on each of the columns.
    pub fn check_change(
        &self,
        names: &dyn dictionary::Catalog,
        (object, owner): (ObjectId, UserId),
        privilege: ObjectPrivilege,
        columns: &[usize],
        pos: u32,
    ) -> Result<()> {
        let mut allowed = names.allowed(object, owner, privilege)?;
        if !allowed && !columns.is_empty() {
            allowed = true;
            for column in columns {
                allowed = allowed && names.allowed_column(object, owner, privilege, *column)?;
            }
        }
        if allowed { Ok(()) } else { Err(Ora::new(1031).at(pos)) }
    }

    /// Compiles an expression of a table (virtual column, default, condition) with its owner's names and privileges, as
    /// for a view.
    pub fn as_owner_of<R>(&mut self, table: &TableDef, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.catalogs.push(self.base.as_owner(table.owner_id)?);
        self.text_owners.push(crate::services::TextOwner {
            owner: table.owner_id,
            bequeaths: false,
            view: false,
            catalog: false,
        });
        let result = f(self);
        self.text_owners.pop();
        self.catalogs.pop();
        result
    }
}
