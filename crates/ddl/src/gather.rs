//! Counting for the statistics of tables, columns and indexes.
//!
//! One pass over the rows counts all columns: rows, NULLs, bytes, minimum and maximum, distinct values, and for columns
//! with a histogram the values themselves, up to a bound, beyond which a sample is kept (reservoir sampling, Li's
//! algorithm L, TOMS 1994). Memory depends on the number of columns, never on that of rows (L13). Each index is read
//! once in its order.

use crate::distinct::{ByHash, Distinct, Sampled, hash};
use crate::histogram::{self, Size, Values};
use crate::host::Parts;
use crate::rows::At;
use crate::tree::data_object;
use crate::work::Work;
use btree::RangeScan;
use dictionary::statistics::{cut, group_value, place_of_bytes, place_of_stored};
use dictionary::*;
use std::ops::Bound;
use types::{DataType, Ora, Result, RowReader, RowWriter, Zone};

/// Bytes of all values kept for histograms together.
const VALUES_BYTES: usize = 64 << 20;
/// Bytes of a kept value, including the map.
const VALUE_BYTES: usize = 120;
/// Bytes of a stored timestamp without the time zone that may follow.
const INSTANT_BYTES: usize = 11;
/// Bytes of a stored date.
const DATE_BYTES: usize = 7;

/// A generator of random numbers (splitmix64). Samples are the same every time.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// The values of a column: all of them with their rows while there are few, then a sample.
struct Kept {
    counted: ByHash<(Box<[u8]>, u64)>,
    most: usize,
    sample: Vec<Box<[u8]>>,
    room: usize,
    /// Whether a sample is kept, because there are too many values to count each.
    sampling: bool,
    seen: u64,
    /// The next row for the sample, and algorithm L's weight.
    next: u64,
    weight: f64,
    random: Random,
}

impl Kept {
    fn new(most: usize, room: usize) -> Kept {
        Kept {
            counted: ByHash::default(),
            most,
            sample: Vec::new(),
            room,
            sampling: false,
            seen: 0,
            next: 0,
            weight: 1.0,
            random: Random(1),
        }
    }

    fn add(&mut self, hash: u64, value: &[u8]) {
        self.seen += 1;
        if !self.sampling {
            if let Some((_, rows)) = self.counted.get_mut(&hash) {
                *rows += 1;
                return;
            }
            if self.counted.len() < self.most {
                self.counted.insert(hash, (cut(value).into(), 1));
                return;
            }
            self.begin_sample();
        }
        if self.sample.len() < self.room {
            self.sample.push(cut(value).into());
            if self.sample.len() == self.room {
                self.skip();
            }
        } else if self.seen >= self.next {
            let at = (self.random.next() % self.room as u64) as usize;
            self.sample[at] = cut(value).into();
            self.skip();
        }
    }

    /// Draws the sample of the rows so far from their counts, evenly over all of them.
    fn begin_sample(&mut self) {
        self.sampling = true;
        let before = self.seen - 1;
        let step = (before as f64 / self.room as f64).max(1.0);
        let (mut at, mut below) = (0.0, 0u64);
        for (value, rows) in std::mem::take(&mut self.counted).into_values() {
            below += rows;
            while at < below as f64 && self.sample.len() < self.room {
                self.sample.push(value.clone());
                at += step;
            }
        }
        self.next = self.seen;
        if self.sample.len() == self.room {
            self.skip();
        }
    }

    fn skip(&mut self) {
        if self.weight >= 1.0 {
            // The state of the algorithm after as many rows.
            self.weight = (self.room as f64 / (self.seen as f64 + 1.0)).min(1.0 - 1e-12);
        } else {
            self.weight *= (self.random.unit().ln() / self.room as f64).exp();
        }
        let skipped = self.random.unit().ln() / (1.0 - self.weight).max(f64::MIN_POSITIVE).ln();
        self.next = self.seen + skipped.min(1e18) as u64 + 1;
    }

