//! The list of initialisation parameters.
//!
//! Each parameter is one row here: name, type, default, the statements that may change it, and description. The enum,
//! `v$parameter`, the parser of the init file and `ALTER SYSTEM/SESSION SET` use this list. Names and meanings are
//! those of the Oracle Database Reference; parameters that begin with `latch_` or choose the design of one structure
//! (`_cbc_design`, …) are Latchwork's own.

/// The type of a parameter's value, with its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TRUE or FALSE.
    Boolean,
    /// A whole number within the limits.
    Integer { min: i64, max: i64 },
    /// A size in bytes, written with an optional K, M, G or T.
    BigInteger { min: i64, max: i64 },
    /// Any text.
    Text,
    /// One word of a list, kept in the list's spelling.
    Word(&'static [&'static str]),
}

impl Kind {
    /// Oracle's type number, as `v$parameter.type` shows it: 1 boolean, 2 string, 3 integer, 6 big integer.
    pub fn type_number(self) -> u32 {
        match self {
            Kind::Boolean => 1,
            Kind::Text | Kind::Word(_) => 2,
            Kind::Integer { .. } => 3,
            Kind::BigInteger { .. } => 6,
        }
    }

    /// The type's name, as SQL*Plus prints it in `SHOW PARAMETER`.
    pub fn type_name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Text | Kind::Word(_) => "string",
            Kind::Integer { .. } => "integer",
            Kind::BigInteger { .. } => "big integer",
        }
    }
}

/// The statements that may change a parameter while the instance runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifiable {
    /// Only at start-up.
    Static,
    /// `ALTER SYSTEM`, at once for every session.
    System,
    /// `ALTER SESSION` only.
    Session,
    /// `ALTER SYSTEM` and `ALTER SESSION`.
    Both,
}

/// One row of the list.
#[derive(Clone, Copy, Debug)]
pub struct ParamDef {
    pub param: Param,
    pub name: &'static str,
    pub kind: Kind,
    /// The default, in the form of `v$parameter.value`; empty when the value is derived or unset.
    pub default: &'static str,
    pub modifiable: Modifiable,
    /// A basic parameter according to the Reference.
    pub basic: bool,
    pub description: &'static str,
}

impl ParamDef {
    /// Whether `ALTER SESSION SET` may change it.
    pub fn session_modifiable(&self) -> bool {
        matches!(self.modifiable, Modifiable::Session | Modifiable::Both)
    }

    /// Whether `ALTER SYSTEM SET` may change it at once.
    pub fn system_modifiable(&self) -> bool {
        matches!(self.modifiable, Modifiable::System | Modifiable::Both)
    }

    /// Whether the name begins with an underscore: `v$parameter` shows it only once it has been set.
    pub fn hidden(&self) -> bool {
        self.name.starts_with('_')
    }
}

const K: i64 = 1 << 10;
const M: i64 = 1 << 20;
const G: i64 = 1 << 30;
const T: i64 = 1 << 40;

const fn int(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max }
}
const fn size(min: i64, max: i64) -> Kind {
    Kind::BigInteger { min, max }
}
const BOOL: Kind = Kind::Boolean;
const TEXT: Kind = Kind::Text;

/// The periods that `latch_generation` can choose, oldest first.
pub const GENERATIONS: &[&str] = &latch::Generation::NAMES;

macro_rules! params {
    ($( $variant:ident $name:literal $kind:expr, $default:literal, $who:ident, $basic:literal, $text:literal; )*) => {
        /// An initialisation parameter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Param { $( #[doc = $text] $variant, )* }

        /// Every parameter, in the order of [`Param`].
        pub const PARAMS: &[ParamDef] = &[ $( ParamDef {
            param: Param::$variant, name: $name, kind: $kind, default: $default,
            modifiable: Modifiable::$who, basic: $basic, description: $text,
        }, )* ];
    };
}

