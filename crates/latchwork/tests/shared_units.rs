//! Stored units that sessions run without compiling them: the changes that require a new compilation, and the users who
//! share the code.
//!
//! Compiling a static statement counts in `parse count (describe)`; a session that loads a unit from its image counts
//! none.

mod support;

use client::{Client, Ephemeral};
use support::{connect, figure, log_on, make_user, one, refused, run, words};

fn instance(design: &str) -> Ephemeral {
    support::start(&[("_library_cache_design", design)])
}

/// The number of static statements that a session compiles while `f` runs.
fn compiled<R>(s: &mut Client, f: impl FnOnce(&mut Client) -> R) -> (u64, R) {
    let count = |s: &mut Client| figure(s, "parse count (describe)");
    let before = count(s);
    let done = f(s);
    (count(s) - before, done)
}

/// The result of a numeric function, called in a block, and the number of static statements compiled for it.
fn call(s: &mut Client, expression: &str) -> (u64, String) {
    let block = format!("begin dbms_application_info.set_client_info({expression}); end;");
    let (count, ()) = compiled(s, |s| run(s, &block));
    (count, one(s, "select sys_context('USERENV', 'CLIENT_INFO') from dual"))
}

const DESIGNS: [&str; 4] = ["latch", "pins", "mutex", "versioned"];

/// A package of more than 200 lines, with as many static statements as it has functions.
const FUNCTIONS: usize = 30;

fn long_package(name: &str, factor: usize) -> [String; 2] {
    let mut specification = format!("create or replace package {name} as\n");
    let mut body = format!("create or replace package body {name} as\n");
    for n in 0..FUNCTIONS {
        specification += &format!("  function f{n} (p number default {n}) return number;\n");
        body += &format!(
            "  function f{n} (p number default {n}) return number is\n    type row_t is record (n number, v \
             varchar2(20));\n\
             \x20   type list_t is table of row_t index by pls_integer;\n    l list_t;\n    r one%rowtype;\n  begin\n\
             \x20   select n, v into r.n, r.v from one where n = 1;\n    l(p).n := r.n * {factor};\n\
             \x20   for i in 1 .. 3 loop\n      l(p).n := l(p).n + i;\n    end loop;\n    return l(p).n + length(r.v) + {n};\n\
             \x20 exception\n    when no_data_found then return -1;\n  end;\n"
        );
    }
    [specification + "end;", body + "end;"]
}

#[test]
fn a_package_is_compiled_once_for_all_sessions_and_again_only_for_what_has_changed() {
    for design in DESIGNS {
        let instance = instance(design);
        let mut dba = connect(&instance);
        run(&mut dba, "create table one (n number, v varchar2(10))");
        run(&mut dba, "insert into one values (1, 'abc')");
        run(&mut dba, "commit");
        for text in long_package("lp", 10) {
            run(&mut dba, &text);
        }
        // 10 + 6 + 3 + 7.
        let (count, answer) = call(&mut connect(&instance), "lp.f7");
        assert_eq!((count, answer.as_str()), (FUNCTIONS as u64, "26"), "{design}");
        let soft = |what: &str, expected: &str| {
            let (count, answer) = call(&mut connect(&instance), "lp.f7");
            assert_eq!((count, answer.as_str()), (0, expected), "{design}: {what}");
        };
        let hard = |what: &str, expected: &str| {
            let (count, answer) = call(&mut connect(&instance), "lp.f7");
            assert_eq!((count > 0, answer.as_str()), (true, expected), "{design}: {what}");
        };
        soft("another session", "26");
        let kept = "select namespace, loads, invalidations from v$db_object_cache \
                    where owner = 'SYS' and name = 'LP' order by namespace";
        assert_eq!(words(&mut dba, kept), [["BODY", "1", "0"], ["TABLE/PROCEDURE", "1", "0"]], "{design}");
        run(&mut dba, "create table two (n number)");
        soft("DDL of another table", "26");
        soft("another session in that dictionary", "26");
        // DDL compiles the units that it invalidates.
        let (count, ()) = compiled(&mut dba, |dba| run(dba, "alter table one add (w number)"));
        assert!(count >= FUNCTIONS as u64, "{design}: {count}");
        soft("a new column", "26");
        run(&mut dba, &long_package("lp", 20)[1]);
        hard("another body", "36");
        soft("another body is known", "36");
        run(&mut dba, "alter package lp compile");
        soft("compiled by DDL, and the same", "36");
        run(&mut dba, "alter system flush shared_pool");
        hard("flushed", "36");
        soft("loaded again", "36");
        // Without a body nothing can be run; the specification has no code of the old body.
        run(&mut dba, "drop package body lp");
        assert!(
            refused(&mut connect(&instance), "declare n number; begin n := lp.f7; end;").contains("ORA-"),
            "{design}"
        );
        run(&mut dba, &long_package("lp", 30)[1]);
        hard("a body again", "46");
        run(&mut dba, "drop package lp");
        assert!(refused(&mut connect(&instance), "declare n number; begin n := lp.f7; end;").contains("PLS-00201"));
        // A function of the same name is not the package.
        run(
            &mut dba,
            "create function lp return number is n number; begin select count(*) into n from one; return n; end;",
        );
        assert_eq!(call(&mut connect(&instance), "lp"), (1, "1".into()), "{design}");
        assert_eq!(call(&mut connect(&instance), "lp"), (0, "1".into()), "{design}");
    }
}

