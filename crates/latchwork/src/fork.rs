//! `latchwork fork`.

use crate::checkpoint::checkpoint_of;
use crate::instance::{EXIT_STATE, Place, Start};
use clap::Args;
use server::{ForkOptions, Forked};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The copy has every commit that was acknowledged before the command began, and a database id of its own. Nothing in it leads back to
the parent: files from outside of the parent's directory get names inside the new one, the copy is in NOARCHIVELOG mode, and
parameters of its init.ora that name folders or addresses of the parent are comments. A stopped database must have been closed cleanly.

Examples:
  latchwork fork --to /tmp/try && latchwork start --dir /tmp/try
  latchwork fork --dir /data/db --to /tmp/try --force         replace an earlier fork in /tmp/try
  latchwork fork --dir /data/db --ephemeral --param local_listener=0
                                                              a fork in memory with a listener, until its input ends

Exit codes: 0 copied, 1 failed, 2 wrong options, 3 the target is in use or not empty.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ForkArgs {
    #[command(flatten)]
    place: Place,
    /// The directory of the copy: empty, or not existing yet
    #[arg(long, value_name = "DIR", required_unless_present = "ephemeral")]
    to: Option<PathBuf>,
    /// Replace an earlier, stopped fork in that directory, with everything that lies there
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
    let had_none = !to.exists();
    let hold = server::hold(to).map_err(|text| Failure(text, EXIT_STATE))?;
    let made = prepare(to, args.force).and_then(|()| {
        if let Some(plan) = &args.crash_point {
            faults::arm_points_quietly(plan, to).map_err(|e| e.to_string())?;
        }
        let options = ForkOptions { shares_space: !args.no_reflink, sync: !args.no_sync, is_transient: false };
        server::fork(from, to, &options, &mut checkpoint_of(from)).map_err(|text| {
            let left = recovery::clear_unfinished(to).err();
            let left = left.map_or(String::new(), |e| format!("\nThe unfinished copy was not removed: {e}"));
            Failure(format!("{text}\nThere is no copy in {}.{left}", to.display()), 1)
        })
    });
    drop(hold);
    if made.is_err() && had_none {
        let _ = std::fs::remove_dir_all(to);
    }
    made
}

/// Makes the target empty: removes an unfinished copy, and with `force` a finished one.
fn prepare(to: &Path, force: bool) -> Result<(), Failure> {
    let entries = std::fs::read_dir(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let is_empty = entries.flatten().all(|e| e.file_name() == "latchwork.pid");
    let is_fork = to.join(recovery::FORK_MARK).is_file();
    if is_empty {
        return Ok(());
    }
    if recovery::is_unfinished(to) || force && is_fork {
        return recovery::clear_unfinished(to).map_err(|e| Failure(e.to_string(), 1));
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
