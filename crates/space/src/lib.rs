//! Space management: which blocks belong to which segment, which of them have room, and temporary space.
//!
//! [`Space`] stands over the buffer cache. What it changes on disk it changes by change vectors of the layer `Space`
//! ([`vectors`]) in change groups, so it survives whatever the groups survive. Temporary space is a matter of the SGA
//! alone ([`TempSpace`]).
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

/// Where the areas lie in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct SpaceLayout {
    temp: TempLayout,
}

impl SpaceLayout {
    /// Reserves the areas for so many processes.
    pub fn reserve(sga: &mut SgaBuilder, processes: usize) -> SpaceLayout {
        SpaceLayout { temp: TempLayout::reserve(sga, processes) }
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

    /// Makes the face of the areas in the SGA. Run once, by the supervisor.
    pub fn create(sga: &'static Sga, layout: &SpaceLayout, cache: &Arc<BufferCache>) -> Space {
        Space { cache: Arc::clone(cache), temp: TempSpace::new(sga, &layout.temp, cache) }
    }

    /// Registers what is to be done with the temporary extents of a process that has died. Run once, before the first
    /// fork.
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
