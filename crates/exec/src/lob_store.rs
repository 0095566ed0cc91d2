//! LOBs in segments of their own (E37).
//!
//! The segment of a LOB column is a tree of rows (`btree::RowTable`). The key of a row is the number of the LOB and
//! that of the part, the row has the bytes of the part. So undo, redo, consistent reads and recovery are those of
//! index-organised tables. The column of the table's row has a locator in place of the value ([`Column::Out`]).
//!
//! [`Column::Out`]: types::row::Column::Out

use crate::ctx::ExecCtx;
use btree::{Index, Inserted, RowAction, RowOutcome, RowScan, RowTable};
use dictionary::SegmentRef;
use std::ops::{Bound, Range};
use txn::{LockWait, Snapshot};
use types::{DataType, LOB_ID_BYTES, LOB_KEY_BYTES, ObjectId, Ora, Result, StoredLob, Value};

/// The longest value that stays in the row.
pub const IN_ROW_MAX: usize = 4000;

/// Takes the key and the bytes of a part.
type TakePart<'f> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'f;

fn tree_of(lob: &StoredLob, cx: &ExecCtx<'_>) -> Result<Index> {
    let tree = cx.shared.btree.open(cx.p, lob.header, lob.data_object, true)?;
    if tree.object == lob.data_object { Ok(tree) } else { Err(Ora::new(8103)) }
}

/// Calls `f` with the key and the bytes of each part as of `seen`, in order.
fn each_part(lob: &StoredLob, tree: &Index, seen: &Snapshot, cx: &ExecCtx<'_>, f: &mut TakePart<'_>) -> Result<()> {
    let (low, high) = (lob.key(0), lob.key(u32::MAX));
    let mut scan = RowScan::new();
    scan.start(tree, seen, Bound::Included(&low), Bound::Included(&high), false);
    while let Some((key, part)) = scan.next(cx.shared.btree, cx.p)? {
        f(key, part)?;
        cx.p.check_cancel()?;
    }
    Ok(())
}

fn damaged() -> Ora {
    Ora::internal("the locator of a LOB is damaged")
}

/// Reads the value of a locator as of `seen`.
///
/// # Errors
/// ORA-22922 when parts are missing, ORA-01555, ORA-08103; ORA-00600 for a damaged locator or text.
pub fn load(locator: &[u8], ty: &DataType, seen: &Snapshot, cx: &ExecCtx<'_>, value: &mut Value) -> Result<()> {
    let lob = StoredLob::read(locator).ok_or_else(damaged)?;
    let len = usize::try_from(lob.bytes).ok().filter(|len| *len <= functions::LOB_MAX).ok_or_else(damaged)?;
    let mut bytes = Vec::with_capacity(len);
    each_part(&lob, &tree_of(&lob, cx)?, seen, cx, &mut |_, part| {
        if bytes.len() + part.len() > len {
            return Err(Ora::new(22922));
        }
        bytes.extend_from_slice(part);
        Ok(())
    })?;
    if bytes.len() != len {
        return Err(Ora::new(22922));
    }
    *value = match ty {
        DataType::Blob => Value::Raw(bytes),
        _ => Value::Text(String::from_utf8(bytes).map_err(|_| damaged())?),
    };
    Ok(())
}

/// Stores a value in the segment of a column of `table`, and returns its locator.
///
/// # Errors
/// ORA-01654 and other errors of the tree, after which the caller rolls the statement back.
pub fn store(value: &[u8], segment: &SegmentRef, table: ObjectId, cx: &mut ExecCtx<'_>) -> Result<Vec<u8>> {
    let most = cx.shared.btree.row_bytes_max(LOB_KEY_BYTES);
    let mut lob = StoredLob {
        header: segment.header,
        data_object: segment.data_object,
        id: [0; LOB_ID_BYTES],
        bytes: value.len() as u64,
    };
    let rows = RowTable { tree: tree_of(&lob, cx)?, object: table };
    'number: loop {
        lob.id = cx.session.lob_ids.take()?;
        for (n, part) in value.chunks(most).enumerate() {
            let key = lob.key(u32::try_from(n).map_err(|_| Ora::internal("the parts of a LOB"))?);
            match cx.shared.btree.insert_row(cx.p, &mut cx.session.txn, &rows, &key, part, LockWait::Forever)? {
                Inserted::Done => {}
                Inserted::Duplicate(_) if n == 0 => continue 'number,
                Inserted::Duplicate(_) => return Err(Ora::internal("a part of a LOB stands twice")),
            }
            cx.p.check_cancel()?;
        }
        return Ok(lob.locator());
    }
}

