//! Current state of a key, for foreign keys: these hold among the newest versions of rows and not among those of a
//! snapshot.
//!
//! A leaf is read in its current version. While the transaction of an entry is open the state is undecided: the caller
//! waits for the transaction and looks again. Two transactions that check each other's keys cannot both miss the
//! other's change: each publishes its own change (the child's row, the mark on the parent's entry) before it looks.

use crate::node::{Node, Target};
use crate::row::Head;
use crate::row_undo::Before;
use crate::tree::{STEPS_MAX, damaged};
use crate::{Btree, Index};
use block::BlockView;
use buffer_cache::GetKind;
use process::Process;
use std::sync::atomic::{Ordering, fence};
use txn::Maker;
use types::{Rdba, Result, Xid};

/// The state of a key, or of a prefix of one, by all entries that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// No row has the key.
    Absent,
    /// A row has it, by a committed change or one of the caller's own.
    Present,
    /// This open transaction of another session has given a row the key, or taken it away.
    Undecided(Xid),
}

/// Whether a key stands more than once in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// One row has it at most.
    Never,
    /// Two rows have it, by committed changes or the caller's own.
    Twice,
    /// This open transaction of another session may change the answer.
    Undecided(Xid),
}

/// The result of reading one leaf.
#[derive(Default)]
struct Look {
    present: bool,
    /// Live entries, by committed changes or the caller's own.
    live: usize,
    undecided: Option<Xid>,
    /// Rows of an index-organised table that open transactions have changed or locked. Their undo says whether they
    /// existed before.
    rows: Vec<(Xid, Head)>,
    right: Option<Rdba>,
    /// The block is no longer the leaf for the key.
    lost: bool,
}

impl Btree {
    /// The state of the key that begins with `key`, a whole number of key parts. `own` is the caller's transaction.
    /// With `patient` an open transaction of another session takes precedence over an existing row.
    ///
    /// Latches: none on entry or return. Waits: those of reading; never for the transaction.
    /// # Errors
    /// ORA-08103 when the index is gone, and those of the buffer cache.
    pub fn key_state(
        &self,
        p: &Process,
        own: Option<Xid>,
        index: &Index,
        key: &[u8],
        patient: bool,
    ) -> Result<KeyState> {
        // Orders this transaction's published change before the read: of two transactions that do the same, one sees
        // the other's change.
        fence(Ordering::SeqCst);
        let mut at = self.leaf_for(p, index, Target::At(key))?;
        let mut sum = Look::default();
        'look: for _ in 0..STEPS_MAX {
            let look =
                self.cache().read(p, at, GetKind::Current, &mut |v: &BlockView| self.look_at(v, index, key, own))?;
            if look.lost {
                sum = Look::default();
                at = self.descend(p, index, Target::At(key), 0, &mut |_, _| {})?;
                continue;
            }
            for (holder, head) in look.rows {
                match self.was_there(p, holder, head)? {
                    Some(true) => sum.present = true,
                    Some(false) => sum.undecided = sum.undecided.or(Some(holder)),
                    // Its transaction has just ended: look at the leaf again.
                    None => continue 'look,
                }
            }
            sum.present |= look.present;
            sum.undecided = sum.undecided.or(look.undecided);
            match look.right {
                Some(next) if patient || !sum.present => at = next,
                _ => {
                    return Ok(match sum {
                        Look { undecided: Some(xid), .. } if patient || !sum.present => KeyState::Undecided(xid),
                        Look { present: true, .. } => KeyState::Present,
                        _ => KeyState::Absent,
                    });
                }
            }
        }
        Err(damaged(index, at))
    }

    /// Whether more than one row has a whole key, in an index of rows in blocks. `own` is the caller's transaction.
    ///
    /// Latches: none on entry or return. Waits: those of reading; never for the transaction.
    /// # Errors
    /// As [`Btree::key_state`].
    pub fn is_repeated(&self, p: &Process, own: Option<Xid>, index: &Index, key: &[u8]) -> Result<Repeats> {
        fence(Ordering::SeqCst); // as in `key_state`
        let mut at = self.leaf_for(p, index, Target::At(key))?;
        let (mut live, mut undecided) = (0, None);
        for _ in 0..STEPS_MAX {
            let look =
                self.cache().read(p, at, GetKind::Current, &mut |v: &BlockView| self.look_at(v, index, key, own))?;
            if look.lost {
                (live, undecided) = (0, None);
                at = self.descend(p, index, Target::At(key), 0, &mut |_, _| {})?;
                continue;
            }
            live += look.live;
            undecided = undecided.or(look.undecided).or(look.rows.first().map(|(xid, _)| *xid));
            match look.right {
                _ if live > 1 => return Ok(Repeats::Twice),
                Some(next) => at = next,
                None => return Ok(undecided.map_or(Repeats::Never, Repeats::Undecided)),
            }
        }
        Err(damaged(index, at))
    }

    fn look_at(&self, v: &BlockView, index: &Index, key: &[u8], own: Option<Xid>) -> Look {
        let node = Node::new(*v);
        let mut look = Look::default();
        if v.obj() != index.object || !node.is_leaf() {
            look.lost = true;
            return look;
        }
        let mut i = node.lower_bound(key);
        while i < node.entries() && begins(&node, i, key) {
            let head = node.head(i);
            let xid = match head.map(|h| h.maker()) {
                None => Some(node.xid(i)),
                Some(Maker::Transaction(xid)) => Some(xid),
                Some(_) => None,
            };
            if let Some(xid) = xid.filter(|xid| own != Some(*xid) && self.txns.is_active(*xid)) {
                match head {
                    Some(head) if !head.is_deleted() => look.rows.push((xid, head)),
                    _ => look.undecided = look.undecided.or(Some(xid)),
                }
            } else {
                look.present |= !node.is_deleted(i);
                look.live += usize::from(!node.is_deleted(i));
            }
            i += 1;
        }
        if i >= node.entries() && node.goes_on(key) {
            look.right = Some(node.data.next()).filter(|next| !next.is_none());
        }
        look
    }
}

impl Btree {
    /// Whether a row in its current version, made by the open transaction `holder`, existed before that transaction.
    fn was_there(&self, p: &Process, holder: Xid, mut head: Head) -> Result<Option<bool>> {
        let mut bytes = Vec::new();
        while head.maker() == Maker::Transaction(holder) {
            let Some(rec) = self.txns.undo_if_kept(p, head.maker(), head.uba, &mut bytes)? else { return Ok(None) };
            match Before::read(rec.op, rec.data)?.version {
                Some((older, _)) => head = older,
                None => return Ok(Some(false)),
            }
        }
        Ok(Some(!head.is_deleted()))
    }
}

fn begins(node: &Node, i: usize, key: &[u8]) -> bool {
    let (at, len) = node.sort_key(i);
    len >= key.len() && node.data.view.compare(at, key.len(), key).is_eq()
}
