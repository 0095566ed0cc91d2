//! The mutators against plain models.

use block::data::{Data, DataMut, Itl, itl_flags};
use block::{BlockKind, BlockState, Extent, Image, Refused, SegmentKind, segment, undo};
use proptest::prelude::*;
use std::collections::BTreeMap;
use types::{ObjectId, Rdba, Scn, Uba, Xid};

#[derive(Clone, Debug)]
enum Op {
    Insert(u16, Vec<u8>),
    Replace(u16, Vec<u8>),
    Remove(u16),
    SetRow(u16, u8),
    AddItl,
    Compact,
    Trim,
}

fn op() -> impl Strategy<Value = Op> {
    let body = || prop::collection::vec(any::<u8>(), 0..220);
    prop_oneof![
        4 => (0u16..30, body()).prop_map(|(s, b)| Op::Insert(s, b)),
        3 => (0u16..30, body()).prop_map(|(s, b)| Op::Replace(s, b)),
        2 => (0u16..30).prop_map(Op::Remove),
        1 => (0u16..30, any::<u8>()).prop_map(|(s, f)| Op::SetRow(s, f)),
        1 => Just(Op::AddItl),
        1 => Just(Op::Compact),
        1 => Just(Op::Trim),
    ]
}

fn fresh(kind: BlockKind) -> Image {
    let mut image = Image::new(2048);
    block::data::format(image.bytes_mut(), kind, Rdba(9), ObjectId(1), Rdba(8), 2);
    image
}

