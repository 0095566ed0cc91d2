//! Deeply nested statements and blocks, long chains, and endless recursion: an answer or an error, and the session
//! continues.

use crate::common::{code, eventually, number, rows, run, start, sysdba};
use client::{Client, Ephemeral};

fn around(n: usize, open: &str, middle: &str, close: &str) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

/// The number that a block prints.
fn printed(client: &mut Client, block: &str) -> String {
    run(client, &["begin dbms_output.enable; end;"]);
    client.execute(block, &[]).unwrap_or_else(|e| panic!("{}: {e}", &block[..60.min(block.len())]));
    client.take_output().into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The session answers, and holds neither a lock nor a latch.
fn assert_well(client: &mut Client) {
    assert_eq!(number(client, "select 1 from dual"), 1);
    let held = "select count(*) from v$lock where sid = sys_context('userenv', 'sid') and type in ('TX', 'TM')";
    assert_eq!(number(client, held), 0);
}

#[test]
fn statements_are_as_deep_and_as_long_as_they_are_written() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    for (open, close) in [("(", ")"), ("nvl(", ", 0)"), ("abs(", ")"), ("case when 1 = ", " then 1 end")] {
        assert_eq!(number(&mut c, &format!("select {} from dual", around(1000, open, "1", close))), 1, "{open}");
    }
    let conditions = around(1001, "not (", "1 = 2", ")");
    assert_eq!(number(&mut c, &format!("select count(*) from dual where {conditions}")), 1);
    assert_eq!(number(&mut c, &around(255, "select 1 from dual where 1 in (", "select 1 from dual", ")")), 1);
    assert_eq!(number(&mut c, &around(255, "select (", "select 7 from dual", ") from dual")), 7);
    assert_eq!(number(&mut c, &around(255, "select * from (", "select 7 from dual", ")")), 7);
    assert_eq!(number(&mut c, &around(255, "select distinct x from (", "select 7 x from dual", ")")), 7);
    let doubled = around(100, "select x + x x from (", "select 1 x from dual", ")");
    let doubled = format!("select to_char(x) from ({doubled})");
    assert_eq!(rows(&mut c, &doubled), ["1267650600228229401496703205376"]);
    assert_eq!(number(&mut c, &format!("select 1{} from dual", " + 1".repeat(9_000))), 9_001);
    assert_eq!(number(&mut c, &format!("select length('x'{}) from dual", " || 'y'".repeat(3_999))), 4_000);
    for (operator, wanted) in [("or", 1), ("and", 0)] {
        let conditions = format!("dummy = 'X'{}", format!(" {operator} dummy = 'Y'").repeat(50_000));
        assert_eq!(number(&mut c, &format!("select count(*) from dual where {conditions}")), wanted);
    }
    let union = format!("select count(*) from (select 1 from dual{})", " union all select 1 from dual".repeat(2_000));
    assert_eq!(number(&mut c, &union), 2_001);
    let with: String = (1..1000).map(|i| format!(", a{i} as (select x + 1 x from a{})", i - 1)).collect();
    assert_eq!(number(&mut c, &format!("with a0 as (select 0 x from dual){with} select x from a999")), 999);
    // Far beyond these depths: an error, nothing worse.
    for text in [
        format!("select {} from dual", around(100_000, "(", "1", ")")),
        around(20_000, "select * from (", "select 7 from dual", ")"),
        format!("select 1{} from dual", " + 1".repeat(200_000)),
    ] {
        assert_eq!(code(&mut c, &text), 4030);
    }
    assert_well(&mut c);
}

