select * from dual
select 1, 'a', .5, 1e9, 1.5f, 2d, null, n'x', q'[it's]' from dual
select distinct a, unique_b from t
select unique a from t
select all a from t
select t.*, s.t.*, u.a from t, s.t, u
select a as b, a c, a "Mixed case", "q".x from t
select a from s.t@remote where a = 1
select count(*), count(distinct a), count(all b), max(unique c) from t
select 1 from t where a = 1 and not (b = 2 or c <> 3) and d != 4 and e ^= 5
select 1 from t where a in (1, 2) and b not in (select x from y) and (a, b) in ((1, 2), (3, 4))
select 1 from t where (a, b) = (select 1, 2 from dual) and (a, b) in (select 1, 2 from dual)
select 1 from t where a between 1 and 2 and b not between c and d + 1
select 1 from t where a like '%x' and b not like 'a\_' escape '\' and c likec 'x'
select 1 from t where a is null and b is not null and c is not nan and d is infinite
select 1 from t where exists (select 1 from u) and not exists (select null from v)
select 1 from t where a = any (1, 2) and b > all (select x from y) and c < some (3)
select 1 from t where regexp_like(a, 'x') and rownum <= 10 and rowid = 'AAA'
select 1 from t where a(+) = b.x and c.d (+) = 1
select 1 from t where ((a)) = ((((1))))
select 1 from t where (((select 1 from dual))) = 1 and ((select 2 from dual) + 1) > 2
select 1 from t where ((select 1 from dual) union (select 2 from dual)) = 1
select -1, +a, - -b, a - -1, prior a from t
select case a when 1 then 'x' else 'y' end, case when a = 1 then 2 when b = 1 then 3 end as c from t
select cast(a as number(10,2)), cast(b as varchar2(10)), cast(multiset(select 1 from dual) as t_tab) from t
select extract(year from d), extract(day from (a - b) day to second), extract(second from systimestamp) from t
select trim(a), trim(both from a), trim(leading '0' from a), trim(trailing from b) from t
select date '2020-01-01', timestamp '2020-01-01 00:00:00', interval '1' day, interval '1-2' year to month,
  interval '1 02:03:04.5' day(2) to second(3) from dual
select sysdate, user, uid, level, rownum, systimestamp at time zone 'UTC', d at local from dual
select seq.nextval, s.seq.currval from dual
select :x, :1, :"Y", : z from dual
select dbms_random.value(1, 10), sys.dbms_utility.get_time, pkg.f(a => 1, b => :c) from dual
select f(1).g, t(1)(2), a.b.c(1).d from dual
select listagg(a, ',') within group (order by b desc nulls last) from t
select listagg(a, ',' on overflow truncate '...' with count) within group (order by b) over (partition by c) from t
select max(a) keep (dense_rank first order by b), min(a) keep (dense_rank last order by b desc) over (partition by c) from t
select sum(a) over (), row_number() over (partition by a, b order by c desc, d nulls first) from t
select sum(a) over (order by b rows between unbounded preceding and current row) from t
select avg(a) over (order by b range between 1 preceding and 1 following), last_value(a ignore nulls) over (order by b rows 3 preceding) from t
select first_value(a) ignore nulls over (order by b), nth_value(a, 2) from last over (order by b) from t
select ratio_to_report(a) over () from t
select level from dual connect by level <= 10
select * from emp start with mgr is null connect by nocycle prior empno = mgr order siblings by ename
select * from emp connect by mgr = prior empno start with mgr is null
select connect_by_root ename, sys_connect_by_path(ename, '/'), connect_by_isleaf from emp connect by prior empno = mgr
select a, sum(b) from t group by a having sum(b) > 1 order by 2 desc, a
select a, sum(b) from t having sum(b) > 1 group by a
select case grouping(sid) when 1 then 'Total:' else to_char(sid) end sid, sum(time_ela) ela
  from job_times
  group by rollup((sid, time_ela))
