//! How long it takes to connect and to see a first row: from outside, and by the parts that the server process measures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use client::Credentials;
use serde::{Deserialize, Serialize};
use types::Value;

use super::rig::Instance;
use crate::LabError;

/// The parts of a connection, in the order in which they happen.
pub const PARTS: [&str; 6] = ["fork", "set up", "attach", "pre-page", "authenticate", "first call"];

/// Medians of several connections, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectTimes {
    /// From asking for the connection to the first row, by a client that runs already.
    pub client_us: f64,
    /// The same of `latchwork sql -s / as sysdba`, from the start of the program to its end.
    pub program_us: f64,
    /// By [`PARTS`]; what is missing of `client_us` is the client's own time and that of the socket.
    pub parts_us: Vec<f64>,
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    super::statistics::quantile(&all, 0.5)
}

/// Connects `times` times, one after the other, and a few times by the program.
///
/// # Errors
/// A connection or a statement that fails.
pub fn measure(instance: &dyn Instance, dir: &Path, program: &Path, times: usize) -> Result<ConnectTimes, LabError> {
    let mut outside = Vec::new();
    let mut parts: Vec<Vec<f64>> = vec![Vec::new(); PARTS.len()];
    for _ in 0..times {
        let began = Instant::now();
        let mut session = instance.connect(&Credentials::Sysdba)?;
        session.query("select * from dual", &[])?.all()?;
        outside.push(began.elapsed().as_secs_f64() * 1e6);
        let sql = "select fork_us, set_up_us, attach_us, pre_page_us, authenticate_us, first_call_us from x$ksuct \
                   where indx = sys_context('userenv', 'sid')";
        let rows = session.query(sql, &[])?.all()?;
        for (part, value) in parts.iter_mut().zip(rows.first().into_iter().flatten()) {
            if let Value::Number(n) = value {
                part.push(n.to_f64());
            }
        }
        session.logoff(true)?;
    }
    let programs: Result<Vec<f64>, LabError> = (0..times.div_ceil(4)).map(|_| by_program(dir, program)).collect();
    Ok(ConnectTimes {
        client_us: median(outside),
        program_us: median(programs?),
        parts_us: parts.into_iter().map(median).collect(),
    })
}

/// What a loop in a shell would measure.
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
