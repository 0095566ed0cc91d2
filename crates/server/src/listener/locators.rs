//! The LOBs of which a client has locators (invariant 22).
//!
//! The locator of a row's LOB has the place of the row and the SCN of the query, so the server keeps nothing for it,
//! however many the client holds. A tag that only this session can compute distinguishes it from a forged locator. A
//! temporary LOB is kept until the client frees it, or the session ends.

use super::cursors::convert;
use net::oracle::lob::{self, Locator, OWN_BYTES};
use net::oracle::value::Shape;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use types::{DataType, LobHome, LobRow, Nls, ObjectId, Ora, Result, Rowid, Scn, Value};

/// Bytes of a locator over which the tag is computed.
const TAGGED: usize = OWN_BYTES - 8;
/// The SCN of a locator that shows the present LOB: the client has changed the LOB through it, or got it while a
/// transaction was open.
pub(super) const NOW: u64 = Scn::MAX.0;

/// The session's state for its client's locators.
#[derive(Default)]
pub(super) struct Locators {
    key: RandomState,
    pub(super) temporary: HashMap<u64, Value>,
    last: u64,
    /// The open LOBs.
    pub(super) open: HashSet<[u8; OWN_BYTES]>,
    /// The SCN of the query whose rows are being sent.
    pub(super) seen: u64,
    /// The LOB that was read last, since clients read a long LOB in parts.
    pub(super) read: Option<([u8; OWN_BYTES], Value)>,
}

/// The LOB of a locator.
#[derive(Clone, Copy)]
pub(super) enum Named {
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

    pub(super) fn locator_of(&self, row: &LobRow, scn: u64, binary: bool) -> Locator {
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
    pub(super) fn keep(&mut self, content: Value, binary: bool) -> Locator {
        self.last += 1;
        self.temporary.insert(self.last, content);
        let mut own = [0; OWN_BYTES];
        own[TAGGED..].copy_from_slice(&self.last.to_be_bytes());
        Locator { binary, temporary: true, own }
    }

    /// # Errors
    /// ORA-22275 for a locator that this session has not made, or whose temporary LOB was freed.
    pub(super) fn named(&self, locator: &Locator) -> Result<Named> {
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

pub(super) fn invalid() -> Ora {
    Ora::new(22275)
}

/// The length of a content: code units of a text, bytes otherwise.
pub(super) fn units(content: &Value) -> u64 {
    match content {
        Value::Text(text) => text.encode_utf16().count() as u64,
        Value::Raw(bytes) => bytes.len() as u64,
        _ => 0,
    }
}

/// A part of a content in the form in which it is sent.
pub(super) fn part_of(content: &Value, from: usize, count: usize) -> Vec<u8> {
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
}
