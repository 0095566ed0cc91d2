//! The memory of processes is limited wherever it is allocated: `_pga_max_size` for one process, `pga_aggregate_limit`
//! for all.

mod support;

use client::{Client, Credentials, Ephemeral};
use support::{connect, one, refused, run, start, until};

const MB: u64 = 1 << 20;

fn number(c: &mut Client, sql: &str) -> u64 {
    one(c, sql).parse().unwrap_or_else(|_| panic!("{sql}: no number"))
}

fn with_user(params: &[(&str, &str)]) -> (Ephemeral, Client) {
    let instance = start(params);
    let mut sys = connect(&instance);
    run(&mut sys, "create user u identified by u quota unlimited on users");
    run(&mut sys, "grant create session, create table, create procedure, select any dictionary, alter session to u");
    run(
        &mut sys,
        "create package u.keep as type list is table of varchar2(32767) index by pls_integer; kept list;
         procedure grow(megabytes number); procedure forget; end;",
    );
    run(
        &mut sys,
        "create package body u.keep as
         procedure grow(megabytes number) is
           s varchar2(32767) := rpad('x', 32000, 'x');
         begin
           for i in 1 .. megabytes * 32 loop kept(kept.count + 1) := s; end loop;
         end;
         procedure forget is begin kept.delete; end;
         end;",
    );
    (instance, sys)
}

