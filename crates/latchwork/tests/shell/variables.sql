-- run: first 2
prompt arguments are &1 and &2
define name = EMP
define name
select '&name' a, '&&name._x' b from dual;
set verify off
select '&name' a from dual;
set define off
select '&name' a from dual;
set define #
select '#name' a from dual;
set define on
set escape \
select 'R\&D' a from dual;
set escape off
undefine name
define name
select &missing from dual;
column total new_value total_rows
select count(*) total from dual;
prompt total is &total_rows
variable n number
variable v varchar2(5)
print n
exec :n := 21
begin
  :n := :n * 2;
  :v := 'abc';
end;
/
print
select :n + 1 plus, :v v from dual;
exec :v := 'abcdef'
print v
print nosuch
exec :nosuch := 1
select * from dual where dummy = :nosuch;
create table t (n number, r rowid);
insert into t (n) values (7) returning n into :n;
print n
update t set n = n * 2 where n = :n returning substr(rowid, 1, 1), n into :v, :n;
print n
print v
variable
-- A script gives its parameters defaults so: a query without rows defines those that were not given.
column a1 new_value given
column a2 new_value lacking
define given = kept
select null a1, null a2 from dual where 1 = 0;
prompt [&given] [&lacking]
-- Predefined variables: the day's length is that of DD-MON-RR.
select length('&_date') days, '&_user' u, '&_privilege' p, '&_sqlplus_release' r from dual;
define _date = fixed
prompt &_date
