//! The list of views, and its interfaces for the dictionary and the executor.

use std::rc::Rc;
use std::sync::OnceLock;

use dictionary::{ColumnDef, FixedCatalog, FixedId};
use exec::{ExecCtx, FixedScan, FixedTable};
use instance::{FixedTables, SessionFace};
use types::Result;

use crate::column::{Row, Type};
use crate::rowcache::{PropsScan, Remembered, Shape};
use crate::source::{InstanceFacts, Source};
use crate::{
    accounts, advice, backup, branches, buffers, database, dependencies, history, latches, limits, locks, memory,
    metrics, parallel, pools, redo, results, rowcache, segments, sessions, space, sql, statistics, system_columns,
    transactions, type_views, units, updatable, waits, work_areas, zones,
};

/// One view: its name, its columns, and the function that makes its rows (V5).
pub(crate) struct View {
    pub name: &'static str,
    columns: fn() -> Vec<(&'static str, Type)>,
    rows: fn(&Source<'_>) -> Result<Vec<Row>>,
}

impl View {
    /// True for the few V$ views that have INST_ID themselves; their GV$ views have the same columns.
    fn has_instance(&self) -> bool {
        (self.columns)().iter().any(|(name, _)| *name == "INST_ID")
    }
}

/// The result of a view's function: rows, or an error when rows on disk cannot be read.
trait IntoRows {
    fn into_rows(self) -> Result<Vec<Row>>;
}

impl IntoRows for Vec<Row> {
    fn into_rows(self) -> Result<Vec<Row>> {
        Ok(self)
    }
}

impl IntoRows for Result<Vec<Row>> {
    fn into_rows(self) -> Result<Vec<Row>> {
        self
    }
}

macro_rules! views {
    ($( $name:literal | $columns:expr => $rows:expr; )*) => {
        /// Every view. An alias repeats the entry under another name.
        pub(crate) const LIST: &[View] = &[ $( View { name: $name, columns: || $columns.to_vec(), rows: |s| $rows(s).into_rows() } ),* ];
    };
}

views! {
    "V$LATCHNAME" | latches::LATCHNAME => latches::latchname;
    "V$LATCH" | latches::LATCH => latches::latch;
    "V$LATCH_PARENT" | latches::LATCH => latches::latch_parent;
    "V$LATCH_CHILDREN" | latches::LATCH_CHILDREN => latches::latch_children;
    "V$LATCH_MISSES" | latches::LATCH_MISSES => latches::latch_misses;
    "V$LATCHHOLDER" | latches::LATCHHOLDER => latches::latchholder;
    "V$LATCH_RECORDING" | latches::LATCH_RECORDING => latches::latch_recording;
    "V$MUTEX_SLEEP" | latches::MUTEX_SLEEP => latches::mutex_sleep;
    "X$KSUPRLAT" | latches::KSUPRLAT => latches::ksuprlat;
    "X$KSL_RECORDED_GET" | latches::RECORDED_GET => latches::recorded_get;
    "X$KSLLW" | latches::KSLLW => latches::ksllw;
    "X$KSLDESIGN" | latches::KSLDESIGN => latches::ksldesign;
    "X$KSLWORK" | latches::KSLWORK => latches::kslwork;
    "V$EVENT_NAME" | waits::EVENT_NAME => waits::event_name;
    "V$SESSION_WAIT" | waits::SESSION_WAIT => waits::session_wait;
    "V$SESSION_WAIT_HISTORY" | waits::SESSION_WAIT_HISTORY => waits::session_wait_history;
    "V$SESSION_EVENT" | waits::SESSION_EVENT => waits::session_event;
    "V$SYSTEM_EVENT" | waits::SYSTEM_EVENT => waits::system_event;
    "V$SYSTEM_WAIT_CLASS" | waits::SYSTEM_WAIT_CLASS => waits::system_wait_class;
    "V$EVENT_HISTOGRAM" | waits::EVENT_HISTOGRAM => waits::event_histogram;
    "V$EVENT_HISTOGRAM_MICRO" | waits::EVENT_HISTOGRAM_MICRO => waits::event_histogram_micro;
    "V$STATNAME" | statistics::STATNAME => statistics::statname;
    "V$STATISTICS_LEVEL" | statistics::STATISTICS_LEVEL => statistics::statistics_level;
    "V$SYSSTAT" | statistics::SYSSTAT => statistics::sysstat;
    "V$SESSTAT" | statistics::SESSTAT => statistics::sesstat;
    "V$MYSTAT" | statistics::SESSTAT => statistics::mystat;
    "V$SYS_TIME_MODEL" | statistics::SYS_TIME_MODEL => statistics::sys_time_model;
    "V$SESS_TIME_MODEL" | statistics::SESS_TIME_MODEL => statistics::sess_time_model;
    "V$SYSMETRIC" | metrics::SYSMETRIC => metrics::sysmetric;
    "V$SYSMETRIC_HISTORY" | metrics::SYSMETRIC => metrics::sysmetric_history;
    "V$SYSMETRIC_SUMMARY" | metrics::SUMMARY => metrics::sysmetric_summary;
    "V$METRICNAME" | metrics::METRICNAME => metrics::metricname;
    "V$METRICGROUP" | metrics::METRICGROUP => metrics::metricgroup;
    "V$EVENTMETRIC" | metrics::EVENTMETRIC => metrics::eventmetric;
    "V$WAITCLASSMETRIC" | metrics::WAITCLASSMETRIC => metrics::waitclassmetric;
    "V$OSSTAT" | statistics::OSSTAT => statistics::osstat;
    "V$TIMER" | statistics::TIMER => statistics::timer;
    "V$TIMEZONE_NAMES" | zones::NAMES => zones::names;
    "V$TIMEZONE_FILE" | zones::FILE => zones::file;
    "V$SESSION" | sessions::session_columns() => sessions::session;
    "X$KSUSE" | sessions::KSUSE => sessions::ksuse;
    "V$PROCESS" | sessions::PROCESS => sessions::process;
    "V$BGPROCESS" | sessions::BGPROCESS => sessions::bgprocess;
    "V$PROCESS_POOL" | sessions::PROCESS_POOL => sessions::process_pool;
    "V$CPOOL_STATS" | pools::STATS => pools::stats;
    "V$CPOOL_CC_STATS" | pools::CLASS_STATS => pools::class_stats;
    "V$CPOOL_CC_INFO" | pools::CLASSES => pools::classes;
    "V$CPOOL_CONN_INFO" | pools::CONNECTIONS => pools::connections;
    "V$PX_PROCESS" | parallel::PROCESS => parallel::process;
    "V$PX_SESSION" | parallel::SESSION => parallel::session;
    "V$PX_SESSTAT" | parallel::SESSTAT => parallel::sesstat;
    "V$PX_PROCESS_SYSSTAT" | parallel::SYSSTAT => parallel::process_sysstat;
    "V$PQ_SYSSTAT" | parallel::SYSSTAT => parallel::pq_sysstat;
    "V$PQ_SESSTAT" | parallel::OWN_STATISTICS => parallel::pq_sesstat;
    "V$PQ_TQSTAT" | parallel::QUEUES => parallel::pq_tqstat;
    "V$SESSION_CONNECT_INFO" | sessions::CONNECT_INFO => sessions::connect_info;
    "V$SERVICES" | sessions::SERVICES => sessions::services;
    "V$ACTIVE_SERVICES" | sessions::SERVICES => sessions::services;
    "V$SQL_MONITOR" | sessions::SQL_MONITOR => sessions::sql_monitor;
    "V$RUNNING_JOBS" | sessions::RUNNING_JOBS => sessions::running_jobs;
    "V$ACTIVE_SESSION_HISTORY" | history::HISTORY => history::history;
    "V$ASH_INFO" | history::INFO => history::info;
    "V$SQLCOMMAND" | history::SQLCOMMAND => history::sqlcommand;
    "V$SQL" | sql::sql_columns() => sql::sql;
    "V$SQLAREA" | sql::sqlarea_columns() => sql::sqlarea;
    "V$SQLSTATS" | sql::sqlarea_columns() => sql::sqlarea;
    "V$SQLTEXT" | sql::SQLTEXT => sql::sqltext;
    "V$SQLTEXT_WITH_NEWLINES" | sql::SQLTEXT => sql::sqltext_with_newlines;
    "V$SQL_PLAN" | sql::SQL_PLAN => sql::sql_plan;
    "V$SQL_PLAN_STATISTICS" | sql::SQL_PLAN_STATISTICS => sql::sql_plan_statistics;
    "V$SQL_PLAN_STATISTICS_ALL" | sql::SQL_PLAN_STATISTICS_ALL => sql::sql_plan_statistics_all;
    "V$SQL_SHARED_CURSOR" | sql::SHARED_CURSOR => sql::shared_cursor;
    "V$SQL_CS_HISTOGRAM" | sql::CS_HISTOGRAM => sql::cs_histogram;
    "V$SQL_CS_SELECTIVITY" | sql::CS_SELECTIVITY => sql::cs_selectivity;
    "V$SQL_CS_STATISTICS" | sql::CS_STATISTICS => sql::cs_statistics;
    "V$OPEN_CURSOR" | sql::OPEN_CURSOR => sql::open_cursor;
    "V$DB_OBJECT_CACHE" | sql::DB_OBJECT_CACHE => sql::db_object_cache;
    "X$KGLOB" | sql::KGLOB => sql::kglob;
    "V$LIBRARYCACHE" | sql::LIBRARYCACHE => sql::librarycache;
    "V$RESULT_CACHE_MEMORY" | results::MEMORY => results::memory;
    "V$RESULT_CACHE_OBJECTS" | results::OBJECTS => results::objects;
    "V$RESULT_CACHE_DEPENDENCY" | results::DEPENDENCY => results::dependency;
    "V$RESULT_CACHE_STATISTICS" | results::STATISTICS => results::statistics;
    "V$ROWCACHE" | rowcache::ROWCACHE => rowcache::rowcache;
    "V$ROWCACHE_PARENT" | rowcache::PARENT => rowcache::rowcache_parent;
    "V$ROWCACHE_SUBORDINATE" | rowcache::SUBORDINATE => rowcache::rowcache_subordinate;
    "V$MUTEX_SLEEP_HISTORY" | latches::MUTEX_SLEEP_HISTORY => latches::mutex_sleep_history;
    "X$MUTEX_SLEEP" | latches::X_MUTEX_SLEEP => latches::x_mutex_sleep;
    "X$KQRST" | rowcache::KQRST => rowcache::kqrst;
    "X$PROPS" | rowcache::PROPS => read_by_row;
    "NLS_DATABASE_PARAMETERS" | rowcache::NLS_DATABASE => read_by_row;
    "X$KZUSR" | accounts::ACCOUNTS => accounts::accounts;
    "X$KKVCOL" | updatable::COLUMNS => read_by_row;
    "X$KKPROC" | units::PROCEDURES => units::procedures;
    "X$KKARG" | units::ARGUMENTS => units::arguments;
    "X$KOTT" | type_views::TYPES => type_views::types;
    "X$KOTA" | type_views::ATTRIBUTES => type_views::attributes;
    "X$KOTM" | type_views::METHODS => type_views::methods;
    "X$KOTP" | type_views::PARAMETERS => type_views::parameters;
    "X$KOTC" | type_views::COLLECTIONS => type_views::collections;
    "X$KKDEP" | dependencies::DEPENDENCIES => dependencies::dependencies;
    "X$KKSCOL" | system_columns::COLUMNS => read_by_row;
    "V$RESOURCE_LIMIT" | limits::RESOURCE_LIMIT => limits::resource_limit;
    "V$LOCK" | locks::LOCK => locks::lock;
    "V$TRANSACTION" | transactions::TRANSACTION => transactions::transaction;
    "V$GLOBAL_TRANSACTION" | branches::GLOBAL_TRANSACTION => branches::global_transaction;
    "X$K2GTE" | branches::K2GTE => branches::k2gte;
    "V$LOCKED_OBJECT" | transactions::LOCKED_OBJECT => transactions::locked_object;
    "V$LOCK_TYPE" | transactions::LOCK_TYPE => transactions::lock_type;
    "V$ENQUEUE_STAT" | transactions::ENQUEUE_STAT => transactions::enqueue_stat;
    "V$ENQUEUE_STATISTICS" | transactions::ENQUEUE_STATISTICS => transactions::enqueue_statistics;
    "V$SESSION_BLOCKERS" | transactions::SESSION_BLOCKERS => transactions::session_blockers;
    "V$ROLLNAME" | transactions::ROLLNAME => transactions::rollname;
    "V$ROLLSTAT" | transactions::ROLLSTAT => transactions::rollstat;
    "V$UNDOSTAT" | transactions::UNDOSTAT => transactions::undostat;
    "DBA_WAITERS" | transactions::WAITERS => transactions::waiters;
    "DBA_BLOCKERS" | transactions::BLOCKERS => transactions::blockers;
    "DBA_ROLLBACK_SEGS" | transactions::ROLLBACK_SEGS => transactions::rollback_segs;
    "DBA_UNDO_EXTENTS" | transactions::UNDO_EXTENTS => transactions::undo_extents;
    "V$TABLESPACE" | space::TABLESPACE => space::tablespace;
    "V$DATAFILE" | space::DATAFILE => space::datafile;
    "V$TEMPFILE" | space::DATAFILE => space::tempfile;
    "V$TEMPSEG_USAGE" | space::TEMPSEG_USAGE => space::tempseg_usage;
    "V$SORT_USAGE" | space::TEMPSEG_USAGE => space::tempseg_usage;
    "X$KCCTS" | space::KCCTS => space::kccts;
    "X$KCCFE" | space::KCCFE => space::kccfe;
    "X$KTFBFE" | space::KTFBFE => space::ktfbfe;
    "X$KTSEG" | space::KTSEG => space::ktseg;
    "X$KTEXT" | space::KTEXT => space::ktext;
    "V$BH" | buffers::BH => buffers::bh;
    "X$BH" | buffers::KCBBH => buffers::kcbbh;
    "X$KCBWDS" | buffers::KCBWDS => buffers::kcbwds;
    "V$BUFFER_POOL" | buffers::BUFFER_POOL => buffers::buffer_pool;
    "V$BUFFER_POOL_STATISTICS" | buffers::BUFFER_POOL_STATISTICS => buffers::buffer_pool_statistics;
    "V$DB_CACHE_ADVICE" | advice::DB_CACHE_ADVICE => advice::db_cache_advice;
    "V$SHARED_POOL_ADVICE" | advice::SHARED_POOL_ADVICE => advice::shared_pool_advice;
    "V$SGA_TARGET_ADVICE" | advice::SGA_TARGET_ADVICE => advice::sga_target_advice;
    "V$JAVA_POOL_ADVICE" | advice::java_pool_columns() => advice::none;
    "V$STREAMS_POOL_ADVICE" | advice::STREAMS_POOL_ADVICE => advice::none;
    "V$PGASTAT" | work_areas::PGASTAT => work_areas::pgastat;
    "V$PGA_TARGET_ADVICE" | work_areas::TARGET_ADVICE => work_areas::target_advice;
    "V$PGA_TARGET_ADVICE_HISTOGRAM" | work_areas::TARGET_HISTOGRAM => work_areas::target_histogram;
    "V$SQL_WORKAREA_HISTOGRAM" | work_areas::HISTOGRAM => work_areas::histogram;
    "V$SEGSTAT" | segments::SEGSTAT => segments::segstat;
    "V$SEGMENT_STATISTICS" | segments::SEGMENT_STATISTICS => segments::segment_statistics;
    "V$SEGSTAT_NAME" | segments::SEGSTAT_NAME => segments::segstat_name;
    "V$WAITSTAT" | buffers::WAITSTAT => buffers::waitstat;
    "V$FILESTAT" | buffers::FILESTAT => buffers::filestat;
    "V$SESS_IO" | buffers::SESS_IO => buffers::sess_io;
    "V$INSTANCE" | database::INSTANCE => database::instance;
    "V$DATABASE" | redo::DATABASE => redo::database;
    "V$DATABASE_INCARNATION" | redo::INCARNATION => redo::incarnation;
    "V$LOG" | redo::LOG => redo::log;
    "V$LOGFILE" | redo::LOGFILE => redo::logfile;
    "V$CONTROLFILE" | redo::CONTROLFILE => redo::controlfile;
    "V$LOG_HISTORY" | redo::LOG_HISTORY => redo::log_history;
    "V$ARCHIVED_LOG" | redo::ARCHIVED_LOG => redo::archived_log;
    "V$ARCHIVE_DEST" | redo::ARCHIVE_DEST => redo::archive_dest;
    "V$THREAD" | redo::THREAD => redo::thread;
    "V$INSTANCE_RECOVERY" | redo::INSTANCE_RECOVERY => redo::instance_recovery;
    "V$VERSION" | database::VERSION => database::version;
    "V$SGA" | database::SGA => database::sga;
    "V$SGASTAT" | database::SGASTAT => database::sgastat;
    "V$SGAINFO" | memory::SGAINFO => memory::sgainfo;
    "V$SGA_DYNAMIC_COMPONENTS" | memory::SGA_DYNAMIC_COMPONENTS => memory::sga_dynamic_components;
    "V$PROCESS_MEMORY" | memory::PROCESS_MEMORY => memory::process_memory;
    "X$KSMPP" | memory::ksmpp_columns() => memory::ksmpp;
    "X$KSMPW" | memory::ksmpw_columns() => memory::ksmpw;
    "X$KSMPG" | memory::KSMPG => memory::ksmpg;
    "X$KSUCT" | memory::ksuct_columns() => memory::ksuct;
    "V$BACKUP" | backup::BACKUP => backup::backup;
    "V$RECOVER_FILE" | backup::RECOVER_FILE => backup::recover_file;
    "V$DATAFILE_HEADER" | backup::DATAFILE_HEADER => backup::datafile_header;
    "V$PARAMETER" | database::PARAMETER => database::parameter;
    "V$SYSTEM_PARAMETER" | database::PARAMETER => database::parameter;
    "X$KSPPI" | database::KSPPI => database::ksppi;
    "NLS_SESSION_PARAMETERS" | database::NLS => database::nls_session;
    "V$NLS_PARAMETERS" | database::NLS => database::nls_session;
    "V$FIXED_TABLE" | database::FIXED_TABLE => database::fixed_table;
}

/// For tables that are read row by row, which have their own scan.
fn read_by_row(_: &Source<'_>) -> Result<Vec<Row>> {
    Err(types::Ora::internal("[a table that is read row by row]"))
}

/// The tables that are read row by row through the row cache.
fn shape(name: &str) -> Option<Shape> {
    match name {
        "X$PROPS" => Some(Shape::Props),
        "NLS_DATABASE_PARAMETERS" => Some(Shape::Nls),
        _ => None,
    }
}

/// The sources of the views of one session.
struct Roots {
    face: SessionFace,
    facts: InstanceFacts,
    properties: Remembered,
}

/// A view as the executor opens it.
struct Table {
    roots: Rc<Roots>,
    view: &'static View,
    shape: Option<Shape>,
    /// True for a GV$ view, with INST_ID as the first column.
    global: bool,
}

/// The views of one session.
pub struct Views {
    tables: Vec<Table>,
    catalog: Rc<Names>,
}

/// Names and columns for the dictionary.
struct Names;

/// The columns of all views, followed by those of the GV$ views; the same for all sessions. The supervisor builds them
/// before it forks the first process, so all processes share the memory.
fn columns() -> &'static [Vec<ColumnDef>] {
    static COLUMNS: OnceLock<Vec<Vec<ColumnDef>>> = OnceLock::new();
    COLUMNS.get_or_init(|| {
        let definition = |(view, global): (&'static View, bool)| {
            let instance = (global && !view.has_instance()).then_some(("INST_ID", Type::N));
            let columns = instance.into_iter().chain((view.columns)());
            columns.map(|(name, kind)| ColumnDef::new(name, kind.data_type())).collect()
        };
        forms().map(definition).collect()
    })
}

/// The views, followed by the same views as GV$ views.
fn forms() -> impl Iterator<Item = (&'static View, bool)> {
    [false, true].into_iter().flat_map(|global| LIST.iter().map(move |view| (view, global)))
}

/// Builds the data that all sessions share.
pub fn prepare() {
    columns();
}

/// Creates the views of a session.
pub fn make(face: SessionFace) -> Rc<dyn FixedTables> {
    let facts = InstanceFacts::of(face.instance);
    let roots = Rc::new(Roots { face, facts, properties: Remembered::default() });
    let table = |(view, global): (&'static View, bool)| Table {
        roots: Rc::clone(&roots),
        view,
        shape: shape(view.name),
        global: global && !view.has_instance(),
    };
    let tables = forms().map(table).collect();
    Rc::new(Views { tables, catalog: Rc::new(Names) })
}

impl FixedTables for Views {
    fn catalog(&self) -> Rc<dyn FixedCatalog> {
        Rc::clone(&self.catalog) as Rc<dyn FixedCatalog>
    }

