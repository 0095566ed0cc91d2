//! DDL over real storage, with a host that answers queries from a list.

use btree::Btree;
use buffer_cache::BufferCache;
use cluster::{Clusters, HashCluster};
use datafile::{CreateDatabase, DataFiles, tablespace};
use ddl::{Described, Host, Outcome, Parts, SessionNames, Storage};
use dictionary::*;
use heap::{Heap, Scan};
use process::{Process, Processes};
use sql::ast::{Query, Statement, StoredKind};
use std::rc::Rc;
use std::sync::Arc;
use testing::Folder;
use testing::storage::StorageSpec;
use txn::{NoHook, Txn};
use types::{DataType, Date, Nls, ObjectId, Ora, Result, RowWriter, Value};

const BLOCK: usize = 8192;

struct Database {
    _folder: Folder,
    all: &'static Processes,
    shared: DictionaryShared,
    heap: Heap,
    clusters: Clusters,
    trees: Btree,
    cache: Arc<BufferCache>,
}

impl Database {
    fn new() -> Database {
        let folder = Folder::new("ddl");
        let files = DataFiles::create(&folder, &CreateDatabase::usual("TEST", 1, BLOCK)).expect("data files");
        let layers = [Heap::register_apply, Clusters::register_apply, Btree::register_apply];
        let spec = StorageSpec::new(8, 2000, BLOCK, &layers);
        let (storage, dict) = testing::storage::Storage::create(files, spec, |b| {
            DictionaryLayout::reserve(b, &DictionaryConfig::default())
        });
        let testing::storage::Storage { all, cache, enqueues, txns } = storage;
        let heap = Heap::new(&txns);
        let clusters = Clusters::new(&heap);
        let trees = Btree::new(&txns);
        let shared = DictionaryShared::create(all.sga(), &dict, &heap, &trees, &enqueues);
        let p = testing::attach(all, "start");
        let new = NewDictionary {
            name: "test".into(),
            tablespaces: vec![
                (tablespace::SYSTEM, "SYSTEM".into(), 0),
                (tablespace::USERS, "USERS".into(), 0),
                (tablespace::TEMP, "TEMP".into(), 1),
                (tablespace::UNDO, "UNDO".into(), 2),
            ],
            users_tablespace: tablespace::USERS,
            temporary_tablespace: tablespace::TEMP,
            block_size_bytes: BLOCK as u32,
            system: None,
            sys: None,
            now: Date::from_ymd(2024, 1, 1).expect("a date"),
        };
        shared.create_database(&p, &new).expect("a dictionary");
        Database { _folder: folder, all, shared, heap, clusters, trees, cache }
    }

    fn session(&self, user: &str) -> Session<'_> {
        let p = Rc::new(testing::attach(self.all, "session"));
        let mut dict = Dictionary::new(self.shared.clone(), Rc::new(NoFixedTables), &p);
        let id = dict.user(user).expect("readable").expect("a user").id;
        let roles = dict.image().expect("readable").default_roles(id).into();
        let names = SessionNames { user: id, schema: id, sysdba: id == UserId::SYS, roles };
        let nls = Nls::default();
        Session {
            database: self,
            p,
            dict,
            txn: Txn::new(),
            names,
            nls,
            answers: Vec::new(),
            columns: Vec::new(),
            errors: Vec::new(),
            changed: Vec::new(),
        }
    }
}

struct Session<'d> {
    database: &'d Database,
    p: Rc<Process>,
    dict: Dictionary,
    txn: Txn,
    names: SessionNames,
    nls: Nls,
    /// The rows of every query.
    answers: Vec<Vec<Value>>,
    columns: Vec<Described>,
    errors: Vec<ErrorLine>,
    changed: Vec<ObjectId>,
}

