//! The server's answers.
//!
//! | call | answer |
//! |---|---|
//! | execute a query | description, if it is new; row header, rows; parameters; outcome |
//! | execute DML or DDL | parameters, outcome |
//! | execute a block with binds | directions, values, parameters, outcome |
//! | fetch | row header, rows, outcome |
//! | commit, rollback, ping, logoff | status |
//! | any failed call | outcome |

use super::field::{Reader, Writer, text};
use super::handshake::Client;
use super::lob;
use super::message;
use super::value::{self, Column};
use crate::local::{WireError, WireResult};
use types::{Rowid, Value};

/// Bits of the status of a call.
pub mod status {
    pub const END_OF_CALL: u32 = 1;
    pub const IN_TRANSACTION: u32 = 2;
}

/// Executions of an array failed, and the others continued.
pub const ERRORS_IN_ARRAY: u32 = 24381;
/// The error of a fetch that reached the end.
pub const NO_DATA_FOUND: u32 = 1403;
/// A unit was created with compilation errors.
pub const COMPILED_WITH_ERRORS: u8 = 0x20;
/// The direction of a bind's value.
pub mod direction {
    pub const OUT: u8 = 16;
    pub const IN: u8 = 32;
    pub const IN_OUT: u8 = 48;
}

const DESCRIBED_AT: [u8; 7] = [0x78, 0x7e, 1, 1, 1, 1, 1];
const COLUMNS_MAX: u32 = 65_535;

/// The session attributes that are reported with the outcome of a call.
pub mod keyword {
    pub const CURRENT_SCHEMA: u16 = 168;
    pub const EDITION: u16 = 172;
}

/// Appends the description of a query's columns.
pub fn write_describe(out: &mut Vec<u8>, columns: &[Column], client: Client) {
    let mut w = Writer::new(out);
    w.u8(message::DESCRIBE);
    let mut hash = [0; 23];
    hash[16..].copy_from_slice(&DESCRIBED_AT);
    w.bytes(&hash);
    write_description(&mut w, columns, client);
}

/// A cursor as a value: its columns, and the number from which the client fetches.
#[derive(Clone, Copy, Debug)]
pub struct CursorCell<'a> {
    pub columns: &'a [Column],
    pub number: u16,
}

impl CursorCell<'_> {
    /// A cursor variable that was not opened.
    pub const CLOSED: CursorCell<'static> = CursorCell { columns: &[], number: 0 };

    /// `len`: the length byte in front, which is the first byte of the description, or 0 in a list of results.
    fn write(self, w: &mut Writer<'_>, len: u8, client: Client) {
        w.u8(len);
        write_description(w, self.columns, client);
        w.number(self.number);
    }

    fn read(r: &mut Reader<'_>, client: Client) -> WireResult<(Vec<Column>, u16)> {
        r.u8()?;
        Ok((read_description(r, client)?, r.ub2()?))
    }
}

/// The content of a row or of a returned bind at one position.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    Value(&'a Value),
    Cursor(CursorCell<'a>),
    /// The elements of a PL/SQL table.
    Table(&'a [Value]),
}

/// Appends the implicit results of a block.
pub fn write_results(out: &mut Vec<u8>, results: &[CursorCell<'_>], client: Client) {
    let mut w = Writer::new(out);
    w.u8(message::IMPLICIT_RESULTS);
    w.number(results.len() as u64);
    results.iter().for_each(|cursor| cursor.write(&mut w, 0, client));
}

fn write_description(w: &mut Writer<'_>, columns: &[Column], client: Client) {
    w.number(columns.iter().map(|c| u64::from(c.shape.size) + 1).sum::<u64>().min(u32::MAX.into()));
    w.number(columns.len() as u64);
    if !columns.is_empty() {
        w.u8(0x5c);
    }
    for (place, column) in columns.iter().enumerate() {
        column.write(w, client, place);
    }
    w.long_bytes(&DESCRIBED_AT);
    w.u8(0);
    w.number(8168u32);
    w.number(2u32);
    w.number(2u32);
    w.u8(0);
}

/// Appends the columns of a query as the answer to a describe call.
pub fn write_columns(out: &mut Vec<u8>, columns: &[Column], client: Client) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(columns.len() as u64);
    columns.iter().enumerate().for_each(|(place, column)| column.write(&mut w, client, place));
}

/// Kinds of objects and lists in the description of an object.
mod object {
    pub const TABLE: u8 = 1;
    pub const COLUMN: u8 = 9;
    pub const COLUMNS: u8 = 10;
}

/// Appends the description of a table: a tree of parts, each after a number that says whether it is there.
pub fn write_object(out: &mut Vec<u8>, name: &str, columns: &[Column], client: Client) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(1u32);
    write_header(&mut w, object::TABLE, name);
    w.zeros(2);
    // A table, not a list.
    w.u8(0);
    w.number(1u32);
    w.zeros(3);
    // Its columns are an object.
    w.number(1u32);
    w.u8(0);
    write_header(&mut w, object::COLUMNS, "");
    w.zeros(2);
    w.number(1u32);
    w.raw(&[0, object::COLUMN]);
    w.number(columns.len() as u64);
    w.u8(0);
    for column in columns {
        write_header(&mut w, object::COLUMN, &column.name);
        // None of the eight other kinds precede a column.
        w.zeros(2);
        w.zeros(7);
        w.number(1u32);
        write_object_column(&mut w, column, client);
        write_other_parts(&mut w, 5, client);
    }
    write_other_parts(&mut w, 12, client);
    w.number(columns.len() as u64);
    // Storage attributes; the type and the parts of XML.
    w.zeros(7);
    w.zeros(2);
    w.u8(0);
    w.zeros(4);
    w.zeros(4);
    if client.field_version >= 14 {
        w.u8(0);
    }
    write_other_parts(&mut w, 11, client);
}

