//! Statements and the library cache: `v$sql`, `v$sqlarea`, `v$sqltext`, `v$librarycache` and related views.

use exec::plan_rows::PlanRow;
use library_cache::{AreaCounts, ChildRow, Delta, LeftOut, LineCounts, LineFigures, Mismatch, Namespace, ParentRow};
use types::Value;

use crate::column::{Row, Type, Type::*, address, date_of_seconds, n, t};
use crate::source::Source;

/// The figures that all statement views show.
const FIGURES: [(&str, Type); 11] = [
    ("EXECUTIONS", N),
    ("PARSE_CALLS", N),
    ("FETCHES", N),
    ("ROWS_PROCESSED", N),
    ("BUFFER_GETS", N),
    ("DISK_READS", N),
    ("ELAPSED_TIME", N),
    ("CPU_TIME", N),
    ("APPLICATION_WAIT_TIME", N),
    ("CONCURRENCY_WAIT_TIME", N),
    ("USER_IO_WAIT_TIME", N),
];

pub fn sql_columns() -> Vec<(&'static str, Type)> {
    let mut columns = vec![
        ("SQL_TEXT", V(1000)),
        ("SQL_FULLTEXT", V(4000)),
        ("SQL_ID", V(13)),
        ("HASH_VALUE", N),
        ("ADDRESS", R(8)),
        ("CHILD_NUMBER", N),
        ("CHILD_ADDRESS", R(8)),
        ("PARSING_USER_ID", N),
        ("PARSING_SCHEMA_NAME", V(128)),
        ("COMMAND_TYPE", N),
    ];
    columns.extend(FIGURES);
    columns.extend([
        ("SHARABLE_MEM", N),
        ("LOADS", N),
        ("INVALIDATIONS", N),
        ("FIRST_LOAD_TIME", V(19)),
        ("LAST_LOAD_TIME", V(19)),
        ("LAST_ACTIVE_TIME", D),
        ("PLAN_HASH_VALUE", N),
        ("MODULE", V(64)),
        ("ACTION", V(64)),
        ("OPTIMIZER_MODE", V(10)),
        ("OPTIMIZER_ENV_HASH_VALUE", N),
        ("OBJECT_STATUS", V(19)),
        ("USERS_OPENING", N),
        ("USERS_EXECUTING", N),
        ("OPEN_VERSIONS", N),
        ("LOADED_VERSIONS", N),
        ("KEPT_VERSIONS", N),
        ("IS_OBSOLETE", V(1)),
        ("IS_REOPTIMIZABLE", V(1)),
        ("IS_BIND_SENSITIVE", V(1)),
        ("IS_BIND_AWARE", V(1)),
        ("IS_SHAREABLE", V(1)),
        ("CON_ID", N),
    ]);
    columns
}

pub fn sqlarea_columns() -> Vec<(&'static str, Type)> {
    let mut columns = vec![
        ("SQL_TEXT", V(1000)),
        ("SQL_FULLTEXT", V(4000)),
        ("SQL_ID", V(13)),
        ("HASH_VALUE", N),
        ("ADDRESS", R(8)),
        ("VERSION_COUNT", N),
        ("LOADED_VERSIONS", N),
        ("OPEN_VERSIONS", N),
        ("USERS_OPENING", N),
        ("USERS_EXECUTING", N),
        ("PARSING_USER_ID", N),
        ("PARSING_SCHEMA_NAME", V(128)),
        ("COMMAND_TYPE", N),
    ];
    columns.extend(FIGURES);
    columns.extend([
        ("SHARABLE_MEM", N),
        ("LOADS", N),
        ("INVALIDATIONS", N),
        ("KEPT_VERSIONS", N),
        ("FIRST_LOAD_TIME", V(19)),
        ("LAST_LOAD_TIME", D),
        ("LAST_ACTIVE_TIME", D),
        ("LAST_ACTIVE_CHILD_ADDRESS", R(8)),
        ("PLAN_HASH_VALUE", N),
        ("MODULE", V(64)),
        ("ACTION", V(64)),
        ("OPTIMIZER_MODE", V(10)),
        ("CON_ID", N),
    ]);
    columns
}

pub const SQLTEXT: &[(&str, Type)] =
    &[("ADDRESS", R(8)), ("HASH_VALUE", N), ("SQL_ID", V(13)), ("COMMAND_TYPE", N), ("PIECE", N), ("SQL_TEXT", V(64))];

