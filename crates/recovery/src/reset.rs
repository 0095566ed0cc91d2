//! Opening without redo that is lost: RESETLOGS.
//!
//! A roll forward cannot pass redo that is damaged in the middle, and a start refuses to open as if the rest did not
//! exist. A user with a backup and the archived logs restores to a moment before the damage. A user without them may
//! give up the commits behind the damage, but only if the remaining database is consistent as of one moment. So the
//! files are rolled forward up to the damage, and every block is checked: if a block is of a later moment, because it
//! was written before the crash, the reset is refused. Otherwise a new incarnation begins there (R14).

use crate::forward::{Outcome, Progress};
use crate::restore::{new_life, stamp_all};
use crate::start::{Recovery, Standing, recover};
use block::Image;
use datafile::{CheckpointEntry, Contents, ControlFile, DataFiles};
use redo::Rba;
use types::{Facility, Ora, Rdba, Result};

/// The result of a reset.
#[derive(Clone, Debug)]
pub struct Reset {
    pub outcome: Outcome,
    /// The damage that required it.
    pub damage: Ora,
    pub control: ControlFile,
}

/// Rolls the files forward up to the damage and begins another incarnation there. Returns `None`, after an ordinary
/// recovery, when the redo is not damaged. `now_s` is now: seconds since 1970, UTC.
///
/// # Errors
/// ORA-01194 when blocks are of a later moment; those of [`recover`].
pub fn reset_logs(
    it: &Recovery<'_>,
    standing: &Standing,
    now_s: u32,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Option<Reset>> {
    let outcome = recover(it, standing, tell)?;
    let Some(damage) = outcome.damage.clone() else { return Ok(None) };
    refuse_later_blocks(it.files, it.control, outcome.end)?;
    let mut control = it.control.clone();
    let at =
        CheckpointEntry { rba: outcome.end.0, scn: outcome.scn, time_s: outcome.time_s.max(control.checkpoint.time_s) };
    new_life(&mut control, at, now_s);
    stamp_all(it.files, &control)?;
    control.write(it.files.directory())?;
    Ok(Some(Reset { outcome, damage, control }))
}

fn refuse_later_blocks(files: &DataFiles, control: &ControlFile, end: Rba) -> Result<()> {
    let is_logged = |f: &&datafile::FileEntry| {
        !control.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary || t.is_offline)
    };
    let mut image = Image::new(files.block_size());
    for f in control.files.iter().filter(|f| !f.is_offline).filter(is_logged) {
        if files.missing().contains(&f.file) {
            continue;
        }
        let (mut later, mut newest) = (0u32, 0);
        for n in 1..files.blocks(f.file)? {
            // A block that cannot be read has no moment; reading it later gives ORA-01578.
            if files.read_block(Rdba::new(f.file, n), image.bytes_mut()).is_ok() && image.view().rba() > end.0 {
                later += 1;
                newest = newest.max(image.view().rba());
            }
        }
        if later > 0 {
            let what = format!(
                "{later} of its blocks are of a later moment than the end of the redo (redo address {newest:#x}, not {:#x})",
                end.0
            );
            let name = Ora::with(1110, &[&f.head(), &files.directory().join(&f.name).display()]);
            return Err(Ora::with(1194, &[&f.head()]).because(name).because(Ora::from_text(Facility::Ora, 1152, what)));
        }
    }
    Ok(())
}
