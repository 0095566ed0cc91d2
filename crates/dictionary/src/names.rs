//! Name resolution for one session, over a picture of the dictionary.

use crate::moment::Lease;
use crate::*;
use std::cell::RefCell;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// Most followed synonyms kept until [`Catalog::take_followed`].
const FOLLOWED_MAX: usize = 64;

/// The first object number of fixed tables.
pub const FIXED_FIRST_OBJECT: u32 = 4_294_900_000;

/// The user whose privileges count, with its enabled roles, and the schema of unqualified names.
#[derive(Clone, Debug)]
pub struct Principal {
    pub user: UserId,
    pub schema: UserId,
    /// Connected AS SYSDBA: every privilege.
    pub sysdba: bool,
    /// The enabled roles, including the roles granted to them.
    pub roles: Rc<[u32]>,
}

impl Principal {
    /// The grantees whose privileges count: the user, PUBLIC, the enabled roles.
    pub fn grantees(&self) -> Vec<u32> {
        [self.user.0, UserId::PUBLIC.0].iter().chain(&*self.roles).copied().collect()
    }

    /// A user with the privileges granted directly to it and to PUBLIC: those of definer's rights units and of views.
    pub fn owner(user: UserId) -> Principal {
        Principal { user, schema: user, sysdba: user == UserId::SYS, roles: Rc::default() }
    }
}

/// Name resolution for one session. Cheap to make: a picture, two users and the enabled roles.
#[derive(Clone)]
pub struct SessionCatalog {
    image: Rc<Image>,
    /// Allows the picture to read further rows.
    _lease: Option<Lease>,
    fixed: Rc<dyn FixedCatalog>,
    user: UserId,
    schema: UserId,
    /// SYSDBA, or the owner of a catalog view: privileges are not checked.
    all_powerful: bool,
    /// The enabled roles, including the roles granted to them.
    roles: Rc<[u32]>,
    /// A definition that is not in the dictionary yet; it hides the present definition.
    ahead: Option<Rc<TableDef>>,
    /// Resolves for the owner of a view that another user reads: the owner's privileges count only with the grant
    /// option.
    for_other: bool,
    /// Followed synonyms that were not taken yet; shared by all copies with the same names.
    followed: Rc<RefCell<Vec<ObjectId>>>,
    /// Between `note_uses` and `take_uses`: the objects of other users whose privileges were checked.
    uses: Rc<RefCell<Option<Vec<ObjectId>>>>,
    /// The results of compiling views.
    verdicts: Verdicts,
}

/// The result of a check of EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Yes,
    /// The unit is visible, but may not be executed.
    Visible,
    /// The unit is not visible to the session.
    Hidden,
}

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
enum Found {
    Object(ObjectId),
    Base(Base),
    CatalogView(usize),
    Fixed(FixedId, String, Vec<ColumnDef>),
}

impl SessionCatalog {
    pub fn new(image: Rc<Image>, fixed: Rc<dyn FixedCatalog>, who: &Principal) -> Self {
        let Principal { user, schema, sysdba, ref roles } = *who;
        let all_powerful = sysdba || user == UserId::SYS;
        let (roles, followed, uses) = (Rc::clone(roles), Rc::default(), Rc::default());
        SessionCatalog {
            image,
            _lease: None,
            fixed,
            user,
            schema,
            all_powerful,
            roles,
            ahead: None,
            for_other: false,
            followed,
            uses,
            verdicts: Verdicts::default(),
        }
    }

    /// The same names, with a lease of the picture's moment.
    pub(crate) fn leased(&self, lease: Lease) -> SessionCatalog {
        SessionCatalog { _lease: Some(lease), ..self.clone() }
    }

    /// The same names without a lease, to be kept; they cannot read further rows. See [`Dictionary::names_again`].
    #[must_use]
    pub fn kept(&self) -> SessionCatalog {
        SessionCatalog { _lease: None, ..self.clone() }
    }

    /// Returns the result of a look-up, or the error if one of its reads failed.
    fn checked<T>(&self, answer: T) -> Result<T> {
        self.image.checked().map(|()| answer)
    }

