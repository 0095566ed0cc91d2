//! The context of a statement: the process, the shared structures, the session, and the host above.
//!
//! `exec` cannot see the crates above it. What SQL needs from them (a PL/SQL function, a fixed table, SYS_CONTEXT)
//! comes through [`Host`] and [`FixedTable`], which `session` and `views` implement.

use crate::session_state::SessionState;
use crate::shared::Shared;
use crate::trigger::TriggerRow;
use dictionary::{Catalog, FixedId, SequenceDef, TableDef};
use plan::{HostFunction, TextOwner};
use process::Process;
use std::hash::Hash;
use std::rc::Rc;
use types::image::Image;
use types::{DataType, Number, Ora, Result, Scn, Timestamp, Value};

/// The names and privileges behind [`Host::catalog`]. In one dictionary, equal rights resolve every name alike and have
/// the same privileges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Image)]
pub struct Rights {
    /// User and schema in force. They differ from the session's while it compiles for another user.
    pub user: u32,
    pub schema: u32,
    /// SYSDBA or SYS: privileges are not checked, and roles do not count.
    pub all_powerful: bool,
    /// The enabled roles, with the roles granted to them.
    pub roles: Vec<u32>,
}

/// Context that is passed down through every call.
pub struct ExecCtx<'a> {
    pub p: &'a Process,
    pub shared: &'a Shared,
    pub session: &'a mut SessionState,
    pub host: &'a dyn Host,
}

impl ExecCtx<'_> {
    /// Fails if the session must stop; reports the figures of running statements if asked to.
    ///
    /// # Errors
    /// ORA-00028, ORA-01013.
    #[inline]
    pub fn check_cancel(&mut self) -> Result<()> {
        if self.p.check_asked()? {
            self.asked()?;
        }
        Ok(())
    }

    #[cold]
    fn asked(&mut self) -> Result<()> {
        // A server is asked to report when its coordinator needs no more rows.
        if self.session.serves.as_ref().is_some_and(|assignment| !assignment.is_wanted()) {
            return Err(Ora::new(1013));
        }
        self.session.figures.tell_so_far(self.p, self.shared.library);
        Ok(())
    }

    /// Rolls a statement that has failed with `error`, or a part of it, back to its start.
    ///
    /// # Errors
    /// Those of [`txn::Transactions::rollback_to`], with `error` stacked under them.
    pub fn undo_failed(&mut self, start: &txn::Savepoint, error: &Ora) -> Result<()> {
        let undone = self.shared.txns.rollback_to(self.p, &mut self.session.txn, start);
        undone.map_err(|fatal| fatal.because(error.clone()))
    }

    /// The same context for a nested call.
    pub fn reborrow(&mut self) -> ExecCtx<'_> {
        ExecCtx { p: self.p, shared: self.shared, session: self.session, host: self.host }
    }
}

/// The services that `exec` needs from the crates above. Names come in upper case unless they were quoted.
pub trait Host {
    /// The dictionary epoch: one relaxed load. It changes whenever anything in the dictionary does.
    fn epoch(&self) -> u64;

    /// Whether a statement compiled when [`Catalog::epoch`] was `epoch` may still be run.
    fn is_current(&self, epoch: u64) -> bool {
        self.epoch() == epoch
    }

    /// Inserts a row with these values into an error log, in a transaction of its own.
    ///
    /// # Errors
    /// Those of the statement.
    fn log_error(&self, cx: &mut ExecCtx<'_>, text: &str, values: &[Value]) -> Result<()> {
        let _ = (cx, text, values);
        Err(Ora::unsupported())
    }

    /// Records the rows of a table that a statement has changed. Called when the statement ends, before it is
    /// committed.
    fn note_changes(&self, _table: types::ObjectId, _changes: dictionary::monitoring::Changes) {}

    /// Records that a predicate of a hard-parsed statement uses a column, numbered from 1.
    fn note_column_use(&self, _table: types::ObjectId, _column: u32, _how: dictionary::ColumnUse) {}

    /// Makes the partition of an interval-partitioned table that takes rows with this partitioning key, unless there is
    /// one. The session holds the table's lock for DML.
    ///
    /// # Errors
    /// ORA-14300 for a key that no partition can take; those of making a segment.
    fn make_partition(&self, _cx: &mut ExecCtx<'_>, _table: types::ObjectId, _key: &[u8]) -> Result<()> {
        Err(Ora::unsupported())
    }

    /// Names as the session sees them now.
    fn catalog(&self) -> Result<Rc<dyn Catalog>>;

