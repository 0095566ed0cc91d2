use super::super::ast::*;
use super::super::*;

fn block(text: &str) -> Block {
    parse_block(text).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn error(text: &str) -> String {
    match parse_block(text) {
        Ok(_) => panic!("parsed: {text}"),
        Err(e) => e.headline(),
    }
}

#[test]
fn statements_of_every_kind() {
    let b = block(
        "<<outer>>
declare
  x number(10,2) not null := 1.5e3; c constant varchar2(10 char) := q'[it's]';
  type r is record (a number := 1, b t.c%type); type nt is table of r; type va is varray(3) of varchar2(5);
  type aa is table of number index by varchar2(30); type rc is ref cursor return emp%rowtype;
  subtype s is pls_integer range 1..10; cursor c1(p number default 1) is select * from t where n = p;
  e exception; pragma exception_init(e, -20001); pragma autonomous_transaction;
  procedure fwd(a in out nocopy number); function f return number is begin return 1; end f;
begin
  null; x := -x ** 2 + mod(3, 2) * 4 || 'a'; t(1).b(2) := f(a => 1, b => 2);
  if x > 1 and not (y is null) then null; elsif x in (1, 2) then null; else null; end if;
  case x when 1 then null; else null; end case;
  case when x like 'a%' escape '!' then null; end case;
  <<l>> loop exit l when x between 1 and 2; continue; exit; end loop l;
  while true loop goto done; end loop;
  for i in reverse 1..10 loop null; end loop;
  for r in (select a, b from t where a = (select max(a) from u)) loop null; end loop;
  for r in c1(5) loop null; end loop;
  select a, count(*) into x, y from t group by a;
  select a bulk collect into v from t;
  insert into t (a) values (1) returning rowid into r;
  update t set a = 1 where current of c1; delete from t; merge into t using u on (a = b) when matched then update set c = 1;
  commit work; rollback to savepoint sp; savepoint sp; open c1; open c1(1); open rc for select 1 from dual;
  open rc for 'select' using in 1, out x; fetch c1 into x, y; fetch c1 bulk collect into v limit 10; close c1;
  execute immediate 'x' || y into a, b using 1, in out z returning into q;
  forall i in 1..v.count save exceptions insert into t values (v(i));
  forall i in indices of v between 1 and 2 update t set a = v(i);
  raise e; raise; p; p(1); pkg.p(x => 2); sch.pkg.p; v.delete; v.delete(3); v.extend;
  x := case when c1%found then 1 else sql%rowcount end; x := trim(both 'x' from y) || extract(year from sysdate);
  x := cast('1' as number(3)); x := new nt(1, 2)(1); x := date '2020-01-01' + interval '1' day(3) to second(2); :b := :c;
  <<done>> null;
exception
  when no_data_found or pkg.e then null;
  when others then return;
end outer;",
    );
    assert_eq!(b.labels[0].name, "OUTER");
    assert_eq!(b.declarations.len(), 14);
    assert_eq!(b.body.handlers.len(), 2);
    assert_eq!(b.body.statements.len(), 46);
}

#[test]
fn into_is_cut_from_a_query_and_kept_in_dml() {
    let text = "begin select a into x from t; insert into t values (1) returning a, b bulk collect into c, d; end;";
    let b = block(text);
    let StatementKind::Sql(q) = &b.body.statements[0].kind else { panic!() };
    let (into, span) = q.into.as_ref().unwrap();
    assert_eq!((&text[span.start as usize..span.end as usize], into.bulk), ("into x", false));
    assert_eq!(q.text, "select a into x from t");
    let StatementKind::Sql(i) = &b.body.statements[1].kind else { panic!() };
    let (into, span) = i.returning.as_ref().unwrap();
    assert_eq!((&text[span.start as usize..span.end as usize], into.bulk, into.targets.len()), ("c, d", true, 2));
}

#[test]
fn precedence() {
    let shape = |text: &str| match parse_expression(text).unwrap().kind {
        ExprKind::Binary { op, .. } => format!("{op:?}"),
        ExprKind::Unary { op, .. } => format!("{op:?}"),
        other => format!("{other:?}"),
    };
    assert_eq!(shape("1 + 2 * 3"), "Add");
    assert_eq!(shape("a or b and c"), "Or");
    assert_eq!(shape("not a = b"), "Not");
    assert_eq!(shape("-a ** 2"), "Minus");
    assert_eq!(shape("a || b = c"), "Eq");
    assert_eq!(shape("2 ** -1"), "Power");
}

