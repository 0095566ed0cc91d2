//! Access to the page: permission to look, and to kill (invariants 9 and 10).
//!
//! The page is for the owner of the instance only. Three checks:
//! * **Host**: foreign names are refused, so that a page elsewhere cannot reach this address under its own name.
//! * **Origin**: requests of other pages are refused.
//! * **Key**: every client needs the key in the address that was printed at the start, even the owner: a connection of
//!   the owner's may be the near end of a tunnel. A browser gets a cookie for the key and removes the key from the
//!   address.
//!
//! A kill also requires the token in the page, which no other page can read.

use std::net::IpAddr;

use super::http::{Refusal, Request};

/// A secret of 128 bits, in hexadecimal digits.
///
/// # Errors
/// The system has no random numbers.
pub fn secret() -> Result<String, String> {
    let bytes: [u8; 16] = os::random::bytes().map_err(|e| e.to_string())?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// The secrets and names that requests are checked against.
#[derive(Clone, Debug)]
pub struct Door {
    pub key: String,
    /// The cookie that a browser sends instead of the key.
    pub cookie: String,
    /// The name of the cookie, with the port: cookies of a host apply to all its ports.
    pub cookie_name: String,
    pub token: String,
    /// Accepted names of the page besides `localhost`.
    pub names: Vec<String>,
    /// Only the loopback is listened on.
    pub local: bool,
}

/// Compares secrets in constant time.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

impl Door {
    /// Makes new secrets for a page on this port.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(port: u16, names: Vec<String>, local: bool) -> Result<Door, String> {
        let cookie_name = format!("latchwork-top-{port}");
        Ok(Door { key: secret()?, cookie: secret()?, cookie_name, token: secret()?, names, local })
    }

    /// Checks whether a request is allowed.
    ///
    /// # Errors
    /// The refusal.
    pub fn check(&self, request: &Request) -> Result<(), Refusal> {
        let host = request.header("host").ok_or((400, "the request has no Host header"))?;
        if !self.knows(host) {
            return Err((421, "this host name is not accepted; see --name"));
        }
        if let Some(origin) = request.header("origin")
            && origin != format!("http://{host}")
        {
            return Err((403, "requests from other pages are refused"));
        }
        let site = request.header("sec-fetch-site").unwrap_or("none");
        if !(site == "none" || site == "same-origin") && request.path != "/" {
            return Err((403, "requests from other pages are refused"));
        }
        if request.field("key").is_some_and(|key| same(key, &self.key)) || self.has_cookie(request) {
            return Ok(());
        }
        Err((403, "open the address that was printed at the start: it contains the key"))
    }

    fn has_cookie(&self, request: &Request) -> bool {
        let cookies = request.header("cookie").unwrap_or_default().split(';');
        let mut own = cookies.filter_map(|c| c.trim().split_once('=')).filter(|(name, _)| *name == self.cookie_name);
        own.any(|(_, value)| same(value, &self.cookie))
    }

    /// The header that gives a browser the session cookie.
    pub fn set_cookie(&self) -> String {
        format!("Set-Cookie: {}={}; Path=/; HttpOnly; SameSite=Strict\r\n", self.cookie_name, self.cookie)
    }

    /// Checks whether an allowed request may kill.
    ///
    /// # Errors
    /// The refusal.
    pub fn check_kill(&self, request: &Request) -> Result<(), Refusal> {
        if request.header("origin").is_none() {
            return Err((403, "sessions can be killed only from the page"));
        }
        match request.header("x-latchwork-token") {
            Some(token) if same(token, &self.token) => Ok(()),
            _ => Err((403, "sessions can be killed only from the page")),
        }
    }

    /// Whether a Host header is accepted: addresses always, names only if they are known, since a foreign name can
    /// resolve to this address.
    fn knows(&self, host: &str) -> bool {
        let name = if let Some(rest) = host.strip_prefix('[') {
            rest.split_once(']').map_or("", |(name, _)| name)
        } else {
            host.split_once(':').map_or(host, |(name, _)| name)
        };
        if name.eq_ignore_ascii_case("localhost") || self.names.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return true;
        }
        name.parse::<IpAddr>().is_ok_and(|address| !self.local || address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(local: bool) -> Door {
        let (key, cookie, token) = ("k".repeat(32), "c".repeat(32), "t".repeat(32));
        Door { key, cookie, cookie_name: "latchwork-top-7075".into(), token, names: vec!["db.example".into()], local }
    }

    fn request(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Request { method: "GET".into(), path: "/events".into(), headers, ..Request::default() }
    }

    fn keyed(headers: &[(&str, &str)]) -> Request {
        Request { fields: vec![("key".into(), "k".repeat(32))], ..request(headers) }
    }

    fn status(door: &Door, request: &Request) -> u16 {
        door.check(request).map_or_else(|refusal| refusal.0, |()| 200)
    }

    #[test]
    fn unknown_host_names_are_refused() {
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7075", "", "[::1", "10.0.0.1"] {
            assert_eq!(status(&door(true), &keyed(&[("host", host)])), 421, "{host}");
        }
        for host in ["localhost", "LOCALHOST:7075", "127.0.0.1:7075", "[::1]:7075", "db.example:80"] {
            assert_eq!(status(&door(true), &keyed(&[("host", host)])), 200, "{host}");
        }
        assert_eq!(status(&door(false), &keyed(&[("host", "10.0.0.1:7075")])), 200);
        assert_eq!(status(&door(false), &keyed(&[("host", "evil.example")])), 421);
        assert_eq!(status(&door(true), &keyed(&[])), 400);
    }

    #[test]
    fn requests_of_other_pages_are_refused() {
        let host = ("host", "localhost:7075");
        for origin in ["http://evil.example", "https://localhost:7075", "http://localhost:7076", "null"] {
            assert_eq!(status(&door(true), &keyed(&[host, ("origin", origin)])), 403, "{origin}");
        }
        assert_eq!(status(&door(true), &keyed(&[host, ("origin", "http://localhost:7075")])), 200);
        assert_eq!(status(&door(true), &keyed(&[host, ("sec-fetch-site", "cross-site")])), 403);
        assert_eq!(status(&door(true), &keyed(&[host, ("sec-fetch-site", "same-origin")])), 200);
    }

    #[test]
    fn every_client_needs_the_key_or_its_cookie() {
        let host = ("host", "localhost:7075");
        assert_eq!(status(&door(true), &request(&[host])), 403);
        let wrong = Request { fields: vec![("key".into(), "k".repeat(31))], ..request(&[host]) };
        assert_eq!(status(&door(true), &wrong), 403);
        assert_eq!(status(&door(true), &keyed(&[host])), 200);
        let set = door(true).set_cookie();
        assert!(set.contains("; HttpOnly") && set.contains("; SameSite=Strict"), "{set}");
        let own = set["Set-Cookie: ".len()..].split(';').next().unwrap();
        for (cookies, code) in [
            (own.to_string(), 200),
            (format!("other=1; {own}; latchwork-top-7076=x"), 200),
            (format!("latchwork-top-7075=x; {own}"), 200),
            (own.replace("7075", "7076"), 403),
            (own[..own.len() - 1].to_string(), 403),
            (format!("latchwork-top-7075={}", "k".repeat(32)), 403),
            (String::new(), 403),
        ] {
            assert_eq!(status(&door(true), &request(&[host, ("cookie", &cookies)])), code, "{cookies}");
        }
    }

    #[test]
    fn a_kill_needs_the_token_and_an_origin() {
        let token = "t".repeat(32);
        let may = |headers: &[(&str, &str)]| door(true).check_kill(&request(headers)).is_ok();
        assert!(may(&[("origin", "http://localhost"), ("x-latchwork-token", &token)]));
        assert!(!may(&[("x-latchwork-token", &token)]));
        assert!(!may(&[("origin", "http://localhost")]));
        assert!(!may(&[("origin", "http://localhost"), ("x-latchwork-token", "guess")]));
    }

    #[test]
    fn secrets_differ() {
        let (a, b) = (secret().unwrap(), secret().unwrap());
        assert!(a != b && a.len() == 32 && same(&a, &a.clone()) && !same(&a, &b));
    }
}
