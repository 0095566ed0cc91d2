//! The page: a small HTTP server with one self-contained page, fed by server-sent events.
//!
//! One thread per connection; the number of connections, the bytes read and the waits for a client are bounded. A
//! client that does not read is dropped, and the next write notices one that is gone. Data is made when it is sent, so
//! a slow viewer gets fewer samples instead of old ones; the points of the chart that it missed come with the next
//! sample.

mod access;
mod http;
mod hub;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::Door;
use http::answer;
pub use http::{Refusal, Request, decode};
use hub::Hub;

use crate::plain;
use crate::poll::{Looker, News, Order};
use crate::record::Recorder;
use crate::sheet::Target;
use crate::sheets::{Look, wanted};

const PAGE: &str = include_str!("page.html");

/// Largest number of connections, and of streams among them.
const CONNECTIONS_MAX: usize = 48;
const STREAMS_MAX: usize = 24;
/// Time that a new connection waits for a dropped one to end.
const ROOM_PATIENCE: Duration = Duration::from_secs(2);
/// Interval of heartbeats on a quiet stream, which also detect that the client is gone.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The address of the page.
#[derive(Clone, Debug)]
pub struct Address {
    pub listen: IpAddr,
    /// 0 selects a free port.
    pub port: u16,
    /// Names of this machine that are accepted for the page.
    pub names: Vec<String>,
}

/// The data of a connection's thread.
struct Server {
    hub: Hub,
    door: Door,
    look: Look,
    connections: AtomicUsize,
    streams: AtomicUsize,
    readers: Readers,
}

/// Connections without a complete request, oldest first. When there is no room the oldest is dropped, so that silent
/// clients cannot keep others out.
#[derive(Default)]
struct Readers(Mutex<(u64, BTreeMap<u64, TcpStream>)>);

