//! A process's handle on the dictionary: the current picture, and name resolution for its sessions.

use crate::moment::{Lease, Moment};
use crate::{
    Change, DictionaryShared, FixedCatalog, Image, Principal, Profile, SessionCatalog, SystemPrivilege, UserDef,
    UserId, Verdicts,
};
use process::Process;
use std::cell::RefCell;
use std::rc::Rc;
use txn::Txn;
use types::{Ora, Result};

impl DictionaryShared {
    /// A picture of the present dictionary.
    pub fn picture(&self, p: &Rc<Process>) -> Picture {
        let (moment, lease) = Moment::now(self, p);
        Picture { image: Rc::new(Image::new(moment, Rc::default())), _lease: lease }
    }
}

/// A process's dictionary: the shared part, and the current picture.
pub struct Dictionary {
    shared: DictionaryShared,
    fixed: Rc<dyn FixedCatalog>,
    p: Rc<Process>,
    image: Option<Rc<Image>>,
    fault: Rc<RefCell<Option<Ora>>>,
    verdicts: Verdicts,
}

/// A picture with a lease of its moment.
#[derive(Clone)]
pub struct Picture {
    image: Rc<Image>,
    _lease: Lease,
}

impl std::ops::Deref for Picture {
    type Target = Image;

    fn deref(&self) -> &Image {
        &self.image
    }
}

impl Dictionary {
    pub fn new(shared: DictionaryShared, fixed: Rc<dyn FixedCatalog>, p: &Rc<Process>) -> Dictionary {
        let (p, fault, verdicts) = (Rc::clone(p), Rc::default(), Verdicts::default());
        Dictionary { shared, fixed, p, image: None, fault, verdicts }
    }

    pub fn shared(&self) -> &DictionaryShared {
        &self.shared
    }

    pub fn fixed(&self) -> &Rc<dyn FixedCatalog> {
        &self.fixed
    }

    /// True when an object made at `epoch` is still valid: one load.
    #[inline]
    pub fn is_current(&self, epoch: u64) -> bool {
        self.shared.epoch() == epoch && DictionaryShared::is_settled(epoch)
    }

    /// A picture of the present dictionary. It keeps showing this moment, whatever other sessions define later.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn image(&mut self) -> Result<Picture> {
        let (image, lease) = self.leased()?;
        Ok(Picture { image, _lease: lease })
    }

    fn leased(&mut self) -> Result<(Rc<Image>, Lease)> {
        self.checked()?;
        if let Some(image) = &self.image
            && let Some(lease) = self.lease(image)
        {
            return Ok((Rc::clone(image), lease));
        }
        let (moment, lease) = Moment::now(&self.shared, &self.p);
        let image = Rc::new(Image::new(moment, Rc::clone(&self.fault)));
        self.image = Some(Rc::clone(&image));
        Ok((image, lease))
    }

    fn lease(&self, image: &Image) -> Option<Lease> {
        let is_good = image.is_small() && image.checked().is_ok() && self.checked().is_ok();
        is_good.then(|| image.moment().lease()).flatten()
    }

    /// The same names with a new lease; `None` when their picture is no longer current.
    pub fn names_again(&self, names: &SessionCatalog) -> Option<SessionCatalog> {
        self.lease(names.image()).map(|lease| names.leased(lease))
    }

    /// Checks that every read of this dictionary's pictures has succeeded (D17).
    ///
    /// # Errors
    /// The first read error, until [`Self::take_fault`]. Decisions made since may be wrong.
    pub fn checked(&self) -> Result<()> {
        match &*self.fault.borrow() {
            None => Ok(()),
            Some(fault) => Err(fault.clone()),
        }
    }

    /// Takes the first read error at the end of a call.
    pub fn take_fault(&self) -> Option<Ora> {
        self.fault.borrow_mut().take()
    }

    /// Name resolution for a user.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn names(&mut self, who: &Principal) -> Result<SessionCatalog> {
        let (image, lease) = self.leased()?;
        let names = SessionCatalog::new(image, self.fixed.clone(), who);
        Ok(names.leased(lease).noting(Rc::clone(&self.verdicts)))
    }

    /// Results of compiling units and views that are not stored yet.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// The user with this (dictionary-form) name.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn user(&mut self, name: &str) -> Result<Option<Rc<UserDef>>> {
        let image = self.image()?;
        let found = image.user_named(name);
        let found = found.filter(|user| !user.is_role).cloned();
        image.checked()?;
        Ok(found)
    }

    /// Checks that a user may log on.
    ///
    /// # Errors
    /// ORA-01045 without CREATE SESSION; as [`Self::image`].
    pub fn may_connect(&mut self, user: &UserDef) -> Result<()> {
        match self.has_at_logon(user, SystemPrivilege::CreateSession)? {
            true => Ok(()),
            false => Err(Ora::with(1045, &[&user.name])),
        }
    }

    /// True when a user may log on while the instance is in restricted mode.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn may_enter_restricted(&mut self, user: &UserDef) -> Result<bool> {
        self.has_at_logon(user, SystemPrivilege::RestrictedSession)
    }

    fn has_at_logon(&mut self, user: &UserDef, privilege: SystemPrivilege) -> Result<bool> {
        let image = self.image()?;
        let mut grantees = image.default_roles(user.id);
        grantees.extend([user.id.0, UserId::PUBLIC.0]);
        let has = user.id == UserId::SYS || image.is_granted(&grantees, privilege);
        image.checked()?;
        Ok(has)
    }

    /// The limits of a user's profile.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn profile_of(&mut self, user: &UserDef) -> Result<Profile> {
        let image = self.image()?;
        let profile = image.profiles().profile(&user.profile);
        image.checked()?;
        Ok(profile)
    }

    /// Begins a change of the dictionary in `txn`.
    pub fn change<'a>(&'a self, p: &'a Process, txn: &'a mut Txn) -> Change<'a> {
        Change::new(&self.shared, p, txn)
    }
}
