//! Measuring the device of the data files, and the processor, for system statistics without a workload.
//!
//! Reads are made as the instance makes its own: through the page cache of the operating system, where there is one.
//! They go past the buffer cache and are in no figure of a file, so that a workload that is measured meanwhile does not
//! have them. What has only been allocated costs no read, and is not read.

use crate::work::Work;
use datafile::DataFiles;
use types::{Ora, Rdba, Result};
use wait::Event;

/// Reads of each size that are measured.
const READS: usize = 256;
/// Blocks of the longer reads.
const MANY: usize = 16;
/// The least time that a clock tells: a nanosecond, in milliseconds.
const CLOCK_MS: f64 = 1e-6;
/// Places that a longer read can begin at, at least: those of a megabyte.
const PLACES_LEAST: u64 = 128;
/// Additions of one measurement of the processor, a third of a millisecond, and measurements, of which the shortest
/// counts: the others lost the processor for a while.
const ADDITIONS: u64 = 1 << 20;
const MEASUREMENTS: usize = 32;

/// The times of reads: milliseconds before the first byte comes, and bytes a millisecond from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    pub seek_ms: f64,
    pub bytes_per_ms: f64,
}

impl Device {
    /// From the times of a read of one block and of several; `None` where the longer reads are not the slower. Where a
    /// block takes all of the time, as in memory, a seek takes the least that a clock tells.
    fn of(block_bytes: f64, single_ms: f64, many_ms: f64) -> Option<Device> {
        let per_block = (many_ms - single_ms) / (MANY - 1) as f64;
        let seek_ms = (single_ms - per_block).max(CLOCK_MS);
        (per_block > 0.0).then(|| Device { seek_ms, bytes_per_ms: block_bytes / per_block })
    }
}

/// Reads at random from what has been written of all data files that are there; `None` where that is too little, or
/// where the times make no sense.
///
/// Waits: `db file sequential read`, `db file scattered read`.
/// # Errors
/// Those of reading, and of a session that is to stop.
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
    // Singles and longer reads in turn: what else the machine does meets both.
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
        let wait = parts.p.wait(event, from.file().into(), from.block().into(), blocks as u64);
        let begun = os::clock::now_ns();
        let done = files.read_blocks(from, &mut buffer[..blocks * files.block_size()]);
        times[at % 2].push(os::clock::now_ns() - begun);
        drop(wait);
        done?;
    }
    let [single_ms, many_ms] = times.map(median_ms);
    Ok(Device::of(files.block_size() as f64, single_ms, many_ms))
}

/// The time in the middle: a read during which the processor went to somebody else takes a thousand times as long.
fn median_ms(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |ns| *ns as f64 / 1e6)
}

/// The first blocks of what has been written, and how many blocks follow. A file of an offline tablespace has none.
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

/// Millions of cycles a second of this processor now; `None` where they cannot be counted.
pub fn processor_mhz() -> Option<f64> {
    let least = (0..MEASUREMENTS).filter_map(|_| os::cpu::additions_ns(ADDITIONS)).min()?;
    Some(ADDITIONS as f64 * 1000.0 / least.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seek_and_transfer_follow_from_the_times_of_two_sizes() {
        // Oracle's device without statistics: 10 ms to seek, 2 ms for each block of 8 KB.
        let found = Device::of(8192.0, 12.0, 42.0).expect("a device");
        assert!((found.seek_ms - 10.0).abs() < 1e-9 && (found.bytes_per_ms - 4096.0).abs() < 1e-9, "{found:?}");
        // In memory a block takes as long as its bytes do.
        assert_eq!(Device::of(8192.0, 1.0, 17.5), Some(Device { seek_ms: CLOCK_MS, bytes_per_ms: 8192.0 / 1.1 }));
        // Times that a machine with other work gave.
        assert_eq!(Device::of(8192.0, 12.0, 11.0), None);
        assert_eq!(median_ms(vec![9_000_000_000, 2_000_000, 1_000_000]), 2.0);
    }
}
