//! Packets: a header of eight bytes with length and type, and a body.
//!
//! ```text
//! | length u16 · 0 u16 (or u32) | type u8 | flags u8 | 0 u16 | body |
//! ```
//! The length includes the header. It has two bytes until the server has accepted the connection, and four afterwards,
//! for every type of packet. The body of a DATA packet is two bytes of flags and a part of a message; a message too
//! long for a packet continues in the next.

use super::field::{Reader, Writer};
use super::message;
use super::native::{self, Seal};
use super::o5logon::SessionKey;
use crate::local::{WireError, WireResult};

/// Bytes of a packet before its body.
pub const HEADER_LEN: usize = 8;

/// The oldest supported protocol version: the first with lengths of four bytes.
pub const VERSION_MIN: u16 = 315;

/// The offered version.
pub const VERSION: u16 = 318;

/// The version offered to clients that look for the ends of responses.
pub const VERSION_OF_ENDS: u16 = 319;

/// The longest packet offered.
pub const SDU_MAX: u32 = 65_535;

/// The shortest.
pub const SDU_MIN: u32 = 512;

/// Longer connect data follows in a separate DATA packet.
const CONNECT_DATA_MAX: usize = 230;

/// The longest accepted connect data.
pub const CONNECT_DATA_LIMIT: usize = 32 << 10;

/// The types of packets.
pub mod kind {
    pub const CONNECT: u8 = 1;
    pub const ACCEPT: u8 = 2;
    pub const REFUSE: u8 = 4;
    pub const REDIRECT: u8 = 5;
    pub const DATA: u8 = 6;
    pub const RESEND: u8 = 11;
    pub const MARKER: u8 = 12;
}

/// The content of a marker.
pub mod marker {
    pub const BREAK: u8 = 1;
    pub const RESET: u8 = 2;
    pub const INTERRUPT: u8 = 3;
}

/// The flag of the last DATA packet: the sender is about to close the connection.
pub const END_OF_FILE: u16 = 0x40;
/// The flag of a DATA packet that ends its message, from clients that set it.
pub const END_OF_REQUEST: u16 = 0x800;
/// The flag of a DATA packet that is followed by another one, from clients that set it.
pub const MORE_DATA: u16 = 0x20;
/// The flag of a DATA packet of the first message of a pipeline.
pub const BEGIN_PIPELINE: u16 = 0x1000;
/// The flag of the server's DATA packet that ends a response, for clients that look for it.
pub const END_OF_RESPONSE: u16 = 0x2000;

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub kind: u8,
    pub flags: u8,
    pub body: &'a [u8],
    /// Bytes of the packet on the wire.
    pub length: usize,
}

impl<'a> Packet<'a> {
    /// The flags and the message's bytes of a DATA packet.
    ///
    /// # Errors
    /// [`WireError::Truncated`] when there is no room for the flags.
    pub fn data(&self) -> WireResult<(u16, &'a [u8])> {
        let mut r = Reader::new(self.body);
        let flags = r.u16()?;
        Ok((flags, r.left()))
    }

    /// The content of a MARKER packet.
    ///
    /// # Errors
    /// [`WireError::Truncated`] when it is empty.
    pub fn marker(&self) -> WireResult<u8> {
        self.body.get(2).copied().ok_or(WireError::Truncated)
    }
}

/// Bytes of memory that an empty buffer keeps, and of read data that it keeps.
const KEPT: usize = 64 << 10;

/// Collects bytes as they arrive and returns whole packets.
#[derive(Debug)]
pub struct PacketBuffer {
    bytes: Vec<u8>,
    start: usize,
    is_accepted: bool,
    limit: usize,
    seal: Option<Box<Seal>>,
    ends_responses: bool,
    /// Packets before this byte contain no break marker.
    scanned: usize,
}

impl PacketBuffer {
    /// A buffer for the packets of a connection that is not accepted yet.
    pub fn new() -> Self {
        let limit = HEADER_LEN + 128 + CONNECT_DATA_LIMIT;
        Self { bytes: Vec::new(), start: 0, is_accepted: false, limit, seal: None, ends_responses: false, scanned: 0 }
    }

