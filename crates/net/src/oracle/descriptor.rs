//! Connect descriptors: `(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=s)))`.
//!
//! Keys are case-insensitive, blanks between the parts are ignored, and a value may be in double quotes.

/// One `(KEY=…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: Content,
}

/// The content after the `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    List(Vec<Entry>),
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}=", self.key)?;
        match &self.value {
            Content::Text(text) if text.contains(['(', ')', '=', '\'']) => write!(f, "\"{text}\"")?,
            Content::Text(text) => f.write_str(text)?,
            Content::List(entries) => entries.iter().try_for_each(|e| write!(f, "{e}"))?,
        }
        f.write_str(")")
    }
}

/// Largest depth of nested lists.
const DEPTH_MAX: u32 = 12;

impl Entry {
    /// Parses a descriptor, an address or connect data; `None` for other texts.
    pub fn parse(text: &str) -> Option<Entry> {
        let mut p = Parser { rest: text.trim() };
        let entry = p.entry(0)?;
        p.rest.trim_matches(|c: char| c.is_whitespace() || c == '\0').is_empty().then_some(entry)
    }

    /// The entry at a path of keys, beginning with this entry's own key.
    pub fn find(&self, path: &[&str]) -> Option<&Entry> {
        let (first, rest) = path.split_first()?;
        if !self.key.eq_ignore_ascii_case(first) {
            return None;
        }
        match (&self.value, rest) {
            (_, []) => Some(self),
            (Content::List(entries), _) => entries.iter().find_map(|e| e.find(rest)),
            (Content::Text(_), _) => None,
        }
    }

    /// The first entry with that key, at any depth.
    pub fn anywhere(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            _ if self.key.eq_ignore_ascii_case(key) => Some(self),
            Content::List(entries) => entries.iter().find_map(|e| e.anywhere(key)),
            Content::Text(_) => None,
        }
    }

    /// Adds every entry with that key at any depth, except those inside another one.
    pub fn all<'a>(&'a self, key: &str, found: &mut Vec<&'a Entry>) {
        match &self.value {
            _ if self.key.eq_ignore_ascii_case(key) => found.push(self),
            Content::List(entries) => entries.iter().for_each(|e| e.all(key, found)),
            Content::Text(_) => {}
        }
    }

    /// The text of the first entry with that key, at any depth.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        match &self.anywhere(key)?.value {
            Content::Text(text) => Some(text),
            Content::List(_) => None,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(c)?;
        Some(())
    }

    fn entry(&mut self, depth: u32) -> Option<Entry> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.take('(')?;
        let end = self.rest.find(['=', '(', ')'])?;
        let key = self.rest[..end].trim().to_string();
        self.rest = &self.rest[end..];
        if key.is_empty() {
            return None;
        }
        self.take('=')?;
        let value = self.content(depth)?;
        self.take(')')?;
        Some(Entry { key, value })
    }

    fn content(&mut self, depth: u32) -> Option<Content> {
        let rest = self.rest.trim_start();
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"')?;
            self.rest = &quoted[end + 1..];
            return Some(Content::Text(quoted[..end].to_string()));
        }
        if !rest.starts_with('(') {
            let end = self.rest.find([')', '('])?;
            let text = self.rest[..end].trim().to_string();
            self.rest = &self.rest[end..];
            return Some(Content::Text(text));
        }
        let mut entries = Vec::new();
        while self.rest.trim_start().starts_with('(') {
            entries.push(self.entry(depth + 1)?);
        }
        Some(Content::List(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_read_whatever_its_blanks_and_case() {
        let d = Entry::parse(
            "(description= (Address=(protocol=tcp)(host=db 1)(PORT=1521))\n (CONNECT_DATA=(service_name = \"a)b\")(CID=(PROGRAM=x))))",
        )
        .unwrap();
        assert_eq!(d.text_of("SERVICE_NAME"), Some("a)b"));
        assert_eq!(d.text_of("HOST"), Some("db 1"));
        assert!(d.find(&["DESCRIPTION", "CONNECT_DATA", "CID", "program"]).is_some());
        assert_eq!((d.text_of("CID"), d.text_of("SID")), (None, None));
        assert_eq!(Entry::parse("(CONNECT_DATA=(COMMAND=ping))").unwrap().text_of("command"), Some("ping"));
        assert_eq!(Entry::parse(&d.to_string()), Some(d));
    }

    #[test]
    fn invalid_descriptors_are_refused() {
        for text in ["", "x", "(", "(a", "(a=", "(a=b", "(=b)", "(a=b))", "(a=(b=c)", "(a=\"b)", "(a=b)(c=d)"] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
        assert_eq!(Entry::parse(&"(a=".repeat(100_000)), None);
    }
}
