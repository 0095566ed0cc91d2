create table t (n number, v varchar2(5));
insert into t select level, 'v' || level from dual connect by level <= 7;
commit;
variable c refcursor
variable n number
variable v varchar2(10)
variable c
print c
exec open :c for select n, v from t where n <= 3 order by n
print c
print c
exec open :c for select n, v from t order by n
delete from t where n = 7;
begin
  fetch :c into :n, :v;
exception
  when others then :n := sqlcode;
end;
/
print n
print
exec open :c for select 1 / (n - 2) q from t where n in (1, 2) order by n
print c
declare
  r sys_refcursor;
begin
  open r for select v from t where n = 1;
  dbms_sql.return_result(r);
  open r for select n from t where n > 100;
  dbms_sql.return_result(r);
end;
/
create function f(most number) return sys_refcursor is
  r sys_refcursor;
begin
  open r for 'select count(*) k from t where n <= :1' using most;
  return r;
end;
/
set autoprint on
exec :c := f(2)
exec :n := 5
begin
  open :c for select v from t where n = 2;
end;
/
set autoprint off
show autoprint
exec :c := f(3); close :c
print c
create table d (d number, n varchar2(3));
insert into d select level * 10, chr(64 + level) from dual connect by level <= 2;
create table e (e varchar2(3), d number, sal number);
insert into e select chr(119 + level), 10 * ceil(level / 2), level from dual connect by level <= 3;
select n, cursor(select e, sal from e x where x.d = d.d order by e desc) c from d order by n;
exec :n := 1
select n, cursor(select e, d + d.d + :n from e where e.d = "D" . d and rownum <= :n) from d where d = 10;
select n, cursor(select e, cursor(select sal, d.n from e y where y.e = x.e) c2 from e x where x.d = d.d) c1 from d where d = 20;
create function total(c sys_refcursor) return number is
  n number;
  t number := 0;
begin
  loop
    fetch c into n;
    exit when c%notfound;
    t := t + n;
  end loop;
  close c;
  return t;
end;
/
select n, total(cursor(select sal from e where e.d = d.d)) t from d order by 1;
set serveroutput on
declare
  c sys_refcursor;
  r sys_refcursor;
  n varchar2(10);
  x varchar2(10);
begin
  open c for select n, cursor(select e from e where e.d = d.d order by 1) from d order by n;
  loop
    fetch c into n, r;
    exit when c%notfound;
    loop
      fetch r into x;
      exit when r%notfound;
      dbms_output.put_line(n || ' ' || x);
    end loop;
    close r;
  end loop;
  close c;
end;
/
select cursor(select nosuch from e) from dual;
select * from (select cursor(select 1 from dual) c from dual);
select 1 from dual where cursor(select 1 from dual) is null;