params! {
    // identity and files
    DbName "db_name" TEXT, "LATCHWRK", Static, true, "database name specified in CREATE DATABASE";
    DbUniqueName "db_unique_name" TEXT, "", Static, true, "Database Unique Name";
    DbDomain "db_domain" TEXT, "", Static, true, "directory part of global database name stored with CREATE DATABASE";
    ControlFiles "control_files" TEXT, "", Static, true, "control file names list";
    InstanceName "instance_name" TEXT, "latchwork", Static, false, "instance name supported by the instance";
    ServiceNames "service_names" TEXT, "", System, false, "service names supported by the instance";
    LocalListener "local_listener" TEXT, "", Static, false, "local listener";
    InboundConnectTimeout "inbound_connect_timeout" int(1, 3600), "60", Static, false, "time limit in seconds for a client of the listener to log on";
    SecMaxFailedLoginAttempts "sec_max_failed_login_attempts" int(1, 4294967295), "3", Static, false, "maximum number of failed login attempts on a connection";
    AllowedLogonVersionServer "allowed_logon_version_server" Kind::Word(&["12a", "12", "11", "10", "9", "8"]), "12a", Static, false, "password verifiers: 12a accepts only 12C verifiers; 12 or less also makes and accepts 11G verifiers";
    WalletRoot "wallet_root" TEXT, "", Static, false, "wallet root instance initialization parameter";
    EncryptionServer "encryption_server" TEXT, "ACCEPTED", Static, false, "native encryption of connections: ACCEPTED, REJECTED, REQUESTED or REQUIRED";
    EncryptionTypesServer "encryption_types_server" TEXT, "", Static, false, "algorithms of native encryption; empty: all";
    CryptoChecksumServer "crypto_checksum_server" TEXT, "ACCEPTED", Static, false, "checksums of connections: ACCEPTED, REJECTED, REQUESTED or REQUIRED";
    CryptoChecksumTypesServer "crypto_checksum_types_server" TEXT, "", Static, false, "algorithms of checksums; empty: all";
    ListenerPendingMax "_listener_pending_max" int(16, 1000000), "8192", Static, false, "maximum number of connections at the listener that have not proved a password";
    ListenerPendingPerAddress "_listener_pending_per_address" int(1, 1000000), "1024", Static, false, "maximum number of such connections from one address";
    Compatible "compatible" TEXT, "12.2.0", Static, true, "Database will be completely compatible with this software version";
    DiagnosticDest "diagnostic_dest" TEXT, "", System, true, "diagnostic base directory";
    BackgroundDumpDest "background_dump_dest" TEXT, "", System, false, "Detached process dump directory";
    UserDumpDest "user_dump_dest" TEXT, "", System, false, "User process dump directory";
    MaxDumpFileSize "max_dump_file_size" TEXT, "unlimited", Both, false, "Maximum size (in bytes) of dump file";
    DbCreateFileDest "db_create_file_dest" TEXT, "", System, true, "default database location";
    Spfile "spfile" TEXT, "", Static, false, "server parameter file";

    // processes
    Processes "processes" int(12, 10000), "150", Static, true, "user processes";
    ProcessPoolMinCount "_process_pool_min_count" int(0, 1000), "2", Static, false, "minimum number of server processes that wait for a client";
    ConnectionPoolWaitTime "_connection_pool_wait_time" int(1, 2147483647), "120", Static, false, "time in seconds that a client of the connection pool waits for a server";
    ProcessPoolMaxCount "_process_pool_max_count" int(0, 1000), "32", Static, false, "maximum number of server processes that wait for a client";
    ProcessPoolMaxSessions "_process_pool_max_sessions" int(1, 1000000), "1000", Static, false, "maximum number of sessions that one server process serves";
    Sessions "sessions" int(1, 65535), "0", Static, true, "user and system sessions";
    DbWriterProcesses "db_writer_processes" int(1, 100), "1", Static, true, "number of background database writer processes to start";
    JobQueueProcesses "job_queue_processes" int(0, 1000), "16", System, false, "maximum number of job queue slave processes";
    CpuCount "cpu_count" int(0, 4096), "0", System, false, "number of CPUs for this instance";
    ResourceLimit "resource_limit" BOOL, "TRUE", System, false, "master switch for resource limit";
    ResourceMinute "_resource_minute" int(1, 60), "60", System, false, "length in seconds of a minute of IDLE_TIME and CONNECT_TIME";

    // memory
    DbBlockSize "db_block_size" int(2048, 32768), "8192", Static, true, "Size of database block in bytes";
    DbFiles "db_files" int(4, 1023), "200", Static, true, "max allowable # db files";
    BigfilePartBlocks "_bigfile_part_blocks" int(64, 4194304), "4194304", Static, false, "for tests: blocks of a part of a bigfile in a new database";
    DbCacheSize "db_cache_size" size(0, T), "0", Static, false, "Size of DEFAULT buffer pool for standard block size buffers";
    DbBlockBuffers "db_block_buffers" int(0, 1 << 30), "0", Static, false, "Number of database blocks cached in memory";
    SharedPoolSize "shared_pool_size" size(0, T), "0", Static, false, "size in bytes of shared pool";
    LargePoolSize "large_pool_size" size(0, T), "0", Static, false, "size in bytes of large pool";
    JavaPoolSize "java_pool_size" size(0, T), "0", Static, false, "size in bytes of java pool";
    CrashPoint "_crash_point" TEXT, "", Static, false, "for tests: name:n kills the instance at the n-th pass of the named crash point; name:n:child kills a process other than the supervisor at every n-th pass";
    PowerLoss "_power_loss" int(-1, i64::MAX), "-1", Static, false, "for tests: keeps a copy to undo unsynced writes after a death; n: power fails at the n-th sync; 0: at no sync; -1: off";
    DeviceFails "_device_fails" BOOL, "FALSE", Static, false, "for tests: writes to the file named in device_fails in the database directory are lost, and one sync fails";
    DiskFull "_disk_full" BOOL, "FALSE", Static, false, "for tests: files cannot grow while the database directory has a file named disk_full";
    LogBuffer "log_buffer" size(64 * K, G), "0", Static, false, "redo circular buffer size";
    LogFileSize "_log_file_size" size(0, T), "0", Static, false, "size of the online logs of a new database; 0: a hundredth of the free disk space, 64 MB to 1 GB, or 64 MB of a throw-away one";
    LogFiles "_log_files" int(2, 16), "3", Static, false, "number of online logs of a new database";
    DoubleWrite "_double_write" BOOL, "TRUE", Static, false, "write blocks to the double-write area before writing them in place; FALSE: redo contains whole blocks after each checkpoint";
    DoubleWriteSize "_double_write_size" size(0, T), "0", Static, false, "size of the double-write area; 0: a quarter of the buffer cache, 64 MB at most";
    DiskSync "_disk_sync" Kind::Word(&["AUTO", "TRUE", "FALSE"]), "AUTO", Static, false, "wait for the device after writes; AUTO: unless the database is a throw-away one";
    FilesystemioOptions "filesystemio_options" Kind::Word(&["none", "setall", "directIO", "asynch"]), "none", Static, false, "IO operations on filesystem files";
    DiskAsynchIo "disk_asynch_io" BOOL, "TRUE", Static, false, "Use asynch I/O for random access devices";
    LogWriter "_log_writer" Kind::Word(&["leader", "lgwr"]), "", Static, false, "process that writes the log for a commit: the first that waits, or LGWR; empty: by latch_generation";
    DataFileMaxSize "_data_file_max_size" size(0, T), "0", Static, false, "maximum size of the data files of a new database; 0: the largest possible file";
    UndoFileMaxSize "_undo_file_max_size" size(0, T), "0", Static, false, "maximum size of the undo file of a new database; 0: the largest possible file";
    SgaTarget "sga_target" size(0, 16 * T), "0", Static, true, "Target size of SGA";
    SgaMaxSize "sga_max_size" size(0, 16 * T), "0", Static, false, "max total SGA size";
    MemoryTarget "memory_target" size(0, T), "0", Static, false, "Target size of Oracle SGA and PGA memory";
    PgaAggregateTarget "pga_aggregate_target" size(10 * M, 4 * T), "104857600", System, true, "Target size for the aggregate PGA memory consumed by the instance";
    PgaAggregateLimit "pga_aggregate_limit" size(0, 100_000 * G), "0", System, false, "limit of aggregate PGA memory for the instance or PDB";
    PgaMaxSize "_pga_max_size" size(M, 4 * T), "1073741824", System, false, "Maximum size of the PGA memory for one process";
    WorkareaSizePolicy "workarea_size_policy" Kind::Word(&["AUTO", "MANUAL"]), "AUTO", Both, false, "policy used to size SQL working areas (MANUAL/AUTO)";
    SortAreaSize "sort_area_size" int(0, 2 * G), "65536", Both, false, "size of in-memory sort work area";
    HashAreaSize "hash_area_size" int(0, 2 * G), "131072", Both, false, "size of in-memory hash work area";
    UseLargePages "use_large_pages" Kind::Word(&["TRUE", "FALSE", "ONLY", "AUTO"]), "AUTO", Static, false, "Use large pages if available (TRUE/FALSE/ONLY/AUTO)";
    PrePageSga "pre_page_sga" BOOL, "FALSE", Static, false, "pre-page sga for process";
    PrePageSgaAt "_pre_page_sga_at" Kind::Word(&["instance", "process"]), "instance", Static, false, "time at which all pages of the SGA are touched: once at instance start, or by each process at its start";
    LockSga "lock_sga" BOOL, "FALSE", Static, false, "Lock entire SGA in physical memory";

    // result cache
    ResultCacheMode "result_cache_mode" Kind::Word(&["MANUAL", "FORCE"]), "MANUAL", Both, false, "result cache operator usage mode";
    ResultCacheMaxSize "result_cache_max_size" size(0, T), "-1", System, false, "maximum amount of memory to be used by the cache";
    ResultCacheMaxResult "result_cache_max_result" int(0, 100), "5", System, false, "maximum result size as percent of cache size";
    ResultCacheTimeout "_result_cache_timeout" int(0, 60000), "-1", System, false, "maximum time (sec) a session waits for a result";
    ResultCacheRemoteExpiration "result_cache_remote_expiration" int(0, 1 << 31), "0", Both, false, "maximum life time (min) for any result using a remote object";

    // latches and mutexes
    LatchGeneration "latch_generation" Kind::Word(GENERATIONS), "latchwork", Static, false, "the period whose latch and cache designs the instance runs";
    CbcDesign "_cbc_design" Kind::Word(&["exclusive", "shared", "fastpath", "versioned"]), "", Static, false, "design of the cache buffers chains; empty: by latch_generation";
    ResultCacheDesign "_result_cache_design" Kind::Word(&["exclusive-long", "exclusive-short", "shared", "versioned"]), "", Static, false, "design of the result cache; empty: by latch_generation";
    RowCacheObjects "_row_cache_objects" int(0, 1 << 24), "0", Static, false, "maximum number of rows in the row cache; 0: by shared_pool_size";
    RowCacheHotCopies "_row_cache_hot_copies" int(0, 255), "0", Static, false, "copies of a hot row cache object; 0: by cpu_count";
    RowCacheHotCopySleepLimit "_row_cache_hot_copy_sleep_limit" int(0, i64::MAX), "100", Static, false, "number of sleeps after which a row cache object gets copies";
    RowCacheDesign "_row_cache_design" Kind::Word(&["latch", "mutex", "hot-copies", "versioned"]), "", Static, false, "design of the row cache; empty: by latch_generation";
    LibraryCacheDesign "_library_cache_design" Kind::Word(&["latch", "pins", "mutex", "versioned"]), "", Static, false, "design of the library cache; empty: by latch_generation";
    LatchSleep "_latch_sleep" Kind::Word(&["backoff", "post"]), "", Static, false, "sleep after a latch miss: exponential back-off, or wait list and post; empty: by latch_generation";
    SwitchCbc "_switch_cache_buffers_chains" Kind::Word(&["exclusive", "shared", "fastpath", "versioned", "8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"]), "", System, false, "switches the cache buffers chains while the instance runs: the design, or that of a generation; empty: as at start";
    SwitchResultCache "_switch_result_cache" Kind::Word(&["exclusive-long", "exclusive-short", "shared", "versioned", "8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"]), "", System, false, "switches the result cache while the instance runs: the design, or that of a generation; empty: as at start";
    SwitchRowCache "_switch_row_cache" Kind::Word(&["latch", "mutex", "hot-copies", "versioned", "8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"]), "", System, false, "switches the row cache while the instance runs: the design, or that of a generation; empty: as at start";
    SwitchLibraryCache "_switch_library_cache" Kind::Word(&["latch", "pins", "mutex", "versioned", "8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"]), "", System, false, "switches the library cache while the instance runs: the design, or that of a generation; empty: as at start";
    SwitchLatchSleep "_switch_latch_sleep" Kind::Word(&["backoff", "post", "8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"]), "", System, false, "switches the sleep after a latch miss while the instance runs: the design, or that of a generation; empty: as at start";
    SwitchHolder "_switch_holder" TEXT, "", System, false, "session (sid,serial#) whose switches of designs end with it; empty: none";
    SpinCount "_spin_count" int(0, 1_000_000), "2000", System, false, "Amount to spin waiting for a latch";
    MaxExponentialSleep "_max_exponential_sleep" int(1, 1000), "200", Static, false, "max sleep during exponential backoff (cs)";
    MaxSleepHoldingLatch "_max_sleep_holding_latch" int(1, 1000), "4", Static, false, "max time to sleep while holding a latch (cs)";
    EnableReliableLatchWaits "_enable_reliable_latch_waits" BOOL, "TRUE", Static, false, "Enable reliable latch waits";
    MutexWaitScheme "_mutex_wait_scheme" int(0, 2), "2", System, false, "Mutex wait scheme";
    MutexWaitTime "_mutex_wait_time" int(0, 1000), "1", System, false, "Mutex wait time";
    MutexSpinCount "_mutex_spin_count" int(0, 1_000_000), "255", System, false, "Mutex spin count";
    LatchRecording "_latch_recording" int(0, 1_000_000_000), "0", System, false, "one call in so many is recorded with its latch gets, until the session that sets it ends; 0: none";
    LatchRecordingSize "_latch_recording_size" size(0, G), "32768", Static, false, "size of the ring in which a session records latch gets; by default less with many processes; 0: no rings";
    KglTimeToWaitForLocks "_kgl_time_to_wait_for_locks" int(0, 1440), "15", Both, false, "time to wait for locks and pins before timing out";
    KglHotObjectCopies "_kgl_hot_object_copies" int(0, 255), "0", Static, false, "Number of copies for the hot object";
    DbBlockLruLatches "_db_block_lru_latches" int(0, 1024), "0", Static, false, "number of lru latches: working sets of the buffer cache; 0: by cpu_count";
    DbBlockHashLatches "_db_block_hash_latches" int(0, 1 << 20), "0", Static, false, "Number of database block hash latches";
    DbBlockHashBuckets "_db_block_hash_buckets" int(0, 1 << 28), "0", Static, false, "Number of database block hash buckets";

    // active session history
    AshEnable "_ash_enable" BOOL, "TRUE", System, false, "To enable or disable Active Session sampling and flushing";
    DbCacheAdvice "db_cache_advice" Kind::Word(&["ON", "READY", "OFF"]), "ON", System, false, "Buffer cache sizing advisory";
    MetricInterval "_metric_interval" int(50, 60_000), "15000", System, false, "length of the short metric interval in milliseconds; the long one is four times as long";
    AshSamplingInterval "_ash_sampling_interval" int(10, 60_000), "1000", System, false, "Time interval between two successive Active Session samples in millisecs";
    AshSize "_ash_size" size(0, 16 * G), "0", Static, false, "size of the in-memory Active Session History buffers; 0: by cpu_count";

    // cursors and the optimizer
    OpenCursors "open_cursors" int(1, 65535), "300", System, true, "max # cursors per session";
    SessionCachedCursors "session_cached_cursors" int(0, 65535), "50", Both, false, "Number of cursors to cache in a session.";
    CursorSharing "cursor_sharing" Kind::Word(&["EXACT", "FORCE", "SIMILAR"]), "EXACT", Both, false, "cursor sharing mode";
    OptimizerMode "optimizer_mode" Kind::Word(&["ALL_ROWS", "FIRST_ROWS", "FIRST_ROWS_1", "FIRST_ROWS_10", "FIRST_ROWS_100", "FIRST_ROWS_1000", "CHOOSE", "RULE"]), "ALL_ROWS", Both, false, "optimizer mode";
    OptimizerFeaturesEnable "optimizer_features_enable" TEXT, "12.2.0.1", Both, false, "optimizer plan compatibility parameter";
    OptimizerIndexCostAdj "optimizer_index_cost_adj" int(1, 10000), "100", Both, false, "optimizer index cost adjustment";
    OptimizerIndexCaching "optimizer_index_caching" int(0, 100), "0", Both, false, "optimizer percent index caching";
    OptimizerDynamicSampling "optimizer_dynamic_sampling" int(0, 11), "2", Both, false, "optimizer dynamic sampling";
    OptimizerAdaptivePlans "optimizer_adaptive_plans" BOOL, "TRUE", Both, false, "controls all types of adaptive plans";
    DbFileMultiblockReadCount "db_file_multiblock_read_count" int(0, 4096), "128", Both, false, "db block to be read each IO";
    RewriteOff "_rewrite_off" TEXT, "", Both, false, "names of query rewrites to disable";
    OptimizerJoinEliminationEnabled "_optimizer_join_elimination_enabled" BOOL, "TRUE", Both, false, "optimizer join elimination enabled";
    OptimPeekUserBinds "_optim_peek_user_binds" BOOL, "TRUE", Both, false, "enable peeking of user binds";
    OptimizerAdaptiveCursorSharing "_optimizer_adaptive_cursor_sharing" BOOL, "TRUE", Both, false, "optimizer adaptive cursor sharing";
    OptimizerUseFeedback "_optimizer_use_feedback" BOOL, "TRUE", Both, false, "optimizer use feedback";
    OptimizerInvalidationPeriod "_optimizer_invalidation_period" int(0, 4_294_967), "18000", Both, false, "time window for invalidation of cursors of analyzed objects";
    OldConnectByEnabled "_old_connect_by_enabled" BOOL, "FALSE", Both, false, "enable/disable old connect by";
    BatchExecution "_batch_execution" BOOL, "TRUE", Both, false, "row sources process rows in batches";
    ParallelMaxServers "parallel_max_servers" int(0, 32767), "0", System, false, "maximum parallel query servers per instance";
    ParallelMinServers "parallel_min_servers" int(0, 32767), "0", Static, false, "minimum parallel query servers per instance";
    ParallelThreadsPerCpu "parallel_threads_per_cpu" int(1, 1024), "1", System, false, "number of parallel execution threads per CPU";
    ParallelDegreePolicy "parallel_degree_policy" Kind::Word(&["MANUAL"]), "MANUAL", Both, false, "policy used to compute the degree of parallelism (MANUAL/LIMITED/AUTO/ADAPTIVE)";
    QueryRewriteEnabled "query_rewrite_enabled" Kind::Word(&["TRUE", "FALSE", "FORCE"]), "TRUE", Both, false, "allow rewrite of queries using materialized views if enabled";
    StarTransformationEnabled "star_transformation_enabled" Kind::Word(&["FALSE", "TRUE", "TEMP_DISABLE"]), "FALSE", Both, true, "enable the use of star transformation";

    // PL/SQL
    PlsqlOptimizeLevel "plsql_optimize_level" int(0, 3), "2", Both, false, "PL/SQL optimize level";
    PlsqlCodeType "plsql_code_type" Kind::Word(&["INTERPRETED", "NATIVE"]), "INTERPRETED", Both, false, "PL/SQL code-type";
    PlsqlDebug "plsql_debug" BOOL, "FALSE", Both, false, "PL/SQL debug";
    PlsqlWarnings "plsql_warnings" TEXT, "DISABLE:ALL", Both, false, "PL/SQL compiler warnings settings";
    PlsqlCcflags "plsql_ccflags" TEXT, "", Both, false, "PL/SQL ccflags";
    PlscopeSettings "plscope_settings" TEXT, "IDENTIFIERS:NONE", Both, false, "plscope_settings controls the compile time collection, cross reference, and storage of PL/SQL source code identifier and SQL statement data";
    UtlFileDir "utl_file_dir" TEXT, "", Static, false, "utl_file accessible directories list";

    // transactions
    UndoManagement "undo_management" Kind::Word(&["AUTO"]), "AUTO", Static, false, "instance runs in SMU mode if TRUE, else in RBU mode";
    UndoTablespace "undo_tablespace" TEXT, "UNDO", System, true, "use/switch undo tablespace";
    UndoRetention "undo_retention" int(0, 1 << 31), "900", System, false, "undo retention in seconds";
    Transactions "transactions" int(4, 1 << 30), "0", Static, false, "max. number of concurrent active transactions";
    DmlLocks "dml_locks" int(0, 1 << 30), "0", Static, false, "dml locks - one for each table modified in a transaction";
    DistributedLockTimeout "distributed_lock_timeout" int(1, i32::MAX as i64), "60", Static, false, "number of seconds a distributed transaction waits for a lock";
    DdlLockTimeout "ddl_lock_timeout" int(0, 1_000_000), "0", Both, false, "timeout to restrict the time that ddls wait for dml lock";
    FastStartMttrTarget "fast_start_mttr_target" int(0, 3600), "0", System, false, "MTTR target in seconds";
    LogCheckpointTimeout "log_checkpoint_timeout" int(0, 1 << 31), "1800", System, false, "Maximum time interval between checkpoints in seconds";
    LogCheckpointInterval "log_checkpoint_interval" int(0, 1 << 31), "0", System, false, "# redo blocks checkpoint threshold";
    LogCheckpointsToAlert "log_checkpoints_to_alert" BOOL, "FALSE", System, false, "log checkpoint begin/end to alert file";
    LogArchiveDest1 "log_archive_dest_1" TEXT, "", System, false, "archival destination #1 text string";
    LogArchiveFormat "log_archive_format" TEXT, "arch_%t_%s_%r.arc", Static, false, "archival destination format";
    CommitLogging "commit_logging" Kind::Word(&["IMMEDIATE", "BATCH"]), "", Both, false, "transaction commit log write behaviour";
    CommitWait "commit_wait" Kind::Word(&["WAIT", "NOWAIT", "FORCE_WAIT"]), "", Both, false, "transaction commit log wait behaviour";
    DbBlockChecksum "db_block_checksum" Kind::Word(&["TYPICAL", "FALSE", "TRUE", "OFF", "FULL"]), "TYPICAL", System, false, "store checksum in db blocks and check during reads";
    DbBlockChecking "db_block_checking" Kind::Word(&["FALSE", "OFF", "LOW", "MEDIUM", "TRUE", "FULL"]), "FALSE", Both, false, "header checking and data and index block checking";
    CommitWrite "commit_write" TEXT, "", Both, false, "transaction commit log write behaviour";

    // statistics and tracing
    TimedStatistics "timed_statistics" BOOL, "TRUE", Both, false, "maintain internal timing statistics";
    StatisticsLevel "statistics_level" Kind::Word(&["TYPICAL", "ALL", "BASIC"]), "TYPICAL", Both, false, "statistics level";
    SqlTrace "sql_trace" BOOL, "FALSE", Both, false, "enable SQL trace";
    TracefileIdentifier "tracefile_identifier" TEXT, "", Session, false, "trace file custom identifier";
    TimedOsStatistics "timed_os_statistics" int(0, 1 << 30), "0", Both, false, "internal os statistic gathering interval in seconds";

    // national language support
    NlsLanguage "nls_language" TEXT, "AMERICAN", Session, true, "NLS language name";
    NlsTerritory "nls_territory" TEXT, "AMERICA", Session, true, "NLS territory name";
    NlsDateFormat "nls_date_format" TEXT, "", Session, false, "NLS Oracle date format";
    NlsDateLanguage "nls_date_language" TEXT, "", Session, false, "NLS date language name";
    NlsTimestampFormat "nls_timestamp_format" TEXT, "", Session, false, "time stamp format";
    NlsTimestampTzFormat "nls_timestamp_tz_format" TEXT, "", Session, false, "timestamp with timezone format";
    NlsTimeFormat "nls_time_format" TEXT, "", Session, false, "time format";
    NlsTimeTzFormat "nls_time_tz_format" TEXT, "", Session, false, "time with timezone format";
    NlsNumericCharacters "nls_numeric_characters" TEXT, "", Session, false, "NLS numeric characters";
    NlsCurrency "nls_currency" TEXT, "", Session, false, "NLS local currency symbol";
    NlsIsoCurrency "nls_iso_currency" TEXT, "", Session, false, "NLS ISO currency territory name";
    NlsDualCurrency "nls_dual_currency" TEXT, "", Session, false, "Dual currency symbol";
    NlsSort "nls_sort" TEXT, "", Session, false, "NLS linguistic definition name";
    NlsComp "nls_comp" Kind::Word(&["BINARY", "LINGUISTIC", "ANSI"]), "BINARY", Session, false, "NLS comparison";
    NlsCalendar "nls_calendar" TEXT, "", Session, false, "NLS calendar system name";
    NlsLengthSemantics "nls_length_semantics" Kind::Word(&["BYTE", "CHAR"]), "BYTE", Both, false, "create columns using byte or char semantics by default";
    NlsNcharConvExcp "nls_nchar_conv_excp" BOOL, "FALSE", Session, false, "NLS raise an exception instead of allowing implicit conversion";

    // security and the rest
    RemoteLoginPasswordfile "remote_login_passwordfile" Kind::Word(&["EXCLUSIVE", "SHARED", "NONE"]), "EXCLUSIVE", Static, true, "password file usage parameter";
    OsAuthentPrefix "os_authent_prefix" TEXT, "ops$", Static, false, "prefix for auto-logon accounts";
    AuditTrail "audit_trail" Kind::Word(&["NONE", "DB", "OS"]), "NONE", Static, false, "enable system auditing";
    SecCaseSensitiveLogon "sec_case_sensitive_logon" BOOL, "TRUE", System, false, "case sensitive password enabled for logon";
    O7DictionaryAccessibility "o7_dictionary_accessibility" BOOL, "FALSE", Static, false, "Version 7 Dictionary Accessibility Support";
    SystemTrigEnabled "_system_trig_enabled" BOOL, "TRUE", System, true, "are system triggers enabled";
    RecyclebinOn "recyclebin" Kind::Word(&["OFF"]), "OFF", Session, false, "recyclebin processing";
    DeferredSegmentCreation "deferred_segment_creation" BOOL, "FALSE", Both, false, "defer segment creation to first insert";
    BlankTrimming "blank_trimming" BOOL, "FALSE", Static, false, "blank trimming semantics parameter";
    GlobalNames "global_names" BOOL, "FALSE", Both, false, "enforce that database links have same name as remote database";
    Events "event" TEXT, "", Static, false, "debug event control - default null string";
}

