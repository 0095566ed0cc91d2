//! Users, roles, and the privileges granted to them.

use super::picture::{Image, ObjectGrant};
use crate::base::*;
use crate::rows::{Row, as_date, as_i64, as_optional_text, as_text, as_u32, text};
use crate::*;
use std::rc::Rc;
use types::{ObjectId, Value};

impl Image {
    pub fn user(&self, id: UserId) -> Option<&Rc<UserDef>> {
        if let Some(known) = self.users.get(&id.0) {
            return known.as_ref();
        }
        let row = self.rows(Base::User, user::USER, id.0).pop();
        self.users.insert(id.0, Box::new(row.map(|row| Rc::new(user_of(&row))))).as_ref()
    }

    /// The user or role with this name, looked up in the row cache each time.
    pub fn user_named(&self, name: &str) -> Option<&Rc<UserDef>> {
        self.user(UserId(self.find_number(Base::User, &[user::NAME], &[text(name)], user::USER)?))
    }

    pub fn user_name(&self, id: UserId) -> String {
        self.user(id).map_or_else(String::new, |user| user.name.clone())
    }

    /// All users and roles.
    pub fn all_users(&self) -> Vec<UserDef> {
        let mut all = Vec::new();
        self.each(Base::User, &mut |row| all.push(user_of(row)));
        all
    }

    /// The numbers of the user, of PUBLIC, and of every role granted to the user directly or indirectly, enabled or
    /// not.
    pub fn grantees(&self, user: UserId) -> Vec<u32> {
        self.reached(&[user.0, UserId::PUBLIC.0])
    }

    /// Privileges (negative) and roles of a grantee, each with its admin option.
    fn granted_to(&self, grantee: u32) -> &[(i64, bool)] {
        if let Some(known) = self.granted.get(&grantee) {
            return known;
        }
        let granted =
            |row: &Row| (as_i64(&row[sysauth::PRIVILEGE]).unwrap_or(0), as_i64(&row[sysauth::OPTION]) == Some(1));
        let rows = self.rows(Base::Sysauth, sysauth::GRANTEE, grantee);
        self.granted.insert(grantee, rows.iter().map(granted).collect())
    }

    /// The roles granted directly to a user or role.
    pub fn direct_roles(&self, grantee: UserId) -> impl Iterator<Item = UserId> {
        self.granted_to(grantee.0)
            .iter()
            .filter_map(|(privilege, _)| u32::try_from(*privilege).ok().filter(|role| *role > 0).map(UserId))
    }

    /// The users or roles in `from`, and every role granted to one of them directly or indirectly.
    pub fn reached(&self, from: &[u32]) -> Vec<u32> {
        let mut list = from.to_vec();
        let mut at = 0;
        while at < list.len() {
            for role in self.direct_roles(UserId(list[at])) {
                if !list.contains(&role.0) {
                    list.push(role.0);
                }
            }
            at += 1;
        }
        list
    }

    /// True when one of the grantees has the system privilege or role with this number in SYSAUTH$. `admin` requires
    /// the admin option.
    pub fn has_granted(&self, grantees: &[u32], number: i64, admin: bool) -> bool {
        let is_it = |(have, option): &(i64, bool)| *have == number && (*option || !admin);
        grantees.iter().any(|grantee| self.granted_to(*grantee).iter().any(is_it))
    }

    /// True when one of the grantees has the system privilege.
    pub fn is_granted(&self, grantees: &[u32], privilege: SystemPrivilege) -> bool {
        self.has_granted(grantees, privilege.number(), false)
    }

    /// True when a system privilege or role was granted directly to the user.
    pub fn is_granted_directly(&self, user: UserId, number: i64) -> bool {
        self.has_granted(&[user.0], number, false)
    }

    /// The grants on an object.
    pub fn object_grants(&self, object: ObjectId) -> &[ObjectGrant] {
        if let Some(known) = self.object_grants.get(&object.0) {
            return known;
        }
        let rows = self.rows(Base::Objauth, objauth::OBJ, object.0);
        self.object_grants.insert(object.0, rows.iter().map(|row| grant_of(row)).collect())
    }

