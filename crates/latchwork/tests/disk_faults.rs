//! A device that loses writes and reports it once, and data files that are removed or replaced under a running
//! instance: the instance ends before the redo is reused, whichever process got the error, and the next start has every
//! acknowledged row.

mod support;

use lab::torture::{Place, Started};
use std::process::Command;
use std::time::Duration;
use support::{one, run};

const PARAMS: [(&str, &str); 4] =
    [("_disk_sync", "TRUE"), ("_device_fails", "TRUE"), ("processes", "40"), ("_log_file_size", "1M")];

fn start(place: &mut Place) -> client::Client {
    let params: Vec<_> = PARAMS.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    match place.start(&params, None).expect("the program starts") {
        Started::Open(_) => place.connect().expect("a session opens"),
        Started::Died(why) => panic!("it does not start: {why}"),
    }
}

fn alert_log(place: &Place) -> String {
    std::fs::read_to_string(place.dir().join("alert.log")).unwrap_or_default()
}

fn new_place() -> Place {
    Place::new(Some(env!("CARGO_BIN_EXE_latchwork").into())).expect("a directory")
}

/// The device loses writes to USERS, and reports it to `told`.
fn told_once(told: &str) {
    let mut place = new_place();
    let mut c = start(&mut place);
    run(&mut c, "create table t (id number, pad varchar2(400))");
    run(&mut c, "alter system checkpoint");
    run(&mut c, "insert into t select level, rpad('x', 400, 'x') from dual connect by level <= 1000");
    run(&mut c, "commit");
    std::fs::write(place.dir().join(faults::DEVICE_FAILS_FILE), "users01.dbf").expect("the device fails");
    let refused = c.execute(told, &[]).map(drop).expect_err(told).to_string();
    // Operations that would give up the redo if they succeeded: the device works again, and reports no further error.
    for _ in 0..6 {
        for sql in ["alter system switch logfile", "alter system checkpoint"] {
            assert!(c.execute(sql, &[]).is_err() || sql.contains("switch"), "{told}: {sql} succeeds");
        }
    }
    assert!(place.wait_for_own_end(Duration::from_secs(60)), "{told}: the instance goes on\n{refused}");
    let alert = alert_log(&place);
    assert!(refused.contains("ORA-01242") && alert.contains("ORA-01242"), "{told}: {refused}\n{alert}");
    assert!(alert.contains("Linux Error: 5"), "{told}: {alert}");
    place.kill().expect("all of it has ended");
    let mut c = start(&mut place);
    assert_eq!(one(&mut c, "select count(*) || ' ' || sum(id) from t"), "1000 500500", "{told}");
    drop(c);
    place.stop().expect("it stops");
    place.verify().expect("its files are sound");
}

#[test]
fn lost_writes_end_the_instance_whoever_is_told() {
    for told in ["alter system checkpoint", "alter system flush buffer_cache", "alter tablespace users offline"] {
        told_once(told);
    }
}

#[test]
fn lost_writes_end_the_instance_when_a_file_grows() {
    told_once("alter database datafile 'users01.dbf' resize 30M");
}

#[test]
fn a_data_file_that_is_removed_or_replaced_is_noticed() {
    for replaced in [false, true] {
        let mut place = new_place();
        let mut c = start(&mut place);
        run(&mut c, "create table t (id number)");
        run(&mut c, "insert into t values (1)");
        run(&mut c, "commit");
        run(&mut c, "alter system checkpoint");
        run(&mut c, "insert into t values (2)");
        run(&mut c, "commit");
        let (file, kept) = (place.dir().join("users01.dbf"), place.dir().join("kept"));
        std::fs::copy(&file, &kept).expect("a copy");
        match replaced {
            true => std::fs::rename(&kept, &file).expect("another in its place"),
            false => std::fs::remove_file(&file).expect("it goes"),
        }
        let refused = c.execute("alter system checkpoint", &[]).map(drop).expect_err("no checkpoint").to_string();
        assert!(place.wait_for_own_end(Duration::from_secs(60)), "the instance goes on\n{refused}");
        let alert = alert_log(&place);
        assert!(refused.contains("ORA-01116") && alert.contains("ORA-01116"), "{refused}\n{alert}");
        // The copy is of the last checkpoint or later, and the redo behind it is still there.
        if !replaced {
            std::fs::rename(&kept, &file).expect("the copy is put back");
        }
        place.kill().expect("all of it has ended");
        let mut c = start(&mut place);
        assert_eq!(one(&mut c, "select count(*) || ' ' || sum(id) from t"), "2 3");
        drop(c);
        place.stop().expect("it stops");
        place.verify().expect("its files are sound");
    }
}

