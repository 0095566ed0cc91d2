//! Optimizer statistics in a table's definition.
//!
//! A value is kept as its stored bytes, which sort like the values, and as a number (`place_of`) for interpolation in
//! ranges.
//!
//! A picture of the dictionary holds the histograms of many tables, so a histogram is a few flat arrays (about 25 bytes
//! per endpoint) behind an `Arc` that definitions share with the picture (D14).

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use types::{DataType, Number, Value};

/// Bytes of a value that a histogram endpoint keeps. Longer values with the same first bytes are not distinguished.
pub const ENDPOINT_BYTES: usize = 64;
/// INTCOL# of the first column group of a table in HIST_HEAD$ and HISTGRM$; columns have smaller numbers.
pub const FIRST_GROUP: u32 = 1001;
/// Most buckets of a histogram.
pub const BUCKETS_MAX: u32 = 2048;

/// Bits of STATFLAGS in TAB$ and IND$, and of FLAGS in HIST_HEAD$ (whose low byte is the kind of histogram).
pub mod flags {
    /// LOCKED: only FORCE may change the statistics.
    pub const LOCKED: i64 = 1;
    /// The figures were set by the user, not gathered.
    pub const USER: i64 = 256;
    /// The statistics were gathered by the statement that created or loaded the object.
    pub const ONLINE: i64 = 512;
    /// The kind of histogram: the low byte of FLAGS of HIST_HEAD$.
    pub const HISTOGRAM_KIND: i64 = 255;
}

/// Statistics of a table.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct TableStatistics {
    pub rows: u64,
    /// Formatted blocks below the high-water mark.
    pub blocks: u64,
    pub average_row_bytes: u32,
    /// The column groups with statistics.
    pub groups: Vec<ColumnGroup>,
}

impl TableStatistics {
    /// Statistics without column groups.
    pub fn new(rows: u64, blocks: u64, average_row_bytes: u32) -> TableStatistics {
        TableStatistics { rows, blocks, average_row_bytes, groups: Vec::new() }
    }

    /// The group of exactly these columns, in any order.
    pub fn group_of(&self, columns: &[usize]) -> Option<&ColumnGroup> {
        self.groups.iter().find(|g| g.columns.len() == columns.len() && columns.iter().all(|c| g.columns.contains(c)))
    }
}

/// A column group, defined by `dbms_stats.create_extended_stats`. Its values are the combinations of values of its
/// columns; combinations with a NULL count like others.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ColumnGroup {
    /// The name, `SYS_STU…`.
    pub name: String,
    /// Positions of the columns in the table.
    pub columns: Vec<usize>,
    pub statistics: ColumnStatistics,
}

/// The lowest and the highest value in stored form, cut like histogram endpoints.
pub type Ends = (Box<[u8]>, Box<[u8]>);

/// Statistics of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Distinct values that are not NULL.
    pub distinct: u64,
    /// Rows in which the column is NULL.
    pub nulls: u64,
    /// The lowest and the highest value, by [`place_of`].
    pub range: Option<(f64, f64)>,
    /// The fraction of the non-null rows that have one given value, for values that no histogram lists as frequent.
    pub density: f64,
    /// Average bytes of the column in a row, length byte included; NULLs count 0.
    pub average_bytes: u32,
    /// The lowest and the highest value in stored form, each cut to [`ENDPOINT_BYTES`].
    pub ends: Option<Ends>,
    /// Rows in the sample.
    pub sample: u64,
    pub histogram: Option<Arc<Histogram>>,
}

impl ColumnStatistics {
    /// Statistics without a histogram.
    pub fn new(distinct: u64, nulls: u64, range: Option<(f64, f64)>) -> ColumnStatistics {
        let density = if distinct == 0 { 0.0 } else { 1.0 / distinct as f64 };
        ColumnStatistics { distinct, nulls, range, density, ..ColumnStatistics::default() }
    }

    pub fn kind(&self) -> HistogramKind {
        self.histogram.as_ref().map_or(HistogramKind::None, |histogram| histogram.kind)
    }
}

impl Hash for ColumnStatistics {
    fn hash<H: Hasher>(&self, to: &mut H) {
        let ColumnStatistics { distinct, nulls, range, density, average_bytes, ends, sample, histogram } = self;
        (distinct, nulls, average_bytes, ends, sample, histogram).hash(to);
        (range.map(|(low, high)| (low.to_bits(), high.to_bits())), density.to_bits()).hash(to);
    }
}

types::numbered! {
    /// The kinds of histograms.
    #[derive(Debug, Default, PartialEq, Eq, Hash)]
    pub enum HistogramKind: i64 {
        #[default]
        None = 0,
        /// A bucket for each value.
        Frequency = 1,
        /// A bucket for each of the most frequent values, which cover nearly all rows.
        TopFrequency = 2,
        /// Buckets of about equal height that do not split a value, with the frequency of each endpoint.
        Hybrid = 3,
        /// Buckets of equal height; a value that ends more than one of them is popular.
        HeightBalanced = 4,
    }
}

