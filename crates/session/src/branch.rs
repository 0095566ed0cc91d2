//! The branch of a global transaction that a session works in, and the statements that are refused meanwhile.

use crate::core::Core;
use exec::{ExecCtx, SessionState};
use txn::{GlobalId, SESSIONLESS};
use types::{Ora, Result};

pub(crate) fn is_sessionless(id: &GlobalId) -> bool {
    id.format == SESSIONLESS
}

/// Whether the transaction in force is a sessionless transaction.
pub(crate) fn is_in_force(core: &Core, session: &SessionState) -> bool {
    is_in_branch(core, session) && attached(core).is_some()
}

/// The sessionless transaction that the session is in, and whether a statement began or resumed it.
pub(crate) fn attached(core: &Core) -> Option<(GlobalId, bool)> {
    let id = core.branch.borrow().as_ref().map(|b| *b.id()).filter(is_sessionless)?;
    Some((id, core.by_statement.get()))
}

/// Leaves the branch that the session works in. Deferred constraints are checked first, because the session holds their
/// pending checks; a violation rolls the branch back.
pub(crate) fn leave(core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
    crate::constraints::check_before_commit(core, cx)?;
    if cx.session.txn.ends() != core.branch_began.get() {
        // A failed statement that could not be rolled back alone has rolled the whole transaction back.
        drop_branch(core);
        return Err(Ora::new(24761));
    }
    let Some(branch) = core.branch.take() else { return Ok(()) };
    let (txns, txn) = (core.shared.txns, &cx.session.txn);
    let leaves_rows = |xid| {
        let since = txns.lost_count(&core.p);
        cx.session.temporaries.leave(xid, since, &|object| txn.has_touched(object))
    };
    if txn.xid().is_some_and(leaves_rows) {
        txns.note_temporary(&core.p, txn, &branch);
    }
    txns.detach_branch(&core.p, &mut cx.session.txn, branch);
    core.transaction_ended(cx.session);
    Ok(())
}

/// Drops the branch after its transaction has ended, with the session's or by a violated constraint.
pub(crate) fn drop_branch(core: &Core) {
    if let Some(branch) = core.branch.take() {
        core.shared.txns.drop_branch(&core.p, branch);
    }
}

/// Whether the transaction in force belongs to a branch.
pub(crate) fn is_in_branch(core: &Core, session: &SessionState) -> bool {
    session.suspended == 0 && core.branch.borrow().is_some()
}

/// Whether the transaction in force belongs to a branch that only its coordinator may end.
fn is_coordinated(core: &Core, session: &SessionState) -> bool {
    is_in_branch(core, session) && !is_in_force(core, session)
}

/// ORA-02089 for COMMIT and DDL in a branch.
pub(crate) fn refuse_commit(core: &Core, session: &SessionState) -> Result<()> {
    if is_coordinated(core, session) { Err(Ora::new(2089)) } else { Ok(()) }
}

/// ORA-02074 for ROLLBACK in a branch.
pub(crate) fn refuse_rollback(core: &Core, session: &SessionState) -> Result<()> {
    if is_coordinated(core, session) { Err(Ora::with(2074, &[&"ROLLBACK"])) } else { Ok(()) }
}
