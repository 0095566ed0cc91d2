//! Ascending sort keys one behind the other, as change vectors and undo records of many entries have them.
//!
//! ```text
//! for each: bytes shared with the key before it u8 | bytes that follow u16 | these
//! ```
//!
//! Neighbours in an index have most of their bytes in common, so the lists are a fraction of their keys.

/// Bytes before those of a key that follow.
const KEY_HEAD: usize = 3;

/// How many bytes the two begin with in common, as far as a list can say.
fn shared(before: &[u8], key: &[u8]) -> usize {
    let most = before.len().min(key.len()).min(u8::MAX.into());
    let mut n = 0;
    while n + 8 <= most && before[n..n + 8] == key[n..n + 8] {
        n += 8;
    }
    n + before[n..most].iter().zip(&key[n..most]).take_while(|(a, b)| a == b).count()
}

/// Appends a key; `before` is the one appended last, empty for the first.
pub(crate) fn push_key(before: &[u8], key: &[u8], to: &mut Vec<u8>) {
    let n = shared(before, key);
    to.push(n as u8);
    to.extend_from_slice(&((key.len() - n) as u16).to_le_bytes());
    to.extend_from_slice(&key[n..]);
}

/// Takes the first key off the front of `list`: `key` holds the one before it, and holds it afterwards. `None`: there
/// is none, or the list is damaged.
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
        fn any_bytes_are_borne(list in prop::collection::vec(any::<u8>(), 0..60)) {
            let (mut rest, mut key) = (&list[..], Vec::new());
            while let Some(tail) = pop_key(rest, &mut key) {
                rest = tail;
            }
        }
    }
}
