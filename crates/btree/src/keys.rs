//! Whether rows have a key at this moment: for foreign keys, which hold among the newest versions of rows and not among those of a
//! snapshot.
//!
//! A leaf is read in its current version. An entry whose transaction is still open decides nothing: the asker waits for it and looks
//! again. Two that need each other's answer cannot both miss it: each has published its own change (a child's row, a parent's mark)
//! before it looks for the other's.

use crate::node::{Node, Target};
use crate::tree::{STEPS_MAX, damaged};
use crate::{Btree, Index};
use block::BlockView;
use buffer_cache::GetKind;
use process::Process;
use std::sync::atomic::{Ordering, fence};
use types::{Rdba, Result, Xid};

/// What the entries with a key, or with the beginning of one, say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// No row has the key.
    Absent,
    /// A row has it, by a committed change or one of the asker's own.
    Present,
    /// This open transaction of another session has given a row the key, or taken it away.
    Undecided(Xid),
}

/// What one leaf says.
#[derive(Clone, Copy, Default)]
struct Look {
    present: bool,
    undecided: Option<Xid>,
    right: Option<Rdba>,
    /// The block is not the leaf it was taken for.
    lost: bool,
}

impl Btree {
    /// The state of the key that begins with `key`, whole parts of it. `own` is the asker's transaction. With `patient` an open
    /// transaction of another goes before a row that is there.
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
        // The own change, published before, is seen by who looks after it has published its change.
        fence(Ordering::SeqCst);
        let mut at = self.descend(p, index, Target::At(key), 0, &mut |_, _| {})?;
        let mut sum = Look::default();
        for _ in 0..STEPS_MAX {
            let look =
                self.cache().read(p, at, GetKind::Current, &mut |v: &BlockView| self.look_at(v, index, key, own))?;
            if look.lost {
                sum = Look::default();
                at = self.descend(p, index, Target::At(key), 0, &mut |_, _| {})?;
                continue;
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

    fn look_at(&self, v: &BlockView, index: &Index, key: &[u8], own: Option<Xid>) -> Look {
        let node = Node::new(*v);
        let mut look = Look::default();
        if v.obj() != index.object || !node.is_leaf() {
            look.lost = true;
            return look;
        }
        let mut i = node.lower_bound(key);
        while i < node.entries() && begins(&node, i, key) {
            let xid = node.xid(i);
            if own != Some(xid) && self.txns.is_active(xid) {
                look.undecided = look.undecided.or(Some(xid));
            } else {
                look.present |= !node.is_deleted(i);
            }
            i += 1;
        }
        if i >= node.entries() && node.goes_on(key) {
            look.right = Some(node.data.next()).filter(|next| !next.is_none());
        }
        look
    }
}

fn begins(node: &Node, i: usize, key: &[u8]) -> bool {
    let (at, len) = node.sort_key(i);
    len >= key.len() && node.data.view.compare(at, key.len(), key).is_eq()
}
