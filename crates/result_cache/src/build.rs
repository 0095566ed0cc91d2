//! Building a result: the first reader of a key executes, and the others wait.
//!
//! Gets in the exclusive designs for `R` blocks: the find of the access inserts the first block; then one get for each
//! further block, one to attach the dependencies, two more for each new dependency, one to publish; and the unpin of
//! the access. That is `R + 1` for a result and 2 for a dependency in addition to the two gets of any access: 204 for
//! the published case of 199 blocks and one new dependency.

use latch::Where;
use process::{Process, Section};
use std::sync::atomic::Ordering;

use enqueue::{Enqueues, LockId};
use types::{ObjectId, Scn};

use crate::key::{Key, push_frame};
use crate::layout::*;
use crate::{ResultCache, Statistic};

/// A result that this process builds (R4). Ends with [`ResultCache::publish`] or [`ResultCache::abandon`].
#[must_use = "others wait until it is published or abandoned"]
pub struct Build {
    id: u64,
    snapshot: Scn,
    /// Its RC enqueue; `None` when it could not be got, and waiters poll.
    lock: Option<LockId>,
    depends: [ObjectId; DEPENDENCIES_MAX],
    depend_count: usize,
    started_cs: u64,
    data: Vec<u8>,
    rows: u64,
    row_min: u32,
    row_max: u32,
    too_large: bool,
}

impl Build {
    pub(crate) fn new(id: u64, snapshot: Scn, lock: Option<LockId>, objects: &[ObjectId], started_cs: u64) -> Build {
        let mut depends = [ObjectId(0); DEPENDENCIES_MAX];
        depends[..objects.len()].copy_from_slice(objects);
        Build {
            id,
            snapshot,
            lock,
            depends,
            depend_count: objects.len(),
            started_cs,
            data: Vec::new(),
            rows: 0,
            row_min: u32::MAX,
            row_max: 0,
            too_large: false,
        }
    }
}

impl ResultCache {
    /// Adds a row in the format of `types::row`. A result that exceeds its limit is noted as too large and not kept.
    pub fn push(&self, build: &mut Build, row: &[u8]) {
        let limit = self.control.result_blocks_max.load(Ordering::Relaxed) as usize * PAYLOAD_BYTES;
        if build.too_large || build.data.len() + row.len() + 6 > limit {
            build.too_large = true;
            build.data = Vec::new();
            return;
        }
        push_frame(&mut build.data, row);
        build.rows += 1;
        build.row_min = build.row_min.min(row.len() as u32);
        build.row_max = build.row_max.max(row.len() as u32);
    }

    /// Stores the rows and makes them visible to all, unless a dependency has changed since the snapshot or memory ran
    /// out. Returns whether the result was published; the statement's own answer is correct in either case.
    ///
    /// Latches: none held on entry or return. Statistics: `Create Count Success`, `Create Count Failure`.
    pub fn publish(&self, p: &Process, enqueues: &Enqueues, build: Build) -> bool {
        if build.too_large || !self.store_rows(p, &build) || !self.attach_dependencies(p, &build) {
            self.abandon(p, enqueues, build);
            return false;
        }
        let published = {
            let section = p.lock(self.latch, Where::RcPublish, build.id);
            let head = &self.blocks[build.id as usize];
            let depends = &build.depends[..build.depend_count];
            // A flush or an invalidation does not remove a New object, but a commit may have happened meanwhile.
            let fits = self.may_build(depends, build.snapshot);
            let state = head.get(word::STATE);
            if fits {
                for object in depends {
                    let word = &self.slot(*object).object;
                    section.set(word, word.load(Ordering::Relaxed) + (1 << 32));
                }
                section.set(&head.words[word::OWNER], 0);
                section.set(&head.words[word::BUILD_TIME_CS], self.clock_cs().saturating_sub(build.started_cs));
                section.set(&head.words[word::STATE], State::with_status(state, Status::Published));
            }
            fits
        };
        if published {
            self.finish(p, enqueues, build, None);
            self.count(p, Statistic::CreateCountSuccess);
        } else {
            self.abandon(p, enqueues, build);
        }
        published
    }

    /// Gives up a build. A result that was too large leaves a Bypass object, so that it is not tried again.
    pub fn abandon(&self, p: &Process, enqueues: &Enqueues, build: Build) {
        let status = if build.too_large { Status::Bypass } else { Status::Invalid };
        self.finish(p, enqueues, build, Some(status));
        self.count(p, Statistic::CreateCountFailure);
    }

    /// The last get of the access: unpins the object, removes it if the build failed, and wakes the waiters.
    fn finish(&self, p: &Process, enqueues: &Enqueues, build: Build, failed: Option<Status>) {
        {
            let mut section = p.lock(self.latch, Where::RcRelease, build.id);
            let head = &self.blocks[build.id as usize];
            if let Some(status) = failed {
                section.set(&head.words[word::STATE], State::with_status(head.get(word::STATE), status));
                section.set(&head.words[word::OWNER], 0);
            }
            let pins = &head.words[word::PINS];
            section.set(pins, pins.load(Ordering::Relaxed).checked_sub(1).expect("the builder has a pin"));
            let building = &self.line(p).building;
            let mine = building.iter().find(|slot| slot.load(Ordering::Relaxed) == build.id + 1);
            section.set(mine.expect("the builder has noted what it builds"), 0);
            drop(if failed == Some(Status::Invalid) {
                self.retire(&mut section, build.id)
            } else {
                self.free_if_retired(&mut section, build.id)
            });
        }
        if let Some(lock) = build.lock {
            enqueues.release(p, lock);
        }
    }

