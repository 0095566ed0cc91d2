//! DBMS_LOB.
//!
//! Positions and amounts count characters of a CLOB and bytes of a BLOB. A procedure that changes a LOB changes the row
//! of its locator ([`World::write_lob`]), or the temporary LOB itself; the locator has the new content afterwards. A
//! text or bytes in a variable of a LOB type is a temporary LOB made by the assignment.

use super::args::Args;
use super::charset::Charset;
use super::lob_args::{amount, change, content, count, no_locator, place, source, start, wrong};
use super::lob_content::{byte_of, filler, part_of, splice, units};
use super::lob_files as files;
use super::package::*;
use crate::machine::scalar;
use crate::world::World;
use std::sync::Arc;
use types::{Lob, LobHome, Result};

package! {
    "DBMS_LOB",
    "package dbms_lob is
       lob_readonly constant binary_integer := 0; lob_readwrite constant binary_integer := 1;
       lobmaxsize constant integer := 18446744073709551615;
       call constant pls_integer := 12; session constant pls_integer := 10;
       default_csid constant integer := 0; default_lang_ctx constant integer := 0;
       no_warning constant integer := 0; warn_inconvertible_char constant integer := 1;
       file_readonly constant binary_integer := 0; transaction constant pls_integer := 11;
       opt_compress constant pls_integer := 1; opt_encrypt constant pls_integer := 2;
       opt_deduplicate constant pls_integer := 4; compress_off constant pls_integer := 0;
       compress_on constant pls_integer := 1; encrypt_off constant pls_integer := 0;
       encrypt_on constant pls_integer := 2; deduplicate_off constant pls_integer := 0;
       deduplicate_on constant pls_integer := 4;
       invalid_argval exception; pragma exception_init(invalid_argval, -21560);
       access_error exception; pragma exception_init(access_error, -22925);
       noexist_directory exception; pragma exception_init(noexist_directory, -22285);
       nopriv_directory exception; pragma exception_init(nopriv_directory, -22286);
       invalid_directory exception; pragma exception_init(invalid_directory, -22287);
       operation_failed exception; pragma exception_init(operation_failed, -22288);
       unopened_file exception; pragma exception_init(unopened_file, -22289);
       open_toomany exception; pragma exception_init(open_toomany, -22290);
       procedure append(dest_lob in out nocopy clob, src_lob clob);
       procedure append(dest_lob in out nocopy blob, src_lob blob);
       procedure close(lob_loc in out nocopy clob);
       procedure close(lob_loc in out nocopy blob);
       function compare(lob_1 clob, lob_2 clob, amount integer default 18446744073709551615,
         offset_1 integer default 1, offset_2 integer default 1) return integer;
       function compare(lob_1 blob, lob_2 blob, amount integer default 18446744073709551615,
         offset_1 integer default 1, offset_2 integer default 1) return integer;
       procedure copy(dest_lob in out nocopy clob, src_lob clob, amount integer, dest_offset integer default 1,
         src_offset integer default 1);
       procedure copy(dest_lob in out nocopy blob, src_lob blob, amount integer, dest_offset integer default 1,
         src_offset integer default 1);
       procedure createtemporary(lob_loc in out nocopy clob, cache boolean, dur pls_integer default 10);
       procedure createtemporary(lob_loc in out nocopy blob, cache boolean, dur pls_integer default 10);
       procedure erase(lob_loc in out nocopy clob, amount in out nocopy integer, offset integer default 1);
       procedure erase(lob_loc in out nocopy blob, amount in out nocopy integer, offset integer default 1);
       procedure freetemporary(lob_loc in out nocopy clob);
       procedure freetemporary(lob_loc in out nocopy blob);
       function getchunksize(lob_loc clob) return integer;
       function getchunksize(lob_loc blob) return integer;
       function getlength(lob_loc clob) return integer;
       function getlength(lob_loc blob) return integer;
       function instr(lob_loc clob, pattern varchar2, offset integer default 1, nth integer default 1) return integer;
       function instr(lob_loc blob, pattern raw, offset integer default 1, nth integer default 1) return integer;
       function isopen(lob_loc clob) return integer;
       function isopen(lob_loc blob) return integer;
       function istemporary(lob_loc clob) return integer;
       function istemporary(lob_loc blob) return integer;
       procedure open(lob_loc in out nocopy clob, open_mode binary_integer);
       procedure open(lob_loc in out nocopy blob, open_mode binary_integer);
       procedure read(lob_loc clob, amount in out nocopy integer, offset integer, buffer out varchar2);
       procedure read(lob_loc blob, amount in out nocopy integer, offset integer, buffer out raw);
       function substr(lob_loc clob, amount integer default 32767, offset integer default 1) return varchar2;
       function substr(lob_loc blob, amount integer default 32767, offset integer default 1) return raw;
       procedure trim(lob_loc in out nocopy clob, newlen integer);
       procedure trim(lob_loc in out nocopy blob, newlen integer);
       procedure write(lob_loc in out nocopy clob, amount integer, offset integer, buffer varchar2);
       procedure write(lob_loc in out nocopy blob, amount integer, offset integer, buffer raw);
       procedure writeappend(lob_loc in out nocopy clob, amount integer, buffer varchar2);
       procedure writeappend(lob_loc in out nocopy blob, amount integer, buffer raw);
       procedure converttoblob(dest_lob in out nocopy blob, src_clob clob, amount integer,
         dest_offset in out integer, src_offset in out integer, blob_csid number, lang_context in out integer,
         warning out integer);
       procedure converttoclob(dest_lob in out nocopy clob, src_blob blob, amount integer,
         dest_offset in out integer, src_offset in out integer, blob_csid number, lang_context in out integer,
         warning out integer);
       procedure loadfromfile(dest_lob in out nocopy clob, src_lob bfile, amount integer, dest_offset integer default 1,
         src_offset integer default 1);
       procedure loadfromfile(dest_lob in out nocopy blob, src_lob bfile, amount integer, dest_offset integer default 1,
         src_offset integer default 1);
       procedure loadblobfromfile(dest_lob in out nocopy blob, src_bfile bfile, amount integer,
         dest_offset in out integer, src_offset in out integer);
       procedure loadclobfromfile(dest_lob in out nocopy clob, src_bfile bfile, amount integer,
         dest_offset in out integer, src_offset in out integer, bfile_csid number, lang_context in out integer,
         warning out integer);
       procedure fileopen(file_loc in out nocopy bfile, open_mode binary_integer default 0);
       procedure fileclose(file_loc in out nocopy bfile);
       procedure filecloseall;
       function fileexists(file_loc bfile) return integer;
       function fileisopen(file_loc bfile) return integer;
       procedure filegetname(file_loc bfile, dir_alias out varchar2, filename out varchar2);
       procedure open(file_loc in out nocopy bfile, open_mode binary_integer default 0);
       procedure close(file_loc in out nocopy bfile);
       function isopen(file_loc bfile) return integer;
       function getlength(file_loc bfile) return integer;
       procedure read(file_loc bfile, amount in out nocopy integer, offset integer, buffer out raw);
       function substr(file_loc bfile, amount integer default 32767, offset integer default 1) return raw;
       function instr(file_loc bfile, pattern raw, offset integer default 1, nth integer default 1) return integer;
       function compare(file_1 bfile, file_2 bfile, amount integer, offset_1 integer default 1,
         offset_2 integer default 1) return integer;
       function get_storage_limit(lob_loc clob) return integer;
       function get_storage_limit(lob_loc blob) return integer;
       function issecurefile(lob_loc clob) return boolean;
       function issecurefile(lob_loc blob) return boolean;
       function getoptions(lob_loc clob, option_types pls_integer) return pls_integer;
       function getoptions(lob_loc blob, option_types pls_integer) return pls_integer;
       procedure setoptions(lob_loc in out nocopy clob, option_types pls_integer, options pls_integer);
       procedure setoptions(lob_loc in out nocopy blob, option_types pls_integer, options pls_integer);
       function getcontenttype(lob_loc clob) return varchar2;
       function getcontenttype(lob_loc blob) return varchar2;
       procedure setcontenttype(lob_loc in out nocopy clob, contenttype varchar2);
       procedure setcontenttype(lob_loc in out nocopy blob, contenttype varchar2);
       procedure fragment_delete(lob_loc in out nocopy clob, amount integer, offset integer);
       procedure fragment_delete(lob_loc in out nocopy blob, amount integer, offset integer);
       procedure fragment_insert(lob_loc in out nocopy clob, amount integer, offset integer, buffer varchar2);
       procedure fragment_insert(lob_loc in out nocopy blob, amount integer, offset integer, buffer raw);
       procedure fragment_move(lob_loc in out nocopy clob, amount integer, src_offset integer, dest_offset integer);
       procedure fragment_move(lob_loc in out nocopy blob, amount integer, src_offset integer, dest_offset integer);
       procedure fragment_replace(lob_loc in out nocopy clob, old_amount integer, new_amount integer, offset integer,
         buffer varchar2);
       procedure fragment_replace(lob_loc in out nocopy blob, old_amount integer, new_amount integer, offset integer,
         buffer raw);
     end;";
    "APPEND" 1 => |c| run("APPEND", false, c),
    "APPEND" 2 => |c| run("APPEND", true, c),
    "CLOSE" 1 => |c| run("CLOSE", false, c),
    "CLOSE" 2 => |c| run("CLOSE", true, c),
    "COMPARE" 1 => |c| run("COMPARE", false, c),
    "COMPARE" 2 => |c| run("COMPARE", true, c),
    "COPY" 1 => |c| run("COPY", false, c),
    "COPY" 2 => |c| run("COPY", true, c),
    "CREATETEMPORARY" 1 => |c| run("CREATETEMPORARY", false, c),
    "CREATETEMPORARY" 2 => |c| run("CREATETEMPORARY", true, c),
    "ERASE" 1 => |c| run("ERASE", false, c),
    "ERASE" 2 => |c| run("ERASE", true, c),
    "FREETEMPORARY" 1 => |c| run("FREETEMPORARY", false, c),
    "FREETEMPORARY" 2 => |c| run("FREETEMPORARY", true, c),
    "GETCHUNKSIZE" 1 => |c| run("GETCHUNKSIZE", false, c),
    "GETCHUNKSIZE" 2 => |c| run("GETCHUNKSIZE", true, c),
    "GETLENGTH" 1 => |c| run("GETLENGTH", false, c),
    "GETLENGTH" 2 => |c| run("GETLENGTH", true, c),
    "INSTR" 1 => |c| run("INSTR", false, c),
    "INSTR" 2 => |c| run("INSTR", true, c),
    "ISOPEN" 1 => |c| run("ISOPEN", false, c),
    "ISOPEN" 2 => |c| run("ISOPEN", true, c),
    "ISTEMPORARY" 1 => |c| run("ISTEMPORARY", false, c),
    "ISTEMPORARY" 2 => |c| run("ISTEMPORARY", true, c),
    "OPEN" 1 => |c| run("OPEN", false, c),
    "OPEN" 2 => |c| run("OPEN", true, c),
    "READ" 1 => |c| run("READ", false, c),
    "READ" 2 => |c| run("READ", true, c),
    "SUBSTR" 1 => |c| run("SUBSTR", false, c),
    "SUBSTR" 2 => |c| run("SUBSTR", true, c),
    "TRIM" 1 => |c| run("TRIM", false, c),
    "TRIM" 2 => |c| run("TRIM", true, c),
    "WRITE" 1 => |c| run("WRITE", false, c),
    "WRITE" 2 => |c| run("WRITE", true, c),
    "WRITEAPPEND" 1 => |c| run("WRITEAPPEND", false, c),
    "WRITEAPPEND" 2 => |c| run("WRITEAPPEND", true, c),
    "CONVERTTOBLOB" 1 => |c| run("CONVERTTOBLOB", false, c),
    "CONVERTTOCLOB" 1 => |c| run("CONVERTTOCLOB", false, c),
    "LOADFROMFILE" 1 => |c| files::load(c, false),
    "LOADFROMFILE" 2 => |c| files::load(c, true),
    "LOADBLOBFROMFILE" 1 => files::load_blob,
    "LOADCLOBFROMFILE" 1 => files::load_clob,
    "FILEOPEN" 1 => files::open,
    "FILECLOSE" 1 => |c| files::close(c, "FILECLOSE"),
    "FILECLOSEALL" 1 => files::close_all,
    "FILEEXISTS" 1 => files::exists,
    "FILEISOPEN" 1 => files::is_open,
    "FILEGETNAME" 1 => files::get_name,
    "OPEN" 3 => files::open,
    "CLOSE" 3 => |c| files::close(c, "FILECLOSE"),
    "ISOPEN" 3 => files::is_open,
    "GETLENGTH" 3 => files::get_length,
    "READ" 3 => files::read,
    "SUBSTR" 3 => files::substr,
    "INSTR" 3 => files::instr,
    "COMPARE" 3 => files::compare,
    "GET_STORAGE_LIMIT" 1 => storage_limit,
    "GET_STORAGE_LIMIT" 2 => storage_limit,
    "ISSECUREFILE" 1 => is_securefile,
    "ISSECUREFILE" 2 => is_securefile,
    "GETOPTIONS" 1 => of_securefiles,
    "GETOPTIONS" 2 => of_securefiles,
    "SETOPTIONS" 1 => of_securefiles,
    "SETOPTIONS" 2 => of_securefiles,
    "GETCONTENTTYPE" 1 => of_securefiles,
    "GETCONTENTTYPE" 2 => of_securefiles,
    "SETCONTENTTYPE" 1 => of_securefiles,
    "SETCONTENTTYPE" 2 => of_securefiles,
    "FRAGMENT_DELETE" 1 => of_securefiles,
    "FRAGMENT_DELETE" 2 => of_securefiles,
    "FRAGMENT_INSERT" 1 => of_securefiles,
    "FRAGMENT_INSERT" 2 => of_securefiles,
    "FRAGMENT_MOVE" 1 => of_securefiles,
    "FRAGMENT_MOVE" 2 => of_securefiles,
    "FRAGMENT_REPLACE" 1 => of_securefiles,
    "FRAGMENT_REPLACE" 2 => of_securefiles,
}

