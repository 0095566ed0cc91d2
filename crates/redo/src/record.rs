//! The format of a redo record: the vectors of one group.
//!
//! ```text
//!  0  u32 length, a multiple of 8         8  u64 scn
//!  4  u32 checksum of the rest          16  u32 time, seconds since 1970 UTC
//! 20  u16 vectors                       22  u8 flags: 1 void    u8 zeros at the end, 0 to 7
//! 24  u32 distance                      28  u32 checksum of the head
//! 32  for each vector: rdba u32, layer u8, op u8, length u16 (0xFFFF: a u32 follows), bytes
//! ```
//!
//! The record's own place in the stream and its log are mixed into both checksums and stored nowhere (R4): bytes left
//! there by an earlier use of a log file, or by a torn write, are never taken for redo of this place. A void record
//! fills a place whose owner died; its bytes mean nothing.
//!
//! The distance states how far before the record the redo was on disk when the place was given out, in units of 8
//! bytes. A record is a witness for everything before that: if some of it is unreadable, it is damaged and not cut off
//! (R6). The head has its own checksum, so that witnesses are found behind damage, where the beginnings of records are
//! unknown.

use crate::{ChangeVector, Layer, LogId, Place, Rba};
use types::{Rdba, Scn};

/// Bytes before the vectors; the shortest record.
pub const RECORD_HEAD: usize = 32;
const HEAD: usize = RECORD_HEAD;
/// Records begin at multiples of this many bytes.
const ALIGN: usize = 8;
const LONG: u16 = u16::MAX;
/// Most records fit into this many bytes.
const USUAL: usize = 1024;
const VOID: u8 = 1;
/// The distance of a record that is no witness.
const NO_WITNESS: u32 = u32::MAX;

/// Collects the vectors of one group.
#[derive(Clone, Debug, Default)]
pub struct RecordWriter {
    bytes: Vec<u8>,
    count: u16,
}

impl RecordWriter {
    /// An empty record.
    pub fn new() -> RecordWriter {
        RecordWriter::default()
    }

    /// Forgets the vectors and keeps the buffer.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// True when there is no vector.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the finished record.
    #[allow(clippy::len_without_is_empty)] // An empty record has a head.
    pub fn len(&self) -> usize {
        self.bytes.len().max(HEAD).next_multiple_of(ALIGN)
    }

