//! The second branch of views that also show the objects of SYS which have no rows in TAB$, COL$ or VIEW$: base tables,
//! catalog views and V$ views.
//!
//! A branch is derived from the text of the first one, so that both have the same columns. Its condition `uid = 0` in
//! USER_ views keeps other users from reading it.

/// Base tables as rows of TAB$; their statistics are in TAB_STATS$.
const BASE_TABLES: &str = "(select b.obj#, 0 ts#, cast(null as number) bobj#, 10 pctfree$, 1 initrans, 0 property, \
    s.rowcnt, s.blkcnt, s.avgrln, 1 degree, s.samplesize, s.analyzetime, nvl(s.statflags, 0) statflags from obj$ b, \
    tab_stats$ s where b.owner# = 0 and b.type# = 2 and s.obj# (+) = b.obj# and not exists (select null from tab$ x \
    where x.obj# = b.obj#)) t";

/// The objects of SYS with columns. The numbers of V$ views are those of V$FIXED_TABLE.
const SYSTEM_OBJECTS: &str = "(select obj#, owner#, name, type# from obj$ where owner# = 0 and type# in (2, 4) union all \
    select object_id, 0, replace(name, 'V$', 'V_$'), 4 from v$fixed_table where name like 'V$%' or name like 'GV$%') o";

/// The condition of ALL_ views, for the objects of SYS that include V$ views: those are visible like DBA_ views.
pub(crate) fn widened(filter: &str) -> String {
    filter
        .replace("o.obj# < 20000", "(o.obj# < 20000 or o.obj# >= 4294901760)")
        .replace("o.name not like 'DBA!_%' escape '!'", "o.name not like 'DBA!_%' escape '!' and o.obj# < 20000")
}

/// The text of the second branch of a family, from that of the first; `None` for a family that shows no more.
pub(crate) fn branch(family: &str, query: &str) -> Option<String> {
    match family {
        "TABLES" => Some(query.replace("from tab$ t,", &format!("from {BASE_TABLES},"))),
        "TAB_COLUMNS" | "TAB_COLS" => {
            let hinted = query.replacen("select", "select /*+ leading(o c) use_hash(c) no_swap_join_inputs(c) */", 1);
            let from = hinted.replace("from col$ c, obj$ o,", &format!("from x$kkscol c, {SYSTEM_OBJECTS},"));
            let known = " and not exists (select null from col$ y where y.obj# = o.obj#)";
            // A condition on another owner is false before any column is computed.
            let of_sys = from.replace("{owner}", "{system_owner}");
            Some(of_sys.replace("o.obj# = c.obj#", "o.name = c.table_name").replace("c.obj#", "o.obj#") + known)
        }
        _ => None, // not a clause: every other family has all of its objects in the tables that it reads
    }
}
