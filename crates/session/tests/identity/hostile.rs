//! Attacks: a user with the privileges to create units, views, jobs and synonyms tries to gain other privileges.

use crate::Db;

/// `o` owns the table SECRET with one row; `u` may create objects; `v` receives grants.
fn victim() -> Db {
    let mut db = Db::new();
    db.users(&["o", "u", "v"]);
    db.play(
        "sys> grant create table, create procedure, create view, create synonym, create job, create sequence to o, u, v => ok
         o> create table secret (n number, s varchar2(20)) => ok
         o> insert into secret values (1, 'S3CRET') => ok
         o> commit => ok",
    );
    db
}

#[test]
fn a_view_over_an_own_view_gives_away_no_more_than_that_one() {
    let mut db = victim();
    db.play(
        "o> grant select on secret to u => ok
         u> create view inner_v as select * from o.secret => ok
         u> create view outer_v as select * from inner_v => ok
         u> create synonym inner_s for inner_v => ok
         u> create view outer_s as select * from inner_s => ok
         u> grant select on inner_v to v => ORA-01720
         u> grant select on outer_v to v => ORA-01720
         u> grant select on outer_s to v => ORA-01720
         u> create view plain as select 1 n, 'x' s from dual => ok
         u> grant select on plain to v => ok
         u> create or replace view plain as select * from outer_v => ORA-01720
         o> grant select on secret to u with grant option => ok
         u> grant select on outer_v to v => ok
         v> select s from u.outer_v => S3CRET
         o> revoke select on secret from u => ok
         o> grant select on secret to u => ok
         u> select s from outer_v => S3CRET
         v> select s from u.outer_v => ORA-01031
         v> select count(*) from u.outer_v => ORA-01031",
    );
}

#[test]
fn a_view_with_a_function_gives_it_away_only_with_the_grant_option() {
    let mut db = victim();
    db.play(
        "o> create function f return varchar2 as r varchar2(20); begin select s into r from secret; return r; end; => ok
         o> create package pk as function f return varchar2; end; => ok
         o> create package body pk as function f return varchar2 as r varchar2(20); begin select s into r from secret; return r; end; end; => ok
         o> grant execute on f to u => ok
         o> grant execute on pk to u => ok
         u> create view vf as select o.f s from dual => ok
         u> create view vp as select o.pk.f s from dual => ok
         u> select s from vf => S3CRET
         u> grant select on vf to v => ORA-01720
         u> grant select on vp to v => ORA-01720
         o> grant execute on f to u with grant option => ok
         o> grant execute on pk to u with grant option => ok
         u> grant select on vf to v => ok
         u> grant select on vp to v => ok
         v> select s from u.vf => S3CRET
         o> revoke execute on f from u => ok
         o> grant execute on f to u => ok
         u> select s from vf => S3CRET
         v> select s from u.vf => ORA-0
         o> revoke execute on pk from u => ok
         v> select s from u.vp => ORA-0",
    );
}

#[test]
fn what_is_revoked_is_gone_from_what_was_compiled_and_kept() {
    let mut db = victim();
    db.play(
        "o> grant select on secret to u => ok
         o> create function f return varchar2 as begin return 'F'; end; => ok
         o> grant execute on f to u => ok
         u> create function mine return varchar2 as r varchar2(20); begin select s into r from o.secret; return r; end; => ok
         u> create function cached return varchar2 result_cache as r varchar2(20); begin select s into r from o.secret; return r; end; => ok
         u> create function calls return varchar2 as begin return o.f; end; => ok
         u> create procedure dyn as r varchar2(20); begin execute immediate 'select s from o.secret' into r; dbms_output.put_line(r); end; => ok
         u> grant execute on mine to v => ok
         u> grant execute on cached to v => ok
         u> select mine, calls, cached from dual => S3CRET,F,S3CRET
         v> select u.mine, u.cached from dual => S3CRET,S3CRET
         u> select /*+ result_cache */ s from o.secret => S3CRET
         u> begin dbms_output.enable; dyn; for r in (select s from o.secret) loop dbms_output.put_line(r.s); end loop; end; => S3CRET; S3CRET
         o> revoke select on secret from u => ok
         o> revoke execute on f from u => ok
         u> select /*+ result_cache */ s from o.secret => ORA-00942
         u> select mine from dual => ORA-
         u> select cached from dual => ORA-
         u> select calls from dual => ORA-
         v> select u.mine from dual => ORA-
         v> select u.cached from dual => ORA-
         u> begin dbms_output.enable; dyn; for r in (select s from o.secret) loop dbms_output.put_line(r.s); end loop; end; => ORA-
         u> begin dyn; end; => ORA-00942",
    );
}

