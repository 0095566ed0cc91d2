//! The formats of Latchwork's blocks: bytes in, values out.
//!
//! Readers go through [`BlockView`], which tolerates any bytes and any race; mutators work on private images
//! (`&mut [u8]`). The crate keeps the layout and the space in a block. The access layers define the meaning of rows,
//! locks and undo. `docs/format/block.md` has the pictures.
#![deny(unsafe_code)] // Only `view` may use unsafe code.

mod check;
pub mod data;
mod dump;
pub mod file;
mod header;
pub mod segment;
pub mod undo;
#[allow(unsafe_code)] // Relaxed loads inside a slice.
mod view;

pub use check::{Damage, check, close_hole};
pub use data::{Data, DataMut, Itl, Refused, RowAt, itl_flags};
pub use dump::dump;
pub use header::{
    BLOCK_SIZE_DEFAULT, BLOCK_SIZE_MAX, BLOCK_SIZE_MIN, BlockKind, FORMAT_VERSION, HEADER_BYTES, checksum, format,
    is_block_size, rba_of, seal, spoil, stamp,
};
pub use segment::{BlockState, Extent, SegmentKind};
pub use view::{BlockView, Image, LINE_BYTES};

/// Checks the rules for the kind of the block; the error names the broken one.
///
/// # Errors
/// A sentence for the trace file.
pub fn assert_invariants(block: &[u8]) -> Result<(), String> {
    match BlockView::of_bytes(block).kind() {
        None => Err(format!("unknown block kind {}", block[0])),
        Some(k) if k.has_rows() => data::assert_invariants(block),
        Some(BlockKind::Undo) => undo::assert_invariants(block),
        Some(BlockKind::SegmentHeader | BlockKind::SpaceMap | BlockKind::FileBitmap | BlockKind::ExtentMap) => {
            segment::assert_invariants(block)
        }
        Some(_) => Ok(()),
    }
}
