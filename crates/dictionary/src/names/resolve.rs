//! Names to objects: schemas, synonyms, and the objects of SYS that are defined in the code.

use super::fixed_names::{grantable_name, is_grantable_name};
use super::rights::FIXED_FIRST_OBJECT;
use super::session::SessionCatalog;
use crate::*;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// Most followed synonyms kept until [`Catalog::take_followed`].
const FOLLOWED_MAX: usize = 64;

/// The object of a name in GRANT and REVOKE.
#[derive(Clone, Debug)]
pub enum Named {
    Object(ObjectDef),
    /// A view V_$ or GV_$ without grants, and so without a row in OBJ$.
    FixedView(String),
    /// A fixed table, on which no privilege can be granted.
    Fixed,
}

/// The object of a name, before its kind is checked.
pub(super) enum Found {
    Object(ObjectId),
    Base(Base),
    CatalogView(usize),
    Fixed(FixedId, String, Vec<ColumnDef>),
}

impl SessionCatalog {
    /// Resolves a name to an object, following synonyms. `space` is the name space.
    pub(super) fn find(&self, schema: Option<&str>, name: &str, space: u8) -> Result<Option<Found>> {
        let mut place = match schema {
            Some(owner) => (Some(owner.to_owned()), name.to_owned()),
            None => (None, name.to_owned()),
        };
        for _ in 0..SYNONYM_CHAIN_MAX {
            let Some(found) = self.find_once(place.0.as_deref(), &place.1, space) else {
                return Ok(None);
            };
            let Found::Object(object) = found else {
                return Ok(Some(found));
            };
            let Some(synonym) = self.image.synonym(object) else {
                return Ok(Some(Found::Object(object)));
            };
            self.note_followed(object);
            if synonym.link.is_some() {
                return Err(Ora::new(2019));
            }
            place = (Some(synonym.target_owner), synonym.target_name);
        }
        Err(Ora::new(1775))
    }

    pub(super) fn find_once(&self, schema: Option<&str>, name: &str, space: u8) -> Option<Found> {
        let object = |owner| self.object_named(owner, space, name).map(|def| Found::Object(def.object));
        match schema {
            Some("SYS") if is_grantable_name(name) => sys_name(name, &*self.fixed),
            Some("SYS") => object(UserId::SYS).filter(not_catalog).or_else(|| sys_name(name, &*self.fixed)),
            Some(owner) => object(self.user_named(owner)?.id),
            None => {
                let is_view_of_sys = self.schema == UserId::SYS && is_grantable_name(name);
                let own = object(self.schema).filter(|found| not_catalog(found) && !is_view_of_sys);
                let own = own.or_else(|| if self.schema == UserId::SYS { sys_name(name, &*self.fixed) } else { None });
                own.or_else(|| object(UserId::PUBLIC)).or_else(|| public_name(name, &*self.fixed))
            }
        }
    }

    pub(super) fn note_followed(&self, synonym: ObjectId) {
        let mut followed = self.followed.borrow_mut();
        if followed.len() < FOLLOWED_MAX && !followed.contains(&synonym) {
            followed.push(synonym);
        }
    }

    /// The object of a name in GRANT and REVOKE, if it is visible to the session; synonyms are followed.
    ///
    /// # Errors
    /// ORA-01775, ORA-02019.
    pub fn named(&self, schema: Option<&str>, name: &str) -> Result<Option<Named>> {
        let found = self.find_named(schema, name)?;
        self.checked(found)
    }

    pub(super) fn find_named(&self, schema: Option<&str>, name: &str) -> Result<Option<Named>> {
        let space = ObjectKind::Table.namespace();
        let (mut owner, mut name) = (schema.map(str::to_owned), name.to_owned());
        for _ in 0..SYNONYM_CHAIN_MAX {
            let of_sys = owner.as_deref() == Some("SYS") || (owner.is_none() && self.schema == UserId::SYS);
            let is_fixed = self.fixed.find(&name).is_some();
            if of_sys && is_fixed {
                let row = self.image.object_named(UserId::SYS, space, &name);
                if !self.reads_fixed(&name) {
                    return Ok(None);
                }
                return Ok(Some(match (row, grantable_name(&name)) {
                    (Some(def), _) => Named::Object(def.clone()),
                    (None, Some(view)) if view == name => Named::FixedView(name),
                    (None, _) => Named::Fixed,
                }));
            }
            let found = match &owner {
                Some(owner) => self.user_named(owner).and_then(|user| self.object_named(user.id, space, &name)),
                None => {
                    let own = self.object_named(self.schema, space, &name);
                    let own = own.or_else(|| self.object_named(UserId::PUBLIC, space, &name));
                    own.or_else(|| self.object_named(UserId::SYS, space, &name).filter(|def| is_public_name(def)))
                }
            };
            let Some(def) = found else { return Ok(is_fixed.then_some(Named::Fixed).filter(|_| owner.is_none())) };
            let Some(synonym) = self.image.synonym(def.object) else {
                let visible = self.sees(def)
                    || (def.owner_id == UserId::SYS && self.knows_of_sys(def.object))
                    || self.reaches(def, SystemPrivilege::GrantAnyObjectPrivilege);
                return Ok(visible.then(|| Named::Object(def.clone())));
            };
            if synonym.link.is_some() {
                return Err(Ora::new(2019));
            }
            (owner, name) = (Some(synonym.target_owner), synonym.target_name);
        }
        Err(Ora::new(1775))
    }

