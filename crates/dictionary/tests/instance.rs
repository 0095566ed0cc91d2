//! The dictionary over a real stack: data files, buffer cache, transactions and heaps in this process.

use btree::Btree;
use buffer_cache::BufferCache;
use datafile::{CreateDatabase, DataFiles, tablespace};
use dictionary::base::{obj, seq, user};
use dictionary::rows::{blank, int, text};
use dictionary::*;
use heap::Heap;
use process::Process;
use std::rc::Rc;
use std::sync::Arc;
use testing::Folder;
use testing::storage::{Storage, StorageSpec};
use txn::{NoHook, Txn};
use types::{Date, ObjectId, Rowid, Value};

const BLOCK: usize = 8192;

/// An instance over `directory`; creates the database if it does not exist.
fn instance(directory: &Folder) -> (&'static process::Processes, DictionaryShared, Arc<BufferCache>) {
    let is_new = !directory.join(datafile::CONTROL_FILE).exists();
    let files = if is_new {
        DataFiles::create(directory, &CreateDatabase::usual("TEST", 1, BLOCK)).expect("data files")
    } else {
        DataFiles::open(directory).expect("data files").0
    };
    let spec = StorageSpec::new(16, 2000, BLOCK, &[Heap::register_apply, Btree::register_apply]);
    let reserve = |b: &mut sga::SgaBuilder| DictionaryLayout::reserve(b, &DictionaryConfig { sequences: 8 });
    let (Storage { all, cache, enqueues, txns }, dict) = Storage::over(files, spec, reserve);
    let heap = Heap::new(&txns);
    let trees = Btree::new(&txns);
    let shared = DictionaryShared::create(all.sga(), &dict, &heap, &trees, &enqueues);
    let p = testing::attach(all, "start");
    if is_new {
        txns.create_undo_segments(&p).expect("undo");
        shared.create_database(&p, &new_dictionary()).expect("a dictionary");
    } else {
        txns.advance_scn(types::Scn(1_000_000));
        txns.open(&p).expect("undo");
        shared.open(&p).expect("the dictionary");
    }
    (all, shared, cache)
}

fn new_dictionary() -> NewDictionary {
    NewDictionary {
        name: "test".into(),
        tablespaces: vec![
            (tablespace::SYSTEM, "SYSTEM".into(), 0),
            (tablespace::UNDO, "UNDO".into(), 2),
            (tablespace::USERS, "USERS".into(), 0),
            (tablespace::TEMP, "TEMP".into(), 1),
        ],
        users_tablespace: tablespace::USERS,
        temporary_tablespace: tablespace::TEMP,
        block_size_bytes: BLOCK as u32,
        system: Some(Verifier::new("manager", [1; 16])),
        sys: None,
        now: Date::from_ymd(2024, 1, 1).expect("a date"),
    }
}

fn dictionary(shared: &DictionaryShared, p: &Rc<Process>) -> Dictionary {
    Dictionary::new(shared.clone(), Rc::new(NoFixedTables), p)
}

fn add_user(dict: &Dictionary, p: &Process, name: &str) -> UserId {
    let id = dict.shared().next_user();
    let mut txn = Txn::new();
    let mut change = dict.change(p, &mut txn);
    let mut row = blank(Base::User);
    row[user::USER] = int(id.0);
    row[user::NAME] = text(name);
    row[user::TYPE] = int(1);
    row[user::ASTATUS] = int(0);
    change.insert(Base::User, &row).expect("a row");
    change.commit(&NoHook).expect("a commit");
    id
}

/// Names as a new session of the user sees them: with the default roles.
fn names_of(dict: &mut Dictionary, user: UserId) -> types::Result<SessionCatalog> {
    let roles = dict.image()?.default_roles(user).into();
    dict.names(&Principal { user, schema: user, sysdba: false, roles })
}

