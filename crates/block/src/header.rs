//! The header that every block starts with, and its checksum.

use crate::view::BlockView;
use types::{ObjectId, Rdba};

/// Smallest block size in bytes.
pub const BLOCK_SIZE_MIN: usize = 2 * 1024;
/// Largest block size in bytes.
pub const BLOCK_SIZE_MAX: usize = 32 * 1024;
/// Block size when the database is created without one.
pub const BLOCK_SIZE_DEFAULT: usize = 8 * 1024;
/// Bytes of the common header.
pub const HEADER_BYTES: usize = 32;
/// Version of all block formats. Blocks of [`HASH_VERSION`] are read, and become blocks of this version when they are
/// written; a block of any other version is refused.
pub const FORMAT_VERSION: u8 = 5;
/// The version before: the same layout, with [`hash`] in place of CRC-32C as the checksum.
pub(crate) const HASH_VERSION: u8 = 4;

pub(crate) const AT_KIND: usize = 0;
pub(crate) const AT_VERSION: usize = 1;
pub(crate) const AT_SIZE_LOG2: usize = 3;
pub(crate) const AT_RDBA: usize = 4;
pub(crate) const AT_RBA: usize = 8;
pub(crate) const AT_CHECKSUM: usize = 20;
pub(crate) const AT_OBJ: usize = 24;
pub(crate) const AT_MAP: usize = 28;

types::numbered! {
    /// The kind of a block. The numbers are on disk and never change their meaning (R7).
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum BlockKind: u8 {
        /// Never formatted: all zeros.
        Unformatted = 0,
        /// Block 0 of a data file.
        FileHeader = 1,
        /// Allocation bitmap of a data file.
        FileBitmap = 2,
        /// First block of a segment: its kind and its list of extents.
        SegmentHeader = 3,
        /// First block of every extent: the state of each block in it.
        SpaceMap = 4,
        /// Rows of a heap table.
        Heap = 5,
        /// Rows and keys of a cluster.
        Cluster = 6,
        /// Root or branch of a B-tree.
        IndexBranch = 7,
        /// Leaf of a B-tree.
        IndexLeaf = 8,
        /// Transaction table of an undo segment.
        UndoHeader = 9,
        /// Undo records.
        Undo = 10,
        /// Sorted runs and other temporary data.
        Temporary = 11,
        /// Further extents of a segment whose header is full.
        ExtentMap = 12,
    }
}

impl BlockKind {
    /// True for the blocks that have the data layer: interested-transaction list and row directory.
    pub fn has_rows(self) -> bool {
        matches!(self, BlockKind::Heap | BlockKind::Cluster | BlockKind::IndexBranch | BlockKind::IndexLeaf)
    }

    /// Number of the block's class in wait events and `v$waitstat`.
    pub fn class_number(self) -> u64 {
        match self {
            BlockKind::Temporary => 2,
            BlockKind::SegmentHeader => 4,
            BlockKind::SpaceMap => 8,
            BlockKind::FileBitmap => 11,
            BlockKind::FileHeader => 13,
            BlockKind::UndoHeader => 17,
            BlockKind::Undo => 18,
            _ => 1,
        }
    }

    /// The class name that block dumps and `v$waitstat` use.
    pub fn class(self) -> &'static str {
        match self {
            BlockKind::Unformatted => "unformatted",
            BlockKind::FileHeader => "file header block",
            BlockKind::FileBitmap => "bitmap block",
            BlockKind::SegmentHeader => "segment header",
            BlockKind::SpaceMap => "1st level bmb",
            BlockKind::Heap | BlockKind::Cluster | BlockKind::IndexBranch | BlockKind::IndexLeaf => "data block",
            BlockKind::UndoHeader => "undo header",
            BlockKind::Undo => "undo block",
            BlockKind::Temporary => "sort block",
            BlockKind::ExtentMap => "extent map",
        }
    }
}

/// True for the block sizes a database may have.
pub fn is_block_size(size: usize) -> bool {
    size.is_power_of_two() && (BLOCK_SIZE_MIN..=BLOCK_SIZE_MAX).contains(&size)
}

