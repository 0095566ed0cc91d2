//! Partitioned tables: the partitions, and which of them holds a row (D18).
//!
//! A partitioning key is bytes as index keys are (`types::codec::push_key_part`), so that bounds compare with `memcmp`
//! and NULL is above all values, as in Oracle. The place of a row is found in logarithmic time.

use crate::interval::Interval;
use crate::segment::SegmentRef;
use heap::HeapTable;
use types::{ObjectId, Ora, Result, RowReader, codec};

/// Sorts behind every continuation of a key prefix: 16 columns that are NULL.
const BEHIND: [u8; 32] = [0xFF; 32];

/// The most columns of a partitioning key.
pub const PARTITION_COLUMNS_MAX: usize = 16;

/// The most partitions of a table.
pub const PARTITIONS_MAX: usize = 1_048_575;

types::numbered! {
    /// PARTTYPE of PARTOBJ$.
    #[derive(Debug, PartialEq, Eq, Hash)]
    pub enum PartitionMethod: u8 {
        Range = 1,
        Hash = 2,
        List = 4,
    }
}

impl PartitionMethod {
    /// PARTITIONING_TYPE of `*_PART_TABLES`, and the word in plans.
    pub fn name(self) -> &'static str {
        match self {
            PartitionMethod::Range => "RANGE",
            PartitionMethod::Hash => "HASH",
            PartitionMethod::List => "LIST",
        }
    }
}

/// A partition of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionDef {
    pub object: ObjectId,
    pub name: String,
    pub segment: SegmentRef,
    /// HIGH_VALUE: the bound or the list of values, as text.
    pub high_value: String,
    pub bound: PartitionBound,
}

/// The rows of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartitionBound {
    /// Keys below this one. MAXVALUE is [`BEHIND`].
    Below(Vec<u8>),
    /// Keys from the first one on and below the second one: a partition of an interval (D18).
    Within(Vec<u8>, Vec<u8>),
    /// These keys.
    Keys(Vec<Vec<u8>>),
    /// Keys that are in no other partition of the list.
    Default,
    /// By the hash of the key.
    Hash,
}

impl PartitionDef {
    /// The lower bound of the partition of an interval. A range has none: it begins where the one before it ends.
    pub fn low(&self) -> Option<&[u8]> {
        match &self.bound {
            PartitionBound::Within(low, _) => Some(low),
            _ => None,
        }
    }
}

impl PartitionBound {
    /// The bound below which all keys with the values `prefix` in their first columns are.
    pub fn max_value(mut prefix: Vec<u8>) -> PartitionBound {
        prefix.extend_from_slice(&BEHIND);
        PartitionBound::Below(prefix)
    }

    /// BHIBOUNDVAL of TABPART$: a byte for the kind, then the key, or each key after its length.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            PartitionBound::Below(key) => [&[1], &key[..]].concat(),
            PartitionBound::Keys(keys) => {
                let mut bytes = vec![2];
                for key in keys {
                    bytes.extend_from_slice(&(key.len() as u32).to_be_bytes());
                    bytes.extend_from_slice(key);
                }
                bytes
            }
            PartitionBound::Default => vec![3],
            PartitionBound::Hash => vec![4],
            // The upper bound comes first, so that the bytes have the order of the partitions.
            PartitionBound::Within(low, high) => {
                [&[5], &high[..], &low[..], &(high.len() as u32).to_be_bytes()].concat()
            }
        }
    }

    /// `None` for bytes that [`PartitionBound::to_bytes`] has not written.
    pub fn of_bytes(bytes: &[u8]) -> Option<PartitionBound> {
        let (kind, mut rest) = bytes.split_first()?;
        match kind {
            1 => Some(PartitionBound::Below(rest.to_vec())),
            2 => {
                let mut keys = Vec::new();
                while let Some((len, more)) = rest.split_first_chunk::<4>() {
                    let (key, more) = more.split_at_checked(u32::from_be_bytes(*len) as usize)?;
                    keys.push(key.to_vec());
                    rest = more;
                }
                rest.is_empty().then_some(PartitionBound::Keys(keys))
            }
            3 => Some(PartitionBound::Default),
            4 => Some(PartitionBound::Hash),
            5 => {
                let (keys, len) = rest.split_last_chunk::<4>()?;
                let (high, low) = keys.split_at_checked(u32::from_be_bytes(*len) as usize)?;
                Some(PartitionBound::Within(low.to_vec(), high.to_vec()))
            }
            _ => None,
        }
    }
}

