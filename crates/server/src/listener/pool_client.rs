//! A client of the connection pool (DRCP): its request, and what its server and the supervisor know about it.

use super::connect::Wished;
use instance::connection_pool::PoolClient;
use net::local::WireResult;
use net::oracle::auth::Logon;
use net::oracle::field::{Reader, Writer};
use types::{Ora, Result};

/// The class of clients that name none.
const SHARED: &str = "SHARED";

/// The longest name of a connection class.
const CLASS_MAX: usize = 1024;

/// A client's request for a pooled session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// The connection class.
    pub class: String,
    /// The client requires a session that no client has used.
    pub wants_new: bool,
    /// The client has logged on before, and gets no logon answer now.
    pub is_back: bool,
    /// The class, as an index of its figures.
    pub class_number: u16,
}

impl Pooled {
    /// The request of a client, from the second message of its logon or its connect data.
    ///
    /// # Errors
    /// ORA-56602 for an invalid purity, ORA-56604 for a class whose name is too long, ORA-56609 for a logon that
    /// changes the password.
    pub fn of(wished: &Wished, second: &Logon) -> Result<Pooled> {
        const DEFAULT: &str = "0";
        if second.pairs.get("AUTH_NEWPASSWORD").is_some() {
            return Err(Ora::new(56609));
        }
        let given = |key: &str| second.pairs.get(key).map(str::trim).filter(|text| !text.is_empty());
        let class = given("AUTH_KPPL_CONN_CLASS").or(wished.class.as_deref()).unwrap_or(SHARED);
        if class.len() > CLASS_MAX {
            return Err(Ora::with(56604, &[&class.len(), &CLASS_MAX]));
        }
        let purity = given("AUTH_KPPL_PURITY").filter(|purity| *purity != DEFAULT).or(wished.purity.as_deref());
        let wants_new = match purity.unwrap_or(DEFAULT).to_ascii_lowercase().as_str() {
            DEFAULT | "1" | "new" => true,
            "2" | "self" => false,
            _ => return Err(Ora::new(56602)),
        };
        Ok(Pooled { class: class.to_owned(), wants_new, is_back: false, class_number: 0 })
    }
}

/// The data about a pool client that the supervisor uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The client can only have a session with the same key.
    pub key: Vec<u8>,
    pub client: PoolClient,
}

impl Head {
    /// Appends the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        let PoolClient { user, class, service, program, machine, terminal, wants_new } = &self.client;
        let mut w = Writer::new(out);
        w.long_bytes(&self.key);
        for text in [user, class, service, program, machine, terminal] {
            w.long_bytes(text.as_bytes());
        }
        w.u8((*wants_new).into());
    }

    /// Reads a head and returns its length.
    ///
    /// # Errors
    /// [`net::local::WireError`] for an invalid head.
    pub fn read(bytes: &[u8]) -> WireResult<(Head, usize)> {
        let mut r = Reader::new(bytes);
        let key = r.long_bytes()?.unwrap_or_default().into_owned();
        let client = PoolClient {
            user: r.long_text()?,
            class: r.long_text()?,
            service: r.long_text()?,
            program: r.long_text()?,
            machine: r.long_text()?,
            terminal: r.long_text()?,
            wants_new: r.u8()? != 0,
        };
        Ok((Head { key, client }, r.position()))
    }
}

/// The requests of a pool client to its server between calls.
#[derive(Default)]
pub struct Turn {
    /// The session and serial number to report with the next answer.
    pub(super) news: Option<(u32, u32)>,
    /// The client has released the session; true when it leaves the pool, too.
    pub(super) released: Option<bool>,
}

impl Turn {
    /// The session to report with the next answer.
    pub(super) fn take_news(&mut self) -> Option<(u32, u32)> {
        self.news.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::oracle::auth::Pairs;

    fn second(pairs: &[(&str, &str)]) -> Logon {
        let mut all = Pairs::default();
        pairs.iter().for_each(|(key, value)| all.push(key, *value, 0));
        Logon { sequence: 2, user: "u".into(), mode: 1, pairs: all }
    }

    #[test]
    fn class_and_purity_of_the_logon_override_those_of_the_connect_data() {
        let of = |class: Option<&str>, purity: Option<&str>, pairs: &[(&str, &str)]| {
            let wished = Wished { class: class.map(str::to_owned), purity: purity.map(str::to_owned) };
            Pooled::of(&wished, &second(pairs)).map(|p| (p.class, p.wants_new)).map_err(|e| e.code())
        };
        let is = |class: &str, wants_new| Ok((class.to_string(), wants_new));
        assert_eq!(of(None, None, &[]), is("SHARED", true));
        assert_eq!(of(Some("a"), Some("Self"), &[]), is("a", false));
        assert_eq!(
            of(Some("a"), Some("self"), &[("AUTH_KPPL_CONN_CLASS", "b"), ("AUTH_KPPL_PURITY", "1")]),
            is("b", true)
        );
        assert_eq!(of(None, Some("self"), &[("AUTH_KPPL_PURITY", "0")]), is("SHARED", false));
        assert_eq!(of(None, None, &[("AUTH_KPPL_PURITY", "2")]), is("SHARED", false));
        assert_eq!(of(None, None, &[("AUTH_KPPL_PURITY", "3")]), Err(56602));
        assert_eq!(of(None, Some("both"), &[]), Err(56602));
        assert_eq!(of(None, None, &[("AUTH_NEWPASSWORD", "x")]), Err(56609));
        assert_eq!(of(Some(&"x".repeat(1025)), None, &[]), Err(56604));
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let client = PoolClient { user: "U".into(), class: "U.Ü".into(), wants_new: true, ..PoolClient::default() };
        let head = Head { key: vec![1, 2, 3], client };
        let mut bytes = Vec::new();
        head.write(&mut bytes);
        let len = bytes.len();
        bytes.push(9);
        assert_eq!(Head::read(&bytes), Ok((head, len)));
        for cut in 0..len {
            assert!(Head::read(&bytes[..cut]).is_err(), "{cut} bytes");
        }
    }
}
