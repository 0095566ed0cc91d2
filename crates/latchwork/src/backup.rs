//! `latchwork backup` and `latchwork restore`.

use crate::instance::Place;
use crate::progress::Progress;
use clap::Args;
use client::{Client, Credentials};
use datafile::{ControlFile, DataFiles};
use recovery::{Moment, Step, Until};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::{Nls, Scn};

const BACKUP_EXAMPLES: &str = "\
A database that is open must be in ARCHIVELOG mode (ALTER DATABASE ARCHIVELOG); one that is stopped must have been closed cleanly.

Examples:
  latchwork backup --to /backup/monday
  latchwork backup --dir /data/db --to /backup/monday";

const RESTORE_EXAMPLES: &str = "\
Redo that was made behind the backup is looked for in the folders given with --redo, or else where the database was, as long as
that is there. The restored database begins a new incarnation.

Examples:
  latchwork restore --from /backup/monday --dir /data/db2
  latchwork restore --from /backup/monday --dir /data/db2 --redo /data/db --until-scn 48123
  latchwork restore --from /backup/monday --dir /data/db2 --until-time '2026-11-22 01:30:00'";

/// Memory for blocks while they are rolled forward, in bytes.
const MEMORY_BYTES: usize = 512 << 20;

#[derive(Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub struct Backup {
    #[command(flatten)]
    place: Place,
    /// The folder for the backup: empty, or not existing yet
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
}

#[derive(Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub struct Restore {
    /// The folder of the backup
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
    /// The new database directory: empty, or not existing yet
    #[arg(long = "dir", visible_alias = "to", value_name = "DIR")]
    to: PathBuf,
    /// A folder with redo made after the backup; may be given several times
    #[arg(long, value_name = "FOLDER")]
    redo: Vec<PathBuf>,
    /// Roll forward up to and including this SCN
    #[arg(long, value_name = "SCN", conflicts_with = "until_time")]
    until_scn: Option<u64>,
    /// Roll forward to this local time, excluding changes of that second
    #[arg(long, value_name = "YYYY-MM-DD HH24:MI:SS")]
    until_time: Option<String>,
}

/// Runs `latchwork backup`.
pub fn backup(args: &Backup) -> ExitCode {
    let dir = args.place.dir();
    let mut progress = Progress::new();
    let done = make(&dir, &args.to, &mut progress);
    progress.finish();
    match done {
        Ok(m) => {
            let bytes: u64 = m.files.iter().map(|f| f.bytes).sum();
            println!("Backup of {} complete in {}.", m.name, args.to.display());
            println!("{} data files, {} MB; {} archived logs.", m.files.len(), bytes >> 20, m.logs.len());
            println!("It can be restored to SCN {} or any later moment.", m.end.scn.0);
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            eprintln!("There is no backup in {}.", args.to.display());
            ExitCode::FAILURE
        }
    }
}

fn make(dir: &Path, to: &Path, progress: &mut Progress) -> Result<recovery::Manifest, String> {
    if !dir.join(datafile::CONTROL_FILE).is_file() {
        return Err(format!("There is no database in {}.", dir.display()));
    }
    let dir = dir.canonicalize().map_err(|e| format!("{}: {e}", dir.display()))?;
    let runs = server::status(&dir)?.is_some();
    if runs { of_open(&dir, to, progress) } else { of_closed(&dir, to, progress) }
}

fn text(e: types::Ora) -> String {
    e.to_string()
}

fn of_closed(dir: &Path, to: &Path, progress: &mut Progress) -> Result<recovery::Manifest, String> {
    let _hold = server::hold(dir)?;
    let (files, control) = DataFiles::open_read_only(dir).map_err(text)?;
    if !control.clean {
        let e = types::Ora::with(1113, &[&1]);
        return Err(format!("{e}\nThe database was not closed cleanly: start it once to recover it."));
    }
    let mut backup = recovery::Backup::begin(&files, to).map_err(text)?;
    let mut tell = |what: &str, done: u64, all: u64| progress.show("MB copied", what, done >> 20, all >> 20);
    backup.copy_files(&mut tell).map_err(text)?;
    let at = control.checkpoint;
    backup.finish(Moment { rba: at.rba, scn: at.scn, time_s: at.time_s }, &mut tell).map_err(text)
}

/// A session that ends backup mode in any case when it is dropped.
struct Mode(Client);

impl Mode {
    fn begin(dir: &Path) -> Result<Mode, String> {
        let mut client = Client::connect(dir, &Credentials::Sysdba).map_err(|e| e.to_string())?;
        client.execute("alter database begin backup", &[]).map_err(|e| e.to_string())?;
        Ok(Mode(client))
    }

    fn run(&mut self, sql: &str) -> Result<(), String> {
        self.0.execute(sql, &[]).map(drop).map_err(|e| e.to_string())
    }
}

