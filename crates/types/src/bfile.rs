//! Locators of BFILEs: the names of a directory object and of a file in it, as `Value::Raw`.
//!
//! A locator gives no right to the file: the user's privilege on the directory is checked at each use.

use crate::{Ora, Result};

/// The longest name of a directory object and of a file, in bytes.
const DIRECTORY_MAX: usize = 128;
const FILE_MAX: usize = 255;

/// Makes a locator; neither the directory nor the file need exist.
///
/// # Errors
/// ORA-22285 for a name that no directory or file can have.
pub fn locator(directory: &str, file: &str) -> Result<Vec<u8>> {
    if directory.len() > DIRECTORY_MAX || file.len() > FILE_MAX {
        return Err(Ora::with(22285, &[&"BFILENAME"]));
    }
    let mut bytes = Vec::with_capacity(1 + directory.len() + file.len());
    bytes.push(directory.len() as u8);
    bytes.extend_from_slice(directory.as_bytes());
    bytes.extend_from_slice(file.as_bytes());
    Ok(bytes)
}

/// The directory and the file of a locator; `None` for bytes that are none.
pub fn names(locator: &[u8]) -> Option<(&str, &str)> {
    let (&len, rest) = locator.split_first()?;
    let (directory, file) = rest.split_at_checked(len.into())?;
    Some((std::str::from_utf8(directory).ok()?, std::str::from_utf8(file).ok()?))
}

/// A locator as SQL*Plus prints it.
pub fn shown(locator: &[u8]) -> String {
    let (directory, file) = names(locator).unwrap_or_default();
    format!("bfilename('{directory}', '{file}')")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locator_has_the_names_it_was_made_of() {
        let made = locator("D", "ä.txt").unwrap();
        assert_eq!(names(&made), Some(("D", "ä.txt")));
        assert_eq!(shown(&made), "bfilename('D', 'ä.txt')");
        assert_eq!(names(&locator("", "").unwrap()), Some(("", "")));
        assert!(locator(&"x".repeat(129), "f").unwrap_err().is(22285));
        assert!(locator("D", &"x".repeat(256)).unwrap_err().is(22285));
        for damaged in [&[][..], &[2, b'D'], &[1, 0xff, b'f'], &[0, 0xc3]] {
            assert_eq!(names(damaged), None);
        }
    }
}
