//! The places of headers, bitmaps and segments in a file, by block size.

use block::segment::{UNIT_BLOCKS, units_max};
use types::Rdba;

/// Number of bitmap blocks in every file and part of this block size, from block 1 on.
pub fn bitmap_blocks(block_size: usize) -> u32 {
    (Rdba::MAX_BLOCK + 1).div_ceil(UNIT_BLOCKS).div_ceil(units_max(block_size))
}

/// The first block of every file and part that can belong to a segment.
pub fn first_data_block(block_size: usize) -> u32 {
    (1 + bitmap_blocks(block_size)).next_multiple_of(UNIT_BLOCKS)
}

/// Blocks of the smallest data file, and of the smallest part: header, bitmaps and a few units.
pub fn blocks_min(block_size: usize) -> u32 {
    first_data_block(block_size) + 2 * UNIT_BLOCKS
}

/// The sizes of the parts of a bigfile of at least `blocks` blocks, with `part_blocks` blocks in each but the last. A
/// remainder that is smaller than the smallest part is rounded up.
pub fn part_sizes(blocks: u64, part_blocks: u32, least: u32) -> Vec<u32> {
    let (whole, rest) = (blocks / u64::from(part_blocks), (blocks % u64::from(part_blocks)) as u32);
    let mut sizes = vec![part_blocks; whole as usize];
    if rest > 0 || whole == 0 {
        sizes.push(rest.max(least));
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_but_the_last_are_full() {
        assert_eq!(part_sizes(10, 256, 56), [56]);
        assert_eq!(part_sizes(256, 256, 56), [256]);
        assert_eq!(part_sizes(257, 256, 56), [256, 56]);
        assert_eq!(part_sizes(600, 256, 56), [256, 256, 88]);
    }
}
