create table t (n number(3) constraint t_pk primary key, v varchar2(5) not null, p number constraint t_fk references t, constraint t_ck check (n > 0));
insert into t (n, v) values (1, 'one');
select nosuch from t;
select n,
  nosuch
from t;
select * from nosuch;
select * form t;
select n from t where;
select n, count(*) from t;
select 'abc from t;
insert into t (n, v) values (1, 'one');
insert into t (n, v) values (-1, 'one');
insert into t (n, v) values (2, null);
insert into t (n, v) values (2, 'a longer text');
insert into t (n, v) values (12345, 'one');
insert into t (n, v, p) values (2, 'two', 99);
insert into t values (1);
insert into t values (1, 'x', 1, 1);
update t set nosuch = 1;
delete from t where n = 'x';
drop table nosuch;
create table t (n number);
create table u (n nosuchtype);
begin
  null
end;
/
begin
  nosuch(1);
end;
/
begin
  insert into nosuch values (1);
end;
/
declare
  x number;
begin
  select n into x from t where n = 42;
end;
/
declare
  x number;
begin
  x := 'abc';
end;
/
begin
  raise_application_error(-20001, 'boom');
end;
/
create or replace procedure inner_p is
begin
  raise_application_error(-20010, 'deep');
end;
/
create or replace procedure outer_p is
begin
  inner_p;
exception
  when others then
    raise_application_error(-20011, 'outer', true);
end;
/
exec outer_p
exec nosuch
begin execute immediate 'select nosuch from dual'; end;
/
create or replace procedure bad is
  x numbr;
begin
  y := 1;
end;
/
show errors
exec bad
create or replace function worse return number is begin return 1 +; end;
/
show errors function worse
create or replace procedure bad is begin null; end;
/
show errors
nonsense at the prompt
set nosuch 1
set pagesize many
column
@nosuch
rollback to nosuch;
alter session set nls_date_format = 'BAD';
create or replace function leaks return number is
  x number;
begin
  execute immediate 'select   nosuch from dual' into x;
  return x;
end;
/
select leaks from dual;