    /// The rights that [`Host::catalog`] resolves names with.
    fn rights(&self) -> Rights {
        Rights::default()
    }

    /// Whether other sessions may use what is compiled now, because names resolve by the dictionary alone.
    fn may_share(&self) -> bool {
        true
    }

    /// The fixed table with a number that the catalog gave.
    fn fixed_table(&self, id: FixedId) -> &dyn FixedTable;

    /// The stored or packaged function `[owner.][package.]name` whose parameters fit these argument types best, as
    /// visible to `text_owner`. `None` if there is no such function.
    fn function(
        &self,
        cx: &mut ExecCtx<'_>,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>>;

    /// Runs a function found by [`Host::function`]. The arguments have the types of its parameters.
    fn call(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<Value>;

    /// Begins a call of a pipelined function, and returns the number of the call.
    ///
    /// # Errors
    /// Those of the function's arguments.
    fn open_rows(&self, _cx: &mut ExecCtx<'_>, _function: &HostFunction, _args: &[Value]) -> Result<u64> {
        Err(Ora::unsupported())
    }

    /// The next row of such a call; false at its end.
    ///
    /// # Errors
    /// Those of the function.
    fn fetch_row(&self, _cx: &mut ExecCtx<'_>, _function: &HostFunction, _rows: u64, _out: &mut Value) -> Result<bool> {
        Ok(false)
    }

    /// Ends such a call before its last row.
    fn close_rows(&self, _cx: &mut ExecCtx<'_>, _function: &HostFunction, _rows: u64) {}

    /// Runs a trigger of the firing; `row` is the row of a trigger for each row.
    ///
    /// # Errors
    /// Those of its body, with ORA-04088; ORA-04098 for a trigger with errors.
    fn fire(
        &self,
        _cx: &mut ExecCtx<'_>,
        _trigger: &plan::Trigger,
        _firing: &plan::Firing,
        _row: Option<&mut TriggerRow<'_>>,
    ) -> Result<()> {
        Err(Ora::unsupported())
    }

    /// SYS_CONTEXT(namespace, parameter), both in upper case.
    ///
    /// # Errors
    /// ORA-02003 for a USERENV parameter that does not exist.
    fn sys_context(&self, cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value>;

    /// The next number of a sequence.
    ///
    /// # Errors
    /// ORA-08004 at the end of a sequence without CYCLE.
    fn next_value(&self, cx: &mut ExecCtx<'_>, sequence: &SequenceDef) -> Result<Number>;

    /// The definition of a type that a host function returns.
    fn type_def(&self, _id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        None
    }

    /// The time on the database's clock, with that clock's offset from UTC.
    fn now(&self) -> Timestamp;

    /// Sixteen bytes, unique for each call.
    fn sys_guid(&self) -> [u8; 16];

    /// The SCN that was current at a time.
    ///
    /// # Errors
    /// ORA-08180 if no SCN is recorded for the time.
    fn scn_of_time(&self, _time: &Timestamp) -> Result<Scn> {
        Err(Ora::new(8180))
    }

    /// The time at which an SCN was current.
    ///
    /// # Errors
    /// ORA-08181 if no time is recorded for the SCN.
    fn time_of_scn(&self, _scn: Scn) -> Result<Timestamp> {
        Err(Ora::new(8181))
    }

    /// Adds the name of the segment to an error; the storage layer knows only its number.
    fn name_segment(&self, e: Ora) -> Ora {
        e
    }

    /// Checks that the table's definition is the one of `scn`.
    ///
    /// # Errors
    /// ORA-01466 if it has changed; ORA-01555 if the older definition is not known.
    fn check_definition(&self, _table: &TableDef, _scn: Scn) -> Result<()> {
        Ok(())
    }
}

/// A table whose rows are computed while it is read. It is neither materialised nor read-consistent: nested loops open
/// it anew for each outer row.
pub trait FixedTable {
    /// Starts a scan. The columns are those that the catalog has for the table, in order.
    fn open(&self, cx: &mut ExecCtx<'_>) -> Result<Box<dyn FixedScan>>;
}

/// One scan of a fixed table.
pub trait FixedScan {
    /// Puts all columns of the next row into `row`, in the table's order. The values in `row` may hold anything before
    /// the call. False at the end.
    fn next(&mut self, cx: &mut ExecCtx<'_>, row: &mut Row) -> Result<bool>;
}

/// A row of values. The caller keeps it and passes it again, so that texts keep their buffers.
pub type Row = Vec<Value>;
