//! Crashes of the whole instance, one on the heels of another.

use crate::common::{Database, LOAD_TABLE, Load, assert_kept, eventually, number, run};

#[test]
fn a_killed_instance_keeps_what_was_acknowledged_and_nothing_else() {
    let db = Database::new("crash");
    db.start();
    run(&mut db.connect(), LOAD_TABLE);
    let mut load = Load::new(3);
    for round in 0..3 {
        let mut open = db.connect();
        run(&mut open, &["create table if_any (n number)", "drop table if_any"]);
        // A transaction that is open when the instance dies, over rows that the others do not touch.
        run(
            &mut open,
            &["update load set v = 'not committed' where n <= (select min(max(n)) - 10 from load group by w)"],
        );
        let before = load.total();
        std::thread::scope(|scope| {
            let load = &load;
            (0..3).for_each(|w| {
                drop(scope.spawn({
                    let db = &db;
                    move || load.work(db, w)
                }))
            });
            eventually("work is done", || load.total() > before + 200);
            db.kill();
        });
        db.start();
        let alert = db.alert();
        assert!(
            alert.contains("Beginning crash recovery of 1 threads") && alert.contains("Completed crash recovery at"),
            "{alert}"
        );
        let mut c = db.connect();
        assert_kept(&mut c, &load.counts());
        assert_eq!(number(&mut c, "select count(*) from load where v = 'not committed'"), 0, "round {round}");
        // The next round goes on behind what is there.
        for (w, a) in load.acknowledged.iter_mut().enumerate() {
            *a.get_mut() = number(&mut c, &format!("select nvl(max(n), 0) from load where w = {w}"));
        }
    }
    db.verify();
}

#[test]
fn a_recovery_that_is_killed_is_done_again() {
    let db = Database::new("again");
    db.start();
    run(&mut db.connect(), LOAD_TABLE);
    let load = Load::new(2);
    std::thread::scope(|scope| {
        let load = &load;
        (0..2).for_each(|w| {
            drop(scope.spawn({
                let db = &db;
                move || load.work(db, w)
            }))
        });
        eventually("work is done", || load.total() > 300);
        db.kill();
    });
    // Killed again and again, at whatever it is doing.
    for pause in [1, 3, 7, 15, 30, 60, 120] {
        let mut starting = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"))
            .args(["start", "--foreground", "--param", "_disk_sync=false", "--dir"])
            .arg(db.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        starting.kill().unwrap();
        starting.wait().unwrap();
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
    }
    db.start();
    assert_kept(&mut db.connect(), &load.counts());
    db.verify();
}

#[test]
fn a_database_whose_making_was_killed_is_made_again() {
    let db = Database::new("making");
    for pause in [5, 20, 40, 80, 160] {
        let mut starting = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"))
            .args(["start", "--foreground", "--dir"])
            .arg(db.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        starting.kill().unwrap();
        starting.wait().unwrap();
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
    }
    db.start();
    run(&mut db.connect(), &["create table t (n number)"]);
    db.verify();
}
