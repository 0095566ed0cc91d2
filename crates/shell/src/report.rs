//! Results on pages: titles, headings, rows, breaks and their computations.
//!
//! Lines flow from page to page as SQL*Plus lets them: a record of several lines may begin on one page and end on the
//! next. The bottom title stands on the last lines of each page. A page ends when the next line needs a place, so that
//! the bottom title of the last page comes behind everything else.

use client::Column;
use types::{Date, Value, escape};

use crate::breaks::{Break, Function, On, Tally};
use crate::layout::{ColumnFormats, Field, break_lines, cell, cut, field, is_numeric, justified, text_of, with_mark};
use crate::settings::{Markup, Recsep, Settings};
use crate::substitute::Variables;
use crate::text::{left, right};
use crate::titles::{Facts, Title};

/// A column with computations at a break.
struct Computed {
    field: usize,
    functions: Vec<(Function, String)>,
    tally: Tally,
}

/// A break of the report.
struct Level {
    rule: Break,
    /// The column whose changes break; `None`: every row, or the end of the report.
    field: Option<usize>,
    /// The lines of the column in the last row.
    last: Option<Vec<String>>,
    computed: Vec<Computed>,
}

/// The session that asks for the report, for its titles.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    pub user: String,
    /// The code of the last statement.
    pub code: i64,
}

/// The place on the page at the end of a report, for `SHOW LNO`, `SHOW PNO` and `SET EMBEDDED`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageEnd {
    pub page: u64,
    pub left: usize,
}

/// A variable that follows a column: its name, the column, whether it has the value of the row before.
struct Follower {
    name: String,
    field: usize,
    old: bool,
}

/// Lays out and prints the rows of one query.
pub struct Report<'a> {
    settings: &'a Settings,
    columns: &'a [Column],
    fields: Vec<Field>,
    /// Indexes of the fields, line by line, for rows that do not fit into `LINESIZE`.
    lines: Vec<Vec<usize>>,
    /// The first column that does not fit and is left out, under `SET WRAP OFF`.
    left_out: Option<usize>,
    page: u64,
    /// Lines left for rows on the page.
    left_on_page: usize,
    /// No page has begun yet.
    is_unbegun: bool,
    /// A page has begun and its bottom title is to come.
    is_page_open: bool,
    /// The breaks, outermost first.
    levels: Vec<Level>,
    followers: Vec<Follower>,
    /// The texts of the followers' columns in the last row.
    last_texts: Vec<String>,
    asker: Asker,
    has_rows: bool,
    /// An HTML table has been opened.
    is_open: bool,
    /// The places in the text at which pages begin, under `SET PAUSE ON`.
    pub page_starts: Vec<usize>,
}