/// The most that one call reads or writes.
const BUFFER_MAX: usize = 32_767;
/// The result of GETCHUNKSIZE: the usable bytes of an Oracle block of 8 KB.
const CHUNK_BYTES: i64 = 8132;

/// GET_STORAGE_LIMIT: the most bytes of a LOB.
fn storage_limit<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    source(&c.a, 0)?;
    Ok(count(functions::LOB_MAX))
}

/// ISSECUREFILE. LOBs are stored in their rows.
fn is_securefile<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    source(&c.a, 0)?;
    Ok(Value::Boolean(false))
}

/// The subprograms for SecureFiles only.
fn of_securefiles<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    source(&c.a, 0)?;
    Err(Ora::new(43856).into())
}

/// Runs a subprogram for a CLOB, or for a BLOB; OUT arguments are changed in place.
fn run<W: World>(name: &str, binary: bool, c: &mut Call<'_, W>) -> Run<Value> {
    let (w, a) = (&mut *c.w, &mut c.a);
    match name {
        "APPEND" => {
            let source = source(a, 1)?.clone();
            let edit = &mut |content: &mut Value| splice(content, binary, None, 0, &source);
            change(w, a, binary, edit)?;
        }
        "WRITEAPPEND" => {
            let part = buffer(a, (1, 2), binary)?;
            change(w, a, binary, &mut |content| splice(content, binary, None, 0, &part))?;
        }
        "WRITE" => {
            let at = place(a, 2)?;
            let part = buffer(a, (1, 3), binary)?;
            let cut = units(&part);
            change(w, a, binary, &mut |content| splice(content, binary, Some(at), cut, &part))?;
        }
        "COPY" => {
            let (amount, to, from) = (amount(a, 2)?, place(a, 3)?, place(a, 4)?);
            let source = source(a, 1)?;
            if from >= units(source) {
                return Err(Ora::new(22994).into());
            }
            let part = part_of(source, from, amount);
            let cut = units(&part);
            change(w, a, binary, &mut |content| splice(content, binary, Some(to), cut, &part))?;
        }
        "ERASE" => {
            let (amount, from) = (amount(a, 1)?, place(a, 2)?);
            let mut erased = 0;
            change(w, a, binary, &mut |content| {
                erased = amount.min(units(content).saturating_sub(from));
                let blank = filler(binary, erased);
                if erased > 0 { splice(content, binary, Some(from), erased, &blank) } else { Ok(()) }
            })?;
            a.set(1, count(erased));
        }
        "TRIM" => {
            let length = a.integer(1).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| wrong(2))?;
            change(w, a, binary, &mut |content| {
                if length > units(content) {
                    return Err(Ora::new(22926));
                }
                *content = part_of(content, 0, length);
                Ok(())
            })?;
        }
        "CREATETEMPORARY" => a.set(0, temporary(Value::EmptyLob, binary)),
        "FREETEMPORARY" => match a.take(0) {
            Value::Null => return Err(no_locator().into()),
            Value::Lob(lob) if lob.home != LobHome::Temporary => {
                a.set(0, Value::Lob(lob));
                return Err(Ora::new(22275).into());
            }
            _ => a.set(0, Value::Lob(Arc::new(Lob { content: Value::Null, binary, home: LobHome::Freed, open: None }))),
        },
        "OPEN" => {
            let writes = match a.integer(1) {
                Some(0) => false,
                Some(1) => true,
                _ => return Err(wrong(2).into()),
            };
            with_lob(a, binary, |lob| match lob.open.replace(writes) {
                None => Ok(()),
                before => {
                    lob.open = before;
                    Err(Ora::new(22293))
                }
            })?;
        }
        "CLOSE" => with_lob(a, binary, |lob| match lob.open.take() {
            Some(_) => Ok(()),
            None => Err(Ora::with(22289, &[&"CLOSE"])),
        })?,
        "ISOPEN" => {
            return Ok(match a.value(0) {
                Value::Null => Value::Null,
                Value::Lob(lob) => count(usize::from(lob.open.is_some())),
                _ => count(0),
            });
        }
        "ISTEMPORARY" => {
            return Ok(match a.value(0) {
                Value::Null => Value::Null,
                Value::Lob(lob) => count(usize::from(lob.home == LobHome::Temporary)),
                Value::EmptyLob => number(0),
                _ => count(1),
            });
        }
        "GETCHUNKSIZE" => {
            return Ok(match a.value(0) {
                Value::Null => Value::Null,
                _ => Value::Number(Number::from_i64(CHUNK_BYTES)),
            });
        }
        "GETLENGTH" => return Ok(content(a, 0)?.map_or(Value::Null, |lob| count(units(lob)))),
        "SUBSTR" => {
            let amount = if a.is_given(1) { amount(a, 1) } else { Ok(BUFFER_MAX) };
            let (Some(lob), Ok(amount), Ok(from)) = (content(a, 0)?, amount, start(a, 2)) else {
                return Ok(Value::Null);
            };
            if amount > BUFFER_MAX {
                return Ok(Value::Null);
            }
            let part = part_of(lob, from, amount);
            if matches!(&part, Value::Text(text) if text.len() > BUFFER_MAX) {
                return Err(scalar::value_error("character string buffer too small").into());
            }
            return Ok(if part == Value::EmptyLob { Value::Null } else { part });
        }
        "INSTR" => return Ok(instr(a)?.map_or(Value::Null, count)),
        "COMPARE" => return Ok(compare(a)?.map_or(Value::Null, |order| Value::Number(Number::from_i64(order)))),
        "READ" => {
            let (amount, from) = (amount(a, 1)?, place(a, 2)?);
            if amount > BUFFER_MAX {
                return Err(wrong(2).into());
            }
            let part = part_of(source(a, 0)?, from, amount);
            if part == Value::EmptyLob {
                return Err(Ora::new(1403).into());
            }
            a.set(1, count(units(&part)));
            a.set(3, part);
        }
        "CONVERTTOBLOB" => {
            let (amount, to, from) = (amount(a, 2)?, place(a, 3)?, place(a, 4)?);
            let charset = Charset::of(a, 5)?;
            let part = part_of(source(a, 1)?, from, amount);
            let Value::Text(text) = &part else { return Err(Ora::new(22994).into()) };
            let (bytes, lossy) = charset.encode(text);
            let (read, written) = (text.chars().count(), bytes.len());
            let bytes = Value::Raw(bytes);
            change(w, a, true, &mut |content| splice(content, true, Some(to), written, &bytes))?;
            converted(a, to + written, from + read, lossy);
        }
        _ => {
            let (amount, to, from) = (amount(a, 2)?, place(a, 3)?, place(a, 4)?);
            let charset = Charset::of(a, 5)?;
            let part = part_of(source(a, 1)?, from, amount);
            let Value::Raw(bytes) = &part else { return Err(Ora::new(22994).into()) };
            let (text, lossy) = charset.decode(bytes);
            let (read, written) = (bytes.len(), text.chars().count());
            let text = Value::Text(text);
            change(w, a, false, &mut |content| splice(content, false, Some(to), written, &text))?;
            converted(a, to + written, from + read, lossy);
        }
    }
    Ok(Value::Null)
}

