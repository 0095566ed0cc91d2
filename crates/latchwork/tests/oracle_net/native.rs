//! Native encryption and checksums: the negotiation before the first message, and its enforcement.

use crate::{logon, start};
use client::{NetAddress, NetSession};
use net::oracle::field::Reader;
use net::oracle::handshake;
use net::oracle::native;
use net::oracle::tns::{self, PacketBuffer, kind};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A connection of a client that takes part in native services.
struct Wire {
    stream: TcpStream,
    packets: PacketBuffer,
}

impl Wire {
    /// The connection, and the server's answer about native services.
    fn open(at: &NetAddress) -> (Wire, u8) {
        let mut out = Vec::new();
        tns::Connect::encode(b"(CONNECT_DATA=(SERVICE_NAME=latchwrk))", 8192, &mut out);
        // The client takes part in native services.
        out[tns::HEADER_LEN + 24..][..2].copy_from_slice(&[1, 1]);
        let stream = TcpStream::connect((at.host.as_str(), at.port)).unwrap();
        let mut wire = Wire { stream, packets: PacketBuffer::new() };
        wire.stream.write_all(&out).unwrap();
        let (kind, body) = wire.packet().expect("it is accepted");
        assert_eq!(kind, kind::ACCEPT);
        wire.packets.accept(8192);
        (wire, body[14])
    }

    fn packet(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut bytes = [0; 8192];
        loop {
            if let Some(packet) = self.packets.next_packet().expect("packets that can be opened") {
                return Some((packet.kind, packet.body.to_vec()));
            }
            match self.stream.read(&mut bytes) {
                Ok(n) if n > 0 => self.packets.extend(&bytes[..n]),
                _ => return None,
            }
        }
    }

    fn message(&mut self) -> Option<Vec<u8>> {
        self.packet().map(|(_, body)| body[2..].to_vec())
    }

    fn send(&mut self, message: &[u8]) {
        let mut out = Vec::new();
        self.packets.write_data(&mut out, message, 8192);
        self.stream.write_all(&out).unwrap();
    }
}

/// The answer to a client's offer, and whether the client is served afterwards; if a checksum was agreed on, with it.
fn negotiate(at: &NetAddress, encryptions: &[u8], checksums: &[u8]) -> (Vec<u8>, bool, Option<bool>) {
    let (mut wire, _) = Wire::open(at);
    wire.send(&native::offer(encryptions, checksums));
    let answer = wire.message().expect("an answer");
    let joined = native::join(&answer, &[0x5a; 32]).expect("an answer that can be read");
    let is_sealed = joined.is_some();
    if let Some((seal, part)) = joined {
        wire.send(&part);
        wire.packets.seal(seal);
    }
    let mut out = Vec::new();
    handshake::write_protocol(&mut out, "test");
    wire.send(&out);
    let served = wire.message().map(|reply| {
        let mut r = Reader::new(&reply);
        r.u8().and_then(|_| handshake::read_protocol_reply(&mut r)).is_ok()
    });
    (answer, is_sealed, served)
}

fn says(answer: &[u8], code: u32) -> bool {
    answer.windows(4).any(|four| four == code.to_be_bytes())
}

#[test]
fn a_client_gets_the_encryption_that_it_asks_for() {
    let (_instance, at) = start(&[("encryption_types_server", "(AES256, AES128)")]);
    assert_eq!(Wire::open(&at).1, 0xc1, "it is offered");
    for (encryptions, checksums, is_sealed) in [
        (&[0, 15, 16, 17][..], &[0, 4, 5, 6][..], false),
        (&[0], &[0], false),
        (&[17, 0], &[0], true),
        (&[15], &[6], true),
        (&[0, 17], &[5], true),
        (&[16, 0], &[0], false),
    ] {
        let (_, was_sealed, served) = negotiate(&at, encryptions, checksums);
        assert_eq!((was_sealed, served), (is_sealed, Some(true)), "{encryptions:?} {checksums:?}");
    }
    let (answer, ..) = negotiate(&at, &[16], &[0]);
    assert!(says(&answer, 12650), "no algorithm that both take");
    // A client that does not take part is served without encryption.
    logon(&at).logoff().unwrap();
}

#[test]
fn who_does_not_encrypt_is_sent_away_where_that_is_required() {
    let (_instance, at) = start(&[("encryption_server", "required"), ("crypto_checksum_server", "rejected")]);
    assert_eq!(Wire::open(&at).1, 0xd1, "it is required");
    assert!(negotiate(&at, &[0, 17, 15], &[0, 5]).1);
    assert!(says(&negotiate(&at, &[0], &[0]).0, 12660), "the client rejects it");
    assert!(says(&negotiate(&at, &[17], &[5]).0, 12660), "a checksum is rejected here");
    let refused = NetSession::connect(&at, "u", "Tiger1").map(drop).map_err(|e| e.code());
    assert_eq!(refused, Err(12660), "a client without encryption says so");
    let (mut wire, _) = Wire::open(&at);
    let mut out = Vec::new();
    handshake::write_protocol(&mut out, "test");
    wire.send(&out);
    assert_eq!(wire.message(), None, "it goes on without an agreement");
}