impl<'a> Report<'a> {
    /// Prepares the layout of a query's columns. `before`: the end of the report before it.
    pub fn new(
        settings: &'a Settings,
        columns: &'a [Column],
        formats: &ColumnFormats,
        asker: Asker,
        before: PageEnd,
    ) -> Report<'a> {
        let fields: Vec<Field> = columns.iter().map(|column| field(settings, column, formats)).collect();
        let mut lines = break_lines(settings, &fields);
        let mut left_out = None;
        if !settings.wrap && lines.len() > 1 {
            left_out = lines[1].first().copied();
            lines.truncate(1);
        }
        let levels = levels(settings, columns, formats);
        let mut followers = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let Some(format) = formats.get(&column.name.to_uppercase()) else { continue };
            for (name, old) in [(&format.new_value, false), (&format.old_value, true)] {
                if let Some(name) = name {
                    followers.push(Follower { name: name.clone(), field: at, old });
                }
            }
        }
        let (page, left_on_page) = if settings.embedded { (before.page, before.left) } else { (0, 0) };
        Report {
            settings,
            columns,
            fields,
            lines,
            left_out,
            page,
            left_on_page,
            is_unbegun: true,
            is_page_open: settings.embedded && left_on_page > 0,
            levels,
            last_texts: vec![String::new(); followers.len()],
            followers,
            asker,
            has_rows: false,
            is_open: false,
            page_starts: Vec::new(),
        }
    }

    /// The output before the first row.
    pub fn start(&mut self, out: &mut String) {
        match self.settings.markup {
            Markup::Csv if self.settings.heading => {
                let names: Vec<String> = self.columns.iter().map(|c| csv_text(&c.name)).collect();
                out.push_str(&names.join(","));
                out.push('\n');
            }
            Markup::Text => {
                if let Some(at) = self.left_out {
                    out.push_str(&format!(
                        "truncating (as requested) before column {}\n\n",
                        self.columns[at].name.to_uppercase()
                    ));
                }
            }
            _ => {}
        }
    }

    /// Prints a row.
    pub fn row(&mut self, row: &[Value], variables: &mut Variables, out: &mut String) {
        if self.settings.markup == Markup::Html && !std::mem::replace(&mut self.is_open, true) {
            let html = &self.settings.html;
            out.push_str(&if html.preformat { "<p>\n<pre>\n".into() } else { html.table_begins() });
        }
        match self.settings.markup {
            Markup::Csv => self.csv_row(row, out),
            Markup::Json => self.json_row(row, out),
            Markup::Text => self.page_row(row, variables, out),
            Markup::Html if self.settings.html.preformat => {
                let mut text = String::new();
                self.page_row(row, variables, &mut text);
                out.push_str(&self.settings.html.text(&text));
            }
            Markup::Html => self.page_row(row, variables, out),
        }
        self.has_rows = true;
    }

    /// The output after the last row. Returns the place where the report ends.
    pub fn finish(&mut self, rows: u64, variables: &mut Variables, out: &mut String) -> PageEnd {
        if self.has_rows && matches!(self.settings.markup, Markup::Text | Markup::Html) {
            self.follow_old(variables);
            let mut text = String::new();
            self.end_levels(0, true, variables, &mut text);
            self.own_titles(variables, &mut text);
            if !self.settings.embedded {
                self.close_page(variables, &mut text);
            }
            let pre = self.settings.markup == Markup::Html && self.settings.html.preformat;
            out.push_str(&if pre { self.settings.html.text(&text) } else { text });
        }
        if self.is_open {
            out.push_str(if self.settings.html.preformat { "</pre>\n<p>\n" } else { "</table>\n<p>\n" });
        }
        if self.settings.markup == Markup::Text && rows > 0 && (self.settings.pagesize > 0 || self.tells(rows)) {
            out.push('\n');
        }
        PageEnd { page: self.page, left: self.left_on_page }
    }

    /// Whether FEEDBACK prints the number of rows.
    fn tells(&self, rows: u64) -> bool {
        self.settings.feedback.is_some_and(|least| rows >= least)
    }

    fn is_table(&self) -> bool {
        self.settings.markup == Markup::Html && !self.settings.html.preformat
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

    /// A row among titles, headings and breaks.
    fn page_row(&mut self, row: &[Value], variables: &mut Variables, out: &mut String) {
        let mut cells: Vec<Vec<String>> =
            self.fields.iter().zip(row).map(|(field, value)| cell(self.settings, field, value)).collect();
        if self.has_rows {
            self.follow_old(variables);
            if let Some(from) = self.changed(&cells) {
                self.end_levels(from, false, variables, out);
            }
        }
        self.follow_new(row, variables);
        if !self.has_rows && self.is_page_open && self.settings.heading {
            // An embedded report begins in the middle of a page.
            let used = self.headings(out);
            self.left_on_page = self.left_on_page.saturating_sub(used);
        }
        let mut fresh = false;
        if self.settings.pagesize > 0 && self.left_on_page == 0 {
            self.turn_page(variables, out);
            fresh = true;
        }
        self.blank_repeated(&mut cells, fresh);
        self.emit(&cells, variables, out);
        for level in &mut self.levels {
            for computed in &mut level.computed {
                let spreads = computed.functions.iter().any(|(f, _)| matches!(f, Function::Std | Function::Variance));
                computed.tally.add(&row[computed.field], spreads);
            }
        }
    }

    /// The outermost break that a row causes.
    fn changed(&self, cells: &[Vec<String>]) -> Option<usize> {
        self.levels.iter().position(|level| match (&level.rule.on, level.field) {
            (On::Row, _) => true,
            (_, Some(at)) => level.last.as_ref() != Some(&cells[at]),
            _ => false,
        })
    }

    /// Blanks the values that repeat those of the row before; the first row of a page has all its values.
    fn blank_repeated(&mut self, cells: &mut [Vec<String>], fresh: bool) {
        let mut changed = fresh;
        for level in &mut self.levels {
            let Some(at) = level.field else { continue };
            changed |= level.last.as_ref() != Some(&cells[at]);
            if changed {
                level.last = Some(cells[at].clone());
            } else if !level.rule.duplicates {
                cells[at] = vec![String::new()];
            }
        }
    }

    /// Prints the computations and does the actions of the breaks from the innermost to `from`.
    fn end_levels(&mut self, from: usize, at_end: bool, variables: &mut Variables, out: &mut String) {
        let mut page = false;
        for at in (from..self.levels.len()).rev() {
            let is_report = self.levels[at].rule.on == On::Report;
            if is_report && !at_end {
                continue;
            }
            for cells in self.computations(at) {
                self.emit(&cells, variables, out);
            }
            for computed in &mut self.levels[at].computed {
                computed.tally = Tally::default();
            }
            page |= self.levels[at].rule.page;
            // Nothing follows the report's own break.
            let skips = !self.levels[at].rule.page && !is_report;
            if skips {
                self.skip(self.levels[at].rule.skip, out);
            }
        }
        if page && !at_end && self.settings.pagesize > 0 {
            self.close_page(variables, out);
            self.left_on_page = 0;
        }
    }

    /// The lines of a break's computations: a rule, and one line for each function.
    fn computations(&self, at: usize) -> Vec<Vec<Vec<String>>> {
        let level = &self.levels[at];
        let mut functions: Vec<(Function, &str)> = Vec::new();
        for (function, label) in level.computed.iter().flat_map(|computed| &computed.functions) {
            if !functions.iter().any(|(known, _)| known == function) {
                functions.push((*function, label));
            }
        }
        if functions.is_empty() {
            return Vec::new();
        }
        functions.sort_by_key(|(function, _)| *function);
        let is_computed = |field: usize| level.computed.iter().any(|computed| computed.field == field);
        // The label of a report or row stands in the first column, unless that is computed itself.
        let label_at = match (&level.rule.on, level.field) {
            (On::Column(_), Some(at)) => Some(at).filter(|at| !self.fields[*at].hidden),
            _ => self.lines.first().and_then(|line| line.first()).copied(),
        };
        let label_at = label_at.filter(|at| !is_computed(*at));
        let mut rule: Vec<Vec<String>> = vec![vec![String::new()]; self.fields.len()];
        if let (On::Column(_), Some(at)) = (&level.rule.on, level.field) {
            rule[at] = vec!["*".repeat(self.fields[at].width)];
        }
        for computed in &level.computed {
            rule[computed.field] = vec!["-".repeat(self.fields[computed.field].width)];
        }
        let mut lines = if self.is_table() { Vec::new() } else { vec![rule] };
        for (function, label) in functions {
            let mut cells: Vec<Vec<String>> = vec![vec![String::new()]; self.fields.len()];
            if let Some(at) = label_at {
                cells[at] = vec![left(label, self.fields[at].width)];
            }
            for computed in &level.computed {
                if computed.functions.iter().any(|(known, _)| *known == function) {
                    let field = &self.fields[computed.field];
                    cells[computed.field] = match computed.tally.value(function) {
                        Ok(Value::Number(n)) if !field.numeric => {
                            let text = with_mark(n.to_string(), &self.settings.nls);
                            vec![if text.len() <= field.width {
                                right(&text, field.width)
                            } else {
                                "#".repeat(field.width)
                            }]
                        }
                        Ok(Value::Null) => vec![String::new()],
                        Ok(value) => cell(self.settings, field, &value),
                        Err(()) => vec!["#".repeat(field.width)],
                    };
                }
            }
            lines.push(cells);
        }
        lines
    }

    /// Empty lines of a break; they end with the page.
    fn skip(&mut self, lines: usize, out: &mut String) {
        if self.is_table() {
            return;
        }
        for _ in 0..lines {
            if self.settings.pagesize > 0 {
                if self.left_on_page == 0 {
                    return;
                }
                self.left_on_page -= 1;
            }
            out.push('\n');
        }
    }

    /// Prints one record.
    fn emit(&mut self, cells: &[Vec<String>], variables: &mut Variables, out: &mut String) {
        if self.is_table() {
            if self.settings.pagesize > 0 && self.left_on_page == 0 {
                self.turn_page(variables, out);
            }
            let shown = self.fields.iter().zip(cells).filter(|(field, _)| !field.hidden);
            let values: Vec<(String, &Field)> =
                shown.map(|(field, cell)| (cell.join("\n").trim_end().to_string(), field)).collect();
            let values = values.iter().map(|(text, field)| (text.as_str(), field.numeric, field.entmap));
            out.push_str(&self.settings.html.row("td", values));
            self.left_on_page = self.left_on_page.saturating_sub(1);
            return;
        }
        let mut lines = 0;
        for at in 0..self.lines.len() {
            let tall = self.lines[at].iter().map(|field| cells[*field].len()).max().unwrap_or(1);
            for piece in 0..tall {
                let mut text = String::new();
                for (place, at) in self.lines[at].iter().enumerate() {
                    if place > 0 {
                        text.push_str(&self.settings.colsep);
                    }
                    let field = &self.fields[*at];
                    let part = cells[*at].get(piece).map(String::as_str).unwrap_or("");
                    text.push_str(&if field.numeric { right(part, field.width) } else { left(part, field.width) });
                }
                self.flow(&text, variables, out);
                lines += 1;
            }
        }
        let separated = match self.settings.recsep {
            Recsep::Off => false,
            Recsep::Each => true,
            Recsep::Wrapped => lines > 1,
        };
        if separated {
            let line = self.settings.recsepchar.to_string().repeat(self.settings.linesize);
            self.flow(&line, variables, out);
        }
    }

    /// Prints a line where the page has room.
    fn flow(&mut self, line: &str, variables: &mut Variables, out: &mut String) {
        if self.settings.pagesize > 0 {
            if self.left_on_page == 0 {
                self.turn_page(variables, out);
            }
            self.left_on_page -= 1;
        }
        self.put(line, out);
    }

    /// Ends the page, if there is one, and begins the next one.
    fn turn_page(&mut self, variables: &Variables, out: &mut String) {
        self.close_page(variables, out);
        self.open_page(variables, out);
    }

    /// Fills the page up to its bottom title.
    fn close_page(&mut self, variables: &Variables, out: &mut String) {
        if !std::mem::take(&mut self.is_page_open) || !self.settings.titles.bottom.on || self.is_table() {
            return;
        }
        out.push_str(&"\n".repeat(self.left_on_page));
        self.left_on_page = 0;
        for line in self.title(&self.settings.titles.bottom, variables) {
            self.put(&line, out);
        }
    }

    fn open_page(&mut self, variables: &Variables, out: &mut String) {
        let settings = self.settings;
        self.page += 1;
        if settings.pause && settings.markup == Markup::Text {
            self.page_starts.push(out.len());
        }
        let mut used = self.page_head(variables, out);
        let header = &settings.titles.header;
        if header.on && std::mem::take(&mut self.is_unbegun) && !self.is_table() {
            let lines = self.title(header, variables);
            used += lines.len();
            lines.iter().for_each(|line| self.put(line, out));
            if header.own_page {
                self.left_on_page = settings.pagesize.saturating_sub(used + self.bottom_height(variables));
                self.is_page_open = true;
                self.close_page(variables, out);
                self.page += 1;
                used = self.page_head(variables, out);
            }
        }
        if settings.heading {
            used += self.headings(out);
        }
        self.is_page_open = true;
        self.left_on_page = settings.pagesize.saturating_sub(used + self.bottom_height(variables)).max(1);
    }

    /// The empty lines and the title above a page; returns their number.
    fn page_head(&self, variables: &Variables, out: &mut String) -> usize {
        if self.is_table() {
            return 0;
        }
        let mut used = 0;
        match self.settings.newpage {
            Some(0) => out.push('\x0c'),
            Some(lines) => {
                out.push_str(&"\n".repeat(lines));
                used = lines;
            }
            None => {}
        }
        if self.settings.titles.top.on {
            let lines = self.title(&self.settings.titles.top, variables);
            used += lines.len();
            lines.iter().for_each(|line| self.put(line, out));
        }
        used
    }

    fn bottom_height(&self, variables: &Variables) -> usize {
        let bottom = &self.settings.titles.bottom;
        if bottom.on { self.title(bottom, variables).len() } else { 0 }
    }

    /// The report's own footer.
    fn own_titles(&mut self, variables: &mut Variables, out: &mut String) {
        let footer = &self.settings.titles.footer;
        if !footer.on || self.is_table() || self.settings.pagesize == 0 {
            return;
        }
        if footer.own_page {
            self.close_page(variables, out);
            self.page += 1;
            let used = self.page_head(variables, out);
            self.is_page_open = true;
            let rest = self.settings.pagesize.saturating_sub(used + self.bottom_height(variables));
            self.left_on_page = rest.max(1);
        }
        for line in self.title(footer, variables) {
            self.flow(&line, variables, out);
        }
    }

    fn title(&self, title: &Title, variables: &Variables) -> Vec<String> {
        let settings = self.settings;
        let seconds = (os::clock::wall_ns() / 1_000_000_000) as i64;
        let local = seconds + i64::from(os::clock::utc_offset_seconds(seconds));
        let Ok(now) = Date::from_unix(local) else { return Vec::new() };
        let facts = Facts {
            linesize: settings.linesize,
            headsep: settings.headsep,
            numwidth: settings.numwidth,
            nls: &settings.nls,
            page: self.page,
            line: settings.pagesize.saturating_sub(self.left_on_page),
            user: &self.asker.user,
            code: self.asker.code,
            now,
            variables,
        };
        title.lines(&facts, std::ptr::eq(title, &raw const settings.titles.top))
    }

    /// Prints the headings; returns the number of their lines.
    fn headings(&self, out: &mut String) -> usize {
        let settings = self.settings;
        if self.is_table() {
            let shown = self.fields.iter().filter(|field| !field.hidden);
            let headings: Vec<(String, Option<bool>)> =
                shown.map(|field| (field.heading.join("\n"), field.entmap)).collect();
            let headings = headings.iter().map(|(text, entmap)| (text.as_str(), false, *entmap));
            out.push_str(&settings.html.row("th", headings));
            return 0;
        }
        let mut used = 0;
        for line in &self.lines {
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
        used
    }

    /// Gives the variables of `OLD_VALUE` the values of the last printed row, for the bottom title of its page.
    fn follow_old(&self, variables: &mut Variables) {
        for (follower, last) in self.followers.iter().zip(&self.last_texts).filter(|(follower, _)| follower.old) {
            variables.define(&follower.name, last);
        }
    }

    /// Gives the variables of `NEW_VALUE` the values of a row.
    fn follow_new(&mut self, row: &[Value], variables: &mut Variables) {
        for (follower, last) in self.followers.iter().zip(&mut self.last_texts) {
            *last = text_of(&row[follower.field], &self.settings.nls);
            if !follower.old {
                variables.define(&follower.name, last);
            }
        }
    }

    fn put(&self, line: &str, out: &mut String) {
        let line = if self.settings.trimout { line.trim_end() } else { line };
        out.push_str(line);
        out.push('\n');
    }
}

/// The breaks of a query, outermost first, with their computations. A break on a column that the query lacks is none.
fn levels(settings: &Settings, columns: &[Column], formats: &ColumnFormats) -> Vec<Level> {
    let place = |name: &str| {
        let is_alias = |c: &Column| {
            let format = formats.get(&c.name.to_uppercase());
            format.and_then(|f| f.alias.as_deref()).is_some_and(|alias| alias.eq_ignore_ascii_case(name))
        };
        columns.iter().position(|c| c.name.to_uppercase() == name || is_alias(c))
    };
    let mut levels: Vec<Level> = Vec::new();
    for rule in &settings.breaks {
        let field = match &rule.on {
            On::Column(name) => match place(name) {
                Some(at) => Some(at),
                None => continue,
            },
            On::Row | On::Report => None,
        };
        let computes = settings.computes.iter().filter(|compute| compute.on == rule.on);
        let computed = computes.filter_map(|compute| {
            let field = place(&compute.of)?;
            let numeric = is_numeric(&columns[field].data_type);
            let mut functions = compute.functions.clone();
            functions.retain(|(function, _)| numeric || !function.is_arithmetic());
            (!functions.is_empty()).then(|| Computed { field, functions, tally: Tally::default() })
        });
        levels.push(Level { rule: rule.clone(), field, last: None, computed: computed.collect() });
    }
    // The report is the outermost break and the row the innermost, wherever BREAK names them.
    levels.sort_by_key(|level| match level.rule.on {
        On::Report => 0,
        On::Column(_) => 1,
        On::Row => 2,
    });
    levels
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
