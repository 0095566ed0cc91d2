//! One session: who is logged on, and its calls.
//!
//! | state | what holds | ways out |
//! |---|---|---|
//! | between calls | no latch, pin or block; perhaps a transaction, enqueues and open cursors | `call`, `release_if_killed`, `end` |
//! | in a call | whatever the statement needs | the call's end; a killed or broken call ends with an error |
//! | killed | nothing: rolled back, locks freed | the next call answers ORA-00028 and the session ends |

use crate::alter;
use crate::array::NextRow;
use crate::call::{Calls, RowSink};
use crate::core::Core;
use crate::global::{GlobalAnswer, GlobalCall};
use crate::jobs;
use crate::logon::{Admitted, Refused, SessionLimits, Shown};
use crate::nls;
use crate::world::World;
use dictionary::{SALT_BYTES, UserDef, UserId, Verifier};
use exec::parallel::Job;
use exec::{ExecCtx, SessionState};
use instance::ConnectTimes;
use instance::Instance;
use net::local::{Array, Execute, Failure, Logon, PROTOCOL_VERSION, Reply, Request, Welcome, write_frame};
use net::oracle::o5logon::{KEY_LEN, Verifier as Stored};
use process::{Attach, Process, SessionStatus, WaitGuard};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{Nls, Ora, Result, Value};
use wait::{Event, Stat};

/// Whether a connection goes on after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    End,
}

/// What became of a job.
#[derive(Debug)]
pub enum JobOutcome {
    /// It ran; its changes and its row are committed.
    Done,
    /// Somebody else runs it, or it is gone.
    NotDue,
    /// It failed and was rolled back.
    Failed(Ora),
}

/// A logged-on user.
pub struct Session {
    pub(crate) core: Core,
    state: SessionState,
    calls: Calls,
    cancel_key: u64,
    killed: bool,
    has_called: bool,
    /// The next call is a part of the client's call that has just been run.
    goes_on: bool,
    cpu: CpuTime,
    limits: SessionLimits,
    warning: Option<Ora>,
}

/// Processor time of the session's process: when it began, and the microseconds that were counted since.
struct CpuTime {
    began_ns: u64,
    counted: u64,
}

impl Session {
    /// Logs on. `peer_uid` is the operating-system user at the other end of the socket.
    ///
    /// # Errors
    /// ORA-01017 for a wrong user or password, ORA-00020 when there is no room, ORA-01031 for a SYSDBA who is none.
    pub fn logon(instance: &'static Instance, logon: &Logon, peer_uid: u32) -> Result<Session> {
        Self::logon_after(instance, logon, peer_uid, ConnectTimes::default())
    }

