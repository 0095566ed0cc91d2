//! Applying any redo to any block that passes the check of a read ends with an image or an error, never with a panic.
//!
//! Vectors are random, or have lengths and slots that fit a block. Blocks are of every kind. Half of them have a few
//! wrong bytes; the check of a read must refuse the blocks in which these would do harm. `LATCHWORK_FUZZ=n` runs n
//! times as many cases.

use block::{BlockKind, DataMut, Image, Itl, segment};
use instance::apply_table;
use redo::{ChangeVector, Layer};
use testing::Random;
use types::{ObjectId, Rdba};

const CASES: u64 = 60_000;
const SIZE: usize = 2048;
const AT: Rdba = Rdba(4096 * 1024 + 9);

/// A sound block of some kind, with rows or records in it where the kind has them.
fn block_of(r: &mut Random) -> Image {
    let mut image = Image::new(SIZE);
    let (b, obj, map) = (image.bytes_mut(), ObjectId(7), Rdba(8));
    match r.below(8) {
        0 => block::segment::format_segment(b, AT, obj, map, 2, block::SegmentKind::Table),
        1 => {
            let (segment, list) = (Rdba(3), Rdba(3));
            let new = block::segment::NewMap { segment, list, extent: 0, blocks: 64, used: 3 };
            block::segment::format_map(b, AT, obj, new);
        }
        2 => block::segment::format_bitmap(b, AT, 0, 200, 1000),
        3 => block::undo::format_header(b, AT, obj, map, 20),
        4 => {
            let xid = types::Xid { usn: 1, slot: 2, sqn: 3 };
            block::undo::format(b, AT, obj, map, xid, 4, Rdba(5));
            for _ in 0..r.below(10) {
                let len = r.below(80);
                let _ = block::undo::append(b, &r.bytes(len));
            }
        }
        n => {
            let kind = [BlockKind::Heap, BlockKind::IndexLeaf, BlockKind::IndexBranch][n as usize - 5];
            block::data::format(b, kind, AT, obj, map, 3);
            let mut data = block::DataMut::new(b);
            for slot in 0..r.below(20) {
                let len = r.below(60);
                let _ = data.insert(slot as u16, 0, 0, 0, &r.bytes(len));
            }
        }
    }
    if r.below(2) == 0 {
        for _ in 0..r.below(4) {
            // Mostly in the part with counts and offsets.
            let within = if r.below(3) == 0 { SIZE as u64 } else { 200 };
            let at = r.below(within) as usize;
            image.bytes_mut()[at] = r.next() as u8;
        }
    }
    block::seal(image.bytes_mut());
    image
}

/// Bytes of an operation: noise, or small numbers, as slots and lengths are, and noise behind them.
fn data_of(r: &mut Random) -> Vec<u8> {
    let len = [0, 1, 2, 4, 8, 12, 16, 24, 40, 200, 2048][r.below(11) as usize] + r.below(3);
    let mut data = r.bytes(len);
    if r.below(3) > 0 {
        for word in data.chunks_mut(2).take(8) {
            let small = r.below(40) as u16;
            word.copy_from_slice(&small.to_le_bytes()[..word.len()]);
        }
    }
    data
}

#[test]
fn any_vector_on_any_block_is_borne() {
    let times = std::env::var("LATCHWORK_FUZZ").ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(1);
    let table = apply_table();
    let layers =
        [Layer::Block, Layer::Space, Layer::Undo, Layer::Transaction, Layer::Heap, Layer::Cluster, Layer::Index];
    let (mut applied, mut unfit, mut refused, mut broken) = (0, 0, 0, 0);
    // Panics are caught; thousands of their messages would be of no use.
    std::panic::set_hook(Box::new(|_| ()));
    for seed in 0..CASES * times {
        let mut r = Random::new(seed);
        let (mut image, data) = (block_of(&mut r), data_of(&mut r));
        if block::check(image.bytes(), AT).is_err() {
            refused += 1;
            continue;
        }
        let layer = layers[r.below(layers.len() as u64) as usize];
        let ops = if r.below(4) == 0 { 256 } else { 20 };
        let op = r.below(ops) as u8;
        let cv = ChangeVector { rdba: AT, layer, op, data: &data };
        match table.apply_read(image.bytes_mut(), &cv) {
            Ok(()) => applied += 1,
            Err(_) => unfit += 1,
        }
        // A later read accepts the changed block or refuses it.
        block::seal(image.bytes_mut());
        broken += u64::from(block::check(image.bytes(), AT).is_err());
        assert!(!block::dump(&image.view()).is_empty());
    }
    drop(std::panic::take_hook());
    println!("{applied} vectors fit, {unfit} did not; {refused} blocks were refused before, {broken} after");
    assert!(applied > 0 && unfit > 0 && refused > 0 && broken > 0, "every outcome is seen");
}

