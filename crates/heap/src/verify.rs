//! Checking the blocks and rows of a segment, in their current version.
//!
//! Nothing is read consistently and nothing is cleaned out: the database is stopped. Every row is put together from its
//! pieces, and every piece must belong to exactly one row.

use crate::fetch::ADDRESS_BYTES;
use crate::ops::flags;
use crate::{Heap, HeapTable, Piece, PieceAddress, take_piece};
use block::{BlockKind, BlockView, Data, Image};
use buffer_cache::GetKind;
use process::Process;
use std::collections::HashSet;
use types::{Rdba, Rowid};

/// Receives the rows found and the faults.
pub trait Visitor {
    /// A row: its rowid and its bytes (`types::row`).
    fn row(&mut self, rowid: Rowid, row: &[u8]);
    /// A fault in or about block `at`.
    fn fault(&mut self, at: Rdba, what: String);
}

/// More pieces than this are a loop.
const PIECES_MAX: usize = 1 << 21;

impl Heap {
    /// Checks the blocks of one kind in a segment, and shows every row to `visitor`. Exact only while nothing changes
    /// the segment.
    ///
    /// Blocks must satisfy the rules of the data layer and belong to the segment. Faults are: a row locked or changed
    /// by a transaction that has not ended, a piece that no row leads to, and a block that cannot be read; the
    /// remaining blocks are checked all the same.
    ///
    /// # Errors
    /// The segment header or a space map could not be read.
    pub fn verify(
        &self,
        p: &Process,
        table: &HeapTable,
        kind: BlockKind,
        visitor: &mut dyn Visitor,
    ) -> types::Result<()> {
        let segments = self.space();
        let mut image = Image::new(self.cache().block_size());
        let mut pieces = Pieces::default();
        let mut blocks = Vec::new();
        for (n, extent) in segments.extents(p, table.header)?.into_iter().enumerate() {
            blocks.clear();
            segments.formatted_blocks(p, table.data_object, extent, n as u32, &mut blocks)?;
            for at in &blocks {
                match self.copy(p, *at, &mut image) {
                    Ok(()) => self.verify_block(p, table, kind, *at, &image, &mut pieces, visitor),
                    Err(what) => visitor.fault(*at, what),
                }
            }
        }
        for at in pieces.there.difference(&pieces.reached) {
            visitor.fault(at.0, format!("piece {} belongs to no row", at.1));
        }
        Ok(())
    }

    fn copy(&self, p: &Process, at: Rdba, image: &mut Image) -> Result<(), String> {
        let read = self.cache().read(p, at, GetKind::Current, &mut |v: &BlockView<'_>| v.copy_block(image.bytes_mut()));
        read.map_err(|e| e.to_string())
    }

    #[allow(clippy::too_many_arguments)]
    fn verify_block(
        &self,
        p: &Process,
        table: &HeapTable,
        kind: BlockKind,
        at: Rdba,
        image: &Image,
        pieces: &mut Pieces,
        visitor: &mut dyn Visitor,
    ) {
        let view = image.view();
        // A cluster's long rows have their other pieces in heap blocks.
        let is_rest = view.kind() == Some(BlockKind::Heap) && kind == BlockKind::Cluster;
        if view.kind() != Some(kind) && !is_rest {
            visitor.fault(at, format!("a block of kind {:?} among blocks of kind {kind:?}", view.kind()));
            return;
        }
        if view.obj() != table.data_object {
            visitor.fault(at, format!("data object {}, the segment has {}", view.obj(), table.data_object));
            return;
        }
        if let Err(what) = block::assert_invariants(image.bytes()) {
            visitor.fault(at, what);
            return;
        }
        self.check_owners(at, &view, visitor);
        if view.kind() == Some(BlockKind::Heap) {
            note_pieces(&view, at, pieces);
        }
        if is_rest {
            return;
        }
        let mut row = Vec::new();
        for (slot, _) in Data::new(view).rows() {
            let rowid = Rowid { obj: table.data_object, rdba: at, slot };
            row.clear();
            let whole = match take_piece(&view, kind, table.data_object, slot, true, &mut row) {
                Piece::Last => Ok(()),
                Piece::Next(next) => self.rest(p, table, next, pieces, &mut row),
                Piece::None | Piece::Foreign => continue,
            };
            match whole {
                Ok(()) => visitor.row(rowid, &row),
                Err(what) => visitor.fault(at, format!("row {slot}: {what}")),
            }
        }
    }

    /// Only prepared transactions are open, so no other transaction may own an entry.
    fn check_owners(&self, at: Rdba, view: &BlockView<'_>, visitor: &mut dyn Visitor) {
        let d = Data::new(*view);
        for n in 1..=d.itls() as u8 {
            let Some(itl) = d.itl(n) else { continue };
            let is_open = |xid| self.txns.is_active(xid) && !self.txns.is_without_session(xid);
            if !itl.is_unused() && !itl.is_committed() && is_open(itl.xid) {
                visitor.fault(at, format!("entry {n} belongs to transaction {}, which has not ended", itl.xid));
            }
        }
    }

    /// Collects the pieces behind a head.
    fn rest(
        &self,
        p: &Process,
        table: &HeapTable,
        mut next: PieceAddress,
        pieces: &mut Pieces,
        row: &mut Vec<u8>,
    ) -> Result<(), String> {
        for _ in 0..PIECES_MAX {
            if !pieces.reached.insert((next.rdba, next.slot)) {
                return Err(format!("piece {}.{} belongs to two rows", next.rdba, next.slot));
            }
            let start = row.len();
            let found = self.cache().read(p, next.rdba, GetKind::Current, &mut |view: &BlockView<'_>| {
                row.truncate(start);
                take_piece(view, BlockKind::Heap, table.data_object, next.slot, false, row)
            });
            match found.map_err(|e| e.to_string())? {
                Piece::Last => return Ok(()),
                Piece::Next(at) => next = at,
                Piece::None => return Err(format!("there is no piece {}.{}", next.rdba, next.slot)),
                Piece::Foreign => return Err(format!("piece {}.{} is in another segment", next.rdba, next.slot)),
            }
        }
        Err("the chain of its pieces has no end".into())
    }
}

/// The pieces behind heads: those found in blocks, and those that rows lead to.
#[derive(Default)]
struct Pieces {
    there: HashSet<(Rdba, u16)>,
    reached: HashSet<(Rdba, u16)>,
}

fn note_pieces(view: &BlockView<'_>, at: Rdba, pieces: &mut Pieces) {
    for (slot, row) in Data::new(*view).rows() {
        let is_rest = row.flags & (flags::HEAD | flags::DELETED) == 0;
        if is_rest && (row.flags & flags::LAST != 0 || row.len >= ADDRESS_BYTES) {
            pieces.there.insert((at, slot));
        }
    }
}