    /// The same names, storing the results of compiling views in `verdicts`.
    pub(crate) fn noting(self, verdicts: Verdicts) -> SessionCatalog {
        SessionCatalog { verdicts, ..self }
    }

    /// The same names, with the definition of a table after the commit of the present statement. Every resolved object
    /// may be read.
    #[must_use]
    pub fn ahead(&self, table: Rc<TableDef>) -> SessionCatalog {
        SessionCatalog { ahead: Some(table), all_powerful: true, ..self.clone() }
    }

    /// The object with this owner, name space and name.
    fn object_named(&self, owner: UserId, space: u8, name: &str) -> Option<&ObjectDef> {
        self.image.object_named(owner, space, name)
    }

    fn user_named(&self, name: &str) -> Option<&Rc<UserDef>> {
        self.image.user_named(name)
    }

    fn user_name(&self, user: UserId) -> String {
        self.image.user_name(user)
    }

    /// The grantees that count for the user without any roles.
    fn own(&self) -> [u32; 2] {
        [self.user.0, UserId::PUBLIC.0]
    }

    fn has_privilege(&self, privilege: SystemPrivilege) -> bool {
        self.image.is_granted(&self.own(), privilege) || self.image.is_granted(&self.roles, privilege)
    }

    fn has_object_grant(&self, object: ObjectId, privilege: ObjectPrivilege) -> bool {
        let granted = |grantees: &[u32]| self.image.is_granted_on(grantees, object, privilege, 0, false);
        granted(&self.own()) || granted(&self.roles)
    }

    fn has_any_object_grant(&self, object: ObjectId) -> bool {
        let granted = |grantees: &[u32]| self.image.is_granted_any_on(grantees, object);
        granted(&self.own()) || granted(&self.roles)
    }

    /// The picture in which names are resolved.
    pub fn image(&self) -> &Rc<Image> {
        &self.image
    }

    pub fn is_sysdba(&self) -> bool {
        self.all_powerful
    }

    /// True when the session has the system privilege.
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

    fn note_followed(&self, synonym: ObjectId) {
        let mut followed = self.followed.borrow_mut();
        if followed.len() < FOLLOWED_MAX && !followed.contains(&synonym) {
            followed.push(synonym);
        }
    }

    /// True when the object is visible to the session (D7).
    fn sees(&self, object: &ObjectDef) -> bool {
        use SystemPrivilege::*;
        if self.all_powerful || object.owner_id == self.user || self.has_any_object_grant(object.object) {
            return true;
        }
        let any: &[SystemPrivilege] = match object.kind {
            ObjectKind::Table | ObjectKind::View => &[
                SelectAnyTable,
                ReadAnyTable,
                InsertAnyTable,
                UpdateAnyTable,
                DeleteAnyTable,
                CreateAnyTable,
                AlterAnyTable,
                DropAnyTable,
                LockAnyTable,
                CommentAnyTable,
                FlashbackAnyTable,
            ],
            ObjectKind::Sequence => &[SelectAnySequence, CreateAnySequence, AlterAnySequence, DropAnySequence],
            ObjectKind::Type | ObjectKind::TypeBody => {
                &[ExecuteAnyType, CreateAnyType, AlterAnyType, DropAnyType, DebugAnyProcedure]
            }
            ObjectKind::Index => &[CreateAnyIndex, AlterAnyIndex, DropAnyIndex],
            ObjectKind::Cluster => &[CreateAnyCluster, AlterAnyCluster, DropAnyCluster],
            ObjectKind::Trigger => &[CreateAnyTrigger, AlterAnyTrigger, DropAnyTrigger, DebugAnyProcedure],
            ObjectKind::Synonym => &[CreateAnySynonym, DropAnySynonym],
            _ => &[ExecuteAnyProcedure, CreateAnyProcedure, AlterAnyProcedure, DropAnyProcedure, DebugAnyProcedure],
        };
        if object.owner_id == UserId::SYS {
            // ANY privileges do not apply to objects of SYS. SELECT ANY DICTIONARY shows its tables and views, not its
            // units.
            let is_unit = any.contains(&ExecuteAnyProcedure);
            return !is_unit && self.has(SelectAnyDictionary);
        }
        any.iter().any(|privilege| self.has(*privilege))
    }

