//! DBMS_WORKLOAD_REPOSITORY besides taking snapshots: settings, baselines, dropping, reports.

use crate::core::Core;
use crate::recursive::{Text, recursive, report};
use crate::world::{World, number};
use dictionary::Base;
use exec::ExecCtx;
use plsql::{RepositoryRequest, World as _};
use types::{Ora, Result, Value};

/// Minutes between automatic snapshots, and for which they are kept, unless somebody says otherwise: an hour, eight
/// days.
pub const INTERVAL_MIN: i64 = 60;
pub const RETENTION_MIN: i64 = 8 * 24 * 60;

/// What MODIFY_SNAPSHOT_SETTINGS takes, in minutes; zero turns automatic snapshots off, or keeps them for good.
const INTERVALS_MIN: (i64, i64) = (10, 52_560_000);
const RETENTIONS_MIN: (i64, i64) = (1440, 52_560_000);

/// Runs a request in a transaction of its own where it changes something.
///
/// # Errors
/// ORA-13506 for a range that is none, ORA-13510 and ORA-13511 for settings out of range, ORA-13528 and ORA-13542 for
/// baselines; ORA-20200 for a report of snapshots that cannot be compared.
pub fn repository(w: &mut World<'_>, request: &RepositoryRequest) -> Result<Value> {
    if let RepositoryRequest::Report { html, .. }
    | RepositoryRequest::Compare { html, .. }
    | RepositoryRequest::Ash { html, .. } = request
    {
        let format = if *html { awr::Format::Html } else { awr::Format::Text };
        let core = w.core;
        let mut query = |sql: &str, binds: &[Value]| report(core, &mut w.cx, sql, binds);
        let text = match request {
            RepositoryRequest::Compare { first, second, .. } => awr::compare(&mut query, *first, *second, format)?,
            RepositoryRequest::Report { begin, end, .. } => awr::report(&mut query, *begin, *end, format)?,
            RepositoryRequest::Ash { begin, end, .. } => {
                awr::ash_report(&mut query, begin, end, &ash_filter(request), format)?
            }
            _ => return Ok(Value::Null),
        };
        return Ok(crate::shared_pool::lines(types::TypeId::REPORT_LINES, text.lines().flat_map(pieces).collect()));
    }
    w.autonomous_begin()?;
    let changed = change(w.core, &mut w.cx, request);
    let ended = match &changed {
        Ok(_) => w.commit(),
        Err(_) => w.rollback(),
    };
    let back = w.autonomous_end();
    let value = changed?;
    ended?;
    back?;
    Ok(value)
}

/// The longest line of a page, in bytes.
const LINE_MAX: usize = 1500;

/// A line in pieces that fit into a column; a page may have a line end behind any of its tags.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while rest.len() > LINE_MAX {
        let limit = (0..=LINE_MAX).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        let at = rest[..limit].rfind('>').map_or(limit, |at| at + 1);
        pieces.push(rest[..at].to_string());
        rest = &rest[at..];
    }
    pieces.push(rest.to_string());
    pieces
}

fn integer(rows: &[Vec<Value>]) -> Option<i64> {
    match rows.first()?.first()? {
        Value::Number(n) => n.to_i64().ok(),
        _ => None,
    }
}

fn change(core: &Core, cx: &mut ExecCtx<'_>, request: &RepositoryRequest) -> Result<Value> {
    match request {
        RepositoryRequest::Settings { retention, interval, top } => set(core, cx, *retention, *interval, *top),
        RepositoryRequest::DropSnapshots { low, high } => drop_snapshots(core, cx, *low, *high),
        RepositoryRequest::CreateBaseline { begin, end, name } => create_baseline(core, cx, *begin, *end, name),
        RepositoryRequest::DropBaseline { name, cascade } => drop_baseline(core, cx, name, *cascade),
        RepositoryRequest::Report { .. } | RepositoryRequest::Compare { .. } | RepositoryRequest::Ash { .. } => {
            Ok(Value::Null)
        }
    }
}

/// Which samples a report of the active session history is asked for.
fn ash_filter(request: &RepositoryRequest) -> awr::Filter {
    let RepositoryRequest::Ash { sid, sql_id, wait_class, module, action, client, source, .. } = request else {
        return awr::Filter::default();
    };
    awr::Filter {
        sid: *sid,
        sql_id: sql_id.clone(),
        wait_class: wait_class.clone(),
        module: module.clone(),
        action: action.clone(),
        client: client.clone(),
        origin: match source {
            1 => Some(awr::Origin::Memory),
            2 => Some(awr::Origin::Disk),
            _ => None,
        },
    }
}

fn dbid(core: &Core, cx: &mut ExecCtx<'_>) -> Result<i64> {
    Ok(integer(&recursive(core, cx, "select dbid from v$database", &[])?).unwrap_or(0))
}

fn in_range(code: u32, minutes: Option<i64>, (least, most): (i64, i64)) -> Result<()> {
    match minutes {
        Some(n) if n != 0 && !(least..=most).contains(&n) => Err(Ora::with(code, &[&n, &least, &most])),
        _ => Ok(()),
    }
}