    /// Lengths have four bytes from here on, and packets at most `sdu`.
    pub fn accept(&mut self, sdu: u32) {
        self.is_accepted = true;
        self.limit = sdu as usize;
    }

    /// Messages are sealed from here on, in both directions.
    pub fn seal(&mut self, seal: Seal) {
        self.seal = Some(Box::new(seal));
    }

    /// Sets the key of the client's logon.
    pub fn logged_on(&mut self, key: impl FnOnce() -> SessionKey) {
        if let Some(seal) = &mut self.seal {
            seal.logged_on(key());
        }
    }

    /// Bytes of the key and of the checksums that seal packets; 0 without.
    pub fn strength(&self) -> (u8, u8) {
        self.seal.as_ref().map_or((0, 0), |seal| seal.strength())
    }

    /// Both sides have reset the connection.
    pub fn reset(&mut self) {
        if let Some(seal) = &mut self.seal {
            seal.reset();
        }
    }

    /// Bytes of a message in a DATA packet of at most `sdu` bytes.
    pub fn part_max(&self, sdu: u32) -> usize {
        sdu as usize - HEADER_LEN - 2 - if self.seal.is_some() { native::OVERHEAD } else { 0 }
    }

    /// From here on written messages have the ends of responses.
    pub fn end_responses(&mut self) {
        self.ends_responses = true;
    }

    /// Whether written messages have the ends of responses.
    pub fn ends_responses(&self) -> bool {
        self.ends_responses
    }

    /// Appends a message as DATA packets of at most `sdu` bytes, sealed if that was agreed.
    ///
    /// The end of a response is marked twice for clients that look for it: as the last byte, and as a flag of its
    /// packet.
    pub fn write_data(&mut self, out: &mut Vec<u8>, message: &[u8], sdu: u32) {
        let room = self.part_max(sdu);
        if !self.ends_responses {
            return self.write_ahead(out, message, sdu);
        }
        // The last packet has room for the byte after its part of the message.
        let at = message.len() / room * room;
        self.write_ahead(out, &message[..at], sdu);
        let last = [&message[at..], &[message::END_OF_RESPONSE]].concat();
        self.write_part(out, &last, END_OF_RESPONSE);
    }

    /// Like [`PacketBuffer::write_data`], for a part of a message that continues.
    pub fn write_ahead(&mut self, out: &mut Vec<u8>, part: &[u8], sdu: u32) {
        part.chunks(self.part_max(sdu)).for_each(|part| self.write_part(out, part, 0));
    }

    fn write_part(&mut self, out: &mut Vec<u8>, part: &[u8], flags: u16) {
        let Some(seal) = &mut self.seal else { return write_part(out, part, flags) };
        let at = out.len();
        header(out, kind::DATA, 0);
        out.extend_from_slice(&flags.to_be_bytes());
        seal.close(part, out);
        let length = (out.len() - at) as u32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Removes a break marker from the complete packets, at any position among them.
    pub fn take_break(&mut self) -> bool {
        let mut at = self.scanned.max(self.start);
        while let Ok(Some(length)) = self.length_at(at) {
            let Some(packet) = self.bytes.get(at..at + length) else { break };
            let says = packet.get(HEADER_LEN + 2).copied();
            if packet[4] == kind::MARKER && matches!(says, Some(marker::BREAK | marker::INTERRUPT)) {
                self.bytes.drain(at..at + length);
                self.scanned = at;
                return true;
            }
            at += length;
        }
        self.scanned = at;
        false
    }

    /// Bytes received from the socket and not returned yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Bytes of a message on the wire, as written by [`PacketBuffer::write_data`].
    pub fn data_len(&self, message: usize, sdu: u32) -> usize {
        let message = message + usize::from(self.ends_responses);
        let Some(seal) = &self.seal else { return data_len(message, sdu) };
        let room = sdu as usize - HEADER_LEN - 2 - native::OVERHEAD;
        let packet = |len| HEADER_LEN + 2 + seal.sealed_len(len);
        let rest = message % room;
        message / room * packet(room) + if rest > 0 { packet(rest) } else { 0 }
    }

    /// Adds bytes from the socket.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
            (self.start, self.scanned) = (0, 0);
        } else if self.start > KEPT.max(self.left()) {
            self.drop_read();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The received bytes that were not read; `None` when packets are sealed.
    pub fn unsealed(&self) -> Option<&[u8]> {
        self.seal.is_none().then(|| &self.bytes[self.start..])
    }

    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.drop_read();
        self.bytes.shrink_to_fit();
    }

