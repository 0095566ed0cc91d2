//! The history of statistics, for RESTORE_TABLE_STATS.

use crate::stats_preferences::changed;
use crate::stats_store::delete_table;
use crate::work::{Work, by};
use dictionary::base::{Base, hist_head, histgrm, ind, ind_history, stat_pref, tab, tab_history};
use dictionary::rows::{Row, as_date, as_i64, as_text, as_u32, blank, int, text};
use dictionary::statistics::flags;
use types::{Date, ObjectId, Ora, Result, Timestamp, Value};

/// Default retention of the statistics history, in days.
const RETENTION_DAYS: i64 = 31;
/// Longest retention in days.
const RETENTION_MOST: i64 = 365_000;
/// The name of the retention among the preferences.
const RETENTION: &str = "STATS_HISTORY_RETENTION";
/// The name of the last purge's time among the preferences.
const PURGED: &str = "STATS_PURGED_BEFORE";
/// Tables whose history tables have the same columns, followed by SAVTIME.
const COPIED: [(Base, usize, Base); 2] =
    [(Base::HistHead, hist_head::OBJ, Base::HeadHistory), (Base::Histgrm, histgrm::OBJ, Base::HistgrmHistory)];
const INDEX_HISTORY: [(usize, usize); 11] = [
    (ind_history::OBJ, ind::OBJ),
    (ind_history::FLAGS, ind::STATFLAGS),
    (ind_history::ROWCNT, ind::ROWCNT),
    (ind_history::BLEVEL, ind::BLEVEL),
    (ind_history::LEAFCNT, ind::LEAFCNT),
    (ind_history::DISTKEY, ind::DISTKEY),
    (ind_history::LBLKKEY, ind::LBLKKEY),
    (ind_history::DBLKKEY, ind::DBLKKEY),
    (ind_history::CLUFAC, ind::CLUFAC),
    (ind_history::SAMPLESIZE, ind::SAMPLESIZE),
    (ind_history::ANALYZETIME, ind::ANALYZETIME),
];

/// The time of the machine's clock, to the microsecond.
fn now() -> Timestamp {
    let wall = os::clock::wall_ns();
    let utc = (wall / 1_000_000_000) as i64;
    let local = utc + i64::from(os::clock::utc_offset_seconds(utc));
    let nanos = (wall % 1_000_000_000 / 1000 * 1000) as u32;
    Timestamp::new(Date::from_unix(local).unwrap_or(Date::UNIX_EPOCH), nanos)
}

/// A moment in the time zone of the machine's clock.
fn on_the_clock(at: &Timestamp) -> Timestamp {
    if at.zone().is_none() {
        return *at;
    }
    let utc = at.utc().instant();
    let local = utc + i64::from(os::clock::utc_offset_seconds(utc));
    Timestamp::new(Date::from_unix(local).unwrap_or(Date::UNIX_EPOCH), at.nanos)
}

fn moment(value: &Value) -> Option<(i64, u32)> {
    match value {
        Value::Timestamp(at) => Some((at.instant(), at.nanos)),
        _ => None,
    }
}

/// The retention in days: 0 no history, -1 unlimited.
pub fn retention(work: &mut Work<'_>) -> Result<i64> {
    let set = work.select(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == RETENTION)?;
    let days = set.first().and_then(|row| as_text(&row[stat_pref::VALUE]).parse().ok());
    Ok(days.unwrap_or(RETENTION_DAYS))
}

pub fn set_retention(work: &mut Work<'_>, days: i64) -> Result<()> {
    if !(-1..=RETENTION_MOST).contains(&days) {
        return Err(Ora::user(20001, format!("{days} is an invalid value for retention")));
    }
    work.change().delete(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == RETENTION)?;
    let row = [int(0), text(RETENTION), text(days.to_string()), Value::Date(work.now)];
    work.change().insert(Base::StatPref, &row)
}

/// The day before which nothing is kept.
fn oldest_kept(work: &mut Work<'_>) -> Result<Date> {
    let days = match retention(work)? {
        -1 => return Ok(Date::UNIX_EPOCH),
        days => days,
    };
    Ok(Date::from_unix(now().instant() - days * 86_400).unwrap_or(Date::UNIX_EPOCH))
}

/// Whether the history may have versions older than the retention: checked once a day, and at once after the retention
/// has become shorter by a day or more.
fn is_purge_due(purged: Option<Date>, oldest: Date) -> bool {
    purged.is_none_or(|purged| oldest.to_unix() - purged.to_unix() >= 86_400)
}

/// Saves the present statistics of a table, its columns and its indexes, after deleting versions older than the
/// retention.
pub fn save(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let days = retention(work)?;
    if days >= 0 && is_purge_due(purged_before(work)?, oldest_kept(work)?) {
        // Without a history, versions saved in this second are deleted too.
        let before = (days == 0).then(now);
        purge(work, before.as_ref())?;
    }
    if days == 0 {
        return Ok(());
    }
    let at = Value::Timestamp(now());
    let mut saved = Vec::new();
    for row in work.select_by(Base::Tab, by(tab::OBJ, object))? {
        let mut old = blank(Base::TabHistory);
        let pairs = [
            (tab_history::OBJ, tab::OBJ),
            (tab_history::FLAGS, tab::STATFLAGS),
            (tab_history::ROWCNT, tab::ROWCNT),
            (tab_history::BLKCNT, tab::BLKCNT),
            (tab_history::AVGRLN, tab::AVGRLN),
            (tab_history::SAMPLESIZE, tab::SAMPLESIZE),
            (tab_history::ANALYZETIME, tab::ANALYZETIME),
        ];
        pairs.iter().for_each(|(to, from)| old[*to] = row[*from].clone());
        old[tab_history::SAVTIME] = at.clone();
        saved.push(old);
    }
    work.change().insert_many(Base::TabHistory, &saved)?;
    let mut saved = Vec::new();
    for row in work.select_by(Base::Ind, by(ind::BO, object))? {
        let mut old = blank(Base::IndHistory);
        INDEX_HISTORY.iter().for_each(|(to, from)| old[*to] = row[*from].clone());
        (old[ind_history::BO], old[ind_history::SAVTIME]) = (int(object.0), at.clone());
        saved.push(old);
    }
    work.change().insert_many(Base::IndHistory, &saved)?;
    for (from, column, to) in COPIED {
        let mut rows = work.select_by(from, by(column, object))?;
        rows.iter_mut().for_each(|row| row.push(at.clone()));
        work.change().insert_many(to, &rows)?;
    }
    Ok(())
}

