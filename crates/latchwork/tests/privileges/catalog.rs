//! Views of the dictionary that tools read: what they show, and to whom.

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
    // The built-in packages have theirs.
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
    // The columns of the views that one may read.
    let columns =
        |of: &str| format!("select count(*) from dict_columns where table_name = '{of}' and column_name = 'USERNAME'");
    assert_eq!(lines(&mut v, &columns("ALL_USERS")), ["1"]);
    assert_eq!(lines(&mut v, &columns("DBA_USERS")), ["0"]);
    assert_eq!(lines(&mut s, &columns("DBA_USERS")), ["1"]);
}