/// The limits that a condition sets to a column of the partitioning key, in parts of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnSet {
    Any,
    /// One of these parts.
    Parts(Vec<Vec<u8>>),
    /// Parts between two bounds, each with whether it is included.
    Between(Option<(Vec<u8>, bool)>, Option<(Vec<u8>, bool)>),
}

/// Most combinations of listed values that are looked up one by one.
const COMBINATIONS_MAX: usize = 4096;

/// The division of the rows of a table.
#[derive(Clone, Debug)]
pub struct Partitioning {
    pub method: PartitionMethod,
    /// The positions of the key's columns.
    pub columns: Vec<usize>,
    /// In the order of PARTITION_POSITION.
    pub partitions: Vec<PartitionDef>,
    /// The width of the partitions that sessions make for keys above all bounds.
    pub interval: Option<Interval>,
    /// Each data object and the position of its partition, in ascending order.
    by_data: Vec<(ObjectId, u32)>,
    /// Each listed key and the position of its partition, in ascending order.
    by_key: Vec<(Vec<u8>, u32)>,
    default: Option<u32>,
}

impl Partitioning {
    pub fn new(method: PartitionMethod, columns: Vec<usize>, mut partitions: Vec<PartitionDef>) -> Partitioning {
        if method == PartitionMethod::Range {
            // Stored in any order.
            partitions.sort_by(|a, b| below(a).cmp(below(b)));
        }
        let places = || partitions.iter().zip(0u32..);
        let mut by_data: Vec<_> = places().map(|(p, at)| (p.segment.data_object, at)).collect();
        by_data.sort_unstable();
        let listed = |(p, at): (&PartitionDef, u32)| match &p.bound {
            PartitionBound::Keys(keys) => keys.iter().map(|key| (key.clone(), at)).collect(),
            _ => Vec::new(),
        };
        let mut by_key: Vec<(Vec<u8>, u32)> = places().flat_map(listed).collect();
        by_key.sort_unstable();
        let default = places().find(|(p, _)| p.bound == PartitionBound::Default).map(|(_, at)| at);
        Partitioning { method, columns, partitions, interval: None, by_data, by_key, default }
    }

    /// The same division with an interval.
    pub fn with_interval(self, interval: Option<Interval>) -> Partitioning {
        Partitioning { interval, ..self }
    }

    /// The same division with other partitions.
    pub fn with(&self, partitions: Vec<PartitionDef>) -> Partitioning {
        Partitioning::new(self.method, self.columns.clone(), partitions).with_interval(self.interval.clone())
    }

    /// The bound from which on partitions are made by intervals: the highest one of the others.
    pub fn transition(&self) -> Option<&[u8]> {
        let fixed = |p: &&PartitionDef| matches!(p.bound, PartitionBound::Below(_));
        self.partitions.iter().rev().find(fixed).map(below)
    }

    /// Whether a partition may be made for this key, for which there is none.
    pub fn may_extend(&self, key: &[u8]) -> bool {
        self.interval.is_some() && key.first().is_some_and(|first| *first != BEHIND[0])
    }

    /// The position of the partition that holds rows with this key; `None` when there is none (ORA-14400).
    pub fn place_of_key(&self, key: &[u8]) -> Option<usize> {
        let n = self.partitions.len();
        match self.method {
            PartitionMethod::Range => {
                let at = self.partitions.partition_point(|p| below(p) <= key);
                let begins = |low: &[u8]| low <= key;
                (at < n && self.partitions[at].low().is_none_or(begins)).then_some(at)
            }
            PartitionMethod::List => match self.by_key.binary_search_by(|(have, _)| have.as_slice().cmp(key)) {
                Ok(at) => Some(self.by_key[at].1 as usize),
                Err(_) => self.default.map(|at| at as usize),
            },
            PartitionMethod::Hash => hash_place(key, n),
        }
    }

    /// The position of the partition with this data object.
    pub fn place_of_data(&self, data: ObjectId) -> Option<usize> {
        let at = self.by_data.binary_search_by_key(&data, |(have, _)| *have).ok()?;
        Some(self.by_data[at].1 as usize)
    }

    /// The position of the partition with this name.
    pub fn place_of_name(&self, name: &str) -> Option<usize> {
        self.partitions.iter().position(|p| p.name == name)
    }

