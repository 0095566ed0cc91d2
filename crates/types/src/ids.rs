//! Identifiers of the database: system change numbers, block addresses, transactions, undo records, objects, rows.
//!
//! Each is a newtype that prints as in dumps.

use crate::error::{Ora, Result};
use std::fmt;
use std::str::FromStr;

/// A system change number: the database's logical time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Scn(pub u64);

impl Scn {
    /// Before everything.
    pub const ZERO: Scn = Scn(0);
    /// After everything: the SCN of a change that is not committed yet.
    pub const MAX: Scn = Scn(u64::MAX);
}

impl fmt::Display for Scn {
    /// Prints wrap and base, `0x0000.0012d687`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}.{:08x}", self.0 >> 32, self.0 as u32)
    }
}

/// A relative data block address: 10 bits file, 22 bits block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Rdba(pub u32);

impl Rdba {
    /// No block. File 0 does not exist.
    pub const NONE: Rdba = Rdba(0);
    /// The greatest block number in a file.
    pub const MAX_BLOCK: u32 = (1 << 22) - 1;
    /// The greatest file number.
    pub const MAX_FILE: u32 = (1 << 10) - 1;

    /// Packs file and block.
    ///
    /// # Panics
    /// If one of them does not fit its bits: callers check against the file's size first.
    pub const fn new(file: u32, block: u32) -> Rdba {
        assert!(file <= Self::MAX_FILE && block <= Self::MAX_BLOCK);
        Rdba(file << 22 | block)
    }

    /// Returns the file number.
    pub const fn file(self) -> u32 {
        self.0 >> 22
    }

    /// Returns the block number in the file.
    pub const fn block(self) -> u32 {
        self.0 & Self::MAX_BLOCK
    }

    /// Returns whether this is [`Rdba::NONE`].
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Rdba {
    /// Prints `0x01000083`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

/// A transaction: undo segment number, slot in its transaction table, and the number of uses of the slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// Undo segment number.
    pub usn: u16,
    /// Slot in the segment's transaction table.
    pub slot: u16,
    /// Sequence number: number of uses of the slot.
    pub sqn: u32,
}

impl Xid {
    /// No transaction.
    pub const NONE: Xid = Xid { usn: 0, slot: 0, sqn: 0 };

    /// Returns whether this is [`Xid::NONE`].
    pub const fn is_none(self) -> bool {
        self.to_bits() == 0
    }

    /// Packs it into one word: usn, slot, sqn from the top.
    pub const fn to_bits(self) -> u64 {
        (self.usn as u64) << 48 | (self.slot as u64) << 32 | self.sqn as u64
    }

    /// Unpacks [`Xid::to_bits`].
    pub const fn from_bits(bits: u64) -> Xid {
        Xid { usn: (bits >> 48) as u16, slot: (bits >> 32) as u16, sqn: bits as u32 }
    }
}

impl fmt::Display for Xid {
    /// Prints `0x0005.00a.00000335`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}.{:03x}.{:08x}", self.usn, self.slot, self.sqn)
    }
}

/// An undo record: block, its sequence, record in the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uba {
    /// The undo block.
    pub rdba: Rdba,
    /// The block's sequence number when the record was written: undo segments count the uses of their blocks.
    pub seq: u32,
    /// The record in the block.
    pub rec: u8,
}

impl Uba {
    /// No undo record: the end of a chain.
    pub const NONE: Uba = Uba { rdba: Rdba::NONE, seq: 0, rec: 0 };

    /// Returns whether this is [`Uba::NONE`].
    pub const fn is_none(self) -> bool {
        self.rdba.is_none()
    }

    /// Bytes on disk.
    pub const BYTES: usize = 9;

    /// The bytes on disk: rdba, seq, rec, little-endian.
    pub const fn to_bytes(self) -> [u8; Uba::BYTES] {
        let ([a, b, c, d], [e, f, g, h]) = (self.rdba.0.to_le_bytes(), self.seq.to_le_bytes());
        [a, b, c, d, e, f, g, h, self.rec]
    }

    /// Reads [`Uba::to_bytes`].
    pub const fn from_bytes([a, b, c, d, e, f, g, h, rec]: [u8; Uba::BYTES]) -> Uba {
        Uba { rdba: Rdba(u32::from_le_bytes([a, b, c, d])), seq: u32::from_le_bytes([e, f, g, h]), rec }
    }
}

impl fmt::Display for Uba {
    /// Prints `0x00c00812.0123.04`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}.{:04x}.{:02x}", self.rdba.0, self.seq, self.rec)
    }
}

