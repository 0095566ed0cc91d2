//! Backups of the database under load, and restores to a moment in between.
//!
//! The database is in ARCHIVELOG mode. While workers work, `latchwork backup` copies it. Later a moment is noted: its
//! SCN, and a later commit that waits for the disk. If no worker is active then, the states are known; otherwise every
//! state of every worker is kept until it is known which of them was current. When the instance has ended, the backup
//! is restored to that moment in another directory, and its rows must be those of the workers; sometimes the run
//! continues with the restored database. At other times a single data file is replaced by the one in the backup, and
//! the next start must roll it forward.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::Client;

use super::check;
use super::mind::{Mind, Random, State};
use super::place::Place;
use super::query::{self, Trouble, numbers_of};
use super::session::Shared;
use crate::error::LabError;

/// Time limit of a backup.
const LIMIT: Duration = Duration::from_secs(60);

/// Set-up for this part of the run.
pub const SETUP: &[&str] =
    &["create table marks (n number)", "insert into marks values (0)", "commit", "alter database archivelog"];

/// Data files that exist from the beginning.
const FILES: [&str; 3] = ["system01.dbf", "undo01.dbf", "users01.dbf"];

/// A moment to restore to.
#[derive(Clone, Debug)]
pub struct Moment {
    /// `--until-scn` or `--until-time`, and its value.
    pub until: [String; 2],
    /// The possible states of the workers, by transaction.
    states: Vec<BTreeMap<i64, State>>,
    /// The workers' minds, when no worker was active.
    minds: Option<Vec<Mind>>,
}

/// A backup, and the number of its restores.
#[derive(Debug)]
struct Backup {
    folder: PathBuf,
    restored: u32,
}

/// The current backup and moment of a run.
#[derive(Debug, Default)]
pub struct Archive {
    backup: Option<Backup>,
    /// Noted in the previous life: its states are not settled.
    noted: Option<u64>,
    moment: Option<Moment>,
    made: u64,
}

/// The remaining task of a life, done while workers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Nothing,
    Backup,
    Note,
}