    /// The roles enabled in a new session of the user, including the roles granted to them.
    pub fn default_roles(&self, user: UserId) -> Vec<u32> {
        let Some(def) = self.user(user) else { return Vec::new() };
        let lists = matches!(def.default_roles, DefaultRoles::Listed | DefaultRoles::AllExcept);
        let rows = if lists { self.rows(Base::Defrole, defrole::USER, user.0) } else { Vec::new() };
        let listed = |role: &UserId| rows.iter().any(|row| as_u32(&row[defrole::ROLE]) == role.0);
        let is_default = |role: &UserId| match def.default_roles {
            DefaultRoles::All => true,
            DefaultRoles::None => false,
            DefaultRoles::Listed => listed(role),
            DefaultRoles::AllExcept => !listed(role),
        };
        // A role with a password or a package is enabled only by SET ROLE.
        let asks =
            |role: &UserId| self.user(*role).is_some_and(|def| def.verifier.is_some() || def.enabled_by.is_some());
        let own = self.direct_roles(user).filter(is_default);
        let roles = own.chain(self.direct_roles(UserId::PUBLIC)).filter(|role| !asks(role));
        let roles: Vec<u32> = roles.map(|role| role.0).collect();
        self.reached(&roles)
    }

    /// True when one of the grantees has the privilege on a column of the object, by its position from 1; 0 is the
    /// whole object. `grantable` requires the grant option.
    pub fn is_granted_on(
        &self,
        grantees: &[u32],
        object: ObjectId,
        privilege: ObjectPrivilege,
        column: u32,
        grantable: bool,
    ) -> bool {
        self.object_grants(object).iter().any(|grant| {
            grant.privilege == privilege as u8
                && grant.column == column
                && grantees.contains(&grant.grantee.0)
                && (grant.grantable || !grantable)
        })
    }

    /// True when one of the grantees has any privilege on the object.
    pub fn is_granted_any_on(&self, grantees: &[u32], object: ObjectId) -> bool {
        self.object_grants(object).iter().any(|grant| grantees.contains(&grant.grantee.0))
    }

    /// True when the user or PUBLIC has the privilege on the whole object. Roles do not count: see
    /// [`Image::is_granted_on`].
    pub fn has_object_grant(
        &self,
        user: UserId,
        object: ObjectId,
        privilege: ObjectPrivilege,
        grantable: bool,
    ) -> bool {
        self.has_column_grant(user, object, privilege, 0, grantable)
    }

    /// As [`Image::has_object_grant`], of a column by its position from 1.
    pub fn has_column_grant(
        &self,
        user: UserId,
        object: ObjectId,
        privilege: ObjectPrivilege,
        column: u32,
        grantable: bool,
    ) -> bool {
        self.is_granted_on(&[user.0, UserId::PUBLIC.0], object, privilege, column, grantable)
    }

    /// True when invoker's rights units of `owner` may run for `invoker`: INHERIT PRIVILEGES was granted to the owner
    /// or to PUBLIC, or the owner has INHERIT ANY PRIVILEGES.
    pub fn may_inherit(&self, owner: UserId, invoker: UserId) -> bool {
        let grantees = [owner.0, UserId::PUBLIC.0];
        let inherited = || {
            let rows = self.rows(Base::Userauth, userauth::USER, invoker.0);
            rows.iter().any(|row| grantees.contains(&as_u32(&row[userauth::GRANTEE])))
        };
        owner == invoker
            || owner == UserId::SYS
            || inherited()
            || self.is_granted(&grantees, SystemPrivilege::InheritAnyPrivileges)
    }
}

/// The user or role of a row of USER$.
fn user_of(row: &[Value]) -> UserDef {
    let status = as_i64(&row[user::ASTATUS]).unwrap_or(0);
    UserDef {
        id: UserId(as_u32(&row[user::USER])),
        name: as_text(&row[user::NAME]).to_owned(),
        is_role: as_i64(&row[user::TYPE]) == Some(0),
        verifier: Verifier::from_text(as_text(&row[user::SPARE4])),
        enabled_by: EnabledBy::from_text(as_text(&row[user::SPARE4])),
        locked: status & 8 != 0,
        locked_at: as_date(&row[user::LTIME]),
        expired: status & 1 != 0,
        created: as_date(&row[user::CTIME]),
        password_time: as_date(&row[user::PTIME]),
        profile: as_optional_text(&row[user::PROFILE]).unwrap_or_else(|| crate::profile::DEFAULT.to_owned()),
        logon_seq: as_i64(&row[user::LSEQ]).unwrap_or(0),
        default_roles: DefaultRoles::read(as_i64(&row[user::DEFROLE])),
        default_tablespace: as_u32(&row[user::DATATS]),
        temporary_tablespace: if row[user::TEMPTS].is_null() { 0 } else { as_u32(&row[user::TEMPTS]) },
    }
}

/// A row of OBJAUTH$.
fn grant_of(row: &[Value]) -> ObjectGrant {
    ObjectGrant {
        grantor: UserId(as_u32(&row[objauth::GRANTOR])),
        grantee: UserId(as_u32(&row[objauth::GRANTEE])),
        privilege: as_u32(&row[objauth::PRIVILEGE]) as u8,
        column: as_u32(&row[objauth::COL]),
        grantable: as_i64(&row[objauth::OPTION]) == Some(1),
    }
}
