//! TABLE(collection), JSON_TABLE and XMLTABLE: the elements of a value, or the rows of a pipelined function or of a
//! document.

use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::eval::called;
use crate::machine::{Machine, OpenRows};
use json::TableRows;
use plan::Reg;
use std::sync::Arc;
use types::{Composite, Ora, Result, Value};

impl Machine {
    /// Ends the call with that number, or all calls of pipelined functions, whose further rows are not wanted.
    pub fn end_rows(&mut self, call: Option<u64>, cx: &mut ExecCtx<'_>) {
        let is_it = |open: &OpenRows| call.is_none_or(|call| open.call == call);
        while let Some(at) = self.open_rows.iter().rposition(is_it) {
            let OpenRows { call, function, caller } = self.open_rows.remove(at);
            called(&caller, cx, |cx| cx.host.close_rows(cx, &function, call));
        }
    }
}

/// The rows of TABLE(collection).
pub struct Elements {
    value: Code,
    objects: bool,
    columns: Vec<(u16, Reg)>,
    collection: Option<Arc<Composite>>,
    at: usize,
    /// The number of the call of a pipelined function, and its last row.
    call: Option<u64>,
    row: Value,
}

impl Elements {
    pub fn new(value: Code, objects: bool, columns: Vec<(u16, Reg)>) -> Elements {
        Elements { value, objects, columns, collection: None, at: 0, call: None, row: Value::Null }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(call) = self.call.take() {
            m.end_rows(Some(call), cx);
        }
        if let Code::Call(function, args, _, caller) = &self.value
            && function.is_pipelined
        {
            let mut values = Vec::with_capacity(args.len());
            for argument in args {
                let r = argument.eval(m, cx)?;
                values.push(m.value(r).clone());
            }
            let call = called(caller, cx, |cx| cx.host.open_rows(cx, function, &values))?;
            m.open_rows.push(OpenRows { call, function: function.clone(), caller: caller.clone() });
            self.call = Some(call);
            return Ok(());
        }
        let r = self.value.eval(m, cx)?;
        self.at = 0;
        self.collection = match m.value(r) {
            Value::Composite(collection) => Some(collection.clone()),
            // An atomically null collection has no rows.
            _ => None,
        };
        Ok(())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let element = match self.call {
            Some(call) => {
                let Code::Call(function, _, _, caller) = &self.value else { return Ok(false) };
                let row = &mut self.row;
                let fetched = match called(caller, cx, |cx| cx.host.fetch_row(cx, function, call, row)) {
                    // Oracle ends the rows of a function that does not handle NO_DATA_FOUND.
                    Err(e) if e.is(1403) => Ok(false),
                    fetched => fetched,
                };
                if !matches!(fetched, Ok(true)) {
                    m.open_rows.retain(|open| open.call != call);
                    self.call = None;
                    self.collection = None;
                    return fetched;
                }
                &self.row
            }
            None => {
                let Some(element) = self.collection.as_ref().and_then(|c| c.parts.get(self.at)) else {
                    return Ok(false);
                };
                self.at += 1;
                element
            }
        };
        for &(column, reg) in &self.columns {
            let value = match (self.objects, element) {
                (false, value) => value.clone(),
                // The column after the attributes is the object.
                (true, Value::Composite(object)) => object.parts.get(usize::from(column)).unwrap_or(element).clone(),
                (true, _) => Value::Null,
            };
            m.put(reg, value);
        }
        Ok(true)
    }
}

/// JSON_TABLE.
pub struct JsonTable {
    value: Code,
    rows: TableRows,
    columns: Vec<(u16, Reg)>,
    made: u32,
}

/// Rows between two checks for a cancelled statement.
const ROWS_BETWEEN_CHECKS: u32 = 1024;

impl JsonTable {
    /// # Errors
    /// ORA-40597 for a wrong path.
    pub fn new(value: Code, table: &json::Table, columns: Vec<(u16, Reg)>) -> Result<JsonTable> {
        Ok(JsonTable { value, rows: table.rows()?, columns, made: 0 })
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let r = self.value.eval(m, cx)?;
        // With PASSING the document is followed by the values.
        let (document, values) = match m.value(r) {
            Value::Composite(packed) => packed.parts.split_first().unwrap_or((&Value::Null, &[])),
            document => (document, &[][..]),
        };
        match document.content() {
            Value::Text(text) => self.rows.open(Some(text), values),
            // Bytes that are not UTF-8 are no JSON.
            Value::Raw(bytes) => self.rows.open(Some(std::str::from_utf8(bytes).unwrap_or("")), values),
            Value::Null => self.rows.open(None, values),
            _ => self.rows.open(Some(""), values),
        }
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.rows.next()? {
            return Ok(false);
        }
        self.made = self.made.wrapping_add(1);
        if self.made.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cx.check_cancel()?;
        }
        for &(column, reg) in &self.columns {
            let mut value = m.take(reg);
            let result = self.rows.column(column, &cx.session.nls, &mut value);
            m.put(reg, value);
            result?;
        }
        Ok(true)
    }
}

/// XMLTABLE.
pub struct XmlTable {
    value: Code,
    spec: plan::XmlRows,
    rows: xml::TableRows,
    columns: Vec<(u16, Reg)>,
    made: u32,
}

impl XmlTable {
    /// # Errors
    /// ORA-19114 for a wrong path of a column.
    pub fn new(value: Code, spec: &plan::XmlRows, columns: Vec<(u16, Reg)>) -> Result<XmlTable> {
        Ok(XmlTable { value, spec: spec.clone(), rows: spec.table.rows()?, columns, made: 0 })
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let r = self.value.eval(m, cx)?;
        let Value::Composite(packed) = m.value(r) else { return Err(Ora::internal("values of XMLTABLE")) };
        let Some((expression, values)) = packed.parts.split_first() else {
            return Err(Ora::internal("expression of XMLTABLE"));
        };
        let expression = match expression.content() {
            Value::Text(text) => text.as_str(),
            _ => "",
        };
        let (context, rest) = values.split_at(usize::from(self.spec.context).min(values.len()));
        let flags = self.spec.xml.iter().skip(context.len());
        let variables: Vec<(&Value, bool)> = rest.iter().zip(flags.copied()).collect();
        self.rows.open(expression, context.first(), &variables, &mut || cx.p.check_cancel())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.rows.advance() {
            return Ok(false);
        }
        self.made = self.made.wrapping_add(1);
        if self.made.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cx.check_cancel()?;
        }
        for &(column, reg) in &self.columns {
            let mut value = m.take(reg);
            let result = self.rows.column(column, &cx.session.nls, &mut || cx.p.check_cancel(), &mut value);
            m.put(reg, value);
            result?;
        }
        Ok(true)
    }
}