    fn visible(&self, object: ObjectId) -> Option<&ObjectDef> {
        self.image.object(object).filter(|def| self.sees(def))
    }

    /// As [`Self::has`]; the owner of a view that another user reads needs the admin option.
    fn has_to_use(&self, privilege: SystemPrivilege) -> bool {
        let gives = !self.for_other || self.image.has_granted(&self.own(), privilege.number(), true);
        gives && self.has(privilege)
    }

    /// As [`Self::has_object_grant`], for the whole object or one column; the owner of a view that another user reads
    /// needs the grant option.
    fn granted_to_use(&self, object: ObjectId, privilege: ObjectPrivilege, column: u32) -> bool {
        if self.for_other {
            return self.image.has_column_grant(self.user, object, privilege, column, true);
        }
        if column == 0 {
            return self.has_object_grant(object, privilege);
        }
        self.image.has_column_grant(self.user, object, privilege, column, false)
            || self.image.is_granted_on(&self.roles, object, privilege, column, false)
    }

    /// True when reading was granted on an object of SYS; OBJ$ has a row with this name if there are grants.
    fn reads_by_grant(&self, name: &str) -> bool {
        let Some(def) = self.image.object_named(UserId::SYS, ObjectKind::Table.namespace(), name) else { return false };
        let read = [ObjectPrivilege::Select, ObjectPrivilege::Read];
        read.iter().any(|privilege| self.granted_to_use(def.object, *privilege, 0))
    }

    /// True with SELECT ANY DICTIONARY or the role SELECT_CATALOG_ROLE: views of SYS may be read.
    fn reads_catalog(&self) -> bool {
        let role = crate::roles::ROLE_SELECT_CATALOG.0;
        self.has_to_use(SystemPrivilege::SelectAnyDictionary) || self.roles.contains(&role)
    }

    /// True when an object of SYS is visible: SELECT_CATALOG_ROLE covers only the objects that were created with the
    /// database.
    fn knows_of_sys(&self, object: ObjectId) -> bool {
        let is_of_dictionary = object.0 < FIRST_USER_OBJECT;
        self.has_to_use(SystemPrivilege::SelectAnyDictionary) || (is_of_dictionary && self.reads_catalog())
    }

    fn reads_base(&self, base: Base) -> bool {
        let name = base.table().name;
        self.all_powerful
            || base.is_public()
            || base == Base::PlanTable
            || (!is_secret(name) && self.has_to_use(SystemPrivilege::SelectAnyDictionary))
            || self.reads_by_grant(name)
    }

    fn reads_catalog_view(&self, name: &str) -> bool {
        let restricted = crate::catalog_views::is_restricted(name);
        self.all_powerful || !restricted || self.reads_catalog() || self.reads_by_grant(name)
    }

    /// Only SYS may read a fixed table; a fixed view is read through the view V_$ of SYS, which can be granted.
    fn reads_fixed(&self, name: &str) -> bool {
        if self.all_powerful || is_public_fixed(name) {
            return true;
        }
        match grantable_name(name) {
            Some(view) => self.reads_catalog() || self.reads_by_grant(&view),
            None => false,
        }
    }