    /// The definitions of all fixed tables except GV$ views, without a privilege check.
    pub fn fixed_tables(&self) -> impl Iterator<Item = Rc<TableDef>> {
        let names = self.fixed.names().into_iter().filter(|name| !name.starts_with("GV$"));
        names.filter_map(|name| {
            let (id, columns) = self.fixed.find(&name)?;
            Some(self.fixed_table(id, name.clone(), columns.to_vec()))
        })
    }

    pub(super) fn fixed_table(&self, id: FixedId, name: String, mut columns: Vec<ColumnDef>) -> Rc<TableDef> {
        let statistics = self.image.with_fixed_statistics(&name, &mut columns);
        Rc::new(TableDef {
            object: ObjectId(FIXED_FIRST_OBJECT + id.0),
            owner_id: UserId::SYS,
            owner: "SYS".into(),
            name,
            columns,
            organization: Organization::Fixed(id),
            indexes: Vec::new(),
            lobs: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            statistics,
            temporary: None,
            options: TableOptions::default(),
            epoch: self.image.epoch(),
        })
    }

    /// The stored units with this name: both parts of a package or type.
    pub fn units(&self, schema: Option<&str>, name: &str) -> Result<Vec<Rc<ProcedureDef>>> {
        let mut list = Vec::new();
        if let Some(unit) = self.unit(schema, name)? {
            let body = match unit.kind {
                UnitKind::Package => Some(ObjectKind::PackageBody),
                UnitKind::Type => Some(ObjectKind::TypeBody),
                _ => None,
            };
            let body = body.and_then(|kind| self.image.find(unit.owner_id, kind, &unit.name));
            let body = body.and_then(|body| self.image.unit(body.object));
            list.push(unit);
            list.extend(body);
        }
        self.checked(list)
    }

    /// The rows of `obj$` of a stored unit, including the body of a package or type. Does not use the row cache.
    pub fn parts_of_unit(&self, owner: &str, name: &str) -> Vec<ObjectDef> {
        let Some(owner) = self.image.user_named(owner) else { return Vec::new() };
        let spaces = [ObjectKind::Procedure.namespace(), ObjectKind::PackageBody.namespace()];
        spaces.iter().filter_map(|space| self.image.object_named(owner.id, *space, name).cloned()).collect()
    }

    /// The object number of a package specification, procedure or function.
    pub fn unit_number(&self, owner: &str, name: &str) -> Option<u32> {
        let owner = self.image.user_named(owner)?;
        let def = self.image.object_named(owner.id, ObjectKind::Procedure.namespace(), name)?;
        Some(def.object.0)
    }

    /// The table, view, sequence or unit with this name in DDL: own schema unless qualified, synonyms not followed.
    pub fn object(&self, schema: Option<&str>, name: &str, space: u8) -> Option<&ObjectDef> {
        self.object_in(schema, name, space).filter(|def| self.sees(def))
    }

    /// As [`Self::object`], for a statement that the ANY privilege `any` allows on objects of all users: the privilege
    /// also makes them visible.
    pub fn object_for(&self, schema: Option<&str>, name: &str, space: u8, any: SystemPrivilege) -> Option<&ObjectDef> {
        self.object_in(schema, name, space).filter(|def| self.sees(def) || self.reaches(def, any))
    }

    pub(super) fn object_in(&self, schema: Option<&str>, name: &str, space: u8) -> Option<&ObjectDef> {
        let owner = match schema {
            Some(owner) => self.user_named(owner)?.id,
            None => self.schema,
        };
        self.object_named(owner, space, name)
    }
}

/// Catalog views have rows in OBJ$ for ALL_OBJECTS, but are resolved by name.
fn not_catalog(found: &Found) -> bool {
    !matches!(found, Found::Object(object) if object.0 < FIRST_USER_OBJECT)
}

/// The objects of SYS that are defined in the code.
fn sys_name(name: &str, fixed: &dyn FixedCatalog) -> Option<Found> {
    if let Some(base) = Base::named(name) {
        return Some(Found::Base(base));
    }
    public_name(name, fixed)
}

/// The objects of SYS in the code that every user can name without a schema.
fn public_name(name: &str, fixed: &dyn FixedCatalog) -> Option<Found> {
    if let Some(base) = Base::named(name).filter(|base| base.is_public()) {
        return Some(Found::Base(base));
    }
    if name == "PLAN_TABLE" {
        return Some(Found::Base(Base::PlanTable));
    }
    if let Some(at) = catalog_view(name) {
        return Some(Found::CatalogView(at));
    }
    // The views V_$ have no public synonyms; the public names are V$.
    fixed.find(name).map(|(id, columns)| Found::Fixed(id, name.to_owned(), columns.to_vec()))
}

/// True for an object that every user can name without a schema: the objects of SYS except its base tables.
fn is_public_name(def: &ObjectDef) -> bool {
    def.object.0 < FIRST_USER_OBJECT
        && match Base::of_object(def.object) {
            Some(base) => base.is_public() || base == Base::PlanTable,
            None => true,
        }
}
