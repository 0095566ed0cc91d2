//! Results on pages: column widths, headings, wrapping, `COLUMN` settings, `BREAK`.
//!
//! Widths follow SQL*Plus: a number takes `NUMWIDTH` or its heading, whichever is wider, and is right-justified; a
//! character column takes the size of its type and cuts its heading to it; a date takes the size of its format.

use std::collections::HashMap;

use client::Column;
use types::{DataType, Value, escape};

use crate::settings::{Break, Markup, Settings};
use crate::text::{fold, left, right, width};

/// The settings of a `COLUMN` command for a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnFormat {
    pub format: Option<String>,
    pub heading: Option<String>,
    pub hidden: bool,
    pub justify: Option<Justify>,
    pub new_value: Option<String>,
    pub null: Option<String>,
    pub wrapping: Option<Wrapping>,
    pub off: bool,
}

/// The position of a heading over its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Justify {
    Left,
    Center,
    Right,
}

/// The treatment of a value wider than its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    Wrapped,
    WordWrapped,
    Truncated,
}

/// The `COLUMN` settings, by column name in upper case.
pub type ColumnFormats = HashMap<String, ColumnFormat>;

/// The layout of one column.
struct Field {
    heading: Vec<String>,
    width: usize,
    numeric: bool,
    data_type: DataType,
    justify: Justify,
    wrapping: Wrapping,
    format: Option<String>,
    null: String,
    hidden: bool,
}

/// Lays out and prints the rows of one query.
pub struct Report<'a> {
    settings: &'a Settings,
    columns: &'a [Column],
    fields: Vec<Field>,
    /// Indexes of the fields, line by line, for rows that do not fit into `LINESIZE`.
    lines: Vec<Vec<usize>>,
    /// Lines left on the page.
    left_on_page: usize,
    /// The fields of `BREAK`, outermost first, with their values in the last row.
    breaks: Vec<(usize, Break, Option<Vec<String>>)>,
    /// An HTML table has been opened.
    is_open: bool,
}

