//! The packets of a connection. Waits for the client also end with the signals that end a session.

use super::tls::{Breaks, Transport};
use crate::sending::send_all;
use net::oracle::native;
use net::oracle::reply::Outcome;
use net::oracle::tns::{self, PacketBuffer, kind, marker};
use os::signal::SignalFd;
use os::socket::Poll;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Largest number of bytes of a message, and before the client is known.
const MESSAGE_MAX: usize = 64 << 20;
const EARLY_MESSAGE_MAX: usize = 256 << 10;

/// Bytes of memory that a session keeps for its messages.
const MESSAGE_KEPT: usize = 64 << 10;

/// Free bytes that a packet may have although its message continues: drivers move a short value to the next packet
/// instead of splitting it.
const ROOM_LEFT: usize = 320;

/// Time to wait for the rest of a message after a full packet, and when little has arrived since the last check.
const REST_SOON: Duration = Duration::from_millis(1);
const REST_LIMIT: Duration = Duration::from_millis(20);

/// After this many reads in a row signals are checked as well, so that a client that never pauses cannot hide a signal.
const UNWATCHED_MAX: u32 = 32;

/// Bytes of further calls of a pipeline that are read from the socket ahead of their turn.
const AHEAD_MAX: usize = 16 << 20;

/// Time limit for a client to answer a break.
const RESET_LIMIT: Duration = Duration::from_secs(60);

/// The pause before a break is answered. In JDBC the thread that cancels and the thread that waits for the answer share
/// buffers: an answer that arrives while the first thread is still returning from its write is lost, and the driver
/// waits for ever. Seen in one of ten first breaks of ojdbc11 23.7 when the answer took half a millisecond.
const BREAK_PAUSE: Duration = Duration::from_millis(20);

/// The result of waiting for the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Bytes of a message have been added.
    Data,
    Marker(u8),
    /// SIGTERM: the session was killed or the instance closes.
    Signal,
    /// The connection is over: ended, broken, an invalid packet, or silent for too long.
    Gone,
}

/// A connection.
pub struct Line {
    stream: Transport,
    signals: SignalFd,
    packets: PacketBuffer,
    scratch: Vec<u8>,
    unwatched: u32,
    /// The longest packet.
    sdu: u32,
    /// The bytes of the present message so far.
    message: Vec<u8>,
    message_max: usize,
    /// Another packet of the message may follow the last one.
    may_go_on: bool,
    /// Another packet follows.
    goes_on: bool,
    /// The last packet was marked as the last of its message.
    is_marked: bool,
    /// The client marks the last packet of each message.
    marks_ends: bool,
    /// In a pipeline: calls follow one another, each with a mark on its last packet.
    in_pipeline: bool,
    /// Bytes of the message when it was last found incomplete.
    tried: usize,
    /// Bytes read that have not been counted.
    received: u64,
    /// Packets to send ahead, and the number of bytes of them sent.
    ahead: Vec<u8>,
    ahead_sent: usize,
    /// Bytes of them that have been counted.
    ahead_counted: u64,
}

impl Line {
    /// A line over a non-blocking socket whose connection the gate has accepted with this SDU.
    pub fn accepted(stream: Transport, signals: SignalFd, packets: PacketBuffer, sdu: u32) -> Line {
        Line {
            stream,
            signals,
            packets,
            scratch: vec![0; 16 << 10],
            unwatched: 0,
            sdu,
            message: Vec::new(),
            message_max: EARLY_MESSAGE_MAX,
            may_go_on: false,
            goes_on: false,
            is_marked: false,
            marks_ends: false,
            in_pipeline: false,
            tried: 0,
            received: 0,
            ahead: Vec::new(),
            ahead_sent: 0,
            ahead_counted: 0,
        }
    }

    /// The connection with its unread bytes, and the SDU.
    pub fn into_parts(self) -> (Transport, PacketBuffer, u32) {
        (self.stream, self.packets, self.sdu)
    }

