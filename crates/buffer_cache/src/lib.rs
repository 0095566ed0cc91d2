//! The buffer cache: blocks of data files in shared memory, and the atomic change of several blocks.
//!
//! A block is found through a hash chain ([`chains`]), read in one of four designs ([`read`]), changed by a change
//! group ([`group`]), replaced by touch count ([`lru`]) and written by DBWn ([`writer`]) in the order of the changes
//! ([`queue`]), each by working set ([`sets`]). [`pins`] has the pins, [`cleanup`] their cleaning after a death, and
//! [`header`] the table of a buffer's states.
//!
//! The cache knows no undo: the crate above decides which version of a block a query may see.
#![deny(unsafe_code)] // Except the frames, and the layouts of structures in shared memory.

mod advice;
mod apply;
mod area;
mod cache;
mod chains;
mod claim;
mod cleanup;
mod config;
mod counts;
mod create;
mod discard;
mod figures;
#[allow(unsafe_code)] // The frames of the mapping as bytes.
mod frames;
mod group;
mod header;
mod held;
mod info;
mod lru;
mod pins;
mod queue;
mod read;
mod set;
mod sets;
mod writer;

pub use advice::{PRESENT as ADVICE_PRESENT, SIZES as ADVICE_SIZES};
pub use apply::{format_vector, is_whole, is_zeros, op, register};
pub use area::WRITES_MAX;
pub use cache::{BufferCache, CacheLayout, GetKind, PostWriter};
pub use config::{CacheConfig, ChainDesign, GROUP_BLOCKS_MAX, MULTIBLOCK_MAX};
pub use figures::{CLASSES, FileIo};
pub use group::{BlockRef, ChangeGroup, give_way, is_retry};
pub use header::BufferInfo;
pub use read::{Ahead, PREFETCH_BLOCKS, Stamp};
pub use sets::{SetInfo, Share};
pub use writer::Checkpoint;
