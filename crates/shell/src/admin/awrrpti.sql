-- Workload report between two snapshots of an instance, into a file.
-- Asks for undefined variables: dbid, inst_num, begin_snap, end_snap, report_type (html or text) and report_name.
set echo off feedback off verify off heading on
column awr_function new_value awr_function noprint
column awr_width new_value awr_width noprint
select case when lower('&&report_type') like 'text%' then 'awr_report_text' else 'awr_report_html' end awr_function,
       case when lower('&&report_type') like 'text%' then 80 else 8000 end awr_width
  from dual;
set heading off pagesize 0 newpage none trimspool on
set linesize &&awr_width
spool &&report_name
select output from table(dbms_workload_repository.&&awr_function(&&dbid, &&inst_num, &&begin_snap, &&end_snap));
spool off
prompt Report written to &&report_name
column awr_function clear
column awr_width clear
undefine awr_function
undefine awr_width
undefine report_type
undefine report_name
undefine begin_snap
undefine end_snap
undefine num_days
set heading on pagesize 14 newpage 1 linesize 80 feedback 6 verify on trimspool off
