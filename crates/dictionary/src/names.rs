//! Names as one session resolves them, over a picture of the dictionary.

use crate::cached::Look;
use crate::*;
use row_cache::Cache;
use std::cell::RefCell;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// Longest chain of synonyms; a longer one is a loop to Oracle (ORA-01775).
const SYNONYM_CHAIN_MAX: usize = 16;

/// Synonyms that are remembered until somebody asks.
const FOLLOWED_MAX: usize = 64;

/// The first object number of fixed tables.
pub const FIXED_FIRST_OBJECT: u32 = 4_294_900_000;

/// Names as one session resolves them. Cheap to make: a picture and two users.
#[derive(Clone)]
pub struct SessionCatalog {
    image: Rc<Image>,
    fixed: Rc<dyn FixedCatalog>,
    user: UserId,
    schema: UserId,
    /// SYSDBA, or the owner of a catalog view: no privilege is asked for.
    all_powerful: bool,
    /// Without it, names are looked up in the picture alone.
    look: Option<Look>,
    /// A definition that is not in the dictionary yet, and stands for what is there.
    ahead: Option<Rc<TableDef>>,
    /// Synonyms that were followed and not yet asked for; the same for all that see the same names as others.
    followed: Rc<RefCell<Vec<ObjectId>>>,
}

/// What an unqualified or qualified name stands for before its kind is looked at.
enum Found {
    Object(ObjectId),
    Base(Base),
    CatalogView(usize),
    Fixed(FixedId, String, Vec<ColumnDef>),
}

impl SessionCatalog {
    pub fn new(image: Rc<Image>, fixed: Rc<dyn FixedCatalog>, user: UserId, schema: UserId, sysdba: bool) -> Self {
        let all_powerful = sysdba || user == UserId::SYS;
        let followed = Rc::default();
        SessionCatalog { image, fixed, user, schema, all_powerful, look: None, ahead: None, followed }
    }

    /// The same names, looked up in the row cache.
    pub(crate) fn looking_up(self, look: Option<Look>) -> SessionCatalog {
        SessionCatalog { look, ..self }
    }

    /// The same names, and a table as it will be once the statement that defines it has committed. What can be named may be read.
    #[must_use]
    pub fn ahead(&self, table: Rc<TableDef>) -> SessionCatalog {
        SessionCatalog { ahead: Some(table), all_powerful: true, ..self.clone() }
    }

    /// `dc_objects`, by owner, name space and name.
    fn object_named(&self, owner: UserId, space: u8, name: &str) -> Option<&ObjectDef> {
        let known = || self.image.object_named(owner, space, name);
        let Some(look) = &self.look else { return known() };
        let numbers = [owner.0, space.into()];
        let id = look.number(&self.image, Cache::Objects, &numbers, name, || known().map(|def| def.object.0))?;
        let is_it = |def: &&ObjectDef| def.owner_id == owner && def.kind.namespace() == space && def.name == name;
        self.image.object(ObjectId(id)).filter(is_it).or_else(known)
    }

    fn user_named(&self, name: &str) -> Option<&Rc<UserDef>> {
        match &self.look {
            Some(look) => look.user_named(&self.image, name),
            None => self.image.user_named(name),
        }
    }

    /// `dc_users`, by number.
    fn user_name(&self, user: UserId) -> String {
        self.note(Cache::UserIds, &[user.0], || self.image.user(user).is_some());
        self.image.user_name(user)
    }

    /// Whether the dictionary has something, by way of the row cache.
    fn is(&self, cache: Cache, numbers: &[u32], known: impl Fn() -> bool) -> bool {
        match &self.look {
            Some(look) => look.is(&self.image, cache, numbers, known),
            None => known(),
        }
    }

    /// As [`Self::is`], where the picture gives the definition.
    fn note(&self, cache: Cache, numbers: &[u32], known: impl Fn() -> bool) {
        if self.look.is_some() {
            self.is(cache, numbers, known);
        }
    }

    /// `dc_system_privileges`.
    fn has_privilege(&self, privilege: SystemPrivilege) -> bool {
        let numbers = [self.user.0, privilege.number().unsigned_abs() as u32];
        self.is(Cache::SystemPrivileges, &numbers, || self.image.has_privilege(self.user, privilege))
    }

