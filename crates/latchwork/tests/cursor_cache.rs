//! Reused cursors: parse calls and hits are counted correctly, and a cursor is never used for another user or after a
//! relevant change.

mod support;

use client::{Client, Credentials, Ephemeral};
use support::{connect, one, refused, run, start, words};

const NAMES: [&str; 4] = ["parse count (total)", "parse count (hard)", "session cursor cache hits", "execute count"];

/// A session's figures, read by another session.
fn figures(of: &Client, by: &mut Client) -> [i64; 4] {
    NAMES.map(|name| {
        let sql = format!(
            "select s.value from v$sesstat s, v$statname n where n.statistic# = s.statistic# and n.name = '{name}' and s.sid = {}",
            of.sid()
        );
        one(by, &sql).parse().expect("a number")
    })
}

/// The increase of the figures by running a statement.
fn added(c: &mut Client, by: &mut Client, what: &str) -> [i64; 4] {
    let before = figures(c, by);
    run(c, what);
    let after = figures(c, by);
    [0, 1, 2, 3].map(|n| after[n] - before[n])
}

fn user(instance: &Ephemeral, name: &str) -> Client {
    let password = Credentials::Password { user: name.into(), password: "p".into() };
    instance.connect(&password).unwrap_or_else(|e| panic!("{name} connects: {e}"))
}

#[test]
fn parse_calls_and_hits_of_every_way_to_run_a_text_are_the_work_done() {
    let instance = start(&[]);
    let (mut c, mut by) = (connect(&instance), connect(&instance));
    run(&mut c, "create table t as select level id, level * 2 v from dual connect by level <= 100");
    let parses = |by: &mut Client, like: &str| {
        words(by, &format!("select sum(parse_calls), sum(executions) from v$sql where sql_text like '{like}%'"))[0]
            .clone()
    };
    // A client: the third parse call of a text keeps its cursor.
    for (n, hits) in [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1)] {
        let what = added(&mut c, &mut by, "select /* client */ count(*) from t");
        assert_eq!(what, [1, i64::from(n == 1), hits, 1], "call {n}");
    }
    assert_eq!(parses(&mut by, "select /* client */"), ["5", "5"]);
    // So does that of a block.
    for (n, hits) in [(1, 0), (2, 0), (3, 0), (4, 1)] {
        assert_eq!(added(&mut c, &mut by, "begin null; end;"), [1, i64::from(n == 1), hits, 1], "call {n}");
    }
    // Static SQL is parsed once for its unit.
    let of_static = "declare x number; begin for i in 1 .. 50 loop select /*+ static */ v into x from t where id = i; end loop; end;";
    assert_eq!(added(&mut c, &mut by, of_static), [2, 2, 0, 51]);
    assert_eq!(added(&mut c, &mut by, of_static), [1, 0, 0, 51]);
    // EXECUTE IMMEDIATE of the text that the same statement ran last is no parse call.
    let same = "declare x number; begin for i in 1 .. 50 loop \
                execute immediate 'select /* same */ v from t where id = :x' into x using i; end loop; end;";
    assert_eq!(added(&mut c, &mut by, same), [2, 2, 0, 51]);
    assert_eq!(added(&mut c, &mut by, same), [1, 0, 0, 51]);
    assert_eq!(parses(&mut by, "select /* same */"), ["1", "100"]);
    // With two alternating texts each execution is a parse call, which finds its cursor from the fourth time on.
    let turns = "begin for i in 1 .. 20 loop \
                 execute immediate 'update t set v = v + 1 where id = :x and ' || mod(i, 2) || ' < 2' using i; end loop; commit; end;";
    assert_eq!(added(&mut c, &mut by, turns), [1 + 20, 1 + 2, 2 * 7, 21]);
    // And so is each OPEN FOR, with a text or a query.
    let opened = "declare c sys_refcursor; x number; begin for i in 1 .. 10 loop \
                  open c for 'select /* opened */ v from t where id = :x' using i; fetch c into x; close c; end loop; end;";
    assert_eq!(added(&mut c, &mut by, opened), [1 + 10, 1 + 1, 7, 11]);
    let opened = "declare c sys_refcursor; x number; begin for i in 1 .. 10 loop \
                  open c for select /*+ static_open */ v from t where id = i; fetch c into x; close c; end loop; end;";
    assert_eq!(added(&mut c, &mut by, opened), [1 + 10, 1 + 1, 7, 11]);
    // Without a cache all of them are parsed.
    run(&mut c, "alter session set session_cached_cursors = 0");
    assert_eq!(added(&mut c, &mut by, opened), [1 + 10, 0, 0, 11]);
    let other = same.replace("same", "other");
    assert_eq!(added(&mut c, &mut by, &other), [1 + 50, 2, 0, 51]);
}

