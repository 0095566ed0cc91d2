//! From `latch_generation` to the design of each structure.
//!
//! A generation is a period of history: it picks a design for every structure at once, and the structure's own
//! parameter overrides the pick. The crates below know their designs by enums of their own; the instance translates.

use crate::init::InitParams;
use crate::list::{GENERATIONS, Param};

/// The periods, oldest first; the order is that of [`GENERATIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    V8_1_7,
    V9_2,
    V10_2,
    V11_1,
    V11_2_0_1,
    V11_2_0_3,
    V12_1,
    V12_2,
    V12_2HotCopies,
    Latchwork,
}

/// How a cached block is found and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CbcDesign {
    Exclusive,
    Shared,
    Versioned,
}

/// How the result cache is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultCacheDesign {
    ExclusiveLong,
    ExclusiveShort,
    Shared,
    Versioned,
}

/// How the row cache is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCacheDesign {
    Latch,
    Mutex,
    HotCopies,
    Versioned,
}

/// How a missed latch sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatchSleep {
    Backoff,
    Post,
}

/// Every structure's design in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Designs {
    pub generation: Generation,
    pub cbc: CbcDesign,
    pub result_cache: ResultCacheDesign,
    pub row_cache: RowCacheDesign,
    pub sleep: LatchSleep,
}

impl Generation {
    const ALL: [Generation; 10] = [
        Generation::V8_1_7,
        Generation::V9_2,
        Generation::V10_2,
        Generation::V11_1,
        Generation::V11_2_0_1,
        Generation::V11_2_0_3,
        Generation::V12_1,
        Generation::V12_2,
        Generation::V12_2HotCopies,
        Generation::Latchwork,
    ];

    /// The generation of that name, as [`GENERATIONS`] spells it.
    pub fn from_name(name: &str) -> Option<Generation> {
        let i = GENERATIONS.iter().position(|g| *g == name)?;
        Some(Self::ALL[i])
    }

    /// The name as the parameter has it.
    pub fn name(self) -> &'static str {
        GENERATIONS[self as usize]
    }

    /// The designs of the period.
    pub fn designs(self) -> Designs {
        use Generation::*;
        Designs {
            generation: self,
            cbc: match self {
                Latchwork => CbcDesign::Versioned,
                V8_1_7 => CbcDesign::Exclusive,
                _ => CbcDesign::Shared,
            },
            result_cache: match self {
                Latchwork => ResultCacheDesign::Versioned,
                V11_2_0_1 => ResultCacheDesign::ExclusiveShort,
                g if g >= V11_2_0_3 => ResultCacheDesign::Shared,
                _ => ResultCacheDesign::ExclusiveLong,
            },
            row_cache: match self {
                Latchwork => RowCacheDesign::Versioned,
                V12_2HotCopies => RowCacheDesign::HotCopies,
                V12_2 => RowCacheDesign::Mutex,
                _ => RowCacheDesign::Latch,
            },
            sleep: match self {
                V8_1_7 => LatchSleep::Backoff,
                _ => LatchSleep::Post,
            },
        }
    }
}

impl Designs {
    /// The generation's designs with each structure's own parameter over them.
    pub fn of(params: &InitParams) -> Designs {
        let generation = Generation::from_name(params.get(Param::LatchGeneration)).unwrap_or(Generation::Latchwork);
        let mut d = generation.designs();
        match params.get(Param::CbcDesign) {
            "exclusive" => d.cbc = CbcDesign::Exclusive,
            "shared" => d.cbc = CbcDesign::Shared,
            "versioned" => d.cbc = CbcDesign::Versioned,
            _ => {}
        }
        match params.get(Param::ResultCacheDesign) {
            "exclusive-long" => d.result_cache = ResultCacheDesign::ExclusiveLong,
            "exclusive-short" => d.result_cache = ResultCacheDesign::ExclusiveShort,
            "shared" => d.result_cache = ResultCacheDesign::Shared,
            "versioned" => d.result_cache = ResultCacheDesign::Versioned,
            _ => {}
        }
        match params.get(Param::RowCacheDesign) {
            "latch" => d.row_cache = RowCacheDesign::Latch,
            "mutex" => d.row_cache = RowCacheDesign::Mutex,
            "hot-copies" => d.row_cache = RowCacheDesign::HotCopies,
            "versioned" => d.row_cache = RowCacheDesign::Versioned,
            _ => {}
        }
        match params.get(Param::LatchSleep) {
            "backoff" => d.sleep = LatchSleep::Backoff,
            "post" => d.sleep = LatchSleep::Post,
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
        let pick = |g: &str| Generation::from_name(g).unwrap().designs();
        assert_eq!(pick("8.1.7").cbc, CbcDesign::Exclusive);
        assert_eq!(pick("8.1.7").sleep, LatchSleep::Backoff);
        assert_eq!(pick("11.1").result_cache, ResultCacheDesign::ExclusiveLong);
        assert_eq!(pick("11.2.0.1").result_cache, ResultCacheDesign::ExclusiveShort);
        assert_eq!(pick("11.2.0.3").result_cache, ResultCacheDesign::Shared);
        assert_eq!(pick("12.2").cbc, CbcDesign::Shared);
        assert_eq!(pick("latchwork").cbc, CbcDesign::Versioned);
        for g in GENERATIONS {
            assert_eq!(Generation::from_name(g).unwrap().name(), *g);
        }
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
    }
}
