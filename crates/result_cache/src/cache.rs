//! Lookup of a result: the four designs of a hit.
//!
//! | design | gets of a hit | done under them |
//! |---|---|---|
//! | exclusive, long hold (11.1) | 2 exclusive | find, LRU touch and copying the rows; then unpin |
//! | exclusive, short hold (11.2.0.1) | 2 exclusive | find and pin; the rows are copied under the pin; then unpin |
//! | shared (11.2.0.3) | 1 shared | find and copy |
//! | versioned (Latchwork) | 1 versioned | nothing: copy, then check that the object's version has not moved |
//!
//! The four designs read the same structure. The two exclusive ones differ in how long the latch is held, which
//! explains the difference between the published figures of 11.1 and 11.2. The shared one still writes the latch word
//! twice in an access; the versioned one writes nothing shared.

use std::sync::atomic::Ordering;
use std::time::Duration;

use enqueue::{EnqueueError, EnqueueType, Enqueues, LockMode, Timeout};
use latch::word::LifeWord;
use latch::{LatchName, Where};
use process::{Process, Section};
use types::{ObjectId, Result, Scn};

use crate::build::Build;
use crate::key::Key;
use crate::layout::*;
use crate::memory::Description;
use crate::{Design, ResultCache, Statistic};

/// The rows of a result, copied into the reader's own memory. Kept and used again by later executions.
#[derive(Default)]
pub struct ResultBuffer {
    pub(crate) bytes: Vec<u8>,
    at: usize,
}

impl ResultBuffer {
    /// Makes an empty buffer.
    pub fn new() -> ResultBuffer {
        ResultBuffer::default()
    }

    /// The bytes of the next row in the format of `types::row`, or `None` after the last.
    pub fn next_row(&mut self) -> Option<&[u8]> {
        let (start, len) = frame_at(&self.bytes, self.at)?;
        self.at = start + len;
        self.bytes.get(start..start + len)
    }

    /// Starts again at the first row.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
    }
}

/// Start and length of the row whose length field begins at `at`.
fn frame_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let short = bytes.get(at..at + 2)?;
    let short = u16::from_le_bytes([short[0], short[1]]);
    if short < 0xffff {
        return Some((at + 2, short as usize));
    }
    let long = bytes.get(at + 2..at + 6)?;
    Some((at + 6, u32::from_le_bytes([long[0], long[1], long[2], long[3]]) as usize))
}

/// The result of [`ResultCache::open`].
pub enum Opened {
    /// The rows are in the buffer.
    Hit,
    /// The result is not cached: execute, push every row, then publish or abandon.
    Build(Build),
    /// Execute without the cache (R7).
    Bypass,
}

/// The result of a search under a latch.
enum Found {
    Usable(u64),
    Building(u64),
    Stale(u64),
    Refused,
    Nothing,
}

/// Versioned tries before a real get.
const VERSIONED_TRIES: usize = 4;
/// Longest walk of a chain that may be changing under the reader.
const WALK_MAX: usize = 64;