/// Appends that `kinds` parts and the newer ones are absent.
fn write_other_parts(w: &mut Writer<'_>, kinds: usize, client: Client) {
    w.zeros(kinds + 6 + if client.field_version >= 8 { 2 } else { 0 });
}

/// Appends the beginning of every object.
fn write_header(w: &mut Writer<'_>, kind: u8, name: &str) {
    w.number(1u32);
    w.raw(&[0, kind]);
    w.long_bytes(&DESCRIBED_AT);
    w.zeros(2);
    w.long_bytes(name.as_bytes());
    w.u8(0);
}

fn write_object_column(w: &mut Writer<'_>, column: &Column, client: Client) {
    let shape = &column.shape;
    w.u8(0);
    w.number(shape.size.min(u16::MAX.into()));
    w.number(shape.number);
    w.long_bytes(column.name.as_bytes());
    w.raw(&[shape.precision]);
    shape.write_scale(w, client);
    w.u8(column.nullable.into());
    w.zeros(3);
    w.number(shape.charset);
    w.u8(shape.form);
    w.zeros(4);
    w.zeros(2);
    if client.field_version >= 8 {
        w.zeros(3);
    }
    if client.field_version >= 14 {
        w.u8(0);
    }
}

fn read_describe(r: &mut Reader<'_>, client: Client) -> WireResult<Vec<Column>> {
    r.bytes()?;
    read_description(r, client)
}

fn read_description(r: &mut Reader<'_>, client: Client) -> WireResult<Vec<Column>> {
    r.ub4()?;
    let n = r.count(COLUMNS_MAX)?;
    if n > 0 {
        r.u8()?;
    }
    let columns = (0..n).map(|_| Column::read(r, client)).collect::<WireResult<Vec<_>>>()?;
    r.long_bytes()?;
    for _ in 0..4 {
        r.ub4()?;
    }
    r.long_bytes()?;
    Ok(columns)
}

/// Appends the row header.
pub fn write_row_header(out: &mut Vec<u8>, columns: usize, rows_wanted: u32, is_first: bool) {
    let mut w = Writer::new(out);
    w.raw(&[message::ROW_HEADER, if is_first { 0x22 } else { 0x02 }]);
    w.number(columns as u64 % 256);
    w.number(columns as u64 / 256);
    w.number(rows_wanted);
    w.zeros(3);
}

fn read_row_header(r: &mut Reader<'_>) -> WireResult<()> {
    r.u8()?;
    r.ub2()?;
    r.ub4()?;
    r.ub4()?;
    r.ub2()?;
    r.long_bytes()?;
    r.long_bytes()?;
    Ok(())
}

/// Appends a row.
///
/// # Errors
/// [`WireError::BadValue`] for a value that is not of its column's type.
pub fn write_row(out: &mut Vec<u8>, columns: &[Column], row: &[Value]) -> WireResult<()> {
    let mut w = RowWriter::begin(out);
    columns.iter().zip(row).try_for_each(|(column, v)| w.value(v, column))
}

/// Writes the values of a row one after another.
#[derive(Debug)]
pub struct RowWriter<'a>(Writer<'a>);

impl<'a> RowWriter<'a> {
    /// Begins a row.
    pub fn begin(out: &'a mut Vec<u8>) -> RowWriter<'a> {
        let mut w = Writer::new(out);
        w.u8(message::ROW_DATA);
        RowWriter(w)
    }

    /// Appends the value of the next column.
    ///
    /// # Errors
    /// Those of [`write_row`].
    pub fn value(&mut self, v: &Value, column: &Column) -> WireResult<()> {
        value::write(&mut self.0, v, &column.shape)?;
        if column.shape.is_long() {
            self.0.zeros(2);
        }
        Ok(())
    }
}

impl RowWriter<'_> {
    /// Appends the value of the next column in its stored form, for types that [`value::is_sent_as_stored`] allows.
    pub fn stored(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.0.bytes(bytes),
            None => self.0.u8(0),
        }
    }
}

