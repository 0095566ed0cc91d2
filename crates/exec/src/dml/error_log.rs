//! LOG ERRORS: rows that a statement cannot change go to a table, in transactions beside the statement's (E36).

use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::Reg;
use types::{Number, Ora, Result, Value};

/// Errors of a row: of its constraints, of the lengths and types of its values, and of its partition.
const OF_ROWS: &[u32] = &[
    1, 1400, 1401, 1402, 1407, 1438, 1461, 1465, 1722, 1830, 1839, 1840, 1841, 1843, 1847, 1850, 1851, 1852, 1858,
    1861, 1862, 2290, 2291, 2292, 12899, 14400, 14401, 14402, 30926,
];

/// The error log of a statement, with the number of rows that this execution has put there.
pub struct ErrorLog {
    text: String,
    columns: Vec<u16>,
    tag: Option<Code>,
    limit: Option<u64>,
    /// The values that the statement gives to columns, without the conversion to their types.
    given: Vec<(u16, Code)>,
    seen: u64,
}

/// Errors that end the statement even in a trigger: deadlocks, old snapshots, internal errors, lack of space or memory.
const OF_STATEMENTS: &[u32] = &[60, 600, 1536, 1555, 1652, 1653, 1654, 4030, 4031, 30036];

/// The operation of a row: `I`, `U` or `D`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Insert,
    Update,
    Delete,
}

impl ErrorLog {
    pub fn build(log: &plan::ErrorLog, b: &mut Builder<'_>) -> ErrorLog {
        let plan::ErrorLog { text, columns, tag, limit } = log;
        let tag = tag.as_ref().map(|tag| b.code(tag));
        ErrorLog { text: text.clone(), columns: columns.clone(), tag, limit: *limit, given: Vec::new(), seen: 0 }
    }

    /// Notes the values of the statement for columns.
    pub fn give<'e>(&mut self, values: impl Iterator<Item = (u16, &'e plan::Expr)>, b: &mut Builder<'_>) {
        self.given.extend(values.map(|(column, e)| {
            let raw = match &e.node {
                plan::Node::Convert(inner) => inner,
                _ => e, // not a clause: any other expression has the column's type
            };
            (column, b.code(raw))
        }));
    }

    pub fn begin(&mut self) {
        self.seen = 0;
    }

    /// Logs the error of a row whose other columns are in `row`, and returns it unless the statement goes on.
    pub fn note(
        &mut self,
        error: Ora,
        (operation, rowid): (Operation, Option<Reg>),
        row: &[Reg],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        // An error of a trigger is one of its row.
        let is_of_row = OF_ROWS.contains(&error.code()) || error.context().iter().any(|e| e.is(4088));
        if !is_of_row || error.ends_call() || OF_STATEMENTS.iter().any(|code| error.is(*code)) {
            return Err(error);
        }
        let letter = match operation {
            Operation::Insert => "I",
            Operation::Update => "U",
            Operation::Delete => "D",
        };
        let rowid = rowid.map(|reg| m.value(reg)).filter(|row| matches!(row, Value::Rowid(_)));
        let rowid = rowid.cloned().unwrap_or_default();
        let tag = match &self.tag {
            Some(tag) => {
                let reg = tag.eval(m, cx)?;
                m.value(reg).clone()
            }
            None => Value::Null,
        };
        let code = Value::Number(Number::from_u64(error.code().into()));
        let mut values = vec![code, Value::text(error.headline()), rowid, Value::text(letter), tag];
        for &column in &self.columns {
            let given = self.given.iter().find(|(of, _)| *of == column).filter(|_| operation != Operation::Delete);
            let value = match given {
                // The value may be the one that failed.
                Some((_, code)) => code.eval(m, cx).map(|reg| m.value(reg).clone()).unwrap_or(Value::Null),
                None => row.get(usize::from(column)).map_or(Value::Null, |reg| m.value(*reg).clone()),
            };
            values.push(value);
        }
        self.seen += 1;
        let host = cx.host;
        host.log_error(cx, &self.text, &values)?;
        if self.limit.is_some_and(|limit| self.seen > limit) { Err(error) } else { Ok(()) }
    }
}
