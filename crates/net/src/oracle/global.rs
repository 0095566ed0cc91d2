//! Requests of the coordinator of a global transaction: to enter or leave a branch, and to end it.

use super::field::{Reader, Writer};
use super::handshake::Client;
use super::message;
use crate::local::{WireError, WireResult};

/// Operations of a switch.
pub mod switch {
    pub const START: u32 = 1;
    pub const DETACH: u32 = 2;
    /// Leaves the transaction after the call that follows the switch, unless the call fails.
    pub const DETACH_BEHIND: u32 = 4;
}

/// Operations that end a branch.
pub mod end {
    pub const COMMIT: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const PREPARE: u32 = 3;
    pub const FORGET: u32 = 4;
    /// Asks for the fate of the branch.
    pub const RECOVER: u32 = 5;
}

/// Bits of a start.
pub mod start_flag {
    pub const NEW: u32 = 0x1;
    pub const JOIN: u32 = 0x2;
    pub const RESUME: u32 = 0x4;
    pub const PROMOTE: u32 = 0x8;
    /// The transaction is sessionless, without a coordinator.
    pub const SESSIONLESS: u32 = 0x10;
    pub const HOW: u32 = 0xFF;
    pub const READ_ONLY: u32 = 0x100;
    pub const READ_WRITE: u32 = 0x200;
    pub const SERIALIZABLE: u32 = 0x400;
}

/// States of a branch, in the numbers of drivers.
pub mod state {
    pub const REQUIRES_COMMIT: u32 = 1;
    pub const COMMITTED: u32 = 2;
    pub const ABORTED: u32 = 3;
    pub const READ_ONLY: u32 = 4;
    pub const FORGOTTEN: u32 = 5;
}

/// The fate of a branch, for a client that asks.
pub mod fate {
    pub const UNKNOWN: u32 = 0;
    pub const ACTIVE: u32 = 1;
    pub const PREPARED: u32 = 2;
    pub const FORCED_ROLLBACK: u32 = 4;
    pub const FORCED_COMMIT: u32 = 5;
}

/// Bytes of an identifier: both parts together, padded.
const ID_MAX: u32 = 128;
/// Largest number of bytes of a context and of a name.
const TEXT_MAX: u32 = 4096;

/// An identifier: format, part of the global transaction, part of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobalXid {
    pub format: u32,
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
}

impl GlobalXid {
    /// The identifier as the context of a branch, which the client sends back.
    fn to_context(&self) -> Vec<u8> {
        let mut out = self.format.to_be_bytes().to_vec();
        out.extend_from_slice(&[self.global.len() as u8, self.branch.len() as u8]);
        out.extend_from_slice(&self.global);
        out.extend_from_slice(&self.branch);
        out
    }

    fn from_context(bytes: &[u8]) -> Option<GlobalXid> {
        let (format, rest) = bytes.split_first_chunk::<4>()?;
        let ([global, branch], rest) = rest.split_first_chunk::<2>()?;
        if rest.len() != usize::from(*global) + usize::from(*branch) {
            return None;
        }
        let (global, branch) = rest.split_at(usize::from(*global));
        Some(GlobalXid { format: u32::from_be_bytes(*format), global: global.to_vec(), branch: branch.to_vec() })
    }
}

/// Enters or leaves a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    pub operation: u32,
    /// The identifier, directly or from the context that the client got.
    pub id: Option<GlobalXid>,
    pub flags: u32,
    /// In seconds.
    pub timeout: u32,
    /// The client's own number, which is returned to it.
    pub application: u32,
}

/// Prepares or ends a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub operation: u32,
    pub id: Option<GlobalXid>,
    /// The client's view of the state of the branch.
    pub state: u32,
    pub flags: u32,
}

/// The lengths of context and identifier, whose bytes come later.
struct Lengths {
    context: usize,
    format: u32,
    global: usize,
    branch: usize,
    id: usize,
}

