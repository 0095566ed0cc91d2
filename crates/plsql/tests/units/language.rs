//! Blocks and their output.

use crate::mock::Session;
use plsql::Datum;
use types::{DataType, Number, Value};

fn check(text: &str, expected: &str) {
    let got = Session::new().run(text);
    assert_eq!(got, expected, "\n{text}");
}

/// Checks the output of a block of statements.
fn prints(statements: &str, expected: &str) {
    check(&format!("begin {statements} end;"), expected);
}

#[test]
fn hello() {
    prints("dbms_output.put_line('hello');", "hello");
    prints("dbms_output.put('a'); dbms_output.put('b'); dbms_output.new_line;", "ab");
}

#[test]
fn arithmetic_and_precedence() {
    prints("dbms_output.put_line(1 + 2 * 3);", "7");
    prints("dbms_output.put_line(-2 ** 2);", "-4");
    prints("dbms_output.put_line(7 / 2);", "3.5");
    prints("dbms_output.put_line(7 mod 4);", "3");
    prints("dbms_output.put_line('1' + '2');", "3");
    prints("dbms_output.put_line(1 || 2 + 3);", "15");
    prints("dbms_output.put_line(2147483647 + 1);", "ORA-01426: numeric overflow\nORA-06512: at line 1");
    prints("dbms_output.put_line(1 / 0);", "ORA-01476: divisor is equal to zero\nORA-06512: at line 1");
    prints("dbms_output.put_line(date '2026-01-31' + 1 - date '2026-01-01');", "31");
}

#[test]
fn three_valued_logic() {
    check(
        "declare b boolean; function t(x boolean) return varchar2 is begin
           if x then return 'T'; elsif not x then return 'F'; else return 'N'; end if; end;
         begin
           dbms_output.put_line(t(null and true) || t(null and false) || t(null or true) || t(null or false) || t(not null));
           dbms_output.put_line(t(b) || t(1 = null) || t(null is null) || t('' is null) || t(1 between 0 and 2) || t(3 not in (1, 2)));
           dbms_output.put_line(t(1 in (2, null)) || t('abc' like 'a%c') || t('abc' not like '_c') || t(true > false));
         end;",
        "NFTNN\nNNTTTT\nNTTT",
    );
}

#[test]
fn conditions_and_loops() {
    check(
        "declare s varchar2(100); n number := 0;
         begin
           for i in 1..3 loop s := s || i; end loop;
           for i in reverse 1..3 loop s := s || i; end loop;
           for i in 3..1 loop s := s || 'x'; end loop;
           while n < 3 loop n := n + 1; continue when n = 2; s := s || chr(96 + n); end loop;
           <<o>> for i in 1..3 loop for j in 1..3 loop exit o when i = 2; continue o when j = 2; s := s || i || j; end loop; end loop;
           loop exit; end loop;
           dbms_output.put_line(s);
           case n when 1 then dbms_output.put_line('one'); when 3 then dbms_output.put_line('three'); else null; end case;
           case when n > 5 then null; end case;
         exception when case_not_found then dbms_output.put_line(sqlerrm);
         end;",
        "123321ac11\nthree\nORA-06592: CASE not found while executing CASE statement",
    );
    check(
        "begin for i in 1..3 loop i := 2; end loop; end;",
        "ORA-06550: line 1, column 26:\nPLS-00363: expression 'I' cannot be used as an assignment target\nORA-06550: line 1, column 26:\nPL/SQL: Statement ignored",
    );
}

#[test]
fn goto_and_labels() {
    check(
        "<<b>> declare n number := 0; begin
           <<top>> n := n + 1; if n < 3 then goto top; end if;
           declare n number := 10; begin dbms_output.put_line(b.n || ' ' || n); end;
         end;",
        "3 10",
    );
}