impl<'a> Report<'a> {
    /// Prepares the layout of a query's columns.
    pub fn new(settings: &'a Settings, columns: &'a [Column], formats: &ColumnFormats) -> Report<'a> {
        let fields: Vec<Field> = columns.iter().map(|column| field(settings, column, formats)).collect();
        let lines = break_lines(settings, &fields);
        let place = |b: &Break| columns.iter().position(|c| c.name.eq_ignore_ascii_case(&b.column));
        let breaks = settings.breaks.iter().filter_map(|b| Some((place(b)?, b.clone(), None))).collect();
        Report { settings, columns, fields, lines, left_on_page: 0, breaks, is_open: false }
    }

    /// The output before the first row.
    pub fn start(&mut self, out: &mut String) {
        match self.settings.markup {
            Markup::Csv if self.settings.heading => {
                let names: Vec<String> = self.columns.iter().map(|c| csv_text(&c.name)).collect();
                out.push_str(&names.join(","));
                out.push('\n');
            }
            _ => {}
        }
    }

    /// Prints a row.
    pub fn row(&mut self, row: &[Value], out: &mut String) {
        if self.settings.markup == Markup::Html && !std::mem::replace(&mut self.is_open, true) {
            let html = &self.settings.html;
            out.push_str(&if html.preformat { "<p>\n<pre>\n".into() } else { html.table_begins() });
        }
        match self.settings.markup {
            Markup::Csv => self.csv_row(row, out),
            Markup::Json => self.json_row(row, out),
            Markup::Text => self.text_row(row, out),
            Markup::Html if self.settings.html.preformat => {
                let mut text = String::new();
                self.text_row(row, &mut text);
                out.push_str(&self.settings.html.text(&text));
            }
            Markup::Html => self.html_row(row, out),
        }
    }

    /// The output after the last row.
    pub fn finish(&mut self, rows: u64, out: &mut String) {
        if self.is_open {
            out.push_str(if self.settings.html.preformat { "</pre>\n<p>\n" } else { "</table>\n<p>\n" });
        }
        if self.settings.markup == Markup::Text && rows > 0 && (self.settings.pagesize > 0 || self.tells(rows)) {
            out.push('\n');
        }
    }

    /// Whether FEEDBACK prints the number of rows.
    fn tells(&self, rows: u64) -> bool {
        self.settings.feedback.is_some_and(|least| rows >= least)
    }

    fn csv_row(&self, row: &[Value], out: &mut String) {
        for (at, (column, value)) in self.columns.iter().zip(row).enumerate() {
            if at > 0 {
                out.push(',');
            }
            match value {
                Value::Null => {}
                Value::Number(n) => {
                    let text = with_mark(n.to_string(), &self.settings.nls);
                    // A comma in the text would end the field.
                    out.push_str(&if text.contains(',') { csv_text(&text) } else { text });
                }
                other => {
                    let text = text_of(other, &self.settings.nls);
                    out.push_str(&csv_text(cut(self.settings, &column.data_type, &text)));
                }
            }
        }
        out.push('\n');
    }

    fn json_row(&self, row: &[Value], out: &mut String) {
        out.push('{');
        for (at, (column, value)) in self.columns.iter().zip(row).enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&escape::json(&column.name));
            out.push(':');
            match value {
                Value::Null => out.push_str("null"),
                Value::Number(n) => out.push_str(&json_number(&n.to_string())),
                Value::Double(_) | Value::Float(_) => {
                    out.push_str(&escape::json(&text_of(value, &types::Nls::default())));
                }
                other => {
                    let text = text_of(other, &self.settings.nls);
                    out.push_str(&escape::json(cut(self.settings, &column.data_type, &text)));
                }
            }
        }
        out.push_str("}\n");
    }

    /// A row of an HTML table; each page repeats the headings.
    fn html_row(&mut self, row: &[Value], out: &mut String) {
        let mut cells: Vec<Vec<String>> =
            self.fields.iter().zip(row).map(|(field, value)| cell(self.settings, field, value)).collect();
        // An HTML table has no empty lines before a new value of BREAK.
        self.break_rows(&mut cells, &mut String::new());
        let shown = || self.fields.iter().enumerate().filter(|(_, field)| !field.hidden);
        if self.settings.pagesize > 0 && self.left_on_page == 0 {
            if self.settings.heading {
                let headings: Vec<String> = shown().map(|(_, field)| field.heading.join("\n")).collect();
                out.push_str(&self.settings.html.row("th", headings.iter().map(|text| (text.as_str(), false))));
            }
            self.left_on_page = self.settings.pagesize;
        }
        let values: Vec<(String, bool)> =
            shown().map(|(at, field)| (cells[at].join("\n").trim_end().to_string(), field.numeric)).collect();
        out.push_str(&self.settings.html.row("td", values.iter().map(|(text, numeric)| (text.as_str(), *numeric))));
        self.left_on_page = self.left_on_page.saturating_sub(1);
    }

    fn text_row(&mut self, row: &[Value], out: &mut String) {
        let mut cells: Vec<Vec<String>> =
            self.fields.iter().zip(row).map(|(field, value)| cell(self.settings, field, value)).collect();
        self.break_rows(&mut cells, out);
        let mut height = 0;
        let mut lines = Vec::new();
        for line in &self.lines {
            let tall = line.iter().map(|at| cells[*at].len()).max().unwrap_or(1);
            for piece in 0..tall {
                let mut text = String::new();
                for (place, at) in line.iter().enumerate() {
                    if place > 0 {
                        text.push_str(&self.settings.colsep);
                    }
                    let field = &self.fields[*at];
                    let part = cells[*at].get(piece).map(String::as_str).unwrap_or("");
                    text.push_str(&if field.numeric { right(part, field.width) } else { left(part, field.width) });
                }
                lines.push(text);
                height += 1;
            }
        }
        let folded = lines.len() > self.lines.len();
        let needed = height + usize::from(folded);
        if self.settings.pagesize > 0 && self.left_on_page < needed {
            self.page_top(out);
        }
        for line in lines {
            self.put(&line, out);
        }
        if folded {
            out.push('\n');
        }
        self.left_on_page = self.left_on_page.saturating_sub(needed);
    }

    /// Blanks the repeated values of `BREAK` columns, and skips lines before new values.
    fn break_rows(&mut self, cells: &mut [Vec<String>], out: &mut String) {
        let mut changed = false;
        let mut skip = 0;
        let mut page = false;
        for (at, rule, last) in &mut self.breaks {
            let same = !changed && last.as_ref() == Some(&cells[*at]);
            if same {
                if !rule.duplicates {
                    cells[*at] = vec![String::new()];
                }
                continue;
            }
            if last.is_some() {
                skip = skip.max(rule.skip);
                page |= rule.page;
            }
            changed = true;
            *last = Some(cells[*at].clone());
        }
        if page && self.settings.pagesize > 0 {
            self.left_on_page = 0;
        } else if skip > 0 {
            out.push_str(&"\n".repeat(skip));
            self.left_on_page = self.left_on_page.saturating_sub(skip);
        }
    }

    fn page_top(&mut self, out: &mut String) {
        let settings = self.settings;
        for _ in 0..settings.newpage {
            out.push('\n');
        }
        let mut used = settings.newpage;
        if settings.heading {
            for line in self.lines.clone() {
                let tall = line.iter().map(|at| self.fields[*at].heading.len()).max().unwrap_or(1);
                for piece in 0..tall {
                    let mut text = String::new();
                    for (place, at) in line.iter().enumerate() {
                        if place > 0 {
                            text.push_str(&settings.colsep);
                        }
                        let field = &self.fields[*at];
                        // Shorter headings stand at the bottom.
                        let gap = tall - field.heading.len();
                        let part = piece.checked_sub(gap).map_or("", |i| field.heading[i].as_str());
                        text.push_str(&justified(part, field.width, field.justify));
                    }
                    self.put(&text, out);
                    used += 1;
                }
                if let Some(underline) = settings.underline {
                    let rules: Vec<String> =
                        line.iter().map(|at| underline.to_string().repeat(self.fields[*at].width)).collect();
                    self.put(&rules.join(&settings.colsep), out);
                    used += 1;
                }
            }
        }
        self.left_on_page = settings.pagesize.saturating_sub(used).max(1);
    }

    fn put(&self, line: &str, out: &mut String) {
        let line = if self.settings.trimout { line.trim_end() } else { line };
        out.push_str(line);
        out.push('\n');
    }
}

