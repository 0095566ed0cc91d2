//! `latchwork verify`: no findings in a sound database, and every kind of damage is found and named.

use block::{BlockKind, BlockView, DataMut, Image};
use client::{Client, Credentials};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use types::Value;

const BLOCK: usize = 8192;

struct Database(PathBuf);

impl Database {
    fn new(name: &str) -> Database {
        let dir = std::env::temp_dir().join(format!("latchwork-verify-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Database(dir)
    }

    fn program(&self, args: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let out = command.args(args).arg("--dir").arg(&self.0).output().expect("the program runs");
        let text = [out.stdout, out.stderr].concat();
        (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    /// A copy of the files, to be damaged.
    fn copy(&self, name: &str) -> Database {
        let to = Database::new(name);
        std::fs::create_dir_all(&to.0).unwrap();
        for entry in std::fs::read_dir(&self.0).unwrap() {
            let from = entry.unwrap().path();
            std::fs::copy(&from, to.0.join(from.file_name().unwrap())).unwrap();
        }
        to
    }

    fn verify(&self) -> (i32, String) {
        self.program(&["verify"])
    }

    /// The formatted blocks of a file.
    fn blocks(&self, file: &str) -> Vec<(u32, Image)> {
        let bytes = std::fs::read(self.0.join(file)).unwrap();
        let image = |(n, b): (usize, &[u8])| {
            let mut image = Image::new(BLOCK);
            image.bytes_mut().copy_from_slice(b);
            (n as u32, image)
        };
        bytes.chunks(BLOCK).enumerate().filter(|(_, b)| b.iter().any(|x| *x != 0)).map(image).collect()
    }

    /// Changes the first block of this kind and data object, and corrects its checksum.
    fn change(&self, file: &str, kind: BlockKind, object: u32, change: impl FnOnce(&mut [u8])) -> u32 {
        let fits = |v: &BlockView<'_>| v.kind() == Some(kind) && v.obj().0 == object;
        let (n, mut image) = self.blocks(file).into_iter().find(|(_, i)| fits(&i.view())).expect("such a block");
        change(image.bytes_mut());
        block::seal(image.bytes_mut());
        self.write(file, n, image.bytes());
        n
    }

    fn write(&self, file: &str, n: u32, bytes: &[u8]) {
        let file = std::fs::OpenOptions::new().write(true).open(self.0.join(file)).unwrap();
        file.write_all_at(bytes, u64::from(n) * BLOCK as u64).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.0.join("latchwork.sock").exists() {
            let _ = self.program(&["stop", "--mode", "abort"]);
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SETUP: &[&str] = &[
    "create table t (n number primary key, v varchar2(1000), d date default sysdate not null, constraint c1 check (n > 0))",
    "create index t_v on t (v)",
    "create table c (id number primary key, n number references t(n))",
    "insert into t (n, v) select level, rpad(to_char(level), 100 + mod(level, 400), 'v') from dual connect by level <= 2000",
    "insert into c select level, mod(level, 2000) + 1 from dual connect by level <= 500",
    "update t set v = rpad(v, 900, 'x') where mod(n, 3) = 0",
    "delete from t where n > 1990",
    "create table big (a number, b varchar2(4000), c varchar2(4000), e varchar2(4000))",
    "insert into big select level, rpad('b', 4000, 'b'), rpad('c', 4000, 'c'), rpad('e', 3000, 'e') from dual connect by level <= 20",
    "delete from big where mod(a, 3) = 0",
    "update big set c = 'short' where mod(a, 5) = 0",
    "commit",
    "create cluster hc (k number) single table hashkeys 100 size 200",
    "create table ht (k number, w varchar2(4000)) cluster hc (k)",
    "insert into ht select level, rpad('row ' || level, 100 + mod(level, 10) * 390, 'z') from dual connect by level <= 300",
    "update ht set w = rpad(w, 4000, 'y') where mod(k, 7) = 0",
    "create table io (a number, b varchar2(20), primary key (a)) organization index",
    "create index io_b on io (b)",
    "insert into io select level, 'x' || mod(level, 40) from dual connect by level <= 1000",
    "delete from io where mod(a, 3) = 0",
    "update io set b = b || 'y' where mod(a, 4) = 0",
    "commit",
    "update t set v = 'z'",
    "rollback",
    "create table gone as select * from t",
    "drop table gone",
];

fn number(c: &mut Client, sql: &str) -> u32 {
    match &c.query(sql, &[]).unwrap().all().unwrap()[0][0] {
        Value::Number(n) => n.as_i64().unwrap() as u32,
        other => panic!("{sql}: {other:?}"),
    }
}

fn contains(text: &str, what: &[&str]) {
    for w in what {
        assert!(text.contains(w), "no '{w}' in: {text}");
    }
}

#[test]
fn a_sound_database_is_clean_and_every_damage_is_named() {
    let db = Database::new("all");
    let (code, text) = db.verify();
    assert_eq!(code, 2, "there is none yet: {text}");
    assert!(!db.0.exists(), "and none is made");
    let (code, text) = db.program(&["start", "--param", "db_cache_size=8M"]);
    assert_eq!(code, 0, "{text}");
    let mut c = Client::connect(&db.0, &Credentials::Sysdba).unwrap();
    for sql in SETUP {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let object = |c: &mut Client, name: &str| {
        number(c, &format!("select data_object_id from user_objects where object_name = '{name}'"))
    };
    let (t, t_v) = (object(&mut c, "T"), object(&mut c, "T_V"));
    let (code, text) = db.verify();
    assert_eq!(code, 2, "{text}");
    contains(&text, &["is in use by process"]);
    drop(c);
    assert_eq!(db.program(&["stop"]).0, 0);
    let has_t = |f: &&str| db.blocks(f).iter().any(|(_, i)| i.view().obj().0 == t);
    let file = ["system01.dbf", "users01.dbf"].into_iter().find(has_t).expect("t is somewhere");
    let before: Vec<_> =
        ["control", "system01.dbf", "undo01.dbf"].iter().map(|f| std::fs::read(db.0.join(f)).unwrap()).collect();
    let (code, text) = db.verify();
    assert_eq!(code, 0, "{text}");
    contains(&text, &["Nothing is wrong."]);
    let (_, json) = db.program(&["verify", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["status"], "clean");
    assert!(json["checked"]["rows"].as_u64().unwrap() > 2000, "{json}");
    let after: Vec<_> =
        ["control", "system01.dbf", "undo01.dbf"].iter().map(|f| std::fs::read(db.0.join(f)).unwrap()).collect();
    assert!(before == after, "looking changes nothing");

    // A flipped bit in a table block: the block and the table are named, the rest is checked all the same.
    let bad = db.copy("flip");
    let at = bad.change(file, BlockKind::Heap, t, |_| {});
    let (_, image) = bad.blocks(file).into_iter().find(|(n, _)| *n == at).unwrap();
    let mut bytes = image.bytes().to_vec();
    bytes[5000] ^= 4;
    bad.write(file, at, &bytes);
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &[&format!("block {at}: "), "the checksum does not match", "TABLE \"SYS\".\"T\": ORA-01578"]);
    assert!(!text.contains("INDEX") && !text.contains("\"C\""), "{text}");
    let (code, json) = bad.program(&["verify", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["findings"][0]["block"]), (1, &serde_json::json!(at)));

    // A row that is missing while its index entries exist.
    let bad = db.copy("row");
    bad.change(file, BlockKind::Heap, t, |b| {
        let slot = block::Data::new(BlockView::of_bytes(b)).rows().next().expect("a row").0;
        DataMut::new(b).remove(slot).unwrap();
    });
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(
        &text,
        &["INDEX \"SYS\".\"T_V\": an entry leads to row", "which has not its key", "INDEX \"SYS\".\"SYS_C"],
    );

    // An index entry that is missing while its row exists.
    let bad = db.copy("entry");
    bad.change(file, BlockKind::IndexLeaf, t_v, |b| {
        // Entry 0 has the bounds; a flag marks entries that are already deleted.
        let live = |(slot, row): &(u16, block::RowAt)| *slot > 0 && row.flags == 0;
        let (slot, _) = block::Data::new(BlockView::of_bytes(b)).rows().find(live).expect("a live entry");
        DataMut::new(b).remove_sorted(slot).unwrap();
    });
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &["INDEX \"SYS\".\"T_V\": row", "of SYS.T has no entry"]);

    // A unit that belongs to a segment but is free in the bitmap.
    let bad = db.copy("bitmap");
    let file_bytes = std::fs::read(bad.0.join(file)).unwrap();
    let mut image = Image::new(BLOCK);
    image.bytes_mut().copy_from_slice(&file_bytes[BLOCK..2 * BLOCK]);
    block::segment::set_units(image.bytes_mut(), 3, 1, false).unwrap();
    block::seal(image.bytes_mut());
    bad.write(file, 1, image.bytes());
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &["TABLE \"SYS\".\"COL$\": its segment is free in the bitmap"]);

    // A list of extents that denies the room that the space map of an extent has, or has room that it has not.
    let bad = db.copy("room");
    bad.change(file, BlockKind::SegmentHeader, t, |b| {
        use block::segment::{ExtentList, RoomClass, set_class};
        let said = ExtentList::of(BlockView::of_bytes(b)).and_then(|l| l.class(0)).expect("an extent");
        set_class(b, 0, if said == RoomClass::NONE { RoomClass::ROOM } else { RoomClass::NONE }).unwrap();
    });
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &["room in extent 0 is RoomClass("]);

    // A block that was written to the place of another block.
    let bad = db.copy("place");
    let moved: Vec<_> = bad.blocks(file).into_iter().filter(|(_, i)| i.view().obj().0 == t).collect();
    bad.write(file, moved[3].0, moved[4].1.bytes());
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &["the block says that it is another block"]);

    // A missing file, and a header of another database: both are named, and the other files are checked.
    let bad = db.copy("gone");
    std::fs::remove_file(bad.0.join("users01.dbf")).unwrap();
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &["ORA-01157", "users01.dbf"]);
    let bad = db.copy("header");
    let mut image = bad.blocks("users01.dbf").remove(0).1;
    let mut header = block::file::read(&image.view()).unwrap();
    header.database ^= 1;
    block::file::format(image.bytes_mut(), &header);
    block::seal(image.bytes_mut());
    bad.write("users01.dbf", 0, image.bytes());
    let (code, text) = bad.verify();
    assert_eq!(code, 1, "{text}");
    contains(&text, &["ORA-01122"]);
    let bad = db.copy("control");
    std::fs::write(bad.0.join("control"), "nonsense").unwrap();
    assert_eq!(bad.verify().0, 2);
}
