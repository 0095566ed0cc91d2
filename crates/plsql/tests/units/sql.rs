//! Static SQL, cursors, packages and stored units over a mock database.

use crate::mock::{Mock, Session};
use types::{DataType, Number, Value};

fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}

fn session() -> Session {
    let mut s = Session::new();
    let rows = (1..=4).map(|i| vec![number(i), Value::text(format!("v{i}"))]).collect();
    s.world.table("T", &[("N", DataType::NUMBER), ("V", DataType::TEXT)], rows);
    s
}

fn check(text: &str, expected: &str) {
    assert_eq!(session().run(text), expected, "\n{text}");
}

#[test]
fn a_name_in_sql_is_a_column_before_it_is_a_variable() {
    check(
        "declare n number := 2; v varchar2(10); l number := 3; begin select v into v from t where n = l; dbms_output.put_line(v); end;",
        "v3",
    );
    check(
        "declare v varchar2(10); begin select v into v from t where n = n; end;",
        "ORA-01422: exact fetch returns more than requested number of rows\nORA-06512: at line 1",
    );
    check(
        "declare v varchar2(10); begin select v into v from t where n = 9; end;",
        "ORA-01403: no data found\nORA-06512: at line 1",
    );
}

#[test]
fn text_of_static_sql() {
    let mut s = session();
    s.run(
        "declare l_n number := 1; l_v varchar2(9); type nt is table of number; x nt := nt(7); begin
             for cur in (select /*+ result_cache */ * from t where n=l_n) loop null; end loop;
             insert into t values (l_n, l_v) returning n into l_n;
             update t set v = l_v where n = x(1) and n > l_n;
           end;",
    );
    assert_eq!(
        s.world.statements,
        [
            "SELECT /*+ result_cache */ * FROM T WHERE N=:B1 ",
            "INSERT INTO T VALUES (:B2 , :B1 ) RETURNING N INTO :O0 ",
            "UPDATE T SET V = :B3 WHERE N = :B2 AND N > :B1 ",
        ]
    );
}

#[test]
fn a_static_statement_is_compiled_once_for_any_variables() {
    let mut s = session();
    s.world.store("package pk is g number := 3; end;");
    let out = s.run(
        "<<b>> declare l number := 2; type nt is table of number; x nt := nt(7, 2); type rt is record (f number, y nt); r rt; v varchar2(9);
         begin
           r.f := 2; r.y := x;
           select v into v from t where n = l and n = b.l and n < pk.g and n = x(l) and n = r.f and n = r.y(l) and n = x(x.count);
           dbms_output.put_line(v);
         end;",
    );
    assert_eq!(out, "v2");
    assert_eq!(s.world.described, 1);
    assert_eq!(
        s.world.statements,
        ["SELECT V FROM T WHERE N = :B7 AND N = :B6 AND N < :B5 AND N = :B4 AND N = :B3 AND N = :B2 AND N = :B1 "]
    );
}

#[test]
fn a_static_statement_is_parsed_once() {
    let mut s = session();
    s.world.store("procedure p(k number) is l number; begin for i in 1..k loop select n into l from t where n = 1; for r in (select n from t) loop null; end loop; end loop; end;");
    s.run("begin p(10); p(10); end;");
    assert_eq!(s.world.opened, 2);
}

#[test]
fn cursor_loops_and_explicit_cursors() {
    check(
        "declare
           cursor c(p number default 2) is select n, v from t where n >= p;
           r c%rowtype; n number; v varchar2(10);
         begin
           for x in c loop dbms_output.put(x.v || ' '); end loop;
           for x in c(4) loop dbms_output.put(x.n || x.v || ' '); end loop; dbms_output.new_line;
           open c(3);
           loop fetch c into r; exit when c%notfound; dbms_output.put(c%rowcount || r.v || ' '); end loop;
           if c%isopen then dbms_output.put_line('open'); end if;
           close c; if not c%isopen then dbms_output.put_line('closed'); end if;
           begin fetch c into n, v; exception when invalid_cursor then dbms_output.put_line(sqlerrm); end;
           open c; begin open c; exception when cursor_already_open then dbms_output.put_line(sqlerrm); end; close c;
           for x in (select n from t) loop exit when x.n = 2; n := x.n; end loop; dbms_output.put_line(n);
         end;",
        "v2 v3 v4 4v4 \n1v3 2v4 open\nclosed\nORA-01001: invalid cursor\nORA-06511: PL/SQL: cursor already open\n1",
    );
}