#[test]
fn results_are_cached_for_those_who_could_have_computed_them() {
    let mut db = victim();
    db.play(
        "sys> create role r => ok
         o> grant select on secret to r => ok
         sys> grant r to u => ok
         o> create table rules (who varchar2(30), n number) => ok
         o> insert into rules values ('U', 1) => ok
         o> insert into rules values ('V', 2) => ok
         o> commit => ok
         o> create view own_rules as select n from rules where who = user => ok
         o> create view ctx_rules as select n from rules where who = sys_context('userenv', 'session_user') => ok
         o> grant select on own_rules to public => ok
         o> grant select on ctx_rules to public => ok
         o> create function rule return number result_cache as k number; begin select n into k from rules where who = user; return k; end; => ok
         o> create function inv return number result_cache authid current_user as k number; begin select n into k from o.secret; return k; end; => ok
         o> grant execute on inv to public => ok
         u> select /*+ result_cache */ n from o.own_rules => 1
         v> select /*+ result_cache */ n from o.own_rules => 2
         u> select /*+ result_cache */ n from o.ctx_rules => 1
         v> select /*+ result_cache */ n from o.ctx_rules => 2
         u! > select /*+ result_cache */ s from o.secret => S3CRET
         u> select o.inv from dual => 1
         u> set role none => ok
         u> select /*+ result_cache */ s from o.secret => ORA-00942
         u> select o.inv from dual => ORA-00942
         v> select o.inv from dual => ORA-00942",
    );
}

#[test]
fn functions_of_one_name_do_not_share_their_cached_results() {
    let mut db = victim();
    db.play(
        "o> create package pk as function f(n number) return varchar2 result_cache; function f(s varchar2) return varchar2 result_cache; function f return number result_cache; end; => ok
         o> create package body pk as
              function f(n number) return varchar2 result_cache is begin return 'number'; end;
              function f(s varchar2) return varchar2 result_cache is begin return 'text'; end;
              function f return number result_cache is begin return 7; end;
            end; => ok
         o> begin dbms_output.enable; for i in 1 .. 2 loop dbms_output.put_line(pk.f(1) || pk.f('1') || pk.f || pk.f(to_number(null)) || pk.f(to_char(null))); end loop; end; => numbertext7numbertext; numbertext7numbertext
         o> create or replace function g(n number) return number result_cache is begin return 1; end; => ok
         o> select g(5) from dual => 1
         o> create or replace function g(n number) return number result_cache is begin return 2; end; => ok
         o> select g(5) from dual => 2
         o> create package inner_pk as function f return number; end; => ok
         o> create package body inner_pk as function f return number is begin return 1; end; end; => ok
         o> create function h return number result_cache is begin return inner_pk.f; end; => ok
         o> create function d return number deterministic is begin return inner_pk.f; end; => ok
         o> select h from dual => 1
         o> select /*+ result_cache */ d from dual => 1
         o> create or replace package body inner_pk as function f return number is begin return 2; end; end; => ok
         o> select h from dual => 2
         o> select /*+ result_cache */ d from dual => 2",
    );
}

#[test]
fn names_under_a_compiled_unit_stay_its_owners() {
    let mut db = victim();
    db.play(
        "o> create table log (s varchar2(30)) => ok
         o> create procedure note as begin insert into log values ('o'); end; => ok
         o> create procedure work as begin note; end; => ok
         o> grant execute on work to u => ok
         u> create table log (s varchar2(30)) => ok
         u> create procedure note as begin insert into log values ('u'); end; => ok
         u> alter session set current_schema = o => ok
         u> begin work; commit; end; => ok
         u> alter session set current_schema = u => ok
         u> select count(*) from log => 0
         o> select count(*) from log => 1
         sys> create public synonym pub for o.secret => ok
         sys> grant select on o.secret to v => ok
         v> create function via return varchar2 as r varchar2(20); begin select s into r from pub; return r; end; => ok
         v> grant execute on via to u => ok
         u> select v.via from dual => S3CRET
         u> create table mine (n number, s varchar2(20)) => ok
         u> insert into mine values (1, 'FORGED') => ok
         u> commit => ok
         u> grant select on mine to public => ok
         u> create synonym pub for mine => ok
         u> select v.via from dual => S3CRET
         u> create or replace public synonym pub for u.mine => ORA-01031
         u> create synonym v.pub for mine => ORA-01031",
    );
}

