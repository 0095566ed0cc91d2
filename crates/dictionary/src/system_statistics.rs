//! System statistics from AUX_STATS$: times of reads, to weigh blocks read by a scan against single blocks.

use crate::base::aux_stats;
use crate::rows::as_text;
use types::Value;

/// Oracle's defaults: seek time in milliseconds, bytes per millisecond, blocks per read.
const SEEK_MS: f64 = 10.0;
const BYTES_PER_MS: f64 = 4096.0;
const READ_BLOCKS: f64 = 8.0;
const BLOCK_BYTES: f64 = 8192.0;

/// The system statistics that were gathered or set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SystemStatistics {
    values: [Option<f64>; SystemStatistics::NAMES.len()],
}

impl SystemStatistics {
    /// In the order of AUX_STATS$.
    pub const NAMES: [&'static str; 9] =
        ["CPUSPEED", "CPUSPEEDNW", "IOSEEKTIM", "IOTFRSPEED", "MAXTHR", "MBRC", "MREADTIM", "SLAVETHR", "SREADTIM"];

    /// Adds a row of AUX_STATS$.
    pub(crate) fn take(&mut self, row: &[Value]) {
        let known = as_text(&row[aux_stats::SNAME]) == "SYSSTATS_MAIN";
        let at = SystemStatistics::NAMES.iter().position(|name| known && *name == as_text(&row[aux_stats::PNAME]));
        if let (Some(at), Value::Number(value)) = (at, &row[aux_stats::PVAL1]) {
            self.values[at] = Some(value.to_f64());
        }
    }

    /// A positive value.
    fn get(&self, name: &str) -> Option<f64> {
        let at = SystemStatistics::NAMES.iter().position(|known| *known == name)?;
        self.values[at].filter(|value| *value > 0.0)
    }

    /// The time per block of a scan as a fraction of the time of a single-block read; `None` without statistics for it.
    /// Workload statistics are used when both read times are known and a multiblock read takes longer; otherwise seek
    /// time and transfer speed of the device are used.
    pub fn scan_share(&self) -> Option<f64> {
        if let (Some(single), Some(many)) = (self.get("SREADTIM"), self.get("MREADTIM"))
            && many > single
        {
            return Some(many / single / self.get("MBRC").unwrap_or(READ_BLOCKS));
        }
        let (seek, speed) = (self.get("IOSEEKTIM"), self.get("IOTFRSPEED"));
        if seek.is_none() && speed.is_none() {
            return None;
        }
        let (seek, speed) = (seek.unwrap_or(SEEK_MS), speed.unwrap_or(BYTES_PER_MS));
        let blocks = self.get("MBRC").unwrap_or(READ_BLOCKS);
        let time = |blocks: f64| seek + blocks * BLOCK_BYTES / speed;
        Some(time(blocks) / time(1.0) / blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(&str, f64)]) -> SystemStatistics {
        let mut all = SystemStatistics::default();
        for (name, value) in values {
            let at = SystemStatistics::NAMES.iter().position(|known| known == name).expect("a name");
            all.values[at] = Some(*value);
        }
        all
    }

    #[test]
    fn reads_of_many_blocks_are_weighed_by_their_times() {
        assert_eq!(of(&[]).scan_share(), None);
        assert_eq!(of(&[("SREADTIM", 5.0)]).scan_share(), None);
        assert_eq!(of(&[("SREADTIM", 5.0), ("MREADTIM", 10.0), ("MBRC", 16.0)]).scan_share(), Some(0.125));
        // The read times are implausible, so the figures of the device are used.
        let odd = of(&[("SREADTIM", 10.0), ("MREADTIM", 5.0), ("IOSEEKTIM", 10.0)]).scan_share().expect("a share");
        assert!((odd - 26.0 / 12.0 / 8.0).abs() < 1e-9);
        let quick = of(&[("IOSEEKTIM", 0.1), ("IOTFRSPEED", 8192.0)]).scan_share().expect("a share");
        assert!((quick - 8.1 / 1.1 / 8.0).abs() < 1e-9);
    }
}