#[test]
fn a_cursor_that_is_used_again_is_bounded_and_runs_inside_of_itself() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t as select level id from dual connect by level <= 10");
    // A function that runs the statement which calls it.
    run(
        &mut c,
        "create function down(n number) return number as x number; begin if n = 0 then return 0; end if; \
         execute immediate 'select max(id) + down(:m) from t where id <= :n' into x using n - 1, n; return x; end;",
    );
    for _ in 0..5 {
        assert_eq!(one(&mut c, "select down(4) from dual"), "10");
    }
    // Several open cursors with the same text.
    run(
        &mut c,
        "declare a sys_refcursor; b sys_refcursor; x number; y number; begin for i in 1 .. 6 loop \
         open a for 'select id from t order by id'; open b for 'select id from t order by id'; \
         fetch a into x; fetch a into x; fetch b into y; close a; fetch b into y; close b; \
         if x <> 2 or y <> 2 then raise_application_error(-20000, x || ' ' || y); end if; end loop; end;",
    );
    // A cursor whose execution failed is reused as well.
    run(
        &mut c,
        "declare x number; n number := 0; begin for i in 1 .. 12 loop begin \
         execute immediate 'select 10 / (id - 3) from t where id = :x' into x using i; n := n + 1; \
         exception when zero_divide or no_data_found then null; end; end loop; \
         if n <> 9 then raise_application_error(-20000, n); end if; end;",
    );
    // Binds of other types, and NULL.
    run(
        &mut c,
        "declare x varchar2(20); procedure p(t varchar2) is begin \
         execute immediate 'select nvl(to_char(:a), ''none'') from dual' into x using t; end; \
         procedure p(n number) is begin execute immediate 'select nvl(to_char(:a), ''none'') from dual' into x using n; end; \
         begin for i in 1 .. 5 loop p('a'); if x <> 'a' then raise_application_error(-20000, x); end if; \
         p(to_number(null)); if x <> 'none' then raise_application_error(-20000, x); end if; \
         p(i); if x <> to_char(i) then raise_application_error(-20000, x); end if; end loop; end;",
    );
    run(&mut c, "alter session set session_cached_cursors = 3");
    for n in 0..8 {
        for _ in 0..4 {
            run(&mut c, &format!("declare c sys_refcursor; begin open c for 'select {n} from dual'; close c; end;"));
        }
    }
    let kept = "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = 'session cursor cache count'";
    let count: i64 = one(&mut c, kept).parse().expect("a number");
    assert!((1..=3).contains(&count), "{count}");
}

