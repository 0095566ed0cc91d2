-- The loops and tables of the bench `budgets`.
create or replace procedure empty_loop(p_iterations in number) is
begin
  for i in 1 .. p_iterations loop
    null;
  end loop;
end;
/

create or replace procedure random_loop(p_iterations in number) is
  l_n number;
begin
  for i in 1 .. p_iterations loop
    l_n := dbms_random.value;
  end loop;
end;
/

create or replace procedure bounded_random_loop(p_iterations in number) is
  l_n number;
begin
  for i in 1 .. p_iterations loop
    l_n := trunc(dbms_random.value(1, 10000));
  end loop;
end;
/

create or replace procedure integer_loop(p_iterations in number) is
  l_n number := 0;
begin
  for i in 1 .. p_iterations loop
    l_n := mod(l_n * 3 + i, 1000003);
  end loop;
end;
/

create or replace procedure decimal_loop(p_iterations in number) is
  l_n number := 0;
begin
  for i in 1 .. p_iterations loop
    l_n := l_n + i * 1.25 / 3;
  end loop;
end;
/

create table source (id number, grp number, amount number, text varchar2(40));

create table copied (id number, grp number, amount number, text varchar2(40));

create table keyed (id number primary key, grp number, text varchar2(40));

create table keyed_source (id number primary key, text varchar2(40));

insert into source
  select level, mod(level, 100), mod(level * 7919, 100003) / 100, 'row number ' || level
  from dual connect by level <= 100000;

insert into keyed_source select id, text from source where id <= 10000;

commit;

create or replace procedure primary_key_loop(p_iterations in number) is
  l_text varchar2(40);
  l_id number := 0;
begin
  for i in 1 .. p_iterations loop
    l_id := mod(l_id + 7919, 10000) + 1;
    select text into l_text from keyed_source where id = l_id;
  end loop;
end;
/

create or replace procedure commits(p_iterations in number) is
begin
  for i in 1 .. p_iterations loop
    insert into copied (id) values (i);
    commit;
  end loop;
end;
/
