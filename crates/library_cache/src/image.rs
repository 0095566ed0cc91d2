//! Images: cursors as bytes, in chunks of shared memory.
//!
//! The session that loads a child writes its image once; other sessions make their cursors of it. An image is a chain
//! of chunks of one size, taken from a free list under `shared pool` in the section that links the child, so that the
//! micro-undo of a loader that dies frees them. Contiguous space was rejected: it needs a search for a gap and merging
//! of freed pieces.
//!
//! Readers take no latch in any design: they copy the bytes and use the copy only if the child's life and edition have
//! not changed. A chunk that was given to another child meanwhile had been freed in a life that is over or under an odd
//! edition, so the reader sees the change.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::Where;
use process::Process;

use crate::guard::{Guard, take};
use crate::layout::{CHUNK_BYTES, CHUNKS_MOST, Child, Content};
use crate::words::store_bytes;
use crate::{Handle, LibraryCache};

/// No image takes more than this fraction of all chunks.
const PART: usize = 8;

/// One load of a child.
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

/// Why a child has no image (L14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// The image exceeds the largest size.
    TooLong,
    /// Chunks were missing, and eviction did not free enough.
    NoRoom,
}

/// The image that a child did not get: the chunks it takes, and the count of freed chunks at that time, 32 bits each. A
/// hint, written and read like the figures of a child.
#[derive(Clone, Copy)]
pub(crate) struct LeftOutImage(u64);

impl LeftOutImage {
    const NONE: LeftOutImage = LeftOutImage(0);
    /// In place of the number of chunks: the image is too long.
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

/// The number of chunks for this many bytes.
pub(crate) fn chunks_of(bytes: usize) -> usize {
    bytes.div_ceil(CHUNK_BYTES)
}

impl LibraryCache {
    /// Copies the image of a child into `out`. `None`: the child has no image, is gone, or is being loaded
    /// (L13).
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
        // The loop copies whole words of the chunks; the last chunk may be used in part.
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
        // Pairs with the Release fences in `begin_fill` and `put_image`: a reader that saw a new word sees the new
        // edition or life.
        fence(Ordering::Acquire);
        let is_same = number.is_multiple_of(2)
            && child.edition.load(Ordering::Relaxed) == number
            && child.life.load(Ordering::Relaxed) == handle.life;
        is_same.then_some(Edition { handle, number })
    }

    /// The current load of the child.
    pub fn edition_of(&self, handle: Handle) -> Edition {
        let child = self.children.get(handle.child as usize);
        Edition { handle, number: child.map_or(0, |child| child.edition.load(Ordering::Relaxed)) }
    }

    /// Whether a session has found the image valid in this dictionary epoch.
    pub fn is_known(&self, edition: Edition, dictionary: u32) -> bool {
        let child = self.children.get(edition.handle.child as usize);
        child.is_some_and(|child| child.known.load(Ordering::Relaxed) == known(edition, dictionary))
    }

    /// Notes that the image is valid in this dictionary epoch. The note carries the edition, so it says nothing about a
    /// later load.
    pub fn set_known(&self, edition: Edition, dictionary: u32) {
        if let Some(child) = self.children.get(edition.handle.child as usize)
            && child.life.load(Ordering::Relaxed) == edition.handle.life
        {
            child.known.store(known(edition, dictionary), Ordering::Relaxed);
        }
    }

    /// Why the image of a child was left out, as long as another attempt would fail as well: the image is too long, or
    /// there is still no room and fewer chunks than it needs have been freed since. A session that compiles the cursor
    /// then makes no image. In a pool that is always full, the count of freed chunks shows that eviction makes
    /// progress.
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

    pub(crate) fn is_too_long(&self, bytes: usize) -> bool {
        chunks_of(bytes) > CHUNKS_MOST.min(self.chunks.len() / PART)
    }

    /// Writes a load into a linked child. The caller holds the child's bucket and keeps pins out.
    pub(crate) fn fill(&self, p: &Process, guard: &Guard<'_>, child: &Child, content: &Content<'_>, idn: u64) {
        let edition = child.begin_fill();
        {
            let _pool = p.lock(self.pool, Where::KghAllocate, idn);
            self.free_image(guard, child);
            // A section must not use again the chunks it has freed before the change is final (L12).
            guard.checkpoint();
            faults::point("library-cache-image");
            self.put_image(guard, child, content.image);
            // Must be final before `shared pool` is free: other processes continue from its lists.
            guard.checkpoint();
        }
        faults::point("library-cache-image-final");
        child.fill(content, edition);
    }

    /// Gives a child without an image one, if there is room. The caller holds `shared pool`.
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
        // Pairs with the Acquire fence in `image`: a reader of the chunk's former image sees that the image is gone.
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
        faults::point("library-cache-image-written");
    }

    /// Frees the image of a child and the figures of its operations. The caller holds `shared pool`.
    pub(crate) fn free_image(&self, guard: &Guard<'_>, child: &Child) {
        let image = chunks_of(child.image_bytes.load(Ordering::Relaxed) as usize) as u64;
        self.free_chunks(guard, &child.image, image);
        guard.set(&child.image_bytes, 0);
        self.free_chunks(guard, &child.run, child.run_lines.load(Ordering::Relaxed));
        guard.set(&child.run_lines, 0);
    }

    /// Frees a chain of `count` chunks.
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
    // The edition of a loaded child is even and not 0, so the word is never 0 with a dictionary epoch.
    u64::from(dictionary) << 32 | u64::from(edition.number as u32)
}
