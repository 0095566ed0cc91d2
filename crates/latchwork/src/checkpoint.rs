//! Checkpoints of an instance, which a fork of its database asks for.

use client::{Client, Credentials};
use server::Checkpoint;
use std::path::Path;
use types::{Facility, Ora};

/// Makes checkpoints of the instance of a database directory.
pub fn checkpoint_of(dir: &Path) -> Checkpoint {
    let dir = dir.to_owned();
    Box::new(move || {
        let failed = |e: client::ClientError| Ora::from_text(Facility::Lwk, 1, e.to_string());
        let mut client = Client::connect(&dir, &Credentials::Sysdba).map_err(failed)?;
        client.execute("alter system checkpoint", &[]).map_err(failed)?;
        client.logoff(true).map_err(failed)
    })
}
