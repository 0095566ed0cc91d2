//! The messages of a logon: first the user name and the client's description, then the proof of the password.

use super::field::{Reader, Writer};
use super::handshake::Client;
use super::message;
use crate::local::WireResult;
use zeroize::Zeroize;

/// The privileges that a client requests, in the mode of a logon.
pub mod mode {
    pub const LOGON: u32 = 1;
    pub const CHANGE_PASSWORD: u32 = 2;
    pub const SYSDBA: u32 = 0x20;
    pub const WITH_PASSWORD: u32 = 0x100;
    /// The session is for another user (proxy authentication).
    pub const PROXY: u32 = 0x400;
    /// SYSOPER, SYSASM, SYSBACKUP, SYSDG, SYSKM, SYSRAC.
    pub const ADMINISTRATIVE: u32 = 0x40 | 0x40_0000 | 0x100_0000 | 0x200_0000 | 0x400_0000 | 0x800_0000;
    /// A token instead of a password.
    pub const TOKEN: u32 = 0x2000_0000;
    /// Modes of a logon, which a change of the password must not have.
    pub const OTHERS: u32 = ADMINISTRATIVE | TOKEN | PROXY;
}

/// Largest number of pairs of a logon. A value of an application context takes three.
const PAIRS_MAX: u32 = 2048;

/// Keys and values, each with a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs(pub Vec<(String, String, u32)>);

impl Pairs {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, ..)| k == key).map(|(_, value, _)| value.as_str())
    }

    /// Clears the values of the keys for which `is` is true.
    pub fn forget(&mut self, is: impl Fn(&str) -> bool) {
        self.0.iter_mut().filter(|(key, ..)| is(key)).for_each(|(_, value, _)| value.zeroize());
        self.0.retain(|(key, ..)| !is(key));
    }

    /// The number of a key; 0 without the key.
    pub fn flags(&self, key: &str) -> u32 {
        self.0.iter().find(|(k, ..)| k == key).map_or(0, |(.., flags)| *flags)
    }

    /// Bytes of memory held.
    pub fn held(&self) -> usize {
        let texts: usize = self.0.iter().map(|(key, value, _)| key.capacity() + value.capacity()).sum();
        texts + self.0.capacity() * size_of::<(String, String, u32)>()
    }

    /// Adds a pair.
    pub fn push(&mut self, key: &str, value: impl Into<String>, flags: u32) {
        self.0.push((key.into(), value.into(), flags));
    }

    fn read(r: &mut Reader<'_>, n: usize) -> WireResult<Pairs> {
        let mut pairs = Pairs::default();
        for _ in 0..n {
            let (key, value) = (r.long_text()?, r.long_text()?);
            pairs.push(key.trim_end_matches('\0'), value, r.ub4()?);
        }
        Ok(pairs)
    }

    fn write(&self, w: &mut Writer<'_>) {
        for (key, value, flags) in &self.0 {
            w.long_bytes(key.as_bytes());
            w.long_bytes(value.as_bytes());
            w.number(*flags);
        }
    }
}

// A proof is as good as a password to an attacker who has the session key (invariant 5).
impl Drop for Pairs {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|(_, value, _)| value.zeroize());
    }
}

/// One of the two messages of a logon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logon {
    /// The number of the call; the outcome repeats it.
    pub sequence: u8,
    /// The user name as typed.
    pub user: String,
    pub mode: u32,
    pub pairs: Pairs,
}

impl Logon {
    /// Reads a message after its function byte.
    ///
    /// # Errors
    /// [`WireError`] for an invalid message.
    pub fn read(r: &mut Reader<'_>, sequence: u8, client: Client) -> WireResult<Logon> {
        let has_user = r.u8()? != 0;
        let user_len = r.ub4()? as usize;
        let mode = r.ub4()?;
        r.skip(1)?;
        let n = r.count(PAIRS_MAX)?;
        r.skip(2)?;
        let user = if has_user { client.read_text(r, user_len)? } else { String::new() };
        Ok(Logon { sequence, user, mode, pairs: Pairs::read(r, n)? })
    }

    /// Appends the message with that function, in the form of [`Client::USUAL`].
    pub fn write(&self, which: u8, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.raw(&[message::FUNCTION, which, self.sequence]);
        w.u8(1);
        w.number(self.user.len() as u64);
        w.number(self.mode);
        w.u8(1);
        w.number(self.pairs.0.len() as u64);
        w.raw(&[1, 1]);
        Client::USUAL.write_text(&mut w, &self.user);
        self.pairs.write(&mut w);
    }
}

/// Appends the server's answer that precedes the outcome.
pub fn write_reply(out: &mut Vec<u8>, pairs: &Pairs) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(pairs.0.len() as u64);
    pairs.write(&mut w);
}

/// Reads the server's answer after its type byte.
///
/// # Errors
/// [`WireError`] for an invalid message.
pub fn read_reply(r: &mut Reader<'_>) -> WireResult<Pairs> {
    let n = r.count(PAIRS_MAX)?;
    Pairs::read(r, n)
}

/// The statements with which a client sets up its session; each ends with a zero byte.
pub fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split('\0').map(str::trim).filter(|statement| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::WireError;
    use crate::oracle::function;

    #[test]
    fn a_logon_is_byte_for_byte_what_drivers_send() {
        let mut pairs = Pairs::default();
        pairs.push("AUTH_TERMINAL", "unknown", 0);
        let logon = Logon { sequence: 1, user: "scott".into(), mode: 1, pairs };
        let mut out = Vec::new();
        logon.write(function::AUTH_PHASE_ONE, &mut out);
        let mut want = vec![3, 0x76, 1, 1, 1, 5, 1, 1, 1, 1, 1, 1, 1, 5];
        want.extend_from_slice(b"scott\x01\x0d\x0dAUTH_TERMINAL\x01\x07\x07unknown\x00");
        assert_eq!(out, want);
        let mut r = Reader::new(&out[3..]);
        assert_eq!(Logon::read(&mut r, 1, Client::USUAL), Ok(logon));
        r.finish().unwrap();
        for cut in 3..out.len() {
            assert_eq!(Logon::read(&mut Reader::new(&out[3..cut]), 1, Client::USUAL), Err(WireError::Truncated));
        }
    }

    #[test]
    fn keys_lose_their_zero_byte_and_statements_are_parted() {
        let mut pairs = Pairs::default();
        pairs.push("AUTH_ALTER_SESSION\0", "ALTER SESSION SET TIME_ZONE='+02:00'\0", 1);
        let mut out = Vec::new();
        write_reply(&mut out, &pairs);
        let read = read_reply(&mut Reader::new(&out[1..])).unwrap();
        let text = read.get("AUTH_ALTER_SESSION").unwrap();
        assert_eq!(statements(text).collect::<Vec<_>>(), ["ALTER SESSION SET TIME_ZONE='+02:00'"]);
    }
}