impl Host for Session<'_> {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            p: &self.p,
            dict: &mut self.dict,
            txn: &mut self.txn,
            storage: Storage {
                heap: &self.database.heap,
                clusters: &self.database.clusters,
                trees: &self.database.trees,
            },
            hook: &NoHook,
            nls: &self.nls,
        }
    }
    fn session(&self) -> SessionNames {
        self.names.clone()
    }
    fn now(&self) -> Date {
        Date::from_ymd(2024, 2, 3).expect("a date")
    }
    fn is_connected(&self, _user: UserId) -> bool {
        false
    }
    fn salt(&mut self) -> [u8; SALT_BYTES] {
        [3; SALT_BYTES]
    }
    fn describe(&mut self, _query: &Query, _owner: Option<UserId>) -> Result<Vec<Described>> {
        Ok(self.columns.clone())
    }
    fn used_objects(&mut self, _query: &Query, _owner: UserId) -> Result<Vec<ObjectId>> {
        Ok(Vec::new())
    }
    fn rows(
        &mut self,
        _query: &Query,
        _expected: Option<&[Described]>,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        for row in self.answers.clone() {
            each(&mut self.parts(), &row)?;
        }
        Ok(())
    }
    fn compile(
        &mut self,
        _owner: &str,
        _name: &str,
        _kind: StoredKind,
        _source: &str,
        _: &ddl::UnitSettings,
    ) -> Result<Vec<ErrorLine>> {
        Ok(self.errors.clone())
    }
    fn changed(&mut self, objects: &[ObjectId]) {
        self.changed.extend_from_slice(objects);
    }
}

impl Session<'_> {
    /// Whether the account is locked, of a user with that password.
    fn may_connect(&mut self, name: &str, password: &str) -> std::result::Result<bool, u32> {
        let user = self.dict.user(name).expect("readable").expect("a user");
        assert!(user.verifier.as_ref().is_some_and(|verifier| verifier.matches(password)), "{name}");
        self.dict.may_connect(&user).map_err(|e| e.code())?;
        Ok(user.locked)
    }

    fn run(&mut self, text: &str) -> Result<Outcome> {
        match sql::parse_statement(text)? {
            Statement::Ddl(ddl) => ddl::execute(self, &ddl),
            other => panic!("{other:?} is no DDL"),
        }
    }

    #[track_caller]
    fn ok(&mut self, text: &str) {
        if let Err(error) = self.run(text) {
            panic!("{text}: {error}");
        }
    }

    #[track_caller]
    fn fails(&mut self, text: &str, code: u32) {
        match self.run(text) {
            Ok(_) => panic!("{text} was accepted"),
            Err(error) => assert_eq!(error.code(), code, "{text}: {error}"),
        }
    }

    fn names(&mut self) -> SessionCatalog {
        self.dict.names(&self.names).expect("names")
    }

    fn table(&mut self, name: &str) -> Rc<TableDef> {
        match self.names().relation(None, name).expect("readable") {
            Some(Resolved::Table(table)) => table,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn exists(&mut self, name: &str) -> bool {
        self.names().relation(None, name).expect("readable").is_some()
    }

    fn insert(&mut self, name: &str, row: &[Value]) {
        let table = self.table(name).heap_table().expect("a heap");
        let mut bytes = Vec::new();
        let mut writer = RowWriter::new(&mut bytes, row.len());
        row.iter().for_each(|value| writer.value(value));
        self.database.heap.insert(&self.p, &mut self.txn, &table, &bytes).expect("a row");
    }

    fn commit(&mut self) {
        self.database.heap.transactions().commit(&self.p, &mut self.txn, &NoHook).expect("a commit");
    }

    fn rows(&mut self, name: &str) -> Vec<Vec<Value>> {
        let table = self.table(name);
        let heap = table.heap_table().expect("a heap");
        let snapshot = self.database.heap.transactions().snapshot(&self.p, &self.txn);
        let mut scan = Scan::new();
        scan.start(&self.database.heap, &self.p, &snapshot, &heap).expect("a scan");
        let mut rows = Vec::new();
        while let Some((_, row)) = scan.next(&self.database.heap, &self.p).expect("a row") {
            let reader = types::RowReader::new(row).expect("a row");
            rows.push(
                table
                    .columns
                    .iter()
                    .enumerate()
                    .map(|(i, column)| {
                        let mut value = Value::Null;
                        if let Some(bytes) = reader.column(i).expect("a column").bytes() {
                            types::codec::decode_into(bytes, &column.data_type, &mut value).expect("a value");
                        }
                        value
                    })
                    .collect(),
            );
        }
        rows
    }
}

fn used_bytes(database: &Database) -> u64 {
    let p = testing::attach(database.all, "space");
    let (free, all) = database.heap.transactions().space().file_space(&p, 3).expect("a file");
    all - free
}

#[test]
fn a_statement_that_fails_or_dies_keeps_no_space() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create table t (a number, b varchar2(30)) tablespace users");
    let before = used_bytes(&database);
    // The segment exists when the second constraint fails.
    s.fails("create table u (a number primary key, b number references nothing (a)) tablespace users", 942);
    assert_eq!(used_bytes(&database), before);
    s.ok("create table v (a number primary key) tablespace users");
    assert!(used_bytes(&database) > before);
    s.ok("drop table v");
    assert_eq!(used_bytes(&database), before);
    // A session that dies after the commit of a DROP leaves a note, and SMON executes it.
    let header = s.table("T").heap().expect("a heap").header;
    Change::new(&database.shared, &s.p, &mut s.txn).drop_later(header).expect("a note");
    s.commit();
    assert_eq!(used_bytes(&database), before);
    database.shared.finish_all_drops(&s.p).expect("the drop");
    assert!(used_bytes(&database) < before);
    let left = used_bytes(&database);
    database.shared.finish_all_drops(&s.p).expect("nothing to do");
    assert_eq!(used_bytes(&database), left);
}

