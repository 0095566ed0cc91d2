//! Calls on LOBs: reading and changing them by their locators.

use super::calls::{CallResult, Calls};
use super::locators::{NOW, Named, invalid, part_of, units};
use net::local;
use net::oracle::lob::{self, LobAnswer, LobCall, Locator, operation};
use net::oracle::value::Shape;
use std::mem::take;
use std::sync::Arc;
use types::{Lob, LobHome, Ora, Result, Scn, Value};

/// LOBs that a client may have open.
const OPEN_MAX: usize = 65_536;

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
    pub(super) fn lob(&mut self, call: &LobCall, sequence: u8, out: &mut Vec<u8>) -> CallResult<()> {
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

fn offset(from: u64) -> Result<usize> {
    let place = usize::try_from(from).ok().and_then(|from| from.checked_sub(1));
    place.ok_or_else(|| Ora::with(21560, &[&2]))
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