    fn finish(self, distinct: u64) -> Values {
        let complete = !self.sampling;
        let mut all: Vec<(Box<[u8]>, u64)> = if complete {
            self.counted.into_values().collect()
        } else {
            self.sample.into_iter().map(|value| (value, 1)).collect()
        };
        all.sort_unstable();
        let mut counted: Vec<(Box<[u8]>, u64)> = Vec::new();
        for (value, rows) in all {
            match counted.last_mut() {
                Some(last) if last.0 == value => last.1 += rows,
                _ => counted.push((value, rows)),
            }
        }
        Values { counted, complete, distinct }
    }
}

/// The counts of a column, or of a column group.
struct Counts {
    nulls: u64,
    bytes: u64,
    rows: u64,
    ends: Option<(Vec<u8>, Vec<u8>)>,
    distinct: Distinct,
    sampled: Option<Sampled>,
    kept: Option<Kept>,
}

impl Counts {
    fn new(sampled: bool, kept: Option<Kept>) -> Counts {
        Counts {
            nulls: 0,
            bytes: 0,
            rows: 0,
            ends: None,
            distinct: Distinct::default(),
            sampled: sampled.then(Sampled::default),
            kept,
        }
    }

    fn add(&mut self, value: &[u8], ends: bool) {
        self.rows += 1;
        let hash = hash(value);
        match &mut self.sampled {
            Some(sampled) => sampled.add(hash),
            None => self.distinct.add(hash),
        }
        if let Some(kept) = &mut self.kept {
            kept.add(hash, value);
        }
        if ends {
            match &mut self.ends {
                None => self.ends = Some((cut(value).to_vec(), cut(value).to_vec())),
                Some((low, _)) if value < &low[..] => replace(low, value),
                Some((_, high)) if value > &high[..] => replace(high, value),
                Some(_) => {}
            }
        }
    }
}

fn replace(old: &mut Vec<u8>, value: &[u8]) {
    old.clear();
    old.extend_from_slice(cut(value));
}

/// The selection of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The share of rows, from 0 to 1; `None` for all of them by AUTO_SAMPLE_SIZE.
    pub share: Option<f64>,
    pub blocks: bool,
}

impl Sample {
    fn is_part(&self) -> bool {
        self.share.is_some_and(|share| share < 1.0)
    }
}

/// The columns of a table to count.
pub struct Wanted {
    pub sample: Sample,
    /// For each column of the table: the size of its histogram; `None` for a column whose statistics stay.
    pub columns: Vec<Option<Size>>,
    /// Column groups: INTCOL#, positions, and the size of the histogram.
    pub groups: Vec<(u32, Vec<usize>, Size)>,
}

/// The figures of a table.
pub struct Figures {
    pub rows: u64,
    /// The number of rows read.
    pub sample: u64,
    pub average_row_bytes: u64,
    /// By the position of the column.
    pub columns: Vec<(usize, ColumnStatistics)>,
    /// By INTCOL#.
    pub groups: Vec<(u32, ColumnStatistics)>,
    /// The rows of each partition and their bytes, by position.
    pub partitions: Vec<(u64, u64)>,
}

/// Whether the values of a column are stored in the row and comparable.
fn is_counted(column: &ColumnDef) -> bool {
    !matches!(
        column.data_type,
        DataType::Clob
            | DataType::Xml
            | DataType::Nclob
            | DataType::Blob
            | DataType::Bfile
            | DataType::Long
            | DataType::LongRaw
            | DataType::Cursor
            | DataType::Named(_)
            | DataType::Null
    )
}

/// The bytes of a stored value that decide its equality and order.
fn comparable<'b>(column: &ColumnDef, stored: &'b [u8]) -> &'b [u8] {
    match column.data_type {
        DataType::Timestamp { zone: Zone::WithTimeZone, .. } => &stored[..stored.len().min(INSTANT_BYTES)],
        _ => stored,
    }
}

/// The position of a stored value in the endpoints of the column.
pub fn place_in(column: &ColumnDef, bytes: &[u8]) -> f64 {
    let plain = match &column.data_type {
        DataType::Timestamp { digits, zone: Zone::WithTimeZone } => {
            let utc = DataType::Timestamp { digits: *digits, zone: Zone::None };
            place_of_stored(bytes, &utc)
        }
        _ => place_of_stored(bytes, &column.data_type),
    };
    plain.unwrap_or_else(|| place_of_bytes(bytes))
}