select a, b from t group by cube(a, b), rollup(c), grouping sets ((a, b), a, ())
select 1 from dual union select 2 from dual union all select 3 from dual minus select 4 from dual intersect select 5 from dual
(select 1 from dual) union (select 2 from dual) order by 1
select * from ((select 1 a from dual) union all (select 2 from dual)) x
select * from (select 1 a from dual)
select * from ((a join b on a.x = b.x) join c on b.x = c.x)
select * from a join b using (x, y) left outer join c on a.x = c.x right join d on 1 = 1 full outer join e using (z)
select * from a cross join b natural join c natural left join d inner join e on e.x = a.x
select * from a join b join c on b.x = c.x on a.x = b.x
select * from a cross apply (select * from b where b.x = a.x) outer apply f(a.x) y
select * from a, lateral (select * from b where b.x = a.x) y
select * from table(f(1)) t, table(t.c) (+) u, the(select x from y)
select * from table(dbms_xplan.display_cursor(null, null, 'ALLSTATS LAST'))
select * from t sample (5), u sample block (1) seed (2), v partition (p1), w as of scn 123
select versions_xid from t versions between scn minvalue and maxvalue x, u versions between timestamp systimestamp - 1 and systimestamp, v versions between scn 1 + 2 and :b
select * from t pivot (sum(a) as s for b in (1 as one, 2 as two))
select * from (select a, b from t) unpivot include nulls (v for n in (a, b as 'B')) u
with a as (select 1 x from dual), b (y) as (select 2 from dual) select * from a, b
with r (n) as (select 1 from dual union all select n + 1 from r where n < 10) search depth first by n set o select * from r
select * from (with a as (select 1 x from dual) select * from a)
select * from t order by a fetch first 10 rows only
select * from t offset 5 rows fetch next 1 row with ties
select * from t fetch first 10 percent rows only
select * from t for update
select * from t for update of a, t.b nowait
select * from t for update wait 5
select * from t for update skip locked
select /*+ ordered use_nl(lh) */ gen1.sample_id, t1.hsecs, t2.hsecs, lh.*
  from (select hsecs from v$timer) t1, (select rownum sample_id from dual connect by level <= 1000) gen1, x$ksuprlat lh,
  (select hsecs from v$timer) t2
select la.child# latch_child, kqrstcid cache#, la.addr latch_addr --, dc.*, la.*
  from x$kqrst dc, v$latch_children la
select "WHERE", "COUNT" from v$latch_misses order by "COUNT" desc
select cursor(select * from emp) from dual
select a multiset union distinct b, c multiset except d from t
select value, name, type, id, count, sid, key, data, status, result, year, month, day, first, last from t
select a into :b from t
select 1 from dual where :x is null or :x = '' and 1 = 1
select a.* from emp a where 1=1 and a.deptno not in (select deptno from dept) or a.sal > 1000
select 'a' || 'b' || to_char(1) x from dual
select a from t where b in :x
select sum(case when a > 0 then 1 else 0 end) from t where a in (select b from c where d in (1, 2, 3))
insert into t values (1, 'x', null, default, sysdate)
insert into t (a, b) values (:1, :2)
insert into s.t (a, "b") select 1, 2 from dual
insert into t (select * from u)
insert into t (a) (select * from u)
insert /*+ append */ into t select * from u order by dbms_random.value()
insert into job_times values (sys_context('userenv', 'sid'), dbms_utility.get_time) returning rowid into :r
insert into (select a, b from t) values (1, 2)
insert into t a (a.x) values (1)
insert all into t values (1) into u (a) values (b) select * from dual
insert first when a > 1 then into t else into u values (a) select a from v
insert into t with x as (select 1 from dual) select * from x
insert into t values r
update t set a = 1, b = b + 1, c = default, d = null where e = 2
update s.t x set x.a = (select max(b) from u where u.c = x.c)
update t set (a, b) = (select 1, 2 from dual), c = 3 where rowid = :r returning a, b into :x, :y
update (select a from t) set a = 1
update job_times set time_ela=dbms_utility.get_time-time_ela where rowid=l_rowid
update t set a = 1 where current of c
delete from t
delete t where a = 1
delete from t x where x.a in (select 1 from dual) returning a bulk collect into :y
merge into t using u on (t.a = u.a) when matched then update set b = 1 where c = 2 delete where d = 3
  when not matched then insert (a, b) values (u.a, u.b) where u.c = 1
merge into t x using (select 1 a from dual) y on (x.a = y.a) when not matched then insert values (y.a)
commit
commit work
commit write nowait
commit write immediate wait
commit comment 'x'
rollback
rollback work to savepoint a
rollback to b
savepoint a
set transaction read only
set transaction isolation level serializable name 'x'
set role all except dba
set constraints all deferred
lock table t in exclusive mode nowait
lock table a, s.b in row share mode wait 10
explain plan for select * from dual
explain plan set statement_id = 'x' into plan_table for delete from t
call p(1, a => 2)
call pkg.f(:x) into :y
begin null; end;
declare x number; begin null; end;
<<a>> begin null; end;
create table t (n number, v varchar2(2000))
create table kill_cpu (n primary key) organization index as select rownum n from all_objects where rownum <= 25
create table hc_t (n number(*,0), v varchar2(200)) cluster hc (n)
create cluster hc (n number(*,0)) single table hashkeys 15000 size 230
create cluster c (a number, b varchar2(10)) size 8k hashkeys 100 hash is a tablespace users
create table seed (custid number(8), c2 varchar2(128)) parallel pctfree 0 tablespace users
create table cf1 (a number) parallel cache pctfree 99 tablespace iops storage (buffer_pool keep initial 1m next 1m maxextents unlimited)
create global temporary table g (a number) on commit preserve rows
create table t (a number(10) default 0 not null constraint t_pk primary key, b varchar2(10 char) default on null 'x' unique,
  c date default sysdate, d char(1) check (d in ('Y', 'N')), e number references dept, f float(10), g integer,
  constraint t_uk unique (b, c) using index tablespace users, constraint t_ck check (a > 0) disable,
  foreign key (e) references dept (deptno) on delete cascade, primary key (a) using index (create unique index i on t (a)))
