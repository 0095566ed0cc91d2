//! Lists of ascending sort keys with prefix compression, as change vectors and undo records of many entries hold them.
//!
//! ```text
//! for each: bytes shared with the previous key u8 | number of further bytes u16 | further bytes
//! ```
//!
//! Neighbours in an index have most of their bytes in common, so a list is a fraction of its keys.

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
