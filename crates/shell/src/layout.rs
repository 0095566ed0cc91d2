//! Columns of a page: their widths, headings and values, and the `COLUMN` settings.
//!
//! Widths follow SQL*Plus: a number takes `NUMWIDTH` or its heading, whichever is wider, and is right-justified; a
//! character column takes the size of its type and cuts its heading to it; a date takes the size of its format.

use std::collections::HashMap;

use client::Column;
use types::{DataType, Value};

use crate::settings::{Markup, Settings};
use crate::text::{fold, left, right, width};

/// The settings of a `COLUMN` command for a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnFormat {
    pub format: Option<String>,
    pub heading: Option<String>,
    pub hidden: bool,
    pub justify: Option<Justify>,
    pub new_value: Option<String>,
    pub old_value: Option<String>,
    pub alias: Option<String>,
    /// Whether special characters of HTML are written as entities, if not as `SET MARKUP` says.
    pub entmap: Option<bool>,
    pub fold_before: bool,
    pub fold_after: bool,
    pub newline: bool,
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
pub(crate) struct Field {
    pub(crate) heading: Vec<String>,
    pub(crate) width: usize,
    pub(crate) numeric: bool,
    pub(crate) justify: Justify,
    pub(crate) hidden: bool,
    pub(crate) entmap: Option<bool>,
    fold_before: bool,
    fold_after: bool,
    data_type: DataType,
    wrapping: Wrapping,
    format: Option<String>,
    null: String,
}

pub(crate) fn field(settings: &Settings, column: &Column, formats: &ColumnFormats) -> Field {
    let none = ColumnFormat::default();
    let set = formats.get(&column.name.to_uppercase()).filter(|f| !f.off).unwrap_or(&none);
    let numeric = is_numeric(&column.data_type);
    // Only a heading of COLUMN is split at the mark; in a name the mark is a character.
    let heading: Vec<String> = match &set.heading {
        Some(heading) => match settings.headsep {
            Some(mark) => heading.split(mark).map(str::to_string).collect(),
            None => vec![heading.clone()],
        },
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
        entmap: set.entmap,
        fold_before: set.fold_before || set.newline,
        fold_after: set.fold_after,
    }
}

pub(crate) fn is_numeric(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Number { .. } | DataType::BinaryDouble | DataType::BinaryFloat)
}

fn default_width(settings: &Settings, column: &Column, heading: usize) -> usize {
    match &column.data_type {
        DataType::Clob | DataType::Nclob | DataType::Long | DataType::Xml => {
            let line = settings.linesize.max(1);
            settings.long.min(settings.longchunksize).max(heading.min(80)).min(line.max(heading.min(80)))
        }
        DataType::Blob => settings.long.min(settings.longchunksize).min(settings.linesize.max(1)),
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
pub(crate) fn break_lines(settings: &Settings, fields: &[Field]) -> Vec<Vec<usize>> {
    let gap = width(&settings.colsep);
    let mut lines: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    let mut folds = false;
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !field.hidden) {
        let fits = used + gap + field.width <= settings.linesize && !folds && !field.fold_before;
        folds = field.fold_after;
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

pub(crate) fn justified(text: &str, to: usize, how: Justify) -> String {
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
pub(crate) fn cell(settings: &Settings, field: &Field, value: &Value) -> Vec<String> {
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
        Value::Raw(locator) if field.data_type == DataType::Bfile => types::bfile::shown(locator),
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

/// The part of a text that `SET LONG` allows: that many characters of a CLOB or of XML, all of other types.
pub(crate) fn cut<'t>(settings: &Settings, data_type: &DataType, text: &'t str) -> &'t str {
    match text.char_indices().nth(settings.long) {
        Some((end, _)) if matches!(data_type, DataType::Clob | DataType::Xml) => &text[..end],
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
pub(crate) fn with_mark(text: String, nls: &types::Nls) -> String {
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
