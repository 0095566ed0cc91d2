//! The server with a recording in place of an instance: answers, refusals, and clients that misbehave.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::*;
use crate::poll::Wants;
use crate::sample::Wanted;

struct Served {
    server: Arc<Server>,
    orders: Receiver<Order>,
    at: SocketAddr,
}

fn served() -> Served {
    let (orders, taken) = std::sync::mpsc::channel();
    let server = Arc::new(Server {
        hub: Hub::new(Wants::default(), orders),
        door: Door { token: "t".repeat(32), ..Door::new(0, Vec::new(), true).unwrap() },
        look: Look { window_s: 15.0, background: false },
        connections: AtomicUsize::new(0),
        streams: AtomicUsize::new(0),
        readers: Readers::default(),
    });
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/contention.jsonl");
    for snapshot in crate::record::read(&recording).unwrap() {
        server.hub.news(News::Sample(Box::new(snapshot)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let accepting = Arc::clone(&server);
    std::thread::spawn(move || accept(&listener, &accepting));
    Served { server, orders: taken, at }
}

impl Served {
    fn open(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The cookie header of a browser that has had the key.
    fn cookie(&self) -> String {
        format!("Cookie: {}={}\r\n", self.server.door.cookie_name, self.server.door.cookie)
    }

    /// Status and the whole answer.
    fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let mut host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.at) };
        if !headers.contains("Cookie:") {
            host += &self.cookie();
        }
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let mut stream = self.open(&format!("{line} HTTP/1.1\r\n{host}{headers}{length}\r\n{body}"));
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text[9..12].parse().unwrap(), text)
    }

    fn json(&self, line: &str) -> Json {
        let (status, text) = self.ask(line, "", "");
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

/// Reads up to the next line of data.
fn event(stream: &mut TcpStream) -> Json {
    let mut seen = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).expect("an event comes");
        seen.push(byte[0]);
        if seen.ends_with(b"\n\n") {
            let text = String::from_utf8(std::mem::take(&mut seen)).unwrap();
            if let Some(at) = text.find("data: ") {
                return serde_json::from_str(text[at + 6..].trim_end()).unwrap();
            }
        }
    }
}

#[test]
fn the_page_carries_everything_it_needs() {
    let (status, page) = served().ask("GET /", "", "");
    assert_eq!(status, 200);
    assert!(page.contains("latch: row cache objects"), "the hot event is in the page itself");
    let policy = page.lines().find(|line| line.starts_with("Content-Security-Policy: ")).unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert_eq!(page.matches(&format!("nonce=\"{nonce}\"")).count(), 3, "two scripts and the style");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    for place in ["@NONCE@", "@TOKEN@", "@FIRST@", "@WINDOW@", "@BACKGROUND@", "src=\"http", "href=\"http"] {
        assert!(!page.contains(place), "{place}");
    }
    let data = page.split("id=\"first\"").nth(1).unwrap().split_once('>').unwrap().1.split("</script>").next().unwrap();
    assert!(!data.contains('<'), "nothing in the data can end its element");
    let first: Json = serde_json::from_str(data).unwrap();
    assert_eq!(first["tables"].as_array().unwrap().len(), crate::sheet::Pane::ALL.len());
}

#[test]
fn the_page_needs_the_key_and_returns_a_cookie() {
    let served = served();
    let none = "Cookie: other=1\r\n";
    for line in ["GET /", "GET /sample.json", "GET /events", "GET /sheet?target=latch%3Aredo+copy", "POST /kill"] {
        let (status, text) = served.ask(line, none, "");
        assert!(status == 403 && !text.contains("latch:"), "{line}: {text}");
    }
    let (status, page) = served.ask(&format!("GET /?key={}", served.server.door.key), none, "");
    assert_eq!(status, 200);
    let set = page.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).expect("a cookie");
    assert!(set.contains("; HttpOnly") && set.contains("; SameSite=Strict"), "{set}");
    assert!(!page.contains(&served.server.door.key), "the page does not carry the key");
    let own = format!("Cookie: {}\r\n", set.split(';').next().unwrap());
    assert_eq!(served.ask("GET /sample.json", &own, "").0, 200);
    assert_eq!(served.ask("GET /", &own, "").0, 200, "and when the page is loaded again");
}

