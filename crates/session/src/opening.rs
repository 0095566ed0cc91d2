//! The beginning of a session: after a proof of identity, or for a background process.

use crate::alter;
use crate::core::Core;
use crate::logon::{Admitted, Refused, SessionLimits, Shown};
use crate::nls;
use crate::open::Calls;
use crate::random::random_bytes;
use crate::session::{CpuTime, Session};
use crate::typed_name::{dictionary_name, split_name};
use dictionary::{SALT_BYTES, UserDef, UserId, Verifier};
use exec::{ExecCtx, SessionState};
use instance::ConnectTimes;
use instance::Instance;
use net::local::{Logon, PROTOCOL_VERSION, Welcome};
use net::oracle::o5logon::{KEY_LEN, Verifier as Stored};
use process::{Attach, Process};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use types::{Nls, Ora, Result};

impl Session {
    /// Logs on. `peer_uid` is the operating-system user at the other end of the socket.
    ///
    /// # Errors
    /// ORA-01017 for a wrong user or password, ORA-00020 when there is no room, ORA-01031 for AS SYSDBA by another
    /// operating-system user than the owner of the instance; the other errors of the module `logon`.
    pub fn logon(instance: &'static Instance, logon: &Logon, peer_uid: u32) -> Result<Session> {
        Self::logon_after(instance, logon, peer_uid, ConnectTimes::default())
    }

    /// As [`Session::logon`]; `times` are the times of the connection so far.
    ///
    /// # Errors
    /// As [`Session::logon`].
    pub fn logon_after(
        instance: &'static Instance,
        logon: &Logon,
        peer_uid: u32,
        mut times: ConnectTimes,
    ) -> Result<Session> {
        if logon.version != PROTOCOL_VERSION {
            return Err(Ora::new(3134));
        }
        let is_owner = logon.as_sysdba && logon.user.is_empty() && peer_uid == os::process::user_id();
        let mut session = Session::attach(instance, logon, is_owner, &mut times)?;
        let made = os::clock::now_ns();
        session.authenticate(logon, peer_uid)?;
        session.readable()?;
        times.authenticate_ns = os::clock::now_ns() - made;
        session.logged_on(times);
        session.fire_logon()?;
        Ok(session)
    }

    /// Takes a process slot and makes a session without a user. A few slots are reserved for the owner of the instance.
    ///
    /// # Errors
    /// ORA-00020 when there is no room, ORA-01089 when the instance closes.
    pub(crate) fn attach(
        instance: &'static Instance,
        logon: &Logon,
        is_owner: bool,
        times: &mut ConnectTimes,
    ) -> Result<Session> {
        let began = os::clock::now_ns();
        if instance.is_closing() {
            return Err(Ora::new(1089));
        }
        let within = if is_owner { instance.sizes().owner_slots() } else { instance.max_processes() };
        let p = instance.processes().attach(&Attach {
            background: None,
            is_slave: false,
            program: &logon.program,
            os_user: &logon.os_user,
            machine: &logon.machine,
            terminal: &logon.terminal,
            client_process: &logon.process_id.to_string(),
            within: Some(within),
        });
        // The slots above `processes` are for the owner only.
        let p = p.map_err(|e| if e.is(20) { Ora::with(20, &[&instance.max_processes()]) } else { e })?;
        let attached = os::clock::now_ns();
        let touched = if instance.pre_page() { os::clock::now_ns() } else { attached };
        let session = Session::new(instance, p);
        // The last session of the slot may have died without resetting this limit.
        instance.state().set_idle_limit(session.slot(), 0);
        times.attach_ns = (attached - began) + (os::clock::now_ns() - touched);
        times.pre_page_ns = touched - attached;
        Ok(session)
    }

    /// Completes a logon: notes the times of the connection, and sets the key with which the client breaks calls.
    pub(crate) fn logged_on(&mut self, times: ConnectTimes) {
        let state = self.core.instance.state();
        state.note_connect(self.slot(), self.core.p.session().serial(), times);
        self.cancel_key = random_u64().max(1);
        self.core.p.stats().logged_on(|| self.core.p.busy_ns());
        state.set_cancel_key(self.slot(), self.cancel_key);
    }

