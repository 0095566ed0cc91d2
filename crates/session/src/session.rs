//! One session: its user and its calls. [`crate::opening`] has its beginning.
//!
//! | state | resources | ways out |
//! |---|---|---|
//! | between calls | perhaps a transaction, enqueues, open cursors (invariant 4) | `call`, `release_if_killed`, `end` |
//! | in a call | also latches, pins and blocks | end of the call; a killed or broken call ends with an error |
//! | killed | none: rolled back, locks freed | the next call returns ORA-00028 or ORA-02396 and ends the session |

use crate::array::NextRow;
use crate::core::Core;
use crate::flow::{Flow, ScrollTo};
use crate::global::{GlobalAnswer, GlobalCall};
use crate::logon::SessionLimits;
use crate::open::Calls;
use crate::sink::RowSink;
use exec::{ExecCtx, SessionState};
use net::local::{Array, Execute, Failure, Reply, Request, write_frame};
use process::{Process, SessionStatus, WaitGuard};
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{Nls, Ora, Result, Value};
use wait::{Event, Stat};

/// The session of a logged-on user.
pub struct Session {
    pub(crate) core: Core,
    pub(crate) state: SessionState,
    pub(crate) calls: Calls,
    pub(crate) cancel_key: u64,
    pub(crate) killed: bool,
    pub(crate) has_called: bool,
    /// The next call belongs to the client's call before it, and is not counted.
    pub(crate) goes_on: bool,
    pub(crate) cpu: CpuTime,
    pub(crate) limits: SessionLimits,
    pub(crate) warning: Option<Ora>,
}

/// Processor time of the session's process: its value at the beginning, and the microseconds counted since.
pub(crate) struct CpuTime {
    pub(crate) began_ns: u64,
    pub(crate) counted: u64,
}

impl Session {
    /// The session's SID.
    pub fn sid(&self) -> u32 {
        self.core.p.sid()
    }

    /// The index of the process slot: the process's number less one.
    pub fn slot(&self) -> usize {
        self.core.p.number() as usize - 1
    }

    /// The session's process.
    pub fn process(&self) -> &Process {
        &self.core.p
    }

    /// Sets whether the client takes implicit results of DBMS_SQL.RETURN_RESULT. The default is true.
    pub fn set_takes_results(&self, takes: bool) {
        self.core.plsql.set_takes_results(takes);
    }

    /// Sets the client's number of the statement that the next call executes. `is_again`: the client has executed it
    /// before, so its held cursor is used without a parse call (invariant 13).
    pub fn set_statement(&mut self, number: u16, is_again: bool) {
        self.calls.held.begin_call(number, is_again);
    }

    /// Closes the held cursor of a client's statement.
    pub fn forget_statement(&mut self, number: u16) {
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        calls.held.close(core, &mut cx, number);
    }

    /// Closes the held cursors of all the client's statements.
    pub fn forget_statements(&mut self) {
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        calls.held.close_all(core, &mut cx);
    }

    /// The directions of the binds of the last block, in the order of its call.
    pub fn bind_directions(&self) -> &[net::local::Direction] {
        self.calls.directions()
    }

