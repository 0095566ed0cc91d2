//! The shared caches above storage: library cache and result cache, and what a commit tells them.

use crate::sizes::Sizes;
use crate::state::State;
use library_cache::LibraryCache;
use params::{Designs, InitParams, Param, ResultCacheDesign};
use process::{CleanupOrder, Process, Processes};
use result_cache::{Config, Design, ResultCache};
use row_cache::RowCache;
use sga::SgaBuilder;
use txn::{CommitHook, Transactions};
use types::{ObjectId, Result, Scn};

/// Where the caches lie.
pub struct CachesLayout {
    library: library_cache::Layout,
    results: result_cache::Layout,
    results_config: Config,
}

/// The caches.
#[derive(Clone, Copy)]
pub struct Caches {
    pub library: &'static LibraryCache,
    pub results: &'static ResultCache,
}

impl CachesLayout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder, sizes: &Sizes, designs: &Designs, init: &InitParams) -> CachesLayout {
        let results_config = Config {
            max_size_bytes: sizes.result_cache_bytes,
            max_result_percent: init.number(Param::ResultCacheMaxResult) as u32,
            timeout_ms: init.number(Param::ResultCacheTimeout).max(0) as u64 * 1000,
            design: match designs.result_cache {
                ResultCacheDesign::ExclusiveLong => Design::ExclusiveLong,
                ResultCacheDesign::ExclusiveShort => Design::ExclusiveShort,
                ResultCacheDesign::Shared => Design::Shared,
                ResultCacheDesign::Versioned => Design::Versioned,
            },
            processes: sizes.slots() as u32,
        };
        let library = library_cache::Config { entries: sizes.statements as u32 };
        CachesLayout {
            library: library_cache::Layout::reserve(builder, &library),
            results: result_cache::Layout::reserve(builder, &results_config),
            results_config,
        }
    }
}

impl Caches {
    /// Makes the caches. Run once, by the supervisor, before it forks.
    pub fn create(processes: &'static Processes, layout: &CachesLayout, txns: &'static Transactions) -> Caches {
        let library = Box::leak(Box::new(LibraryCache::create(processes, &layout.library)));
        let results = ResultCache::create(processes, &layout.results, &layout.results_config);
        let results: &'static ResultCache = Box::leak(Box::new(results));
        processes.on_death(CleanupOrder::Builds, "result cache objects", move |p, dead| {
            results.cleanup(p, dead, txns.current_scn());
        });
        Caches { library, results }
    }
}

/// What the instance does around every commit: results that depend on what changed become invalid, and CJQ0 hears of
/// changes to the job queue.
#[derive(Clone, Copy)]
pub struct OnCommit {
    pub results: &'static ResultCache,
    pub rows: &'static RowCache,
    pub state: &'static State,
    pub processes: &'static Processes,
}

impl CommitHook for OnCommit {
    fn before_visible(&self, p: &Process, objects: &[ObjectId]) -> Result<()> {
        self.results.before_visible(p, objects);
        let changed = dictionary::caches_of(objects);
        if !changed.is_empty() {
            self.rows.before_visible(p, changed);
        }
        Ok(())
    }

    fn after(&self, p: &Process, scn: Scn, objects: &[ObjectId]) {
        self.results.after(p, scn, objects);
        self.rows.after(p);
        if objects.contains(&dictionary::Base::Job.table().object) {
            self.state.note_job_change();
            if let Some(slot) = self.state.job_coordinator() {
                self.processes.post(slot as u32 + 1);
            }
        }
    }
}
