//! Rows written as they are computed.
//!
//! The usual way computes all columns of a new row into registers, fits each to its type, tests the constraints, and
//! writes the row: four passes, whose order decides which error comes first. A row of plain expressions for a table
//! without CHECK constraints and virtual columns is written in one pass. On any error the pass leaves nothing behind,
//! and the usual way computes the row again and raises the right error (E13).

use super::writer::Writer;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::machine::copy;
use plan::Reg;
use types::row::RowWriter;
use types::{Result, Value};

/// The source of each column of a row, in the order of the table.
pub struct Direct {
    columns: Vec<From>,
    /// Whether all sources are constants or binds.
    is_bare: bool,
}

/// Bind values passed directly instead of in registers, and the register of the first bind.
type Bound<'a> = (Reg, &'a [&'a Value]);

#[derive(Clone, Copy)]
enum From {
    /// This one of the statement's values.
    Value(usize),
    /// This one of the defaults.
    Default(usize),
    Null,
}

/// A row with more columns has a longer header.
const COLUMNS_MOST: usize = 254;

impl Direct {
    /// `None` if the rows of this statement must be computed in the usual way.
    pub fn of(writer: &Writer, values: &[(u16, Code)], defaults: &[(u16, Code, bool)]) -> Option<Direct> {
        let plain = values.iter().all(|(_, code)| code.is_plain())
            // A default for NULL depends on the value that it replaces.
            && defaults.iter().all(|(_, code, only_null)| code.is_plain() && !only_null);
        let width = writer.new.len();
        if !plain
            || writer.firings.has_rows()
            || !writer.takes_batches()
            || !writer.checks.is_empty()
            || width > COLUMNS_MOST
        {
            return None;
        }
        let mut columns = vec![From::Null; width];
        for (n, (column, ..)) in defaults.iter().enumerate() {
            columns[usize::from(*column)] = From::Default(n);
        }
        for (n, (column, _)) in values.iter().enumerate() {
            columns[usize::from(*column)] = From::Value(n);
        }
        let mut codes = values.iter().map(|(_, code)| code).chain(defaults.iter().map(|(_, code, _)| code));
        let is_bare = codes.all(|code| matches!(code, Code::Reg(_)));
        Some(Direct { columns, is_bare })
    }
}

impl Writer {
    /// Computes a row and adds it to the batch. False if the usual way must be taken; nothing was done then.
    pub fn insert_direct(
        &mut self,
        direct: &Direct,
        values: &[(u16, Code)],
        defaults: &[(u16, Code, bool)],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        self.insert_bound(direct, values, defaults, (0, &[]), m, cx)
    }

    /// As [`Writer::insert_direct`]; the values of `bound`, if given, replace those in the registers of the binds.
    pub fn insert_bound(
        &mut self,
        direct: &Direct,
        values: &[(u16, Code)],
        defaults: &[(u16, Code, bool)],
        (first, mut binds): Bound<'_>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if !direct.is_bare {
            for (reg, value) in (first as usize..).zip(binds) {
                m.regs[reg].set(value);
            }
            binds = &[];
        }
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let written = self.write_direct(direct, values, defaults, (first, binds), &mut row, m, cx);
        self.row = row;
        match written {
            true => self.push_row(m, cx).map(|()| true),
            false => Ok(false),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn write_direct(
        &self,
        direct: &Direct,
        values: &[(u16, Code)],
        defaults: &[(u16, Code, bool)],
        (first, binds): Bound<'_>,
        row: &mut Vec<u8>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> bool {
        // Trailing NULLs are not stored: number of stored columns, and end of the last one.
        let (mut stored, mut end) = (0, 1);
        RowWriter::new(row, 0);
        for (column, from) in direct.columns.iter().enumerate() {
            let code = match from {
                From::Value(n) => &values[*n].1,
                From::Default(n) => &defaults[*n].1,
                From::Null if self.table.columns[column].nullable => {
                    RowWriter::again(row).null();
                    continue;
                }
                From::Null => return false,
            };
            let Ok(mut reg) = code.eval(m, cx) else { return false };
            let def = &self.table.columns[column];
            let bound = reg.checked_sub(first).and_then(|n| binds.get(n as usize)).copied();
            if let Some(value) = bound.filter(|value| !value.is_null()) {
                if def.data_type.takes(value) {
                    RowWriter::again(row).value(value);
                    (stored, end) = (column + 1, row.len());
                    continue;
                }
                m.regs[reg as usize].set(value);
            }
            if bound.unwrap_or(m.value(reg)).is_null() {
                if !def.nullable {
                    return false;
                }
                RowWriter::again(row).null();
                continue;
            }
            if !def.data_type.takes(m.value(reg)) {
                copy(reg, self.new[column], m);
                reg = self.new[column];
                if self.fit(column, false, m, cx).is_err() || m.value(reg).is_null() {
                    return false;
                }
            }
            RowWriter::again(row).value(m.value(reg));
            (stored, end) = (column + 1, row.len());
        }
        row.truncate(end);
        row[0] = stored as u8;
        true
    }
}