    /// Adds a vector.
    pub fn push(&mut self, cv: &ChangeVector) {
        if self.bytes.is_empty() {
            self.bytes.reserve(USUAL);
            self.bytes.resize(HEAD, 0);
        }
        self.count = self.count.checked_add(1).expect("a group has fewer than 65536 vectors");
        self.bytes.extend_from_slice(&cv.rdba.0.to_le_bytes());
        self.bytes.extend_from_slice(&[cv.layer as u8, cv.op]);
        match u16::try_from(cv.data.len()) {
            Ok(n) if n != LONG => self.bytes.extend_from_slice(&n.to_le_bytes()),
            _ => {
                self.bytes.extend_from_slice(&LONG.to_le_bytes());
                self.bytes.extend_from_slice(&(cv.data.len() as u32).to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(cv.data);
    }

    /// The vectors so far.
    pub fn vectors(&self) -> Vectors<'_> {
        Vectors { left: self.count, rest: self.bytes.get(HEAD..).unwrap_or_default() }
    }

    /// Drops the vectors of every block for which `of` is true.
    pub fn drop_vectors(&mut self, of: impl Fn(Rdba) -> bool) {
        let mut kept = RecordWriter { bytes: Vec::with_capacity(self.bytes.len()), count: 0 };
        self.vectors().filter(|cv| !of(cv.rdba)).for_each(|cv| kept.push(&cv));
        *self = kept;
    }

    /// Completes the record for its place in the stream. No vector can be added afterwards.
    pub fn finish(&mut self, place: &Place, scn: Scn, time_s: u32) -> &[u8] {
        let (len, have) = (self.len(), self.bytes.len().max(HEAD));
        self.bytes.resize(len, 0);
        seal(&mut self.bytes, place, scn, time_s, self.count, [0, (len - have) as u8]);
        &self.bytes
    }
}

/// A void record of `len` bytes, for a place whose owner died.
///
/// # Panics
/// When `len` cannot be the length of a record.
pub fn void_record(len: usize, place: &Place, scn: Scn, time_s: u32) -> Vec<u8> {
    assert!(len >= HEAD && len.is_multiple_of(ALIGN), "a record has a head and whole words");
    let mut bytes = vec![0; len];
    seal(&mut bytes, place, scn, time_s, 0, [VOID, 0]);
    bytes
}

fn seal(bytes: &mut [u8], place: &Place, scn: Scn, time_s: u32, count: u16, last: [u8; 2]) {
    let len = bytes.len() as u32;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes[8..16].copy_from_slice(&scn.0.to_le_bytes());
    bytes[16..20].copy_from_slice(&time_s.to_le_bytes());
    bytes[20..22].copy_from_slice(&count.to_le_bytes());
    bytes[22..24].copy_from_slice(&last);
    let distance = place.at.0.checked_sub(place.on_disk.0).map(|d| d.div_ceil(ALIGN as u64));
    let distance = distance.and_then(|d| u32::try_from(d).ok()).unwrap_or(NO_WITNESS);
    bytes[24..28].copy_from_slice(&distance.to_le_bytes());
    let head = head_sum(bytes, place.at, place.log);
    bytes[28..32].copy_from_slice(&head.to_le_bytes());
    let sum = sum(&bytes[8..], place.at, place.log);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// The reason why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Fewer bytes than the record's length.
    Short,
    /// The checksum does not match.
    Checksum,
    /// A vector extends beyond the end, or its layer is unknown.
    Vector,
}

/// The length in a record's first bytes, when it is possible.
pub(crate) fn claimed_len(bytes: &[u8]) -> Option<usize> {
    let len = u32_at(bytes, 0)? as usize;
    (len >= HEAD && len.is_multiple_of(ALIGN)).then_some(len)
}

/// The head of a record that has not been read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub len: usize,
    /// Everything before this was on disk when the record got its place.
    pub on_disk: Rba,
}

/// The head at the start of `bytes`, if it is one of a record at that place.
pub(crate) fn head_of(bytes: &[u8], at: Rba, log: LogId) -> Option<Head> {
    let len = claimed_len(bytes)?;
    let bytes = bytes.get(..HEAD)?;
    if u32_at(bytes, 28)? != head_sum(bytes, at, log) {
        return None;
    }
    let distance = Some(u32_at(bytes, 24)?).filter(|d| *d != NO_WITNESS);
    let on_disk = distance.map_or(0, |d| at.0.saturating_sub(u64::from(d) * ALIGN as u64));
    Some(Head { len, on_disk: Rba(on_disk) })
}

/// One checked record.
#[derive(Clone, Copy, Debug)]
pub struct RecordReader<'a> {
    /// SCN of the group.
    pub scn: Scn,
    /// The time when it was made, in seconds since 1970 UTC.
    pub time_s: u32,
    /// Bytes of the record.
    pub len: usize,
    /// It fills the place of a process that died, and is empty.
    pub is_void: bool,
    count: u16,
    vectors: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> RecordReader<'a> {
    /// Reads the record at the start of `bytes`, which stands at `at` in the stream and in this log. Checks every
    /// vector, so iterating cannot fail half-way (R3). A void record has no vectors.
    ///
    /// # Errors
    /// [`Damaged`] unless the bytes are a complete, sound record of that place.
    pub fn new(bytes: &'a [u8], at: Rba, log: LogId) -> Result<RecordReader<'a>, Damaged> {
        let len = claimed_len(bytes).filter(|len| *len <= bytes.len()).ok_or(Damaged::Short)?;
        let bytes = &bytes[..len];
        if u32_at(bytes, 4) != Some(sum(&bytes[8..], at, log)) {
            return Err(Damaged::Checksum);
        }
        let record = RecordReader::of_checked(bytes)?;
        let mut vectors = record.vectors();
        let read = vectors.by_ref().count();
        if read == usize::from(record.count) && vectors.rest.is_empty() { Ok(record) } else { Err(Damaged::Vector) }
    }

    /// Reads the record that fills `bytes`, which [`RecordReader::new`] has found to be sound.
    ///
    /// # Errors
    /// [`Damaged`] when they cannot be such a record.
    ///
    /// # Panics
    /// When `bytes` is shorter than the head of a record.
    pub fn of_checked(bytes: &'a [u8]) -> Result<RecordReader<'a>, Damaged> {
        let len = bytes.len();
        let scn = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        let time_s = u32_at(bytes, 16).ok_or(Damaged::Short)?;
        let count = u16::from_le_bytes([bytes[20], bytes[21]]);
        let (is_void, zeros) = (bytes[22] == VOID, usize::from(bytes[23]));
        let vectors = match bytes[22] {
            0 if zeros < ALIGN && HEAD + zeros <= len => &bytes[HEAD..len - zeros],
            VOID if (count, zeros) == (0, 0) => &[],
            _ => return Err(Damaged::Vector),
        };
        Ok(RecordReader { scn: Scn(scn), time_s, len, is_void, count, vectors, bytes })
    }

    /// The whole record, as it was read.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The vectors in order.
    pub fn vectors(&self) -> Vectors<'a> {
        Vectors { left: self.count, rest: self.vectors }
    }
}

/// Iterates over the vectors of a record.
#[derive(Clone, Debug)]
pub struct Vectors<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Iterator for Vectors<'a> {
    type Item = ChangeVector<'a>;

