//! LOBs: their form in a row, and the call that works on one.
//!
//! A client has the locator of a LOB, and reads in it whether it is a CLOB or a BLOB, the encoding of the content, and
//! whether it is temporary. The rest of the locator is the server's. Texts are sent as UTF-16, most significant byte
//! first; positions and amounts count its code units, or bytes of a BLOB. Positions begin at 1.

use super::field::{Reader, Writer};
use super::value::{Shape, number};
use super::{function, message};
use crate::local::{WireError, WireResult};

/// Bytes of a locator.
pub const LOCATOR_BYTES: usize = 40;
/// Bytes of a locator with the server's own data.
pub const OWN_BYTES: usize = 32;
/// The chunk size of LOBs that is reported to clients, in bytes.
pub const CHUNK: u32 = 8132;
const CHARSET_UTF16: u32 = 2000;
/// The longest source of a call: locators freed together.
const SOURCE_MAX: u32 = 1 << 24;

/// The operations of LOB calls.
pub mod operation {
    pub const LENGTH: u32 = 0x1;
    pub const READ: u32 = 0x2;
    pub const TRIM: u32 = 0x20;
    pub const WRITE: u32 = 0x40;
    pub const CREATE: u32 = 0x110;
    pub const FREE: u32 = 0x111;
    pub const CHUNK_SIZE: u32 = 0x4000;
    pub const OPEN: u32 = 0x8000;
    pub const CLOSE: u32 = 0x1_0000;
    pub const IS_OPEN: u32 = 0x1_1000;
    pub const FREE_MANY: u32 = 0x8_0111;
}

/// A decoded locator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locator {
    pub binary: bool,
    pub temporary: bool,
    pub own: [u8; OWN_BYTES],
}

impl Locator {
    const BLOB: u8 = 1;
    const CLOB: u8 = 2;
    const INITIALIZED: u8 = 0x08;
    /// The content is UTF-16.
    const WIDE: u8 = 0x80;
    const TEMPORARY: u8 = 1;

    pub fn to_bytes(self) -> [u8; LOCATOR_BYTES] {
        let mut bytes = [0; LOCATOR_BYTES];
        bytes[1] = LOCATOR_BYTES as u8 - 2;
        bytes[3] = 4;
        bytes[4] = if self.binary { Locator::BLOB } else { Locator::CLOB };
        bytes[5] = Locator::INITIALIZED;
        bytes[6] = if self.binary { 0 } else { Locator::WIDE };
        bytes[7] = if self.temporary { Locator::TEMPORARY } else { 0 };
        bytes[8..].copy_from_slice(&self.own);
        bytes
    }

    /// `None` for bytes that are no locator of this form.
    pub fn from_bytes(bytes: &[u8]) -> Option<Locator> {
        // A client may send a longer buffer than the locator.
        let (head, own) = bytes.get(..LOCATOR_BYTES)?.split_first_chunk::<8>()?;
        let binary = head[4] & Locator::BLOB != 0;
        (head[4] & (Locator::BLOB | Locator::CLOB) != 0).then_some(Locator {
            binary,
            temporary: head[7] & Locator::TEMPORARY != 0,
            own: own.try_into().ok()?,
        })
    }
}

/// Appends the form of a LOB in a row or a returned bind: its size, the locator, and the beginning of the content if
/// the client requested it.
pub fn write_cell(locator: &Locator, size: u64, beginning: Option<&[u8]>, out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    w.number(LOCATOR_BYTES as u64);
    w.number(size);
    w.number(CHUNK);
    if let Some(beginning) = beginning {
        if !locator.binary {
            w.u8(1);
            w.number(CHARSET_UTF16);
            w.u8(1);
        }
        w.bytes(beginning);
    }
    w.bytes(&locator.to_bytes());
}

/// Reads the locator from the cell of a row, and skips the rest. `beginning`: the beginning of the content was
/// requested.
///
/// # Errors
/// [`WireError`] for an invalid cell.
pub fn read_cell(r: &mut Reader<'_>, shape: &Shape, beginning: bool) -> WireResult<Option<Vec<u8>>> {
    if r.ub4()? == 0 {
        return Ok(None);
    }
    r.ub8()?;
    r.ub4()?;
    if beginning {
        if shape.number == number::CLOB {
            r.skip(1)?;
            r.ub4()?;
            r.skip(1)?;
        }
        r.skip_bytes()?;
    }
    Ok(r.bytes()?.map(|locator| locator.into_owned()))
}

/// A call on a LOB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LobCall {
    /// One of [`operation`].
    pub operation: u32,
    /// The locator, or those to free; for a LOB that is created, as many bytes as its locator will have.
    pub source: Vec<u8>,
    pub destination: Vec<u8>,
    pub source_offset: u64,
    pub destination_offset: u64,
    pub amount: u64,
    pub data: Vec<u8>,
    /// The parts of the answer that the client requests.
    pub wants_charset: bool,
    pub wants_amount: bool,
    pub wants_flag: bool,
}

