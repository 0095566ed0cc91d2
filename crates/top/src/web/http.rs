//! The part of HTTP/1.1 that a local page needs: one small request per connection, read within a few seconds.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of request line and headers, and of a body.
const HEAD_MAX: usize = 8192;
const BODY_MAX: usize = 1024;
/// Time limit for a whole request to arrive, and for one write.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Decoded pairs of the query and, for a form, of the body.
    pub fields: Vec<(String, String)>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header that may occur once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(n, _)| n == name);
        let first = all.next().map(|(_, value)| value.as_str());
        // A repeated header counts as missing.
        if all.next().is_some() { None } else { first }
    }

    /// A field of the query or the form.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Status and reason of a refusal.
pub type Refusal = (u16, &'static str);

/// Reads a request.
///
/// # Errors
/// A refusal; status 0 when the client is gone.
pub fn read(stream: &mut TcpStream) -> Result<Request, Refusal> {
    let deadline = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    loop {
        if let Some(request) = decode(&bytes)? {
            return Ok(request);
        }
        more(stream, &mut bytes, deadline)?;
    }
}

/// The request at the beginning of `bytes`; `None` while it is incomplete.
///
/// # Errors
/// A refusal, as soon as the bytes cannot become a valid request.
pub fn decode(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let Some(head) = find(bytes, b"\r\n\r\n") else {
        return if bytes.len() >= HEAD_MAX { Err((431, "the request is too long")) } else { Ok(None) };
    };
    let text = std::str::from_utf8(&bytes[..head]).map_err(|_| (400, "the request is not text"))?;
    let mut request = parse(text)?;
    let mut encodings = request.headers.iter().filter(|(name, _)| name == "transfer-encoding");
    if encodings.next().is_some() {
        return Err((501, "chunked bodies are not supported"));
    }
    let mut lengths = request.headers.iter().filter(|(name, _)| name == "content-length");
    let length = match (lengths.next(), lengths.next()) {
        (None, _) => 0,
        (Some((_, digits)), None) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse::<usize>().map_err(|_| (400, "Content-Length is not a number"))?
        }
        _ => return Err((400, "Content-Length must be one number")),
    };
    if length > BODY_MAX {
        return Err((413, "the body is too long"));
    }
    let Some(body) = bytes.get(head + 4..head + 4 + length) else { return Ok(None) };
    if let Ok(body) = std::str::from_utf8(body) {
        request.fields.extend(fields(body));
    }
    Ok(Some(request))
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>, deadline: Instant) -> Result<(), Refusal> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err((408, "the request did not arrive in time"));
    }
    stream.set_read_timeout(Some(left)).map_err(|_| (0, ""))?;
    let mut part = [0; 2048];
    match stream.read(&mut part) {
        Ok(0) => Err((0, "")),
        Ok(n) => {
            bytes.extend_from_slice(&part[..n]);
            Ok(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(()),
        Err(_) => Err((408, "the request did not arrive in time")),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

/// Parses request line and headers.
fn parse(text: &str) -> Result<Request, Refusal> {
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) = (first.next(), first.next(), first.next(), first.next())
    else {
        return Err((400, "no request line"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err((505, "only HTTP/1.1 is supported"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or((400, "a header line has no colon"))?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err((400, "a header line has no name"));
        }
        headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
    }
    Ok(Request { method: method.into(), path: path.into(), fields: fields(query), headers })
}

/// Decodes `a=b&c=d`; malformed pairs are skipped.
fn fields(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(name, value)| Some((decoded(name)?, decoded(value)?))).collect()
}

/// Decodes `%41` and `+`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        bytes.push(match b {
            b'+' => b' ',
            b'%' => {
                let digit = |b: Option<u8>| (b? as char).to_digit(16);
                (digit(rest.next())? * 16 + digit(rest.next())?) as u8
            }
            b => b,
        });
    }
    String::from_utf8(bytes).ok()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

/// Headers of every answer: no caching, no type guessing, no referrer.
const ALWAYS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
                      X-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n";

/// Sends a whole answer. `more` are further headers, each with its line end.
///
/// # Errors
/// The client is gone or does not read.
pub fn answer(stream: &mut TcpStream, status: u16, kind: &str, more: &str, body: &str) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n{ALWAYS}{more}\r\n",
        reason(status),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Begins a stream of events.
///
/// # Errors
/// The client is gone.
pub fn begin_events(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n{ALWAYS}\r\nretry: 1000\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The result for the bytes of a client that then closes its side.
    fn sent(bytes: &[u8]) -> Result<Request, Refusal> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(bytes).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        read(&mut listener.accept().unwrap().0)
    }

    #[test]
    fn a_request_is_parsed() {
        let r = sent(b"GET /sheet?target=event%3Alatch+free&x=1&y HTTP/1.1\r\nHost: localhost:80\r\nX-A:  b \r\n\r\n")
            .unwrap();
        assert_eq!((r.method.as_str(), r.path.as_str()), ("GET", "/sheet"));
        assert_eq!(r.field("target"), Some("event:latch free"));
        assert_eq!((r.field("y"), r.header("x-a"), r.header("host")), (None, Some("b"), Some("localhost:80")));
        let r = sent(b"POST /kill HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n\r\nsid=4&serial=9").unwrap();
        assert_eq!((r.field("sid"), r.field("serial")), (Some("4"), Some("9")));
        let twice = sent(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").unwrap();
        assert_eq!(twice.header("host"), None);
    }

    #[test]
    fn invalid_requests_are_refused() {
        let status = |bytes: &[u8]| sent(bytes).map(|_| ()).unwrap_err().0;
        assert_eq!(status(b"GET / HTTP/1.1\r\nHost: a\r\n"), 0, "gone in the middle");
        assert_eq!(status(b"GET /\r\n\r\n"), 400);
        assert_eq!(status(b"GET / HTTP/2\r\n\r\n"), 505);
        assert_eq!(status(b"GET / HTTP/1.1\r\nno header\r\n\r\n"), 400);
        assert_eq!(status(b"GET / HTTP/1.1\r\n folded: x\r\n\r\n"), 400);
        assert_eq!(status(b"\xff\xfe / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(&[b'a'; HEAD_MAX + 4000]), 431);
        assert_eq!(status(b"POST /kill HTTP/1.1\r\nContent-Length: 99999\r\n\r\n"), 413);
        assert_eq!(status(b"POST /kill HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
        assert_eq!(status(b"POST /kill HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 501);
        let twice = b"POST /kill HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n";
        assert_eq!(status(twice), 501);
        assert_eq!(status(b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 0\r\n\r\na=b"), 400);
        assert_eq!(status(b"POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\na=b"), 400);
        assert_eq!(status(b"POST /kill HTTP/1.1\r\nContent-Length: 10\r\n\r\nsid"), 0);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(decoded("a%20b+c%C3%A9"), Some("a b cé".into()));
        assert_eq!(decoded("%4"), None);
        assert_eq!(decoded("%zz"), None);
        assert_eq!(decoded("%ff"), None, "no text");
    }
}
