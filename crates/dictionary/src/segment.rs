//! The place of an object's blocks.

use types::{ObjectId, Rdba};

/// The place of an object's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentRef {
    pub tablespace: u32,
    /// The segment header block.
    pub header: Rdba,
    /// The data object number of the segment, which is part of rowids. TRUNCATE changes it.
    pub data_object: ObjectId,
    /// Percentage of a block kept free for updates.
    pub pctfree: u8,
    /// Interested-transaction entries of a new block.
    pub initrans: u8,
}
