//! System statistics in AUX_STATS$.
//!
//! Without a workload the device itself is measured ([`crate::device`]).
//!
//! A workload is measured by the reads of all data files between START and STOP. The counts at the start are kept in
//! rows SYSSTATS_TEMP, so that another session, or a later start of the instance, may stop it. A restart in between
//! makes the counts smaller than they were, and the workload is invalid (STATUS BADSTATS), as without reads of one of
//! the kinds.

use crate::device;
use crate::work::Work;
use dictionary::base::{Base, aux_stats};
use dictionary::rows::{as_optional_text, as_text, int, text};
use dictionary::{ROLE_GATHER_SYSTEM_STATISTICS, SystemStatistics};
use types::{Number, Ora, Result, Value};

const INFO: &str = "SYSSTATS_INFO";
const MAIN: &str = "SYSSTATS_MAIN";
const TEMP: &str = "SYSSTATS_TEMP";

/// ORA-20000 without the role GATHER_SYSTEM_STATISTICS.
pub fn require_role(work: &Work<'_>) -> Result<()> {
    let may = work.session.roles.contains(&ROLE_GATHER_SYSTEM_STATISTICS.0) || work.names.is_sysdba();
    if may { Ok(()) } else { Err(Ora::user(20000, "Insufficient privileges")) }
}

fn put(work: &mut Work<'_>, kind: &str, name: &str, value: (Value, Value)) -> Result<()> {
    let mine = |row: &[Value]| as_text(&row[aux_stats::SNAME]) == kind && as_text(&row[aux_stats::PNAME]) == name;
    work.change().delete(Base::AuxStats, &mine)?;
    work.change().insert(Base::AuxStats, &[text(kind), text(name), value.0, value.1])
}

fn number(value: f64) -> Result<Value> {
    Ok(Value::Number(Number::from_f64(value).map_err(|_| Ora::user(20001, "Invalid or inconsistent input values"))?))
}

fn info(work: &mut Work<'_>, name: &str, value: &str) -> Result<()> {
    put(work, INFO, name, (Value::Null, text(value)))
}

/// The session's time in the form of AUX_STATS$.
fn minute(work: &Work<'_>) -> String {
    let f = work.now.fields();
    format!("{:02}-{:02}-{:04} {:02}:{:02}", f.month, f.day, f.year, f.hour, f.minute)
}

/// Sets a statistic.
///
/// # Errors
/// ORA-20003 for an unknown name, ORA-20001 for a negative value.
pub fn set(work: &mut Work<'_>, name: &str, value: f64) -> Result<()> {
    require_known(name)?;
    if value.is_nan() || value < 0.0 {
        return Err(Ora::user(20001, "Invalid or inconsistent input values"));
    }
    put(work, MAIN, name, (number(value)?, Value::Null))?;
    complete(work, "COMPLETED")
}

fn require_known(name: &str) -> Result<()> {
    match SystemStatistics::NAMES.contains(&name) {
        true => Ok(()),
        false => Err(Ora::user(20003, format!("Unable to set or get system statistic {name}"))),
    }
}

fn complete(work: &mut Work<'_>, status: &str) -> Result<()> {
    let now = minute(work);
    info(work, "STATUS", status)?;
    info(work, "DSTART", &now)?;
    info(work, "DSTOP", &now)
}

/// A statistic, or an attribute of the last gathering. NULL when it has not been set.
///
/// # Errors
/// ORA-20003 for an unknown name.
pub fn get(work: &mut Work<'_>, name: &str) -> Result<Value> {
    let is_info = ["STATUS", "DSTART", "DSTOP"].contains(&name);
    if !is_info {
        require_known(name)?;
    }
    let kind = if is_info { INFO } else { MAIN };
    let mine = |row: &[Value]| as_text(&row[aux_stats::SNAME]) == kind && as_text(&row[aux_stats::PNAME]) == name;
    let rows = work.select(Base::AuxStats, &mine)?;
    let value = rows.first().map(|row| match is_info {
        true => as_optional_text(&row[aux_stats::PVAL2]).map_or(Value::Null, text),
        false => row[aux_stats::PVAL1].clone(),
    });
    Ok(value.unwrap_or(Value::Null))
}

/// Deletes all of them: costs are those of a new database.
///
/// # Errors
/// Those of changing the table.
pub fn delete(work: &mut Work<'_>) -> Result<()> {
    work.change().delete(Base::AuxStats, &|_| true).map(drop)
}

