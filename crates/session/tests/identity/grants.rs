//! Grants: GRANT, WITH GRANT OPTION, REVOKE, and the reach of each privilege.

use crate::Db;

#[test]
fn grants_that_hold_one_another_up_go_with_the_owners() {
    let mut db = Db::new();
    db.users(&["o", "a", "b", "c"]);
    db.play(
        "sys> grant create table to o => ok
         o> create table t (n number, m number) => ok
         o> grant select on t to a with grant option => ok
         a> grant select on o.t to b with grant option => ok
         b> grant select on o.t to a with grant option => ok
         b> grant select on o.t to c => ok
         o> revoke select on t from a => ok
         o> select count(*) from user_tab_privs_made => 0
         a> select * from o.t => ORA-00942
         b> select * from o.t => ORA-00942
         c> select * from o.t => ORA-00942
         o> grant select on t to a with grant option => ok
         o> grant select on t to b with grant option => ok
         a> grant select on o.t to c => ok
         b> grant select on o.t to c => ok
         b> grant select on o.t to a with grant option => ok
         o> revoke select on t from a => ok
         a> select count(*) from o.t => 0
         c> select count(*) from o.t => 0
         o> select grantor || grantee from user_tab_privs_made order by 1 => AC; BA; BC; OB
         o> revoke select on t from b => ok
         o> select count(*) from user_tab_privs_made => 0",
    );
}

#[test]
fn an_option_on_a_column_holds_up_what_was_passed_on_of_that_column() {
    let mut db = Db::new();
    db.users(&["o", "a", "b"]);
    db.play(
        "sys> grant create table to o => ok
         o> create table t (n number, m number) => ok
         o> grant update on t to a with grant option => ok
         o> grant update (n) on t to b with grant option => ok
         b> grant update (n) on o.t to a with grant option => ok
         a> grant update (n) on o.t to b => ok
         a> grant update (m) on o.t to b => ok
         o> revoke update on t from a => ok
         o> select grantor || grantee || column_name from user_col_privs_made order by 1 => ABN; BAN; OBN
         o> select count(*) from user_tab_privs_made => 0
         b> update o.t set m = 1 => ORA-01031
         b> update o.t set n = 1 => ok",
    );
}

#[test]
fn a_foreign_key_of_a_user_further_down_the_chain_needs_cascade() {
    let mut db = Db::new();
    db.users(&["o", "a", "b"]);
    db.play(
        "sys> grant create table to o, b => ok
         o> create table t (n number primary key) => ok
         o> grant references on t to a with grant option => ok
         a> grant references on o.t to b => ok
         b> create table k (n number references o.t) => ok
         o> revoke references on t from a => ORA-01981
         o> select count(*) from user_tab_privs_made => 2
         o> revoke references on t from a cascade constraints => ok
         b> insert into k values (1) => ok",
    );
}

#[test]
fn read_locks_no_rows_through_any_query() {
    let mut db = Db::new();
    db.users(&["o", "a", "v"]);
    db.play(
        "sys> grant create table, create view to o, v => ok
         o> create table t (n number) => ok
         o> create table s (n number) => ok
         o> insert into t values (1) => ok
         o> insert into s values (1) => ok
         o> commit => ok
         o> grant read on t to a => ok
         o> grant select on s to a => ok
         a> select * from o.t for update => ORA-01031
         a> select * from (select * from o.t) for update => ORA-01031
         a> select * from (select * from (select n from o.t where n = 1)) for update => ORA-01031
         a> with x as (select * from o.t) select * from x for update => ORA-01031
         a> select x.n from o.s, (select * from o.t) x for update of s.n => ORA-01031
         a> select n from (select * from o.t) => 1
         a> select n from (select * from o.s where n in (select n from o.t)) for update => 1
         a> select (select max(n) from o.t) from o.s for update => 1
         a> rollback => ok
         o> grant read on t to v with grant option => ok
         v> create view w as select * from o.t => ok
         v> select * from w for update => ORA-01031
         v> grant read on w to a => ok
         a> select * from v.w => 1
         a> select * from v.w for update => ORA-01031",
    );
}
