//! Images: what a cursor is made of, in chunks of shared memory.
//!
//! An image is bytes, written once by who loads the child and read by all others. It lies in a chain of chunks of one
//! size, taken from a free list under `shared pool` with the child they are for, so that the micro-undo of a loader that
//! dies gives them back. Space in one piece was rejected: it needs a search for a place, and merging of what is freed.
//!
//! A reader takes no latch, in no design: it copies the bytes and believes the copy if the child's life and edition are
//! what they were before. A chunk that has gone to another child meanwhile has been taken off a dead life or in an odd
//! edition.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::Where;
use process::Process;

use crate::layout::{CHUNK_BYTES, CHUNKS_MOST, Child, Content, store_bytes};
use crate::load::{Guard, take};
use crate::{Handle, LibraryCache};

/// Children that give way to one image at most.
const VICTIMS_MOST: usize = 64;
/// No image is longer than one in so many of all chunks.
const PART: usize = 8;

/// A child as it was loaded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition {
    handle: Handle,
    number: u64,
}

impl Edition {
    pub(crate) fn handle(self) -> Handle {
        self.handle
    }
}

/// Why a child has no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is longer than any image may be.
    TooLong,
    /// There were not as many chunks, and not enough children gave way.
    NoRoom,
}

/// The image that a child was to have and did not get: the chunks that it takes, and how many had been freed by then,
/// 32 bits each. A hint, written and read like the figures of a child.
#[derive(Clone, Copy)]
pub(crate) struct LeftOutImage(u64);

impl LeftOutImage {
    const NONE: LeftOutImage = LeftOutImage(0);
    /// The place of the chunks; all bits are an image that is too long.
    const TOO_LONG: u64 = u32::MAX as u64;

    fn new(chunks: u64, freed: u64) -> LeftOutImage {
        LeftOutImage(chunks.min(LeftOutImage::TOO_LONG) << 32 | u64::from(freed as u32))
    }

    pub(crate) fn of(child: &Child) -> LeftOutImage {
        LeftOutImage(child.left_out.load(Ordering::Relaxed))
    }

    fn chunks(self) -> u64 {
        self.0 >> 32
    }

    pub(crate) fn why(self) -> Option<LeftOut> {
        match self.chunks() {
            0 => None,
            LeftOutImage::TOO_LONG => Some(LeftOut::TooLong),
            _ => Some(LeftOut::NoRoom),
        }
    }
}

/// How many chunks so many bytes take.
pub(crate) fn chunks_of(bytes: usize) -> usize {
    bytes.div_ceil(CHUNK_BYTES)
}

impl LibraryCache {
    /// Copies the image of a child into `out`. `None`: there is none, or the child is gone or being loaded.
    ///
    /// Latches: none. Nothing shared is written.
    pub fn image(&self, handle: Handle, out: &mut Vec<u8>) -> Option<Edition> {
        out.clear();
        let child = self.children.get(handle.child as usize)?;
        let number = child.edition.load(Ordering::Acquire);
        let len = child.image_bytes.load(Ordering::Relaxed) as usize;
        let mut link = child.image.load(Ordering::Relaxed);
        let count = chunks_of(len);
        if count == 0 || count > CHUNKS_MOST {
            return None;
        }
        // Whole words of the chunks, and no more of the last one than it has.
        out.resize(len.next_multiple_of(8), 0);
        for part in out.chunks_mut(CHUNK_BYTES) {
            let chunk = self.chunks.get(usize::try_from(link.checked_sub(1)?).ok()?)?;
            let (to, _) = part.as_chunks_mut::<8>();
            for (to, word) in to.iter_mut().zip(&chunk.words) {
                *to = word.load(Ordering::Relaxed).to_le_bytes();
            }
            link = chunk.next.load(Ordering::Relaxed);
        }
        out.truncate(len);
        // Pairs with the Release fences in `begin_fill` and `put_image`: who sees a new word sees its edition or life.
        fence(Ordering::Acquire);
        let is_same = number.is_multiple_of(2)
            && child.edition.load(Ordering::Relaxed) == number
            && child.life.load(Ordering::Relaxed) == handle.life;
        is_same.then_some(Edition { handle, number })
    }

    /// The child as it is loaded now.
    pub fn edition_of(&self, handle: Handle) -> Edition {
        let child = self.children.get(handle.child as usize);
        Edition { handle, number: child.map_or(0, |child| child.edition.load(Ordering::Relaxed)) }
    }

    /// Whether somebody has found the image good in the dictionary of that number.
    pub fn is_known(&self, edition: Edition, dictionary: u32) -> bool {
        let child = self.children.get(edition.handle.child as usize);
        child.is_some_and(|child| child.known.load(Ordering::Relaxed) == known(edition, dictionary))
    }

    /// Notes that the image is good in the dictionary of that number. The note is of the edition: it says nothing of
    /// what has been loaded meanwhile.
    pub fn set_known(&self, edition: Edition, dictionary: u32) {
        if let Some(child) = self.children.get(edition.handle.child as usize)
            && child.life.load(Ordering::Relaxed) == edition.handle.life
        {
            child.known.store(known(edition, dictionary), Ordering::Relaxed);
        }
    }