    /// As [`Session::logon`]; `times` says what the connection took so far.
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
        Ok(session)
    }

    /// Takes a process slot and makes a session that is nobody's yet. A few slots are kept for the owner of the
    /// instance.
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
        // The slots behind `processes` are nobody's business but the owner's.
        let p = p.map_err(|e| if e.is(20) { Ora::with(20, &[&instance.max_processes()]) } else { e })?;
        let attached = os::clock::now_ns();
        let touched = if instance.pre_page() { os::clock::now_ns() } else { attached };
        let session = Session::new(instance, p);
        // The slot's last session may have died.
        instance.state().set_idle_limit(session.slot(), 0);
        times.attach_ns = (attached - began) + (os::clock::now_ns() - touched);
        times.pre_page_ns = touched - attached;
        Ok(session)
    }

    /// The session is its user's: its calls can be broken from here on.
    pub(crate) fn logged_on(&mut self, times: ConnectTimes) {
        let state = self.core.instance.state();
        state.note_connect(self.slot(), self.core.p.session().serial(), times);
        self.cancel_key = random_u64().max(1);
        self.core.p.stats().logged_on(|| self.core.p.busy_ns());
        state.set_cancel_key(self.slot(), self.cancel_key);
    }

    /// That everything could be read that the session has asked of the dictionary since its last call.
    ///
    /// # Errors
    /// The first error of reading: what was decided since may be wrong.
    pub(crate) fn readable(&self) -> Result<()> {
        self.core.dict.borrow().take_fault().map_or(Ok(()), Err)
    }

    /// What the dictionary knows of a user by the name as it was typed, and reads with this session's process.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub(crate) fn user_named(&self, name: &str) -> Result<Option<Rc<UserDef>>> {
        self.core.dict.borrow_mut().user(&dictionary_name(name))
    }

    /// Makes the session that of a user who has proved the password, or has not.
    ///
    /// # Errors
    /// ORA-01017, ORA-28000, ORA-28001, ORA-01045; ORA-28009 for SYS without SYSDBA.
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
                let name = dictionary_name(crate::proxy::split_name(&logon.user).0);
                crate::audit::refused_logon(&self.core, logon, &name, id, &noted);
                Err(told)
            }
        }
    }

    /// Makes the session that of a user who was admitted, and changes the password if the logon asks for that.
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

    /// Makes the session that of `client`, for a user who was admitted.
    fn enter_for(&mut self, logon: &Logon, admitted: &Admitted, client: &str) -> Result<()> {
        // A password that is to be changed would be the proxy's, whose session this is not going to be.
        if logon.as_sysdba || !logon.new_password.is_empty() {
            return Err(Ora::unsupported());
        }
        let (client, proxied) = crate::proxy::client_of(&self.core, &admitted.user, client)?;
        let client = Admitted { user: client, warning: admitted.warning.clone() };
        self.enter_as(logon, &client)?;
        crate::proxy::begin(&self.core, client.user.id, proxied)
    }

    /// Changes the password of `user`, who is the session's, from `old` to `new`.
    ///
    /// # Errors
    /// Those of ALTER USER ... IDENTIFIED BY ... REPLACE.
    fn change_password(&mut self, user: &str, old: &str, new: &str) -> Result<()> {
        self.begin_call();
        let Session { core, state, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let done = crate::passwords::change_own(core, &mut cx, user, Some(old), new);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        self.readable()?;
        self.core.sync_commits()?;
        done
    }

    /// Changes the password of the session's user, who has proved to know the old one.
    ///
    /// # Errors
    /// As those of ALTER USER ... IDENTIFIED BY ... REPLACE.
    pub fn change_own_password(&mut self, old: &str, new: &str) -> Result<()> {
        let user = self.state.user.clone();
        self.change_password(&user, old, new)
    }

    /// Whose session it is.
    pub(crate) fn user_id(&self) -> UserId {
        UserId(self.state.user_id)
    }

    /// Takes the limits of the user's profile anew.
    pub(crate) fn limit_again(&mut self, admitted: &Admitted) -> Result<()> {
        self.limits = crate::logon::limit_session(&self.core, &admitted.user)?;
        self.warning.clone_from(&admitted.warning);
        Ok(())
    }

    /// What a client is to know of the session since this was asked last: its schema and its edition, under the numbers
    /// that Oracle Net has for them. Empty where neither was set.
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

    /// What the user is to be told of the logon: ORA-28002.
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

    /// A session for a job slave: of SYS until it has a job, and as any user's in what it counts.
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

    /// A session of SYS inside this process: threads act as processes.
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
        // What the logon has taken so far is the session's, as it is in DB CPU.
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
        let (typed, client) = crate::proxy::split_name(&logon.user);
        let user = self.user_named(typed)?;
        // A name that nobody has takes as long as a wrong password.
        let accepts_11g = self.core.instance.accepts_11g();
        let verifier = user.as_ref().and_then(|user| user.verifier.as_ref()?.accepted(accepts_11g));
        let nobodys = || Verifier::nobody(Stored::Sha512 { key: [0; KEY_LEN], salt: [0; SALT_BYTES] });
        let verifier = verifier.unwrap_or_else(nobodys);
        let shown = if verifier.matches(&logon.password) { Shown::Right } else { Shown::Wrong };
        let client = client.map(str::to_owned);
        self.admit(logon, user, shown, client.as_deref())
    }

    /// Makes the session `name`'s.
    fn become_user(&mut self, name: &str, id: UserId, sysdba: bool) {
        let roles = self.core.names().and_then(|names| {
            let roles = names.image().default_roles(id);
            names.image().checked().map(|()| roles)
        });
        // Without roles where they cannot be read; the logon, or the call, ends with the error.
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

    /// What the client is told of its new session.
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

    /// The session's number.
    pub fn sid(&self) -> u32 {
        self.core.p.sid()
    }

    /// The process slot: its number less one.
    pub fn slot(&self) -> usize {
        self.core.p.number() as usize - 1
    }

    /// The session's process.
    pub fn process(&self) -> &Process {
        &self.core.p
    }

    /// Says whether the client takes the results of DBMS_SQL.RETURN_RESULT; it does unless this says otherwise.
    pub fn set_takes_results(&self, takes: bool) {
        self.core.plsql.set_takes_results(takes);
    }

    /// Says which of the client's statements the next call executes, and whether it has executed that before: its
    /// cursor is open then, and is not parsed again.
    pub fn set_statement(&mut self, number: u16, is_again: bool) {
        self.calls.held.begin_call(number, is_again);
    }

    /// Closes the cursor of a statement of the client's.
    pub fn forget_statement(&mut self, number: u16) {
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        calls.close_held(core, &mut cx, number);
    }

    /// Closes the cursors of all statements of the client's.
    pub fn forget_statements(&mut self) {
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        calls.close_all_held(core, &mut cx);
    }

    /// Which way the values of the binds of the block that ran last go, by their places in its call.
    pub fn bind_directions(&self) -> &[net::local::Direction] {
        self.calls.directions()
    }

    /// The row that the last call has changed last, where it was a statement of changes of a table with rowids.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.calls.last_row()
    }

    /// How the session converts and prints.
    pub fn nls(&self) -> &Nls {
        &self.state.nls
    }

    /// Whether a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.state.txn.is_active() || crate::global::is_in_branch(&self.core, &self.state)
    }

    /// A parameter as the session has it.
    pub fn parameter(&self, param: params::Param) -> i64 {
        self.core.params.borrow().number(param)
    }

    /// P1 of the waits for a client: how it is connected, as the letters of `TCP`, `tcps` and `beq`.
    fn driver_id(&self) -> u64 {
        let slot = self.core.p.session();
        match (slot.port.load(Ordering::Relaxed), slot.speaks_tls()) {
            (0, _) => 0x6265_7100,
            (_, false) => 0x5443_5000,
            _ => 0x7463_7073,
        }
    }

    /// The wait for the next call, live until the guard is dropped.
    pub fn wait_for_client(&self) -> WaitGuard<'_> {
        self.core.p.session().set_status(SessionStatus::Inactive);
        self.core.p.wait(Event::SqlNetMessageFromClient, self.driver_id(), 1, 0)
    }

    /// The wait for the rest of a message of which `bytes` have come.
    pub fn wait_for_rest(&self, bytes: u64) -> WaitGuard<'_> {
        self.core.p.wait(Event::SqlNetMoreDataFromClient, self.driver_id(), bytes, 0)
    }

    /// Counts bytes that a client has sent.
    pub fn note_received(&self, bytes: u64) {
        self.core.p.count(Stat::BytesReceivedFromClient, bytes);
    }

    /// Counts an answer to a client.
    pub fn note_answer(&self, bytes: u64) {
        self.note_sent(bytes);
        self.core.p.count(Stat::RoundtripsToClient, 1);
    }

    /// Counts bytes that were sent to the client, which says its next call without waiting for them.
    pub fn note_sent(&self, bytes: u64) {
        self.core.p.count(Stat::BytesSentToClient, bytes);
    }

    /// The number to hand to [`Session::idle`].
    pub fn posts(&self) -> u32 {
        self.core.p.posts()
    }

    /// Sleeps until posted since `posts`, or until the time is up.
    pub fn idle(&self, event: Event, posts: u32, time: Duration) {
        let guard = self.core.p.wait(event, time.as_millis() as u64 / 10, 0, 0);
        if !self.core.p.sleep(posts, Some(time)) {
            guard.timed_out();
        }
    }

    /// Rolls back and frees everything when the session was killed between calls.
    pub fn release_if_killed(&mut self) {
        let is_killed = self.core.p.check_cancel().is_err_and(|e| e.is(28));
        if is_killed && !self.killed {
            self.killed = true;
            self.core.p.session().set_status(SessionStatus::Killed);
            self.release();
        }
    }

    /// Whether the session was killed; it then holds nothing.
    pub fn is_killed(&self) -> bool {
        self.killed
    }

    /// Gives back what the session holds: cursors, transaction, locks.
    fn release(&mut self) {
        self.give_back(false);
    }

    /// As [`Session::release`]; rows of temporary tables may stay.
    pub(crate) fn give_back(&mut self, keeps_rows: bool) {
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        calls.close_all(core, &mut cx);
        // What cannot be rolled back here is tried again when the session ends.
        if cx.session.txn.is_active() {
            let _ = core.rollback(cx.session);
        }
        crate::global::drop_branch(core);
        if !keeps_rows {
            cx.session.end_temporaries(&core.p, &core.shared);
        }
        for (_, (lock, _)) in core.user_locks.take() {
            core.shared.enqueues.release(&core.p, lock);
        }
        cx.session.figures.flush(&core.p, core.shared.library);
    }

    /// Runs one call and appends the packets that answer it. What it committed is on disk when it returns, unless it
    /// was not to be waited for.
    pub fn call(&mut self, request: &Request, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| answer(core, cx, calls, request, out))
    }

    /// Says that the next call is a part of the client's call that has just been run: it counts as no call of its own.
    pub fn goes_on(&mut self) {
        self.goes_on = true;
    }

    /// As [`Session::call`] for an array whose rows `rows` gives; it is asked in the call.
    pub fn call_array(&mut self, array: &Array, rows: &mut NextRow<'_>, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.execute_array(core, cx, array, rows, out))
    }

    /// The content of a LOB of a row as of `scn`, or as it is now. Whoever asks was given the row's locator by a query.
    ///
    /// # Errors
    /// ORA-22922 where the row is gone; ORA-01555; ORA-00028.
    pub fn read_lob(&mut self, row: &types::LobRow, scn: Option<types::Scn>) -> Result<Value> {
        self.lob_call(|cx| exec::lobs::content(row, scn, cx))
    }

    /// Changes the LOB of a row that the session's transaction has locked.
    ///
    /// # Errors
    /// ORA-22920 where it is not locked, ORA-22922 where it is gone; those of `edit` and of an update of the column.
    pub fn write_lob(&mut self, row: &types::LobRow, edit: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<()> {
        self.lob_call(|cx| exec::lobs::write(row, edit, cx)).map(drop)
    }

    fn lob_call(&mut self, run: impl FnOnce(&mut ExecCtx<'_>) -> Result<Value>) -> Result<Value> {
        let mut done = None;
        let mut fatal = Vec::new();
        self.call_with(&mut fatal, |_, cx, _, _| {
            done = Some(run(cx));
            Flow::Continue
        });
        // A session that was killed runs nothing.
        done.unwrap_or_else(|| Err(Ora::new(28)))
    }

    /// The transaction without a session that this one is in, and whether a statement began or resumed it.
    pub fn sessionless(&self) -> Option<(txn::GlobalId, bool)> {
        crate::sessionless::attached(&self.core)
    }

    /// The state of a branch that the session may act on.
    pub fn global_state(&self, id: &txn::GlobalId) -> Option<txn::BranchState> {
        crate::global::state_of(&self.core, id)
    }

    /// Does what the coordinator of a global transaction asks. Only an error has packets.
    pub fn call_global(&mut self, call: &GlobalCall, out: &mut Vec<u8>) -> (Flow, Option<GlobalAnswer>) {
        let mut answer = None;
        let flow = self.call_with(out, |core, cx, _, out| {
            match crate::global::run(core, cx, call) {
                Ok(done) => answer = Some(done),
                Err(e) => {
                    let failure = crate::call::failure_of(&e, net::StatementKind::UNKNOWN);
                    write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
                }
            }
            Flow::Continue
        });
        (flow, answer.filter(|_| out.is_empty()))
    }

    /// Gives rows of an open query from there on, which have been given before or not. A query is fetched so from its
    /// first row on, or never.
    pub fn scroll(
        &mut self,
        cursor: u32,
        to: ScrollTo,
        rows: u32,
        sink: Option<&mut dyn RowSink>,
        out: &mut Vec<u8>,
    ) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.scroll(core, cx, (cursor, to), rows, sink, out))
    }

    /// Executes like [`Request::Execute`]; of a query `sink` is told the columns, and gets the rows if it takes them.
    pub fn execute_to(&mut self, e: &Execute, sink: &mut dyn RowSink, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.execute(core, cx, e, Some(sink), out))
    }

    /// Fetches from an open query like [`Request::Fetch`], and gives each row to `sink` instead of writing it. A row
    /// may hold no cursors.
    pub fn fetch_to(&mut self, cursor: u32, rows: u32, sink: &mut dyn RowSink, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.fetch_to(core, cx, (cursor, rows), sink, out))
    }

    fn call_with(
        &mut self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&Core, &mut ExecCtx<'_>, &mut Calls, &mut Vec<u8>) -> Flow,
    ) -> Flow {
        let first = (!self.has_called).then(os::clock::now_ns);
        self.begin_call();
        let answer = out.len();
        let flow = self.call_unsynced(out, run);
        self.end_call();
        // A dictionary that could not be read may have led to a wrong decision.
        if let Err(e) = self.readable()
            && matches!(flow, Flow::Continue)
        {
            out.truncate(answer);
            let failure = crate::call::failure_of(&e, net::StatementKind::UNKNOWN);
            write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
        }
        let synced = self.core.sync_commits();
        if let Some(began) = first {
            self.has_called = true;
            self.core.instance.state().note_first_call(self.slot(), os::clock::now_ns() - began);
        }
        match synced {
            Ok(()) => flow,
            Err(e) => {
                out.truncate(answer);
                say_fatal(&e, out)
            }
        }
    }

    fn call_unsynced(
        &mut self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&Core, &mut ExecCtx<'_>, &mut Calls, &mut Vec<u8>) -> Flow,
    ) -> Flow {
        if self.killed {
            let sniped = self.core.instance.state().is_sniped(self.slot(), self.core.p.session().serial());
            return say_fatal(&Ora::new(if sniped { 2396 } else { 28 }), out);
        }
        if self.limits.connect_end_ns != 0 && os::clock::now_ns() >= self.limits.connect_end_ns {
            self.release();
            return say_fatal(&Ora::new(2399), out);
        }
        if let Err(e) = self.core.p.check_session_limits() {
            self.release();
            return say_fatal(&e, out);
        }
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let flow = run(core, &mut cx, calls, out);
        core.end_running();
        core.store_verdicts(&mut cx);
        cx.session.figures.flush(&core.p, core.shared.library);
        if core.p.stats().get(Stat::EnqueueDeadlocks) != core.deadlocks.get() {
            core.deadlocks.set(core.p.stats().get(Stat::EnqueueDeadlocks));
            admin::trace::deadlocks(core);
        }
        flow
    }

    fn begin_call(&mut self) {
        // Nothing was decided by it since the last call.
        let _ = self.readable();
        let p = &self.core.p;
        p.stats().set(Stat::CpuUsedWhenCallStarted, p.stats().get(Stat::CpuUsedByThisSession));
        p.begin_timed_call();
        p.count(Stat::UserCalls, u64::from(!std::mem::take(&mut self.goes_on)));
        self.core.shared.library.begin_call(p);
        self.state.figures.begin_call(p);
        self.core.p.session().set_status(SessionStatus::Active);
        // A break that came after its call had ended is not meant for this one.
        self.core.p.session().clear_break();
        self.core.p.begin_limited_call();
        let today = self.core.local_time().own_date();
        self.state.nls.today = today;
    }

    /// Counts the processor time of the call, and gives back what must not outlive it: the client may take its time
    /// now.
    fn end_call(&mut self) {
        let p = &self.core.p;
        self.core.end_running();
        self.core.shared.txns.cache().end_call(p);
        p.end_call_of_heap();
        p.end_timed_call();
        // As it was read when the statements of the call were told of it, a moment ago.
        let used = self.state.figures.cpu_ns().saturating_sub(self.cpu.began_ns) / 1000;
        self.core.p.count(Stat::CpuUsedByThisSession, used.saturating_sub(self.cpu.counted));
        self.cpu.counted = self.cpu.counted.max(used);
        os::stack::give_back();
    }

    /// Runs one statement without binds: for tests and background processes. A query's rows come back.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn run(&mut self, text: &str) -> Result<Vec<Vec<Value>>> {
        self.begin_call();
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let rows = calls.run(core, &mut cx, text);
        core.end_running();
        core.store_verdicts(&mut cx);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        self.core.sync_commits()?;
        self.readable()?;
        rows
    }

    /// The finished lines of DBMS_OUTPUT.
    pub fn take_output(&mut self) -> Vec<String> {
        self.core.plsql.take_output(usize::MAX)
    }

    /// Runs a query with SYS's names.
    ///
    /// # Errors
    /// Those of the query.
    pub fn recursive_query(&mut self, text: &'static str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        self.state.nls.today = self.core.local_time().own_date();
        let Session { core, state, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        core.p.begin_timed_call();
        cx.session.figures.begin_call(&core.p);
        let rows = crate::recursive::recursive(core, &mut cx, text, binds);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        self.readable()?;
        rows
    }

    /// Saves the active session history, because its ring is getting full.
    ///
    /// # Errors
    /// Those of the statements, which then leave nothing behind.
    pub fn save_history(&mut self) -> Result<()> {
        self.begin_call();
        let Session { core, state, .. } = self;
        let cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let mut world = World { cx, core };
        let saved = monitor::ash::save_now(&mut world);
        world.cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        saved
    }

    /// Commits.
    ///
    /// # Errors
    /// A commit that failed.
    pub fn commit(&mut self) -> Result<()> {
        let Session { core, state, .. } = self;
        core.commit(&mut ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core })?;
        self.core.sync_commits()
    }

    /// Rolls back.
    ///
    /// # Errors
    /// Undo that cannot be read.
    pub fn rollback(&mut self) -> Result<()> {
        self.core.rollback(&mut self.state)
    }

    /// Runs a job of the queue as its owner, in this session, and commits its changes with those of its row.
    ///
    /// # Errors
    /// Those of reading the job's row; the job's own come in the outcome.
    pub fn run_job(&mut self, job: i64) -> Result<JobOutcome> {
        use enqueue::{EnqueueType, LockMode, Timeout};
        let (core, p) = (&self.core, &self.core.p);
        let kind = EnqueueType::Jq;
        let Ok(lock) = core.shared.enqueues.get(p, kind, 0, job as u64, LockMode::Exclusive, Timeout::NoWait) else {
            return Ok(JobOutcome::NotDue);
        };
        let outcome = self.run_locked_job(job);
        self.core.job.set(0);
        self.core.p.session().job.store(0, Ordering::Relaxed);
        self.core.shared.enqueues.release(&self.core.p, lock);
        outcome
    }

    fn run_locked_job(&mut self, number: i64) -> Result<JobOutcome> {
        let due = "update sys.job$ set this_date = sysdate, sid = :1 where job = :2 and next_date <= sysdate \
                   and bitand(nvl(flag, 0), 1) = 0";
        let sid = crate::world::number(self.sid().into());
        self.recursive_query(due, &[sid, crate::world::number(number)])?;
        let found = {
            let Session { core, state, .. } = &mut *self;
            let active = state.txn.is_active();
            let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
            if active { jobs::load(core, &mut cx, number)? } else { None }
        };
        let Some(job) = found else { return Ok(JobOutcome::NotDue) };
        self.commit()?;
        let owner = self.core.dict.borrow_mut().user(&job.owner)?.map(|u| u.id);
        let Some(owner) = owner.or((job.owner == "SYS").then_some(UserId::SYS)) else {
            return Ok(JobOutcome::Failed(Ora::new(1435)));
        };
        self.become_user(&job.owner, owner, owner == UserId::SYS);
        if job.schema != job.owner
            && let Err(e) = self.core.set_current_schema(&mut self.state, &job.schema)
        {
            // The schema is gone: an error of the job, which counts as one.
            self.become_user("SYS", UserId::SYS, true);
            return Ok(JobOutcome::Failed(e));
        }
        self.core.job.set(number as u64);
        self.core.p.session().job.store(number as u64, Ordering::Relaxed);
        let command = &self.core.p.session().command;
        command.store(net::StatementKind::PLSQL_EXECUTE.0.into(), Ordering::Relaxed);
        self.begin_call();
        self.core.plsql.set_takes_results(false);
        let own_settings = self.core.params.borrow().clone();
        let result = {
            let Session { core, state, .. } = &mut *self;
            let mut set = |(name, value): (&str, &str)| alter::set_nls(core, state, name, value);
            let set = crate::nls::settings(&job.nls).into_iter().try_for_each(&mut set);
            let cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
            let mut world = World { cx, core };
            let result = set.and_then(|()| jobs::execute(&mut world, &job));
            world.cx.session.figures.flush(&core.p, core.shared.library);
            result
        };
        // The next job of this session has its own settings, whatever this one has set.
        self.core.params.replace(own_settings);
        self.state.change_nls(|n| nls::apply(&self.core.params.borrow(), n));
        self.core.p.session().command.store(0, Ordering::Relaxed);
        // The session is done with the result cache before its job is seen to be gone.
        self.core.shared.results.end_session(&self.core.p);
        let result = result.and_then(|()| self.commit());
        self.end_call();
        self.become_user("SYS", UserId::SYS, true);
        match result {
            Ok(()) => Ok(JobOutcome::Done),
            Err(e) => {
                self.rollback()?;
                Ok(JobOutcome::Failed(e))
            }
        }
    }

    /// Waits for work of a server of parallel queries, and does it. False: nothing came in time, or the instance
    /// closes.
    ///
    /// # Errors
    /// ORA-00028 when the session was killed.
    pub fn serve(&mut self, server: u32, time: Duration) -> Result<bool> {
        let (servers, instance) = (self.core.shared.servers, self.core.instance);
        let stop = || instance.is_closing();
        let parallel::Found::Work(work) = servers.wait_for_work(&self.core.p, server, time, &stop) else {
            self.core.p.check_cancel()?;
            return Ok(false);
        };
        self.begin_call();
        let done = self.serve_work(&work);
        self.become_user("SYS", UserId::SYS, true);
        self.end_call();
        work.end();
        self.core.p.session().set_status(SessionStatus::Inactive);
        match done {
            // Other errors have been sent to the coordinator.
            Err(e) if e.is(28) => Err(e),
            _ => Ok(true),
        }
    }

    fn serve_work(&mut self, work: &parallel::Assignment) -> Result<()> {
        os::crash::point("px-begun");
        let p = Rc::clone(&self.core.p);
        let begun = Job::receive(&p, work).and_then(|job| Ok((job.session(&self.state.options)?, job)));
        let (mut state, job) = match begun {
            Ok(begun) => begun,
            Err(e) => return exec::parallel::report(&p, work, e),
        };
        let slot = p.session();
        let (name, id) = job.user();
        slot.user.store(id, Ordering::Relaxed);
        slot.username.set(name);
        state.serves = Some(*work);
        state.figures.begin_call(&p);
        let core = &self.core;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: &mut state, host: core };
        let done = job.run(work, &mut cx);
        cx.session.figures.flush(&core.p, core.shared.library);
        done
    }

    /// Ends the session: what is not committed is rolled back.
    pub fn end(self) {}
}