    /// `dc_object_grants`, of one privilege.
    fn has_object_grant(&self, object: ObjectId, privilege: ObjectPrivilege) -> bool {
        let known = || self.image.has_object_grant(self.user, object, privilege, false);
        self.is(Cache::ObjectGrants, &[self.user.0, object.0, privilege as u32], known)
    }

    /// `dc_object_grants`, of any privilege.
    fn has_any_object_grant(&self, object: ObjectId) -> bool {
        let known = || self.image.has_any_object_grant(self.user, object);
        self.is(Cache::ObjectGrants, &[self.user.0, object.0, u32::MAX], known)
    }

    /// Looks up what a statement on a table needs beside its definition: `dc_segments` and `dc_tablespaces` of the table and its
    /// indexes, `dc_histogram_defs` of the columns that have statistics.
    fn look_up_parts(&self, table: &TableDef) {
        if self.look.is_none() {
            return;
        }
        let own = match &table.organization {
            Organization::Heap(segment) | Organization::Index(segment) => Some(segment),
            Organization::HashCluster { cluster, .. } => Some(&cluster.segment),
            Organization::Fixed(_) => None,
        };
        for segment in own.into_iter().chain(table.indexes.iter().map(|index| &index.segment)) {
            let (file, block) = (segment.header.file(), segment.header.block());
            self.note(Cache::Segments, &[segment.tablespace, file, block], || true);
            self.note(Cache::Tablespaces, &[segment.tablespace], || true);
        }
        for (at, _) in table.columns.iter().enumerate().filter(|(_, column)| column.statistics.is_some()) {
            self.note(Cache::HistogramDefs, &[table.object.0, at as u32 + 1], || true);
        }
    }

    /// The picture that names are resolved in.
    pub fn image(&self) -> &Rc<Image> {
        &self.image
    }

    pub fn is_sysdba(&self) -> bool {
        self.all_powerful
    }

    /// Whether the session has the system privilege.
    pub fn has(&self, privilege: SystemPrivilege) -> bool {
        self.all_powerful || self.has_privilege(privilege)
    }