    /// Appends the partitioning key of a stored row.
    ///
    /// # Errors
    /// ORA-00600 for damaged bytes.
    pub fn key_of_row(&self, row: &[u8], key: &mut Vec<u8>) -> Result<()> {
        let damaged = || Ora::internal("row bytes are damaged");
        let reader = RowReader::new(row).ok_or_else(damaged)?;
        for column in &self.columns {
            codec::push_key_part(reader.column(*column).ok_or_else(damaged)?.bytes(), false, key);
        }
        Ok(())
    }

    /// The position of the partition for a stored row. `key` is a buffer.
    ///
    /// # Errors
    /// ORA-14400; ORA-14300 where no interval can have the key.
    pub fn place_of_row(&self, row: &[u8], key: &mut Vec<u8>) -> Result<usize> {
        key.clear();
        self.key_of_row(row, key)?;
        self.place_of_key(key).ok_or_else(|| Ora::new(if self.may_extend(key) { 14300 } else { 14400 }))
    }

    /// The heap of a partition.
    pub fn heap_table(&self, table: ObjectId, place: usize) -> HeapTable {
        let s = &self.partitions[place].segment;
        HeapTable {
            object: table,
            data_object: s.data_object,
            header: s.header,
            pctfree: s.pctfree,
            initrans: s.initrans,
        }
    }

    /// The positions of the partitions that may hold rows for which the conditions on the key's columns are true, in
    /// ascending order. Columns without a condition may be missing at the end.
    pub fn select(&self, sets: &[ColumnSet]) -> Vec<u32> {
        let all = || (0..self.partitions.len() as u32).collect();
        match self.method {
            PartitionMethod::Range => self.select_ranges(sets),
            PartitionMethod::Hash => match keys_of(sets, self.columns.len()) {
                Some(keys) => places_of(keys.iter().filter_map(|key| self.place_of_key(key))),
                None => all(),
            },
            PartitionMethod::List => {
                if let Some(keys) = keys_of(sets, self.columns.len()) {
                    return places_of(keys.iter().filter_map(|key| self.place_of_key(key)));
                }
                let ([_], Some(ColumnSet::Between(low, high))) = (&self.columns[..], sets.first()) else {
                    return all();
                };
                let inside = |key: &[u8]| {
                    low.as_ref().is_none_or(|(low, with)| key > &low[..] || *with && key == &low[..])
                        && high.as_ref().is_none_or(|(high, with)| key < &high[..] || *with && key == &high[..])
                };
                let listed = self.by_key.iter().filter(|(key, _)| inside(key)).map(|(_, at)| *at as usize);
                places_of(listed.chain(self.default.map(|at| at as usize)))
            }
        }
    }

    fn select_ranges(&self, sets: &[ColumnSet]) -> Vec<u32> {
        // Equalities on the first columns, then a condition on the next one.
        let leading = sets.iter().take_while(|set| matches!(set, ColumnSet::Parts(_))).count();
        let mut leading = leading.min(self.columns.len());
        let mut prefixes = keys_of(&sets[..leading], leading);
        while prefixes.is_none() && leading > 0 {
            leading -= 1;
            prefixes = keys_of(&sets[..leading], leading);
        }
        let (low, high) = match sets.get(leading) {
            Some(ColumnSet::Between(low, high)) => (low.as_ref(), high.as_ref()),
            _ => (None, None),
        };
        let mut found = Vec::new();
        for prefix in prefixes.unwrap_or_default() {
            let edge = |bound: Option<&(Vec<u8>, bool)>, behind: bool| {
                let mut key = prefix.clone();
                if let Some((part, _)) = bound {
                    key.extend_from_slice(part);
                }
                if behind {
                    key.extend_from_slice(&BEHIND);
                }
                key
            };
            // An excluded lower bound leaves out all continuations of its key, an included upper bound takes them in.
            let from = edge(low, low.is_some_and(|(_, with)| !with));
            let to = edge(high, high.is_none_or(|(_, with)| *with));
            let first = self.partitions.partition_point(|p| below(p) <= &from[..]);
            let last = self.partitions.partition_point(|p| below(p) < &to[..]);
            found.extend(first..(last + 1).min(self.partitions.len()));
        }
        places_of(found.into_iter())
    }
}

/// The upper bound of a range partition.
fn below(p: &PartitionDef) -> &[u8] {
    match &p.bound {
        PartitionBound::Below(key) | PartitionBound::Within(_, key) => key,
        _ => &[],
    }
}

