create table t (n number constraint t_pk primary key, v varchar2(10));
insert into t select level, 'row ' || level from dual connect by level <= 20;
commit;
show autotrace
set autotrace on explain
select v from t where n = 7;
set autotrace traceonly explain
select count(*) from t where n > :x;
select n from t;
delete from t where n = 3;
rollback;
set autot trace stat
-- Blocks and rows: what is read does not depend on the machine.
set autotrace off
select count(*) from plan_table;
set autotrace sometimes
set autotrace on
show autotrace
set autotrace off timing off
exit
