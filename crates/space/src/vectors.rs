//! The change vectors of segment headers, extent maps, space maps and file bitmaps, and how they are applied.

use block::segment::{self, NewMap, RoomClass};
use block::{BlockState, Extent, Refused, SegmentKind};
use redo::Fields;
use types::{ObjectId, Ora, Rdba, Result};

pub(crate) const FORMAT_SEGMENT: u8 = 1;
pub(crate) const ADD_EXTENT: u8 = 2;
pub(crate) const DROP_EXTENT: u8 = 3;
pub(crate) const SEGMENT_AUX: u8 = 5;
pub(crate) const SET_STATE: u8 = 7;
pub(crate) const USE_UNITS: u8 = 8;
pub(crate) const FREE_UNITS: u8 = 9;
pub(crate) const FILE_BLOCKS: u8 = 10;
pub(crate) const SET_OBJ: u8 = 11;
pub(crate) const FORMAT_EXTENT_MAP: u8 = 12;
pub(crate) const ADD_TO_MAP: u8 = 13;
pub(crate) const DROP_FROM_MAP: u8 = 14;
pub(crate) const NEXT_MAP: u8 = 15;
pub(crate) const GOING: u8 = 16;
pub(crate) const EXTENT_CLASS: u8 = 17;
pub(crate) const ROOM_LIST: u8 = 18;
pub(crate) const FORMAT_MAP: u8 = 19;

/// Applies a vector, from its bytes and the block alone (S2).
pub(crate) fn apply_space(image: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields::new(data);
    let done = match code {
        FORMAT_SEGMENT => {
            let (at, obj, map, tablespace) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?), f.u32()?);
            let kind = SegmentKind::from_code(f.u8()?).ok_or_else(|| Ora::internal("segment kind"))?;
            segment::format_segment(image, at, obj, map, tablespace, kind);
            Ok(())
        }
        ADD_EXTENT => segment::add_extent(image, Extent { start: Rdba(f.u32()?), blocks: f.u32()? }),
        DROP_EXTENT => segment::drop_extent(image, f.u32()?),
        EXTENT_CLASS => segment::set_class(image, f.u32()?, RoomClass::from_code(f.u8()?)),
        ROOM_LIST => {
            segment::set_room_list(image, Rdba(f.u32()?), f.u32()?);
            Ok(())
        }
        SEGMENT_AUX => {
            segment::set_segment_aux(image, f.u32()?, f.u32()?, f.u64()?);
            Ok(())
        }
        FORMAT_MAP => {
            let (at, obj) = (Rdba(f.u32()?), ObjectId(f.u32()?));
            let (segment, list) = (Rdba(f.u32()?), Rdba(f.u32()?));
            let new = NewMap { segment, list, extent: f.u32()?, blocks: f.u32()?, used: f.u32()? };
            if new.blocks > segment::extent_blocks_max(image.len()) || new.used > new.blocks {
                return Err(Ora::internal("extent too large for its map"));
            }
            segment::format_map(image, at, obj, new);
            Ok(())
        }
        SET_STATE => segment::set_state(image, f.u32()?, BlockState::read(f.u8()?)),
        USE_UNITS => segment::set_units(image, f.u32()?, f.u32()?, true),
        FREE_UNITS => segment::set_units(image, f.u32()?, f.u32()?, false),
        FILE_BLOCKS => {
            segment::set_file_blocks(image, f.u32()?);
            Ok(())
        }
        SET_OBJ => {
            segment::set_obj(image, ObjectId(f.u32()?));
            Ok(())
        }
        FORMAT_EXTENT_MAP => {
            let (at, obj, map, header) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?), Rdba(f.u32()?));
            segment::format_extent_map(image, at, obj, map, header, f.u32()?);
            Ok(())
        }
        ADD_TO_MAP => segment::add_to_map(image, Extent { start: Rdba(f.u32()?), blocks: f.u32()? }),
        DROP_FROM_MAP => segment::drop_from_map(image),
        NEXT_MAP => segment::set_next_map(image, Rdba(f.u32()?)),
        GOING => {
            segment::set_going(image);
            Ok(())
        }
        _ => return Err(Ora::internal(format_args!("space operation {code}"))),
    };
    done.map_err(|refused: Refused| Ora::internal(format_args!("space operation {code}: {refused:?}")))
}