pub const SHARED_CURSOR: &[(&str, Type)] = &[
    ("SQL_ID", V(13)),
    ("ADDRESS", R(8)),
    ("CHILD_ADDRESS", R(8)),
    ("CHILD_NUMBER", N),
    ("OPTIMIZER_MISMATCH", V(1)),
    ("BIND_MISMATCH", V(1)),
    ("LANGUAGE_MISMATCH", V(1)),
    ("TRANSLATION_MISMATCH", V(1)),
    ("AUTH_CHECK_MISMATCH", V(1)),
    ("BIND_EQUIV_FAILURE", V(1)),
    ("LOAD_OPTIMIZER_STATS", V(1)),
    ("USE_FEEDBACK_STATS", V(1)),
    ("ROLL_INVALID_MISMATCH", V(1)),
    ("REASON", V(4000)),
    ("CON_ID", N),
];

pub const CS_HISTOGRAM: &[(&str, Type)] = &[
    ("ADDRESS", R(8)),
    ("HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("CHILD_NUMBER", N),
    ("BUCKET_ID", N),
    ("COUNT", N),
    ("CON_ID", N),
];

pub const CS_SELECTIVITY: &[(&str, Type)] = &[
    ("ADDRESS", R(8)),
    ("HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("CHILD_NUMBER", N),
    ("PREDICATE", V(40)),
    ("RANGE_ID", N),
    ("LOW", V(10)),
    ("HIGH", V(10)),
    ("CON_ID", N),
];

pub const CS_STATISTICS: &[(&str, Type)] = &[
    ("ADDRESS", R(8)),
    ("HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("CHILD_NUMBER", N),
    ("BIND_SET_HASH_VALUE", N),
    ("PEEKED", V(1)),
    ("EXECUTIONS", N),
    ("ROWS_PROCESSED", N),
    ("BUFFER_GETS", N),
    ("CPU_TIME", N),
    ("CON_ID", N),
];

/// The columns of `v$sql_plan`, followed by additional ones.
macro_rules! plan_columns {
    ($($more:expr),* $(,)?) => {
        &[
            ("ADDRESS", R(8)),
            ("HASH_VALUE", N),
            ("SQL_ID", V(13)),
            ("PLAN_HASH_VALUE", N),
            ("CHILD_ADDRESS", R(8)),
            ("CHILD_NUMBER", N),
            ("TIMESTAMP", D),
            ("OPERATION", V(30)),
            ("OPTIONS", V(30)),
            ("OBJECT_NODE", V(40)),
            ("OBJECT_OWNER", V(128)),
            ("OBJECT_NAME", V(128)),
            ("OBJECT_ALIAS", V(261)),
            ("OBJECT_TYPE", V(20)),
            ("OPTIMIZER", V(20)),
            ("ID", N),
            ("PARENT_ID", N),
            ("DEPTH", N),
            ("POSITION", N),
            ("SEARCH_COLUMNS", N),
            ("COST", N),
            ("CARDINALITY", N),
            ("BYTES", N),
            ("OTHER_TAG", V(35)),
            ("PARTITION_START", V(64)),
            ("PARTITION_STOP", V(64)),
            ("PARTITION_ID", N),
            ("OTHER", V(4000)),
            ("DISTRIBUTION", V(20)),
            ("CPU_COST", N),
            ("IO_COST", N),
            ("TEMP_SPACE", N),
            ("ACCESS_PREDICATES", V(4000)),
            ("FILTER_PREDICATES", V(4000)),
            ("PROJECTION", V(4000)),
            ("TIME", N),
            ("QBLOCK_NAME", V(128)),
            ("REMARKS", V(4000)),
            $($more),*
        ]
    };
}

pub const SQL_PLAN: &[(&str, Type)] = plan_columns![("OTHER_XML", V(4000)), ("CON_ID", N)];

pub const SQL_PLAN_STATISTICS_ALL: &[(&str, Type)] = plan_columns![
    ("EXECUTIONS", N),
    ("LAST_STARTS", N),
    ("STARTS", N),
    ("LAST_OUTPUT_ROWS", N),
    ("OUTPUT_ROWS", N),
    ("LAST_CR_BUFFER_GETS", N),
    ("CR_BUFFER_GETS", N),
    ("LAST_CU_BUFFER_GETS", N),
    ("CU_BUFFER_GETS", N),
    ("LAST_DISK_READS", N),
    ("DISK_READS", N),
    ("LAST_DISK_WRITES", N),
    ("DISK_WRITES", N),
    ("LAST_ELAPSED_TIME", N),
    ("ELAPSED_TIME", N),
    ("POLICY", V(10)),
    ("ESTIMATED_OPTIMAL_SIZE", N),
    ("ESTIMATED_ONEPASS_SIZE", N),
    ("LAST_MEMORY_USED", N),
    ("LAST_EXECUTION", V(10)),
    ("LAST_DEGREE", N),
    ("TOTAL_EXECUTIONS", N),
    ("OPTIMAL_EXECUTIONS", N),
    ("ONEPASS_EXECUTIONS", N),
    ("MULTIPASSES_EXECUTIONS", N),
    ("ACTIVE_TIME", N),
    ("MAX_TEMPSEG_SIZE", N),
    ("LAST_TEMPSEG_SIZE", N),
    ("CON_ID", N),
];

pub const SQL_PLAN_STATISTICS: &[(&str, Type)] = &[
    ("ADDRESS", R(8)),
    ("HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("PLAN_HASH_VALUE", N),
    ("CHILD_ADDRESS", R(8)),
    ("CHILD_NUMBER", N),
    ("OPERATION_ID", N),
    ("EXECUTIONS", N),
    ("LAST_STARTS", N),
    ("STARTS", N),
    ("LAST_OUTPUT_ROWS", N),
    ("OUTPUT_ROWS", N),
    ("LAST_CR_BUFFER_GETS", N),
    ("CR_BUFFER_GETS", N),
    ("LAST_CU_BUFFER_GETS", N),
    ("CU_BUFFER_GETS", N),
    ("LAST_DISK_READS", N),
    ("DISK_READS", N),
    ("LAST_DISK_WRITES", N),
    ("DISK_WRITES", N),
    ("LAST_ELAPSED_TIME", N),
    ("ELAPSED_TIME", N),
    ("CON_ID", N),
];

pub const OPEN_CURSOR: &[(&str, Type)] = &[
    ("SADDR", R(8)),
    ("SID", N),
    ("USER_NAME", V(128)),
    ("ADDRESS", R(8)),
    ("HASH_VALUE", N),
    ("SQL_ID", V(13)),
    ("SQL_TEXT", V(60)),
    ("LAST_SQL_ACTIVE_TIME", D),
    ("CURSOR_TYPE", V(64)),
    ("CHILD_NUMBER", N),
    ("CON_ID", N),
];

pub const DB_OBJECT_CACHE: &[(&str, Type)] = &[
    ("OWNER", V(64)),
    ("NAME", V(1000)),
    ("DB_LINK", V(64)),
    ("NAMESPACE", V(64)),
    ("TYPE", V(64)),
    ("SHARABLE_MEM", N),
    ("LOADS", N),
    ("EXECUTIONS", N),
    ("LOCKS", N),
    ("PINS", N),
    ("KEPT", V(3)),
    ("CHILD_LATCH", N),
    ("INVALIDATIONS", N),
    ("HASH_VALUE", N),
    ("FULL_HASH_VALUE", V(32)),
    ("TIMESTAMP", V(19)),
    ("STATUS", V(19)),
    ("PROPERTY", V(80)),
    ("ADDR", R(8)),
    ("CON_ID", N),
];

pub const LIBRARYCACHE: &[(&str, Type)] = &[
    ("NAMESPACE", V(64)),
    ("GETS", N),
    ("GETHITS", N),
    ("GETHITRATIO", N),
    ("PINS", N),
    ("PINHITS", N),
    ("PINHITRATIO", N),
    ("RELOADS", N),
    ("INVALIDATIONS", N),
    ("CON_ID", N),
];

fn figures(f: &Delta) -> Row {
    vec![
        n(f.executions),
        n(f.parse_calls),
        n(f.fetches),
        n(f.rows_processed),
        n(f.buffer_gets),
        n(f.disk_reads),
        n(f.elapsed_us),
        n(f.cpu_us),
        n(f.application_us),
        n(f.concurrency_us),
        n(f.user_io_us),
    ]
}

fn short(text: &str) -> Value {
    t(text.chars().take(1000).collect::<String>())
}

/// A time in the format of the statement views.
fn moment(seconds: u64) -> Value {
    let Value::Date(date) = date_of_seconds(seconds) else { return Value::Null };
    let mut text = String::new();
    match types::format::date_to_char(&date, "YYYY-MM-DD/HH24:MI:SS", &types::Nls::default(), &mut text) {
        Ok(()) => t(text),
        Err(_) => Value::Null,
    }
}

fn yn(on: bool) -> Value {
    t(if on { "Y" } else { "N" })
}

fn sql_row(sql: &ParentRow, child: &ChildRow) -> Row {
    let mut row = vec![
        short(&sql.text),
        t(&sql.text),
        t(sql.digest.sql_id()),
        n(sql.digest.hash_value()),
        address(sql.address),
        n(child.number),
        address(child.address),
        n(child.user),
        t(&child.schema),
        n(sql.command),
    ];
    row.extend(figures(&child.figures));
    row.extend([
        n(child.memory_bytes),
        n(child.loads),
        n(child.invalidations),
        moment(child.first_load_s),
        moment(child.load_s),
        date_of_seconds(child.last_active_s),
        n(child.plan_hash),
        t(&child.module),
        t(&child.action),
        t(&child.mode),
        n(child.optimizer as u32),
        t(child.status),
        n(child.opening),
        n(child.executing),
        n(u64::from(child.opening > 0)),
        n(1u64),
        n(u64::from(sql.kept)),
        yn(child.status == "OBSOLETE"),
        yn(child.sharing.is_reoptimizable),
        yn(child.sharing.is_sensitive),
        yn(child.sharing.is_aware),
        yn(child.is_shareable),
        n(0u64),
    ]);
    row
}

pub fn sql(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.statements() {
        rows.extend(sql.children.iter().map(|child| sql_row(&sql, child)));
    }
    rows
}

pub fn sqlarea(s: &Source<'_>) -> Vec<Row> {
    let row = |sql: ParentRow| {
        let latest = sql.children.iter().max_by_key(|child| (child.last_active_s, child.number))?;
        let sum = |of: fn(&ChildRow) -> u64| n(sql.children.iter().map(of).sum::<u64>());
        let mut row = vec![
            short(&sql.text),
            t(&sql.text),
            t(sql.digest.sql_id()),
            n(sql.digest.hash_value()),
            address(sql.address),
            n(sql.children.len() as u64),
            n(sql.children.len() as u64),
            sum(|child| u64::from(child.opening > 0)),
            sum(|child| child.opening),
            sum(|child| child.executing),
            n(latest.user),
            t(&latest.schema),
            n(sql.command),
        ];
        row.extend(figures(&sql.figures()));
        row.extend([
            n(sql.memory_bytes()),
            n(sql.loads),
            n(sql.invalidations),
            n(if sql.kept { sql.children.len() as u64 } else { 0 }),
            moment(sql.first_load_s),
            date_of_seconds(sql.children.iter().map(|child| child.load_s).max().unwrap_or(0)),
            date_of_seconds(sql.last_active_s),
            address(latest.address),
            n(latest.plan_hash),
            t(&latest.module),
            t(&latest.action),
            t(&latest.mode),
            n(0u64),
        ]);
        Some(row)
    };
    s.shared.library.statements().filter_map(row).collect()
}

/// The text in pieces, with line breaks kept or replaced by blanks.
fn pieces(s: &Source<'_>, newlines: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.statements().filter(|sql| sql.copy == 0) {
        let plain = |c: char| if matches!(c, '\n' | '\t' | '\r') && !newlines { ' ' } else { c };
        let characters: Vec<char> = sql.text.chars().map(plain).collect();
        for (piece, part) in characters.chunks(64).enumerate() {
            rows.push(vec![
                address(sql.address),
                n(sql.digest.hash_value()),
                t(sql.digest.sql_id()),
                n(sql.command),
                n(piece as u64),
                t(part.iter().collect::<String>()),
            ]);
        }
    }
    rows
}

pub fn sqltext(s: &Source<'_>) -> Vec<Row> {
    pieces(s, false)
}

pub fn sqltext_with_newlines(s: &Source<'_>) -> Vec<Row> {
    pieces(s, true)
}

pub fn shared_cursor(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.statements() {
        for child in &sql.children {
            let differs = |what: Mismatch| child.mismatch & 1 << what as u64 != 0;
            let reasons = [
                (Mismatch::Optimizer, "Optimizer mismatch"),
                (Mismatch::Bind, "Bind mismatch"),
                (Mismatch::Language, "Language mismatch"),
                (Mismatch::Translation, "Translation mismatch"),
                (Mismatch::AuthCheck, "Authorization Check failed"),
                (Mismatch::BindEquivFailure, "Bind mismatch: selectivity out of range"),
                (Mismatch::LoadOptimizerStats, "Bind mismatch: extended cursor sharing begins"),
                (Mismatch::UseFeedbackStats, "Auto Reoptimization Mismatch"),
                (Mismatch::RollInvalid, "Rolling Invalidate Window Exceeded"),
            ];
            let unshared = child.left_out.map(|why| match why {
                LeftOut::TooLong => "Cursor image too long to share",
                LeftOut::NoRoom => "No room for the cursor image",
            });
            let named = reasons.iter().filter(|(what, _)| differs(*what)).map(|(_, text)| *text);
            let named: Vec<_> = named.chain(unshared).collect();
            let mut row = vec![t(sql.digest.sql_id()), address(sql.address), address(child.address), n(child.number)];
            row.extend(reasons.iter().map(|(what, _)| yn(differs(*what))));
            row.extend([t(named.join(", ")), n(0u64)]);
            rows.push(row);
        }
    }
    rows
}

/// The rows that `rows` makes for each child, after the columns with which all `v$sql_cs_` views begin.
fn of_children(s: &Source<'_>, rows: impl Fn(&ChildRow) -> Vec<Row>) -> Vec<Row> {
    let mut all = Vec::new();
    for sql in s.shared.library.statements() {
        for child in &sql.children {
            let begin = [address(sql.address), n(sql.digest.hash_value()), t(sql.digest.sql_id()), n(child.number)];
            all.extend(rows(child).into_iter().map(|row| begin.iter().cloned().chain(row).chain([n(0u64)]).collect()));
        }
    }
    all
}

/// The execution buckets of bind-sensitive cursors.
pub fn cs_histogram(s: &Source<'_>) -> Vec<Row> {
    of_children(s, |child| {
        let buckets = child.sharing.buckets.iter().enumerate();
        let rows = buckets.map(|(bucket, count)| vec![n(bucket as u64), n(*count)]);
        rows.filter(|_| child.sharing.is_sensitive).collect()
    })
}

/// The selectivity ranges of bind-aware cursors.
pub fn cs_selectivity(s: &Source<'_>) -> Vec<Row> {
    of_children(s, |child| {
        let share = |share: f64| t(format!("{share:.6}"));
        let row = |(label, low, high): &(String, f64, f64)| vec![t(label), n(0u64), share(*low), share(*high)];
        child.sharing.ranges.iter().map(row).collect()
    })
}

/// The first executions of bind-sensitive cursors. Processor time is not measured separately.
pub fn cs_statistics(s: &Source<'_>) -> Vec<Row> {
    of_children(s, |child| {
        let row = |(set, rows, gets)| vec![n(set), yn(true), n(1u64), n(rows), n(gets), Value::Null];
        child.sharing.first.map(row).into_iter().collect()
    })
}

/// The plans of the cursors.
pub fn sql_plan(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.statements() {
        for child in &sql.children {
            for plan in exec::plan_rows::decode(&child.plan) {
                let mut row = plan_row(&sql, child, &plan);
                row.extend([t(&plan.other), n(0u64)]);
                rows.push(row);
            }
        }
    }
    rows
}

/// Execution statistics of plan operations where they were collected, without the statement itself.
pub fn sql_plan_statistics(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.statements() {
        for child in &sql.children {
            for (id, figures) in child.run.iter().enumerate().skip(1) {
                let mut row = vec![
                    address(sql.address),
                    n(sql.digest.hash_value()),
                    t(sql.digest.sql_id()),
                    n(child.plan_hash),
                    address(child.address),
                    n(child.number),
                    n(id as u64),
                ];
                row.extend(counts(Some(figures)));
                row.push(n(0u64));
                rows.push(row);
            }
        }
    }
    rows
}

/// Plans with their execution statistics and the memory of their work areas.
pub fn sql_plan_statistics_all(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.statements() {
        for child in &sql.children {
            for plan in exec::plan_rows::decode(&child.plan) {
                let figures = child.run.get(plan.id as usize);
                let mut row = plan_row(&sql, child, &plan);
                row.extend(counts(figures));
                row.extend(area(figures.map(|figures| &figures.area).filter(|area| area.all() > 0)));
                row.push(n(0u64));
                rows.push(row);
            }
        }
    }
    rows
}

/// EXECUTIONS to ELAPSED_TIME; NULL when nothing was counted.
fn counts(figures: Option<&LineFigures>) -> Vec<Value> {
    let Some(LineFigures { executions, total, last, area: _ }) = figures else { return vec![Value::Null; 15] };
    let of = |get: fn(&LineCounts) -> u64| [n(get(last)), n(get(total))];
    let pairs = [
        of(|c| c.starts),
        of(|c| c.rows),
        of(|c| c.consistent_gets),
        of(|c| c.current_gets),
        of(|c| c.reads),
        of(|c| c.writes),
        of(|c| c.elapsed_us),
    ];
    std::iter::once(n(*executions)).chain(pairs.into_iter().flatten()).collect()
}

/// POLICY to LAST_TEMPSEG_SIZE; NULL without a work area.
fn area(area: Option<&AreaCounts>) -> Vec<Value> {
    let Some(area) = area else { return vec![Value::Null; 13] };
    let some = |bytes: u64| if bytes > 0 { n(bytes) } else { Value::Null };
    vec![
        Value::Null,
        n(area.optimal_bytes),
        n(area.onepass_bytes),
        n(area.last_bytes),
        match area.last_passes {
            0 => t("OPTIMAL"),
            1 => t("1 PASS"),
            passes => t(format!("{passes} PASSES")),
        },
        n(1u64),
        n(area.all()),
        n(area.optimal),
        n(area.onepass),
        n(area.multipass),
        Value::Null,
        some(area.most_temporary_bytes),
        some(area.last_temporary_bytes),
    ]
}

/// The columns that all plan views share.
fn plan_row(sql: &ParentRow, child: &ChildRow, plan: &PlanRow) -> Row {
    let known = |figure: Option<u64>| figure.map_or(Value::Null, n);
    vec![
        address(sql.address),
        n(sql.digest.hash_value()),
        t(sql.digest.sql_id()),
        n(child.plan_hash),
        address(child.address),
        n(child.number),
        date_of_seconds(child.load_s),
        t(&plan.operation),
        t(&plan.options),
        t(&plan.node),
        t(&plan.owner),
        t(&plan.object),
        t(&plan.alias),
        t(&plan.object_type),
        if plan.id == 0 { t(&child.mode) } else { Value::Null },
        n(plan.id),
        plan.parent.map_or(Value::Null, n),
        n(plan.depth),
        // In the first row, POSITION is the cost, as in Oracle.
        if plan.id == 0 { known(plan.cost) } else { n(plan.position) },
        Value::Null,
        known(plan.cost),
        // In the first row CARDINALITY and BYTES are NULL, as in Oracle: they are those of the row below.
        if plan.id == 0 { Value::Null } else { known(plan.cardinality) },
        if plan.id == 0 { Value::Null } else { known(plan.bytes) },
        t(&plan.tag),
        t(&plan.partitions[0]),
        t(&plan.partitions[1]),
        Value::Null,
        Value::Null,
        t(&plan.distribution),
        if plan.id == 0 { Value::Null } else { known(plan.cpu_cost) },
        if plan.id == 0 { Value::Null } else { known(plan.io_cost) },
        Value::Null,
        t(&plan.access),
        t(&plan.filter),
        t(&plan.projection),
        if plan.id == 0 { Value::Null } else { known(plan.time) },
        t(&plan.query_block),
        Value::Null,
    ]
}

pub fn open_cursor(s: &Source<'_>) -> Vec<Row> {
    let row = |cursor: library_cache::OpenCursor| {
        let user = s.processes.session(cursor.sid).map_or(String::new(), |session| session.username.get());
        vec![
            address(s.session_address(cursor.sid)),
            n(cursor.sid),
            t(user),
            address(cursor.address),
            n(cursor.digest.hash_value()),
            t(cursor.digest.sql_id()),
            t(cursor.text),
            date_of_seconds(cursor.last_active_s),
            t(if cursor.kept { "SESSION CURSOR CACHED" } else { "OPEN" }),
            n(cursor.child),
            n(0u64),
        ]
    };
    s.shared.library.open_cursors().into_iter().map(row).collect()
}

/// TYPE of `v$db_object_cache`.
fn type_name(object: &ParentRow) -> &'static str {
    match object.namespace {
        Namespace::SqlArea => "CURSOR",
        _ => u8::try_from(object.command).ok().and_then(dictionary::ObjectKind::from_code).map_or("NONE", |k| k.name()),
    }
}

pub fn db_object_cache(s: &Source<'_>) -> Vec<Row> {
    let row = |object: ParentRow| {
        let sum = |of: fn(&ChildRow) -> u64| n(object.children.iter().map(of).sum::<u64>());
        let property = match (object.hot, object.copy) {
            (_, copy @ 1..) => format!("HOTCOPY{copy}"),
            (true, 0) => "HOT".into(),
            (false, 0) => String::new(),
        };
        let is_sql = object.namespace == Namespace::SqlArea;
        vec![
            t(if is_sql { "" } else { &object.owner }),
            short(&object.text),
            Value::Null,
            t(object.namespace.name()),
            t(type_name(&object)),
            n(object.memory_bytes()),
            n(object.loads),
            n(object.figures().executions),
            sum(|child| child.opening),
            sum(|child| child.executing),
            crate::column::yes(object.kept),
            Value::Null,
            n(object.invalidations),
            n(object.digest.hash_value()),
            t(object.digest.full_hash()),
            moment(object.first_load_s),
            t(if object.stale { "INVALID" } else { "VALID" }),
            t(property),
            address(object.address),
            n(0u64),
        ]
    };
    s.shared.library.rows().into_iter().map(row).collect()
}

pub fn librarycache(s: &Source<'_>) -> Vec<Row> {
    let ratio = |hits: u64, all: u64| {
        let ratio = if all == 0 { 1.0 } else { hits as f64 / all as f64 };
        types::Number::from_f64(ratio).map_or(Value::Null, Value::Number)
    };
    let row = |row: library_cache::NamespaceRow| {
        vec![
            t(row.namespace.name()),
            n(row.gets),
            n(row.get_hits),
            ratio(row.get_hits, row.gets),
            n(row.pins),
            n(row.pin_hits),
            ratio(row.pin_hits, row.pins),
            n(row.reloads),
            n(row.invalidations),
            n(0u64),
        ]
    };
    s.shared.library.namespaces().into_iter().map(row).collect()
}

/// Columns of `x$kglob` that are used by common scripts.
pub const KGLOB: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("KGLHDADR", R(8)),
    ("KGLHDPAR", R(8)),
    ("KGLHDNSP", N),
    ("KGLHDNSD", V(64)),
    ("KGLOBTYD", V(64)),
    ("KGLNAOWN", V(64)),
    ("KGLNAOBJ", V(1000)),
    ("KGLNADLK", V(64)),
    ("KGLNAHSH", N),
    ("KGLNAHSV", V(32)),
    ("KGLHDLDC", N),
    ("KGLHDEXC", N),
    ("KGLHDIVC", N),
    ("KGLOBT03", V(13)),
    ("KGLOBT09", N),
    ("KGLOBT30", N),
    ("KGLOBT31", N),
    ("KGLOBT46", N),
];

/// KGLOBT09 of an object that is not a child.
const NO_CHILD: u64 = 65535;

/// `x$kglob`: every object of the library cache, a parent before its children. The hash of a statement without its
/// literals and the hash of releases before 10g are not computed.
pub fn kglob(s: &Source<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for object in s.shared.library.rows() {
        let is_sql = object.namespace == Namespace::SqlArea;
        let parent = (object.address, object.loads, object.figures().executions, object.invalidations, NO_CHILD, 0);
        let child = |c: &ChildRow| (c.address, c.loads, c.figures.executions, c.invalidations, c.number, c.plan_hash);
        let handles = std::iter::once(parent).chain(object.children.iter().map(child));
        for (at, loads, executions, invalidations, number, plan_hash) in handles {
            rows.push(vec![
                address(at),
                n(rows.len() as u64),
                n(1u64),
                n(0u64),
                address(at),
                address(object.address),
                n(object.namespace as u64),
                t(object.namespace.name()),
                t(type_name(&object)),
                t(if is_sql { "" } else { &object.owner }),
                short(&object.text),
                Value::Null,
                n(object.digest.hash_value()),
                t(object.digest.full_hash()),
                n(loads),
                n(executions),
                n(invalidations),
                if is_sql { t(object.digest.sql_id()) } else { Value::Null },
                n(number),
                n(plan_hash),
                Value::Null,
                Value::Null,
            ]);
        }
    }
    rows
}