    /// Finds a user by the name typed at a logon.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub(crate) fn user_named(&self, name: &str) -> Result<Option<Rc<UserDef>>> {
        self.core.dict.borrow_mut().user(&dictionary_name(name))
    }

    /// Gives the session to a user, or as a proxy to `client`, if the password was proved and the account admits it.
    ///
    /// # Errors
    /// Those of [`crate::logon`], of [`crate::proxy::client_of`], and of the change of the password.
    pub(crate) fn admit(
        &mut self,
        logon: &Logon,
        user: Option<Rc<UserDef>>,
        shown: Shown,
        client: Option<&str>,
    ) -> Result<()> {
        let id = user.as_ref().map(|user| user.id);
        let changed = !logon.new_password.is_empty();
        let admitted = crate::logon::admit(&self.core, user, shown, logon.as_sysdba, changed);
        let done = admitted.and_then(|admitted| {
            match client {
                Some(client) => self.enter_for(logon, &admitted, client),
                None => self.enter_as(logon, &admitted),
            }
            .map_err(Refused::from)
        });
        match done {
            Ok(()) => {
                crate::audit::logon(&self.core, true);
                Ok(())
            }
            Err(Refused { told, noted }) => {
                let name = dictionary_name(split_name(&logon.user).0);
                crate::audit::refused_logon(&self.core, logon, &name, id, &noted);
                Err(told)
            }
        }
    }

    /// Gives the session to an admitted user, and changes the password if the logon has a new one.
    fn enter_as(&mut self, logon: &Logon, admitted: &Admitted) -> Result<()> {
        self.become_user(&admitted.user.name, admitted.user.id, logon.as_sysdba);
        self.limits = crate::logon::limit_session(&self.core, &admitted.user)?;
        self.warning.clone_from(&admitted.warning);
        crate::audit::begin(&self.core, admitted.user.id)?;
        if logon.new_password.is_empty() {
            return Ok(());
        }
        self.change_password(&admitted.user.name, &logon.password, &logon.new_password)
    }

    /// Gives the session to `client`, with an admitted user as the proxy (invariant 9).
    fn enter_for(&mut self, logon: &Logon, admitted: &Admitted, client: &str) -> Result<()> {
        // The new password would be the proxy's, but the session belongs to the client.
        if logon.as_sysdba || !logon.new_password.is_empty() {
            return Err(Ora::unsupported());
        }
        let (client, proxied) = crate::proxy::client_of(&self.core, &admitted.user, client)?;
        let client = Admitted { user: client, warning: admitted.warning.clone() };
        self.enter_as(logon, &client)?;
        crate::proxy::begin(&self.core, client.user.id, proxied)
    }

    /// Changes the password of the session's `user` from `old` to `new`.
    ///
    /// # Errors
    /// Those of ALTER USER ... IDENTIFIED BY ... REPLACE.
    fn change_password(&mut self, user: &str, old: &str, new: &str) -> Result<()> {
        self.begin_call();
        let Session { core, state, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let done = crate::own_password::change_own(core, &mut cx, user, Some(old), new);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        self.readable()?;
        self.core.sync_commits()?;
        done
    }

    /// Changes the password of the session's user after a proof of the old one.
    ///
    /// # Errors
    /// Those of ALTER USER ... IDENTIFIED BY ... REPLACE.
    pub fn change_own_password(&mut self, old: &str, new: &str) -> Result<()> {
        let user = self.state.user.clone();
        self.change_password(&user, old, new)
    }

    /// The user of the session.
    pub(crate) fn user_id(&self) -> UserId {
        UserId(self.state.user_id)
    }

    /// Applies the limits of the user's profile again, and takes the warning of the new logon.
    pub(crate) fn limit_again(&mut self, admitted: &Admitted) -> Result<()> {
        self.limits = crate::logon::limit_session(&self.core, &admitted.user)?;
        self.warning.clone_from(&admitted.warning);
        Ok(())
    }

    /// The session's schema and edition for the client, under Oracle Net's numbers. Empty when neither was set since
    /// the last call of this function.
    pub fn take_news(&self) -> Vec<(u16, String)> {
        use net::oracle::reply::keyword;
        if !self.core.is_untold.take() {
            return Vec::new();
        }
        let mut news = vec![(keyword::CURRENT_SCHEMA, self.state.schema.to_string())];
        if let Some(edition) = &*self.core.edition.borrow() {
            news.push((keyword::EDITION, edition.to_string()));
        }
        news
    }

    /// The warning of the logon: ORA-28002.
    pub fn logon_warning(&self) -> Option<&Ora> {
        self.warning.as_ref()
    }

    /// A session of SYS for a background process.
    ///
    /// # Errors
    /// ORA-00020 when there is no room; those of reading the dictionary.
    pub fn background(instance: &'static Instance, name: &str) -> Result<Session> {
        Session::of_sys(instance, instance.attach_background(name)?)
    }

    /// A session for a job slave. It belongs to SYS while it runs no job, and is counted like a user's session.
    ///
    /// # Errors
    /// As [`Session::background`].
    pub fn slave(instance: &'static Instance, name: &str) -> Result<Session> {
        Session::of_sys(instance, instance.attach_named(name, true)?)
    }

    fn of_sys(instance: &'static Instance, p: Process) -> Result<Session> {
        let mut session = Session::new(instance, p);
        session.become_user("SYS", UserId::SYS, true);
        Ok(session)
    }

    /// A session of SYS inside this process, for tests: threads act as processes.
    ///
    /// # Errors
    /// As [`Session::logon`].
    pub fn in_process(instance: &'static Instance) -> Result<Session> {
        let logon = Logon { version: PROTOCOL_VERSION, as_sysdba: true, program: "test".into(), ..Logon::default() };
        Session::logon(instance, &logon, os::process::user_id())
    }

    fn new(instance: &'static Instance, p: Process) -> Session {
        let core = Core::new(instance, p, random_u64());
        let mut nls = Nls::default();
        nls::apply(&core.params.borrow(), &mut nls);
        nls.zone = core.local_time().zone().unwrap_or(types::TimeZone::UTC);
        let mut state = SessionState::new("SYS", 0, nls);
        state.options.planner.parallel.query = plan::ParallelQuery::Enabled;
        alter::apply_options(&core, &mut state);
        // The session's processor time includes the logon so far, as DB CPU does.
        let so_far = core.p.stats().cpu_ns(os::clock::process_cpu_ns(os::process::own_id())).unwrap_or(0);
        let began_ns = os::clock::thread_cpu_ns().saturating_sub(so_far);
        Session {
            core,
            state,
            calls: Calls::default(),
            cancel_key: 0,
            killed: false,
            has_called: false,
            limits: SessionLimits::default(),
            warning: None,
            goes_on: false,
            cpu: CpuTime { began_ns, counted: 0 },
        }
    }

    fn authenticate(&mut self, logon: &Logon, peer_uid: u32) -> Result<()> {
        if logon.user.is_empty() {
            let owner = peer_uid == os::process::user_id();
            return match logon.as_sysdba {
                true if owner => {
                    self.become_user("SYS", UserId::SYS, true);
                    crate::audit::begin(&self.core, UserId::SYS)?;
                    crate::audit::logon(&self.core, false);
                    Ok(())
                }
                true => Err(Ora::new(1031)),
                false => Err(Ora::new(1017)),
            };
        }
        let (typed, client) = split_name(&logon.user);
        let user = self.user_named(typed)?;
        // An unknown name is compared with a verifier too, so that it takes as long as a wrong password.
        let accepts_11g = self.core.instance.accepts_11g();
        let verifier = user.as_ref().and_then(|user| user.verifier.as_ref()?.accepted(accepts_11g));
        let nobodys = || Verifier::nobody(Stored::Sha512 { key: [0; KEY_LEN], salt: [0; SALT_BYTES] });
        let verifier = verifier.unwrap_or_else(nobodys);
        let shown = if verifier.matches(&logon.password) { Shown::Right } else { Shown::Wrong };
        let client = client.map(str::to_owned);
        self.admit(logon, user, shown, client.as_deref())
    }

    /// Makes `name` the user of the session, with the default roles.
    pub(crate) fn become_user(&mut self, name: &str, id: UserId, sysdba: bool) {
        let roles = self.core.names().and_then(|names| {
            let roles = names.image().default_roles(id);
            names.image().checked().map(|()| roles)
        });
        // If the roles cannot be read, the session has none, and the logon or the call ends with the error.
        let roles = roles.unwrap_or_default();
        self.core.who.log_in(id, id, sysdba, roles);
        self.state.user = name.to_string();
        self.state.user_id = id.0;
        self.state.parsing_user = id.0;
        self.state.schema = name.into();
        let user = self.core.dict.borrow_mut().user(name).ok().flatten();
        let own = user.map(|user| user.temporary_tablespace).filter(|n| *n > 0);
        if let Some(number) = own {
            self.state.options.temporary_tablespace = number;
        }
        let slot = self.core.p.session();
        slot.user.store(id.0, Ordering::Relaxed);
        slot.schema.store(id.0, Ordering::Relaxed);
        slot.username.set(name);
        slot.schema_name.set(name);
    }

    /// The packet that describes the new session to its client.
    pub fn welcome(&self) -> Welcome {
        let params = self.core.instance.params();
        Welcome {
            version: PROTOCOL_VERSION,
            sid: self.sid(),
            serial: self.core.p.serial() as u32,
            server_process: os::process::own_id() as u32,
            cancel_key: self.cancel_key,
            user: self.state.user.clone(),
            instance: params.get(params::Param::InstanceName),
            database: params.get(params::Param::DbName),
            banner: instance::BANNER.into(),
            warning: self.warning.as_ref().map(Ora::to_string).unwrap_or_default(),
        }
    }
}

/// 64 random bits.
fn random_u64() -> u64 {
    u64::from_le_bytes(random_bytes())
}
