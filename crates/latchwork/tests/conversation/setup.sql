-- What the conversation of steps.txt needs.
create user u identified by Tiger1;
grant create session, create table, create procedure, unlimited tablespace to u;
create user other identified by Tiger1;
grant create session to other;
create user changing identified by Tiger1;
grant create session to changing;
create user through identified by Tiger1;
grant create session to through;
alter user u grant connect through through;
create table u.kinds (id number(9) primary key, name varchar2(20), c char(10), amount number(12, 2),
  made timestamp default systimestamp, ltz timestamp with local time zone);
create table u.longs (id number, l long);
create table u.wider (a number);
grant select, update on u.kinds to other;
create procedure u.exclaim (t in out varchar2) is begin t := t || '!'; end;
/
create procedure u.add_one (a in number, b out number) is begin b := a + 1; end;
/
create procedure u.short (t out varchar2) is
  s varchar2(10);
begin
  s := rpad('x', 1000, 'x');
  t := s;
end;
/
create function u.twice (a number) return number is begin return a * 2; end;
/
create package u.overloaded is
  function kind (a number) return varchar2;
  function kind (a varchar2) return varchar2;
end;
/
create package body u.overloaded is
  function kind (a number) return varchar2 is begin return 'number'; end;
  function kind (a varchar2) return varchar2 is begin return 'text'; end;
end;
/
create package u.tables is
  type numbers is table of number index by pls_integer;
  function total (n numbers) return number;
end;
/
create package body u.tables is
  function total (n numbers) return number is
    t number := 0;
  begin
    for i in 1 .. n.count loop t := t + n(i); end loop;
    return t;
  end;
end;
/
create function u.some_kinds (n number) return sys_refcursor is
  c sys_refcursor;
begin
  open c for select id, name from u.kinds where id <= n order by id;
  return c;
end;
/