    fn next(&mut self) -> Option<ChangeVector<'a>> {
        if self.left == 0 {
            return None;
        }
        let b = self.rest;
        let rdba = Rdba(u32_at(b, 0)?);
        let (layer, op) = (Layer::from_code(*b.get(4)?)?, *b.get(5)?);
        let short = u16::from_le_bytes([*b.get(6)?, *b.get(7)?]);
        let (from, n) = if short == LONG { (12usize, u32_at(b, 8)? as usize) } else { (8, short.into()) };
        let data = b.get(from..from.checked_add(n)?)?;
        self.rest = &b[from + n..];
        self.left -= 1;
        Some(ChangeVector { rdba, layer, op, data })
    }
}

fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(b.get(at..at + 4)?.try_into().ok()?))
}

/// Two lanes, since each multiplication waits for the previous one.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
    const PRIME: u64 = 0xC2B2_AE3D_27D4_EB4F;
    let step = |h: u64, word: [u8; 8]| (h ^ u64::from_le_bytes(word)).wrapping_mul(PRIME).rotate_left(31);
    let (mut even, mut odd) = (SEED ^ bytes.len() as u64, SEED.rotate_left(32));
    let mut pairs = bytes.chunks_exact(16);
    for pair in &mut pairs {
        even = step(even, pair[..8].try_into().expect("eight bytes"));
        odd = step(odd, pair[8..].try_into().expect("eight bytes"));
    }
    for chunk in pairs.remainder().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        even = step(even, word);
    }
    step(even, odd.to_le_bytes())
}

fn sum(bytes: &[u8], at: Rba, log: LogId) -> u32 {
    fold(hash(bytes), at, log)
}

/// The checksum of length, SCN, time, count, flags and distance.
fn head_sum(bytes: &[u8], at: Rba, log: LogId) -> u32 {
    let word = |from: usize| u64::from_le_bytes(bytes[from..from + 8].try_into().expect("eight bytes"));
    let mut lens = [0; 8];
    lens[..4].copy_from_slice(&bytes[..4]);
    lens[4..].copy_from_slice(&bytes[24..28]);
    let mut h = u64::from_le_bytes(lens);
    for word in [word(8), word(16)] {
        h = (h.wrapping_mul(0xC2B2_AE3D_27D4_EB4F).rotate_left(31)) ^ word;
    }
    fold(h.wrapping_mul(0x9E37_79B9_7F4A_7C15), at, log)
}

