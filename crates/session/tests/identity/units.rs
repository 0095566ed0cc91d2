//! Definer's rights units and invoker's rights units.

use crate::Db;

/// `o` owns the table T, and two procedures that run any text: one with invoker's rights, one with definer's rights.
fn utilities() -> Db {
    let mut db = Db::new();
    db.users(&["o", "u", "x"]);
    db.play(
        "sys> grant dba to o => ok
         sys> grant create procedure, create table, create view to u => ok
         sys> grant create procedure, create table to x => ok
         o> create table t (n number) => ok
         o> insert into t values (1) => ok
         o> commit => ok
         o> create procedure ir(p varchar2) authid current_user as begin execute immediate p; end; => ok
         o> create procedure dr(p varchar2) as begin execute immediate p; end; => ok
         o> grant execute on ir to public => ok
         o> grant execute on dr to public => ok",
    );
    db
}

#[test]
fn an_invokers_unit_has_its_callers_privileges_and_no_more() {
    let mut db = utilities();
    db.play(
        "u> begin o.ir('grant dba to u'); end; => ORA-01932
         u> begin o.ir('create user z identified by z'); end; => ORA-01031
         u> begin o.ir('insert into o.t values (2)'); end; => ORA-00942
         u> begin o.ir('create table made (n number)'); end; => ok
         u> select count(*) from made => 0
         sys> create procedure sysutil(p varchar2) authid current_user as begin execute immediate p; end; => ok
         sys> grant execute on sysutil to public => ok
         u> begin sys.sysutil('alter user sys identified by pwned'); end; => ORA-01031",
    );
}

#[test]
fn static_sql_of_an_invokers_unit_means_the_callers_tables() {
    let mut db = Db::new();
    db.users(&["d1", "d2", "d3"]);
    db.play(
        "sys> grant create procedure, create table to d1, d2, d3 => ok
         d1> create table base (n number) => ok
         d1> insert into base values (1) => ok
         d1> commit => ok
         d1> create or replace function ip return number authid current_user as c number; begin select count(*) into c from base; return c; end; => ok
         d1> create or replace procedure ip2(k number) authid current_user as begin update base set n = k; end; => ok
         d1> create or replace package pk authid current_user as function f return number; end; => ok
         d1> create or replace package body pk as function f return number as c number; begin select count(*) into c from base; return c; end; end; => ok
         d1> create or replace function dp return number as begin return ip; end; => ok
         d1> grant execute on ip to public => ok
         d1> grant execute on ip2 to public => ok
         d1> grant execute on pk to public => ok
         d1> grant execute on dp to public => ok
         d2> create table base (n number) => ok
         d2> insert into base values (10) => ok
         d2> insert into base values (20) => ok
         d2> insert into base values (30) => ok
         d2> commit => ok
         d2> select d1.ip from dual => 3
         d1> select ip from dual => 1
         d2> select d1.pk.f from dual => 3
         d2> select d1.dp from dual => 1
         d2> begin dbms_output.enable; dbms_output.put_line(d1.ip || d1.dp || d1.ip || d1.pk.f); end; => 3133
         d2> begin d1.ip2(88); end; => ok
         d2> select sum(n) from base => 264
         d1> select sum(n) from base => 1
         d3> select d1.ip from dual => ORA-00942",
    );
}

#[test]
fn the_identity_is_right_at_each_depth() {
    let who = "sys_context('userenv','session_user')||' '||sys_context('userenv','current_user')||' '||sys_context('userenv','current_schema')";
    let mut db = Db::new();
    db.users(&["o", "u", "x"]);
    let line = format!("dbms_output.put_line({who});");
    db.play(&format!(
        "sys> grant create procedure, create table to o, u, x => ok
         x> create procedure leaf authid current_user as begin {line} end; => ok
         x> grant execute on leaf to public => ok
         o> create procedure dr as begin {line} x.leaf; end; => ok
         o> grant execute on dr to public => ok
         o> create procedure ir authid current_user as begin {line} o.dr; {line} x.leaf; end; => ok
         o> grant execute on ir to public => ok
         u> begin dbms_output.enable; {line} o.ir; o.dr; {line} end; => U U U; U U U; U O O; U O O; U U U; U U U; U O O; U O O; U U U
         u> alter session set current_schema = o => ok
         u> begin ir; end; => U U O; U O O; U O O; U U O; U U O
         u> select user, {who} from dual => U,U U O
         u> begin execute immediate 'begin o.dr; end;'; end; => U O O; U O O
         u> declare procedure p as begin raise no_data_found; end; begin p; exception when no_data_found then {line} end; => U U O"
    ));
    db.play(
        "o> create procedure fails as begin raise no_data_found; end; => ok
         o> grant execute on fails to public => ok
         u> begin begin o.fails; exception when others then null; end; dbms_output.put_line(sys_context('userenv','current_user')); end; => U
         sys> select sys_context('userenv','isdba') from dual => TRUE",
    );
}

