//! The identity in force: its names and privileges are decided only here (invariant 8).
//!
//! A session has a login and a stack of effective identities above it:
//!
//! | running code | user | roles | schema | SYSDBA |
//! |---|---|---|---|---|
//! | statements and anonymous blocks of the client | login | the enabled ones | CURRENT_SCHEMA | login's |
//! | a definer's rights unit | owner | none | owner's | only a unit of SYS |
//! | an invoker's rights unit | caller | caller's | caller's | caller's |
//! | the text of a view, and its functions | owner | none | owner's | only a view of SYS |
//! | an invoker's rights function in a BEQUEATH CURRENT_USER view | caller | caller's | caller's | caller's |
//! | another user's invoker's rights function in an expression of a table | function's owner | none | owner's | no |
//! | the compilation of a unit or view | owner | none | owner's | only for SYS |
//! | a job and its interval | owner, as a login | default roles | schema of the submission | only a job of SYS |
//! | the instance's own statements ([`instance::Text`]) | SYS | none | SYS | yes |
//!
//! A definer's rights unit has no roles, and neither have the invoker's rights units that it calls: they take its
//! identity. If a definer's rights unit sets CURRENT_SCHEMA, the change ends with the unit. Privileges are never
//! checked against the login: [`Core::identity`] and [`Core::names`] return the effective identity to every caller.
//!
//! [`Core::identity`]: crate::core::Core::identity
//! [`Core::names`]: crate::core::Core::names

use dictionary::UserId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The origin of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The session's user, after a logon; or the owner of the running job.
    Login,
    /// The owner of a definer's rights unit or of a view, or of an object that is compiled.
    Definer,
    /// SYS, for the instance's own statements.
    Internal,
}

/// An identity. Equal identities resolve every name to the same object and have the same privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// CURRENT_USER: the owner of the privileges.
    pub user: UserId,
    /// The schema of unqualified names: CURRENT_SCHEMA.
    pub schema: UserId,
    /// The identity has every privilege.
    pub sysdba: bool,
    /// The number of the set of enabled roles ([`Stack::roles`]); 0 without roles.
    roles: u32,
    pub origin: Origin,
}

impl Identity {
    /// SYS with every privilege, for the instance's own statements.
    pub(crate) const INTERNAL: Identity =
        Identity { user: UserId::SYS, schema: UserId::SYS, sysdba: true, roles: 0, origin: Origin::Internal };

    /// The owner of a definer's rights unit or of a view, with the privileges granted to the owner and to PUBLIC.
    pub fn definer(owner: UserId) -> Identity {
        Identity { user: owner, schema: owner, sysdba: owner == UserId::SYS, roles: 0, origin: Origin::Definer }
    }

    /// A number that is unique among the identities of this session.
    pub fn key(self) -> u128 {
        let flags = u128::from(self.origin as u8) << 1 | u128::from(self.sysdba);
        u128::from(self.user.0) << 96 | u128::from(self.schema.0) << 64 | u128::from(self.roles) << 32 | flags
    }
}

/// The login of a session and the effective identities above it.
pub struct Stack {
    now: Cell<Identity>,
    /// The identity of the client's own statements.
    login: Cell<Identity>,
    /// The identities to return to, with the names of their schemas.
    before: RefCell<Vec<(Identity, Rc<str>)>>,
    /// The roles enabled by SET ROLE or the logon, with the roles granted to them.
    enabled: RefCell<Rc<[u32]>>,
    /// The number of the present set of enabled roles.
    sets: Cell<u32>,
}

impl Default for Stack {
    fn default() -> Stack {
        let nobody = Identity { origin: Origin::Login, ..Identity::INTERNAL };
        Stack {
            now: Cell::new(nobody),
            login: Cell::new(nobody),
            before: RefCell::default(),
            enabled: RefCell::default(),
            sets: Cell::new(0),
        }
    }
}

impl Stack {
    /// The identity in force.
    #[inline]
    pub fn now(&self) -> Identity {
        self.now.get()
    }

    /// True for a session AS SYSDBA, whatever identity is in force.
    pub fn is_sysdba_login(&self) -> bool {
        self.login.get().sysdba
    }

