//! DBMS_WORKLOAD_REPOSITORY besides taking snapshots: settings, baselines, dropping, reports.

use crate::recorder::{Recorder, integer};
use crate::settings::{dbid, set};
use dictionary::Base;
use dictionary::rows::int;
use instance::Text;
use plsql::RepositoryRequest;
use types::{Ora, Result, Value};

/// The answer to a request.
pub enum Answer {
    /// The lines of a report.
    Report(Vec<String>),
    Value(Value),
}

/// Runs a request, in a transaction of its own where it changes something.
///
/// # Errors
/// ORA-13506 for a range that is none, ORA-13510 and ORA-13511 for settings out of range, ORA-13528 and ORA-13542 for
/// baselines; ORA-20200 for a report of snapshots that cannot be compared.
pub fn run(r: &mut impl Recorder, request: &RepositoryRequest) -> Result<Answer> {
    let mut query = |sql: &str, binds: &[Value]| r.report(sql, binds);
    let text = match request {
        RepositoryRequest::Compare { first, second, html } => awr::compare(&mut query, *first, *second, format(*html))?,
        RepositoryRequest::Report { begin, end, html } => awr::report(&mut query, *begin, *end, format(*html))?,
        RepositoryRequest::Ash { begin, end, html, .. } => {
            awr::ash_report(&mut query, begin, end, &ash_filter(request), format(*html))?
        }
        _ => return r.autonomously(|r| change(r, request)).map(Answer::Value),
    };
    Ok(Answer::Report(text.lines().flat_map(pieces).collect()))
}

fn format(is_html: bool) -> awr::Format {
    if is_html { awr::Format::Html } else { awr::Format::Text }
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

fn change(r: &mut impl Recorder, request: &RepositoryRequest) -> Result<Value> {
    match request {
        RepositoryRequest::Settings { retention, interval, top } => {
            set(r, *retention, *interval, *top).map(|()| Value::Null)
        }
        RepositoryRequest::DropSnapshots { low, high } => drop_snapshots(r, *low, *high),
        RepositoryRequest::CreateBaseline { begin, end, name } => create_baseline(r, *begin, *end, name),
        RepositoryRequest::DropBaseline { name, cascade } => drop_baseline(r, name, *cascade),
        RepositoryRequest::Report { .. } | RepositoryRequest::Compare { .. } | RepositoryRequest::Ash { .. } => {
            Ok(Value::Null)
        }
    }
}

/// The samples that a report of the active session history covers.
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

/// Deletes snapshots and all that was stored with them; those of baselines stay.
fn drop_snapshots(r: &mut impl Recorder, low: i64, high: i64) -> Result<Value> {
    if high < low {
        return Err(Ora::with(13506, &[&low, &high]));
    }
    let kept = "and not exists (select null from sys.wrm$_baseline k where w.snap_id between k.start_snap_id and k.end_snap_id)";
    // The snapshots themselves go last, so a drop that was cut off by a kill can be repeated.
    let tables = Base::ALL.iter().map(|base| base.table().name).filter(|name| name.starts_with("WRH$_"));
    let of_all = ["WRH$_SQLTEXT", "WRH$_SEG_STAT_OBJ"];
    for table in tables.filter(|name| !of_all.contains(name)).chain(["WRM$_SNAPSHOT"]) {
        let sql = Text::joined(&["delete from sys.", table, " w where w.snap_id between :1 and :2 ", kept]);
        r.rows(sql, &[int(low), int(high)])?;
    }
    let texts = "delete from sys.wrh$_sqltext t where not exists (select null from sys.wrh$_sqlstat q where q.sql_id = t.sql_id) \
                 and not exists (select null from sys.wrh$_active_session_history h where h.sql_id = t.sql_id)";
    r.rows(texts, &[])?;
    let names = "delete from sys.wrh$_seg_stat_obj o where not exists \
                 (select null from sys.wrh$_seg_stat s where s.dataobj# = o.dataobj# and s.obj# = o.obj#)";
    r.rows(names, &[])?;
    Ok(Value::Null)
}

fn create_baseline(r: &mut impl Recorder, begin: i64, end: i64, name: &str) -> Result<Value> {
    let both = "select count(*) from sys.wrm$_snapshot s where s.snap_id in (:1, :2)";
    if end <= begin || integer(&r.rows(both, &[int(begin), int(end)])?) != Some(2) {
        return Err(Ora::with(13506, &[&begin, &end]));
    }
    let same = "select count(*) from sys.wrm$_baseline b where b.baseline_name = :1";
    if integer(&r.rows(same, &[Value::text(name)])?) != Some(0) {
        return Err(Ora::with(13528, &[&name]));
    }
    let dbid = dbid(r)?;
    let id = integer(&r.rows("select nvl(max(baseline_id), 0) + 1 from sys.wrm$_baseline", &[])?).unwrap_or(1);
    let insert = "insert into sys.wrm$_baseline (dbid, baseline_id, baseline_name, start_snap_id, end_snap_id, creation_time) \
                  values (:1, :2, :3, :4, :5, sysdate)";
    r.rows(insert, &[int(dbid), int(id), Value::text(name), int(begin), int(end)])?;
    Ok(int(id))
}

fn drop_baseline(r: &mut impl Recorder, name: &str, cascade: bool) -> Result<Value> {
    let find = "select b.start_snap_id, b.end_snap_id from sys.wrm$_baseline b where b.baseline_name = :1";
    let rows = r.rows(find, &[Value::text(name)])?;
    let Some(row) = rows.first() else { return Err(Ora::with(13542, &[&name])) };
    let ends = [&row[0], &row[1]].map(|v| if let Value::Number(n) = v { n.to_i64().unwrap_or(0) } else { 0 });
    r.rows("delete from sys.wrm$_baseline b where b.baseline_name = :1", &[Value::text(name)])?;
    if cascade {
        drop_snapshots(r, ends[0], ends[1])?;
    }
    Ok(Value::Null)
}
