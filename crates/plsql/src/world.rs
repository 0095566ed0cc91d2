//! What PL/SQL needs of the instance around it.
//!
//! The compiler and the machine see SQL, the dictionary, the clock and the transaction only through [`World`]. The
//! instance's own implementation is [`crate::ExecWorld`]; tests use a small one of their own. It is a type parameter
//! and not a trait object, so that a cursor loop pays no indirect call a row.

use crate::op::SqlColumns;
use crate::session::Block;
use dictionary::Access;
use plan::Variables;
use plan::names::Lookup;
use std::cell::RefCell;
use std::rc::Rc;
use types::{DataType, Date, Nls, ObjectId, Ora, Result, Timestamp, Value};

/// A column of a table or of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    pub name: String,
    pub ty: DataType,
    pub nullable: bool,
}

/// A stored unit as the dictionary holds it. A package's specification and body are two.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredUnit {
    pub owner: String,
    pub name: String,
    pub kind: sql::plsql::ast::UnitKind,
    /// From the word PROCEDURE, FUNCTION, PACKAGE or TYPE on.
    pub source: String,
}

/// The owner of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub name: Rc<str>,
    /// [`World::owner_number`].
    pub number: u32,
}

/// What is known of a statement when it has been compiled and not yet run.
#[derive(Clone, Debug, Default)]
pub struct Described {
    pub query: bool,
    /// The columns of a query, or of RETURNING.
    pub columns: Vec<ColumnInfo>,
    /// What it reads: a cached result of a function that runs it depends on these.
    pub dependencies: Vec<ObjectId>,
    /// Owner and name of the stored units whose functions it calls: what they read counts too.
    pub units: Vec<(String, String)>,
    /// The look-ups that it was described by.
    pub lookups: Vec<Lookup>,
}

/// The image of a unit as it is in the library cache.
#[derive(Clone, Copy, Debug)]
pub struct UnitImage {
    pub edition: library_cache::Edition,
    /// Somebody has found it good in the dictionary as it is now.
    pub is_known: bool,
}

/// What kind of statement EXECUTE IMMEDIATE was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicKind {
    Query,
    Dml,
    /// An anonymous block or CALL.
    Block,
    /// DDL, ALTER SESSION, SET ROLE and the like: run by [`World::execute_other`].
    Other,
}

/// A job as DBMS_JOB takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRequest {
    pub what: String,
    /// `None`: at once.
    pub next_date: Option<Date>,
    pub interval: Option<String>,
    pub instance: i64,
}

/// What DBMS_JOB may change of a job; `None` leaves as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobChange {
    pub what: Option<String>,
    pub next_date: Option<Date>,
    /// `Some(None)` makes it run once.
    pub interval: Option<Option<String>>,
    pub broken: Option<bool>,
}

/// What DBMS_AUDIT_MGMT is asked for; trails by their type's number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AuditRequest {
    /// Deletes the rows from before the last archive timestamp, or all.
    Clean {
        trail: i64,
        only_archived: bool,
    },
    SetLast {
        trail: i64,
        at: Option<types::Timestamp>,
    },
    ClearLast {
        trail: i64,
    },
}

/// What DBMS_SHARED_POOL is asked for. Cursors are named by their full hash of 32 digits, or as `address,hash_value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedPoolRequest {
    MarkHot(String),
    UnmarkHot(String),
    Keep(String, bool),
    Purge(String),
}

/// What DBMS_RESULT_CACHE asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultCacheRequest {
    /// ENABLED, DISABLED, BYPASS or SYNC, as a text.
    Status,
    /// Removes everything; gives TRUE when it worked.
    Flush,
    Bypass(bool),
    /// Gives how many results were invalidated.
    Invalidate {
        owner: String,
        name: String,
    },
    InvalidateObject(i64),
    /// Writes the report through the callback's text: lines joined by line feeds.
    MemoryReport {
        detailed: bool,
    },
}

/// The instance as PL/SQL sees it. Names come and go in upper case unless they were quoted.
pub trait World {
    /// An open SQL cursor: compiled once, executed and fetched many times.
    type Cursor: 'static;