/// Replaces the value of a locator and returns the new locator. Only the parts that differ are written, so the undo and
/// the redo are those of the difference. The caller holds the lock of the row.
///
/// # Errors
/// As [`store`] and [`remove`].
pub fn change(locator: &[u8], value: &[u8], table: ObjectId, cx: &mut ExecCtx<'_>) -> Result<Vec<u8>> {
    let mut lob = StoredLob::read(locator).ok_or_else(damaged)?;
    let rows = RowTable { tree: tree_of(&lob, cx)?, object: table };
    let now = cx.shared.txns.statement_snapshot(cx.p, &cx.session.txn);
    let done = change_parts(&lob, value, &rows, &now, cx);
    cx.shared.txns.release(cx.p, &now);
    done?;
    lob.bytes = value.len() as u64;
    Ok(lob.locator())
}

/// The parts of the old value keep their borders: a part is replaced by as many bytes as it had, the last one by as
/// many as fit.
fn change_parts(lob: &StoredLob, value: &[u8], rows: &RowTable, now: &Snapshot, cx: &mut ExecCtx<'_>) -> Result<()> {
    let most = cx.shared.btree.row_bytes_max(LOB_KEY_BYTES);
    let (mut part_of_old, mut at) = (0_u64, 0);
    // The key of each part that changes, and the place of its new bytes; none for a part that goes.
    let mut changes: Vec<(Vec<u8>, Option<Range<usize>>)> = Vec::new();
    let mut next = 0_u32;
    each_part(lob, &rows.tree, now, cx, &mut |key, part| {
        part_of_old += part.len() as u64;
        next += 1;
        let is_last = part_of_old >= lob.bytes;
        let end = (at + if is_last { most } else { part.len() }).min(value.len());
        if end == at {
            changes.push((key.to_vec(), None));
        } else if value[at..end] != *part {
            changes.push((key.to_vec(), Some(at..end)));
        }
        at = end;
        Ok(())
    })?;
    let trees = cx.shared.btree;
    for (key, place) in &changes {
        let action = place.clone().map_or(RowAction::Delete, |place| RowAction::Update(&value[place]));
        match trees.change_row(cx.p, &mut cx.session.txn, rows, key, action, now, LockWait::Forever)? {
            RowOutcome::Done => {}
            _ => return Err(Ora::internal("a part of a LOB was changed without its row")),
        }
        cx.p.check_cancel()?;
    }
    for part in value[at..].chunks(most) {
        let key = lob.key(next);
        next = next.checked_add(1).ok_or_else(|| Ora::internal("the parts of a LOB"))?;
        match trees.insert_row(cx.p, &mut cx.session.txn, rows, &key, part, LockWait::Forever)? {
            Inserted::Done => {}
            Inserted::Duplicate(_) => return Err(Ora::internal("a part of a LOB stands twice")),
        }
        cx.p.check_cancel()?;
    }
    Ok(())
}

/// Deletes the value of a locator.
///
/// # Errors
/// ORA-00600 for a damaged locator; those of the tree.
pub fn remove(locator: &[u8], table: ObjectId, cx: &mut ExecCtx<'_>) -> Result<()> {
    let lob = StoredLob::read(locator).ok_or_else(damaged)?;
    let rows = RowTable { tree: tree_of(&lob, cx)?, object: table };
    let now = cx.shared.txns.statement_snapshot(cx.p, &cx.session.txn);
    let done = remove_parts(&lob, &rows, &now, cx);
    cx.shared.txns.release(cx.p, &now);
    done
}

fn remove_parts(lob: &StoredLob, rows: &RowTable, now: &Snapshot, cx: &mut ExecCtx<'_>) -> Result<()> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    each_part(lob, &rows.tree, now, cx, &mut |key, _| {
        keys.push(key.to_vec());
        Ok(())
    })?;
    for key in &keys {
        let (txn, trees) = (&mut cx.session.txn, cx.shared.btree);
        match trees.change_row(cx.p, txn, rows, key, RowAction::Delete, now, LockWait::Forever)? {
            RowOutcome::Done => {}
            _ => return Err(Ora::internal("a part of a LOB was changed without its row")),
        }
    }
    Ok(())
}
