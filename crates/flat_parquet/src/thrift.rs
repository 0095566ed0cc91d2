//! Thrift's compact protocol, in which the metadata of a file are kept.

use crate::error::Error;

/// Types of Thrift's compact protocol.
pub(crate) const TRUE: u8 = 1;
pub(crate) const FALSE: u8 = 2;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
pub(crate) const STRUCT: u8 = 12;

/// Bytes in Thrift's compact protocol. Fields of a struct are written in the order of their numbers.
#[derive(Default)]
pub(crate) struct Out {
    pub out: Vec<u8>,
    /// The number of the last field, for each open struct.
    last: Vec<i16>,
}

pub(crate) fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(crate) fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

impl Out {
    pub fn begin(&mut self) {
        self.last.push(0);
    }

    pub fn end(&mut self) {
        self.out.push(0);
        self.last.pop();
    }

    pub fn field(&mut self, number: i16, kind: u8) {
        let Some(last) = self.last.last_mut() else { return };
        let step = number - *last;
        *last = number;
        match u8::try_from(step) {
            Ok(step @ 1..=15) => self.out.push(step << 4 | kind),
            _ => {
                self.out.push(kind);
                varint(zigzag(i64::from(number)), &mut self.out);
            }
        }
    }

    pub fn i32(&mut self, number: i16, value: i32) {
        self.field(number, I32);
        varint(zigzag(i64::from(value)), &mut self.out);
    }

    pub fn i64(&mut self, number: i16, value: i64) {
        self.field(number, I64);
        varint(zigzag(value), &mut self.out);
    }

    pub fn flag(&mut self, number: i16, value: bool) {
        self.field(number, if value { TRUE } else { FALSE });
    }

    pub fn text(&mut self, number: i16, value: &str) {
        self.field(number, BINARY);
        self.bytes(value);
    }

    pub fn bytes(&mut self, value: &str) {
        varint(value.len() as u64, &mut self.out);
        self.out.extend_from_slice(value.as_bytes());
    }

    pub fn list(&mut self, number: i16, kind: u8, len: usize) {
        self.field(number, LIST);
        match u8::try_from(len) {
            Ok(len @ 0..=14) => self.out.push(len << 4 | kind),
            _ => {
                self.out.push(0xF0 | kind);
                varint(len as u64, &mut self.out);
            }
        }
    }

    pub fn open(&mut self, number: i16) {
        self.field(number, STRUCT);
        self.begin();
    }
}

/// A value of Thrift's compact protocol.
#[derive(Debug)]
pub(crate) enum Thrift {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Thrift>),
    Struct(Vec<(i16, Thrift)>),
    Other,
}

impl Thrift {
    pub fn at(&self, number: i16) -> Option<&Thrift> {
        match self {
            Self::Struct(fields) => fields.iter().find(|f| f.0 == number).map(|f| &f.1),
            _ => None,
        }
    }

    pub fn int(&self, number: i16, name: &str) -> Result<i64, Error> {
        match self.at(number) {
            Some(Self::Int(n)) => Ok(*n),
            _ => Err(Error::new(format!("the metadata have no {name}"))),
        }
    }

    pub fn size(&self, number: i16, name: &str, most: usize) -> Result<usize, Error> {
        let n = self.int(number, name)?;
        let size = usize::try_from(n).ok().filter(|n| *n <= most);
        size.ok_or_else(|| Error::new(format!("{name} is {n}; expected 0 to {most}")))
    }

    pub fn text(&self, number: i16, name: &str) -> Result<String, Error> {
        match self.at(number) {
            Some(Self::Bytes(b)) => String::from_utf8(b.clone()).map_err(|_| Error::new(format!("{name} is no UTF-8"))),
            _ => Err(Error::new(format!("the metadata have no {name}"))),
        }
    }

    pub fn list(&self, number: i16, name: &str) -> Result<&[Thrift], Error> {
        match self.at(number) {
            Some(Self::List(all)) => Ok(all),
            _ => Err(Error::new(format!("the metadata have no {name}"))),
        }
    }
}

/// The deepest nesting of metadata: that of the format is six.
const DEPTH_MAX: u32 = 16;

/// Bytes that are read in order.
pub(crate) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let taken = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let taken =
            taken.ok_or_else(|| Error::new(format!("the file ends in the middle: {len} bytes at {}", self.at)))?;
        self.at += len;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    pub fn four(&mut self) -> Result<usize, Error> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    pub fn eight(&mut self) -> Result<[u8; 8], Error> {
        let mut out = [0; 8];
        out.copy_from_slice(self.take(8)?);
        Ok(out)
    }

    pub fn varint(&mut self) -> Result<u64, Error> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(Error::new("a number of more than 64 bits in the metadata"))
    }

    pub fn signed(&mut self) -> Result<i64, Error> {
        let n = self.varint()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// A length that the rest of the file can hold.
    pub fn length(&mut self) -> Result<usize, Error> {
        let n = self.varint()?;
        let len = usize::try_from(n).ok().filter(|n| *n <= self.bytes.len() - self.at);
        len.ok_or_else(|| Error::new(format!("a length of {n} in the metadata, beyond the end of the file")))
    }

    pub fn value(&mut self, kind: u8, depth: u32) -> Result<Thrift, Error> {
        if depth > DEPTH_MAX {
            return Err(Error::new("the metadata are nested too deeply"));
        }
        Ok(match kind {
            1 | 2 => Thrift::Int(i64::from(kind == 1)),
            3 => Thrift::Int(i64::from(self.byte()? as i8)),
            4..=6 => Thrift::Int(self.signed()?),
            7 => {
                self.eight()?;
                Thrift::Other
            }
            8 => {
                let len = self.length()?;
                Thrift::Bytes(self.take(len)?.to_vec())
            }
            9 | 10 => {
                let head = self.byte()?;
                let len = if head >> 4 == 15 { self.length()? } else { usize::from(head >> 4) };
                let mut all = Vec::new();
                for _ in 0..len {
                    // In a list a truth value is a byte of its own.
                    all.push(if matches!(head & 15, 1 | 2) {
                        Thrift::Int(self.byte()?.into())
                    } else {
                        self.value(head & 15, depth + 1)?
                    });
                }
                Thrift::List(all)
            }
            12 => self.structure(depth + 1)?,
            other => return Err(Error::new(format!("a value of type {other} in the metadata"))),
        })
    }

    pub fn structure(&mut self, depth: u32) -> Result<Thrift, Error> {
        let (mut fields, mut last) = (Vec::new(), 0i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(Thrift::Struct(fields));
            }
            last = match head >> 4 {
                0 => self.signed()? as i16,
                step => last.wrapping_add(i16::from(step)),
            };
            fields.push((last, self.value(head & 15, depth)?));
        }
    }
}
