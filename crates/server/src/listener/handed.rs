//! A client that has proved its password, encoded as a message: the supervisor passes it, with the socket, to a waiting
//! server process.
//!
//! Both ends are copies of one program, so the format has no version. An encrypted connection cannot be passed on; a
//! copy of the listener process serves such a client.

use super::logon;
use super::pool_client::Pooled;
use super::proved::Proved;
use super::tls::Transport;
use dictionary::Verifier;
use net::local::{Request, WireError, WireResult};
use net::oracle::auth::Logon;
use net::oracle::call;
use net::oracle::field::{Reader, Writer};
use net::oracle::function::AUTH_PHASE_TWO;
use net::oracle::handshake::Client;
use net::oracle::o5logon::SessionKey;
use net::oracle::tns::PacketBuffer;
use session::{Caller, Proof};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use zeroize::Zeroizing;

impl Proved {
    /// The message and the socket; `None` when this process must continue itself.
    pub fn to_message(&self) -> Option<(Zeroizing<Vec<u8>>, BorrowedFd<'_>)> {
        let (stream, packets, sdu) = self.line.as_ref().filter(|(stream, ..)| stream.is_plain())?;
        let unread = packets.unsealed()?;
        let mut out = Zeroizing::new(Vec::with_capacity(4 << 10));
        let Client {
            sized_text,
            byte_scale,
            field_version,
            takes_zone,
            takes_zone_version,
            reads_ends,
            knows_sessionless,
        } = self.client;
        let mut w = Writer::new(&mut out);
        for flag in [sized_text, byte_scale, takes_zone, takes_zone_version, reads_ends, knows_sessionless] {
            w.u8(flag.into());
        }
        w.u8(field_version);
        w.u32(*sdu);
        w.long_bytes(self.key.bytes());
        w.number(self.proof_ns);
        w.number(self.fork_began_ns);
        w.long_bytes(unread);
        w.long_bytes(self.proof.verifier().to_text().as_bytes());
        // The other fields are in the second message of the logon.
        let Caller { service, address, port, is_encrypted, .. } = &self.caller;
        w.long_bytes(service.as_bytes());
        w.long_bytes(address.as_bytes());
        w.number(*port);
        w.u8((*is_encrypted).into());
        let mut who = Vec::new();
        Request::Logon(Box::new(self.who.clone())).encode(&mut who);
        w.long_bytes(&who);
        w.u8(self.pooled.is_some().into());
        if let Some(Pooled { class, wants_new, is_back, class_number }) = &self.pooled {
            w.long_bytes(class.as_bytes());
            w.u8((*wants_new).into());
            w.u8((*is_back).into());
            w.number(*class_number);
        }
        self.second.write(AUTH_PHASE_TWO, w.out());
        Some((out, stream.as_fd()))
    }