fn field(settings: &Settings, column: &Column, formats: &ColumnFormats) -> Field {
    let none = ColumnFormat::default();
    let set = formats.get(&column.name.to_uppercase()).filter(|f| !f.off).unwrap_or(&none);
    let numeric = is_numeric(&column.data_type);
    // Only a heading of COLUMN is split at the mark; in a name the mark is a character.
    let heading: Vec<String> = match &set.heading {
        Some(heading) => heading.split(settings.headsep).map(str::to_string).collect(),
        // The name of an object is combined with those of its attributes.
        None if matches!(column.data_type, DataType::Named(_)) && !column.nested.is_empty() => {
            let attributes: Vec<&str> = column.nested.iter().map(|a| a.name.as_str()).collect();
            vec![format!("{}({})", column.name, attributes.join(", "))]
        }
        None => vec![column.name.clone()],
    };
    let heading_width = heading.iter().map(|line| width(line)).max().unwrap_or(0);
    let text_format = set.format.as_deref().and_then(|f| f.strip_prefix(['a', 'A'])).and_then(|w| w.parse().ok());
    let number_format = match text_format {
        Some(_) => None,
        None => set
            .format
            .clone()
            .or_else(|| Some(settings.numformat.clone()).filter(|f| !f.is_empty()))
            .filter(|_| numeric),
    };
    let wide = match (text_format, &number_format) {
        // The browser lays out texts: nothing is folded.
        _ if !numeric && settings.markup == Markup::Html && !settings.html.preformat => usize::from(u16::MAX),
        (Some(width), _) if !numeric => width,
        (_, Some(format)) => (format_width(format) + 1).max(heading_width),
        _ if numeric => settings.numwidth.max(heading_width),
        _ => default_width(settings, column, heading_width),
    };
    Field {
        heading: heading.iter().flat_map(|line| fold(line, wide.max(1), false).into_iter().take(1)).collect(),
        width: wide.max(1),
        numeric,
        data_type: column.data_type,
        justify: set.justify.unwrap_or(if numeric { Justify::Right } else { Justify::Left }),
        wrapping: set.wrapping.unwrap_or(if settings.wrap { Wrapping::Wrapped } else { Wrapping::Truncated }),
        format: number_format,
        null: set.null.clone().unwrap_or_else(|| settings.null.clone()),
        hidden: set.hidden,
    }
}

fn is_numeric(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Number { .. } | DataType::BinaryDouble | DataType::BinaryFloat)
}

fn default_width(settings: &Settings, column: &Column, heading: usize) -> usize {
    match &column.data_type {
        DataType::Clob => settings.long.min(80).max(heading.min(80)),
        DataType::Blob => settings.long.min(80),
        // The width of the date format, at least 9.
        DataType::Date => (column.display_size as usize).max(9),
        _ => (column.display_size as usize).min(settings.linesize.max(1)).max(1),
    }
}

/// Width of a number in a number format.
fn format_width(format: &str) -> usize {
    let upper = format.to_ascii_uppercase();
    let mut wide = width(&upper);
    for (mark, extra) in [("EEEE", 1), ("FM", 0), ("L", 9)] {
        if upper.contains(mark) {
            wide += extra;
        }
    }
    wide
}

/// Groups the visible fields into lines that fit `LINESIZE`.
fn break_lines(settings: &Settings, fields: &[Field]) -> Vec<Vec<usize>> {
    let gap = width(&settings.colsep);
    let mut lines: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !field.hidden) {
        let fits = used + gap + field.width <= settings.linesize;
        match lines.last_mut() {
            Some(line) if fits => {
                line.push(at);
                used += gap + field.width;
            }
            _ => {
                lines.push(vec![at]);
                used = field.width;
            }
        }
    }
    lines
}

fn justified(text: &str, to: usize, how: Justify) -> String {
    match how {
        Justify::Left => left(text, to),
        Justify::Right => left(&right(text, to), to),
        Justify::Center => {
            let before = to.saturating_sub(width(text)) / 2;
            left(&format!("{}{text}", " ".repeat(before)), to)
        }
    }
}

