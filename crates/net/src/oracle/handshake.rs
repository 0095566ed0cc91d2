//! The two messages before a logon: the capabilities and data types of each side.
//!
//! A client sends tables of hundreds of numbers. Only a few of them affect later messages; [`Client`] keeps those.

use super::field::{Reader, Writer, text};
use super::message;
use crate::local::{WireError, WireResult};
use std::borrow::Cow;

/// The offered field version: that of Oracle 19c.
pub const FIELD_VERSION: u8 = 12;

/// UTF-8, the character set of text.
pub const CHARSET_UTF8: u16 = 873;
/// UTF-16, the character set of NCHAR and NVARCHAR2.
pub const CHARSET_UTF16: u16 = 2000;

/// Indexes and values of the compile-time capabilities.
const COMPILE_CAPS: &[(usize, u8)] = &[
    // Session keys are combined by PBKDF2, without padding.
    (4, 0x22),
    (7, FIELD_VERSION),
    // The outcome of a call has its status and its end-to-end number.
    (15, 1),
    (16, 1),
    (23, 0x40),
    // Data types have numbers of two bytes.
    (27, 1),
    // Long values come in chunks of any size.
    (37, 0x20),
];
const COMPILE_CAPS_LEN: usize = 41;
/// The database's time zone is sent with the data types; strings have up to 32767 bytes.
const RUNTIME_CAPS: [u8; 7] = [2, 1, 0, 1, 0x18, 0, 4];
/// The same for Latchwork's client, which requests no time zone.
const CLIENT_RUNTIME_CAPS: [u8; 7] = [2, 0, 0, 1, 0x18, 0, 4];

/// A client capability: it looks for the ends of responses.
const READS_ENDS: u8 = 0x20;
/// A client capability: it supports sessionless transactions.
const KNOWS_SESSIONLESS: u8 = 0x20;

/// The longest text that is not moved behind the other bind values.
pub const STRING_MAX: u32 = 32767;

/// Data types whose representation a client chooses.
mod data_type {
    /// A signed byte.
    pub const SIGNED_BYTE: u16 = 27;
}

/// The representation of a signed byte: unchanged, or as other numbers.
const AS_IT_IS: u16 = 10;

/// The client's properties that change the format of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Texts of names and statements have their length in front.
    pub sized_text: bool,
    /// A scale is one signed byte, not a number.
    pub byte_scale: bool,
    /// The field version of both sides.
    pub field_version: u8,
    /// It requests the database's time zone.
    pub takes_zone: bool,
    /// It also requests the version of the time zone rules.
    pub takes_zone_version: bool,
    /// It looks for the ends of responses.
    pub reads_ends: bool,
    /// It supports sessionless transactions, and tracks the state of its own.
    pub knows_sessionless: bool,
}

impl Client {
    /// The properties of most drivers.
    pub const USUAL: Client = Client {
        sized_text: true,
        byte_scale: true,
        field_version: FIELD_VERSION,
        takes_zone: false,
        takes_zone_version: false,
        reads_ends: false,
        knows_sessionless: false,
    };

    /// Reads a text of `len` bytes in this client's form.
    ///
    /// # Errors
    /// [`WireError`] for invalid text.
    pub fn read_text(self, r: &mut Reader<'_>, len: usize) -> WireResult<String> {
        match self.sized_text {
            true => r.bytes().and_then(text),
            false => text(Some(Cow::Borrowed(r.raw(len)?))),
        }
    }

    /// Writes a text in this client's form.
    pub fn write_text(self, w: &mut Writer<'_>, text: &str) {
        match self.sized_text {
            true => w.bytes(text.as_bytes()),
            false => w.raw(text.as_bytes()),
        }
    }
}

/// Reads the client's protocol message after its type byte; returns the driver's name.
///
/// # Errors
/// [`WireError::Truncated`] while the end is missing.
pub fn read_protocol(r: &mut Reader<'_>) -> WireResult<String> {
    while r.u8()? != 0 {}
    let left = r.left();
    let end = left.iter().position(|b| *b == 0).ok_or(WireError::Truncated)?;
    let name = String::from_utf8_lossy(&left[..end]).into_owned();
    r.skip(end + 1)?;
    Ok(name)
}