fn read_row(r: &mut Reader<'_>, columns: &[Column], answer: &mut Cursors, client: Client) -> WireResult<Vec<Value>> {
    let one = |c: &Column| {
        if c.shape.is_cursor() {
            let (columns, number) = CursorCell::read(r, client)?;
            answer.push((number, columns));
            return Ok(Value::Number(types::Number::from_u64(number.into())));
        }
        if c.shape.is_lob() {
            let beginning = c.shape.chars > 0;
            return Ok(lob::read_cell(r, &c.shape, beginning)?.map_or(Value::Null, Value::raw));
        }
        let v = value::read(r, &c.shape)?;
        if c.shape.is_long() {
            r.sb4()?;
            r.ub4()?;
        }
        Ok(v)
    };
    columns.iter().map(one).collect()
}

/// Appends the directions of the binds' values.
pub fn write_directions(out: &mut Vec<u8>, directions: &[u8]) {
    let mut w = Writer::new(out);
    w.raw(&[message::IO_VECTOR, 1]);
    w.number(directions.len() as u64 % 256);
    w.number(directions.len() as u64 / 256);
    w.number(1u32);
    w.zeros(3);
    w.raw(directions);
}

fn read_directions(r: &mut Reader<'_>) -> WireResult<Vec<u8>> {
    r.u8()?;
    let binds = usize::from(r.ub2()?) + 256 * r.ub4()? as usize;
    r.ub4()?;
    for _ in 0..3 {
        r.ub2()?;
    }
    Ok(r.raw(binds)?.to_vec())
}

/// Appends a row with cursors.
///
/// # Errors
/// As [`write_row`].
pub fn write_row_of_cells<'a>(
    out: &mut Vec<u8>,
    columns: &[Column],
    cells: impl IntoIterator<Item = Cell<'a>>,
    client: Client,
) -> WireResult<()> {
    let mut w = Writer::new(out);
    w.u8(message::ROW_DATA);
    for (column, cell) in columns.iter().zip(cells) {
        write_cell(&mut w, cell, &column.shape, client, |_, _| {})?;
        if column.shape.is_long() {
            w.zeros(2);
        }
    }
    Ok(())
}

fn write_cell(
    w: &mut Writer<'_>,
    cell: Cell<'_>,
    shape: &value::Shape,
    client: Client,
    behind: impl Fn(&mut Writer<'_>, &Value),
) -> WireResult<()> {
    match cell {
        Cell::Value(v) => {
            value::write(w, v, shape)?;
            behind(w, v);
        }
        Cell::Cursor(cursor) => {
            cursor.write(w, 1, client);
            behind(w, &Value::Null);
        }
        Cell::Table(elements) => value::write_table(w, elements, shape, behind)?,
    }
    Ok(())
}

/// Appends the values returned to binds, each with its type.
///
/// # Errors
/// As [`write_row`].
pub fn write_out_values<'a>(
    out: &mut Vec<u8>,
    values: impl IntoIterator<Item = (Cell<'a>, &'a value::Shape)>,
    client: Client,
) -> WireResult<()> {
    let mut w = Writer::new(out);
    w.u8(message::ROW_DATA);
    values.into_iter().try_for_each(|(cell, shape)| {
        write_cell(&mut w, cell, shape, client, |w, v| write_behind_out_value(w, v, shape))
    })
}

/// Appends the values that RETURNING gave to each bind: one for every row.
///
/// # Errors
/// As [`write_row`].
pub fn write_returned<'a>(
    out: &mut Vec<u8>,
    binds: impl IntoIterator<Item = (&'a [Value], &'a value::Shape)>,
) -> WireResult<()> {
    let mut w = Writer::new(out);
    w.u8(message::ROW_DATA);
    for (values, shape) in binds {
        w.number(values.len() as u64);
        values.iter().try_for_each(|v| write_out_value(&mut w, v, shape))?;
    }
    Ok(())
}

/// Appends a value of RETURNING. If it is too long for its bind, its beginning and its length are sent.
fn write_out_value(w: &mut Writer<'_>, v: &Value, shape: &value::Shape) -> WireResult<()> {
    if let Some((part, len)) = value::too_long(v, shape) {
        value::write(w, &part, shape)?;
        w.signed(len);
        return Ok(());
    }
    value::write(w, v, shape)?;
    write_behind_out_value(w, v, shape);
    Ok(())
}

fn write_behind_out_value(w: &mut Writer<'_>, v: &Value, shape: &value::Shape) {
    let is_null_boolean = v.is_null() && shape.number == value::number::BOOLEAN;
    w.signed(if is_null_boolean { -1 } else { 0 });
}