create table t (id number generated by default on null as identity (start with 10 increment by 5), v number as (id * 2) virtual)
create table t (a timestamp(3) with local time zone, b interval day(3) to second(2), c raw(16), d long, e clob, f nclob, g blob,
  h rowid, i urowid(100), j binary_double, k double precision, l real, m nvarchar2(10), n char varying(5), o interval year to month)
create table t as select * from u where 1 = 0
create table t nologging parallel 4 as select * from u
create table t (a, b) as select 1, 2 from dual
create table t (a number invisible, b number) result_cache (mode force) row store compress advanced
create table t (a number) segment creation immediate pctfree 10 pctused 40 initrans 1 maxtrans 255 nocompress logging
create table t (a number) partition by range (a) (partition p1 values less than (10), partition p2 values less than (maxvalue))
create table t (a number, b date) partition by list (a, b) (partition p1 values ((1, date '2020-01-01'), (2, null)), partition values (default) tablespace u pctfree 5) enable row movement
create table t (a number) partition by hash (a) partitions 16 store in (x, y) as select 1 a from dual
create table t (a date) partition by range (a) interval (numtoyminterval(1, 'MONTH')) (partition p values less than (date '2020-01-01'))
create table t (a number, b number) partition by range (a) subpartition by hash (b) subpartitions 8 (partition p values less than (1))
create table t (a number primary key using index local) partition by hash (a) (partition one, partition two)
create index i on t (a) local (partition p1 tablespace x, partition p2) tablespace y
create index i on t (a) global
alter table t add partition p9 values less than (90) tablespace x update indexes
alter table t drop partition p1, p2 update global indexes
alter table t truncate partition for (5) drop storage
alter table t split partition p at (5) into (partition a tablespace x, partition b) update indexes
alter table t split partition p values ('a', 'b') into (partition a, partition b)
alter table t merge partitions a, b into partition c
alter table t exchange partition p with table o including indexes without validation
alter table t move partition p tablespace x compress
alter table t rename partition p to q
alter table t modify partition p unusable local indexes
alter table t set interval (10)
alter index i rebuild partition p tablespace x
alter index i modify partition p unusable
alter index i rename partition p to q
select * from t partition (p) x, t partition for (date '2020-01-01', 5) y
delete from t partition (p) where a = 1
insert into t partition (p) values (1)
create index i on t (a, b desc, upper(c)) tablespace users pctfree 0 noparallel online
create unique index s.i on s.t (a) reverse compute statistics
create bitmap index i on t (a)
create or replace view v (a, b) as select 1, 2 from dual with read only
create or replace force view s.v as select * from t where a = 1 with check option constraint c
create sequence s start with 1 increment by -1 maxvalue 100 minvalue -100 cycle cache 20 order
create sequence s nocache nocycle noorder nomaxvalue nominvalue
create or replace public synonym x for s.t@remote
create synonym y for z
create user u identified by "Pass1" default tablespace users temporary tablespace temp quota unlimited on users quota 10m on x
  profile default account unlock password expire