impl Drop for Session {
    /// As [`Session::end`]: however its owner leaves it, a session leaves nothing behind for the next owner of its
    /// slot.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // The process dies here, and PMON ends the session.
        }
        self.release();
        self.core.plsql.reset();
        crate::audit::logoff(&self.core);
        // What cannot be rolled back here is PMON's from now on.
        let _ = self.core.shared.txns.end_session(&self.core.p, &mut self.state.txn);
        self.core.shared.results.end_session(&self.core.p);
        admin::oradebug::free_all(&self.core);
        self.core.shared.library.end_session(&self.core.p);
        self.core.shared.enqueues.release_all(&self.core.p, self.core.p.number());
        self.core.instance.state().set_cancel_key(self.slot(), 0);
        self.core.instance.state().set_idle_limit(self.slot(), 0);
    }
}

/// A user's name as the dictionary has it: upper case unless quoted.
pub(crate) fn dictionary_name(text: &str) -> String {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => text.to_uppercase(),
    }
}

/// Where the rows of a scrollable query begin that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrollTo {
    /// The row of that number, from 1.
    Row(u64),
    Last,
}

/// Runs a call.
fn answer(core: &Core, cx: &mut ExecCtx<'_>, calls: &mut Calls, request: &Request, out: &mut Vec<u8>) -> Flow {
    match request {
        Request::Execute(e) => calls.execute(core, cx, e, None, out),
        Request::ExecuteMany { array, rows } => {
            let mut rows = rows.rows();
            let mut next = |row: &mut Vec<Value>| rows.next_row(row).map_err(|_| Ora::new(3106));
            calls.execute_array(core, cx, array, &mut next, out)
        }
        Request::Fetch { cursor, rows } => calls.fetch(core, cx, *cursor, *rows, out),
        Request::Describe { sql } => calls.describe(core, cx, sql, out),
        Request::CloseCursor { cursor } => {
            calls.close(core, cx, *cursor);
            Flow::Continue
        }
        Request::Logoff { commit } => {
            // Where there is no transaction nothing is committed, and nothing counts.
            let ended = match cx.session.txn.is_active() {
                false => Ok(()),
                // A branch is its coordinator's to commit.
                true if crate::global::is_in_branch(core, cx.session) => core.rollback(cx.session),
                true if *commit => core.commit(cx),
                true => core.rollback(cx.session),
            };
            match ended {
                Ok(()) => write_frame(out, |o| Reply::Done(Box::default()).encode(o)),
                Err(e) => return say_fatal(&e, out),
            }
            Flow::End
        }
        Request::Logon(_) | Request::Cancel { .. } | Request::Diagnose | Request::Listener(_) => {
            say_fatal(&Ora::new(3106), out)
        }
    }
}

fn say_fatal(e: &Ora, out: &mut Vec<u8>) -> Flow {
    let failure = Failure {
        facility: e.facility().prefix().into(),
        code: e.code(),
        text: e.to_string(),
        fatal: true,
        ..Failure::default()
    };
    write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
    Flow::End
}

/// 64 bits nobody guesses.
fn random_u64() -> u64 {
    u64::from_le_bytes(random_bytes())
}

/// Bytes nobody guesses.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    os::random::bytes().expect("a kernel that this program runs on has random bytes")
}
