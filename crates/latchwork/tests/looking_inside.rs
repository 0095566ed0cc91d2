//! Latches held by hand, and the report of blockers and waiters when all sessions are blocked.

mod support;

use client::{Client, Credentials, Ephemeral};
use std::process::Command;
use support::{connect, hang, one, run, start, until, words as rows};

/// The output of ORADEBUG.
fn debug(c: &mut Client, line: &str) -> String {
    let outcome = c.execute(&format!("oradebug {line}"), &[]).unwrap_or_else(|e| panic!("{line}: {e}"));
    c.take_output();
    outcome.output.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join("\n")
}

fn refused(c: &mut Client, line: &str) -> String {
    c.execute(&format!("oradebug {line}"), &[]).expect_err(line).to_string()
}

/// The address of the result cache's latch, in the form for ORADEBUG.
fn result_cache_latch(c: &mut Client) -> String {
    format!(
        "0x{}",
        one(c, "select rawtohex(addr) from v$latch where name in ('Result Cache: Latch', 'Result Cache: RC Latch')")
    )
}

/// A session with a cached result that only has to be looked up.
fn with_result(instance: &Ephemeral) -> Client {
    let mut c = connect(instance);
    run(&mut c, "create table t as select level n from dual connect by level <= 10");
    for _ in 0..3 {
        assert_eq!(one(&mut c, "select /*+ result_cache */ sum(n) from t"), "55");
    }
    c
}

#[test]
fn a_reader_passes_a_latch_held_shared_and_stops_at_one_held_exclusively() {
    // (generation, whether it can be shared)
    for (generation, sharable) in [("11.2.0.3", true), ("11.1", false)] {
        let instance = start(&[("latch_generation", generation)]);
        let (mut hand, mut views) = (connect(&instance), connect(&instance));
        let mut reader = with_result(&instance);
        let latch = result_cache_latch(&mut hand);
        assert_eq!(debug(&mut hand, "setmypid"), "Statement processed.");
        let shared = format!("call kslgetsl_w {latch} 1 0 0 8");
        if sharable {
            assert_eq!(debug(&mut hand, &shared), "Function returned 1");
            let held = rows(
                &mut views,
                "select ksuprlmd, ksuprlnm, ksuprsid from x$ksuprlat where ksuprlnm like 'Result Cache%'",
            );
            assert_eq!(held.len(), 1, "{held:?}");
            assert_eq!(held[0][0], "SHARED");
            assert_eq!(one(&mut reader, "select /*+ result_cache */ sum(n) from t"), "55");
            assert_eq!(debug(&mut hand, &format!("call kslfre {latch}")), "Function returned 1");
        } else {
            let e = refused(&mut hand, &shared);
            assert!(e.contains("ORA-00600") && e.contains("[545]"), "{e}");
        }
        assert_eq!(debug(&mut hand, &format!("call kslgetl {latch} 1")), "Function returned 1");
        let e = refused(&mut hand, &format!("call kslgetl {latch} 1"));
        assert!(e.contains("[504]"), "{e}");
        std::thread::scope(|scope| {
            let stopped = scope.spawn(move || one(&mut reader, "select /*+ result_cache */ sum(n) from t"));
            let waiters = "select count(*) from v$session where state = 'WAITING' and event like 'latch%' and wait_class <> 'Idle'";
            until("the reader waits", || one(&mut views, waiters) == "1");
            let seen = hang(&instance);
            let blocked =
                seen.lines().find(|l| l.trim_start().starts_with("blocks sid")).unwrap_or_else(|| panic!("{seen}"));
            assert!(blocked.contains("latch"), "{seen}");
            assert!(seen.contains("1 of which wait for another one") && seen.contains("held EXCLUSIVE"), "{seen}");
            assert_eq!(debug(&mut hand, &format!("call kslfre {latch}")), "Function returned 1");
            assert_eq!(stopped.join().unwrap(), "55");
        });
        assert_eq!(
            debug(&mut hand, &format!("call kslfre {latch}")),
            "Function returned 0",
            "nothing is held any more"
        );
        assert_eq!(one(&mut views, "select count(*) from v$latchholder where name like 'Result Cache%'"), "0");
    }
}

#[test]
fn a_latch_held_by_hand_is_freed_when_its_session_ends() {
    let instance = start(&[("latch_generation", "11.2.0.1")]);
    let mut reader = with_result(&instance);
    for killed in [false, true] {
        let mut hand = connect(&instance);
        let latch = result_cache_latch(&mut hand);
        // Before the session holds the latch: under it no latch of a lower level may be got, and a query may read
        // blocks.
        let pid = one(
            &mut hand,
            "select p.spid from v$process p, v$session s where s.paddr = p.addr and s.sid = sys_context('userenv', 'sid')",
        );
        debug(&mut hand, "setmypid");
        assert_eq!(debug(&mut hand, &format!("call kslgetl {latch} 1")), "Function returned 1");
        if killed {
            assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        }
        drop(hand);
        assert_eq!(one(&mut reader, "select /*+ result_cache */ sum(n) from t"), "55");
    }
}

