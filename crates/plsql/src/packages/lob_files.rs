//! The subprograms of DBMS_LOB for BFILEs.
//!
//! A file is opened with the rights of the user in force, by the rules of UTL_FILE. It stays open for the session,
//! under the names in its locator, until it is closed, for the user who opened it: a procedure with the rights of its
//! owner gives its caller no file that the caller may not open.

use super::charset::Charset;
use super::directories::{Refused, find};
use super::lob_args::{amount, change, count, no_locator, place, start, wrong};
use super::lob_content::splice;
use super::package::*;
use crate::state::Plsql;
use crate::world::World;
use os::user_files::Access;
use std::collections::HashMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use types::{Result, bfile};

/// The most files that a session may have open; Oracle's `session_max_open_files` is 10.
const FILES_MAX: usize = 10;
/// The most that READ and SUBSTR return.
const BUFFER_MAX: usize = 32_767;
/// Bytes read at once when a file is searched or compared.
const PART: usize = 256 * 1024;

/// The open files of a session, by the user in force when they were opened and by locator.
#[derive(Default)]
struct Files {
    open: HashMap<Key, File>,
}

type Key = (String, Vec<u8>);

/// The key of a file that the user in force opens or has opened.
fn key<W: World>(w: &mut W, locator: Vec<u8>) -> Result<Key> {
    match super::sql_cursors::current_user(w)? {
        Value::Text(user) => Ok((user, locator)),
        _ => Err(Ora::internal("no current user")),
    }
}

fn failed(operation: &str, e: &std::io::Error) -> Ora {
    let detail = match e.kind() {
        ErrorKind::NotFound => "No such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "Permission denied".to_owned(),
        ErrorKind::InvalidInput => "The file is not a regular file of the directory".to_owned(),
        _ => "The file cannot be read".to_owned(),
    };
    Ora::with(22288, &[&operation, &detail])
}

/// The locator in an argument.
fn locator(a: &Args<'_>, at: usize) -> Result<Vec<u8>> {
    match a.value(at) {
        Value::Null => Err(no_locator()),
        Value::Raw(bytes) if bfile::names(bytes).is_some() => Ok(bytes.clone()),
        _ => Err(Ora::new(22275)),
    }
}

/// Opens the file of a locator.
///
/// # Errors
/// ORA-22285, ORA-22286, ORA-22288.
fn opened<W: World>(w: &mut W, locator: &[u8], operation: &str) -> Result<File> {
    let (directory, name) = bfile::names(locator).ok_or_else(|| Ora::new(22275))?;
    let directory = find(w, directory, "READ").map_err(|e| match e {
        Refused::Unknown => Ora::with(22285, &[&operation]),
        Refused::Denied => Ora::with(22286, &[&operation]),
        Refused::System(e) => failed(operation, &e),
        Refused::Own(e) => e,
    })?;
    directory.file(name, Access::Read).map_err(|e| failed(operation, &e))
}

/// Applies `f` to the open file in an argument.
///
/// # Errors
/// ORA-22289 for a file that is not open.
fn with<W: World, R>(c: &mut Call<'_, W>, at: usize, f: impl FnOnce(&File) -> Result<R>) -> Result<R> {
    let key = key(c.w, locator(&c.a, at)?)?;
    with_open::<W, R>(c.s, &key, f)
}

fn with_open<W: World, R>(s: &Plsql<W::Cursor>, key: &Key, f: impl FnOnce(&File) -> Result<R>) -> Result<R> {
    s.with_own(|files: &mut Files| match files.open.get(key) {
        Some(file) => f(file),
        None => Err(Ora::with(22289, &[&"FILEREAD"])),
    })
}

fn length_of(file: &File, operation: &str) -> Result<u64> {
    file.metadata().map(|data| data.len()).map_err(|e| failed(operation, &e))
}

/// Up to `most` bytes from a position on.
fn part(file: &File, from: u64, most: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut done = 0;
    while done < most {
        match file.read_at(&mut bytes[done..], from.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // Positions beyond the largest one of the operating system.
            Err(e) if e.kind() == ErrorKind::InvalidInput => break,
            Err(e) => return Err(failed("FILEREAD", &e)),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

pub(super) fn open<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    if c.a.is_given(1) && c.a.integer(1) != Some(0) {
        return Err(wrong(2).into());
    }
    let locator = locator(&c.a, 0)?;
    let key = key(c.w, locator.clone())?;
    let is_full = c.s.with_own(|files: &mut Files| files.open.len() >= FILES_MAX && !files.open.contains_key(&key));
    if is_full {
        return Err(Ora::new(22290).into());
    }
    let file = opened(c.w, &locator, "FILEOPEN")?;
    c.s.with_own(|files: &mut Files| files.open.insert(key, file));
    Ok(())
}

pub(super) fn close<W: World>(c: &mut Call<'_, W>, operation: &str) -> Run<()> {
    let key = key(c.w, locator(&c.a, 0)?)?;
    match c.s.with_own(|files: &mut Files| files.open.remove(&key)) {
        Some(_) => Ok(()),
        None => Err(Ora::with(22289, &[&operation]).into()),
    }
}

pub(super) fn close_all<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.s.with_own(|files: &mut Files| files.open.clear());
    Ok(())
}

pub(super) fn is_open<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let key = key(c.w, locator(&c.a, 0)?)?;
    Ok(count(usize::from(c.s.with_own(|files: &mut Files| files.open.contains_key(&key)))))
}

