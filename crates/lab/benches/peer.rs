//! A PostgreSQL server in a folder of its own, for the benches that compare with other engines.

// Each bench uses only a part of this module.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A PostgreSQL server in a folder of its own, run as user `postgres` when started by root.
pub struct Postgres {
    bin: PathBuf,
    folder: PathBuf,
    settings: String,
    as_user: bool,
}

impl Postgres {
    /// Makes a cluster in `folder` and starts it with `settings` (`-c name=value …`). `None` when PostgreSQL is not
    /// installed.
    pub fn start(folder: PathBuf, settings: &str) -> Option<Postgres> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let bin = versions.filter_map(|v| v.ok()).map(|v| v.path().join("bin")).find(|b| b.join("initdb").is_file())?;
        let root =
            std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0).unwrap_or(false);
        std::fs::create_dir_all(&folder).ok()?;
        let server = Postgres { bin, folder, settings: settings.to_string(), as_user: root };
        if root {
            Command::new("chown").arg("postgres").arg(&server.folder).status().ok()?;
        }
        let mut init = server.command("initdb");
        init.arg("-D").arg(server.data()).args(["-A", "trust", "-E", "UTF8", "--locale=C"]);
        init.stdout(Stdio::null()).status().ok().filter(|s| s.success())?;
        server.run_server().then_some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The folder of the server's socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the server over its cluster and waits until it answers.
    pub fn run_server(&self) -> bool {
        let options =
            format!("-c listen_addresses='' -c unix_socket_directories='{}' {}", self.folder.display(), self.settings);
        let mut start = self.command("pg_ctl");
        start.arg("-D").arg(self.data()).arg("-o").arg(options).arg("-l").arg(self.folder.join("log"));
        start.args(["-w", "-t", "600", "start"]).stdout(Stdio::null());
        start.status().is_ok_and(|s| s.success())
    }

    /// Kills every process of the server at once, as a crash would.
    pub fn kill(&self) {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).expect("a postmaster runs");
        let postmaster = text.lines().next().expect("its number");
        let children = Command::new("pgrep").args(["-P", postmaster]).output().expect("pgrep runs");
        let children = String::from_utf8_lossy(&children.stdout).to_string();
        // The postmaster first, so that it restarts no process.
        for pid in std::iter::once(postmaster).chain(children.lines()) {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
        while Path::new(&format!("/proc/{postmaster}")).exists() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let _ = std::fs::remove_file(self.data().join("postmaster.pid"));
    }

    /// A program of the PostgreSQL installation, run as the server's user.
    pub fn command(&self, program: &str) -> Command {
        let path = self.bin.join(program);
        if !self.as_user {
            return Command::new(path);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
        command.current_dir(&self.folder);
        command
    }

    /// `psql` on the cluster's database; the caller adds arguments.
    pub fn psql_command(&self) -> Command {
        let mut command = self.command("psql");
        command.arg("-h").arg(&self.folder).args(["-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1"]);
        command
    }

    /// Runs statements and returns their output.
    pub fn psql(&self, sql: &str) -> String {
        let output = self.psql_command().args(["-c", sql]).output().expect("psql runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        let _ = stop.arg("-D").arg(self.data()).args(["-m", "immediate", "stop"]).stdout(Stdio::null()).status();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
