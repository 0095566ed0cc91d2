//! Readers return for any bytes: they neither panic nor loop.

use block::data::Data;
use block::segment::{BitmapView, MapView, SegmentView};
use block::undo::{UndoHeaderView, UndoView};
use block::{BlockView, Image, file};
use proptest::prelude::*;

fn read_everything(view: BlockView<'_>) {
    let d = Data::new(view);
    let mut bytes = Vec::new();
    for (slot, row) in d.rows() {
        assert!(row.at + row.len <= view.len());
        assert_eq!(d.row(slot.into()), Some(row));
        bytes.clear();
        view.append_to(row.at, row.len, &mut bytes);
        assert_eq!(bytes.len(), row.len);
        assert_eq!(view.compare(row.at, row.len, &bytes), std::cmp::Ordering::Equal);
    }
    let _ = (d.itls(), d.itl(0), d.itl(1), d.itl(255), d.first_free_slot(), d.usable_bytes(1), d.next(), d.prev());
    let u = UndoView::new(view);
    for rec in 0..=u8::MAX {
        if let Some((at, len)) = u.record(rec) {
            assert!(at + len <= view.len());
        }
    }
    let _ = (u.free_bytes(), u.xid());
    let h = UndoHeaderView::new(view);
    [0, h.slots() / 2, h.slots(), u16::MAX]
        .into_iter()
        .for_each(|slot| assert_eq!(h.tx(slot).is_some(), slot < h.slots()));
    let s = SegmentView::new(view);
    (0..s.listed()).for_each(|n| assert!(s.extent(n).is_some()));
    let x = block::segment::ExtentMapView::new(view);
    let _ = (x.extent(0), x.extent(u32::MAX), x.extent(x.first()), x.next_map());
    let m = MapView::new(view);
    let _ = (m.find_room(0), m.find_room(u32::MAX), m.find_room(m.blocks() / 2));
    let _ = (m.find(u32::MAX, |s| s == block::BlockState::Room), m.state(u32::MAX));
    let b = BitmapView::new(view);
    let _ = (b.find(3, u32::MAX), b.is_used(u32::MAX));
    let _ = file::read(&view);
    assert!(!block::dump(&view).is_empty());
}

/// Changes a block in every way; refused changes are ignored.
fn change_everything(image: &mut Image, seed: u8) {
    let kind = image.view().kind();
    let (b, slot) = (image.bytes_mut(), u16::from(seed % 24));
    match kind {
        Some(k) if k.has_rows() => {
            let itl = block::Itl { locks: 3, ..block::Itl::default() };
            let mut d = block::DataMut::new(b);
            let _ = d.set_itl(seed, &itl);
            let _ = d.insert(slot, 1, 0, 0, &[7; 200]);
            let _ = d.insert_sorted(slot, 1, 0, 0, &[7; 90]);
            let _ = (d.set_row(slot, 3, 0), d.patch(slot, 5, &[1; 20]));
            let _ = d.replace(slot, 1, 0, 0, &[8; 300]);
            let _ = (d.add_itl(), d.remove(slot + 1), d.remove_sorted(slot));
            d.trim_directory();
            d.compact();
        }
        Some(block::BlockKind::Undo) => {
            let _ =
                (block::undo::append(b, &[3; 60]), block::undo::truncate(b, seed), block::undo::append(b, &[3; 900]));
        }
        Some(block::BlockKind::UndoHeader) => {
            let _ = block::undo::set_tx(b, slot, &block::undo::TxSlot::default());
        }
        Some(block::BlockKind::SegmentHeader) => {
            let _ = block::segment::add_extent(b, block::Extent { start: types::Rdba(8), blocks: 8 });
            let _ = (block::segment::drop_extent(b, 8), block::segment::drop_extent(b, u32::MAX));
        }
        Some(block::BlockKind::SpaceMap) => {
            let _ = block::segment::set_state(b, u32::from(slot), block::BlockState::Used);
            let _ = block::segment::set_state(b, u32::MAX, block::BlockState::Free);
        }
        Some(block::BlockKind::FileBitmap) => {
            let _ = block::segment::set_units(b, u32::from(slot), 4, true);
            let _ = block::segment::set_units(b, u32::MAX, 2, false);
        }
        _ => {}
    }
    block::close_hole(b);
    read_everything(image.view());
}

/// True when a block with these contents and a correct checksum passes the check at its own address.
fn passes(image: &Image) -> bool {
    let mut sealed = image.clone();
    block::seal(sealed.bytes_mut());
    block::check(sealed.bytes(), image.view().rdba()).is_ok()
}

fn with_wrong_bytes(image: &mut Image, wrong: &[(usize, u8)], seed: u8) {
    for (at, byte) in wrong {
        image.bytes_mut()[*at] = *byte;
    }
    read_everything(image.view());
    let _ = block::assert_invariants(image.bytes());
    if passes(image) {
        change_everything(image, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 2048), kind in 0u8..14) {
        let mut image = Image::new(2048);
        image.bytes_mut().copy_from_slice(&bytes);
        image.bytes_mut()[..4].copy_from_slice(&[kind, block::FORMAT_VERSION, 0, 11]);
        read_everything(image.view());
        let _ = block::assert_invariants(image.bytes());
        if passes(&image) {
            change_everything(&mut image, bytes[7]);
        }
    }

    #[test]
    fn what_passes_can_be_changed(
        kind in 0u8..6,
        wrong in prop::collection::vec((32usize..100, any::<u8>()), 0..4),
        seed in any::<u8>(),
    ) {
        use block::{BlockKind, segment, undo};
        use types::{ObjectId, Rdba};
        let mut image = Image::new(2048);
        let (b, at, obj) = (image.bytes_mut(), Rdba(9), ObjectId(1));
        match kind {
            0 => {
                undo::format(b, at, obj, Rdba(8), types::Xid::default(), 1, Rdba(0));
                for n in 0..seed % 20 {
                    let _ = undo::append(b, &vec![n; usize::from(n) + 1]);
                }
            }
            1 => undo::format_header(b, at, obj, Rdba(8), 40),
            2 => segment::format_segment(b, at, obj, Rdba(8), 2, block::SegmentKind::Table),
            3 => segment::format_map(b, at, obj, segment::NewMap { segment: Rdba(8), list: Rdba(8), extent: 0, blocks: 128, used: 2 }),
            4 => segment::format_bitmap(b, at, 0, 500, 4000),
            _ => block::data::format(b, BlockKind::IndexLeaf, at, obj, Rdba(8), 2),
        }
        prop_assert!(passes(&image));
        with_wrong_bytes(&mut image, &wrong, seed);
    }

    #[test]
    fn sound_blocks_with_a_few_wrong_bytes(
        rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
        wrong in prop::collection::vec((prop_oneof![0usize..200, 0usize..2048], any::<u8>()), 1..12),
        seed in any::<u8>(),
    ) {
        let mut image = Image::new(2048);
        let (at, obj, map) = (types::Rdba(9), types::ObjectId(1), types::Rdba(8));
        block::data::format(image.bytes_mut(), block::BlockKind::Heap, at, obj, map, 2);
        let mut data = block::DataMut::new(image.bytes_mut());
        for (slot, row) in rows.iter().enumerate() {
            let _ = data.insert(slot as u16, 0, 0, 0, row);
        }
        prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        prop_assert!(passes(&image));
        read_everything(image.view());
        with_wrong_bytes(&mut image, &wrong, seed);
    }
}
