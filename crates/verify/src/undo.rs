//! Undo segments: only prepared transactions are open, and every block is in one queue only.

use crate::files::Space;
use crate::report::Report;
use block::undo::{UndoHeaderView, UndoView};
use block::{BlockKind, BlockView, Image as BlockImage, SegmentKind};
use buffer_cache::GetKind;
use datafile::{Contents, ControlFile};
use dictionary::Image;
use instance::Storage;
use process::Process;
use std::collections::HashSet;
use types::Rdba;

/// States of a slot in an undo header: active, and prepared.
const SLOT_ACTIVE: u8 = 10;
const SLOT_PREPARED: u8 = 11;

/// Checks every undo segment.
pub fn check(p: &Process, storage: &Storage, space: &Space, report: &mut Report) {
    let mut queued = HashSet::new();
    let known = storage.txns.undo_segments();
    for segment in space.segments.iter().filter(|s| s.kind == SegmentKind::Undo) {
        report.counts.undo_segments += 1;
        let usn = known.iter().find(|s| s.header == segment.header).map_or(0, |s| s.usn);
        let name = format!("undo segment {}", segment.header);
        let aux = storage.txns.space().aux(p, segment.header, GetKind::Current);
        let header = match aux {
            Ok((0, 0, 0)) => {
                report.note(format!("{name} was being made when the instance ended, and is of no use"));
                continue;
            }
            Ok((header, _, _)) => Rdba(header),
            Err(e) => {
                report.fault(Some(segment.header), &name, e.to_string());
                continue;
            }
        };
        check_header(p, storage, header, (usn, &name), &mut queued, report);
    }
}

/// Checks that every undo tablespace of the dictionary leads to its segments, and that each segment lies in its
/// tablespace.
pub fn check_tablespaces(storage: &Storage, image: &Image, control: &ControlFile, report: &mut Report) {
    let segments = storage.txns.undo_segments();
    for t in control.tablespaces.iter().filter(|t| t.contents == Contents::Undo) {
        let mine: Vec<_> = segments.iter().filter(|s| s.tablespace == t.number).collect();
        let name = format!("undo tablespace {}", t.name);
        if mine.is_empty() && image.tablespace_named(&t.name) == Some(t.number) {
            report.fault(None, &name, "its first block leads to no undo segments");
        }
        for s in mine {
            if control.file(s.header.file()).is_none_or(|f| f.tablespace != t.number) {
                report.fault(Some(s.header), &name, format!("undo segment {} is in another tablespace", s.usn));
            }
        }
    }
}

fn copy(p: &Process, storage: &Storage, at: Rdba) -> Result<BlockImage, String> {
    let mut image = BlockImage::new(storage.cache.block_size());
    let read = storage.cache.read(p, at, GetKind::Current, &mut |v: &BlockView<'_>| v.copy_block(image.bytes_mut()));
    read.map(|()| image).map_err(|e| e.to_string())
}

fn check_header(
    p: &Process,
    storage: &Storage,
    at: Rdba,
    (usn, name): (u16, &str),
    queued: &mut HashSet<Rdba>,
    report: &mut Report,
) {
    let image = match copy(p, storage, at) {
        Ok(image) => image,
        Err(what) => return report.fault(Some(at), name, what),
    };
    if image.view().kind() != Some(BlockKind::UndoHeader) {
        return report.fault(
            Some(at),
            name,
            format!("a block of kind {:?} where its header must be", image.view().kind()),
        );
    }
    let h = UndoHeaderView::new(image.view());
    for slot in 0..h.slots() {
        match h.tx(slot) {
            Some(tx) if tx.state == SLOT_ACTIVE => {
                report.fault(Some(at), name, format!("transaction slot {slot} has not ended"));
            }
            // The form of dba_2pc_pending.
            Some(tx) if tx.state == SLOT_PREPARED => {
                report.note(format!("transaction {usn}.{slot}.{} is prepared and waits for its outcome", tx.sqn));
            }
            _ => {}
        }
    }
    let (head, tail) = (Rdba(h.aux64() as u32), Rdba((h.aux64() >> 32) as u32));
    let (head, tail, partial) = (head, tail, Rdba(h.aux32()));
    if head.is_none() != tail.is_none() {
        report.fault(Some(at), name, format!("the queue of retired blocks begins at {head} and ends at {tail}"));
        return;
    }
    let mut next = head;
    while !next.is_none() {
        match undo_block(p, storage, next) {
            Ok(_) if !queued.insert(next) => {
                report.fault(Some(next), name, "the block is twice in queues of retired blocks");
                return;
            }
            // `prev` leads to the next block in the queue; that of the tail is not used.
            Ok(_) if next == tail => break,
            Ok(behind) => next = behind,
            Err(what) => return report.fault(Some(next), name, what),
        }
        if next.is_none() {
            report.fault(Some(at), name, format!("the queue of retired blocks does not lead to its tail {tail}"));
        }
    }
    if !partial.is_none() {
        if let Err(what) = undo_block(p, storage, partial) {
            report.fault(Some(partial), name, what);
        } else if !queued.insert(partial) {
            report.fault(Some(partial), name, "the block with room is in a queue of retired blocks, too");
        }
    }
}

/// Checks an undo block; returns the block that it leads to.
fn undo_block(p: &Process, storage: &Storage, at: Rdba) -> Result<Rdba, String> {
    let image = copy(p, storage, at)?;
    if image.view().kind() != Some(BlockKind::Undo) {
        return Err(format!("a block of kind {:?} among undo blocks", image.view().kind()));
    }
    block::assert_invariants(image.bytes())?;
    Ok(UndoView::new(image.view()).prev())
}
