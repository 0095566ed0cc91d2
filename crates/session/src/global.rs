//! The requests of coordinators about branches of global transactions.
//!
//! The crate `txn` keeps the branches, [`crate::branch`] the branch that the session works in. A branch is ended by its
//! coordinator, not by COMMIT, ROLLBACK or DDL.

use crate::branch::{attached, is_sessionless, leave};
use crate::core::{Core, TIMEOUT_S};
use crate::sessionless;
use dictionary::SystemPrivilege;
use exec::ExecCtx;
use plsql::XaRequest;
use std::time::Duration;
use txn::{Asked, BranchRow, BranchState, BranchTerms, GlobalId, Isolation, Vote};
use types::{Ora, Result};

/// The way of a session into a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Begins a new branch.
    New,
    /// Makes the open transaction of the session a new branch.
    Promote,
    /// Resumes an existing branch.
    Resume,
}

/// A coordinator's request to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalCall {
    Start {
        id: GlobalId,
        how: Start,
        isolation: Option<Isolation>,
        timeout_s: u32,
    },
    /// Leaves the branch; `None` is the branch that the session works in.
    Detach(Option<GlobalId>),
    Prepare(Option<GlobalId>),
    Commit {
        id: Option<GlobalId>,
        one_phase: bool,
    },
    Rollback(Option<GlobalId>),
    Forget(Option<GlobalId>),
    /// Begins or resumes a sessionless transaction.
    StartSessionless {
        id: GlobalId,
        resumes: bool,
        timeout_s: u32,
    },
    SuspendSessionless,
}

