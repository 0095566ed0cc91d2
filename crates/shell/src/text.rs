//! Words, quotes and widths.

/// Splits a command line into words; quotes hold a word together and are removed.
pub fn words(line: &str) -> Vec<String> {
    quoted_words(line).into_iter().map(|(word, _)| word).collect()
}

/// Like [`words`], with a mark for those in quotes. A quote that is doubled inside quotes stands for itself.
pub fn quoted_words(line: &str) -> Vec<(String, bool)> {
    split(line, false)
}

/// Like [`quoted_words`], but a quote also ends the word before it: `'on 'today' of'` has three.
pub fn title_words(line: &str) -> Vec<(String, bool)> {
    split(line, true)
}

fn split(line: &str, quote_ends: bool) -> Vec<(String, bool)> {
    let ends = |c: char| c.is_whitespace() || quote_ends && (c == '\'' || c == '"');
    let mut out = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(first) = chars.next() else {
            return out;
        };
        let mut word = String::new();
        let quoted = first == '\'' || first == '"';
        if quoted {
            while let Some(c) = chars.next() {
                if c == first && chars.next_if_eq(&first).is_none() {
                    break;
                }
                word.push(c);
            }
        } else {
            word.push(first);
            while let Some(c) = chars.next_if(|c| !ends(*c)) {
                word.push(c);
            }
        }
        out.push((word, quoted));
    }
}

/// The first word of a line, and the rest.
pub fn split_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    let end = line.find(|c: char| c.is_whitespace()).unwrap_or(line.len());
    (&line[..end], line[end..].trim_start())
}

/// `ON` and `OFF` in any case.
pub fn parse_on_off(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Removes a trailing `;` from a shell command.
pub fn without_semicolon(line: &str) -> &str {
    line.trim_end().strip_suffix(';').unwrap_or(line.trim_end()).trim_end()
}

/// The width of a text in terminal columns, counted in characters.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// Cuts a text into pieces of at most `most` characters; at blanks if `words` is set.
pub fn fold(text: &str, most: usize, words: bool) -> Vec<String> {
    let most = most.max(1);
    let mut out = Vec::new();
    for line in text.split('\n') {
        let mut rest: Vec<char> = line.chars().collect();
        loop {
            if rest.len() <= most {
                out.push(rest.into_iter().collect());
                break;
            }
            let blank = words.then(|| rest[..=most].iter().rposition(|c| *c == ' ')).flatten();
            let (cut, skip) = match blank {
                Some(at) if at > 0 => (at, 1),
                _ => (most, 0),
            };
            let tail = rest.split_off(cut);
            out.push(rest.into_iter().collect());
            rest = tail[skip..].to_vec();
        }
    }
    out
}

/// Pads on the right, or cuts.
pub fn left(text: &str, to: usize) -> String {
    let mut out: String = text.chars().take(to).collect();
    out.extend(std::iter::repeat_n(' ', to - width(&out)));
    out
}

/// Pads on the left; longer texts stay.
pub fn right(text: &str, to: usize) -> String {
    format!("{}{text}", " ".repeat(to.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(words("a 'b c' \"d\" e'f"), ["a", "b c", "d", "e'f"]);
        assert_eq!(quoted_words("a 'it''s' ''"), [("a".into(), false), ("it's".into(), true), (String::new(), true)]);
        assert_eq!(words("  "), Vec::<String>::new());
        assert_eq!(split_word("  set echo on"), ("set", "echo on"));
    }

    #[test]
    fn texts_fold_at_the_width_or_at_words() {
        assert_eq!(fold("abcdef", 4, false), ["abcd", "ef"]);
        assert_eq!(fold("ab cdef gh", 7, true), ["ab cdef", "gh"]);
        assert_eq!(fold("abcdefgh", 3, true), ["abc", "def", "gh"]);
        assert_eq!(fold("", 3, true), [""]);
        assert_eq!(fold("a\nb", 3, false), ["a", "b"]);
    }

    #[test]
    fn padding_counts_characters() {
        assert_eq!(left("äb", 4), "äb  ");
        assert_eq!(left("abcdef", 4), "abcd");
        assert_eq!(right("12", 4), "  12");
    }
}
