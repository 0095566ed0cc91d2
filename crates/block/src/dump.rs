//! Blocks in readable form, for trace files and tests.

use crate::header::BlockKind;
use crate::view::BlockView;
use crate::{data, file, segment, undo};
use std::fmt::Write;

/// Writes the contents of a block, one fact a line. Works on any bytes.
pub fn dump(view: &BlockView) -> String {
    let mut out = String::new();
    let rdba = view.rdba();
    let kind =
        view.kind().map_or_else(|| format!("unknown kind {}", view.kind_code()), |k| format!("{k:?} ({})", k.class()));
    let _ = writeln!(out, "block file {} block {} {kind}", rdba.file(), rdba.block());
    let _ = writeln!(out, "rba {:#x} obj {} map {}", view.rba(), view.obj(), view.map());
    match view.kind() {
        Some(k) if k.has_rows() => rows(&mut out, &data::Data::new(*view)),
        Some(BlockKind::Undo) => undo_block(&mut out, &undo::UndoView::new(*view)),
        Some(BlockKind::UndoHeader) => undo_header(&mut out, &undo::UndoHeaderView::new(*view)),
        Some(BlockKind::SegmentHeader) => segment_header(&mut out, &segment::SegmentView::new(*view)),
        Some(BlockKind::SpaceMap) => space_map(&mut out, &segment::MapView::new(*view)),
        Some(BlockKind::ExtentMap) => extent_map(&mut out, &segment::ExtentMapView::new(*view)),
        Some(BlockKind::FileBitmap) => {
            let b = segment::BitmapView::new(*view);
            let _ = writeln!(
                out,
                "units {} from {}, {} used, file {} blocks",
                b.units(),
                b.first_unit(),
                b.used(),
                b.file_blocks()
            );
        }
        Some(BlockKind::FileHeader) => {
            let _ = writeln!(out, "{:?}", file::read(view));
        }
        _ => {}
    }
    out
}

fn hex(out: &mut String, view: &BlockView, at: usize, len: usize) {
    for i in 0..len.min(48) {
        let _ = write!(out, "{:02x}", view.u8(at + i));
    }
    out.push_str(if len > 48 { "…\n" } else { "\n" });
}

fn rows(out: &mut String, d: &data::Data) {
    let (next, prev) = (d.next(), d.prev());
    let _ = writeln!(
        out,
        "accept scn {} free {} slots {} next {next} prev {prev}",
        d.accept_scn(),
        d.free_bytes(),
        d.slots()
    );
    for n in 1..=d.itls() as u8 {
        if let Some(i) = d.itl(n) {
            let (xid, uba, flags) = (i.xid, i.uba, i.flags);
            let _ = write!(out, "itl {n:#04x} xid {xid} uba {uba} flags {flags:#04x} ");
            let _ = writeln!(out, "lck {} credit {} scn {}", i.locks, i.credit, i.scn);
        }
    }
    for (slot, r) in d.rows() {
        let _ = write!(out, "row {slot} flags {:#04x} lock {} extra {} len {}: ", r.flags, r.lock, r.extra, r.len);
        hex(out, &d.view, r.at, r.len);
    }
}

fn undo_block(out: &mut String, u: &undo::UndoView) {
    let _ = writeln!(out, "xid {} seq {:#06x} records {}", u.xid(), u.seq(), u.records());
    for rec in 0..u.records() {
        if let Some((at, len)) = u.record(rec) {
            let _ = write!(out, "rec {rec:#04x} len {len}: ");
            hex(out, &u.view, at, len);
        }
    }
}

fn undo_header(out: &mut String, u: &undo::UndoHeaderView) {
    for slot in 0..u.slots() {
        if let Some(t) = u.tx(slot).filter(|t| t.state != 0) {
            let _ = write!(out, "tx {slot:#05x} state {} sqn {:#010x} scn {} ", t.state, t.sqn, t.scn);
            let _ = writeln!(out, "last {} blocks {} before {}", t.last, t.blocks, t.before);
        }
    }
}

fn segment_header(out: &mut String, s: &segment::SegmentView) {
    let _ = writeln!(out, "segment {:?} tablespace {} blocks {}", s.segment_kind(), s.tablespace(), s.blocks());
    for n in 0..s.listed() {
        if let Some(e) = s.extent(n) {
            let _ = writeln!(out, "extent {n} at {} blocks {}", e.start, e.blocks);
        }
    }
    let _ = writeln!(out, "{} extents, next extent map {}", s.extents(), s.next_map());
}

fn extent_map(out: &mut String, m: &segment::ExtentMapView) {
    let _ = writeln!(out, "segment {} next extent map {}", m.segment(), m.next_map());
    for n in (0..m.listed()).map(|i| m.first().wrapping_add(i)) {
        if let Some(e) = m.extent(n) {
            let _ = writeln!(out, "extent {n} at {} blocks {}", e.start, e.blocks);
        }
    }
}

fn space_map(out: &mut String, m: &segment::MapView) {
    let _ = writeln!(out, "segment {} extent {} with room {}", m.segment(), m.extent(), m.with_room());
    for i in 0..m.blocks() {
        let _ = write!(out, "{}", m.state(i) as u8);
    }
    out.push('\n');
}