    fn table(&self, id: FixedId) -> &dyn FixedTable {
        &self.tables[id.0 as usize]
    }
}

/// The index of a name in the list; `V_$X` is `V$X`. The GV$ views, with INST_ID, have the indexes after the last view.
fn place(name: &str) -> Option<usize> {
    if let Some(rest) = name.strip_prefix("GV$").or_else(|| name.strip_prefix("GV_$")) {
        return place(&format!("V${rest}")).map(|at| LIST.len() + at);
    }
    let plain;
    let name = match name.strip_prefix("V_$") {
        Some(rest) => {
            plain = format!("V${rest}");
            plain.as_str()
        }
        None => name,
    };
    LIST.iter().position(|view| view.name == name)
}

impl FixedCatalog for Names {
    fn find(&self, name: &str) -> Option<(FixedId, &[ColumnDef])> {
        let at = place(name)?;
        Some((FixedId(at as u32), columns().get(at)?))
    }

    fn names(&self) -> Vec<String> {
        LIST.iter().map(|view| view.name.to_string()).collect()
    }
}

impl FixedTable for Table {
    fn open(&self, cx: &mut ExecCtx<'_>) -> Result<Box<dyn FixedScan>> {
        if let Some(shape) = self.shape {
            let dictionary = self.roots.face.instance.storage().dictionary;
            return Ok(Box::new(PropsScan::open(cx, dictionary, &self.roots.properties, shape)?));
        }
        if self.view.name == "X$KKVCOL" {
            let dictionary = self.roots.face.instance.storage().dictionary;
            let rows = updatable::columns(cx, dictionary)?;
            return Ok(Box::new(Scan { rows: rows.into_iter(), global: self.global }));
        }
        if self.view.name == "X$KKSCOL" {
            let rows = system_columns::columns(cx, &Names)?;
            return Ok(Box::new(Scan { rows: rows.into_iter(), global: self.global }));
        }
        let source = Source {
            p: &self.roots.face.p,
            processes: cx.p.all(),
            shared: cx.shared,
            instance: self.roots.face.instance,
            facts: &self.roots.facts,
            session_params: &self.roots.face.params,
            nls: &cx.session.nls,
            queries: &cx.session.parallel,
        };
        Ok(Box::new(Scan { rows: (self.view.rows)(&source)?.into_iter(), global: self.global }))
    }
}

/// The rows of one opening of a view.
struct Scan {
    rows: std::vec::IntoIter<Row>,
    global: bool,
}

impl FixedScan for Scan {
    fn next(&mut self, cx: &mut ExecCtx<'_>, row: &mut exec::Row) -> Result<bool> {
        cx.p.check_cancel()?;
        let Some(values) = self.rows.next() else {
            return Ok(false);
        };
        row.clear();
        row.extend(self.global.then(|| crate::column::n(1u64)));
        row.extend(values);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_global_view_is_behind_its_view() {
        assert_eq!(place("GV$SESSION"), place("V$SESSION").map(|at| at + LIST.len()));
        assert_eq!(place("GV_$SESSION"), place("GV$SESSION"));
        assert_eq!((place("GV$NONE"), place("GX$BH"), place("GV$GV$SESSION")), (None, None, None));
    }

    #[test]
    fn names_are_in_upper_case_and_there_once() {
        for (at, view) in LIST.iter().enumerate() {
            assert_eq!(view.name, view.name.to_uppercase());
            assert!(LIST[at + 1..].iter().all(|other| other.name != view.name), "{}", view.name);
            let columns = (view.columns)();
            assert!(!columns.is_empty());
            for (place, (name, _)) in columns.iter().enumerate() {
                assert!(columns[place + 1..].iter().all(|(other, _)| other != name), "{}.{name}", view.name);
            }
        }
    }
}