    /// True when the session has the privilege on the object, or on one of its columns (by position from 1) (D7).
    fn may(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege, column: u32) -> bool {
        use ObjectPrivilege as P;
        use SystemPrivilege as S;
        let of_dictionary = object.0 < FIRST_USER_OBJECT || object.0 >= FIXED_FIRST_OBJECT;
        if owner == self.user && !of_dictionary {
            return true;
        }
        if let Some(uses) = &mut *self.uses.borrow_mut()
            && !uses.contains(&object)
        {
            uses.push(object);
        }
        if self.all_powerful {
            return true;
        }
        if owner == UserId::SYS && of_dictionary {
            return match privilege {
                // SELECT ANY DICTIONARY allows reading only: SELECT on base tables would also allow row and table
                // locks.
                P::Select if !self.for_other && Base::of_object(object).is_some_and(|base| base != Base::PlanTable) => {
                    self.granted_to_use(object, P::Select, 0)
                }
                P::Select | P::Read => match Base::of_object(object) {
                    Some(base) => self.reads_base(base),
                    // A view that was resolved may be read.
                    None => !self.for_other || self.may_view(object),
                },
                P::Execute => self.granted_to_use(object, P::Execute, 0),
                // Every session has private rows in PLAN_TABLE.
                P::Insert | P::Update | P::Delete => {
                    object == Base::PlanTable.table().object || self.granted_to_use(object, privilege, 0)
                }
                _ => false,
            };
        }
        let granted = |privilege| {
            self.granted_to_use(object, privilege, 0) || (column != 0 && self.granted_to_use(object, privilege, column))
        };
        if granted(privilege) || (privilege == P::Read && granted(P::Select)) {
            return true;
        }
        let kind = self.image.object(object).map(|def| def.kind);
        let any: &[S] = match (privilege, kind) {
            (P::Select, Some(ObjectKind::Sequence)) => &[S::SelectAnySequence],
            (P::Alter, Some(ObjectKind::Sequence)) => &[S::AlterAnySequence],
            (P::Execute, Some(ObjectKind::Type | ObjectKind::TypeBody)) => &[S::ExecuteAnyType],
            (P::Read, _) => &[S::SelectAnyTable, S::ReadAnyTable],
            (P::Select, _) => &[S::SelectAnyTable],
            (P::Insert, _) => &[S::InsertAnyTable],
            (P::Update, _) => &[S::UpdateAnyTable],
            (P::Delete, _) => &[S::DeleteAnyTable],
            (P::Lock, _) => &[S::LockAnyTable],
            (P::Alter, _) => &[S::AlterAnyTable],
            (P::Index, _) => &[S::CreateAnyIndex],
            (P::Execute, _) => &[S::ExecuteAnyProcedure],
            (P::Flashback, _) => &[S::FlashbackAnyTable],
            (P::Debug, _) => &[S::DebugAnyProcedure],
            (P::References | P::Write | P::Use, _) => &[],
        };
        if owner == UserId::SYS {
            let reads = privilege == P::Read || (privilege == P::Select && self.for_other);
            return reads && self.has_to_use(S::SelectAnyDictionary);
        }
        any.iter().any(|privilege| self.has_to_use(*privilege))
    }

    /// True when a dictionary view or fixed view may be read by users of a view of this user.
    fn may_view(&self, object: ObjectId) -> bool {
        let at = object.0.wrapping_sub(CATALOG_FIRST_OBJECT) as usize;
        match catalog_views().get(at) {
            Some((name, _)) => self.reads_catalog_view(name),
            None => self.reads_catalog(),
        }
    }

    /// Checks EXECUTE on a stored or built-in unit; `owner` is empty for a built-in unit.
    pub fn may_execute(&self, owner: &str, name: &str) -> Access {
        let space = ObjectKind::Procedure.namespace();
        let owner_id = match owner {
            "" | "SYS" => Some(UserId::SYS),
            owner => self.image.user_named(owner).map(|user| user.id),
        };
        let found = owner_id.and_then(|owner| self.image.object_named(owner, space, name));
        match found {
            Some(def) if self.may(def.object, def.owner_id, ObjectPrivilege::Execute, 0) => Access::Yes,
            Some(def) if self.sees(def) => Access::Visible,
            _ if self.all_powerful => Access::Yes,
            _ => Access::Hidden,
        }
    }

    /// True when `user` may pass on the privilege on an object of another user: it has the privilege with the grant
    /// option.
    pub fn may_give(&self, user: UserId, object: ObjectId, owner: UserId, privilege: ObjectPrivilege) -> bool {
        // EXECUTE needs no grant option when every user has it.
        let for_all = [UserId::PUBLIC.0];
        if privilege == ObjectPrivilege::Execute && self.image.is_granted_on(&for_all, object, privilege, 0, false) {
            return true;
        }
        let (all_powerful, roles, uses) = (user == UserId::SYS, Rc::default(), Rc::default());
        let names = SessionCatalog { user, schema: user, all_powerful, for_other: true, roles, uses, ..self.clone() };
        names.may(object, owner, privilege, 0)
    }

