-- The same rows by primary key; the loop is in the laboratory.
create table lookup (id integer primary key, payload text)
/
insert into lookup
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, hex(randomblob(100)) from n
/
analyze