impl Lengths {
    fn read(r: &mut Reader<'_>) -> WireResult<Lengths> {
        r.skip(1)?;
        let context = r.count(TEXT_MAX)?;
        let format = r.ub4()?;
        let (global, branch) = (r.ub4()? as usize, r.ub4()? as usize);
        r.skip(1)?;
        Ok(Lengths { context, format, global, branch, id: r.count(ID_MAX)? })
    }

    /// The bytes of context and identifier.
    fn read_id(&self, r: &mut Reader<'_>) -> WireResult<Option<GlobalXid>> {
        let context = r.raw(self.context)?;
        let bytes = r.raw(self.id)?;
        if self.id == 0 {
            return Ok(GlobalXid::from_context(context));
        }
        // Longer parts than 64 bytes are refused when the identifier is made; the connection continues.
        if self.global + self.branch > self.id {
            return Err(WireError::LengthOutOfBounds);
        }
        let (global, rest) = bytes.split_at(self.global);
        Ok(Some(GlobalXid { format: self.format, global: global.to_vec(), branch: rest[..self.branch].to_vec() }))
    }
}

impl Switch {
    /// Reads the fields after the function byte.
    ///
    /// # Errors
    /// [`WireError`] for an invalid message.
    pub fn read(r: &mut Reader<'_>) -> WireResult<Switch> {
        let operation = r.ub4()?;
        let lengths = Lengths::read(r)?;
        let (flags, timeout) = (r.ub4()?, r.ub4()?);
        r.skip(4)?;
        let internal = r.count(TEXT_MAX)?;
        r.skip(1)?;
        let external = r.count(TEXT_MAX)?;
        let id = lengths.read_id(r)?;
        let application = r.ub4()?;
        r.skip(internal)?;
        r.skip(external)?;
        Ok(Switch { operation, id, flags, timeout, application })
    }
}

impl End {
    /// Reads the fields after the function byte.
    ///
    /// # Errors
    /// [`WireError`] for an invalid message.
    pub fn read(r: &mut Reader<'_>) -> WireResult<End> {
        let operation = r.ub4()?;
        let lengths = Lengths::read(r)?;
        r.ub4()?;
        let state = r.ub4()?;
        r.skip(1)?;
        let flags = r.ub4()?;
        let id = lengths.read_id(r)?;
        Ok(End { operation, id, state, flags })
    }
}

/// Skips the client's message after it has asked for the fate of a branch.
///
/// # Errors
/// [`WireError`] for an invalid message.
pub fn read_recovered(r: &mut Reader<'_>, client: Client) -> WireResult<()> {
    let has_more = client.field_version >= 8;
    r.ub4()?;
    r.ub4()?;
    for _ in 0..4 {
        r.skip(1)?;
        r.ub4()?;
    }
    r.skip(2)?;
    r.ub4()?;
    r.skip(2)?;
    r.ub4()?;
    r.skip(1)?;
    if has_more {
        for _ in 0..2 {
            r.skip(1)?;
            r.ub4()?;
        }
        r.skip(1)?;
    }
    let numbers = if has_more { 5 } else { 3 };
    (0..numbers).try_for_each(|_| r.ub4().map(drop))
}

/// Appends the answer to that; the outcome of the call follows.
pub fn write_recovered(out: &mut Vec<u8>, client: Client) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(0u32);
    if client.field_version >= 8 {
        w.number(0u32);
    }
}

/// Appends the result of a switch; the outcome of the call follows.
pub fn write_switched(out: &mut Vec<u8>, application: u32, id: Option<&GlobalXid>) {
    let context = id.map(GlobalXid::to_context).unwrap_or_default();
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(application);
    w.number(context.len() as u64);
    w.raw(&context);
}

