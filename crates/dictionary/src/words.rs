//! The words of the texts of units and views (WORD$), by which DDL finds the texts that may refer to an object.
//!
//! Rows of words were preferred to rows of dependencies: a text refers to an object that does not exist yet, or that
//! another one hides, by the same word, and a text that does not compile has words, too.

use crate::base::{Base, FIRST_USER_OBJECT, source, view, word};
use crate::change::{By, Change};
use crate::rows::{as_text, as_u32, int, text};
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;
use types::{ObjectId, Result};

/// Longest name of an object.
const NAME_BYTES_MAX: usize = 128;

/// The words that most texts have. No rows are kept of them: they are seldom names of objects.
const COMMON: &str = "\
     ALL AND AS BEGIN BODY BOOLEAN BULK BY CASE CLOSE COLLECT COMMIT CONSTANT COUNT CREATE CURSOR DATE DECLARE \
     DEFAULT DELETE DESC DISTINCT ELSE ELSIF END EXCEPTION EXECUTE EXISTS EXIT FALSE FETCH FOR FROM FUNCTION GROUP \
     HAVING IF IMMEDIATE IN INDEX INSERT INTO IS JOIN LIKE LOOP NOT NULL NUMBER NVL OF ON OPEN OR ORDER OTHERS OUT \
     PACKAGE PLS_INTEGER PRAGMA PROCEDURE RAISE RECORD REPLACE RETURN RETURNING ROLLBACK ROWTYPE SELECT SET SQL \
     SYSDATE TABLE THEN TO_CHAR TO_DATE TRUE TYPE UNION UPDATE USER USING VALUES VARCHAR2 WHEN WHERE WHILE WITH";

static COMMON_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| COMMON.split(' ').collect());

/// A part of a word.
pub(crate) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#')
}

/// A name as the words of WORD$ are written; `None` for one that has no rows there: the texts with the name are found
/// only by reading all.
pub(crate) fn noted(name: &str) -> Option<String> {
    let begins = name.starts_with(|c: char| !c.is_ascii_digit());
    let is_plain = begins && name.len() <= NAME_BYTES_MAX && name.is_ascii() && name.chars().all(is_part);
    let upper = name.to_ascii_uppercase();
    (is_plain && !COMMON_WORDS.contains(upper.as_str())).then_some(upper)
}

/// The words of a text that have rows.
fn words_of(text: &str) -> HashSet<String> {
    text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).filter_map(noted).collect()
}

impl Change<'_> {
    /// Keeps the words of the text of an object, in place of those of its former text.
    ///
    /// # Errors
    /// Those of changing rows.
    pub fn replace_words(&mut self, object: ObjectId, source: &str) -> Result<()> {
        let by = By::new(word::OBJ, object.0);
        let mut new = words_of(source);
        let former = self.select_by(Base::Word, by)?;
        let gone: HashSet<&str> =
            former.iter().map(|row| as_text(&row[word::WORD])).filter(|word| !new.remove(*word)).collect();
        if !gone.is_empty() {
            self.delete_by(Base::Word, by.and(&|row| gone.contains(as_text(&row[word::WORD]))))?;
        }
        let rows: Vec<_> = new.into_iter().map(|word| vec![int(object.0), text(word)]).collect();
        if rows.is_empty() { Ok(()) } else { self.insert_many(Base::Word, &rows) }
    }
}

impl Change<'_> {
    /// Keeps the words of the texts of all objects; none are kept yet.
    ///
    /// # Errors
    /// Those of reading and of changing rows.
    pub(crate) fn fill_words(&mut self) -> Result<()> {
        let mut words: BTreeMap<u32, HashSet<String>> = BTreeMap::new();
        for (base, object, column) in [(Base::Source, source::OBJ, source::SOURCE), (Base::View, view::OBJ, view::TEXT)]
        {
            for row in self.select(base, &|row| as_u32(&row[object]) >= FIRST_USER_OBJECT)? {
                words.entry(as_u32(&row[object])).or_default().extend(words_of(as_text(&row[column])));
            }
        }
        for (object, words) in words {
            let rows: Vec<_> = words.into_iter().map(|word| vec![int(object), text(word)]).collect();
            self.insert_many(Base::Word, &rows)?;
            faults::point("words-one-text");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_can_be_a_plain_name_is_kept_once() {
        let mut words: Vec<String> =
            words_of("begin insert into Base_T values (1, 'x y', größe); -- x\n y$1(base_t#, \"T\"); end;\n")
                .into_iter()
                .collect();
        words.sort();
        assert_eq!(words, ["BASE_T", "BASE_T#", "T", "X", "Y", "Y$1"]);
        assert_eq!(noted("emp"), Some("EMP".to_owned()));
        for odd in ["a name", "1A", "END", "größe", "", &"x".repeat(129)] {
            assert_eq!(noted(odd), None, "{odd}");
        }
    }
}