fn of_open(dir: &Path, to: &Path, progress: &mut Progress) -> Result<recovery::Manifest, String> {
    let mut mode = Mode::begin(dir)?;
    let (files, _) = DataFiles::open_read_only(dir).map_err(text)?;
    let mut tell = |what: &str, done: u64, all: u64| progress.show("MB copied", what, done >> 20, all >> 20);
    let copied = recovery::Backup::begin(&files, to)
        .and_then(|mut backup| backup.copy_files(&mut tell).map(|()| backup))
        .map_err(text);
    // Backup mode is ended even when the copying has failed.
    let ended = mode.run("alter database end backup");
    let backup = copied?;
    ended?;
    // The copies are consistent once they are rolled forward to here.
    mode.run("alter system archive log current")?;
    let control = ControlFile::read(dir).map_err(text)?;
    // Other sessions may have switched the log since: the log that the command has archived need not be the newest one.
    let next = control.oldest_unarchived_log().ok_or("The database has no log.")?;
    let end = Moment { rba: next.start, scn: next.first_scn, time_s: next.first_time_s };
    backup.finish(end, &mut tell).map_err(text)
}

/// Runs `latchwork restore`.
pub fn restore(args: &Restore) -> ExitCode {
    let mut progress = Progress::new();
    let done = restored(args, &mut progress);
    progress.finish();
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn restored(args: &Restore, progress: &mut Progress) -> Result<String, String> {
    let until = match (args.until_scn, &args.until_time) {
        (Some(scn), _) => Until::Scn(Scn(scn)),
        (None, Some(time)) => Until::Time(seconds_of(time)?),
        (None, None) => Until::End,
    };
    let manifest = recovery::Manifest::read(&args.from).map_err(text)?;
    let redo = match args.redo.is_empty() {
        true => vec![PathBuf::from(&manifest.source)],
        false => args.redo.clone(),
    };
    let control = ControlFile::read(&args.from).map_err(text)?;
    let hold = server::hold(&args.to)?;
    let apply = instance::apply_table();
    let it = recovery::Restore {
        from: &args.from,
        to: &args.to,
        redo: &redo,
        until,
        apply: &apply,
        frames_max: MEMORY_BYTES / control.block_size,
        now_s: (os::clock::wall_ns() / 1_000_000_000) as u32,
    };
    let made = recovery::restore(&it, &mut |step| match step {
        Step::Copy(name, done, all) => progress.show("MB copied", name, done >> 20, all >> 20),
        Step::Forward(at) => progress.show("MB of redo", "", at.redo_bytes >> 20, at.redo_bytes >> 20),
    });
    match made {
        Ok(made) => Ok(report(args, &made)),
        Err(e) => {
            if hold.is_new() {
                remove_restored(&args.to, &control);
            }
            hold.give_up();
            Err(e.to_string())
        }
    }
}

/// Removes what a failed restore has made in a directory that was empty when its lock was taken.
fn remove_restored(to: &Path, control: &ControlFile) {
    let entries = std::fs::read_dir(to).map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let names = entries.iter().map(|e| e.file_name().to_string_lossy().into_owned());
    let names = names.filter(|name| name != "latchwork.pid").chain(recovery::names_of(control));
    // A file that cannot be removed is found by the next restore, which refuses the directory.
    let _ = recovery::remove_listed(to, names);
}

fn report(args: &Restore, made: &recovery::Restored) -> String {
    let out = &made.outcome;
    let mut text = format!("Database {} restored in {}.\n", made.manifest.name, args.to.display());
    text.push_str(&format!(
        "{} records of redo applied, {} KB, up to SCN {}; incarnation {}.\n",
        out.records,
        out.redo_bytes >> 10,
        out.scn.0,
        made.control.incarnation.number
    ));
    if !made.knows_last && args.until_scn.is_none() && args.until_time.is_none() {
        text.push_str(
            "The last control file of the database was not found: redo made after the backup may be missing.\n",
        );
    }
    for at in &out.damaged {
        let (file, block) = made.control.shown(*at);
        text.push_str(&format!("Data file {file} block {block} could not be rolled forward and is marked corrupt.\n"));
    }
    text.push_str("Start it with: latchwork start --dir ");
    text.push_str(&format!("{}\n", args.to.display()));
    text
}

/// Seconds since 1970, UTC, of a local time.
fn seconds_of(time: &str) -> Result<u32, String> {
    let local = types::format::date_from_text(time, "YYYY-MM-DD HH24:MI:SS", &Nls::default()).map_err(text)?;
    let local = local.to_unix();
    // Shortly before a change of the clock the offset is the one from before it.
    let utc = local - i64::from(os::clock::utc_offset_seconds(local));
    u32::try_from(utc).map_err(|_| format!("{time} is outside the range of database times"))
}
