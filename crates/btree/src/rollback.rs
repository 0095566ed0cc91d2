//! The undo layer of indexes: rolls back changes of entries and of rows.

use crate::node::{Node, XID};
use crate::tree::{damaged, pin_for};
use crate::undo::{Many, find_leaf, index_of, put_back, take_out, undo_ranges};
use crate::{ops, row_undo, undo_op as op};
use process::Process;
use redo::Layer;
use txn::{Rollback, Transactions, UndoLayer, UndoRecord};
use types::{Ora, Result, Xid};

pub(crate) struct IndexUndo;

impl UndoLayer for IndexUndo {
    /// Index blocks have no CR images.
    fn undo_image(&self, _: &mut [u8], _: &UndoRecord<'_>) -> Result<()> {
        Ok(())
    }

    /// Reverses undo records of many entries, leaf by leaf: splits may have moved the entries into more leaves than one
    /// group can hold. An entry already in its former state was reversed by an earlier rollback that was interrupted.
    fn prepare(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<()> {
        let many = match rec.op {
            op::TAKE_OUT_MANY => Many::of_added(rec.data),
            op::PUT_BACK_MANY => Many::of_marked(rec.data),
            op::TAKE_OUT_RANGES | op::PUT_BACK_RANGES => return undo_ranges(txns, p, rec),
            _ => return Ok(()),
        };
        let many = many.ok_or_else(|| Ora::internal("undo of an index is damaged"))?;
        let index = index_of(rec);
        let mut from = 0;
        while from < many.entries.len() {
            let leaf = find_leaf(txns, p, &index, many.sort_key(from))?;
            let scn = || txns.current_scn();
            from += txns.cache().in_group(p, &scn, &mut |g| match rec.op {
                op::TAKE_OUT_MANY => take_out(g, &index, leaf, &many, from, rec.xid),
                _ => put_back(g, &index, leaf, &many, from, rec.xid),
            })?;
        }
        Ok(())
    }

    fn rollback(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>, undo: &mut Rollback<'_>) -> Result<()> {
        let wrong = || Ora::internal("undo of an index is damaged");
        let (before, sort_key) = match rec.op {
            op::TAKE_OUT_ROW | op::PUT_BACK_ROW => {
                return row_undo::rollback(txns, p, rec, undo);
            }
            op::TAKE_OUT => (None, rec.data),
            // Done by `prepare`.
            op::TAKE_OUT_MANY | op::PUT_BACK_MANY | op::TAKE_OUT_RANGES | op::PUT_BACK_RANGES => return Ok(()),
            op::PUT_BACK => {
                let (head, sort_key) = rec.data.split_at_checked(1 + XID).ok_or_else(wrong)?;
                let xid = Xid::from_bits(u64::from_le_bytes(head[1..].try_into().map_err(|_| wrong())?));
                (Some((head[0], xid)), sort_key)
            }
            _ => return Err(wrong()),
        };
        let index = index_of(rec);
        let leaf = find_leaf(txns, p, &index, sort_key)?;
        let g = undo.group();
        let b = pin_for(g, &index, leaf, sort_key, 0)?;
        let node = Node::new(g.block(b));
        let i = node.lower_bound(sort_key);
        if !node.is_at(i, sort_key) {
            return Err(damaged(&index, leaf));
        }
        match before {
            None => g.change(b, Layer::Index, ops::op::REMOVE, &(i as u16 + 1).to_le_bytes()),
            Some((flags, xid)) => g.change(b, Layer::Index, ops::op::MARK, &ops::marking(i + 1, flags, xid)),
        }
    }
}