pub(super) fn exists<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let locator = locator(&c.a, 0)?;
    match opened(c.w, &locator, "FILEEXISTS") {
        Ok(_) => Ok(count(1)),
        Err(e) if e.is(22288) => Ok(count(0)),
        Err(e) => Err(e.into()),
    }
}

pub(super) fn get_name<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let locator = locator(&c.a, 0)?;
    let (directory, file) = bfile::names(&locator).unwrap_or_default();
    c.a.set(1, Value::text(directory));
    c.a.set(2, Value::text(file));
    Ok(())
}

/// GETLENGTH; the file need not be open.
pub(super) fn get_length<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    if c.a.value(0).is_null() {
        return Ok(Value::Null);
    }
    let locator = locator(&c.a, 0)?;
    let key = key(c.w, locator.clone())?;
    let known = c.s.with_own(|files: &mut Files| files.open.get(&key).map(|file| length_of(file, "GETLENGTH")));
    let length = match known {
        Some(length) => length?,
        None => length_of(&opened(c.w, &locator, "GETLENGTH")?, "GETLENGTH")?,
    };
    Ok(Value::Number(Number::from_u64(length)))
}

pub(super) fn read<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (amount, from) = (amount(&c.a, 1)?, place(&c.a, 2)?);
    if amount > BUFFER_MAX {
        return Err(wrong(2).into());
    }
    let bytes = with(c, 0, |file| part(file, from as u64, amount))?;
    if bytes.is_empty() {
        return Err(Ora::new(1403).into());
    }
    c.a.set(1, count(bytes.len()));
    c.a.set(3, Value::Raw(bytes));
    Ok(())
}

pub(super) fn substr<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let most = if c.a.is_given(1) { amount(&c.a, 1) } else { Ok(BUFFER_MAX) };
    let (Ok(most), Ok(from), false) = (most, start(&c.a, 2), c.a.value(0).is_null()) else { return Ok(Value::Null) };
    if most > BUFFER_MAX {
        return Ok(Value::Null);
    }
    Ok(Value::raw(with(c, 0, |file| part(file, from as u64, most))?))
}

pub(super) fn instr<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let nth = if c.a.is_given(3) { amount(&c.a, 3) } else { Ok(1) };
    let (Ok(from), Ok(nth), false) = (start(&c.a, 2), nth, c.a.value(0).is_null()) else { return Ok(Value::Null) };
    let pattern = match c.a.value(1) {
        Value::Raw(pattern) if !pattern.is_empty() => pattern.clone(),
        _ => return Ok(Value::Null),
    };
    let key = key(c.w, locator(&c.a, 0)?)?;
    let Call { s, w, m: _, a: _ } = c;
    let found = with_open::<W, _>(s, &key, |file| find_in(file, &pattern, from as u64, nth, &mut || w.check_cancel()))?;
    Ok(Value::Number(Number::from_u64(found)))
}

/// The position from 1 of an occurrence of a pattern; 0 if there are not as many.
fn find_in(
    file: &File,
    pattern: &[u8],
    mut from: u64,
    mut nth: usize,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<u64> {
    loop {
        check()?;
        // Parts overlap by a pattern less one byte, so that each occurrence lies in exactly one part.
        let bytes = part(file, from, PART + pattern.len() - 1)?;
        for (at, _) in bytes.windows(pattern.len()).enumerate().filter(|(_, have)| *have == pattern) {
            nth -= 1;
            if nth == 0 {
                return Ok(from + at as u64 + 1);
            }
        }
        if bytes.len() < PART + pattern.len() - 1 {
            return Ok(0);
        }
        from += PART as u64;
    }
}

pub(super) fn compare<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    if c.a.value(0).is_null() || c.a.value(1).is_null() {
        return Ok(Value::Null);
    }
    let (Ok(amount), Ok(from), Ok(other)) = (amount(&c.a, 2), start(&c.a, 3), start(&c.a, 4)) else {
        return Ok(Value::Null);
    };
    let (mut left, mut done) = (amount, 0_u64);
    while left > 0 {
        c.w.check_cancel()?;
        let most = left.min(PART);
        let x = with(c, 0, |file| part(file, (from as u64).saturating_add(done), most))?;
        let y = with(c, 1, |file| part(file, (other as u64).saturating_add(done), most))?;
        match x.cmp(&y) {
            std::cmp::Ordering::Equal if x.len() == most => {}
            order => return Ok(number(order as i64)),
        }
        left -= most;
        done += most as u64;
    }
    Ok(count(0))
}