    fn drop_read(&mut self) {
        self.bytes.drain(..self.start);
        self.scanned = self.scanned.saturating_sub(self.start);
        self.start = 0;
    }

    /// Bytes of memory held.
    pub fn held(&self) -> usize {
        self.bytes.capacity() + self.seal.as_ref().map_or(0, |_| size_of::<Seal>())
    }

    /// Whether another complete packet has arrived.
    pub fn has_packet(&self) -> bool {
        matches!(self.length(), Ok(Some(n)) if self.bytes.len() - self.start >= n)
    }

    fn length(&self) -> WireResult<Option<usize>> {
        self.length_at(self.start)
    }

    fn length_at(&self, at: usize) -> WireResult<Option<usize>> {
        let Some(header) = self.bytes[at..].first_chunk::<HEADER_LEN>() else { return Ok(None) };
        let length = match self.is_accepted {
            true => u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize,
            // No client sends a checksum. Another protocol, such as TLS, is recognised by these bytes before its length
            // is waited for.
            false if header[2..4] != [0, 0] => return Err(WireError::BadValue),
            false => u16::from_be_bytes([header[0], header[1]]).into(),
        };
        if length < HEADER_LEN || length > self.limit {
            return Err(WireError::LengthOutOfBounds);
        }
        Ok(Some(length))
    }

    /// The next complete packet, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// [`WireError::LengthOutOfBounds`] for an impossible length, [`WireError::BadValue`] for another protocol.
    pub fn next_packet(&mut self) -> WireResult<Option<Packet<'_>>> {
        let Some(length) = self.length()? else { return Ok(None) };
        let from = self.start;
        let Some(packet) = self.bytes.get_mut(from..from + length) else { return Ok(None) };
        self.start += length;
        let mut end = length;
        if packet[4] == kind::DATA
            && length > HEADER_LEN + 2
            && let Some(seal) = &mut self.seal
        {
            let flags = u16::from_be_bytes([packet[HEADER_LEN], packet[HEADER_LEN + 1]]);
            end = HEADER_LEN + 2;
            // The packet that ends the connection is not sealed; its bytes, if any, are no message.
            if flags & END_OF_FILE == 0 {
                end += seal.open(&mut packet[HEADER_LEN + 2..])?;
            }
        }
        Ok(Some(Packet { kind: packet[4], flags: packet[5], body: &packet[HEADER_LEN..end], length }))
    }
}

impl Default for PacketBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// Appends a packet of a connection that is not accepted yet.
fn early_packet(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Writer<'_>)) {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, kind, 0, 0, 0]);
    body(&mut Writer::new(out));
    let length = u16::try_from(out.len() - at).expect("an early packet is short");
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

fn header(out: &mut Vec<u8>, kind: u8, body_len: usize) {
    let length = u32::try_from(HEADER_LEN + body_len).expect("a packet is no longer than the SDU");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[kind, 0, 0, 0]);
}

/// Appends a message as DATA packets of at most `sdu` bytes.
pub fn write_data(out: &mut Vec<u8>, message: &[u8], sdu: u32) {
    message.chunks(sdu as usize - HEADER_LEN - 2).for_each(|part| write_part(out, part, 0));
}

/// Bytes of a message on the wire, in DATA packets.
pub fn data_len(message: usize, sdu: u32) -> usize {
    message + message.div_ceil(sdu as usize - HEADER_LEN - 2) * (HEADER_LEN + 2)
}

/// Appends a part of a message that fits into one DATA packet, with its flags.
pub fn write_part(out: &mut Vec<u8>, part: &[u8], flags: u16) {
    header(out, kind::DATA, part.len() + 2);
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(part);
}

/// Appends the DATA packet that ends a connection.
pub fn write_end(out: &mut Vec<u8>) {
    header(out, kind::DATA, 2);
    out.extend_from_slice(&END_OF_FILE.to_be_bytes());
}

/// Appends a MARKER packet.
pub fn write_marker(out: &mut Vec<u8>, says: u8) {
    header(out, kind::MARKER, 3);
    out.extend_from_slice(&[1, 0, says]);
}