    /// Begins to record the used objects of other users.
    pub fn note_uses(&self) {
        *self.uses.borrow_mut() = Some(Vec::new());
    }

    /// Ends [`Self::note_uses`] and returns the recorded objects.
    pub fn take_uses(&self) -> Vec<ObjectId> {
        self.uses.borrow_mut().take().unwrap_or_default()
    }

    /// The object of a name in GRANT and REVOKE, if it is visible to the session; synonyms are followed.
    ///
    /// # Errors
    /// ORA-01775, ORA-02019.
    pub fn named(&self, schema: Option<&str>, name: &str) -> Result<Option<Named>> {
        let found = self.find_named(schema, name)?;
        self.checked(found)
    }

    fn find_named(&self, schema: Option<&str>, name: &str) -> Result<Option<Named>> {
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

    fn fixed_table(&self, id: FixedId, name: String, mut columns: Vec<ColumnDef>) -> Rc<TableDef> {
        let statistics = self.image.with_fixed_statistics(&name, &mut columns);
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

    fn object_in(&self, schema: Option<&str>, name: &str, space: u8) -> Option<&ObjectDef> {
        let owner = match schema {
            Some(owner) => self.user_named(owner)?.id,
            None => self.schema,
        };
        self.object_named(owner, space, name)
    }

    /// True when the session has the ANY privilege and it covers this object: objects of SYS are excluded, except
    /// directories and editions.
    fn reaches(&self, def: &ObjectDef, any: SystemPrivilege) -> bool {
        let is_nobodys = matches!(def.kind, ObjectKind::Directory | ObjectKind::Edition);
        (def.owner_id != UserId::SYS || is_nobodys) && self.has(any)
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

/// Dictionary tables excluded from SELECT ANY DICTIONARY, because their contents could be used for a logon.
fn is_secret(base: &str) -> bool {
    matches!(base, "USER$" | "USER_HISTORY$" | "LINK$" | "ENC$" | "DEFAULT_PWD$" | "XS$VERIFIERS")
}

/// True for an object that every user can name without a schema: the objects of SYS except its base tables.
fn is_public_name(def: &ObjectDef) -> bool {
    def.object.0 < FIRST_USER_OBJECT
        && match Base::of_object(def.object) {
            Some(base) => base.is_public() || base == Base::PlanTable,
            None => true,
        }
}

/// True for the name of a view of SYS over a fixed view.
fn is_grantable_name(name: &str) -> bool {
    name.starts_with("V_$") || name.starts_with("GV_$")
}

/// The view of SYS on which privileges for a fixed view are granted: V_$SESSION for V$SESSION.
fn grantable_name(name: &str) -> Option<String> {
    match name {
        name if is_grantable_name(name) => Some(name.to_owned()),
        "NLS_DATABASE_PARAMETERS" | "NLS_SESSION_PARAMETERS" | "NLS_INSTANCE_PARAMETERS" => Some(name.to_owned()),
        name => {
            let (prefix, rest) = name.split_once('$')?;
            matches!(prefix, "V" | "GV").then(|| format!("{prefix}_${rest}"))
        }
    }
}

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
    fn system_statistics(&self) -> crate::SystemStatistics {
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

/// The few V$ views that Oracle grants to PUBLIC.
fn is_public_fixed(name: &str) -> bool {
    let name = name.strip_prefix('G').unwrap_or(name);
    let view = name.strip_prefix("V$").or_else(|| name.strip_prefix("V_$"));
    let Some(view) = view else {
        return matches!(name, "NLS_DATABASE_PARAMETERS" | "NLS_SESSION_PARAMETERS" | "NLS_INSTANCE_PARAMETERS");
    };
    matches!(
        view,
        "VERSION"
            | "NLS_PARAMETERS"
            | "NLS_VALID_VALUES"
            | "TIMER"
            | "SESSION_CONNECT_INFO"
            | "SESSION_LONGOPS"
            | "OPTION"
            | "RESERVED_WORDS"
            | "TIMEZONE_NAMES"
            | "BH"
            | "RESTORE_POINT"
            | "ALL_SQL_PLAN"
    )
}