#[test]
fn sessions_killed_while_making_segments_lose_no_space() {
    let database = Database::new();
    let p = testing::attach(database.all, "reaper");
    let before = used_bytes(&database);
    let txns = database.heap.transactions();
    let kills = testing::kill_children(&p, 2, std::time::Duration::from_millis(1500), 11, |p, seed| {
        for n in 0.. {
            let mut t = Txn::new();
            let object = ObjectId(30_000 + (seed as u32 % 1000) + n);
            let kind = block::SegmentKind::Table;
            let made = txns.create_segment(p, &mut t, tablespace::USERS, kind, object).and_then(|header| {
                for _ in 0..20 {
                    txns.cache().in_group(p, &|| txns.current_scn(), &mut |g| txns.space().extend(g, header))?;
                }
                Ok(())
            });
            made.and(txns.rollback(p, &mut t)).expect("room");
        }
    });
    assert!(kills.killed > 5, "{kills:?}");
    let left = txns.rollback_dead(&p, 0).expect("nothing is left");
    assert_eq!((left, used_bytes(&database)), (0, before));
}

#[test]
fn a_temporary_file_that_a_process_uses_is_not_dropped() {
    let database = Database::new();
    let mut s = database.session("SYS");
    let user = testing::attach(database.all, "user");
    let temp = database.heap.transactions().space().temp();
    let files = database.cache.files();
    s.ok("create temporary tablespace other tempfile 'other1.dbf' size 2m");
    s.ok("alter tablespace other add tempfile 'other2.dbf' size 2m");
    let control = files.control().expect("readable");
    let other = control.tablespaces.iter().find(|t| t.name == "OTHER").expect("a tablespace").number;
    let second = control.files.iter().find(|f| f.name.ends_with("other2.dbf")).expect("a file").file;
    let mut extents = Vec::new();
    while extents.iter().all(|e: &block::Extent| e.start.file() != second) {
        extents.push(temp.take(&user, other).expect("an extent"));
    }
    s.fails("alter tablespace other drop tempfile 'other2.dbf'", 25152);
    s.fails("alter database tempfile 'other2.dbf' drop", 25152);
    s.fails("drop tablespace other including contents and datafiles", 25152);
    assert!(!files.is_away(second), "nothing is left of the statements that failed");
    let bytes = vec![7; BLOCK];
    temp.write(&user, extents.last().expect("one").start, &bytes).expect("the owner still writes");
    extents.drain(..).for_each(|extent| temp.give_back(user.number(), extent));
    s.ok("alter tablespace other drop tempfile 'other2.dbf'");
    assert!(!files.is_present(second));
    let extent = temp.take(&user, other).expect("an extent of the other file");
    s.fails("drop tablespace other including contents and datafiles", 25152);
    temp.give_back(user.number(), extent);
    s.ok("drop tablespace other including contents and datafiles");
}