/// The result of a task.
#[derive(Debug, Default)]
pub struct Outcome {
    folder: Option<PathBuf>,
    scn: Option<u64>,
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Archive {
    /// Forgets the backup, which can no longer be used.
    pub fn forget(&mut self) {
        (self.noted, self.moment) = (None, None);
        if let Some(backup) = self.backup.take() {
            let _ = std::fs::remove_dir_all(backup.folder);
        }
    }

    /// Begins a life, after all states are settled and before workers start: settles the moment of the previous life,
    /// and may note this one.
    pub fn begin_life(&mut self, c: &mut Client, minds: &mut [Mind], r: &mut Random) -> Result<(), Trouble> {
        if let Some(scn) = self.noted.take() {
            let states = minds.iter().map(|m| m.history.clone()).collect();
            self.moment = Some(Moment { until: ["--until-scn".into(), scn.to_string()], states, minds: None });
        }
        for mind in minds.iter_mut() {
            mind.history = BTreeMap::from([(mind.state.seq, mind.state.clone())]);
        }
        if self.backup.is_none() || self.moment.is_some() || r.chance(40) {
            return Ok(());
        }
        let until =
            if r.chance(70) { note(c)?.map(|scn| ["--until-scn".into(), scn.to_string()]) } else { note_time(c)? };
        let Some(until) = until else { return Ok(()) };
        let states = minds.iter().map(|m| m.history.clone()).collect();
        self.moment = Some(Moment { until, states, minds: Some(minds.to_vec()) });
        Ok(())
    }

    /// The task of this life; `wanted`: another restore is due.
    pub fn task(&self, wanted: bool) -> Task {
        match (&self.backup, &self.moment) {
            (None, _) if wanted => Task::Backup,
            (Some(_), None) => Task::Note,
            _ => Task::Nothing,
        }
    }

    /// The folder of the next backup.
    pub fn folder(&mut self, dir: &Path) -> PathBuf {
        self.made += 1;
        let mut name = dir.as_os_str().to_owned();
        name.push(format!("-backup-{}", self.made));
        PathBuf::from(name)
    }

    /// Takes over the results of the life.
    pub fn end_life(&mut self, outcome: Outcome, dir: &Path) {
        if let Some(folder) = outcome.folder {
            remove_older_logs(&folder, dir);
            self.backup = Some(Backup { folder, restored: 0 });
        }
        self.noted = outcome.scn;
    }

    /// Replaces one data file by the one in the backup; the database is stopped or dead. True when there was a backup.
    pub fn put_back_a_file(&self, dir: &Path, r: &mut Random) -> Result<bool, LabError> {
        let Some(backup) = &self.backup else { return Ok(false) };
        let name = FILES[r.below(FILES.len() as u64) as usize];
        let failed = |e: std::io::Error| LabError::new(format!("{name}: {e}"));
        let copies = std::fs::read_dir(backup.folder.join("files")).map_err(failed)?.flatten();
        let copy = copies.map(|e| e.path()).find(|p| p.to_string_lossy().ends_with(name));
        let Some(copy) = copy else { return Err(LabError::new(format!("the backup has no {name}"))) };
        std::fs::copy(copy, dir.join(name)).map_err(failed)?;
        Ok(true)
    }

    /// Restores the backup to the moment, if both exist, and compares. The database is stopped or dead. Returns the
    /// restored database, stopped, with its workers' minds.
    pub fn restore(
        &mut self,
        place: &Place,
        params: &[(String, String)],
    ) -> Result<Option<(Place, Vec<Mind>)>, LabError> {
        let Some(backup) = &mut self.backup else { return Ok(None) };
        let Some(moment) = self.moment.take() else { return Ok(None) };
        backup.restored += 1;
        let is_old = backup.restored > 2;
        let mut other = place.sibling()?;
        let mut command = Command::new(place.executable());
        command.arg("restore").arg("--from").arg(&backup.folder).arg("--dir").arg(other.dir());
        command.arg("--redo").arg(place.dir()).args(&moment.until);
        let out = command.output().map_err(|e| LabError::new(format!("cannot restore: {e}")))?;
        let done = if out.status.success() {
            other.start(params, None).and_then(|started| match started {
                super::Started::Open(_) => compare(&mut other, &moment),
                super::Started::Died(text) => {
                    Err(LabError::new(format!("the restored database does not start: {text}")))
                }
            })
        } else {
            Err(LabError::new([out.stdout, out.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat()))
        };
        let done = done.and_then(|minds| other.stop().and_then(|()| other.verify()).map(|()| minds));
        match done {
            Ok(minds) => {
                if is_old {
                    self.forget();
                }
                Ok(Some((other, minds)))
            }
            Err(e) => {
                other.keep();
                let text = format!("restored {} from {}: {e}", moment.until.join(" "), backup.folder.display());
                self.backup = None;
                Err(LabError::new(text))
            }
        }
    }
}

/// Performs the life's task while workers work, and reports its end.
pub fn work(
    task: Task,
    place: (&Path, &Path),
    folder: &Path,
    pause: Duration,
    shared: &Shared,
    out: &(Mutex<Outcome>, AtomicBool),
) {
    let begun = Instant::now();
    while begun.elapsed() < pause && !shared.over.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (dir, executable) = place;
    let mut outcome = Outcome::default();
    match task {
        Task::Nothing => {}
        Task::Backup => {
            if backup(dir, executable, folder, shared) {
                outcome.folder = Some(folder.to_owned());
            } else {
                let _ = std::fs::remove_dir_all(folder);
            }
        }
        Task::Note => {
            let mut c = Client::connect(dir, &client::Credentials::Sysdba).ok();
            outcome.scn = c.as_mut().and_then(|c| note(c).ok().flatten());
        }
    }
    *out.0.lock().unwrap_or_else(|e| e.into_inner()) = outcome;
    out.1.store(true, Ordering::Release);
}

/// Makes a backup; returns whether it was completed. It may fail because its instance or its session ends, or a worker
/// drops its tablespace.
fn backup(dir: &Path, executable: &Path, folder: &Path, shared: &Shared) -> bool {
    let mut command = Command::new(executable);
    command.arg("backup").arg("--dir").arg(dir).arg("--to").arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return false };
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                // The child was started by this run.
                let _ = child.kill();
                let _ = child.wait();
                shared.fail("a backup hangs".into());
                return false;
            }
        }
    };
    let mut text = String::new();
    if let Some(mut said) = child.stderr.take() {
        let _ = said.read_to_string(&mut text);
    }
    let may_fail = ["ts_", "ORA-03113", "ORA-03114", "ORA-01034", "ORA-01092", "ORA-01113", "ORA-01033"];
    if !status.success() && !may_fail.iter().any(|part| text.contains(part)) {
        std::thread::sleep(Duration::from_millis(100));
        if !shared.over.load(Ordering::Acquire) && Client::connect(dir, &client::Credentials::Sysdba).is_ok() {
            shared.fail(format!("a backup failed: {text}"));
        }
    }
    status.success()
}

