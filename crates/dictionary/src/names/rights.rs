//! The rights of a session: the objects that it sees, and its privileges on them.

use super::fixed_names::{grantable_name, is_public_fixed, is_secret};
use super::session::SessionCatalog;
use crate::*;
use std::rc::Rc;
use types::ObjectId;

/// The first object number of fixed tables.
pub const FIXED_FIRST_OBJECT: u32 = 4_294_900_000;

/// The result of a check of EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Yes,
    /// The unit is visible, but may not be executed.
    Visible,
    /// The unit is not visible to the session.
    Hidden,
}

impl SessionCatalog {
    pub(super) fn has_privilege(&self, privilege: SystemPrivilege) -> bool {
        self.image.is_granted(&self.own(), privilege) || self.image.is_granted(&self.roles, privilege)
    }

    pub(super) fn has_object_grant(&self, object: ObjectId, privilege: ObjectPrivilege) -> bool {
        let granted = |grantees: &[u32]| self.image.is_granted_on(grantees, object, privilege, 0, false);
        granted(&self.own()) || granted(&self.roles)
    }

    pub(super) fn has_any_object_grant(&self, object: ObjectId) -> bool {
        let granted = |grantees: &[u32]| self.image.is_granted_any_on(grantees, object);
        granted(&self.own()) || granted(&self.roles)
    }

    /// True when the session has the system privilege.
    pub fn has(&self, privilege: SystemPrivilege) -> bool {
        self.all_powerful || self.has_privilege(privilege)
    }

    /// True when the object is visible to the session (D7).
    pub(super) fn sees(&self, object: &ObjectDef) -> bool {
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

    pub(super) fn visible(&self, object: ObjectId) -> Option<&ObjectDef> {
        self.image.object(object).filter(|def| self.sees(def))
    }

    /// As [`Self::has`]; the owner of a view that another user reads needs the admin option.
    pub(super) fn has_to_use(&self, privilege: SystemPrivilege) -> bool {
        let gives = !self.for_other || self.image.has_granted(&self.own(), privilege.number(), true);
        gives && self.has(privilege)
    }

    /// As [`Self::has_object_grant`], for the whole object or one column; the owner of a view that another user reads
    /// needs the grant option.
    pub(super) fn granted_to_use(&self, object: ObjectId, privilege: ObjectPrivilege, column: u32) -> bool {
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
    pub(super) fn reads_by_grant(&self, name: &str) -> bool {
        let Some(def) = self.image.object_named(UserId::SYS, ObjectKind::Table.namespace(), name) else { return false };
        let read = [ObjectPrivilege::Select, ObjectPrivilege::Read];
        read.iter().any(|privilege| self.granted_to_use(def.object, *privilege, 0))
    }

    /// True with SELECT ANY DICTIONARY or the role SELECT_CATALOG_ROLE: views of SYS may be read.
    pub(super) fn reads_catalog(&self) -> bool {
        let role = crate::roles::ROLE_SELECT_CATALOG.0;
        self.has_to_use(SystemPrivilege::SelectAnyDictionary) || self.roles.contains(&role)
    }

    /// True when an object of SYS is visible: SELECT_CATALOG_ROLE covers only the objects that were created with the
    /// database.
    pub(super) fn knows_of_sys(&self, object: ObjectId) -> bool {
        let is_of_dictionary = object.0 < FIRST_USER_OBJECT;
        self.has_to_use(SystemPrivilege::SelectAnyDictionary) || (is_of_dictionary && self.reads_catalog())
    }

    pub(super) fn reads_base(&self, base: Base) -> bool {
        let name = base.table().name;
        self.all_powerful
            || base.is_public()
            || base == Base::PlanTable
            || (!is_secret(name) && self.has_to_use(SystemPrivilege::SelectAnyDictionary))
            || self.reads_by_grant(name)
    }

    pub(super) fn reads_catalog_view(&self, name: &str) -> bool {
        let restricted = crate::catalog_views::is_restricted(name);
        self.all_powerful || !restricted || self.reads_catalog() || self.reads_by_grant(name)
    }

    /// Only SYS may read a fixed table; a fixed view is read through the view V_$ of SYS, which can be granted.
    pub(super) fn reads_fixed(&self, name: &str) -> bool {
        if self.all_powerful || is_public_fixed(name) {
            return true;
        }
        match grantable_name(name) {
            Some(view) => self.reads_catalog() || self.reads_by_grant(&view),
            None => false,
        }
    }

    /// True when the session has the privilege on the object, or on one of its columns (by position from 1) (D7).
    pub(super) fn may(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege, column: u32) -> bool {
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
    pub(super) fn may_view(&self, object: ObjectId) -> bool {
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

    /// True when the session has the ANY privilege and it covers this object: objects of SYS are excluded, except
    /// directories and editions.
    pub(super) fn reaches(&self, def: &ObjectDef, any: SystemPrivilege) -> bool {
        let is_nobodys = matches!(def.kind, ObjectKind::Directory | ObjectKind::Edition);
        (def.owner_id != UserId::SYS || is_nobodys) && self.has(any)
    }
}
