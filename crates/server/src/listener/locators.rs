//! The LOBs of which a client has locators (invariant 22).
//!
//! The locator of a row's LOB has the place of the row and the SCN of the query, so the server keeps nothing for it,
//! however many the client holds. A tag that only this session can compute distinguishes it from a forged locator. A
//! temporary LOB is kept until the client frees it, or the session ends.

use super::calls::{Calls, Tried};
use super::cursors::convert;
use net::local;
use net::oracle::lob::{self, LobAnswer, LobCall, Locator, OWN_BYTES, operation};
use net::oracle::value::Shape;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::mem::take;
use std::sync::Arc;
use types::{DataType, Lob, LobHome, LobRow, Nls, ObjectId, Ora, Result, Rowid, Scn, Value};

/// Bytes of a locator over which the tag is computed.
const TAGGED: usize = OWN_BYTES - 8;
/// The SCN of a locator that shows the present LOB: the client has changed the LOB through it, or got it while a
/// transaction was open.
pub(super) const NOW: u64 = Scn::MAX.0;
/// LOBs that a client may have open.
const OPEN_MAX: usize = 65_536;

/// The session's state for its client's locators.
#[derive(Default)]
pub(super) struct Locators {
    key: RandomState,
    temporary: HashMap<u64, Value>,
    last: u64,
    /// The open LOBs.
    open: HashSet<[u8; OWN_BYTES]>,
    /// The SCN of the query whose rows are being sent.
    pub(super) seen: u64,
    /// The LOB that was read last, since clients read a long LOB in parts.
    pub(super) read: Option<([u8; OWN_BYTES], Value)>,
}

/// The LOB of a locator.
#[derive(Clone, Copy)]
enum Named {
    Temporary(u64),
    Row(LobRow, u64),
}

impl Locators {
    /// A value in the form in which it is sent.
    pub(super) fn sent(&mut self, value: Value, shape: &Shape, nls: &Nls) -> Result<Value> {
        if shape.is_lob() { self.cell(&value, shape, nls) } else { convert(value, shape, nls) }
    }

    /// The cell for a value of a column described as CLOB or BLOB.
    pub(super) fn cell(&mut self, value: &Value, shape: &Shape, nls: &Nls) -> Result<Value> {
        let binary = shape.data_type() == DataType::Blob;
        let (content, row) = match value {
            Value::Null => return Ok(Value::Null),
            Value::Lob(lob) => (&lob.content, if let LobHome::Row(row) = lob.home { Some(row) } else { None }),
            value => (value, None),
        };
        let converted;
        let content = match (content, binary) {
            (Value::Null, _) => return Ok(Value::Null),
            (Value::EmptyLob | Value::Text(_), false) | (Value::EmptyLob | Value::Raw(_), true) => content,
            (other, false) => {
                converted = other.to_text(nls)?.map_or(Value::Null, |text| Value::text(text.into_owned()));
                &converted
            }
            (other, true) => {
                converted = other.to_raw()?.map_or(Value::Null, Value::raw);
                &converted
            }
        };
        let locator = match row {
            Some(row) => self.locator_of(&row, self.seen, binary),
            None => self.keep(content.clone(), binary),
        };
        let most = shape.chars as usize;
        let beginning = (most > 0).then(|| part_of(content, 0, most));
        let mut cell = Vec::new();
        lob::write_cell(&locator, units(content), beginning.as_deref(), &mut cell);
        Ok(Value::Raw(cell))
    }

    fn locator_of(&self, row: &LobRow, scn: u64, binary: bool) -> Locator {
        let mut own = [0; OWN_BYTES];
        own[..4].copy_from_slice(&row.object.0.to_be_bytes());
        own[4..14].copy_from_slice(&row.rowid.to_bytes());
        own[14..16].copy_from_slice(&row.column.to_be_bytes());
        own[16..TAGGED].copy_from_slice(&scn.to_be_bytes());
        let tag = self.key.hash_one((&own[..TAGGED], binary));
        own[TAGGED..].copy_from_slice(&tag.to_be_bytes());
        Locator { binary, temporary: false, own }
    }

    /// Keeps a temporary LOB.
    fn keep(&mut self, content: Value, binary: bool) -> Locator {
        self.last += 1;
        self.temporary.insert(self.last, content);
        let mut own = [0; OWN_BYTES];
        own[TAGGED..].copy_from_slice(&self.last.to_be_bytes());
        Locator { binary, temporary: true, own }
    }

