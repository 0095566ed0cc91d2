//! Connect strings, and the place that opens sessions for them.

use client::{Client, ClientError, Credentials};
use std::path::PathBuf;

/// Opens sessions for `CONNECT` and at the start.
pub trait Connector {
    /// Opens a session.
    fn connect(&mut self, credentials: &Credentials, place: Option<&str>) -> Result<Client, ClientError>;
    /// The directory of the instance that `STARTUP` starts; `None` where the shell may not start one.
    fn home(&self) -> Option<PathBuf> {
        None
    }
}

/// A parsed connect string.
#[derive(Clone, Debug, PartialEq)]
pub struct Logon {
    pub credentials: Credentials,
    /// The text after `@`.
    pub place: Option<String>,
    pub asks_password: bool,
}

/// Parses `user/password[@place] [as sysdba]`, `/ as sysdba`, `user`.
///
/// # Errors
/// The SP2 message.
pub fn parse_logon(text: &str) -> Result<Logon, String> {
    let text = text.trim().trim_end_matches(';').trim();
    let lower = text.to_ascii_lowercase();
    let (text, sysdba) = match lower.find(" as ").or_else(|| lower.find("/as ").map(|at| at + 1)) {
        Some(at) => {
            let role = lower[at..].trim_start().trim_start_matches("as").trim();
            if !["sysdba", "sysoper"].contains(&role) {
                return Err("SP2-0306: Invalid option.\nUsage: CONN[ECT] [{logon|/} [AS {SYSDBA|SYSOPER}]]".into());
            }
            (text[..at].trim(), true)
        }
        None => (text, false),
    };
    let (text, place) = match text.rfind('@') {
        Some(at) => (&text[..at], Some(text[at + 1..].trim().to_string()).filter(|p| !p.is_empty())),
        None => (text, None),
    };
    let (user, password) = match text.split_once('/') {
        Some((user, password)) => (user.trim(), Some(password.trim())),
        None => (text.trim(), None),
    };
    if user.is_empty() {
        if password.is_none() {
            return Err("SP2-0306: Invalid option.\nUsage: CONN[ECT] [{logon|/} [AS {SYSDBA|SYSOPER}]]".into());
        }
        let credentials = if sysdba { Credentials::Sysdba } else { Credentials::OsUser };
        return Ok(Logon { credentials, place, asks_password: false });
    }
    let user = user.to_string();
    let asks_password = password.is_none();
    let password = password.unwrap_or("").trim_matches('"').to_string();
    let credentials =
        if sysdba { Credentials::SysdbaPassword { user, password } } else { Credentials::Password { user, password } };
    Ok(Logon { credentials, place, asks_password })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_strings() {
        let logon = |text: &str| parse_logon(text).unwrap();
        assert_eq!(logon("/ as sysdba").credentials, Credentials::Sysdba);
        assert_eq!(logon("/as sysdba").credentials, Credentials::Sysdba);
        assert_eq!(logon("/").credentials, Credentials::OsUser);
        let l = logon("scott/tiger@here");
        assert_eq!(l.credentials, Credentials::password("scott", "tiger"));
        assert_eq!(l.place.as_deref(), Some("here"));
        assert!(logon("scott").asks_password);
        let sys = logon("sys/pw as sysdba");
        assert_eq!(sys.credentials, Credentials::SysdbaPassword { user: "sys".into(), password: "pw".into() });
        assert!(parse_logon("").is_err());
        assert!(parse_logon("a/b as king").is_err());
    }
}
