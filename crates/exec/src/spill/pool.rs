//! The temporary extents of a cursor, given out in chunks, because a sorted run or a partition is often smaller than an
//! extent.

use block::Extent;
use process::Process;
use space::{TEMP_EXTENT_BLOCKS, TempSpace};
use std::sync::{Arc, Mutex, OnceLock};
use types::{Ora, Rdba, Result};

/// Blocks of a chunk, the unit of reads and writes.
pub(super) const CHUNK_BLOCKS: usize = 8;
const CHUNKS: u32 = TEMP_EXTENT_BLOCKS / CHUNK_BLOCKS as u32;
const _: () =
    assert!(CHUNKS < u32::BITS && (TEMP_EXTENT_BLOCKS as usize).is_multiple_of(CHUNK_BLOCKS), "a bit a chunk");

/// An extent, the number of the process that took it, and a bit for each chunk in use.
struct Taken {
    extent: Extent,
    owner: u32,
    used: u32,
}

impl Taken {
    fn give_back(&self, temp: &TempSpace) {
        temp.give_back(self.owner, self.extent);
    }
}

#[derive(Default)]
struct Chunks {
    extents: Vec<Taken>,
    /// Number of times that everything was freed: chunks of earlier rounds are void.
    round: u64,
}

/// The extents of a cursor, shared by all clones. Created at the first use: an execution without temporary space takes
/// no lock at its end and touches no memory beyond the cursor's.
#[derive(Default)]
pub struct Pool(OnceLock<Arc<Mutex<Chunks>>>);

impl Clone for Pool {
    fn clone(&self) -> Pool {
        Pool(OnceLock::from(self.chunks().clone()))
    }
}

impl Pool {
    fn chunks(&self) -> &Arc<Mutex<Chunks>> {
        self.0.get_or_init(Arc::default)
    }

    /// The round of chunks taken now.
    pub fn round(&self) -> u64 {
        self.chunks().lock().map_or(0, |chunks| chunks.round)
    }

    /// Takes a free chunk.
    ///
    /// # Errors
    /// ORA-01652 without room.
    pub fn take(&self, temp: &TempSpace, tablespace: u32, p: &Process) -> Result<Rdba> {
        let mut chunks =
            self.chunks().lock().map_err(|_| Ora::internal("lock of the temporary extents is poisoned"))?;
        let extents = &mut chunks.extents;
        let at = match extents.iter().position(|taken| taken.used.count_ones() < CHUNKS) {
            Some(at) => at,
            None => {
                extents.push(Taken { extent: temp.take(p, tablespace)?, owner: p.number(), used: 0 });
                extents.len() - 1
            }
        };
        let taken = &mut extents[at];
        let chunk = taken.used.trailing_ones();
        taken.used |= 1 << chunk;
        Ok(Rdba(taken.extent.start.0 + chunk * CHUNK_BLOCKS as u32))
    }

    /// Frees a chunk of a round, and its extent with the last chunk in use.
    pub fn give_back(&self, temp: &TempSpace, round: u64, chunk: Rdba) {
        let Ok(mut chunks) = self.chunks().lock() else { return };
        if chunks.round != round {
            return;
        }
        let of = |e: &Extent| (e.start.0..e.start.0 + e.blocks).contains(&chunk.0);
        let Some(at) = chunks.extents.iter().position(|taken| of(&taken.extent)) else { return };
        let taken = &mut chunks.extents[at];
        taken.used &= !(1 << ((chunk.0 - taken.extent.start.0) / CHUNK_BLOCKS as u32));
        if taken.used == 0 {
            taken.give_back(temp);
            chunks.extents.swap_remove(at);
        }
    }

    /// Frees everything at the end of an execution, even if row sources still hold chunks.
    #[inline]
    pub fn clear(&self, temp: &TempSpace) {
        if let Some(chunks) = self.0.get() {
            give_all_back(chunks, temp);
        }
    }
}

#[cold]
fn give_all_back(chunks: &Mutex<Chunks>, temp: &TempSpace) {
    let Ok(mut chunks) = chunks.lock() else { return };
    if chunks.extents.is_empty() {
        return;
    }
    chunks.round += 1;
    chunks.extents.drain(..).for_each(|taken| taken.give_back(temp));
}
