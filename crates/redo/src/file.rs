//! The header of a log file.
//!
//! A log file holds one piece of the redo stream after one header block. The header has the database, incarnation and
//! sequence of the piece and the position of its first record in the stream; it is written before any record of the
//! sequence.
//!
//! ```text
//! 0  8 bytes `LWREDO02`          32 u64 start (position in the stream)
//! 8  u64 database                40 u64 first scn
//! 16 u32 incarnation             48 u32 first time, seconds since 1970 UTC
//! 20 u32 sequence                52 u32 block size (512)
//! 24 u32 group (0: archived)     56 u64 end of the redo (archived copies; 0 elsewhere)
//! 28 u32 reach, in 4,096 bytes   64 u64 checksum of the bytes before
//! ```
//!
//! The reach is a limit of the written part of the file: it is moved forward, and synced, before anything is written
//! behind it (R15). A search for signs that the redo goes on ends there and need not read the rest of a long file.

use crate::record::hash;
use crate::{LogId, Rba};
use os::file::{File, OpenMode};
use std::path::Path;
use types::{Facility, Ora, Result, Scn};

/// Bytes of a log file before its first record.
pub const LOG_HEADER_BYTES: u64 = 4096;
/// The unit in which `v$log` and the statistics count redo.
pub const LOG_BLOCK_BYTES: u64 = 512;

const MAGIC: &[u8; 8] = b"LWREDO02";
const SUMMED: usize = 64;

/// The unit of a log's reach, in bytes.
const REACH_UNIT: u64 = 4096;
/// The header lies in the first sector, which the device writes whole.
const SECTOR_BYTES: usize = 512;

/// Bytes of redo that fit into a file of `bytes`.
pub(crate) fn room_of(bytes: u64) -> u64 {
    bytes.saturating_sub(LOG_HEADER_BYTES) / 8 * 8
}

/// Seconds since 1970, UTC.
pub(crate) fn now_s() -> u32 {
    (os::clock::wall_ns() / 1_000_000_000) as u32
}

/// The contents of the header of a log file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogHeader {
    /// The database that it belongs to.
    pub database: u64,
    /// The incarnation that wrote it.
    pub incarnation: u32,
    /// Its sequence number, from 1.
    pub sequence: u32,
    /// Its group; 0 in an archived copy.
    pub group: u32,
    /// The position of its first record.
    pub start: Rba,
    /// In an archived copy, the position after its last record; 0 elsewhere.
    pub end: Rba,
    /// All bytes of this sequence lie within this distance of `start`, a multiple of 4,096; 0: not known.
    pub reach_bytes: u64,
    /// The newest SCN of the redo before it.
    pub first_scn: Scn,
    /// The time when it was begun: seconds since 1970, UTC.
    pub first_time_s: u32,
}

impl LogHeader {
    /// The identity of this use of the file.
    pub fn id(&self) -> LogId {
        LogId { incarnation: self.incarnation, sequence: self.sequence }
    }
}

/// The operating system's error, for an error stack.
pub(crate) fn io_error(e: &os::OsError) -> Ora {
    Ora::from_text(Facility::Ora, 27072, format!("File I/O error\nLinux Error: {}: {e}", e.errno()))
}

impl LogHeader {
    /// Reads and checks the header of the log file `path`.
    ///
    /// # Errors
    /// ORA-00313 when it cannot be opened, ORA-00367 when it is not a log file or damaged; ORA-00312 with the file's
    /// name below it.
    pub fn read(path: &Path) -> Result<LogHeader> {
        let open = |_| Ora::with(313, &[&0, &1]).because(name(path));
        let file = File::open(path, OpenMode::Read).map_err(open)?;
        LogHeader::of(&file)
    }

    pub(crate) fn of(file: &File) -> Result<LogHeader> {
        let mut bytes = [0; SUMMED + 8];
        let read = file.read_at(&mut bytes, 0).ok();
        read.and_then(|()| LogHeader::parse(&bytes)).ok_or_else(|| Ora::new(367).because(name(file.path())))
    }

    /// The header as stored in the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.database.to_le_bytes());
        let reach = (self.reach_bytes / REACH_UNIT).min(u32::MAX.into()) as u32;
        for n in [self.incarnation, self.sequence, self.group, reach] {
            out.extend(n.to_le_bytes());
        }
        out.extend(self.start.0.to_le_bytes());
        out.extend(self.first_scn.0.to_le_bytes());
        out.extend(self.first_time_s.to_le_bytes());
        out.extend((LOG_BLOCK_BYTES as u32).to_le_bytes());
        out.extend(self.end.0.to_le_bytes());
        let sum = hash(&out);
        out.extend(sum.to_le_bytes());
        out.resize(LOG_HEADER_BYTES as usize, 0);
        out
    }

    /// Overwrites the header of the file.
    pub(crate) fn write_over(&self, file: &File) -> os::OsResult<()> {
        file.write_at(&self.to_bytes()[..SECTOR_BYTES], 0)
    }

    /// The new reach of a log with room for `room` bytes of redo before its first `used` bytes are written: further by
    /// a sixteenth of `room`, at least 256 KB, at most 16 MB.
    pub(crate) fn reach_for(used: u64, room: u64) -> u64 {
        used.next_multiple_of((room / 16).clamp(256 << 10, 16 << 20).next_multiple_of(REACH_UNIT))
    }

    /// Parses a header from the first bytes of a log file; `None` when they are not a header.
    pub fn parse(bytes: &[u8]) -> Option<LogHeader> {
        let summed = bytes.get(..SUMMED)?;
        let u32_at = |at: usize| u32::from_le_bytes(summed[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(summed[at..at + 8].try_into().expect("eight bytes"));
        let sum = u64::from_le_bytes(bytes.get(SUMMED..SUMMED + 8)?.try_into().ok()?);
        let header = LogHeader {
            database: u64_at(8),
            incarnation: u32_at(16),
            sequence: u32_at(20),
            group: u32_at(24),
            start: Rba(u64_at(32)),
            end: Rba(u64_at(56)),
            reach_bytes: u64::from(u32_at(28)) * REACH_UNIT,
            first_scn: Scn(u64_at(40)),
            first_time_s: u32_at(48),
        };
        let sound = &summed[..8] == MAGIC
            && sum == hash(summed)
            && u32_at(52) == LOG_BLOCK_BYTES as u32
            && header.sequence > 0
            && header.start.0 < crate::control::RBA_LIMIT
            && (header.end.0 == 0 || (header.start..Rba(crate::control::RBA_LIMIT)).contains(&header.end));
        sound.then_some(header)
    }
}

/// Names a log file in an error stack.
pub(crate) fn name(path: &Path) -> Ora {
    Ora::from_text(Facility::Ora, 312, format!("online log of thread 1: '{}'", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back_and_damage_is_found() {
        let header = LogHeader {
            database: 42,
            incarnation: 2,
            sequence: 7,
            group: 1,
            start: Rba(4096),
            end: Rba(8192),
            reach_bytes: 3 << 20,
            first_scn: Scn(99),
            first_time_s: 1_795_312_700,
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes.len() as u64, LOG_HEADER_BYTES);
        assert_eq!(LogHeader::parse(&bytes), Some(header));
        for bit in 0..(SUMMED + 8) * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(LogHeader::parse(&damaged), None, "bit {bit}");
        }
        assert_eq!(LogHeader::parse(&bytes[..70]), None);
    }
}