#[test]
fn units() {
    let header = parse_create_header("create or replace editionable function sys.f return number is").unwrap();
    assert_eq!(
        (header.kind, header.or_replace, header.name.name.as_str(), header.source_at),
        (UnitKind::Function, true, "F", 30)
    );
    for text in [
        "procedure p(a number, b out varchar2) authid current_user is begin null; end p;",
        "function f return number deterministic result_cache relies_on (t) is x number; begin return x; end;",
        "package p is g number := 1; procedure q; function r(a number) return boolean; cursor c return t%rowtype; end p;",
        "package body p as procedure q is begin null; end q; begin g := 2; end;",
        "trigger tr before insert or update of a, b on t referencing new as n for each row when (n.a > 1) begin :n.a := 1; end;",
        "type nt as table of varchar2(10);",
    ] {
        parse_unit(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}

#[test]
fn errors_name_the_symbol() {
    assert!(error("begin x := ; end;").starts_with("PLS-00103: Encountered the symbol \";\" when expecting"));
    assert!(error("begin null end;").starts_with("PLS-00103: Encountered the symbol \"END\" when expecting"));
    assert!(error("begin null;").starts_with("PLS-00103: Encountered the symbol \"end-of-file\""));
    assert!(error("begin null; end").starts_with("PLS-00103: Encountered the symbol \"end-of-file\""));
    assert!(error("begin end;").starts_with("PLS-00103: Encountered the symbol \"END\""));
    assert!(error("declare x; begin null; end;").starts_with("PLS-00103: Encountered the symbol \";\""));
    assert_eq!(parse_block("begin\n  x := ;\nend;").unwrap_err().position(), Some(13));
    assert_eq!(line_column("begin\n  x := ;\nend;", 13), (2, 8));
    assert!(parse_unit("procedure p is begin null; end q;").unwrap_err().headline().starts_with("PLS-00113"));
}

/// A deeply nested tree can also be dropped, copied and compared.
fn survives(text: &str) {
    let block = parse_block(text).unwrap_or_else(|e| panic!("{}: {e}", &text[..40]));
    assert_eq!(block.clone(), block);
}

#[test]
fn expressions_and_blocks_nest_deep_on_the_stack_of_a_session() {
    os::stack::run(os::stack::SIZE, || {
        survives(&format!("begin x := {}1{}; end;", "(".repeat(3000), ")".repeat(3000)));
        survives(&format!("begin x := {}1{}; end;", "f(".repeat(3000), ")".repeat(3000)));
        survives(&format!("{}null;{}", "begin ".repeat(3000), "end;".repeat(3000)));
        survives(&format!("begin {}null;{} end;", "loop ".repeat(3000), "end loop;".repeat(3000)));
        survives(&format!("begin {}null;{} end;", "if a then ".repeat(3000), "end if;".repeat(3000)));
        for operator in ["+", "||", "*", " or ", " and ", " = "] {
            survives(&format!("begin x := y{}; end;", format!("{operator}y").repeat(30_000)));
        }
        for operator in [" or ", " and "] {
            survives(&format!("begin x := y{}; end;", format!("{operator}y").repeat(100_000)));
        }
    });
}

#[test]
fn nesting_without_end_is_an_error() {
    let without_end = || {
        let text = format!("begin x := {}1{}; end;", "(".repeat(50_000), ")".repeat(50_000));
        assert!(error(&text).starts_with("PLS-00123"));
        let text = format!("{}null;{}", "begin ".repeat(50_000), "end;".repeat(50_000));
        assert!(error(&text).starts_with("PLS-00123"));
        for operator in ["+", "||", "*", " or ", " and ", " = "] {
            let text = format!("begin x := y{}; end;", format!("{operator}y").repeat(200_000));
            assert!(error(&text).starts_with("PLS-00123"), "{operator}");
        }
        let (open, close) = ("procedure p is ".repeat(50_000), "begin null; end;".repeat(50_000));
        assert!(error(&format!("declare {open}{close} begin null; end;")).starts_with("PLS-00123"));
    };
    os::stack::run(os::stack::SIZE, without_end);
    // The small stack of a thread outside of sessions ends it earlier.
    std::thread::Builder::new().stack_size(512 << 10).spawn(without_end).unwrap().join().unwrap();
}
