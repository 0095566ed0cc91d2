//! The objects and users that a statement names.

use super::state::{Target, Work};
use dictionary::base::Base;
use dictionary::{Catalog, ObjectDef, ObjectKind, SystemPrivilege, TableDef, UserId};
use sql::ast::{Ident, Name};
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

impl Work<'_> {
    /// The schema and name that a statement refers to. ORA-01918 for a schema that does not exist.
    pub fn target(&self, name: &Name) -> Result<Target> {
        let pos = name.pos.0;
        if name.link.is_some() {
            return Err(Ora::new(2021).at(pos));
        }
        let (owner, owner_name) = match name.parts.as_slice() {
            [_] => self.names.schema(),
            [schema, _] => self.schema(schema)?,
            _ => return Err(Ora::new(926).at(pos)),
        };
        let last = name.parts.last().map_or(0, |part| part.pos.0);
        Ok(Target { owner, owner_name, name: name.last().to_owned(), pos: last })
    }

    fn schema(&self, schema: &Ident) -> Result<(UserId, String)> {
        match self.image.user_named(&schema.name).filter(|user| !user.is_role) {
            Some(user) => Ok((user.id, user.name.clone())),
            None => Err(Ora::with(1918, &[&schema.name]).at(schema.pos.0)),
        }
    }

    /// ORA-01031 unless the session has `own` for its own schema, or `any` for another's.
    pub fn require(&self, target: &Target, own: Option<SystemPrivilege>, any: SystemPrivilege) -> Result<()> {
        let allowed = if target.owner == self.session.user {
            own.is_none_or(|privilege| self.names.has(privilege) || self.names.has(any))
        } else {
            self.names.has(any) && (target.owner != UserId::SYS || self.names.is_sysdba())
        };
        if allowed { Ok(()) } else { Err(Ora::new(1031).at(target.pos)) }
    }

    /// ORA-01918 when the schema of the target was dropped meanwhile.
    pub fn require_owner(&self, target: &Target) -> Result<()> {
        match self.image.user(target.owner) {
            Some(_) => Ok(()),
            None => Err(Ora::with(1918, &[&target.owner_name]).at(target.pos)),
        }
    }

    /// ORA-00955 when the name is in use in the kind's name space.
    pub fn require_new(&self, target: &Target, kind: ObjectKind) -> Result<()> {
        let taken = self.image.object_named(target.owner, kind.namespace(), &target.name).is_some()
            || (target.owner == UserId::SYS && kind.namespace() == 1 && Base::named(&target.name).is_some());
        if taken { Err(Ora::new(955).at(target.pos)) } else { Ok(()) }
    }

    /// The object of that kind; `missing` is the error when it does not exist or is not visible to the session.
    pub fn existing(&self, target: &Target, kind: ObjectKind, missing: u32) -> Result<ObjectId> {
        let found = self.names.object(Some(&target.owner_name), &target.name, kind.namespace());
        self.found(found, target, kind, missing)
    }

    /// Like [`Work::existing`], if the statement is also allowed by the privilege `any`, which then makes the object
    /// visible.
    pub fn existing_for(
        &self,
        target: &Target,
        kind: ObjectKind,
        missing: u32,
        any: SystemPrivilege,
    ) -> Result<ObjectId> {
        let found = self.names.object_for(Some(&target.owner_name), &target.name, kind.namespace(), any);
        self.found(found, target, kind, missing)
    }

    fn found(&self, found: Option<&ObjectDef>, target: &Target, kind: ObjectKind, missing: u32) -> Result<ObjectId> {
        match found.filter(|object| object.kind == kind) {
            Some(object) if object.object.0 < dictionary::FIRST_USER_OBJECT => Err(Ora::new(701).at(target.pos)),
            Some(object) => Ok(object.object),
            None if missing == 4043 => Err(Ora::with(4043, &[&target.name]).at(target.pos)),
            None => Err(Ora::new(missing).at(target.pos)),
        }
    }

    /// The table with that number in the dictionary.
    pub fn existing_table(&self, object: ObjectId) -> Result<Rc<TableDef>> {
        self.image.table(object)?.ok_or_else(|| Ora::internal(format_args!("[no tab$ row of {object}]")))
    }

    /// The user or role with that name.
    pub fn existing_user(&self, name: &Ident, role: bool, code: u32) -> Result<UserId> {
        let found = self.image.user_named(&name.name).filter(|user| user.is_role == role);
        found.map(|user| user.id).ok_or_else(|| Ora::with(code, &[&name.name]).at(name.pos.0))
    }
}
