//! Session slots. Each process has one session, in the slot of the same number.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sga::{SgaText, sga_struct};

/// The column STATUS of `v$session`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SessionStatus {
    /// Between calls.
    Inactive = 0,
    /// In a call.
    Active = 1,
    /// Killed, and not yet gone.
    Killed = 2,
}

impl SessionStatus {
    /// The text of the column.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Inactive => "INACTIVE",
            Self::Active => "ACTIVE",
            Self::Killed => "KILLED",
        }
    }
}

/// The reason why a session should stop its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// ORA-00028: killed by an administrator. The request stays set.
    Killed,
    /// ORA-01013: break from the client. Once.
    Break,
    /// ORA-04036: the instance has too much memory, and this session has the most. Once.
    Memory,
}

/// The call that a break applies to, where the break does not name one.
pub(crate) const EVERY_CALL: u64 = u64::MAX;

const KILLED: u32 = 1;
const BREAK: u32 = 2;
const MEMORY: u32 = 4;
const TELL: u32 = 1 << 8;
/// The heap of the process has grown: set by its own allocator.
pub(crate) const GROWN: u32 = 1 << 9;
/// The call has been asked to end because of memory, and is ending.
const GIVING_UP: u32 = 1 << 10;
/// The session has limits. Set by its own process, until it ends.
const LIMITED: u32 = 1 << 11;

sga_struct! {
    /// One session: a row of `v$session`. Written by its own process, except for the request to stop.
    #[derive(Debug)]
    pub struct SessionSlot {
        pub(crate) cancel: AtomicU32,
        pub(crate) status: AtomicU32,
        /// SERIAL#: counts the sessions that had the slot.
        pub(crate) serial: AtomicU64,
        pub(crate) logon_wall_ns: AtomicU64,
        /// Monotonic nanoseconds of the last change between active and inactive: LAST_CALL_ET.
        pub(crate) last_call_ns: AtomicU64,
        /// COMMAND: Oracle's number of the statement being run; 0 for none.
        pub command: AtomicU32,
        /// USER#, and the user whose names are looked up first: SCHEMA#.
        pub user: AtomicU32,
        /// SCHEMA#.
        pub schema: AtomicU32,
        /// TYPE: 1 for a background process.
        pub(crate) background: AtomicU32,
        /// The shared cursor being executed, in the library cache's words; 0 for none.
        pub cursor: AtomicU64,
        /// The cursor whose execution ended last.
        pub previous_cursor: AtomicU64,
        /// The execution: SQL_EXEC_ID, and monotonic nanoseconds, coarse, of when it began.
        pub execution: [AtomicU64; 2],
        /// The execution that ended last.
        pub previous_execution: [AtomicU64; 2],
        /// The PL/SQL block being run, the innermost of several; 0 for none. It runs while `cursor` is paused.
        pub block: AtomicU64,
        /// Its execution.
        pub block_execution: [AtomicU64; 2],
        /// The statement of the call in progress, which contains all others; 0 until it has begun.
        pub top: AtomicU64,
        /// The first stored PL/SQL subprogram entered, and the current one: the number of its object in the high half
        /// of the word, its own in the low half; 0 for none.
        pub subprograms: [AtomicU64; 2],
        /// Executions so far; the count goes on from one owner of the slot to the next.
        pub executions: AtomicU64,
        /// TADDR, as the number of a transaction slot + 1; 0 for none.
        pub transaction: AtomicU64,
        /// The row waited for: ROW_WAIT_OBJ#.
        pub row_wait_object: AtomicU64,
        /// ROW_WAIT_FILE# and ROW_WAIT_BLOCK#, as an rdba.
        pub row_wait_block: AtomicU64,
        /// ROW_WAIT_ROW#.
        pub row_wait_row: AtomicU64,
        /// BLOCKING_SESSION: the sid, 0 for none.
        pub blocking_session: AtomicU64,
        /// 1 in a branch of a global transaction that its coordinator ends.
        pub distributed: AtomicU64,
        /// The number of the JOB that the session runs; 0 for none.
        pub job: AtomicU64,
        /// USERNAME.
        pub username: SgaText<16>,
        /// SCHEMANAME.
        pub schema_name: SgaText<16>,
        /// OSUSER.
        pub os_user: SgaText<8>,
        /// MACHINE.
        pub machine: SgaText<8>,
        /// TERMINAL.
        pub terminal: SgaText<4>,
        /// PROGRAM.
        pub program: SgaText<8>,
        /// MODULE.
        pub module: SgaText<8>,
        /// ACTION.
        pub action: SgaText<8>,
        /// CLIENT_INFO.
        pub client_info: SgaText<8>,
        /// CLIENT_IDENTIFIER.
        pub client_identifier: SgaText<8>,
        /// PROCESS: the client's process id as text.
        pub client_process: SgaText<3>,
        /// The transaction's name from SET TRANSACTION.
        pub transaction_name: SgaText<32>,
        /// SERVICE_NAME: the service that the client requested; empty for the instance's own, `SYS$USERS`.
        pub service: SgaText<8>,
        /// CLIENT_DRIVER.
        pub client_driver: SgaText<4>,
        /// CLIENT_VERSION, as drivers send it; 0 where none was sent.
        pub client_version: AtomicU64,
        /// CLIENT_CHARSET, as Oracle numbers character sets; 0 where none was sent.
        pub client_charset: AtomicU32,
        /// SESSION_EDITION_ID; 0 for the database's default.
        pub edition: AtomicU32,
        /// The user that authenticated as proxy for the session's user, as its number + 1; 0 for none.
        pub proxy: AtomicU32,
        /// PORT of the client; 0 for a local connection.
        pub port: AtomicU32,
        /// The client's address, empty for a local connection.
        pub address: SgaText<6>,
        /// The protection of the connection: bit 0 for TLS, bits from 8 the bytes of the key and from 16 the bytes of
        /// the checksums of native encryption. [`SessionSlot::speaks_tls`] and [`SessionSlot::native_encryption`]
        /// decode it.
        pub encrypted: AtomicU64,
        /// SERVER: 1 for a session of the connection pool.
        pub pooled: AtomicU32,
        /// PQ_STATUS: 0 enabled, 1 disabled, 2 forced.
        pub parallel_query: AtomicU32,
        pub(crate) pad: AtomicU32,
        /// Number of the client's call that runs, or ran last, counted from the logon over the local socket; 0 before
        /// the first call, and for clients that do not count.
        pub(crate) client_call: AtomicU64,
        /// Number of the call that a break applies to: [`EVERY_CALL`] where the break names none.
        pub(crate) break_call: AtomicU64,
        /// ECID.
        pub execution_context: SgaText<8>,
        /// The name of the database operation that the client has set; empty for none.
        pub operation: SgaText<4>,
    }
}

