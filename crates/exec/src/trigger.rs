//! The row that a trigger sees and changes.

use plan::Reg;
use types::Value;

/// The two rows of a trigger for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOf {
    Old,
    New,
}

/// The column number of ROWID, which a trigger may read.
pub const ROWID_COLUMN: u16 = u16::MAX;

/// The rows of a trigger, in the registers of the statement that fires it.
///
/// Values are taken out and put back instead of copied: a trigger for each row of many rows allocates nothing for them.
/// The statement that fires the trigger fails if the trigger does, so nothing is put back then.
pub struct TriggerRow<'a> {
    regs: &'a mut [Value],
    /// The registers of the old row; of INSERT none.
    old: &'a [Reg],
    /// The registers of the new row; of DELETE none.
    new: &'a [Reg],
    /// The register of the row's address, if the row is stored.
    rowid: Option<Reg>,
    /// The columns that the statement expects to be assigned.
    assignable: &'a [u16],
}

impl<'a> TriggerRow<'a> {
    pub fn new(
        regs: &'a mut [Value],
        (old, new): (&'a [Reg], &'a [Reg]),
        rowid: Option<Reg>,
        assignable: &'a [u16],
    ) -> TriggerRow<'a> {
        TriggerRow { regs, old, new, rowid, assignable }
    }

    fn register(&self, of: RowOf, column: u16) -> Option<Reg> {
        let row = if of == RowOf::Old { self.old } else { self.new };
        row.get(usize::from(column)).copied()
    }

    /// Takes the value of a column; NULL in a row that the event does not have.
    pub fn take(&mut self, of: RowOf, column: u16) -> Value {
        if column == ROWID_COLUMN {
            let is_there = !if of == RowOf::Old { self.old } else { self.new }.is_empty();
            return self.rowid.filter(|_| is_there).map_or(Value::Null, |reg| self.regs[reg as usize].clone());
        }
        self.register(of, column).map_or(Value::Null, |reg| std::mem::take(&mut self.regs[reg as usize]))
    }

    /// Puts the value of a column back, or a new one.
    pub fn put(&mut self, of: RowOf, column: u16, value: Value) {
        if let Some(reg) = self.register(of, column) {
            self.regs[reg as usize] = value;
        }
    }

    /// Whether the statement expects the trigger to assign the column. All statements without a new row do, because
    /// the assignment has no effect.
    pub fn may_assign(&self, column: u16) -> bool {
        self.new.is_empty() || self.assignable.contains(&column)
    }
}