    /// The last row changed by the last call, if that was DML on a table with rowids.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.calls.last_row()
    }

    /// The NLS settings.
    pub fn nls(&self) -> &Nls {
        &self.state.nls
    }

    /// True when a transaction is open, or the session is in a branch of a global transaction.
    pub fn is_in_transaction(&self) -> bool {
        self.state.txn.is_active() || crate::branch::is_in_branch(&self.core, &self.state)
    }

    /// The session's value of a parameter.
    pub fn parameter(&self, param: params::Param) -> i64 {
        self.core.params.borrow().number(param)
    }

    /// Begins the wait for the next call; it lasts until the guard is dropped.
    pub fn wait_for_client(&self) -> WaitGuard<'_> {
        self.core.p.session().set_status(SessionStatus::Inactive);
        self.core.p.wait(Event::SqlNetMessageFromClient, self.driver_id(), 1, 0)
    }

    /// Begins the wait for the rest of a message; `bytes` of it have arrived.
    pub fn wait_for_rest(&self, bytes: u64) -> WaitGuard<'_> {
        self.core.p.wait(Event::SqlNetMoreDataFromClient, self.driver_id(), bytes, 0)
    }

    /// P1 of the waits for a client: the kind of its connection, as the letters of `TCP`, `tcps` or `beq`.
    pub(crate) fn driver_id(&self) -> u64 {
        let slot = self.core.p.session();
        match (slot.port.load(Ordering::Relaxed), slot.speaks_tls()) {
            (0, _) => 0x6265_7100,
            (_, false) => 0x5443_5000,
            _ => 0x7463_7073,
        }
    }

    /// Counts bytes received from the client.
    pub fn note_received(&self, bytes: u64) {
        self.core.p.count(Stat::BytesReceivedFromClient, bytes);
    }

    /// Counts an answer to a client.
    pub fn note_answer(&self, bytes: u64) {
        self.note_sent(bytes);
        self.core.p.count(Stat::RoundtripsToClient, 1);
    }

    /// Counts bytes sent to the client without a round trip: the client does not wait for them.
    pub fn note_sent(&self, bytes: u64) {
        self.core.p.count(Stat::BytesSentToClient, bytes);
    }

    /// The number of posts so far, for [`Session::idle`].
    pub fn posts(&self) -> u32 {
        self.core.p.posts()
    }

    /// Sleeps until a post after `posts`, or until the time is over.
    pub fn idle(&self, event: Event, posts: u32, time: Duration) {
        let guard = self.core.p.wait(event, time.as_millis() as u64 / 10, 0, 0);
        if !self.core.p.sleep(posts, Some(time)) {
            guard.timed_out();
        }
    }

    /// If the session was killed between calls, rolls back and frees all its resources.
    pub fn release_if_killed(&mut self) {
        let is_killed = self.core.p.check_cancel().is_err_and(|e| e.is(28));
        if is_killed && !self.killed {
            self.killed = true;
            self.core.p.session().set_status(SessionStatus::Killed);
            self.release();
        }
    }

    /// True when the session was killed and has freed its resources.
    pub fn is_killed(&self) -> bool {
        self.killed
    }

    /// Closes the cursors, rolls back the transaction and frees the locks of the session.
    pub(crate) fn release(&mut self) {
        self.give_back(false);
    }

    /// As [`Session::release`]; with `keeps_rows`, rows of temporary tables stay.
    pub(crate) fn give_back(&mut self, keeps_rows: bool) {
        let Session { core, state, calls, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        calls.close_all(core, &mut cx);
        // If this rollback fails, the end of the session repeats it.
        if cx.session.txn.is_active() {
            let _ = core.rollback(cx.session);
        }
        crate::branch::drop_branch(core);
        if !keeps_rows {
            cx.session.end_temporaries(&core.p, &core.shared);
        }
        for (_, (lock, _)) in core.user_locks.take() {
            core.shared.enqueues.release(&core.p, lock);
        }
        cx.session.figures.flush(&core.p, core.shared.library);
    }

    /// Runs one call and appends the packets of its answer. On return its commits are on disk, except commits with
    /// NOWAIT.
    pub fn call(&mut self, request: &Request, out: &mut Vec<u8>) -> Flow {
        self.core.p.session().begin_client_call();
        self.call_with(out, |core, cx, calls, out| answer(core, cx, calls, request, out))
    }

    /// Marks the next call as a part of the client's call before it, so that it is not counted as a user call.
    pub fn goes_on(&mut self) {
        self.goes_on = true;
    }

    /// As [`Session::call`], for an array. The call takes the rows one by one from `rows` (invariant 6).
    pub fn call_array(&mut self, array: &Array, rows: &mut NextRow<'_>, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.execute_array(core, cx, array, rows, out))
    }

    /// Reads a LOB of a row as of `scn`, or its present content. The caller got the row's locator from a query.
    ///
    /// # Errors
    /// ORA-22922 when the row is gone; ORA-01555; ORA-00028.
    pub fn read_lob(&mut self, row: &types::LobRow, scn: Option<types::Scn>) -> Result<Value> {
        self.lob_call(|cx| exec::lobs::content(row, scn, cx))
    }

    /// Changes the LOB of a row that the session's transaction has locked.
    ///
    /// # Errors
    /// ORA-22920 when the row is not locked, ORA-22922 when it is gone; those of `edit` and of an update of the column.
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
        // In a killed session the closure does not run.
        done.unwrap_or_else(|| Err(Ora::new(28)))
    }

    /// The sessionless transaction that the session is attached to, and whether DBMS_TRANSACTION began or resumed it.
    pub fn sessionless(&self) -> Option<(txn::GlobalId, bool)> {
        crate::branch::attached(&self.core)
    }

    /// The state of a branch; `None` for a branch that the session may not act on.
    pub fn global_state(&self, id: &txn::GlobalId) -> Option<txn::BranchState> {
        crate::global::state_of(&self.core, id)
    }

    /// Carries out a request of the coordinator of a global transaction. Only an error appends packets.
    pub fn call_global(&mut self, call: &GlobalCall, out: &mut Vec<u8>) -> (Flow, Option<GlobalAnswer>) {
        let mut answer = None;
        let flow = self.call_with(out, |core, cx, _, out| {
            match crate::global::run(core, cx, call) {
                Ok(done) => answer = Some(done),
                Err(mut e) => {
                    core.report(&mut e, None);
                    let failure = crate::flow::failure_of(&e, net::StatementKind::UNKNOWN);
                    write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
                }
            }
            Flow::Continue
        });
        (flow, answer.filter(|_| out.is_empty()))
    }

    /// Returns rows of an open scrollable query from `to` on, also rows that it has returned before. All fetches of
    /// such a query must come through this function.
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

    /// Executes like [`Request::Execute`]. `sink` gets the columns of a query, and its rows if it accepts them.
    pub fn execute_to(&mut self, e: &Execute, sink: &mut dyn RowSink, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.execute(core, cx, e, Some(sink), out))
    }

    /// Fetches from an open query like [`Request::Fetch`], with the rows going to `sink` instead of into packets.
    pub fn fetch_to(&mut self, cursor: u32, rows: u32, sink: &mut dyn RowSink, out: &mut Vec<u8>) -> Flow {
        self.call_with(out, |core, cx, calls, out| calls.fetch_to(core, cx, (cursor, rows), sink, out))
    }

    pub(crate) fn call_with(
        &mut self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&Core, &mut ExecCtx<'_>, &mut Calls, &mut Vec<u8>) -> Flow,
    ) -> Flow {
        let first = (!self.has_called).then(os::clock::now_ns);
        self.begin_call();
        let answer = out.len();
        let flow = self.call_unsynced(out, run);
        self.end_call();
        // A failed read of the dictionary may have led to a wrong decision.
        if let Err(mut e) = self.readable()
            && matches!(flow, Flow::Continue)
        {
            self.core.report(&mut e, None);
            out.truncate(answer);
            let failure = crate::flow::failure_of(&e, net::StatementKind::UNKNOWN);
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
                say_fatal(&self.core, e, out)
            }
        }
    }

    pub(crate) fn call_unsynced(
        &mut self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&Core, &mut ExecCtx<'_>, &mut Calls, &mut Vec<u8>) -> Flow,
    ) -> Flow {
        if self.killed {
            let sniped = self.core.instance.state().is_sniped(self.slot(), self.core.p.session().serial());
            return say_fatal(&self.core, Ora::new(if sniped { 2396 } else { 28 }), out);
        }
        if self.limits.connect_end_ns != 0 && os::clock::now_ns() >= self.limits.connect_end_ns {
            self.release();
            return say_fatal(&self.core, Ora::new(2399), out);
        }
        if let Err(e) = self.core.p.check_session_limits() {
            self.release();
            return say_fatal(&self.core, e, out);
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

    /// Checks that every read of the dictionary has succeeded since the last check.
    ///
    /// # Errors
    /// The first error of reading: decisions made since may be wrong.
    pub(crate) fn readable(&self) -> Result<()> {
        self.core.dict.borrow().take_fault().map_or(Ok(()), Err)
    }

    pub(crate) fn begin_call(&mut self) {
        // Read errors from before this call do not concern its decisions.
        let _ = self.readable();
        let p = &self.core.p;
        p.stats().set(Stat::CpuUsedWhenCallStarted, p.stats().get(Stat::CpuUsedByThisSession));
        p.begin_timed_call();
        p.count(Stat::UserCalls, u64::from(!std::mem::take(&mut self.goes_on)));
        self.core.shared.library.begin_call(p);
        self.state.figures.begin_call(p);
        self.core.p.session().set_status(SessionStatus::Active);
        // A break that arrived after the end of its call must not break this call.
        self.core.p.session().clear_break();
        self.core.p.begin_limited_call();
        let today = self.core.local_time().own_date();
        self.state.nls.today = today;
    }

    /// Counts the processor time of the call, and gives back memory and pins that a session must not keep between
    /// calls.
    pub(crate) fn end_call(&mut self) {
        let p = &self.core.p;
        self.core.end_running();
        self.core.shared.txns.cache().end_call(p);
        p.end_call_of_heap();
        p.end_timed_call();
        // The flush of the statements' figures has read the clock a moment ago; it is not read again.
        let used = self.state.figures.cpu_ns().saturating_sub(self.cpu.began_ns) / 1000;
        self.core.p.count(Stat::CpuUsedByThisSession, used.saturating_sub(self.cpu.counted));
        self.cpu.counted = self.cpu.counted.max(used);
        os::stack::give_back();
    }

    /// Runs one statement without binds, for tests and background processes. Returns the rows of a query.
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
        self.readable().and(rows).map_err(|mut e| {
            self.core.report(&mut e, Some(text));
            e
        })
    }

    /// Takes the complete lines of DBMS_OUTPUT.
    pub fn take_output(&mut self) -> Vec<String> {
        self.core.plsql.take_output(usize::MAX)
    }

    /// Commits, and waits for the disk.
    ///
    /// # Errors
    /// Those of a failed commit.
    pub fn commit(&mut self) -> Result<()> {
        let Session { core, state, .. } = self;
        core.commit(&mut ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core })?;
        self.core.sync_commits()
    }

    /// Rolls back.
    ///
    /// # Errors
    /// Those of reading undo.
    pub fn rollback(&mut self) -> Result<()> {
        self.core.rollback(&mut self.state)
    }

    /// Ends the session and rolls back its open transaction (invariant 3).
    pub fn end(self) {}
}