fn rows_of(image: &Image) -> BTreeMap<u16, (u8, Vec<u8>)> {
    let view = image.view();
    let body = |r: &block::RowAt| {
        let mut b = Vec::new();
        view.append_to(r.at, r.len, &mut b);
        b
    };
    Data::new(view).rows().map(|(s, r)| (s, (r.flags, body(&r)))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn rows_against_a_map(ops in prop::collection::vec(op(), 1..80)) {
        let mut image = fresh(BlockKind::Heap);
        let (mut model, mut slots) = (BTreeMap::<u16, (u8, Vec<u8>)>::new(), 0u16);
        for op in ops {
            let free = Data::new(image.view()).free_bytes();
            let mut data = DataMut::new(image.bytes_mut());
            match op {
                Op::Insert(s, b) => {
                    let (known, new) = (model.contains_key(&s) || s > slots, s == slots);
                    let done = data.insert(s, 1, 0, 7, &b);
                    let fits = free >= b.len() + 6 + if new { 2 } else { 0 };
                    let want = if known { Err(Refused::NoSuch) } else if fits { Ok(()) } else { Err(Refused::Full) };
                    prop_assert_eq!(done, want);
                    if done.is_ok() {
                        slots = slots.max(s + 1);
                        model.insert(s, (1, b));
                    }
                }
                Op::Replace(s, b) => {
                    let done = data.replace(s, 2, 0, 7, &b);
                    match model.get_mut(&s) {
                        None => prop_assert_eq!(done, Err(Refused::NoSuch)),
                        Some(old) => {
                            let fits = b.len() <= old.1.len() + free;
                            prop_assert_eq!(done, if fits { Ok(()) } else { Err(Refused::Full) });
                            if fits {
                                *old = (2, b);
                            }
                        }
                    }
                }
                Op::Remove(s) => prop_assert_eq!(data.remove(s).is_ok(), model.remove(&s).is_some()),
                Op::SetRow(s, f) => {
                    prop_assert_eq!(data.set_row(s, f, 0).is_ok(), model.contains_key(&s));
                    model.entry(s).and_modify(|r| r.0 = f);
                }
                Op::AddItl => prop_assert_eq!(data.add_itl().is_ok(), free >= 32),
                Op::Compact => data.compact(),
                Op::Trim => {
                    data.trim_directory();
                    slots = model.keys().next_back().map_or(0, |s| s + 1);
                }
            }
            prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
            prop_assert_eq!(&rows_of(&image), &model);
        }
    }

    #[test]
    fn a_sorted_directory_against_a_vector(ops in prop::collection::vec((any::<bool>(), any::<u16>(), 0usize..80), 1..80)) {
        let mut image = fresh(BlockKind::IndexLeaf);
        let mut model: Vec<Vec<u8>> = Vec::new();
        for (insert, at, len) in ops {
            let mut data = DataMut::new(image.bytes_mut());
            if insert || model.is_empty() {
                let at = usize::from(at) % (model.len() + 1);
                let body = vec![at as u8; len];
                if data.insert_sorted(at as u16, 0, 0, 0, &body).is_ok() {
                    model.insert(at, body);
                }
            } else {
                let at = usize::from(at) % model.len();
                data.remove_sorted(at as u16).unwrap();
                model.remove(at);
            }
            prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
            let rows: Vec<Vec<u8>> = rows_of(&image).into_values().map(|r| r.1).collect();
            prop_assert_eq!(&rows, &model);
        }
    }

    #[test]
    fn many_sorted_rows_go_in_as_one_after_the_other(
        old in prop::collection::vec(prop::collection::vec(any::<u8>(), 8..40), 0..20),
        new in prop::collection::btree_map(0u16..40, prop::collection::vec(any::<u8>(), 8..90), 0..20),
        cut in 0usize..20,
    ) {
        let mut image = fresh(BlockKind::IndexLeaf);
        let mut data = DataMut::new(image.bytes_mut());
        for (n, body) in old.iter().enumerate() {
            data.insert_sorted(n as u16, 3, 0, n as u16, body).unwrap();
        }
        // Holes, so that the block must be compacted.
        for _ in 0..cut.min(old.len()) {
            data.remove_sorted(0).unwrap();
        }
        let mut single = image.clone();
        let (mut rows, mut bodies, mut fits) = (Vec::new(), Vec::new(), true);
        for (&position, body) in &new {
            let slots = Data::new(single.view()).slots();
            let position = position.min((slots) as u16);
            if rows.last().is_some_and(|last: &block::data::NewRow| position <= last.position) {
                continue;
            }
            fits &= DataMut::new(single.bytes_mut()).insert_sorted(position, 0, 0, 9, body).is_ok();
            if !fits {
                break;
            }
            bodies.extend_from_slice(body);
            rows.push(block::data::NewRow { position, extra: 9, end: bodies.len() as u32 });
        }
        if fits {
            let mut data = DataMut::new(image.bytes_mut());
            prop_assert_eq!(data.insert_each_sorted(&rows, &bodies), Ok(()));
            prop_assert_eq!(rows_of(&image), rows_of(&single));
            if let Some(last) = rows.last() {
                DataMut::new(image.bytes_mut()).set_row_and_tail(last.position, 5, 0, &[7; 8]).unwrap();
                let (flags, body) = rows_of(&image).remove(&last.position).unwrap();
                prop_assert_eq!(flags, 5);
                prop_assert!(body.ends_with(&[7; 8]));
            }
            prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        }
    }

    #[test]
    fn rows_are_appended_as_they_are_inserted(
        old in prop::collection::vec(prop::collection::vec(any::<u8>(), 8..40), 0..20),
        new in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)), 0..30),
        cut in 0u16..20,
    ) {
        let mut image = fresh(BlockKind::Heap);
        let mut data = DataMut::new(image.bytes_mut());
        for (n, body) in old.iter().enumerate() {
            data.insert(n as u16, 3, 0, n as u16, body).unwrap();
        }
        for slot in 0..cut.min(old.len() as u16) {
            data.remove(slot).unwrap();
        }
        let mut single = image.clone();
        let mut data = DataMut::new(image.bytes_mut());
        let mut rows = data.append_rows();
        let (mut done, mut stopped) = (Vec::new(), false);
        for (behind, body) in &new {
            let slot = (old.len() + done.len() + usize::from(!behind)) as u16;
            if rows.push(slot, 5, 1, 9, body) {
                prop_assert!(behind, "an entry that leaves one out");
                done.push((slot, body));
            } else {
                stopped |= *behind;
            }
        }
        rows.finish();
        for (slot, body) in &done {
            DataMut::new(single.bytes_mut()).insert(*slot, 5, 1, 9, body).unwrap();
        }
        prop_assert_eq!(rows_of(&image), rows_of(&single));
        prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        prop_assert_eq!(Data::new(image.view()).free_bytes(), Data::new(single.view()).free_bytes());
        prop_assert!(stopped || done.len() == new.iter().filter(|(behind, _)| *behind).count());
    }

    #[test]
    fn undo_records_come_back(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..60), keep in 0usize..60) {
        let mut image = Image::new(2048);
        undo::format(image.bytes_mut(), Rdba(9), ObjectId(0), Rdba(8), Xid { usn: 1, slot: 2, sqn: 3 }, 7, Rdba(5));
        let mut model = Vec::new();
        for r in records {
            let free = undo::UndoView::new(image.view()).free_bytes();
            let done = undo::append(image.bytes_mut(), &r);
            prop_assert_eq!(done.is_ok(), free >= r.len().max(1));
            if done.is_ok() {
                model.push(r);
            }
            prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        }
        if keep <= model.len() {
            undo::truncate(image.bytes_mut(), keep as u8).unwrap();
            model.truncate(keep);
        }
        let u = undo::UndoView::new(image.view());
        prop_assert_eq!(usize::from(u.records()), model.len());
        for (n, want) in model.iter().enumerate() {
            let (at, len) = u.record(n as u8).unwrap();
            let mut got = Vec::new();
            u.view.append_to(at, len, &mut got);
            prop_assert_eq!(&got, want);
        }
    }

    #[test]
    fn a_bitmap_gives_runs_that_were_free(ops in prop::collection::vec((1u32..40, any::<bool>()), 1..60)) {
        let mut image = Image::new(2048);
        segment::format_bitmap(image.bytes_mut(), Rdba(1), 0, 300, 2500);
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for (n, give_back) in ops {
            if give_back && !taken.is_empty() {
                let (at, n) = taken.swap_remove(n as usize % taken.len());
                segment::set_units(image.bytes_mut(), at, n, false).unwrap();
                prop_assert_eq!(segment::set_units(image.bytes_mut(), at, n, false), Err(Refused::NoSuch));
            } else if let Some(at) = segment::BitmapView::new(image.view()).find(n, 280) {
                prop_assert!(at + n <= 280);
                prop_assert!(taken.iter().all(|(a, k)| at + n <= *a || a + k <= at));
                segment::set_units(image.bytes_mut(), at, n, true).unwrap();
                taken.push((at, n));
            }
            prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        }
    }
}