#[test]
fn code_is_held_to_names_and_privileges_of_its_owner() {
    let instance = instance("versioned");
    let mut dba = connect(&instance);
    for name in ["ann", "ben", "cal"] {
        make_user(&mut dba, name);
    }
    let (mut ann, mut ben) = (log_on(&instance, "ann"), log_on(&instance, "ben"));
    for (s, n) in [(&mut ann, 1), (&mut ben, 2)] {
        run(s, "create table t (n number)");
        run(s, &format!("insert into t values ({n})"));
        run(s, "commit");
    }
    run(&mut ben, "grant select on t to ann");
    run(&mut dba, "create public synonym pt for ben.t");
    run(&mut ann, "create synonym s for t");
    run(&mut ann, "create function by_synonym return number is r number; begin select n into r from s; return r; end;");
    run(&mut ann, "create function by_public return number is r number; begin select n into r from pt; return r; end;");
    run(&mut ann, "create function of_ben return number is r number; begin select n into r from ben.t; return r; end;");
    run(
        &mut ann,
        "create function by_caller return number authid current_user is r number; begin select n into r from t; \
         return r; end;",
    );
    for f in ["by_synonym", "by_public", "of_ben", "by_caller"] {
        run(&mut ann, &format!("grant execute on {f} to ben"));
    }
    let expect = |who: &str, f: &str, expected: &[(&str, &str)]| {
        for (what, answer) in expected {
            let (count, found) = call(&mut log_on(&instance, who), &format!("ann.{f}"));
            assert_eq!(found, *answer, "{who} {f}: {what}");
            // DDL compiles the units that it invalidates: their code is then present and new.
            assert!(*what == "new" || (count == 0) == (*what == "soft"), "{who} {f}: {what}");
        }
    };
    expect("ann", "by_synonym", &[("hard", "1"), ("soft", "1")]);
    expect("ben", "by_synonym", &[("soft", "1")]);
    expect("ben", "by_public", &[("hard", "2"), ("soft", "2")]);
    // Code with invoker's rights is shared; its tables are each caller's.
    expect("ann", "by_caller", &[("hard", "1"), ("soft", "1")]);
    expect("ben", "by_caller", &[("soft", "2")]);
    // A synonym for another object, and a private table that replaces a public synonym.
    run(&mut ann, "create or replace synonym s for ben.t");
    expect("ben", "by_synonym", &[("new", "2"), ("soft", "2")]);
    run(&mut ann, "create table pt (n number)");
    run(&mut ann, "insert into pt values (3)");
    run(&mut ann, "commit");
    expect("ben", "by_public", &[("hard", "3"), ("soft", "3")]);
    run(&mut ann, "drop table pt");
    expect("ann", "by_public", &[("new", "2"), ("soft", "2")]);
    // A user without EXECUTE on a unit cannot use its code, and is not told that it exists.
    let block = "declare n number; begin n := ann.of_ben; end;";
    assert!(refused(&mut log_on(&instance, "cal"), block).contains("PLS-00201"));
    expect("ben", "of_ben", &[("hard", "2"), ("soft", "2")]);
    run(&mut ann, "revoke execute on of_ben from ben");
    assert!(refused(&mut log_on(&instance, "ben"), block).contains("PLS-00201"));
    // The owner's privilege on the objects that the unit reads.
    expect("ann", "of_ben", &[("soft", "2")]);
    run(&mut ben, "revoke select on t from ann");
    let gone = refused(&mut log_on(&instance, "ann"), block);
    assert!(gone.contains("PLS-00905") || gone.contains("ORA-04063") || gone.contains("ORA-06575"), "{gone}");
    assert!(
        refused(&mut log_on(&instance, "ben"), "declare n number; begin n := ann.by_synonym; end;").contains("ORA-")
    );
    run(&mut dba, "grant select any table to ann");
    // The code from before the REVOKE is valid again.
    expect("ann", "of_ben", &[("new", "2"), ("soft", "2")]);
    // A privilege through a role does not count for a definer's unit.
    run(&mut dba, "revoke select any table from ann");
    run(&mut dba, "create role reader");
    run(&mut ben, "grant select on t to reader");
    run(&mut dba, "grant reader to ann");
    assert!(refused(&mut log_on(&instance, "ann"), block).contains("ORA-"));
    // Another user of the same name has other tables.
    drop(ann);
    while let Err(e) = dba.execute("drop user ann cascade", &[]) {
        // Her sessions are still ending.
        assert!(e.to_string().contains("ORA-01940"), "{e}");
        std::thread::yield_now();
    }
    make_user(&mut dba, "ann");
    let mut ann = log_on(&instance, "ann");
    run(&mut ann, "create table t (n number)");
    run(&mut ann, "insert into t values (5)");
    run(&mut ann, "commit");
    run(&mut ann, "create synonym s for t");
    run(&mut ann, "create function by_synonym return number is r number; begin select n into r from s; return r; end;");
    let (_, found) = call(&mut log_on(&instance, "ann"), "ann.by_synonym");
    assert_eq!(found, "5");
    let (count, found) = call(&mut log_on(&instance, "ann"), "ann.by_synonym");
    assert_eq!((count, found.as_str()), (0, "5"));
}

