-- typed: --param latch_generation=11.1
column latch# format 99999
column name format a25
column hash format 9999999999
select * from v$latchname where name like 'Result Cache%';
create table t (n number, v varchar2(2000));
insert into t
 select level, rpad('x', 2000, 'x')
  from dual
  connect by level <= 100;
commit;
select free, count(*) cnt
 from v$result_cache_memory
 group by free;
select gets
 from v$latch
 where name='Result Cache: Latch';
begin
 for cur in (select /*+ result_cache */ * from t)
 loop
  null;
 end loop;
end;
/
select free, count(*) cnt
 from v$result_cache_memory
 group by free;
select gets
 from v$latch
 where name='Result Cache: Latch';
begin
 for cur in (select /*+ result_cache */ * from t)
 loop
  null;
 end loop;
end;
/
select gets
 from v$latch
 where name='Result Cache: Latch';
select count(*)
 from v$latch_children
 where name='Result Cache: Latch';
create table job_times
(
 sid   number,
 time_ela number
);
--allow jobs to complete
select gets, misses, sleeps, wait_time
 from v$latch
 where name = 'Result Cache: Latch';
select * from job_times;
create cluster hc
(
 n number(*,0)
) single table
 hashkeys 15000
 size 230;
create table hc_t
(
 n number(*,0),
 v varchar2(200)
) cluster hc (n);
insert into hc_t
 select level, dbms_random.string('p', 200)
  from dual
  connect by level <= 100;
delete from hc_t where n > 96;
commit;
exit
