//! The memory of an instance: its page sizes, the views about it and each process, and connection times.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn start(params: &[(&str, &str)]) -> Result<Ephemeral, String> {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let executable = Some(env!("CARGO_BIN_EXE_latchwork").into());
    Ephemeral::start_with(&EphemeralOptions { params, executable }).map_err(|e| e.to_string())
}

fn connect(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).expect("the owner connects")
}

fn rows(session: &mut Client, sql: &str) -> Vec<Vec<Value>> {
    session.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The numbers of a query's single row.
fn numbers(session: &mut Client, sql: &str) -> Vec<i64> {
    let rows = rows(session, sql);
    assert_eq!(rows.len(), 1, "{sql}");
    let number = |value: &Value| match value {
        Value::Number(n) => n.to_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    };
    rows[0].iter().map(number).collect()
}

fn alert_log(instance: &Ephemeral) -> String {
    std::fs::read_to_string(instance.dir().join("alert.log")).expect("an alert log")
}

#[test]
fn views_and_alert_log_say_how_the_memory_was_obtained() {
    let instance = start(&[("use_large_pages", "FALSE"), ("sga_target", "600M")]).unwrap();
    let mut s = connect(&instance);
    let total = numbers(&mut s, "select sum(value) from v$sga")[0];
    assert!((560..=600).contains(&(total >> 20)), "{total} bytes of 600 MB");
    let used = "select page_size, pages_needed, pages_obtained from x$ksmpg where pages_obtained > 0";
    let [size, needed, obtained] = numbers(&mut s, used)[..] else { panic!() };
    assert_eq!((size, needed, obtained), (4096, total / 4096, total / 4096));
    let parts = "select sum(case when name in ('Fixed SGA Size', 'Redo Buffers', 'Buffer Cache Size', 'Shared Pool Size') then bytes end), \
                 max(case when name = 'Maximum SGA Size' then bytes end) from v$sgainfo";
    assert_eq!(numbers(&mut s, parts), [total, total]);
    let cache = "select c.current_size - i.bytes, sign(c.current_size - p.value) from v$sga_dynamic_components c, v$sgainfo i, v$parameter p \
                 where c.component = 'DEFAULT buffer cache' and i.name = 'Buffer Cache Size' and p.name = 'db_cache_size'";
    assert_eq!(numbers(&mut s, cache), [0, 1]);
    let text = alert_log(&instance);
    for part in ["SGA on ", "pages of 4 KB", "use_large_pages=FALSE", "pages obtained", "not tried", "ulimit -l"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn every_process_shows_its_memory() {
    let instance =
        start(&[("use_large_pages", "FALSE"), ("pre_page_sga", "TRUE"), ("_pre_page_sga_at", "process")]).unwrap();
    let mut s = connect(&instance);
    let total = numbers(&mut s, "select sum(value) from v$sga")[0];
    let own = "from v$session s, v$process p where s.paddr = p.addr and s.sid = sys_context('userenv', 'sid')";
    let [alloc, used] = numbers(&mut s, &format!("select p.pga_alloc_mem, p.pga_used_mem {own}"))[..] else { panic!() };
    assert!(alloc > 10_000 && alloc == used, "{alloc}");
    let sql = format!(
        "select m.page_tables, m.shared, m.resident, m.private, m.virtual from x$ksmpp m where m.addr = (select p.addr {own})"
    );
    let [tables, shared, resident, private, all] = numbers(&mut s, &sql)[..] else { panic!() };
    // The process has touched every page: eight bytes of page table for each.
    assert!(shared >= total && tables >= total / 512, "{tables} {shared} of {total}");
    assert!(resident >= shared + private && all >= total && private > 0);
    let of = |category: &str| {
        format!(
            "select m.allocated from v$process_memory m, v$process p where m.pid = p.pid and m.category = '{category}' \
                 and p.addr = (select p.addr {own})"
        )
    };
    // A process that touches new memory meanwhile gets another page table.
    let told = numbers(&mut s, &of("Page tables"))[0];
    let after = numbers(&mut s, &sql)[0];
    assert!((tables.min(after)..=tables.max(after)).contains(&told), "{tables} {told} {after}");
    assert!(numbers(&mut s, &of("Other"))[0] > 10_000);
    // A page shared by several processes counts in proportion.
    let walk = format!("select w.proportional, w.private_dirty from x$ksmpw w where w.addr = (select p.addr {own})");
    let [proportional, dirty] = numbers(&mut s, &walk)[..] else { panic!() };
    assert!(dirty > 0 && proportional > dirty && proportional < resident, "{proportional} {dirty} of {resident}");
    let processes =
        numbers(&mut s, "select (select count(*) from v$process) - (select count(*) from x$ksmpp) from dual");
    assert_eq!(processes, [0]);
}

#[test]
fn a_connection_is_told_by_its_parts() {
    let own = "select fork_us, set_up_us, attach_us, pre_page_us, authenticate_us, nvl(first_call_us, -1) from x$ksuct \
               where indx = sys_context('userenv', 'sid')";
    let instance = start(&[("use_large_pages", "FALSE")]).unwrap();
    let mut s = connect(&instance);
    let first = numbers(&mut s, own);
    assert_eq!((first[3], first[5]), (0, -1), "nothing is touched, and the first call is not over: {first:?}");
    assert!(first[0] > 0 && first[2] > 0 && first[4] > 0, "{first:?}");
    let again = numbers(&mut s, own);
    assert!(again[5] > 0 && again[..5] == first[..5], "{first:?} {again:?}");
    // Other sessions see it too; processes without a connection, such as background processes, are not listed.
    let mut other = connect(&instance);
    let users =
        "select (select count(*) from x$ksuct) - (select count(*) from v$session where type = 'USER') from dual";
    assert_eq!(numbers(&mut other, users), [0]);
    let touching =
        start(&[("use_large_pages", "FALSE"), ("pre_page_sga", "TRUE"), ("_pre_page_sga_at", "process")]).unwrap();
    assert!(numbers(&mut connect(&touching), own)[3] > 0);
}

#[test]
fn memory_that_is_not_there_is_refused_with_advice() {
    // More than the memory of any machine, although the address range has room for it.
    let error = start(&[("sga_target", "15T")]).err().expect("no machine has so much");
    assert!(error.contains("ORA-27102") && error.contains("sga_target"), "{error}");
    match start(&[("use_large_pages", "ONLY"), ("sga_target", "600M")]) {
        Ok(instance) => assert!(alert_log(&instance).contains("use_large_pages=ONLY")),
        Err(error) => assert!(error.contains("ORA-27137") && error.contains("vm.nr_hugepages="), "{error}"),
    }
    match start(&[("lock_sga", "TRUE"), ("db_cache_size", "32M"), ("shared_pool_size", "32M")]) {
        Ok(instance) => {
            assert!(alert_log(&instance).contains("locked: yes"));
            let locked = "select count(*) from x$ksmpg where locked = 'YES' and pages_obtained > 0";
            assert_eq!(numbers(&mut connect(&instance), locked), [1]);
        }
        Err(error) => assert!(error.contains("ORA-27102") && error.contains("ulimit -l"), "{error}"),
    }
}