/// Mixes the place of a record into its hash.
fn fold(hash: u64, at: Rba, log: LogId) -> u32 {
    let log = u64::from(log.incarnation) << 32 | u64::from(log.sequence);
    let place = at.0.wrapping_mul(0x9FB2_1C65_1E98_DF25) ^ log.wrapping_mul(0x8CB9_2BA7_2F3D_8DD7).rotate_left(29);
    let h = (hash ^ place).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    let h = (h ^ h >> 29).wrapping_mul(0x9FB2_1C65_1E98_DF25);
    (h ^ h >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: LogId = LogId { incarnation: 3, sequence: 7 };

    fn layer() -> impl Strategy<Value = Layer> {
        prop_oneof![Just(Layer::Block), Just(Layer::Heap), Just(Layer::Undo), Just(Layer::Index)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn decode_after_encode(
            scn in any::<u64>(),
            at in any::<u64>(),
            vectors in prop::collection::vec((any::<u32>(), layer(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..20),
            flip in any::<usize>(),
        ) {
            let mut writer = RecordWriter::new();
            for (rdba, layer, op, data) in &vectors {
                writer.push(&ChangeVector { rdba: Rdba(*rdba), layer: *layer, op: *op, data });
            }
            prop_assert_eq!(writer.vectors().count(), vectors.len());
            let place = Place { at: Rba(at), log: LOG, on_disk: Rba(at.saturating_sub(800)) };
            let mut bytes = writer.finish(&place, Scn(scn), 7).to_vec();
            prop_assert_eq!(bytes.len(), writer.len());
            let head = head_of(&bytes, Rba(at), LOG).unwrap();
            prop_assert_eq!(head.len, bytes.len());
            prop_assert!(head.on_disk <= place.on_disk && head.on_disk.0 + 8 > place.on_disk.0);
            let record = RecordReader::new(&bytes, Rba(at), LOG).unwrap();
            prop_assert_eq!((record.scn, record.time_s, record.len), (Scn(scn), 7, bytes.len()));
            let back: Vec<_> = record.vectors().map(|cv| (cv.rdba.0, cv.layer, cv.op, cv.data.to_vec())).collect();
            prop_assert_eq!(&back, &vectors);
            for cut in 0..bytes.len() {
                prop_assert!(RecordReader::new(&bytes[..cut], Rba(at), LOG).is_err());
            }
            let elsewhere = Rba(at ^ 1 << (flip % 64));
            prop_assert!(RecordReader::new(&bytes, elsewhere, LOG).is_err(), "another place");
            prop_assert!(head_of(&bytes, elsewhere, LOG).is_none());
            for log in [LogId { sequence: 8, ..LOG }, LogId { incarnation: 1, ..LOG }] {
                prop_assert!(RecordReader::new(&bytes, Rba(at), log).is_err(), "another log");
                prop_assert!(head_of(&bytes, Rba(at), log).is_none());
            }
            let odd = |rdba: Rdba| rdba.0 % 2 == 1;
            writer.drop_vectors(odd);
            let left: Vec<_> = writer.vectors().map(|cv| (cv.rdba.0, cv.layer, cv.op, cv.data.to_vec())).collect();
            prop_assert_eq!(left, vectors.into_iter().filter(|v| v.0 % 2 == 0).collect::<Vec<_>>());
            let bit = flip % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(RecordReader::new(&bytes, Rba(at), LOG).is_err());
        }

        #[test]
        fn any_bytes_are_borne(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = RecordReader::new(&bytes, Rba(3), LOG).map(|r| r.vectors().count());
            let _ = head_of(&bytes, Rba(3), LOG);
        }
    }

    #[test]
    fn a_void_record_has_its_length_and_no_vectors() {
        for len in [HEAD, HEAD + 8, 5000] {
            let bytes = void_record(len, &Place::new(Rba(900), LOG), Scn(4), 5);
            let record = RecordReader::new(&bytes, Rba(900), LOG).unwrap();
            assert_eq!((record.len, record.vectors().count(), record.scn), (len, 0, Scn(4)));
        }
    }

    #[test]
    fn a_vector_longer_than_64_kb_survives() {
        let data = vec![3; 70_000];
        let mut writer = RecordWriter::new();
        writer.push(&ChangeVector { rdba: Rdba(1), layer: Layer::Test, op: 1, data: &data });
        let record = writer.finish(&Place::new(Rba(1), LOG), Scn(1), 0).to_vec();
        assert_eq!(RecordReader::new(&record, Rba(1), LOG).unwrap().vectors().next().unwrap().data, data);
    }
}
