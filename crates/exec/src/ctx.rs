//! What a statement runs in: the process, the shared structures, the session, and the host above.
//!
//! `exec` cannot see the crates above it. What SQL needs from them (a PL/SQL function, a fixed table, SYS_CONTEXT) comes through
//! [`Host`] and [`FixedTable`], which `session` and `views` implement.

use dictionary::Dictionary;
use enqueue::Enqueues;
use library_cache::LibraryCache;
use plan::{Column, HostFunction};
use process::Process;
use result_cache::ResultCache;
use std::collections::HashMap;
use txn::{Transactions, Txn};
use types::format::Nls;
use types::{DataType, ObjectId, Result, Value};

/// Handles to the shared structures, the same in every process.
pub struct Shared {
    pub txns: &'static Transactions,
    pub enqueues: &'static Enqueues,
    pub library: &'static LibraryCache,
    pub results: &'static ResultCache,
}

/// The state of a session that statements read and change.
pub struct SessionState {
    /// The user logged on; USER and UID.
    pub user: String,
    pub user_id: u32,
    /// The schema unqualified names belong to (ALTER SESSION SET CURRENT_SCHEMA).
    pub schema: String,
    pub nls: Nls,
    pub txn: Txn,
    /// Ends that this session's transactions have had; lets holders of open cursors see that a commit came between.
    pub options: Options,
    /// CURRVAL by sequence.
    pub currval: HashMap<ObjectId, types::Number>,
    /// Executions and parse calls not yet added to the shared entries.
    pub statistics_pending: u32,
}

/// Session parameters the executor obeys.
#[derive(Clone, Debug)]
pub struct Options {
    /// `result_cache_mode = FORCE`.
    pub result_cache_force: bool,
    /// The result cache is enabled at all (`result_cache_max_size` > 0).
    pub result_cache: bool,
    /// `_old_connect_by_enabled`: a cycle check only where PRIOR occurs, no filtering pass.
    pub old_connect_by: bool,
    /// Most bytes one work area (sort, hash table, buffer) may hold before ORA-04030.
    pub work_area_limit_bytes: usize,
    /// SYS tables such as `sys.obj$` may be read and DDL privileges are ignored.
    pub sysdba: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            result_cache_force: false,
            result_cache: true,
            old_connect_by: false,
            work_area_limit_bytes: 1 << 30,
            sysdba: false,
        }
    }
}

impl SessionState {
    pub fn new(user: &str, user_id: u32, txn: Txn) -> SessionState {
        SessionState {
            user: user.to_owned(),
            user_id,
            schema: user.to_owned(),
            nls: Nls::default(),
            txn,
            options: Options::default(),
            currval: HashMap::new(),
            statistics_pending: 0,
        }
    }
}

/// Everything a call passes down.
pub struct ExecCtx<'a> {
    pub p: &'a Process,
    pub shared: &'a Shared,
    pub dict: &'a mut Dictionary,
    pub session: &'a mut SessionState,
    pub host: &'a dyn Host,
}

impl<'a> ExecCtx<'a> {
    /// The same context for a nested call.
    pub fn reborrow(&mut self) -> ExecCtx<'_> {
        ExecCtx { p: self.p, shared: self.shared, dict: self.dict, session: self.session, host: self.host }
    }
}

/// A fixed table as the host names it.
#[derive(Clone, Debug)]
pub struct FixedDef {
    pub handle: u64,
    pub columns: Vec<Column>,
}

/// What `exec` needs from the crates above.
///
/// Names come in upper case unless they were quoted.
pub trait Host {
    /// A V$ or X$ table. It may be named with or without its owner SYS.
    fn fixed_table(&self, name: &str) -> Option<&dyn FixedTable>;

    /// A fixed table by the handle that [`FixedTable::handle`] gave.
    fn fixed_table_by_handle(&self, handle: u64) -> &dyn FixedTable;

    /// A stored or packaged function, by `[owner.][package.]name`. None: there is no such function (ORA-00904).
    fn function(&self, cx: &mut ExecCtx<'_>, path: &[String], args: usize) -> Result<Option<HostFunction>>;

    /// Runs a function that [`Host::function`] gave. The arguments have the types it asked for.
    fn call(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<Value>;

    /// SYS_CONTEXT(namespace, parameter), both in upper case. `Value::Null` for an unknown parameter of a known namespace.
    fn sys_context(&self, cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value>;

    /// The elements of a host collection, for TABLE(…).
    fn elements(&self, cx: &mut ExecCtx<'_>, collection: &Value) -> Result<Vec<Value>>;
}

/// A host without PL/SQL and fixed tables, for tests and for start-up.
pub struct NoHost;

impl Host for NoHost {
    fn fixed_table(&self, _name: &str) -> Option<&dyn FixedTable> {
        None
    }

    fn fixed_table_by_handle(&self, handle: u64) -> &dyn FixedTable {
        panic!("no fixed table has handle {handle}")
    }

    fn function(&self, _cx: &mut ExecCtx<'_>, _path: &[String], _args: usize) -> Result<Option<HostFunction>> {
        Ok(None)
    }

    fn call(&self, _cx: &mut ExecCtx<'_>, function: &HostFunction, _args: &[Value]) -> Result<Value> {
        Err(types::Ora::with(904, &[&format!("\"{}\"", function.name)]))
    }

    fn sys_context(&self, _cx: &mut ExecCtx<'_>, _namespace: &str, _parameter: &str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn elements(&self, _cx: &mut ExecCtx<'_>, _collection: &Value) -> Result<Vec<Value>> {
        Err(types::Ora::new(22905))
    }
}

/// A table whose rows are made up while it is read. It is never materialised nor read-consistent: nested loops open it anew for
/// each outer row.
pub trait FixedTable {
    fn name(&self) -> &str;
    /// A number of the host's own that names this table for the life of the process.
    fn handle(&self) -> u64;
    fn columns(&self) -> &[Column];
    fn open(&self, cx: &mut ExecCtx<'_>) -> Result<Box<dyn FixedScan>>;
}

/// One reading of a fixed table.
pub trait FixedScan {
    /// Puts the next row's columns into `row`, all of them in the table's order. False at the end.
    fn next(&mut self, cx: &mut ExecCtx<'_>, row: &mut Row) -> Result<bool>;
}

/// A row of values. Kept by the caller and filled again and again, so that text keeps its buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub values: Vec<Value>,
}

impl Row {
    pub fn new() -> Row {
        Row::default()
    }

    /// Makes the row `n` columns wide; values already there stay.
    pub fn resize(&mut self, n: usize) {
        self.values.resize(n, Value::Null);
    }
}

impl std::ops::Deref for Row {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.values
    }
}

impl std::ops::DerefMut for Row {
    fn deref_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }
}

/// The type of a bind: what the caller will give, or unknown (`None`), when it follows from the first value.
pub type BindType = Option<DataType>;
