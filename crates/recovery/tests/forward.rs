//! The roll forward against a model: random changes of random blocks, a crash that left any mixture of old and new
//! blocks in the files, and recovery, which must produce the blocks of the model.

use block::{BlockKind, Image};
use buffer_cache::op;
use datafile::{CreateDatabase, DataFiles};
use proptest::prelude::*;
use recovery::{Forward, Outcome, Until, Workers, roll_forward};
use redo::{ApplyTable, ChangeVector, LOG_HEADER_BYTES, Layer, LogHeader, LogId, LogReader, Place, Rba, RecordWriter};
use std::collections::{HashMap, HashSet};
use testing::Folder;
use types::{ObjectId, Rdba, Result, Scn};

const SIZE: usize = 2048;
const FIRST: u64 = 4096;
const LOG: LogId = LogId { incarnation: 1, sequence: 1 };

/// Sets byte `data[0] as index` to `data[1]`, or refuses.
fn set(block: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    match code {
        1 => {
            block[100 + usize::from(data[0])] = data[1];
            Ok(())
        }
        _ => Err(types::Ora::internal("no such operation")),
    }
}

fn apply() -> ApplyTable {
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    table.register(Layer::Test, set);
    table
}

/// Files, a growing log, and the expected blocks.
struct World {
    dir: Folder,
    files: DataFiles,
    log: Vec<u8>,
    at: u64,
    scn: u64,
    model: HashMap<Rdba, Image>,
}

impl World {
    fn new() -> World {
        let dir = Folder::new("forward");
        let files = DataFiles::create(&dir, &CreateDatabase::usual("T", 7, SIZE)).unwrap();
        World { dir, files, log: Vec::new(), at: FIRST, scn: 10, model: HashMap::new() }
    }

    fn image(&mut self, at: Rdba) -> &mut Image {
        self.model.entry(at).or_insert_with(|| Image::new(SIZE))
    }

    /// Writes a record of these vectors and applies them to the model.
    fn record(&mut self, vectors: &[(Rdba, Layer, u8, Vec<u8>)]) {
        let mut writer = RecordWriter::new();
        let table = apply();
        self.scn += 1;
        for (rdba, layer, op, data) in vectors {
            let cv = ChangeVector { rdba: *rdba, layer: *layer, op: *op, data };
            writer.push(&cv);
            let _ = table.apply(self.image(*rdba).bytes_mut(), &cv);
        }
        let bytes = writer.finish(&Place::new(Rba(self.at), LOG), Scn(self.scn), self.scn as u32).to_vec();
        self.at += bytes.len() as u64;
        for (rdba, ..) in vectors {
            let at = self.at;
            block::stamp(self.image(*rdba).bytes_mut(), at);
        }
        self.log.extend_from_slice(&bytes);
    }

    /// Makes a block whole, with all its bytes.
    fn make(&mut self, at: Rdba) {
        let [zero, format] = World::making(at);
        self.record(&[zero, format]);
    }

    /// A record that changes a block, makes it whole and changes it again, besides another block.
    fn make_amid(&mut self, at: Rdba, beside: Rdba, value: u8) {
        let set = |at: Rdba, index: u8| (at, Layer::Test, 1, vec![index, value]);
        let [zero, format] = World::making(at);
        self.record(&[set(at, 1), set(beside, 2), zero, format, set(at, 3)]);
    }

    /// A record that replaces a block by its image.
    fn image_of(&mut self, at: Rdba) {
        let mut data = vec![0; 4];
        data.extend_from_slice(self.image(at).bytes());
        self.record(&[(at, Layer::Block, op::IMAGE, data)]);
    }

    fn making(at: Rdba) -> [(Rdba, Layer, u8, Vec<u8>); 2] {
        let mut data = vec![BlockKind::Temporary as u8, 0];
        data.extend_from_slice(&at.0.to_le_bytes());
        data.extend_from_slice(&[5, 0, 0, 0, 0, 0, 0, 0]);
        [(at, Layer::Block, op::ZERO, vec![]), (at, Layer::Block, op::FORMAT, data)]
    }

