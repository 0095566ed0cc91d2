//! The parts of a cursor.

use crate::adaptive::Adaptive;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::dml::{Dml, TableLocks};
use crate::feedback::Expected;
use crate::machine::Machine;
use crate::shared_plan::{Later, Names};
use crate::source::Op;
use crate::statistics::Place;
use dictionary::TemporaryKind;
use plan::{BindType, Class, Column, class};
use result_cache::{Build, ResultBuffer};
use sql::ast::Statement;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Scn, Value};

/// The kind of a cursor's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

impl StatementKind {
    /// The command number of `v$sql`.
    pub fn command(self) -> u32 {
        match self {
            StatementKind::Select => 3,
            StatementKind::Insert => 2,
            StatementKind::Update => 6,
            StatementKind::Delete => 7,
            StatementKind::Merge => 189,
        }
    }
}

/// Properties of a statement that are known without opening a cursor on it.
#[derive(Clone, Debug)]
pub struct Described {
    pub kind: StatementKind,
    /// Columns of a query, or of RETURNING.
    pub columns: Vec<Column>,
    /// Names of the binds, in the order of their first occurrence.
    pub binds: Vec<String>,
    /// Tables and views that it reads or changes.
    pub dependencies: Vec<ObjectId>,
    /// Owners and names of the stored units whose functions it calls.
    pub units: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Rows,
    Cached,
    Done,
}

/// Receives the bytes of a row, and the positions and types of the wanted columns. Returns false to stop.
pub type TakeStored<'a> = dyn FnMut(&[u8], &[(u16, DataType)]) -> Result<bool> + 'a;

/// The executable form of the statement.
pub(super) enum Body {
    Query {
        op: Op,
        out: Vec<Code>,
        /// The result takes its values out of the registers without copying (see `moves` in `compile`, E16).
        moves: bool,
        /// The positions and types of the result's stored columns; empty if a value is not a stored column.
        stored: Vec<(u16, DataType)>,
    },
    Dml(Dml),
}

/// How the statement uses the result cache.
pub(super) struct Cached {
    pub(super) depends: Vec<ObjectId>,
    /// Whether the hint RESULT_CACHE, or a table's annotation, asks for caching; otherwise only RESULT_CACHE_MODE =
    /// FORCE does.
    pub(super) hinted: bool,
    pub(super) refused: bool,
    /// The fixed part of the key: statement and user.
    pub(super) prefix: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) buffer: ResultBuffer,
    /// The result under construction (E7).
    pub(super) build: Option<Build>,
    pub(super) row: Vec<u8>,
}

/// A compiled statement with its execution.
///
/// An open cursor must be closed with [`Cursor::close`] before it is dropped: `close` releases the snapshot and a
/// result being built for the result cache.
pub struct Cursor {
    pub(super) text: Rc<str>,
    /// The statement's tree; `None` if the plan came from an image.
    pub(super) statement: Option<Rc<Statement>>,
    pub(super) kind: StatementKind,
    /// The plan to be decoded at the first execution; there are no row sources until then.
    pub(super) later: Option<Box<Later>>,
    pub(super) columns: Vec<Column>,
    pub(super) binds: Vec<String>,
    pub(super) bind_types: Vec<BindType>,
    /// Whether every occurrence of a bind variable is a separate bind.
    pub(super) by_place: bool,
    /// The row that DML changed last.
    pub(super) last_row: Option<types::Rowid>,
    /// Values for the next execution.
    pub(super) values: Vec<Value>,
    /// The assumed type of a bind was wrong: compile again before executing.
    pub(super) retype: bool,
    pub(super) body: Body,
    pub(super) locks: TableLocks,
    pub(super) m: Machine,
    pub(super) first_bind: u32,
    pub(super) has_sequences: bool,
    pub(super) locks_rows: bool,
    /// Whether there is a first row, if it was already fetched into the registers.
    pub(super) first: Option<bool>,
    pub(super) lock_rowid: Option<plan::Reg>,
    /// The point of the transaction at which the rows were locked.
    pub(super) locked_at: txn::TxnPoint,
    pub(super) epoch: u64,
    /// The look-ups of the plan.
    pub(super) names: Names,
    pub(super) dependencies: Vec<ObjectId>,
    /// The first SCN at which all its tables had the definitions of an epoch, and that epoch.
    pub(super) checked: Option<(Scn, u64)>,
    pub(super) cached: Option<Box<Cached>>,
    pub(super) state: State,
    /// Whether the next execution continues the one before.
    pub(super) continues: bool,
    pub(super) rows: u64,
    /// The caller that fetches.
    pub(super) fetches: Fetches,
    pub(super) returned: std::vec::IntoIter<Vec<Value>>,
    pub(super) key: Place,
    /// The session's flashback SCN at compilation.
    pub(super) flashback: Option<Scn>,
    /// The session's settings at compilation.
    pub(super) settings: Settings,
    /// Whether it was compiled with the rights of SYS, for the executor itself.
    pub(super) internal: bool,
    /// The temporary tables of the statement, and the state of the session's segments at compilation and at opening.
    pub(super) temporary: Vec<(ObjectId, TemporaryKind)>,
    pub(super) temporary_version: u64,
    pub(super) temporary_purges: u64,
    /// State for a plan that depends on bind values.
    pub(super) adaptive: Option<Box<Adaptive>>,
    /// The estimated rows of scans, if the first execution is to be compared with them.
    pub(super) monitor: Option<Vec<Expected>>,
}