fn places_of(places: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut places: Vec<u32> = places.map(|at| at as u32).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// All keys whose first `columns` columns have listed values; `None` when a column has other conditions, or there are
/// too many.
fn keys_of(sets: &[ColumnSet], columns: usize) -> Option<Vec<Vec<u8>>> {
    let mut keys = vec![Vec::new()];
    for n in 0..columns {
        let Some(ColumnSet::Parts(parts)) = sets.get(n) else { return None };
        if keys.len().saturating_mul(parts.len()) > COMBINATIONS_MAX {
            return None;
        }
        keys = keys.iter().flat_map(|key| parts.iter().map(move |part| [&key[..], part].concat())).collect();
    }
    Some(keys)
}

/// The partition of a key among `n` hash partitions: by the low bits of the hash, so that a further partition takes
/// rows of one other only.
fn hash_place(key: &[u8], n: usize) -> Option<usize> {
    let size = n.checked_next_power_of_two().filter(|_| n > 0)?;
    // FNV-1a, and a mix that brings all bits into the low ones. Stored rows depend on it.
    let mut h =
        key.iter().fold(0xCBF2_9CE4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01B3));
    h ^= h >> 32;
    h = h.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^= h >> 29;
    let at = h as usize & (size - 1);
    Some(if at < n { at } else { at & (size / 2 - 1) })
}

