//! Databases on disk: a created database can be opened, and mismatched files are refused.

use block::{BlockKind, Image};
use datafile::{CONTROL_FILE, Contents, ControlFile, CreateDatabase, DataFiles, TablespaceSpec, tablespace};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use testing::Folder;
use types::{ObjectId, Rdba, Scn};

struct Directory(Folder);

impl Directory {
    fn new() -> Directory {
        Directory(Folder::new("files"))
    }
    fn overwrite(&self, file: &str, at: u64, bytes: &[u8]) {
        OpenOptions::new().write(true).open(self.0.join(file)).unwrap().write_all_at(bytes, at).unwrap();
    }
}

fn create(size: usize, id: u64) -> (Directory, DataFiles) {
    let d = Directory::new();
    let files = DataFiles::create(&d.0, &CreateDatabase::usual("ORCL", id, size)).unwrap();
    (d, files)
}

fn open_error(d: &Directory) -> types::Ora {
    DataFiles::open(&d.0).err().expect("the database is refused")
}

fn a_block(size: usize, at: Rdba) -> Image {
    let mut image = Image::new(size);
    block::format(image.bytes_mut(), BlockKind::Temporary, at, ObjectId(1), Rdba(0));
    block::seal(image.bytes_mut());
    image
}

#[test]
fn what_was_written_is_read_with_every_block_size() {
    for size in [2048, 4096, 8192, 16384, 32768] {
        let (d, files) = create(size, 5);
        let at = Rdba::new(3, DataFiles::first_data_block_of(size) + 2);
        files.write_block(at, a_block(size, at).bytes()).unwrap();
        files.sync().unwrap();
        files.set_clean(true, Scn(77)).unwrap();
        drop(files);
        let (files, control) = DataFiles::open(&d.0).unwrap();
        assert_eq!((control.block_size, control.scn, control.clean), (size, Scn(77), true));
        let names: Vec<_> = control.tablespaces.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["SYSTEM", "UNDO", "USERS", "TEMP"]);
        let mut image = Image::new(size);
        files.read_block(at, image.bytes_mut()).unwrap();
        assert_eq!(image.bytes(), a_block(size, at).bytes());
        for n in 0..DataFiles::bitmap_blocks_of(size) {
            files.read_block(Rdba::new(3, 1 + n), image.bytes_mut()).unwrap();
            assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        }
        assert_eq!(files.blocks(3).unwrap(), 512);
    }
}

#[test]
fn bad_sizes_and_second_creations_are_refused() {
    let d = Directory::new();
    assert!(DataFiles::create(&d.0, &CreateDatabase::usual("X", 1, 3000)).err().unwrap().is(374));
    DataFiles::create(&d.0, &CreateDatabase::usual("X", 1, 2048)).unwrap();
    assert!(DataFiles::create(&d.0, &CreateDatabase::usual("X", 1, 2048)).err().unwrap().is(200));
}

#[test]
fn missing_and_foreign_files_are_refused() {
    let (d, _) = create(2048, 1);
    let (other, _) = create(2048, 2);
    // A missing or foreign user file makes only its own objects unusable; a system file is required.
    std::fs::copy(other.0.join("users01.dbf"), d.0.join("users01.dbf")).unwrap();
    let (files, control) = DataFiles::open(&d.0).unwrap();
    assert_eq!(files.missing(), [3]);
    let why = files.why_missing(control.files.iter().find(|f| f.file == 3).unwrap()).unwrap();
    assert!(why.is(1122) && why.to_string().contains("users01.dbf"), "{why}");
    std::fs::remove_file(d.0.join("users01.dbf")).unwrap();
    let (files, _) = DataFiles::open(&d.0).unwrap();
    let e = files.read_block(Rdba::new(3, 40), Image::new(2048).bytes_mut()).unwrap_err();
    assert!(e.is(1157) && e.to_string().contains("users01.dbf"), "{e}");
    std::fs::copy(other.0.join("undo01.dbf"), d.0.join("undo01.dbf")).unwrap();
    let e = open_error(&d);
    assert!(e.is(1122) && e.to_string().contains("undo01.dbf"), "{e}");
    std::fs::remove_file(d.0.join("undo01.dbf")).unwrap();
    let e = open_error(&d);
    assert!(e.is(1157) && e.to_string().contains("undo01.dbf"), "{e}");
    d.overwrite(CONTROL_FILE, 30, b"?");
    assert!(open_error(&d).is(205));
    std::fs::remove_file(d.0.join(CONTROL_FILE)).unwrap();
    assert!(open_error(&d).is(205));
}