#[test]
fn code_is_held_to_what_other_units_show_and_to_the_settings_of_the_session() {
    let instance = instance("versioned");
    let mut dba = connect(&instance);
    run(&mut dba, "create table one (n number, v varchar2(10))");
    run(&mut dba, "insert into one values (1, 'abc')");
    run(&mut dba, "commit");
    run(
        &mut dba,
        "create package base as k constant number := 5; type t is record (a number, b number); function f (n number \
         default 1) return number; end;",
    );
    run(
        &mut dba,
        "create package body base as function f (n number default 1) return number is begin return n; end; end;",
    );
    run(
        &mut dba,
        "create function over_base return number is r base.t; c number; begin select count(*) into c from one; \
                   r.a := base.k; r.b := base.f; return r.a * 100 + r.b * 10 + c; end;",
    );
    let soft = |expected: &str| {
        assert_eq!(call(&mut connect(&instance), "over_base"), (0, expected.to_string()));
    };
    let hard = |expected: &str| {
        assert_eq!(call(&mut connect(&instance), "over_base"), (1, expected.to_string()));
    };
    hard("511");
    soft("511");
    // The body of a called unit is not part of the code.
    run(
        &mut dba,
        "create or replace package body base as function f (n number default 1) return number is begin return n + \
         1; end; end;",
    );
    let (_, found) = call(&mut connect(&instance), "over_base");
    assert_eq!(found, "521");
    soft("521");
    // Its specification is: a constant, a default, fields in another order.
    run(
        &mut dba,
        "create or replace package base as k constant number := 6; type t is record (b number, a number); function \
         f (n number default 2) return number; end;",
    );
    run(
        &mut dba,
        "create or replace package body base as function f (n number default 2) return number is begin return n + \
         1; end; end;",
    );
    hard("631");
    soft("631");
    // Length semantics are those of the compiling session.
    run(
        &mut dba,
        "create function lengths return number is v varchar2(3); c number; begin select count(*) into c from one; \
                   v := 'äöü'; return length(v); end;",
    );
    let with = |semantics: &str| {
        let mut s = connect(&instance);
        run(&mut s, &format!("alter session set nls_length_semantics = {semantics}"));
        s
    };
    let fails = "declare n number; begin n := lengths; end;";
    for _ in 0..2 {
        assert_eq!(call(&mut with("char"), "lengths").1, "3");
        assert!(refused(&mut with("byte"), fails).contains("ORA-06502"));
    }
    assert_eq!(call(&mut with("char"), "lengths"), (0, "3".into()));
    // The interface of a package is compiled again after a change of the setting, before it is used in the code of
    // others.
    run(&mut dba, "create package words as subtype s is varchar2(3); end;");
    for name in ["first_word", "second_word"] {
        run(
            &mut dba,
            &format!(
                "create function {name}(w varchar2) return number is v words.s; c number; begin \
                 select count(*) into c from one; v := w; return length(v); end;"
            ),
        );
    }
    let mut changing = with("byte");
    assert_eq!(call(&mut changing, "first_word('abc')").1, "3");
    run(&mut changing, "alter session set nls_length_semantics = char");
    assert_eq!(call(&mut changing, "second_word('äöü')").1, "3");
    assert_eq!(call(&mut with("char"), "second_word('äöü')"), (0, "3".into()));
    // The state of a package is a session's own.
    run(&mut dba, "create package counting as n number := 0; function next_one return number; end;");
    run(
        &mut dba,
        "create package body counting as function next_one return number is c number; begin select count(*) into c \
         from one; \
                   n := n + c; return n; end; end;",
    );
    let (mut s, mut t) = (connect(&instance), connect(&instance));
    assert_eq!(call(&mut s, "counting.next_one").1, "1");
    assert_eq!(call(&mut s, "counting.next_one").1, "2");
    assert_eq!(call(&mut t, "counting.next_one"), (0, "1".into()));
    // DDL of another object leaves it alone; compiled by DDL, it starts again after ORA-04068.
    run(&mut dba, "create table other (n number)");
    assert_eq!(call(&mut s, "counting.next_one"), (0, "3".into()));
    run(&mut dba, "alter package counting compile body");
    assert!(refused(&mut s, "declare n number; begin n := counting.next_one; end;").contains("ORA-04068"));
    assert_eq!(call(&mut s, "counting.next_one").1, "1");
    // An exception of a package is the same for all users of the name, compiled in this session or not.
    run(&mut dba, "create package raising as oops exception; procedure p; end;");
    run(
        &mut dba,
        "create package body raising as procedure p is c number; begin select count(*) into c from one; raise oops; \
         end; end;",
    );
    let block =
        "begin raising.p; exception when raising.oops then dbms_application_info.set_client_info('caught'); end;";
    for expected in [1, 0] {
        let mut s = connect(&instance);
        assert_eq!(compiled(&mut s, |s| run(s, block)).0, expected);
        assert_eq!(one(&mut s, "select sys_context('USERENV', 'CLIENT_INFO') from dual"), "caught");
    }
    // Functions in static statements, also nested calls.
    let inner = "create or replace function inner_f (n number) return {} deterministic is begin return n * 2; end;";
    run(&mut dba, &inner.replace("{}", "number"));
    run(
        &mut dba,
        "create function outer_f return number is r number; begin select inner_f(n) into r from one; return r; end;",
    );
    assert_eq!(call(&mut connect(&instance), "outer_f"), (1, "2".into()));
    assert_eq!(call(&mut connect(&instance), "outer_f"), (0, "2".into()));
    run(&mut dba, "create table another (n number)");
    assert_eq!(call(&mut connect(&instance), "outer_f"), (0, "2".into()));
    run(&mut dba, &inner.replace("{}", "varchar2"));
    assert_eq!(call(&mut connect(&instance), "outer_f").1, "2");
    let one = "create or replace function {} (n number) return number deterministic is r number; begin \
               if n = 0 then return {}; end if; select {}(n - 1) into r from dual; return r; end;";
    let text = |name: &str, end: &str, other: &str| {
        one.replacen("{}", name, 1).replacen("{}", end, 1).replacen("{}", other, 1)
    };
    run(&mut dba, "create function is_odd (n number) return number deterministic is begin return 0; end;");
    run(&mut dba, &text("is_even", "1", "is_odd"));
    run(&mut dba, &text("is_odd", "0", "is_even"));
    for number in [6, 7, 8] {
        run(&mut dba, "create or replace view moves_the_epoch as select n from one");
        let even = u32::from(number % 2 == 0).to_string();
        assert_eq!(call(&mut connect(&instance), &format!("is_even({number})")).1, even);
        assert_eq!(call(&mut connect(&instance), &format!("is_odd({number} + 1)")).1, even);
    }
    // A type of a schema may change without its users: code that names one is not shared.
    run(&mut dba, "create type pair as object (a number, b number)");
    run(
        &mut dba,
        "create function of_pair return number is p pair := pair(1, 2); c number; begin select count(*) into c from \
         one; return p.a + c; end;",
    );
    for _ in 0..2 {
        assert_eq!(call(&mut connect(&instance), "of_pair"), (1, "2".into()));
    }
}