    /// Bytes received since the last call.
    pub fn take_received(&mut self) -> u64 {
        std::mem::take(&mut self.received)
    }

    /// Bytes of a message whose rest has not arrived; 0 between messages.
    pub fn begun(&self) -> u64 {
        self.message.len() as u64
    }

    /// Another descriptor of the socket, and the form of a break on it.
    pub fn stream(&self) -> std::io::Result<(TcpStream, Breaks)> {
        Ok((self.stream.socket().try_clone()?, self.stream.breaks()))
    }

    /// The client is known: it may send long messages.
    pub fn trust(&mut self) {
        self.message_max = MESSAGE_MAX;
    }

    /// The bytes of a message so far; `None` while a further packet of it, or another packet, has arrived already. In a
    /// pipeline the next call may have arrived.
    pub fn message(&self) -> Option<&[u8]> {
        let is_whole = self.in_pipeline && self.is_marked;
        (is_whole || !self.packets.has_packet()).then_some(&self.message)
    }

    /// The bytes of a message so far.
    pub fn so_far(&self) -> &[u8] {
        &self.message
    }

    /// Ends the pipeline.
    pub fn end_pipeline(&mut self) {
        self.in_pipeline = false;
    }

    /// Reads the client's pipelined calls from the socket, so that a break that follows is the first thing there.
    /// Returns whether the client has broken the pipeline already.
    pub fn take_break(&mut self) -> bool {
        self.read_ahead();
        self.packets.take_break()
    }

    /// Reads the available bytes, up to a bound. False when there is no room for more, or nothing more arrives.
    fn read_ahead(&mut self) -> bool {
        while self.packets.left() < AHEAD_MAX {
            match self.stream.read(&mut self.scratch) {
                Ok(0) => return false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == ErrorKind::WouldBlock,
                Ok(n) => {
                    self.took(Ok(n));
                }
            }
        }
        false
    }

    /// Whether the client's data, or its end, can be read without waiting.
    pub fn has_input(&mut self) -> bool {
        self.packets.has_packet()
            || self.stream.has_decrypted()
            || os::socket::poll(&mut [Poll::read(&self.stream)], Some(Duration::ZERO)).is_ok_and(|ready| ready > 0)
    }

    /// Whether the message may continue after its bytes so far. If not it is complete: missing fields will not come.
    pub fn may_go_on(&self) -> bool {
        self.may_go_on
    }

    /// Whether the message continues after its bytes so far.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Decides from the last packet of a message whether another may follow (invariant 18).
    ///
    /// Some clients mark the last packet. Others fill their packets except for the space of a value that did not fit: a
    /// packet with more free space ends its message.
    fn note_end(&mut self, flags: u16, len: usize) {
        let is_marked = flags & tns::END_OF_REQUEST != 0;
        self.is_marked = is_marked;
        self.in_pipeline |= flags & tns::BEGIN_PIPELINE != 0 && self.packets.ends_responses();
        // Some clients mark only the calls of a pipeline.
        self.marks_ends |= is_marked && !self.in_pipeline;
        self.goes_on = !is_marked && (self.marks_ends || flags & tns::MORE_DATA != 0);
        self.may_go_on = self.goes_on || !is_marked && len + ROOM_LEFT >= self.sdu as usize;
    }

    /// Whether to wait for more of a message before it is parsed, because parsing takes longer the more has arrived. A
    /// client fills its packets, so after a full packet another usually follows soon. The wait is short when much has
    /// arrived since the last attempt to parse, and longer otherwise.
    pub fn expects_more(&mut self) -> bool {
        if !self.may_go_on {
            return false;
        }
        let patience = if self.message.len() < self.tried + self.tried / 4 { REST_LIMIT } else { REST_SOON };
        self.stream.has_decrypted()
            || os::socket::poll(&mut [Poll::read(&self.stream)], Some(patience)).is_ok_and(|ready| ready > 0)
    }

