//! Functions that look at a block by its kind: the check of a block from disk, and the unused part of a block.

use crate::header::{AT_CHECKSUM, AT_KIND, AT_RDBA, AT_SIZE_LOG2, AT_VERSION, HASH_VERSION, get32};
use crate::view::BlockView;
use crate::{BlockKind, FORMAT_VERSION, HEADER_BYTES, checksum, data, segment, undo};
use types::Rdba;

/// The damage found in a block that was read from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The checksum does not match: the block is torn or was changed outside the database.
    Checksum,
    /// The block was written by another format version.
    Version,
    /// The block has the address of another block, or has another size.
    Address,
    /// The kind is unknown.
    Kind,
    /// The checksum is right, but counts and offsets do not fit a block: nothing may be changed in it.
    Structure,
}

/// Checks a block that was read from disk at address `at`. A block of zeros was never written and is valid.
///
/// Mutators trust the counts and offsets of an image, so these are checked here, once, before any mutator runs.
///
/// # Errors
/// [`Damage`] names the first damage found; the caller turns it into ORA-01578.
pub fn check(block: &[u8], at: Rdba) -> Result<(), Damage> {
    if block[AT_KIND] == 0 && block.iter().all(|b| *b == 0) {
        return Ok(());
    }
    if get32(block, AT_CHECKSUM) != checksum(block) {
        return Err(Damage::Checksum);
    }
    if !matches!(block[AT_VERSION], FORMAT_VERSION | HASH_VERSION) {
        return Err(Damage::Version);
    }
    if get32(block, AT_RDBA) != at.0 || block.len() != 1usize.checked_shl(block[AT_SIZE_LOG2].into()).unwrap_or(0) {
        return Err(Damage::Address);
    }
    match BlockKind::from_code(block[AT_KIND]) {
        None | Some(BlockKind::Unformatted) => Err(Damage::Kind),
        Some(kind) if is_sound(kind, block) => Ok(()),
        Some(_) => Err(Damage::Structure),
    }
}

/// True when every count and offset that a mutator of this kind of block relies on lies in the block.
fn is_sound(kind: BlockKind, block: &[u8]) -> bool {
    match kind {
        k if k.has_rows() => data::is_sound(block),
        BlockKind::Undo => undo::assert_invariants(block).is_ok(),
        BlockKind::UndoHeader => undo::is_sound_header(block),
        BlockKind::SegmentHeader | BlockKind::SpaceMap | BlockKind::FileBitmap | BlockKind::ExtentMap => {
            segment::is_sound(kind, block)
        }
        _ => true,
    }
}

