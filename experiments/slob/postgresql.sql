-- The same tables and loops in PL/pgSQL.
do $do$
begin
  for t in 1 .. 12 loop
    execute format('create table cf_%s (custid int, c2 varchar(128), c20 varchar(128)) with (fillfactor = 100)', t);
    execute format('insert into cf_%s select g, repeat(''X'', 128), repeat(''X'', 128) '
      || 'from (select g from generate_series(1, 10000) g order by random()) r', t);
    execute format('create index i_cf_%1$s on cf_%1$s (custid)', t);
    execute format('create procedure read_%1$s(n bigint) language plpgsql as $f$
      declare k int; found bigint;
      begin
        for i in 1 .. n loop
          k := trunc(random() * 9745);
          select count(c2) into found from cf_%1$s where custid > k and custid < k + 256;
        end loop;
      end $f$', t);
  end loop;
end $do$
/
vacuum analyze
/
do $do$
begin
  for t in 1 .. 12 loop
    execute format('call read_%s(100)', t);
  end loop;
end $do$
