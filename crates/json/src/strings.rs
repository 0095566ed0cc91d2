//! Texts of JSON: quotes and escapes.

use std::borrow::Cow;

#[derive(Clone, Copy)]
pub(crate) enum Quote {
    Double,
    Single,
}

impl Quote {
    pub(crate) fn mark(self) -> u8 {
        match self {
            Quote::Double => b'"',
            Quote::Single => b'\'',
        }
    }
}

/// The length of the escape at the beginning of `bytes`; `None` for an invalid one.
pub(crate) fn escape_length(bytes: &[u8], strict: bool) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'\'' if !strict => Some(2),
        b'u' => {
            let digits = bytes.get(2..6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(6)
        }
        _ => None,
    }
}

/// The number of the four digits at the beginning of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// The content of a key or text. An unpaired surrogate becomes the replacement character.
pub fn unescaped(raw: &str, escaped: bool) -> Cow<'_, str> {
    if !escaped {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let Some(kind) = escape.chars().next() else { break };
        let mut used = kind.len_utf8();
        match kind {
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => match unit(&escape[1..]) {
                Some(high) => {
                    used = 5;
                    let low = escape[5..].strip_prefix("\\u").and_then(unit);
                    let pair = match low {
                        Some(low @ 0xDC00..=0xDFFF) if (0xD800..0xDC00).contains(&high) => {
                            used = 11;
                            0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                        }
                        _ => high,
                    };
                    out.push(char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                // In a path; in a document the parser has refused it.
                None => out.push(char::REPLACEMENT_CHARACTER),
            },
            other => out.push(other),
        }
        rest = &escape[used..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Appends a text in quotes, with escapes. `ascii`: only ASCII characters.
pub fn push_quoted(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    push_escaped(text, ascii, out);
    out.push('"');
}

fn push_escaped(text: &str, ascii: bool, out: &mut String) {
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let short = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            c if c < ' ' || (ascii && !c.is_ascii()) => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + c.len_utf8();
        if !short.is_empty() {
            out.push_str(short);
            continue;
        }
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            out.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                let digit = u32::from(*unit >> shift) & 15;
                out.push(char::from_digit(digit, 16).unwrap_or('0').to_ascii_uppercase());
            }
        }
    }
    out.push_str(&text[plain..]);
}