#[test]
fn short_and_damaged_files_are_refused() {
    let (d, _) = create(2048, 1);
    OpenOptions::new().write(true).open(d.0.join("undo01.dbf")).unwrap().set_len(100 * 2048).unwrap();
    let e = open_error(&d);
    assert!(e.is(1200) && e.to_string().contains("100") && e.to_string().contains("512"), "{e}");
    let (d, _) = create(2048, 1);
    d.overwrite("system01.dbf", 70, &[9]);
    assert!(open_error(&d).is(1122));
}

#[test]
fn damaged_blocks_name_file_and_block() {
    let (d, files) = create(2048, 1);
    let at = Rdba::new(3, 40);
    files.write_block(at, a_block(2048, at).bytes()).unwrap();
    d.overwrite("users01.dbf", 40 * 2048 + 2000, &[1]);
    let mut image = Image::new(2048);
    let e = files.read_block(at, image.bytes_mut()).unwrap_err();
    assert!(e.is(1578) && e.message().contains("file # 3, block # 40") && e.to_string().contains("users01.dbf"), "{e}");
    assert!(files.read_block(Rdba::new(3, 100_000), image.bytes_mut()).unwrap_err().is(1115));
    assert!(files.read_block(Rdba::new(9, 1), image.bytes_mut()).unwrap_err().is(1157));
}

#[test]
fn files_grow_and_new_ones_are_found_by_others() {
    let (d, files) = create(2048, 1);
    let (others, _) = DataFiles::open(&d.0).unwrap();
    files.extend(3, 900).unwrap();
    assert_eq!((files.blocks(3).unwrap(), others.blocks(3).unwrap()), (900, 900));
    let spec = TablespaceSpec {
        contents: Contents::Permanent,
        name: "USERS".into(),
        number: tablespace::USERS,
        file_name: "users02.dbf".into(),
        bytes: 300 * 2048,
        bytes_max: 0,
        step_bytes: 0,
    };
    let number = files.add_file(&spec).unwrap();
    let mut image = Image::new(2048);
    others.read_block(Rdba::new(number, 1), image.bytes_mut()).unwrap();
    assert_eq!(image.view().kind(), Some(BlockKind::FileBitmap));
    assert!(files.add_file(&TablespaceSpec { number: 44, ..spec.clone() }).unwrap_err().is(959));
    let again = files.add_file(&spec).unwrap_err();
    assert!(again.is(1119), "the file exists: {again}");
    assert_eq!(ControlFile::read(&d.0).unwrap().files.len(), 5);
}

#[test]
fn a_name_that_the_control_file_cannot_have_is_refused() {
    for name in ["", "a\nb.dbf", "a.dbf\r", "a\0.dbf"] {
        assert!(datafile::require_name(name).unwrap_err().is(2236), "{name:?}");
    }
    assert_eq!(datafile::require_name("/data/my file \u{fc}.dbf"), Ok(()));
}

#[test]
fn a_copy_with_an_earlier_part_of_the_same_number_gets_the_part_again() {
    for (head_at, is_laid) in [(1000, true), (6000, false)] {
        let d = Directory::new();
        let mut spec = CreateDatabase::usual("ORCL", 7, 2048);
        spec.part_blocks = datafile::PartBlocks(512);
        let files = DataFiles::create(&d.0, &spec).unwrap();
        let mut control = files.control().unwrap();
        control.tablespaces[2].is_bigfile = true;
        let head = control.file(3).unwrap().clone();
        control.files.push(datafile::FileEntry { file: 1023, part: 1, first: 3, blocks_max: 0, step: 0, ..head });
        control.write(&d.0).unwrap();
        let part = control.file(1023).unwrap().clone();
        files.refresh().unwrap();
        files.make_listed(&part).unwrap();
        let at = |rba| datafile::CheckpointEntry { rba, scn: Scn(rba), time_s: 9 };
        files.stamp_file(1023, 0, &at(1000)).unwrap();
        files.stamp_file(3, 0, &at(head_at)).unwrap();
        let (again, _) = DataFiles::open(&d.0).unwrap();
        assert_eq!((again.file_checkpoint(1023).unwrap().rba, again.missing()), (1000, vec![]));
        // The part of the control file was made later, with the number of a part that was removed.
        control.files.iter_mut().filter(|f| f.file == 1023).for_each(|f| f.created_rba = 5000);
        control.write(&d.0).unwrap();
        let (again, _) = DataFiles::open(&d.0).unwrap();
        if is_laid {
            assert_eq!((again.file_checkpoint(1023).unwrap().rba, again.missing()), (0, vec![]));
        } else {
            assert_eq!(again.missing(), [3, 1023], "the first part has no redo of the later one");
        }
    }
}

