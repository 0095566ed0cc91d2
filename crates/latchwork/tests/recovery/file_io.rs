//! `filesystemio_options`: how data files are written, and their contents after a crash.

use crate::common::{Database, LOAD_TABLE, Load, assert_kept, eventually, number, rows, run};

/// `O_DIRECT`.
const DIRECT: u32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };

/// The flags of each descriptor that a process has of the data file `users01.dbf`.
fn descriptors(pid: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").flatten() {
        if std::fs::read_link(entry.path()).is_ok_and(|to| to.ends_with("users01.dbf")) {
            let number = entry.file_name().into_string().unwrap();
            let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
            found.push(u32::from_str_radix(flags.trim(), 8).unwrap());
        }
    }
    found
}

fn start(db: &Database, options: &str, more: &[&str]) {
    let option = format!("filesystemio_options={options}");
    // A cache so small that DBWn writes for free buffers all the time.
    let params =
        [&["db_cache_size=1M", "_log_file_size=1M", "processes=40", "db_writer_processes=2", &option], more].concat();
    let args: Vec<&str> = params.iter().flat_map(|p| ["--param", p]).collect();
    let (code, text) = db.program(&[&["start"], args.as_slice()].concat());
    assert_eq!(code, 0, "{text}");
}

#[test]
fn each_way_of_writing_files_keeps_what_was_acknowledged() {
    let can_ring = os::ring::Ring::new().is_ok();
    for (options, is_asynchronous, is_direct) in
        [("ASYNCH", true, false), ("directio", false, true), ("setall", true, true)]
    {
        let db = Database::new(&format!("io-{options}"));
        start(&db, options, &[]);
        let mut c = db.connect();
        run(&mut c, LOAD_TABLE);
        let pid = rows(&mut c, "select spid from v$process where pname = 'DBW0'").remove(0);
        let submits = "select nvl(sum(total_waits), 0) from v$system_event where event = 'db file async I/O submit'";
        let load = Load::new(2);
        std::thread::scope(|scope| {
            let (load, db) = (&load, &db);
            (0..2).for_each(|w| drop(scope.spawn(move || load.work(db, w))));
            let writes = "select value from v$sysstat where name = 'DBWR checkpoint buffers written'";
            eventually("work is done", || load.total() > 300 && number(&mut c, writes) > 0);
            if is_asynchronous && can_ring {
                eventually("DBWn begins writes together", || number(&mut c, submits) > 0);
            }
            let flags = descriptors(&pid);
            let told = db.alert();
            if is_direct && !told.contains("Direct I/O is not available for file") {
                assert!(flags.iter().any(|f| f & DIRECT != 0), "{options}: {flags:?}");
            } else {
                assert!(flags.iter().all(|f| f & DIRECT == 0), "{options}: {flags:?}");
            }
            assert_eq!(told.contains("Asynchronous I/O is not available"), is_asynchronous && !can_ring, "{told}");
            db.kill();
        });
        // The next start may have another setting.
        start(&db, "none", &[]);
        let mut c = db.connect();
        assert_kept(&mut c, &load.counts());
        assert_eq!(number(&mut c, submits), 0);
        db.verify();
    }
}

#[test]
fn disk_asynch_io_switches_asynchronous_writes_off() {
    let db = Database::new("io-off");
    start(&db, "setall", &["disk_asynch_io=false", "_disk_sync=false"]);
    let mut c = db.connect();
    let values = "select value from v$parameter where name in ('disk_asynch_io', 'filesystemio_options') order by name";
    assert_eq!(rows(&mut c, values), ["FALSE", "setall"]);
    run(&mut c, &["create table t as select level n from dual connect by level <= 1000", "alter system checkpoint"]);
    let submits = "select count(*) from v$system_event where event = 'db file async I/O submit'";
    assert_eq!(number(&mut c, submits), 0);
    let refused = c.execute("alter system set filesystemio_options = none", &[]).err().map(|e| e.code());
    assert_eq!(refused, Some(2095), "it is static");
}
