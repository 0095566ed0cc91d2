//! Sizes and designs of the cache.

/// The ways to read a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainDesign {
    /// One exclusive latch: two gets for a read with a pin (pin, unpin), one for an examination under the latch.
    Exclusive,
    /// As before, but an examination takes the latch in shared mode; a pin still takes it exclusively.
    Shared,
    /// As [`ChainDesign::Shared`], and a consistent get is one shared get that leaves the buffer pinned for the rest of
    /// the call: the process reads it again without any latch.
    FastPath,
    /// Optimistic: the chain is walked and the frame is read without any shared write, then the header's version is
    /// checked.
    Versioned,
}

impl ChainDesign {
    /// The design that `as u8` gave the number of.
    #[inline]
    pub(crate) fn of_code(code: u8) -> ChainDesign {
        match code {
            0 => ChainDesign::Exclusive,
            1 => ChainDesign::Shared,
            2 => ChainDesign::FastPath,
            _ => ChainDesign::Versioned,
        }
    }
}

/// The configuration of the buffer cache.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// Number of buffers; at least 32.
    pub buffers: usize,
    /// Block size of the database in bytes.
    pub block_size: usize,
    /// The design of the chains.
    pub design: ChainDesign,
    /// The generation of the latches; [`ChainDesign::Shared`] and [`ChainDesign::FastPath`] need one from 9.2 on.
    pub generation: latch::Generation,
    /// Hash chains per child latch: a power of two.
    pub chains_per_latch: usize,
    /// Working sets; each has at least 16 buffers.
    pub working_sets: usize,
    /// Process slots: every process has a pin table and private images.
    pub processes: usize,
}

/// The smallest working set.
const SET_MIN: usize = 16;

/// The most child latches of the chains. Each has a cache line that a start writes, 4 MB of them, and a latch keeps its
/// child number in 21 bits.
const LATCHES_MAX: usize = 1 << 16;

impl CacheConfig {
    /// The default cache with this many buffers.
    pub fn new(buffers: usize, block_size: usize, processes: usize) -> CacheConfig {
        CacheConfig {
            buffers: buffers.max(32),
            block_size,
            design: ChainDesign::Versioned,
            generation: latch::Generation::default(),
            chains_per_latch: 32,
            working_sets: 1,
            processes,
        }
    }

    /// The most pins that a process holds between its reads: limited so that the processes together cannot hold all
    /// buffers.
    pub(crate) fn held_pins(&self) -> usize {
        (self.buffers / (4 * self.processes)).min(HELD_MAX)
    }

    /// The number of working sets.
    pub fn sets(&self) -> usize {
        self.buffers.div_ceil(self.set_size())
    }

    /// Buffers of a working set; the last one may have fewer.
    pub(crate) fn set_size(&self) -> usize {
        self.buffers.div_ceil(self.working_sets.clamp(1, (self.buffers / SET_MIN).max(1)))
    }

    /// Number of hash chains: the power of two at or above twice the buffers.
    pub fn chains(&self) -> usize {
        (2 * self.buffers).next_power_of_two()
    }

    /// Number of `cache buffers chains` child latches: one for `chains_per_latch` chains, at least 64, and at most as
    /// many as a start can format quickly.
    pub fn latches(&self) -> usize {
        (self.chains() / self.chains_per_latch.max(1)).max(64).min(self.chains()).min(LATCHES_MAX)
    }
}

/// Private images a process has: the most blocks a change group may change.
pub const GROUP_BLOCKS_MAX: usize = 16;

/// The most blocks of one multiblock read.
pub const MULTIBLOCK_MAX: usize = 32;

/// The most pins that a process holds between its reads: a cache line of words.
pub(crate) const HELD_MAX: usize = 8;