impl Readers {
    fn all(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, TcpStream>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an accepted connection; `None` when it cannot be watched.
    fn enter(&self, stream: &TcpStream) -> Option<u64> {
        let stream = stream.try_clone().ok()?;
        let mut all = self.all();
        all.0 += 1;
        let number = all.0;
        all.1.insert(number, stream);
        Some(number)
    }

    /// Drops the oldest; false when there is none.
    fn send_one_away(&self) -> bool {
        let Some((_, oldest)) = self.all().1.pop_first() else { return false };
        // Its thread then reads the end of the stream.
        let _ = oldest.shutdown(Shutdown::Both);
        true
    }

    /// Removes a connection whose request is complete or will not come.
    fn leave(&self, number: u64) {
        self.all().1.remove(&number);
    }
}

/// One unit of a limited resource; returned on drop.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(count: &'a AtomicUsize, most: usize) -> Option<Place<'a>> {
        if count.fetch_add(1, Ordering::Relaxed) < most {
            return Some(Place(count));
        }
        count.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves until a signal ends the program, or the polling thread ends.
///
/// # Errors
/// The address cannot be listened on, or the recording cannot be written.
pub fn run(
    looker: Looker,
    look: Look,
    recorder: &mut Option<Recorder>,
    address: &Address,
) -> Result<Option<i32>, String> {
    let at = SocketAddr::new(address.listen, address.port);
    let listener = TcpListener::bind(at).map_err(|e| format!("{at}: {e}"))?;
    let at = listener.local_addr().map_err(|e| e.to_string())?;
    let local = at.ip().is_loopback();
    let door = Door::new(at.port(), address.names.clone(), local)?;
    if !local {
        eprintln!(
            "Warning: anyone who can reach {at} and has the key can see statements and kill sessions. Nothing is encrypted."
        );
    }
    // A reader of the pipe may close it as soon as it has the address.
    let _ = write!(std::io::stdout(), "http://{at}/?key={}\nCtrl-C ends.\n", door.key)
        .and_then(|()| std::io::stdout().flush());
    let Looker { news, orders, wants } = looker;
    let server = Arc::new(Server {
        hub: Hub::new(wants, orders),
        door,
        look,
        connections: AtomicUsize::new(0),
        streams: AtomicUsize::new(0),
        readers: Readers::default(),
    });
    let accepting = Arc::clone(&server);
    std::thread::spawn(move || accept(&listener, &accepting));
    let signals = [os::signal::SIGTERM, os::signal::SIGHUP, os::signal::SIGINT];
    for signal in signals {
        os::signal::flag_on(signal);
    }
    loop {
        if let Some(signal) = signals.into_iter().find(|signal| os::signal::take_flag(*signal) > 0) {
            server.hub.close();
            return Ok(Some(signal));
        }
        match news.recv_timeout(Duration::from_millis(100)) {
            Ok(news) => {
                if let (Some(recorder), News::Sample(snapshot)) = (recorder.as_mut(), &news) {
                    recorder.write(snapshot)?;
                }
                server.hub.news(news);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

fn accept(listener: &TcpListener, server: &Arc<Server>) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // Descriptors may be used up: try again later.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let is_full = || server.connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX;
        if is_full() && server.readers.send_one_away() {
            let until = Instant::now() + ROOM_PATIENCE;
            while is_full() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let Some(number) = server.readers.enter(&stream) else { continue };
        if Place::take(&server.connections, CONNECTIONS_MAX).map(std::mem::forget).is_none() {
            server.readers.leave(number);
            drop(refuse(&mut stream, (503, "too many connections")));
            continue;
        }
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let own = Arc::clone(server);
        let spawned = thread.spawn(move || {
            let _place = Place(&own.connections);
            own.serve(&mut stream, number);
        });
        // Without a thread the connection is dropped.
        if spawned.is_err() {
            server.readers.leave(number);
            server.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn refuse(stream: &mut TcpStream, (status, why): Refusal) -> std::io::Result<()> {
    if status == 0 { Ok(()) } else { answer(stream, status, "text/plain; charset=utf-8", "", &format!("{why}\n")) }
}

impl Server {
    /// Answers one request. Errors of a client that is gone are ignored.
    fn serve(&self, stream: &mut TcpStream, number: u64) {
        let read = http::read(stream);
        self.readers.leave(number);
        let done = match read.and_then(|request| self.let_in(request)) {
            Ok(request) => self.reply(stream, &request),
            Err(refusal) => refuse(stream, refusal),
        };
        drop(done);
    }

    fn let_in(&self, request: Request) -> Result<Request, Refusal> {
        self.door.check(&request)?;
        Ok(request)
    }

    fn reply(&self, stream: &mut TcpStream, request: &Request) -> std::io::Result<()> {
        const JSON: &str = "application/json";
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => self.page(stream, request),
            ("GET", "/events") => self.events(stream, request),
            ("GET", "/sheet") => match request.field("target").unwrap_or_default().parse::<Target>() {
                Ok(target) => {
                    if let Some(wanted) = wanted(&target) {
                        self.hub.wants.want(&wanted);
                    }
                    let sheet = self.hub.now().sheet(&target, self.look_of(request));
                    answer(stream, 200, JSON, "", &sheet.to_string())
                }
                Err(_) => refuse(stream, (404, "unknown target")),
            },
            ("GET", "/sample.json") => {
                let sample = plain::json(&self.hub.now().model, self.look_of(request), None);
                answer(stream, 200, JSON, "", &sample.to_string())
            }
            ("POST", "/kill") => match self.kill(request) {
                Ok(()) => answer(stream, 202, "text/plain; charset=utf-8", "", "ordered\n"),
                Err(refusal) => refuse(stream, refusal),
            },
            (_, "/" | "/events" | "/sheet" | "/sample.json" | "/kill") => {
                refuse(stream, (405, "this method is not supported here"))
            }
            _ => refuse(stream, (404, "page not found")),
        }
    }

    /// The view of a viewer: the program's options, unless the request overrides them.
    fn look_of(&self, request: &Request) -> Look {
        let window = request.field("window").and_then(|w| w.parse::<f64>().ok()).filter(|w| (0.2..=600.0).contains(w));
        let background = match request.field("background") {
            Some("1") => true,
            Some("0") => false,
            _ => self.look.background,
        };
        Look { window_s: window.unwrap_or(self.look.window_s), background }
    }

    /// Sends the page with a first sample, so that it shows data before the first event.
    fn page(&self, stream: &mut TcpStream, request: &Request) -> std::io::Result<()> {
        let Ok(nonce) = access::secret() else { return refuse(stream, (503, "no random numbers")) };
        let look = self.look_of(request);
        // The data must not contain the end of its element.
        let first = self.hub.now().json(look, 0, u64::MAX).to_string().replace('<', "\\u003c");
        let page = PAGE
            .replace("@NONCE@", &nonce)
            .replace("@TOKEN@", &self.door.token)
            .replace("@WINDOW@", &look.window_s.to_string())
            .replace("@BACKGROUND@", if look.background { "1" } else { "0" });
        // Filled in last, so that the data is not searched for placeholders.
        let page = page.replacen("@FIRST@", &first, 1);
        let policy = format!(
            "Content-Security-Policy: default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
             img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n{}",
            self.door.set_cookie()
        );
        answer(stream, 200, "text/html; charset=utf-8", &policy, &page)
    }

    /// Sends a stream of events until the viewer is gone.
    fn events(&self, stream: &mut TcpStream, request: &Request) -> std::io::Result<()> {
        let Some(_place) = Place::take(&self.streams, STREAMS_MAX) else {
            return refuse(stream, (503, "too many viewers"));
        };
        let look = self.look_of(request);
        let mut since = request.field("since").and_then(|s| s.parse().ok()).unwrap_or(0);
        let mut turn = self.hub.now().turn.saturating_sub(1);
        http::begin_events(stream)?;
        while !self.hub.is_closed() {
            let Some(moment) = self.hub.wait(turn, HEARTBEAT) else {
                stream.write_all(b": still here\n\n")?;
                continue;
            };
            let data = moment.json(look, since, turn);
            // JSON has no line breaks.
            stream.write_all(format!("data: {data}\n\n").as_bytes())?;
            (since, turn) = (moment.last_point().max(since), moment.turn);
        }
        Ok(())
    }

    fn kill(&self, request: &Request) -> Result<(), Refusal> {
        self.door.check_kill(request)?;
        let number = |name: &str| request.field(name).and_then(|n| n.parse::<u64>().ok());
        let (Some(sid), Some(serial)) = (number("sid"), number("serial")) else {
            return Err((400, "which session?"));
        };
        if self.hub.order(Order::Kill(sid, serial)) { Ok(()) } else { Err((503, "the instance is not running")) }
    }
}

#[cfg(test)]
mod tests;
