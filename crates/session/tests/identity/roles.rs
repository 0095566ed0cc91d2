//! Roles: enabled roles, default roles, roles inside units; SET ROLE; INHERIT PRIVILEGES.

use crate::Db;

#[test]
fn roles_do_not_count_inside_definers_units() {
    let mut db = Db::new();
    db.users(&["y1", "y2"]);
    db.play(
        "sys> grant create procedure, create table, create view, create role to y1 => ok
         sys> grant create procedure to y2 => ok
         y1> create table t (n number) => ok
         y1> create role yr => ok
         y1> grant select on t to yr => ok
         sys> grant create table to yr => ok
         sys> grant yr to y2 => ok
         y2!> select count(*) from y1.t => 0
         y2> create procedure rp as c number; begin select count(*) into c from y1.t; end; => ok
         y2> begin rp; end; => PLS-00905
         y2> select count(*) from user_errors where name = 'RP' and text like '%ORA-00942%' => 1
         y2> create procedure dyn as c number; begin execute immediate 'select count(*) from y1.t' into c; end; => ok
         y2> begin dyn; end; => ORA-00942
         y2> create procedure idyn authid current_user as c number; begin execute immediate 'select count(*) from y1.t' into c; end; => ok
         y2> begin idyn; end; => ok
         y2> create procedure mk as begin execute immediate 'create table made (n number)'; end; => ok
         y2> begin mk; end; => ORA-01031
         y2> create procedure viair as begin idyn; end; => ok
         y2> begin viair; end; => ORA-00942
         y2> create procedure rs as c number; begin select count(*) into c from session_roles; dbms_output.put_line(c); end; => ok
         y2> begin dbms_output.enable; rs; end; => 0
         y2> select role from session_roles => YR
         y2> declare c number; begin select count(*) into c from y1.t; dbms_output.put_line(c); end; => 0
         y1> grant select on t to y2 => ok
         y2> alter procedure rp compile => ok
         y2> begin rp; end; => ok",
    );
}

#[test]
fn alter_role_changes_how_a_role_is_enabled() {
    let mut db = Db::new();
    db.users(&["o", "u", "w"]);
    db.play(
        "sys> grant create role to o => ok
         o> create role ar => ok
         o> grant ar to u => ok
         u!> select role from session_roles => AR
         u> alter role ar identified by mine => ORA-01031
         o> alter role ar identified by pass => ok
         u> select role from session_roles => AR
         u> set role none => ok
         u> set role ar => ORA-01979
         u> set role ar identified by wrong => ORA-01979
         u> set role ar identified by pass => ok
         u!> select role from session_roles => ok
         o> alter role ar identified using enabler => ok
         u> set role ar identified by pass => ORA-28201
         sys> grant alter any role to w => ok
         w> alter role ar not identified => ok
         w> alter role nosuch not identified => ORA-01919: role 'NOSUCH' does not exist
         u> alter role nosuch not identified => ORA-01031
         w> alter role \"PUBLIC\" not identified => ORA-01919
         w> alter role o not identified => ORA-01919
         w> alter role ar => ORA-00922
         w> alter role ar identified externally => ORA-03001
         u> set role ar => ok
         u!> select role from session_roles => AR",
    );
}

#[test]
fn privileges_of_a_password_file_and_roles_of_units_are_refused() {
    let mut db = Db::new();
    db.users(&["u", "w"]);
    db.play(
        "sys> grant dba to w => ok
         sys> grant sysdba to u => ORA-01994: GRANT failed: password file missing or disabled
         sys> grant sysoper, create table to u => ORA-01994
         sys> revoke sysdba from u => ORA-01994
         w!> grant sysdba to u => ORA-01031
         w> revoke sysbackup from u => ORA-01031
         sys> create role pr => ok
         sys> create procedure p as begin null; end; => ok
         sys> grant pr to procedure p => ORA-03001
         sys> revoke pr from function u.f => ORA-03001",
    );
}

#[test]
fn set_role_enables_and_disables() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create procedure, create table to o, u => ok
         o> create table t (n number) => ok
         sys> create role r1 => ok
         sys> create role r2 => ok
         sys> create role r3 => ok
         sys> create role outer => ok
         sys> create role secret identified by pass => ok
         sys> grant select on o.t to r1 => ok
         sys> grant r3 to outer => ok
         sys> grant r1, r2, outer to u => ok
         u!> select role from session_roles order by 1 => OUTER; R1; R2; R3
         u> select count(*) from o.t => 0
         u> set role none => ok
         u> select role from session_roles order by 1 => ok
         u> select count(*) from o.t => ORA-00942
         u> set role r1 => ok
         u> select role from session_roles order by 1 => R1
         u> select count(*) from o.t => 0
         u> set role r2, outer => ok
         u> select role from session_roles order by 1 => OUTER; R2; R3
         u> set role all except outer => ok
         u> select role from session_roles order by 1 => R1; R2
         u> set role all => ok
         u> set role dba => ORA-01924
         u> set role nosuch => ORA-01919
         u> select role from session_roles order by 1 => OUTER; R1; R2; R3
         sys> grant secret to u => ok
         sys> grant update on o.t to secret => ok
         u! > select role from session_roles order by 1 => OUTER; R1; R2; R3
         u> set role secret => ORA-01979
         u> set role secret identified by wrong => ORA-01979
         u> set role all => ORA-01979
         u> set role secret identified by pass => ok
         u> select role from session_roles => SECRET
         u> update o.t set n = 1 => ok
         u> set role all except secret => ok
         u> update o.t set n = 1 => ORA-01031
         u> create procedure sr(x varchar2) as begin execute immediate x; end; => ok
         u> begin sr('set role none'); end; => ORA-06565
         u> begin execute immediate 'set role r1'; end; => ok
         u> select role from session_roles => R1
         u> begin dbms_session.set_role('none'); end; => ok
         u> select role from session_roles => ok
         u> set role connect => ORA-01924",
    );
}