    /// # Errors
    /// ORA-22275 for a locator that this session has not made, or whose temporary LOB was freed.
    fn named(&self, locator: &Locator) -> Result<Named> {
        let own = &locator.own;
        let word = |at: usize| u64::from_be_bytes(own[at..at + 8].try_into().expect("eight bytes"));
        if locator.temporary {
            let number = word(TAGGED);
            return if self.temporary.contains_key(&number) { Ok(Named::Temporary(number)) } else { Err(invalid()) };
        }
        let rowid = Rowid::from_bytes(&own[4..14]).ok_or_else(invalid)?;
        let object = ObjectId(u32::from_be_bytes(own[..4].try_into().expect("four bytes")));
        let row = LobRow { object, rowid, column: u16::from_be_bytes([own[14], own[15]]) };
        let scn = word(16);
        if self.locator_of(&row, scn, locator.binary) == *locator { Ok(Named::Row(row, scn)) } else { Err(invalid()) }
    }

    /// Frees temporary LOBs; other locators are ignored.
    pub(super) fn free(&mut self, locators: &[u8]) {
        for locator in locators.chunks(lob::LOCATOR_BYTES).filter_map(Locator::from_bytes) {
            if let Ok(Named::Temporary(number)) = self.named(&locator) {
                self.temporary.remove(&number);
                self.open.remove(&locator.own);
            }
        }
    }
}

impl Calls {
    /// Replaces locators in bind values by the contents of their LOBs.
    ///
    /// # Errors
    /// ORA-22275 for an invalid locator.
    pub(super) fn bound_lobs(&mut self, shapes: &[Shape], values: &mut [Value]) -> Result<()> {
        for (_, value) in shapes.iter().zip(values).filter(|(shape, _)| shape.is_lob()) {
            if let Value::Raw(bytes) = value {
                let locator = Locator::from_bytes(bytes).ok_or_else(invalid)?;
                let home = match self.lobs.named(&locator)? {
                    Named::Temporary(_) => LobHome::Temporary,
                    Named::Row(row, _) => LobHome::Row(row),
                };
                let content = self.content(&locator)?;
                *value = Value::Lob(Arc::new(Lob { content, binary: locator.binary, home, open: None }));
            }
        }
        Ok(())
    }

    /// The content of a LOB.
    fn content(&mut self, locator: &Locator) -> Result<Value> {
        match self.lobs.named(locator)? {
            Named::Temporary(number) => Ok(self.lobs.temporary.get(&number).cloned().unwrap_or_default()),
            Named::Row(row, scn) => self.session.read_lob(&row, (scn != NOW).then_some(Scn(scn))),
        }
    }

    /// A call on a LOB.
    pub(super) fn lob(&mut self, call: &LobCall, sequence: u8, out: &mut Vec<u8>) -> Tried<()> {
        // Temporary LOBs count against the session's memory.
        self.session.process().check_cancel()?;
        let mut answer = LobAnswer::default();
        let locator = match call.operation {
            operation::CREATE => {
                let binary = call.destination_offset == u64::from(net::oracle::value::number::BLOB);
                self.lobs.keep(Value::EmptyLob, binary)
            }
            _ => Locator::from_bytes(&call.source).ok_or_else(invalid)?,
        };
        let mut now = locator;
        match call.operation {
            operation::CREATE => {}
            operation::FREE => match self.lobs.named(&locator)? {
                Named::Temporary(_) => self.lobs.free(&call.source),
                Named::Row(..) => return Err(invalid().into()),
            },
            operation::LENGTH => answer.amount = self.with_content(&locator, units)?,
            operation::READ => {
                let from = offset(call.source_offset)?;
                let amount = usize::try_from(call.amount).unwrap_or(usize::MAX);
                answer.data = self.with_content(&locator, |content| part_of(content, from, amount))?;
                answer.amount = answer.data.len() as u64 / if locator.binary { 1 } else { 2 };
            }
            operation::CHUNK_SIZE => answer.amount = lob::CHUNK.into(),
            operation::OPEN => {
                self.lobs.named(&locator)?;
                if self.lobs.open.len() >= OPEN_MAX {
                    return Err(Ora::new(22290).into());
                }
                if !self.lobs.open.insert(locator.own) {
                    return Err(Ora::new(22293).into());
                }
            }
            operation::CLOSE => {
                self.lobs.named(&locator)?;
                if !self.lobs.open.remove(&locator.own) {
                    return Err(Ora::with(22289, &[&"CLOSE"]).into());
                }
            }
            operation::IS_OPEN => {
                self.lobs.named(&locator)?;
                answer.flag = self.lobs.open.contains(&locator.own);
            }
            operation::WRITE => {
                let from = offset(call.source_offset)?;
                now = self.change_lob(&locator, &mut |content| write(content, locator.binary, from, &call.data))?;
                answer.amount = call.data.len() as u64 / if locator.binary { 1 } else { 2 };
            }
            operation::TRIM => {
                let length = usize::try_from(call.amount).unwrap_or(usize::MAX);
                now = self.change_lob(&locator, &mut |content| trim(content, length))?;
                answer.amount = call.amount;
            }
            _ => return Err(Ora::unsupported().into()),
        }
        call.write_answer(&now.to_bytes(), &answer, out);
        self.succeeded(&local::Done::default(), 0, sequence).write(out);
        Ok(())
    }

