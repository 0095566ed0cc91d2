//! Undo of rows in leaves: for rolling back, and for reading older versions.

use crate::node::Node;
use crate::row::{self, Head, Patch};
use crate::tree::{damaged, pin_for};
use crate::undo::{find_leaf, index_of};
use crate::{ops, undo_op as op};
use process::Process;
use redo::Layer;
use txn::{Rollback, Transactions, UndoRecord};
use types::{Ora, Result};

fn wrong() -> Ora {
    Ora::internal("undo of a row in an index is damaged")
}

/// The version before, from an undo record; no version when the row was inserted.
pub(crate) struct Before<'a> {
    pub key: &'a [u8],
    pub version: Option<(Head, Patch<'a>)>,
}

impl<'a> Before<'a> {
    pub fn read(op: u8, data: &'a [u8]) -> Result<Before<'a>> {
        if op == op::TAKE_OUT_ROW {
            return Ok(Before { key: data, version: None });
        }
        let (fixed, rest) =
            data.split_at_checked(1 + row::HEAD + 2).filter(|_| op == op::PUT_BACK_ROW).ok_or_else(wrong)?;
        let head = Head::read(fixed[0], &fixed[1..]).ok_or_else(wrong)?;
        let len = usize::from(u16::from_le_bytes([fixed[1 + row::HEAD], fixed[2 + row::HEAD]]));
        let (key, patch) = rest.split_at_checked(len).ok_or_else(wrong)?;
        Ok(Before { key, version: Some((head, Patch::read(patch).ok_or_else(wrong)?)) })
    }
}

/// The data of a PUT_BACK.
pub(crate) fn put_back(before: &Head, key: &[u8], patch: &Patch<'_>) -> Vec<u8> {
    let mut data = vec![before.flags];
    before.push(&mut data);
    data.extend_from_slice(&(key.len() as u16).to_le_bytes());
    data.extend_from_slice(key);
    patch.push(&mut data);
    data
}

/// Rolls back one change of a row, wherever splits have moved the row.
pub(crate) fn rollback(txns: &Transactions, p: &Process, rec: &UndoRecord<'_>, undo: &mut Rollback<'_>) -> Result<()> {
    let before = Before::read(rec.op, rec.data)?;
    let index = index_of(rec);
    let leaf = find_leaf(txns, p, &index, before.key)?;
    let g = undo.group();
    let b = pin_for(g, &index, leaf, before.key, 0)?;
    let node = Node::new(g.block(b));
    let i = node.lower_bound(before.key);
    if !node.is_at(i, before.key) || node.head(i).is_none() {
        return Err(damaged(&index, leaf));
    }
    let Some((head, patch)) = before.version else {
        return g.change(b, Layer::Index, ops::op::REMOVE, &(i as u16 + 1).to_le_bytes());
    };
    // The room is kept: it is at least that of the older version.
    let data = row::change(i + 1, &head, node.room(i), &patch);
    g.change(b, Layer::Index, ops::op::ROW, &data)
}
