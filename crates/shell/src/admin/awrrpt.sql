-- Workload report between two snapshots of this instance: shows the last snapshots and asks for two of them.
set echo off feedback off verify off heading on
column dbid new_value dbid noprint
column inst_num new_value inst_num noprint
column instance format a16
column snapshot format 99999999
column taken format a20
select d.dbid, i.instance_number inst_num from v$database d, v$instance i;
prompt
prompt The last snapshots:
select *
  from (select s.snap_id snapshot, to_char(s.end_interval_time, 'DD Mon YYYY HH24:MI:SS') taken, i.instance_name instance
          from dba_hist_snapshot s, v$instance i
         where s.dbid = &&dbid and s.instance_number = &&inst_num
         order by s.snap_id desc)
 where rownum <= 20
 order by snapshot;
prompt
prompt report_type: html or text. report_name: the file to write.
@?/rdbms/admin/awrrpti
column dbid clear
column inst_num clear
column instance clear
column snapshot clear
column taken clear
undefine dbid
undefine inst_num
