//! The base tables of the dictionary.
//!
//! They have Oracle's names and, where users query them, Oracle's columns. All are heap tables in SYSTEM, created in
//! the order of this list with the database. Their definitions are in the code; all other definitions are read from
//! them.

use crate::{ColumnDef, UserId};
use std::sync::LazyLock;
use types::{DataType, LenUnit, ObjectId};

/// The type of a base table's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseType {
    /// NUMBER.
    N,
    /// VARCHAR2(n).
    V(u32),
    /// DATE.
    D,
    /// TIMESTAMP(6).
    T,
    /// RAW(n).
    R(u32),
}

impl BaseType {
    pub fn data_type(self) -> DataType {
        match self {
            BaseType::N => DataType::NUMBER,
            BaseType::V(len) => DataType::Varchar2 { len, unit: LenUnit::Byte },
            BaseType::D => DataType::Date,
            BaseType::T => DataType::TIMESTAMP,
            BaseType::R(len) => DataType::Raw { len },
        }
    }
}

/// The name, object number and columns of a base table.
#[derive(Debug)]
pub struct BaseTable {
    pub name: &'static str,
    pub object: ObjectId,
    pub columns: &'static [(&'static str, BaseType)],
}

/// The name of a column: that of its constant, unless the list gives another, which is not a Rust identifier.
macro_rules! column_name {
    ($column:ident) => {
        stringify!($column)
    };
    ($column:ident $text:literal) => {
        $text
    };
}

