//! The thread that watches for a client that breaks a call (invariant 8).
//!
//! A client breaks its call by a packet on the same connection, which the server process does not read while it
//! computes. So a separate thread looks at the connection, but only after a call has lasted a while: a timer fires a
//! few times a second while there are calls, however many, and a session that waits for its client costs nothing. The
//! thread reads nothing from the connection; it asks the session to stop, as any process could. It survives the session
//! and serves the next one of its process.

use super::tls::Breaks;
use instance::Instance;
use net::oracle::tns::{kind, marker};
use os::socket::Poll;
use os::timer::Timer;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Duration of a call before its connection is checked: once to twice that.
const PATIENCE: Duration = Duration::from_millis(50);

/// Interval of the checks whether the call has ended.
const STEP: Duration = Duration::from_millis(100);

/// Bytes of a marker.
const MARKER_LEN: usize = 11;

/// Largest number of bytes of calls before a break.
const BEFORE_MAX: usize = 8 << 20;

/// TLS records: their header, and the type that carries packets.
const RECORD_HEADER: u16 = 5;
const APPLICATION_DATA: u8 = 23;

const STACK_BYTES: usize = 64 << 10;

/// The watched session.
#[derive(Clone, Copy)]
pub struct Watched {
    pub sid: u32,
    pub serial: u32,
    /// The key that breaks its calls.
    pub key: u64,
}

/// The state shared by both threads.
#[derive(Default)]
struct Calls {
    /// Grows with each call.
    number: u64,
    is_running: bool,
    /// Further calls may follow it in the socket, and a break after them.
    in_pipeline: bool,
    /// The client broke it.
    is_broken: bool,
    /// The call for which the timer was set; `None` while it is not set.
    timed: Option<u64>,
    /// The session, while there is one.
    line: Option<Arc<Watching>>,
}

/// A connection and its session.
struct Watching {
    stream: TcpStream,
    breaks: Breaks,
    watched: Watched,
}

impl Calls {
    /// Sets the timer for the present call.
    fn set(&mut self, timer: &Timer) {
        self.timed = Some(self.number);
        timer.set(PATIENCE);
    }
}

struct Shared {
    calls: Mutex<Calls>,
    timer: Timer,
}

