//! UTL_FILE.
//!
//! A location is a directory object on which the user has READ or WRITE, and its path is in one of the directories of
//! the parameter `utl_file_dir`. Buffers of writers are written at FFLUSH, FCLOSE and the end of the session.

use super::directories::{Refused, find};
use super::package::*;
use crate::datum::Rec;
use crate::world::World;
use os::user_files::{Access, Directory};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::rc::Rc;
use types::Result;

package! {
    "UTL_FILE",
    "package utl_file is
       type file_type is record (id binary_integer, datatype binary_integer, byte_mode boolean);
       invalid_path exception; pragma exception_init(invalid_path, -29280);
       invalid_mode exception; pragma exception_init(invalid_mode, -29281);
       invalid_filehandle exception; pragma exception_init(invalid_filehandle, -29282);
       invalid_operation exception; pragma exception_init(invalid_operation, -29283);
       read_error exception; pragma exception_init(read_error, -29284);
       write_error exception; pragma exception_init(write_error, -29285);
       internal_error exception; pragma exception_init(internal_error, -29286);
       invalid_maxlinesize exception; pragma exception_init(invalid_maxlinesize, -29287);
       invalid_filename exception; pragma exception_init(invalid_filename, -29288);
       access_denied exception; pragma exception_init(access_denied, -29289);
       invalid_offset exception; pragma exception_init(invalid_offset, -29290);
       delete_failed exception; pragma exception_init(delete_failed, -29291);
       rename_failed exception; pragma exception_init(rename_failed, -29292);
       function fopen(location varchar2, filename varchar2, open_mode varchar2, max_linesize binary_integer default null)
         return file_type;
       function is_open(file file_type) return boolean;
       procedure fclose(file in out file_type);
       procedure fclose_all;
       procedure get_line(file file_type, buffer out varchar2, len binary_integer default null);
       procedure get_raw(file file_type, buffer out raw, len binary_integer default null);
       procedure put(file file_type, buffer varchar2);
       procedure new_line(file file_type, lines natural := 1);
       procedure put_line(file file_type, buffer varchar2, autoflush boolean default false);
       procedure put_raw(file file_type, buffer raw, autoflush boolean default false);
       procedure putf(file file_type, format varchar2, arg1 varchar2 default null, arg2 varchar2 default null,
         arg3 varchar2 default null, arg4 varchar2 default null, arg5 varchar2 default null);
       procedure fflush(file file_type);
       procedure fseek(file in out file_type, absolute_offset binary_integer default null,
         relative_offset binary_integer default null);
       function fgetpos(file file_type) return binary_integer;
       procedure fremove(location varchar2, filename varchar2);
       procedure fcopy(src_location varchar2, src_filename varchar2, dest_location varchar2, dest_filename varchar2,
         start_line binary_integer default 1, end_line binary_integer default null);
       procedure fgetattr(location varchar2, filename varchar2, fexists out boolean, file_length out number,
         block_size out binary_integer);
       procedure frename(src_location varchar2, src_filename varchar2, dest_location varchar2, dest_filename varchar2,
         overwrite boolean default false);
     end;";
    "FOPEN" 1 => fopen, "IS_OPEN" 1 => is_open, "FCLOSE" 1 => fclose, "FCLOSE_ALL" 1 => fclose_all,
    "GET_LINE" 1 => get_line, "GET_RAW" 1 => get_raw, "PUT" 1 => put, "NEW_LINE" 1 => new_line,
    "PUT_LINE" 1 => put_line, "PUT_RAW" 1 => put_raw, "PUTF" 1 => putf, "FFLUSH" 1 => fflush, "FSEEK" 1 => fseek,
    "FGETPOS" 1 => fgetpos, "FREMOVE" 1 => fremove, "FCOPY" 1 => fcopy, "FGETATTR" 1 => fgetattr,
    "FRENAME" 1 => frename,
}

/// Largest number of open files of a session.
const FILES_MAX: usize = 50;
/// Largest MAX_LINESIZE, and its default.
const LINE_MAX: i64 = 32_767;
const LINE_DEFAULT: i64 = 1024;