fn number(n: i64) -> Value {
    Value::Number(n.into_number())
}

trait IntoNumber {
    fn into_number(self) -> types::Number;
}
impl IntoNumber for i64 {
    fn into_number(self) -> types::Number {
        types::Number::from_i64(self)
    }
}

#[test]
fn tables_are_created_and_dropped() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create table t (n number(10) not null, v varchar2(20 char) default 'x', d date)");
    let table = s.table("T");
    assert_eq!(table.columns.len(), 3);
    assert_eq!(table.columns[0].data_type, DataType::Number { precision: Some(10), scale: Some(0) });
    assert!(!table.columns[0].nullable && table.columns[2].nullable);
    assert_eq!(table.columns[1].default_text.as_deref(), Some("'x'"));
    assert!(matches!(table.constraints[0].kind, ConstraintKindDef::NotNull { column: 0 }));
    s.fails("create table t (n number)", 955);
    s.fails("create table u (n number, n date)", 957);
    s.fails("create table u (n text)", 902);
    s.fails("create table u (n)", 2263);
    s.fails("create table nobody.u (n number)", 1918);
    s.fails("create table u (n number) tablespace nowhere", 959);
    s.fails("create table u (v varchar2(4001))", 910);
    s.fails("create table u (v varchar2)", 906);
    s.fails("create private temporary table u (n number)", 3001);
    s.fails("create table u (n number) partition by hash (n) partitions 0", 14152);
    s.fails("drop table nothing", 942);
    s.fails("drop table sys.obj$", 701);
    s.ok("drop table t purge");
    assert!(!s.exists("T"));
    s.ok("create table t (n number)");
}

#[test]
fn a_failed_statement_leaves_no_changes() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    let free = |s: &mut Session<'_>| s.run("create table probe (n number)").and_then(|_| s.run("drop table probe"));
    free(&mut s).expect("space");
    s.answers = vec![vec![number(1)], vec![Value::Text("much too long".into())]];
    s.columns = vec![Described {
        name: Some("N".into()),
        data_type: DataType::Number { precision: Some(1), scale: Some(0) },
        nullable: true,
    }];
    s.fails("create table t as select 1 n from dual", 1722);
    assert!(!s.exists("T") && !s.txn.is_active());
    s.answers.pop();
    s.ok("create table t as select 1 n from dual");
    assert_eq!(s.rows("T"), [[number(1)]]);
    s.columns[0].name = None;
    s.fails("create table u as select 1 + 1 from dual", 998);
    s.fails("create table u (a, b) as select 1 from dual", 1730);
    s.fails("create table u (a number) as select 1 from dual", 1773);
}

#[test]
fn ddl_commits_before_itself_and_waits_for_no_row() {
    let database = Database::new();
    let mut one = database.session("SYSTEM");
    let mut two = database.session("SYSTEM");
    one.ok("create table t (n number)");
    one.insert("T", &[number(1)]);
    assert_eq!(two.rows("T").len(), 0);
    two.fails("drop table t", 54);
    two.fails("truncate table t", 54);
    two.fails("alter table t add m number", 54);
    one.ok("create table u (n number)");
    assert_eq!(two.rows("T").len(), 1, "the row was committed before the table was made");
    two.ok("truncate table t");
    assert_eq!(one.rows("T").len(), 0);
    two.ok("drop table t");
    assert!(!one.exists("T"));
}