/// Appends the parameters of an execution: its SCN, its cursor, and the row counts of each execution if requested.
pub fn write_parameters(out: &mut Vec<u8>, scn: u64, cursor: u16, row_counts: Option<&[u64]>) {
    write_parameters_with(out, scn, cursor, &[], row_counts);
}

/// Like [`write_parameters`], with attributes of the session: numbers of [`keyword`] and texts.
pub fn write_parameters_with(
    out: &mut Vec<u8>,
    scn: u64,
    cursor: u16,
    news: &[(u16, String)],
    row_counts: Option<&[u64]>,
) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(6u32);
    w.number(scn & 0xffff_ffff);
    w.number(scn >> 32);
    w.number(cursor);
    w.zeros(4);
    w.number(news.len() as u64);
    for (keyword, text) in news {
        w.long_bytes(text.as_bytes());
        w.u8(0);
        w.number(*keyword);
    }
    w.u8(0);
    if let Some(counts) = row_counts {
        w.number(counts.len() as u64);
        counts.iter().for_each(|n| w.number(*n));
    }
}

fn read_parameters(r: &mut Reader<'_>) -> WireResult<()> {
    let n = r.ub2()?;
    for _ in 0..n {
        r.ub4()?;
    }
    let text_len: usize = r.ub2()?.into();
    r.skip(text_len)?;
    for _ in 0..r.ub2()? {
        r.long_bytes()?;
        r.long_bytes()?;
        r.ub2()?;
    }
    let registered: usize = r.ub2()?.into();
    r.skip(registered)
}

/// Appends the end of a call without an outcome message.
pub fn write_status(out: &mut Vec<u8>, status: u32, sequence: u8) {
    let mut w = Writer::new(out);
    w.u8(message::STATUS);
    w.number(status);
    w.number(sequence);
}

/// Appends the product's name and version.
pub fn write_version(out: &mut Vec<u8>, banner: &str, version: u32, client: Client) {
    let mut w = Writer::new(out);
    w.u8(message::PARAMETERS);
    w.number(banner.len() as u64);
    client.write_text(&mut w, banner);
    w.number(version);
}

/// The number of the message about a session returned by a pool.
const SESSION_RETURNED: u8 = 4;

/// Reads the message of [`write_session`] after its first byte.
fn read_session(r: &mut Reader<'_>) -> WireResult<(u32, u32)> {
    match r.u8()? {
        SESSION_RETURNED => {}
        other => return Err(WireError::UnknownTag(other)),
    }
    r.ub2()?;
    r.skip(1)?;
    if r.ub2()? != 0 {
        return Err(WireError::BadValue);
    }
    r.ub4()?;
    Ok((r.ub4()?, r.ub4()?))
}

/// Appends the new session of the client, to which a pooled server was assigned again. Cursors of the previous session
/// are invalid.
pub fn write_session(out: &mut Vec<u8>, sid: u32, serial: u32) {
    const CHANGED: u32 = 4;
    let mut w = Writer::new(out);
    w.u8(message::SERVER_PIGGYBACK);
    w.u8(SESSION_RETURNED);
    // No types, no pairs.
    w.number(0u32);
    w.u8(0);
    w.number(0u32);
    w.number(CHANGED);
    w.number(sid);
    // Clients have 16 bits for a serial number.
    w.number(serial & 0xffff);
}

/// Appends the warning of a successful call: an error's number and text.
pub fn write_warning(out: &mut Vec<u8>, code: u32, text: &str) {
    let mut w = Writer::new(out);
    w.u8(message::WARNING);
    w.number(u16::try_from(code).unwrap_or(0));
    w.number(text.len() as u64);
    w.u8(0);
    w.bytes(text.as_bytes());
}

fn read_warning(r: &mut Reader<'_>) -> WireResult<(u32, String)> {
    let code = r.ub2()?;
    let len = r.ub2()?;
    r.ub2()?;
    let message = if code != 0 && len > 0 { r.bytes().and_then(text)?.trim_end().to_string() } else { String::new() };
    Ok((code.into(), message))
}

/// The end of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub status: u32,
    /// The number of the call.
    pub sequence: u8,
    /// 0 for none.
    pub cursor: u16,
    /// 0: success. 1403: no more rows.
    pub error: u32,
    /// Byte offset of the error in the statement.
    pub position: u32,
    /// The kind of the statement.
    pub command: u8,
    pub warning: u8,
    /// The last changed row.
    pub rowid: Option<Rowid>,
    /// Rows changed, or fetched so far.
    pub rows: u64,
    /// Begins with `ORA-nnnnn: `; empty without an error.
    pub message: String,
    /// Executions of an array that failed while the others continued.
    pub refused: Vec<Refused>,
}

