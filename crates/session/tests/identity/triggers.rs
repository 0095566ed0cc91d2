//! Triggers: their rights, and other sessions that use their tables.

use crate::Db;

/// `o` owns the table T with a trigger that writes into LOG; `u` may insert into T only.
fn logged() -> Db {
    let mut db = Db::new();
    db.users(&["o", "u", "x"]);
    db.play(
        "sys> grant create table, create trigger, create procedure to o => ok
         o> create table t (n number, w varchar2(30)) => ok
         o> create table log (w varchar2(30)) => ok
         o> create trigger tr after insert on t for each row begin insert into log values (user || sys_context('userenv', 'current_user') || :new.n); end; => ok
         o> grant insert on t to u => ok",
    );
    db
}

#[test]
fn a_trigger_has_the_rights_of_its_owner() {
    let mut db = logged();
    db.play(
        "u> insert into o.log values ('x') => ORA-00942
         u> insert into o.t (n) values (1) => ok
         u> commit => ok
         o> select w from log => UO1
         u> create trigger u.ut before insert on o.t begin null; end; => ORA-01031
         x> create trigger x.xt before insert on o.t begin null; end; => ORA-01031
         sys> grant create trigger to x => ok
         x> create trigger x.xt before insert on o.t begin null; end; => ORA-00942
         u> alter trigger o.tr disable => ORA-04080
         u> drop trigger o.tr => ORA-04080
         sys> grant create any trigger to x => ok
         x> create trigger x.xt before insert on o.t for each row begin :new.w := 'by x'; end; => ok
         u> insert into o.t (n) values (2) => ok
         u> commit => ok
         o> select w from t where n = 2 => by x
         x> create trigger x.bad before insert on o.t begin insert into o.log values ('x'); end; => ok
         u> insert into o.t (n) values (3) => ORA-04098
         u> rollback => ok
         x> alter trigger x.xt disable => ok
         x> alter trigger o.tr disable => ORA-01031
         x> drop trigger x.bad => ok
         u> insert into o.t (n) values (4) => ok
         u> commit => ok
         o> select n, w from t where n > 2 => 4,-",
    );
}

#[test]
fn cursors_of_other_sessions_follow_the_triggers() {
    let mut db = logged();
    db.play(
        "u> insert into o.t (n) values (1) => ok
         u> commit => ok
         o> create or replace trigger tr after insert on t for each row begin insert into log values ('new' || :new.n); end; => ok
         u> insert into o.t (n) values (1) => ok
         u> commit => ok
         o> alter trigger tr disable => ok
         u> insert into o.t (n) values (1) => ok
         u> commit => ok
         o> alter table t enable all triggers => ok
         u> insert into o.t (n) values (1) => ok
         o> drop trigger tr => ORA-00054
         u> commit => ok
         o> drop trigger tr => ok
         u> insert into o.t (n) values (1) => ok
         u> commit => ok
         o> select w from log order by w => UO1; new1; new1",
    );
}

#[test]
fn the_rights_of_a_triggers_owner_are_checked_when_it_is_compiled_again() {
    let mut db = logged();
    db.play(
        "sys> grant create any trigger to x => ok
         o> grant insert on log to x => ok
         x> create trigger x.xt after insert on o.t begin insert into o.log values ('x'); end; => ok
         u> insert into o.t (n) values (1) => ok
         u> commit => ok
         o> revoke insert on log from x => ok
         u> insert into o.t (n) values (2) => ORA-04098
         o> grant insert on log to x => ok
         u> insert into o.t (n) values (3) => ok
         u> rollback => ok
         o> select w from log order by w => UO1; x",
    );
}

#[test]
fn a_dropped_user_takes_its_triggers_along() {
    let mut db = logged();
    db.play(
        "sys> create user y identified by y => ok
         sys> grant unlimited tablespace to y => ok
         sys> create trigger y.yt before insert on o.t for each row begin :new.w := 'y'; end; => ok
         sys> create table y.yy (n number) => ok
         sys> create trigger o.oy after insert on y.yy begin null; end; => ok
         u> insert into o.t (n) values (1) => ok
         u> commit => ok
         sys> drop user y cascade => ok
         u> insert into o.t (n) values (2) => ok
         u> commit => ok
         o> select n, w from t order by n => 1,y; 2,-
         o> select trigger_name, status from user_triggers => TR,ENABLED
         sys> select count(*) from trigger$ => 1",
    );
}

#[test]
fn the_owner_of_a_table_sees_the_triggers_of_other_users_on_it() {
    let mut db = logged();
    db.play(
        "sys> grant create any trigger to x => ok
         x> create trigger x.xt before insert on o.t for each row begin :new.w := 'x'; end; => ok
         sys> revoke create any trigger from x => ok
         o> select owner, trigger_name from all_triggers where table_name = 'T' order by 1 => O,TR; X,XT
         o> select trigger_owner, column_name from all_trigger_cols where table_name = 'T' order by 1 => O,N; X,W
         x> select owner, trigger_name from all_triggers where table_name = 'T' order by 1 => X,XT
         u> select count(*) from all_triggers where table_name = 'T' => 0",
    );
}
