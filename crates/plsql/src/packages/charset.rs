//! Conversions between texts and the bytes of other character sets.

use super::args::Args;
use types::{Ora, Result};

/// A character set for conversions of LOBs.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    Utf8,
    Ascii,
    Latin1,
    Utf16 { little: bool },
}

impl Charset {
    /// # Errors
    /// ORA-01482 for an unknown number.
    pub(super) fn of(a: &Args<'_>, at: usize) -> Result<Charset> {
        match a.integer(at) {
            // DEFAULT_CSID is the database character set.
            Some(0 | 871 | 873) => Ok(Charset::Utf8),
            Some(1) => Ok(Charset::Ascii),
            Some(31) => Ok(Charset::Latin1),
            Some(2000) => Ok(Charset::Utf16 { little: false }),
            Some(2002) => Ok(Charset::Utf16 { little: true }),
            _ => Err(Ora::new(1482)),
        }
    }

    /// The character set with that name of Oracle; a language and a territory may stand before it.
    ///
    /// # Errors
    /// ORA-01482 for an unknown one.
    pub(super) fn named(name: &str) -> Result<Charset> {
        let name = name.rsplit('.').next().unwrap_or_default().to_uppercase();
        match name.as_str() {
            "AL32UTF8" | "UTF8" => Ok(Charset::Utf8),
            "US7ASCII" => Ok(Charset::Ascii),
            "WE8ISO8859P1" => Ok(Charset::Latin1),
            "AL16UTF16" => Ok(Charset::Utf16 { little: false }),
            "AL16UTF16LE" => Ok(Charset::Utf16 { little: true }),
            _ => Err(Ora::new(1482)),
        }
    }

    /// The bytes of a text, and whether a character could not be encoded.
    pub(super) fn encode(self, text: &str) -> (Vec<u8>, bool) {
        let narrow = |most: u32| {
            let byte = |c: char| if u32::from(c) <= most { c as u8 } else { b'?' };
            (text.chars().map(byte).collect(), text.chars().any(|c| u32::from(c) > most))
        };
        match self {
            Charset::Utf8 => (text.as_bytes().to_vec(), false),
            Charset::Ascii => narrow(0x7f),
            Charset::Latin1 => narrow(0xff),
            Charset::Utf16 { little } => {
                let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
                (text.encode_utf16().flat_map(bytes).collect(), false)
            }
        }
    }

    /// The text of bytes, and whether some of them were invalid.
    pub(super) fn decode(self, bytes: &[u8]) -> (String, bool) {
        match self {
            Charset::Utf8 => {
                let text = String::from_utf8_lossy(bytes);
                let lossy = matches!(text, std::borrow::Cow::Owned(_));
                (text.into_owned(), lossy)
            }
            Charset::Ascii => {
                let char_of = |b: &u8| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER };
                (bytes.iter().map(char_of).collect(), !bytes.is_ascii())
            }
            Charset::Latin1 => (bytes.iter().map(|b| char::from(*b)).collect(), false),
            Charset::Utf16 { little } => {
                let unit = |pair: &[u8]| match (pair, little) {
                    ([a, b], false) => u16::from_be_bytes([*a, *b]),
                    ([a, b], true) => u16::from_le_bytes([*a, *b]),
                    _ => 0xfffd,
                };
                let mut lossy = bytes.len() % 2 == 1;
                let chars = char::decode_utf16(bytes.chunks(2).map(unit));
                let text = chars.map(|c| {
                    lossy |= c.is_err();
                    c.unwrap_or(char::REPLACEMENT_CHARACTER)
                });
                let text = text.collect();
                (text, lossy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_conversion_to_each_character_set() {
        for charset in [Charset::Utf8, Charset::Utf16 { little: false }, Charset::Utf16 { little: true }] {
            let (bytes, lossy) = charset.encode("aä😀");
            assert!(!lossy);
            assert_eq!(charset.decode(&bytes), ("aä😀".to_owned(), false));
        }
        assert_eq!(Charset::Latin1.encode("aä😀"), (vec![b'a', 0xe4, b'?'], true));
        assert!(Charset::Utf8.decode(&[b'a', 0xff]).1);
        assert!(Charset::Utf16 { little: false }.decode(&[0, b'a', 0]).1);
    }
}
