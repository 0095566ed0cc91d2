//! LIKE.

use types::{Ora, Result};

/// Whether `s` matches `pattern`, where `%` stands for any text and `_` for one character.
///
/// # Errors
/// ORA-01424 when the escape character is followed by anything but `%`, `_` or itself.
pub fn matches(s: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    // The common forms are plain searches.
    if escape.is_none() && !pattern.contains('_') {
        let parts: Vec<&str> = pattern.split('%').collect();
        return Ok(match parts[..] {
            [whole] => s == whole,
            [start, ""] => s.starts_with(start),
            ["", end] => s.ends_with(end),
            ["", middle, ""] => s.contains(middle),
            _ => in_order(s, &parts),
        });
    }
    let tokens = tokens(pattern, escape)?;
    let chars: Vec<char> = s.chars().collect();
    Ok(glob(&chars, &tokens))
}

/// The escape character that a text is.
///
/// # Errors
/// ORA-01425 when it has another length than one.
pub fn single_char(s: &str) -> Result<char> {
    let mut chars = s.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(Ora::new(1425)), // escape character must be character string of length 1
    }
}

/// Writes what every text begins with that matches the pattern. A pattern that ends within an escape is the business of
/// [`matches`].
pub fn beginning(pattern: &str, escape: Option<char>, out: &mut String) {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                Some(n) if n == '%' || n == '_' || Some(n) == escape => out.push(n),
                _ => return,
            }
        } else if c == '%' || c == '_' {
            return;
        } else {
            out.push(c);
        }
    }
}

fn in_order(s: &str, parts: &[&str]) -> bool {
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    let Some(mut rest) = s.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[derive(Clone, Copy, PartialEq)]
enum Token {
    Any,
    One,
    Char(char),
}

fn tokens(pattern: &str, escape: Option<char>) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                Some(n) if n == '%' || n == '_' || Some(n) == escape => tokens.push(Token::Char(n)),
                _ => return Err(Ora::new(1424)), // missing or illegal character following the escape character
            }
            continue;
        }
        tokens.push(match c {
            '%' => Token::Any,
            '_' => Token::One,
            c => Token::Char(c),
        });
    }
    Ok(tokens)
}

/// Matching with one place to come back to: the last `%`.
fn glob(s: &[char], p: &[Token]) -> bool {
    let (mut i, mut j) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while i < s.len() {
        match p.get(j) {
            Some(Token::Any) => {
                back = Some((i, j));
                j += 1;
            }
            Some(Token::One) => {
                i += 1;
                j += 1;
            }
            Some(Token::Char(c)) if *c == s[i] => {
                i += 1;
                j += 1;
            }
            _ => match back {
                Some((bi, bj)) => {
                    i = bi + 1;
                    j = bj + 1;
                    back = Some((i, bj));
                }
                None => return false,
            },
        }
    }
    p[j..].iter().all(|t| *t == Token::Any)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "_", false),
            ("abc", "a%b%c", true),
            ("abcbc", "%b_", true),
            ("", "%", true),
            ("aa", "a%a%a", false),
            ("é", "_", true),
        ];
        for (s, p, expected) in cases {
            assert_eq!(matches(s, p, None).unwrap(), expected, "{s} like {p}");
        }
        assert!(matches("a%b", "a\\%b", Some('\\')).unwrap());
        assert!(!matches("axb", "a\\%b", Some('\\')).unwrap());
        assert_eq!(matches("a", "a\\", Some('\\')).unwrap_err().code(), 1424);
    }
}