impl ResultCache {
    /// Looks for the result of `key` as of `snapshot`, and copies its rows to `buffer` when it is there.
    ///
    /// `depends` are the objects the statement reads; they were declared with [`ResultCache::track`] before `snapshot`
    /// was taken. Latches: none held on entry or return; gets by design as in the module's table, plus those of
    /// [`ResultCache::publish`] for a build. Waits: `enq: RC - Result Cache: Contention` while another session builds
    /// the same result, at most `_result_cache_timeout`. Statistics: `Find Count`.
    /// # Errors
    /// ORA-00028, ORA-01013 when the session is killed or interrupted while it waits.
    #[allow(clippy::too_many_arguments)] // independent arguments: session, key, snapshot, destination
    pub fn open(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        key: Key<'_>,
        about: Description<'_>,
        depends: &[ObjectId],
        snapshot: Scn,
        buffer: &mut ResultBuffer,
    ) -> Result<Opened> {
        buffer.clear();
        let control = self.control;
        if control.bypass.load(Ordering::Relaxed) != 0
            || key.bytes.len() > KEY_BYTES_MAX
            || depends.len() > DEPENDENCIES_MAX
            || !self.is_enabled()
        {
            return Ok(Opened::Bypass);
        }
        if self.line(p).attached.load(Ordering::Relaxed) == 0 {
            self.line(p).attached.store(1, Ordering::Relaxed);
        }
        let design = self.design();
        match design {
            Design::Versioned => {
                if self.read_versioned(p, key, snapshot, buffer) {
                    self.count(p, Statistic::FindCount);
                    return Ok(Opened::Hit);
                }
            }
            Design::Shared => {
                let hold = p.lock_shared(self.latch, Where::RcFind, key.hash);
                let found = self.find(key, snapshot);
                if let Found::Usable(id) = found {
                    self.copy_rows(id, buffer);
                    self.touch_coarsely(p, id);
                    drop(hold);
                    self.count(p, Statistic::FindCount);
                    return Ok(Opened::Hit);
                }
                if let Found::Refused = found {
                    return Ok(Opened::Bypass);
                }
            }
            Design::ExclusiveLong | Design::ExclusiveShort => {}
        }
        self.open_exclusive(p, enqueues, design, key, about, depends, snapshot, buffer)
    }

    /// Finds, pins and copies under the exclusive latch, or inserts a new object to build.
    #[allow(clippy::too_many_arguments)]
    fn open_exclusive(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        design: Design,
        key: Key<'_>,
        about: Description<'_>,
        depends: &[ObjectId],
        snapshot: Scn,
        buffer: &mut ResultBuffer,
    ) -> Result<Opened> {
        let long_hold = design == Design::ExclusiveLong;
        let mut section = p.lock(self.latch, Where::RcFind, key.hash);
        match self.find(key, snapshot) {
            Found::Usable(id) => {
                self.pin(p, &section, id);
                self.touch(&section, id);
                if long_hold {
                    self.copy_rows(id, buffer);
                    drop(section);
                } else {
                    drop(section);
                    self.copy_rows(id, buffer);
                }
                self.unpin(p, id);
                self.count(p, Statistic::FindCount);
                Ok(Opened::Hit)
            }
            Found::Building(id) => {
                self.pin(p, &section, id);
                drop(section);
                let waited = self.wait_for_builder(p, enqueues, id);
                let head = &self.blocks[id as usize];
                // The pin keeps the object, so its words may be read without the latch. Acquire pairs with the Release
                // of the section in which the builder published it.
                let state = State::unpack(head.words[word::STATE].load(Ordering::Acquire));
                let usable = waited.is_ok()
                    && state.status == Some(Status::Published)
                    && head.get(word::SCN) <= snapshot.0
                    && self.depends_unchanged(head);
                if usable {
                    self.copy_rows(id, buffer);
                    self.count(p, Statistic::FindCount);
                }
                self.unpin(p, id);
                waited?;
                Ok(if usable { Opened::Hit } else { Opened::Bypass })
            }
            Found::Refused => Ok(Opened::Bypass),
            found @ (Found::Stale(_) | Found::Nothing) => {
                if !self.may_build(depends, snapshot) {
                    return Ok(Opened::Bypass);
                }
                if let Found::Stale(id) = found {
                    drop(self.retire(&mut section, id));
                    self.count(p, Statistic::DeleteCountInvalid);
                }
                let Some(id) = self.insert_new(p, &mut section, key, about, depends, snapshot) else {
                    drop(section);
                    self.count(p, Statistic::CreateCountFailure);
                    return Ok(Opened::Bypass);
                };
                let life = self.lives[id as usize].word.now();
                drop(section);
                let lock = enqueues.get(p, EnqueueType::Rc, id, life, LockMode::Exclusive, Timeout::NoWait).ok();
                Ok(Opened::Build(Build::new(id, snapshot, lock, depends, self.clock_cs())))
            }
        }
    }

