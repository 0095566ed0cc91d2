//! The key of a result, and the frames of its rows.

/// The identity of a result: the digest of the statement (and of everything that changes its meaning: schema, user, NLS
/// settings) followed by the encoded bind values.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    pub(crate) hash: u64,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Key<'a> {
    /// Makes a key from its bytes.
    pub fn new(bytes: &'a [u8]) -> Key<'a> {
        Key { hash: sga::hash(bytes), bytes }
    }

    pub(crate) fn of_dependency(bytes: &'a [u8; 4]) -> Key<'a> {
        Key { hash: sga::hash(bytes) ^ 0x5bd1_e995, bytes }
    }
}

/// Appends a row with its length in front: two bytes, or 0xffff and four bytes for a long row.
pub(crate) fn push_frame(out: &mut Vec<u8>, row: &[u8]) {
    if row.len() < 0xffff {
        out.extend_from_slice(&(row.len() as u16).to_le_bytes());
    } else {
        out.extend_from_slice(&0xffffu16.to_le_bytes());
        out.extend_from_slice(&(row.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(row);
}
