//! The design of each structure, derived from `latch_generation`.
//!
//! A generation is a period of Oracle's history: it picks a design for every structure at once, and the structure's own
//! parameter overrides it. The crates below have design enums of their own; the instance translates.

use crate::init::InitParams;
use crate::list::Param;
use latch::Generation;

/// The design of the cache buffers chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CbcDesign {
    Exclusive,
    Shared,
    FastPath,
    Versioned,
}

/// The design of the result cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultCacheDesign {
    ExclusiveLong,
    ExclusiveShort,
    Shared,
    Versioned,
}

/// The design of the row cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCacheDesign {
    Latch,
    Mutex,
    HotCopies,
    Versioned,
}

/// The design of the library cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryCacheDesign {
    /// Child latches for handles and for pins.
    Latch,
    /// Child latches for handles, a mutex in each cursor for its pins.
    Pins,
    Mutex,
    Versioned,
}

/// The sleep of a process that misses a latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatchSleep {
    Backoff,
    Post,
}

/// A design by its own name, or by that of a generation: the one of its period.
macro_rules! named {
    ($( $design:ident, $field:ident: $( $word:literal = $value:ident ),+; )*) => { $(
        impl $design {
            /// The design of this name, which may be that of a generation; `None` for any other word.
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $( $word => Some(Self::$value), )+
                    _ => Generation::named(word).map(|generation| Designs::of_period(generation).$field),
                }
            }
        }
    )* };
}

named! {
    CbcDesign, cbc: "exclusive" = Exclusive, "shared" = Shared, "fastpath" = FastPath, "versioned" = Versioned;
    ResultCacheDesign, result_cache: "exclusive-long" = ExclusiveLong, "exclusive-short" = ExclusiveShort,
        "shared" = Shared, "versioned" = Versioned;
    RowCacheDesign, row_cache: "latch" = Latch, "mutex" = Mutex, "hot-copies" = HotCopies, "versioned" = Versioned;
    LibraryCacheDesign, library_cache: "latch" = Latch, "pins" = Pins, "mutex" = Mutex, "versioned" = Versioned;
    LatchSleep, sleep: "backoff" = Backoff, "post" = Post;
}

/// The process that writes the log for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogWriter {
    /// The first process that waits.
    Leader,
    Lgwr,
}

/// The designs in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Designs {
    pub generation: Generation,
    pub cbc: CbcDesign,
    pub result_cache: ResultCacheDesign,
    pub row_cache: RowCacheDesign,
    pub library_cache: LibraryCacheDesign,
    pub sleep: LatchSleep,
    pub log_writer: LogWriter,
}

impl Designs {
    /// The designs of the period.
    fn of_period(generation: Generation) -> Designs {
        use Generation::*;
        Designs {
            generation,
            cbc: match generation {
                Latchwork => CbcDesign::Versioned,
                V8_1_7 => CbcDesign::Exclusive,
                V9_2 | V10_2 => CbcDesign::Shared,
                _ => CbcDesign::FastPath,
            },
            result_cache: match generation {
                Latchwork => ResultCacheDesign::Versioned,
                V11_2_0_1 => ResultCacheDesign::ExclusiveShort,
                g if g >= V11_2_0_3 => ResultCacheDesign::Shared,
                _ => ResultCacheDesign::ExclusiveLong,
            },
            row_cache: match generation {
                Latchwork => RowCacheDesign::Versioned,
                V12_2HotCopies => RowCacheDesign::HotCopies,
                V12_2 => RowCacheDesign::Mutex,
                _ => RowCacheDesign::Latch,
            },
            library_cache: match generation {
                Latchwork => LibraryCacheDesign::Versioned,
                V8_1_7 | V9_2 => LibraryCacheDesign::Latch,
                V10_2 => LibraryCacheDesign::Pins,
                _ => LibraryCacheDesign::Mutex,
            },
            sleep: match generation {
                V8_1_7 => LatchSleep::Backoff,
                _ => LatchSleep::Post,
            },
            log_writer: match generation {
                Latchwork => LogWriter::Leader,
                _ => LogWriter::Lgwr,
            },
        }
    }

