//! Checkpoints of an instance, which a fork of its database asks for.

use client::{Client, ClientError, Credentials};
use server::Checkpoint;
use std::path::Path;
use std::time::{Duration, Instant};
use types::{Facility, Ora};

/// Time limit for an instance that is being started.
const STARTING_LIMIT: Duration = Duration::from_secs(10);

/// Makes checkpoints of the instance of a database directory. An instance that is being started is waited for.
pub fn checkpoint_of(dir: &Path) -> Checkpoint {
    let dir = dir.to_owned();
    Box::new(move || {
        let failed = |e: ClientError| Ora::from_text(Facility::Lwk, 1, e.to_string());
        let begin = Instant::now();
        let mut client = loop {
            match Client::connect(&dir, &Credentials::Sysdba) {
                Err(ClientError::NotRunning(_)) if begin.elapsed() < STARTING_LIMIT => {
                    os::clock::sleep(Duration::from_millis(10));
                }
                done => break done.map_err(failed)?,
            }
        };
        client.execute("alter system checkpoint", &[]).map_err(failed)?;
        client.logoff(true).map_err(failed)
    })
}