/// A given value in the form of an endpoint; `None` if it is not of the column's type. A date is a timestamp at the
/// beginning of a second.
pub fn as_endpoint(column: &ColumnDef, given: &[u8]) -> Option<Vec<u8>> {
    let mut value = comparable(column, given).to_vec();
    let ty = match column.data_type {
        DataType::Timestamp { digits, .. } => {
            if value.len() == DATE_BYTES {
                value.resize(INSTANT_BYTES, 0);
            }
            DataType::Timestamp { digits, zone: Zone::None }
        }
        // Endpoints are cut even inside a character, so bytes are compared as bytes.
        _ if !is_plain(column) => return Some(cut(&value).to_vec()),
        ref ty => *ty,
    };
    let mut decoded = types::Value::Null;
    types::codec::decode_into(&value, &ty, &mut decoded).is_ok().then_some(value)
}

/// Whether distances between a type's values have a meaning: numbers and times.
fn is_plain(column: &ColumnDef) -> bool {
    !matches!(
        column.data_type,
        DataType::Varchar2 { .. }
            | DataType::Char { .. }
            | DataType::Nvarchar2 { .. }
            | DataType::Nchar { .. }
            | DataType::Raw { .. }
            | DataType::Rowid
            | DataType::Urowid
    )
}

/// Counts the rows and columns of a table, which others may change meanwhile.
///
/// # Errors
/// Those of reading.
pub fn table(work: &mut Work<'_>, table: &TableDef, wanted: &Wanted) -> Result<Figures> {
    let of = table.partitioning();
    let mut partitions = vec![(0, 0); of.map_or(0, |of| of.partitions.len())];
    let mut last = None;
    let mut figures = of_rows(work, table, wanted, &mut |work, share, each| {
        let mut each = |at: At<'_>, row: &[u8]| {
            if let (Some(of), At::Rowid(rowid)) = (of, at) {
                // Rows come partition by partition.
                if last.is_none_or(|(data, _)| data != rowid.obj) {
                    last = of.place_of_data(rowid.obj).map(|place| (rowid.obj, place));
                }
                if let Some((_, place)) = last {
                    let (rows, bytes): &mut (u64, u64) = &mut partitions[place];
                    (*rows, *bytes) = (*rows + 1, *bytes + row.len() as u64);
                }
            }
            each(row)
        };
        match share {
            Some(share) => crate::rows::scan_sample(work, table, share, &mut each),
            None => crate::rows::scan(work, table, &mut each),
        }
    })?;
    figures.partitions = partitions;
    Ok(figures)
}

/// Counts the present rows and columns of a fixed table.
///
/// # Errors
/// Those of reading.
pub fn fixed(work: &mut Work<'_>, table: &TableDef, wanted: &Wanted) -> Result<Figures> {
    let query = sql::parse_query(&format!("select * from sys.{}", table.name))?;
    of_rows(work, table, wanted, &mut |work, _, each| {
        let mut stored = Vec::new();
        work.host.rows_as(UserId::SYS, &query, &mut |_, row| {
            stored.clear();
            let mut writer = RowWriter::new(&mut stored, row.len());
            row.iter().for_each(|value| writer.value(value));
            each(&stored).map(drop)
        })
    })
}

/// Passes on the stored rows of a table, or of a share of its blocks.
type Rows<'r> = dyn FnMut(&mut Work<'_>, Option<f64>, &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> + 'r;