fn user(instance: &Ephemeral) -> Client {
    let own = Credentials::Password { user: "u".into(), password: "u".into() };
    instance.connect(&own).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

fn sid(c: &mut Client) -> u64 {
    number(c, "select sys_context('userenv', 'sid') from dual")
}

fn used(c: &mut Client, sid: u64) -> u64 {
    number(c, &format!("select p.pga_used_mem from v$process p, v$session s where s.paddr = p.addr and s.sid = {sid}"))
}

/// Statements that allocate memory in one process without a bound.
const GREEDY: &[&str] = &[
    "declare type t is table of varchar2(4000) index by pls_integer; x t; i pls_integer := 0; \
     begin loop i := i + 1; x(i) := rpad('x', 4000, 'x'); end loop; end;",
    "declare type t is table of clob index by pls_integer; x t; v clob := rpad('x', 32000, 'x'); \
     begin for i in 1 .. 9 loop v := v || v; end loop; for i in 1 .. 100 loop x(i) := v; end loop; end;",
    "declare type t is table of number; x t := t(); begin x.extend(20000000); end;",
    "declare type t is table of number; x t := t(1); begin x.extend(20000000, 1); end;",
    "declare type t is table of number; x t; begin select level bulk collect into x from dual connect by level <= 20000000; end;",
    "declare c clob; begin for i in 1 .. 1000000 loop dbms_output.enable(null); dbms_output.put_line(rpad('x', 32000, 'x')); end loop; end;",
    "declare procedure p(n number) is s varchar2(32767) := rpad('x', 32000, 'x'); begin p(n + 1); s := s || 'y'; end; begin p(1); end;",
    "declare type t is table of number index by varchar2(4000); x t; \
     begin for i in 1 .. 10000000 loop x(rpad('x', 3000, 'x') || i) := i; end loop; end;",
];

#[test]
fn no_way_leads_around_the_limit_of_a_process() {
    let (instance, mut sys) = with_user(&[("_pga_max_size", "32M")]);
    let mut c = user(&instance);
    let own = sid(&mut c);
    for sql in GREEDY {
        let error = refused(&mut c, sql);
        assert!(error.contains("ORA-04030") || error.contains("ORA-06500"), "{sql}: {error}");
        // The session continues, and has released the memory. Lines of DBMS_OUTPUT that were not fetched stay.
        run(&mut c, "begin dbms_output.disable; end;");
        assert_eq!(one(&mut c, "select 1 from dual"), "1");
        let left = used(&mut sys, own);
        assert!(left < 16 * MB, "{left} bytes are left behind {sql}");
    }
    let most = number(
        &mut sys,
        &format!("select p.pga_max_mem from v$process p, v$session s where s.paddr = p.addr and s.sid = {own}"),
    );
    assert!((32 * MB..300 * MB).contains(&most), "{most}");
    // The median of more numbers than memory holds; a sort in temporary space needs none.
    let error = refused(&mut c, "select median(level) from dual connect by level <= 2000000");
    assert!(error.contains("ORA-04030"), "{error}");
    assert_eq!(
        one(&mut c, "select count(*) from (select level from dual connect by level <= 100000 order by 1)"),
        "100000"
    );
}

/// A subquery that runs for each outer row, and stops at its first match, uses the memory of one run.
#[test]
fn subqueries_that_run_again_take_no_more_memory() {
    let (_instance, mut c) = with_user(&[("_pga_max_size", "2M")]);
    run(&mut c, "create table outside as select level id from dual connect by level <= 1500");
    run(
        &mut c,
        "create table inside as select level id, mod(level, 7) k, mod(level, 11) m from dual connect by level <= 60",
    );
    run(&mut c, "alter session set \"_rewrite_off\" = 'ALL'");
    for (view, found) in [
        ("select distinct id, k from inside", "60"),
        ("select id, count(distinct k) k from inside group by id", "60"),
        ("select id, k from inside minus select k, id from inside", "54"),
        ("select id, k from inside union select id, k from inside", "60"),
        ("select id, row_number() over (partition by k order by m) k from inside", "58"),
        ("select id, k from inside order by m fetch first 20 rows only", "20"),
    ] {
        run(&mut c, &format!("create or replace view again as {view}"));
        for batches in ["true", "false"] {
            run(&mut c, &format!("alter session set \"_batch_execution\" = {batches}"));
            let count = "select count(*) from outside o where o.id in (select a.id from again a where a.k <= o.id)";
            assert_eq!(one(&mut c, count), found, "{view}, batches {batches}");
        }
    }
}

#[test]
fn a_handler_does_not_lead_around_the_limit_either() {
    let (instance, _sys) = with_user(&[("_pga_max_size", "64M")]);
    let mut c = user(&instance);
    let error =
        refused(&mut c, "begin loop begin u.keep.grow(8); exception when others then null; end; end loop; end;");
    assert!(error.contains("ORA-04030"), "{error}");
    // A handler that frees memory continues.
    run(&mut c, "begin u.keep.grow(100); exception when others then u.keep.forget; end;");
    run(&mut c, "begin u.keep.grow(16); end;");
}

#[test]
fn the_call_with_the_most_memory_ends() {
    let (instance, mut sys) = with_user(&[("pga_aggregate_limit", "200M")]);
    let (mut small, mut large) = (user(&instance), user(&instance));
    run(&mut small, "begin u.keep.grow(40); end;");
    let error = refused(&mut large, "begin loop u.keep.grow(1); end loop; end;");
    assert!(error.contains("ORA-04036: PGA memory used by the instance"), "{error}");
    // A handler cannot continue the call.
    run(&mut large, "begin u.keep.forget; end;");
    let error =
        refused(&mut large, "begin loop begin u.keep.grow(1); exception when others then null; end; end loop; end;");
    assert!(error.contains("ORA-04036"), "{error}");
    run(&mut large, "begin u.keep.forget; end;");
    assert_eq!(number(&mut small, "select 1 from dual"), 1);
    // SYS is counted, but has no limit itself.
    run(&mut small, "begin u.keep.forget; end;");
    run(&mut sys, "begin u.keep.grow(220); u.keep.forget; end;");
    let most = number(&mut sys, "select value from v$pgastat where name = 'maximum PGA allocated'");
    assert!((220_000_000..400_000_000).contains(&most), "{most}");
}

/// The session with the most memory waits in a call: its call is ended in favour of the session that needs more.
#[test]
fn a_call_that_waits_gives_its_memory_to_one_that_needs_it() {
    let (instance, mut sys) = with_user(&[("pga_aggregate_limit", "200M")]);
    let (mut holder, mut other) = (user(&instance), user(&instance));
    let holds = sid(&mut holder);
    let ended = std::thread::spawn(move || {
        let sql = "declare type list is table of varchar2(32767) index by pls_integer; kept list;
                   begin for i in 1 .. 110 * 32 loop kept(i) := rpad('x', 32000, 'x'); end loop;
                   dbms_session.sleep(600); end;";
        (refused(&mut holder, sql), one(&mut holder, "select 1 from dual"))
    });
    until("the holder sleeps", || {
        let sql = format!("select count(*) from v$session where sid = {holds} and event = 'PL/SQL lock timer'");
        used(&mut sys, holds) > 110_000_000 && number(&mut sys, &sql) == 1
    });
    run(&mut other, "begin u.keep.grow(100); end;");
    let (error, after) = ended.join().expect("the holder's thread ends");
    assert!(error.contains("ORA-04036"), "{error}");
    assert_eq!(after, "1");
}

/// The packages of an idle session would otherwise end one small call after the other.
#[test]
fn an_idle_session_that_has_nearly_everything_is_ended() {
    let (instance, mut sys) = with_user(&[("pga_aggregate_limit", "200M")]);
    let (mut idle, mut works) = (user(&instance), user(&instance));
    run(&mut idle, "begin u.keep.grow(150); end;");
    let sid = sid(&mut idle);
    run(&mut works, "begin u.keep.grow(60); end;");
    until("the idle session has gone", || {
        number(&mut sys, &format!("select count(*) from v$session where sid = {sid} and status <> 'KILLED'")) == 0
    });
    let error = refused(&mut idle, "begin null; end;");
    assert!(error.contains("ORA-00028") || error.contains("ORA-03"), "{error}");
}

#[test]
fn the_views_agree_with_what_is_limited() {
    let (instance, mut sys) = with_user(&[]);
    let mut c = user(&instance);
    let own = sid(&mut c);
    let before = used(&mut sys, own);
    run(&mut c, "begin u.keep.grow(20); end;");
    let grown = used(&mut sys, own) - before;
    assert!((20_000_000..26_000_000).contains(&grown), "{grown}");
    let process = "from v$process_memory m, v$process p, v$session s where m.pid = p.pid and s.paddr = p.addr";
    let other = number(&mut sys, &format!("select m.allocated {process} and m.category = 'Other' and s.sid = {own}"));
    assert_eq!(other, used(&mut sys, own));
    run(&mut c, "begin u.keep.forget; end;");
    assert!(used(&mut sys, own) < before + 2 * MB);
    let total = "select value from v$pgastat where name = 'total PGA allocated'";
    let difference = format!("select abs(({total}) - (select sum(pga_alloc_mem) from v$process)) from dual");
    assert!(number(&mut sys, &difference) < 4 * MB, "processes of the instance go on meanwhile");
    // The default, and the permitted values.
    let limit = "select value from v$parameter where name = 'pga_aggregate_limit'";
    let default = number(&mut sys, limit);
    assert!(default >= 100 << 20, "{default}");
    assert!(refused(&mut sys, "alter system set pga_aggregate_limit = 1M").contains("ORA-02097"));
    run(&mut sys, "alter system set pga_aggregate_limit = 0");
    run(&mut sys, "alter system set pga_aggregate_limit = 90G");
    assert_eq!(number(&mut sys, limit), 90 << 30);
    assert!(refused(&mut c, "alter session set pga_aggregate_limit = 0").contains("ORA-02096"));
}

/// A session that needs more while the one with the most has not ended yet continues for a few megabytes, and not
/// beyond.
#[test]
fn sessions_that_all_take_what_they_can_stay_near_the_limit() {
    const SESSIONS: u64 = 6;
    let (instance, mut sys) = with_user(&[("pga_aggregate_limit", "200M")]);
    let takers: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let mut c = user(&instance);
            std::thread::spawn(move || refused(&mut c, "begin loop u.keep.grow(1); end loop; end;"))
        })
        .collect();
    for taker in takers {
        let error = taker.join().expect("the session ends its call");
        assert!(error.contains("ORA-04036"), "{error}");
    }
    let most = number(&mut sys, "select value from v$pgastat where name = 'maximum PGA allocated'");
    assert!((200 * MB..(200 + SESSIONS * 24) * MB).contains(&most), "{most}");
}