#[test]
fn row_locks_show_as_a_chain() {
    let instance = start(&[]);
    let (mut a, mut b, mut c) = (connect(&instance), connect(&instance), connect(&instance));
    run(&mut a, "create table t as select level n from dual connect by level <= 2");
    let sid = |c: &mut Client| one(c, "select sys_context('userenv', 'sid') from dual");
    let (first, second, third) = (sid(&mut a), sid(&mut b), sid(&mut c));
    assert!(hang(&instance).contains("nobody waits for anybody"));
    run(&mut a, "update t set n = n where n = 1");
    run(&mut b, "update t set n = n where n = 2");
    std::thread::scope(|scope| {
        let b = scope.spawn(move || {
            run(&mut b, "update t set n = n where n = 1");
            run(&mut b, "commit");
        });
        let c = scope.spawn(move || {
            run(&mut c, "update t set n = n where n = 2");
            run(&mut c, "commit");
        });
        let mut seen = String::new();
        until("both wait", || {
            seen = hang(&instance);
            seen.contains("2 of which wait for another one")
        });
        let place = |text: String| seen.find(&text).unwrap_or_else(|| panic!("{text} in\n{seen}"));
        let order = [
            place(format!("  sid {first},")),
            place(format!("    blocks sid {second},")),
            place(format!("      blocks sid {third},")),
        ];
        assert!(order.is_sorted(), "{seen}");
        assert!(seen.contains("by TX-"), "{seen}");
        run(&mut a, "commit");
        b.join().unwrap();
        c.join().unwrap();
    });
}

#[test]
fn oradebug_dumps_and_refuses() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    assert!(refused(&mut c, "short_stack").contains("ORA-00074"));
    assert!(refused(&mut c, "frobnicate").contains("ORA-00070"));
    debug(&mut c, "setmypid");
    let stack = debug(&mut c, "short_stack");
    assert!(stack.contains("<-"), "{stack}");
    for dump in ["processstate 10", "systemstate 266", "latches 2"] {
        assert_eq!(debug(&mut c, &format!("dump {dump}")), "Statement processed.");
    }
    let file = debug(&mut c, "tracefile_name");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("PROCESS STATE") && text.contains("Who waits for whom") && text.contains("cache buffers chains"),
        "{text}"
    );
    let pmon = one(&mut c, "select pid from v$process where pname = 'PMON'");
    assert!(debug(&mut c, &format!("setorapid {pmon}")).starts_with(&format!("Oracle pid: {pmon}, Unix process pid:")));
    assert!(debug(&mut c, "short_stack").contains("pmon timer"));
    assert!(refused(&mut c, "setorapid 9999").contains("ORA-00072"));
    assert!(refused(&mut c, "call kslgetl 0x1234 1").contains("ORA-00070"));
    assert!(refused(&mut c, "call abort").contains("ORA-00070"));
    run(&mut c, "create user u identified by u");
    run(&mut c, "grant create session to u");
    let mut u = instance.connect(&Credentials::password("u", "u")).unwrap();
    assert!(refused(&mut u, "setmypid").contains("ORA-01031"));
}

#[test]
fn holders_are_sampled_a_hundred_thousand_times_in_one_statement() {
    let instance = start(&[("latch_generation", "11.2.0.1")]);
    let mut hand = connect(&instance);
    let latch = result_cache_latch(&mut hand);
    debug(&mut hand, "setmypid");
    debug(&mut hand, &format!("call kslgetl {latch} 1 77"));
    let mut c = connect(&instance);
    let sampled = "select /*+ ordered use_nl(h) */ count(*), min(h.ksulawhy), max(h.ksuprlmd) \
                   from (select rownum n from dual connect by level <= 100000) g, x$ksuprlat h where h.ksuprlnm like 'Result Cache%'";
    assert_eq!(rows(&mut c, sampled), [["100000", "77", "EXCLUSIVE"]]);
}

#[test]
fn nobody_holds_pins_while_the_instance_is_idle() {
    let instance = start(&[("latch_generation", "11.1")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t as select level n from dual connect by level <= 5000");
    assert_eq!(one(&mut c, "select count(*) from t where n > 10"), "4990");
    // A cursor with further rows waits for its client without pins.
    let first = c.execute_prefetch("select n from t", &[], 3).unwrap();
    assert!(first.done.more);
    until("no block is pinned", || hang(&instance).contains("Blocks pinned\n\nSessions"));
    assert_eq!(c.fetch(first.cursor, 6000).unwrap().rows.len(), 4997);
}