/// The contents of a client's CONNECT packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    pub version: u16,
    pub version_min: u16,
    /// The longest packet that the client accepts.
    pub sdu: u32,
    /// `None`: the data follows in a DATA packet.
    pub data: Option<Vec<u8>>,
    /// Bytes of connect data.
    pub data_len: usize,
    /// The client does not use native encryption and checksums.
    pub refuses_native: bool,
    /// The client looks for the ends of responses if the server marks them.
    pub reads_ends: bool,
}

/// The flags of a client that can renew TLS and does not use native services.
const RENEWS_TLS: u8 = 0x80;

impl Connect {
    /// Reads a CONNECT packet's body.
    ///
    /// # Errors
    /// [`WireError`] for lengths and offsets outside the packet.
    pub fn decode(body: &[u8]) -> WireResult<Connect> {
        let mut r = Reader::new(body);
        let (version, version_min) = (r.u16()?, r.u16()?);
        r.skip(2)?;
        let small: u32 = r.u16()?.into();
        r.skip(8)?;
        let (data_len, offset) = (r.u16()?.into(), usize::from(r.u16()?));
        let refuses_native = body.get(24..26).is_none_or(|flags| flags.iter().any(|f| f & NO_NATIVE_SERVICES != 0));
        // Drivers of this version with other flags do not look for ends with field version 12: one of them would still
        // send pipelines, and mistake a packet for a response.
        let flags = RENEWS_TLS | NO_NATIVE_SERVICES;
        let reads_ends = version >= VERSION_OF_ENDS && body.get(24..26) == Some(&[flags, flags]);
        // The offset counts from the first byte of the packet, after the fields that this client knows.
        let at = offset.checked_sub(HEADER_LEN).filter(|at| *at >= 26).ok_or(WireError::LengthOutOfBounds)?;
        let mut sdu = small;
        if at >= 66 {
            r.skip(30)?;
            sdu = r.u32()?;
        }
        if data_len > CONNECT_DATA_LIMIT {
            return Err(WireError::LengthOutOfBounds);
        }
        let data = match body.len().checked_sub(at) {
            Some(0) if data_len > 0 => None,
            Some(_) => Some(body.get(at..at + data_len).ok_or(WireError::Truncated)?.to_vec()),
            None => return Err(WireError::Truncated),
        };
        Ok(Connect { version, version_min, sdu, data, data_len, refuses_native, reads_ends })
    }

    /// Appends the packet or packets of a client with the connect data `data`.
    pub fn encode(data: &[u8], sdu: u32, out: &mut Vec<u8>) {
        let apart = data.len() > CONNECT_DATA_MAX;
        let length = u16::try_from(data.len()).expect("connect data is short");
        early_packet(out, kind::CONNECT, |w| {
            for n in [VERSION, 300, 0, sdu.min(65_535) as u16, 65_535, 0x4f98, 0, 1, length, 74] {
                w.u16(n);
            }
            w.u32(0);
            w.raw(&[0x84, 0x84]);
            w.zeros(24);
            w.u32(sdu);
            w.u32(sdu);
            w.zeros(8);
            if !apart {
                w.raw(data);
            }
        });
        if apart {
            early_packet(out, kind::DATA, |w| {
                w.u16(0);
                w.raw(data);
            });
        }
    }

    /// The version agreed with this client.
    pub fn agreed_version(&self) -> u16 {
        if self.reads_ends { VERSION_OF_ENDS } else { self.version.min(VERSION) }
    }

    /// The SDU agreed with this client.
    pub fn agreed_sdu(&self) -> u32 {
        self.sdu.clamp(SDU_MIN, SDU_MAX)
    }
}

/// The server's ACCEPT packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// With [`VERSION_OF_ENDS`] the ends of responses are marked.
    pub version: u16,
    pub sdu: u32,
}

/// The ends of responses are marked.
const MARKS_ENDS: u32 = 0x0200_0000;

/// Native encryption and checksums must not be requested.
const NO_NATIVE_SERVICES: u8 = 4;

/// The server's position on native encryption and checksums when it accepts a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeServices {
    /// They must not be requested.
    Off,
    /// They are negotiated next.
    Offered,
    /// A client that does not negotiate them is refused.
    Required,
}