/// Clears the unused bytes of a block and returns their range: the gap between directory and rows or records, or the
/// zeros at the end. The bytes outside the range are enough to restore the block.
///
/// The offsets in the block are checked: an impossible gap counts as empty.
pub fn close_hole(block: &mut [u8]) -> std::ops::Range<usize> {
    let view = BlockView::of_bytes(block);
    let hole = match view.kind() {
        Some(k) if k.has_rows() => data::gap(&view),
        Some(BlockKind::Undo) => undo::gap(&view),
        _ => {
            let used = block.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            used.max(HEADER_BYTES)..block.len()
        }
    };
    let hole = if hole.start < HEADER_BYTES || hole.start > hole.end || hole.end > block.len() { 0..0 } else { hole };
    block[hole.clone()].fill(0);
    hole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::*;
    use types::ObjectId;

    fn sample() -> Vec<u8> {
        let mut b = vec![0; 2048];
        format(&mut b, BlockKind::Temporary, Rdba(77), ObjectId(5), Rdba(76));
        b[1000] = 9;
        stamp(&mut b, 10);
        seal(&mut b);
        b
    }

    /// As a build of the version before has written it.
    fn sample_of_hash_version() -> Vec<u8> {
        let mut b = sample();
        b[AT_VERSION] = HASH_VERSION;
        let sum = checksum(&b);
        put32(&mut b, AT_CHECKSUM, sum);
        b
    }

    #[test]
    fn every_flipped_bit_is_found() {
        for good in [sample(), sample_of_hash_version()] {
            assert_eq!(check(&good, Rdba(77)), Ok(()));
            for bit in 0..good.len() * 8 {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(check(&bad, Rdba(77)).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn checksums_have_the_values_that_are_on_disk() {
        let (new, mut old) = (sample(), sample_of_hash_version());
        assert_eq!((new[AT_VERSION], get32(&new, AT_CHECKSUM)), (5, 2_438_768_731));
        assert_eq!((old[AT_VERSION], get32(&old, AT_CHECKSUM)), (4, 353_159_052));
        seal(&mut old);
        assert_eq!(old, new, "a block of the version before is written as one of this version");
    }

    #[test]
    fn a_torn_block_and_a_misplaced_block_are_found() {
        let old = sample();
        let mut new = old.clone();
        new[100] = 1;
        new[1900] = 1;
        seal(&mut new);
        for cut in (512..2048).step_by(512) {
            let torn = [&new[..cut], &old[cut..]].concat();
            assert_eq!(check(&torn, Rdba(77)), Err(Damage::Checksum));
        }
        assert_eq!(check(&old, Rdba(78)), Err(Damage::Address));
        assert_eq!(check(&[0; 2048], Rdba(78)), Ok(()));
        let mut other = old.clone();
        other[AT_VERSION] = 9;
        seal(&mut other);
        assert_eq!(check(&other, Rdba(77)), Err(Damage::Version));
    }

    #[test]
    fn counts_and_offsets_that_reach_over_the_block_are_found() {
        let sound = |f: &dyn Fn(&mut [u8])| {
            let mut b = vec![0; 2048];
            crate::data::format(&mut b, BlockKind::Heap, Rdba(77), ObjectId(5), Rdba(76), 2);
            crate::DataMut::new(&mut b).insert(0, 1, 0, 0, &[9; 100]).unwrap();
            f(&mut b);
            seal(&mut b);
            check(&b, Rdba(77))
        };
        assert_eq!(sound(&|_| ()), Ok(()));
        for at in [crate::data::ITL_BEGIN + 2 * crate::data::ITL_BYTES, 2048 - 106 + 2] {
            assert_eq!(sound(&|b| put16(b, at, 60_000)), Err(Damage::Structure), "the row's place and length");
        }
        for at in (HEADER_BYTES..HEADER_BYTES + 10).step_by(2) {
            let outcome = sound(&|b| put16(b, at, 60_000));
            assert!(matches!(outcome, Ok(()) | Err(Damage::Structure)), "{at}: {outcome:?}");
        }
    }

    #[test]
    fn a_hole_is_what_no_row_or_record_needs() {
        let mut image = crate::Image::new(2048);
        let b = image.bytes_mut();
        crate::data::format(b, BlockKind::Heap, Rdba(77), ObjectId(5), Rdba(76), 2);
        crate::DataMut::new(b).insert(0, 1, 0, 0, &[9; 100]).unwrap();
        let begin = crate::data::ITL_BEGIN + 2 * crate::data::ITL_BYTES + crate::data::SLOT_BYTES;
        b[begin + 5] = 3;
        assert_eq!(close_hole(b), begin..2048 - 106);
        assert_eq!(b[begin + 5], 0);
        crate::data::assert_invariants(b).unwrap();
        crate::undo::format(b, Rdba(77), ObjectId(5), Rdba(76), types::Xid::default(), 1, Rdba(0));
        crate::undo::append(b, &[7; 40]).unwrap();
        assert_eq!(close_hole(b), 96..2046);
        format(b, BlockKind::Temporary, Rdba(77), ObjectId(5), Rdba(76));
        b[1000] = 1;
        assert_eq!(close_hole(b), 1001..2048);
        b.fill(0xFF);
        b[0] = BlockKind::Heap as u8;
        assert!(close_hole(b).end <= 2048, "garbage is borne");
    }

    #[test]
    fn the_stamp_is_read_back() {
        let mut b = sample();
        stamp(&mut b, 1 << 40);
        assert_eq!(get64(&b, AT_RBA), 1 << 40);
    }
}