/// Records of records, each with the previous one twice: they compile quickly, and so does the attempt to write their
/// image.
#[test]
fn code_whose_image_would_be_endless_is_compiled_by_each_session() {
    let instance = instance("versioned");
    let mut s = connect(&instance);
    let mut types = "type r0 is record (n number); type t0 is table of r0 index by pls_integer;".to_string();
    for n in 1..60 {
        let last = n - 1;
        types +=
            &format!(" type r{n} is record (a t{last}, b t{last}); type t{n} is table of r{n} index by pls_integer;");
    }
    run(&mut s, &format!("create procedure endless is {types} v t59; begin v(1).a(1).b(1) := v(1).a(2).a(1); end;"));
    for _ in 0..2 {
        let mut s = connect(&instance);
        assert!(refused(&mut s, "begin endless; end;").contains("ORA-01403"));
    }
}

#[test]
fn code_that_is_too_long_for_the_cache_is_compiled_by_each_session() {
    let instance = instance("versioned");
    let mut dba = connect(&instance);
    run(&mut dba, "create table one (n number, v varchar2(10))");
    run(&mut dba, "insert into one values (1, 'abc')");
    run(&mut dba, "commit");
    let texts: String = (0..2000).map(|n| format!("  s := s + length('{n:0>120}');\n")).collect();
    run(
        &mut dba,
        &format!(
            "create function too_long return number is s number := 0; begin select count(*) into s from \
             one;\n{texts}  return s; end;"
        ),
    );
    for _ in 0..3 {
        assert_eq!(call(&mut connect(&instance), "too_long"), (1, "240001".into()));
    }
}

