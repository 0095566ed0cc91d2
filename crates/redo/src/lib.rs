//! Change vectors: the one way in which blocks change.
//!
//! A change vector says (block, layer, operation, bytes). Each layer registers one function that applies its vectors to a
//! private image of a block; the same function will run at recovery, so it may depend on nothing but the image and the vector.
//! The vectors of one atomic group make a redo record. This crate frames records and checks them; it knows no block layout.

#![forbid(unsafe_code)]

mod record;

pub use record::{Damaged, RecordReader, RecordWriter, Vectors};

use types::{Ora, Rdba, Result, Scn};

/// The part of the database that a change vector belongs to. The numbers are in redo and never change their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Layer {
    /// Any block as bytes: formatting, patching. Operations are this crate's users' lowest common tongue.
    Block = 1,
    /// Segment headers, space maps, file bitmaps.
    Space = 2,
    /// Undo blocks and transaction tables.
    Undo = 3,
    /// ITL slots and delayed block cleanout.
    Transaction = 4,
    /// Rows of heap tables.
    Heap = 5,
    /// Rows and keys of clusters.
    Cluster = 6,
    /// B-tree blocks.
    Index = 7,
    /// For tests only.
    Test = 15,
}

/// How many layers an [`ApplyTable`] can hold.
pub const LAYERS: usize = 16;

impl Layer {
    /// The layer with this number in redo.
    pub fn from_code(code: u8) -> Option<Layer> {
        use Layer::*;
        [Block, Space, Undo, Transaction, Heap, Cluster, Index, Test].into_iter().find(|l| *l as u8 == code)
    }
}

/// One change of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeVector<'a> {
    /// The block.
    pub rdba: Rdba,
    /// Who knows how to apply it.
    pub layer: Layer,
    /// The layer's operation.
    pub op: u8,
    /// The operation's bytes.
    pub data: &'a [u8],
}

/// Applies operation `op` with `data` to the image of a block; must depend on these three alone.
///
/// # Errors
/// ORA-00600 when the change does not fit the block. The image is thrown away then.
pub type ApplyFn = fn(block: &mut [u8], op: u8, data: &[u8]) -> Result<()>;

/// Which function applies the vectors of which layer. Built once before the first fork and never changed.
#[derive(Clone, Default)]
pub struct ApplyTable {
    layers: [Option<ApplyFn>; LAYERS],
}

impl ApplyTable {
    /// A table without layers.
    pub fn new() -> ApplyTable {
        ApplyTable::default()
    }

    /// Adds a layer.
    ///
    /// # Panics
    /// When the layer is there already with another function.
    pub fn register(&mut self, layer: Layer, apply: ApplyFn) -> &mut ApplyTable {
        let entry = &mut self.layers[layer as usize];
        assert!(entry.is_none(), "{layer:?} is registered twice");
        *entry = Some(apply);
        self
    }

    /// Applies a vector to the image of its block.
    ///
    /// # Errors
    /// What the layer says; ORA-00600 when nobody registered it.
    #[inline]
    pub fn apply(&self, block: &mut [u8], cv: &ChangeVector) -> Result<()> {
        match self.layers[cv.layer as usize] {
            Some(apply) => apply(block, cv.op, cv.data),
            None => Err(Ora::internal(format_args!("no apply function for {:?}", cv.layer))),
        }
    }
}

/// Redo byte address: the position behind a record in the redo stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rba(pub u64);

/// Where redo records go.
pub trait RedoSink: Send + Sync {
    /// False when records would be thrown away, so that nobody takes the trouble of encoding them.
    fn wanted(&self) -> bool;
    /// Takes a record; returns the address behind it. A block it changed may be written once [`RedoSink::on_disk`] is there.
    ///
    /// # Errors
    /// The record could not be taken: nothing may be published.
    fn put(&self, scn: Scn, record: &[u8]) -> Result<Rba>;
    /// Everything before this address is on disk.
    fn on_disk(&self) -> Rba;
}

/// Throws redo away: a database that survives clean shutdowns only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRedo;

impl RedoSink for NoRedo {
    fn wanted(&self) -> bool {
        false
    }
    fn put(&self, _: Scn, _: &[u8]) -> Result<Rba> {
        Ok(Rba(0))
    }
    fn on_disk(&self) -> Rba {
        Rba(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_goes_to_its_layer() {
        fn fill(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
            block[usize::from(op)] = data[0];
            Ok(())
        }
        let mut table = ApplyTable::new();
        table.register(Layer::Test, fill);
        let mut block = [0; 4];
        let cv = ChangeVector { rdba: Rdba(1), layer: Layer::Test, op: 2, data: &[7] };
        table.apply(&mut block, &cv).unwrap();
        assert_eq!(block, [0, 0, 7, 0]);
        let lost = ChangeVector { layer: Layer::Heap, ..cv };
        assert!(table.apply(&mut block, &lost).unwrap_err().is(600));
    }
}