const _: () = assert!(K == 1024);

impl Param {
    /// The parameter's row.
    pub fn def(self) -> &'static ParamDef {
        &PARAMS[self as usize]
    }

    /// The parameter's name, in lower case.
    pub fn name(self) -> &'static str {
        self.def().name
    }

    /// The parameters whose default comes from this one.
    pub fn derived(self) -> &'static [Param] {
        match self {
            Param::NlsLanguage => &[Param::NlsDateLanguage, Param::NlsSort],
            Param::NlsTerritory => &[
                Param::NlsDateFormat,
                Param::NlsTimestampFormat,
                Param::NlsTimestampTzFormat,
                Param::NlsTimeFormat,
                Param::NlsTimeTzFormat,
                Param::NlsNumericCharacters,
                Param::NlsCurrency,
                Param::NlsIsoCurrency,
                Param::NlsDualCurrency,
            ],
            _ => &[],
        }
    }

    /// Finds a parameter by name; case does not matter.
    pub fn find(name: &str) -> Option<Param> {
        PARAMS.iter().find(|d| d.name.eq_ignore_ascii_case(name)).map(|d| d.param)
    }
}

/// A parameter's value in the spelling of its list of words; empty when it is not in the list.
pub fn word_of(param: Param, value: &str) -> &'static str {
    match param.def().kind {
        Kind::Word(words) => words.iter().find(|word| **word == value).copied().unwrap_or_default(),
        _ => "",
    }
}