fn of_rows(work: &mut Work<'_>, table: &TableDef, wanted: &Wanted, scan: &mut Rows<'_>) -> Result<Figures> {
    let part = wanted.sample.is_part();
    let sizes = wanted.columns.iter().flatten().chain(wanted.groups.iter().map(|(.., size)| size));
    let histograms = sizes.filter(|size| **size != Size::Buckets(1)).count();
    let budget = VALUES_BYTES / VALUE_BYTES / histograms.max(1);
    let mut counts: Vec<Option<Counts>> = Vec::with_capacity(table.columns.len());
    for (column, size) in table.columns.iter().zip(&wanted.columns) {
        let had = had_buckets(column);
        let kept = size.filter(|_| is_counted(column)).and_then(|size| kept_for(size, had, budget));
        counts.push(size.filter(|_| column.virtual_text.is_none()).map(|_| Counts::new(part, kept)));
    }
    let had_by = |positions: &[usize]| {
        let group = table.statistics.as_ref()?.groups.iter().find(|group| group.columns == positions)?;
        had_by(&group.statistics)
    };
    let of_group =
        |(_, positions, size): &(u32, Vec<usize>, Size)| Counts::new(part, kept_for(*size, had_by(positions), budget));
    let mut groups: Vec<Counts> = wanted.groups.iter().map(of_group).collect();
    let mut random = Random(table.object.0.into());
    let share = wanted.sample.share.unwrap_or(1.0);
    let by_rows = part && !(wanted.sample.blocks && table.heap().is_some());
    let (mut rows, mut sample, mut bytes) = (0u64, 0u64, 0u64);
    let mut pieces: Vec<Option<(usize, usize)>> = Vec::new();
    let mut each = |row: &[u8]| -> Result<bool> {
        rows += 1;
        if by_rows && random.unit() > share {
            return Ok(true);
        }
        sample += 1;
        bytes += row.len() as u64;
        let damaged = || Ora::internal("[damaged row]");
        let mut reader = RowReader::new(row).ok_or_else(damaged)?;
        pieces.clear();
        for (column, counts) in table.columns.iter().zip(&mut counts) {
            let stored = reader.next_column().and_then(|column| column.bytes());
            if !wanted.groups.is_empty() {
                pieces.push(stored.map(|piece| (piece.as_ptr() as usize - row.as_ptr() as usize, piece.len())));
            }
            let Some(counts) = counts else { continue };
            match stored {
                None => counts.nulls += 1,
                Some(stored) => {
                    counts.bytes += stored.len() as u64 + 1;
                    if is_counted(column) {
                        counts.add(comparable(column, stored), true);
                    }
                }
            }
        }
        for ((_, positions, _), counts) in wanted.groups.iter().zip(&mut groups) {
            let stored = |position: &usize| {
                let (at, len) = pieces.get(*position).copied().flatten()?;
                Some(comparable(&table.columns[*position], row.get(at..at + len)?))
            };
            let value = group_value(&positions.iter().map(stored).collect::<Vec<_>>());
            counts.bytes += value.len() as u64;
            counts.add(&value, false);
        }
        Ok(true)
    };
    if part && !by_rows {
        scan(work, Some(share), &mut each)?;
        rows = (sample as f64 / share.max(1e-9)).round() as u64;
    } else {
        scan(work, None, &mut each)?;
    }
    let scale = if sample == 0 { 1.0 } else { rows as f64 / sample as f64 };
    let auto = wanted.sample.share.is_none();
    let finish = |at: usize, counts: Counts| {
        let column = &table.columns[at];
        let size = wanted.columns[at].unwrap_or(Size::Buckets(1));
        finish_column(column, counts, (size, had_buckets(column)), (rows, sample, scale), auto)
    };
    let columns = counts.into_iter().enumerate().filter_map(|(at, counts)| Some((at, finish(at, counts?)))).collect();
    let combined = ColumnDef::new("", DataType::NUMBER);
    let groups = wanted.groups.iter().zip(groups).map(|((number, positions, size), counts)| {
        let statistics = finish_column(&combined, counts, (*size, had_by(positions)), (rows, sample, scale), auto);
        (*number, statistics)
    });
    Ok(Figures {
        rows,
        sample,
        average_row_bytes: bytes.checked_div(sample).unwrap_or(0),
        columns,
        groups: groups.collect(),
        partitions: Vec::new(),
    })
}

/// The collector of values for a histogram of that size; `None` without a histogram.
fn kept_for(size: Size, had: Option<u32>, budget: usize) -> Option<Kept> {
    let buckets = histogram::buckets_of(size, had) as usize;
    (buckets > 1).then(|| Kept::new((budget / 2).clamp(buckets + 1, 8192), (budget / 2).clamp(2 * buckets, 20_000)))
}

