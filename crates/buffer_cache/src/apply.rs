//! Applying the vectors of the layer `Block`.

use block::BlockKind;
use redo::{ApplyTable, Fields, Layer};
use types::{ObjectId, Ora, Rdba, Result};

/// Operations of [`Layer::Block`].
pub mod op {
    /// Makes the image an empty block: kind, ITL slots, address, object, space map.
    pub const FORMAT: u8 = 1;
    /// Overwrites bytes: offset (u16), bytes.
    pub const PATCH: u8 = 2;
    /// Replaces the whole image: begin and length of the hole (u16 each), the bytes outside it. Recovery need not read
    /// the block for it.
    pub const IMAGE: u8 = 3;
    /// Makes the image all zeros, before it is formatted. Recovery need not read the block for it.
    pub const ZERO: u8 = 4;
}

/// Adds the layer `Block` to the table.
pub fn register(table: &mut ApplyTable) {
    table.register(Layer::Block, apply_block);
}

/// The bytes of a FORMAT vector.
pub fn format_vector(kind: BlockKind, at: Rdba, obj: ObjectId, map: Rdba, itls: u8) -> [u8; 14] {
    let mut data = [0; 14];
    (data[0], data[1]) = (kind as u8, itls);
    data[2..6].copy_from_slice(&at.0.to_le_bytes());
    data[6..10].copy_from_slice(&obj.0.to_le_bytes());
    data[10..14].copy_from_slice(&map.0.to_le_bytes());
    data
}

fn apply_block(image: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields::new(data);
    match code {
        op::FORMAT => {
            let (kind, itls) = (BlockKind::from_code(f.u8()?), f.u8()?);
            let (at, obj, map) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?));
            match kind {
                Some(k) if k.has_rows() && !block::data::takes_itls(image.len(), itls) => {
                    return Err(Ora::internal("too many interested-transaction entries in a change vector"));
                }
                Some(k) if k.has_rows() => block::data::format(image, k, at, obj, map, itls),
                Some(k) => block::format(image, k, at, obj, map),
                None => return Err(Ora::internal("block kind in a change vector")),
            }
        }
        op::PATCH => {
            let at = usize::from(f.u16()?);
            let to = image.get_mut(at..at + f.rest().len()).ok_or_else(|| Ora::internal("patch outside the block"))?;
            to.copy_from_slice(f.rest());
        }
        op::IMAGE => apply_image(image, &mut f)?,
        op::ZERO => image.fill(0),
        _ => return Err(Ora::internal(format_args!("block operation {code}"))),
    }
    Ok(())
}

/// The bytes of an IMAGE vector for `image`, whose hole is emptied.
pub(crate) fn image_vector(image: &mut [u8]) -> Vec<u8> {
    let hole = block::close_hole(image);
    let mut data = Vec::with_capacity(4 + image.len() - hole.len());
    for n in [hole.start, hole.len()] {
        data.extend_from_slice(&(n as u16).to_le_bytes());
    }
    data.extend_from_slice(&image[..hole.start]);
    data.extend_from_slice(&image[hole.end..]);
    data
}

fn apply_image(image: &mut [u8], f: &mut Fields) -> Result<()> {
    let (at, len) = (usize::from(f.u16()?), usize::from(f.u16()?));
    if len + f.rest().len() != image.len() || at > f.rest().len() {
        return Err(Ora::internal("image of another size"));
    }
    image[at..at + len].fill(0);
    image[..at].copy_from_slice(f.slice(at)?);
    image[at + len..].copy_from_slice(f.rest());
    Ok(())
}

/// True for a vector that makes the whole block: recovery need not read the previous block.
pub fn is_whole(cv: &redo::ChangeVector) -> bool {
    cv.layer == Layer::Block && matches!(cv.op, op::IMAGE | op::ZERO)
}

/// True for a vector that makes the whole block zeros.
pub fn is_zeros(cv: &redo::ChangeVector) -> bool {
    cv.layer == Layer::Block && cv.op == op::ZERO
}
