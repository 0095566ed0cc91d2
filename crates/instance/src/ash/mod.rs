//! The active session history: the activity of every session that is not idle, once a second, in a ring in the SGA.
//!
//! The ring has one writer, MMNL, and any number of readers, which never wait.

mod ring;

pub use ring::{Ash, AshFigures, AshLayout, Sample, Text, bit};

use params::{InitParams, Param, SystemParams};

/// One in this number of samples is kept on disk.
pub const KEPT_ONE_IN: u64 = 10;

/// The default size of the ring in bytes: for each processor, at least and at most.
const BYTES_BY_PROCESSOR: u64 = 2 << 20;
const BYTES_LEAST: u64 = 4 << 20;
const BYTES_MOST: u64 = 64 << 20;

/// With an `sga_target` the ring takes at most one part in `TARGET_PART`, but always `BYTES_OF_LITTLE`.
const TARGET_PART: u64 = 50;
const BYTES_OF_LITTLE: u64 = 1 << 20;

/// Bytes of the ring that the parameters ask for.
pub fn ring_bytes(init: &InitParams) -> u64 {
    match u64::try_from(init.number(Param::AshSize)) {
        Ok(bytes) if bytes > 0 => bytes,
        _ => {
            let wanted = (crate::sizes::cpus(init) as u64 * BYTES_BY_PROCESSOR).clamp(BYTES_LEAST, BYTES_MOST);
            match u64::try_from(init.number(Param::SgaTarget)) {
                Ok(target) if target > 0 => wanted.min((target / TARGET_PART).max(BYTES_OF_LITTLE)),
                _ => wanted,
            }
        }
    }
}

/// The name of a statement's kind by its number: SQL_OPNAME.
pub fn command_name(command: u64) -> &'static str {
    u16::try_from(command).map_or("UNKNOWN", |number| net::StatementKind(number).name())
}

/// Whether sessions are sampled; `statistics_level` = BASIC turns sampling off, too.
pub fn is_on(params: &SystemParams) -> bool {
    params.flag(Param::AshEnable) && !params.get(Param::StatisticsLevel).eq_ignore_ascii_case("BASIC")
}