impl NativeServices {
    fn flags(self) -> u8 {
        match self {
            NativeServices::Off => NO_NATIVE_SERVICES,
            NativeServices::Offered => 0xc1,
            NativeServices::Required => 0xc1 | NATIVE_REQUIRED,
        }
    }
}

/// A client without native encryption cannot continue.
const NATIVE_REQUIRED: u8 = 0x10;

impl Accept {
    /// Appends the packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_with(NativeServices::Off, out);
    }

    /// Whether an accepted client must agree on native encryption.
    pub fn requires_native(body: &[u8]) -> bool {
        body.get(14).is_some_and(|flags| flags & NATIVE_REQUIRED != 0)
    }

    /// Like [`Accept::encode`], with the position on native services.
    pub fn encode_with(&self, native: NativeServices, out: &mut Vec<u8>) {
        let marks_ends = self.version >= VERSION_OF_ENDS;
        let length = match self.version {
            ..318 => 41,
            318 => 45,
            VERSION_OF_ENDS.. => 61,
        };
        early_packet(out, kind::ACCEPT, |w| {
            for n in [self.version, 1, 0, 0, 0x0100, 0, length] {
                w.u16(n);
            }
            w.raw(&[native.flags(), 0]);
            w.zeros(8);
            w.u32(self.sdu);
            w.u32(self.sdu);
            w.u8(0);
            if self.version >= 318 {
                w.u32(if marks_ends { MARKS_ENDS } else { 0 });
            }
            if marks_ends {
                // The identifier of the connection, which none of these clients requests.
                w.zeros(16);
            }
        });
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`WireError`] for an invalid body, or another version of the protocol.
    pub fn decode(body: &[u8]) -> WireResult<Accept> {
        let mut r = Reader::new(body);
        let version = r.u16()?;
        r.skip(22)?;
        let sdu = r.u32()?;
        if version < VERSION_MIN || !(SDU_MIN..=2_097_152).contains(&sdu) {
            return Err(WireError::BadValue);
        }
        Ok(Accept { version, sdu })
    }
}

/// Appends a REFUSE packet with the error `code`, in a listener's form.
pub fn write_refuse(out: &mut Vec<u8>, code: u32) {
    let text =
        format!("(DESCRIPTION=(TMP=)(VSNNUM={VSN_NUMBER})(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))");
    refuse(out, &text);
}

/// Appends the answer to `(COMMAND=PING)`: a refusal without an error.
pub fn write_pong(out: &mut Vec<u8>) {
    refuse(out, &format!("(DESCRIPTION=(TMP=)(VSNNUM={VSN_NUMBER})(ERR=0)(ALIAS=LISTENER))"));
}

fn refuse(out: &mut Vec<u8>, text: &str) {
    early_packet(out, kind::REFUSE, |w| {
        w.raw(&[0x22, 0]);
        w.u16(text.len() as u16);
        w.raw(text.as_bytes());
    });
}

/// 19.0.0.0.0, in a listener's form.
const VSN_NUMBER: u32 = 19 << 24;

