//! Lists of ascending sort keys with prefix compression, as change vectors and undo records of many entries hold them.
//!
//! ```text
//! for each: bytes shared with the previous key u8 | number of further bytes u16 | further bytes
//! ```
//!
//! Neighbours in an index have most of their bytes in common, so a list is a fraction of its keys.

use crate::node::ROWID;

/// Bytes before the further bytes of a key.
const KEY_HEAD: usize = 3;

/// Length of the common prefix, limited to what a list can express.
fn shared(before: &[u8], key: &[u8]) -> usize {
    let most = before.len().min(key.len()).min(u8::MAX.into());
    let mut n = 0;
    while n + 8 <= most && before[n..n + 8] == key[n..n + 8] {
        n += 8;
    }
    n + before[n..most].iter().zip(&key[n..most]).take_while(|(a, b)| a == b).count()
}

/// Appends a key; `before` is the previous key, empty for the first.
pub(crate) fn push_key(before: &[u8], key: &[u8], to: &mut Vec<u8>) {
    let n = shared(before, key);
    to.push(n as u8);
    to.extend_from_slice(&((key.len() - n) as u16).to_le_bytes());
    to.extend_from_slice(&key[n..]);
}

/// Takes the first key off the front of `list`. `key` holds the previous key on entry and this key on return. `None`:
/// the list is empty or damaged.
pub(crate) fn pop_key<'l>(list: &'l [u8], key: &mut Vec<u8>) -> Option<&'l [u8]> {
    let ([n, l0, l1], rest) = list.split_first_chunk::<KEY_HEAD>()?;
    let (bytes, rest) = rest.split_at_checked(u16::from_le_bytes([*l0, *l1]).into())?;
    if usize::from(*n) > key.len() {
        return None;
    }
    key.truncate((*n).into());
    key.extend_from_slice(bytes);
    Some(rest)
}

/// The first byte of a number that follows in two bytes.
const LONG: u8 = 255;

fn push_number(n: usize, to: &mut Vec<u8>) {
    match u8::try_from(n) {
        Ok(n) if n != LONG => to.push(n),
        _ => {
            to.push(LONG);
            to.extend_from_slice(&(n as u16).to_le_bytes());
        }
    }
}

fn pop_number(list: &[u8]) -> Option<(usize, &[u8])> {
    match list.split_first()? {
        (&LONG, rest) => {
            let (n, rest) = rest.split_first_chunk::<2>()?;
            Some((u16::from_le_bytes(*n).into(), rest))
        }
        (n, rest) => Some(((*n).into(), rest)),
    }
}

/// New entries of a leaf in ascending order, each with its place in the directory: key and rowid are compressed apart,
/// because both differ from those of the previous entry in their last bytes only.
///
/// ```text
/// for each: distance of the place | bytes shared with the previous key u8 | number of further bytes | further bytes
///           | bytes shared with the previous rowid u8 | further bytes
/// ```
///
/// Distance and number are a u8, or 255 and a u16.
#[derive(Default)]
pub(crate) struct Placed {
    place: u16,
    key: Vec<u8>,
    rowid: [u8; ROWID],
}

impl Placed {
    /// Appends an entry; `before` is the key of the previous one.
    #[inline]
    pub fn push(&mut self, place: u16, key: &[u8], rowid: &[u8; ROWID], before: &[u8], to: &mut Vec<u8>) {
        push_number(place.wrapping_sub(self.place).into(), to);
        self.place = place;
        let n = shared(before, key);
        to.push(n as u8);
        push_number(key.len() - n, to);
        to.extend(key[n..].iter().copied());
        let n = self.rowid.iter().zip(rowid).take_while(|(a, b)| a == b).count();
        to.push(n as u8);
        to.extend(rowid[n..].iter().copied());
        self.rowid = *rowid;
    }

    /// Takes the first entry off the front of `list`: its place; [`Placed::key`] and [`Placed::rowid`] are the rest.
    #[inline]
    pub fn pop<'l>(&mut self, list: &'l [u8]) -> Option<(u16, &'l [u8])> {
        let (by, rest) = pop_number(list)?;
        self.place = self.place.wrapping_add(by as u16);
        let (n, rest) = rest.split_first()?;
        let (more, rest) = pop_number(rest)?;
        let (bytes, rest) = rest.split_at_checked(more)?;
        if usize::from(*n) > self.key.len() {
            return None;
        }
        self.key.truncate((*n).into());
        self.key.extend_from_slice(bytes);
        let (n, rest) = rest.split_first()?;
        let own = self.rowid.get_mut(usize::from(*n)..)?;
        let (bytes, rest) = rest.split_at_checked(own.len())?;
        own.copy_from_slice(bytes);
        Some((self.place, rest))
    }

    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub fn rowid(&self) -> &[u8; ROWID] {
        &self.rowid
    }
}

