//! Recorded conversations of drivers, replayed to a live session: whole, truncated, and out of order.
//!
//! A recording has the packets that a driver sent after its logon in the steps of `crates/latchwork/tests/conversation`
//! (written by `examples/record.rs`), and the driver's capabilities. In any order, each packet is answered or ends the
//! session, the server never waits for more than the rest of a message, and afterwards no lock is held and the process
//! slot is free again.

use crate::corpora;
use crate::language::instance;
use enqueue::{EnqueueType, LockMode};
use fastrand::Rng;
use net::oracle::field::Reader;
use net::oracle::handshake::{Client, read_data_types};
use server::Conversation;
use session::Session;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Creates the objects of the steps.
const SETUP: &str = include_str!("../../latchwork/tests/conversation/setup.sql");

/// Restores what a conversation has changed permanently.
const RESTORE: [&str; 4] = ["delete from u.kinds", "delete from u.longs", "delete from u.wider", "commit"];

/// The packets of a driver after its logon.
pub struct Recording {
    /// The file's name.
    pub name: String,
    client: Client,
    sdu: u32,
    packets: Vec<Vec<u8>>,
}

/// All recordings, of `fuzz/recorded`.
///
/// # Panics
/// When a file cannot be read.
pub fn recordings() -> Vec<Recording> {
    let folder = corpora().join("../recorded");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("recordings").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.iter().map(Recording::read).collect()
}

impl Recording {
    fn read(file: &PathBuf) -> Recording {
        let mut parts = crate::unpacked(&std::fs::read(file).expect("a file")).into_iter();
        let data_types = parts.next().expect("what the client said of itself");
        let client = read_data_types(&mut Reader::new(&data_types[1..])).expect("data types");
        let sdu = parts.next().expect("the longest packet");
        let sdu = u32::from_le_bytes(sdu[..].try_into().expect("four bytes"));
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        Recording { name, client, sdu, packets: parts.collect() }
    }

    /// The packets in their original order.
    pub fn whole(&self) -> Vec<&[u8]> {
        self.packets.iter().map(Vec::as_slice).collect()
    }

    /// The packets before number `at`, and the first half of that one if `is_torn`.
    pub fn cut(&self, at: usize, is_torn: bool) -> Vec<&[u8]> {
        let mut packets = self.whole();
        packets.truncate(at + usize::from(is_torn));
        if let Some(last) = packets.last_mut().filter(|_| is_torn) {
            *last = &last[..last.len() / 2];
        }
        packets
    }

    /// The packets in another order: some are exchanged, repeated or omitted.
    pub fn disordered(&self, random: &mut Rng) -> Vec<&[u8]> {
        let mut packets = self.whole();
        for _ in 0..random.usize(1..=6) {
            let at = random.usize(..packets.len());
            match random.u8(..5) {
                0 if at > 0 => packets.swap(at - 1, at),
                1 => packets.insert(at, packets[at]),
                2 if packets.len() > 1 => drop(packets.remove(at)),
                3 => {
                    let to = (at + 5).min(packets.len());
                    packets[at..to].reverse();
                }
                _ => {
                    let packet = packets[random.usize(..packets.len())];
                    packets.insert(at, packet);
                }
            }
        }
        packets
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Sends packets to a new session. Returns the number sent before it ended.
    ///
    /// # Panics
    /// When the session leaves something behind.
    pub fn say(&self, packets: &[&[u8]]) -> usize {
        let mut session = Session::in_process(instance()).expect("a session");
        for sql in RESTORE.into_iter().chain(["alter session set current_schema = u"]) {
            session.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        let (mut socket, other) = UnixStream::pair().expect("a pair of sockets");
        socket.set_nonblocking(true).expect("a socket");
        let other = TcpStream::from(OwnedFd::from(other));
        let mut server = Conversation::new(instance(), session, other, self.client, self.sdu, [0; 32].into())
            .expect("a conversation");
        let (mut said, mut part) = (0, vec![0; 64 << 10]);
        for (n, packet) in packets.iter().enumerate() {
            let is_written = socket.write_all(packet).is_ok();
            if n + 1 == packets.len() {
                // The rest of a truncated packet never arrives.
                socket.shutdown(Shutdown::Write).expect("a socket");
            }
            if !is_written || !server.serve() {
                break;
            }
            while let Ok(n @ 1..) = socket.read(&mut part) {
                let internal = [b"ORA-00600", b"ORA-07445"];
                let has_any = part[..n].windows(9).any(|text| internal.iter().any(|error| text == *error));
                assert!(!has_any, "{}: an internal error behind {said} packets", self.name);
            }
            said += 1;
        }
        let mut session = server.into_session();
        session.rollback().expect("a rollback");
        let number = session.process().number();
        for kind in [EnqueueType::Tx, EnqueueType::Tm] {
            assert!(!instance().storage().enqueues.owns_any(number, kind, LockMode::Null), "{kind:?} locks");
        }
        session.end();
        assert!(instance().processes().live().all(|(n, _)| n != number), "a session that ended has its slot");
        said
    }
}

/// Creates the objects of the recorded steps, in the instance of this thread.
///
/// # Panics
/// When a statement is refused.
pub fn prepare() {
    let mut session = Session::in_process(instance()).expect("a session");
    for sql in statements(SETUP) {
        session.run(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    session.end();
}

/// The statements of a script: units end with a line of `/`, others with their semicolon.
fn statements(script: &str) -> Vec<String> {
    let (mut all, mut text, mut is_unit) = (Vec::new(), String::new(), false);
    for line in script.lines().filter(|l| !l.starts_with("--") && *l != "exit") {
        let is_begun = !text.is_empty();
        is_unit |=
            !is_begun && ["procedure", "function", "package"].iter().any(|k| line.starts_with(&format!("create {k}")));
        if is_unit && line == "/" {
            all.push(std::mem::take(&mut text));
            is_unit = false;
            continue;
        }
        text.push_str(line);
        text.push('\n');
        if !is_unit && line.ends_with(';') {
            let whole = std::mem::take(&mut text);
            all.push(whole.trim_end().trim_end_matches(';').to_string());
        }
    }
    all
}