    /// Resolves a name to an object, following synonyms. `space` is the name space.
    fn find(&self, schema: Option<&str>, name: &str, space: u8) -> Result<Option<Found>> {
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
            self.note(Cache::Synonyms, &[object.0], || true);
            self.note_followed(object);
            if synonym.link.is_some() {
                return Err(Ora::new(2019));
            }
            place = (Some(synonym.target_owner), synonym.target_name);
        }
        Err(Ora::new(1775))
    }

    fn find_once(&self, schema: Option<&str>, name: &str, space: u8) -> Option<Found> {
        let object = |owner| self.object_named(owner, space, name).map(|def| Found::Object(def.object));
        match schema {
            Some("SYS") => object(UserId::SYS).filter(not_catalog).or_else(|| sys_name(name, &*self.fixed)),
            Some(owner) => object(self.user_named(owner)?.id),
            None => {
                let own = object(self.schema).filter(not_catalog);
                let own = own.or_else(|| if self.schema == UserId::SYS { sys_name(name, &*self.fixed) } else { None });
                own.or_else(|| object(UserId::PUBLIC)).or_else(|| public_name(name, &*self.fixed))
            }
        }
    }

    fn note_followed(&self, synonym: ObjectId) {
        let mut followed = self.followed.borrow_mut();
        if followed.len() < FOLLOWED_MAX && !followed.contains(&synonym) {
            followed.push(synonym);
        }
    }

    /// Whether the session may know that the object exists.
    fn sees(&self, object: &ObjectDef) -> bool {
        use SystemPrivilege::*;
        const ANY: &[SystemPrivilege] = &[SelectAnyTable, ReadAnyTable, InsertAnyTable, UpdateAnyTable, DeleteAnyTable];
        if self.all_powerful || object.owner_id == self.user || self.has_any_object_grant(object.object) {
            return true;
        }
        let any: &[SystemPrivilege] = match object.kind {
            ObjectKind::Table | ObjectKind::View => ANY,
            ObjectKind::Sequence => &[SelectAnySequence],
            ObjectKind::Type => &[ExecuteAnyType, ExecuteAnyProcedure],
            _ => &[ExecuteAnyProcedure, CreateAnyProcedure],
        };
        object.owner_id != UserId::SYS && any.iter().any(|privilege| self.has(*privilege))
    }

    fn visible(&self, object: ObjectId) -> Option<&ObjectDef> {
        self.note(Cache::ObjectIds, &[object.0], || self.image.object(object).is_some());
        self.image.object(object).filter(|def| self.sees(def))
    }

    fn sees_dictionary(&self) -> bool {
        self.has(SystemPrivilege::SelectAnyDictionary)
    }

    fn fixed_table(&self, id: FixedId, name: String, columns: Vec<ColumnDef>) -> Rc<TableDef> {
        Rc::new(TableDef {
            object: ObjectId(FIXED_FIRST_OBJECT + id.0),
            owner_id: UserId::SYS,
            owner: "SYS".into(),
            name,
            columns,
            organization: Organization::Fixed(id),
            indexes: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            statistics: None,
            temporary: None,
            options: TableOptions::default(),
            epoch: self.image.epoch(),
        })
    }

    /// The stored units of that name: both parts of a package or type.
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
        Ok(list)
    }

    /// The rows of `obj$` of a stored unit: it, and the body of a package or type. Nothing is looked up in the row cache.
    pub fn parts_of_unit(&self, owner: &str, name: &str) -> Vec<ObjectDef> {
        let Some(owner) = self.image.user_named(owner) else { return Vec::new() };
        let spaces = [ObjectKind::Procedure.namespace(), ObjectKind::PackageBody.namespace()];
        spaces.iter().filter_map(|space| self.image.object_named(owner.id, *space, name).cloned()).collect()
    }

    /// The table, view, sequence or unit that a name of DDL means: own schema unless qualified, synonyms not followed.
    pub fn object(&self, schema: Option<&str>, name: &str, space: u8) -> Option<&ObjectDef> {
        let owner = match schema {
            Some(owner) => self.user_named(owner)?.id,
            None => self.schema,
        };
        self.object_named(owner, space, name).filter(|def| self.sees(def))
    }
}

/// Catalog views have rows in OBJ$ for ALL_OBJECTS, yet are found by name.
fn not_catalog(found: &Found) -> bool {
    !matches!(found, Found::Object(object) if object.0 < FIRST_USER_OBJECT)
}

/// What SYS owns without a row that says more than its name.
fn sys_name(name: &str, fixed: &dyn FixedCatalog) -> Option<Found> {
    if let Some(base) = Base::named(name) {
        return Some(Found::Base(base));
    }
    public_name(name, fixed)
}

/// What everybody can name without a schema.
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
    fixed.find(name).map(|(id, columns)| Found::Fixed(id, name.to_owned(), columns.to_vec()))
}

impl Catalog for SessionCatalog {
    fn user(&self) -> (UserId, String) {
        (self.user, self.user_name(self.user))
    }

    fn schema(&self) -> (UserId, String) {
        (self.schema, self.user_name(self.schema))
    }

    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>> {
        if let Some(table) = &self.ahead
            && schema == Some(table.owner.as_str())
            && name == table.name
        {
            return Ok(Some(Resolved::Table(Rc::clone(table))));
        }
        Ok(match self.find(schema, name, ObjectKind::Table.namespace())? {
            None => None,
            Some(Found::Base(base)) => {
                let open = base.is_public() || base == Base::PlanTable || self.sees_dictionary();
                open.then(|| self.image.base_table(base)).transpose()?.map(Resolved::Table)
            }
            Some(Found::CatalogView(at)) => {
                let (name, text) = catalog_views()[at];
                let open = !name.starts_with("DBA_") || self.sees_dictionary();
                open.then(|| {
                    Resolved::View(Rc::new(ViewDef {
                        object: ObjectId(CATALOG_FIRST_OBJECT + at as u32),
                        owner_id: UserId::SYS,
                        owner: "SYS".into(),
                        name: name.to_owned(),
                        text: text.to_owned(),
                        columns: Vec::new(),
                        read_only: true,
                        check_option: false,
                        catalog: true,
                        epoch: self.image.epoch(),
                    }))
                })
            }
            Some(Found::Fixed(id, name, columns)) => {
                let open = self.sees_dictionary() || is_public_fixed(&name);
                open.then(|| Resolved::Table(self.fixed_table(id, name, columns)))
            }
            Some(Found::Object(object)) => match self.visible(object).map(|def| def.kind) {
                Some(ObjectKind::Table) => self.image.table(object)?.map(|table| {
                    self.look_up_parts(&table);
                    Resolved::Table(table)
                }),
                Some(ObjectKind::View) => self.image.view(object)?.map(Resolved::View),
                _ => None,
            },
        })
    }

