//! The logon in two parts: the gate reads the user name and checks the proof; the server process opens the session.

use super::line::Line;
use super::proved::Proved;
use super::watch::Watched;
use crate::alert::AlertLog;
use instance::{ConnectTimes, Instance};
use net::local::{self, WireResult};
use net::oracle::auth::{self, Logon, Pairs, mode};
use net::oracle::handshake::{self, Client};
use net::oracle::o5logon::{self, Challenge, Proof as Given, SessionKey};
use net::oracle::reply::{self, Outcome, status};
use net::oracle::{field::Reader, message};
use params::Param;
use session::{Caller, Session};
use types::{Ora, Result};

/// 19.0.0.0.0, in the form that clients read.
pub const VERSION_NUMBER: u32 = 19 << 24;

/// A session that was opened.
pub struct Opened {
    pub session: Session,
    pub watched: Watched,
}

/// Opens the session; `None` when the connection is over.
pub fn log_on(
    line: &mut Line,
    instance: &'static Instance,
    proved: &Proved,
    forked_ns: u64,
    alert: &AlertLog,
) -> Option<Opened> {
    let times = ConnectTimes {
        fork_ns: forked_ns.saturating_sub(proved.fork_began_ns),
        set_up_ns: os::clock::now_ns().saturating_sub(forked_ns),
        authenticate_ns: proved.proof_ns,
        ..ConnectTimes::default()
    };
    let opened = open(line, instance, proved, times);
    if let Some(entry) = session::alert_entry(instance, &proved.who, opened.as_ref().err()) {
        alert.write(&entry);
    }
    match opened {
        Ok(opened) => opened,
        Err(e) => {
            turn_away(line, &e, proved.second.sequence);
            None
        }
    }
}

fn open(line: &mut Line, instance: &'static Instance, proved: &Proved, times: ConnectTimes) -> Result<Option<Opened>> {
    let session = begin(instance, proved, times)?;
    let watched = watched(&session);
    if !greet(line, instance, &session, proved)? {
        return Ok(None);
    }
    Ok(Some(Opened { session, watched }))
}

/// Opens a session for the client and applies its settings. On failure the session ends.
pub(super) fn begin(instance: &'static Instance, proved: &Proved, times: ConnectTimes) -> Result<Session> {
    let mut session = Session::logon_proved(instance, &proved.who_changes()?, &proved.proof, &proved.caller, times)?;
    settle(&mut session, &proved.second.pairs)?;
    Ok(session)
}

/// Sends the client the attributes of its session; false when it is gone.
pub(super) fn greet(line: &mut Line, instance: &Instance, session: &Session, proved: &Proved) -> Result<bool> {
    let pairs = welcome_pairs(instance, session, &proved.key)?;
    let mut out = Vec::new();
    auth::write_reply(&mut out, &pairs);
    if let Some(warning) = session.logon_warning() {
        reply::write_warning(&mut out, warning.code(), &warning.to_string());
    }
    succeeded(proved.second.sequence).write(&mut out);
    let is_said = line.send_message(&out, &mut || true);
    line.trust();
    Ok(is_said)
}

fn of_kind(wanted: u8, r: &mut Reader<'_>) -> WireResult<()> {
    match r.u8()? {
        kind if kind == wanted => Ok(()),
        other => Err(local::WireError::UnknownTag(other)),
    }
}

/// Reads the message about versions.
///
/// # Errors
/// [`local::WireError`] for an invalid message.
pub fn read_protocol(r: &mut Reader<'_>) -> WireResult<String> {
    of_kind(message::PROTOCOL, r).and_then(|()| handshake::read_protocol(r))
}

/// Reads the message about data types.
///
/// # Errors
/// Those of [`read_protocol`].
pub fn read_data_types(r: &mut Reader<'_>) -> WireResult<Client> {
    of_kind(message::DATA_TYPES, r).and_then(|()| handshake::read_data_types(r))
}

