//! `latchwork recover`: rolls a database forward without starting it, and on request gives up redo that is lost.

use crate::instance::Place;
use crate::progress::Progress;
use clap::Args;
use datafile::DataFiles;
use recovery::{Outcome, Recovery, Reset};
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
A start recovers by itself; this is for a database that refuses to start because its redo is damaged (ORA-00353, ORA-00367).
With --resetlogs everything committed behind the damage is given up, and the database begins a new incarnation; earlier backups
cannot be rolled forward into it. It is refused when blocks of a later moment are in the data files already: then only a restored
backup helps.

Examples:
  latchwork recover --dir /data/db                 say how far the redo can be read, change nothing
  latchwork recover --dir /data/db --resetlogs     go on without what is behind the damage";

/// Memory for blocks while they are rolled forward, in bytes.
const MEMORY_BYTES: usize = 512 << 20;

/// Upper bound of the number of workers, for the double-write area.
const SLOTS: usize = 64;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Recover {
    #[command(flatten)]
    place: Place,
    /// Give up the redo after the damage
    #[arg(long)]
    resetlogs: bool,
}

/// Runs `latchwork recover`.
pub fn run(args: &Recover) -> ExitCode {
    let mut progress = Progress::new();
    let done = recovered(&args.place.dir(), args.resetlogs, &mut progress);
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

fn text(e: types::Ora) -> String {
    e.to_string()
}

fn recovered(dir: &Path, resetlogs: bool, progress: &mut Progress) -> Result<String, String> {
    if !dir.join(datafile::CONTROL_FILE).is_file() {
        return Err(format!("There is no database in {}.", dir.display()));
    }
    let dir = dir.canonicalize().map_err(|e| format!("{}: {e}", dir.display()))?;
    let _hold = server::hold(&dir)?;
    let open = if resetlogs { DataFiles::open(&dir) } else { DataFiles::open_read_only(&dir) };
    let (files, mut control) = open.map_err(text)?;
    let Some(standing) = recovery::standing(&files, &control).map_err(text)? else {
        return Ok("There is nothing to recover.\n".into());
    };
    if resetlogs && control.double_write != 0 && !control.clean {
        let (name, life) = (datafile::DOUBLE_WRITE_FILE, os::clock::wall_ns());
        let (life, _) = files.open_double_write(name, 0, SLOTS, &control, life).map_err(text)?;
        control.double_write = life;
        control.write(&dir).map_err(text)?;
    }
    let apply = instance::apply_table();
    let frames_max = MEMORY_BYTES / files.block_size();
    let it = Recovery {
        files: &files,
        control: &control,
        apply: &apply,
        frames_max,
        stops_at_damage: true,
        on_device: true,
    };
    if !resetlogs {
        let end = recovery::scan(&it, &standing).map_err(text)?;
        return Ok(found(&end));
    }
    let now_s = (os::clock::wall_ns() / 1_000_000_000) as u32;
    let mut tell = |at: &recovery::Progress| progress.show("MB of redo", "", at.redo_bytes >> 20, at.redo_bytes >> 20);
    match recovery::reset_logs(&it, &standing, now_s, &mut tell).map_err(text)? {
        Some(reset) => Ok(report(&reset, &dir)),
        None => Ok("The redo is not damaged: no redo was given up. Start the database.\n".into()),
    }
}

fn found(out: &Outcome) -> String {
    let mut text =
        format!("{} records of redo can be read, {} KB, up to SCN {}.\n", out.records, out.redo_bytes >> 10, out.scn.0);
    match &out.damage {
        Some(e) => text.push_str(&format!("{e}\nThere is redo after this position, so the log is damaged.\n")),
        None => text.push_str("The redo ends there: start the database.\n"),
    }
    text
}

fn report(reset: &Reset, dir: &Path) -> String {
    format!(
        "{}\nThe database is as of SCN {}; what was committed behind it is gone. Incarnation {}.\n\
         Check it with latchwork verify once it was started and stopped, and take a backup.\nStart it with: latchwork start --dir {}\n",
        reset.damage,
        reset.outcome.scn.0,
        reset.control.incarnation.number,
        dir.display()
    )
}