#[test]
fn the_clean_shortcut_follows_the_transactions() {
    let mut image = fresh(BlockKind::Heap);
    let mut data = DataMut::new(image.bytes_mut());
    assert_eq!(data.read().accept_scn(), Scn(0));
    let active =
        Itl { xid: Xid { usn: 1, slot: 1, sqn: 1 }, uba: Uba { rdba: Rdba(4), seq: 1, rec: 0 }, ..Itl::default() };
    data.set_itl(1, &active).unwrap();
    assert_eq!(data.read().accept_scn(), Scn::MAX);
    data.set_itl(1, &Itl { flags: itl_flags::COMMITTED, scn: Scn(50), ..active }).unwrap();
    assert_eq!(data.read().accept_scn(), Scn(50));
    // Another transaction takes the slot and rolls back: the commit SCN of the earlier one must be kept.
    data.set_itl(1, &Itl { xid: Xid { usn: 1, slot: 2, sqn: 1 }, ..active }).unwrap();
    data.set_itl(1, &Itl::default()).unwrap();
    assert_eq!(data.read().accept_scn(), Scn(50));
    assert_eq!(data.set_itl(3, &active), Err(Refused::NoSuch));
    assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
}

#[test]
fn what_others_may_need_to_roll_back_is_not_given_away() {
    let mut image = fresh(BlockKind::Heap);
    let mut data = DataMut::new(image.bytes_mut());
    let free = data.read().free_bytes();
    let active = Itl { xid: Xid { usn: 1, slot: 1, sqn: 1 }, credit: 100, ..Itl::default() };
    data.set_itl(2, &active).unwrap();
    assert_eq!(data.read().usable_bytes(1), free - 100);
    assert_eq!(data.read().usable_bytes(2), free);
    data.set_itl(2, &Itl { flags: itl_flags::COMMITTED, scn: Scn(3), ..active }).unwrap();
    assert_eq!(data.read().usable_bytes(1), free);
}

