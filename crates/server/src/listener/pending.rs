//! A connection that has not proved a password: its messages up to the proof.

use super::bounds::Address;
use super::connect::{self, Answer, Wished};
use super::logon;
use super::pool_client::Pooled;
use super::proved::Proved;
use super::sockets::Native;
use super::tls::Transport;
use instance::Instance;
use net::local::{WireError, WireResult};
use net::oracle::auth::Logon;
use net::oracle::call::{self, Request};
use net::oracle::field::Reader;
use net::oracle::handshake::{self, Client};
use net::oracle::native::{self, Agreement, Offer};
use net::oracle::o5logon::Challenge;
use net::oracle::tns::{self, Connect, NativeServices, Packet, PacketBuffer, kind};
use session::Doorkeeper;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use types::Ora;

/// Largest number of bytes of a message before the client is known.
const MESSAGE_MAX: usize = 48 << 10;

/// Largest number of packets of a message before the client is known: the check whether a message is complete takes
/// longer the more has arrived.
const PACKETS_MAX: u32 = 128;

/// A connection that has not proved a password.
pub(super) struct Pending {
    pub(super) stream: Transport,
    pub(super) from: Address,
    peer: SocketAddr,
    is_encrypted: bool,
    /// The requested service; empty for a SID.
    service: String,
    /// The pool attributes of the connect data, if a pooled server was requested.
    pooled: Option<Wished>,
    pub(super) accepted: Instant,
    pub(super) phase: Phase,
    pub(super) packets: PacketBuffer,
    /// The longest packet; 0 until the connection is accepted.
    pub(super) sdu: u32,
    message: Vec<u8>,
    /// Packets of the message.
    parts: u32,
    /// Bytes of memory counted for the connection.
    pub(super) held: usize,
    /// The number of wrong passwords.
    failures: u64,
    native: Arc<Native>,
    /// The position on native services sent to the client, until they are agreed on.
    native_services: NativeServices,
    /// The client was told that the ends of responses are marked.
    reads_ends: bool,
}

/// The message that is expected.
pub(super) enum Phase {
    Connect,
    ConnectData(Box<Connect>, Vec<u8>),
    Protocol,
    /// The client's part of the key exchange.
    NativeKey(Box<Agreement>),
    DataTypes,
    LogonOne(Client),
    LogonTwo(Client, Box<Named>),
    /// The proof has arrived, and its check takes long.
    Slow(Client, Box<Named>, Box<Logon>),
    /// The password was wrong; the client is told at the end of the interval.
    Wrong(Client),
    /// The client reads its refusal.
    Closing,
}

/// A client that has named a user.
pub(super) struct Named {
    first: Logon,
    verifier: dictionary::Verifier,
    challenge: Challenge,
    made_ns: u64,
}

/// The next step for a connection.
pub(super) enum Step {
    /// Waits for more bytes.
    Wait,
    /// Ends the connection.
    Drop,
    /// Closes the connection after the client has read the last message.
    Close,
    Slow,
    /// The password was wrong.
    Wrong(Box<Wrong>),
    Proved(Box<Proved>),
}

/// A wrong password, or the right one of a locked account, that is not answered yet. It is counted even if its
/// connection has ended by then.
pub(super) struct Wrong {
    pub(super) who: net::local::Logon,
    pub(super) sequence: u8,
    /// The password is right, and the account is locked.
    pub(super) is_right: bool,
    /// The answer, once the failure is counted.
    pub(super) refusal: Option<Ora>,
}

impl Pending {
    /// A connection that was just accepted.
    pub(super) fn new(stream: Transport, peer: SocketAddr, is_encrypted: bool, native: Arc<Native>) -> Pending {
        Pending {
            from: Address::of(&peer),
            peer,
            is_encrypted,
            service: String::new(),
            pooled: None,
            accepted: Instant::now(),
            phase: Phase::Connect,
            packets: PacketBuffer::new(),
            sdu: 0,
            message: Vec::new(),
            parts: 0,
            held: stream.held(),
            stream,
            failures: 0,
            native_services: native.services(is_encrypted),
            native,
            reads_ends: false,
        }
    }

