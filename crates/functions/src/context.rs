//! What a function sees of the session that calls it.

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
    /// Writes `SYS_CONTEXT(namespace, parameter)` into `out`; both come in upper case. Returns false when the value is
    /// NULL.
    ///
    /// USERENV's USER, SESSION_USER, SESSION_USERID, CURRENT_USER, CURRENT_SCHEMA, SID and the NLS parameters are
    /// answered before this is asked.
    /// # Errors
    /// ORA-02003 for a USERENV parameter that does not exist.
    fn context(&self, namespace: &str, parameter: &str, out: &mut String) -> Result<bool>;
    /// Sixteen bytes that no other call has returned, for SYS_GUID.
    fn guid(&self) -> [u8; 16];
    /// Asked now and then by what takes long, such as a regular expression over a long text.
    /// # Errors
    /// ORA-01013 and the like when the session is to stop.
    fn check_cancel(&self) -> Result<()> {
        Ok(())
    }
    /// SCN_TO_TIMESTAMP.
    /// # Errors
    /// ORA-08181 when nobody knows.
    fn scn_to_timestamp(&self, _scn: u64) -> Result<Timestamp> {
        Err(types::Ora::new(8181))
    }
    /// TIMESTAMP_TO_SCN.
    /// # Errors
    /// ORA-08180 when nobody knows.
    fn timestamp_to_scn(&self, _time: &Timestamp) -> Result<u64> {
        Err(types::Ora::new(8180))
    }
}

/// The time, fixed while a statement runs.
pub trait Clock {
    /// The current time on the database's clock, with that clock's offset from UTC.
    fn now(&self) -> Timestamp;
}

/// What functions keep between calls: compiled regular expressions.
#[derive(Default)]
pub struct FnCache {
    regexps: Vec<(String, u8, Regexp)>,
}

/// Compiled expressions kept; the oldest goes first.
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

/// What a function may look at besides its arguments. Made once for a statement, or once for a session.
pub struct FnCtx<'a> {
    /// The session's language settings.
    pub nls: &'a Nls,
    /// Who calls.
    pub session: &'a dyn SessionInfo,
    /// The statement's time.
    pub clock: &'a dyn Clock,
    /// Kept between calls.
    pub cache: &'a mut FnCache,
    /// How long a text may be made.
    pub text_max: TextMax,
}

/// How long a text that a function makes may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMax {
    /// VARCHAR2 of SQL.
    Text,
    /// VARCHAR2 of PL/SQL, where a CLOB may be meant too.
    PlSql,
    Lob,
}

impl TextMax {
    /// The most bytes of what pads or repeats to a given length: longer texts are cut there.
    pub fn padded_bytes(self) -> usize {
        match self {
            TextMax::Text => SQL_TEXT_MAX,
            TextMax::PlSql | TextMax::Lob => 32_767,
        }
    }

    /// The most bytes of any text.
    pub fn bytes(self) -> usize {
        match self {
            TextMax::Text => SQL_TEXT_MAX,
            TextMax::PlSql | TextMax::Lob => LOB_MAX,
        }
    }
}

/// Bytes of the longest VARCHAR2 of SQL.
pub const SQL_TEXT_MAX: usize = 4000;
/// Bytes of the longest CLOB that expressions make.
pub const LOB_MAX: usize = 32_767 * 1024;