impl GlobalCall {
    /// The branch that the call names.
    fn id(&self) -> Option<GlobalId> {
        match self {
            GlobalCall::Start { id, .. } | GlobalCall::StartSessionless { id, .. } => Some(*id),
            GlobalCall::Detach(id) | GlobalCall::Prepare(id) | GlobalCall::Commit { id, .. } => *id,
            GlobalCall::Rollback(id) | GlobalCall::Forget(id) => *id,
            GlobalCall::SuspendSessionless => None,
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalAnswer {
    Done,
    ReadOnly,
    Prepared,
}

/// The longest wait of a call for a session that works in its branch.
const WAIT: Duration = Duration::from_secs(60);

/// Runs a coordinator's request.
///
/// # Errors
/// Oracle's errors of branches, from ORA-24756 on.
pub(crate) fn run(core: &Core, cx: &mut ExecCtx<'_>, call: &GlobalCall) -> Result<GlobalAnswer> {
    if cx.session.suspended > 0 {
        // An autonomous transaction is in force, not the transaction that the coordinator means.
        return Err(Ora::new(24789));
    }
    match *call {
        GlobalCall::StartSessionless { id, resumes, timeout_s } => {
            sessionless::start(core, cx, &id, resumes, timeout_s, false)?;
            return Ok(GlobalAnswer::Done);
        }
        GlobalCall::SuspendSessionless => {
            sessionless::suspend(core, cx, false)?;
            return Ok(GlobalAnswer::Done);
        }
        // Sessionless transactions do not belong to a coordinator.
        _ if call.id().is_some_and(|id| is_sessionless(&id)) => return Err(Ora::new(24756)),
        GlobalCall::Start { .. } if attached(core).is_some() => return Err(Ora::new(24776)),
        _ if call.id().is_none() && attached(core).is_some() => return Err(Ora::new(24771)),
        _ => {}
    }
    match *call {
        GlobalCall::StartSessionless { .. } | GlobalCall::SuspendSessionless => Ok(GlobalAnswer::Done),
        GlobalCall::Start { id, how, isolation, timeout_s } => {
            start(core, cx, &id, how, timeout_s)?;
            if let Some(isolation) = isolation {
                cx.session.txn.set(Some(isolation));
            }
            Ok(GlobalAnswer::Done)
        }
        GlobalCall::Detach(id) => {
            detach(core, cx, id.as_ref())?;
            Ok(GlobalAnswer::Done)
        }
        GlobalCall::Prepare(id) => {
            let (id, asked) = left(core, cx, id)?;
            match core.shared.txns.prepare_branch(&core.p, &id, asked)? {
                Vote::ReadOnly => Ok(GlobalAnswer::ReadOnly),
                Vote::Prepared => Ok(GlobalAnswer::Prepared),
            }
        }
        GlobalCall::Commit { id, one_phase } => {
            let (id, asked) = left(core, cx, id)?;
            let hook = core.instance.on_commit();
            let done = core.shared.txns.commit_branch(&core.p, &id, one_phase, asked, &hook);
            core.shared.txns.show_transaction(&core.p, &cx.session.txn);
            done.map(|()| GlobalAnswer::Done)
        }
        GlobalCall::Rollback(id) => {
            let (id, asked) = left(core, cx, id)?;
            let xid = core.shared.txns.branch_row(&id).and_then(|row| row.xid);
            let own = xid.map(|xid| cx.session.temporaries.left_in(xid)).unwrap_or_default();
            let done = core.shared.txns.rollback_branch_and(&core.p, &id, asked, &own);
            core.shared.txns.show_transaction(&core.p, &cx.session.txn);
            done.map(|()| GlobalAnswer::Done)
        }
        GlobalCall::Forget(id) => {
            let id = id.ok_or_else(|| Ora::new(24771))?;
            let asked = may_touch(core, &id, WAIT)?;
            core.shared.txns.forget_branch(&core.p, &id, asked)?;
            Ok(GlobalAnswer::Done)
        }
    }
}

/// DBMS_XA: runs a request and returns XA's code of the outcome.
pub(crate) fn xa(core: &Core, cx: &mut ExecCtx<'_>, xid: &[u8], request: &XaRequest) -> Result<i64> {
    match request {
        XaRequest::SetTimeout(seconds) => {
            let seconds = u32::try_from(*seconds).ok().filter(|s| *s > 0);
            core.xa_timeout.set(seconds.unwrap_or(TIMEOUT_S));
            return Ok(0);
        }
        XaRequest::LastError => return Ok(core.xa_error.get().into()),
        _ => {}
    }
    let done = match id_of(xid) {
        Some(id) => xa_call(core, id, request).and_then(|call| run(core, cx, &call)),
        None => Err(Ora::new(24759)),
    };
    core.xa_error.set(done.as_ref().err().map_or(0, Ora::code));
    match done {
        Ok(GlobalAnswer::ReadOnly) => Ok(3),
        Ok(GlobalAnswer::Done | GlobalAnswer::Prepared) => Ok(0),
        Err(e) => xa_code(&e).ok_or(e),
    }
}

fn xa_call(core: &Core, id: GlobalId, request: &XaRequest) -> Result<GlobalCall> {
    const JOIN: i64 = 0x20_0000;
    const RESUME: i64 = 0x800_0000;
    const SUSPEND: i64 = 0x200_0000;
    const SUCCESS: i64 = 0x400_0000;
    Ok(match *request {
        XaRequest::Start { flags } => {
            let how = match flags {
                0 => Start::New,
                JOIN | RESUME => Start::Resume,
                _ => return Err(Ora::new(24759)),
            };
            GlobalCall::Start { id, how, isolation: None, timeout_s: core.xa_timeout.get() }
        }
        XaRequest::End { flags: SUCCESS | SUSPEND } => GlobalCall::Detach(Some(id)),
        XaRequest::End { .. } => return Err(Ora::new(24759)),
        XaRequest::Prepare => GlobalCall::Prepare(Some(id)),
        XaRequest::Commit { one_phase } => GlobalCall::Commit { id: Some(id), one_phase },
        XaRequest::Rollback => GlobalCall::Rollback(Some(id)),
        XaRequest::Forget => GlobalCall::Forget(Some(id)),
        XaRequest::SetTimeout(_) | XaRequest::LastError => return Err(Ora::new(24759)),
    })
}

/// XA's code of an error; `None` for an error without one, such as that of a broken call.
fn xa_code(e: &Ora) -> Option<i64> {
    Some(match e.code() {
        24756 => -4,
        24757 => -8,
        24759 => -5,
        24776 => -9,
        24758 | 24768 | 24769 | 24770 | 24771 | 24774 | 24797 | 25352 | 2053 => -6,
        24761 => 106,
        24764 => 7,
        24765 => 6,
        2049 => 4,
        2091 => 103,
        60 => 102,
        1031 | 2042 => -3,
        _ => return None,
    })
}

/// DBMS_XA.XA_RECOVER.
pub(crate) fn xa_recover(core: &Core) -> Vec<Vec<u8>> {
    let any = core.require(SystemPrivilege::ForceAnyTransaction).is_ok();
    let own = core.identity().user.0;
    let rows = core.shared.txns.branch_rows().into_iter();
    let seen = rows.filter(|b| b.state == BranchState::Prepared && (any || b.user == own));
    seen.map(|b| {
        let mut bytes = b.id.format.to_be_bytes().to_vec();
        bytes.extend_from_slice(&[b.id.gtrid().len() as u8, b.id.bqual().len() as u8]);
        bytes.extend_from_slice(b.id.gtrid());
        bytes.extend_from_slice(b.id.bqual());
        bytes
    })
    .collect()
}

/// Decodes an identifier in the form of the function DBMS_XA_XID.
fn id_of(bytes: &[u8]) -> Option<GlobalId> {
    let (format, rest) = bytes.split_first_chunk::<4>()?;
    let ([gtrid, bqual], rest) = rest.split_first_chunk::<2>()?;
    let (gtrid, rest) = rest.split_at_checked(usize::from(*gtrid))?;
    let bqual = Some(rest).filter(|rest| rest.len() == usize::from(*bqual))?;
    GlobalId::new(u32::from_be_bytes(*format), gtrid, bqual)
}

/// COMMIT FORCE and ROLLBACK FORCE: ends a prepared transaction by its number or its global identifier, as
/// `dba_2pc_pending` shows them.
///
/// # Errors
/// ORA-02058 when there is no such transaction, ORA-01031 without the privilege.
pub(crate) fn force(core: &Core, cx: &mut ExecCtx<'_>, name: &str, commits: bool) -> Result<()> {
    let none = || Ora::with(2058, &[&name]);
    let hex = |bytes: &[u8]| {
        let mut text = String::new();
        types::write_hex(bytes, &mut text);
        text
    };
    let is_meant = |b: &BranchRow| {
        let local = b.xid.map(|x| format!("{}.{}.{}", x.usn, x.slot, x.sqn));
        let global = format!("{}.{}.{}", b.id.format, hex(b.id.gtrid()), hex(b.id.bqual()));
        b.state == BranchState::Prepared && (local.as_deref() == Some(name) || global.eq_ignore_ascii_case(name))
    };
    let own = core.identity().user.0;
    let branch = core.shared.txns.branch_rows().into_iter().find(is_meant);
    // A user without the privilege to force transactions must not learn which transactions exist.
    let any = core.require(SystemPrivilege::ForceAnyTransaction);
    match &branch {
        Some(b) if b.user == own && any.is_err() => core.require(SystemPrivilege::ForceTransaction)?,
        Some(_) => any?,
        None if any.is_err() => core.require(SystemPrivilege::ForceTransaction)?,
        None => {}
    }
    let xid = branch.and_then(|b| b.xid).ok_or_else(none)?;
    let done = core.shared.txns.force_branch(&core.p, xid, commits, &core.instance.on_commit());
    core.shared.txns.show_transaction(&core.p, &cx.session.txn);
    done
}

fn start(core: &Core, cx: &mut ExecCtx<'_>, id: &GlobalId, how: Start, timeout_s: u32) -> Result<()> {
    let attached = core.branch.borrow().as_ref().map(|b| (*b.id(), b.user()));
    match attached {
        Some(_) if how == Start::Promote => return Err(Ora::new(24797)),
        Some((own, _)) if own == *id => return Err(Ora::new(if how == Start::New { 24757 } else { 24774 })),
        Some(_) => {}
        None if how != Start::Promote && cx.session.txn.is_active() && !cx.session.txn.has_only_read() => {
            return Err(Ora::new(24776));
        }
        None => {}
    }
    let asked = match how {
        Start::Resume => Some(may_touch(core, id, Duration::from_secs(timeout_s.into()))?),
        Start::New | Start::Promote => None,
    };
    let former = attached.map(|own| leave(core, cx).map(|()| own)).transpose()?;
    if attached.is_none() && how != Start::Promote && cx.session.txn.is_active() {
        core.rollback(cx.session)?;
    }
    let txns = core.shared.txns;
    let waits_s = if timeout_s == 0 { TIMEOUT_S } else { timeout_s };
    let terms = BranchTerms { timeout_s: waits_s, user: core.identity().user.0 };
    let came = match asked {
        None => txns.start_branch(&core.p, id, &terms),
        Some(asked) => txns.resume_branch(&core.p, &mut cx.session.txn, id, asked),
    };
    match came {
        Ok(branch) => {
            core.branch_began.set(cx.session.txn.ends());
            *core.branch.borrow_mut() = Some(branch);
            Ok(())
        }
        Err(e) => {
            // The session returns to the branch that it has left.
            if let Some((own, user)) = former
                && let asked = (Asked { wait: WAIT, of: Some(user) })
                && let Ok(branch) = txns.resume_branch(&core.p, &mut cx.session.txn, &own, asked)
            {
                core.branch_began.set(cx.session.txn.ends());
                *core.branch.borrow_mut() = Some(branch);
            }
            Err(e)
        }
    }
}

fn detach(core: &Core, cx: &mut ExecCtx<'_>, id: Option<&GlobalId>) -> Result<()> {
    match core.branch.borrow().as_ref() {
        None => return Err(Ora::new(25352)),
        Some(own) if id.is_some_and(|id| id != own.id()) => return Err(Ora::new(24758)),
        Some(_) => {}
    }
    leave(core, cx)
}

/// The branch of a call, after the session has left it, and the owner that the branch must have.
fn left(core: &Core, cx: &mut ExecCtx<'_>, id: Option<GlobalId>) -> Result<(GlobalId, Asked)> {
    let own = core.branch.borrow().as_ref().map(|b| (*b.id(), b.user()));
    let id = id.or(own.map(|(id, _)| id)).ok_or_else(|| Ora::new(24771))?;
    match own.filter(|(own, _)| *own == id) {
        Some((_, user)) => {
            leave(core, cx)?;
            Ok((id, Asked { wait: WAIT, of: Some(user) }))
        }
        None => Ok((id, may_touch(core, &id, WAIT)?)),
    }
}

/// ORA-01031 for a branch of another user, without FORCE ANY TRANSACTION. The owner goes into the result, because it
/// may change while the call waits for the branch.
fn may_touch(core: &Core, id: &GlobalId, wait: Duration) -> Result<Asked> {
    let own = core.identity().user.0;
    match core.shared.txns.branch_row(id) {
        Some(row) if row.user != own => {
            core.require(SystemPrivilege::ForceAnyTransaction)?;
            Ok(Asked { wait, of: None })
        }
        _ => Ok(Asked { wait, of: Some(own) }),
    }
}

/// The state of a branch, unless it is another user's.
pub(crate) fn state_of(core: &Core, id: &GlobalId) -> Option<BranchState> {
    may_touch(core, id, WAIT).ok()?;
    core.shared.txns.branch_row(id).map(|row| row.state)
}