#[test]
fn a_cursor_used_again_answers_for_no_other_identity_and_behind_no_revoke() {
    let instance = start(&[]);
    let mut sys = connect(&instance);
    for name in ["a", "b", "o"] {
        run(&mut sys, &format!("create user {name} identified by p quota unlimited on users"));
        run(&mut sys, &format!("grant create session, create table, create procedure to {name}"));
        run(&mut sys, &format!("create table {name}.t (who varchar2(10))"));
        run(&mut sys, &format!("insert into {name}.t values ('{name}')"));
    }
    run(&mut sys, "commit");
    run(
        &mut sys,
        "create procedure o.mine(x out varchar2) authid current_user as begin \
         execute immediate 'select who from t' into x; end;",
    );
    run(
        &mut sys,
        "create procedure o.opened(x out varchar2) authid current_user as c sys_refcursor; begin \
         open c for 'select who from t'; fetch c into x; close c; end;",
    );
    run(&mut sys, "grant execute on o.mine to public");
    run(&mut sys, "grant execute on o.opened to public");
    // Definer's units of two owners call the same invoker's unit in one session, alternating with the session's own
    // user.
    for name in ["a", "b"] {
        for unit in ["mine", "opened"] {
            run(&mut sys, &format!("create procedure {name}.{unit}(x out varchar2) as begin o.{unit}(x); end;"));
            run(&mut sys, &format!("grant execute on {name}.{unit} to public"));
        }
        run(&mut sys, &format!("grant inherit privileges on user {name} to o"));
    }
    let mut o = user(&instance, "o");
    for unit in ["mine", "opened"] {
        run(
            &mut o,
            &format!(
                "declare x varchar2(10); y varchar2(10); z varchar2(10); begin for i in 1 .. 8 loop \
                 a.{unit}(x); b.{unit}(y); {unit}(z); if x || y || z <> 'abo' then raise_application_error(-20000, x || y || z); end if; \
                 end loop; end;"
            ),
        );
    }
    // CURRENT_SCHEMA changes the names in a text that was run before.
    run(&mut sys, "grant select on a.t to o");
    run(
        &mut o,
        "declare x varchar2(10); s varchar2(100); begin for i in 1 .. 12 loop \
         s := case mod(i, 2) when 0 then 'a' else 'o' end; execute immediate 'alter session set current_schema = ' || s; \
         execute immediate 'select who from t' into x; \
         if x <> s then raise_application_error(-20000, i || x); end if; end loop; \
         execute immediate 'alter session set current_schema = o'; end;",
    );
    // A revoked privilege is refused: granted directly, through a role, and after the role was disabled.
    run(&mut sys, "create role r");
    run(&mut sys, "grant r to o");
    run(&mut sys, "grant select on b.t to r");
    let mut o = user(&instance, "o");
    let read = |owner: &str| {
        [
            format!(
                "declare x varchar2(10); begin for i in 1 .. 5 loop execute immediate 'select who from {owner}.t' into x; end loop; end;"
            ),
            format!(
                "declare x varchar2(10); c sys_refcursor; begin for i in 1 .. 5 loop open c for 'select who from {owner}.t'; \
                     fetch c into x; close c; end loop; end;"
            ),
            format!("select who from {owner}.t"),
        ]
    };
    let allowed = |c: &mut Client, owner: &str| (0..5).for_each(|_| read(owner).iter().for_each(|text| run(c, text)));
    let denied = |c: &mut Client, owner: &str| {
        for text in read(owner) {
            let error = refused(c, &text);
            assert!(error.contains("ORA-00942") || error.contains("ORA-01031"), "{text}: {error}");
        }
    };
    allowed(&mut o, "a");
    run(&mut sys, "revoke select on a.t from o");
    denied(&mut o, "a");
    allowed(&mut o, "b");
    run(&mut o, "set role none");
    denied(&mut o, "b");
    run(&mut o, "set role r");
    allowed(&mut o, "b");
    run(&mut sys, "revoke select on b.t from r");
    denied(&mut o, "b");
}

#[test]
fn a_cursor_used_again_obeys_the_settings_of_its_session() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (n number)");
    run(&mut c, "insert into t values (1.5)");
    run(&mut c, "commit");
    // The text is converted with the separators in force when the statement runs, in static SQL, dynamic SQL and a
    // client's statement.
    let settings = |c: &mut Client, separators: &str| {
        run(c, &format!("begin dbms_session.set_nls('nls_numeric_characters', '''{separators}'''); end;"));
    };
    run(
        &mut c,
        "create function st return number as x number; begin select count(*) into x from t where n = '1.5'; return x; end;",
    );
    run(
        &mut c,
        "create function dy return number as x number; begin execute immediate 'select count(*) from t where n = ''1.5''' into x; \
         return x; end;",
    );
    let count = |c: &mut Client| {
        ["select st from dual", "select dy from dual", "select count(*) from t where n = '1.5'"].map(|text| {
            match c.query(text, &[]).and_then(|q| q.all()) {
                Ok(rows) => format!("{:?}", rows[0][0]),
                Err(e) => format!("ORA-{:05}", e.code()),
            }
        })
    };
    let found = (0..5).map(|_| count(&mut c)).last().expect("five");
    settings(&mut c, ",.");
    let other = count(&mut c);
    assert_eq!(other, ["ORA-01722"; 3], "{found:?}");
    settings(&mut c, ".,");
    assert_eq!(count(&mut c), found);
    // Other optimizer settings make another child, wherever they were set.
    run(
        &mut c,
        "declare x number; begin for i in 1 .. 4 loop \
         execute immediate 'alter session set optimizer_mode = ' || case when i > 2 then 'first_rows_10' else 'all_rows' end; \
         select /*+ child */ count(*) into x from t; end loop; end;",
    );
    let children = "select child_number, executions from v$sql where sql_text like 'SELECT /*+ child */%' order by 1";
    assert_eq!(words(&mut c, children), [["0", "2"], ["1", "2"]]);
}

