//! Clients that stop, break, or send garbage during the logon: each costs only a record of the listener process, and
//! delays no other client.

use crate::unproved::{listener, own_kb, until};
use crate::{PATIENCE, code, logon, start, sysdba};
use client::{NetAddress, NetSession, Stage, Stranger};
use net::oracle::auth::{Logon, Pairs, mode};
use net::oracle::{function, handshake, message, tns};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

/// A connection as bytes.
struct Raw(TcpStream);

impl Raw {
    fn open(at: &NetAddress) -> Raw {
        let s = TcpStream::connect((at.host.as_str(), at.port)).expect("somebody listens");
        s.set_read_timeout(Some(PATIENCE)).unwrap();
        s.set_nodelay(true).unwrap();
        Raw(s)
    }

    fn accepted(at: &NetAddress) -> Raw {
        let mut raw = Raw::open(at);
        raw.say(&hello(at));
        assert!(raw.hears() > 8, "it is accepted");
        raw
    }

    /// Versions and data types are negotiated.
    fn agreed(at: &NetAddress) -> Raw {
        let mut raw = Raw::accepted(at);
        for write in [|out: &mut Vec<u8>| handshake::write_protocol(out, "rude"), handshake::write_data_types] {
            let mut out = Vec::new();
            write(&mut out);
            raw.say(&packet(&out));
            assert!(raw.hears() > 8);
        }
        raw
    }

    fn say(&mut self, bytes: &[u8]) {
        // The server may have closed its end.
        let _ = self.0.write_all(bytes);
    }

    fn hears(&mut self) -> usize {
        self.0.read(&mut [0; 4096]).unwrap_or(0)
    }

    /// Whether the server ends the connection, whatever it sends before.
    fn is_cut(mut self) -> bool {
        loop {
            match self.0.read(&mut [0; 4096]) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(e) => return matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
            }
        }
    }
}

fn hello(at: &NetAddress) -> Vec<u8> {
    let mut out = Vec::new();
    let data = format!("(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME={})))", at.service);
    tns::Connect::encode(data.as_bytes(), 8192, &mut out);
    out
}

fn packet(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    tns::write_data(&mut out, message, 8192);
    out
}

fn first(user: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let logon = Logon { sequence: 1, user: user.into(), mode: mode::LOGON, pairs: Pairs::default() };
    logon.write(function::AUTH_PHASE_ONE, &mut out);
    out
}

#[test]
fn a_break_or_a_half_closed_connection_before_the_proof_ends_it() {
    let (instance, at) = start(&[]);
    let gate = listener(&instance);
    for half_closed in [false, true] {
        let end = |mut raw: Raw, what: &str| {
            if half_closed {
                raw.0.shutdown(Shutdown::Write).unwrap();
            } else {
                let mut out = Vec::new();
                tns::write_marker(&mut out, tns::marker::INTERRUPT);
                raw.say(&out);
            }
            assert!(raw.is_cut(), "{what}, half closed: {half_closed}");
        };
        end(Raw::open(&at), "nothing said");
        end(Raw::accepted(&at), "accepted");
        end(Raw::agreed(&at), "agreed");
        let mut named = Raw::agreed(&at);
        named.say(&packet(&first("u")));
        assert!(named.hears() > 8, "a challenge");
        end(named, "named");
        // In the middle of a message; a break would be part of the message.
        if half_closed {
            let mut half = Raw::agreed(&at);
            let whole = packet(&first("u"));
            half.say(&whole[..whole.len() / 2]);
            end(half, "half a message");
        }
    }
    logon(&at).logoff().unwrap();
    assert_eq!(listener(&instance), gate, "it is the same process still");
}

#[test]
fn a_client_that_takes_its_time_keeps_nobody_waiting() {
    let (instance, at) = start(&[("inbound_connect_timeout", "3")]);
    let gate = listener(&instance);
    // Single bytes, slowly, of a valid logon.
    let mut slow: Vec<(Raw, usize)> = (0..20).map(|_| (Raw::open(&at), 0)).collect();
    let whole = hello(&at);
    until("their time is over", || {
        for (raw, said) in &mut slow {
            raw.say(&whole[*said % whole.len()..][..1]);
            *said = (*said + 1).min(whole.len() - 2);
        }
        logon(&at).logoff().unwrap();
        slow.iter().all(|(raw, _)| {
            raw.0.set_nonblocking(true).unwrap();
            let gone = !matches!((&raw.0).read(&mut [0; 16]), Err(e) if e.kind() == ErrorKind::WouldBlock);
            raw.0.set_nonblocking(false).unwrap();
            gone
        })
    });
    assert_eq!(listener(&instance), gate);
}

