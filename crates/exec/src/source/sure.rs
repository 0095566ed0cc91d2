//! Index entries that prove by themselves what a snapshot sees.

use crate::ctx::ExecCtx;
use txn::{Maker, Sight, Snapshot};
use types::{Uba, Xid};

/// Whether the entry alone proves that the snapshot sees a row with its key: the transaction that made it had committed
/// before the snapshot, and it has not been marked deleted since. An entry of the own transaction is not sure, because
/// it may be newer than the statement.
pub(super) fn is_sure(
    entry: &btree::Entry<'_>,
    s: &Snapshot,
    last: &mut Option<(Xid, bool)>,
    cx: &ExecCtx<'_>,
) -> bool {
    !entry.deleted && is_sure_of(entry.xid, s, last, cx)
}

/// [`is_sure`] for an entry of this transaction that is not marked deleted.
pub(super) fn is_sure_of(maker: Xid, s: &Snapshot, last: &mut Option<(Xid, bool)>, cx: &ExecCtx<'_>) -> bool {
    // The entry was made by the index build, which precedes the snapshot.
    if maker == Xid::default() {
        return true;
    }
    if let Some((xid, sure)) = last
        && *xid == maker
    {
        return *sure;
    }
    let visible = || cx.shared.txns.sight(Maker::Transaction(maker), Uba::NONE, s) == Sight::Visible;
    let sure = s.xid != Some(maker) && visible();
    *last = Some((maker, sure));
    sure
}