#[test]
fn columns_change() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create table t (a number, b varchar2(10))");
    s.insert("T", &[number(1), Value::Text("abcdef".into())]);
    s.commit();
    s.ok("alter table t add (c date)");
    assert_eq!(s.rows("T"), [[number(1), Value::Text("abcdef".into()), Value::Null]]);
    s.fails("alter table t add c number", 1430);
    s.fails("alter table t add d number not null", 1758);
    s.answers = vec![vec![number(7)]];
    s.ok("alter table t add d number default 7 not null");
    assert_eq!(s.rows("T")[0][3], number(7));
    s.fails("alter table t modify d not null", 1442);
    s.fails("alter table t modify c not null", 2296);
    s.fails("alter table t modify a null", 1451);
    s.ok("alter table t modify b varchar2(20)");
    s.fails("alter table t modify b varchar2(5)", 1441);
    s.ok("alter table t modify b varchar2(6)");
    s.fails("alter table t modify a number(3)", 1440);
    s.fails("alter table t modify a date", 1439);
    s.fails("alter table t modify nothing number", 904);
    s.ok("alter table t rename column a to x");
    s.fails("alter table t rename column x to b", 957);
    s.ok("alter table t drop column b");
    let table = s.table("T");
    assert!(table.column("B").is_none() && table.column("X").is_some());
    assert_eq!(table.visible_columns().count(), 3);
    s.ok("alter table t add b number");
    assert_eq!(s.table("T").column("B").map(|(at, _)| at), Some(4));
    s.ok("alter table t drop (c, d, b)");
    s.fails("alter table t drop column x", 12983);
    s.ok("alter table t rename to u");
    assert!(s.exists("U") && !s.exists("T"));
    s.ok("rename u to t");
    s.fails("rename u to v", 4043);
}

#[test]
fn clusters_hold_one_table() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create cluster hc (n number(*,0)) single table hashkeys 100 size 230");
    s.fails("create cluster hc (n number) single table hashkeys 100", 955);
    s.fails("create cluster ic (n number)", 3001);
    s.fails("create table t (n number) cluster nothing (n)", 943);
    s.fails("create table t (n number(5)) cluster hc (n)", 1753);
    s.ok("create table t (n number(*,0), v varchar2(200)) cluster hc (n)");
    s.fails("create table u (n number(*,0)) cluster hc (n)", 25136);
    let table = s.table("T");
    let Organization::HashCluster { cluster, key_positions } = &table.organization else {
        panic!("{:?}", table.organization);
    };
    assert_eq!((cluster.name.as_str(), key_positions.as_slice()), ("HC", &[0][..]));
    let segment = cluster.segment;
    let described: HashCluster =
        database.clusters.describe(&s.p, table.object, segment.data_object, segment.header, &[0]).expect("a cluster");
    assert!(described.geometry.hash_buckets >= 100);
    s.fails("drop cluster hc", 951);
    s.fails("truncate table t", 3292);
    s.ok("drop cluster hc including tables");
    assert!(!s.exists("T"));
    s.fails("drop cluster hc", 943);
}

impl Session<'_> {
    /// The number of entries of the index for a key of one number.
    fn entries(&mut self, table: &TableDef, index: &str, key: i64) -> usize {
        let index = table.indexes.iter().find(|have| have.name == index).expect("an index");
        let data = table.heap().expect("a heap").data_object;
        let tree = self.database.trees.open(&self.p, index.segment.header, data, index.unique).expect("a tree");
        let (mut stored, mut bytes) = (Vec::new(), Vec::new());
        types::codec::encode(&number(key), &mut stored);
        types::codec::push_key_part(Some(&stored), false, &mut bytes);
        let mut rows = Vec::new();
        self.database.trees.probe(&self.p, &tree, &bytes, &mut rows).expect("a probe");
        rows.len()
    }
}