#[test]
fn exceptions() {
    check(
        "declare e exception; f exception; pragma exception_init(f, -20005); n number;
         begin
           begin raise e; exception when e then dbms_output.put_line('e ' || sqlcode || ' ' || sqlerrm); end;
           begin raise_application_error(-20005, 'five'); exception when f then dbms_output.put_line(sqlcode || ' ' || sqlerrm); end;
           begin n := 'x'; exception when value_error then dbms_output.put_line(sqlerrm); end;
           begin begin raise no_data_found; exception when too_many_rows then null; end;
             exception when others then dbms_output.put_line(sqlcode || ' ' || sqlerrm); end;
           begin begin n := 1 / 0; exception when zero_divide then raise; end;
             exception when zero_divide or e then dbms_output.put_line('again'); end;
           dbms_output.put_line(sqlcode || ' ' || sqlerrm);
           dbms_output.put_line(sqlerrm(-1403));
           raise e;
         end;",
        "e 1 User-Defined Exception\n-20005 ORA-20005: five\n\
         ORA-06502: PL/SQL: numeric or value error: character to number conversion error\n\
         100 ORA-01403: no data found\nagain\n0 ORA-0000: normal, successful completion\nORA-01403: no data found\n\
         ORA-06510: PL/SQL: unhandled user-defined exception\nORA-06512: at line 12",
    );
}

#[test]
fn error_stacks_name_units_and_lines() {
    let mut s = Session::new();
    s.world.store("procedure inner_p is\nbegin\n  raise no_data_found;\nend;");
    s.world.store("procedure outer_p is\nbegin\n  null;\n  inner_p;\nend;");
    assert_eq!(
        s.run("begin\n  outer_p;\nend;"),
        "ORA-01403: no data found\nORA-06512: at \"SCOTT.INNER_P\", line 3\nORA-06512: at \"SCOTT.OUTER_P\", line 4\n\
         ORA-06512: at line 2"
    );
    assert_eq!(s.run("begin outer_p; exception when no_data_found then dbms_output.put_line(dbms_utility.format_error_backtrace); end;"),
        "ORA-06512: at \"SCOTT.INNER_P\", line 3\nORA-06512: at \"SCOTT.OUTER_P\", line 4\nORA-06512: at line 1\n");
}

#[test]
fn subprograms() {
    check(
        "declare
           n number := 1; s varchar2(10);
           procedure p(a in number, b out number, c in out varchar2, d number default 5) is
             function up(x number) return number is begin n := n + 1; return x * n; end;
           begin b := up(a) + d; c := c || 'z'; end;
           function fact(k number) return number is begin if k <= 1 then return 1; end if; return k * fact(k - 1); end;
           procedure fwd(k number);
           procedure back(k number) is begin if k > 0 then fwd(k - 1); end if; end;
           procedure fwd(k number) is begin dbms_output.put_line('k' || k); back(k); end;
         begin
           p(10, n, s); dbms_output.put_line(n || s);
           p(c => s, b => n, a => 1, d => 0); dbms_output.put_line(n || s);
           dbms_output.put_line(fact(20)); fwd(2);
         end;",
        "25z\n26zz\n2432902008176640000\nk2\nk1\nk0",
    );
}

#[test]
fn out_parameters_are_not_copied_back_by_an_exception() {
    check(
        "declare n number := 7; procedure p(x out number) is begin x := 1; raise zero_divide; end;
         begin begin p(n); exception when zero_divide then null; end; dbms_output.put_line(n); end;",
        "7",
    );
}

#[test]
fn records_and_collections() {
    check(
        "declare
           type r is record (a number := 5, b varchar2(10));
           type nt is table of number; type va is varray(3) of varchar2(5);
           type aa is table of r index by varchar2(10); type ai is table of nt index by pls_integer;
           x r; y r; t nt := nt(10, 20, 30); v va := va('a'); m aa; q ai; k varchar2(10);
         begin
           x.b := 'bee'; y := x; y.a := 6; dbms_output.put_line(x.a || y.a || y.b);
           t.extend; t(4) := 40; t.delete(2); dbms_output.put_line(t.count || ' ' || t.last || ' ' || t.next(1));
           if t.exists(2) then dbms_output.put_line('no'); end if;
           for i in t.first..t.last loop if t.exists(i) then dbms_output.put(t(i) || ','); end if; end loop; dbms_output.new_line;
           v.extend(2); v(3) := 'c'; dbms_output.put_line(v.limit || v.count || v(3));
           m('one').a := 1; m('two') := y; m('one').b := 'o'; k := m.first;
           while k is not null loop dbms_output.put_line(k || m(k).a || m(k).b); k := m.next(k); end loop;
           q(5) := nt(1, 2); q(5)(2) := 99; dbms_output.put_line(q(5)(2) || q.count);
           t.trim; dbms_output.put_line(t.count); t.delete; dbms_output.put_line(t.count);
           begin dbms_output.put_line(t(1)); exception when subscript_beyond_count then dbms_output.put_line('beyond'); end;
           begin v(4) := 'x'; exception when subscript_outside_limit then dbms_output.put_line('limit'); end;
           begin dbms_output.put_line(m('none').a); exception when no_data_found then dbms_output.put_line('none'); end;
           declare u nt; begin u(1) := 1; exception when collection_is_null then dbms_output.put_line(sqlcode); end;
         end;",
        "56bee\n3 4 3\n10,30,40,\n33c\none1o\ntwo6bee\n991\n2\n0\nbeyond\nlimit\nnone\n-6531",
    );
    prints(
        "null; declare type n is table of number; t n := new n(1, 2, 3, 4, 5, 6, 9, 12); begin for i in 1..t.count loop dbms_output.put(t(i)||' '); end loop; dbms_output.new_line; end;",
        "1 2 3 4 5 6 9 12 ",
    );
}