enum Stream {
    Reader(BufReader<File>),
    Writer(BufWriter<File>),
}

struct Open {
    stream: Stream,
    is_binary: bool,
    line_max: usize,
    /// Bytes of the line that is being written.
    line_bytes: usize,
}

/// The open files of a session, by number.
#[derive(Default)]
struct Files {
    open: HashMap<i64, Open>,
}

fn invalid_operation(detail: &str) -> Ora {
    Ora::with(29283, &[&detail])
}

/// The error of an operation on a name in a directory.
fn opening(e: &std::io::Error) -> Ora {
    match e.kind() {
        ErrorKind::InvalidInput => Ora::new(29288),
        ErrorKind::NotFound => invalid_operation(": nonexistent file or path [29434]"),
        _ => invalid_operation(": cannot open file [29435]"),
    }
}

/// The directory of a location, for the user in force.
///
/// # Errors
/// ORA-29280 for an unknown directory object, ORA-29289 without the privilege or outside `utl_file_dir`.
fn directory<W: World>(w: &mut W, location: &str, privilege: &str) -> Result<Directory> {
    find(w, location, privilege).map_err(|e| match e {
        Refused::Unknown => Ora::new(29280),
        Refused::Denied => Ora::new(29289),
        Refused::System(e) => opening(&e),
        Refused::Own(e) => e,
    })
}

/// The number of the file in an argument.
fn number_of(a: &Args<'_>, at: usize) -> Option<i64> {
    match a.datum(at) {
        Some(Datum::Rec(file)) => match file.scalars.first() {
            Some(Value::Number(n)) => n.as_i64(),
            _ => None,
        },
        _ => None,
    }
}

/// Applies `f` to the file in the first argument.
fn with<W: World, R>(c: &mut Call<'_, W>, f: impl FnOnce(&mut Open, &mut Args<'_>) -> Result<R>) -> Run<R> {
    let n = number_of(&c.a, 0).ok_or_else(|| Ora::new(29282))?;
    let a = &mut c.a;
    Ok(c.s.with_own(|files: &mut Files| f(files.open.get_mut(&n).ok_or_else(|| Ora::new(29282))?, a))?)
}

fn fopen<W: World>(c: &mut Call<'_, W>) -> Run<Datum> {
    let mode = c.a.text(2).to_lowercase();
    let (access, is_binary) = match mode.as_str() {
        "r" | "rb" => (Access::Read, mode.len() == 2),
        "w" | "wb" => (Access::Write, mode.len() == 2),
        "a" | "ab" => (Access::Append, mode.len() == 2),
        _ => return Err(Ora::new(29281).into()),
    };
    let line_max = c.a.integer(3).unwrap_or(LINE_DEFAULT);
    if !(1..=LINE_MAX).contains(&line_max) {
        return Err(Ora::new(29287).into());
    }
    // Before a file is created or emptied.
    if c.s.with_own(|files: &mut Files| files.open.len() >= FILES_MAX) {
        return Err(invalid_operation("").into());
    }
    let privilege = if access == Access::Read { "READ" } else { "WRITE" };
    let directory = directory(c.w, c.a.text(0), privilege)?;
    let file = directory.file(c.a.text(1), access).map_err(|e| opening(&e))?;
    let stream = match access {
        Access::Read => Stream::Reader(BufReader::new(file)),
        Access::Write | Access::Append => Stream::Writer(BufWriter::new(file)),
    };
    let open = Open { stream, is_binary, line_max: line_max as usize, line_bytes: 0 };
    let id = c.s.with_own(|files: &mut Files| {
        let id = handle(|id| files.open.contains_key(&id))?;
        files.open.insert(id, open);
        Result::Ok(id)
    })?;
    let scalars = vec![number(id), number(if is_binary { 2 } else { 1 }), Value::Boolean(is_binary)];
    Ok(Datum::Rec(Rc::new(Rec { scalars, nested: Vec::new() })))
}

