//! The designs of the parameters in the terms of the crates that have them.

use buffer_cache::ChainDesign;
use latch::{Generation, SleepAlgorithm};
use params::{CbcDesign, LatchSleep, LibraryCacheDesign, ResultCacheDesign, RowCacheDesign};

/// The design of the cache buffers chains, for latches of a generation.
pub(crate) fn chains(design: CbcDesign, generation: Generation) -> ChainDesign {
    match design {
        CbcDesign::Exclusive => ChainDesign::Exclusive,
        // Before 9.2 latches could not be shared.
        CbcDesign::Shared | CbcDesign::FastPath if generation < Generation::V9_2 => ChainDesign::Exclusive,
        CbcDesign::Shared => ChainDesign::Shared,
        CbcDesign::FastPath => ChainDesign::FastPath,
        CbcDesign::Versioned => ChainDesign::Versioned,
    }
}

pub(crate) fn results(design: ResultCacheDesign) -> result_cache::Design {
    match design {
        ResultCacheDesign::ExclusiveLong => result_cache::Design::ExclusiveLong,
        ResultCacheDesign::ExclusiveShort => result_cache::Design::ExclusiveShort,
        ResultCacheDesign::Shared => result_cache::Design::Shared,
        ResultCacheDesign::Versioned => result_cache::Design::Versioned,
    }
}

pub(crate) fn rows(design: RowCacheDesign) -> row_cache::Design {
    match design {
        RowCacheDesign::Latch => row_cache::Design::Latch,
        RowCacheDesign::Mutex => row_cache::Design::Mutex,
        RowCacheDesign::HotCopies => row_cache::Design::HotCopies,
        RowCacheDesign::Versioned => row_cache::Design::Versioned,
    }
}

pub(crate) fn library(design: LibraryCacheDesign) -> library_cache::Design {
    match design {
        LibraryCacheDesign::Latch => library_cache::Design::Latch,
        LibraryCacheDesign::Pins => library_cache::Design::Pins,
        LibraryCacheDesign::Mutex => library_cache::Design::Mutex,
        LibraryCacheDesign::Versioned => library_cache::Design::Versioned,
    }
}

pub(crate) fn sleep(design: LatchSleep) -> SleepAlgorithm {
    match design {
        LatchSleep::Post => SleepAlgorithm::WaitList,
        LatchSleep::Backoff => SleepAlgorithm::ExponentialBackOff,
    }
}

/// The names of the designs in parameters, by the number of the design.
pub(crate) const CHAINS: [&str; 4] = ["exclusive", "shared", "fastpath", "versioned"];
pub(crate) const RESULTS: [&str; 4] = ["exclusive-long", "exclusive-short", "shared", "versioned"];
pub(crate) const ROWS: [&str; 4] = ["latch", "mutex", "hot-copies", "versioned"];
pub(crate) const LIBRARY: [&str; 4] = ["latch", "pins", "mutex", "versioned"];
pub(crate) const SLEEP: [&str; 2] = ["post", "backoff"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_stand_at_the_numbers_of_the_designs() {
        for (at, name) in CHAINS.into_iter().enumerate() {
            let design = chains(CbcDesign::named(name).unwrap(), Generation::default());
            assert_eq!(design as usize, at, "{name}");
        }
        for (at, name) in RESULTS.into_iter().enumerate() {
            assert_eq!(results(ResultCacheDesign::named(name).unwrap()) as usize, at, "{name}");
        }
        for (at, name) in ROWS.into_iter().enumerate() {
            assert_eq!(rows(RowCacheDesign::named(name).unwrap()) as usize, at, "{name}");
        }
        for (at, name) in LIBRARY.into_iter().enumerate() {
            assert_eq!(library(LibraryCacheDesign::named(name).unwrap()) as usize, at, "{name}");
        }
        for (at, name) in SLEEP.into_iter().enumerate() {
            assert_eq!(sleep(LatchSleep::named(name).unwrap()) as usize, at, "{name}");
        }
    }
}