#[test]
fn indexes_and_keys() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create table t (n number, m number, v varchar2(10), c clob)");
    for n in 0..500 {
        s.insert("T", &[number(n), number(n / 2), Value::Null, Value::Null]);
    }
    s.fails("create unique index j on t (m)", 1452);
    s.ok("create index i on t (m)");
    s.fails("create index i on t (n)", 955);
    s.fails("create index j on t (m)", 1408);
    s.fails("create index j on t (nothing)", 904);
    s.fails("create index j on t (c)", 2327);
    s.fails("create index j on t (n, n)", 957);
    s.ok("create index j on t (upper(v))");
    s.ok("drop index j");
    s.ok("create unique index j on t (n desc, m)");
    let table = s.table("T");
    assert_eq!(table.indexes.len(), 2);
    assert_eq!((s.entries(&table, "I", 7), s.entries(&table, "I", 999)), (2, 0));
    s.fails("alter table t add constraint t_uk unique (m)", 2299);
    s.fails("alter table t add constraint t_pk primary key (v)", 1449);
    s.ok("alter table t add constraint t_pk primary key (n)");
    s.fails("alter table t add primary key (m)", 2260);
    s.fails("alter table t add constraint t_pk check (m > 0)", 2264);
    s.fails("alter table t add unique (n)", 2261);
    let table = s.table("T");
    assert_eq!((s.entries(&table, "T_PK", 499), table.columns[0].nullable), (1, false));
    s.fails("drop index t_pk", 2429);
    s.fails("drop index nothing", 1418);
    s.ok("create table child (n number references t, m number, constraint child_fk foreign key (m) references t (n) on delete cascade)");
    s.fails("create table bad (n number references nothing)", 942);
    s.fails("create table bad (n number references child)", 2268);
    s.fails("create table bad (n number references t (m))", 2270);
    s.fails("create table bad (n date references t)", 2267);
    s.fails("drop table t", 2449);
    s.fails("alter table t drop primary key", 2273);
    s.fails("truncate table t", 2266);
    s.answers = vec![vec![number(1)]];
    s.fails("alter table t add constraint t_ck check (m > 100)", 2293);
    s.answers.clear();
    s.ok("alter table t add constraint t_ck check (m > 100)");
    s.fails("alter table t add check (nothing > 1)", 904);
    s.fails("alter table t add check (m > sysdate)", 2436);
    s.ok("alter table t disable constraint t_ck");
    assert!(s.table("T").constraints.iter().any(|constraint| constraint.name == "T_CK" && !constraint.enabled));
    s.ok("alter table child disable constraint child_fk");
    s.ok("alter index i rebuild");
    s.ok("alter index i rename to i2");
    let table = s.table("T");
    assert_eq!(s.entries(&table, "I2", 7), 2);
    s.ok("alter table t drop primary key cascade");
    assert!(s.table("CHILD").constraints.is_empty());
    assert!(s.table("T").indexes.iter().all(|index| index.name != "T_PK"));
    s.ok("truncate table t");
    let table = s.table("T");
    assert_eq!(s.entries(&table, "I2", 7), 0);
    s.ok("drop table t");
    s.ok("create table t (n number primary key, v varchar2(5) unique) organization index");
    assert_eq!(s.table("T").indexes.len(), 2);
    s.fails("create table u (n number) organization index", 25175);
}