#[test]
fn current_schema_is_for_names_and_nothing_else() {
    let mut db = utilities();
    db.play(
        "u> create procedure trap as begin execute immediate 'alter session set current_schema=sys'; execute immediate 'grant dba to u'; end; => ok
         u> create function trapf return number as pragma autonomous_transaction; begin execute immediate 'alter session set current_schema=sys'; execute immediate 'grant dba to u'; return 1; end; => ok
         u> create view trapv as select trapf f from dual => ok
         u> create procedure trapnls as begin dbms_session.set_nls('current_schema', 'sys'); execute immediate 'grant dba to u'; end; => ok
         sys> begin u.trap; end; => ORA-01932
         sys> select * from u.trapv => ORA-01932
         sys> begin u.trapnls; end; => ORA-
         o> begin u.trap; end; => ORA-01932
         sys> select granted_role from dba_role_privs where grantee = 'U' => ok
         sys> select sys_context('userenv','current_schema'), sys_context('userenv','current_user') from dual => SYS,SYS",
    );
    // A definer's rights unit called by SYSDBA does not have the power of SYSDBA.
    db.play(
        "u> create procedure sysset as begin execute immediate 'alter system set open_cursors = 299'; end; => ok
         u> create procedure sysgrant as begin execute immediate 'grant dba to u'; end; => ok
         sys> begin u.sysset; end; => ORA-01031
         sys> alter session set current_schema = u => ok
         sys> begin sysset; end; => ORA-01031
         sys> begin sysgrant; end; => ORA-01932
         sys> begin u.sysgrant; end; => ORA-01932
         sys> alter session set current_schema = sys => ok
         sys> begin execute immediate 'alter system set open_cursors = 299'; end; => ok
         sys> select granted_role from dba_role_privs where grantee = 'U' => ok",
    );
    db.play(
        "u> alter session set current_schema = o => ok
         u> select count(*) from t => ORA-00942
         u> select sys_context('userenv','current_user') || sys_context('userenv','current_schema') from dual => UO
         u> create table z (n number) => ORA-01031
         u> select count(*) from user_objects where object_name = 'TRAP' => 1
         u> alter session set current_schema = nosuch => ORA-01435
         u> alter session set current_schema = u => ok
         u> begin dbms_output.enable; o.ir('alter session set current_schema = o'); dbms_output.put_line(sys_context('userenv','current_schema')); end; => O
         u> begin o.dr('alter session set current_schema = x'); dbms_output.put_line(sys_context('userenv','current_schema')); end; => O
         u> select sys_context('userenv','current_schema') from dual => O",
    );
}