#[test]
fn cursor_variables() {
    check(
        "declare c sys_refcursor; n number; v varchar2(10); procedure o(x in out sys_refcursor) is begin open x for select n, v from t where n > 2; end;
         begin
           o(c); loop fetch c into n, v; exit when c%notfound; dbms_output.put(n || v || ' '); end loop; close c; dbms_output.new_line;
           open c for 'select n from t where n = :a' using 2; fetch c into n; dbms_output.put_line(n); close c;
         end;",
        "3v3 4v4 \n2",
    );
}

#[test]
fn dml_and_its_attributes() {
    check(
        "declare r t%rowtype; k number; begin
           update t set v = 'x' where n > 2; dbms_output.put_line(sql%rowcount);
           delete from t where n = 9; if sql%notfound then dbms_output.put_line('none'); end if;
           r.n := 5; r.v := 'five'; insert into t values r; 
           update t set v = 'y' where n = 5 returning n into k; dbms_output.put_line(k);
           select count(*) into k from t; dbms_output.put_line(k); commit;
           begin insert into t values (666, 'a'); exception when dup_val_on_index then dbms_output.put_line(sqlerrm); end;
         end;",
        "2\nnone\n5\n5\nORA-00001: unique constraint (SCOTT.PK0) violated",
    );
}

#[test]
fn bulk_operations() {
    check(
        "declare type nt is table of number; type vt is table of varchar2(10) index by pls_integer; type rt is table of t%rowtype;
           a nt; b vt; r rt; cursor c is select n from t; k pls_integer;
         begin
           select n, v bulk collect into a, b from t; dbms_output.put_line(a.count || b(4));
           select * bulk collect into r from t where n < 3; dbms_output.put_line(r.count || r(2).v);
           open c; fetch c bulk collect into a limit 3; dbms_output.put_line(a.count); fetch c bulk collect into a limit 3; dbms_output.put_line(a.count); close c;
           a := nt(1, 2, 4);
           forall i in 1..a.count delete from t where n = a(i);
           dbms_output.put_line(sql%rowcount || ' ' || sql%bulk_rowcount(3));
           forall i in a.first..a.last insert into t values (a(i), 'n');
           forall i in indices of a update t set v = 'm' where n = a(i) returning n bulk collect into a;
           dbms_output.put_line(a.count);
         end;",
        "4v4\n2v2\n3\n1\n3 1\n3",
    );
}

#[test]
fn errors_in_static_sql() {
    let mut s = session();
    assert_eq!(
        s.run("begin\n  update nosuch set a = 1;\nend;"),
        "ORA-06550: line 2, column 10:\nPL/SQL: ORA-00942: table or view does not exist\nORA-06550: line 2, column 3:\nPL/SQL: SQL Statement ignored"
    );
    assert_eq!(
        s.run("begin\n  delete from t where nocol = 1;\nend;"),
        "ORA-06550: line 2, column 23:\nPL/SQL: ORA-00904: \"NOCOL\": invalid identifier\nORA-06550: line 2, column 3:\nPL/SQL: SQL Statement ignored"
    );
    assert!(s.run("declare a number; begin select n, v into a from t; end;").contains("ORA-00913"));
    assert!(
        s.run("declare function f return number is begin return 1; end; begin delete from t where n = f; end;")
            .contains("PLS-00231")
    );
}