/// An execution of an array that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// The number of the execution, from 0.
    pub execution: u32,
    pub error: u32,
    /// As in [`Outcome`].
    pub message: String,
}

/// Largest number of failed executions that an outcome can name. A client that reads a larger count of positions
/// reports an error itself.
const REFUSED_MAX: usize = u16::MAX as usize;

impl Outcome {
    /// Appends the outcome.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(message::ERROR);
        w.number(self.status);
        w.number(self.sequence);
        w.number(self.rows.min(u32::MAX.into()));
        w.number(u16::try_from(self.error).unwrap_or(0));
        w.zeros(2);
        w.number(self.cursor);
        w.signed(self.position.min(i16::MAX as u32).into());
        w.raw(&[self.command, 0, 0, 0, 0, self.warning]);
        match &self.rowid {
            Some(rowid) => value::write_rowid(&mut w, rowid),
            None => w.zeros(5),
        }
        w.zeros(2);
        w.u8(self.sequence);
        w.u8(0);
        w.number(1u32);
        w.u8(0);
        write_refused(&mut w, &self.refused);
        w.number(self.error);
        w.number(self.rows);
        if self.error != 0 {
            w.bytes(format!("{}\n", self.message.trim_end()).as_bytes());
        }
    }

    fn read(r: &mut Reader<'_>) -> WireResult<Outcome> {
        let status = r.ub4()?;
        r.ub2()?;
        r.ub4()?;
        r.ub2()?;
        r.skip(2)?;
        let cursor = r.ub2()?;
        let position = r.sb4()?.max(0) as u32;
        let command = r.u8()?;
        r.skip(4)?;
        let warning = r.u8()?;
        let rowid = Some(value::read_rowid_parts(r)?).filter(|rowid| rowid.obj.0 != 0);
        r.ub4()?;
        r.u8()?;
        let sequence = r.u8()?;
        r.ub2()?;
        r.ub4()?;
        r.long_bytes()?;
        let refused = read_refused(r)?;
        let (error, rows) = (r.ub4()?, r.ub8()?);
        let message = if error != 0 { r.bytes().and_then(text)?.trim_end().to_string() } else { String::new() };
        Ok(Outcome { status, sequence, cursor, error, position, command, warning, rowid, rows, message, refused })
    }
}

/// Appends numbers with their total length in front or, when that is long, each as a chunk.
fn write_numbers(w: &mut Writer<'_>, numbers: impl Iterator<Item = u32>) {
    let mut all = Vec::new();
    let mut ends = Vec::new();
    for n in numbers {
        Writer::new(&mut all).number(n);
        ends.push(all.len());
    }
    if all.len() <= SHORT_MAX {
        w.u8(all.len() as u8);
        return w.raw(&all);
    }
    w.u8(CHUNKS);
    let mut from = 0;
    for end in ends {
        w.number((end - from) as u64);
        w.raw(&all[from..end]);
        from = end;
    }
    w.u8(0);
}

fn read_numbers(r: &mut Reader<'_>, count: usize) -> WireResult<Vec<u32>> {
    let is_long = r.u8()? == CHUNKS;
    let mut numbers = Vec::new();
    for _ in 0..count {
        if is_long {
            r.ub4()?;
        }
        numbers.push(r.ub4()?);
    }
    if is_long && r.u8()? != 0 {
        return Err(WireError::BadValue);
    }
    Ok(numbers)
}

/// The mark of chunks before numbers, and the longest length without chunks.
const CHUNKS: u8 = 0xfe;
const SHORT_MAX: usize = 252;

/// Appends the errors of an array's executions: their codes, positions and texts.
fn write_refused(w: &mut Writer<'_>, refused: &[Refused]) {
    let named = &refused[..refused.len().min(REFUSED_MAX)];
    w.number(named.len() as u64);
    if !named.is_empty() {
        write_numbers(w, named.iter().map(|e| e.error));
    }
    w.number(refused.len() as u64);
    if !refused.is_empty() {
        write_numbers(w, refused.iter().map(|e| e.execution));
    }
    w.number(named.len() as u64);
    if !named.is_empty() {
        w.u8(0);
    }
    for e in named {
        let text = format!("{}\n", e.message.trim_end());
        w.number(text.len().min(REFUSED_MAX) as u64);
        w.bytes(text.as_bytes());
        w.zeros(2);
    }
}

fn read_refused(r: &mut Reader<'_>) -> WireResult<Vec<Refused>> {
    fn numbers(r: &mut Reader<'_>, count: u32) -> WireResult<Vec<u32>> {
        if count == 0 { Ok(Vec::new()) } else { read_numbers(r, count as usize) }
    }
    let count = r.ub2()?.into();
    let errors = numbers(r, count)?;
    let count = r.ub4()?;
    let executions = numbers(r, count)?;
    let texts = r.ub2()?;
    if texts > 0 {
        r.u8()?;
    }
    if errors.len() != executions.len() || errors.len() != usize::from(texts) {
        return Err(WireError::BadValue);
    }
    let one = |(error, execution): (u32, u32)| {
        r.ub2()?;
        let message = r.bytes().and_then(text)?.trim_end().to_string();
        r.skip(2)?;
        Ok(Refused { execution, error, message })
    };
    errors.into_iter().zip(executions).map(one).collect()
}