/// The bytes that LOADFROMFILE and its kin copy: `amount` from a position on, or all for LOBMAXSIZE.
///
/// # Errors
/// ORA-22994 for a position beyond the end, ORA-22993 for more bytes than there are, ORA-06502 for more than a LOB has.
fn loaded<W: World>(c: &mut Call<'_, W>, from: usize) -> Result<Vec<u8>> {
    /// LOBMAXSIZE is greater than every `i64`, so that [`amount`] returns this.
    const ALL: usize = usize::MAX;
    let wanted = amount(&c.a, 2)?;
    with(c, 1, |file| {
        let length = length_of(file, "LOADFROMFILE")?;
        let rest = length.checked_sub(from as u64).filter(|rest| *rest > 0).ok_or_else(|| Ora::new(22994))?;
        if wanted != ALL && wanted as u64 > rest {
            return Err(Ora::new(22993));
        }
        let most = rest.min(wanted as u64);
        if most > functions::LOB_MAX as u64 {
            return Err(scalar::value_error("LOB is longer than 32 megabytes"));
        }
        part(file, from as u64, most as usize)
    })
}

/// LOADFROMFILE. The bytes for a CLOB are UTF-16, as in Oracle's databases with characters of several bytes.
pub(super) fn load<W: World>(c: &mut Call<'_, W>, binary: bool) -> Run<()> {
    let (to, from) = (start(&c.a, 3)?, start(&c.a, 4)?);
    let bytes = loaded(c, from)?;
    put(
        c,
        to,
        if binary { Value::Raw(bytes) } else { Value::Text(Charset::Utf16 { little: false }.decode(&bytes).0) },
    )?;
    Ok(())
}

pub(super) fn load_blob<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (to, from) = (place(&c.a, 3)?, place(&c.a, 4)?);
    let bytes = loaded(c, from)?;
    let read = bytes.len();
    put(c, to, Value::Raw(bytes))?;
    c.a.set(3, count(to + read + 1));
    c.a.set(4, count(from + read + 1));
    Ok(())
}

pub(super) fn load_clob<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (to, from) = (place(&c.a, 3)?, place(&c.a, 4)?);
    let charset = Charset::of(&c.a, 5)?;
    let bytes = loaded(c, from)?;
    let (text, lossy) = charset.decode(&bytes);
    let written = text.chars().count();
    put(c, to, Value::Text(text))?;
    c.a.set(3, count(to + written + 1));
    c.a.set(4, count(from + bytes.len() + 1));
    c.a.set(7, count(usize::from(lossy)));
    Ok(())
}

/// Writes a part to the LOB in the first argument.
fn put<W: World>(c: &mut Call<'_, W>, at: usize, part: Value) -> Result<()> {
    let (binary, cut) = (matches!(part, Value::Raw(_)), super::lob_content::units(&part));
    change(c.w, &mut c.a, binary, &mut |content| splice(content, binary, Some(at), cut, &part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn occurrences_that_span_two_parts_are_found_once() {
        let path = std::env::temp_dir().join(format!("lob_files_{}", std::process::id()));
        let mut content = vec![b'x'; PART - 2];
        content.extend_from_slice(b"abcabc");
        content.resize(2 * PART, b'x');
        content.extend_from_slice(b"abc");
        File::create(&path).unwrap().write_all(&content).unwrap();
        let file = File::open(&path).unwrap();
        let find = |from, nth| find_in(&file, b"abc", from, nth, &mut || Ok(())).unwrap();
        assert_eq!(find(0, 1), PART as u64 - 1);
        assert_eq!(find(0, 2), PART as u64 + 2);
        assert_eq!(find(PART as u64, 1), PART as u64 + 2);
        assert_eq!(find(0, 3), 2 * PART as u64 + 1);
        assert_eq!(find(0, 4), 0);
        assert_eq!(find(u64::MAX, 1), 0);
        assert_eq!(part(&file, 2 * PART as u64 + 1, 9).unwrap(), b"bc");
        std::fs::remove_file(&path).unwrap();
    }
}
