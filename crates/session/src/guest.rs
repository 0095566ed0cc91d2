//! A logon over the network: a client names a user and proves the password without sending it.
//!
//! The listener process is the [`Doorkeeper`]. It has one process slot and one session of SYS, reads verifiers with
//! that session, and refuses clients that do not prove a password. A client that has proved its password gets a server
//! process with a slot of its own, and that process checks that the user's verifier has not changed
//! ([`Session::logon_proved`]).
//!
//! An unknown name gets a verifier, too. It is made from the name in the dictionary's form and from a secret beside the
//! control file (invariant 7), so it is the same in every instance of the database, like the verifier of a user.

use crate::caller::Caller;
use crate::logon::{Refused, RefusedProofs, Shown};
use crate::session::Session;
use crate::typed_name::dictionary_name;
use dictionary::{UserDef, UserId, Verifier};
use instance::ConnectTimes;
use instance::Instance;
use net::local::Logon;
use net::oracle::o5logon::Verifier as Stored;
use process::WaitGuard;
use sha2::{Digest, Sha512};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use types::{Ora, Result};
use wait::Event;

/// The file with the secret, in the database directory.
const SECRET_NAME: &str = "logon.key";

const SECRET_LEN: usize = 32;

/// The verifier that a password was proved against.
#[derive(Clone, Debug)]
pub struct Proof {
    verifier: Verifier,
}

/// The listener process's view of users.
pub struct Doorkeeper {
    session: Session,
    secret: [u8; SECRET_LEN],
    /// Lines for the alert log.
    entries: Vec<String>,
    /// The minute of the last line in the alert log that wrong passwords cannot be counted.
    told_minute: u64,
    /// Counts of wrong passwords that are not written yet, because the archiver has failed: no client could log on
    /// while this process waited for the archiver. [`Self::write_held`] writes them later; they are lost when the
    /// process ends.
    held: BTreeMap<Option<UserId>, usize>,
}

impl Doorkeeper {
    /// Makes the calling process the listener process `name` of the instance.
    ///
    /// # Errors
    /// ORA-00020 without a free slot; ORA-00600 for a secret that can be neither read nor made.
    pub fn open(instance: &'static Instance, name: &str) -> Result<Doorkeeper> {
        let mut session = Session::background(instance, name)?;
        // Without the settings there is no pool; everything else works.
        let _ = session.begin_connection_pool();
        let secret = secret_in(instance.dir())?;
        Ok(Doorkeeper { session, secret, entries: Vec::new(), told_minute: 0, held: BTreeMap::new() })
    }

    /// The verifier for a client that names `user`. The time does not depend on whether the user exists.
    ///
    /// # Errors
    /// Errors from reading the dictionary.
    pub fn verifier(&self, user: &str) -> Result<Verifier> {
        let _ = self.session.readable();
        let accepts_11g = self.session.core.instance.accepts_11g();
        let nobodys = nobodys_verifier(&self.secret, &dictionary_name(user), accepts_11g);
        let found = self.session.user_named(user)?;
        Ok(found.and_then(|user| user.verifier.as_ref()?.accepted(accepts_11g)).unwrap_or(nobodys))
    }

    /// The answers to clients that have not proved their passwords, or have proved the passwords of locked accounts.
    /// `logons` has their logons in order of arrival, and whether each proof was right. All failures of a user together
    /// are one change of the user's row; all failures of unknown names are handled together, too.
    pub fn turn_away(&mut self, logons: &[(&Logon, bool)]) -> Vec<Ora> {
        let _ = self.session.readable();
        let users: Vec<_> = logons.iter().map(|(logon, _)| self.session.user_named(&logon.user)).collect();
        let id = |user: &Result<Option<Rc<UserDef>>>| user.as_ref().ok().and_then(|user| user.as_ref().map(|u| u.id));
        let mut groups: BTreeMap<Option<UserId>, Vec<usize>> = BTreeMap::new();
        for (at, user) in users.iter().enumerate() {
            groups.entry(id(user)).or_default().push(at);
        }
        let refused = |code| Refused::from(Ora::new(code));
        let mut refusals: Vec<Refused> = logons.iter().map(|_| refused(1017)).collect();
        for (id, group) in &groups {
            let user = users[group[0]].as_ref().ok().and_then(Option::as_deref);
            let (right, wrong): (Vec<usize>, Vec<usize>) = group.iter().partition(|&&at| logons[at].1);
            let mut held = self.held.remove(id).unwrap_or(0);
            let refused = crate::logon::refuse_proofs(&self.session.core, user, wrong.len(), &mut held);
            if held > 0 {
                self.held.insert(*id, held);
            }
            match refused {
                Ok(RefusedProofs { unlocked, is_told }) => {
                    wrong.iter().skip(unlocked).for_each(|&at| refusals[at].noted = Ora::new(28000));
                    let told = Ora::new(if is_told { 28000 } else { 1017 });
                    let locked = || Refused { told: told.clone(), noted: Ora::new(28000) };
                    right.iter().for_each(|&at| refusals[at] = locked());
                }
                Err(e) => self.tell_uncounted(&e),
            }
        }
        for (((logon, _), user), refused) in logons.iter().zip(&users).zip(&refusals) {
            let name = dictionary_name(&logon.user);
            crate::audit::refused_logon(&self.session.core, logon, &name, id(user), &refused.noted);
            self.entries.extend(crate::logon::alert_entry(self.session.core.instance, logon, Some(&refused.noted)));
        }
        refusals.into_iter().map(|refused| refused.told).collect()
    }