impl SessionSlot {
    /// SERIAL#.
    #[must_use]
    pub fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// Whether the session is one of the connection pool's.
    #[must_use]
    pub fn is_pooled(&self) -> bool {
        self.pooled.load(Ordering::Relaxed) != 0
    }

    /// Whether the client speaks TLS.
    #[must_use]
    pub fn speaks_tls(&self) -> bool {
        self.encrypted.load(Ordering::Relaxed) & 1 != 0
    }

    /// Bytes of the key and of the checksums of native encryption; 0 without.
    #[must_use]
    pub fn native_encryption(&self) -> (u8, u8) {
        let encrypted = self.encrypted.load(Ordering::Relaxed);
        ((encrypted >> 8) as u8, (encrypted >> 16) as u8)
    }

    /// SERVICE_NAME: the client's, or the default one.
    #[must_use]
    pub fn service_name(&self) -> String {
        let asked = self.service.get();
        match (asked.is_empty(), self.is_background()) {
            (false, _) => asked,
            (true, true) => "SYS$BACKGROUND".to_owned(),
            (true, false) => "SYS$USERS".to_owned(),
        }
    }

    /// LOGON_TIME in wall-clock nanoseconds since 1970.
    #[must_use]
    pub fn logon_wall_ns(&self) -> u64 {
        self.logon_wall_ns.load(Ordering::Relaxed)
    }

    /// Monotonic nanoseconds of the last change of status.
    #[must_use]
    pub fn last_call_ns(&self) -> u64 {
        self.last_call_ns.load(Ordering::Relaxed)
    }

    /// True for the session of a background process.
    #[must_use]
    pub fn is_background(&self) -> bool {
        self.background.load(Ordering::Relaxed) == crate::slots::BACKGROUND
    }

    /// STATUS.
    #[must_use]
    pub fn status(&self) -> SessionStatus {
        if self.cancel.load(Ordering::Relaxed) & KILLED != 0 {
            return SessionStatus::Killed;
        }
        if self.status.load(Ordering::Relaxed) == SessionStatus::Active as u32 {
            SessionStatus::Active
        } else {
            SessionStatus::Inactive
        }
    }

    /// Sets the status at the beginning or end of a call.
    pub fn set_status(&self, status: SessionStatus) {
        self.status.store(status as u32, Ordering::Relaxed);
        self.last_call_ns.store(os::clock::coarse_ns(), Ordering::Relaxed);
    }

    /// Begins a call of a client that counts its calls.
    pub fn begin_client_call(&self) {
        let n = self.client_call.load(Ordering::Relaxed);
        self.client_call.store(n + 1, Ordering::Relaxed);
    }

    /// Asks the session to stop: to interrupt call `call` or, with [`EVERY_CALL`], any call. The caller also posts its
    /// process.
    pub(crate) fn request(&self, cancel: Cancel, call: u64) {
        if cancel == Cancel::Break {
            self.break_call.store(call, Ordering::Relaxed);
        }
        let bit = match cancel {
            Cancel::Killed => KILLED,
            Cancel::Break => BREAK,
            Cancel::Memory => MEMORY,
        };
        self.cancel.fetch_or(bit, Ordering::Release); // pairs with the Acquire in `take_request`
    }

