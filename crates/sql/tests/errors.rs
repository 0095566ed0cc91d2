//! Syntax errors: Oracle's number at Oracle's position. `^` in a case marks the position of the error.

use sql::parse_statement;

/// Checks all cases and reports every failure.
fn check_all(cases: &[(&str, u32)]) {
    let wrong: Vec<String> = cases.iter().filter_map(|(marked, code)| check(marked, *code).err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn check(marked: &str, code: u32) -> Result<(), String> {
    let position = marked.find('^').expect("a mark");
    let text = marked.replacen('^', "", 1);
    let error = match parse_statement(&text) {
        Err(error) => error,
        Ok(_) => return Err(format!("{marked}: accepted")),
    };
    if (error.code(), error.position()) != (code, Some(position as u32)) {
        return Err(format!("{marked}: {error} at {:?}, not {code} at {position}", error.position()));
    }
    if error.message().starts_with("Message ") {
        return Err(format!("{marked}: {error}"));
    }
    Ok(())
}

#[test]
fn queries() {
    check_all(&[
        ("^", 900),
        ("^selec 1 from dual", 900),
        ("^123", 900),
        ("select 1^", 923),
        ("select a b ^c from t", 923),
        ("select 1 ^where 1=1", 923),
        ("select ^from dual", 936),
        ("select a, ^from dual", 936),
        ("select a from ^", 903),
        ("select a from ^where 1=1", 903),
        ("select a from ^1", 903),
        ("select * from t ^as x", 933),
        ("select * from t x ^y", 933),
        ("select * from t where a ^", 920),
        ("select * from t where a ^and b = 1", 920),
        ("select * from t where ^", 936),
        ("select * from t where ^select", 936),
        ("select * from t where a = ^", 936),
        ("select * from t where a = 1 ^b", 933),
        ("select * from t where a is ^1", 908),
        ("select * from t where a between 1 ^or 2", 905),
        ("select * from t where a in (1, 2^", 907),
        ("select * from t where a in (^)", 936),
        ("select (1 + 2 ^from dual", 907),
        ("select (a ^= b) from dual", 907),
        ("select f(1, ^) from dual", 936),
        ("select * from t group ^a", 924),
        ("select * from t order ^a", 924),
        ("select * from t order by ^", 936),
        ("select * from (^delete from t)", 903),
        ("select * from (select * from t ^as x)", 907),
        ("select * from a join b ^", 905),
        ("select case when 1=1 ^else 2 end from dual", 905),
        ("select case end ^from dual", 905),
        ("select 1 from dual union ^", 928),
        ("select 1 from dual union ^update t", 928),
        ("select cast(1 as ^) from dual", 902),
        ("select * from t fetch first 1 ^x only", 905),
        ("select * from t for update wait ^x", 30005),
        ("select * from t where a = 1^;", 911),
    ]);
}

#[test]
fn lexical() {
    check_all(&[
        ("select ^# from dual", 911),
        ("select 1 from dual where a = ^'x", 1756),
        ("select ^\"\" from dual", 1741),
        ("select ^\"x from dual", 1740),
        ("select 1 from dual ^/* x", 1742),
        (&format!("select ^{} from dual", "a".repeat(129)), 972),
        ("select 1 from dual where a = ^?", 936),
    ]);
}

#[test]
fn dml() {
    check_all(&[
        ("insert ^t values (1)", 925),
        ("insert into t (a ^b) values (1)", 917),
        ("insert into t (a) ^x", 926),
        ("insert into t (a) (^1)", 928),
        ("insert into t values ^1", 906),
        ("insert into t values (1^", 917),
        ("insert into t values (1 ^2)", 917),
        ("insert into ^values (1)", 903),
        ("update t a ^= 1", 971),
        ("update t set a ^1", 927),
        ("update t set a = ^", 936),
        ("update t set (a, b) = ^(1, 2)", 1767),
        ("delete from t a ^= 1", 933),
        ("merge into t using u on ^a = b", 906),
        ("lock ^t in share mode", 966),
    ]);
}

#[test]
fn ddl() {
    check_all(&[
        ("create ^thing t", 901),
        ("create table ^select (a number)", 903),
        ("create table t (a number(^x))", 1727),
        ("create table t (a number^", 907),
        ("create table t (a number) ^bogus", 922),
        ("create table t ^", 906),
        ("create table t (a number ^b number)", 907),
        ("create view v ^select 1 from dual", 905),
        ("create view v as ^update t", 928),
        ("create index i ^t (a)", 969),
        ("create unique ^t", 968),
        ("drop ^thing t", 950),
        ("drop table ^", 903),
        ("alter ^thing", 940),
        ("alter table t ^bogus", 1735),
        ("alter table t^", 2210),
        ("alter system ^bogus", 2065),
        ("alter session ^bogus", 922),
        ("truncate ^t", 3290),
        ("grant select on t ^scott", 905),
        ("create user u identified ^x", 924),
        ("create sequence ^1", 2277),
        ("create sequence s increment ^1", 2000),
        ("comment on table t is ^x", 1780),
        ("grant select on t to u with admin ^option", 993),
        ("grant create session to u with grant ^option", 1939),
        ("grant r to u with hierarchy ^option", 993),
    ]);
}

#[test]
fn limits_are_errors_and_not_crashes() {
    let list = vec!["1"; 1001].join(",");
    let text = format!("select 1 from dual where 1 in ({list})");
    assert_eq!(parse_statement(&text).unwrap_err().code(), 1795);
    let rows = vec!["(1,2)"; 1500].join(",");
    assert!(parse_statement(&format!("select 1 from dual where (1,2) in ({rows})")).is_ok());
    for open in
        ["(", "f(", "case when 1=1 then ", "-", "prior ", "not ", "((select 1 from dual where ", "a.b(1)(", "(a,"]
    {
        let text = format!("select 1 from dual where {}", open.repeat(20_000));
        assert!(parse_statement(&text).is_err(), "{open}");
    }
    for chain in ["1+", "1||", "a and ", "a=b or ", "a(+)(+)", "1 in 1 in ", "a.b.c.", "x(1).", "x(1)(1)"] {
        let _ = parse_statement(&format!("select 1 from dual where {}", chain.repeat(50_000)));
    }
    for from in ["(", "a join ", "a natural join ", "(select * from ", "a, "] {
        let _ = parse_statement(&format!("select 1 from {}", from.repeat(20_000)));
    }
    let _ = parse_statement(&"explain plan for ".repeat(20_000));
    let _ = parse_statement(&"select 1 from dual union ".repeat(20_000));
    let _ = parse_statement(&format!("select 1 from dual group by {}", "grouping sets (".repeat(20_000)));
    let _ = parse_statement(&format!("select 1 from a@{}", "b@".repeat(20_000)));
}

#[test]
fn more_binds_than_a_statement_may_have_are_refused() {
    let of = |binds: usize| {
        let lists: Vec<String> = (0..binds.div_ceil(1000))
            .map(|list| {
                let names = (list * 1000..binds.min((list + 1) * 1000)).map(|n| format!(":b{n}"));
                format!("1 in ({})", names.collect::<Vec<_>>().join(","))
            })
            .collect();
        format!("select 1 from dual where {}", lists.join(" or "))
    };
    let (most, more) = (of(sql::BINDS_MAX), of(sql::BINDS_MAX + 1));
    for parse in [parse_statement, sql::parse_statement_by_place] {
        assert!(parse(&most).is_ok());
        let e = parse(&more).unwrap_err();
        assert_eq!((e.code(), e.position()), (1745, more.find(&format!(":b{}", sql::BINDS_MAX)).map(|at| at as u32)));
    }
    assert_eq!(sql::bind_names(&more).len(), sql::BINDS_MAX + 1);
    // Repeated names count once for each position.
    let again = most.replacen(":b7,", ":b6,", 1);
    let places = sql::bind_places(&again);
    assert_eq!((places.len(), sql::bind_names(&again).len()), (sql::BINDS_MAX, sql::BINDS_MAX - 1));
    assert!(sql::is_place(&places[7]) && sql::name_of_place(&places[7]) == "B6" && !sql::is_place(&places[6]));
}

#[test]
fn only_the_grant_option_gives_away_what_is_on_an_object() {
    use sql::ast::{Ddl, Statement};
    let gives = |text: &str| match parse_statement(text) {
        Ok(Statement::Ddl(ddl)) => match *ddl {
            Ddl::Grant(grant) => grant.with_option,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert!(gives("grant select on t to u with grant option"));
    assert!(gives("grant select on t to u with hierarchy option with grant option"));
    assert!(gives("grant create session to u with admin option"));
    assert!(!gives("grant select on t to u with hierarchy option"));
    assert!(!gives("grant select on t to u"));
}
