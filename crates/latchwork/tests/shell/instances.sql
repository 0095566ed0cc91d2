-- Error logging, copies, and commands about the instance.
set feedback off
show errorlogging
set errorlogging on identifier 'run 1'
show errorlogging
select 1 from missing_table;
create table t (n number(3) not null, v varchar2(5));
insert into t values (null, 'x');
create user dual_ identified by secret_word quota 1k on nowhere;
column message format a40
column statement format a30
column script format a10
column identifier format a10
set linesize 100
set pagesize 50
select username, script, identifier, message, statement from sperrorlog order by timestamp;
set pagesize 14
set errorlogging on truncate
select count(*) from sperrorlog;
drop table sperrorlog purge;
select 1 from missing_table;
show errorlogging
set errorlogging off
set errorlogging on table nosuch.log
show errorlogging
set errorlogging on what
set errorlogging off table t
set errorlogging
clear columns
archive log what
shutdown immediate
startup mount
startup
startup what
shutdown what
create user copier identified by pw quota unlimited on users;
grant create session, create table to copier;
insert into t values (1, 'one');
insert into t values (2, null);
commit;
copy to copier/pw@here create copied (id, word) using select n, v from t order by n
copy to copier/pw@here create copied using select n, v from t
copy to copier/pw@here insert copied (id, word) using select n + 10, v from t
copy to copier/pw@here append copied (id, word) using select n + 100, v from t
copy to copier/pw@here replace copied using select n, v from t where n = 1
copy from copier/pw@here insert t using select n + 1 from copied
copy from copier/pw@here insert t (n, v) using select n + 5, v from copied
copy from copier/wrong@here insert t using select 1 from dual
copy create x using select 1 from dual
copy from copier/pw@here insert t using delete from copied
copy from copier/pw@here insert t using select n from copied
copy from copier/pw@here append t using select n, v, 1 from copied
copy from copier/pw@here append t (n) using select n from copied
copy from copier/pw@here append t (n, v, x) using select n, v, 1 from copied
select n, v from t order by n;
set copycommit 1 arraysize 1
copy from copier/pw@here append t (n, v) using select level + 50, 'l' from dual connect by level <= 3
set copycommit 0 arraysize 15
select count(*) from t;
select * from copier.copied;
connect copier/pw
shutdown immediate
set feedback sql_id
select * from dual where dummy = 'sql_id needs the view';
set feedback only
select level from dual connect by level <= 3;
set feedback 6
connect / as sysdba
set feedback on sql_id
select * from dual;
set feedback 6
set sqlprompt "_user'_user'> "
show all