#[test]
fn views_sequences_and_synonyms() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.columns = vec![Described { name: Some("A".into()), data_type: DataType::NUMBER, nullable: true }];
    s.ok("create view v as select a from t");
    s.fails("create view v as select a from t", 955);
    s.ok("create or replace view v (b) as select a from t where a > 1");
    s.fails("create or replace view v (a, b) as select a from t", 1730);
    match s.names().relation(None, "V").expect("readable") {
        Some(Resolved::View(view)) => {
            assert_eq!(
                (view.text.as_str(), view.columns.as_slice()),
                ("select a from t where a > 1", &["B".to_owned()][..])
            );
        }
        other => panic!("{other:?}"),
    }
    s.ok("drop view v");
    s.fails("drop view v", 942);
    s.ok("create sequence q start with 5 increment by 2 cache 10");
    let sequence = s.names().sequence(None, "Q").expect("readable").expect("a sequence");
    let next =
        |s: &mut Session<'_>, q: &SequenceDef| s.dict.next_value(&s.p, q).expect("a number").to_i64().expect("small");
    assert_eq!([next(&mut s, &sequence), next(&mut s, &sequence)], [5, 7]);
    s.ok("alter sequence q increment by 10");
    let sequence = s.names().sequence(None, "Q").expect("readable").expect("a sequence");
    assert_eq!(next(&mut s, &sequence), 17, "the next number follows the last one given out");
    s.fails("alter sequence q start with 1", 2283);
    s.ok("drop sequence q");
    s.fails("drop sequence q", 2289);
    s.ok("create table t (n number)");
    s.ok("create synonym y for t");
    assert_eq!(s.table("Y").name, "T");
    s.ok("create public synonym z for system.t");
    s.fails("create public synonym z for system.t", 955);
    assert_eq!(s.table("Z").name, "T");
    s.ok("create synonym l1 for l2");
    s.ok("create synonym l2 for l1");
    assert_eq!(s.names().relation(None, "L1").unwrap_err().code(), 1775);
    s.fails("drop public synonym nothing", 1432);
    s.fails("drop synonym nothing", 1434);
    s.ok("drop synonym y");
    assert!(!s.exists("Y"));
}

#[test]
fn users_and_grants() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create user scott identified by tiger");
    s.fails("create user scott identified by tiger", 1920);
    assert_eq!(s.may_connect("SCOTT", "tiger"), Err(1045));
    s.ok("grant connect, create table to scott");
    s.fails("grant connect to nobody", 1917);
    s.fails("grant nonsense to scott", 1919);
    s.fails("grant drop everything to scott", 990);
    assert_eq!(s.may_connect("SCOTT", "tiger"), Ok(false));
    s.ok("alter user scott identified by lion account lock");
    assert_eq!(s.may_connect("SCOTT", "lion"), Ok(true));
    s.ok("alter user scott account unlock quota unlimited on users");
    s.ok("create table t (n number)");
    let mut scott = database.session("SCOTT");
    assert!(scott.names().relation(Some("SYSTEM"), "T").expect("readable").is_none());
    s.ok("grant select on t to scott");
    let table = match scott.names().relation(Some("SYSTEM"), "T").expect("readable") {
        Some(Resolved::Table(table)) => table,
        other => panic!("{other:?}"),
    };
    let allowed = |s: &mut Session<'_>, p| s.names().allowed(table.object, table.owner_id, p).expect("readable");
    assert!(allowed(&mut scott, ObjectPrivilege::Select) && !allowed(&mut scott, ObjectPrivilege::Insert));
    scott.fails("drop table system.t", 1031);
    scott.fails("create view v as select 1 from dual", 1031);
    scott.fails("create user u identified by u", 1031);
    scott.fails("grant select on system.t to public", 1031);
    scott.ok("create table own (n number)");
    s.ok("revoke select on t from scott");
    s.fails("revoke select on t from scott", 1927);
    assert!(scott.names().relation(Some("SYSTEM"), "T").expect("readable").is_none());
    s.ok("create role r");
    s.ok("grant select any table to r");
    s.ok("grant r to scott");
    s.fails("grant r to r", 1934);
    assert!(
        scott.names().relation(Some("SYSTEM"), "T").expect("readable").is_none(),
        "a role counts from the next session"
    );
    let mut scott = database.session("SCOTT");
    assert!(scott.names().relation(Some("SYSTEM"), "T").expect("readable").is_some());
    s.ok("drop role r");
    assert!(scott.names().relation(Some("SYSTEM"), "T").expect("readable").is_none());
    s.fails("revoke dba from scott", 1951);
    s.ok("grant connect to u2 identified by u2");
    assert_eq!(s.may_connect("U2", "u2"), Ok(false));
    s.fails("drop user scott", 1922);
    s.ok("drop user scott cascade");
    s.fails("drop user scott", 1918);
    assert!(s.dict.user("SCOTT").expect("readable").is_none());
}