/// An SCN at or above those of all commits so far, with a later commit on disk.
fn note(c: &mut Client) -> Result<Option<u64>, Trouble> {
    let scn = numbers_of(c, "select current_scn from v$database", &[])?[0][0];
    mark(c)?;
    Ok(u64::try_from(scn).ok())
}

/// A second after all commits so far, with a later commit on disk.
fn note_time(c: &mut Client) -> Result<Option<[String; 2]>, Trouble> {
    let sql = "select to_char(sysdate + 1/86400, 'YYYY-MM-DD HH24:MI:SS') from dual";
    let rows = query::rows(c, sql, &[])?;
    std::thread::sleep(Duration::from_millis(1050));
    mark(c)?;
    Ok(match &rows[0][0] {
        types::Value::Text(time) => Some(["--until-time".into(), time.clone()]),
        _ => None,
    })
}

fn mark(c: &mut Client) -> Result<(), Trouble> {
    for sql in ["update marks set n = n + 1", "commit write wait"] {
        c.execute(sql, &[]).map_err(|e| query::trouble(&e, sql))?;
    }
    Ok(())
}

/// Removes archived logs from before the backup, which no restore needs.
fn remove_older_logs(folder: &Path, dir: &Path) {
    // A log's name in the backup is its sequence; in the archive it has thread, sequence and incarnation.
    let number = |path: &Path| -> Option<u64> {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        name.split('_').nth(2).unwrap_or(&name).parse().ok()
    };
    let of = |folder: PathBuf| -> Vec<PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect()
    };
    let Some(first) = of(folder.join("logs")).iter().filter_map(|p| number(p)).min() else { return };
    for path in of(dir.join("archive")) {
        if number(&path).is_some_and(|n| n < first) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Compares a restored database with the workers' states.
fn compare(other: &mut Place, moment: &Moment) -> Result<Vec<Mind>, LabError> {
    let gone = |e: client::ClientError| LabError::new(e.to_string());
    let mut c = other.connect().map_err(gone)?;
    let wrong = |trouble: Trouble| match trouble {
        Trouble::Gone => LabError::new("the restored database has ended".into()),
        Trouble::Wrong(text) => LabError::new(text),
    };
    let mut minds = Vec::new();
    for (worker, states) in moment.states.iter().enumerate() {
        let sql = format!("select seq from progress where worker = {worker}");
        let seq = numbers_of(&mut c, &sql, &[]).map_err(wrong)?.first().map_or(-1, |row| row[0]);
        let Some(state) = states.get(&seq) else {
            let known: Vec<_> = states.keys().collect();
            return Err(LabError::new(format!("worker {worker}: transaction {seq} is not among {known:?}")));
        };
        let mut mind = Mind { state: state.clone(), ..Mind::new(worker) };
        check::adopt(&mut c, &mut mind).map_err(wrong)?;
        if let Some(known) = moment.minds.as_ref().map(|minds| &minds[worker]) {
            let online = super::mind::Vault { online: known.vault.exists, ..known.vault };
            if (mind.scratch, mind.vault) != (known.scratch, online) {
                return Err(LabError::new(format!(
                    "worker {worker}: {:?} and {:?} must be {:?} and {online:?}",
                    mind.scratch, mind.vault, known.scratch
                )));
            }
        }
        minds.push(mind);
    }
    check::everything(&mut c, &mut minds).map_err(wrong)?;
    Ok(minds)
}