    /// The message is not complete yet.
    pub fn note_tried(&mut self) {
        self.tried = self.message.len();
    }

    /// The message has been processed.
    pub fn forget_message(&mut self) {
        self.message.clear();
        self.message.shrink_to(MESSAGE_KEPT);
        self.tried = 0;
    }

    /// The message has been read; returns its bytes.
    pub fn take_message(&mut self) -> Vec<u8> {
        self.tried = 0;
        std::mem::take(&mut self.message)
    }

    /// Waits for a packet, until the deadline if there is one.
    pub fn hear(&mut self, deadline: Option<Instant>) -> Heard {
        loop {
            // A client that keeps sending without completing a message is treated like a silent one.
            if deadline.is_some_and(|at| Instant::now() >= at) {
                return Heard::Gone;
            }
            match self.packets.next_packet() {
                Ok(Some(packet)) => {
                    return match packet.kind {
                        kind::DATA => match packet.data() {
                            Ok((flags, _)) if flags & tns::END_OF_FILE != 0 => Heard::Gone,
                            Ok((flags, bytes)) if self.message.len() + bytes.len() <= self.message_max => {
                                // A sealed packet is shorter inside, so it may be as long as an unsealed one.
                                let sealed = packet.length - packet.body.len() - tns::HEADER_LEN;
                                let len = packet.length + if sealed > 0 { native::OVERHEAD } else { 0 };
                                self.message.extend_from_slice(bytes);
                                self.note_end(flags, len);
                                Heard::Data
                            }
                            _ => Heard::Gone,
                        },
                        kind::MARKER => packet.marker().map_or(Heard::Gone, Heard::Marker),
                        _ => Heard::Gone,
                    };
                }
                Ok(None) => {}
                Err(_) => return Heard::Gone,
            }
            if let Some(end) = self.read(deadline) {
                return end;
            }
        }
    }

    /// Reads the next data.
    fn read(&mut self, deadline: Option<Instant>) -> Option<Heard> {
        if self.unwatched < UNWATCHED_MAX
            && let Some(came) = self.stream.receive(!self.message.is_empty(), &mut self.scratch)
        {
            self.unwatched += 1;
            return self.took(came);
        }
        self.unwatched = 0;
        let is_there = self.stream.has_decrypted();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let left = if is_there { Some(Duration::ZERO) } else { left };
        let mut set = [Poll::read(&self.stream), Poll::read(&self.signals)];
        match os::socket::poll(&mut set, left) {
            Ok(_) => {}
            Err(_) => return Some(Heard::Gone),
        }
        if set[1].ready() && self.signals.next().is_some() {
            return Some(Heard::Signal);
        }
        if !set[0].ready() && !is_there {
            return None;
        }
        let came = self.stream.read(&mut self.scratch);
        self.took(came)
    }

    fn took(&mut self, came: std::io::Result<usize>) -> Option<Heard> {
        match came {
            Ok(0) => Some(Heard::Gone),
            Ok(n) => {
                self.packets.extend(&self.scratch[..n]);
                self.received += n as u64;
                None
            }
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => None,
            Err(_) => Some(Heard::Gone),
        }
    }

    /// Sends bytes; false when that is impossible: the client is gone, or `gives_up` returns true after a signal.
    pub fn send(&mut self, out: &[u8], gives_up: &mut dyn FnMut() -> bool) -> bool {
        let (ahead, from) = (std::mem::take(&mut self.ahead), std::mem::take(&mut self.ahead_sent));
        if !ahead.is_empty() {
            let sent = self.send_part(&ahead[from..], gives_up);
            self.ahead = ahead;
            self.ahead.clear();
            self.ahead.shrink_to(MESSAGE_KEPT);
            if !sent {
                return false;
            }
        }
        self.send_part(out, gives_up)
    }

    fn send_part(&mut self, out: &[u8], gives_up: &mut dyn FnMut() -> bool) -> bool {
        if self.in_pipeline {
            return self.send_and_read(out, gives_up);
        }
        send_all(&mut self.stream, &self.signals, out, gives_up)
    }