/// Appends the client's protocol message.
pub fn write_protocol(out: &mut Vec<u8>, driver: &str) {
    let mut w = Writer::new(out);
    w.raw(&[message::PROTOCOL, 6, 0]);
    w.raw(driver.as_bytes());
    w.u8(0);
}

/// Appends the server's answer to it.
pub fn write_protocol_reply(out: &mut Vec<u8>, banner: &str) {
    let mut w = Writer::new(out);
    w.raw(&[message::PROTOCOL, 6, 0]);
    w.raw(banner.as_bytes());
    w.u8(0);
    w.u16_le(CHARSET_UTF8);
    w.u8(1);
    w.u16_le(0);
    w.u16(11);
    w.zeros(9);
    w.u16(CHARSET_UTF16);
    w.u8(COMPILE_CAPS_LEN as u8);
    w.raw(&compile_caps());
    w.u8(RUNTIME_CAPS.len() as u8);
    w.raw(&RUNTIME_CAPS);
}

fn compile_caps() -> [u8; COMPILE_CAPS_LEN] {
    let mut caps = [0; COMPILE_CAPS_LEN];
    COMPILE_CAPS.iter().for_each(|(place, value)| caps[*place] = *value);
    caps
}

/// Reads the server's answer after its type byte; returns its banner.
///
/// # Errors
/// [`WireError`] for an invalid message, or a server of another field version.
pub fn read_protocol_reply(r: &mut Reader<'_>) -> WireResult<String> {
    let banner = read_protocol(r)?;
    r.skip(3)?;
    let elements: usize = r.u16_le()?.into();
    r.skip(elements * 5)?;
    let described: usize = r.u16()?.into();
    r.skip(described)?;
    let n: usize = r.u8()?.into();
    let caps = r.raw(n)?;
    if caps.get(7).is_none_or(|version| *version < FIELD_VERSION) {
        return Err(WireError::BadValue);
    }
    let n: usize = r.u8()?.into();
    r.skip(n)?;
    Ok(banner)
}

/// Reads the client's message of data types after its type byte.
///
/// # Errors
/// [`WireError`] for an invalid message, or a client older than field version 7.
pub fn read_data_types(r: &mut Reader<'_>) -> WireResult<Client> {
    r.skip(4)?;
    let flag = r.u8()?;
    let n: usize = r.u8()?.into();
    let compile = r.raw(n)?;
    let n: usize = r.u8()?.into();
    let runtime = r.raw(n)?;
    let takes_zone = runtime.get(1).is_some_and(|caps| caps & 1 != 0);
    let takes_zone_version = takes_zone && compile.get(37).is_some_and(|caps| caps & 2 != 0);
    if takes_zone {
        r.skip(ZONE_LEN)?;
    }
    if takes_zone_version {
        r.skip(4)?;
    }
    let field_version = compile.get(7).copied().unwrap_or(0).min(FIELD_VERSION);
    if field_version < 7 {
        return Err(WireError::BadValue);
    }
    let sized_text = flag & 2 != 0;
    let reads_ends = compile.get(40).is_some_and(|caps| caps & READS_ENDS != 0);
    let knows_sessionless = compile.get(44).is_some_and(|caps| caps & KNOWS_SESSIONLESS != 0);
    let mut client = Client {
        sized_text,
        byte_scale: false,
        field_version,
        takes_zone,
        takes_zone_version,
        reads_ends,
        knows_sessionless,
    };
    // Some clients send their national character set here; the list itself begins with type 1.
    if r.clone().u16()? != 1 {
        r.skip(2)?;
    }
    loop {
        let number = r.u16()?;
        if number == 0 {
            return Ok(client);
        }
        if r.u16()? != 0 {
            let representation = r.u16()?;
            r.skip(2)?;
            if number == data_type::SIGNED_BYTE {
                client.byte_scale = representation == AS_IT_IS;
            }
        }
    }
}