macro_rules! base_tables {
    ($($(#[$doc:meta])* $variant:ident $name:literal $object:literal $module:ident { $($column:ident $($text:literal)? $kind:ident $(($len:literal))?),* $(,)? })*) => {
        /// A base table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Base { $($(#[$doc])* $variant),* }

        impl Base {
            /// All base tables in the order of their creation.
            pub const ALL: &'static [Base] = &[$(Base::$variant),*];
        }

        static TABLES: &[BaseTable] = &[$(BaseTable {
            name: $name,
            object: ObjectId($object),
            columns: &[$((column_name!($column $($text)?), BaseType::$kind $(($len))?)),*],
        }),*];

        $(
            $(#[$doc])*
            #[allow(missing_docs, dead_code)]
            pub mod $module {
                #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
                enum Position { $($column),* }
                $(pub const $column: usize = Position::$column as usize;)*
            }
        )*
    };
}

base_tables! {
    /// The places of the base tables. It is the first segment of SYSTEM, so it can be found without the dictionary.
    Bootstrap "BOOTSTRAP$" 59 bootstrap { OBJ "OBJ#" N, FILE "FILE#" N, BLOCK "BLOCK#" N, NAME V(128) }
    /// Objects. SPARE1 is the SCN of the object's last DDL, which distinguishes states with the same MTIME.
    Obj "OBJ$" 18 obj {
        OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, OWNER "OWNER#" N, NAME V(128), NAMESPACE N, SUBNAME V(128),
        TYPE "TYPE#" N, CTIME D, MTIME D, STIME D, STATUS N, FLAGS N,
        SPARE1 N,
    }
    /// Tables. PROPERTY bits are in [`crate::image::property`], STATFLAGS bits in [`crate::statistics::flags`].
    Tab "TAB$" 4 tab {
        OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, TS "TS#" N, FILE "FILE#" N, BLOCK "BLOCK#" N, BOBJ "BOBJ#" N, COLS N, CLUCOLS N,
        PCTFREE "PCTFREE$" N, INITRANS N, FLAGS N, ROWCNT N, BLKCNT N, AVGRLN N,
        ANALYZETIME D, DEGREE N, PROPERTY N, SAMPLESIZE N, STATFLAGS N,
    }
    /// Columns of tables, clusters and views.
    Col "COL$" 21 col {
        OBJ "OBJ#" N, COL "COL#" N, NAME V(128), TYPE "TYPE#" N, LENGTH N, PRECISION "PRECISION#" N, SCALE N,
        NULLS "NULL$" N, DEFAULT "DEFAULT$" V(4000), CHARSETFORM N, CHARLENGTH N, PROPERTY N,
        VIRTUAL "VIRTUAL$" V(4000), SEQ "SEQ#" N,
    }
    /// Statistics of columns and, from INTCOL# 1001 on, of column groups. LOWVAL and HIVAL are stored values, MINIMUM
    /// and MAXIMUM their numbers for interpolation. FLAGS: the kind of histogram and [`crate::statistics::flags`].
    HistHead "HIST_HEAD$" 225 hist_head {
        OBJ "OBJ#" N, COL "INTCOL#" N, BUCKETS "BUCKET_CNT" N, NULLCNT "NULL_CNT" N, TIMESTAMP "TIMESTAMP#" D,
        SAMPLE "SAMPLE_SIZE" N, MINIMUM N, MAXIMUM N, DISTCNT N, LOWVAL R(1000), HIVAL R(1000), DENSITY N, AVGCLN N,
        FLAGS N,
    }
    /// Endpoints of histograms.
    Histgrm "HISTGRM$" 226 histgrm {
        OBJ "OBJ#" N, COL "INTCOL#" N, BUCKET N, ENDPOINT N, EPVALUE V(1000), EPVALUE_RAW R(1000),
        REPEATS "EP_REPEAT_COUNT" N,
    }
    /// Column groups: COLUMNS are column numbers separated by commas, INTCOL# is the number of the group in HIST_HEAD$.
    StatsExtension "STATS_EXTENSION$" 227 stats_extension {
        OBJ "OBJ#" N, COL "INTCOL#" N, NAME V(128), COLUMNS V(4000), CREATOR V(8),
    }
    /// Rows changed since a table's statistics were gathered. FLAGS 1: the table was truncated. No picture contains it,
    /// so it is changed without moving the epoch (D15).
    ModsAll "MON_MODS_ALL$" 228 mods_all {
        OBJ "OBJ#" N, INSERTS N, UPDATES N, DELETES N, TIMESTAMP D, FLAGS N,
    }
    /// Statistics of dictionary tables and fixed tables, which have no row in TAB$. HIST_HEAD$ holds those of their
    /// columns by OBJ#. A fixed table is found by name; its number here is used only for its statistics (D14).
    TabStats "TAB_STATS$" 236 tab_stats {
        OBJ "OBJ#" N, NAME V(128), ROWCNT N, BLKCNT N, AVGRLN N, SAMPLESIZE N, ANALYZETIME D, STATFLAGS N,
    }
    /// System statistics: SYSSTATS_INFO (STATUS, DSTART, DSTOP) and SYSSTATS_MAIN have Oracle's names; SYSSTATS_TEMP
    /// holds the counts of reads at the start of a workload.
    AuxStats "AUX_STATS$" 235 aux_stats { SNAME V(30), PNAME V(30), PVAL1 N, PVAL2 V(255) }
    /// Uses of columns in predicates, one per hard parse and kind. No picture contains it, like MON_MODS_ALL$.
    ColUsage "COL_USAGE$" 234 col_usage {
        OBJ "OBJ#" N, COL "INTCOL#" N, EQUALITY "EQUALITY_PREDS" N, EQUIJOIN "EQUIJOIN_PREDS" N,
        NONEQUIJOIN "NONEQUIJOIN_PREDS" N, RANGE "RANGE_PREDS" N, LIKE "LIKE_PREDS" N, NULL "NULL_PREDS" N,
        TIMESTAMP D, FLAGS N,
    }
    /// Preferences of DBMS_STATS; those of the database have OBJ# 0.
    StatPref "OPTSTAT_USER_PREFS$" 229 stat_pref { OBJ "OBJ#" N, PNAME V(30), VALUE "VALCHAR" V(4000), CHANGED "CHGTIME" D }
    /// Earlier statistics of tables, in force until SAVTIME; all figures are NULL when there were none. FLAGS are
    /// STATFLAGS.
    TabHistory "WRI$_OPTSTAT_TAB_HISTORY" 230 tab_history {
        OBJ "OBJ#" N, SAVTIME T, FLAGS N, ROWCNT N, BLKCNT N, AVGRLN N, SAMPLESIZE N, ANALYZETIME D,
    }
    /// Earlier statistics of indexes; BO# is the table.
    IndHistory "WRI$_OPTSTAT_IND_HISTORY" 231 ind_history {
        OBJ "OBJ#" N, BO "BO#" N, SAVTIME T, FLAGS N, ROWCNT N, BLEVEL N, LEAFCNT N, DISTKEY N, LBLKKEY N, DBLKKEY N, CLUFAC N,
        SAMPLESIZE N, ANALYZETIME D,
    }
    /// Earlier statistics of columns: the columns of HIST_HEAD$ and SAVTIME.
    HeadHistory "WRI$_OPTSTAT_HISTHEAD_HISTORY" 232 head_history {
        OBJ "OBJ#" N, COL "INTCOL#" N, BUCKETS "BUCKET_CNT" N, NULLCNT "NULL_CNT" N, TIMESTAMP "TIMESTAMP#" D,
        SAMPLE "SAMPLE_SIZE" N, MINIMUM N, MAXIMUM N, DISTCNT N, LOWVAL R(1000), HIVAL R(1000), DENSITY N, AVGCLN N,
        FLAGS N, SAVTIME T,
    }
    /// Earlier endpoints: the columns of HISTGRM$ and SAVTIME.
    HistgrmHistory "WRI$_OPTSTAT_HISTGRM_HISTORY" 233 histgrm_history {
        OBJ "OBJ#" N, COL "INTCOL#" N, BUCKET N, ENDPOINT N, EPVALUE V(1000), EPVALUE_RAW R(1000),
        REPEATS "EP_REPEAT_COUNT" N, SAVTIME T,
    }
    /// Clusters.
    Clu "CLU$" 5 clu {
        OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, TS "TS#" N, FILE "FILE#" N, BLOCK "BLOCK#" N, COLS N, PCTFREE "PCTFREE$" N,
        INITRANS N, SIZE "SIZE$" N, HASHKEYS N, HASHFUNC V(4000), FLAGS N,
    }
    /// Indexes.
    Ind "IND$" 19 ind {
        OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, TS "TS#" N, FILE "FILE#" N, BLOCK "BLOCK#" N, BO "BO#" N, COLS N, PCTFREE "PCTFREE$" N,
        INITRANS N, TYPE "TYPE#" N, PROPERTY N, FLAGS N, BLEVEL N, LEAFCNT N,
        DISTKEY N, LBLKKEY N, DBLKKEY N, CLUFAC N, ROWCNT N, SAMPLESIZE N, ANALYZETIME D, STATFLAGS N,
    }
    /// Columns of indexes. COL# is the table's column, 0 for an expression.
    Icol "ICOL$" 20 icol {
        OBJ "OBJ#" N, BO "BO#" N, COL "COL#" N, POS "POS#" N, DESCENDING "DESC$" N, EXPR "EXPR$" V(4000), TYPE "TYPE#" N, LENGTH N,
        PRECISION "PRECISION#" N, SCALE N, CHARSETFORM N, CHARLENGTH N,
    }
    /// Partitioned tables: PARTTYPE is [`crate::PartitionMethod`], KEYCOLS the positions of the key's columns, four
    /// decimal digits each, from 1. DEFTS is the tablespace of new partitions. INTERVAL_STR is the text of the
    /// interval, INTERVAL_BIVAL the [`crate::interval::Width`].
    Partobj "PARTOBJ$" 240 partobj {
        OBJ "OBJ#" N, PARTTYPE N, PARTKEYCOLS N, KEYCOLS V(64), DEFTS "DEFTS#" N, FLAGS N, INTERVAL_STR V(1000),
        INTERVAL_BIVAL R(200),
    }
    /// Partitions of tables. PART# orders those of lists and hashes; ranges are in the order of their bounds, which
    /// BHIBOUNDVAL holds as [`crate::PartitionBound`] writes them. FLAGS 1: made by an interval.
    Tabpart "TABPART$" 241 tabpart {
        OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, BO "BO#" N, PART "PART#" N, NAME V(128), HIBOUNDLEN N, HIBOUNDVAL V(32767),
        BHIBOUNDVAL R(32767), TS "TS#" N, FILE "FILE#" N, BLOCK "BLOCK#" N, PCTFREE "PCTFREE$" N, INITRANS N, FLAGS N,
        ANALYZETIME D, SAMPLESIZE N, ROWCNT N, BLKCNT N, AVGRLN N,
    }
    /// Partitions of local indexes; TABPART# is the table's partition. FLAGS 1: unusable.
    Indpart "INDPART$" 242 indpart {
        OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, BO "BO#" N, TABPART "TABPART#" N, NAME V(128), TS "TS#" N, FILE "FILE#" N,
        BLOCK "BLOCK#" N, PCTFREE "PCTFREE$" N, INITRANS N, FLAGS N,
    }
    /// Materialized views: TOBJ# is the table with the rows. METHOD 0 never, 1 complete, 3 force; FLAGS 1: built by the
    /// first refresh, 2: for query rewrite, 4: WITH ROWID. LASTREF and LASTEND are the begin and the end of a refresh.
    Snap "SNAP$" 243 snap {
        OBJ "OBJ#" N, TOBJ "TOBJ#" N, METHOD N, FLAGS N, LASTREF D, LASTEND D, QUERYLEN "QUERY_LEN" N,
        QUERY "QUERY_TXT" V(32767),
    }
    /// Names of constraints.
    Con "CON$" 28 con { OWNER "OWNER#" N, NAME V(128), CON "CON#" N }
    /// Constraints: TYPE# 1 check, 2 primary key, 3 unique, 4 foreign key, 7 not null. For keys, ENABLED is the number
    /// of the index.
    Cdef "CDEF$" 31 cdef {
        CON "CON#" N, OBJ "OBJ#" N, TYPE "TYPE#" N, ROBJ "ROBJ#" N, RCON "RCON#" N, CONDITION V(4000), REFACT N,
        ENABLED N, DEFER N, MTIME D, INDEX "INDEX#" N,
    }
    /// Columns of constraints.
    Ccol "CCOL$" 32 ccol { CON "CON#" N, OBJ "OBJ#" N, COL "COL#" N, POS "POS#" N }
    /// Views.
    View "VIEW$" 69 view { OBJ "OBJ#" N, COLS N, PROPERTY N, TEXTLENGTH N, TEXT V(32767) }
    /// Sequences. HIGHWATER is the first number not yet given to a cache; STARTWITH is the value of START WITH.
    Seq "SEQ$" 80 seq {
        OBJ "OBJ#" N, INCREMENT "INCREMENT$" N, MINVALUE N, MAXVALUE N, CYCLE "CYCLE#" N, ORDER "ORDER$" N,
        CACHE N, HIGHWATER N, STARTWITH N, FLAGS N,
    }
    /// Source of stored units, one row per line.
    Source "SOURCE$" 95 source { OBJ "OBJ#" N, LINE N, SOURCE V(4000) }
    /// The settings of PL/SQL with which stored units were compiled.
    Settings "SETTINGS$" 186 settings { OBJ "OBJ#" N, PARAM V(30), VALUE V(4000) }
    /// The words of the texts of units and views that may be names of objects (`words`), in upper case.
    Word "WORD$" 237 word { OBJ "OBJ#" N, WORD V(128) }
    /// Compilation errors.
    Error "ERROR$" 96 error {
        OBJ "OBJ#" N, SEQUENCE "SEQUENCE#" N, LINE N, POSITION "POSITION#" N, TEXT V(4000), ATTRIBUTE "PROPERTY" N,
    }
    /// Users (TYPE# 1) and roles (0). SPARE4 is the verifier. ASTATUS: 0 open, 1 expired, 8 locked; the logon state is
    /// in USER_LOGON$, in a row that is void when its LSEQ# differs. LTIME is the time of the lock by ALTER USER.
    /// DEFROLE tells the roles that a session begins with: 0 none, 1 all, 2 those in DEFROLE$, 3 all except those.
    User "USER$" 22 user {
        USER "USER#" N, NAME V(128), TYPE "TYPE#" N, PASSWORD V(4000), DATATS "DATATS#" N, TEMPTS "TEMPTS#" N,
        CTIME D, PTIME D, ASTATUS N, PROFILE V(128), SPARE4 V(1000), LTIME D, LSEQ "LSEQ#" N,
        DEFROLE N,
    }
    /// The logon state of each user, and of all names without a user (USER# 4294967295): consecutive failures, the time
    /// of the lock for them, the end of the grace period of the password set at GRACE_OF, the last logon. Changed
    /// without DDL (D11).
    UserLogon "USER_LOGON$" 210 user_logon {
        USER "USER#" N, LSEQ "LSEQ#" N, LCOUNT N, LTIME D, GRACE_END D, GRACE_OF D, LAST T,
    }
    /// Earlier passwords of users, as verifiers.
    UserHistory "USER_HISTORY$" 211 user_history { USER "USER#" N, PASSWORD V(4000), PASSWORD_DATE D }
    /// Names of profiles; DEFAULT is number 0.
    Profname "PROFNAME$" 212 profname { PROFILE "PROFILE#" N, NAME V(128) }
    /// Limits of profiles: LIMIT# -1 is DEFAULT, 2147483647 UNLIMITED; times are in seconds. TYPE# 0 kernel, 1
    /// password. For a password verify function, FUNCTION is its name and LIMIT# its number.
    Profile "PROFILE$" 213 profile { PROFILE "PROFILE#" N, RESOURCE "RESOURCE#" N, TYPE "TYPE#" N, LIMIT "LIMIT#" N, FUNCTION "FUNCTION" V(128) }
    /// Names of the resources that profiles limit.
    ResourceMap "RESOURCE_MAP" 214 resource_map { RESOURCE "RESOURCE#" N, TYPE "TYPE#" N, NAME V(32) }
    /// The audit trail. ACTION# is the command number of the statement; LOGOFF rows have the session's figures.
    Aud "AUD$" 215 aud {
        SESSIONID N, ENTRYID N, STARTUP N, SID N, EVENT_TIMESTAMP T, DBUSERNAME V(128), CURRENT_USER V(128), OS_USERNAME V(128),
        USERHOST V(128), TERMINAL V(64), OS_PROCESS V(24), CLIENT_PROGRAM_NAME V(84), AUTHENTICATION V(40), ACTION "ACTION#" N, ACTION_NAME V(64),
        RETURN_CODE N, OBJECT_SCHEMA V(128), OBJECT_NAME V(128), SQL_TEXT V(4000), PRIVILEGE V(100),
        POLICIES V(1000), INFO V(400), OPTIONS N,
        LOGOFF_LREAD N, LOGOFF_PREAD N, LOGOFF_LWRITE N, SESSION_CPU N, DBPROXY "DBPROXY_USERNAME" V(128),
    }
    /// Options of AUDIT: KIND 0 statements, 1 a privilege, 2 actions on the object OBJ#. USER# is NULL for all users.
    /// SUCCESS and FAILURE are 1 for the outcomes that are audited.
    AuditOption "AUDIT$" 216 audit_option {
        USER "USER#" N, KIND N, OPTION "OPTION$" V(128), OBJ "OBJ#" N, SUCCESS N, FAILURE N,
    }
    /// Audit policies.
    AudPolicy "AUD_POLICY$" 217 aud_policy { POLICY "POLICY#" N, NAME V(128), BUILTIN N, CTIME D }
    /// The options of audit policies: KIND 0 an action, 1 a privilege, 2 an action on the object OBJ#.
    AudPolicyOption "AUD_POLICY_OPTION$" 218 aud_policy_option { POLICY "POLICY#" N, KIND N, OPTION "OPTION$" V(128), OBJ "OBJ#" N }
    /// The users for whom policies are enabled: MODE 0 all users (USER# NULL), 1 BY, 2 EXCEPT.
    AudPolicyUser "AUD_POLICY_USER$" 219 aud_policy_user { POLICY "POLICY#" N, MODE "MODE$" N, USER "USER#" N, SUCCESS N, FAILURE N }
    /// Grants of system privileges (negative numbers) and roles (user numbers).
    Sysauth "SYSAUTH$" 98 sysauth { GRANTEE "GRANTEE#" N, PRIVILEGE "PRIVILEGE#" N, SEQUENCE "SEQUENCE#" N, OPTION "OPTION$" N }
    /// Grants of object privileges.
    Objauth "OBJAUTH$" 99 objauth {
        OBJ "OBJ#" N, GRANTOR "GRANTOR#" N, GRANTEE "GRANTEE#" N, PRIVILEGE "PRIVILEGE#" N, SEQUENCE "SEQUENCE#" N, COL "COL#" N,
        OPTION "OPTION$" N,
    }
    /// Proxy users: FLAGS 1 with all roles of the client, 2 with none, 4 with those in PROXY_ROLE_INFO$, 8 with all
    /// except those. CREDENTIAL_TYPE# 5 requires the client's password too.
    Proxy "PROXY_INFO$" 221 proxy { CLIENT "CLIENT#" N, PROXY "PROXY#" N, CREDENTIAL "CREDENTIAL_TYPE#" N, FLAGS N }
    /// Roles listed by CONNECT THROUGH.
    ProxyRole "PROXY_ROLE_INFO$" 222 proxy_role { CLIENT "CLIENT#" N, PROXY "PROXY#" N, ROLE "ROLE#" N }
    /// Editions and their parent editions; the first has none.
    Edition "EDITION$" 223 edition { OBJ "OBJ#" N, PARENT "P_OBJ#" N }
    /// Connection pools; STATUS 1 for a pool that was started.
    Cpool "CPOOL$" 224 cpool {
        POOL "CONNECTION_POOL" V(128), STATUS N, MINSIZE N, MAXSIZE N, INCRSIZE N, CACHED "SESSION_CACHED_CURSORS" N,
        INACTIVITY "INACTIVITY_TIMEOUT" N, THINK "MAX_THINK_TIME" N, USES "MAX_USE_SESSION" N,
        LIFETIME "MAX_LIFETIME_SESSION" N, BROKERS "NUM_CBROK" N, CONNECTIONS "MAXCONN_CBROK" N,
        TXN_THINK "MAX_TXN_THINK_TIME" N,
    }
    /// Roles listed by ALTER USER ... DEFAULT ROLE.
    Defrole "DEFROLE$" 100 defrole { USER "USER#" N, ROLE "ROLE#" N }
    /// INHERIT PRIVILEGES granted on users.
    Userauth "USERAUTH$" 101 userauth { USER "USER#" N, GRANTOR "GRANTOR#" N, GRANTEE "GRANTEE#" N }
    /// Synonyms.
    Syn "SYN$" 88 syn { OBJ "OBJ#" N, NODE V(128), OWNER V(128), NAME V(128) }
    /// Comments on tables and columns.
    Com "COM$" 97 com { OBJ "OBJ#" N, COL "COL#" N, COMMENT "COMMENT$" V(4000) }
    /// Triggers. TYPE# is [`crate::TriggerKind`]; UPDATE$, INSERT$ and DELETE$ are 1 for the events. Lists of quoted
    /// names ([`crate::quoted`]): UPDATECOLS the columns of UPDATE OF; NEWIN, NEWOUT and OLDIN the columns of the new
    /// row that the body reads and assigns, and of the old row that it reads; FOLLOWS the triggers of that clause.
    /// A trigger on a schema or the database has BASEOBJECT 0, its events as bits in SYS_EVTS, and the schema's owner
    /// in SCHEMA#.
    Trigger "TRIGGER$" 81 trigger {
        OBJ "OBJ#" N, TYPE "TYPE#" N, BASEOBJECT N, ENABLED N,
        UPDATE "UPDATE$" N, INSERT "INSERT$" N, DELETE "DELETE$" N,
        REFOLDNAME V(128), REFNEWNAME V(128), DEFINITION V(4000), WHENCLAUSE V(4000), ACTION "ACTION#" V(32767),
        UPDATECOLS V(32767), NEWIN V(32767), NEWOUT V(32767), OLDIN V(32767), FOLLOWS V(4000),
        PROPERTY N, EVENTS "SYS_EVTS" N, SCHEMA "SCHEMA#" N,
    }
    /// Directories.
    Dir "DIR$" 102 dir { OBJ "OBJ#" N, PATH "OS_PATH" V(4000) }
    /// Application contexts: the package that sets the values of each.
    Context "CONTEXT$" 263 context { OBJ "OBJ#" N, SCHEMA V(128), PACKAGE V(128), FLAGS N }
    /// The values of contexts that are accessed globally. They end with the instance, whose start time they have.
    Globalctx "GLOBALCTX$" 264 globalctx {
        CONTEXT "CONTEXT#" N, STARTUP N, ATTRIBUTE V(128), VALUE V(4000), USERNAME V(128), CLIENT "CLIENT_ID" V(64),
    }
    /// Jobs of DBMS_JOB. FLAG 1 is broken.
    Job "JOB$" 110 job {
        JOB N, LOWNER V(128), POWNER V(128), COWNER V(128), LAST_DATE D,
        THIS_DATE D, NEXT_DATE D, TOTAL N, INTERVAL "INTERVAL#" V(200), FAILURES N, FLAG N,
        WHAT V(4000), NLSENV V(4000), FIELD1 N, SID N,
    }
    /// Jobs of DBMS_SCHEDULER. Times are in UTC, for display in the time zone TZ; LAST_DURATION is in seconds. RUN_NOW
    /// is 1 for a run that RUN_JOB asks for, and 2 while it runs. STOPPER is the user that stops the run.
    SchedulerJob "SCHEDULER$_JOB" 260 scheduler_job {
        JOB N, OWNER V(128), NAME V(128), CREATOR V(128), SCHEMA V(128),
        PROGRAM_OWNER V(128), PROGRAM_NAME V(128), KIND V(16), ACTION V(4000), ARGS N,
        SCHEDULE_OWNER V(128), SCHEDULE_NAME V(128), START_DATE T, END_DATE T, TZ V(64), REPEAT V(4000),
        CLASS V(128), ENABLED N, AUTO_DROP N, RECOVERS N, STATE V(20), PRIORITY N, RUNS N, MAX_RUNS N, FAILURES N,
        MAX_FAILURES N, LAST_START T, LAST_DURATION N, REQ_DATE T, NEXT_RUN T, LOGGING N, COMMENTS V(4000),
        NLSENV V(4000), RUN_NOW N, SID N, SERIAL N, STOPPER V(128), LOG_ID N,
    }
    /// Programs of DBMS_SCHEDULER.
    SchedulerProgram "SCHEDULER$_PROGRAM" 261 scheduler_program {
        OWNER V(128), NAME V(128), KIND V(16), ACTION V(4000), ARGS N, ENABLED N, COMMENTS V(4000),
    }
    /// Schedules of DBMS_SCHEDULER. Times as in SCHEDULER$_JOB.
    SchedulerSchedule "SCHEDULER$_SCHEDULE" 262 scheduler_schedule {
        OWNER V(128), NAME V(128), START_DATE T, END_DATE T, TZ V(64), REPEAT V(4000), COMMENTS V(4000),
    }
    /// Arguments of programs, and their values for jobs (OF_JOB 1).
    SchedulerArgument "SCHEDULER$_ARGUMENT" 267 scheduler_argument {
        OWNER V(128), NAME V(128), OF_JOB N, POSITION N, ARGUMENT V(128), TYPE "TYPE_NAME" V(257), HAS_VALUE N,
        VALUE V(4000),
    }
    /// Ended runs of jobs of DBMS_SCHEDULER. Times as in SCHEDULER$_JOB, CPU in seconds.
    SchedulerLog "SCHEDULER$_EVENT_LOG" 268 scheduler_log {
        LOG_ID N, LOG_DATE T, OWNER V(128), NAME V(128), CLASS V(128), OPERATION V(30), STATUS V(30), ERROR N,
        REQ_DATE T, START_DATE T, TZ V(64), DURATION N, SID N, SERIAL N, PID N, CPU N, INFO V(4000), ERRORS V(4000),
    }
    /// Counters and attributes of DBMS_SCHEDULER.
    SchedulerGlobal "SCHEDULER$_GLOBAL" 265 scheduler_global { NAME V(128), VALUE N }
    /// The sessions that are registered for alerts, and the alerts that they have not received (CHANGED).
    AlertInfo "DBMS_ALERT_INFO" 266 alert_info { NAME V(30), SID V(30), CHANGED V(1), MESSAGE V(1800) }
    /// The times up to which the audit trails have been archived, by type of trail.
    DamLastArchTs "DAM_LAST_ARCH_TS$" 220 dam_last_arch_ts { TRAIL "AUDIT_TRAIL_TYPE#" N, LAST_ARCHIVE_TIMESTAMP T }
    /// Database properties.
    Props "PROPS$" 115 props { NAME V(128), VALUE "VALUE$" V(4000), COMMENT "COMMENT$" V(4000) }
    /// Tablespaces.
    Ts "TS$" 16 ts { TS "TS#" N, NAME V(30), CONTENTS "CONTENTS$" N, BLOCKSIZE N, STATUS "ONLINE$" N }
    /// Quotas of users on tablespaces, in blocks; -1 is unlimited.
    Tsq "TSQ$" 23 tsq { TS "TS#" N, USER "USER#" N, MAXBLOCKS N }
    /// Dropped segments whose blocks are not freed yet.
    DroppedSegment "DROPPED_SEGMENT$" 17 dropped_segment { FILE "FILE#" N, BLOCK "BLOCK#" N, DATAOBJ "DATAOBJ#" N }
    /// The mapping of SCNs to times.
    ScnTime "SMON_SCN_TIME" 146 scn_time {
        THREAD N, TIME_MP N, TIME_DP D, SCN_WRP N, SCN_BAS N, NUM_MAPPINGS N,
        TIM_SCN_MAP V(4000), SCN N, ORIG_THREAD N,
    }
    /// Numbers and names of system privileges.
    SystemPrivilegeMap "SYSTEM_PRIVILEGE_MAP" 120 system_privilege_map { PRIVILEGE N, NAME V(40), PROPERTY N }
    /// Numbers and names of object privileges.
    TablePrivilegeMap "TABLE_PRIVILEGE_MAP" 122 table_privilege_map { PRIVILEGE N, NAME V(40) }
    /// Numbers and names of kinds of objects, for the views.
    ObjectTypeMap "OBJECT_TYPE_MAP" 124 object_type_map { TYPE "TYPE#" N, NAME V(30) }
    /// The table of one row.
    Dual "DUAL" 142 dual { DUMMY V(1) }
    /// The default table of EXPLAIN PLAN: temporary, each session sees its own rows.
    PlanTable "PLAN_TABLE$" 144 plan_table {
        STATEMENT_ID V(30), PLAN_ID N, TIMESTAMP D, REMARKS V(4000), OPERATION V(30),
        OPTIONS V(255), OBJECT_NODE V(128), OBJECT_OWNER V(128), OBJECT_NAME V(128),
        OBJECT_ALIAS V(261), OBJECT_INSTANCE N, OBJECT_TYPE V(30), OPTIMIZER V(255),
        SEARCH_COLUMNS N, ID N, PARENT_ID N, DEPTH N, POSITION N, COST N,
        CARDINALITY N, BYTES N, OTHER_TAG V(255), PARTITION_START V(255),
        PARTITION_STOP V(255), PARTITION_ID N, OTHER V(4000), DISTRIBUTION V(30),
        CPU_COST N, IO_COST N, TEMP_SPACE N, ACCESS_PREDICATES V(4000),
        FILTER_PREDICATES V(4000), PROJECTION V(4000), TIME N, QBLOCK_NAME V(128), OTHER_XML V(4000),
    }
    /// Snapshots of the workload repository. The `WRH$_` tables hold their figures, by snapshot.
    Snapshot "WRM$_SNAPSHOT" 160 snapshot {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, STARTUP_TIME D,
        BEGIN_INTERVAL_TIME T, END_INTERVAL_TIME T, FLUSH_ELAPSED N,
        SNAP_LEVEL N, STATUS N, ERROR_COUNT N, SNAP_FLAG N,
    }
    /// Waits since the start of the instance.
    HistSystemEvent "WRH$_SYSTEM_EVENT" 161 hist_system_event {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, EVENT_ID N, EVENT_NAME V(64),
        WAIT_CLASS V(64), TOTAL_WAITS N, TOTAL_TIMEOUTS N,
        TIME_WAITED_MICRO N, TOTAL_WAITS_FG N, TOTAL_TIMEOUTS_FG N,
        TIME_WAITED_MICRO_FG N,
    }
    /// Latches by name.
    HistLatch "WRH$_LATCH" 162 hist_latch {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, LATCH_HASH N, LATCH_NAME V(64),
        LEVEL "LEVEL#" N, GETS N, MISSES N, SLEEPS N, IMMEDIATE_GETS N,
        IMMEDIATE_MISSES N, SPIN_GETS N, WAIT_TIME N,
    }
    /// Sleeps for mutexes by kind and location.
    HistMutexSleep "WRH$_MUTEX_SLEEP" 163 hist_mutex_sleep {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, MUTEX_TYPE V(32), LOCATION V(80),
        SLEEPS N, WAIT_TIME N,
    }
    /// The row cache by name.
    HistRowcache "WRH$_ROWCACHE_SUMMARY" 164 hist_rowcache {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, PARAMETER V(32), TOTAL_USAGE N,
        USAGE N, GETS N, GETMISSES N, SCANS N, SCANMISSES N,
        SCANCOMPLETES N, MODIFICATIONS N, FLUSHES N,
    }
    /// Statements: totals, and the increase since the previous snapshot.
    HistSqlstat "WRH$_SQLSTAT" 165 hist_sqlstat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, SQL_ID V(13), PLAN_HASH_VALUE N,
        COMMAND_TYPE N, PARSING_SCHEMA_NAME V(128), EXECUTIONS_TOTAL N,
        EXECUTIONS_DELTA N, PARSE_CALLS_TOTAL N, PARSE_CALLS_DELTA N,
        FETCHES_TOTAL N, FETCHES_DELTA N, ROWS_TOTAL "ROWS_PROCESSED_TOTAL" N,
        ROWS_DELTA "ROWS_PROCESSED_DELTA" N, BUFFER_GETS_TOTAL N, BUFFER_GETS_DELTA N,
        DISK_READS_TOTAL N, DISK_READS_DELTA N, ELAPSED_TIME_TOTAL N,
        ELAPSED_TIME_DELTA N, CPU_TIME_TOTAL N, CPU_TIME_DELTA N,
        MODULE V(64), ACTION V(64), VERSION_COUNT N,
        IOWAIT_TOTAL N, IOWAIT_DELTA N, SHARABLE_MEM N,
    }
    /// Texts of these statements.
    HistSqltext "WRH$_SQLTEXT" 166 hist_sqltext {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, SQL_ID V(13), COMMAND_TYPE N,
        SQL_TEXT V(4000),
    }
    /// System statistics.
    HistSysstat "WRH$_SYSSTAT" 167 hist_sysstat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, STAT_ID N, STAT_NAME V(64),
        VALUE N,
    }
    /// The time model, microseconds.
    HistTimeModel "WRH$_SYS_TIME_MODEL" 168 hist_time_model {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        STAT_ID N, STAT_NAME V(64), VALUE N,
    }
    /// Statistics of the operating system.
    HistOsstat "WRH$_OSSTAT" 169 hist_osstat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        STAT_ID N, STAT_NAME V(64), VALUE N,
    }
    /// Initialization parameters.
    HistParameter "WRH$_PARAMETER" 170 hist_parameter {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        PARAMETER_NAME V(80), VALUE V(512), ISDEFAULT V(9), ISMODIFIED V(10),
    }
    /// Areas of the SGA.
    HistSgastat "WRH$_SGASTAT" 171 hist_sgastat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        NAME V(64), POOL V(14), BYTES N,
    }
    /// Regions of the SGA.
    HistSga "WRH$_SGA" 172 hist_sga {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        NAME V(64), VALUE N,
    }
    /// Misses of latches by location.
    HistLatchMisses "WRH$_LATCH_MISSES_SUMMARY" 173 hist_latch_misses {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        PARENT_NAME V(64), WHERE_IN_CODE V(64), NWFAIL_COUNT N, SLEEP_COUNT N,
        WTR_SLP_COUNT N,
    }
    /// Children of latches that were used: snapshots of level ALL only.
    HistLatchChildren "WRH$_LATCH_CHILDREN" 174 hist_latch_children {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        LATCH_HASH N, LATCH_NAME V(64), CHILD "CHILD#" N, GETS N, MISSES N, SLEEPS N,
        IMMEDIATE_GETS N, IMMEDIATE_MISSES N, SPIN_GETS N, WAIT_TIME N,
    }
    /// Parents of latches: snapshots of level ALL only.
    HistLatchParent "WRH$_LATCH_PARENT" 175 hist_latch_parent {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        LATCH_HASH N, LATCH_NAME V(64), GETS N, MISSES N, SLEEPS N,
        IMMEDIATE_GETS N, IMMEDIATE_MISSES N, SPIN_GETS N, WAIT_TIME N,
    }
    /// The library cache by namespace.
    HistLibrarycache "WRH$_LIBRARYCACHE" 176 hist_librarycache {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        NAMESPACE V(64), GETS N, GETHITS N, PINS N, PINHITS N, RELOADS N,
        INVALIDATIONS N,
    }
    /// Enqueues by type and reason.
    HistEnqueue "WRH$_ENQUEUE_STAT" 177 hist_enqueue {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        EQ_TYPE V(2), REQ_REASON V(64), TOTAL_REQ "TOTAL_REQ#" N, TOTAL_WAIT "TOTAL_WAIT#" N, SUCC_REQ "SUCC_REQ#" N,
        FAILED_REQ "FAILED_REQ#" N, CUM_WAIT_TIME N, EVENT "EVENT#" N,
    }
    /// Waits for buffers by class of block.
    HistWaitstat "WRH$_WAITSTAT" 178 hist_waitstat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        CLASS V(18), WAIT_COUNT N, TIME N,
    }
    /// The buffer pools.
    HistBufferPool "WRH$_BUFFER_POOL_STATISTICS" 179 hist_buffer_pool {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        ID N, NAME V(20), BLOCK_SIZE N, SET_MSIZE N, BUF_GOT N,
        FREE_BUFFER_WAIT N, WRITE_COMPLETE_WAIT N, BUFFER_BUSY_WAIT N,
        FREE_BUFFER_INSPECTED N, DIRTY_BUFFERS_INSPECTED N,
        DB_BLOCK_CHANGE N, DB_BLOCK_GETS N, CONSISTENT_GETS N,
        PHYSICAL_READS N, PHYSICAL_WRITES N,
    }
    /// Reads and writes of data files.
    HistFilestat "WRH$_FILESTATXS" 180 hist_filestat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        FILE "FILE#" N, FILENAME V(513), TSNAME V(30), BLOCK_SIZE N, PHYRDS N, PHYWRTS N,
        SINGLEBLKRDS N, READTIM N, WRITETIM N, SINGLEBLKRDTIM N, PHYBLKRD N,
        PHYBLKWRT N,
    }
    /// Waits by duration: up to a number of microseconds that is a power of two.
    HistEventHistogram "WRH$_EVENT_HISTOGRAM" 181 hist_event_histogram {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        EVENT_ID N, EVENT_NAME V(64), WAIT_CLASS V(64), WAIT_TIME_MICRO N,
        WAIT_COUNT N,
    }
    /// Undo by intervals of ten minutes; SNAP_ID is the first snapshot after the end of the interval.
    HistUndostat "WRH$_UNDOSTAT" 182 hist_undostat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N,
        BEGIN_TIME D, END_TIME D, UNDOTSN N, UNDOBLKS N, TXNCOUNT N,
        MAXCONCURRENCY N, UNXPSTEALCNT N, EXPSTEALCNT N, SSOLDERRCNT N,
        NOSPACEERRCNT N, TUNED_UNDORETENTION N,
    }
    /// Interval and retention of snapshots in minutes; one row.
    WrControl "WRM$_WR_CONTROL" 183 wr_control {
        DBID N, SNAP_INTERVAL "SNAP_INTERVAL_MIN" N, RETENTION "RETENTION_MIN" N, TOPNSQL N,
        MOST_RECENT_SNAP_ID N,
    }
    /// Memory of processes by category, in bytes.
    HistProcessMemory "WRH$_PROCESS_MEM_SUMMARY" 191 hist_process_memory {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, CATEGORY V(15), NUM_PROCESSES N,
        NON_ZERO_ALLOCS N, USED_TOTAL N, ALLOCATED_TOTAL N,
        ALLOCATED_AVG N, ALLOCATED_STDDEV N, ALLOCATED_MAX N,
        MAX_ALLOCATED_MAX N,
    }
    /// Components of the SGA that can be resized.
    HistDynamicComponents "WRH$_MEM_DYNAMIC_COMP" 192 hist_dynamic_components {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, COMPONENT V(64), CURRENT_SIZE N,
        MIN_SIZE N, MAX_SIZE N, USER_SPECIFIED_SIZE N, OPER_COUNT N,
        LAST_OPER_TYPE V(13), LAST_OPER_MODE V(9),
    }
    /// The totals of all cursors at the last snapshot, and their increase since the previous one; only the rows of the
    /// last snapshot are kept.
    SqlstatSeen "WRM$_SQLSTAT_SEEN" 190 sqlstat_seen {
        SEEN N, STARTUP_TIME D, SQL_ID V(13), PLAN_HASH_VALUE N,
        COMMAND_TYPE N, PARSING_SCHEMA_NAME V(128), EXECUTIONS_TOTAL N,
        EXECUTIONS_DELTA N, PARSE_CALLS_TOTAL N, PARSE_CALLS_DELTA N,
        FETCHES_TOTAL N, FETCHES_DELTA N, ROWS_TOTAL "ROWS_PROCESSED_TOTAL" N,
        ROWS_DELTA "ROWS_PROCESSED_DELTA" N, BUFFER_GETS_TOTAL N, BUFFER_GETS_DELTA N,
        DISK_READS_TOTAL N, DISK_READS_DELTA N, ELAPSED_TIME_TOTAL N,
        ELAPSED_TIME_DELTA N, CPU_TIME_TOTAL N, CPU_TIME_DELTA N,
        MODULE V(64), ACTION V(64), VERSION_COUNT N,
        IOWAIT_TOTAL N, IOWAIT_DELTA N, SHARABLE_MEM N,
    }
    /// Baselines: snapshots that are kept for comparison.
    Baseline "WRM$_BASELINE" 184 baseline {
        DBID N, BASELINE_ID N, BASELINE_NAME V(128), START_SNAP_ID N,
        END_SNAP_ID N, CREATION_TIME D,
    }
    /// The instances with snapshots, by start time.
    DatabaseInstance "WRM$_DATABASE_INSTANCE" 185 database_instance {
        DBID N, INSTANCE "INSTANCE_NUMBER" N, STARTUP_TIME D, VERSION V(17), DB_NAME V(9),
        INSTANCE_NAME V(16), HOST_NAME V(64), PLATFORM_NAME V(101), BANNER V(160),
    }
    /// Samples of active sessions: one in ten.
    HistAsh "WRH$_ACTIVE_SESSION_HISTORY" 196 hist_ash {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, SAMPLE_ID N, SAMPLE_TIME T,
        SAMPLE_TIME_UTC T, USECS_PER_ROW N, SESSION_ID N,
        SESSION_SERIAL "SESSION_SERIAL#" N, SESSION_TYPE V(10), USER_ID N, SQL_ID V(13),
        IS_SQLID_CURRENT V(1), SQL_CHILD_NUMBER N, SQL_OPCODE N,
        TOP_LEVEL_SQL_ID V(13), TOP_LEVEL_SQL_OPCODE N,
        SQL_PLAN_HASH_VALUE N, SQL_EXEC_ID N, SQL_EXEC_START D,
        ENTRY_OBJECT "PLSQL_ENTRY_OBJECT_ID" N, ENTRY_SUBPROGRAM "PLSQL_ENTRY_SUBPROGRAM_ID" N, PLSQL_OBJECT "PLSQL_OBJECT_ID" N,
        PLSQL_SUBPROGRAM "PLSQL_SUBPROGRAM_ID" N, EVENT V(64), EVENT_ID N, SEQ "SEQ#" N, P1TEXT V(64), P1 N, P2TEXT V(64), P2 N,
        P3TEXT V(64), P3 N, WAIT_CLASS V(64), WAIT_CLASS_ID N, WAIT_TIME N,
        SESSION_STATE V(7), TIME_WAITED N, BLOCKING_STATUS "BLOCKING_SESSION_STATUS" V(11),
        BLOCKING_SESSION N, BLOCKING_SERIAL "BLOCKING_SESSION_SERIAL#" N, BLOCKING_INST_ID N,
        CURRENT_OBJ "CURRENT_OBJ#" N, CURRENT_FILE "CURRENT_FILE#" N, CURRENT_BLOCK "CURRENT_BLOCK#" N, CURRENT_ROW "CURRENT_ROW#" N,
        XID V(16), TIME_MODEL N, IN_CONNECTION_MGMT V(1), IN_PARSE V(1),
        IN_HARD_PARSE V(1), IN_SQL_EXECUTION V(1), IN_PLSQL_EXECUTION V(1),
        PROGRAM V(64), MODULE V(64), ACTION V(64), CLIENT_ID V(64), MACHINE V(64),
        TM_DELTA_TIME N, TM_DELTA_CPU "TM_DELTA_CPU_TIME" N, TM_DELTA_DB "TM_DELTA_DB_TIME" N,
        DELTA_TIME N, DELTA_READS "DELTA_READ_IO_REQUESTS" N, DELTA_WRITES "DELTA_WRITE_IO_REQUESTS" N,
        DELTA_READ_BYTES "DELTA_READ_IO_BYTES" N, DELTA_WRITE_BYTES "DELTA_WRITE_IO_BYTES" N,
    }
    /// Active segments: totals, and the increase since the previous snapshot.
    HistSegStat "WRH$_SEG_STAT" 197 hist_seg_stat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, TS "TS#" N, OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N,
        LOGICAL_READS_TOTAL N, LOGICAL_READS_DELTA N, BUFFER_BUSY_WAITS_TOTAL N, BUFFER_BUSY_WAITS_DELTA N,
        DB_BLOCK_CHANGES_TOTAL N, DB_BLOCK_CHANGES_DELTA N, PHYSICAL_READS_TOTAL N, PHYSICAL_READS_DELTA N,
        PHYSICAL_WRITES_TOTAL N, PHYSICAL_WRITES_DELTA N, PHYSICAL_READ_REQUESTS_TOTAL N, PHYSICAL_READ_REQUESTS_DELTA N,
        PHYSICAL_WRITE_REQUESTS_TOTAL N, PHYSICAL_WRITE_REQUESTS_DELTA N, ITL_WAITS_TOTAL N, ITL_WAITS_DELTA N,
        ROW_LOCK_WAITS_TOTAL N, ROW_LOCK_WAITS_DELTA N, TABLE_SCANS_TOTAL N, TABLE_SCANS_DELTA N,
    }
    /// Names of these segments; SNAP_ID is the first snapshot with the segment.
    HistSegStatObj "WRH$_SEG_STAT_OBJ" 198 hist_seg_stat_obj {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, TS "TS#" N, OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, OWNER V(128),
        OBJECT_NAME V(128), SUBOBJECT_NAME V(128), OBJECT_TYPE V(18),
        TABLESPACE_NAME V(30),
    }
    /// The totals of all segments at the last snapshot; only the rows of the last snapshot are kept.
    SegStatSeen "WRM$_SEG_STAT_SEEN" 199 seg_stat_seen {
        SEEN N, STARTUP_TIME D, TS "TS#" N, OBJ "OBJ#" N, DATAOBJ "DATAOBJ#" N, OWNER V(128),
        OBJECT_NAME V(128), SUBOBJECT_NAME V(128), OBJECT_TYPE V(18),
        TABLESPACE_NAME V(30),
        LOGICAL_READS_TOTAL N, LOGICAL_READS_DELTA N, BUFFER_BUSY_WAITS_TOTAL N, BUFFER_BUSY_WAITS_DELTA N,
        DB_BLOCK_CHANGES_TOTAL N, DB_BLOCK_CHANGES_DELTA N, PHYSICAL_READS_TOTAL N, PHYSICAL_READS_DELTA N,
        PHYSICAL_WRITES_TOTAL N, PHYSICAL_WRITES_DELTA N, PHYSICAL_READ_REQUESTS_TOTAL N, PHYSICAL_READ_REQUESTS_DELTA N,
        PHYSICAL_WRITE_REQUESTS_TOTAL N, PHYSICAL_WRITE_REQUESTS_DELTA N, ITL_WAITS_TOTAL N, ITL_WAITS_DELTA N,
        ROW_LOCK_WAITS_TOTAL N, ROW_LOCK_WAITS_DELTA N, TABLE_SCANS_TOTAL N, TABLE_SCANS_DELTA N,
    }
    /// Resources with a limit: the present and the highest use.
    HistResourceLimit "WRH$_RESOURCE_LIMIT" 200 hist_resource_limit {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, RESOURCE_NAME V(30),
        CURRENT_UTILIZATION N, MAX_UTILIZATION N, INITIAL_ALLOCATION V(10),
        LIMIT_VALUE V(10),
    }
    /// The estimated work of a recovery after a crash.
    HistInstanceRecovery "WRH$_INSTANCE_RECOVERY" 201 hist_instance_recovery {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, RECOVERY_ESTIMATED_IOS N,
        ACTUAL_REDO_BLKS N, TARGET_REDO_BLKS N, LOG_FILE_SIZE_REDO_BLKS N,
        LOG_CHKPT_TIMEOUT_REDO_BLKS N, LOG_CHKPT_INTERVAL_REDO_BLKS N,
        FAST_START_IO_TARGET_REDO_BLKS N, TARGET_MTTR N, ESTIMATED_MTTR N,
        CKPT_BLOCK_WRITES N,
    }
    /// Estimated reads with other sizes of the buffer cache.
    HistDbCacheAdvice "WRH$_DB_CACHE_ADVICE" 202 hist_db_cache_advice {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, BPID N, NAME V(20), BLOCK_SIZE N,
        ADVICE_STATUS V(3), SIZE_FOR_ESTIMATE N, SIZE_FACTOR N,
        BUFFERS_FOR_ESTIMATE N, PHYSICAL_READS N, BASE_PHYSICAL_READS N,
        ACTUAL_PHYSICAL_READS N,
    }
    /// Metrics of the minutes since the previous snapshot.
    HistSysmetricSummary "WRH$_SYSMETRIC_SUMMARY" 203 hist_sysmetric_summary {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, BEGIN_TIME D, END_TIME D, INTSIZE N,
        GROUP_ID N, METRIC_ID N, METRIC_NAME V(64), METRIC_UNIT V(64),
        NUM_INTERVAL N, MINVAL N, MAXVAL N, AVERAGE N, STANDARD_DEVIATION N,
        SUM_SQUARES N,
    }
    /// Estimated memory of work areas with other targets.
    HistPgaTargetAdvice "WRH$_PGA_TARGET_ADVICE" 204 hist_pga_target_advice {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, PGA_TARGET "PGA_TARGET_FOR_ESTIMATE" N,
        PGA_TARGET_FACTOR N, ADVICE_STATUS V(3), BYTES_PROCESSED N,
        ESTD_TIME N, ESTD_EXTRA_BYTES_RW N, ESTD_HIT_PERCENTAGE "ESTD_PGA_CACHE_HIT_PERCENTAGE" N,
        ESTD_OVERALLOC_COUNT N,
    }
    /// Estimated loads with other sizes of the shared pool.
    HistSharedPoolAdvice "WRH$_SHARED_POOL_ADVICE" 205 hist_shared_pool_advice {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, SIZE_FOR_ESTIMATE "SHARED_POOL_SIZE_FOR_ESTIMATE" N,
        SIZE_FACTOR "SHARED_POOL_SIZE_FACTOR" N, ESTD_LC_SIZE N, ESTD_LC_MEMORY_OBJECTS N,
        ESTD_LC_TIME_SAVED N, ESTD_LC_TIME_SAVED_FACTOR N,
        ESTD_LC_LOAD_TIME N, ESTD_LC_LOAD_TIME_FACTOR N,
        ESTD_LC_MEMORY_OBJECT_HITS N,
    }
    /// Estimated reads with other sizes of the SGA.
    HistSgaTargetAdvice "WRH$_SGA_TARGET_ADVICE" 206 hist_sga_target_advice {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, SGA_SIZE N, SGA_SIZE_FACTOR N,
        ESTD_DB_TIME N, ESTD_PHYSICAL_READS N,
    }
    /// Totals of the memory of processes.
    HistPgastat "WRH$_PGASTAT" 207 hist_pgastat {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, NAME V(64), VALUE N,
    }
    /// Work areas by the memory that they needed.
    HistWorkareas "WRH$_SQL_WORKAREA_HISTOGRAM" 208 hist_workareas {
        SNAP_ID N, DBID N, INSTANCE "INSTANCE_NUMBER" N, LOW_OPTIMAL_SIZE N,
        HIGH_OPTIMAL_SIZE N, OPTIMAL_EXECUTIONS N, ONEPASS_EXECUTIONS N,
        MULTIPASSES_EXECUTIONS N, TOTAL_EXECUTIONS N,
    }
}