/// The caller that fetches from a cursor. It decides how fetches are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetches {
    /// A cursor loop, SELECT INTO and the like: fetches of `ROWS_A_FETCH` rows, the last of which finds the end.
    Ours,
    /// FETCH of PL/SQL: each one counts.
    Explicit,
    /// A client: each fetch counts, and a row counts when it is sent. A row fetched in advance is not counted yet.
    Clients,
}

/// Fingerprints of the session's language and optimizer settings. Constants are converted at compile time, and other
/// optimizer settings need another child cursor.
pub(super) type Settings = (u64, u64);

pub(super) fn settings_of(cx: &ExecCtx<'_>) -> Settings {
    (cx.session.nls_fingerprint(), cx.session.options.optimizer)
}

impl Cursor {
    /// Records in `v$open_cursor` that the session keeps the closed cursor, or uses it again. Using it again is a parse
    /// call.
    pub fn set_kept(&mut self, kept: bool, cx: &mut ExecCtx<'_>) {
        self.key.keep(kept);
        if !kept {
            self.key.parsed(&self.text, self.kind.command(), cx);
        }
    }

    /// PL/SQL leaves the open query (`paused`) until its next fetch, or returns to it. Meanwhile `v$session` shows the
    /// block.
    #[inline]
    pub fn pause(&mut self, paused: bool, cx: &mut ExecCtx<'_>) {
        self.key.pause(paused, cx);
    }

    /// Digest of the statement and number of the child cursor.
    pub fn shared(&self, cx: &ExecCtx<'_>) -> Option<(library_cache::Digest, u64)> {
        self.key.identify(cx.shared.library)
    }

    /// The objects that the statement reads or changes.
    pub fn dependencies(&self) -> &[ObjectId] {
        &self.dependencies
    }

    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// The text of the statement.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The dictionary epoch for which its names were last verified.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Columns of a query, or of RETURNING.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names of the binds, in the order of their first occurrence in the text; a name that occurs twice is one bind.
    pub fn binds(&self) -> &[String] {
        &self.binds
    }

    /// The SCN of the open query's snapshot.
    pub fn seen(&self) -> Option<types::Scn> {
        (self.state == State::Rows).then(|| self.m.snapshot().scn)
    }

    /// Sets all binds for the next execution.
    ///
    /// # Errors
    /// ORA-01008 for too few values, ORA-01036 for too many.
    pub fn bind(&mut self, values: &[Value]) -> Result<()> {
        if values.len() != self.binds.len() {
            return Err(Ora::new(if values.len() < self.binds.len() { 1008 } else { 1036 }));
        }
        for (i, v) in values.iter().enumerate() {
            self.bind_one(i, v)?;
        }
        Ok(())
    }

    /// Sets one bind and reuses the buffer of its old value.
    pub fn bind_one(&mut self, at: usize, value: &Value) -> Result<()> {
        let slot = self.values.get_mut(at).ok_or_else(|| Ora::new(1036))?;
        let content = value.content();
        slot.set(content);
        if !content.is_null() && !fits(content, &self.bind_types[at]) {
            self.bind_types[at] = Some(value.data_type());
            self.retype = true;
        }
        Ok(())
    }

    /// Whether every occurrence of a bind variable is a separate bind.
    pub fn is_by_place(&self) -> bool {
        self.by_place
    }

    /// The types of its binds, as far as known.
    pub fn bind_types(&self) -> &[BindType] {
        &self.bind_types
    }

    /// Counts the next execution together with the last one, as executions of an array (E14).
    #[inline]
    pub fn set_continues(&mut self, continues: bool) {
        self.continues = continues;
    }

    /// The rowid of the row last fetched from SELECT FOR UPDATE, for WHERE CURRENT OF.
    pub fn current_row(&self) -> Option<types::Rowid> {
        let reg = self.lock_rowid.filter(|_| self.state == State::Rows)?;
        match self.m.value(reg) {
            Value::Rowid(row) => Some(*row),
            _ => None,
        }
    }

    /// The rowid of the row that DML changed last, if its table has rowids.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.last_row
    }

    /// Rows fetched so far, or changed by DML.
    pub fn rows_processed(&self) -> u64 {
        self.rows
    }
}

/// Whether a value has the class that a bind was compiled for.
pub(super) fn fits(value: &Value, ty: &BindType) -> bool {
    // A cursor is represented by its number.
    if matches!((value, ty), (Value::Number(_), Some(types::DataType::Cursor))) {
        return true;
    }
    let expected = ty.map_or(Class::Text, |t| class(&t));
    let is = match value {
        Value::Number(_) => Class::Number,
        Value::Text(_) if *ty == Some(DataType::Xml) => return true,
        Value::Text(_) => Class::Text,
        Value::Date(_) => Class::Date,
        Value::Timestamp(_) => Class::Timestamp,
        Value::Raw(_) => Class::Raw,
        Value::Rowid(_) => Class::Rowid,
        Value::Double(_) => Class::Double,
        Value::Float(_) => Class::Float,
        Value::Boolean(_) => Class::Boolean,
        Value::IntervalYm(_) => Class::IntervalYm,
        Value::IntervalDs(_) => Class::IntervalDs,
        Value::Composite(c) => return *ty == Some(DataType::Named(c.ty)),
        Value::EmptyLob => return matches!(expected, Class::Lob | Class::Other),
        // A statement is given the content of a LOB, not the locator.
        Value::Lob(_) => return false,
        Value::Null => return true,
    };
    is == expected
        || (is == Class::Text && expected == Class::Lob)
        || (is == Class::Raw && matches!(ty, Some(DataType::Blob | DataType::Bfile)))
}