impl LobCall {
    /// Reads a call after its number.
    ///
    /// # Errors
    /// [`WireError`] for an invalid call.
    pub fn read(r: &mut Reader<'_>) -> WireResult<LobCall> {
        let has_source = r.u8()? != 0;
        let source_len = r.count(SOURCE_MAX)?;
        let has_destination = r.u8()? != 0;
        let destination_len = r.count(SOURCE_MAX)?;
        r.ub4()?;
        r.ub4()?;
        let wants_charset = r.u8()? != 0;
        r.skip(1)?;
        let wants_flag = r.u8()? != 0;
        let operation = r.ub4()?;
        r.skip(1)?;
        let scns = r.count(1 << 8)?;
        let (source_offset, destination_offset) = (r.ub8()?, r.ub8()?);
        let wants_amount = r.u8()? != 0;
        r.skip(6)?;
        let source = if has_source { r.raw(source_len)?.to_vec() } else { Vec::new() };
        let destination = if has_destination { r.raw(destination_len)?.to_vec() } else { Vec::new() };
        if wants_charset {
            r.ub4()?;
        }
        for _ in 0..scns {
            r.ub4()?;
        }
        let amount = if wants_amount { r.ub8()? } else { 0 };
        let data = match operation {
            operation::WRITE => {
                if r.u8()? != message::LOB_DATA {
                    return Err(WireError::BadValue);
                }
                r.bytes()?.unwrap_or_default().into_owned()
            }
            _ => Vec::new(),
        };
        Ok(LobCall {
            operation,
            source,
            destination,
            source_offset,
            destination_offset,
            amount,
            data,
            wants_charset,
            wants_amount,
            wants_flag,
        })
    }

    /// Appends the call in a client's form.
    pub fn write(&self, sequence: u8, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.raw(&[message::FUNCTION, function::LOB, sequence]);
        w.u8((!self.source.is_empty()).into());
        w.number(self.source.len() as u64);
        w.u8((!self.destination.is_empty()).into());
        w.number(self.destination.len() as u64);
        w.zeros(2);
        w.raw(&[self.wants_charset.into(), 0, self.wants_flag.into()]);
        w.number(self.operation);
        w.zeros(2);
        w.number(self.source_offset);
        w.number(self.destination_offset);
        w.u8(self.wants_amount.into());
        w.zeros(6);
        w.raw(&self.source);
        w.raw(&self.destination);
        if self.wants_charset {
            w.number(CHARSET_UTF16);
        }
        if self.wants_amount {
            w.number(self.amount);
        }
        if self.operation == operation::WRITE {
            w.u8(message::LOB_DATA);
            w.bytes(&self.data);
        }
    }

    /// Appends the answer, before the outcome. `source`: the present locator.
    pub fn write_answer(&self, source: &[u8], answer: &LobAnswer, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        if !answer.data.is_empty() {
            w.u8(message::LOB_DATA);
            w.bytes(&answer.data);
        }
        w.u8(message::PARAMETERS);
        // The client reads as many bytes as it has sent.
        let mut sent = source.to_vec();
        sent.resize(self.source.len(), 0);
        w.raw(&sent);
        w.raw(&self.destination);
        if self.wants_charset {
            w.number(CHARSET_UTF16);
        }
        if self.wants_amount {
            w.signed(i64::try_from(answer.amount).unwrap_or(i64::MAX));
        }
        if self.wants_flag {
            w.u8(answer.flag.into());
        }
    }
}

/// The answer to a LOB call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LobAnswer {
    pub data: Vec<u8>,
    pub amount: u64,
    pub flag: bool,
}

/// The code units of a text, most significant byte first.
pub fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// The text of UTF-16 code units; invalid ones are replaced.
pub fn narrow(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locators_survive_encoding() {
        for (binary, temporary) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut own = [7; OWN_BYTES];
            own[31] = 9;
            let locator = Locator { binary, temporary, own };
            let mut bytes = locator.to_bytes().to_vec();
            assert_eq!(Locator::from_bytes(&bytes), Some(locator));
            bytes.resize(108, 0);
            assert_eq!(Locator::from_bytes(&bytes), Some(locator));
            assert_eq!(Locator::from_bytes(&bytes[..39]), None);
        }
        assert_eq!(Locator::from_bytes(&[0; LOCATOR_BYTES]), None);
    }

    #[test]
    fn calls_survive_encoding_and_prefixes_are_truncated() {
        let call = LobCall {
            operation: operation::WRITE,
            source: vec![5; LOCATOR_BYTES],
            source_offset: 3,
            amount: 70_000,
            data: vec![1; 70_000],
            wants_amount: true,
            ..LobCall::default()
        };
        let read = LobCall { operation: operation::READ, data: Vec::new(), ..call.clone() };
        let create = LobCall {
            operation: operation::CREATE,
            source: vec![0; 108],
            destination_offset: 112,
            wants_charset: true,
            wants_flag: true,
            data: Vec::new(),
            ..call.clone()
        };
        for call in [call, read, create] {
            let mut bytes = Vec::new();
            call.write(9, &mut bytes);
            assert_eq!(bytes[..3], [message::FUNCTION, function::LOB, 9]);
            let mut r = Reader::new(&bytes[3..]);
            assert_eq!(LobCall::read(&mut r).unwrap(), call);
            r.finish().unwrap();
            for cut in (3..bytes.len()).step_by(31) {
                assert_eq!(LobCall::read(&mut Reader::new(&bytes[3..cut])), Err(WireError::Truncated));
            }
        }
    }

    #[test]
    fn an_answer_has_as_many_bytes_of_the_locator_as_the_call() {
        let call = LobCall { source: vec![0; 108], wants_amount: true, ..LobCall::default() };
        let mut out = Vec::new();
        call.write_answer(&[1; LOCATOR_BYTES], &LobAnswer { amount: 5, ..LobAnswer::default() }, &mut out);
        assert_eq!(out.len(), 1 + 108 + 2);
        assert_eq!(out[109..], [1, 5]);
    }

    #[test]
    fn texts_travel_as_code_units() {
        assert_eq!(wide("a😀"), [0, 97, 0xd8, 0x3d, 0xde, 0]);
        assert_eq!(narrow(&wide("aä😀")), "aä😀");
        assert_eq!(narrow(&[0xd8, 0x3d, 0]), "\u{fffd}");
    }
}