#[test]
fn a_job_is_of_whoever_submits_it_whatever_its_text() {
    let mut db = victim();
    db.play(
        "u> create procedure evil authid current_user as begin execute immediate 'grant dba to u'; end; => ok
         u> grant execute on evil to public => ok
         u> declare j number; begin dbms_job.submit(j, 'u.evil;', sysdate - 1); commit; end; => ok
         u> declare j number; begin dbms_job.submit(j, 'null; end; begin execute immediate ''grant dba to u'';', sysdate - 1); commit; end; => ORA-06550
         u> update sys.job$ set powner = 'SYS' => ORA-00942
         u> update user_jobs set priv_user = 'SYS' => ORA-
         sys> select count(*) from dba_jobs where priv_user <> 'U' => 0",
    );
    assert!(db.run_job(1).contains("ORA-01932"));
    // Jobs are dropped with their owner, so a later user with the same name does not get them.
    db.play(
        "v> declare j number; begin dbms_job.submit(j, 'execute immediate ''create table made (n number)'';', sysdate - 1, 'sysdate + 1'); commit; end; => ok
         v> select count(*) from user_jobs => 1
         v> begin null; end; => ok",
    );
    db.sessions.remove("v").expect("a session").end();
    db.play(
        "sys> drop user v cascade => ok
         sys> select count(*) from dba_jobs where priv_user = 'V' => 0",
    );
}

#[test]
fn a_cursor_of_the_units_gives_what_the_unit_may_and_no_more() {
    let mut db = victim();
    db.play(
        "o> create function rows_of return sys_refcursor as c sys_refcursor; begin open c for select s from secret; return c; end; => ok
         o> create function dynamic_of(t varchar2) return sys_refcursor authid current_user as c sys_refcursor; begin open c for t; return c; end; => ok
         o> grant execute on rows_of to u => ok
         o> grant execute on dynamic_of to public => ok
         u> declare c sys_refcursor; r varchar2(20); begin dbms_output.enable; c := o.rows_of; fetch c into r; dbms_output.put_line(r); end; => S3CRET
         u> declare c sys_refcursor; r varchar2(20); begin c := o.dynamic_of('select s from o.secret'); fetch c into r; end; => ORA-00942
         u> declare c sys_refcursor; r varchar2(20); begin c := o.rows_of; select s into r from o.secret; end; => ORA-00942",
    );
}

#[test]
fn names_with_odd_letters_are_names() {
    let mut db = victim();
    let long = "x".repeat(128);
    db.play(&format!(
        "sys> create user \"a b;--'\" identified by x quota unlimited on users => ok
         sys> grant create session, create table, create procedure to \"a b;--'\" => ok
         sys> create table \"a b;--'\".\"t'; grant dba to u; --\" (\"c'd\" number primary key) => ok
         sys> insert into \"a b;--'\".\"t'; grant dba to u; --\" values (1) => ok
         sys> create table \"a b;--'\".child (\"q q\" number references \"a b;--'\".\"t'; grant dba to u; --\" on delete cascade) => ok
         sys> insert into \"a b;--'\".child values (1) => ok
         sys> delete from \"a b;--'\".\"t'; grant dba to u; --\" => ok
         sys> select count(*) from \"a b;--'\".child => 0
         sys> commit => ok
         sys> begin dbms_stats.gather_table_stats('\"a b;--''\"', '\"t''; grant dba to u; --\"'); end; => ok
         sys> begin dbms_stats.gather_schema_stats('\"a b;--''\"'); end; => ok
         sys> explain plan for select rowid from \"a b;--'\".\"t'; grant dba to u; --\" => ok
         sys> select count(*) from table(dbms_xplan.display) where plan_table_output like '%grant dba%' => 1
         u> create table \"{long}\" (n number) => ok
         u> create table \"{long}x\" (n number) => ORA-00972
         u> begin dbms_stats.gather_table_stats('U', '\"{long}\"'); end; => ok
         u> create table \"a\nb\" (n number) => ok
         u> begin dbms_stats.gather_table_stats('U', '\"a' || chr(10) || 'b\"'); end; => ok
         u> begin dbms_stats.gather_table_stats('U\" compute statistics --', 'T'); end; => ORA-20000
         u> begin dbms_stats.gather_table_stats('O', 'SECRET'); end; => ORA-20000
         o> grant select on secret to u => ok
         u> begin dbms_stats.gather_table_stats('O', 'SECRET'); end; => ORA-20000
         sys> select count(*) from dba_role_privs where grantee = 'U' => 0",
    ));
}

