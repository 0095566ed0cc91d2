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

/// The names of the designs in parameters.
pub(crate) fn chains_name(design: ChainDesign) -> &'static str {
    match design {
        ChainDesign::Exclusive => "exclusive",
        ChainDesign::Shared => "shared",
        ChainDesign::FastPath => "fastpath",
        ChainDesign::Versioned => "versioned",
    }
}

pub(crate) fn results_name(design: result_cache::Design) -> &'static str {
    match design {
        result_cache::Design::ExclusiveLong => "exclusive-long",
        result_cache::Design::ExclusiveShort => "exclusive-short",
        result_cache::Design::Shared => "shared",
        result_cache::Design::Versioned => "versioned",
    }
}

pub(crate) fn rows_name(design: row_cache::Design) -> &'static str {
    match design {
        row_cache::Design::Latch => "latch",
        row_cache::Design::Mutex => "mutex",
        row_cache::Design::HotCopies => "hot-copies",
        row_cache::Design::Versioned => "versioned",
    }
}

pub(crate) fn library_name(design: library_cache::Design) -> &'static str {
    match design {
        library_cache::Design::Latch => "latch",
        library_cache::Design::Pins => "pins",
        library_cache::Design::Mutex => "mutex",
        library_cache::Design::Versioned => "versioned",
    }
}

pub(crate) fn sleep_name(algorithm: SleepAlgorithm) -> &'static str {
    match algorithm {
        SleepAlgorithm::WaitList => "post",
        SleepAlgorithm::ExponentialBackOff => "backoff",
    }
}