fn temporary(content: Value, binary: bool) -> Value {
    Value::Lob(Arc::new(Lob::temporary(content, binary)))
}

/// The first `amount` units of a buffer, which must have as many.
fn buffer(a: &Args<'_>, (amount_at, at): (usize, usize), binary: bool) -> Result<Value> {
    let wanted = amount(a, amount_at)?;
    let value = a.value(at).content();
    let fits = matches!((value, binary), (Value::Text(_), false) | (Value::Raw(_), true));
    if !fits || wanted > units(value) {
        return Err(wrong(amount_at as u32 + 1));
    }
    Ok(part_of(value, 0, wanted))
}

/// Changes the session's state of the LOB in the first argument.
fn with_lob(a: &mut Args<'_>, binary: bool, f: impl FnOnce(&mut Lob) -> Result<()>) -> Result<()> {
    let mut value = a.take(0);
    if matches!(value, Value::Text(_) | Value::Raw(_)) {
        value = temporary(value, binary);
    }
    let result = match &mut value {
        Value::Null => Err(no_locator()),
        Value::Lob(lob) if lob.home != LobHome::Freed => f(Arc::make_mut(lob)),
        _ => Err(Ora::new(22275)),
    };
    a.set(0, value);
    result
}

/// INSTR; `None` for NULL and invalid positions.
fn instr(a: &Args<'_>) -> Result<Option<usize>> {
    let nth = if a.is_given(3) { amount(a, 3) } else { Ok(1) };
    let (Some(lob), Ok(from), Ok(nth)) = (content(a, 0)?, start(a, 2), nth) else { return Ok(None) };
    Ok(match (lob, a.value(1).content()) {
        (_, Value::Null | Value::EmptyLob) => None,
        (Value::Text(_), Value::Text(pattern)) if pattern.is_empty() => None,
        (Value::Raw(_), Value::Raw(pattern)) if pattern.is_empty() => None,
        (Value::Text(text), Value::Text(pattern)) => {
            let (begin, missing) = byte_of(text, from);
            let mut found = (begin, if missing > 0 { None } else { text[begin..].find(pattern.as_str()) });
            for _ in 1..nth {
                let Some(at) = found.1 else { break };
                let first = text[found.0 + at..].chars().next().map_or(1, char::len_utf8);
                let next = found.0 + at + first;
                found = (next, text[next..].find(pattern.as_str()));
            }
            Some(found.1.map_or(0, |at| text[..found.0 + at].chars().count() + 1))
        }
        (Value::Raw(bytes), Value::Raw(pattern)) => {
            let rest = bytes.get(from..).unwrap_or_default();
            let mut places = rest.windows(pattern.len()).enumerate().filter(|(_, part)| part == pattern);
            Some(places.nth(nth - 1).map_or(0, |(at, _)| from + at + 1))
        }
        _ => Some(0),
    })
}

