//! Logical rowids: addresses of rows of index-organised tables, as text.
//!
//! Such a row has no fixed address; its primary key locates it. As in Oracle, a logical rowid prints as `*` followed by
//! its bytes in base 64 without padding. The bytes are those sent over the network:
//! ```text
//! | 04 | a guess of the block, 4 bytes, here 0 | length of the key u16 | key | zeros up to 12 bytes |
//! ```
//! Drivers refuse a logical rowid of less than 12 bytes.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BEGIN: [u8; 5] = [4, 0, 0, 0, 0];
const HEAD_LEN: usize = BEGIN.len() + 2;
const LEN_MIN: usize = 12;

/// True for the text of a logical rowid.
pub fn is_logical(text: &str) -> bool {
    text.starts_with('*')
}

/// Whether the text contains a key.
pub fn is_key(text: &str) -> bool {
    is_logical(text) && read(text, &mut Vec::new()).is_some()
}

/// Writes the text of received bytes into `out`, which is cleared first.
pub fn text(bytes: &[u8], out: &mut String) {
    out.clear();
    out.push('*');
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0u32, |word, (i, b)| word | u32::from(*b) << (16 - 8 * i));
        for i in 0..=chunk.len() {
            out.push(char::from(LETTERS[(word >> (18 - 6 * i)) as usize & 63]));
        }
    }
}

/// Appends the bytes of a text; `None` for an invalid text.
pub fn bytes(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let letters = text.strip_prefix('*')?.as_bytes();
    for chunk in letters.chunks(4) {
        let mut word = 0u32;
        for (i, letter) in chunk.iter().enumerate() {
            word |= (LETTERS.iter().position(|l| l == letter)? as u32) << (18 - 6 * i);
        }
        let bytes = word.to_be_bytes();
        out.extend_from_slice(bytes.get(1..chunk.len())?);
    }
    // A single remaining letter is less than a byte.
    (letters.len() % 4 != 1).then_some(())
}

/// Writes the logical rowid of a key into `out`, which is cleared first.
pub fn write(key: &[u8], out: &mut String) {
    let len = u16::try_from(key.len()).expect("a key is shorter than a block");
    let mut bytes = Vec::with_capacity(LEN_MIN.max(HEAD_LEN + key.len()));
    bytes.extend_from_slice(&BEGIN);
    bytes.extend_from_slice(&len.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes.resize(bytes.len().max(LEN_MIN), 0);
    text(&bytes, out);
}

/// Reads the key of a logical rowid; `None` for an invalid text.
pub fn read(text: &str, key: &mut Vec<u8>) -> Option<()> {
    key.clear();
    bytes(text, key)?;
    let len = key.strip_prefix(&BEGIN)?.first_chunk().map(|len| usize::from(u16::from_be_bytes(*len)))?;
    let is_whole = key.len() == LEN_MIN.max(HEAD_LEN + len) && key[HEAD_LEN + len..].iter().all(|b| *b == 0);
    key.truncate(HEAD_LEN + len);
    key.drain(..HEAD_LEN);
    is_whole.then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_round_trip(key in prop::collection::vec(any::<u8>(), 0..40)) {
            let (mut text, mut back) = (String::new(), Vec::new());
            super::write(&key, &mut text);
            prop_assert_eq!(super::read(&text, &mut back), Some(()));
            prop_assert_eq!(&back, &key);
            let (mut bytes, mut again) = (Vec::new(), String::new());
            prop_assert_eq!(super::bytes(&text, &mut bytes), Some(()));
            super::text(&bytes, &mut again);
            prop_assert_eq!(again, text);
            prop_assert!(bytes.len() >= super::LEN_MIN);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\*BAAAAA[A-Za-z!]{0,19}") {
            let _ = super::read(&text, &mut Vec::new());
        }
    }
}
