//! Functions in views and in virtual columns, and functions called by these.

use crate::Db;

#[test]
fn functions_in_a_view_are_its_owners() {
    let mut db = Db::new();
    db.users(&["d1", "bob", "eve"]);
    db.play(
        "sys> grant create procedure, create table, create view to d1, bob, eve => ok
         d1> create table pay (id number, secret varchar2(20)) => ok
         d1> insert into pay values (1, 'S3CRET') => ok
         d1> commit => ok
         d1> create function mask(x varchar2) return varchar2 as begin return '***'; end; => ok
         d1> create package pk as function ff return number; end; => ok
         d1> create package body pk as function ff return number as begin return 42; end; end; => ok
         d1> create view v as select id, mask(secret) s, d1.mask(secret) q, pk.ff n from pay => ok
         d1> create view w as select s from v where pk.ff = 42 => ok
         d1> grant select on v to public => ok
         d1> grant select on w to public => ok
         d1> select * from v => 1,***,***,42
         bob> select * from d1.v => 1,***,***,42
         sys> select * from d1.w => ***
         eve> create function mask(x varchar2) return varchar2 as begin return x; end; => ok
         eve> create package pk as function ff return number; end; => ok
         eve> create package body pk as function ff return number as begin return 42; end; end; => ok
         eve> select * from d1.v => 1,***,***,42
         eve> select s from d1.v where mask('x') = 'x' => ***
         sys> create function mask(x varchar2) return varchar2 as begin return 'SYS'; end; => ok
         sys> select s from d1.v => ***",
    );
}

#[test]
fn an_invokers_function_in_a_view_runs_for_the_owner_or_as_bequeathed() {
    let mut db = Db::new();
    db.users(&["v", "u"]);
    db.play(
        "sys> grant create procedure, create table, create view to v, u => ok
         v> create function me return varchar2 authid current_user as begin return sys_context('userenv','current_user'); end; => ok
         v> create view vd as select me m, sys_context('userenv','current_user') c from dual => ok
         v> create view vd2 bequeath definer as select me m from dual => ok
         v> create view vi bequeath current_user as select me m from dual => ok
         v> grant select on vd to public => ok
         v> grant select on vd2 to public => ok
         v> grant select on vi to public => ok
         u> select m, c from v.vd => V,U
         u> select m from v.vd2 => V
         u> select m from v.vi => U
         u> begin dbms_output.enable; for r in (select m from v.vd) loop dbms_output.put_line(r.m); end loop; end; => V
         v> select view_name, bequeath from user_views order by 1 => VD,DEFINER; VD2,DEFINER; VI,CURRENT_USER
         u> select m from v.vi => U",
    );
}

#[test]
fn functions_of_virtual_columns_and_indexes_are_the_tables_owners() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create procedure, create table, create view to o, u => ok
         o> create function twice(n number) return number deterministic as begin return n * 2; end; => ok
         o> create table t (n number, d number generated always as (twice(n)) virtual) => ok
         o> create index i on t (twice(n + 1)) => ok
         o> insert into t (n) values (1) => ok
         o> commit => ok
         o> grant select, insert, update, delete on t to u => ok
         u> create function twice(n number) return number deterministic as begin return 99; end; => ok
         u> select n, d from o.t => 1,2
         u> insert into o.t (n) values (5) => ok
         u> commit => ok
         u> select n, d from o.t order by n => 1,2; 5,10
         o> select n from t where twice(n + 1) = 12 => 5
         u> update o.t set n = 6 where d = 10 => ok
         u> commit => ok
         o> select n from t where twice(n + 1) = 14 => 6
         sys> select d from o.t order by 1 => 2; 12
         sys> delete from o.t where d = 12 => ok",
    );
}

#[test]
fn a_view_is_made_with_its_owners_direct_grants() {
    let mut db = Db::new();
    db.users(&["y1", "y2", "y3"]);
    db.play(
        "sys> grant create procedure, create table, create view, create role to y1, y2 => ok
         y1> create table t (n number) => ok
         y1> create role yr => ok
         y1> grant select on t to yr => ok
         sys> grant yr to y2 => ok
         y2!> select count(*) from y1.t => 0
         y2> create view rv as select * from y1.t => ORA-01031
         y2> create view rv as select * from y1.nosuch => ORA-00942
         y3> select count(*) from y1.t => ORA-00942
         y1> grant select on t to y2 => ok
         y2> create view rv as select * from y1.t => ok
         y2> select count(*) from rv => 0
         y1> revoke select on t from y2 => ok
         y2> select count(*) from y1.t => 0
         y2> select count(*) from rv => ORA-04063",
    );
}

#[test]
fn an_index_over_its_owners_function_is_rebuilt_by_others() {
    let mut db = Db::new();
    db.users(&["fi"]);
    db.play(
        "sys> grant create procedure, create table to fi => ok
         fi> create function twice (n number) return number deterministic as begin return n * 2; end; => ok
         fi> create table t (n number) => ok
         fi> insert into t values (3) => ok
         fi> create index ti on t (twice(n)) => ok
         sys> alter index fi.ti rebuild => ok
         sys> alter table fi.t move => ok
         sys> alter index fi.ti rebuild online => ok
         fi> select n from t where twice(n) = 6 => 3",
    );
}

#[test]
fn a_function_that_ddl_calls_has_no_more_power_than_elsewhere() {
    let mut db = Db::new();
    db.users(&["o", "u", "x"]);
    db.play(
        "sys> grant create procedure, create table to o, u, x => ok
         o> create table secret (s varchar2(30)) => ok
         o> insert into secret values ('classified') => ok
         o> commit => ok
         u> create table t (n number) => ok
         u> insert into t values (1) => ok
         u> commit => ok
         u> create function reads(n number) return varchar2 deterministic as v varchar2(30); begin execute immediate 'select max(s) from o.secret' into v; return v; end; => ok
         u> create function named(n number) return varchar2 deterministic as v varchar2(30); begin select max(s) into v from o.secret; return v; end; => ok
         u> create function key(n number) return varchar2 deterministic as v varchar2(30); begin execute immediate 'select max(substr(spare4, 1, 5)) from sys.user$' into v; return v; end; => ok
         u> create function gone(n number) return varchar2 deterministic as pragma autonomous_transaction; begin execute immediate 'delete from o.secret'; commit; return 'x'; end; => ok
         u> create index i on t (reads(n)) => ORA-00942
         u> create index i on t (named(n)) => ORA-
         u> create index i on t (key(n)) => ORA-00942
         u> create index i on t (gone(n)) => ORA-00942
         u> alter table t add constraint c check (reads(n) is null) => ORA-00904
         u> alter table t add constraint c check (gone(n) = 'x') => ORA-00904
         u> alter table t add (m varchar2(30) default reads(1)) => ORA-04044
         u> select count(*) from user_indexes => 0
         o> select count(*) from secret => 1
         u> create function made(n number) return varchar2 deterministic as pragma autonomous_transaction; begin execute immediate 'create table made (n number)'; return 'x'; end; => ok
         u> create index i on t (made(n)) => ORA-00060
         u> create table c as select made(1) m from dual => ORA-00060
         u> select count(*) from user_tables where table_name in ('C', 'MADE') => 0
         u> create table c as select 1 m from dual => ok
         sys> grant alter any table to x => ok
         u> create function f(n number) return number deterministic as begin return 1000; end; => ok
         x> create function f(n number) return number deterministic as begin return -1; end; => ok
         x> alter table u.t add (m number default f(1)) => ORA-04044
         x> alter table u.t add (m number as (f(n))) => ok
         u> select distinct m from t => 1000",
    );
}