impl BlockView<'_> {
    /// The kind of the block according to its header.
    #[inline]
    pub fn kind(&self) -> Option<BlockKind> {
        BlockKind::from_code(self.kind_code())
    }
    /// The kind's number on disk; cheaper than [`BlockView::kind`] where one kind is expected.
    #[inline]
    pub fn kind_code(&self) -> u8 {
        self.word(0) as u8
    }
    /// The address of the block according to its header.
    #[inline]
    pub fn rdba(&self) -> Rdba {
        Rdba(self.u32(AT_RDBA))
    }
    /// The redo address behind the last change: the block may be written once the redo before this address is on disk.
    /// 0 when no change with redo was made.
    #[inline]
    pub fn rba(&self) -> u64 {
        self.u64(AT_RBA)
    }
    /// The data object that the block belongs to.
    #[inline]
    pub fn obj(&self) -> ObjectId {
        ObjectId(self.u32(AT_OBJ))
    }
    /// The space map block with the state of this block; 0 when there is none.
    #[inline]
    pub fn map(&self) -> Rdba {
        Rdba(self.u32(AT_MAP))
    }
}

/// Makes `block` an empty block of `kind`: everything but the header is zero.
pub fn format(block: &mut [u8], kind: BlockKind, at: Rdba, obj: ObjectId, map: Rdba) {
    block.fill(0);
    block[AT_KIND] = kind as u8;
    block[AT_VERSION] = FORMAT_VERSION;
    block[AT_SIZE_LOG2] = block.len().trailing_zeros() as u8;
    put32(block, AT_RDBA, at.0);
    put32(block, AT_OBJ, obj.0);
    put32(block, AT_MAP, map.0);
}

/// The redo address behind the last change of a block, as [`BlockView::rba`].
#[must_use]
pub fn rba_of(block: &[u8]) -> u64 {
    get64(block, AT_RBA)
}

/// Sets the redo address behind the last change.
pub fn stamp(block: &mut [u8], rba: u64) {
    put64(block, AT_RBA, rba);
}

/// Puts the checksum of the whole block into its header, before it is written. A block of the version before gets the
/// version of today with it.
pub fn seal(block: &mut [u8]) {
    if block[AT_VERSION] == HASH_VERSION {
        block[AT_VERSION] = FORMAT_VERSION;
    }
    let sum = checksum(block);
    put32(block, AT_CHECKSUM, sum);
}

/// Makes the checksum of a sealed block wrong, so that a reader finds the block damaged.
pub fn spoil(block: &mut [u8]) {
    let sum = get32(block, AT_CHECKSUM);
    put32(block, AT_CHECKSUM, sum ^ 0x5B01_1ED5);
}

/// The checksum of a block, as its version defines it: CRC-32C of all bytes but the field of the checksum.
///
/// It guards against accidents, not against an attacker. Every damage within 32 neighbouring bits is detected, and any
/// other with a probability of 1 - 2⁻³².
pub fn checksum(block: &[u8]) -> u32 {
    if block[AT_VERSION] == HASH_VERSION {
        return hash(block);
    }
    let before = crc32c::crc32c(&block[..AT_CHECKSUM]);
    crc32c::crc32c_append(before, &block[AT_CHECKSUM + 4..])
}

/// The checksum of blocks of [`HASH_VERSION`]: four lanes of multiply and rotate over 64-bit words, with the field of
/// the checksum counted as zero.
fn hash(block: &[u8]) -> u32 {
    const MUL: [u64; 4] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x27D4_EB2F_1656_67C5];
    let mut lanes = [block.len() as u64, 1, 2, 3];
    for (i, group) in block.chunks(32).enumerate() {
        for (lane, word) in group.chunks(8).enumerate() {
            let mut bytes = [0u8; 8];
            bytes[..word.len()].copy_from_slice(word);
            if i == 0 && lane == AT_CHECKSUM / 8 {
                bytes[AT_CHECKSUM % 8..AT_CHECKSUM % 8 + 4].fill(0);
            }
            lanes[lane] = (lanes[lane] ^ u64::from_le_bytes(bytes)).wrapping_mul(MUL[lane]).rotate_left(29);
        }
    }
    let mut sum = 0u64;
    for lane in lanes {
        sum = (sum.rotate_left(17) ^ lane).wrapping_mul(MUL[0]);
    }
    (sum ^ sum >> 32) as u32
}

pub(crate) fn get16(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(b[at..at + 2].try_into().expect("two bytes"))
}
pub(crate) fn get32(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(b[at..at + 4].try_into().expect("four bytes"))
}
pub(crate) fn get64(b: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(b[at..at + 8].try_into().expect("eight bytes"))
}
pub(crate) fn put16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_le_bytes());
}
pub(crate) fn put32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_le_bytes());
}
pub(crate) fn put64(b: &mut [u8], at: usize, v: u64) {
    b[at..at + 8].copy_from_slice(&v.to_le_bytes());
}
