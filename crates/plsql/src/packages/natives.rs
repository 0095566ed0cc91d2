//! The list of the subprograms of the built-in packages.

use super::{lobs, stats};

macro_rules! natives {
    ($($package:literal $name:literal $overload:literal $variant:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Native { $($variant,)* }
        pub(super) const NATIVES: &[(&str, &str, u32, Native)] = &[$(($package, $name, $overload, Native::$variant),)*];
    };
}

natives! {
    "DBMS_APPLICATION_INFO" "SET_MODULE" 1 SetModule,
    "DBMS_APPLICATION_INFO" "SET_ACTION" 1 SetAction,
    "DBMS_APPLICATION_INFO" "SET_CLIENT_INFO" 1 SetClientInfo,
    "DBMS_APPLICATION_INFO" "READ_MODULE" 1 ReadModule,
    "DBMS_APPLICATION_INFO" "READ_CLIENT_INFO" 1 ReadClientInfo,
    "DBMS_AUDIT_MGMT" "CLEAN_AUDIT_TRAIL" 1 AuditClean,
    "DBMS_AUDIT_MGMT" "SET_LAST_ARCHIVE_TIMESTAMP" 1 AuditSetLast,
    "DBMS_AUDIT_MGMT" "CLEAR_LAST_ARCHIVE_TIMESTAMP" 1 AuditClearLast,
    "DBMS_CONNECTION_POOL" "START_POOL" 1 CpoolStart,
    "DBMS_CONNECTION_POOL" "STOP_POOL" 1 CpoolStop,
    "DBMS_CONNECTION_POOL" "CONFIGURE_POOL" 1 CpoolConfigure,
    "DBMS_CONNECTION_POOL" "ALTER_PARAM" 1 CpoolAlter,
    "DBMS_CONNECTION_POOL" "RESTORE_DEFAULTS" 1 CpoolRestore,
    "DBMS_DEBUG_JDWP" "CURRENT_SESSION_ID" 1 JdwpSession,
    "DBMS_DEBUG_JDWP" "CURRENT_SESSION_SERIAL" 1 JdwpSerial,
    "DBMS_FLASHBACK" "ENABLE_AT_TIME" 1 FlashbackTime,
    "DBMS_FLASHBACK" "ENABLE_AT_SYSTEM_CHANGE_NUMBER" 1 FlashbackScn,
    "DBMS_FLASHBACK" "DISABLE" 1 FlashbackEnd,
    "DBMS_FLASHBACK" "GET_SYSTEM_CHANGE_NUMBER" 1 FlashbackNow,
    "DBMS_JOB" "SUBMIT" 1 JobSubmit,
    "DBMS_JOB" "REMOVE" 1 JobRemove,
    "DBMS_JOB" "CHANGE" 1 JobChange,
    "DBMS_JOB" "WHAT" 1 JobWhat,
    "DBMS_JOB" "NEXT_DATE" 1 JobNextDate,
    "DBMS_JOB" "INTERVAL" 1 JobInterval,
    "DBMS_JOB" "BROKEN" 1 JobBroken,
    "DBMS_JOB" "RUN" 1 JobRun,
    "DBMS_LOCK" "SLEEP" 1 Sleep,
    "DBMS_LOCK" "REQUEST" 1 LockRequest,
    "DBMS_LOCK" "RELEASE" 1 LockRelease,
    "DBMS_LOCK" "ALLOCATE_UNIQUE" 1 LockAllocate,
    "DBMS_LOCK" "REQUEST" 2 LockRequestHandle,
    "DBMS_LOCK" "RELEASE" 2 LockReleaseHandle,
    "DBMS_LOCK" "CONVERT" 1 LockConvert,
    "DBMS_LOCK" "CONVERT" 2 LockConvertHandle,
    "DBMS_OUTPUT" "ENABLE" 1 OutputEnable,
    "DBMS_OUTPUT" "DISABLE" 1 OutputDisable,
    "DBMS_OUTPUT" "PUT" 1 OutputPut,
    "DBMS_OUTPUT" "PUT_LINE" 1 OutputPutLine,
    "DBMS_OUTPUT" "NEW_LINE" 1 OutputNewLine,
    "DBMS_OUTPUT" "GET_LINE" 1 OutputGetLine,
    "DBMS_OUTPUT" "GET_LINES" 1 OutputGetLines,
    "DBMS_RANDOM" "INITIALIZE" 1 RandomSeed,
    "DBMS_RANDOM" "SEED" 1 RandomSeed1,
    "DBMS_RANDOM" "SEED" 2 RandomSeedText,
    "DBMS_RANDOM" "VALUE" 1 RandomValue,
    "DBMS_RANDOM" "VALUE" 2 RandomBetween,
    "DBMS_RANDOM" "NORMAL" 1 RandomNormal,
    "DBMS_RANDOM" "RANDOM" 1 RandomRandom,
    "DBMS_RANDOM" "STRING" 1 RandomString,
    "DBMS_RANDOM" "TERMINATE" 1 RandomTerminate,
    "DBMS_RESULT_CACHE" "STATUS" 1 RcStatus,
    "DBMS_RESULT_CACHE" "FLUSH" 1 RcFlush,
    "DBMS_RESULT_CACHE" "FLUSH" 2 RcFlushFunction,
    "DBMS_RESULT_CACHE" "BYPASS" 1 RcBypass,
    "DBMS_RESULT_CACHE" "MEMORY_REPORT" 1 RcReport,
    "DBMS_RESULT_CACHE" "INVALIDATE" 1 RcInvalidate,
    "DBMS_RESULT_CACHE" "INVALIDATE" 2 RcInvalidateFunction,
    "DBMS_RESULT_CACHE" "INVALIDATE" 3 RcInvalidateId,
    "DBMS_RESULT_CACHE" "INVALIDATE" 4 RcInvalidateIdFunction,
    "DBMS_SESSION" "SLEEP" 1 SessionSleep,
    "DBMS_SESSION" "RESET_PACKAGE" 1 SessionReset,
    "DBMS_SESSION" "FREE_UNUSED_USER_MEMORY" 1 SessionFree,
    "DBMS_SESSION" "SET_NLS" 1 SessionSetNls,
    "DBMS_SESSION" "SET_ROLE" 1 SessionSetRole,
    "DBMS_SESSION" "SET_IDENTIFIER" 1 SessionSetIdentifier,
    "DBMS_SESSION" "CLEAR_IDENTIFIER" 1 SessionClearIdentifier,
    "DBMS_SESSION" "SET_CONTEXT" 1 SessionSetContext,
    "DBMS_SESSION" "CLEAR_CONTEXT" 1 SessionClearContext,
    "DBMS_SESSION" "CLEAR_ALL_CONTEXT" 1 SessionClearAllContext,
    "DBMS_SHARED_POOL" "MARKHOT" 1 PoolMarkHotNamed,
    "DBMS_SHARED_POOL" "MARKHOT" 2 PoolMarkHot,
    "DBMS_SHARED_POOL" "UNMARKHOT" 1 PoolUnmarkHotNamed,
    "DBMS_SHARED_POOL" "UNMARKHOT" 2 PoolUnmarkHot,
    "DBMS_SHARED_POOL" "KEEP" 1 PoolKeep,
    "DBMS_SHARED_POOL" "UNKEEP" 1 PoolUnkeep,
    "DBMS_SHARED_POOL" "PURGE" 1 PoolPurge,
    "DBMS_SQL" "RETURN_RESULT" 1 SqlReturnResult,
    "DBMS_UTILITY" "GET_TIME" 1 GetTime,
    "DBMS_UTILITY" "GET_CPU_TIME" 1 GetCpuTime,
    "DBMS_UTILITY" "FORMAT_ERROR_STACK" 1 ErrorStack,
    "DBMS_UTILITY" "FORMAT_ERROR_BACKTRACE" 1 ErrorBacktrace,
    "DBMS_TRANSACTION" "COMMIT" 1 TransactionCommit,
    "DBMS_TRANSACTION" "ROLLBACK" 1 TransactionRollback,
    "DBMS_TRANSACTION" "SAVEPOINT" 1 TransactionSavepoint,
    "DBMS_TRANSACTION" "ROLLBACK_SAVEPOINT" 1 TransactionRollbackTo,
    "DBMS_TRANSACTION" "READ_ONLY" 1 TransactionReadOnly,
    "DBMS_TRANSACTION" "READ_WRITE" 1 TransactionReadWrite,
    "DBMS_TRANSACTION" "LOCAL_TRANSACTION_ID" 1 TransactionId,
    "DBMS_TRANSACTION" "START_TRANSACTION" 1 TransactionStart,
    "DBMS_TRANSACTION" "SUSPEND_TRANSACTION" 1 TransactionSuspend,
    "DBMS_TRANSACTION" "GET_TRANSACTION_ID" 1 TransactionGlobalId,
    "PRIVATE_JDBC" "GET_COMPATIBLE" 1 Compatible,
    "PRIVATE_JDBC" "GET_MAX_STRING_SIZE" 1 MaxStringSize,
    "DBMS_UTILITY" "DB_VERSION" 1 DbVersion,
    "DBMS_UTILITY" "FORMAT_CALL_STACK" 1 CallStack,
    "DBMS_UTILITY" "GET_HASH_VALUE" 1 HashValue,
    "DBMS_UTILITY" "GET_TZ_TRANSITIONS" 1 ZoneTransitions,
    "DBMS_UTILITY" "COMMA_TO_TABLE" 1 CommaToTable,
    "DBMS_UTILITY" "EXEC_DDL_STATEMENT" 1 ExecDdl,
    "DBMS_WORKLOAD_REPOSITORY" "CREATE_SNAPSHOT" 1 CreateSnapshot,
    "DBMS_WORKLOAD_REPOSITORY" "CREATE_SNAPSHOT" 2 CreateSnapshotFunction,
    "DBMS_WORKLOAD_REPOSITORY" "MODIFY_SNAPSHOT_SETTINGS" 1 SnapshotSettings,
    "DBMS_WORKLOAD_REPOSITORY" "DROP_SNAPSHOT_RANGE" 1 DropSnapshots,
    "DBMS_WORKLOAD_REPOSITORY" "CREATE_BASELINE" 1 CreateBaseline,
    "DBMS_WORKLOAD_REPOSITORY" "CREATE_BASELINE" 2 CreateBaselineFunction,
    "DBMS_WORKLOAD_REPOSITORY" "DROP_BASELINE" 1 DropBaseline,
    "DBMS_WORKLOAD_REPOSITORY" "AWR_REPORT_TEXT" 1 AwrReportText,
    "DBMS_WORKLOAD_REPOSITORY" "AWR_REPORT_HTML" 1 AwrReportHtml,
    "DBMS_WORKLOAD_REPOSITORY" "AWR_DIFF_REPORT_TEXT" 1 AwrDiffReportText,
    "DBMS_WORKLOAD_REPOSITORY" "AWR_DIFF_REPORT_HTML" 1 AwrDiffReportHtml,
    "DBMS_WORKLOAD_REPOSITORY" "ASH_REPORT_TEXT" 1 AshReportText,
    "DBMS_WORKLOAD_REPOSITORY" "ASH_REPORT_HTML" 1 AshReportHtml,
    "DBMS_XA" "XA_START" 1 XaStart,
    "DBMS_XA" "XA_END" 1 XaEnd,
    "DBMS_XA" "XA_PREPARE" 1 XaPrepare,
    "DBMS_XA" "XA_COMMIT" 1 XaCommit,
    "DBMS_XA" "XA_ROLLBACK" 1 XaRollback,
    "DBMS_XA" "XA_FORGET" 1 XaForget,
    "DBMS_XA" "XA_RECOVER" 1 XaRecover,
    "DBMS_XA" "XA_SETTIMEOUT" 1 XaSetTimeout,
    "DBMS_XA" "XA_GETLASTOER" 1 XaLastError,
    "DBMS_XA" "DIST_TXN_SYNC" 1 XaSync,
    "DBMS_XPLAN" "DISPLAY" 1 DisplayPlan,
    "DBMS_XPLAN" "DISPLAY_CURSOR" 1 DisplayCursor,
    "STANDARD" "RAISE_APPLICATION_ERROR" 1 RaiseApplicationError,
    "UTL_RAW" "CAST_TO_RAW" 1 RawFromText,
    "UTL_RAW" "CAST_TO_VARCHAR2" 1 RawToText,
    "UTL_RAW" "LENGTH" 1 RawLength,
    "UTL_RAW" "CONCAT" 1 RawConcat,
    "UTL_RAW" "SUBSTR" 1 RawSubstr,
    "UTL_RAW" "REVERSE" 1 RawReverse,
    "UTL_RAW" "COMPARE" 1 RawCompare,
    "UTL_RAW" "BIT_AND" 1 RawAnd,
    "UTL_RAW" "BIT_OR" 1 RawOr,
    "UTL_RAW" "BIT_XOR" 1 RawXor,
    "UTL_RAW" "CAST_FROM_BINARY_INTEGER" 1 RawFromInteger,
    "UTL_RAW" "CAST_TO_BINARY_INTEGER" 1 RawToInteger,
    "UTL_RAW" "CAST_FROM_NUMBER" 1 RawFromNumber,
    "UTL_RAW" "CAST_TO_NUMBER" 1 RawToNumber,
}

/// The first number of DBMS_STATS.
pub(super) const STATS_FIRST: u32 = 1 << 16;

/// The first number of DBMS_LOB.
pub(super) const LOBS_FIRST: u32 = 1 << 17;

/// The number of a native subprogram.
pub(crate) fn native(package: &str, name: &str, overload: u32) -> Option<u32> {
    if package == "DBMS_STATS" {
        return stats::native(name, overload).map(|n| STATS_FIRST + n);
    }
    if package == "DBMS_LOB" {
        return lobs::native(name, overload).map(|n| LOBS_FIRST + n);
    }
    NATIVES.iter().position(|(p, n, o, _)| *p == package && *n == name && *o == overload).map(|i| i as u32)
}

/// Whether a native subprogram has that number.
pub(crate) fn is_native(native: u32) -> bool {
    match (native.checked_sub(LOBS_FIRST), native.checked_sub(STATS_FIRST)) {
        (Some(n), _) => lobs::is_native(n),
        (None, Some(n)) => stats::is_native(n),
        (None, None) => (native as usize) < NATIVES.len(),
    }
}
