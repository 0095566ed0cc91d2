//! The double-write area: which copies are valid after a crash, and when they may be overwritten.

use block::{BlockKind, Image};
use datafile::{COVER_MAX, ControlFile, CreateDatabase, DOUBLE_WRITE_FILE, DataFiles, Restored};
use os::file::{File, OpenMode};
use testing::{Folder, Random};
use types::{ObjectId, Rdba};

const SIZE: usize = 2048;
const SLOTS: usize = 8;
/// A batch of 128 blocks of 2 KB with its head.
const BATCH: u64 = 4096 + (COVER_MAX * SIZE) as u64;

/// An open database and its control file.
struct World {
    dir: Folder,
    files: DataFiles,
    control: ControlFile,
}

fn at(n: u32) -> Rdba {
    Rdba::new(3, 100 + n)
}

/// Block `n` with the changes of the redo up to `rba`.
fn image(n: u32, rba: u64) -> Image {
    let mut image = Image::new(SIZE);
    block::format(image.bytes_mut(), BlockKind::Temporary, at(n), ObjectId(1), Rdba(0));
    image.bytes_mut()[200..SIZE].fill(rba as u8);
    block::stamp(image.bytes_mut(), rba);
    block::seal(image.bytes_mut());
    image
}

impl World {
    fn new() -> World {
        let dir = Folder::new("double-write");
        let files = DataFiles::create(&dir, &CreateDatabase::usual("T", 7, SIZE)).unwrap();
        let mut control = files.control().unwrap();
        control.checkpoint.rba = 1000;
        let (life, goes_on) = files.open_double_write(DOUBLE_WRITE_FILE, 0, SLOTS, &control, 11).unwrap();
        assert_eq!((life, goes_on), (11, false));
        (control.double_write, control.clean) = (life, false);
        World { dir, files, control }
    }

    /// The next start; `life` is used if the area is started anew.
    fn start(&self, life: u64) -> (DataFiles, bool) {
        let files = DataFiles::over_control(&self.dir, &self.control);
        let (_, goes_on) = files.open_double_write(DOUBLE_WRITE_FILE, 0, SLOTS, &self.control, life).unwrap();
        (files, goes_on)
    }

    fn restore(&self, again: bool) -> Restored {
        let (files, goes_on) = self.start(99);
        assert!(goes_on);
        files.restore_torn(&self.control, again).unwrap()
    }

    /// Writes blocks as DBWR does.
    fn write(&self, announced: u64, blocks: &[(u32, u64)]) {
        let images: Vec<Image> = blocks.iter().map(|(n, rba)| image(*n, *rba)).collect();
        let bytes: Vec<&[u8]> = images.iter().map(Image::bytes).collect();
        let cover = self.files.cover(0, announced, &bytes, &mut || panic!("nobody has to be waited for")).unwrap();
        images.iter().zip(blocks).for_each(|(image, (n, _))| self.files.write_block(at(*n), image.bytes()).unwrap());
        cover.done();
    }

    fn tear(&self, n: u32) {
        let file = File::open(&self.dir.join("users01.dbf"), OpenMode::ReadWrite).unwrap();
        file.write_at(&[0xEE; 512], u64::from(at(n).block()) * SIZE as u64 + 1024).unwrap();
        assert!(self.on_disk(n).is_none());
    }

    /// The redo address of the block in its place; `None` when the block is damaged.
    fn on_disk(&self, n: u32) -> Option<u64> {
        let mut image = Image::new(SIZE);
        let (files, _) = (DataFiles::over_control(&self.dir, &self.control), ());
        files.read_block(at(n), image.bytes_mut()).ok().map(|()| image.view().rba())
    }

    /// Damages copy `n` of the batch that begins at `position`.
    fn tear_copy(&self, position: u64, n: usize) {
        let file = File::open(&self.dir.join(DOUBLE_WRITE_FILE), OpenMode::ReadWrite).unwrap();
        file.write_at(&[0xEE; 512], 4096 + position + 4096 + (n * SIZE) as u64 + 1024).unwrap();
    }
}

