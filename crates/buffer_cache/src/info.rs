//! The state of buffers for views, and the check of all invariants.

use crate::cache::BufferCache;
use crate::header::{BufferHeader, BufferInfo, DIRTY, READING};
use crate::lru;
use crate::set::load;
use std::sync::atomic::Ordering;

impl BufferCache {
    /// State of buffer `number`, as `v$bh` shows it: read without a latch, so the parts may be of different moments.
    pub fn info(&self, number: usize) -> Option<BufferInfo> {
        let h = self.headers.get(number)?;
        if !self.is_used(number) {
            return Some(self.unused_info(number, h));
        }
        let (at, state, view) = (h.block(), h.state(), block::BlockView::of_frame(self.frame(number)));
        let status = if at.is_none() {
            "free"
        } else if state.is(READING) {
            "read"
        } else {
            "xcur"
        };
        let (touch, place) = (h.touch.load(Ordering::Relaxed), lru::place_of(h));
        Some(BufferInfo {
            number,
            block: (!at.is_none()).then_some(at),
            obj: view.obj(),
            kind: view.kind(),
            status,
            dirty: state.is(DIRTY),
            shared_pins: state.shared(),
            owner: state.owner(),
            touches: touch & 0xFFFF_FFFF,
            touched_s: touch >> 32,
            hot: place == lru::HOT,
            to_be_written: place == lru::WRITE_LIST,
            queued: state.is(DIRTY),
            set: self.set_of(number),
            class: self.class_number(h),
            address: std::ptr::from_ref(h).addr() as u64,
            frame_address: self.frame(number).as_ptr().addr() as u64,
            latch_address: self.latch_of(number, at).address(),
        })
    }

    /// The data of a buffer that was never used, without reading its header.
    fn unused_info(&self, number: usize, h: &BufferHeader) -> BufferInfo {
        BufferInfo {
            number,
            block: None,
            obj: types::ObjectId(0),
            kind: None,
            status: "free",
            dirty: false,
            shared_pins: 0,
            owner: None,
            touches: 0,
            touched_s: 0,
            hot: false,
            to_be_written: false,
            queued: false,
            set: self.set_of(number),
            class: 1,
            address: std::ptr::from_ref(h).addr() as u64,
            frame_address: self.frame(number).as_ptr().addr() as u64,
            latch_address: self.latch_of(number, types::Rdba(0)).address(),
        }
    }

    /// The object of a block in the cache, read without a latch and so possibly outdated.
    pub fn object_of(&self, at: types::Rdba) -> Option<types::ObjectId> {
        let number = self.find(at)?;
        let h = &self.headers[number];
        let before = h.version.load(Ordering::Acquire); // pairs with the Release that completed the frame
        let object = block::BlockView::of_frame(self.frame(number)).obj();
        std::sync::atomic::fence(Ordering::Acquire); // pairs with the Release fence before a change of the frame
        let is_whole = before.is_multiple_of(2) && h.version.load(Ordering::Relaxed) == before && h.block() == at;
        (is_whole && object.0 != 0).then_some(object)
    }

    /// The process slot that has a block in the cache pinned exclusively, read without a latch and so possibly
    /// outdated.
    pub fn owner_of(&self, at: types::Rdba) -> Option<usize> {
        let h = &self.headers[self.find(at)?];
        let owner = h.state().owner();
        owner.filter(|_| h.block() == at)
    }

    /// Checks chains, lists, pins and every stable frame. Only valid while no other process uses the cache.
    ///
    /// # Errors
    /// A sentence that names the broken rule.
    pub fn assert_invariants(&self) -> Result<(), String> {
        self.check_chains()?;
        self.assert_sets()?;
        for (n, h) in self.used().map(|n| (n, &self.headers[n])) {
            let state = h.state();
            if state.is_pinned() {
                return Err(format!("buffer {n} is pinned: state {:#x}", state.0));
            }
            if h.block().is_none() {
                continue;
            }
            if h.version.load(Ordering::Relaxed) & 1 == 1 {
                return Err(format!("buffer {n} with block {} has an odd version", h.block()));
            }
            let mut image = block::Image::new(self.block_size);
            block::BlockView::of_frame(self.frame(n)).copy_block(image.bytes_mut());
            if image.view().kind() != Some(block::BlockKind::Unformatted) && image.view().rdba() != h.block() {
                return Err(format!("buffer {n} holds {}, header says {}", image.view().rdba(), h.block()));
            }
            block::assert_invariants(image.bytes()).map_err(|e| format!("block {}: {e}", h.block()))?;
        }
        let pinned =
            (0..self.areas.len()).find(|slot| self.areas[*slot].pins().any(|w| w.load(Ordering::Relaxed) != 0));
        pinned.map_or(Ok(()), |slot| Err(format!("process slot {slot} has pins")))
    }

    /// Checks all lists of every set. Only valid while no other process uses the cache.
    ///
    /// # Errors
    /// A sentence that names the broken rule.
    pub fn assert_sets(&self) -> Result<(), String> {
        for (n, set) in self.sets.iter().enumerate() {
            if load(&set.used) > load(&set.size) || load(&set.size) != self.range_of(n).len() as u64 {
                return Err(format!("set {n} has handed out {} of {} buffers", load(&set.used), load(&set.size)));
            }
            self.check_lru(n, set)?;
            self.check_write_list(n, set)?;
            self.check_queue(n, set)?;
        }
        Ok(())
    }
}
