//! How the vectors of a group are written as one redo record.
//!
//! ```text
//! 0  u32 length of the whole record     8  u64 scn
//! 4  u32 checksum of the rest          16  u16 vectors   u16 -
//! 20 for each vector: rdba u32, layer u8, op u8, length u16 (0xFFFF: a u32 follows), bytes
//! ```

use crate::{ChangeVector, Layer};
use types::{Rdba, Scn};

const HEAD: usize = 20;
const LONG: u16 = u16::MAX;

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

    /// Adds a vector.
    pub fn push(&mut self, cv: &ChangeVector) {
        if self.bytes.is_empty() {
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

    /// Completes the record with its SCN, length and checksum.
    pub fn finish(&mut self, scn: Scn) -> &[u8] {
        if self.bytes.is_empty() {
            self.bytes.resize(HEAD, 0);
        }
        let len = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&len.to_le_bytes());
        self.bytes[8..16].copy_from_slice(&scn.0.to_le_bytes());
        self.bytes[16..18].copy_from_slice(&self.count.to_le_bytes());
        let sum = sum(&self.bytes[8..]);
        self.bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        &self.bytes
    }
}

/// Why a record cannot be read: the end of the redo, or damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Fewer bytes than the record says it has.
    Short,
    /// The checksum does not match.
    Checksum,
    /// A vector reaches over the end, or its layer is unknown.
    Vector,
}

/// One checked record.
#[derive(Clone, Copy, Debug)]
pub struct RecordReader<'a> {
    /// SCN of the group.
    pub scn: Scn,
    /// Bytes of the record.
    pub len: usize,
    count: u16,
    vectors: &'a [u8],
}

impl<'a> RecordReader<'a> {
    /// Reads the record at the start of `bytes`. Every vector is checked here, so that iterating cannot fail half-way.
    ///
    /// # Errors
    /// [`Damaged`] for whatever is not a whole, sound record.
    pub fn new(bytes: &'a [u8]) -> Result<RecordReader<'a>, Damaged> {
        let len = u32_at(bytes, 0).ok_or(Damaged::Short)? as usize;
        if len < HEAD || len > bytes.len() {
            return Err(Damaged::Short);
        }
        let bytes = &bytes[..len];
        if u32_at(bytes, 4) != Some(sum(&bytes[8..])) {
            return Err(Damaged::Checksum);
        }
        let scn = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        let count = u16::from_le_bytes([bytes[16], bytes[17]]);
        let record = RecordReader { scn: Scn(scn), len, count, vectors: &bytes[HEAD..] };
        let mut vectors = record.vectors();
        let read = vectors.by_ref().count();
        if read == usize::from(count) && vectors.rest.is_empty() { Ok(record) } else { Err(Damaged::Vector) }
    }

    /// The vectors in the order in which they were made.
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

fn sum(bytes: &[u8]) -> u32 {
    let mut h = 0x9E37_79B9_7F4A_7C15u64 ^ bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        h = (h ^ u64::from_le_bytes(word)).wrapping_mul(0xC2B2_AE3D_27D4_EB4F).rotate_left(31);
    }
    (h ^ h >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layer() -> impl Strategy<Value = Layer> {
        prop_oneof![Just(Layer::Block), Just(Layer::Heap), Just(Layer::Undo), Just(Layer::Index)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn decode_after_encode(
            scn in any::<u64>(),
            vectors in prop::collection::vec((any::<u32>(), layer(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..20),
            flip in any::<usize>(),
        ) {
            let mut writer = RecordWriter::new();
            for (rdba, layer, op, data) in &vectors {
                writer.push(&ChangeVector { rdba: Rdba(*rdba), layer: *layer, op: *op, data });
            }
            let mut bytes = writer.finish(Scn(scn)).to_vec();
            let record = RecordReader::new(&bytes).unwrap();
            prop_assert_eq!(record.scn, Scn(scn));
            let back: Vec<_> = record.vectors().map(|cv| (cv.rdba.0, cv.layer, cv.op, cv.data.to_vec())).collect();
            prop_assert_eq!(back, vectors);
            for cut in 0..bytes.len() {
                prop_assert!(RecordReader::new(&bytes[..cut]).is_err());
            }
            let bit = flip % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(RecordReader::new(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_borne(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = RecordReader::new(&bytes).map(|r| r.vectors().count());
        }
    }

    #[test]
    fn a_vector_longer_than_64_kb_survives() {
        let data = vec![3; 70_000];
        let mut writer = RecordWriter::new();
        writer.push(&ChangeVector { rdba: Rdba(1), layer: Layer::Test, op: 1, data: &data });
        let record = writer.finish(Scn(1)).to_vec();
        assert_eq!(RecordReader::new(&record).unwrap().vectors().next().unwrap().data, data);
    }
}