#[test]
fn roles_granted_later_wait_and_direct_grants_do_not() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create table to o => ok
         o> create table t (n number) => ok
         o> create table d (n number) => ok
         sys> create role r => ok
         sys> grant select on o.t to r => ok
         u> select count(*) from o.t => ORA-00942
         sys> grant r to u => ok
         u> select count(*) from o.t => ORA-00942
         u> set role r => ok
         u> select count(*) from o.t => 0
         u> select count(*) from o.d => ORA-00942
         o> grant select on d to u => ok
         u> select count(*) from o.d => 0
         o> grant insert on d to r => ok
         u> insert into o.d values (1) => ok
         u> rollback => ok
         u!> select count(*) from o.t => 0",
    );
}

#[test]
fn default_roles_are_those_of_the_user() {
    let mut db = Db::new();
    db.users(&["u"]);
    db.play(
        "sys> create role r1 => ok
         sys> create role r2 => ok
         sys> create role r3 => ok
         sys> grant r1, r2 to u => ok
         u!> select role from session_roles order by 1 => R1; R2
         sys> alter user u default role none => ok
         u!> select role from session_roles order by 1 => ok
         u> select granted_role, default_role from user_role_privs order by 1 => R1,NO; R2,NO
         sys> alter user u default role r1 => ok
         u!> select role from session_roles order by 1 => R1
         u> select granted_role, default_role from user_role_privs order by 1 => R1,YES; R2,NO
         sys> grant r3 to u => ok
         u!> select role from session_roles order by 1 => R1
         sys> alter user u default role all except r1 => ok
         u!> select role from session_roles order by 1 => R2; R3
         sys> alter user u default role all => ok
         u!> select role from session_roles order by 1 => R1; R2; R3
         sys> create role r4 => ok
         sys> grant r4 to u => ok
         u!> select role from session_roles order by 1 => R1; R2; R3; R4
         sys> alter user u default role dba => ORA-01955
         u> alter user u default role all => ORA-01031",
    );
}

#[test]
fn an_invokers_unit_needs_to_inherit_its_callers_privileges() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create procedure, create table, create view to o, u => ok
         o> create procedure p authid current_user as begin dbms_output.put_line(sys_context('userenv','current_user')); end; => ok
         o> create function f return varchar2 authid current_user as begin return sys_context('userenv','current_user'); end; => ok
         o> create view vi bequeath current_user as select f from dual => ok
         o> grant execute on p to public => ok
         o> grant execute on f to public => ok
         o> grant select on vi to public => ok
         u> begin dbms_output.enable; o.p; end; => U
         u> revoke inherit privileges on user u from public => ok
         u> begin o.p; end; => ORA-06598
         u> select o.f from dual => ORA-06598
         u> select * from o.vi => ORA-06598
         u> grant inherit privileges on user u to o => ok
         u> begin o.p; end; => U
         sys> begin o.p; end; => ORA-06598
         sys> grant inherit privileges on user sys to o => ok
         sys> begin dbms_output.enable; o.p; end; => SYS
         sys> revoke inherit privileges on user sys from o => ok
         sys> grant inherit any privileges to o => ok
         sys> begin o.p; end; => SYS
         o> begin dbms_output.enable; p; end; => O
         o> grant inherit privileges on user u to x => ORA-",
    );
}

#[test]
fn a_role_identified_using_a_package_is_enabled_by_it_alone() {
    let mut db = Db::new();
    db.users(&["o", "u"]);
    db.play(
        "sys> grant create procedure, create table to o, u => ok
         o> create table t (n number) => ok
         sys> create role r identified using o.gate => ok
         sys> grant select on o.t to r => ok
         sys> grant r to u => ok
         sys> select authentication_type from dba_roles where role = 'R' => APPLICATION
         o> create package gate authid current_user as procedure open(k varchar2); procedure run(s varchar2); end; => ok
         o> create package body gate as
              procedure open(k varchar2) as begin if k = 'key' then dbms_session.set_role('r'); end if; end;
              procedure run(s varchar2) as begin execute immediate s; end;
            end; => ok
         o> grant execute on gate to u => ok
         u! > select count(*) from session_roles => 0
         u> set role r => ORA-28201
         u> set role all => ORA-28201
         u> begin dbms_session.set_role('r'); end; => ORA-28201
         u> create package gate authid current_user as procedure open; end; => ok
         u> create package body gate as procedure open as begin dbms_session.set_role('r'); end; end; => ok
         u> begin gate.open; end; => ORA-28201
         u> begin o.gate.open('wrong'); end; => ok
         u> select count(*) from o.t => ORA-00942
         u> begin o.gate.open('key'); end; => ok
         u> select count(*) from o.t => 0
         u> select role from session_roles => R
         u> set role none => ok
         u> select count(*) from o.t => ORA-00942
         sys> alter user u default role r => ok
         u! > select count(*) from session_roles => 0
         sys> create user x identified using o.gate => ORA-00922",
    );
}