#[test]
fn set_nls_sets_language_parameters_only() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "u> begin dbms_session.set_nls('nls_date_format', '''YYYY'''); end; => ok
         u> select to_char(date '2001-02-03') from dual => 2001
         u> begin dbms_session.set_nls('current_schema', 'sys'); end; => ORA-
         u> begin dbms_session.set_nls('nls_date_format', '''MM'' current_schema=sys'); end; => ORA-
         u> select sys_context('userenv','current_schema') from dual => U",
    );
}

#[test]
fn a_visible_unit_is_not_an_executable_one() {
    let mut db = Db::new();
    db.users(&["o", "u", "x"]);
    db.play(
        "sys> grant create procedure to o => ok
         o> create procedure p as begin null; end; => ok
         o> create function f return number as begin return 1; end; => ok
         o> create package k as function f return number; end; => ok
         o> create package body k as function f return number as begin return 1; end; end; => ok
         o> grant debug on p to u => ok
         o> grant debug on f to u => ok
         o> grant debug on k to u => ok
         sys> grant create any procedure to x => ok
         u> begin o.p; end; => ORA-06550 & PLS-00904: insufficient privilege to access object O.P
         x> begin o.p; end; => ORA-06550 & PLS-00904
         x> begin x.p; end; => ORA-06550 & PLS-00201
         u> declare n number; begin n := o.f; end; => PLS-00904
         u> declare n number; begin n := o.k.f; end; => PLS-00904
         u> select o.f from dual => ORA-
         o> grant execute on p to u => ok
         u> begin o.p; end; => ok
         o> revoke execute on p from u => ok
         u> begin o.p; end; => PLS-00904",
    );
}

#[test]
fn compiling_a_package_takes_its_state() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create procedure, create table to o => ok
         o> create package pk is n number := 1; function next return number; end; => ok
         o> create package body pk is function next return number is begin n := n + 1; return n; end; end; => ok
         o> grant execute on pk to u => ok
         u> select o.pk.next from dual => 2
         o> select pk.next from dual => 2
         o> create table other (n number) => ok
         u> select o.pk.next from dual => 3
         o> alter package pk compile body => ok
         o> select pk.next from dual => 2
         u> select o.pk.next from dual => ORA-04068
         u> select o.pk.next from dual => 2
         o> alter package pk compile => ok
         u> begin if o.pk.next > 0 then null; end if; end; => ORA-04068
         u> select o.pk.next from dual => 2
         o> select pk.next from dual => 2",
    );
}

#[test]
fn a_function_that_a_statement_calls_ends_no_transaction() {
    let mut db = Db::new();
    db.users(&["ft"]);
    db.play(
        "sys> grant create procedure, create table to ft => ok
         ft> create table t (n number) => ok
         ft> insert into t values (1) => ok
         ft> create function c (n number) return number deterministic as begin commit; return n; end; => ok
         ft> create function r (n number) return number as begin rollback; return n; end; => ok
         ft> create function s (n number) return number as begin savepoint a; return n; end; => ok
         ft> create function d (n number) return number as begin execute immediate 'create table made (n number)'; return n; end; => ok
         ft> create function q (n number) return number as m number; begin select c(n) into m from dual; return m; end; => ok
         ft> create function a (n number) return number as pragma autonomous_transaction; begin insert into t values (9); commit; return n; end; => ok
         ft> select c(1) from dual => ORA-14552
         ft> select d(1) from dual => ORA-14552
         ft> select s(1) from dual => ORA-14552
         ft> select q(1) from dual => ORA-14552
         ft> create function l (n number) return number as begin lock table t in share mode; return n; end; => ok
         ft> select l(1) from dual => ORA-14551
         ft> update t set n = l(n) => ok
         ft> rollback => ok
         ft> update t set n = r(n) => ORA-14552
         ft> create table copied as select c(n) m from t => ORA-14552
         ft> create index ti on t (c(n)) => ORA-14552
         ft> select count(*) from user_tables where table_name in ('MADE', 'COPIED') => 0
         ft> select count(*) from user_indexes => 0
         ft> select a(3) from dual => 3
         ft> select count(*) from t => 2
         ft> declare m number; begin m := c(1); m := d(m); m := r(m); end; => ok
         ft> begin execute immediate 'begin commit; end;'; end; => ok",
    );
}

#[test]
fn a_cached_result_of_an_invokers_function_follows_the_callers_tables() {
    let mut db = Db::new();
    db.users(&["a", "b"]);
    db.play(
        "sys> grant create procedure, create table to a, b => ok
         b> grant inherit privileges on user b to a => ok
         a> create table t (n number) => ok
         a> create function f return number result_cache authid current_user as c number; begin select count(*) into c from t; return c; end; => ok
         a> create function d return number deterministic authid current_user as c number; begin select count(*) into c from t; return c; end; => ok
         a> grant execute on f to b => ok
         a> grant execute on d to b => ok
         b> create table t (n number) => ok
         b> create function g return number result_cache as begin return a.f; end; => ok
         b> create function h return number deterministic as begin return a.d; end; => ok
         b> begin dbms_output.enable; dbms_output.put_line(a.f || g); end; => 00
         b> select /*+ result_cache */ h from dual => 0
         b> insert into t values (1) => ok
         b> commit => ok
         b> begin dbms_output.enable; dbms_output.put_line(a.f || g); end; => 11
         b> select /*+ result_cache */ h from dual => 1
         a> begin dbms_output.enable; dbms_output.put_line(f); end; => 0",
    );
}

#[test]
fn a_procedure_with_errors_is_invalid_to_those_who_call_it_until_it_is_not() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create procedure, create table to o, u => ok
         o> create procedure bad as begin late; end; => ok
         o> grant execute on bad to u => ok
         u> begin o.bad; end; => ORA-06550 & PLS-00905: object O.BAD is invalid
         u> create procedure calls as begin o.bad; end; => ok
         u> select text from user_errors where name = 'CALLS' and text like '%905%' => PLS-00905: object O.BAD is invalid
         o> create procedure late as begin null; end; => ok
         u> begin o.bad; end; => ok
         u> begin calls; end; => ok",
    );
}

#[test]
fn a_forall_that_is_compiled_again_keeps_the_names_of_its_unit() {
    let mut db = Db::new();
    db.users(&["a", "b"]);
    db.play(
        "sys> grant create procedure, create table to a, b => ok
         a> create table t (n number) => ok
         b> create table t (n number) => ok
         b> grant insert on t to a => ok
         a> create procedure p as type l is table of number; v l := l(1, 2); begin for r in 1 .. 3 loop \
            forall i in 1 .. 2 insert into t values (v(i)); \
            if r = 1 then execute immediate 'alter session set current_schema = b'; end if; \
            if r = 2 then execute immediate 'create table a.more (n number)'; end if; end loop; end; => ok
         a> begin p; end; => ok
         a> select count(*) from t => 6
         b> select count(*) from t => 0",
    );
}
