-- Twelve tables of ten thousand rows in random order, so that neighbours by key lie in different blocks, each with an
-- index on the keys and a procedure that reads ranges of it.
create table slob_seed pctfree 0 as
  select level custid, rpad('X', 128, 'X') c2, rpad('X', 128, 'X') c20 from dual connect by level <= 10000;

begin
  for t in 1 .. 12 loop
    execute immediate 'create table cf_' || t || ' pctfree 0 as select * from slob_seed order by dbms_random.value';
    execute immediate 'create index i_cf_' || t || ' on cf_' || t || ' (custid)';
    execute immediate 'create or replace procedure read_' || t || '(p_times in number) is '
      || 'l_low pls_integer; l_count number; begin for i in 1 .. p_times loop '
      || 'l_low := trunc(dbms_random.value(0, 9745)); '
      || 'select count(c2) into l_count from cf_' || t || ' where custid > l_low and custid < l_low + 256; '
      || 'end loop; end;';
  end loop;
end;
/

drop table slob_seed;

-- Sessions that log on together have consecutive numbers, so each of up to twelve uses a table of its own.
create or replace procedure read_ranges(p_times in number) is
begin
  execute immediate 'begin read_' || to_char(1 + mod(to_number(sys_context('userenv', 'sid')), 12)) || '(:n); end;'
    using p_times;
end;
/
