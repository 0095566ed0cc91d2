-- The report of a cluster, which is one instance here.
set echo off feedback off verify off
column dbid new_value dbid noprint
column inst_num new_value inst_num noprint
select d.dbid, i.instance_number inst_num from v$database d, v$instance i;
@?/rdbms/admin/awrrpti
column dbid clear
column inst_num clear
