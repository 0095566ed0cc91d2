//! Messages from a server to its coordinator.

use parallel::Assignment;
use process::Process;
use types::{Facility, Ora, Result};

pub(super) const ROWS: u8 = 1;
pub(super) const END: u8 = 2;
pub(super) const ERROR: u8 = 3;
pub(super) const REFUSED: u8 = 4;

pub(super) fn take_number(from: &mut &[u8]) -> Option<u64> {
    let (n, rest) = from.split_first_chunk::<8>()?;
    *from = rest;
    Some(u64::from_le_bytes(*n))
}

pub(super) fn put_number(n: u64, to: &mut Vec<u8>) {
    to.extend_from_slice(&n.to_le_bytes());
}

/// Most nested errors that are sent.
const ERRORS_MOST: usize = 16;

fn put_error(e: &Ora, to: &mut Vec<u8>) {
    to.push(e.facility() as u8);
    put_number(e.code().into(), to);
    put_number(e.message().len() as u64, to);
    to.extend_from_slice(e.message().as_bytes());
    let context = &e.context()[..e.context().len().min(ERRORS_MOST)];
    put_number(context.len() as u64, to);
    for e in context {
        let mut one = Vec::new();
        put_error(e, &mut one);
        to.extend_from_slice(&one);
    }
}

pub(super) fn take_error(from: &mut &[u8], depth: usize) -> Option<Ora> {
    let (facility, rest) = from.split_first()?;
    *from = rest;
    let facilities = [Facility::Ora, Facility::Pls, Facility::Sp2, Facility::Tns, Facility::Lwk];
    let facility = facilities.into_iter().find(|f| *f as u8 == *facility)?;
    let code = u32::try_from(take_number(from)?).ok()?;
    let len = usize::try_from(take_number(from)?).ok()?;
    let (text, rest) = from.split_at_checked(len)?;
    *from = rest;
    let mut e = Ora::from_text(facility, code, std::str::from_utf8(text).ok()?);
    let count = take_number(from)?;
    if depth >= ERRORS_MOST || count > ERRORS_MOST as u64 {
        return None;
    }
    for _ in 0..count {
        e = e.because(take_error(from, depth + 1)?);
    }
    Some(e)
}

/// Sends the coordinator an error that ends a server's part.
///
/// # Errors
/// The error, if the coordinator does not want it any more; ORA-00028 when the session was killed.
pub fn report(p: &Process, assignment: &Assignment, e: Ora) -> Result<()> {
    if !assignment.is_wanted() {
        return Err(e);
    }
    let mut message = vec![ERROR];
    put_error(&e, &mut message);
    assignment.send(p, &message)?;
    if e.is(28) { Err(e) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_with_their_stack() {
        let e = Ora::new(1476).because(Ora::with(6512, &[&"X", &"1"])).because(Ora::new(1722));
        let mut bytes = Vec::new();
        put_error(&e, &mut bytes);
        let back = take_error(&mut &bytes[..], 0).unwrap();
        assert_eq!(back.to_string(), e.to_string());
        for end in 0..bytes.len() {
            assert_eq!(take_error(&mut &bytes[..end], 0), None);
        }
    }
}