#[test]
fn the_state_of_a_package_ends_when_a_type_that_it_names_is_laid_out_anew() {
    let instance = instance("versioned");
    let (mut s, mut other) = (connect(&instance), connect(&instance));
    let state = "select us.f from dual";
    let us = |t: &str, fields: [&str; 2]| {
        let [a, b] = fields;
        [
            format!("create or replace package us as r {t}; function f return varchar2; procedure s; end;"),
            format!(
                "create or replace package body us as procedure s is begin r.{a} := 11; r.{b} := 22; end; \
                 function f return varchar2 is begin return '{a}=' || r.{a} || ' {b}=' || r.{b}; end; end;"
            ),
        ]
    };
    // The statement that creates the type, its name, and the statement that changes it.
    let cases = [
        (
            "create or replace package ty as type t is record (a number, b number); end;",
            "ty.t",
            "create or replace package ty as type t is record (b number, a number); end;",
        ),
        (
            "create or replace package ty as type t is record (a number, b number); end;",
            "ty.t",
            "create or replace package ty as type t is record (x number, y ty2.u, a number, b number); end;",
        ),
        ("create table rt (x varchar2(10), a number, b number)", "rt%rowtype", "alter table rt drop column x"),
        ("create table rt2 (a number, b number)", "rt2%rowtype", "alter table rt2 modify (a number(5))"),
    ];
    run(&mut other, "create package ty2 as type u is record (c number); end;");
    for (before, ty, after) in cases {
        run(&mut other, before);
        us(ty, ["a", "b"]).iter().for_each(|text| run(&mut other, text));
        // The package itself has changed: its state is lost, and the session gets the error.
        let _ = s.execute("begin us.s; end;", &[]);
        run(&mut s, "begin us.s; end;");
        assert_eq!(one(&mut s, state), "a=11 b=22");
        // DDL that does not change the layout keeps the state.
        run(&mut other, "create or replace view something as select 1 x from dual");
        assert_eq!(one(&mut s, state), "a=11 b=22");
        run(&mut other, after);
        let error = refused(&mut s, "begin dbms_application_info.set_client_info(us.f); end;");
        assert!(error.contains("ORA-04068"), "{after}: {error}");
        assert_eq!(one(&mut s, state), "a= b=", "{after}");
        run(&mut s, "begin us.s; end;");
        assert_eq!(one(&mut s, state), "a=11 b=22", "{after}");
    }
}