/// Appends the data types of a client like [`Client::USUAL`].
pub fn write_data_types(out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    w.u8(message::DATA_TYPES);
    w.u16_le(CHARSET_UTF8);
    w.u16_le(CHARSET_UTF8);
    w.u8(3);
    w.u8(COMPILE_CAPS_LEN as u8);
    w.raw(&compile_caps());
    w.u8(CLIENT_RUNTIME_CAPS.len() as u8);
    w.raw(&CLIENT_RUNTIME_CAPS);
    for (number, representation) in [(1, 1), (2, 10), (8, 1), (12, 10), (23, 1), (data_type::SIGNED_BYTE, AS_IT_IS)] {
        [number, number, representation, 0].iter().for_each(|n| w.u16(*n));
    }
    w.u16(0);
}

/// A time zone as an interval of days and seconds.
const ZONE_LEN: usize = 11;

/// Appends the server's data types, the same as the client's. The database's time zone (`zone_minutes` east of UTC)
/// comes first, if the client requests it.
pub fn write_data_types_reply(out: &mut Vec<u8>, client: Client, zone_minutes: i16) {
    let mut w = Writer::new(out);
    w.u8(message::DATA_TYPES);
    if client.takes_zone {
        let part = |n: i16| (n + 60) as u8;
        let zone: [u8; ZONE_LEN] = [0x80, 0, 0, 0, part(zone_minutes / 60), part(zone_minutes % 60), 60, 0x80, 0, 0, 0];
        w.raw(&zone);
    }
    if client.takes_zone_version {
        w.raw(&types::zones_version().to_be_bytes());
    }
    w.u16(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_reply_is_byte_for_byte_what_drivers_take() {
        let mut out = Vec::new();
        write_protocol_reply(&mut out, "x");
        let want = "010600780069030100 00000b000000000000000000 07d029000000002200000c0000000000000001010000000000 \
                    004000000001000000000000000000200000000702010001180004";
        let hex: String = out.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, want.replace(' ', ""));
        let mut r = Reader::new(&out);
        assert_eq!((r.u8(), read_protocol_reply(&mut r)), (Ok(1), Ok("x".to_string())));
        r.finish().unwrap();
    }

    #[test]
    fn the_properties_of_a_client_are_read_from_its_message() {
        let mut out = Vec::new();
        write_protocol(&mut out, "python-oracledb");
        assert_eq!(out[..6], [1, 6, 0, b'p', b'y', b't']);
        assert_eq!(read_protocol(&mut Reader::new(&out[1..])).unwrap(), "python-oracledb");
        out.clear();
        write_data_types(&mut out);
        let mut r = Reader::new(&out[1..]);
        assert_eq!(read_data_types(&mut r), Ok(Client::USUAL));
        r.finish().unwrap();
        // A client with raw texts and numbers for scales, with time zone and national character set.
        let mut other = vec![0x69, 3, 0x69, 3, 1, 38];
        other.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 24]);
        other.extend_from_slice(&[0; 29]);
        other.extend_from_slice(&[2, 2, 2, 1]);
        other.extend_from_slice(&[0x80; 15]);
        other.extend_from_slice(&[0xd0, 7, 0, 1, 0, 1, 0, 1, 0, 0, 0, 27, 0, 27, 0, 1, 0, 0, 0, 99, 0, 0, 0, 0]);
        let mut r = Reader::new(&other);
        let want = Client {
            sized_text: false,
            byte_scale: false,
            field_version: FIELD_VERSION,
            takes_zone: true,
            takes_zone_version: true,
            reads_ends: false,
            knows_sessionless: false,
        };
        assert_eq!(read_data_types(&mut r), Ok(want));
        r.finish().unwrap();
    }

    #[test]
    fn the_databases_time_zone_is_sent_on_request() {
        let reply = |client, minutes| {
            let mut out = Vec::new();
            write_data_types_reply(&mut out, client, minutes);
            out
        };
        assert_eq!(reply(Client::USUAL, 90), [2, 0, 0]);
        let asks = Client { takes_zone: true, ..Client::USUAL };
        assert_eq!(reply(asks, 0), [2, 0x80, 0, 0, 0, 60, 60, 60, 0x80, 0, 0, 0, 0, 0]);
        assert_eq!(reply(asks, -90)[5..7], [59, 30]);
        let both = reply(Client { takes_zone_version: true, ..asks }, 0);
        assert_eq!((both.len(), both[12..16].to_vec()), (18, types::zones_version().to_be_bytes().to_vec()));
    }
}