/// A partition of a local index, for the table's partition at the same position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexPartitionDef {
    pub object: ObjectId,
    pub name: String,
    pub segment: SegmentRef,
    pub unusable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Rdba;

    fn part(text: &str) -> Vec<u8> {
        let mut key = Vec::new();
        codec::push_key_part(Some(text.as_bytes()), false, &mut key);
        key
    }

    fn null() -> Vec<u8> {
        let mut key = Vec::new();
        codec::push_key_part(None, false, &mut key);
        key
    }

    fn made(method: PartitionMethod, columns: usize, bounds: Vec<PartitionBound>) -> Partitioning {
        let partition = |(n, bound): (usize, PartitionBound)| PartitionDef {
            object: ObjectId(100 + n as u32),
            name: format!("P{n}"),
            segment: SegmentRef {
                tablespace: 4,
                header: Rdba(n as u32),
                data_object: ObjectId(200 - n as u32),
                pctfree: 10,
                initrans: 1,
            },
            high_value: String::new(),
            bound,
        };
        Partitioning::new(method, (0..columns).collect(), bounds.into_iter().enumerate().map(partition).collect())
    }

    fn ranges() -> Partitioning {
        let bounds = [part("d"), part("h")].map(PartitionBound::Below).into_iter();
        made(PartitionMethod::Range, 1, bounds.chain([PartitionBound::max_value(Vec::new())]).collect())
    }

    #[test]
    fn a_row_is_below_the_bound_of_its_partition_and_null_is_above_all_values() {
        let of = ranges();
        let places: Vec<_> = ["a", "cz", "d", "g", "h", "z"].iter().map(|key| of.place_of_key(&part(key))).collect();
        assert_eq!(places, [Some(0), Some(0), Some(1), Some(1), Some(2), Some(2)]);
        assert_eq!(of.place_of_key(&null()), Some(2));
        let bounded = made(PartitionMethod::Range, 1, vec![PartitionBound::Below(part("d"))]);
        assert_eq!((bounded.place_of_key(&part("d")), bounded.place_of_key(&null())), (None, None));
        assert_eq!(of.place_of_data(ObjectId(199)), Some(1));
        assert_eq!(of.place_of_data(ObjectId(7)), None);
    }

    #[test]
    fn intervals_leave_gaps_in_which_no_partition_has_a_row() {
        let within = |low: &str, high: &str| PartitionBound::Within(part(low), part(high));
        let of =
            made(PartitionMethod::Range, 1, vec![within("p", "q"), PartitionBound::Below(part("d")), within("h", "j")]);
        let places: Vec<_> = ["a", "d", "h", "i", "j", "p", "q"].iter().map(|k| of.place_of_key(&part(k))).collect();
        assert_eq!(places, [Some(0), None, Some(1), Some(1), None, Some(2), None]);
        assert_eq!(of.transition(), Some(&part("d")[..]));
        assert_eq!((of.place_of_key(&null()), of.may_extend(&part("z"))), (None, false));
        let bytes: Vec<_> = of.partitions.iter().map(|p| p.bound.to_bytes()).collect();
        assert!(bytes.is_sorted());
        for (p, bytes) in of.partitions.iter().zip(&bytes) {
            assert_eq!(PartitionBound::of_bytes(bytes).as_ref(), Some(&p.bound));
        }
        let between = ColumnSet::Between(Some((part("i"), true)), Some((part("k"), true)));
        assert!(of.select(&[between]).contains(&1));
    }

    #[test]
    fn conditions_select_the_partitions_that_may_have_rows() {
        let of = ranges();
        let between = |low: Option<(&str, bool)>, high: Option<(&str, bool)>| {
            let side = |bound: Option<(&str, bool)>| bound.map(|(text, with)| (part(text), with));
            of.select(&[ColumnSet::Between(side(low), side(high))])
        };
        assert_eq!(between(None, None), [0, 1, 2]);
        assert_eq!(between(Some(("d", true)), Some(("h", false))), [1]);
        assert_eq!(between(Some(("d", true)), Some(("h", true))), [1, 2]);
        assert_eq!(between(Some(("x", true)), Some(("b", true))), [] as [u32; 0]);
        assert_eq!(of.select(&[ColumnSet::Parts(vec![part("e"), part("a"), part("f")])]), [0, 1]);
        assert_eq!(of.select(&[ColumnSet::Parts(vec![null()])]), [2]);
        assert_eq!(of.select(&[]), [0, 1, 2]);
    }

    #[test]
    fn every_key_is_in_a_selected_partition() {
        let key = |a: &str, b: &str| [part(a), part(b)].concat();
        let bounds = vec![
            PartitionBound::Below(key("b", "m")),
            PartitionBound::max_value(part("b")),
            PartitionBound::Below(key("d", "c")),
            PartitionBound::max_value(Vec::new()),
        ];
        let of = made(PartitionMethod::Range, 2, bounds);
        let letters = ["a", "b", "c", "d", "e", "m", "z"];
        for a in letters {
            for b in letters {
                let place = of.place_of_key(&key(a, b)).expect("MAXVALUE") as u32;
                let same = ColumnSet::Parts(vec![part(a)]);
                assert!(of.select(std::slice::from_ref(&same)).contains(&place), "{a}");
                assert_eq!(of.select(&[same.clone(), ColumnSet::Parts(vec![part(b)])]), [place], "{a} {b}");
                for with in [false, true] {
                    for bound in letters {
                        let above = ColumnSet::Between(Some((part(bound), with)), None);
                        let holds = b > bound || with && b == bound;
                        let found = of.select(&[same.clone(), above]);
                        assert!(!holds || found.contains(&place), "{a} {b} above {bound}: {found:?}");
                        let first = ColumnSet::Between(None, Some((part(bound), with)));
                        let holds = a < bound || with && a == bound;
                        let found = of.select(&[first]);
                        assert!(!holds || found.contains(&place), "{a} {b} below {bound}: {found:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn lists_have_a_default_and_hashes_use_every_partition() {
        let keys = |list: &[&str]| PartitionBound::Keys(list.iter().map(|text| part(text)).collect());
        let of = made(PartitionMethod::List, 1, vec![keys(&["b", "a"]), keys(&["c"]), PartitionBound::Default]);
        assert_eq!([part("a"), part("c"), null()].map(|key| of.place_of_key(&key)), [Some(0), Some(1), Some(2)]);
        assert_eq!(of.select(&[ColumnSet::Between(Some((part("c"), true)), None)]), [1, 2]);
        let of = made(PartitionMethod::Hash, 1, vec![PartitionBound::Hash; 5]);
        let mut used = [0; 5];
        (0..1000).for_each(|n| used[of.place_of_key(&part(&n.to_string())).expect("a place")] += 1);
        assert!(used.iter().all(|n| *n > 50), "{used:?}");
        assert_eq!(of.select(&[ColumnSet::Any]).len(), 5);
    }

    #[test]
    fn bounds_come_back_from_their_bytes() {
        let all = [
            PartitionBound::Below(part("x")),
            PartitionBound::Keys(vec![part("a"), null()]),
            PartitionBound::Default,
            PartitionBound::Hash,
        ];
        for bound in all {
            assert_eq!(PartitionBound::of_bytes(&bound.to_bytes()), Some(bound));
        }
        assert_eq!(PartitionBound::of_bytes(&[2, 0, 0, 0, 9, 1]), None);
        assert_eq!(PartitionBound::of_bytes(&[]), None);
    }
}
