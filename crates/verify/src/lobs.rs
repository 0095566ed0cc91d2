//! The segments of LOB columns: their trees, and their parts against the locators in the rows.

use block::SegmentKind;
use dictionary::LobDef;
use instance::Storage;
use process::Process;
use std::collections::HashMap;
use std::ops::Bound;
use types::{LOB_ID_BYTES, LOB_KEY_BYTES, Result, StoredLob};

/// The LOBs of a segment by number: the bytes that they have.
pub(crate) type Lengths = HashMap<[u8; LOB_ID_BYTES], u64>;

/// The kind of the segment of a LOB column.
pub(crate) const SEGMENT_KIND: SegmentKind = SegmentKind::Index;

/// The bytes of each LOB that a segment has.
///
/// # Errors
/// The text of a fault of the tree or of a part.
pub(crate) fn stored(p: &Process, storage: &Storage, lob: &LobDef) -> std::result::Result<Lengths, String> {
    let tree = storage.btree.open(p, lob.segment.header, lob.segment.data_object, true).map_err(|e| e.to_string())?;
    storage.btree.verify(p, &tree)?;
    let txn = txn::Txn::new();
    let snapshot = storage.txns.snapshot(p, &txn);
    let mut scan = btree::RowScan::new();
    scan.start(&tree, &snapshot, Bound::Unbounded, Bound::Unbounded, false);
    let mut lengths = Lengths::new();
    let mut next: ([u8; LOB_ID_BYTES], u32) = ([0; LOB_ID_BYTES], 0);
    let mut read = || -> Result<Option<String>> {
        while let Some((key, part)) = scan.next(storage.btree, p)? {
            let Ok(key) = <&[u8; LOB_KEY_BYTES]>::try_from(key) else {
                return Ok(Some(format!("a key has {} bytes", key.len())));
            };
            let (id, number) = key.split_first_chunk::<LOB_ID_BYTES>().expect("a key begins with the number");
            let number = u32::from_be_bytes(number.try_into().expect("four bytes"));
            let wanted = if next.0 == *id { next.1 } else { 0 };
            if number != wanted {
                return Ok(Some(format!("part {wanted} of LOB {id:02X?} is missing")));
            }
            next = (*id, number + 1);
            *lengths.entry(*id).or_default() += part.len() as u64;
        }
        Ok(None)
    };
    let done = read();
    storage.txns.release(p, &snapshot);
    match done {
        Ok(None) => Ok(lengths),
        Ok(Some(what)) => Err(what),
        Err(e) => Err(e.to_string()),
    }
}

/// The faults of a segment: `have` are its LOBs, `named` the locators in rows.
pub(crate) fn faults(table: &str, have: &Lengths, named: &[StoredLob]) -> Vec<String> {
    let mut left = have.clone();
    let mut all = Vec::new();
    for lob in named {
        match left.remove(&lob.id) {
            Some(bytes) if bytes == lob.bytes => {}
            Some(bytes) => all.push(format!("a LOB of {} bytes in {} has {bytes}", lob.bytes, table)),
            None => all.push(format!("a LOB of {} bytes in {} is not there", lob.bytes, table)),
        }
    }
    all.extend(left.values().map(|bytes| format!("a LOB of {bytes} bytes belongs to no row of {}", table)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ObjectId, Rdba};

    #[test]
    fn lobs_that_rows_and_segment_do_not_both_have_are_named() {
        let lob = |n: u8, bytes| StoredLob { header: Rdba(1), data_object: ObjectId(2), id: [n; LOB_ID_BYTES], bytes };
        let have: Lengths = [([1; LOB_ID_BYTES], 10), ([2; LOB_ID_BYTES], 20), ([4; LOB_ID_BYTES], 40)].into();
        assert_eq!(faults("T", &have, &[lob(1, 10), lob(2, 20), lob(4, 40)]), Vec::<String>::new());
        let named = [lob(1, 10), lob(2, 21), lob(3, 30)];
        let wanted = [
            "a LOB of 21 bytes in T has 20",
            "a LOB of 30 bytes in T is not there",
            "a LOB of 40 bytes belongs to no row of T",
        ];
        assert_eq!(faults("T", &have, &named), wanted);
        assert_eq!(faults("T", &have, &[lob(1, 10), lob(1, 10), lob(2, 20), lob(4, 40)]).len(), 1);
    }
}
