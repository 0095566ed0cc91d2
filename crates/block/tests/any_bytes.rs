//! Whatever the bytes are, the readers answer: they neither panic nor loop.

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
    (0..u16::MAX).for_each(|slot| assert_eq!(h.tx(slot).is_some(), slot < h.slots()));
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 2048), kind in 0u8..14) {
        let mut image = Image::new(2048);
        image.bytes_mut().copy_from_slice(&bytes);
        image.bytes_mut()[0] = kind;
        read_everything(image.view());
        let _ = block::assert_invariants(image.bytes());
    }

    #[test]
    fn sound_blocks_with_a_few_wrong_bytes(
        rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
        wrong in prop::collection::vec((0usize..2048, any::<u8>()), 1..12),
    ) {
        let mut image = Image::new(2048);
        let (at, obj, map) = (types::Rdba(9), types::ObjectId(1), types::Rdba(8));
        block::data::format(image.bytes_mut(), block::BlockKind::Heap, at, obj, map, 2);
        let mut data = block::DataMut::new(image.bytes_mut());
        for (slot, row) in rows.iter().enumerate() {
            let _ = data.insert(slot as u16, 0, 0, 0, row);
        }
        prop_assert_eq!(block::assert_invariants(image.bytes()), Ok(()));
        read_everything(image.view());
        for (at, byte) in wrong {
            image.bytes_mut()[at] = byte;
        }
        read_everything(image.view());
        let _ = block::assert_invariants(image.bytes());
    }
}
