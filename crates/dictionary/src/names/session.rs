//! The session for which names are resolved.

use crate::moment::Lease;
use crate::*;
use std::cell::RefCell;
use std::rc::Rc;
use types::{ObjectId, Result};

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
    pub(super) image: Rc<Image>,
    /// Allows the picture to read further rows.
    pub(super) _lease: Option<Lease>,
    pub(super) fixed: Rc<dyn FixedCatalog>,
    pub(super) user: UserId,
    pub(super) schema: UserId,
    /// SYSDBA, or the owner of a catalog view: privileges are not checked.
    pub(super) all_powerful: bool,
    /// The enabled roles, including the roles granted to them.
    pub(super) roles: Rc<[u32]>,
    /// A definition that is not in the dictionary yet; it hides the present definition.
    pub(super) ahead: Option<Rc<TableDef>>,
    /// Resolves for the owner of a view that another user reads: the owner's privileges count only with the grant
    /// option.
    pub(super) for_other: bool,
    /// Followed synonyms that were not taken yet; shared by all copies with the same names.
    pub(super) followed: Rc<RefCell<Vec<ObjectId>>>,
    /// Between `note_uses` and `take_uses`: the objects of other users whose privileges were checked.
    pub(super) uses: Rc<RefCell<Option<Vec<ObjectId>>>>,
    /// The results of compiling views.
    pub(super) verdicts: Verdicts,
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
    pub(super) fn checked<T>(&self, answer: T) -> Result<T> {
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
    pub(super) fn object_named(&self, owner: UserId, space: u8, name: &str) -> Option<&ObjectDef> {
        self.image.object_named(owner, space, name)
    }

    pub(super) fn user_named(&self, name: &str) -> Option<&Rc<UserDef>> {
        self.image.user_named(name)
    }

    pub(super) fn user_name(&self, user: UserId) -> String {
        self.image.user_name(user)
    }

    /// The grantees that count for the user without any roles.
    pub(super) fn own(&self) -> [u32; 2] {
        [self.user.0, UserId::PUBLIC.0]
    }

    /// The picture in which names are resolved.
    pub fn image(&self) -> &Rc<Image> {
        &self.image
    }

    pub fn is_sysdba(&self) -> bool {
        self.all_powerful
    }
}