fn is_open<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let n = number_of(&c.a, 0);
    Ok(Value::Boolean(c.s.with_own(|files: &mut Files| n.is_some_and(|n| files.open.contains_key(&n)))))
}

fn close(open: Open) -> Result<()> {
    match open.stream {
        Stream::Writer(mut writer) => {
            // A text ends with a line feed.
            let ended = if open.line_bytes > 0 && !open.is_binary { writer.write_all(b"\n") } else { Ok(()) };
            ended.and_then(|()| writer.flush()).map_err(|_| Ora::new(29285))
        }
        Stream::Reader(_) => Ok(()),
    }
}

fn fclose<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let n = number_of(&c.a, 0).ok_or_else(|| Ora::new(29282))?;
    let open = c.s.with_own(|files: &mut Files| files.open.remove(&n)).ok_or_else(|| Ora::new(29282))?;
    c.a.set_datum(0, Datum::Rec(Rc::new(Rec { scalars: vec![Value::Null; 3], nested: Vec::new() })));
    Ok(close(open)?)
}

fn fclose_all<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let all: Vec<Open> = c.s.with_own(|files: &mut Files| files.open.drain().map(|(_, open)| open).collect());
    let closed: Vec<Result<()>> = all.into_iter().map(close).collect();
    Ok(closed.into_iter().collect::<Result<()>>()?)
}

fn get_line<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| {
        let Stream::Reader(reader) = &mut open.stream else { return Err(invalid_operation("")) };
        if open.is_binary {
            return Err(invalid_operation(""));
        }
        let mut line = Vec::new();
        reader.take(open.line_max as u64 + 1).read_until(b'\n', &mut line).map_err(|_| Ora::new(29284))?;
        if line.is_empty() {
            return Err(Ora::new(1403));
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > open.line_max {
            return Err(Ora::new(29284));
        }
        let text = String::from_utf8(line).map_err(|_| Ora::new(29284))?;
        let most = a.integer(2).unwrap_or(LINE_MAX);
        if text.len() as i64 > most {
            return Err(scalar::value_error(""));
        }
        a.set(1, Value::text(text));
        Ok(())
    })
}

fn get_raw<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| {
        let Stream::Reader(reader) = &mut open.stream else { return Err(invalid_operation("")) };
        let most = a.integer(2).unwrap_or(LINE_MAX).clamp(1, LINE_MAX) as u64;
        let mut bytes = Vec::new();
        reader.take(most).read_to_end(&mut bytes).map_err(|_| Ora::new(29284))?;
        if bytes.is_empty() {
            return Err(Ora::new(1403));
        }
        a.set(1, Value::raw(bytes));
        Ok(())
    })
}

impl Open {
    /// Writes a part of a line, or several lines.
    fn write(&mut self, bytes: &[u8], flushes: bool) -> Result<()> {
        let Stream::Writer(writer) = &mut self.stream else { return Err(invalid_operation("")) };
        for (at, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
            self.line_bytes = part.len() + if at == 0 { self.line_bytes } else { 0 };
            if self.line_bytes > self.line_max && !self.is_binary {
                return Err(Ora::new(29285));
            }
        }
        let written = writer.write_all(bytes).and_then(|()| if flushes { writer.flush() } else { Ok(()) });
        written.map_err(|_| Ora::new(29285))
    }
}

fn put<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| open.write(a.text(1).as_bytes(), false))
}

fn new_line<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| {
        let lines = a.integer(1).unwrap_or(1).clamp(0, LINE_MAX) as usize;
        open.write(&vec![b'\n'; lines], false)
    })
}

fn put_line<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| open.write(format!("{}\n", a.text(1)).as_bytes(), a.flag(2)))
}

fn put_raw<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| open.write(a.raw(1), a.flag(2)))
}

/// `%s` stands for the arguments in order, `\n` for a line feed.
fn putf<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| {
        let (mut out, mut next, mut rest) = (String::new(), 2, a.text(1));
        while let Some(at) = rest.find(['%', '\\']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(behind) = rest.strip_prefix("%s") {
                out.push_str(if next <= 6 { a.text(next) } else { "" });
                next += 1;
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("\\n") {
                out.push('\n');
                rest = behind;
            } else {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
        out.push_str(rest);
        open.write(out.as_bytes(), false)
    })
}

fn fflush<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, _| open.write(&[], true))
}

