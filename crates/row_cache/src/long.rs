//! Values longer than an object's body, in pieces.
//!
//! Piece 0 is stored under the key itself and has the length of the whole value. The key of another piece is a mark
//! byte, the piece number and the key; no key that is looked up begins with the mark. All pieces have the number of
//! their store, so that pieces of two stores are never combined (R8). A missing piece, or one of another store, makes
//! the whole a miss. Only piece 0 is loaded under the row cache lock, and only it is removed when the key changes: the
//! other pieces are then never read again, and are evicted in their turn.

use std::sync::atomic::Ordering;

use latch::Where;
use process::Process;

use crate::chain::New;
use crate::key::{is_piece, piece_key};
use crate::layout::*;
use crate::{Found, Key, Load, RowCache};

/// Longest value that is kept in pieces, in bytes.
pub const LONG_BYTES_MAX: usize = 24 * 1024;
/// Bytes in front of each piece: the number of its store. In piece 0 the length of the whole follows.
const EDITION_BYTES: usize = 8;
const LENGTH_BYTES: usize = 4;
/// A byte numbers the pieces.
const PIECES_MAX: usize = 255;

/// Bytes of the value in a piece under a key of this length.
fn room(key: usize, is_first: bool) -> usize {
    let head = EDITION_BYTES + if is_first { LENGTH_BYTES } else { 0 };
    (BODY_BYTES - key.next_multiple_of(8)).saturating_sub(head)
}

/// In place of the length: the value is too long to be cached. Sessions read the dictionary and do not wait for each
/// other.
const TOO_LONG: u32 = u32::MAX;

impl RowCache {
    /// Looks up a value of any length that [`Load::store_long`] has stored; `out` gets its bytes, none for a row that
    /// does not exist. Like [`RowCache::get`], once for each piece.
    pub fn get_long<'a>(&'a self, p: &'a Process, key: &Key<'_>, out: &mut Vec<u8>) -> Found<'a> {
        debug_assert!(!is_piece(key.bytes), "a key that is looked up does not begin with the mark of pieces");
        let mut value = RowValue::new();
        for _ in 0..2 {
            match self.get(p, key, &mut value) {
                Found::Hit => {}
                other => return other,
            }
            out.clear();
            if value.bytes().get(EDITION_BYTES..EDITION_BYTES + LENGTH_BYTES) == Some(&TOO_LONG.to_le_bytes()) {
                return Found::Bypass;
            }
            if !value.is_existent() || self.take_pieces(p, key, &mut value, out) {
                return Found::Hit;
            }
            self.forget(p, key);
        }
        Found::Bypass
    }

    /// Appends the whole value that `value` is piece 0 of; false when a piece is missing.
    fn take_pieces(&self, p: &Process, key: &Key<'_>, value: &mut RowValue, out: &mut Vec<u8>) -> bool {
        let Some((edition, rest)) = value.bytes().split_first_chunk::<EDITION_BYTES>() else { return false };
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return false };
        let (edition, length) = (*edition, u32::from_le_bytes(*length) as usize);
        if length > LONG_BYTES_MAX {
            return false;
        }
        out.extend_from_slice(rest);
        let mut number = 0u8;
        while out.len() < length {
            let Some(next) = number.checked_add(1) else { return false };
            number = next;
            let bytes = piece_key(key.bytes, number);
            // Pieces are not loaded one by one: dropping the result gives up a load that this get began.
            if !matches!(self.get(p, &Key::new(key.cache, &bytes), value), Found::Hit) {
                return false;
            }
            match value.bytes().split_first_chunk::<EDITION_BYTES>() {
                Some((of, more)) if *of == edition && !more.is_empty() => out.extend_from_slice(more),
                _ => return false,
            }
        }
        out.len() == length
    }

    /// Removes a row from the cache: the next session that wants it loads it.
    fn forget(&self, p: &Process, key: &Key<'_>) {
        let section = p.lock(self.latch(key.cache), Where::KqrFree, key.cache.id().into());
        self.take_out(p, &section, key);
    }

    /// Replaces a row by a Ready one. False when there is no room.
    fn put(&self, p: &Process, key: &Key<'_>, value: &RowValue) -> bool {
        for _ in 0..4 {
            let section = p.lock(self.latch(key.cache), Where::KqrCreate, key.cache.id().into());
            if let Some((id, found)) = self.search(key.cache, key.hash, key.bytes, 0) {
                if !found.is_ready {
                    return false;
                }
                self.retire(p, &section, id);
            }
            if self.insert(p, &section, key, self.state(key.cache), New::Copy(0, value)).is_some() {
                return true;
            }
            drop(section);
            if !self.evict(p) {
                return false;
            }
        }
        false
    }
}

impl Load<'_> {
    /// Like [`Load::store`], for a value that may be longer than an object; `key` is the key of the lookup.
    pub fn store_long(self, key: &Key<'_>, value: Option<&[u8]>) -> bool {
        let Some(value) = value else { return self.store(None) };
        let (first, more) = (room(key.bytes.len(), true), room(key.bytes.len() + 2, false));
        let pieces = value.len().saturating_sub(first).div_ceil(more.max(1));
        if value.len() > LONG_BYTES_MAX || pieces > PIECES_MAX || key.bytes.len() + 2 > KEY_BYTES_MAX {
            self.store(Some(&[&[0; EDITION_BYTES][..], &TOO_LONG.to_le_bytes()].concat()));
            return false;
        }
        let edition = self.cache.control.editions.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let (head, rest) = value.split_at(first.min(value.len()));
        for (number, part) in (1..=PIECES_MAX as u8).zip(rest.chunks(more.max(1))) {
            let bytes = piece_key(key.bytes, number);
            let piece = RowValue::of(&[&edition[..], part].concat());
            if !self.cache.put(self.p, &Key::new(key.cache, &bytes), &piece) {
                return false;
            }
        }
        let length = (value.len() as u32).to_le_bytes();
        self.store(Some(&[&edition[..], &length[..], head].concat()))
    }
}
