//! The session as functions see it.

use crate::regexp::Regexp;
use types::{Nls, Result, Timestamp};

/// The session's identity, and SYS_CONTEXT.
pub trait SessionInfo {
    /// The name of the session's user, as USER shows it.
    fn user(&self) -> &str;
    /// The user's number, as UID shows it.
    fn user_id(&self) -> u32;
    /// CURRENT_SCHEMA.
    fn schema(&self) -> &str;
    /// The session number.
    fn sid(&self) -> u32;
    /// Writes `SYS_CONTEXT(namespace, parameter)` into `out`; both arguments are in upper case. Returns false if the
    /// value is NULL.
    ///
    /// USERENV's USER, SESSION_USER, SESSION_USERID, CURRENT_USER, CURRENT_SCHEMA, SID and the NLS parameters are
    /// handled before this is called.
    /// # Errors
    /// ORA-02003 for an unknown USERENV parameter.
    fn context(&self, namespace: &str, parameter: &str, out: &mut String) -> Result<bool>;
    /// Sixteen bytes, unique for each call, for SYS_GUID.
    fn guid(&self) -> [u8; 16];
    /// Called from time to time by long operations, such as a regular expression over a long text.
    /// # Errors
    /// ORA-01013 and others if the session must stop.
    fn check_cancel(&self) -> Result<()> {
        Ok(())
    }
    /// SCN_TO_TIMESTAMP.
    /// # Errors
    /// ORA-08181 if no time is recorded for the SCN.
    fn scn_to_timestamp(&self, _scn: u64) -> Result<Timestamp> {
        Err(types::Ora::new(8181))
    }
    /// TIMESTAMP_TO_SCN.
    /// # Errors
    /// ORA-08180 if no SCN is recorded for the time.
    fn timestamp_to_scn(&self, _time: &Timestamp) -> Result<u64> {
        Err(types::Ora::new(8180))
    }
}

/// The time, constant while a statement runs.
pub trait Clock {
    /// The current time on the database's clock, with that clock's offset from UTC.
    fn now(&self) -> Timestamp;
}

/// State that functions keep between calls: compiled regular expressions.
#[derive(Default)]
pub struct FnCache {
    regexps: Vec<(String, u8, Regexp)>,
    pub(crate) json: crate::json_cache::Cache,
    pub(crate) xml: crate::xml_cache::Cache,
}

/// Number of compiled expressions kept; the oldest is evicted first.
const REGEXPS: usize = 8;

impl FnCache {
    /// Returns the compiled form of a pattern.
    pub(crate) fn regexp(&mut self, pattern: &str, flags: u8) -> Result<&Regexp> {
        let found = self.regexps.iter().position(|(p, f, _)| p == pattern && *f == flags);
        let at = match found {
            Some(at) => at,
            None => {
                let compiled = Regexp::compile(pattern, flags)?;
                if self.regexps.len() == REGEXPS {
                    self.regexps.remove(0);
                }
                self.regexps.push((pattern.to_owned(), flags, compiled));
                self.regexps.len() - 1
            }
        };
        Ok(&self.regexps[at].2)
    }
}

/// Everything besides the arguments that a function may read. Made once for a statement, or once for a session.
pub struct FnCtx<'a> {
    /// The session's language settings.
    pub nls: &'a Nls,
    /// The calling session.
    pub session: &'a dyn SessionInfo,
    /// The statement's time.
    pub clock: &'a dyn Clock,
    /// Kept between calls.
    pub cache: &'a mut FnCache,
    /// Limit for the length of texts.
    pub text_max: TextMax,
}

/// The limit for the length of a text that a function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMax {
    /// VARCHAR2 of SQL.
    Text,
    /// VARCHAR2 of PL/SQL, which may also be used as a CLOB.
    PlSql,
    Lob,
}

impl TextMax {
    /// The greatest length in bytes of results that are padded or repeated to a given length; longer results are
    /// truncated.
    pub fn padded_bytes(self) -> usize {
        match self {
            TextMax::Text => SQL_TEXT_MAX,
            TextMax::PlSql | TextMax::Lob => 32_767,
        }
    }

    /// The greatest length in bytes of any other text.
    pub fn bytes(self) -> usize {
        match self {
            TextMax::Text => SQL_TEXT_MAX,
            TextMax::PlSql | TextMax::Lob => LOB_MAX,
        }
    }
}

/// Greatest length in bytes of a VARCHAR2 in SQL.
pub const SQL_TEXT_MAX: usize = 4000;
/// Greatest length in bytes of a CLOB made by an expression.
pub const LOB_MAX: usize = 32_767 * 1024;