/// Appends that the session has entered or left a sessionless transaction. `entered`: its identifier, and whether a
/// statement began it.
pub fn write_sessionless(out: &mut Vec<u8>, entered: Option<(&[u8], bool)>) {
    const SYNC: u8 = 5;
    const TRANSACTION_ID: u32 = 201;
    const VERSION: u8 = 1;
    let mut value = entered.map_or(&[][..], |(id, _)| id).to_vec();
    value.push(match entered {
        None => 0x80,
        Some((_, true)) => 0x41,
        Some((_, false)) => 0x42,
    });
    value.push(VERSION);
    let mut w = Writer::new(out);
    w.u8(message::SERVER_PIGGYBACK);
    w.u8(SYNC);
    // No types, and one pair.
    w.number(0u32);
    w.u8(0);
    w.number(1u32);
    w.u8(0);
    w.number(0u32);
    w.long_bytes(&value);
    w.number(TRANSACTION_ID);
    w.number(0u32);
}

/// Appends the state of the branch; the outcome of the call follows.
pub fn write_ended(out: &mut Vec<u8>, state: u32) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch_of(operation: u32, id: Option<&GlobalXid>, context: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        w.number(operation);
        w.u8(u8::from(!context.is_empty()));
        w.number(context.len() as u64);
        for n in id.map_or([0; 3], |id| [id.format, id.global.len() as u32, id.branch.len() as u32]) {
            w.number(n);
        }
        w.u8(u8::from(id.is_some()));
        w.number(if id.is_some() { ID_MAX } else { 0 });
        w.number(start_flag::NEW);
        w.number(60u32);
        w.raw(&[1; 4]);
        w.number(3u32);
        w.raw(&[0, 0]);
        w.raw(context);
        if let Some(id) = id {
            let mut bytes = [id.global.clone(), id.branch.clone()].concat();
            bytes.resize(ID_MAX as usize, 0);
            w.raw(&bytes);
        }
        w.number(77u32);
        w.raw(b"int");
        out
    }

    #[test]
    fn a_branch_is_named_by_its_identifier_or_by_the_context_given_out_for_it() {
        let id = GlobalXid { format: 0x8000_1234, global: vec![1, 2, 3], branch: vec![0; 64] };
        let bytes = switch_of(switch::START, Some(&id), &[]);
        let mut r = Reader::new(&bytes);
        let read = Switch::read(&mut r).unwrap();
        assert!(r.left().is_empty());
        assert_eq!((read.operation, read.flags, read.timeout, read.application), (1, 1, 60, 77));
        assert_eq!(read.id.as_ref(), Some(&id));
        let bytes = switch_of(switch::DETACH, None, &id.to_context());
        assert_eq!(Switch::read(&mut Reader::new(&bytes)).unwrap().id, Some(id));
        assert_eq!(Switch::read(&mut Reader::new(&switch_of(2, None, b"garbage"))).unwrap().id, None);
    }

    #[test]
    fn a_client_is_told_which_transaction_without_a_session_it_is_in() {
        let mut out = Vec::new();
        write_sessionless(&mut out, Some((b"ab", true)));
        assert_eq!(out, [23, 5, 0, 0, 1, 1, 0, 0, 1, 4, 4, b'a', b'b', 0x41, 1, 1, 201, 0]);
        out.clear();
        write_sessionless(&mut out, None);
        assert_eq!(out, [23, 5, 0, 0, 1, 1, 0, 0, 1, 2, 2, 0x80, 1, 1, 201, 0]);
    }

    #[test]
    fn truncated_or_too_long_messages_are_refused() {
        let id = GlobalXid { format: 1, global: vec![1; 64], branch: vec![2; 64] };
        let bytes = switch_of(switch::START, Some(&id), &[9; 20]);
        for n in 0..bytes.len() {
            assert!(Switch::read(&mut Reader::new(&bytes[..n])).is_err(), "{n} bytes");
        }
        let long = GlobalXid { format: 1, global: vec![1; 65], branch: vec![2; 63] };
        let read = Switch::read(&mut Reader::new(&switch_of(switch::START, Some(&long), &[]))).unwrap();
        assert_eq!(read.id, Some(long), "a part of 65 bytes is read, so that it can be refused");
        // Parts longer than the bytes sent are an error.
        let longer = GlobalXid { format: 1, global: vec![1; 65], branch: vec![2; 64] };
        assert!(Switch::read(&mut Reader::new(&switch_of(switch::START, Some(&longer), &[]))).is_err());
    }
}