/// The parameters that name folders, files and network addresses of one database. A copy of a database must not use
/// those of its parent.
pub const PLACES: [Param; 9] = [
    Param::ControlFiles,
    Param::LocalListener,
    Param::WalletRoot,
    Param::DiagnosticDest,
    Param::BackgroundDumpDest,
    Param::UserDumpDest,
    Param::DbCreateFileDest,
    Param::UtlFileDir,
    Param::LogArchiveDest1,
];

/// Parameters that are accepted and have no effect, because scripts and parameter files of other databases set them.
/// The feature is missing, or no parameter controls it. `db_block_checksum`: blocks always have checksums.
///
/// The alert log reports a value given to one of them. A test compares the list with the source.
pub const WITHOUT_EFFECT: &[Param] = &[
    Param::Compatible,
    Param::DiagnosticDest,
    Param::BackgroundDumpDest,
    Param::UserDumpDest,
    Param::MaxDumpFileSize,
    Param::DbCreateFileDest,
    Param::Spfile,
    Param::LargePoolSize,
    Param::JavaPoolSize,
    Param::SgaMaxSize,
    Param::MemoryTarget,
    Param::ResultCacheRemoteExpiration,
    Param::EnableReliableLatchWaits,
    Param::DbBlockHashLatches,
    Param::DbBlockHashBuckets,
    Param::OptimizerAdaptivePlans,
    Param::ParallelDegreePolicy,
    Param::UtlFileDir,
    Param::UndoManagement,
    Param::FastStartMttrTarget,
    Param::DbBlockChecksum,
    Param::DbBlockChecking,
    Param::SqlTrace,
    Param::TracefileIdentifier,
    Param::TimedOsStatistics,
    Param::NlsNcharConvExcp,
    Param::RemoteLoginPasswordfile,
    Param::OsAuthentPrefix,
    Param::AuditTrail,
    Param::SecCaseSensitiveLogon,
    Param::O7DictionaryAccessibility,
    Param::RecyclebinOn,
    Param::DeferredSegmentCreation,
    Param::BlankTrimming,
    Param::GlobalNames,
    Param::Events,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum_and_names_are_unique() {
        let mut names = std::collections::HashSet::new();
        for (i, d) in PARAMS.iter().enumerate() {
            assert_eq!(d.param as usize, i);
            assert!(names.insert(d.name), "{} stands twice", d.name);
            assert_eq!(d.name, d.name.to_lowercase());
            assert_eq!(Param::find(&d.name.to_uppercase()), Some(d.param));
        }
    }
}