/// A database whose file 3 is a bigfile of two parts, the second with number 1023 and without a checkpoint.
fn bigfile_of_two() -> (Directory, DataFiles, ControlFile) {
    let d = Directory::new();
    let mut spec = CreateDatabase::usual("ORCL", 7, 2048);
    spec.part_blocks = datafile::PartBlocks(512);
    let files = DataFiles::create(&d.0, &spec).unwrap();
    let mut control = files.control().unwrap();
    control.tablespaces[2].is_bigfile = true;
    control.incarnation.number = 1;
    let head = control.file(3).unwrap().clone();
    control.files.push(datafile::FileEntry { file: 1023, part: 1, first: 3, blocks_max: 0, step: 0, ..head });
    control.write(&d.0).unwrap();
    files.refresh().unwrap();
    files.make_listed(control.file(1023).unwrap()).unwrap();
    (d, files, control)
}

/// The number of the part, its place and its header are the same in an earlier part that was removed, and that had no
/// checkpoint when the file was copied.
#[test]
fn a_copy_with_an_earlier_part_without_a_checkpoint_gets_the_part_again() {
    let at = |rba| datafile::CheckpointEntry { rba, scn: Scn(rba), time_s: 9 };
    // The checkpoints in the header of the first part and in the control file; whether the tablespace is read-only.
    for (first, last, is_read_only, is_laid) in [
        (1000, 6000, false, true),
        // A crash behind the creation of the part, of a file that was not copied back.
        (6000, 6000, false, false),
        (4000, 4000, false, false),
        // Nothing is rolled forward.
        (1000, 6000, true, false),
    ] {
        let (d, files, mut control) = bigfile_of_two();
        files.stamp_file(3, 1, &at(first)).unwrap();
        let used = Rdba::new(1023, 2);
        files.write_block(used, a_block(2048, used).bytes()).unwrap();
        control.files.iter_mut().filter(|f| f.file == 1023).for_each(|f| f.created_rba = 5000);
        control.tablespaces[2].is_read_only = is_read_only;
        control.checkpoint = at(last);
        control.write(&d.0).unwrap();
        let (again, _) = DataFiles::open(&d.0).unwrap();
        assert_eq!(again.missing(), []);
        let mut image = Image::new(2048);
        again.read_block(used, image.bytes_mut()).unwrap();
        let is_empty = image.view().kind() == Some(BlockKind::FileBitmap);
        assert_eq!(is_empty, is_laid, "first {first}, last {last}, read-only {is_read_only}");
    }
}

#[test]
fn nothing_is_written_to_a_copy_of_another_incarnation() {
    let (d, files, mut control) = bigfile_of_two();
    let at = |rba| datafile::CheckpointEntry { rba, scn: Scn(rba), time_s: 9 };
    files.stamp_file(3, 1, &at(1000)).unwrap();
    control.incarnation.number = 2;
    control.checkpoint = at(6000);
    control.files.iter_mut().filter(|f| f.file == 1023).for_each(|f| f.created_rba = 5000);
    control.write(&d.0).unwrap();
    let path = d.0.join("users01.dbf");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(512 * 2048).unwrap();
    let (again, control) = DataFiles::open(&d.0).unwrap();
    assert_eq!(again.missing(), [3, 1023]);
    again.lay_lost_parts(&control, 3).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 512 * 2048);
}

#[test]
fn a_lost_file_is_made_again_with_all_its_parts_or_not_at_all() {
    let d = Directory::new();
    let mut spec = CreateDatabase::usual("ORCL", 7, 2048);
    spec.part_blocks = datafile::PartBlocks(512);
    let files = DataFiles::create(&d.0, &spec).unwrap();
    let head = files.control().unwrap().file(3).unwrap().clone();
    let mut part = datafile::FileEntry { file: 1023, part: 1, first: 3, ..head.clone() };
    files.make_again(&[&head, &part], "again.dbf").unwrap();
    assert_eq!(std::fs::metadata(d.0.join("again.dbf")).unwrap().len(), 2 * 512 * 2048);
    // No file system has room for such a part.
    part.part = u32::MAX;
    assert!(files.make_again(&[&head, &part], "more.dbf").unwrap_err().is(1237));
    assert!(!d.0.join("more.dbf").exists());
    assert!(files.make_again(&[&head], "again.dbf").unwrap_err().is(1119), "a file of that name is there");
    assert!(d.0.join("again.dbf").exists());
}
