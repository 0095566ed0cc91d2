//! The entries of an index being filled: keys, and the locators of their rows.
//!
//! They are stored one after another in pieces of a megabyte, and eight bytes for each entry are sorted. A vector for
//! each key and locator took five times as much.

use std::cmp::Ordering;
use types::Result;
use types::sorting::sort_checked;

/// Bytes of a piece; a longer entry gets a piece of its own.
const PIECE: usize = 1 << 20;

/// Entries between two calls of `check`.
const CHECK: usize = 1 << 12;

/// Entries in memory.
#[derive(Default)]
pub struct Entries {
    pieces: Vec<Vec<u8>>,
    /// Piece and position of each entry.
    places: Vec<(u32, u32)>,
}

impl Entries {
    /// Adds an entry; `check` is called now and then.
    pub fn push(&mut self, key: &[u8], locator: &[u8], check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let bytes = 8 + key.len() + locator.len();
        if self.pieces.last().is_none_or(|piece| piece.capacity() - piece.len() < bytes) {
            self.pieces.push(Vec::with_capacity(bytes.max(PIECE)));
        }
        let at = self.pieces.len() - 1;
        let piece = &mut self.pieces[at];
        self.places.push((at as u32, piece.len() as u32));
        for part in [key, locator] {
            piece.extend_from_slice(&(part.len() as u32).to_le_bytes());
            piece.extend_from_slice(part);
        }
        if self.places.len().is_multiple_of(CHECK) { check() } else { Ok(()) }
    }

    /// Sorts them by key, and equal keys by locator.
    pub fn sort(&mut self, check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let (pieces, places) = (&self.pieces, &mut self.places);
        let compare = |a: &(u32, u32), b: &(u32, u32)| -> Ordering { entry(pieces, *a).cmp(&entry(pieces, *b)) };
        sort_checked(places, compare, check)
    }

    /// Key and locator of all entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.places.iter().map(|place| entry(&self.pieces, *place))
    }

    /// Whether a key occurs twice; the entries must be sorted.
    pub fn has_repeats(&self) -> bool {
        self.iter().zip(self.iter().skip(1)).any(|(a, b)| a.0 == b.0)
    }
}

fn entry(pieces: &[Vec<u8>], (piece, at): (u32, u32)) -> (&[u8], &[u8]) {
    let bytes = &pieces[piece as usize][at as usize..];
    let (key, rest) = part(bytes);
    (key, part(rest).0)
}

/// The first part of an entry, and the rest.
fn part(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = bytes.split_at(4);
    let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
    rest.split_at(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_by_key_and_then_by_locator() {
        let mut entries = Entries::default();
        let long = vec![7u8; PIECE + 5];
        let given: [(&[u8], &[u8]); 6] =
            [(b"b", b"2"), (b"a", b"9"), (&long, b"1"), (b"b", b"1"), (b"", b"x"), (b"bb", b"")];
        for (key, locator) in given {
            entries.push(key, locator, &mut || Ok(())).unwrap();
        }
        entries.sort(&mut || Ok(())).unwrap();
        let mut expected = given.to_vec();
        expected.sort_unstable();
        assert_eq!(entries.iter().collect::<Vec<_>>(), expected);
        assert!(entries.has_repeats());
    }

    #[test]
    fn a_check_can_end_the_collection_of_entries() {
        let (mut entries, mut checks) = (Entries::default(), 0);
        let ended = (0..100_000u32).find_map(|n| {
            let mut check = || {
                checks += 1;
                if checks == 3 { Err(types::Ora::new(1013)) } else { Ok(()) }
            };
            entries.push(&n.to_be_bytes(), b"r", &mut check).err().map(|e| (n, e.code()))
        });
        assert_eq!(ended, Some((3 * CHECK as u32 - 1, 1013)));
    }
}