    /// Stores the rows in the first block, or in as many further blocks as they need: one get for each.
    fn store_rows(&self, p: &Process, build: &Build) -> bool {
        let head = &self.blocks[build.id as usize];
        let state = State::unpack(head.get(word::STATE));
        let body = state.body();
        head.words[word::ROW_COUNT].store(build.rows, Ordering::Relaxed);
        head.words[word::DATA_LEN].store(build.data.len() as u64, Ordering::Relaxed);
        let row_min = if build.rows == 0 { 0 } else { build.row_min };
        head.words[word::ROW_SIZE].store(row_min as u64 | (build.row_max as u64) << 32, Ordering::Relaxed);
        if body + build.data.len() <= BLOCK_SIZE_BYTES {
            head.copy_in(body, &build.data);
            return true;
        }
        for part in build.data.chunks(PAYLOAD_BYTES) {
            let mut section = p.lock(self.latch, Where::RcAllocate, build.id);
            let Some(block) = self.allocate(p, &mut section) else {
                return false;
            };
            self.blocks[block as usize].copy_in(8, part);
            self.append(&section, head, block);
        }
        true
    }

    /// Appends a block to an object.
    fn append(&self, section: &Section<'_>, head: &RcBlock, block: u64) {
        let last = head.get(word::LAST).checked_sub(1).expect("an object has a last block");
        section.set(&self.blocks[last as usize].words[word::NEXT], block + 1);
        section.set(&head.words[word::LAST], block + 1);
        section.set(&head.words[word::BLOCK_COUNT], head.get(word::BLOCK_COUNT) + 1);
    }

    /// Makes sure that each table the result depends on has a dependency object. Completes one that a dead process left
    /// half-made.
    fn attach_dependencies(&self, p: &Process, build: &Build) -> bool {
        let mut created = [None; DEPENDENCIES_MAX];
        {
            let mut section = p.lock(self.latch, Where::RcDependency, build.id);
            for (at, object) in build.depends[..build.depend_count].iter().enumerate() {
                created[at] = match self.dependency_of(*object) {
                    Some(id) if self.is_half_made(id) => Some((*object, id)),
                    Some(_) => None,
                    None => match self.create_dependency(p, &mut section, *object) {
                        Some(id) => Some((*object, id)),
                        None => return false,
                    },
                };
            }
        }
        for (object, id) in created.into_iter().flatten() {
            // The description is written before the status, so views show only complete dependencies. Between the two
            // gets the object may be evicted, since no result depends on it yet; its block may then belong to another
            // object.
            let head = &self.blocks[id as usize];
            {
                let section = p.imitated_get(self.latch, Where::RcDependency, id);
                if self.dependency_of(object) == Some(id) {
                    section.set(&head.words[word::CREATED], self.wall_clock_s());
                    section.set(&self.lives[id as usize].last_used, self.clock_cs());
                }
            }
            let section = p.imitated_get(self.latch, Where::RcPublish, id);
            if self.dependency_of(object) == Some(id) {
                section.set(&head.words[word::STATE], State::with_status(head.get(word::STATE), Status::Published));
            }
        }
        true
    }

    /// The dependency object of a table. The caller holds the latch.
    fn dependency_of(&self, object: ObjectId) -> Option<u64> {
        (self.slot(object).object.load(Ordering::Relaxed) & 0xffff_ffff).checked_sub(1)
    }

    fn is_half_made(&self, dependency: u64) -> bool {
        Status::of(self.blocks[dependency as usize].get(word::STATE)) == Some(Status::Invalid)
    }

    fn create_dependency(&self, p: &Process, section: &mut Section<'_>, object: ObjectId) -> Option<u64> {
        let id = self.allocate(p, section)?;
        let head = &self.blocks[id as usize];
        let number = object.0.to_le_bytes();
        let key = Key::of_dependency(&number);
        for at in 0..word::BODY {
            // Micro-undo restores the link.
            if at != word::NEXT {
                head.words[at].store(0, Ordering::Relaxed);
            }
        }
        head.words[word::HASH].store(key.hash, Ordering::Relaxed);
        let state = State::pack(Status::Invalid, Kind::Dependency, Namespace::Sql, 0, number.len(), 0);
        head.words[word::STATE].store(state, Ordering::Relaxed);
        head.words[word::SCN].store(self.slot(object).last_change.load(Ordering::Relaxed), Ordering::Relaxed);
        head.words[word::BLOCK_COUNT].store(1, Ordering::Relaxed);
        head.words[word::LAST].store(id + 1, Ordering::Relaxed);
        head.words[word::OBJECT_NO].store(object.0 as u64, Ordering::Relaxed);
        head.copy_in(word::BODY * 8, &number);
        self.link(section, id);
        let word = &self.slot(object).object;
        section.set(word, word.load(Ordering::Relaxed) & !0xffff_ffff | (id + 1));
        Some(id)
    }
}