/// Buckets of the column's present histogram.
fn had_buckets(column: &ColumnDef) -> Option<u32> {
    had_by(column.statistics.as_ref()?)
}

fn had_by(statistics: &ColumnStatistics) -> Option<u32> {
    let histogram = statistics.histogram.as_ref()?;
    Some(match histogram.kind {
        HistogramKind::HeightBalanced => histogram.total() as u32,
        _ => histogram.len() as u32,
    })
}

fn distinct_of(counts: &Counts, rows: u64) -> u64 {
    match &counts.sampled {
        Some(sampled) => sampled.count(rows),
        None => counts.distinct.count().min(counts.rows),
    }
}

fn finish_column(
    column: &ColumnDef,
    counts: Counts,
    (size, had): (Size, Option<u32>),
    (rows, sample, scale): (u64, u64, f64),
    auto: bool,
) -> ColumnStatistics {
    let nulls = (counts.nulls as f64 * scale).round().min(rows as f64) as u64;
    let mut distinct = distinct_of(&counts, rows - nulls);
    let range = counts.ends.as_ref().map(|(low, high)| (place_in(column, low), place_in(column, high)));
    let mut histogram = None;
    if let Some(kept) = counts.kept {
        if !kept.sampling && counts.sampled.is_none() {
            distinct = kept.counted.len() as u64;
        }
        let values = kept.finish(distinct);
        let place = |bytes: &[u8]| place_in(column, bytes);
        histogram = histogram::build(&values, size, had, auto, is_plain(column), &place);
    }
    let density = density(histogram.as_ref(), distinct, counts.rows);
    ColumnStatistics {
        average_bytes: counts.bytes.div_ceil(sample.max(1)) as u32,
        ends: counts.ends.map(|(low, high)| (low.into(), high.into())),
        sample: counts.rows,
        density,
        histogram: histogram.map(std::sync::Arc::new),
        ..ColumnStatistics::new(distinct, nulls, range)
    }
}

/// DENSITY: without a histogram 1 / NDV; with a bucket for each value half the share of a row, as in Oracle; otherwise
/// the share of values without a bucket.
fn density(histogram: Option<&Histogram>, distinct: u64, rows: u64) -> f64 {
    if distinct == 0 {
        return 0.0;
    }
    let Some(histogram) = histogram.filter(|_| rows > 0) else { return 1.0 / distinct as f64 };
    let total = match histogram.kind {
        HistogramKind::Frequency => return 0.5 / rows as f64,
        HistogramKind::TopFrequency => histogram.total().max(rows) as f64,
        _ => histogram.total() as f64,
    };
    let bucket = total / histogram.len() as f64;
    let before = |at: usize| if at == 0 { 0 } else { histogram.endpoint(at - 1).cumulative };
    let popular = (0..histogram.len()).map(|at| match histogram.kind {
        HistogramKind::TopFrequency => (histogram.endpoint(at).repeats, true),
        HistogramKind::Hybrid => (histogram.endpoint(at).repeats, histogram.endpoint(at).repeats as f64 > bucket),
        _ => {
            let height = histogram.endpoint(at).cumulative - before(at);
            (height, height > 1)
        }
    });
    let (many, share) = popular
        .filter(|(_, popular)| *popular)
        .fold((0u64, 0.0), |(many, share), (rows, _)| (many + 1, share + rows as f64 / total));
    if many >= distinct { 0.5 / rows as f64 } else { (1.0 - share).max(0.0) / (distinct - many) as f64 }
}

/// The figures of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFigures {
    pub rows: u64,
    pub distinct: u64,
    pub leaves: u64,
    pub levels: u16,
    pub clustering: u64,
}

impl IndexFigures {
    /// Average leaf and data blocks per key.
    pub fn blocks_per_key(&self) -> (u64, u64) {
        let keys = self.distinct.max(1);
        let average = |blocks: u64| if self.rows == 0 { 0 } else { ((blocks + keys / 2) / keys).max(1) };
        (average(self.leaves), average(self.clustering))
    }
}