/// An object number: `OBJECT_ID` of the dictionary views, or the data object number of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ObjectId(pub u32);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The address of a row: data object, block, slot in the block's row directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rowid {
    /// The data object the block belongs to.
    pub obj: ObjectId,
    /// The block.
    pub rdba: Rdba,
    /// The slot in the block's row directory.
    pub slot: u16,
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Rowid {
    /// Length of the printed form.
    pub const TEXT_LEN: usize = 18;

    /// Returns the 18 characters `OOOOOOFFFBBBBBBRRR`.
    pub fn to_text(self) -> [u8; Self::TEXT_LEN] {
        let mut text = [b'A'; Self::TEXT_LEN];
        let mut put = |from: usize, len: usize, mut bits: u64| {
            for place in text[from..from + len].iter_mut().rev() {
                *place = BASE64[(bits & 63) as usize];
                bits >>= 6;
            }
        };
        put(0, 6, self.obj.0.into());
        put(6, 3, self.rdba.file().into());
        put(9, 6, self.rdba.block().into());
        put(15, 3, self.slot.into());
        text
    }

    /// Returns the ten bytes of the stored form: object, block address, slot, most significant first.
    pub fn to_bytes(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..4].copy_from_slice(&self.obj.0.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.rdba.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.slot.to_be_bytes());
        bytes
    }

    /// Reads [`Rowid::to_bytes`]; `None` for a wrong length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Rowid> {
        let bytes: &[u8; 10] = bytes.try_into().ok()?;
        let [a, b, c, d, e, f, g, h, i, j] = *bytes;
        Some(Rowid {
            obj: ObjectId(u32::from_be_bytes([a, b, c, d])),
            rdba: Rdba(u32::from_be_bytes([e, f, g, h])),
            slot: u16::from_be_bytes([i, j]),
        })
    }
}

impl fmt::Display for Rowid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_text();
        f.pad(std::str::from_utf8(&text).expect("the alphabet is ASCII"))
    }
}

impl FromStr for Rowid {
    type Err = Ora;

    /// Reads the 18 characters.
    ///
    /// # Errors
    /// ORA-01410 for a text that is not a ROWID.
    fn from_str(text: &str) -> Result<Rowid> {
        let bytes: &[u8; Self::TEXT_LEN] = text.as_bytes().try_into().map_err(|_| Ora::new(1410))?;
        let read = |from: usize, len: usize, max: u64| -> Result<u64> {
            let mut bits = 0u64;
            for c in &bytes[from..from + len] {
                let digit = BASE64.iter().position(|x| x == c).ok_or_else(|| Ora::new(1410))?;
                bits = bits << 6 | digit as u64;
            }
            if bits <= max { Ok(bits) } else { Err(Ora::new(1410)) }
        };
        let obj = read(0, 6, u32::MAX.into())? as u32;
        let file = read(6, 3, Rdba::MAX_FILE.into())? as u32;
        let block = read(9, 6, Rdba::MAX_BLOCK.into())? as u32;
        let slot = read(15, 3, u16::MAX.into())? as u16;
        Ok(Rowid { obj: ObjectId(obj), rdba: Rdba::new(file, block), slot })
    }
}

/// Oracle's base 32: digits and letters without e, i, l and o.
const SQL_ID_DIGITS: &[u8; 32] = b"0123456789abcdfghjkmnpqrstuvwxyz";

/// Prints a 64-bit number as a SQL_ID.
pub fn sql_id_of(mut value: u64) -> String {
    let mut digits = ['0'; 13];
    for digit in digits.iter_mut().rev() {
        *digit = char::from(SQL_ID_DIGITS[(value & 31) as usize]);
        value >>= 5;
    }
    digits.iter().collect()
}

/// The number of a named type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_as_dumps_do() {
        assert_eq!(Scn(0x0003_0012_d687).to_string(), "0x0003.0012d687");
        assert_eq!(Rdba::new(4, 131).to_string(), "0x01000083");
        assert_eq!(Xid { usn: 5, slot: 10, sqn: 821 }.to_string(), "0x0005.00a.00000335");
        assert_eq!(Uba { rdba: Rdba(0x00c0_0812), seq: 0x123, rec: 4 }.to_string(), "0x00c00812.0123.04");
    }

    #[test]
    fn rowid_round_trips() {
        // The example of the SQL Language Reference: AAAAaoAATAAABrXAAA.
        let rowid: Rowid = "AAAAaoAATAAABrXAAA".parse().unwrap();
        assert_eq!((rowid.obj.0, rowid.rdba.file(), rowid.rdba.block(), rowid.slot), (1704, 19, 6871, 0));
        assert_eq!(rowid.to_string(), "AAAAaoAATAAABrXAAA");
        assert_eq!(Rowid::from_bytes(&rowid.to_bytes()), Some(rowid));
        for bad in ["", "AAAAaoAATAAABrXAA", "AAAAaoAATAAABrXAA!", "///////////////////", "//////////////////"] {
            assert!(bad.parse::<Rowid>().unwrap_err().is(1410), "{bad}");
        }
    }

    #[test]
    fn packs_and_unpacks() {
        let xid = Xid { usn: 9, slot: 33, sqn: 0xdead_beef };
        assert_eq!(Xid::from_bits(xid.to_bits()), xid);
        let uba = Uba { rdba: Rdba::new(3, 77), seq: 0xabcd_0123, rec: 0xff };
        assert_eq!(Uba::from_bytes(uba.to_bytes()), uba);
    }
}
