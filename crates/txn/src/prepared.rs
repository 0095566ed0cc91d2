//! The undo records of a prepared transaction: its identifier, and its locked tables.

use crate::branch_table::BranchEntry;
use crate::{BranchTerms, GlobalId};
use enqueue::{LockMode, OwnedLock};
use std::sync::atomic::Ordering;
use types::ObjectId;

/// The first bytes of the record of a prepared transaction, and of a record of its locked tables.
const PREPARED_MARK: [u8; 4] = *b"2PC2";

const LOCKS_MARK: [u8; 4] = *b"2PCL";

/// Tables in one record. It fits into the smallest block.
pub(crate) const LOCKS_IN_RECORD: usize = 100;

/// The contents of the record of a prepared transaction.
pub(crate) struct Prepared2pc {
    pub(crate) id: GlobalId,
    pub(crate) terms: BranchTerms,
    pub(crate) prepared_ns: u64,
    /// The number of earlier records that list locks.
    pub(crate) lists: u32,
}

/// The record of a prepared transaction: the mark, the format u32, lengths of the parts u8 each, user u32, time limit
/// u32, wall-clock nanoseconds u64, number of earlier records of locks u32, the parts.
pub(crate) fn encode_prepared(id: &GlobalId, entry: &BranchEntry, lists: u32) -> Vec<u8> {
    let mut out = PREPARED_MARK.to_vec();
    out.extend_from_slice(&id.format.to_le_bytes());
    out.extend_from_slice(&[id.gtrid, id.bqual]);
    out.extend_from_slice(&(entry.user.load(Ordering::Relaxed) as u32).to_le_bytes());
    out.extend_from_slice(&(entry.timeout_s.load(Ordering::Relaxed) as u32).to_le_bytes());
    out.extend_from_slice(&os::clock::wall_ns().to_le_bytes());
    out.extend_from_slice(&lists.to_le_bytes());
    out.extend_from_slice(id.gtrid());
    out.extend_from_slice(id.bqual());
    out
}

pub(crate) fn decode_prepared(bytes: &[u8]) -> Option<Prepared2pc> {
    let rest = bytes.strip_prefix(&PREPARED_MARK)?;
    let (format, rest) = rest.split_first_chunk::<4>()?;
    let ([gtrid, bqual], rest) = rest.split_first_chunk::<2>()?;
    let (user, rest) = rest.split_first_chunk::<4>()?;
    let (timeout_s, rest) = rest.split_first_chunk::<4>()?;
    let (at, rest) = rest.split_first_chunk::<8>()?;
    let (lists, rest) = rest.split_first_chunk::<4>()?;
    let (gtrid, rest) = rest.split_at_checked(usize::from(*gtrid))?;
    let bqual = rest.get(..usize::from(*bqual))?;
    let id = GlobalId::new(u32::from_le_bytes(*format), gtrid, bqual)?;
    let terms = BranchTerms { timeout_s: u32::from_le_bytes(*timeout_s), user: u32::from_le_bytes(*user) };
    Some(Prepared2pc { id, terms, prepared_ns: u64::from_le_bytes(*at), lists: u32::from_le_bytes(*lists) })
}

/// Table locks: the mark, and for each the object u32 and the mode's number u8.
pub(crate) fn encode_locks(locks: &[OwnedLock]) -> Vec<u8> {
    let mut out = LOCKS_MARK.to_vec();
    for lock in locks {
        out.extend_from_slice(&(lock.id1 as u32).to_le_bytes());
        out.push(lock.mode as u8);
    }
    out
}

pub(crate) fn decode_locks(bytes: &[u8]) -> Option<Vec<(ObjectId, LockMode)>> {
    let (locks, []) = bytes.strip_prefix(&LOCKS_MARK)?.as_chunks::<5>() else { return None };
    let one = |[a, b, c, d, mode]: &[u8; 5]| {
        let mode = LockMode::from_code(u32::from(*mode))?;
        Some((ObjectId(u32::from_le_bytes([*a, *b, *c, *d])), mode))
    };
    locks.iter().map(one).collect()
}
