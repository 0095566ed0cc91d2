//! The fields of messages: numbers of variable length, bytes and texts with their length in front.
//!
//! A number is a byte with the count of the bytes that follow, most significant first; zero is that one byte alone.
//! Bytes have a length of one byte, or the mark `fe` and chunks, each a number and that many bytes, up to an empty
//! chunk. A text of *two lengths* has its length as a number before that; if the number is zero nothing follows.

use crate::local::{WireError, WireResult};
use std::borrow::Cow;

/// The longest length of one byte.
const SHORT_MAX: usize = 252;
/// The length byte that announces chunks.
const CHUNKS: u8 = 0xfe;
/// A second length byte for an absent value.
const NOTHING: u8 = 0xff;
/// Bytes of a chunk.
const CHUNK_LEN: usize = 32767;
/// The bit of the length that makes a number negative.
const NEGATIVE: u8 = 0x80;

/// Reads fields one after another. Every length is checked against the remaining bytes before it is used.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The remaining bytes.
    pub fn left(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The position of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`] when there are fewer; the same holds for all methods below.
    pub fn raw(&mut self, n: usize) -> WireResult<&'a [u8]> {
        let taken = self.left().get(..n).ok_or(WireError::Truncated)?;
        self.at += n;
        Ok(taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> WireResult<u8> {
        Ok(self.raw(1)?[0])
    }

    /// Skips `n` bytes.
    pub fn skip(&mut self, n: usize) -> WireResult<()> {
        self.raw(n).map(drop)
    }

    /// Two bytes, most significant first.
    pub fn u16(&mut self) -> WireResult<u16> {
        let b = self.raw(2)?;
        Ok(u16::from_be_bytes([b[0], b[1]]))
    }

    /// Four bytes, most significant first.
    pub fn u32(&mut self) -> WireResult<u32> {
        let b = self.raw(4)?;
        Ok(u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Two bytes, least significant first.
    pub fn u16_le(&mut self) -> WireResult<u16> {
        self.u16().map(u16::swap_bytes)
    }

    /// A number of at most `most` bytes, and its sign.
    fn signed_number(&mut self, most: u8) -> WireResult<(bool, u64)> {
        let len = self.u8()?;
        let (negative, len) = (len & NEGATIVE != 0, len & !NEGATIVE);
        if len > most {
            return Err(WireError::LengthOutOfBounds);
        }
        let n = self.raw(len.into())?.iter().fold(0, |n, b| n << 8 | u64::from(*b));
        Ok((negative, n))
    }

    fn number(&mut self, most: u8) -> WireResult<u64> {
        match self.signed_number(most)? {
            (false, n) => Ok(n),
            (true, _) => Err(WireError::BadValue),
        }
    }

    /// A number of up to two bytes.
    pub fn ub2(&mut self) -> WireResult<u16> {
        // Servers sometimes write more bytes than needed.
        u16::try_from(self.number(4)?).map_err(|_| WireError::LengthOutOfBounds)
    }

    /// A number of up to four bytes.
    pub fn ub4(&mut self) -> WireResult<u32> {
        Ok(self.number(4)? as u32)
    }

    /// A number of up to eight bytes.
    pub fn ub8(&mut self) -> WireResult<u64> {
        self.number(8)
    }

    /// A signed number of up to four bytes.
    pub fn sb4(&mut self) -> WireResult<i32> {
        let (negative, n) = self.signed_number(4)?;
        let n = n as i64;
        i32::try_from(if negative { -n } else { n }).map_err(|_| WireError::LengthOutOfBounds)
    }

    /// Bytes with their length in front; `None` when absent.
    pub fn bytes(&mut self) -> WireResult<Option<Cow<'a, [u8]>>> {
        match self.u8()? {
            0 | NOTHING => Ok(None),
            CHUNKS => self.chunks().map(|all| (!all.is_empty()).then_some(Cow::Owned(all))),
            n => self.raw(n.into()).map(|all| Some(Cow::Borrowed(all))),
        }
    }

    fn chunks(&mut self) -> WireResult<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            match self.ub4()? {
                0 => return Ok(all),
                n => all.extend_from_slice(self.raw(n as usize)?),
            }
        }
    }

    /// Skips the bytes that [`Reader::bytes`] would read.
    pub fn skip_bytes(&mut self) -> WireResult<()> {
        match self.u8()? {
            0 | NOTHING => Ok(()),
            CHUNKS => loop {
                match self.ub4()? {
                    0 => return Ok(()),
                    n => self.skip(n as usize)?,
                }
            },
            n => self.skip(n.into()),
        }
    }

    /// Bytes of two lengths; `None` when absent. The first length only shows whether there are any.
    pub fn long_bytes(&mut self) -> WireResult<Option<Cow<'a, [u8]>>> {
        match self.ub4()? {
            0 => Ok(None),
            _ => self.bytes(),
        }
    }

    /// A text of two lengths, empty when absent.
    pub fn long_text(&mut self) -> WireResult<String> {
        self.long_bytes().and_then(text)
    }

    /// The number of items that follow, each of at least `least` bytes.
    ///
    /// # Errors
    /// [`WireError::LengthOutOfBounds`] above `most`, or above the number of items that the remaining bytes can hold,
    /// so a count cannot cause a large allocation.
    pub fn count(&mut self, most: u32) -> WireResult<usize> {
        match self.ub4()? {
            n if n > most => Err(WireError::LengthOutOfBounds),
            n => Ok(n as usize),
        }
    }

    /// Checks that the message ends here.
    ///
    /// # Errors
    /// [`WireError::TrailingBytes`].
    pub fn finish(&self) -> WireResult<()> {
        if self.left().is_empty() { Ok(()) } else { Err(WireError::TrailingBytes) }
    }
}

/// Bytes as text, empty when absent.
///
/// # Errors
/// [`WireError::NotUtf8`].
pub fn text(bytes: Option<Cow<'_, [u8]>>) -> WireResult<String> {
    String::from_utf8(bytes.unwrap_or_default().into_owned()).map_err(|_| WireError::NotUtf8)
}

/// Writes fields one after the other.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// One byte.
    pub fn u8(&mut self, v: u8) {
        self.out.push(v);
    }

    /// Bytes unchanged.
    pub fn raw(&mut self, v: &[u8]) {
        self.out.extend_from_slice(v);
    }

    /// `n` zero bytes, which are also `n` zero numbers.
    pub fn zeros(&mut self, n: usize) {
        self.out.resize(self.out.len() + n, 0);
    }

    /// Two bytes, most significant first.
    pub fn u16(&mut self, v: u16) {
        self.raw(&v.to_be_bytes());
    }

    /// Four bytes, most significant first.
    pub fn u32(&mut self, v: u32) {
        self.raw(&v.to_be_bytes());
    }

    /// Two bytes, least significant first.
    pub fn u16_le(&mut self, v: u16) {
        self.raw(&v.to_le_bytes());
    }

    /// A number.
    pub fn number(&mut self, v: impl Into<u64>) {
        let bytes = v.into().to_be_bytes();
        let from = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
        self.u8((bytes.len() - from) as u8);
        self.raw(&bytes[from..]);
    }

    /// A number with a sign.
    pub fn signed(&mut self, v: i64) {
        let at = self.out.len();
        self.number(v.unsigned_abs());
        if v < 0 {
            self.out[at] |= NEGATIVE;
        }
    }

    /// Bytes with their length in front; empty bytes are written like NULL.
    pub fn bytes(&mut self, v: &[u8]) {
        if v.len() <= SHORT_MAX {
            self.u8(v.len() as u8);
            return self.raw(v);
        }
        self.u8(CHUNKS);
        for chunk in v.chunks(CHUNK_LEN) {
            self.number(chunk.len() as u64);
            self.raw(chunk);
        }
        self.u8(0);
    }

    /// Bytes of two lengths.
    pub fn long_bytes(&mut self, v: &[u8]) {
        self.number(v.len() as u64);
        if !v.is_empty() {
            self.bytes(v);
        }
    }

    /// The buffer, for the encoders of values.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut Writer::new(&mut out));
        out
    }

    #[test]
    fn numbers_take_the_bytes_they_need() {
        assert_eq!(written(|w| [0u64, 1, 0x8061, 0x7fff_ffff].map(|n| w.number(n)).into_iter().collect()), {
            [&[0][..], &[1, 1], &[2, 0x80, 0x61], &[4, 0x7f, 0xff, 0xff, 0xff]].concat()
        });
        assert_eq!(written(|w| w.signed(-127)), [0x81, 0x7f]);
        for n in [0, 1, -1, 127, -127, 128, 65535, i32::MAX, -i32::MAX] {
            assert_eq!(Reader::new(&written(|w| w.signed(n.into()))).sb4(), Ok(n));
        }
        for n in [0, 1, 255, 256, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(Reader::new(&written(|w| w.number(n))).ub8(), Ok(n));
        }
        assert_eq!(Reader::new(&[3, 0x20, 0x4c, 0xdf]).ub4(), Ok(0x204cdf));
        assert_eq!(Reader::new(&[3, 0, 0, 7]).ub2(), Ok(7));
        assert_eq!(Reader::new(&[5, 0, 0, 0, 0, 1]).ub4(), Err(WireError::LengthOutOfBounds));
        assert_eq!(Reader::new(&[3, 1, 0, 0]).ub2(), Err(WireError::LengthOutOfBounds));
        assert_eq!(Reader::new(&[0x81, 1]).ub4(), Err(WireError::BadValue));
        assert_eq!(Reader::new(&[2, 1]).ub4(), Err(WireError::Truncated));
    }

    #[test]
    fn bytes_of_every_length_come_back() {
        for n in [0, 1, 252, 253, 254, 255, 256, 32767, 32768, 100_000] {
            let bytes: Vec<u8> = (0..n).map(|i| i as u8).collect();
            let out = written(|w| w.bytes(&bytes));
            let mut r = Reader::new(&out);
            assert_eq!(r.bytes().unwrap().unwrap_or_default().into_owned(), bytes);
            r.finish().unwrap();
            for cut in 0..out.len().min(300) {
                assert_eq!(Reader::new(&out[..cut]).bytes(), Err(WireError::Truncated));
            }
            let out = written(|w| w.long_bytes(&bytes));
            assert_eq!(Reader::new(&out).long_bytes().unwrap().unwrap_or_default().into_owned(), bytes);
        }
        assert_eq!(Reader::new(&[0xff]).bytes(), Ok(None));
        assert_eq!(Reader::new(&[0xfe, 4, 0x7f, 0xff, 0xff, 0xff, 1]).bytes(), Err(WireError::Truncated));
    }
}
