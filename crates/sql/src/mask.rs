//! Masking of passwords in statement texts before they are shown or stored.

use std::borrow::Cow;

/// Replaces a password.
const MASK: &str = "*";

/// Replaces the passwords in a text: after IDENTIFIED BY [VALUES], further ones in such a list, and after a following
/// REPLACE. Works on any text, even if the statement is inside a string of a block or cannot be parsed; the rest is
/// unchanged. If such a string is concatenated from parts, everything after BY is replaced, up to the end of the
/// statement.
pub fn mask_passwords(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    // End of the text copied so far, and start of the text to examine.
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = find_word(text, at, "identified") {
        at = found + "identified".len();
        let Some(mut next) = after_word(text, at, "by") else { continue };
        if let Some(values) = after_word(text, next, "values") {
            next = values;
        }
        loop {
            let start = skip_blank(text, next);
            let mut end = secret_end(text, start);
            if let Some(joined) = [start, end].into_iter().find(|at| is_joined(text, *at)) {
                end = concatenation_end(text, joined);
            }
            if end == start {
                break;
            }
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[kept..start]);
            out.push_str(MASK);
            (kept, at) = (end, end);
            let behind = skip_blank(text, end);
            if text[behind..].starts_with(',') {
                next = behind + 1;
            } else if let Some(replace) = after_word(text, behind, "replace") {
                next = replace;
            } else {
                break;
            }
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&text[kept..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'#') || b >= 0x80
}

/// Whether this word is at `at`, ignoring case.
fn is_word_at(text: &str, at: usize, word: &str) -> bool {
    let bytes = text.as_bytes();
    let end = at + word.len();
    let alone = |b: Option<&u8>| b.is_none_or(|b| !is_word_byte(*b));
    bytes.get(at..end).is_some_and(|w| w.eq_ignore_ascii_case(word.as_bytes()))
        && alone(at.checked_sub(1).and_then(|i| bytes.get(i)))
        && alone(bytes.get(end))
}

/// Position of a word from `from` on.
fn find_word(text: &str, from: usize, word: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = word.as_bytes()[0];
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|b| b.eq_ignore_ascii_case(&first))?;
        if is_word_at(text, at, word) {
            return Some(at);
        }
        at += 1;
    }
}

/// Position after `word`, if it is the next word after blanks and comments.
fn after_word(text: &str, from: usize, word: &str) -> Option<usize> {
    let at = skip_blank(text, from);
    is_word_at(text, at, word).then_some(at + word.len())
}

/// Position after the quote that ends a string, if one is at `at`.
fn string_end(text: &str, at: usize) -> Option<usize> {
    text[at..].starts_with('\'').then_some(at + 1)
}

/// Whether a string ends at `at` and is concatenated with something.
fn is_joined(text: &str, at: usize) -> bool {
    string_end(text, at).is_some_and(|at| text[blank_end(text, at)..].starts_with("||"))
}

/// Position of the end of the statement, starting at the end of one of its strings.
fn concatenation_end(text: &str, from: usize) -> usize {
    let mut inside = true;
    let ends = |(_, b): &(usize, u8)| {
        inside ^= *b == b'\'';
        *b == b';' && !inside
    };
    let mut rest = (from..).zip(text[from..].bytes());
    rest.find(ends).map_or(text.len(), |(at, _)| at)
}

/// Position after blanks, comments, and the joint of two concatenated strings.
fn skip_blank(text: &str, from: usize) -> usize {
    let at = blank_end(text, from);
    let joined = || {
        let second = blank_end(text, blank_end(text, string_end(text, at)?));
        let second = blank_end(text, second + text[second..].strip_prefix("||").map(|_| 2)?);
        string_end(text, second)
    };
    joined().map_or(at, |second| skip_blank(text, second))
}

/// Position after blanks and comments.
fn blank_end(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        let rest = &text[at..];
        if let Some(inside) = rest.strip_prefix("/*") {
            at += inside.find("*/").map_or(rest.len(), |end| end + 4);
        } else if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else {
            return at;
        }
    }
}

/// Position of the end of the password that begins at `start`.
fn secret_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    match rest.chars().next() {
        // Inside a string.
        Some('\'') if rest[1..].starts_with('\'') => start + rest[2..].find("''").map_or(rest.len(), |close| close + 4),
        Some(quote @ ('"' | '\'')) => {
            let close = rest[1..].find(quote);
            // An unfinished password extends to the end.
            start + close.map_or(rest.len(), |close| close + 2)
        }
        _ => {
            start + rest.find(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '\'' | ')')).unwrap_or(rest.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mask_passwords;
    use std::borrow::Cow;

    #[test]
    fn passwords_are_masked_and_nothing_else() {
        for (text, masked) in [
            ("create user u identified by hunter22", "create user u identified by *"),
            (
                "ALTER USER u IDENTIFIED  BY \"Hunter 22\" account unlock",
                "ALTER USER u IDENTIFIED  BY * account unlock",
            ),
            ("alter user u identified by new replace old", "alter user u identified by * replace *"),
            ("alter user u identified by values 'T:12' profile p", "alter user u identified by values * profile p"),
            ("grant connect to a, b identified by x, \"y\"", "grant connect to a, b identified by *, *"),
            (
                "begin execute immediate 'alter user u identified by pwned'; end;",
                "begin execute immediate 'alter user u identified by *'; end;",
            ),
            // A concatenated string.
            (
                "begin execute immediate 'alter user u identified by ' || 'pwned'; commit; end;",
                "begin execute immediate 'alter user u identified by ' || '*'; commit; end;",
            ),
            (
                "execute immediate 'alter user u identified by ' || p || 'wned';",
                "execute immediate 'alter user u identified by *;",
            ),
            ("e('alter user u identified by pw' || 'ned' || ';x');x", "e('alter user u identified by *;x"),
            (
                "e := 'alter user u ' || 'identified' || ' by' /* x */ || -- y\n' pwned'; end",
                "e := 'alter user u ' || 'identified' || ' by' /* x */ || -- y\n' *'; end",
            ),
            (
                "e('user u identified by \"' || 'pwned' || '\" account unlock')",
                "e('user u identified by * account unlock')",
            ),
            ("e('user u identified by values ''T:12'' profile p')", "e('user u identified by values * profile p')"),
            ("e('grant x to a, b identified by p, q' || 'r'); f", "e('grant x to a, b identified by *, *; f"),
            ("set role r identified/**/by--x\nsecret;", "set role r identified/**/by--x\n*;"),
            ("create user u identified by", "create user u identified by"),
            ("create user u identified externally", "create user u identified externally"),
            ("select identified_by, x_identified from t", "select identified_by, x_identified from t"),
            ("create user é identified by é€", "create user é identified by *"),
            ("identified by \"open", "identified by *"),
        ] {
            assert_eq!(mask_passwords(text), masked);
        }
        assert!(matches!(mask_passwords("select 1 from dual"), Cow::Borrowed(_)));
    }

    #[test]
    fn any_part_of_a_text_can_be_masked() {
        // All prefixes and suffixes of a text with multi-byte characters.
        let text = "x identified by é, \"ü ' replace ß /* -- identified by values '' || 'é;'||\
                    ' identified by ''ü;";
        for (at, _) in text.char_indices() {
            mask_passwords(&text[at..]);
            mask_passwords(&text[..at]);
        }
    }
}
