//! The list of wait events.

/// The class of a wait event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitClass {
    /// Events of no other class.
    Other,
    /// Application design: row locks, table locks.
    Application,
    /// Instance configuration.
    Configuration,
    /// Commands of administrators.
    Administrative,
    /// Contention inside the instance.
    Concurrency,
    /// Waiting for a commit to be safe.
    Commit,
    /// Waiting for work.
    Idle,
    /// Messages to clients.
    Network,
    /// Reads and writes of user processes.
    UserIo,
    /// Reads and writes of background processes.
    SystemIo,
    /// The resource manager.
    Scheduler,
}

impl WaitClass {
    /// The column WAIT_CLASS.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Other => "Other",
            Self::Application => "Application",
            Self::Configuration => "Configuration",
            Self::Administrative => "Administrative",
            Self::Concurrency => "Concurrency",
            Self::Commit => "Commit",
            Self::Idle => "Idle",
            Self::Network => "Network",
            Self::UserIo => "User I/O",
            Self::SystemIo => "System I/O",
            Self::Scheduler => "Scheduler",
        }
    }

    /// The column WAIT_CLASS#.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Other => 0,
            Self::Application => 1,
            Self::Configuration => 2,
            Self::Administrative => 3,
            Self::Concurrency => 4,
            Self::Commit => 5,
            Self::Idle => 6,
            Self::Network => 7,
            Self::UserIo => 8,
            Self::SystemIo => 9,
            Self::Scheduler => 10,
        }
    }

    /// The column WAIT_CLASS_ID.
    #[must_use]
    pub fn id(self) -> u32 {
        [
            1_893_977_003,
            4_217_450_380,
            3_290_255_840,
            4_166_625_743,
            3_875_070_507,
            3_386_400_367,
            2_723_168_908,
            2_000_153_315,
            1_740_759_767,
            4_108_307_767,
            2_396_326_234,
        ][self.number() as usize]
    }
}

macro_rules! occurs {
    () => {
        true
    };
    (name_only) => {
        false
    };
}

macro_rules! events {
    ($( $id:ident | $name:literal | $class:ident | $p1:literal | $p2:literal | $p3:literal $( | $mark:ident )?; )*) => {
        /// A wait event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Event { $( #[doc = concat!("`", $name, "`")] $id ),* }

        const ROWS: &[(Event, &str, WaitClass, [&str; 3])] = &[ $( (Event::$id, $name, WaitClass::$class, [$p1, $p2, $p3]) ),* ];

        const OCCURS: &[bool] = &[ $( occurs!($( $mark )?) ),* ];
    };
}