    /// Begins a session of a user.
    pub fn log_in(&self, user: UserId, schema: UserId, sysdba: bool, roles: Vec<u32>) {
        let identity = Identity { user, schema, sysdba, roles: 0, origin: Origin::Login };
        self.login.set(identity);
        self.now.set(identity);
        self.before.borrow_mut().clear();
        self.enable(roles);
    }

    /// The roles of an identity; none for a set of roles that is no longer enabled.
    pub fn roles(&self, of: Identity) -> Rc<[u32]> {
        if of.roles != 0 && of.roles == self.sets.get() { Rc::clone(&self.enabled.borrow()) } else { Rc::default() }
    }

    /// SET ROLE: enables these roles and no others. Must be called with the login's identity in force.
    pub fn enable(&self, roles: Vec<u32>) {
        self.sets.set(self.sets.get() + 1);
        *self.enabled.borrow_mut() = roles.into();
        let login = Identity { roles: self.sets.get(), ..self.login.get() };
        self.login.set(login);
        self.now.set(login);
    }

    /// Sets CURRENT_SCHEMA, for the session or for the running definer's rights unit.
    pub fn set_schema(&self, schema: UserId) {
        self.now.set(Identity { schema, ..self.now.get() });
        if self.now.get().origin == Origin::Login {
            self.login.set(self.now.get());
        }
    }

    /// Puts an identity in force until [`Stack::leave`]. `schema` names the schema of the previous identity.
    pub fn enter(&self, identity: Identity, schema: Rc<str>) {
        self.before.borrow_mut().push((self.now.replace(identity), schema));
    }

    /// Returns to the previous identity, and returns the name of its schema.
    ///
    /// # Panics
    /// Without a matching [`Stack::enter`].
    pub fn leave(&self) -> Rc<str> {
        let (identity, schema) = self.before.borrow_mut().pop().expect("an identity was taken");
        self.now.set(identity);
        schema
    }

    /// Runs `f` as SYS: only for the instance's own statements (invariant 11).
    pub(crate) fn internally<R>(&self, f: impl FnOnce() -> R) -> R {
        self.briefly(Identity::INTERNAL, f)
    }

    /// Runs `f` under another identity, without changing the session's schema name for statements.
    pub(crate) fn briefly<R>(&self, identity: Identity, f: impl FnOnce() -> R) -> R {
        let before = self.now.replace(identity);
        let result = f();
        self.now.set(before);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U: UserId = UserId(100);
    const O: UserId = UserId(101);

    fn session() -> Stack {
        let stack = Stack::default();
        stack.log_in(U, U, false, vec![7, 8]);
        stack
    }

    #[test]
    fn a_definer_has_no_roles_and_no_sysdba() {
        let stack = session();
        assert_eq!(&*stack.roles(stack.now()), [7, 8]);
        stack.enter(Identity::definer(O), "U".into());
        assert_eq!((stack.now().user, stack.now().schema, stack.now().sysdba), (O, O, false));
        assert!(stack.roles(stack.now()).is_empty());
        assert_eq!(&*stack.leave(), "U");
        assert_eq!(&*stack.roles(stack.now()), [7, 8]);
        assert!(Identity::definer(UserId::SYS).sysdba);
    }

    #[test]
    fn a_schema_set_by_a_definer_ends_with_it() {
        let stack = session();
        stack.enter(Identity::definer(O), "U".into());
        stack.set_schema(UserId::SYS);
        assert_eq!((stack.now().user, stack.now().schema, stack.now().sysdba), (O, UserId::SYS, false));
        stack.leave();
        assert_eq!(stack.now().schema, U);
        stack.set_schema(O);
        assert_eq!((stack.now().user, stack.now().schema), (U, O));
    }

    #[test]
    fn other_roles_make_another_identity() {
        let stack = session();
        let before = stack.now();
        stack.enable(vec![9]);
        assert_ne!(stack.now(), before);
        assert_ne!(stack.now().key(), before.key());
        assert!(stack.roles(before).is_empty(), "roles that are enabled no more count for nobody");
        assert_ne!(Identity::definer(U).key(), Identity { roles: 0, ..before }.key());
    }
}
