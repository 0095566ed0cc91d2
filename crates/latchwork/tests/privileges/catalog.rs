//! Dictionary views for tools: their contents, and the users who may read them.

use crate::{instance, logon, run};
use session::Session;
use types::Value;

/// The rows of a query, as lines.
fn lines(s: &mut Session, query: &str) -> Vec<String> {
    let rows = s.run(query).unwrap_or_else(|e| panic!("{query}: {e}"));
    let text = |value: &Value| {
        let mut out = String::new();
        value.write_text(&types::Nls::default(), &mut out).expect("a text");
        if value.is_null() { "-".into() } else { out }
    };
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn subprograms_and_their_arguments_are_shown_to_those_who_may_execute_them() {
    let instance = instance();
    let mut s = Session::in_process(instance.instance()).expect("a session");
    for user in ["o", "u", "v"] {
        run(&mut s, &format!("create user {user} identified by x"));
        run(&mut s, &format!("grant create session to {user}"));
    }
    for text in [
        "create function o.f(a number, b in out varchar2, c date default sysdate) return varchar2 deterministic is begin return b; end;",
        "create package o.pk authid current_user as procedure p(n pls_integer); function p return boolean; \
         procedure q(c sys_refcursor, t o.t.a%type); end;",
        "grant execute on o.f to u",
    ] {
        run(&mut s, text);
    }
    let procedures = "select owner, object_name, procedure_name, subprogram_id, overload, object_type, deterministic, authid \
                      from all_procedures where owner = 'O' order by object_name, subprogram_id";
    let f = "O F - 1 - FUNCTION YES DEFINER";
    let of_dba = [
        f,
        "O PK - 0 - PACKAGE NO CURRENT_USER",
        "O PK P 1 1 PACKAGE NO CURRENT_USER",
        "O PK P 2 2 PACKAGE NO CURRENT_USER",
        "O PK Q 3 - PACKAGE NO CURRENT_USER",
    ];
    assert_eq!(lines(&mut s, procedures), of_dba);
    let (mut u, mut v) = (logon(&instance, "u"), logon(&instance, "v"));
    assert_eq!(lines(&mut u, procedures), [f]);
    assert_eq!(lines(&mut v, procedures), [""; 0]);
    let arguments = "select object_name, package_name, overload, argument_name, position, sequence, data_type, in_out, defaulted \
                     from all_arguments where owner = 'O' order by package_name nulls first, subprogram_id, sequence";
    let of_f = [
        "F - - - 0 1 VARCHAR2 OUT N",
        "F - - A 1 2 NUMBER IN N",
        "F - - B 2 3 VARCHAR2 IN/OUT N",
        "F - - C 3 4 DATE IN Y",
    ];
    assert_eq!(lines(&mut u, arguments), of_f);
    assert_eq!(lines(&mut v, arguments), [""; 0]);
    let of_package = [
        "P PK 1 N 1 1 BINARY_INTEGER IN N",
        "P PK 2 - 0 1 PL/SQL BOOLEAN OUT N",
        "Q PK - C 1 1 REF CURSOR IN N",
        "Q PK - T 2 2 UNDEFINED IN N",
    ];
    assert_eq!(lines(&mut s, arguments)[4..], of_package);
    // The built-in packages have arguments, too.
    let sleep = "select argument_name, data_type from all_arguments where owner = 'SYS' and package_name = 'DBMS_SESSION' \
                 and object_name = 'SLEEP'";
    assert_eq!(lines(&mut v, sleep), ["SECONDS NUMBER"]);
}

#[test]
fn statistics_of_columns_lobs_and_types_have_their_views() {
    let instance = instance();
    let mut s = Session::in_process(instance.instance()).expect("a session");
    for text in [
        "create user o identified by x quota unlimited on users",
        "create user v identified by x",
        "grant create session to v",
        "create table o.t (n number, c clob, nothing number)",
        "insert into o.t (n) select level from dual connect by level <= 5",
        "commit",
        "create type o.numbers as table of number",
        "analyze table o.t compute statistics",
    ] {
        run(&mut s, text);
    }
    let histograms =
        "select column_name, endpoint_number, endpoint_value from all_tab_histograms where owner = 'O' order by 1, 2";
    assert_eq!(lines(&mut s, histograms), ["N 0 1", "N 1 5"]);
    assert_eq!(lines(&mut s, "select table_name, column_name, in_row from dba_lobs where owner = 'O'"), ["T C YES"]);
    assert_eq!(lines(&mut s, "select type_name, typecode from dba_types where owner = 'O'"), ["NUMBERS COLLECTION"]);
    let mut v = logon(&instance, "v");
    for view in [
        "all_tab_histograms where owner = 'O'",
        "all_lobs where owner = 'O'",
        "all_types where owner = 'O'",
        "user_types",
    ] {
        assert_eq!(lines(&mut v, &format!("select count(*) from {view}")), ["0"], "{view}");
    }
    // The columns of the readable views.
    let columns =
        |of: &str| format!("select count(*) from dict_columns where table_name = '{of}' and column_name = 'USERNAME'");
    assert_eq!(lines(&mut v, &columns("ALL_USERS")), ["1"]);
    assert_eq!(lines(&mut v, &columns("DBA_USERS")), ["0"]);
    assert_eq!(lines(&mut s, &columns("DBA_USERS")), ["1"]);
}

#[test]
fn nobody_sees_in_the_catalog_what_may_not_be_read() {
    let instance = instance();
    let mut s = Session::in_process(instance.instance()).expect("a session");
    for user in ["o", "u", "executes", "reads", "catalog"] {
        run(&mut s, &format!("create user {user} identified by x quota unlimited on users"));
        run(&mut s, &format!("grant create session to {user}"));
    }
    for text in [
        "create table o.t (n number primary key)",
        "create sequence o.s",
        "create procedure o.p is begin null; end;",
        "create view o.w as select n from o.t",
        "grant execute any procedure to executes",
        "grant read any table to reads",
        "grant select_catalog_role to catalog",
        "grant select on o.w to u",
    ] {
        run(&mut s, text);
    }
    let of_o = "select object_name from all_objects where owner = 'O' and object_type <> 'INDEX' order by 1";
    let restricted = "select count(*) from all_objects where owner = 'SYS' and (object_name like 'DBA\\_%' escape '\\' \
                      or object_name in ('OBJ$', 'USER$', 'UNIFIED_AUDIT_TRAIL', 'DBMS_LOCK'))";
    let open = "select object_name from all_objects where owner = 'SYS' and object_name in ('DUAL', 'ALL_TABLES', \
                'USER_TAB_COLS', 'DBMS_OUTPUT') order by 1";
    let shown = |user: &str, query: &str| lines(&mut logon(&instance, user), query);
    assert_eq!(shown("u", of_o), ["W"]);
    assert_eq!(shown("executes", of_o), ["P"], "a privilege on procedures shows no tables");
    assert_eq!(shown("reads", of_o), ["T", "W"]);
    assert_eq!(shown("reads", "select table_name from all_tables where owner = 'O'"), ["T"]);
    assert_eq!(shown("executes", "select table_name from all_tables where owner = 'O'"), [""; 0]);
    assert_eq!(shown("u", "select column_name from all_tab_cols where owner = 'O'"), ["N"]);
    for user in ["u", "executes", "reads"] {
        assert_eq!(shown(user, restricted), ["0"], "{user}");
        assert_eq!(shown(user, open), ["ALL_TABLES", "DBMS_OUTPUT", "DUAL", "USER_TAB_COLS"], "{user}");
    }
    let views = "select count(*) from all_objects where owner = 'SYS' and object_name in ('DBA_TABLES', 'OBJ$')";
    assert_eq!(shown("catalog", views), ["1"], "the role reads views, and no tables of SYS's");
    // Views listed for every user are readable by every user, and vice versa.
    let mut u = logon(&instance, "u");
    let named = lines(&mut u, "select object_name from all_objects where owner = 'SYS' and object_type = 'VIEW'");
    for view in lines(&mut s, "select object_name from dba_objects where owner = 'SYS' and object_type = 'VIEW'") {
        let is_read = u.run(&format!("select count(*) from sys.\"{view}\" where 1 = 0")).is_ok();
        assert_eq!(is_read, named.contains(&view), "{view}");
    }
}

#[test]
fn statistics_tables_ask_for_the_privileges_on_both_tables() {
    let instance = instance();
    let mut s = Session::in_process(instance.instance()).expect("a session");
    for user in ["o", "u"] {
        run(&mut s, &format!("create user {user} identified by x default tablespace users quota unlimited on users"));
        run(&mut s, &format!("grant create session, create table to {user}"));
    }
    let (mut o, mut u) = (logon(&instance, "o"), logon(&instance, "u"));
    run(&mut o, "create table t (a number)");
    run(&mut o, "begin dbms_stats.set_table_stats('O', 'T', numrows => 7); end;");
    for s in [&mut o, &mut u] {
        run(s, "begin dbms_stats.create_stat_table(null, 'ST'); end;");
    }
    run(&mut o, "begin dbms_stats.export_table_stats('O', 'T', stattab => 'ST'); end;");
    let refused = |u: &mut Session, text: &str| u.run(text).expect_err(text).to_string()[..9].to_owned();
    let import = "begin dbms_stats.import_table_stats('O', 'T', stattab => 'ST', statown => 'U'); end;";
    let report = "declare c clob; begin c := dbms_stats.report_col_usage('O', 'T'); end;";
    // U cannot see the table: nothing is exported.
    run(&mut u, "begin dbms_stats.export_table_stats('O', 'T', stattab => 'ST', statown => 'U'); end;");
    assert_eq!(lines(&mut u, "select count(*) from st"), ["0"]);
    for (text, error) in [
        (import, "ORA-20000"),
        ("begin dbms_stats.import_table_stats('O', 'T', stattab => 'ST'); end;", "ORA-20000"),
        ("begin dbms_stats.export_table_stats('U', 'ST', stattab => 'ST', statown => 'O'); end;", "ORA-20000"),
        ("begin dbms_stats.create_stat_table('O', 'SU'); end;", "ORA-01031"),
        ("begin dbms_stats.drop_stat_table('O', 'ST'); end;", "ORA-20001"),
        ("begin dbms_stats.alter_stats_history_retention(5); end;", "ORA-20000"),
        ("begin dbms_stats.gather_dictionary_stats; end;", "ORA-20000"),
        ("begin dbms_stats.gather_fixed_objects_stats; end;", "ORA-20000"),
        (report, "ORA-20000"),
    ] {
        assert_eq!(refused(&mut u, text), error, "{text}");
    }
    run(&mut s, "insert into u.st select * from o.st");
    run(&mut s, "update u.st set n1 = 99");
    run(&mut s, "commit");
    assert_eq!(refused(&mut u, import), "ORA-20000");
    run(&mut s, "grant analyze any to u");
    run(&mut u, import);
    // Objects of SYS require a privilege of their own, and no other one.
    let fixed = "begin dbms_stats.gather_fixed_objects_stats; end;";
    assert_eq!(refused(&mut u, fixed), "ORA-20000");
    run(&mut s, "revoke analyze any from u");
    run(&mut s, "grant analyze any dictionary to u");
    run(&mut u, fixed);
    run(&mut u, "begin dbms_stats.gather_dictionary_stats; end;");
    let gathered = "select object_type, sign(count(*)) from dba_tab_statistics where owner = 'SYS' and last_analyzed \
                    is not null and table_name in ('OBJ$', 'V$PARAMETER') group by object_type order by 1";
    assert_eq!(lines(&mut s, gathered), ["FIXED TABLE 1", "TABLE 1"]);
    run(&mut s, "grant analyze any to u");
    assert_eq!(lines(&mut o, "select num_rows from user_tables where table_name = 'T'"), ["99"]);
    run(&mut u, report);
    run(&mut u, "begin dbms_stats.alter_stats_history_retention(5); end;");
    assert_eq!(lines(&mut u, "select dbms_stats.get_stats_history_retention from dual"), ["5"]);
    assert_eq!(refused(&mut u, "begin dbms_stats.alter_stats_history_retention(-2); end;"), "ORA-20001");
    // Without a history nothing can be restored.
    run(&mut s, "begin dbms_stats.alter_stats_history_retention(0); end;");
    let saved = "select count(*) from sys.all_tab_stats_history where owner = 'O' and table_name = 'T'";
    let before = lines(&mut s, saved);
    run(&mut o, "begin dbms_stats.set_table_stats('O', 'T', numrows => 8); end;");
    assert_ne!(before, ["0"]);
    // Versions older than the retention are removed when the next one would be saved.
    assert_eq!(lines(&mut s, saved), ["0"]);
}