/// The error in a REFUSE packet's body; 0 answers a ping.
///
/// # Errors
/// [`WireError`] for a body without one.
pub fn refusal(body: &[u8]) -> WireResult<u32> {
    let mut r = Reader::new(body);
    r.skip(2)?;
    let len = r.u16()?;
    let text = std::str::from_utf8(r.raw(len.into())?).map_err(|_| WireError::NotUtf8)?;
    let code = text.split("(ERR=").nth(1).and_then(|rest| rest.split(')').next());
    code.and_then(|digits| digits.trim().parse().ok()).ok_or(WireError::BadValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_message_on_the_wire_is_that_of_its_packets() {
        for (len, sdu) in [(0, 512), (1, 512), (502, 512), (503, 512), (5000, 512), (8182, 8192), (8183, 8192)] {
            let mut out = Vec::new();
            write_data(&mut out, &vec![7; len], sdu);
            assert_eq!(data_len(len, sdu), out.len(), "{len} {sdu}");
            for (encryption, checksum) in [(17, 4), (15, 0), (0, 6)] {
                let mut buffer = PacketBuffer::new();
                buffer.seal(Seal::new(encryption, checksum, &[7; 256], &[9; 32], true));
                out.clear();
                buffer.write_data(&mut out, &vec![7; len], sdu);
                assert_eq!(buffer.data_len(len, sdu), out.len(), "{len} {sdu} {encryption} {checksum}");
            }
        }
    }

    #[test]
    fn unsealed_messages_are_refused_after_an_agreement() {
        let packet = |flags: u16, message: &[u8]| {
            let mut out = Vec::new();
            write_part(&mut out, message, flags);
            let mut buffer = PacketBuffer::new();
            buffer.accept(8192);
            buffer.seal(Seal::new(17, 4, &[7; 256], &[9; 32], true));
            buffer.extend(&out);
            buffer.next_packet().map(|packet| packet.map(|p| p.data().map(|(_, bytes)| bytes.len())))
        };
        for len in 1..=130 {
            for flags in [0, MORE_DATA, END_OF_REQUEST] {
                assert_eq!(packet(flags, &vec![0; len]), Err(WireError::BadValue), "{len} {flags:#x}");
            }
            assert_eq!(packet(END_OF_FILE, &vec![3; len]), Ok(Some(Ok(0))), "the last packet has no message");
        }
        assert_eq!(packet(0, &[]), Ok(Some(Ok(0))));
    }

    #[test]
    fn the_end_of_a_response_is_its_last_byte_and_a_flag_of_its_last_packet() {
        for (len, packets) in [(1, 1), (501, 1), (502, 2), (503, 2), (1003, 2), (1004, 3), (5000, 10)] {
            let (mut out, mut buffer) = (Vec::new(), PacketBuffer::new());
            buffer.accept(512);
            buffer.end_responses();
            buffer.write_data(&mut out, &vec![7; len], 512);
            assert_eq!(buffer.data_len(len, 512), out.len(), "{len}");
            buffer.extend(&out);
            let (mut bytes, mut flags) = (Vec::new(), Vec::new());
            while let Some(packet) = buffer.next_packet().unwrap() {
                flags.push(packet.data().unwrap().0);
                bytes.extend_from_slice(packet.data().unwrap().1);
            }
            assert_eq!((bytes.len(), bytes.pop()), (len + 1, Some(message::END_OF_RESPONSE)));
            assert_eq!((flags.len(), flags.pop()), (packets, Some(END_OF_RESPONSE)), "{len}");
            assert!(flags.iter().all(|f| *f == 0));
        }
    }

    #[test]
    fn a_break_is_found_among_packets_that_wait() {
        let mut buffer = PacketBuffer::new();
        buffer.accept(512);
        let mut out = Vec::new();
        write_part(&mut out, &[1; 300], 0);
        write_marker(&mut out, marker::RESET);
        write_part(&mut out, &[2; 300], 0);
        write_marker(&mut out, marker::INTERRUPT);
        write_part(&mut out, &[3; 300], 0);
        let mut found = 0;
        for byte in &out {
            buffer.extend(&[*byte]);
            found += usize::from(buffer.take_break());
        }
        assert_eq!((found, buffer.left()), (1, out.len() - HEADER_LEN - 3));
        let mut kinds = Vec::new();
        while let Some(packet) = buffer.next_packet().unwrap() {
            kinds.push((packet.kind, packet.body[2]));
        }
        assert_eq!(kinds, [(kind::DATA, 1), (kind::MARKER, marker::RESET), (kind::DATA, 2), (kind::DATA, 3)]);
        assert!(!buffer.take_break());
    }

    #[test]
    fn ends_are_marked_for_the_drivers_that_look_for_them() {
        let connect = |version: u16, flags: [u8; 2]| {
            let mut out = Vec::new();
            Connect::encode(b"(X=)", 8192, &mut out);
            let mut body = out[HEADER_LEN..].to_vec();
            body[..2].copy_from_slice(&version.to_be_bytes());
            body[24..26].copy_from_slice(&flags);
            Connect::decode(&body).unwrap().agreed_version()
        };
        assert_eq!(connect(319, [0x84, 0x84]), 319);
        assert_eq!(connect(320, [0x84, 0x84]), 319);
        for (version, flags, agreed) in [(318, 0x84, 318), (317, 0x84, 317), (319, 0x08, 318), (319, 0x81, 318)] {
            assert_eq!(connect(version, [flags, flags]), agreed);
        }
        let mut out = Vec::new();
        Accept { version: 319, sdu: 8192 }.encode(&mut out);
        assert_eq!((out.len(), out[1], &out[41..45]), (61, 61, &[2, 0, 0, 0][..]));
        assert_eq!(Accept::decode(&out[8..]), Ok(Accept { version: 319, sdu: 8192 }));
    }

    #[test]
    fn an_accepted_connection_is_byte_for_byte_what_drivers_take() {
        let mut out = Vec::new();
        Accept { version: 318, sdu: 8192 }.encode(&mut out);
        let mut want = vec![0, 0x2d, 0, 0, 2, 0, 0, 0, 1, 0x3e, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x2d, 4, 0];
        want.extend_from_slice(&[0; 8]);
        want.extend_from_slice(&[0, 0, 0x20, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out, want);
        assert_eq!(Accept::decode(&out[8..]), Ok(Accept { version: 318, sdu: 8192 }));
    }

    #[test]
    fn connect_data_comes_with_the_packet_or_after_it() {
        for len in [1, 100, 230, 231, 5000] {
            let data = vec![b'x'; len];
            let mut out = Vec::new();
            Connect::encode(&data, 8192, &mut out);
            let mut buffer = PacketBuffer::new();
            buffer.extend(&out);
            let connect = Connect::decode(buffer.next_packet().unwrap().unwrap().body).unwrap();
            assert_eq!((connect.data_len, connect.sdu, connect.version), (len, 8192, VERSION));
            match connect.data {
                Some(inside) => assert_eq!(inside, data),
                None => {
                    let packet = buffer.next_packet().unwrap().unwrap();
                    assert_eq!(packet.data().unwrap().1, data);
                }
            }
        }
        assert_eq!(Connect::decode(&[0; 20]), Err(WireError::LengthOutOfBounds));
    }

    #[test]
    fn packets_are_assembled_from_any_pieces() {
        let message: Vec<u8> = (0..5000u32).map(|n| n as u8).collect();
        let mut stream = Vec::new();
        write_data(&mut stream, &message, 512);
        write_marker(&mut stream, marker::INTERRUPT);
        write_end(&mut stream);
        for step in [1, 7, 600, stream.len()] {
            let mut buffer = PacketBuffer::new();
            buffer.accept(512);
            let (mut seen, mut others) = (Vec::new(), Vec::new());
            for piece in stream.chunks(step) {
                buffer.extend(piece);
                while let Some(packet) = buffer.next_packet().unwrap() {
                    match packet.kind {
                        kind::DATA if packet.data().unwrap().0 == 0 => seen.extend_from_slice(packet.data().unwrap().1),
                        kind::DATA => others.push(packet.data().unwrap().0 as u8),
                        _ => others.push(packet.marker().unwrap()),
                    }
                }
            }
            assert_eq!((&seen, &others[..]), (&message, &[3, 0x40][..]));
        }
        for length in [0u32, 7, 513, u32::MAX] {
            let mut buffer = PacketBuffer::new();
            buffer.accept(512);
            buffer.extend(&length.to_be_bytes());
            buffer.extend(&[6, 0, 0, 0]);
            assert_eq!(buffer.next_packet(), Err(WireError::LengthOutOfBounds));
        }
    }

    #[test]
    fn another_protocol_is_known_by_its_first_bytes() {
        for hello in [&b"\x16\x03\x01\x02\x00\x01\x00\x01"[..], b"GET / HT", b"SSH-2.0-"] {
            let mut buffer = PacketBuffer::new();
            buffer.extend(hello);
            assert_eq!(buffer.next_packet(), Err(WireError::BadValue), "{hello:?}");
        }
    }

    #[test]
    fn a_refusal_names_its_error() {
        for code in [12514, 12516, 0] {
            let mut out = Vec::new();
            if code == 0 {
                write_pong(&mut out)
            } else {
                write_refuse(&mut out, code)
            }
            assert_eq!(refusal(&out[8..]), Ok(code));
        }
        assert!(refusal(&[0x22, 0, 0, 3, b'a', b'b', b'c']).is_err());
    }
}