#[test]
fn a_call_that_runs_across_a_change_of_a_type_ends_at_the_next_unit_that_has_it() {
    let instance = instance("versioned");
    let (mut s, mut other, mut gate) = (connect(&instance), connect(&instance), connect(&instance));
    for sql in [
        "create table gate (n number)",
        "insert into gate values (1)",
        "commit",
        "create package ty as type t is record (a number, b number); r t; end;",
        "create function shown (r ty.t) return varchar2 is begin return r.a || ' ' || r.b; end;",
    ] {
        run(&mut other, sql);
    }
    let shown = "dbms_application_info.set_client_info(shown(r))";
    // Code that continues after the error finds no state with another layout.
    let goes_on = "begin r.a := length(shown(r)); exception when others then null; end; \
                   dbms_application_info.set_client_info(ty.r.b)";
    for use_of_it in [shown, goes_on] {
        run(&mut other, "create or replace package ty as type t is record (a number, b number); r t; end;");
        let _ = s.execute("begin ty.r.a := 1; end;", &[]);
        run(&mut s, "begin ty.r.a := 1; ty.r.b := 2; end;");
        run(&mut gate, "lock table gate in exclusive mode");
        let waiting = std::thread::spawn(move || {
            let block = format!(
                "declare r ty.t; begin r.a := 1; r.b := 2; update gate set n = n + 1; commit; {use_of_it}; end;"
            );
            let error = refused(&mut s, &block);
            (s, error)
        });
        support::until("the call waits", || {
            one(&mut other, "select count(*) from v$session where event = 'enq: TM - contention'") == "1"
        });
        run(&mut other, "create or replace package ty as type t is record (x number, b number, a number); r t; end;");
        run(&mut gate, "commit");
        let error;
        (s, error) = waiting.join().expect("the call ends");
        assert!(error.contains("ORA-04068"), "{use_of_it}: {error}");
    }
    let block = "begin ty.r.a := 1; ty.r.b := 2; dbms_application_info.set_client_info(shown(ty.r)); end;";
    assert!(refused(&mut s, block).contains("ORA-04061"), "it is told that the state is gone");
    run(&mut s, block);
    assert_eq!(one(&mut s, "select sys_context('USERENV', 'CLIENT_INFO') from dual"), "1 2");
}