    /// Like [`send_all`], and reads meanwhile: a client may read no answer before it has sent all calls of a pipeline.
    fn send_and_read(&mut self, mut out: &[u8], gives_up: &mut dyn FnMut() -> bool) -> bool {
        let mut reads = true;
        loop {
            let sent = if out.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(out) };
            match sent {
                Ok(_) if out.is_empty() => return true,
                Ok(n) => out = &out[n..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    let mut set = [Poll::write(&self.stream), Poll::read(&self.signals), Poll::read(&self.stream)];
                    let watched = if reads { 3 } else { 2 };
                    if os::socket::poll(&mut set[..watched], None).is_err() {
                        return false;
                    }
                    let has_more = reads && set[2].ready();
                    if set[1].ready() && self.signals.next().is_some() && gives_up() {
                        return false;
                    }
                    if has_more {
                        reads = self.read_ahead();
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Bytes of a message in one packet.
    pub fn part_max(&self) -> usize {
        self.packets.part_max(self.sdu)
    }

    /// Sends the first part of a message without waiting; bytes that the client does not take now precede the next
    /// ones.
    pub fn send_ahead(&mut self, part: &[u8]) {
        let from = self.ahead.len();
        self.packets.write_ahead(&mut self.ahead, part, self.sdu);
        self.ahead_counted += (self.ahead.len() - from) as u64;
        while self.ahead_sent < self.ahead.len() {
            match self.stream.write(&self.ahead[self.ahead_sent..]) {
                Ok(0) => return,
                Ok(n) => self.ahead_sent += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Sending the rest will report the error.
                Err(_) => return,
            }
        }
        if !self.stream.has_unsent() {
            self.ahead.clear();
            self.ahead_sent = 0;
        }
    }

    /// Bytes of a message on the wire, including the part sent ahead.
    pub fn sent_bytes(&mut self, message: usize) -> u64 {
        std::mem::take(&mut self.ahead_counted) + self.packets.data_len(message, self.sdu) as u64
    }

    /// Sends a message in as many packets as it needs.
    pub fn send_message(&mut self, message: &[u8], gives_up: &mut dyn FnMut() -> bool) -> bool {
        let mut out = Vec::with_capacity(message.len() + 64);
        self.packets.write_data(&mut out, message, self.sdu);
        self.send(&out, gives_up)
    }

    /// Answers a break: both sides drop the present call, and the client gets the error. False when the client is gone.
    pub fn answer_break(&mut self, outcome: &Outcome, gives_up: &mut dyn FnMut() -> bool) -> bool {
        std::thread::sleep(BREAK_PAUSE);
        let mut out = Vec::new();
        tns::write_marker(&mut out, marker::BREAK);
        tns::write_marker(&mut out, marker::RESET);
        if !self.send(&out, gives_up) {
            return false;
        }
        let deadline = Instant::now() + RESET_LIMIT;
        loop {
            match self.hear(Some(deadline)) {
                Heard::Marker(marker::RESET) => break,
                Heard::Data | Heard::Marker(_) => self.message.clear(),
                Heard::Signal if !gives_up() => {}
                Heard::Signal | Heard::Gone => return false,
            }
        }
        self.message.clear();
        self.packets.reset();
        let mut message = Vec::new();
        outcome.write(&mut message);
        self.send_message(&message, gives_up)
    }

    /// Sends the last message: nothing follows, and further data of the client are ignored.
    pub fn close_behind(&mut self, out: &[u8]) {
        if self.send(out, &mut || true) {
            self.stream.end();
            // A connection closed with unread bytes is reset, and the last message is lost.
            let deadline = Instant::now() + Duration::from_millis(200);
            while matches!(self.hear(Some(deadline)), Heard::Data | Heard::Marker(_)) {
                self.message.clear();
            }
        }
    }
}
