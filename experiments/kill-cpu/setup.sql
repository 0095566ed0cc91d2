-- Thirteen index-organised tables of sixteen rows, each in one block: one for all sessions, and one for each of twelve.
begin
  for t in 0 .. 12 loop
    execute immediate 'create table hot_' || t || ' (step primary key) organization index as '
      || 'select level step from dual connect by level <= 16';
  end loop;
end;
/

-- Walks through hierarchies until p_rows rows were read. A hierarchy has 32,768 rows from the first step on, and half as
-- many from each next one. Sessions that log on together have consecutive numbers, so each of up to twelve uses a table
-- of its own.
create or replace procedure walk(p_table in varchar2, p_old in varchar2, p_rows in number, p_first in number default 1) is
  l_table varchar2(30) := 'hot_0';
  l_seen number := 0;
  l_rows number;
begin
  if p_table = 'own' then
    l_table := 'hot_' || to_char(1 + mod(to_number(sys_context('userenv', 'sid')), 12));
  end if;
  execute immediate 'alter session set "_old_connect_by_enabled" = ' || p_old;
  while l_seen < p_rows loop
    execute immediate 'select count(*) from ' || l_table || ' start with step = ' || p_first || ' connect by step > prior step' into l_rows;
    l_seen := l_seen + l_rows;
  end loop;
end;
/
