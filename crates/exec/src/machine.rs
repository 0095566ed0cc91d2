//! The state of one cursor's execution: registers, subqueries, the snapshot, the memory it uses.

use crate::code::Code;
use crate::compare::Truth;
use crate::ctx::ExecCtx;
use crate::join::bloom::Bloom;
use crate::measure::Run;
use crate::session_state::Caller;
use crate::spill::pool::Pool;
use crate::spill::{TempFile, rows};
use parallel::Team;
use plan::{CmpOp, Compare, Reg};
use process::Process;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::Snapshot;
use types::{Number, Ora, Result, Timestamp, Value};

/// A buffered row: copies of register values.
pub type Saved = Box<[Value]>;

/// The rows of a WITH query.
pub enum CteRows {
    Memory(Vec<Saved>),
    /// Rows in temporary space, because they do not fit into memory.
    Disk(TempFile),
}

/// A WITH query: run when it is first read, once an execution.
pub struct CteState {
    pub query: Box<dyn WithQuery>,
    pub rows: Option<Rc<CteRows>>,
}

/// A WITH query as its readers see it. The row sources that run it stand above the machine.
pub trait WithQuery {
    /// Runs the query.
    ///
    /// # Errors
    /// Those of its row sources; ORA-01652 without temporary space.
    fn read(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<CteRows>;
}

/// A subquery as expressions see it. The row sources that run it stand above the machine.
///
/// # Errors
/// Those of its row sources; ORA-01427 for a second row where one is wanted.
pub trait Subquery {
    /// The value of the only row; NULL if there is none.
    fn scalar(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value>;

    fn exists(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool>;

    /// The columns of the only row; NULLs if there is none.
    fn row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<Value>>;

    /// `(values) = (subquery)` with the only row; UNKNOWN if there is none.
    fn equals(&mut self, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth>;

    /// `(values) IN (subquery)`: whether the values equal a row; UNKNOWN if NULLs leave it open.
    fn contains(&mut self, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>)
    -> Result<Truth>;

    /// `value op ANY | ALL (subquery)`; the third part of `comparison` stands for ALL.
    fn quantified(
        &mut self,
        comparison: (CmpOp, Compare, bool),
        value: Reg,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Truth>;
}

/// Registers and other state of an execution. Lives as long as its cursor; re-execution keeps its buffers.
pub struct Machine {
    pub regs: Vec<Value>,
    pub subs: Vec<Option<Box<dyn Subquery>>>,
    pub ctes: Vec<Option<Box<CteState>>>,
    pub snapshot: Option<Snapshot>,
    /// AS OF clauses: the expression, and its snapshot in this execution.
    pub moments: Vec<(Option<Code>, Option<Snapshot>)>,
    /// Counts executions: values cached in an earlier execution are stale.
    pub execution: u64,
    /// Values of the statement's sequences for the current row.
    pub sequence_values: Vec<Option<Number>>,
    /// Scratch for an encoded key.
    pub key: Vec<u8>,
    pub scratch: Vec<u8>,
    /// State that functions keep between calls.
    pub functions: functions::FnCache,
    /// The dictionary's epoch that the statement was compiled in.
    pub epoch: u64,
    now: Option<Timestamp>,
    memory: usize,
    /// Temporary space of the execution.
    pub temporary: Pool,
    /// A snapshot taken before the row sources are opened, by the look-up in the result cache.
    early: Option<Snapshot>,
    /// Bloom filters of hash joins, once they are complete.
    filters: Vec<Option<Rc<Bloom>>>,
    /// The counts of the scans of a watched cursor in this execution.
    pub watched: Vec<Count>,
    /// The figures of the operations, if the cursor counts them.
    pub run: Option<Box<Run>>,
    /// The servers of the plan's coordinators.
    teams: Vec<Option<Team>>,
    /// The calls of pipelined functions in progress.
    pub open_rows: Vec<OpenRows>,
    /// The shared cursor of the running statement.
    pub cursor: library_cache::Handle,
    /// See [`Machine::identity`]; 0: not given out yet.
    identity: u64,
}

/// A call of a pipelined function in progress.
pub struct OpenRows {
    pub call: u64,
    pub function: Rc<plan::HostFunction>,
    pub caller: Rc<Caller>,
}

/// The counts of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub starts: u64,
    pub rows: u64,
    /// How often the scan was read to its end.
    pub ends: u64,
}

impl Machine {
    pub fn new(regs: Vec<Value>, sequences: usize) -> Machine {
        Machine {
            regs,
            subs: Vec::new(),
            ctes: Vec::new(),
            snapshot: None,
            moments: Vec::new(),
            execution: 0,
            sequence_values: vec![None; sequences],
            key: Vec::new(),
            scratch: Vec::new(),
            functions: functions::FnCache::default(),
            epoch: 0,
            now: None,
            memory: 0,
            temporary: Pool::default(),
            early: None,
            filters: Vec::new(),
            watched: Vec::new(),
            run: None,
            teams: Vec::new(),
            open_rows: Vec::new(),
            cursor: library_cache::Handle::NONE,
            identity: 0,
        }
    }

    /// Starts an execution as of `snapshot`.
    pub fn begin(&mut self, snapshot: Snapshot) {
        self.snapshot = Some(snapshot);
        self.execution += 1;
        self.now = None;
        self.memory = 0;
        self.watched.fill(Count::default());
        self.moments.iter_mut().for_each(|m| m.1 = None);
        for cte in self.ctes.iter_mut().flatten() {
            cte.rows = None;
        }
    }

    /// The filter with this number, if it is complete.
    pub fn filter(&self, id: usize) -> Option<&Rc<Bloom>> {
        self.filters.get(id).and_then(Option::as_ref)
    }

    pub fn set_filter(&mut self, id: usize, filter: Option<Rc<Bloom>>) {
        if self.filters.len() <= id {
            self.filters.resize(id + 1, None);
        }
        self.filters[id] = filter;
    }

    pub fn set_early_snapshot(&mut self, s: Snapshot) {
        self.early = Some(s);
    }

    pub fn take_early_snapshot(&mut self) -> Option<Snapshot> {
        self.early.take()
    }

    /// The snapshot of the running execution.
    pub fn snapshot(&self) -> &Snapshot {
        self.snapshot.as_ref().expect("an execution has begun")
    }

    #[inline]
    pub fn value(&self, r: Reg) -> &Value {
        &self.regs[r as usize]
    }

    #[inline]
    pub fn put(&mut self, r: Reg, v: Value) -> Reg {
        self.regs[r as usize] = v;
        r
    }

    /// Puts a whole number. If the register held a number, no memory has to be freed.
    #[inline]
    pub fn put_whole(&mut self, r: Reg, n: i64) -> Reg {
        match &mut self.regs[r as usize] {
            Value::Number(old) => *old = Number::from_i64(n),
            other => *other = Value::Number(Number::from_i64(n)),
        }
        r
    }

    /// Takes a register's value, so that its buffer can be reused.
    #[inline]
    pub fn take(&mut self, r: Reg) -> Value {
        std::mem::take(&mut self.regs[r as usize])
    }

    /// The servers of a coordinator.
    pub fn team(&mut self, id: usize) -> Option<&mut Team> {
        self.teams.get_mut(id)?.as_mut()
    }

    pub fn set_team(&mut self, id: usize, team: Team) {
        if self.teams.len() <= id {
            self.teams.resize_with(id + 1, || None);
        }
        self.teams[id] = Some(team);
    }

    /// Frees the servers of a coordinator.
    pub fn end_team(&mut self, id: usize, p: &Process) {
        if let Some(team) = self.teams.get_mut(id).and_then(Option::take) {
            team.release(p);
        }
    }

    /// Frees all servers at the end of an execution.
    #[inline]
    pub fn end_teams(&mut self, p: &Process) {
        for id in 0..self.teams.len() {
            self.end_team(id, p);
        }
    }

    /// A number unique among all cursors of the process, past and present.
    pub fn identity(&mut self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        if self.identity == 0 {
            self.identity = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        }
        self.identity
    }

    /// Whether servers have worked for this cursor.
    pub fn had_servers(&self) -> bool {
        !self.teams.is_empty()
    }

    /// Sets the statement's time to that of another process.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = Some(now);
    }

    /// The statement's time: the same throughout an execution.
    pub fn now(&mut self, cx: &ExecCtx<'_>) -> Timestamp {
        *self.now.get_or_insert_with(|| cx.host.now())
    }

    /// Copies registers out.
    pub fn save(&mut self, regs: &[Reg], cx: &ExecCtx<'_>) -> Result<Saved> {
        let row: Saved = regs.iter().map(|&r| self.regs[r as usize].clone()).collect();
        self.charge(bytes_of(&row), cx)?;
        Ok(row)
    }

    /// Reads registers from a record of `spill::rows`.
    ///
    /// # Errors
    /// ORA-00600 for a record of other values.
    pub fn decode(&mut self, regs: &[Reg], record: &mut &[u8]) -> Result<()> {
        regs.iter().try_for_each(|&r| rows::decode(record, &mut self.regs[r as usize]))
    }

    /// Bytes of all work areas.
    pub fn used(&self) -> usize {
        self.memory
    }

    /// Gives accounted memory back.
    pub fn release(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_sub(bytes);
    }

    /// Copies registers back.
    #[inline]
    pub fn restore(&mut self, regs: &[Reg], row: &[Value]) {
        for (&r, v) in regs.iter().zip(row) {
            self.regs[r as usize].set(v);
        }
    }

    pub fn nulls(&mut self, regs: &[Reg]) {
        for &r in regs {
            self.regs[r as usize] = Value::Null;
        }
    }

    /// Accounts for memory of a work area.
    ///
    /// # Errors
    /// ORA-04030 past the session's limit.
    pub fn charge(&mut self, bytes: usize, cx: &ExecCtx<'_>) -> Result<()> {
        self.memory += bytes;
        if self.memory > cx.session.options.work_area_limit_bytes {
            return Err(Ora::with(4030, &[&bytes, &"QERHJ hash-joi", &"sort subheap"]));
        }
        Ok(())
    }
}

/// Memory charged for a row source until it is opened again. A subquery may be left before its end and runs for each
/// outer row, so the charge must outlive a single run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    bytes: usize,
    /// The execution that the charge belongs to; an execution begins with nothing charged.
    execution: u64,
}

impl Held {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges more.
    ///
    /// # Errors
    /// ORA-04030.
    pub fn charge(&mut self, bytes: usize, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        self.hold(bytes, m);
        m.charge(bytes, cx)
    }