impl Shared {
    fn calls(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The watch over a session's calls.
pub struct Watch {
    shared: Arc<Shared>,
}

impl Watch {
    /// Makes the thread, which ends with the process.
    ///
    /// # Errors
    /// No thread or descriptor available.
    pub fn new(instance: &'static Instance) -> Result<Watch, String> {
        let timer = Timer::new().map_err(|e| e.to_string())?;
        let shared = Arc::new(Shared { calls: Mutex::default(), timer });
        let own = shared.clone();
        let body = move || loop {
            own.timer.wait();
            watch_call(&own, instance);
            let mut calls = own.calls();
            calls.timed = None;
            if calls.is_running && !calls.is_broken {
                calls.set(&own.timer);
            }
        };
        let thread = std::thread::Builder::new().name("lw_watch".into()).stack_size(STACK_BYTES);
        thread.spawn(body).map_err(|e| e.to_string())?;
        Ok(Watch { shared })
    }

    /// Begins a session.
    pub fn begin_session(&self, (stream, breaks): (TcpStream, Breaks), watched: Watched) {
        self.shared.calls().line = Some(Arc::new(Watching { stream, breaks, watched }));
    }

    /// Ends the session. The connection may stay open for a moment, if its last call was long.
    pub fn end_session(&self) {
        let mut calls = self.shared.calls();
        calls.is_running = false;
        calls.line = None;
        calls.timed = None;
        self.shared.timer.set(Duration::ZERO);
    }

    /// Begins a call.
    pub fn begin(&self, in_pipeline: bool) {
        let mut calls = self.shared.calls();
        calls.number += 1;
        calls.is_running = true;
        calls.in_pipeline = in_pipeline;
        calls.is_broken = false;
        // The timer of an earlier call also finds a later one.
        if calls.timed.is_none() {
            calls.set(&self.shared.timer);
        }
    }

    /// Ends the call; returns whether the client broke it.
    pub fn end(&self) -> bool {
        let mut calls = self.shared.calls();
        calls.is_running = false;
        calls.is_broken
    }
}

/// Watches the present call until it has ended or was broken.
fn watch_call(shared: &Shared, instance: &'static Instance) {
    let (number, line, in_pipeline) = {
        let calls = shared.calls();
        match &calls.line {
            Some(line) if calls.is_running && calls.timed == Some(calls.number) => {
                (calls.number, Arc::clone(line), calls.in_pipeline)
            }
            _ => return,
        }
    };
    let Watching { stream, breaks, watched } = &*line;
    loop {
        let mut set = [Poll::read(stream)];
        if os::socket::poll(&mut set, Some(STEP)).is_err() {
            return;
        }
        let came = set[0].readable && (is_break(stream, *breaks) || in_pipeline && ends_with_break(stream, *breaks));
        let mut calls = shared.calls();
        if !calls.is_running || calls.number != number {
            return;
        }
        if came {
            // Under the lock, so that the call cannot end and another begin meanwhile.
            calls.is_broken = true;
            instance.cancel(watched.sid, watched.serial, watched.key);
            return;
        }
        drop(calls);
        if set[0].ready() {
            // Other data arrived, or the client is gone, which the supervisor notices.
            os::clock::sleep(STEP);
        }
    }
}

/// Whether the next data on the connection is a break marker. With TLS the length decides.
fn is_break(stream: &TcpStream, breaks: Breaks) -> bool {
    let mut packet = [0; MARKER_LEN];
    matches!(stream.peek(&mut packet), Ok(MARKER_LEN)) && looks_like_break(&packet, breaks)
}

/// Whether the last data is a break. Pipelined calls that arrived during this one precede it, the first of them perhaps
/// without its beginning.
fn ends_with_break(stream: &TcpStream, breaks: Breaks) -> bool {
    let len = match breaks {
        Breaks::Plain => MARKER_LEN,
        Breaks::Record(len) => usize::from(len),
    };
    let mut bytes = vec![0; 4 << 10];
    loop {
        let Ok(there) = stream.peek(&mut bytes) else { return false };
        if there < bytes.len() {
            let last = there.checked_sub(len).map(|at| &bytes[at..there]);
            return last.is_some_and(|packet| looks_like_break(packet, breaks));
        }
        if there >= BEFORE_MAX {
            return false;
        }
        bytes.resize(there * 4, 0);
    }
}

/// Whether these bytes, at least [`MARKER_LEN`], begin a break marker.
fn looks_like_break(packet: &[u8], breaks: Breaks) -> bool {
    match breaks {
        Breaks::Plain => {
            let is_marker = packet[..4] == (MARKER_LEN as u32).to_be_bytes() && packet[4] == kind::MARKER;
            is_marker && matches!(packet[10], marker::BREAK | marker::INTERRUPT)
        }
        Breaks::Record(len) => {
            packet[0] == APPLICATION_DATA && u16::from_be_bytes([packet[3], packet[4]]) == len - RECORD_HEADER
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const BREAK: [u8; MARKER_LEN] = [0, 0, 0, 11, kind::MARKER, 0, 0, 0, 1, 0, marker::INTERRUPT];

    fn pair() -> (TcpStream, TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Waits until `len` bytes have arrived.
    fn until(stream: &TcpStream, len: usize) {
        let mut bytes = vec![0; len + 1];
        for _ in 0..10_000 {
            if stream.peek(&mut bytes).unwrap() >= len {
                return;
            }
            os::clock::sleep(Duration::from_millis(1));
        }
        panic!("{len} bytes have not come");
    }

    #[test]
    fn a_break_is_found_behind_calls_of_a_pipeline() {
        for before in [0, 5, 4000, (4 << 10) - MARKER_LEN, 20_000] {
            let (mut client, server) = pair();
            client.write_all(&vec![6; before]).unwrap();
            if before > 0 {
                until(&server, before);
                assert!(!is_break(&server, Breaks::Plain) && !ends_with_break(&server, Breaks::Plain), "{before}");
            }
            client.write_all(&BREAK).unwrap();
            until(&server, before + MARKER_LEN);
            assert!(ends_with_break(&server, Breaks::Plain), "{before}");
            assert_eq!(is_break(&server, Breaks::Plain), before == 0);
        }
    }

    #[test]
    fn with_tls_a_break_is_recognised_by_its_length() {
        let mut record = vec![APPLICATION_DATA, 3, 3, 0, 28];
        record.resize(33, 7);
        let (mut client, server) = pair();
        client.write_all(&[&[7; 1000][..], &record].concat()).unwrap();
        until(&server, 1033);
        assert!(ends_with_break(&server, Breaks::Record(33)) && !ends_with_break(&server, Breaks::Record(34)));
        assert!(!is_break(&server, Breaks::Record(33)));
    }
}
