//! The new row of a statement, and the result of an execution.

use super::writer::Writer;
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::eval::assign;
use crate::machine::{Machine, copy};
use crate::subqueries;
use crate::table::Address;
use plan::{Reg, SetItem, SubId};
use types::{Result, Rowid, Value};

/// The result of an execution.
#[derive(Default)]
pub struct DmlRun {
    pub rows: u64,
    /// The row changed last, if its table has rowids.
    pub last: Option<Rowid>,
    /// Rows of RETURNING.
    pub returned: Vec<Vec<Value>>,
    /// A row has changed since the snapshot: roll the statement back and run it again with a new one.
    pub restart: bool,
}

impl DmlRun {
    /// Counts a changed row.
    pub fn changed(&mut self, at: &Address) {
        self.rows += 1;
        self.last = match at {
            Address::Rowid(rowid) => Some(*rowid),
            Address::Key(_) => None,
        };
    }

    pub fn changed_at(&mut self, rowid: Rowid) {
        self.rows += 1;
        self.last = Some(rowid);
    }
}

pub enum Set {
    One(u16, Code),
    Row(Vec<u16>, SubId),
}

/// Computes a new row into the writer's registers.
pub fn new_row(
    writer: &Writer,
    values: &[(u16, Code)],
    defaults: &[(u16, Code, bool)],
    nulls: &[u16],
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    for (c, code) in values {
        assign(code, writer.new[*c as usize], m, cx)?;
    }
    for (c, code, only_null) in defaults {
        let reg = writer.new[*c as usize];
        if !only_null || m.value(reg).is_null() {
            assign(code, reg, m, cx)?;
        }
    }
    for c in nulls {
        m.put(writer.new[*c as usize], Value::Null);
    }
    Ok(())
}

/// Copies the old row and computes the assignments over it.
pub fn changed_row(writer: &Writer, old: &[Reg], sets: &[Set], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    set_row(&writer.new, old, sets, m, cx)
}

/// As [`changed_row`], into these registers.
pub fn set_row(new: &[Reg], old: &[Reg], sets: &[Set], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    m.sequence_values.fill(None);
    for (&from, &to) in old.iter().zip(new) {
        copy(from, to, m);
    }
    for set in sets {
        match set {
            Set::One(c, code) => assign(code, new[*c as usize], m, cx)?,
            Set::Row(columns, sub) => {
                let values = subqueries::row(*sub, m, cx)?;
                for (c, v) in columns.iter().zip(values) {
                    m.put(new[*c as usize], v);
                }
            }
        }
    }
    Ok(())
}

pub fn returning(codes: &[Code], run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    if codes.is_empty() {
        return Ok(());
    }
    let mut row = Vec::with_capacity(codes.len());
    for code in codes {
        let r = code.eval(m, cx)?;
        row.push(m.value(r).clone());
    }
    run.returned.push(row);
    Ok(())
}

/// The defaults, each with whether it replaces NULL only, and the columns left NULL.
pub fn fill(
    columns: &[u16],
    defaults: &[(u16, plan::Expr)],
    width: usize,
    table: &dictionary::TableDef,
    b: &mut Builder<'_>,
) -> (Vec<(u16, Code, bool)>, Vec<u16>) {
    let _ = table;
    let nulls = (0..width as u16).filter(|c| !columns.contains(c) && !defaults.iter().any(|(d, _)| d == c)).collect();
    let defaults = defaults.iter().map(|(c, e)| (*c, b.code(e), columns.contains(c))).collect();
    (defaults, nulls)
}

pub fn build_sets(sets: &[SetItem], b: &mut Builder<'_>) -> (Vec<Set>, Vec<u16>) {
    let mut columns = Vec::new();
    let sets = sets
        .iter()
        .map(|s| match s {
            SetItem::One(c, e) => {
                columns.push(*c);
                Set::One(*c, b.code(e))
            }
            SetItem::Row(cs, sub) => {
                columns.extend(cs);
                Set::Row(cs.clone(), *sub)
            }
        })
        .collect();
    (sets, columns)
}