#[test]
fn chains_within_chains_and_behind_views_are_as_deep_together_as_one_chain_may_be() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    // Each chain is the first operand of the next, so the tree is as deep as the sum of them.
    let nested = |times: usize, first: &str, more: String| {
        (0..times).fold(first.to_string(), |inner, _| format!("({inner}{more})"))
    };
    let sum = nested(2, "n", " + n".repeat(4_000));
    assert_eq!(number(&mut c, &format!("select {sum} from (select distinct 1 n from dual)")), 8_001);
    let minus = nested(2, "select 1 a from dual", " minus select 2 from dual".repeat(500));
    assert_eq!(number(&mut c, &format!("select a from {minus}")), 1);
    let sum = nested(40, "n", "+n".repeat(25_000));
    assert_eq!(code(&mut c, &format!("select {sum} from (select distinct 1 n from dual)")), 4030);
    let minus = nested(40, "select 1 a from dual", " minus select 2 from dual".repeat(3_500));
    assert_eq!(code(&mut c, &format!("select a from {minus}")), 4030);
    // In a chain of views each is a separate text.
    run(&mut c, &["create view v0 as select 1 a from dual"]);
    let mut last = 0;
    let e = loop {
        let more = " minus select 2 from dual".repeat(3_500);
        let text = format!("create view v{} as select a from v{last}{more}", last + 1);
        match c.execute(&text, &[]) {
            Ok(_) => last += 1,
            Err(e) => break e.code(),
        }
    };
    assert_eq!(e, 4030);
    assert_eq!(number(&mut c, &format!("select a from v{last}")), 1);
    c.set_want_output(true);
    let print = "dbms_output.put_line(to_char(n));";
    let sum = nested(2, "n", " + n".repeat(4_000));
    assert_eq!(printed(&mut c, &format!("declare n number := 1; begin n := {sum}; {print} end;")), "8001");
    let sum = nested(60, "n", "+n".repeat(25_000));
    assert_eq!(code(&mut c, &format!("declare n number := 1; begin n := {sum}; end;")), 6550);
    assert_well(&mut c);
}

#[test]
fn blocks_are_as_deep_and_as_long_as_they_are_written() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    c.set_want_output(true);
    let print = "dbms_output.put_line(to_char(n));";
    for (open, close) in [
        ("begin ", "end;"),
        ("loop ", "exit; end loop;"),
        ("for i in 1 .. 1 loop ", "end loop;"),
        ("if n = 1 then ", "end if;"),
    ] {
        let body = around(500, open, "n := n + 1; n := n - 1;", close);
        assert_eq!(printed(&mut c, &format!("declare n number := 1; begin {body} {print} end;")), "1", "{open}");
    }
    for (open, close) in [("(", ")"), ("abs(", ")"), ("nvl(", ", 0)")] {
        let value = around(1000, open, "n", close);
        assert_eq!(printed(&mut c, &format!("declare n number := 1; begin n := {value}; {print} end;")), "1", "{open}");
    }
    let chain = " + 1".repeat(9_000);
    assert_eq!(printed(&mut c, &format!("declare n number := 1; begin n := n{chain}; {print} end;")), "9001");
    let chain = " || 'y'".repeat(10_000);
    let length = "declare n number; begin n := length('x'";
    assert_eq!(printed(&mut c, &format!("{length}{chain}); {print} end;")), "10001");
    let chain = " or n = 2".repeat(50_000);
    assert_eq!(
        printed(&mut c, &format!("declare n number := 1; begin if n = 2{chain} or n = 1 then {print} end if; end;")),
        "1"
    );
    // A variable of the outermost of many subprograms is used in the innermost; more of them are an error.
    let nested = |n: usize| {
        let open: String = (0..n).map(|i| format!("procedure p{i} is ")).collect();
        let close: String = (0..n)
            .rev()
            .map(|i| format!("begin {}; end;", if i + 1 < n { format!("p{}", i + 1) } else { "n := n + 1".into() }))
            .collect();
        format!("declare n number := 1; {open} {close} begin p0; {print} end;")
    };
    assert_eq!(printed(&mut c, &nested(60)), "2");
    assert_eq!(code(&mut c, &nested(70)), 6550);
    for block in [
        format!("begin {} end;", around(100_000, "begin ", "null;", "end;")),
        format!("declare n number; begin n := {}; end;", around(100_000, "(", "1", ")")),
        format!("declare n number; begin n := 1{}; end;", " + 1".repeat(200_000)),
    ] {
        assert_eq!(code(&mut c, &block), 6550);
    }
    // An overloaded name compiles its arguments to choose, and each of them only once more.
    let overloaded = |arguments: &str| {
        let calls = around(60, "f(", arguments, ")");
        format!(
            "declare function f(n number) return number is begin return n + 1; end; \
             function f(s varchar2) return varchar2 is begin return s || 'x'; end; \
             function f(d date, s varchar2 := 'y') return varchar2 is begin return s; end; \
             begin dbms_output.put_line({calls}); end;"
        )
    };
    assert_eq!(printed(&mut c, &overloaded("1")), "61");
    assert_eq!(printed(&mut c, &overloaded("sysdate, 'z'")), format!("z{}", "x".repeat(59)));
    assert_well(&mut c);
}