    /// Why the image of a child was left out, as long as another try would come to the same: the image is too long, or
    /// there is no room for it yet and others have not freed as many chunks since. A session that compiles the cursor
    /// need not make its image then. Where the pool is full all the time, what is freed for others says that children
    /// give way.
    ///
    /// Latches: none. Nothing shared is written.
    pub fn left_out(&self, handle: Handle) -> Option<LeftOut> {
        let child = self.children.get(handle.child as usize)?;
        let left_out = LeftOutImage::of(child);
        if child.life.load(Ordering::Acquire) != handle.life || child.image.load(Ordering::Relaxed) != 0 {
            return None;
        }
        let why = left_out.why()?;
        let c = self.control;
        let room = (self.chunks.len() as u64).saturating_sub(c.chunks_used.load(Ordering::Relaxed));
        let freed = (c.chunks_freed.load(Ordering::Relaxed) as u32).wrapping_sub(left_out.0 as u32);
        let is_same = why == LeftOut::TooLong || (room < left_out.chunks() && u64::from(freed) < left_out.chunks());
        is_same.then_some(why)
    }

    /// Lets children give way until an image of so many bytes has room, or no more can.
    pub(crate) fn make_room(&self, p: &Process, bytes: usize) {
        let c = self.control;
        let fits = || chunks_of(bytes) as u64 + c.chunks_used.load(Ordering::Relaxed) <= self.chunks.len() as u64;
        if self.is_too_long(bytes) {
            return;
        }
        for _ in 0..VICTIMS_MOST {
            if fits() || !self.evict_child(p) {
                return;
            }
        }
    }

    pub(crate) fn is_too_long(&self, bytes: usize) -> bool {
        chunks_of(bytes) > CHUNKS_MOST.min(self.chunks.len() / PART)
    }

    /// Writes what a load brings into a child that is linked. The caller holds its bucket and keeps its pins out.
    pub(crate) fn fill(&self, p: &Process, guard: &Guard<'_>, child: &Child, content: &Content<'_>, idn: u64) {
        let edition = child.begin_fill();
        {
            let _pool = p.lock(self.pool, Where::KghAllocate, idn);
            self.free_image(guard, child);
            // What a section has freed it does not use again before that is final.
            guard.checkpoint();
            os::crash::point("library-cache-image");
            self.put_image(guard, child, content.image);
            // Final before the pool is free: others go on from its lists.
            guard.checkpoint();
        }
        os::crash::point("library-cache-image-final");
        child.fill(content, edition);
    }

    /// Gives a child an image, if there is room; it has none. The caller holds `shared pool`.
    pub(crate) fn put_image(&self, guard: &Guard<'_>, child: &Child, bytes: &[u8]) {
        let c = self.control;
        child.known.store(0, Ordering::Relaxed);
        let count = chunks_of(bytes.len());
        let room = self.chunks.len() as u64 - c.chunks_used.load(Ordering::Relaxed);
        let left_out = match count {
            0 => LeftOutImage::NONE,
            _ if self.is_too_long(bytes.len()) => LeftOutImage::new(LeftOutImage::TOO_LONG, 0),
            _ if count as u64 > room => LeftOutImage::new(count as u64, c.chunks_freed.load(Ordering::Relaxed)),
            _ => LeftOutImage::NONE,
        };
        child.left_out.store(left_out.0, Ordering::Relaxed);
        if count == 0 || left_out.why().is_some() {
            guard.set(&child.image, 0);
            guard.set(&child.image_bytes, 0);
            return;
        }
        // Pairs with the Acquire fence in `image`: whoever still reads the chunk's last image sees that it has gone.
        fence(Ordering::Release);
        let link = |at: u64| &self.chunks[at as usize].next;
        let mut next = 0;
        for part in bytes.chunks(CHUNK_BYTES).rev() {
            let at = take(guard, &c.chunks_free, &c.chunks_fresh, self.chunks.len(), link).expect("there is room");
            let chunk = &self.chunks[at as usize];
            store_bytes(&chunk.words, part);
            guard.set(&chunk.next, next);
            next = at + 1;
        }
        guard.set(&child.image, next);
        guard.set(&child.image_bytes, bytes.len() as u64);
        guard.add(&c.chunks_used, count as u64);
        os::crash::point("library-cache-image-written");
    }

    /// Takes the image of a child away, and the figures of its operations. The caller holds `shared pool`.
    pub(crate) fn free_image(&self, guard: &Guard<'_>, child: &Child) {
        let image = chunks_of(child.image_bytes.load(Ordering::Relaxed) as usize) as u64;
        self.free_chunks(guard, &child.image, image);
        guard.set(&child.image_bytes, 0);
        self.free_chunks(guard, &child.run, child.run_lines.load(Ordering::Relaxed));
        guard.set(&child.run_lines, 0);
    }

    /// Frees a chain of so many chunks.
    fn free_chunks(&self, guard: &Guard<'_>, head: &AtomicU64, count: u64) {
        let c = self.control;
        let first = head.load(Ordering::Relaxed);
        if first == 0 || count == 0 {
            return;
        }
        let chunk = |link: u64| &self.chunks[link as usize - 1];
        let last = (1..count).fold(first, |link, _| chunk(link).next.load(Ordering::Relaxed));
        guard.set(&chunk(last).next, c.chunks_free.load(Ordering::Relaxed));
        guard.set(&c.chunks_free, first);
        guard.set(&c.chunks_used, c.chunks_used.load(Ordering::Relaxed).wrapping_sub(count));
        c.chunks_freed.fetch_add(count, Ordering::Relaxed);
        guard.set(head, 0);
    }
}

fn known(edition: Edition, dictionary: u32) -> u64 {
    // An edition that is loaded is even: never 0 together with a number of the dictionary.
    u64::from(dictionary) << 32 | u64::from(edition.number as u32)
}
