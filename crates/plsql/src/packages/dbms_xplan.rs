//! DBMS_XPLAN.

use super::package::*;
use crate::world::World;

package! {
    "DBMS_XPLAN",
    "package dbms_xplan is
       function display(table_name varchar2 default 'PLAN_TABLE', statement_id varchar2 default null,
         format varchar2 default 'TYPICAL') return dbms_xplan_type_table;
       function display_cursor(sql_id varchar2 default null, cursor_child_no number default 0,
         format varchar2 default 'TYPICAL') return dbms_xplan_type_table;
     end;";
    "DISPLAY" 1 => display,
    "DISPLAY_CURSOR" 1 => display_cursor,
}

fn display<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.display_plan(c.a.text(0), c.a.optional_text(1).as_deref(), c.a.text(2))?)
}

fn display_cursor<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.display_cursor(c.a.optional_text(0).as_deref(), c.a.integer(1), c.a.text(2))?)
}