#[test]
fn samples_and_sheets_are_json() {
    let served = served();
    let sample = served.json("GET /sample.json");
    assert_eq!(sample["format"], "latchwork-top/1");
    assert_eq!(sample["events"][0]["event"], "CPU");
    assert!(sample["average_active_sessions"]["total"].as_f64().unwrap() > 1.0);
    let sheet = served.json("GET /sheet?target=latch%3Arow+cache+objects");
    assert_eq!(sheet["title"], "row cache objects");
    assert!(sheet["tables"][0]["lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{sheet}");
    assert_eq!(served.server.hub.wants.list(), [Wanted::Latch("row cache objects".into())]);
    assert_eq!(served.ask("GET /sheet?target=what", "", "").0, 404);
    assert_eq!(served.ask("GET /nothing", "", "").0, 404);
    assert_eq!(served.ask("DELETE /", "", "").0, 405);
}

#[test]
fn events_come_with_each_sample_and_once_only() {
    let served = served();
    let host = format!("Host: {}\r\n{}", served.at, served.cookie());
    let mut stream = served.open(&format!("GET /events?window=5 HTTP/1.1\r\n{host}\r\n"));
    let first = event(&mut stream);
    assert!(first["points"].as_array().unwrap().len() > 1);
    served.server.hub.news(News::Lost("No instance runs in /data/db.".into()));
    let second = event(&mut stream);
    assert_eq!(second["lost"], "No instance runs in /data/db.");
    assert!(second["points"].as_array().unwrap().len() <= 1, "{}", second["points"]);
    served.server.hub.close();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
}

#[test]
fn foreign_requests_are_refused() {
    let served = served();
    for (headers, status) in [
        ("Host: evil.example\r\n", 421),
        ("Host: evil.example:80\r\nOrigin: http://evil.example:80\r\n", 421),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
        ("Host: localhost\r\n", 200),
    ] {
        assert_eq!(served.ask("GET /sample.json", headers, "").0, status, "{headers}");
    }
    assert_eq!(served.ask("GET /sample.json", "Host: localhost\r\nHost: evil.example\r\n", "").0, 400);
}

#[test]
fn a_kill_takes_origin_and_token() {
    let served = served();
    let token = "t".repeat(32);
    let good = format!("Host: localhost\r\nOrigin: http://localhost\r\nX-Latchwork-Token: {token}\r\n");
    for (line, headers, body, status) in [
        ("POST /kill", "Host: localhost\r\nOrigin: http://localhost\r\n".to_string(), "sid=4&serial=2", 403),
        ("POST /kill", format!("Host: localhost\r\nX-Latchwork-Token: {token}\r\n"), "sid=4&serial=2", 403),
        ("POST /kill", good.clone(), "sid=4", 400),
        ("POST /kill", good.clone(), "sid=4&serial=2' immediate", 400),
        ("GET /kill?sid=4&serial=2", good.clone(), "", 405),
    ] {
        let (seen, text) = served.ask(line, &headers, body);
        assert_eq!(seen, status, "{line} {headers} {body}: {text}");
    }
    assert!(served.orders.try_recv().is_err(), "nobody was killed");
    assert_eq!(served.ask("POST /kill", &good, "sid=4&serial=2").0, 202);
    assert_eq!(served.orders.try_recv(), Ok(Order::Kill(4, 2)));
}

#[test]
fn crowds_and_clients_that_do_not_read_block_no_other_client() {
    let served = served();
    let host = format!("Host: {}\r\n{}", served.at, served.cookie());
    // None of these clients reads.
    let streams: Vec<TcpStream> =
        (0..STREAMS_MAX).map(|_| served.open(&format!("GET /events HTTP/1.1\r\n{host}\r\n"))).collect();
    let until = Instant::now() + Duration::from_secs(60);
    while served.server.streams.load(Ordering::Relaxed) < STREAMS_MAX && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(served.server.streams.load(Ordering::Relaxed), STREAMS_MAX, "so many may come at once");
    assert_eq!(served.ask("GET /events", "", "").0, 503, "one viewer too many");
    assert_eq!(served.ask("GET /sample.json", "", "").0, 200, "the others are served");
    // These clients never finish their request, or send nothing: the oldest are dropped, and new clients are answered.
    let mut idle: Vec<TcpStream> = Vec::new();
    for n in 0..4 * CONNECTIONS_MAX {
        idle.push(served.open(if n % 2 == 0 { "GET / HTTP/1.1\r\n" } else { "" }));
        if n % CONNECTIONS_MAX == CONNECTIONS_MAX - 1 {
            assert_eq!(served.ask("GET /sample.json", "", "").0, 200, "idle connections keep nobody out");
        }
    }
    assert!(served.server.connections.load(Ordering::Relaxed) <= CONNECTIONS_MAX, "there is an end to connections");
    let mut first = idle.swap_remove(0);
    assert_eq!(first.read(&mut [0; 64]).unwrap_or(0), 0, "the oldest is let go");
    drop((idle, streams));
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        // The next write notices viewers that are gone.
        served.server.hub.news(News::Lost("again".into()));
        let left = served.server.connections.load(Ordering::Relaxed);
        if left == 0 {
            break;
        }
        assert!(Instant::now() < until, "{left} connections are left");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(served.ask("GET /sample.json", "", "").0, 200);
}