#[test]
fn torn_blocks_get_their_newest_copy_and_whole_ones_stay() {
    let w = World::new();
    w.write(1000, &[(1, 1100), (2, 1110), (3, 1120)]);
    w.write(1000, &[(1, 1300), (4, 1310)]);
    for n in [1, 2] {
        w.tear(n);
    }
    // A block that is newer than its copy is not restored.
    w.files.write_block(at(3), image(3, 2000).bytes()).unwrap();
    // The device may have lost a write that the system shows: with `again` block 4 is written again.
    assert_eq!(w.restore(false), Restored { torn: 2, again: 0, newest: 1310 });
    assert_eq!([1, 2, 3, 4].map(|n| w.on_disk(n)), [Some(1300), Some(1110), Some(2000), Some(1310)]);
    w.files.write_block(at(4), image(4, 1050).bytes()).unwrap();
    assert_eq!(w.restore(true), Restored { torn: 0, again: 3, newest: 1310 });
    assert_eq!([1, 2, 3, 4].map(|n| w.on_disk(n)), [Some(1300), Some(1110), Some(2000), Some(1310)]);
}

#[test]
fn a_block_that_has_no_good_copy_stays_torn() {
    let mut w = World::new();
    w.write(1000, &[(1, 1100), (2, 1110)]);
    let second = 4096 + 2 * SIZE as u64;
    w.write(1000, &[(1, 1200), (3, 1210)]);
    w.tear_copy(second, 0);
    w.tear_copy(second, 1);
    for n in [1, 3] {
        w.tear(n);
    }
    // The newest copy is torn, so its block was not written in place: the block there has the previous version.
    assert_eq!(w.restore(false), Restored { torn: 1, again: 0, newest: 1110 });
    assert_eq!((w.on_disk(1), w.on_disk(3)), (Some(1100), None));
    // After a checkpoint, copies from before its announcement are obsolete.
    w.control.checkpoint.rba = 1001;
    w.tear(1);
    assert_eq!(w.restore(true), Restored::default());
    assert_eq!(w.on_disk(1), None);
}

#[test]
fn copies_of_another_life_incarnation_or_file_do_not_count() {
    let mut w = World::new();
    w.write(1000, &[(1, 1100)]);
    w.tear(1);
    let file = w.control.files.iter_mut().find(|f| f.file == 3).unwrap();
    file.created_rba = 1100;
    assert_eq!(w.restore(true), Restored { newest: 1100, ..Restored::default() });
    w.control.files.iter_mut().for_each(|f| f.created_rba = 0);
    w.control.incarnation.number += 1;
    assert_eq!(w.restore(true), Restored::default());
    w.control.incarnation.number -= 1;
    w.control.double_write = 12;
    assert!(!w.start(13).1, "the control file speaks of another area");
    w.control.double_write = 11;
    assert!(!w.start(14).1, "it is gone");
    assert_eq!(w.on_disk(1), None);
    // An area that was closed is started anew, whatever it contains.
    let mut w = World::new();
    w.write(1000, &[(1, 1100)]);
    w.control.clean = true;
    assert!(!w.start(15).1);
}

#[test]
fn a_full_area_is_written_over_behind_a_sync_of_the_data_files_only() {
    let w = World::new();
    let (_, bytes) = w.files.double_write_file().unwrap();
    let batches = (bytes - 4096) / BATCH;
    assert!(batches >= 8);
    let batch = |rba: u64| -> Vec<(u32, u64)> { (0..COVER_MAX as u32).map(|n| (n, rba)).collect() };
    let images: Vec<Image> = batch(5000).iter().map(|(n, rba)| image(*n, *rba)).collect();
    let blocks: Vec<&[u8]> = images.iter().map(Image::bytes).collect();
    // Another process has not written its batch in place.
    let busy = w.files.cover(1, 1000, &blocks, &mut || Ok(())).unwrap();
    for n in 1..batches {
        w.write(1000, &batch(6000 + n));
    }
    let mut pauses = 0;
    let refused = w.files.cover(0, 1000, &blocks, &mut || {
        pauses += 1;
        if pauses < 3 { Ok(()) } else { Err(types::Ora::new(1013)) }
    });
    assert!(refused.err().unwrap().is(1013));
    assert_eq!(pauses, 3, "nobody can write over what is not in place");
    busy.done();
    for n in 0..3 * batches {
        w.write(1000, &batch(7000 + n));
    }
    // The ring was written three times over; the newest copies are valid.
    w.tear(5);
    assert_eq!(w.restore(false).torn, 1);
    assert_eq!(w.on_disk(5), Some(7000 + 3 * batches - 1));
    // A start continues behind them, and syncs before it overwrites them.
    let (files, goes_on) = w.start(99);
    assert!(goes_on);
    for _ in 0..2 * batches {
        files.cover(0, 1000, &blocks, &mut || Ok(())).unwrap().done();
    }
}

