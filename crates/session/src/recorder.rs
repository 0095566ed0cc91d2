//! Statements of the workload repository: a session as a [`Recorder`] of `monitor`.

use crate::core::Core;
use crate::recursive::{changed, recursive, rows_of, run};
use crate::run::run_other;
use crate::world::World;
use exec::{Cursor, ExecCtx};
use instance::{Instance, Text};
use monitor::Recorder;
use plsql::World as _;
use types::{Result, Value};

/// Compiles all statements, and then executes them one directly after the other, so that their rows are nearly of one
/// moment. Returns the wall-clock nanoseconds before the first execution and after the last.
fn at_one_moment(core: &Core, cx: &mut ExecCtx<'_>, texts: &[Text], binds: &[Value]) -> Result<(u64, u64)> {
    let types: Vec<_> = binds.iter().map(|v| Some(v.data_type())).collect();
    core.who.internally(|| {
        let mut cursors = Vec::with_capacity(texts.len());
        for text in texts {
            core.p.count(wait::Stat::RecursiveCalls, 1);
            let mut cursor = Cursor::compile(cx, text.as_str(), &types)?;
            cursor.bind(binds)?;
            cursors.push(cursor);
        }
        let before = os::clock::wall_ns();
        let done = cursors.iter_mut().try_for_each(|cursor| cursor.execute(cx));
        let after = os::clock::wall_ns();
        cursors.iter_mut().for_each(|cursor| cursor.close(cx));
        done.map(|()| (before, after))
    })
}

/// Runs a query of a report. The text comes from literals of the crate `awr` (invariant 11), and the caller has checked
/// the privilege to run the report.
///
/// # Errors
/// Those of the query; ORA-00900 for any other statement.
fn report(core: &Core, cx: &mut ExecCtx<'_>, text: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
    sql::parse_query(text)?;
    run(core, cx, text, binds, rows_of)
}

/// Runs a statement that is neither a query nor DML, as SYS.
///
/// # Errors
/// Those of the statement.
fn control(core: &Core, cx: &mut ExecCtx<'_>, text: &'static str) -> Result<()> {
    core.who.internally(|| run_other(core, cx, text))
}

impl World<'_> {
    /// Runs `f` in an autonomous transaction: commits it, or rolls it back when `f` fails.
    ///
    /// # Errors
    /// Those of `f` and of the commit.
    pub(crate) fn in_own_transaction<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.autonomous_begin()?;
        let done = f(self);
        let ended = match &done {
            Ok(_) => self.commit(),
            Err(_) => self.rollback(),
        };
        let back = self.autonomous_end();
        let value = done?;
        ended?;
        back?;
        Ok(value)
    }
}

impl Recorder for World<'_> {
    fn instance(&self) -> &'static Instance {
        self.core.instance
    }

    fn rows(&mut self, text: impl Into<Text>, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        recursive(self.core, &mut self.cx, text, binds)
    }

    fn changed(&mut self, text: impl Into<Text>, binds: &[Value]) -> Result<u64> {
        changed(self.core, &mut self.cx, text, binds)
    }

    fn at_one_moment(&mut self, texts: &[Text], binds: &[Value]) -> Result<(u64, u64)> {
        at_one_moment(self.core, &mut self.cx, texts, binds)
    }

    fn control(&mut self, text: &'static str) -> Result<()> {
        control(self.core, &mut self.cx, text)
    }

    fn report(&mut self, text: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        report(self.core, &mut self.cx, text, binds)
    }

    fn autonomously<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.in_own_transaction(f)
    }
}
