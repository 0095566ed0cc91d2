//! Cluster blocks: the rows of a heap block, with the tags of their keys in an array.
//!
//! Directory entry 0 of a cluster block is not a row but the tag array: for each further directory entry, 16 bits of
//! the hash of its row's key. A lookup searches the array, which takes one or two cache lines, and touches only rows
//! whose tag matches. The same 16 bits are in the `extra` field of the row, so every change vector that puts a row also
//! sets its tag (C1).
//!
//! A chain of rows by key was rejected: undo would have to repair links through rows of other transactions.

use block::{BlockView, Data, DataMut, RowAt};
use heap::ops;
use types::{Ora, Rdba, Result};

/// Operation of cluster blocks besides those of [`heap::ops`]: sets the overflow block.
pub const LINK: u8 = 32;

/// Entries of the first tag array of a block, and how many are added when it is full.
const TAGS_FIRST: usize = 32;
const TAGS_MORE: usize = 16;

/// Bytes that the tag array has to grow by before a row can go into directory entry `slot`.
pub fn growth(d: &Data<'_>, slot: u16) -> usize {
    match d.row(0) {
        None => ops::ROW_OVERHEAD + 2 * first_tags(slot),
        Some(tags) if usize::from(slot) <= tags.len / 2 => 0,
        Some(tags) => 2 * (more_tags(slot) - tags.len / 2),
    }
}

fn first_tags(slot: u16) -> usize {
    TAGS_FIRST.max(more_tags(slot))
}

/// Entries of an array grown for `slot`: a multiple of [`TAGS_MORE`].
fn more_tags(slot: u16) -> usize {
    usize::from(slot).next_multiple_of(TAGS_MORE)
}

/// The apply function of cluster blocks.
pub fn apply(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
    match op {
        LINK => {
            let at: [u8; 4] = data.try_into().map_err(|_| Ora::internal("cluster link"))?;
            DataMut::new(block).set_next(Rdba(u32::from_le_bytes(at)));
            Ok(())
        }
        ops::PUT if data.len() >= 6 => {
            let (slot, tag) = (u16::from_le_bytes([data[0], data[1]]), [data[4], data[5]]);
            set_tag(block, slot, tag).map_err(|e| Ora::internal(format_args!("cluster tag: {e:?}")))?;
            ops::apply(block, op, data)
        }
        ops::REMOVE | ops::MARK => ops::apply(block, op, data),
        _ => Err(Ora::internal(format_args!("cluster operation {op}"))),
    }
}

fn set_tag(block: &mut [u8], slot: u16, tag: [u8; 2]) -> std::result::Result<(), block::Refused> {
    let mut d = DataMut::new(block);
    if slot == 0 {
        return Err(block::Refused::NoSuch);
    }
    match d.read().row(0) {
        None => d.insert(0, 0, 0, 0, &vec![0; 2 * first_tags(slot)])?,
        Some(tags) if usize::from(slot) > tags.len / 2 => {
            let mut longer = Vec::with_capacity(2 * more_tags(slot));
            d.read().view.append_to(tags.at, tags.len, &mut longer);
            longer.resize(2 * more_tags(slot), 0);
            d.replace(0, 0, 0, 0, &longer)?;
        }
        Some(_) => {}
    }
    d.patch(0, 2 * (usize::from(slot) - 1), &tag)
}

/// Calls `f` with every row whose tag is `tag`, in the order of the directory, and returns the offset of the tags, 0
/// when there are none. Accepts any bytes: the view may be torn.
#[inline]
pub fn each_match(view: &BlockView<'_>, tag: u16, mut f: impl FnMut(u16, RowAt)) -> usize {
    const ONES: u64 = 0x0001_0001_0001_0001;
    let d = Data::new(*view);
    let Some(tags) = d.row(0) else { return 0 };
    let count = (tags.len / 2).min(d.slots().saturating_sub(1));
    let pattern = ONES * u64::from(tag);
    let mut i = 0;
    while i < count {
        // Compares four tags at once: an equal lane becomes zero, and subtracting one borrows into its highest bit.
        let lanes = view.u64(tags.at + 2 * i) ^ pattern;
        if lanes.wrapping_sub(ONES) & !lanes & (ONES << 15) != 0 {
            for lane in 0..4.min(count - i) {
                if (lanes >> (16 * lane)) as u16 == 0 {
                    let slot = i + lane + 1;
                    if let Some(row) = d.row(slot) {
                        f(slot as u16, row);
                    }
                }
            }
        }
        i += 4;
    }
    tags.at
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{BlockKind, Image, data};
    use heap::ops::flags;
    use testing::Random;
    use types::ObjectId;

    fn put(image: &mut Image, slot: u16, tag: u16, body: &[u8]) -> Result<()> {
        let mut cv = Vec::new();
        ops::encode_put(&mut cv, slot, flags::WHOLE, 0, tag, body);
        apply(image.bytes_mut(), ops::PUT, &cv)
    }

    #[test]
    fn rows_are_found_by_their_tags_however_many_there_are() {
        let mut image = Image::new(8192);
        data::format(image.bytes_mut(), BlockKind::Cluster, Rdba(9), ObjectId(1), Rdba(8), 2);
        for slot in 1..=150u16 {
            let need = growth(&Data::new(image.view()), slot);
            let before = Data::new(image.view()).free_bytes();
            put(&mut image, slot, slot % 7, &slot.to_le_bytes()).unwrap();
            let used = before - Data::new(image.view()).free_bytes();
            assert_eq!(used, need + ops::ROW_OVERHEAD + 2, "slot {slot}");
            block::assert_invariants(image.bytes()).unwrap();
        }
        apply(image.bytes_mut(), ops::REMOVE, &14u16.to_le_bytes()).unwrap();
        for tag in 0..9 {
            let mut found = Vec::new();
            each_match(&image.view(), tag, |slot, row| {
                assert_eq!(image.view().u16(row.at), slot);
                found.push(slot);
            });
            let want: Vec<u16> = (1..=150).filter(|s| s % 7 == tag && *s != 14).collect();
            assert_eq!(found, want, "tag {tag}");
        }
    }

    #[test]
    fn garbage_is_borne() {
        let mut image = Image::new(2048);
        let mut random = Random::new(88);
        for _ in 0..200 {
            image.bytes_mut().fill_with(|| random.next() as u8);
            each_match(&image.view(), random.next() as u16, |_, row| assert!(row.at + row.len <= 2048));
        }
    }
}