#[test]
fn a_new_database_has_its_users_and_dual() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let p = Rc::new(testing::attach(all, "session"));
    let mut dict = dictionary(&shared, &p);
    let system = dict.user("SYSTEM").expect("readable").expect("a user");
    assert_eq!(system.id, UserId::SYSTEM);
    let verifier = system.verifier.as_ref().expect("a password");
    assert_eq!(["manager", "tiger"].map(|password| verifier.matches(password)), [true, false]);
    dict.may_connect(&system).expect("a user with CREATE SESSION");
    assert!(dict.user("NOBODY").expect("readable").is_none());
    let profile = dict.profile_of(&system).expect("a profile");
    assert_eq!(profile.limit(Resource::FailedLoginAttempts), Some(10));
    let names = names_of(&mut dict, UserId::SYSTEM).expect("names");
    let Some(Resolved::Table(dual)) = names.relation(None, "DUAL").expect("readable") else {
        panic!("no DUAL");
    };
    assert_eq!((dual.owner.as_str(), dual.columns.len()), ("SYS", 1));
    let mut rows = Vec::new();
    let mut keep = |_: Rowid, row: &[Value]| {
        rows.push(row.to_vec());
        Ok(())
    };
    shared.scan_once(&p, Base::Dual, &mut keep).expect("a scan");
    assert_eq!(rows, [[Value::Text("X".into())]]);
    assert!(matches!(names.relation(None, "USER_TABLES").expect("readable"), Some(Resolved::View(_))));
    assert!(matches!(names.relation(Some("SYS"), "OBJ$").expect("readable"), Some(Resolved::Table(_))));
    assert!(names.relation(None, "NOTHING").expect("readable").is_none());
}

#[test]
fn users_without_privileges_see_little() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let p = Rc::new(testing::attach(all, "session"));
    let mut dict = dictionary(&shared, &p);
    let scott = add_user(&dict, &p, "SCOTT");
    let names = names_of(&mut dict, scott).expect("names");
    assert!(names.relation(Some("SYS"), "OBJ$").expect("readable").is_none());
    assert!(names.relation(None, "DBA_TABLES").expect("readable").is_none());
    assert!(names.relation(None, "ALL_TABLES").expect("readable").is_some());
    assert!(!names.has(SystemPrivilege::CreateTable));
    let system = names_of(&mut dict, UserId::SYSTEM).expect("names");
    assert!(
        system.has(SystemPrivilege::CreateTable) && system.relation(None, "DBA_TABLES").expect("readable").is_some()
    );
}

#[test]
fn a_change_moves_the_epoch_of_every_process() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let (p, q) = (Rc::new(testing::attach(all, "one")), Rc::new(testing::attach(all, "two")));
    let (mut mine, mut theirs) = (dictionary(&shared, &p), dictionary(&shared, &q));
    let before = theirs.image().expect("a picture");
    assert!(theirs.is_current(before.epoch()));
    let again = theirs.image().expect("a picture");
    assert!(std::ptr::eq(&*before, &*again), "nothing has changed");
    let id = add_user(&mine, &p, "SCOTT");
    assert!(!theirs.is_current(before.epoch()));
    let after = theirs.image().expect("a picture");
    assert_eq!(after.user_named("SCOTT").map(|user| user.id), Some(id));
    assert!(mine.user("SCOTT").expect("readable").is_some());
}

