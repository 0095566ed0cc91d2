//! The lists of error texts, one for each facility: number, and text with a `%s` for every argument.
//!
//! A list is sorted, so that a lookup is a binary search; a constant assertion fails the build if a line is out of
//! order or duplicated.

mod compiler;
mod network;
mod own;
mod server;
mod shell;

use crate::facility::Facility;

/// One line of a list.
type Line = (u32, &'static str);

const fn list(facility: Facility) -> &'static [Line] {
    match facility {
        Facility::Ora => server::MESSAGES,
        Facility::Pls => compiler::MESSAGES,
        Facility::Sp2 => shell::MESSAGES,
        Facility::Tns => network::MESSAGES,
        Facility::Lwk => own::MESSAGES,
    }
}

/// Returns the text of an error, with its `%s` still in it.
pub(crate) fn template(facility: Facility, code: u32) -> Option<&'static str> {
    let list = list(facility);
    let at = list.binary_search_by_key(&code, |line| line.0).ok()?;
    Some(list[at].1)
}

const fn is_sorted(facility: Facility) -> bool {
    let list = list(facility);
    let mut at = 1;
    while at < list.len() {
        if list[at - 1].0 >= list[at].0 {
            return false;
        }
        at += 1;
    }
    true
}

const _: () = assert!(
    is_sorted(Facility::Ora)
        && is_sorted(Facility::Pls)
        && is_sorted(Facility::Sp2)
        && is_sorted(Facility::Tns)
        && is_sorted(Facility::Lwk),
    "each list of error texts is sorted and has every error once"
);