#[test]
fn an_index_on_anothers_table_runs_nothing_with_the_owners_privileges() {
    let mut db = victim();
    db.play(
        "o> create table t (n number) => ok
         o> insert into t values (0) => ok
         o> commit => ok
         o> grant select, insert, index, alter on t to u => ok
         u> create table loot (s varchar2(50)) => ok
         u> grant insert on loot to public => ok
         u> create function evil(n number) return number deterministic authid current_user as pragma autonomous_transaction; begin begin execute immediate 'insert into u.loot select s from o.secret'; commit; exception when others then rollback; end; return n; end; => ok
         u> grant execute on evil to public => ok
         u> create index ei on o.t (u.evil(n)) => ok
         o> insert into t values (1) => ok
         o> commit => ok
         u> alter table o.t add (v number generated always as (u.evil(n + 1)) virtual) => ok
         o> select count(*) from t where v > 0 => 2
         u> alter table o.t add constraint oc check (u.evil(n) >= 0) initially deferred => ORA-00904
         u> alter table o.t add (d number default u.evil(1)) => ORA-04044
         u> alter table o.t modify (n default u.evil(1)) => ORA-04044
         o> insert into t (n) values (2) => ok
         o> commit => ok
         u> select count(*) from loot => 0",
    );
}

#[test]
fn a_check_is_one_condition_whatever_its_text() {
    let mut db = victim();
    db.play(
        "u> create table t (n number, constraint c check (n > 0 -- positive
            ) initially deferred) => ok
         u> insert into t values (1) => ok
         u> commit => ok
         u> insert into t values (-1) => ok
         u> commit => ORA-02091
         u> create table t2 (n number, constraint c2 check (n > 0) or (1 = 1) initially deferred) => ORA-00907
         u> create function ok(n number) return number authid current_user as begin return n; end; => ok
         u> create table t2 (n number, check (u.ok(n) > 0) initially deferred) => ORA-00904",
    );
}

#[test]
fn current_schema_lends_no_statement_anybodys_objects() {
    let mut db = victim();
    db.play(
        "sys> grant create cluster to o => ok
         o> create view w as select * from secret => ok
         o> create sequence q => ok
         o> create synonym y for secret => ok
         o> create index i on secret (n) => ok
         o> create procedure p as begin null; end; => ok
         o> create cluster c (n number) single table hashkeys 10 => ok
         u> create table mine (n number) => ok
         u> alter session set current_schema = o => ok
         u> rename secret to found => ORA-04043
         u> rename w to found => ORA-04043
         u> rename q to found => ORA-04043
         u> rename y to found => ORA-04043
         u> rename mine to mine2 => ok
         u> drop table secret => ORA-00942
         u> drop view w => ORA-00942
         u> drop sequence q => ORA-02289
         u> drop synonym y => ORA-01031
         u> drop index i => ORA-01418
         u> drop procedure p => ORA-04043
         u> drop cluster c => ORA-00943
         u> truncate table secret => ORA-00942
         u> truncate cluster c => ORA-00943
         u> alter table secret add (x number) => ORA-00942
         u> alter table secret rename to found => ORA-00942
         u> alter table secret rename column n to m => ORA-00942
         u> alter index i rename to j => ORA-01418
         u> alter sequence q nocache => ORA-02289
         u> alter procedure p compile => ORA-04043
         u> alter view w compile => ORA-00942
         u> comment on table secret is 'x' => ORA-00942
         u> analyze table secret compute statistics => ORA-00942
         u> analyze cluster c compute statistics => ORA-00943
         u> lock table secret in share mode => ORA-00942
         u> create index j on secret (s) => ORA-00942
         u> create table t (n number) => ORA-01031
         u> create table u.t (n number) cluster c (n) => ORA-00943
         u> create view v as select 1 n from dual => ORA-01031
         u> create synonym s for secret => ORA-01031
         u> create sequence r => ORA-01031
         u> create procedure r as begin null; end; => ORA-01031
         u> create cluster d (n number) single table hashkeys 10 => ORA-01031
         u> grant select on secret to v => ORA-00942
         u> select n from mine2 => ORA-00942
         u> select count(*) from u.mine2 => 0
         o> grant select on secret to u => ok
         u> rename secret to found => ORA-04043
         u> alter table secret rename to found => ORA-01031
         o> select count(*) from secret => 1",
    );
}
