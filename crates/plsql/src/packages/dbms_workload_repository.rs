//! DBMS_WORKLOAD_REPOSITORY.

use super::package::*;
use crate::requests::RepositoryRequest;
use crate::world::World;

package! {
    "DBMS_WORKLOAD_REPOSITORY",
    "package dbms_workload_repository is
       procedure create_snapshot(flush_level varchar2 default 'BESTFIT', source_name varchar2 default null);
       function create_snapshot(flush_level varchar2 default 'BESTFIT', source_name varchar2 default null) return number;
       procedure modify_snapshot_settings(retention number default null, interval number default null,
         topnsql number default null, dbid number default null);
       procedure drop_snapshot_range(low_snap_id number, high_snap_id number, dbid number default null);
       procedure create_baseline(start_snap_id number, end_snap_id number, baseline_name varchar2,
         dbid number default null, expiration number default null);
       function create_baseline(start_snap_id number, end_snap_id number, baseline_name varchar2,
         dbid number default null, expiration number default null) return number;
       procedure drop_baseline(baseline_name varchar2, cascade boolean default false, dbid number default null);
       function awr_report_text(l_dbid number, l_inst_num number, l_bid number, l_eid number,
         l_options number default 0) return awrrpt_text_type_table;
       function awr_report_html(l_dbid number, l_inst_num number, l_bid number, l_eid number,
         l_options number default 0) return awrrpt_text_type_table;
       function awr_diff_report_text(dbid1 number, inst_num1 number, bid1 number, eid1 number,
         dbid2 number, inst_num2 number, bid2 number, eid2 number) return awrrpt_text_type_table;
       function awr_diff_report_html(dbid1 number, inst_num1 number, bid1 number, eid1 number,
         dbid2 number, inst_num2 number, bid2 number, eid2 number) return awrrpt_text_type_table;
       function ash_report_text(l_dbid number, l_inst_num number, l_btime date, l_etime date,
         l_options number default 0, l_slot_width number default 0, l_sid number default null, l_sql_id varchar2 default null,
         l_wait_class varchar2 default null, l_service_hash number default null, l_module varchar2 default null,
         l_action varchar2 default null, l_client_id varchar2 default null, l_plsql_entry varchar2 default null,
         l_data_src number default 0) return awrrpt_text_type_table;
       function ash_report_html(l_dbid number, l_inst_num number, l_btime date, l_etime date,
         l_options number default 0, l_slot_width number default 0, l_sid number default null, l_sql_id varchar2 default null,
         l_wait_class varchar2 default null, l_service_hash number default null, l_module varchar2 default null,
         l_action varchar2 default null, l_client_id varchar2 default null, l_plsql_entry varchar2 default null,
         l_data_src number default 0) return awrrpt_text_type_table;
     end;";
    "CREATE_SNAPSHOT" 1 => create_snapshot,
    "CREATE_SNAPSHOT" 2 => create_snapshot,
    "MODIFY_SNAPSHOT_SETTINGS" 1 => modify_snapshot_settings,
    "DROP_SNAPSHOT_RANGE" 1 => drop_snapshot_range,
    "CREATE_BASELINE" 1 => create_baseline,
    "CREATE_BASELINE" 2 => create_baseline,
    "DROP_BASELINE" 1 => drop_baseline,
    "AWR_REPORT_TEXT" 1 => |c| awr_report(c, false),
    "AWR_REPORT_HTML" 1 => |c| awr_report(c, true),
    "AWR_DIFF_REPORT_TEXT" 1 => |c| awr_diff_report(c, false),
    "AWR_DIFF_REPORT_HTML" 1 => |c| awr_diff_report(c, true),
    "ASH_REPORT_TEXT" 1 => |c| ash_report(c, false),
    "ASH_REPORT_HTML" 1 => |c| ash_report(c, true),
}

fn create_snapshot<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let level = c.a.text(0).to_string();
    Ok(number(c.w.create_snapshot(&level)?))
}

fn modify_snapshot_settings<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [retention, interval, top] = [0, 1, 2].map(|i| c.a.integer(i));
    Ok(c.w.repository(&RepositoryRequest::Settings { retention, interval, top })?)
}

fn drop_snapshot_range<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [low, high] = [0, 1].map(|i| c.a.integer(i).unwrap_or(0));
    Ok(c.w.repository(&RepositoryRequest::DropSnapshots { low, high })?)
}

fn create_baseline<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let [begin, end] = [0, 1].map(|i| c.a.integer(i).unwrap_or(0));
    Ok(c.w.repository(&RepositoryRequest::CreateBaseline { begin, end, name: c.a.text(2).to_string() })?)
}

fn drop_baseline<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.repository(&RepositoryRequest::DropBaseline { name: c.a.text(0).to_string(), cascade: c.a.flag(1) })?)
}

fn awr_report<W: World>(c: &mut Call<'_, W>, html: bool) -> Run<Value> {
    let [begin, end] = [2, 3].map(|i| c.a.integer(i).unwrap_or(0));
    Ok(c.w.repository(&RepositoryRequest::Report { begin, end, html })?)
}

fn awr_diff_report<W: World>(c: &mut Call<'_, W>, html: bool) -> Run<Value> {
    let [begin, end, second_begin, second_end] = [2, 3, 6, 7].map(|i| c.a.integer(i).unwrap_or(0));
    Ok(c.w.repository(&RepositoryRequest::Compare { first: (begin, end), second: (second_begin, second_end), html })?)
}

fn ash_report<W: World>(c: &mut Call<'_, W>, html: bool) -> Run<Value> {
    let said = |i: usize| c.a.optional_text(i).filter(|text| !text.is_empty()).map(|text| text.to_string());
    // There is one service, and PL/SQL calls are not recorded.
    if c.a.integer(9).is_some() || said(13).is_some() {
        return Err(Ora::unsupported().into());
    }
    Ok(c.w.repository(&RepositoryRequest::Ash {
        begin: c.a.value(2).clone(),
        end: c.a.value(3).clone(),
        sid: c.a.integer(6),
        sql_id: said(7),
        wait_class: said(8),
        module: said(10),
        action: said(11),
        client: said(12),
        source: c.a.integer(14).unwrap_or(0),
        html,
    })?)
}
