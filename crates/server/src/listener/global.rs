//! Calls of the coordinators of global transactions.

use super::calls::{CallError, CallResult, Calls};
use net::local::Done;
use net::oracle::global::{self, End, GlobalXid, Switch, end, fate, start_flag, state, switch};
use session::{GlobalAnswer, GlobalCall, GlobalStart};
use txn::{BranchState, GlobalId, Isolation};
use types::Ora;

impl Calls {
    /// Enters a branch or leaves it.
    pub(super) fn switch(&mut self, s: &Switch, sequence: u8, out: &mut Vec<u8>) -> CallResult<()> {
        if s.flags & start_flag::SESSIONLESS != 0 {
            self.switch_sessionless(s)?;
            self.tell_sessionless(out);
            global::write_switched(out, s.application, None);
            self.succeeded(&Done::default(), 0, sequence).write(out);
            return Ok(());
        }
        let id = s.id.as_ref().map(id_of).transpose()?;
        let call = match s.operation {
            switch::START => GlobalCall::Start {
                id: id.ok_or_else(|| Ora::new(24756))?,
                how: start_of(s.flags)?,
                isolation: isolation_of(s.flags),
                timeout_s: s.timeout,
            },
            switch::DETACH => GlobalCall::Detach(id),
            _ => return Err(Ora::unsupported().into()),
        };
        self.ask_global(&call)?;
        let attached = s.id.as_ref().filter(|_| s.operation == switch::START);
        global::write_switched(out, s.application, attached);
        self.succeeded(&Done::default(), 0, sequence).write(out);
        Ok(())
    }

    /// Enters or leaves a branch before another call.
    pub(super) fn switch_before(&mut self, s: &Switch) -> CallResult<()> {
        if s.flags & start_flag::SESSIONLESS == 0 {
            return Err(Ora::unsupported().into());
        }
        self.switch_sessionless(s)
    }

    fn switch_sessionless(&mut self, s: &Switch) -> CallResult<()> {
        // Other bits of the operation are not supported.
        if s.operation & !(switch::START | switch::DETACH | switch::DETACH_BEHIND) != 0 || s.operation == 0 {
            return Err(Ora::unsupported().into());
        }
        if s.operation & switch::DETACH != 0 {
            self.ask_global(&GlobalCall::SuspendSessionless)?;
        }
        if s.operation & switch::START != 0 {
            let id = s.id.as_ref().ok_or_else(|| Ora::new(24756))?;
            let resumes = match s.flags & start_flag::HOW & !start_flag::SESSIONLESS {
                start_flag::NEW => false,
                start_flag::RESUME => true,
                _ => return Err(Ora::new(26213).into()),
            };
            let id = session::sessionless_id(&id.global)?;
            let call = GlobalCall::StartSessionless { id, resumes, timeout_s: s.timeout };
            if let Err(e) = self.ask_global(&call) {
                self.is_misled = true;
                return Err(e);
            }
        }
        if s.operation & switch::DETACH_BEHIND != 0 {
            if self.session.sessionless().is_none() {
                return Err(Ora::new(26202).into());
            }
            self.leaves_behind = true;
        }
        Ok(())
    }

    /// Leaves the sessionless transaction after the call that has just run, if the client requested it.
    pub(super) fn leave_behind(&mut self, out: &mut Vec<u8>) -> CallResult<()> {
        // The call may have ended it.
        if std::mem::take(&mut self.leaves_behind) && self.session.sessionless().is_some() {
            self.session.goes_on();
            self.ask_global(&GlobalCall::SuspendSessionless)?;
        }
        self.tell_sessionless(out);
        Ok(())
    }

    /// Tells the client which sessionless transaction it is in, if that has changed.
    pub(super) fn tell_sessionless(&mut self, out: &mut Vec<u8>) {
        let is_in = self.session.sessionless();
        let is_news = std::mem::take(&mut self.is_misled) || self.told != is_in;
        if self.client.knows_sessionless && is_news {
            global::write_sessionless(out, is_in.as_ref().map(|(id, by_statement)| (id.gtrid(), *by_statement)));
        }
        self.told = is_in;
    }

    /// Prepares a branch or ends it.
    pub(super) fn end_global(&mut self, e: &End, sequence: u8, out: &mut Vec<u8>) -> CallResult<()> {
        let id = e.id.as_ref().map(id_of).transpose()?;
        if e.operation == end::RECOVER {
            let fate = id.and_then(|id| self.session.global_state(&id)).map_or(fate::UNKNOWN, |state| match state {
                BranchState::Prepared => fate::PREPARED,
                BranchState::ForcedCommit => fate::FORCED_COMMIT,
                BranchState::ForcedRollback => fate::FORCED_ROLLBACK,
                BranchState::TimedOut | BranchState::Free => fate::UNKNOWN,
                BranchState::Attached | BranchState::Idle | BranchState::Ending => fate::ACTIVE,
            });
            global::write_ended(out, fate);
            self.succeeded(&Done::default(), 0, sequence).write(out);
            return Ok(());
        }
        // A client that requests no vote needs none.
        let one_phase = e.state == state::READ_ONLY;
        let call = match e.operation {
            end::COMMIT => GlobalCall::Commit { id, one_phase },
            end::ABORT => GlobalCall::Rollback(id),
            end::PREPARE => GlobalCall::Prepare(id),
            end::FORGET => GlobalCall::Forget(id),
            _ => return Err(Ora::unsupported().into()),
        };
        let answer = self.ask_global(&call)?;
        let is_in = match (e.operation, answer) {
            (end::PREPARE, GlobalAnswer::ReadOnly) => state::READ_ONLY,
            (end::PREPARE, _) => state::REQUIRES_COMMIT,
            (end::COMMIT, _) if one_phase => state::COMMITTED,
            (end::ABORT, _) => state::ABORTED,
            _ => state::FORGOTTEN,
        };
        global::write_ended(out, is_in);
        self.succeeded(&Done::default(), 0, sequence).write(out);
        Ok(())
    }

    fn ask_global(&mut self, call: &GlobalCall) -> CallResult<GlobalAnswer> {
        let mut bytes = Vec::new();
        let (flow, answer) = self.session.call_global(call, &mut bytes);
        let said = self.hear(flow, &bytes)?;
        match (said.failure, answer) {
            (Some(failure), _) => Err(CallError::Session(failure)),
            (None, Some(answer)) => Ok(answer),
            (None, None) => Err(Ora::new(3115).into()),
        }
    }
}

fn id_of(id: &GlobalXid) -> types::Result<GlobalId> {
    GlobalId::new(id.format, &id.global, &id.branch).ok_or_else(|| Ora::new(3115))
}

fn start_of(flags: u32) -> types::Result<GlobalStart> {
    match flags & start_flag::HOW {
        0 | start_flag::NEW => Ok(GlobalStart::New),
        start_flag::JOIN | start_flag::RESUME => Ok(GlobalStart::Resume),
        start_flag::PROMOTE => Ok(GlobalStart::Promote),
        _ => Err(Ora::new(24759)),
    }
}

fn isolation_of(flags: u32) -> Option<Isolation> {
    match () {
        () if flags & start_flag::SERIALIZABLE != 0 => Some(Isolation::Serializable),
        () if flags & start_flag::READ_ONLY != 0 => Some(Isolation::ReadOnly),
        () if flags & start_flag::READ_WRITE != 0 => Some(Isolation::ReadCommitted),
        () => None,
    }
}
