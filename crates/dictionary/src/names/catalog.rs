//! The planner's interface: names in, definitions out.

use super::resolve::Found;
use super::session::SessionCatalog;
use crate::*;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

impl SessionCatalog {
    fn find_relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>> {
        if let Some(table) = &self.ahead
            && schema == Some(table.owner.as_str())
            && name == table.name
        {
            return Ok(Some(Resolved::Table(Rc::clone(table))));
        }
        Ok(match self.find(schema, name, ObjectKind::Table.namespace())? {
            None => None,
            Some(Found::Base(base)) => {
                // The tables that SELECT ANY DICTIONARY excludes are visible, and access is refused later.
                let open = self.reads_base(base) || self.has(SystemPrivilege::SelectAnyDictionary);
                open.then(|| self.image.base_table(base)).transpose()?.map(Resolved::Table)
            }
            Some(Found::CatalogView(at)) => {
                let (name, text) = catalog_views()[at];
                let open = self.reads_catalog_view(name);
                open.then(|| {
                    Resolved::View(Rc::new(ViewDef {
                        object: ObjectId(CATALOG_FIRST_OBJECT + at as u32),
                        owner_id: UserId::SYS,
                        owner: "SYS".into(),
                        name: name.to_owned(),
                        text: text.to_owned(),
                        columns: Vec::new(),
                        types: Vec::new(),
                        triggers: Vec::new(),
                        read_only: true,
                        check_option: false,
                        bequeaths: false,
                        catalog: true,
                        valid: true,
                        epoch: self.image.epoch(),
                    }))
                })
            }
            Some(Found::Fixed(id, name, columns)) => {
                let open = self.reads_fixed(&name);
                open.then(|| Resolved::Table(self.fixed_table(id, name, columns)))
            }
            Some(Found::Object(object)) => match self.visible(object).map(|def| def.kind) {
                Some(ObjectKind::Table) => self.image.table(object)?.map(Resolved::Table),
                Some(ObjectKind::View) => self.image.view(object)?.map(Resolved::View),
                _ => None,
            },
        })
    }
}

impl Catalog for SessionCatalog {
    fn system_statistics(&self) -> SystemStatistics {
        self.image.system_statistics()
    }

    fn user(&self) -> (UserId, String) {
        (self.user, self.user_name(self.user))
    }

    fn schema(&self) -> (UserId, String) {
        (self.schema, self.user_name(self.schema))
    }

    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>> {
        let found = self.find_relation(schema, name)?;
        self.checked(found)
    }

    fn sequence(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<SequenceDef>>> {
        let Some(Found::Object(object)) = self.find(schema, name, ObjectKind::Sequence.namespace())? else {
            return self.checked(None);
        };
        self.checked(self.visible(object).and_then(|def| self.image.sequence(def.object)))
    }

    fn unit(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<ProcedureDef>>> {
        let Some(Found::Object(object)) = self.find(schema, name, ObjectKind::Procedure.namespace())? else {
            return self.checked(None);
        };
        self.checked(self.visible(object).and_then(|def| self.image.unit(def.object)))
    }

    fn table_by_id(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>> {
        if let Some(table) = self.ahead.as_ref().filter(|table| table.object == object) {
            return Ok(Some(Rc::clone(table)));
        }
        self.image.table(object)
    }

    fn index_by_id(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>> {
        self.image.index(object)
    }

    fn sequence_by_id(&self, object: ObjectId) -> Result<Option<Rc<SequenceDef>>> {
        self.checked(self.image.sequence(object))
    }

    fn allowed(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege) -> Result<bool> {
        self.checked(self.may(object, owner, privilege, 0))
    }

    fn allowed_column(
        &self,
        object: ObjectId,
        owner: UserId,
        privilege: ObjectPrivilege,
        column: usize,
    ) -> Result<bool> {
        self.checked(self.may(object, owner, privilege, column as u32 + 1))
    }

    fn is_own_name(&self, name: &str) -> bool {
        let own = self.image.object_named(self.schema, ObjectKind::Table.namespace(), name);
        own.is_some_and(|def| def.object.0 >= FIRST_USER_OBJECT)
    }

    fn as_owner(&self, owner: UserId) -> Result<Box<dyn Catalog + '_>> {
        let (all_powerful, for_other) = (owner == UserId::SYS, owner != self.user);
        // Objects used by an own view count as used by the views over it.
        let uses = if for_other { Rc::default() } else { Rc::clone(&self.uses) };
        let roles = Rc::default();
        Ok(Box::new(SessionCatalog {
            user: owner,
            schema: owner,
            all_powerful,
            for_other,
            roles,
            uses,
            ..self.clone()
        }))
    }

    fn called(&self, object: ObjectId) -> Option<ObjectName> {
        let def = self.image.object(object)?;
        let cluster = match def.kind {
            ObjectKind::Table => match &self.image.table(object).ok()??.organization {
                Organization::HashCluster { cluster, .. } => Some(cluster.object),
                _ => None,
            },
            _ => None,
        };
        let owner = self.image.user_name(def.owner_id);
        Some(ObjectName { object, owner, name: def.name.clone(), kind: def.kind, cluster })
    }

    fn view_compiled(&self, view: &ViewDef, error: Option<&Ora>) {
        // An error for another user may be caused by a privilege that the owner has without the grant option.
        if error.is_some() && self.user != view.owner_id {
            return;
        }
        let errors = error.map(|e| ErrorLine { line: 0, column: 0, text: e.headline() }).into_iter().collect();
        self.verdicts.borrow_mut().push(Verdict { object: view.object, epoch: view.epoch, errors });
    }

    fn take_followed(&self) -> Vec<ObjectId> {
        std::mem::take(&mut self.followed.borrow_mut())
    }

    fn epoch(&self) -> u64 {
        self.image.epoch()
    }
}
