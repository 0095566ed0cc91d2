//! The alert log: one text file with the events of the instance, to which every process of the instance appends.
//!
//! An entry is a line with a time stamp, and the text. It is written with one `write` to a file opened for appending,
//! so entries of different processes do not mix. A text may contain names and errors of users: no line of it can be
//! taken for the beginning of another entry.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The log's file name in the database directory.
pub const ALERT_LOG_NAME: &str = "alert.log";

/// The open log. A forked child inherits it.
pub struct AlertLog {
    file: Option<File>,
    /// The last entry is incomplete because the disk was full.
    is_cut: AtomicBool,
}

impl AlertLog {
    /// Opens the log in `dir`. On failure the instance continues without a log.
    pub fn open(dir: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(dir.join(ALERT_LOG_NAME)).ok();
        Self { file, is_cut: AtomicBool::new(false) }
    }

    /// Another handle of the log.
    pub fn duplicate(&self) -> Self {
        Self { file: self.file.as_ref().and_then(|f| f.try_clone().ok()), is_cut: AtomicBool::new(false) }
    }

    /// Appends one entry.
    pub fn write(&self, text: &str) {
        let Some(mut file) = self.file.as_ref() else { return };
        let cut = if self.is_cut.load(Ordering::Relaxed) { "\n" } else { "" };
        let entry = format!("{cut}{}\n{}\n", timestamp(), types::escape::lines(text.trim_end()));
        // A full disk must not end the instance; the entry, or its end, is lost.
        let written = file.write(entry.as_bytes());
        self.is_cut.store(!written.is_ok_and(|n| n == entry.len()), Ordering::Relaxed);
    }
}

/// The local time in the form of the alert log: `2026-11-21T21:09:00+00:00`.
pub fn timestamp() -> String {
    timestamp_of(os::clock::wall_ns())
}

/// The same for a moment in nanoseconds since 1970 UTC.
pub fn timestamp_of(wall_ns: u64) -> String {
    let utc = (wall_ns / 1_000_000_000) as i64;
    let offset = os::clock::utc_offset_seconds(utc);
    let local = utc + i64::from(offset);
    let (y, m, d) = civil(local.div_euclid(86_400));
    let s = local.rem_euclid(86_400);
    let sign = if offset < 0 { '-' } else { '+' };
    let (oh, om) = (offset.abs() / 3600, offset.abs() / 60 % 60);
    format!("{y:04}-{m:02}-{d:02}T{:02}:{:02}:{:02}{sign}{oh:02}:{om:02}", s / 3600, s / 60 % 60, s % 60)
}

/// Year, month and day of a day number counted from 1970-01-01, in the proleptic Gregorian calendar. Years begin in
/// March, so that the leap day is the last day of its year, and are grouped in eras of 400 years.
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_does_not_forge_an_entry() {
        let dir = std::env::temp_dir().join(format!("latchwork-alert-{}", os::process::own_id()));
        std::fs::create_dir_all(&dir).unwrap();
        AlertLog::open(&dir).write("ORA-20001: a\x1b[2J\r\n2026-11-21T21:09:00+00:00\nDatabase dismounted\n");
        let text = std::fs::read_to_string(dir.join(ALERT_LOG_NAME)).unwrap();
        let entry = text.split_once('\n').unwrap().1;
        assert_eq!(entry, "ORA-20001: a [2J\n 2026-11-21T21:09:00+00:00\nDatabase dismounted\n");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn days_become_dates() {
        for (days, want) in [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (11_016, (2000, 2, 29)), (20_778, (2026, 11, 21))]
        {
            assert_eq!(civil(days), want);
        }
    }
}
