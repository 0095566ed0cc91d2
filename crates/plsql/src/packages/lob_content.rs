//! Parts of the content of a LOB, and changes of it.

use crate::machine::scalar;
use types::{Ora, Result, Value};

/// The length: characters of a text, bytes of a RAW.
pub(super) fn units(content: &Value) -> usize {
    match content {
        Value::Text(text) => text.chars().count(),
        Value::Raw(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The byte index of character `n`, and the number of characters missing before it.
pub(super) fn byte_of(text: &str, n: usize) -> (usize, usize) {
    if text.is_ascii() {
        return (n.min(text.len()), n.saturating_sub(text.len()));
    }
    match text.char_indices().nth(n) {
        Some((at, _)) => (at, 0),
        None => (text.len(), n - text.chars().count()),
    }
}

/// A part of a LOB; [`Value::EmptyLob`] for an empty part.
pub(super) fn part_of(content: &Value, from: usize, count: usize) -> Value {
    match content {
        Value::Text(text) => {
            let rest = &text[byte_of(text, from).0..];
            match &rest[..byte_of(rest, count).0] {
                "" => Value::EmptyLob,
                part => Value::Text(part.to_owned()),
            }
        }
        Value::Raw(bytes) => {
            let rest = &bytes[from.min(bytes.len())..];
            match &rest[..count.min(rest.len())] {
                [] => Value::EmptyLob,
                part => Value::Raw(part.to_vec()),
            }
        }
        _ => Value::EmptyLob,
    }
}

/// Padding: blanks or zeros.
pub(super) fn filler(binary: bool, count: usize) -> Value {
    if binary { Value::Raw(vec![0; count]) } else { Value::Text(" ".repeat(count)) }
}

/// Replaces `cut` units from `at` on, or appends at the end. A gap before `at` is padded.
///
/// # Errors
/// ORA-06502 for a LOB that would exceed the largest length.
pub(super) fn splice(content: &mut Value, binary: bool, at: Option<usize>, cut: usize, part: &Value) -> Result<()> {
    if *content == Value::EmptyLob {
        *content = if binary { Value::Raw(Vec::new()) } else { Value::Text(String::new()) };
    }
    let too_long = |len: Option<usize>| len.is_none_or(|len| len > functions::LOB_MAX);
    let refused = || Err(scalar::value_error("LOB is longer than 32 megabytes"));
    match (&mut *content, part) {
        (Value::Text(text), part) => {
            let part = if let Value::Text(part) = part { part.as_str() } else { "" };
            let (begin, missing) = at.map_or((text.len(), 0), |at| byte_of(text, at));
            if too_long(text.len().checked_add(missing).and_then(|len| len.checked_add(part.len()))) {
                return refused();
            }
            if begin == text.len() {
                text.extend(std::iter::repeat_n(' ', missing));
                text.push_str(part);
            } else {
                let end = begin + byte_of(&text[begin..], cut).0;
                text.replace_range(begin..end, part);
            }
        }
        (Value::Raw(bytes), part) => {
            let part = if let Value::Raw(part) = part { part.as_slice() } else { &[] };
            let begin = at.unwrap_or(bytes.len());
            if too_long(begin.max(bytes.len()).checked_add(part.len())) {
                return refused();
            }
            if begin >= bytes.len() {
                bytes.resize(begin, 0);
                bytes.extend_from_slice(part);
            } else {
                let end = begin.saturating_add(cut).min(bytes.len());
                bytes.splice(begin..end, part.iter().copied());
            }
        }
        _ => return Err(Ora::new(22275)),
    }
    if units(content) == 0 {
        *content = Value::EmptyLob;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spliced(before: &str, at: Option<usize>, cut: usize, part: &str) -> Value {
        let mut content = if before.is_empty() { Value::EmptyLob } else { Value::text(before) };
        splice(&mut content, false, at, cut, &Value::text(part)).unwrap();
        content
    }

    #[test]
    fn writes_count_characters_of_a_clob() {
        assert_eq!(spliced("", None, 0, "ab"), Value::text("ab"));
        assert_eq!(spliced("äöü", Some(1), 1, "xy"), Value::text("äxyü"));
        assert_eq!(spliced("äöü", Some(2), 5, "x"), Value::text("äöx"));
        assert_eq!(spliced("ä", Some(3), 1, "x"), Value::text("ä  x"));
        assert_eq!(part_of(&Value::text("äöü"), 1, 1), Value::text("ö"));
        assert_eq!(part_of(&Value::text("äöü"), 3, 1), Value::EmptyLob);
        assert_eq!(part_of(&Value::text("äöü"), 1, usize::MAX), Value::text("öü"));
    }

    #[test]
    fn gaps_in_bytes_are_padded_with_zeros() {
        let mut content = Value::EmptyLob;
        splice(&mut content, true, Some(2), 1, &Value::Raw(vec![7])).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 0, 7]));
        splice(&mut content, true, Some(1), 1, &Value::Raw(vec![8])).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 8, 7]));
        splice(&mut content, true, Some(2), 4, &Value::Raw(vec![1, 2])).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 8, 1, 2]));
    }

    #[test]
    fn a_lob_beyond_the_largest_length_is_refused() {
        let mut content = Value::Raw(vec![1]);
        let refused = splice(&mut content, true, Some(functions::LOB_MAX), 1, &Value::Raw(vec![1]));
        assert!(refused.unwrap_err().is(6502));
        assert_eq!(content, Value::Raw(vec![1]));
        let mut content = Value::text("x");
        assert!(splice(&mut content, false, Some(usize::MAX), 1, &Value::text("x")).unwrap_err().is(6502));
    }
}
