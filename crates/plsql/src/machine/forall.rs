//! The iterations of a FORALL.

use super::fault::Run;
use super::frames::{Machine, Waiting};
use crate::code::Compiled;
use crate::op::Opd;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::Ora;

impl Machine {
    /// Executes the statement of a FORALL: later, together with those of other iterations, if possible.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn execute_later<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        row: Opd,
        save: bool,
    ) -> Run<()> {
        let mut cursor = self.bound(w, unit, base, sql)?;
        let later = w.execute_later(&mut cursor);
        let enough = w.waits_enough(&cursor);
        unit.give_statement(sql, cursor);
        if !later? {
            self.carry_out(w)?;
            return self.execute(s, w, unit, base, sql, row);
        }
        let first = self.forall.counts.len();
        let waiting = || Waiting { unit: unit.clone(), sql, save, first, enough };
        self.forall.waiting.get_or_insert_with(waiting).enough = enough;
        self.implicit(1);
        Ok(())
    }

    /// Executes the waiting iterations of a FORALL. With SAVE EXCEPTIONS a failed one is noted; otherwise it ends the
    /// FORALL.
    pub(super) fn carry_out<W: World>(&mut self, w: &mut W) -> Run<()> {
        let Some(x) = self.forall.waiting.take() else { return Ok(()) };
        let kept = x.unit.take_statement(x.sql).and_then(|c| c.downcast::<W::Cursor>().ok());
        let Some(mut cursor) = kept else { return Err(Ora::internal("a statement that waits is gone").into()) };
        let forall = &mut self.forall;
        let mut end = None;
        let mut internal = Vec::new();
        let result = w.execute_waiting(&mut cursor, &mut |n, mut e| {
            let iteration = x.first + n;
            if !x.save || e.ends_call() {
                end = Some(iteration);
                return Err(e);
            }
            if e.begin_report() {
                internal.push(e.clone());
            }
            forall.errors.push((iteration as i64 + 1, e.code()));
            if let Some(count) = forall.counts.get_mut(iteration) {
                *count = 0;
            }
            Ok(())
        });
        internal.iter().for_each(|e| w.incident(e));
        self.finish(w, &x.unit, x.sql, cursor);
        if result.is_err() {
            self.forall.counts.truncate(end.unwrap_or(x.first));
            self.implicit(0);
        }
        Ok(result?)
    }

    /// Ends a FORALL. ORA-24381 after failed iterations that were noted.
    pub(super) fn forall_end(&mut self) -> Run<()> {
        self.forall.active = false;
        self.implicit(self.forall.counts.iter().sum());
        if !self.forall.errors.is_empty() {
            self.forall.errors.sort_unstable();
            return Err(Ora::new(24381).into());
        }
        Ok(())
    }
}