    /// Whether the account is locked: its right password is then answered like a wrong one, at the end of an interval.
    /// The right password of an open account ends the count of wrong passwords.
    pub fn is_locked(&mut self, logon: &Logon) -> bool {
        let _ = self.session.readable();
        // If the dictionary cannot be read, the new session reports the error.
        let Some(user) = self.session.user_named(&logon.user).ok().flatten() else { return false };
        let id = Some(user.id);
        let held = self.held.get(&id).copied().unwrap_or(0);
        let is_locked = crate::logon::is_locked(&self.session.core, Some(&user), held).unwrap_or(false);
        if !is_locked {
            self.held.remove(&id);
        }
        is_locked
    }

    /// Whether there are wrong passwords that [`Self::write_held`] is to write.
    pub fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Writes the counts of wrong passwords that waited for the archiver, once it works again. From then on the lock of
    /// an account is visible, ends with its time and can be removed.
    pub fn write_held(&mut self) {
        if self.held.is_empty() || crate::refusal::has_archiver_failed(self.session.core.instance) {
            return;
        }
        let _ = self.session.readable();
        for (id, mut times) in std::mem::take(&mut self.held) {
            let core = &self.session.core;
            let image = core.dict.borrow_mut().image();
            let user = image.as_ref().ok().and_then(|image| id.and_then(|id| image.user(id)));
            let is_read = image.as_ref().is_ok_and(|image| image.checked().is_ok());
            if id.is_some() && user.is_none() && is_read {
                continue;
            }
            if let Err(e) = crate::logon::refuse_proofs(core, user.map(Rc::as_ref), 0, &mut times) {
                self.tell_uncounted(&e);
            }
            if times > 0 {
                self.held.insert(id, times);
            }
        }
    }

    /// Whether two clients name the same user.
    pub fn is_of_one_name(a: &Logon, b: &Logon) -> bool {
        dictionary_name(&a.user) == dictionary_name(&b.user)
    }

    /// Reports wrong passwords that cannot be counted, once in a minute. They are refused nevertheless.
    fn tell_uncounted(&mut self, e: &Ora) {
        let minute = os::clock::wall_ns() / 60_000_000_000;
        if std::mem::replace(&mut self.told_minute, minute) != minute {
            self.entries.push(format!("Wrong passwords are refused and cannot be counted: {e}"));
        }
    }

    /// Takes the lines for the alert log about refused clients.
    pub fn take_entries(&mut self) -> Vec<String> {
        std::mem::take(&mut self.entries)
    }

    /// The wait for clients, live until the guard is dropped.
    pub fn wait(&self) -> WaitGuard<'_> {
        self.session.process().wait(Event::RdbmsIpcMessage, 0, 0, 0)
    }

    /// Whether the process is asked to end.
    pub fn is_asked_to_end(&self) -> bool {
        self.session.core.instance.state().is_asked_to_end(self.session.slot())
    }

    /// Ends the session of the listener process.
    pub fn end(self) {
        self.session.end();
    }
}

impl Proof {
    /// The proof of a client that knows the password of `verifier`.
    pub fn of(verifier: Verifier) -> Proof {
        Proof { verifier }
    }

    /// Whether the proved password is still the user's.
    pub(crate) fn shown(&self, user: Option<&UserDef>) -> Shown {
        let is_still = user.is_some_and(|user| user.verifier.as_ref() == Some(&self.verifier));
        if is_still { Shown::Right } else { Shown::Outdated }
    }

    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }
}