    /// The generation's designs, overridden by each structure's own parameter.
    pub fn of(params: &InitParams) -> Designs {
        let generation = Generation::named(params.get(Param::LatchGeneration)).unwrap_or_default();
        let mut d = Designs::of_period(generation);
        // A switch that was also written to the parameter file comes last.
        for param in [Param::CbcDesign, Param::SwitchCbc] {
            d.cbc = CbcDesign::named(params.get(param)).unwrap_or(d.cbc);
        }
        for param in [Param::ResultCacheDesign, Param::SwitchResultCache] {
            d.result_cache = ResultCacheDesign::named(params.get(param)).unwrap_or(d.result_cache);
        }
        for param in [Param::RowCacheDesign, Param::SwitchRowCache] {
            d.row_cache = RowCacheDesign::named(params.get(param)).unwrap_or(d.row_cache);
        }
        for param in [Param::LibraryCacheDesign, Param::SwitchLibraryCache] {
            d.library_cache = LibraryCacheDesign::named(params.get(param)).unwrap_or(d.library_cache);
        }
        for param in [Param::LatchSleep, Param::SwitchLatchSleep] {
            d.sleep = LatchSleep::named(params.get(param)).unwrap_or(d.sleep);
        }
        match params.get(Param::LogWriter) {
            "leader" => d.log_writer = LogWriter::Leader,
            "lgwr" => d.log_writer = LogWriter::Lgwr,
            _ => {}
        }
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_picks_its_periods_designs() {
        let pick = |g: &str| Designs::of_period(Generation::named(g).unwrap());
        assert_eq!(pick("8.1.7").cbc, CbcDesign::Exclusive);
        assert_eq!(pick("8.1.7").sleep, LatchSleep::Backoff);
        assert_eq!(pick("12.2").log_writer, LogWriter::Lgwr);
        assert_eq!(pick("11.1").result_cache, ResultCacheDesign::ExclusiveLong);
        assert_eq!(pick("11.2.0.1").result_cache, ResultCacheDesign::ExclusiveShort);
        assert_eq!(pick("11.2.0.3").result_cache, ResultCacheDesign::Shared);
        assert_eq!(pick("10.2").cbc, CbcDesign::Shared);
        assert_eq!(pick("11.1").cbc, CbcDesign::FastPath);
        assert_eq!(pick("12.2").cbc, CbcDesign::FastPath);
        assert_eq!(pick("9.2").library_cache, LibraryCacheDesign::Latch);
        assert_eq!(pick("10.2").library_cache, LibraryCacheDesign::Pins);
        assert_eq!(pick("11.1").library_cache, LibraryCacheDesign::Mutex);
        assert_eq!(pick("latchwork").library_cache, LibraryCacheDesign::Versioned);
        assert_eq!(pick("latchwork").cbc, CbcDesign::Versioned);
    }

    #[test]
    fn a_structures_own_parameter_overrides_the_generation() {
        let mut p = InitParams::default();
        p.set("latch_generation", "11.1").unwrap();
        p.set("_cbc_design", "versioned").unwrap();
        p.set("_latch_sleep", "backoff").unwrap();
        let d = Designs::of(&p);
        assert_eq!(d.cbc, CbcDesign::Versioned);
        assert_eq!(d.sleep, LatchSleep::Backoff);
        assert_eq!(d.result_cache, ResultCacheDesign::ExclusiveLong);
        p.set("_switch_cache_buffers_chains", "8.1.7").unwrap();
        p.set("_switch_result_cache", "shared").unwrap();
        let d = Designs::of(&p);
        assert_eq!((d.cbc, d.result_cache), (CbcDesign::Exclusive, ResultCacheDesign::Shared));
        assert_eq!(RowCacheDesign::named("12.2-hot-copies"), Some(RowCacheDesign::HotCopies));
        assert_eq!(
            (LibraryCacheDesign::named("pins"), LibraryCacheDesign::named("")),
            (Some(LibraryCacheDesign::Pins), None)
        );
    }
}