#[test]
fn extents_and_states_are_kept() {
    let (mut header, mut map, mut further) = (Image::new(2048), Image::new(2048), Image::new(2048));
    segment::format_segment(header.bytes_mut(), Rdba(16), ObjectId(3), Rdba(17), 2, SegmentKind::Table);
    let extent = |n: u32| Extent { start: Rdba(16 + 8 * n), blocks: 8 };
    let listed = segment::extents_in_header(2048);
    for n in 0..listed {
        segment::add_extent(header.bytes_mut(), extent(n)).unwrap();
    }
    assert_eq!(block::assert_invariants(header.bytes()), Ok(()));
    // The next extent goes to an extent map.
    let at = Rdba(extent(listed).start.0 + 1);
    assert!(segment::begins_map(2048, listed) && !segment::begins_map(2048, listed + 1));
    segment::add_extent(header.bytes_mut(), extent(listed)).unwrap();
    segment::set_next_map(header.bytes_mut(), at).unwrap();
    segment::format_extent_map(further.bytes_mut(), at, ObjectId(3), extent(listed).start, Rdba(16), listed);
    segment::add_to_map(further.bytes_mut(), extent(listed)).unwrap();
    let s = segment::SegmentView::new(header.view());
    assert_eq!((s.extent(listed), s.extents(), s.next_map()), (None, listed + 1, at));
    assert_eq!(segment::ExtentMapView::new(further.view()).extent(listed), Some(extent(listed)));
    assert_eq!(block::assert_invariants(header.bytes()), Ok(()));
    assert_eq!(block::assert_invariants(further.bytes()), Ok(()));
    (1..segment::extents_in_map(2048)).for_each(|n| segment::add_to_map(further.bytes_mut(), extent(n)).unwrap());
    assert_eq!(segment::add_to_map(further.bytes_mut(), extent(0)), Err(Refused::Full));
    segment::drop_from_map(further.bytes_mut()).unwrap();
    segment::drop_extent(header.bytes_mut(), 8).unwrap();
    segment::set_next_map(header.bytes_mut(), Rdba::NONE).unwrap();
    assert_eq!(segment::drop_extent(header.bytes_mut(), 128), Err(Refused::NoSuch), "of another size");
    segment::drop_extent(header.bytes_mut(), 8).unwrap();
    let s = segment::SegmentView::new(header.view());
    assert_eq!((s.extent(3), s.extents(), s.tablespace()), (Some(extent(3)), listed - 1, 2));
    assert_eq!(block::assert_invariants(header.bytes()), Ok(()));

    segment::format_map(
        map.bytes_mut(),
        Rdba(17),
        ObjectId(3),
        segment::NewMap { segment: Rdba(16), list: Rdba(16), extent: 0, blocks: 8, used: 2 },
    );
    let find = |m: &Image| segment::MapView::new(m.view()).find(0, |s| s == BlockState::Free);
    assert_eq!(find(&map), Some(2));
    segment::set_state(map.bytes_mut(), 2, BlockState::Full).unwrap();
    assert_eq!((find(&map), segment::MapView::new(map.view()).with_room()), (Some(3), 5));
    assert_eq!(segment::set_state(map.bytes_mut(), 8, BlockState::Full), Err(Refused::NoSuch));
    assert_eq!(block::assert_invariants(map.bytes()), Ok(()));
}

#[test]
fn room_is_found_behind_long_runs_of_full_blocks() {
    let mut map = Image::new(2048);
    let blocks = segment::extent_blocks_max(2048);
    segment::format_map(
        map.bytes_mut(),
        Rdba(17),
        ObjectId(3),
        segment::NewMap { segment: Rdba(16), list: Rdba(16), extent: 1, blocks, used: 1 },
    );
    for i in 1..blocks {
        segment::set_state(map.bytes_mut(), i, if i % 2 == 0 { BlockState::Full } else { BlockState::Used }).unwrap();
    }
    assert_eq!(segment::MapView::new(map.view()).find_room(5), None);
    for (free, state) in [(blocks - 1, BlockState::Free), (777, BlockState::Room), (3, BlockState::Free)] {
        segment::set_state(map.bytes_mut(), free, state).unwrap();
        for from in [0, 1, free, free + 1, 2000, blocks, u32::MAX] {
            let m = segment::MapView::new(map.view());
            assert_eq!(m.find_room(from), m.find(from, |s| matches!(s, BlockState::Free | BlockState::Room)), "{from}");
        }
    }
    assert_eq!(block::assert_invariants(map.bytes()), Ok(()));
}