/// An index on a base table. SQL and [`crate::Change`] maintain its entries, and no other code changes a table that has
/// one (D10).
#[derive(Debug)]
pub struct BaseIndex {
    pub name: &'static str,
    pub object: ObjectId,
    pub table: Base,
    pub columns: &'static [&'static str],
}

const fn index(name: &'static str, object: u32, table: Base, columns: &'static [&'static str]) -> BaseIndex {
    BaseIndex { name, object: ObjectId(object), table, columns }
}

/// The indexes on base tables. Definitions are read by the numbers and names of objects, at a cost that does not depend
/// on the size of the dictionary; a report reads the rows of two snapshots. None is unique: after a rollback a key may
/// be present twice for a while, and rows are compared with the key anyway.
pub const BASE_INDEXES: &[BaseIndex] = &[
    index("WRH$_SYSTEM_EVENT_SNAP", 401, Base::HistSystemEvent, &["SNAP_ID"]),
    index("WRH$_LATCH_SNAP", 402, Base::HistLatch, &["SNAP_ID"]),
    index("WRH$_MUTEX_SLEEP_SNAP", 403, Base::HistMutexSleep, &["SNAP_ID"]),
    index("WRH$_SQLSTAT_SNAP", 404, Base::HistSqlstat, &["SNAP_ID"]),
    index("WRH$_SQLTEXT_ID", 405, Base::HistSqltext, &["SQL_ID"]),
    index("WRH$_SYSSTAT_SNAP", 406, Base::HistSysstat, &["SNAP_ID"]),
    index("WRH$_PARAMETER_SNAP", 407, Base::HistParameter, &["SNAP_ID"]),
    index("WRH$_SGASTAT_SNAP", 408, Base::HistSgastat, &["SNAP_ID"]),
    index("WRH$_LATCH_MISSES_SNAP", 409, Base::HistLatchMisses, &["SNAP_ID"]),
    index("WRH$_LATCH_CHILDREN_SNAP", 410, Base::HistLatchChildren, &["SNAP_ID"]),
    index("WRH$_LATCH_PARENT_SNAP", 411, Base::HistLatchParent, &["SNAP_ID"]),
    index("WRH$_ENQUEUE_STAT_SNAP", 412, Base::HistEnqueue, &["SNAP_ID"]),
    index("WRH$_EVENT_HISTOGRAM_SNAP", 413, Base::HistEventHistogram, &["SNAP_ID"]),
    index("WRH$_ASH_SNAP", 414, Base::HistAsh, &["SNAP_ID"]),
    index("WRH$_SEG_STAT_SNAP", 415, Base::HistSegStat, &["SNAP_ID"]),
    index("WRH$_SYSMETRIC_SUMMARY_SNAP", 416, Base::HistSysmetricSummary, &["SNAP_ID"]),
    index("WRH$_ROWCACHE_SNAP", 417, Base::HistRowcache, &["SNAP_ID"]),
    index("WRM$_SNAPSHOT_ID", 418, Base::Snapshot, &["SNAP_ID"]),
    index("WRH$_SYS_TIME_MODEL_SNAP", 419, Base::HistTimeModel, &["SNAP_ID"]),
    index("WRH$_OSSTAT_SNAP", 420, Base::HistOsstat, &["SNAP_ID"]),
    index("WRH$_SGA_SNAP", 421, Base::HistSga, &["SNAP_ID"]),
    index("WRH$_LIBRARYCACHE_SNAP", 422, Base::HistLibrarycache, &["SNAP_ID"]),
    index("WRH$_WAITSTAT_SNAP", 423, Base::HistWaitstat, &["SNAP_ID"]),
    index("WRH$_BUFFER_POOL_SNAP", 424, Base::HistBufferPool, &["SNAP_ID"]),
    index("WRH$_FILESTATXS_SNAP", 425, Base::HistFilestat, &["SNAP_ID"]),
    index("WRH$_UNDOSTAT_SNAP", 426, Base::HistUndostat, &["SNAP_ID"]),
    index("WRH$_PROCESS_MEM_SNAP", 427, Base::HistProcessMemory, &["SNAP_ID"]),
    index("WRH$_MEM_DYNAMIC_COMP_SNAP", 428, Base::HistDynamicComponents, &["SNAP_ID"]),
    index("WRH$_RESOURCE_LIMIT_SNAP", 429, Base::HistResourceLimit, &["SNAP_ID"]),
    index("WRH$_INSTANCE_RECOVERY_SNAP", 430, Base::HistInstanceRecovery, &["SNAP_ID"]),
    index("WRH$_DB_CACHE_ADVICE_SNAP", 431, Base::HistDbCacheAdvice, &["SNAP_ID"]),
    index("WRH$_PGA_TARGET_ADVICE_SNAP", 432, Base::HistPgaTargetAdvice, &["SNAP_ID"]),
    index("WRH$_SHARED_POOL_ADVICE_SNAP", 433, Base::HistSharedPoolAdvice, &["SNAP_ID"]),
    index("WRH$_SGA_TARGET_ADVICE_SNAP", 434, Base::HistSgaTargetAdvice, &["SNAP_ID"]),
    index("WRH$_PGASTAT_SNAP", 435, Base::HistPgastat, &["SNAP_ID"]),
    index("WRH$_WORKAREAS_SNAP", 436, Base::HistWorkareas, &["SNAP_ID"]),
    index("I_OBJ1", 441, Base::Obj, &["OBJ#"]),
    index("I_OBJ2", 442, Base::Obj, &["OWNER#", "NAMESPACE", "NAME"]),
    index("I_OBJ3", 443, Base::Obj, &["DATAOBJ#"]),
    index("I_OBJ4", 444, Base::Obj, &["TYPE#", "OBJ#"]),
    index("I_TAB1", 445, Base::Tab, &["BOBJ#"]),
    index("I_TAB2", 446, Base::Tab, &["OBJ#"]),
    index("I_COL1", 447, Base::Col, &["OBJ#"]),
    index("I_CLU1", 448, Base::Clu, &["OBJ#"]),
    index("I_IND1", 449, Base::Ind, &["OBJ#"]),
    index("I_IND2", 450, Base::Ind, &["BO#"]),
    index("I_ICOL1", 451, Base::Icol, &["OBJ#"]),
    index("I_CDEF1", 452, Base::Cdef, &["CON#"]),
    index("I_CDEF2", 453, Base::Cdef, &["OBJ#"]),
    index("I_CDEF3", 454, Base::Cdef, &["ROBJ#"]),
    index("I_CCOL1", 455, Base::Ccol, &["CON#"]),
    index("I_CON1", 456, Base::Con, &["OWNER#", "NAME"]),
    index("I_CON2", 457, Base::Con, &["CON#"]),
    index("I_VIEW1", 458, Base::View, &["OBJ#"]),
    index("I_SEQ1", 459, Base::Seq, &["OBJ#"]),
    index("I_SYN1", 460, Base::Syn, &["OBJ#"]),
    index("I_SYN2", 461, Base::Syn, &["NAME"]),
    index("I_SOURCE1", 462, Base::Source, &["OBJ#"]),
    index("I_TRIGGER1", 463, Base::Trigger, &["BASEOBJECT"]),
    index("I_TRIGGER2", 464, Base::Trigger, &["OBJ#"]),
    index("I_DIR1", 465, Base::Dir, &["OBJ#"]),
    index("I_ERROR1", 466, Base::Error, &["OBJ#"]),
    index("I_COM1", 467, Base::Com, &["OBJ#"]),
    index("I_HH_OBJ#", 468, Base::HistHead, &["OBJ#"]),
    index("I_H_OBJ#", 469, Base::Histgrm, &["OBJ#"]),
    index("I_STATS_EXTENSION1", 470, Base::StatsExtension, &["OBJ#"]),
    index("I_USER#", 471, Base::User, &["USER#"]),
    index("I_USER1", 472, Base::User, &["NAME"]),
    index("I_SYSAUTH1", 473, Base::Sysauth, &["GRANTEE#"]),
    index("I_DEFROLE1", 474, Base::Defrole, &["USER#"]),
    index("I_USERAUTH1", 475, Base::Userauth, &["USER#"]),
    index("I_OBJAUTH1", 476, Base::Objauth, &["OBJ#"]),
    index("I_COL_USAGE$", 477, Base::ColUsage, &["OBJ#"]),
    index("I_MON_MODS_ALL$_OBJ", 478, Base::ModsAll, &["OBJ#"]),
    index("I_TAB_STATS1", 479, Base::TabStats, &["NAME"]),
    index("I_TAB3", 480, Base::Tab, &["FLAGS"]),
    index("I_IND3", 481, Base::Ind, &["FLAGS"]),
    index("I_SETTINGS1", 491, Base::Settings, &["OBJ#"]),
    index("I_WORD1", 482, Base::Word, &["OBJ#"]),
    index("I_WORD2", 483, Base::Word, &["WORD"]),
    index("I_PARTOBJ$", 484, Base::Partobj, &["OBJ#"]),
    index("I_TABPART_BOPART$", 485, Base::Tabpart, &["BO#"]),
    index("I_TABPART_OBJ$", 486, Base::Tabpart, &["OBJ#"]),
    index("I_INDPART_BOPART$", 487, Base::Indpart, &["BO#"]),
    index("I_INDPART_OBJ$", 488, Base::Indpart, &["OBJ#"]),
    index("I_CONTEXT", 512, Base::Context, &["OBJ#"]),
    index("I_SNAP1", 489, Base::Snap, &["OBJ#"]),
    index("I_SNAP2", 490, Base::Snap, &["TOBJ#"]),
];

/// The positions of the columns of each of [`BASE_INDEXES`].
static INDEX_COLUMNS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let position = |index: &BaseIndex, column: &str| {
        let columns = index.table.table().columns;
        columns.iter().position(|(name, _)| *name == column).expect("a column of the table")
    };
    BASE_INDEXES.iter().map(|index| index.columns.iter().map(|column| position(index, column)).collect()).collect()
});

