//! The logon: both sides say what they can, the client names a user and proves the password, the session opens.

use super::Secret;
use super::line::Line;
use super::watch::Watched;
use dictionary::Verifier;
use net::local;
use net::oracle::auth::{self, Logon, Pairs, mode};
use net::oracle::call::{self, Request};
use net::oracle::handshake::{self, Client};
use net::oracle::o5logon::{self, Challenge, Proof, SessionKey};
use net::oracle::reply::{Outcome, status};
use net::oracle::{field::Reader, message};
use params::Param;
use session::{BANNER, ConnectTimes, Guest, Instance, Session};
use sha2::{Digest, Sha512};
use std::time::Instant;
use types::{Ora, Result};

/// 19.0.0.0.0, as clients read it.
pub const VERSION_NUMBER: u32 = 19 << 24;

/// A session that has opened.
pub struct Opened {
    pub session: Session,
    pub client: Client,
    pub watched: Watched,
}

/// Opens a session; `None` when the connection is over.
pub fn log_on(
    line: &mut Line,
    instance: &'static Instance,
    secret: Secret,
    times: ConnectTimes,
    deadline: Instant,
) -> Option<Opened> {
    let client = agree(line, deadline)?;
    let first = hear_logon(line, client, deadline, |request| match request {
        Request::LogonOne(logon) => Some(logon),
        _ => None,
    })?;
    let sequence = first.sequence;
    match open(line, instance, secret, client, *first, times, deadline) {
        Ok(opened) => opened,
        Err((sequence_now, e)) => {
            turn_away(line, &e, sequence_now.unwrap_or(sequence));
            None
        }
    }
}

/// The error of a logon, with the number of the call it answers if that is not the first.
type Refusal = (Option<u8>, Ora);

fn open(
    line: &mut Line,
    instance: &'static Instance,
    secret: Secret,
    client: Client,
    first: Logon,
    times: ConnectTimes,
    deadline: Instant,
) -> std::result::Result<Option<Opened>, Refusal> {
    let early = |e: Ora| (None, e);
    if first.user.is_empty() {
        return Err(early(Ora::new(1017)));
    }
    let stand_in = |name: &str| secret.verifier(name);
    let guest = Guest::welcome(instance, &who(&first), &stand_in, times).map_err(early)?;
    let began = os::clock::now_ns();
    let random = os::random::bytes().map_err(|e| early(Ora::internal(e)))?;
    let challenge = Challenge::new(guest.verifier().key(), guest.verifier().salt(), &random);
    let made_ns = os::clock::now_ns() - began;
    let mut out = Vec::new();
    auth::write_reply(&mut out, &challenge_pairs(&challenge));
    succeeded(first.sequence).write(&mut out);
    if !line.send_message(&out, &mut || true) {
        return Ok(None);
    }
    let heard = hear_logon(line, client, deadline, |request| match request {
        Request::LogonTwo(logon) => Some(logon),
        _ => None,
    });
    let Some(second) = heard else { return Ok(None) };
    let late = |e: Ora| (Some(second.sequence), e);
    let began = os::clock::now_ns();
    let proved = prove(&challenge, &second).map_err(late)?;
    let as_sysdba = second.mode & mode::SYSDBA != 0;
    let proof_ns = made_ns + (os::clock::now_ns() - began);
    let key = proved.filter(|_| second.user == first.user);
    let mut session = guest.admit(key.is_some(), as_sysdba, proof_ns).map_err(late)?;
    let Some(key) = key else { return Err(late(Ora::new(1017))) };
    let watched = watched(&session);
    let pairs = match settle(&mut session, &second.pairs).and_then(|()| welcome_pairs(instance, &session, &key)) {
        Ok(pairs) => pairs,
        Err(e) => {
            session.end();
            return Err(late(e));
        }
    };
    out.clear();
    auth::write_reply(&mut out, &pairs);
    succeeded(second.sequence).write(&mut out);
    if !line.send_message(&out, &mut || true) {
        session.end();
        return Ok(None);
    }
    line.trust();
    Ok(Some(Opened { session, client, watched }))
}

/// Versions and data types.
fn agree(line: &mut Line, deadline: Instant) -> Option<Client> {
    let of = |wanted: u8, r: &mut Reader<'_>| match r.u8()? {
        kind if kind == wanted => Ok(()),
        other => Err(local::WireError::UnknownTag(other)),
    };
    line.hear_message(deadline, |r| of(message::PROTOCOL, r).and_then(|()| handshake::read_protocol(r)))?;
    let mut out = Vec::new();
    handshake::write_protocol_reply(&mut out, BANNER);
    if !line.send_message(&out, &mut || true) {
        return None;
    }
    let client =
        line.hear_message(deadline, |r| of(message::DATA_TYPES, r).and_then(|()| handshake::read_data_types(r)))?;
    out.clear();
    handshake::write_data_types_reply(&mut out);
    line.send_message(&out, &mut || true).then_some(client)
}

fn hear_logon(
    line: &mut Line,
    client: Client,
    deadline: Instant,
    pick: impl Fn(Request) -> Option<Box<Logon>>,
) -> Option<Box<Logon>> {
    line.hear_message(deadline, |r| call::read(r, client)).and_then(|(_, call)| pick(call.request))
}

