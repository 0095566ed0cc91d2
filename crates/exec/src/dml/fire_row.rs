//! Triggers for each row.

use super::fire::{When, fire};
use super::writer::Writer;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::trigger::TriggerRow;
use plan::{Reg, TriggerEvent};
use types::Result;

/// The change of a row for which triggers for each row fire.
#[derive(Clone, Copy)]
pub struct RowEvent<'a> {
    pub event: TriggerEvent,
    /// The registers of the old row; of INSERT none.
    pub old: &'a [Reg],
    /// The register of the row's address, in which the new one is put after the change.
    pub rowid: Reg,
    /// The statement inserts a single row, so that triggers before it may see the table.
    pub single: bool,
}

impl Writer {
    /// Fires the triggers before or after a row. The new row is in the writer's registers.
    ///
    /// # Errors
    /// Those of the triggers; before the row also those of converting its values to the types of `columns`, the columns
    /// that the statement sets.
    #[inline]
    pub fn fire_row(
        &mut self,
        when: When,
        of: RowEvent<'_>,
        columns: Option<&[u16]>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        if self.firings.is_empty() { Ok(()) } else { self.fire_row_triggers(when, of, columns, m, cx) }
    }

    #[inline(never)]
    fn fire_row_triggers(
        &mut self,
        when: When,
        of: RowEvent<'_>,
        columns: Option<&[u16]>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Some(n) = self.firings.find(of.event) else { return Ok(()) };
        let firing = &self.firings.all[n];
        let list = if when == When::Before { &firing.before_row } else { &firing.after_row };
        if list.is_empty() {
            return Ok(());
        }
        if when == When::Before {
            self.fit_given(of.event, columns, m, cx)?;
            self.make_old_virtuals(m, cx)?;
        }
        let Writer { firings, table, new, .. } = self;
        let caller = match of.single && when == When::Before {
            true => firings.statement_caller(cx),
            false => firings.row_caller(table.object, cx),
        };
        let firing = &firings.all[n];
        let list = if when == When::Before { &firing.before_row } else { &firing.after_row };
        let new: &[Reg] = if of.event == TriggerEvent::Delete { &[] } else { new };
        // A new row has no address yet.
        let is_stored = when == When::After || of.event != TriggerEvent::Insert;
        let rowid = is_stored.then_some(of.rowid);
        let mut row = TriggerRow::new(&mut m.regs, (of.old, new), rowid, &firing.assigned);
        fire(list, firing, &caller, Some(&mut row), cx)
    }

    /// Converts the values that the statement gives to the types of their columns: a value that does not fit is refused
    /// before a trigger could replace it. NULL may still be replaced.
    pub(super) fn fit_given(
        &self,
        event: TriggerEvent,
        columns: Option<&[u16]>,
        m: &mut Machine,
        cx: &ExecCtx<'_>,
    ) -> Result<()> {
        let fit = |column: usize, m: &mut Machine| match m.value(self.new[column]).is_null() {
            true => Ok(()),
            false => self.fit(column, event == TriggerEvent::Update, m, cx),
        };
        match (event, columns) {
            (TriggerEvent::Delete, _) => Ok(()),
            (_, Some(columns)) => columns.iter().try_for_each(|c| fit(usize::from(*c), m)),
            (_, None) => {
                let stored = (0..self.new.len()).filter(|c| self.table.columns[*c].virtual_text.is_none());
                stored.into_iter().try_for_each(|c| fit(c, m))
            }
        }
    }
}