#[test]
fn views_lie_on_one_another_until_they_go_in_a_circle() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(&mut c, &["create table base (n number)", "insert into base values (7)", "commit"]);
    run(&mut c, &["create view v0 as select n from base"]);
    for i in 1..=200 {
        run(&mut c, &[&format!("create view v{i} as select n from v{}", i - 1)]);
    }
    assert_eq!(number(&mut c, "select n from v200"), 7);
    run(&mut c, &["update v200 set n = 8", "commit"]);
    assert_eq!(number(&mut c, "select count(*) from v34 where n = 8"), 1);
    run(&mut c, &["create or replace force view v0 as select n from v200"]);
    assert_eq!(code(&mut c, "select n from v200"), 1731);
    assert_eq!(code(&mut c, "select n from v0"), 1731);
    assert_eq!(code(&mut c, "update v0 set n = 9"), 1731);
    assert_well(&mut c);
}

/// Subprograms that call themselves without end: by name, by one another, through a query, through dynamic SQL.
const WITHOUT_END: [&str; 6] = [
    "create or replace function direct(n number) return number is begin return direct(n + 1) + 1; end;",
    "create or replace package two is function a(n number) return number; function b(n number) return number; end;",
    "create or replace package body two is function a(n number) return number is begin return b(n + 1); end; \
     function b(n number) return number is begin return a(n + 1); end; end;",
    "create or replace function by_query(n number) return number is r number; \
     begin execute immediate 'select by_query(:1) from dual' into r using n + 1; return r; end;",
    "create or replace procedure by_block(n number) is \
     begin execute immediate 'begin by_block(:1); end;' using n + 1; end;",
    "create or replace procedure at_depth(n number) is \
     begin if n > 0 then at_depth(n - 1); else loop null; end loop; end if; end;",
];

fn recurse(c: &mut Client) {
    for (block, wanted) in [
        ("declare n number; begin n := direct(1); end;", [6500, 4030]),
        ("declare n number; begin n := two.a(1); end;", [6500, 4030]),
        ("begin by_block(1); end;", [36, 4030]),
    ] {
        let code = code(c, block);
        assert!(wanted.contains(&code), "{block}: ORA-{code:05}");
        assert_well(c);
    }
    for (query, wanted) in [("select direct(1) from dual", [6500, 4030]), ("select by_query(1) from dual", [36, 4030])]
    {
        let code = code(c, query);
        assert!(wanted.contains(&code), "{query}: ORA-{code:05}");
        assert_well(c);
    }
}

fn recursive(params: &[(&str, &str)]) -> Ephemeral {
    let instance = start(params);
    run(&mut sysdba(&instance), &WITHOUT_END);
    instance
}

#[test]
fn recursion_without_end_is_an_error_in_every_session() {
    let instance = recursive(&[]);
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                let mut c = sysdba(&instance);
                recurse(&mut c);
                c.set_want_output(true);
                let block = "declare function f(n number) return number is begin \
                     if n = 0 then return 0; end if; return f(n - 1) + 1; end; \
                     begin dbms_output.put_line(to_char(f(10000))); end;";
                assert_eq!(printed(&mut c, block), "10000");
            });
        }
    });
    let mut c = sysdba(&instance);
    assert_eq!(rows(&mut c, "select * from v$lock where type in ('TX', 'TM')"), Vec::<String>::new());
}

#[test]
fn recursion_is_broken_at_its_depth() {
    let instance = recursive(&[]);
    let mut other = sysdba(&instance);
    let mut c = sysdba(&instance);
    let (sid, handle) = (c.sid(), c.break_handle());
    std::thread::scope(|s| {
        let deep = s.spawn(|| code(&mut c, "begin at_depth(20000); end;"));
        let active = format!("select count(*) from v$session where sid = {sid} and status = 'ACTIVE'");
        eventually("the call runs", || number(&mut other, &active) == 1);
        // A break that comes before the call has begun does not affect it.
        eventually("the call is broken", || {
            handle.send().unwrap();
            deep.is_finished()
        });
        assert_eq!(deep.join().unwrap(), 1013);
    });
    assert_well(&mut c);
}

#[test]
fn what_a_deep_statement_used_is_given_back() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    let process = c.welcome().server_process as i32;
    let used = || os::proc::private_bytes_of(process).expect("the server process") >> 10;
    let shallow = "select count(*) from dual where 1 = 1";
    let deep = format!("select {} from dual", around(5_000, "(", "1", ")"));
    assert_eq!(number(&mut c, shallow), 1);
    assert_eq!(number(&mut c, &deep), 1);
    assert_eq!(number(&mut c, shallow), 1);
    let before = used();
    for _ in 0..3 {
        assert_eq!(number(&mut c, &deep.replace('1', "2")), 2);
    }
    assert_eq!(number(&mut c, shallow), 1);
    assert!(used() < before + 8 * 1024, "{before} KB, then {} KB", used());
}