fn fseek<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    with(c, |open, a| {
        let Stream::Reader(reader) = &mut open.stream else { return Err(invalid_operation("")) };
        let to = match (a.integer(1), a.integer(2)) {
            (Some(absolute), _) => u64::try_from(absolute).ok().map(SeekFrom::Start),
            (None, Some(relative)) => Some(SeekFrom::Current(relative)),
            (None, None) => None,
        };
        let to = to.ok_or_else(|| Ora::new(29290))?;
        let end = reader.get_ref().metadata().map_err(|_| Ora::new(29284))?.len();
        let at = reader.seek(to).map_err(|_| Ora::new(29290))?;
        if at > end {
            return Err(Ora::new(29290));
        }
        Ok(())
    })
}

fn fgetpos<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    with(c, |open, _| {
        let at = match &mut open.stream {
            Stream::Reader(reader) => reader.stream_position(),
            Stream::Writer(writer) => writer.stream_position(),
        };
        Ok(number(at.map_err(|_| Ora::new(29284))? as i64))
    })
}

fn fremove<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let directory = directory(c.w, c.a.text(0), "WRITE")?;
    directory.remove(c.a.text(1)).map_err(|e| match e.kind() {
        ErrorKind::InvalidInput | ErrorKind::NotFound => opening(&e),
        _ => Ora::new(29291),
    })?;
    Ok(())
}

fn frename<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (from, to) = (directory(c.w, c.a.text(0), "WRITE")?, directory(c.w, c.a.text(2), "WRITE")?);
    from.rename(c.a.text(1), &to, c.a.text(3), c.a.flag(4)).map_err(|e| match e.kind() {
        ErrorKind::InvalidInput => opening(&e),
        _ => Ora::new(29292),
    })?;
    Ok(())
}

/// Without END_LINE all lines from START_LINE on are copied.
fn fcopy<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (from, to) = (directory(c.w, c.a.text(0), "READ")?, directory(c.w, c.a.text(2), "WRITE")?);
    let first = c.a.integer(4).unwrap_or(1);
    let last = c.a.integer(5).unwrap_or(i64::MAX);
    if first < 1 || last < first {
        return Err(Ora::new(29290).into());
    }
    let source = from.file(c.a.text(1), Access::Read).map_err(|e| opening(&e))?;
    let mut writer = BufWriter::new(to.copy(c.a.text(3), &source).map_err(|e| opening(&e))?);
    let mut reader = BufReader::new(source);
    for n in 1..=last {
        // A line may be as long as the file: it goes through the buffers.
        let is_wanted = n >= first;
        let mut found = false;
        loop {
            let part = reader.fill_buf().map_err(|_| Ora::new(29284))?;
            if part.is_empty() {
                break;
            }
            found = true;
            let end = part.iter().position(|byte| *byte == b'\n');
            let len = end.map_or(part.len(), |end| end + 1);
            if is_wanted {
                writer.write_all(&part[..len]).map_err(|_| Ora::new(29285))?;
            }
            reader.consume(len);
            c.w.check_cancel()?;
            if end.is_some() {
                break;
            }
        }
        if !found {
            break;
        }
    }
    writer.flush().map_err(|_| Ora::new(29285))?;
    Ok(())
}

fn fgetattr<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let directory = directory(c.w, c.a.text(0), "READ")?;
    let found = match directory.file(c.a.text(1), Access::Read) {
        Ok(file) => Some(file.metadata().map_err(|e| opening(&e))?.len()),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(opening(&e).into()),
    };
    c.a.set(2, Value::Boolean(found.is_some()));
    c.a.set(3, found.map_or(Value::Null, |len| number(len as i64)));
    c.a.set(4, found.map_or(Value::Null, |_| number(4096)));
    Ok(())
}