fn set(
    core: &Core,
    cx: &mut ExecCtx<'_>,
    retention: Option<i64>,
    interval: Option<i64>,
    top: Option<i64>,
) -> Result<Value> {
    in_range(13510, retention, RETENTIONS_MIN)?;
    in_range(13511, interval, INTERVALS_MIN)?;
    crate::awr::recursive_lock(core, cx)?;
    let dbid = dbid(core, cx)?;
    settings_row(core, cx, dbid)?;
    let dbid = number(dbid);
    for (column, value) in [("retention_min", retention), ("snap_interval_min", interval), ("topnsql", top)] {
        if let Some(value) = value {
            let sql = Text::joined(&["update sys.wrm$_wr_control set ", column, " = :1 where dbid = :2"]);
            recursive(core, cx, sql, &[number(value), dbid.clone()])?;
        }
    }
    core.instance.state().note_repository_change();
    Ok(Value::Null)
}

/// Makes the row of settings where it is not there.
pub(crate) fn settings_row(core: &Core, cx: &mut ExecCtx<'_>, dbid: i64) -> Result<()> {
    let dbid = number(dbid);
    let insert = "insert into sys.wrm$_wr_control (dbid, snap_interval_min, retention_min) select :1, :2, :3 from dual \
                  where not exists (select null from sys.wrm$_wr_control w where w.dbid = :4)";
    recursive(core, cx, insert, &[dbid.clone(), number(INTERVAL_MIN), number(RETENTION_MIN), dbid]).map(|_| ())
}

/// Deletes snapshots and all that was stored with them; those of baselines stay.
fn drop_snapshots(core: &Core, cx: &mut ExecCtx<'_>, low: i64, high: i64) -> Result<Value> {
    if high < low {
        return Err(Ora::with(13506, &[&low, &high]));
    }
    let kept = "and not exists (select null from sys.wrm$_baseline k where w.snap_id between k.start_snap_id and k.end_snap_id)";
    // The snapshots themselves go last: what was half deleted by a session that was killed is deleted again.
    let tables = Base::ALL.iter().map(|base| base.table().name).filter(|name| name.starts_with("WRH$_"));
    let of_all = ["WRH$_SQLTEXT", "WRH$_SEG_STAT_OBJ"];
    for table in tables.filter(|name| !of_all.contains(name)).chain(["WRM$_SNAPSHOT"]) {
        let sql = Text::joined(&["delete from sys.", table, " w where w.snap_id between :1 and :2 ", kept]);
        recursive(core, cx, sql, &[number(low), number(high)])?;
    }
    let texts = "delete from sys.wrh$_sqltext t where not exists (select null from sys.wrh$_sqlstat q where q.sql_id = t.sql_id) \
                 and not exists (select null from sys.wrh$_active_session_history h where h.sql_id = t.sql_id)";
    recursive(core, cx, texts, &[])?;
    let names = "delete from sys.wrh$_seg_stat_obj o where not exists \
                 (select null from sys.wrh$_seg_stat s where s.dataobj# = o.dataobj# and s.obj# = o.obj#)";
    recursive(core, cx, names, &[])?;
    Ok(Value::Null)
}

fn create_baseline(core: &Core, cx: &mut ExecCtx<'_>, begin: i64, end: i64, name: &str) -> Result<Value> {
    let both = "select count(*) from sys.wrm$_snapshot s where s.snap_id in (:1, :2)";
    if end <= begin || integer(&recursive(core, cx, both, &[number(begin), number(end)])?) != Some(2) {
        return Err(Ora::with(13506, &[&begin, &end]));
    }
    let same = "select count(*) from sys.wrm$_baseline b where b.baseline_name = :1";
    if integer(&recursive(core, cx, same, &[Value::text(name)])?) != Some(0) {
        return Err(Ora::with(13528, &[&name]));
    }
    let dbid = dbid(core, cx)?;
    let id =
        integer(&recursive(core, cx, "select nvl(max(baseline_id), 0) + 1 from sys.wrm$_baseline", &[])?).unwrap_or(1);
    let insert = "insert into sys.wrm$_baseline (dbid, baseline_id, baseline_name, start_snap_id, end_snap_id, creation_time) \
                  values (:1, :2, :3, :4, :5, sysdate)";
    recursive(core, cx, insert, &[number(dbid), number(id), Value::text(name), number(begin), number(end)])?;
    Ok(number(id))
}

fn drop_baseline(core: &Core, cx: &mut ExecCtx<'_>, name: &str, cascade: bool) -> Result<Value> {
    let find = "select b.start_snap_id, b.end_snap_id from sys.wrm$_baseline b where b.baseline_name = :1";
    let rows = recursive(core, cx, find, &[Value::text(name)])?;
    let Some(row) = rows.first() else { return Err(Ora::with(13542, &[&name])) };
    let ends = [&row[0], &row[1]].map(|v| if let Value::Number(n) = v { n.to_i64().unwrap_or(0) } else { 0 });
    recursive(core, cx, "delete from sys.wrm$_baseline b where b.baseline_name = :1", &[Value::text(name)])?;
    if cascade {
        drop_snapshots(core, cx, ends[0], ends[1])?;
    }
    Ok(Value::Null)
}