    /// Charges what is missing up to `bytes`.
    ///
    /// # Errors
    /// ORA-04030.
    pub fn raise_to(&mut self, bytes: usize, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<()> {
        let before = if self.execution == m.execution { self.bytes } else { 0 };
        if bytes > before { self.charge(bytes - before, m, cx) } else { Ok(()) }
    }

    /// Takes over memory that is already charged.
    pub fn hold(&mut self, bytes: usize, m: &Machine) {
        let before = if self.execution == m.execution { self.bytes } else { 0 };
        *self = Held { bytes: before + bytes, execution: m.execution };
    }

    /// Gives part of the charge back.
    pub fn give_back(&mut self, bytes: usize, m: &mut Machine) {
        if self.execution == m.execution {
            let bytes = bytes.min(self.bytes);
            m.release(bytes);
            self.bytes -= bytes;
        }
    }

    /// Gives the whole charge back.
    pub fn release(&mut self, m: &mut Machine) {
        if self.execution == m.execution {
            m.release(self.bytes);
        }
        *self = Held { bytes: 0, execution: m.execution };
    }
}

/// Copies one register to another, reusing the target's buffer.
pub fn copy(from: Reg, to: Reg, m: &mut Machine) {
    if let Ok([from, to]) = m.regs.get_disjoint_mut([from as usize, to as usize]) {
        to.set(from);
    }
}

/// Bytes of a kept row.
pub(crate) fn bytes_of(row: &[Value]) -> usize {
    row.iter().map(heap_bytes).sum::<usize>() + size_of_val(row) + 16
}

/// Heap bytes of a value. Content shared by several values counts for each of them.
pub(crate) fn heap_bytes(v: &Value) -> usize {
    match v {
        Value::Text(s) => s.len() + 16,
        Value::Raw(b) => b.len() + 16,
        Value::Composite(c) => c.parts.iter().map(|part| size_of::<Value>() + heap_bytes(part)).sum::<usize>() + 40,
        Value::Lob(lob) => heap_bytes(&lob.content) + size_of::<types::Lob>(),
        _ => 0,
    }
}