/// A process reserves space in the ring and dies before its batch is on the device, or power is lost then; meanwhile
/// others have written behind it.
#[test]
fn batches_inside_an_older_one_are_found_whose_head_was_not_written_over() {
    let w = World::new();
    let batch = |rba: u64| -> Vec<(u32, u64)> { (0..COVER_MAX as u32).map(|n| (n, rba)).collect() };
    let (path, bytes) = w.files.double_write_file().unwrap();
    let path = path.to_owned();
    for n in 0..(bytes - 4096) / BATCH {
        w.write(1000, &batch(6000 + n));
    }
    // The ring is full, so the next batch begins at its start.
    let mut head = [0; 4096];
    let file = File::open(&path, OpenMode::ReadWrite).unwrap();
    file.read_at(&mut head, 4096).unwrap();
    w.write(1000, &[(7, 7000)]);
    w.write(1000, &[(8, 7010), (9, 7020)]);
    file.write_at(&head, 4096).unwrap();
    for n in [8, 9] {
        w.tear(n);
    }
    assert_eq!(w.restore(false), Restored { torn: 2, again: 0, newest: 7020 });
    assert_eq!([8, 9].map(|n| w.on_disk(n)), [Some(7010), Some(7020)]);
    // A start continues behind the newest batch.
    let (files, _) = w.start(99);
    assert!(files.double_write_used() > bytes);
}

#[test]
fn batches_that_could_not_be_written_in_place_are_kept_until_a_checkpoint() {
    let w = World::new();
    let (_, bytes) = w.files.double_write_file().unwrap();
    let images: Vec<Image> = (0..COVER_MAX as u32).map(|n| image(n, 1100)).collect();
    let blocks: Vec<&[u8]> = images.iter().map(Image::bytes).collect();
    drop(w.files.cover(0, 1000, &blocks, &mut || Ok(())).unwrap());
    let kept = w.files.covers_kept();
    let all = || {
        for _ in 0..2 * (bytes - 4096) / BATCH {
            w.files.cover(0, 1000, &blocks, &mut || Ok(()))?.done();
        }
        Ok(())
    };
    let full: types::Result<()> = all();
    assert_eq!(full.unwrap_err().code(), 63);
    w.files.settle_covers(kept + (1 << 48));
    assert_eq!(w.files.covers_kept(), kept, "another one came in between");
    w.files.settle_covers(kept);
    all().unwrap();
}

#[test]
fn what_a_dead_process_was_writing_is_written_for_it() {
    let w = World::new();
    let images: Vec<Image> = (0..4).map(|n| image(n, 1100)).collect();
    let blocks: Vec<&[u8]> = images.iter().map(Image::bytes).collect();
    std::mem::forget(w.files.cover(2, 1000, &blocks, &mut || Ok(())).unwrap());
    for n in 0..4 {
        w.files.write_block(at(n), image(n, 1050).bytes()).unwrap();
    }
    w.tear(1);
    // Block 3 is not marked any more: another process may be writing it.
    w.files.finish_cover(2, &mut |rdba| rdba != at(3));
    assert_eq!([0, 1, 2, 3].map(|n| w.on_disk(n)), [Some(1100), Some(1100), Some(1100), Some(1050)]);
    // The slot is free; a second call does nothing.
    w.files.write_block(at(0), image(0, 1200).bytes()).unwrap();
    w.files.finish_cover(2, &mut |_| true);
    assert_eq!(w.on_disk(0), Some(1200));
    assert_eq!(w.files.covers_kept(), 0);
}

#[test]
fn an_area_with_any_bytes_gives_back_no_block_that_does_not_check() {
    let w = World::new();
    w.write(1000, &[(1, 1100), (2, 1110)]);
    let path = w.dir.join(DOUBLE_WRITE_FILE);
    let whole = std::fs::read(&path).unwrap();
    let mut numbers = Random::new(7);
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            let random = numbers.next();
            let place = 4096 + (random >> 20) as usize % (4096 + 2 * SIZE);
            bytes[place] = (random >> 8) as u8;
        }
        std::fs::write(&path, &bytes).unwrap();
        w.tear(1);
        let _ = w.restore(true);
        assert!([None, Some(1100)].contains(&w.on_disk(1)));
        w.files.write_block(at(1), image(1, 1100).bytes()).unwrap();
    }
}
