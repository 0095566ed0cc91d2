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

const WORDS: &str = "select count(*) from sys.word$ w, user_objects o where o.object_id = w.obj#";

/// A database as the build without WORD$ has left it, and the number of words that its texts have.
fn without_words(name: &str) -> (Database, i64) {
    let db = Database::new(name);
    db.start();
    let mut c = db.connect();
    let function = "create function f return number as x number; begin select max(n) into x from v; return x; end;";
    run(&mut c, &["create table t (n number)", "create view v as select n from t", function]);
    let before = number(&mut c, WORDS);
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
    (db, before)
}

#[test]
fn a_database_of_a_build_without_words_gets_them_at_its_start() {
    let (db, before) = without_words("words");
    db.start();
    let control = datafile::ControlFile::read(db.path()).expect("a control file");
    assert_eq!(control.dictionary, Base::shape());
    db.kill();
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, WORDS), before);
    run(&mut c, &["create or replace view v as select n m from t"]);
    assert_eq!(rows(&mut c, "select status from user_objects where object_name = 'F'"), ["INVALID"]);
    run(&mut c, &["create or replace view v as select n from t"]);
    assert_eq!(number(&mut c, "select count(*) from user_objects where object_name = 'F'"), 1);
    drop(c);
    db.verify();
}

/// Each start dies at another step of adding WORD$; the last one completes it.
#[test]
fn a_start_that_dies_while_it_adds_the_words_is_repeated() {
    let (db, before) = without_words("words-died");
    for point in [
        "words-missing:1",
        "words-segments-made:1",
        "words-one-text:1",
        "words-one-text:2",
        "words-filled:1",
        "words-committed:1",
    ] {
        let (code, text) =
            db.program(&["start", "--param", "_disk_sync=false", "--param", &format!("_crash_point={point}")]);
        assert_ne!(code, 0, "{point}: {text}");
        let deaths = std::fs::read_to_string(db.path().join("crash_points")).expect("the deaths");
        let name = point.split(':').next().expect("a name");
        assert!(deaths.lines().any(|line| line.contains(name)), "{point} was passed: {deaths}");
        let control = datafile::ControlFile::read(db.path()).expect("a control file");
        assert_eq!(control.dictionary, Base::shape_without_words(), "{point}");
    }
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, WORDS), before);
    assert_eq!(number(&mut c, "select count(*) from sys.bootstrap$ where obj# in (237, 482, 483)"), 3);
    run(&mut c, &["create or replace view v as select n m from t"]);
    assert_eq!(rows(&mut c, "select status from user_objects where object_name = 'F'"), ["INVALID"]);
    drop(c);
    db.verify();
}