create role r
create role r identified by x
create or replace procedure do_work(p_iterations in number) is begin null; end;
create function f return number authid current_user as begin return 1; end;
create or replace package body p as end;
create or replace trigger tr before insert on t for each row begin :new.a := 1; end;
create type t_tab as table of number
create or replace editionable procedure p as begin null; end;
create tablespace ts datafile 'x.dbf' size 10m autoextend on next 1m maxsize unlimited
create or replace directory d as '/x'
drop table t
drop table s.t cascade constraints purge
drop cluster hc including tables cascade constraints
drop index i
drop view v
drop sequence s
drop public synonym x
drop synonym x force
drop user u cascade
drop role r
drop procedure p
drop package body p
drop type t force
drop tablespace ts including contents and datafiles
truncate table t
truncate table s.t reuse storage
truncate cluster hc
alter table t add (a number, b varchar2(10) default 'x' not null, constraint c check (a > 0))
alter table t add c number
alter table t add constraint t_pk primary key (a) using index
alter table t modify (a number(10) not null, b default 5)
alter table t modify a null
alter table t drop column a
alter table t drop (a, b) cascade constraints
alter table t drop constraint c cascade
alter table t drop primary key keep index
alter table t drop unique (a, b)
alter table t rename to u
alter table t rename column a to b
alter table t rename constraint a to b
alter table t disable constraint c
alter table t enable novalidate primary key
alter table t modify constraint c disable
alter table t minimize records_per_block
alter table t noparallel
alter table t parallel 4 nologging
alter table t move tablespace users
alter table t enable row movement
alter table t shrink space compact
alter table t read only
alter table t set unused (a)
alter index i rebuild online
alter index i rename to j
alter index i shrink space compact
alter index i unusable
alter index i noparallel
alter sequence s increment by 10 nocache
alter user u identified by x account unlock
alter user u default tablespace users
alter procedure p compile
alter package p compile body
alter trigger t disable
alter view v compile
alter session set "_old_connect_by_enabled" = true
alter session set nls_date_format = 'YYYY-MM-DD' nls_language = american
alter session set current_schema = user1
alter session set "_spin_count"=2000 sort_area_size=10M
alter session set events '10046 trace name context forever, level 12'
alter session force parallel ddl
alter session enable parallel dml
alter system set open_cursors = 300 comment = 'x' scope = both sid = '*'
alter system set "_x" = -1 deferred
alter system kill session '12,34' immediate
alter system disconnect session '12,34' post_transaction
alter system flush shared_pool
alter system flush buffer_cache
alter system checkpoint
alter system switch logfile
alter system reset open_cursors scope = spfile
rename a to b
comment on table t is 'it''s'
comment on column s.t.c is ''
grant connect, resource to u identified by u
grant dba to u1, u2 with admin option
grant select, update (a, b), insert on s.t to public with grant option
grant all privileges on t to u
grant create session, select any table to u
grant read, write on directory d to u
revoke select on t from u
revoke dba from u
analyze table t compute statistics
analyze index i validate structure
purge recyclebin
purge table t
with r (n, m) as (select 1, 2 from dual union all select n + 1, m from r where n < 5) search depth first by n desc nulls last, m set o cycle n, m set c to 'Y' default 'N' select * from r
with r (n) as (select 1 from dual union all select n + 1 from r where n < 5) search breadth first by n set o select * from r
select listagg(a, ',' on overflow truncate 'more' without count) within group (order by a), listagg(a on overflow error) within group (order by a), listagg(distinct a, ';' on overflow truncate) within group (order by a) from t
select to_number(a default 0 on conversion error, '999', 'nls_numeric_characters='',.'''), to_date(a default null on conversion error) from t
select validate_conversion(a as number), validate_conversion(a || b as date, 'DD/MM/YYYY', 'nls_date_language=american') from t
select set(a), cardinality(set(b)) from t where a is a set and b is not empty

-- SQL/XML
select xmlelement("a", xmlattributes(x as "b", y as evalname z), t.c), xmlelement(evalname n || 1), xmlelement(noentityescaping name q, 'x') from t
select xmlforest(a, b as "c"), xmlcolattval(a), xmlparse(document x wellformed), xmlpi(name "p", 'x'), xmlroot(x, version '1.0', standalone no) from t
select xmlserialize(content x as clob indent size = 2), xmlserialize(x no indent), xmlcast(x as number), xmlquery('/a' passing x, y as "z" returning content) from t where xmlexists('$d/a' passing x as "d")
select * from t, xmltable(xmlnamespaces('u' as "p", default 'v'), '/a' passing t.x columns n for ordinality, a varchar2(10) path '@a' default -1, b xmltype path '.') (+) x
select * from xmltable('1 to 3')
select xmlagg(xmlelement("a", b) order by c).extract('//text()').getstringval() from t
-- SQL/JSON
select json_value(doc, '$.a' returning number default -1 on error null on empty), json_value(doc format json, '$.b?(@ > $x)' passing y as "x", 2 as Z) from t
select json_query(doc, '$.a' returning varchar2(100) pretty with conditional wrapper empty array on error), json_query(doc, '$' allow scalars ascii without array wrapper) from t
select 1 from t where json_exists(doc, '$.a' true on error) and doc is json strict with unique keys and x is not json and json_equal(a, b)
select t.doc.Name, t.doc."b c"[0, 2 to last].d.size(), t.doc.a[*] from t
select json_object('a' value 1, key b value c format json null on null returning clob strict with unique keys), json_object(*), json_object(), json_array(1, x absent on null) from t
select json_arrayagg(x format json order by y desc nulls last null on null returning clob), json_objectagg(k value v) from t group by z
select json_mergepatch(a, b returning clob pretty), json_serialize(a returning blob), json_object('k' : v, 'w' : w), json_object(a, t.Bc) from t
select * from t, json_table(t.doc, '$.a[*]' error on error columns (n for ordinality, a number path '$.a' default 0 on error, b exists, c varchar2(10) format json with wrapper path x.Y[1], nested path '$.z' columns (d clob path '$'))) (+) j
select * from json_table(x columns a, nested b[*] columns (c))
