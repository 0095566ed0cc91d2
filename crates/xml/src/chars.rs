//! Characters of names, and escapes.

/// Whether a name may begin with the character.
pub(crate) fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic()
        || c == '_'
        || c == ':'
        || matches!(c, '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
            | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}'
            | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

pub(crate) fn in_name(c: char) -> bool {
    starts_name(c)
        || c.is_ascii_digit()
        || matches!(c, '-' | '.' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// Whether a text is a name, with or without a prefix.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(starts_name) && chars.all(in_name)
}

/// The length in bytes of the name at the beginning of a text; 0 if there is none.
pub(crate) fn name_length(text: &str) -> usize {
    if !text.chars().next().is_some_and(starts_name) {
        return 0;
    }
    text.char_indices().find(|(_, c)| !in_name(*c)).map_or(text.len(), |(at, _)| at)
}

/// Whether the character may stand in a document.
pub(crate) fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

/// Appends a text as the content of an element, or with its quotes escaped too: Oracle does so in attributes and in all
/// text that it makes from values of SQL.
pub fn push_escaped(text: &str, quotes: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' if quotes => out.push_str("&quot;"),
            '\'' if quotes => out.push_str("&apos;"),
            c => out.push(c),
        }
    }
}

/// The character of a reference such as `amp` or `#65`; `None` if it is undefined.
pub(crate) fn reference(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code).filter(|c| is_allowed(*c))
        }
    }
}

/// Appends a text with its references resolved. Undefined references stay as they are.
pub fn push_unescaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let found = rest[at + 1..].find(';').and_then(|end| Some((reference(&rest[at + 1..at + 1 + end])?, end)));
        match found {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[at + end + 2..];
            }
            None => {
                out.push('&');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
}