#[test]
fn stored_units_keep_their_errors() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.errors = vec![ErrorLine { line: 2, column: 3, text: "PLS-00103: no".into() }];
    let outcome = s.run("create procedure system.p is\nbegin bad end;").expect("stored");
    assert!(outcome.compiled_with_errors);
    let unit = s.names().unit(None, "P").expect("readable").expect("a unit");
    assert_eq!((unit.source.as_str(), unit.valid), ("procedure p is\nbegin bad end;", false));
    s.fails("create procedure p is begin null; end;", 955);
    s.errors.clear();
    let outcome = s.run("create or replace procedure p is begin null; end;").expect("stored");
    assert!(!outcome.compiled_with_errors);
    assert!(s.names().unit(None, "P").expect("readable").expect("a unit").valid);
    s.ok("alter procedure p compile");
    s.ok("drop procedure p");
    s.fails("drop procedure p", 4043);
    s.ok("create package g as x number; end;");
    s.ok("create package body g as y number; end;");
    assert_eq!(s.names().units(None, "G").expect("readable").len(), 2);
    s.ok("drop package g");
    assert!(s.names().unit(None, "G").expect("readable").is_none());
    s.fails("create trigger tr after logon on database begin null; end;", 3001);
}

#[test]
fn statistics_and_comments() {
    let database = Database::new();
    let mut s = database.session("SYSTEM");
    s.ok("create table t (n number, v varchar2(10))");
    for n in 0..10 {
        s.insert("T", &[number(n % 3), if n == 0 { Value::Null } else { Value::Text("x".into()) }]);
    }
    s.ok("analyze table t compute statistics");
    let table = s.table("T");
    assert_eq!(table.statistics.as_ref().map(|statistics| statistics.rows), Some(10));
    let column = |i: usize| table.columns[i].statistics.clone().expect("statistics");
    assert_eq!((column(0).distinct, column(1).nulls), (3, 1));
    s.ok("alter table t add gone number");
    s.ok("analyze table t compute statistics");
    assert!(s.table("T").columns[2].statistics.is_some());
    s.ok("alter table t drop column gone");
    let columns: Vec<bool> = s.table("T").columns.iter().map(|column| column.statistics.is_some()).collect();
    assert_eq!(columns, [true, true, false]);
    s.ok("analyze table t delete statistics");
    assert!(s.table("T").statistics.is_none());
    s.ok("comment on table t is 'a table'");
    s.ok("comment on column t.n is 'a number'");
    s.fails("comment on column t.x is 'nothing'", 904);
    s.fails("comment on table u is 'nothing'", 942);
    s.ok("alter table t move");
    assert_eq!(s.rows("T").len(), 10);
    assert!(database.cache.block_size() == BLOCK);
}

#[test]
fn every_catalog_view_parses() {
    for (name, text) in catalog_views() {
        if let Err(error) = sql::parse_query(text) {
            let at = error.position().unwrap_or(0) as usize;
            panic!("{name}: {error} at {:?}", &text[at.saturating_sub(20)..(at + 40).min(text.len())]);
        }
    }
    assert!(catalog_views().len() > 60);
}

/// The texts of the source files in a folder and below it.
fn sources(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("sources").map(|entry| entry.expect("a file").path());
    let texts = |path: std::path::PathBuf| match path.is_dir() {
        true => sources(&path),
        false => vec![std::fs::read_to_string(path).expect("a source")],
    };
    entries.flat_map(texts).collect()
}

#[test]
fn every_error_has_a_text() {
    for text in sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        for part in text.split("Ora::new(").chain(text.split("Ora::with(")).skip(1) {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(code) = digits.parse::<u32>() {
                assert!(!Ora::new(code).message().starts_with("Message "), "ORA-{code:05}");
            }
        }
    }
}