#[test]
fn a_picture_shows_its_moment_for_as_long_as_it_is_leased() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let (p, q) = (Rc::new(testing::attach(all, "one")), Rc::new(testing::attach(all, "two")));
    let (mine, mut theirs) = (dictionary(&shared, &p), dictionary(&shared, &q));
    let names = names_of(&mut theirs, UserId::SYSTEM).expect("names");
    let (before, kept) = (Rc::clone(names.image()), names.kept());
    add_user(&mine, &p, "SCOTT");
    // A definition that was not read before is read as of the same moment.
    assert!(before.user_named("SCOTT").is_none());
    assert!(before.user(UserId::SYSTEM).is_some());
    before.checked().expect("all was readable");
    assert!(theirs.names_again(&kept).is_none(), "the moment has passed");
    // Without a lease the moment is not kept: the picture reads nothing more, and is not used again.
    drop(names);
    assert!(before.user(UserId::SYSTEM).is_some(), "this was read");
    assert!(before.user(UserId::SYS).is_none());
    assert_eq!(before.checked().unwrap_err().code(), 8176);
    // The user of the dictionary gets the error once.
    assert_eq!(theirs.image().map(drop).unwrap_err().code(), 8176);
    assert_eq!(theirs.take_fault().map(|e| e.code()), Some(8176));
    let names = names_of(&mut theirs, UserId::SYSTEM).expect("names");
    assert!(names.image().user_named("SCOTT").is_some() && names.image().user_named("SYS").is_some());
    // A current picture is leased again, and reads further rows.
    let (kept, image) = (names.kept(), Rc::clone(names.image()));
    drop(names);
    let again = theirs.names_again(&kept).expect("nothing has been defined");
    assert!(Rc::ptr_eq(again.image(), &image));
    assert!(image.user_named("PUBLIC").is_some());
    image.checked().expect("all was readable");
}

#[test]
fn no_snapshot_is_open_where_nothing_uses_the_dictionary() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let (p, q) = (Rc::new(testing::attach(all, "one")), Rc::new(testing::attach(all, "two")));
    let (mine, mut theirs) = (dictionary(&shared, &p), dictionary(&shared, &q));
    let txns = shared.txns();
    for n in 0..5 {
        let names = names_of(&mut theirs, UserId::SYSTEM).expect("names");
        let open = txns.oldest_snapshot();
        add_user(&mine, &p, &format!("U{n}"));
        assert!(txns.oldest_snapshot() <= open && open < txns.current_scn(), "the moment is kept");
        names.image().user_named("SCOTT");
        let later = names_of(&mut theirs, UserId::SYS).expect("names");
        drop((names, later));
        assert!(txns.oldest_snapshot() >= txns.current_scn(), "and is not kept any more");
    }
}

#[test]
fn rows_are_found_by_their_indexes_through_changes_and_a_rollback() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let p = Rc::new(testing::attach(all, "session"));
    let dict = dictionary(&shared, &p);
    let (first, second) = (shared.next_object(), shared.next_object());
    let row = |object: ObjectId, name: &str| {
        let mut row = blank(Base::Obj);
        (row[obj::OBJ], row[obj::OWNER], row[obj::NAME]) = (int(object.0), int(7), text(name));
        (row[obj::TYPE], row[obj::NAMESPACE], row[obj::STATUS]) = (int(6), int(1), int(1));
        row
    };
    let mut txn = Txn::new();
    let mut change = dict.change(&p, &mut txn);
    change.insert_many(Base::Obj, &[row(first, "A"), row(second, "B")]).expect("rows");
    change.commit(&NoHook).expect("a commit");
    let numbers = |name: &str| {
        let mut found = Vec::new();
        let key = [int(7), int(1), text(name)];
        let columns = [obj::OWNER, obj::NAMESPACE, obj::NAME];
        let add = &mut |_: Rowid, row: &[Value]| {
            found.push(dictionary::rows::as_u32(&row[obj::OBJ]));
            Ok(())
        };
        shared.scan_once_by(&p, Base::Obj, &columns, &key, add).expect("readable");
        found
    };
    assert_eq!((numbers("A"), numbers("B"), numbers("C")), (vec![first.0], vec![second.0], vec![]));
    // A change that is rolled back leaves rows and entries unchanged.
    let mut txn = Txn::new();
    let mut change = dict.change(&p, &mut txn);
    let rename = |row: &mut Vec<Value>| row[obj::NAME] = text("C");
    assert_eq!(change.update_by(Base::Obj, By::new(obj::OBJ, first.0), &mut { rename }).expect("a change"), 1);
    assert_eq!(change.delete_by(Base::Obj, By::new(obj::OBJ, second.0)).expect("a change"), 1);
    assert_eq!(change.select_by(Base::Obj, By::new(obj::OBJ, first.0)).expect("rows")[0][obj::NAME], text("C"));
    assert!(change.select_by(Base::Obj, By::new(obj::OBJ, second.0)).expect("rows").is_empty());
    assert_eq!((numbers("A"), numbers("B"), numbers("C")), (vec![first.0], vec![second.0], vec![]));
    shared.txns().rollback(&p, &mut txn).expect("a rollback");
    assert_eq!((numbers("A"), numbers("B"), numbers("C")), (vec![first.0], vec![second.0], vec![]));
    let mut txn = Txn::new();
    let mut change = dict.change(&p, &mut txn);
    change.update_by(Base::Obj, By::new(obj::OBJ, first.0), &mut { rename }).expect("a change");
    change.delete_by(Base::Obj, By::new(obj::OBJ, second.0)).expect("a change");
    change.commit(&NoHook).expect("a commit");
    assert_eq!((numbers("A"), numbers("B"), numbers("C")), (vec![], vec![], vec![first.0]));
}

