//! The results of a statement: its rows, its cursors and bind variables, and the lines that report them.

use crate::layout::{cursor_text, text_of, without_cursors};
use crate::report::Report;
use crate::settings::{Markup, OutputFormat};
use crate::shell::{Shell, Variable};
use crate::text::fold;
use client::{Bind, ClientError, Outcome};
use types::{DataType, Value};

impl Shell<'_> {
    pub(crate) fn print_rows(&mut self, first: Outcome) -> Result<(), ClientError> {
        let columns = first.columns;
        let mut rows = first.rows;
        let mut more = first.done.more;
        let mut count = 0u64;
        let mut last: Option<Vec<Value>> = None;
        let settings = self.settings.clone();
        let formats = self.formats.clone();
        let mut report = Report::new(&settings, &columns, &formats, self.asker(), self.page_end);
        let mut text = String::new();
        let shown = !self.settings.autotrace.no_rows && !self.settings.feedback_only;
        let mut variables = std::mem::take(&mut self.variables);
        let nests = columns.iter().any(|c| c.data_type == DataType::Cursor);
        report.start(&mut text);
        loop {
            for row in &rows {
                count += 1;
                if nests && shown {
                    report.row(&without_cursors(row, &columns), &mut variables, &mut text);
                    self.write_pages(&text, &mut report.page_starts);
                    text.clear();
                    self.variables = variables;
                    self.print_nested(row, &columns)?;
                    variables = std::mem::take(&mut self.variables);
                } else if shown {
                    report.row(row, &mut variables, &mut text);
                } else if nests {
                    row.iter().zip(&columns).filter(|(_, c)| c.data_type == DataType::Cursor).for_each(|(value, _)| {
                        self.close_cursor(cursor_number(value));
                    });
                }
            }
            if shown {
                self.write_pages(&text, &mut report.page_starts);
            }
            text.clear();
            if let Some(row) = rows.pop() {
                last = Some(row);
            }
            if !more || self.out.broken {
                break;
            }
            let array = settings.arraysize;
            match self.with_session(|session| session.fetch(first.cursor, array)) {
                Ok(outcome) => {
                    rows = outcome.rows;
                    more = outcome.done.more;
                }
                Err(e) => {
                    self.page_end = report.finish(count, &mut variables, &mut text);
                    self.variables = variables;
                    self.out.write(&text);
                    return Err(e);
                }
            }
        }
        if shown {
            self.page_end = report.finish(count, &mut variables, &mut text);
            self.write_pages(&text, &mut report.page_starts);
        }
        self.variables = variables;
        self.last_rows = count;
        self.note_new_values(&columns, last.as_deref());
        self.rows_feedback(count);
        self.print_output();
        Ok(())
    }

    /// Writes the text of a report, and waits before each page that begins in it when `SET PAUSE` asks for that.
    fn write_pages(&mut self, text: &str, starts: &mut Vec<usize>) {
        let mut written = 0;
        for start in std::mem::take(starts) {
            self.out.write(&text[written..start]);
            written = start;
            if self.reader.is_terminal() {
                let prompt = self.settings.pause_text.clone();
                if !prompt.is_empty() {
                    self.out.line(&prompt);
                }
                self.out.flush();
                // Any answer, or the end of the input, ends the pause.
                let _ = self.reader.read("");
            }
        }
        self.out.write(&text[written..]);
    }

    /// Prints the cursors of a row after it.
    fn print_nested(&mut self, row: &[Value], columns: &[client::Column]) -> Result<(), ClientError> {
        for (at, column) in columns.iter().enumerate().filter(|(_, c)| c.data_type == DataType::Cursor) {
            if let Some(cursor) = row.get(at).and_then(cursor_number) {
                self.out.line("");
                self.out.line(&cursor_text(at));
                self.print_cursor(cursor, column.nested.clone())?;
            }
        }
        Ok(())
    }

    fn note_new_values(&mut self, columns: &[client::Column], last: Option<&[Value]>) {
        for (at, column) in columns.iter().enumerate() {
            let format = self.formats.get(&column.name.to_uppercase());
            let names = format.map(|f| [f.new_value.clone(), f.old_value.clone()]).unwrap_or_default();
            for name in names.into_iter().flatten() {
                match last {
                    Some(row) => self.variables.define(&name, &text_of(&row[at], &self.settings.nls)),
                    // Scripts give their parameters defaults so: a query without rows defines variables that are not
                    // defined yet, as empty ones.
                    None if self.variables.get(&name).is_none() => self.variables.define(&name, ""),
                    None => {}
                }
            }
        }
    }

    fn rows_feedback(&mut self, count: u64) {
        if matches!(self.settings.markup, Markup::Csv | Markup::Json) {
            return;
        }
        let Some(least) = self.settings.feedback else {
            return;
        };
        match count {
            0 => {
                self.out.line("");
                self.out.line("no rows selected");
                self.out.line("");
            }
            n if n >= least => {
                self.out.line(&format!("{n} row{} selected.", if n == 1 { "" } else { "s" }));
                self.out.line("");
            }
            _ => {}
        }
    }

    pub(crate) fn feedback(&mut self, outcome: &Outcome) {
        self.last_rows = outcome.done.rows;
        let Some(line) = outcome.done.kind.feedback_line(outcome.done.rows) else {
            return;
        };
        if self.settings.feedback.is_none() {
            return;
        }
        self.out.line("");
        match &outcome.done.warning {
            Some(warning) if warning.code == 24344 => {
                let what = line.trim_end_matches("created.").trim_end_matches("altered.").trim_end();
                let verb = if line.contains("altered") { "altered" } else { "created" };
                self.out.line(&format!("Warning: {what} {verb} with compilation errors."));
            }
            _ => self.out.line(&line),
        }
        self.out.line("");
    }

    pub(crate) fn print_output(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let (style, wide) = (self.settings.output_format, self.settings.linesize.max(1));
        for line in session.take_output() {
            let line = line.as_deref().unwrap_or("");
            match style {
                OutputFormat::WordWrapped => {
                    for piece in fold(line.trim_start(), wide, true) {
                        self.out.line(&piece);
                    }
                }
                OutputFormat::Wrapped => {
                    for piece in fold(line, wide, false) {
                        self.out.line(&piece);
                    }
                }
                OutputFormat::Truncated => self.out.line(&line.chars().take(wide).collect::<String>()),
            }
        }
    }

    pub(crate) fn take_binds(&mut self, binds: &[Bind], outcome: &Outcome) {
        for (at, value) in &outcome.done.out {
            let name = binds.get(*at as usize).and_then(|bind| bind.name.as_deref());
            if let Some(name) = name
                && let Some((_, variable)) = self.binds.iter_mut().find(|(known, _)| known == name)
            {
                let before = std::mem::replace(&mut variable.value, value.clone());
                if variable.data_type == DataType::Cursor {
                    let known = outcome.done.cursors.iter().find(|(n, _)| cursor_number(value) == Some(*n));
                    variable.columns = known.map_or(Vec::new(), |(_, columns)| columns.clone());
                    if before != *value {
                        self.close_cursor(cursor_number(&before));
                    }
                }
            }
        }
    }

    fn close_cursor(&mut self, cursor: Option<u32>) {
        if let (Some(cursor), Some(session)) = (cursor, &mut self.session) {
            // The next call reports a failure.
            let _ = session.close_cursor(cursor);
        }
    }

    /// Prints all rows of a cursor value, and closes it.
    pub(crate) fn print_cursor(&mut self, cursor: u32, columns: Vec<client::Column>) -> Result<(), ClientError> {
        let array = self.settings.arraysize;
        let first = self.with_session(|session| session.fetch(cursor, array));
        let printed = first.and_then(|first| {
            // Over the network the columns arrive with the rows.
            let columns = if first.columns.is_empty() { columns } else { first.columns };
            self.print_rows(Outcome { columns, cursor, done: first.done, output: first.output, rows: first.rows })
        });
        self.close_cursor(Some(cursor));
        printed
    }

    /// Prints the implicit results of a block.
    pub(crate) fn print_results(&mut self, outcome: &Outcome) -> Result<(), ClientError> {
        for (at, result) in outcome.done.results.iter().enumerate() {
            let known = outcome.done.cursors.iter().find(|(cursor, _)| cursor == result);
            if let Some((cursor, columns)) = known {
                self.out.line(&format!("ResultSet #{}", at + 1));
                self.print_cursor(*cursor, columns.clone())?;
            }
        }
        Ok(())
    }

    /// `SET AUTOPRINT ON`: prints the bind variables that a block named.
    pub(crate) fn print_binds(&mut self, binds: &[Bind]) {
        for bind in binds {
            let name = bind.name.as_deref().unwrap_or("");
            if let Some(found) = self.binds.iter().find(|(known, _)| known == name).cloned() {
                self.print_variable(found);
            }
        }
    }

    pub(crate) fn print_variable(&mut self, (name, variable): (String, Variable)) {
        if variable.data_type == DataType::Cursor {
            return self.print_reference(&name);
        }
        let column = client::Column {
            name,
            // The buffer of a bind has at least 32 characters.
            display_size: match &variable.data_type {
                DataType::Varchar2 { len, .. } | DataType::Char { len, .. } => (*len).max(32),
                _ => 32,
            },
            data_type: variable.data_type,
            nullable: true,
            nested: Vec::new(),
        };
        let columns = [column];
        let settings = self.settings.clone();
        let mut report = Report::new(&settings, &columns, &self.formats, self.asker(), self.page_end);
        let mut text = String::new();
        report.start(&mut text);
        report.row(&[variable.value], &mut self.variables, &mut text);
        self.page_end = report.finish(1, &mut self.variables, &mut text);
        self.out.write(&text);
    }

    /// Prints the rows of an open REFCURSOR once, which closes it.
    fn print_reference(&mut self, name: &str) {
        let variable = self.binds.iter_mut().find(|(known, _)| known == name).map(|(_, variable)| variable);
        let open = variable.and_then(|v| {
            let cursor = cursor_number(&std::mem::replace(&mut v.value, Value::Null))?;
            Some((cursor, std::mem::take(&mut v.columns)))
        });
        let printed = match open {
            Some((cursor, columns)) => self.print_cursor(cursor, columns).map_err(|e| e.to_string()),
            None => Err(types::Ora::new(24338).to_string()),
        };
        if let Err(e) = printed {
            self.out.line("ERROR:");
            self.out.line(&e);
            self.out.line("");
            self.out.line("");
            self.out.line(&format!("SP2-0625: Error printing variable \"{}\"", name.to_lowercase()));
        }
    }
}

/// The number of a cursor value.
fn cursor_number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(n) => n.as_i64().and_then(|n| u32::try_from(n).ok()),
        _ => None,
    }
}
