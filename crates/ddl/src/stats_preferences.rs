//! The preferences of DBMS_STATS, and the invalidation of cursors that they decide.

use crate::method_opt;
use crate::work::{Invalidation, Work};
use dictionary::base::{Base, stat_pref};
use dictionary::rows::{as_optional_text, as_text, as_u32, int, text};
use types::{ObjectId, Ora, Result, Value};

/// The default of METHOD_OPT.
const DEFAULT_METHOD: &str = "FOR ALL COLUMNS SIZE AUTO";
/// Preferences and their defaults.
const PREFERENCES: &[(&str, &str)] = &[
    ("CASCADE", "DBMS_STATS.AUTO_CASCADE"),
    ("ESTIMATE_PERCENT", "DBMS_STATS.AUTO_SAMPLE_SIZE"),
    ("METHOD_OPT", DEFAULT_METHOD),
    ("NO_INVALIDATE", "DBMS_STATS.AUTO_INVALIDATE"),
    ("STALE_PERCENT", "10"),
];
/// Oracle's preferences without effect here; they can be queried.
const FIXED_PREFERENCES: &[(&str, &str)] = &[
    ("AUTOSTATS_TARGET", "AUTO"),
    ("CONCURRENT", "OFF"),
    ("DEGREE", "NULL"),
    ("GLOBAL_TEMP_TABLE_STATS", "SESSION"),
    ("GRANULARITY", "AUTO"),
    ("INCREMENTAL", "FALSE"),
    ("OPTIONS", "GATHER"),
    ("PUBLISH", "TRUE"),
    ("TABLE_CACHED_BLOCKS", "1"),
];

fn known_preference(name: &str) -> Option<(&'static str, bool)> {
    let of = |list: &[(&'static str, &'static str)]| list.iter().find(|(have, _)| *have == name).map(|(_, is)| *is);
    of(PREFERENCES).map(|is| (is, true)).or_else(|| of(FIXED_PREFERENCES).map(|is| (is, false)))
}

/// The value of a preference for a table (or the database, object 0).
pub fn preference(work: &mut Work<'_>, object: ObjectId, name: &str) -> Result<String> {
    let Some((default, _)) = known_preference(name) else {
        return Err(Ora::user(20001, "Invalid input values for pname"));
    };
    let wanted = |row: &[Value]| {
        let of = as_u32(&row[stat_pref::OBJ]);
        (of == object.0 || of == 0) && as_text(&row[stat_pref::PNAME]) == name
    };
    let rows = work.select(Base::StatPref, &wanted)?;
    let best = rows.iter().max_by_key(|row| as_u32(&row[stat_pref::OBJ]));
    Ok(best.and_then(|row| as_optional_text(&row[stat_pref::VALUE])).unwrap_or_else(|| default.to_owned()))
}

pub fn set_preference(work: &mut Work<'_>, object: ObjectId, name: &str, value: Option<&str>) -> Result<()> {
    let invalid = || Ora::user(20001, "Invalid input values for pvalue");
    match known_preference(name) {
        None => return Err(Ora::user(20001, "Invalid input values for pname")),
        Some((_, false)) if value.is_some() => return Err(Ora::unsupported()),
        Some(_) => {}
    }
    let stored = match (name, value) {
        (_, None) => None,
        ("METHOD_OPT", Some(value)) => {
            method_opt::parse(value)?;
            Some(value.to_uppercase())
        }
        ("STALE_PERCENT", Some(value)) => {
            let percent = value.trim().parse::<f64>().ok().filter(|percent| *percent >= 0.0);
            percent.map(|_| Some(value.trim().to_owned())).ok_or_else(invalid)?
        }
        ("ESTIMATE_PERCENT", Some(value)) => match value.trim().to_uppercase() {
            auto if auto.ends_with("AUTO_SAMPLE_SIZE") => Some("DBMS_STATS.AUTO_SAMPLE_SIZE".to_owned()),
            number => {
                let percent = number.parse::<f64>().ok().filter(|percent| (0.000001..=100.0).contains(percent));
                percent.map(|_| Some(number)).ok_or_else(invalid)?
            }
        },
        (_, Some(value)) => match value.trim().to_uppercase() {
            word if ["TRUE", "FALSE"].contains(&word.as_str()) => Some(word),
            auto if name == "CASCADE" && auto.ends_with("AUTO_CASCADE") => Some("DBMS_STATS.AUTO_CASCADE".to_owned()),
            auto if name == "NO_INVALIDATE" && auto.ends_with("AUTO_INVALIDATE") => {
                Some("DBMS_STATS.AUTO_INVALIDATE".to_owned())
            }
            _ => return Err(invalid()),
        },
    };
    let mine = |row: &[Value]| as_u32(&row[stat_pref::OBJ]) == object.0 && as_text(&row[stat_pref::PNAME]) == name;
    work.change().delete(Base::StatPref, &mine)?;
    if let Some(value) = stored {
        let row = [int(object.0), text(name), text(value), Value::Date(work.now)];
        work.change().insert(Base::StatPref, &row)?;
    }
    Ok(())
}

/// Invalidates the cursors that depend on a table whose statistics, or those of its columns or indexes, have changed,
/// as requested or preferred.
pub fn changed(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let invalidation = match work.invalidation {
        Invalidation::Preference => match preference(work, object, "NO_INVALIDATE")?.as_str() {
            "TRUE" => Invalidation::Never,
            "FALSE" => Invalidation::Now,
            _ => Invalidation::Rolling,
        },
        set => set,
    };
    match invalidation {
        Invalidation::Now => work.touch(object),
        Invalidation::Rolling => work.roll_out(object),
        Invalidation::Never | Invalidation::Preference => {}
    }
    Ok(())
}