#[test]
fn constraints_of_variables() {
    check(
        "declare s varchar2(3) := 'abcd'; begin null; end;",
        "ORA-06502: PL/SQL: numeric or value error: character string buffer too small\nORA-06512: at line 1",
    );
    check(
        "declare n number(3) := 1000; begin null; end;",
        "ORA-06502: PL/SQL: numeric or value error: number precision too large\nORA-06512: at line 1",
    );
    check(
        "declare n number(5,2) := 1.005; c char(3) := 'a'; i pls_integer := 2.5; p positive; begin dbms_output.put_line(n || c || '|' || i); p := 0; end;",
        "1.01a  |3\nORA-06502: PL/SQL: numeric or value error\nORA-06512: at line 1",
    );
    check(
        "declare n number not null := 1; begin n := null; end;",
        "ORA-06502: PL/SQL: numeric or value error\nORA-06512: at line 1",
    );
}

#[test]
fn compile_errors() {
    check(
        "begin x := 1; end;",
        "ORA-06550: line 1, column 7:\nPLS-00201: identifier 'X' must be declared\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored",
    );
    check(
        "begin\n  nosuch(1);\nend;",
        "ORA-06550: line 2, column 3:\nPLS-00201: identifier 'NOSUCH' must be declared\nORA-06550: line 2, column 3:\nPL/SQL: Statement ignored",
    );
    check(
        "begin dbms_output.nosuch; end;",
        "ORA-06550: line 1, column 19:\nPLS-00302: component 'NOSUCH' must be declared\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored",
    );
    check(
        "begin dbms_output.put_line; end;",
        "ORA-06550: line 1, column 19:\nPLS-00306: wrong number or types of arguments in call to 'PUT_LINE'\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored",
    );
    check(
        "begin dbms_aqadm.start_queue; end;",
        "ORA-06550: line 1, column 7:\nPLS-00201: identifier 'DBMS_AQADM.START_QUEUE' must be declared\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored",
    );
    check(
        "begin if 1 then null; end if; end;",
        "ORA-06550: line 1, column 10:\nPLS-00382: expression is of wrong type\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored",
    );
    let mut s = Session::new();
    assert!(
        s.run("begin null end;")
            .starts_with("ORA-06550: line 1, column 12:\nPLS-00103: Encountered the symbol \"END\"")
    );
    assert!(s.run("declare n number; n number; begin null; end;").contains("PLS-00371"));
    assert!(s.run("begin return 1; end;").contains("PLS-00372"));
    assert!(s.run("begin exit; end;").contains("PLS-00376"));
    assert!(s.run("begin raise; end;").contains("PLS-00367"));
    assert!(
        s.run("begin select 1 from dual; end;")
            .contains("PLS-00428: an INTO clause is expected in this SELECT statement")
    );
    assert!(s.run("declare procedure p; begin null; end;").contains("PLS-00328"));
    assert!(s.run("begin pipe row(1); end;").contains("PLS-00629"));
}

#[test]
fn binds_and_dynamic_sql() {
    let mut s = Session::new();
    let mut binds = [Datum::default(), Datum::Val(Value::Number(Number::from_i64(4)))];
    s.try_run("begin :b := :a * 2; end;", &mut binds).unwrap();
    let Datum::Val(v) = &binds[0] else { panic!() };
    assert_eq!(*v, Value::Number(Number::from_i64(8)));
    s.world.table("T", &[("N", DataType::NUMBER), ("V", DataType::TEXT)], vec![]);
    let out = s.run(
        "declare n number; v varchar2(10); begin
           execute immediate 'create table x (y number)';
           execute immediate 'insert into t values (:1, :2)' using 1, 'one';
           execute immediate 'select n, v from t where n = :x' into n, v using 1;
           dbms_output.put_line(n || v || sql%rowcount);
           execute immediate 'begin :r := :a + 1; end;' using out n, in 41; dbms_output.put_line(n);
           begin execute immediate 'select n from t where n = :x' into n using 2; exception when no_data_found then dbms_output.put_line('none'); end;
           begin execute immediate 'insert into t values (:1, :2)' using 1; exception when others then dbms_output.put_line(sqlerrm); end;
         end;",
    );
    assert_eq!(out, "1one1\n42\nnone\nORA-01008: not all variables bound");
    assert_eq!(s.world.other, ["create table x (y number)"]);
}