/// Restores the statistics of a moment: the first versions saved after it.
pub fn restore(work: &mut Work<'_>, object: ObjectId, as_of: &Timestamp) -> Result<()> {
    let as_of = on_the_clock(as_of);
    let since = available_since(work)?;
    if (as_of.instant(), as_of.nanos) < (since.instant(), since.nanos) {
        return Err(Ora::user(20006, "Unable to restore statistics , statistics history not available"));
    }
    let tables = work.select_by(Base::TabHistory, by(tab_history::OBJ, object))?;
    let later = |row: &&Row| moment(&row[tab_history::SAVTIME]) > Some((as_of.instant(), as_of.nanos));
    let Some(table) = tables.iter().filter(later).min_by_key(|row| moment(&row[tab_history::SAVTIME])) else {
        // Nothing has changed since then.
        return Ok(());
    };
    let at = table[tab_history::SAVTIME].clone();
    let indexes = work.select(Base::IndHistory, &|row| {
        as_u32(&row[ind_history::BO]) == object.0 && row[ind_history::SAVTIME] == at
    })?;
    let mut copied = Vec::new();
    for (to, column, from) in COPIED {
        let last = from.table().columns.len() - 1;
        let mut rows = work.select(from, &|row| as_u32(&row[column]) == object.0 && row[last] == at)?;
        rows.iter_mut().for_each(|row| row.truncate(last));
        copied.push((to, rows));
    }
    save(work, object)?;
    delete_table(work, object, true, true)?;
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        row[tab::ROWCNT] = table[tab_history::ROWCNT].clone();
        row[tab::BLKCNT] = table[tab_history::BLKCNT].clone();
        row[tab::AVGRLN] = table[tab_history::AVGRLN].clone();
        row[tab::SAMPLESIZE] = table[tab_history::SAMPLESIZE].clone();
        row[tab::ANALYZETIME] = table[tab_history::ANALYZETIME].clone();
        let user = as_i64(&table[tab_history::FLAGS]).unwrap_or(0) & flags::USER;
        row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED | user);
    })?;
    work.change().update_by(Base::Ind, by(ind::BO, object), &mut |row| {
        let old = indexes.iter().find(|old| old[ind_history::OBJ] == row[ind::OBJ]);
        if let Some(old) = old {
            INDEX_HISTORY.iter().for_each(|(from, to)| row[*to] = old[*from].clone());
        }
    })?;
    for (base, rows) in &copied {
        work.change().insert_many(*base, rows)?;
    }
    changed(work, object)?;
    Ok(())
}

/// The time from which the history is complete: the last purge, or the retention.
pub fn available_since(work: &mut Work<'_>) -> Result<Timestamp> {
    let oldest = oldest_kept(work)?;
    Ok(Timestamp::new(purged_before(work)?.map_or(oldest, |purged| purged.max(oldest)), 0))
}

/// The time before which the history has been purged.
fn purged_before(work: &mut Work<'_>) -> Result<Option<Date>> {
    let purged = work.select(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == PURGED)?;
    Ok(purged.iter().filter_map(|row| as_date(&row[stat_pref::CHANGED])).max())
}

pub fn purge(work: &mut Work<'_>, before: Option<&Timestamp>) -> Result<()> {
    let before = match before {
        Some(before) => on_the_clock(before),
        None => Timestamp::new(oldest_kept(work)?, 0),
    };
    for base in [Base::TabHistory, Base::IndHistory, Base::HeadHistory, Base::HistgrmHistory] {
        let at = base.table().columns.iter().position(|(name, _)| *name == "SAVTIME").unwrap_or(0);
        work.change().delete(base, &|row| moment(&row[at]) < Some((before.instant(), before.nanos)))?;
    }
    work.change().delete(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == PURGED)?;
    let row = [int(0), text(PURGED), Value::Null, Value::Date(before.clock())];
    work.change().insert(Base::StatPref, &row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_purged_once_a_day() {
        let at = |days: i64, seconds: i64| Date::from_unix(1_700_000_000 + days * 86_400 + seconds).expect("a date");
        // Nothing has ever been purged.
        assert!(is_purge_due(None, at(0, 0)));
        assert!(!is_purge_due(Some(at(0, 0)), at(0, 0)));
        assert!(!is_purge_due(Some(at(0, 0)), at(0, 86_399)));
        assert!(is_purge_due(Some(at(0, 0)), at(1, 0)));
        // The retention has become longer.
        assert!(!is_purge_due(Some(at(9, 0)), at(1, 0)));
    }
}