#[test]
fn sequences_give_every_number_once() {
    let directory = Folder::new("dictionary");
    let (all, shared, _cache) = instance(&directory);
    let p = Rc::new(testing::attach(all, "session"));
    let object = shared.next_object();
    let dict = dictionary(&shared, &p);
    let mut txn = Txn::new();
    let mut change = dict.change(&p, &mut txn);
    let mut row = blank(Base::Obj);
    (row[obj::OBJ], row[obj::OWNER], row[obj::NAME]) = (int(object.0), int(0), text("S"));
    (row[obj::TYPE], row[obj::NAMESPACE], row[obj::STATUS]) = (int(6), int(1), int(1));
    change.insert(Base::Obj, &row).expect("a row");
    let mut row = blank(Base::Seq);
    (row[seq::OBJ], row[seq::INCREMENT], row[seq::MINVALUE], row[seq::MAXVALUE]) =
        (int(object.0), int(1), int(1), int(1000));
    (row[seq::CACHE], row[seq::HIGHWATER]) = (int(20), int(1));
    change.insert(Base::Seq, &row).expect("a row");
    change.commit(&NoHook).expect("a commit");
    let mut all_numbers: Vec<i64> = testing_threads(all, 3, |p| {
        let mut dict = dictionary(&shared, p);
        let image = dict.image().expect("a picture");
        let sequence = image.sequence(object).expect("the sequence");
        (0..50).map(|_| dict.next_value(p, &sequence).expect("a number").to_i64().expect("small")).collect::<Vec<_>>()
    })
    .concat();
    all_numbers.sort_unstable();
    let unique = all_numbers.len();
    all_numbers.dedup();
    assert_eq!((all_numbers.len(), unique), (150, 150));
    assert!(all_numbers[149] <= 160, "no more than a batch is lost: {}", all_numbers[149]);
}

fn testing_threads<R: Send>(
    all: &'static process::Processes,
    n: usize,
    body: impl Fn(&Rc<Process>) -> R + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..n)
            .map(|_| {
                scope.spawn(|| {
                    let p = Rc::new(testing::attach(all, "worker"));
                    body(&p)
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
    })
}

#[test]
fn a_database_that_was_closed_opens_again() {
    let directory = Folder::new("dictionary");
    let id = {
        let (all, shared, cache) = instance(&directory);
        let p = Rc::new(testing::attach(all, "session"));
        let id = add_user(&dictionary(&shared, &p), &p, "SCOTT");
        cache.shut_down(&p, shared.txns().current_scn()).expect("written");
        id
    };
    let (all, shared, _cache) = instance(&directory);
    let p = Rc::new(testing::attach(all, "session"));
    let mut dict = dictionary(&shared, &p);
    assert_eq!(dict.user("SCOTT").expect("readable").map(|user| user.id), Some(id));
    assert!(shared.next_user() > id, "numbers are not given out twice");
    assert!(shared.next_object() > ObjectId(FIRST_USER_OBJECT));
}
