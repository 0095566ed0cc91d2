-- One statement for all sessions: a loop that executes the cursor it holds, and a loop that parses it each time, with
-- its own text or with that of a statement which is marked hot.
create or replace procedure execute_one(p_times in number) is
  l_one number;
begin
  for i in 1 .. p_times loop
    select /* hot-cursor */ 1 into l_one from dual;
  end loop;
end;
/

create or replace procedure parse_one(p_text in varchar2, p_times in number) is
  l_one number;
begin
  for i in 1 .. p_times loop
    execute immediate p_text into l_one;
  end loop;
end;
/

create or replace procedure mark_hot is
  l_hash varchar2(64);
begin
  parse_one('select /* hot-cursor, marked */ 1 from dual', 10);
  select max(full_hash_value) into l_hash from v$db_object_cache
    where name = 'select /* hot-cursor, marked */ 1 from dual' and namespace = 'SQL AREA';
  dbms_shared_pool.markhot(hash => l_hash, namespace => 0);
end;
/
