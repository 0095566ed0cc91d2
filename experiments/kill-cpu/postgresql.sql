-- The same tables; a recursive query probes the index once for each row, breadth first.
do $$
begin
  for t in 0 .. 12 loop
    execute format('create table hot_%s (step int primary key)', t);
    execute format('insert into hot_%s select g from generate_series(1, 16) g', t);
  end loop;
end $$
/
vacuum analyze
/
create procedure walk(t text, n bigint) language plpgsql as $$
declare
  seen bigint := 0;
  found bigint;
begin
  while seen < n loop
    execute format('with recursive w as (select step from %1$s where step = 1 '
      || 'union all select k.step from w join %1$s k on k.step > w.step) select count(*) from w', t) into found;
    seen := seen + found;
  end loop;
end $$
/
call walk('hot_0', 40000)
