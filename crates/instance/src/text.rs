//! Texts of the instance's own statements, which run with the names and privileges of SYS.
//!
//! A [`Text`] is made of literals of the program. Texts of users are never part of it, and all values are binds.

use std::borrow::Cow;

/// The text of a statement that the instance runs as SYS.
#[derive(Clone, Debug)]
pub struct Text(Cow<'static, str>);

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Text {
        Text(Cow::Borrowed(text))
    }
}

impl Text {
    /// Joins literals.
    pub fn joined(parts: &[&'static str]) -> Text {
        Text(Cow::Owned(parts.concat()))
    }

    /// The text of the statement.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