/// COMPARE: 0 for equal parts; `None` for NULL and invalid positions.
fn compare(a: &Args<'_>) -> Result<Option<i64>> {
    let (Some(x), Some(y)) = (content(a, 0)?, content(a, 1)?) else { return Ok(None) };
    let amount = if a.is_given(2) { amount(a, 2) } else { Ok(usize::MAX) };
    let (Ok(amount), Ok(from), Ok(other)) = (amount, start(a, 3), start(a, 4)) else { return Ok(None) };
    let order = match (x, y) {
        (Value::Text(_) | Value::EmptyLob, Value::Text(_) | Value::EmptyLob) => {
            let (x, y) = (part_of(x, from, amount), part_of(y, other, amount));
            let text = |v: &Value| if let Value::Text(text) = v { text.clone() } else { String::new() };
            text(&x).cmp(&text(&y))
        }
        _ => {
            let (x, y) = (part_of(x, from, amount), part_of(y, other, amount));
            let bytes = |v: &Value| if let Value::Raw(bytes) = v { bytes.clone() } else { Vec::new() };
            bytes(&x).cmp(&bytes(&y))
        }
    };
    Ok(Some(order as i64))
}

/// Sets the OUT arguments of a conversion: the next offsets, and the warning about lost characters.
fn converted(a: &mut Args<'_>, to: usize, from: usize, lossy: bool) {
    a.set(3, count(to + 1));
    a.set(4, count(from + 1));
    a.set(7, count(usize::from(lossy)));
}
