//! The active session history: what every session that was not idle did, once a second, in a ring in the SGA.
//!
//! | part | what it does |
//! |---|---|
//! | [`ring`] | keeps the samples: one writer, MMNL; any number of readers, who wait for nobody |
//! | [`schedule`] | says when a sample is due, and what time it stands for |
//! | [`sampler`] | looks at all sessions and makes the samples |
//! | [`save`] | writes one in ten into the workload repository |
//!
//! Sessions do nothing for it: the sampler reads the words that they show anyway (slot, live wait, cursors,
//! statistics), and what a wait that a sample saw came to is noted behind it, once it has ended. A session is active
//! when it does not wait for an event of the class Idle, which is what `DB time` counts: the sum of the times that
//! samples stand for is an estimate of it.

mod ring;
mod sampler;
mod save;
mod schedule;

pub use ring::{Ash, AshFigures, AshLayout, Sample, Text, bit};
pub use sampler::{KEPT_ONE_IN, Sampler, is_on};
pub(crate) use save::{Saving, save_now};

use params::{InitParams, Param};

/// Bytes of the ring by processor, and at least, where nothing else is said.
const BYTES_BY_PROCESSOR: u64 = 2 << 20;
const BYTES_LEAST: u64 = 4 << 20;
const BYTES_MOST: u64 = 64 << 20;

/// The part of an `sga_target` that it takes at most, and what it takes of the smallest.
const TARGET_PART: u64 = 50;
const BYTES_OF_LITTLE: u64 = 1 << 20;

/// Bytes of the ring that the parameters ask for.
pub fn ring_bytes(init: &InitParams) -> u64 {
    match u64::try_from(init.number(Param::AshSize)) {
        Ok(bytes) if bytes > 0 => bytes,
        _ => {
            let wanted = (os::cpu::count() as u64 * BYTES_BY_PROCESSOR).clamp(BYTES_LEAST, BYTES_MOST);
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
