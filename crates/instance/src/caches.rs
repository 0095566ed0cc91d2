//! The shared caches above storage: library cache and result cache, and the commit hook that keeps them current.

use crate::sizes::Sizes;
use crate::state::State;
use exec::work_area::{WorkAreaLayout, WorkAreas};
use library_cache::{Announced, LibraryCache};
use parallel::Servers;
use params::{Designs, InitParams, Param};
use process::{CleanupOrder, Process, Processes};
use result_cache::{Config, ResultCache};
use row_cache::RowCache;
use sga::SgaBuilder;
use txn::{CommitHook, Transactions};
use types::{ObjectId, Result, Scn};

/// The areas of the caches.
pub struct CachesLayout {
    library: library_cache::Layout,
    library_config: library_cache::Config,
    results: result_cache::Layout,
    results_config: Config,
    areas: WorkAreaLayout,
    servers: parallel::Layout,
}

/// The caches.
#[derive(Clone, Copy)]
pub struct Caches {
    pub library: &'static LibraryCache,
    pub results: &'static ResultCache,
    /// The needs of work areas, counted for all sessions.
    pub areas: &'static WorkAreas,
    /// The servers of parallel queries.
    pub servers: &'static Servers,
}

impl CachesLayout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder, sizes: &Sizes, designs: &Designs, init: &InitParams) -> CachesLayout {
        let results_config = Config {
            max_size_bytes: sizes.result_cache_bytes,
            max_result_percent: init.number(Param::ResultCacheMaxResult) as u32,
            timeout_ms: init.number(Param::ResultCacheTimeout).max(0) as u64 * 1000,
            design: crate::designs::results(designs.result_cache),
            processes: sizes.slots() as u32,
        };
        let library_config = library_config(sizes, designs, init);
        CachesLayout {
            library: library_cache::Layout::reserve(builder, &library_config),
            library_config,
            results: result_cache::Layout::reserve(builder, &results_config),
            results_config,
            areas: WorkAreaLayout::reserve(builder, sizes.slots()),
            servers: parallel::Layout::reserve(builder, init.number(Param::ParallelMaxServers).max(0) as usize),
        }
    }
}

impl Caches {
    /// Makes the caches. Run once, by the supervisor, before it forks (invariant 1).
    pub fn create(processes: &'static Processes, layout: &CachesLayout, txns: &'static Transactions) -> Caches {
        let library = LibraryCache::create(processes, &layout.library, &layout.library_config);
        let library: &'static LibraryCache = Box::leak(Box::new(library));
        library.register();
        let results = ResultCache::create(processes, &layout.results, &layout.results_config);
        let results: &'static ResultCache = Box::leak(Box::new(results));
        processes.on_death(CleanupOrder::Builds, "result cache objects", move |p, dead| {
            results.cleanup(p, dead, txns.current_scn());
        });
        // Runs behind the hook of transactions, which is registered before it, and before locks are released.
        processes.on_death(CleanupOrder::Transaction, "changes of objects", move |p, dead| {
            let scn = txns.current_scn();
            match library.finish_announced(p, dead) {
                Announced::Objects(objects) => {
                    objects.into_iter().for_each(|object| results.invalidate(p, ObjectId(object), scn));
                }
                Announced::All => results.distrust(scn),
            }
            library.forget_claims(p, dead);
        });
        let areas = Box::leak(Box::new(WorkAreas::create(processes.sga(), &layout.areas)));
        let servers: &'static Servers = Box::leak(Box::new(Servers::create(processes.sga(), &layout.servers)));
        processes.on_death(CleanupOrder::Builds, "parallel query servers", move |p, dead| servers.abandon_all(p, dead));
        processes.on_leave(move |p| servers.abandon_all(p, p.number()));
        Caches { library, results, areas, servers }
    }
}

/// Cursors of a session beyond the limits of the parameters: PL/SQL's own.
const MORE_CURSORS: i64 = 64;

fn library_config(sizes: &Sizes, designs: &Designs, init: &InitParams) -> library_cache::Config {
    let cpus = init.number(Param::CpuCount).max(1) as u32;
    let copies = match init.number(Param::KglHotObjectCopies) {
        0 => i64::from(cpus.div_ceil(2).max(2)),
        copies => copies,
    };
    let cursors = init.number(Param::OpenCursors) + init.number(Param::SessionCachedCursors) + MORE_CURSORS;
    library_cache::Config {
        entries: sizes.statements as u32,
        design: crate::designs::library(designs.library_cache),
        generation: designs.generation,
        processes: sizes.slots() as u32,
        cursors: cursors.clamp(128, 2048) as u32,
        latches: library_latches(cpus),
        hot_copies: copies.clamp(1, 255) as u8,
    }
}

/// The number of child latches: the next prime above the number of processors, from 3 to 67.
fn library_latches(cpus: u32) -> u32 {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (cpus.max(2) + 1..67).find(is_prime).unwrap_or(67)
}

/// The hook of every commit: it invalidates the results that depend on changed objects, and posts CJQ0 after changes of
/// the job queue.
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
        use dictionary::Base;
        if [Base::Job, Base::SchedulerJob].iter().any(|base| objects.contains(&base.table().object)) {
            self.state.note_job_change();
            if let Some(slot) = self.state.job_coordinator() {
                self.processes.post(slot as u32 + 1);
            }
        }
    }
}