    fn nls(&self) -> &Nls;
    /// USER.
    fn user(&self) -> String;
    /// UID.
    fn user_id(&self) -> i64;
    /// The schema that unqualified names belong to.
    fn schema(&self) -> String;
    /// A number for whose names and privileges are in force: equal ones mean the same by every name and may do the
    /// same.
    fn identity(&self) -> u128;
    /// The number of a user.
    fn owner_number(&mut self, _owner: &str) -> u32 {
        0
    }
    /// Takes the names and privileges of an owner, without roles: what a unit of definer's rights has, and every unit
    /// that is compiled. False when they are in force already; otherwise [`World::leave`] goes back.
    fn enter(&mut self, owner: &Owner) -> bool;
    /// Goes back to the names and privileges before the last [`World::enter`] that gave true.
    fn leave(&mut self);
    /// ORA-06598 unless a unit of `owner` may run with the privileges of its caller. Called where one is entered.
    fn check_inheritance(&mut self, _owner: &Owner) -> Result<()> {
        Ok(())
    }
    /// Whether the query of a cursor that has been executed gives rows of these columns ([`SqlColumns::fit`]).
    fn has_columns(&mut self, _cursor: &mut Self::Cursor, _columns: &SqlColumns, _of_any: bool) -> bool {
        true
    }
    /// Whether a cursor that a unit keeps means what its text means now: not when it was compiled for somebody else.
    fn is_own(&self, _cursor: &Self::Cursor) -> bool {
        true
    }
    /// Calls a function of SQL over evaluated arguments.
    fn call_function(&mut self, function: &'static functions::FnDef, args: &[Value], out: &mut Value) -> Result<()>;
    fn sys_context(&mut self, namespace: &str, parameter: &str) -> Result<Value>;
    /// ORA-00028, ORA-01013; ORA-04030 and ORA-04036 when memory has outgrown its limits. Cheap.
    fn check_cancel(&mut self) -> Result<()>;
    /// The session's time.
    fn now(&self) -> Timestamp;
    /// Hundredths of a second since some fixed moment.
    fn hsecs(&self) -> i64;
    /// Processor time used by the process, in hundredths of a second.
    fn cpu_hsecs(&self) -> i64;
    /// Something that differs between sessions and runs, to seed DBMS_RANDOM with.
    fn entropy(&self) -> u64;
    /// Waits, on `PL/SQL lock timer`.
    fn sleep(&mut self, seconds: f64) -> Result<()>;

    /// Changes whenever anything in the dictionary does.
    fn epoch(&mut self) -> u64;
    /// The columns of a table or view; `None` when there is none of that name. `owner` is a schema; synonyms are
    /// followed.
    fn table_columns(&mut self, owner: Option<&str>, name: &str) -> Result<Option<Vec<ColumnInfo>>>;
    fn sequence_exists(&mut self, owner: Option<&str>, name: &str) -> Result<bool>;
    /// The stored unit of that name (both parts of a package); empty when there is none. Synonyms are followed.
    fn stored_unit(&mut self, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>>;
    /// Whether the identity in force may execute a unit that was found; `owner` is empty for what is built in.
    fn may_execute(&mut self, _owner: &str, _name: &str) -> Result<Access> {
        Ok(Access::Yes)
    }
    /// Says that the session links a unit to compile a call of it, or to run one that is built in. `owner` is empty for
    /// that.
    fn unit_linked(&mut self, _owner: &str, _name: &str) {}
    /// The call in progress runs a stored unit, until it ends: who defines it anew waits for that, and this waits for
    /// who does so now. False where nobody waits: in a function that DDL calls.
    ///
    /// # Errors
    /// ORA-04020, ORA-04021, and those of a session that is to stop.
    fn unit_runs(&mut self, _owner: &str, _name: &str) -> Result<bool> {
        Ok(true)
    }

    /// The user whose names and privileges are in force, without roles: that of a unit of definer's rights, or of a
    /// unit that is compiled. `None`: they are those of the session.
    fn definer(&self) -> Option<String> {
        None
    }
    /// The settings that the code of a unit depends on: those of the language, length semantics, the optimizer's.
    fn settings(&self) -> [u64; 3] {
        [0; 3]
    }
    /// Says that the session links a stored unit to run it, and copies the image of its code from the library cache,
    /// where the session may use one and there is one for its settings. `body`: it has one, which has the code.
    fn unit_image(&mut self, _unit: &StoredUnit, _body: bool, _image: &mut Vec<u8>) -> Option<UnitImage> {
        None
    }
    /// Puts the image of a unit's code into the library cache. `stale` is the one that was found to be of no use.
    fn keep_unit(&mut self, _unit: &StoredUnit, _body: bool, _image: &[u8], _stale: Option<library_cache::Edition>) {}
    /// Says that an image is good in the dictionary of an epoch.
    fn unit_is_known(&mut self, _image: UnitImage, _epoch: u64) {}
    /// Whether the look-ups of a static statement have the answers that they had, for the names and privileges in
    /// force.
    fn means_the_same(_world: &RefCell<&mut Self>, _lookups: &[Lookup]) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }

    /// The objects that a stored unit is: it, or the specification and the body of a package.
    fn unit_objects(&mut self, owner: &str, name: &str) -> Vec<ObjectId> {
        let _ = (owner, name);
        Vec::new()
    }

    /// Before another cursor is opened for a variable or a loop, beside the `open` that are.
    ///
    /// # Errors
    /// ORA-01000.
    fn may_open_cursor(&mut self, open: usize) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Says how many cursors variables and loops hold open now.
    fn cursors_open(&mut self, open: usize) {
        let _ = open;
    }

    /// Says how compiling a stored unit went; of a package, its specification and its body are told of apart.
    fn unit_compiled(&mut self, unit: &StoredUnit, errors: &[crate::CompileError]) {
        let _ = (unit, errors);
    }

    /// When the specification and the body of a stored package were last defined or compiled by DDL: another pair,
    /// another package.
    fn unit_defined(&mut self, owner: &str, name: &str) -> [u64; 2] {
        let _ = (owner, name);
        [0; 2]
    }

    /// Whether an error is none of the unit's: compiled again, it may have none.
    fn passes(&self, error: &crate::CompileError) -> bool {
        let _ = error;
        false
    }

    /// Whether the dictionary has the unit, of a package the specification, as one without errors.
    fn is_valid_unit(&mut self, owner: &str, name: &str) -> bool {
        let _ = (owner, name);
        true
    }

    /// The number of a stored unit, of a package that of its specification; 0 for what has none.
    fn unit_number(&mut self, _owner: &str, _name: &str) -> u32 {
        0
    }
    /// Owner and name of the stored unit of that number.
    fn unit_called(&mut self, _number: u32) -> Option<(String, String)> {
        None
    }

    /// Says that a subprogram of a stored unit is entered: the unit's number in the high half, its own in the low one.
    /// What this gives says what ran before, for [`World::subprogram_left`].
    fn subprogram_entered(&mut self, _what: u64) -> [u64; 2] {
        [0; 2]
    }
    /// Says that it is left.
    fn subprogram_left(&mut self, _before: [u64; 2]) {}

    /// Compiles a statement without registering it. Placeholders are named `:B1`, `:B2` …; `binds[0]` is the type of
    /// `:B1`. Names that are no columns are asked of `variables`, which may borrow the world while it is asked.
    ///
    /// # Errors
    /// What the SQL compiler finds, with the position in `text`; those of `variables`.
    fn describe(
        world: &RefCell<&mut Self>,
        text: &str,
        binds: &[DataType],
        variables: &dyn Variables,
    ) -> Result<Described>
    where
        Self: Sized;
    /// Opens a cursor on a statement: one parse call. `by_name`: bind 0 is `:B1`, wherever it stands; otherwise binds
    /// go to placeholders in the order they are written.
    fn open_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<Self::Cursor>;
    /// As [`World::open_cursor`], of a statement that is parsed each time it is opened: the session may have its closed
    /// cursor.
    fn parse_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<Self::Cursor> {
        self.open_cursor(text, binds, by_name)
    }
    /// Closes a cursor, which the session may keep for the next [`World::parse_cursor`].
    fn close_cursor(&mut self, mut cursor: Self::Cursor) {
        self.end_fetch(&mut cursor);
    }
    /// Whether EXECUTE IMMEDIATE keeps the cursor of what it ran last.
    fn keeps_cursors(&self) -> bool {
        true
    }
    fn bind(&mut self, cursor: &mut Self::Cursor, at: usize, value: &Value) -> Result<()>;
    /// Executes; gives the number of rows that DML changed. RETURNING's rows are fetched like a query's.
    fn execute(&mut self, cursor: &mut Self::Cursor) -> Result<u64>;
    /// Says whether the next execution and the one before are counted as one: those of a FORALL are.
    fn continues(&mut self, _cursor: &mut Self::Cursor, _continues: bool) {}
    /// Takes an execution into a batch that [`World::execute_waiting`] carries out. False when this statement cannot
    /// wait: nothing was done, and what waits is to be carried out before it is executed.
    fn execute_later(&mut self, _cursor: &mut Self::Cursor) -> Result<bool> {
        Ok(false)
    }
    /// The place of a bind in the cursor, which counts its own from 0; `None` when it has none.
    fn bind_place(&self, _cursor: &Self::Cursor, _at: usize) -> Option<usize> {
        None
    }
    /// Takes one more execution into a batch, with values in the order of the cursor's binds. False when it has to be
    /// bound and executed the ordinary way: nothing was done.
    fn execute_more(&mut self, _cursor: &mut Self::Cursor, _values: &[&Value]) -> Result<bool> {
        Ok(false)
    }
    /// Whether so many executions wait that they should be carried out before there are more.
    fn waits_enough(&self, _cursor: &Self::Cursor) -> bool {
        false
    }
    /// Carries out what waits. `refused` is told the number of each execution that fails, from 0; it may let the others
    /// go on by swallowing the error, and otherwise ends it there.
    fn execute_waiting(
        &mut self,
        _cursor: &mut Self::Cursor,
        _refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
    ) -> Result<()> {
        Ok(())
    }
    /// Fetches the next row into `row`, whose values are reused.
    fn fetch(&mut self, cursor: &mut Self::Cursor, row: &mut Vec<Value>) -> Result<bool>;
    /// Ends the execution; the cursor can be executed again.
    /// The rowid of the row fetched last, of a SELECT FOR UPDATE.
    fn current_row(&self, _cursor: &Self::Cursor) -> Option<types::Rowid> {
        None
    }
    fn end_fetch(&mut self, cursor: &mut Self::Cursor);
    /// The cursor of CURSOR(subquery) that has that number, which nobody has taken before.
    fn take_nested(&mut self, _number: &Value) -> Option<Self::Cursor> {
        None
    }
    /// The open cursor of the client's that a bind of SQL has by that number.
    fn bound_cursor(&self, _number: &Value) -> Option<crate::Datum> {
        None
    }
    /// The number of columns of an open query.
    fn column_count(&self, cursor: &Self::Cursor) -> usize;
    /// What a dynamic statement is, and how many placeholders it has by position. A query or DML need not be read for
    /// that: see [`World::check_text`].
    fn dynamic_kind(&mut self, text: &str) -> Result<(DynamicKind, usize)>;
    /// Reads the text of a dynamic statement: its own errors come before those of its binds.
    fn check_text(&mut self, _text: &str) -> Result<()> {
        Ok(())
    }
    /// Compiles a block, or CALL, that EXECUTE IMMEDIATE is to run: a cursor like that of a statement. `None`: it has
    /// none, and the caller compiles it.
    fn open_block(&mut self, _text: &str) -> Result<Option<Rc<Block>>> {
        Ok(None)
    }
    /// What `open_block` gave last and is not closed yet begins to run.
    fn block_begins(&mut self) {}
    /// It has ended, or did not even begin.
    fn close_block(&mut self, _done: bool) {}
    /// PL/SQL leaves an open query alone until it fetches from it again, or goes on with it: what the session is seen
    /// to do is then PL/SQL, or the query.
    fn pause(&mut self, _cursor: &mut Self::Cursor, _paused: bool) {}

    /// Says that a FETCH of an explicit cursor begins.
    fn begin_fetch(&mut self, _cursor: &mut Self::Cursor) {}
    /// Runs a statement that is neither a query, nor DML, nor a block.
    fn execute_other(&mut self, text: &str) -> Result<()>;
    /// Changes the LOB of a row, which the transaction has locked, and gives its content afterwards.
    ///
    /// # Errors
    /// ORA-22920 where the row is not locked, ORA-22922 where it is gone; those of `edit` and of the update.
    fn write_lob(&mut self, _row: &types::LobRow, _edit: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_SESSION.SET_ROLE: what stands behind SET ROLE.
    fn set_role(&mut self, _roles: &str) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_SESSION.SET_NLS: a language parameter of the session, and nothing else.
    fn set_nls(&mut self, _parameter: &str, _value: &str) -> Result<()> {
        Err(Ora::unsupported())
    }

    fn commit(&mut self) -> Result<()>;
    fn rollback(&mut self) -> Result<()>;
    fn savepoint(&mut self, name: &str) -> Result<()>;
    fn rollback_to(&mut self, name: &str) -> Result<()>;
    fn set_transaction(&mut self, text: &str) -> Result<()>;
    /// Suspends the transaction and begins an independent one.
    fn autonomous_begin(&mut self) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// Returns to the suspended transaction; ORA-06519 when the independent one is still active.
    fn autonomous_end(&mut self) -> Result<()> {
        Err(Ora::unsupported())
    }

    /// A cached result of a function: key and value are bytes.
    fn function_result_get(&mut self, _function: &str, _depends: &[ObjectId], _key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Keeps the result that `function_result_get` did not find.
    fn function_result_put(&mut self, _function: &str, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }
    /// The function failed: what was begun by `function_result_get` is given up.
    fn function_result_abandon(&mut self, _function: &str, _key: &[u8]) {}

    fn job_submit(&mut self, _job: &JobRequest) -> Result<i64> {
        Err(Ora::unsupported())
    }
    fn job_change(&mut self, _job: i64, _change: &JobChange) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn job_remove(&mut self, _job: i64) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// Runs the job in this session now.
    fn job_run(&mut self, _job: i64) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn result_cache(&mut self, _request: &ResultCacheRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_AUDIT_MGMT.
    fn audit_trail(&mut self, _request: &AuditRequest) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_SHARED_POOL.
    fn shared_pool(&mut self, _request: &SharedPoolRequest) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_XPLAN.DISPLAY: as [`Services::display_cursor`], of a plan in a plan table.
    fn display_plan(&mut self, _table: &str, _statement_id: Option<&str>, _format: &str) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_XPLAN.DISPLAY_CURSOR: a value whose elements, for TABLE(…), are the lines.
    fn display_cursor(&mut self, _sql_id: Option<&str>, _child: Option<i64>, _format: &str) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_XA: the code of XA that comes back.
    fn xa(&mut self, _xid: &[u8], _request: &XaRequest) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_TRANSACTION: a transaction without a session is begun, resumed, left, or asked for.
    fn sessionless(&mut self, _request: &SessionlessRequest<'_>) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_XA.XA_RECOVER: the branches that are prepared.
    fn xa_recover(&mut self) -> Result<Vec<Vec<u8>>> {
        Err(Ora::unsupported())
    }
    /// DBMS_LOCK.REQUEST on a user lock: 0 success, 1 timeout, 2 deadlock, 4 already owned.
    fn user_lock_request(&mut self, _id: u32, _mode: u8, _timeout_s: Option<u32>, _until_commit: bool) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_LOCK.RELEASE: 0 success, 4 not owned.
    fn user_lock_release(&mut self, _id: u32) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_LOCK.CONVERT: 0 success, 1 timeout, 2 deadlock, 4 not owned.
    fn user_lock_convert(&mut self, _id: u32, _mode: u8, _timeout_s: Option<u32>) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT: gives the snapshot's number.
    fn create_snapshot(&mut self, _level: &str) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// The rest of DBMS_WORKLOAD_REPOSITORY.
    fn repository(&mut self, _request: &RepositoryRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_CONNECTION_POOL, of the pool of that name.
    fn connection_pool(&mut self, _pool: &str, _request: ConnectionPoolRequest<'_>) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_FLASHBACK.
    fn flashback(&mut self, _request: &FlashbackRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_STATS.
    fn statistics(&mut self, _request: &dictionary::statistics_request::StatisticsRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_APPLICATION_INFO: module, action and client_info; `None` leaves as it is.
    fn set_application_info(&mut self, _module: Option<&str>, _action: Option<&str>, _client_info: Option<&str>) {}
    /// DBMS_SESSION.SET_IDENTIFIER.
    fn set_identifier(&mut self, _client: &str) {}
    /// DBMS_SESSION.SET_CONTEXT, and without a value CLEAR_CONTEXT; without a name all of the namespace.
    fn change_context(&mut self, _namespace: &str, _name: Option<&str>, _value: Option<&str>) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_DEBUG_JDWP.CURRENT_SESSION_SERIAL: the session's serial number, as clients are told it.
    fn session_serial(&self) -> i64 {
        0
    }
    /// `version`, or the value of an initialization parameter; NULL where nobody knows.
    fn database_says(&mut self, _what: &str) -> Result<Value> {
        Ok(Value::Null)
    }
    /// The name of the session's transaction, as DBMS_TRANSACTION has it; NULL without one, unless it is to begin.
    fn transaction_id(&mut self, _begin: bool) -> Result<Value> {
        Ok(Value::Null)
    }
}

/// A call of DBMS_TRANSACTION for a transaction without a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionlessRequest<'a> {
    /// Begins one, or resumes it; gives its identifier.
    Start {
        /// Empty where one is to be made.
        id: &'a [u8],
        kind: i64,
        timeout_s: i64,
        flag: i64,
    },
    Suspend,
    /// The identifier of the one that the session is in.
    Id,
}

/// A call of DBMS_XA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaRequest {
    Start {
        flags: i64,
    },
    End {
        flags: i64,
    },
    Prepare,
    Commit {
        one_phase: bool,
    },
    Rollback,
    Forget,
    /// Seconds.
    SetTimeout(i64),
    /// The number of the last error.
    LastError,
}

/// A call of DBMS_WORKLOAD_REPOSITORY.
#[derive(Clone, Debug)]
pub enum RepositoryRequest {
    /// MODIFY_SNAPSHOT_SETTINGS: minutes, and statements by each measure.
    Settings {
        retention: Option<i64>,
        interval: Option<i64>,
        top: Option<i64>,
    },
    DropSnapshots {
        low: i64,
        high: i64,
    },
    /// Gives the baseline's number.
    CreateBaseline {
        begin: i64,
        end: i64,
        name: String,
    },
    /// `cascade`: with its snapshots.
    DropBaseline {
        name: String,
        cascade: bool,
    },
    /// AWR_REPORT_TEXT and AWR_REPORT_HTML.
    Report {
        begin: i64,
        end: i64,
        html: bool,
    },
    /// ASH_REPORT_TEXT and ASH_REPORT_HTML: the moments, and patterns of what is wanted; 1 for samples of memory only,
    /// 2 for those of disk.
    Ash {
        begin: Value,
        end: Value,
        sid: Option<i64>,
        sql_id: Option<String>,
        wait_class: Option<String>,
        module: Option<String>,
        action: Option<String>,
        client: Option<String>,
        source: i64,
        html: bool,
    },
    /// AWR_DIFF_REPORT_TEXT and AWR_DIFF_REPORT_HTML: both periods, begin and end.
    Compare {
        first: (i64, i64),
        second: (i64, i64),
        html: bool,
    },
}

/// A call of DBMS_CONNECTION_POOL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPoolRequest<'a> {
    Start,
    Stop,
    /// CONFIGURE_POOL: MINSIZE, MAXSIZE, INCRSIZE, SESSION_CACHED_CURSORS, INACTIVITY_TIMEOUT, MAX_THINK_TIME,
    /// MAX_USE_SESSION, MAX_LIFETIME_SESSION and MAX_TXN_THINK_TIME.
    Configure([Option<i64>; 9]),
    /// ALTER_PARAM.
    Alter {
        name: &'a str,
        value: &'a str,
    },
    RestoreDefaults,
}

/// A call of DBMS_FLASHBACK.
#[derive(Clone, Debug)]
pub enum FlashbackRequest {
    CurrentScn,
    /// Queries read as of an SCN, or of a time.
    Enable(Value),
    Disable,
}