/// What `v$session` shows of the client.
fn who(logon: &Logon) -> local::Logon {
    let get = |key: &str| logon.pairs.get(key).unwrap_or_default().to_string();
    local::Logon {
        user: logon.user.clone(),
        program: get("AUTH_PROGRAM_NM"),
        machine: get("AUTH_MACHINE"),
        terminal: get("AUTH_TERMINAL"),
        os_user: get("AUTH_SID"),
        process_id: get("AUTH_PID").parse().unwrap_or(0),
        ..local::Logon::default()
    }
}

fn challenge_pairs(challenge: &Challenge) -> Pairs {
    let mut pairs = Pairs::default();
    pairs.push("AUTH_SESSKEY", challenge.session_key(), 0);
    pairs.push("AUTH_VFR_DATA", challenge.salt(), o5logon::VERIFIER_TYPE);
    pairs.push("AUTH_PBKDF2_CSK_SALT", challenge.combine_salt(), 0);
    pairs.push("AUTH_PBKDF2_VGEN_COUNT", o5logon::ROUNDS.to_string(), 0);
    pairs.push("AUTH_PBKDF2_SDER_COUNT", o5logon::COMBINE_ROUNDS.to_string(), 0);
    pairs
}

/// The key of the conversation if the password was proved.
fn prove(challenge: &Challenge, logon: &Logon) -> Result<Option<SessionKey>> {
    let pairs = &logon.pairs;
    let unknown = ["AUTH_NEWPASSWORD", "AUTH_TOKEN", "PROXY_CLIENT_NAME"].iter().any(|key| pairs.get(key).is_some());
    if unknown || logon.mode & (mode::CHANGE_PASSWORD | mode::OTHERS) != 0 {
        return Err(Ora::unsupported());
    }
    let (Some(session_key), Some(password)) = (pairs.get("AUTH_SESSKEY"), pairs.get("AUTH_PASSWORD")) else {
        return Err(Ora::new(1005));
    };
    let speedy_key = pairs.get("AUTH_PBKDF2_SPEEDY_KEY");
    Ok(challenge.check(&Proof { session_key, speedy_key, password }))
}

impl Secret {
    /// The verifier of a user that there is not: always the same for a name, and no password's.
    fn verifier(&self, name: &str) -> Verifier {
        let hash: [u8; 64] = Sha512::new().chain_update(self.0).chain_update(name.to_uppercase()).finalize().into();
        let key: [u8; 64] = Sha512::new().chain_update(hash).chain_update(self.0).finalize().into();
        let mut salt = [0; 16];
        salt.copy_from_slice(&hash[..16]);
        Verifier::nobody(salt, key)
    }
}

/// Runs what the client wants its session to be set to.
fn settle(session: &mut Session, pairs: &Pairs) -> Result<()> {
    for statement in auth::statements(pairs.get("AUTH_ALTER_SESSION").unwrap_or_default()) {
        let is_setting = statement.get(..13).is_some_and(|start| start.eq_ignore_ascii_case("alter session"));
        if !is_setting {
            return Err(Ora::new(2248));
        }
        session.run(statement)?;
    }
    Ok(())
}

fn watched(session: &Session) -> Watched {
    let welcome = session.welcome();
    Watched { sid: welcome.sid, serial: welcome.serial, key: welcome.cancel_key }
}

/// What the client is told of its session.
fn welcome_pairs(instance: &Instance, session: &Session, key: &SessionKey) -> Result<Pairs> {
    let params = instance.params();
    let welcome = session.welcome();
    let random = os::random::bytes().map_err(Ora::internal)?;
    let unique = params.get(Param::DbUniqueName);
    let mut pairs = Pairs::default();
    let mut add = |key: &str, value: String| pairs.push(key, value, 0);
    add("AUTH_VERSION_STRING", "- Production".into());
    add("AUTH_VERSION_SQL", "24".into());
    add("AUTH_XACTION_TRAITS", "3".into());
    add("AUTH_VERSION_NO", VERSION_NUMBER.to_string());
    add("AUTH_SESSION_ID", welcome.sid.to_string());
    // A serial number has 16 bits for clients.
    add("AUTH_SERIAL_NUM", (welcome.serial & 0xffff).to_string());
    add("AUTH_INSTANCE_NO", "1".into());
    add("AUTH_SERVER_PID", welcome.server_process.to_string());
    add("AUTH_DBNAME", welcome.database.clone());
    add("AUTH_INSTANCENAME", welcome.instance.clone());
    add("AUTH_SC_INSTANCE_NAME", welcome.instance);
    add("AUTH_SC_SERVICE_NAME", unique.clone());
    add("AUTH_SC_DBUNIQUE_NAME", unique);
    add("AUTH_SC_DB_DOMAIN", params.get(Param::DbDomain));
    add("AUTH_MAX_OPEN_CURSORS", session.parameter(Param::OpenCursors).clamp(1, 65_535).to_string());
    add("AUTH_MAX_IDEN_LENGTH", "128".into());
    add("AUTH_SVR_RESPONSE", key.server_response(&random));
    Ok(pairs)
}

fn succeeded(sequence: u8) -> Outcome {
    Outcome { status: status::END_OF_CALL, sequence, ..Outcome::default() }
}

/// Says why there is no session; nothing follows.
fn turn_away(line: &mut Line, e: &Ora, sequence: u8) {
    let outcome = Outcome { error: e.code(), message: e.to_string(), ..succeeded(sequence) };
    let mut message = Vec::new();
    outcome.write(&mut message);
    if line.send_message(&message, &mut || true) {
        line.close_behind(&[]);
    }
}
