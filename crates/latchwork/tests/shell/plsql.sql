set serveroutput on
declare
  type names is table of varchar2(10) index by pls_integer;
  type numbers is table of number;
  type pair is record (a number, b varchar2(10) := 'b');
  n names; l numbers := numbers(3, 1, 2); p pair;
  cursor c(top number) is select level l from dual connect by level <= top;
  e exception;
  pragma exception_init(e, -20005);
begin
  n(5) := 'five'; n(-1) := 'minus';
  dbms_output.put_line(n.first || ' ' || n.last || ' ' || n.count || ' ' || n.next(-1));
  l.extend; l(4) := 9; l.delete(2);
  for i in 1 .. l.last loop
    if l.exists(i) then dbms_output.put(l(i) || ','); end if;
  end loop;
  dbms_output.new_line;
  p.a := 1;
  dbms_output.put_line(p.a || p.b);
  for r in c(top => 3) loop dbms_output.put_line('row ' || r.l || ' of ' || c%rowcount); end loop;
  begin
    raise_application_error(-20005, 'five');
  exception
    when e then dbms_output.put_line(sqlcode || ' ' || sqlerrm);
  end;
  begin
    dbms_output.put_line(l(2));
  exception
    when no_data_found then dbms_output.put_line(sqlerrm);
  end;
end;
/
create table t (n number, v varchar2(10));
declare
  type numbers is table of number;
  l numbers; m numbers;
begin
  select level bulk collect into l from dual connect by level <= 5;
  forall i in 1 .. l.count insert into t values (l(i), 'v' || l(i));
  dbms_output.put_line(sql%rowcount);
  update t set n = n * 10 where n > 3 returning n bulk collect into m;
  dbms_output.put_line(m.count || ' ' || m(1) || ' ' || m(2));
  execute immediate 'delete from t where n = :1' using 1;
  dbms_output.put_line(sql%rowcount);
  execute immediate 'select count(*), max(v) from t where n > :low' into l(1), l(2) using 100;
  dbms_output.put_line(l(1));
end;
/
merge into t using (select 2 n, 'two' v from dual union all select 7, 'seven' from dual) s on (t.n = s.n)
  when matched then update set t.v = s.v
  when not matched then insert (n, v) values (s.n, s.v);
select * from t order by n;
create or replace package counter is
  total number := 0;
  procedure bump(step in number default 1);
  function value return number;
end;
/
create or replace package body counter is
  calls number := 0;
  procedure bump(step in number default 1) is
  begin
    total := total + step;
    calls := calls + 1;
  end;
  function value return number is begin return total * 100 + calls; end;
begin
  total := 1;
end;
/
exec counter.bump
exec counter.bump(step => 5)
select counter.value from dual;
create or replace function fact(n number) return number is
begin
  return case when n < 2 then 1 else n * fact(n - 1) end;
end;
/
select fact(10), fact(30) from dual;
select name, type, line, text from user_source where name = 'FACT' and line < 3;
create or replace function slow(n number) return varchar2 result_cache is
begin
  dbms_output.put_line('computed ' || n);
  return 'slow ' || n;
end;
/
exec dbms_output.put_line(slow(1))
exec dbms_output.put_line(slow(1))
select object_name, object_type, status from user_objects where object_type like 'PACKAGE%' and object_id >= 20000 order by 2;
create or replace package broken is x nosuchtype; end;
/
exec broken.x := 1
create or replace trigger tr before insert on t begin null; end;
/
