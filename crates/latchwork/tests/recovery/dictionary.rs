//! The dictionary of a database that an earlier build has made.

use crate::common::{Database, number, rows, run};
use dictionary::Base;

/// Writes the hash of another dictionary into both copies of the control file.
fn set_dictionary(db: &Database, hash: u64) {
    for name in [datafile::CONTROL_FILE, datafile::CONTROL_COPY] {
        let path = db.path().join(name);
        let text = std::fs::read_to_string(&path).expect("a control file");
        let lines = text.lines().filter(|line| !line.starts_with("checksum ") && !line.starts_with('\0'));
        let changed = lines.map(|line| match line.strip_prefix("dictionary ") {
            Some(_) => format!("dictionary {hash}\n"),
            None => format!("{line}\n"),
        });
        std::fs::write(&path, datafile::ControlFile::with_checksum(&changed.collect::<String>())).expect("written");
    }
}

#[test]
fn a_database_of_a_build_without_words_gets_them_at_its_start() {
    let db = Database::new("words");
    db.start();
    let mut c = db.connect();
    let function = "create function f return number as x number; begin select max(n) into x from v; return x; end;";
    run(&mut c, &["create table t (n number)", "create view v as select n from t", function]);
    let words = "select count(*) from sys.word$ w, user_objects o where o.object_id = w.obj#";
    let before = number(&mut c, words);
    // As that build has left it.
    run(
        &mut c,
        &[
            "delete from sys.icol$ where bo# = 237",
            "delete from sys.ind$ where bo# = 237",
            "delete from sys.obj$ where obj# in (237, 482, 483)",
            "delete from sys.bootstrap$ where obj# in (237, 482, 483)",
            "commit",
        ],
    );
    drop(c);
    db.stop();
    set_dictionary(&db, Base::shape_without_words());
    db.start();
    let control = datafile::ControlFile::read(db.path()).expect("a control file");
    assert_eq!(control.dictionary, Base::shape());
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, words), before);
    run(&mut c, &["create or replace view v as select n m from t"]);
    assert_eq!(rows(&mut c, "select status from user_objects where object_name = 'F'"), ["INVALID"]);
    run(&mut c, &["create or replace view v as select n from t"]);
    assert_eq!(number(&mut c, "select count(*) from user_objects where object_name = 'F'"), 1);
    drop(c);
    db.verify();
}
