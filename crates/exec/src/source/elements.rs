//! The elements of a value: TABLE(collection) and JSON_TABLE.

use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use json::TableRows;
use plan::Reg;
use std::sync::Arc;
use types::{Composite, Result, Value};

/// TABLE(collection).
pub struct Elements {
    value: Code,
    objects: bool,
    columns: Vec<(u16, Reg)>,
    collection: Option<Arc<Composite>>,
    at: usize,
}

impl Elements {
    pub fn new(value: Code, objects: bool, columns: Vec<(u16, Reg)>) -> Elements {
        Elements { value, objects, columns, collection: None, at: 0 }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
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
    pub fn next(&mut self, m: &mut Machine) -> Result<bool> {
        let Some(element) = self.collection.as_ref().and_then(|c| c.parts.get(self.at)) else { return Ok(false) };
        self.at += 1;
        for &(column, reg) in &self.columns {
            let value = match (self.objects, element) {
                (false, value) => value.clone(),
                (true, Value::Composite(object)) => object.parts.get(usize::from(column)).cloned().unwrap_or_default(),
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
        match m.value(r).content() {
            Value::Text(text) => self.rows.open(Some(text)),
            // Bytes that are not UTF-8 are no JSON.
            Value::Raw(bytes) => self.rows.open(Some(std::str::from_utf8(bytes).unwrap_or(""))),
            Value::Null => self.rows.open(None),
            _ => self.rows.open(Some("")),
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
