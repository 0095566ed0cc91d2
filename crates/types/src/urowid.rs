//! Logical rowids: where a row of an index-organised table is, as text.
//!
//! Such a row has no place of its own; its primary key says where it is. As Oracle prints them, a logical rowid is a
//! `*` and letters of base 64. Here the letters are `BA` and then the bytes of the key.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BEGIN: &str = "*BA";

/// True for the text of a logical rowid.
pub fn is_logical(text: &str) -> bool {
    text.starts_with('*')
}

/// Writes the logical rowid of a key into `out`, which is cleared first.
pub fn write(key: &[u8], out: &mut String) {
    out.clear();
    out.push_str(BEGIN);
    for chunk in key.chunks(3) {
        let word = chunk.iter().enumerate().fold(0u32, |word, (i, b)| word | u32::from(*b) << (16 - 8 * i));
        for i in 0..=chunk.len() {
            out.push(char::from(LETTERS[(word >> (18 - 6 * i)) as usize & 63]));
        }
    }
}

/// The key of a logical rowid; `None` when the text is none.
pub fn read(text: &str, key: &mut Vec<u8>) -> Option<()> {
    let letters = text.strip_prefix(BEGIN)?.as_bytes();
    key.clear();
    for chunk in letters.chunks(4) {
        let mut word = 0u32;
        for (i, letter) in chunk.iter().enumerate() {
            word |= (LETTERS.iter().position(|l| l == letter)? as u32) << (18 - 6 * i);
        }
        let bytes = word.to_be_bytes();
        key.extend_from_slice(bytes.get(1..chunk.len())?);
    }
    // A single letter holds no byte.
    (letters.len() % 4 != 1).then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_back(key in prop::collection::vec(any::<u8>(), 0..40)) {
            let (mut text, mut back) = (String::new(), Vec::new());
            super::write(&key, &mut text);
            prop_assert_eq!(super::read(&text, &mut back), Some(()));
            prop_assert_eq!(back, key);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\*BA[A-Za-z!]{0,9}") {
            let _ = super::read(&text, &mut Vec::new());
        }
    }
}
