//! Measurement of the device of the data files, and of the CPU, for system statistics without a workload.
//!
//! The reads go through the page cache of the operating system, like those of the instance, and past the buffer cache.
//! They are in no file's figures, so a workload measured at the same time does not include them. Allocated but
//! unwritten space costs no read, and is skipped.

use crate::work::Work;
use datafile::DataFiles;
use types::{Ora, Rdba, Result};
use wait::Event;

/// Number of reads of each size.
const READS: usize = 256;
/// Blocks of a long read.
const MANY: usize = 16;
/// The resolution of the clock: a nanosecond, in milliseconds.
const CLOCK_MS: f64 = 1e-6;
/// Least number of possible places of a long read: those of a megabyte.
const PLACES_LEAST: u64 = 128;
/// Additions of one CPU measurement (a third of a millisecond), and the number of measurements. The shortest one
/// counts: during the others the CPU ran other processes.
const ADDITIONS: u64 = 1 << 20;
const MEASUREMENTS: usize = 32;

/// The times of reads: milliseconds until the first byte, and bytes per millisecond from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    pub seek_ms: f64,
    pub bytes_per_ms: f64,
}

impl Device {
    /// Derived from the times of reads of one block and of several; `None` if the long reads are not slower. If the
    /// transfer takes all of the time, as in memory, the seek time is the clock's resolution.
    fn of(block_bytes: f64, single_ms: f64, many_ms: f64) -> Option<Device> {
        let per_block = (many_ms - single_ms) / (MANY - 1) as f64;
        let seek_ms = (single_ms - per_block).max(CLOCK_MS);
        (per_block > 0.0).then(|| Device { seek_ms, bytes_per_ms: block_bytes / per_block })
    }
}

/// Reads at random from the written parts of all available data files; `None` if these are too small, or the times are
/// implausible.
///
/// Waits: `db file sequential read`, `db file scattered read`.
/// # Errors
/// Those of reading, and of a session that must stop.
pub fn measure(work: &mut Work<'_>) -> Result<Option<Device>> {
    let parts = work.host.parts();
    let files = parts.storage.heap.transactions().cache().files();
    let stretches = stretches(files)?;
    let room = |blocks: u32| u64::from(blocks.saturating_sub(MANY as u32 - 1));
    let places: u64 = stretches.iter().map(|(_, blocks)| room(*blocks)).sum();
    if places < PLACES_LEAST {
        return Ok(None);
    }
    let mut buffer = vec![0; MANY * files.block_size()];
    let mut times: [Vec<u64>; 2] = Default::default();
    // Single and long reads alternate, so that other load affects both.
    for at in 0..2 * READS {
        parts.p.check_cancel()?;
        let mut place = u64::from_le_bytes(os::random::bytes().map_err(Ora::internal)?) % places;
        let found = stretches.iter().find_map(|(first, blocks)| {
            if place < room(*blocks) {
                return Some(Rdba::new(first.file(), first.block() + place as u32));
            }
            place -= room(*blocks);
            None
        });
        let from = found.ok_or_else(|| Ora::internal("[place of a read]"))?;
        let (event, blocks) =
            if at % 2 == 0 { (Event::DbFileSequentialRead, 1) } else { (Event::DbFileScatteredRead, MANY) };
        let (file, block) = files.shown(from);
        let wait = parts.p.wait(event, file.into(), block.into(), blocks as u64);
        let begun = os::clock::now_ns();
        let done = files.read_blocks(from, &mut buffer[..blocks * files.block_size()]);
        times[at % 2].push(os::clock::now_ns() - begun);
        drop(wait);
        done?;
    }
    let [single_ms, many_ms] = times.map(median_ms);
    Ok(Device::of(files.block_size() as f64, single_ms, many_ms))
}

/// The median: a read during which the CPU ran another process takes a thousand times as long.
fn median_ms(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |ns| *ns as f64 / 1e6)
}

/// The first blocks of the written parts, and their lengths. Files of an offline tablespace have none.
fn stretches(files: &DataFiles) -> Result<Vec<(Rdba, u32)>> {
    let away = files.missing();
    let mut stretches = Vec::new();
    for entry in files.control()?.files {
        if entry.is_offline || away.contains(&entry.file) || files.is_temporary(entry.file) {
            continue;
        }
        match files.written(entry.file) {
            Ok(found) => stretches.extend(found.iter().map(|(block, blocks)| (Rdba::new(entry.file, *block), *blocks))),
            Err(e) if e.is(1157) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(stretches)
}

/// The present clock rate of the CPU in MHz; `None` if cycles cannot be counted.
pub fn processor_mhz() -> Option<f64> {
    let least = (0..MEASUREMENTS).filter_map(|_| os::cpu::additions_ns(ADDITIONS)).min()?;
    Some(ADDITIONS as f64 * 1000.0 / least.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seek_and_transfer_follow_from_the_times_of_two_sizes() {
        // Oracle's default device: 10 ms per seek, 2 ms for each block of 8 KB.
        let found = Device::of(8192.0, 12.0, 42.0).expect("a device");
        assert!((found.seek_ms - 10.0).abs() < 1e-9 && (found.bytes_per_ms - 4096.0).abs() < 1e-9, "{found:?}");
        // In memory the whole time of a block is transfer.
        assert_eq!(Device::of(8192.0, 1.0, 17.5), Some(Device { seek_ms: CLOCK_MS, bytes_per_ms: 8192.0 / 1.1 }));
        // Times measured on a machine with other load.
        assert_eq!(Device::of(8192.0, 12.0, 11.0), None);
        assert_eq!(median_ms(vec![9_000_000_000, 2_000_000, 1_000_000]), 2.0);
    }
}
