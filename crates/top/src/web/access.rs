//! Who may look, and who may kill.
//!
//! The page shows what the owner of the instance may see, so it is for the owner alone. Three doors:
//! * **Host**: a name that is not ours is refused, so that a page elsewhere cannot have its name answered with our address.
//! * **Origin**: what comes from another page is refused.
//! * **User**: over the loopback, the system says whose the other end is; it must be the owner or root. Everybody else, and everyone
//!   from another machine, needs the key in the address that was printed at the start.
//!
//! To kill takes the token in the page, too, which no other page can read.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use super::http::{Refusal, Request};

/// A secret of 128 bits, in hexadecimal digits.
///
/// # Errors
/// The system has no random numbers.
pub fn secret() -> Result<String, String> {
    let bytes: [u8; 16] = os::random::bytes().map_err(|e| e.to_string())?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// What requests are checked against.
#[derive(Clone, Debug)]
pub struct Door {
    pub key: String,
    pub token: String,
    /// Names besides `localhost` under which the page may be asked for.
    pub names: Vec<String>,
    /// Only the loopback is listened on.
    pub local: bool,
}

/// Compares secrets without telling by time how much of them is right.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

impl Door {
    /// Lets a request in, or not. `peer` and `own` are the two ends of its connection.
    ///
    /// # Errors
    /// The refusal.
    pub fn check(&self, request: &Request, peer: SocketAddr, own: SocketAddr) -> Result<(), Refusal> {
        let host = request.header("host").ok_or((400, "the request names no host"))?;
        if !self.knows(host) {
            return Err((421, "this host name is not answered here"));
        }
        if let Some(origin) = request.header("origin")
            && origin != format!("http://{host}")
        {
            return Err((403, "another page may not ask"));
        }
        let site = request.header("sec-fetch-site").unwrap_or("none");
        if !(site == "none" || site == "same-origin") && request.path != "/" {
            return Err((403, "another page may not ask"));
        }
        if request.field("key").is_some_and(|key| same(key, &self.key)) || is_owner(peer, own) {
            return Ok(());
        }
        Err((403, "this page is its owner's; others need the key in the address that was printed at the start"))
    }

    /// Whether a request that came in may kill.
    ///
    /// # Errors
    /// The refusal.
    pub fn check_kill(&self, request: &Request) -> Result<(), Refusal> {
        if request.header("origin").is_none() {
            return Err((403, "only the page kills"));
        }
        match request.header("x-latchwork-token") {
            Some(token) if same(token, &self.token) => Ok(()),
            _ => Err((403, "only the page kills")),
        }
    }

    /// Whether a Host header is ours: an address stands for itself, a name can be made to mean anything.
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

/// Whether the other end of a loopback connection belongs to who runs this program, or to root.
fn is_owner(peer: SocketAddr, own: SocketAddr) -> bool {
    if !peer.ip().to_canonical().is_loopback() {
        return false;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let user = tables.iter().find_map(|table| user_of(table, peer, own));
    user.is_some_and(|user| user == 0 || user == os::process::user_id())
}

/// The user whose socket has this address, by the system's table of connections.
fn user_of(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let ends = [(spelt(local, false), spelt(remote, false)), (spelt(local, true), spelt(remote, true))];
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (here, there) = (words.next()?, words.next()?);
        // State, queues, timer and retransmissions stand before the user.
        let user = words.nth(4)?;
        ends.iter().any(|(l, r)| l == here && r == there).then(|| user.parse().ok())?
    })
}

/// An address as the table spells it: words of four bytes in the machine's order. `wide` spells one of four bytes as one of sixteen.
fn spelt(address: SocketAddr, wide: bool) -> String {
    let bytes: Vec<u8> = match (address.ip().to_canonical(), wide) {
        (IpAddr::V4(ip), false) => ip.octets().to_vec(),
        (IpAddr::V4(ip), true) => ip.to_ipv6_mapped().octets().to_vec(),
        (IpAddr::V6(ip), _) => ip.octets().to_vec(),
    };
    let mut text = String::new();
    for word in bytes.chunks(4) {
        let word = u32::from_ne_bytes(word.try_into().unwrap_or_default());
        // Writing to a string cannot fail.
        let _ = write!(text, "{word:08X}");
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(local: bool) -> Door {
        Door { key: "k".repeat(32), token: "t".repeat(32), names: vec!["db.example".into()], local }
    }

    fn request(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Request { method: "GET".into(), path: "/events".into(), headers, ..Request::default() }
    }

    fn keyed(headers: &[(&str, &str)]) -> Request {
        Request { fields: vec![("key".into(), "k".repeat(32))], ..request(headers) }
    }

    /// An address nobody of ours has a connection from.
    fn far() -> (SocketAddr, SocketAddr) {
        ("192.0.2.7:5000".parse().unwrap(), "192.0.2.1:7075".parse().unwrap())
    }

    fn status(door: &Door, request: &Request) -> u16 {
        let (peer, own) = far();
        door.check(request, peer, own).map_or_else(|refusal| refusal.0, |()| 200)
    }

    #[test]
    fn a_host_name_that_can_be_made_to_mean_anything_is_refused() {
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
    fn another_page_may_not_ask() {
        let host = ("host", "localhost:7075");
        for origin in ["http://evil.example", "https://localhost:7075", "http://localhost:7076", "null"] {
            assert_eq!(status(&door(true), &keyed(&[host, ("origin", origin)])), 403, "{origin}");
        }
        assert_eq!(status(&door(true), &keyed(&[host, ("origin", "http://localhost:7075")])), 200);
        assert_eq!(status(&door(true), &keyed(&[host, ("sec-fetch-site", "cross-site")])), 403);
        assert_eq!(status(&door(true), &keyed(&[host, ("sec-fetch-site", "same-origin")])), 200);
    }

    #[test]
    fn who_is_not_the_owner_needs_the_key() {
        assert_eq!(status(&door(false), &request(&[("host", "192.0.2.1:7075")])), 403);
        let wrong = Request { fields: vec![("key".into(), "k".repeat(31))], ..request(&[("host", "localhost")]) };
        assert_eq!(status(&door(false), &wrong), 403);
        assert_eq!(status(&door(false), &keyed(&[("host", "192.0.2.1:7075")])), 200);
    }

    #[test]
    fn to_kill_takes_the_token_and_an_origin() {
        let token = "t".repeat(32);
        let may = |headers: &[(&str, &str)]| door(true).check_kill(&request(headers)).is_ok();
        assert!(may(&[("origin", "http://localhost"), ("x-latchwork-token", &token)]));
        assert!(!may(&[("x-latchwork-token", &token)]));
        assert!(!may(&[("origin", "http://localhost")]));
        assert!(!may(&[("origin", "http://localhost"), ("x-latchwork-token", "guess")]));
    }

    #[test]
    fn the_other_end_of_a_connection_has_a_user() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_server, peer) = listener.accept().unwrap();
        assert!(is_owner(peer, client.peer_addr().unwrap()));
        let nobody = SocketAddr::new(peer.ip(), peer.port() ^ 1);
        assert!(!is_owner(nobody, listener.local_addr().unwrap()));
    }

    #[test]
    fn the_table_of_connections_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:C350 0100007F:1BA3 01 00000000:00000000 00:00000000 00000000  1000        0 1 1\n";
        let ends = ("127.0.0.1:50000".parse().unwrap(), "127.0.0.1:7075".parse().unwrap());
        assert_eq!(user_of(table, ends.0, ends.1), Some(1000));
        assert_eq!(user_of(table, ends.1, ends.0), None);
        assert_eq!(user_of("", ends.0, ends.1), None);
        assert_eq!(user_of("head\nshort line\n", ends.0, ends.1), None);
    }

    #[test]
    fn secrets_differ() {
        let (a, b) = (secret().unwrap(), secret().unwrap());
        assert!(a != b && a.len() == 32 && same(&a, &a.clone()) && !same(&a, &b));
    }
}
