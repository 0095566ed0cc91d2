//! `latchwork fork`.

use crate::checkpoint::checkpoint_of;
use crate::instance::{EXIT_STATE, Place, Start};
use clap::Args;
use server::{ForkOptions, Forked, HoldError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The copy has every commit that was acknowledged before the command began, and a database id of its own.
Nothing in it leads back to the parent: files from outside of the parent's directory get names inside the new
one, the copy is in NOARCHIVELOG mode, and parameters of its init.ora that name folders or addresses of the
parent are comments. A stopped database must have been closed cleanly.

Examples:
  latchwork fork --to /tmp/try && latchwork start --dir /tmp/try
  latchwork fork --dir /data/db --to /tmp/try --force         replace an earlier fork in /tmp/try
  latchwork fork --dir /data/db --ephemeral --param local_listener=0
                                                              a fork in memory with a listener, until its input ends

Exit codes: 0 copied, 1 failed, 2 wrong options, 3 the target is in use, not empty, or of the parent itself.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ForkArgs {
    #[command(flatten)]
    place: Place,
    /// The directory of the copy: empty, or not existing yet
    #[arg(long, value_name = "DIR", required_unless_present = "ephemeral")]
    to: Option<PathBuf>,
    /// Replace an earlier, stopped fork in that directory; files that it has not made stay
    #[arg(long, conflicts_with = "ephemeral")]
    force: bool,
    /// Copy all blocks, also where the file system could share them until they are changed
    #[arg(long, conflicts_with = "ephemeral")]
    no_reflink: bool,
    /// Do not wait until the copy is on the device: a loss of power may damage it
    #[arg(long, conflicts_with = "ephemeral")]
    no_sync: bool,
    /// Start the copy as a throw-away instance: prints `ready DIRECTORY` and `connect STRING` for each address of its
    /// listener, and ends with standard input
    #[arg(long, conflicts_with = "to")]
    ephemeral: bool,
    /// Set an init parameter of the throw-away instance; may be given several times
    #[arg(long = "param", value_name = "NAME=VALUE", requires = "ephemeral")]
    params: Vec<String>,
    /// For tests: where this program is killed
    #[arg(long, hide = true, value_name = "PLAN")]
    crash_point: Option<String>,
}

/// A failure: its text, and the exit code.
struct Failure(String, u8);

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure(text, 1)
    }
}

/// Runs `latchwork fork`.
pub fn run(args: &ForkArgs) -> ExitCode {
    let from = args.place.dir();
    let Some(to) = &args.to else {
        return crate::instance::start(&Start::ephemeral_fork(from, args.params.clone()));
    };
    match copy(&from, to, args) {
        Ok(forked) => {
            print!("{}", report(&from, to, &forked));
            ExitCode::SUCCESS
        }
        Err(Failure(text, code)) => {
            eprintln!("{text}");
            ExitCode::from(code)
        }
    }
}

fn report(from: &Path, to: &Path, forked: &Forked) -> String {
    let mut text = format!("Fork of {} complete in {}.\n", from.display(), to.display());
    let shared = match forked.shared {
        0 => String::new(),
        n => format!(" {n} data files share their space with the parent's."),
    };
    text.push_str(&format!("{} KB copied, {} KB of it redo.{shared}\n", forked.bytes >> 10, forked.redo_bytes >> 10));
    for (was, is) in &forked.moved {
        text.push_str(&format!("Data file '{was}' is '{is}' there.\n"));
    }
    text.push_str(&format!("Start it with: latchwork start --dir {}\n", to.display()));
    text
}

fn copy(from: &Path, to: &Path, args: &ForkArgs) -> Result<Forked, Failure> {
    if !from.join(datafile::CONTROL_FILE).is_file() {
        return Err(Failure(format!("There is no database in {}.", from.display()), 1));
    }
    refuse_place(from, to)?;
    let hold = server::hold(to).map_err(|e| match e {
        HoldError::Taken(text) => Failure(text, EXIT_STATE),
        HoldError::Failed(text) => Failure(text, 1),
    })?;
    let made = prepare(from, to, args.force).and_then(|()| {
        if let Some(plan) = &args.crash_point {
            faults::arm_points_quietly(plan, from).map_err(|e| e.to_string())?;
        }
        let options = ForkOptions { shares_space: !args.no_reflink, sync: !args.no_sync, is_transient: false };
        server::fork(from, to, &options, &mut checkpoint_of(from), &mut || false).map_err(|text| {
            let left = recovery::clear_fork(to).err();
            let left = left.map_or(String::new(), |e| format!("\nThe unfinished copy was not removed: {e}"));
            Failure(format!("{text}\nThere is no copy in {}.{left}", to.display()), 1)
        })
    });
    if made.is_err() {
        hold.give_up();
    }
    made
}

/// The absolute path of a file or directory that may not exist.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(Path::new(""))).components().collect(),
        None => path,
    }
}

/// Refuses a target that is the parent's directory, above or below it, or holds one of the parent's files.
fn refuse_place(from: &Path, to: &Path) -> Result<(), Failure> {
    let (from, to) = (absolute(from), absolute(to));
    let refused = |what: String| {
        let text = format!("{}: {what}. Choose another directory.", to.display());
        Err(Failure(text, EXIT_STATE))
    };
    if from.starts_with(&to) || to.starts_with(&from) {
        return refused(format!("the directory belongs to the database in {} itself", from.display()));
    }
    let control = datafile::ControlFile::read(&from).map_err(|e| Failure(e.to_string(), 1))?;
    let own = recovery::names_of(&control).into_iter().find(|name| absolute(&from.join(name)).starts_with(&to));
    own.map_or(Ok(()), |name| refused(format!("the directory has the file '{name}' of the database that is copied")))
}

/// Makes the target empty: removes an unfinished copy, and with `force` a finished one, if there is a database to copy.
fn prepare(from: &Path, to: &Path, force: bool) -> Result<(), Failure> {
    let entries = std::fs::read_dir(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let is_empty = entries.flatten().all(|e| e.file_name() == "latchwork.pid");
    let is_fork = to.join(recovery::FORK_MARK).is_file();
    if is_empty {
        return Ok(());
    }
    if recovery::is_unfinished(to) || force && is_fork {
        server::require_forkable(from, &mut checkpoint_of(from))?;
        return recovery::clear_fork(to).map_err(|e| Failure(e.to_string(), 1));
    }
    let hint = match (is_fork, force) {
        (true, _) => "it has an earlier fork: --force replaces it",
        (false, true) => {
            "it has files that no fork has made, and --force replaces forks only: choose another directory"
        }
        (false, false) => "choose an empty or a new directory",
    };
    Err(Failure(format!("{}: the directory is not empty: {hint}.", to.display()), EXIT_STATE))
}