#[test]
fn a_query_of_a_running_call_gives_the_columns_that_it_was_compiled_for_or_an_error() {
    let instance = instance("versioned");
    let (mut s, mut other, mut gate) = (connect(&instance), connect(&instance), connect(&instance));
    run(&mut other, "create table gate (n number)");
    run(&mut other, "create table rt (a number, v varchar2(10), b number)");
    run(&mut other, "insert into rt values (1, 'x', 2)");
    run(&mut other, "commit");
    run(&mut other, "create table something (n number)");
    let view = "create or replace view vw as select 1 a, 2 b, 3 c from dual";
    // A query that runs before and after the change; the change; the result, or none where the call ends.
    let into = "select * into r from vw; t := t || r.a || r.c;";
    let list = "select c, a into r.c, r.a from vw; t := t || r.a || r.c;";
    let each = "for x in (select * from vw) loop t := t || x.a || x.c; end loop;";
    let bulk = "select * bulk collect into l from vw; t := t || l(1).a || l(1).c;";
    let opened = "open c; fetch c into r; close c; t := t || r.a || r.c;";
    let row = "select * into w from rt; t := t || w.v;";
    let swapped = "create or replace view vw as select 30 c, 20 b, 10 a from dual";
    let cases = [
        (into, "create or replace view other_view as select 1 x from dual", Some("1313")),
        (into, "create or replace view vw as select 10 a, 20 b, 30 c from dual", Some("131030")),
        (into, "create or replace view vw as select 10 a, 20 b, 30 c, 40 d from dual", Some("131030")),
        (each, "create or replace view vw as select 10 a, 20 b, 30 c, 40 d from dual", Some("131030")),
        (bulk, "create or replace view vw as select 10 a, 20 b, 30 c, 40 d from dual", Some("131030")),
        (row, "alter table rt add (z number)", Some("xx")),
        (into, swapped, None),
        (each, swapped, None),
        (bulk, swapped, None),
        (opened, swapped, None),
        (list, swapped, Some("131030")),
        (into, "create or replace view vw as select 1 a from dual", None),
        (each, "create or replace view vw as select 1 a from dual", None),
        (list, "create or replace view vw as select 'q' a, 1 b, 2 c from dual", None),
        (row, "alter table rt drop column a", None),
    ];
    for (query, change, expected) in cases {
        run(&mut other, view);
        run(&mut gate, "lock table gate in exclusive mode");
        let waiting = std::thread::spawn(move || {
            let block = format!(
                "declare cursor c is select * from vw; r vw%rowtype; w rt%rowtype; \
                 type l_t is table of vw%rowtype; l l_t; t varchar2(100); begin {query} update gate set n = n + 1; commit; {query} \
                 dbms_application_info.set_client_info(t); end;"
            );
            let done = s.execute(&block, &[]).map(|_| ()).map_err(|e| e.to_string());
            (s, done)
        });
        support::until("the call waits", || {
            one(&mut other, "select count(*) from v$session where event = 'enq: TM - contention'") == "1"
        });
        run(&mut other, change);
        run(&mut gate, "commit");
        let done;
        (s, done) = waiting.join().expect("the call ends");
        let found = one(&mut s, "select sys_context('USERENV', 'CLIENT_INFO') from dual");
        match expected {
            Some(expected) => assert_eq!((done, found.as_str()), (Ok(()), expected), "{query}: {change}"),
            None => {
                let error = done.expect_err(change);
                assert!(error.contains("ORA-04068"), "{query}: {change}: {error}");
            }
        }
    }
}

#[test]
fn a_package_of_constants_has_no_state_to_lose() {
    let instance = instance("versioned");
    let (mut s, mut other) = (connect(&instance), connect(&instance));
    let cases = [
        ("k constant number := 2 * 3; t constant varchar2(10) := 'a' || 'b';", "", true),
        ("k constant number := 2 * 3; v number;", "", false),
        ("k constant number := length(user);", "", false),
        ("k constant number := 6; cursor c is select 1 one from dual;", "", false),
        ("k constant number := 6;", "begin null;", true),
    ];
    for (declarations, initialisation, is_constant) in cases {
        let versions = [1, 2].map(|n| {
            [
                format!(
                    "create or replace package pk as {declarations} n{n} constant number := {n}; \
                     function f return number; end;"
                ),
                format!(
                    "create or replace package body pk as function f return number is begin return k + {n}; end; \
                     {initialisation} end;"
                ),
            ]
        });
        let call = "declare n number; begin n := pk.f + pk.k; end;";
        versions[0].iter().for_each(|text| run(&mut other, text));
        let _ = s.execute(call, &[]);
        run(&mut s, call);
        versions[1].iter().for_each(|text| run(&mut other, text));
        match is_constant {
            true => run(&mut s, call),
            false => assert!(refused(&mut s, call).contains("ORA-04068"), "{declarations}"),
        }
    }
}