impl Session {
    /// Sets values of an application context, on a client's request before a call. `clears`: first deletes the values
    /// of the namespace.
    ///
    /// # Errors
    /// ORA-28267 for a namespace that clients may not set, ORA-28106 for values that are too long.
    pub fn set_context(&self, namespace: &str, clears: bool, values: &[(String, String)]) -> Result<()> {
        crate::app_context::check_namespace(namespace)?;
        let contexts = &self.core.contexts;
        if clears {
            contexts.clear(namespace, None);
        }
        values.iter().try_for_each(|(name, value)| contexts.set(namespace, name, value))
    }
}

impl Drop for Session {
    /// Ends the session, whatever the reason of the drop: nothing stays behind for the next owner of its slot
    /// (invariant 3).
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // The process dies here, and PMON ends the session.
        }
        self.release();
        self.core.plsql.reset();
        crate::audit::logoff(&self.core);
        // If this rollback fails, PMON repeats it.
        let _ = self.core.shared.txns.end_session(&self.core.p, &mut self.state.txn);
        self.core.shared.results.end_session(&self.core.p);
        admin::oradebug::free_all(&self.core);
        self.core.shared.library.end_session(&self.core.p);
        self.core.shared.enqueues.release_all(&self.core.p, self.core.p.number());
        self.core.instance.state().set_cancel_key(self.slot(), 0);
        self.core.instance.state().set_idle_limit(self.slot(), 0);
    }
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
            crate::event_triggers::logoff(core, cx);
            // Without a transaction there is no commit to count.
            let ended = match cx.session.txn.is_active() {
                false => Ok(()),
                // Only the coordinator of a branch commits it.
                true if crate::branch::is_in_branch(core, cx.session) => core.rollback(cx.session),
                true if *commit => core.commit(cx),
                true => core.rollback(cx.session),
            };
            match ended {
                Ok(()) => write_frame(out, |o| Reply::Done(Box::default()).encode(o)),
                Err(e) => return say_fatal(core, e, out),
            }
            Flow::End
        }
        Request::Logon(_) | Request::Cancel { .. } | Request::Diagnose | Request::Listener(_) => {
            say_fatal(core, Ora::new(3106), out)
        }
    }
}

/// Ends the session with an error. An internal error, of the commit or the rollback at logoff, is reported.
fn say_fatal(core: &Core, mut e: Ora, out: &mut Vec<u8>) -> Flow {
    core.report(&mut e, None);
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
