//! METHOD_OPT of DBMS_STATS: the columns to count, and the sizes of their histograms.
//!
//! ```text
//! FOR ALL [INDEXED | HIDDEN] COLUMNS [SIZE size]
//! FOR COLUMNS [SIZE size] column [SIZE size] {[,] column [SIZE size]}
//! size: number | REPEAT | AUTO | SKEWONLY        column: a name, or a column group: (name, name ...)
//! ```
//! Several clauses may follow one another; a later clause overrides earlier ones for the columns that it names.

use crate::histogram::Size;
use dictionary::statistics::BUCKETS_MAX;
use types::{Ora, Result};

/// Columns of one clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    All,
    Indexed,
    Hidden,
    /// A column, or the columns of a group.
    Named(Vec<String>),
}

/// Parses METHOD_OPT.
///
/// # Errors
/// ORA-20000 with the text of the invalid clause.
pub fn parse(text: &str) -> Result<Vec<(Columns, Size)>> {
    let failed = || Ora::user(20000, format!("Cannot parse for clause: {text}"));
    let words = words(text).ok_or_else(failed)?;
    let mut reader = Reader { words: &words, at: 0 };
    let mut clauses = Vec::new();
    while reader.at < words.len() {
        reader.clause(&mut clauses).ok_or_else(failed)?;
    }
    Ok(clauses)
}

#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// In upper case unless it was quoted.
    Name(String, bool),
    Sign(char),
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '(' | ')' | ',' => words.push(Word::Sign(c)),
            '"' => {
                let mut name = String::new();
                loop {
                    match rest.next()? {
                        '"' => break,
                        c => name.push(c),
                    }
                }
                words.push(Word::Name(name, true));
            }
            c if c.is_alphanumeric() || matches!(c, '_' | '$' | '#') => {
                let mut name = c.to_uppercase().collect::<String>();
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '#')) {
                    name.extend(c.to_uppercase());
                }
                words.push(Word::Name(name, false));
            }
            _ => return None,
        }
    }
    Some(words)
}

struct Reader<'w> {
    words: &'w [Word],
    at: usize,
}

impl Reader<'_> {
    fn is(&self, keyword: &str) -> bool {
        matches!(self.words.get(self.at), Some(Word::Name(name, false)) if name == keyword)
    }

    fn takes(&mut self, keyword: &str) -> bool {
        let found = self.is(keyword);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: char) -> bool {
        let found = self.words.get(self.at) == Some(&Word::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn name(&mut self) -> Option<String> {
        match self.words.get(self.at)? {
            Word::Name(name, _) => {
                self.at += 1;
                Some(name.clone())
            }
            Word::Sign(_) => None,
        }
    }

    fn clause(&mut self, clauses: &mut Vec<(Columns, Size)>) -> Option<()> {
        self.takes("FOR").then_some(())?;
        if self.takes("ALL") {
            let columns = if self.takes("INDEXED") {
                Columns::Indexed
            } else if self.takes("HIDDEN") {
                Columns::Hidden
            } else {
                Columns::All
            };
            self.takes("COLUMNS").then_some(())?;
            let size = self.size()?;
            // Without SIZE a histogram has 75 buckets.
            clauses.push((columns, size.unwrap_or(Size::Buckets(75))));
            return Some(());
        }
        self.takes("COLUMNS").then_some(())?;
        let all = self.size()?;
        let before = clauses.len();
        while self.at < self.words.len() && !self.is("FOR") {
            let columns = if self.sign('(') {
                let mut group = vec![self.name()?];
                while self.sign(',') {
                    group.push(self.name()?);
                }
                self.sign(')').then_some(())?;
                group
            } else {
                vec![self.name()?]
            };
            let size = self.size()?.or(all).unwrap_or(Size::Buckets(75));
            clauses.push((Columns::Named(columns), size));
            self.sign(',');
        }
        (clauses.len() > before || all.is_some()).then_some(())
    }

    /// `None` for an invalid size, `Some(None)` without SIZE.
    fn size(&mut self) -> Option<Option<Size>> {
        if !self.takes("SIZE") {
            return Some(None);
        }
        let word = self.name()?;
        Some(Some(match word.as_str() {
            "REPEAT" => Size::Repeat,
            "AUTO" => Size::Auto,
            "SKEWONLY" => Size::SkewOnly,
            number => Size::Buckets(number.parse().ok().filter(|n| (1..=BUCKETS_MAX).contains(n))?),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(columns: &[&str]) -> Columns {
        Columns::Named(columns.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn clauses_are_read_as_oracle_reads_them() {
        let good: &[(&str, &[(Columns, Size)])] = &[
            ("for all columns size auto", &[(Columns::All, Size::Auto)]),
            ("FOR ALL INDEXED COLUMNS SIZE 254", &[(Columns::Indexed, Size::Buckets(254))]),
            ("for all hidden columns", &[(Columns::Hidden, Size::Buckets(75))]),
            ("for columns a size 10, \"b\"", &[(named(&["A"]), Size::Buckets(10)), (named(&["b"]), Size::Buckets(75))]),
            ("for columns size skewonly a b", &[(named(&["A"]), Size::SkewOnly), (named(&["B"]), Size::SkewOnly)]),
            ("for columns (a, b) size repeat", &[(named(&["A", "B"]), Size::Repeat)]),
            (
                "for all columns size 1 for columns c size 2048",
                &[(Columns::All, Size::Buckets(1)), (named(&["C"]), Size::Buckets(2048))],
            ),
        ];
        for (text, expected) in good {
            assert_eq!(parse(text).expect("readable"), *expected, "{text}");
        }
    }

    #[test]
    fn an_invalid_clause_is_refused_with_its_text() {
        let bad = ["junk", "for all", "for all columns size", "for all columns size 0", "for all columns size 2049"];
        for text in bad.into_iter().chain(["for columns", "for columns (a", "for columns a size much", "for ?"]) {
            let error = parse(text).expect_err(text);
            assert_eq!(error.code(), 20000);
            assert!(error.to_string().contains(&format!("Cannot parse for clause: {text}")), "{error}");
        }
    }
}
