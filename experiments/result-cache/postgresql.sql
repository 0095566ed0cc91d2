-- The same rows with an index by hash, and a loop in PL/pgSQL. A line with only a stroke ends a statement.
create table lookup (id int, payload varchar(200))
/
insert into lookup select g, rpad(md5(g::text), 200, md5((g * 7)::text)) from generate_series(1, 10000) g
/
create index lookup_hash on lookup using hash (id)
/
create procedure look_up(n bigint) language plpgsql as $$
declare
  k int;
  r record;
begin
  for i in 1 .. n loop
    k := trunc(1 + random() * 9999);
    for r in select * from lookup where id = k loop
      null;
    end loop;
  end loop;
end $$
/
vacuum analyze lookup
/
call look_up(20000)
