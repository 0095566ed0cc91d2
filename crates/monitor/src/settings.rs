//! The interval and the retention of snapshots: the row of the database in `wrm$_wr_control`.

use crate::recorder::{Recorder, integer, lock};
use dictionary::rows::int;
use instance::Text;
use types::{Ora, Result};

/// Minutes between automatic snapshots, and minutes for which snapshots are kept, by default: an hour and eight days.
pub const INTERVAL_MIN: i64 = 60;
pub const RETENTION_MIN: i64 = 8 * 24 * 60;

/// The ranges of MODIFY_SNAPSHOT_SETTINGS in minutes; zero turns automatic snapshots off, or keeps snapshots forever.
const INTERVALS_MIN: (i64, i64) = (10, 52_560_000);
const RETENTIONS_MIN: (i64, i64) = (1440, 52_560_000);

/// The number of the database.
pub(crate) fn dbid(r: &mut impl Recorder) -> Result<i64> {
    Ok(integer(&r.rows("select dbid from v$database", &[])?).unwrap_or(0))
}

fn in_range(code: u32, minutes: Option<i64>, (least, most): (i64, i64)) -> Result<()> {
    match minutes {
        Some(n) if n != 0 && !(least..=most).contains(&n) => Err(Ora::with(code, &[&n, &least, &most])),
        _ => Ok(()),
    }
}

/// MODIFY_SNAPSHOT_SETTINGS.
///
/// # Errors
/// ORA-13510 and ORA-13511 for settings out of range.
pub(crate) fn set(
    r: &mut impl Recorder,
    retention: Option<i64>,
    interval: Option<i64>,
    top: Option<i64>,
) -> Result<()> {
    in_range(13510, retention, RETENTIONS_MIN)?;
    in_range(13511, interval, INTERVALS_MIN)?;
    lock(r)?;
    let dbid = dbid(r)?;
    settings_row(r, dbid)?;
    let dbid = int(dbid);
    for (column, value) in [("retention_min", retention), ("snap_interval_min", interval), ("topnsql", top)] {
        if let Some(value) = value {
            let sql = Text::joined(&["update sys.wrm$_wr_control set ", column, " = :1 where dbid = :2"]);
            r.rows(sql, &[int(value), dbid.clone()])?;
        }
    }
    r.instance().state().note_repository_change();
    Ok(())
}

/// Makes the row of settings where it is not there.
pub(crate) fn settings_row(r: &mut impl Recorder, dbid: i64) -> Result<()> {
    let dbid = int(dbid);
    let insert = "insert into sys.wrm$_wr_control (dbid, snap_interval_min, retention_min) select :1, :2, :3 from dual \
                  where not exists (select null from sys.wrm$_wr_control w where w.dbid = :4)";
    r.rows(insert, &[dbid.clone(), int(INTERVAL_MIN), int(RETENTION_MIN), dbid]).map(drop)
}
