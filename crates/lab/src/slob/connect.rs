//! The time from connecting to a first row: measured by the client, and split into the parts that the server process
//! measures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use client::{Client, Credentials, NetAddress, NetSession};
use serde::{Deserialize, Serialize};
use types::Value;

use super::rig::Instance;
use crate::error::LabError;

/// The parts of a connection, in the order in which they happen.
pub const PARTS: [&str; 6] = ["fork", "set up", "attach", "pre-page", "authenticate", "first call"];

/// Medians of several connections, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectTimes {
    /// From requesting the connection to the first row, in a client that is already running.
    pub client_us: f64,
    /// The same for `latchwork sql -s / as sysdba`, from the start of the program to its end.
    pub program_us: f64,
    /// Through the listener, with a password, from requesting the connection to the first row, in a client that is
    /// already running.
    #[serde(default)]
    pub listener_us: f64,
    /// Parts of the latter, by [`PARTS`].
    #[serde(default)]
    pub listener_parts_us: Vec<f64>,
    /// Parts of `client_us`, by [`PARTS`]; the rest is the client's own time and that of the socket.
    pub parts_us: Vec<f64>,
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    crate::statistics::quantile(&all, 0.5)
}

/// Connects `times` times, one after the other, and a few times by the program.
///
/// # Errors
/// The error of a connection or statement.
pub fn measure(
    instance: &dyn Instance,
    dir: &Path,
    program: &Path,
    user: &str,
    times: usize,
) -> Result<ConnectTimes, LabError> {
    let (listener, listener_parts) = by_listener(instance, dir, user, times)?;
    let mut outside = Vec::new();
    let mut parts: Vec<Vec<f64>> = vec![Vec::new(); PARTS.len()];
    for _ in 0..times {
        let began = Instant::now();
        let mut session = instance.connect(&Credentials::Sysdba)?;
        session.query("select * from dual", &[])?.all()?;
        outside.push(began.elapsed().as_secs_f64() * 1e6);
        read_parts(&mut session, "sys_context('userenv', 'sid')", &mut parts)?;
        session.logoff(true)?;
    }
    let programs: Result<Vec<f64>, LabError> = (0..times.div_ceil(4)).map(|_| by_program(dir, program)).collect();
    Ok(ConnectTimes {
        client_us: median(outside),
        program_us: median(programs?),
        listener_us: median(listener),
        listener_parts_us: listener_parts.into_iter().map(median).collect(),
        parts_us: parts.into_iter().map(median).collect(),
    })
}

/// Adds the times measured by the server process of the session `sid`.
fn read_parts(session: &mut Client, sid: &str, parts: &mut [Vec<f64>]) -> Result<(), LabError> {
    let sql = format!(
        "select fork_us, set_up_us, attach_us, pre_page_us, authenticate_us, first_call_us from x$ksuct where indx = {sid}"
    );
    let rows = session.query(&sql, &[])?.all()?;
    for (part, value) in parts.iter_mut().zip(rows.first().into_iter().flatten()) {
        if let Value::Number(n) = value {
            part.push(n.to_f64());
        }
    }
    Ok(())
}

/// Times measured by the client, and parts by [`PARTS`].
type Times = (Vec<f64>, Vec<Vec<f64>>);

/// The same through the listener, as a user whose password equals the name.
fn by_listener(instance: &dyn Instance, dir: &Path, user: &str, times: usize) -> Result<Times, LabError> {
    let mut local = instance.connect(&Credentials::Sysdba)?;
    let names = local.query("select value from v$parameter where name = 'db_name'", &[])?.all()?;
    let Some(Value::Text(service)) = names.first().and_then(|row| row.first()) else {
        return Err(LabError::new("the database has no name".into()));
    };
    let at =
        NetAddress::of_instance(dir, service).ok_or_else(|| LabError::new("the instance has no listener".into()))?;
    let (mut outside, mut parts) = (Vec::new(), vec![Vec::new(); PARTS.len()]);
    for _ in 0..times {
        let began = Instant::now();
        let mut session = NetSession::connect(&at, user, user)?;
        session.query("select * from dual")?;
        outside.push(began.elapsed().as_secs_f64() * 1e6);
        read_parts(&mut local, &session.session_id().to_string(), &mut parts)?;
        session.logoff()?;
    }
    local.logoff(true)?;
    Ok((outside, parts))
}

/// Measures like a loop in a shell.
fn by_program(dir: &Path, program: &Path) -> Result<f64, LabError> {
    let failed = |e: std::io::Error| LabError::new(format!("cannot run {}: {e}", program.display()));
    let began = Instant::now();
    let mut command = Command::new(program);
    command.args(["sql", "-s", "/", "as", "sysdba"]).env("LATCHWORK_HOME", dir);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(failed)?;
    if let Some(mut to) = child.stdin.take() {
        std::io::Write::write_all(&mut to, b"select * from dual;\nexit\n").map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !String::from_utf8_lossy(&output.stdout).contains('X') {
        return Err(LabError::new(format!("{} sql did not answer", program.display())));
    }
    Ok(began.elapsed().as_secs_f64() * 1e6)
}