    fn sequence(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<SequenceDef>>> {
        let Some(Found::Object(object)) = self.find(schema, name, ObjectKind::Sequence.namespace())? else {
            return Ok(None);
        };
        let found = self.visible(object).and_then(|def| self.image.sequence(def.object));
        if found.is_some() {
            self.note(Cache::Sequences, &[object.0], || true);
        }
        Ok(found)
    }

    fn unit(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<ProcedureDef>>> {
        let Some(Found::Object(object)) = self.find(schema, name, ObjectKind::Procedure.namespace())? else {
            return Ok(None);
        };
        Ok(self.visible(object).and_then(|def| self.image.unit(def.object)))
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

    fn allowed(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege) -> Result<bool> {
        use SystemPrivilege as S;
        if self.all_powerful || (owner == self.user && object.0 >= FIRST_USER_OBJECT && object.0 < FIXED_FIRST_OBJECT) {
            return Ok(true);
        }
        if owner == UserId::SYS && (object.0 < FIRST_USER_OBJECT || object.0 >= FIXED_FIRST_OBJECT) {
            // What could be resolved may be read; PLAN_TABLE may be written too.
            let plan_table = object == Base::PlanTable.table().object;
            let reads = matches!(privilege, ObjectPrivilege::Select | ObjectPrivilege::Read);
            return Ok(reads || plan_table);
        }
        let any: &[S] = match privilege {
            ObjectPrivilege::Select | ObjectPrivilege::Read => &[S::SelectAnyTable, S::ReadAnyTable],
            ObjectPrivilege::Insert => &[S::InsertAnyTable],
            ObjectPrivilege::Update => &[S::UpdateAnyTable],
            ObjectPrivilege::Delete => &[S::DeleteAnyTable],
            ObjectPrivilege::Lock => &[S::LockAnyTable],
            ObjectPrivilege::Alter => &[S::AlterAnyTable],
            ObjectPrivilege::Index => &[S::CreateAnyIndex],
            ObjectPrivilege::Execute => &[S::ExecuteAnyProcedure],
            ObjectPrivilege::Flashback => &[S::FlashbackAnyTable],
            ObjectPrivilege::References | ObjectPrivilege::Debug => &[],
        };
        let is_sequence = self.image.object(object).is_some_and(|def| def.kind == ObjectKind::Sequence);
        let any = if is_sequence { &[S::SelectAnySequence] } else { any };
        let granted = |privilege| self.has_object_grant(object, privilege);
        Ok(any.iter().any(|privilege| self.has(*privilege))
            || granted(privilege)
            || (privilege == ObjectPrivilege::Select && granted(ObjectPrivilege::Read)))
    }

    fn as_owner(&self, owner: UserId) -> Result<Box<dyn Catalog + '_>> {
        let all_powerful = owner == UserId::SYS;
        Ok(Box::new(SessionCatalog { user: owner, schema: owner, all_powerful, ..self.clone() }))
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

    fn take_followed(&self) -> Vec<ObjectId> {
        std::mem::take(&mut self.followed.borrow_mut())
    }

    fn epoch(&self) -> u64 {
        self.image.epoch()
    }
}

/// The few V$ views that Oracle grants to everybody.
fn is_public_fixed(name: &str) -> bool {
    matches!(
        name,
        "V$VERSION"
            | "NLS_DATABASE_PARAMETERS"
            | "V$NLS_PARAMETERS"
            | "V$NLS_VALID_VALUES"
            | "V$TIMER"
            | "V$SESSION_CONNECT_INFO"
            | "V$OPTION"
            | "V$RESERVED_WORDS"
    )
}
