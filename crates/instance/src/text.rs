//! Texts of statements of the instance's own, which run with the names and privileges of SYS.
//!
//! No text of a user is ever part of one: [`Text`] is made of the program's own literals, and everything else goes
//! through binds.

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
    /// Literals, one behind the other.
    pub fn joined(parts: &[&'static str]) -> Text {
        Text(Cow::Owned(parts.concat()))
    }

    /// The statement.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