    fn set(&mut self, blocks: &[Rdba], index: u8, value: u8) {
        let vectors: Vec<_> = blocks.iter().map(|at| (*at, Layer::Test, 1, vec![index, value])).collect();
        self.record(&vectors);
    }

    /// Writes the block as DBWR would at this moment.
    fn write(&mut self, at: Rdba) {
        let files_blocks = self.files.blocks(at.file()).unwrap();
        if at.block() < files_blocks {
            let mut image = self.image(at).clone();
            block::seal(image.bytes_mut());
            self.files.write_block(at, image.bytes()).unwrap();
        }
    }

    /// Writes a block only in part.
    fn write_torn(&mut self, at: Rdba) {
        let mut image = self.image(at).clone();
        block::seal(image.bytes_mut());
        image.bytes_mut()[1500] ^= 1;
        self.files.write_block(at, image.bytes()).unwrap();
    }

    fn log_file(&self) -> std::path::PathBuf {
        let header =
            LogHeader { database: 7, incarnation: 1, sequence: 1, group: 1, start: Rba(FIRST), ..LogHeader::default() };
        let mut bytes = header.to_bytes();
        assert_eq!(bytes.len() as u64, LOG_HEADER_BYTES);
        bytes.extend_from_slice(&self.log);
        bytes.extend_from_slice(&[0; 4096]);
        let path = self.dir.join("redo01.log");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn recover(&self, until: Until, without: &[u32], frames_max: usize) -> Result<Outcome> {
        let mut reader = LogReader::open(&[self.log_file()], 7, 1, Rba(FIRST)).unwrap();
        let table = apply();
        let with = (1..20u32).filter(|n| !without.contains(n));
        let starts = with.map(|n| (n, Rba(0))).collect();
        // Small batches, so that there are several.
        let workers = Workers { count: 3, batch_bytes: 256 };
        let forward = Forward {
            files: &self.files,
            apply: &table,
            starts,
            until,
            announced: Rba(FIRST),
            frames_max,
            workers,
            on_device: true,
        };
        roll_forward(&forward, &mut reader, &mut |_| {})
    }

    fn on_disk(&self, at: Rdba) -> Result<Image> {
        let mut image = Image::new(SIZE);
        self.files.read_block(at, image.bytes_mut())?;
        Ok(image)
    }

    fn assert_as_model(&self) {
        for (at, want) in &self.model {
            let mut want = want.clone();
            block::seal(want.bytes_mut());
            assert!(self.on_disk(*at).unwrap().bytes() == want.bytes(), "block {at}");
        }
    }
}

fn block_of(n: u32) -> Rdba {
    Rdba::new(3, 300 + n)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn files_become_what_the_redo_says(
        steps in prop::collection::vec((0u32..200, 0u32..200, any::<u8>(), any::<u8>(), 0u8..14), 1..400),
        frames in 64usize..300,
        twice in any::<bool>(),
    ) {
        let mut w = World::new();
        let mut made = HashSet::new();
        for (a, b, index, value, then) in steps {
            let (a, b) = (block_of(a), block_of(b));
            for at in [a, b] {
                if made.insert(at) {
                    w.make(at);
                }
            }
            if a == b { w.set(&[a], index, value) } else { w.set(&[a, b], index, value) }
            // Now and then a block goes to disk, whole or torn.
            match then {
                0 | 1 => w.write(a),
                2 => w.write_torn(b),
                // A record that makes a block whole makes earlier changes void.
                3 | 4 => w.make(a),
                5 if a != b => w.make_amid(a, b, value),
                6 => w.image_of(b),
                _ => {}
            }
        }
        let out = w.recover(Until::End, &[], frames).unwrap();
        prop_assert_eq!((out.end.0, out.scn.0, out.stopped), (w.at, w.scn, false));
        prop_assert!(out.damaged.is_empty());
        w.assert_as_model();
        if twice {
            w.recover(Until::End, &[], frames).unwrap();
            w.assert_as_model();
        }
    }
}

#[test]
fn a_roll_forward_stops_where_it_is_told() {
    let mut w = World::new();
    w.make(block_of(1));
    for value in 0..10 {
        w.set(&[block_of(1)], 0, value);
    }
    // The block was made at SCN 11; value n at 12 + n.
    let out = w.recover(Until::Scn(Scn(15)), &[], 100).unwrap();
    assert_eq!((out.scn, out.stopped, w.on_disk(block_of(1)).unwrap().bytes()[100]), (Scn(15), true, 3));
    let out = w.recover(Until::Time(18), &[], 100).unwrap();
    assert_eq!((out.scn, out.stopped, w.on_disk(block_of(1)).unwrap().bytes()[100]), (Scn(17), true, 5));
    let out = w.recover(Until::End, &[], 100).unwrap();
    assert_eq!((out.scn, out.stopped, w.on_disk(block_of(1)).unwrap().bytes()[100]), (Scn(21), false, 9));
    assert_eq!(out.records, 11);
}

#[test]
fn a_block_newer_than_the_record_is_passed_by_and_one_that_cannot_be_read_is_left_damaged() {
    let mut w = World::new();
    let (newer, torn, fine) = (block_of(1), block_of(2), block_of(3));
    for at in [newer, torn, fine] {
        // The content before the redo begins.
        block::format(w.image(at).bytes_mut(), BlockKind::Temporary, at, ObjectId(1), Rdba(0));
        w.write(at);
    }
    w.set(&[newer, torn, fine], 3, 1);
    w.set(&[newer], 3, 2);
    w.write(newer);
    w.write_torn(torn);
    // An operation that does not fit.
    let bad = block_of(4);
    w.make(bad);
    w.record(&[(bad, Layer::Test, 9, vec![])]);
    let out = w.recover(Until::End, &[], 100).unwrap();
    assert_eq!(out.damaged, [torn, bad]);
    assert!([torn, bad].iter().all(|at| w.on_disk(*at).is_err_and(|e| e.is(1578))));
    assert_eq!(w.on_disk(newer).unwrap().bytes()[103], 2);
    assert_eq!(w.on_disk(fine).unwrap().bytes()[103], 1);
    // A vector that makes the whole block repairs it.
    w.make(torn);
    w.set(&[torn], 3, 9);
    let out = w.recover(Until::End, &[], 100).unwrap();
    assert_eq!(out.damaged, [bad]);
    assert_eq!(w.on_disk(torn).unwrap().bytes()[103], 9);
}

#[test]
fn a_dropped_file_is_passed_over_and_a_short_one_grows() {
    let mut w = World::new();
    let (dropped, far) = (Rdba::new(9, 400), Rdba::new(3, 5000));
    w.make(dropped);
    w.make(far);
    w.set(&[dropped, far], 0, 7);
    assert!(w.recover(Until::End, &[], 100).unwrap_err().is(1157));
    let out = w.recover(Until::End, &[9], 100).unwrap();
    assert_eq!(out.blocks_written, 1);
    assert_eq!(w.on_disk(far).unwrap().bytes()[100], 7);
    assert!(w.files.blocks(3).unwrap() > 5000);
}

#[test]
fn the_redo_ends_at_the_first_record_that_does_not_check() {
    let mut w = World::new();
    w.make(block_of(1));
    w.set(&[block_of(1)], 0, 1);
    let (good, end) = (w.log.len(), w.at);
    w.set(&[block_of(1)], 0, 2);
    w.log[good + 30] ^= 1;
    w.set(&[block_of(1)], 0, 3);
    let out = w.recover(Until::End, &[], 100).unwrap();
    assert_eq!((out.end.0, w.on_disk(block_of(1)).unwrap().bytes()[100]), (end, 1));
}