#[test]
fn lengths_that_cannot_be_and_other_languages_are_cut_off() {
    let (instance, at) = start(&[]);
    let gate = listener(&instance);
    let before = own_kb(gate);
    // Before anything else: lengths of a packet, of connect data, and of garbage.
    let mut data_len = hello(&at);
    data_len[24..26].copy_from_slice(&[0xff, 0xff]);
    let mut offset = hello(&at);
    offset[26..28].copy_from_slice(&[0xff, 0xff]);
    let openings: [&[u8]; 8] = [
        &[0xff; 64],
        &[0, 0, 0, 0, 1, 0, 0, 0],
        &[0, 7, 0, 0, 1, 0, 0, 0],
        &[0xff, 0xff, 0xff, 0xff, 6, 0, 0, 0, 1, 2, 3],
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        // The client hello of TLS, to an address without TLS.
        &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &data_len,
        &offset,
    ];
    for (n, bytes) in openings.into_iter().enumerate() {
        let mut raw = Raw::open(&at);
        raw.say(bytes);
        let _ = raw.0.shutdown(Shutdown::Write);
        assert!(raw.is_cut(), "opening {n}");
    }
    // After the negotiation packets have lengths of 32 bits, and messages have counts and lengths of their own.
    let mut long = packet(&first("u"));
    long[..4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    let mut pairs = vec![message::FUNCTION, function::AUTH_PHASE_ONE, 1, 1, 1, 1, 1, 1, 1];
    pairs.extend([4, 0xff, 0xff, 0xff, 0xff, 1, 1]);
    let mut user = vec![message::FUNCTION, function::AUTH_PHASE_ONE, 1, 1];
    user.extend([4, 0xff, 0xff, 0xff, 0xff, 1, 1, 1, 1, 0, 1, 1]);
    user.resize(4000, b'u');
    for (n, bytes) in [long, packet(&pairs), packet(&user), packet(&[message::PROTOCOL; 30])].into_iter().enumerate() {
        let mut raw = Raw::agreed(&at);
        raw.say(&bytes);
        let _ = raw.0.shutdown(Shutdown::Write);
        assert!(raw.is_cut(), "message {n}");
    }
    // A call of a session, before there is a session.
    let mut raw = Raw::agreed(&at);
    raw.say(&packet(&[message::FUNCTION, function::PING, 1]));
    assert!(raw.is_cut(), "there is no session");
    assert_eq!(listener(&instance), gate, "nothing of it ends the process");
    assert!(own_kb(gate).saturating_sub(before) < 4 << 10);
    logon(&at).logoff().unwrap();
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
    assert!(!log.contains("ORA-00600") && !log.contains("panicked"), "{log}");
}

#[test]
fn only_those_who_may_enter_in_restricted_mode() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    let mut run = |sql: &str| c.execute(sql, &[]).map_err(|e| e.code()).map(drop);
    run("create user helper identified by Right1").unwrap();
    run("grant create session, restricted session to helper").unwrap();
    let before = logon(&at);
    let tries = || {
        ["u", "helper"].map(|user| {
            let password = if user == "u" { "Tiger1" } else { "Right1" };
            NetSession::connect(&at, user, password).err().map_or(0, |e| code(&e))
        })
    };
    let mut u = logon(&at);
    assert_eq!(u.execute("alter system enable restricted session").map_err(|e| code(&e)), Err(1031));
    assert_eq!(tries(), [0, 0]);
    run("alter system enable restricted session").unwrap();
    assert_eq!(tries(), [1035, 0]);
    let local = client::Credentials::password("u", "Tiger1");
    assert_eq!(instance.connect(&local).err().map(|e| e.code()), Some(1035));
    assert_eq!(NetSession::connect(&at, "u", "wrong").err().map(|e| code(&e)), Some(1017));
    assert_eq!(u.query("select 1 from dual").unwrap().len(), 1, "who is in stays");
    let logins = "select count(*) from v$instance where logins = 'RESTRICTED'";
    assert_eq!(crate::number(&sysdba(&instance).query(logins, &[]).unwrap().all().unwrap()), 1);
    run("alter system disable restricted session").unwrap();
    assert_eq!(tries(), [0, 0]);
    drop(before);
}

#[test]
fn logons_while_the_instance_closes_are_refused_or_cut_off() {
    let dir = std::env::temp_dir().join(format!("lw-closing-{}", std::process::id()));
    let (kept, at) = crate::unproved::Kept::start(&dir, "0");
    // Some clients wait with a challenge, some have a session, some keep connecting.
    let named: Vec<Stranger> = (0..8).map(|_| Stranger::open(&at, "system", Stage::Named).unwrap()).collect();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    // ORA-01017: SYSTEM is locked, and has no password; then ORA-01089 and the like, or no listener.
                    let e = NetSession::connect(&at, "system", "manager").err().expect("no session");
                    assert!(matches!(code(&e), 1017 | 1033 | 1089 | 12528 | 12537 | 12541 | 12545 | 3113 | 0), "{e}");
                }
            });
        }
        kept.stop(&dir);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    until("those with a challenge are cut off", || named.iter().all(Stranger::is_gone));
    let log = std::fs::read_to_string(dir.join("alert.log")).unwrap();
    assert!(!log.contains("ORA-00600"), "{log}");
    let (again, at) = crate::unproved::Kept::start(&dir, "0");
    assert_eq!(NetSession::connect(&at, "system", "manager").err().map(|e| code(&e)), Some(1017));
    again.stop(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
}
