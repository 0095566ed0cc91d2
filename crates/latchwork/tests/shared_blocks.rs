//! Anonymous blocks that sessions run without compiling them: the conditions for sharing one, and the names and
//! privileges that it uses.
//!
//! Compiling a static statement counts in `parse count (describe)`, compiling a block in `parse count (hard)`.

mod support;

use client::Client;
use net::local::Bind;
use support::{connect, figure, log_on, make_user, one, refused, run, words};
use types::{DataType, Number, Value};

/// The number of static statements that a session compiles for a block, and the result of the block.
fn tell(s: &mut Client, block: &str) -> (u64, String) {
    let before = figure(s, "parse count (describe)");
    run(s, block);
    (figure(s, "parse count (describe)") - before, one(s, "select sys_context('USERENV', 'CLIENT_INFO') from dual"))
}

const BLOCK: &str = "declare r t%rowtype; begin select * into r from t where n > 0; r.n := r.n + f(1); \
                     dbms_application_info.set_client_info(r.n); end;";

/// A schema with a table of one row and a function that returns its number.
fn fill(s: &mut Client, n: u32) {
    run(s, "create table t (n number)");
    run(s, &format!("insert into t values ({n})"));
    run(s, "commit");
    run(s, &format!("create or replace function f (p number) return number is begin return {n} * 10 * p; end;"));
}

#[test]
fn a_block_is_compiled_once_for_all_sessions_and_again_only_for_what_has_changed() {
    for design in ["latch", "pins", "mutex", "versioned"] {
        let instance = support::start(&[("_library_cache_design", design)]);
        let mut dba = connect(&instance);
        fill(&mut dba, 1);
        let new = |expected: u64, answer: &str| {
            assert_eq!(tell(&mut connect(&instance), BLOCK), (expected, answer.to_string()), "{design}");
        };
        new(1, "11");
        new(0, "11");
        let shared = "select loads, executions, parse_calls from v$sql where sql_text like 'declare r t%'";
        assert_eq!(words(&mut dba, shared), [["1", "2", "2"]], "{design}");
        // Unrelated DDL: the questions are asked again, once for all sessions.
        run(&mut dba, "create table other (n number)");
        new(0, "11");
        new(0, "11");
        // The body of the function is not part of the block.
        run(&mut dba, "create or replace function f (p number) return number is begin return 5 * p; end;");
        new(1, "6");
        new(0, "6");
        run(&mut dba, "alter table t add (m number)");
        new(1, "6");
        new(0, "6");
        run(&mut dba, "alter system flush shared_pool");
        new(1, "6");
        new(0, "6");
        // A block that does not compile leaves no cursor, and fails again for the next session.
        for _ in 0..2 {
            let error = refused(&mut connect(&instance), "begin select 1 into nothing from t; end;");
            assert!(error.contains("PLS-00201"), "{error}");
        }
        // Only a parse that has to compile is a hard one.
        let hard = |s: &mut Client| figure(s, "parse count (hard)");
        let block = "begin dbms_application_info.set_client_info(f(3)); end;";
        for expected in [1, 0] {
            let mut s = connect(&instance);
            hard(&mut s);
            let before = hard(&mut s);
            run(&mut s, block);
            assert_eq!(hard(&mut s) - before, expected, "{design}");
            run(&mut s, block);
            assert_eq!(hard(&mut s) - before, expected, "{design}");
        }
    }
}

#[test]
fn a_block_has_the_names_and_privileges_of_who_sends_it() {
    let instance = support::start(&[]);
    let mut dba = connect(&instance);
    for name in ["ann", "ben", "cal"] {
        make_user(&mut dba, name);
    }
    let expect = |who: &str, expected: &[(u64, &str)]| {
        for (n, answer) in expected {
            assert_eq!(tell(&mut log_on(&instance, who), BLOCK), (*n, answer.to_string()), "{who}");
        }
    };
    let (mut ann, mut ben) = (log_on(&instance, "ann"), log_on(&instance, "ben"));
    fill(&mut ann, 1);
    fill(&mut ben, 2);
    expect("ann", &[(1, "11"), (0, "11")]);
    expect("ben", &[(1, "22"), (0, "22")]);
    expect("ann", &[(0, "11")]);
    // A user without these names gets no code although other users' code exists, and is not told of it.
    let error = refused(&mut log_on(&instance, "cal"), BLOCK);
    assert!(error.contains("PLS-00201: identifier 'T' must be declared"), "{error}");
    // The same source, with EXECUTE for the other user: a name without a schema refers to each user's own object.
    run(
        &mut ann,
        "create or replace function g return number is n number; begin select n into n from t; return n; end;",
    );
    run(&mut ann, "grant execute on g to ben");
    run(&mut ann, "grant select on t to ben");
    run(
        &mut ben,
        "create or replace function g return number is n number; begin select n into n from t; return n; end;",
    );
    let plain = "begin dbms_application_info.set_client_info(g); end;";
    assert_eq!(tell(&mut log_on(&instance, "ann"), plain).1, "1");
    assert_eq!(tell(&mut log_on(&instance, "ben"), plain).1, "2");
    run(&mut ben, "drop function g");
    let error = refused(&mut log_on(&instance, "ben"), plain);
    assert!(error.contains("PLS-00201: identifier 'G' must be declared"), "{error}");
    run(&mut ben, "create synonym g for ann.g");
    assert_eq!(tell(&mut log_on(&instance, "ben"), plain).1, "1");
    // Two users in one schema, both with the privileges: the second uses the first one's child.
    run(&mut ann, "create table shared_t (n number)");
    run(&mut ann, "insert into shared_t values (7)");
    run(&mut ann, "commit");
    for who in ["ben", "cal"] {
        run(&mut ann, &format!("grant select on shared_t to {who}"));
    }
    let block = "declare v number; begin select n into v from shared_t; dbms_application_info.set_client_info(v); end;";
    let of_ann = |who: &str| {
        let mut s = log_on(&instance, who);
        run(&mut s, "alter session set current_schema = ann");
        s
    };
    assert_eq!(tell(&mut log_on(&instance, "ann"), block), (1, "7".into()));
    for who in ["ben", "cal", "ben"] {
        assert_eq!(tell(&mut of_ann(who), block), (0, "7".into()), "{who}");
    }
    let children = "select count(*), sum(executions) from v$sql where sql_text like 'declare v number%'";
    assert_eq!(words(&mut dba, children), [["1", "4"]]);
    run(&mut ann, "revoke select on shared_t from cal");
    let error = refused(&mut of_ann("cal"), block);
    assert!(error.contains("ORA-00942"), "{error}");
    // REVOKE has invalidated cursors that read the table.
    assert_eq!(tell(&mut of_ann("ben"), block), (1, "7".into()));
    assert_eq!(tell(&mut of_ann("ben"), block), (0, "7".into()));
    // A role counts for sessions that have enabled it.
    run(&mut dba, "create role reader");
    run(&mut dba, "grant select on ann.shared_t to reader");
    run(&mut dba, "grant reader to cal");
    assert_eq!(tell(&mut of_ann("cal"), block).1, "7");
    let mut without = of_ann("cal");
    run(&mut without, "set role none");
    assert!(refused(&mut without, block).contains("ORA-00942"));
    assert_eq!(tell(&mut of_ann("cal"), block), (0, "7".into()));
}