impl Session {
    /// Opens a session for a client of the network that has proved its password to the [`Doorkeeper`]. `times` has the
    /// times of the connection so far.
    ///
    /// # Errors
    /// ORA-00020 when there is no room, ORA-01089 when the instance closes; ORA-01017 when the password has changed
    /// meanwhile; ORA-28000 for a locked account, ORA-28001 when the password has expired, ORA-01045 without CREATE
    /// SESSION, ORA-28009 for SYS without SYSDBA.
    pub fn logon_proved(
        instance: &'static Instance,
        logon: &Logon,
        proof: &Proof,
        caller: &Caller,
        mut times: ConnectTimes,
    ) -> Result<Session> {
        let mut session = Session::attach(instance, logon, false, &mut times)?;
        caller.note(&session.core);
        let began = os::clock::now_ns();
        let user = session.user_named(&logon.user)?;
        let shown = proof.shown(user.as_deref());
        session.admit(logon, user, shown, caller.client.as_deref())?;
        caller.settle(&session.core)?;
        session.readable()?;
        times.authenticate_ns += os::clock::now_ns() - began;
        session.logged_on(times);
        session.fire_logon()?;
        Ok(session)
    }
}

/// The verifier of an unknown user: always the same for a name, and no password fits it. Where 11G verifiers are
/// accepted, half of the unknown names have an 11G verifier, so that an account with no other verifier does not stand
/// out.
fn nobodys_verifier(secret: &[u8; SECRET_LEN], name: &str, accepts_11g: bool) -> Verifier {
    let hash: [u8; 64] = Sha512::new().chain_update(secret).chain_update(name).finalize().into();
    let key: [u8; 64] = Sha512::new().chain_update(hash).chain_update(secret).finalize().into();
    let is_11g = accepts_11g && hash[63] & 1 != 0;
    Verifier::nobody(match is_11g {
        true => Stored::Sha1 { key: std::array::from_fn(|i| key[i]), salt: std::array::from_fn(|i| hash[i]) },
        false => Stored::Sha512 { key, salt: std::array::from_fn(|i| hash[i]) },
    })
}

/// The secret of the database in `dir`, which is made if it does not exist (invariant 7).
fn secret_in(dir: &Path) -> Result<[u8; SECRET_LEN]> {
    let path = dir.join(SECRET_NAME);
    let failed = |e: std::io::Error| Ora::internal(format!("{}: {e}", path.display()));
    let mut secret = [0; SECRET_LEN];
    match File::open(&path).and_then(|mut file| file.read_exact(&mut secret)) {
        Ok(()) => return Ok(secret),
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof) => {}
        Err(e) => return Err(failed(e)),
    }
    os::random::fill(&mut secret).map_err(Ora::internal)?;
    let new = dir.join(format!("{SECRET_NAME}.new"));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(failed)?;
    file.write_all(&secret).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&new, &path).map_err(failed)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::oracle::o5logon;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_secret_stays_and_is_the_owners() {
        let dir = std::env::temp_dir().join(format!("lw-secret-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let first = secret_in(&dir).unwrap();
        assert_eq!(secret_in(&dir).unwrap(), first);
        assert_eq!(std::fs::metadata(dir.join(SECRET_NAME)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "nothing else is left");
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::create_dir_all(&dir).unwrap();
        assert_ne!(secret_in(&dir).unwrap(), first);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_name_has_one_verifier_in_all_its_spellings() {
        let secret = [7; SECRET_LEN];
        let of = |typed: &str| nobodys_verifier(&secret, &dictionary_name(typed), false);
        assert!(of("scott") == of("\"SCOTT\"") && of("Scott") == of("SCOTT"));
        assert!(of("\"scott\"") != of("scott"));
        assert!(of("scott") != nobodys_verifier(&[8; SECRET_LEN], "SCOTT", false));
    }

    #[test]
    fn where_11g_verifiers_are_accepted_names_that_nobody_has_seem_to_have_them_too() {
        let kinds = |accepts_11g: bool| {
            let kind = |n: u32| {
                let name = format!("NAME{n}");
                let again = nobodys_verifier(&[7; SECRET_LEN], &name, accepts_11g);
                assert!(nobodys_verifier(&[7; SECRET_LEN], &name, accepts_11g) == again);
                again.stored().map(Stored::kind)
            };
            (0..64).filter(|n| kind(*n) == Some(o5logon::VERIFIER_11G)).count()
        };
        assert_eq!(kinds(false), 0);
        assert!((16..=48).contains(&kinds(true)), "{}", kinds(true));
    }
}
