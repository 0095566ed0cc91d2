//! The instance itself: `v$instance`, `v$version`, `v$sga`, `v$sgastat`, `v$parameter`.

use types::Value;

use crate::column::{Row, Type, Type::*, date, n, t};
use crate::source::Source;

pub const INSTANCE: &[(&str, Type)] = &[
    ("INSTANCE_NUMBER", N),
    ("INSTANCE_NAME", V(16)),
    ("HOST_NAME", V(64)),
    ("VERSION", V(17)),
    ("STARTUP_TIME", D),
    ("STATUS", V(12)),
    ("PARALLEL", V(3)),
    ("THREAD#", N),
    ("ARCHIVER", V(7)),
    ("LOGINS", V(10)),
    ("SHUTDOWN_PENDING", V(3)),
    ("DATABASE_STATUS", V(17)),
    ("INSTANCE_ROLE", V(18)),
    ("ACTIVE_STATE", V(9)),
    ("BLOCKED", V(3)),
];

pub const VERSION: &[(&str, Type)] = &[("BANNER", V(80)), ("BANNER_FULL", V(160)), ("CON_ID", N)];

pub const SGA: &[(&str, Type)] = &[("NAME", V(20)), ("VALUE", N)];

pub const SGASTAT: &[(&str, Type)] = &[("POOL", V(14)), ("NAME", V(64)), ("BYTES", N)];

pub const PARAMETER: &[(&str, Type)] = &[
    ("NUM", N),
    ("NAME", V(80)),
    ("TYPE", N),
    ("VALUE", V(4000)),
    ("DISPLAY_VALUE", V(4000)),
    ("ISDEFAULT", V(9)),
    ("ISSES_MODIFIABLE", V(5)),
    ("ISSYS_MODIFIABLE", V(9)),
    ("ISMODIFIED", V(10)),
    ("DESCRIPTION", V(255)),
];

pub fn instance(s: &Source<'_>) -> Vec<Row> {
    let f = s.facts;
    vec![vec![
        n(1u64),
        t(&f.name),
        t(&f.host),
        t(&f.version),
        date(f.started_wall_ns),
        t("OPEN"),
        t("NO"),
        n(1u64),
        t(if s.instance.storage().redo.is_archivelog() { "STARTED" } else { "STOPPED" }),
        t(if s.instance.state().is_restricted() { "RESTRICTED" } else { "ALLOWED" }),
        t("NO"),
        t("ACTIVE"),
        t("PRIMARY_INSTANCE"),
        t("NORMAL"),
        t("NO"),
    ]]
}

pub fn version(s: &Source<'_>) -> Vec<Row> {
    vec![vec![t(&s.facts.banner), t(&s.facts.banner), n(0u64)]]
}

/// The pool of an area of the SGA in `v$sgastat`; `None` for an area outside the pools.
fn pool(area: &str) -> Option<&'static str> {
    let buffers = area.starts_with("db_block") || area.starts_with("buffer") || area.starts_with("log_buffer");
    if buffers || area.starts_with("fixed") { None } else { Some("shared pool") }
}

pub fn sgastat(s: &Source<'_>) -> Vec<Row> {
    let areas = s.p.sga().areas().iter();
    areas.map(|area| vec![pool(area.name).map_or(Value::Null, t), t(area.name), n(area.bytes)]).collect()
}

/// The parts of the SGA in bytes.
pub struct Parts {
    pub buffers: u64,
    pub pools: u64,
    pub redo: u64,
    pub total: u64,
}

impl Parts {
    /// The size outside all of these: the fixed area and the padding of the last page.
    pub fn fixed(&self) -> u64 {
        self.total.saturating_sub(self.buffers + self.pools + self.redo)
    }
}

/// The sizes of the parts of the SGA.
pub fn parts(s: &Source<'_>) -> Parts {
    let redo = s.instance.storage().redo.buffer_bytes();
    let mut parts = Parts { buffers: 0, pools: 0, redo, total: s.p.sga().len_bytes() };
    for area in s.p.sga().areas().iter().filter(|a| a.name != "log_buffer") {
        match pool(area.name) {
            Some(_) => parts.pools += area.bytes,
            None => parts.buffers += area.bytes,
        }
    }
    parts
}

