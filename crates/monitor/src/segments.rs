//! The segments of a snapshot: those whose figures changed since the previous snapshot, with the differences.
//!
//! The totals of all segments as the last snapshot saw them are in a table of their own, so that a snapshot takes as
//! long as there are segments and not as long as there is history. The figures of a new segment, and those of all
//! segments after a start of the instance, begin at zero.

use crate::recorder::{Recorder, integer};
use dictionary::rows::int;
use instance::Text;
use types::{Result, Value};

/// Columns of the tables, without `_TOTAL` and `_DELTA`, and the names in `v$segstat_name`.
const FIGURES: [(&str, &str); 10] = [
    ("logical_reads", "logical reads"),
    ("buffer_busy_waits", "buffer busy waits"),
    ("db_block_changes", "db block changes"),
    ("physical_reads", "physical reads"),
    ("physical_writes", "physical writes"),
    ("physical_read_requests", "physical read requests"),
    ("physical_write_requests", "physical write requests"),
    ("itl_waits", "ITL waits"),
    ("row_lock_waits", "row lock waits"),
    ("table_scans", "segment scans"),
];

/// The columns of a segment's names.
const NAMES: &str = "owner, object_name, subobject_name, object_type, tablespace_name";

/// Pieces of a statement for each figure, with a separator.
fn each(between: &'static str, f: impl Fn(&'static str, &'static str) -> Vec<&'static str>) -> Vec<&'static str> {
    FIGURES.map(|(column, name)| f(column, name)).join(&between)
}

/// Columns of the figures of the tables.
fn columns() -> Vec<&'static str> {
    each(", ", |column, _| vec![column, "_total, ", column, "_delta"])
}

/// A condition: something was added.
fn has_changed() -> Vec<&'static str> {
    each(" or ", |column, _| vec![column, "_delta > 0"])
}

fn seen() -> Text {
    let now = each(", ", |column, name| vec!["sum(decode(statistic_name, '", name, "', value, 0)) ", column]);
    let added = each(", ", |column, _| {
        let p = ["_total <= s.", column, " then p.", column, "_total else 0 end"];
        [&["s.", column, ", s.", column, " - case when p.", column][..], &p].concat()
    });
    Text::joined(
        &[
            &["insert into sys.wrm$_seg_stat_seen (seen, startup_time, ts#, obj#, dataobj#, ", NAMES, ", "][..],
            &columns(),
            &[") select :1, i.startup_time, s.ts#, s.obj#, s.dataobj#, s.owner, s.object_name, s.subobject_name, s.object_type, \
               s.tablespace_name, "],
            &added,
            &[" from v$instance i, (select ts#, obj#, dataobj#, max(owner) owner, max(object_name) object_name, \
               max(subobject_name) subobject_name, max(object_type) object_type, max(tablespace_name) tablespace_name, "],
            &now,
            &[" from v$segment_statistics group by ts#, obj#, dataobj#) s, \
               (select q.* from sys.wrm$_seg_stat_seen q, v$instance j where q.seen = :2 and q.startup_time = j.startup_time) p \
               where p.dataobj#(+) = s.dataobj# and p.obj#(+) = s.obj#"],
        ]
        .concat(),
    )
}

/// Writes a snapshot's rows; `key` is its number, the database's and the instance's.
///
/// # Errors
/// Those of the statements.
pub fn write(r: &mut impl Recorder, key: &[Value]) -> Result<()> {
    let last = r.rows("select nvl(max(seen), 0) from sys.wrm$_seg_stat_seen", &[])?;
    let before = integer(&last).unwrap_or(0);
    let now = int(before + 1);
    r.rows(seen(), &[now.clone(), int(before)])?;
    r.rows("delete from sys.wrm$_seg_stat_seen where seen <> :1", std::slice::from_ref(&now))?;
    let mut binds = key.to_vec();
    binds.push(now);
    let (columns, changed) = (columns(), has_changed());
    let rows = [
        &["insert into sys.wrh$_seg_stat (snap_id, dbid, instance_number, ts#, obj#, dataobj#, "][..],
        &columns,
        &[") select :1, :2, :3, ts#, obj#, dataobj#, "],
        &columns,
        &[" from sys.wrm$_seg_stat_seen where seen = :4 and ("],
        &changed,
        &[")"],
    ];
    r.rows(Text::joined(&rows.concat()), &binds)?;
    let names = [
        &["insert into sys.wrh$_seg_stat_obj (snap_id, dbid, instance_number, ts#, obj#, dataobj#, ", NAMES][..],
        &[
            ") select :1, :2, :3, s.ts#, s.obj#, s.dataobj#, ",
            NAMES,
            " from sys.wrm$_seg_stat_seen s where s.seen = :4 and (",
        ],
        &changed,
        &[
            ") and not exists (select null from sys.wrh$_seg_stat_obj o where o.dataobj# = s.dataobj# and o.obj# = s.obj#)",
        ],
    ];
    r.rows(Text::joined(&names.concat()), &binds)?;
    Ok(())
}
