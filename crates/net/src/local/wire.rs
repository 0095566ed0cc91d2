//! The primitives of a packet: little-endian integers and length-prefixed bytes. Writing cannot fail; reading checks
//! every length against the remaining bytes.

use std::fmt;

/// The error in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The packet ends inside a field.
    Truncated,
    /// Bytes are left after the last field.
    TrailingBytes,
    /// A length or count that exceeds the packet.
    LengthOutOfBounds,
    /// An unknown tag.
    UnknownTag(u8),
    /// Text that is not UTF-8.
    NotUtf8,
    /// A number, date or rowid with invalid bytes.
    BadValue,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Truncated => write!(f, "packet ends inside a field"),
            WireError::TrailingBytes => write!(f, "packet has bytes after its last field"),
            WireError::LengthOutOfBounds => write!(f, "packet has a length out of bounds"),
            WireError::UnknownTag(t) => write!(f, "packet has the unknown tag {t}"),
            WireError::NotUtf8 => write!(f, "packet has text that is not UTF-8"),
            WireError::BadValue => write!(f, "packet has a malformed value"),
        }
    }
}

impl std::error::Error for WireError {}

/// Shorthand of this module.
pub type WireResult<T> = std::result::Result<T, WireError>;

/// Appends fields to a buffer that the caller keeps and uses again.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }
    pub fn u8(&mut self, v: u8) {
        self.out.push(v);
    }
    pub fn bool(&mut self, v: bool) {
        self.out.push(v as u8);
    }
    pub fn u16(&mut self, v: u16) {
        self.out.extend_from_slice(&v.to_le_bytes());
    }
    pub fn u32(&mut self, v: u32) {
        self.out.extend_from_slice(&v.to_le_bytes());
    }
    pub fn u64(&mut self, v: u64) {
        self.out.extend_from_slice(&v.to_le_bytes());
    }
    pub fn i16(&mut self, v: i16) {
        self.out.extend_from_slice(&v.to_le_bytes());
    }
    pub fn i32(&mut self, v: i32) {
        self.out.extend_from_slice(&v.to_le_bytes());
    }
    pub fn bytes(&mut self, v: &[u8]) {
        let len = u32::try_from(v.len()).expect("a field is shorter than 4 GB");
        self.u32(len);
        self.out.extend_from_slice(v);
    }
    pub fn text(&mut self, v: &str) {
        self.bytes(v.as_bytes());
    }
    pub fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u32(u32::try_from(items.len()).expect("a list has fewer than 4 G items"));
        for i in items {
            each(self, i);
        }
    }
    pub fn option<T>(&mut self, v: Option<&T>, each: impl FnOnce(&mut Self, &T)) {
        self.bool(v.is_some());
        if let Some(v) = v {
            each(self, v);
        }
    }
}

/// Reads fields from the front of a packet.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }
    fn take(&mut self, n: usize) -> WireResult<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> WireResult<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take returns what was asked"))
    }
    pub fn u8(&mut self) -> WireResult<u8> {
        Ok(self.take(1)?[0])
    }
    pub fn bool(&mut self) -> WireResult<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            t => Err(WireError::UnknownTag(t)),
        }
    }
    pub fn u16(&mut self) -> WireResult<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    pub fn u32(&mut self) -> WireResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    pub fn u64(&mut self) -> WireResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    pub fn i16(&mut self) -> WireResult<i16> {
        Ok(i16::from_le_bytes(self.array()?))
    }
    pub fn i32(&mut self) -> WireResult<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }
    pub fn bytes(&mut self) -> WireResult<&'a [u8]> {
        let len = self.u32()? as usize;
        if len > self.rest.len() {
            return Err(WireError::LengthOutOfBounds);
        }
        self.take(len)
    }
    pub fn text(&mut self) -> WireResult<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| WireError::NotUtf8)
    }
    pub fn string(&mut self) -> WireResult<String> {
        Ok(self.text()?.to_string())
    }
    /// Reads a count and that many items. Each item takes at least `min_len` bytes (1 or more), so that a count that
    /// exceeds the packet is refused before memory is allocated for it.
    pub fn list<T>(&mut self, min_len: usize, mut each: impl FnMut(&mut Self) -> WireResult<T>) -> WireResult<Vec<T>> {
        let n = self.u32()? as usize;
        if n > self.rest.len() / min_len.max(1) {
            return Err(WireError::LengthOutOfBounds);
        }
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(each(self)?);
        }
        Ok(items)
    }
    pub fn option<T>(&mut self, each: impl FnOnce(&mut Self) -> WireResult<T>) -> WireResult<Option<T>> {
        if self.bool()? { each(self).map(Some) } else { Ok(None) }
    }
    /// Checks that no bytes are left.
    pub fn finish(self) -> WireResult<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(WireError::TrailingBytes) }
    }
}