/// Characters that are kept of the client's attributes, and of a user's name, which may be quoted.
const SHOWN_MAX: usize = 256;
const NAME_MAX: usize = 1024;

/// The client's attributes for `v$session`.
pub fn who(first: &Logon, second: &Logon) -> local::Logon {
    // The attributes are displayed, and may be kept for a second, so their length is bounded.
    let get = |key: &str| first.pairs.get(key).unwrap_or_default().chars().take(SHOWN_MAX).collect::<String>();
    local::Logon {
        user: session::split_name(&first.user).0.chars().take(NAME_MAX).collect(),
        as_sysdba: second.mode & mode::SYSDBA != 0,
        program: get("AUTH_PROGRAM_NM"),
        machine: get("AUTH_MACHINE"),
        terminal: get("AUTH_TERMINAL"),
        os_user: get("AUTH_SID"),
        process_id: get("AUTH_PID").parse().unwrap_or(0),
        ..local::Logon::default()
    }
}

/// The attributes of the client in the second message of a logon.
pub fn caller(second: &Logon) -> Caller {
    let pairs = &second.pairs;
    let get = |key: &str| pairs.get(key).unwrap_or_default().trim();
    let mut contexts: Vec<[String; 3]> = Vec::new();
    for (key, value, _) in &pairs.0 {
        match (key.as_str(), contexts.last_mut()) {
            ("AUTH_APPCTX_NSPACE", _) => contexts.push([value.clone(), String::new(), String::new()]),
            ("AUTH_APPCTX_ATTR", Some(last)) => last[1].clone_from(value),
            ("AUTH_APPCTX_VALUE", Some(last)) => last[2].clone_from(value),
            _ => {}
        }
    }
    Caller {
        driver: get("SESSION_CLIENT_DRIVER_NAME").chars().take(SHOWN_MAX).collect(),
        version: get("SESSION_CLIENT_VERSION").parse().unwrap_or(0),
        charset: get("SESSION_CLIENT_CHARSET").parse().unwrap_or(0),
        contexts,
        client: pairs.get("PROXY_CLIENT_NAME").or(session::split_name(&second.user).1).map(str::to_owned),
        edition: pairs.get("AUTH_ORA_EDITION").map(str::to_owned),
        ..Caller::default()
    }
}

/// The answer to the name of a user.
pub fn challenge_message(challenge: &Challenge, sequence: u8) -> Vec<u8> {
    let mut out = Vec::new();
    auth::write_reply(&mut out, &challenge_pairs(challenge));
    succeeded(sequence).write(&mut out);
    out
}

/// The packet that refuses a session to a client.
pub fn refusal_message(e: &Ora, sequence: u8) -> Vec<u8> {
    let outcome = Outcome { error: e.code(), message: e.to_string(), ..succeeded(sequence) };
    let mut message = Vec::new();
    outcome.write(&mut message);
    message
}

fn challenge_pairs(challenge: &Challenge) -> Pairs {
    let mut pairs = Pairs::default();
    pairs.push("AUTH_SESSKEY", challenge.session_key(), 0);
    let (salt, kind) = challenge.salt();
    pairs.push("AUTH_VFR_DATA", salt, kind);
    pairs.push("AUTH_PBKDF2_CSK_SALT", challenge.combine_salt(), 0);
    pairs.push("AUTH_PBKDF2_VGEN_COUNT", o5logon::ROUNDS.to_string(), 0);
    pairs.push("AUTH_PBKDF2_SDER_COUNT", o5logon::COMBINE_ROUNDS.to_string(), 0);
    pairs
}