/// Appends an entry of a block: `row` has its flags, extra bytes and body, `before` those of the previous entry.
///
/// An entry that differs from the previous one in one stretch of its body is: 1, begin and length of the stretch u8
/// each, its bytes. Any other is: 0, flags u8, extra u16, length u16, body.
pub(crate) fn push_row(before: Option<(u8, u16, &[u8])>, row: (u8, u16, &[u8]), to: &mut Vec<u8>) {
    let (flags, extra, body) = row;
    if let Some((old_flags, old_extra, old)) = before
        && (old_flags, old_extra, old.len()) == (flags, extra, body.len())
    {
        let begin = old.iter().zip(body).take_while(|(a, b)| a == b).count();
        let end = old[begin..].iter().rev().zip(body[begin..].iter().rev()).take_while(|(a, b)| a == b).count();
        let stretch = &body[begin..body.len() - end];
        if let (Ok(begin), Ok(len)) = (u8::try_from(begin), u8::try_from(stretch.len())) {
            to.extend_from_slice(&[1, begin, len]);
            to.extend_from_slice(stretch);
            return;
        }
    }
    to.extend_from_slice(&[0, flags]);
    to.extend_from_slice(&extra.to_le_bytes());
    to.extend_from_slice(&(body.len() as u16).to_le_bytes());
    to.extend_from_slice(body);
}

/// Takes the first entry that [`push_row`] has appended off the front of `list`. `row` holds the previous entry on
/// entry and this one on return.
pub(crate) fn pop_row<'l>(list: &'l [u8], row: &mut (u8, u16, Vec<u8>)) -> Option<&'l [u8]> {
    match list.split_first()? {
        (1, rest) => {
            let ([begin, len], rest) = rest.split_first_chunk::<2>()?;
            let (bytes, rest) = rest.split_at_checked((*len).into())?;
            row.2.get_mut(usize::from(*begin)..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(rest)
        }
        (0, rest) => {
            let ([flags, e0, e1, l0, l1], rest) = rest.split_first_chunk::<5>()?;
            let (body, rest) = rest.split_at_checked(u16::from_le_bytes([*l0, *l1]).into())?;
            (row.0, row.1) = (*flags, u16::from_le_bytes([*e0, *e1]));
            row.2.clear();
            row.2.extend_from_slice(body);
            Some(rest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_back(mut keys in prop::collection::vec(prop::collection::vec(0u8..3, 0..400), 0..40)) {
            keys.sort();
            let mut list = Vec::new();
            let mut before: &[u8] = &[];
            for key in &keys {
                push_key(before, key, &mut list);
                before = key;
            }
            let (mut rest, mut key, mut back) = (&list[..], Vec::new(), Vec::new());
            while let Some(tail) = pop_key(rest, &mut key) {
                back.push(key.clone());
                rest = tail;
            }
            prop_assert_eq!(back, keys);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn placed_entries_come_back(
            keys in prop::collection::vec((prop::collection::vec(0u8..3, 0..400), 1u16..600, any::<[u8; 6]>()), 0..40),
        ) {
            let (mut list, mut to, mut place, mut before) = (Vec::new(), Placed::default(), 0u16, &[][..]);
            let mut want = Vec::new();
            for (key, by, rowid) in &keys {
                place += by;
                to.push(place, key, rowid, before, &mut list);
                before = key;
                want.push((place, key.clone(), *rowid));
            }
            let (mut rest, mut from, mut back) = (&list[..], Placed::default(), Vec::new());
            while let Some((place, tail)) = from.pop(rest) {
                back.push((place, from.key().to_vec(), *from.rowid()));
                rest = tail;
            }
            prop_assert_eq!(back, want);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn rows_come_back(
            rows in prop::collection::vec((0u8..2, 0u16..2, prop::collection::vec(0u8..2, 0..300)), 0..40),
            repeated in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        ) {
            let mut rows = rows;
            for (at, byte) in repeated {
                // A copy that differs in one byte.
                let Some((flags, extra, mut body)) = rows.last().cloned() else { break };
                if !body.is_empty() {
                    let at = at.index(body.len());
                    body[at] = byte;
                }
                rows.push((flags, extra, body));
            }
            let (mut list, mut before) = (Vec::new(), None);
            for (flags, extra, body) in &rows {
                let row = (*flags, *extra, &body[..]);
                push_row(before, row, &mut list);
                before = Some(row);
            }
            let (mut rest, mut row, mut back) = (&list[..], (0, 0, Vec::new()), Vec::new());
            while let Some(tail) = pop_row(rest, &mut row) {
                back.push(row.clone());
                rest = tail;
            }
            prop_assert_eq!(back, rows);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_borne(list in prop::collection::vec(any::<u8>(), 0..60)) {
            let (mut rest, mut key) = (&list[..], Vec::new());
            while let Some(tail) = pop_key(rest, &mut key) {
                rest = tail;
            }
            let (mut rest, mut placed) = (&list[..], Placed::default());
            while let Some((_, tail)) = placed.pop(rest) {
                rest = tail;
            }
            let (mut rest, mut row) = (&list[..], (0, 0, Vec::new()));
            while let Some(tail) = pop_row(rest, &mut row) {
                rest = tail;
            }
        }
    }
}
