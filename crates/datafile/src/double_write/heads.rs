//! The heads in the file of the double-write area: that of the file and that of each batch.

use os::blocks::BLOCK_MAX;
use os::file::File;
use types::Rdba;

/// The most blocks of a batch.
pub const COVER_MAX: usize = 128;
/// Bytes of the head of the file and of the head of a batch: a multiple of any device's block size.
pub(super) const HEAD_BYTES: usize = BLOCK_MAX;
const FILE_MAGIC: u64 = u64::from_le_bytes(*b"LWDWFIL2");
const BATCH_MAGIC: u64 = u64::from_le_bytes(*b"LWDWBAT2");
/// The same heads with [`hash`] as their checksum. They are read and no longer written.
const HASHED_FILE_MAGIC: u64 = u64::from_le_bytes(*b"LWDWFIL1");
const HASHED_BATCH_MAGIC: u64 = u64::from_le_bytes(*b"LWDWBAT1");

/// The identity that every batch must repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) database: u64,
    pub(super) incarnation: u32,
    pub(super) life: u64,
}

/// The head of a batch.
pub(super) struct BatchHead {
    pub(super) stamp: Stamp,
    pub(super) position: u64,
    /// The newest checkpoint announced when the blocks had been copied.
    pub(super) announced: u64,
    pub(super) blocks: Vec<Rdba>,
}

impl BatchHead {
    pub(super) fn len_bytes(blocks: usize, block_size: usize) -> u64 {
        (HEAD_BYTES + blocks * block_size).next_multiple_of(BLOCK_MAX) as u64
    }

    pub(super) fn put(&self, out: &mut [u8]) {
        out.fill(0);
        let words = [
            BATCH_MAGIC,
            self.stamp.database,
            u64::from(self.stamp.incarnation) | (self.blocks.len() as u64) << 32,
            self.stamp.life,
            self.position,
            self.announced,
        ];
        put_words(out, &words);
        for (to, at) in out[64..].chunks_exact_mut(4).zip(&self.blocks) {
            to.copy_from_slice(&at.0.to_le_bytes());
        }
        seal(out);
    }

    pub(super) fn of(bytes: &[u8]) -> Option<BatchHead> {
        if !is_sealed(bytes, [BATCH_MAGIC, HASHED_BATCH_MAGIC]) {
            return None;
        }
        let counts = word(bytes, 2);
        let count = (counts >> 32) as usize;
        let stamp = Stamp { database: word(bytes, 1), incarnation: counts as u32, life: word(bytes, 3) };
        let blocks =
            bytes[64..].chunks_exact(4).take(count).map(|b| Rdba(u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let head = BatchHead { stamp, position: word(bytes, 4), announced: word(bytes, 5), blocks: blocks.collect() };
        (1..=COVER_MAX).contains(&count).then_some(head)
    }
}

/// The head of the file: the database and the life of the area.
pub(super) fn file_head(stamp: &Stamp) -> Vec<u8> {
    let mut head = vec![0; HEAD_BYTES];
    put_words(&mut head, &[FILE_MAGIC, stamp.database, stamp.life]);
    seal(&mut head);
    head
}

/// The life in the head of the file; `None` when the head is damaged or of another database.
pub(super) fn life_of(file: &File, database: u64) -> Option<u64> {
    let mut head = [0; HEAD_BYTES];
    file.read_at(&mut head, 0).ok()?;
    let is_ours = is_sealed(&head, [FILE_MAGIC, HASHED_FILE_MAGIC]) && word(&head, 1) == database;
    is_ours.then(|| word(&head, 2))
}

fn put_words(out: &mut [u8], words: &[u64]) {
    for (to, word) in out.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

fn word(bytes: &[u8], n: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[n * 8..n * 8 + 8]);
    u64::from_le_bytes(word)
}

/// The checksum of a head, stored in its last word.
fn checksum(head: &[u8]) -> u64 {
    crc32c::crc32c(&head[..HEAD_BYTES - 8]).into()
}

/// The checksum of heads with the magic numbers [`HASHED_FILE_MAGIC`] and [`HASHED_BATCH_MAGIC`].
fn hash(head: &[u8]) -> u64 {
    let words = head[..HEAD_BYTES - 8].chunks_exact(8);
    words.fold(0xCBF2_9CE4_8422_2325, |h, w| (h ^ word(w, 0)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}

fn seal(head: &mut [u8]) {
    let sum = checksum(head);
    head[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Whether a head has the magic number and its checksum, or the older magic number and the checksum of that time.
fn is_sealed(head: &[u8], [magic, hashed]: [u64; 2]) -> bool {
    let sum = word(head, HEAD_BYTES / 8 - 1);
    match word(head, 0) {
        found if found == magic => sum == checksum(head),
        found => found == hashed && sum == hash(head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_with_the_checksum_of_their_time() {
        let stamp = Stamp { database: 7, incarnation: 2, life: 11 };
        let batch = BatchHead { stamp, position: 8192, announced: 500, blocks: vec![Rdba(77), Rdba(78)] };
        let mut head = [0; HEAD_BYTES];
        batch.put(&mut head);
        let is_read = |head: &[u8]| BatchHead::of(head).is_some_and(|b| b.position == 8192 && b.blocks == batch.blocks);
        assert!(is_read(&head));
        let mut old = head;
        put_words(&mut old, &[HASHED_BATCH_MAGIC]);
        assert!(!is_read(&old), "the checksum is that of the other magic number");
        let sum = hash(&old);
        old[HEAD_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        assert!(is_read(&old));
        for damaged in [&mut head, &mut old] {
            damaged[100] ^= 1;
            assert!(!is_read(damaged));
        }
    }
}