    /// Reads a LOB; the last one is cached if its locator is for one SCN.
    fn with_content<R>(&mut self, locator: &Locator, read: impl FnOnce(&Value) -> R) -> Result<R> {
        match self.lobs.named(locator)? {
            Named::Temporary(number) => Ok(read(self.lobs.temporary.get(&number).unwrap_or(&Value::EmptyLob))),
            Named::Row(row, NOW) => Ok(read(&self.session.read_lob(&row, None)?)),
            Named::Row(row, scn) => {
                let content = match self.lobs.read.take() {
                    Some((own, content)) if own == locator.own => content,
                    _ => self.session.read_lob(&row, Some(Scn(scn)))?,
                };
                let done = read(&content);
                self.lobs.read = Some((locator.own, content));
                Ok(done)
            }
        }
    }

    /// Changes a LOB; returns the locator that shows the change.
    fn change_lob(&mut self, locator: &Locator, edit: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<Locator> {
        self.lobs.read = None;
        match self.lobs.named(locator)? {
            Named::Temporary(number) => {
                let content = self.lobs.temporary.get_mut(&number).ok_or_else(invalid)?;
                edit(content)?;
                Ok(*locator)
            }
            Named::Row(row, _) => {
                self.session.write_lob(&row, edit)?;
                let now = self.lobs.locator_of(&row, NOW, locator.binary);
                if self.lobs.open.remove(&locator.own) {
                    self.lobs.open.insert(now.own);
                }
                Ok(now)
            }
        }
    }
}

fn invalid() -> Ora {
    Ora::new(22275)
}

fn offset(from: u64) -> Result<usize> {
    let place = usize::try_from(from).ok().and_then(|from| from.checked_sub(1));
    place.ok_or_else(|| Ora::with(21560, &[&2]))
}

/// The length of a content: code units of a text, bytes otherwise.
fn units(content: &Value) -> u64 {
    match content {
        Value::Text(text) => text.encode_utf16().count() as u64,
        Value::Raw(bytes) => bytes.len() as u64,
        _ => 0,
    }
}

/// A part of a content in the form in which it is sent.
fn part_of(content: &Value, from: usize, count: usize) -> Vec<u8> {
    match content {
        Value::Text(text) if text.is_ascii() => {
            let begin = from.min(text.len());
            let end = begin.saturating_add(count).min(text.len());
            lob::wide(&text[begin..end])
        }
        Value::Text(text) => text.encode_utf16().skip(from).take(count).flat_map(u16::to_be_bytes).collect(),
        Value::Raw(bytes) => {
            let begin = from.min(bytes.len());
            bytes[begin..begin.saturating_add(count).min(bytes.len())].to_vec()
        }
        _ => Vec::new(),
    }
}

/// ORA-22288 for a LOB that would exceed the largest length.
fn check_length(len: usize) -> Result<()> {
    if len > functions::LOB_MAX {
        Err(Ora::with(22288, &[&"WRITE", &"LOB is longer than 32 megabytes"]))
    } else {
        Ok(())
    }
}

/// Writes data at a position. A gap before it is padded.
fn write(content: &mut Value, binary: bool, from: usize, data: &[u8]) -> Result<()> {
    if binary {
        check_length(from.saturating_add(data.len()))?;
        let mut bytes = if let Value::Raw(bytes) = take(content) { bytes } else { Vec::new() };
        if bytes.len() < from {
            bytes.resize(from, 0);
        }
        let end = (from + data.len()).min(bytes.len());
        bytes.splice(from..end, data.iter().copied());
        *content = Value::Raw(bytes);
    } else {
        // The padding is checked before it is made, the whole text before it is kept.
        check_length(from)?;
        let text = if let Value::Text(text) = &*content { text.clone() } else { String::new() };
        let data = lob::narrow(data);
        let len = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        let text = if from >= len {
            let mut text = text;
            text.extend(std::iter::repeat_n(' ', from - len));
            text.push_str(&data);
            text
        } else {
            let mut wide: Vec<u16> = text.encode_utf16().collect();
            let data: Vec<u16> = data.encode_utf16().collect();
            let end = (from + data.len()).min(wide.len());
            wide.splice(from..end, data);
            String::from_utf16_lossy(&wide)
        };
        check_length(text.len())?;
        *content = Value::Text(text);
    }
    if units(content) == 0 {
        *content = Value::EmptyLob;
    }
    Ok(())
}

/// Truncates a content.
fn trim(content: &mut Value, length: usize) -> Result<()> {
    if length as u64 > units(content) {
        return Err(Ora::new(22926));
    }
    match content {
        Value::Text(text) => {
            let wide: Vec<u16> = text.encode_utf16().take(length).collect();
            *text = String::from_utf16_lossy(&wide);
        }
        Value::Raw(bytes) => bytes.truncate(length),
        _ => {}
    }
    if length == 0 {
        *content = Value::EmptyLob;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> LobRow {
        LobRow { object: ObjectId(7), rowid: Rowid { obj: ObjectId(8), ..Rowid::default() }, column: 3 }
    }

    #[test]
    fn a_forged_locator_is_refused() {
        let locators = Locators::default();
        let good = locators.locator_of(&row(), 42, false);
        assert!(matches!(locators.named(&good), Ok(Named::Row(r, 42)) if r == row()));
        for at in 0..OWN_BYTES {
            let mut bad = good;
            bad.own[at] ^= 1;
            assert!(locators.named(&bad).is_err(), "{at}");
        }
        let other_kind = Locator { binary: true, ..good };
        assert!(locators.named(&other_kind).is_err());
        let of_another_session = Locators::default().locator_of(&row(), 42, false);
        assert!(locators.named(&of_another_session).is_err());
        let temporary = Locator { temporary: true, ..good };
        assert!(locators.named(&temporary).is_err());
    }

    #[test]
    fn temporary_lobs_exist_until_they_are_freed() {
        let mut locators = Locators::default();
        let (a, b) = (locators.keep(Value::text("a"), false), locators.keep(Value::raw([1]), true));
        locators.free(&[a.to_bytes(), locators.locator_of(&row(), 1, false).to_bytes()].concat());
        assert!(locators.named(&a).is_err() && locators.named(&b).is_ok());
    }

    #[test]
    fn texts_are_changed_by_code_units() {
        let mut content = Value::text("a😀b");
        assert_eq!(units(&content), 4);
        assert_eq!(part_of(&content, 3, 5), lob::wide("b"));
        write(&mut content, false, 3, &lob::wide("xy")).unwrap();
        assert_eq!(content, Value::text("a😀xy"));
        write(&mut content, false, 7, &lob::wide("z")).unwrap();
        assert_eq!(content, Value::text("a😀xy  z"));
        trim(&mut content, 3).unwrap();
        assert_eq!(content, Value::text("a😀"));
        assert!(trim(&mut content, 4).unwrap_err().is(22926));
        let before = content.clone();
        assert!(write(&mut content, false, 1, &lob::wide(&"é".repeat(functions::LOB_MAX / 2))).unwrap_err().is(22288));
        assert_eq!(content, before);
        trim(&mut content, 0).unwrap();
        assert_eq!(content, Value::EmptyLob);
    }

    #[test]
    fn gaps_in_bytes_are_padded_with_zeros() {
        let mut content = Value::EmptyLob;
        write(&mut content, true, 2, &[7, 8]).unwrap();
        write(&mut content, true, 3, &[9, 9]).unwrap();
        assert_eq!(content, Value::Raw(vec![0, 0, 7, 9, 9]));
        assert!(write(&mut content, true, functions::LOB_MAX, &[1]).unwrap_err().is(22288));
        assert_eq!(part_of(&content, 3, usize::MAX), [9, 9]);
    }
}