/// Reads an index in its order. Entries of open transactions are counted.
///
/// # Errors
/// Those of reading.
pub fn index(parts: &Parts<'_>, table: &TableDef, index: &IndexDef) -> Result<IndexFigures> {
    let (Some(local), Some(of)) = (&index.local, table.partitioning()) else {
        return tree(parts, table, index, index.segment.header, data_object(table));
    };
    // Keys in several partitions count once for each.
    let mut all = IndexFigures::default();
    for (part, p) in local.iter().zip(&of.partitions).filter(|(part, _)| !part.unusable) {
        let figures = tree(parts, table, index, part.segment.header, p.segment.data_object)?;
        all.levels = all.levels.max(figures.levels);
        all.rows += figures.rows;
        all.distinct += figures.distinct;
        all.leaves += figures.leaves;
        all.clustering += figures.clustering;
    }
    Ok(all)
}

fn tree(
    parts: &Parts<'_>,
    table: &TableDef,
    index: &IndexDef,
    header: types::Rdba,
    rows: types::ObjectId,
) -> Result<IndexFigures> {
    let trees = parts.storage.trees;
    let tree = trees.open(parts.p, header, rows, index.unique)?;
    let mut figures = IndexFigures { levels: trees.levels(parts.p, &tree)?, ..IndexFigures::default() };
    let by_rowid = index.kind != IndexKind::IotTop && !matches!(table.organization, Organization::Index(_));
    let (mut scan, mut last, mut block) = (RangeScan::new(), None::<Vec<u8>>, None);
    let mut leaf = types::Rdba::NONE;
    scan.start(&tree, Bound::Unbounded, Bound::Unbounded, false);
    while let Some(entry) = scan.next_entry(trees, parts.p)? {
        let live = !entry.deleted;
        if live {
            figures.rows += 1;
            let same = last.as_ref().is_some_and(|last| last == entry.key);
            if !same {
                figures.distinct += 1;
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(entry.key);
            }
            if by_rowid {
                let at = Some(btree::rowid_of(&tree, entry.locator).rdba);
                if at != block {
                    (figures.clustering, block) = (figures.clustering + 1, at);
                }
            }
        }
        if scan.leaf() != leaf {
            leaf = scan.leaf();
            figures.leaves += 1;
            parts.p.check_cancel()?;
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_while_they_are_few_and_sampled_beyond() {
        let values = |distinct: u64| {
            let mut kept = Kept::new(100, 500);
            for row in 0..50_000u64 {
                let value = (row * 7919 % distinct).to_be_bytes();
                kept.add(hash(&value), &value);
            }
            kept.finish(distinct)
        };
        let few = values(100);
        assert!(few.complete && few.counted.iter().all(|(_, rows)| *rows == 500));
        let many = values(1000);
        assert!(!many.complete);
        assert_eq!(many.counted.iter().map(|(_, rows)| rows).sum::<u64>(), 500);
        // The sample covers all rows, not only the first ones: it is spread over the values.
        let upper = many.counted.iter().filter(|(value, _)| value[6..] >= 500u16.to_be_bytes()[..]);
        let upper: u64 = upper.map(|(_, rows)| rows).sum();
        assert!((190..310).contains(&upper), "{upper}");
    }

    #[test]
    fn a_sample_holds_late_rows_as_well_as_early_ones() {
        let mut kept = Kept::new(10, 1000);
        for row in 0..100_000u64 {
            let value = row.to_be_bytes();
            kept.add(hash(&value), &value);
        }
        let values = kept.finish(100_000);
        let late = values.counted.iter().filter(|(value, _)| value[..] >= 50_000u64.to_be_bytes()[..]).count();
        assert!((400..600).contains(&late), "{late}");
    }

    #[test]
    fn blocks_per_key_are_at_least_one() {
        let figures = IndexFigures { rows: 10, distinct: 10, leaves: 1, levels: 0, clustering: 25 };
        assert_eq!(figures.blocks_per_key(), (1, 3));
        assert_eq!(IndexFigures::default().blocks_per_key(), (0, 0));
    }
}
