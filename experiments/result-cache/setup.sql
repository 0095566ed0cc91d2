-- Ten thousand rows of 200 characters in a hash cluster, and one procedure for each way to read a row.
create cluster lookup_cluster (id number(*,0)) single table hashkeys 15000 size 230;

create table lookup (id number(*,0), payload varchar2(200)) cluster lookup_cluster (id);

insert into lookup
  select level, dbms_random.string('p', 200) from dual connect by level <= 10000;

commit;

create or replace procedure look_up_in_cluster(p_iterations in number) is
  l_id number;
begin
  for i in 1 .. p_iterations loop
    l_id := trunc(dbms_random.value(1, 10000));
    for r in (select * from lookup where id = l_id) loop
      null;
    end loop;
  end loop;
end;
/

create or replace procedure look_up_in_result_cache(p_iterations in number) is
  l_id number;
begin
  for i in 1 .. p_iterations loop
    l_id := trunc(dbms_random.value(1, 10000));
    for r in (select /*+ result_cache */ * from lookup where id = l_id) loop
      null;
    end loop;
  end loop;
end;
/

-- Reads every key once with the statement's own text, so that all results are there before anything is measured.
create or replace procedure warm_up is
  l_id number;
begin
  for k in 1 .. 9999 loop
    l_id := k;
    for r in (select /*+ result_cache */ * from lookup where id = l_id) loop
      null;
    end loop;
  end loop;
  look_up_in_cluster(20000);
end;
/