    /// Forgets the requests to earlier calls, at the beginning of one. A break that names this call stays: it arrived
    /// before the call itself.
    pub fn clear_break(&self) {
        if !self.is_wanted() {
            return;
        }
        let cleared = BREAK | MEMORY | TELL | GROWN | GIVING_UP;
        let asked = self.cancel.fetch_and(!cleared, Ordering::Acquire); // pairs with the Release in `request`
        let meant = self.break_call.load(Ordering::Relaxed);
        if asked & BREAK != 0 && meant == self.client_call.load(Ordering::Relaxed) {
            self.cancel.fetch_or(BREAK, Ordering::Relaxed);
        }
    }

    /// Whether a request is set, or memory or limits are to be checked.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) & (KILLED | BREAK | MEMORY | GROWN | LIMITED) != 0
    }

    /// Whether the session should stop.
    #[inline]
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) & (KILLED | BREAK | MEMORY) != 0
    }

    /// Whether its call has been asked to end because of memory, and has not ended yet.
    pub(crate) fn is_asked_for_memory(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) & (MEMORY | GIVING_UP) != 0
    }

    /// Marks the call as ending because of memory.
    pub(crate) fn set_giving_up(&self) {
        self.cancel.fetch_or(GIVING_UP, Ordering::Relaxed);
    }

    /// Whether the heap has grown since the last call of this function.
    pub(crate) fn take_grown(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) & GROWN != 0
            && self.cancel.fetch_and(!GROWN, Ordering::Relaxed) & GROWN != 0
    }

    /// Makes the next check compare the memory again.
    pub(crate) fn set_grown(&self) {
        self.cancel.fetch_or(GROWN, Ordering::Relaxed);
    }

    pub(crate) fn set_limited(&self, limited: bool) {
        if limited {
            self.cancel.fetch_or(LIMITED, Ordering::Relaxed);
        } else {
            self.cancel.fetch_and(!LIMITED, Ordering::Relaxed);
        }
    }

    /// Asks the session, which has been in a call for a while, to publish the progress of its statements.
    pub fn ask_to_tell(&self) {
        self.cancel.fetch_or(TELL, Ordering::Relaxed);
    }

    /// Whether there is any request: to stop, to publish, or from its own heap or limits.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) != 0
    }

    /// Takes the request to publish; true when it was set.
    pub(crate) fn take_tell(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) & TELL != 0 && self.cancel.fetch_and(!TELL, Ordering::Relaxed) & TELL != 0
    }

    fn is_broken_call(&self) -> bool {
        let meant = self.break_call.load(Ordering::Relaxed);
        meant == EVERY_CALL || meant == self.client_call.load(Ordering::Relaxed)
    }

    pub(crate) fn take_request(&self) -> Option<Cancel> {
        let asked = self.cancel.fetch_and(!(BREAK | MEMORY), Ordering::Acquire); // pairs with the Release in `request`
        match asked {
            _ if asked & KILLED != 0 => Some(Cancel::Killed),
            // A break that arrived after its call had ended does not apply to the call that runs now.
            _ if asked & BREAK != 0 && self.is_broken_call() => Some(Cancel::Break),
            _ if asked & MEMORY != 0 => Some(Cancel::Memory),
            _ => None,
        }
    }

    /// Sets the slot to the initial state of a session.
    pub(crate) fn reset(&self) {
        for word in [&self.command, &self.user, &self.schema, &self.background, &self.status, &self.cancel] {
            word.store(0, Ordering::Relaxed);
        }
        for word in [
            &self.cursor,
            &self.previous_cursor,
            &self.execution[0],
            &self.execution[1],
            &self.previous_execution[0],
            &self.previous_execution[1],
            &self.block,
            &self.block_execution[0],
            &self.block_execution[1],
            &self.top,
            &self.subprograms[0],
            &self.subprograms[1],
            &self.transaction,
            &self.row_wait_object,
            &self.row_wait_block,
            &self.row_wait_row,
            &self.blocking_session,
            &self.distributed,
            &self.job,
            &self.client_version,
            &self.encrypted,
            &self.client_call,
            &self.break_call,
        ] {
            word.store(0, Ordering::Relaxed);
        }
        for word in [&self.client_charset, &self.edition, &self.proxy, &self.pooled, &self.parallel_query] {
            word.store(0, Ordering::Relaxed);
        }
        self.port.store(0, Ordering::Relaxed);
        self.service.set("");
        self.client_driver.set("");
        self.operation.set("");
        self.execution_context.set("");
        self.address.set("");
        self.transaction_name.set("");
        for text in [&self.module, &self.action, &self.client_info, &self.client_identifier] {
            text.set("");
        }
    }
}
