//! Actions: statements, and the privileges that each needs.

/// The object of an action. It decides the form of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// O's table, or the view over it.
    Table,
    /// A table or view of O's without any grants.
    OtherTable,
    Sequence,
    OtherSequence,
    Function,
    Procedure,
    /// O's object type.
    Type,
    /// A type of O's, named in DDL.
    OtherType,
    /// A procedure of O's, named in DDL.
    OtherUnit,
    /// A trigger of O's, named in DDL.
    OtherTrigger,
    Index,
    /// O's function or procedure, in GRANT EXECUTE.
    Units,
    /// O's table, through DBMS_STATS.
    Statistics,
    /// O's table, in REVOKE.
    Granted,
    /// The schema of O, or the system: the refusal does not hide whether the object exists.
    System,
    /// A role that is granted.
    Role,
    /// Views of the dictionary and of the instance.
    Catalog,
    /// Tables of the dictionary.
    Dictionary,
    /// A package of SYS.
    Package,
    /// The same, in SQL.
    PackageInSql,
    /// Another user's cursor, which DBMS_XPLAN shows or hides.
    Cursor,
}

/// A statement, with `{t}`, `{q}`, `{f}`, `{p}`, `{y}` for the names and `{n}` for a name unique to the way, and its
/// required privileges: one of each list.
pub struct Action {
    pub text: &'static str,
    pub on: On,
    pub needs: &'static [&'static [&'static str]],
    /// Names in it are not resolved through synonyms, and it commits.
    pub ddl: bool,
    /// It reads or changes rows, so it may also use a view.
    pub rows: bool,
    /// O may always do it.
    pub owners: bool,
    /// The role DBA suffices.
    pub dba: bool,
    /// A statement of SYS that restores the former state, if the action removes something.
    pub again: &'static str,
}

type Needs = &'static [&'static [&'static str]];

const READ: &[&str] = &["select", "read", "select any table", "read any table"];
const SELECT: &[&str] = &["select", "select any table"];
const INSERT: &[&str] = &["insert", "insert any table"];
const UPDATE: &[&str] = &["update", "update any table"];
const UPDATE_B: &[&str] = &["update", "update (b)", "update any table"];
const INSERT_A: &[&str] = &["insert", "insert (a)", "insert any table"];
const DELETE: &[&str] = &["delete", "delete any table"];
const EXECUTE: &[&str] = &["execute", "execute any procedure"];
const CATALOG: Needs = &[&["select any dictionary", "select_catalog_role"]];
const ANY_GRANT: &str = "grant any object privilege";

const PLAIN: Action =
    Action { text: "", on: On::Table, needs: &[], ddl: false, rows: false, owners: true, dba: true, again: "" };

const fn rows(text: &'static str, needs: Needs) -> Action {
    Action { text, needs, rows: true, ..PLAIN }
}

const fn table(text: &'static str, needs: Needs) -> Action {
    Action { text, needs, ..PLAIN }
}

const fn other(text: &'static str, on: On, needs: Needs) -> Action {
    Action { text, on, needs, ..PLAIN }
}

const fn ddl(text: &'static str, on: On, needs: Needs) -> Action {
    Action { text, on, needs, ddl: true, ..PLAIN }
}

const fn drops(text: &'static str, on: On, needs: Needs, again: &'static str) -> Action {
    Action { text, on, needs, ddl: true, again, ..PLAIN }
}

/// An action that O may not do merely as the owner.
const fn system(text: &'static str, needs: Needs) -> Action {
    Action { text, on: On::System, needs, ddl: true, owners: false, ..PLAIN }
}

/// An action that only SYS may do.
const fn of_sys(text: &'static str) -> Action {
    Action { text, on: On::Dictionary, ddl: true, owners: false, dba: false, ..PLAIN }
}

const fn catalog(text: &'static str, on: On, needs: Needs) -> Action {
    Action { text, on, needs, owners: false, ..PLAIN }
}

pub const ACTIONS: &[Action] = &[
    // Rows.
    rows("select a from {t}", &[READ]),
    rows("select count(*) from {t} where exists (select null from {t})", &[READ]),
    rows(
        "select n from (with r (n) as (select 1 from dual union all select n + 1 from r, {t} where n < 3) select n from r)",
        &[READ],
    ),
    rows("select a from {t} sample (50) seed (1)", &[READ]),
    rows("select v from {t}, json_table(to_char(a), '$' columns (v number path '$'))", &[READ]),
    rows("select json_arrayagg(b order by a) from {t}", &[READ]),
    rows("select v from {t}, xmltable('/r' passing xmlelement(\"r\", a) columns v number path '.')", &[READ]),
    rows("select xmlagg(xmlelement(\"x\", b) order by a).getclobval() from {t}", &[READ]),
    // The table is not partitioned, which only a reader of it may learn.
    table("select a from {t} partition (p)", &[READ]),
    table("delete from {t} partition (p)", &[DELETE]),
    rows("select a from {t} for update", &[SELECT]),
    rows("insert into {t} (a) values (9)", &[INSERT_A]),
    rows("insert into {t} (a, b) values (9, 9)", &[INSERT]),
    rows("insert into {t} values (9, 9)", &[INSERT]),
    rows("insert into {t} select a + 100, b from {t}", &[INSERT, READ]),
    rows("insert all into {t} (a) values (9) select 1 from dual", &[INSERT_A]),
    // The table is no error log, which only users who may insert learn.
    table("insert into {t} (a) values (9) log errors into {t}", &[INSERT]),
    rows("update {t} set b = 1", &[UPDATE_B]),
    rows("update {t} set a = 1", &[UPDATE]),
    rows("update {t} set b = b + 1", &[UPDATE_B, READ]),
    rows("update {t} set b = 1 where a = 1", &[UPDATE_B, READ]),
    rows("delete from {t}", &[DELETE]),
    rows("delete from {t} where a = 1", &[DELETE, READ]),
    rows("delete from {t} where rowid is null", &[DELETE, READ]),
    rows("merge into {t} using dual on (1 = 0) when matched then update set b = 1", &[UPDATE_B]),
    rows("merge into {t} using dual on (1 = 0) when not matched then insert (a) values (9)", &[INSERT_A]),
    rows("merge into {t} m using dual on (m.a = 1) when matched then update set b = 1", &[UPDATE_B, READ]),
    // In a cursor that is returned in a row or as a result of a block.
    rows("select cursor(select a from {t}) c from dual", &[READ]),
    rows(
        "begin declare c sys_refcursor; begin open c for select a from {t}; dbms_sql.return_result(c); end; end;",
        &[READ],
    ),
    rows(
        "begin declare c integer := dbms_sql.open_cursor; begin dbms_sql.parse(c, 'select a from {t}', 1); \
         dbms_sql.close_cursor(c); exception when others then dbms_sql.close_cursor(c); raise; end; end;",
        &[READ],
    ),
    // In FROM of a statement on another object.
    rows("select /*+ result_cache */ max(a) from {t}", &[READ]),
    ddl("create table {n}_c as select a from {t}", On::Table, &[READ]),
    ddl("create materialized view {n}_m as select a from {t}", On::Table, &[READ]),
    ddl("create materialized view {n}_d build deferred as select a from {t}", On::Table, &[READ]),
    table(
        "select a from {t} versions between scn minvalue and maxvalue",
        &[READ, &["flashback", "flashback any table"]],
    ),
    rows("update {t} set b = (select max(b) from {t})", &[UPDATE_B, READ]),
    rows("merge into {t} m using {t} s on (m.a = s.a) when matched then update set m.b = s.b", &[UPDATE_B, READ]),
    table("explain plan for select a from {t}", &[READ]),
    table("explain plan for delete from {t}", &[DELETE]),
    table("select a from {t} as of scn 1", &[READ, &["flashback", "flashback any table"]]),
    table("select a from {t} as of timestamp systimestamp", &[READ, &["flashback", "flashback any table"]]),
    table(
        "lock table {t} in share mode",
        &[&[
            "select",
            "insert",
            "update",
            "delete",
            "lock any table",
            "select any table",
            "insert any table",
            "update any table",
            "delete any table",
        ]],
    ),
    // The table itself. A foreign key to it prevents permitted users from dropping it.
    ddl("alter table {t} modify (a null)", On::Table, &[&["alter", "alter any table"]]),
    ddl("drop table {t}", On::Table, &[&["drop any table"]]),
    ddl("alter table {t} move partition p", On::Table, &[&["alter", "alter any table"]]),
    ddl("alter table {t} truncate partition p", On::Table, &[&["alter", "alter any table"], &["drop any table"]]),
    ddl("alter table {t} drop partition p", On::Table, &[&["alter", "alter any table"], &["drop any table"]]),
    // The one table and the other.
    ddl(
        "alter table {t} exchange partition p with table {t}",
        On::Table,
        &[&["alter any table"], &["drop any table"], SELECT, INSERT],
    ),
    ddl("truncate table {t}", On::Table, &[&["drop any table"]]),
    ddl("truncate table {t} cascade", On::Table, &[&["drop any table"]]),
    ddl("comment on table {t} is 'c'", On::Table, &[&["comment any table"]]),
    ddl("comment on column {t}.a is 'c'", On::Table, &[&["comment any table"]]),
    ddl("analyze table {t} compute statistics", On::Table, &[&["analyze any"]]),
    ddl("audit select on {t}", On::Table, &[&["audit any"]]),
    ddl("noaudit select on {t}", On::Table, &[&["audit any"]]),
    ddl("create index {n} on {t} (b)", On::Table, &[&["index", "create any index"]]),
    // Neither an ANY privilege nor a role includes REFERENCES.
    Action {
        text: "create table {n} (a number references {t})",
        needs: &[&["references"]],
        ddl: true,
        dba: false,
        ..PLAIN
    },
    ddl("grant select on {t} to z2", On::Table, &[&["select+", ANY_GRANT]]),
    ddl("grant select on {t} to z2 with grant option", On::Table, &[&["select+", ANY_GRANT]]),
    ddl("grant update (b) on {t} to z2", On::Table, &[&["update+", "update (b)+", ANY_GRANT]]),
    ddl("grant update on {t} to z2", On::Table, &[&["update+", ANY_GRANT]]),
    ddl("grant select, update on {t} to z2", On::Table, &[&["select+", ANY_GRANT], &["update+", ANY_GRANT]]),
    ddl("grant delete on {t} to z2", On::Table, &[&[ANY_GRANT]]),
    drops("revoke insert on {t} from z3", On::Granted, &[&[ANY_GRANT]], "grant insert on o.t to z3"),
    other("begin dbms_stats.gather_table_stats('O', 'T'); end;", On::Statistics, &[&["analyze any"]]),
    other(
        "begin declare c clob; begin c := dbms_stats.report_col_usage('O', 'T'); end; end;",
        On::Statistics,
        &[&["analyze any"]],
    ),
    catalog("begin dbms_stats.delete_dictionary_stats; end;", On::Statistics, &[&["analyze any dictionary"]]),
    catalog("begin dbms_stats.delete_fixed_objects_stats; end;", On::Statistics, &[&["analyze any dictionary"]]),
    // O's other objects.
    other("select {q}.nextval from dual", On::Sequence, &[&["select", "select any sequence"]]),
    other("select {f} from dual", On::Function, &[EXECUTE]),
    other("begin {p}; end;", On::Procedure, &[EXECUTE]),
    other("select {y}(1).a from dual", On::Type, &[&["execute", "execute any type"]]),
    other("select {y}(1).m() from dual", On::Type, &[&["execute", "execute any type"]]),
    other("select {y}.s() from dual", On::Type, &[&["execute", "execute any type"]]),
    drops("drop type o.dty", On::OtherType, &[&["drop any type"]], "create type o.dty as object (a number)"),
    ddl("alter sequence {q} nocache", On::Sequence, &[&["alter", "alter any sequence"]]),
    ddl("grant select on {q} to z2", On::Sequence, &[&[ANY_GRANT]]),
    ddl("grant execute on {p} to z2", On::Units, &[&["execute+", ANY_GRANT]]),
    drops("drop table o.dt", On::OtherTable, &[&["drop any table"]], "create table o.dt (a number)"),
    drops("drop view o.dv", On::OtherTable, &[&["drop any view"]], "create view o.dv as select a from o.t"),
    ddl("alter view o.dv compile", On::OtherTable, &[&["alter any table"]]),
    drops("drop sequence o.dq", On::OtherSequence, &[&["drop any sequence"]], "create sequence o.dq"),
    drops(
        "drop procedure o.dp",
        On::OtherUnit,
        &[&["drop any procedure"]],
        "create procedure o.dp is begin null; end;",
    ),
    drops("drop package o.dk", On::OtherUnit, &[&["drop any procedure"]], "create package o.dk is n number; end;"),
    ddl("alter procedure o.dp compile", On::OtherUnit, &[&["alter any procedure"]]),
    drops(
        "drop trigger o.dg",
        On::OtherTrigger,
        &[&["drop any trigger"]],
        "create trigger o.dg before insert on o.dt2 begin null; end;",
    ),
    ddl("alter trigger o.dg disable", On::OtherTrigger, &[&["alter any trigger"]]),
    ddl("alter trigger o.dg compile", On::OtherTrigger, &[&["alter any trigger"]]),
    drops("drop index o.di", On::Index, &[&["drop any index"]], "create index o.di on o.dt2 (a)"),
    ddl("alter index o.di rebuild", On::Index, &[&["alter any index"]]),
    ddl("alter index o.di rename to di", On::Index, &[&["alter any index"]]),
    drops("drop synonym o.dy", On::System, &[&["drop any synonym"]], "create synonym o.dy for o.t"),
    // In O's schema.
    ddl("create table o.mt (a number)", On::System, &[&["create any table"]]),
    ddl("create view o.mv as select a from o.t", On::System, &[&["create any view"]]),
    ddl("create or replace view o.mv as select b from o.t", On::System, &[&["create any view"]]),
    ddl("create sequence o.mq", On::System, &[&["create any sequence"]]),
    ddl("create synonym o.my for o.t", On::System, &[&["create any synonym"]]),
    ddl("create procedure o.mp is begin null; end;", On::System, &[&["create any procedure"]]),
    ddl("create or replace procedure o.mp is begin null; end;", On::System, &[&["create any procedure"]]),
    ddl("create or replace package o.mk is n number; end;", On::System, &[&["create any procedure"]]),
    ddl("create trigger o.mg before insert on o.dt2 begin null; end;", On::System, &[&["create any trigger"]]),
    ddl(
        "create or replace trigger o.mg after delete on o.dt2 begin null; end;",
        On::System,
        &[&["create any trigger"]],
    ),
    // In the schema of SYS, where no ANY privilege applies.
    Action { dba: false, ..system("create table sys.mt (a number)", &[]) },
    Action { dba: false, ..system("create or replace procedure sys.mp is begin null; end;", &[]) },
    Action { dba: false, ..system("create view sys.mv as select 1 a from dual", &[]) },
    // SYS's own table and procedure.
    catalog("select count(*) from sys.st", On::Dictionary, &[&["select any dictionary"]]),
    of_sys("select a from sys.st for update"),
    of_sys("insert into sys.st values (1)"),
    of_sys("update sys.st set a = 1"),
    of_sys("delete from sys.st"),
    of_sys("lock table sys.st in share mode"),
    of_sys("alter table sys.st modify (a null)"),
    of_sys("drop table sys.st"),
    of_sys("truncate table sys.st"),
    of_sys("comment on table sys.st is 'c'"),
    of_sys("analyze table sys.st compute statistics"),
    of_sys("create index {n}_s on sys.st (a)"),
    of_sys("grant select on sys.st to z2"),
    of_sys("lock table sys.obj$ in share mode"),
    of_sys("select name from sys.obj$ for update"),
    Action { dba: false, ..catalog("begin sys.sp; end;", On::Package, &[]) },
    // The system.
    system("create or replace context matrix_context using p", &[&["create any context"]]),
    Action {
        again: "create or replace context dropped using p",
        ..system("drop context dropped", &[&["drop any context"]])
    },
    // A trigger on the database, and one on another schema.
    system(
        "create or replace trigger et after startup on database begin null; end;",
        &[&["administer database trigger"], &["create trigger", "create any trigger"]],
    ),
    ddl(
        "create or replace trigger o.et2 after logon on o.schema begin null; end;",
        On::System,
        &[&["create any trigger"]],
    ),
    system("alter system set open_cursors = 300", &[&["alter system"]]),
    system("alter system set \"_switch_result_cache\" = 'versioned'", &[&["alter system"]]),
    system("alter system set \"_switch_cache_buffers_chains\" = 'versioned'", &[&["alter system"]]),
    system("alter system set \"_switch_row_cache\" = 'versioned'", &[&["alter system"]]),
    system("alter system set \"_switch_library_cache\" = 'versioned'", &[&["alter system"]]),
    system("alter system set \"_switch_latch_sleep\" = 'post'", &[&["alter system"]]),
    system("alter system set \"_switch_holder\" = ''", &[&["alter system"]]),
    system("alter system set \"_latch_recording\" = 0", &[&["alter system"]]),
    system("alter session set events '10046 trace name context off'", &[&["alter session"]]),
    system("alter session set sql_trace = false", &[&["alter session"]]),
    system("alter system kill session '9999,1'", &[&["alter system"]]),
    system("commit force '9999.9.9'", &[&["force transaction", "force any transaction"]]),
    system("rollback force '9999.9.9'", &[&["force transaction", "force any transaction"]]),
    system("alter database default tablespace users", &[&["alter database"]]),
    system("alter database set default smallfile tablespace", &[&["alter database"]]),
    system("alter database datafile 'nosuch' resize 2m", &[&["alter database"]]),
    system("alter database begin backup", &[&["alter database"]]),
    system("alter database drop logfile group 99", &[&["alter database"]]),
    system("alter database recover datafile 'nosuch'", &[&["alter database"]]),
    system("alter tablespace users online", &[&["alter tablespace"]]),
    system("create tablespace users datafile size 1m", &[&["create tablespace"]]),
    system("audit create session by z2", &[&["audit system"]]),
    system("noaudit create session by z2", &[&["audit system"]]),
    system("create profile mf limit sessions_per_user 5", &[&["create profile"]]),
    system("alter profile default limit sessions_per_user unlimited", &[&["alter profile"]]),
    system("drop profile nosuch", &[&["drop profile"]]),
    system("create user mu identified by x", &[&["create user"]]),
    system("alter user z2 account unlock", &[&["alter user"]]),
    system("alter user z2 identified by z2", &[&["alter user"]]),
    system("alter user nosuch account unlock", &[&["alter user"]]),
    Action { dba: false, ..system("alter user sys account unlock", &[]) },
    system("alter user z2 grant connect through z3", &[&["alter user"]]),
    system("alter user nosuch revoke connect through z3", &[&["alter user"]]),
    Action { dba: false, ..system("alter user sys grant connect through z3", &[]) },
    system("create edition me", &[&["create any edition"]]),
    system("drop edition nosuch", &[&["drop any edition"]]),
    system("alter database default edition = nosuch", &[&["alter database"]]),
    system("drop user nosuch", &[&["drop user"]]),
    system("create role mr", &[&["create role"]]),
    system("drop role nosuch", &[&["drop any role"]]),
    system("alter role nosuch not identified", &[&["alter any role"]]),
    system("create or replace public synonym dps for o.t", &[&["create public synonym"]]),
    Action {
        again: "create or replace public synonym dps for o.t",
        ..system("drop public synonym dps", &[&["drop public synonym"]])
    },
    system("create or replace directory dd as '/nowhere'", &[&["create any directory"]]),
    Action {
        again: "create or replace directory dd as '/nowhere'",
        ..system("drop directory dd", &[&["drop any directory"]])
    },
    system("grant create table to z2", &[&["create table+", "grant any privilege"]]),
    system("grant select any table to z2 with admin option", &[&["select any table+", "grant any privilege"]]),
    Action {
        again: "grant create table to z3",
        ..system("revoke create table from z3", &[&["create table+", "grant any privilege"]])
    },
    Action { on: On::Role, ..system("grant zr to z2", &[&["grant any role"]]) },
    Action { on: On::Role, again: "grant zr to z3", ..system("revoke zr from z3", &[&["grant any role"]]) },
    Action { dba: false, ..system("grant inherit privileges on user sys to z2", &[]) },
    // The dictionary and the instance.
    catalog("select count(*) from v$sql", On::Catalog, CATALOG),
    catalog("select count(*) from v$session", On::Catalog, CATALOG),
    catalog("select count(*) from v$sql_plan", On::Catalog, CATALOG),
    catalog("select count(*) from v$sql_plan_statistics", On::Catalog, CATALOG),
    catalog("select count(*) from v$sql_plan_statistics_all", On::Catalog, CATALOG),
    catalog("select count(*) from v$parameter", On::Catalog, CATALOG),
    catalog("select count(*) from dba_users", On::Catalog, CATALOG),
    catalog("select count(*) from dba_hist_snapshot", On::Catalog, CATALOG),
    catalog("select count(*) from dba_audit_trail", On::Catalog, CATALOG),
    catalog("select count(*) from sys.obj$", On::Dictionary, &[&["select any dictionary"]]),
    catalog("select count(*) from sys.aud$", On::Dictionary, &[&["select any dictionary"]]),
    Action { dba: false, ..catalog("select count(*) from sys.user$", On::Dictionary, &[]) },
    Action { dba: false, ..catalog("select count(*) from sys.user_history$", On::Dictionary, &[]) },
    Action { dba: false, ..catalog("select count(*) from x$ksuprlat", On::Catalog, &[]) },
    Action { dba: false, ..catalog("select count(*) from x$kcbwds", On::Catalog, &[]) },
    Action { dba: false, ..catalog("select count(*) from x$ksl_recorded_get", On::Catalog, &[]) },
    catalog("select count(*) from v$latch_recording", On::Catalog, CATALOG),
    Action { dba: false, ..catalog("update sys.user$ set name = name", On::Dictionary, &[]) },
    Action { dba: false, ..catalog("delete from sys.obj$", On::Dictionary, &[]) },
    catalog("select count(*) from all_users", On::Catalog, &[]),
    catalog("select count(*) from v$version", On::Catalog, &[]),
    catalog("select count(*) from dba_cpool_info", On::Catalog, CATALOG),
    catalog("select count(*) from v$cpool_conn_info", On::Catalog, CATALOG),
    catalog("begin dbms_connection_pool.restore_defaults; end;", On::Package, &[&["dbms_connection_pool"]]),
    catalog("begin dbms_result_cache.flush; end;", On::Package, &[&["dbms_result_cache"]]),
    catalog(
        "begin dbms_workload_repository.drop_snapshot_range(1, 1); end;",
        On::Package,
        &[&["dbms_workload_repository"]],
    ),
    catalog(
        "select count(*) from table(dbms_workload_repository.awr_report_text(1, 1, 1, 2))",
        On::PackageInSql,
        &[&["dbms_workload_repository"]],
    ),
    catalog(
        "begin dbms_shared_pool.purge('0,0', 'C'); end;",
        On::Package,
        &[&["dbms_shared_pool", "execute_catalog_role"]],
    ),
    catalog("begin sys.dbms_lock.sleep(0); end;", On::Package, &[&["dbms_lock", "execute_catalog_role"]]),
    catalog("begin dbms_output.put_line('x'); end;", On::Package, &[]),
    catalog(
        "select 1 / count(*) from table(dbms_xplan.display_cursor('0000000000000')) \
         where plan_table_output not like 'User has no SELECT%'",
        On::Cursor,
        CATALOG,
    ),
];