// Nothing waits for an event that is marked `name_only`: the name is there for scripts that look it up. A test of the
// workspace holds the marks to the sources.
events! {
    NullEvent | "null event" | Other | "" | "" | "" | name_only;
    LatchFree | "latch free" | Other | "address" | "number" | "tries";
    LatchCacheBuffersChains | "latch: cache buffers chains" | Concurrency | "address" | "number" | "tries";
    LatchCacheBuffersLruChain | "latch: cache buffers lru chain" | Other | "address" | "number" | "tries";
    LatchCheckpointQueueLatch | "latch: checkpoint queue latch" | Other | "address" | "number" | "tries";
    LatchCacheBufferHandles | "latch: cache buffer handles" | Other | "address" | "number" | "tries" | name_only;
    LatchObjectQueueHeaderOperation | "latch: object queue header operation" | Other | "address" | "number" | "tries" | name_only;
    LatchRowCacheObjects | "latch: row cache objects" | Concurrency | "address" | "number" | "tries";
    LatchSharedPool | "latch: shared pool" | Concurrency | "address" | "number" | "tries";
    LatchLibraryCache | "latch: library cache" | Concurrency | "address" | "number" | "tries";
    LatchLibraryCachePin | "latch: library cache pin" | Concurrency | "address" | "number" | "tries";
    LatchLibraryCacheLock | "latch: library cache lock" | Concurrency | "address" | "number" | "tries" | name_only;
    LatchRedoAllocation | "latch: redo allocation" | Other | "address" | "number" | "tries";
    LatchRedoCopy | "latch: redo copy" | Configuration | "address" | "number" | "tries" | name_only;
    LatchRedoWriting | "latch: redo writing" | Configuration | "address" | "number" | "tries" | name_only;
    LatchEnqueueHashChains | "latch: enqueue hash chains" | Other | "address" | "number" | "tries";
    LatchMessages | "latch: messages" | Other | "address" | "number" | "tries" | name_only;
    LatchSessionAllocation | "latch: session allocation" | Other | "address" | "number" | "tries";
    LatchUndoGlobalData | "latch: undo global data" | Concurrency | "address" | "number" | "tries" | name_only;
    LatchInMemoryUndoLatch | "latch: In memory undo latch" | Concurrency | "address" | "number" | "tries" | name_only;
    LatchCacheTableScanLatch | "latch: cache table scan latch" | Other | "address" | "number" | "tries" | name_only;
    LatchActivity | "latch activity" | Other | "address" | "number" | "process#" | name_only;
    LibraryCacheMutexX | "library cache: mutex X" | Concurrency | "idn" | "value" | "where";
    LibraryCacheMutexS | "library cache: mutex S" | Concurrency | "idn" | "value" | "where";
    LibraryCacheLock | "library cache lock" | Concurrency | "handle address" | "lock address" | "100*mode+namespace" | name_only;
    LibraryCachePin | "library cache pin" | Concurrency | "handle address" | "pin address" | "100*mode+namespace";
    LibraryCacheLoadLock | "library cache load lock" | Concurrency | "object address" | "lock address" | "100*mask+namespace" | name_only;
    CursorPinS | "cursor: pin S" | Concurrency | "idn" | "value" | "where";
    CursorPinX | "cursor: pin X" | Concurrency | "idn" | "value" | "where";
    CursorPinSWaitOnX | "cursor: pin S wait on X" | Concurrency | "idn" | "value" | "where";
    CursorMutexS | "cursor: mutex S" | Concurrency | "idn" | "value" | "where";
    CursorMutexX | "cursor: mutex X" | Concurrency | "idn" | "value" | "where";
    RowCacheMutex | "row cache mutex" | Concurrency | "cache id" | "where requested" | "";
    RowCacheLock | "row cache lock" | Concurrency | "cache id" | "mode" | "request";
    RowCacheRead | "row cache read" | Concurrency | "cache id" | "address" | "times" | name_only;
    DbFileSequentialRead | "db file sequential read" | UserIo | "file#" | "block#" | "blocks";
    DbFileScatteredRead | "db file scattered read" | UserIo | "file#" | "block#" | "blocks";
    DbFileParallelRead | "db file parallel read" | UserIo | "files" | "blocks" | "requests";
    DbFileParallelWrite | "db file parallel write" | SystemIo | "requests" | "interrupt" | "timeout";
    DbFileSingleWrite | "db file single write" | UserIo | "file#" | "block#" | "blocks" | name_only;
    DbFileAsyncIoSubmit | "db file async I/O submit" | SystemIo | "requests" | "interrupt" | "timeout";
    DirectPathRead | "direct path read" | UserIo | "file number" | "first dba" | "block cnt" | name_only;
    DirectPathWrite | "direct path write" | UserIo | "file number" | "first dba" | "block cnt" | name_only;
    DirectPathReadTemp | "direct path read temp" | UserIo | "file number" | "first dba" | "block cnt";
    DirectPathWriteTemp | "direct path write temp" | UserIo | "file number" | "first dba" | "block cnt";
    LocalWriteWait | "local write wait" | UserIo | "file#" | "block#" | "" | name_only;
    ReadByOtherSession | "read by other session" | UserIo | "file#" | "block#" | "class#";
    BufferBusyWaits | "buffer busy waits" | Concurrency | "file#" | "block#" | "class#";
    BufferDeadlock | "buffer deadlock" | Other | "dba" | "class*10+mode" | "flag" | name_only;
    FreeBufferWaits | "free buffer waits" | Configuration | "file#" | "block#" | "set-id#";
    WriteCompleteWaits | "write complete waits" | Configuration | "file#" | "block#" | "";
    CheckpointCompleted | "checkpoint completed" | Configuration | "" | "" | "" | name_only;
    DataFileInitWrite | "Data file init write" | UserIo | "count" | "intr" | "timeout" | name_only;
    DatafileMoveCleanup | "Datafile move cleanup during resize" | Administrative | "" | "" | "" | name_only;
    ControlFileSequentialRead | "control file sequential read" | SystemIo | "file#" | "block#" | "blocks";
    ControlFileParallelWrite | "control file parallel write" | SystemIo | "files" | "block#" | "requests";
    LogFileSync | "log file sync" | Commit | "buffer#" | "sync scn" | "";
    LogFileParallelWrite | "log file parallel write" | SystemIo | "files" | "blocks" | "requests";
    LogFileSequentialRead | "log file sequential read" | SystemIo | "log#" | "block#" | "blocks" | name_only;
    LogFileSwitchCompletion | "log file switch completion" | Configuration | "" | "" | "";
    LogFileSwitchCheckpointIncomplete | "log file switch (checkpoint incomplete)" | Configuration | "" | "" | "";
    LogFileSwitchArchivingNeeded | "log file switch (archiving needed)" | Configuration | "" | "" | "";
    LogArchiveIo | "Log archive I/O" | SystemIo | "count" | "intr" | "timeout";
    LogBufferSpace | "log buffer space" | Configuration | "" | "" | "";
    LgwrWaitForRedoCopy | "LGWR wait for redo copy" | Other | "copy latch #" | "" | "";
    RdbmsIpcReply | "rdbms ipc reply" | Other | "from_process" | "timeout" | "";
    UndoSegmentExtension | "undo segment extension" | Configuration | "segment#" | "" | "" | name_only;
    WaitForUndoRecord | "wait for a undo record" | Other | "" | "" | "" | name_only;
    TransactionEvent | "transaction" | Other | "undo seg#|slot#" | "wrap#" | "count";
    EnqTxRowLockContention | "enq: TX - row lock contention" | Application | "name|mode" | "usn<<16 | slot" | "sequence";
    EnqTxAllocateItlEntry | "enq: TX - allocate ITL entry" | Configuration | "name|mode" | "usn<<16 | slot" | "sequence";
    EnqTxIndexContention | "enq: TX - index contention" | Concurrency | "name|mode" | "usn<<16 | slot" | "sequence" | name_only;
    EnqTxContention | "enq: TX - contention" | Other | "name|mode" | "usn<<16 | slot" | "sequence";
    EnqTmContention | "enq: TM - contention" | Application | "name|mode" | "object #" | "table/partition";
    EnqRcResultCacheContention | "enq: RC - Result Cache: Contention" | Application | "name|mode" | "chunkNo" | "blockNo";
    EnqUlContention | "enq: UL - contention" | Application | "name|mode" | "id" | "0";
    EnqJqContention | "enq: JQ - contention" | Other | "name|mode" | "0" | "0";
    EnqJiContention | "enq: JI - contention" | Other | "name|mode" | "view object #" | "0" | name_only;
    EnqSqContention | "enq: SQ - contention" | Configuration | "name|mode" | "object #" | "0";
    EnqHwContention | "enq: HW - contention" | Configuration | "name|mode" | "table space #" | "block" | name_only;
    EnqStContention | "enq: ST - contention" | Configuration | "name|mode" | "0" | "0" | name_only;
    EnqToContention | "enq: TO - contention" | Other | "name|mode" | "object #" | "1";
    EnqTsContention | "enq: TS - contention" | Other | "name|mode" | "tablespace ID" | "dba";
    EnqUsContention | "enq: US - contention" | Other | "name|mode" | "undo segment #" | "0" | name_only;
    EnqCiContention | "enq: CI - contention" | Other | "name|mode" | "opcode" | "type";
    EnqCfContention | "enq: CF - contention" | Other | "name|mode" | "0" | "operation";
    EnqRoFastObjectReuse | "enq: RO - fast object reuse" | Application | "name|mode" | "2" | "0" | name_only;
    EnqKoFastObjectCheckpoint | "enq: KO - fast object checkpoint" | Application | "name|mode" | "2" | "0" | name_only;
    EnqDxContention | "enq: DX - contention" | Other | "name|mode" | "transaction entry #" | "0";
    EnqDdContention | "enq: DD - contention" | Other | "name|mode" | "disk group" | "type";
    EnqOdContention | "enq: OD - Serializing DDLs" | Other | "name|mode" | "object #" | "0";
    EnqPrContention | "enq: PR - contention" | Other | "name|mode" | "0" | "0" | name_only;
    EnqMrContention | "enq: MR - contention" | Other | "name|mode" | "0 or file #" | "type";
    EnqRtContention | "enq: RT - contention" | Other | "name|mode" | "redo thread" | "type" | name_only;
    EnqSsContention | "enq: SS - contention" | Configuration | "name|mode" | "tablespace #" | "dba" | name_only;
    EnqTtContention | "enq: TT - contention" | Other | "name|mode" | "tablespace ID" | "operation";
    EnqWfContention | "enq: WF - contention" | Other | "name|mode" | "0" | "0" | name_only;
    SqlNetMessageFromClient | "SQL*Net message from client" | Idle | "driver id" | "#bytes" | "";
    SqlNetMessageToClient | "SQL*Net message to client" | Network | "driver id" | "#bytes" | "" | name_only;
    SqlNetMoreDataFromClient | "SQL*Net more data from client" | Network | "driver id" | "#bytes" | "";
    SqlNetMoreDataToClient | "SQL*Net more data to client" | Network | "driver id" | "#bytes" | "" | name_only;
    SqlNetBreakResetToClient | "SQL*Net break/reset to client" | Application | "driver id" | "break?" | "" | name_only;
    SqlNetMessageFromDblink | "SQL*Net message from dblink" | Idle | "driver id" | "#bytes" | "" | name_only;
    RdbmsIpcMessage | "rdbms ipc message" | Idle | "timeout" | "" | "";
    PmonTimer | "pmon timer" | Idle | "duration" | "" | "";
    SmonTimer | "smon timer" | Idle | "sleep time" | "failed" | "";
    DiagIdleWait | "DIAG idle wait" | Idle | "component" | "where" | "wait time(millisec)" | name_only;
    PlSqlLockTimer | "PL/SQL lock timer" | Idle | "duration" | "" | "";
    JobqSlaveWait | "jobq slave wait" | Idle | "" | "" | "";
    JobqCoordinatorWait | "jobq coordinator wait" | Idle | "" | "" | "";
    ClassSlaveWait | "class slave wait" | Idle | "slave id" | "" | "" | name_only;
    SpaceManagerIdleWait | "Space Manager: slave idle wait" | Idle | "Slave ID" | "" | "" | name_only;
    StreamsAqIdle | "Streams AQ: waiting for messages in the queue" | Idle | "queue id" | "process#" | "wait time" | name_only;
    PipeGet | "pipe get" | Idle | "handle address" | "buffer length" | "timeout" | name_only;
    PipePut | "pipe put" | Concurrency | "handle address" | "record length" | "timeout" | name_only;
    DispatcherTimer | "dispatcher timer" | Idle | "sleep time" | "" | "" | name_only;
    VirtualCircuitStatus | "virtual circuit status" | Idle | "circuit#" | "status" | "" | name_only;
    ProcessStartup | "os thread startup" | Concurrency | "" | "" | "" | name_only;
    ProcessTerminate | "process terminate" | Other | "" | "" | "" | name_only;
    InstanceStateChange | "instance state change" | Other | "layer" | "value" | "waited" | name_only;
    SharedPoolResizing | "SGA: allocation forcing component growth" | Other | "" | "" | "" | name_only;
    WaitListLatchFree | "wait list latch free" | Other | "address" | "number" | "tries" | name_only;
    KksfbcChildCompletion | "kksfbc child completion" | Concurrency | "" | "" | "" | name_only;
    ReliableMessage | "reliable message" | Other | "channel context" | "channel handle" | "broadcast message" | name_only;
    DiskFileOperations | "Disk file operations I/O" | UserIo | "FileOperation" | "fileno" | "filetype" | name_only;
    EventsInWaitclassOther | "events in waitclass Other" | Other | "" | "" | "" | name_only;
    AcknowledgeOverPgaLimit | "acknowledge over PGA limit" | Scheduler | "limit" | "margin" | "growth";
    ResmgrCpuQuantum | "resmgr:cpu quantum" | Scheduler | "location" | "" | "" | name_only;
    SortSegmentRequest | "sort segment request" | Configuration | "" | "" | "" | name_only;
    UtlFileIo | "utl_file I/O" | UserIo | "" | "" | "" | name_only;
    PxDeqExecuteReply | "PX Deq: Execute Reply" | Idle | "sleeptime/senderid" | "passes" | "";
    PxDeqExecutionMsg | "PX Deq: Execution Msg" | Idle | "sleeptime/senderid" | "passes" | "";
    PxDeqCreditSendBlkd | "PX Deq Credit: send blkd" | Other | "sleeptime/senderid" | "passes" | "qref";
    PxIdleWait | "PX Idle Wait" | Idle | "sleeptime/senderid" | "passes" | "";
}