impl HistogramKind {
    /// The name in HISTOGRAM of *_TAB_COLUMNS.
    pub fn name(self) -> &'static str {
        match self {
            HistogramKind::None => "NONE",
            HistogramKind::Frequency => "FREQUENCY",
            HistogramKind::TopFrequency => "TOP-FREQUENCY",
            HistogramKind::Hybrid => "HYBRID",
            HistogramKind::HeightBalanced => "HEIGHT BALANCED",
        }
    }

    pub fn read(code: i64) -> HistogramKind {
        HistogramKind::from_code(code).unwrap_or_default()
    }
}

/// A histogram: endpoints in ascending order of values, without duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub kind: HistogramKind,
    /// The stored bytes of all endpoints, concatenated.
    bytes: Box<[u8]>,
    /// The end of each endpoint in `bytes`.
    ends: Box<[u32]>,
    places: Box<[f64]>,
    cumulative: Box<[u64]>,
    /// Empty except for hybrid histograms.
    repeats: Box<[u64]>,
}

/// One endpoint of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endpoint<'a> {
    /// The value in stored form, cut to [`ENDPOINT_BYTES`].
    pub value: &'a [u8],
    /// The value as a number, by [`place_of`].
    pub place: f64,
    /// Rows of the sample up to and including this endpoint; buckets in a height-balanced histogram.
    pub cumulative: u64,
    /// Rows of the sample with exactly this value; 0 when the kind of histogram does not record it.
    pub repeats: u64,
}

impl Hash for Histogram {
    fn hash<H: Hasher>(&self, to: &mut H) {
        let Histogram { kind, bytes, ends, places, cumulative, repeats } = self;
        (kind, bytes, ends, cumulative, repeats).hash(to);
        places.iter().for_each(|place| to.write_u64(place.to_bits()));
    }
}

impl Histogram {
    /// Makes a histogram from endpoints in ascending order of values.
    pub fn new<'a>(kind: HistogramKind, endpoints: impl IntoIterator<Item = Endpoint<'a>>) -> Histogram {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let (mut places, mut cumulative, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
        for endpoint in endpoints {
            bytes.extend_from_slice(cut(endpoint.value));
            ends.push(bytes.len() as u32);
            places.push(endpoint.place);
            cumulative.push(endpoint.cumulative);
            if kind == HistogramKind::Hybrid {
                repeats.push(endpoint.repeats);
            }
        }
        Histogram {
            kind,
            bytes: bytes.into(),
            ends: ends.into(),
            places: places.into(),
            cumulative: cumulative.into(),
            repeats: repeats.into(),
        }
    }

    /// The number of endpoints.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// # Panics
    /// There is no such endpoint.
    pub fn endpoint(&self, at: usize) -> Endpoint<'_> {
        let from = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        let cumulative = self.cumulative[at];
        let before = if at == 0 { 0 } else { self.cumulative[at - 1] };
        let repeats = match self.kind {
            HistogramKind::Frequency | HistogramKind::TopFrequency => cumulative - before.min(cumulative),
            HistogramKind::Hybrid => self.repeats[at],
            _ => 0,
        };
        let value = &self.bytes[from..self.ends[at] as usize];
        Endpoint { value, place: self.places[at], cumulative, repeats }
    }

    pub fn endpoints(&self) -> impl Iterator<Item = Endpoint<'_>> {
        (0..self.len()).map(|at| self.endpoint(at))
    }

    /// The position of the endpoint with this value.
    ///
    /// # Errors
    /// The position of the first endpoint above the value, `len()` when there is none.
    pub fn find(&self, value: &[u8]) -> Result<usize, usize> {
        let value = cut(value);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.endpoint(middle).value.cmp(value) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Rows of the sample; buckets in a height-balanced histogram.
    pub fn total(&self) -> u64 {
        self.cumulative.last().copied().unwrap_or(0)
    }
}

/// The first [`ENDPOINT_BYTES`] of a value.
pub fn cut(value: &[u8]) -> &[u8] {
    &value[..value.len().min(ENDPOINT_BYTES)]
}

/// Statistics of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
pub struct IndexStatistics {
    pub distinct_keys: u64,
    pub leaf_blocks: u64,
    /// Levels above the leaves.
    pub levels: u32,
    /// Entries.
    pub rows: u64,
    /// The number of changes of the table's block from one entry to the next; 0 for entries without rowids.
    pub clustering_factor: u64,
}

