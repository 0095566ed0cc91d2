//! Reading the bytes of change vectors and undo records.

use types::{Ora, Result};

/// Reads little-endian fields off the front of a change vector or an undo record.
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Reads from the beginning of `data`.
    pub fn new(data: &'a [u8]) -> Fields<'a> {
        Fields(data)
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// ORA-00600 when fewer remain, as for the other fields.
    #[inline]
    pub fn slice(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) =
            self.0.split_at_checked(n).ok_or_else(|| Ora::internal("change vector or undo record too short"))?;
        self.0 = rest;
        Ok(head)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// As [`Fields::slice`].
    #[inline]
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.slice(N)?.try_into().expect("a slice of N bytes"))
    }

    /// # Errors
    /// As [`Fields::slice`].
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.bytes()?))
    }

    /// # Errors
    /// As [`Fields::slice`].
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.bytes()?))
    }

    /// # Errors
    /// As [`Fields::slice`].
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    /// # Errors
    /// As [`Fields::slice`].
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }
}
