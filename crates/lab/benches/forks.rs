//! The time to a private copy of a database, until its first row: forks beside a copied folder and beside PostgreSQL.
//!
//!     cargo build --release
//!     cargo bench -p lab --bench forks [-- --rows 20000 --times 20]
//!
//! One table of `--rows` rows of some 160 bytes with an index. Medians, with the least and the greatest, in
//! milliseconds. `CREATE DATABASE … TEMPLATE` of PostgreSQL adds a database to a running server, which allows no
//! session in the template meanwhile; the other copies are instances of their own. `LATCHWORK_EXE` names another
//! program than the release build; `FORKS_FOLDER` names another folder for lasting databases than that of temporary
//! files.

mod peer;

use client::{Client, Credentials, Ephemeral, EphemeralOptions, Template};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

fn number(name: &str, default: usize) -> usize {
    let all: Vec<String> = std::env::args().collect();
    let given = all.iter().position(|a| a == name).and_then(|at| all.get(at + 1));
    given.and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Measures `times` runs of `f`, which returns what is to be removed behind the measurement.
fn say<T>(what: &str, times: usize, mut f: impl FnMut(usize) -> T) {
    let mut all: Vec<f64> = (0..times)
        .map(|n| {
            let began = Instant::now();
            let made = f(n);
            let ms = began.elapsed().as_secs_f64() * 1e3;
            drop(made);
            ms
        })
        .collect();
    all.sort_by(f64::total_cmp);
    println!("{what:<66} {:8.1}   ({:.1} to {:.1})", all[times / 2], all[0], all[times - 1]);
}

/// A folder that is removed with its instance.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        if self.0.exists() {
            latchwork(&["stop", "--mode", "abort", "--dir", text(&self.0)]);
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn latchwork(args: &[&str]) {
    let program = client::find_executable().expect("the program");
    let _ = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn fill(session: &mut Client, rows: usize) {
    let all = [
        "create table t (id number primary key, v varchar2(200))".to_owned(),
        format!("insert into t select level, rpad(level, 150, 'x') from dual connect by level <= {rows}"),
        "commit".to_owned(),
    ];
    all.iter().for_each(|sql| drop(session.execute(sql, &[]).expect(sql)));
}

fn first_row(session: &mut Client) {
    let rows = session.query("select v from t where id = 7", &[]).and_then(|q| q.all()).expect("a row");
    assert_eq!(rows.len(), 1);
}

fn main() {
    let (rows, times) = (number("--rows", 20_000), number("--times", 20));
    println!("{rows} rows, {times} times; to the first row, in ms");
    in_memory(rows, times);
    on_disk(rows, times);
    of_postgres(rows, times);
}

fn in_memory(rows: usize, times: usize) {
    let options = EphemeralOptions::default();
    let open = |instance: &Ephemeral| {
        let mut session = instance.connect(&Credentials::Sysdba).expect("a session");
        first_row(&mut session);
    };
    say("in memory: new instance, table made again", times, |_| {
        let instance = Ephemeral::start_with(&options).expect("an instance");
        fill(&mut instance.connect(&Credentials::Sysdba).expect("a session"), rows);
        open(&instance);
        instance
    });
    say("in memory: new, empty instance, to a session", times, |_| {
        let instance = Ephemeral::start_with(&options).expect("an instance");
        drop(instance.connect(&Credentials::Sysdba).expect("a session"));
        instance
    });
    let prepare = |session: &mut Client| {
        fill(session, rows);
        Ok(())
    };
    let template = Template::prepare(&options, prepare).expect("a template");
    say("in memory: instance of a template", times, |_| {
        let instance = template.instance().expect("an instance");
        open(&instance);
        instance
    });
}

fn on_disk(rows: usize, times: usize) {
    let base = std::env::var_os("FORKS_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let place = |name: &str| Place(base.join(format!("latchwork-forks-{name}-{}", std::process::id())));
    let parent = place("parent");
    latchwork(&["start", "--dir", text(&parent.0)]);
    fill(&mut Client::connect(&parent.0, &Credentials::Sysdba).expect("a session"), rows);
    say("on disk, open: latchwork fork", times, |n| {
        let copy = place(&n.to_string());
        latchwork(&["fork", "--dir", text(&parent.0), "--to", text(&copy.0)]);
        copy
    });
    say("on disk, open: latchwork fork --no-sync", times, |n| {
        let copy = place(&n.to_string());
        latchwork(&["fork", "--dir", text(&parent.0), "--to", text(&copy.0), "--no-sync"]);
        copy
    });
    let opened = |copy: Place| {
        latchwork(&["start", "--dir", text(&copy.0)]);
        first_row(&mut Client::connect(&copy.0, &Credentials::Sysdba).expect("a session"));
        copy
    };
    say("on disk, open: latchwork fork, latchwork start, first row", times, |n| {
        let copy = place(&n.to_string());
        latchwork(&["fork", "--dir", text(&parent.0), "--to", text(&copy.0)]);
        opened(copy)
    });
    latchwork(&["stop", "--dir", text(&parent.0)]);
    say("on disk, closed: cp -r, latchwork start, first row", times, |n| {
        let copy = place(&n.to_string());
        let done = Command::new("cp").arg("-r").arg(&parent.0).arg(&copy.0).status();
        assert!(done.is_ok_and(|s| s.success()));
        opened(copy)
    });
    say("on disk, closed: latchwork fork, latchwork start, first row", times, |n| {
        let copy = place(&n.to_string());
        latchwork(&["fork", "--dir", text(&parent.0), "--to", text(&copy.0)]);
        opened(copy)
    });
}

fn of_postgres(rows: usize, times: usize) {
    let folder = std::env::temp_dir().join(format!("forks-postgres-{}", std::process::id()));
    let Some(server) = peer::Postgres::start(folder, "-c shared_buffers=64MB") else {
        println!("PostgreSQL is not installed");
        return;
    };
    server.psql("create database parent");
    let on = |database: &str, sql: &str| {
        let mut psql = server.psql_command();
        let done = psql.args(["-d", database, "-c", sql]).stdout(Stdio::null()).status();
        assert!(done.is_ok_and(|s| s.success()), "{sql}");
    };
    on("parent", "create table t (id int primary key, v text)");
    on("parent", &format!("insert into t select g, rpad(g::text, 150, 'x') from generate_series(1, {rows}) g"));
    for strategy in ["wal_log", "file_copy"] {
        let what = format!("PostgreSQL: CREATE DATABASE … TEMPLATE STRATEGY {strategy}, psql, first row");
        say(&what, times, |n| {
            let name = format!("{strategy}_{n}");
            server.psql(&format!("create database {name} template parent strategy {strategy}"));
            on(&name, "select v from t where id = 7");
        });
    }
}
