//! The machine's clock, as statements and logs show it.

use types::{Date, Timestamp};

/// The local time, with its offset, of a moment in nanoseconds since 1970.
pub fn local_time_at(wall: u64) -> Timestamp {
    let utc = (wall / 1_000_000_000) as i64;
    let offset = os::clock::utc_offset_seconds(utc);
    // SYSTIMESTAMP is a TIMESTAMP(6).
    let nanos = (wall % 1_000_000_000 / 1000 * 1000) as u32;
    let zone = types::TimeZone::Offset((offset / 60) as i16);
    Timestamp::of_clock(Date::from_unix(utc).unwrap_or(Date::UNIX_EPOCH), nanos, types::Place::In(zone))
}
