//! Space management: the blocks of segments, the room in them, and temporary space.
//!
//! [`Space`] works on the buffer cache. It changes blocks by change vectors of the layer `Space` ([`vectors`]) in
//! change groups, so its changes survive exactly as the groups do. Temporary space exists only in the SGA
//! ([`TempSpace`]).
#![forbid(unsafe_code)]

mod segments;
mod temp;
mod vectors;

pub use segments::InsertHint;
pub use temp::{TEMP_EXTENT_BLOCKS, TempSpace, TempUsage};

use buffer_cache::BufferCache;
use process::{CleanupOrder, Processes};
use redo::{ApplyTable, Layer};
use sga::{Sga, SgaBuilder};
use std::sync::Arc;
use temp::TempLayout;

/// The places of the areas in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct SpaceLayout {
    temp: TempLayout,
}

impl SpaceLayout {
    /// Reserves the areas for so many processes.
    pub fn reserve(sga: &mut SgaBuilder, processes: usize) -> SpaceLayout {
        SpaceLayout::reserve_with(sga, processes, temp::POOL)
    }

    /// Reserves the areas for so many processes, and words for so many stretches of 1,024 temporary extents.
    pub fn reserve_with(sga: &mut SgaBuilder, processes: usize, stretches: usize) -> SpaceLayout {
        SpaceLayout { temp: TempLayout::reserve(sga, processes, stretches) }
    }
}

/// Space management over a cache. Clones share everything.
#[derive(Clone)]
pub struct Space {
    cache: Arc<BufferCache>,
    temp: TempSpace,
}

impl Space {
    /// Adds the layer `Space` to the table.
    pub fn register_apply(table: &mut ApplyTable) {
        table.register(Layer::Space, vectors::apply_space);
    }

    /// Finds the areas in the SGA. Run once, by the supervisor.
    pub fn create(sga: &'static Sga, layout: &SpaceLayout, cache: &Arc<BufferCache>) -> Space {
        Space { cache: Arc::clone(cache), temp: TempSpace::new(sga, &layout.temp, cache) }
    }

    /// Registers the hook that frees the temporary extents of a dead process. Run once, before the first fork.
    pub fn register_with(&self, all: &Processes) {
        let temp = self.temp.clone();
        all.on_death(CleanupOrder::Session, "temporary extents", move |p, dead| temp.clean_up(p, dead));
    }

    /// The buffer cache below.
    pub fn cache(&self) -> &Arc<BufferCache> {
        &self.cache
    }

    /// Temporary space.
    pub fn temp(&self) -> &TempSpace {
        &self.temp
    }
}
