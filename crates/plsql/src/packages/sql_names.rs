//! Names of SQL in the arguments of packages.

/// The longest name, in bytes.
pub(super) const NAME_MAX: usize = 128;

/// A qualified name: its parts in the form of the dictionary, and a database link.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Qualified {
    pub(super) names: Vec<String>,
    pub(super) link: Option<String>,
    /// The index behind the last byte of the name.
    pub(super) end: usize,
}

/// The name at the begin of a text, in the form of the dictionary, and its length.
pub(super) fn name_at(text: &str) -> Option<(String, usize)> {
    if let Some(rest) = text.strip_prefix('"') {
        let end = rest.find('"')?;
        let is_fit = (1..=NAME_MAX).contains(&end) && !rest[end + 1..].starts_with('"');
        return is_fit.then(|| (rest[..end].to_owned(), end + 2));
    }
    let is_first = text.chars().next().is_some_and(char::is_alphabetic);
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    (is_first && end <= NAME_MAX).then(|| (text[..end].to_uppercase(), end))
}

/// Whether a text is one name.
pub(super) fn is_simple(text: &str) -> bool {
    name_at(text).is_some_and(|(_, end)| end == text.len())
}

/// The parts of a qualified name at the begin of a text; blanks may be around each.
pub(super) fn tokens_of(text: &str) -> Option<Qualified> {
    let blanks = |at: usize| at + text[at..].len() - text[at..].trim_start().len();
    let (mut at, mut names, mut link) = (blanks(0), Vec::new(), None);
    loop {
        let (name, len) = name_at(&text[at..])?;
        names.push(name);
        at += len;
        let next = blanks(at);
        if !text[next..].starts_with('.') {
            break;
        }
        at = blanks(next + 1);
    }
    let next = blanks(at);
    if text[next..].starts_with('@') {
        let begin = blanks(next + 1);
        let (first, mut len) = name_at(&text[begin..])?;
        let mut full = first;
        while text[begin + len..].starts_with('.') {
            let (part, more) = name_at(&text[begin + len + 1..])?;
            full = format!("{full}.{part}");
            len += 1 + more;
        }
        link = Some(full);
        at = begin + len;
    }
    Some(Qualified { names, link, end: at })
}

/// Like [`tokens_of`], for a text that is a name and nothing else.
pub(super) fn parts_of(text: &str) -> Option<Qualified> {
    tokens_of(text).filter(|name| text[name.end..].trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_reads_them() {
        let names = |text: &str| parts_of(text).map(|name| name.names);
        assert_eq!(names("scott.Emp"), Some(vec!["SCOTT".into(), "EMP".into()]));
        assert_eq!(names(" \"a b\" . c$1 "), Some(vec!["a b".into(), "C$1".into()]));
        assert_eq!(parts_of("a.b@l.d").and_then(|name| name.link), Some("L.D".into()));
        for wrong in
            ["", "1a", "a.", ".a", "a b", "\"\"", "\"a\"\"b\"", "a@", "a;b", "_a", "a-b", "é\"", &"x".repeat(129)]
        {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }
}