/// Cursors returned as values, with their columns.
type Cursors = Vec<(u16, Vec<Column>)>;

/// A client's answer to a query or a simple call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// New columns, if they were described.
    pub columns: Option<Vec<Column>>,
    pub rows: Vec<Vec<Value>>,
    /// The values returned to binds, with the bind's index.
    pub got: Vec<(usize, Value)>,
    /// Cursors in the rows, whose values are their numbers, and implicit results; with their columns.
    pub cursors: Vec<(u16, Vec<Column>)>,
    /// The warning of a successful call: an error's number and text.
    pub warning: Option<(u32, String)>,
    /// The session that a pool has assigned to the client, and its serial number.
    pub session: Option<(u32, u32)>,
    pub outcome: Outcome,
}

/// Reads an answer to its end; `columns` are those known from before.
///
/// # Errors
/// [`WireError::Truncated`] while the end is missing; others for an invalid answer.
pub fn read_answer(r: &mut Reader<'_>, columns: &[Column], client: Client) -> WireResult<Answer> {
    read_answer_to(r, columns, &[], false, client)
}

/// Like [`read_answer`], for a call with binds; binds of RETURNING get a value for every row.
///
/// # Errors
/// Those of [`read_answer`].
pub fn read_answer_to(
    r: &mut Reader<'_>,
    columns: &[Column],
    binds: &[value::Shape],
    is_returning: bool,
    client: Client,
) -> WireResult<Answer> {
    let mut answer = Answer::default();
    let mut ways: Option<Vec<u8>> = None;
    loop {
        match r.u8()? {
            message::IO_VECTOR => ways = Some(read_directions(r)?),
            message::ROW_DATA if ways.is_some() => {
                let ways = ways.take().unwrap_or_default();
                let out = binds.iter().enumerate().zip(&ways).filter(|(_, way)| **way != direction::IN);
                for ((at, shape), _) in out {
                    let values = if is_returning { r.ub4()? } else { 1 };
                    for _ in 0..values {
                        let value = if shape.is_cursor() {
                            let (columns, number) = CursorCell::read(r, client)?;
                            answer.cursors.push((number, columns));
                            Value::Number(types::Number::from_u64(number.into()))
                        } else {
                            value::read(r, shape)?
                        };
                        answer.got.push((at, value));
                        r.sb4()?;
                    }
                }
            }
            message::DESCRIBE => answer.columns = Some(read_describe(r, client)?),
            message::ROW_HEADER => read_row_header(r)?,
            message::ROW_DATA => {
                let row = read_row(r, answer.columns.as_deref().unwrap_or(columns), &mut answer.cursors, client)?;
                answer.rows.push(row);
            }
            message::IMPLICIT_RESULTS => {
                for _ in 0..r.count(COLUMNS_MAX)? {
                    let (columns, number) = CursorCell::read(r, client)?;
                    answer.cursors.push((number, columns));
                }
            }
            message::SERVER_PIGGYBACK => answer.session = Some(read_session(r)?),
            message::PARAMETERS => read_parameters(r)?,
            message::WARNING => answer.warning = Some(read_warning(r)?),
            message::STATUS => {
                answer.outcome.status = r.ub4()?;
                answer.outcome.sequence = r.ub2()? as u8;
                return Ok(answer);
            }
            message::ERROR => {
                answer.outcome = Outcome::read(r)?;
                return Ok(answer);
            }
            other => return Err(WireError::UnknownTag(other)),
        }
    }
}

/// The answer to an array with row counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrayAnswer {
    /// The execution, the bind, and the value returned to it.
    pub got: Vec<(u32, usize, Value)>,
    /// Rows of each execution; for a failed array, of those before the failure.
    pub counts: Vec<u64>,
    pub outcome: Outcome,
}

/// Largest number of executions of an array.
const EXECUTIONS_MAX: u32 = 1 << 20;

