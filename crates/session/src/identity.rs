//! The identity in force, with its names and privileges. It is decided here only.
//!
//! A session has a login and a stack of effective identities over it. What runs takes one of them:
//!
//! | what runs | user | roles | schema | SYSDBA |
//! |---|---|---|---|---|
//! | statements and anonymous blocks of the client | login | enabled ones | CURRENT_SCHEMA | login's |
//! | a unit of definer's rights, a job's text aside | owner | none | owner's | no, but a unit of SYS has SYS's power |
//! | a unit of invoker's rights | caller | caller's | caller's | caller's |
//! | an object of a view, a function in it | owner | none | owner's | as a unit of definer's rights |
//! | a function of another's invoker's rights in an expression of a table | its own owner | none | its own owner's | no |
//! | a unit or view that is compiled | owner | none | owner's | as a unit of definer's rights |
//! | a job, its interval | its owner, as a login | default ones | that of its submission | no, SYS's jobs aside |
//! | a statement of the instance's own ([`instance::Text`]) | SYS | none | SYS | yes |
//!
//! Below a unit of definer's rights there are no roles: the units that it calls take its identity. CURRENT_SCHEMA that a
//! unit of definer's rights sets is its own and ends with it. Privileges are never asked of the login:
//! [`Core::identity`] and [`Core::names`] have the effective identity for every caller.
//!
//! [`Core::identity`]: crate::core::Core::identity
//! [`Core::names`]: crate::core::Core::names

use dictionary::UserId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The origin of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The session's user, by the proof of a password or as a job's owner.
    Login,
    /// A unit of definer's rights, a view, or what is compiled for its owner.
    Definer,
    /// A statement of the instance's own.
    Internal,
}

/// An identity. Equal identities resolve every name equally and have equal privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The user whose privileges count: CURRENT_USER.
    pub user: UserId,
    /// The schema of unqualified names: CURRENT_SCHEMA.
    pub schema: UserId,
    /// Every privilege.
    pub sysdba: bool,
    /// The set of enabled roles, see [`Stack::roles`]; 0 is none.
    roles: u32,
    pub origin: Origin,
}

impl Identity {
    /// SYS with every privilege, for statements of the instance's own.
    const INTERNAL: Identity =
        Identity { user: UserId::SYS, schema: UserId::SYS, sysdba: true, roles: 0, origin: Origin::Internal };

    /// The owner of a unit of definer's rights or of a view, with what was granted to the owner and to PUBLIC.
    pub fn definer(owner: UserId) -> Identity {
        Identity { user: owner, schema: owner, sysdba: owner == UserId::SYS, roles: 0, origin: Origin::Definer }
    }

    /// A number that no other identity of this session has.
    pub fn key(self) -> u128 {
        let flags = u128::from(self.origin as u8) << 1 | u128::from(self.sysdba);
        u128::from(self.user.0) << 96 | u128::from(self.schema.0) << 64 | u128::from(self.roles) << 32 | flags
    }
}

/// The login of a session and the identities that have been taken over it.
pub struct Stack {
    now: Cell<Identity>,
    /// The one that the client's own statements have.
    login: Cell<Identity>,
    /// The identities to return to.
    before: RefCell<Vec<(Identity, Rc<str>)>>,
    /// The roles that SET ROLE or the logon enabled, those granted to them included.
    enabled: RefCell<Rc<[u32]>>,
    /// Counts the sets of enabled roles.
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

    /// Whether the session was opened as SYSDBA: what the session is, not what may be done in it.
    pub fn is_sysdba_login(&self) -> bool {
        self.login.get().sysdba
    }

    /// Begins a session of that user.
    pub fn log_in(&self, user: UserId, schema: UserId, sysdba: bool, roles: Vec<u32>) {
        let identity = Identity { user, schema, sysdba, roles: 0, origin: Origin::Login };
        self.login.set(identity);
        self.now.set(identity);
        self.before.borrow_mut().clear();
        self.enable(roles);
    }

    /// The roles of an identity.
    pub fn roles(&self, of: Identity) -> Rc<[u32]> {
        if of.roles != 0 && of.roles == self.sets.get() { Rc::clone(&self.enabled.borrow()) } else { Rc::default() }
    }

    /// Enables these roles and no others: SET ROLE. Only where the login's identity is in force.
    pub fn enable(&self, roles: Vec<u32>) {
        self.sets.set(self.sets.get() + 1);
        *self.enabled.borrow_mut() = roles.into();
        let login = Identity { roles: self.sets.get(), ..self.login.get() };
        self.login.set(login);
        self.now.set(login);
    }

    /// CURRENT_SCHEMA: for the session, or for the unit of definer's rights that is running.
    pub fn set_schema(&self, schema: UserId) {
        self.now.set(Identity { schema, ..self.now.get() });
        if self.now.get().origin == Origin::Login {
            self.login.set(self.now.get());
        }
    }

    /// Takes an identity over the one in force, whose schema has that name; [`Stack::leave`] goes back.
    pub fn enter(&self, identity: Identity, schema: Rc<str>) {
        self.before.borrow_mut().push((self.now.replace(identity), schema));
    }

    /// Goes back to the identity before, and gives the name of its schema.
    ///
    /// # Panics
    /// When none was taken.
    pub fn leave(&self) -> Rc<str> {
        let (identity, schema) = self.before.borrow_mut().pop().expect("an identity was taken");
        self.now.set(identity);
        schema
    }

    /// Runs `f` as SYS: for statements of the instance's own only.
    pub(crate) fn internally<R>(&self, f: impl FnOnce() -> R) -> R {
        self.briefly(Identity::INTERNAL, f)
    }

    /// Runs `f` under another identity. What `f` calls sees the schema of statements unchanged.
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
