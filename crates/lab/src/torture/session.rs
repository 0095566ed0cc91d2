//! A worker's session, and the statements that it runs.

use super::mind::{Mind, Random};
use super::query::{TOO_OLD, Trouble, is_gone};
use client::{Bind, Client, ClientError, Outcome};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Deadlock: the statement is rolled back, the transaction stays.
const DEADLOCK: u32 = 60;

/// A serializable transaction met a row that was changed since it began.
const CANNOT_SERIALIZE: u32 = 8177;

/// State shared by the workers of a run.
#[derive(Default)]
pub struct Shared {
    /// The instance has ended, or is about to: a worker that loses its session ends.
    pub over: AtomicBool,
    /// All sequence values that were returned to any worker.
    pub numbers: Mutex<HashSet<i64>>,
    pub failure: Mutex<Option<String>>,
    pub deadlocks: AtomicU64,
    pub statements: AtomicU64,
}

impl Shared {
    /// Notes the first failure, and ends the run.
    pub fn fail(&self, text: String) {
        let mut failure = self.failure.lock().unwrap_or_else(|e| e.into_inner());
        failure.get_or_insert(text);
        self.over.store(true, Ordering::Release);
    }

    pub fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(|e| e.into_inner()).is_some()
    }
}

/// The part of a worker that other threads see: the process to kill, and its progress.
#[derive(Default)]
pub struct Seat {
    /// The server process, 0 for none.
    pub process: AtomicU32,
    pub steps: AtomicU64,
}

/// The reason why a step ended early.
pub enum Stop {
    /// The session has ended.
    Gone,
    /// A deadlock or a lack of undo has failed the statement, or the transaction cannot be serialized: it has to be
    /// rolled back.
    Again,
    Failure(String),
}

pub type Step<R> = Result<R, Stop>;

/// A worker's session.
pub struct Session<'a> {
    pub(super) client: Client,
    pub(super) process: u32,
    pub(super) mind: &'a mut Mind,
    pub(super) seat: &'a Seat,
    pub(super) r: &'a mut Random,
    pub(super) shared: &'a Shared,
    /// The transaction is serializable.
    pub(super) serializable: bool,
    /// One of its links leads nowhere.
    pub(super) dangling: bool,
}

impl Session<'_> {
    pub(super) fn run(&mut self, sql: &str, binds: &[Bind]) -> Step<Outcome> {
        self.shared.statements.fetch_add(1, Ordering::Relaxed);
        self.client.execute(sql, binds).map_err(|e| match &e {
            ClientError::Server(f) if matches!(f.code, DEADLOCK | TOO_OLD) => Stop::Again,
            ClientError::Server(f) if f.code == CANNOT_SERIALIZE && self.serializable => Stop::Again,
            e if is_gone(e) => Stop::Gone,
            e => Stop::Failure(format!("worker {}: {e}\nin {sql}", self.mind.worker)),
        })
    }

    /// Runs a statement that may fail with one of these errors; `None` then.
    pub(super) fn run_unless(&mut self, sql: &str, codes: &[u32]) -> Step<Option<Outcome>> {
        self.shared.statements.fetch_add(1, Ordering::Relaxed);
        match self.client.execute(sql, &[]) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(ClientError::Server(f)) if codes.contains(&f.code) => Ok(None),
            Err(ClientError::Server(f)) if matches!(f.code, DEADLOCK | TOO_OLD) => Err(Stop::Again),
            Err(ClientError::Server(f)) if f.code == CANNOT_SERIALIZE && self.serializable => Err(Stop::Again),
            Err(e) if is_gone(&e) => Err(Stop::Gone),
            Err(e) => Err(Stop::Failure(format!("worker {}: {e}\nin {sql}", self.mind.worker))),
        }
    }

    /// Runs a statement that must fail with this error.
    pub(super) fn must_fail(&mut self, sql: &str, code: u32) -> Step<()> {
        match self.run_unless(sql, &[code])? {
            None => Ok(()),
            Some(_) => Err(Stop::Failure(format!("worker {}: no ORA-{code:05}\nin {sql}", self.mind.worker))),
        }
    }

    /// Runs a statement that must change this many rows.
    pub(super) fn change(&mut self, rows: u64, sql: &str, binds: &[Bind]) -> Step<()> {
        let seen = self.run(sql, binds)?.done.rows;
        if seen == rows {
            return Ok(());
        }
        Err(Stop::Failure(format!("worker {}: {seen} rows instead of {rows}\nin {sql}", self.mind.worker)))
    }
}

/// A check that failed because the session ended is no failure of the run.
pub fn lost_or_wrong(trouble: Trouble) -> Stop {
    match trouble {
        Trouble::Gone => Stop::Gone,
        Trouble::Wrong(text) => Stop::Failure(text),
    }
}
