//! Sessionless transactions: one session begins and suspends a transaction, any session of the same user resumes it.
//!
//! A sessionless transaction is a branch (crate `txn`) whose identifier has a format that coordinators may not use.
//! COMMIT, ROLLBACK and DDL of the attached session end it like any other transaction.

use crate::branch::{attached, leave};
use crate::core::{Core, TIMEOUT_S};
use exec::{ExecCtx, Host};
use plsql::SessionlessRequest;
use std::time::Duration;
use txn::{Asked, BranchTerms, GlobalId, SESSIONLESS};
use types::{Ora, Result, Value};

/// Makes the identifier of a sessionless transaction.
///
/// # Errors
/// ORA-24756 unless there are 1 to 64 bytes.
pub fn sessionless_id(bytes: &[u8]) -> Result<GlobalId> {
    let id = GlobalId::new(SESSIONLESS, bytes, &[]).filter(|_| !bytes.is_empty());
    id.ok_or_else(|| Ora::new(24756))
}

fn hex(id: &GlobalId) -> String {
    let mut text = String::new();
    types::write_hex(id.gtrid(), &mut text);
    text
}

/// Begins a sessionless transaction, or resumes it. `timeout_s`: when it begins, the longest suspension; when it is
/// resumed, the longest wait for another attached session.
///
/// # Errors
/// ORA-24776 in a transaction, ORA-24789 in an autonomous one; ORA-26217 when it exists already, ORA-26218 when it does
/// not exist; ORA-25351 when another session stayed attached.
pub(crate) fn start(
    core: &Core,
    cx: &mut ExecCtx<'_>,
    id: &GlobalId,
    resumes: bool,
    timeout_s: u32,
    by_statement: bool,
) -> Result<()> {
    if cx.session.suspended > 0 {
        return Err(Ora::new(24789));
    }
    let txn = &cx.session.txn;
    if core.branch.borrow().is_some() || txn.is_active() && !txn.has_only_read() {
        return Err(Ora::new(24776));
    }
    if txn.is_active() {
        core.rollback(cx.session)?;
    }
    let txns = core.shared.txns;
    let own = core.identity().user.0;
    let is_anothers = || txns.branch_row(id).is_some_and(|row| row.user != own);
    let said = |e: Ora| match e.code() {
        24757 => Ora::with(26217, &[&hex(id)]),
        24756 | 24761 | 1031 => Ora::with(26218, &[&hex(id)]),
        2049 => Ora::new(25351),
        _ => e,
    };
    let branch = if resumes {
        // Another user's transaction is treated as missing, without a wait.
        if is_anothers() {
            return Err(said(Ora::new(24756)));
        }
        let asked = Asked { wait: Duration::from_secs(timeout_s.into()), of: Some(own) };
        txns.resume_branch(&core.p, &mut cx.session.txn, id, asked).map_err(said)?
    } else {
        let timeout_s = if timeout_s == 0 { TIMEOUT_S } else { timeout_s };
        txns.start_branch(&core.p, id, &BranchTerms { timeout_s, user: own }).map_err(said)?
    };
    core.branch_began.set(cx.session.txn.ends());
    core.by_statement.set(by_statement);
    *core.branch.borrow_mut() = Some(branch);
    Ok(())
}

/// Suspends the sessionless transaction that the session is attached to.
///
/// # Errors
/// ORA-26202 when there is none, ORA-24789 in an autonomous transaction; ORA-26211 when a statement suspends a
/// transaction that a call of the client began, or the reverse; those of deferred constraints.
pub(crate) fn suspend(core: &Core, cx: &mut ExecCtx<'_>, by_statement: bool) -> Result<()> {
    if cx.session.suspended > 0 {
        return Err(Ora::new(24789));
    }
    match attached(core) {
        None => Err(Ora::new(26202)),
        Some((_, began)) if began != by_statement => Err(Ora::new(26211)),
        Some(_) => leave(core, cx),
    }
}

/// Runs a request of DBMS_TRANSACTION.
pub(crate) fn call(core: &Core, cx: &mut ExecCtx<'_>, request: &SessionlessRequest<'_>) -> Result<Value> {
    const SESSIONLESS: i64 = 1;
    match *request {
        SessionlessRequest::Start { id, kind, timeout_s, flag } => {
            let resumes = match (kind, flag) {
                (SESSIONLESS, 1) => false,
                (SESSIONLESS, 2) if !id.is_empty() => true,
                _ => return Err(Ora::new(26213)),
            };
            let made = core.sys_guid();
            let id = sessionless_id(if id.is_empty() { &made } else { id })?;
            let timeout_s = u32::try_from(timeout_s).map_err(|_| Ora::new(26213))?;
            start(core, cx, &id, resumes, timeout_s, true)?;
            Ok(Value::Raw(id.gtrid().to_vec()))
        }
        SessionlessRequest::Suspend => suspend(core, cx, true).map(|()| Value::Null),
        SessionlessRequest::Id => {
            let own = core.branch.borrow().as_ref().map(|b| *b.id()).filter(|_| cx.session.suspended == 0);
            Ok(own.map_or(Value::Null, |id| Value::text(hex(&id))))
        }
    }
}