/// Reads the answer to an array of executions with row counts to its end.
///
/// # Errors
/// Those of [`read_answer`].
pub fn read_array_answer(
    r: &mut Reader<'_>,
    binds: &[value::Shape],
    is_returning: bool,
    client: Client,
) -> WireResult<ArrayAnswer> {
    let mut answer = ArrayAnswer::default();
    let (mut ways, mut execution) = (Vec::new(), 0);
    loop {
        match r.u8()? {
            message::IO_VECTOR => ways = read_directions(r)?,
            message::ROW_DATA => {
                let out = binds.iter().enumerate().zip(&ways).filter(|(_, way)| **way != direction::IN);
                for ((at, shape), _) in out {
                    for _ in 0..if is_returning { r.ub4()? } else { 1 } {
                        answer.got.push((execution, at, value::read(r, shape)?));
                        r.sb4()?;
                    }
                }
                execution += 1;
            }
            message::PARAMETERS => {
                read_parameters(r)?;
                let executions = r.count(EXECUTIONS_MAX)?;
                answer.counts = (0..executions).map(|_| r.ub8()).collect::<WireResult<_>>()?;
            }
            message::WARNING => drop(read_warning(r)?),
            message::ERROR => {
                answer.outcome = Outcome::read(r)?;
                return Ok(answer);
            }
            message::IMPLICIT_RESULTS => {
                for _ in 0..r.count(COLUMNS_MAX)? {
                    CursorCell::read(r, client)?;
                }
            }
            other => return Err(WireError::UnknownTag(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{DataType, Number};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
        (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).unwrap()).collect()
    }

    #[test]
    fn a_warning_stands_before_the_outcome() {
        let mut out = Vec::new();
        write_warning(&mut out, 28002, "ORA-28002: soon");
        assert_eq!(out[..6], bytes("0f 026d62 010f"));
        Outcome { status: 1, sequence: 2, ..Outcome::default() }.write(&mut out);
        let answer = read_answer(&mut Reader::new(&out), &[], Client::USUAL).unwrap();
        assert_eq!(answer.warning, Some((28002, "ORA-28002: soon".to_string())));
        assert_eq!((answer.outcome.error, answer.outcome.sequence), (0, 2));
    }

    #[test]
    fn a_querys_answer_is_byte_for_byte_what_drivers_take() {
        let shape = value::of_type(&DataType::NUMBER).unwrap();
        let columns = [Column { name: "1".into(), shape, nullable: true }];
        let mut out = Vec::new();
        write_describe(&mut out, &columns, Client::USUAL);
        let hash = format!("17{}787e0101010101", "00".repeat(16));
        let want = format!(
            "10 {hash} 0117 0101 5c 02 00 00 81 0116 00 00 00 00 00 00 00 00 01 01 0101 01 31 00 00 00 00 0107 07 787e0101010101 \
             00 021fe8 0102 0102 00"
        );
        assert_eq!(out, bytes(&want));
        let at = out.len();
        write_row_header(&mut out, 1, 2, true);
        assert_eq!(out[at..], bytes("06 22 0101 00 0102 00 00 00"));
        let row = vec![Value::Number(Number::from_i64(1))];
        write_row(&mut out, &columns, &row).unwrap();
        let at = out.len();
        write_parameters(&mut out, 0xe670_259d, 1, None);
        assert_eq!(out[at..], bytes("08 0106 04e670259d 00 0101 00 00 00 00 00 00"));
        let at = out.len();
        let outcome = Outcome {
            status: 1,
            sequence: 3,
            cursor: 1,
            error: NO_DATA_FOUND,
            command: 3,
            rows: 1,
            message: "ORA-01403: no data found".into(),
            ..Outcome::default()
        };
        outcome.write(&mut out);
        let want = "04 0101 0103 0101 02057b 00 00 0101 00 03 00 00 00 00 00 00 00 00 00 00 00 00 03 00 0101 00 00 00 00 02057b 0101 \
                    19 4f52412d30313430333a206e6f206461746120666f756e640a";
        assert_eq!(out[at..], bytes(want));
        let mut r = Reader::new(&out);
        let answer = read_answer(&mut r, &[], Client::USUAL).unwrap();
        r.finish().unwrap();
        let want = Answer { columns: Some(columns.to_vec()), rows: vec![row], outcome, ..Answer::default() };
        assert_eq!(answer, want);
        for cut in 0..out.len() {
            assert_eq!(read_answer(&mut Reader::new(&out[..cut]), &[], Client::USUAL), Err(WireError::Truncated));
        }
    }

    #[test]
    fn cursors_in_rows_and_results_survive_encoding() {
        let column = |ty: &DataType| Column { name: "C".into(), shape: value::of_type(ty).unwrap(), nullable: true };
        let (inner, columns) = ([column(&DataType::Date)], [column(&DataType::NUMBER), column(&DataType::Cursor)]);
        let mut out = Vec::new();
        let one = Value::Number(Number::from_i64(1));
        let cell = CursorCell { columns: &inner, number: 7 };
        write_row_of_cells(&mut out, &columns, [Cell::Value(&one), Cell::Cursor(cell)], Client::USUAL).unwrap();
        write_results(&mut out, &[cell, CursorCell::CLOSED], Client::USUAL);
        write_status(&mut out, status::END_OF_CALL, 1);
        let answer = read_answer(&mut Reader::new(&out), &columns, Client::USUAL).unwrap();
        assert_eq!(answer.rows, [[one, Value::Number(Number::from_i64(7))]]);
        assert_eq!(answer.cursors, [(7, inner.to_vec()), (7, inner.to_vec()), (0, Vec::new())]);
        for cut in 0..out.len() {
            assert!(read_answer(&mut Reader::new(&out[..cut]), &columns, Client::USUAL).is_err());
        }
    }

    #[test]
    fn the_end_of_a_call_is_byte_for_byte_what_drivers_take() {
        let mut out = Vec::new();
        let rowid = Some(Rowid { obj: types::ObjectId(73004), rdba: types::Rdba::new(4, 131), slot: 0 });
        let outcome = Outcome { status: 3, sequence: 7, cursor: 4, command: 2, rowid, rows: 1, ..Outcome::default() };
        outcome.write(&mut out);
        let want = "04 0103 0107 0101 00 00 00 0104 00 02 00 00 00 00 00 03011d2c 0104 00 0183 00 00 00 07 00 0101 00 \
                    00 00 00 00 0101";
        assert_eq!(out, bytes(want));
        assert_eq!(Outcome::read(&mut Reader::new(&out[1..])), Ok(outcome));
        out.clear();
        write_status(&mut out, status::END_OF_CALL, 6);
        assert_eq!(out, bytes("09 0101 0106"));
        out.clear();
        write_directions(&mut out, &[direction::IN_OUT, direction::OUT]);
        assert_eq!(out, bytes("0b 01 0102 00 0101 00 00 00 30 10"));
    }

    #[test]
    fn returned_bind_values_survive_encoding() {
        let shape = value::of_type(&DataType::NUMBER).unwrap();
        let (binds, number) = ([shape; 3], |n| Value::Number(Number::from_i64(n)));
        let outcome = Outcome { status: 1, sequence: 4, ..Outcome::default() };
        let mut out = Vec::new();
        write_directions(&mut out, &[direction::OUT, direction::IN, direction::IN_OUT]);
        let cells = [(Cell::Value(&number(7)), &shape), (Cell::Value(&Value::Null), &shape)];
        write_out_values(&mut out, cells, Client::USUAL).unwrap();
        write_parameters(&mut out, 1, 2, None);
        outcome.write(&mut out);
        let answer = read_answer_to(&mut Reader::new(&out), &[], &binds, false, Client::USUAL).unwrap();
        assert_eq!(answer.got, [(0, number(7)), (2, Value::Null)]);
        out.clear();
        write_directions(&mut out, &[direction::IN, direction::OUT, direction::OUT]);
        write_returned(&mut out, [(&[number(1), number(2)][..], &shape), (&[][..], &shape)]).unwrap();
        outcome.write(&mut out);
        let answer = read_answer_to(&mut Reader::new(&out), &[], &binds, true, Client::USUAL).unwrap();
        assert_eq!(answer.got, [(1, number(1)), (1, number(2))]);
    }

    #[test]
    fn failed_executions_survive_encoding() {
        for n in [1u32, 2, 60, 300, 70_000] {
            let refused: Vec<Refused> = (0..n)
                .map(|i| Refused {
                    execution: 3 * i,
                    error: 1 + i % 3000,
                    message: format!("ORA-{:05}: {}.", i, "x".repeat(i as usize % 300)),
                })
                .collect();
            let outcome =
                Outcome { error: ERRORS_IN_ARRAY, message: "ORA-24381: x".into(), refused, ..Outcome::default() };
            let mut out = Vec::new();
            outcome.write(&mut out);
            let read = Outcome::read(&mut Reader::new(&out[1..]));
            // More errors than can be named show in the count of positions.
            assert_eq!(read, if n > u16::MAX.into() { Err(WireError::BadValue) } else { Ok(outcome) });
        }
        let one = Refused { execution: 2, error: 1, message: "m".into() };
        let mut out = Vec::new();
        write_refused(&mut Writer::new(&mut out), &[one]);
        assert_eq!(out, bytes("0101 02 0101 0101 02 0102 0101 00 0102 02 6d0a 0000"));
    }

    #[test]
    fn numbers_of_scales_are_written_as_the_client_reads_them() {
        let shape = value::of_type(&DataType::NUMBER).unwrap();
        let column = Column { name: "N".into(), shape, nullable: false };
        for client in
            [Client::USUAL, Client { byte_scale: false, ..Client::USUAL }, Client { field_version: 7, ..Client::USUAL }]
        {
            let mut out = Vec::new();
            write_describe(&mut out, std::slice::from_ref(&column), client);
            let read = read_describe(&mut Reader::new(&out[1..]), client).unwrap();
            assert_eq!(read, std::slice::from_ref(&column));
        }
        assert_eq!(shape.scale, -127);
    }
}
