//! The locator of a LOB in a segment of its own.

use crate::ids::{ObjectId, Rdba};

/// Bytes of the number of a LOB.
pub const LOB_ID_BYTES: usize = 12;
/// Bytes of the key of a part: the numbers of the LOB and of the part.
pub const LOB_KEY_BYTES: usize = LOB_ID_BYTES + 4;

/// The first byte of a locator. No text begins with it, so a reader that takes a locator for the text fails.
const MARK: u8 = 0xFF;
const LOCATOR_BYTES: usize = 1 + 4 + 4 + LOB_ID_BYTES + 8;

/// The place of a value in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredLob {
    pub header: Rdba,
    pub data_object: ObjectId,
    pub id: [u8; LOB_ID_BYTES],
    /// The length of the value in bytes.
    pub bytes: u64,
}

impl StoredLob {
    /// Reads a locator; `None` for other bytes.
    pub fn read(locator: &[u8]) -> Option<StoredLob> {
        let locator: &[u8; LOCATOR_BYTES] = locator.try_into().ok()?;
        let (head, rest) = locator.split_first_chunk::<9>()?;
        let (id, bytes) = rest.split_first_chunk::<LOB_ID_BYTES>()?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        (head[0] == MARK).then_some(StoredLob {
            header: Rdba(word(1)),
            data_object: ObjectId(word(5)),
            id: *id,
            bytes: u64::from_be_bytes(bytes.try_into().ok()?),
        })
    }

    /// The locator that the row has.
    pub fn locator(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(LOCATOR_BYTES);
        out.push(MARK);
        out.extend_from_slice(&self.header.0.to_be_bytes());
        out.extend_from_slice(&self.data_object.0.to_be_bytes());
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.bytes.to_be_bytes());
        out
    }

    /// The key of a part.
    pub fn key(&self, part: u32) -> [u8; LOB_KEY_BYTES] {
        let mut key = [0; LOB_KEY_BYTES];
        key[..LOB_ID_BYTES].copy_from_slice(&self.id);
        key[LOB_ID_BYTES..].copy_from_slice(&part.to_be_bytes());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locator_is_read_as_it_was_made_and_is_no_text() {
        let lob = StoredLob { header: Rdba(7), data_object: ObjectId(8), id: [9; LOB_ID_BYTES], bytes: 1 << 40 };
        let locator = lob.locator();
        assert_eq!(StoredLob::read(&locator), Some(lob));
        assert!(std::str::from_utf8(&locator).is_err());
        for len in 0..locator.len() {
            assert_eq!(StoredLob::read(&locator[..len]), None);
        }
        assert_eq!(StoredLob::read(&[&locator[..], &[0]].concat()), None);
        assert!(lob.key(1) < lob.key(256));
    }
}