/// The key of the conversation if the password was proved.
///
/// # Errors
/// The client requests an unsupported privilege, or proves nothing.
pub fn prove(challenge: &Challenge, logon: &Logon) -> Result<Option<SessionKey>> {
    let pairs = &logon.pairs;
    let unknown = pairs.get("AUTH_TOKEN").is_some() || logon.mode & mode::TOKEN != 0;
    let changes = logon.mode & mode::CHANGE_PASSWORD != 0;
    let is_proxy = logon.mode & mode::PROXY != 0 && pairs.get("PROXY_CLIENT_NAME").is_none();
    if unknown || is_proxy || changes != pairs.get("AUTH_NEWPASSWORD").is_some() {
        return Err(Ora::unsupported());
    }
    let (Some(session_key), Some(password)) = (pairs.get("AUTH_SESSKEY"), pairs.get("AUTH_PASSWORD")) else {
        return Err(Ora::new(1005));
    };
    let speedy_key = pairs.get("AUTH_PBKDF2_SPEEDY_KEY");
    let key = challenge.check(&Given { session_key, speedy_key, password });
    // SYSOPER and the like are granted to nobody; only a client with the right password is told so.
    match logon.mode & mode::ADMINISTRATIVE {
        0 => Ok(key),
        _ => key.map_or(Ok(None), |_| Err(Ora::new(1031))),
    }
}

/// Executes the settings that the client requests for its session.
pub(super) fn settle(session: &mut Session, pairs: &Pairs) -> Result<()> {
    for statement in auth::statements(pairs.get("AUTH_ALTER_SESSION").unwrap_or_default()) {
        let is_setting = statement.get(..13).is_some_and(|start| start.eq_ignore_ascii_case("alter session"));
        if !is_setting {
            return Err(Ora::new(2248));
        }
        session.run(statement)?;
    }
    Ok(())
}

pub(super) fn watched(session: &Session) -> Watched {
    let welcome = session.welcome();
    Watched { sid: welcome.sid, serial: welcome.serial, key: welcome.cancel_key }
}

/// The attributes of the session for the client.
fn welcome_pairs(instance: &Instance, session: &Session, key: &SessionKey) -> Result<Pairs> {
    let params = instance.params();
    let welcome = session.welcome();
    let random = os::random::bytes().map_err(Ora::internal)?;
    let mut pairs = Pairs::default();
    let mut add = |key: &str, value: String| pairs.push(key, value, 0);
    add("AUTH_VERSION_STRING", "- Production".into());
    add("AUTH_VERSION_SQL", "24".into());
    add("AUTH_XACTION_TRAITS", "3".into());
    add("AUTH_VERSION_NO", VERSION_NUMBER.to_string());
    add("AUTH_SESSION_ID", welcome.sid.to_string());
    // Clients have 16 bits for a serial number.
    add("AUTH_SERIAL_NUM", (welcome.serial & 0xffff).to_string());
    add("AUTH_INSTANCE_NO", "1".into());
    add("AUTH_SERVER_PID", welcome.server_process.to_string());
    add("AUTH_DBNAME", welcome.database.clone());
    add("AUTH_INSTANCENAME", welcome.instance.clone());
    add("AUTH_SC_INSTANCE_NAME", welcome.instance);
    add("AUTH_SC_SERVICE_NAME", session.process().session().service_name());
    // This attribute is the database name, despite its own name.
    add("AUTH_SC_DBUNIQUE_NAME", params.get(Param::DbName));
    add("AUTH_SC_REAL_DBUNIQUE_NAME", params.get(Param::DbUniqueName));
    add("AUTH_SC_SERVER_HOST", os::process::host_name());
    add("AUTH_SC_DB_DOMAIN", params.get(Param::DbDomain));
    add("AUTH_MAX_OPEN_CURSORS", session.parameter(Param::OpenCursors).clamp(1, 65_535).to_string());
    add("AUTH_MAX_IDEN_LENGTH", "128".into());
    add("AUTH_SVR_RESPONSE", key.server_response(&random));
    Ok(pairs)
}

fn succeeded(sequence: u8) -> Outcome {
    Outcome { status: status::END_OF_CALL, sequence, ..Outcome::default() }
}

/// Sends the reason why there is no session; nothing follows.
pub fn turn_away(line: &mut Line, e: &Ora, sequence: u8) {
    let message = refusal_message(e, sequence);
    if line.send_message(&message, &mut || true) {
        line.close_behind(&[]);
    }
}
