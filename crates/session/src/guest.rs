//! A logon over the network: who connects names a user, and proves the password without sending it.
//!
//! Between the two a process slot is taken and the session is nobody's. A name that nobody has gets a verifier all the same, always the
//! same one while the instance lives, so that nothing but the end says whether there is such a user.

use crate::instance::Instance;
use crate::session::Session;
use crate::state::ConnectTimes;
use dictionary::{UserDef, Verifier};
use net::local::Logon;
use std::rc::Rc;
use types::Result;

/// Who has named a user and proved nothing yet.
pub struct Guest {
    session: Session,
    user: Option<Rc<UserDef>>,
    verifier: Verifier,
    times: ConnectTimes,
}

impl Guest {
    /// Takes a process slot for who connects as `logon.user`; the password there is not looked at. `stand_in` makes the verifier of a
    /// user that there is not; `times` says what the connection took so far.
    ///
    /// # Errors
    /// ORA-00020 when there is no room, ORA-01089 when the instance closes; those of reading the dictionary.
    pub fn welcome(
        instance: &'static Instance,
        logon: &Logon,
        stand_in: &dyn Fn(&str) -> Verifier,
        mut times: ConnectTimes,
    ) -> Result<Guest> {
        let session = Session::attach(instance, logon, &mut times)?;
        let began = os::clock::now_ns();
        let user = session.user_named(&logon.user)?;
        let nobodys = stand_in(&logon.user);
        let verifier = user.as_ref().and_then(|user| user.verifier.clone()).unwrap_or(nobodys);
        times.authenticate_ns = os::clock::now_ns() - began;
        Ok(Guest { session, user, verifier, times })
    }

    /// What the password is proved against.
    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    /// Lets the user in who has proved the password, or turns away who has not. Looking at the proof took `proof_ns`.
    ///
    /// # Errors
    /// ORA-01017 for a wrong name or password; ORA-28000 for a locked account, ORA-28001 when the password has expired, ORA-01045
    /// without CREATE SESSION, ORA-28009 for SYS without SYSDBA.
    pub fn admit(mut self, has_proved: bool, as_sysdba: bool, proof_ns: u64) -> Result<Session> {
        let began = os::clock::now_ns();
        self.session.admit(self.user, has_proved, as_sysdba)?;
        self.times.authenticate_ns += proof_ns + (os::clock::now_ns() - began);
        self.session.logged_on(self.times);
        Ok(self.session)
    }
}