#[test]
fn a_stop_does_not_report_success_without_a_data_file() {
    let mut place = new_place();
    let mut c = start(&mut place);
    run(&mut c, "create table t (id number)");
    drop(c);
    std::fs::remove_file(place.dir().join("users01.dbf")).expect("it goes");
    let stop = Command::new(place.executable()).arg("stop").arg("--dir").arg(place.dir()).output().expect("it runs");
    assert!(!stop.status.success(), "the stop reports success");
    assert!(place.wait_for_own_end(Duration::from_secs(60)), "the instance goes on");
    assert!(alert_log(&place).contains("ORA-01116"), "{}", alert_log(&place));
}

/// Starts an instance in a directory and returns the outcome.
fn try_start(dir: &std::path::Path) -> (bool, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("start").arg("--dir").arg(dir).output().expect("it runs");
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.success(), text)
}

fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).permissions().mode() & 0o777
}

#[test]
fn a_database_is_made_in_a_directory_of_its_own_and_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let mut place = new_place();
    let dir = place.dir().to_path_buf();
    std::fs::write(dir.join("letter.txt"), "mine").expect("a file");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).expect("as it was");
    let (started, text) = try_start(&dir);
    assert!(!started && text.contains("ORA-01501") && text.contains("letter.txt"), "{text}");
    assert_eq!((mode(&dir), std::fs::read_dir(&dir).expect("it is there").count()), (0o755, 1), "nothing was touched");
    std::fs::remove_file(dir.join("letter.txt")).expect("it goes");
    let mut c = start(&mut place);
    run(&mut c, "create table t (id number)");
    run(&mut c, "alter session set tracefile_identifier = 'x'");
    assert_eq!(mode(&dir), 0o700);
    for entry in std::fs::read_dir(&dir).expect("it is there").flatten() {
        let path = entry.path();
        assert_eq!(mode(&path) & 0o077, 0, "{} can be read by others", path.display());
    }
    drop(c);
    place.stop().expect("it stops");
    // Without control files no other database is created over existing data files.
    for name in ["control", "control02", "control.new", "control02.new"] {
        let _ = std::fs::remove_file(dir.join(name));
    }
    let before = std::fs::metadata(dir.join("system01.dbf")).and_then(|m| m.modified()).expect("it is there");
    let (started, text) = try_start(&dir);
    assert!(!started && text.contains("ORA-00205") && text.contains("redo01.log"), "{text}");
    let after = std::fs::metadata(dir.join("system01.dbf")).and_then(|m| m.modified()).expect("it is there");
    assert_eq!(before, after, "the data files are as they were");
    // Not even without traces of an instance.
    std::fs::remove_file(dir.join("latchwork.pid")).expect("it goes");
    let (started, text) = try_start(&dir);
    assert!(!started && text.contains("ORA-01501"), "{text}");
}

#[test]
fn a_control_file_that_is_lost_or_damaged_has_a_copy_and_the_start_says_so() {
    let mut place = new_place();
    let dir = place.dir().to_path_buf();
    let mut c = start(&mut place);
    run(&mut c, "create table t (id number)");
    run(&mut c, "insert into t values (7)");
    run(&mut c, "commit");
    drop(c);
    place.stop().expect("it stops");
    let (one_path, two_path) = (dir.join("control"), dir.join("control02"));
    let whole = std::fs::read(&one_path).expect("the first");
    assert_eq!(std::fs::read(&two_path).expect("the second"), whole);
    for (bad, good) in [(&one_path, &two_path), (&two_path, &one_path)] {
        let command = format!("cp {} {}", good.display(), bad.display());
        for damaged in [true, false] {
            if damaged {
                let mut bytes = whole.clone();
                bytes[100] ^= 1;
                std::fs::write(bad, bytes).expect("a bit flips");
            } else {
                std::fs::remove_file(bad).expect("it goes");
            }
            let (started, text) = try_start(&dir);
            let says = if damaged { "is damaged" } else { "is missing" };
            assert!(!started && text.contains("ORA-00205") && text.contains(says) && text.contains(&command), "{text}");
        }
        std::fs::copy(good, bad).expect("as it was told to");
        let mut c = start(&mut place);
        assert_eq!(one(&mut c, "select to_char(id) from t"), "7");
        drop(c);
        place.stop().expect("it stops");
    }
    // A control file restored from an older copy.
    let newest = std::fs::read(&one_path).expect("the first");
    std::fs::write(&one_path, &whole).expect("an older one");
    let (started, text) = try_start(&dir);
    assert!(!started && text.contains("ORA-00214"), "{text}");
    std::fs::copy(&two_path, &one_path).expect("as it was told to");
    assert_eq!(std::fs::read(&one_path).expect("the first"), newest);
    // A change interrupted between the two copies: this one is behind by one write, like the spare file of the first.
    std::fs::copy(dir.join("control02.new"), &two_path).expect("the one before");
    let mut c = start(&mut place);
    assert_eq!(one(&mut c, "select to_char(id) from t"), "7");
    drop(c);
    place.stop().expect("it stops");
    assert_eq!(std::fs::read(&one_path).expect("the first"), std::fs::read(&two_path).expect("the second"));
    place.verify().expect("its files are sound");
}