#[test]
fn a_cursor_that_disabled_its_own_role_is_not_kept_for_who_has_none() {
    let instance = start(&[]);
    let mut sys = connect(&instance);
    run(&mut sys, "create table secret as select 1 n from dual");
    run(&mut sys, "create role r");
    run(&mut sys, "grant select, update on secret to r");
    run(&mut sys, "create user u identified by p");
    run(&mut sys, "grant create session, create procedure, r to u");
    let mut u = user(&instance, "u");
    run(
        &mut u,
        "create function f(roles varchar2) return number authid current_user as begin dbms_session.set_role(roles); return 0; end;",
    );
    // The function disables the role while the statement runs: before its end, or before its first row.
    for text in ["update sys.secret set n = n + f('none')", "select n, f('none') from sys.secret order by 2"] {
        for _ in 0..5 {
            run(&mut u, "set role r");
            run(&mut u, text);
        }
        let error = refused(&mut u, text);
        assert!(error.contains("ORA-00942"), "{text}: {error}");
    }
}

#[test]
fn a_cursor_that_no_variable_holds_is_closed() {
    let instance = start(&[]);
    let (mut c, mut by) = (connect(&instance), connect(&instance));
    run(&mut c, "create table t as select level id from dual connect by level <= 10");
    run(
        &mut c,
        "create function f(n number) return sys_refcursor as c sys_refcursor; begin \
         open c for 'select /* left */ id from t where id > ' || n; return c; end;",
    );
    run(
        &mut c,
        "create procedure p(n number, c out sys_refcursor) as begin open c for 'select /* left */ id from t where id > ' || n; end;",
    );
    run(&mut c, "create package k as c sys_refcursor; end;");
    let mut open = |sid: u32| -> i64 {
        let sql = format!(
            "select count(*) from v$open_cursor where sid = {sid} and sql_text like 'select /* left%' and cursor_type like 'OPEN%'"
        );
        one(&mut by, &sql).parse().expect("a number")
    };
    for block in [
        "declare c sys_refcursor; begin for i in 1 .. 20 loop c := f(i); end loop; end;",
        "declare c sys_refcursor; begin for i in 1 .. 20 loop p(i, c); end loop; end;",
        "begin for i in 1 .. 20 loop if f(i) is null then null; end if; end loop; end;",
        "declare c sys_refcursor; begin for i in 1 .. 20 loop \
         execute immediate 'begin :c := f(' || i || '); end;' using out c; end loop; end;",
        "declare a sys_refcursor; b sys_refcursor; begin for i in 1 .. 20 loop a := f(i); b := f(i + 1); b := a; end loop; end;",
        "declare c sys_refcursor; x number; begin for i in 1 .. 20 loop k.c := f(i); end loop; close k.c; end;",
    ] {
        run(&mut c, block);
        assert_eq!(open(c.sid()), 0, "{block}");
    }
    // While such a block runs there are only the cursors of its variables, and the one left last.
    run(
        &mut c,
        "declare c sys_refcursor; x number; begin for i in 1 .. 20 loop c := f(i); \
         select count(*) into x from v$open_cursor where sid = sys_context('userenv', 'sid') \
         and sql_text like 'select /* left%' and cursor_type like 'OPEN%'; \
         if x not between 1 and 3 then raise_application_error(-20000, x); end if; end loop; end;",
    );
    assert_eq!(open(c.sid()), 0);
}