#[test]
fn cancel_ends_an_endless_loop_past_every_handler() {
    let mut s = Session::new();
    s.world.cancel_after = Some(1000);
    let out = s.run("begin while true loop begin null; exception when others then null; end; end loop; exception when others then null; end;");
    assert!(out.starts_with("ORA-01013"), "{out}");
}

#[test]
fn runaway_recursion_is_an_error() {
    check_start("declare procedure p is begin p; end; begin p; end;", "ORA-06500: PL/SQL: storage error");
}

fn check_start(text: &str, expected: &str) {
    let got = Session::new().run(text);
    assert!(got.starts_with(expected), "{}", &got[..got.len().min(300)]);
}

#[test]
fn the_uses_of_a_blocks_binds_follow_from_its_code() {
    let uses = |text: &str| {
        let mut session = Session::new();
        let block = session.plsql.compile_block(&mut session.world, text).expect("a block");
        let shown = |(name, way): (&String, &plsql::BindUse)| {
            let way = match (way.is_read, way.is_written) {
                (true, true) => "in out",
                (true, false) => "in",
                (false, true) => "out",
                (false, false) => "none",
            };
            format!("{name} {way}")
        };
        block.binds().iter().zip(block.bind_uses()).map(shown).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(uses("begin :a := :b; :c := :c || 'x'; end;"), "A out, B in, C in out");
    let calls = "declare
           procedure p(i number, o out number, io in out number) is begin o := i; io := io + i; end;
           function f(i number, o out number) return number is begin o := i; return i; end;
         begin p(:i, :o, :io); :r := f(o => :o2, i => :i2); if false then p(1, :never, :i); end if; end;";
    assert_eq!(uses(calls), "I in out, O out, IO in out, R out, O2 out, I2 in, NEVER out");
    assert_eq!(
        uses("begin execute immediate 'begin :x := :y; end;' using out :x, :y, in out :z; end;"),
        "X out, Y in, Z in out"
    );
    assert_eq!(
        uses("begin select :n into :m from dual; open :c for select :k from dual; end;"),
        "N in, M out, C out, K in"
    );
    assert_eq!(uses("declare n number; begin fetch :c into n; close :c; end;"), "C in");
}

#[test]
fn a_dynamic_block_takes_its_arguments_in_the_order_of_its_text() {
    check(
        "declare n number; begin
           execute immediate 'declare procedure q(i number, o out number) is begin o := i * 2; end; begin q(:a, :b); end;'
             using 21, out n;
           dbms_output.put_line(n);
         end;",
        "42",
    );
}

#[test]
fn directives_select_text_at_its_positions() {
    check("begin $if dbms_db_version.version > 11 $then dbms_output.put_line($$plsql_line); $end null; end;", "1");
    check(
        "begin $if false $then é é $else\n  unknown;\n$end end;",
        "ORA-06550: line 2, column 3:\nPLS-00201: identifier 'UNKNOWN' must be declared\nORA-06550: line 2, column 3:\nPL/SQL: Statement ignored",
    );
    check(
        "begin $if 1 $then null; $end null; end;",
        "ORA-06550: line 1, column 11:\nPLS-00174: a static boolean expression must be used",
    );
    check(
        "begin $if true $then $error 'not on ' || to_char(2) $end $end null; end;",
        "ORA-06550: line 1, column 22:\nPLS-00179: $ERROR: not on 2",
    );
}

#[test]
fn pipelined_functions_are_called_by_sql_only() {
    check(
        "declare type t is table of number; x t; function f return t pipelined is begin pipe row (1); end; begin x := f; end;",
        "ORA-06550: line 1, column 110:\nPLS-00653: aggregate/table functions are not allowed in PL/SQL scope\nORA-06550: line 1, column 105:\nPL/SQL: Statement ignored",
    );
}