/// A number that sorts like the value among values of its type, to estimate the rows in a range. `None` for types
/// without such a number.
pub fn place_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => Some(n.to_f64()),
        Value::Double(x) => Some(*x).filter(|x| x.is_finite()),
        Value::Float(x) => Some(f64::from(*x)).filter(|x| x.is_finite()),
        Value::Date(d) => Some(d.to_unix() as f64),
        Value::Timestamp(t) => Some(t.utc().instant() as f64 + f64::from(t.nanos) / 1e9),
        Value::IntervalYm(i) => Some(f64::from(i.months)),
        Value::IntervalDs(i) => Some(i.seconds as f64 + f64::from(i.nanos) / 1e9),
        // The first bytes, read as digits of a number.
        Value::Text(s) => Some(place_of_bytes(s.as_bytes())),
        Value::Raw(bytes) => Some(place_of_bytes(bytes)),
        _ => None,
    }
}

/// The number of a text or RAW: its first seven bytes, which a double represents exactly.
pub fn place_of_bytes(bytes: &[u8]) -> f64 {
    bytes.iter().copied().chain(std::iter::repeat(0)).take(7).fold(0.0, |n, b| n * 256.0 + f64::from(b))
}

/// The value of a column group in a row, in the stored form of a number, for histograms of groups. It is a hash of the
/// stored values of the columns: equal rows have equal values, and the order has no meaning.
pub fn group_value(columns: &[Option<&[u8]>]) -> Vec<u8> {
    let mut key = Vec::new();
    columns.iter().for_each(|stored| types::codec::push_key_part(*stored, false, &mut key));
    // FNV-1a, cut to 48 bits, which a double represents exactly. The hash is stored in the dictionary and must never
    // change.
    let hash = key
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut value = Vec::new();
    types::codec::encode(&Value::Number(Number::from_u64((hash ^ hash >> 48) & ((1 << 48) - 1))), &mut value);
    value
}

/// The number of a value in stored form, by its type.
pub fn place_of_stored(bytes: &[u8], data_type: &DataType) -> Option<f64> {
    let mut value = Value::Null;
    match types::codec::decode_into(bytes, data_type, &mut value) {
        Ok(()) => place_of(&value),
        // A text that was cut inside a character.
        Err(_) => Some(place_of_bytes(bytes)),
    }
}

/// Endpoints of one column in the form of HISTGRM$, before they are made into a histogram.
#[derive(Clone, Debug, Default)]
pub struct Endpoints(Vec<OwnedEndpoint>);

#[derive(Clone, Debug)]
struct OwnedEndpoint {
    value: Box<[u8]>,
    place: f64,
    cumulative: u64,
    repeats: u64,
}

impl Endpoints {
    pub fn push(&mut self, value: &[u8], place: f64, cumulative: u64, repeats: u64) {
        self.0.push(OwnedEndpoint { value: cut(value).into(), place, cumulative, repeats });
    }

    /// Makes the histogram; the rows may have been added in any order.
    pub fn finish(mut self, kind: HistogramKind) -> Option<Arc<Histogram>> {
        if kind == HistogramKind::None || self.0.is_empty() {
            return None;
        }
        self.0.sort_by(|a, b| (a.cumulative, &a.value).cmp(&(b.cumulative, &b.value)));
        let all = self.0.iter().map(|e| Endpoint {
            value: &e.value,
            place: e.place,
            cumulative: e.cumulative,
            repeats: e.repeats,
        });
        Some(Arc::new(Histogram::new(kind, all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency() -> Histogram {
        let endpoint = |value: &'static [u8], place, cumulative| Endpoint { value, place, cumulative, repeats: 0 };
        Histogram::new(HistogramKind::Frequency, [endpoint(b"b", 1.0, 10), endpoint(b"dd", 2.0, 15)])
    }

    #[test]
    fn endpoints_come_back_with_their_counts() {
        let histogram = frequency();
        assert_eq!(histogram.len(), 2);
        assert_eq!(histogram.endpoint(1), Endpoint { value: b"dd", place: 2.0, cumulative: 15, repeats: 5 });
        assert_eq!((histogram.endpoint(0).repeats, histogram.total()), (10, 15));
    }

    #[test]
    fn a_value_is_found_or_the_first_above_it() {
        let histogram = frequency();
        let found: Vec<_> = [&b"a"[..], b"b", b"c", b"dd", b"e"].iter().map(|value| histogram.find(value)).collect();
        assert_eq!(found, [Err(0), Ok(0), Err(1), Ok(1), Err(2)]);
    }

    #[test]
    fn a_group_is_found_in_any_order_of_its_columns() {
        let group = ColumnGroup { name: "G".into(), columns: vec![2, 0], statistics: ColumnStatistics::default() };
        let statistics = TableStatistics { groups: vec![group], ..TableStatistics::new(1, 1, 1) };
        assert!(statistics.group_of(&[0, 2]).is_some());
        assert!(statistics.group_of(&[0]).is_none() && statistics.group_of(&[0, 1]).is_none());
    }
}
