//! Optimizer statistics in the base tables.
//!
//! TAB$ and IND$ hold the figures of tables and indexes, HIST_HEAD$ those of columns and column groups, HISTGRM$ the
//! endpoints of histograms.

use crate::Base;
use crate::base::{hist_head, histgrm};
use crate::rows::{Row, as_i64, as_text, as_u32, blank, int};
use crate::statistics::{ColumnStatistics, Endpoint, Endpoints, Histogram, HistogramKind, flags};
use std::sync::Arc;
use types::{Number, ObjectId, Value};

fn number(x: Option<f64>) -> Value {
    x.and_then(|x| Number::from_f64(x).ok()).map_or(Value::Null, Value::Number)
}

fn as_f64(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => Some(n.to_f64()),
        _ => None,
    }
}

fn as_u64(value: &Value) -> u64 {
    as_i64(value).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

fn as_bytes(value: &Value) -> Option<Box<[u8]>> {
    match value {
        Value::Raw(bytes) => Some(bytes.as_slice().into()),
        _ => None,
    }
}

fn raw(bytes: &[u8]) -> Value {
    if bytes.is_empty() { Value::Null } else { Value::Raw(bytes.to_vec()) }
}

fn big(n: u64) -> Value {
    int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A row of HIST_HEAD$: the statistics of a column (`column` from 1) or of a column group.
pub fn head_row(
    object: ObjectId,
    column: u32,
    statistics: &ColumnStatistics,
    user: bool,
    gathered: types::Date,
) -> Row {
    let mut row = blank(Base::HistHead);
    let kind = statistics.kind();
    row[hist_head::OBJ] = int(object.0);
    row[hist_head::COL] = int(column);
    row[hist_head::BUCKETS] = int(match &statistics.histogram {
        Some(histogram) if kind == HistogramKind::HeightBalanced => histogram.total() as i64,
        Some(histogram) => histogram.len() as i64,
        None => i64::from(statistics.ends.is_some()),
    });
    row[hist_head::NULLCNT] = big(statistics.nulls);
    row[hist_head::TIMESTAMP] = Value::Date(gathered);
    row[hist_head::SAMPLE] = big(statistics.sample);
    row[hist_head::MINIMUM] = number(statistics.range.map(|(low, _)| low));
    row[hist_head::MAXIMUM] = number(statistics.range.map(|(_, high)| high));
    row[hist_head::DISTCNT] = big(statistics.distinct);
    row[hist_head::LOWVAL] = statistics.ends.as_ref().map_or(Value::Null, |(low, _)| raw(low));
    row[hist_head::HIVAL] = statistics.ends.as_ref().map_or(Value::Null, |(_, high)| raw(high));
    row[hist_head::DENSITY] = number(Some(statistics.density));
    row[hist_head::AVGCLN] = int(statistics.average_bytes);
    row[hist_head::FLAGS] = int(i64::from(kind as u8) | if user { flags::USER } else { 0 });
    row
}

/// Reads a row of HIST_HEAD$; `histogram` comes from HISTGRM$.
pub fn from_head(row: &[Value], histogram: Option<Arc<Histogram>>) -> ColumnStatistics {
    ColumnStatistics {
        distinct: as_u64(&row[hist_head::DISTCNT]),
        nulls: as_u64(&row[hist_head::NULLCNT]),
        range: as_f64(&row[hist_head::MINIMUM]).zip(as_f64(&row[hist_head::MAXIMUM])),
        density: as_f64(&row[hist_head::DENSITY]).unwrap_or(0.0),
        average_bytes: as_u32(&row[hist_head::AVGCLN]),
        ends: as_bytes(&row[hist_head::LOWVAL]).zip(as_bytes(&row[hist_head::HIVAL])),
        sample: as_u64(&row[hist_head::SAMPLE]),
        histogram,
    }
}

/// The rows of HISTGRM$ of a histogram.
pub fn histogram_rows(object: ObjectId, column: u32, histogram: &Histogram, text: bool) -> Vec<Row> {
    let row = |endpoint: Endpoint<'_>| {
        let mut row = blank(Base::Histgrm);
        row[histgrm::OBJ] = int(object.0);
        row[histgrm::COL] = int(column);
        row[histgrm::BUCKET] = big(endpoint.cumulative);
        row[histgrm::ENDPOINT] = number(Some(endpoint.place));
        if text {
            let shown = String::from_utf8_lossy(endpoint.value);
            row[histgrm::EPVALUE] = crate::rows::text(shown.trim_end_matches('\u{FFFD}'));
        }
        row[histgrm::EPVALUE_RAW] = raw(endpoint.value);
        row[histgrm::REPEATS] = big(if histogram.kind == HistogramKind::Hybrid { endpoint.repeats } else { 0 });
        row
    };
    histogram.endpoints().map(row).collect()
}

impl Endpoints {
    /// Adds a row of HISTGRM$.
    pub fn add(&mut self, row: &[Value]) {
        self.push(
            &as_bytes(&row[histgrm::EPVALUE_RAW]).unwrap_or_default(),
            as_f64(&row[histgrm::ENDPOINT]).unwrap_or(0.0),
            as_u64(&row[histgrm::BUCKET]),
            as_u64(&row[histgrm::REPEATS]),
        );
    }
}

/// The positions in COLUMNS of STATS_EXTENSION$, column numbers from 1 separated by commas.
pub fn group_columns(list: &Value) -> Vec<usize> {
    let numbers = as_text(list).split(',').filter_map(|n| n.trim().parse::<usize>().ok());
    numbers.filter_map(|n| n.checked_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_come_back_from_their_rows() {
        let hybrid = [(b"a", 97.0, 4, 3), (b"c", 99.0, 9, 1)];
        let endpoints = hybrid.iter().map(|(value, place, cumulative, repeats)| Endpoint {
            value: *value,
            place: *place,
            cumulative: *cumulative,
            repeats: *repeats,
        });
        let statistics = ColumnStatistics {
            average_bytes: 3,
            ends: Some((Box::from(*b"a"), Box::from(*b"c"))),
            sample: 9,
            histogram: Some(Arc::new(Histogram::new(HistogramKind::Hybrid, endpoints))),
            ..ColumnStatistics::new(6, 2, Some((97.0, 99.0)))
        };
        let at = types::Date::UNIX_EPOCH;
        let head = head_row(ObjectId(7), 1, &statistics, false, at);
        let histogram = statistics.histogram.as_ref().expect("made above");
        let mut endpoints = Endpoints::default();
        for row in histogram_rows(ObjectId(7), 1, histogram, true).iter().rev() {
            endpoints.add(row);
        }
        let kind = HistogramKind::read(as_i64(&head[hist_head::FLAGS]).unwrap_or(0) & flags::HISTOGRAM_KIND);
        assert_eq!(from_head(&head, endpoints.finish(kind)), statistics);
        assert_eq!(as_i64(&head[hist_head::BUCKETS]), Some(2));
    }
}