/// The positions in [`BASE_INDEXES`] of the indexes of each base table.
static INDEXES_OF: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let of = |base: &Base| (0..BASE_INDEXES.len()).filter(|n| BASE_INDEXES[*n].table == *base).collect();
    Base::ALL.iter().map(of).collect()
});

/// The column positions of an index, by its position in [`BASE_INDEXES`].
pub(crate) fn index_columns(index: usize) -> &'static [usize] {
    &INDEX_COLUMNS[index]
}

/// The first object number of users' objects.
pub const FIRST_USER_OBJECT: u32 = 20_000;

/// PCTFREE of base tables: their rows seldom grow.
pub const BASE_PCTFREE: u8 = 10;

impl Base {
    pub fn table(self) -> &'static BaseTable {
        &TABLES[self as usize]
    }

    /// The base table with this name.
    pub fn named(name: &str) -> Option<Base> {
        Base::ALL.iter().copied().find(|base| base.table().name == name)
    }

    /// The base table with this object number.
    pub fn of_object(object: ObjectId) -> Option<Base> {
        // A fast path: this is called for every table by number.
        if object.0 >= FIRST_USER_OBJECT {
            return None;
        }
        Base::ALL.iter().copied().find(|base| base.table().object == object)
    }

    /// The positions of its indexes in [`BASE_INDEXES`].
    pub(crate) fn indexes(self) -> &'static [usize] {
        &INDEXES_OF[self as usize]
    }

    /// The position in [`BASE_INDEXES`] of the index whose key begins with these columns.
    pub(crate) fn index_on(self, columns: &[usize]) -> Option<usize> {
        self.indexes().iter().copied().find(|n| index_columns(*n).starts_with(columns))
    }

    pub fn columns(self) -> Vec<ColumnDef> {
        self.table().columns.iter().map(|(name, kind)| ColumnDef::new(*name, kind.data_type())).collect()
    }

    /// The owner of all base tables: SYS.
    pub fn owner(self) -> UserId {
        UserId::SYS
    }

    /// True when every user may read it: DUAL and the privilege maps.
    pub fn is_public(self) -> bool {
        use Base::*;
        matches!(self, Dual | SystemPrivilegeMap | TablePrivilegeMap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_numbers_are_unique() {
        let names: HashSet<_> = Base::ALL.iter().map(|base| base.table().name).collect();
        let numbers: HashSet<_> = Base::ALL.iter().map(|base| base.table().object).collect();
        assert_eq!((names.len(), numbers.len()), (Base::ALL.len(), Base::ALL.len()));
        assert!(numbers.iter().all(|object| object.0 < FIRST_USER_OBJECT));
        let indexes: HashSet<_> = BASE_INDEXES.iter().map(|index| index.object).collect();
        assert!(indexes.len() == BASE_INDEXES.len() && indexes.is_disjoint(&numbers));
        for index in BASE_INDEXES {
            let columns = index.table.table().columns;
            assert!(
                index.columns.iter().all(|column| columns.iter().any(|(name, _)| name == column)),
                "{}",
                index.name
            );
            assert!(names.iter().all(|name| *name != index.name), "{}", index.name);
        }
        assert_eq!(Base::named("CDEF$"), Some(Base::Cdef));
        assert_eq!(Base::Obj.table().columns[obj::TYPE].0, "TYPE#");
        assert_eq!(Base::Job.table().columns[job::WHAT].0, "WHAT");
    }
}
