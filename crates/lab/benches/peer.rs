//! Shared by the benches that compare with other engines: a PostgreSQL server in a folder of its own, sessions that
//! start together, medians, arguments.

// Each bench uses only a part of this module.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};
use std::time::Instant;

/// The number behind an argument of the command line.
pub fn argument(name: &str, default: f64) -> f64 {
    text_argument(name).and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The word behind an argument of the command line.
pub fn text_argument(name: &str) -> Option<String> {
    let all: Vec<String> = std::env::args().collect();
    all.iter().position(|a| a == name).and_then(|at| all.get(at + 1)).cloned()
}

pub fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// CPU seconds of a process (or thread, `thread-self`) so far.
pub fn cpu_seconds(of: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{of}/schedstat")).expect("schedstat");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

/// The release build of the program, or the program named by `LATCHWORK_EXE`.
pub fn latchwork_program() -> PathBuf {
    std::env::var_os("LATCHWORK_EXE").map(PathBuf::from).unwrap_or_else(|| {
        let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/release/latchwork");
        assert!(built.is_file(), "build it first: cargo build --release");
        built
    })
}

/// Starts one thread for each item at the same moment; returns the seconds until the last one has ended.
pub fn together<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) -> f64 {
    let barrier = Arc::new(Barrier::new(items.len() + 1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .into_iter()
            .map(|item| {
                let (barrier, work) = (Arc::clone(&barrier), &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(item);
                })
            })
            .collect();
        barrier.wait();
        let started = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        started.elapsed().as_secs_f64()
    })
}

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
