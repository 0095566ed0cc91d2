//! The cost of a dictionary of many tables to sessions that use few of them.
//!
//!     cargo build --release && cargo bench -p lab --bench definitions [-- --tables 10000]
//!
//! One session creates tables with a primary key and a NOT NULL column, a tenth of them at a time; after the first and
//! after the last tenth the same things are measured: a logon to the first row, the private memory of a fresh session's
//! server process and of one that has used 300 tables (without the SGA), a statement alone and a statement behind
//! another session's DDL. Then the session creates packages (`--packages 2000`), which name none of the tables, and DDL
//! is measured before and after. `LATCHWORK_EXE` names another program than the release build.

mod common;

use common::{argument, connect, private_kb, run, server_pid, start};
use std::time::Instant;

use client::{Client, Ephemeral};

fn create(session: &mut Client, from: u32, to: u32) -> f64 {
    let began = Instant::now();
    run(
        session,
        &format!(
            "begin for i in {from} .. {to} loop execute immediate 'create table t' || i || \
             '(id number primary key, name varchar2(20) not null, d date, x number)'; end loop; end;"
        ),
    );
    began.elapsed().as_secs_f64() * 1e3 / f64::from(to - from + 1)
}

/// The median of `times` runs of `f`, in milliseconds.
fn median_ms(times: usize, mut f: impl FnMut(usize)) -> f64 {
    let mut all: Vec<f64> = (0..times)
        .map(|n| {
            let began = Instant::now();
            f(n);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[times / 2]
}

fn measure(instance: &Ephemeral, dba: &mut Client, tables: u32) {
    let logon = median_ms(61, |_| run(&mut connect(instance), "select 1 from dual"));
    let mut session = connect(instance);
    run(&mut session, "select count(*) from t1");
    let pid = server_pid(&mut session);
    let fresh = private_kb(pid);
    let read = |session: &mut Client| run(session, "select count(*) from t1 where id = 1");
    read(&mut session);
    let alone = median_ms(61, |_| read(&mut session));
    let mut behind: Vec<f64> = (0..61)
        .map(|n| {
            run(dba, &format!("create table z{n} (n number)"));
            let time = median_ms(1, |_| read(&mut session));
            run(dba, &format!("drop table z{n}"));
            time
        })
        .collect();
    behind.sort_by(f64::total_cmp);
    (1..=tables.min(300)).for_each(|n| run(&mut session, &format!("select count(*) from t{n} where id = 1")));
    let used = private_kb(pid);
    println!(
        "{tables:>7} tables: logon to first row {logon:.2} ms, private memory {fresh} kB, of one that has used 300 \
         tables {used} kB, a statement {alone:.3} ms, behind another session's DDL {:.3} ms",
        behind[30]
    );
}

/// DDL on objects that units could name.
fn measure_ddl(dba: &mut Client, packages: u32) {
    let view = median_ms(21, |n| {
        run(dba, &format!("create or replace view ddl_view as select id from t1 where id > {n}"));
    });
    let column = median_ms(21, |n| run(dba, &format!("alter table t2 add c{packages}_{n} number")));
    let table = median_ms(21, |n| {
        run(dba, &format!("create table ddl_table{n} (n number)"));
        run(dba, &format!("drop table ddl_table{n} purge"));
    });
    println!(
        "{packages:>7} packages: CREATE OR REPLACE VIEW {view:.2} ms, ALTER TABLE ADD {column:.2} ms, CREATE and DROP \
         TABLE {table:.2} ms"
    );
}

/// Creates a package of 60 lines with a body; returns milliseconds for each package.
fn create_packages(dba: &mut Client, packages: u32) -> f64 {
    let began = Instant::now();
    for n in 1..=packages {
        let heads: String =
            (0..10).map(|i| format!("  function rate_{n}_{i}(amount number) return number;\n")).collect();
        run(dba, &format!("create package rates{n} as\n{heads}end;"));
        let function = |i| {
            format!(
                "  function rate_{n}_{i}(amount number) return number as\n    part_{n}_{i} number := amount;\n  begin\n    \
                 return part_{n}_{i} * {i};\n  end;\n"
            )
        };
        let functions: String = (0..10).map(function).collect();
        run(dba, &format!("create package body rates{n} as\n{functions}end;"));
    }
    began.elapsed().as_secs_f64() * 1e3 / f64::from(packages.max(1))
}

fn main() {
    // `cargo test --benches` runs a short form.
    let is_test = std::env::args().any(|a| a == "--test");
    let tables = (argument("--tables", if is_test { 20.0 } else { 10_000.0 }) as u32).max(10);
    let instance = start(&[("db_cache_size", "256M"), ("shared_pool_size", "128M"), ("job_queue_processes", "0")]);
    let mut dba = connect(&instance);
    let tenth = tables / 10;
    for part in 0..10 {
        let ms = create(&mut dba, part * tenth + 1, (part + 1) * tenth);
        println!("{:>7} tables: {ms:.2} ms per CREATE TABLE", (part + 1) * tenth);
        if part == 0 || part == 9 {
            measure(&instance, &mut dba, (part + 1) * tenth);
        }
    }
    let packages = argument("--packages", if is_test { 5.0 } else { 2000.0 }) as u32;
    measure_ddl(&mut dba, 0);
    let ms = create_packages(&mut dba, packages);
    println!("{packages:>7} packages: {ms:.2} ms per package with its body");
    measure_ddl(&mut dba, packages);
}