#[test]
fn a_block_that_a_unit_of_definers_rights_has_run_is_no_one_elses() {
    let instance = support::start(&[]);
    let mut dba = connect(&instance);
    for name in ["ann", "ben"] {
        make_user(&mut dba, name);
    }
    let (mut ann, mut ben) = (log_on(&instance, "ann"), log_on(&instance, "ben"));
    fill(&mut ann, 1);
    fill(&mut ben, 2);
    let quoted = BLOCK.replace('\'', "''");
    for (rights, name) in [("definer", "by_owner"), ("current_user", "by_caller")] {
        run(&mut ann, &format!("create procedure {name} authid {rights} is begin execute immediate '{quoted}'; end;"));
        run(&mut ann, &format!("grant execute on {name} to ben"));
    }
    for _ in 0..2 {
        for (call, of_ann, of_ben) in
            [("begin ann.by_owner; end;", "11", "11"), ("begin ann.by_caller; end;", "11", "22"), (BLOCK, "11", "22")]
        {
            assert_eq!(tell(&mut log_on(&instance, "ben"), call).1, of_ben, "{call}");
            assert_eq!(tell(&mut log_on(&instance, "ann"), call).1, of_ann, "{call}");
        }
    }
}

#[test]
fn binds_and_settings_make_blocks_differ() {
    let instance = support::start(&[]);
    let mut dba = connect(&instance);
    run(&mut dba, "create or replace function kind (p number) return varchar2 is begin return 'number'; end;");
    run(
        &mut dba,
        "create or replace package over as function kind (p number) return varchar2; \
         function kind (p varchar2) return varchar2; end;",
    );
    run(
        &mut dba,
        "create or replace package body over as function kind (p number) return varchar2 is begin return 'number'; \
         end; function kind (p varchar2) return varchar2 is begin return 'text'; end; end;",
    );
    let block = "begin dbms_application_info.set_client_info(over.kind(:p)); end;";
    for _ in 0..2 {
        let number = Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(1)));
        for (bind, kind) in [(Bind::input(DataType::TEXT, Value::Text("1".into())), "text"), (number, "number")] {
            let mut s = connect(&instance);
            s.execute(block, &[bind]).expect("the block runs");
            assert_eq!(one(&mut s, "select sys_context('USERENV', 'CLIENT_INFO') from dual"), kind);
        }
    }
    // Lengths of texts without a unit follow the compiling session's setting.
    let lengths = "declare v varchar2(3); begin v := 'äöü'; dbms_application_info.set_client_info(length(v)); end;";
    let with = |semantics: &str| {
        let mut s = connect(&instance);
        run(&mut s, &format!("alter session set nls_length_semantics = {semantics}"));
        s
    };
    for _ in 0..2 {
        assert_eq!(tell(&mut with("char"), lengths).1, "3");
        assert!(refused(&mut with("byte"), lengths).contains("ORA-06502"));
        let mut changing = with("byte");
        assert!(refused(&mut changing, lengths).contains("ORA-06502"));
        run(&mut changing, "alter session set nls_length_semantics = char");
        assert_eq!(tell(&mut changing, lengths).1, "3");
    }
    // CALL is a block of its own, with its own errors.
    run(&mut dba, "create table t (n number)");
    run(&mut dba, "create procedure add_one (p number) is begin insert into t values (p); end;");
    for n in 1..=3 {
        let mut s = connect(&instance);
        run(&mut s, "call add_one(1)");
        run(&mut s, "commit");
        assert_eq!(one(&mut dba, "select count(*) from t"), n.to_string());
        assert!(refused(&mut s, "call add_two(1)").contains("ORA-06576"));
    }
}