#[test]
fn stored_units_packages_and_state() {
    let mut s = session();
    s.world.store("package pk is c constant number := 10; g number := 1; type r is record (a number); e exception; cursor cc(p number) is select v from t where n = p; procedure inc(by_n number default c); function get return number; function get(x varchar2) return varchar2; end pk;");
    s.world.store("package body pk is h number := 100; procedure hidden is begin h := h + 1; end;
        procedure inc(by_n number default c) is begin g := g + by_n; hidden; end; function get return number is begin return h; end;
        function get(x varchar2) return varchar2 is begin return x || g; end; begin g := g + 1; end pk;");
    s.world.store("function twice(n number) return number deterministic is begin return n * 2; end;");
    assert_eq!(s.run("begin pk.inc; pk.inc(5); dbms_output.put_line(pk.g || ' ' || pk.get || ' ' || pk.get('g') || ' ' || twice(pk.c)); end;"), "17 102 g17 20");
    assert_eq!(
        s.run("begin dbms_output.put_line(scott.pk.get); pk.g := 3; dbms_output.put_line(pk.g); end;"),
        "102\n3"
    );
    assert_eq!(s.run("declare x pk.r; begin x.a := 1; for r in pk.cc(2) loop dbms_output.put_line(r.v); end loop; raise pk.e; exception when pk.e then dbms_output.put_line('e'); end;"), "v2\ne");
    assert!(s.run("begin pk.hidden; end;").contains("PLS-00302: component 'HIDDEN' must be declared"));
    let (number_type, text_type) = (types::DataType::NUMBER, types::DataType::TEXT);
    let f = s.plsql.function(&mut s.world, &["TWICE".to_string()], &[number_type]).unwrap().unwrap();
    assert!(f.deterministic);
    assert_eq!(s.plsql.call(&mut s.world, f.handle, &[number(21)], &[]).unwrap(), number(42));
    let f = s
        .plsql
        .function(&mut s.world, &["DBMS_RANDOM".to_string(), "STRING".to_string()], &[text_type, number_type])
        .unwrap()
        .unwrap();
    assert!(
        matches!(s.plsql.call(&mut s.world, f.handle, &[Value::text("p"), number(20)], &[]).unwrap(), Value::Text(t) if t.len() == 20)
    );
    assert_eq!(s.plsql.function(&mut s.world, &["NOSUCH".to_string()], &[number_type]).unwrap(), None);
}

#[test]
fn a_replaced_unit_is_used_at_once() {
    let mut s = session();
    s.world.store("function f return number is begin return 1; end;");
    assert_eq!(s.run("begin dbms_output.put_line(f); end;"), "1");
    s.world.store("function f return number is begin return 2; end;");
    assert_eq!(s.run("begin dbms_output.put_line(f); end;"), "2");
}

#[test]
fn check_gives_the_errors_of_a_stored_unit() {
    let mut s = session();
    let check =
        |s: &mut Session, source: &str| s.plsql.check(&mut s.world, "SCOTT", source, Default::default()).unwrap();
    assert_eq!(check(&mut s, "procedure p is begin null; end;"), []);
    let errors = check(&mut s, "procedure p is\nbegin\n  nosuch;\n  x := 1;\nend;");
    let lines: Vec<_> = errors.iter().map(|e| (e.line, e.column, e.text.as_str())).collect();
    assert_eq!(
        lines,
        [
            (3, 3, "PLS-00201: identifier 'NOSUCH' must be declared"),
            (3, 3, "PL/SQL: Statement ignored"),
            (4, 3, "PLS-00201: identifier 'X' must be declared"),
            (4, 3, "PL/SQL: Statement ignored"),
        ]
    );
    assert_eq!(
        check(&mut s, "procedure recursive(n number) is begin if n > 0 then recursive(n - 1); end if; end;"),
        []
    );
    assert!(check(&mut s, "package body nospec is end;")[0].text.starts_with("PLS-00304"));
    s.world.store("procedure bad is begin nosuch; end;");
    let out = s.run("begin bad; end;");
    assert!(out.contains("ORA-04063") && out.contains("ORA-06508"), "{out}");
}

#[test]
fn result_cache_functions_run_once() {
    let mut s = session();
    s.world.store("function f(n number) return number result_cache relies_on (t) is begin dbms_output.put_line('run'); return n * 2; end;");
    assert_eq!(s.run("begin dbms_output.put_line(f(2) || f(2) || f(3)); end;"), "run\nrun\n446");
}

#[test]
fn scripts_of_the_sources_compile_and_run() {
    let mut s = session();
    s.world.table("JOB_TIMES", &[("SID", DataType::NUMBER), ("TIME_ELA", DataType::NUMBER)], vec![]);
    s.world.table("USER_JOBS", &[("JOB", DataType::NUMBER)], vec![]);
    assert_eq!(s.run("declare l_job number; begin for i in 1 .. 4 loop dbms_job.submit( job => l_job, what => 'do_hc(10);' ); end loop; dbms_output.put_line(l_job); end;"), "4");
    assert_eq!(s.world.jobs[0].what, "do_hc(10);");
    assert_eq!(s.run("declare l_left number; begin loop select count(*) into l_left from user_jobs; exit when l_left = 0; dbms_lock.sleep(0.2); end loop; end;"), "");
    assert_eq!(s.run("begin for cur in (select /*+ result_cache */ * from t) loop null; end loop; end;"), "");
    assert_eq!(s.run("DECLARE x NUMBER := 0; v_r PLS_INTEGER; BEGIN dbms_random.initialize(UID * 7777); FOR i IN 1..10 LOOP v_r := dbms_random.value(257, 1000) ; SELECT COUNT(*) into x FROM t where n > v_r; END LOOP; END;"), "");
    let mut w: Mock = std::mem::take(&mut s.world);
    w.store("procedure nls_select_jobs(p_job_cnt number, p_cnt number) as l_job_id pls_integer; begin for i in 1.. p_job_cnt loop dbms_job.submit(l_job_id, 'begin while true loop nls_select('||p_cnt||'); end loop; end;'); end loop; commit; end;");
    s.world = w;
    assert_eq!(s.run("begin nls_select_jobs(2, 1e9); end;"), "");
    assert_eq!(s.world.jobs[5].what, "begin while true loop nls_select(1000000000); end loop; end;");
}
