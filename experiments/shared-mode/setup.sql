-- A result of one row, and a procedure that reads it from the cache.
create table held (id number, payload varchar2(100));

insert into held select level, rpad('x', 100, 'x') from dual connect by level <= 10;

commit;

create or replace procedure read_result(p_iterations in number) is
  l_sum number;
begin
  for i in 1 .. p_iterations loop
    select /*+ result_cache */ sum(id) into l_sum from held;
  end loop;
end;
/