pub fn sga(s: &Source<'_>) -> Vec<Row> {
    let parts = parts(s);
    vec![
        vec![t("Fixed Size"), n(parts.fixed())],
        vec![t("Variable Size"), n(parts.pools)],
        vec![t("Database Buffers"), n(parts.buffers)],
        vec![t("Redo Buffers"), n(parts.redo)],
    ]
}

fn parameters(s: &Source<'_>, hidden: bool) -> Vec<Row> {
    let rows = s.session_params.borrow().rows(hidden).into_iter();
    rows.map(|r| {
        vec![
            n(r.num),
            t(r.def.name),
            n(r.def.kind.type_number()),
            r.value.as_deref().map_or(Value::Null, t),
            r.display_value.as_deref().map_or(Value::Null, t),
            t(if r.is_default { "TRUE" } else { "FALSE" }),
            t(r.isses_modifiable()),
            t(r.issys_modifiable()),
            t(r.is_modified),
            t(r.def.description),
        ]
    })
    .collect()
}

/// Parameters, without hidden ones that were not set.
pub fn parameter(s: &Source<'_>) -> Vec<Row> {
    parameters(s, false)
}

pub const KSPPI: &[(&str, Type)] =
    &[("INDX", N), ("KSPPINM", V(80)), ("KSPPITY", N), ("KSPPDESC", V(255)), ("KSPPSTVL", V(4000)), ("KSPPSTDF", V(9))];

/// All parameters, including hidden ones.
pub fn ksppi(s: &Source<'_>) -> Vec<Row> {
    let rows = parameters(s, true).into_iter();
    rows.map(|mut r| {
        let mut take = |at: usize| std::mem::replace(&mut r[at], Value::Null);
        vec![take(0), take(1), take(2), take(9), take(3), take(5)]
    })
    .collect()
}

pub const NLS: &[(&str, Type)] = &[("PARAMETER", V(128)), ("VALUE", V(64))];

/// `nls_session_parameters`.
pub fn nls_session(s: &Source<'_>) -> Vec<Row> {
    let nls = s.nls;
    let semantics = if nls.length_semantics == types::LenUnit::Char { "CHAR" } else { "BYTE" };
    let time = nls.place().time_format;
    let time_tz = format!("{time} TZR");
    let numeric: String = [nls.decimal, nls.group].iter().collect();
    let rows: [(&str, &str); 17] = [
        ("NLS_LANGUAGE", &nls.language),
        ("NLS_TERRITORY", &nls.territory),
        ("NLS_CURRENCY", &nls.currency),
        ("NLS_ISO_CURRENCY", &nls.iso_territory),
        ("NLS_NUMERIC_CHARACTERS", &numeric),
        ("NLS_CALENDAR", "GREGORIAN"),
        ("NLS_DATE_FORMAT", &nls.date_format),
        ("NLS_DATE_LANGUAGE", &nls.date_language),
        ("NLS_SORT", &nls.sort),
        ("NLS_TIME_FORMAT", time),
        ("NLS_TIMESTAMP_FORMAT", &nls.timestamp_format),
        ("NLS_TIME_TZ_FORMAT", &time_tz),
        ("NLS_TIMESTAMP_TZ_FORMAT", &nls.timestamp_tz_format),
        ("NLS_DUAL_CURRENCY", &nls.dual_currency),
        ("NLS_COMP", &nls.comp),
        ("NLS_LENGTH_SEMANTICS", semantics),
        ("NLS_NCHAR_CONV_EXCP", "FALSE"),
    ];
    rows.iter().map(|(name, value)| vec![t(name), t(value)]).collect()
}

pub const FIXED_TABLE: &[(&str, Type)] = &[("NAME", V(128)), ("OBJECT_ID", N), ("TYPE", V(5)), ("TABLE_NUM", N)];

/// The names of all views, and behind them those of the GV$ views.
pub fn fixed_table(_: &Source<'_>) -> Vec<Row> {
    let list = &crate::catalog::LIST;
    let global = list.iter().filter(|view| view.name.starts_with("V$")).map(|view| format!("G{}", view.name));
    let all = list.iter().map(|view| view.name.to_owned()).chain(global).enumerate();
    all.map(|(at, name)| {
        let kind = if name.starts_with("X$") { "TABLE" } else { "VIEW" };
        vec![t(name), n(0xffff_0000u64 | at as u64), t(kind), n(at as u64)]
    })
    .collect()
}