/// Applies a vector without recovery's protection against panics; the vector must be refused.
fn refused(image: &mut Image, layer: Layer, op: u8, data: &[u8]) {
    let vector = ChangeVector { rdba: AT, layer, op, data };
    let e = apply_table().apply(image.bytes_mut(), &vector).expect_err("a vector that does not fit");
    assert!(e.is(600), "{e}");
}

#[test]
fn a_block_with_more_transaction_entries_than_it_has_room_for_is_refused() {
    let mut data = vec![BlockKind::Heap as u8, u8::MAX];
    data.extend([0; 12]);
    refused(&mut Image::new(SIZE), Layer::Block, 1, &data);
}

#[test]
fn an_undo_header_with_more_slots_than_it_has_room_for_is_refused() {
    let mut data = vec![0; 12];
    data.extend(u16::MAX.to_le_bytes());
    // FORMAT_HEADER
    refused(&mut Image::new(SIZE), Layer::Undo, 7, &data);
}

#[test]
fn an_extent_that_makes_a_segment_longer_than_any_is_refused() {
    let mut image = Image::new(SIZE);
    segment::format_segment(image.bytes_mut(), AT, ObjectId(7), Rdba(8), 2, block::SegmentKind::Table);
    let extent_of = |blocks: u32| -> Vec<u8> { [9, blocks].iter().flat_map(|n| n.to_le_bytes()).collect() };
    // ADD_EXTENT. The number of blocks of an extent has 30 bits, that of a segment 32.
    let longest = extent_of((1 << 30) - 1);
    refused(&mut image, Layer::Space, 2, &extent_of(1 << 30));
    for _ in 0..4 {
        let vector = ChangeVector { rdba: AT, layer: Layer::Space, op: 2, data: &longest };
        apply_table().apply(image.bytes_mut(), &vector).expect("the segment has room for it");
    }
    refused(&mut image, Layer::Space, 2, &longest);
}

#[test]
fn an_entry_that_locks_more_rows_than_it_can_count_is_refused() {
    let mut image = Image::new(SIZE);
    block::data::format(image.bytes_mut(), BlockKind::Heap, AT, ObjectId(7), Rdba(8), 2);
    DataMut::new(image.bytes_mut()).set_itl(1, &Itl { locks: u16::MAX, ..Itl::default() }).expect("an entry");
    // PUT of a row in directory entry 0 that entry 1 locks
    let row = [0, 0, 0, 1, 0, 0, b'r'];
    refused(&mut image, Layer::Heap, heap::ops::PUT, &row);
}

#[test]
fn credit_for_rows_that_shrink_again_and_again_does_not_start_anew() {
    let mut image = Image::new(SIZE);
    block::data::format(image.bytes_mut(), BlockKind::Heap, AT, ObjectId(7), Rdba(8), 2);
    let table = apply_table();
    let mut put = |len: usize| {
        let row = [&[0, 0, 0, 1, 0, 0][..], &vec![b'r'; len]].concat();
        let vector = ChangeVector { rdba: AT, layer: Layer::Heap, op: heap::ops::PUT, data: &row };
        table.apply(image.bytes_mut(), &vector).expect("room");
    };
    for _ in 0..70 {
        put(1000);
        put(1);
    }
    let credit = block::Data::new(image.view()).itl(1).expect("an entry").credit;
    assert_eq!(credit, u16::MAX, "70 times 999 bytes are more than the count has room for");
}