    /// The inverse of [`Proved::to_message`].
    ///
    /// # Errors
    /// [`WireError`] for an invalid message.
    pub fn from_message(message: &[u8], socket: OwnedFd) -> WireResult<Proved> {
        let mut r = Reader::new(message);
        let mut flag = || r.u8().map(|flag| flag != 0);
        let [sized_text, byte_scale, takes_zone] = [flag()?, flag()?, flag()?];
        let [takes_zone_version, reads_ends, knows_sessionless] = [flag()?, flag()?, flag()?];
        let field_version = r.u8()?;
        let client = Client {
            sized_text,
            byte_scale,
            field_version,
            takes_zone,
            takes_zone_version,
            reads_ends,
            knows_sessionless,
        };
        let sdu = r.u32()?;
        let key = r.long_bytes()?.map(|bytes| Zeroizing::new(bytes.into_owned()));
        let key = key.and_then(|bytes| SessionKey::of(&bytes)).ok_or(WireError::BadValue)?;
        let (proof_ns, fork_began_ns) = (r.ub8()?, r.ub8()?);
        let mut packets = PacketBuffer::new();
        packets.accept(sdu);
        if reads_ends {
            packets.end_responses();
        }
        packets.extend(&r.long_bytes()?.unwrap_or_default());
        let verifier = Verifier::from_text(&r.long_text()?).ok_or(WireError::BadValue)?;
        let (service, address, port) = (r.long_text()?, r.long_text()?, r.ub2()?);
        let is_encrypted = r.u8()? != 0;
        let Request::Logon(who) = Request::decode(&r.long_bytes()?.unwrap_or_default())? else {
            return Err(WireError::BadValue);
        };
        let pooled = match r.u8()? {
            0 => None,
            _ => {
                let (class, wants_new, is_back) = (r.long_text()?, r.u8()? != 0, r.u8()? != 0);
                Some(Pooled { class, wants_new, is_back, class_number: r.ub2()? })
            }
        };
        let second: Logon = match call::read(&mut r, Client::USUAL)?.1.request {
            call::Request::LogonTwo(second) => *second,
            _ => return Err(WireError::BadValue),
        };
        r.finish()?;
        let is_pooled = pooled.is_some();
        let caller = Caller { service, address, port, is_encrypted, is_pooled, ..logon::caller(&second) };
        let mut proved = Proved::new(client, *who, second, key, Proof::of(verifier), proof_ns).called(caller);
        proved.fork_began_ns = fork_began_ns;
        proved.pooled = pooled;
        let stream = Transport::new(TcpStream::from(socket), None).map_err(|_| WireError::BadValue)?;
        proved.take_line(stream, packets, sdu);
        Ok(proved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::local;
    use net::oracle::auth::{Pairs, mode};
    use std::io::Read;

    #[test]
    fn a_client_survives_the_encoding_as_a_message() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let mut pairs = Pairs::default();
        pairs.push("SESSION_CLIENT_DRIVER_NAME", "a driver", 0);
        pairs.push("AUTH_ALTER_SESSION", "x".repeat(3000).as_str(), 1);
        pairs.push("AUTH_APPCTX_NSPACE", "CLIENTCONTEXT", 0);
        pairs.push("AUTH_APPCTX_ATTR", "a", 0);
        pairs.push("AUTH_APPCTX_VALUE", "", 0);
        let second = Logon { sequence: 7, user: "Ü[x]".into(), mode: mode::LOGON | mode::SYSDBA, pairs };
        let who = local::Logon { user: "Ü".into(), as_sysdba: true, program: "p".into(), ..local::Logon::default() };
        let caller = Caller {
            service: "sales".into(),
            address: "::1".into(),
            port: 65_535,
            is_encrypted: false,
            ..logon::caller(&second)
        };
        let usual = Client { takes_zone: true, reads_ends: true, knows_sessionless: true, ..Client::USUAL };
        let verifier = Verifier::new("Tiger1", [3; 16]);
        let key = SessionKey::of(&[9; 24]).unwrap();
        let mut proved = Proved::new(usual, who, second, key, Proof::of(verifier.clone()), u64::MAX).called(caller);
        let pooled = Pooled { class: "Ü.x".into(), wants_new: true, is_back: true, class_number: 300 };
        proved.pooled = Some(pooled.clone());
        proved.caller.is_pooled = true;
        assert!(proved.to_message().is_none(), "there is no connection");
        let mut packets = PacketBuffer::new();
        packets.accept(8192);
        packets.extend(&[1, 2, 3]);
        proved.take_line(Transport::new(socket.try_clone().unwrap(), None).unwrap(), packets, 8192);
        let (message, _) = proved.to_message().unwrap();
        let again = Proved::from_message(&message, socket.into()).unwrap();
        assert_eq!((again.client, &again.who, &again.second), (usual, &proved.who, &proved.second));
        assert_eq!(format!("{:?}", again.caller), format!("{:?}", proved.caller));
        assert_eq!((again.proof.verifier(), again.proof_ns), (&verifier, u64::MAX));
        assert_eq!(again.key.bytes(), [9; 24]);
        assert_eq!(again.pooled, Some(pooled));
        let (stream, packets, sdu) = again.line.as_ref().unwrap();
        assert!(packets.ends_responses());
        assert_eq!((packets.unsealed(), *sdu), (Some(&[1u8, 2, 3][..]), 8192));
        assert_eq!(stream.socket().peer_addr().unwrap(), client.local_addr().unwrap());
        for len in 0..message.len() {
            let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
            assert!(Proved::from_message(&message[..len], socket.into()).is_err(), "{len} bytes");
        }
        drop((proved, again));
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "no other descriptor is left");
    }
}