    /// Reads the complete packets.
    pub(super) fn advance(&mut self, instance: &'static Instance, keeper: &Doorkeeper) -> Step {
        loop {
            let packet = match self.packets.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Step::Wait,
                Err(_) => return Step::Drop,
            };
            let step = match &mut self.phase {
                Phase::Connect => match connect_packet(&packet) {
                    Some((connect, Some(data))) => self.connect(&connect, &data, instance),
                    Some((connect, None)) => {
                        self.phase = Phase::ConnectData(Box::new(connect), Vec::new());
                        Step::Wait
                    }
                    None => Step::Drop,
                },
                Phase::ConnectData(connect, data) => match more_data(&packet, connect.data_len, data) {
                    Ok(true) => {
                        let (connect, data) = (connect.clone(), std::mem::take(data));
                        self.connect(&connect, &data, instance)
                    }
                    Ok(false) => Step::Wait,
                    Err(_) => Step::Drop,
                },
                Phase::Slow(..) | Phase::Wrong(_) | Phase::Closing => Step::Drop,
                _ => match packet.data() {
                    Ok((flags, bytes)) if packet.kind == kind::DATA && flags & tns::END_OF_FILE == 0 => {
                        if self.message.len() + bytes.len() > MESSAGE_MAX || self.parts >= PACKETS_MAX {
                            let message = std::mem::take(&mut self.message);
                            return self.not_understood(&message);
                        }
                        self.message.extend_from_slice(bytes);
                        self.parts += 1;
                        // Packets after the client's part of a key are sealed with that key.
                        let waits = self.packets.has_packet() && !matches!(self.phase, Phase::NativeKey(_));
                        if waits { Step::Wait } else { self.message(keeper) }
                    }
                    _ => Step::Drop,
                },
            };
            if !matches!(step, Step::Wait) {
                return step;
            }
        }
    }

    /// Sends all of `out`. Messages before the proof fit into any socket's buffer, so a client without room for them is
    /// dropped.
    fn send(&mut self, out: &[u8]) -> bool {
        self.stream.write(out).is_ok_and(|n| n == out.len()) && !self.stream.has_unsent()
    }

    fn send_message(&mut self, message: &[u8]) -> bool {
        let mut out = Vec::with_capacity(message.len() + 64);
        self.packets.write_data(&mut out, message, self.sdu);
        self.send(&out)
    }

    fn send_then(&mut self, message: &[u8], next: Phase) -> Step {
        self.phase = next;
        if self.send_message(message) { Step::Wait } else { Step::Drop }
    }

    fn say_last(&mut self, out: &[u8]) -> Step {
        if self.send(out) { Step::Close } else { Step::Drop }
    }

    fn connect(&mut self, connect: &Connect, data: &[u8], instance: &Instance) -> Step {
        match connect::answer(connect, data, instance, self.native_services, self.is_encrypted) {
            Answer::Accept(out, sdu, service, pooled) => {
                self.sdu = sdu;
                self.service = service;
                self.pooled = pooled;
                self.packets.accept(sdu);
                self.reads_ends = connect.reads_ends;
                self.phase = Phase::Protocol;
                if self.send(&out) { Step::Wait } else { Step::Drop }
            }
            Answer::Last(out) => self.say_last(&out),
            Answer::Nothing => Step::Drop,
        }
    }

    /// Reads the message if it is complete.
    fn message(&mut self, keeper: &Doorkeeper) -> Step {
        let message = std::mem::take(&mut self.message);
        let phase = std::mem::replace(&mut self.phase, Phase::Closing);
        let read = self.read_message(phase, &message, keeper);
        match read {
            Ok(step) => {
                self.parts = 0;
                step
            }
            Err((WireError::Truncated, phase)) => {
                self.phase = phase;
                self.message = message;
                Step::Wait
            }
            Err((_, phase)) => {
                self.phase = phase;
                self.not_understood(&message)
            }
        }
    }

    /// Ends a connection with an invalid or too long message. A client in its logon gets an error.
    fn not_understood(&mut self, message: &[u8]) -> Step {
        match self.phase {
            Phase::LogonOne(_) | Phase::LogonTwo(..) => {
                self.refuse(&Ora::new(3106), message.get(2).copied().unwrap_or_default())
            }
            _ => Step::Drop,
        }
    }

    fn read_message(
        &mut self,
        phase: Phase,
        message: &[u8],
        keeper: &Doorkeeper,
    ) -> std::result::Result<Step, (WireError, Phase)> {
        match phase {
            Phase::Protocol if message.starts_with(&native::MAGIC) => match Offer::read(message) {
                Ok(offer) => Ok(self.agree(&offer)),
                Err(e) => Err((e, phase)),
            },
            Phase::NativeKey(agreement) => match agreement.seal(message) {
                Ok(seal) => {
                    self.packets.seal(seal);
                    self.phase = Phase::Protocol;
                    Ok(Step::Wait)
                }
                Err(e) => Err((e, Phase::NativeKey(agreement))),
            },
            // A required service was not agreed on.
            Phase::Protocol if self.native_services == NativeServices::Required => Ok(Step::Drop),
            Phase::Protocol => match whole(message, logon::read_protocol) {
                Ok(_) => {
                    let mut out = Vec::new();
                    handshake::write_protocol_reply(&mut out, instance::BANNER);
                    Ok(self.send_then(&out, Phase::DataTypes))
                }
                Err(e) => Err((e, phase)),
            },
            Phase::DataTypes => match whole(message, logon::read_data_types) {
                Ok(mut client) => {
                    client.reads_ends &= self.reads_ends;
                    let mut out = Vec::new();
                    handshake::write_data_types_reply(&mut out, client, 0);
                    let step = self.send_then(&out, Phase::LogonOne(client));
                    if client.reads_ends {
                        self.packets.end_responses();
                    }
                    Ok(step)
                }
                Err(e) => Err((e, phase)),
            },
            Phase::LogonOne(client) => match whole(message, |r| call::read(r, client)) {
                Ok((_, call)) => match call.request {
                    Request::LogonOne(first) => Ok(self.challenge(client, *first, keeper)),
                    _ => Ok(Step::Drop),
                },
                Err(e) => Err((e, phase)),
            },
            Phase::LogonTwo(client, named) => match whole(message, |r| call::read(r, client)) {
                Ok((_, call)) => match call.request {
                    Request::LogonTwo(second) => {
                        let is_slow = named.challenge.is_slow(second.pairs.get("AUTH_PBKDF2_SPEEDY_KEY"));
                        self.phase = Phase::Slow(client, named, second);
                        Ok(if is_slow { Step::Slow } else { self.look_at_proof() })
                    }
                    _ => Ok(Step::Drop),
                },
                Err(e) => Err((e, Phase::LogonTwo(client, named))),
            },
            phase => Err((WireError::BadValue, phase)),
        }
    }

    /// Answers a client's offer of native encryption and checksums.
    fn agree(&mut self, offer: &Offer) -> Step {
        if self.native_services == NativeServices::Off {
            return Step::Drop;
        }
        self.native_services = NativeServices::Off;
        let (Ok(pair), Ok(vector)) = (self.native.pair(), os::random::bytes()) else { return Step::Drop };
        let mut out = Vec::new();
        let Native { encryption, checksum, .. } = &*self.native;
        match Agreement::answer(offer, encryption, checksum, &pair, vector, &mut out) {
            Ok(Some(agreement)) => self.send_then(&out, Phase::NativeKey(Box::new(agreement))),
            Ok(None) => self.send_then(&out, Phase::Protocol),
            Err(_) if self.send_message(&out) => Step::Close,
            Err(_) => Step::Drop,
        }
    }

    /// Answers the name of a user with a challenge.
    fn challenge(&mut self, client: Client, first: Logon, keeper: &Doorkeeper) -> Step {
        let (user, _) = session::split_name(&first.user);
        if user.is_empty() {
            return self.refuse(&Ora::new(1017), first.sequence);
        }
        let began = os::clock::now_ns();
        let verifier = match keeper.verifier(user) {
            Ok(verifier) => verifier,
            Err(e) => return self.refuse(&e, first.sequence),
        };
        let random = match os::random::bytes() {
            Ok(random) => random,
            Err(e) => return self.refuse(&Ora::internal(e), first.sequence),
        };
        let Some(stored) = verifier.stored() else { return self.refuse(&Ora::new(1017), first.sequence) };
        let challenge = Challenge::new(stored.clone(), &random);
        let out = logon::challenge_message(&challenge, first.sequence);
        let made_ns = os::clock::now_ns() - began;
        let named = Box::new(Named { first, verifier, challenge, made_ns });
        self.send_then(&out, Phase::LogonTwo(client, named))
    }

    /// Checks the proof of the password.
    pub(super) fn look_at_proof(&mut self) -> Step {
        let phase = std::mem::replace(&mut self.phase, Phase::Closing);
        let Phase::Slow(client, named, second) = phase else { return Step::Drop };
        let began = os::clock::now_ns();
        let Named { first, verifier, challenge, made_ns } = *named;
        let key = match logon::prove(&challenge, &second) {
            Ok(key) => key.filter(|_| second.user == first.user),
            Err(e) => return self.refuse(&e, second.sequence),
        };
        let who = logon::who(&first, &second);
        let pooled = match self.pooled.take().map(|wished| Pooled::of(&wished, &second)).transpose() {
            Ok(pooled) => pooled,
            Err(e) if key.is_some() => return self.refuse(&e, second.sequence),
            Err(_) => None,
        };
        let Some(key) = key else {
            self.phase = Phase::Wrong(client);
            return Step::Wrong(Box::new(Wrong { who, sequence: second.sequence, is_right: false, refusal: None }));
        };
        let proof_ns = made_ns + (os::clock::now_ns() - began);
        let caller = session::Caller {
            service: std::mem::take(&mut self.service),
            address: self.peer.ip().to_canonical().to_string(),
            port: self.peer.port(),
            is_encrypted: self.is_encrypted,
            native: self.packets.strength(),
            is_pooled: pooled.is_some(),
            ..logon::caller(&second)
        };
        let mut proved = Proved::new(client, who, *second, key, session::Proof::of(verifier), proof_ns);
        proved.pooled = pooled;
        Step::Proved(Box::new(proved.called(caller)))
    }

    /// Answers a wrong password. The client may try again until it has failed `most` times.
    pub(super) fn refuse_password(&mut self, e: &Ora, sequence: u8, most: u64) -> Step {
        self.failures += 1;
        match std::mem::replace(&mut self.phase, Phase::Closing) {
            Phase::Wrong(client) if self.failures < most => {
                self.send_then(&logon::refusal_message(e, sequence), Phase::LogonOne(client))
            }
            _ => self.refuse(e, sequence),
        }
    }

    pub(super) fn refuse(&mut self, e: &Ora, sequence: u8) -> Step {
        let message = logon::refusal_message(e, sequence);
        if self.send_message(&message) { Step::Close } else { Step::Drop }
    }

    /// Waits only for the client to read the last message.
    pub(super) fn close(&mut self) {
        self.stream.end();
        self.phase = Phase::Closing;
        self.packets = PacketBuffer::new();
        self.message = Vec::new();
    }

    /// Frees unused memory. Returns the memory still used.
    pub(super) fn shrink(&mut self) -> usize {
        self.packets.shrink();
        let named = match &self.phase {
            Phase::ConnectData(_, data) => data.capacity(),
            Phase::NativeKey(agreement) => agreement.held(),
            Phase::LogonTwo(_, named) => size_of::<Named>() + named.first.pairs.held(),
            Phase::Slow(_, named, second) => size_of::<Named>() + named.first.pairs.held() + second.pairs.held(),
            _ => 0,
        };
        size_of::<Pending>() + self.stream.held() + self.packets.held() + self.message.capacity() + named
    }
}

/// Reads a message that must end with its last field.
fn whole<T>(message: &[u8], read: impl FnOnce(&mut Reader<'_>) -> WireResult<T>) -> WireResult<T> {
    let mut r = Reader::new(message);
    let value = read(&mut r)?;
    r.finish()?;
    Ok(value)
}

/// The contents of a CONNECT packet, with its data unless they follow.
fn connect_packet(packet: &Packet<'_>) -> Option<(Connect, Option<Vec<u8>>)> {
    if packet.kind != kind::CONNECT {
        return None;
    }
    let mut connect = Connect::decode(packet.body).ok()?;
    let data = connect.data.take();
    Some((connect, data))
}

/// Adds a packet of connect data; returns whether the data are complete.
fn more_data(packet: &Packet<'_>, len: usize, data: &mut Vec<u8>) -> WireResult<bool> {
    // After two bytes of flags.
    let part = packet.body.get(2..).filter(|part| packet.kind == kind::DATA && !part.is_empty());
    data.extend_from_slice(part.ok_or(WireError::Truncated)?);
    if data.len() > len { Err(WireError::LengthOutOfBounds) } else { Ok(data.len() == len) }
}
