-- a comment
rem another
/* one line */
/* several
   lines; with
   semicolons; */
set feedback on
create table emp (empno number(4) not null, name varchar2(30 char), sal number(7,2), hired date, at timestamp(3), r raw(8), c char(3), f float);
desc emp
create view v as select empno, name from emp;
describe v
create or replace package pk is
  procedure put(p in number default 1, q in out varchar2);
  function get(a date) return varchar2;
end;
/
desc pk
create or replace function f(n number) return number is begin return n; end;
/
desc f
desc nosuch
desc dbms_lock
show user
show linesize
set linesize 100 timing off
sho lin
set verify on -  
pagesize 23
show pagesize
set pagesize 14
show autocommit
set autocommit on
create table t (n number);
insert into t values (1);
set autocommit off
rollback;
select count(*) n from t;
show errors
list
select 1
from dual
.
l
/
c/1/2
run
append , dual b
/
spool spooled
select 'spooled' s from dual;
spool off
host cat spooled.lst
!echo from the host
@nested one "two words"
prompt still &1 and &2
@nested three
set serveroutput on
exec dbms_output.put_line('  leading blanks go')
set serveroutput on format wrapped
exec dbms_output.put_line('  leading blanks stay')
connect / as sysdba
exec dbms_output.put_line('output survives a connect')
show parameter latch_gen
pause nobody is here
disconnect
select 1 from dual;
connect nobody/nothing
connect / as sysdba
set sqlterminator off
select 'one;
two' s from dual
/
set sqlterminator on
show sqlterminator
select 'unclosed;