/// The lines of a value in its field.
fn cell(settings: &Settings, field: &Field, value: &Value) -> Vec<String> {
    let text = match value {
        Value::Null => field.null.clone(),
        Value::Number(number) => {
            return vec![match &field.format {
                Some(format) => formatted(number, format, field.width, &settings.nls),
                None => {
                    let mut text = String::new();
                    types::format::number_in_width(number, field.width, &mut text);
                    with_mark(text, &settings.nls)
                }
            }];
        }
        Value::IntervalDs(i) => {
            let (days, digits) = match field.data_type {
                DataType::IntervalDs { days, digits } => (days, digits),
                _ => (2, 6),
            };
            let mut text = String::new();
            types::format::interval_ds_to_text(i, days, digits, &mut text);
            text
        }
        Value::IntervalYm(i) => {
            let years = if let DataType::IntervalYm { years } = field.data_type { years } else { 2 };
            let mut text = String::new();
            types::format::interval_ym_to_text(i, years, &mut text);
            text
        }
        Value::Timestamp(_) => match field.data_type {
            DataType::Timestamp { digits, .. } => text_of(value, &with_digits(&settings.nls, digits)),
            _ => text_of(value, &settings.nls),
        },
        other => text_of(other, &settings.nls),
    };
    let text = cut(settings, &field.data_type, &text);
    // The lines of USER_SOURCE end with a line feed, which adds no line.
    let text = text.strip_suffix('\n').unwrap_or(text);
    match field.wrapping {
        Wrapping::Truncated => vec![text.lines().next().unwrap_or("").chars().take(field.width).collect()],
        Wrapping::Wrapped => fold(text, field.width, false),
        Wrapping::WordWrapped => fold(text, field.width, true),
    }
}

/// The text for a cursor in a row, and above its rows; columns count from 0.
pub(crate) fn cursor_text(column: usize) -> String {
    format!("CURSOR STATEMENT : {}", column + 1)
}

/// A row with texts in place of its cursors.
pub(crate) fn without_cursors(row: &[Value], columns: &[Column]) -> Vec<Value> {
    let one = |(at, (value, column)): (usize, (&Value, &Column))| match column.data_type {
        DataType::Cursor if !value.is_null() => Value::Text(cursor_text(at)),
        _ => value.clone(),
    };
    row.iter().zip(columns).enumerate().map(one).collect()
}

/// The part of a text that `SET LONG` allows: that many characters of a CLOB, all of other types.
fn cut<'t>(settings: &Settings, data_type: &DataType, text: &'t str) -> &'t str {
    match text.char_indices().nth(settings.long) {
        Some((end, _)) if matches!(data_type, DataType::Clob) => &text[..end],
        _ => text,
    }
}

/// The session's formats, with the column type's digits of fractional seconds where the formats give no number.
fn with_digits(nls: &types::Nls, digits: u8) -> types::Nls {
    let mut nls = nls.clone();
    for model in [&mut nls.timestamp_format, &mut nls.timestamp_tz_format] {
        let Some(at) = model.to_uppercase().find("FF") else { continue };
        if model[at + 2..].starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        match digits {
            0 => {
                let from = if model[..at].to_uppercase().ends_with('X') { at - 1 } else { at };
                model.replace_range(from..at + 2, "");
            }
            n => model.insert_str(at + 2, &n.to_string()),
        }
    }
    nls
}

fn formatted(number: &types::Number, format: &str, to: usize, nls: &types::Nls) -> String {
    let mut text = String::new();
    match types::format::number_to_char(number, format, nls, &mut text) {
        Ok(()) => text.trim().to_string(),
        Err(_) => "#".repeat(to),
    }
}

/// A number with the session's decimal character.
fn with_mark(text: String, nls: &types::Nls) -> String {
    if nls.decimal == '.' { text } else { text.replace('.', nls.decimal.encode_utf8(&mut [0; 4])) }
}

/// A value as text by the session's formats; empty for NULL.
pub fn text_of(value: &Value, nls: &types::Nls) -> String {
    let mut text = String::new();
    match value.write_text(nls, &mut text) {
        Ok(()) => text,
        Err(e) => e.to_string(),
    }
}

fn csv_text(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// An Oracle number as JSON requires it: `.5` becomes `0.5`.
fn json_number(text: &str) -> String {
    match text.strip_prefix("-.") {
        Some(rest) => format!("-0.{rest}"),
        None if text.starts_with('.') => format!("0{text}"),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_and_completes_numbers() {
        assert_eq!(json_number(".5"), "0.5");
        assert_eq!(json_number("-.5"), "-0.5");
        assert_eq!(csv_text("a\"b"), "\"a\"\"b\"");
    }
}
