//! Changes of views with INSTEAD OF triggers.

use super::fire::{Firings, fire};
use super::row::{DmlRun, Set, build_sets, set_row};
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::{Op, RowSource};
use crate::trigger::TriggerRow;
use plan::{InsteadPlan, Reg};
use types::{Result, Value};

pub struct Instead {
    /// `None` for VALUES.
    query: Option<Op>,
    old: Vec<Reg>,
    new: Vec<Reg>,
    sets: Vec<Set>,
    firings: Firings,
}

impl Instead {
    pub fn build(i: &InsteadPlan, b: &mut Builder<'_>) -> Result<Instead> {
        Ok(Instead {
            query: i.query.as_ref().map(|query| Op::build(&query.source, b)).transpose()?,
            old: i.old.clone(),
            new: i.new.clone(),
            sets: build_sets(&i.sets, b).0,
            firings: Firings::of(std::slice::from_ref(&i.firing)),
        })
    }

    pub fn run(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.firings.begin();
        let Some(mut query) = self.query.take() else { return self.one(run, m, cx) };
        let done = self.run_query(&mut query, run, m, cx);
        self.query = Some(query);
        done
    }

    fn run_query(&mut self, query: &mut Op, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        query.open(m, cx)?;
        while query.next(m, cx)? {
            self.one(run, m, cx)?;
            cx.check_cancel()?;
        }
        Ok(())
    }

    /// Fires the triggers for a row.
    fn one(&mut self, run: &mut DmlRun, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.old.is_empty() {
            for reg in &self.new {
                m.put(*reg, Value::Null);
            }
        }
        set_row(&self.new, &self.old, &self.sets, m, cx)?;
        let caller = self.firings.statement_caller(cx);
        let Some(firing) = self.firings.all.first() else { return Ok(()) };
        let mut row = TriggerRow::new(&mut m.regs, (&self.old, &self.new), None, &[]);
        fire(&firing.before_row, firing, &caller, Some(&mut row), cx)?;
        run.rows += 1;
        Ok(())
    }
}