/// Measures the device of the data files and the CPU: NOWORKLOAD. If the device cannot be measured (too few blocks have
/// been written, or the times are implausible) its statistics stay, and STATUS is BADSTATS.
///
/// # Errors
/// Those of reading, and of changing the table.
pub fn device(work: &mut Work<'_>) -> Result<()> {
    let (mhz, device) = work.without_dd(&mut |work| Ok((device::processor_mhz(), device::measure(work)?)))?;
    // To the nanosecond, the byte and the kilohertz.
    let rounded = |value: f64, digits: i32| (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
    if let Some(mhz) = mhz {
        put(work, MAIN, "CPUSPEEDNW", (number(rounded(mhz, 3))?, Value::Null))?;
    }
    if let Some(device) = device {
        put(work, MAIN, "IOSEEKTIM", (number(rounded(device.seek_ms, 6))?, Value::Null))?;
        put(work, MAIN, "IOTFRSPEED", (number(rounded(device.bytes_per_ms, 0))?, Value::Null))?;
    }
    complete(work, if device.is_some() { "COMPLETED" } else { "BADSTATS" })
}

/// The reads of all data files: single-block reads and their nanoseconds; all reads, their blocks and nanoseconds.
const COUNTS: [&str; 5] = ["SINGLE_READS", "SINGLE_NS", "READS", "READ_BLOCKS", "READ_NS"];

fn counts(work: &mut Work<'_>) -> [u64; COUNTS.len()] {
    let parts = work.host.parts();
    let io = parts.storage.heap.transactions().cache().all_file_io();
    [io.single_reads, io.single_ns, io.reads, io.read_blocks, io.read_ns]
}

/// Begins a workload.
///
/// # Errors
/// Those of changing the table.
pub fn start(work: &mut Work<'_>) -> Result<()> {
    for (name, count) in COUNTS.into_iter().zip(counts(work)) {
        put(work, TEMP, name, (int(i64::try_from(count).unwrap_or(i64::MAX)), Value::Null))?;
    }
    let now = minute(work);
    info(work, "STATUS", "MANUALGATHERING")?;
    info(work, "DSTART", &now)?;
    info(work, "DSTOP", &now)
}

/// Ends a workload: the times of the reads since its start become the system statistics.
///
/// # Errors
/// ORA-20003 without a started workload; those of changing the table.
pub fn stop(work: &mut Work<'_>) -> Result<()> {
    let begun = work.select(Base::AuxStats, &|row| as_text(&row[aux_stats::SNAME]) == TEMP)?;
    let at_start = |name: &str| {
        let row = begun.iter().find(|row| as_text(&row[aux_stats::PNAME]) == name)?;
        dictionary::rows::as_i64(&row[aux_stats::PVAL1])
    };
    let mut since = [0.0; COUNTS.len()];
    for ((since, name), now) in since.iter_mut().zip(COUNTS).zip(counts(work)) {
        let before =
            at_start(name).ok_or_else(|| Ora::user(20003, "Unable to gather system statistics: not started"))?;
        *since = now as f64 - before as f64;
    }
    work.change().delete(Base::AuxStats, &|row| as_text(&row[aux_stats::SNAME]) == TEMP)?;
    let now = minute(work);
    let found = Workload::of(since);
    for (name, value) in found.named() {
        if let Some(value) = value {
            put(work, MAIN, name, (number(value)?, Value::Null))?;
        }
    }
    info(work, "STATUS", if found.is_whole() { "COMPLETED" } else { "BADSTATS" })?;
    info(work, "DSTOP", &now)
}

/// The times of a workload: milliseconds of single-block and multi-block reads, and blocks of the latter.
#[derive(Debug, PartialEq)]
struct Workload {
    single_ms: Option<f64>,
    many_ms: Option<f64>,
    many_blocks: Option<f64>,
}

impl Workload {
    fn of([singles, single_ns, reads, blocks, ns]: [f64; COUNTS.len()]) -> Workload {
        let (many, many_blocks, many_ns) = (reads - singles, blocks - singles, ns - single_ns);
        // To the microsecond.
        let ms = |ns: f64, count: f64| (count > 0.0 && ns >= 0.0).then(|| (ns / count / 1000.0).round() / 1000.0);
        Workload {
            single_ms: ms(single_ns, singles),
            many_ms: ms(many_ns, many),
            many_blocks: (many > 0.0 && many_blocks > 0.0).then(|| (many_blocks / many).round()),
        }
    }

    fn named(&self) -> [(&'static str, Option<f64>); 3] {
        [("SREADTIM", self.single_ms), ("MREADTIM", self.many_ms), ("MBRC", self.many_blocks)]
    }

    fn is_whole(&self) -> bool {
        self.named().iter().all(|(_, value)| value.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_measured_by_its_reads() {
        let found = Workload::of([100.0, 50_000_000.0, 110.0, 260.0, 80_000_000.0]);
        let whole = Workload { single_ms: Some(0.5), many_ms: Some(3.0), many_blocks: Some(16.0) };
        assert_eq!(found, whole);
        assert!(found.is_whole());
        let no_scans = Workload::of([100.0, 50_000_000.0, 100.0, 100.0, 50_000_000.0]);
        assert_eq!(no_scans, Workload { single_ms: Some(0.5), many_ms: None, many_blocks: None });
        // The instance was restarted.
        assert!(!Workload::of([-100.0, -5.0, -100.0, -100.0, -5.0]).is_whole());
    }
}