    /// Waits until the builder of a pinned object has released its RC enqueue.
    fn wait_for_builder(&self, p: &Process, enqueues: &Enqueues, id: u64) -> Result<()> {
        let head = &self.blocks[id as usize];
        // An object in the state New has not been retired: its life is the one that the builder locked.
        let life = self.lives[id as usize].word.now();
        let wait = Duration::from_millis(self.control.timeout_ms.load(Ordering::Relaxed));
        let deadline = os::clock::now_ns() + wait.as_nanos() as u64;
        let is_new = || Status::of(head.words[word::STATE].load(Ordering::Acquire)) == Some(Status::New);
        while is_new() {
            p.check_cancel()?;
            let left = deadline.saturating_sub(os::clock::now_ns());
            if left == 0 {
                break;
            }
            let timeout = Timeout::After(Duration::from_nanos(left));
            match enqueues.get(p, EnqueueType::Rc, id, life, LockMode::Share, timeout) {
                Ok(lock) => enqueues.release(p, lock),
                Err(EnqueueError::Cancelled(ora)) => return Err(ora),
                // A timeout, a deadlock, no enqueue free: the statement is executed without the cache.
                Err(_) => return Ok(()),
            }
            if is_new() {
                // The builder has inserted the object but not yet got its enqueue, or has just died.
                os::clock::sleep(Duration::from_micros(50));
            }
        }
        Ok(())
    }

    /// Reads a result without a shared write (R5). Counts one get, and a miss when an earlier try failed its check.
    fn read_versioned(&self, p: &Process, key: Key<'_>, snapshot: Scn, buffer: &mut ResultBuffer) -> bool {
        let mut missed = false;
        for _ in 0..VERSIONED_TRIES {
            let Some((id, life, state)) = self.walk_versioned(key) else {
                break;
            };
            let head = &self.blocks[id as usize];
            if state.status != Some(Status::Published) || head.get(word::SCN) > snapshot.0 {
                break;
            }
            let unchanged = self.depends_unchanged(head);
            buffer.clear();
            let whole = self.copy_rows(id, buffer);
            if self.lives[id as usize].word.read_check(life) {
                if !unchanged || !whole {
                    break;
                }
                p.latches().count_read(LatchName::ResultCache, missed, || 0);
                self.touch_coarsely(p, id);
                return true;
            }
            missed = true;
        }
        if missed {
            p.latches().count_fallback(LatchName::ResultCache);
        }
        buffer.clear();
        false
    }

    /// Walks a hash chain without a latch; the object returned has had this state, and then this key, in this life.
    fn walk_versioned(&self, key: Key<'_>) -> Option<(u64, u64, State)> {
        let mut link = self.bucket(key.hash).load(Ordering::Acquire);
        for _ in 0..WALK_MAX {
            let id = link.checked_sub(1)?;
            let head = self.blocks.get(id as usize)?;
            head.prefetch();
            let life = self.lives.get(id as usize)?.word.read_begin();
            if LifeWord::mark_of(life) == LifeWord::LINKED {
                // The state is read first: the words of a Published object were written before its state.
                let state = State::unpack(head.words[word::STATE].load(Ordering::Acquire));
                if head.get(word::HASH) == key.hash && state_has_key(head, &state, key) {
                    return Some((id, life, state));
                }
            }
            link = head.words[word::CHAIN].load(Ordering::Acquire);
        }
        None
    }

    /// Searches under the latch, in either mode.
    fn find(&self, key: Key<'_>, snapshot: Scn) -> Found {
        if self.control.closed.load(Ordering::Acquire) != 0 {
            return Found::Refused;
        }
        let Some(id) = self.search(key) else {
            return Found::Nothing;
        };
        let head = &self.blocks[id as usize];
        let state = State::unpack(head.get(word::STATE));
        match state.status {
            Some(Status::New) => Found::Building(id),
            Some(Status::Published) => {
                if !self.depends_settled(head) || head.get(word::SCN) > snapshot.0 {
                    Found::Refused
                } else if self.depends_unchanged(head) {
                    Found::Usable(id)
                } else {
                    Found::Stale(id)
                }
            }
            Some(Status::Invalid) => Found::Stale(id),
            // The result was too large the last time: it is not built again until this object is evicted.
            Some(Status::Bypass) | None => Found::Refused,
        }
    }

