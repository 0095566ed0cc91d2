//! How the vectors of the layers `Block` and `Space` are applied.

use block::{BlockKind, BlockState, Extent, Refused, SegmentKind, segment};
use redo::{ApplyTable, Layer};
use types::{ObjectId, Ora, Rdba, Result};

/// Operations of [`Layer::Block`].
pub mod op {
    /// Makes the image an empty block: kind, ITL slots, address, object, space map.
    pub const FORMAT: u8 = 1;
    /// Overwrites bytes: offset (u16), bytes.
    pub const PATCH: u8 = 2;
    /// Replaces the whole image: begin and length of the hole (u16 each), the bytes outside it. In redo, the block need
    /// not be read for it.
    pub const IMAGE: u8 = 3;
    /// Makes the image all zeros, before it is formatted. In redo, the block need not be read for it.
    pub const ZERO: u8 = 4;
}

/// Operations of [`Layer::Space`].
pub(crate) mod space {
    pub const FORMAT_SEGMENT: u8 = 1;
    pub const ADD_EXTENT: u8 = 2;
    pub const DROP_EXTENT: u8 = 3;
    pub const FIRST_WITH_ROOM: u8 = 4;
    pub const SEGMENT_AUX: u8 = 5;
    pub const FORMAT_MAP: u8 = 6;
    pub const SET_STATE: u8 = 7;
    pub const USE_UNITS: u8 = 8;
    pub const FREE_UNITS: u8 = 9;
    pub const FILE_BLOCKS: u8 = 10;
    pub const SET_OBJ: u8 = 11;
    pub const FORMAT_EXTENT_MAP: u8 = 12;
    pub const ADD_TO_MAP: u8 = 13;
    pub const DROP_FROM_MAP: u8 = 14;
    pub const NEXT_MAP: u8 = 15;
    pub const GOING: u8 = 16;
}

/// Adds the layers `Block` and `Space` to the table.
pub fn register(table: &mut ApplyTable) {
    table.register(Layer::Block, apply_block).register(Layer::Space, apply_space);
}

/// Reads the fields of a vector in order.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(|| Ora::internal("change vector too short"))?;
        self.0 = rest;
        Ok(head)
    }
    fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }
    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("two bytes")))
    }
    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }
    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }
}

pub(crate) fn format_vector(kind: BlockKind, at: Rdba, obj: ObjectId, map: Rdba, itls: u8) -> [u8; 14] {
    let mut data = [0; 14];
    (data[0], data[1]) = (kind as u8, itls);
    data[2..6].copy_from_slice(&at.0.to_le_bytes());
    data[6..10].copy_from_slice(&obj.0.to_le_bytes());
    data[10..14].copy_from_slice(&map.0.to_le_bytes());
    data
}

fn apply_block(image: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields(data);
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
            let to = image.get_mut(at..at + f.0.len()).ok_or_else(|| Ora::internal("patch outside the block"))?;
            to.copy_from_slice(f.0);
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
    if len + f.0.len() != image.len() || at > f.0.len() {
        return Err(Ora::internal("image of another size"));
    }
    image[at..at + len].fill(0);
    image[..at].copy_from_slice(f.take(at)?);
    image[at + len..].copy_from_slice(f.0);
    Ok(())
}

/// True for a vector that makes the whole block: what the block was before does not matter, so it need not be read.
pub fn is_whole(cv: &redo::ChangeVector) -> bool {
    cv.layer == Layer::Block && matches!(cv.op, op::IMAGE | op::ZERO)
}

/// True for a vector that makes the whole block zeros.
pub fn is_zeros(cv: &redo::ChangeVector) -> bool {
    cv.layer == Layer::Block && cv.op == op::ZERO
}

fn apply_space(image: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields(data);
    let done = match code {
        space::FORMAT_SEGMENT => {
            let (at, obj, map, tablespace) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?), f.u32()?);
            let kind = SegmentKind::from_code(f.u8()?).ok_or_else(|| Ora::internal("segment kind"))?;
            segment::format_segment(image, at, obj, map, tablespace, kind);
            Ok(())
        }
        space::ADD_EXTENT => segment::add_extent(image, Extent { start: Rdba(f.u32()?), blocks: f.u32()? }),
        space::DROP_EXTENT => segment::drop_extent(image, f.u32()?),
        space::FIRST_WITH_ROOM => {
            segment::set_first_with_room(image, f.u32()?);
            Ok(())
        }
        space::SEGMENT_AUX => {
            segment::set_segment_aux(image, f.u32()?, f.u32()?, f.u64()?);
            Ok(())
        }
        space::FORMAT_MAP => {
            let (at, obj, header) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?));
            let (extent, blocks, used) = (f.u32()?, f.u32()?, f.u32()?);
            if blocks > segment::extent_blocks_max(image.len()) || used > blocks {
                return Err(Ora::internal("extent too large for its map"));
            }
            segment::format_map(image, at, obj, header, extent, blocks, used);
            Ok(())
        }
        space::SET_STATE => segment::set_state(image, f.u32()?, BlockState::from_code(f.u8()?)),
        space::USE_UNITS => segment::set_units(image, f.u32()?, f.u32()?, true),
        space::FREE_UNITS => segment::set_units(image, f.u32()?, f.u32()?, false),
        space::FILE_BLOCKS => {
            segment::set_file_blocks(image, f.u32()?);
            Ok(())
        }
        space::SET_OBJ => {
            segment::set_obj(image, ObjectId(f.u32()?));
            Ok(())
        }
        space::FORMAT_EXTENT_MAP => {
            let (at, obj, map, header) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?), Rdba(f.u32()?));
            segment::format_extent_map(image, at, obj, map, header, f.u32()?);
            Ok(())
        }
        space::ADD_TO_MAP => segment::add_to_map(image, Extent { start: Rdba(f.u32()?), blocks: f.u32()? }),
        space::DROP_FROM_MAP => segment::drop_from_map(image),
        space::NEXT_MAP => segment::set_next_map(image, Rdba(f.u32()?)),
        space::GOING => {
            segment::set_going(image);
            Ok(())
        }
        _ => return Err(Ora::internal(format_args!("space operation {code}"))),
    };
    done.map_err(|refused: Refused| Ora::internal(format_args!("space operation {code}: {refused:?}")))
}
