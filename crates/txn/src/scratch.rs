//! Private memory for CR images.

use crate::Snapshot;
use block::{BlockKind, BlockView, Image};
use types::{ObjectId, Rdba, Scn, Uba, Xid};

/// The block and snapshot that an image shows. Later changes of the block are invisible to the snapshot, so the image
/// stays right as long as rows do not move to other blocks: images of heap blocks are kept, those of index blocks,
/// which split, are not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shows {
    pub(crate) at: Rdba,
    pub(crate) obj: ObjectId,
    pub(crate) scn: Scn,
    pub(crate) xid: Option<Xid>,
    pub(crate) own: Option<Uba>,
}

impl Shows {
    pub(crate) fn of(at: Rdba, view: &BlockView<'_>, s: &Snapshot) -> Option<Shows> {
        let kept = view.kind_code() == BlockKind::Heap as u8;
        kept.then(|| Shows { at, obj: view.obj(), scn: s.scn, xid: s.xid, own: s.own })
    }
}

/// Private memory for building a CR image, kept for reuse: a statement that changes a block row by row through an index
/// needs the same image for each row.
pub(crate) struct Scratch {
    pub(crate) image: Image,
    pub(crate) record: Vec<u8>,
    pub(crate) shows: Option<Shows>,
}

impl Scratch {
    pub(crate) fn new(block_size: usize) -> Scratch {
        Scratch { image: Image::new(block_size), record: Vec::new(), shows: None }
    }
}