    /// The object of `key`. The caller holds the latch, and pins an object that it keeps longer (R2).
    pub(crate) fn search(&self, key: Key<'_>) -> Option<u64> {
        let mut link = self.bucket(key.hash).load(Ordering::Relaxed);
        while let Some(id) = link.checked_sub(1) {
            let head = &self.blocks[id as usize];
            if head.get(word::HASH) == key.hash && state_has_key(head, &State::unpack(head.get(word::STATE)), key) {
                return Some(id);
            }
            link = head.get(word::CHAIN);
        }
        None
    }

    /// Copies all rows of an object. Bounded for any content of the words; false when the content is inconsistent.
    fn copy_rows(&self, id: u64, buffer: &mut ResultBuffer) -> bool {
        let head = &self.blocks[id as usize];
        let state = State::unpack(head.get(word::STATE));
        let len = head.get(word::DATA_LEN) as usize;
        if len > self.blocks.len() * BLOCK_SIZE_BYTES {
            return false;
        }
        if head.get(word::BLOCK_COUNT) == 1 {
            head.copy_out(state.body(), len, &mut buffer.bytes);
            return buffer.bytes.len() == len;
        }
        let mut left = len;
        let mut link = head.words[word::NEXT].load(Ordering::Acquire);
        while left > 0 {
            let Some(block) = link.checked_sub(1).and_then(|id| self.blocks.get(id as usize)) else {
                return false;
            };
            let part = left.min(PAYLOAD_BYTES);
            block.copy_out(8, part, &mut buffer.bytes);
            left -= part;
            link = block.words[word::NEXT].load(Ordering::Acquire);
        }
        true
    }

    /// Notes a use. The caller holds the latch exclusively.
    fn touch(&self, section: &Section<'_>, id: u64) {
        let head = &self.blocks[id as usize];
        section.set(&self.lives[id as usize].last_used, self.clock_cs());
        section.set(&head.words[word::SCANS], head.get(word::SCANS) + 1);
    }

    /// Notes every 64th use, and at most one in three seconds, so that readers of a hot result write nothing shared.
    fn touch_coarsely(&self, p: &Process, id: u64) {
        let finds = self.line(p).statistics[Statistic::FindCount as usize].load(Ordering::Relaxed);
        if !finds.is_multiple_of(64) {
            return;
        }
        let last = &self.lives[id as usize].last_used;
        let now = self.clock_cs();
        if now.saturating_sub(last.load(Ordering::Relaxed)) > 300 {
            last.store(now, Ordering::Relaxed);
        }
    }

    fn pin(&self, p: &Process, section: &Section<'_>, id: u64) {
        let pins = &self.blocks[id as usize].words[word::PINS];
        section.set(&self.line(p).pinned, id + 1);
        section.set(pins, pins.load(Ordering::Relaxed) + 1);
    }

    /// The second get of an access.
    fn unpin(&self, p: &Process, id: u64) {
        let mut section = p.lock(self.latch, Where::RcRelease, id);
        let head = &self.blocks[id as usize];
        let pins = &head.words[word::PINS];
        section.set(pins, pins.load(Ordering::Relaxed).checked_sub(1).expect("a pinned object has a pin"));
        section.set(&self.line(p).pinned, 0);
        drop(self.free_if_retired(&mut section, id));
    }
}

fn state_has_key(head: &RcBlock, state: &State, key: Key<'_>) -> bool {
    state.key_len == key.bytes.len() && head.equals(word::BODY * 8, key.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_statement_spread_over_the_buckets_wherever_they_differ() {
        const BUCKETS: usize = 16384;
        for prefix in 30..46 {
            let mut chains = vec![0u32; BUCKETS];
            for n in 0..10_000u32 {
                let mut key = vec![7u8; prefix];
                key.extend_from_slice(&[0xc2, (n / 100) as u8 + 1, (n % 100) as u8 + 1]);
                chains[Key::new(&key).hash as usize & (BUCKETS - 1)] += 1;
            }
            assert!(chains.iter().all(|n| *n < 10), "prefix {prefix}: {:?}", chains.iter().max());
            let used = chains.iter().filter(|n| **n > 0).count();
            // A random function would use about 7,500 buckets.
            assert!(used > 7_000, "prefix {prefix}: {used} buckets used");
        }
    }
}