#[test]
fn settings_and_callers_tables_make_no_state_invalid() {
    let instance = instance("versioned");
    let mut dba = connect(&instance);
    make_user(&mut dba, "ann");
    make_user(&mut dba, "ben");
    let (mut ann, mut ben) = (log_on(&instance, "ann"), log_on(&instance, "ben"));
    run(&mut ann, "create package ps as n number := 0; s varchar2(10); procedure inc; end;");
    run(&mut ann, "create package body ps as procedure inc is begin n := n + 1; s := n; end; end;");
    let inc = "begin ps.inc; dbms_application_info.set_client_info(ps.s); end;";
    for (semantics, expected) in [("byte", "1"), ("char", "2"), ("byte", "3")] {
        run(&mut ann, &format!("alter session set nls_length_semantics = {semantics}"));
        run(&mut ann, inc);
        assert_eq!(one(&mut ann, "select sys_context('USERENV', 'CLIENT_INFO') from dual"), expected);
    }
    // An invoker's unit uses the type of its caller's table.
    run(&mut ann, "create table t (v varchar2(10))");
    run(&mut ann, "insert into t values ('1')");
    run(&mut ann, "commit");
    run(&mut ben, "create table t (v number)");
    run(&mut ben, "insert into t values (2)");
    run(&mut ben, "commit");
    run(
        &mut ann,
        "create procedure by_caller authid current_user is r varchar2(10); begin select v into r from t; \
         dbms_application_info.set_client_info('v=' || r); end;",
    );
    run(&mut ann, "grant execute on by_caller to ben");
    for _ in 0..2 {
        for (s, expected) in [(&mut ann, "v=1"), (&mut ben, "v=2")] {
            run(s, "begin ann.by_caller; end;");
            assert_eq!(one(s, "select sys_context('USERENV', 'CLIENT_INFO') from dual"), expected);
        }
    }
}

/// An index depends on the units that its function names, of any owner; a unit of another user whose name is merely a
/// word in the function's text does not count.
#[test]
fn an_index_is_disabled_by_the_units_that_its_function_leads_to() {
    let instance = support::start(&[]);
    let mut dba = connect(&instance);
    for name in ["mine", "other"] {
        make_user(&mut dba, name);
    }
    let (mut mine, mut other) = (log_on(&instance, "mine"), log_on(&instance, "other"));
    let function = |name: &str, value: &str| {
        format!(
            "create or replace function {name} (n number) return number deterministic is begin return {value}; end;"
        )
    };
    for name in ["lends", "inner", "named"] {
        run(&mut other, &function(name, "n"));
    }
    run(&mut other, "grant execute on lends to mine");
    run(&mut other, "grant execute on named to mine");
    run(&mut mine, "create table t (n number)");
    run(&mut mine, "create synonym s for other.named");
    for (name, value) in
        [("inner", "n"), ("by_own", "inner(n)"), ("by_owner", "other.lends(n)"), ("by_synonym", "s(n)")]
    {
        run(&mut mine, &function(name, value));
    }
    for name in ["by_own", "by_owner", "by_synonym"] {
        run(&mut mine, &format!("create index i_{name} on t ({name}(n))"));
    }
    let disabled = "select nvl(listagg(index_name, ' ') within group (order by index_name), '-') from user_indexes
                    where funcidx_status = 'DISABLED'";
    run(&mut other, &function("inner", "n + 1"));
    assert_eq!(one(&mut mine, disabled), "-", "units of another user with words of the text for names");
    run(&mut other, &function("lends", "n + 1"));
    assert_eq!(one(&mut mine, disabled), "I_BY_OWNER");
    run(&mut other, &function("named", "n + 1"));
    assert_eq!(one(&mut mine, disabled), "I_BY_OWNER I_BY_SYNONYM");
    run(&mut mine, &function("inner", "n + 1"));
    assert_eq!(one(&mut mine, disabled), "I_BY_OWN I_BY_OWNER I_BY_SYNONYM");
    run(&mut mine, "alter index i_by_owner enable");
    run(&mut mine, "create index direct on t (other.lends(n + 1))");
    run(&mut other, "revoke execute on lends from mine");
    assert_eq!(one(&mut mine, disabled), "DIRECT I_BY_OWN I_BY_OWNER I_BY_SYNONYM");
    assert_eq!(one(&mut mine, "select count(*) from t"), "0");
}
