//! The library cache: statements, and the cursors that sessions share, behind `v$sql`.
//!
//! A **parent** is a statement: its text, and the digest of the text, from which `sql_id` is derived. A **child** is
//! one version of the statement: the environment it was parsed in, its figures, and its plan, as rows for views and as
//! an image that sessions make their cursors of. A session executes its own copy of the image, checked against the
//! dictionary, so the eviction of a cursor loses its figures and costs a hard parse, and nothing else.
//!
//! Four designs protect the same structures: module `find` has the table of gets. In the versioned design an execution
//! writes nothing shared: the session counts in its own cursor and adds to the child now and then
//! ([`LibraryCache::add`]).
//!
//! See `README.md` for the invariants.
#![deny(unsafe_code)] // allowed only for the layouts in shared memory

use std::sync::atomic::{AtomicU64, Ordering};

use latch::{DesignWord, InForce, Latch, LatchName, Structure, Versioned};
use process::{LatchSet, Process, Processes};

mod adaptive;
mod advice;
mod announce;
mod change;
mod config;
mod evict;
mod figures;
mod find;
mod guard;
mod identity;
mod image;
mod key;
mod layout;
mod ledger;
mod load;
mod mismatch;
mod object;
mod pin;
mod run;
mod running;
mod sharing;
mod switch;
mod view;
mod words;

pub use adaptive::Fit;
pub use advice::{ADVICE_PRESENT, ADVICE_SIZES};
pub use announce::Announced;
pub use config::{Config, Design, NAME_BYTES_MAX, PLAN_BYTES_MAX, TEXT_BYTES_MAX};
pub use figures::Delta;
pub use find::{CANDIDATES_MOST, Candidates};
pub use identity::{Digest, Env, Handle, Namespace, Statement};
pub use image::{Edition, LeftOut};
pub use layout::{Content, Layout};
pub use mismatch::Mismatch;
pub use object::Object;
pub use pin::{CursorSlot, OuterBlock};
pub use run::{AreaCounts, LINES_MOST, LineCounts, LineFigures};
pub use running::Refused;
pub use sharing::{Adaptive, CORRECTIONS_MAX, PREDICATES_MAX, Sharing, SharingRow, bucket_of};
pub use types::sql_id_of;
pub use view::{ChildRow, NamespaceRow, OpenCursor, ParentRow, SessionCursor, statement_bytes};

use layout::{Bucket, Child, Chunk, Control, LedgerEntry, Line, Parent};

/// The library cache: one process's view of the shared structure.
pub struct LibraryCache {
    pub(crate) all: &'static Processes,
    /// The word of the design in force.
    pub(crate) design: &'static DesignWord,
    pub(crate) control: &'static Control,
    pub(crate) parents: &'static [Parent],
    pub(crate) children: &'static [Child],
    pub(crate) chunks: &'static [Chunk],
    pub(crate) buckets: &'static [Bucket],
    pub(crate) latches: &'static [Versioned],
    pub(crate) pin_latches: &'static [Latch],
    pub(crate) pool: &'static Latch,
    pub(crate) lines: &'static [Line],
    pub(crate) ledgers: &'static [LedgerEntry],
    /// The cursor words of all processes, process by process.
    pub(crate) cursors: &'static [AtomicU64],
    pub(crate) cursors_each: usize,
    pub(crate) hot_copies: u8,
    /// The sample of gets for `v$shared_pool_advice`.
    pub(crate) advice: cache_advice::Reuse,
}

impl LibraryCache {
    /// Formats the areas; run once, before the first process is forked.
    pub fn create(all: &'static Processes, layout: &Layout, config: &Config) -> LibraryCache {
        let sga = all.sga();
        let (latches, pin_latches) = (sga.slice(layout.latches), sga.slice(layout.pin_latches));
        for (n, latch) in latches.iter().enumerate() {
            latch.format(LatchName::LibraryCache, n as u32 + 1, config.generation);
        }
        for (n, latch) in pin_latches.iter().enumerate() {
            latch.format(LatchName::LibraryCachePin, n as u32 + 1, config.generation);
        }
        all.register_children(LatchName::LibraryCache, LatchSet::Versioned(latches));
        all.register_children(LatchName::LibraryCachePin, LatchSet::Plain(pin_latches));
        let design = all.domain().design(Structure::LibraryCache);
        design.format(config.design.code());
        LibraryCache {
            all,
            design,
            control: &sga.slice(layout.control)[0],
            parents: sga.slice(layout.parents),
            children: sga.slice(layout.children),
            chunks: sga.slice(layout.chunks),
            buckets: sga.slice(layout.buckets),
            latches,
            pin_latches,
            pool: all.latch(LatchName::SharedPool),
            lines: sga.slice(layout.lines),
            ledgers: sga.slice(layout.ledgers),
            cursors: sga.slice(layout.cursors),
            advice: cache_advice::Reuse::create(sga, &layout.advice),
            cursors_each: config.cursors.max(8) as usize,
            hot_copies: config.hot_copies.max(1),
        }
    }

    /// The design in force, with its epoch.
    pub fn in_force(&self) -> InForce {
        self.design.now()
    }

    /// The design in force.
    #[inline]
    pub fn design(&self) -> Design {
        Design::from_code(self.design.now().code()).unwrap_or(Design::Versioned)
    }

    /// The parents that were ever used. The others have never been touched, and stay so: a look would take their
    /// memory.
    pub(crate) fn parents_used(&self) -> &'static [Parent] {
        let used = self.control.parents_fresh.load(Ordering::Acquire) as usize;
        &self.parents[..used.min(self.parents.len())]
    }

    /// The children that were ever used, as [`Self::parents_used`].
    pub(crate) fn children_used(&self) -> &'static [Child] {
        let used = self.control.children_fresh.load(Ordering::Acquire) as usize;
        &self.children[..used.min(self.children.len())]
    }

    pub(crate) fn line(&self, p: &Process) -> &'static Line {
        &self.lines[p.number() as usize - 1]
    }

    /// The cursors that a process shows.
    pub(crate) fn cursors_of(&self, number: u32) -> &'static [AtomicU64] {
        let from = (number as usize - 1) * self.cursors_each;
        self.cursors.get(from..from + self.cursors_each).unwrap_or_default()
    }
}