impl Event {
    /// The number of events.
    pub const COUNT: usize = ROWS.len();

    /// All events in order of number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    /// The event with this number.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        ROWS.get(usize::try_from(number).ok()?).map(|row| row.0)
    }

    /// The event with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The column EVENT#.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The column NAME.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// False for an event that nothing here waits for. `v$event_name` has it all the same.
    #[must_use]
    pub fn occurs(self) -> bool {
        OCCURS[self as usize]
    }

    /// The class of the event.
    #[must_use]
    pub fn class(self) -> WaitClass {
        ROWS[self as usize].2
    }

    /// The names of P1, P2 and P3; empty for unused parameters.
    #[must_use]
    pub fn parameters(self) -> [&'static str; 3] {
        ROWS[self as usize].3
    }

    /// The column EVENT_ID: a hash of the name, stable from release to release.
    #[must_use]
    pub fn id(self) -> u32 {
        name_hash(self.name())
    }
}

/// A 32-bit hash of a name: FNV-1a of 64 bits with its halves folded. It stands in views where Oracle shows the result
/// of an undocumented function.
#[must_use]
pub fn name_hash(name: &str) -> u32 {
    let h = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    (h >> 32) as u32 ^ h as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_ids_are_unique_and_numbers_are_places() {
        let names: BTreeSet<_> = Event::all().map(Event::name).collect();
        let ids: BTreeSet<_> = Event::all().map(Event::id).collect();
        assert_eq!((names.len(), ids.len()), (Event::COUNT, Event::COUNT));
        for (n, event) in Event::all().enumerate() {
            assert_eq!(event as usize, n);
            assert_eq!(Event::from_number(n as u64), Some(event));
            assert_eq!(Event::named(event.name()), Some(event));
        }
        assert_eq!(Event::from_number(Event::COUNT as u64), None);
    }
}
